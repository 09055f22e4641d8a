// What can be tuned, and where a found schedule goes in the text.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "workspace/snapshot.h"

namespace loopsmith::lsp {

/// A program that a search can be started for.
struct Tunable {
  std::string name;
  Span span;       // of the whole function
  Span name_span;
};

/// The prim_funcs that a span touches.
[[nodiscard]] auto tunables_in(const workspace::Snapshot& snapshot, Span span) -> std::vector<Tunable>;

struct Insertion {
  uint32_t offset = 0;
  std::string text;
};

/// A schedule function placed behind the top-level declaration that holds the program, with blank lines around it as
/// between any two functions. None: the program is not in the text any more.
[[nodiscard]] auto insertion_after(const workspace::Snapshot& snapshot, std::string_view function, std::string_view schedule_text)
    -> std::optional<Insertion>;

}  // namespace loopsmith::lsp
