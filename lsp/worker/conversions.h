// Conversions between plain structs of the features and JSON of the protocol, for the routes.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lsp/features/commands.h"
#include "lsp/features/hover.h"
#include "lsp/features/lines.h"
#include "lsp/features/measured.h"
#include "lsp/features/symbols.h"
#include "lsp/worker/files.h"
#include "lsp/worker/routes.h"

namespace loopsmith::lsp {

/// The context of the same request for another file.
[[nodiscard]] auto in_file(const RouteContext& context, const workspace::Snapshot& file) -> RouteContext;
[[nodiscard]] auto measured_of(const RouteContext& context) -> Measured;
/// The files of the workspace, as this request reads them.
[[nodiscard]] auto files_of(const RouteContext& context) -> WorkspaceFiles;

[[nodiscard]] auto bad_params(std::string message) -> RouteError;
[[nodiscard]] auto failed(std::string message) -> RouteError;
[[nodiscard]] auto cancelled() -> RouteError;

// From JSON.
/// The byte at `position`; none: it is missing.
[[nodiscard]] auto offset_in(const RouteContext& context, const Json& params) -> std::optional<uint32_t>;
/// The bytes in `range`; the whole text if it is missing.
[[nodiscard]] auto span_in(const RouteContext& context, const Json& params) -> Span;

// To JSON.
[[nodiscard]] auto range_of(const RouteContext& context, Span span) -> Json;
[[nodiscard]] auto location_json(const RouteContext& context, Span span) -> Json;
[[nodiscard]] auto symbol_kind(SymbolKind kind) -> int;
[[nodiscard]] auto symbol_json(const RouteContext& context, const Symbol& symbol) -> Json;
/// A `Command` of the protocol; kind None: a title without a command.
[[nodiscard]] auto command_json(const RouteContext& context, const std::string& title, const OfferedCommand& command) -> Json;
/// The facts of a hover as a text.
[[nodiscard]] auto hover_text(const RouteContext& context, const HoverInfo& info, bool markdown) -> std::string;
/// The folder of the pages that texts link to, as a URI that ends with a slash; empty: not found.
[[nodiscard]] auto folder_of_pages(const RouteContext& context) -> std::string;

/// The label of edits, for an editor that shows edits before it makes them.
struct EditLabel {
  std::string text;
  std::string description = {};
  std::string id = "loopsmith";
};
/// A `WorkspaceEdit` of the context's file. Edits have a version if the client supports it, so that they apply to exactly this text or not at all.
[[nodiscard]] auto edit_of(const RouteContext& context, const std::vector<TextEdit>& edits, const EditLabel& label) -> Json;
[[nodiscard]] auto text_edits(const RouteContext& context, const std::vector<TextEdit>& edits) -> Json;
/// Edits of several files; a file that is not open has no version.
[[nodiscard]] auto workspace_edit(const RouteContext& context, const WorkspaceFiles& files, std::vector<std::pair<const workspace::Snapshot*, Json>> edits) -> Json;

}  // namespace loopsmith::lsp
