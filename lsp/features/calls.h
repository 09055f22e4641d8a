// The call around a cursor, found in the text alone, because most calls at a cursor are not finished and have no syntax tree.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/origin.h"

namespace loopsmith::lsp {

struct CallContext {
  std::string callee;            // "sch.split", "T.axis.remap"
  uint32_t open = 0;             // byte of the "("
  size_t argument = 0;           // commas before the cursor, in this call
  std::string keyword;           // of the argument that the cursor is in; empty: positional
  std::vector<std::string> arguments;   // texts of the arguments before the cursor's, trimmed
  size_t list_item = 0;          // commas before the cursor in the list that is the argument; with in_list
  bool in_list = false;
  std::vector<std::string> list_items;  // texts of the items before the cursor's; with in_list
  bool in_tuple = false;         // the argument is in parentheses, and the cursor is inside them
  bool in_dictionary = false;    // the argument is a dictionary, and the cursor is in a key
};

/// The word and the call around a cursor. `text` is one declaration, `at` a byte of it.
struct CursorText {
  std::string object;            // "sch" of `sch.spl|`; "T.axis"; empty: no dot
  std::string prefix;            // "spl"
  uint32_t prefix_begin = 0;
  bool in_string = false;        // `prefix` is then the text between the quote and the cursor
  bool in_comment = false;
  std::optional<CallContext> call;   // the innermost open call
};
[[nodiscard]] auto cursor_text(std::string_view text, uint32_t at) -> CursorText;

}  // namespace loopsmith::lsp
