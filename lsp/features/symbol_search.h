// Search for symbols of the workspace by a few letters: programs, schedules and blocks of a file, and jobs and recorded times of its programs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lsp/features/measured.h"
#include "lsp/features/symbols.h"

namespace loopsmith::lsp {

/// True when a name contains the letters of a query in order, ignoring case. An empty query matches every name.
[[nodiscard]] auto matches_query(std::string_view name, std::string_view query) -> bool;

struct FoundSymbol {
  std::string name;
  SymbolKind kind{};
  Span name_span;
  std::string container;   // the declaration around it; empty: none
};

/// In the order of the text. Without loops, buffers and variables, since a workspace has too many.
[[nodiscard]] auto symbols_found(const workspace::Snapshot& snapshot, std::string_view query) -> std::vector<FoundSymbol>;

/// Jobs as symbols of kind event, and the best recorded times as symbols of kind number, at their functions.
[[nodiscard]] auto measured_symbols(const workspace::Snapshot& snapshot, const Measured& measured, std::string_view query) -> std::vector<FoundSymbol>;

/// True when a text that is not open may have a symbol for the query. Compares letters only.
[[nodiscard]] auto may_have_symbol(std::string_view text, std::string_view query) -> bool;

}  // namespace loopsmith::lsp
