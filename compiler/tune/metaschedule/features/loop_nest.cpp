// Loops by kind: see loop_nest.h.
#include "tune/metaschedule/features/loop_nest.h"

#include "ir/vocabulary.h"
#include "support/saturate.h"
#include "tune/metaschedule/calls.h"

namespace loopsmith::tune::metaschedule {
namespace {

auto unroll_steps_of(const For& loop) -> int64_t { return int_attr(loop.annotations, "pragma_auto_unroll_max_step").value_or(-1); }

}  // namespace

auto extent_of(const For& loop) -> std::optional<int64_t> {
  const auto* number = loop.extent.as<IntImm>();
  return number ? std::optional(number->value) : std::nullopt;
}

auto LoopNest::list_of(const For& loop) -> std::vector<const For*>* {
  switch (loop.for_kind) {
    case ForKind::Serial: return nullptr;
    case ForKind::Parallel: return &parallel;
    case ForKind::Vectorized: return &vectorized;
    case ForKind::Unrolled: return &unrolled;
    case ForKind::ThreadBinding: break;
  }
  auto axis = loop.thread ? thread_axis(loop.thread->thread_tag.view()) : std::nullopt;
  if (!axis) { return nullptr; }
  if (axis->family == ThreadFamily::Virtual || axis->dimension < 0) { return &virtual_threads; }
  return axis->family == ThreadFamily::Block ? &blocks[axis->dimension] : &threads[axis->dimension];
}

void LoopNest::push(const For& loop) {
  if (auto extent = extent_of(loop)) { product = saturating_mul(product, *extent); }
  loops.push_back(&loop);
  if (int64_t steps = unroll_steps_of(loop); steps > 0) { unroll_steps.push_back(steps); }
  if (auto* list = list_of(loop)) { list->push_back(&loop); }
}

void LoopNest::pop() {
  const For& loop = *loops.back();
  if (auto* list = list_of(loop)) { list->pop_back(); }
  if (unroll_steps_of(loop) > 0) { unroll_steps.pop_back(); }
  loops.pop_back();
  product = 1;
  for (const For* around : loops) { product = saturating_mul(product, extent_of(*around).value_or(1)); }
}

}  // namespace loopsmith::tune::metaschedule
