// Chooses the places of allocations: see plan_buffer_location.h.
#include "transform/plan_buffer_location.h"

#include <algorithm>
#include <functional>
#include <set>
#include <unordered_set>

#include "arith/analyzer.h"
#include "arith/int_set.h"
#include "ir/follow.h"
#include "ir/jumps.h"
#include "ir/ops.h"
#include "ir/visitor.h"
#include "ir/vocabulary.h"
#include "transform/affine.h"
#include "support/fault.h"

namespace loopsmith::transform {
namespace {

// A node in the tree of loops and blocks. Accesses belong to their innermost block: only a block's signature
// guarantees that iterations are independent; loops inside of a block's body do not.
struct Scope {
  const StmtNode* node;  // For or Block; null: the function
  int parent;
  int depth;
};

// A block that accesses buffers under its own predicate or that of a block around: its place and the condition.
struct Guarded {
  int scope;
  std::vector<Expr> conditions;
  Domains domains;
  std::vector<int> loops;                            // scopes of the loops of `domains`, in its order
  std::unordered_set<const VarNode*> writes, reads;  // data variables
};

// An access of a block to a buffer, in terms of the loops around.
struct Access {
  int scope;
  Array<Range> region;
  Array<Expr> shape;                                 // of the buffer
  std::vector<std::pair<Var, Range>> loops;          // around the block, outermost first
  std::vector<int> loop_scopes;
};

class FindLocations : public Visitor {
 public:
  using Visitor::on;
  using Visitor::visit;

  std::vector<Scope> scopes{{nullptr, -1, 0}};
  std::unordered_map<const VarNode*, int> location;   // by data variable: lowest common ancestor
  std::unordered_map<const BufferNode*, int> declared;
  std::vector<Guarded> guarded;
  std::unordered_map<const VarNode*, std::vector<int>> readers;   // scopes of blocks, by data variable
  std::unordered_map<const VarNode*, std::vector<Access>> written, read;

  void on(const For& n) override {
    visit(n.min);
    visit(n.extent);
    int outer = enter(&n);
    loops_[n.var.get()] = here_;
    ranges_.emplace_back(n.var, Range{substitute(n.min, bindings_), substitute(n.extent, bindings_)});
    domains_.push(n.var.get(), n.min, n.extent);
    around_.push_back(here_);
    if (loop_jumps_out_of(n.body).any()) { jumped_over(n.body); }
    visit(n.body);
    around_.pop_back();
    ranges_.pop_back();
    domains_.pop();
    here_ = outer;
  }
  void on(const While& n) override {
    jumped_over(n.body);
    Visitor::on(n);
  }
  void on(const BlockRealize& n) override {
    for (const Expr& v : n.iter_values) { visit(v); }
    visit(n.predicate);
    // The outermost loop that drives a non-data-parallel iter var; buffers that the block writes are allocated outside of it.
    int carried = -1;
    for (size_t i = 0; i < n.iter_values.size(); ++i) {
      if (n.block->iter_vars[i].kind == IterKind::Spatial) { continue; }
      post_order(n.iter_values[i], [&](const Expr& e) {
        const auto* v = e.as<VarNode>();
        auto loop = v ? loops_.find(v) : loops_.end();
        if (loop == loops_.end()) { return; }
        if (carried < 0 || scopes[loop->second].depth < scopes[carried].depth) { carried = loop->second; }
      });
    }
    int outer = enter(n.block.get());
    int outer_block = block_;
    block_ = here_;
    if (carried >= 0 && !FAULT(location_reduction_ignored)) {
      for (const BufferRegion& w : n.block->writes) { use(*w.buffer, scopes[carried].parent); }
      // Reductions read their earlier results.
      Written written;
      written.visit(n.block->body);
      for (const BufferNode* b : written.buffers) { use(*b, scopes[carried].parent); }
    }
    size_t guards = guards_.size();
    if (!is_one(n.predicate)) { add_guards(substitute(n.predicate, bindings_)); }
    for (size_t i = 0; i < n.iter_values.size(); ++i) { bindings_[n.block->iter_vars[i].var.get()] = substitute(n.iter_values[i], bindings_); }
    note(n);
    on(*n.block);
    guards_.resize(guards);
    block_ = outer_block;
    here_ = outer;
  }
  /// True when, in some iteration of the loop `to`, a guarded block does not write the buffer but another block reads it. The
  /// contents are then kept across iterations.
  [[nodiscard]] auto carries(const VarNode* data, int to) const -> bool {
    for (const Guarded& g : guarded) {
      if (!g.writes.count(data) || !is_below(g.scope, to)) { continue; }
      std::unordered_map<const VarNode*, bool> relaxed;
      for (size_t i = 0; i < g.loops.size(); ++i) {
        if (scopes[g.loops[i]].depth > scopes[to].depth) { relaxed[g.domains.order[i]] = true; }
      }
      for (const Expr& e : g.conditions) {
        if (!may_fail_throughout(e, g.domains, relaxed)) { continue; }
        auto found = readers.find(data);
        if (found == readers.end()) { continue; }
        for (int reader : found->second) {
          if (reader != g.scope && !is_guarded(reader, e, g.domains, relaxed, to)) { return true; }
        }
      }
    }
    return false;
  }
  /// True when an iteration of the loop `to` may read elements of the buffer that it does not write itself. With wrapping
  /// indices (fused loops, computed indices) an iteration writes scattered elements, and a read of their box uses earlier ones.
  [[nodiscard]] auto reads_what_others_wrote(const VarNode* data, int to) const -> bool {
    if (jumped_over_.contains(data)) { return true; }
    auto writers = written.find(data);
    auto readers = read.find(data);
    if (writers == written.end() || readers == read.end()) { return false; }
    auto inside = [&](const Access& a) {
      std::vector<std::pair<Var, Range>> out;
      for (size_t i = 0; i < a.loops.size(); ++i) {
        if (scopes[a.loop_scopes[i]].depth > scopes[to].depth) { out.push_back(a.loops[i]); }
      }
      return out;
    };
    arith::Analyzer analyzer;
    for (const Access& r : readers->second) {
      if (!is_below(r.scope, to)) { continue; }
      int makers = 0;
      bool has_holes = false;
      std::vector<arith::IntSet> made;
      for (const Access& w : writers->second) {
        if (!is_below(w.scope, to) || w.scope == r.scope) { continue; }
        ++makers;
        arith::Analyzer fresh;
        auto box = arith::estimate_region_strict_bound(w.region, inside(w), bool_imm(true), fresh);
        if (!box) { has_holes = true; }
        if (!box || (!made.empty() && made.size() != box->size())) { continue; }
        // The box around the elements that all writers write: an iteration that reads more reads elements of other iterations.
        for (size_t i = 0; i < made.size(); ++i) { made[i] = arith::union_of({made[i], (*box)[i]}); }
        if (made.empty()) { made = std::move(*box); }
      }
      if (has_holes) { return true; }
      if (makers == 0) { continue; }
      arith::DomMap domains;
      for (const auto& [var, range] : inside(r)) { domains.emplace(var.get(), arith::IntSet::from_range(range)); }
      std::vector<arith::IntSet> needed = arith::eval_set(r.region, domains);
      auto size = [&](const arith::IntSet& set) -> std::optional<int64_t> {
        if (!set.has_lower_bound() || !set.has_upper_bound()) { return {}; }
        return as_int(analyzer.simplify(sub(set.max(), set.min())));
      };
      // A predicate may cut off the last vector of a row; reads end at the end of the row.
      auto size_within = [&](const arith::IntSet& set, size_t dimension) -> std::optional<int64_t> {
        if (!set.has_lower_bound() || !set.has_upper_bound()) { return {}; }
        auto low = as_int(analyzer.simplify(set.min())), high = as_int(analyzer.simplify(set.max()));
        auto extent = dimension < r.shape.size() ? as_int(r.shape[dimension]) : std::nullopt;
        return low && high && extent ? std::min(*high, *extent - 1) - std::max<int64_t>(*low, 0) : size(set);
      };
      for (size_t i = 0; i < needed.size() && i < made.size(); ++i) {
        auto all = size_within(needed[i], i);
        auto some = size(made[i]);
        if (all && some && *all > *some) { return true; }
      }
      if (reads_elsewhere(r, needed, made, to)) { return true; }
    }
    return false;
  }
  /// Tries iterations (all of them if they are few): true when one needs an element that it does not write itself.
  [[nodiscard]] auto reads_elsewhere(const Access& reader, const std::vector<arith::IntSet>& needed, const std::vector<arith::IntSet>& made, int to) const -> bool {
    constexpr int64_t few = 48;
    arith::Analyzer analyzer;
    std::vector<std::pair<const VarNode*, Range>> outer;
    std::vector<int64_t> extents;
    int64_t all = 1;
    for (size_t i = 0; i < reader.loops.size(); ++i) {
      const auto& [var, range] = reader.loops[i];
      auto extent = as_int(range.extent);
      if (scopes[reader.loop_scopes[i]].depth > scopes[to].depth || !extent || *extent < 1) { continue; }
      outer.emplace_back(var.get(), range);
      extents.push_back(*extent);
      if (all <= few && __builtin_mul_overflow(all, *extent, &all)) { all = few + 1; }
    }
    uint64_t dice = 1;
    // If there are too many iterations to try all: the first, the last and the second of all loops together; the second and the last of each loop alone; then
    // iterations drawn by chance.
    const auto alone = static_cast<int64_t>(2 * outer.size());
    for (int64_t sample = 0; sample < (all <= few ? all : few + alone); ++sample) {
      VarMap at;
      int64_t rest = sample;
      for (size_t i = 0; i < outer.size(); ++i) {
        int64_t last = extents[i] - 1;
        dice = dice * 6364136223846793005u + 1442695040888963407u;
        int64_t step = sample == 0 ? 0 : sample == 1 ? last : sample == 2 ? std::min<int64_t>(1, last) : static_cast<int64_t>((dice >> 33) % static_cast<uint64_t>(extents[i]));
        if (sample >= 3 && sample < 3 + alone) { step = (sample - 3) / 2 != static_cast<int64_t>(i) ? 0 : (sample - 3) % 2 == 0 ? std::min<int64_t>(1, last) : last; }
        if (all <= few) {
          step = rest % extents[i];
          rest /= extents[i];
        }
        at[outer[i].first] = add(outer[i].second.min, constant_int(outer[i].first->dtype, step));
      }
      auto value = [&](const Expr& e) { return as_int(analyzer.simplify(substitute(substitute(e, at), at))); };
      for (size_t i = 0; i < needed.size() && i < made.size(); ++i) {
        if (!needed[i].has_lower_bound() || !needed[i].has_upper_bound() || !made[i].has_lower_bound() || !made[i].has_upper_bound()) { continue; }
        auto need_low = value(needed[i].min()), need_high = value(needed[i].max()), low = value(made[i].min()), high = value(made[i].max());
        if (!need_low || !need_high || !low || !high) { continue; }
        // No read is outside of the buffer.
        int64_t first = std::max<int64_t>(*need_low, 0), last = *need_high;
        if (i < reader.shape.size()) { if (auto extent = as_int(reader.shape[i])) { last = std::min(last, *extent - 1); } }
        if (first <= last && (first < *low || last > *high)) { return true; }
      }
    }
    return false;
  }
  /// True when the loops around its accesses have few iterations in total.
  [[nodiscard]] auto is_countable(const VarNode* data) const -> bool {
    constexpr int64_t most = 16384;
    int64_t count = 0;
    for (const auto* all : {&written, &read}) {
      auto found = all->find(data);
      if (found == all->end()) { continue; }
      for (const Access& access : found->second) {
        int64_t here = 1;
        for (const auto& [var, range] : access.loops) {
          if (__builtin_mul_overflow(here, std::max<int64_t>(as_int(range.extent).value_or(1), 1), &here) || here > most) { return false; }
        }
        count += here;
      }
    }
    return count <= most;
  }
  void on(const Block& n) override {
    for (const Buffer& b : n.alloc_buffers) { declared[b.get()] = here_; }
    for (const MatchBufferRegion& m : n.match_buffers) { use(*m.source.buffer, here_); }
    // The declared regions of a block use variables of the place outside of it.
    for (const auto* regions : {&n.reads, &n.writes}) {
      for (const BufferRegion& r : *regions) { use(*r.buffer, scopes[here_].parent); }
    }
    Visitor::on(n);
  }
  void on(const VarNode& n) override {
    if (n.dtype.is_handle()) { touch(&n, block_); }
  }
  void on(const BufferLoad& n) override {
    use(*n.buffer, block_);
    Visitor::on(n);
  }
  void on(const BufferStore& n) override {
    use(*n.buffer, block_);
    Visitor::on(n);
  }
  void on(const DeclBuffer& n) override {
    touch(n.buffer->data.get(), block_);
    Visitor::on(n);
  }

 private:
  // The stores in a `while`, or in a loop that a jump leaves, may not run. Without counting, each element may keep the value of an earlier iteration.
  void jumped_over(const Stmt& body) {
    post_order(body, [&](const Stmt& s) { if (const auto* store = s.as<BufferStore>()) { jumped_over_.insert(store->buffer->data.get()); } }, [](const Expr&) {});
  }
  // The only store to the buffer, outside of loops and blocks of the body; null for other bodies.
  static auto only_store(const Stmt& stmt, const Buffer& buffer) -> const BufferStore* {
    if (const auto* store = stmt.as<BufferStore>()) { return store->buffer == buffer ? store : nullptr; }
    if (stmt.as<For>() || stmt.as<While>() || stmt.as<BlockRealize>() || stmt.as<IfThenElse>()) { return nullptr; }
    const BufferStore* found = nullptr;
    visit_children(stmt, [](const Expr&) {}, [&](const Stmt& s) { if (const auto* one = only_store(s, buffer)) { found = one; } });
    return found;
  }
  void note(const BlockRealize& n) {
    std::unordered_set<const VarNode*> reads, writes;
    std::vector<Buffer> loaded;
    // Visits the block's own statements; blocks inside are handled separately.
    std::function<void(const Stmt&)> walk = [&](const Stmt& s) {
      if (s.as<BlockRealize>()) { return; }
      if (const auto* store = s.as<BufferStore>()) { writes.insert(store->buffer->data.get()); }
      visit_children(
          s, [&](const Expr& e) { post_order(e, [&](const Expr& x) { if (const auto* load = x.as<BufferLoad>()) { reads.insert(load->buffer->data.get()); loaded.push_back(load->buffer); } }); }, walk);
    };
    walk(n.block->body);
    // Replaces a view by its source.
    for (const MatchBufferRegion& m : n.block->match_buffers) {
      if (reads.count(m.buffer->data.get())) { reads.insert(m.source.buffer->data.get()); }
      if (writes.count(m.buffer->data.get())) { writes.insert(m.source.buffer->data.get()); }
      std::erase_if(loaded, [&](const Buffer& b) { return b == m.buffer; });
    }
    for (const VarNode* data : reads) { readers[data].push_back(here_); }
    auto keep = [&](const Array<BufferRegion>& regions, const std::unordered_set<const VarNode*>& touched, auto& to) {
      for (const BufferRegion& region : regions) {
        if (!touched.count(region.buffer->data.get())) { continue; }
        std::vector<Range> ranges;
        for (const Range& range : region.region) { ranges.push_back(substitute(range, bindings_)); }
        if (&to == &written) {
          // A part of a partitioned loop declares the region of all its instances; the store gives that of a single instance.
          const auto* store = only_store(n.block->body, region.buffer);
          if (store && store->value.dtype().lanes == 1) {
            // If the index is loaded from a buffer, only the declaration is known.
            bool is_looked_up = false;
            for (const Expr& index : store->indices) { post_order(index, [&](const Expr& e) { is_looked_up = is_looked_up || e.as<BufferLoad>(); }); }
            for (size_t i = 0; i < ranges.size() && !is_looked_up; ++i) { ranges[i] = substitute(Range{store->indices[i], constant_int(store->indices[i].dtype(), 1)}, bindings_); }
          }
        }
        to[region.buffer->data.get()].push_back({here_, Array<Range>(std::move(ranges)), region.buffer->shape, ranges_, around_});
      }
    };
    // An undeclared read may access the whole buffer.
    std::vector<BufferRegion> all_reads = n.block->reads.to_vector();
    for (const Buffer& buffer : loaded) {
      bool is_declared = std::any_of(all_reads.begin(), all_reads.end(), [&](const BufferRegion& r) { return r.buffer == buffer; });
      bool is_update = std::any_of(n.block->writes.begin(), n.block->writes.end(), [&](const BufferRegion& r) { return r.buffer == buffer; });
      if (!is_declared && !is_update) { all_reads.push_back(full_region(buffer)); }
    }
    keep(Array<BufferRegion>(std::move(all_reads)), reads, read);
    keep(n.block->writes, writes, written);
    if (guards_.empty()) { return; }
    guarded.push_back({here_, guards_, domains_, around_, std::move(writes), std::move(reads)});
  }
  void add_guards(const Expr& e) {
    if (const auto* both = e.as<And>()) {
      add_guards(both->a);
      add_guards(both->b);
    } else {
      guards_.push_back(e);
    }
  }
  auto is_below(int scope, int ancestor) const -> bool {
    for (int s = scope; s >= 0; s = scopes[s].parent) {
      if (s == ancestor) { return true; }
    }
    return false;
  }
  // True when the condition may be false for all values of the relaxed loops, somewhere in the domain of the others.
  static auto may_fail_throughout(const Expr& e, const Domains& domains, const std::unordered_map<const VarNode*, bool>& relaxed) -> bool {
    auto gap = least_gap(e, domains, relaxed);
    if (!gap) { return true; }
    auto most = constant_max(*gap, domains);
    return !most || *most >= 0;
  }
  // True when the reader's own conditions keep it from running in outer iterations in which the writer's condition always fails. The
  // relaxed loops are those inside of the place in question.
  auto is_guarded(int reader, const Expr& condition, const Domains& domains, const std::unordered_map<const VarNode*, bool>& relaxed, int to) const -> bool {
    auto wanted = least_gap(condition, domains, relaxed);
    for (const Guarded& g : guarded) {
      if (g.scope != reader) { continue; }
      std::unordered_map<const VarNode*, bool> inside;
      for (size_t i = 0; i < g.loops.size(); ++i) {
        if (scopes[g.loops[i]].depth > scopes[to].depth) { inside[g.domains.order[i]] = true; }
      }
      for (const Expr& e : g.conditions) {
        if (arith::deep_equal(e, condition)) { return true; }
        auto given = least_gap(e, g.domains, inside);
        if (!wanted || !given) { continue; }
        Affine more = *wanted;
        more.add(*given, -1);
        auto most = constant_max(more, g.domains);
        if (most && *most <= 0) { return true; }
      }
    }
    return false;
  }
  // For `a < b`, the minimum of `a - b` while the relaxed loops run; none for other conditions.
  static auto least_gap(const Expr& e, const Domains& domains, const std::unordered_map<const VarNode*, bool>& relaxed) -> std::optional<Affine> {
    const auto* lt = e.as<LT>();
    if (!lt) { return {}; }
    // The bounds of quotients and remainders of outer loops may not be tight.
    bool is_rough = false;
    post_order(e, [&](const Expr& part) {
      if (!part.as<FloorMod>() && !part.as<FloorDiv>()) { return; }
      post_order(part, [&](const Expr& x) {
        const auto* v = x.as<VarNode>();
        is_rough = is_rough || (v && !relaxed.count(v));
      });
    });
    if (is_rough) { return {}; }
    auto a = interval_of(lt->a, domains, relaxed);
    auto b = interval_of(lt->b, domains, relaxed);
    if (!a || !b) { return {}; }
    Affine gap = a->low;
    gap.add(b->high, -1);
    return gap;
  }
  struct Written : Visitor {
    using Visitor::on;
    using Visitor::visit;
    void on(const BufferStore& n) override { buffers.insert(n.buffer.get()); }
    std::unordered_set<const BufferNode*> buffers;
  };
  auto enter(const StmtNode* node) -> int {
    scopes.push_back({node, here_, scopes[here_].depth + 1});
    int outer = here_;
    here_ = static_cast<int>(scopes.size()) - 1;
    return outer;
  }
  void use(const BufferNode& buffer, int at) { touch(buffer.data.get(), at); }
  void touch(const VarNode* data, int at) {
    auto [found, fresh] = location.emplace(data, at);
    if (!fresh) { found->second = common(found->second, at); }
  }
  auto common(int a, int b) const -> int {
    while (a != b) {
      if (scopes[a].depth >= scopes[b].depth) { a = scopes[a].parent; } else { b = scopes[b].parent; }
    }
    return a;
  }
  int here_ = 0;
  int block_ = 0;
  Domains domains_;
  VarMap bindings_;                                    // of the iter vars of the blocks around, by loops
  std::vector<Expr> guards_;                           // predicates of the blocks around and of this one, by loops
  std::vector<std::pair<Var, Range>> ranges_;          // of the loops around
  std::vector<int> around_;
  std::unordered_map<const VarNode*, int> loops_;
  std::unordered_set<const VarNode*> jumped_over_;
};

// Declares the reads and writes of a new block, as whole buffers.
void declare_regions(Block::Fields& fields) {
  std::unordered_set<const BufferNode*> own, read, written;
  std::vector<BufferRegion> reads, writes;
  auto add = [&](const Buffer& b, std::unordered_set<const BufferNode*>& seen, std::vector<BufferRegion>& to) {
    if (!own.count(b.get()) && seen.insert(b.get()).second) { to.push_back(full_region(b)); }
  };
  for (const Buffer& b : fields.alloc_buffers) { own.insert(b.get()); }
  post_order(
      fields.body,
      [&](const Stmt& s) {
        const auto* block = s.as<Block>();
        if (!block) { return; }
        for (const Buffer& b : block->alloc_buffers) { own.insert(b.get()); }
        for (const MatchBufferRegion& m : block->match_buffers) { own.insert(m.buffer.get()); }
      },
      [](const Expr&) {});
  post_order(
      fields.body,
      [&](const Stmt& s) {
        if (const auto* store = s.as<BufferStore>()) { add(store->buffer, written, writes); }
        if (const auto* block = s.as<Block>()) {
          for (const BufferRegion& r : block->reads) { add(r.buffer, read, reads); }
          for (const BufferRegion& r : block->writes) { add(r.buffer, written, writes); }
        }
      },
      [&](const Expr& e) {
        if (const auto* load = e.as<BufferLoad>()) { add(load->buffer, read, reads); }
      });
  fields.reads = std::move(reads);
  fields.writes = std::move(writes);
}

// Follows the iterations of a loop (or the runs of a block's body), and searches for one that loads an element which it has not stored itself.
class Carried : public Follower {
 public:
  Carried(const PrimFunc& func, const Buffer& buffer, const StmtNode* place) : buffer_(buffer) {
    steps_left = 1 << 17;
    // Unknown sizes are assumed to be 5.
    auto assume = [&](const Expr& e) {
      post_order(e, [&](const Expr& x) {
        const auto* var = x.as<VarNode>();
        if (!var || !var->dtype.is_integral() || std::any_of(values.begin(), values.end(), [&](const auto& v) { return v.first == var; })) { return; }
        values.emplace_back(var, 5);
        is_example_ = true;
      });
    };
    for (const Var& param : func->params) { assume(param); }
    for (const auto& [param, of] : func->buffer_map) { for (const Expr& extent : of->shape) { assume(extent); } }
    const auto* loop = place && place->kind == NodeKind::For ? static_cast<const For*>(place) : nullptr;
    body_ = loop ? loop->body.get() : place && place->kind == NodeKind::Block ? static_cast<const Block*>(place)->body.get() : nullptr;
    for (const Expr& extent : buffer->shape) {
      auto n = evaluate_integer(extent, values);
      is_known_ = is_known_ && n && !__builtin_mul_overflow(size_, *n, &size_);
      shape_.push_back(n.value_or(0));
    }
  }
  /// True when the index of the found load is known, not loaded from a buffer.
  [[nodiscard]] auto is_certain() const -> bool { return is_certain_; }
  /// None if there are too many iterations, or if they cannot be followed.
  [[nodiscard]] auto ask(const Stmt& body) -> std::optional<bool> {
    if (!body_ || !is_known_) { return {}; }
    bool done = follow(body);
    if (!is_known_) { return {}; }
    if (found_) { return true; }
    return done && !is_example_ ? std::optional<bool>(false) : std::nullopt;
  }

 protected:
  auto enter(const Stmt& stmt) -> bool override {
    if (stmt.get() == body_) { stored_.clear(); }
    return uses(stmt);
  }
  void load(const Buffer& buffer, const Element& at) override {
    if (!is_it(buffer) || stored_.contains(at)) { return; }
    for (size_t i = 0; i < at.size(); ++i) { if (at[i] < 0 || i >= shape_.size() || at[i] >= shape_[i]) { return; } }
    stop();
  }
  void load_somewhere(const Buffer& buffer) override {
    if (!is_it(buffer) || static_cast<int64_t>(stored_.size()) >= size_) { return; }
    is_certain_ = false;
    stop();
  }
  void store(const Buffer& buffer, const Element& at, bool certain) override {
    if (is_it(buffer) && certain) { stored_.insert(at); }
  }
  void store_somewhere(const Buffer& buffer) override { if (is_it(buffer)) { give_up(); } }
  void hand_out(const VarNode* data) override { if (data == buffer_->data.get()) { give_up(); } }

 private:
  auto is_it(const Buffer& buffer) -> bool {
    if (buffer->data.get() != buffer_->data.get()) { return false; }
    if (!(buffer == buffer_)) { give_up(); }
    return is_known_;
  }
  void stop() {
    found_ = true;
    steps_left = -1;
  }
  void give_up() {
    is_known_ = false;
    steps_left = -1;
  }
  // True for the buffer's memory, by its own name or by that of a view.
  [[nodiscard]] auto is_its(const VarNode* data) const -> bool { return data == buffer_->data.get() || views_.contains(data); }
  // True when the statement accesses the buffer, or jumps; other statements are skipped.
  auto uses(const Stmt& stmt) -> bool {
    auto [known, fresh] = uses_.emplace(stmt.get(), false);
    if (!fresh) { return known->second; }
    bool found = false;
    auto in_expr = [&](const Expr& e) {
      post_order(e, [&](const Expr& x) {
        const auto* load = x.as<BufferLoad>();
        found = found || (load && is_its(load->buffer->data.get())) || is_its(x.as<VarNode>());
      });
    };
    if (const auto* store = stmt.as<BufferStore>()) { found = is_its(store->buffer->data.get()); }
    found = found || stmt.as<Break>() || stmt.as<Continue>() || is_return(stmt);
    if (const auto* block = stmt.as<Block>()) {
      for (const MatchBufferRegion& m : block->match_buffers) {
        if (!is_its(m.source.buffer->data.get())) { continue; }
        found = true;
        views_.insert(m.buffer->data.get());
      }
    }
    visit_children(stmt, [&](const Expr& e) { if (!found) { in_expr(e); } }, [&](const Stmt& s) { if (!found) { found = uses(s); } });
    uses_[stmt.get()] = found;
    return found;
  }
  const Buffer& buffer_;
  const StmtNode* body_ = nullptr;
  bool found_ = false, is_certain_ = true, is_known_ = true, is_example_ = false;
  std::vector<int64_t> shape_;
  int64_t size_ = 1;
  std::set<Element> stored_;
  std::unordered_set<const VarNode*> views_;
  std::unordered_map<const StmtNode*, bool> uses_;
};

class Move : public Mutator {
 public:
  explicit Move(std::unordered_map<const StmtNode*, std::vector<Buffer>> at, std::unordered_set<const BufferNode*> dropped)
      : at_(std::move(at)), dropped_(std::move(dropped)) {}
  using Mutator::on;

  auto on(const For& n) -> Stmt override {
    Stmt out = Mutator::on(n);
    auto here = at_.find(&n);
    if (here == at_.end()) { return out; }
    const For& loop = *out.as<For>();
    Block::Fields fields;
    fields.body = loop.body;
    fields.alloc_buffers = here->second;
    declare_regions(fields);
    Stmt inner = make<BlockRealize>(Array<Expr>(), bool_imm(true), make<Block>(std::move(fields), n.origin), n.origin);
    return make<For>(loop.var, loop.min, loop.extent, loop.for_kind, std::move(inner), loop.thread, loop.annotations, loop.origin, loop.id);
  }
  auto on(const Block& n) -> Stmt override {
    Stmt out = Mutator::on(n);
    auto here = at_.find(&n);
    bool changes = here != at_.end();
    for (const Buffer& b : n.alloc_buffers) { changes = changes || dropped_.count(b.get()) != 0; }
    if (!changes) { return out; }
    Block::Fields fields = out.as<Block>()->fields();
    std::vector<Buffer> kept;
    for (const Buffer& b : fields.alloc_buffers) {
      if (!dropped_.count(b.get())) { kept.push_back(b); }
    }
    if (here != at_.end()) { kept.insert(kept.end(), here->second.begin(), here->second.end()); }
    fields.alloc_buffers = std::move(kept);
    return make<Block>(std::move(fields), n.origin, n.id);
  }

 private:
  std::unordered_map<const StmtNode*, std::vector<Buffer>> at_;
  std::unordered_set<const BufferNode*> dropped_;
};

auto runs_at_once(const StmtNode* node) -> bool {
  if (!node || node->kind != NodeKind::For) { return false; }
  const auto& loop = *static_cast<const For*>(node);
  if (is_one(loop.extent)) { return false; }
  return loop.for_kind == ForKind::Parallel || (loop.thread && is_block_axis(loop.thread->thread_tag.view()));
}

/// A loop over the threads of a block that do not wait for each other in it. Memory that they do not share by its scope is used by one of them only.
auto is_without_barriers(const StmtNode* node, const Buffer& buffer) -> bool {
  if (!node || node->kind != NodeKind::For || is_shared_memory(buffer->scope().view())) { return false; }
  const auto& loop = *static_cast<const For*>(node);
  if (is_one(loop.extent)) { return false; }
  if (!loop.thread || !is_thread_axis(loop.thread->thread_tag.view())) { return false; }
  bool has_barrier = false;
  post_order(loop.body, [](const Stmt&) {}, [&](const Expr& e) {
    const auto* call = e.as<Call>();
    has_barrier = has_barrier || (call && call->op == "tvm_storage_sync");
  });
  return !has_barrier;
}

auto plan(const PrimFunc& func) -> PrimFunc {
  FindLocations find;
  find.visit(func->body);
  std::unordered_map<const StmtNode*, std::vector<Buffer>> at;
  std::unordered_set<const BufferNode*> moved;
  // In the order of declaration, so that the result is deterministic.
  std::vector<Buffer> order;
  post_order(
      func->body,
      [&](const Stmt& s) {
        if (const auto* block = s.as<Block>()) { order.insert(order.end(), block->alloc_buffers.begin(), block->alloc_buffers.end()); }
      },
      [](const Expr&) {});
  for (const Buffer& buffer : order) {
    auto place = find.location.find(buffer->data.get());
    if (place == find.location.end()) {
      moved.insert(buffer.get());
      continue;
    }
    int from = find.declared[buffer.get()];
    int to = place->second;
    auto is_alone = [&](int at) { return runs_at_once(find.scopes[at].node) || is_without_barriers(find.scopes[at].node, buffer); };
    auto counted = [&](int at) -> std::optional<bool> {
      if (FAULT(location_carried_ignored) || FAULT(location_holes_ignored) || FAULT(location_reduction_ignored)) { return {}; }
      if (!find.is_countable(buffer->data.get())) { return {}; }
      Carried carried(func, buffer, find.scopes[at].node);
      auto answer = carried.ask(func->body);
      return carried.is_certain() || !is_alone(at) ? answer : std::nullopt;
    };
    auto by_bounds = [&](int to) {
      return (find.carries(buffer->data.get(), to) && !FAULT(location_carried_ignored)) ||
             (find.reads_what_others_wrote(buffer->data.get(), to) && !FAULT(location_holes_ignored));
    };
    while (to != from && find.scopes[to].depth > find.scopes[from].depth) {
      // Follows the iterations of short loops.
      auto carries = counted(to);
      // Iterations that run at the same time and do not wait for each other: each has its own copy of buffers that only they use.
      if (!carries && is_alone(to)) { break; }
      if (!(carries ? *carries : by_bounds(to))) { break; }
      to = find.scopes[to].parent;
    }
    if (to == from || find.scopes[to].depth <= find.scopes[from].depth) { continue; }
    moved.insert(buffer.get());
    at[find.scopes[to].node].push_back(buffer);
  }
  if (moved.empty()) { return func; }
  return with_body(func, Move(std::move(at), std::move(moved)).mutate(func->body));
}

}  // namespace

auto plan_buffer_location(const IRModule& module, const LowerContext&) -> Result<IRModule> {
  return map_functions(module, [](const PrimFunc& func) -> Result<PrimFunc> { return plan(func); });
}

}  // namespace loopsmith::transform
