// Spaces and lists of the tuner as values of scripts, with TVM's names: `ms.space_generator.PostOrderApply(...)`, `ScheduleFn(...)` and `SpaceGeneratorUnion(...)`;
// `ms.ScheduleRule.create("llvm")` and its like; searches by name. These values only hold arguments; the tuner (tune/written) makes its spaces of them.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "eval/evaluator.h"

namespace loopsmith::script {

/// `PostOrderApply(f_block_filter=..., sch_rules=...)` and its like.
class SpaceGenerator final : public eval::Object {
 public:
  static const eval::TypeTag type_tag;
  enum class Form : uint8_t { PostOrderApply, ScheduleFn, Union };
  using Members = std::vector<std::pair<Name, eval::Value>>;
  SpaceGenerator(Form f, Members m) : Object(&type_tag), form(f), members(std::move(m)) {}
  const Form form;
  const Members members;                       // the arguments that are given, by the names of TVM's parameters

  /// Null: the argument is not given, or None.
  [[nodiscard]] auto find(std::string_view member) const -> const eval::Value*;
  [[nodiscard]] auto type() const -> std::string_view;
  auto get_attribute(eval::Evaluator&, Name member, Origin) const -> std::optional<eval::Value> override;
  void attribute_names(std::vector<Name>& out) const override;
  auto repr() const -> std::string override;
};

/// The classes and functions of spaces, by the names that expressions of options use: `PostOrderApply`, `ScheduleRule` with its `create`.
[[nodiscard]] auto space_names() -> const std::vector<std::pair<Name, eval::Value>>&;

/// The class `PyTaskScheduler`, from which files derive task schedulers.
[[nodiscard]] auto task_scheduler_base() -> const eval::Value&;

/// Adds `space_generator`, `search_strategy`, `task_scheduler` and the classes with a method `create` to the namespace `ms`.
void add_spaces(const Ref<eval::Namespace>& ms);

/// The text of an expression that makes a value: numbers, texts, lists, pieces, spaces, and functions by their names. The functions that written parts consist of
/// are added to `functions`. None: a part has no such text, as a lambda and a nested function have none.
[[nodiscard]] auto expression_of(const eval::Value& value, std::vector<const eval::Function*>* functions = nullptr) -> std::optional<std::string>;

}  // namespace loopsmith::script
