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

/// An action has edits, or a command, or the name of a rewrite that is made once the action is chosen, or the reason why it is disabled.
struct CodeAction {
  std::string title;
  ActionKind kind = ActionKind::Rewrite;
  std::vector<TextEdit> edits = {};
  OfferedCommand command = {};
  std::string_view rewrite = {};           // for `resolve_rewrite`
  std::string why_disabled = {};
  bool is_preferred = false;
  std::optional<size_t> finding = {};      // that it repairs, by its place in `Snapshot::findings`
  std::string label = {};                  // of the edits, for an editor that asks before it makes them; empty: the title
};

struct ActionRequest {
  Span span;                               // the selection, or the cursor
  std::set<ActionKind> kinds = {ActionKind::QuickFix, ActionKind::Rewrite, ActionKind::Extract, ActionKind::Inline};
  bool is_narrowed = false;                // the editor asks for certain kinds only
  std::set<size_t> findings = {};          // that the editor asks about
  bool shows_disabled = false;             // the editor shows disabled actions with their reasons
  bool can_resolve = false;                // the editor asks for the edits once an action is chosen
  bool asks_forms = false;                 // the editor asks questions for us
  Deadline until = never();                // of judging primitives
  CancelToken cancel = {};
};

[[nodiscard]] auto code_actions(const workspace::Snapshot& snapshot, const Measured& measured, const ActionRequest& request) -> std::vector<CodeAction>;

/// The edits of an action whose `rewrite` was chosen. None: there is no rewrite by that name. Without edits `why_not` is the reason.
[[nodiscard]] auto resolve_rewrite(const workspace::Snapshot& snapshot, uint32_t at, std::string_view rewrite, const CancelToken& cancel) -> std::optional<TextRewrite>;

}  // namespace loopsmith::lsp
