// Running a schedule function step by step: see run.h.
#include "script/run.h"

#include <algorithm>
#include <chrono>

#include "frontend/inner_programs.h"
#include "frontend/objects.h"
#include "ir/equal.h"
#include "script/objects.h"
#include "script/partway.h"
#include "script/refusals.h"
#include "support/codes.h"

namespace loopsmith::script {
namespace {

using syntax::Kind;

// The `seed` of `tir.Schedule(program, seed=42)`; none: it has no number there.
auto seed_of(const eval::Arguments& arguments) -> std::optional<int64_t> {
  static const Name seed("seed");
  const eval::Argument* said = arguments.keyword(seed);
  return said && said->value.is_int() ? std::optional<int64_t>(said->value.int_value()) : std::nullopt;
}

auto make_schedule(const RunRequest& request, IRModule program, std::optional<int64_t> seed = {}, ScheduleObject::Part part = ScheduleObject::Part::Own) {
  schedule::Schedule sch(std::move(program), seed.value_or(request.seed));
  sch.use_intrinsics(request.intrinsics);
  sch.use_vscale(most_vscale(request.target));
  auto object = eval::make_object<ScheduleObject>(std::move(sch));
  object->part = part;
  return object;
}

// Records the steps of one run.
class Recorder final : public eval::Observer {
 public:
  Recorder(ScheduleRun& run, const RunRequest& request)
      : run_(run), request_(request), form_(request.function.form), variable_(form_.variable), is_python_(form_.made), is_meant_to_fail_(expects_failure(*request.function.def)), watch_(request.watch) {}

  /// Statements from here on are not run.
  size_t limit = 0;
  /// Is the schedule made that is followed? Until then no other is taken for it.
  bool is_made = false;

  void before(eval::Evaluator& evaluator, eval::Frame& frame, size_t index, const syntax::Stmt& stmt) override {
    if (watch_) { watch_(run_, index); }
    run_.frames.resize(index);
    run_.frames.push_back(frame.snapshot());
    index_ = index;
    made_here_.clear();
    enter_contexts(evaluator, frame, index);
    find_schedule(frame);
    if (schedule_) {
      schedule_->step = static_cast<uint32_t>(index) + 1;
      schedule_->refused.reset();
      schedule_->is_unknown = false;
      schedule_->hole.reset();
    }
    before_ = schedule_ ? Ref<ScheduleObject>(schedule_) : Ref<ScheduleObject>();
    executed_ = schedule_ ? schedule_->executed : 0;
    executed_of_others_ = executed_of_others(frame);
    diagnostics_ = evaluator.diagnostics.size();
    // What loops print without end is of no use to anybody.
    constexpr size_t most_printed = 1 << 20;
    evaluator.output = [&step = run_.steps[index]](std::string_view text) {
      if (step.printed.size() < most_printed) { step.printed += text; }
    };
    evaluator.not_called = [this](const eval::Value& callee, const syntax::CallExpr& written, const eval::Arguments& arguments) {
      leave_out_call(callee, *written.callee, arguments);
      return made_by(callee, written, arguments);
    };
    evaluator.opaque_at = {};
    start_ = std::chrono::steady_clock::now();
  }

  auto after(eval::Evaluator& evaluator, eval::Frame& frame, size_t index, const syntax::Stmt& stmt, eval::Flow flow) -> bool override {
    Step& step = run_.steps[index];
    step.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    find_schedule(frame);
    step.primitives = schedule_ ? schedule_->executed - (schedule_ == before_.get() ? executed_ : 0) : 0;
    run_.primitives += step.primitives;
    step.diagnostics.assign(evaluator.diagnostics.begin() + static_cast<std::ptrdiff_t>(diagnostics_), evaluator.diagnostics.end());
    step.state = flow == eval::Flow::Failed ? StepState::Failed : flow == eval::Flow::Unknown ? StepState::Unknown : StepState::Done;
    if (step.state == StepState::Done && has_errors(step.diagnostics)) { step.state = StepState::Failed; }
    if (schedule_ && schedule_->is_unknown && step.state == StepState::Done) { step.state = StepState::Unknown; }
    // What Python around primitives may do is its own matter.
    const ScheduleObject* refused = step.state == StepState::Failed ? find_refused(frame, step) : nullptr;
    if (is_python_ && step.state == StepState::Failed && (is_meant_to_fail_ || !refused)) {
      step.state = StepState::Unknown;
      if (!step.diagnostics.empty()) { step.unknown_because = std::move(step.diagnostics.front()); }
      step.diagnostics.clear();
    }
    if (step.state == StepState::Unknown) { step.unknown_at = evaluator.opaque_at; }
    if (step.state == StepState::Failed && refused) { explain_refusal(step.diagnostics, *refused, *names_of_own(evaluator, frame), evaluator.cancel); }
    if (step.state != StepState::Done) { return false; }
    step.after = schedule_ ? std::make_shared<const schedule::Schedule>(schedule_->schedule) : run_.result;
    run_.result = step.after;
    // Loops and blocks of another schedule are none of this one.
    bool is_of_others = step.primitives == 0 && executed_of_others(frame) > executed_of_others_;
    if (!is_of_others) { collect_names(stmt, frame, step); }
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
    using Part = ScheduleObject::Part;
    // A snapshot copies the schedule, so the object to watch is the frame's own.
    schedule_ = nullptr;
    const eval::Value* value = frame.scope->find_here(variable_);
    const auto* named = value != nullptr ? value->as<ScheduleObject>() : nullptr;
    if (named && form_.is_call && index_ == form_.made_at && is_here(named)) { named->part = Part::Own; }
    is_made = is_made || (named && named->part == Part::Own) || std::any_of(made_here_.begin(), made_here_.end(), [](const auto& one) { return one->part == Part::Own; });
    if (!is_made) { return; }
    if (named && named->part != Part::Other) {
      schedule_ = named;
      return;
    }
    for (const auto& [name, slot] : frame.scope->slots()) {
      const auto* object = slot.as<ScheduleObject>();
      if (object && object->part == Part::Own) { schedule_ = object; return; }
    }
    // Made in a function that keeps it to itself.
    for (const auto& one : made_here_) {
      if (one->part == Part::Own) { schedule_ = one.get(); }
    }
    if (schedule_ || is_python_) { return; }
    for (const auto& [name, slot] : frame.scope->slots()) {
      const auto* object = slot.as<ScheduleObject>();
      if (object && object->part != Part::Other) { schedule_ = object; return; }
    }
  }

  /// What the `with` around a statement says of the target, for those that were looked through.
  void enter_contexts(eval::Evaluator& evaluator, const eval::Frame& frame, size_t index) const {
    const auto& contexts = request_.function.contexts;
    if (index >= contexts.size()) { return; }
    script::enter_contexts(evaluator, contexts[index], frame.scope);
  }

 private:
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

  /// `tir.Schedule(PROGRAM)` where a helper, a loop or a branch has it. None: it is not that, or its program is not known.
  auto made_by(const eval::Value& callee, const syntax::CallExpr& written, const eval::Arguments& arguments) -> std::optional<eval::Value> {
    if (!callee.is_opaque() || !syntax::is_schedule_made(written)) { return std::nullopt; }
    static const Name mod("mod");
    const eval::Argument* given = arguments.positional > 0 ? &arguments.all[0] : arguments.keyword(mod);
    const auto* program = given ? given->value.as<frontend::ProgramObject>() : nullptr;
    auto is_it = [&](const syntax::ScheduleForm& form) { return form.made && (form.is_call ? form.made_at == index_ : form.made->origin() == written.origin()); };
    auto part = is_it(form_) ? ScheduleObject::Part::Own : ScheduleObject::Part::Beside;
    if (part == ScheduleObject::Part::Beside && std::any_of(request_.function.others.begin(), request_.function.others.end(), is_it)) { part = ScheduleObject::Part::Other; }
    IRModule module = program ? program->module : part == ScheduleObject::Part::Own && !form_.is_call ? request_.program : IRModule();
    if (!module) { return std::nullopt; }
    made_here_.push_back(make_schedule(request_, std::move(module), seed_of(arguments), part));
    made_here_.back()->step = static_cast<uint32_t>(index_) + 1;
    return eval::Value(Ref<eval::Object>(made_here_.back().get()));
  }
  auto is_here(const ScheduleObject* object) const -> bool {
    return std::any_of(made_here_.begin(), made_here_.end(), [&](const auto& one) { return one.get() == object; });
  }
  /// The schedule that refused a call of this statement: the one that is followed, or one beside it. Null: none did.
  auto find_refused(const eval::Frame& frame, const Step& step) const -> const ScheduleObject* {
    if (schedule_ && schedule_->refused) { return schedule_; }
    auto is_told = [&](const ScheduleObject* object) {
      return object && object->refused && std::any_of(step.diagnostics.begin(), step.diagnostics.end(), [&](const Diagnostic& d) {
        return d.where.decl == object->refused->call.decl && d.where.begin >= object->refused->call.begin && d.where.end <= object->refused->call.end;
      });
    };
    for (const auto& one : made_here_) {
      if (is_told(one.get())) { return one.get(); }
    }
    for (const auto& [name, slot] : frame.scope->slots()) {
      if (const auto* object = slot.as<ScheduleObject>(); is_told(object)) { return object; }
    }
    return nullptr;
  }
  /// What the variables of a schedule are called, without those of others: loops have the same numbers in each.
  auto names_of_own(eval::Evaluator& evaluator, const eval::Frame& frame) const -> eval::ScopeRef {
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
  /// Looked at only where there may be others.
  auto executed_of_others(const eval::Frame& frame) const -> uint64_t {
    uint64_t executed = 0;
    if (request_.function.others.empty()) { return executed; }
    for (const auto& [name, slot] : frame.scope->slots()) {
      const auto* object = slot.as<ScheduleObject>();
      if (object && object->part == ScheduleObject::Part::Other) { executed += object->executed; }
    }
    return executed;
  }

  ScheduleRun& run_;
  const RunRequest& request_;
  const syntax::ScheduleForm& form_;
  Name variable_;
  bool is_python_;
  bool is_meant_to_fail_;
  const StepWatch& watch_;
  const ScheduleObject* schedule_ = nullptr;   // null: not made yet
  Ref<ScheduleObject> before_;                 // the same before the statement
  uint64_t executed_ = 0;
  uint64_t executed_of_others_ = 0;
  size_t index_ = 0;
  std::vector<Ref<ScheduleObject>> made_here_; // by the statement that runs, somewhere below it
  size_t diagnostics_ = 0;
  std::chrono::steady_clock::time_point start_;
};

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
  if (request.goes_on_from_other) { return here ? here->module : IRModule(); }
  bool is_anew = here && !here->module.same_as(request.program) && structural_equal(here->module, request.program);
  return is_anew ? here->module : request.program;
}

// The same of another schedule of the function; none: it is not known.
auto program_of(const syntax::ScheduleForm& form, eval::Evaluator& evaluator, const eval::ScopeRef& scope) -> IRModule {
  size_t reported = evaluator.diagnostics.size();
  eval::Value value = evaluator.eval(*syntax::scheduled_program(*form.made), scope);
  evaluator.diagnostics.resize(reported);
  const auto* here = value.as<frontend::ProgramObject>();
  return here ? here->module : IRModule();
}

auto common_prefix(std::string_view a, std::string_view b) -> size_t {
  return static_cast<size_t>(std::mismatch(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(std::min(a.size(), b.size())), b.begin()).first - a.begin());
}

// How many steps of the last run still stand: those that end before the first changed byte, with the same number of
// statements' worth of text in front of them.
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
  return as_schedule_function(def, std::move(tree), text, *form);
}

auto as_schedule_function(const syntax::FunctionDef& def, std::shared_ptr<const void> tree, std::string_view text, const syntax::ScheduleForm& form)
    -> ScheduleFunction {
  ScheduleFunction out{.def = &def, .form = form, .tree = std::move(tree), .text = text, .others = {}, .contexts = {}};
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

// Of the step at which a run stops without a mistake: what it is that is not followed. What is known to fail says so itself.
auto not_followed(const ScheduleRun& run, const Step& step) -> Diagnostic {
  Origin at = step.unknown_because ? step.unknown_because->where : step.unknown_at;
  bool is_inside = at.is_known() && at.decl == step.where.decl && at.begin >= step.where.begin && at.end <= step.where.end;
  Diagnostic out = error(Code::ScheduleNotFollowed, is_inside ? at : step.where).arg("name", run.name.view()).arg("from", " from here on");
  (void)std::move(out).arg("why", step.unknown_because ? step.unknown_because->message() : std::string("this is Python that is not evaluated"));
  if (!is_inside && at.is_known()) { (void)std::move(out).note(at, "it is here"); }
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

// `sch.parallel(k)`: without it the program has the same loops and blocks.
auto only_marks_a_loop(const syntax::Stmt& stmt) -> bool {
  const auto* expression = stmt.as<syntax::ExprStmt>();
  const auto* call = expression ? expression->value->as<syntax::CallExpr>() : nullptr;
  const auto* callee = call ? call->callee->as<syntax::AttributeExpr>() : nullptr;
  if (!callee || !callee->object->as<syntax::NameExpr>()) { return false; }
  static const Name marks[] = {Name("parallel"), Name("vectorize"), Name("unroll"), Name("bind"), Name("annotate")};
  return std::find(std::begin(marks), std::end(marks), callee->attr.name) != std::end(marks);
}

// Fills `further_on`: goes on as if refused marks were not there, up to what is refused and is none.
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
  ahead.result = run.result;
  for (bool is_first = true; failed < limit; is_first = false) {
    const Step& step = is_first ? run.steps[failed] : ahead.steps[failed];
    if (!is_first) { run.further_on.insert(run.further_on.end(), step.diagnostics.begin(), step.diagnostics.end()); }
    if (step.state != StepState::Failed || !only_marks_a_loop(*body[static_cast<uint32_t>(failed)]) || failed >= ahead.frames.size() || failed + 1 >= limit || request.cancel.is_cancelled()) { return; }
    eval::Evaluator evaluator(request.heap ? request.heap : std::make_shared<eval::Heap>());
    evaluator.cancel = request.cancel;
    evaluator.globals = request.globals;
    evaluator.tree = request.function.tree;
    Recorder recorder(ahead, rest);
    recorder.is_made = true;
    recorder.limit = limit;
    eval::Frame frame = ahead.frames[failed].snapshot();
    evaluator.resume_from(failed + 1, frame, function, &recorder);
    size_t next = failed + 1;
    while (next < limit && ahead.steps[next].state == StepState::Done) { ++next; }
    // What is not followed is told once the mistake is mended; what was cancelled is run again.
    if (next >= limit || ahead.steps[next].state != StepState::Failed || request.cancel.is_cancelled()) { return; }
    failed = next;
  }
}

}  // namespace

auto run_schedule(const RunRequest& request, const ScheduleRun* before) -> ScheduleRun {
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
    run.program = before->program;
    if (!before->program.same_as(request.program) && keep <= request.function.form.made_at) {
      // What the steps before have is what it was made of then.
      run.program = request.program;
      run.result = std::make_shared<const schedule::Schedule>(make_schedule(request, request.program)->schedule);
      for (size_t i = 0; i < keep; ++i) { run.steps[i].after = run.result; }
    }
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
  recorder.is_made = !request.function.form.made || request.function.form.made_at < keep;
  auto run_to = [&](size_t from, size_t end) {
    recorder.limit = end;
    if (from < end) { evaluator.resume_from(from, frame, function, &recorder); }
    return end == 0 || run.steps[end - 1].state == StepState::Done;
  };
  // `sch = tir.Schedule(...)` as statements of their own, of this schedule and of the others: their programs are known.
  std::vector<const syntax::ScheduleForm*> made_here;
  auto is_plain = [&](const syntax::ScheduleForm& form) { return form.made && !form.is_nested && !form.is_call && form.made_at >= keep && form.made_at < limit; };
  if (is_plain(request.function.form)) { made_here.push_back(&request.function.form); }
  for (const syntax::ScheduleForm& other : request.function.others) {
    if (is_plain(other)) { made_here.push_back(&other); }
  }
  std::sort(made_here.begin(), made_here.end(), [](const auto* a, const auto* b) { return a->made_at < b->made_at; });
  size_t at = keep;
  bool goes_on = true;
  for (const syntax::ScheduleForm* form : made_here) {
    goes_on = run_to(at, form->made_at) && frame.flow == eval::Flow::Next && !evaluator.cancel.is_cancelled();
    if (!goes_on) { break; }
    bool is_own = form == &request.function.form;
    run.frames.resize(form->made_at);
    run.frames.push_back(frame.snapshot());
    recorder.enter_contexts(evaluator, frame, form->made_at);
    eval::Value made_value = eval::Value::opaque();
    Step& step = run.steps[form->made_at];
    step.after = run.result;
    IRModule program = is_own ? program_here(request, evaluator, frame.scope) : program_of(*form, evaluator, frame.scope);
    // What it was made of when it last ran, where that is the same: what is known of that stays.
    if (is_own && request.goes_on_from_other && before && program && structural_equal(before->program, program)) { program = before->program; }
    if (program) {
      auto object = make_schedule(request, std::move(program), seed_of(*form->made, evaluator, frame.scope), is_own ? ScheduleObject::Part::Own : ScheduleObject::Part::Other);
      recorder.is_made = recorder.is_made || is_own;
      if (is_own) { step.after = std::make_shared<const schedule::Schedule>(object->schedule); }
      if (is_own && request.goes_on_from_other) {
        // What was made before it is of the other.
        run.program = object->schedule.module();
        for (size_t i = 0; i < form->made_at; ++i) { run.steps[i].after = step.after; }
      }
      made_value = eval::Value(Ref<eval::Object>(object.get()));
    }
    frame.scope->set(form->variable, made_value);
    step.state = StepState::Done;
    run.result = step.after;
    at = form->made_at + 1;
  }
  if (goes_on) { run_to(at, limit); }
  for (Step& step : run.steps) {
    if (step.state == StepState::Unknown && !expects_failure(def)) { step.diagnostics.push_back(not_followed(run, step)); }
  }
  if (!request.steps && !run.makes_its_own) { look_further_on(run, request, function, limit); }
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
