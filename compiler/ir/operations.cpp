// Decides which nodes compute: see operations.h.
#include "ir/operations.h"

#include <array>
#include <algorithm>

namespace loopsmith {

auto computes_in(const Expr& e) -> std::optional<DataType> {
  switch (e.kind()) {
    case NodeKind::Add: case NodeKind::Sub: case NodeKind::Mul: case NodeKind::Div: case NodeKind::Mod:
    case NodeKind::FloorDiv: case NodeKind::FloorMod: case NodeKind::Min: case NodeKind::Max:
      return e.dtype();
    case NodeKind::EQ: case NodeKind::NE: case NodeKind::LT: case NodeKind::LE: case NodeKind::GT: case NodeKind::GE:
      return static_cast<const BinaryNode&>(*e).a.dtype();
    case NodeKind::Call: {
      // These calls return a value unchanged, its bits as another type, a constant, or one of two values.
      static const std::array moves{Name("if_then_else"), Name("likely"), Name("ignore_loop_partition"), Name("ret"), Name("reinterpret"),
                                    Name("infinity"), Name("large_uint_imm"), Name("undef")};
      const auto& call = static_cast<const Call&>(*e);
      if (std::find(moves.begin(), moves.end(), call.op) != moves.end()) { return std::nullopt; }
      return call.dtype;
    }
    default: return std::nullopt;
  }
}

}  // namespace loopsmith
