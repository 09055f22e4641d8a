// The table of routes: see routes.h.
#include "lsp/worker/routes.h"

#include <algorithm>

#include "lsp/worker/routes/all.h"

namespace loopsmith::lsp {
namespace {

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

auto view_meant(const Json& params) -> std::optional<ViewAddress> { return parse_view(string_in(member(params, "textDocument"), "uri")); }

auto shows_views(const Json& capabilities) -> bool {
  return member(member(capabilities, "workspace"), "textDocumentContent").is_object() || bool_in(member(capabilities, "experimental"), "loopsmithViews");
}

auto lane_of(const Route& route, const Json& params) -> Lane { return view_meant(params) ? Lane::Settled : route.lane; }

auto find_route(Method method) -> const Route* {
  const auto* found = std::find_if(std::begin(routes), std::end(routes), [&](const Route& route) { return route.method == method; });
  return found == std::end(routes) ? nullptr : found;
}

auto shows_progress(const Json& capabilities) -> bool { return bool_in(member(capabilities, "experimental"), "loopsmithReplayProgress"); }

}  // namespace loopsmith::lsp
