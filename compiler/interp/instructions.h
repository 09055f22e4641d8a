// What vector instructions of processors compute, lane by lane: dot products of bytes and what implementations of tensor intrinsics
// are made of. Meanings are the vendors' (Intel's and Arm's manuals, NVIDIA's PTX, AMD's and Qualcomm's references).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace loopsmith::interp {

/// The arguments of an instruction: lane `lane` of argument `arg`, as its type has it (a uint8 is 0 to 255).
class Lanes {
 public:
  virtual ~Lanes() = default;
  [[nodiscard]] virtual auto at(size_t arg, int lane) const -> int64_t = 0;
  [[nodiscard]] virtual auto real(size_t arg, int lane) const -> double = 0;
};

/// A lane of the result, not yet brought to its width. `lanes`: of the result.
using Instruction = int64_t (*)(const Lanes& args, int lane, int lanes);

/// The same of an instruction whose arguments and result are real.
using RealInstruction = double (*)(const Lanes& args, int lane, int lanes);

/// By LLVM's name without the types ("llvm.x86.avx512.vpdpbusd.512"), the name of an external function ("__dp4a") or of a TIR
/// intrinsic ("vectorlow"); null where there is none with so many arguments.
[[nodiscard]] auto find_instruction(std::string_view name, size_t arity) -> Instruction;
[[nodiscard]] auto find_real_instruction(std::string_view name, size_t arity) -> RealInstruction;

}  // namespace loopsmith::interp
