// MutateTileSize: chooses one of the tiles and vector widths of a trace, each with the same chance. Of a tile, a divisor of one factor moves to another factor;
// the innermost factor keeps its limit.
#include <algorithm>

#include "tune/metaschedule/mutators/mutators.h"

namespace loopsmith::tune::metaschedule {
namespace {

using schedule::Instruction;
using schedule::RandomEngine;
using schedule::Trace;
using schedule::Value;

// Tries with other pairs of factors, where the innermost one is at its limit.
constexpr int most_tries = 100;

auto factors_of(const Instruction& sampled) -> std::vector<int64_t> {
  std::vector<int64_t> out;
  const auto* list = sampled.decision.as<Value::List>();
  for (const Value& item : list ? *list : Value::List()) { if (const int64_t* n = item.integer()) { out.push_back(*n); } }
  return out;
}

auto divisors_of(int64_t n) -> std::vector<int64_t> {
  std::vector<int64_t> out;
  for (int64_t d = 1; d * d <= n; ++d) {
    if (n % d != 0) { continue; }
    out.push_back(d);
    if (d * d != n) { out.push_back(n / d); }
  }
  std::sort(out.begin(), out.end());
  return out;
}

/// The tiles that can change: two factors, of which one is more than 1.
auto changes(const std::vector<int64_t>& factors) -> bool {
  return factors.size() >= 2 && std::all_of(factors.begin(), factors.end(), [](int64_t f) { return f > 0; }) && std::any_of(factors.begin(), factors.end(), [](int64_t f) { return f > 1; });
}

auto move_divisor(const Trace& trace, size_t instruction, RandomEngine& random) -> std::optional<Trace> {
  const Instruction& sampled = *trace.instructions()[instruction];
  std::vector<int64_t> factors = factors_of(sampled);
  const auto n = std::ssize(factors);
  const int64_t* limit = sampled.values[2].integer();
  for (int i = 0; i < most_tries; ++i) {
    const auto from = static_cast<size_t>(random.integer(0, n));
    if (factors[from] <= 1) { continue; }
    auto to = static_cast<size_t>(n == 2 ? 0 : random.integer(0, n - 1));
    if (to >= from) { ++to; }
    std::vector<int64_t> divisors = divisors_of(factors[from]);
    divisors.erase(divisors.begin());
    if (to + 1 == factors.size() && limit && *limit > 0) {
      std::erase_if(divisors, [&](int64_t d) { return d * factors[to] > *limit; });
      if (divisors.empty() && n <= 2) { return std::nullopt; }
    }
    if (divisors.empty()) { continue; }
    const int64_t divisor = divisors.size() == 1 ? divisors[0] : divisors[static_cast<size_t>(random.integer(0, std::ssize(divisors)))];
    factors[from] /= divisor;
    factors[to] *= divisor;
    return with_decision(trace, instruction, Value(factors));
  }
  return std::nullopt;
}

auto apply(const MutatorContext&, const Trace& trace, RandomEngine& random) -> std::optional<Trace> {
  const auto all = trace.instructions();
  std::vector<size_t> tiles, widths;
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i]->primitive->kind == "SamplePerfectTile" && changes(factors_of(*all[i]))) { tiles.push_back(i); }
    const Value* width = annotated(*all[i], "meta_schedule.cooperative_fetch");
    for (size_t j = 0; width && j < i; ++j) {
      const auto* candidates = all[j]->primitive->kind == "SampleCategorical" ? all[j]->values[0].as<Value::List>() : nullptr;
      if (candidates && candidates->size() > 1 && all[j]->outputs.front() == *width) { widths.push_back(j); }
    }
  }
  const auto total = std::ssize(tiles) + std::ssize(widths);
  if (total == 0) { return std::nullopt; }
  const auto drawn = static_cast<size_t>(total == 1 ? 0 : random.integer(0, total));
  return drawn < tiles.size() ? move_divisor(trace, tiles[drawn], random) : another_candidate(trace, widths[drawn - tiles.size()], random);
}

}  // namespace

auto mutate_tile_size() -> Mutator { return {"MutateTileSize", apply}; }

}  // namespace loopsmith::tune::metaschedule
