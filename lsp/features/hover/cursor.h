// The place of a cursor in the syntax of a text, for hovers.
#pragma once

#include <optional>
#include <vector>

#include "syntax/ast.h"
#include "workspace/snapshot.h"

namespace loopsmith::lsp {

/// The syntax nodes around an offset, outermost first, and the declaration that their spans are relative to.
struct Cursor {
  Origin at;                                // the innermost declaration and the byte in it
  std::vector<const syntax::Node*> nodes;   // nodes of that declaration
  Name name;                                // the name at the cursor; empty: none
  Span name_span;                           // its span in the text
};

/// None: no declaration is at the offset.
[[nodiscard]] auto find_cursor(const workspace::Snapshot& snapshot, uint32_t offset) -> std::optional<Cursor>;

/// The span in the text of a span relative to the declaration of a node.
[[nodiscard]] auto span_of(const workspace::Snapshot& snapshot, const syntax::Node& node, Span inside) -> Span;

}  // namespace loopsmith::lsp
