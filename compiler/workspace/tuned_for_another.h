// A search finds a schedule for one program. When that program is edited, its certificate (edits/certificate.h) no longer fits, and the schedule
// may be slow or may not apply any more: the finding `tuned-for-another`.
#pragma once

#include <optional>

#include "workspace/snapshot.h"

namespace loopsmith::workspace {

/// True if a search found the schedule for another program than its present one. False also while that is unknown: the schedule has not run.
[[nodiscard]] auto is_tuned_for_another(const Snapshot& snapshot, const script::FileSchedule& schedule) -> bool;

/// The same as a diagnostic, which names the steps that still apply.
[[nodiscard]] auto tuned_for_another(const Snapshot& snapshot, const script::FileSchedule& schedule) -> std::optional<Diagnostic>;

}  // namespace loopsmith::workspace
