// Jumps: `break`, `continue` and returns. A jump acts on a loop or function around its statement. A pass or primitive that moves,
// repeats or removes that loop or the statement would change the target of the jump.
#pragma once

#include <string_view>
#include <vector>

#include "ir/ir.h"

namespace loopsmith {

/// The first jump of each kind that leaves a statement; null: none. A `break` or `continue` of a loop inside the statement does not leave it.
struct Jumps {
  const StmtNode* breaks = nullptr;
  const StmtNode* continues = nullptr;
  const StmtNode* returns = nullptr;

  [[nodiscard]] auto any() const -> bool { return breaks != nullptr || continues != nullptr || returns != nullptr; }
};
[[nodiscard]] auto jumps_out_of(const Stmt& stmt) -> Jumps;

/// The same without returns, which may also be inside of loops: this search does not enter loops, so it is short.
[[nodiscard]] auto loop_jumps_out_of(const Stmt& stmt) -> Jumps;

/// A loop whose iterations do not run one after the other, and a jump that requires them to.
struct UnorderedJump {
  const For* loop = nullptr;
  const StmtNode* jump = nullptr;
};
/// The parallel and thread-bound loops that a `break` or a return leaves, and the vectorized loops that any jump leaves; one jump for each loop,
/// outer loops first. A `continue` only ends one iteration, which parallel loops allow.
[[nodiscard]] auto unordered_jumps(const Stmt& stmt) -> std::vector<UnorderedJump>;

/// "break", "continue" or "return".
[[nodiscard]] auto jump_word(const StmtNode& jump) -> std::string_view;

/// True for `T.ret(...)` and `return`.
[[nodiscard]] auto is_return(const Stmt& stmt) -> bool;

}  // namespace loopsmith
