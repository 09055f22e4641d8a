// Primitives that sample numbers: sample_categorical, sample_perfect_tile, sample_partitioned_tile. They change nothing;
// their decisions are kept in the trace and used again on replay. For a seed the draws equal TVM's.
#include <algorithm>

#include <fmt/format.h>

#include "ir/ops.h"
#include "schedule/candidates.h"
#include "schedule/examples.h"
#include "schedule/primitives.h"
#include "support/codes.h"

namespace loopsmith::schedule {
namespace {

// The prime factors of n with their powers, by size; a remainder without factors below 65536 comes last.
auto factorize(int64_t n) -> std::vector<std::pair<int64_t, int>> {
  std::vector<std::pair<int64_t, int>> out;
  for (int64_t p = 2; p < 65536 && p * p <= n; p += p == 2 ? 1 : 2) {
    int power = 0;
    for (; n % p == 0; n /= p) { ++power; }
    if (power) { out.emplace_back(p, power); }
  }
  if (n > 1) { out.emplace_back(n, 1); }
  return out;
}

auto draw(RandomEngine& random, int64_t low, int64_t high) -> int64_t { return low + 1 == high ? low : random.integer(low, high); }

auto power_of(int64_t base, int64_t exponent) -> int64_t {
  int64_t out = 1;
  for (; exponent > 0; --exponent) { out *= base; }
  return out;
}

// Draws k of n without repetition.
auto draw_distinct(RandomEngine& random, int64_t n, int64_t k) -> std::vector<int64_t> {
  if (k == 1) { return {draw(random, 0, n)}; }
  if (k == 2) {
    int64_t first = draw(random, 0, n);
    int64_t second = draw(random, 0, n - 1);
    return {first, second >= first ? second + 1 : second};
  }
  std::vector<int64_t> order(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) { order[static_cast<size_t>(i)] = i; }
  for (int64_t i = 0; i < k; ++i) { std::swap(order[static_cast<size_t>(i)], order[static_cast<size_t>(draw(random, i, n))]); }
  order.resize(static_cast<size_t>(k));
  return order;
}

// Draws a factorization into n ordered factors; all are equally likely.
auto sample_tile(RandomEngine& random, int64_t extent, int64_t n) -> std::vector<int64_t> {
  if (n == 1) { return {extent}; }
  std::vector<int64_t> out(static_cast<size_t>(n), 1);
  if (extent == 1) { return out; }
  for (const auto& [prime, power] : factorize(extent)) {
    if (n == 2) {
      // A prime beyond the table goes to one of two sides, chosen at random.
      int64_t first = prime >= 65536 ? 1 - draw(random, 0, 2) : draw(random, 0, power + 1);
      out[0] *= power_of(prime, first);
      out[1] *= power_of(prime, power - first);
      continue;
    }
    if (power == 1) {
      out[static_cast<size_t>(draw(random, 0, n))] *= prime;
      continue;
    }
    // Stars and bars: n - 1 bars among power + n - 1 positions.
    std::vector<int64_t> bars = draw_distinct(random, power + n - 1, n - 1);
    std::sort(bars.begin(), bars.end());
    bars.push_back(power + n - 1);
    int64_t last = -1;
    for (size_t i = 0; i < bars.size(); ++i) {
      out[i] *= power_of(prime, bars[i] - last - 1);
      last = bars[i];
    }
  }
  return out;
}

}  // namespace

auto draw_perfect_tile(RandomEngine& random, int64_t extent, int64_t n, int64_t max_innermost) -> std::vector<int64_t> {
  while (true) {
    std::vector<int64_t> out = sample_tile(random, extent, n);
    if (max_innermost == -1 || out.back() <= max_innermost) { return out; }
  }
}

namespace primitives {
namespace {

auto integers(const std::vector<int64_t>& values) -> Outcome {
  Outcome out;
  for (int64_t value : values) { out.outputs.push_back(Output::integer(value)); }
  out.decision = Value(values);
  return out;
}

constexpr int64_t most_tiles = 64;

// Reads a decision and makes it fit an extent that may have changed: the first factor takes the rest; a factor that
// no longer divides the extent takes all of it.
auto fitted(const Context& cx, const std::vector<int64_t>& decision, int64_t n, int64_t extent) -> Result<std::vector<int64_t>> {
  if (static_cast<int64_t>(decision.size()) != n) {
    return cx.error(Code::WrongDecision).arg("expected", fmt::format("{} factors", n)).arg("found", static_cast<int64_t>(decision.size()));
  }
  std::vector<int64_t> out = decision;
  int64_t left = extent;
  for (size_t i = out.size() - 1; i > 0; --i) {
    if (out[i] <= 0 || left % out[i] != 0) { out[i] = left; }
    left /= out[i];
  }
  out[0] = left;
  return out;
}

auto out_of_range(const Context& cx, std::string_view parameter, int64_t value, std::string range) -> Diagnostic {
  return cx.error(Code::ParameterRange).arg("parameter", parameter).arg("value", value).arg("range", std::move(range));
}

auto decided(const Context& cx) -> Result<std::vector<int64_t>> {
  static const Param param{.name = "decision", .kind = ValueKind::Int, .role = Role::Decision, .is_list = true, .otherwise = {}};
  std::vector<int64_t> out;
  LOOPSMITH_CHECK(convert(cx, param, cx.decision, out));
  return out;
}

/// Draws one of several integers, with the given probabilities. The decision is its index.
struct SampleCategorical {
  struct Args { std::vector<int64_t> candidates; std::vector<double> probs; };
  struct Plan { int64_t index; };

  static auto check(const Context& cx, const Args& args) -> Result<Plan> {
    int64_t count = static_cast<int64_t>(args.candidates.size());
    if (args.candidates.empty() || args.candidates.size() != args.probs.size()) {
      return cx.error(Code::CandidateCount).arg("candidates", count).arg("probs", static_cast<int64_t>(args.probs.size()));
    }
    if (cx.decision.is_none()) { return Plan{cx.random.weighted(args.probs)}; }
    const int64_t* index = cx.decision.integer();
    if (!index || *index < 0 || *index >= count) {
      return cx.error(Code::WrongDecision).arg("expected", fmt::format("an index below {}", count)).arg("found", index ? std::to_string(*index) : kind_in_words(cx.decision));
    }
    return Plan{*index};
  }
  static auto apply(const Context&, const Args& args, const Plan& plan) -> Outcome {
    Outcome out;
    out.outputs.push_back(Output::integer(args.candidates[static_cast<size_t>(plan.index)]));
    out.decision = Value(plan.index);
    return out;
  }
};

/// Draws factors whose product is the extent of a loop. The innermost is at most `max_innermost_factor`. A loop of unknown
/// extent gives -1, 1, ..., 1.
struct SamplePerfectTile {
  struct Args { LoopArg loop; int64_t n = 0; int64_t max_innermost_factor = 16; };
  struct Plan { std::vector<int64_t> factors; };

  static auto check(const Context& cx, const Args& args) -> Result<Plan> {
    const int64_t least = args.max_innermost_factor != -1 ? 2 : 1;
    if (args.n < least || args.n > most_tiles) { return out_of_range(cx, "n", args.n, fmt::format("from {} to {}", least, most_tiles)).at_node(args.loop->id); }
    auto extent = as_int(args.loop.loop().extent);
    if (!extent) {
      std::vector<int64_t> factors(static_cast<size_t>(args.n), 1);
      factors[0] = -1;
      return Plan{std::move(factors)};
    }
    if (*extent < 1) { return cx.error(Code::TileExtent).arg("loop", args.loop->name().view()).arg("extent", *extent).at_node(args.loop->id); }
    if (!cx.decision.is_none()) {
      LOOPSMITH_TRY(decision, decided(cx));
      LOOPSMITH_TRY(factors, fitted(cx, decision, args.n, *extent));
      return Plan{std::move(factors)};
    }
    if (args.max_innermost_factor != -1 && args.max_innermost_factor < 1) {
      return out_of_range(cx, "max_innermost_factor", args.max_innermost_factor, "at least 1, or -1 for any").at_node(args.loop->id);
    }
    return Plan{draw_perfect_tile(cx.random, *extent, args.n, args.max_innermost_factor)};
  }
  static auto apply(const Context&, const Args&, const Plan& plan) -> Outcome { return integers(plan.factors); }
};

/// Draws factors whose product is the extent of a loop. The product of those from `partition_pos` on is a multiple of `innerpart_factor`.
struct SamplePartitionedTile {
  struct Args { LoopArg loop; int64_t n = 0; int64_t partition_pos = 0; int64_t innerpart_factor = 1; };
  struct Plan { std::vector<int64_t> factors; };

  static auto check(const Context& cx, const Args& args) -> Result<Plan> {
    bool is_plain = args.partition_pos == 0 && args.innerpart_factor == 1;
    const int64_t least = is_plain ? 1 : 2;
    if (args.n < least || args.n > most_tiles) { return out_of_range(cx, "n", args.n, fmt::format("from {} to {}", least, most_tiles)).at_node(args.loop->id); }
    if (args.partition_pos < 0 || args.partition_pos >= args.n) {
      return out_of_range(cx, "partition_pos", args.partition_pos, fmt::format("from 0 to {}", args.n - 1)).at_node(args.loop->id);
    }
    if (args.innerpart_factor < 1) { return out_of_range(cx, "innerpart_factor", args.innerpart_factor, "at least 1").at_node(args.loop->id); }
    auto extent = as_int(args.loop.loop().extent);
    if (!extent || *extent % args.innerpart_factor != 0) {
      std::vector<int64_t> factors(static_cast<size_t>(args.n), 1);
      factors[0] = -1;
      return Plan{std::move(factors)};
    }
    if (*extent < 1) { return cx.error(Code::TileExtent).arg("loop", args.loop->name().view()).arg("extent", *extent).at_node(args.loop->id); }
    auto inner_product = [&](const std::vector<int64_t>& factors) {
      int64_t product = 1;
      for (size_t i = static_cast<size_t>(args.partition_pos); i < factors.size(); ++i) { product *= factors[i]; }
      return product;
    };
    if (!cx.decision.is_none()) {
      LOOPSMITH_TRY(decision, decided(cx));
      if (inner_product(decision) % args.innerpart_factor != 0) {
        std::vector<int64_t> factors(static_cast<size_t>(args.n), 1);
        factors[0] = *extent / args.innerpart_factor;
        factors[static_cast<size_t>(args.partition_pos)] = args.innerpart_factor;
        return Plan{std::move(factors)};
      }
      LOOPSMITH_TRY(factors, fitted(cx, decision, args.n, *extent));
      return Plan{std::move(factors)};
    }
    while (true) {
      std::vector<int64_t> factors = draw_perfect_tile(cx.random, *extent, args.n, -1);
      if (is_plain || inner_product(factors) % args.innerpart_factor == 0) { return Plan{std::move(factors)}; }
    }
  }
  static auto apply(const Context&, const Args&, const Plan& plan) -> Outcome { return integers(plan.factors); }
};

}  // namespace

const Primitive sample_categorical = primitive<SampleCategorical>("sample_categorical", "SampleCategorical", "one of some integers, with the given probabilities",
    no_effects)
    .attr("candidates", &SampleCategorical::Args::candidates)
    .attr("probs", &SampleCategorical::Args::probs)
    .expr("value").sampling()
    .example(examples::matmul, "unroll = sch.sample_categorical([0, 16, 64], [0.25, 0.5, 0.25], decision=1)");
const Primitive sample_perfect_tile = primitive<SamplePerfectTile>("sample_perfect_tile", "SamplePerfectTile", "factors whose product is the extent of a loop",
    no_effects)
    .input("loop", &SamplePerfectTile::Args::loop)
    .attr("n", &SamplePerfectTile::Args::n)
    .attr("max_innermost_factor", &SamplePerfectTile::Args::max_innermost_factor, 16)
    .exprs("factors").sampling()
    .example(examples::matmul, "i, j, k = sch.get_loops(\"C\")\nfactors = sch.sample_perfect_tile(i, n=2, decision=[4, 8])\nsch.split(i, factors)");
const Primitive sample_partitioned_tile = primitive<SamplePartitionedTile>("sample_partitioned_tile", "SamplePartitionedTile", "factors of a loop's extent, the inner ones a multiple of a number",
    no_effects)
    .input("loop", &SamplePartitionedTile::Args::loop)
    .attr("n", &SamplePartitionedTile::Args::n)
    .attr("partition_pos", &SamplePartitionedTile::Args::partition_pos, 0)
    .attr("innerpart_factor", &SamplePartitionedTile::Args::innerpart_factor, 1)
    .exprs("factors").sampling()
    .example(examples::matmul, "i, j, k = sch.get_loops(\"C\")\nfactors = sch.sample_partitioned_tile(i, n=2, partition_pos=1, innerpart_factor=4, decision=[2, 16])\nsch.split(i, factors)");

}  // namespace primitives
}  // namespace loopsmith::schedule
