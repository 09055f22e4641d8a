// Iteration maps made by splitting, fusing, shifting and reordering iterators, some with an error: a detected map equals the
// indices at every point where the predicate holds, has the properties of its check level, and its inverse is correct.
#include "arith/iter_map.h"

#include <algorithm>
#include <map>
#include <set>

#include "checks.h"
#include "ir/ops.h"
#include "ir/printer.h"
#include "ir/visitor.h"

namespace loopsmith::fuzz {
namespace {

auto text_of(const Expr& e) -> std::string { return print_debug(e, 100000); }

struct Piece { Expr expr; int64_t extent; };

}  // namespace

auto check_map(Random& random) -> std::string {
  using namespace arith;
  DataType dtype = DataType::int_(random.chance(5) ? 64 : 32);
  auto imm = [&](int64_t v) { return int_imm(v, dtype); };
  static const int64_t extents[] = {1, 2, 3, 4, 5, 6, 8, 12, 16};
  std::vector<Domain> domains;
  int64_t points = 1;
  static const char* const names[] = {"i", "j", "k", "m"};
  int count = random.pick(3) + 1;
  for (int i = 0; i < count; ++i) {
    int64_t extent = extents[random.pick(9)];
    if (points * extent > 400) { extent = 2; }
    points *= extent;
    int64_t low = random.chance(6) ? random.between(-3, 5) : 0;
    domains.push_back({var(names[i], dtype), low, low + extent});
  }
  Space space(domains);
  std::vector<Piece> pieces;
  IterDomains iters;
  for (const Domain& d : domains) {
    iters.emplace_back(d.var, Range{imm(d.low), imm(d.high - d.low)});
    pieces.push_back({d.low == 0 || random.chance(2) ? Expr(d.var) : Expr(make<Sub>(d.var, imm(d.low))), d.high - d.low});
  }
  for (int step = random.pick(4); step > 0 && !pieces.empty(); --step) {
    auto at = static_cast<size_t>(random.pick(static_cast<int>(pieces.size())));
    Piece p = pieces[at];
    switch (random.pick(6)) {
      case 0: case 1: {   // split
        int64_t factor = random.chance(3) ? random.between(2, 7) : p.extent % 2 == 0 ? 2 : p.extent % 3 == 0 ? 3 : p.extent;
        if (factor < 1) { break; }
        pieces[at] = {make<FloorDiv>(p.expr, imm(factor)), (p.extent + factor - 1) / factor};
        pieces.insert(pieces.begin() + static_cast<ptrdiff_t>(at) + 1, Piece{make<FloorMod>(p.expr, imm(factor)), std::min(p.extent, factor)});
        break;
      }
      case 2: case 3: {   // fuse with the next
        if (at + 1 >= pieces.size()) { break; }
        Piece q = pieces[at + 1];
        int64_t scale = random.chance(10) ? q.extent + random.between(-1, 1) : q.extent;
        pieces[at] = {make<Add>(make<Mul>(p.expr, imm(scale)), q.expr), p.extent * q.extent};
        pieces.erase(pieces.begin() + static_cast<ptrdiff_t>(at) + 1);
        break;
      }
      case 4: std::swap(pieces[at], pieces[static_cast<size_t>(random.pick(static_cast<int>(pieces.size())))]); break;
      default:
        if (random.chance(2)) { pieces[at].expr = make<Add>(p.expr, imm(random.between(-4, 9))); }
        else if (random.chance(2)) { pieces[at].expr = make<Mul>(p.expr, imm(random.between(1, 4))); }
        else if (random.chance(2)) { pieces.erase(pieces.begin() + static_cast<ptrdiff_t>(at)); }
        else { pieces.push_back(p); }
    }
  }
  if (pieces.empty()) { return {}; }
  std::vector<Expr> indices;
  for (const Piece& p : pieces) { indices.push_back(p.expr); }
  Expr predicate = bool_imm(true);
  if (random.chance(3)) {
    const Piece& p = pieces[static_cast<size_t>(random.pick(static_cast<int>(pieces.size())))];
    Expr subject = random.chance(3) ? Expr(domains[0].var) : p.expr;
    Expr bound = imm(random.between(0, std::max<int64_t>(p.extent, 1) + 1));
    predicate = random.chance(4) ? Expr(make<GE>(subject, bound)) : random.chance(3) ? Expr(make<LE>(subject, bound)) : Expr(make<LT>(subject, bound));
    if (random.chance(4)) { predicate = make<And>(predicate, make<LT>(domains.back().var, imm(random.between(1, 9)))); }
  }
  IterMapLevel level = static_cast<IterMapLevel>(random.pick(3));
  bool trivial = !random.chance(4);
  Analyzer analyzer;
  IterMapResult map = detect_iter_map(indices, iters, predicate, level, analyzer, trivial);

  auto report = [&](const std::string& what) {
    std::string out;
    for (const Domain& d : domains) { out += std::string(d.var->name.view()) + " in [" + std::to_string(d.low) + ", " + std::to_string(d.high) + "), "; }
    out += "indices";
    for (const Expr& e : indices) { out += " `" + text_of(e) + "`"; }
    static const char* const levels[] = {"nocheck", "surjective", "bijective"};
    return out + " if " + text_of(predicate) + ", " + levels[static_cast<int>(level)] + ": " + what;
  };
  Column holds = space.evaluate(predicate);
  std::vector<Column> values;
  for (const Expr& e : indices) { values.push_back(space.evaluate(e)); }

  // iter_map_simplify keeps values, also if no map was found.
  Analyzer fresh;
  std::vector<Expr> simplified = iter_map_simplify(indices, iters, predicate, level, fresh, trivial);
  auto compare = [&](const std::vector<Expr>& others, const char* what) -> std::string {
    if (others.size() != indices.size()) { return report(std::string(what) + ": another number of indices"); }
    for (size_t i = 0; i < others.size(); ++i) {
      Column c = space.evaluate(others[i]);
      for (size_t p = 0; p < space.size(); ++p) {
        if (holds.value[p] != 0 && (!c.defined[p] || c.value[p] != values[i].value[p])) {
          return report(std::string(what) + " `" + text_of(others[i]) + "`, wrong at " + space.point(p));
        }
      }
    }
    return {};
  };
  if (std::string what = compare(simplified, "simplified to"); !what.empty()) { return what; }
  if (map.indices.empty()) { return {}; }
  std::vector<Expr> normalized;
  for (const IterSum& sum : map.indices) { normalized.push_back(normalize_iter_map_to_expr(sum, analyzer)); }
  if (std::string what = compare(normalized, "normalized to"); !what.empty()) { return what; }

  // No point of the domain is padding.
  Column padding = space.evaluate(map.padding_predicate);
  for (size_t p = 0; p < space.size(); ++p) {
    if (holds.value[p] != 0 && padding.value[p] != 0) { return report("padding said to be where `" + text_of(map.padding_predicate) + "`, wrong at " + space.point(p)); }
  }

  // The image: distinct tuples, and of each index its distinct values.
  std::set<std::vector<int64_t>> image;
  std::vector<std::set<int64_t>> each(indices.size());
  size_t inside = 0;
  for (size_t p = 0; p < space.size(); ++p) {
    if (holds.value[p] == 0) { continue; }
    ++inside;
    std::vector<int64_t> tuple;
    for (size_t i = 0; i < indices.size(); ++i) { tuple.push_back(values[i].value[p]); each[i].insert(tuple.back()); }
    image.insert(std::move(tuple));
  }
  if (inside == 0) { return {}; }
  size_t product = 1;
  for (const auto& s : each) { product *= s.size(); }
  if (level == IterMapLevel::Bijective) {
    if (image.size() != inside) { return report("said to be a bijection, and two points have one image"); }
    if (image.size() != product) { return report("said to be a bijection, and the image has holes"); }
    // The extents must equal those of the images.
    std::vector<Var> outputs;
    std::vector<Expr> as_expr;
    VarMap to;
    for (size_t i = 0; i < indices.size(); ++i) {
      outputs.push_back(var("o", dtype));
      as_expr.push_back(outputs.back());
    }
    auto inverse = inverse_affine_iter_map(map.indices, as_expr);
    for (size_t i = 0; i < indices.size(); ++i) { to[outputs[i].get()] = indices[i]; }
    for (const auto& [v, e] : inverse) {
      Column c = space.evaluate(substitute(e, to));
      const auto& original = space.of(Var(v));
      for (size_t p = 0; p < space.size(); ++p) {
        if (holds.value[p] != 0 && (!c.defined[p] || c.value[p] != original[p])) {
          return report("inverse of " + std::string(v->name.view()) + " `" + text_of(e) + "`, wrong at " + space.point(p));
        }
      }
    }
  }
  if (level == IterMapLevel::Surjective && image.size() != product) { return report("said to be surjective, and indices depend on one another"); }

  // A division into outer and inner: the parts make up each binding, the inner part is of the inner iterators only.
  std::vector<Var> sub_iters;
  for (const Domain& d : domains) { if (random.chance(2)) { sub_iters.push_back(d.var); } }
  Analyzer dividing;
  auto division = subspace_divide(indices, iters, sub_iters, predicate, level, dividing, trivial);
  if (!division) { return {}; }
  auto is_sub = [&](const VarNode& v) { return std::any_of(sub_iters.begin(), sub_iters.end(), [&](const Var& s) { return s.get() == &v; }); };
  auto is_outer = [&](const VarNode& v) { return !is_sub(v); };
  Column outer_holds = space.evaluate(division->outer_predicate), inner_holds = space.evaluate(division->inner_predicate);
  if (uses_var(division->outer_predicate, is_sub) || uses_var(division->inner_predicate, is_outer)) { return report("divided with a predicate of the other side"); }
  for (size_t p = 0; p < space.size(); ++p) {
    if ((outer_holds.value[p] != 0 && inner_holds.value[p] != 0) != (holds.value[p] != 0)) {
      return report("divided with predicates `" + text_of(division->outer_predicate) + "`, `" + text_of(division->inner_predicate) + "`, wrong at " + space.point(p));
    }
  }
  for (size_t i = 0; i < indices.size(); ++i) {
    const DividedIter& d = division->bindings[i];
    if (uses_var(d.outer, is_sub) || uses_var(d.inner, is_outer)) { return report("divided as " + text_of(d.outer) + " and " + text_of(d.inner)); }
    Column outer = space.evaluate(d.outer), inner = space.evaluate(d.inner), extent = space.evaluate(d.inner_extent);
    for (size_t p = 0; p < space.size(); ++p) {
      if (holds.value[p] != 0 && outer.value[p] * extent.value[p] + inner.value[p] != values[i].value[p]) {
        return report("divided as (" + text_of(d.outer) + ") * " + text_of(d.inner_extent) + " + " + text_of(d.inner) + ", wrong at " + space.point(p));
      }
    }
  }
  return {};
}

}  // namespace loopsmith::fuzz
