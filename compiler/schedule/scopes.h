// The blocks of a scope and how they depend on each other: made anew, or from what was known of the scope before, with work for the
// blocks that changed and those that touch what these touch. What is known holds for nodes: the same node has the same answer. All of it stands
// in sorted sequences that states share; where a block stands among others is asked of the places.
#pragma once

#include <compare>
#include <memory>
#include <vector>

#include "ir/ir.h"
#include "schedule/state.h"

namespace loopsmith::schedule {

/// What the blocks of a scope touch, and what follows from that. Loops around them have no part in it: states whose steps change loops only
/// share it.
struct ScopeBlocks {
  /// A block touches a buffer.
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
    Array<Touch> touches;                  // its reads, what it reads though it does not say so, its writes
    Array<Dependence> dependences;         // on blocks before it
    /// The very same, not merely equal.
    friend auto operator==(const Known& a, const Known& b) -> bool { return a.block == b.block && a.touches.same_as(b.touches) && a.dependences.same_as(b.dependences); }
  };
  Sequence<Known> blocks;                  // by id
  Sequence<Toucher> touchers;              // by buffer, then by use, then by id
  Sequence<NodeId> silent;                 // the blocks that declare neither reads nor writes
  int overwrites = 0;                      // dependences of what is written on what read it before
  [[nodiscard]] auto find(NodeId block) const -> const Known*;
  [[nodiscard]] auto is_written(const BufferNode* buffer) const -> bool;
};

/// A scope with the nodes that it was read from. A strand is a loop or block right below it: a statement of its body, or one below a condition.
struct ScopeTree {
  NodeId scope = 0;
  bool is_plain = false;                   // the body's statements are the strands, and nothing else
  Sequence<Stmt> strands;
  std::shared_ptr<const ScopeBlocks> blocks;
};

[[nodiscard]] auto make_scope_tree(const FuncState& func, const Place& scope) -> ScopeTree;
/// The same, from the tree of the scope in a state before.
[[nodiscard]] auto make_scope_tree(const FuncState& func, const Place& scope, const ScopeTree& before) -> ScopeTree;
/// Is the same known in both?
[[nodiscard]] auto is_same(const ScopeTree& a, const ScopeTree& b) -> bool;

/// The blocks in a statement, not counting blocks inside those.
void add_blocks(const Stmt& stmt, std::vector<const Block*>& out);

/// Each once.
[[nodiscard]] auto in_text_order(const FuncState& func, std::vector<NodeId> ids) -> std::vector<NodeId>;

/// What of a tree's blocks may be covered otherwise than before, in the order of the text: they, a block that they read from, or what they
/// depend on, changed.
[[nodiscard]] auto changed_consumers(const FuncState& func, const ScopeTree& before, const ScopeTree& now) -> std::vector<NodeId>;

/// Which memory the strands of a scope mention: by a buffer on it, or by the pointer to its elements, in any way.
struct ScopeMentions {
  struct Mention {
    const VarNode* data = nullptr;
    NodeId strand = 0;
    friend auto operator==(const Mention&, const Mention&) -> bool = default;
    friend auto operator<=>(const Mention&, const Mention&) = default;
  };
  std::shared_ptr<const ScopeTree> tree;   // which keeps the nodes alive
  Sequence<Mention> all;                   // sorted
};
[[nodiscard]] auto make_scope_mentions(std::shared_ptr<const ScopeTree> tree, const ScopeMentions* before) -> ScopeMentions;

}  // namespace loopsmith::schedule
