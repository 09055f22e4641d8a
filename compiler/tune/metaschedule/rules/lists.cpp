// The default lists of rules, and the properties of targets that they use.
#include <algorithm>
#include <charconv>

#include "ir/vocabulary.h"
#include "target/gpu.h"
#include "target/hardware.h"
#include "tune/metaschedule/rules/rule.h"

namespace loopsmith::tune::rules {
namespace {

using target::Architecture;
using target::Target;

auto has_feature(const Target& target, std::string_view name) -> bool {
  bool has = false;
  for (const std::string& feature : target.features) { if (feature.substr(1) == name) { has = feature[0] == '+'; } }
  return has;
}

/// The value of an option with a number; none: it is not given.
auto number_option(const Target& target, std::string_view name) -> std::optional<int64_t> {
  for (const auto& [key, text] : target.others) {
    int64_t value = 0;
    if (key == name && std::from_chars(text.data(), text.data() + text.size(), value).ec == std::errc()) { return value; }
  }
  return std::nullopt;
}

/// The number of an architecture `sm_80`; 0: another name.
auto compute_capability(const Target& target) -> int {
  const std::string arch = target::cuda_arch(target);
  int value = 0;
  if (arch.starts_with("sm_")) { std::from_chars(arch.data() + 3, arch.data() + arch.size(), value); }
  return value;
}

auto cpu_inlining() -> RulePtr { return auto_inline({.disallow_op = {"exp"}}); }

auto cpu_tiling(int64_t max_innermost_factor, std::string structure = "SSRSRS") -> MultiLevelTilingOptions {
  return {.structure = std::move(structure), .max_innermost_factor = max_innermost_factor,
          .reuse_write = {.req = ReuseType::Req::May, .levels = {1, 2}, .scope = "global"}};
}

/// The rules of all CPUs: `intrinsics` come in front of the plain tiling.
auto cpu_rules(const RuleMachine& machine, CustomRules custom, const std::vector<std::string>& intrinsics) -> Rules {
  Rules out{apply_custom_rule(std::move(custom)), inline_constant_scalars(), cpu_inlining(), add_rfactor(machine, 16, 64)};
  for (const std::string& intrinsic : intrinsics) { out.push_back(multi_level_tiling_with_intrin(machine, intrinsic, cpu_tiling(64))); }
  out.push_back(multi_level_tiling(machine, cpu_tiling(64)));
  out.push_back(parallelize_vectorize_unroll(machine, 16, 64, {0, 16, 64, 512}, true));
  out.push_back(random_compute_location());
  return out;
}

auto arm_rules(const RuleMachine& machine, CustomRules custom, const std::vector<std::string>& intrinsics) -> Rules {
  Rules out{apply_custom_rule(std::move(custom)), inline_constant_scalars(), cpu_inlining(), add_rfactor(machine, 8, 32)};
  for (const std::string& intrinsic : intrinsics) { out.push_back(multi_level_tiling_with_intrin(machine, intrinsic, cpu_tiling(32))); }
  out.push_back(multi_level_tiling(machine, cpu_tiling(32)));
  out.push_back(parallelize_vectorize_unroll(machine, 8, 32, {0, 8, 32, 256}, true));
  out.push_back(random_compute_location());
  return out;
}

auto hexagon_rules(const RuleMachine& machine, CustomRules custom) -> Rules {
  return {apply_custom_rule(std::move(custom)), inline_constant_scalars(), cpu_inlining(), multi_level_tiling_wide_vector(machine, 1024, cpu_tiling(128, "SRSRS")),
          parallelize_vectorize_unroll(machine, 16, 128, {0, 16, 64, 512}, true)};
}

/// For microcontrollers, whose code is C.
auto micro_rules(const RuleMachine& machine, CustomRules custom) -> Rules {
  return {apply_custom_rule(std::move(custom)), inline_constant_scalars(), cpu_inlining(), multi_level_tiling(machine, cpu_tiling(64))};
}

auto tensor_core_tiling(ReuseType::Req write) -> MultiLevelTilingOptions {
  return {.structure = "SSSRRSRS", .tile_binds = {"blockIdx.y", "blockIdx.x", "threadIdx.y"}, .max_innermost_factor = 4,
          .vector_load_lens = {1, 2, 3, 4, 8, 16},
          .reuse_read = {.req = ReuseType::Req::Must, .levels = {4}, .scope = "shared.dyn"},
          .reuse_write = {.req = write, .levels = {2}, .scope = "shared.dyn"}};
}

auto wmma_groups() -> std::vector<TensorCoreGroup> {
  std::vector<TensorCoreGroup> out;
  for (auto [in, sum, sync] : {std::array<std::string, 3>{"f16", "f32", "f16f16f32"}, {"f16", "f16", "f16f16f16"}, {"s8", "s32", "s8s8s32"}}) {
    for (std::string trans : {"", "_trans"}) {
      out.push_back({.init = "wmma_fill_16x16x16_" + sum, .load_a = "wmma_load_16x16x16_" + in + "_a_shared_dyn",
                     .load_b = "wmma_load_16x16x16_" + in + "_b" + trans + "_shared_dyn", .compute = "wmma_sync_16x16x16_" + sync + trans,
                     .store = "wmma_store_16x16x16_" + sum + "_shared_dyn"});
    }
  }
  return out;
}

auto mma_groups() -> std::vector<TensorCoreGroup> {
  std::vector<TensorCoreGroup> out;
  for (std::string sum : {"f16", "f32"}) {
    out.push_back({.init = "mma_init_m16n8k8_" + sum, .load_a = "mma_load_m16n8k8_f16_A_shared_dyn", .load_b = "mma_load_m16n8k8_f16_B_shared_dyn",
                   .compute = "mma_sync_m16n8k8_f16f16" + sum, .store = "mma_store_m16n8k8_" + sum + "_global"});
  }
  return out;
}

auto gpu_rules(const RuleMachine& machine, CustomRules custom, bool has_tensor_cores) -> Rules {
  Rules out{apply_custom_rule(std::move(custom))};
  if (has_tensor_cores) {
    out.push_back(multi_level_tiling_tensor_core(machine, wmma_groups(), tensor_core_tiling(ReuseType::Req::Must), false));
    out.push_back(multi_level_tiling_tensor_core(machine, mma_groups(), tensor_core_tiling(ReuseType::Req::No), true));
  }
  out.push_back(multi_level_tiling(machine, {.structure = "SSSRRSRS", .tile_binds = {"blockIdx.x", "vthread.x", "threadIdx.x"}, .max_innermost_factor = 64,
                                             .vector_load_lens = {1, 2, 3, 4, 8, 16},
                                             .reuse_read = {.req = ReuseType::Req::Must, .levels = {4}, .scope = "shared"},
                                             .reuse_write = {.req = ReuseType::Req::Must, .levels = {3}, .scope = "local"}}));
  out.push_back(inline_constant_scalars());
  out.push_back(auto_inline({.into_producer = true, .disallow_if_then_else = false, .require_injective = false, .require_ordered = false}));
  out.push_back(cross_thread_reduction(machine, {4, 8, 16, 32, 64, 128, 256, 512}));
  out.push_back(parallelize_vectorize_unroll(machine, -1, -1, {0, 16, 64, 512, 1024}, true));
  out.push_back(auto_bind(machine, 256, {32, 64, 128, 256, 512, 1024}));
  return out;
}

}  // namespace

auto rule_machine(const Target& target) -> RuleMachine {
  RuleMachine out{.cores = target.cores > 0 ? target.cores : std::max(1, target::hardware(target).cores)};
  const TargetKind* kind = find_target_kind(target.kind);
  if (!kind || !kind->is_gpu) { return out; }
  out.max_threads = number_option(target, "max_threads_per_block").value_or(number_option(target, "max_num_threads").value_or(std::max(kind->max_threads, 1)));
  out.warp_size = number_option(target, "thread_warp_size").value_or(std::max(kind->warp_size, 1));
  // Asynchronous copies exist from sm_80 on.
  if (target.kind == target_kind::cuda && compute_capability(target) >= 80) { out.async_stages = {4, 5}; }
  return out;
}

auto default_rules(const Target& target, CustomRules custom) -> Rules {
  const RuleMachine machine = rule_machine(target);
  const TargetKind* kind = find_target_kind(target.kind);
  if (kind && kind->is_gpu) { return gpu_rules(machine, std::move(custom), target.kind == target_kind::cuda && compute_capability(target) >= 75); }
  if (target.kind == target_kind::c) { return micro_rules(machine, std::move(custom)); }
  if (target.kind == "hexagon" || target.triple.starts_with("hexagon")) { return hexagon_rules(machine, std::move(custom)); }
  switch (target.architecture()) {
    case Architecture::X86_64: {
      const target::Hardware hardware = target::hardware(target);
      if (hardware.vnni) { return cpu_rules(machine, std::move(custom), {"dot_16x4_vnni"}); }
      if (hardware.avx512) { return cpu_rules(machine, std::move(custom), {"dot_16x4_avx512"}); }
      return cpu_rules(machine, std::move(custom), {});
    }
    case Architecture::AArch64:
      if (has_feature(target, "dotprod")) { return arm_rules(machine, std::move(custom), {"dot_4x4_i8i8s32_sdot", "dot_4x4_u8u8u32_udot", "dot_4x4_u8u8i32_hdot"}); }
      return arm_rules(machine, std::move(custom), {"dot_4x4_i8i8s32_neon"});
    case Architecture::RiscV64:
    case Architecture::WebAssembly32:
    case Architecture::Other: return cpu_rules(machine, std::move(custom), {});
  }
  return {};
}

}  // namespace loopsmith::tune::rules
