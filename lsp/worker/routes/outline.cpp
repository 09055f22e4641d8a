// The structure of a text: symbols, folds, selections, links, layout.
#include "lsp/worker/routes/all.h"

#include <algorithm>
#include <tuple>

#include "lsp/features/comment_folds.h"
#include "lsp/features/formatting.h"
#include "lsp/features/links.h"
#include "lsp/features/symbol_search.h"
#include "lsp/features/symbols.h"
#include "lsp/features/views.h"
#include "lsp/worker/conversions.h"
#include "lsp/worker/pieces.h"
#include "lsp/worker/records.h"

namespace loopsmith::lsp {
namespace {

using workspace::Snapshot;

auto format_edits(const RouteContext& context, const std::vector<format::Edit>& edits) -> Json {
  Json out = Json::array();
  for (const format::Edit& edit : edits) { out.push_back({{"range", range_of(context, edit.span)}, {"newText", edit.text}}); }
  return out;
}

}  // namespace

auto workspace_symbol(const RouteContext& context, const Json& params) -> RouteResult {
  std::string query = string_in(params, "query");
  Pieces found(context, params);
  WorkDone work(context, params, "Looking for symbols");
  auto add = [&](const Snapshot& snapshot, const std::vector<FoundSymbol>& symbols) {
    RouteContext there = in_file(context, snapshot);
    for (const FoundSymbol& symbol : symbols) {
      Json json = {{"name", symbol.name}, {"kind", symbol_kind(symbol.kind)}, {"location", location_json(there, symbol.name_span)}};
      if (!symbol.container.empty()) { json["containerName"] = symbol.container; }
      found.add(std::move(json));
    }
  };
  for (const Snapshot* snapshot : context.documents) {
    if (context.cancel.is_cancelled()) { break; }
    add(*snapshot, symbols_found(*snapshot, query));
    found.cut();
  }
  for (const Snapshot* snapshot : context.documents) { add(*snapshot, measured_symbols(*snapshot, measured_of(context), query)); }
  // Files that are not open are searched only for a query with letters: an empty query matches every symbol.
  if (!query.empty() && !context.folders.empty()) {
    WorkspaceFiles files = files_of(context);
    files.watch([&](size_t done, size_t all, const std::string& path) { work.report(done, all, path); });
    files.visit([&](std::string_view text) { return may_have_symbol(text, query); },
                [&](const Snapshot& other) {
                  if (files.is_open(other)) { return; }
                  add(other, symbols_found(other, query));
                  found.cut();
                });
  }
  if (context.cancel.is_cancelled()) { return cancelled(); }
  return found.rest();
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

auto document_link(const RouteContext& context, const Json&) -> RouteResult {
  Json links = Json::array();
  std::string folder = folder_of_pages(context);
  for (const Mention& mention : mentions(*context.snapshot)) {
    Json link = {{"range", range_of(context, mention.span)}};
    switch (mention.of) {
      case Mention::Of::Code:
        if (folder.empty()) { continue; }
        link["target"] = context.links + "#" + mention.name;
        link["tooltip"] = "the meaning of `" + mention.name + "`";
        break;
      case Mention::Of::Primitive:
        if (folder.empty()) { continue; }
        link["target"] = folder + "primitives.md#" + mention.name;
        link["tooltip"] = "effect and requirements of `" + mention.name + "`";
        break;
      case Mention::Of::Records:
        link["target"] = view_address(context.snapshot->name()) + "#" + mention.name + std::string(records_suffix);
        link["tooltip"] = "measurements of searches for `" + mention.name + "` on this machine";
        break;
    }
    links.push_back(std::move(link));
  }
  return links;
}

auto formatting_route(const RouteContext& context, const Json&) -> RouteResult { return format_edits(context, formatting(*context.snapshot)); }

auto range_formatting_route(const RouteContext& context, const Json& params) -> RouteResult {
  auto range = range_from(member(params, "range"));
  if (!range) { return bad_params("`range` is missing"); }
  const Snapshot& snapshot = *context.snapshot;
  return format_edits(context, range_formatting(snapshot, to_span(snapshot.text(), snapshot.lines(), *range, context.encoding)));
}

auto ranges_formatting_route(const RouteContext& context, const Json& params) -> RouteResult {
  const Snapshot& snapshot = *context.snapshot;
  std::vector<format::Edit> edits;
  for (const Json& one : member(params, "ranges")) {
    auto range = range_from(one);
    if (!range) { return bad_params("one of `ranges` is not a range"); }
    for (format::Edit& edit : range_formatting(snapshot, to_span(snapshot.text(), snapshot.lines(), *range, context.encoding))) { edits.push_back(std::move(edit)); }
  }
  // Several ranges in one statement give the same edits.
  std::sort(edits.begin(), edits.end(), [](const format::Edit& a, const format::Edit& b) { return std::tie(a.span.begin, a.span.end) < std::tie(b.span.begin, b.span.end); });
  edits.erase(std::unique(edits.begin(), edits.end(), [](const format::Edit& a, const format::Edit& b) { return a.span == b.span; }), edits.end());
  return format_edits(context, edits);
}

auto on_type_formatting_route(const RouteContext& context, const Json& params) -> RouteResult {
  auto at = position_from(member(params, "position"));
  if (!at) { return bad_params("`position` is missing"); }
  const Snapshot& snapshot = *context.snapshot;
  return format_edits(context, on_type_formatting(snapshot, to_offset(snapshot.text(), snapshot.lines(), *at, context.encoding)));
}

}  // namespace loopsmith::lsp
