// Gives the symbolic sizes of a function constant values.
//
//     def scale(a: T.handle): n = T.int64();            def scale_n128(A: T.Buffer((128, 4))):
//         A = T.match_buffer(a, (n, 4))         ==>         for i, j in T.grid(128, 4): ...
//         for i, j in T.grid(n, 4): ...
//
// Needs   each size is a parameter of an integer type, or a variable in the shapes of the parameters' buffers.
// Gives   the function without those variables; parameters stay, in their order. Where nothing else needs 64 bits, loops and indices get 32: the rules of the tuner
//         and affine proofs expect loops of one type.
// Keeps   the results for arguments with these sizes.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ir/ir.h"
#include "support/diagnostic.h"

namespace loopsmith::transform {

/// Sizes by their names in the program.
using SizeValues = std::vector<std::pair<std::string, int64_t>>;

[[nodiscard]] auto bind_sizes(const PrimFunc& func, const SizeValues& sizes) -> Result<PrimFunc>;

/// The names of the sizes that `bind_sizes` takes: integer parameters, then the variables in shapes.
[[nodiscard]] auto size_names(const PrimFunc& func) -> std::vector<std::string>;

/// The mark of a function that stands in for another one, in its attributes `ls.variant_of` and `ls.sizes`. The entry of that program in a library calls it for
/// arguments with these sizes. `ls.sizes` is a dictionary for a function with constant sizes, and a list of them for one with another schedule of symbolic sizes.
struct VariantMark {
  std::string program;
  std::vector<SizeValues> choices;   // at least one
};
[[nodiscard]] auto variant_mark(const PrimFunc& func) -> std::optional<VariantMark>;
[[nodiscard]] auto with_variant_mark(const PrimFunc& func, const VariantMark& mark) -> PrimFunc;

}  // namespace loopsmith::transform
