// From a view to the text: from a line of the view to its place in the program, and to the statements of the schedule that made it, the last
// first. And from a failed statement to its loops and blocks in the
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

/// The steps that made a loop or block of the state after `count` steps, and those that made its origins, the last first. Empty: it is as written.
[[nodiscard]] auto makers_of(const script::ScheduleRun& run, size_t count, NodeId id) -> std::vector<size_t>;

/// The origins of a place in a view (given by its address without the file): first the place in the program, then statements of the schedule, the last first. On
/// a loop or block the origins of that; elsewhere those of the line. Empty: none.
[[nodiscard]] auto origins_in_view(const workspace::Snapshot& snapshot, std::string_view fragment, uint32_t line, uint32_t column) -> std::vector<Span>;

/// The lines of assembly for a line of a view. None: no code comes from it.
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
