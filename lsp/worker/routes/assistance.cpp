// Help while the user types or points: hovers, inlay hints, completion, signatures.
#include "lsp/worker/routes/all.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "lsp/features/completion.h"
#include "lsp/features/hints.h"
#include "lsp/features/hover_measured.h"
#include "lsp/features/imports.h"
#include "lsp/worker/conversions.h"

namespace loopsmith::lsp {
namespace {

using workspace::Snapshot;

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

}  // namespace

auto patience_of(const RouteContext& context) -> Patience {
  // Tests compare whole answers, also on slow machines.
  static const bool is_endless = std::getenv("LOOPSMITH_TEST_PATIENCE") != nullptr;
  return {context.cancel, is_endless ? never() : in(std::chrono::milliseconds(40)), context.judged};
}

auto hover_route(const RouteContext& context, const Json& params) -> RouteResult {
  auto at = position_from(member(params, "position"));
  if (!at) { return bad_params("`position` is missing"); }
  const Snapshot& snapshot = *context.snapshot;
  uint32_t offset = to_offset(snapshot.text(), snapshot.lines(), *at, context.encoding);
  auto info = hover(snapshot, offset, context.machine);
  if (!info) {
    WorkspaceFiles files = files_of(context);
    info = imported_hover(files, snapshot, offset, context.machine);
  }
  if (!info) { return Json(); }
  add_recorded_draws(measured_of(context), *info);
  add_measurements(snapshot, measured_of(context), *info);
  const Json& formats = member(member(member(context.capabilities, "textDocument"), "hover"), "contentFormat");
  bool markdown = !formats.is_array() || std::find(formats.begin(), formats.end(), "markdown") != formats.end();
  return Json{{"contents", {{"kind", markdown ? "markdown" : "plaintext"}, {"value", hover_text(context, *info, markdown)}}},
              {"range", range_of(context, info->span)}};
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

auto completion_route(const RouteContext& context, const Json& params) -> RouteResult {
  auto at = offset_in(context, params);
  if (!at) { return bad_params("`position` is missing"); }
  std::optional<WorkspaceFiles> files;
  auto all_files = [&]() -> Files& { return files.emplace(context.documents, context.folders, context.cancel, context.too_large_until); };
  auto of_imports = import_completion(all_files, *context.snapshot, *at);
  Completion found = of_imports ? std::move(*of_imports) : completion(*context.snapshot, *at, patience_of(context));
  if (context.cancel.is_cancelled()) { return cancelled(); }
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

/// Adds the effect of a completion item. An item for an earlier text is returned unchanged.
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

}  // namespace loopsmith::lsp
