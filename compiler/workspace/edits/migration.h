// Converts a file to another dialect of TVMScript: the edits that replace its words, and warnings about words that changed their meaning or have no replacement.
//
// Text, comments and layout stay; only words, decorators and imports change. The words are found as members of `T`, `Ts` and schedules in the syntax tree, so
// strings and comments stay unchanged. Programs are read before and after the edits; a program with a changed meaning is reported.
#pragma once

#include <string>
#include <vector>

#include "ir/dialects.h"
#include "support/diagnostic.h"
#include "syntax/document.h"
#include "workspace/edits/lines.h"

namespace loopsmith::workspace {

/// The dialect of a text, and the word that shows it ("T.sblock", "tirx as T").
struct DialectOfText {
  Dialect dialect = Dialect::Block;
  std::string shown_by;            // empty: nothing in the text shows it
};
[[nodiscard]] auto dialect_of_text(const syntax::Document& document) -> DialectOfText;

struct Migration {
  std::vector<TextEdit> edits;     // in the order of the text; they do not overlap
  Diagnostics warnings;            // positions in the old text
};
/// `name`: the name of the file; in Python files only TVMScript changes.
[[nodiscard]] auto migrate(const syntax::Document& document, const std::string& name, Dialect to) -> Migration;

}  // namespace loopsmith::workspace
