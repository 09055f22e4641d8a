// What a thing of the text is in a view: the loop or block that a variable of a schedule stands for, in the program after that line (an
// editor's "type definition"); the instructions that a loop, block or statement became (its "implementation").
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

/// None: no variable of a schedule is there, or it stands for nothing any more.
[[nodiscard]] auto type_definition(const workspace::Snapshot& snapshot, uint32_t at) -> std::optional<Counterpart>;

/// In a program as it is written, in a schedule after the statement there. None: nothing there became code.
[[nodiscard]] auto implementation(const workspace::Snapshot& snapshot, uint32_t at) -> std::optional<Counterpart>;

}  // namespace loopsmith::lsp
