// Candidates of sketches: see annotate.h.
#include "script/auto_scheduler/annotate.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "script/auto_scheduler/bind_threads.h"

namespace loopsmith::script::auto_scheduler {
namespace {

// Limits of TVM's policy.
constexpr int64_t most_innermost = 64;   // iterations of the innermost level of a tile
constexpr int64_t most_in_vector = 16;   // iterations of a loop in vectors
constexpr int64_t unroll_limits[] = {0, 16, 64, 512};
// A point of a search has 16 bits for a decision; of longer lists every n-th choice is kept.
constexpr size_t most_choices = 4096;
// A stage has fewer places than this.
constexpr int64_t most_places = 14;

auto number(size_t n) -> int64_t { return static_cast<int64_t>(n); }
void add(State& state, std::string kind, std::vector<std::variant<int64_t, std::string, std::vector<int64_t>>> arguments) {
  (void)state.apply({.kind = std::move(kind), .arguments = std::move(arguments)});
}
auto unroll_step(size_t stage, int64_t limit) -> Step { return {.kind = "PR", .arguments = {number(stage), INT64_C(0), fmt::format("auto_unroll_max_step${}", limit)}}; }
void annotate(State& state, size_t stage, size_t axis, Annotation how) { add(state, "AN", {number(stage), number(axis), static_cast<int64_t>(how)}); }

auto divisors_of(int64_t n) -> std::vector<int64_t> {
  std::vector<int64_t> out;
  for (int64_t d = 1; d * d <= n; ++d) {
    if (n % d != 0) { continue; }
    out.push_back(d);
    if (d != n / d) { out.push_back(n / d); }
  }
  std::sort(out.begin(), out.end());
  return out;
}

// Adds the lengths of the inner levels of a split, whose product divides the extent.
void add_lengths(int64_t left, size_t levels, std::vector<int64_t>& chosen, std::vector<std::vector<int64_t>>& out) {
  if (chosen.size() == levels) {
    if (chosen.back() <= most_innermost) { out.push_back(chosen); }
    return;
  }
  for (int64_t length : divisors_of(left)) {
    if (out.size() >= 100'000) { return; }
    chosen.push_back(length);
    add_lengths(left / length, levels, chosen, out);
    chosen.pop_back();
  }
}
auto tiles_of(int64_t extent, size_t levels) -> std::vector<std::vector<int64_t>> {
  std::vector<std::vector<int64_t>> all, out;
  std::vector<int64_t> chosen;
  add_lengths(std::max<int64_t>(extent, 1), levels, chosen, all);
  const size_t step = (all.size() + most_choices - 1) / most_choices;
  for (size_t i = 0; i < all.size(); i += step) { out.push_back(std::move(all[i])); }
  return out;
}

auto is_open(const Step& step) -> bool {
  const auto& lengths = list_of(step, 3);
  return step.kind == "SP" && std::find(lengths.begin(), lengths.end(), 0) != lengths.end();
}

auto is_computed(const StateStage& stage) -> bool { return !stage.is_placeholder && stage.place != StateStage::Place::Inline; }
auto is_movable(const State& state, size_t stage) -> bool {
  const StateStage& s = state.stages()[stage];
  return is_computed(s) && !s.is_output && !s.is_tiled() && !needs_tiles(state, stage) && state.consumers_of(stage).size() == 1;
}

// ---- places ----------------------------------------------------------------------------------------------------------

// The axes at which a stage may be computed: those of its only consumer, and of the stage at which that is computed.
auto places_of(const State& state, size_t stage) -> std::vector<std::pair<size_t, size_t>> {
  std::vector<std::pair<size_t, size_t>> out;
  const std::vector<size_t> consumers = state.consumers_of(stage);
  if (consumers.size() != 1) { return out; }
  const size_t target = consumers[0];
  const StateStage& of = state.stages()[target];
  const bool is_moved = of.place == StateStage::Place::At;
  bool was_reduction = false;
  for (size_t i = 0; i < of.axes.size(); ++i) {
    const StateAxis& axis = of.axes[i];
    was_reduction = was_reduction || axis.is_reduction;
    // Inside a reduction the stage would be computed again and again.
    if ((axis.is_reduction && !of.is_tiled()) || (!axis.is_reduction && was_reduction) || axis.annotation == Annotation::Unroll) { break; }
    const bool is_outermost_level = axis.name.ends_with(".0");
    if (axis.extent == 1 || (is_moved && !axis.is_reduction && is_outermost_level)) { continue; }
    out.emplace_back(target, i);
    if (!state.attached_at(target, i).empty()) { break; }
  }
  if (!is_moved) { return out; }
  const StateStage& outer = state.stages()[of.at_stage];
  for (size_t i = 0; i < outer.axes.size(); ++i) {
    if (outer.axes[i].extent != 1 && !outer.axes[i].is_reduction) { out.emplace_back(of.at_stage, i); }
    if (outer.axes[i].id == of.at_axis || !state.attached_at(of.at_stage, i).empty()) { break; }
  }
  return out;
}

void place(State& state, size_t stage, int64_t choice) {
  const auto places = places_of(state, stage);
  const auto picked = static_cast<size_t>(choice) % (places.size() + 2);
  const StateStage& s = state.stages()[stage];
  if (picked == 0) {
    if (!s.has_reduction() && !state.has_attached(stage)) { add(state, "CI", {number(stage)}); }
  } else if (picked > 1) {
    add(state, "CA", {number(stage), number(places[picked - 2].first), number(places[picked - 2].second)});
  }
}

// ---- annotations -----------------------------------------------------------------------------------------------------

// Fuses the outermost spatial axes until they occupy the cores, and runs them in parallel. Where these have one iteration, the stages inside get their own threads.
void make_parallel(State& state, size_t stage, size_t from, const SketchOptions& options) {
  std::vector<int64_t> fused;
  int64_t degree = 1;
  size_t at = from;
  for (; at < state.stages()[stage].axes.size(); ++at) {
    const StateAxis& axis = state.stages()[stage].axes[at];
    if (axis.is_reduction || axis.annotation != Annotation::None) { break; }
    fused.push_back(number(at));
    degree *= std::max<int64_t>(axis.extent, 1);
    if (degree > options.cores * 16 || !state.attached_at(stage, at).empty()) { break; }
  }
  if (degree == 1 && at < state.stages()[stage].axes.size()) {
    const std::vector<size_t> inside = state.attached_at(stage, at);
    for (size_t attached : inside) { make_parallel(state, attached, 0, options); }
    if (!inside.empty()) { make_parallel(state, stage, at + 1, options); }
  }
  if (fused.empty()) { return; }
  if (fused.size() > 1) { add(state, "FU", {number(stage), fused}); }
  annotate(state, stage, from, Annotation::Parallel);
}

// Fuses the innermost spatial axes, and runs them in vectors. The two innermost axes of a tile are not consecutive in memory.
void make_vectors(State& state, size_t stage, int64_t choice) {
  const auto& axes = state.stages()[stage].axes;
  int64_t length = 1;
  size_t fusible = 0;
  for (; fusible < axes.size(); ++fusible) {
    const size_t at = axes.size() - 1 - fusible;
    const StateAxis& axis = axes[at];
    const bool is_end = !state.attached_at(stage, at).empty() || axis.is_reduction || axis.annotation != Annotation::None || axis.extent < 1;
    if (is_end || (state.stages()[stage].is_tiled() && fusible > 0)) { break; }
    length *= axis.extent;
    if (length > most_in_vector) { break; }
  }
  if (fusible > 1) { fusible = 1 + static_cast<size_t>(choice) % (fusible - 1); }
  if (fusible == 0) { return; }
  const size_t first = axes.size() - fusible;
  std::vector<int64_t> fused;
  for (size_t i = first; i < axes.size(); ++i) { fused.push_back(number(i)); }
  if (fusible > 1) { add(state, "FU", {number(stage), fused}); }
  annotate(state, stage, first, Annotation::Vectorize);
}

// ---- threads of GPUs -------------------------------------------------------------------------------------------------

constexpr int64_t gpu_unroll_limits[] = {0, 16, 64, 512, 1024};

// Whole warps, up to a block.
auto threads_of(const GpuParameters& gpu, int64_t least_warps) -> std::vector<std::vector<int64_t>> {
  std::vector<std::vector<int64_t>> out;
  for (int64_t threads = gpu.warp * least_warps; threads <= gpu.block_threads; threads *= 2) { out.push_back({threads}); }
  return out;
}

// True where the tiles of each stage make blocks of a size that the GPU has: a quick test, since the extents of copies need a translation.
auto tiles_fit(const std::vector<Step>& steps, const GpuParameters& gpu) -> bool {
  struct Tiled { int64_t elements = 1, virtual_threads = 1, threads = 1; };
  std::map<int64_t, Tiled> tiled;   // by the number of the stage, until a step adds a stage
  auto fit = [&] {
    return std::all_of(tiled.begin(), tiled.end(), [&](const auto& one) {
      const Tiled& t = one.second;
      return t.virtual_threads <= gpu.virtual_threads && t.threads <= gpu.block_threads && (t.threads >= gpu.warp || t.elements <= 2 * gpu.warp);
    });
  };
  for (const Step& step : steps) {
    if (step.kind == "CHR" || step.kind == "CHW" || step.kind == "RF") {
      if (!fit()) { return false; }
      tiled.clear();
    }
    const auto& lengths = list_of(step, 3);
    if (step.kind != "SP" || lengths.size() != 4) { continue; }
    Tiled& t = tiled[number_of(step, 0)];
    t.elements *= std::max<int64_t>(number_of(step, 2), 1);
    t.virtual_threads *= lengths[0];
    t.threads *= lengths[1];
  }
  return fit();
}

void add_gpu_decisions(const State& sketch, const GpuParameters& gpu, std::vector<Decision>& out) {
  for (size_t i = 0; i < sketch.stages().size(); ++i) {
    const StateStage& s = sketch.stages()[i];
    if (!is_computed(s)) { continue; }
    if (is_plain_kernel(sketch, i)) { out.push_back({Decision::Kind::Threads, i, fmt::format("threads of {}", s.name), threads_of(gpu, 1)}); }
    if (is_shared_copy(s)) { out.push_back({Decision::Kind::Elements, i, fmt::format("elements at a time of {}", s.name), {{1}, {2}, {4}}}); }
    if (!s.has_reduction()) { continue; }
    out.push_back({Decision::Kind::Unroll, i, fmt::format("unroll {}", s.name), {}});
    for (int64_t limit : gpu_unroll_limits) { out.back().choices.push_back({limit}); }
  }
}

// True where the innermost loop of a stage has an extent that only a translation finds.
auto needs_extents(const State& state) -> bool {
  return std::any_of(state.stages().begin(), state.stages().end(), [](const StateStage& s) {
    return is_computed(s) && s.place == StateStage::Place::At && !s.axes.empty() && !s.axes.back().is_reduction && s.axes.back().extent < 1;
  });
}

}  // namespace

auto decisions_of(const State& initial, const State& sketch, const SketchOptions& options) -> std::vector<Decision> {
  std::vector<Decision> out;
  State before = initial;
  for (size_t i = 0; i < sketch.steps().size(); ++i) {
    const Step& step = sketch.steps()[i];
    if (is_open(step)) {
      const StateStage& stage = before.stages()[static_cast<size_t>(number_of(step, 0))];
      const StateAxis& axis = stage.axes[static_cast<size_t>(number_of(step, 1))];
      out.push_back({Decision::Kind::Tiles, i, fmt::format("tiles of {} in {}", axis.name, stage.name), tiles_of(number_of(step, 2), list_of(step, 3).size())});
    }
    if (options.gpu && step.kind == "SP" && !is_open(step)) {
      // The threads of a reduction, or of the stage that it is fused into.
      out.push_back({Decision::Kind::Tiles, i, fmt::format("threads of {}", before.stages()[static_cast<size_t>(number_of(step, 0))].name), threads_of(*options.gpu, 1)});
    }
    (void)before.apply(step);
  }
  if (options.gpu) {
    add_gpu_decisions(sketch, *options.gpu, out);
    return out;
  }
  auto counted = [](int64_t count) {
    std::vector<std::vector<int64_t>> choices;
    for (int64_t i = 0; i < count; ++i) { choices.push_back({i}); }
    return choices;
  };
  for (size_t i = sketch.stages().size(); i-- > 0;) {
    const StateStage& s = sketch.stages()[i];
    if (!is_movable(sketch, i)) { continue; }
    int64_t most = 2 + number(sketch.stages()[sketch.consumers_of(i)[0]].axes.size());
    out.push_back({Decision::Kind::Location, i, fmt::format("location of {}", s.name), counted(std::min(most, most_places))});
  }
  for (size_t i = 0; i < sketch.stages().size(); ++i) {
    const StateStage& s = sketch.stages()[i];
    if (!is_computed(s)) { continue; }
    if (s.has_reduction()) {
      out.push_back({Decision::Kind::Unroll, i, fmt::format("unroll {}", s.name), {}});
      for (int64_t limit : unroll_limits) { out.back().choices.push_back({limit}); }
    }
    const bool may_fuse = !s.is_tiled() && !s.has_reduction() && s.axes.size() > 1;
    if (may_fuse) { out.push_back({Decision::Kind::Vectorize, i, fmt::format("fused in vectors of {}", s.name), counted(std::min<int64_t>(number(s.axes.size()), 3))}); }
  }
  return out;
}

auto candidate_of(const State& initial, const State& sketch, const std::vector<Decision>& decisions, const std::vector<size_t>& chosen, const SketchOptions& options,
                  const FindExtents& find_extents) -> std::optional<State> {
  auto choice = [&](Decision::Kind kind, size_t of) -> const std::vector<int64_t>* {
    for (size_t i = 0; i < decisions.size(); ++i) {
      if (decisions[i].kind == kind && decisions[i].of == of) { return &decisions[i].choices[chosen[i]]; }
    }
    return nullptr;
  };
  State state = initial;
  for (size_t i = 0; i < sketch.steps().size(); ++i) {
    Step step = sketch.steps()[i];
    if (const auto* lengths = choice(Decision::Kind::Tiles, i)) { step.arguments[3] = *lengths; }
    if (!state.apply(std::move(step)).empty()) { return std::nullopt; }
  }
  for (size_t i = state.stages().size(); i-- > 0;) {
    const auto* picked = is_movable(state, i) ? choice(Decision::Kind::Location, i) : nullptr;
    if (picked) { place(state, i, picked->front()); }
  }
  if (options.gpu && !tiles_fit(state.steps(), *options.gpu)) { return std::nullopt; }
  if (options.gpu || needs_extents(state)) {
    auto extents = find_extents(state.steps());
    if (!extents) { return std::nullopt; }
    state.set_extents(*extents);
  }
  if (options.gpu) {
    auto picked = [&](Decision::Kind kind, size_t of, int64_t usual) {
      const auto* found = choice(kind, of);
      return found ? found->front() : usual;
    };
    const ThreadChoices threads{.threads = [&](size_t stage) { return picked(Decision::Kind::Threads, stage, options.gpu->warp); },
                                .elements = [&](size_t stage) { return picked(Decision::Kind::Elements, stage, 1); }};
    if (!bind_threads(state, *options.gpu, threads)) { return std::nullopt; }
  }
  for (size_t i = 0; !options.gpu && i < state.stages().size(); ++i) {
    if (is_computed(state.stages()[i]) && state.stages()[i].place == StateStage::Place::Root) { make_parallel(state, i, 0, options); }
  }
  for (size_t i = 0; i < state.stages().size(); ++i) {
    const auto* limit = is_computed(state.stages()[i]) ? choice(Decision::Kind::Unroll, i) : nullptr;
    if (limit) { (void)state.apply(unroll_step(i, limit->front())); }
  }
  for (size_t i = 0; !options.gpu && i < state.stages().size(); ++i) {
    if (!is_computed(state.stages()[i])) { continue; }
    const auto* picked = choice(Decision::Kind::Vectorize, i);
    make_vectors(state, i, picked ? picked->front() : 0);
  }
  return state;
}

namespace {

// The choices of tile sizes; false: the steps do not begin with those of the sketch, or have other tiles.
auto find_tiles(const State& sketch, const std::vector<Decision>& decisions, const std::vector<Step>& steps, std::vector<size_t>& chosen) -> bool {
  if (steps.size() < sketch.steps().size()) { return false; }
  for (size_t i = 0; i < sketch.steps().size(); ++i) {
    Step step = sketch.steps()[i];
    for (size_t d = 0; d < decisions.size(); ++d) {
      if (decisions[d].kind != Decision::Kind::Tiles || decisions[d].of != i) { continue; }
      const auto& choices = decisions[d].choices;
      const auto at = std::find(choices.begin(), choices.end(), list_of(steps[i], 3));
      if (at == choices.end()) { return false; }
      chosen[d] = static_cast<size_t>(at - choices.begin());
      step.arguments[3] = *at;
    }
    if (!(step == steps[i])) { return false; }
  }
  return true;
}

}  // namespace

auto choices_of(const State& initial, const State& sketch, const std::vector<Decision>& decisions, const std::vector<Step>& steps, const SketchOptions& options,
                const FindExtents& find_extents) -> std::optional<FoundChoices> {
  FoundChoices out{.chosen = std::vector<size_t>(decisions.size(), 0), .is_exact = false};
  if (!find_tiles(sketch, decisions, steps, out.chosen)) { return std::nullopt; }
  for (size_t d = 0; d < decisions.size(); ++d) {
    if (decisions[d].kind != Decision::Kind::Unroll) { continue; }
    for (size_t c = 0; c < decisions[d].choices.size(); ++c) {
      if (std::find(steps.begin(), steps.end(), unroll_step(decisions[d].of, decisions[d].choices[c].front())) != steps.end()) { out.chosen[d] = c; }
    }
  }
  // Decisions in the order in which a candidate applies them: the choice is the one whose steps follow the others longest.
  auto followed = [&](const std::vector<size_t>& chosen) -> size_t {
    const auto made = candidate_of(initial, sketch, decisions, chosen, options, find_extents);
    if (!made) { return 0; }
    const auto end = std::mismatch(made->steps().begin(), made->steps().end(), steps.begin(), steps.end()).first;
    out.is_exact = made->steps() == steps;
    return static_cast<size_t>(end - made->steps().begin());
  };
  std::vector<size_t> order;
  for (Decision::Kind kind : {Decision::Kind::Location, Decision::Kind::Vectorize}) {
    for (size_t d = 0; d < decisions.size(); ++d) { if (decisions[d].kind == kind) { order.push_back(d); } }
  }
  // Stages get their threads from the last one to the first.
  for (size_t d = decisions.size(); d-- > 0;) {
    if (decisions[d].kind == Decision::Kind::Threads || decisions[d].kind == Decision::Kind::Elements) { order.push_back(d); }
  }
  for (size_t d : order) {
    std::pair<size_t, size_t> best{0, 0};   // the steps, the choice
    for (size_t c = 0; c < decisions[d].choices.size(); ++c) {
      out.chosen[d] = c;
      if (const size_t length = followed(out.chosen); length > best.first) { best = {length, c}; }
    }
    out.chosen[d] = best.second;
  }
  return followed(out.chosen) > 0 ? std::optional(out) : std::nullopt;
}

}  // namespace loopsmith::script::auto_scheduler
