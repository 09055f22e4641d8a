// Tables of thread axes, memory scopes and kinds of targets: see vocabulary.h.
#include "ir/vocabulary.h"

#include <algorithm>
#include <utility>

namespace loopsmith {
namespace {

/// The part of a tag before its dot: "threadIdx" of "threadIdx.x".
auto head_of(std::string_view tag) -> std::string_view { return tag.substr(0, tag.find('.')); }

/// 0, 1 or 2 for a tag that ends with ".x", ".y" or ".z" behind its head; -1 for others.
auto dimension_of(std::string_view tag) -> int {
  std::string_view rest = tag.substr(head_of(tag).size());
  return rest.size() == 2 && rest[1] >= 'x' && rest[1] <= 'z' ? rest[1] - 'x' : -1;
}

}  // namespace

auto thread_axis(std::string_view tag) -> std::optional<ThreadAxis> {
  if (is_virtual_axis(tag)) { return ThreadAxis{ThreadFamily::Virtual, -1}; }
  int dimension = dimension_of(tag);
  if (dimension < 0) { return {}; }
  if (is_block_axis(tag)) { return ThreadAxis{ThreadFamily::Block, dimension}; }
  if (is_thread_axis(tag)) { return ThreadAxis{ThreadFamily::Thread, dimension}; }
  return {};
}

auto is_block_axis(std::string_view tag) -> bool { return head_of(tag) == "blockIdx"; }
auto is_thread_axis(std::string_view tag) -> bool { return head_of(tag) == "threadIdx"; }
auto is_virtual_axis(std::string_view tag) -> bool { return tag.starts_with("vthread") || tag == "cthread"; }

auto bindable_axes() -> std::span<const std::string_view> {
  static constexpr std::string_view axes[] = {"blockIdx.x",  "blockIdx.y", "blockIdx.z", "threadIdx.x", "threadIdx.y",
                                              "threadIdx.z", "vthread.x",  "vthread.y",  "vthread.z"};
  return axes;
}

auto known_axes() -> std::span<const std::string_view> {
  static constexpr std::string_view axes[] = {
      "blockIdx.x", "blockIdx.y", "blockIdx.z",   "threadIdx.x",  "threadIdx.y",  "threadIdx.z",     "vthread",         "vthread.x",
      "vthread.y",  "vthread.z",  "clusterIdx.x", "clusterIdx.y", "clusterIdx.z", "clusterCtaIdx.x", "clusterCtaIdx.y", "clusterCtaIdx.z"};
  return axes;
}

auto memory_family(std::string_view scope) -> std::optional<MemoryFamily> {
  static constexpr std::pair<std::string_view, MemoryFamily> families[] = {
      {"global", MemoryFamily::Global}, {"shared", MemoryFamily::Shared}, {"warp", MemoryFamily::Warp}, {"local", MemoryFamily::Local},
      {"wmma.matrix_a", MemoryFamily::WmmaA}, {"wmma.matrix_b", MemoryFamily::WmmaB}, {"wmma.accumulator", MemoryFamily::WmmaAccumulator},
      {"texture", MemoryFamily::Texture}, {"amx.tmm", MemoryFamily::AmxTile}, {"m16n8k8.matrixA", MemoryFamily::MmaA},
      {"m16n8k8.matrixB", MemoryFamily::MmaB}, {"m16n8k8.matrixC", MemoryFamily::MmaC}, {"metal.simdgroup", MemoryFamily::Simdgroup},
      {"vtcm", MemoryFamily::Vtcm}, {"workspace", MemoryFamily::Workspace}, {"vmem", MemoryFamily::Vmem}, {"constant", MemoryFamily::Constant}};
  if (scope.empty()) { return MemoryFamily::Global; }
  for (const auto& [word, family] : families) {
    // A scope with a suffix belongs to the family: `global7`, `local.mine`.
    if (scope.starts_with(word)) { return family; }
  }
  return {};
}

auto usual_scopes() -> std::span<const std::string_view> {
  static constexpr std::string_view scopes[] = {"global", "shared", "local", "shared.dyn", "warp", "wmma.matrix_a", "wmma.matrix_b", "wmma.accumulator"};
  return scopes;
}

auto known_scopes() -> std::span<const std::string_view> {
  static constexpr std::string_view scopes[] = {
      "global", "shared", "shared.dyn", "shared.barrier", "warp", "local", "wmma.matrix_a", "wmma.matrix_b", "wmma.accumulator",
      "m16n8k8.matrixA", "m16n8k8.matrixB", "m16n8k8.matrixC", "metal.simdgroup", "global.texture", "global.texture-weight",
      "global.texture-nhwc", "global.vtcm", "global.ddr", "texture", "tmem", "trn.sbuf", "trn.psum"};
  return scopes;
}

auto target_kinds() -> std::span<const TargetKind> {
  static constexpr TargetKind kinds[] = {
      {.name = target_kind::llvm, .is_readable = true},
      {.name = target_kind::c, .is_readable = true},
      {.name = target_kind::cuda, .is_readable = true, .is_gpu = true, .max_threads = 1024, .warp_size = 32},
      {.name = target_kind::rocm, .is_readable = true, .is_gpu = true, .max_threads = 256, .warp_size = 64},
      {.name = "vulkan", .is_gpu = true, .max_threads = 256, .warp_size = 1},
      {.name = target_kind::opencl, .is_readable = true, .is_gpu = true, .max_threads = 256, .warp_size = 1},
      {.name = "metal", .is_gpu = true, .max_threads = 256, .warp_size = 16},
      {.name = "webgpu", .is_gpu = true, .max_threads = 256},
      {.name = target_kind::nvptx, .is_readable = true, .is_gpu = true, .max_threads = 1024, .warp_size = 32},
      {.name = "hexagon"}, {.name = "hybrid"}, {.name = "stackvm"}, {.name = "ext_dev"}, {.name = "aocl"},
      {.name = "aocl_sw_emu"}, {.name = "sdaccel"}, {.name = "composite"}, {.name = "trn"}};
  return kinds;
}

auto find_target_kind(std::string_view name) -> const TargetKind* {
  std::span<const TargetKind> kinds = target_kinds();
  auto found = std::find_if(kinds.begin(), kinds.end(), [&](const TargetKind& kind) { return kind.name == name; });
  return found == kinds.end() ? nullptr : &*found;
}

auto kind_of_target(std::string_view target) -> std::string_view {
  // TVM's tags for NVIDIA's cards.
  if (target.starts_with("nvidia/")) { return target_kind::cuda; }
  return target.substr(0, target.find(' '));
}

auto is_gpu_target(std::string_view target) -> bool {
  const TargetKind* kind = find_target_kind(kind_of_target(target));
  return kind != nullptr && kind->is_gpu;
}

}  // namespace loopsmith
