// Reading the tuning database for the editor: see records.h.
#include "lsp/worker/records.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>

#include "ir/equal.h"
#include "schedule/trace_json.h"
#include "support/text.h"
#include "target/hardware.h"
#include "tune/session/explain.h"
#include "tune/session/history.h"
#include "tune/session/session.h"
#include "workspace/edits/certificate.h"
#include "workspace/edits/placing.h"
#include "workspace/edits/schedule_text.h"

namespace loopsmith::lsp {

Records::Records() : path_(tune::Database::default_path()) {}

auto Records::hash_of(const IRModule& program) -> uint64_t {
  auto hash = hashes_.find(program.get());
  if (hash == hashes_.end()) { hash = hashes_.emplace(program.get(), std::pair(program, structural_hash(program))).first; }
  return hash->second.second;
}

auto Records::written() const -> int64_t {
  struct stat facts {};
  return ::stat(path_.c_str(), &facts) == 0 ? facts.st_mtim.tv_sec * 1000000000 + facts.st_mtim.tv_nsec : 0;
}

/// Releases answers from an earlier version of the file. False: the file does not exist.
auto Records::is_there() -> bool {
  int64_t written = this->written();
  if (written != written_) {
    known_.clear();
    drawn_.clear();
  }
  written_ = written;
  return written != 0;
}

auto Records::drawn(const IRModule& program, const schedule::Draw& draw) -> const RecordedDraws& {
  // Enough trials to see which values are good; a hover must not wait for ten thousand.
  constexpr int64_t most_read = 400;
  static const RecordedDraws nothing;
  if (!is_there()) { return nothing; }
  auto [known, is_new] = drawn_.try_emplace({hash_of(program), draw.kind, draw.subject, draw.parts});
  if (!is_new) { return known->second; }
  std::map<std::vector<int64_t>, RecordedDraw> by_value;
  for (const tune::Record& record : tune::measured_on_disk(path_, hash_of(program), target::machine_identity(), most_read)) {
    auto trace = schedule::trace_from_json(record.trace);
    if (!trace.ok()) { continue; }
    ++known->second.trials;
    std::vector<int64_t> value = schedule::value_of(*trace, draw);
    if (value.empty()) { continue; }
    RecordedDraw& one = by_value[value];
    one.value = std::move(value);
    one.best_seconds = one.trials++ == 0 ? record.median_seconds : std::min(one.best_seconds, record.median_seconds);
  }
  for (auto& [value, one] : by_value) { known->second.values.push_back(std::move(one)); }
  return known->second;
}

auto Records::best(const IRModule& program) -> std::optional<tune::Recorded> { return is_there() ? best(hash_of(program)) : std::nullopt; }

auto Records::best(uint64_t workload) -> std::optional<tune::Recorded> {
  if (!is_there()) { return std::nullopt; }
  auto known = known_.find(workload);
  if (known == known_.end()) { known = known_.emplace(workload, tune::recorded_on_disk(path_, workload, target::machine_identity())).first; }
  return known->second;
}

auto RecordsOfPrograms::find(const workspace::Snapshot& snapshot, std::string_view function) -> std::optional<Best> {
  Best out;
  out.program = program_with(snapshot, function);
  if (out.program == nullptr || out.program->module->functions.empty()) { return std::nullopt; }
  // Every key creates new programs, so their number grows without limit.
  records_.forget(2 * snapshot.programs().size() + 64);
  auto recorded = records_.best(out.program->module);
  if (!recorded) { return std::nullopt; }
  out.recorded = std::move(*recorded);
  out.function = is_function(snapshot, *out.program) ? out.program->module->functions.front().first : Name(function);
  return out;
}

auto RecordsOfPrograms::best(const workspace::Snapshot& snapshot, std::string_view function) -> std::optional<RecordedBest> {
  auto found = find(snapshot, function);
  if (!found) { return std::nullopt; }
  double seconds = found->recorded.best.median_seconds;
  double least = peaks_ ? tune::least_seconds(found->program->module, found->function, *peaks_) : 0;
  return RecordedBest{seconds, least / seconds, !found->recorded.best.verified.empty(), static_cast<int64_t>(found->recorded.records), found->recorded.target};
}

auto RecordsOfPrograms::draws(const IRModule& program, const schedule::Draw& draw) -> RecordedDraws { return records_.drawn(program, draw); }

auto records_explained(const workspace::Snapshot& snapshot, std::string_view function, const Records& records) -> std::string {
  const workspace::Program* program = program_with(snapshot, function);
  if (program == nullptr) { return {}; }
  struct stat facts {};
  if (::stat(records.path().c_str(), &facts) != 0) { return fmt::format("`{}`: nothing was tuned on this machine yet\n", function); }
  auto database = tune::Database::open(records.path());
  auto explained = database.ok() ? tune::explain_records(*database, program->module, program->name.str(), target::machine_identity()) : Result<tune::RecordsExplained>(database.diagnostics());
  return explained.ok() ? tune::text_of(*explained, "the tuning database") : explained.diagnostics().front().message() + "\n";
}

auto records_text(const workspace::Snapshot& snapshot, std::string_view function, const Records& records) -> std::string {
  const workspace::Program* program = program_with(snapshot, function);
  if (program == nullptr) { return {}; }
  struct stat facts {};
  if (::stat(records.path().c_str(), &facts) != 0) { return fmt::format("`{}`: nothing was tuned on this machine yet\n", function); }
  auto database = tune::Database::open(records.path());
  auto history = database.ok() ? tune::records_history(*database, program->module, program->name.str(), target::machine_identity()) : Result<std::string>(database.diagnostics());
  return history.ok() ? *history : history.diagnostics().front().message() + "\n";
}

auto RecordsOfPrograms::schedule_text(const workspace::Snapshot& snapshot, std::string_view function) -> std::optional<std::string> {
  auto found = find(snapshot, function);
  if (!found) { return std::nullopt; }
  const Best& best = *found;
  workspace::ScheduleText form;
  form.program = best.program->name.str();
  form.name = workspace::free_name(snapshot.text(), form.program + "_tuned");
  form.target = "llvm";
  const tune::Record& record = best.recorded.best;
  form.comments.push_back(fmt::format("{}{}, the best of {} trials recorded.", workspace::tuned_comment, duration_text(record.median_seconds), best.recorded.records));
  form.comments.push_back("Verified: " + record.verified + ".");
  form.comments.push_back(workspace::certificate_text(workspace::certificate_of(best.program->module, best.function, record.trace),
                                                 {best.recorded.target, record.median_seconds, record.spread_seconds, record.blocks, record.unix_time}));
  auto text = workspace::schedule_function_text(best.program->module, record.trace, form);
  if (!text.ok()) { return std::nullopt; }
  return std::move(*text);
}

}  // namespace loopsmith::lsp
