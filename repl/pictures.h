// Pictures of a schedule for a terminal: the loop tree, footprints beside the caches, the roofline, the curve of a search. They need no colour,
// can be drawn with plain characters (`:set ascii on`), and become sentences for screen readers (`:set plain on`).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cost/what_if.h"
#include "repl/session.h"

namespace loopsmith::repl {

/// The loops and blocks of the program.
[[nodiscard]] auto loops_picture(const Session& session) -> std::string;

/// The memory that one run of each loop touches, each element counted once, as bars on a logarithmic scale with the sizes of the caches.
[[nodiscard]] auto footprint_picture(const Session& session) -> std::string;

/// The distance in elements between two successive iterations of each loop in every buffer: a table for each nest.
[[nodiscard]] auto accesses_picture(const Session& session) -> std::string;

/// The timed steps in a roofline: flops per byte of the program's data, flops per second, and the limits of the machine.
[[nodiscard]] auto roofline_picture(const Session& session) -> std::string;

/// Other factors of a split: the memory that one run of each of its loops touches, the first cache that can hold it (marked if that of the row
/// above is another), and the estimated gain over `here` seconds.
[[nodiscard]] auto factors_picture(const cost::FactorChoices& choices, const cost::CoreModel& core, std::optional<double> here, const Settings& settings) -> std::string;

/// The trials of a search in the order of their measurement, and the best so far; empty if none was measured. 0 is a trial whose measurement
/// did not finish.
[[nodiscard]] auto curve_picture(const std::vector<double>& trials, const Settings& settings) -> std::string;

}  // namespace loopsmith::repl
