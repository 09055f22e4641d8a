// Edits of a text: statements as whole lines, the text's own line breaks and indentation, and the analysis of a text after edits.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "support/cancel.h"
#include "syntax/ast.h"
#include "workspace/snapshot.h"

namespace loopsmith::workspace {

struct TextEdit {
  Span span;
  std::string text;
};

struct TextRewrite {
  std::string title;
  std::vector<TextEdit> edits;   // in the order of the text; they do not overlap
  std::string why_not;           // the reason why the rewrite is impossible; empty: it is possible
};

/// The first byte of the line that contains a byte.
[[nodiscard]] auto line_start_of(const Snapshot& snapshot, uint32_t at) -> uint32_t;
/// The end of the line that contains a byte, in front of its line break.
[[nodiscard]] auto line_end_of(const Snapshot& snapshot, uint32_t at) -> uint32_t;
/// The blanks at the beginning of the line that contains a byte.
[[nodiscard]] auto indent_at(const Snapshot& snapshot, uint32_t at) -> std::string;
/// The line break of a text: "\r\n" if it occurs in the text, else "\n".
[[nodiscard]] auto line_break_of(std::string_view text) -> std::string_view;
[[nodiscard]] auto line_break_of(const Snapshot& snapshot) -> std::string;
/// Replaces each "\n" by another line break, or by a line break with an indentation.
[[nodiscard]] auto with_line_breaks(std::string_view lines, std::string_view line_break) -> std::string;
/// The lines of a statement, with its indentation, its line break and the comments behind it.
[[nodiscard]] auto whole_lines(const Snapshot& snapshot, Span statement) -> Span;

/// The function of a declaration (or the one that it stands for, syntax/schedule_form.h), with its statements as spans of the text.
struct Body {
  std::shared_ptr<const syntax::FunctionDef> def;   // null: the declaration is not a function
  uint32_t item_begin = 0;
  std::vector<Span> statements;
};
[[nodiscard]] auto body_of(const Snapshot& snapshot, DeclId decl) -> Body;

/// The text after the edits, which must be in the order of the text.
[[nodiscard]] auto with_edits(std::string_view text, const std::vector<TextEdit>& edits) -> std::string;

/// The first error of the edited text that the present text does not have; empty: none. Runs all schedules of the text. When cancelled, returns a sentence
/// about that.
[[nodiscard]] auto error_after(const Snapshot& snapshot, const std::vector<TextEdit>& edits, const CancelToken& cancel) -> std::string;

/// The reason why edits must not be made: the first error that they add, or a schedule whose program they change. Empty: they may be made. Runs all
/// schedules of the text. When cancelled, returns a sentence about that.
[[nodiscard]] auto what_breaks(const Snapshot& snapshot, const std::vector<TextEdit>& edits, const CancelToken& cancel) -> std::string;

}  // namespace loopsmith::workspace
