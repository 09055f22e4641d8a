// Tensor intrinsics: computations of a hardware unit on small tiles of buffers. Each is a pair of programs with the same
// parameters: a description in plain loops, which defines the result, and an implementation, which calls the unit.
// `tensorize` replaces a block that matches the description by the implementation.
//
// This room defines the form of intrinsics. Their texts are scripts (compiler/intrinsics), passed in as a table.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/ir.h"
#include "support/reason.h"

namespace loopsmith::schedule {

struct TensorIntrin {
  Name name;                      // "dot_16x4_vnni"
  PrimFunc description;
  PrimFunc implementation;
};

/// A table of intrinsics by name. Its entries live as long as the table.
class IntrinsicTable {
 public:
  virtual ~IntrinsicTable() = default;
  [[nodiscard]] virtual auto find(Name name) const -> const TensorIntrin* = 0;
  [[nodiscard]] virtual auto names() const -> std::vector<Name> = 0;
};

/// The table of the intrinsics that come with Loopsmith; null until `intrinsics::install` sets it.
[[nodiscard]] auto builtin_intrinsics() -> const IntrinsicTable*;
void set_builtin_intrinsics(const IntrinsicTable* table);

/// The reason, in words, why two programs are no tensor intrinsic; none: they are one.
///
/// Both must have the same number of parameters, all buffers of equal element types and shapes, and a root block whose declared
/// regions include every parameter.
[[nodiscard]] auto why_no_intrinsic(const PrimFunc& description, const PrimFunc& implementation) -> std::optional<Reason>;

/// A copy of a program with new variables, buffers, loops and blocks. With `index_bits` 64, loops, indices, shapes and strides
/// are int64.
[[nodiscard]] auto fresh_copy(const PrimFunc& func, int index_bits) -> PrimFunc;

/// The correspondence between a block and a description that it matches.
struct IntrinsicMatch {
  /// The buffer of the program that corresponds to a buffer of the description.
  std::unordered_map<const BufferNode*, Buffer> buffers;
  /// The first element of the tile in a buffer of the program: an index per dimension.
  std::unordered_map<const BufferNode*, std::vector<Expr>> base;
};

struct Mismatch { Reason why; Origin where; };

/// Compares a block with the root block of a description: loops, blocks, iter vars, regions, stores and values must be in the same
/// order; buffers must have the same type and storage scope. A buffer may have more dimensions in front, whose indices must be the same
/// in the whole tile.
[[nodiscard]] auto match_intrinsic(const BlockRealize& block, const PrimFunc& description, IntrinsicMatch& out) -> std::optional<Mismatch>;

}  // namespace loopsmith::schedule
