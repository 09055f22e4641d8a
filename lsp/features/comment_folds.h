// Parts of a text that an editor can fold beside its syntax: regions, and comments of several lines.
#pragma once

#include <vector>

#include "workspace/snapshot.h"

namespace loopsmith::lsp {

struct CommentFold {
  Span span;
  bool is_region = false;
};
/// From `# region` to its `# endregion`, nested ones too; and three or more lines of comments in a row.
[[nodiscard]] auto comment_folds(const workspace::Snapshot& snapshot) -> std::vector<CommentFold>;

}  // namespace loopsmith::lsp
