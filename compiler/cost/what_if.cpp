// Replays schedules with another factor: see what_if.h.
#include "cost/what_if.h"

#include <algorithm>
#include <cmath>

#include "cost/estimate.h"
#include "cost/loop_facts.h"
#include "ir/ops.h"
#include "schedule/primitive.h"

namespace loopsmith::cost {
namespace {

using schedule::Instruction;
using schedule::Schedule;
using schedule::Trace;
using schedule::Value;

// The position of the loop among the inputs of `split`.
constexpr size_t loop_argument = 0;
constexpr size_t factors_argument = 1;

auto split_at(const std::vector<const Instruction*>& instructions, size_t index) -> const Value::List* {
  if (index >= instructions.size() || instructions[index]->primitive->name != "split") { return nullptr; }
  return instructions[index]->values[factors_argument].as<Value::List>();
}

/// A new schedule of the same program, without steps.
auto begun(const IRModule& program, const Schedule& like) -> std::optional<Schedule> {
  Schedule fresh(program, 1);
  if (!(fresh.func_working_on() == like.func_working_on()) && !fresh.work_on(like.func_working_on()).ok()) { return std::nullopt; }
  fresh.use_intrinsics(like.intrinsics());
  fresh.use_vscale(like.most_vscale());
  return fresh;
}

/// The extent of the loop that an instruction splits, in the state before the instruction.
auto extent_before(const IRModule& program, const Schedule& like, const std::vector<const Instruction*>& instructions, size_t index) -> std::optional<int64_t> {
  auto schedule = begun(program, like);
  if (!schedule) { return std::nullopt; }
  // The instructions up to it, and the loop variable of the split under its name at that point.
  Trace before;
  for (size_t i = 0; i < index; ++i) { before.append(*instructions[i]); }
  if (!schedule->replay(before).ok()) { return std::nullopt; }
  const auto* wanted = instructions[index]->values[loop_argument].as<schedule::LoopRV>();
  std::vector<const Instruction*> done;
  const Trace trace = schedule->trace();
  done = trace.instructions();
  for (size_t i = 0; wanted != nullptr && i < index && i < done.size(); ++i) {
    for (size_t o = 0; o < instructions[i]->outputs.size(); ++o) {
      const auto* made = instructions[i]->outputs[o].as<schedule::LoopRV>();
      if (made == nullptr || !(*made == *wanted)) { continue; }
      auto place = schedule->get(*done[i]->outputs[o].as<schedule::LoopRV>());
      return place.ok() ? as_int((*place)->loop->extent) : std::nullopt;
    }
  }
  return std::nullopt;
}

/// Replays the schedule with a factor and fills in the touched bytes and the estimate, or the refusal.
void judge(const IRModule& program, const Schedule& like, const std::vector<const Instruction*>& instructions, size_t index, const CoreModel& core, OtherFactor& out) {
  auto schedule = begun(program, like);
  if (!schedule) { return; }
  Trace trace;
  for (size_t i = 0; i < instructions.size(); ++i) {
    Instruction instruction = *instructions[i];
    if (i == index) { instruction.values[factors_argument] = Value(out.factors); }
    trace.append(std::move(instruction));
  }
  size_t done = 0;
  Status status = schedule->replay(trace, false, [&](const Instruction&, const IRModule&) { ++done; });
  if (!status.ok()) {
    out.why_not = status.diagnostics();
    if (done < instructions.size()) { out.refused_by = schedule::python_line(*trace.instructions()[done]); }
    return;
  }
  const schedule::FuncState* func = schedule->state().func(schedule->func_working_on());
  if (func == nullptr) { return; }
  const Trace after = schedule->trace();
  std::vector<const schedule::Place*> made;
  for (const Value& output : after.instructions()[index]->outputs) {
    const auto* loop = output.as<schedule::LoopRV>();
    auto place = loop != nullptr ? schedule->get(*loop) : Result<const schedule::Place*>(nullptr);
    if (loop != nullptr && place.ok()) { made.push_back(*place); }
  }
  auto depth = [&](const schedule::Place* place) {
    size_t above = 0;
    for (; place != nullptr; place = func->parent(*place)) { ++above; }
    return above;
  };
  auto innermost = std::max_element(made.begin(), made.end(), [&](const schedule::Place* a, const schedule::Place* b) { return depth(a) < depth(b); });
  std::vector<const schedule::Place*> nest;
  if (innermost != made.end()) {
    for (const schedule::Place* at = *innermost; at != nullptr; at = func->parent(*at)) {
      if (at->is_loop()) { nest.insert(nest.begin(), at); }
    }
    for (const For* at = (*innermost)->loop; at->body->kind == NodeKind::For;) {
      at = static_cast<const For*>(at->body.get());
      if (const schedule::Place* place = func->find(at->id)) { nest.push_back(place); }
    }
  }
  for (const schedule::Place* place : nest) {
    auto facts = loop_facts(func->func(), place->id);
    out.loops.push_back({place->name(), std::find(made.begin(), made.end(), place) != made.end(), facts ? facts->bytes : std::nullopt});
  }
  if (auto estimated = estimate(*func, core)) { out.seconds = estimated->seconds; }
}

}  // namespace

auto other_factors(const IRModule& program, const Schedule& scheduled, size_t instruction, size_t position, const CoreModel& core, size_t most, const CancelToken& cancel)
    -> std::optional<FactorChoices> {
  const Trace trace = scheduled.trace();
  std::vector<const Instruction*> instructions = trace.instructions();
  const Value::List* factors = split_at(instructions, instruction);
  if (factors == nullptr || position >= factors->size()) { return std::nullopt; }
  while (position < factors->size() && (*factors)[position].is_none()) { ++position; }
  if (position == factors->size() || (*factors)[position].integer() == nullptr) { return std::nullopt; }
  const int64_t here = *(*factors)[position].integer();
  auto extent = extent_before(program, scheduled, instructions, instruction);
  if (!extent || *extent <= 0 || here <= 0) { return std::nullopt; }
  // The factor that keeps the product: the omitted one, else the outermost, else the one behind it.
  size_t other = 0;
  int64_t fixed = 1;
  bool is_left_out = false;
  for (size_t i = 0; i < factors->size(); ++i) {
    if ((*factors)[i].is_none()) {
      is_left_out = true;
      other = i;
    }
  }
  if (!is_left_out) { other = position == 0 ? 1 : 0; }
  if (other >= factors->size()) { return std::nullopt; }
  for (size_t i = 0; i < factors->size(); ++i) {
    if (i == position || i == other) { continue; }
    const int64_t* number = (*factors)[i].integer();
    if (number == nullptr || *number <= 0 || __builtin_mul_overflow(fixed, *number, &fixed)) { return std::nullopt; }
  }
  std::vector<int64_t> candidates = {here};
  if (*extent % fixed == 0) {
    const int64_t room = *extent / fixed;
    for (int64_t factor = 1; factor < (int64_t{1} << 20) && factor * factor <= room; ++factor) {
      if (room % factor != 0) { continue; }
      for (int64_t one : {factor, room / factor}) {
        if (std::find(candidates.begin(), candidates.end(), one) == candidates.end()) { candidates.push_back(one); }
      }
    }
  }
  if (candidates.size() < 2) { return std::nullopt; }
  auto distance = [&](int64_t factor) { return std::abs(std::log(static_cast<double>(factor) / static_cast<double>(here))); };
  std::sort(candidates.begin(), candidates.end(), [&](int64_t a, int64_t b) { return std::pair(distance(a), a) < std::pair(distance(b), b); });
  if (candidates.size() > most) { candidates.resize(std::max<size_t>(1, most)); }
  std::sort(candidates.begin(), candidates.end());
  FactorChoices out{*extent, position, {}};
  for (int64_t factor : candidates) {
    if (cancel.is_cancelled()) { break; }
    OtherFactor one{.factor = factor, .is_here = factor == here, .factors = *factors};
    if (!one.is_here) {
      one.factors[position] = Value(factor);
      if (!is_left_out) { one.factors[other] = Value(*extent / fixed / factor); }
    }
    judge(program, scheduled, instructions, instruction, core, one);
    out.all.push_back(std::move(one));
  }
  return out;
}

auto cache_levels(const CoreModel& core) -> std::vector<CacheLevel> { return {{"L1", core.l1}, {"L2", core.l2}, {"L3", core.l3}}; }

auto level_that_holds(double bytes, const CoreModel& core) -> std::string {
  for (const CacheLevel& level : cache_levels(core)) {
    if (level.bytes > 0 && bytes <= level.bytes) { return level.name; }
  }
  return "memory";
}

}  // namespace loopsmith::cost
