// Counting runs, arithmetic and memory of a loop: see loop_facts.h.
#include "cost/loop_facts.h"

#include <algorithm>
#include <map>

#include "arith/analyzer.h"
#include "ir/ops.h"
#include "ir/visitor.h"

namespace loopsmith::cost {
namespace {

auto times(std::optional<int64_t> a, std::optional<int64_t> b) -> std::optional<int64_t> {
  int64_t product = 0;
  if (!a || !b || __builtin_mul_overflow(*a, *b, &product)) { return std::nullopt; }
  return product;
}

/// Arithmetic on values in an expression; indices of loads are addresses, not work.
auto flops_of(const Expr& expr) -> double {
  if (expr->kind == NodeKind::BufferLoad) { return 0; }
  double count = 0;
  visit_children(expr, [&](const Expr& child) { count += flops_of(child); });
  switch (expr->kind) {
    case NodeKind::Add:
    case NodeKind::Sub:
    case NodeKind::Mul:
    case NodeKind::Div:
    case NodeKind::Min:
    case NodeKind::Max: return count + expr->dtype.lanes;
    case NodeKind::Call: return count + (expr->dtype.is_float() ? expr->dtype.lanes : 0);
    default: return count;
  }
}

struct Access {
  Buffer buffer;
  std::vector<Expr> indices;  // in terms of loop variables
  bool is_write = false;
};

/// Walks a function; once inside the loop or block that is asked for, collects.
class Collector {
 public:
  explicit Collector(NodeId wanted) : found(wanted == 0), wanted_(wanted), inside_(wanted == 0) {}

  LoopFacts facts;
  bool found;
  const For* loop = nullptr;      // the one asked for; null: a block or the whole was
  std::vector<Access> accesses;
  std::vector<const For*> inner;  // loops in it, itself included
  std::vector<const For*> outer;  // loops around it

  /// Flops of one execution of the statement; none: some extent is symbolic.
  auto walk(const Stmt& stmt) -> std::optional<double> {
    switch (stmt->kind) {
      case NodeKind::For: return walk_loop(static_cast<const For&>(*stmt));
      case NodeKind::BlockRealize: return walk_block(static_cast<const BlockRealize&>(*stmt));
      case NodeKind::BufferStore: {
        const auto& store = static_cast<const BufferStore&>(*stmt);
        if (inside_) {
          note(store.buffer, store.indices, true);
          note_loads(store.value);
        }
        return flops_of(store.value);
      }
      case NodeKind::IfThenElse: {
        std::optional<double> most = 0.0;
        visit_children(stmt, [&](const Expr& condition) { if (inside_) { note_loads(condition); } },
                       [&](const Stmt& branch) {
                         auto flops = walk(branch);
                         most = flops && most ? std::optional(std::max(*flops, *most)) : std::nullopt;
                       });
        return most;
      }
      default: {
        std::optional<double> sum = 0.0;
        visit_children(stmt, [&](const Expr& expr) { if (inside_) { note_loads(expr); } },
                       [&](const Stmt& child) {
                         auto flops = walk(child);
                         sum = flops && sum ? std::optional(*flops + *sum) : std::nullopt;
                       });
        return sum;
      }
    }
  }

 private:
  auto walk_loop(const For& node) -> std::optional<double> {
    std::optional<int64_t> extent = as_int(node.extent);
    bool is_wanted = node.id == wanted_;
    if (is_wanted) {
      found = true;
      loop = &node;
      facts.extent = extent;
      facts.runs = runs_;
      outer = around_;
    }
    bool was_inside = std::exchange(inside_, inside_ || is_wanted);
    if (inside_) { inner.push_back(&node); }
    around_.push_back(&node);
    auto runs = std::exchange(runs_, times(runs_, extent));
    auto body = walk(node.body);
    runs_ = runs;
    around_.pop_back();
    inside_ = was_inside;
    std::optional<double> flops;
    if (body && extent) { flops = *body * static_cast<double>(*extent); }
    // An empty body costs nothing however often it runs.
    if (body && *body == 0) { flops = 0; }
    if (is_wanted) { facts.flops = flops; }
    return flops;
  }

  auto walk_block(const BlockRealize& realize) -> std::optional<double> {
    const Block& block = *realize.block;
    bool is_wanted = block.id == wanted_;
    for (size_t i = 0; i < block.iter_vars.size(); ++i) {
      const IterVar& iter = block.iter_vars[i];
      Expr value = substitute(realize.iter_values[i], bindings_);
      if (inside_ && loop != nullptr && uses_var(value, [&](const VarNode& v) { return &v == loop->var.get(); })) {
        const char* kind = iter.kind == IterKind::Spatial ? "spatial" : iter.kind == IterKind::Reduction ? "reduction" : "opaque";
        facts.feeds.push_back(iter.var->name.str() + " (" + kind + ")");
      }
      bindings_.insert_or_assign(iter.var.get(), value);
    }
    if (is_wanted) {
      found = true;
      facts.extent = 1;
      facts.runs = runs_;
      outer = around_;
    }
    bool was_inside = std::exchange(inside_, inside_ || is_wanted);
    // The initial value of a reduction is written by the first of its instances only: its stores are seen, its work is not.
    if (block.init) { (void)walk(block.init); }
    auto flops = walk(block.body);
    inside_ = was_inside;
    if (is_wanted) { facts.flops = flops; }
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
  std::optional<int64_t> runs_ = 1;
  VarMap bindings_;
  std::vector<const For*> around_;
};

/// Elements from one iteration to the next, where that is a number.
auto stride_of(const Access& access, const For& loop, arith::Analyzer& analyzer) -> std::optional<int64_t> {
  Expr offset = int_imm(0);
  for (size_t d = 0; d < access.indices.size(); ++d) {
    Expr extent = access.buffer->shape.size() > d ? access.buffer->shape[d] : int_imm(1);
    offset = add(mul(cast(DataType::int_(64), offset), cast(DataType::int_(64), extent)), cast(DataType::int_(64), access.indices[d]));
  }
  Expr next = substitute(offset, {{loop.var.get(), add(Expr(loop.var), constant_int(loop.var->dtype, 1))}});
  return as_int(analyzer.simplify(sub(next, offset)));
}

}  // namespace

auto Touch::bytes() const -> std::optional<int64_t> { return times(elements, buffer->dtype.element_bytes()); }

auto LoopFacts::intensity() const -> std::optional<double> {
  if (!flops || !bytes || *bytes == 0) { return std::nullopt; }
  return *flops / static_cast<double>(*bytes);
}

namespace {

/// The intervals that the accesses of each buffer lie in, by dimension, while the loop asked for makes so many iterations (none: all).
/// Inner loops run over all they do, outer ones stand at their first iteration.
struct Hull {
  Buffer buffer;
  std::vector<std::pair<int64_t, int64_t>> dims;   // first and last
  bool is_known = true;
  /// Elements; none: not known. Never more than the buffer has.
  [[nodiscard]] auto elements() const -> std::optional<int64_t> {
    std::optional<int64_t> product = 1;
    for (size_t d = 0; d < dims.size(); ++d) {
      int64_t width = is_known ? dims[d].second - dims[d].first + 1 : INT64_MAX;
      auto shape = buffer->shape.size() > d ? as_int(buffer->shape[d]) : std::nullopt;
      if (shape) { width = std::min(width, *shape); }
      product = width == INT64_MAX ? std::nullopt : times(product, width);
    }
    return product;
  }
};

auto hulls_of(const Collector& collector, std::optional<int64_t> iterations) -> std::vector<Hull> {
  arith::Analyzer analyzer;
  for (const For* loop : collector.inner) {
    bool is_limited = iterations && loop == collector.loop;
    analyzer.bind(loop->var, Range{loop->min, is_limited ? constant_int(loop->extent.dtype(), *iterations) : loop->extent});
  }
  VarMap first;
  for (const For* loop : collector.outer) { first.emplace(loop->var.get(), loop->min); }
  auto loop_of = [&](const VarNode& var) -> const For* {
    auto found = std::find_if(collector.inner.begin(), collector.inner.end(), [&](const For* loop) { return loop->var.get() == &var; });
    return found == collector.inner.end() ? nullptr : *found;
  };
  std::vector<Hull> hulls;
  for (const Access& access : collector.accesses) {
    size_t at = 0;
    while (at < hulls.size() && !hulls[at].buffer.same_as(access.buffer)) { ++at; }
    if (at == hulls.size()) {
      hulls.push_back({access.buffer, {}});
      hulls.back().dims.resize(access.indices.size(), {INT64_MAX, INT64_MIN});
    }
    Hull& hull = hulls[at];
    for (size_t d = 0; d < access.indices.size() && d < hull.dims.size(); ++d) {
      Expr index = substitute(access.indices[d], first);
      // Parameters shift what is touched and do not widen it; loops of symbolic extent widen it beyond what is known.
      VarMap parameters;
      bool is_bounded = !uses_var(index, [&](const VarNode& used) {
        const For* loop = loop_of(used);
        if (loop == nullptr) { parameters.emplace(&used, constant_int(used.dtype, 0)); }
        return loop != nullptr && (!as_int(loop->min) || !(as_int(loop->extent) || (iterations && loop == collector.loop)));
      });
      auto bound = analyzer.const_int_bound(substitute(index, parameters));
      if (!is_bounded || bound.min == arith::ConstIntBound::neg_inf || bound.max == arith::ConstIntBound::pos_inf) { hull.is_known = false; }
      hull.dims[d].first = std::min(hull.dims[d].first, bound.min);
      hull.dims[d].second = std::max(hull.dims[d].second, bound.max);
    }
  }
  return hulls;
}

auto sum_of_bytes(const std::vector<Hull>& hulls) -> std::optional<int64_t> {
  std::optional<int64_t> bytes = 0;
  for (const Hull& hull : hulls) {
    auto own = times(hull.elements(), hull.buffer->dtype.element_bytes());
    int64_t sum = 0;
    bytes = bytes && own && !__builtin_add_overflow(*bytes, *own, &sum) ? std::optional(sum) : std::nullopt;
  }
  return bytes;
}

/// In some dimension each iteration moves all accesses of a buffer by the same, at least as far as one of them reaches.
auto is_apart(const Collector& collector, const Hull& one_iteration, arith::Analyzer& analyzer) -> bool {
  const For& loop = *collector.loop;
  // The rectangle is that of the first iteration: inner loops must not depend on which one it is, nor on more than is known.
  for (const For* inner : collector.inner) {
    if (inner != &loop && (!as_int(inner->min) || !as_int(inner->extent))) { return false; }
  }
  for (size_t d = 0; one_iteration.is_known && d < one_iteration.dims.size(); ++d) {
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
    if (is_same && step && std::abs(*step) > one_iteration.dims[d].second - one_iteration.dims[d].first) { return true; }
  }
  return false;
}

/// From their first iterations, the loops around move all accesses of a buffer by the same.
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
  auto flops = collector.walk(function->body);
  if (!collector.found) { return std::nullopt; }
  LoopFacts facts = std::move(collector.facts);
  if (loop_or_block == 0) {
    facts.extent = facts.runs = 1;
    facts.flops = flops;
  }
  facts.iterations = times(facts.runs, facts.extent);
  std::vector<Hull> hulls = hulls_of(collector, {});
  facts.bytes = sum_of_bytes(hulls);
  arith::Analyzer analyzer;
  for (const For* loop : collector.inner) { analyzer.bind(loop->var, Range{loop->min, loop->extent}); }
  std::vector<Hull> of_one = collector.loop != nullptr ? hulls_of(collector, 1) : std::vector<Hull>();
  for (size_t i = 0; i < hulls.size(); ++i) {
    Touch touch{.buffer = hulls[i].buffer, .elements = hulls[i].elements()};
    bool is_first = true;
    for (const Access& access : collector.accesses) {
      if (!access.buffer.same_as(touch.buffer)) { continue; }
      (access.is_write ? touch.is_written : touch.is_read) = true;
      if (collector.loop == nullptr) { continue; }
      auto stride = stride_of(access, *collector.loop, analyzer);
      if (!is_first && touch.stride != stride) { stride.reset(); }
      touch.stride = stride;
      is_first = false;
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
  Collector collector(block);
  (void)collector.walk(function->body);
  if (!collector.found || collector.loop != nullptr) { return std::nullopt; }
  LoopFacts facts = std::move(collector.facts);
  if (facts.flops && facts.runs) { facts.flops = *facts.flops * static_cast<double>(*facts.runs); } else { facts.flops.reset(); }
  // No loop stands still.
  collector.inner.insert(collector.inner.begin(), collector.outer.begin(), collector.outer.end());
  collector.outer.clear();
  for (const Hull& hull : hulls_of(collector, {})) { facts.touches.push_back({.buffer = hull.buffer, .elements = hull.elements()}); }
  facts.bytes = sum_of_bytes(hulls_of(collector, {}));
  return facts;
}

auto bytes_of_iterations(const PrimFunc& function, NodeId loop, int64_t iterations) -> std::optional<int64_t> {
  Collector collector(loop);
  (void)collector.walk(function->body);
  return collector.loop != nullptr ? sum_of_bytes(hulls_of(collector, iterations)) : std::nullopt;
}

}  // namespace loopsmith::cost
