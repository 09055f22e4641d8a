// Lowering for checks: see lowered.h.
#include "tune/metaschedule/postprocs/lowered.h"

#include "ir/ops.h"
#include "ir/visitor.h"
#include "support/saturate.h"
#include "transform/compact_buffer_allocation.h"
#include "transform/convert_blocks_to_opaque.h"
#include "transform/flatten_buffer.h"
#include "transform/inject_software_pipeline.h"
#include "transform/lower_init_block.h"
#include "transform/lower_match_buffer.h"
#include "transform/lower_opaque_block.h"
#include "transform/simplify.h"
#include "transform/vectorize_loop.h"
#include "tune/metaschedule/features/locations.h"

namespace loopsmith::tune::metaschedule {
namespace {

// Allocations where TVM places them: around all accesses, whatever conditions the accesses have.
class PlaceAllocations : public Mutator {
 public:
  using Mutator::on;
  explicit PlaceAllocations(AllocationsByPlace places) : places_(std::move(places)) {}
  auto on(const For& n) -> Stmt override {
    Stmt inner = Mutator::on(n);
    auto here = places_.find(&n);
    if (here == places_.end()) { return inner; }
    const auto& loop = *inner.as<For>();
    Block::Fields fields;
    fields.body = loop.body;
    fields.alloc_buffers = Sequence<Buffer>(here->second);
    Stmt body = make<BlockRealize>(Array<Expr>(), bool_imm(true), make<Block>(std::move(fields)));
    return make<For>(loop.var, loop.min, loop.extent, loop.for_kind, body, loop.thread, loop.annotations, loop.origin, loop.id);
  }
  auto on(const Block& n) -> Stmt override {
    Stmt inner = Mutator::on(n);
    Block::Fields fields = inner.as<Block>()->fields();
    auto here = places_.find(&n);
    fields.alloc_buffers = here == places_.end() ? Sequence<Buffer>() : Sequence<Buffer>(here->second);
    return make<Block>(std::move(fields), n.origin, n.id);
  }

 private:
  AllocationsByPlace places_;
};

auto place_allocations(const IRModule& module, const transform::LowerContext&) -> Result<IRModule> {
  return transform::map_functions(module, [](const PrimFunc& func) -> Result<PrimFunc> { return with_body(func, PlaceAllocations(find_locations(func)).mutate(func->body)); });
}

}  // namespace

auto lowered_for_checks(const IRModule& module) -> Result<IRModule> {
  using Pass = Result<IRModule> (*)(const IRModule&, const transform::LowerContext&);
  constexpr Pass passes[] = {transform::lower_init_block,  place_allocations,     transform::convert_blocks_to_opaque, transform::compact_buffer_allocation,
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
