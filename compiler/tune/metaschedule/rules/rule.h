// MetaSchedule's schedule rules. A rule looks at one block of a schedule and returns the schedules to go on with: the same one where it does not apply,
// otherwise one for each way to schedule the block. Post-order apply (post_order_apply.h) runs a list of rules over all blocks; the results are the traces
// of a design space, whose sampled numbers are still open.
//
// Names, parameters and default lists are those of Apache TVM 0.19, and the traces are equal, instruction for instruction. One file per rule;
// lists.cpp has the default lists.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "schedule/schedule.h"
#include "support/diagnostic.h"
#include "target/target.h"

namespace loopsmith::tune::rules {

/// The properties of a target that rules use.
struct RuleMachine {
  int64_t cores = 1;
  int64_t max_threads = -1;               // of a thread block; -1: the target has no threads
  int64_t warp_size = -1;
  std::vector<int64_t> async_stages = {};   // depths of a software pipeline with asynchronous copies; empty: not supported
};
[[nodiscard]] auto rule_machine(const target::Target& target) -> RuleMachine;

using Schedules = std::vector<schedule::Schedule>;

class Rule {
 public:
  virtual ~Rule() = default;
  /// TVM's class name: "AddRFactor".
  [[nodiscard]] virtual auto name() const -> std::string_view = 0;
  [[nodiscard]] virtual auto apply(schedule::Schedule sch, schedule::BlockRV block) const -> Result<Schedules> = 0;
};
using RulePtr = std::shared_ptr<const Rule>;
using Rules = std::vector<RulePtr>;

/// The stages that cache a tile: whether they are made, behind or in front of which levels of the tiling, and in which memory.
struct ReuseType {
  enum class Req : uint8_t { No, May, Must };
  Req req = Req::No;
  std::vector<int> levels = {};           // counted from 1
  std::string scope = {};
};

/// A function of the user that chooses blocks of a schedule.
using BlockFilter = std::function<Result<bool>(const schedule::Schedule&, schedule::BlockRV)>;

struct MultiLevelTilingOptions {
  std::string structure;                  // "SSRSRS": a level of spatial or reduction loops for each letter
  std::vector<std::string> tile_binds = {};     // the threads that the outermost levels are bound to
  int64_t max_innermost_factor = -1;      // -1: no limit
  std::vector<int64_t> vector_load_lens = {};
  ReuseType reuse_read = {};
  ReuseType reuse_write = {};
  BlockFilter filter = {};                // chooses blocks that are tiled although the rule would leave them alone; empty: none
};

/// The intrinsics that compute one product on a tensor unit.
struct TensorCoreGroup { std::string init, load_a, load_b, compute, store; };

struct AutoInlineOptions {
  bool into_producer = false;
  bool into_consumer = true;
  bool inline_const_tensor = true;
  bool disallow_if_then_else = true;
  bool require_injective = true;
  bool require_ordered = true;
  std::vector<std::string> disallow_op = {};    // names of intrinsics: "exp"
};

/// A rule of the user for the blocks that have its name in their annotation `schedule_rule`.
using CustomRule = std::function<Result<Schedules>(schedule::Schedule, schedule::BlockRV)>;
using CustomRules = std::map<std::string, CustomRule>;

[[nodiscard]] auto add_rfactor(const RuleMachine& machine, int64_t max_jobs_per_core, int64_t max_innermost_factor) -> RulePtr;
[[nodiscard]] auto apply_custom_rule(CustomRules rules = {}) -> RulePtr;
/// `max_threads_per_block`: a limit below that of the machine; -1: the machine's.
[[nodiscard]] auto auto_bind(const RuleMachine& machine, int64_t max_threadblocks, std::vector<int64_t> thread_extents, int64_t max_threads_per_block = -1) -> RulePtr;
[[nodiscard]] auto auto_inline(AutoInlineOptions options) -> RulePtr;
[[nodiscard]] auto cross_thread_reduction(const RuleMachine& machine, std::vector<int64_t> thread_extents) -> RulePtr;
[[nodiscard]] auto inline_constant_scalars() -> RulePtr;
[[nodiscard]] auto multi_level_tiling(const RuleMachine& machine, MultiLevelTilingOptions options) -> RulePtr;
[[nodiscard]] auto multi_level_tiling_with_intrin(const RuleMachine& machine, std::string intrin_name, MultiLevelTilingOptions options) -> RulePtr;
[[nodiscard]] auto multi_level_tiling_tensor_core(const RuleMachine& machine, std::vector<TensorCoreGroup> groups, MultiLevelTilingOptions options,
                                                  bool use_software_pipeline) -> RulePtr;
[[nodiscard]] auto multi_level_tiling_wide_vector(const RuleMachine& machine, int64_t vector_length_in_bits, MultiLevelTilingOptions options) -> RulePtr;
/// -1 for `max_jobs_per_core` or `max_vectorize_extent` and an empty list of steps turn that part off.
[[nodiscard]] auto parallelize_vectorize_unroll(const RuleMachine& machine, int64_t max_jobs_per_core, int64_t max_vectorize_extent,
                                                std::vector<int64_t> unroll_max_steps, bool unroll_explicit) -> RulePtr;
[[nodiscard]] auto random_compute_location() -> RulePtr;

/// The default list of a target.
[[nodiscard]] auto default_rules(const target::Target& target, CustomRules custom = {}) -> Rules;

}  // namespace loopsmith::tune::rules
