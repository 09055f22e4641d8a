// Implements snapshots of a document and the work that fills them: see snapshot.h.
#include "workspace/snapshot.h"

#include "analysis/device_limits.h"
#include "analysis/ignore.h"
#include "frontend/objects.h"
#include "support/codes.h"
#include "syntax/schedule_form.h"
#include "target/gpu.h"
#include "workspace/selection.h"
#include "workspace/tuned_for_another.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <tuple>

namespace loopsmith::workspace {
namespace {

/// Lines of changed declarations that are analysed with every key; the others wait until the user pauses.
constexpr int64_t lines_per_key = 250;

/// A Python file may define names for other files to import.
auto is_tir(const std::string& name) -> bool { return !name.ends_with(".py"); }

auto is_unnecessary(Code code) -> bool {
  return code == Code::UnusedName || code == Code::UnusedImport || code == Code::UselessIgnore || code == Code::LoopWithoutEffect || code == Code::StepChangesNothing;
}

auto to_finding(const Diagnostic& diagnostic, const Snapshot& snapshot) -> Finding {
  Finding finding;
  finding.code = diagnostic.code;
  finding.severity = diagnostic.severity;
  // A diagnostic without a place (or with a removed one) is shown at the top of the file.
  finding.span = snapshot.resolve(diagnostic.where).value_or(Span{0, 0});
  finding.message = diagnostic.message();
  finding.is_deprecated = diagnostic.code == Code::Deprecated;
  finding.is_unnecessary = is_unnecessary(diagnostic.code);
  finding.remedies = diagnostic.remedies;
  for (const RelatedNote& note : diagnostic.notes) {
    auto span = snapshot.resolve(note.where);
    // A note with a removed place is shown at the finding itself.
    finding.notes.push_back({span.value_or(finding.span), note.message});
    if (!span && snapshot.modules() && note.where.is_known()) { finding.notes.back().elsewhere = snapshot.modules()->locate(note.where); }
  }
  for (const FixEdit& fix : diagnostic.fixes) {
    if (auto span = snapshot.resolve(fix.where)) { finding.fixes.push_back({*span, fix.replacement}); }
  }
  return finding;
}

/// Marks programs inside of Python that also have a name at the top level of the file: `f = make(16)`.
void mark_repeated(frontend::File& file, std::vector<Program>& programs) {
  std::set<std::pair<DeclId, uint32_t>> named;
  for (size_t i = 0; i < file.size(); ++i) {
    if (const auto* made = file.declaration(i).value.as<frontend::ProgramObject>()) { named.emplace(made->where.decl, made->where.begin); }
  }
  for (Program& program : programs) { program.is_repeated = program.is_inside && named.contains({program.where.decl, program.where.begin}); }
}

/// True if the last run is of the present declaration, program and target. Its findings then remain until the schedule runs again, so that errors do not
/// flicker during edits elsewhere.
auto is_current(const script::FileSchedule& schedule) -> bool {
  return schedule.run != nullptr && schedule.program && schedule.run->decl == schedule.decl &&
         schedule.run->program.same_as(schedule.program) && schedule.run->target == schedule.target;
}

/// Kernels of a schedule with more threads than its target allows, at the step that makes them.
auto over_limits(const script::FileSchedule& schedule) -> Diagnostics {
  auto target = schedule.target.empty() || schedule.run->result == nullptr ? Result<target::Target>(target::Target()) : target::parse(schedule.target);
  if (!target || schedule.run->result == nullptr || !target::gpu_limits(*target)) { return {}; }
  auto found_in = [&](const schedule::Schedule& state) {
    Diagnostics out;
    for (const auto& [name, func] : state.module()->functions) {
      for (Diagnostic& d : analysis::threads_over_limit(func, schedule.program_name.view(), *target)) { out.push_back(std::move(d)); }
    }
    return out;
  };
  Diagnostics found = found_in(*schedule.run->result);
  if (found.empty()) { return found; }
  for (const script::Step& step : schedule.run->steps) {
    if (step.after == nullptr || found_in(*step.after).empty()) { continue; }
    for (Diagnostic& d : found) { d.where = step.where; }
    break;
  }
  return found;
}

}  // namespace

Snapshot::Snapshot(std::string name, int64_t version, std::string text)
    : name_(std::move(name)), version_(version), syntax_(std::move(text)), lines_(syntax_.text()) {}

auto Snapshot::resolve(Origin origin) const -> std::optional<Span> {
  if (auto span = syntax_.resolve(origin)) { return span; }
  for (const auto& [earlier, now] : earlier_decls_) {
    if (earlier == origin.decl) { return syntax_.resolve({now, origin.begin, origin.end, origin.step}); }
  }
  return std::nullopt;
}

auto Snapshot::is_silenced(const Diagnostic& diagnostic) const -> bool {
  if (diagnostic.severity == Severity::Error) { return false; }
  // A step kept from an earlier run refers to the declaration's earlier version. The comments are in the present version.
  for (const auto& [earlier, now] : earlier_decls_) {
    if (earlier != diagnostic.where.decl) { continue; }
    Diagnostic moved = diagnostic;
    moved.where.decl = now;
    return analysis::is_silenced(syntax_, moved);
  }
  return analysis::is_silenced(syntax_, diagnostic);
}

template <class F>
void Snapshot::each_diagnostic(F&& f) const {
  auto each = [&](const Diagnostics& diagnostics, bool is_of_run, bool is_filtered) {
    for (const Diagnostic& diagnostic : diagnostics) {
      if (diagnostic.code == Code::Cancelled || (!is_filtered && is_silenced(diagnostic))) { continue; }
      f(diagnostic, is_of_run);
    }
  };
  each(syntax_.diagnostics(), false, false);
  each(semantic_, false, false);
  // The analyses apply the comments themselves, because they report comments that silence nothing.
  each(analysed_, false, true);
  for (const script::FileSchedule& schedule : schedules_) {
    each(schedule.diagnostics, true, false);
    if (!is_current(schedule)) { continue; }
    each(schedule.run->all_diagnostics(), true, false);
    each(over_limits(schedule), true, false);
    if (auto found = tuned_for_another(*this, schedule)) { each({*std::move(found)}, true, false); }
  }
}

auto Snapshot::findings() const -> std::vector<Finding> {
  std::vector<Finding> all;
  each_diagnostic([&](const Diagnostic& diagnostic, bool) { all.push_back(to_finding(diagnostic, *this)); });
  auto key = [](const Finding& f) { return std::tie(f.span.begin, f.severity, f.span.end, f.code, f.message); };
  std::sort(all.begin(), all.end(), [&](const Finding& a, const Finding& b) { return key(a) < key(b); });
  auto same = [](const Finding& a, const Finding& b) { return a.code == b.code && a.span == b.span && a.message == b.message; };
  all.erase(std::unique(all.begin(), all.end(), same), all.end());
  return all;
}

auto Snapshot::diagnostics() const -> Diagnostics {
  struct Placed { uint32_t begin; size_t found; Diagnostic diagnostic; };
  std::vector<Placed> of_text;
  Diagnostics of_runs;
  // A function that is called several times repeats its mistake each time.
  std::set<std::tuple<Code, DeclId, uint32_t, uint32_t, std::string>> seen;
  each_diagnostic([&](const Diagnostic& d, bool is_of_run) {
    if (!seen.emplace(d.code, d.where.decl, d.where.begin, d.where.end, d.message()).second) { return; }
    if (is_of_run) { of_runs.push_back(d); } else { of_text.push_back({resolve(d.where).value_or(Span{}).begin, of_text.size(), d}); }
  });
  std::sort(of_text.begin(), of_text.end(), [](const Placed& a, const Placed& b) { return std::tie(a.begin, a.found) < std::tie(b.begin, b.found); });
  Diagnostics all;
  for (Placed& placed : of_text) { all.push_back(std::move(placed.diagnostic)); }
  all.insert(all.end(), std::make_move_iterator(of_runs.begin()), std::make_move_iterator(of_runs.end()));
  return all;
}

auto Snapshot::without_silenced(Diagnostics diagnostics) const -> Diagnostics {
  std::erase_if(diagnostics, [&](const Diagnostic& diagnostic) { return is_silenced(diagnostic); });
  return diagnostics;
}

Document::Document(std::string name, int64_t version, std::string text, std::shared_ptr<frontend::Modules> modules)
    : current_(std::make_shared<Snapshot>(std::move(name), version, std::move(text))),
      file_(std::make_unique<frontend::File>(script::predeclared)) {
  file_->import_from(modules);
  file_->set_is_python(!is_tir(current_->name_));
  current_->modules_ = std::move(modules);
}

auto Document::imports_have_changed() -> bool { return evaluated_ && file_->imports_fingerprint() != imports_; }

auto Document::next() -> Snapshot& {
  if (current_.use_count() > 1) { current_ = std::make_shared<Snapshot>(*current_); }
  return *current_;
}

void Document::edit(int64_t version, Span replaced, std::string_view replacement) {
  Snapshot& snapshot = next();
  snapshot.version_ = version;
  auto size = static_cast<uint32_t>(snapshot.text().size());
  replaced.begin = std::min(replaced.begin, size);
  replaced.end = std::clamp(replaced.end, replaced.begin, size);
  snapshot.syntax_.edit(replaced, replacement);
  snapshot.lines_.edit(snapshot.syntax_.text(), replaced, static_cast<uint32_t>(replacement.size()));
  snapshot.checked_ = false;
  snapshot.replayed_ = false;
  evaluated_ = false;
}

void Document::set_version(int64_t version) {
  if (current_->version_ != version) { next().version_ = version; }
}

void Document::evaluate() {
  Snapshot& snapshot = next();
  file_->update(snapshot.syntax_);
  snapshot.semantic_ = file_->diagnostics();
  snapshot.programs_.clear();
  bool has_inside = false;
  for (size_t i = 0; i < file_->size(); ++i) {
    const frontend::Declaration& declaration = file_->declaration(i);
    for (const frontend::InnerProgram& inner : declaration.inside) {
      snapshot.programs_.push_back({.name = inner.name, .decl = inner.where.decl, .module = inner.module, .partial = inner.partial, .where = inner.where,
                                    .is_function = inner.is_function, .has_errors = inner.has_errors, .is_inside = true});
      has_inside = true;
    }
    if (!declaration.is_program) { continue; }
    const syntax::Item& item = *declaration.item;
    snapshot.programs_.push_back({.name = item.name, .decl = item.decl, .module = declaration.module, .partial = declaration.partial,
                                  .where = Origin{item.decl, 0, 0, 0}, .is_function = item.kind == syntax::ItemKind::Function,
                                  .has_errors = has_errors(declaration.diagnostics) || item.has_error});
  }
  if (has_inside) { mark_repeated(*file_, snapshot.programs_); }
  schedules_.update(*file_);
  snapshot.semantic_.insert(snapshot.semantic_.end(), schedules_.diagnostics().begin(), schedules_.diagnostics().end());
  snapshot.schedules_ = schedules_.all();
  imports_ = file_->imports_fingerprint();
  evaluated_ = true;
}

void Document::check() {
  evaluate();
  Snapshot& snapshot = next();
  is_analysed_ = analyses_.update(snapshot.syntax_, *file_, is_tir(snapshot.name_), lines_per_key);
  snapshot.analysed_ = analyses_.diagnostics();
  snapshot.checked_ = true;
}

auto Document::analyse(const CancelToken& cancel) -> bool {
  if (!current_->checked_) { check(); }
  if (is_analysed_) { return true; }
  is_analysed_ = analyses_.update(current_->syntax_, *file_, is_tir(current_->name_), INT64_MAX, cancel);
  next().analysed_ = analyses_.diagnostics();
  return is_analysed_;
}

auto Document::replay(const CancelToken& cancel, const script::StepWatch& watch) -> bool {
  if (!analyse(cancel)) { return false; }
  if (!schedules_.run_all(*file_, cancel, watch)) { return false; }
  take_runs();
  next().replayed_ = true;
  return true;
}

void Document::take_runs() {
  Snapshot& snapshot = next();
  snapshot.schedules_ = schedules_.all();
  snapshot.earlier_decls_.clear();
  for (const script::FileSchedule& schedule : snapshot.schedules_) {
    if (schedule.run == nullptr) { continue; }
    for (DeclId earlier : schedule.run->earlier_decls) { snapshot.earlier_decls_.emplace_back(earlier, schedule.decl); }
  }
}

auto Document::steps_until(const script::FileSchedule& schedule, uint32_t line) const -> size_t {
  auto def = syntax::function_of(current_->syntax_.declaration(schedule.decl));
  size_t count = 0;
  for (; def && count < def->body.size(); ++count) {
    auto span = current_->resolve(def->body[static_cast<uint32_t>(count)]->origin());
    if (!span || current_->lines_.line_of(span->begin) + 1 > line) { break; }
  }
  return count;
}

auto Document::run_schedule(std::string_view name, const CancelToken& cancel, std::optional<uint32_t> until, const std::shared_ptr<const script::autotvm::Decisions>& decisions)
    -> Result<script::ScheduleRun> {
  script::FileSchedule* schedule = schedules_.find(Name(name));
  if (schedule == nullptr) {
    for (const script::Schedules::LeftAlone& left : schedules_.left_alone()) {
      if (left.name.view() != name) { continue; }
      return error(Code::NothingToSchedule, left.program).arg("name", name).remedy("name the program in `tir.Schedule(PROGRAM)`, or give it as the parameter of a file with one program");
    }
    std::vector<std::string> names;
    for (const script::FileSchedule& one : schedules_.all()) { names.push_back(one.name.str()); }
    return with_known_names(error(Code::NoSuchSchedule).arg("name", name).arg("file", current_->name()), name, names, "the schedule functions");
  }
  if (!schedule->program) { return schedule->diagnostics; }
  if (decisions) { return schedules_.run_with(*file_, *schedule, decisions); }
  std::optional<size_t> steps;
  if (until) { steps = steps_until(*schedule, *until); }
  schedules_.run_one(*file_, *schedule, cancel, steps);
  if (!schedule->run) { return error(Code::NothingToSchedule, schedule->where).arg("name", name); }
  script::ScheduleRun run = *schedule->run;
  if (!steps) { take_runs(); }
  run.diagnostics.insert(run.diagnostics.begin(), schedule->diagnostics.begin(), schedule->diagnostics.end());
  run.diagnostics = current_->without_silenced(std::move(run.diagnostics));
  run.further_on = current_->without_silenced(std::move(run.further_on));
  for (script::Step& step : run.steps) { step.diagnostics = current_->without_silenced(std::move(step.diagnostics)); }
  return run;
}

auto Document::has_schedule_findings() const -> bool {
  return std::any_of(current_->schedules_.begin(), current_->schedules_.end(), [this](const script::FileSchedule& schedule) {
    return is_current(schedule) && (!schedule.run->all_diagnostics().empty() || is_tuned_for_another(*current_, schedule));
  });
}

auto analyse(std::string name, std::string text, std::shared_ptr<frontend::Modules> modules) -> std::unique_ptr<Document> {
  auto document = std::make_unique<Document>(std::move(name), 0, std::move(text), std::move(modules));
  document->check();
  document->replay({});
  return document;
}

}  // namespace loopsmith::workspace
