// Records steps: see recorder.h.
#include "script/recorder.h"

#include <algorithm>

#include "frontend/objects.h"
#include "script/partway.h"
#include "script/refusals.h"
#include "script/te/create.h"
#include "support/codes.h"
#include "syntax/record_form.h"

namespace loopsmith::script {
namespace {

using Part = ScheduleObject::Part;

// The `seed` of `tir.Schedule(program, seed=42)`; none: the call gives no number.
auto seed_of(const eval::Arguments& arguments) -> std::optional<int64_t> {
  static const Name seed("seed");
  const eval::Argument* given = arguments.keyword(seed);
  return given && given->value.is_int() ? std::optional<int64_t>(given->value.int_value()) : std::nullopt;
}

void collect_names(const syntax::Expr& target, const eval::Frame& frame, const ScheduleObject* schedule, Step& step) {
  if (const auto* name = target.as<syntax::NameExpr>()) {
    const eval::Value* value = frame.scope->find_here(name->name);
    if (auto variable = value != nullptr ? variable_of(*value, schedule) : std::nullopt) { step.named.push_back({name->name, std::move(*variable)}); }
    return;
  }
  if (const auto* starred = target.as<syntax::StarredExpr>()) { return collect_names(*starred->value, frame, schedule, step); }
  const syntax::List<syntax::ExprPtr>* elements = nullptr;
  if (const auto* tuple = target.as<syntax::TupleExpr>()) { elements = &tuple->elements; }
  if (const auto* list = target.as<syntax::ListExpr>()) { elements = &list->elements; }
  if (elements) { for (const syntax::Expr* element : *elements) { collect_names(*element, frame, schedule, step); } }
}

// For a compound statement, collects the names at its end: those of the last iteration.
void collect_names(const syntax::Stmt& stmt, const eval::Frame& frame, const ScheduleObject* schedule, Step& step) {
  auto below = [&](const syntax::Block& body) { for (const syntax::Stmt* one : body) { collect_names(*one, frame, schedule, step); } };
  if (const auto* assign = stmt.as<syntax::AssignStmt>()) {
    for (const syntax::Expr* target : assign->targets) { collect_names(*target, frame, schedule, step); }
  } else if (const auto* loop = stmt.as<syntax::ForStmt>()) {
    collect_names(*loop->target, frame, schedule, step);
    below(loop->body);
    below(loop->otherwise);
  } else if (const auto* branch = stmt.as<syntax::IfStmt>()) {
    below(branch->then);
    below(branch->otherwise);
  } else if (const auto* repeat = stmt.as<syntax::WhileStmt>()) {
    below(repeat->body);
    below(repeat->otherwise);
  } else if (const auto* with = stmt.as<syntax::WithStmt>()) {
    below(with->body);
  }
}

}  // namespace

auto make_schedule(const RunRequest& request, IRModule program, std::optional<int64_t> seed, Part part) -> Ref<ScheduleObject> {
  schedule::Schedule sch(std::move(program), seed.value_or(request.seed));
  sch.use_intrinsics(request.intrinsics);
  sch.use_vscale(most_vscale(request.target));
  auto object = eval::make_object<ScheduleObject>(std::move(sch));
  object->record.part = part;
  return object;
}

Recorder::Recorder(ScheduleRun& run, const RunRequest& request)
    : run_(run), request_(request), form_(request.function.form), is_python_(form_.made), is_meant_to_fail_(expects_failure(*request.function.def)) {}

void Recorder::before(eval::Evaluator& evaluator, eval::Frame& frame, size_t index, const syntax::Stmt& stmt) {
  if (request_.watch) { request_.watch(run_, index); }
  keep_frame(run_, index, frame);
  index_ = index;
  made_here_.clear();
  enter_contexts(evaluator, frame, index);
  find_schedule(frame);
  if (schedule_) { schedule_->record.begin_statement(request_.number.value_or(static_cast<uint32_t>(index) + 1)); }
  before_ = schedule_ ? Ref<ScheduleObject>(schedule_) : Ref<ScheduleObject>();
  executed_ = schedule_ ? schedule_->record.executed : 0;
  executed_of_others_ = executed_of_others(frame);
  diagnostics_ = evaluator.diagnostics.size();
  // Limits the memory for a loop that prints without end.
  constexpr size_t most_printed = 1 << 20;
  evaluator.output = [this, &step = run_.steps[index]](std::string_view text) {
    if (request_.output) { request_.output(text); }
    if (step.printed.size() < most_printed) { step.printed += text; }
  };
  evaluator.not_called = [this, &evaluator](const eval::Value& callee, const syntax::CallExpr& written, const eval::Arguments& arguments) {
    if (auto known = te::function_of_schedules(evaluator, callee, written, arguments)) { return known; }
    leave_out_call(callee, *written.callee, arguments);
    return made_by(evaluator, callee, written, arguments);
  };
  evaluator.opaque_at = {};
  start_ = std::chrono::steady_clock::now();
}

auto Recorder::after(eval::Evaluator& evaluator, eval::Frame& frame, size_t index, const syntax::Stmt& stmt, eval::Flow flow) -> bool {
  Step& step = run_.steps[index];
  step.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  // They refer to this recorder, and belong to this statement.
  evaluator.output = nullptr;
  evaluator.not_called = nullptr;
  find_schedule(frame);
  step.primitives = schedule_ ? schedule_->record.executed - (schedule_ == before_.get() ? executed_ : 0) : 0;
  run_.primitives += step.primitives;
  step.diagnostics.assign(evaluator.diagnostics.begin() + static_cast<std::ptrdiff_t>(diagnostics_), evaluator.diagnostics.end());
  set_state(evaluator, frame, step, flow);
  if (step.state == StepState::Failed) {
    if (const ScheduleObject* refused = find_refused(frame, step)) { explain_refusal(step.diagnostics, *refused, *names_of_own(evaluator, frame), evaluator.cancel); }
  }
  if (step.state != StepState::Done) { return false; }
  step.after = schedule_ ? std::make_shared<const schedule::Schedule>(schedule_->schedule) : run_.result;
  run_.result = step.after;
  // Loops and blocks of other schedules do not belong to this one.
  bool is_of_others = step.primitives == 0 && executed_of_others(frame) > executed_of_others_;
  if (!is_of_others) { collect_names(stmt, frame, schedule_, step); }
  find_hole(stmt, step);
  // The evaluator checks cancellation only once in many evaluations; a statement with few evaluations may have taken long.
  return index + 1 < limit && !evaluator.cancel.is_cancelled();
}

void Recorder::set_state(const eval::Evaluator& evaluator, const eval::Frame& frame, Step& step, eval::Flow flow) {
  step.state = flow == eval::Flow::Failed ? StepState::Failed : flow == eval::Flow::Unknown ? StepState::Unknown : StepState::Done;
  if (step.state == StepState::Done && has_errors(step.diagnostics)) { step.state = StepState::Failed; }
  if (step.state == StepState::Done && schedule_ && schedule_->record.is_unknown) { step.state = StepState::Unknown; }
  // In functions that make their own schedule, only refusals of primitives, of steps and of knobs are reported.
  bool is_reported = std::any_of(step.diagnostics.begin(), step.diagnostics.end(), [](const Diagnostic& d) { return d.code == Code::NoSuchKnob || d.code == Code::KnobRefused || d.code == Code::StageRefused; });
  bool is_refused = is_reported || (schedule_ && schedule_->record.is_stage_refused) || find_refused(frame, step);
  if (is_python_ && step.state == StepState::Failed && (is_meant_to_fail_ || !is_refused)) {
    step.state = StepState::Unknown;
    if (!step.diagnostics.empty()) { step.unknown_because = std::move(step.diagnostics.front()); }
    step.diagnostics.clear();
  }
  if (step.state == StepState::Unknown) { step.unknown_at = evaluator.opaque_at; }
}

void Recorder::find_hole(const syntax::Stmt& stmt, Step& step) const {
  const auto* expression = stmt.as<syntax::ExprStmt>();
  if (!schedule_ || !expression) { return; }
  // A search can fill a statement of the body; a call in a helper or a loop is no place for it.
  const auto& hole = schedule_->record.hole;
  if (hole && hole->call.begin == expression->value->origin().begin && hole->call.decl == expression->value->decl) { step.hole = hole; }
  // `...` means `sch.tune()`, unless it can stand for the body of a Python function.
  const auto* constant = is_python_ ? nullptr : expression->value->as<syntax::ConstantExpr>();
  if (constant && constant->value == syntax::ConstantValue::Ellipsis) { step.hole = TuneRequest{.call = expression->value->origin()}; }
}

void Recorder::find_schedule(const eval::Frame& frame) {
  // Snapshots hold copies of the schedule; the object that the next statement changes is the one in the frame.
  schedule_ = nullptr;
  const eval::Value* value = frame.scope->find_here(form_.variable);
  const auto* named = value != nullptr ? value->as<ScheduleObject>() : nullptr;
  // A function of the file gives a schedule that was made here; a record gives a whole one.
  const bool is_given = named && form_.is_call && index_ == form_.made_at && (is_made_here(named) || (named->record.part == Part::Beside && syntax::applies_record(*form_.made)));
  if (is_given) { named->record.part = Part::Own; }
  is_made = is_made || (named && named->record.part == Part::Own) || std::any_of(made_here_.begin(), made_here_.end(), [](const auto& one) { return one->record.part == Part::Own; });
  if (!is_made) { return; }
  if (named && named->record.part != Part::Other) {
    schedule_ = named;
    return;
  }
  auto find_in_frame = [&](auto&& is_it) -> const ScheduleObject* {
    for (const auto& [name, slot] : frame.scope->slots()) {
      const auto* object = slot.as<ScheduleObject>();
      if (object && is_it(object->record.part)) { return object; }
    }
    return nullptr;
  };
  schedule_ = find_in_frame([](Part part) { return part == Part::Own; });
  if (schedule_) { return; }
  // A function that makes a schedule may keep it to itself.
  for (const auto& one : made_here_) {
    if (one->record.part == Part::Own) { schedule_ = one.get(); }
  }
  if (!schedule_ && !is_python_) { schedule_ = find_in_frame([](Part part) { return part != Part::Other; }); }
}

void Recorder::enter_contexts(eval::Evaluator& evaluator, const eval::Frame& frame, size_t index) const {
  const auto& contexts = request_.function.contexts;
  if (index < contexts.size()) { script::enter_contexts(evaluator, contexts[index], frame.scope); }
}

auto Recorder::made_by(eval::Evaluator& evaluator, const eval::Value& callee, const syntax::CallExpr& written, const eval::Arguments& arguments) -> std::optional<eval::Value> {
  if (!callee.is_opaque() || !syntax::is_schedule_made(written)) { return std::nullopt; }
  static const Name mod("mod"), ops("ops");
  const eval::Argument* given = arguments.positional > 0 ? &arguments.all[0] : arguments.keyword(syntax::makes_stages(written) ? ops : mod);
  Made made = given ? made_of(evaluator, given->value, written) : Made{};
  auto is_it = [&](const syntax::ScheduleForm& form) { return form.made && (form.is_call ? form.made_at == index_ : form.made->origin() == written.origin()); };
  auto part = is_it(form_) ? Part::Own : Part::Beside;
  if (part == Part::Beside && std::any_of(request_.function.others.begin(), request_.function.others.end(), is_it)) { part = Part::Other; }
  IRModule module = made.module ? made.module : part == Part::Own && !form_.is_call && !syntax::makes_stages(written) ? request_.program : IRModule();
  if (!module) { return std::nullopt; }
  made_here_.push_back(make_schedule(request_, std::move(module), seed_of(arguments), part));
  te::add_stages(*made_here_.back(), made);
  made_here_.back()->record.step = request_.number.value_or(static_cast<uint32_t>(index_) + 1);
  return eval::Value(Ref<eval::Object>(made_here_.back().get()));
}

auto Recorder::is_made_here(const ScheduleObject* object) const -> bool {
  return std::any_of(made_here_.begin(), made_here_.end(), [&](const auto& one) { return one.get() == object; });
}

auto Recorder::find_refused(const eval::Frame& frame, const Step& step) const -> const ScheduleObject* {
  if (schedule_ && schedule_->record.refused) { return schedule_; }
  auto is_reported = [&](const ScheduleObject* object) {
    return object && object->record.refused && std::any_of(step.diagnostics.begin(), step.diagnostics.end(), [&](const Diagnostic& d) {
      const Origin& call = object->record.refused->call;
      return d.where.decl == call.decl && d.where.begin >= call.begin && d.where.end <= call.end;
    });
  };
  for (const auto& one : made_here_) {
    if (is_reported(one.get())) { return one.get(); }
  }
  for (const auto& [name, slot] : frame.scope->slots()) {
    if (const auto* object = slot.as<ScheduleObject>(); is_reported(object)) { return object; }
  }
  return nullptr;
}

auto Recorder::names_of_own(eval::Evaluator& evaluator, const eval::Frame& frame) const -> eval::ScopeRef {
  if (request_.function.others.empty()) { return frame.scope; }
  eval::ScopeRef own = evaluator.new_scope({});
  for (const auto& [name, value] : frame.scope->slots()) {
    auto is_it = [&, wanted = name](const Step& step) {
      return std::any_of(step.named.begin(), step.named.end(), [&](const Step::Named& named) { return named.name == wanted; });
    };
    if (!variable_of(value) || std::any_of(run_.steps.begin(), run_.steps.begin() + static_cast<std::ptrdiff_t>(index_), is_it)) { own->set(name, value); }
  }
  return own;
}

auto Recorder::executed_of_others(const eval::Frame& frame) const -> uint64_t {
  uint64_t executed = 0;
  if (request_.function.others.empty()) { return executed; }
  for (const auto& [name, slot] : frame.scope->slots()) {
    const auto* object = slot.as<ScheduleObject>();
    if (object && object->record.part == Part::Other) { executed += object->record.executed; }
  }
  return executed;
}

}  // namespace loopsmith::script
