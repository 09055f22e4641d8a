// From a name to other places: definitions, references, renames, calls.
#include "lsp/worker/routes/all.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "lsp/features/cross_file_names.h"
#include "lsp/features/callers.h"
#include "lsp/features/counterparts.h"
#include "lsp/features/moved_files.h"
#include "lsp/features/names.h"
#include "lsp/features/operands.h"
#include "lsp/features/view_origins.h"
#include "lsp/features/views.h"
#include "lsp/protocol/uri.h"
#include "lsp/worker/conversions.h"
#include "lsp/worker/pieces.h"

namespace loopsmith::lsp {
namespace {

using workspace::Snapshot;

/// From a view: first the place in the program, then the statements of the schedule that made the line.
auto definition_in_view(const RouteContext& context, const ViewAddress& view, const Json& params) -> RouteResult {
  auto at = position_from(member(params, "position"));
  if (!at) { return bad_params("`position` is missing"); }
  Json places = Json::array();
  for (Span span : origins_in_view(*context.snapshot, view.fragment, static_cast<uint32_t>(at->line), static_cast<uint32_t>(at->character))) { places.push_back(location_json(context, span)); }
  return places.empty() ? Json() : places;
}

auto counterpart_locations(const RouteContext& context, const Counterpart& found) -> Json {
  LineIndex lines(found.text);
  Json places = Json::array();
  for (Span span : found.spans) { places.push_back({{"uri", found.address}, {"range", to_json(to_range(found.text, lines, span, context.encoding))}}); }
  return places;
}

auto callable_json(const RouteContext& context, const Callable& callable) -> Json {
  RouteContext there = in_file(context, *callable.file);
  return {{"name", callable.name}, {"kind", symbol_kind(callable.kind)}, {"uri", callable.file->name()}, {"range", range_of(there, callable.span)},
          {"selectionRange", range_of(there, callable.name_span)}};
}

/// `direction`: "from" for callers, "to" for callees.
auto calls_route(const RouteContext& context, const Json& params, const char* direction) -> RouteResult {
  const Json& item = member(params, "item");
  auto range = range_from(member(item, "selectionRange"));
  if (!range) { return bad_params("`item` has no `selectionRange`"); }
  WorkspaceFiles files = files_of(context);
  // The item may be in a file that is not open.
  const Snapshot* snapshot = context.find(string_in(item, "uri"));
  if (snapshot == nullptr) { snapshot = files.read(path_of(string_in(item, "uri"))); }
  if (snapshot == nullptr) { return Json(); }
  bool is_incoming = direction == std::string_view("from");
  uint32_t name = to_offset(snapshot->text(), snapshot->lines(), range->start, context.encoding);
  Json found = Json::array();
  for (const Calling& calling : is_incoming ? callers_of(files, *snapshot, name, context.cancel) : callees_of(files, *snapshot, name)) {
    // The places are in the file of the caller.
    RouteContext there = in_file(context, is_incoming ? *calling.other.file : *snapshot);
    Json places = Json::array();
    for (Span place : calling.places) { places.push_back(range_of(there, place)); }
    found.push_back({{direction, callable_json(context, calling.other)}, {"fromRanges", std::move(places)}});
  }
  if (context.cancel.is_cancelled()) { return cancelled(); }
  return found;
}

/// The calls that work on the loop or block with the name at an offset, under any name. Empty: it is another kind of name.
auto calls_on_binding(const Snapshot& snapshot, uint32_t at) -> std::vector<Span> {
  NameTable names = names_of(snapshot);
  const Occurrence* here = names.at(at);
  EntityKind kind = here != nullptr ? names.entities[here->entity].kind : EntityKind::Namespace;
  if (kind != EntityKind::Loop && kind != EntityKind::Block) { return {}; }
  for (const Occurrence& bound : names.occurrences) {
    if (bound.entity == here->entity && bound.role == Role::Bind) { return calls_on(snapshot, bound.span); }
  }
  return {};
}

}  // namespace

auto definition_route(const RouteContext& context, const Json& params) -> RouteResult {
  if (auto view = view_meant(params)) { return definition_in_view(context, *view, params); }
  auto at = offset_in(context, params);
  if (!at) { return bad_params("`position` is missing"); }
  WorkspaceFiles files = files_of(context);
  auto place = definition(files, *context.snapshot, *at);
  return place ? location_json(in_file(context, *place->file), place->span) : Json();
}

/// For a name that another file binds: the import statement in this file.
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
  std::vector<Span> spans = calls_on_binding(own, *at);
  Pieces places(context, params);
  WorkDone work(context, params, "Looking for references");
  // First the places in this file, in the order of its text.
  auto add_own = [&] {
    std::sort(spans.begin(), spans.end(), [](Span a, Span b) { return std::pair(a.begin, a.end) < std::pair(b.begin, b.end); });
    for (Span span : spans) { places.add(location_json(context, span)); }
    places.cut();
    spans.clear();
  };
  bool is_first = true;
  WorkspaceFiles files = files_of(context);
  files.watch([&](size_t done, size_t all, const std::string& path) { work.report(done, all, path); });
  references(files, own, *at, context.cancel, [&](const std::vector<PlaceInFile>& there) {
    const Snapshot& file = *there.front().file;
    std::vector<Span> wanted;
    for (const PlaceInFile& place : there) {
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
  if (context.cancel.is_cancelled()) { return cancelled(); }
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
  // A place without a name of the text, such as `split` in `sch.split(i)`, highlights the operands of its statement.
  if (places.empty()) {
    for (Span span : operands_at(*context.snapshot, *at)) { places.push_back({{"range", range_of(context, span)}, {"kind", 3}}); }
  }
  return places;
}

auto prepare_rename(const RouteContext& context, const Json& params) -> RouteResult {
  auto at = offset_in(context, params);
  if (!at) { return bad_params("`position` is missing"); }
  WorkspaceFiles files = files_of(context);
  auto span = renameable(files, *context.snapshot, *at);
  if (!span) { return Json(); }
  return Json{{"range", range_of(context, *span)}, {"placeholder", context.snapshot->text().substr(span->begin, span->end - span->begin)}};
}

/// Edits the imports of files that are about to be renamed or moved.
auto will_rename_files(const RouteContext& context, const Json& params) -> RouteResult {
  std::vector<MovedFile> moved;
  for (const Json& one : member(params, "files")) {
    MovedFile file{path_of(string_in(one, "oldUri")), path_of(string_in(one, "newUri"))};
    if (!file.from.empty() && !file.to.empty()) { moved.push_back(std::move(file)); }
  }
  WorkspaceFiles files = files_of(context);
  std::vector<std::pair<const Snapshot*, Json>> edits;
  for (const EditedFile& one : imports_after_moves(files, moved, context.cancel)) {
    RouteContext there = in_file(context, *one.file);
    Json list = Json::array();
    for (const TextEdit& edit : one.edits) { list.push_back({{"range", range_of(there, edit.span)}, {"newText", edit.text}}); }
    edits.emplace_back(one.file, std::move(list));
  }
  if (context.cancel.is_cancelled()) { return cancelled(); }
  return edits.empty() ? Json() : workspace_edit(context, files, std::move(edits));
}

auto rename_route(const RouteContext& context, const Json& params) -> RouteResult {
  auto at = offset_in(context, params);
  if (!at) { return bad_params("`position` is missing"); }
  std::string name = string_in(params, "newName");
  WorkDone work(context, params, "Looking for places to rename");
  WorkspaceFiles files = files_of(context);
  files.watch([&](size_t done, size_t all, const std::string& path) { work.report(done, all, path); });
  RenameInFiles result = rename(files, *context.snapshot, *at, name, context.cancel);
  if (context.cancel.is_cancelled()) { return cancelled(); }
  if (!result.problem.empty()) { return failed(result.problem); }
  // Files in the order of their places.
  std::vector<std::pair<const Snapshot*, Json>> edits;
  const Json& supported = member(member(context.capabilities, "workspace"), "workspaceEdit");
  bool are_versioned = bool_in(supported, "documentChanges");
  // When a block is renamed, strings in other files may change unseen.
  bool can_ask = are_versioned && !member(supported, "changeAnnotationSupport").is_null();
  constexpr const char* annotation = "strings elsewhere";
  bool asks = false;
  if (result.places.empty()) { edits.emplace_back(context.snapshot, Json::array()); }
  for (const PlaceInFile& place : result.places) {
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

auto prepare_call_hierarchy(const RouteContext& context, const Json& params) -> RouteResult {
  auto at = position_from(member(params, "position"));
  if (!at) { return bad_params("`position` is missing"); }
  WorkspaceFiles files = files_of(context);
  auto callable = callable_at(files, *context.snapshot, to_offset(context.snapshot->text(), context.snapshot->lines(), *at, context.encoding));
  return callable ? Json::array({callable_json(context, *callable)}) : Json();
}

auto incoming_calls(const RouteContext& context, const Json& params) -> RouteResult { return calls_route(context, params, "from"); }
auto outgoing_calls(const RouteContext& context, const Json& params) -> RouteResult { return calls_route(context, params, "to"); }

}  // namespace loopsmith::lsp
