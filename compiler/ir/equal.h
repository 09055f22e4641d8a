// Structural equality and hash of TIR, as in TVM's StructuralEqual: definitions correspond (alpha
// equivalence), and uses must agree with them; names of variables, buffers and blocks, origins and ids are
// ignored. The first use of a buffer makes its data variable, and the variables in its shape, strides and offset,
// correspond.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "ir/ir.h"

namespace loopsmith {

struct EqualOptions {
  /// Variables that neither side defines may correspond too, one to one; without this they must be the same node.
  bool map_free_vars = false;
};

[[nodiscard]] auto structural_equal(const Expr& a, const Expr& b, const EqualOptions& options = {}) -> bool;
[[nodiscard]] auto structural_equal(const Stmt& a, const Stmt& b, const EqualOptions& options = {}) -> bool;
[[nodiscard]] auto structural_equal(const PrimFunc& a, const PrimFunc& b, const EqualOptions& options = {}) -> bool;
[[nodiscard]] auto structural_equal(const IRModule& a, const IRModule& b, const EqualOptions& options = {}) -> bool;
[[nodiscard]] auto structural_equal(const Attr& a, const Attr& b, const EqualOptions& options = {}) -> bool;
[[nodiscard]] auto structural_equal(const AttrMap& a, const AttrMap& b, const EqualOptions& options = {}) -> bool;
[[nodiscard]] auto structural_equal(const IndexMap& a, const IndexMap& b, const EqualOptions& options = {}) -> bool;

/// The first difference of two trees: the path to the place, and the part of each tree there.
struct Difference {
  std::string path;          // "function `main` > loop `i` > block `C` > value > right operand"
  std::string left, right;   // the parts as script, or "(nothing)"
  Origin left_origin, right_origin;   // of the innermost nodes around the parts, if known
};
[[nodiscard]] auto first_difference(const IRModule& a, const IRModule& b, const EqualOptions& options = {}) -> std::optional<Difference>;
[[nodiscard]] auto first_difference(const PrimFunc& a, const PrimFunc& b, const EqualOptions& options = {}) -> std::optional<Difference>;
[[nodiscard]] auto first_difference(const Stmt& a, const Stmt& b, const EqualOptions& options = {}) -> std::optional<Difference>;
[[nodiscard]] auto first_difference(const Expr& a, const Expr& b, const EqualOptions& options = {}) -> std::optional<Difference>;

/// Equal trees have equal hashes, with free variables mapped or not (all free variables of a type have the same hash).
/// Stable across runs and machines.
[[nodiscard]] auto structural_hash(const Expr& expr) -> uint64_t;
[[nodiscard]] auto structural_hash(const Stmt& stmt) -> uint64_t;
[[nodiscard]] auto structural_hash(const PrimFunc& func) -> uint64_t;
[[nodiscard]] auto structural_hash(const IRModule& module) -> uint64_t;

}  // namespace loopsmith
