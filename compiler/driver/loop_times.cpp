// Measures loops: see loop_times.h.
#include "driver/loop_times.h"

#include <chrono>

#include <fmt/format.h>

#include "driver/lowering.h"
#include "ir/loop_kind.h"
#include "runtime/profile.h"
#include "transform/instrument_loops.h"

namespace loopsmith::driver {
auto loop_times(const Selection& selection, const Call& call, int depth) -> Result<std::vector<LoopTimeRow>> {
  transform::LowerContext context = lower_context(selection.target);
  context.options.profile_depth = depth;
  LOOPSMITH_TRY(lowered, transform::lower(selection.module, context, lower_request(selection.target)));
  LOOPSMITH_TRY(code, runtime::JitModule::compile(lowered, selection.target, {}, selection.module));
  LOOPSMITH_TRY(function, code.find(codegen::symbol_of(selection.function, selection.before->find(selection.function))));
  LOOPSMITH_TRY(arguments, runtime::make_arguments(function->interface, call.sizes, 1, runtime::Fill::Normal, {}, call.values));
  LOOPSMITH_TRY(slots, runtime::bind_arguments(function->interface, arguments.values));
  LOOPSMITH_CHECK(runtime::invoke(*function, slots));
  runtime::reset_profile();
  using Clock = std::chrono::steady_clock;
  int64_t calls = 0;
  for (auto begin = Clock::now(); Clock::now() - begin < std::chrono::milliseconds(200) || calls == 0; ++calls) {
    LOOPSMITH_CHECK(runtime::invoke(*function, slots));
  }
  std::vector<runtime::LoopTime> times = runtime::profile();
  Locate locate = selection.file ? selection.file->locate() : Locate();
  std::vector<LoopTimeRow> out;
  for (const transform::TimedLoop& timed : transform::timed_loops(lowered)) {
    if (!(timed.function == selection.function)) { continue; }
    LoopTimeRow row;
    row.depth = timed.depth;
    row.loop = timed.loop->var->name.str() + loop_kind_behind(", ", *timed.loop);
    if (auto place = locate && timed.loop->origin.is_known() ? locate(timed.loop->origin) : std::nullopt) {
      row.place = fmt::format("{}:{}", place->text->name(), human_position(*place->text, place->span.begin).line);
    }
    for (const runtime::LoopTime& t : times) {
      if (t.number != timed.number) { continue; }
      row.runs = static_cast<double>(t.runs) / static_cast<double>(calls);
      row.seconds = t.seconds / static_cast<double>(calls);
    }
    out.push_back(std::move(row));
  }
  return out;
}

}  // namespace loopsmith::driver
