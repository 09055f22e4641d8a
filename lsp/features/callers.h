// Callers and callees of a function in any file: schedules use programs; schedules and helpers call helpers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lsp/features/cross_file_names.h"
#include "lsp/features/symbols.h"
#include "support/cancel.h"
#include "workspace/snapshot.h"

namespace loopsmith::lsp {

struct Callable {
  const workspace::Snapshot* file = nullptr;
  std::string name;
  SymbolKind kind{};
  Span span;
  Span name_span;
};

/// The function whose name is at an offset, at its definition or at a use; none: no function has that name.
[[nodiscard]] auto callable_at(const workspace::Snapshot& snapshot, uint32_t at) -> std::optional<Callable>;
/// The same, also for functions of other files.
[[nodiscard]] auto callable_at(Files& files, const workspace::Snapshot& snapshot, uint32_t at) -> std::optional<Callable>;

struct Calling {
  Callable other;
  std::vector<Span> places;   // the uses of the name in the caller, in the order of the text
};
/// `name`: a byte of the function's name at its definition. Callers in the same file come first.
[[nodiscard]] auto callers_of(Files& files, const workspace::Snapshot& snapshot, uint32_t name, const CancelToken& cancel) -> std::vector<Calling>;
[[nodiscard]] auto callees_of(Files& files, const workspace::Snapshot& snapshot, uint32_t name) -> std::vector<Calling>;

}  // namespace loopsmith::lsp
