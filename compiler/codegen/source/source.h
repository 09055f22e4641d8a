// Kernels as text: CUDA C and OpenCL C from flat TIR.
//
// Takes   a module after split_host_device: kernels are functions with the attribute "calling_conv" = 2.
// Gives   one text with all kernels, `extern "C"`, after a prelude that contains only the functions that the kernels use. The text includes no
//         header. The same input gives the same bytes.
// Keeps   the order of every operation. The device's compiler may contract products into sums.
//
// float16 and bfloat16 are computed in float32 and rounded after each operation, as the semantics of programs requires. Stored bool takes a byte.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "codegen/llvm/codegen.h"
#include "ir/ir.h"
#include "support/diagnostic.h"

namespace loopsmith::codegen {

enum class SourceDialect : uint8_t { Cuda, OpenCl };

struct SourceOptions {
  /// The source places of nodes: if set, `#line` makes compilers and profilers refer to the program's text.
  std::function<std::optional<SourcePlace>(const Origin&)> locate = {};
};

/// True for functions that run on the device.
[[nodiscard]] auto is_kernel(const PrimFunc& func) -> bool;

/// The bytes of shared memory that the launch of a CUDA kernel requests: those of all its arrays, if they exceed the 48 KB that a kernel may declare;
/// otherwise 0. The arrays then follow one another in the order of their allocations.
[[nodiscard]] auto requested_shared_bytes(const PrimFunc& kernel) -> int64_t;
/// The space of an array in that memory: it begins at a multiple of 128 bytes.
[[nodiscard]] constexpr auto shared_array_bytes(int64_t bytes) -> int64_t { return (bytes + 127) / 128 * 128; }

/// The kernels of a module as text. A construct that the dialect cannot express is an error at its place.
[[nodiscard]] auto kernel_source(const IRModule& module, SourceDialect dialect, const SourceOptions& options = {}) -> Result<std::string>;

}  // namespace loopsmith::codegen
