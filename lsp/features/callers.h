// Who uses a function of a text, and whom it uses: programs by their schedules, helpers by schedules and other helpers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lsp/features/symbols.h"
#include "workspace/snapshot.h"

namespace loopsmith::lsp {

struct Callable {
  std::string name;
  SymbolKind kind{};
  Span span;
  Span name_span;
};

/// The function whose name is at an offset, wherever it is defined in the text; none: it is no function's.
[[nodiscard]] auto callable_at(const workspace::Snapshot& snapshot, uint32_t at) -> std::optional<Callable>;

struct Calling {
  Callable other;
  std::vector<Span> places;   // where it is named, in the one that calls; in the order of the text
};
/// `name`: a byte of the function's name where it is defined.
[[nodiscard]] auto callers_of(const workspace::Snapshot& snapshot, uint32_t name) -> std::vector<Calling>;
[[nodiscard]] auto callees_of(const workspace::Snapshot& snapshot, uint32_t name) -> std::vector<Calling>;

}  // namespace loopsmith::lsp
