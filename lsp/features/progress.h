// Progress of running the schedules of a text, as marks beside its lines: statements that are not run since they changed, the one that runs, the one
// that failed. After the marks of Lean's editors.
#pragma once

#include <vector>

#include "workspace/snapshot.h"

namespace loopsmith::lsp {

struct ReplayMark {
  enum class State : uint8_t {
    Stale,     // not run since it or a statement above it changed, or because one above it failed
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

/// Seconds that it takes to run the statements that are not run yet, by the last run of the same statements. New statements
/// count nothing.
[[nodiscard]] auto seconds_to_replay(const workspace::Snapshot& snapshot) -> double;

}  // namespace loopsmith::lsp
