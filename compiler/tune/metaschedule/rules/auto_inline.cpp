// AutoInline: a block that computes elements one by one is inlined into its consumers, or into its producer.
#include "ir/visitor.h"
#include "schedule/block_classes.h"
#include "tune/metaschedule/rules/block_facts.h"
#include "tune/metaschedule/rules/calls.h"
#include "tune/metaschedule/rules/rule.h"

namespace loopsmith::tune::rules {
namespace {

/// The schedule after a step that may be refused; none: it is.
auto after(const Schedule& sch, std::string_view primitive, BlockRV block) -> std::optional<Schedule> {
  Schedule out = sch;
  if (!perform(out, primitive, {block}).ok()) { return std::nullopt; }
  return out;
}

class AutoInline : public Rule {
 public:
  explicit AutoInline(AutoInlineOptions options) : options_(std::move(options)) {}

  auto name() const -> std::string_view override { return "AutoInline"; }

  auto apply(Schedule sch, BlockRV block) const -> Result<Schedules> override {
    LOOPSMITH_TRY(found, find_block(sch, block));
    const Place& place = *found.place;
    if (place.parent < 0 || place.block()->writes.size() != 1) { return Schedules{std::move(sch)}; }
    const FuncState& func = *found.func;
    const bool has_consumers = !schedule::consumers_of(func, place).empty();
    if (options_.inline_const_tensor && place.block()->reads.empty() && has_consumers) {
      if (auto inlined = after(sch, "compute_inline", block)) { return Schedules{std::move(*inlined)}; }
    }
    if (!is_allowed(func, place)) { return Schedules{std::move(sch)}; }
    if (options_.into_consumer && has_consumers) {
      if (auto inlined = after(sch, "compute_inline", block)) { return Schedules{std::move(*inlined)}; }
    }
    if (options_.into_producer && producer_takes_it(func, place)) {
      if (auto inlined = after(sch, "reverse_compute_inline", block)) { return Schedules{std::move(*inlined)}; }
    }
    return Schedules{std::move(sch)};
  }

 private:
  [[nodiscard]] auto is_allowed(const FuncState& func, const Place& place) const -> bool {
    const Block& block = *place.block();
    if (!is_spatial(func.func())) {
      if (calls_any(place.stmt(), options_.disallow_op)) { return false; }
      if (options_.disallow_if_then_else && has_branch(place.stmt())) { return false; }
      for (const BufferRegion& read : block.reads) {
        const ReadWritePattern pattern = read_write_pattern(read, block.writes[0]);
        if ((options_.require_injective && !pattern.injective) || (options_.require_ordered && !pattern.ordered)) { return false; }
      }
    }
    const std::optional<std::string> asked = string_attr(block.annotations, "meta_schedule.inline_rule");
    return !asked || *asked != "disable";
  }

  [[nodiscard]] static auto producer_takes_it(const FuncState& func, const Place& place) -> bool {
    const std::vector<NodeId> producers = schedule::producers_of(func, place);
    if (producers.size() != 1) { return false; }
    const Place* producer = func.find(producers.front());
    return producer && schedule::is_complete(func, *producer) && !string_attr(producer->block()->annotations, "meta_schedule.auto_tensorize");
  }

  AutoInlineOptions options_;
};

}  // namespace

auto auto_inline(AutoInlineOptions options) -> RulePtr { return std::make_shared<AutoInline>(std::move(options)); }

}  // namespace loopsmith::tune::rules
