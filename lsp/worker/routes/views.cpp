// Views: the program after a statement or after lowering, its loops as a tree, and primitives applied from a view.
#include "lsp/worker/routes/all.h"

#include "lsp/features/loop_view.h"
#include "lsp/features/moves.h"
#include "lsp/features/view_keys.h"
#include "lsp/features/views.h"
#include "lsp/worker/conversions.h"
#include "lsp/worker/records.h"

namespace loopsmith::lsp {
namespace {

using workspace::Snapshot;

auto view_json(const RouteContext& context, const View& view) -> Json {
  Json changed = Json::array();
  for (auto [begin, end] : view.changed) { changed.push_back({{"startLine", begin}, {"endLine", end}}); }
  Json json = {{"uri", view.address}, {"title", view.title}, {"text", view.text}, {"changed", std::move(changed)}, {"isBehind", view.is_behind}};
  // Pairs: a line of the view, and its line in the text.
  Json sources = Json::array();
  for (const auto& [line, span] : view.sources) { sources.push_back({line, context.snapshot->lines().line_of(span.begin)}); }
  json["sources"] = std::move(sources);
  // Pairs: a line of the view, and the line of the statement of the schedule that made it.
  Json steps = Json::array();
  for (const auto& [line, span] : view.steps) { steps.push_back({line, context.snapshot->lines().line_of(span.begin)}); }
  json["steps"] = std::move(steps);
  return json;
}

/// The place `at` {line, character} in a view; views are ASCII, so characters are bytes. None: the parameter is missing.
auto place_in_view(const Json& params) -> std::optional<Position> { return position_from(member(params, "at")); }

auto view_span_json(const ViewSpan& span) -> Json {
  return {{"start", {{"line", span.line}, {"character", span.begin}}}, {"end", {{"line", span.line}, {"character", span.end}}}};
}

/// Null if the move is refused.
auto move_edit(const RouteContext& context, const OfferedMove& move) -> Json {
  return move.why_not.empty() ? edit_of(context, edits_of(move), {title_of(move)}) : Json();
}

}  // namespace

/// `loopsmith/ir` {textDocument, position, stage?}: the program at a place, or its lowered form, with the address of the view.
auto view_route(const RouteContext& context, const Json& params) -> RouteResult {
  auto at = offset_in(context, params);
  if (!at) { return bad_params("`position` is missing"); }
  auto stage = stage_named(string_in(params, "stage"));
  if (!stage) { return bad_params("`stage` is `lowered`, `llvm`, `asm`, `device`, `cuda`, `opencl` or `ptx`"); }
  auto view = view_at(*context.snapshot, *at, *stage);
  return view ? view_json(context, *view) : Json();
}

/// `loopsmith/loops` {textDocument, position}: the loops and blocks of the program at a place, in the order of the text.
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

/// `loopsmith/moves` {textDocument, position, place}: the primitives that apply to a loop or block of `loopsmith/loops`.
auto moves_route(const RouteContext& context, const Json& params) -> RouteResult {
  auto at = offset_in(context, params);
  auto place = int_in(params, "place");
  if (!at || !place || *place < 0) { return bad_params("`position` or `place` is missing"); }
  Json moves = Json::array();
  for (OfferedMove& move : moves_offered_on(*context.snapshot, *at, static_cast<size_t>(*place))) {
    note_broken_step(*context.snapshot, move);
    Json one = {{"title", title_of(move)}, {"statement", move.text}};
    if (move.why_not.empty()) { one["edit"] = move_edit(context, move); } else { one["reason"] = move.why_not; }
    moves.push_back(std::move(one));
  }
  return moves;
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
    auto asked = parse_factors(text);
    if (!asked) { return bad_params("`factors` is a list of numbers, of which one may be None: \"None, 32\""); }
    factors = std::move(*asked);
  }
  ViewMoves found = moves_in_view(*context.snapshot, *at, static_cast<uint32_t>(place->line), static_cast<uint32_t>(place->character), primitive, factors);
  Json moves = Json::array();
  for (ViewMove& one : found.moves) {
    note_broken_step(*context.snapshot, one.move);
    Json json = {{"title", title_of(one.move)}, {"statement", one.move.text}};
    if (one.move.why_not.empty()) { json["edit"] = move_edit(context, one.move); } else { json["reason"] = one.move.why_not; }
    if (one.other) { json["other"] = view_span_json(*one.other); }
    moves.push_back(std::move(json));
  }
  Json answer = {{"about", found.about}, {"moves", std::move(moves)}};
  if (!found.why_none.empty()) { answer["reason"] = found.why_none; }
  if (!found.factors.empty()) { answer["factors"] = found.factors; }
  return answer;
}

/// `loopsmith/viewHover` {textDocument, position, at}: `textDocument/hover` for a place in the view of `position`.
auto view_hover_route(const RouteContext& context, const Json& params) -> RouteResult {
  auto at = offset_in(context, params);
  auto place = place_in_view(params);
  if (!at || !place) { return bad_params("`position` or `at` is missing"); }
  auto found = hover_in_view(*context.snapshot, *at, static_cast<uint32_t>(place->line), static_cast<uint32_t>(place->character), context.machine);
  if (!found) { return Json(); }
  return Json{{"contents", {{"kind", "markdown"}, {"value", hover_text(context, found->info, true)}}}, {"range", view_span_json(found->span)}};
}

/// LSP 3.18: the content of a `loopsmith-ir:` document.
auto text_document_content(const RouteContext& context, const Json& params) -> RouteResult {
  std::string uri = string_in(params, "uri");
  auto address = parse_view(uri);
  if (!address) { return bad_params("only `loopsmith-ir:` documents are ours"); }
  const auto& [path, fragment] = *address;
  const Snapshot* snapshot = context.find("file://" + path);
  if (snapshot == nullptr) { snapshot = context.find(path); }
  if (snapshot == nullptr) { return failed("the text of this view is not open"); }
  if (fragment.ends_with(records_suffix) && context.records != nullptr) {
    std::string text = records_text(*snapshot, fragment.substr(0, fragment.size() - records_suffix.size()), *context.records);
    if (!text.empty()) { return Json{{"text", text}}; }
  }
  auto view = view_of(*snapshot, fragment);
  if (!view) { return failed("there is no such schedule in the text"); }
  if (context.served) { context.served(*snapshot, uri); }
  return Json{{"text", view->text}};
}

}  // namespace loopsmith::lsp
