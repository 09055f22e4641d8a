// Running a schedule function step by step: see run.h.
#include "script/run.h"

#include <algorithm>
#include <chrono>

#include "script/objects.h"
#include "script/refusals.h"

namespace loopsmith::script {
namespace {

using syntax::Kind;

// "Schedule", "tir.Schedule", "T.Schedule", "tvm.tir.Schedule".
auto names_schedule(const syntax::Expr* annotation) -> bool {
  if (!annotation) { return false; }
  if (const auto* attribute = annotation->as<syntax::AttributeExpr>()) { return attribute->attr.name == "Schedule"; }
  if (const auto* name = annotation->as<syntax::NameExpr>()) { return name->name == "Schedule"; }
  if (const auto* text = annotation->as<syntax::StringExpr>()) { return text->value.ends_with("Schedule"); }
  return false;
}

// `ls.schedule(...)` or `schedule(...)`.
auto schedule_decorator(const syntax::FunctionDef& def) -> const syntax::CallExpr* {
  for (const syntax::Expr* decorator : def.decorators) {
    const auto* call = decorator->as<syntax::CallExpr>();
    const auto* attribute = call ? call->callee->as<syntax::AttributeExpr>() : nullptr;
    if (!attribute || !(attribute->attr.name == "schedule")) { continue; }
    const auto* object = attribute->object->as<syntax::NameExpr>();
    if (object && (object->name == "ls" || object->name == "loopsmith")) { return call; }
  }
  return nullptr;
}

// Records the steps of one run.
class Recorder final : public eval::Observer {
 public:
  Recorder(ScheduleRun& run, const ScheduleObject* schedule, size_t limit) : run_(run), schedule_(schedule), limit_(limit) {}

  void before(eval::Evaluator& evaluator, eval::Frame& frame, size_t index, const syntax::Stmt& stmt) override {
    run_.frames.resize(index);
    run_.frames.push_back(frame.snapshot());
    find_schedule(frame);
    schedule_->step = static_cast<uint32_t>(index) + 1;
    executed_ = schedule_->executed;
    schedule_->hole.reset();
    diagnostics_ = evaluator.diagnostics.size();
    // What loops print without end is of no use to anybody.
    constexpr size_t most_printed = 1 << 20;
    evaluator.output = [&step = run_.steps[index]](std::string_view text) {
      if (step.printed.size() < most_printed) { step.printed += text; }
    };
    start_ = std::chrono::steady_clock::now();
  }

  auto after(eval::Evaluator& evaluator, eval::Frame& frame, size_t index, const syntax::Stmt& stmt, eval::Flow flow) -> bool override {
    Step& step = run_.steps[index];
    step.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    find_schedule(frame);
    step.primitives = schedule_->executed - executed_;
    run_.primitives += step.primitives;
    step.diagnostics.assign(evaluator.diagnostics.begin() + static_cast<std::ptrdiff_t>(diagnostics_), evaluator.diagnostics.end());
    step.state = flow == eval::Flow::Failed ? StepState::Failed : flow == eval::Flow::Unknown ? StepState::Unknown : StepState::Done;
    if (step.state == StepState::Done && has_errors(step.diagnostics)) { step.state = StepState::Failed; }
    if (step.state == StepState::Failed) { explain_refusal(step.diagnostics, *schedule_, *frame.scope, evaluator.cancel); }
    if (step.state != StepState::Done) { return false; }
    step.after = std::make_shared<const schedule::Schedule>(schedule_->schedule);
    run_.result = step.after;
    collect_names(stmt, frame, step);
    // In a helper or a loop it is no place that a search could fill.
    const auto* expression = stmt.as<syntax::ExprStmt>();
    step.hole = expression && schedule_->hole && schedule_->hole->call.begin == expression->value->origin().begin && schedule_->hole->call.decl == expression->value->decl
                    ? schedule_->hole
                    : std::nullopt;
    // A statement of few evaluations may have been long.
    return index + 1 < limit_ && !evaluator.cancel.is_cancelled();
  }

  void find_schedule(const eval::Frame& frame) {
    // A snapshot copies the schedule, so the object to watch is the frame's own.
    for (const auto& [name, value] : frame.scope->slots()) {
      if (const auto* object = value.as<ScheduleObject>()) { schedule_ = object; return; }
    }
  }

 private:
  static void collect_names(const syntax::Expr& target, const eval::Frame& frame, Step& step) {
    if (const auto* name = target.as<syntax::NameExpr>()) {
      const eval::Value* value = frame.scope->find_here(name->name);
      if (value) {
        if (const auto* variable = value->as<VariableObject>()) { step.named.push_back({name->name, variable->variable}); }
      }
      return;
    }
    const syntax::List<syntax::ExprPtr>* elements = nullptr;
    if (const auto* tuple = target.as<syntax::TupleExpr>()) { elements = &tuple->elements; }
    if (const auto* list = target.as<syntax::ListExpr>()) { elements = &list->elements; }
    if (elements) { for (const syntax::Expr* element : *elements) { collect_names(*element, frame, step); } }
  }
  static void collect_names(const syntax::Stmt& stmt, const eval::Frame& frame, Step& step) {
    if (const auto* assign = stmt.as<syntax::AssignStmt>()) {
      for (const syntax::Expr* target : assign->targets) { collect_names(*target, frame, step); }
    }
  }

  ScheduleRun& run_;
  const ScheduleObject* schedule_;
  size_t limit_;
  uint64_t executed_ = 0;
  size_t diagnostics_ = 0;
  std::chrono::steady_clock::time_point start_;
};

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

// A helper of schedule functions: `def tiled(sch: tir.Schedule, rows, columns)`.
auto needs_more_arguments(const syntax::FunctionDef& def) -> bool {
  for (size_t i = 1; i < def.params.size(); ++i) {
    const syntax::Param& p = def.params[static_cast<uint32_t>(i)];
    if (p.kind == syntax::ParamKind::Plain && !p.default_value) { return true; }
  }
  return false;
}

}  // namespace

auto as_schedule_function(const syntax::FunctionDef& def, std::shared_ptr<const void> tree, std::string_view text)
    -> std::optional<ScheduleFunction> {
  ScheduleFunction out{&def, std::move(tree), text, nullptr, nullptr};
  const syntax::CallExpr* decorator = schedule_decorator(def);
  bool annotated = !def.params.empty() && names_schedule(def.params[0].annotation) && !needs_more_arguments(def);
  if (!decorator && !annotated) { return {}; }
  if (decorator) {
    if (!decorator->args.empty()) { out.program = decorator->args[0]; }
    for (const syntax::Keyword& keyword : decorator->keywords) {
      if (keyword.name.name == "target") { out.target = keyword.value; }
      if (keyword.name.name == "program" && !out.program) { out.program = keyword.value; }
    }
  }
  return out;
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
    schedule::Schedule sch(request.program, request.seed);
    sch.use_intrinsics(request.intrinsics);
    auto object = eval::make_object<ScheduleObject>(std::move(sch));
    eval::Arguments arguments;
    arguments.all.push_back({eval::Value(Ref<eval::Object>(object.get())), def.origin(), {}});
    arguments.positional = 1;
    arguments.call = def.origin();
    std::optional<eval::Frame> started = evaluator.start(function, arguments);
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
  Recorder recorder(run, nullptr, limit);
  recorder.find_schedule(frame);
  evaluator.resume_from(keep, frame, function, &recorder);
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
