// Compiled functions in this process: from flat TIR or an object's bytes to something that can be called with
// tensors. Arguments are checked before every call: number, type, shape, alignment, overlap.
//
// Code made from others' programs can crash or never end: run it in a process of its own (tune/measure does).
// Functions stay callable as long as their module lives. No LLVM header is seen from here.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "codegen/llvm/codegen.h"
#include "ir/tensor_view.h"
#include "runtime/tensor.h"

namespace loopsmith::runtime {

/// What a kernel is called with, one for every parameter: a tensor of ours, somebody's memory, a number.
using Value = std::variant<const Tensor*, TensorView, int64_t, double>;

struct JitFunction {
  codegen::Interface interface;
  codegen::Entry entry = nullptr;
  int threads = 1;               // its parallel loops use so many; from the target
};

/// Can this machine execute code for the target? Says what is in the way: another architecture, or units that it lacks.
[[nodiscard]] auto runs_here(const target::Target& target) -> Status;

class JitModule {
 public:
  JitModule(JitModule&& other) noexcept;
  auto operator=(JitModule&& other) noexcept -> JitModule&;
  ~JitModule();

  /// Compiles a flat module for this machine. `scheduled`, where given, is the module before lowering: shapes are
  /// then checked against its buffers, which flattening has changed.
  [[nodiscard]] static auto compile(const IRModule& flat, const target::Target& target, const codegen::CodegenOptions& options = {},
                                    const IRModule& scheduled = {}) -> Result<JitModule>;
  /// Loads an object that `codegen::emit` made.
  [[nodiscard]] static auto load(std::string_view object, std::vector<codegen::Interface> interfaces, int threads) -> Result<JitModule>;

  [[nodiscard]] auto functions() const -> const std::vector<JitFunction>&;
  /// The function of that symbol; the only one, where the name is empty.
  [[nodiscard]] auto find(std::string_view name) const -> Result<const JitFunction*>;

 private:
  struct Loaded;
  explicit JitModule(std::unique_ptr<Loaded> code);
  std::unique_ptr<Loaded> code_;
};

/// The slots of a call, checked: what `entry` takes.
[[nodiscard]] auto bind_arguments(const codegen::Interface& interface, std::span<const Value> arguments) -> Result<std::vector<codegen::Argument>>;

/// Runs it, on the threads it asks for; a failing assertion in it is a KernelFailed.
[[nodiscard]] auto invoke(const JitFunction& function, const std::vector<codegen::Argument>& slots) -> Status;

/// bind_arguments and invoke.
[[nodiscard]] auto call(const JitFunction& function, std::span<const Value> arguments) -> Status;

/// Tensors for every buffer of an interface: random where they are read only, by `seed`; those written are
/// random as well, since a kernel may read them first. `sizes` gives the shape variables, in their order; scalars are 1.
struct Arguments {
  std::vector<Tensor> tensors;                 // for buffers, in order
  std::vector<Value> values;                   // for all parameters
};
[[nodiscard]] auto make_arguments(const codegen::Interface& interface, std::span<const int64_t> sizes, uint64_t seed, Fill fill = Fill::Normal)
    -> Result<Arguments>;

}  // namespace loopsmith::runtime
