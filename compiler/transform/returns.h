// Bodies without returns: a return becomes a branch around the statements behind it, or a flag. For the passes that put bodies in other places.
#pragma once

#include <optional>

#include "ir/ir.h"

namespace loopsmith::transform {

/// The call of a return statement; null for other statements.
[[nodiscard]] auto as_return(const Stmt& s) -> const Call*;
[[nodiscard]] auto count_returns(const Stmt& s) -> int;
[[nodiscard]] auto always_returns(const Stmt& s) -> bool;

/// A body without returns, followed by `rest`, which has none and runs only if the body does not return: the statements behind `if c: return` become its other
/// branch. Values of returns are lost. None where that is impossible: for a return in a loop, or in one of two branches that both go on.
[[nodiscard]] auto without_return(const Stmt& s, const Stmt& rest = {}) -> std::optional<Stmt>;

/// Drops the values of returns, for bodies whose value is unused.
[[nodiscard]] auto without_values(const Stmt& s) -> Stmt;

/// Lowers returns in loops: one sets a flag in a cell, stores its value in another cell, and breaks out of the loops around it.
class Leaver {
 public:
  /// `type`: of the value; void: none. `scope`: the memory of the cells.
  Leaver(DataType type, Origin origin, Name scope = Name("global"));
  /// None for loops that a jump cannot leave: their iterations have no order, or belong to a block.
  [[nodiscard]] auto run(const Stmt& body) -> std::optional<Stmt>;
  [[nodiscard]] auto value() const -> const Buffer& { return value_; }
  /// Allocates the cells around their uses.
  [[nodiscard]] auto around(Stmt body) const -> Stmt;

 private:
  auto leave(const Stmt& s, bool in_loop) -> std::optional<Stmt>;
  [[nodiscard]] auto is_done() const -> Expr;
  Buffer done_, value_;
};

}  // namespace loopsmith::transform
