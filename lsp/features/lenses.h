// Code lenses: over each program its measurements and commands for it, over each schedule how many of its steps ran and commands for it.
#pragma once

#include <string>
#include <vector>

#include "lsp/features/commands.h"
#include "lsp/features/measured.h"
#include "lsp/features/tuning.h"
#include "workspace/snapshot.h"

namespace loopsmith::lsp {

struct Lens {
  Span span;               // of the name below the lens
  std::string title;
  OfferedCommand command = {};
};

/// True when the program of a schedule is in no known file, so that the schedule does not run.
[[nodiscard]] auto is_of_another_file(const script::FileSchedule& schedule) -> bool;
inline constexpr const char* not_run_text = "not run: its program is not in this file";

/// `with_views`: the editor can show Loopsmith's views and texts beside the file.
[[nodiscard]] auto code_lenses(const workspace::Snapshot& snapshot, const Measured& measured, bool with_views) -> std::vector<Lens>;

/// The lens over the hole of a schedule: it begins a search, stops it, or inserts the steps that were found.
[[nodiscard]] auto hole_lens(const workspace::Snapshot& snapshot, const Measured& measured, const std::string& schedule, const Hole& hole) -> Lens;

}  // namespace loopsmith::lsp
