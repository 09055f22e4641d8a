// Kernels with explicit barriers: proves, for all threads and blocks, that no two of them race.
//
// The rule: two accesses of one element, of which one is a write, may come from two threads only if a barrier of the block stands between them. Two
// blocks never wait for each other. For each pair of accesses that no barrier separates, the proof shows that a different thread means a different
// element: the parts of an index that depend on the thread differ by more than the other parts can make up for, or differ modulo a number that
// divides all other parts. Conditions are used as far as they select one thread (`tx == 0`).
//
// The counterpart of thread_races.cpp, which finds examples of races. Neither may succeed: a tree reduction is an example.
#pragma once

#include <string>
#include <vector>

#include "analysis/facts.h"
#include "support/diagnostic.h"

namespace loopsmith::analysis {

/// For each kernel of a function that writes its barriers, one hint at its launch: `threads-proved`, or `threads-not-proved` with the accesses or the
/// construct that the proof does not cover. Empty: the function has no such kernel. Kernels that are bound by schedules get their barriers in lowering.
/// `found`: diagnostics of the text; a kernel in whose declaration they have a race or a missed barrier is left out.
[[nodiscard]] auto thread_proofs(const PrimFunc& function, const Diagnostics& found = {}) -> Diagnostics;

}  // namespace loopsmith::analysis
