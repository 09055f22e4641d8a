// MutateComputeLocation: another legal place of a block whose location is sampled. The trace is replayed, since the legal places depend on the steps before.
#include "tune/metaschedule/calls.h"
#include "tune/metaschedule/mutators/mutators.h"

namespace loopsmith::tune::metaschedule {
namespace {

using schedule::Instruction;
using schedule::RandomEngine;
using schedule::Trace;
using schedule::Value;

/// A sampled location, and the places that it may have instead.
struct Choice { size_t instruction = 0; std::vector<int64_t> others; };

/// A decision for a place that is not legal becomes the last legal one before it. So a place is legal if its decision stays.
auto legal_places(const Schedule& before, const Value& block, int64_t now) -> std::vector<int64_t> {
  const schedule::Primitive* sample = schedule::find_primitive("sample_compute_location");
  std::vector<int64_t> out;
  // The places: inlined, at the root, and the loops around the first consumer, of which there are fewer than loops in a nest.
  for (int64_t place = -2; place < static_cast<int64_t>(schedule::deepest_nest); ++place) {
    Schedule tried = before;
    if (!tried.apply_values(*sample, {block}, Value(place)).ok()) { return {}; }
    const int64_t* stays = tried.trace().last().decision.integer();
    const bool is_legal = stays && *stays == place;
    if (is_legal && place != now) { out.push_back(place); }
    // Behind the last loop of the consumer every decision becomes an earlier place.
    if (place > 16 && !is_legal) { break; }
  }
  return out;
}

auto apply(const MutatorContext& context, const Trace& trace, RandomEngine& random) -> std::optional<Trace> {
  Schedule sch(context.module, random.fork_seed());
  sch.use_intrinsics(context.intrinsics);
  if (!sch.work_on(context.function).ok()) { return std::nullopt; }
  std::vector<Choice> choices;
  size_t index = 0;
  const Status done = sch.replay(trace, true, [&](const Instruction& instruction, const IRModule&) {
    if (instruction.primitive->kind == "SampleComputeLocation") {
      const int64_t* now = instruction.decision.integer();
      std::vector<int64_t> others = legal_places(sch, instruction.values[0], now ? *now : -1);
      if (!others.empty()) { choices.push_back({index, std::move(others)}); }
    }
    ++index;
  });
  if (!done.ok() || choices.empty()) { return std::nullopt; }
  const Choice& choice = choices[choices.size() == 1 ? 0 : static_cast<size_t>(random.integer(0, std::ssize(choices)))];
  const int64_t place = choice.others[choice.others.size() == 1 ? 0 : static_cast<size_t>(random.integer(0, std::ssize(choice.others)))];
  return with_decision(trace, choice.instruction, Value(place));
}

}  // namespace

auto mutate_compute_location() -> Mutator { return {"MutateComputeLocation", apply}; }

}  // namespace loopsmith::tune::metaschedule
