// The order of additions, by the loops that bind the reduction axes: see order.h.
#include "tune/space/order.h"

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "ir/ops.h"
#include "ir/visitor.h"
#include "tune/space/linear.h"

namespace loopsmith::tune {
namespace {

/// A block whose result depends on the order of its iterations, with the loops around it, outermost first.
struct Sum {
  const Block* block = nullptr;
  const BlockRealize* realize = nullptr;
  std::vector<const For*> loops;
};

/// True where the block adds (or multiplies) real numbers over reduction axes. A body of another form counts as such where it writes real numbers.
auto depends_on_order(const Block& block) -> bool {
  const bool reduces = std::any_of(block.iter_vars.begin(), block.iter_vars.end(), [](const IterVar& iter) { return iter.kind == IterKind::Reduction; });
  if (!reduces) { return false; }
  if (const auto* store = block.body.as<BufferStore>()) {
    return store->buffer->dtype.is_real() && !store->value.as<Min>() && !store->value.as<Max>();
  }
  return std::any_of(block.writes.begin(), block.writes.end(), [](const BufferRegion& region) { return region.buffer->dtype.is_real(); });
}

class Sums : public Visitor {
 public:
  using Visitor::on;
  std::vector<Sum> found;

  void on(const For& loop) override {
    loops_.push_back(&loop);
    Visitor::on(loop);
    loops_.pop_back();
  }
  void on(const BlockRealize& realize) override {
    const Block& block = *realize.block;
    if (depends_on_order(block)) { found.push_back({&block, &realize, loops_}); }
    // Axes of an inner block are bound to those of the outer one.
    Visitor::on(realize);
  }

 private:
  std::vector<const For*> loops_;
};

auto extent_of(const IterVar& iter) -> int64_t { return iter.dom.extent ? as_int(iter.dom.extent).value_or(0) : 0; }

/// The reduction axes of a block as written, in the order of their loops; empty: an axis is not bound to one loop.
auto axes_in_order(const Sum& sum) -> std::vector<size_t> {
  std::map<size_t, size_t> by_loop;
  size_t wanted = 0;
  for (size_t i = 0; i < sum.block->iter_vars.size(); ++i) {
    if (sum.block->iter_vars[i].kind != IterKind::Reduction) { continue; }
    ++wanted;
    const auto* var = sum.realize->iter_values[i].as<VarNode>();
    for (size_t l = 0; var && l < sum.loops.size(); ++l) {
      if (sum.loops[l]->var.get() == var) { by_loop[l] = i; }
    }
  }
  std::vector<size_t> out;
  for (auto [loop, axis] : by_loop) { out.push_back(axis); }
  return out.size() == wanted ? out : std::vector<size_t>();
}

/// True where the loops step through the axes in order: the first axis moves slowest, each rises, and all in one thread. A split with a rest goes beyond the end
/// of an axis, but its predicate leaves these iterations out.
auto steps_in_order(const Sum& sum, const std::vector<size_t>& axes) -> bool {
  size_t limit = sum.loops.size();   // the outermost loop of the axes behind this one
  for (size_t i = axes.size(); i-- > 0;) {
    const auto value = linear(sum.realize->iter_values[axes[i]]);
    if (!value) { return false; }
    int64_t reach = 0;   // of the loops further in
    size_t found = 0, outermost = limit;
    for (size_t l = sum.loops.size(); l-- > 0;) {
      const For& loop = *sum.loops[l];
      const auto term = value->terms.find(loop.var.get());
      if (term == value->terms.end()) { continue; }
      ++found;
      const auto extent = as_int(loop.extent);
      if (term->second == 0 || (extent && *extent <= 1)) { continue; }
      const bool is_in_turn = loop.for_kind == ForKind::Serial || loop.for_kind == ForKind::Unrolled;
      if (!extent || !is_in_turn || l >= limit || term->second <= reach) { return false; }
      reach += term->second * (*extent - 1);
      outermost = l;
    }
    if (found != value->terms.size()) { return false; }
    limit = outermost;
  }
  return true;
}

/// The reduction axes in the order in which the program as written adds; empty: it is not known. Where loops are split already, the order of the axes in the text counts.
auto order_of(const Sum& written) -> std::vector<size_t> {
  std::vector<size_t> axes = axes_in_order(written);
  if (!axes.empty()) { return axes; }
  for (size_t i = 0; i < written.block->iter_vars.size(); ++i) {
    if (written.block->iter_vars[i].kind == IterKind::Reduction) { axes.push_back(i); }
  }
  return steps_in_order(written, axes) ? axes : std::vector<size_t>();
}

auto sums_of(const IRModule& module, Name function) -> std::vector<Sum> {
  Sums sums;
  if (PrimFunc func = module->find(function)) { sums.visit(func->body); }
  return sums.found;
}

/// The block as written that a scheduled block comes from. `decompose_reduction` appends a word to its name.
auto origin_of(const std::vector<Sum>& written, const Sum& sum) -> const Sum* {
  std::string name = sum.block->name.str();
  for (int attempt = 0; attempt < 2; ++attempt) {
    for (const Sum& one : written) { if (one.block->name.str() == name) { return &one; } }
    if (!name.ends_with("_update")) { break; }
    name.resize(name.size() - std::string("_update").size());
  }
  return nullptr;
}

}  // namespace

auto why_order_changes(const IRModule& written, const IRModule& scheduled, Name function) -> std::string {
  const std::vector<Sum> before = sums_of(written, function);
  for (const Sum& sum : sums_of(scheduled, function)) {
    const std::string name = sum.block->name.str();
    const Sum* origin = origin_of(before, sum);
    if (origin == nullptr) { return fmt::format("`{}` makes partial sums that the program as written does not have", name); }
    if (!sum.block->body.as<BufferStore>()) { return fmt::format("`{}` adds several numbers in one instruction", name); }
    const std::vector<size_t> axes = order_of(*origin);
    bool has_same_axes = !axes.empty() && origin->block->iter_vars.size() == sum.block->iter_vars.size();
    for (size_t i = 0; has_same_axes && i < sum.block->iter_vars.size(); ++i) {
      const IterVar& now = sum.block->iter_vars[i];
      const IterVar& then = origin->block->iter_vars[i];
      has_same_axes = now.kind == then.kind && (now.kind != IterKind::Reduction || (extent_of(now) == extent_of(then) && extent_of(now) > 0));
    }
    if (!has_same_axes) { return fmt::format("`{}` has other axes than in the program as written", name); }
    if (!steps_in_order(sum, axes)) { return fmt::format("the loops of `{}` add in another order", name); }
  }
  return {};
}

}  // namespace loopsmith::tune
