// Copies that a thread starts and waits for later: cp.async, commit_group, wait_group (PTX, "Asynchronous copy operations").
//
// A copy may be done at any time between its start and the wait that covers it. Here it is done at that wait, the latest time that
// is allowed, so that a program which reads the target too early, or overwrites the source too soon, shows it.
#pragma once

#include "interp/statements.h"

namespace loopsmith::interp {

struct StartCopy final : Statement {
  const PointerExpr* to = nullptr;
  const PointerExpr* from = nullptr;
  const IntExpr* bytes = nullptr;
  const IntExpr* predicate = nullptr;       // null: true; where it is false, zeros are written
  Origin origin;
  void run(Frame& f) const override;
};
/// The copies that were started since the last group are one.
struct CommitCopies final : Statement {
  void run(Frame& f) const override;
};
struct WaitForCopies final : Statement {
  const IntExpr* open = nullptr;            // how many of the latest groups may still be under way
  Origin origin;
  void run(Frame& f) const override;
};

}  // namespace loopsmith::interp
