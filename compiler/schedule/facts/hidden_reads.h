// Hidden reads: buffers that a block loads, in its body or in its regions, without listing them in `T.reads`. cache_index and
// unsafe_hide_buffer_access create hidden reads. They order blocks as declared reads do, with the whole buffer as the region.
#pragma once

#include <unordered_map>
#include <vector>

#include "ir/ir.h"

namespace loopsmith::schedule {

[[nodiscard]] auto compute_hidden_reads(const Block& block) -> std::vector<Buffer>;

/// The hidden reads of blocks, each computed once. The states of a schedule share one object. An entry keeps its block alive, so that an equal
/// pointer means the same block.
class KnownHiddenReads {
 public:
  [[nodiscard]] auto of(const Block& block) -> const std::vector<Buffer>&;
  [[nodiscard]] auto size() const -> size_t { return entries_.size(); }

 private:
  struct Entry { Ref<Block> block; std::vector<Buffer> buffers; };
  std::unordered_map<const Block*, Entry> entries_;
};

}  // namespace loopsmith::schedule
