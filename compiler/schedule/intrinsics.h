// Tensor intrinsics: what a unit of a machine computes on small tiles of buffers. Each is a pair of programs with the same
// parameters: a description in plain loops, which says what is computed, and an implementation, which calls the unit.
// `tensorize` puts the implementation in the place of a block that computes what the description says.
//
// This room knows the form of intrinsics; their texts are scripts (compiler/intrinsics), handed in as a table.
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

/// A table of intrinsics, asked by name. What it gives lives as long as the table.
class IntrinsicTable {
 public:
  virtual ~IntrinsicTable() = default;
  [[nodiscard]] virtual auto find(Name name) const -> const TensorIntrin* = 0;
  [[nodiscard]] virtual auto names() const -> std::vector<Name> = 0;
};

/// The table of those that come with Loopsmith: null until someone hands it in (`intrinsics::install`).
[[nodiscard]] auto builtin_intrinsics() -> const IntrinsicTable*;
void set_builtin_intrinsics(const IntrinsicTable* table);

/// Why two programs are no tensor intrinsic, in words; none: they are one.
///
/// Both have as many parameters, all buffers of equal element types and shapes, and a root block that says which regions
/// of them it reads and writes: all of them somewhere.
[[nodiscard]] auto why_no_intrinsic(const PrimFunc& description, const PrimFunc& implementation) -> std::optional<std::string>;

/// A program with variables, buffers, loops and blocks of its own; with `index_bits` 64, loops, indices, shapes and strides
/// are int64.
[[nodiscard]] auto fresh_copy(const PrimFunc& func, int index_bits) -> PrimFunc;

/// How a block computes what a description says.
struct IntrinsicMatch {
  /// What stands for a buffer of the description.
  std::unordered_map<const BufferNode*, Buffer> buffers;
  /// Where the tile of a buffer of the program begins: an index per dimension.
  std::unordered_map<const BufferNode*, std::vector<Expr>> base;
};

struct Mismatch { std::string why; Origin where; };

/// Compares a block with the root block of a description: loops, blocks, iter vars, regions, stores and values in the same
/// order, buffers of the same type in the same storage scope; buffers may have more dimensions in front, whose indices stay the same
/// all over the tile.
[[nodiscard]] auto match_intrinsic(const BlockRealize& block, const PrimFunc& description, IntrinsicMatch& out) -> std::optional<Mismatch>;

}  // namespace loopsmith::schedule
