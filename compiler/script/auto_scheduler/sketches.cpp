// The rules of sketches: see sketches.h.
#include "script/auto_scheduler/sketches.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <set>

#include "ir/ops.h"
#include "ir/visitor.h"

namespace loopsmith::script::auto_scheduler {
namespace {

// More sketches than this are not made: a custom rule may add states without end.
constexpr size_t most_sketches = 256;

// ---- the reads of a stage --------------------------------------------------------------------------------------------

// An index of each dimension, for each place where an operation reads a tensor.
auto reads_of(const StateStage& stage) -> std::vector<std::pair<const BufferNode*, std::vector<Expr>>> {
  std::vector<std::pair<const BufferNode*, std::vector<Expr>>> out;
  for (const Expr& value : stage.op->body) {
    post_order(value, [&](const Expr& x) {
      if (const auto* load = x.as<BufferLoad>()) { out.emplace_back(load->buffer.get(), std::vector<Expr>(load->indices.begin(), load->indices.end())); }
    });
  }
  return out;
}

// `i`, `i + 2` or `i - 2`: the axis; null: another form.
auto shifted_variable(const Expr& index) -> const VarNode* {
  if (const auto* var = index.as<VarNode>()) { return var; }
  auto of = [](const Expr& a, const Expr& b) -> const VarNode* {
    if (as_int(b)) { return a.as<VarNode>(); }
    return as_int(a) ? b.as<VarNode>() : nullptr;
  };
  if (const auto* sum = index.as<Add>()) { return of(sum->a, sum->b); }
  if (const auto* difference = index.as<Sub>()) { return as_int(difference->b) ? difference->a.as<VarNode>() : nullptr; }
  return nullptr;
}

struct AccessForm {
  bool is_simple = true;          // each index is an axis, an axis with a shift, or a number
  bool misses_axis = false, repeats_axis = false, is_in_order = true;
};
auto form_of(const StateStage& stage, const std::vector<Expr>& indices) -> AccessForm {
  AccessForm out;
  std::vector<size_t> used;
  for (const Expr& index : indices) {
    if (as_int(index)) { continue; }
    const VarNode* var = shifted_variable(index);
    const auto& axes = stage.op->axis;
    auto at = std::find_if(axes.begin(), axes.end(), [&](const IterVar& axis) { return axis.var.get() == var; });
    if (!var || at == axes.end()) { return {.is_simple = false}; }
    used.push_back(static_cast<size_t>(at - axes.begin()));
  }
  const std::set<size_t> different(used.begin(), used.end());
  out.misses_axis = different.size() < stage.op->axis.size();
  out.repeats_axis = different.size() < used.size();
  out.is_in_order = std::is_sorted(used.begin(), used.end());
  return out;
}

auto is_expensive_or_branches(const StateStage& stage) -> bool {
  static const Name exp("exp"), if_then_else("if_then_else");
  bool out = false;
  for (const Expr& value : stage.op->body) {
    post_order(value, [&](const Expr& x) {
      const auto* call = x.as<Call>();
      out = out || x.as<Select>() != nullptr || (call && (call->op == exp || call->op == if_then_else));
    });
  }
  return out;
}

// True where inlining costs nothing: elements are read at their own place, in the order of the axes, and their computation is cheap.
auto is_strictly_inlineable(const StateStage& stage) -> bool {
  if (stage.is_copy) { return true; }
  for (const auto& [buffer, indices] : reads_of(stage)) {
    const AccessForm form = form_of(stage, indices);
    if (!form.is_simple || !form.is_in_order || form.repeats_axis) { return false; }
  }
  return !is_expensive_or_branches(stage);
}

// ---- relations of stages ---------------------------------------------------------------------------------------------

// True when the reader reads each element of the stage once, at its own place.
auto is_elementwise_read(const State& state, size_t stage, size_t reader) -> bool {
  const StateStage& from = state.stages()[stage];
  const StateStage& to = state.stages()[reader];
  if (to.is_copy) { return true; }
  if (from.op->axis.size() != to.op->axis.size()) { return false; }
  for (size_t k = 0; k < from.op->axis.size(); ++k) {
    if (as_int(from.op->axis[k].dom.extent) != as_int(to.op->axis[k].dom.extent)) { return false; }
  }
  for (const auto& [buffer, indices] : reads_of(to)) {
    const auto& outputs = from.op->outputs;
    if (std::none_of(outputs.begin(), outputs.end(), [&](const Buffer& one) { return one.get() == buffer; })) { continue; }
    const AccessForm form = form_of(to, indices);
    if (!form.is_simple || form.misses_axis || form.repeats_axis || !form.is_in_order) { return false; }
  }
  return true;
}

// The stages that read a stage, without looking through stages that are computed inline.
auto direct_readers(const State& state, size_t stage) -> std::vector<size_t> {
  std::vector<size_t> out;
  for (size_t i = 0; i < state.stages().size(); ++i) {
    const auto& inputs = state.stages()[i].inputs;
    if (std::find(inputs.begin(), inputs.end(), stage) != inputs.end()) { out.push_back(i); }
  }
  return out;
}

// The only reader of a stage, where it and all stages on the way read elements at their own place.
auto matched_consumer(const State& state, size_t stage) -> std::optional<size_t> {
  const std::vector<size_t> consumers = state.consumers_of(stage);
  if (consumers.size() != 1) { return std::nullopt; }
  const size_t target = consumers[0];
  if (state.stages()[stage].has_reduction() && state.stages()[target].has_reduction()) { return std::nullopt; }
  for (size_t at = stage; at != target;) {
    const std::vector<size_t> readers = direct_readers(state, at);
    if (readers.size() != 1 || !is_elementwise_read(state, at, readers[0])) { return std::nullopt; }
    at = readers[0];
  }
  return target;
}

auto has_cache_write(const State& state, size_t stage) -> bool {
  const auto& stages = state.stages();
  return stage + 1 < stages.size() && stages[stage + 1].is_copy && stages[stage + 1].inputs == std::vector<size_t>{stage};
}

// ---- tiles -----------------------------------------------------------------------------------------------------------

auto number(size_t n) -> int64_t { return static_cast<int64_t>(n); }

// Appends a step that the state accepts by construction.
void add(State& state, std::string kind, std::vector<std::variant<int64_t, std::string, std::vector<int64_t>>> arguments) {
  (void)state.apply({.kind = std::move(kind), .arguments = std::move(arguments)});
}

auto levels_of(const std::string& structure, char kind) -> size_t { return static_cast<size_t>(std::count(structure.begin(), structure.end(), kind)); }

// Splits each axis into its levels, and sorts the axes by the levels of the structure. `spatial_splits`: receives the numbers of the steps that split spatial axes.
void tile(State& state, size_t stage, const std::string& structure, std::vector<int64_t>& spatial_splits) {
  std::vector<std::vector<size_t>> spatial(levels_of(structure, 'S')), reduced(levels_of(structure, 'R'));   // ids of axes
  for (size_t at = 0; at < state.stages()[stage].axes.size();) {
    const StateAxis axis = state.stages()[stage].axes[at];
    auto& levels = axis.is_reduction ? reduced : spatial;
    const size_t count = levels.size();
    if (count > 1) {
      if (!axis.is_reduction) { spatial_splits.push_back(number(state.steps().size())); }
      add(state, "SP", {number(stage), number(at), axis.extent, std::vector<int64_t>(count - 1, 0), INT64_C(1)});
    }
    for (size_t k = 0; k < count; ++k) { levels[k].push_back(state.stages()[stage].axes[at + k].id); }
    at += std::max<size_t>(count, 1);
  }
  std::vector<int64_t> order;
  size_t next_spatial = 0, next_reduced = 0;
  for (char level : structure) {
    for (size_t id : level == 'S' ? spatial[next_spatial++] : reduced[next_reduced++]) {
      const auto& axes = state.stages()[stage].axes;
      order.push_back(std::find_if(axes.begin(), axes.end(), [&](const StateAxis& axis) { return axis.id == id; }) - axes.begin());
    }
  }
  add(state, "RE", {number(stage), std::move(order)});
}

// Splits the axes of a consumer like the outer levels of the stage that it reads, and sorts them by level.
void follow_tiles(State& state, size_t stage, const std::vector<int64_t>& splits, size_t levels) {
  const size_t axes = splits.size();
  for (size_t k = 0; k < axes; ++k) { add(state, "FSP", {number(stage), number(k * (levels + 1)), splits[k], number(levels)}); }
  std::vector<int64_t> order;
  for (size_t level = 0; level <= levels; ++level) {
    for (size_t k = 0; k < axes; ++k) { order.push_back(number(k * (levels + 1) + level)); }
  }
  add(state, "RE", {number(stage), std::move(order)});
}

// ---- rules -----------------------------------------------------------------------------------------------------------

auto always_inline(const SketchOptions& options) -> SketchRule {
  return {"AlwaysInline",
          [is_gpu = options.gpu.has_value()](const State& state, size_t stage) {
            const StateStage& s = state.stages()[stage];
            // On GPUs a stage is computed again rather than stored by a kernel of its own.
            const bool is_inlined = s.is_compute && !s.is_output && !s.has_reduction() && (is_gpu || is_strictly_inlineable(s));
            return is_inlined ? Condition::ApplyAndSkipRest : Condition::Skip;
          },
          [](const State& state, size_t stage) -> std::vector<Visit> {
            State inlined = state;
            add(inlined, "CI", {number(stage)});
            return {Visit{std::move(inlined), number(stage) - 1}};
          }};
}

// The products of the extents of the spatial and of the reduction axes.
auto lengths_of(const StateStage& stage) -> std::pair<int64_t, int64_t> {
  int64_t spatial = 1, reduced = 1;
  for (const StateAxis& axis : stage.axes) { (axis.is_reduction ? reduced : spatial) *= std::max<int64_t>(axis.extent, 1); }
  return {spatial, reduced};
}

// Two sketches: the parts of the reduction run in parallel, or in one vector.
auto add_rfactor(const SketchOptions& options) -> SketchRule {
  return {"AddRfactor",
          [options](const State& state, size_t stage) {
            const StateStage& s = state.stages()[stage];
            if (!s.is_compute || !s.has_reduction() || s.op->body.size() != 1 || has_cache_write(state, stage)) { return Condition::Skip; }
            const auto [spatial, reduced] = lengths_of(s);
            const bool is_wide = needs_tiles(state, stage) && (spatial > reduced || spatial > options.cores * 16);
            return !is_wide && reduced > 1 && (needs_tiles(state, stage) || reduced > options.cores) ? Condition::Apply : Condition::Skip;
          },
          [](const State& state, size_t stage) {
            State base = state;
            std::vector<int64_t> spatial, reduced;
            const auto& axes = state.stages()[stage].axes;
            for (size_t i = 0; i < axes.size(); ++i) { (axes[i].is_reduction ? reduced : spatial).push_back(number(i)); }
            if (reduced.size() > 1) { add(base, "FU", {number(stage), reduced}); }
            const int64_t fused = reduced[0];
            add(base, "SP", {number(stage), fused, base.stages()[stage].axes[static_cast<size_t>(fused)].extent, std::vector<int64_t>{1}, INT64_C(1)});
            std::vector<Visit> out;
            for (int64_t part : {0, 1}) {
              State one = base;
              add(one, "RF", {number(stage), fused + part, number(spatial.size())});
              if (part == 1) {
                // The parts of the reduction innermost, for vectors.
                std::vector<int64_t> order;
                for (size_t i = 0; i < one.stages()[stage].axes.size(); ++i) { if (i != spatial.size()) { order.push_back(number(i)); } }
                order.push_back(number(spatial.size()));
                add(one, "RE", {number(stage), std::move(order)});
              }
              out.push_back({std::move(one), number(stage) - 1});
            }
            return out;
          }};
}

auto add_cache_write(const SketchOptions& options) -> SketchRule {
  return {"AddCacheWrite",
          [is_gpu = options.gpu.has_value()](const State& state, size_t stage) {
            const bool is_cached = needs_tiles(state, stage) && !matched_consumer(state, stage) && state.stages()[stage].op->body.size() == 1;
            if (!is_cached) { return Condition::Skip; }
            return is_gpu ? Condition::ApplyAndSkipRest : Condition::Apply;
          },
          [](const State& state, size_t stage) -> std::vector<Visit> {
            State cached = state;
            add(cached, "CHW", {number(stage), std::string("local")});
            return {Visit{std::move(cached), number(stage)}};
          }};
}

auto tiling_with_fusion(const SketchOptions& options) -> SketchRule {
  return {"MultiLevelTilingWithFusion",
          [is_gpu = options.gpu.has_value()](const State& state, size_t stage) {
            if (!needs_tiles(state, stage) || !matched_consumer(state, stage)) { return Condition::Skip; }
            return is_gpu || has_cache_write(state, stage) ? Condition::ApplyAndSkipRest : Condition::Apply;
          },
          [structure = options.levels(), levels = options.gpu ? std::vector<size_t>{3} : std::vector<size_t>{1, 2}](const State& state, size_t stage) {
            const size_t consumer = *matched_consumer(state, stage);
            State base = state;
            std::vector<int64_t> splits;
            tile(base, stage, structure, splits);
            std::vector<Visit> out;
            for (size_t level : levels) {
              if (level > structure.size() || structure[level - 1] != 'S') { continue; }
              State fused = base;
              follow_tiles(fused, consumer, splits, level);
              add(fused, "CA", {number(stage), number(consumer), number(level * splits.size()) - 1});
              out.push_back({std::move(fused), number(stage) - 1});
            }
            return out;
          }};
}

auto tiling(const SketchOptions& options) -> SketchRule {
  return {"MultiLevelTiling",
          [](const State& state, size_t stage) { return needs_tiles(state, stage) ? Condition::ApplyAndSkipRest : Condition::Skip; },
          [structure = options.levels()](const State& state, size_t stage) -> std::vector<Visit> {
            State tiled = state;
            std::vector<int64_t> splits;
            tile(tiled, stage, structure, splits);
            return {Visit{std::move(tiled), number(stage) - 1}};
          }};
}

// The axis in front of which the outermost level of reduction ends; none: the stage has no such level.
auto end_of_outer_reduction(const StateStage& stage) -> std::optional<size_t> {
  std::optional<size_t> out;
  for (size_t i = 0; i < stage.axes.size(); ++i) {
    const StateAxis& axis = stage.axes[i];
    if (axis.is_reduction && axis.name.ends_with(".0")) { out = i; }
  }
  return out;
}

// Copies the tensors that a stage with tiles reads to shared memory, a part for each step of its outermost reduction.
auto add_cache_read() -> SketchRule {
  return {"AddCacheRead",
          [](const State& state, size_t stage) {
            const std::vector<size_t> consumers = state.consumers_of(stage);
            if (consumers.size() != 1 || !needs_tiles(state, consumers[0])) { return Condition::Skip; }
            const StateStage& consumer = state.stages()[consumers[0]];
            const bool is_direct = std::find(consumer.inputs.begin(), consumer.inputs.end(), stage) != consumer.inputs.end();
            const bool is_copied = is_direct && !reduces_across_threads(consumer) && end_of_outer_reduction(consumer) && state.stages()[stage].op->outputs.size() == 1;
            return is_copied ? Condition::ApplyAndSkipRest : Condition::Skip;
          },
          [](const State& state, size_t stage) -> std::vector<Visit> {
            const size_t consumer = state.consumers_of(stage)[0];
            State cached = state;
            add(cached, "CHR", {number(stage), std::string("shared"), std::vector<int64_t>{number(consumer)}});
            add(cached, "CA", {number(stage) + 1, number(consumer) + 1, number(*end_of_outer_reduction(cached.stages()[consumer + 1]))});
            return {Visit{std::move(cached), number(stage)}};
          }};
}

void bind_threads(State& state, size_t stage, size_t axis) { add(state, "AN", {number(stage), number(axis), static_cast<int64_t>(Annotation::ThreadX)}); }

// The numbers of the splits of a stage, as the steps name it now.
auto splits_of(const State& state, size_t stage) -> std::vector<int64_t> {
  std::vector<int64_t> out;
  for (size_t i = state.steps().size(); i-- > 0;) {
    const Step& step = state.steps()[i];
    const bool adds_stage = step.kind == "CHR" || step.kind == "CHW" || step.kind == "RF";
    if (adds_stage && number(stage) > number_of(step, 0)) { --stage; }
    if (step.kind == "SP" && number_of(step, 0) == number(stage)) { out.push_back(number(i)); }
  }
  return out;
}

// The reduction of a stage in parts, one for each thread of a warp; in the kernel of its reader, where that reads elements at their own place.
auto across_threads(const State& state, size_t stage, int64_t warp) -> State {
  State out = state;
  std::vector<int64_t> reduced;
  for (size_t i = 0; i < out.stages()[stage].axes.size(); ++i) { if (out.stages()[stage].axes[i].is_reduction) { reduced.push_back(number(i)); } }
  if (reduced.size() > 1) { add(out, "FU", {number(stage), reduced}); }
  const auto fused = static_cast<size_t>(reduced[0]);
  const auto consumer = matched_consumer(state, stage);
  std::vector<int64_t> splits = consumer ? splits_of(out, *consumer) : std::vector<int64_t>();
  const size_t outer = state.stages()[stage].op->axis.size();
  const bool is_fused = consumer && outer > 0 && !needs_tiles(state, *consumer) && splits.size() <= 1 && !state.stages()[*consumer].has_reduction();
  if (!is_fused) {
    add(out, "SP", {number(stage), number(fused), out.stages()[stage].axes[fused].extent, std::vector<int64_t>{warp}, INT64_C(1)});
    bind_threads(out, stage, fused + 1);
    return out;
  }
  if (splits.empty()) {
    const size_t last = out.stages()[*consumer].axes.size() - 1;
    splits.push_back(number(out.steps().size()));
    add(out, "SP", {number(*consumer), number(last), out.stages()[*consumer].axes[last].extent, std::vector<int64_t>{warp}, INT64_C(1)});
    bind_threads(out, *consumer, last + 1);
  }
  add(out, "FSP", {number(stage), number(fused), splits[0], INT64_C(1)});
  bind_threads(out, stage, fused + 1);
  add(out, "CA", {number(stage), number(*consumer), number(outer) - 1});
  return out;
}

auto cross_thread_reduction(const SketchOptions& options) -> SketchRule {
  return {"CrossThreadReduction",
          [gpu = *options.gpu](const State& state, size_t stage) {
            const StateStage& s = state.stages()[stage];
            if (!s.is_compute || !s.has_reduction() || has_cache_write(state, stage)) { return Condition::Skip; }
            const auto [spatial, reduced] = lengths_of(s);
            const bool pays = needs_tiles(state, stage) ? spatial <= gpu.block_threads && spatial < reduced : reduced > gpu.warp;
            return pays ? Condition::Apply : Condition::Skip;
          },
          [gpu = *options.gpu](const State& state, size_t stage) -> std::vector<Visit> { return {Visit{across_threads(state, stage, gpu.warp), number(stage) - 1}}; }};
}

auto skip_stage() -> SketchRule {
  return {"SkipStage", [](const State&, size_t) { return Condition::Apply; },
          [](const State& state, size_t stage) -> std::vector<Visit> { return {Visit{state, number(stage) - 1}}; }};
}

// The split in front of an `rfactor` had the length 1, since stages behind it need a number: the search decides it.
auto with_open_rfactor(const State& initial, const State& made) -> State {
  State out = initial;
  std::vector<Step> steps = made.steps();
  for (size_t i = 1; i < steps.size(); ++i) {
    if (steps[i].kind == "RF" && steps[i - 1].kind == "SP") { steps[i - 1].arguments[3] = std::vector<int64_t>{0}; }
  }
  for (Step& step : steps) { (void)out.apply(std::move(step)); }
  return out;
}

}  // namespace

auto needs_tiles(const State& state, size_t stage) -> bool {
  const StateStage& s = state.stages()[stage];
  if (!s.is_compute || s.is_copy) { return false; }
  // A stage that `rfactor` left with the last reduction reads its partial results once.
  if (s.inputs.size() == 1 && s.inputs[0] + 1 == stage && state.stages()[s.inputs[0]].op.get() == s.op.get()) { return false; }
  size_t missing = 0;
  std::set<const BufferNode*> seen;
  for (const auto& [buffer, first] : reads_of(s)) {
    if (!seen.insert(buffer).second) { continue; }
    std::set<const VarNode*> used;
    for (const auto& [other, indices] : reads_of(s)) {
      if (other != buffer) { continue; }
      for (const Expr& index : indices) { post_order(index, [&](const Expr& x) { if (const auto* var = x.as<VarNode>()) { used.insert(var); } }); }
    }
    for (const IterVar& axis : s.op->axis) { missing += as_int(axis.dom.extent).value_or(2) > 1 && !used.contains(axis.var.get()) ? 1 : 0; }
  }
  return missing >= 2 || (missing >= 1 && !s.op->reduce_axis.empty());
}

auto reduces_across_threads(const StateStage& stage) -> bool {
  return std::any_of(stage.axes.begin(), stage.axes.end(), [](const StateAxis& axis) { return axis.is_reduction && axis.annotation == Annotation::ThreadX; });
}

auto rules_for(const SketchOptions& options) -> std::vector<SketchRule> {
  if (options.gpu) {
    return {add_cache_read(), always_inline(options), cross_thread_reduction(options), add_cache_write(options), tiling_with_fusion(options), tiling(options), skip_stage()};
  }
  return {always_inline(options), add_rfactor(options), add_cache_write(options), tiling_with_fusion(options), tiling(options), skip_stage()};
}

auto make_sketches(const State& initial, const SketchOptions& options, const std::vector<SketchRule>& first) -> std::vector<State> {
  std::vector<SketchRule> rules = first;
  for (SketchRule& rule : rules_for(options)) { rules.push_back(std::move(rule)); }
  std::deque<Visit> open;
  open.push_back(Visit{initial, static_cast<int64_t>(initial.stages().size()) - 1});
  std::vector<State> out;
  while (!open.empty() && out.size() < most_sketches) {
    const Visit visit = std::move(open.front());
    open.pop_front();
    if (visit.stage < 0) {
      out.push_back(with_open_rfactor(initial, visit.state));
      continue;
    }
    const auto stage = static_cast<size_t>(visit.stage);
    for (const SketchRule& rule : rules) {
      const Condition condition = rule.condition(visit.state, stage);
      if (condition == Condition::Skip) { continue; }
      // A rule may go back to stages that were visited, but not without end.
      for (Visit& next : rule.apply(visit.state, stage)) {
        if (open.size() < most_sketches && next.state.steps().size() < 1000) { open.push_back(std::move(next)); }
      }
      if (condition == Condition::ApplyAndSkipRest) { break; }
    }
  }
  return out;
}

}  // namespace loopsmith::script::auto_scheduler
