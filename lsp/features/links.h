// What comments say to tools: codes that are ignored, as links to what they mean; regions and long comments, as folds. And how a name is
// found by a few of its letters.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "workspace/snapshot.h"

namespace loopsmith::lsp {

struct CodeMention {
  Span span;          // of the code
  std::string code;   // "data-race"
};
/// Codes in `# ls: ignore[CODE, ...]` and `# ls: ignore-file[CODE]`.
[[nodiscard]] auto mentioned_codes(const workspace::Snapshot& snapshot) -> std::vector<CodeMention>;

struct CommentFold {
  Span span;
  bool is_region = false;
};
/// `# region` to its `# endregion`, nested as they are; three lines or more of comments alone.
[[nodiscard]] auto comment_folds(const workspace::Snapshot& snapshot) -> std::vector<CommentFold>;

/// Do the letters of a query stand in a name in their order, whatever their case? An empty query fits all.
[[nodiscard]] auto matches_query(std::string_view name, std::string_view query) -> bool;

}  // namespace loopsmith::lsp
