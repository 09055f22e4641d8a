// Programs that can be tuned, and found schedules as edits, under the names that the features use: workspace/selection.h and workspace/edits have them.
#pragma once

#include "lsp/features/lines.h"
#include "workspace/edits/holes.h"
#include "workspace/edits/placing.h"
#include "workspace/selection.h"

namespace loopsmith::lsp {

using workspace::Hole;
using workspace::Insertion;
using workspace::ScheduleInFile;
using workspace::Tunable;
using workspace::has_steps_of;
using workspace::hole_of;
using workspace::in_form_of;
using workspace::insertion_after;
using workspace::insertion_behind;
using workspace::makes_schedules_itself;
using workspace::tunables_in;

/// The text that takes the place of the hole. Empty: the hole is not in the text any more.
[[nodiscard]] inline auto filled(const workspace::Snapshot& snapshot, const Hole& hole, std::string_view statements) -> std::string {
  auto edit = workspace::fill_hole(snapshot.text(), hole, statements);
  return edit ? edit->text : std::string();
}

}  // namespace loopsmith::lsp
