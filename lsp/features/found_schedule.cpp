// Edits that write a found schedule: see found_schedule.h.
#include "lsp/features/found_schedule.h"

#include <fmt/format.h>

#include "lsp/features/rewrites.h"

namespace loopsmith::lsp {
namespace {

using workspace::Snapshot;

auto refused(std::string why) -> TextRewrite { return {{}, {}, std::move(why)}; }

auto schedule_named(const Snapshot& snapshot, std::string_view name) -> const script::FileSchedule* {
  for (const script::FileSchedule& schedule : snapshot.schedules()) {
    if (schedule.name.view() == name) { return &schedule; }
  }
  return nullptr;
}

auto fill_hole(const Snapshot& snapshot, const JobFacts& job) -> TextRewrite {
  const script::FileSchedule* schedule = schedule_named(snapshot, job.schedule);
  if (schedule == nullptr) { return refused(fmt::format("`{}` is not in the file any more; the steps were not written", job.schedule)); }
  auto hole = hole_of(snapshot, *schedule);
  if (!hole) {
    return refused(schedule->is_settled() ? fmt::format("`{}` has no `tune()` any more; the steps were not written", job.schedule)
                                        : fmt::format("`{}` is being run after an edit; try again in a moment", job.schedule));
  }
  if (hole->state != job.hole_state) { return refused("the program was changed since the search began, and the steps found are not for it; tune again"); }
  return {"Fill in the best steps", {{hole->span, filled(snapshot, *hole, job.schedule_text)}}, {}};
}

}  // namespace

auto write_found(const Snapshot& snapshot, const FoundSchedule& found, std::string_view replaced) -> TextRewrite {
  if (!replaced.empty()) {
    const script::FileSchedule* schedule = schedule_named(snapshot, replaced);
    if (schedule == nullptr) { return refused(fmt::format("`{}` is not in the file any more", replaced)); }
    TextRewrite rewrite = replace_schedule(snapshot, *schedule, found.text);
    if (rewrite.edits.empty()) { rewrite.why_not = fmt::format("`{}` is not replaced: {}", replaced, rewrite.why_not); }
    return rewrite;
  }
  auto placed = workspace::placed_after(snapshot, found.function, found.text);
  if (!placed) { return refused(fmt::format("`{}` is not in the file any more; the schedule was not inserted", found.function)); }
  TextRewrite rewrite{insert_title, {}, {}};
  if (placed->imports) { rewrite.edits.push_back(std::move(*placed->imports)); }
  rewrite.edits.push_back({{placed->insertion.offset, placed->insertion.offset}, std::move(placed->insertion.text)});
  return rewrite;
}

auto write_result(const Snapshot& snapshot, const JobFacts& job, std::string_view replaced) -> TextRewrite {
  // The search of the space of a schedule finds a schedule of its own.
  if (job.fills() && !job.hole_state.empty()) { return fill_hole(snapshot, job); }
  return write_found(snapshot, {job.function, job.schedule_text}, replaced);
}

}  // namespace loopsmith::lsp
