// ParallelizeVectorizeUnroll: annotations of the root block, which a post-processor turns into parallel, vectorized and unrolled loops.
#include "tune/metaschedule/rules/block_facts.h"
#include "tune/metaschedule/rules/calls.h"
#include "tune/metaschedule/rules/rule.h"

namespace loopsmith::tune::rules {
namespace {

class ParallelizeVectorizeUnroll : public Rule {
 public:
  ParallelizeVectorizeUnroll(const RuleMachine& machine, int64_t max_jobs_per_core, int64_t max_vectorize_extent, std::vector<int64_t> unroll_max_steps,
                             bool unroll_explicit)
      : max_parallel_extent_(max_jobs_per_core == -1 ? -1 : machine.cores * max_jobs_per_core),
        max_vectorize_extent_(max_vectorize_extent),
        unroll_max_steps_(std::move(unroll_max_steps)),
        unroll_explicit_(unroll_explicit) {}

  auto name() const -> std::string_view override { return "ParallelizeVectorizeUnroll"; }

  auto apply(Schedule sch, BlockRV block) const -> Result<Schedules> override {
    LOOPSMITH_TRY(found, find_block(sch, block));
    if (found.place->parent >= 0) { return Schedules{std::move(sch)}; }
    const bool unrolls = !unroll_max_steps_.empty() && !is_spatial(found.func->func());
    if (max_parallel_extent_ != -1) { LOOPSMITH_CHECK(annotate(sch, block, "meta_schedule.parallel", max_parallel_extent_)); }
    if (max_vectorize_extent_ != -1) { LOOPSMITH_CHECK(annotate(sch, block, "meta_schedule.vectorize", max_vectorize_extent_)); }
    if (unrolls) {
      LOOPSMITH_TRY(steps, sample_one_of(sch, unroll_max_steps_));
      LOOPSMITH_CHECK(annotate(sch, block, unroll_explicit_ ? "meta_schedule.unroll_explicit" : "meta_schedule.unroll_implicit", steps));
    }
    return Schedules{std::move(sch)};
  }

 private:
  int64_t max_parallel_extent_;
  int64_t max_vectorize_extent_;
  std::vector<int64_t> unroll_max_steps_;
  bool unroll_explicit_;
};

}  // namespace

auto parallelize_vectorize_unroll(const RuleMachine& machine, int64_t max_jobs_per_core, int64_t max_vectorize_extent,
                                  std::vector<int64_t> unroll_max_steps, bool unroll_explicit) -> RulePtr {
  return std::make_shared<ParallelizeVectorizeUnroll>(machine, max_jobs_per_core, max_vectorize_extent, std::move(unroll_max_steps), unroll_explicit);
}

}  // namespace loopsmith::tune::rules
