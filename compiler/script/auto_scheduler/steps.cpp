// Steps of records: see steps.h.
#include "script/auto_scheduler/steps.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "frontend/objects.h"
#include "ir/ops.h"
#include "script/te/create.h"
#include "script/te/objects.h"
#include "script/te/translate.h"
#include "support/codes.h"
#include "support/guards.h"
#include "support/reasons.h"

namespace loopsmith::script::auto_scheduler {
namespace {

using eval::Evaluator;
using eval::Value;
using frontend::te::TensorObject;

// The annotations of an axis, by their numbers in a record.
constexpr const char* annotations[] = {"none", "unroll", "vectorize", "parallel", "vthread", "blockIdx.x", "threadIdx.x", "blockIdx.y", "threadIdx.y", "blockIdx.z", "threadIdx.z", "tensorize"};

class Replay {
 public:
  Replay(Evaluator& evaluator, const ScheduleObject& schedule, const std::vector<Step>& steps, const std::vector<Value>& tensors)
      : e_(evaluator), schedule_(schedule), steps_(steps), ids_(numbered_stages(*schedule.stages, tensors)) {}

  /// The reason why a step is refused; empty: all are applied.
  auto run() -> std::string {
    for (number_ = 0; number_ < steps_.size(); ++number_) {
      const size_t reported = e_.diagnostics.size();
      why_.clear();
      if (apply(steps_[number_])) { continue; }
      if (why_.empty() && e_.diagnostics.size() > reported) { why_ = e_.diagnostics[reported].message(); }
      return because(Why::StepRefused).arg("number", number_ + 1).arg("step", text_of(steps_[number_])).arg("cause", why_).text();
    }
    return {};
  }

  /// The extents of the loops of each stage, by the numbers of a record; 0: not known, or no loop.
  auto extents() const -> std::vector<std::vector<int64_t>> {
    std::vector<std::vector<int64_t>> out;
    for (size_t id : ids_) {
      out.emplace_back();
      for (size_t axis : stages().stages[id].leaves) {
        auto variable = te::loop_of(stages(), axis);
        auto loop = variable ? schedule_.schedule.get(*variable) : Result<const schedule::Place*>(error(Code::Internal));
        out.back().push_back(loop.ok() ? as_int((*loop)->loop->extent).value_or(0) : 0);
      }
    }
    return out;
  }

 private:
  auto fail(const Reason& why) -> bool {
    why_ = why.text();
    return false;
  }

  // ---- arguments: a missing one, or one of another form, is reported once by `why_` ----

  auto number(const Step& step, size_t i) -> std::optional<int64_t> {
    const auto* found = i < step.arguments.size() ? std::get_if<int64_t>(&step.arguments[i]) : nullptr;
    if (found) { return *found; }
    (void)fail(because(Why::ArgumentNotNumber).arg("number", i + 1));
    return std::nullopt;
  }
  auto list(const Step& step, size_t i) -> const std::vector<int64_t>* {
    const auto* found = i < step.arguments.size() ? std::get_if<std::vector<int64_t>>(&step.arguments[i]) : nullptr;
    if (!found) { (void)fail(because(Why::ArgumentNotList).arg("number", i + 1)); }
    return found;
  }
  auto text(const Step& step, size_t i) -> const std::string* {
    const auto* found = i < step.arguments.size() ? std::get_if<std::string>(&step.arguments[i]) : nullptr;
    if (!found) { (void)fail(because(Why::ArgumentNotString).arg("number", i + 1)); }
    return found;
  }

  auto stages() const -> const te::Stages& { return *schedule_.stages; }
  // The stage with a number.
  auto stage_at(std::optional<int64_t> id) -> std::optional<size_t> {
    if (!id) { return std::nullopt; }
    if (*id >= 0 && *id < static_cast<int64_t>(ids_.size())) { return ids_[static_cast<size_t>(*id)]; }
    (void)fail(because(Why::NoStageNumber).arg("number", *id).arg("count", ids_.size()));
    return std::nullopt;
  }
  auto stage_of(const Step& step) -> std::optional<size_t> { return stage_at(number(step, 0)); }
  auto axis_at(size_t stage, std::optional<int64_t> id) -> std::optional<Value> {
    if (!id) { return std::nullopt; }
    const auto& leaves = stages().stages[stage].leaves;
    if (*id >= 0 && *id < static_cast<int64_t>(leaves.size())) { return Value(eval::make_object<frontend::IterVarObject>(stages().axes[leaves[static_cast<size_t>(*id)]].iter)); }
    (void)fail(because(Why::NoAxisNumber).arg("stage", stages().stages[stage].name.view()).arg("number", *id).arg("count", leaves.size()));
    return std::nullopt;
  }
  auto axes_at(size_t stage, const std::vector<int64_t>& ids) -> std::optional<std::vector<Value>> {
    std::vector<Value> out;
    for (int64_t id : ids) {
      auto axis = axis_at(stage, id);
      if (!axis) { return std::nullopt; }
      out.push_back(*std::move(axis));
    }
    return out;
  }

  // ---- calls ----

  auto stage_value(size_t stage) const -> Value { return Value(eval::make_object<te::StageObject>(Ref<ScheduleObject>(&schedule_), stage)); }
  auto call(const Value& object, const char* method, std::vector<Value> arguments) -> Value {
    Value bound = e_.attribute({object, {}, {}}, Name(method), {});
    return bound.is_unknown() ? bound : e_.call(bound, std::move(arguments));
  }
  auto on_stage(size_t stage, const char* method, std::vector<Value> arguments) -> bool { return !call(stage_value(stage), method, std::move(arguments)).is_unknown(); }
  // A method of the schedule that adds a stage; its number among ours.
  auto add_stage(const char* method, std::vector<Value> arguments) -> std::optional<size_t> {
    Value made = call(Value(Ref<eval::Object>(&schedule_)), method, std::move(arguments));
    const auto* tensor = made.as<TensorObject>();
    return tensor ? stages().stage_of(*tensor->op) : std::nullopt;
  }
  auto tensor_of(size_t stage) const -> Value { return Value(eval::make_object<TensorObject>(stages().stages[stage].op, 0)); }

  // ---- steps ----

  auto apply(const Step& step) -> bool {
    struct Row { const char* kind; auto (Replay::*run)(const Step&) -> bool; };
    static constexpr Row rows[] = {{"AN", &Replay::annotate}, {"FU", &Replay::fuse}, {"PR", &Replay::pragma}, {"RE", &Replay::reorder}, {"SP", &Replay::split},
                                   {"FSP", &Replay::follow_split}, {"FFSP", &Replay::follow_fused_split}, {"SA", &Replay::storage_align}, {"CA", &Replay::compute_at},
                                   {"CI", &Replay::compute_inline}, {"CR", &Replay::compute_root}, {"CHR", &Replay::cache_read}, {"CHW", &Replay::cache_write}, {"RF", &Replay::rfactor}};
    const auto* row = std::find_if(std::begin(rows), std::end(rows), [&](const Row& one) { return step.kind == one.kind; });
    if (row == std::end(rows)) { return fail(because(Why::NoStepOfKind)); }
    return (this->*row->run)(step);
  }

  auto annotate(const Step& step) -> bool {
    auto stage = stage_of(step);
    auto axis = stage ? axis_at(*stage, number(step, 1)) : std::nullopt;
    auto kind = axis ? number(step, 2) : std::nullopt;
    if (!kind) { return false; }
    if (*kind < 0 || *kind >= static_cast<int64_t>(std::size(annotations))) { return fail(because(Why::NoAnnotationNumber).arg("number", *kind)); }
    const std::string word = annotations[*kind];
    if (word == "none") { return true; }
    if (word == "tensorize") { return fail(because(Why::IntrinsicNotNamed)); }
    if (word == "unroll" || word == "vectorize" || word == "parallel") { return on_stage(*stage, word.c_str(), {*axis}); }
    return on_stage(*stage, "bind", {*axis, Value(eval::make_object<frontend::te::ThreadAxisObject>(word, Value()))});
  }

  auto fuse(const Step& step) -> bool {
    auto stage = stage_of(step);
    const auto* ids = stage ? list(step, 1) : nullptr;
    auto axes = ids ? axes_at(*stage, *ids) : std::nullopt;
    return axes && on_stage(*stage, "fuse", *std::move(axes));
  }

  // "auto_unroll_max_step$512" is a limit for unrolling; another text is the kind of a pragma.
  auto pragma(const Step& step) -> bool {
    auto stage = stage_of(step);
    auto axis = stage ? axis_at(*stage, number(step, 1)) : std::nullopt;
    const std::string* kind = axis ? text(step, 2) : nullptr;
    if (!kind) { return false; }
    const size_t dollar = kind->find('$');
    if (dollar == std::string::npos) { return on_stage(*stage, "pragma", {*axis, Value::str(*kind)}); }
    int64_t most = 0;
    for (char c : kind->substr(dollar + 1)) {
      if (c < '0' || c > '9' || most > 1'000'000'000) { return fail(because(Why::NotStepCount).arg("text", kind->substr(dollar + 1))); }
      most = most * 10 + (c - '0');
    }
    return on_stage(*stage, "pragma", {*axis, Value::str(kind->substr(0, dollar)), Value(most)}) && on_stage(*stage, "pragma", {*axis, Value::str("unroll_explicit"), Value(true)});
  }

  auto reorder(const Step& step) -> bool {
    auto stage = stage_of(step);
    const auto* ids = stage ? list(step, 1) : nullptr;
    auto axes = ids ? axes_at(*stage, *ids) : std::nullopt;
    return axes && on_stage(*stage, "reorder", *std::move(axes));
  }

  // From the innermost factor out, or from the outermost number of parts in.
  auto split_axis(size_t stage, Value axis, const std::vector<int64_t>& lengths, bool is_inner_first) -> bool {
    for (size_t i = 0; i < lengths.size(); ++i) {
      const int64_t length = is_inner_first ? lengths[lengths.size() - 1 - i] : lengths[i];
      std::vector<Value> arguments{axis, Value(length)};
      if (!is_inner_first) { arguments.insert(arguments.begin() + 1, Value()); }
      Value made = call(stage_value(stage), "split", std::move(arguments));
      if (!made.items()) { return false; }
      axis = (*made.items())[is_inner_first ? 0 : 1];
    }
    return true;
  }
  // A record names the extent of the axis. An axis of the operation itself must have it; that of a stage inside another one depends on its place.
  auto has_extent(size_t stage, const Value& axis, std::optional<int64_t> recorded) -> bool {
    const auto& iter = axis.as<frontend::IterVarObject>()->iter;
    const te::Stage& of = stages().stages[stage];
    auto found = stages().axis_of(iter);
    const bool is_own = found && (std::find(of.axes.begin(), of.axes.end(), *found) != of.axes.end() || std::find(of.reduce_axes.begin(), of.reduce_axes.end(), *found) != of.reduce_axes.end());
    const auto extent = as_int(iter.dom.extent);
    if (!recorded || *recorded <= 0 || !is_own || of.place != te::Stage::Place::Root || !extent || *extent == *recorded) { return true; }
    return fail(because(Why::ExtentOfRecord).arg("recorded", *recorded).arg("axis", iter.var->name.view()).arg("stage", of.name.view()).arg("found", *extent));
  }
  auto split(const Step& step) -> bool {
    auto stage = stage_of(step);
    auto axis = stage ? axis_at(*stage, number(step, 1)) : std::nullopt;
    const auto* lengths = axis ? list(step, 3) : nullptr;
    auto is_inner_first = lengths ? number(step, 4) : std::nullopt;
    if (is_inner_first && !has_extent(*stage, *axis, number(step, 2))) { return false; }
    return is_inner_first && split_axis(*stage, *axis, *lengths, *is_inner_first != 0);
  }
  // The lengths of the earlier splits that a step names; none: reported.
  auto followed(const Step& step) -> std::optional<std::vector<int64_t>> {
    const std::vector<int64_t> sources = step.kind == "FSP" ? std::vector<int64_t>{number_of(step, 2)} : list_of(step, 2);
    for (int64_t source : sources) {
      const bool is_split = source >= 0 && source < static_cast<int64_t>(number_) && steps_[static_cast<size_t>(source)].kind == "SP";
      if (!is_split) { return (void)fail(because(Why::NotEarlierSplit).arg("number", source + 1)), std::nullopt; }
    }
    auto out = followed_lengths({steps_.begin(), steps_.begin() + static_cast<ptrdiff_t>(number_)}, step);
    if (!out) { (void)fail(because(Why::SplitHasLevels).arg("count", sources.empty() ? 0 : list_of(steps_[static_cast<size_t>(sources[0])], 3).size())); }
    return out;
  }
  // Follows the outer levels of an earlier split; the last level takes the rest.
  auto follow_split(const Step& step) -> bool {
    auto stage = stage_of(step);
    auto axis = stage ? axis_at(*stage, number(step, 1)) : std::nullopt;
    auto lengths = axis && number(step, 2) && number(step, 3) ? followed(step) : std::nullopt;
    return lengths && split_axis(*stage, *axis, *lengths, true);
  }
  auto follow_fused_split(const Step& step) -> bool {
    auto stage = stage_of(step);
    auto axis = stage ? axis_at(*stage, number(step, 1)) : std::nullopt;
    auto is_factor = axis && list(step, 2) && number(step, 3) ? number(step, 4) : std::nullopt;
    auto lengths = is_factor ? followed(step) : std::nullopt;
    return lengths && split_axis(*stage, *axis, *lengths, *is_factor != 0);
  }

  auto storage_align(const Step& step) -> bool {
    auto stage = stage_of(step);
    auto axis = stage ? axis_at(*stage, number(step, 1)) : std::nullopt;
    auto factor = axis ? number(step, 2) : std::nullopt;
    auto offset = factor ? number(step, 3) : std::nullopt;
    return offset && on_stage(*stage, "storage_align", {*axis, Value(*factor), Value(*offset)});
  }
  auto compute_at(const Step& step) -> bool {
    auto stage = stage_of(step);
    auto target = stage ? stage_at(number(step, 1)) : std::nullopt;
    auto axis = target ? axis_at(*target, number(step, 2)) : std::nullopt;
    return axis && on_stage(*stage, "compute_at", {stage_value(*target), *axis});
  }
  auto compute_inline(const Step& step) -> bool {
    auto stage = stage_of(step);
    return stage && on_stage(*stage, "compute_inline", {});
  }
  auto compute_root(const Step& step) -> bool {
    auto stage = stage_of(step);
    return stage && on_stage(*stage, "compute_root", {});
  }

  auto cache_read(const Step& step) -> bool {
    auto stage = stage_of(step);
    const std::string* scope = stage ? text(step, 1) : nullptr;
    const auto* readers = scope ? list(step, 2) : nullptr;
    if (!readers) { return false; }
    std::vector<Value> reading;
    for (int64_t reader : *readers) {
      auto one = stage_at(reader);
      if (!one) { return false; }
      reading.push_back(Value(stages().stages[*one].op));
    }
    auto made = add_stage("cache_read", {tensor_of(*stage), Value::str(*scope), Value::list(std::move(reading))});
    if (made) { ids_.insert(ids_.begin() + *number(step, 0) + 1, *made); }
    return made.has_value();
  }
  auto cache_write(const Step& step) -> bool {
    auto stage = stage_of(step);
    const std::string* scope = stage ? text(step, 1) : nullptr;
    auto made = scope ? add_stage("cache_write", {tensor_of(*stage), Value::str(*scope)}) : std::nullopt;
    if (made) { ids_.insert(ids_.begin() + *number(step, 0), *made); }
    return made.has_value();
  }
  auto rfactor(const Step& step) -> bool {
    auto stage = stage_of(step);
    auto axis = stage ? axis_at(*stage, number(step, 1)) : std::nullopt;
    auto place = axis ? number(step, 2) : std::nullopt;
    auto made = place ? add_stage("rfactor", {tensor_of(*stage), *axis, Value(*place)}) : std::nullopt;
    if (made) { ids_.insert(ids_.begin() + *number(step, 0), *made); }
    return made.has_value();
  }

  Evaluator& e_;
  const ScheduleObject& schedule_;
  const std::vector<Step>& steps_;
  std::vector<size_t> ids_;      // our stage of each number
  size_t number_ = 0;            // of the current step
  std::string why_;
};

}  // namespace

namespace {

// Applies steps to a new schedule. `is_at_once`: they are translated once, at the end.
auto replayed(Evaluator& evaluator, const Prepared& prepared, const std::vector<Value>& tensors, const std::vector<Step>& steps, bool is_at_once) -> std::variant<Scheduled, std::string> {
  const WithoutReports quiet(evaluator.diagnostics);
  auto object = eval::make_object<ScheduleObject>(schedule::Schedule(prepared.program, 1));
  te::add_stages(*object, Made{prepared.program, prepared.stages}, is_at_once);
  Replay replay(evaluator, *object, steps, tensors);
  std::string why = replay.run();
  if (why.empty()) {
    for (const Diagnostic& d : te::finish(*object)) { if (why.empty()) { why = d.message(); } }
  }
  if (!why.empty()) { return why; }
  return Scheduled{Ref<ScheduleObject>(object.get()), replay.extents()};
}

auto applied(frontend::File& file, const Task& task, const Prepared& prepared, const std::vector<Step>& steps, bool is_at_once) -> std::variant<Applied, std::string> {
  Evaluator& evaluator = file.evaluator();
  evaluator.reset_steps();
  auto done = replayed(evaluator, prepared, task.tensors, steps, is_at_once);
  evaluator.reset_steps();
  if (auto* why = std::get_if<std::string>(&done)) { return std::move(*why); }
  auto& made = std::get<Scheduled>(done);
  return Applied{prepared.program, made.schedule->schedule.trace(), std::move(made.extents)};
}

}  // namespace

auto schedule_of_steps(Evaluator& evaluator, const Prepared& prepared, const std::vector<Value>& tensors, const std::vector<Step>& steps) -> std::variant<Scheduled, std::string> {
  auto done = replayed(evaluator, prepared, tensors, steps, true);
  if (auto* made = std::get_if<Scheduled>(&done)) {
    // Later statements are translated one by one.
    auto stages = std::make_shared<te::Stages>(*made->schedule->stages);
    stages->is_at_once = false;
    made->schedule->stages = std::move(stages);
    made->schedule->record.executed = made->schedule->schedule.trace().size();
  }
  return done;
}

auto prepare(Evaluator& evaluator, const std::vector<Value>& tensors, Origin where) -> std::optional<Prepared> {
  WithoutReports quiet(evaluator.diagnostics);
  auto outputs = outputs_of(tensors);
  auto program = outputs.empty() ? std::nullopt : frontend::te::scheduled_program(evaluator, outputs, where);
  if (!program) { return std::nullopt; }
  return Prepared{program->module, std::make_shared<const te::Stages>(te::make_stages(*program, outputs, schedule::Schedule(program->module, 1)))};
}

auto prepare(frontend::File& file, const Task& task) -> std::optional<Prepared> { return prepare(file.evaluator(), task.tensors, task.where); }

auto apply_steps(frontend::File& file, const Task& task, const std::vector<Step>& steps, const RecordPlace& place) -> Result<Applied> {
  auto refused = [&](const std::string& why) { return error(Code::RecordRefused).arg("number", static_cast<int64_t>(place.number)).arg("file", place.file).arg("reason", why); };
  auto prepared = prepare(file, task);
  if (!prepared) { return refused(because(Why::NoTensorsOfWorkload).arg("workload", task.workload).text()); }
  auto done = applied(file, task, *prepared, steps, false);
  if (const auto* why = std::get_if<std::string>(&done)) { return refused(*why).remedy("use a log of this workload, or of the version of TVM that wrote it"); }
  return std::get<Applied>(std::move(done));
}

auto apply_candidate(frontend::File& file, const Task& task, const Prepared& prepared, const std::vector<Step>& steps) -> Result<Applied> {
  auto done = applied(file, task, prepared, steps, true);
  if (const auto* why = std::get_if<std::string>(&done)) { return error(Code::CannotTune).arg("function", task.variable.view()).arg("reason", *why); }
  return std::get<Applied>(std::move(done));
}

}  // namespace loopsmith::script::auto_scheduler
