// Code actions: repairs of findings, primitives that are legal at the cursor, rewrites of schedules, and commands that search, insert and interpret.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "lsp/features/commands.h"
#include "lsp/features/lines.h"
#include "lsp/features/measured.h"
#include "support/cancel.h"
#include "support/process.h"
#include "workspace/snapshot.h"

namespace loopsmith::lsp {

enum class ActionKind : uint8_t { QuickFix, Rewrite, Extract, Inline };

/// An action has edits, or a command, or the name of a rewrite whose edits are computed on request, or the reason why it is disabled.
struct CodeAction {
  std::string title;
  ActionKind kind = ActionKind::Rewrite;
  std::vector<TextEdit> edits = {};
  OfferedCommand command = {};
  std::string_view rewrite = {};           // for `resolve_rewrite`
  std::string why_disabled = {};
  bool is_preferred = false;
  std::optional<size_t> finding = {};      // the finding that the action repairs, by its index in `Snapshot::findings`
  std::string label = {};                  // a description of the edits, for an editor that shows edits before it makes them; empty: the title
};

struct ActionRequest {
  Span span;                               // the selection, or the cursor
  std::set<ActionKind> kinds = {ActionKind::QuickFix, ActionKind::Rewrite, ActionKind::Extract, ActionKind::Inline};
  bool is_narrowed = false;                // the editor requests certain kinds only
  std::set<size_t> findings = {};          // the findings of the diagnostics in the request
  bool shows_disabled = false;             // the editor shows disabled actions with their reasons
  bool can_resolve = false;                // the editor requests the edits of the chosen action separately
  bool asks_forms = false;                 // the editor can show questions of a command
  Deadline until = never();                // the time limit for judging primitives
  CancelToken cancel = {};
};

[[nodiscard]] auto code_actions(const workspace::Snapshot& snapshot, const Measured& measured, const ActionRequest& request) -> std::vector<CodeAction>;

/// The edits of the rewrite of an action. None: no rewrite has that name. Without edits `why_not` is the reason.
[[nodiscard]] auto resolve_rewrite(const workspace::Snapshot& snapshot, uint32_t at, std::string_view rewrite, const CancelToken& cancel) -> std::optional<TextRewrite>;

}  // namespace loopsmith::lsp
