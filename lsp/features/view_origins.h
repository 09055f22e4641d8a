// From a view back to the text: the place of the program that a line of it stands for, and the statements of the schedule that made what is
// there, from the last one back to the program as it is written. And from a failed statement to the loops and blocks that it is about, in the
// view of the state before it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lsp/features/counterparts.h"
#include "script/run.h"
#include "workspace/snapshot.h"

namespace loopsmith::lsp {

/// Of a loop or block in the state after `count` steps: the steps that made it and what it was made of, the last first. Empty: it is as written.
[[nodiscard]] auto makers_of(const script::ScheduleRun& run, size_t count, NodeId id) -> std::vector<size_t>;

/// Of a place of the view with an address, without the text's own part: first the program's, then statements of the schedule, the last first. On a
/// loop or block those of that; elsewhere those of the line. Empty: it came from nowhere.
[[nodiscard]] auto origins_in_view(const workspace::Snapshot& snapshot, std::string_view fragment, uint32_t line, uint32_t column) -> std::vector<Span>;

/// The lines of assembly that came of a line of a view. None: no code did.
[[nodiscard]] auto code_of_view(const workspace::Snapshot& snapshot, std::string_view fragment, uint32_t line) -> std::optional<Counterpart>;

/// Loops and blocks that a finding about a failed statement names, in the state before it.
struct FaultPlace { std::string what; Span span; };   // "loop `k`"; bytes of the view's text
struct FaultState {
  std::string address;
  std::string text;
  std::vector<FaultPlace> places;
};
[[nodiscard]] auto state_at_fault(const workspace::Snapshot& snapshot, const workspace::Finding& finding) -> std::optional<FaultState>;

}  // namespace loopsmith::lsp
