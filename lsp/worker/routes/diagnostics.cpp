// Diagnostics, published or requested, and the marks that show the progress of replays.
#include "lsp/worker/routes/all.h"

#include <fmt/format.h>

#include "lsp/features/counterparts.h"
#include "lsp/features/loop_hints.h"
#include "lsp/features/verdicts.h"
#include "lsp/features/view_origins.h"
#include "lsp/features/views.h"
#include "lsp/protocol/uri.h"
#include "lsp/worker/conversions.h"
#include "lsp/worker/pieces.h"
#include "support/hash.h"

namespace loopsmith::lsp {
namespace {

using workspace::Snapshot;

/// `views`: the client opens views, so a failed statement links to its loops and blocks in the view of the state before it.
auto diagnostic_of(const Snapshot& snapshot, Encoding encoding, const std::string& manual, bool views, const workspace::Finding& finding) -> Json {
  auto range = [&](Span span) { return to_json(to_range(snapshot.text(), snapshot.lines(), span, encoding)); };
  std::string message = finding.message;
  for (const std::string& remedy : finding.remedies) { message += "\nhelp: " + remedy; }
  Json diagnostic = {{"range", range(finding.span)},
                     {"severity", static_cast<int>(finding.severity) + 1},
                     {"code", code_id(finding.code)},
                     {"source", "loopsmith"},
                     {"message", std::move(message)}};
  if (finding.is_unnecessary || finding.is_deprecated) { diagnostic["tags"] = Json::array({finding.is_unnecessary ? 1 : 2}); }
  if (!manual.empty()) { diagnostic["codeDescription"] = {{"href", manual + "#" + std::string(code_id(finding.code))}}; }
  if (!finding.notes.empty()) {
    Json related = Json::array();
    for (const auto& note : finding.notes) {
      if (const auto& there = note.elsewhere) {
        related.push_back({{"location", {{"uri", uri_of(there->path)}, {"range", to_json(to_range(there->text->text(), LineIndex(there->text->text()), there->span, encoding))}}}, {"message", note.message}});
        continue;
      }
      related.push_back({{"location", {{"uri", snapshot.name()}, {"range", range(note.span)}}}, {"message", note.message}});
    }
    diagnostic["relatedInformation"] = std::move(related);
  }
  if (auto state = views ? state_at_fault(snapshot, finding) : std::nullopt) {
    LineIndex lines(state->text);
    for (const FaultPlace& place : state->places) {
      diagnostic["relatedInformation"].push_back({{"location", {{"uri", state->address}, {"range", to_json(to_range(state->text, lines, place.span, encoding))}}}, {"message", fmt::format("the {} before this statement", place.what)}});
    }
  }
  return diagnostic;
}

auto diagnostics_of(const Snapshot& snapshot, Encoding encoding, const std::string& manual, bool views) -> Json {
  Json diagnostics = Json::array();
  for (const workspace::Finding& finding : snapshot.findings()) { diagnostics.push_back(diagnostic_of(snapshot, encoding, manual, views, finding)); }
  return diagnostics;
}

/// The diagnostics of a document, or the message that they have not changed.
auto report_of(const Snapshot& snapshot, const RouteContext& context, const std::string& previous) -> Json {
  Json items = diagnostics_of(snapshot, context.encoding, context.manual, shows_views(context.capabilities));
  if (context.loop_hints) { add_loop_hints(snapshot, context.encoding, items); }
  if (context.recorded != nullptr) { add_verdicts(snapshot, context.encoding, measured_of(context), items); }
  std::string id = fmt::format("{:016x}", hash_bytes(to_text(items)));
  if (id == previous) { return {{"kind", "unchanged"}, {"resultId", id}}; }
  return {{"kind", "full"}, {"resultId", id}, {"items", std::move(items)}};
}

}  // namespace

auto diagnostic_route(const RouteContext& context, const Json& params) -> RouteResult {
  return report_of(*context.snapshot, context, string_in(params, "previousResultId"));
}

auto workspace_diagnostic(const RouteContext& context, const Json& params) -> RouteResult {
  const Json& known = member(params, "previousResultIds");
  Pieces items(context, params, "items");
  for (const Snapshot* snapshot : context.documents) {
    std::string previous;
    if (known.is_array()) {
      for (const Json& one : known) {
        if (string_in(one, "uri") == snapshot->name()) { previous = string_in(one, "value"); }
      }
    }
    Json report = report_of(*snapshot, context, previous);
    report["uri"] = snapshot->name();
    report["version"] = snapshot->version();
    items.add(std::move(report));
    items.cut();
    if (context.cancel.is_cancelled()) { return cancelled(); }
  }
  return items.rest();
}

void add_loop_hints(const Snapshot& snapshot, Encoding encoding, Json& diagnostics) {
  constexpr int hint = 4;
  auto range = [&](Span span) { return to_json(to_range(snapshot.text(), snapshot.lines(), span, encoding)); };
  for (const LoopHint& one : loop_hints(snapshot)) {
    Json diagnostic = {{"range", range(one.span)}, {"severity", hint}, {"code", one.code}, {"source", "loopsmith"}, {"message", one.message}};
    for (const auto& [span, message] : one.related) { diagnostic["relatedInformation"].push_back({{"location", {{"uri", snapshot.name()}, {"range", range(span)}}}, {"message", message}}); }
    diagnostics.push_back(std::move(diagnostic));
  }
}

void add_verdicts(const Snapshot& snapshot, Encoding encoding, const Measured& measured, Json& diagnostics) {
  constexpr int error = 1;
  auto range = [&](Span span) { return to_json(to_range(snapshot.text(), snapshot.lines(), span, encoding)); };
  for (const Verdict& verdict : verdicts(snapshot, measured)) {
    Json diagnostic = {{"range", range(verdict.span)}, {"severity", error}, {"code", verdict.code}, {"source", "loopsmith"}, {"message", verdict.message}};
    if (verdict.program) { diagnostic["relatedInformation"] = Json::array({{{"location", {{"uri", snapshot.name()}, {"range", range(*verdict.program)}}}, {"message", verdict.about_program}}}); }
    diagnostics.push_back(std::move(diagnostic));
  }
}

auto diagnostics_message(const Snapshot& snapshot, Encoding encoding, const std::string& manual, bool views) -> Json {
  return notification("textDocument/publishDiagnostics",
                      {{"uri", snapshot.name()}, {"version", snapshot.version()}, {"diagnostics", diagnostics_of(snapshot, encoding, manual, views)}});
}

auto progress_message(const Snapshot& snapshot, Encoding encoding, const std::vector<ReplayMark>& marks) -> Json {
  constexpr const char* states[] = {"stale", "running", "failed"};
  Json list = Json::array();
  for (const ReplayMark& mark : marks) {
    list.push_back({{"range", to_json(to_range(snapshot.text(), snapshot.lines(), mark.span, encoding))}, {"state", states[static_cast<size_t>(mark.state)]}});
  }
  return notification("loopsmith/replayProgress", {{"uri", snapshot.name()}, {"version", snapshot.version()}, {"marks", std::move(list)}});
}

}  // namespace loopsmith::lsp
