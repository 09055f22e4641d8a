// All points of small domains at once: an expression is evaluated to a column of values, one for each point.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/ir.h"

namespace loopsmith::fuzz {

struct Domain { Var var; int64_t low, high; };   // high exclusive

/// Values of an expression at each point. `defined` is 0 where the program is undefined: division by zero, or signed index
/// arithmetic (int32, int64) that overflows, which passes may exclude. In unbounded integers, which passes may compute with,
/// nothing overflows: `beyond` is true where a value is too large to represent.
struct Column {
  std::vector<int64_t> value;
  std::vector<uint8_t> defined;
  [[nodiscard]] auto beyond(size_t point) const -> bool { return defined[point] == 1; }
};

class Space {
 public:
  explicit Space(std::vector<Domain> domains);
  [[nodiscard]] auto domains() const -> const std::vector<Domain>& { return domains_; }
  [[nodiscard]] auto size() const -> size_t { return size_; }
  [[nodiscard]] auto of(const Var& var) const -> const std::vector<int64_t>&;
  /// The values of lane `lane`. Supports the nodes that the generator makes; others are undefined everywhere.
  [[nodiscard]] auto evaluate(const Expr& expr, int lane = 0) const -> Column;
  /// The same points, with index arithmetic in unbounded integers.
  [[nodiscard]] auto of_integers() const -> Space;
  [[nodiscard]] auto point(size_t at) const -> std::string;

 private:
  std::vector<Domain> domains_;
  std::vector<std::vector<int64_t>> columns_;
  size_t size_ = 1;
  bool is_of_integers_ = false;
};

}  // namespace loopsmith::fuzz
