// The routes, one function per method, in groups: each reads its parameters from JSON, calls a feature, and writes plain structs as JSON.
#pragma once

#include "lsp/features/completion.h"
#include "lsp/protocol/uri.h"
#include "lsp/worker/routes.h"

namespace loopsmith::lsp {

// diagnostics.cpp
auto diagnostic_route(const RouteContext& context, const Json& params) -> RouteResult;
auto workspace_diagnostic(const RouteContext& context, const Json& params) -> RouteResult;

// outline.cpp
auto workspace_symbol(const RouteContext& context, const Json& params) -> RouteResult;
auto document_symbol(const RouteContext& context, const Json& params) -> RouteResult;
auto folding_range(const RouteContext& context, const Json& params) -> RouteResult;
auto selection_range(const RouteContext& context, const Json& params) -> RouteResult;
auto document_link(const RouteContext& context, const Json& params) -> RouteResult;
auto formatting_route(const RouteContext& context, const Json& params) -> RouteResult;
auto range_formatting_route(const RouteContext& context, const Json& params) -> RouteResult;
auto ranges_formatting_route(const RouteContext& context, const Json& params) -> RouteResult;
auto on_type_formatting_route(const RouteContext& context, const Json& params) -> RouteResult;

// navigation.cpp
auto definition_route(const RouteContext& context, const Json& params) -> RouteResult;
auto declaration_route(const RouteContext& context, const Json& params) -> RouteResult;
auto type_definition_route(const RouteContext& context, const Json& params) -> RouteResult;
auto implementation_route(const RouteContext& context, const Json& params) -> RouteResult;
auto references_route(const RouteContext& context, const Json& params) -> RouteResult;
auto document_highlight(const RouteContext& context, const Json& params) -> RouteResult;
auto prepare_rename(const RouteContext& context, const Json& params) -> RouteResult;
auto rename_route(const RouteContext& context, const Json& params) -> RouteResult;
auto will_rename_files(const RouteContext& context, const Json& params) -> RouteResult;
auto prepare_call_hierarchy(const RouteContext& context, const Json& params) -> RouteResult;
auto incoming_calls(const RouteContext& context, const Json& params) -> RouteResult;
auto outgoing_calls(const RouteContext& context, const Json& params) -> RouteResult;

// tokens.cpp
auto semantic_tokens_full(const RouteContext& context, const Json& params) -> RouteResult;
auto semantic_tokens_delta(const RouteContext& context, const Json& params) -> RouteResult;
auto semantic_tokens_range(const RouteContext& context, const Json& params) -> RouteResult;

// assistance.cpp
auto hover_route(const RouteContext& context, const Json& params) -> RouteResult;
auto inlay_hint(const RouteContext& context, const Json& params) -> RouteResult;
auto completion_route(const RouteContext& context, const Json& params) -> RouteResult;
auto completion_resolve(const RouteContext& context, const Json& params) -> RouteResult;
auto signature_route(const RouteContext& context, const Json& params) -> RouteResult;

// views.cpp
auto view_route(const RouteContext& context, const Json& params) -> RouteResult;
auto loops_route(const RouteContext& context, const Json& params) -> RouteResult;
auto moves_route(const RouteContext& context, const Json& params) -> RouteResult;
auto view_moves_route(const RouteContext& context, const Json& params) -> RouteResult;
auto view_hover_route(const RouteContext& context, const Json& params) -> RouteResult;
auto text_document_content(const RouteContext& context, const Json& params) -> RouteResult;

// actions.cpp
auto code_action(const RouteContext& context, const Json& params) -> RouteResult;
auto code_action_resolve(const RouteContext& context, const Json& params) -> RouteResult;
auto code_lens(const RouteContext& context, const Json& params) -> RouteResult;

// commands.cpp
auto execute_command(const RouteContext& context, const Json& params) -> RouteResult;

// process.cpp
auto memory_route(const RouteContext& context, const Json& params) -> RouteResult;
auto wait_for_state(const RouteContext& context, const Json& params) -> RouteResult;

/// The view that a request is about, by the address of its document; none: the document is a text.
[[nodiscard]] auto view_meant(const Json& params) -> std::optional<ViewAddress>;

/// The time that one answer may spend on the legality of calls; the next request continues from there.
[[nodiscard]] auto patience_of(const RouteContext& context) -> Patience;

/// Follows the name of a program in the address of the document with its records.
inline constexpr std::string_view records_suffix = ":records";

}  // namespace loopsmith::lsp
