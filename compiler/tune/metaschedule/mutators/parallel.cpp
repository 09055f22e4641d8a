// MutateParallel: another limit in the annotation `meta_schedule.parallel` of a root block. The outermost spatial loops of each block are fused until the product
// of their extents exceeds the limit. The mutator lists the limits that fuse different numbers of loops, and draws one that differs from the present one.
#include <algorithm>
#include <map>

#include "ir/ops.h"
#include "tune/metaschedule/calls.h"
#include "tune/metaschedule/loop_roles.h"
#include "tune/metaschedule/mutators/mutators.h"

namespace loopsmith::tune::metaschedule {
namespace {

using schedule::Instruction;
using schedule::Place;
using schedule::RandomEngine;
using schedule::Trace;
using schedule::Value;

/// The products of the extents of the first, the first two, ... outermost spatial loops of a block, up to the first one that reaches the limit.
auto products_of(const schedule::FuncState& func, const Place& block, int64_t limit) -> std::vector<int64_t> {
  std::vector<int64_t> out;
  int64_t product = 1;
  for (const Place* loop : func.loops(block)) {
    const std::optional<int64_t> extent = as_int(loop->loop->extent);
    if (!extent || role_of(*loop->loop) != LoopRole::Spatial) { break; }
    out.push_back(product *= *extent);
    if (product >= limit) { break; }
  }
  return out;
}

/// The number of loops that a limit fuses in each block.
auto fused_loops(const std::vector<std::vector<int64_t>>& products, int64_t limit) -> std::vector<size_t> {
  std::vector<size_t> out;
  for (const std::vector<int64_t>& one : products) {
    auto fused = static_cast<size_t>(std::upper_bound(one.begin(), one.end(), limit) - one.begin());
    if (fused > 0 && one[fused - 1] == limit) { --fused; }
    out.push_back(std::min(fused + 1, one.size()));
  }
  return out;
}

/// The products of all blocks right below a block.
auto products_below(const Schedule& sch, const Place& root, const schedule::FuncState& func, int64_t limit) -> std::vector<std::vector<int64_t>> {
  std::vector<std::vector<int64_t>> out;
  for (const Place& place : func.places()) {
    if (!place.is_block() || place.scope != root.index) { continue; }
    std::vector<int64_t> products = products_of(func, place, limit);
    if (!products.empty()) { out.push_back(std::move(products)); }
  }
  return out;
}

auto mutated(const MutatorContext& context, const Trace& trace, RandomEngine& random, int64_t max_jobs_per_core) -> std::optional<Trace> {
  const int64_t most = context.cores * max_jobs_per_core;
  Schedule sch(context.module, random.fork_seed());
  sch.use_intrinsics(context.intrinsics);
  if (!sch.work_on(context.function).ok()) { return std::nullopt; }
  // The annotations, with the blocks of the replayed schedule.
  struct Annotation { size_t instruction; BlockRV block; int64_t limit; };
  std::vector<Annotation> annotations;
  size_t index = 0;
  const Status done = sch.replay(trace, true, [&](const Instruction& instruction, const IRModule&) {
    const Value* limit = annotated(instruction, "meta_schedule.parallel");
    const auto* block = instruction.primitive->kind == "Annotate" ? instruction.values[0].as<BlockRV>() : nullptr;
    if (limit && block && limit->integer()) { annotations.push_back({index, *block, *limit->integer()}); }
    ++index;
  });
  if (!done.ok() || annotations.empty()) { return std::nullopt; }
  const Annotation& annotation = annotations[annotations.size() == 1 ? 0 : static_cast<size_t>(random.integer(0, std::ssize(annotations)))];
  auto place = sch.get(annotation.block);
  if (!place.ok()) { return std::nullopt; }
  const schedule::State::Found root = sch.state().find((*place)->id);
  if (!root) { return std::nullopt; }
  const std::vector<std::vector<int64_t>> products = products_below(sch, *root.place, *root.func, most);
  std::map<std::vector<size_t>, int64_t> limits;
  for (const std::vector<int64_t>& one : products) {
    for (int64_t limit : one) { if (limit <= most) { limits[fused_loops(products, limit)] = limit; } }
  }
  limits.erase(fused_loops(products, annotation.limit));
  if (limits.empty()) { return std::nullopt; }
  const int64_t limit = std::next(limits.begin(), limits.size() == 1 ? 0 : random.integer(0, std::ssize(limits)))->second;
  Trace out;
  index = 0;
  for (const Instruction* one : trace.instructions()) {
    if (one->primitive->name == "enter_postproc") { break; }
    Instruction copy = *one;
    if (index++ == annotation.instruction) { copy.values[2] = Value(limit); }
    out.append(std::move(copy));
  }
  return out;
}

}  // namespace

auto mutate_parallel(int64_t max_jobs_per_core) -> Mutator {
  return {"MutateParallel", [max_jobs_per_core](const MutatorContext& context, const Trace& trace, RandomEngine& random) { return mutated(context, trace, random, max_jobs_per_core); }};
}

}  // namespace loopsmith::tune::metaschedule
