// How far the schedules of a text are run: the statements that were not since they changed, the one that runs, the one that failed. What an
// editor shows beside the lines, as Lean's do.
#pragma once

#include <vector>

#include "workspace/snapshot.h"

namespace loopsmith::lsp {

struct ReplayMark {
  enum class State : uint8_t {
    Stale,     // not run as it is: it changed, something above it did, or something above it failed
    Running,
    Failed,
  };
  Span span;   // of the statement
  State state{};
};

/// Statements that ran to their end have no mark. In the order of the text.
/// `running`: the run that goes on, before its step `step`; null: none does. `finished`: declarations whose schedules ran since the check.
[[nodiscard]] auto replay_marks(const workspace::Snapshot& snapshot, const script::ScheduleRun* running = nullptr, size_t step = 0,
                                const std::vector<DeclId>& finished = {}) -> std::vector<ReplayMark>;

/// What it takes to run the schedules of a text as far as they are not run: seconds, by the last run of the same statements. Statements that
/// are new count nothing.
[[nodiscard]] auto seconds_to_replay(const workspace::Snapshot& snapshot) -> double;

}  // namespace loopsmith::lsp
