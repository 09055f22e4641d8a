// The words of programs for machines: axes of threads (`threadIdx.x`), scopes of memory (`shared`), kinds of targets
// (`cuda`). Every room uses this list, so that a new word is added in one place.
//
// Words that are not listed are legal in programs. The predicates use the family of a word: `shared.dyn` is shared memory.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace loopsmith {

// ---- axes of threads --------------------------------------------------------------------------------------------

/// Block: `blockIdx`, blocks of a grid. Thread: `threadIdx`, threads of a block. Virtual: `vthread` and `cthread`: loops that
/// count as threads, and whose iterations run one after the other in one thread.
enum class ThreadFamily : uint8_t { Block, Thread, Virtual };

struct ThreadAxis {
  ThreadFamily family = ThreadFamily::Thread;
  int dimension = -1;   // 0, 1, 2 for x, y, z; -1 for virtual axes, of which a program may have any number
};

/// The axis that a thread tag names; none for other words, including `clusterIdx.x`.
[[nodiscard]] auto thread_axis(std::string_view tag) -> std::optional<ThreadAxis>;

/// True if the tag belongs to the family, with any suffix after its dot.
[[nodiscard]] auto is_block_axis(std::string_view tag) -> bool;
[[nodiscard]] auto is_thread_axis(std::string_view tag) -> bool;
[[nodiscard]] auto is_virtual_axis(std::string_view tag) -> bool;

/// The nine axes that `bind` offers: `blockIdx`, `threadIdx` and `vthread`, each with x, y and z.
[[nodiscard]] auto bindable_axes() -> std::span<const std::string_view>;
/// All axes in TVM, for checks of spelling.
[[nodiscard]] auto known_axes() -> std::span<const std::string_view>;

// ---- scopes of memory -------------------------------------------------------------------------------------------

/// Families of memory by their level in the hierarchy: memories that more threads share come first, then those of matrix
/// units and accelerators.
enum class MemoryFamily : uint8_t {
  Global, Shared, Warp, Local, WmmaA, WmmaB, WmmaAccumulator, Texture, AmxTile, MmaA, MmaB, MmaC, Simdgroup, Vtcm, Workspace, Vmem, Constant
};

/// The family of a storage scope, from the word at its beginning: `shared.dyn` and `shared2` are shared, and `global.texture` is global. An empty
/// scope is global. None for other words.
[[nodiscard]] auto memory_family(std::string_view scope) -> std::optional<MemoryFamily>;
[[nodiscard]] inline auto is_global_memory(std::string_view scope) -> bool { return memory_family(scope) == MemoryFamily::Global; }
[[nodiscard]] inline auto is_shared_memory(std::string_view scope) -> bool { return memory_family(scope) == MemoryFamily::Shared; }

/// The scopes that editors and the REPL offer.
[[nodiscard]] auto usual_scopes() -> std::span<const std::string_view>;
/// All scopes in TVM, for checks of spelling.
[[nodiscard]] auto known_scopes() -> std::span<const std::string_view>;

// ---- kinds of targets -------------------------------------------------------------------------------------------

namespace target_kind {
inline constexpr std::string_view llvm = "llvm";
inline constexpr std::string_view c = "c";
inline constexpr std::string_view cuda = "cuda";
inline constexpr std::string_view opencl = "opencl";
inline constexpr std::string_view nvptx = "nvptx";
inline constexpr std::string_view rocm = "rocm";
}  // namespace target_kind

struct TargetKind {
  std::string_view name;
  bool is_readable = false;  // `target::parse` accepts it
  bool is_gpu = false;       // its code runs on a device with blocks of threads
  int max_threads = 0;       // TVM's default for threads of a block; 0: there is none
  int warp_size = 0;         // TVM's default for threads that run in step; 0: there is none
};

/// All kinds in TVM, the usual ones first.
[[nodiscard]] auto target_kinds() -> std::span<const TargetKind>;
/// Finds the kind by its name; null for an unknown word.
[[nodiscard]] auto find_target_kind(std::string_view name) -> const TargetKind*;
/// The kind of a whole target, such as `cuda` of "cuda -arch=sm_80" and of "nvidia/nvidia-a100".
[[nodiscard]] auto kind_of_target(std::string_view target) -> std::string_view;
/// True if the target's code runs on a GPU: its kind is `cuda`, `rocm`, `vulkan`, `opencl`, `metal` or `webgpu`.
[[nodiscard]] auto is_gpu_target(std::string_view target) -> bool;

}  // namespace loopsmith
