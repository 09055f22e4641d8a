// Plain structs to JSON and back: see conversions.h.
#include "lsp/worker/conversions.h"

#include <fmt/format.h>

namespace loopsmith::lsp {
namespace {

using workspace::Snapshot;

auto command_name(CommandKind kind) -> std::string_view {
  switch (kind) {
    case CommandKind::None: break;
    case CommandKind::Tune: return tune_command;
    case CommandKind::StopTune: return stop_tune_command;
    case CommandKind::PauseTune: return pause_tune_command;
    case CommandKind::ResumeTune: return resume_tune_command;
    case CommandKind::InsertSchedule: return insert_schedule_command;
    case CommandKind::Bench: return bench_command;
    case CommandKind::Verify: return verify_command;
    case CommandKind::Run: return run_command;
    case CommandKind::Interpret: return interpret_command;
    case CommandKind::ChooseSizes: return sizes_command;
    case CommandKind::ApplySchedule: return apply_schedule_command;
    case CommandKind::Split: return split_command;
    case CommandKind::ShowView: return show_view_command;
    case CommandKind::ShowDifference: return show_difference_command;
    case CommandKind::ShowHistory: return show_history_command;
    case CommandKind::ShowComparison: return show_comparison_command;
  }
  return {};
}

auto argument_of(const RouteContext& context, const OfferedCommand& command) -> Json {
  Json argument = Json::object();
  auto add = [&](const char* name, const std::string& text) {
    if (!text.empty()) { argument[name] = text; }
  };
  add("replace", command.replaced);
  if (command.job) {
    argument["job"] = *command.job;
    return argument;
  }
  if (command.kind == CommandKind::ShowDifference) { return {{"from", command.from}, {"to", command.to}, {"title", command.title}}; }
  const Snapshot& snapshot = *context.snapshot;
  argument["uri"] = snapshot.name();
  if (command.at) { argument["position"] = range_of(context, {*command.at, *command.at})["start"]; }
  if (command.kind == CommandKind::Split) { argument.update({{"version", snapshot.version()}, {"loop", command.loop}, {"extent", command.extent}, {"proposed", command.factors}}); }
  // The program of a hole may be unknown, but the search needs the member.
  if (command.kind == CommandKind::Tune) { argument["function"] = command.function; } else { add("function", command.function); }
  add("schedule", command.schedule);
  add("other", command.other);
  add("block", command.block);
  if (!command.sizes.empty()) { argument["sizes"] = command.sizes; }
  if (command.kind == CommandKind::ChooseSizes) { argument["again"] = true; }
  if (command.is_recorded) { argument["recorded"] = true; }
  if (command.seconds > 0) { argument["seconds"] = command.seconds; }
  if (command.trials > 0) { argument["trials"] = command.trials; }
  return argument;
}

}  // namespace

auto in_file(const RouteContext& context, const Snapshot& file) -> RouteContext {
  RouteContext there = context;
  there.snapshot = &file;
  return there;
}

auto measured_of(const RouteContext& context) -> Measured { return {context.jobs, context.recorded}; }

auto files_of(const RouteContext& context) -> WorkspaceFiles { return {context.documents, context.folders, context.cancel, context.too_large_until}; }

auto bad_params(std::string message) -> RouteError { return {ErrorCode::InvalidParams, std::move(message)}; }
auto failed(std::string message) -> RouteError { return {ErrorCode::RequestFailed, std::move(message)}; }
auto cancelled() -> RouteError { return {ErrorCode::RequestCancelled, "cancelled"}; }

auto offset_in(const RouteContext& context, const Json& params) -> std::optional<uint32_t> {
  auto at = position_from(member(params, "position"));
  if (!at) { return std::nullopt; }
  return to_offset(context.snapshot->text(), context.snapshot->lines(), *at, context.encoding);
}

auto span_in(const RouteContext& context, const Json& params) -> Span {
  const Snapshot& snapshot = *context.snapshot;
  auto range = range_from(member(params, "range"));
  return range ? to_span(snapshot.text(), snapshot.lines(), *range, context.encoding) : Span{0, static_cast<uint32_t>(snapshot.text().size())};
}

auto range_of(const RouteContext& context, Span span) -> Json {
  return to_json(to_range(context.snapshot->text(), context.snapshot->lines(), span, context.encoding));
}

auto location_json(const RouteContext& context, Span span) -> Json { return {{"uri", context.snapshot->name()}, {"range", range_of(context, span)}}; }

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
    case SymbolKind::Job: return 24;
    case SymbolKind::Record: return 16;
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

auto command_json(const RouteContext& context, const std::string& title, const OfferedCommand& command) -> Json {
  Json json = {{"title", title}, {"command", command_name(command.kind)}};
  if (command.kind != CommandKind::None) { json["arguments"] = Json::array({argument_of(context, command)}); }
  return json;
}

auto hover_text(const RouteContext& context, const HoverInfo& info, bool markdown) -> std::string {
  std::string text = markdown ? "**" + info.title + "**\n" : info.title + "\n";
  for (const Fact& fact : info.facts) { text += (markdown ? "\n- " : "\n") + fact.text; }
  if (std::string folder = folder_of_pages(context); markdown && !info.primitive.empty() && !folder.empty()) { text += fmt::format("\n\n[reference]({}primitives.md#{})", folder, info.primitive); }
  if (!markdown) { std::erase(text, '`'); }
  return text;
}

auto folder_of_pages(const RouteContext& context) -> std::string { return context.links.substr(0, context.links.rfind('/') + 1); }

auto edit_of(const RouteContext& context, const std::vector<TextEdit>& edits, const EditLabel& label) -> Json {
  const Json& supported = member(member(context.capabilities, "workspace"), "workspaceEdit");
  bool are_versioned = bool_in(supported, "documentChanges");
  bool are_annotated = are_versioned && !member(supported, "changeAnnotationSupport").is_null();
  Json list = text_edits(context, edits);
  const std::string& uri = context.snapshot->name();
  if (!are_versioned) { return {{"changes", {{uri, std::move(list)}}}}; }
  Json annotation = {{"label", label.text}};
  if (!label.description.empty()) { annotation["description"] = label.description; }
  for (Json& edit : list) {
    if (are_annotated) { edit["annotationId"] = label.id; }
  }
  Json whole = {{"documentChanges", Json::array({{{"textDocument", {{"uri", uri}, {"version", context.snapshot->version()}}}, {"edits", std::move(list)}}})}};
  if (are_annotated) { whole["changeAnnotations"] = {{label.id, std::move(annotation)}}; }
  return whole;
}

auto text_edits(const RouteContext& context, const std::vector<TextEdit>& edits) -> Json {
  Json list = Json::array();
  for (const TextEdit& edit : edits) { list.push_back({{"range", range_of(context, edit.span)}, {"newText", edit.text}}); }
  return list;
}

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

}  // namespace loopsmith::lsp
