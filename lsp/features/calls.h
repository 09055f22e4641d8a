// The call around a cursor, found in the text alone: calls are looked at most while they are not finished.
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
  size_t list_item = 0;          // commas before the cursor in a list that the argument is; with in_list
  bool in_list = false;
  std::vector<std::string> list_items;  // texts of the items before the cursor's; with in_list
  bool in_tuple = false;         // the cursor is within parentheses that the argument is
  bool in_dictionary = false;    // the argument is one, and the cursor is in a key of it
};

/// The word and the call around a cursor. `text` is one declaration, `at` a byte of it.
struct CursorText {
  std::string object;            // "sch" of `sch.spl|`; "T.axis"; empty: no dot
  std::string prefix;            // "spl"
  uint32_t prefix_begin = 0;
  bool in_string = false;        // `prefix` is then the text between the quote and the cursor
  bool in_comment = false;
  std::optional<CallContext> call;   // the innermost one that is open
};
[[nodiscard]] auto cursor_text(std::string_view text, uint32_t at) -> CursorText;

}  // namespace loopsmith::lsp
