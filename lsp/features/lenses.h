// Code lenses: over each program what is known of it and what can be done, over each schedule how far it ran.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lsp/features/tuning.h"

#include "workspace/snapshot.h"

namespace loopsmith::lsp {

struct Lens {
  enum class Action : uint8_t { None, Tune, View, Fill };
  Span span;               // of the name it stands over
  std::string title;
  Action action{};
  std::string function;    // the program or schedule
  std::optional<Hole> hole = {};   // to be filled
};

/// Without those of running jobs, which the snapshot does not know.
[[nodiscard]] auto code_lenses(const workspace::Snapshot& snapshot) -> std::vector<Lens>;

}  // namespace loopsmith::lsp
