// Spaces made of traces: see trace_spaces.h.
#include "tune/space/trace_spaces.h"

#include <algorithm>
#include <iterator>
#include <set>

#include <fmt/format.h>

#include "schedule/trace_json.h"
#include "support/codes.h"
#include "support/reasons.h"
#include "tune/metaschedule/postprocs/postprocs.h"

namespace loopsmith::tune {
namespace {

constexpr uint64_t least_opencl_memory = 32U << 10U;

using schedule::Instruction;
using schedule::Schedule;
using schedule::Trace;

/// The text of a trace without its decisions.
auto form_of(const Trace& trace) -> std::string {
  Trace open;
  for (const Instruction* instruction : trace.instructions()) {
    Instruction copy = *instruction;
    copy.decision = {};
    open.append(std::move(copy));
  }
  return schedule::trace_to_json(open);
}

auto sketches_of(const SpaceContext& context, const std::string& name, const std::vector<Schedule>& schedules, const FinishTrace& finish, const FinishTrace& draft_finish = {},
                 const std::shared_ptr<const metaschedule::Mutators>& mutators = nullptr) -> Sketches {
  Sketches out;
  for (const Schedule& sch : schedules) {
    std::string number = schedules.size() > 1 ? fmt::format(" {}", out.size() + 1) : std::string();
    out.push_back(std::make_unique<TraceSketch>(context, name + number, sch, finish, draft_finish, mutators));
  }
  return out;
}

}  // namespace

auto different_traces(std::vector<Schedule> schedules) -> std::vector<Schedule> {
  std::vector<Schedule> out;
  std::set<std::string> seen;
  for (Schedule& sch : schedules) {
    if (seen.insert(form_of(sch.trace())).second) { out.push_back(std::move(sch)); }
  }
  return out;
}

namespace {

/// The schedules of a space, by its function or by its rules.
auto schedules_of(const SpaceContext& context, const target::Target& target, uint64_t seed, const SpacePieces& pieces) -> Result<std::vector<Schedule>> {
  const int64_t rand_state = static_cast<int64_t>(seed % 2147483646) + 1;
  if (pieces.function) {
    LOOPSMITH_TRY(first, rules::first_schedule(context.module, context.function, rand_state, pieces.intrinsics));
    return pieces.function(first);
  }
  const rules::Rules rules = pieces.rules ? *pieces.rules : rules::default_rules(target, pieces.custom);
  LOOPSMITH_TRY(made, rules::post_order_apply(context.module, context.function, rules, rand_state, pieces.intrinsics, pieces.filter));
  // A refused step of a rule has a place only in written rules; TVM's rules leave such blocks alone.
  Diagnostics written;
  for (const Diagnostic& d : made.refusals) { if (d.where.is_known() || d.code == Code::CannotTune) { written.push_back(d); } }
  if (pieces.report && !written.empty()) { pieces.report(written); }
  return std::move(made.schedules);
}

}  // namespace

auto metaschedule_space(const SpaceContext& context, const target::Target& target, uint64_t seed, const SpacePieces& pieces) -> Result<Sketches> {
  if (!pieces.parts.empty()) {
    Sketches all;
    for (const SpacePieces& part : pieces.parts) {
      LOOPSMITH_TRY(some, metaschedule_space(context, target, seed, part));
      std::move(some.begin(), some.end(), std::back_inserter(all));
    }
    return all;
  }
  LOOPSMITH_TRY(schedules, schedules_of(context, target, seed, pieces));
  const Name function = context.function;
  metaschedule::TargetNumbers numbers = metaschedule::numbers_of(target);
  const std::vector<metaschedule::Postproc> all = pieces.postprocs ? *pieces.postprocs : metaschedule::default_postprocs(target);
  std::vector<metaschedule::Postproc> for_drafts;
  SpaceContext limited = context;
  if (context.gpu) {
    // The target `opencl` has no limits of its own: they are the device's, or without a device the least that OpenCL 1.2 requires.
    uint64_t& shared = limited.gpu->limits.shared_most;
    if (numbers.shared_memory <= 0) { numbers.shared_memory = static_cast<int64_t>(shared > 0 ? shared : least_opencl_memory); }
    // The draft of a kernel checks threads and shared memory itself, a hundred times as fast as by lowering. It knows tensor intrinsics by their annotations:
    // their implementations hide which elements they access.
    shared = static_cast<uint64_t>(numbers.shared_memory);
    std::copy_if(all.begin(), all.end(), std::back_inserter(for_drafts), [](const metaschedule::Postproc& one) { return one.name != "VerifyGPUCode" && one.name != "RewriteTensorize"; });
  }
  auto finish_by = [numbers, function](std::vector<metaschedule::Postproc> postprocs) -> FinishTrace {
    return [postprocs = std::move(postprocs), numbers, function](Schedule& sch) -> Status {
      std::string rejected_by;
      LOOPSMITH_TRY(is_kept, metaschedule::run_postprocs(sch, postprocs, numbers, &rejected_by));
      if (!is_kept) { return error(Code::CannotTune).arg("function", function.view()).arg("reason", because(Why::PostprocRejects).arg("name", rejected_by).text()).remedy("leave `" + rejected_by + "` out of `--postprocs`"); }
      return ok();
    };
  };
  auto mutators = std::make_shared<const metaschedule::Mutators>(pieces.mutators ? *pieces.mutators : metaschedule::default_mutators(target));
  return sketches_of(limited, "metaschedule", different_traces(std::move(schedules)), finish_by(all), for_drafts.empty() ? FinishTrace() : finish_by(for_drafts), mutators);
}

auto sampled_space(const SpaceContext& context, const std::string& name, const Trace& trace) -> Result<Sketches> {
  Schedule sch(context.module, 1);
  LOOPSMITH_CHECK(sch.work_on(context.function));
  LOOPSMITH_CHECK(sch.replay(trace));
  return sketches_of(context, name, {std::move(sch)}, {});
}

auto has_samples(const Trace& trace) -> bool {
  const std::vector<const Instruction*> all = trace.instructions();
  return std::any_of(all.begin(), all.end(), [](const Instruction* i) { return i->primitive->is_sampling; });
}

}  // namespace loopsmith::tune
