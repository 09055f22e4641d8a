// Compiled functions in this process: flat TIR or the bytes of an object become functions that are called with
// tensors. Arguments are checked before every call: number, type, shape, alignment, overlap.
//
// Code of unknown programs can crash or run forever: run it in a separate process, as tune/measure does.
// Functions stay callable as long as their module lives. This header does not include LLVM.
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

/// An argument of a kernel: a tensor, a view of the caller's memory, or a number.
using Value = std::variant<const Tensor*, TensorView, int64_t, double>;

struct JitFunction {
  codegen::Interface interface;
  codegen::Entry entry = nullptr;
  int threads = 1;               // the threads of its parallel loops, from the target
};

/// Checks that this machine can execute code for the target. The diagnostic names the obstacle: another architecture, or missing units.
[[nodiscard]] auto runs_here(const target::Target& target) -> Status;

class JitModule {
 public:
  JitModule(JitModule&& other) noexcept;
  auto operator=(JitModule&& other) noexcept -> JitModule&;
  ~JitModule();

  /// Compiles a flat module for this machine. `scheduled`, if given, is the module before lowering: shapes are
  /// then checked against its buffers, which flattening has changed.
  [[nodiscard]] static auto compile(const IRModule& flat, const target::Target& target, const codegen::CodegenOptions& options = {},
                                    const IRModule& scheduled = {}) -> Result<JitModule>;
  /// Loads an object made by `codegen::emit`.
  [[nodiscard]] static auto load(std::string_view object, std::vector<codegen::Interface> interfaces, int threads) -> Result<JitModule>;

  [[nodiscard]] auto functions() const -> const std::vector<JitFunction>&;
  /// The function with that symbol; for an empty name the only function.
  [[nodiscard]] auto find(std::string_view name) const -> Result<const JitFunction*>;

 private:
  struct Loaded;
  explicit JitModule(std::unique_ptr<Loaded> code);
  std::unique_ptr<Loaded> code_;
};

/// Checks the arguments of a call and returns them in the form of slots for `entry`.
[[nodiscard]] auto bind_arguments(const codegen::Interface& interface, std::span<const Value> arguments) -> Result<std::vector<codegen::Argument>>;

/// Runs a function with its own number of threads. A failed assertion in it becomes KernelFailed.
[[nodiscard]] auto invoke(const JitFunction& function, const std::vector<codegen::Argument>& slots) -> Status;

/// Calls bind_arguments, then invoke.
[[nodiscard]] auto call(const JitFunction& function, std::span<const Value> arguments) -> Status;

/// Random tensors from `seed` for every buffer of an interface, including outputs, since a kernel may read them first.
/// `sizes` has the values of the shape variables, in their order. Elements that are indices get values within their range (ir/index_uses.h).
/// `contents`: for each parameter the tensor to copy instead of random contents, or null; empty: none. `scalars`: for each parameter its value, if it is
/// a scalar; empty: scalars that are sizes are `usual_size`, others 1.
struct Arguments {
  std::vector<Tensor> tensors;                 // for buffers, in order
  std::vector<Value> values;                   // for all parameters
};
[[nodiscard]] auto make_arguments(const codegen::Interface& interface, std::span<const int64_t> sizes, uint64_t seed, Fill fill = Fill::Normal,
                                  std::span<const Tensor* const> contents = {}, std::span<const Value> scalars = {}) -> Result<Arguments>;

/// The size of a dimension that the caller does not choose.
inline constexpr int64_t usual_size = 64;

}  // namespace loopsmith::runtime
