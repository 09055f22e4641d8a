// Snapshots of a document and the work that fills them: see snapshot.h.
#include "workspace/snapshot.h"

#include <algorithm>
#include <tuple>

namespace loopsmith::workspace {
namespace {

auto to_finding(const Diagnostic& diagnostic, const syntax::Document& document) -> Finding {
  Finding finding;
  finding.code = diagnostic.code;
  finding.severity = diagnostic.severity;
  // What has no place (or lost it) is shown at the top of the file rather than not at all.
  finding.span = document.resolve(diagnostic.where).value_or(Span{0, 0});
  finding.message = diagnostic.message();
  finding.remedies = diagnostic.remedies;
  for (const RelatedNote& note : diagnostic.notes) {
    auto span = document.resolve(note.where);
    // A note about elsewhere is still worth reading where it belongs.
    finding.notes.push_back({span.value_or(finding.span), note.message});
  }
  for (const FixEdit& fix : diagnostic.fixes) {
    if (auto span = document.resolve(fix.where)) { finding.fixes.push_back({*span, fix.replacement}); }
  }
  return finding;
}

}  // namespace

Snapshot::Snapshot(std::string name, int64_t version, std::string text)
    : name_(std::move(name)), version_(version), syntax_(std::move(text)), lines_(syntax_.text()) {}

auto Snapshot::findings() const -> std::vector<Finding> {
  std::vector<Finding> all;
  for (const Diagnostics& tier : {syntax_.diagnostics(), semantic_, schedule_}) {
    for (const Diagnostic& diagnostic : tier) { all.push_back(to_finding(diagnostic, syntax_)); }
  }
  auto key = [](const Finding& f) { return std::tie(f.span.begin, f.severity, f.span.end, f.code, f.message); };
  std::sort(all.begin(), all.end(), [&](const Finding& a, const Finding& b) { return key(a) < key(b); });
  auto same = [](const Finding& a, const Finding& b) { return a.code == b.code && a.span == b.span && a.message == b.message; };
  all.erase(std::unique(all.begin(), all.end(), same), all.end());
  return all;
}

Document::Document(std::string name, int64_t version, std::string text)
    : current_(std::make_shared<Snapshot>(std::move(name), version, std::move(text))) {}

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
  snapshot.checked_ = true;
}

auto Document::replay(const CancelToken& cancel) -> bool {
  Snapshot& snapshot = next();
  if (cancel.is_cancelled()) { return false; }
  snapshot.replayed_ = true;
  return true;
}

}  // namespace loopsmith::workspace
