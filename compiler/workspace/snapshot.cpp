// Snapshots of a document and the work that fills them: see snapshot.h.
#include "workspace/snapshot.h"

#include "analysis/ignore.h"
#include "support/codes.h"

#include <algorithm>
#include <tuple>

namespace loopsmith::workspace {
namespace {

/// Lines of changed declarations that are analysed with every key; more is left for when the user rests.
constexpr int64_t lines_per_key = 250;

/// A Python file may hold names for others to import.
auto is_tir(const std::string& name) -> bool { return !name.ends_with(".py"); }

auto is_unnecessary(Code code) -> bool {
  return code == Code::UnusedName || code == Code::UnusedImport || code == Code::UselessIgnore || code == Code::LoopWithoutEffect || code == Code::StepChangesNothing;
}

auto to_finding(const Diagnostic& diagnostic, const Snapshot& snapshot) -> Finding {
  Finding finding;
  finding.code = diagnostic.code;
  finding.severity = diagnostic.severity;
  // What has no place (or lost it) is shown at the top of the file rather than not at all.
  finding.span = snapshot.resolve(diagnostic.where).value_or(Span{0, 0});
  finding.message = diagnostic.message();
  finding.is_deprecated = diagnostic.code == Code::Deprecated;
  finding.is_unnecessary = is_unnecessary(diagnostic.code);
  finding.remedies = diagnostic.remedies;
  for (const RelatedNote& note : diagnostic.notes) {
    auto span = snapshot.resolve(note.where);
    // A note about what is gone is still worth reading where it belongs.
    finding.notes.push_back({span.value_or(finding.span), note.message});
    if (!span && snapshot.modules() && note.where.is_known()) { finding.notes.back().elsewhere = snapshot.modules()->locate(note.where); }
  }
  for (const FixEdit& fix : diagnostic.fixes) {
    if (auto span = snapshot.resolve(fix.where)) { finding.fixes.push_back({*span, fix.replacement}); }
  }
  return finding;
}

/// A run of another text, program or target says nothing of this one. Where all are as before, what it said stands
/// until it is run again, so that errors do not flicker while something else is edited.
auto is_current(const script::FileSchedule& schedule) -> bool {
  return schedule.run != nullptr && schedule.program && schedule.run->decl == schedule.decl &&
         schedule.run->program.same_as(schedule.program) && schedule.run->target == schedule.target;
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

auto Snapshot::findings() const -> std::vector<Finding> {
  std::vector<Finding> all;
  auto add = [&](const Diagnostics& diagnostics, bool is_asked = false) {
    for (const Diagnostic& diagnostic : diagnostics) {
      if (diagnostic.code == Code::Cancelled || (!is_asked && analysis::is_silenced(syntax_, diagnostic))) { continue; }
      all.push_back(to_finding(diagnostic, *this));
    }
  };
  add(syntax_.diagnostics());
  add(semantic_);
  add(analysed_, true);
  for (const script::FileSchedule& schedule : schedules_) {
    add(schedule.diagnostics);
    if (is_current(schedule)) { add(schedule.run->all_diagnostics()); }
  }
  auto key = [](const Finding& f) { return std::tie(f.span.begin, f.severity, f.span.end, f.code, f.message); };
  std::sort(all.begin(), all.end(), [&](const Finding& a, const Finding& b) { return key(a) < key(b); });
  auto same = [](const Finding& a, const Finding& b) { return a.code == b.code && a.span == b.span && a.message == b.message; };
  all.erase(std::unique(all.begin(), all.end(), same), all.end());
  return all;
}

Document::Document(std::string name, int64_t version, std::string text, std::shared_ptr<frontend::Modules> modules)
    : current_(std::make_shared<Snapshot>(std::move(name), version, std::move(text))),
      file_(std::make_unique<frontend::File>(script::predeclared)) {
  file_->import_from(modules);
  current_->modules_ = std::move(modules);
}

auto Document::imports_have_changed() -> bool { return current_->checked_ && file_->imports_fingerprint() != imports_; }

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
}

void Document::set_version(int64_t version) {
  if (current_->version_ != version) { next().version_ = version; }
}

void Document::check() {
  Snapshot& snapshot = next();
  file_->update(snapshot.syntax_);
  snapshot.semantic_ = file_->diagnostics();
  is_analysed_ = analyses_.update(snapshot.syntax_, *file_, is_tir(snapshot.name_), lines_per_key);
  snapshot.analysed_ = analyses_.diagnostics();
  snapshot.programs_.clear();
  for (size_t i = 0; i < file_->size(); ++i) {
    const frontend::Declaration& declaration = file_->declaration(i);
    for (const frontend::InnerProgram& inner : declaration.inside) {
      snapshot.programs_.push_back({inner.name, inner.where.decl, inner.module, inner.partial, true});
    }
    if (!declaration.is_program) { continue; }
    snapshot.programs_.push_back({declaration.item->name, declaration.item->decl, declaration.module, declaration.partial, false});
  }
  schedules_.update(*file_);
  snapshot.semantic_.insert(snapshot.semantic_.end(), schedules_.diagnostics().begin(), schedules_.diagnostics().end());
  snapshot.schedules_ = schedules_.all();
  imports_ = file_->imports_fingerprint();
  snapshot.checked_ = true;
}

auto Document::replay(const CancelToken& cancel, const script::StepWatch& watch) -> bool {
  if (!current_->checked_) { check(); }
  if (!is_analysed_) {
    is_analysed_ = analyses_.update(current_->syntax_, *file_, is_tir(current_->name_), INT64_MAX, cancel);
    next().analysed_ = analyses_.diagnostics();
    if (!is_analysed_) { return false; }
  }
  bool finished = schedules_.run_all(*file_, cancel, watch);
  Snapshot& snapshot = next();
  if (!finished) { return false; }
  snapshot.schedules_ = schedules_.all();
  snapshot.earlier_decls_.clear();
  for (const script::FileSchedule& schedule : snapshot.schedules_) {
    if (schedule.run == nullptr) { continue; }
    for (DeclId earlier : schedule.run->earlier_decls) { snapshot.earlier_decls_.emplace_back(earlier, schedule.decl); }
  }
  snapshot.replayed_ = true;
  return true;
}

auto Document::has_schedule_findings() const -> bool {
  return std::any_of(current_->schedules_.begin(), current_->schedules_.end(), [](const script::FileSchedule& schedule) {
    return is_current(schedule) && !schedule.run->all_diagnostics().empty();
  });
}

auto analyse(std::string name, std::string text, std::shared_ptr<frontend::Modules> modules) -> std::unique_ptr<Document> {
  auto document = std::make_unique<Document>(std::move(name), 0, std::move(text), std::move(modules));
  document->check();
  document->replay({});
  return document;
}

}  // namespace loopsmith::workspace
