// Stages as values of scripts: `s[C]` and its methods, and the methods of `s` that only schedules of tensor expressions have.
#pragma once

#include "script/objects.h"
#include "script/te/stages.h"

namespace loopsmith::script::te {

/// `s[C]`.
class StageObject final : public eval::Object {
 public:
  static const eval::TypeTag type_tag;
  StageObject(Ref<ScheduleObject> s, size_t i) : Object(&type_tag), schedule(std::move(s)), stage(i) {}
  const Ref<ScheduleObject> schedule;
  const size_t stage;
  auto get_attribute(eval::Evaluator&, Name name, Origin where) const -> std::optional<eval::Value> override;
  void attribute_names(std::vector<Name>& out) const override;
  auto clone(eval::Cloner& cloner) const -> std::optional<eval::Value> override;
  auto equals(const eval::Object& other) const -> bool override;
  auto repr() const -> std::string override;
};

/// `s.cache_read` and the like. None: a schedule of tensor expressions has no such attribute.
[[nodiscard]] auto attribute_of_schedule(const ScheduleObject& schedule, Name name) -> std::optional<eval::Value>;
void attributes_of_schedule(std::vector<Name>& out);
/// `s[TENSOR]`, `s[OPERATION]`.
[[nodiscard]] auto stage_of(eval::Evaluator& evaluator, const ScheduleObject& schedule, const eval::Argument& argument, Origin where) -> eval::Value;

}  // namespace loopsmith::script::te
