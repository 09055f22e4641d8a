// Features of schedules: the numbers of MetaSchedule's per-store features, to the six digits of the reference.
#include "tune/metaschedule/features/features.h"

#include <cmath>

#include <fmt/format.h>

#include "ir/vocabulary.h"
#include "program.h"

namespace loopsmith::oracle {

void check_features(const Json& line, Tally& tally) {
  const std::string target = line.at("target");
  std::string id = line.at("id").get<std::string>() + " (" + line.at("workload").get<std::string>() + ", " + target + ")";
  Parsed program = parse_program(line.at("module"));
  if (!program.module) { return tally.fail(id, "a module", program.problem); }
  auto got = tune::metaschedule::extract_features(program.module, kind_of_target(target) == target_kind::cuda);
  const Json& expected = line.at("features");
  if (got.size() != expected.size()) { return tally.fail(id, fmt::format("{} stores", expected.size()), fmt::format("{}", got.size())); }
  std::string wanted, found;
  for (size_t row = 0; row < got.size(); ++row) {
    for (size_t i = 0; i < got[row].size(); ++i) {
      double a = expected[row].at(i).get<double>(), b = got[row][i];
      // The reference has six significant digits.
      if (std::abs(a - b) <= 1e-5 * std::max(std::abs(a), 1e-9)) { continue; }
      wanted += fmt::format(" [{}, {}] {:.6g}", row, i, a);
      found += fmt::format(" [{}, {}] {:.6g}", row, i, b);
    }
  }
  if (!wanted.empty()) { return tally.fail(id, wanted.substr(1, 300), found.substr(1, 300)); }
  tally.pass();
}

}  // namespace loopsmith::oracle
