// States of the auto-scheduler as values of scripts: `state = dag.get_init_state()` and its methods, which append steps as those of a record.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "eval/evaluator.h"
#include "script/auto_scheduler/state.h"

namespace loopsmith::script::auto_scheduler {

/// A state that a script changes. A stage keeps its identity while steps shift its number.
class StateObject final : public eval::Object {
 public:
  static const eval::TypeTag type_tag;
  /// `tensors`: of the task, in its order.
  StateObject(State s, std::shared_ptr<const std::vector<eval::Value>> t);
  mutable State state;
  mutable std::vector<size_t> stage_ids;       // of each stage, by its number
  const std::shared_ptr<const std::vector<eval::Value>> tensors;

  auto get_attribute(eval::Evaluator&, Name name, Origin where) const -> std::optional<eval::Value> override;
  void attribute_names(std::vector<Name>& out) const override;
  /// `state[C]`, `state["C"]`, `state[2]`: a stage.
  auto get_item(eval::Evaluator& evaluator, const std::vector<eval::Argument>& indices, bool is_tuple, Origin where) const -> std::optional<eval::Value> override;
  auto clone(eval::Cloner& cloner) const -> std::optional<eval::Value> override;
  auto repr() const -> std::string override { return "<auto_scheduler.State>"; }
  auto to_str() const -> std::string override;
};

/// A stage of a state: `state[C]`, or the result of `state.cache_write(C, "local")`.
class StateStageObject final : public eval::Object {
 public:
  static const eval::TypeTag type_tag;
  StateStageObject(Ref<StateObject> s, size_t i) : Object(&type_tag), state(std::move(s)), id(i) {}
  const Ref<StateObject> state;
  const size_t id;
  auto get_attribute(eval::Evaluator&, Name name, Origin where) const -> std::optional<eval::Value> override;
  void attribute_names(std::vector<Name>& out) const override;
  auto clone(eval::Cloner& cloner) const -> std::optional<eval::Value> override;
  auto repr() const -> std::string override;
};

/// An axis of a stage, as it was in the state that gave it.
class IteratorObject final : public eval::Object {
 public:
  static const eval::TypeTag type_tag;
  explicit IteratorObject(StateAxis a) : Object(&type_tag), axis(std::move(a)) {}
  const StateAxis axis;
  auto get_attribute(eval::Evaluator&, Name name, Origin where) const -> std::optional<eval::Value> override;
  void attribute_names(std::vector<Name>& out) const override;
  auto equals(const eval::Object& other) const -> bool override;
  auto repr() const -> std::string override;
};

/// The loops of a state, as TVM prints them.
[[nodiscard]] auto loops_text(const State& state) -> std::string;

}  // namespace loopsmith::script::auto_scheduler
