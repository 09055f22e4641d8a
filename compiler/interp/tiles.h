// Matrix units: what their instructions do to tiles of memory, to registers of a warp and to tile registers. Meanings are the
// vendors': NVIDIA's WMMA and PTX (ldmatrix, mma.sync), Intel's AMX, AMD's MFMA.
//
//  - WMMA: a warp's threads do one operation together. How a fragment lies in registers is not documented, so no program depends on
//    it; here fragment number i of a buffer is its elements from i times its size, rows one after the other (A is m x k, B k x n).
//  - ldmatrix, mma, mma.sp: each thread names its own registers, which stand in memory of scope `warp`; which thread holds which element
//    is what PTX says. A transposed ldmatrix of bytes is no instruction; code generators load the bytes one by one, and so do we.
//    A sparse left matrix has two elements of every four; two bits say which place each is for.
//  - Buffers of scope `m16n8k8.matrixA` (B, C) are whole matrices of a warp, of which each thread holds what mma.m16n8k8 gives it;
//    ldmatrix fills four tiles of 8 x 8 at a time, below each other in A, side by side in B. Their indices count tiles: those of A
//    are 4 elements of a thread, 8 of 32 rows together; those of B 2, 8 of 32 columns together; those of C (16 x 8) count 2.
//  - simdgroup_matrix (Metal): as WMMA, of 8 x 8.
//  - AMX: eight tiles per thread, configured as 16 rows of 64 bytes.
//  - MFMA: 64 threads; which holds what is as in AMD's ISA documents.
#pragma once

#include <array>
#include <vector>

#include "interp/statements.h"

namespace loopsmith::interp {

/// Elements of a matrix from a place in memory on.
struct TileOperand {
  const PointerExpr* pointer = nullptr;
  const IntExpr* offset = nullptr;       // in elements; null: 0
  DataType element;
  const IntExpr* row = nullptr;          // elements from row to row of a warp's whole matrix; null: registers of a thread
};

struct TileStatement final : Statement {
  enum class Kind : uint8_t {
    FillFragment, LoadFragment, StoreFragment, MultiplyFragments, CompareFragments,   // WMMA
    LoadMatrix, MultiplyWarp, FillWarp, StoreWarp,                  // ldmatrix, mma
    LoadTile, StoreTile, MultiplyTiles, ZeroTile                    // AMX
  };
  Kind kind = Kind::FillFragment;
  Origin origin;
  Name name;                             // of the instruction, for messages
  bool in_kernel = false;
  int m = 0, n = 0, k = 0;               // of the product
  const IntExpr* selector = nullptr;     // of a sparse left matrix: which threads hold where its elements belong; null: it is dense
  int rows = 0, columns = 0;             // of the fragment
  bool is_column_major = false;          // in memory
  bool is_transposed = false;            // ldmatrix
  std::vector<TileOperand> operands;     // result first
  std::array<Name, 3> scopes{};          // of operands that are parts of a warp's whole matrices
  const IntExpr* stride = nullptr;       // of rows in memory, in elements (AMX: bytes)
  Code value;                            // what is filled in
  std::array<int, 3> tiles{};            // AMX: result, left, right
  bool left_is_signed = false, right_is_signed = false;
  void run(Frame& f) const override;

 private:
  void fragment_operation(Frame& f) const;
  void warp_operation(Frame& f) const;
  void load_tiles_of_warp(Frame& f) const;
  void multiply_tiles_of_warp(Frame& f) const;
  void too_few_threads(Frame& f) const;
  void tile_operation(Frame& f) const;
};

/// A product of two matrices in the registers of 64 threads, added to a third: an element of the thread's part.
struct WavefrontProduct {
  int k = 0;
  Code a, b, c;
  DataType a_element, b_element;         // bytes may come packed into an int32
  DataType type;
  Origin origin;
  auto run(Frame& f) const -> Slot;
};
struct WavefrontProductInt final : IntExpr {
  WavefrontProduct product;
  explicit WavefrontProductInt(WavefrontProduct p) : product(std::move(p)) {}
  auto eval(Frame& f) const -> int64_t override { return product.run(f).i; }
};
struct WavefrontProductReal final : RealExpr {
  WavefrontProduct product;
  explicit WavefrontProductReal(WavefrontProduct p) : product(std::move(p)) {}
  auto eval(Frame& f) const -> double override { return product.run(f).f; }
};

/// Is it a call of an MFMA instruction that is known?
[[nodiscard]] auto is_wavefront_product(const Call& call) -> bool;

}  // namespace loopsmith::interp
