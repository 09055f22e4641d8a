// The memory that the loops and blocks of a scope mention in any way: through a buffer, or through the pointer to its elements.
#pragma once

#include <compare>
#include <memory>

#include "ir/ir.h"
#include "schedule/facts/dependences.h"

namespace loopsmith::schedule {

struct ScopeMentions {
  struct Mention {
    const VarNode* data = nullptr;
    NodeId strand = 0;
    friend auto operator==(const Mention&, const Mention&) -> bool = default;
    friend auto operator<=>(const Mention&, const Mention&) = default;
  };
  std::shared_ptr<const ScopeTree> tree;   // keeps the nodes alive
  Sequence<Mention> all;                   // sorted
};
/// `before`: the answer for the scope in the state before; null if there is none.
[[nodiscard]] auto make_scope_mentions(std::shared_ptr<const ScopeTree> tree, const ScopeMentions* before) -> ScopeMentions;

}  // namespace loopsmith::schedule
