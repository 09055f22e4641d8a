// Aligns statements by their text: see two_schedules.h.
#include "lsp/features/two_schedules.h"

#include <fmt/format.h>

#include "cost/estimate.h"
#include "ir/equal.h"
#include "ir/printer.h"
#include "ir/script_diff.h"
#include "script/refusals.h"
#include "support/text.h"
#include "support/text_diff.h"

namespace loopsmith::lsp {
namespace {

using workspace::Snapshot;

auto find_schedule(const Snapshot& snapshot, std::string_view name) -> const script::FileSchedule* {
  for (const script::FileSchedule& one : snapshot.schedules()) {
    if (one.name.view() == name && one.run != nullptr && one.run->is_complete && one.run->result != nullptr) { return &one; }
  }
  return nullptr;
}

/// One statement per line.
auto statements_of(const Snapshot& snapshot, const script::FileSchedule& schedule) -> std::string {
  std::string out;
  for (const script::Step& step : schedule.run->steps) {
    auto span = snapshot.resolve(step.where);
    out += (span ? script::one_line(snapshot.text().substr(span->begin, span->end - span->begin)) : std::string("...")) + "\n";
  }
  return out;
}

auto estimated(const schedule::Schedule& state, const cost::CoreModel& core) -> double {
  const schedule::FuncState* func = state.state().func(state.func_working_on());
  auto found = func != nullptr ? cost::estimate(*func, core) : std::nullopt;
  return found ? found->seconds : 0;
}

}  // namespace

auto schedules_compared(const Snapshot& snapshot, std::string_view first, std::string_view second) -> std::string {
  const script::FileSchedule* a = find_schedule(snapshot, first);
  const script::FileSchedule* b = find_schedule(snapshot, second);
  if (a == nullptr || b == nullptr || a == b || a->program_decl != b->program_decl || !(a->program_name == b->program_name)) { return {}; }
  std::string left = statements_of(snapshot, *a), right = statements_of(snapshot, *b);
  std::vector<DiffLine> lines = diff_lines(left, right);
  size_t shared = 0;
  for (const DiffLine& line : lines) { shared += line.kind == DiffLine::Kind::Same ? 1 : 0; }
  std::string text = fmt::format("`{}` has {}, `{}` has {}; {} are the same.\n\n", first, count_text(static_cast<int64_t>(a->run->steps.size()), "statement"), second, b->run->steps.size(), shared);
  double left_seconds = estimated(*a->run->result, cost::core_for(a->target)), right_seconds = estimated(*b->run->result, cost::core_for(b->target));
  if (std::string gain = left_seconds > 0 && right_seconds > 0 ? cost::gain_text(left_seconds / right_seconds) : std::string(); !gain.empty()) {
    text += fmt::format("By an estimate `{}` is {}: nothing was run.\n\n", second, gain.starts_with("about ") ? gain : "about " + gain);
  }
  text += "```diff\n";
  for (const DiffLine& line : lines) {
    auto number = [](uint32_t n) { return n > 0 ? fmt::format("{:>3}", n) : std::string("   "); };
    text += fmt::format("{} {} {}  {}\n", static_cast<char>(line.kind), number(line.before), number(line.after), line.text);
  }
  text += "```\n\n";
  const IRModule& made = a->run->result->module();
  const IRModule& other = b->run->result->module();
  std::string difference = structural_equal(made, other) ? std::string() : diff_scripts(print_script(made), print_script(other), {.context = 2});
  if (difference.empty()) { return text + "They make the same program.\n"; }
  return text + fmt::format("The programs they make, `-` by `{}`, `+` by `{}`:\n\n```diff\n{}```\n", first, second, difference);
}

}  // namespace loopsmith::lsp
