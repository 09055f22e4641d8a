// The check `itermap`: detection of affine iteration maps and simplification by them.
//
// A case passes if the map is accepted exactly when the reference accepts it, the texts of the normalised and the
// simplified indices are equal, and it pads exactly when the reference does.
#include "arith/iter_map.h"

#include "expression.h"
#include "ir/ops.h"
#include "kind.h"

namespace loopsmith::oracle {

void check_itermap(const Json& line, Tally& tally) {
  std::string id = line["id"];
  DataType dtype = *DataType::parse(line["dtype"].get<std::string>());
  Scope scope;
  arith::IterDomains domains;
  for (const auto& [name, range] : line["vars"].items()) {
    Var v = var(name, dtype);
    scope.emplace(name, v);
    int64_t low = range[0], high = range[1];
    domains.emplace_back(v, Range{make<IntImm>(dtype, low), make<IntImm>(dtype, high - low)});
  }
  std::vector<Expr> indices;
  for (const auto& text : line["indices"]) {
    indices.push_back(read_expression(text.get<std::string>(), scope));
    if (!indices.back()) { tally.fail(id, "an expression of the notation", text); return; }
  }
  Expr predicate = line["predicate"].is_null() ? bool_imm(true) : read_expression(line["predicate"].get<std::string>(), scope);
  if (!predicate) { tally.fail(id, "a predicate of the notation", line["predicate"]); return; }
  std::string level_name = line["check_level"];
  arith::IterMapLevel level = level_name == "bijective"    ? arith::IterMapLevel::Bijective
                              : level_name == "surjective" ? arith::IterMapLevel::Surjective
                                                           : arith::IterMapLevel::NoCheck;
  bool trivial = line["simplify_trivial"];
  arith::Analyzer analyzer;
  arith::IterMapResult result = arith::detect_iter_map(indices, domains, predicate, level, analyzer, trivial);
  bool accepted = !result.indices.empty(), expected = line["accepted"];
  if (accepted != expected) {
    tally.fail(id, expected ? "accepted" : "refused", accepted ? "accepted" : "refused: " + (result.errors.empty() ? "" : result.errors[0]));
    return;
  }
  auto same = [&](const std::vector<Expr>& got, const Json& want, const char* what) {
    for (size_t i = 0; i < got.size(); ++i) {
      std::string text = text_of(got[i]);
      if (i >= want.size() || text != want[i].get<std::string>()) { tally.fail(id, std::string(what) + " " + want.dump(), text); return false; }
    }
    return true;
  };
  if (accepted) {
    std::vector<Expr> normalized;
    for (const arith::IterSum& sum : result.indices) { normalized.push_back(arith::normalize_iter_map_to_expr(sum, analyzer)); }
    if (!same(normalized, line["normalized"], "normalized")) { return; }
    // The record truncates other padding predicates.
    bool pads = line["padding_predicate"] != "T.bool(False)";
    if (is_zero(analyzer.simplify(result.padding_predicate)) == pads) {
      tally.fail(id, pads ? "a padding predicate" : "no padding", text_of(result.padding_predicate));
      return;
    }
  }
  arith::Analyzer fresh;
  if (!same(arith::iter_map_simplify(indices, domains, predicate, level, fresh, trivial), line["simplified_indices"], "simplified")) { return; }
  tally.pass();
}

}  // namespace loopsmith::oracle
