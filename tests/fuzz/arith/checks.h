// The checks, one per kind: each creates a random case and returns the error that it finds, or an empty text.
#pragma once

#include <string>

#include "generate.h"

namespace loopsmith::fuzz {

auto check_expression(Random& random) -> std::string;   // simplifiers, bounds, modular sets, proofs, interval of the whole
auto check_ends(Random& random) -> std::string;         // the same, with values at the ends of their types
auto check_vector(Random& random) -> std::string;       // ramps and broadcasts, lane by lane
auto check_set(Random& random) -> std::string;          // int sets with some variables relaxed; unions, intersections
auto check_bound(Random& random) -> std::string;        // deduce_bound
auto check_system(Random& random) -> std::string;       // linear equations and inequalities
auto check_map(Random& random) -> std::string;          // iteration maps, their inverse and division

}  // namespace loopsmith::fuzz
