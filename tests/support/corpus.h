// The program texts of tests/oracle/data, for tests of whatever reads programs.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace loopsmith::tests {

/// Name and text, the same order always. Read once.
[[nodiscard]] auto corpus_texts() -> const std::vector<std::pair<std::string, std::string>>&;

}  // namespace loopsmith::tests
