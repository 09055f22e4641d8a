// RandomComputeLocation: a block that no other rule has placed is computed inside a sampled loop of its consumers.
#include "ir/ops.h"
#include "schedule/block_classes.h"
#include "tune/metaschedule/rules/block_facts.h"
#include "tune/metaschedule/rules/calls.h"
#include "tune/metaschedule/rules/rule.h"

namespace loopsmith::tune::rules {
namespace {

constexpr std::string_view producer_too = "meta_schedule.random_compute_producer";

auto is_free(const FuncState& func, const Place& place) -> bool {
  const Place* scope = func.scope(place);
  if (!scope || scope->parent >= 0) { return false; }
  const std::vector<const Place*> loops = func.loops(place);
  if (loops.empty() || func.child_blocks(*loops.front()).size() > 1) { return false; }
  return !is_tiled(*place.block()) && !schedule::consumers_of(func, place).empty();
}

auto compute_somewhere(Schedule& sch, BlockRV block) -> Status {
  LOOPSMITH_TRY(location, sch.call("sample_compute_location", {block}));
  return perform(sch, "compute_at", {block, location, true});
}

class RandomComputeLocation : public Rule {
 public:
  auto name() const -> std::string_view override { return "RandomComputeLocation"; }

  auto apply(Schedule sch, BlockRV block) const -> Result<Schedules> override {
    LOOPSMITH_TRY(found, find_block(sch, block));
    if (!is_free(*found.func, *found.place)) { return Schedules{std::move(sch)}; }
    // The block itself may be inlined and gone afterwards, so its producer is looked up first.
    const Attr* asked = find_attr(found.place->block()->annotations, Name(producer_too));
    std::vector<BlockRV> producers;
    if (asked && asked->expr() && is_one(asked->expr())) {
      LOOPSMITH_TRY(all, blocks_from(sch, "get_producers", block));
      LOOPSMITH_CHECK(perform(sch, "unannotate", {block, std::string(producer_too)}));
      producers = std::move(all);
    }
    LOOPSMITH_CHECK(compute_somewhere(sch, block));
    if (producers.size() == 1) { LOOPSMITH_CHECK(compute_somewhere(sch, producers.front())); }
    return Schedules{std::move(sch)};
  }
};

}  // namespace

auto random_compute_location() -> RulePtr { return std::make_shared<RandomComputeLocation>(); }

}  // namespace loopsmith::tune::rules
