// Random expressions: over all operators, and from the left sides of the rewrite rules, so that every rule is tested.
#pragma once

#include <random>
#include <vector>

#include "space.h"

namespace loopsmith::fuzz {

class Random {
 public:
  explicit Random(uint64_t seed) : random_(seed) {}
  auto pick(int n) -> int { return static_cast<int>(random_() % static_cast<uint64_t>(n)); }
  auto between(int64_t low, int64_t high) -> int64_t { return low + static_cast<int64_t>(random_() % static_cast<uint64_t>(high - low + 1)); }
  auto chance(int one_in) -> bool { return pick(one_in) == 0; }

 private:
  std::mt19937_64 random_;
};

class Generator {
 public:
  /// `at_ends`: constants at the ends of the type and around 2^31 as well.
  Generator(Random& random, DataType dtype, const std::vector<Domain>& domains, bool at_ends = false)
      : random_(random), dtype_(dtype), domains_(domains), at_ends_(at_ends) {}

  auto integer(int depth) -> Expr;
  auto condition(int depth) -> Expr;
  /// int32x4 or int32x2 expressions of ramps and broadcasts.
  auto vector(int depth, int lanes) -> Expr;
  /// An instance of a rule's left side; null: no operands of suitable types were found.
  auto rule_instance() -> Expr;
  auto constant() -> Expr;
  auto nonzero() -> Expr;
  auto variable() -> Expr;

 private:
  Random& random_;
  DataType dtype_;
  const std::vector<Domain>& domains_;
  bool at_ends_;
};

/// Small domains, one for each name, at most `limit` points in all. `at_ends`: some of them at an end of the type.
auto random_domains(Random& random, DataType dtype, int count, int64_t limit, bool at_ends = false) -> std::vector<Domain>;

}  // namespace loopsmith::fuzz
