// Folds of regions and of long comments: see comment_folds.h.
#include "lsp/features/comment_folds.h"

#include <algorithm>

namespace loopsmith::lsp {

using workspace::Snapshot;

auto comment_folds(const Snapshot& snapshot) -> std::vector<CommentFold> {
  constexpr uint32_t least = 3;
  std::vector<CommentFold> folds;
  std::vector<uint32_t> regions;   // the first lines of the open regions
  uint32_t begin = 0;
  uint32_t count = 0;              // the number of consecutive comment lines up to here
  uint32_t last_end = 0;
  std::string_view text = snapshot.text();
  uint32_t offset = 0;
  while (offset <= text.size()) {
    auto end = static_cast<uint32_t>(std::min(text.find('\n', offset), text.size()));
    std::string_view line = text.substr(offset, end - offset);
    size_t first = line.find_first_not_of(" \t");
    std::string_view comment = first != std::string_view::npos && line[first] == '#' ? line.substr(first + 1) : std::string_view();
    while (comment.starts_with(' ')) { comment.remove_prefix(1); }
    bool is_comment = first != std::string_view::npos && line[first] == '#';
    bool opens = comment == "region" || comment.starts_with("region ");
    bool closes = comment.starts_with("endregion");
    if (is_comment && !opens && !closes) {
      if (count++ == 0) { begin = offset; }
      last_end = end;
    } else {
      if (count >= least) { folds.push_back({{begin, last_end}, false}); }
      count = 0;
    }
    if (opens) { regions.push_back(offset); }
    if (closes && !regions.empty()) {
      folds.push_back({{regions.back(), end}, true});
      regions.pop_back();
    }
    offset = end + 1;
  }
  if (count >= least) { folds.push_back({{begin, last_end}, false}); }
  std::sort(folds.begin(), folds.end(), [](const CommentFold& a, const CommentFold& b) { return a.span.begin < b.span.begin; });
  return folds;
}

}  // namespace loopsmith::lsp
