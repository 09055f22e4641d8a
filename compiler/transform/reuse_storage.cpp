// Liveness and sharing: see reuse_storage.h.
#include "transform/reuse_storage.h"

#include <algorithm>
#include <limits>
#include <map>
#include <unordered_map>

#include "ir/equal.h"
#include "ir/ops.h"
#include "ir/visitor.h"
#include "support/saturate.h"

namespace loopsmith::transform {
namespace {

/// The buffers over a data variable that a statement uses, and a flag for uses of the variable itself.
struct Uses : Visitor {
  const VarNode* data;
  std::vector<Buffer> buffers;
  int accesses = 0;
  bool is_bare = false;
  explicit Uses(const VarNode* v) : data(v) {}
  using Visitor::on;
  using Visitor::visit;
  void use(const Buffer& b) {
    if (b->data.get() != data) { return; }
    ++accesses;
    if (std::find(buffers.begin(), buffers.end(), b) == buffers.end()) { buffers.push_back(b); }
  }
  void visit_buffer(const Buffer& b) override { use(b); Visitor::visit_buffer(b); }
  void on(const BufferLoad& n) override { use(n.buffer); Visitor::on(n); }
  void on(const BufferStore& n) override { use(n.buffer); Visitor::on(n); }
  void on(const VarNode& n) override { is_bare = is_bare || &n == data; }
};

auto uses_of(const Stmt& stmt, const VarNode* data) -> Uses {
  Uses out(data);
  out.visit(stmt);
  return out;
}

/// An index as a sum of variables times constants; the lane of a vector counts as a variable.
struct Linear {
  struct Term { const VarNode* var; int64_t times; int64_t extent; };
  std::vector<Term> terms;
  bool is_linear = true;

  void add(const Expr& e, int64_t times) {
    if (as_int(e) && e.dtype().is_scalar()) { return; }
    switch (e.kind()) {
      case NodeKind::VarNode: terms.push_back({e.as<VarNode>(), times, 0}); break;
      case NodeKind::Add:
        add(e.as<Add>()->a, times);
        add(e.as<Add>()->b, times);
        break;
      case NodeKind::Mul: {
        const auto* n = e.as<Mul>();
        if (auto k = as_int(n->b)) { add(n->a, times * *k); }
        else if (auto left = as_int(n->a)) { add(n->b, times * *left); }
        else { is_linear = false; }
        break;
      }
      case NodeKind::Cast: is_linear = e.dtype().is_int() && e.dtype().bits >= e.as<Cast>()->value.dtype().bits; add(e.as<Cast>()->value, times); break;
      case NodeKind::Broadcast: add(e.as<Broadcast>()->value, times); break;
      case NodeKind::Ramp: {
        const auto* n = e.as<Ramp>();
        auto stride = as_int(n->stride);
        is_linear = is_linear && stride && n->base.dtype().is_scalar();
        add(n->base, times);
        terms.push_back({nullptr, times * stride.value_or(0), n->dtype.lanes});
        break;
      }
      default: is_linear = false;
    }
  }
};

/// True when the statement reads `from` only at the index where it writes `to`, and visits each element once.
auto is_in_place(const Stmt& stmt, const VarNode* from, const VarNode* to) -> bool {
  std::unordered_map<const VarNode*, int64_t> extents;
  const Stmt* inner = &stmt;
  while (const auto* loop = inner->as<For>()) {
    auto extent = as_int(loop->extent);
    if (!extent || !as_int(loop->min)) { return false; }
    extents[loop->var.get()] = *extent;
    inner = &loop->body;
  }
  const auto* store = inner->as<BufferStore>();
  if (!store || store->buffer->data.get() != to || store->predicate || store->indices.size() != 1) { return false; }
  bool same = true;
  int reads = 0;
  post_order(store->value, [&](const Expr& e) {
    const auto* load = e.as<BufferLoad>();
    if (!load) { return; }
    if (load->buffer->data.get() == to) { same = false; }
    if (load->buffer->data.get() != from) { return; }
    ++reads;
    same = same && !load->predicate && load->indices.size() == 1 && structural_equal(load->indices[0], store->indices[0]);
  });
  if (!same || uses_of(stmt, from).accesses != reads || uses_of(stmt, to).accesses != 1 || uses_of(stmt, from).is_bare || uses_of(stmt, to).is_bare) { return false; }
  Linear index;
  index.add(store->indices[0], 1);
  if (!index.is_linear) { return false; }
  std::map<const VarNode*, Linear::Term> terms;
  for (Linear::Term t : index.terms) {
    if (t.var) {
      auto extent = extents.find(t.var);
      if (extent == extents.end()) { continue; }   // not a loop of the statement: constant during the statement
      t.extent = extent->second;
    }
    auto [found, is_new] = terms.try_emplace(t.var, t);
    if (!is_new) { found->second.times += t.times; }
  }
  for (const auto& [v, extent] : extents) {
    if (extent > 1 && !terms.contains(v)) { return false; }   // the loop visits elements again
  }
  std::vector<Linear::Term> sorted;
  for (const auto& [v, t] : terms) {
    if (t.extent > 1) { sorted.push_back(t); }
  }
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.times < b.times; });
  int64_t reach = 0;
  for (const Linear::Term& t : sorted) {
    if (t.times <= reach) { return false; }
    if (t.extent < 0) { return false; }
    reach = saturating_add(reach, saturating_mul(t.times, t.extent - 1));
  }
  return true;
}

class Reuse : public Mutator {
 public:
  explicit Reuse(const LowerOptions& options) : options_(options) {}
  using Mutator::mutate;
  using Mutator::on;

  auto on(const Allocate& n) -> Stmt override {
    Chain chain;
    Stmt body = self(n);
    // Nested allocations and declarations around a sequence of statements.
    while (true) {
      if (const auto* allocate = body.as<Allocate>()) {
        chain.links.push_back(body);
        body = allocate->body;
      } else if (const auto* declare = body.as<DeclBuffer>()) {
        chain.links.push_back(body);
        body = declare->body;
      } else {
        break;
      }
    }
    Stmt inner = mutate(body);
    if (const auto* sequence = inner.as<SeqStmt>()) {
      Stmt shared = share(chain, inner, *sequence);
      if (shared) { return shared; }
    }
    if (inner.same_as(body)) { return self(n); }
    return rebuild(chain, std::move(inner), {}, {});
  }

 private:
  struct Chain { std::vector<Stmt> links; };
  struct Place { const Allocate* allocate; int64_t count; int last; };
  struct Candidate { const Allocate* allocate; int64_t count; int first, last; size_t number; };

  auto share(const Chain& chain, const Stmt& inner, const SeqStmt& sequence) -> Stmt {
    std::vector<Candidate> candidates;
    for (const Stmt& link : chain.links) {
      const auto* a = link.as<Allocate>();
      auto count = a && a->extents.size() == 1 ? as_int(a->extents[0]) : std::nullopt;
      if (!count || *count <= 0 || saturating_mul(*count, a->dtype.element_bytes() * a->dtype.lanes) <= options_.stack_bytes_each || !a->annotations.empty()) { continue; }
      Candidate c{a, *count, -1, -1, candidates.size()};
      for (size_t i = 0; i < sequence.seq.size(); ++i) {
        Uses uses = uses_of(sequence.seq[i], a->data.get());
        if (uses.accesses == 0 && !uses.is_bare) { continue; }
        if (c.first < 0) { c.first = static_cast<int>(i); }
        c.last = static_cast<int>(i);
      }
      if (c.first >= 0) { candidates.push_back(c); }
    }
    std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) { return std::pair(a.first, a.number) < std::pair(b.first, b.number); });
    std::vector<Place> places;
    std::unordered_map<const VarNode*, Var> moved;                  // by data variable: the variable whose memory it uses
    std::unordered_map<const VarNode*, int64_t> counts;             // elements of memory that others move into
    std::unordered_map<const VarNode*, const VarNode*> tenant;     // the current user of each memory
    for (const Candidate& c : candidates) {
      Place* best = nullptr;
      for (Place& p : places) {
        if (!(p.allocate->dtype == c.allocate->dtype) || !(p.allocate->data->pointer == c.allocate->data->pointer)) { continue; }
        bool is_free = p.last < c.first || (p.last == c.first && is_in_place(sequence.seq[static_cast<size_t>(c.first)], tenant[p.allocate->data.get()], c.allocate->data.get()));
        if (is_free && (!best || std::abs(p.count - c.count) < std::abs(best->count - c.count))) { best = &p; }
      }
      if (!best) {
        places.push_back({c.allocate, c.count, c.last});
        tenant[c.allocate->data.get()] = c.allocate->data.get();
        continue;
      }
      best->last = c.last;
      best->count = std::max(best->count, c.count);
      counts[best->allocate->data.get()] = best->count;
      tenant[best->allocate->data.get()] = c.allocate->data.get();
      moved[c.allocate->data.get()] = best->allocate->data;
    }
    if (moved.empty()) { return {}; }
    return rebuild(chain, inner, moved, counts);
  }

  static auto rebuild(const Chain& chain, Stmt body, const std::unordered_map<const VarNode*, Var>& moved, const std::unordered_map<const VarNode*, int64_t>& counts) -> Stmt {
    // If memory moves, the declarations over it move inside of all allocations.
    std::vector<Stmt> links;
    for (bool allocates : {true, false}) {
      for (const Stmt& link : chain.links) {
        if (!moved.empty() && (link.as<Allocate>() != nullptr) == allocates) { links.push_back(link); }
      }
    }
    if (moved.empty()) { links = chain.links; }
    for (size_t i = links.size(); i-- > 0;) {
      const Stmt& link = links[i];
      if (const auto* d = link.as<DeclBuffer>()) {
        body = make<DeclBuffer>(d->buffer, std::move(body), d->origin);
        continue;
      }
      const auto& a = *link.as<Allocate>();
      if (auto to = moved.find(a.data.get()); to != moved.end()) {
        BufferMap map;
        for (const Buffer& b : uses_of(body, a.data.get()).buffers) {
          BufferNode fields = *b;
          fields.data = to->second;
          map[b.get()] = make_buffer(std::move(fields));
        }
        body = substitute(substitute_buffers(body, map), {{a.data.get(), Expr(to->second)}});
        continue;
      }
      Array<Expr> extents = a.extents;
      if (auto grown = counts.find(a.data.get()); grown != counts.end()) {
        // The memory may be shared with a buffer whose number of elements overflows int32.
        DataType counted = grown->second > std::numeric_limits<int32_t>::max() ? DataType::int_(64) : a.extents[0].dtype();
        extents = Array<Expr>{int_imm(grown->second, counted)};
      }
      body = make<Allocate>(a.data, a.dtype, std::move(extents), a.condition, std::move(body), a.annotations, a.origin);
    }
    return body;
  }
  const LowerOptions& options_;
};

}  // namespace

auto reuse_storage(const IRModule& module, const LowerContext& context) -> Result<IRModule> {
  return map_functions(module, [&](const PrimFunc& func) -> Result<PrimFunc> { return with_body(func, Reuse(context.options).mutate(func->body)); });
}

}  // namespace loopsmith::transform
