// The schedules of a file: see schedules.h.
#include "script/schedules.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "frontend/objects.h"
#include "intrinsics/registry.h"
#include "ir/equal.h"
#include "script/auto_scheduler/dag.h"
#include "script/auto_scheduler/tasks.h"
#include "script/autotvm/history.h"
#include "script/autotvm/templates.h"
#include "script/find_program.h"
#include "script/objects.h"
#include "script/texts.h"
#include "script/topi.h"
#include "script/tuner/pieces.h"
#include "support/codes.h"
#include "support/guards.h"
#include "support/hash.h"
#include "support/reasons.h"
#include "support/text.h"
#include "syntax/record_form.h"
#include "syntax/schedule_form.h"
#include "target/gpu.h"
#include "target/target.h"

namespace loopsmith::script {
namespace {

// `ls.schedule(program, target=...)` returns a decorator that does not change the function; the program and the target are
// read from the syntax of the decorator (run.h).
auto identity(eval::Evaluator&, const eval::Arguments& arguments) -> eval::Value {
  return arguments.all.empty() ? eval::Value() : arguments.all.front().value;
}
auto schedule_decorator(eval::Evaluator&, const eval::Arguments&) -> eval::Value {
  return eval::Value(Ref<eval::Object>(eval::make_object<eval::Builtin>(Name("schedule"), identity).get()));
}

// True for tests and schedule functions: no other schedule uses them.
auto is_used_by_nobody(const syntax::ItemPtr& item) -> bool {
  auto def = item->statements.empty() || !item->statements[0]->as<syntax::FunctionDef>() ? nullptr : syntax::function_of(item);
  return def && (def->name.name.view().starts_with("test_") || as_schedule_function(*def, item, item->text));
}

// Hash of everything that a schedule may use apart from its program: the text of the file without programs, schedules, tests, and the statements that
// run only when the file itself is executed. `left_out`: the declaration of the schedule, if it consists of statements at the top.
auto context_of(frontend::File& file, size_t left_out = SIZE_MAX) -> uint64_t {
  uint64_t hash = file.imports_fingerprint();
  for (size_t i = 0; i < file.size(); ++i) {
    const syntax::ItemPtr& item = file.item(i);
    if (i == left_out || item->statements.empty() || frontend::is_program(*item->statements[0]) || syntax::is_main(*item->statements[0]) || is_used_by_nobody(item)) { continue; }
    size_t at = 0;
    for (const syntax::Item::Member& member : item->members) {
      if (!is_used_by_nobody(member.item)) { continue; }
      hash = hash_combine(hash, hash_bytes(std::string_view(item->text).substr(at, member.offset - at)));
      at = member.offset + member.item->text.size();
    }
    hash = hash_combine(hash, at == 0 ? item->hash : hash_bytes(std::string_view(item->text).substr(at)));
  }
  return hash;
}

struct FunctionOfFile {
  syntax::ItemPtr item;
  Name name;
  size_t place = SIZE_MAX;   // of statements at the top
};

// Functions at the top of the file and in its classes, with their names (`TestTile.test_split`), and schedules at the top (`sch`, `sch.2`).
auto functions_of(frontend::File& file) -> std::vector<FunctionOfFile> {
  std::vector<FunctionOfFile> out;
  std::unordered_map<Name, size_t> scripts;
  for (size_t i = 0; i < file.size(); ++i) {
    const syntax::ItemPtr& item = file.item(i);
    if (auto def = syntax::function_of(item)) {
      bool is_script = syntax::is_script(*item);
      size_t number = is_script ? scripts[def->name.name] + 1 : 1;
      if (is_script) { scripts[def->name.name] += std::max<size_t>(syntax::made_schedules(*def).size(), 1); }
      out.push_back({item, number == 1 ? def->name.name : Name(def->name.name.str() + "." + std::to_string(number)), is_script ? i : SIZE_MAX});
    }
    const auto* type = item->statements.empty() ? nullptr : item->statements[0]->as<syntax::ClassDef>();
    if (!type || frontend::is_program(*type)) { continue; }
    for (const syntax::Item::Member& member : item->members) {
      if (auto def = syntax::function_of(member.item)) { out.push_back({member.item, Name(type->name.name.str() + "." + def->name.name.str())}); }
    }
  }
  return out;
}

// The words of a text that may be names.
auto words_of(std::string_view text) -> std::unordered_set<std::string_view> {
  std::unordered_set<std::string_view> words;
  for (size_t at = 0; at < text.size();) {
    size_t begin = at;
    at = name_end(text, at);
    if (at > begin) { words.insert(text.substr(begin, at - begin)); } else { ++at; }
  }
  return words;
}

// Functions at the top that make a schedule and return it: their callers continue the schedule.
auto givers_of(const std::vector<FunctionOfFile>& functions) -> std::unordered_map<Name, const FunctionOfFile*> {
  std::unordered_map<Name, const FunctionOfFile*> out;
  for (const FunctionOfFile& function : functions) {
    std::string_view text = function.item->text;
    bool may_give = function.place == SIZE_MAX && syntax::may_make_schedule(text) && text.find("return") != std::string_view::npos;
    if (!may_give || function.name.view().starts_with("test_") || function.name.view().find('.') != std::string_view::npos) { continue; }
    auto def = syntax::function_of(function.item);
    if (frontend::is_program(*def) || made_schedules(*def).empty()) { continue; }
    out[function.name] = &function;
  }
  return out;
}

void install_intrinsics() {
  static const bool done = [] {
    intrinsics::install();
    return true;
  }();
  (void)done;
}

// A schedule that is not followed, or only in part, and the reason.
struct Unfollowed { Name name; Name function; Origin where; std::string why; };

// True if the run of a schedule in an earlier version of the file is also its run in this version.
auto is_same_run(const FileSchedule& now, const FileSchedule& before) -> bool {
  return before.context == now.context && before.decl == now.decl && before.target == now.target && now.program && now.first_program.same_as(before.first_program);
}

// Makes the schedules of one version of a file, with the runs of the version before.
class Update {
 public:
  Update(frontend::File& file, const std::vector<FileSchedule>& old, bool are_intrinsics_as_before)
      : file_(file), are_intrinsics_as_before_(are_intrinsics_as_before), context_(context_of(file)), functions_(functions_of(file)), programs_(programs_of(file)), givers_(givers_of(functions_)) {
    // A schedule takes over the run of the same declaration, also if its name changed; otherwise, the run of a removed schedule with its name.
    std::unordered_set<DeclId> present;
    for (const FunctionOfFile& function : functions_) { present.insert(function.item->decl); }
    for (const FileSchedule& s : old) {
      if (present.contains(s.item->decl)) { same_.emplace(std::pair(s.item->decl, s.number), &s); } else { gone_.emplace(s.name, &s); }
    }
  }

  void run() {
    const auto_scheduler::RunningFile running(file_);
    for (const FunctionOfFile& function : functions_) { add_function(function); }
    find_unfollowed_at_the_top();
  }

  std::vector<FileSchedule> schedules;
  std::vector<Schedules::LeftAlone> left_alone;
  std::vector<ScheduleBody> bodies;

  // A helper that is followed at its call gets no separate hint.
  [[nodiscard]] auto hints() const -> Diagnostics {
    Diagnostics out = history_;
    for (const Unfollowed& one : unfollowed_) {
      if (followed_givers_.contains(one.function)) { continue; }
      Diagnostic hint = error(Code::ScheduleNotFollowed, one.where).arg("name", one.name.view()).arg("from", "").arg("reason", one.why);
      hint.severity = Severity::Hint;
      out.push_back(std::move(hint));
    }
    return out;
  }

 private:
  // More than any real function makes, and few enough that each may run the function.
  static constexpr size_t most_made = 16;

  [[nodiscard]] auto gives(Name name) const -> bool { return givers_.contains(name); }

  // A schedule depends on the text of the functions whose schedules it continues, which is not part of the file's context.
  [[nodiscard]] auto context_of_function(const FunctionOfFile& function) const -> uint64_t {
    uint64_t hash = function.place == SIZE_MAX ? context_ : context_of(file_, function.place);
    std::vector<const FunctionOfFile*> reached{&function};
    for (size_t i = 0; i < reached.size() && !givers_.empty(); ++i) {
      auto words = words_of(reached[i]->item->text);
      std::vector<const FunctionOfFile*> called;
      for (const auto& [name, giver] : givers_) {
        if (words.contains(name.view()) && std::find(reached.begin(), reached.end(), giver) == reached.end()) { called.push_back(giver); }
      }
      std::sort(called.begin(), called.end());
      for (const FunctionOfFile* one : called) { hash = hash_combine(hash, one->item->hash); }
      reached.insert(reached.end(), called.begin(), called.end());
    }
    return hash;
  }

  [[nodiscard]] auto forms_of(const FunctionOfFile& function, const syntax::FunctionDef& def) const -> std::vector<syntax::ScheduleForm> {
    std::vector<syntax::ScheduleForm> forms;
    if (auto first = syntax::schedule_form(def)) { forms.push_back(*first); }
    const std::string& text = function.item->text;
    size_t made_first = syntax::next_made_schedule(text, 0);
    bool makes_some = made_first != std::string::npos;
    bool calls_some = false;
    if (!givers_.empty()) {
      auto words = words_of(text);
      calls_some = std::any_of(givers_.begin(), givers_.end(), [&](const auto& giver) { return !(giver.first == def.name.name) && words.contains(giver.first.view()); });
    }
    // Most functions make one schedule, in a separate statement, which their text shows.
    bool is_only = !forms.empty() && (!forms[0].made || (!calls_some && syntax::next_made_schedule(text, made_first + 1) == std::string::npos));
    if (is_only || (!makes_some && !calls_some)) { return forms; }
    return syntax::made_schedules(def, [&](Name called) { return !(called == def.name.name) && gives(called); });
  }

  void add_function(const FunctionOfFile& function) {
    auto def = syntax::function_of(function.item);
    if (frontend::is_program(*def)) { return; }
    std::vector<syntax::ScheduleForm> forms = forms_of(function, *def);
    if (!forms.empty() || !syntax::schedule_parameter(*def).empty()) { bodies.push_back({function.item, function.place}); }
    if (forms.size() > most_made) {
      Origin where{def->decl, forms[most_made].variable_span.begin, forms[most_made].variable_span.end, 0};
      unfollowed_.push_back({function.name, function.name, where, "only the first " + std::to_string(most_made) + " schedules of a function are followed"});
      forms.resize(most_made);
    }
    for (size_t number = 0; number < forms.size(); ++number) { add_schedule(function, def, forms, number); }
  }

  void add_schedule(const FunctionOfFile& of, const std::shared_ptr<const syntax::FunctionDef>& def, const std::vector<syntax::ScheduleForm>& forms, size_t number) {
    const syntax::ScheduleForm& form = forms[number];
    ScheduleFunction function = as_schedule_function(*def, def, of.item->text, form);
    for (size_t other = 0; other < forms.size(); ++other) {
      if (other != number) { function.others.push_back(forms[other]); }
    }
    function.contexts = syntax::contexts_of(of.item);
    FileSchedule s;
    s.name = number == 0 ? of.name : Name(of.name.str() + "." + std::to_string(number + 1));
    s.place = of.place;
    s.context = context_of_function(of);
    s.decl = def->decl;
    s.where = number == 0 ? Origin{def->decl, def->name.span.begin, def->name.span.end, 0} : Origin{def->decl, form.variable_span.begin, form.variable_span.end, 0};
    s.item = of.item;
    s.makes_its_own = form.made != nullptr;
    s.form = form;
    s.others = function.others;
    s.number = number;
    add_task(*def, function, s);
    add_log(form, s);
    const FileSchedule* last = last_of(s);
    WithoutReports attempt(file_.evaluator().diagnostics);
    if (!form.made) {
      find_program(file_, function, s);
    } else {
      auto place_of_names = file_.seen_from(of.place);
      if (!find_made_program(file_, function, last, s)) {
        leave_alone(s, of, function);
        // Several schedules of a function find the same mistakes.
        for (Diagnostic& d : s.diagnostics) {
          auto is_same = [&](const Diagnostic& known) { return known.code == d.code && known.where == d.where; };
          if (d.severity == Severity::Error && std::none_of(history_.begin(), history_.end(), is_same)) { history_.push_back(std::move(d)); }
        }
        return;
      }
      if (form.is_call && !syntax::applies_record(*form.made)) { followed_givers_.insert(form.made->callee->as<syntax::NameExpr>()->name); }
    }
    for (auto& [d, program] : programs_) {
      if (s.program && d->module.same_as(s.program)) {
        s.program_name = program;
        s.program_decl = d->item->decl;
      }
    }
    if (function.target) { find_target(*function.target, s); }
    for (Diagnostic& d : attempt.take()) { s.diagnostics.push_back(std::move(d)); }
    const auto* outside = function.program && !form.made ? function.program->as<syntax::NameExpr>() : nullptr;
    if (!s.program && s.diagnostics.empty() && outside && !module_of(file_, outside->name).empty()) {
      unfollowed_.push_back({s.name, {}, function.program->origin(), why_unknown(file_, function)});
    }
    s.first_program = s.program;
    s.take_run_of(last, last != nullptr && are_intrinsics_as_before_ && is_same_run(s, *last));
    schedules.push_back(std::move(s));
  }

  // Adds the arguments and the target that the task of a template gives.
  void add_task(const syntax::FunctionDef& def, ScheduleFunction& function, FileSchedule& s) {
    auto name = autotvm::template_name(def);
    if (!name || !s.makes_its_own) { return; }
    s.template_name = *name;
    auto task = autotvm::find_task(file_, def);
    if (!task) { return; }
    function.arguments = s.arguments = task->arguments;
    function.target = task->target;
    autotvm::History history = autotvm::history_of(file_, *name, s.arguments);
    for (const auto& [knob, choice] : history.decisions ? history.decisions->choices : std::vector<std::pair<std::string, autotvm::Choice>>()) {
      s.context = hash_combine(s.context, std::hash<std::string>()(knob + "=" + choice.text()));
    }
    for (Diagnostic& d : history.diagnostics) { history_.push_back(std::move(d)); }
  }

  // Adds the log that `apply_best` reads, on which the schedule depends.
  void add_log(const syntax::ScheduleForm& form, FileSchedule& s) {
    const std::string path = form.made && syntax::applies_record(*form.made) ? auto_scheduler::log_of_call(file_, *form.made) : std::string();
    if (!path.empty()) { s.context = hash_combine(s.context, hash_bytes(text_beside(file_, path).value_or(std::string()))); }
  }

  void leave_alone(const FileSchedule& s, const FunctionOfFile& of, const ScheduleFunction& function) {
    const syntax::Expr* program = function.program ? function.program : function.form.made;
    bool has_no_task = !s.template_name.empty() && s.arguments.empty() && !of.item->statements[0]->as<syntax::FunctionDef>()->params.empty();
    std::string why = has_no_task ? because(Why::NoTaskOfTemplate).arg("template", s.template_name).text() : why_unknown(file_, function);
    left_alone.push_back({s.name, program->origin(), std::move(why)});
    unfollowed_.push_back({s.name, of.name, program->origin(), left_alone.back().why});
  }

  // The schedule in the version before; null: there was none.
  auto last_of(const FileSchedule& s) -> const FileSchedule* {
    if (auto found = same_.find({s.item->decl, s.number}); found != same_.end()) { return found->second; }
    auto named = gone_.find(s.name);
    return named != gone_.end() ? std::exchange(named->second, nullptr) : nullptr;
  }

  void find_target(const syntax::Expr& written, FileSchedule& s) {
    eval::Evaluator& evaluator = file_.evaluator();
    eval::Value value = evaluator.eval(written, evaluator.new_scope({}));
    const auto* made = value.as<frontend::AttrObject>();
    if (const std::string* text = value.string()) { s.target = *text; }
    else if (made && made->is_context()) { s.target = target_text(made->attr); }
    if (s.target.empty()) { return; }
    auto read = target::parse(s.target);
    // A card of TVM's list may be older than CUDA; the schedule works all the same.
    const Status known = read.ok() && s.target.find("sm_") != std::string::npos ? target::check_gpu(*read) : ok();
    if (read.ok() && known.ok()) { return; }
    for (Diagnostic wrong : read.ok() ? known.diagnostics() : read.diagnostics()) {
      wrong.where = written.origin();
      if (read.ok()) { wrong.severity = Severity::Warning; }
      s.diagnostics.push_back(std::move(wrong));
    }
  }

  // At the top of a file a schedule is followed if a separate statement makes it (lines.h cuts the text there).
  void find_unfollowed_at_the_top() {
    for (size_t i = 0; i < file_.size(); ++i) {
      const syntax::ItemPtr& item = file_.item(i);
      if (item->statements.empty() || !syntax::may_make_schedule(item->text) || syntax::function_of(item) || item->statements[0]->as<syntax::ClassDef>()) { continue; }
      syntax::FunctionDef top;
      top.body = item->statements;
      for (const syntax::ScheduleForm& form : syntax::made_schedules(top)) {
        unfollowed_.push_back({form.variable, {}, {item->decl, form.variable_span.begin, form.variable_span.end, 0}, "it is made inside another statement at the top of the file"});
      }
    }
  }

  frontend::File& file_;
  bool are_intrinsics_as_before_;
  uint64_t context_;
  std::vector<FunctionOfFile> functions_;
  std::vector<std::pair<const frontend::Declaration*, Name>> programs_;
  std::unordered_map<Name, const FunctionOfFile*> givers_;
  std::map<std::pair<DeclId, size_t>, const FileSchedule*> same_;
  std::unordered_map<Name, const FileSchedule*> gone_;
  std::unordered_set<Name> followed_givers_;
  Diagnostics history_;   // of logs that the file applies
  std::vector<Unfollowed> unfollowed_;
};

}  // namespace

namespace {

// `tvm.autotvm`, `tvm.auto_scheduler`, `tvm.topi`: modules of TVM whose values are of this room.
auto add_to_tvm() -> bool {
  static thread_local const bool is_done = [] {
    static const Name tvm("tvm");
    const eval::Value* space = frontend::predeclared(tvm);
    auto& members = const_cast<eval::Namespace&>(*space->as<eval::Namespace>());
    members.add(Name("autotvm"), autotvm::namespace_autotvm());
    members.add(Name("topi"), namespace_topi());
    members.add(Name("auto_scheduler"), auto_scheduler::namespace_auto_scheduler());
    return true;
  }();
  return is_done;
}

}  // namespace

auto predeclared(Name name) -> const eval::Value* {
  static const auto* ls = [] {
    install_intrinsics();
    auto space = eval::make_object<eval::Namespace>(Name("ls"));
    const_cast<eval::Namespace*>(space.get())->add(Name("schedule"), eval::Value(Ref<eval::Object>(
        eval::make_object<eval::Builtin>(Name("schedule"), schedule_decorator).get())));
    add_piece_decorators(const_cast<eval::Namespace&>(*space));
    return new eval::Value(Ref<eval::Object>(space.get()));
  }();
  static const Name short_name("ls"), long_name("loopsmith"), autotvm_name("autotvm"), auto_scheduler_name("auto_scheduler"), topi_name("topi");
  if (name == short_name || name == long_name) { return ls; }
  if (name == autotvm_name) { return &autotvm::namespace_autotvm(); }
  if (name == topi_name) { return &namespace_topi(); }
  if (name == auto_scheduler_name) { return &auto_scheduler::namespace_auto_scheduler(); }
  // `from tvm.topi import tag` looks up `tag` alone.
  (void)add_to_tvm();
  if (const eval::Value* known = tuner_name(name)) { return known; }
  return intrinsics::predeclared(name);
}

// Unchanged intrinsics keep their object, so that schedules that may use them are not run again.
void Schedules::update_intrinsics(frontend::File& file) {
  diagnostics_.clear();
  auto now = intrinsics::registered_in(file, diagnostics_);
  bool same = intrinsics_ ? now.size() == intrinsics_->size() : now.empty();
  for (size_t i = 0; same && i < now.size(); ++i) {
    const schedule::TensorIntrin& a = (*intrinsics_)[i];
    same = a.name == now[i].name && structural_equal(a.description, now[i].description) && structural_equal(a.implementation, now[i].implementation);
  }
  if (!same) { intrinsics_ = std::make_shared<const std::vector<schedule::TensorIntrin>>(std::move(now)); }
}

void Schedules::update(frontend::File& file) {
  install_intrinsics();
  auto intrinsics_before = intrinsics_;
  update_intrinsics(file);
  const std::vector<FileSchedule> old = std::exchange(schedules_, {});
  Update update(file, old, intrinsics_before == intrinsics_);
  update.run();
  schedules_ = std::move(update.schedules);
  left_alone_ = std::move(update.left_alone);
  for (Diagnostic& hint : update.hints()) { diagnostics_.push_back(std::move(hint)); }
  names_.update(file, update.bodies);
  diagnostics_.insert(diagnostics_.end(), names_.diagnostics().begin(), names_.diagnostics().end());
}

void FileSchedule::take_run_of(const FileSchedule* last, bool is_same) {
  state = program ? ScheduleState::Waiting : ScheduleState::NoProgram;
  if (last == nullptr) { return; }
  run = last->run;
  interrupted = last->interrupted;
  // The program from which it was made is known once it has run, and stays valid until it runs again.
  if (goes_on_from_other && last->goes_on_from_other && last->program && program && first_program.same_as(last->first_program)) { program = last->program; }
  if (is_same && last->state == ScheduleState::Settled) { state = ScheduleState::Settled; }
  else if (program && interrupted) { state = ScheduleState::Interrupted; }
  check();
}

void FileSchedule::end_run(std::shared_ptr<const ScheduleRun> ended, bool is_cancelled, bool is_limited) {
  if (is_cancelled) {
    // An incomplete run would remove the hints of later statements, and the rest of the run would add them again.
    interrupted = std::move(ended);
    state = ScheduleState::Interrupted;
  } else {
    interrupted = nullptr;
    if (goes_on_from_other) { program = ended->program; }
    run = std::move(ended);
    state = is_limited ? ScheduleState::Limited : ScheduleState::Settled;
  }
  check();
}

void FileSchedule::check() const {
#ifdef LOOPSMITH_CHECKED
  auto require = [this](bool holds, const char* what) {
    if (holds) { return; }
    std::fprintf(stderr, "schedule `%s`: %s\n", name.str().c_str(), what);
    std::abort();
  };
  bool has_ended = state == ScheduleState::Limited || state == ScheduleState::Settled;
  require(state != ScheduleState::NoProgram || !program, "no program in spite of one");
  require(state == ScheduleState::NoProgram || has_ended || program, "to be run without a program");
  require(state == ScheduleState::NoProgram || bool(interrupted) == (state == ScheduleState::Interrupted), "interrupted in another state");
  require(!has_ended || run, "ended without a run");
#endif
}

auto Schedules::request_for(frontend::File& file, const FileSchedule& schedule) const -> RunRequest {
  auto def = syntax::function_of(schedule.item);
  RunRequest request;
  request.function = as_schedule_function(*def, def, schedule.item->text, schedule.form);
  request.function.others = schedule.others;
  request.function.contexts = syntax::contexts_of(schedule.item);
  request.function.arguments = schedule.arguments;
  request.program = schedule.first_program;
  request.goes_on_from_other = schedule.goes_on_from_other;
  request.target = schedule.target;
  if (!schedule.template_name.empty()) { request.decisions = autotvm::history_of(file, schedule.template_name, schedule.arguments).decisions; }
  request.globals = &file;
  request.heap = file.evaluator().heap();
  request.context = schedule.context;
  request.intrinsics = intrinsics_;
  return request;
}

auto Schedules::run_with(frontend::File& file, const FileSchedule& schedule, std::shared_ptr<const autotvm::Decisions> decisions) const -> ScheduleRun {
  RunRequest request = request_for(file, schedule);
  request.decisions = std::move(decisions);
  auto place_of_names = file.seen_from(schedule.place);
  const auto_scheduler::RunningFile running(file);
  ScheduleRun run = run_schedule(request);
  file.move_to_call(run.diagnostics, schedule.where);
  for (Step& step : run.steps) { file.move_to_call(step.diagnostics, step.where); }
  return run;
}

auto Schedules::run_one(frontend::File& file, FileSchedule& schedule, const CancelToken& cancel, std::optional<size_t> steps, const StepWatch& watch) -> void {
  if (!schedule.program) {
    // A run for a removed program describes another text.
    schedule.run = schedule.interrupted = nullptr;
    schedule.state = ScheduleState::NoProgram;
    return;
  }
  if (!schedule.item || (schedule.is_settled() && !steps)) { return; }
  RunRequest request = request_for(file, schedule);
  request.cancel = cancel;
  request.steps = steps;
  request.watch = watch;
  auto run = [&] {
    auto place_of_names = file.seen_from(schedule.place);
    const auto_scheduler::RunningFile running(file);
    return std::make_shared<ScheduleRun>(run_schedule(request, schedule.newest_run()));
  }();
  file.move_to_call(run->diagnostics, schedule.where);
  for (Step& step : run->steps) {
    file.move_to_call(step.diagnostics, step.where);
    // If the step is not followed because of an error, that error is reported already.
    std::erase_if(step.diagnostics, [&](const Diagnostic& d) {
      const Origin& at = d.notes.empty() ? d.where : d.notes[0].where;
      return d.code == Code::ScheduleNotFollowed && std::any_of(names_.diagnostics().begin(), names_.diagnostics().end(), [&](const Diagnostic& wrong) { return wrong.where == at; });
    });
  }
  executed_ += run->primitives;
  schedule.end_run(std::move(run), cancel.is_cancelled(), steps.has_value());
}

auto Schedules::run_all(frontend::File& file, const CancelToken& cancel, const StepWatch& watch) -> bool {
  executed_ = 0;
  for (FileSchedule& schedule : schedules_) {
    if (cancel.is_cancelled()) { return false; }
    run_one(file, schedule, cancel, {}, watch);
    if (cancel.is_cancelled()) { return false; }
  }
  return true;
}

auto Schedules::find(Name name) -> FileSchedule* {
  for (FileSchedule& s : schedules_) {
    if (s.name == name) { return &s; }
  }
  return nullptr;
}

}  // namespace loopsmith::script
