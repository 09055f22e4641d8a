// Outline, folding and growing selections: what a text looks like from a distance.
#pragma once

#include <string>
#include <vector>

#include "workspace/snapshot.h"

namespace loopsmith::lsp {

enum class SymbolKind : uint8_t { Function, Class, Variable, Loop, Block, Schedule };

struct Symbol {
  SymbolKind kind{};
  std::string name;
  std::string detail;
  Span span;       // all of it
  Span name_span;  // inside `span`
  std::vector<Symbol> children;
};

/// Declarations with the loops and blocks in them, as they are nested.
[[nodiscard]] auto document_symbols(const workspace::Snapshot& snapshot) -> std::vector<Symbol>;

/// What can be folded: every statement with a body, of two lines or more.
[[nodiscard]] auto folding_ranges(const workspace::Snapshot& snapshot) -> std::vector<Span>;

/// The spans around an offset, innermost first, each inside the next.
[[nodiscard]] auto selection_spans(const workspace::Snapshot& snapshot, uint32_t offset) -> std::vector<Span>;

}  // namespace loopsmith::lsp
