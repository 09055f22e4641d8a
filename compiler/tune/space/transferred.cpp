// Traces of other programs as sketches: see transferred.h.
#include "tune/space/transferred.h"

#include <algorithm>
#include <set>

#include "schedule/trace_json.h"
#include "tune/space/drafted_sketch.h"

namespace loopsmith::tune {
namespace {

class TransferredSketch final : public DraftedSketch {
 public:
  TransferredSketch(const SpaceContext& context, const std::string& program, schedule::Trace trace) : DraftedSketch(context), trace_(std::move(trace)) { name_ = "record of " + program; }
  [[nodiscard]] auto apply(schedule::Schedule& sch, const Point& /*point*/) const -> Status override { return sch.replay(trace_); }
  [[nodiscard]] auto known_trace(const Point& /*point*/) const -> std::optional<schedule::Trace> override { return trace_; }

 protected:
  [[nodiscard]] auto prepare_draft(schedule::Schedule& sch, const Point& /*point*/) const -> bool override { return sch.replay(trace_).ok(); }

 private:
  schedule::Trace trace_;
};

}  // namespace

auto for_any_extent(const schedule::Trace& trace) -> schedule::Trace {
  schedule::Trace out;
  for (const schedule::Instruction* instruction : trace.instructions()) {
    schedule::Instruction copy = *instruction;
    const auto* factors = copy.primitive->kind == "Split" ? copy.values[1].as<schedule::Value::List>() : nullptr;
    if (factors && !factors->empty() && std::all_of(factors->begin(), factors->end(), [](const schedule::Value& factor) { return factor.integer() != nullptr; })) {
      schedule::Value::List open = *factors;
      open[0] = schedule::Value();
      copy.values[1] = schedule::Value(std::move(open));
    }
    out.append(std::move(copy));
  }
  return out;
}

auto transferred_sketches(const SpaceContext& context, const std::vector<std::pair<std::string, schedule::Trace>>& traces, size_t most) -> Sketches {
  Sketches out;
  std::set<std::string> known;
  for (const auto& [program, trace] : traces) {
    if (out.size() == most) { break; }
    schedule::Schedule sch(context.module, 1);
    if (sch.func_working_on() != context.function && !sch.work_on(context.function).ok()) { continue; }
    schedule::Trace adapted = for_any_extent(trace);
    if (!sch.replay(adapted).ok() || !known.insert(schedule::trace_to_json(adapted)).second) { continue; }
    out.push_back(std::make_unique<TransferredSketch>(context, program, std::move(adapted)));
  }
  return out;
}

}  // namespace loopsmith::tune
