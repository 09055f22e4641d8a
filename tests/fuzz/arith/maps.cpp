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

/// Random indices over a few iterators, and a predicate.
struct MapCase {
  DataType dtype;
  std::vector<Domain> domains;
  arith::IterDomains iters;
  std::vector<Expr> indices;     // empty: none are left
  Expr predicate;
  arith::IterMapLevel level;
  bool trivial;                  // the parameter `simplify_trivial`
  [[nodiscard]] auto imm(int64_t value) const -> Expr { return int_imm(value, dtype); }
};

void add_domains(MapCase& c, Random& random) {
  static const int64_t extents[] = {1, 2, 3, 4, 5, 6, 8, 12, 16};
  static const char* const names[] = {"i", "j", "k", "m"};
  int64_t points = 1;
  int count = random.pick(3) + 1;
  for (int i = 0; i < count; ++i) {
    int64_t extent = extents[random.pick(9)];
    if (points * extent > 400) { extent = 2; }
    points *= extent;
    int64_t low = random.chance(6) ? random.between(-3, 5) : 0;
    c.domains.push_back({var(names[i], c.dtype), low, low + extent});
  }
}

/// Splits, fuses, swaps or spoils a piece.
void change(std::vector<Piece>& pieces, const MapCase& c, Random& random) {
  auto at = static_cast<size_t>(random.pick(static_cast<int>(pieces.size())));
  Piece p = pieces[at];
  switch (random.pick(6)) {
    case 0: case 1: {   // split
      int64_t factor = random.chance(3) ? random.between(2, 7) : p.extent % 2 == 0 ? 2 : p.extent % 3 == 0 ? 3 : p.extent;
      if (factor < 1) { break; }
      pieces[at] = {make<FloorDiv>(p.expr, c.imm(factor)), (p.extent + factor - 1) / factor};
      pieces.insert(pieces.begin() + static_cast<ptrdiff_t>(at) + 1, Piece{make<FloorMod>(p.expr, c.imm(factor)), std::min(p.extent, factor)});
      break;
    }
    case 2: case 3: {   // fuse with the next
      if (at + 1 >= pieces.size()) { break; }
      Piece q = pieces[at + 1];
      int64_t scale = random.chance(10) ? q.extent + random.between(-1, 1) : q.extent;
      pieces[at] = {make<Add>(make<Mul>(p.expr, c.imm(scale)), q.expr), p.extent * q.extent};
      pieces.erase(pieces.begin() + static_cast<ptrdiff_t>(at) + 1);
      break;
    }
    case 4: std::swap(pieces[at], pieces[static_cast<size_t>(random.pick(static_cast<int>(pieces.size())))]); break;
    default:
      if (random.chance(2)) { pieces[at].expr = make<Add>(p.expr, c.imm(random.between(-4, 9))); }
      else if (random.chance(2)) { pieces[at].expr = make<Mul>(p.expr, c.imm(random.between(1, 4))); }
      else if (random.chance(2)) { pieces.erase(pieces.begin() + static_cast<ptrdiff_t>(at)); }
      else { pieces.push_back(p); }
  }
}

auto random_case(Random& random) -> MapCase {
  MapCase c{.dtype = DataType::int_(random.chance(5) ? 64 : 32), .domains = {}, .iters = {}, .indices = {}, .predicate = bool_imm(true), .level = {}, .trivial = true};
  add_domains(c, random);
  std::vector<Piece> pieces;
  for (const Domain& d : c.domains) {
    c.iters.emplace_back(d.var, Range{c.imm(d.low), c.imm(d.high - d.low)});
    pieces.push_back({d.low == 0 || random.chance(2) ? Expr(d.var) : Expr(make<Sub>(d.var, c.imm(d.low))), d.high - d.low});
  }
  for (int step = random.pick(4); step > 0 && !pieces.empty(); --step) { change(pieces, c, random); }
  if (pieces.empty()) { return c; }
  for (const Piece& p : pieces) { c.indices.push_back(p.expr); }
  if (random.chance(3)) {
    const Piece& p = pieces[static_cast<size_t>(random.pick(static_cast<int>(pieces.size())))];
    Expr subject = random.chance(3) ? Expr(c.domains[0].var) : p.expr;
    Expr bound = c.imm(random.between(0, std::max<int64_t>(p.extent, 1) + 1));
    c.predicate = random.chance(4) ? Expr(make<GE>(subject, bound)) : random.chance(3) ? Expr(make<LE>(subject, bound)) : Expr(make<LT>(subject, bound));
    if (random.chance(4)) { c.predicate = make<And>(c.predicate, make<LT>(c.domains.back().var, c.imm(random.between(1, 9)))); }
  }
  c.level = static_cast<arith::IterMapLevel>(random.pick(3));
  c.trivial = !random.chance(4);
  return c;
}

/// Compares the answers about a case with the values at all points of its domain. Each check returns the first difference; empty: there is none.
class MapCheck {
 public:
  explicit MapCheck(const MapCase& of) : c_(of), space_(of.domains), holds_(space_.evaluate(of.predicate)) {
    for (const Expr& e : c_.indices) { values_.push_back(space_.evaluate(e)); }
  }

  /// Other expressions of the indices.
  [[nodiscard]] auto compare(const std::vector<Expr>& others, const char* what) const -> std::string {
    if (others.size() != c_.indices.size()) { return report(std::string(what) + ": another number of indices"); }
    for (size_t i = 0; i < others.size(); ++i) {
      Column column = space_.evaluate(others[i]);
      for (size_t p = 0; p < space_.size(); ++p) {
        if (holds(p) && (!column.defined[p] || column.value[p] != values_[i].value[p])) {
          return report(std::string(what) + " `" + text_of(others[i]) + "`, wrong at " + space_.point(p));
        }
      }
    }
    return {};
  }

  /// No point of the domain is padding.
  [[nodiscard]] auto padding(const Expr& predicate) const -> std::string {
    Column padding = space_.evaluate(predicate);
    for (size_t p = 0; p < space_.size(); ++p) {
      if (holds(p) && padding.value[p] != 0) { return report("padding where `" + text_of(predicate) + "`, wrong at " + space_.point(p)); }
    }
    return {};
  }

  /// The image: distinct tuples, and of each index its distinct values.
  [[nodiscard]] auto image(const arith::IterMapResult& map) const -> std::string {
    std::set<std::vector<int64_t>> image;
    std::vector<std::set<int64_t>> each(c_.indices.size());
    size_t inside = 0;
    for (size_t p = 0; p < space_.size(); ++p) {
      if (!holds(p)) { continue; }
      ++inside;
      std::vector<int64_t> tuple;
      for (size_t i = 0; i < c_.indices.size(); ++i) { tuple.push_back(values_[i].value[p]); each[i].insert(tuple.back()); }
      image.insert(std::move(tuple));
    }
    is_empty_ = inside == 0;
    if (is_empty_) { return {}; }
    size_t product = 1;
    for (const auto& s : each) { product *= s.size(); }
    if (c_.level == arith::IterMapLevel::Surjective && image.size() != product) { return report("surjective, and indices depend on one another"); }
    if (c_.level != arith::IterMapLevel::Bijective) { return {}; }
    if (image.size() != inside) { return report("a bijection, and two points have one image"); }
    if (image.size() != product) { return report("a bijection, and the image has holes"); }
    return inverse(map);
  }
  /// True after `image` if the predicate holds nowhere.
  [[nodiscard]] auto is_empty() const -> bool { return is_empty_; }

  /// A division into outer and inner: the parts make up each binding, the inner part is of the inner iterators only.
  [[nodiscard]] auto division(Random& random) const -> std::string {
    std::vector<Var> sub_iters;
    for (const Domain& d : c_.domains) { if (random.chance(2)) { sub_iters.push_back(d.var); } }
    arith::Analyzer analyzer;
    auto division = arith::subspace_divide(c_.indices, c_.iters, sub_iters, c_.predicate, c_.level, analyzer, c_.trivial);
    if (!division) { return {}; }
    auto is_sub = [&](const VarNode& v) { return std::any_of(sub_iters.begin(), sub_iters.end(), [&](const Var& s) { return s.get() == &v; }); };
    auto is_outer = [&](const VarNode& v) { return !is_sub(v); };
    Column outer_holds = space_.evaluate(division->outer_predicate), inner_holds = space_.evaluate(division->inner_predicate);
    if (uses_var(division->outer_predicate, is_sub) || uses_var(division->inner_predicate, is_outer)) { return report("divided with a predicate of the other side"); }
    for (size_t p = 0; p < space_.size(); ++p) {
      if ((outer_holds.value[p] != 0 && inner_holds.value[p] != 0) != holds(p)) {
        return report("divided with predicates `" + text_of(division->outer_predicate) + "`, `" + text_of(division->inner_predicate) + "`, wrong at " + space_.point(p));
      }
    }
    for (size_t i = 0; i < c_.indices.size(); ++i) {
      const arith::DividedIter& d = division->bindings[i];
      if (uses_var(d.outer, is_sub) || uses_var(d.inner, is_outer)) { return report("divided as " + text_of(d.outer) + " and " + text_of(d.inner)); }
      Column outer = space_.evaluate(d.outer), inner = space_.evaluate(d.inner), extent = space_.evaluate(d.inner_extent);
      for (size_t p = 0; p < space_.size(); ++p) {
        if (holds(p) && outer.value[p] * extent.value[p] + inner.value[p] != values_[i].value[p]) {
          return report("divided as (" + text_of(d.outer) + ") * " + text_of(d.inner_extent) + " + " + text_of(d.inner) + ", wrong at " + space_.point(p));
        }
      }
    }
    return {};
  }

 private:
  [[nodiscard]] auto holds(size_t point) const -> bool { return holds_.value[point] != 0; }
  [[nodiscard]] auto report(const std::string& what) const -> std::string {
    std::string out;
    for (const Domain& d : c_.domains) { out += std::string(d.var->name.view()) + " in [" + std::to_string(d.low) + ", " + std::to_string(d.high) + "), "; }
    out += "indices";
    for (const Expr& e : c_.indices) { out += " `" + text_of(e) + "`"; }
    static const char* const levels[] = {"nocheck", "surjective", "bijective"};
    return out + " if " + text_of(c_.predicate) + ", " + levels[static_cast<int>(c_.level)] + ": " + what;
  }
  /// The inverse of a bijection, applied to the indices, gives the iterators.
  [[nodiscard]] auto inverse(const arith::IterMapResult& map) const -> std::string {
    std::vector<Var> outputs;
    std::vector<Expr> as_expr;
    VarMap to;
    for (const Expr& index : c_.indices) {
      outputs.push_back(var("o", c_.dtype));
      as_expr.push_back(outputs.back());
      to[outputs.back().get()] = index;
    }
    for (const auto& [v, e] : arith::inverse_affine_iter_map(map.indices, as_expr)) {
      Column column = space_.evaluate(substitute(e, to));
      const auto& original = space_.of(Var(v));
      for (size_t p = 0; p < space_.size(); ++p) {
        if (holds(p) && (!column.defined[p] || column.value[p] != original[p])) {
          return report("inverse of " + std::string(v->name.view()) + " `" + text_of(e) + "`, wrong at " + space_.point(p));
        }
      }
    }
    return {};
  }

  const MapCase& c_;
  const Space space_;
  const Column holds_;
  std::vector<Column> values_;   // of the indices
  mutable bool is_empty_ = false;
};

}  // namespace

auto check_map(Random& random) -> std::string {
  const MapCase c = random_case(random);
  if (c.indices.empty()) { return {}; }
  arith::Analyzer analyzer;
  arith::IterMapResult map = arith::detect_iter_map(c.indices, c.iters, c.predicate, c.level, analyzer, c.trivial);
  MapCheck check(c);
  // iter_map_simplify keeps values, also if no map was found.
  arith::Analyzer fresh;
  if (std::string what = check.compare(arith::iter_map_simplify(c.indices, c.iters, c.predicate, c.level, fresh, c.trivial), "simplified to"); !what.empty()) { return what; }
  if (map.indices.empty()) { return {}; }
  std::vector<Expr> normalized;
  for (const arith::IterSum& sum : map.indices) { normalized.push_back(arith::normalize_iter_map_to_expr(sum, analyzer)); }
  if (std::string what = check.compare(normalized, "normalized to"); !what.empty()) { return what; }
  if (std::string what = check.padding(map.padding_predicate); !what.empty()) { return what; }
  if (std::string what = check.image(map); !what.empty() || check.is_empty()) { return what; }
  return check.division(random);
}

}  // namespace loopsmith::fuzz
