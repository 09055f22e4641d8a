// Mappings of blocks to tensor intrinsics: the loops of a block that are tiled, and the fusion of a block's iter vars (a convolution) into
// those of a hardware unit (a matrix product). For rules that bring a block into form before `tensorize`. Follows TVM's
// GetTensorizeLoopMapping and GetAutoTensorizeMappingInfo (MetaSchedule, NeurIPS'22; TensorIR, ASPLOS'23, section 4.2).
#pragma once

#include <optional>
#include <vector>

#include "schedule/intrinsics.h"
#include "schedule/state.h"

namespace loopsmith::schedule {

/// A loop around the block, and the loop of the description that is a tile of it.
struct TiledLoop {
  const Place* loop = nullptr;
  int description_loop = 0;        // the position, from outside, among the loops around the description's block
  int iter = 0;                    // the iter var of the block that the loop feeds
  int64_t tile = 1;                // extent of the description's loop
  int64_t padded_extent = 0;       // the extent of the block's loop, rounded up to a multiple of the tile
};

/// In the order of the description's loops; none if the intrinsic does not fit. Pairs iter vars from the last to the first, by
/// kind; a single loop with factor 1 must feed each. Without `allow_padding` extents must be multiples of the tile.
[[nodiscard]] auto map_tensorize_loops(const FuncState& func, const Place& block, const PrimFunc& description, bool allow_padding)
    -> std::optional<std::vector<TiledLoop>>;

/// A block that is a larger instance of a description's computation.
struct UnitMapping {
  /// Maps the block's iter vars: first those that the unit does not have, one by one, then one fused iterator for each iter var of the
  /// description. For a convolution and a matrix product: (n, h, w, c, rh, rw, rc) to (n h w, c, rh rw rc). This is the argument of
  /// `transform_block_layout`.
  IndexMap map;
  int leading = 0;                                              // the number of iterators in front of the unit's
  std::vector<int64_t> extents;                                 // of the fused iterators; 0: not constant
  std::vector<std::pair<Buffer, Buffer>> buffers;               // pairs: a buffer of the block and one of the description, in the order of the parameters
};

/// None if the block computes something else, or if an iter var of the description has no counterpart. An iter var corresponds to
/// the one of the description that has the same kind and indexes the same buffers. Storage scopes are not compared, since the
/// buffers will be staged.
[[nodiscard]] auto map_iters_to_unit(const Block& block, const PrimFunc& description) -> std::optional<UnitMapping>;

}  // namespace loopsmith::schedule
