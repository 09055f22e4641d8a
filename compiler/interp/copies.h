// Copies that a thread starts and waits for later: cp.async, commit_group, wait_group (PTX, "Asynchronous copy operations").
//
// A copy may be done at any time between its start and the wait that covers it. Here it is done at that wait, the latest time that
// is allowed, so that a program which reads the target too early, or overwrites the source too soon, shows it. The same for the
// queues of an engine that copies (dma_copy, dma_wait), and for bulk copies that complete a phase of a barrier in memory (mbarrier):
// they are done when all threads that it awaits have arrived.
#pragma once

#include "interp/statements.h"

namespace loopsmith::interp {

struct StartCopy final : Statement {
  const PointerExpr* to = nullptr;
  const PointerExpr* from = nullptr;
  const IntExpr* bytes = nullptr;
  const IntExpr* predicate = nullptr;       // null: true; where it is false, zeros are written
  const IntExpr* queue = nullptr;           // null: the thread's own
  const IntExpr* barrier = nullptr;         // where it completes a phase of a barrier
  Origin origin;
  void run(Frame& f) const override;
};
/// The copies that were started since the last group are one.
struct CommitCopies final : Statement {
  const IntExpr* queue = nullptr;
  bool begins = false;                      // a group of the queue, up to its end
  void run(Frame& f) const override;
};
struct WaitForCopies final : Statement {
  const IntExpr* open = nullptr;            // how many of the latest groups may still be under way
  const IntExpr* queue = nullptr;
  Origin origin;
  void run(Frame& f) const override;
};

/// Of a barrier in memory.
struct BarrierStep final : Statement {
  enum class Kind : uint8_t { Begin, Arrive, ArriveWithCopies, Wait } kind = Kind::Arrive;
  const IntExpr* barrier = nullptr;
  const IntExpr* count = nullptr;           // of threads, or bytes; null: none
  Origin origin;
  void run(Frame& f) const override;
};

}  // namespace loopsmith::interp
