// Reading the tuning database for the editor: see records.h.
#include "lsp/worker/records.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>

#include "ir/equal.h"
#include "lsp/features/names.h"
#include "lsp/features/numbers.h"
#include "schedule/trace_json.h"
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

/// Forgets what was known of a file that is another one by now. False: there is none.
auto Records::is_there() -> bool {
  int64_t written = this->written();
  if (written != written_) {
    known_.clear();
    drawn_.clear();
  }
  written_ = written;
  return written != 0;
}

auto Records::drawn(const IRModule& program, const schedule::Draw& draw) -> const DrawnValues& {
  // Enough to see which values are good; a hover does not wait for ten thousand.
  constexpr int64_t most_read = 400;
  static const DrawnValues nothing;
  if (!is_there()) { return nothing; }
  auto [known, is_new] = drawn_.try_emplace({hash_of(program), draw.kind, draw.subject, draw.parts});
  if (!is_new) { return known->second; }
  for (const tune::Record& record : tune::measured_on_disk(path_, hash_of(program), target::machine_identity(), most_read)) {
    auto trace = schedule::trace_from_json(record.trace);
    if (!trace.ok()) { continue; }
    ++known->second.trials;
    std::vector<int64_t> value = schedule::value_of(*trace, draw);
    if (value.empty()) { continue; }
    Drawn& one = known->second.values[std::move(value)];
    one.best_seconds = one.trials++ == 0 ? record.median_seconds : std::min(one.best_seconds, record.median_seconds);
  }
  return known->second;
}

auto Records::best(const IRModule& program) -> std::optional<tune::Recorded> { return is_there() ? best(hash_of(program)) : std::nullopt; }

auto Records::best(uint64_t workload) -> std::optional<tune::Recorded> {
  if (!is_there()) { return std::nullopt; }
  auto known = known_.find(workload);
  if (known == known_.end()) { known = known_.emplace(workload, tune::recorded_on_disk(path_, workload, target::machine_identity())).first; }
  return known->second;
}

auto program_with(const workspace::Snapshot& snapshot, std::string_view function) -> const workspace::Program* {
  const workspace::Program* found = nullptr;
  const Name name(function);
  for (const workspace::Program& program : snapshot.programs()) {
    if (!program.module || program.is_inside) { continue; }
    const bool is_named = program.name == name;
    const bool has_one = static_cast<bool>(program.module->find(name));
    if ((!is_named && !has_one) || !(is_function(snapshot, program) ? is_named : has_one)) { continue; }
    if (found != nullptr) { return nullptr; }
    found = &program;
  }
  return found;
}

auto is_function(const workspace::Snapshot& snapshot, const workspace::Program& program) -> bool {
  syntax::ItemPtr item = snapshot.syntax().declaration(program.decl);
  return item && item->kind == syntax::ItemKind::Function;
}

auto best_so_far(const workspace::Snapshot& snapshot, std::string_view function, Records& records, const std::optional<target::Peaks>& peaks)
    -> std::optional<BestSoFar> {
  BestSoFar out;
  out.program = program_with(snapshot, function);
  if (out.program == nullptr || out.program->module->functions.empty()) { return std::nullopt; }
  // Each key makes a program anew.
  records.forget(2 * snapshot.programs().size() + 64);
  auto recorded = records.best(out.program->module);
  if (!recorded) { return std::nullopt; }
  out.recorded = std::move(*recorded);
  out.function = is_function(snapshot, *out.program) ? out.program->module->functions.front().first : Name(function);
  double least = peaks ? tune::least_seconds(out.program->module, out.function, *peaks) : 0;
  out.share = least / out.recorded.best.median_seconds;
  return out;
}

auto records_explained(const workspace::Snapshot& snapshot, std::string_view function, const Records& records) -> std::string {
  const workspace::Program* program = program_with(snapshot, function);
  if (program == nullptr) { return {}; }
  struct stat facts {};
  if (::stat(records.path().c_str(), &facts) != 0) { return fmt::format("`{}`: nothing was tuned on this machine yet\n", function); }
  auto database = tune::Database::open(records.path());
  auto explained = database.ok() ? tune::explain_records(*database, program->module, program->name.str(), target::machine_identity()) : Result<tune::RecordsExplained>(database.diagnostics());
  return explained.ok() ? tune::text_of(*explained, "the tuning database") : explained.diagnostics().front().message() + "\n";
}

auto records_told(const workspace::Snapshot& snapshot, std::string_view function, const Records& records) -> std::string {
  const workspace::Program* program = program_with(snapshot, function);
  if (program == nullptr) { return {}; }
  struct stat facts {};
  if (::stat(records.path().c_str(), &facts) != 0) { return fmt::format("`{}`: nothing was tuned on this machine yet\n", function); }
  auto database = tune::Database::open(records.path());
  auto told = database.ok() ? tune::records_history(*database, program->module, program->name.str(), target::machine_identity()) : Result<std::string>(database.diagnostics());
  return told.ok() ? *told : told.diagnostics().front().message() + "\n";
}

auto schedule_text_of(const workspace::Snapshot& snapshot, const BestSoFar& best) -> std::optional<std::string> {
  workspace::ScheduleText form;
  form.program = best.program->name.str();
  form.name = workspace::free_name(snapshot.text(), form.program + "_tuned");
  form.target = "llvm";
  const tune::Record& record = best.recorded.best;
  form.comments.push_back(fmt::format("Tuned: {}, the best of {} trials recorded.", duration_text(record.median_seconds), best.recorded.records));
  form.comments.push_back("Verified by " + record.verified + ".");
  form.comments.push_back(workspace::certificate_text(workspace::certificate_of(best.program->module, best.function, record.trace),
                                                 {best.recorded.target, record.median_seconds, record.spread_seconds, record.blocks, record.unix_time}));
  auto text = workspace::schedule_function_text(best.program->module, record.trace, form);
  if (!text.ok()) { return std::nullopt; }
  return std::move(*text);
}

}  // namespace loopsmith::lsp
