// MutateThreadBinding: another candidate of a `sample_categorical` by which a loop is split in two parts, the inner one bound to `threadIdx.x`.
#include <algorithm>

#include "tune/metaschedule/mutators/mutators.h"

namespace loopsmith::tune::metaschedule {
namespace {

using schedule::Instruction;
using schedule::RandomEngine;
using schedule::Trace;
using schedule::Value;

/// The number that a loop is split by: `split(loop, factors=[None, number])`; null: the instruction is another one.
auto inner_factor(const Instruction& split) -> const Value* {
  if (split.primitive->kind != "Split") { return nullptr; }
  const auto* factors = split.values[1].as<Value::List>();
  return factors && factors->size() == 2 && (*factors)[0].is_none() ? &(*factors)[1] : nullptr;
}

auto apply(const MutatorContext&, const Trace& trace, RandomEngine& random) -> std::optional<Trace> {
  const auto all = trace.instructions();
  std::vector<size_t> samples;
  for (const Instruction* bind : all) {
    const std::string* thread = bind->primitive->kind == "Bind" ? bind->values[1].as<std::string>() : nullptr;
    if (!thread || *thread != "threadIdx.x") { continue; }
    const auto split = std::find_if(all.begin(), all.end(), [&](const Instruction* one) { return inner_factor(*one) && one->outputs.size() == 2 && one->outputs[1] == bind->values[0]; });
    if (split == all.end()) { continue; }
    const Value& factor = *inner_factor(**split);
    for (size_t j = 0; j < all.size(); ++j) {
      if (all[j]->primitive->kind == "SampleCategorical" && all[j]->outputs.front() == factor) { samples.push_back(j); }
    }
  }
  if (samples.empty()) { return std::nullopt; }
  return another_candidate(trace, samples[samples.size() == 1 ? 0 : static_cast<size_t>(random.integer(0, std::ssize(samples)))], random);
}

}  // namespace

auto mutate_thread_binding() -> Mutator { return {"MutateThreadBinding", apply}; }

}  // namespace loopsmith::tune::metaschedule
