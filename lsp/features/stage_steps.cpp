// Tries steps on copies of the stages: see stage_steps.h.
#include "lsp/features/stage_steps.h"

#include <algorithm>

#include <fmt/format.h>

#include "cost/estimate.h"
#include "frontend/objects.h"
#include "ir/ops.h"
#include "lsp/features/insertion_point.h"
#include "lsp/features/names.h"
#include "lsp/features/steps.h"
#include "schedule/extent_text.h"
#include "script/te/axis_steps.h"
#include "script/te/translate.h"
#include "syntax/schedule_form.h"

namespace loopsmith::lsp {
namespace {

using script::te::Stage;
using script::te::Stages;
using workspace::Snapshot;

constexpr StageStep stage_steps[] = {
    {"split", "split(axis, factor=None, nparts=None) -> outer, inner", "an axis as an outer and an inner one: `factor=`, the extent of the inner one, or `nparts=`"},
    {"tile", "tile(x, y, x_factor, y_factor) -> x_outer, y_outer, x_inner, y_inner", "two axes split, and the inner ones together"},
    {"fuse", "fuse(*axes) -> fused", "adjacent axes as one"},
    {"reorder", "reorder(*axes)", "the axes in this order"},
    {"parallel", "parallel(axis)", "the iterations of an axis on several cores"},
    {"vectorize", "vectorize(axis)", "the iterations of an axis as vectors"},
    {"unroll", "unroll(axis)", "the iterations of an axis written out"},
    {"bind", "bind(axis, thread_axis)", "an axis bound to threads: `te.thread_axis(\"threadIdx.x\")`"},
    {"pragma", "pragma(axis, pragma_type, pragma_value=None)", "an annotation of the axis for lowering, such as `\"auto_unroll_max_step\"`"},
    {"prefetch", "prefetch(tensor, axis, offset)", "fetches what the iteration `offset` later reads of a tensor"},
    {"tensorize", "tensorize(axis, intrinsic)", "the axis and those inside it as a tensor intrinsic"},
    {"compute_at", "compute_at(stage, axis)", "computes the stage inside an axis of a stage that reads it"},
    {"compute_inline", "compute_inline()", "computes the stage where it is read"},
    {"compute_root", "compute_root()", "computes the stage by itself"},
    {"storage_align", "storage_align(axis, factor, offset)", "the rows of the buffer begin at multiples"},
    {"double_buffer", "double_buffer()", "fills the buffer for the next iteration while this one is computed"},
    {"set_scope", "set_scope(scope)", "the memory of the buffer"},
    {"set_store_predicate", "set_store_predicate(predicate)", "the threads that store the result"},
    {"cache_read", "cache_read(tensor, scope, readers) -> tensor", "a copy of a tensor in another memory, which these stages read"},
    {"cache_write", "cache_write(tensor, scope) -> tensor", "computes the tensor in another memory, and copies it from there"},
    {"rfactor", "rfactor(tensor, axis, factor_axis=0) -> tensor", "partial results for each iteration of an axis that reduces"},
    {"create_group", "create_group(outputs, inputs, include_inputs=False) -> group", "stages that are moved together: `group.compute_at(s[C], axis)`"},
    {"normalize", "normalize()", "every axis begins at 0, which is so already"},
    {"op", "op", "the operation: its axes are `op.axis` and `op.reduce_axis`"},
};

/// The stages of a schedule behind a statement, and the variables of the script there.
struct Here {
  const script::FileSchedule* schedule = nullptr;
  size_t index = 0;
  eval::Frame frame;
  const Stages* stages = nullptr;
};

auto here_at(const Snapshot& snapshot, uint32_t at) -> std::optional<Here> {
  const script::FileSchedule* schedule = schedule_at(snapshot, at);
  if (schedule == nullptr || schedule->run == nullptr || !schedule->is_settled() || !is_of_stages(snapshot, at)) { return std::nullopt; }
  const script::ScheduleRun& run = *schedule->run;
  size_t index = step_at(run, snapshot.syntax().origin_at(at).begin);
  if (index == no_step || index + 1 >= run.frames.size() || run.steps[index].state != script::StepState::Done) { return std::nullopt; }
  auto frame = script::frame_before(run, index + 1);
  const eval::Value* value = frame && frame->scope ? frame->scope->find(schedule->form.variable) : nullptr;
  const auto* object = value != nullptr ? value->as<script::ScheduleObject>() : nullptr;
  if (object == nullptr || !object->stages) { return std::nullopt; }
  const Stages* stages = object->stages.get();
  return Here{schedule, index, std::move(*frame), stages};
}

/// The variable that a call is assigned to, `C` in `C = te.compute(...)`; empty: none.
auto assigned_name(const Snapshot& snapshot, Origin call) -> std::string {
  auto span = snapshot.resolve(call);
  if (!span) { return {}; }
  uint32_t begin = line_start_of(snapshot, span->begin);
  std::string_view before = std::string_view(snapshot.text()).substr(begin, span->begin - begin);
  before.remove_prefix(std::min(before.find_first_not_of(" \t"), before.size()));
  size_t end = before.find(" = ");
  std::string_view name = before.substr(0, end);
  const bool is_name = end != std::string_view::npos && end + 3 == before.size() && name.find_first_of(" ,()[].") == std::string_view::npos;
  return is_name ? std::string(name) : std::string();
}

/// The variable of the tensor that a stage computes.
auto tensor_name(const Snapshot& snapshot, const Stages& stages, size_t i) -> std::string {
  const Stage& stage = stages.stages[i];
  return assigned_name(snapshot, stage.made_by ? stages.rewirings[*stage.made_by].call : stage.tensors.empty() ? stage.op->where : stage.tensors.front()->origin);
}

/// The axis, or the stage of the tensor, that a variable has.
struct Meant { std::optional<size_t> axis, stage; };
auto meant_by(const Snapshot& snapshot, const Here& here, Name name) -> Meant {
  Meant out;
  const eval::Value* value = here.frame.scope->find(name);
  const auto* iter = value != nullptr ? value->as<frontend::IterVarObject>() : nullptr;
  if (iter != nullptr) { out.axis = here.stages->axis_of(iter->iter); }
  for (size_t i = 0; value == nullptr && i < here.stages->axes.size() && !out.axis; ++i) {
    if (here.stages->is_leaf(i) && assigned_name(snapshot, here.stages->axes[i].iter.origin) == name.view()) { out.axis = i; }
  }
  for (size_t i = 0; iter == nullptr && i < here.stages->stages.size() && !out.axis; ++i) {
    if (tensor_name(snapshot, *here.stages, i) == name.view()) { out.stage = i; }
  }
  return out;
}

/// The variable at an offset.
auto name_at(const Snapshot& snapshot, uint32_t at) -> std::optional<Name> {
  NameTable names = names_of(snapshot);
  const Occurrence* here = names.at(at);
  return here != nullptr ? std::optional(names.entities[here->entity].name) : std::nullopt;
}

/// The steps that are worth trying at one axis or stage, each with its effect on the stages.
class Offers {
 public:
  Offers(const Snapshot& snapshot, const Here& here, InsertionPoint point, Deadline until)
      : snapshot_(snapshot), stages_(*here.stages), point_(std::move(point)), core_(cost::core_for(point_.target)), until_(until) {
    for (size_t axis = 0; axis < stages_.axes.size(); ++axis) {
      std::string name = stages_.is_leaf(axis) ? assigned_name(snapshot, stages_.axes[axis].iter.origin) : std::string();
      if (!name.empty()) { names_.emplace_back(axis, std::move(name)); }
    }
    for (auto scope = here.frame.scope; scope; scope = scope->parent()) {
      for (const auto& [name, value] : scope->slots()) {
        const auto* iter = value.as<frontend::IterVarObject>();
        auto axis = iter != nullptr ? stages_.axis_of(iter->iter) : std::nullopt;
        if (axis && stages_.is_leaf(*axis)) { names_.emplace_back(*axis, name.str()); }
      }
    }
  }

  void offer_for_axis(size_t axis) {
    const size_t in = stages_.axes[axis].stage;
    const Stage& stage = stages_.stages[in];
    const std::string own = stage_text(in), x = name_of(axis);
    if (own.empty() || x.empty() || !stages_.is_leaf(axis)) { return; }
    const auto extent = as_int(stages_.axes[axis].iter.dom.extent);
    offer_split(axis, own, x, extent);
    offer_marks(axis, own, x);
    auto at = std::find(stage.leaves.begin(), stage.leaves.end(), axis);
    if (at + 1 != stage.leaves.end() && !name_of(at[1]).empty()) { offer_pair(in, axis, at[1], own); }
    for (size_t i : stage.inputs) {
      const Stage& producer = stages_.stages[i];
      if (producer.is_placeholder || producer.place != Stage::Place::Root || stage_text(i).empty()) { continue; }
      try_step("compute_at", fmt::format("{}.compute_at({}, {})", stage_text(i), own, x), false, [&](Stages& s) { script::te::place_at(s, i, axis, {}); });
    }
  }

  void offer_for_stage(size_t i) {
    const Stage& stage = stages_.stages[i];
    const std::string own = stage_text(i);
    if (stage.is_placeholder || stage.is_output || own.empty()) { return; }
    const bool is_plain = stage.reduce_axes.empty() && stage.steps.empty() && stage.place == Stage::Place::Root;
    if (is_plain) { try_step("compute_inline", own + ".compute_inline()", false, [&](Stages& s) { s.stages[i].place = Stage::Place::Inline; }); }
    for (size_t consumer : stages_.consumers_of(i)) {
      if (stage.place != Stage::Place::Root || stages_.stages[consumer].place == Stage::Place::Inline) { continue; }
      for (size_t axis : stages_.stages[consumer].leaves) {
        if (name_of(axis).empty() || stage_text(consumer).empty()) { continue; }
        try_step("compute_at", fmt::format("{}.compute_at({}, {})", own, stage_text(consumer), name_of(axis)), false, [&](Stages& s) { script::te::place_at(s, i, axis, {}); });
      }
    }
  }

  /// Legal steps by gain, then refused ones.
  auto all() -> std::vector<OfferedMove> {
    legal_.insert(legal_.end(), std::make_move_iterator(refused_.begin()), std::make_move_iterator(refused_.end()));
    return std::move(legal_);
  }

 private:
  void offer_split(size_t axis, const std::string& own, const std::string& x, std::optional<int64_t> extent) {
    if (extent && *extent < 4) { return; }
    int64_t factor = 8;
    for (int64_t one : {32, 16, 8, 4, 2}) {
      if (extent && *extent > one && *extent % one == 0) { factor = one; break; }
    }
    try_step("split", fmt::format("{}, {} = {}.split({}, factor={})", fresh(x + "o"), fresh(x + "i"), own, x, factor), false,
             [&](Stages& s) { script::te::split_axis(s, axis, factor, false, {}); });
  }

  void offer_marks(size_t axis, const std::string& own, const std::string& x) {
    const auto& steps = stages_.stages[stages_.axes[axis].stage].steps;
    const bool is_marked = std::any_of(steps.begin(), steps.end(), [&](const auto& one) { return one.kind == script::te::AxisStep::Kind::Mark && one.inputs[0] == axis && one.primitive != "annotate"; });
    if (is_marked) { return; }
    for (const char* mark : {"parallel", "vectorize", "unroll"}) {
      if (core_.is_device && std::string_view(mark) == "parallel") { continue; }
      try_step(mark, fmt::format("{}.{}({})", own, mark, x), true, [&](Stages& s) { script::te::mark_axis(s, axis, mark, {}, {}); });
    }
    for (const char* thread : {"blockIdx.x", "threadIdx.x"}) {
      if (!core_.is_device) { break; }
      try_step("bind", fmt::format("{}.bind({}, te.thread_axis(\"{}\"))", own, x, thread), true, [&](Stages& s) { script::te::mark_axis(s, axis, "bind", {std::string(thread)}, {}); });
    }
  }

  // Steps on an axis and the one directly inside it.
  void offer_pair(size_t in, size_t x, size_t y, const std::string& own) {
    const std::string outer = name_of(x), inner = name_of(y);
    try_step("reorder", fmt::format("{}.reorder({}, {})", own, inner, outer), false, [&](Stages& s) { script::te::reorder_axes(s, in, {y, x}, {}); });
    const bool is_place = std::any_of(stages_.stages.begin(), stages_.stages.end(), [&](const Stage& s) { return s.place == Stage::Place::At && s.at_axis == x; });
    if (!is_place) {
      try_step("fuse", fmt::format("{} = {}.fuse({}, {})", fresh(outer + "_" + inner), own, outer, inner), false, [&](Stages& s) { script::te::fuse_axes(s, {x, y}, {}); });
    }
    auto divides = [&](size_t axis, int64_t by) {
      auto extent = as_int(stages_.axes[axis].iter.dom.extent);
      return extent && *extent > by && *extent % by == 0;
    };
    const int64_t rows = 8, columns = 32;
    if (!divides(x, rows) || !divides(y, columns) || stages_.axes[x].is_reduction || stages_.axes[y].is_reduction) { return; }
    try_step("tile", fmt::format("{}, {}, {}, {} = {}.tile({}, {}, {}, {})", fresh(outer + "o"), fresh(inner + "o"), fresh(outer + "i"), fresh(inner + "i"), own, outer, inner, rows, columns), false,
             [&](Stages& s) {
               auto [xo, xi] = script::te::split_axis(s, x, rows, false, {});
               auto [yo, yi] = script::te::split_axis(s, y, columns, false, {});
               script::te::reorder_axes(s, in, {xo, yo, xi, yi}, {});
             });
  }

  void try_step(std::string_view name, std::string statement, bool is_shown_refused, const std::function<void(Stages&)>& make) {
    if (Clock::now() >= until_) { return; }
    auto after = script::te::try_change(stages_, make);
    if (!after.ok()) {
      if (is_shown_refused) { refused_.push_back({std::move(statement), after.diagnostics().front().message(), 1, point_.offset, {}}); }
      return;
    }
    const schedule::FuncState* was = point_.func();
    const schedule::FuncState* now = was != nullptr ? after->state().func(was->name()) : nullptr;
    double gain = now != nullptr ? cost::gain(*was, *now, core_).value_or(1) : 1;
    if (cost::gain_text(gain).empty()) { gain = 1; }
    std::string insert = point_.before + statement + point_.after;
    auto place = std::upper_bound(legal_.begin(), legal_.end(), gain, [](double g, const OfferedMove& other) { return g > other.gain; });
    legal_.insert(place, {std::move(statement), {}, gain, point_.offset, std::move(insert), {}, {}, name});
  }

  auto name_of(size_t axis) const -> std::string {
    auto found = std::find_if(names_.rbegin(), names_.rend(), [&](const auto& one) { return one.first == axis; });
    return found == names_.rend() ? std::string() : found->second;
  }
  auto fresh(const std::string& wanted) const -> std::string {
    std::string name = wanted;
    for (int number = 2; point_.is_taken(name); ++number) { name = wanted + std::to_string(number); }
    return name;
  }
  /// The stage as the script writes it, `s[C]`. Empty: its tensor has no variable.
  auto stage_text(size_t i) const -> std::string {
    const std::string name = tensor_name(snapshot_, stages_, i);
    return name.empty() ? name : fmt::format("{}[{}]", point_.variable, name);
  }

  const Snapshot& snapshot_;
  const Stages& stages_;
  InsertionPoint point_;
  cost::CoreModel core_;
  Deadline until_;
  std::vector<std::pair<size_t, std::string>> names_;   // of axes that are loops now, outer scopes last
  std::vector<OfferedMove> legal_, refused_;
};

}  // namespace

auto is_of_stages(const Snapshot& snapshot, uint32_t at) -> bool {
  const script::FileSchedule* schedule = schedule_at(snapshot, at);
  return schedule != nullptr && schedule->form.made != nullptr && syntax::makes_stages(*schedule->form.made);
}

auto stage_steps_offered(const Snapshot& snapshot, uint32_t at, Deadline until) -> std::vector<OfferedMove> {
  auto here = here_at(snapshot, at);
  if (!here) { return {}; }
  auto point = point_behind(snapshot, *here->schedule, here->index);
  auto name = name_at(snapshot, at);
  if (!point || !name) { return {}; }
  Offers offers(snapshot, *here, std::move(*point), until);
  const Meant meant = meant_by(snapshot, *here, *name);
  if (meant.axis) { offers.offer_for_axis(*meant.axis); }
  if (meant.stage) { offers.offer_for_stage(*meant.stage); }
  return offers.all();
}

auto stage_value_at(const Snapshot& snapshot, uint32_t at) -> std::optional<StageValue> {
  auto here = here_at(snapshot, at);
  auto name = here ? name_at(snapshot, at) : std::nullopt;
  if (!name) { return std::nullopt; }
  const Stages& stages = *here->stages;
  const Meant meant = meant_by(snapshot, *here, *name);
  auto axis_text = [&](size_t axis) { return fmt::format("`{}`:{}", stages.axes[axis].iter.var->name.view(), schedule::extent_text(stages.axes[axis].iter.dom.extent)); };
  if (meant.axis) {
    const auto& axis = stages.axes[*meant.axis];
    StageValue out{fmt::format("axis {} of stage `{}`", axis_text(*meant.axis), stages.stages[axis.stage].name.view()), {axis.is_reduction ? "a reduction" : "spatial"}, {}};
    if (!stages.is_leaf(*meant.axis)) { out.facts.emplace_back("replaced: a step of the stage made other axes of it"); }
    return out;
  }
  if (!meant.stage) { return std::nullopt; }
  const Stage& stage = stages.stages[*meant.stage];
  StageValue out{fmt::format("stage `{}`{}", stage.name.view(), stage.is_placeholder ? ": an input" : ""), {}, {}};
  std::string axes;
  for (size_t axis : stage.leaves) { axes += (axes.empty() ? "axes " : ", ") + axis_text(axis); }
  if (!axes.empty()) { out.facts.push_back(axes); }
  if (stage.place == Stage::Place::Inline) { out.facts.emplace_back("computed where it is read"); }
  if (stage.place == Stage::Place::At) { out.facts.push_back(fmt::format("computed at `{}` of `{}`", stages.axes[stage.at_axis].iter.var->name.view(), stages.stages[stages.axes[stage.at_axis].stage].name.view())); }
  if (!stages.done.empty() && *meant.stage < stages.done.back()->blocks.size()) { out.block = stages.done.back()->blocks[*meant.stage]; }
  return out;
}

auto find_stage_step(std::string_view name) -> const StageStep* {
  const auto* found = std::find_if(std::begin(stage_steps), std::end(stage_steps), [&](const StageStep& row) { return row.name == name; });
  return found == std::end(stage_steps) ? nullptr : found;
}

}  // namespace loopsmith::lsp
