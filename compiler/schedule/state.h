// The state that primitives read and rewrite: an immutable module, and for each function the tree of its loops
// and blocks with facts about them.
//
//  - A `Place` is a loop or block with its position. Loops and blocks are named by their NodeId. A rewrite keeps the
//    ids of nodes that it does not replace, so the variables of a schedule, which bind to ids, need no repair.
//  - A `State` is a value: copies share everything; a rewrite copies the path from the change to the root
//    and leaves the old state unchanged. To undo, keep the old state.
//  - Facts about a block (dependences between its children, affine bindings, region cover) are computed on demand and
//    kept. The next state takes over a kept fact only if it still has the same nodes that the fact was computed
//    from (compared by identity), so no flag can be forgotten. Checked builds compare kept facts with a
//    recomputation after each primitive (`verify_cached`).
//
// A state belongs to one thread at a time, as the IR does. Terms are TensorIR's (ASPLOS'23).
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "ir/ir.h"
#include "schedule/facts/cover.h"
#include "schedule/facts/dependences.h"
#include "schedule/func_tree.h"
#include "schedule/rewrite.h"
#include "support/diagnostic.h"

namespace loopsmith::schedule {

struct OutsideBlocks;
struct RacesKept;

/// The tree of one function with the facts about it that it keeps. Shared; immutable except for the kept facts.
class FuncState : public FuncTree {
 public:
  explicit FuncState(Name name, PrimFunc func);
  /// The same, for a function that shares most of its nodes with `before`: reuses the places of shared parts.
  FuncState(Name name, PrimFunc func, const FuncState& before);

  /// True if the block allocates the buffer.
  [[nodiscard]] auto allocates(const Place& block, const Buffer& buffer) const -> bool;
  /// The buffers that a block allocates in the same memory (`data`).
  [[nodiscard]] auto allocated_on(const Place& block, const VarNode* data) const -> std::vector<Buffer>;

  // Facts that are kept. `scope_place` is a block.
  [[nodiscard]] auto scope_info(const Place& scope_place) const -> Scope;
  /// The blocks right below (as `child_blocks`) that write a buffer which the scope does not allocate.
  [[nodiscard]] auto output_blocks(const Place& scope_place) const -> const std::vector<NodeId>&;
  /// Buffers that a block loads without declaring them (facts/hidden_reads.h).
  [[nodiscard]] auto hidden_reads(const Place& block) const -> const std::vector<Buffer>& { return hidden_reads(*block.block()); }
  [[nodiscard]] auto hidden_reads(const Block& block) const -> const std::vector<Buffer>&;
  /// The loops and blocks right below a block that mention the memory of a buffer in any way, by a buffer in it or by the pointer to its
  /// elements; in the order of the text.
  [[nodiscard]] auto mentioning(const Place& scope_place, const Buffer& buffer) const -> std::vector<const Place*>;
  /// The blocks in these loops and blocks, as `child_blocks` returns them.
  [[nodiscard]] auto blocks_mentioning(const Place& scope_place, const Buffer& buffer) const -> std::vector<const Place*>;
  /// Jumps, `while` loops and plain statements that affect blocks.
  [[nodiscard]] auto outside_blocks() const -> const OutsideBlocks&;
  /// True if the body of a block consists of loops and blocks only.
  [[nodiscard]] auto has_plain_body(const Place& scope_place) const -> bool;
  /// The blocks right below (as `child_blocks`) that declare neither reads nor writes.
  [[nodiscard]] auto silent_blocks(const Place& scope_place) const -> std::vector<const Place*>;
  /// True if the block's iter values are independent affine functions of the loops around it.
  [[nodiscard]] auto is_affine_binding(const Place& block) const -> bool;
  [[nodiscard]] auto cover(const Place& scope_place) const -> const Cover&;
  /// True if the block reads only elements that its producers in the same scope wrote before.
  [[nodiscard]] auto region_cover(const Place& block) const -> bool;
  /// True if the children depend on each other by RAW only, each read covered.
  [[nodiscard]] auto stage_pipeline(const Place& scope_place) const -> bool;

  /// The answers of `counted_races` (counted_races.h), which computes them; new answers are appended.
  [[nodiscard]] auto kept_races() const -> const std::vector<std::shared_ptr<const RacesKept>>&;
  void keep_races(std::shared_ptr<const RacesKept> races) const;

  /// Takes over the facts of the state before that are still valid.
  void adopt(const FuncState& before);
  /// Compares the kept facts with a recomputation; returns the first difference, in words.
  [[nodiscard]] auto verify_cached() const -> std::optional<std::string>;

 private:
  struct Kept;
  // A buffer that a block allocates, with its memory as the key.
  struct Alloc {
    const VarNode* data;
    const BufferNode* buffer;
    friend auto operator==(const Alloc&, const Alloc&) -> bool = default;
    friend auto operator<=>(const Alloc&, const Alloc&) = default;
  };
  [[nodiscard]] auto allocs_by_data(const Place& block) const -> const Sequence<Alloc>&;
  [[nodiscard]] auto scope_tree(const Place& scope_place) const -> const std::shared_ptr<const ScopeTree>&;
  std::shared_ptr<Kept> kept_;
};

class State {
 public:
  State() = default;
  explicit State(IRModule module);

  [[nodiscard]] auto module() const -> const IRModule& { return module_; }
  /// Null if there is no such function.
  [[nodiscard]] auto func(Name name) const -> const FuncState*;
  struct Found { const FuncState* func = nullptr; const Place* place = nullptr; explicit operator bool() const { return place; } };
  /// The loop or block with an id, in any function.
  [[nodiscard]] auto find(NodeId id) const -> Found;

  /// The state after a rewrite of a function. The ids of `changes` must be in the function, and no change may
  /// lie inside another.
  [[nodiscard]] auto after(Name func, const Rewrite& rewrite) const -> State;
  /// Compares the kept facts of a function with a recomputation; returns the first difference, in words.
  [[nodiscard]] auto verify_cached(Name func) const -> std::optional<std::string>;

 private:
  IRModule module_;
  mutable std::vector<std::shared_ptr<const FuncState>> funcs_;   // for functions that were requested
};

}  // namespace loopsmith::schedule
