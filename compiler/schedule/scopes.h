// The blocks of a scope and how they depend on each other: made anew, or from what was known of the scope before, with work for the
// blocks that changed and those that touch what these touch. What is known holds for nodes: the same node has the same answer.
#pragma once

#include <memory>
#include <span>
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
  std::vector<int> firsts;                 // of each strand, its first block in `info->blocks`
  std::vector<Touch> touches;              // of one block after the other: its reads, what it reads though it does not say so, its writes
  std::vector<int> touch_firsts;           // of each block, where its own begin in `touches`
  std::vector<int> silent;                 // the blocks that declare neither reads nor writes
  std::shared_ptr<const Scope> info;
  [[nodiscard]] auto end_of(size_t strand) const -> int { return strand + 1 < firsts.size() ? firsts[strand + 1] : static_cast<int>(touch_firsts.size()); }
  [[nodiscard]] auto touch_end_of(size_t block) const -> size_t { return block + 1 < touch_firsts.size() ? static_cast<size_t>(touch_firsts[block + 1]) : touches.size(); }
  [[nodiscard]] auto touches_of(size_t block) const -> std::span<const Touch> {
    auto first = static_cast<size_t>(touch_firsts[block]);
    return std::span(touches).subspan(first, touch_end_of(block) - first);
  }
};

/// A scope with the nodes that it was read from. A strand is a loop or block right below it: a statement of its body, or one below a condition.
struct ScopeTree {
  NodeId scope = 0;
  bool is_plain = false;                   // the body's statements are the strands, and nothing else
  Sequence<Stmt> strands;
  std::shared_ptr<const ScopeBlocks> blocks;
  [[nodiscard]] auto info() const -> const Scope& { return *blocks->info; }
};

[[nodiscard]] auto make_scope_tree(const FuncState& func, const Place& scope) -> ScopeTree;
/// The same, from the tree of the scope in a state before.
[[nodiscard]] auto make_scope_tree(const FuncState& func, const Place& scope, const ScopeTree& before) -> ScopeTree;

/// For each strand of a tree, which one of another it is, in the same order; -1: none.
[[nodiscard]] auto same_strands(const ScopeTree& before, const ScopeTree& now) -> std::vector<int>;

/// What of a tree's blocks may be covered otherwise than before: they, a block that they read from, or what they depend on, changed.
[[nodiscard]] auto changed_consumers(const ScopeTree& before, const ScopeTree& now) -> std::vector<int>;

/// Which memory the strands of a scope mention: by a buffer on it, or by the pointer to its elements, in any way.
struct ScopeMentions {
  std::shared_ptr<const ScopeTree> tree;   // which keeps the nodes alive
  std::vector<const VarNode*> data;        // of one strand after the other, each once
  std::vector<int> firsts;                 // of each strand, where its own begin in `data`
  [[nodiscard]] auto end_of(size_t strand) const -> int { return strand + 1 < firsts.size() ? firsts[strand + 1] : static_cast<int>(data.size()); }
};
[[nodiscard]] auto make_scope_mentions(const FuncState& func, const Place& scope, std::shared_ptr<const ScopeTree> tree, const ScopeMentions* before) -> ScopeMentions;

}  // namespace loopsmith::schedule
