// The blocks of a scope and how they depend on each other: made anew, or from the answer for the state before, with work only for the blocks
// that changed and for those that touch the same buffers. Answers belong to nodes: the same node has the same answer. They are sorted sequences
// that states share; the order of blocks in the text comes from the places.
#pragma once

#include <compare>
#include <memory>
#include <span>
#include <vector>

#include "ir/ir.h"
#include "schedule/facts/hidden_reads.h"
#include "schedule/func_tree.h"

namespace loopsmith::schedule {

enum class DependenceKind : uint8_t { Raw, Waw, War, Opaque };

/// `dst` runs after `src` and touches a buffer that `src` touched.
struct Dependence {
  NodeId src = 0;
  NodeId dst = 0;
  DependenceKind kind = DependenceKind::Raw;
  const BufferNode* buffer = nullptr;      // the first one that makes the two depend
  bool is_hidden = false;                  // a hidden read (hidden_reads.h): of `dst`; for War of `src`
  friend auto operator==(const Dependence&, const Dependence&) -> bool = default;
};

struct ScopeBlocks;

/// The blocks that stand in a block, without those inside them, and their dependences. A view: it lives as long as the state.
class Scope {
 public:
  Scope(const FuncTree& func, const ScopeBlocks& blocks) : func_(&func), blocks_(&blocks) {}
  /// The dependences of other blocks on a block, by dst in the order of the text.
  [[nodiscard]] auto of_src(NodeId id) const -> std::vector<Dependence>;
  /// The dependences of a block on others.
  [[nodiscard]] auto of_dst(NodeId id) const -> std::span<const Dependence>;
  /// True where a block overwrites something that was read before, or touches a buffer in an unknown way.
  [[nodiscard]] auto overwrites() const -> bool;
  /// The blocks that write a buffer, in the order of the text.
  [[nodiscard]] auto writers(const BufferNode* buffer) const -> std::vector<NodeId>;
  [[nodiscard]] auto is_written(const BufferNode* buffer) const -> bool;

 private:
  const FuncTree* func_;
  const ScopeBlocks* blocks_;
};

/// The buffers that the blocks of a scope touch, and the dependences that follow. Loops do not matter: states whose steps change only loops
/// share it.
struct ScopeBlocks {
  /// The kinds of touching a buffer.
  enum class Use : uint8_t { Read, HiddenRead, Write };
  struct Touch {
    const BufferNode* buffer = nullptr;
    Use use = Use::Read;
    friend auto operator==(const Touch&, const Touch&) -> bool = default;
  };
  struct Toucher {
    const BufferNode* buffer = nullptr;
    Use use = Use::Read;
    NodeId block = 0;
    friend auto operator==(const Toucher&, const Toucher&) -> bool = default;
    friend auto operator<=>(const Toucher&, const Toucher&) = default;
  };
  struct Known {
    NodeId block = 0;
    Array<Touch> touches;                  // its reads, its hidden reads, its writes
    Array<Dependence> dependences;         // on blocks before it
    /// The very same, not merely equal.
    friend auto operator==(const Known& a, const Known& b) -> bool { return a.block == b.block && a.touches.same_as(b.touches) && a.dependences.same_as(b.dependences); }
  };
  Sequence<Known> blocks;                  // by id
  Sequence<Toucher> touchers;              // by buffer, then by use, then by id
  Sequence<NodeId> silent;                 // the blocks that declare neither reads nor writes
  int overwrites = 0;                      // dependences of a write on a read before it
  [[nodiscard]] auto find(NodeId block) const -> const Known*;
  [[nodiscard]] auto is_written(const BufferNode* buffer) const -> bool;
};

/// A scope with the nodes that it was read from. A strand is a loop or block right below it: a statement of its body, or one below a condition.
struct ScopeTree {
  NodeId scope = 0;
  bool is_plain = false;                   // the strands are all statements of the body
  Sequence<Stmt> strands;
  std::shared_ptr<const ScopeBlocks> blocks;
};

[[nodiscard]] auto make_scope_tree(const FuncTree& func, const Place& scope, KnownHiddenReads& hidden) -> ScopeTree;
/// The same, from the tree of the scope in the state before.
[[nodiscard]] auto make_scope_tree(const FuncTree& func, const Place& scope, KnownHiddenReads& hidden, const ScopeTree& before) -> ScopeTree;
/// True where both hold the same blocks with the same dependences.
[[nodiscard]] auto is_same(const ScopeTree& a, const ScopeTree& b) -> bool;

/// Adds the blocks in a statement, without the blocks inside those.
void add_blocks(const Stmt& stmt, std::vector<const Block*>& out);

/// The blocks in the order of the text, each once.
[[nodiscard]] auto in_text_order(const FuncTree& func, std::vector<NodeId> ids) -> std::vector<NodeId>;

/// The blocks whose region cover may differ from before, in the order of the text: they, a block that they read from, or their dependences
/// changed.
[[nodiscard]] auto changed_consumers(const FuncTree& func, const ScopeTree& before, const ScopeTree& now) -> std::vector<NodeId>;

}  // namespace loopsmith::schedule
