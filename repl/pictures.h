// Pictures of a schedule for a terminal: the loop tree, footprints beside the caches, the roofline, the curve of a search. Lines of text
// without a need for colour, also of plain characters (`:set ascii on`); and, for those who listen, sentences (`:set plain on`).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cost/what_if.h"
#include "repl/session.h"

namespace loopsmith::repl {

/// The loops and blocks there are.
[[nodiscard]] auto loops_picture(const Session& session) -> std::string;

/// What one run of every loop touches, each element once, as bars on a scale of powers with the sizes of the caches in it.
[[nodiscard]] auto footprint_picture(const Session& session) -> std::string;

/// How far each loop moves in every buffer from one iteration to the next, in elements: a table a nest.
[[nodiscard]] auto accesses_picture(const Session& session) -> std::string;

/// Where the states that were timed stand under what the machine reaches: flops per byte of the program's data, flops per second.
[[nodiscard]] auto roofline_picture(const Session& session) -> std::string;

/// What factors of a split would come to: of the loops that it makes what one run touches and the first cache that holds it (marked
/// where the row above is held by another), and how much faster a call should be than one that takes `here` seconds by the estimate.
[[nodiscard]] auto factors_picture(const cost::FactorChoices& choices, const cost::CoreModel& core, std::optional<double> here, const Settings& settings) -> std::string;

/// The trials of a search in the order they were measured, and the best so far; empty where there is nothing to compare. 0 is a trial
/// that was not measured to its end.
[[nodiscard]] auto curve_picture(const std::vector<double>& trials, const Settings& settings) -> std::string;

}  // namespace loopsmith::repl
