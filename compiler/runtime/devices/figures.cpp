// Figures of kernels from the CUDA compiler: see figures.h.
#include "runtime/devices/figures.h"

#include <algorithm>

#include <fmt/format.h>

#include "runtime/devices/limits.h"
#include "runtime/devices/program.h"

namespace loopsmith::runtime {

auto static_figures(const IRModule& lowered, const target::Target& target) -> Result<std::vector<StaticFigures>> {
  LOOPSMITH_TRY(code, compile_cuda_kernels(lowered, {.arch = target::cuda_arch(target)}));
  const auto limits = target::gpu_limits(target);
  const std::vector<KernelShape> shapes = kernel_shapes(lowered);
  std::vector<StaticFigures> out;
  for (const KernelFigures& used : code.kernels) {
    StaticFigures one{.kernel = used.kernel, .block_threads = {}, .used = used, .occupancy = {}};
    for (const KernelShape& shape : shapes) {
      if (shape.name != used.kernel) { continue; }
      one.block_threads = shape.block_threads();
      // The compiler sees only the declared memory; the launch requests the rest.
      one.used.shared_bytes += shape.shared_bytes() - shape.shared_bytes(false);
    }
    if (limits && one.block_threads) { one.occupancy = target::occupancy(*limits, *one.block_threads, used.registers, one.used.shared_bytes); }
    out.push_back(std::move(one));
  }
  return out;
}

auto text_of(const StaticFigures& figures) -> std::string {
  const KernelFigures& used = figures.used;
  std::string out = figures.kernel + ": ";
  if (figures.block_threads) { out += fmt::format("{} threads, ", *figures.block_threads); }
  out += fmt::format("{} registers, ", used.registers);
  out += used.spill_stores + used.spill_loads == 0 ? "no spills" : fmt::format("spills of {} bytes", std::max(used.spill_stores, used.spill_loads));
  if (used.shared_bytes > 0) { out += used.shared_bytes % 1024 == 0 ? fmt::format(", {} KB shared", used.shared_bytes / 1024) : fmt::format(", {} bytes shared", used.shared_bytes); }
  if (figures.occupancy.blocks > 0) { out += fmt::format(", occupancy {:.0f}% ({})", 100 * figures.occupancy.share, figures.occupancy.limiter); }
  return out;
}

}  // namespace loopsmith::runtime
