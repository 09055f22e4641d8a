// From the text to its counterpart in a view: from a variable of a schedule to its loop or block in the program after that line (an editor's "type
// definition"); from a loop, block or statement to its instructions (its "implementation").
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lsp/features/views.h"

namespace loopsmith::lsp {

struct Counterpart {
  std::string address;   // of the view
  std::string text;      // of the view
  std::vector<Span> spans;   // bytes of it; at least one
};

/// None: no variable of a schedule is there, or its loop or block no longer exists.
[[nodiscard]] auto type_definition(const workspace::Snapshot& snapshot, uint32_t at) -> std::optional<Counterpart>;

/// In a program: the code of the program as written; in a schedule: the code after the statement. None: no instruction comes from that place.
[[nodiscard]] auto implementation(const workspace::Snapshot& snapshot, uint32_t at) -> std::optional<Counterpart>;

}  // namespace loopsmith::lsp
