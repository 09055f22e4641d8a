// A schedule that a search found is for one program. When that program is edited, its certificate (edits/certificate.h) no longer fits, and the schedule
// may be slow or may not apply any more: the finding `tuned-for-another`.
#pragma once

#include <optional>

#include "workspace/snapshot.h"

namespace loopsmith::workspace {

/// True when a search found the schedule for another program than the one that it names now. False while that is unknown: the schedule has not run.
[[nodiscard]] auto is_tuned_for_another(const Snapshot& snapshot, const script::FileSchedule& schedule) -> bool;

/// The same as a diagnostic, which names the steps that still hold.
[[nodiscard]] auto tuned_for_another(const Snapshot& snapshot, const script::FileSchedule& schedule) -> std::optional<Diagnostic>;

}  // namespace loopsmith::workspace
