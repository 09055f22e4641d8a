// Asynchronous copies, which a thread starts and waits for later: cp.async, commit_group, wait_group (PTX, "Asynchronous copy operations").
//
// A copy may complete at any time between its start and the wait that covers it. The interpreter copies at that wait, the latest
// legal time, so that a program that reads the target too early, or overwrites the source too soon, computes a wrong result. The
// same holds for the queues of a copy engine (dma_copy, dma_wait), and for bulk copies that complete a phase of a barrier in memory
// (mbarrier): they complete when all awaited threads have arrived.
#pragma once

#include "interp/statements.h"

namespace loopsmith::interp {

struct StartCopy final : Statement {
  const PointerExpr* to = nullptr;
  const PointerExpr* from = nullptr;
  const IntExpr* bytes = nullptr;
  const IntExpr* predicate = nullptr;       // null: true; if it is false, writes zeros
  const IntExpr* queue = nullptr;           // null: the thread's own queue
  const IntExpr* barrier = nullptr;         // the barrier whose phase it completes; null: none
  uint32_t reads = 0, writes = 0;           // numbers of its accesses in the text
  Name to_name = {}, from_name = {};        // the buffers, where the program names them; for a copy of the machine, whose addresses are multiples of its size
  Origin origin;
  void run(Frame& f) const override;
};
/// Makes a group of the copies that were started since the last group.
struct CommitCopies final : Statement {
  const IntExpr* queue = nullptr;
  bool begins = false;                      // begins a group of the queue; false: ends one
  void run(Frame& f) const override;
};
struct WaitForCopies final : Statement {
  const IntExpr* open = nullptr;            // the number of the latest groups that may still be unfinished
  const IntExpr* queue = nullptr;
  Origin origin;
  void run(Frame& f) const override;
};

/// An operation on a barrier in memory.
struct BarrierStep final : Statement {
  enum class Kind : uint8_t { Begin, Arrive, ArriveWithCopies, Wait } kind = Kind::Arrive;
  const IntExpr* barrier = nullptr;
  const IntExpr* count = nullptr;           // a number of threads or bytes; null: none
  Origin origin;
  void run(Frame& f) const override;
};

}  // namespace loopsmith::interp
