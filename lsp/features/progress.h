// Progress of schedule runs as marks beside the lines: statements that have not run since a change, the statement that runs, the statement
// that failed. The marks follow those of editors for Lean.
#pragma once

#include <vector>

#include "workspace/snapshot.h"

namespace loopsmith::lsp {

struct ReplayMark {
  enum class State : uint8_t {
    Stale,     // has not run since it or a statement above it changed, or because a statement above it failed
    Running,
    Failed,
  };
  Span span;   // of the statement
  State state{};
};

/// The marks in the order of the text. Statements that ran to their end have no mark.
/// `running`: the present run, before its step `step`; null: none. `finished`: declarations whose schedules have run since the check.
[[nodiscard]] auto replay_marks(const workspace::Snapshot& snapshot, const script::ScheduleRun* running = nullptr, size_t step = 0,
                                const std::vector<DeclId>& finished = {}) -> std::vector<ReplayMark>;

/// The estimated seconds for the statements that have not run, from the last run of the same statements. New statements
/// count as 0.
[[nodiscard]] auto seconds_to_replay(const workspace::Snapshot& snapshot) -> double;

}  // namespace loopsmith::lsp
