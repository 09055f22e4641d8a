// Runs a schedule function step by step: see run.h.
#include "script/run.h"

#include <algorithm>

#include "frontend/inner_programs.h"
#include "frontend/objects.h"
#include "ir/equal.h"
#include "script/autotvm/config.h"
#include "script/recorder.h"
#include "script/te/create.h"
#include "support/codes.h"
#include "support/guards.h"
#include "support/reasons.h"

namespace loopsmith::script {
namespace {

using syntax::Kind;

auto seed_of(const syntax::CallExpr& made, eval::Evaluator& evaluator, const eval::ScopeRef& scope) -> std::optional<int64_t> {
  const syntax::Expr* given = nullptr;
  for (const syntax::Keyword& keyword : made.keywords) {
    if (keyword.name.name == "seed") { given = keyword.value; }
  }
  if (!given) { return {}; }
  WithoutReports quiet(evaluator.diagnostics);
  eval::Value value = evaluator.eval(*given, scope);
  return value.is_int() ? std::optional<int64_t>(value.int_value()) : std::nullopt;
}

// The scheduled program that the statements before made. Each run makes a program in its body anew, with new variables: expressions that
// the statements take from it (`n = before.buffer_map[...].shape[1]`, for a map) refer to these variables.
auto program_here(const RunRequest& request, eval::Evaluator& evaluator, const eval::ScopeRef& scope) -> Made {
  WithoutReports quiet(evaluator.diagnostics);
  eval::Value value = request.function.program ? evaluator.eval(*request.function.program, scope) : eval::Value();
  Made here = request.function.form.made ? made_of(evaluator, value, *request.function.form.made) : Made{};
  // The choices of a template's knobs may decide what it computes.
  if (request.goes_on_from_other || (request.decisions && here.module)) { return here; }
  bool is_anew = here.module && !here.module.same_as(request.program) && structural_equal(here.module, request.program);
  return is_anew ? here : Made{request.program, nullptr};
}

// The program of another schedule of the function; null: it is unknown.
auto program_of(const syntax::ScheduleForm& form, eval::Evaluator& evaluator, const eval::ScopeRef& scope) -> Made {
  WithoutReports quiet(evaluator.diagnostics);
  return made_of(evaluator, evaluator.eval(*syntax::scheduled_program(*form.made), scope), *form.made);
}

auto common_prefix(std::string_view a, std::string_view b) -> size_t {
  return static_cast<size_t>(std::mismatch(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(std::min(a.size(), b.size())), b.begin()).first - a.begin());
}

// The number of steps of the last run that are still valid: they end before the first changed byte, and the text in front of them is the same.
auto steps_to_keep(const RunRequest& request, const ScheduleRun& before) -> size_t {
  if (before.context != request.context || before.intrinsics != request.intrinsics || !before.asked.same_as(request.program) || before.target != request.target ||
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
    // The byte behind the statement must be the same too: behind `f(x)`, `.y` would belong to the statement.
    if (!whole && stmt.span.end >= same) { break; }
    if (step.where.begin != stmt.span.begin || step.where.end != stmt.span.end) { break; }
    if (step.state != StepState::Done || keep >= before.frames.size()) { break; }
    ++keep;
  }
  // The run continues behind the last kept step, where the frame of the call must be available.
  while (keep > 0 && (keep >= before.frames.size() || !before.frames[keep].scope)) { --keep; }
  return keep;
}

}  // namespace

auto as_schedule_function(const syntax::FunctionDef& def, std::shared_ptr<const void> tree, std::string_view text)
    -> std::optional<ScheduleFunction> {
  std::optional<syntax::ScheduleForm> form = syntax::schedule_form(def);
  if (!form) { return {}; }
  return as_schedule_function(def, std::move(tree), text, *form);
}

auto as_schedule_function(const syntax::FunctionDef& def, std::shared_ptr<const void> tree, std::string_view text, const syntax::ScheduleForm& form)
    -> ScheduleFunction {
  ScheduleFunction out{.def = &def, .form = form, .tree = std::move(tree), .text = text, .others = {}, .contexts = {}, .arguments = {}};
  if (form.made && !form.is_call) { out.program = syntax::scheduled_program(*form.made); }
  if (form.decorator) {
    if (!form.decorator->args.empty()) { out.program = form.decorator->args[0]; }
    for (const syntax::Keyword& keyword : form.decorator->keywords) {
      if (keyword.name.name == "target") { out.target = keyword.value; }
      if (keyword.name.name == "program" && !out.program) { out.program = keyword.value; }
    }
  }
  return out;
}

void keep_frame(ScheduleRun& run, size_t step, const eval::Frame& frame) {
  // About 100 MB, if the values are lists of a few variables.
  constexpr size_t most_values = 1'000'000;
  run.frames.resize(step);
  if (step % run.frame_gap != 0) {
    run.frames.emplace_back();
    return;
  }
  eval::Cloner cloner;
  run.frames.push_back(frame.snapshot(cloner));
  run.frame_values += cloner.size() + 1;
  if (run.frame_values <= most_values) { return; }
  // Removes every second frame, and keeps only every second one from here on.
  run.frame_gap *= 2;
  run.frame_values /= 2;
  for (size_t i = 0; i < run.frames.size(); ++i) {
    if (i % run.frame_gap != 0) { run.frames[i] = {}; }
  }
}

namespace {

// Runs recorded statements a second time, up to the one at `end`.
class RunAgain final : public eval::Observer {
 public:
  explicit RunAgain(size_t end) : end_(end) {}
  void before(eval::Evaluator&, eval::Frame& frame, size_t index, const syntax::Stmt&) override {
    for (const auto& [name, value] : frame.scope->slots()) {
      if (const auto* object = value.as<ScheduleObject>()) { object->record.begin_statement(static_cast<uint32_t>(index) + 1); }
    }
  }
  auto after(eval::Evaluator&, eval::Frame&, size_t index, const syntax::Stmt&, eval::Flow) -> bool override { return index + 1 < end_; }

 private:
  size_t end_;
};

}  // namespace

auto frame_before(const ScheduleRun& run, size_t step) -> std::optional<eval::Frame> {
  if (step >= run.frames.size()) { return std::nullopt; }
  size_t known = step;
  while (known > 0 && !run.frames[known].scope) { --known; }
  if (!run.frames[known].scope) { return std::nullopt; }
  eval::Frame frame = run.frames[known].snapshot();
  if (known == step) { return frame; }
  // The evaluator alone cannot run a statement that makes the schedule.
  if (run.makes_its_own || !frame.function || !frame.function->def) { return std::nullopt; }
  RunAgain again(step);
  eval::Evaluator().resume_from(known, frame, frame.function, &again);
  if (frame.next != step || frame.flow != eval::Flow::Next) { return std::nullopt; }
  return frame;
}

auto expects_failure(const syntax::FunctionDef& def) -> bool {
  return std::any_of(def.decorators.begin(), def.decorators.end(), [](const syntax::Expr* decorator) {
    if (const auto* call = decorator->as<syntax::CallExpr>()) { decorator = call->callee; }
    const auto* attribute = decorator->as<syntax::AttributeExpr>();
    return attribute && attribute->attr.name == "xfail";
  });
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
  size_t given = 0;
  for (const syntax::Param& p : def.params) {
    if (p.kind != syntax::ParamKind::Plain) { continue; }
    if (given < function.arguments.size()) {
      arguments.all.push_back({function.arguments[given++], def.origin(), p.name.name});
      continue;
    }
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
    Diagnostic incomplete = error(Code::ScheduleIncomplete, step->where).arg("name", name.view());
    return std::move(incomplete).note(because.where.is_known() ? because.where : step->where, because.message());
  }
  Origin at = step->unknown_at.is_known() ? step->unknown_at : step->where;
  Diagnostic incomplete = error(Code::ScheduleIncomplete, at).arg("name", name.view());
  bool is_elsewhere = at.decl != step->where.decl || at.begin < step->where.begin || at.end > step->where.end;
  if (is_elsewhere) { return std::move(incomplete).note(step->where, "this step calls it"); }
  return incomplete;
}

// The hint at the step where a run stops without an error, because of Python that cannot be followed.
auto not_followed(const ScheduleRun& run, const Step& step) -> Diagnostic {
  Origin at = step.unknown_because ? step.unknown_because->where : step.unknown_at;
  bool is_inside = at.is_known() && at.decl == step.where.decl && at.begin >= step.where.begin && at.end <= step.where.end;
  Diagnostic out = error(Code::ScheduleNotFollowed, is_inside ? at : step.where).arg("name", run.name.view()).arg("from", " from here on");
  (void)std::move(out).arg("reason", step.unknown_because ? step.unknown_because->message() : because(Why::NotEvaluated).text());
  if (!is_inside && at.is_known()) { (void)std::move(out).note(at, "this is not followed"); }
  out.severity = Severity::Hint;
  return out;
}

auto ScheduleRun::all_diagnostics() const -> Diagnostics {
  Diagnostics out = diagnostics;
  for (const Step& step : steps) { out.insert(out.end(), step.diagnostics.begin(), step.diagnostics.end()); }
  out.insert(out.end(), further_on.begin(), further_on.end());
  return out;
}

namespace {

// True for statements such as `sch.parallel(k)`: without them the program has the same loops and blocks.
auto only_marks_a_loop(const syntax::Stmt& stmt) -> bool {
  const auto* expression = stmt.as<syntax::ExprStmt>();
  const auto* call = expression ? expression->value->as<syntax::CallExpr>() : nullptr;
  const auto* callee = call ? call->callee->as<syntax::AttributeExpr>() : nullptr;
  if (!callee || !callee->object->as<syntax::NameExpr>()) { return false; }
  static const Name marks[] = {Name("parallel"), Name("vectorize"), Name("unroll"), Name("bind"), Name("annotate")};
  return std::find(std::begin(marks), std::end(marks), callee->attr.name) != std::end(marks);
}

// Fills `further_on`: skips refused marks of loops and continues, up to the first refused statement that is no such mark.
void look_further_on(ScheduleRun& run, const RunRequest& request, const Ref<eval::Function>& function, size_t limit) {
  const syntax::Block& body = request.function.def->body;
  auto failed = static_cast<size_t>(std::find_if(run.steps.begin(), run.steps.end(), [](const Step& s) { return s.state != StepState::Done; }) - run.steps.begin());
  auto made_later = [&](const syntax::ScheduleForm& form) { return form.made && form.made_at >= failed; };
  if (made_later(request.function.form) || std::any_of(request.function.others.begin(), request.function.others.end(), made_later)) { return; }
  RunRequest rest = request;
  rest.watch = {};
  ScheduleRun ahead;
  ahead.steps.resize(run.steps.size());
  for (size_t i = 0; i < ahead.steps.size(); ++i) {
    ahead.steps[i].index = i;
    ahead.steps[i].where = run.steps[i].where;
  }
  ahead.frames = run.frames;
  ahead.frame_gap = run.frame_gap;
  ahead.frame_values = run.frame_values;
  ahead.result = run.result;
  // A hundred errors are enough to repair; each is explained, and needs a separate run.
  constexpr size_t most_errors = 100;
  for (bool is_first = true; failed < limit && run.further_on.size() < most_errors; is_first = false) {
    const Step& step = is_first ? run.steps[failed] : ahead.steps[failed];
    if (!is_first) { run.further_on.insert(run.further_on.end(), step.diagnostics.begin(), step.diagnostics.end()); }
    if (step.state != StepState::Failed || !only_marks_a_loop(*body[static_cast<uint32_t>(failed)]) || failed + 1 >= limit || request.cancel.is_cancelled()) { return; }
    eval::Evaluator evaluator(request.heap ? request.heap : std::make_shared<eval::Heap>());
    evaluator.cancel = request.cancel;
    evaluator.globals = request.globals;
    evaluator.tree = request.function.tree;
    Recorder recorder(ahead, rest);
    recorder.is_made = true;
    recorder.limit = limit;
    std::optional<eval::Frame> known = frame_before(ahead, failed);
    if (!known) { return; }
    eval::Frame frame = *std::move(known);
    evaluator.resume_from(failed + 1, frame, function, &recorder);
    size_t next = failed + 1;
    while (next < limit && ahead.steps[next].state == StepState::Done) { ++next; }
    // A step that cannot be followed is not reported now, but in a later run, once the user has repaired the error before it. A cancelled run is repeated.
    if (next >= limit || ahead.steps[next].state != StepState::Failed || request.cancel.is_cancelled()) { return; }
    failed = next;
  }
}

}  // namespace

namespace {

// A run without executed steps.
auto begun_run(const RunRequest& request) -> ScheduleRun {
  const syntax::FunctionDef& def = *request.function.def;
  ScheduleRun run;
  run.name = def.name.name;
  run.decl = def.decl;
  run.program = run.asked = request.program;
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
  return run;
}

// Takes over the first steps of an earlier run; returns the frame behind them.
auto take_over(ScheduleRun& run, const RunRequest& request, const ScheduleRun& before, size_t keep) -> eval::Frame {
  for (size_t i = 0; i < keep; ++i) {
    run.steps[i] = before.steps[i];
    run.frames.push_back(before.frames[i]);
  }
  run.frame_gap = before.frame_gap;
  run.frame_values = before.frame_values;
  run.result = run.steps[keep - 1].after;
  run.program = before.program;
  if (!before.program.same_as(request.program) && keep <= request.function.form.made_at) {
    // The schedule is made behind those steps, from the program of this request.
    run.program = request.program;
    run.result = std::make_shared<const schedule::Schedule>(make_schedule(request, request.program)->schedule);
    for (size_t i = 0; i < keep; ++i) { run.steps[i].after = run.result; }
  }
  run.earlier_decls = before.earlier_decls;
  if (before.decl != run.decl) { run.earlier_decls.push_back(before.decl); }
  return before.frames[keep].snapshot();
}

// Runs the statements of one function from a frame on, and makes its schedules (`sch = tir.Schedule(...)`) at their statements.
class BodyRun {
 public:
  BodyRun(ScheduleRun& run, const RunRequest& request, eval::Evaluator& evaluator, const Ref<eval::Function>& function, eval::Frame& frame)
      : run_(run), request_(request), evaluator_(evaluator), function_(function), frame_(frame), recorder_(run, request) {}

  void run(size_t from, size_t limit, const ScheduleRun* before) {
    recorder_.is_made = !request_.function.form.made || request_.function.form.made_at < from;
    size_t at = from;
    for (const syntax::ScheduleForm* form : made_between(from, limit)) {
      bool goes_on = run_to(at, form->made_at) && frame_.flow == eval::Flow::Next && !evaluator_.cancel.is_cancelled();
      if (!goes_on) { return; }
      make(*form, before);
      at = form->made_at + 1;
    }
    run_to(at, limit);
  }

 private:
  // The schedules that statements of the body make and name, this run's own and the others: their programs are known.
  [[nodiscard]] auto made_between(size_t from, size_t limit) const -> std::vector<const syntax::ScheduleForm*> {
    std::vector<const syntax::ScheduleForm*> made;
    auto is_plain = [&](const syntax::ScheduleForm& form) { return form.made && !form.is_nested && !form.is_call && form.made_at >= from && form.made_at < limit; };
    if (is_plain(request_.function.form)) { made.push_back(&request_.function.form); }
    for (const syntax::ScheduleForm& other : request_.function.others) {
      if (is_plain(other)) { made.push_back(&other); }
    }
    std::sort(made.begin(), made.end(), [](const auto* a, const auto* b) { return a->made_at < b->made_at; });
    return made;
  }

  // False: a statement failed, or its effect is unknown.
  auto run_to(size_t from, size_t end) -> bool {
    recorder_.limit = end;
    if (from < end) { evaluator_.resume_from(from, frame_, function_, &recorder_); }
    return end == 0 || run_.steps[end - 1].state == StepState::Done;
  }

  void make(const syntax::ScheduleForm& form, const ScheduleRun* before) {
    bool is_own = &form == &request_.function.form;
    keep_frame(run_, form.made_at, frame_);
    recorder_.enter_contexts(evaluator_, frame_, form.made_at);
    eval::Value made = eval::Value::opaque();
    Step& step = run_.steps[form.made_at];
    step.after = run_.result;
    Made program = is_own ? program_here(request_, evaluator_, frame_.scope) : program_of(form, evaluator_, frame_.scope);
    // If the program equals that of the last run, keeps the old one, and with it all results computed for it.
    if (is_own && request_.goes_on_from_other && before && program.module && structural_equal(before->program, program.module)) { program.module = before->program; }
    if (program.module) {
      auto object = make_schedule(request_, program.module, seed_of(*form.made, evaluator_, frame_.scope), is_own ? ScheduleObject::Part::Own : ScheduleObject::Part::Other);
      te::add_stages(*object, program);
      recorder_.is_made = recorder_.is_made || is_own;
      if (is_own) { step.after = std::make_shared<const schedule::Schedule>(object->schedule); }
      if (is_own && request_.decisions && !request_.goes_on_from_other) {
        // The statements before made the program of these choices.
        run_.program = program.module;
        auto written = std::make_shared<const schedule::Schedule>(make_schedule(request_, program.module)->schedule);
        for (size_t i = 0; i < form.made_at; ++i) { run_.steps[i].after = written; }
      }
      if (is_own && request_.goes_on_from_other) {
        // The statements before are steps of the other schedule.
        run_.program = object->schedule.module();
        for (size_t i = 0; i < form.made_at; ++i) { run_.steps[i].after = step.after; }
      }
      made = eval::Value(Ref<eval::Object>(object.get()));
    }
    frame_.scope->set(form.variable, made);
    step.state = StepState::Done;
    run_.result = step.after;
  }

  ScheduleRun& run_;
  const RunRequest& request_;
  eval::Evaluator& evaluator_;
  const Ref<eval::Function>& function_;
  eval::Frame& frame_;
  Recorder recorder_;
};

}  // namespace

namespace {

// Adds the errors of stages that still wait for a later statement when no statement follows. Each error is at its own statement.
void add_unfinished(ScheduleRun& run, const eval::Frame& frame) {
  if (!frame.scope) { return; }
  for (const auto& [name, value] : frame.scope->slots()) {
    const auto* schedule = value.as<ScheduleObject>();
    if (!schedule || schedule->record.part != ScheduleObject::Part::Own) { continue; }
    for (Diagnostic& d : te::unfinished(*schedule)) { run.diagnostics.push_back(std::move(d)); }
  }
}

// The knobs of a run: those of the configuration in its last frame or, where a helper keeps the configuration, those that the run defined.
auto space_of(const ScheduleRun& run, const autotvm::Applying& applying) -> std::shared_ptr<const autotvm::Space> {
  const autotvm::Space* found = &applying.space();
  if (!run.frames.empty() && run.frames.back().scope) {
    for (const auto& [name, value] : run.frames.back().scope->slots()) {
      const auto* config = value.as<autotvm::ConfigObject>();
      if (config && config->space.knobs.size() >= found->knobs.size()) { found = &config->space; }
    }
  }
  return found->knobs.empty() ? nullptr : std::make_shared<const autotvm::Space>(*found);
}

}  // namespace

auto run_schedule(const RunRequest& request, const ScheduleRun* before) -> ScheduleRun {
  autotvm::Applying applying(request.decisions);
  const syntax::FunctionDef& def = *request.function.def;
  ScheduleRun run = begun_run(request);
  eval::Evaluator evaluator(request.heap ? request.heap : std::make_shared<eval::Heap>());
  evaluator.cancel = request.cancel;
  evaluator.globals = request.globals;
  evaluator.tree = request.function.tree;
  // Evaluates default values of parameters, as for any function.
  eval::Value made = evaluator.make_function(def, eval::ScopeRef());
  if (!made.as<eval::Function>()) {
    run.diagnostics = std::move(evaluator.diagnostics);
    return run;
  }
  Ref<eval::Function> function(made.as<eval::Function>());
  size_t limit = std::min(run.steps.size(), request.steps.value_or(run.steps.size()));
  size_t keep = std::min(before ? steps_to_keep(request, *before) : 0, limit);
  eval::Frame frame;
  if (keep > 0) {
    frame = take_over(run, request, *before, keep);
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
  BodyRun(run, request, evaluator, function, frame).run(keep, limit, before);
  for (Step& step : run.steps) {
    if (step.state == StepState::Unknown && !expects_failure(def)) { step.diagnostics.push_back(not_followed(run, step)); }
  }
  if (!request.steps && !run.makes_its_own) { look_further_on(run, request, function, limit); }
  bool all_done = std::all_of(run.steps.begin(), run.steps.end(), [](const Step& s) { return s.state == StepState::Done; });
  // After an early `return` later statements do not run; that is complete too.
  run.is_complete = all_done || (frame.flow == eval::Flow::Return && !has_errors(evaluator.diagnostics));
  // The next run continues behind the last statement that ran. A statement that failed has changed the frame, so it runs again from its own frame;
  // behind a `return` nothing runs.
  auto done = static_cast<size_t>(std::find_if(run.steps.begin(), run.steps.end(), [](const Step& s) { return s.state != StepState::Done; }) - run.steps.begin());
  if (done == run.frames.size() && frame.flow != eval::Flow::Return) { run.frames.push_back(frame.snapshot()); }
  run.space = space_of(run, applying);
  if (run.is_complete) { add_unfinished(run, frame); }
  return run;
}

}  // namespace loopsmith::script
