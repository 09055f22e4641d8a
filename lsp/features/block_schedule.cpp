// The rewrite of a schedule of stages: see block_schedule.h.
#include "lsp/features/block_schedule.h"

#include <algorithm>

#include <fmt/format.h>

#include "frontend/objects.h"
#include "lsp/features/steps.h"
#include "schedule/trace_json.h"
#include "support/text.h"
#include "syntax/schedule_form.h"
#include "workspace/edits/placing.h"
#include "workspace/edits/schedule_text.h"

namespace loopsmith::lsp {
namespace {

// The program as a function with this name.
auto program_text(const IRModule& module, const std::string& name) -> std::string {
  std::string text = eval::make_object<frontend::ProgramObject>(module, Name("main"), true, Origin())->text();
  // A printed program begins with its imports as a comment, which is left out here.
  const size_t decorator = text.find("@T.prim_func");
  text.erase(0, decorator == std::string::npos ? 0 : decorator);
  const std::string head = "def main(";
  if (const size_t at = text.find(head); at != std::string::npos) { text.replace(at, head.size(), "def " + name + "("); }
  return text.ends_with('\n') ? text : text + "\n";
}

// The registrations of the intrinsics that the schedule declares, with their programs.
auto registrations(const script::ScheduleRun& run, std::string_view text, const char* class_name) -> std::string {
  std::string out;
  const auto& all = run.result->intrinsics();
  for (const schedule::TensorIntrin& one : all ? *all : std::vector<schedule::TensorIntrin>()) {
    const bool is_of_file = run.intrinsics && std::any_of(run.intrinsics->begin(), run.intrinsics->end(), [&](const schedule::TensorIntrin& known) { return known.name == one.name; });
    if (is_of_file) { continue; }
    std::string base = one.name.str();
    std::replace_if(base.begin(), base.end(), [](char c) { return !is_name_part(c); }, '_');
    const std::string description = workspace::free_name(text, base + "_description"), implementation = workspace::free_name(text, base + "_implementation");
    out += program_text(module_of(one.description), description) + "\n\n" + program_text(module_of(one.implementation), implementation);
    out += fmt::format("\n\n{}.register(\"{}\", {}, {})\n\n\n", class_name, one.name.view(), description, implementation);
  }
  return out;
}

}  // namespace

auto as_block_schedule(const workspace::Snapshot& snapshot, uint32_t at) -> TextRewrite {
  const script::FileSchedule* schedule = schedule_at(snapshot, at);
  TextRewrite out;
  const bool has_stages = schedule != nullptr && schedule->form.made != nullptr && syntax::makes_stages(*schedule->form.made);
  if (!has_stages || schedule->run == nullptr || !schedule->run->is_complete || !schedule->run->result || has_errors(schedule->run->all_diagnostics())) { return out; }
  out.title = fmt::format("Rewrite `{}` as a block schedule", schedule->name.view());
  const script::ScheduleRun& run = *schedule->run;
  std::string base = schedule->name.str();
  std::replace(base.begin(), base.end(), '.', '_');
  workspace::ScheduleText form;
  form.program = workspace::free_name(snapshot.text(), base + "_program");
  form.name = workspace::free_name(snapshot.text(), base + "_blocks");
  form.target = run.target;
  auto function = workspace::schedule_function_text(run.program, schedule::trace_to_json(run.result->trace()), form);
  if (!function.ok()) {
    out.why_not = function.diagnostics().front().message();
    return out;
  }
  const bool is_python = snapshot.name().ends_with(".py");
  std::string text = registrations(run, snapshot.text(), is_python ? "tvm.tir.TensorIntrin" : "TensorIntrin") + program_text(run.program, form.program) + "\n\n" + workspace::in_form_of(snapshot, *function).text;
  if (is_python && snapshot.text().find("import tir as T") == std::string::npos) { text = "from tvm.script import tir as T\n\n\n" + text; }
  for (const workspace::TextEdit& edit : workspace::appended(snapshot.text(), text, is_python)) { out.edits.push_back(edit); }
  return out;
}

}  // namespace loopsmith::lsp
