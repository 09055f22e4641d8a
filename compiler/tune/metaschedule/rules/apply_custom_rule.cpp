// ApplyCustomRule: a block with the annotation `schedule_rule` is scheduled by the rule of that name, and by no other one.
#include "tune/metaschedule/rules/block_facts.h"
#include "tune/metaschedule/rules/calls.h"
#include "tune/metaschedule/rules/rule.h"

namespace loopsmith::tune::rules {
namespace {

class ApplyCustomRule : public Rule {
 public:
  explicit ApplyCustomRule(CustomRules rules) : rules_(std::move(rules)) {}

  auto name() const -> std::string_view override { return "ApplyCustomRule"; }

  auto apply(Schedule sch, BlockRV block) const -> Result<Schedules> override {
    LOOPSMITH_TRY(place, sch.get(block));
    const std::optional<std::string> rule = string_attr(place->block()->annotations, "schedule_rule");
    if (!rule || *rule == "None") { return Schedules{std::move(sch)}; }
    if (auto found = rules_.find(*rule); found != rules_.end()) { return found->second(std::move(sch), block); }
    // The name of no rule: the other rules take the block.
    LOOPSMITH_CHECK(perform(sch, "unannotate", {block, "schedule_rule"}));
    return Schedules{std::move(sch)};
  }

 private:
  CustomRules rules_;
};

}  // namespace

auto apply_custom_rule(CustomRules rules) -> RulePtr { return std::make_shared<ApplyCustomRule>(std::move(rules)); }

}  // namespace loopsmith::tune::rules
