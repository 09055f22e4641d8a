// Statements as lines of a text, and a text tried with edits in it: what the rewrites share (rewrites.h and its neighbours).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "support/cancel.h"
#include "syntax/ast.h"
#include "workspace/snapshot.h"

namespace loopsmith::lsp {

struct TextEdit {
  Span span;
  std::string text;
};

struct TextRewrite {
  std::string title;
  std::vector<TextEdit> edits;   // they do not overlap
  std::string why_not;           // not empty: it cannot be done, and is told for that reason
};

/// The first byte of the line that holds one.
[[nodiscard]] auto line_start_of(const workspace::Snapshot& snapshot, uint32_t at) -> uint32_t;
/// The end of that line, before its break.
[[nodiscard]] auto line_end_of(const workspace::Snapshot& snapshot, uint32_t at) -> uint32_t;
/// The blanks that the line begins with.
[[nodiscard]] auto indent_at(const workspace::Snapshot& snapshot, uint32_t at) -> std::string;
/// What the text ends its lines with.
[[nodiscard]] auto line_break_of(const workspace::Snapshot& snapshot) -> std::string;
/// A statement with its line, indentation and line break included, and comments that stand behind it.
[[nodiscard]] auto whole_lines(const workspace::Snapshot& snapshot, Span statement) -> Span;

/// The function that a declaration is (or stands for, schedule_form.h), with its statements as spans of the text.
struct Body {
  std::shared_ptr<const syntax::FunctionDef> def;   // null: it is none
  uint32_t item_begin = 0;
  std::vector<Span> statements;
};
[[nodiscard]] auto body_of(const workspace::Snapshot& snapshot, DeclId decl) -> Body;

/// The text with edits made, which are in its order.
[[nodiscard]] auto with_edits(const std::string& text, const std::vector<TextEdit>& edits) -> std::string;

/// Why edits cannot be made: the first error that was not there before, or a schedule that makes another program than it did. Empty: nothing
/// of that kind. Runs all schedules of the text; cancelled, it says so.
[[nodiscard]] auto what_breaks(const workspace::Snapshot& snapshot, const std::vector<TextEdit>& edits, const CancelToken& cancel) -> std::string;

}  // namespace loopsmith::lsp
