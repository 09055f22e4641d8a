// Binding axes to threads: see bind_threads.h.
#include "script/auto_scheduler/bind_threads.h"

#include <algorithm>

#include "ir/ops.h"

namespace loopsmith::script::auto_scheduler {
namespace {

auto number(size_t n) -> int64_t { return static_cast<int64_t>(n); }
void add(State& state, std::string kind, std::vector<std::variant<int64_t, std::string, std::vector<int64_t>>> arguments) {
  (void)state.apply({.kind = std::move(kind), .arguments = std::move(arguments)});
}
void annotate(State& state, size_t stage, size_t axis, Annotation how) { add(state, "AN", {number(stage), number(axis), static_cast<int64_t>(how)}); }

/// Fuses `count` axes from one on; returns the extent of the result.
auto fuse(State& state, size_t stage, size_t from, size_t count) -> int64_t {
  std::vector<int64_t> axes;
  for (size_t i = from; i < from + count; ++i) { axes.push_back(number(i)); }
  if (count > 1) { add(state, "FU", {number(stage), axes}); }
  return state.stages()[stage].axes[from].extent;
}

/// Fuses the outermost spatial axes, up to a stage that is computed at one of them.
auto fuse_outer(State& state, size_t stage) -> int64_t {
  const auto& axes = state.stages()[stage].axes;
  size_t count = 0;
  while (count < axes.size() && !axes[count].is_reduction && axes[count].annotation == Annotation::None) {
    ++count;
    if (!state.attached_at(stage, count - 1).empty()) { break; }
  }
  return count == 0 ? 0 : fuse(state, stage, 0, count);
}

/// The stage at whose axes a stage with tiles is computed.
auto holds_tiles(const State& state, size_t stage) -> bool {
  for (size_t i = 0; i < state.stages().size(); ++i) {
    const StateStage& one = state.stages()[i];
    if (one.place == StateStage::Place::At && one.at_stage == stage && needs_tiles(state, i) && !reduces_across_threads(one)) { return true; }
  }
  return false;
}

/// The tiles of a root stage: blocks, virtual threads, threads.
auto bind_tiles(State& state, size_t stage, const GpuParameters& gpu) -> bool {
  int64_t elements = 1;
  for (const IterVar& axis : state.stages()[stage].op->axis) { elements *= std::max<int64_t>(as_int(axis.dom.extent).value_or(1), 1); }
  const size_t axes = state.stages()[stage].op->axis.size();
  constexpr std::pair<const char*, Annotation> levels[] = {{".0", Annotation::BlockX}, {".1", Annotation::VThread}, {".2", Annotation::ThreadX}};
  for (size_t level = 0; level < std::size(levels); ++level) {
    size_t count = 0;
    const auto& now = state.stages()[stage].axes;
    while (count < axes && level + count < now.size() && now[level + count].name.ends_with(levels[level].first)) { ++count; }
    if (count == 0) { return false; }
    const int64_t extent = fuse(state, stage, level, count);
    if (level == 1 && extent > gpu.virtual_threads) { return false; }
    if (level == 2 && (extent > gpu.block_threads || (extent < gpu.warp && elements > 2 * gpu.warp))) { return false; }
    annotate(state, stage, level, levels[level].second);
  }
  return true;
}

/// All threads of the block copy a part of the elements.
void bind_copy(State& state, size_t stage, int64_t elements) {
  const int64_t extent = fuse(state, stage, 0, state.stages()[stage].axes.size());
  add(state, "SP", {number(stage), INT64_C(0), extent, std::vector<int64_t>{elements}, INT64_C(1)});
  annotate(state, stage, 1, Annotation::Vectorize);
  // As many threads as the stage with the tiles has.
  std::vector<int64_t> splits;
  size_t at = state.stages()[stage].at_stage;
  for (size_t i = state.steps().size(); i-- > 0;) {
    const Step& step = state.steps()[i];
    const bool adds_stage = step.kind == "CHR" || step.kind == "CHW" || step.kind == "RF";
    if (adds_stage && number(at) > number_of(step, 0)) { --at; }
    // Spatial axes have five levels.
    if (step.kind == "SP" && number_of(step, 0) == number(at) && list_of(step, 3).size() == 4) { splits.push_back(number(i)); }
  }
  std::reverse(splits.begin(), splits.end());
  add(state, "FFSP", {number(stage), INT64_C(0), splits, INT64_C(1), INT64_C(1)});
  annotate(state, stage, 1, Annotation::ThreadX);
}

}  // namespace

auto is_shared_copy(const StateStage& stage) -> bool { return stage.place == StateStage::Place::At && stage.is_copy && stage.name.ends_with(".shared"); }

auto is_plain_kernel(const State& state, size_t stage) -> bool {
  const StateStage& s = state.stages()[stage];
  const bool is_bound = std::any_of(s.axes.begin(), s.axes.end(), [](const StateAxis& axis) { return axis.annotation == Annotation::ThreadX; });
  return !s.is_placeholder && s.place == StateStage::Place::Root && !is_bound && !holds_tiles(state, stage);
}

auto bind_threads(State& state, const GpuParameters& gpu, const ThreadChoices& choices) -> bool {
  for (size_t stage = state.stages().size(); stage-- > 0;) {
    const StateStage& s = state.stages()[stage];
    if (s.is_placeholder || s.place == StateStage::Place::Inline) { continue; }
    const bool is_root = s.place == StateStage::Place::Root;
    if (is_root && holds_tiles(state, stage)) {
      if (!bind_tiles(state, stage, gpu)) { return false; }
    } else if (is_plain_kernel(state, stage)) {
      const int64_t extent = fuse_outer(state, stage);
      const int64_t threads = choices.threads(stage);
      if (extent == 0) { return false; }
      if (extent <= threads) {
        annotate(state, stage, 0, Annotation::ThreadX);
        continue;
      }
      add(state, "SP", {number(stage), INT64_C(0), extent, std::vector<int64_t>{threads}, INT64_C(1)});
      annotate(state, stage, 0, Annotation::BlockX);
      annotate(state, stage, 1, Annotation::ThreadX);
    } else if (is_root) {
      // A reduction across threads, or the stage at whose axes one is computed.
      if (fuse_outer(state, stage) > 0) { annotate(state, stage, 0, Annotation::BlockX); }
    } else if (is_shared_copy(s)) {
      bind_copy(state, stage, choices.elements(stage));
    }
  }
  return true;
}

}  // namespace loopsmith::script::auto_scheduler
