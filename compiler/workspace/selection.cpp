// Selects programs and schedules by name: see selection.h.
#include "workspace/selection.h"

#include <fmt/format.h>

#include <algorithm>

#include "frontend/lower.h"
#include "script/auto_scheduler/tasks.h"
#include "script/autotvm/space.h"
#include "script/file_calls.h"
#include "support/codes.h"
#include "support/spelling.h"

namespace loopsmith::workspace {
namespace {

template <class Wanted>
auto programs_where(const Snapshot& snapshot, Wanted&& is_wanted) -> std::vector<Program> {
  std::vector<Program> out;
  std::copy_if(snapshot.programs().begin(), snapshot.programs().end(), std::back_inserter(out), is_wanted);
  return out;
}

auto unknown_program(const Snapshot& snapshot, std::string_view wanted, const std::vector<Program>& all) -> Diagnostic {
  std::vector<std::string> names;
  for (const Program& p : all) {
    names.push_back(p.name.str());
    if (p.is_function || !p.module) { continue; }
    for (const auto& [function, body] : p.module->functions) { names.push_back(function.str()); }
  }
  Diagnostic unknown = error(Code::NoSuchProgram).arg("name", wanted).arg("file", snapshot.name());
  return with_known_names(std::move(unknown), wanted, names, names.size() == 1 ? "the program" : "the programs");
}

}  // namespace

auto names_text(const std::vector<std::string>& names) -> std::string {
  std::string out;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i == 8 && names.size() > 9) { return out + fmt::format(" and {} more", names.size() - i); }
    if (i > 0) { out += i + 1 == names.size() ? " and " : ", "; }
    out += '`' + names[i] + '`';
  }
  return out;
}

auto with_known_names(Diagnostic diagnostic, std::string_view wanted, const std::vector<std::string>& names, std::string_view kind) -> Diagnostic {
  std::string meant = closest(wanted, names);
  if (!meant.empty()) { return std::move(diagnostic).remedy(fmt::format("did you mean `{}`?", meant)); }
  if (!names.empty()) { return std::move(diagnostic).remedy(fmt::format("it has {} {}", kind, names_text(names))); }
  return diagnostic;
}

auto with_schedules_that_make_programs(Diagnostic diagnostic, const Snapshot& snapshot) -> Diagnostic {
  std::vector<std::string> names;
  for (const script::FileSchedule& schedule : snapshot.schedules()) {
    if (schedule.makes_its_own) { names.push_back(schedule.name.str()); }
  }
  if (names.empty()) { return std::move(diagnostic).remedy("a program is a function with `@T.prim_func`, or a class with `@I.ir_module`"); }
  return std::move(diagnostic).remedy(fmt::format("{} {} own program: add `--with {}`", names_text(names), names.size() == 1 ? "makes its" : "make their", names.front()));
}

auto top_programs(const Snapshot& snapshot) -> std::vector<Program> {
  return programs_where(snapshot, [](const Program& p) { return !p.is_inside; });
}
auto inner_programs(const Snapshot& snapshot) -> std::vector<Program> {
  return programs_where(snapshot, [](const Program& p) { return p.is_inside && !p.is_repeated; });
}

auto schedule_names(const Snapshot& snapshot) -> std::vector<std::string> {
  std::vector<std::string> names;
  for (const script::FileSchedule& schedule : snapshot.schedules()) { names.push_back(schedule.name.str()); }
  return names;
}

auto only_template(const Snapshot& snapshot) -> std::string {
  if (!snapshot.programs().empty()) { return {}; }
  std::string found;
  for (const script::FileSchedule& schedule : snapshot.schedules()) {
    if (schedule.template_name.empty()) { continue; }
    if (!found.empty()) { return {}; }
    found = schedule.name.str();
  }
  return found;
}

auto schedules_for_build(const Snapshot& snapshot, std::string_view program) -> std::vector<const script::FileSchedule*> {
  std::vector<const script::FileSchedule*> found;
  for (const script::FileSchedule& schedule : snapshot.schedules()) {
    std::string_view kind = std::string_view(schedule.target).substr(0, schedule.target.find(' '));
    bool is_for_processors = kind.empty() || kind == "llvm";
    if (schedule.program_name.view() == program && !schedule.makes_its_own && is_for_processors) { found.push_back(&schedule); }
  }
  return found;
}

auto counts_for_build(const Snapshot& snapshot, const script::FileSchedule& schedule) -> bool {
  std::vector<const script::FileSchedule*> all = schedules_for_build(snapshot, schedule.program_name.view());
  return all.size() > 1 && all.back()->name == schedule.name;
}

auto find_program(const Snapshot& snapshot, std::string_view wanted) -> Result<Program> {
  const std::vector<Program> inside = inner_programs(snapshot);
  std::vector<Program> all = top_programs(snapshot);
  if (all.empty()) { all = inside; }
  if (all.empty()) { return with_schedules_that_make_programs(error(Code::NoProgram).arg("file", snapshot.name()), snapshot); }
  if (wanted.empty()) {
    if (all.size() == 1) { return all[0]; }
    std::vector<std::string> declared;
    for (const Program& p : all) { declared.push_back(p.name.str()); }
    return error(Code::SeveralPrograms).arg("file", snapshot.name()).arg("names", names_text(declared)).remedy("name one: `--function NAME`");
  }
  for (const Program& p : all) {
    if (p.name.view() == wanted) { return p; }
  }
  for (const Program& p : all) {
    if (!p.is_function && p.module && p.module->find(Name(wanted))) { return p; }
  }
  const Program* last = nullptr;
  size_t count = 0;
  for (const Program& p : inside) {
    if (p.name.view() == wanted) { return p; }
    if (p.name.view().ends_with("." + std::string(wanted))) { last = &p; ++count; }
  }
  if (count == 1) { return *last; }
  return unknown_program(snapshot, wanted, all);
}

auto tunables_in(const Snapshot& snapshot, Span span) -> std::vector<Tunable> {
  std::vector<Tunable> found;
  auto add = [&](const syntax::FunctionDef& function) {
    auto whole = snapshot.syntax().resolve(function.origin());
    auto name = snapshot.syntax().resolve({function.decl, function.name.span.begin, function.name.span.end, 0});
    if (!whole || !name || whole->end < span.begin || whole->begin > span.end) { return; }
    found.push_back({function.name.name.str(), *whole, *name});
  };
  // `task = auto_scheduler.SearchTask(...)` is a program under the name of the variable.
  auto add_task = [&](const syntax::Stmt& statement) {
    const auto* assign = statement.as<syntax::AssignStmt>();
    const auto* call = assign && assign->targets.size() == 1 ? assign->value->as<syntax::CallExpr>() : nullptr;
    const auto* variable = call ? assign->targets[0]->as<syntax::NameExpr>() : nullptr;
    if (!variable || !script::auto_scheduler::makes_task(*call)) { return; }
    auto whole = snapshot.syntax().resolve(statement.origin());
    auto name = snapshot.syntax().resolve(variable->origin());
    if (whole && name && whole->end >= span.begin && whole->begin <= span.end) { found.push_back({variable->name.str(), *whole, *name}); }
  };
  for (const syntax::PlacedItem& placed : snapshot.syntax().items()) {
    for (const syntax::Stmt* statement : placed.item->statements) {
      add_task(*statement);
      syntax::walk(*statement, [&](const syntax::Node& node) {
        if (const auto* function = node.as<syntax::FunctionDef>(); function != nullptr && frontend::is_program(*function)) { add(*function); }
        return node.kind == syntax::Kind::ClassDef || node.kind == syntax::Kind::FunctionDef;
      });
    }
  }
  return found;
}

namespace {

/// A function that makes several schedules has them under the names `NAME`, `NAME.2` and so on. Takes the schedule for the requested program, else the
/// first one, and adds a note about the others.
void pick_among(Document& document, const SelectionRequest& request, std::string& name, script::ScheduleRun& run, std::string& note) {
  const std::vector<Program> programs = top_programs(*document.snapshot());
  auto program_of = [&](const script::ScheduleRun& one) {
    auto found = std::find_if(programs.begin(), programs.end(), [&](const Program& p) { return p.module && p.module.same_as(one.asked); });
    return found != programs.end() ? found->name.str() : std::string("a program of its own");
  };
  auto words_for = [&](const script::ScheduleRun& one) { return fmt::format("{}`{}`", one.program.same_as(one.asked) ? "" : "the result of another one for ", program_of(one)); };
  std::string others;
  size_t count = 1;
  std::optional<std::pair<std::string, script::ScheduleRun>> asked;
  for (const std::string& further : schedule_names(*document.snapshot())) {
    std::string_view number = std::string_view(further).substr(std::min(further.size(), name.size()));
    bool is_further = further.starts_with(name) && number.size() > 1 && number[0] == '.' && number.find_first_not_of("0123456789", 1) == std::string_view::npos;
    if (!is_further) { continue; }
    auto other = document.run_schedule(further, {}, request.until);
    if (!other || other->decl != run.decl) { continue; }
    if (!request.function.empty() && !asked && program_of(*other) == request.function) { asked = {further, *other}; }
    others += fmt::format("{}`{}` of {}", others.empty() ? "" : ", ", further, words_for(*other));
    ++count;
  }
  if (asked && program_of(run) != request.function) {
    name = std::move(asked->first);
    run = std::move(asked->second);
    return;
  }
  if (others.empty() || program_of(run) == request.function) { return; }
  note = fmt::format("`{}` makes {} schedules: the first one, of {}, is taken; the {} {}", name, count, words_for(run), count == 2 ? "other is" : "others are", others);
}

/// The schedule's first hole; the run ends there.
auto stop_at_hole(const Snapshot& snapshot, script::ScheduleRun& run) -> std::optional<Hole> {
  auto hole = first_hole(snapshot, run);
  if (!hole) { return hole; }
  auto step = std::find_if(run.steps.begin(), run.steps.end(), [](const script::Step& one) { return one.hole.has_value(); });
  run.result = step->after;
  run.steps.erase(step + 1, run.steps.end());
  return hole;
}

auto only_schedule(const Snapshot& snapshot) -> std::variant<std::string, NotSelected> {
  std::vector<std::string> names = schedule_names(snapshot);
  if (names.size() == 1) { return names[0]; }
  if (names.empty()) {
    return NotSelected{{}, fmt::format("there is no schedule function in `{}`: one is `def NAME(sch: tir.Schedule)`, or makes it, `sch = tir.Schedule(PROGRAM)`", snapshot.name())};
  }
  return NotSelected{{error(Code::SeveralSchedules).arg("file", snapshot.name()).arg("names", names_text(names)).remedy("name one: `--with NAME`")}, {}};
}

/// The error of a record that decides a knob which the template does not define; none: it fits.
auto unknown_knob(const script::autotvm::Decisions* decisions, const script::autotvm::Space* space) -> std::optional<Diagnostic> {
  if (!decisions || !space) { return std::nullopt; }
  for (const auto& [name, choice] : decisions->choices) {
    if (space->find(name)) { continue; }
    return error(Code::NoSuchKnob).arg("name", name).remedy("use records of this template");
  }
  return std::nullopt;
}

auto select_scheduled(Document& document, const SelectionRequest& request, std::string name, SelectionOutput& output) -> std::variant<Selection, NotSelected> {
  auto ran = document.run_schedule(name, {}, request.until, request.decisions);
  if (!ran) {
    Diagnostics why = ran.diagnostics();
    // In an editor, a schedule that cannot run gets only a hint; a schedule requested by name that cannot run is an error.
    for (Diagnostic& d : why) { d.severity = Severity::Error; }
    return NotSelected{std::move(why), {}};
  }
  script::ScheduleRun run = std::move(*ran);
  if (auto unknown = unknown_knob(request.decisions.get(), run.space.get())) { return NotSelected{{*std::move(unknown)}, {}}; }
  pick_among(document, request, name, run, output.note);
  Selection out;
  if (request.stops_at_hole) { out.hole = stop_at_hole(*document.snapshot(), run); }
  for (const script::Step& step : run.steps) { output.printed += step.printed; }
  if (Diagnostics made = run.all_diagnostics(); has_errors(made)) { return NotSelected{std::move(made), {}}; }
  if (!run.result) { return NotSelected{{error(Code::ScheduleIncomplete).arg("name", name)}, {}}; }
  if (auto why = run.why_incomplete()) { return NotSelected{{*std::move(why)}, {}}; }
  out.before = run.program;
  out.module = run.result->module();
  out.trace = run.result->trace();
  out.schedule = name;
  out.schedule_target = run.target;
  out.space = run.space;
  if (const auto* found = document.schedules().find(Name(name))) { out.template_name = found->template_name; }
  for (const Program& p : top_programs(*document.snapshot())) {
    if (!p.module.same_as(run.asked)) { continue; }
    out.program = p.name;
    out.is_bare = p.is_function;
    if (p.has_errors && !request.takes_ill_formed) { return NotSelected{}; }
  }
  // In this file, an imported program has the name from the import.
  if (!request.function.empty() && !out.program.empty() && out.program != std::string_view(request.function) && !out.before->find(Name(request.function))) {
    return NotSelected{{}, fmt::format("`{}` is a schedule of `{}`, and `--function` names `{}`", name, out.program.view(), request.function), true};
  }
  if (out.program.empty()) { out.program = Name(name); }
  return out;
}

auto select_written(const Snapshot& snapshot, const SelectionRequest& request) -> std::variant<Selection, NotSelected> {
  auto program = find_program(snapshot, request.function);
  if (!program) { return NotSelected{program.diagnostics(), {}}; }
  if (!program->module) {
    bool is_explained = has_errors(snapshot.diagnostics());
    return NotSelected{{}, is_explained ? std::string() : fmt::format("`{}` uses Python that is not evaluated here, so it is not known", program->name.view())};
  }
  if (program->has_errors && !request.takes_ill_formed) { return NotSelected{}; }
  Selection out;
  out.program = program->name;
  out.is_bare = program->is_function;
  out.before = out.module = program->module;
  if (request.trace != nullptr) {
    schedule::Schedule sch(out.module, 1);
    if (auto status = sch.replay(*request.trace); !status) { return NotSelected{status.diagnostics(), {}}; }
    out.module = sch.module();
    out.trace = sch.trace();
  }
  return out;
}

}  // namespace

auto select(Document& document, const SelectionRequest& request, SelectionOutput& output) -> std::variant<Selection, NotSelected> {
  std::string schedule = request.schedule;
  if (schedule.empty() && request.only_schedule) {
    auto only = only_schedule(*document.snapshot());
    if (auto* none = std::get_if<NotSelected>(&only)) { return std::move(*none); }
    schedule = std::get<std::string>(std::move(only));
  }
  if (schedule.empty() && request.only_template) { schedule = only_template(*document.snapshot()); }
  auto selected = schedule.empty() ? select_written(*document.snapshot(), request) : select_scheduled(document, request, schedule, output);
  if (auto* out = std::get_if<Selection>(&selected)) {
    if (!request.function.empty() && out->module->find(Name(request.function))) {
      out->function = Name(request.function);
    } else if (out->module->find("main") || out->module->functions.empty()) {
      out->function = "main";
    } else {
      out->function = out->module->functions.front().first;
    }
  }
  return selected;
}

}  // namespace loopsmith::workspace
