// Any text can be opened: parsed, checked, its constants evaluated and its schedules run, with all places inside of it;
// and the programs that came out of it print as texts that give equal programs.
#include "ir/equal.h"
#include "ir/printer.h"
#include "tests/fuzz/fuzz.h"
#include "workspace/snapshot.h"

namespace loopsmith::fuzz {

void check_input(std::string_view input) {
  std::string text(input);
  auto document = workspace::analyse("fuzz.tir", text);
  auto snapshot = document->snapshot();
  for (const workspace::Finding& finding : snapshot->findings()) {
    if (finding.span.begin > finding.span.end || finding.span.end > text.size()) { fail("a finding lies outside the text", input); }
    if (finding.message.empty()) { fail("a finding says nothing", input); }
  }
  for (const workspace::Program& program : snapshot->programs()) {
    if (!program.module) { continue; }
    std::string printed = print_script(program.module);
    workspace::Document again("printed.tir", 1, printed);
    again.check();
    const auto& programs = again.snapshot()->programs();
    if (programs.size() != 1 || !programs[0].module) { fail("the printed program is not read:\n" + printed, input); }
    // Of an ill-formed program, whose variables may be free, only the structure is kept.
    if (!structural_equal(program.module, programs[0].module, {.map_free_vars = true})) { fail("the printed program is another:\n" + printed, input); }
  }
}
auto seeds() -> std::vector<std::string> { return program_seeds(); }
auto pieces() -> std::vector<std::string> { return language_pieces(); }

}  // namespace loopsmith::fuzz
