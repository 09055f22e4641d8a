// Views: the program after a statement of a schedule, or after lowering, as the text of a `loopsmith-ir:` document.
//
// The address of a view is that of the text, then `#SCHEDULE@STEPS` with the number of statements that have run. Without `@STEPS`
// all have run; without a schedule the view has the programs of the file as written. `:lowered`, `:llvm`, `:asm`, `:device`, `:cuda`,
// `:opencl` or `:ptx` at the end selects a later stage of the same program; a PROGRAM may then replace SCHEDULE.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lsp/features/stages.h"
#include "workspace/snapshot.h"

namespace loopsmith::lsp {

inline constexpr std::string_view view_scheme = "loopsmith-ir:";

struct View {
  std::string address;      // "loopsmith-ir:/a.tir#tiled@3"
  std::string title;        // "tiled after 3 of 12 statements: i0, i1 = sch.split(i, factors=[None, 8])"
  std::string text;
  /// Lines (from 0, end not counted) that differ from the step before.
  std::vector<std::pair<uint32_t, uint32_t>> changed;
  /// Lines of the view (from 0) and the bytes of the text that they come from, in the order of the view.
  std::vector<std::pair<uint32_t, Span>> sources;
  /// Lines of the view and the statements of the schedule that made them, one pair each.
  std::vector<std::pair<uint32_t, Span>> steps;
  /// Loops and blocks in `text`, outer ones first, without their nodes; empty for later stages.
  std::vector<PrintedRange> places;
  /// The schedule of the state, in the snapshot, and the number of its steps that have run; null: the program as written.
  const script::FileSchedule* schedule = nullptr;
  size_t reached = 0;
  /// True when the schedule stopped before the requested place; `text` is the last state.
  bool is_behind = false;
};

/// The view of a place in the text: in a schedule the program after the statement there; elsewhere the programs as written, or the later stage of
/// the program there. None: no schedule and no program is there.
[[nodiscard]] auto view_at(const workspace::Snapshot& snapshot, uint32_t at, Stage stage = Stage::State) -> std::optional<View>;

/// The view of an address, given without its file: "tiled@3", "tiled", "", "tiled@3:asm", "matmul:lowered".
[[nodiscard]] auto view_of(const workspace::Snapshot& snapshot, std::string_view fragment) -> std::optional<View>;

/// "loopsmith-ir:/a.tir" for "file:///a.tir"; for the address of a view, the part without the fragment.
[[nodiscard]] auto view_address(std::string_view uri) -> std::string;

}  // namespace loopsmith::lsp
