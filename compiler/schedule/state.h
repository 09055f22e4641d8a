// The state that primitives look at and rewrite: an immutable module, and for each function a tree of its
// loops and blocks with what is known of them.
//
//  - A `Place` is a loop or block and where it stands. Loops and blocks are named by their NodeId, which a
//    rewrite keeps for whatever it does not remake; so variables of a schedule bind to ids and need no repair.
//  - A `State` is a value: copies share everything, a rewrite copies the path from the change to the root
//    and leaves the old state as it was. Undo is keeping the old one.
//  - What is known of a block (dependences between its children, affine bindings, region cover) is computed when
//    asked for and kept. A kept answer is handed to the next state only while the very nodes it was read from
//    are still there (compared by identity), so there is no flag to forget to clear. Checked builds compare
//    what is kept with a recomputation after each primitive (`verify_cached`).
//
// A state belongs to one thread at a time, as the IR does. Terms are TensorIR's (ASPLOS'23).
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "ir/ir.h"
#include "schedule/places.h"
#include "support/diagnostic.h"

namespace loopsmith::schedule {

enum class DependenceKind : uint8_t { Raw, Waw, War, Opaque };

/// `dst` runs after `src` and touches what it touched.
struct Dependence {
  NodeId src = 0;
  NodeId dst = 0;
  DependenceKind kind = DependenceKind::Raw;
  const BufferNode* buffer = nullptr;      // the first one that makes the two depend
  bool is_hidden = false;                  // `dst` (of War: `src`) loads it without declaring so
  friend auto operator==(const Dependence&, const Dependence&) -> bool = default;
};

class FuncState;
struct ScopeBlocks;

/// The blocks that stand in a block, not counting blocks inside those, and how they depend on each other. Alive as long as the state.
class Scope {
 public:
  Scope(const FuncState& func, const ScopeBlocks& blocks) : func_(&func), blocks_(&blocks) {}
  /// What depends on a block, by dst in the order of the text.
  [[nodiscard]] auto of_src(NodeId id) const -> std::vector<Dependence>;
  /// What a block depends on.
  [[nodiscard]] auto of_dst(NodeId id) const -> std::span<const Dependence>;
  /// Is something overwritten after it was read, or touched in a way that is not known?
  [[nodiscard]] auto overwrites() const -> bool;
  /// Who writes a buffer, in the order of the text.
  [[nodiscard]] auto writers(const BufferNode* buffer) const -> std::vector<NodeId>;
  [[nodiscard]] auto is_written(const BufferNode* buffer) const -> bool;

 private:
  const FuncState* func_;
  const ScopeBlocks* blocks_;
};

/// Whether the blocks of a scope read only what its other blocks wrote before.
struct Cover {
  bool stage_pipeline = true;              // RAW dependences only, each covered
  std::vector<NodeId> uncovered;           // blocks that read more than their producers wrote
  friend auto operator==(const Cover&, const Cover&) -> bool = default;
};

/// What a primitive did to one function.
struct Rewrite {
  /// Instead of the loop or block `at` stands `with`. A block may be replaced by a Block (its realize, iter
  /// values and predicate stay) or by any other statement (its realize goes as well). None: nothing is left.
  struct Change { NodeId at = 0; Stmt with; };
  std::vector<Change> changes;
  /// A statement put into the body of the loop or block `at`, before its statement number `position` as it was
  /// (behind allocations that stand first).
  struct Insert { NodeId at = 0; int position = 0; Stmt stmt; };
  std::vector<Insert> inserts;
  /// A statement put right in front of the loop `at`.
  struct Before { NodeId at = 0; Stmt stmt; };
  std::vector<Before> befores;
  /// Buffers that the block `at` allocates from now on, or no longer; where both are given, one in the place of the other.
  struct Alloc { NodeId at = 0; Buffer add; Buffer remove; };
  std::vector<Alloc> allocs;
  /// Where the variables bound to a loop or block that is gone shall point from now on.
  struct Forward { NodeId from = 0; NodeId to = 0; };
  std::vector<Forward> forwards;
  /// Set where parameters, buffer map or attributes of the function change; its body is ignored.
  PrimFunc signature;
  /// Functions to put into the module as well (or instead of those of the name).
  std::vector<std::pair<Name, PrimFunc>> functions;
};

struct ScopeTree;
struct RacesKept;

/// The tree of one function; shared, immutable but for the answers it keeps.
class FuncState {
 public:
  explicit FuncState(Name name, PrimFunc func);
  /// The same, where most of the function is what `before` was made of: its places are taken over.
  FuncState(Name name, PrimFunc func, const FuncState& before);
  [[nodiscard]] auto name() const -> Name { return name_; }
  [[nodiscard]] auto func() const -> const PrimFunc& { return func_; }
  [[nodiscard]] auto places() const -> const Places& { return places_; }
  [[nodiscard]] auto find(NodeId id) const -> const Place* { return places_.find(id); }
  [[nodiscard]] auto root() const -> const Place& { return places_.front(); }
  /// False for functions that are no schedulable TIR (no root block).
  [[nodiscard]] auto is_schedulable() const -> bool { return !places_.empty(); }
  [[nodiscard]] auto parent(const Place& p) const -> const Place* { return p.parent < 0 ? nullptr : &places_[static_cast<size_t>(p.parent)]; }
  [[nodiscard]] auto scope(const Place& p) const -> const Place* { return p.scope < 0 ? nullptr : &places_[static_cast<size_t>(p.scope)]; }
  /// The loops around a loop or block within its scope, from outside to inside; a loop itself not included.
  [[nodiscard]] auto loops(const Place& p) const -> std::vector<const Place*>;
  /// Is `inner` strictly below `outer`?
  [[nodiscard]] auto is_below(const Place& inner, const Place& outer) const -> bool {
    return inner.index > outer.index && inner.index < outer.end;
  }
  /// The blocks below, not counting blocks inside those; in the order of the text.
  [[nodiscard]] auto child_blocks(const Place& p) const -> std::vector<const Place*>;

  /// Does the block allocate the buffer?
  [[nodiscard]] auto allocates(const Place& block, const Buffer& buffer) const -> bool;
  /// The buffers that a block allocates on a memory.
  [[nodiscard]] auto allocated_on(const Place& block, const VarNode* data) const -> std::vector<Buffer>;

  // Kept answers. `scope_place` is a block.
  [[nodiscard]] auto scope_info(const Place& scope_place) const -> Scope;
  /// The blocks right below (as `child_blocks`) that write a buffer which the scope does not allocate.
  [[nodiscard]] auto output_blocks(const Place& scope_place) const -> const std::vector<NodeId>&;
  /// Buffers that a block loads, in its body or its regions, though its `T.reads` do not say so: what cache_index and
  /// unsafe_hide_buffer_access leave behind. They order blocks as declared reads do, with the whole buffer for a region.
  [[nodiscard]] auto hidden_reads(const Place& block) const -> const std::vector<Buffer>& { return hidden_reads(*block.block()); }
  [[nodiscard]] auto hidden_reads(const Block& block) const -> const std::vector<Buffer>&;
  /// The loops and blocks right below a block whose statements mention the memory of a buffer, by a buffer on it or by the pointer to its
  /// elements, in any way; in the order of the text.
  [[nodiscard]] auto mentioning(const Place& scope_place, const Buffer& buffer) const -> std::vector<const Place*>;
  /// The blocks in those, as `child_blocks` has them.
  [[nodiscard]] auto blocks_mentioning(const Place& scope_place, const Buffer& buffer) const -> std::vector<const Place*>;
  /// Are the statements of a block's body its loops and blocks, and nothing else?
  [[nodiscard]] auto has_plain_body(const Place& scope_place) const -> bool;
  /// Of the blocks right below (as `child_blocks`), those that declare neither reads nor writes.
  [[nodiscard]] auto silent_blocks(const Place& scope_place) const -> std::vector<const Place*>;
  /// Are the block's iter values independent affine functions of the loops around it?
  [[nodiscard]] auto is_affine_binding(const Place& block) const -> bool;
  [[nodiscard]] auto cover(const Place& scope_place) const -> const Cover&;
  /// Does the block read only what its producers of the same scope wrote before?
  [[nodiscard]] auto region_cover(const Place& block) const -> bool;
  /// Only RAW dependences between the children, each covered.
  [[nodiscard]] auto stage_pipeline(const Place& scope_place) const -> bool;

  /// What `counted_races` found of loops (instances.h), which keeps it here: several primitives are asked about one loop in turn.
  mutable std::vector<std::shared_ptr<const RacesKept>> races_kept;

  /// Takes over what is kept by the state before and still holds.
  void adopt(const FuncState& before);
  /// Compares what is kept with a recomputation; the first difference in words.
  [[nodiscard]] auto verify_cached() const -> std::optional<std::string>;

 private:
  struct Kept;
  // A buffer that a block allocates, by its memory.
  struct Alloc {
    const VarNode* data;
    const BufferNode* buffer;
    friend auto operator==(const Alloc&, const Alloc&) -> bool = default;
    friend auto operator<=>(const Alloc&, const Alloc&) = default;
  };
  [[nodiscard]] auto allocs_by_data(const Place& block) const -> const Sequence<Alloc>&;
  [[nodiscard]] auto scope_tree(const Place& scope_place) const -> const std::shared_ptr<const ScopeTree>&;
  Name name_;
  PrimFunc func_;
  Places places_;
  std::shared_ptr<Kept> kept_;
};

class State {
 public:
  State() = default;
  explicit State(IRModule module);

  [[nodiscard]] auto module() const -> const IRModule& { return module_; }
  /// Null where there is no such function.
  [[nodiscard]] auto func(Name name) const -> const FuncState*;
  struct Found { const FuncState* func = nullptr; const Place* place = nullptr; explicit operator bool() const { return place; } };
  /// The loop or block with an id, in whichever function.
  [[nodiscard]] auto find(NodeId id) const -> Found;

  /// The state after a rewrite of a function. A precondition is that ids of `changes` are in the function and
  /// that no change lies inside another.
  [[nodiscard]] auto after(Name func, const Rewrite& rewrite) const -> State;
  /// Compares all that is kept of a function with a recomputation; the first difference in words.
  [[nodiscard]] auto verify_cached(Name func) const -> std::optional<std::string>;

 private:
  IRModule module_;
  mutable std::vector<std::shared_ptr<const FuncState>> funcs_;   // of those that were asked for
};

/// A copy in which every loop and block has an id of its own (for code that stands twice).
[[nodiscard]] auto renumber(const Stmt& stmt) -> Stmt;

}  // namespace loopsmith::schedule
