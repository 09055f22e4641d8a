// Regions of buffers: substituted, relaxed over loops and threads, and compared.
#pragma once

#include <vector>

#include "arith/analyzer.h"
#include "arith/int_set.h"
#include "ir/ir.h"
#include "ir/visitor.h"
#include "schedule/func_tree.h"

namespace loopsmith::schedule {

/// The region of a buffer among regions; null if the buffer has none.
[[nodiscard]] auto region_of(const Array<BufferRegion>& regions, const Buffer& buffer) -> const BufferRegion*;
[[nodiscard]] auto substitute_region(const BufferRegion& region, const VarMap& map) -> BufferRegion;

/// Binds the loops from the outermost to `innermost` (a loop or block; null: none) to their ranges in an analyzer. Outer loops come first, since the
/// bounds of an inner loop may use them.
void bind_loops(const FuncTree& func, const Place* innermost, arith::Analyzer& analyzer);

/// The loops from a block up to, not including, `above`; and those loops further out that are bound to threads that share a memory of this scope.
[[nodiscard]] auto domains_sharing_memory(const FuncTree& func, const Place& block, const Place* above, Name storage_scope) -> Domains;

/// True if the union of the produced regions is proved to contain the part of the consumed region that lies within the buffer.
[[nodiscard]] auto covers_region(const Array<Expr>& shape, const std::vector<std::vector<arith::IntSet>>& produced_regions,
                                 const std::vector<arith::IntSet>& consumed_region, arith::Analyzer& analyzer) -> bool;
/// The same for one produced region, by coefficients and constants alone. False: call `covers_region` for a decision.
[[nodiscard]] auto covers_plainly(const Array<Range>& produced, const Domains& produced_domains, const Array<Range>& consumed, const Domains& consumed_domains) -> bool;

}  // namespace loopsmith::schedule
