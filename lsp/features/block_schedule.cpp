// The rewrite of a schedule of stages: see block_schedule.h.
#include "lsp/features/block_schedule.h"

#include <algorithm>

#include <fmt/format.h>

#include "lsp/features/steps.h"
#include "schedule/trace_json.h"
#include "support/text.h"
#include "syntax/schedule_form.h"
#include "workspace/edits/block_program.h"
#include "workspace/edits/placing.h"

namespace loopsmith::lsp {
namespace {

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
    out += workspace::program_text(module_of(one.description), description) + "\n\n" + workspace::program_text(module_of(one.implementation), implementation);
    out += fmt::format("\n\n{}.register(\"{}\", {}, {})\n\n\n", class_name, one.name.view(), description, implementation);
  }
  return out;
}

}  // namespace

auto block_schedule_title(const workspace::Snapshot& snapshot, uint32_t at) -> std::string {
  const script::FileSchedule* schedule = schedule_at(snapshot, at);
  const bool has_stages = schedule != nullptr && schedule->form.made != nullptr && syntax::makes_stages(*schedule->form.made);
  if (!has_stages || schedule->run == nullptr || !schedule->run->is_complete || !schedule->run->result || has_errors(schedule->run->all_diagnostics())) { return {}; }
  return fmt::format("Rewrite `{}` as a block schedule", schedule->name.view());
}

auto as_block_schedule(const workspace::Snapshot& snapshot, uint32_t at) -> TextRewrite {
  TextRewrite out{.title = block_schedule_title(snapshot, at), .edits = {}, .why_not = {}};
  if (out.title.empty()) { return out; }
  const script::FileSchedule* schedule = schedule_at(snapshot, at);
  const script::ScheduleRun& run = *schedule->run;
  std::string base = schedule->name.str();
  std::replace(base.begin(), base.end(), '.', '_');
  workspace::ScheduleText form;
  form.program = workspace::free_name(snapshot.text(), base + "_program");
  form.name = workspace::free_name(snapshot.text(), base + "_blocks");
  form.target = run.target;
  form.intrinsics = run.result->intrinsics();
  const bool is_python = snapshot.name().ends_with(".py");
  const std::string intrinsics = registrations(run, snapshot.text(), is_python ? "tvm.tir.TensorIntrin" : "TensorIntrin");
  auto text = workspace::program_and_schedule(snapshot, run.program, schedule::trace_to_json(run.result->trace()), form, intrinsics);
  if (!text.ok()) {
    out.why_not = text.diagnostics().front().message();
    return out;
  }
  for (const workspace::TextEdit& edit : workspace::appended(snapshot.text(), *text, is_python)) { out.edits.push_back(edit); }
  return out;
}

}  // namespace loopsmith::lsp
