// Prints a scheduled program in a form that can be parsed again: see scheduled_program.h.
#include "lsp/features/scheduled_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "ir/equal.h"
#include "ir/printer.h"
#include "lsp/features/tuning.h"
#include "support/text.h"
#include "workspace/snapshot.h"

namespace loopsmith::lsp {
namespace {

using workspace::Snapshot;

const Name global_symbol("global_symbol");

}  // namespace

auto apply_schedule(const Snapshot& snapshot, const script::FileSchedule& schedule) -> TextRewrite {
  TextRewrite out{fmt::format("Apply `{}`", schedule.name.view()), {}, {}};
  auto refuse = [&](std::string why) {
    out.edits.clear();
    out.why_not = std::move(why);
    return out;
  };
  const script::ScheduleRun* run = schedule.run.get();
  if (run == nullptr || !schedule.is_settled() || !run->is_complete || run->result == nullptr) { return refuse(fmt::format("`{}` does not run to its end", schedule.name.view())); }
  auto where = snapshot.resolve(schedule.where);
  const syntax::PlacedItem* item = where ? snapshot.syntax().item_at(where->begin) : nullptr;
  if (item == nullptr) { return refuse(fmt::format("`{}` is not in the text any more", schedule.name.view())); }
  IRModule module = run->result->module();
  // Python needs these imports to run the text; TIRScript predeclares the names.
  if (snapshot.name().ends_with(".py") && (!contains_name(snapshot.text(), "T") || (module->functions.size() > 1 && !contains_name(snapshot.text(), "I")))) {
    return refuse("the program would be written with `T` and `I`, as `from tvm.script import ir as I, tir as T` makes them, and the file does not import them so");
  }

  const std::string wanted = to_name(schedule.program_name.empty() ? schedule.name.str() : schedule.program_name.str() + "_" + schedule.name.str());
  const std::string name = workspace::free_name(snapshot.text(), wanted);
  size_t steps = run->steps.size();
  std::string text = fmt::format("# `{}` as `{}` makes it, in {}.\n", schedule.program_name.view(), schedule.name.view(), count_text(static_cast<int64_t>(steps), "step"));
  PrimFunc only;
  if (module->functions.size() == 1) {
    PrimFunc function = module->functions.begin()->second;
    PrimFuncNode fields = *function;
    fields.attrs = without_attr(function->attrs, global_symbol);
    only = make_func(std::move(fields));
    text += print_script(only, {.dialect = module->dialect, .override_dialect = true, .header = false, .function_name = Name(name)});
  } else {
    std::string whole = print_script(module, {.header = false});
    constexpr std::string_view head = "class Module:";
    size_t at = whole.find(head);
    if (at == std::string::npos) { return refuse("the module cannot be written as text"); }
    text += whole.replace(at, head.size(), "class " + name + ":");
  }
  Insertion insertion = insertion_behind(snapshot, item->end(), text);
  out.edits.push_back({{insertion.offset, insertion.offset}, std::move(insertion.text)});

  // Parse the text again, to check that the result is the same program.
  workspace::Document document(snapshot.name(), snapshot.version(), with_edits(snapshot.text(), out.edits), snapshot.modules());
  document.check();
  workspace::SnapshotPtr after = document.snapshot();
  auto program = std::find_if(after->programs().begin(), after->programs().end(), [&](const workspace::Program& one) { return one.name.view() == name; });
  if (program == after->programs().end() || !program->module) { return refuse("the written program could not be parsed"); }
  bool is_same = only ? program->module->functions.size() == 1 && structural_equal(program->module->functions.begin()->second, only) : structural_equal(program->module, module);
  return is_same ? out : refuse("the written program would differ from the scheduled one");
}

}  // namespace loopsmith::lsp
