// Running a schedule function step by step: see run.h.
#include "script/run.h"

#include <algorithm>
#include <chrono>

#include "frontend/inside.h"
#include "frontend/objects.h"
#include "ir/equal.h"
#include "script/objects.h"
#include "script/refusals.h"
#include "support/codes.h"

namespace loopsmith::script {
namespace {

using syntax::Kind;

// `@pytest.mark.xfail(...)`: a test that is known to fail.
auto expects_failure(const syntax::FunctionDef& def) -> bool {
  return std::any_of(def.decorators.begin(), def.decorators.end(), [](const syntax::Expr* decorator) {
    if (const auto* call = decorator->as<syntax::CallExpr>()) { decorator = call->callee; }
    const auto* attribute = decorator->as<syntax::AttributeExpr>();
    return attribute && attribute->attr.name == "xfail";
  });
}

// Records the steps of one run.
class Recorder final : public eval::Observer {
 public:
  Recorder(ScheduleRun& run, const RunRequest& request)
      : run_(run), variable_(request.function.form.variable), is_python_(request.function.form.made), is_meant_to_fail_(expects_failure(*request.function.def)), watch_(request.watch) {}

  /// Statements from here on are not run.
  size_t limit = 0;

  void before(eval::Evaluator& evaluator, eval::Frame& frame, size_t index, const syntax::Stmt& stmt) override {
    if (watch_) { watch_(run_, index); }
    run_.frames.resize(index);
    run_.frames.push_back(frame.snapshot());
    find_schedule(frame);
    if (schedule_) {
      schedule_->step = static_cast<uint32_t>(index) + 1;
      schedule_->refused.reset();
      schedule_->is_unknown = false;
      schedule_->hole.reset();
    }
    executed_ = schedule_ ? schedule_->executed : 0;
    diagnostics_ = evaluator.diagnostics.size();
    // What loops print without end is of no use to anybody.
    constexpr size_t most_printed = 1 << 20;
    evaluator.output = [&step = run_.steps[index]](std::string_view text) {
      if (step.printed.size() < most_printed) { step.printed += text; }
    };
    evaluator.not_called = leave_out_call;
    evaluator.opaque_at = {};
    start_ = std::chrono::steady_clock::now();
  }

  auto after(eval::Evaluator& evaluator, eval::Frame& frame, size_t index, const syntax::Stmt& stmt, eval::Flow flow) -> bool override {
    Step& step = run_.steps[index];
    step.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    find_schedule(frame);
    step.primitives = schedule_ ? schedule_->executed - executed_ : 0;
    run_.primitives += step.primitives;
    step.diagnostics.assign(evaluator.diagnostics.begin() + static_cast<std::ptrdiff_t>(diagnostics_), evaluator.diagnostics.end());
    step.state = flow == eval::Flow::Failed ? StepState::Failed : flow == eval::Flow::Unknown ? StepState::Unknown : StepState::Done;
    if (step.state == StepState::Done && has_errors(step.diagnostics)) { step.state = StepState::Failed; }
    if (schedule_ && schedule_->is_unknown && step.state == StepState::Done) { step.state = StepState::Unknown; }
    // What Python around primitives may do is its own matter.
    if (is_python_ && step.state == StepState::Failed && (is_meant_to_fail_ || !schedule_ || !schedule_->refused)) {
      step.state = StepState::Unknown;
      if (!step.diagnostics.empty()) { step.unknown_because = std::move(step.diagnostics.front()); }
      step.diagnostics.clear();
    }
    if (step.state == StepState::Unknown) { step.unknown_at = evaluator.opaque_at; }
    if (step.state == StepState::Failed && schedule_) { explain_refusal(step.diagnostics, *schedule_, *frame.scope, evaluator.cancel); }
    if (step.state != StepState::Done) { return false; }
    step.after = schedule_ ? std::make_shared<const schedule::Schedule>(schedule_->schedule) : run_.result;
    run_.result = step.after;
    collect_names(stmt, frame, step);
    // In a helper or a loop it is no place that a search could fill.
    const auto* expression = stmt.as<syntax::ExprStmt>();
    step.hole = expression && schedule_ && schedule_->hole && schedule_->hole->call.begin == expression->value->origin().begin && schedule_->hole->call.decl == expression->value->decl
                    ? schedule_->hole
                    : std::nullopt;
    // `...` says the same with nothing said.
    const auto* constant = expression != nullptr && !is_python_ ? expression->value->as<syntax::ConstantExpr>() : nullptr;
    if (schedule_ && constant != nullptr && constant->value == syntax::ConstantValue::Ellipsis) { step.hole = Hole{.call = expression->value->origin()}; }
    // A statement of few evaluations may have been long.
    return index + 1 < limit && !evaluator.cancel.is_cancelled();
  }

  void find_schedule(const eval::Frame& frame) {
    // A snapshot copies the schedule, so the object to watch is the frame's own.
    schedule_ = nullptr;
    if (const eval::Value* value = frame.scope->find_here(variable_)) { schedule_ = value->as<ScheduleObject>(); }
    if (schedule_) { return; }
    for (const auto& [name, value] : frame.scope->slots()) {
      if (const auto* object = value.as<ScheduleObject>()) { schedule_ = object; return; }
    }
  }

 private:
  /// What a value is to a schedule: a variable, or a list of nothing else (`loops = sch.get_loops(c)`). None: something else.
  static auto variable_of(const eval::Value& value) -> std::optional<schedule::Value> {
    if (const auto* variable = value.as<VariableObject>()) { return variable->variable; }
    const std::vector<eval::Value>* items = nullptr;
    if (const auto* list = value.as<eval::List>()) { items = &list->items; }
    if (const auto* tuple = value.as<eval::Tuple>()) { items = &tuple->items; }
    if (items == nullptr || items->empty()) { return std::nullopt; }
    schedule::Value::List variables;
    for (const eval::Value& item : *items) {
      const auto* variable = item.as<VariableObject>();
      if (variable == nullptr) { return std::nullopt; }
      variables.push_back(variable->variable);
    }
    return schedule::Value(std::move(variables));
  }
  static void collect_names(const syntax::Expr& target, const eval::Frame& frame, Step& step) {
    if (const auto* name = target.as<syntax::NameExpr>()) {
      const eval::Value* value = frame.scope->find_here(name->name);
      if (auto variable = value != nullptr ? variable_of(*value) : std::nullopt) { step.named.push_back({name->name, std::move(*variable)}); }
      return;
    }
    if (const auto* starred = target.as<syntax::StarredExpr>()) { return collect_names(*starred->value, frame, step); }
    const syntax::List<syntax::ExprPtr>* elements = nullptr;
    if (const auto* tuple = target.as<syntax::TupleExpr>()) { elements = &tuple->elements; }
    if (const auto* list = target.as<syntax::ListExpr>()) { elements = &list->elements; }
    if (elements) { for (const syntax::Expr* element : *elements) { collect_names(*element, frame, step); } }
  }
  /// Of a statement with statements in it, what its names are at its end: those of the last iteration.
  static void collect_names(const syntax::Stmt& stmt, const eval::Frame& frame, Step& step) {
    auto below = [&](const syntax::Block& body) { for (const syntax::Stmt* one : body) { collect_names(*one, frame, step); } };
    if (const auto* assign = stmt.as<syntax::AssignStmt>()) {
      for (const syntax::Expr* target : assign->targets) { collect_names(*target, frame, step); }
    } else if (const auto* loop = stmt.as<syntax::ForStmt>()) {
      collect_names(*loop->target, frame, step);
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

  ScheduleRun& run_;
  Name variable_;
  bool is_python_;
  bool is_meant_to_fail_;
  const StepWatch& watch_;
  const ScheduleObject* schedule_ = nullptr;   // null: not made yet
  uint64_t executed_ = 0;
  size_t diagnostics_ = 0;
  std::chrono::steady_clock::time_point start_;
};

// The `seed` of `tir.Schedule(program, seed=42)`; none: it has no number there.
auto seed_of(const syntax::CallExpr& made, eval::Evaluator& evaluator, const eval::ScopeRef& scope) -> std::optional<int64_t> {
  const syntax::Expr* said = nullptr;
  for (const syntax::Keyword& keyword : made.keywords) {
    if (keyword.name.name == "seed") { said = keyword.value; }
  }
  if (!said) { return {}; }
  size_t reported = evaluator.diagnostics.size();
  eval::Value value = evaluator.eval(*said, scope);
  evaluator.diagnostics.resize(reported);
  return value.is_int() ? std::optional<int64_t>(value.int_value()) : std::nullopt;
}

// What is scheduled, as the statements before have it. A program that they make is made anew by each run, with variables of its own: what they
// take of it (`n = before.buffer_map[...].shape[1]`, for a map) means those.
auto program_here(const RunRequest& request, eval::Evaluator& evaluator, const eval::ScopeRef& scope) -> IRModule {
  size_t reported = evaluator.diagnostics.size();
  eval::Value value = request.function.program ? evaluator.eval(*request.function.program, scope) : eval::Value();
  evaluator.diagnostics.resize(reported);
  const auto* here = value.as<frontend::ProgramObject>();
  bool is_anew = here && !here->module.same_as(request.program) && structural_equal(here->module, request.program);
  return is_anew ? here->module : request.program;
}

auto make_schedule(const RunRequest& request, IRModule program, std::optional<int64_t> seed = {}) {
  schedule::Schedule sch(std::move(program), seed.value_or(request.seed));
  sch.use_intrinsics(request.intrinsics);
  sch.use_vscale(most_vscale(request.target));
  return eval::make_object<ScheduleObject>(std::move(sch));
}

auto common_prefix(std::string_view a, std::string_view b) -> size_t {
  return static_cast<size_t>(std::mismatch(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(std::min(a.size(), b.size())), b.begin()).first - a.begin());
}

// How many steps of the last run still stand: those that end before the first changed byte, with the same number of
// statements' worth of text in front of them.
auto steps_to_keep(const RunRequest& request, const ScheduleRun& before) -> size_t {
  if (before.context != request.context || before.intrinsics != request.intrinsics || !before.program.same_as(request.program) || before.target != request.target ||
      !(before.name == request.function.def->name.name)) {
    return 0;
  }
  size_t same = common_prefix(before.text, request.function.text);
  bool whole = same == before.text.size() && same == request.function.text.size();
  const syntax::Block& body = request.function.def->body;
  size_t keep = 0;
  while (keep < body.size() && keep < before.steps.size()) {
    const syntax::Stmt& stmt = *body[static_cast<uint32_t>(keep)];
    const Step& step = before.steps[keep];
    // A byte after the statement belongs to it too: `f(x)` before `f(x).y`.
    if (!whole && stmt.span.end >= same) { break; }
    if (step.where.begin != stmt.span.begin || step.where.end != stmt.span.end) { break; }
    if (step.state != StepState::Done || keep >= before.frames.size()) { break; }
    ++keep;
  }
  // To go on after the last kept step the call must be known there.
  while (keep > 0 && keep >= before.frames.size()) { --keep; }
  return keep;
}

}  // namespace

auto as_schedule_function(const syntax::FunctionDef& def, std::shared_ptr<const void> tree, std::string_view text)
    -> std::optional<ScheduleFunction> {
  std::optional<syntax::ScheduleForm> form = syntax::schedule_form(def);
  if (!form) { return {}; }
  ScheduleFunction out{&def, *form, std::move(tree), text, nullptr, nullptr};
  if (form->made) { out.program = syntax::scheduled_program(*form->made); }
  if (form->decorator) {
    if (!form->decorator->args.empty()) { out.program = form->decorator->args[0]; }
    for (const syntax::Keyword& keyword : form->decorator->keywords) {
      if (keyword.name.name == "target") { out.target = keyword.value; }
      if (keyword.name.name == "program" && !out.program) { out.program = keyword.value; }
    }
  }
  return out;
}

auto start_call(eval::Evaluator& evaluator, const ScheduleFunction& function, const Ref<eval::Function>& callee, const eval::Value& schedule)
    -> std::optional<eval::Frame> {
  const syntax::FunctionDef& def = *function.def;
  eval::Arguments arguments;
  arguments.call = def.origin();
  if (!function.form.made) {
    arguments.all.push_back({schedule, def.origin(), {}});
    arguments.positional = 1;
    return evaluator.start(callee, arguments);
  }
  for (const syntax::Param& p : def.params) {
    if (p.kind != syntax::ParamKind::Plain) { continue; }
    eval::Value first = frontend::first_value(evaluator, def, p, {});
    if (first.is_opaque() && p.default_value) { continue; }
    arguments.all.push_back({std::move(first), def.origin(), p.name.name});
  }
  return evaluator.start(callee, arguments);
}

auto ScheduleRun::why_incomplete() const -> std::optional<Diagnostic> {
  auto step = std::find_if(steps.begin(), steps.end(), [](const Step& s) { return s.state == StepState::Unknown; });
  if (step == steps.end()) { return {}; }
  if (step->unknown_because) {
    const Diagnostic& because = *step->unknown_because;
    Diagnostic said = error(Code::ScheduleIncomplete, step->where).arg("name", name.view());
    return std::move(said).note(because.where.is_known() ? because.where : step->where, because.message());
  }
  Origin at = step->unknown_at.is_known() ? step->unknown_at : step->where;
  Diagnostic said = error(Code::ScheduleIncomplete, at).arg("name", name.view());
  bool is_elsewhere = at.decl != step->where.decl || at.begin < step->where.begin || at.end > step->where.end;
  if (is_elsewhere) { return std::move(said).note(step->where, "in what this step calls"); }
  return said;
}

auto ScheduleRun::all_diagnostics() const -> Diagnostics {
  Diagnostics out = diagnostics;
  for (const Step& step : steps) { out.insert(out.end(), step.diagnostics.begin(), step.diagnostics.end()); }
  return out;
}

auto run_schedule(const RunRequest& request, const ScheduleRun* before) -> ScheduleRun {
  const syntax::FunctionDef& def = *request.function.def;
  ScheduleRun run;
  run.name = def.name.name;
  run.decl = def.decl;
  run.program = request.program;
  run.target = request.target;
  run.context = request.context;
  run.intrinsics = request.intrinsics;
  run.makes_its_own = request.function.form.made != nullptr;
  run.text = std::string(request.function.text);
  run.steps.resize(def.body.size());
  for (size_t i = 0; i < run.steps.size(); ++i) {
    run.steps[i].index = i;
    run.steps[i].where = def.body[static_cast<uint32_t>(i)]->origin();
  }

  eval::Evaluator evaluator(request.heap ? request.heap : std::make_shared<eval::Heap>());
  evaluator.cancel = request.cancel;
  evaluator.globals = request.globals;
  evaluator.tree = request.function.tree;
  // Defaults of parameters are evaluated as any function's are.
  eval::Value made = evaluator.make_function(def, eval::ScopeRef());
  if (!made.as<eval::Function>()) {
    run.diagnostics = std::move(evaluator.diagnostics);
    return run;
  }
  Ref<eval::Function> function(made.as<eval::Function>());
  size_t limit = std::min(run.steps.size(), request.steps.value_or(run.steps.size()));
  size_t keep = before ? steps_to_keep(request, *before) : 0;
  keep = std::min(keep, limit);
  eval::Frame frame;
  if (keep > 0) {
    for (size_t i = 0; i < keep; ++i) {
      run.steps[i] = before->steps[i];
      run.frames.push_back(before->frames[i]);
    }
    run.result = run.steps[keep - 1].after;
    run.earlier_decls = before->earlier_decls;
    if (before->decl != run.decl) { run.earlier_decls.push_back(before->decl); }
    frame = before->frames[keep].snapshot();
  } else {
    auto object = make_schedule(request, request.program);
    std::optional<eval::Frame> started = start_call(evaluator, request.function, function, eval::Value(Ref<eval::Object>(object.get())));
    if (!started) {
      run.diagnostics = std::move(evaluator.diagnostics);
      return run;
    }
    frame = std::move(*started);
    run.result = std::make_shared<const schedule::Schedule>(object->schedule);
  }
  run.first_step = keep;
  if (keep == limit) {
    run.is_complete = keep == run.steps.size();
    run.frames.push_back(std::move(frame));
    return run;
  }
  Recorder recorder(run, request);
  auto run_to = [&](size_t from, size_t end) {
    recorder.limit = end;
    if (from < end) { evaluator.resume_from(from, frame, function, &recorder); }
    return end == 0 || run.steps[end - 1].state == StepState::Done;
  };
  const syntax::ScheduleForm& form = request.function.form;
  if (!form.made || form.made_at < keep) {
    run_to(keep, limit);
  } else if (run_to(keep, std::min(form.made_at, limit)) && form.made_at < limit && !evaluator.cancel.is_cancelled()) {
    // `sch = tir.Schedule(...)` itself: its program is known.
    run.frames.resize(form.made_at);
    run.frames.push_back(frame.snapshot());
    auto object = make_schedule(request, program_here(request, evaluator, frame.scope), seed_of(*form.made, evaluator, frame.scope));
    frame.scope->set(form.variable, eval::Value(Ref<eval::Object>(object.get())));
    Step& step = run.steps[form.made_at];
    step.state = StepState::Done;
    step.after = run.result = std::make_shared<const schedule::Schedule>(object->schedule);
    run_to(form.made_at + 1, limit);
  }
  bool all_done = std::all_of(run.steps.begin(), run.steps.end(), [](const Step& s) { return s.state == StepState::Done; });
  // An early `return` leaves later statements not run; that is complete too.
  run.is_complete = all_done || (frame.flow == eval::Flow::Return && !has_errors(evaluator.diagnostics));
  // Behind the last statement that ran: where the next run goes on. One that failed changed the frame, and is run again from its own;
  // behind a `return` nothing runs.
  auto done = static_cast<size_t>(std::find_if(run.steps.begin(), run.steps.end(), [](const Step& s) { return s.state != StepState::Done; }) - run.steps.begin());
  if (done == run.frames.size() && frame.flow != eval::Flow::Return) { run.frames.push_back(frame.snapshot()); }
  return run;
}

}  // namespace loopsmith::script
