// Measurements in hovers: for a draw, the recorded time of each value as a line of bars; for a schedule, its time and the comparison of its results.
#pragma once

#include "lsp/features/hover.h"
#include "lsp/features/measured.h"

namespace loopsmith::lsp {

/// Adds to a hover over a sampling call the values drawn in searches, with their best times.
void add_recorded_draws(const Measured& measured, HoverInfo& info);

/// Adds to a hover over a schedule its measurements in this session.
void add_measurements(const workspace::Snapshot& snapshot, const Measured& measured, HoverInfo& info);

}  // namespace loopsmith::lsp
