// Tensor intrinsics: computations of a machine's unit on small tiles of buffers. Each is a pair of programs with the same
// parameters: a description in plain loops, which defines the result, and an implementation, which calls the unit.
// `tensorize` replaces a block that computes the same as the description by the implementation.
//
// This room knows the form of intrinsics; their texts are scripts (compiler/intrinsics), passed in as a table.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/ir.h"

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

/// The reason why two programs are no tensor intrinsic, in words; none: they are one.
///
/// Both must have the same number of parameters, all buffers of equal element types and shapes, and a root block whose declared
/// regions include every parameter.
[[nodiscard]] auto why_no_intrinsic(const PrimFunc& description, const PrimFunc& implementation) -> std::optional<std::string>;

/// A program with variables, buffers, loops and blocks of its own; with `index_bits` 64, loops, indices, shapes and strides
/// are int64.
[[nodiscard]] auto fresh_copy(const PrimFunc& func, int index_bits) -> PrimFunc;

/// The correspondence between a block and a description that it matches.
struct IntrinsicMatch {
  /// The buffer of the program that corresponds to a buffer of the description.
  std::unordered_map<const BufferNode*, Buffer> buffers;
  /// The begin of the tile in a buffer of the program: an index per dimension.
  std::unordered_map<const BufferNode*, std::vector<Expr>> base;
};

struct Mismatch { std::string why; Origin where; };

/// Compares a block with the root block of a description: loops, blocks, iter vars, regions, stores and values in the same
/// order, buffers of the same type in the same storage scope; buffers may have more dimensions in front, whose indices stay the same
/// all over the tile.
[[nodiscard]] auto match_intrinsic(const BlockRealize& block, const PrimFunc& description, IntrinsicMatch& out) -> std::optional<Mismatch>;

}  // namespace loopsmith::schedule
