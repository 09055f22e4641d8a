// Edits of a text: statements as whole lines, line breaks and indentation as the text has them, and a text tried with edits made in it.
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
  std::vector<TextEdit> edits;   // they do not overlap
  std::string why_not;           // not empty: the rewrite is impossible for this reason
};

/// The first byte of the line that holds a byte.
[[nodiscard]] auto line_start_of(const Snapshot& snapshot, uint32_t at) -> uint32_t;
/// The end of the line that holds a byte, in front of its line break.
[[nodiscard]] auto line_end_of(const Snapshot& snapshot, uint32_t at) -> uint32_t;
/// The blanks at the beginning of the line that holds a byte.
[[nodiscard]] auto indent_at(const Snapshot& snapshot, uint32_t at) -> std::string;
/// The line break of a text: "\r\n" where it has one, else "\n".
[[nodiscard]] auto line_break_of(std::string_view text) -> std::string_view;
[[nodiscard]] auto line_break_of(const Snapshot& snapshot) -> std::string;
/// Lines that end in "\n", with another line break (or a line break and an indentation) in its place.
[[nodiscard]] auto with_line_breaks(std::string_view lines, std::string_view line_break) -> std::string;
/// The lines of a statement, with its indentation, its line break and the comments behind it.
[[nodiscard]] auto whole_lines(const Snapshot& snapshot, Span statement) -> Span;

/// The function that a declaration is (or stands for, syntax/schedule_form.h), with its statements as spans of the text.
struct Body {
  std::shared_ptr<const syntax::FunctionDef> def;   // null: the declaration is no function
  uint32_t item_begin = 0;
  std::vector<Span> statements;
};
[[nodiscard]] auto body_of(const Snapshot& snapshot, DeclId decl) -> Body;

/// The text with edits made, which are in the order of the text.
[[nodiscard]] auto with_edits(std::string_view text, const std::vector<TextEdit>& edits) -> std::string;

/// The first error that the text would have after edits, and does not have now; empty: none. Runs all schedules of the text; when cancelled, the answer is
/// a sentence about that.
[[nodiscard]] auto error_after(const Snapshot& snapshot, const std::vector<TextEdit>& edits, const CancelToken& cancel) -> std::string;

/// Why edits must not be made: the first error that the text did not have before, or a schedule that makes another program than before. Empty: they may
/// be made. Runs all schedules of the text; when cancelled, the answer is a sentence about that.
[[nodiscard]] auto what_breaks(const Snapshot& snapshot, const std::vector<TextEdit>& edits, const CancelToken& cancel) -> std::string;

}  // namespace loopsmith::workspace
