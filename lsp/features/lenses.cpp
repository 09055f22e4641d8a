// Titles and commands of lenses: see lenses.h.
#include "lsp/features/lenses.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <ranges>

#include "lsp/features/kernel_budget.h"
#include "lsp/features/sizes.h"
#include "lsp/features/views.h"
#include "script/autotvm/space.h"
#include "support/text.h"
#include "workspace/selection.h"
#include "workspace/tuned_for_another.h"

namespace loopsmith::lsp {
namespace {

using workspace::Snapshot;

/// Collects the lenses of one text.
struct LensList {
  const Snapshot& snapshot;
  const Measured& measured;
  std::vector<Lens> lenses = {};
  void add(Span span, std::string title, OfferedCommand command = {}) { lenses.push_back({span, std::move(title), std::move(command)}); }
  [[nodiscard]] auto is_here(const JobFacts& job) const -> bool { return job.uri == snapshot.name(); }
};

/// Adds the progress of a job, and beside it a button that stops the job, because a click on the progress does nothing.
void add_running(LensList& out, Span span, std::string title, uint64_t job) {
  out.add(span, std::move(title));
  out.add(span, "stop", {.kind = CommandKind::StopTune, .job = job});
}

/// Adds the time of a program (`schedule` empty) or of a schedule for it, and the command that measures it.
void add_timed(LensList& out, Span span, const std::string& function, const std::string& schedule) {
  OfferedCommand bench{.kind = CommandKind::Bench, .function = function, .schedule = schedule};
  for (const auto& [id, job] : out.measured.jobs) {
    if (job.kind != JobKind::Bench || !job.other.empty() || !out.is_here(job) || job.function != function || job.schedule != schedule) { continue; }
    if (!job.is_done()) { return add_running(out, span, "timing …", id); }
    std::string title = duration_text(job.seconds);
    if (!schedule.empty() && job.seconds > 0) { title += fmt::format(", {:.2f}x", job.plain_seconds / job.seconds); }
    return out.add(span, title + (is_stale(out.snapshot, job) ? " before it was changed: bench again" : ": bench again"), std::move(bench));
  }
  out.add(span, "bench", std::move(bench));
}

/// Adds the result of comparing a schedule with its program, until the text changes; and the command that compares again.
void add_verified(LensList& out, Span span, const std::string& function, const std::string& schedule) {
  OfferedCommand verify{.kind = CommandKind::Verify, .function = function, .schedule = schedule};
  for (const auto& [id, job] : out.measured.jobs | std::views::reverse) {
    if (job.kind != JobKind::Verify || !out.is_here(job) || job.function != function || job.schedule != schedule) { continue; }
    if (!job.is_done()) { return add_running(out, span, "verifying …", id); }
    if (is_stale(out.snapshot, job)) { break; }
    return out.add(span, job.is_equal ? "verified" : "results differ: verify again", std::move(verify));
  }
  out.add(span, "verify", std::move(verify));
}

/// Adds the command that runs a program, or the command that stops it while it runs.
void add_run(LensList& out, Span span, const std::string& function, const std::string& schedule) {
  for (const auto& [id, job] : out.measured.jobs) {
    if (job.executes() && out.is_here(job) && job.function == function && job.schedule == schedule) { return add_running(out, span, "running …", id); }
  }
  out.add(span, "run", {.kind = CommandKind::Run, .function = function, .schedule = schedule});
}

void add_pause(LensList& out, Span span, const JobFacts& job) {
  if (job.phase == JobPhase::ComparingStopped) { return; }
  out.add(span, job.is_paused() ? "resume" : "pause", {.kind = job.is_paused() ? CommandKind::ResumeTune : CommandKind::PauseTune, .job = job.job});
}

/// Adds the progress of a search, and the buttons that stop and pause it.
void add_search_at_work(LensList& out, Span span, const JobFacts& job) {
  out.add(span, progress_title(job));
  out.add(span, stop_title(job), {.kind = CommandKind::StopTune, .job = job.job});
  add_pause(out, span, job);
}

/// The nearest earlier schedule for the same program, or else the next one. Null: no other schedule for the program runs to its end.
auto other_schedule(const Snapshot& snapshot, const script::FileSchedule& schedule) -> const script::FileSchedule* {
  const script::FileSchedule* other = nullptr;
  bool is_past = false;
  for (const script::FileSchedule& one : snapshot.schedules()) {
    if (&one == &schedule) {
      is_past = true;
      if (other != nullptr) { break; }
      continue;
    }
    bool is_of_it = one.program_decl == schedule.program_decl && one.program_name == schedule.program_name && one.run != nullptr && one.run->is_complete;
    if (!is_of_it) { continue; }
    other = &one;
    if (is_past) { break; }
  }
  return other;
}

/// Adds the command that shows a schedule beside another one, statement by statement, and the times of both, measured in turns.
void add_comparison(LensList& out, Span span, const script::FileSchedule& schedule) {
  const script::FileSchedule* other = other_schedule(out.snapshot, schedule);
  if (other == nullptr) { return; }
  std::string title = fmt::format("compare with {}", other->name.view());
  for (const auto& [id, job] : out.measured.jobs) {
    if (job.kind != JobKind::Bench || job.other != other->name.view() || !out.is_here(job) || job.schedule != schedule.name.view()) { continue; }
    if (!job.is_done()) {
      title += ": timing …";
    } else if (job.seconds > 0 && !is_stale(out.snapshot, job)) {
      title += fmt::format(": {} and {}", duration_text(job.plain_seconds), duration_text(job.seconds));
    }
  }
  out.add(span, title, {.kind = CommandKind::ShowComparison, .function = schedule.program_name.str(), .schedule = schedule.name.str(), .other = other->name.str()});
}

/// True for the variable of `task = auto_scheduler.SearchTask(...)`.
auto is_task(const Snapshot& snapshot, Span variable) -> bool {
  std::string_view behind = std::string_view(snapshot.text()).substr(variable.end);
  behind.remove_prefix(std::min(behind.find_first_not_of(" \t"), behind.size()));
  return behind.starts_with('=');
}

/// Adds the running and finished searches for a program, and the command that begins a search.
void add_searches(LensList& out, Span span, const std::string& function) {
  bool is_running = false;
  bool has_found = false;
  for (const auto& [id, job] : out.measured.jobs) {
    if (!job.tunes() || !out.is_here(job) || job.function != function) { continue; }
    if (!job.is_done()) {
      is_running = true;
      add_search_at_work(out, span, job);
      continue;
    }
    has_found = true;
    bool is_there = has_steps_of(out.snapshot, job.schedule_text);
    std::string title = (is_there ? "best, in this file: " : "insert best schedule: ") + duration_text(job.seconds);
    out.add(span, title, is_there ? OfferedCommand() : OfferedCommand{.kind = CommandKind::InsertSchedule, .job = id});
  }
  if (!is_running) { out.add(span, is_task(out.snapshot, span) ? "tune this task" : "tune", {.kind = CommandKind::Tune, .function = function}); }
  auto best = out.measured.records != nullptr ? out.measured.records->best(out.snapshot, function) : std::nullopt;
  if (!best) { return; }
  if (!is_running && !has_found) {
    std::string title = "best " + duration_text(best->seconds);
    bool has_schedules = std::any_of(out.snapshot.schedules().begin(), out.snapshot.schedules().end(), [&](const script::FileSchedule& one) { return one.program_name.view() == function; });
    auto text = has_schedules ? out.measured.records->schedule_text(out.snapshot, function) : std::nullopt;
    bool is_there = text && has_steps_of(out.snapshot, *text);
    if (is_there) { title += ", in this file"; }
    // A schedule whose results were not compared with the program's is shown, but not offered for insertion.
    bool is_offered = best->is_compared && !is_there;
    out.add(span, title + (is_offered ? ": insert it" : ""), is_offered ? OfferedCommand{.kind = CommandKind::InsertSchedule, .function = function, .is_recorded = true} : OfferedCommand());
  }
}

/// Adds the command that shows the results of earlier searches for a program, if results are recorded.
void add_history(LensList& out, Span span, const std::string& function) {
  auto best = out.measured.records != nullptr ? out.measured.records->best(out.snapshot, function) : std::nullopt;
  if (best) { out.add(span, "history", {.kind = CommandKind::ShowHistory, .function = function}); }
}

/// The number of steps that ran: "5 steps ok", "2 of 5 steps, stops in line 12".
auto steps_title(const Snapshot& snapshot, const script::ScheduleRun& run) -> std::string {
  size_t done = 0;
  size_t failed = 0;
  uint32_t line = 0;
  for (const script::Step& step : run.steps) {
    if (step.state == script::StepState::Done) { ++done; }
    if (step.state != script::StepState::Failed) { continue; }
    ++failed;
    if (auto where = snapshot.resolve(step.where)) { line = snapshot.lines().line_of(where->begin) + 1; }
  }
  size_t total = run.steps.size();
  if (failed > 0) { return fmt::format("{} of {} steps, stops in line {}", done, total, line); }
  return done == total ? count_text(static_cast<int64_t>(total), "step") + " ok" : fmt::format("{} of {} steps", done, total);
}

/// Adds the commands that show the program after a schedule, and its difference.
void add_views(LensList& out, Span span, const script::FileSchedule& schedule) {
  const std::string name = schedule.name.str();
  out.add(span, "show IR", {.kind = CommandKind::ShowView, .at = span.begin});
  const std::vector<script::Step>& steps = schedule.run->steps;
  auto stopped = std::find_if(steps.begin(), steps.end(), [](const script::Step& step) { return step.state != script::StepState::Done; });
  auto done = stopped - steps.begin();
  if (done == 0) { return; }
  std::string state = view_address(out.snapshot.name()) + "#" + name + "@";
  out.add(span, "diff", {.kind = CommandKind::ShowDifference, .from = state + "0", .to = state + std::to_string(done), .title = fmt::format("{}: as written, after {} statements", name, done)});
}

/// Adds the commands for a schedule that runs to its end, and its views.
void add_schedule_commands(LensList& out, Span span, const script::FileSchedule& schedule, bool with_views) {
  const std::string name = schedule.name.str();
  bool is_whole = schedule.run->is_complete && !schedule.program_name.empty();
  if (is_whole) {
    const std::string program = schedule.program_name.str();
    add_timed(out, span, program, name);
    add_verified(out, span, program, name);
    add_run(out, span, program, name);
  }
  if (with_views) { add_views(out, span, schedule); }
  if (is_whole) { out.add(span, "apply", {.kind = CommandKind::ApplySchedule, .schedule = name}); }
  if (is_whole && with_views) { add_comparison(out, span, schedule); }
}

/// Adds the search in the space of a template: its progress, its best time, and the command that begins it. Its records go into the log that the file names.
void add_template_search(LensList& out, Span span, const std::string& schedule) {
  std::string title = "tune this template";
  for (const auto& [id, job] : out.measured.jobs) {
    if (!job.fills() || !out.is_here(job) || job.schedule != schedule) { continue; }
    if (!job.is_done()) { return add_search_at_work(out, span, job); }
    title = fmt::format("best configuration: {}, tune again", duration_text(job.seconds));
  }
  out.add(span, std::move(title), {.kind = CommandKind::Tune, .schedule = schedule});
}

/// The program after the last step of a schedule that ran.
auto state_after_all(const script::FileSchedule& schedule) -> IRModule {
  for (const script::Step& step : schedule.run->steps | std::views::reverse) {
    if (step.after != nullptr) { return step.after->module(); }
  }
  return schedule.run->program;
}

/// Adds the command that searches the space of a schedule whose steps sample numbers, the progress of such a search, or its result.
void add_space(LensList& out, Span span, const script::FileSchedule& schedule) {
  if (!schedule.run->is_complete || schedule.run->result == nullptr || schedule.run->makes_its_own) { return; }
  const auto instructions = schedule.run->result->trace().instructions();
  const auto knobs = std::count_if(instructions.begin(), instructions.end(), [](const schedule::Instruction* one) { return one->primitive->is_sampling; });
  if (knobs == 0) { return; }
  Lens lens{span, fmt::format("search this space ({})", count_text(static_cast<int64_t>(knobs), "knob")), {.kind = CommandKind::Tune, .function = schedule.program_name.str(), .schedule = schedule.name.str()}};
  // The newest search replaces earlier ones.
  for (const auto& [id, job] : out.measured.jobs) {
    if (!job.fills() || !job.hole_state.empty() || !out.is_here(job) || job.schedule != schedule.name.view()) { continue; }
    if (!job.is_done()) { return add_search_at_work(out, span, job); }
    if (!has_steps_of(out.snapshot, job.schedule_text)) { lens = {span, "insert the best of this space: " + duration_text(job.seconds), {.kind = CommandKind::InsertSchedule, .job = id}}; }
  }
  out.lenses.push_back(std::move(lens));
}

void add_schedule(LensList& out, const script::FileSchedule& schedule, bool with_views) {
  auto span = out.snapshot.resolve(schedule.where);
  if (!span) { return; }
  bool is_of_another = workspace::is_tuned_for_another(out.snapshot, schedule);
  std::string suffix = is_of_another ? "; tuned for another program" : "";
  if (schedule.run == nullptr) {
    // Without this lens, a schedule that does not run would look correct.
    if (is_of_another_file(schedule)) { out.add(*span, not_run_text + suffix); }
    return;
  }
  if (workspace::counts_for_build(out.snapshot, schedule)) { suffix += "; build uses it"; }
  if (schedule.run->space) { suffix += fmt::format("; {:.0f} configurations", schedule.run->space->size()); }
  out.add(*span, steps_title(out.snapshot, *schedule.run) + suffix);
  for (std::string& budget : kernel_budgets_in_words(state_after_all(schedule), schedule.target)) { out.add(*span, std::move(budget)); }
  if (schedule.run->space) { add_template_search(out, *span, schedule.name.str()); }
  add_schedule_commands(out, *span, schedule, with_views);
  auto hole = hole_of(out.snapshot, schedule);
  if (!hole) { return add_space(out, *span, schedule); }
  for (const auto& [id, job] : out.measured.jobs) {
    if (!job.is_done() && job.fills() && out.is_here(job) && job.schedule == schedule.name.view()) { return add_search_at_work(out, hole->span, job); }
  }
  out.lenses.push_back(hole_lens(out.snapshot, out.measured, schedule.name.str(), *hole));
}

/// Adds the sizes that the commands for a program depend on, and behind the other lenses of the program the command that asks for them.
void add_sizes(LensList& out) {
  std::map<std::string, std::vector<std::string>> sizes;
  for (Lens& lens : out.lenses) {
    const CommandKind kind = lens.command.kind;
    const bool runs = kind == CommandKind::Tune || kind == CommandKind::Bench || kind == CommandKind::Verify || kind == CommandKind::Run;
    if (!runs || lens.command.function.empty()) { continue; }
    auto known = sizes.find(lens.command.function);
    if (known == sizes.end()) { known = sizes.emplace(lens.command.function, open_sizes(out.snapshot, lens.command.function)).first; }
    lens.command.sizes = known->second;
  }
  for (const Tunable& tunable : tunables_in(out.snapshot, {0, static_cast<uint32_t>(out.snapshot.text().size())})) {
    auto found = sizes.find(tunable.name);
    if (found == sizes.end() || found->second.empty()) { continue; }
    out.add(tunable.name_span, fmt::format("sizes {}", fmt::join(found->second, ", ")), {.kind = CommandKind::ChooseSizes, .function = tunable.name, .sizes = found->second});
  }
}

}  // namespace

auto is_of_another_file(const script::FileSchedule& schedule) -> bool { return !schedule.program && schedule.diagnostics.empty(); }

auto code_lenses(const Snapshot& snapshot, const Measured& measured, bool with_views) -> std::vector<Lens> {
  LensList out{snapshot, measured};
  for (const Tunable& tunable : tunables_in(snapshot, {0, static_cast<uint32_t>(snapshot.text().size())})) {
    // The most used lenses come first, because an editor omits those that do not fit.
    add_searches(out, tunable.name_span, tunable.name);
    add_timed(out, tunable.name_span, tunable.name, "");
    add_run(out, tunable.name_span, tunable.name, "");
    if (with_views) { add_history(out, tunable.name_span, tunable.name); }
  }
  for (const script::FileSchedule& schedule : snapshot.schedules()) { add_schedule(out, schedule, with_views); }
  add_sizes(out);
  return std::move(out.lenses);
}

auto hole_lens(const Snapshot& snapshot, const Measured& measured, const std::string& schedule, const Hole& hole) -> Lens {
  Lens out{hole.span, "tune this", {.kind = CommandKind::Tune, .function = hole.program, .schedule = schedule, .seconds = hole.seconds, .trials = hole.trials}};
  // The newest search replaces earlier ones.
  for (const auto& [id, job] : measured.jobs) {
    if (!job.fills() || job.uri != snapshot.name() || job.schedule != schedule) { continue; }
    if (!job.is_done()) { return {hole.span, progress_title(job), {.kind = CommandKind::StopTune, .job = id}}; }
    if (job.hole_state == hole.state) {
      out = {hole.span, "fill in the best steps: " + duration_text(job.seconds), {.kind = CommandKind::InsertSchedule, .job = id}};
    } else if (out.command.kind == CommandKind::Tune) {
      out.title = "tune this again: the program was changed";
    }
  }
  return out;
}

}  // namespace loopsmith::lsp
