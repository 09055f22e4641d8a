// Arguments worth trying, for the rows of primitives (`from`): small sets with the moves that a person would try. They
// need not be legal; moves.h tries them.
//
// The *given* block, loop, buffer or index map is the argument in front of the one that is chosen: of `sch.split(loop, factors)`, `loop` for `factors`.
#pragma once

#include "schedule/primitive.h"

namespace loopsmith::schedule::candidates {

/// Factor lists for the extent of the given loop: halves, quarters, usual tile sizes, one that does not divide.
auto factors(const Choice& c) -> std::vector<Value>;
/// The loop and those directly around it: pairs, and all of the chain.
auto nested_loops(const Choice& c) -> std::vector<Value>;
/// Orders of the chain of loops that the focus is in: each swapped with the next, all reversed.
auto loop_orders(const Choice& c) -> std::vector<Value>;
/// The loops around consumers (producers) of the given block.
auto loops_of_consumers(const Choice& c) -> std::vector<Value>;
auto loops_of_producers(const Choice& c) -> std::vector<Value>;
/// The consumers of the given block, where it is a reduction with an init.
auto consumers_of_reduction(const Choice& c) -> std::vector<Value>;
/// The loops around the given block.
auto loops_around(const Choice& c) -> std::vector<Value>;
/// 0 .. number of buffers that the given block reads (writes).
auto read_indices(const Choice& c) -> std::vector<Value>;
auto write_indices(const Choice& c) -> std::vector<Value>;
/// The buffers of the given block that the function itself allocates: ("read", 0) ...
auto own_buffers(const Choice& c) -> std::vector<Value>;
/// All buffers of the given block: ("read", 0), ("read", 1), ... ("write", 0), ...
auto buffers(const Choice& c) -> std::vector<Value>;
/// Index maps for the given buffer: transposed, fused, the last dimension split.
auto layouts(const Choice& c) -> std::vector<Value>;
/// Index maps for the iter vars of the given block, likewise.
auto iter_layouts(const Choice& c) -> std::vector<Value>;
/// Index maps over the iter vars by which the given block accesses the buffer it reads (writes): themselves, reversed, the first split.
auto read_maps(const Choice& c) -> std::vector<Value>;
auto write_maps(const Choice& c) -> std::vector<Value>;
/// Paddings of the iter vars of the given block: all to 4, all to 8.
auto paddings(const Choice& c) -> std::vector<Value>;
/// Ranges (begin, end) for the dimensions of the given buffer: as they are, and three wider.
auto ranges(const Choice& c) -> std::vector<Value>;
/// None, and a number where the given index map has a buffer.
auto pad_values(const Choice& c) -> std::vector<Value>;
/// 0 .. number of dimensions of the buffer that the given block writes first.
auto write_axes(const Choice& c) -> std::vector<Value>;
/// "global", "shared", "local".
auto storage_scopes(const Choice& c) -> std::vector<Value>;
auto thread_axes(const Choice& c) -> std::vector<Value>;
/// Orders of the iter vars of the given block: each swapped with the next.
auto iter_orders(const Choice& c) -> std::vector<Value>;
/// The keys of the annotations of the given loop or block.
auto annotation_keys(const Choice& c) -> std::vector<Value>;
/// The focus where it is a loop; where it is a block, it and the next one of its scope.
auto loops_and_pairs(const Choice& c) -> std::vector<Value>;
/// Both booleans.
auto booleans(const Choice& c) -> std::vector<Value>;

}  // namespace loopsmith::schedule::candidates
