// Numbers in words: see numbers.h.
#include "lsp/features/numbers.h"

#include <cmath>
#include <iterator>

#include <fmt/format.h>

namespace loopsmith::lsp {

auto grouped(int64_t number) -> std::string {
  std::string digits = std::to_string(number);
  for (int at = static_cast<int>(digits.size()) - 3; at > (digits.front() == '-' ? 1 : 0); at -= 3) { digits.insert(static_cast<size_t>(at), ","); }
  return digits;
}

auto flops_text(double flops) -> std::string {
  const char* const units[] = {"flop", "Kflop", "Mflop", "Gflop", "Tflop", "Pflop"};
  size_t unit = 0;
  // Small counts are worth reading exactly.
  while (flops >= (unit == 0 ? 10000 : 1000) && unit + 1 < std::size(units)) {
    flops /= 1000;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} {}", grouped(static_cast<int64_t>(flops)), units[unit]) : fmt::format("{:.4g} {}", flops, units[unit]);
}

auto bytes_text(int64_t bytes) -> std::string {
  const char* const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 1024 && unit + 1 < std::size(units)) {
    value /= 1024;
    ++unit;
  }
  bool whole = value == std::floor(value);
  return whole ? fmt::format("{} {}", static_cast<int64_t>(value), units[unit]) : fmt::format("{:.1f} {}", value, units[unit]);
}

}  // namespace loopsmith::lsp
