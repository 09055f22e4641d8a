// Routes, one entry per method, with the conversions they need: see routes.h.
#include "lsp/worker/routes.h"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <ranges>
#include <unordered_set>

#include "ir/memory.h"
#include "lsp/features/across.h"
#include "lsp/features/applied.h"
#include "lsp/features/bundle.h"
#include "lsp/features/callers.h"
#include "lsp/features/completion.h"
#include "lsp/features/counterparts.h"
#include "lsp/features/decisions.h"
#include "lsp/features/decomposed.h"
#include "lsp/features/factors.h"
#include "lsp/features/formatting.h"
#include "lsp/features/hints.h"
#include "lsp/features/hover.h"
#include "lsp/features/idle_steps.h"
#include "lsp/features/imports.h"
#include "lsp/features/inlining.h"
#include "lsp/features/lenses.h"
#include "lsp/features/links.h"
#include "lsp/features/loop_hints.h"
#include "lsp/features/loop_view.h"
#include "lsp/features/memory.h"
#include "lsp/features/moved_files.h"
#include "lsp/features/moves.h"
#include "lsp/features/names.h"
#include "lsp/features/numbers.h"
#include "lsp/features/rewrites.h"
#include "lsp/features/steps.h"
#include "lsp/features/symbols.h"
#include "lsp/features/two_schedules.h"
#include "lsp/features/unpacked.h"
#include "lsp/features/tokens.h"
#include "lsp/features/touched.h"
#include "lsp/features/tuning.h"
#include "lsp/features/view_keys.h"
#include "lsp/features/view_origins.h"
#include "lsp/features/views.h"
#include "lsp/jobs/wording.h"
#include "lsp/protocol/uri.h"
#include "lsp/worker/files.h"
#include "lsp/worker/pieces.h"
#include "lsp/worker/records.h"
#include "lsp/worker/verdicts.h"
#include "support/hash.h"
#include "support/memory.h"
#include "target/hardware.h"

namespace loopsmith::lsp {
namespace {

using workspace::Snapshot;

auto range_of(const RouteContext& context, Span span) -> Json {
  return to_json(to_range(context.snapshot->text(), context.snapshot->lines(), span, context.encoding));
}

/// For another file than the one that a request is about.
auto in_file(const RouteContext& context, const Snapshot& file) -> RouteContext {
  RouteContext there = context;
  there.snapshot = &file;
  return there;
}

/// `views`: the client opens them, and is told where a failed statement's loops and blocks stand in the state before it.
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

auto bad_params(std::string message) -> RouteError { return {ErrorCode::InvalidParams, std::move(message)}; }

auto symbol_kind(SymbolKind kind) -> int {
  // LSP's SymbolKind.
  switch (kind) {
    case SymbolKind::Function: return 12;
    case SymbolKind::Class: return 5;
    case SymbolKind::Variable: return 14;
    case SymbolKind::Loop: return 25;
    case SymbolKind::Block: return 3;
    case SymbolKind::Schedule: return 6;
    case SymbolKind::Buffer: return 18;
    case SymbolKind::Step: return 24;
  }
  return 12;
}

auto symbol_json(const RouteContext& context, const Symbol& symbol) -> Json {
  Json json = {{"name", symbol.name},
               {"kind", symbol_kind(symbol.kind)},
               {"range", range_of(context, symbol.span)},
               {"selectionRange", range_of(context, symbol.name_span)}};
  if (!symbol.detail.empty()) { json["detail"] = symbol.detail; }
  if (!symbol.children.empty()) {
    Json children = Json::array();
    for (const Symbol& child : symbol.children) { children.push_back(symbol_json(context, child)); }
    json["children"] = std::move(children);
  }
  return json;
}

/// As versioned edits where the client takes them: they land on this very text, or not at all. `label`: what they are for, told to those who show it.
auto edit_of(const RouteContext& context, const std::vector<TextEdit>& edits, const std::string& label) -> Json {
  constexpr const char* annotation = "loopsmith";
  const Json& supported = member(member(context.capabilities, "workspace"), "workspaceEdit");
  bool are_versioned = bool_in(supported, "documentChanges");
  bool are_annotated = are_versioned && !member(supported, "changeAnnotationSupport").is_null();
  Json list = Json::array();
  for (const TextEdit& edit : edits) {
    list.push_back({{"range", range_of(context, edit.span)}, {"newText", edit.text}});
    if (are_annotated) { list.back()["annotationId"] = annotation; }
  }
  const std::string& uri = context.snapshot->name();
  if (!are_versioned) { return {{"changes", {{uri, std::move(list)}}}}; }
  Json whole = {{"documentChanges", Json::array({{{"textDocument", {{"uri", uri}, {"version", context.snapshot->version()}}}, {"edits", std::move(list)}}})}};
  if (are_annotated) { whole["changeAnnotations"] = {{annotation, {{"label", label}}}}; }
  return whole;
}

/// What is known of a document, or that it is what was told before.
auto report_of(const Snapshot& snapshot, const RouteContext& context, const std::string& previous) -> Json {
  Json items = diagnostics_of(snapshot, context.encoding, context.manual, shows_views(context.capabilities));
  if (context.loop_hints) { add_loop_hints(snapshot, context.encoding, items); }
  if (context.records != nullptr) { add_verdicts(snapshot, context.encoding, context.jobs, *context.records, items); }
  std::string id = fmt::format("{:016x}", hash_bytes(to_text(items)));
  if (id == previous) { return {{"kind", "unchanged"}, {"resultId", id}}; }
  return {{"kind", "full"}, {"resultId", id}, {"items", std::move(items)}};
}

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
    if (context.cancel.is_cancelled()) { return RouteError{ErrorCode::RequestCancelled, "cancelled"}; }
  }
  return items.rest();
}

/// "tuning 37 trials, best 141 us", "tuned: 138 us", "timed: 12 us"; empty: it is over, and left nothing.
auto job_text(const JobFacts& job) -> std::string {
  std::string what = !job.schedule.empty() ? job.schedule : job.function;
  if (job.tunes() || job.fills()) { return job.is_done() ? fmt::format("tuned {}: {}", what, duration_text(job.seconds)) : fmt::format("tuning {}: {}", what, progress_text(job)); }
  if (job.kind == JobKind::Bench) { return job.is_done() ? fmt::format("timed {}: {}", what, duration_text(job.seconds)) : fmt::format("timing {}", what); }
  if (job.kind == JobKind::Verify) { return job.is_done() ? fmt::format("verified {}: {}", what, job.is_equal ? "same results" : "other results") : fmt::format("verifying {}", what); }
  return job.is_done() ? std::string() : fmt::format("running {}", what);
}

/// "llvm znver4" of a target with all its options.
auto target_text(const std::string& target) -> std::string {
  std::string text = target.substr(0, target.find(' '));
  size_t cpu = target.find("-mcpu=");
  if (cpu != std::string::npos) { text += " " + target.substr(cpu + 6, target.find(' ', cpu) - cpu - 6); }
  return text;
}

/// Jobs and what is recorded of earlier searches, at the function they are of.
void add_work_symbols(const RouteContext& context, const std::string& query, Pieces& found) {
  constexpr int event = 24;
  constexpr int number = 16;
  for (const Snapshot* snapshot : context.documents) {
    RouteContext there = context;
    there.snapshot = snapshot;
    std::vector<Symbol> symbols = document_symbols(*snapshot);
    for (const Symbol& symbol : symbols) {
      Json location = {{"uri", snapshot->name()}, {"range", range_of(there, symbol.name_span)}};
      auto add = [&](const std::string& name, int kind) {
        // What it is called, not the numbers behind.
        if (!name.empty() && matches_query(name.substr(0, name.find(':')), query)) { found.add({{"name", name}, {"kind", kind}, {"containerName", symbol.name}, {"location", location}}); }
      };
      for (const auto& [id, job] : context.jobs) {
        if (job.uri == snapshot->name() && (job.schedule.empty() ? job.function : job.schedule) == symbol.name) { add(job_text(job), event); }
      }
      if (context.records == nullptr || (symbol.kind != SymbolKind::Function && symbol.kind != SymbolKind::Class)) { continue; }
      if (auto best = best_so_far(*snapshot, symbol.name, *context.records, context.peaks)) {
        add(fmt::format("best {}: {} ({}, {} recorded)", symbol.name, duration_text(best->recorded.best.median_seconds), target_text(best->recorded.target), best->recorded.records), number);
      }
    }
  }
}

// All open documents and, where something is asked for, the other files of the workspace that have those letters and something of ours.
auto workspace_symbol(const RouteContext& context, const Json& params) -> RouteResult {
  std::string query = string_in(params, "query");
  Pieces found(context, params);
  WorkDone work(context, params, "Looking for symbols");
  auto add_file = [&](const Snapshot& snapshot) {
    RouteContext there = in_file(context, snapshot);
    auto add = [&](const std::vector<Symbol>& symbols, const std::string& container, auto&& self) -> void {
      for (const Symbol& symbol : symbols) {
        bool is_named = symbol.kind != SymbolKind::Loop && symbol.kind != SymbolKind::Variable && symbol.kind != SymbolKind::Buffer && symbol.kind != SymbolKind::Step;
        if (is_named && matches_query(symbol.name, query)) {
          Json json = {{"name", symbol.name}, {"kind", symbol_kind(symbol.kind)}, {"location", {{"uri", snapshot.name()}, {"range", range_of(there, symbol.name_span)}}}};
          if (!container.empty()) { json["containerName"] = container; }
          found.add(std::move(json));
        }
        self(symbol.children, is_named ? symbol.name : container, self);
      }
    };
    add(document_symbols(snapshot), "", add);
    found.cut();
  };
  for (const Snapshot* snapshot : context.documents) {
    if (!context.cancel.is_cancelled()) { add_file(*snapshot); }
  }
  add_work_symbols(context, query, found);
  if (!query.empty() && !context.folders.empty()) {
    WorkspaceFiles files(context.documents, context.folders, context.cancel, context.too_large_until);
    files.watch([&](size_t done, size_t all, const std::string& path) { work.report(done, all, path); });
    auto is_ours = [&](std::string_view text) { return text.find("prim_func") != std::string_view::npos || text.find("ir_module") != std::string_view::npos || text.find("schedule") != std::string_view::npos; };
    files.visit([&](std::string_view text) { return is_ours(text) && matches_query(text, query); },
                [&](const Snapshot& other) {
                  if (!files.is_open(other)) { add_file(other); }
                });
  }
  if (context.cancel.is_cancelled()) { return RouteError{ErrorCode::RequestCancelled, "cancelled"}; }
  return found.rest();
}

auto callable_json(const RouteContext& context, const Callable& callable) -> Json {
  RouteContext there = in_file(context, *callable.file);
  return {{"name", callable.name}, {"kind", symbol_kind(callable.kind)}, {"uri", callable.file->name()}, {"range", range_of(there, callable.span)},
          {"selectionRange", range_of(there, callable.name_span)}};
}

auto prepare_call_hierarchy(const RouteContext& context, const Json& params) -> RouteResult {
  auto at = position_from(member(params, "position"));
  if (!at) { return bad_params("`position` is missing"); }
  WorkspaceFiles files(context.documents, context.folders, context.cancel, context.too_large_until);
  auto callable = callable_at(files, *context.snapshot, to_offset(context.snapshot->text(), context.snapshot->lines(), *at, context.encoding));
  return callable ? Json::array({callable_json(context, *callable)}) : Json();
}

/// `direction`: "from" for those who call, "to" for those who are called.
auto calls_route(const RouteContext& context, const Json& params, const char* direction) -> RouteResult {
  const Json& item = member(params, "item");
  auto range = range_from(member(item, "selectionRange"));
  if (!range) { return bad_params("`item` has no `selectionRange`"); }
  WorkspaceFiles files(context.documents, context.folders, context.cancel, context.too_large_until);
  // The item may be of a file that is not open.
  const Snapshot* snapshot = context.find(string_in(item, "uri"));
  if (snapshot == nullptr) { snapshot = files.read(path_of(string_in(item, "uri"))); }
  if (snapshot == nullptr) { return Json(); }
  bool is_incoming = direction == std::string_view("from");
  uint32_t name = to_offset(snapshot->text(), snapshot->lines(), range->start, context.encoding);
  Json found = Json::array();
  for (const Calling& calling : is_incoming ? callers_of(files, *snapshot, name, context.cancel) : callees_of(files, *snapshot, name)) {
    // What is named lies in the one that calls.
    RouteContext there = in_file(context, is_incoming ? *calling.other.file : *snapshot);
    Json places = Json::array();
    for (Span place : calling.places) { places.push_back(range_of(there, place)); }
    found.push_back({{direction, callable_json(context, calling.other)}, {"fromRanges", std::move(places)}});
  }
  if (context.cancel.is_cancelled()) { return RouteError{ErrorCode::RequestCancelled, "cancelled"}; }
  return found;
}

auto incoming_calls(const RouteContext& context, const Json& params) -> RouteResult { return calls_route(context, params, "from"); }
auto outgoing_calls(const RouteContext& context, const Json& params) -> RouteResult { return calls_route(context, params, "to"); }

/// What stands behind a name of a program in the address of what was measured of it, as a document.
constexpr std::string_view records_suffix = ":records";

/// The pages that are linked to lie side by side; empty: nobody knows where.
auto folder_of_pages(const RouteContext& context) -> std::string { return context.links.substr(0, context.links.rfind('/') + 1); }

auto document_link(const RouteContext& context, const Json&) -> RouteResult {
  Json links = Json::array();
  std::string folder = folder_of_pages(context);
  for (const Mention& mention : mentions(*context.snapshot)) {
    Json link = {{"range", range_of(context, mention.span)}};
    switch (mention.of) {
      case Mention::Of::Code:
        if (folder.empty()) { continue; }
        link["target"] = context.links + "#" + mention.name;
        link["tooltip"] = "what `" + mention.name + "` means";
        break;
      case Mention::Of::Primitive:
        if (folder.empty()) { continue; }
        link["target"] = folder + "primitives.md#" + mention.name;
        link["tooltip"] = "what `" + mention.name + "` does, needs and keeps";
        break;
      case Mention::Of::Records:
        link["target"] = view_address(context.snapshot->name()) + "#" + mention.name + std::string(records_suffix);
        link["tooltip"] = "what searches for `" + mention.name + "` measured on this machine";
        break;
    }
    links.push_back(std::move(link));
  }
  return links;
}

auto document_symbol(const RouteContext& context, const Json& params) -> RouteResult {
  Pieces symbols(context, params);
  for (const Symbol& symbol : document_symbols(*context.snapshot)) {
    symbols.add(symbol_json(context, symbol));
    symbols.cut();
  }
  return symbols.rest();
}

auto folding_range(const RouteContext& context, const Json&) -> RouteResult {
  Json folds = Json::array();
  const LineIndex& lines = context.snapshot->lines();
  for (Span span : folding_ranges(*context.snapshot)) { folds.push_back({{"startLine", lines.line_of(span.begin)}, {"endLine", lines.line_of(span.end)}}); }
  for (const CommentFold& fold : comment_folds(*context.snapshot)) {
    folds.push_back({{"startLine", lines.line_of(fold.span.begin)}, {"endLine", lines.line_of(fold.span.end)}, {"kind", fold.is_region ? "region" : "comment"}});
  }
  return folds;
}

auto selection_range(const RouteContext& context, const Json& params) -> RouteResult {
  const Json& positions = member(params, "positions");
  if (!positions.is_array()) { return bad_params("`positions` is a list"); }
  Json answers = Json::array();
  for (const Json& json : positions) {
    auto at = position_from(json);
    if (!at) { return bad_params("a position is a line and a character"); }
    const Snapshot& snapshot = *context.snapshot;
    std::vector<Span> spans = selection_spans(snapshot, to_offset(snapshot.text(), snapshot.lines(), *at, context.encoding));
    Json chain;
    for (auto span = spans.rbegin(); span != spans.rend(); ++span) {
      Json link = {{"range", range_of(context, *span)}};
      if (!chain.is_null()) { link["parent"] = std::move(chain); }
      chain = std::move(link);
    }
    answers.push_back(std::move(chain));
  }
  return answers;
}

auto hover_text(const RouteContext& context, const HoverInfo& info, bool markdown) -> std::string {
  std::string text = markdown ? "**" + info.title + "**\n" : info.title + "\n";
  for (const Fact& fact : info.facts) { text += (markdown ? "\n- " : "\n") + fact.text; }
  if (std::string folder = folder_of_pages(context); markdown && !info.primitive.empty() && !folder.empty()) { text += fmt::format("\n\n[reference]({}primitives.md#{})", folder, info.primitive); }
  if (!markdown) { std::erase(text, '`'); }
  return text;
}

/// What is recorded of a draw: each value's best time as a bar, and the best values with how often they were tried.
void add_drawn(const RouteContext& context, HoverInfo& info) {
  if (!info.draw || context.records == nullptr) { return; }
  const Records::DrawnValues& drawn = context.records->drawn(info.drawn_for, *info.draw);
  if (drawn.values.empty()) { return; }
  constexpr const char* bars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  constexpr size_t most_bars = 40;
  constexpr size_t most_told = 4;
  using One = std::pair<std::vector<int64_t>, Records::Drawn>;
  std::vector<One> all(drawn.values.begin(), drawn.values.end());
  auto text = [](const std::vector<int64_t>& value) { return value.size() == 1 ? fmt::format("{}", value[0]) : fmt::format("[{}]", fmt::join(value, ", ")); };
  auto inner = [](const One& one) { return std::pair(one.first.back(), one.first); };
  std::sort(all.begin(), all.end(), [&](const One& a, const One& b) { return inner(a) < inner(b); });
  auto [least, most] = std::minmax_element(all.begin(), all.end(), [](const One& a, const One& b) { return a.second.best_seconds < b.second.best_seconds; });
  double low = std::log(least->second.best_seconds), high = std::log(most->second.best_seconds);
  std::string line;
  int64_t trials = 0;
  for (size_t i = 0; i < all.size(); ++i) {
    trials += all[i].second.trials;
    if (i < most_bars) { line += bars[high > low ? static_cast<size_t>(std::lround((std::log(all[i].second.best_seconds) - low) / (high - low) * 7)) : 0]; }
  }
  info.facts.push_back({"recorded", fmt::format("in {} of {} trials recorded on this machine; best time by value, `{}` to `{}`: {}", trials, drawn.trials, text(all.front().first), text(all[std::min(all.size(), most_bars) - 1].first), line)});
  std::sort(all.begin(), all.end(), [](const One& a, const One& b) { return std::pair(a.second.best_seconds, a.first) < std::pair(b.second.best_seconds, b.first); });
  for (size_t i = 0; i < all.size() && i < most_told; ++i) {
    info.facts.push_back({"recorded", fmt::format("`{}`: {} trial{}, best {}", text(all[i].first), all[i].second.trials, all[i].second.trials == 1 ? "" : "s", duration_text(all[i].second.best_seconds))});
  }
}

/// What was timed of a schedule, and compared.
void add_timed(const RouteContext& context, HoverInfo& info) {
  if (info.schedule.empty()) { return; }
  for (const auto& [id, job] : context.jobs) {
    if (!job.is_done() || job.uri != context.snapshot->name() || job.schedule != info.schedule || job.function != info.program) { continue; }
    std::string stale = job.text_hash != hash_of_declarations(*context.snapshot, job.function, job.schedule) ? ", before it was changed" : "";
    if (job.kind == JobKind::Bench) { info.facts.push_back({"time", fmt::format("timed: {}{}{}", duration_text(job.seconds), job.seconds > 0 ? fmt::format(", {:.2f} times as fast as written", job.plain_seconds / job.seconds) : "", stale)}); }
    if (job.kind == JobKind::Verify) { info.facts.push_back({"verified", fmt::format("{}{}", job.is_equal ? fmt::format("verified: the results of `{}`", job.function) : "results differ", stale)}); }
  }
}

auto hover_route(const RouteContext& context, const Json& params) -> RouteResult {
  auto at = position_from(member(params, "position"));
  if (!at) { return bad_params("`position` is missing"); }
  const Snapshot& snapshot = *context.snapshot;
  uint32_t offset = to_offset(snapshot.text(), snapshot.lines(), *at, context.encoding);
  auto info = hover(snapshot, offset, context.machine);
  if (!info) {
    WorkspaceFiles files(context.documents, context.folders, context.cancel, context.too_large_until);
    info = imported_hover(files, snapshot, offset, context.machine);
  }
  if (!info) { return Json(); }
  add_drawn(context, *info);
  add_timed(context, *info);
  const Json& formats = member(member(member(context.capabilities, "textDocument"), "hover"), "contentFormat");
  bool markdown = !formats.is_array() || std::find(formats.begin(), formats.end(), "markdown") != formats.end();
  return Json{{"contents", {{"kind", markdown ? "markdown" : "plaintext"}, {"value", hover_text(context, *info, markdown)}}},
              {"range", range_of(context, info->span)}};
}

/// The byte that `position` means.
auto offset_in(const RouteContext& context, const Json& params) -> std::optional<uint32_t> {
  auto at = position_from(member(params, "position"));
  if (!at) { return std::nullopt; }
  return to_offset(context.snapshot->text(), context.snapshot->lines(), *at, context.encoding);
}

/// The bytes that `range` means; all of the text where there is none.
auto span_in(const RouteContext& context, const Json& params) -> Span {
  const Snapshot& snapshot = *context.snapshot;
  auto range = range_from(member(params, "range"));
  return range ? to_span(snapshot.text(), snapshot.lines(), *range, context.encoding) : Span{0, static_cast<uint32_t>(snapshot.text().size())};
}

auto location_json(const RouteContext& context, Span span) -> Json { return {{"uri", context.snapshot->name()}, {"range", range_of(context, span)}}; }

/// A request about a place of a view, by its address: what of the text it shows.
auto view_meant(const Json& params) -> std::optional<ViewAddress> { return parse_view(string_in(member(params, "textDocument"), "uri")); }

/// From a view: the place of the program, then the statements of the schedule that made what is there.
auto definition_in_view(const RouteContext& context, const ViewAddress& view, const Json& params) -> RouteResult {
  auto at = position_from(member(params, "position"));
  if (!at) { return bad_params("`position` is missing"); }
  Json places = Json::array();
  for (Span span : origins_in_view(*context.snapshot, view.fragment, static_cast<uint32_t>(at->line), static_cast<uint32_t>(at->character))) { places.push_back(location_json(context, span)); }
  return places.empty() ? Json() : places;
}

auto definition_route(const RouteContext& context, const Json& params) -> RouteResult {
  if (auto view = view_meant(params)) { return definition_in_view(context, *view, params); }
  auto at = offset_in(context, params);
  if (!at) { return bad_params("`position` is missing"); }
  WorkspaceFiles files(context.documents, context.folders, context.cancel, context.too_large_until);
  auto place = definition(files, *context.snapshot, *at);
  return place ? location_json(in_file(context, *place->file), place->span) : Json();
}

/// Of what another file binds, the statement that brings it here.
auto declaration_route(const RouteContext& context, const Json& params) -> RouteResult {
  if (view_meant(params)) { return definition_route(context, params); }
  auto at = offset_in(context, params);
  if (!at) { return bad_params("`position` is missing"); }
  NameTable names = names_of(*context.snapshot);
  const Occurrence* here = names.at(*at);
  if (here == nullptr || names.entities[here->entity].imported == nowhere) { return definition_route(context, params); }
  auto binding = std::find_if(names.occurrences.begin(), names.occurrences.end(), [&](const Occurrence& one) { return one.entity == here->entity && one.role == Role::Bind; });
  return binding == names.occurrences.end() ? Json() : location_json(context, binding->span);
}

auto counterpart_locations(const RouteContext& context, const Counterpart& found) -> Json {
  LineIndex lines(found.text);
  Json places = Json::array();
  for (Span span : found.spans) { places.push_back({{"uri", found.address}, {"range", to_json(to_range(found.text, lines, span, context.encoding))}}); }
  return places;
}

auto type_definition_route(const RouteContext& context, const Json& params) -> RouteResult {
  auto at = offset_in(context, params);
  if (!at) { return bad_params("`position` is missing"); }
  auto found = shows_views(context.capabilities) ? type_definition(*context.snapshot, *at) : std::nullopt;
  return found ? counterpart_locations(context, *found).front() : Json();
}

auto implementation_route(const RouteContext& context, const Json& params) -> RouteResult {
  auto at = offset_in(context, params);
  if (!at) { return bad_params("`position` is missing"); }
  if (auto view = view_meant(params)) {
    auto code = code_of_view(*context.snapshot, view->fragment, static_cast<uint32_t>(position_from(member(params, "position"))->line));
    return code ? counterpart_locations(context, *code) : Json();
  }
  auto found = shows_views(context.capabilities) ? implementation(*context.snapshot, *at) : std::nullopt;
  return found ? counterpart_locations(context, *found) : Json();
}

auto references_route(const RouteContext& context, const Json& params) -> RouteResult {
  auto at = offset_in(context, params);
  if (!at) { return bad_params("`position` is missing"); }
  bool with_bindings = bool_in(member(params, "context"), "includeDeclaration");
  const Snapshot& own = *context.snapshot;
  // Of a loop or block: also the calls that work on it, by whatever name.
  std::vector<Span> spans;
  NameTable names = names_of(own);
  const Occurrence* here = names.at(*at);
  EntityKind kind = here != nullptr ? names.entities[here->entity].kind : EntityKind::Namespace;
  for (const Occurrence& bound : names.occurrences) {
    bool is_meant = here != nullptr && bound.entity == here->entity && bound.role == Role::Bind && (kind == EntityKind::Loop || kind == EntityKind::Block);
    if (!is_meant) { continue; }
    spans = calls_touching(own, bound.span);
    break;
  }
  Pieces places(context, params);
  WorkDone work(context, params, "Looking for references");
  // Those of this file first, in the order of its text.
  auto add_own = [&] {
    std::sort(spans.begin(), spans.end(), [](Span a, Span b) { return std::pair(a.begin, a.end) < std::pair(b.begin, b.end); });
    for (Span span : spans) { places.add(location_json(context, span)); }
    places.cut();
    spans.clear();
  };
  bool is_first = true;
  WorkspaceFiles files(context.documents, context.folders, context.cancel, context.too_large_until);
  files.watch([&](size_t done, size_t all, const std::string& path) { work.report(done, all, path); });
  references(files, own, *at, context.cancel, [&](const std::vector<PlaceIn>& there) {
    const Snapshot& file = *there.front().file;
    std::vector<Span> wanted;
    for (const PlaceIn& place : there) {
      if (with_bindings || place.role != Role::Bind) { wanted.push_back(place.span); }
    }
    if (&file == &own) { spans.insert(spans.begin(), wanted.begin(), wanted.end()); }
    if (std::exchange(is_first, false)) { add_own(); }
    if (&file == &own) { return; }
    RouteContext other = in_file(context, file);
    for (Span span : wanted) { places.add(location_json(other, span)); }
    places.cut();
  });
  if (is_first) { add_own(); }
  if (context.cancel.is_cancelled()) { return RouteError{ErrorCode::RequestCancelled, "cancelled"}; }
  return places.rest();
}

auto document_highlight(const RouteContext& context, const Json& params) -> RouteResult {
  auto at = offset_in(context, params);
  if (!at) { return bad_params("`position` is missing"); }
  Json places = Json::array();
  // LSP's DocumentHighlightKind: 2 is Read, 3 is Write.
  for (const Occurrence& o : references(*context.snapshot, *at)) {
    places.push_back({{"range", range_of(context, o.span)}, {"kind", o.role == Role::Read ? 2 : 3}});
  }
  // On what is no name of the text, as `split` of `sch.split(i)`: what the statement works on.
  if (places.empty()) {
    for (Span span : touched_at(*context.snapshot, *at)) { places.push_back({{"range", range_of(context, span)}, {"kind", 3}}); }
  }
  return places;
}

auto prepare_rename(const RouteContext& context, const Json& params) -> RouteResult {
  auto at = offset_in(context, params);
  if (!at) { return bad_params("`position` is missing"); }
  WorkspaceFiles files(context.documents, context.folders, context.cancel, context.too_large_until);
  auto span = renameable(files, *context.snapshot, *at);
  if (!span) { return Json(); }
  return Json{{"range", range_of(context, *span)}, {"placeholder", context.snapshot->text().substr(span->begin, span->end - span->begin)}};
}

/// Edits of several files as the client takes them; one that is not open has no version.
auto workspace_edit(const RouteContext& context, const WorkspaceFiles& files, std::vector<std::pair<const Snapshot*, Json>> edits) -> Json {
  bool are_versioned = bool_in(member(member(context.capabilities, "workspace"), "workspaceEdit"), "documentChanges");
  Json changes = are_versioned ? Json::array() : Json::object();
  for (auto& [file, list] : edits) {
    if (!are_versioned) {
      changes[file->name()] = std::move(list);
      continue;
    }
    changes.push_back({{"textDocument", {{"uri", file->name()}, {"version", files.is_open(*file) ? Json(file->version()) : Json()}}}, {"edits", std::move(list)}});
  }
  return {{are_versioned ? "documentChanges" : "changes", std::move(changes)}};
}

/// Files are about to be renamed or moved: imports that name them.
auto will_rename_files(const RouteContext& context, const Json& params) -> RouteResult {
  std::vector<MovedFile> moved;
  for (const Json& one : member(params, "files")) {
    MovedFile file{path_of(string_in(one, "oldUri")), path_of(string_in(one, "newUri"))};
    if (!file.from.empty() && !file.to.empty()) { moved.push_back(std::move(file)); }
  }
  WorkspaceFiles files(context.documents, context.folders, context.cancel, context.too_large_until);
  std::vector<std::pair<const Snapshot*, Json>> edits;
  for (const EditedFile& one : imports_after_moves(files, moved, context.cancel)) {
    RouteContext there = in_file(context, *one.file);
    Json list = Json::array();
    for (const TextEdit& edit : one.edits) { list.push_back({{"range", range_of(there, edit.span)}, {"newText", edit.text}}); }
    edits.emplace_back(one.file, std::move(list));
  }
  if (context.cancel.is_cancelled()) { return RouteError{ErrorCode::RequestCancelled, "cancelled"}; }
  return edits.empty() ? Json() : workspace_edit(context, files, std::move(edits));
}

auto rename_route(const RouteContext& context, const Json& params) -> RouteResult {
  auto at = offset_in(context, params);
  if (!at) { return bad_params("`position` is missing"); }
  std::string name = string_in(params, "newName");
  WorkDone work(context, params, "Looking for what is renamed");
  WorkspaceFiles files(context.documents, context.folders, context.cancel, context.too_large_until);
  files.watch([&](size_t done, size_t all, const std::string& path) { work.report(done, all, path); });
  RenameIn result = rename(files, *context.snapshot, *at, name, context.cancel);
  if (context.cancel.is_cancelled()) { return RouteError{ErrorCode::RequestCancelled, "cancelled"}; }
  if (!result.problem.empty()) { return RouteError{ErrorCode::RequestFailed, result.problem}; }
  // Files in the order of their places.
  std::vector<std::pair<const Snapshot*, Json>> edits;
  const Json& supported = member(member(context.capabilities, "workspace"), "workspaceEdit");
  bool are_versioned = bool_in(supported, "documentChanges");
  // Nobody sees the strings of other files when a block is renamed here.
  bool can_ask = are_versioned && !member(supported, "changeAnnotationSupport").is_null();
  constexpr const char* annotation = "strings elsewhere";
  bool asks = false;
  if (result.places.empty()) { edits.emplace_back(context.snapshot, Json::array()); }
  for (const PlaceIn& place : result.places) {
    if (edits.empty() || edits.back().first != place.file) { edits.emplace_back(place.file, Json::array()); }
    edits.back().second.push_back({{"range", range_of(in_file(context, *place.file), place.span)}, {"newText", name}});
    const std::string& text = place.file->text();
    bool is_string = place.span.begin > 0 && (text[place.span.begin - 1] == '"' || text[place.span.begin - 1] == '\'');
    if (!can_ask || !is_string || place.file == context.snapshot) { continue; }
    edits.back().second.back()["annotationId"] = annotation;
    asks = true;
  }
  std::string old = result.places.empty() ? "" : result.places.front().file->text().substr(result.places.front().span.begin, result.places.front().span.end - result.places.front().span.begin);
  Json whole = workspace_edit(context, files, std::move(edits));
  if (asks) {
    whole["changeAnnotations"] = {{annotation, {{"label", "Block names in strings of other files"}, {"needsConfirmation", true},
                                                {"description", fmt::format("schedules that name the block `{}`", old)}}}};
  }
  return whole;
}

static_assert(static_cast<size_t>(TokenType::Count) == token_types.size());
static_assert(static_cast<size_t>(TokenModifier::Count) == token_modifiers.size());

/// Five numbers a token, each counted from the one before.
auto encoded_tokens(const RouteContext& context, Span within) -> std::vector<uint32_t> {
  const Snapshot& snapshot = *context.snapshot;
  std::vector<uint32_t> data;
  Position last;
  for (const Token& token : semantic_tokens(snapshot, within)) {
    TextRange range = to_range(snapshot.text(), snapshot.lines(), token.span, context.encoding);
    if (range.start.line != range.end.line) { continue; }
    bool same_line = range.start.line == last.line;
    data.push_back(range.start.line - last.line);
    data.push_back(range.start.character - (same_line ? last.character : 0));
    data.push_back(range.end.character - range.start.character);
    data.push_back(static_cast<uint32_t>(token.type));
    data.push_back(token.modifiers);
    last = range.start;
  }
  return data;
}

auto remember_tokens(const RouteContext& context, std::vector<uint32_t> data) -> std::string {
  context.sent_tokens->data = std::move(data);
  return std::to_string(++context.sent_tokens->id);
}

auto semantic_tokens_full(const RouteContext& context, const Json& params) -> RouteResult {
  std::vector<uint32_t> data = encoded_tokens(context, span_in(context, Json()));
  Json json = {{"data", data}};
  json["resultId"] = remember_tokens(context, std::move(data));
  return json;
}

auto semantic_tokens_delta(const RouteContext& context, const Json& params) -> RouteResult {
  if (string_in(params, "previousResultId") != std::to_string(context.sent_tokens->id)) { return semantic_tokens_full(context, params); }
  std::vector<uint32_t> data = encoded_tokens(context, span_in(context, Json()));
  const std::vector<uint32_t>& before = context.sent_tokens->data;
  // One edit: what is between the common beginning and the common end, in whole tokens.
  size_t shortest = std::min(before.size(), data.size());
  size_t head = 0;
  while (head < shortest && before[head] == data[head]) { ++head; }
  head -= head % 5;
  size_t tail = 0;
  while (tail < shortest - head && before[before.size() - 1 - tail] == data[data.size() - 1 - tail]) { ++tail; }
  tail -= tail % 5;
  Json edits = Json::array();
  if (head + tail < std::max(before.size(), data.size())) {
    edits.push_back({{"start", head}, {"deleteCount", before.size() - head - tail},
                     {"data", std::vector<uint32_t>(data.begin() + static_cast<std::ptrdiff_t>(head), data.end() - static_cast<std::ptrdiff_t>(tail))}});
  }
  Json json = {{"edits", std::move(edits)}};
  json["resultId"] = remember_tokens(context, std::move(data));
  return json;
}

auto semantic_tokens_range(const RouteContext& context, const Json& params) -> RouteResult {
  return Json{{"data", encoded_tokens(context, span_in(context, params))}};
}

auto inlay_hint(const RouteContext& context, const Json& params) -> RouteResult {
  const Snapshot& snapshot = *context.snapshot;
  Json hints = Json::array();
  for (const Hint& hint : inlay_hints(snapshot, span_in(context, params))) {
    Json json = {{"position", to_json(to_position(snapshot.text(), snapshot.lines(), hint.offset, context.encoding))},
                 {"label", hint.text},
                 {"paddingLeft", true}};
    if (!hint.links.empty()) {
      Json parts = Json::array();
      size_t at = 0;
      auto add = [&](size_t end) {
        if (end > at) { parts.push_back({{"value", hint.text.substr(at, end - at)}}); }
        at = end;
      };
      for (const Hint::Link& link : hint.links) {
        add(link.begin);
        add(link.end);
        parts.back()["location"] = location_json(context, link.target);
      }
      add(hint.text.size());
      json["label"] = std::move(parts);
    }
    if (hint.fill) { json["textEdits"] = Json::array({{{"range", range_of(context, hint.fill->span)}, {"newText", hint.fill->text}}}); }
    if (!hint.tooltip.empty()) { json["tooltip"] = {{"kind", "markdown"}, {"value", hint.tooltip}}; }
    hints.push_back(std::move(json));
  }
  return hints;
}

auto completion_kind(CompletionKind kind) -> int {
  // LSP's CompletionItemKind.
  switch (kind) {
    case CompletionKind::Primitive: return 2;
    case CompletionKind::Function: return 3;
    case CompletionKind::Variable: return 6;
    case CompletionKind::Loop: return 6;
    case CompletionKind::Block: return 18;
    case CompletionKind::Buffer: return 5;
    case CompletionKind::Namespace: return 9;
    case CompletionKind::Class: return 7;
    case CompletionKind::Constant: return 21;
    case CompletionKind::Keyword: return 14;
    case CompletionKind::Value: return 12;
    case CompletionKind::Snippet: return 15;
  }
  return 1;
}

/// How long what is legal may be tried for one answer; the rest is told with the next key.
auto patience_of(const RouteContext& context) -> Patience {
  // Tests compare whole answers, on slow machines too.
  static const bool is_endless = std::getenv("LOOPSMITH_TEST_PATIENCE") != nullptr;
  return {context.cancel, is_endless ? never() : in(std::chrono::milliseconds(40)), context.judged};
}

auto completion_route(const RouteContext& context, const Json& params) -> RouteResult {
  auto at = offset_in(context, params);
  if (!at) { return bad_params("`position` is missing"); }
  std::optional<WorkspaceFiles> files;
  auto all_files = [&]() -> Files& { return files.emplace(context.documents, context.folders, context.cancel, context.too_large_until); };
  auto of_imports = import_completion(all_files, *context.snapshot, *at);
  Completion found = of_imports ? std::move(*of_imports) : completion(*context.snapshot, *at, patience_of(context));
  if (context.cancel.is_cancelled()) { return RouteError{ErrorCode::RequestCancelled, "cancelled"}; }
  const Json& supported = member(member(member(context.capabilities, "textDocument"), "completion"), "completionItem");
  bool snippets = bool_in(supported, "snippetSupport");
  bool notes = bool_in(supported, "labelDetailsSupport");
  Json range = range_of(context, found.replaced);
  Json items = Json::array();
  for (size_t i = 0; i < found.items.size(); ++i) {
    const CompletionItem& item = found.items[i];
    if (item.is_snippet && !snippets) { continue; }
    Json json = {{"label", item.label},
                 {"kind", completion_kind(item.kind)},
                 {"sortText", fmt::format("{:04}", i)},
                 {"textEdit", {{"range", range}, {"newText", snippets && !item.call.empty() ? item.call : item.insert.empty() ? item.label : item.insert}}}};
    if (!item.found_by.empty()) { json["filterText"] = item.found_by; }
    if (!item.detail.empty()) { json["detail"] = item.detail; }
    if (!item.documentation.empty()) { json["documentation"] = {{"kind", "markdown"}, {"value", item.documentation}}; }
    if (!item.note.empty() && notes) { json["labelDetails"] = {{"description", item.note}}; }
    if (!item.primitive.empty()) {
      json["data"] = {{"uri", context.snapshot->name()}, {"version", context.snapshot->version()}, {"at", *at}, {"primitive", item.primitive}};
    }
    if (item.is_snippet || (snippets && !item.call.empty())) {
      json["insertTextFormat"] = 2;
      json["insertTextMode"] = 2;
    }
    items.push_back(std::move(json));
  }
  return Json{{"isIncomplete", !found.is_complete}, {"items", std::move(items)}};
}

/// The item as it came, and with what it would do. An item of an earlier text stays as it is.
auto completion_resolve(const RouteContext& context, const Json& params) -> RouteResult {
  if (!params.is_object()) { return bad_params("a completion item is an object"); }
  Json item = params;
  const Json& data = member(params, "data");
  const Snapshot* snapshot = context.find(string_in(data, "uri"));
  auto at = int_in(data, "at");
  if (snapshot == nullptr || snapshot->version() != int_in(data, "version") || !at || *at < 0 || *at > static_cast<int64_t>(snapshot->text().size())) { return item; }
  std::string text = preview(*snapshot, static_cast<uint32_t>(*at), string_in(data, "primitive"));
  if (!text.empty()) { item["documentation"] = {{"kind", "markdown"}, {"value", std::move(text)}}; }
  return item;
}

auto signature_route(const RouteContext& context, const Json& params) -> RouteResult {
  auto at = offset_in(context, params);
  if (!at) { return bad_params("`position` is missing"); }
  std::optional<WorkspaceFiles> files;
  auto elsewhere = [&](uint32_t offset) {
    files.emplace(context.documents, context.folders, context.cancel, context.too_large_until);
    return imported_name(*files, *context.snapshot, offset);
  };
  auto signature = signature_help(*context.snapshot, *at, patience_of(context), elsewhere);
  if (!signature) { return Json(); }
  Json parameters = Json::array();
  for (size_t i = 0; i < signature->parameters.size(); ++i) {
    auto [begin, end] = signature->parameters[i];
    Json parameter = {{"label", signature->label.substr(begin, end - begin)}};
    if (!signature->parameter_notes[i].empty()) { parameter["documentation"] = {{"kind", "markdown"}, {"value", signature->parameter_notes[i]}}; }
    parameters.push_back(std::move(parameter));
  }
  Json json = {{"label", signature->label}, {"parameters", std::move(parameters)}};
  if (!signature->documentation.empty()) { json["documentation"] = signature->documentation; }
  Json answer = {{"signatures", Json::array({std::move(json)})}, {"activeSignature", 0}};
  if (signature->active) { answer["activeParameter"] = *signature->active; }
  return answer;
}

/// Of a search that is not done: how far it is, and what a click does.
auto progress_title(const JobFacts& job) -> std::string {
  if (job.phase == JobPhase::ComparingStopped) { return progress_text(job) + "; give it up"; }
  if (job.phase == JobPhase::Kept) { return fmt::format("tuning of an earlier session: {}; give it up", progress_text(job)); }
  if (job.is_paused()) { return fmt::format("tuning paused: {}; stop and keep the best", progress_text(job)); }
  return fmt::format("tuning{}; stop and keep the best", job.phase == JobPhase::Running && !job.progress.has_begun() ? " …" : ": " + progress_text(job));
}

/// "138 us, 71% of the roofline"
auto time_title(double seconds, double share) -> std::string {
  std::string title = duration_text(seconds);
  if (share > 0) { title += share > 1.005 ? ", above the roofline that was measured" : fmt::format(", {:.0f}% of the roofline", share * 100); }
  return title;
}

/// What can be done about the hole of a schedule: begin a search, end it, or write what it found.
struct Filling {
  std::string title;
  std::string_view command;
  Json argument;
};
auto filling(const RouteContext& context, const std::string& schedule, const Hole& hole) -> Filling {
  Json argument = {{"uri", context.snapshot->name()}, {"function", hole.program}, {"schedule", schedule}};
  if (hole.seconds > 0) { argument["seconds"] = hole.seconds; }
  if (hole.trials > 0) { argument["trials"] = hole.trials; }
  Filling out{"tune this", tune_command, std::move(argument)};
  // The newest search counts.
  for (const auto& [id, job] : context.jobs) {
    if (!job.fills() || job.uri != context.snapshot->name() || job.schedule != schedule) { continue; }
    if (!job.is_done()) { return {progress_title(job), stop_tune_command, {{"job", id}}}; }
    if (job.hole_state == hole.state) {
      out = {"fill in the best steps: " + time_title(job.seconds, job.share), insert_schedule_command, {{"job", id}}};
    } else if (out.command == tune_command) {
      out.title = "tune this again: the program here is another one now";
    }
  }
  return out;
}

/// What searches of earlier days found for a program.
auto recorded_best(const RouteContext& context, const std::string& function) -> std::optional<BestSoFar> {
  return context.records != nullptr ? best_so_far(*context.snapshot, function, *context.records, context.peaks) : std::nullopt;
}
auto recorded_argument(const RouteContext& context, const std::string& function) -> Json {
  return {{"uri", context.snapshot->name()}, {"function", function}, {"recorded", true}};
}

auto code_lens(const RouteContext& context, const Json&) -> RouteResult {
  const Snapshot& snapshot = *context.snapshot;
  bool views = bool_in(member(context.capabilities, "experimental"), "loopsmithViews");
  Json lenses = Json::array();
  auto add = [&](const Lens& lens, std::string title, std::string_view command, Json argument) {
    Json json = {{"title", std::move(title)}, {"command", command}};
    if (!argument.is_null()) { json["arguments"] = Json::array({std::move(argument)}); }
    lenses.push_back({{"range", range_of(context, lens.span)}, {"command", std::move(json)}});
  };
  // What was timed of a program (no schedule) or of a schedule for it; and the lens that times it.
  auto add_timed = [&](const Lens& lens, const std::string& function, const std::string& schedule) {
    Json argument = {{"uri", snapshot.name()}, {"function", function}};
    if (!schedule.empty()) { argument["schedule"] = schedule; }
    for (const auto& [id, job] : context.jobs) {
      if (job.kind != JobKind::Bench || !job.other.empty() || job.uri != snapshot.name() || job.function != function || job.schedule != schedule) { continue; }
      if (!job.is_done()) { return add(lens, "timing …", stop_tune_command, {{"job", id}}); }
      std::string title = duration_text(job.seconds);
      if (!schedule.empty() && job.seconds > 0) { title += fmt::format(", {:.2f}x", job.plain_seconds / job.seconds); }
      bool is_stale = job.text_hash != hash_of_declarations(snapshot, function, schedule);
      return add(lens, title + (is_stale ? " before it was changed: bench again" : ": bench again"), bench_command, std::move(argument));
    }
    add(lens, "bench", bench_command, std::move(argument));
  };
  // Beside the schedule for the same program that stands before it (of the first one, the next), statement by statement, and timed in turns.
  auto add_comparison = [&](const Lens& lens, const script::FileSchedule& schedule) {
    const script::FileSchedule* other = nullptr;
    bool is_past = false;
    for (const script::FileSchedule& one : snapshot.schedules()) {
      if (&one == &schedule) {
        is_past = true;
        if (other != nullptr) { break; }
        continue;
      }
      bool is_of_it = one.program_decl == schedule.program_decl && one.program_name == schedule.program_name && one.run != nullptr && one.run->is_complete;
      if (!is_of_it) { continue; }
      other = &one;
      if (is_past) { break; }
    }
    if (other == nullptr) { return; }
    std::string title = fmt::format("compare with {}", other->name.view());
    for (const auto& [id, job] : context.jobs) {
      if (job.kind != JobKind::Bench || job.other != other->name.view() || job.uri != snapshot.name() || job.schedule != schedule.name.view()) { continue; }
      bool is_stale = hash_combine(hash_of_declarations(snapshot, job.function, job.schedule), hash_of_declarations(snapshot, job.function, job.other)) != job.text_hash;
      if (!job.is_done()) { title += ": timing …"; } else if (job.seconds > 0 && !is_stale) { title += fmt::format(": {} and {}", duration_text(job.plain_seconds), duration_text(job.seconds)); }
    }
    add(lens, title, show_comparison_command, {{"uri", snapshot.name()}, {"function", schedule.program_name.view()}, {"schedule", schedule.name.view()}, {"other", other->name.view()}});
  };
  auto add_pause = [&](const Lens& lens, const JobFacts& job) {
    if (job.phase != JobPhase::ComparingStopped) { add(lens, job.is_paused() ? "resume" : "pause", job.is_paused() ? resume_tune_command : pause_tune_command, {{"job", job.job}}); }
  };
  // Whether a schedule keeps the results, as of the text that was compared.
  auto add_verified = [&](const Lens& lens, const std::string& function, const std::string& schedule) {
    Json argument = {{"uri", snapshot.name()}, {"function", function}, {"schedule", schedule}};
    for (const auto& [id, job] : context.jobs | std::views::reverse) {
      if (job.kind != JobKind::Verify || job.uri != snapshot.name() || job.function != function || job.schedule != schedule) { continue; }
      if (!job.is_done()) { return add(lens, "verifying …", stop_tune_command, {{"job", id}}); }
      if (job.text_hash != hash_of_declarations(snapshot, function, schedule)) { break; }
      return add(lens, job.is_equal ? (job.extent.empty() ? "verified" : "verified: " + job.extent) : "results differ: verify again", verify_command, std::move(argument));
    }
    add(lens, "verify", verify_command, std::move(argument));
  };
  // What runs says so, and a click ends it; what came of it is a message.
  auto add_run = [&](const Lens& lens, const std::string& function, const std::string& schedule) {
    Json argument = {{"uri", snapshot.name()}, {"function", function}};
    if (!schedule.empty()) { argument["schedule"] = schedule; }
    for (const auto& [id, job] : context.jobs) {
      if (job.executes() && job.uri == snapshot.name() && job.function == function && job.schedule == schedule) { return add(lens, "running …", stop_tune_command, {{"job", id}}); }
    }
    add(lens, "run", run_command, std::move(argument));
  };
  for (const Lens& lens : code_lenses(snapshot)) {
    if (lens.action == Lens::Action::View) {
      for (const script::FileSchedule& schedule : snapshot.schedules()) {
        if (schedule.name.view() == lens.function && schedule.run != nullptr && schedule.run->is_complete && !schedule.program_name.empty()) {
          add_run(lens, schedule.program_name.str(), lens.function);
          add_timed(lens, schedule.program_name.str(), lens.function);
          add_verified(lens, schedule.program_name.str(), lens.function);
          add(lens, "apply", apply_schedule_command, {{"uri", snapshot.name()}, {"schedule", lens.function}});
          if (views) { add_comparison(lens, schedule); }
        }
      }
      if (!views) { continue; }
      add(lens, lens.title, show_view_command, {{"uri", snapshot.name()}, {"position", range_of(context, lens.span)["start"]}});
      std::string state = view_address(snapshot.name()) + "#" + lens.function + "@";
      auto schedule = std::find_if(snapshot.schedules().begin(), snapshot.schedules().end(), [&](const script::FileSchedule& one) { return one.name.view() == lens.function; });
      size_t done = 0;
      while (schedule != snapshot.schedules().end() && schedule->run != nullptr && done < schedule->run->steps.size() && schedule->run->steps[done].state == script::StepState::Done) { ++done; }
      if (done > 0) { add(lens, "diff", show_difference_command, {{"from", state + "0"}, {"to", state + std::to_string(done)}, {"title", fmt::format("{}: as written, after {} statements", lens.function, done)}}); }
      continue;
    }
    if (lens.action == Lens::Action::Fill) {
      auto [title, command, argument] = filling(context, lens.function, *lens.hole);
      add(lens, title, command, argument);
      for (const auto& [id, job] : context.jobs) {
        if (!job.is_done() && job.fills() && job.uri == snapshot.name() && job.schedule == lens.function) { add_pause(lens, job); }
      }
      continue;
    }
    if (lens.action == Lens::Action::None) {
      auto schedule = std::find_if(snapshot.schedules().begin(), snapshot.schedules().end(), [&](const script::FileSchedule& one) { return one.name.view() == lens.function; });
      bool is_of_another = schedule != snapshot.schedules().end() && context.records != nullptr && is_of_another_program(snapshot, *schedule, *context.records);
      add(lens, lens.title + (is_of_another ? "; tuned for another program" : ""), "", Json());
      continue;
    }
    bool is_running = false;
    bool has_found = false;
    for (const auto& [id, job] : context.jobs) {
      if (!job.tunes() || job.uri != snapshot.name() || job.function != lens.function) { continue; }
      has_found = has_found || job.is_done();
      if (job.is_done()) {
        bool is_there = has_steps_of(snapshot, job.schedule_text);
        add(lens, (is_there ? "best, in this file: " : "insert best schedule: ") + time_title(job.seconds, job.share), is_there ? "" : insert_schedule_command, is_there ? Json() : Json{{"job", id}});
      } else {
        is_running = true;
        add(lens, progress_title(job), stop_tune_command, {{"job", id}});
        add_pause(lens, job);
      }
    }
    if (!is_running) { add(lens, lens.title, tune_command, {{"uri", snapshot.name()}, {"function", lens.function}}); }
    if (auto best = is_running || has_found ? std::nullopt : recorded_best(context, lens.function)) {
      std::string title = "best " + time_title(best->recorded.best.median_seconds, best->share);
      // What was not compared with the program is told of and not offered.
      bool has_schedules = std::any_of(snapshot.schedules().begin(), snapshot.schedules().end(), [&](const script::FileSchedule& one) { return one.program_name.view() == lens.function; });
      auto text = has_schedules ? schedule_text_of(snapshot, *best) : std::nullopt;
      bool is_there = text && has_steps_of(snapshot, *text);
      if (is_there) { title += ", in this file"; }
      bool is_offered = !best->recorded.best.verified.empty() && !is_there;
      add(lens, title + (is_offered ? ": insert it" : ""), is_offered ? insert_schedule_command : "", is_offered ? recorded_argument(context, lens.function) : Json());
    }
    if (views && recorded_best(context, lens.function)) { add(lens, "history", show_history_command, {{"uri", snapshot.name()}, {"function", lens.function}}); }
    add_run(lens, lens.function, "");
    add_timed(lens, lens.function, "");
  }
  return lenses;
}

auto view_json(const RouteContext& context, const View& view) -> Json {
  Json changed = Json::array();
  for (auto [begin, end] : view.changed) { changed.push_back({{"startLine", begin}, {"endLine", end}}); }
  Json json = {{"uri", view.address}, {"title", view.title}, {"text", view.text}, {"changed", std::move(changed)}, {"isBehind", view.is_behind}};
  // Pairs: a line of the view, and the line of the text that it stands for.
  Json sources = Json::array();
  for (const auto& [line, span] : view.sources) { sources.push_back({line, context.snapshot->lines().line_of(span.begin)}); }
  json["sources"] = std::move(sources);
  // The same, of statements of the schedule that made what stands there.
  Json steps = Json::array();
  for (const auto& [line, span] : view.steps) { steps.push_back({line, context.snapshot->lines().line_of(span.begin)}); }
  json["steps"] = std::move(steps);
  return json;
}

/// `loopsmith/ir` {textDocument, position, stage?}: the program as it is there, or what becomes of it, with its address.
auto view_route(const RouteContext& context, const Json& params) -> RouteResult {
  auto at = offset_in(context, params);
  if (!at) { return bad_params("`position` is missing"); }
  auto stage = stage_named(string_in(params, "stage"));
  if (!stage) { return bad_params("`stage` is `lowered`, `llvm` or `asm`"); }
  auto view = view_at(*context.snapshot, *at, *stage);
  return view ? view_json(context, *view) : Json();
}

/// `loopsmith/loops` {textDocument, position}: the loops and blocks of the program as it is there, in the order of the text.
auto loops_route(const RouteContext& context, const Json& params) -> RouteResult {
  auto at = offset_in(context, params);
  if (!at) { return bad_params("`position` is missing"); }
  auto view = loop_view_at(*context.snapshot, *at);
  if (!view) { return Json(); }
  Json nodes = Json::array();
  for (const LoopViewNode& node : view->nodes) {
    Json one = {{"place", node.place}, {"depth", node.depth}, {"kind", node.kind}, {"text", node.text}, {"name", node.name}, {"facts", node.facts}};
    if (auto span = context.snapshot->resolve(node.where)) { one["range"] = range_of(context, *span); }
    nodes.push_back(std::move(one));
  }
  return Json{{"title", view->title}, {"function", view->function}, {"nodes", std::move(nodes)}};
}

/// An edit that writes a move into the text; null where it is refused.
auto edit_of_move(const RouteContext& context, const OfferedMove& move) -> Json {
  if (!move.why_not.empty()) { return Json(); }
  std::vector<TextEdit> edits;
  if (move.imports) { edits.push_back(*move.imports); }
  edits.push_back({{move.offset, move.offset}, move.insert});
  return edit_of(context, edits, title_of(move));
}

/// `loopsmith/moves` {textDocument, position, place}: what can be done to a loop or block of `loopsmith/loops` there.
auto moves_route(const RouteContext& context, const Json& params) -> RouteResult {
  auto at = offset_in(context, params);
  auto place = int_in(params, "place");
  if (!at || !place || *place < 0) { return bad_params("`position` or `place` is missing"); }
  Json moves = Json::array();
  for (const OfferedMove& move : moves_offered_on(*context.snapshot, *at, static_cast<size_t>(*place))) {
    Json one = {{"title", title_of(move)}, {"statement", move.text}};
    if (move.why_not.empty()) { one["edit"] = edit_of_move(context, move); } else { one["reason"] = move.why_not; }
    moves.push_back(std::move(one));
  }
  return moves;
}

/// A place of a view, `at` {line, character}: views have plain letters, so characters are bytes. Or none.
auto place_in_view(const Json& params) -> std::optional<Position> { return position_from(member(params, "at")); }

auto view_span_json(const ViewSpan& span) -> Json {
  return {{"start", {{"line", span.line}, {"character", span.begin}}}, {"end", {{"line", span.line}, {"character", span.end}}}};
}

/// Factors of a split as they are typed: "None, 32", "4, None, 8"; one number is the inner one. None: something else is typed.
auto factors_from(std::string_view text) -> std::optional<std::vector<std::optional<int64_t>>> {
  std::vector<std::optional<int64_t>> factors;
  while (true) {
    size_t comma = std::min(text.find(','), text.size());
    std::string_view one = text.substr(0, comma);
    while (!one.empty() && one.front() == ' ') { one.remove_prefix(1); }
    while (!one.empty() && one.back() == ' ') { one.remove_suffix(1); }
    int64_t number = 0;
    auto [end, problem] = std::from_chars(one.data(), one.data() + one.size(), number);
    bool is_number = problem == std::errc() && end == one.data() + one.size() && number > 0;
    if (!is_number && one != "None") { return std::nullopt; }
    factors.push_back(is_number ? std::optional(number) : std::nullopt);
    if (comma == text.size()) { break; }
    text.remove_prefix(comma + 1);
  }
  if (factors.size() == 1) { factors.insert(factors.begin(), std::nullopt); }
  return factors;
}

/// `loopsmith/viewMoves` {textDocument, position, at, primitive, factors?}: calls of one primitive on the loop or block at a place of the view
/// (`loopsmith/ir`) of `position`. `factors`: "None, 32".
auto view_moves_route(const RouteContext& context, const Json& params) -> RouteResult {
  auto at = offset_in(context, params);
  auto place = place_in_view(params);
  std::string primitive = string_in(params, "primitive");
  if (!at || !place || primitive.empty()) { return bad_params("`position`, `at` or `primitive` is missing"); }
  std::vector<std::optional<int64_t>> factors;
  if (std::string text = string_in(params, "factors"); !text.empty()) {
    auto asked = factors_from(text);
    if (!asked) { return bad_params("`factors` is a list of numbers, of which one may be None: \"None, 32\""); }
    factors = std::move(*asked);
  }
  ViewMoves found = moves_in_view(*context.snapshot, *at, static_cast<uint32_t>(place->line), static_cast<uint32_t>(place->character), primitive, factors);
  Json moves = Json::array();
  for (const ViewMove& one : found.moves) {
    Json json = {{"title", title_of(one.move)}, {"statement", one.move.text}};
    if (one.move.why_not.empty()) { json["edit"] = edit_of_move(context, one.move); } else { json["reason"] = one.move.why_not; }
    if (one.other) { json["other"] = view_span_json(*one.other); }
    moves.push_back(std::move(json));
  }
  Json answer = {{"about", found.about}, {"moves", std::move(moves)}};
  if (!found.why_none.empty()) { answer["reason"] = found.why_none; }
  if (!found.factors.empty()) { answer["factors"] = found.factors; }
  return answer;
}

/// `loopsmith/viewHover` {textDocument, position, at}: as `textDocument/hover`, of a place of the view of `position`.
auto view_hover_route(const RouteContext& context, const Json& params) -> RouteResult {
  auto at = offset_in(context, params);
  auto place = place_in_view(params);
  if (!at || !place) { return bad_params("`position` or `at` is missing"); }
  auto found = hover_in_view(*context.snapshot, *at, static_cast<uint32_t>(place->line), static_cast<uint32_t>(place->character), context.machine);
  if (!found) { return Json(); }
  return Json{{"contents", {{"kind", "markdown"}, {"value", hover_text(context, found->info, true)}}}, {"range", view_span_json(found->span)}};
}

/// LSP 3.18: what a `loopsmith-ir:` document holds.
auto text_document_content(const RouteContext& context, const Json& params) -> RouteResult {
  std::string uri = string_in(params, "uri");
  auto address = parse_view(uri);
  if (!address) { return bad_params("only `loopsmith-ir:` documents are ours"); }
  const auto& [path, fragment] = *address;
  const Snapshot* snapshot = context.find("file://" + path);
  if (snapshot == nullptr) { snapshot = context.find(path); }
  if (snapshot == nullptr) { return RouteError{ErrorCode::RequestFailed, "the text of this view is not open"}; }
  if (fragment.ends_with(records_suffix) && context.records != nullptr) {
    std::string told = records_told(*snapshot, fragment.substr(0, fragment.size() - records_suffix.size()), *context.records);
    if (!told.empty()) { return Json{{"text", told}}; }
  }
  auto view = view_of(*snapshot, fragment);
  if (!view) { return RouteError{ErrorCode::RequestFailed, "there is no such schedule in the text"}; }
  if (context.served) { context.served(*snapshot, uri); }
  return Json{{"text", view->text}};
}

auto wants_kind(const Json& only, std::string_view kind) -> bool {
  if (!only.is_array()) { return true; }
  return std::any_of(only.begin(), only.end(), [&](const Json& entry) {
    if (!entry.is_string()) { return false; }
    auto wanted = entry.get<std::string>();
    return kind == wanted || (kind.substr(0, wanted.size()) == wanted && kind.substr(wanted.size()).starts_with("."));
  });
}

/// Does a schedule schedule what a search by that name is about?
auto is_for(const Snapshot& snapshot, const script::FileSchedule& schedule, const std::string& function) -> bool {
  if (schedule.program_name.view() == function) { return true; }
  const workspace::Program* program = program_with(snapshot, function);
  return program != nullptr && program->decl == schedule.program_decl;
}

/// Rewrites that are tried before they are made. `offer` says what could be done, by the text and the last run alone.
struct LazyRewrite {
  std::string_view name;
  const char* kind;
  auto (*offer)(const Snapshot& snapshot, uint32_t at) -> TextRewrite;
  bool tries_much = false;   // its edits are found by running schedules again and again
};
auto minimisable(const Snapshot& snapshot, uint32_t at) -> TextRewrite {
  const script::FileSchedule* schedule = schedule_at(snapshot, at);
  return {schedule != nullptr && schedule->run != nullptr ? fmt::format("Minimise {}", schedule->name.view()) : std::string(), {}, {}};
}
constexpr std::string_view minimise_rewrite = "minimise";
constexpr LazyRewrite lazy_rewrites[] = {
    {"inline", "refactor.inline", inline_helper},
    {"drop idle steps", "refactor.rewrite", drop_idle_steps},
    {"constants", "refactor.rewrite", decisions_as_constants},
    {"decisions", "refactor.rewrite", decisions_as_arguments},
    {"symbolic", "refactor.rewrite", factors_as_draws},
    {minimise_rewrite, "refactor.rewrite", minimisable, true},
};

auto code_action(const RouteContext& context, const Json& params) -> RouteResult {
  const Snapshot& snapshot = *context.snapshot;
  auto range = range_from(member(params, "range"));
  if (!range) { return bad_params("`range` is missing"); }
  Span span = to_span(snapshot.text(), snapshot.lines(), *range, context.encoding);
  const Json& only = member(member(params, "context"), "only");
  Json actions = Json::array();
  const Json& asked = member(member(params, "context"), "diagnostics");
  for (const workspace::Finding& finding : snapshot.findings()) {
    if (finding.span.end < span.begin || finding.span.begin > span.end) { continue; }
    // The client's own diagnostic, so that it knows which one goes away.
    Json about = Json::array();
    Json where = range_of(context, finding.span);
    if (asked.is_array()) {
      for (const Json& one : asked) {
        if (member(one, "range") == where && string_in(one, "code") == code_id(finding.code)) { about.push_back(one); }
      }
    }
    auto add = [&](std::string title, const char* kind, Json edit, bool is_preferred) {
      Json action = {{"title", std::move(title)}, {"kind", kind}, {"edit", std::move(edit)}};
      if (is_preferred) { action["isPreferred"] = true; }
      if (!about.empty()) { action["diagnostics"] = about; }
      actions.push_back(std::move(action));
    };
    if (wants_kind(only, "quickfix")) {
      std::vector<TextRewrite> repairs = repairs_of(snapshot, finding);
      for (TextRewrite& repair : repairs_of_decomposed(snapshot, finding, context.cancel)) { repairs.push_back(std::move(repair)); }
      for (TextRewrite& repair : repairs_of_unpacking(snapshot, finding, context.cancel)) { repairs.push_back(std::move(repair)); }
      for (size_t i = 0; i < repairs.size(); ++i) { add(repairs[i].title, "quickfix", edit_of(context, repairs[i].edits, repairs[i].title), i == 0); }
      if (!finding.fixes.empty() && repairs.empty()) {
        std::vector<TextEdit> edits;
        for (const auto& fix : finding.fixes) { edits.push_back({fix.span, fix.replacement}); }
        std::string title = finding.remedies.empty() ? "Fix: " + finding.message : finding.remedies.front();
        add(title, "quickfix", edit_of(context, edits, title), false);
      }
    }
    if (wants_kind(only, "refactor.rewrite") && !about.empty()) {
      TextRewrite test = as_expectation(snapshot, finding);
      add(test.title, "refactor.rewrite", edit_of(context, test.edits, test.title), false);
    }
  }
  if (wants_kind(only, "refactor.extract")) {
    TextRewrite extracted = extract_steps(snapshot, span);
    if (!extracted.edits.empty()) { actions.push_back({{"title", extracted.title}, {"kind", "refactor.extract"}, {"edit", edit_of(context, extracted.edits, extracted.title)}}); }
  }
  const Json& supported = member(member(context.capabilities, "textDocument"), "codeAction");
  bool can_disable = bool_in(supported, "disabledSupport");
  const Json& resolved = member(member(supported, "resolveSupport"), "properties");
  bool can_resolve = resolved.is_array() && std::find(resolved.begin(), resolved.end(), "edit") != resolved.end();
  auto lazily = [&](const std::string& title, const char* kind, std::string_view name) {
    actions.push_back({{"title", title}, {"kind", kind}, {"data", {{"uri", snapshot.name()}, {"version", snapshot.version()}, {"at", span.begin}, {"rewrite", name}}}});
  };
  auto add_rewrites = [&] {
    for (const LazyRewrite& row : lazy_rewrites) {
      if (!wants_kind(only, row.kind) || (row.tries_much && !can_resolve)) { continue; }
      TextRewrite rewrite = row.offer(snapshot, span.begin);
      if (rewrite.title.empty() || (rewrite.edits.empty() && rewrite.why_not.empty() && !row.tries_much)) { continue; }
      // Trying means to run schedules: only once it is chosen, where the client asks again.
      if (rewrite.why_not.empty() && can_resolve) {
        lazily(rewrite.title, row.kind, row.name);
        continue;
      }
      if (rewrite.why_not.empty()) { rewrite.why_not = what_breaks(snapshot, rewrite.edits, context.cancel); }
      if (rewrite.why_not.empty()) {
        actions.push_back({{"title", rewrite.title}, {"kind", row.kind}, {"edit", edit_of(context, rewrite.edits, rewrite.title)}});
      } else if (can_disable) {
        actions.push_back({{"title", rewrite.title}, {"kind", row.kind}, {"disabled", {{"reason", rewrite.why_not}}}});
      }
    }
  };
  if (!wants_kind(only, "refactor.rewrite")) {
    add_rewrites();
    return actions;
  }
  const uint32_t focus = focus_of_selection(snapshot, span);
  // A list of more is not read; who asks for such actions only, or cannot show what is grey, gets all.
  constexpr size_t most_shown = 10;
  bool shows_all = (only.is_array() && !only.empty()) || !can_disable;
  std::vector<OfferedMove> moves = moves_offered(snapshot, focus, can_disable ? Refusals::All : Refusals::Usual, patience_of(context).until);
  auto legal_end = std::find_if(moves.begin(), moves.end(), [](const OfferedMove& move) { return !move.why_not.empty(); });
  // Several statements at once are worth a place, whatever the estimate says of them.
  auto tile = std::find_if(moves.begin(), legal_end, [](const OfferedMove& move) { return move.primitive == "tile"; });
  if (!shows_all && tile != legal_end && tile - moves.begin() >= static_cast<std::ptrdiff_t>(most_shown)) { std::rotate(moves.begin() + most_shown - 1, tile, tile + 1); }
  auto shown_end = shows_all || legal_end - moves.begin() <= static_cast<std::ptrdiff_t>(most_shown) ? legal_end : moves.begin() + most_shown;
  for (auto move = moves.begin(); move != moves.end(); ++move) {
    Json action = {{"title", title_of(*move)}, {"kind", "refactor.rewrite"}};
    if (move == shown_end && shown_end != legal_end) {
      std::vector<std::string_view> names;
      for (; move != legal_end; ++move) { names.push_back(move->primitive); }
      --move;
      action["title"] = fmt::format("{} more: {}", names.size(), fmt::join(names, ", "));
      action["disabled"] = {{"reason", "the loop view, and a request for `refactor.rewrite` alone, show all that can be done"}};
    } else if (move->why_not.empty()) {
      action["edit"] = edit_of_move(context, *move);
    } else if (can_disable) {
      action["disabled"] = {{"reason", move->why_not}};
    } else {
      continue;
    }
    actions.push_back(std::move(action));
  }
  for (const TextRewrite& rewrite : other_factors_offered(snapshot, span.begin, context.cancel)) {
    actions.push_back({{"title", rewrite.title}, {"kind", "refactor.rewrite"}, {"edit", edit_of(context, rewrite.edits, rewrite.title)}});
  }
  if (auto question = asks_forms(context.capabilities) ? split_asked(snapshot, focus) : std::nullopt) {
    std::string title = question->extent > 0 ? fmt::format("Split `{}` ({}) by ...", question->loop, question->extent) : fmt::format("Split `{}` by ...", question->loop);
    Json argument = {{"uri", snapshot.name()}, {"version", snapshot.version()}, {"position", range_of(context, {focus, focus})["start"]}, {"loop", question->loop}, {"extent", question->extent}, {"proposed", question->factors}};
    actions.push_back({{"title", title}, {"kind", "refactor.rewrite"}, {"command", {{"title", title}, {"command", split_command}, {"arguments", Json::array({std::move(argument)})}}}});
  }
  add_rewrites();
  if (const script::FileSchedule* schedule = schedule_at(snapshot, span.begin); schedule != nullptr && schedule->run != nullptr) {
    TextRewrite explained = explain_schedule(snapshot, span.begin);
    if (!explained.edits.empty()) { actions.push_back({{"title", explained.title}, {"kind", "refactor.rewrite"}, {"edit", edit_of(context, explained.edits, explained.title)}}); }
    // Whether a text of steps fits is seen from a function without any.
    bool is_replaceable = !replace_schedule(snapshot, *schedule, "def f(sch):\n    sch.trace\n").edits.empty();
    std::string title = fmt::format("Replace {} with the best schedule", schedule->name.view());
    auto offer = [&](Json argument) {
      argument["replace"] = schedule->name.view();
      actions.push_back({{"title", title}, {"kind", "refactor.rewrite"}, {"command", {{"title", title}, {"command", insert_schedule_command}, {"arguments", Json::array({std::move(argument)})}}}});
    };
    bool has_found = false;
    for (const auto& [id, job] : context.jobs) {
      if (!is_replaceable || !job.tunes() || job.uri != snapshot.name() || !job.is_done() || !is_for(snapshot, *schedule, job.function)) { continue; }
      has_found = true;
      offer({{"job", id}});
    }
    std::string function;
    for (const workspace::Program& program : snapshot.programs()) {
      if (program.decl != schedule->program_decl || !program.module || program.is_inside || program.module->functions.size() != 1) { continue; }
      function = is_function(snapshot, program) ? program.name.str() : program.module->functions.front().first.str();
    }
    auto best = function.empty() ? std::nullopt : recorded_best(context, function);
    if (is_replaceable && !has_found && best && !best->recorded.best.verified.empty()) {
      title += fmt::format(" ({}, recorded)", duration_text(best->recorded.best.median_seconds));
      offer(recorded_argument(context, function));
    }
  }
  for (const script::FileSchedule& schedule : snapshot.schedules()) {
    auto hole = hole_of(snapshot, schedule);
    if (!hole || hole->span.end < span.begin || hole->span.begin > span.end) { continue; }
    Filling fill = filling(context, schedule.name.str(), *hole);
    bool inserts = fill.command == insert_schedule_command;
    std::string title = inserts ? "Fill in the best steps" : fill.command == stop_tune_command ? "Stop tuning and keep the best" : "Tune this place in the background";
    actions.push_back({{"title", title}, {"kind", "refactor.rewrite"}, {"command", {{"title", title}, {"command", fill.command}, {"arguments", Json::array({fill.argument})}}}});
    if (inserts) { actions.back()["isPreferred"] = true; }
  }
  // Offered on the head of a function: it changes the whole file.
  if (auto callable = callable_at(snapshot, span.begin); callable && callable->name_span.begin <= span.begin && span.begin <= callable->name_span.end) {
    TextRewrite spelled = switch_block_spelling(snapshot);
    if (!spelled.edits.empty()) { actions.push_back({{"title", spelled.title + " in this file"}, {"kind", "refactor.rewrite"}, {"edit", edit_of(context, spelled.edits, spelled.title)}}); }
  }
  for (const Tunable& tunable : tunables_in(snapshot, span)) {
    std::string title = fmt::format("Tune {} in the background", tunable.name);
    Json argument = {{"uri", snapshot.name()}, {"function", tunable.name}};
    bool is_running = false;
    bool has_found = false;
    for (const auto& [id, job] : context.jobs) {
      if (!job.tunes() || job.uri != snapshot.name() || job.function != tunable.name) { continue; }
      has_found = has_found || job.is_done();
      if (!job.is_done()) {
        is_running = true;
        std::string stop = job.phase == JobPhase::Kept ? fmt::format("Give up tuning {}, as an earlier session began it", tunable.name) : job.phase == JobPhase::ComparingStopped ? fmt::format("Give up the comparison of the best of {} with the program", tunable.name) : fmt::format("Stop tuning {} and keep the best", tunable.name);
        actions.push_back({{"title", stop}, {"kind", "refactor.rewrite"},
                           {"command", {{"title", stop}, {"command", stop_tune_command}, {"arguments", {{{"job", id}}}}}}});
        std::string pause = fmt::format("{} tuning {}", job.is_paused() ? "Resume" : "Pause", tunable.name);
        if (job.phase != JobPhase::ComparingStopped) {
          actions.push_back({{"title", pause}, {"kind", "refactor.rewrite"},
                             {"command", {{"title", pause}, {"command", job.is_paused() ? resume_tune_command : pause_tune_command}, {"arguments", {{{"job", id}}}}}}});
        }
      } else {
        actions.push_back({{"title", "Insert best schedule"}, {"kind", "refactor.rewrite"}, {"isPreferred", true},
                           {"command", {{"title", "Insert best schedule"}, {"command", insert_schedule_command}, {"arguments", {{{"job", id}}}}}}});
      }
    }
    if (!is_running) {
      actions.push_back({{"title", title}, {"kind", "refactor.rewrite"},
                         {"command", {{"title", title}, {"command", tune_command}, {"arguments", Json::array({argument})}}}});
    }
    if (auto best = is_running || has_found ? std::nullopt : recorded_best(context, tunable.name); best && !best->recorded.best.verified.empty()) {
      std::string insert = fmt::format("Insert best schedule ({}, recorded)", duration_text(best->recorded.best.median_seconds));
      actions.push_back({{"title", insert}, {"kind", "refactor.rewrite"},
                         {"command", {{"title", insert}, {"command", insert_schedule_command}, {"arguments", Json::array({recorded_argument(context, tunable.name)})}}}});
    }
  }
  // By the interpreter, under the schedule where the cursor is in one.
  auto add_interpreted = [&](const std::string& function, const std::string& schedule, const std::string& block = {}) {
    std::string whole = schedule.empty() ? function : schedule;
    std::string title = fmt::format("Interpret {} on random inputs, every access checked", block.empty() ? whole : fmt::format("block `{}` of {}", block, whole));
    Json argument = {{"uri", snapshot.name()}, {"function", function}};
    if (!block.empty()) { argument["block"] = block; }
    if (!schedule.empty()) { argument["schedule"] = schedule; }
    actions.push_back({{"title", title}, {"kind", "refactor.rewrite"}, {"command", {{"title", title}, {"command", interpret_command}, {"arguments", Json::array({std::move(argument)})}}}});
  };
  for (const Tunable& tunable : tunables_in(snapshot, span)) { add_interpreted(tunable.name, ""); }
  // The block that the cursor is on alone, as it is written, or as a schedule names it at its end.
  std::string block = block_meant(snapshot, span.begin);
  for (const Tunable& tunable : block.empty() ? std::vector<Tunable>() : tunables_in(snapshot, span)) { add_interpreted(tunable.name, "", block); }
  if (const script::FileSchedule* schedule = schedule_at(snapshot, span.begin); schedule != nullptr && schedule->run != nullptr && schedule->run->is_complete && !schedule->program_name.empty()) {
    add_interpreted(schedule->program_name.str(), schedule->name.str());
    if (!block.empty()) { add_interpreted(schedule->program_name.str(), schedule->name.str(), block); }
  }
  return actions;
}

/// The action as it came, with its edit. An action of an earlier text stays as it is.
auto code_action_resolve(const RouteContext& context, const Json& params) -> RouteResult {
  if (!params.is_object()) { return bad_params("a code action is an object"); }
  Json action = params;
  const Json& data = member(params, "data");
  const Snapshot* snapshot = context.find(string_in(data, "uri"));
  auto at = int_in(data, "at");
  if (snapshot == nullptr || !at || *at < 0 || *at > static_cast<int64_t>(snapshot->text().size())) { return action; }
  if (snapshot->version() != int_in(data, "version")) { return RouteError{ErrorCode::ContentModified, "the text changed"}; }
  RouteContext there = context;
  there.snapshot = snapshot;
  std::string name = string_in(data, "rewrite");
  const auto* row = std::find_if(std::begin(lazy_rewrites), std::end(lazy_rewrites), [&](const LazyRewrite& one) { return one.name == name; });
  if (row == std::end(lazy_rewrites)) { return action; }
  auto offset = static_cast<uint32_t>(*at);
  TextRewrite found = name == minimise_rewrite ? minimise_schedule(*snapshot, offset, Removed::Steps, context.cancel) : row->offer(*snapshot, offset);
  // A search for fewer steps has tried what it gives.
  std::string why = name == minimise_rewrite ? std::string() : !found.why_not.empty() ? found.why_not : what_breaks(*snapshot, found.edits, context.cancel);
  if (context.cancel.is_cancelled()) { return RouteError{ErrorCode::RequestCancelled, "cancelled"}; }
  // An action that does nothing looks like one that does not work.
  if (why.empty() && found.edits.empty()) { why = name == minimise_rewrite ? "every step is needed" : "there is nothing to change"; }
  if (!why.empty()) { return RouteError{ErrorCode::RequestFailed, fmt::format("{}: {}", string_in(params, "title"), why)}; }
  action["edit"] = edit_of(there, found.edits, string_in(params, "title"));
  return action;
}

/// A schedule function that is written into a file: what a search found, now or on an earlier day.
struct Found {
  std::string uri;
  std::string function;   // that was searched
  std::string text;
  std::optional<Insertion> insert = {};   // its place, where the text is the one that was searched
};

auto write_schedule(const RouteContext& context, const Snapshot& snapshot, const Found& found, const std::string& replaced) -> RouteResult {
  RouteContext there = context;
  there.snapshot = &snapshot;
  if (!replaced.empty()) {
    for (const script::FileSchedule& schedule : snapshot.schedules()) {
      if (schedule.name.view() != replaced) { continue; }
      TextRewrite rewrite = replace_schedule(snapshot, schedule, found.text);
      if (rewrite.edits.empty()) { return RouteError{ErrorCode::RequestFailed, fmt::format("`{}` is not replaced: {}", replaced, rewrite.why_not)}; }
      return Json{{"edit", edit_of(there, rewrite.edits, rewrite.title)}};
    }
    return RouteError{ErrorCode::RequestFailed, fmt::format("`{}` is not in the file any more", replaced)};
  }
  ScheduleInFile written = in_form_of(snapshot, found.text);
  std::optional<Insertion> insertion = found.insert && written.text == found.text ? found.insert : insertion_after(snapshot, found.function, written.text);
  if (!insertion) {
    return RouteError{ErrorCode::RequestFailed, fmt::format("`{}` is not in the file any more; the schedule was not inserted", found.function)};
  }
  Json edits = Json::array();
  auto add = [&](uint32_t offset, const std::string& text) {
    Position at = to_position(snapshot.text(), snapshot.lines(), offset, context.encoding);
    edits.push_back({{"range", to_json(TextRange{at, at})}, {"newText", text}});
  };
  if (written.imports) { add(written.imports->span.begin, written.imports->text); }
  add(insertion->offset, insertion->text);
  const Json& supported = member(member(context.capabilities, "workspace"), "workspaceEdit");
  if (!bool_in(supported, "documentChanges")) { return Json{{"edit", {{"changes", {{found.uri, std::move(edits)}}}}}}; }
  Json whole;
  if (!member(supported, "changeAnnotationSupport").is_null()) {
    for (Json& edit : edits) { edit["annotationId"] = "schedule"; }
    whole["changeAnnotations"] = {{"schedule", {{"label", "Insert best schedule"}, {"description", fmt::format("found by tuning {}", found.function)}}}};
  }
  whole["documentChanges"] = Json::array({{{"textDocument", {{"uri", found.uri}, {"version", snapshot.version()}}}, {"edits", std::move(edits)}}});
  return Json{{"edit", whole}};
}

/// The program that a command is about: by its name, or by the place of the cursor in it or in a schedule for it; empty: none.
auto program_meant(const RouteContext& context, const Json& argument) -> std::string {
  std::string name = string_in(argument, "function");
  auto at = offset_in(context, argument);
  if (!name.empty() || !at) { return name; }
  const Snapshot& snapshot = *context.snapshot;
  if (const script::FileSchedule* schedule = schedule_at(snapshot, *at)) { return schedule->program_name.str(); }
  std::vector<Tunable> here = tunables_in(snapshot, {*at, *at});
  return here.empty() ? std::string() : here.front().name;
}

/// `loopsmith.db.explain` {uri, function or position}: {title, text}, the text in Markdown.
auto answer_explain_records(const RouteContext& context, const Json& argument) -> RouteResult {
  const Snapshot* snapshot = context.find(string_in(argument, "uri"));
  if (snapshot == nullptr || context.records == nullptr) { return RouteError{ErrorCode::RequestFailed, "the file is not open any more"}; }
  RouteContext there = context;
  there.snapshot = snapshot;
  std::string function = program_meant(there, argument);
  std::string text = function.empty() ? std::string() : records_explained(*snapshot, function, *context.records);
  if (text.empty()) { return RouteError{ErrorCode::RequestFailed, function.empty() ? "there is no program at the cursor" : fmt::format("there is no program `{}` without errors, or there are several", function)}; }
  return Json{{"title", fmt::format("Records of {}", function)}, {"text", text}};
}

/// `loopsmith.report.bundle` {uri, position}: what the front writes down of the file, {text, left_out, codes, declarations, of_declarations, machine}.
auto answer_report(const RouteContext& context, const Json& argument) -> RouteResult {
  const Snapshot* snapshot = context.find(string_in(argument, "uri"));
  if (snapshot == nullptr) { return RouteError{ErrorCode::RequestFailed, "the file is not open any more"}; }
  RouteContext there = context;
  there.snapshot = snapshot;
  ReportedCase shown = reported_case(*snapshot, offset_in(there, argument).value_or(0), context.cancel);
  if (context.cancel.is_cancelled()) { return RouteError{ErrorCode::RequestCancelled, "cancelled"}; }
  return Json{{"text", shown.text}, {"left_out", shown.left_out}, {"codes", shown.codes}, {"declarations", shown.declarations}, {"of_declarations", shown.of_declarations}, {"machine", target::machine_identity()}};
}

/// `loopsmith.db.history` {uri, function or position}: {title, text}, the text in Markdown.
auto answer_history(const RouteContext& context, const Json& argument) -> RouteResult {
  const Snapshot* snapshot = context.find(string_in(argument, "uri"));
  if (snapshot == nullptr || context.records == nullptr) { return RouteError{ErrorCode::RequestFailed, "the file is not open any more"}; }
  RouteContext there = context;
  there.snapshot = snapshot;
  std::string function = program_meant(there, argument);
  std::string text = function.empty() ? std::string() : records_told(*snapshot, function, *context.records);
  if (text.empty()) { return RouteError{ErrorCode::RequestFailed, function.empty() ? "there is no program at the cursor" : fmt::format("there is no program `{}` without errors, or there are several", function)}; }
  return Json{{"title", fmt::format("History of {}", function)}, {"text", text}};
}

/// `loopsmith.schedules.compare` {uri, schedule, other}: {title, text}, the text in Markdown.
auto answer_comparison(const RouteContext& context, const Json& argument) -> RouteResult {
  const Snapshot* snapshot = context.find(string_in(argument, "uri"));
  if (snapshot == nullptr) { return RouteError{ErrorCode::RequestFailed, "the file is not open any more"}; }
  std::string first = string_in(argument, "schedule"), second = string_in(argument, "other");
  std::string text = schedules_compared(*snapshot, first, second);
  if (text.empty()) { return RouteError{ErrorCode::RequestFailed, fmt::format("`{}` and `{}` are not both schedules of this file that run", first, second)}; }
  return Json{{"title", fmt::format("{} and {}", first, second)}, {"text", text}};
}

/// `loopsmith.split` {uri, version, position, factors}: {edit}.
auto answer_split(const RouteContext& context, const Json& argument) -> RouteResult {
  const Snapshot* snapshot = context.find(string_in(argument, "uri"));
  if (snapshot == nullptr) { return RouteError{ErrorCode::RequestFailed, "the file is not open any more"}; }
  auto version = int_in(argument, "version");
  if (version && *version != snapshot->version()) { return RouteError{ErrorCode::ContentModified, "the text changed"}; }
  RouteContext there = context;
  there.snapshot = snapshot;
  auto at = offset_in(there, argument);
  const Json& given = member(argument, "factors");
  std::vector<std::optional<int64_t>> factors;
  for (const Json& one : given.is_array() ? given : Json::array()) { factors.push_back(one.is_number_integer() ? std::optional(one.get<int64_t>()) : std::nullopt); }
  if (!at || factors.size() < 2) { return bad_params("`position` or `factors` is missing"); }
  OfferedMove move = split_by(*snapshot, *at, factors);
  if (!move.why_not.empty()) { return RouteError{ErrorCode::RequestFailed, move.why_not}; }
  return Json{{"edit", edit_of_move(there, move)}};
}

/// `loopsmith.schedule.apply` {uri, schedule}: {edit}.
auto answer_apply(const RouteContext& context, const Json& argument) -> RouteResult {
  const Snapshot* snapshot = context.find(string_in(argument, "uri"));
  if (snapshot == nullptr) { return RouteError{ErrorCode::RequestFailed, "the file is not open any more"}; }
  RouteContext there = context;
  there.snapshot = snapshot;
  std::string name = string_in(argument, "schedule");
  for (const script::FileSchedule& schedule : snapshot->schedules()) {
    if (schedule.name.view() != name) { continue; }
    TextRewrite rewrite = apply_schedule(*snapshot, schedule);
    if (!rewrite.why_not.empty()) { return RouteError{ErrorCode::RequestFailed, rewrite.why_not}; }
    return Json{{"edit", edit_of(there, rewrite.edits, rewrite.title)}};
  }
  return RouteError{ErrorCode::RequestFailed, fmt::format("there is no schedule `{}` in the file", name)};
}

/// Only commands that need to know the texts arrive here; of those with an edit the front asks the editor to apply it.
auto execute_command(const RouteContext& context, const Json& params) -> RouteResult {
  const Json& arguments = member(params, "arguments");
  const Json& first = arguments.is_array() && !arguments.empty() ? arguments.front() : member(Json(), "");
  if (string_in(params, "command") == explain_records_command) { return answer_explain_records(context, first); }
  if (string_in(params, "command") == records_history_command) { return answer_history(context, first); }
  if (string_in(params, "command") == compare_schedules_command) { return answer_comparison(context, first); }
  if (string_in(params, "command") == split_command) { return answer_split(context, first); }
  if (string_in(params, "command") == apply_schedule_command) { return answer_apply(context, first); }
  if (string_in(params, "command") == report_bundle_command) { return answer_report(context, first); }
  std::string replaced = string_in(first, "replace");
  if (bool_in(first, "recorded")) {
    const Snapshot* snapshot = context.find(string_in(first, "uri"));
    if (snapshot == nullptr) { return RouteError{ErrorCode::RequestFailed, "the file is not open any more"}; }
    RouteContext there = context;
    there.snapshot = snapshot;
    auto best = recorded_best(there, string_in(first, "function"));
    if (!best || best->recorded.best.verified.empty()) { return RouteError{ErrorCode::RequestFailed, "nothing that was compared is recorded for this program: tune it"}; }
    auto text = schedule_text_of(*snapshot, *best);
    if (!text) { return RouteError{ErrorCode::RequestFailed, "the steps recorded do not work on this program any more: tune it again"}; }
    return write_schedule(context, *snapshot, {snapshot->name(), string_in(first, "function"), std::move(*text)}, replaced);
  }
  auto id = int_in(first, "job");
  auto found = id ? context.jobs.find(static_cast<uint64_t>(*id)) : context.jobs.end();
  if (found == context.jobs.end() || !found->second.is_done() || !(found->second.tunes() || found->second.fills())) { return bad_params("there is no such job, or it has no result yet"); }
  const JobFacts& job = found->second;
  const Snapshot* snapshot = context.find(job.uri);
  if (snapshot == nullptr) { return RouteError{ErrorCode::RequestFailed, "the file that was tuned is not open any more"}; }
  if (job.fills()) {
    RouteContext there = context;
    there.snapshot = snapshot;
    for (const script::FileSchedule& schedule : snapshot->schedules()) {
      if (schedule.name.view() != job.schedule) { continue; }
      auto hole = hole_of(*snapshot, schedule);
      if (!hole) {
        return RouteError{ErrorCode::RequestFailed, schedule.is_settled ? fmt::format("`{}` has no `tune()` any more; the steps were not written", job.schedule)
                                                                        : fmt::format("`{}` is being run after an edit; try again in a moment", job.schedule)};
      }
      if (hole->state != job.hole_state) { return RouteError{ErrorCode::RequestFailed, "the program before the search is another one now, and the steps found are not for it; tune again"}; }
      return Json{{"edit", edit_of(there, {{hole->span, filled(*snapshot, *hole, job.schedule_text)}}, "Fill in the best steps")}};
    }
    return RouteError{ErrorCode::RequestFailed, fmt::format("`{}` is not in the file any more; the steps were not written", job.schedule)};
  }
  Found schedule{job.uri, job.function, job.schedule_text};
  if (job.insert && job.version == snapshot->version() && job.insert->first <= snapshot->text().size()) {
    schedule.insert = Insertion{job.insert->first, job.insert->second};
  }
  return write_schedule(context, *snapshot, schedule, replaced);
}

auto text_edits(const RouteContext& context, const std::vector<format::Edit>& edits) -> Json {
  Json out = Json::array();
  for (const format::Edit& edit : edits) { out.push_back({{"range", range_of(context, edit.span)}, {"newText", edit.text}}); }
  return out;
}

auto formatting_route(const RouteContext& context, const Json&) -> RouteResult { return text_edits(context, formatting(*context.snapshot)); }

auto range_formatting_route(const RouteContext& context, const Json& params) -> RouteResult {
  auto range = range_from(member(params, "range"));
  if (!range) { return bad_params("`range` is missing"); }
  const Snapshot& snapshot = *context.snapshot;
  return text_edits(context, range_formatting(snapshot, to_span(snapshot.text(), snapshot.lines(), *range, context.encoding)));
}

auto ranges_formatting_route(const RouteContext& context, const Json& params) -> RouteResult {
  const Snapshot& snapshot = *context.snapshot;
  std::vector<format::Edit> edits;
  for (const Json& one : member(params, "ranges")) {
    auto range = range_from(one);
    if (!range) { return bad_params("one of `ranges` is none"); }
    for (format::Edit& edit : range_formatting(snapshot, to_span(snapshot.text(), snapshot.lines(), *range, context.encoding))) { edits.push_back(std::move(edit)); }
  }
  // Ranges in one statement format it each.
  std::sort(edits.begin(), edits.end(), [](const format::Edit& a, const format::Edit& b) { return std::tie(a.span.begin, a.span.end) < std::tie(b.span.begin, b.span.end); });
  edits.erase(std::unique(edits.begin(), edits.end(), [](const format::Edit& a, const format::Edit& b) { return a.span == b.span; }), edits.end());
  return text_edits(context, edits);
}

auto on_type_formatting_route(const RouteContext& context, const Json& params) -> RouteResult {
  auto at = position_from(member(params, "position"));
  if (!at) { return bad_params("`position` is missing"); }
  const Snapshot& snapshot = *context.snapshot;
  return text_edits(context, on_type_formatting(snapshot, to_offset(snapshot.text(), snapshot.lines(), *at, context.encoding)));
}

auto memory_json(const MemoryNode& node) -> Json {
  Json json = {{"name", node.name}, {"bytes", node.bytes}};
  for (const MemoryNode& child : node.children) { json["children"].push_back(memory_json(child)); }
  return json;
}

/// `loopsmith/memoryUsage`: a tree of {name, bytes, children?} with `text`, the same in lines. What processes have is the system's number; what
/// is in them is counted, and the rest is called that.
auto memory_route(const RouteContext& context, const Json&) -> RouteResult {
  std::unordered_set<const void*> counted;
  MemoryNode files{"open files", 0, {}};
  for (const Snapshot* snapshot : context.documents) {
    if (context.cancel.is_cancelled()) { return RouteError{ErrorCode::RequestCancelled, "cancelled"}; }
    files.children.push_back(memory_of(*snapshot, counted));
    files.bytes += files.children.back().bytes;
  }
  // The set that counts is no part of what is counted.
  counted = {};
  NodeMemory nodes = node_memory();
  HeapMemory heap = heap_memory();
  MemoryNode worker{"analysis", resident_memory().value_or(0), {}};
  uint64_t known = 0;
  auto add = [&](MemoryNode node) {
    known += node.bytes;
    worker.children.push_back(std::move(node));
  };
  add(std::move(files));
  // What is counted is no more than what the process has: of freed memory some is the system's again.
  worker.bytes = std::max(worker.bytes, known);
  add({"freed, waiting for what comes next", std::min<uint64_t>(nodes.free + heap.free, worker.bytes - known), {}});
  add({"the rest: the program's code, and what is kept beside files", worker.bytes - known, {}});
  MemoryNode front{"texts and messages", resident_memory(static_cast<int>(::getppid())).value_or(0), {}};
  MemoryNode all{"loopsmith lsp", worker.bytes + front.bytes, {std::move(worker), std::move(front)}};
  Json json = memory_json(all);
  json["text"] = memory_text(all);
  return json;
}

/// Answered when its lane comes: all is known of the version then.
auto wait_for_state(const RouteContext& context, const Json&) -> RouteResult {
  return Json{{"uri", context.snapshot->name()}, {"version", context.snapshot->version()}, {"state", "done"}};
}

constexpr Route routes[] = {
    {Method::WaitForState, Lane::Settled, wait_for_state},
    {Method::Hover, Lane::Interactive, hover_route},
    {Method::CodeAction, Lane::Interactive, code_action},
    {Method::CodeActionResolve, Lane::Interactive, code_action_resolve},
    {Method::Diagnostic, Lane::Settled, diagnostic_route},
    {Method::WorkspaceDiagnostic, Lane::Settled, workspace_diagnostic},
    {Method::WorkspaceSymbol, Lane::Interactive, workspace_symbol},
    {Method::MemoryUsage, Lane::Interactive, memory_route},
    {Method::PrepareCallHierarchy, Lane::Interactive, prepare_call_hierarchy},
    {Method::IncomingCalls, Lane::Interactive, incoming_calls},
    {Method::OutgoingCalls, Lane::Interactive, outgoing_calls},
    {Method::DocumentLink, Lane::Interactive, document_link},
    {Method::DocumentSymbol, Lane::Settled, document_symbol},
    {Method::FoldingRange, Lane::Interactive, folding_range},
    {Method::SelectionRange, Lane::Interactive, selection_range},
    {Method::Formatting, Lane::Interactive, formatting_route},
    {Method::RangeFormatting, Lane::Interactive, range_formatting_route},
    {Method::RangesFormatting, Lane::Interactive, ranges_formatting_route},
    {Method::OnTypeFormatting, Lane::Interactive, on_type_formatting_route},
    {Method::Definition, Lane::Interactive, definition_route},
    {Method::Declaration, Lane::Interactive, declaration_route},
    {Method::TypeDefinition, Lane::Settled, type_definition_route},
    {Method::Implementation, Lane::Settled, implementation_route},
    {Method::References, Lane::Interactive, references_route},
    {Method::DocumentHighlight, Lane::Interactive, document_highlight},
    {Method::PrepareRename, Lane::Interactive, prepare_rename},
    {Method::WillRenameFiles, Lane::Interactive, will_rename_files},
    {Method::Rename, Lane::Interactive, rename_route},
    {Method::SemanticTokensFull, Lane::Interactive, semantic_tokens_full},
    {Method::SemanticTokensDelta, Lane::Interactive, semantic_tokens_delta},
    {Method::SemanticTokensRange, Lane::Interactive, semantic_tokens_range},
    {Method::InlayHint, Lane::Settled, inlay_hint},
    {Method::Completion, Lane::Interactive, completion_route},
    {Method::CompletionResolve, Lane::Interactive, completion_resolve},
    {Method::SignatureHelp, Lane::Interactive, signature_route},
    {Method::CodeLens, Lane::Settled, code_lens},
    {Method::View, Lane::Settled, view_route},
    {Method::Loops, Lane::Settled, loops_route},
    {Method::Moves, Lane::Settled, moves_route},
    {Method::ViewMoves, Lane::Settled, view_moves_route},
    {Method::ViewHover, Lane::Settled, view_hover_route},
    {Method::TextDocumentContent, Lane::Interactive, text_document_content},
    {Method::ExecuteCommand, Lane::Interactive, execute_command},
};

}  // namespace

auto hash_of_declarations(const Snapshot& snapshot, const std::string& function, const std::string& schedule) -> uint64_t {
  uint64_t hash = 1;
  bool is_top_level = std::any_of(snapshot.programs().begin(), snapshot.programs().end(), [&](const workspace::Program& one) { return one.name.view() == function; });
  for (const syntax::PlacedItem& placed : snapshot.syntax().items()) {
    // Programs of a module, and what schedules call, are in declarations of other names: all but other programs and schedules count.
    std::string_view name = placed.item->name.view();
    bool is_other = false;
    for (const script::FileSchedule& one : snapshot.schedules()) { is_other = is_other || (one.decl == placed.item->decl && one.name.view() != schedule); }
    for (const workspace::Program& one : snapshot.programs()) { is_other = is_other || (is_top_level && one.decl == placed.item->decl && name != function); }
    if (!is_other) { hash = hash_combine(hash, placed.item->hash); }
  }
  return hash;
}

auto shows_views(const Json& capabilities) -> bool {
  return member(member(capabilities, "workspace"), "textDocumentContent").is_object() || bool_in(member(capabilities, "experimental"), "loopsmithViews");
}

auto lane_of(const Route& route, const Json& params) -> Lane { return view_meant(params) ? Lane::Settled : route.lane; }

auto find_route(Method method) -> const Route* {
  const auto* found = std::find_if(std::begin(routes), std::end(routes), [&](const Route& route) { return route.method == method; });
  return found == std::end(routes) ? nullptr : found;
}

auto shows_progress(const Json& capabilities) -> bool { return bool_in(member(capabilities, "experimental"), "loopsmithReplayProgress"); }

auto progress_message(const Snapshot& snapshot, Encoding encoding, const std::vector<ReplayMark>& marks) -> Json {
  constexpr const char* states[] = {"stale", "running", "failed"};
  Json list = Json::array();
  for (const ReplayMark& mark : marks) {
    list.push_back({{"range", to_json(to_range(snapshot.text(), snapshot.lines(), mark.span, encoding))}, {"state", states[static_cast<size_t>(mark.state)]}});
  }
  return notification("loopsmith/replayProgress", {{"uri", snapshot.name()}, {"version", snapshot.version()}, {"marks", std::move(list)}});
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

auto diagnostics_message(const Snapshot& snapshot, Encoding encoding, const std::string& manual, bool views) -> Json {
  return notification("textDocument/publishDiagnostics",
                      {{"uri", snapshot.name()}, {"version", snapshot.version()}, {"diagnostics", diagnostics_of(snapshot, encoding, manual, views)}});
}

}  // namespace loopsmith::lsp
