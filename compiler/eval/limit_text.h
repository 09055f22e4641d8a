// The words of the errors that a value would exceed a limit of the evaluator.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace loopsmith::eval {

/// "a list of more than 4000000 items"
[[nodiscard]] inline auto more_than(size_t limit, std::string_view object, std::string_view units) -> std::string {
  return std::string(object) + " of more than " + std::to_string(limit) + " " + std::string(units);
}

}  // namespace loopsmith::eval
