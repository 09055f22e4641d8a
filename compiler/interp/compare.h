// The gate: runs two versions of a function on the same inputs. The first inputs are small integers: sums and products of reals are then exact,
// so reassociated reductions must agree to the last bit. The other inputs are reals, with an error bound by type. Long sums in float16 and shorter
// types round by more than any such bound, and so do sums of millions of terms in float32. If results differ by no more than the number of additions explains,
// both versions run again in a wider type, and must agree there.
#pragma once

#include <string>
#include <vector>

#include "interp/interp.h"

namespace loopsmith::interp {

/// Random arguments for a function, and their memory.
struct Inputs {
  std::vector<Argument> arguments;                 // one per parameter
  std::vector<std::vector<char>> storage;
};

enum class Contents : uint8_t { SmallIntegers, Reals };

/// Every parameter gets random contents from the seed, including outputs (a program may read them first). Shape variables get `size`.
/// If a function keeps a position, such as that of the largest element, all elements that it compares are different: among equal ones a schedule may
/// find another one.
/// Fails if a parameter's shape cannot be computed.
[[nodiscard]] auto make_inputs(const PrimFunc& func, uint64_t seed, Contents contents, int64_t size = 7) -> Result<Inputs>;
[[nodiscard]] auto copy_inputs(const Inputs& inputs) -> Inputs;

struct Difference {
  bool found = false;
  std::string where;                               // "C[3, 5]: 12 before, 13 after"
  int64_t elements = 0;                            // the number of elements that differ
  double largest = 0;                              // the largest absolute difference
  double relative = 0;                             // the largest difference of reals, also within the bound, relative to the largest element
  double allowed = 0;                              // the bound for `relative`; 0: no reals
};
/// `exact`: bit for bit (NaN equals NaN); otherwise within the bound for the type and the magnitudes of the tensor, or `magnitude` if that is larger.
[[nodiscard]] auto compare_tensors(const std::string& name, const TensorView& before, const TensorView& after, bool exact, double magnitude = 0) -> Difference;
/// The difference between two orders of the function's sums that rounding explains, relative to the magnitude of the results. Each of n additions rounds by
/// at most half a unit in the last place of a partial sum, and partial sums are no larger than the sum of all magnitudes; two orders differ by twice that.
[[nodiscard]] auto rounding_of_sums(const PrimFunc& func, DataType t) -> double;
/// The wider type that decides if results of type `t` may differ by `apart` in a tensor of that magnitude: float32 for short types, float64 for float32. 0: the
/// difference is larger than rounding explains, or there is no wider type.
[[nodiscard]] auto deciding_bits(const PrimFunc& func, DataType t, double apart, double magnitude) -> int;
/// The largest magnitude of a finite element; 0 for tensors of other types than reals.
[[nodiscard]] auto magnitude_of(const TensorView& view) -> double;

struct GateOptions {
  uint64_t seed = 1;
  int64_t size = 7;                                // of shape variables
  double max_seconds = 0;                          // per run
  int64_t max_steps = 0;                           // per run: statements
  CancelToken cancel;
};
struct GateResult {
  bool equal = true;
  std::string how;                                 // "2 inputs: all outputs against the interpreter, no error"; includes a decision by a wider type
  std::string difference;                          // the first difference
};
/// An error if the version before fails; a failure of only the version after is a difference.
[[nodiscard]] auto compare_modules(const IRModule& before, const IRModule& after, Name function, const GateOptions& options = {})
    -> Result<GateResult>;

/// The version before, run once and compared with many others: keeps its inputs and results.
class Before {
 public:
  /// An error if it fails.
  [[nodiscard]] static auto run(const IRModule& module, Name function, const GateOptions& options = {}) -> Result<Before>;
  /// Like compare_modules.
  [[nodiscard]] auto compare(const IRModule& after) const -> Result<GateResult>;

 private:
  struct Round { Contents contents; Inputs inputs, results; };
  [[nodiscard]] auto is_rounding(const IRModule& after, int bits) const -> bool;
  IRModule module_;
  Name function_;
  GateOptions options_;
  bool exact_ = false;
  std::vector<Name> names_;                        // of the parameters
  std::vector<Round> rounds_;
};

/// True when all operations of the function are exact on small integers: no division of reals, no maths.
[[nodiscard]] auto is_exact_on_integers(const PrimFunc& func) -> bool;

}  // namespace loopsmith::interp
