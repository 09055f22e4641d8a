// Compares records with a program: see explain.h.
#include "tune/session/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "ir/equal.h"
#include "schedule/schedule.h"
#include "schedule/trace_json.h"
#include "support/text.h"

namespace loopsmith::tune {
namespace {

/// The reason why a trace does not apply to a program; empty: it applies.
auto why_not(const IRModule& program, const std::string& json) -> std::string {
  auto trace = schedule::trace_from_json(json);
  if (!trace.ok()) { return "its trace cannot be read"; }
  schedule::Schedule sch(program, 1);
  Status done = sch.replay(*trace);
  return done.ok() ? std::string() : done.diagnostics().front().message();
}

}  // namespace

auto explain_records(Database& database, const IRModule& program, const std::string& name, const std::string& machine) -> Result<RecordsExplained> {
  RecordsExplained out{name, structural_hash(program), {}};
  LOOPSMITH_TRY(workloads, database.workloads());
  for (const Database::Workload& one : workloads) {
    bool is_same = one.task.workload == out.hash;
    if (!is_same && one.name != name) { continue; }
    LOOPSMITH_TRY(records, database.records(one.task));
    TaskExplained task{.task = one.task, .is_same_program = is_same, .is_this_machine = one.task.machine == machine, .how_verified = {}, .why_not_applied = {}};
    const Record* best = nullptr;
    for (const Record& record : records) {
      ++task.records;
      if (record.outcome != Outcome::Measured || record.median_seconds <= 0) { continue; }
      ++task.measured;
      task.verified += record.verified.empty() ? 0 : 1;
      auto rank = [](const Record& r) { return std::pair(r.verified.empty(), r.median_seconds); };
      if (best == nullptr || rank(record) < rank(*best)) { best = &record; }
    }
    if (best != nullptr) {
      task.best_seconds = best->median_seconds;
      task.is_best_verified = !best->verified.empty();
      task.how_verified = best->verified;
      task.why_not_applied = why_not(program, best->trace);
    }
    out.tasks.push_back(std::move(task));
  }
  // The same choice as `recorded_on_disk`: on this machine, verified records first, then the fastest.
  TaskExplained* used = nullptr;
  for (TaskExplained& task : out.tasks) {
    if (!task.is_same_program || !task.is_this_machine || task.best_seconds <= 0) { continue; }
    if (used == nullptr || std::pair(!task.is_best_verified, task.best_seconds) < std::pair(!used->is_best_verified, used->best_seconds)) { used = &task; }
  }
  if (used != nullptr) { used->is_used = used->is_best_verified && used->why_not_applied.empty(); }
  auto order = [](const TaskExplained& t) { return std::tuple(!t.is_used, !t.is_same_program, !t.is_this_machine, -t.records, t.task.target, t.task.machine, t.task.workload); };
  std::sort(out.tasks.begin(), out.tasks.end(), [&](const TaskExplained& a, const TaskExplained& b) { return order(a) < order(b); });
  return out;
}

auto text_of(const RecordsExplained& explained, const std::string& database) -> std::string {
  std::string text = fmt::format("`{}` ({:016x}) in {}:\n", explained.program, explained.hash, database);
  if (explained.tasks.empty()) { return text + "- nothing is recorded of this program, nor of another one of its name: `loopsmith tune` records\n"; }
  bool has_used = explained.tasks.front().is_used;
  bool has_here = std::any_of(explained.tasks.begin(), explained.tasks.end(), [](const TaskExplained& t) { return t.is_same_program && t.is_this_machine && t.best_seconds > 0; });
  for (const TaskExplained& task : explained.tasks) {
    std::string what = fmt::format("{} for `{}`", count_text(task.records, "trial"), task.task.target);
    std::string best = task.best_seconds > 0 ? fmt::format("best {}", duration_text(task.best_seconds)) : "none was measured to its end";
    if (task.best_seconds > 0) { best += task.is_best_verified ? fmt::format(", verified: {}", task.how_verified) : ", not verified"; }
    std::string applies = task.best_seconds <= 0 ? std::string() : task.why_not_applied.empty() ? "; its trace applies" : "; its trace does not apply: " + task.why_not_applied;
    std::string why;
    if (!task.is_same_program) {
      why = fmt::format("they are of another `{}` ({:016x}): the program was edited since, or is of another file", explained.program, task.task.workload);
    } else if (!task.is_this_machine) {
      why = fmt::format("they were measured on another machine ({}){}", task.task.machine, has_here ? "" : "; `build --tuned` takes them, since nothing was measured here");
    } else if (task.best_seconds <= 0) {
      why = "there is no time to go by";
    } else if (!task.is_best_verified) {
      why = "no result was compared with the program's";
    } else if (!task.why_not_applied.empty()) {
      why = "the steps recorded do not work on this program";
    } else if (!task.is_used && has_used) {
      why = "another target's are faster here; `build --tuned` takes them for this one";
    }
    text += fmt::format("- {}: {}; {}{}\n", task.is_used ? "used" : "not used: " + why, what, best, applies);
  }
  // Appends the reasons.
  return text + "Records say no version of the engine: a trace counts as long as its steps work on the program.\n";
}

}  // namespace loopsmith::tune
