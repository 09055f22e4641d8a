// MetaSchedule's post-processors: the last steps on a sampled schedule, which turn annotations into primitives, and reject schedules that the target
// cannot run. Each is a file here, a function below, and a row in postprocs.cpp; names, behaviour and instructions of the trace are those of TVM 0.19.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "schedule/schedule.h"
#include "target/target.h"

namespace loopsmith::tune::metaschedule {

using schedule::Schedule;

/// False: the schedule is rejected. An error: a step was refused; TVM raises an exception there.
using Verdict = Result<bool>;

/// The numbers of a target that post-processors need; -1: the target has none.
struct TargetNumbers {
  int64_t threads_per_block = -1;
  int64_t warp_size = -1;
  int64_t shared_memory = -1;      // of a block, in bytes
  int64_t vtcm_capacity = -1;      // in bytes; 0: no limit
};
[[nodiscard]] auto numbers_of(const target::Target& target) -> TargetNumbers;

struct Postproc {
  std::string name;                                                          // TVM's: "RewriteLayout"
  std::function<Verdict(Schedule&, const TargetNumbers&)> apply;
};

[[nodiscard]] auto disallow_async_strided_mem_copy() -> Postproc;
[[nodiscard]] auto disallow_dynamic_loop() -> Postproc;
[[nodiscard]] auto rewrite_cooperative_fetch() -> Postproc;
[[nodiscard]] auto rewrite_layout() -> Postproc;
[[nodiscard]] auto rewrite_parallel_vectorize_unroll() -> Postproc;
[[nodiscard]] auto rewrite_reduction_block() -> Postproc;
[[nodiscard]] auto rewrite_tensorize(bool vectorize_init_loop = false) -> Postproc;
[[nodiscard]] auto rewrite_unbound_block(int64_t max_threadblocks = 256) -> Postproc;
[[nodiscard]] auto verify_gpu_code() -> Postproc;
[[nodiscard]] auto verify_vtcm_limit() -> Postproc;

/// A program as written that a GPU can run: the outer spatial loops of each block of the function are bound to threads, so that one thread computes an element, in
/// the order of the program. An error where a primitive refuses that.
[[nodiscard]] auto bound_to_threads(const IRModule& module, Name function) -> Result<IRModule>;

/// The error of a post-processor whose number the target does not have.
[[nodiscard]] auto missing_number(const Schedule& sch, std::string_view postproc, std::string_view number) -> Diagnostic;

/// The post-processors that TVM runs for a target, in its order.
[[nodiscard]] auto default_postprocs(const target::Target& target) -> std::vector<Postproc>;
/// By TVM's name, with the parameters of the target's default list; none for an unknown name.
[[nodiscard]] auto find_postproc(std::string_view name, const target::Target& target) -> std::optional<Postproc>;
[[nodiscard]] auto postproc_names() -> std::vector<std::string>;

/// Enters the post-processing part of the trace, and runs the list until one rejects. `rejected_by` receives the name of that one.
[[nodiscard]] auto run_postprocs(Schedule& sch, const std::vector<Postproc>& postprocs, const TargetNumbers& numbers, std::string* rejected_by = nullptr) -> Verdict;

}  // namespace loopsmith::tune::metaschedule
