// The error of compared results as text, the same in every output: "largest error 3e-7 of the result's scale (2e-5 allowed)".
#pragma once

#include <cstdio>
#include <string>

namespace loopsmith {

/// One digit and an exponent: "3e-7".
[[nodiscard]] inline auto one_digit_text(double number) -> std::string {
  char text[32];
  std::snprintf(text, sizeof text, "%.0e", number);
  std::string out(text);
  size_t exponent = out.find_first_of("+-");
  while (exponent != std::string::npos && exponent + 2 < out.size() && out[exponent + 1] == '0') { out.erase(exponent + 1, 1); }
  return out;
}

/// `relative` to the largest element of the result; if it is negative, no reals were compared, and the text is empty. `allowed`: the bound.
[[nodiscard]] inline auto error_text(double relative, double allowed) -> std::string {
  if (relative < 0) { return {}; }
  if (relative == 0) { return "no error"; }
  return "largest error " + one_digit_text(relative) + " of the result's scale (" + one_digit_text(allowed) + " allowed)";
}

}  // namespace loopsmith
