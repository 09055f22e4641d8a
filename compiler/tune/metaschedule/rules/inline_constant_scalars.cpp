// InlineConstantScalars: a block that computes a scalar from nothing is inlined into its consumers.
#include "schedule/block_classes.h"
#include "tune/metaschedule/rules/block_facts.h"
#include "tune/metaschedule/rules/calls.h"
#include "tune/metaschedule/rules/rule.h"

namespace loopsmith::tune::rules {
namespace {

class InlineConstantScalars : public Rule {
 public:
  auto name() const -> std::string_view override { return "InlineConstantScalars"; }

  auto apply(Schedule sch, BlockRV block) const -> Result<Schedules> override {
    LOOPSMITH_TRY(found, find_block(sch, block));
    const Block& node = *found.place->block();
    const Place* scope = found.func->scope(*found.place);
    const bool is_scalar = node.reads.empty() && node.writes.size() == 1 && node.writes[0].buffer->shape.empty();
    if (scope && is_scalar && !schedule::is_output_block(*found.func, *found.place, *scope)) { LOOPSMITH_CHECK(perform(sch, "compute_inline", {block})); }
    return Schedules{std::move(sch)};
  }
};

}  // namespace

auto inline_constant_scalars() -> RulePtr { return std::make_shared<InlineConstantScalars>(); }

}  // namespace loopsmith::tune::rules
