// Post-order apply: see post_order_apply.h.
#include "tune/metaschedule/rules/post_order_apply.h"

#include <set>

#include "ir/visitor.h"
#include "support/codes.h"
#include "support/reasons.h"
#include "tune/metaschedule/rules/block_facts.h"
#include "tune/metaschedule/rules/calls.h"

namespace loopsmith::tune::rules {
namespace {

// A space of more schedules than this is refused: a rule of the user may return several for each block.
constexpr size_t most_schedules = 4096;

/// A schedule and the blocks that the current rule has not visited yet; the last one is next.
struct Pending {
  Schedule sch;
  std::vector<BlockRV> blocks;
};

/// All blocks, those inside a block before it.
auto blocks_of(const PrimFunc& func) -> std::vector<Ref<Block>> {
  std::vector<Ref<Block>> blocks;
  post_order(func->body, [&](const Stmt& s) { if (const auto* realize = s.as<BlockRealize>()) { blocks.push_back(realize->block); } }, [](const Expr&) {});
  return blocks;
}

/// The schedules that a rule makes of one schedule, in TVM's order: the last result of the rule is followed first.
auto apply_everywhere(const Rule& rule, std::vector<Pending> stack, Diagnostics& refusals) -> Result<Schedules> {
  Schedules out;
  std::set<std::string> reported;
  while (!stack.empty()) {
    Pending now = std::move(stack.back());
    stack.pop_back();
    if (now.blocks.empty()) {
      out.push_back(std::move(now.sch));
      continue;
    }
    const BlockRV block = now.blocks.back();
    now.blocks.pop_back();
    auto place = now.sch.get(block);
    // The block may be gone, or belong to a rule of the user.
    const bool is_custom = place.ok() && rule.name() != "ApplyCustomRule" && string_attr((*place)->block()->annotations, "schedule_rule");
    if (!place.ok() || is_custom) {
      stack.push_back(std::move(now));
      continue;
    }
    auto made = rule.apply(now.sch, block);
    if (!made.ok()) {
      // The rule leaves the block alone. Several schedules may have the same reason.
      for (Diagnostic& d : std::move(made).diagnostics()) { if (reported.insert(d.message()).second) { refusals.push_back(std::move(d)); } }
      stack.push_back(std::move(now));
      continue;
    }
    for (Schedule& sch : *made) { stack.push_back({std::move(sch), now.blocks}); }
    if (stack.size() + out.size() > most_schedules) {
      return error(Code::CannotTune).arg("function", rule.name()).arg("reason", because(Why::TooManySchedules).arg("most", most_schedules).text());
    }
  }
  return out;
}

}  // namespace

auto first_schedule(const IRModule& module, Name function, int64_t rand_state, std::shared_ptr<const std::vector<schedule::TensorIntrin>> intrinsics) -> Result<Schedule> {
  // TVM derives the seed of the generator of spaces from that of the tuning context, and the seed of the schedule from that.
  schedule::RandomEngine context(rand_state);
  schedule::RandomEngine generator(context.fork_seed());
  Schedule sch(module, generator.fork_seed());
  if (intrinsics) { sch.use_intrinsics(std::move(intrinsics)); }
  LOOPSMITH_CHECK(sch.work_on(function));
  return sch;
}

auto post_order_apply(const IRModule& module, Name function, const Rules& rules, int64_t rand_state, std::shared_ptr<const std::vector<schedule::TensorIntrin>> intrinsics,
                      const VisitFilter& filter) -> Result<RuleSpace> {
  LOOPSMITH_TRY(sch, first_schedule(module, function, rand_state, std::move(intrinsics)));
  std::vector<BlockRV> blocks;
  for (const Ref<Block>& one : blocks_of(sch.state().func(function)->func())) {
    if (filter) {
      LOOPSMITH_TRY(is_visited, filter(one));
      if (!is_visited) { continue; }
    }
    LOOPSMITH_TRY(block, block_from(sch, "get_block", {one->name.str(), function.str()}));
    blocks.push_back(block);
  }
  RuleSpace space{.schedules = {std::move(sch)}};
  for (const RulePtr& rule : rules) {
    std::vector<Pending> stack;
    for (const Schedule& one : space.schedules) { stack.push_back({one, blocks}); }
    auto next = apply_everywhere(*rule, std::move(stack), space.refusals);
    if (next.ok()) {
      space.schedules = std::move(*next);
    } else {
      for (Diagnostic& d : std::move(next).diagnostics()) { space.refusals.push_back(std::move(d)); }
    }
  }
  return space;
}

}  // namespace loopsmith::tune::rules
