// The table of post-processors, the default lists, the numbers of targets: see postprocs.h.
#include "tune/metaschedule/postprocs/postprocs.h"

#include <algorithm>

#include "ir/vocabulary.h"
#include "support/codes.h"
#include "support/reasons.h"
#include "target/gpu.h"
#include "target/hardware.h"

namespace loopsmith::tune::metaschedule {
namespace {

using target::Target;

// A number among the options that TVM knows and that change nothing else here: `-vtcm-capacity=4194304`.
auto number_option(const Target& target, std::string_view name) -> std::optional<int64_t> {
  for (const auto& [key, value] : target.others) {
    if (key != name || value.empty() || value.size() > 12) { continue; }
    int64_t number = 0;
    for (char c : value) {
      if (c < '0' || c > '9') { return std::nullopt; }
      number = number * 10 + (c - '0');
    }
    return number;
  }
  return std::nullopt;
}

/// The default lists of TVM, by the kind of machine.
enum class Machine : uint8_t { Cpu, CpuWithUnits, Gpu, GpuWithUnits, Hexagon, Micro };

auto machine_of(const Target& target) -> Machine {
  if (target.kind == "hexagon") { return Machine::Hexagon; }
  if (target.kind == target_kind::c) { return Machine::Micro; }
  if (target.kind == target_kind::cuda) {
    std::string arch = target::cuda_arch(target);
    return arch.starts_with("sm_") && std::atoi(arch.c_str() + 3) >= 75 ? Machine::GpuWithUnits : Machine::Gpu;
  }
  if (target.kind == target_kind::rocm) { return Machine::GpuWithUnits; }
  if (is_gpu_target(target.kind)) { return Machine::Gpu; }
  if (target.architecture() == target::Architecture::AArch64) {
    bool has_units = std::any_of(target.features.begin(), target.features.end(), [](const std::string& f) { return f == "+dotprod" || f == "+neon" || f == "+v8.2a"; });
    return has_units ? Machine::CpuWithUnits : Machine::Cpu;
  }
  target::Hardware hardware = target::hardware(target);
  return hardware.avx512 || hardware.vnni ? Machine::CpuWithUnits : Machine::Cpu;
}

}  // namespace

auto numbers_of(const Target& target) -> TargetNumbers {
  TargetNumbers out;
  if (auto limits = target::gpu_limits(target)) {
    out = {static_cast<int64_t>(limits->block_threads), static_cast<int64_t>(limits->warp), static_cast<int64_t>(limits->shared_static), -1};
  } else if (const TargetKind* kind = find_target_kind(target.kind)) {
    if (kind->max_threads > 0) { out.threads_per_block = kind->max_threads; }
    if (kind->warp_size > 0) { out.warp_size = kind->warp_size; }
  }
  for (auto [name, number] : {std::pair{"max_threads_per_block", &out.threads_per_block}, {"thread_warp_size", &out.warp_size},
                              {"max_shared_memory_per_block", &out.shared_memory}, {"vtcm-capacity", &out.vtcm_capacity}}) {
    if (auto given = number_option(target, name)) { *number = *given; }
  }
  return out;
}

auto missing_number(const Schedule& sch, std::string_view postproc, std::string_view number) -> Diagnostic {
  return error(Code::CannotTune).arg("function", sch.func_working_on().view()).arg("reason", because(Why::PostprocNeeds).arg("name", postproc).arg("number", number).text())
      .remedy("add `-" + std::string(number) + "=N` to the target");
}

auto default_postprocs(const Target& target) -> std::vector<Postproc> {
  Machine machine = machine_of(target);
  std::vector<Postproc> out{disallow_dynamic_loop()};
  bool is_gpu = machine == Machine::Gpu || machine == Machine::GpuWithUnits;
  if (is_gpu) {
    out.push_back(rewrite_cooperative_fetch());
    out.push_back(rewrite_unbound_block());
  }
  out.push_back(rewrite_parallel_vectorize_unroll());
  out.push_back(rewrite_reduction_block());
  if (machine == Machine::CpuWithUnits) { out.push_back(rewrite_tensorize(true)); }
  if (is_gpu) { out.push_back(verify_gpu_code()); }
  if (machine == Machine::GpuWithUnits) { out.push_back(rewrite_tensorize(false)); }
  if (machine == Machine::Cpu || machine == Machine::CpuWithUnits || machine == Machine::Hexagon) { out.push_back(rewrite_layout()); }
  if (machine == Machine::Hexagon) { out.push_back(verify_vtcm_limit()); }
  return out;
}

namespace {

auto all_postprocs(const Target& target) -> std::vector<Postproc> {
  return {disallow_async_strided_mem_copy(),
          disallow_dynamic_loop(),
          rewrite_cooperative_fetch(),
          rewrite_layout(),
          rewrite_parallel_vectorize_unroll(),
          rewrite_reduction_block(),
          rewrite_tensorize(machine_of(target) == Machine::CpuWithUnits),
          rewrite_unbound_block(),
          verify_gpu_code(),
          verify_vtcm_limit()};
}

}  // namespace

auto find_postproc(std::string_view name, const Target& target) -> std::optional<Postproc> {
  for (Postproc& postproc : all_postprocs(target)) {
    if (postproc.name == name) { return std::move(postproc); }
  }
  return std::nullopt;
}

auto postproc_names() -> std::vector<std::string> {
  std::vector<std::string> out;
  for (Postproc& postproc : all_postprocs({})) { out.push_back(std::move(postproc.name)); }
  return out;
}

auto run_postprocs(Schedule& sch, const std::vector<Postproc>& postprocs, const TargetNumbers& numbers, std::string* rejected_by) -> Verdict {
  LOOPSMITH_TRY(entered, sch.call("enter_postproc", {}));
  (void)entered;
  for (const Postproc& postproc : postprocs) {
    LOOPSMITH_TRY(fits, postproc.apply(sch, numbers));
    if (!fits) {
      if (rejected_by) { *rejected_by = postproc.name; }
      return false;
    }
  }
  return true;
}

auto bound_to_threads(const IRModule& module, Name function) -> Result<IRModule> {
  constexpr int64_t most_blocks = 65535, block_threads = 256;
  Schedule sch(module, 1);
  if (!(sch.func_working_on() == function)) { LOOPSMITH_CHECK(sch.work_on(function)); }
  LOOPSMITH_TRY(is_kept, run_postprocs(sch, {rewrite_unbound_block(most_blocks)}, {.threads_per_block = block_threads}));
  (void)is_kept;
  return sch.module();
}

}  // namespace loopsmith::tune::metaschedule
