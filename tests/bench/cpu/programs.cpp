// Programs of a file: see programs.h.
#include "tests/bench/cpu/programs.h"

#include "frontend/file.h"
#include "intrinsics/registry.h"
#include "script/run.h"
#include "syntax/document.h"

namespace loopsmith::bench {

auto programs_of(const std::string& text) -> Result<std::vector<Program>> {
  intrinsics::install();
  syntax::Document document(text);
  frontend::File file;
  file.update(document);
  std::vector<Program> out;
  for (size_t i = 0; i < file.size(); ++i) {
    const frontend::Declaration& d = file.declaration(i);
    if (d.module) { out.push_back({d.item->name.str(), {{"plain", d.module}}}); }
  }
  for (size_t i = 0; i < file.size(); ++i) {
    syntax::ItemPtr item = file.item(i);
    for (const syntax::Stmt* stmt : item->statements) {
      const auto* def = stmt->as<syntax::FunctionDef>();
      auto function = def != nullptr ? script::as_schedule_function(*def, item, item->text) : std::nullopt;
      const auto* name = function && function->program != nullptr ? function->program->as<syntax::NameExpr>() : nullptr;
      if (name == nullptr) { continue; }
      for (Program& p : out) {
        if (name->name.str() != p.name) { continue; }
        script::RunRequest request;
        request.function = *function;
        request.program = p.versions.front().module;
        request.globals = &file;
        request.heap = std::make_shared<eval::Heap>();
        script::ScheduleRun run = script::run_schedule(request);
        if (Diagnostics problems = run.all_diagnostics(); has_errors(problems)) { return problems; }
        if (run.result) { p.versions.push_back({item->name.str(), run.result->module()}); }
      }
    }
  }
  return out;
}

}  // namespace loopsmith::bench
