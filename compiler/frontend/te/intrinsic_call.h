// Calls of tensor intrinsics as operations: `te.compute((n // 16, 16), lambda i: intrin(A[i, 0:16], B[i, 0:16]))` computes one tile for each `i`.
//
// Such an operation has the elements of the tile as further axes, `ax0`, `ax1` ..., and the value that the description of the intrinsic gives them. A schedule
// computes these axes by the statements of the intrinsic (compiler/script/te/stages.h).
#pragma once

#include "frontend/te/tensors.h"

namespace loopsmith::frontend::te {

class IntrinsicCall final : public eval::Object {
 public:
  static const eval::TypeTag type_tag;
  struct Region { Buffer tensor; std::vector<Expr> begin, extent; };
  const Ref<DeclaredIntrinsic> intrinsic;
  const std::vector<Region> inputs;        // in the order of the description's inputs
  const std::vector<IterVar> reduce_axis;  // around the tiles
  const Origin where;
  IntrinsicCall(Ref<DeclaredIntrinsic> i, std::vector<Region> r, std::vector<IterVar> k, Origin w)
      : Object(&type_tag), intrinsic(std::move(i)), inputs(std::move(r)), reduce_axis(std::move(k)), where(w) {}
  auto repr() const -> std::string override { return "<call of " + intrinsic->repr() + ">"; }
};

/// The elements of a tile: its axes, and the value of each output.
struct TileOfCall { std::vector<IterVar> axis; std::vector<Expr> body; };
/// `dimensions`: those of the output behind the axes of the function. None: reported.
[[nodiscard]] auto tile_of_call(Evaluator& e, const IntrinsicCall& call, const std::vector<Expr>& dimensions) -> std::optional<TileOfCall>;

}  // namespace loopsmith::frontend::te
