// Linear systems: see linear_system.h.
#include "arith/linear_system.h"

#include <algorithm>
#include <cstdlib>

#include "arith/state.h"
#include "arith/walk.h"
#include "ir/ops.h"

namespace loopsmith::arith {
namespace {

constexpr size_t max_inequalities = 256;

using Row = std::vector<int64_t>;

// False on overflow, as for all arithmetic on coefficients here.
auto add_multiple(Row& to, const Row& from, int64_t factor) -> bool {
  for (size_t i = 0; i < to.size(); ++i) {
    int64_t product;
    if (__builtin_mul_overflow(from[i], factor, &product) || __builtin_add_overflow(to[i], product, &to[i])) { return false; }
  }
  return true;
}

class Linear {
 public:
  explicit Linear(const std::vector<Var>& variables) : variables_(variables) {}

  // Adds factor * e to the form.
  auto add(const Expr& e, int64_t factor, LinearForm& out, int depth) const -> bool {
    if (depth > Analyzer::State::max_depth) { return false; }
    if (const auto* v = e.as<VarNode>()) {
      for (size_t i = 0; i < variables_.size(); ++i) {
        if (variables_[i].get() == v) { return !__builtin_add_overflow(out.coefficients[i], factor, &out.coefficients[i]); }
      }
    }
    if (const auto* sum = e.as<Add>()) { return add(sum->a, factor, out, depth + 1) && add(sum->b, factor, out, depth + 1); }
    if (const auto* minus = e.as<Sub>()) {
      int64_t negated;
      return !__builtin_sub_overflow(int64_t{0}, factor, &negated) && add(minus->a, factor, out, depth + 1) && add(minus->b, negated, out, depth + 1);
    }
    if (const auto* product = e.as<Mul>()) {
      const auto* left = product->a.as<IntImm>();
      const auto* right = product->b.as<IntImm>();
      int64_t scaled;
      if (left || right) {
        return !__builtin_mul_overflow(factor, (left ? left : right)->value, &scaled) && add(left ? product->b : product->a, scaled, out, depth + 1);
      }
    }
    if (any_variable(e, [&](const VarNode& v) { return is_variable(v); })) { return false; }
    Expr term = mul(e, constant_int(e.dtype(), factor));
    out.rest = out.rest ? loopsmith::add(out.rest, term) : term;
    return true;
  }

 private:
  auto is_variable(const VarNode& v) const -> bool {
    return std::any_of(variables_.begin(), variables_.end(), [&](const Var& x) { return x.get() == &v; });
  }
  const std::vector<Var>& variables_;
};

auto is_index_comparison(const Expr& e) -> const BinaryNode* {
  switch (e.kind()) {
    case NodeKind::EQ: case NodeKind::LT: case NodeKind::LE: case NodeKind::GT: case NodeKind::GE: break;
    default: return nullptr;
  }
  const auto* n = static_cast<const BinaryNode*>(e.get());
  return is_index_type(n->a.dtype()) ? n : nullptr;
}

auto dtype_of(const std::vector<Var>& variables, const std::vector<Expr>& conditions) -> DataType {
  for (const Expr& e : conditions) { if (const auto* n = is_index_comparison(e)) { return n->a.dtype(); } }
  return variables.empty() ? DataType::int_(32) : variables[0]->dtype;
}

// sum of row[i] * variables[i] from `first` on.
auto sum_of(const Row& row, const std::vector<Var>& variables, size_t first, Expr start) -> Expr {
  for (size_t i = first; i < row.size(); ++i) {
    if (row[i] != 0) { start = add(start, mul(variables[i], constant_int(start.dtype(), row[i]))); }
  }
  return start;
}

// row + rest <= 0
struct Inequality {
  Row row;
  Expr rest;
};

// Divides an inequality by the greatest common divisor of its coefficients, if the rest is constant.
void reduce(Inequality& q) {
  const auto* rest = q.rest.as<IntImm>();
  int64_t gcd = 0;
  for (int64_t c : q.row) { gcd = gcd_of(gcd, c); }
  if (!rest || gcd <= 1) { return; }
  for (int64_t& c : q.row) { c /= gcd; }
  // sum <= -rest, so that sum / gcd <= floor(-rest / gcd).
  q.rest = constant_int(q.rest.dtype(), wrap_sub(0, floor_div(wrap_sub(0, rest->value), gcd)));
}

}  // namespace

auto detect_linear(const Expr& expr, const std::vector<Var>& variables, Analyzer& analyzer) -> std::optional<LinearForm> {
  if (!is_index_type(expr.dtype())) { return {}; }
  LinearForm out{Row(variables.size()), Expr()};
  if (!Linear(variables).add(expr, 1, out, 0)) { return {}; }
  out.rest = out.rest ? analyzer.simplify(out.rest) : zero(expr.dtype());
  return out;
}

auto solve_linear_equations(const std::vector<Var>& variables, const std::vector<Expr>& equations, Analyzer& analyzer)
    -> std::optional<EquationSolution> {
  size_t n = variables.size();
  DataType dtype = dtype_of(variables, equations);
  std::vector<LinearForm> rows;
  for (const Expr& e : equations) {
    const auto* eq = e.as<EQ>();
    auto form = eq && is_index_comparison(e) ? detect_linear(sub(eq->a, eq->b), variables, analyzer) : std::nullopt;
    if (!form) { return {}; }
    rows.push_back(std::move(*form));
  }
  // x = U y. Columns of the system and of U are combined alike; rows of the inverse of U the other way.
  std::vector<Row> u(n, Row(n)), inverse(n, Row(n));
  for (size_t i = 0; i < n; ++i) { u[i][i] = inverse[i][i] = 1; }
  auto combine = [&](size_t to, size_t from, int64_t factor) {   // column to += factor * column from
    auto step = [&](Row& row) {
      int64_t product;
      return !__builtin_mul_overflow(row[from], factor, &product) && !__builtin_add_overflow(row[to], product, &row[to]);
    };
    int64_t negated;
    if (__builtin_sub_overflow(int64_t{0}, factor, &negated)) { return false; }
    for (LinearForm& row : rows) { if (!step(row.coefficients)) { return false; } }
    for (Row& row : u) { if (!step(row)) { return false; } }
    return add_multiple(inverse[from], inverse[to], negated);
  };
  auto exchange = [&](size_t a, size_t b) {
    for (LinearForm& row : rows) { std::swap(row.coefficients[a], row.coefficients[b]); }
    for (Row& row : u) { std::swap(row[a], row[b]); }
    std::swap(inverse[a], inverse[b]);
  };
  EquationSolution out;
  std::vector<Expr> y;                     // values of the settled columns
  for (LinearForm& row : rows) {
    Row& c = row.coefficients;
    size_t rank = y.size();
    // Euclid's algorithm over the open columns, until one is left.
    while (true) {
      size_t least = n;
      bool alone = true;
      for (size_t i = rank; i < n; ++i) {
        if (c[i] == 0) { continue; }
        if (least < n) { alone = false; }
        if (least == n || std::llabs(c[i]) < std::llabs(c[least])) { least = i; }
      }
      if (least == n) { break; }
      exchange(rank, least);
      if (alone) { break; }
      for (size_t i = rank + 1; i < n; ++i) {
        if (c[i] != 0 && !combine(i, rank, -(c[i] / c[rank]))) { return {}; }
      }
    }
    // c[0] y[0] + ... + c[rank] y[rank] + rest == 0
    Expr known = cast(dtype, row.rest);
    for (size_t i = 0; i < rank; ++i) { known = add(known, mul(y[i], constant_int(dtype, c[i]))); }
    known = analyzer.simplify(known);
    if (rank == n || c[rank] == 0) {
      Expr holds = analyzer.simplify(equal(known, zero(dtype)));
      if (!is_one(holds)) { out.conditions.push_back(holds); }
      continue;
    }
    int64_t pivot = c[rank];
    Expr divisor = constant_int(dtype, std::llabs(pivot));
    if (pivot > 0) { known = sub(zero(dtype), known); }
    Expr divides = analyzer.simplify(equal(floormod(known, divisor), zero(dtype)));
    if (!is_one(divides)) { out.conditions.push_back(divides); }
    y.push_back(analyzer.simplify(floordiv(known, divisor)));
  }
  size_t rank = y.size();
  for (size_t i = rank; i < n; ++i) {
    out.free.push_back(var(Name("f" + std::to_string(i - rank)), dtype));
    out.free_values.push_back(analyzer.simplify(sum_of(inverse[i], variables, 0, zero(dtype))));
    y.push_back(out.free.back());
  }
  for (size_t i = 0; i < n; ++i) {
    Expr value = zero(dtype);
    for (size_t j = 0; j < n; ++j) { if (u[i][j] != 0) { value = add(value, mul(y[j], constant_int(dtype, u[i][j]))); } }
    out.values.emplace(variables[i].get(), analyzer.simplify(value));
  }
  return out;
}

auto solve_linear_inequalities(const std::vector<Var>& variables, const std::vector<Expr>& conditions, Analyzer& analyzer)
    -> std::optional<InequalitySolution> {
  DataType dtype = dtype_of(variables, conditions);
  std::vector<Inequality> open;
  auto take = [&](const Expr& difference) {   // difference <= 0
    auto form = detect_linear(difference, variables, analyzer);
    if (!form) { return false; }
    open.push_back({std::move(form->coefficients), cast(dtype, form->rest)});
    reduce(open.back());
    return true;
  };
  for (const Expr& e : conditions) {
    const BinaryNode* n = is_index_comparison(e);
    if (!n) { return {}; }
    Expr unit = one(n->a.dtype()), up = sub(n->a, n->b), down = sub(n->b, n->a);
    bool taken = e.kind() == NodeKind::LE   ? take(up)
                 : e.kind() == NodeKind::LT ? take(add(up, unit))
                 : e.kind() == NodeKind::GE ? take(down)
                 : e.kind() == NodeKind::GT ? take(add(down, unit))
                                            : take(up) && take(down);
    if (!taken) { return {}; }
  }
  InequalitySolution out;
  for (size_t v = 0; v < variables.size(); ++v) {
    VariableBounds bounds{variables[v], {}, {}};
    std::vector<Inequality> lower, upper, rest;
    for (Inequality& q : open) { (q.row[v] > 0 ? upper : q.row[v] < 0 ? lower : rest).push_back(std::move(q)); }
    auto note = [&](std::vector<Expr>& list, Expr bound) {
      bound = analyzer.simplify(bound);
      if (std::none_of(list.begin(), list.end(), [&](const Expr& e) { return deep_equal(e, bound); })) { list.push_back(std::move(bound)); }
    };
    for (const Inequality& q : upper) {   // c x + others <= 0: x <= floor(-others / c)
      Expr others = sum_of(q.row, variables, v + 1, q.rest);
      note(bounds.upper, floordiv(sub(zero(dtype), others), constant_int(dtype, q.row[v])));
    }
    for (const Inequality& q : lower) {   // -c x + others <= 0: x >= ceil(others / c)
      int64_t c = -q.row[v];
      note(bounds.lower, floordiv(add(sum_of(q.row, variables, v + 1, q.rest), constant_int(dtype, c - 1)), constant_int(dtype, c)));
    }
    for (const Inequality& l : lower) {
      for (const Inequality& u : upper) {
        int64_t a = -l.row[v], b = u.row[v];
        Inequality joined{Row(variables.size()), analyzer.simplify(add(mul(l.rest, constant_int(dtype, b)), mul(u.rest, constant_int(dtype, a))))};
        if (!add_multiple(joined.row, l.row, b) || !add_multiple(joined.row, u.row, a)) { return {}; }
        reduce(joined);
        bool is_known = std::any_of(rest.begin(), rest.end(), [&](const Inequality& q) { return q.row == joined.row && deep_equal(q.rest, joined.rest); });
        if (!is_known) { rest.push_back(std::move(joined)); }
        if (rest.size() > max_inequalities) { return {}; }
      }
    }
    open = std::move(rest);
    out.bounds.push_back(std::move(bounds));
  }
  for (const Inequality& q : open) {
    Expr holds = analyzer.simplify(less_equal(q.rest, zero(dtype)));
    bool is_known = is_one(holds) || std::any_of(out.conditions.begin(), out.conditions.end(), [&](const Expr& e) { return deep_equal(e, holds); });
    if (!is_known) { out.conditions.push_back(std::move(holds)); }
  }
  return out;
}

}  // namespace loopsmith::arith
