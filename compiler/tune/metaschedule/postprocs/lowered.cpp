// Lowering for checks: see lowered.h.
#include "tune/metaschedule/postprocs/lowered.h"

#include "ir/ops.h"
#include "ir/visitor.h"
#include "ir/vocabulary.h"
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
namespace {

// TVM places an allocation by the accesses alone. Here a copy under a condition, as threads make together, would keep its buffer outside of the loop.
class DropCopyPredicates : public Mutator {
 public:
  using Mutator::on;
  auto on(const BlockRealize& n) -> Stmt override {
    Stmt inner = Mutator::on(n);
    const auto& realize = *inner.as<BlockRealize>();
    const Array<BufferRegion>& writes = realize.block->writes;
    bool is_copy = !is_one(realize.predicate) && !realize.block->init && writes.size() == 1 && is_shared_memory(writes[0].buffer->scope().view());
    return is_copy ? Stmt(make<BlockRealize>(realize.iter_values, bool_imm(true), realize.block, realize.origin)) : inner;
  }
};

}  // namespace

auto lowered_for_checks(const IRModule& module) -> Result<IRModule> {
  using Pass = Result<IRModule> (*)(const IRModule&, const transform::LowerContext&);
  constexpr Pass passes[] = {transform::lower_init_block,  transform::plan_buffer_location,     transform::convert_blocks_to_opaque, transform::compact_buffer_allocation,
                             transform::lower_match_buffer, transform::inject_software_pipeline, transform::lower_opaque_block,       transform::simplify,
                             transform::flatten_buffer,     transform::simplify,                 transform::vectorize_loop};
  LOOPSMITH_TRY(current, transform::map_functions(module, [](const PrimFunc& func) -> Result<PrimFunc> { return with_body(func, DropCopyPredicates().mutate(func->body)); }));
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
