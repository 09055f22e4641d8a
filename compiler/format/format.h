// The formatter: a document's text to edits that give it the standard layout. Pure functions of the text, for the command line
// and for editors.
//
// What changes: indentation (four columns a level), blanks, line breaks inside statements (layout.h), quotes, blank lines at
// the ends and beyond two between declarations and one elsewhere, several statements on a line. What never changes: the
// trees (compared declaration by declaration; one that would change is left as it is), comments, order, and statements
// that are broken, which stay byte for byte, as do the columns of all lines of their declaration. `# fmt: off`, `# fmt: on`
// and `# fmt: skip` are heeded.
//
// Of Python files only the TVMScript is formatted: functions and classes with a decorator of TVMScript's, and schedules.
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
  std::string text;  // what stands there instead
};

struct FormatOptions {
  uint32_t width = 120;
  uint32_t indent = 4;
  bool is_python = false;     // leave alone what is no TVMScript
  std::optional<Span> range;  // only lines that this touches; columns only where a whole block is in it
};

/// In the order of the text, apart from each other, each one changing something. Empty: the text is as it should be.
[[nodiscard]] auto format_document(const syntax::Document& document, const FormatOptions& options = {}) -> std::vector<Edit>;

/// After a line break was typed right before `at`: the statement that it ended, and the blanks at the new line's beginning.
[[nodiscard]] auto format_on_newline(const syntax::Document& document, uint32_t at, FormatOptions options = {}) -> std::vector<Edit>;

[[nodiscard]] auto apply_edits(std::string_view text, const std::vector<Edit>& edits) -> std::string;

/// The text of a file, formatted.
[[nodiscard]] auto format_text(std::string text, const FormatOptions& options = {}) -> std::string;

/// By its ending: a file of which only parts are TVMScript.
[[nodiscard]] auto is_python_file(std::string_view name) -> bool;

}  // namespace loopsmith::format
