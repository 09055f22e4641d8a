// A file in another dialect of TVMScript: the edits that replace its words, and warnings where a word has changed its meaning or has no other.
//
// Text, comments and layout stay; only words, decorators and imports change. Words are those of `T`, `Ts` and schedules in the syntax tree, so
// texts in quotes and comments are safe. Programs are read before and after: a program that means something else is reported.
#pragma once

#include <string>
#include <vector>

#include "ir/dialects.h"
#include "support/diagnostic.h"
#include "syntax/document.h"
#include "workspace/edits/lines.h"

namespace loopsmith::workspace {

/// The dialect that a text is written in, and the word that shows it ("T.sblock", "tirx as T").
struct DialectOfText {
  Dialect dialect = Dialect::Block;
  std::string shown_by;            // empty: nothing in the text shows it
};
[[nodiscard]] auto dialect_of_text(const syntax::Document& document) -> DialectOfText;

struct Migration {
  std::vector<TextEdit> edits;     // in the order of the text; they do not overlap
  Diagnostics warnings;            // places in the old text
};
/// `name`: of the file; in Python files only TVMScript is changed.
[[nodiscard]] auto migrate(const syntax::Document& document, const std::string& name, Dialect to) -> Migration;

}  // namespace loopsmith::workspace
