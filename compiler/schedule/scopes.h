// The blocks of a scope and how they depend on each other: made anew, or from what was known of the scope before, with work for the
// blocks that changed and those that touch what these touch. What is known holds for nodes: the same node has the same answer.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "ir/ir.h"
#include "schedule/state.h"

namespace loopsmith::schedule {

/// A scope with the nodes that it was read from, which the function keeps alive.
struct ScopeTree {
  /// A statement of the scope's body, or one below a condition: a loop or block right below the scope.
  struct Strand { const void* node = nullptr; NodeId id = 0; int first = 0; };   // `first`: of `blocks`, the first one in it
  /// A block touches a buffer.
  enum class Use : uint8_t { Read, HiddenRead, Write };
  struct Touch { const BufferNode* buffer = nullptr; Use use = Use::Read; };
  NodeId scope = 0;
  PrimFunc made_from;
  std::vector<Strand> strands;
  std::vector<const Block*> blocks;        // of `info->blocks`
  std::vector<Touch> touches;              // of one block after the other: its reads, what it reads though it does not say so, its writes
  std::vector<int> touch_firsts;           // of each block, where its own begin in `touches`
  std::vector<int> silent;                 // of `blocks`, those that declare neither reads nor writes
  std::shared_ptr<const Scope> info;
  [[nodiscard]] auto end_of(size_t strand) const -> int { return strand + 1 < strands.size() ? strands[strand + 1].first : static_cast<int>(blocks.size()); }
  [[nodiscard]] auto touch_end_of(size_t block) const -> size_t { return block + 1 < touch_firsts.size() ? static_cast<size_t>(touch_firsts[block + 1]) : touches.size(); }
  [[nodiscard]] auto touches_of(size_t block) const -> std::span<const Touch> {
    auto first = static_cast<size_t>(touch_firsts[block]);
    return std::span(touches).subspan(first, touch_end_of(block) - first);
  }
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
  std::shared_ptr<const ScopeTree> tree;
  std::vector<const VarNode*> data;        // of one strand after the other, each once
  std::vector<int> firsts;                 // of each strand, where its own begin in `data`
  [[nodiscard]] auto end_of(size_t strand) const -> int { return strand + 1 < firsts.size() ? firsts[strand + 1] : static_cast<int>(data.size()); }
};
[[nodiscard]] auto make_scope_mentions(const FuncState& func, const Place& scope, std::shared_ptr<const ScopeTree> tree, const ScopeMentions* before) -> ScopeMentions;

}  // namespace loopsmith::schedule
