// Linear systems: the solutions of equations are correct and complete; bounds from inequalities hold exactly at the points
// where the inequalities hold.
#include "arith/linear_system.h"

#include "checks.h"
#include "ir/ops.h"
#include "ir/printer.h"
#include "ir/visitor.h"

namespace loopsmith::fuzz {
namespace {

auto text_of(const std::vector<Expr>& list) -> std::string {
  std::string out;
  for (const Expr& e : list) { out += (out.empty() ? "`" : ", `") + print_debug(e, 1000) + "`"; }
  return out;
}

auto all_hold(const Space& space, const std::vector<Expr>& conditions) -> std::vector<uint8_t> {
  std::vector<uint8_t> out(space.size(), 1);
  for (const Expr& e : conditions) {
    Column c = space.evaluate(e);
    for (size_t p = 0; p < space.size(); ++p) { out[p] &= c.defined[p] && c.value[p] != 0; }
  }
  return out;
}

}  // namespace

auto check_system(Random& random) -> std::string {
  DataType dtype = DataType::int_(random.chance(4) ? 64 : 32);
  std::vector<Domain> domains = random_domains(random, dtype, random.pick(3) + 2, 400);
  // The last one is a symbol, not a variable of the system.
  std::vector<Var> variables;
  for (size_t i = 0; i + 1 < domains.size(); ++i) { variables.push_back(domains[i].var); }
  Space space(domains);
  auto side = [&] {
    Expr sum = int_imm(random.between(-12, 12), dtype);
    for (const Domain& d : domains) {
      if (random.chance(2)) { sum = make<Add>(sum, make<Mul>(d.var, int_imm(random.between(-4, 6), dtype))); }
    }
    return random.chance(6) ? Expr(make<Mul>(sum, int_imm(random.between(-2, 3), dtype))) : sum;
  };
  bool equations = random.chance(2);
  std::vector<Expr> system;
  for (int i = random.pick(3) + 1; i > 0; --i) {
    Expr a = side(), b = side();
    int kind = equations || random.chance(6) ? 0 : random.pick(4) + 1;
    system.push_back(kind == 0 ? Expr(make<EQ>(a, b)) : kind == 1 ? Expr(make<LT>(a, b)) : kind == 2 ? Expr(make<LE>(a, b)) : kind == 3 ? Expr(make<GT>(a, b)) : Expr(make<GE>(a, b)));
  }
  std::vector<uint8_t> holds = all_hold(space, system);
  arith::Analyzer analyzer;
  auto report = [&](const std::string& what) { return text_of(system) + ": " + what; };
  if (!equations) {
    auto solution = arith::solve_linear_inequalities(variables, system, analyzer);
    if (!solution) { return {}; }
    std::vector<Expr> within = solution->conditions;
    for (const arith::VariableBounds& b : solution->bounds) {
      for (const Expr& e : b.lower) { within.push_back(make<LE>(e, b.variable)); }
      for (const Expr& e : b.upper) { within.push_back(make<LE>(b.variable, e)); }
    }
    std::vector<uint8_t> inside = all_hold(space, within);
    for (size_t p = 0; p < space.size(); ++p) { if (inside[p] != holds[p]) { return report("bounds " + text_of(within) + ", wrong at " + space.point(p)); } }
    return {};
  }
  auto solution = arith::solve_linear_equations(variables, system, analyzer);
  if (!solution) { return {}; }
  // Each solution is found: the formulas give the point for the point's values of the free variables.
  VarMap to;
  for (size_t i = 0; i < solution->free.size(); ++i) { to[solution->free[i].get()] = solution->free_values[i]; }
  std::vector<Expr> found = solution->conditions;
  for (const auto& [v, e] : solution->values) { found.push_back(make<EQ>(Var(v), substitute(e, to))); }
  std::vector<uint8_t> inside = all_hold(space, found);
  for (size_t p = 0; p < space.size(); ++p) { if (inside[p] != holds[p]) { return report("solved as " + text_of(found) + ", wrong at " + space.point(p)); } }
  // For all values of the free variables, the formulas give a solution where the conditions hold.
  std::vector<Domain> free = {domains.back()};
  for (const Var& v : solution->free) { free.push_back({v, -2, 3}); }
  Space open(free);
  VarMap values;
  for (const auto& [v, e] : solution->values) { values[v] = e; }
  std::vector<Expr> substituted;
  for (const Expr& e : system) { substituted.push_back(substitute(e, values)); }
  std::vector<uint8_t> possible = all_hold(open, solution->conditions), true_there = all_hold(open, substituted);
  for (size_t p = 0; p < open.size(); ++p) { if (possible[p] && !true_there[p]) { return report("no solution at " + open.point(p)); } }
  return {};
}

}  // namespace loopsmith::fuzz
