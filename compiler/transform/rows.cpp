// Gives each lane the index of its row: see rows.h.
#include "transform/rows.h"

#include "ir/ops.h"

namespace loopsmith::transform {

auto spread_over_rows(const Array<Expr>& shape, const Array<Expr>& written) -> Array<Expr> {
  const auto* ramp = written.empty() ? nullptr : written.back().as<Ramp>();
  auto base = ramp ? as_int(ramp->base) : std::nullopt;
  auto stride = ramp ? as_int(ramp->stride) : std::nullopt;
  auto lanes = ramp ? as_int(ramp->lanes) : std::nullopt;
  if (written.size() != shape.size() || !base || !stride || !lanes || *base < 0 || *stride < 0) { return written; }
  int64_t last = *base + (*lanes - 1) * *stride;      // the largest value of the index
  std::vector<Expr> indices = written.to_vector();
  for (size_t d = indices.size() - 1; d > 0; --d) {
    auto extent = as_int(shape[d]);
    if (!extent || *extent <= 0 || last < *extent) { break; }
    const Expr length = int_imm(*extent, indices[d].dtype().element());
    const int64_t first_row = as_int(indices[d - 1]).value_or(0);
    indices[d - 1] = add(indices[d - 1], floordiv(indices[d], length));
    indices[d] = floormod(indices[d], length);
    last = first_row + last / *extent;
  }
  return Array<Expr>(std::move(indices));
}

}  // namespace loopsmith::transform
