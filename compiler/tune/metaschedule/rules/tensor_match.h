// The correspondence between a block and the description of a tensor intrinsic, before the block is tiled for it.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "schedule/intrinsics.h"
#include "tune/metaschedule/rules/calls.h"

namespace loopsmith::tune::rules {

/// A block whose body computes the same as the description's, element by element.
struct TensorMatch {
  std::vector<IterVar> block_iters;
  std::vector<IterVar> intrinsic_iters;
  /// Pairs of a buffer of the block and the one of the description, in the order of their first use.
  std::vector<std::pair<Buffer, Buffer>> buffers;
  std::unordered_map<const BufferNode*, std::vector<Expr>> block_indices;       // by the buffer of the block
  std::unordered_map<const BufferNode*, std::vector<Expr>> intrinsic_indices;   // by the buffer of the description
};
[[nodiscard]] auto match_block(const Block& block, const PrimFunc& description) -> std::optional<TensorMatch>;

/// The map from the iter vars of the block to those of the description, behind the ones without a counterpart. Iter vars of the block with the same
/// counterpart are fused. None: an iter var has several counterparts, or one of the description has none.
[[nodiscard]] auto mapping_of(const TensorMatch& match) -> std::optional<IndexMap>;

/// The tensor intrinsic of a name: of the schedule's file, or built in; null: unknown.
[[nodiscard]] auto find_intrinsic(const Schedule& sch, const std::string& name) -> const schedule::TensorIntrin*;

/// Splits the loops around a block so that the inner parts are the loops of the intrinsic, and moves these inside. Returns the outermost of them; none: the
/// loops do not correspond. With `allow_padding` the block is padded where an extent is not a multiple of the intrinsic's.
[[nodiscard]] auto tile_with_intrinsic(Schedule& sch, BlockRV block, const std::string& intrinsic, bool allow_padding = false)
    -> Result<std::optional<LoopRV>>;

}  // namespace loopsmith::tune::rules
