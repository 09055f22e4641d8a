// Index maps applied to indices and shapes: see index_map.h.
#include "schedule/index_map.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "arith/int_set.h"
#include "arith/iter_map.h"
#include "ir/ops.h"
#include "ir/visitor.h"
#include "schedule/rewriting.h"
#include "support/codes.h"
#include "support/reasons.h"

namespace loopsmith::schedule {
namespace {

class RetypingSubstitution : public Mutator {
 public:
  explicit RetypingSubstitution(const VarMap& map) : map_(map) {}
  using Mutator::mutate;
#define EXPR(Kind)                                                  \
  auto on(const Kind& n) -> Expr override { return Mutator::on(n); }
#define BINARY(Kind)                                                \
  auto on(const Kind& n) -> Expr override {                         \
    Expr a = mutate(n.a);                                           \
    Expr b = mutate(n.b);                                           \
    if (a.same_as(n.a) && b.same_as(n.b)) { return self(n); }       \
    if (!(a.dtype() == b.dtype())) { (void)match_types(a, b); }     \
    return make<Kind>(std::move(a), std::move(b), n.origin);        \
  }
#define COMPARE(Kind) BINARY(Kind)
  auto on(const VarNode& n) -> Expr override {
    auto found = map_.find(&n);
    return found == map_.end() ? self(n) : found->second;
  }
  auto on(const Select& n) -> Expr override {
    Expr c = mutate(n.condition);
    Expr t = mutate(n.true_value);
    Expr f = mutate(n.false_value);
    if (!(t.dtype() == f.dtype())) { (void)match_types(t, f); }
    return make<Select>(std::move(c), std::move(t), std::move(f), n.origin);
  }
#define STMT(Kind)
#undef EXPR
#define EXPR(Kind)
#include "ir/nodes.def"

 private:
  const VarMap& map_;
};

auto ranges_of(const std::vector<Expr>& shape) -> std::vector<Range> {
  std::vector<Range> out;
  for (const Expr& extent : shape) { out.push_back(from_zero(extent)); }
  return out;
}

auto domains_of(const IndexMap& map, const std::vector<Range>& ranges) -> arith::IterDomains {
  arith::IterDomains out;
  for (size_t i = 0; i < ranges.size(); ++i) { out.emplace_back(map->initial[i], ranges[i]); }
  return out;
}

auto map_ranges(const IndexMap& map, const std::vector<Range>& ranges, arith::Analyzer& analyzer) -> std::vector<Range> {
  auto found = arith::detect_iter_map(map->final.to_vector(), domains_of(map, ranges), bool_imm(true), arith::IterMapLevel::NoCheck, analyzer, false);
  std::vector<Range> out;
  if (!found.indices.empty()) {
    // The terms of an affine sum are adjacent digits: the largest term gives the extent of the sum.
    for (const arith::IterSum& sum : found.indices) {
      Expr extent;
      for (const arith::IterSplit& term : sum->args) {
        Expr one_term = term.extent * term.scale;
        extent = extent ? max(extent, one_term) : one_term;
      }
      out.push_back({sum->base, extent ? extent : int_imm(1)});
    }
  } else {
    arith::DomMap domains;
    for (size_t i = 0; i < ranges.size(); ++i) { domains.emplace(map->initial[i].get(), arith::IntSet::from_range(ranges[i])); }
    for (const Expr& index : map->final) {
      arith::IntSet set = arith::eval_set(index, domains);
      if (!set.has_lower_bound() || !set.has_upper_bound()) { return {}; }
      out.push_back({analyzer.simplify(set.min()), analyzer.simplify(set.max() - set.min() + one(set.min().dtype()))});
    }
  }
  int bits = 0;
  for (const Range& range : ranges) { bits = std::max<int>(bits, range.extent.dtype().bits); }
  DataType dtype = DataType::int_(bits ? bits : 32);
  for (Range& range : out) { range = {cast(dtype, range.min), cast(dtype, range.extent)}; }
  return out;
}

auto inverse_impl(const IndexMap& map, const std::vector<Expr>& shape, arith::IterMapLevel level, arith::Analyzer& analyzer) -> InverseResult {
  if (map->inverse) { return {InverseMap{map->inverse, bool_imm(false)}, {}}; }
  std::vector<Range> ranges = ranges_of(shape);
  std::vector<Var> outputs;
  std::vector<Expr> output_exprs;
  for (size_t i = 0; i < map->final.size(); ++i) {
    outputs.push_back(make<VarNode>(Name("axis" + std::to_string(i)), map->final[i].dtype()));
    output_exprs.emplace_back(outputs.back());
  }
  auto found = arith::detect_iter_map(map->final.to_vector(), domains_of(map, ranges), bool_imm(true), level, analyzer, false);
  if (found.indices.size() != map->final.size() || !found.errors.empty() || (found.indices.empty() && !map->initial.empty())) {
    return {{}, found.errors.empty() ? because(Why::MapNotAffine) : because(Why::MapNotInvertible).arg("analysis_message", found.errors.front())};
  }
  auto values = arith::inverse_affine_iter_map(found.indices, output_exprs);
  std::vector<Expr> inverse;
  for (size_t i = 0; i < map->initial.size(); ++i) {
    auto value = values.find(map->initial[i].get());
    if (value == values.end() && !is_one(ranges[i].extent)) { return {{}, because(Why::IndexNotDetermined).arg("index", map->initial[i]->name.view())}; }
    inverse.push_back(analyzer.simplify(value == values.end() ? ranges[i].min : value->second));
  }
  VarMap back(values.begin(), values.end());
  Expr padding = substitute(found.padding_predicate, back);
  std::vector<Range> output_ranges = map_ranges(map, ranges, analyzer);
  if (output_ranges.size() != outputs.size()) { return {{}, because(Why::MapUnbounded)}; }
  arith::Analyzer local;
  for (size_t i = 0; i < outputs.size(); ++i) { local.bind(outputs[i], output_ranges[i]); }
  padding = local.simplify(padding, 10);
  IndexMap inverse_map = make_index_map({.initial = std::move(outputs), .final = std::move(inverse), .inverse = {}});
  return {InverseMap{std::move(inverse_map), std::move(padding)}, {}};
}

}  // namespace

auto substitute_retyped(const Expr& expr, const std::vector<std::pair<Var, Expr>>& map) -> Expr {
  VarMap vars;
  for (const auto& [var, value] : map) { vars[var.get()] = value; }
  return RetypingSubstitution(vars).mutate(expr);
}

auto retyped(const IndexMap& map, const Array<Expr>& like) -> IndexMap {
  std::vector<Var> initial;
  std::vector<std::pair<Var, Expr>> changed;
  for (size_t i = 0; i < map->initial.size(); ++i) {
    const Var& old = map->initial[i];
    DataType dtype = i < like.size() ? like[i].dtype() : old->dtype;
    if (old->dtype == dtype) { initial.push_back(old); continue; }
    initial.push_back(make<VarNode>(old->name, dtype, old->origin));
    changed.emplace_back(old, Expr(initial.back()));
  }
  if (changed.empty()) { return map; }
  std::vector<Expr> final;
  for (const Expr& e : map->final) {
    const auto* imm = e.as<IntImm>();
    final.push_back(imm ? int_imm(imm->value, initial.front()->dtype) : substitute_retyped(e, changed));
  }
  IndexMap inverse = map->inverse ? retyped(map->inverse, Array<Expr>(final)) : IndexMap();
  return make_index_map({.initial = std::move(initial), .final = std::move(final), .inverse = std::move(inverse)});
}

namespace {

using WithSampled = std::function<std::optional<Expr>(uint32_t number, const VarNode& var)>;
using WithVariable = std::function<std::optional<Expr>(const VarNode& var)>;

auto by_number(const WithSampled& with) -> WithVariable {
  return [&with](const VarNode& var) -> std::optional<Expr> {
    std::string_view name = var.name.view();
    uint32_t number = 0;
    bool is_number = name.size() > 1 && name[0] == 'v' && std::from_chars(name.data() + 1, name.data() + name.size(), number).ptr == name.data() + name.size();
    return is_number ? with(number, var) : std::nullopt;
  };
}

auto with_free_variables(const Expr& expr, const WithVariable& with) -> Expr {
  VarMap found;
  post_order(expr, [&](const Expr& part) {
    const auto* var = part.as<VarNode>();
    if (!var || found.count(var)) { return; }
    if (auto replaced = with(*var)) { found[var] = *replaced; }
  });
  return found.empty() ? expr : substitute(expr, found);
}

}  // namespace

auto with_sampled(const IndexMap& map, const WithSampled& with) -> IndexMap { return with_free_variables(map, by_number(with)); }
auto with_sampled(const Expr& expr, const WithSampled& with) -> Expr { return with_free_variables(expr, by_number(with)); }
auto with_sampled(const Value& value, const WithSampled& with) -> Value { return with_free_variables(value, by_number(with)); }

auto holds_expressions(const Value& value) -> bool {
  if (const auto* list = value.as<Value::List>()) { return std::any_of(list->begin(), list->end(), holds_expressions); }
  if (const auto* dict = value.as<Value::Dict>()) {
    return std::any_of(dict->begin(), dict->end(), [](const auto& item) { return holds_expressions(item.second); });
  }
  if (const auto* expr = value.as<Expr>()) { return !expr->as<IntImm>() && !expr->as<FloatImm>(); }
  return value.as<IndexMap>() != nullptr;
}

auto with_free_variables(const Value& value, const WithVariable& with) -> Value {
  if (!holds_expressions(value)) { return value; }
  if (const auto* map = value.as<IndexMap>()) { return Value(with_free_variables(*map, with)); }
  if (const auto* expr = value.as<Expr>()) { return Value(with_free_variables(*expr, with)); }
  Value out = value;
  if (auto* list = std::get_if<Value::List>(&out.data)) {
    for (Value& item : *list) { item = with_free_variables(item, with); }
  }
  if (auto* dict = std::get_if<Value::Dict>(&out.data)) {
    for (auto& [key, item] : *dict) { item = with_free_variables(item, with); }
  }
  return out;
}

auto with_free_variables(const IndexMap& map, const std::function<std::optional<Expr>(const VarNode& var)>& with) -> IndexMap {
  if (!map) { return map; }
  VarMap found;
  for (const Expr& e : map->final) {
    post_order(e, [&](const Expr& part) {
      const auto* var = part.as<VarNode>();
      if (!var || found.count(var)) { return; }
      bool is_own = std::any_of(map->initial.begin(), map->initial.end(), [&](const Var& v) { return v.get() == var; });
      if (is_own) { return; }
      if (auto expr = with(*var)) { found[var] = *expr; }
    });
  }
  IndexMap inverse = with_free_variables(map->inverse, with);
  if (found.empty() && inverse.same_as(map->inverse)) { return map; }
  std::vector<Expr> final;
  for (const Expr& e : map->final) { final.push_back(substitute(e, found)); }
  IndexMapNode fields;
  fields.initial = map->initial;
  fields.final = Array<Expr>(std::move(final));
  fields.inverse = std::move(inverse);
  return make_index_map(std::move(fields));
}

auto map_indices(const IndexMap& map, const std::vector<Expr>& indices, arith::Analyzer& analyzer) -> std::vector<Expr> {
  std::vector<std::pair<Var, Expr>> values;
  for (size_t i = 0; i < map->initial.size(); ++i) { values.emplace_back(map->initial[i], indices[i]); }
  std::vector<Expr> out;
  for (const Expr& e : map->final) { out.push_back(analyzer.simplify(substitute_retyped(e, values))); }
  return out;
}

auto map_shape(const IndexMap& map, const std::vector<Expr>& shape, arith::Analyzer& analyzer) -> std::optional<std::vector<Expr>> {
  std::vector<Range> ranges = map_ranges(map, ranges_of(shape), analyzer);
  if (ranges.size() != map->final.size()) { return {}; }
  std::vector<Expr> out;
  for (const Range& range : ranges) {
    if (!is_zero(range.min)) { return {}; }
    out.push_back(range.extent);
  }
  return out;
}

auto inverse_with_padding(const IndexMap& map, const std::vector<Expr>& shape, arith::Analyzer& analyzer) -> InverseResult {
  return inverse_impl(map, shape, arith::IterMapLevel::NoCheck, analyzer);
}

auto inverse_of_bijection(const IndexMap& map, const std::vector<Expr>& shape, arith::Analyzer& analyzer) -> InverseResult {
  InverseResult out = inverse_impl(map, shape, arith::IterMapLevel::Bijective, analyzer);
  if (out.inverse && !analyzer.can_prove(logical_not(out.inverse->padding))) { return {{}, because(Why::MapLeavesRoom)}; }
  return out;
}

auto is_injective(const IndexMap& map, const IndexMap& inverse, const std::vector<Expr>& shape) -> std::optional<bool> {
  // Checks that the map and its inverse compose to the identity.
  arith::Analyzer analyzer;
  for (size_t i = 0; i < map->initial.size(); ++i) { analyzer.bind(map->initial[i], from_zero(cast(map->initial[i]->dtype, shape[i]))); }
  if (inverse && inverse->initial.size() == map->final.size() && inverse->final.size() == map->initial.size()) {
    std::vector<Expr> back = map_indices(inverse, map->final.to_vector(), analyzer);
    bool is_identity = true;
    for (size_t i = 0; is_identity && i < back.size(); ++i) { is_identity = analyzer.can_prove_equal(back[i], map->initial[i]); }
    if (is_identity) { return true; }
  }
  // Tries all indices, if they are few.
  int64_t count = 1;
  std::vector<int64_t> extents;
  for (const Expr& e : shape) {
    auto extent = as_int(e);
    constexpr int64_t most = int64_t{1} << 14;
    if (!extent || *extent < 0 || (count *= std::max<int64_t>(*extent, 1)) > most) { return {}; }
    extents.push_back(*extent);
    if (*extent == 0) { return true; }
  }
  std::set<std::vector<int64_t>> seen;
  std::vector<int64_t> at(extents.size(), 0);
  for (int64_t n = 0; n < count; ++n) {
    VarMap values;
    for (size_t i = 0; i < at.size(); ++i) { values[map->initial[i].get()] = int_imm(at[i], map->initial[i]->dtype); }
    std::vector<int64_t> result;
    for (const Expr& e : map->final) {
      auto value = as_int(analyzer.simplify(substitute(e, values)));
      if (!value) { return {}; }
      result.push_back(*value);
    }
    if (!seen.insert(std::move(result)).second) { return false; }
    for (size_t i = at.size(); i-- > 0;) {
      if (++at[i] < extents[i]) { break; }
      at[i] = 0;
    }
  }
  return true;
}

auto is_injective_for_some_sizes(const IndexMap& map, const std::vector<Expr>& shape) -> bool {
  std::vector<const VarNode*> sizes;
  for (const Expr& extent : shape) {
    post_order(extent, [&](const Expr& e) {
      const auto* var = e.as<VarNode>();
      if (var && std::find(sizes.begin(), sizes.end(), var) == sizes.end()) { sizes.push_back(var); }
    });
  }
  arith::Analyzer analyzer;
  for (int64_t least : {1, 2, 3}) {
    // Sizes that differ from each other.
    VarMap numbers;
    for (size_t i = 0; i < sizes.size(); ++i) { numbers[sizes[i]] = int_imm(least + static_cast<int64_t>(i), sizes[i]->dtype); }
    std::vector<Expr> extents, final;
    for (const Expr& extent : shape) { extents.push_back(analyzer.simplify(substitute(extent, numbers))); }
    for (const Expr& e : map->final) { final.push_back(substitute(e, numbers)); }
    IndexMapNode fields;
    fields.initial = map->initial;
    fields.final = Array<Expr>(std::move(final));
    if (auto found = is_injective(make_index_map(std::move(fields)), {}, extents); !found || !*found) { return false; }
  }
  return true;
}

auto require_arity(const Context& cx, const IndexMap& map, size_t count) -> Status {
  if (map->initial.size() == count) { return ok(); }
  return cx.error(Code::MapArity).arg("taken", static_cast<int64_t>(map->initial.size())).arg("given", static_cast<int64_t>(count));
}

}  // namespace loopsmith::schedule
