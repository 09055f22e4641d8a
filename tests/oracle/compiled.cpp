// Compiled code compared with the reference interpreter: every program of the corpus and every scheduled version of one,
// lowered and compiled, must give the interpreter's results for the unscheduled program.
#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <vector>

#include "interpreted.h"
#include "support/codes.h"
#include "transform/pipelines.h"

namespace loopsmith::oracle {
void check_compiled(const Json& line, Tally& tally) {
  auto texts = scheduled_text(line, tally);
  auto program = texts ? interpret_both(*texts, tally) : std::nullopt;
  if (!program) { return; }
  const std::string& id = texts->id;
  auto flat = transform::lower(program->scheduled);
  if (!flat) { return tally.fail(id, "lowered", describe(flat.diagnostics())); }
  // Every program is compiled at the default level, every second one also at another level of LLVM; on request all at all levels.
  static size_t turn = 0;
  static const bool all_levels = std::getenv("LOOPSMITH_TEST_LEVELS") != nullptr;
  constexpr std::array others = {0, 1, 3};
  std::vector<int> levels = {codegen::CodegenOptions().opt_level};
  if (all_levels) { levels.insert(levels.end(), others.begin(), others.end()); }
  else if (++turn % 2 == 0) { levels.push_back(others[turn / 2 % others.size()]); }
  for (int level : levels) {
    interp::Inputs ours = interp::copy_inputs(program->given);
    codegen::CodegenOptions options;
    options.opt_level = level;
    auto code = runtime::JitModule::compile(*flat, target::host(), options, program->scheduled);
    if (!code) {
      if (code.diagnostics().front().code == Code::NoLlvm) { return tally.leave_out("a build without LLVM"); }
      return tally.fail(id, "compiled", describe(code.diagnostics()));
    }
    std::vector<runtime::Value> values = values_of(ours);
    if (auto status = runtime::call(code->functions().front(), values); !status) { return tally.fail(id, "run", describe(status.diagnostics())); }
    if (auto difference = difference_from(*program, ours)) { return tally.fail(id, fmt::format("the interpreter's results, level {}", level), *difference); }
  }
  tally.pass();
}

}  // namespace loopsmith::oracle
