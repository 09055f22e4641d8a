// Measurements, and the text that they belong to: see measured.h.
#include "lsp/features/measured.h"

#include <fmt/format.h>

#include <algorithm>

#include "lsp/jobs/wording.h"
#include "support/hash.h"
#include "support/text.h"

namespace loopsmith::lsp {

using workspace::Snapshot;

auto hash_of_declarations(const Snapshot& snapshot, const std::string& function, const std::string& schedule) -> uint64_t {
  uint64_t hash = 1;
  bool is_top_level = std::any_of(snapshot.programs().begin(), snapshot.programs().end(), [&](const workspace::Program& one) { return one.name.view() == function; });
  for (const syntax::PlacedItem& placed : snapshot.syntax().items()) {
    // Programs of a module, and functions that schedules call, are in declarations with other names, so everything but other programs and schedules counts.
    bool is_other = false;
    for (const script::FileSchedule& one : snapshot.schedules()) { is_other = is_other || (one.decl == placed.item->decl && one.name.view() != schedule); }
    for (const workspace::Program& one : snapshot.programs()) { is_other = is_other || (is_top_level && one.decl == placed.item->decl && placed.item->name.view() != function); }
    if (!is_other) { hash = hash_combine(hash, placed.item->hash); }
  }
  return hash;
}

auto is_stale(const Snapshot& snapshot, const JobFacts& job) -> bool {
  uint64_t hash = hash_of_declarations(snapshot, job.function, job.schedule);
  if (!job.other.empty()) { hash = hash_combine(hash, hash_of_declarations(snapshot, job.function, job.other)); }
  return hash != job.text_hash;
}

auto is_function(const Snapshot& snapshot, const workspace::Program& program) -> bool {
  syntax::ItemPtr item = snapshot.syntax().declaration(program.decl);
  return item && item->kind == syntax::ItemKind::Function;
}

auto program_with(const Snapshot& snapshot, std::string_view function) -> const workspace::Program* {
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

auto is_for(const Snapshot& snapshot, const script::FileSchedule& schedule, std::string_view function) -> bool {
  if (schedule.program_name.view() == function) { return true; }
  const workspace::Program* program = program_with(snapshot, function);
  return program != nullptr && program->decl == schedule.program_decl;
}

auto time_title(double seconds, double share) -> std::string {
  std::string title = duration_text(seconds);
  if (share > 0) { title += share > 1.005 ? ", above the roofline that was measured" : fmt::format(", {:.0f}% of the roofline", share * 100); }
  return title;
}

auto progress_title(const JobFacts& job) -> std::string {
  if (job.phase == JobPhase::ComparingStopped) { return progress_text(job); }
  if (job.phase == JobPhase::Kept) { return "tuning of an earlier session: " + progress_text(job); }
  if (job.is_paused()) { return "tuning paused: " + progress_text(job); }
  bool is_new = job.phase == JobPhase::Running && !job.progress.has_begun();
  return is_new ? "tuning …" : "tuning: " + progress_text(job);
}

auto stop_title(const JobFacts& job) -> std::string {
  return job.phase == JobPhase::ComparingStopped || job.phase == JobPhase::Kept ? "give it up" : "stop and keep the best";
}

}  // namespace loopsmith::lsp
