// Symbols of the workspace by a few of their letters: programs, schedules and blocks of a file, and jobs and recorded times of its programs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lsp/features/measured.h"
#include "lsp/features/symbols.h"

namespace loopsmith::lsp {

struct FoundSymbol {
  std::string name;
  SymbolKind kind{};
  Span name_span;
  std::string container;   // the declaration around it; empty: none
};

/// In the order of the text. Loops, buffers and variables are left out: a workspace has too many of them.
[[nodiscard]] auto symbols_found(const workspace::Snapshot& snapshot, std::string_view query) -> std::vector<FoundSymbol>;

/// Jobs, as events, and the best recorded times, as numbers, at the functions that they are of.
[[nodiscard]] auto measured_symbols(const workspace::Snapshot& snapshot, const Measured& measured, std::string_view query) -> std::vector<FoundSymbol>;

/// May a text that is not open have a symbol for the query? Looks at letters only.
[[nodiscard]] auto may_have_symbol(std::string_view text, std::string_view query) -> bool;

}  // namespace loopsmith::lsp
