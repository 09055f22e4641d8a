// The attributes of a written piece as JSON: a cost model that has learnt goes from one search to the next, and into files.
#pragma once

#include <string>

#include "script/tuner/pieces.h"

namespace loopsmith::script {

/// The attributes whose values are numbers, texts, arrays of numbers, or lists, tuples and dictionaries of these. Others, such as extractors of features, are left out: `__init__` makes them.
[[nodiscard]] auto state_text(const Piece& piece) -> std::string;

/// Sets the attributes that a text has. Returns the reason why it cannot; empty: they are set.
[[nodiscard]] auto restore_state(const Piece& piece, const std::string& text) -> std::string;

}  // namespace loopsmith::script
