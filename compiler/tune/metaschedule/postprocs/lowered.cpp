// Lowering for checks: see lowered.h.
#include "tune/metaschedule/postprocs/lowered.h"

#include "ir/ops.h"
#include "support/saturate.h"
#include "transform/compact_buffer_allocation.h"
#include "transform/convert_blocks_to_opaque.h"
#include "transform/flatten_buffer.h"
#include "transform/inject_software_pipeline.h"
#include "transform/lower_init_block.h"
#include "transform/lower_match_buffer.h"
#include "transform/lower_opaque_block.h"
#include "transform/plan_buffer_location.h"
#include "transform/simplify.h"
#include "transform/vectorize_loop.h"

namespace loopsmith::tune::metaschedule {

auto lowered_for_checks(const IRModule& module) -> Result<IRModule> {
  using Pass = Result<IRModule> (*)(const IRModule&, const transform::LowerContext&);
  constexpr Pass passes[] = {transform::lower_init_block,  transform::plan_buffer_location,     transform::convert_blocks_to_opaque, transform::compact_buffer_allocation,
                             transform::lower_match_buffer, transform::inject_software_pipeline, transform::lower_opaque_block,       transform::simplify,
                             transform::flatten_buffer,     transform::simplify,                 transform::vectorize_loop};
  IRModule current = module;
  for (Pass pass : passes) {
    LOOPSMITH_TRY(next, pass(current, {}));
    current = std::move(next);
  }
  return current;
}

auto bytes_of(const Allocate& node) -> std::optional<int64_t> {
  int64_t bytes = int64_t{node.dtype.element_bytes()} * node.dtype.lanes;
  for (const Expr& extent : node.extents) {
    std::optional<int64_t> n = as_int(extent);
    if (!n || *n < 0) { return std::nullopt; }
    bytes = saturating_mul(bytes, *n);
  }
  return bytes;
}

}  // namespace loopsmith::tune::metaschedule
