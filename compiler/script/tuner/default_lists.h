// The default lists of TVM's pieces, as the methods `create` of `ms.ScheduleRule`, `ms.Postproc` and `ms.Mutator` return them: a text of the script language for each
// kind of target, so a user sees the parameters of each piece.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "script/tuner/pieces.h"

namespace loopsmith::script {

/// The expression of a list (for mutators, of a dictionary with shares) for "llvm", "cuda", "cuda-tensorcore" or "hexagon"; empty: TVM has no such kind.
[[nodiscard]] auto default_list(PieceKind pieces, std::string_view kind) -> std::string;
/// The kinds that have lists.
[[nodiscard]] auto default_list_kinds() -> const std::vector<std::string_view>&;

}  // namespace loopsmith::script
