// The runs, arithmetic and memory of a loop: see loop_facts.h.
#include "cost/loop_facts.h"

#include <algorithm>
#include <map>
#include <set>

#include "arith/analyzer.h"
#include "cost/executions.h"
#include "ir/operations.h"
#include "ir/ops.h"
#include "ir/visitor.h"
#include "support/scoped_value.h"

namespace loopsmith::cost {
namespace {

auto times(std::optional<int64_t> a, std::optional<int64_t> b) -> std::optional<int64_t> {
  int64_t product = 0;
  if (!a || !b || __builtin_mul_overflow(*a, *b, &product)) { return std::nullopt; }
  return product;
}

struct Access {
  Buffer buffer;
  std::vector<Expr> indices;  // in terms of loop variables
  bool is_write = false;
};

/// The number of arithmetic operations; none: unknown.
struct Flops {
  std::optional<double> count = 0.0;
  bool is_most = false;
  auto operator+=(const Flops& other) -> Flops& {
    count = count && other.count ? std::optional(*count + *other.count) : std::nullopt;
    is_most = is_most || other.is_most;
    return *this;
  }
};

/// Walks a function and collects facts inside of the wanted loop or block.
class Collector {
 public:
  /// `of_all`: flops over all runs of the node, else of one run.
  explicit Collector(NodeId wanted, bool of_all = false) : found(wanted == 0), wanted_(wanted), inside_(wanted == 0), of_all_(of_all) {}

  LoopFacts facts;
  bool found;
  const For* loop = nullptr;      // the wanted loop; null: a block or the whole function is wanted
  std::vector<Access> accesses;
  std::vector<const For*> inner;  // loops in it, itself included
  std::vector<const For*> outer;  // loops around it

  void collect(const PrimFunc& function) {
    post_order(function->body, [&](const Stmt& stmt) { leaves_ = leaves_ || stmt->kind == NodeKind::Break || stmt->kind == NodeKind::Continue; },
               [&](const Expr& expr) {
                 const auto* call = expr.as<Call>();
                 leaves_ = leaves_ || (call != nullptr && call->op == "ret");
               });
    Flops whole = walk(function->body);
    if (wanted_ == 0) { take(whole); }
  }

 private:
  /// The flops of the statement in one run of the wanted node; statements outside of it count 0.
  auto walk(const Stmt& stmt) -> Flops {
    switch (stmt->kind) {
      case NodeKind::For: return walk_loop(static_cast<const For&>(*stmt));
      case NodeKind::BlockRealize: return walk_block(static_cast<const BlockRealize&>(*stmt));
      case NodeKind::BufferStore: {
        const auto& store = static_cast<const BufferStore&>(*stmt);
        if (inside_) {
          note(store.buffer, store.indices, true);
          note_loads(store.value);
        }
        return arithmetic_of(store.value, store.value.dtype().lanes);
      }
      case NodeKind::LetStmt: {
        const auto& let = static_cast<const LetStmt&>(*stmt);
        if (inside_) { note_loads(let.value); }
        Flops flops = arithmetic_of(let.value, let.value.dtype().lanes);
        if (let.var->dtype.is_integral()) { bindings_.insert_or_assign(let.var.get(), substitute(let.value, bindings_)); }
        return flops += walk(let.body);
      }
      case NodeKind::Evaluate: {
        const auto& evaluate = static_cast<const Evaluate&>(*stmt);
        if (inside_) { note_loads(evaluate.value); }
        return arithmetic_of(evaluate.value, 1);
      }
      case NodeKind::IfThenElse: {
        const auto& branch = static_cast<const IfThenElse&>(*stmt);
        if (inside_) { note_loads(branch.condition); }
        Flops flops = arithmetic_of(branch.condition, 1);
        return flops += either(branch.condition, [&] { return walk(branch.then_case); }, [&] { return branch.else_case ? walk(branch.else_case) : Flops(); });
      }
      case NodeKind::While: {
        const auto& loop = static_cast<const While&>(*stmt);
        if (inside_) { note_loads(loop.condition); }
        nest_.loops.push_back({make<VarNode>("_", DataType::int_(32)), int_imm(0), Expr()});
        Flops flops = arithmetic_of(loop.condition, 1);
        flops += walk(loop.body);
        nest_.loops.pop_back();
        return flops;
      }
      case NodeKind::AttrStmt: {
        const auto& attribute = static_cast<const AttrStmt&>(*stmt);
        const auto* thread = attribute.key == "thread_extent" || attribute.key == "virtual_thread" ? std::get_if<IterVar>(&attribute.node) : nullptr;
        if (thread == nullptr) { return walk(attribute.body); }
        nest_.loops.push_back({thread->var, int_imm(0), attribute.value, thread->thread_tag});
        Flops flops = walk(attribute.body);
        nest_.loops.pop_back();
        return flops;
      }
      default: {
        Flops flops;
        visit_children(stmt, [&](const Expr& expr) { if (inside_) { note_loads(expr); } }, [&](const Stmt& child) { flops += walk(child); });
        return flops;
      }
    }
  }

  /// The flops of both cases of a condition, each multiplied by the number of times that it is taken.
  template <class Then, class Else>
  auto either(const Expr& condition, const Then& yes, const Else& no) -> Flops {
    Expr whole = substitute(condition, bindings_);
    auto under = [&](Expr what, const auto& walk_it) {
      nest_.conditions.push_back(std::move(what));
      Flops flops = walk_it();
      nest_.conditions.pop_back();
      return flops;
    };
    Flops flops = under(whole, yes);
    return flops += under(logical_not(whole), no);
  }

  /// The operations on real numbers of an expression, once per lane. Index arithmetic of loads does not count.
  auto arithmetic_of(const Expr& expr, int lanes) -> Flops {
    if (!inside_) { return {}; }
    int64_t own = 0;
    Flops inner;
    count(expr, own, inner, lanes);
    return inner += times_run(static_cast<double>(own) * lanes);
  }

  void count(const Expr& expr, int64_t& own, Flops& inner, int lanes) {
    if (expr->kind == NodeKind::BufferLoad) { return; }
    if (auto type = computes_in(expr); type && type->is_real()) { ++own; }
    if (const auto* call = expr.as<Call>()) {
      if (call->op == "if_then_else" && call->args.size() == 3) {
        count(call->args[0], own, inner, lanes);
        inner += either(call->args[0], [&] { return arithmetic_of(call->args[1], lanes); }, [&] { return arithmetic_of(call->args[2], lanes); });
        return;
      }
      // The work of called functions and machine instructions is unknown.
      if (call->op.view().starts_with("@") || call->op.view().starts_with("call_") || call->dtype.is_handle() || call->dtype.is_void()) {
        if (!does_nothing(call->op)) { inner.count.reset(); }
        return;
      }
    }
    if (expr->kind == NodeKind::Reduce) { inner.count.reset(); }
    if (const auto* let = expr.as<Let>(); let != nullptr && let->var->dtype.is_integral()) { bindings_.insert_or_assign(let->var.get(), substitute(let->value, bindings_)); }
    visit_children(expr, [&](const Expr& child) { count(child, own, inner, lanes); });
  }

  /// True for calls without arithmetic: barriers, hints and assumptions.
  static auto does_nothing(Name op) -> bool {
    return op == "tvm_storage_sync" || op == "ret" || op == "prefetch" || op == "assume" || op == "address_of" || op == "tvm_access_ptr";
  }

  /// Multiplies flops by the number of times that the walk's present place is reached.
  auto times_run(double flops) -> Flops {
    if (flops == 0) { return {}; }
    Surroundings nest = nest_;
    if (!of_all_) { nest.conditions.erase(nest.conditions.begin(), nest.conditions.begin() + static_cast<std::ptrdiff_t>(conditions_around_)); }
    auto reached = executions(nest, of_all_ ? 0 : loops_around_, steps_);
    if (!reached) { return {std::nullopt}; }
    return {flops * static_cast<double>(reached->count), reached->is_most || leaves_};
  }

  void take(const Flops& flops) {
    facts.flops = flops.count;
    facts.is_most_flops = flops.is_most;
  }

  /// Counts the runs of the wanted node. The threads that enter a thread-bound loop are those of the other axes.
  void count_runs(const For* itself) {
    Surroundings nest = nest_;
    auto reached = executions(nest, 0, steps_);
    if (itself != nullptr) {
      nest.loops.push_back(nest_loop(*itself));
      auto all = executions(nest, 0, steps_);
      if (all) { facts.iterations = all->count; }
      nest.loops.pop_back();
      std::erase_if(nest.loops, [&](const LoopAround& around) { return !around.thread.empty() && around.thread == nest_loop(*itself).thread; });
      reached = executions(nest, 0, steps_);
      facts.is_most_runs = all && all->is_most;
    }
    if (!reached) { return; }
    facts.runs = reached->count;
    facts.is_most_runs = facts.is_most_runs || reached->is_most || leaves_;
    if (itself == nullptr) { facts.iterations = reached->count; }
  }

  auto nest_loop(const For& node) const -> LoopAround {
    return {node.var, substitute(node.min, bindings_), substitute(node.extent, bindings_), node.for_kind == ForKind::ThreadBinding && node.thread ? node.thread->thread_tag : Name()};
  }

  auto walk_loop(const For& node) -> Flops {
    bool is_wanted = node.id == wanted_;
    if (is_wanted) {
      found = true;
      loop = &node;
      facts.extent = as_int(node.extent);
      count_runs(&node);
      outer = around_;
      loops_around_ = nest_.loops.size();
      conditions_around_ = nest_.conditions.size();
    }
    ScopedValue in_wanted(inside_, inside_ || is_wanted);
    if (inside_) { inner.push_back(&node); }
    around_.push_back(&node);
    nest_.loops.push_back(nest_loop(node));
    Flops flops = walk(node.body);
    nest_.loops.pop_back();
    around_.pop_back();
    if (is_wanted) { take(flops); }
    return flops;
  }

  auto walk_block(const BlockRealize& realize) -> Flops {
    const Block& block = *realize.block;
    bool is_wanted = block.id == wanted_;
    std::vector<Expr> starts;
    size_t conditions = nest_.conditions.size();
    // Iter vars in the predicate are replaced by their bindings, so that it depends on loops.
    if (!is_one(realize.predicate)) { nest_.conditions.push_back(substitute(realize.predicate, bindings_)); }
    for (size_t i = 0; i < block.iter_vars.size(); ++i) {
      const IterVar& iter = block.iter_vars[i];
      Expr value = substitute(realize.iter_values[i], bindings_);
      if (inside_ && loop != nullptr && uses_var(value, [&](const VarNode& v) { return &v == loop->var.get(); })) {
        const char* kind = iter.kind == IterKind::Spatial ? "spatial" : iter.kind == IterKind::Reduction ? "reduction" : "opaque";
        facts.feeds.push_back(iter.var->name.str() + " (" + kind + ")");
      }
      if (iter.kind == IterKind::Reduction && iter.dom.min) { starts.push_back(equal(value, substitute(iter.dom.min, bindings_))); }
      bindings_.insert_or_assign(iter.var.get(), value);
    }
    if (is_wanted) {
      found = true;
      facts.extent = 1;
      count_runs(nullptr);
      outer = around_;
      loops_around_ = nest_.loops.size();
      conditions_around_ = nest_.conditions.size();
    }
    ScopedValue in_wanted(inside_, inside_ || is_wanted);
    Flops flops;
    if (block.init) {
      // `T.init()` runs in the first instances of a reduction.
      size_t around = nest_.conditions.size();
      for (Expr& start : starts) { nest_.conditions.push_back(std::move(start)); }
      flops += walk(block.init);
      nest_.conditions.resize(around);
    }
    flops += walk(block.body);
    nest_.conditions.resize(conditions);
    if (is_wanted) { take(flops); }
    return flops;
  }

  void note(const Buffer& buffer, const Array<Expr>& indices, bool is_write) {
    Access access{buffer, {}, is_write};
    for (const Expr& index : indices) { access.indices.push_back(substitute(index, bindings_)); }
    accesses.push_back(std::move(access));
  }

  void note_loads(const Expr& expr) {
    post_order(expr, [&](const Expr& node) {
      if (node->kind != NodeKind::BufferLoad) { return; }
      const auto& load = static_cast<const BufferLoad&>(*node);
      note(load.buffer, load.indices, false);
    });
  }

  NodeId wanted_;
  bool inside_;
  bool of_all_;
  bool leaves_ = false;              // a `break`, `continue` or `return` occurs
  VarMap bindings_;
  std::vector<const For*> around_;
  Surroundings nest_;                        // the loops and conditions around the walk's present place
  size_t loops_around_ = 0, conditions_around_ = 0;   // the number of those that are around the wanted node
  int64_t steps_ = 1 << 15;
};

/// The stride of an access from one iteration to the next: a number, or an expression of parameters; null: it varies.
auto stride_of(const Access& access, const For& loop, const Collector& collector, arith::Analyzer& analyzer) -> Expr {
  VarMap next = {{loop.var.get(), add(Expr(loop.var), constant_int(loop.var->dtype, 1))}};
  // 32-bit indices are not widened: the simplifier recombines quotients and remainders only without conversions in between.
  std::optional<int64_t> size = 1;
  bool is_small = true;
  for (size_t d = 0; d < access.indices.size(); ++d) {
    size = access.buffer->shape.size() > d ? times(size, as_int(access.buffer->shape[d])) : size;
    is_small = is_small && access.indices[d].dtype() == DataType::int_(32);
  }
  is_small = is_small && size && *size < INT32_MAX;
  auto as_offset = [&](const Expr& e) { return is_small ? cast(DataType::int_(32), e) : cast(DataType::int_(64), e); };
  Expr offset = as_offset(int_imm(0));
  for (size_t d = 0; d < access.indices.size(); ++d) {
    Expr extent = access.buffer->shape.size() > d ? access.buffer->shape[d] : int_imm(1);
    offset = add(mul(offset, as_offset(extent)), as_offset(access.indices[d]));
  }
  offset = analyzer.simplify(offset);
  if (Expr step = analyzer.simplify(sub(substitute(offset, next), offset)); as_int(step)) { return int_imm(*as_int(step), DataType::int_(64)); }
  // The remaining stride is a number of rows, each with a symbolic number of elements.
  Expr rows = int_imm(0);
  for (size_t d = 0; d < access.indices.size(); ++d) {
    if (d > 0 && access.buffer->shape.size() > d) { rows = mul(rows, access.buffer->shape[d]); }
    Expr index = analyzer.simplify(access.indices[d]);
    rows = add(rows, analyzer.simplify(sub(substitute(index, next), index)));
  }
  rows = analyzer.simplify(rows);
  bool is_of_loops = uses_var(rows, [&](const VarNode& used) {
    auto is_it = [&](const For* one) { return one->var.get() == &used; };
    return std::any_of(collector.inner.begin(), collector.inner.end(), is_it) || std::any_of(collector.outer.begin(), collector.outer.end(), is_it);
  });
  return is_of_loops || has_load(rows) ? Expr() : rows;
}

}  // namespace

auto Touch::bytes() const -> std::optional<int64_t> { return times(elements, buffer->dtype.element_bytes()); }

auto Touch::stride() const -> std::optional<int64_t> { return strides.size() == 1 && strides.front().elements ? as_int(strides.front().elements) : std::nullopt; }

auto LoopFacts::intensity() const -> std::optional<double> {
  if (!flops || !bytes || *bytes == 0 || is_most_flops || is_most_bytes) { return std::nullopt; }
  return *flops / static_cast<double>(*bytes);
}

namespace {

/// The range of indices that accesses use in a dimension.
struct Places {
  int64_t first = INT64_MAX, last = INT64_MIN;
  Expr base;                       // `first` and `last` are offsets from this loop-invariant expression; null: from 0
  bool is_known = true;            // false: only the largest number of different indices is known, `most`
  int64_t most = INT64_MAX;
  [[nodiscard]] auto width() const -> int64_t { return is_known ? last - first + 1 : most; }
};

/// The bounding box of a buffer's accesses during a number of iterations of the wanted loop (none: all). Inner loops
/// run over their whole range, outer loops stand at their first iteration.
struct Hull {
  Buffer buffer;
  std::vector<Places> dims;
  bool is_most = false;            // an upper bound: inner loops may be shorter in some iterations, or indices may coincide
  /// The number of elements, at most those of the buffer. None: unknown.
  [[nodiscard]] auto elements() const -> std::optional<int64_t> {
    std::optional<int64_t> product = 1;
    for (size_t d = 0; d < dims.size(); ++d) {
      int64_t width = dims[d].width();
      auto shape = buffer->shape.size() > d ? as_int(buffer->shape[d]) : std::nullopt;
      if (shape) { width = std::min(width, *shape); }
      product = width == INT64_MAX ? std::nullopt : times(product, width);
    }
    return product;
  }
};

class HullMaker {
 public:
  HullMaker(const Collector& collector, std::optional<int64_t> iterations) : collector_(collector) {
    arith::Analyzer whole;
    for (const For* loop : collector.outer) {
      analyzer_.bind(loop->var, Range{loop->min, loop->extent});
      whole.bind(loop->var, Range{loop->min, loop->extent});
      first_.emplace(loop->var.get(), loop->min);
    }
    for (const For* loop : collector.inner) {
      bool is_limited = iterations && loop == collector.loop;
      whole.bind(loop->var, Range{loop->min, loop->extent});
      inner_.emplace(loop->var.get(), loop->min);
      int64_t longest = whole.const_int_bound(loop->extent).max;
      if (longest >= beyond && !as_int(loop->extent)) { longest = INT64_MAX; }
      Expr extent = is_limited ? constant_int(loop->extent.dtype(), *iterations) : loop->extent;
      // Some iterations stand for all others: inner loops have their largest extent.
      if (iterations && !is_limited && !as_int(extent) && longest < INT64_MAX) { extent = constant_int(extent.dtype(), longest); }
      analyzer_.bind(loop->var, Range{loop->min, extent});
      longest_.emplace(loop->var.get(), is_limited ? *iterations : as_int(extent).value_or(longest));
      if (!as_int(loop->extent)) { uneven_.insert(loop->var.get()); }
    }
  }

  auto make() -> std::vector<Hull> {
    std::vector<Hull> hulls;
    for (const Access& access : collector_.accesses) {
      size_t at = 0;
      while (at < hulls.size() && !hulls[at].buffer.same_as(access.buffer)) { ++at; }
      bool is_new = at == hulls.size();
      if (is_new) {
        hulls.push_back({access.buffer, {}});
        hulls.back().dims.resize(access.indices.size());
      }
      Hull& hull = hulls[at];
      for (size_t d = 0; d < access.indices.size() && d < hull.dims.size(); ++d) {
        Places own = places_of(access.indices[d], hull.is_most);
        if (is_new) { hull.dims[d] = own; } else { join(hull.dims[d], own); }
        hull.is_most = hull.is_most || !hull.dims[d].is_known;
      }
    }
    return hulls;
  }

 private:
  /// True when the node writes a buffer that the expression loads.
  auto is_rewritten(const Expr& e) const -> bool {
    bool found = false;
    post_order(e, [&](const Expr& node) {
      const auto* load = node.as<BufferLoad>();
      found = found || (load != nullptr && std::any_of(collector_.accesses.begin(), collector_.accesses.end(), [&](const Access& access) {
                          return access.is_write && access.buffer->data.same_as(load->buffer->data);
                        }));
    });
    return found;
  }

  auto places_of(const Expr& written, bool& is_most) -> Places {
    Expr index = substitute(written, first_);
    // Parameters shift the range and do not widen it; loops of symbolic extent widen it without a known limit.
    VarMap parameters;
    int64_t most = 1;
    bool is_open = false;
    (void)uses_var(index, [&](const VarNode& used) {
      auto longest = longest_.find(&used);
      if (longest == longest_.end()) {
        parameters.emplace(&used, constant_int(used.dtype, 0));
      } else {
        most = times(most, longest->second).value_or(INT64_MAX);
        is_open = is_open || longest->second == INT64_MAX;
        is_most = is_most || uneven_.contains(&used);
      }
      return false;
    });
    index = substitute(index, parameters);
    Places out{.first = 0, .last = 0, .base = {}, .is_known = false, .most = most};
    Expr moved = index;
    if (has_load(index)) {
      if (is_rewritten(index)) {
        // The index may be different in every iteration.
        out.most = 1;
        for (const auto& [var, longest] : longest_) { out.most = times(out.most, longest).value_or(INT64_MAX); }
        return out;
      }
      out.base = analyzer_.simplify(substitute(index, inner_));
      moved = analyzer_.simplify(sub(index, out.base));
      if (has_load(moved)) { return out; }
    }
    auto bound = analyzer_.const_int_bound(moved);
    if (is_open || bound.min <= -beyond || bound.max >= beyond) { return out; }
    out.is_known = true;
    out.first = bound.min;
    out.last = bound.max;
    return out;
  }

  static void join(Places& to, const Places& other) {
    bool is_same_base = to.base && other.base ? arith::deep_equal(to.base, other.base) : !to.base && !other.base;
    if (to.is_known && other.is_known && is_same_base) {
      to.first = std::min(to.first, other.first);
      to.last = std::max(to.last, other.last);
      return;
    }
    int64_t sum = 0;
    to.most = __builtin_add_overflow(to.width(), other.width(), &sum) ? INT64_MAX : sum;
    to.is_known = false;
  }

  /// Bounds from here on are those of the type, not of the program.
  static constexpr int64_t beyond = int64_t{1} << 30;
  const Collector& collector_;
  arith::Analyzer analyzer_;
  VarMap first_, inner_;                                    // the first values of outer and inner loops
  std::map<const VarNode*, int64_t> longest_;               // of inner loops
  std::set<const VarNode*> uneven_;                         // inner loops whose extent varies
};

auto hulls_of(const Collector& collector, std::optional<int64_t> iterations) -> std::vector<Hull> { return HullMaker(collector, iterations).make(); }

auto sum_of_bytes(const std::vector<Hull>& hulls) -> std::optional<int64_t> {
  std::optional<int64_t> bytes = 0;
  for (const Hull& hull : hulls) {
    auto own = times(hull.elements(), hull.buffer->dtype.element_bytes());
    int64_t sum = 0;
    bytes = bytes && own && !__builtin_add_overflow(*bytes, *own, &sum) ? std::optional(sum) : std::nullopt;
  }
  return bytes;
}

auto is_bound(const std::vector<Hull>& hulls) -> bool {
  return std::any_of(hulls.begin(), hulls.end(), [](const Hull& hull) { return hull.is_most; });
}

/// True when, in some dimension, each iteration shifts all accesses of a buffer by the same distance, at least the width of one iteration.
auto is_apart(const Collector& collector, const Hull& one_iteration, arith::Analyzer& analyzer) -> bool {
  const For& loop = *collector.loop;
  // The box is that of the first iteration: the extents of inner loops must not depend on the iteration, and must be known.
  for (const For* inner : collector.inner) {
    if (inner != &loop && (!as_int(inner->min) || !as_int(inner->extent))) { return false; }
  }
  for (size_t d = 0; d < one_iteration.dims.size(); ++d) {
    if (!one_iteration.dims[d].is_known || one_iteration.dims[d].base) { continue; }
    std::optional<int64_t> step;
    bool is_same = true;
    for (const Access& access : collector.accesses) {
      if (!access.buffer.same_as(one_iteration.buffer)) { continue; }
      const Expr& index = access.indices[d];
      Expr next = substitute(index, {{loop.var.get(), add(Expr(loop.var), constant_int(loop.var->dtype, 1))}});
      auto own = as_int(analyzer.simplify(sub(next, index)));
      is_same = is_same && own && (!step || *step == *own);
      step = own;
    }
    if (is_same && step && std::abs(*step) > one_iteration.dims[d].last - one_iteration.dims[d].first) { return true; }
  }
  return false;
}

/// True when the loops around shift all accesses of a buffer by the same distance.
auto is_moved_as_one(const Collector& collector, const Buffer& buffer, arith::Analyzer& analyzer) -> bool {
  VarMap first;
  for (const For* loop : collector.outer) {
    bool has_one = as_int(loop->extent) == 1;
    first.emplace(loop->var.get(), loop->min);
    if (has_one) { analyzer.bind(loop->var, Range{loop->min, loop->extent}, true); }
  }
  const Access* other = nullptr;
  for (const Access& access : collector.accesses) {
    if (!access.buffer.same_as(buffer)) { continue; }
    for (size_t d = 0; d < access.indices.size(); ++d) {
      Expr moved = sub(access.indices[d], substitute(access.indices[d], first));
      Expr expected = other == nullptr ? moved : sub(other->indices[d], substitute(other->indices[d], first));
      if (other != nullptr && !is_zero(analyzer.simplify(sub(moved, expected)))) { return false; }
      bool is_inside = uses_var(analyzer.simplify(moved), [&](const VarNode& used) {
        return std::any_of(collector.inner.begin(), collector.inner.end(), [&](const For* loop) { return loop->var.get() == &used; });
      });
      if (is_inside) { return false; }
    }
    other = &access;
  }
  return true;
}

}  // namespace

auto loop_facts(const PrimFunc& function, NodeId loop_or_block) -> std::optional<LoopFacts> {
  Collector collector(loop_or_block);
  collector.collect(function);
  if (!collector.found) { return std::nullopt; }
  LoopFacts facts = std::move(collector.facts);
  if (loop_or_block == 0) { facts.extent = facts.runs = facts.iterations = 1; }
  std::vector<Hull> hulls = hulls_of(collector, {});
  facts.bytes = sum_of_bytes(hulls);
  facts.is_most_bytes = is_bound(hulls);
  arith::Analyzer analyzer, of_strides;
  for (const For* loop : collector.outer) { of_strides.bind(loop->var, Range{loop->min, loop->extent}); }
  for (const For* loop : collector.inner) {
    analyzer.bind(loop->var, Range{loop->min, loop->extent});
    of_strides.bind(loop->var, Range{loop->min, loop->extent});
  }
  std::vector<Hull> of_one = collector.loop != nullptr ? hulls_of(collector, 1) : std::vector<Hull>();
  for (size_t i = 0; i < hulls.size(); ++i) {
    Touch touch{.buffer = hulls[i].buffer, .elements = hulls[i].elements(), .is_most = hulls[i].is_most};
    for (const Access& access : collector.accesses) {
      if (!access.buffer.same_as(touch.buffer)) { continue; }
      (access.is_write ? touch.is_written : touch.is_read) = true;
      if (collector.loop == nullptr) { continue; }
      Expr stride = stride_of(access, *collector.loop, collector, of_strides);
      auto known = std::find_if(touch.strides.begin(), touch.strides.end(), [&](const Stride& one) {
        return stride && one.elements ? arith::deep_equal(one.elements, stride) : !stride && !one.elements;
      });
      if (known == touch.strides.end()) { known = touch.strides.insert(known, {std::move(stride)}); }
      (access.is_write ? known->is_written : known->is_read) = true;
    }
    if (collector.loop != nullptr) {
      touch.is_apart = is_apart(collector, of_one[i], analyzer);
      touch.is_moved_as_one = is_moved_as_one(collector, touch.buffer, analyzer);
    }
    facts.touches.push_back(std::move(touch));
  }
  return facts;
}

auto block_total(const PrimFunc& function, NodeId block) -> std::optional<LoopFacts> {
  Collector collector(block, true);
  collector.collect(function);
  if (!collector.found || collector.loop != nullptr) { return std::nullopt; }
  LoopFacts facts = std::move(collector.facts);
  // All loops run, also the ones around.
  collector.inner.insert(collector.inner.begin(), collector.outer.begin(), collector.outer.end());
  collector.outer.clear();
  std::vector<Hull> hulls = hulls_of(collector, {});
  for (const Hull& hull : hulls) { facts.touches.push_back({.buffer = hull.buffer, .elements = hull.elements(), .is_most = hull.is_most}); }
  facts.bytes = sum_of_bytes(hulls);
  facts.is_most_bytes = is_bound(hulls);
  return facts;
}

auto bytes_of_iterations(const PrimFunc& function, NodeId loop, int64_t iterations) -> std::optional<int64_t> {
  Collector collector(loop);
  collector.collect(function);
  return collector.loop != nullptr ? sum_of_bytes(hulls_of(collector, iterations)) : std::nullopt;
}

}  // namespace loopsmith::cost
