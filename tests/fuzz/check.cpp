// Any text can be opened: parsed, checked, its constants evaluated and its schedules run, with all positions inside it.
// Its programs are printed as texts that parse to equal programs.
#include "ir/equal.h"
#include "ir/printer.h"
#include "support/codes.h"
#include "tests/fuzz/fuzz.h"
#include "workspace/snapshot.h"

namespace loopsmith::fuzz {

void check_input(std::string_view input) {
  std::string text(input);
  auto document = workspace::analyse("fuzz.tir", text);
  auto snapshot = document->snapshot();
  bool is_ill_formed = false;
  for (const workspace::Finding& finding : snapshot->findings()) {
    if (finding.span.begin > finding.span.end || finding.span.end > text.size()) { fail("a finding lies outside the text", input); }
    if (finding.message.empty()) { fail("a finding says nothing", input); }
    is_ill_formed |= finding.code == Code::DefinedTwice || finding.code == Code::FreeVariable;
  }
  for (const workspace::Program& program : snapshot->programs()) {
    if (!program.module) { continue; }
    std::string printed = print_script(program.module);
    workspace::Document again("printed.tir", 1, printed);
    again.check();
    const auto& programs = again.snapshot()->programs();
    if (programs.size() != 1 || !programs[0].module) { fail("the printed program is not read:\n" + printed, input); }
    // With free variables only the structure is preserved; a variable that is defined twice, or used outside its scope,
    // is printed as two variables.
    if (!is_ill_formed && !structural_equal(program.module, programs[0].module, {.map_free_vars = true})) { fail("the printed program is another:\n" + printed, input); }
  }
}
auto seeds() -> std::vector<std::string> { return program_seeds(); }
auto pieces() -> std::vector<std::string> { return language_pieces(); }

}  // namespace loopsmith::fuzz
