// Any script can be evaluated, to a value or a diagnostic, within its bounds.
#include "eval/evaluator.h"

#include "frontend/file.h"
#include "syntax/document.h"
#include "tests/fuzz/fuzz.h"

namespace loopsmith::fuzz {

void check_input(std::string_view input) {
  syntax::Document document{std::string(input)};
  frontend::File file;
  file.evaluator().limits = {.steps = 20'000, .depth = 100, .list_items = 100'000, .text_bytes = 1 << 20};
  file.update(document);
  for (size_t i = 0; i < file.size(); ++i) { (void)file.declaration(i); }
  for (const Diagnostic& diagnostic : file.diagnostics()) {
    if (diagnostic.message().empty()) { fail("a diagnostic says nothing", input); }
  }
}
auto seeds() -> std::vector<std::string> { return program_seeds(); }
auto pieces() -> std::vector<std::string> { return language_pieces(); }

}  // namespace loopsmith::fuzz
