// The facts that analyses use, collected in one walk over a function: every access with the iterations that reach it, loops, blocks,
// conditions, allocations, and uses of memory by pointer.
//
// They are in the order in which one iteration runs, which is that of the text: the loads of a store before the store.
#pragma once

#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "analysis/space.h"
#include "ir/ir.h"
#include "support/cancel.h"

namespace loopsmith::analysis {

using SpacePtr = std::shared_ptr<const Space>;

struct Access {
  const BufferNode* buffer = nullptr;
  const Array<Expr>* indices = nullptr;
  bool is_write = false;
  bool is_masked = false;                // only some lanes
  bool in_init = false;
  bool is_certain = true;                // false behind a jump or inside of a `while`: it may not run
  const BufferStore* store = nullptr;    // the store, or the store that contains the load; null: the load is in a condition, a call ...
  const ExprNode* load = nullptr;        // reads
  SpacePtr space;
  Origin origin;
};

/// Memory used without a visible access: its pointer is passed to other code, or matched to another buffer.
struct PointerUse {
  const VarNode* data = nullptr;
  size_t before = 0;                     // accesses collected before it
  bool writes = true;
  Expr place;                            // the element or the offset at which the pointer begins; null: the start of the memory
  SpacePtr space;
  Origin origin;
  const Block* block = nullptr;          // the innermost block around it
  Expr bytes;                            // memcpy, memmove, memset: the number of bytes behind the pointer; null: unknown
};

struct LoopFact {
  const For* loop = nullptr;
  SpacePtr space;                        // around the loop, without the loop itself
  size_t begin = 0, end = 0;             // accesses in it
  size_t first_pointer = 0, end_pointer = 0;
  bool has_effect = false;               // stores something, or calls
  bool has_pointers = false;
};

struct BlockFact {
  const Block* block = nullptr;
  const BlockRealize* realize = nullptr; // null: not realized
  SpacePtr space;                        // that of the realize: without its predicate and iter vars
  SpacePtr inner;                        // the same with them
  size_t begin = 0, end = 0;
  bool is_certain = true;
};

enum class ConditionKind : uint8_t { If, Where, IfThenElse, Select, Assert, While };
struct ConditionFact {
  Expr condition;
  ConditionKind kind{};
  SpacePtr space;
  Origin origin;                         // of the whole statement or call
};

struct AllocFact {
  Buffer buffer;                         // null for a plain Allocate
  const VarNode* data = nullptr;
  Origin origin;
  size_t loops = 0;                      // loops around it
  bool is_constant = false;              // AllocateConst: has its values
  const Allocate* statement = nullptr;   // a plain Allocate
};

struct Facts {
  PrimFunc func;
  std::vector<Access> accesses;
  std::vector<PointerUse> pointers;
  std::vector<LoopFact> loops;
  std::vector<BlockFact> blocks;
  std::vector<ConditionFact> conditions;
  std::vector<AllocFact> allocs;
  /// The memory behind the pointer of a view (match_buffer in blocks), and behind other names of pointers.
  std::unordered_map<const VarNode*, const VarNode*> views;
  /// Names of pointers: `p = x.data`; `begins_inside`: `p = T.address_of(x[1])`.
  struct PointerName { const VarNode* name = nullptr; const LetStmt* let = nullptr; bool begins_inside = false; };
  std::vector<PointerName> names;
  bool has_jumps = false;

  /// The memory of a buffer, behind all its views.
  [[nodiscard]] auto memory(const VarNode* data) const -> const VarNode*;
  [[nodiscard]] auto memory(const BufferNode& buffer) const -> const VarNode* { return memory(buffer.data.get()); }
  [[nodiscard]] auto is_allocated(const VarNode* memory) const -> bool;
};

/// After a cancellation only some facts are collected.
[[nodiscard]] auto collect(const PrimFunc& func, const CancelToken& cancel = {}) -> Facts;

}  // namespace loopsmith::analysis
