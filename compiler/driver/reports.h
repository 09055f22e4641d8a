// Reports in the formats of other tools: SARIF for code scanning, JUnit XML for build servers. Also the history of measurements for `bench --check`,
// one line of JSON for each.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "support/diagnostic.h"

namespace loopsmith::driver {

/// A log of one run, SARIF 2.1.0 (https://docs.oasis-open.org/sarif/sarif/v2.1.0). `diagnostics` in the form of `render_json`.
[[nodiscard]] auto sarif(const std::vector<nlohmann::json>& diagnostics, const std::string& version) -> nlohmann::json;

struct CheckedCase {
  std::string group, name;
  double seconds = 0;
  std::string failure = {};     // empty: it passed
};
[[nodiscard]] auto junit(const std::string& suite, const std::vector<CheckedCase>& cases) -> std::string;

/// Appends lines to a file, which may be new.
[[nodiscard]] auto append_history(const std::string& path, const std::vector<nlohmann::json>& rows) -> Status;

/// The median time of the last five lines that agree with `row` in "program", "name", "target", "threads", "cache" and "arguments";
/// none: no line agrees. Skips lines that are no measurements; a missing file is an error.
[[nodiscard]] auto earlier_seconds(const std::string& path, const nlohmann::json& row) -> Result<std::optional<double>>;

}  // namespace loopsmith::driver
