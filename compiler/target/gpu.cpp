// Tables of GPUs: see gpu.h.
#include "target/gpu.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "ir/vocabulary.h"
#include "support/codes.h"
#include "support/reasons.h"
#include "support/spelling.h"

namespace loopsmith::target {
namespace {

constexpr uint64_t kilobyte = 1024;

constexpr CudaArch archs[] = {
    {"sm_75", "Turing", "", 1024, 16, 64 * kilobyte, 64 * kilobyte},
    {"sm_80", "Ampere", "", 2048, 32, 164 * kilobyte, 163 * kilobyte},
    {"sm_86", "Ampere", "", 1536, 16, 100 * kilobyte, 99 * kilobyte},
    {"sm_87", "Ampere, Jetson Orin", "", 1536, 16, 164 * kilobyte, 163 * kilobyte},
    {"sm_89", "Ada Lovelace", "", 1536, 24, 100 * kilobyte, 99 * kilobyte},
    {"sm_90", "Hopper", "a", 2048, 32, 228 * kilobyte, 227 * kilobyte},
    {"sm_100", "Blackwell", "af", 2048, 32, 228 * kilobyte, 227 * kilobyte},
    {"sm_103", "Blackwell Ultra", "af", 2048, 32, 228 * kilobyte, 227 * kilobyte},
    {"sm_110", "Blackwell, Jetson Thor", "af", 1536, 24, 228 * kilobyte, 227 * kilobyte},
    {"sm_120", "Blackwell, GeForce", "af", 1536, 24, 100 * kilobyte, 99 * kilobyte},
    {"sm_121", "Blackwell, DGX Spark", "af", 1536, 24, 100 * kilobyte, 99 * kilobyte},
};

constexpr CudaCard cards[] = {
    {"nvidia/nvidia-h100", "sm_90a", 132},          {"nvidia/nvidia-h200", "sm_90a", 132},          {"nvidia/nvidia-b200", "sm_100a", 148},
    {"nvidia/nvidia-a100", "sm_80", 108},           {"nvidia/nvidia-a30", "sm_80", 56},             {"nvidia/nvidia-a40", "sm_86", 84},
    {"nvidia/nvidia-a10", "sm_86", 72},             {"nvidia/nvidia-a10g", "sm_86", 80},            {"nvidia/nvidia-a16", "sm_86", 10},
    {"nvidia/nvidia-a2", "sm_86", 10},              {"nvidia/nvidia-t4", "sm_75", 40},              {"nvidia/rtx-a6000", "sm_86", 84},
    {"nvidia/quadro-rtx-8000", "sm_75", 72},        {"nvidia/quadro-rtx-6000", "sm_75", 72},        {"nvidia/quadro-rtx-5000", "sm_75", 48},
    {"nvidia/quadro-rtx-4000", "sm_75", 36},        {"nvidia/rtx-5000", "sm_75", 48},               {"nvidia/rtx-4000", "sm_75", 40},
    {"nvidia/rtx-3000", "sm_75", 30},               {"nvidia/t2000", "sm_75", 16},                  {"nvidia/t1000", "sm_75", 14},
    {"nvidia/geforce-rtx-5090", "sm_120a", 170},    {"nvidia/geforce-rtx-4090", "sm_89", 128},      {"nvidia/geforce-rtx-4070-ti", "sm_89", 60},
    {"nvidia/geforce-rtx-3090-ti", "sm_86", 84},    {"nvidia/geforce-rtx-3090", "sm_86", 82},       {"nvidia/geforce-rtx-3080-ti", "sm_86", 80},
    {"nvidia/geforce-rtx-3080", "sm_86", 68},       {"nvidia/geforce-rtx-3070-ti", "sm_86", 48},    {"nvidia/geforce-rtx-3070", "sm_86", 46},
    {"nvidia/geforce-rtx-3060", "sm_86", 28},       {"nvidia/nvidia-titan-rtx", "sm_75", 72},       {"nvidia/geforce-rtx-2080-ti", "sm_75", 68},
    {"nvidia/geforce-rtx-2080", "sm_75", 46},       {"nvidia/geforce-rtx-2070", "sm_75", 36},       {"nvidia/geforce-rtx-2060", "sm_75", 30},
    {"nvidia/jetson-orin-nano", "sm_87", 8},        {"nvidia/jetson-agx-orin-32gb", "sm_87", 14},   {"nvidia/jetson-agx-orin-64gb", "sm_87", 16},
};

/// Cards for which CUDA 13 does not compile, by architecture; names without `nvidia/`. Programs for them are still checked and scheduled.
struct OldCards { std::string_view arch, names; };
constexpr OldCards old_cards[] = {
    {"sm_72", "jetson-agx-xavier"},
    {"sm_70", "nvidia-v100 quadro-gv100 nvidia-titan-v"},
    {"sm_62", "jetson-tx2"},
    {"sm_61", "tesla-p40 tesla-p4 quadro-p6000 quadro-p5200 quadro-p5000 quadro-p4200 quadro-p4000 quadro-p3200 quadro-p3000 quadro-p2200 quadro-p2000 quadro-p1000 quadro-p620 "
              "quadro-p600 quadro-p500 quadro-p400 p620 p520 nvidia-titan-xp nvidia-titan-x geforce-gtx-1080-ti geforce-gtx-1080 geforce-gtx-1070-ti geforce-gtx-1070 "
              "geforce-gtx-1060 geforce-gtx-1050"},
    {"sm_60", "tesla-p100 quadro-gp100"},
    {"sm_53", "jetson-nano jetson-tx1 tegra-x1"},
    {"sm_52", "tesla-m60 tesla-m40 quadro-m6000-24gb quadro-m6000 quadro-m5000 quadro-m4000 quadro-m2000 quadro-m5500m quadro-m2200 quadro-m620 geforce-gtx-titan-x "
              "geforce-gtx-980-ti geforce-gtx-980 geforce-gtx-970 geforce-gtx-960 geforce-gtx-950 geforce-gtx-980m geforce-gtx-970m geforce-gtx-965m geforce-910m"},
    {"sm_50", "quadro-k2200 quadro-k1200 quadro-k620 quadro-m1200 quadro-m520 quadro-m5000m quadro-m4000m quadro-m3000m quadro-m2000m quadro-m1000m quadro-k620m quadro-m600m "
              "quadro-m500m nvidia-nvs-810 geforce-gtx-750-ti geforce-gtx-750 geforce-gtx-960m geforce-gtx-950m geforce-940m geforce-930m geforce-gtx-860m-sm-50 geforce-gtx-850m "
              "geforce-840m geforce-830m"},
    {"sm_37", "tesla-k80"},
    {"sm_35", "tesla-k40 tesla-k20 quadro-k6000 quadro-k5200 quadro-k610m quadro-k510m geforce-gtx-titan-z geforce-gtx-titan-black geforce-gtx-titan geforce-gtx-780-ti "
              "geforce-gtx-780 geforce-gt-730 geforce-gt-720 geforce-gt-705 geforce-gt-640-gddr5 geforce-920m"},
};

auto digits_of(std::string_view arch) -> int {
  int value = 0;
  if (!arch.starts_with("sm_")) { return 0; }
  std::from_chars(arch.data() + 3, arch.data() + arch.size(), value);
  return value;
}

auto option(const Target& target, std::string_view name) -> std::string_view {
  for (const auto& [key, value] : target.others) {
    if (key == name) { return value; }
  }
  return {};
}

auto number_of(std::string_view text) -> uint64_t {
  uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

auto is_nvidia(const Target& target) -> bool { return target.kind == target_kind::cuda || target.kind == target_kind::nvptx; }

auto known_archs() -> std::string {
  std::string out;
  for (const CudaArch& arch : archs) { out += fmt::format("{}{}{}", out.empty() ? "" : ", ", arch.name, arch.suffixes.empty() ? "" : "a"); }
  return out;
}

auto bad(const Target& target, const Reason& why) -> Diagnostic { return error(Code::BadTarget).arg("target", target.str()).arg("reason", why.text()); }

}  // namespace

auto cuda_archs() -> std::span<const CudaArch> { return archs; }

auto find_cuda_arch(std::string_view arch) -> const CudaArch* {
  for (const CudaArch& one : archs) {
    if (arch == one.name) { return &one; }
    if (arch.size() == one.name.size() + 1 && arch.starts_with(one.name) && one.suffixes.find(arch.back()) != std::string_view::npos) { return &one; }
  }
  return nullptr;
}

auto find_cuda_card(std::string_view name) -> std::optional<CudaCard> {
  for (const CudaCard& card : cards) {
    if (card.name == name) { return card; }
  }
  if (!name.starts_with("nvidia/")) { return {}; }
  const std::string wanted = fmt::format(" {} ", name.substr(7));
  for (const OldCards& old : old_cards) {
    if (fmt::format(" {} ", old.names).find(wanted) != std::string::npos) { return CudaCard{{}, old.arch, 0}; }
  }
  return {};
}

auto cuda_arch(const Target& target) -> std::string {
  if (target.kind == target_kind::nvptx && !target.cpu.empty()) { return target.cpu; }
  const std::string_view arch = option(target, "arch");
  return std::string(arch.empty() ? default_cuda_arch : arch);
}

auto is_device_target(const Target& target) -> bool { return target.kind == target_kind::opencl || target.kind == target_kind::cuda; }

auto has_async_copies(const Target& target) -> bool { return is_nvidia(target) && digits_of(cuda_arch(target)) >= 80; }

auto check_gpu(const Target& target) -> Status {
  if (!is_nvidia(target)) { return ok(); }
  const std::string arch = cuda_arch(target);
  if (find_cuda_arch(arch) != nullptr) { return ok(); }
  const int number = digits_of(arch);
  if (number > 0 && number < digits_of(oldest_cuda_arch) && arch == fmt::format("sm_{}", number)) {
    return bad(target, because(Why::ArchTooOld).arg("oldest", oldest_cuda_arch).arg("arch", arch)).remedy(fmt::format("choose a later architecture: `cuda -arch={}`", oldest_cuda_arch));
  }
  std::vector<std::string> names;
  for (const CudaArch& one : archs) { names.emplace_back(one.name); }
  std::string meant = closest(arch, names);
  if (find_cuda_arch("sm_" + arch) != nullptr) { meant = "sm_" + arch; }
  return bad(target, because(Why::NoSuchArch).arg("arch", arch).arg("known", known_archs())).remedy(meant.empty() ? "choose one of them" : fmt::format("did you mean `{}`?", meant));
}

auto gpu_limits(const Target& target) -> std::optional<GpuLimits> {
  std::optional<GpuLimits> out;
  if (is_nvidia(target)) {
    const std::string arch = cuda_arch(target);
    const CudaArch* row = find_cuda_arch(arch);
    if (row == nullptr) { return {}; }
    out = GpuLimits{.name = arch, .block_threads = 1024, .block_sizes = {1024, 1024, 64}, .grid_sizes = {2147483647, 65535, 65535}, .warp = 32, .shared_static = 48 * kilobyte,
                    .shared_most = row->shared_most, .thread_registers = 255, .thread_bytes = 512 * kilobyte, .unit_threads = row->unit_threads, .unit_blocks = row->unit_blocks, .unit_registers = 65536,
                    .unit_shared = row->unit_shared, .units = 0};
    if (auto card = find_cuda_card(option(target, "tag"))) { out->units = card->units; }
  } else if (target.kind == target_kind::rocm) {
    // AMD's CDNA and GCN: https://llvm.org/docs/AMDGPUUsage.html
    out = GpuLimits{.name = target.cpu, .block_threads = 1024, .block_sizes = {1024, 1024, 1024}, .grid_sizes = {2147483647, 65535, 65535}, .warp = 64, .shared_static = 64 * kilobyte,
                    .shared_most = 64 * kilobyte, .thread_registers = 512, .unit_threads = 0, .unit_blocks = 0, .unit_registers = 0, .unit_shared = 64 * kilobyte, .units = 0};
  } else {
    return {};
  }
  for (std::string_view name : {"max_threads_per_block", "max_num_threads"}) {
    if (uint64_t most = number_of(option(target, name)); most > 0) { out->block_threads = std::min(out->block_threads, most); }
  }
  return out;
}

auto occupancy(const GpuLimits& limits, uint64_t block_threads, uint64_t registers, uint64_t shared_bytes) -> Occupancy {
  if (limits.warp == 0 || limits.unit_threads == 0 || block_threads == 0) { return {}; }
  auto up = [](uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; };
  const uint64_t warps = (block_threads + limits.warp - 1) / limits.warp, most_warps = limits.unit_threads / limits.warp;
  Occupancy out{.blocks = limits.unit_blocks, .share = 0, .limiter = "blocks"};
  auto limit = [&](uint64_t blocks, std::string_view what) {
    if (blocks < out.blocks) { out.blocks = blocks; out.limiter = what; }
  };
  limit(most_warps / warps, "threads");
  // A warp gets registers in units of 256; each quarter of a multiprocessor has its own registers.
  if (registers > 0) {
    const uint64_t quarter_warps = limits.unit_registers / 4 / up(registers * limits.warp, 256);
    limit(4 * quarter_warps / warps, "registers");
  }
  // Since sm_80, the system reserves 1 KB of shared memory for each block.
  const uint64_t kept = limits.unit_shared > 64 * kilobyte ? kilobyte : 0;
  if (shared_bytes + kept > 0) { limit(limits.unit_shared / up(shared_bytes + kept, kept ? 128 : 256), "shared memory"); }
  out.share = static_cast<double>(out.blocks * warps) / static_cast<double>(most_warps);
  return out;
}

}  // namespace loopsmith::target
