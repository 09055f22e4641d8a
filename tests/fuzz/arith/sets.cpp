// Int sets with some variables relaxed over their domains, and bounds deduced from comparisons.
#include "arith/int_set.h"

#include "checks.h"
#include "ir/ops.h"
#include "ir/printer.h"

namespace loopsmith::fuzz {
namespace {

auto text_of(const Expr& e) -> std::string { return print_debug(e, 100000); }
auto text_of(const arith::IntSet& set) -> std::string {
  if (set.is_nothing()) { return "nothing"; }
  return "[" + (set.min() ? text_of(set.min()) : "-inf") + ", " + (set.max() ? text_of(set.max()) : "inf") + "]";
}
auto text_of(const std::vector<Domain>& domains) -> std::string {
  std::string out;
  for (const Domain& d : domains) {
    out += (out.empty() ? "" : ", ") + std::string(d.var->name.view()) + " in [" + std::to_string(d.low) + ", " + std::to_string(d.high) + ")";
  }
  return out;
}
auto range_of(const Domain& d) -> Range { return {int_imm(d.low, d.var->dtype), int_imm(d.high - d.low, d.var->dtype)}; }
auto index_type(Random& random) -> DataType { return DataType::int_(random.chance(4) ? 64 : 32); }

// Checks that every value of e is in the set, while the relaxed variables run over all of their values.
auto outside(const Space& space, const Column& value, const arith::IntSet& set, const std::vector<bool>& relaxed) -> std::string {
  Column low, high;
  if (set.min()) { low = space.evaluate(set.min()); }
  if (set.max()) { high = space.evaluate(set.max()); }
  (void)relaxed;   // ends contain no relaxed variables
  for (size_t p = 0; p < space.size(); ++p) {
    if (!value.defined[p]) { continue; }
    bool below = set.min() && low.defined[p] && value.value[p] < low.value[p];
    bool above = set.max() && high.defined[p] && value.value[p] > high.value[p];
    if (set.is_nothing() || below || above) { return text_of(set) + " does not hold " + std::to_string(value.value[p]) + ", the value at " + space.point(p); }
  }
  return {};
}

}  // namespace

auto check_set(Random& random) -> std::string {
  DataType dtype = index_type(random);
  Space space(random_domains(random, dtype, random.pick(3) + 1, 150));
  Generator generator(random, dtype, space.domains());
  Expr e = generator.integer(random.pick(3) + 1), other = generator.integer(random.pick(2) + 1);
  arith::DomMap dom;
  std::vector<bool> relaxed;
  std::string names;
  for (const Domain& d : space.domains()) {
    relaxed.push_back(!random.chance(3));
    if (!relaxed.back()) { continue; }
    dom[d.var.get()] = arith::IntSet::from_range(range_of(d));
    names += " " + std::string(d.var->name.view());
  }
  arith::Analyzer analyzer;
  if (random.chance(3)) { for (const Domain& d : space.domains()) { analyzer.bind(d.var, range_of(d)); } }
  auto report = [&](const std::string& what) { return text_of(e) + " and " + text_of(other) + " with " + text_of(space.domains()) + ", relaxed:" + names + ": " + what; };
  Column value = space.evaluate(e), second = space.evaluate(other);
  arith::IntSet set = arith::eval_set(e, dom, analyzer), set2 = arith::eval_set(other, dom, analyzer);
  if (std::string what = outside(space, value, set, relaxed); !what.empty()) { return report(what); }
  arith::IntSet united = arith::union_of({set, set2}, analyzer);
  for (const Column* c : {&value, &second}) { if (std::string what = outside(space, *c, united, relaxed); !what.empty()) { return report("union " + what); } }
  arith::IntSet common = arith::intersect({set, set2}, analyzer);
  Column both = value;
  for (size_t p = 0; p < space.size(); ++p) { both.defined[p] &= second.defined[p] && value.value[p] == second.value[p]; }
  if (std::string what = outside(space, both, common, relaxed); !what.empty()) { return report("intersection " + what); }
  // A range: [e, e + extent), its last value too.
  int64_t extent = random.between(1, 5);
  arith::IntSet region = arith::eval_set(Range{e, int_imm(extent, dtype)}, dom, analyzer);
  Column last = value;
  for (int64_t& v : last.value) { v += extent - 1; }
  for (const Column* c : {&value, &last}) { if (std::string what = outside(space, *c, region, relaxed); !what.empty()) { return report("range " + what); } }
  return {};
}

auto check_bound(Random& random) -> std::string {
  DataType dtype = index_type(random);
  Space space(random_domains(random, dtype, random.pick(3) + 1, 150));
  Generator generator(random, dtype, space.domains());
  // Comparisons, usually with one use of the variable: sums and products of small depth.
  Expr e = generator.condition(random.pick(2) + 1);
  const Domain& target = space.domains()[0];
  arith::DomMap hint, relax;
  std::vector<bool> relaxed;
  std::string names;
  for (const Domain& d : space.domains()) {
    relaxed.push_back(!d.var.same_as(target.var) && random.chance(2));
    if (relaxed.back()) {
      relax[d.var.get()] = arith::IntSet::from_range(range_of(d));
      names += " " + std::string(d.var->name.view());
    }
    if (random.chance(2) || relaxed.back()) { hint[d.var.get()] = arith::IntSet::from_range(range_of(d)); }
  }
  arith::IntSet set = arith::deduce_bound(target.var, e, hint, relax);
  if (set.is_nothing()) { return {}; }
  Column value = space.evaluate(e), low, high;
  if (set.min()) { low = space.evaluate(set.min()); }
  if (set.max()) { high = space.evaluate(set.max()); }
  const auto& at = space.of(target.var);
  for (size_t p = 0; p < space.size(); ++p) {
    if (!value.defined[p] || value.value[p] != 0) { continue; }
    if (set.min() && (!low.defined[p] || at[p] < low.value[p])) { continue; }
    if (set.max() && (!high.defined[p] || at[p] > high.value[p])) { continue; }
    return text_of(e) + " with " + text_of(space.domains()) + ", relaxed:" + names + ": deduced " + text_of(set) + ", wrong at " + space.point(p);
  }
  return {};
}

}  // namespace loopsmith::fuzz
