// Statements between blocks that affect them: jumps (`break`, `continue`, returns), `while` loops, and plain statements (stores, calls, conditions).
// Blocks declare their accesses, and dependences between blocks follow from the declarations. These statements declare nothing. Neither do declarations say
// that two buffers are on the same memory: `V = T.decl_buffer((8,), data=A.data)`.
//
// FuncState keeps the answer; `require_nothing_between` (requirements.h) uses it to check every argument of every primitive.
#pragma once

#include <unordered_map>
#include <unordered_set>

#include "ir/ir.h"
#include "support/reason.h"

namespace loopsmith::schedule {

struct OutsideBlocks {
  /// Loops and blocks that a jump or a `while` loop may skip or repeat, and loops around them in the same scope; each with the reason.
  std::unordered_map<NodeId, Reason> skipped;
  std::unordered_map<NodeId, Origin> jump_at;
  /// Loops that contain a plain statement with an effect, outside of blocks.
  std::unordered_set<NodeId> loops_with_statements;
  /// Loops that contain a load outside of blocks: in a plain statement, a condition, or the bounds of a loop.
  std::unordered_set<NodeId> loops_with_loads;
  /// The buffers that the plain statements of a scope touch. The key is the block that is the scope.
  struct Touched { std::unordered_set<const VarNode*> reads, writes; };
  std::unordered_map<NodeId, Touched> touched;

  /// The data of buffers on memory that is stored to and that several buffers are on, other than views of blocks; with one other buffer each.
  std::unordered_map<const VarNode*, Buffer> second_buffers;

  [[nodiscard]] auto empty() const -> bool { return second_buffers.empty() && skipped.empty() && loops_with_statements.empty() && loops_with_loads.empty() && touched.empty(); }
};
[[nodiscard]] auto find_outside_blocks(const PrimFunc& func) -> OutsideBlocks;

}  // namespace loopsmith::schedule
