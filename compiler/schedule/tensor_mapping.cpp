// Loops for tensor units: see tensor_mapping.h.
#include "schedule/tensor_mapping.h"

#include <algorithm>

#include "arith/analyzer.h"
#include "ir/ops.h"
#include "ir/visitor.h"
#include "support/saturate.h"

namespace loopsmith::schedule {
namespace {

// The only block of a description, and the loops around it from outside.
struct Inner { const BlockRealize* block = nullptr; std::vector<const For*> loops; };
auto inner_of(const PrimFunc& description) -> Inner {
  Inner out;
  const auto* root = description->body.as<BlockRealize>();
  if (!root) { return out; }
  const Stmt* at = &root->block->body;
  while (const auto* loop = at->as<For>()) {
    out.loops.push_back(loop);
    at = &loop->body;
  }
  out.block = at->as<BlockRealize>();
  return out;
}

auto uses(const Expr& e, const VarNode* var) -> bool {
  return uses_var(e, [&](const VarNode& v) { return &v == var; });
}

}  // namespace

auto map_tensorize_loops(const FuncState& func, const Place& block, const PrimFunc& description, bool allow_padding)
    -> std::optional<std::vector<TiledLoop>> {
  Inner inner = inner_of(description);
  if (!inner.block || !block.is_block()) { return {}; }
  const BlockRealize& realize = *block.realize;
  auto loops = func.loops(block);
  arith::Analyzer analyzer;
  for (const Place* loop : loops) {
    if (!is_zero(loop->loop->min)) { return {}; }
    analyzer.bind(loop->loop->var, Range{loop->loop->min, loop->loop->extent});
  }
  std::vector<TiledLoop> out;
  int next = static_cast<int>(realize.iter_values.size()) - 1;
  for (size_t d = inner.block->iter_values.size(); d-- > 0;) {
    auto tile_loop = std::find_if(inner.loops.begin(), inner.loops.end(), [&](const For* l) { return uses(inner.block->iter_values[d], l->var.get()); });
    if (tile_loop == inner.loops.end()) { return {}; }
    auto tile = as_int((*tile_loop)->extent);
    if (!tile || *tile <= 0) { return {}; }
    IterKind kind = inner.block->block->iter_vars[d].kind;
    while (next >= 0 && realize.block->iter_vars[static_cast<size_t>(next)].kind != kind) { --next; }
    if (next < 0) { return {}; }
    const Expr& value = realize.iter_values[static_cast<size_t>(next)];
    const Place* found = nullptr;
    for (const Place* loop : loops) {
      if (!uses(value, loop->loop->var.get())) { continue; }
      Expr rest = analyzer.simplify(sub(value, loop->loop->var));
      bool is_free = std::none_of(loops.begin(), loops.end(), [&](const Place* l) { return uses(rest, l->loop->var.get()); });
      if (is_free) { found = loop; }
    }
    auto extent = found ? as_int(found->loop->extent) : std::nullopt;
    bool is_taken = std::any_of(out.begin(), out.end(), [&](const TiledLoop& t) { return t.loop == found; });
    if (!extent || is_taken || (*extent % *tile != 0 && !allow_padding)) { return {}; }
    out.push_back({found, static_cast<int>(tile_loop - inner.loops.begin()), next, *tile, (*extent + *tile - 1) / *tile * *tile});
    --next;
  }
  std::sort(out.begin(), out.end(), [](const TiledLoop& a, const TiledLoop& b) { return a.description_loop < b.description_loop; });
  return out;
}

namespace {

// Compares stores that differ only in indices: pairs the buffers, each accessed in one way.
class SameForm {
 public:
  struct Pair { Buffer left, right; Array<Expr> left_indices, right_indices; };
  std::vector<Pair> pairs;

  auto stores(const BufferStore& a, const BufferStore& b) -> bool { return access(a.buffer, a.indices, b.buffer, b.indices) && same(a.value, b.value); }

 private:
  auto access(const Buffer& a, const Array<Expr>& a_indices, const Buffer& b, const Array<Expr>& b_indices) -> bool {
    if (!(a->dtype == b->dtype)) { return false; }
    for (const Pair& p : pairs) {
      if (p.left != a && p.right != b) { continue; }
      auto equal = [](const Array<Expr>& x, const Array<Expr>& y) {
        bool out = x.size() == y.size();
        for (size_t i = 0; out && i < x.size(); ++i) { out = arith::deep_equal(x[i], y[i]); }
        return out;
      };
      return p.left == a && p.right == b && equal(p.left_indices, a_indices) && equal(p.right_indices, b_indices);
    }
    pairs.push_back({a, b, a_indices, b_indices});
    return true;
  }
  auto same(const Expr& a, const Expr& b) -> bool {
    if (a.kind() != b.kind() || !(a.dtype() == b.dtype())) { return false; }
    if (const auto* x = a.as<BufferLoad>()) {
      const auto& y = *b.as<BufferLoad>();
      return access(x->buffer, x->indices, y.buffer, y.indices);
    }
    if (a.as<VarNode>()) { return false; }   // iter vars are allowed in indices only
    std::vector<Expr> left, right;
    visit_children(a, [&](const Expr& e) { left.push_back(e); });
    visit_children(b, [&](const Expr& e) { right.push_back(e); });
    if (left.empty() && right.empty()) { return arith::deep_equal(a, b); }
    if (const auto* x = a.as<Call>(); x && !(x->op == b.as<Call>()->op)) { return false; }
    if (left.size() != right.size()) { return false; }
    for (size_t i = 0; i < left.size(); ++i) {
      if (!same(left[i], right[i])) { return false; }
    }
    return true;
  }
};

}  // namespace

auto map_iters_to_unit(const Block& block, const PrimFunc& description) -> std::optional<UnitMapping> {
  Inner inner = inner_of(description);
  const auto* left = block.body.as<BufferStore>();
  const auto* right = inner.block ? inner.block->block->body.as<BufferStore>() : nullptr;
  if (!left || !right) { return {}; }
  SameForm form;
  if (!form.stores(*left, *right)) { return {}; }
  // The buffers that an iter var indexes, as a bit mask over the pairs.
  auto mask = [&](const VarNode* var, bool is_left) {
    std::vector<bool> out;
    for (const SameForm::Pair& p : form.pairs) {
      const Array<Expr>& indices = is_left ? p.left_indices : p.right_indices;
      out.push_back(std::any_of(indices.begin(), indices.end(), [&](const Expr& e) { return uses(e, var); }));
    }
    return out;
  };
  const Array<IterVar>& units = inner.block->block->iter_vars;
  UnitMapping out;
  std::vector<Var> vars;
  std::vector<Expr> leading, fused(units.size());
  std::vector<int64_t> extents(units.size(), 1);
  for (const IterVar& iter : block.iter_vars) {
    Var var = make<VarNode>(iter.var->name, iter.var->dtype);
    vars.push_back(var);
    std::vector<bool> here = mask(iter.var.get(), true);
    auto unit = std::find_if(units.begin(), units.end(), [&](const IterVar& u) { return u.kind == iter.kind && mask(u.var.get(), false) == here; });
    if (unit == units.end()) {
      leading.emplace_back(var);
      continue;
    }
    auto at = static_cast<size_t>(unit - units.begin());
    int64_t extent = as_int(iter.dom.extent).value_or(0);
    if (!is_zero(iter.dom.min)) { return {}; }
    fused[at] = fused[at] ? add(mul(fused[at], iter.dom.extent), var) : Expr(var);
    extents[at] = saturating_mul(extents[at], extent);
  }
  if (std::any_of(fused.begin(), fused.end(), [](const Expr& e) { return !e; })) { return {}; }
  out.leading = static_cast<int>(leading.size());
  IndexMapNode map;
  map.initial = std::move(vars);
  std::vector<Expr> image = std::move(leading);
  arith::Analyzer analyzer;   // has no domains: iter vars of extent 1 stay
  for (const Expr& e : fused) { image.push_back(analyzer.simplify(e)); }
  map.final = std::move(image);
  out.map = make_index_map(std::move(map));
  out.extents = std::move(extents);
  for (const Var& param : description->params) {
    Buffer b = description->buffer_of(param);
    for (const SameForm::Pair& p : form.pairs) {
      if (p.right == b) { out.buffers.emplace_back(p.left, b); }
    }
  }
  return out;
}

}  // namespace loopsmith::schedule
