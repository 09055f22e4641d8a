// Measurements in hovers: the times that were recorded for each value of a draw, as a line of bars, and the time and the comparison of a schedule.
#pragma once

#include "lsp/features/hover.h"
#include "lsp/features/measured.h"

namespace loopsmith::lsp {

/// Adds to a hover over a sampling call the values that searches drew, with their best times.
void add_recorded_draws(const Measured& measured, HoverInfo& info);

/// Adds to a hover over a schedule what was measured of it in this session.
void add_measurements(const workspace::Snapshot& snapshot, const Measured& measured, HoverInfo& info);

}  // namespace loopsmith::lsp
