// Layouts by the loops that access a buffer: see suggest_layout.h.
#include "tune/metaschedule/postprocs/suggest_layout.h"

#include <algorithm>
#include <numeric>

#include "arith/iter_map.h"
#include "ir/ops.h"

namespace loopsmith::tune::metaschedule {
namespace {

// A digit of a loop variable: `loop // lower_factor % extent`.
struct Digit {
  const VarNode* loop;
  int64_t lower_factor, extent;
};

// Adds the digits of a sum, the most significant first; false where a factor is not constant.
auto add_digits(const arith::IterSum& sum, std::vector<Digit>& out) -> bool {
  for (const arith::IterSplit& split : sum->args) {
    if (split.source->sum) {
      if (!add_digits(split.source->sum, out)) { return false; }
      continue;
    }
    const auto* var = split.source->source.as<VarNode>();
    std::optional<int64_t> lower = as_int(split.lower_factor), extent = as_int(split.extent);
    if (!var || !lower || !extent) { return false; }
    out.push_back({var, *lower, *extent});
  }
  return true;
}

auto index_type(const Buffer& buffer) -> DataType { return buffer->shape.empty() ? DataType::int_(32) : buffer->shape[0].dtype(); }

auto strides_of(const Buffer& buffer) -> std::vector<Expr> {
  if (!buffer->strides.empty()) { return {buffer->strides.begin(), buffer->strides.end()}; }
  std::vector<Expr> out(buffer->shape.size());
  Expr stride = one(index_type(buffer));
  for (size_t i = out.size(); i-- > 0;) {
    out[i] = stride;
    stride = stride * buffer->shape[i];
  }
  return out;
}

auto flat_index(const Buffer& buffer, const std::vector<Expr>& indices) -> Expr {
  std::vector<Expr> strides = strides_of(buffer);
  Expr out = zero(index_type(buffer));
  for (size_t i = 0; i < indices.size(); ++i) { out = out + strides[i] * indices[i]; }
  return out;
}

auto fresh_indices(size_t count) -> Array<Var> {
  std::vector<Var> out;
  for (size_t i = 0; i < count; ++i) { out.push_back(var("i" + std::to_string(i))); }
  return Array<Var>(std::move(out));
}

// The layout's indices: the flat index cut into the digits, in the order of the loops.
auto forward_map(const Buffer& buffer, const std::vector<Digit>& digits, const std::vector<size_t>& order, arith::Analyzer& analyzer) -> IndexMapNode {
  IndexMapNode map{.initial = fresh_indices(buffer->shape.size()), .final = {}, .inverse = {}};
  std::vector<Expr> indices;
  for (size_t i = 0; i < map.initial.size(); ++i) {
    analyzer.bind(map.initial[i], from_zero(buffer->shape[i]));
    indices.emplace_back(map.initial[i]);
  }
  Expr rest = flat_index(buffer, indices);
  std::vector<Expr> parts(digits.size());
  for (size_t i = digits.size(); i-- > 0;) {
    rest = analyzer.simplify(rest);
    Expr extent = constant_int(rest.dtype(), digits[i].extent);
    parts[i] = analyzer.simplify(floormod(rest, extent));
    rest = floordiv(rest, extent);
  }
  std::vector<Expr> final;
  for (size_t place : order) { final.push_back(parts[place]); }
  map.final = Array<Expr>(std::move(final));
  return map;
}

// The buffer's indices from those of the layout.
auto backward_map(const Buffer& buffer, const std::vector<Digit>& digits, const std::vector<size_t>& order, arith::Analyzer& analyzer) -> IndexMapNode {
  IndexMapNode map{.initial = fresh_indices(digits.size()), .final = {}, .inverse = {}};
  std::vector<Var> by_digit(digits.size());
  for (size_t i = 0; i < order.size(); ++i) { by_digit[order[i]] = map.initial[i]; }
  Expr flat = zero(DataType::int_(32));
  int64_t stride = 1;
  for (size_t i = 0; i < digits.size(); ++i) { analyzer.bind(by_digit[i], from_zero(int_imm(digits[i].extent))); }
  for (size_t i = digits.size(); i-- > 0;) {
    flat = Expr(by_digit[i]) * int_imm(stride) + flat;
    stride *= digits[i].extent;
  }
  std::vector<Expr> final(buffer->shape.size());
  for (size_t i = final.size(); i-- > 0;) {
    final[i] = analyzer.simplify(floormod(flat, buffer->shape[i]));
    flat = floordiv(flat, buffer->shape[i]);
  }
  map.final = Array<Expr>(std::move(final));
  return map;
}

}  // namespace

auto suggest_layout(const Buffer& buffer, const std::vector<Expr>& indices, const std::vector<const For*>& loops, const Expr& predicate) -> std::optional<IndexMap> {
  arith::IterDomains iters;
  std::unordered_map<const VarNode*, size_t> depth;
  for (const For* loop : loops) {
    depth[loop->var.get()] = iters.size();
    iters.emplace_back(loop->var, Range{loop->min, loop->extent});
  }
  arith::Analyzer analyzer;
  auto detected = arith::detect_iter_map({analyzer.simplify(flat_index(buffer, indices))}, iters, predicate, arith::IterMapLevel::Surjective, analyzer);
  std::vector<Digit> digits;
  if (detected.indices.size() != 1 || !add_digits(detected.indices[0], digits) || digits.empty()) { return std::nullopt; }
  std::vector<size_t> order(digits.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    size_t depth_a = depth[digits[a].loop], depth_b = depth[digits[b].loop];
    return depth_a != depth_b ? depth_a < depth_b : digits[a].lower_factor > digits[b].lower_factor;
  });
  IndexMapNode inverse = backward_map(buffer, digits, order, analyzer);
  IndexMapNode map = forward_map(buffer, digits, order, analyzer);
  map.inverse = make_index_map(std::move(inverse));
  return make_index_map(std::move(map));
}

}  // namespace loopsmith::tune::metaschedule
