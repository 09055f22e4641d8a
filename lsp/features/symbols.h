// Outline, folding and growing selections.
#pragma once

#include <string>
#include <vector>

#include "workspace/snapshot.h"

namespace loopsmith::lsp {

/// Step: a statement of a schedule. Job, Record: a search or a measurement of a program; not in the text (symbol_search.h).
enum class SymbolKind : uint8_t { Function, Class, Variable, Buffer, Loop, Block, Schedule, Step, Job, Record };

struct Symbol {
  SymbolKind kind{};
  std::string name;
  std::string detail;
  Span span;       // the whole symbol
  Span name_span;  // inside `span`
  std::vector<Symbol> children;
};

/// Declarations with their contents: programs with their buffers, loops and blocks, schedules with their steps and the result of each.
[[nodiscard]] auto document_symbols(const workspace::Snapshot& snapshot) -> std::vector<Symbol>;

/// The statements that can be folded: those with a body, on at least two lines.
[[nodiscard]] auto folding_ranges(const workspace::Snapshot& snapshot) -> std::vector<Span>;

/// The spans around an offset, innermost first, each inside the next.
[[nodiscard]] auto selection_spans(const workspace::Snapshot& snapshot, uint32_t offset) -> std::vector<Span>;

}  // namespace loopsmith::lsp
