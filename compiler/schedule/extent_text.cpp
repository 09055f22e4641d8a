// Extents as text: see extent_text.h.
#include "schedule/extent_text.h"

#include "ir/printer.h"

namespace loopsmith::schedule {

auto extent_text(const Expr& extent) -> std::string {
  std::string text = print_script(extent);
  static constexpr std::string_view typed = "T.int64(";
  for (size_t at = text.find(typed); at != std::string::npos; at = text.find(typed, at)) {
    size_t digits = at + typed.size();
    size_t end = text.find_first_not_of("-0123456789", digits);
    if (end == std::string::npos || text[end] != ')' || end == digits) {
      at = digits;
      continue;
    }
    text = text.substr(0, at) + text.substr(digits, end - digits) + text.substr(end + 1);
  }
  return text;
}

}  // namespace loopsmith::schedule
