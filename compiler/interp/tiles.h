// Matrix units: the meaning of their instructions on tiles of memory, on registers of a warp and on tile registers. From the
// vendors' manuals: NVIDIA's WMMA and PTX (ldmatrix, mma.sync), Intel's AMX, AMD's MFMA.
//
//  - WMMA: the threads of a warp execute an operation together. The layout of a fragment in registers is undocumented, so no program depends on
//    it; here fragment number i of a buffer has the elements from i times its size on, row after row (A is m x k, B k x n).
//  - ldmatrix, mma, mma.sp: each thread names its own registers, which are memory of scope `warp`; PTX defines the elements of each thread.
//    The machine has no transposed ldmatrix of bytes; code generators load the bytes one by one, and so does the interpreter.
//    A sparse left matrix has two elements of every four; two bits per element give its position.
//  - Buffers of scope `m16n8k8.matrixA` (B, C) are whole matrices of a warp, of which each thread holds its elements for mma.m16n8k8;
//    ldmatrix fills four tiles of 8 x 8 at a time, below each other in A, side by side in B. Their indices count tiles: those of A
//    are 4 elements of a thread, 8 of 32 rows together; those of B 2, 8 of 32 columns together; those of C (16 x 8) count 2.
//  - simdgroup_matrix (Metal): like WMMA, with 8 x 8 elements.
//  - AMX: eight tiles per thread, configured as 16 rows of 64 bytes. A call identifies a tile by its number, or by a pointer into a buffer of
//    scope `amx.tmm`, where a tile is 1024 bytes, row after row.
//  - MFMA: 64 threads; AMD's ISA documents define the elements of each thread.
#pragma once

#include <array>
#include <vector>

#include "interp/statements.h"

namespace loopsmith::interp {

/// A matrix operand: its elements from a place in memory on.
struct TileOperand {
  const PointerExpr* pointer = nullptr;
  const IntExpr* offset = nullptr;       // in elements; null: 0
  DataType element;
  const IntExpr* row = nullptr;          // the row stride of a warp's whole matrix, in elements; null: registers of a thread
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
  const IntExpr* selector = nullptr;     // of a sparse left matrix: the threads that hold the positions of its elements; null: it is dense
  int rows = 0, columns = 0;             // of the fragment
  bool is_column_major = false;          // in memory
  bool is_transposed = false;            // ldmatrix
  std::vector<TileOperand> operands;     // result first
  std::array<Name, 3> scopes{};          // scopes of operands that are parts of a warp's whole matrices
  const IntExpr* stride = nullptr;       // of rows in memory, in elements (AMX: bytes)
  Code value;                            // the value of a fill
  std::array<int, 3> tiles{};            // AMX: result, left, right
  std::array<const PointerExpr*, 3> tile_buffers{};   // AMX: places of these tiles in buffers; null: the tile has a number
  bool left_is_signed = false, right_is_signed = false;
  void run(Frame& f) const override;

 private:
  void fragment_operation(Frame& f) const;
  void warp_operation(Frame& f) const;
  auto own_part_of_warp(Frame& f) const -> bool;
  void load_tiles_of_warp(Frame& f) const;
  void multiply_tiles_of_warp(Frame& f) const;
  void too_few_threads(Frame& f) const;
  void tile_operation(Frame& f) const;
  auto tile_memory(Frame& f, size_t which, bool is_written) const -> char*;
};

/// An element of this thread's part of c + a b, for matrices in the registers of 64 threads.
struct WavefrontProduct {
  int k = 0;
  Code a, b, c;
  DataType a_element, b_element;         // bytes may be packed into an int32
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

/// True for calls of known MFMA instructions.
[[nodiscard]] auto is_wavefront_product(const Call& call) -> bool;

}  // namespace loopsmith::interp
