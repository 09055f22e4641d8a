// Computes the lines of statements, and analyses texts after edits: see lines.h.
#include "workspace/edits/lines.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/equal.h"
#include "syntax/schedule_form.h"

namespace loopsmith::workspace {

auto line_start_of(const Snapshot& snapshot, uint32_t at) -> uint32_t { return snapshot.lines().line_start(snapshot.text(), snapshot.lines().line_of(at)); }

auto line_end_of(const Snapshot& snapshot, uint32_t at) -> uint32_t {
  auto line = snapshot.lines().line_of(at);
  return snapshot.lines().line_start(snapshot.text(), line) + static_cast<uint32_t>(snapshot.lines().line_text(snapshot.text(), line).size());
}

auto indent_at(const Snapshot& snapshot, uint32_t at) -> std::string {
  std::string_view line = snapshot.lines().line_text(snapshot.text(), snapshot.lines().line_of(at));
  return std::string(line.substr(0, std::min(line.find_first_not_of(" \t"), line.size())));
}

auto line_break_of(std::string_view text) -> std::string_view { return text.find("\r\n") != std::string_view::npos ? "\r\n" : "\n"; }
auto line_break_of(const Snapshot& snapshot) -> std::string { return std::string(line_break_of(snapshot.text())); }

auto with_line_breaks(std::string_view lines, std::string_view line_break) -> std::string {
  std::string out;
  for (char c : lines) {
    if (c == '\n') { out += line_break; } else { out += c; }
  }
  return out;
}

auto whole_lines(const Snapshot& snapshot, Span statement) -> Span {
  uint32_t end = line_end_of(snapshot, statement.end);
  const std::string& text = snapshot.text();
  if (end < text.size() && text[end] == '\r') { ++end; }
  if (end < text.size() && text[end] == '\n') { ++end; }
  return {line_start_of(snapshot, statement.begin), end};
}

auto body_of(const Snapshot& snapshot, DeclId decl) -> Body {
  Body body;
  body.def = syntax::function_of(snapshot.syntax().declaration(decl));
  if (body.def == nullptr) { return body; }
  for (const syntax::Stmt* statement : body.def->body) { body.statements.push_back(snapshot.syntax().resolve(statement->origin()).value_or(Span{})); }
  body.item_begin = snapshot.syntax().resolve({decl, 0, 0, 0}).value_or(Span{}).begin;
  return body;
}

auto with_edits(std::string_view text, const std::vector<TextEdit>& edits) -> std::string {
  std::string out;
  uint32_t at = 0;
  for (const TextEdit& edit : edits) {
    out.append(text.substr(at, edit.span.begin - at)).append(edit.text);
    at = edit.span.end;
  }
  return out.append(text.substr(at));
}

namespace {

constexpr const char* was_cancelled = "it was cancelled";

/// The text after the edits, with its schedules run; null: cancelled.
auto snapshot_after(const Snapshot& snapshot, const std::vector<TextEdit>& edits, const CancelToken& cancel) -> SnapshotPtr {
  Document document(snapshot.name(), snapshot.version(), with_edits(snapshot.text(), edits), snapshot.modules());
  document.check();
  if (!document.replay(cancel)) { return nullptr; }
  return document.snapshot();
}

auto new_error(const Snapshot& snapshot, const Snapshot& after) -> std::string {
  // Errors are compared by their messages, because edits move lines.
  std::vector<std::string> known;
  for (const Finding& finding : snapshot.findings()) {
    if (finding.severity == Severity::Error) { known.push_back(finding.message); }
  }
  for (const Finding& finding : after.findings()) {
    if (finding.severity != Severity::Error) { continue; }
    auto same = std::find(known.begin(), known.end(), finding.message);
    if (same == known.end()) { return finding.message; }
    known.erase(same);
  }
  return {};
}

}  // namespace

auto error_after(const Snapshot& snapshot, const std::vector<TextEdit>& edits, const CancelToken& cancel) -> std::string {
  SnapshotPtr after = snapshot_after(snapshot, edits, cancel);
  return after ? new_error(snapshot, *after) : was_cancelled;
}

auto what_breaks(const Snapshot& snapshot, const std::vector<TextEdit>& edits, const CancelToken& cancel) -> std::string {
  SnapshotPtr after = snapshot_after(snapshot, edits, cancel);
  if (!after) { return was_cancelled; }
  if (std::string error = new_error(snapshot, *after); !error.empty()) { return error; }
  for (const script::FileSchedule& before : snapshot.schedules()) {
    if (before.run == nullptr || !before.is_settled() || !before.run->is_complete || before.run->result == nullptr) { continue; }
    auto now = std::find_if(after->schedules().begin(), after->schedules().end(), [&](const script::FileSchedule& one) { return one.name == before.name; });
    bool runs = now != after->schedules().end() && now->run != nullptr && now->run->is_complete && now->run->result != nullptr;
    if (!runs) { return fmt::format("`{}` does not run to its end", before.name.view()); }
    if (!structural_equal(now->run->result->module(), before.run->result->module())) { return fmt::format("`{}` makes another program", before.name.view()); }
  }
  return {};
}

}  // namespace loopsmith::workspace
