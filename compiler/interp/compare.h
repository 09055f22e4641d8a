// The gate: two versions of a function on the same inputs. Small integers first, where sums and products of reals are exact
// and reassociated reductions must agree to the last bit; then reals, with a bound by type. Long sums in float16 and shorter types round
// by more than any such bound: where those differ, both versions run once more with float32 in their place, and that decides.
#pragma once

#include <string>
#include <vector>

#include "interp/interp.h"

namespace loopsmith::interp {

/// Arguments made for a function, and their memory.
struct Inputs {
  std::vector<Argument> arguments;                 // one per parameter
  std::vector<std::vector<char>> storage;
};

enum class Contents : uint8_t { SmallIntegers, Reals };

/// Every parameter gets contents by the seed, outputs too (a program may read them first). Shape variables get `size`.
/// Fails where a parameter's shape cannot be known.
[[nodiscard]] auto make_inputs(const PrimFunc& func, uint64_t seed, Contents contents, int64_t size = 7) -> Result<Inputs>;
[[nodiscard]] auto copy_inputs(const Inputs& inputs) -> Inputs;

struct Difference {
  bool found = false;
  std::string where;                               // "C[3, 5]: 12 before, 13 after"
  int64_t elements = 0;                            // that differ
  double largest = 0;                              // absolute
  int64_t ulps = 0;                                // of reals, those within the bound too: steps of their type between two elements, at most
};
/// `exact`: bit for bit (NaN equals NaN); else within the bound for the type and the magnitudes of the tensor, or `magnitude` where that is larger.
[[nodiscard]] auto compare_tensors(const std::string& name, const TensorView& before, const TensorView& after, bool exact, double magnitude = 0) -> Difference;
/// Of the largest number of a tensor of a short type: what is further apart was not rounded, its type is too short.
constexpr double most_rounding = 0.25;
/// The largest finite number in a tensor of reals, without its sign; else 0.
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
  std::string how;                                 // "2 inputs, exact on integers"; said too where short types round, and float32 decided
  std::string difference;                          // the first one
};
/// Errors where a run fails that should not (the version before), as a difference where only the one after fails.
[[nodiscard]] auto compare_modules(const IRModule& before, const IRModule& after, Name function, const GateOptions& options = {})
    -> Result<GateResult>;

/// The version before, run once and compared with many: inputs and results of it are kept.
class Before {
 public:
  /// Errors where it does not run.
  [[nodiscard]] static auto run(const IRModule& module, Name function, const GateOptions& options = {}) -> Result<Before>;
  /// As compare_modules.
  [[nodiscard]] auto compare(const IRModule& after) const -> Result<GateResult>;

 private:
  struct Round { Contents contents; Inputs inputs, results; };
  [[nodiscard]] auto is_rounding(const IRModule& after, double apart, double magnitude) const -> bool;
  IRModule module_;
  Name function_;
  GateOptions options_;
  bool exact_ = false;
  std::vector<Name> names_;                        // of the parameters
  std::vector<Round> rounds_;
};

/// Does the function use nothing but operations that are exact on small integers (no division of reals, no maths)?
[[nodiscard]] auto is_exact_on_integers(const PrimFunc& func) -> bool;

}  // namespace loopsmith::interp
