// Checks limits of devices: see limits.h.
#include "runtime/devices/limits.h"

#include <fmt/format.h>

#include "codegen/interface.h"
#include "codegen/source/source.h"
#include "ir/ops.h"
#include "ir/visitor.h"
#include "ir/vocabulary.h"
#include "support/codes.h"
#include "support/reasons.h"

namespace loopsmith::runtime {
namespace {

auto shape_of(const PrimFunc& func, std::string name) -> KernelShape {
  KernelShape out;
  out.name = std::move(name);
  out.origin = func->origin;
  const bool is_requested = codegen::requested_shared_bytes(func) > 0;
  for (auto* axes : {&out.grid, &out.block}) {
    for (KernelShape::Axis& axis : *axes) { axis.extent = 1; }
  }
  post_order(
      func->body,
      [&](const Stmt& s) {
        if (const auto* attr = s.as<AttrStmt>(); attr && attr->key == "thread_extent") {
          const auto* iter = std::get_if<IterVar>(&attr->node);
          auto axis = iter ? thread_axis(iter->thread_tag.view()) : std::nullopt;
          if (!axis || axis->dimension < 0) { return; }
          auto& place = (axis->family == ThreadFamily::Block ? out.grid : out.block)[static_cast<size_t>(axis->dimension)];
          auto extent = as_int(attr->value);
          // If a function before split_host_device has several launches, the largest one counts.
          if (extent && place.extent && *extent < *place.extent) { return; }
          place = {extent, attr->origin};
        }
        if (const auto* memory = s.as<Allocate>()) {
          const std::string_view scope = memory->data->pointer ? memory->data->pointer->scope.view() : std::string_view();
          const bool is_own = memory_family(scope) == MemoryFamily::Local;
          if (!is_own && !is_shared_memory(scope)) { return; }
          auto bytes = static_cast<uint64_t>(memory->dtype.element_bytes() * memory->dtype.lanes);
          for (const Expr& e : memory->extents) {
            auto extent = as_int(e);
            if (!extent || *extent < 0 || __builtin_mul_overflow(bytes, static_cast<uint64_t>(*extent), &bytes)) { return; }
          }
          (is_own ? out.own : out.shared).push_back({memory->data->name.str(), bytes, is_requested && !is_own, memory->origin});
        }
      },
      [](const Expr&) {});
  return out;
}

auto bytes_text(uint64_t bytes) -> std::string { return bytes % 1024 == 0 ? fmt::format("{} KB", bytes / 1024) : fmt::format("{} bytes", bytes); }

auto over(const KernelShape& kernel, std::string_view target, Origin at, const Reason& why) -> Diagnostic {
  return error(Code::DeviceLimit, at.is_known() ? at : kernel.origin).arg("kernel", kernel.name).arg("target", target).arg("reason", why.text());
}

void check_threads(const KernelShape& kernel, const target::GpuLimits& limits, std::string_view target, Diagnostics& found) {
  const KernelShape::Axis* largest = &kernel.block[0];
  for (size_t d = 0; d < 3; ++d) {
    const KernelShape::Axis &block = kernel.block[d], &grid = kernel.grid[d];
    if (block.extent && largest->extent && *block.extent > *largest->extent) { largest = &block; }
    if (block.extent && limits.block_sizes[d] > 0 && static_cast<uint64_t>(*block.extent) > limits.block_sizes[d] && *block.extent <= static_cast<int64_t>(limits.block_threads)) {
      found.push_back(over(kernel, target, block.origin, because(Why::ThreadsOfAxis).arg("axis", std::string(1, "xyz"[d])).arg("found", *block.extent).arg("most", limits.block_sizes[d])));
    }
    if (grid.extent && limits.grid_sizes[d] > 0 && static_cast<uint64_t>(*grid.extent) > limits.grid_sizes[d]) {
      found.push_back(over(kernel, target, grid.origin, because(Why::BlocksOfAxis).arg("axis", std::string(1, "xyz"[d])).arg("found", *grid.extent).arg("most", limits.grid_sizes[d])).remedy("bind the longest loop to `blockIdx.x`"));
    }
  }
  auto threads = kernel.block_threads();
  if (threads && limits.block_threads > 0 && *threads > limits.block_threads) {
    found.push_back(over(kernel, target, largest->origin, because(Why::ThreadsOfBlock).arg("found", *threads).arg("most", limits.block_threads)).remedy("split a thread-bound loop, and bind its outer part to `blockIdx`"));
  }
}

void check_shared(const KernelShape& kernel, const target::GpuLimits& limits, std::string_view target, Diagnostics& found) {
  if (limits.shared_most == 0 || kernel.shared.empty()) { return; }
  const uint64_t all = kernel.shared_bytes();
  // Reports the largest allocation for all of them.
  const KernelShape::Memory* largest = &kernel.shared.front();
  for (const KernelShape::Memory& one : kernel.shared) {
    if (one.bytes > largest->bytes) { largest = &one; }
  }
  const std::string part = kernel.shared.size() > 1 ? fmt::format("; `{}` has {} of it", largest->name, bytes_text(largest->bytes)) : std::string();
  if (all > limits.shared_most) {
    found.push_back(over(kernel, target, largest->origin, because(Why::SharedMemory).arg("found", bytes_text(all)).arg("most", bytes_text(limits.shared_most)).arg("part", part)).remedy("use smaller tiles"));
  }
}

void check_own(const KernelShape& kernel, const target::GpuLimits& limits, std::string_view target, Diagnostics& found) {
  uint64_t all = 0;
  const KernelShape::Memory* largest = nullptr;
  for (const KernelShape::Memory& one : kernel.own) {
    all += one.bytes;
    if (largest == nullptr || one.bytes > largest->bytes) { largest = &one; }
  }
  if (limits.thread_bytes == 0 || all <= limits.thread_bytes) { return; }
  found.push_back(over(kernel, target, largest->origin, because(Why::LocalMemory).arg("found", bytes_text(all)).arg("most", bytes_text(limits.thread_bytes))).remedy("use smaller tiles, or put them into global memory"));
}

}  // namespace

auto KernelShape::block_threads() const -> std::optional<uint64_t> {
  uint64_t out = 1;
  for (const Axis& axis : block) {
    if (!axis.extent || *axis.extent < 0 || __builtin_mul_overflow(out, static_cast<uint64_t>(*axis.extent), &out)) { return {}; }
  }
  return out;
}

auto KernelShape::shared_bytes(bool with_dynamic) const -> uint64_t {
  uint64_t out = 0;
  for (const Memory& one : shared) { out += one.is_dynamic && !with_dynamic ? 0 : one.bytes; }
  return out;
}

auto kernel_shapes(const IRModule& module) -> std::vector<KernelShape> {
  std::vector<KernelShape> out;
  for (const auto& [name, func] : module->functions) {
    bool is_bound = false;
    post_order(func->body, [&](const Stmt& s) {
      const auto* attr = s.as<AttrStmt>();
      is_bound = is_bound || (attr && attr->key == "thread_extent");
    }, [](const Expr&) {});
    if (is_bound) { out.push_back(shape_of(func, codegen::symbol_of(name, func))); }
  }
  return out;
}

auto check_kernels(const IRModule& module, const target::GpuLimits& limits, std::string_view target) -> Status {
  Diagnostics found;
  for (const KernelShape& kernel : kernel_shapes(module)) {
    check_threads(kernel, limits, target, found);
    check_shared(kernel, limits, target, found);
    check_own(kernel, limits, target, found);
  }
  if (!found.empty()) { return found; }
  return ok();
}

auto check_kernels(const IRModule& module, const target::Target& target) -> Status {
  auto limits = target::gpu_limits(target);
  return limits ? check_kernels(module, *limits, "`" + target.str() + "`") : ok();
}

}  // namespace loopsmith::runtime
