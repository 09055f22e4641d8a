// A program and its schedule as text: see block_program.h.
#include "workspace/edits/block_program.h"

#include "frontend/objects.h"
#include "workspace/edits/placing.h"

namespace loopsmith::workspace {
auto program_text(const IRModule& module, const std::string& name) -> std::string {
  std::string text = eval::make_object<frontend::ProgramObject>(module, Name("main"), true, Origin())->text();
  // The comment at the top of a printed program has its import.
  const size_t decorator = text.find("@T.prim_func");
  text.erase(0, decorator == std::string::npos ? 0 : decorator);
  const std::string head = "def main(";
  if (const size_t at = text.find(head); at != std::string::npos) { text.replace(at, head.size(), "def " + name + "("); }
  return text.ends_with('\n') ? text : text + "\n";
}

auto program_and_schedule(const Snapshot& snapshot, const IRModule& module, const std::string& trace_json, const ScheduleText& form, const std::string& before) -> Result<std::string> {
  LOOPSMITH_TRY(function, schedule_function_text(module, trace_json, form));
  std::string text = before + program_text(module, form.program) + "\n\n" + in_form_of(snapshot, function).text;
  const bool needs_import = snapshot.name().ends_with(".py") && snapshot.text().find("import tir as T") == std::string::npos;
  return needs_import ? "from tvm.script import tir as T\n\n\n" + text : text;
}

}  // namespace loopsmith::workspace
