// The check `arith`: simplification, proofs, bounds and modular sets of single expressions.
//
// A case passes if the simplified text is the reference's, or has equal values on samples and is not longer; and if
// no proof, bound or modular set is weaker than the reference's, and evaluation refutes none.
#include "arith/analyzer.h"

#include <random>

#include "expression.h"
#include "kind.h"

namespace loopsmith::oracle {
namespace {

struct Domain { Var var; int64_t low, high; };

// Points of the domains at which the constraint holds: all if these are few, else a sample.
auto sample(const std::vector<Domain>& domains, const Expr& constraint, size_t limit) -> std::vector<Values> {
  std::vector<Values> out;
  double points = 1;
  for (const Domain& d : domains) { points *= static_cast<double>(d.high - d.low); }
  std::mt19937_64 random(7);
  bool all = points <= static_cast<double>(limit);
  size_t count = all ? static_cast<size_t>(points) : limit;
  for (size_t i = 0; i < count; ++i) {
    Values values;
    size_t rest = i;
    for (const Domain& d : domains) {
      auto extent = static_cast<uint64_t>(d.high - d.low);
      uint64_t offset = all ? rest % extent : random() % extent;
      if (all) { rest /= extent; }
      values[d.var.get()] = d.low + static_cast<int64_t>(offset);
    }
    if (constraint) {
      auto holds = evaluate(constraint, values);
      if (!holds || *holds == 0) { continue; }
    }
    out.push_back(std::move(values));
  }
  return out;
}

auto end_of(const Json& value) -> int64_t {
  if (value.is_string()) { return value == "inf" ? arith::ConstIntBound::pos_inf : arith::ConstIntBound::neg_inf; }
  return value.get<int64_t>();
}

}  // namespace

void check_arith(const Json& line, Tally& tally) {
  std::string id = line["id"];
  if (line.contains("error")) { tally.leave_out("the reference raised"); return; }
  DataType dtype = *DataType::parse(line["dtype"].get<std::string>());
  arith::Analyzer analyzer;
  Scope scope;
  std::vector<Domain> domains;
  for (const auto& [name, range] : line["vars"].items()) {
    Var v = var(name, dtype);
    scope.emplace(name, v);
    if (range.is_null()) { domains.push_back({v, -100, 100}); continue; }
    int64_t low = range[0], high = range[1];
    domains.push_back({v, low, high});
    analyzer.bind(v, Range{make<IntImm>(dtype, low), make<IntImm>(dtype, high - low)});
  }
  auto read = [&](const char* key) { return read_expression(line[key].get<std::string>(), scope); };
  Expr constraint = line["constraint"].is_null() ? Expr() : read("constraint");
  Expr expr = read("expr"), expected = read("simplified");
  if (!expr || !expected || (!line["constraint"].is_null() && !constraint)) {
    tally.fail(id, "an expression of the notation", line["expr"]);
    return;
  }
  arith::Analyzer::Scope held;
  std::optional<arith::Analyzer::Scope> entered;
  if (constraint) { entered.emplace(analyzer.enter(constraint)); }

  std::vector<Values> points = sample(domains, constraint, 400);
  auto differ = [&](const Expr& a) {
    for (const Values& p : points) {
      auto x = evaluate(expr, p), y = evaluate(a, p);
      if (x && (!y || *x != *y)) { return true; }
    }
    return false;
  };
  Expr simplified = analyzer.simplify(expr);
  bool equal = arith::deep_equal(simplified, expected) || text_of(simplified) == line["simplified"].get<std::string>();
  if (differ(simplified)) { tally.fail(id, "the value of " + line["expr"].get<std::string>(), "simplified wrongly: " + text_of(simplified)); return; }
  // If the reference's result is wrong, ours is not compared with it.
  if (!equal && size_of(simplified) > size_of(expected) && !differ(expected)) { tally.fail(id, line["simplified"], text_of(simplified)); return; }

  if (expr.dtype().is_bool()) {
    arith::Proof proof = analyzer.prove(expr);
    const Json& proves = line["proves"];
    bool vacuous = points.empty();
    if (!proves.is_null() && proof == arith::Proof::Unknown) { tally.fail(id, proves.get<bool>() ? "proved" : "disproved", "unknown"); return; }
    for (const Values& p : points) {
      auto value = evaluate(expr, p);
      if (vacuous || !value || proof == arith::Proof::Unknown) { continue; }
      if ((proof == arith::Proof::True) != (*value != 0)) { tally.fail(id, "no proof of what is false", line["expr"]); return; }
    }
    tally.pass();
    return;
  }

  arith::ConstIntBound bound = analyzer.const_int_bound(expr);
  arith::ModularSet modulus = analyzer.modular_set(expr);
  for (const Values& p : points) {
    auto value = evaluate(expr, p);
    if (!value) { continue; }
    if (*value < bound.min || *value > bound.max) { tally.fail(id, "bounds that hold", std::to_string(bound.min) + " .. " + std::to_string(bound.max)); return; }
    int64_t rest = *value - modulus.base;
    if (modulus.coeff == 0 ? rest != 0 : rest % modulus.coeff != 0) { tally.fail(id, "a modular set that holds", std::to_string(modulus.coeff)); return; }
  }
  if (!points.empty() && !line["bounds"].is_null() && (bound.min < end_of(line["bounds"][0]) || bound.max > end_of(line["bounds"][1]))) {
    tally.fail(id, "bounds " + line["bounds"].dump(), std::to_string(bound.min) + " .. " + std::to_string(bound.max));
    return;
  }
  if (!points.empty() && !line["modular"].is_null()) {
    int64_t coeff = line["modular"][0];
    bool weaker = coeff == 0 ? modulus.coeff != 0 : modulus.coeff % coeff != 0;
    if (weaker) { tally.fail(id, "modular set " + line["modular"].dump(), std::to_string(modulus.coeff) + " + " + std::to_string(modulus.base)); return; }
  }
  tally.pass();
}

}  // namespace loopsmith::oracle
