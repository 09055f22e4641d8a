// What the text may leave out: the block around a function's body, and what a block reads and writes.
//
// As TVM's script_complete and BlockReadWriteDetector: each access is a region of points, relaxed over the loops
// inside of the block; regions of one buffer are joined; what a block allocates itself does not count; a reduction
// with an init does not read what it writes.
#include <functional>
#include <unordered_map>

#include "frontend/lowerer.h"
#include "ir/ops.h"
#include "ir/visitor.h"

namespace loopsmith::frontend {

auto detect_access_key() -> Name {
  static const Name key("tir.script_parsing_detect_access");
  return key;
}

namespace {

// sum of coefficient * term + constant
struct Linear {
  std::vector<std::pair<Expr, int64_t>> terms;
  int64_t constant = 0;
  size_t seen = 0;  // terms and constants met, to tell whether anything was joined
};

void collect(const Expr& e, int64_t factor, Linear& out, int depth) {
  if (const auto* imm = e.as<IntImm>()) {
    out.constant += factor * imm->value;
    out.seen += imm->value != 0;
    return;
  }
  if (depth < 64) {
    if (const auto* add = e.as<Add>()) {
      collect(add->a, factor, out, depth + 1);
      return collect(add->b, factor, out, depth + 1);
    }
    if (const auto* sub = e.as<Sub>()) {
      collect(sub->a, factor, out, depth + 1);
      return collect(sub->b, -factor, out, depth + 1);
    }
    if (const auto* mul = e.as<Mul>()) {
      if (const auto* c = mul->b.as<IntImm>(); c && std::abs(c->value) < (1LL << 31)) { return collect(mul->a, factor * c->value, out, depth + 1); }
      if (const auto* c = mul->a.as<IntImm>(); c && std::abs(c->value) < (1LL << 31)) { return collect(mul->b, factor * c->value, out, depth + 1); }
    }
  }
  ++out.seen;
  for (auto& [term, coefficient] : out.terms) {
    if (arith_deep_equal(term, e)) {
      coefficient += factor;
      return;
    }
  }
  out.terms.emplace_back(e, factor);
}

}  // namespace

auto simplified(const Expr& e) -> Expr {
  if (!e.dtype().is_integral() || !e.dtype().is_scalar()) { return e; }
  Linear sum;
  collect(e, 1, sum, 0);
  size_t left = sum.constant != 0;
  for (const auto& [term, coefficient] : sum.terms) { left += coefficient != 0; }
  if (left >= sum.seen) { return e; }
  Expr out;
  auto append = [&](const Expr& term, int64_t coefficient) {
    if (coefficient == 0) { return; }
    if (!out) {
      out = coefficient == 1 ? term : mul(term, int_imm(coefficient, e.dtype()));
    } else if (coefficient > 0) {
      out = add(out, mul(term, int_imm(coefficient, e.dtype())));
    } else {
      out = sub(out, mul(term, int_imm(-coefficient, e.dtype())));
    }
  };
  for (const auto& [term, coefficient] : sum.terms) {
    if (coefficient > 0) { append(term, coefficient); }
  }
  for (const auto& [term, coefficient] : sum.terms) {
    if (coefficient < 0) { append(term, coefficient); }
  }
  Expr constant = int_imm(sum.constant, e.dtype());
  if (!out) { return constant; }
  if (sum.constant < 0) { return sub(out, int_imm(-sum.constant, e.dtype())); }
  return add(out, constant);
}

namespace {

// Both inclusive; none where nothing is known.
struct Interval {
  Expr min, max;
  [[nodiscard]] auto known() const -> bool { return bool(min); }
};
using Domains = std::unordered_map<const VarNode*, Interval>;

auto interval(const Expr& e, const Domains& dom, int depth = 0) -> Interval {
  if (depth > 100) { return {}; }
  auto point_of = [](const Expr& x) { return Interval{x, x}; };
  if (const auto* v = e.as<VarNode>()) {
    auto found = dom.find(v);
    return found == dom.end() ? point_of(e) : found->second;
  }
  if (e.as<IntImm>()) { return point_of(e); }
  auto both = [&](const BinaryNode& n) { return std::pair(interval(n.a, dom, depth + 1), interval(n.b, dom, depth + 1)); };
  auto same = [&](const Interval& x, const Expr& before) { return x.known() && x.min.same_as(x.max) && x.min.same_as(before); };
  switch (e.kind()) {
    case NodeKind::Add: {
      auto [a, b] = both(*e.as<Add>());
      if (!a.known() || !b.known()) { return {}; }
      if (same(a, e.as<Add>()->a) && same(b, e.as<Add>()->b)) { return point_of(e); }
      return {add(a.min, b.min), add(a.max, b.max)};
    }
    case NodeKind::Sub: {
      auto [a, b] = both(*e.as<Sub>());
      if (!a.known() || !b.known()) { return {}; }
      if (same(a, e.as<Sub>()->a) && same(b, e.as<Sub>()->b)) { return point_of(e); }
      return {sub(a.min, b.max), sub(a.max, b.min)};
    }
    case NodeKind::Mul: {
      auto [a, b] = both(*e.as<Mul>());
      if (!a.known() || !b.known()) { return {}; }
      if (same(a, e.as<Mul>()->a) && same(b, e.as<Mul>()->b)) { return point_of(e); }
      if (as_int(a.min) && a.min.same_as(a.max)) { std::swap(a, b); }
      auto c = as_int(b.min);
      if (!c || !b.min.same_as(b.max)) { return {}; }
      if (*c >= 0) { return {mul(a.min, b.min), mul(a.max, b.min)}; }
      return {mul(a.max, b.min), mul(a.min, b.min)};
    }
    case NodeKind::FloorDiv: {
      auto [a, b] = both(*e.as<FloorDiv>());
      if (!a.known() || !b.known()) { return {}; }
      if (same(a, e.as<FloorDiv>()->a) && same(b, e.as<FloorDiv>()->b)) { return point_of(e); }
      auto c = as_int(b.min);
      if (!c || *c <= 0 || !b.min.same_as(b.max)) { return {}; }
      return {floordiv(a.min, b.min), floordiv(a.max, b.min)};
    }
    case NodeKind::FloorMod: {
      auto [a, b] = both(*e.as<FloorMod>());
      if (!a.known() || !b.known()) { return {}; }
      if (same(a, e.as<FloorMod>()->a) && same(b, e.as<FloorMod>()->b)) { return point_of(e); }
      auto c = as_int(b.min);
      if (!c || *c <= 0 || !b.min.same_as(b.max)) { return {}; }
      auto low = as_int(a.min);
      auto high = as_int(a.max);
      if (low && high && *low >= 0 && *low / *c == *high / *c) { return {int_imm(*low % *c, e.dtype()), int_imm(*high % *c, e.dtype())}; }
      return {zero(e.dtype()), sub(b.min, one(e.dtype()))};
    }
    case NodeKind::Min: case NodeKind::Max: {
      const auto& n = static_cast<const BinaryNode&>(*e);
      auto [a, b] = both(n);
      if (!a.known() || !b.known()) { return {}; }
      if (same(a, n.a) && same(b, n.b)) { return point_of(e); }
      if (e.kind() == NodeKind::Min) { return {min(a.min, b.min), min(a.max, b.max)}; }
      return {max(a.min, b.min), max(a.max, b.max)};
    }
    case NodeKind::Cast: {
      const auto* c = e.as<Cast>();
      Interval a = interval(c->value, dom, depth + 1);
      if (!a.known()) { return {}; }
      if (same(a, c->value)) { return point_of(e); }
      return {cast(e.dtype(), a.min), cast(e.dtype(), a.max)};
    }
    case NodeKind::Ramp: {
      const auto* r = e.as<Ramp>();
      Interval a = interval(r->base, dom, depth + 1);
      auto stride = as_int(r->stride);
      auto lanes = as_int(r->lanes);
      if (!a.known() || !stride || !lanes) { return {}; }
      Expr reach = int_imm(*stride * (*lanes - 1), a.min.dtype());
      if (*stride >= 0) { return {a.min, add(a.max, reach)}; }
      return {add(a.min, reach), a.max};
    }
    case NodeKind::Broadcast: return interval(e.as<Broadcast>()->value, dom, depth + 1);
    default:
      // A value that depends on a relaxed variable in another way can be anything.
      return uses_var(e, [&](const VarNode& v) { return dom.count(&v) != 0; }) ? Interval{} : point_of(e);
  }
}

auto union_of(const Interval& a, const Interval& b) -> Interval {
  if (!a.known() || !b.known()) { return {}; }
  if (arith_deep_equal(a.min, b.min) && arith_deep_equal(a.max, b.max)) { return a; }
  // Intervals at a constant distance are compared, not joined by `min` and `max`.
  auto low = as_int(simplified(sub(a.min, b.min)));
  auto high = as_int(simplified(sub(a.max, b.max)));
  Expr lowest = low ? (*low <= 0 ? a.min : b.min) : min(a.min, b.min);
  Expr highest = high ? (*high >= 0 ? a.max : b.max) : max(a.max, b.max);
  return {std::move(lowest), std::move(highest)};
}

struct Access {
  Buffer buffer;
  std::vector<Interval> region;
};

class Detector : public Visitor {
 public:
  Detector(const Block& block, const std::unordered_map<const VarNode*, Buffer>& outer) : outer_(outer) {
    for (const MatchBufferRegion& m : block.match_buffers) { matches_.emplace(m.buffer.get(), m.source); }
    if (block.init) { visit(block.init); }
    visit(block.body);
  }

  std::vector<Access> reads, writes;
  bool is_opaque = false;

  using Visitor::on;
  void on(const BufferLoad& node) override {
    touch(reads, node.buffer, node.indices);
    Visitor::on(node);
  }
  void on(const BufferStore& node) override {
    touch(writes, node.buffer, node.indices);
    Visitor::on(node);
  }
  void on(const For& node) override {
    visit(node.min);
    visit(node.extent);
    Interval first = interval(node.min, dom_);
    Interval last = interval(add(node.min, sub(node.extent, one(node.extent.dtype()))), dom_);
    dom_[node.var.get()] = {first.min, last.max};
    if (!first.known() || !last.known()) { dom_[node.var.get()] = {}; }
    visit(node.body);
    dom_.erase(node.var.get());
  }
  void on(const LetStmt& node) override {
    visit(node.value);
    if (node.var->dtype.is_integral()) { dom_[node.var.get()] = interval(node.value, dom_); }
    visit(node.body);
    dom_.erase(node.var.get());
  }
  void on(const BlockRealize& node) override {
    for (const Expr& v : node.iter_values) { visit(v); }
    visit(node.predicate);
    VarMap bindings;
    for (size_t i = 0; i < node.iter_values.size() && i < node.block->iter_vars.size(); ++i) {
      bindings.emplace(node.block->iter_vars[i].var.get(), node.iter_values[i]);
    }
    auto take = [&](std::vector<Access>& into, const Array<BufferRegion>& regions) {
      for (const BufferRegion& r : regions) {
        std::vector<Interval> region;
        for (const Range& range : r.region) {
          Interval low = interval(substitute(range.min, bindings), dom_);
          Interval high = interval(substitute(simplified(sub(add(range.min, range.extent), one(range.min.dtype()))), bindings), dom_);
          region.push_back(low.known() && high.known() ? Interval{low.min, high.max} : Interval{});
        }
        join(into, r.buffer, std::move(region));
      }
    };
    take(reads, node.block->reads);
    take(writes, node.block->writes);
  }
  void on(const VarNode& node) override {
    // The memory of a buffer used directly: what is touched cannot be told.
    if (outer_.count(&node)) { is_opaque = true; }
  }
  void on(const Call& node) override {
    static const Name if_then_else("if_then_else"), access_ptr("tvm_access_ptr");
    if (node.op == access_ptr && node.args.size() == 5) {
      const auto* data = node.args[1].as<VarNode>();
      auto found = data ? outer_.find(data) : outer_.end();
      auto mask = as_int(node.args[4]);
      if (found != outer_.end() && mask) {
        std::vector<Interval> whole(found->second->shape.size());
        if (*mask & 1) { join(reads, found->second, whole); }
        if (*mask & 2) { join(writes, found->second, whole); }
        for (size_t i = 2; i < 4; ++i) { visit(node.args[i]); }
        return;
      }
    }
    Visitor::on(node);
  }

  [[nodiscard]] auto regions(const std::vector<Access>& accesses, const std::vector<Access>& leave_out) const -> Array<BufferRegion> {
    std::vector<BufferRegion> out;
    for (const Access& a : accesses) {
      bool skip = false;
      for (const Access& w : leave_out) { skip |= w.buffer == a.buffer; }
      if (skip) { continue; }
      std::vector<Range> region;
      for (size_t i = 0; i < a.region.size(); ++i) {
        const Interval& x = a.region[i];
        if (!x.known()) {
          region.push_back(from_zero(a.buffer->shape[i]));
        } else if (x.min.same_as(x.max)) {
          region.push_back(point(x.min));
        } else {
          region.push_back({x.min, simplified(add(sub(x.max, x.min), one(x.min.dtype())))});
        }
      }
      out.push_back({a.buffer, std::move(region), {}});
    }
    return out;
  }

 private:
  void touch(std::vector<Access>& into, const Buffer& buffer, const Array<Expr>& indices) {
    std::vector<Interval> region;
    for (const Expr& index : indices) { region.push_back(interval(index, dom_)); }
    join(into, buffer, std::move(region));
  }
  void join(std::vector<Access>& into, const Buffer& buffer, std::vector<Interval> region) {
    if (auto match = matches_.find(buffer.get()); match != matches_.end()) {
      // A view: what it is a view of is touched, all of it.
      std::vector<Interval> source;
      for (const Range& r : match->second.region) {
        source.push_back({r.min, simplified(sub(add(r.min, r.extent), one(r.min.dtype())))});
        if (is_one(r.extent)) { source.back().max = r.min; }
      }
      return join_outer(into, match->second.buffer, std::move(source));
    }
    join_outer(into, buffer, std::move(region));
  }
  void join_outer(std::vector<Access>& into, const Buffer& buffer, std::vector<Interval> region) {
    if (!outer_.count(buffer->data.get())) { return; }
    for (Access& a : into) {
      if (a.buffer != buffer) { continue; }
      for (size_t i = 0; i < region.size() && i < a.region.size(); ++i) { a.region[i] = union_of(a.region[i], region[i]); }
      return;
    }
    into.push_back({buffer, std::move(region)});
  }

  const std::unordered_map<const VarNode*, Buffer>& outer_;
  std::unordered_map<const BufferNode*, BufferRegion> matches_;
  Domains dom_;
};

class Completer : public Mutator {
 public:
  Completer(std::unordered_map<const VarNode*, Buffer> buffers, Evaluator& evaluator) : buffers_(std::move(buffers)), evaluator_(evaluator) {}
  using Mutator::on;

  auto on(const Block& node) -> Stmt override {
    for (const Buffer& b : node.alloc_buffers) { buffers_[b->data.get()] = b; }
    for (const MatchBufferRegion& m : node.match_buffers) { buffers_[m.buffer->data.get()] = m.buffer; }
    Stmt body = mutate(node.body);
    Stmt init = node.init ? mutate(node.init) : node.init;
    for (const Buffer& b : node.alloc_buffers) { buffers_.erase(b->data.get()); }
    for (const MatchBufferRegion& m : node.match_buffers) { buffers_.erase(m.buffer->data.get()); }
    const Attr* mark = find_attr(node.annotations, detect_access_key());
    if (!mark && body.same_as(node.body) && init.same_as(node.init)) { return self(node); }
    Block::Fields fields = node.fields();
    fields.body = std::move(body);
    fields.init = std::move(init);
    if (!mark) { return make<Block>(std::move(fields), node.origin, node.id); }
    int64_t missing = as_int(mark->expr()).value_or(0);
    fields.annotations = without_attr(fields.annotations, detect_access_key());
    Ref<Block> plain = make<Block>(std::move(fields), node.origin, node.id);
    Detector detector(*plain, buffers_);
    if (detector.is_opaque) {
      evaluator_.report(error(Code::UnknownRegion, node.origin).arg("block", node.name.view())
                            .remedy("say what it reads and writes with `T.reads` and `T.writes`"));
      return plain;
    }
    fields = plain->fields();
    if (missing & 1) { fields.reads = detector.regions(detector.reads, node.init ? detector.writes : std::vector<Access>{}); }
    if (missing & 2) { fields.writes = detector.regions(detector.writes, {}); }
    return make<Block>(std::move(fields), node.origin, node.id);
  }
  auto on(const DeclBuffer& node) -> Stmt override {
    buffers_.emplace(node.buffer->data.get(), node.buffer);
    return Mutator::on(node);
  }

 private:
  std::unordered_map<const VarNode*, Buffer> buffers_;
  Evaluator& evaluator_;
};

auto contains_block(const Stmt& stmt) -> bool {
  if (stmt.as<BlockRealize>()) { return true; }
  bool found = false;
  visit_children(stmt, [](const Expr&) {}, [&](const Stmt& child) { found = found || contains_block(child); });
  return found;
}
auto needs_completion(const Stmt& stmt) -> bool {
  if (const auto* block = stmt.as<Block>(); block && find_attr(block->annotations, detect_access_key())) { return true; }
  bool found = false;
  visit_children(stmt, [](const Expr&) {}, [&](const Stmt& child) { found = found || needs_completion(child); });
  return found;
}

}  // namespace

auto complete(PrimFuncNode func, std::vector<Buffer> root_allocs, Evaluator& evaluator) -> PrimFunc {
  std::unordered_map<const VarNode*, Buffer> buffers;
  for (const auto& [param, buffer] : func.buffer_map) { buffers.emplace(buffer->data.get(), buffer); }
  for (const Buffer& b : root_allocs) { buffers.emplace(b->data.get(), b); }
  const auto* realize = func.body.as<BlockRealize>();
  bool insert = !root_allocs.empty() || (realize ? !realize->block->iter_vars.empty() : contains_block(func.body));
  if (insert) {
    Block::Fields fields;
    fields.name = Name("root");
    fields.body = func.body;
    fields.alloc_buffers = std::move(root_allocs);
    // Left as the text has it, without regions, as TVM leaves it.
    Ref<Block> root = make<Block>(std::move(fields), func.origin);
    func.body = make<BlockRealize>(Array<Expr>{}, bool_imm(true, func.origin), std::move(root), func.origin);
  } else if (realize) {
    // A root written out may say nothing of its regions either.
    const auto& root = *realize->block;
    if (find_attr(root.annotations, detect_access_key())) {
      Block::Fields fields = root.fields();
      fields.annotations = without_attr(fields.annotations, detect_access_key());
      func.body = make<BlockRealize>(realize->iter_values, realize->predicate, make<Block>(std::move(fields), root.origin, root.id), realize->origin);
    }
  }
  if (needs_completion(func.body)) { func.body = Completer(std::move(buffers), evaluator).mutate(func.body); }
  return make_func(std::move(func));
}

}  // namespace loopsmith::frontend
