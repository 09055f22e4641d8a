// The default lists of mutators, the draw of one, and changes of decisions: see mutators.h.
#include "tune/metaschedule/mutators/mutators.h"

#include <algorithm>

#include "ir/vocabulary.h"

namespace loopsmith::tune::metaschedule {

using schedule::Instruction;
using schedule::RandomEngine;
using schedule::Trace;
using schedule::Value;

namespace {

constexpr int64_t default_jobs_per_core = 16;

}  // namespace

auto default_mutators(const target::Target& target) -> Mutators {
  const TargetKind* kind = find_target_kind(target.kind);
  if (kind && kind->is_gpu) { return {{mutate_tile_size(), 0.9}, {mutate_unroll(), 0.08}, {mutate_thread_binding(), 0.02}}; }
  Mutators out{{mutate_tile_size(), 0.9}, {mutate_compute_location(), 0.05}, {mutate_unroll(), 0.03}};
  // Microcontrollers have one core.
  if (target.kind != target_kind::c) { out.push_back({mutate_parallel(default_jobs_per_core), 0.02}); }
  return out;
}

auto find_mutator(std::string_view name) -> std::optional<Mutator> {
  for (Mutator& one : std::vector<Mutator>{mutate_tile_size(), mutate_compute_location(), mutate_unroll(), mutate_parallel(default_jobs_per_core), mutate_thread_binding()}) {
    if (one.name == name) { return std::move(one); }
  }
  return std::nullopt;
}

auto mutate(const Mutators& mutators, const MutatorContext& context, const Trace& trace, RandomEngine& random) -> std::optional<Trace> {
  std::vector<double> weights;
  for (const WeightedMutator& one : mutators) { weights.push_back(one.probability); }
  if (std::none_of(weights.begin(), weights.end(), [](double w) { return w > 0; })) { return std::nullopt; }
  return mutators[static_cast<size_t>(random.weighted(weights))].mutator.apply(context, trace, random);
}

auto with_decision(const Trace& trace, size_t instruction, Value decision) -> Trace {
  Trace out;
  size_t index = 0;
  for (const Instruction* one : trace.instructions()) {
    if (one->primitive->name == "enter_postproc") { break; }
    Instruction copy = *one;
    if (index++ == instruction) { copy.decision = std::move(decision); }
    out.append(std::move(copy));
  }
  return out;
}

auto another_candidate(const Trace& trace, size_t instruction, RandomEngine& random) -> std::optional<Trace> {
  const Instruction& sampled = *trace.instructions()[instruction];
  const int64_t* now = sampled.decision.integer();
  const auto* probabilities = sampled.values[1].as<Value::List>();
  if (!now || !probabilities || probabilities->size() < 2 || *now < 0 || *now >= std::ssize(*probabilities)) { return std::nullopt; }
  std::vector<double> others;
  for (int64_t i = 0; i < std::ssize(*probabilities); ++i) {
    const Value& p = (*probabilities)[static_cast<size_t>(i)];
    const double* real = p.as<double>();
    const int64_t* integer = p.integer();
    if (i != *now) { others.push_back(real ? *real : integer ? static_cast<double>(*integer) : 0); }
  }
  if (std::none_of(others.begin(), others.end(), [](double p) { return p > 0; })) { return std::nullopt; }
  int64_t drawn = random.weighted(others);
  if (drawn >= *now) { ++drawn; }
  return with_decision(trace, instruction, Value(drawn));
}

auto annotated(const Instruction& instruction, std::string_view key) -> const Value* {
  if (instruction.primitive->kind != "Annotate") { return nullptr; }
  const std::string* written = instruction.values[1].as<std::string>();
  return written && *written == key ? &instruction.values[2] : nullptr;
}

}  // namespace loopsmith::tune::metaschedule
