// The functions of workspace/selection.h and workspace/edits under the names that the features use: programs that can be tuned, found schedules as edits.
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

/// The text that replaces the hole. Empty: the hole is no longer in the text.
[[nodiscard]] inline auto filled(const workspace::Snapshot& snapshot, const Hole& hole, std::string_view statements) -> std::string {
  auto edit = workspace::fill_hole(snapshot.text(), hole, statements);
  return edit ? edit->text : std::string();
}

}  // namespace loopsmith::lsp
