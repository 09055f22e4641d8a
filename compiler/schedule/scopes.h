// The blocks of a scope and how they depend on each other: made anew, or from what was known of the scope before, with work for the
// blocks that changed and those that touch what these touch. What is known holds for nodes: the same node has the same answer.
#pragma once

#include <compare>
#include <memory>
#include <vector>

#include "ir/ir.h"
#include "schedule/state.h"

namespace loopsmith::schedule {

/// A scope with the nodes that it was read from, which the function keeps alive.
struct ScopeTree {
  /// A statement of the scope's body, or one below a condition: a loop or block right below the scope.
  struct Strand { const void* node = nullptr; NodeId id = 0; int first = 0; };   // `first`: of `blocks`, the first one in it
  NodeId scope = 0;
  PrimFunc made_from;
  std::vector<Strand> strands;
  std::vector<const Block*> blocks;        // of `info->blocks`
  std::shared_ptr<const Scope> info;
  [[nodiscard]] auto end_of(size_t strand) const -> int { return strand + 1 < strands.size() ? strands[strand + 1].first : static_cast<int>(blocks.size()); }
};

[[nodiscard]] auto make_scope_tree(const FuncState& func, const Place& scope) -> ScopeTree;
/// The same, from the tree of the scope in a state before.
[[nodiscard]] auto make_scope_tree(const FuncState& func, const Place& scope, const ScopeTree& before) -> ScopeTree;

/// For each strand of a tree, which one of another it is, in the same order; -1: none.
[[nodiscard]] auto same_strands(const ScopeTree& before, const ScopeTree& now) -> std::vector<int>;

/// What of a tree's blocks may be covered otherwise than before: they, a block that they read from, or what they depend on, changed.
[[nodiscard]] auto changed_consumers(const ScopeTree& before, const ScopeTree& now) -> std::vector<int>;

/// Which strands of a scope mention which buffers, or the pointers to their elements, in any way.
struct ScopeMentions {
  struct Mention {
    const void* what = nullptr;
    NodeId strand = 0;
    friend auto operator<=>(const Mention&, const Mention&) = default;
  };
  std::shared_ptr<const ScopeTree> tree;
  std::vector<Mention> mentions;           // by what is mentioned
};
[[nodiscard]] auto make_scope_mentions(const FuncState& func, const Place& scope, std::shared_ptr<const ScopeTree> tree, const ScopeMentions* before) -> ScopeMentions;

}  // namespace loopsmith::schedule
