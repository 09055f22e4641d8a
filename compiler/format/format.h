// The formatter: computes the edits that give a document's text the standard layout. Pure functions of the text, for the command line
// and for editors.
//
// It changes: indentation (four columns a level), blanks, line breaks inside statements (layout.h), quotes, blank lines at
// the ends and beyond two between declarations and one elsewhere, several statements on a line. It never changes: the
// trees (compared declaration by declaration; a declaration that would change is not formatted), comments, order, and broken
// statements, which stay byte for byte, as do the columns of all lines of their declaration. `# fmt: off`, `# fmt: on`
// and `# fmt: skip` are supported.
//
// In Python files only the TVMScript is formatted: functions and classes with a decorator of TVMScript, and schedules.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/origin.h"
#include "syntax/document.h"

namespace loopsmith::format {

struct Edit {
  Span span;         // bytes of the text
  std::string text;  // the replacement
};

struct FormatOptions {
  uint32_t width = 120;
  uint32_t indent = 4;
  bool is_python = false;     // only the TVMScript in the text is formatted
  std::optional<Span> range;  // formats only lines that touch this range; changes columns only if a whole block is in the range
};

/// The edits in the order of the text; they do not overlap, and each changes text. Empty: the text has the standard layout.
[[nodiscard]] auto format_document(const syntax::Document& document, const FormatOptions& options = {}) -> std::vector<Edit>;

/// For a line break that was typed right before `at`: formats the statement that it ended, and sets the indentation of the new line.
[[nodiscard]] auto format_on_newline(const syntax::Document& document, uint32_t at, FormatOptions options = {}) -> std::vector<Edit>;

[[nodiscard]] auto apply_edits(std::string_view text, const std::vector<Edit>& edits) -> std::string;

/// The text of a file, formatted.
[[nodiscard]] auto format_text(std::string text, const FormatOptions& options = {}) -> std::string;

/// True for a file name with Python's extension: only parts of the file are TVMScript.
[[nodiscard]] auto is_python_file(std::string_view name) -> bool;

}  // namespace loopsmith::format
