// The meaning of processors' vector instructions, lane by lane: dot products of bytes, and the other instructions in implementations of
// tensor intrinsics. From the vendors' manuals (Intel, Arm, NVIDIA's PTX, AMD, Qualcomm).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "ir/dtype.h"

namespace loopsmith::interp {

/// The arguments of an instruction: lane `lane` of argument `arg`, in the range of its type (a uint8 is 0 to 255).
class Lanes {
 public:
  virtual ~Lanes() = default;
  [[nodiscard]] virtual auto at(size_t arg, int lane) const -> int64_t = 0;
  [[nodiscard]] virtual auto real(size_t arg, int lane) const -> double = 0;
};

/// Computes a lane of the result, before it is wrapped to its width. `lanes`: of the result.
using Instruction = int64_t (*)(const Lanes& args, int lane, int lanes);

/// The same for an instruction with a real result.
using RealInstruction = double (*)(const Lanes& args, int lane, int lanes);

/// Finds an instruction by LLVM's name without the types ("llvm.x86.avx512.vpdpbusd.512"), by the name of an external function
/// ("__dp4a") or of a TIR intrinsic ("vectorlow"); null if no such instruction with that number of arguments is known.
[[nodiscard]] auto find_instruction(std::string_view name, size_t arity) -> Instruction;
/// The same for operands of these types: `dp4a` takes vectors of four bytes, or words that hold them.
[[nodiscard]] auto find_instruction(std::string_view name, const std::vector<DataType>& types) -> Instruction;
[[nodiscard]] auto find_real_instruction(std::string_view name, size_t arity) -> RealInstruction;

}  // namespace loopsmith::interp
