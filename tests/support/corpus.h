// The program texts of tests/oracle/data, for tests that need many programs.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace loopsmith::tests {

/// Names and texts, always in the same order. Read once.
[[nodiscard]] auto corpus_texts() -> const std::vector<std::pair<std::string, std::string>>&;

}  // namespace loopsmith::tests
