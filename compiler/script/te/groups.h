// `s.create_group(outputs=, inputs=)`: stages that get their place together.
#pragma once

#include <vector>

#include "script/objects.h"

namespace loopsmith::script::te {

/// A group of stages. It has no loops: a step on it is one on each of its stages that still stands at the root.
class GroupObject final : public eval::Object {
 public:
  static const eval::TypeTag type_tag;
  GroupObject(Ref<ScheduleObject> s, std::vector<size_t> m) : Object(&type_tag), schedule(std::move(s)), members(std::move(m)) {}
  const Ref<ScheduleObject> schedule;
  const std::vector<size_t> members;   // producers first
  auto get_attribute(eval::Evaluator&, Name name, Origin where) const -> std::optional<eval::Value> override;
  void attribute_names(std::vector<Name>& out) const override;
  auto clone(eval::Cloner& cloner) const -> std::optional<eval::Value> override;
  auto equals(const eval::Object& other) const -> bool override;
  auto repr() const -> std::string override;
};

/// The method of a schedule.
auto create_group(eval::Evaluator& evaluator, const eval::Value& self, const eval::Arguments& arguments) -> eval::Value;

}  // namespace loopsmith::script::te
