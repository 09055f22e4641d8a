// Jumps: `break`, `continue` and returns. A jump acts on a loop or a function around the statement that holds it. A pass or primitive that moves,
// repeats or removes that loop or the statement would change its target.
#pragma once

#include <string_view>
#include <vector>

#include "ir/ir.h"

namespace loopsmith {

/// The first jumps of each kind that leave a statement; null: none. A `break` or `continue` of a loop inside the statement does not leave it.
struct Jumps {
  const StmtNode* breaks = nullptr;
  const StmtNode* continues = nullptr;
  const StmtNode* returns = nullptr;

  [[nodiscard]] auto any() const -> bool { return breaks != nullptr || continues != nullptr || returns != nullptr; }
};
[[nodiscard]] auto jumps_out_of(const Stmt& stmt) -> Jumps;

/// The same without returns, which are inside of loops too: the search does not enter loops, so it is short.
[[nodiscard]] auto loop_jumps_out_of(const Stmt& stmt) -> Jumps;

/// A loop whose iterations do not run one after the other, and a jump that needs them to.
struct UnorderedJump {
  const For* loop = nullptr;
  const StmtNode* jump = nullptr;
};
/// The parallel and thread-bound loops that a `break` or a return leaves, and the vectorized loops that any jump leaves; a jump for each loop, the
/// outer loops first. A `continue` ends one iteration only, which parallel loops allow.
[[nodiscard]] auto unordered_jumps(const Stmt& stmt) -> std::vector<UnorderedJump>;

/// "break", "continue" or "return".
[[nodiscard]] auto jump_word(const StmtNode& jump) -> std::string_view;

/// True for `T.ret(...)` and `return`.
[[nodiscard]] auto is_return(const Stmt& stmt) -> bool;

}  // namespace loopsmith
