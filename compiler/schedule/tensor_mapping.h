// Mappings of blocks to tensor intrinsics: the loops of a block that are tiled, and the fusion of a block's iter vars (a convolution) into
// those of a unit (a matrix product). For rules that bring a block into form before `tensorize`. Follows TVM's
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
  int description_loop = 0;        // from outside, of the loops around the description's block
  int iter = 0;                    // the iter var of the block that the loop feeds
  int64_t tile = 1;                // extent of the description's loop
  int64_t padded_extent = 0;       // of the block's loop, a multiple of the tile
};

/// In the order of the description's loops; none where the intrinsic does not fit. Iter vars are paired from the last to the first, by
/// kind; each must be fed by one loop with factor 1. Without `allow_padding` extents are multiples of the tile.
[[nodiscard]] auto map_tensorize_loops(const FuncState& func, const Place& block, const PrimFunc& description, bool allow_padding)
    -> std::optional<std::vector<TiledLoop>>;

/// A block as a larger instance of the computation of a description.
struct UnitMapping {
  /// From the block's iter vars: those that the unit does not have, one by one, then one fused iterator for each iter var of the
  /// description. For a convolution and a matrix product: (n, h, w, c, rh, rw, rc) to (n h w, c, rh rw rc). It is what
  /// `transform_block_layout` takes.
  IndexMap map;
  int leading = 0;                                              // iterators in front of the unit's
  std::vector<int64_t> extents;                                 // of the fused iterators; 0: not constant
  std::vector<std::pair<Buffer, Buffer>> buffers;               // of the block, and of the description, in the order of its parameters
};

/// None where the block computes something else, or an iter var of the description has no counterpart. An iter var corresponds to
/// the one of the description that is of the same kind and indexes the same buffers; storage scopes are not compared, since the
/// buffers will be staged.
[[nodiscard]] auto map_iters_to_unit(const Block& block, const PrimFunc& description) -> std::optional<UnitMapping>;

}  // namespace loopsmith::schedule
