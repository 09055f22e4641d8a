// Links from comments to documents and records: codes of diagnostics, primitives, measurements of a program.
// Also folds of regions and of long comments, and matching of names by a few letters.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "workspace/snapshot.h"

namespace loopsmith::lsp {

/// A place in a text that links to a page or a record.
struct Mention {
  enum class Of : uint8_t {
    Code,        // of a diagnostic: ignored in a comment, or expected by one
    Primitive,   // its name in backticks in a comment
    Records,     // "# Tuned: ..." in a schedule: the measurement of its program
  };
  Span span;
  Of of{};
  std::string name;   // "data-race", "split", "matmul"
};
/// In the order of the text.
[[nodiscard]] auto mentions(const workspace::Snapshot& snapshot) -> std::vector<Mention>;

struct CommentFold {
  Span span;
  bool is_region = false;
};
/// From `# region` to its `# endregion`, nested ones too; and three or more lines of comments in a row.
[[nodiscard]] auto comment_folds(const workspace::Snapshot& snapshot) -> std::vector<CommentFold>;

/// True when a name contains the letters of a query in order, ignoring case. An empty query matches every name.
[[nodiscard]] auto matches_query(std::string_view name, std::string_view query) -> bool;

}  // namespace loopsmith::lsp
