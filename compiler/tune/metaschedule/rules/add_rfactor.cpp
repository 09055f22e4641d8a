// AddRFactor: a reduction with little parallel work is split into partial results, which a second block adds up. One schedule for each of the two halves of
// the reduction loop that can be the partial dimension, and one without the rule.
#include "tune/metaschedule/rules/block_facts.h"
#include "tune/metaschedule/rules/reduction_loops.h"
#include "tune/metaschedule/rules/rule.h"

namespace loopsmith::tune::rules {
namespace {

class AddRFactor : public Rule {
 public:
  AddRFactor(const RuleMachine& machine, int64_t max_jobs_per_core, int64_t max_innermost_factor)
      : max_parallel_basic_(machine.cores),
        max_parallel_extent_(max_jobs_per_core == -1 ? -1 : machine.cores * max_jobs_per_core),
        max_innermost_factor_(max_innermost_factor) {}

  auto name() const -> std::string_view override { return "AddRFactor"; }

  auto apply(Schedule sch, BlockRV block) const -> Result<Schedules> override {
    LOOPSMITH_TRY(found, find_block(sch, block));
    if (!needs_rfactor_or_cross_thread_reduction(*found.func, *found.place, max_parallel_extent_, max_parallel_basic_)) { return Schedules{std::move(sch)}; }
    Schedule original = sch.fork();
    original.seed(sch.fork_seed());
    LOOPSMITH_TRY(reduction, reorder_and_fuse_reduction_loops(sch, block));
    LOOPSMITH_TRY(factors, sample_tile(sch, reduction.fused, 2, max_innermost_factor_));
    LOOPSMITH_TRY(parts, metaschedule::split(sch, reduction.fused, Values(factors.begin(), factors.end())));
    Schedules out;
    for (LoopRV part : parts) {
      Schedule one = sch.fork();
      one.seed(sch.fork_seed());
      auto partial = block_from(one, "rfactor", {part, static_cast<int64_t>(reduction.spatial_loops)});
      if (!partial.ok()) { continue; }
      LOOPSMITH_CHECK(get_loops(one, *partial));
      // RandomComputeLocation chooses a place for the block of partial results.
      LOOPSMITH_CHECK(annotate(one, block, "meta_schedule.random_compute_producer", 1));
      out.push_back(std::move(one));
    }
    out.push_back(std::move(original));
    return out;
  }

 private:
  int64_t max_parallel_basic_;
  int64_t max_parallel_extent_;
  int64_t max_innermost_factor_;
};

}  // namespace

auto add_rfactor(const RuleMachine& machine, int64_t max_jobs_per_core, int64_t max_innermost_factor) -> RulePtr {
  return std::make_shared<AddRFactor>(machine, max_jobs_per_core, max_innermost_factor);
}

}  // namespace loopsmith::tune::rules
