// MutateUnroll: another candidate of the `sample_categorical` whose value is annotated as the most steps to unroll.
#include "tune/metaschedule/mutators/mutators.h"

namespace loopsmith::tune::metaschedule {
namespace {

using schedule::RandomEngine;
using schedule::Trace;
using schedule::Value;

auto apply(const MutatorContext&, const Trace& trace, RandomEngine& random) -> std::optional<Trace> {
  const auto all = trace.instructions();
  std::vector<size_t> samples;
  for (size_t i = 0; i < all.size(); ++i) {
    const Value* steps = annotated(*all[i], "meta_schedule.unroll_explicit");
    if (!steps) { steps = annotated(*all[i], "meta_schedule.unroll_implicit"); }
    for (size_t j = 0; steps && j < i; ++j) {
      if (all[j]->primitive->kind == "SampleCategorical" && all[j]->outputs.front() == *steps) { samples.push_back(j); }
    }
  }
  if (samples.empty()) { return std::nullopt; }
  return another_candidate(trace, samples[samples.size() == 1 ? 0 : static_cast<size_t>(random.integer(0, std::ssize(samples)))], random);
}

}  // namespace

auto mutate_unroll() -> Mutator { return {"MutateUnroll", apply}; }

}  // namespace loopsmith::tune::metaschedule
