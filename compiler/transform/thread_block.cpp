// Finds threads and the places where they wait: see thread_block.h.
#include "transform/thread_block.h"

#include <algorithm>
#include <unordered_map>

#include "ir/evaluate.h"
#include "ir/ops.h"
#include "ir/visitor.h"
#include "ir/vocabulary.h"

namespace loopsmith::transform {

auto as_thread_loop(const Stmt& stmt) -> std::optional<ThreadLoop> {
  if (const auto* loop = stmt.as<For>(); loop && loop->for_kind == ForKind::ThreadBinding && loop->thread) {
    Var alias = loop->thread->var == loop->var ? Var() : loop->thread->var;
    return ThreadLoop{loop->thread->thread_tag, loop->var, alias, loop->extent, loop->body};
  }
  if (const auto* attr = stmt.as<AttrStmt>(); attr && (attr->key == "thread_extent" || attr->key == "virtual_thread")) {
    if (const auto* iter = std::get_if<IterVar>(&attr->node)) { return ThreadLoop{iter->thread_tag, iter->var, {}, attr->value, attr->body}; }
  }
  return {};
}

auto is_thread_index(Name tag) -> bool { return is_thread_axis(tag.view()); }

auto is_barrier(const Stmt& stmt) -> bool {
  const auto* evaluate = stmt.as<Evaluate>();
  const auto* call = evaluate ? evaluate->value.as<Call>() : nullptr;
  return call && call->op == "tvm_storage_sync";
}
auto is_reduction(const Stmt& stmt) -> bool {
  const auto* evaluate = stmt.as<Evaluate>();
  const auto* call = evaluate ? evaluate->value.as<Call>() : nullptr;
  return call && call->op == "tvm_thread_allreduce";
}
auto is_exchange(const Expr& expr) -> bool {
  const auto* call = expr.as<Call>();
  return call && (call->op == "tvm_warp_shuffle" || call->op == "tvm_warp_shuffle_up" || call->op == "tvm_warp_shuffle_down");
}
auto waits(const Stmt& stmt) -> bool {
  bool found = false;
  post_order(
      stmt, [&](const Stmt& s) { found = found || is_barrier(s) || is_reduction(s); }, [&](const Expr& e) { found = found || is_exchange(e); });
  return found;
}

auto is_collective(const Expr& expr) -> bool {
  static constexpr std::string_view families[] = {"tvm_load_matrix", "tvm_store_matrix", "tvm_mma", "tvm_bmma", "tvm_fill_fragment", "tvm_warp_", "ptx_", "mma_", "simdgroup_", "make_filled_simdgroup"};
  const auto* call = expr.as<Call>();
  if (call == nullptr) { return false; }
  std::string_view op = call->op.view();
  if (op.starts_with("tir.")) { op.remove_prefix(4); }
  return std::any_of(std::begin(families), std::end(families), [&](std::string_view family) { return op.starts_with(family); });
}

auto meets_in_iterations(const Var& of, const Expr& extent, const std::vector<const For*>& inside, const VarMap& known, const std::vector<Expr>& conditions, const Expr& index)
    -> bool {
  constexpr int64_t most_points = 4096;
  std::vector<std::pair<const VarNode*, Range>> axes{{of.get(), Range{zero(of->dtype), extent}}};
  for (const For* loop : inside) { axes.emplace_back(loop->var.get(), Range{loop->min, loop->extent}); }
  int64_t points = 1;
  Valuation values;
  for (const auto& [variable, range] : axes) {
    const auto count = as_int(range.extent);
    if (!count || *count < 1 || !as_int(range.min)) { return false; }
    points = std::min(points * std::min(*count, int64_t{1} << 20), int64_t{1} << 40);
    values.emplace_back(variable, 0);
  }
  const Expr place = substitute(index, known);
  std::vector<Expr> where;
  for (const Expr& c : conditions) { where.push_back(substitute(c, known)); }
  auto add_others = [&](const Expr& whole) {
    post_order(whole, [&](const Expr& e) {
      const auto* v = e.as<VarNode>();
      if (v && std::none_of(values.begin(), values.end(), [&](const auto& one) { return one.first == v; })) { values.emplace_back(v, 0); }
    });
  };
  add_others(place);
  for (const Expr& c : where) { add_others(c); }
  const int64_t step = points <= most_points ? 1 : points / most_points | 1;
  std::unordered_map<int64_t, int64_t> iteration_of;
  for (int64_t point = 0; point < points; point += step) {
    int64_t rest = point;
    for (size_t i = axes.size(); i-- > 0;) {
      const int64_t count = *as_int(axes[i].second.extent);
      values[i].second = *as_int(axes[i].second.min) + rest % count;
      rest /= count;
    }
    const bool runs = std::none_of(where.begin(), where.end(), [&](const Expr& c) { return evaluate_integer(c, values) == 0; });
    const auto element = runs ? evaluate_integer(place, values) : std::nullopt;
    if (element && iteration_of.try_emplace(*element, values[0].second).first->second != values[0].second) { return true; }
  }
  return false;
}

ThreadBlock::ThreadBlock(const Stmt& outermost) {
  auto add = [&](const Stmt& s) {
    auto loop = as_thread_loop(s);
    if (loop && is_thread_index(loop->tag) && !find(loop->tag)) { dimensions.push_back({loop->tag, loop->extent}); }
  };
  add(outermost);
  auto loop = as_thread_loop(outermost);
  post_order(loop ? loop->body : outermost, add, [](const Expr&) {});
}
auto ThreadBlock::find(Name tag) const -> std::optional<size_t> {
  auto found = std::find_if(dimensions.begin(), dimensions.end(), [&](const Dimension& d) { return d.tag == tag; });
  if (found == dimensions.end()) { return {}; }
  return static_cast<size_t>(found - dimensions.begin());
}
auto ThreadBlock::count() const -> Expr { return stride(dimensions.size()); }
auto ThreadBlock::stride(size_t dimension) const -> Expr {
  Expr out = int_imm(1);
  for (size_t d = 0; d < dimension; ++d) { out = mul(std::move(out), dimensions[d].extent); }
  return out;
}

}  // namespace loopsmith::transform
