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

/// The distance in elements that each loop moves in every buffer from one iteration to the next: a table for each nest.
[[nodiscard]] auto accesses_picture(const Session& session) -> std::string;

/// The steps that were timed in a roofline: flops per byte of the program's data, flops per second, and the limits of the machine.
[[nodiscard]] auto roofline_picture(const Session& session) -> std::string;

/// Other factors of a split: the memory that one run of each of its loops touches, the first cache that holds it (marked where that of the row
/// above is another), and the estimated gain over `here` seconds.
[[nodiscard]] auto factors_picture(const cost::FactorChoices& choices, const cost::CoreModel& core, std::optional<double> here, const Settings& settings) -> std::string;

/// The trials of a search in the order in which they were measured, and the best so far; empty where none was measured. 0 is a trial that was not
/// measured to its end.
[[nodiscard]] auto curve_picture(const std::vector<double>& trials, const Settings& settings) -> std::string;

}  // namespace loopsmith::repl
