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

/// Is the program of a schedule none that this file writes? Nothing is known of it then, and the schedule is not run.
[[nodiscard]] auto is_of_another_file(const script::FileSchedule& schedule) -> bool;
inline constexpr const char* not_run_text = "not run: its program is not in this file";

/// Without those of running jobs, which the snapshot does not know.
[[nodiscard]] auto code_lenses(const workspace::Snapshot& snapshot) -> std::vector<Lens>;

}  // namespace loopsmith::lsp
