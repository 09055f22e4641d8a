// Code actions and lenses as JSON.
#include "lsp/worker/routes/all.h"

#include <fmt/format.h>

#include <algorithm>

#include "lsp/features/actions.h"
#include "lsp/features/lenses.h"
#include "lsp/worker/conversions.h"

namespace loopsmith::lsp {
namespace {

using workspace::Snapshot;

auto kind_name(ActionKind kind) -> std::string_view {
  switch (kind) {
    case ActionKind::QuickFix: return "quickfix";
    case ActionKind::Rewrite: return "refactor.rewrite";
    case ActionKind::Extract: return "refactor.extract";
    case ActionKind::Inline: return "refactor.inline";
  }
  return {};
}

/// A client that requests `refactor` gets every kind below it.
auto wants_kind(const Json& only, std::string_view kind) -> bool {
  if (!only.is_array()) { return true; }
  return std::any_of(only.begin(), only.end(), [&](const Json& entry) {
    if (!entry.is_string()) { return false; }
    auto wanted = entry.get<std::string>();
    return kind == wanted || (kind.substr(0, wanted.size()) == wanted && kind.substr(wanted.size()).starts_with("."));
  });
}

/// The client's own diagnostics for a finding, so that the client can match the action with its diagnostic.
auto diagnostics_for(const RouteContext& context, const workspace::Finding& finding, const Json& asked) -> Json {
  Json found = Json::array();
  if (!asked.is_array()) { return found; }
  Json where = range_of(context, finding.span);
  for (const Json& one : asked) {
    if (member(one, "range") == where && string_in(one, "code") == code_id(finding.code)) { found.push_back(one); }
  }
  return found;
}

auto action_json(const RouteContext& context, const CodeAction& action, uint32_t at) -> Json {
  Json json = {{"title", action.title}, {"kind", kind_name(action.kind)}};
  if (action.is_preferred) { json["isPreferred"] = true; }
  if (!action.why_disabled.empty()) {
    json["disabled"] = {{"reason", action.why_disabled}};
  } else if (action.command.kind != CommandKind::None) {
    json["command"] = command_json(context, action.title, action.command);
  } else if (!action.rewrite.empty()) {
    json["data"] = {{"uri", context.snapshot->name()}, {"version", context.snapshot->version()}, {"at", at}, {"rewrite", action.rewrite}};
  } else {
    json["edit"] = edit_of(context, action.edits, {action.label.empty() ? action.title : action.label});
  }
  return json;
}

}  // namespace

auto code_action(const RouteContext& context, const Json& params) -> RouteResult {
  const Snapshot& snapshot = *context.snapshot;
  auto range = range_from(member(params, "range"));
  if (!range) { return bad_params("`range` is missing"); }
  const Json& only = member(member(params, "context"), "only");
  const Json& asked = member(member(params, "context"), "diagnostics");
  const Json& supported = member(member(context.capabilities, "textDocument"), "codeAction");
  const Json& resolved = member(member(supported, "resolveSupport"), "properties");
  ActionRequest request{.span = to_span(snapshot.text(), snapshot.lines(), *range, context.encoding)};
  std::erase_if(request.kinds, [&](ActionKind kind) { return !wants_kind(only, kind_name(kind)); });
  request.is_narrowed = only.is_array() && !only.empty();
  request.shows_disabled = bool_in(supported, "disabledSupport");
  request.can_resolve = resolved.is_array() && std::find(resolved.begin(), resolved.end(), "edit") != resolved.end();
  request.asks_forms = asks_forms(context.capabilities);
  request.until = patience_of(context).until;
  request.cancel = context.cancel;
  std::map<size_t, Json> diagnostics;
  const std::vector<workspace::Finding> findings = snapshot.findings();
  for (size_t i = 0; i < findings.size(); ++i) {
    Json about = diagnostics_for(context, findings[i], asked);
    if (about.empty()) { continue; }
    request.findings.insert(i);
    diagnostics.emplace(i, std::move(about));
  }
  Json actions = Json::array();
  for (const CodeAction& action : code_actions(snapshot, measured_of(context), request)) {
    actions.push_back(action_json(context, action, request.span.begin));
    auto about = action.finding ? diagnostics.find(*action.finding) : diagnostics.end();
    if (about != diagnostics.end()) { actions.back()["diagnostics"] = about->second; }
  }
  return actions;
}

/// The action with its edit. An action for an earlier text is returned unchanged.
auto code_action_resolve(const RouteContext& context, const Json& params) -> RouteResult {
  if (!params.is_object()) { return bad_params("a code action is an object"); }
  Json action = params;
  const Json& data = member(params, "data");
  const Snapshot* snapshot = context.find(string_in(data, "uri"));
  auto at = int_in(data, "at");
  if (snapshot == nullptr || !at || *at < 0 || *at > static_cast<int64_t>(snapshot->text().size())) { return action; }
  if (snapshot->version() != int_in(data, "version")) { return RouteError{ErrorCode::ContentModified, "the text changed"}; }
  std::string title = string_in(params, "title");
  auto found = resolve_rewrite(*snapshot, static_cast<uint32_t>(*at), string_in(data, "rewrite"), context.cancel);
  if (!found) { return action; }
  if (context.cancel.is_cancelled()) { return cancelled(); }
  if (!found->why_not.empty()) { return failed(fmt::format("{}: {}", title, found->why_not)); }
  // The label of a migration lists the words whose meaning changed.
  const bool is_migration = string_in(data, "rewrite").starts_with("migrate to ");
  action["edit"] = edit_of(in_file(context, *snapshot), found->edits, {is_migration ? found->title : title});
  return action;
}

auto code_lens(const RouteContext& context, const Json&) -> RouteResult {
  Json lenses = Json::array();
  bool with_views = bool_in(member(context.capabilities, "experimental"), "loopsmithViews");
  for (const Lens& lens : code_lenses(*context.snapshot, measured_of(context), with_views)) {
    lenses.push_back({{"range", range_of(context, lens.span)}, {"command", command_json(context, lens.title, lens.command)}});
  }
  return lenses;
}

}  // namespace loopsmith::lsp
