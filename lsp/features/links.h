// What is written about elsewhere, as links: codes of diagnostics and primitives that comments name, what was measured of a program.
// Regions and long comments, as folds. And how a name is found by a few of its letters.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "workspace/snapshot.h"

namespace loopsmith::lsp {

/// A place in a text that something is written about elsewhere.
struct Mention {
  enum class Of : uint8_t {
    Code,        // of a diagnostic: ignored in a comment, or expected by one
    Primitive,   // its name in backticks in a comment
    Records,     // "# Tuned: ..." in a schedule: of the program that it schedules
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
/// `# region` to its `# endregion`, nested as they are; three lines or more of comments alone.
[[nodiscard]] auto comment_folds(const workspace::Snapshot& snapshot) -> std::vector<CommentFold>;

/// Do the letters of a query stand in a name in their order, whatever their case? An empty query fits all.
[[nodiscard]] auto matches_query(std::string_view name, std::string_view query) -> bool;

}  // namespace loopsmith::lsp
