// The configuration of an AutoTVM template as a value of scripts: `cfg = autotvm.get_config()`, its knobs, and their choices, which apply themselves to
// stages.
//
// A knob takes its choice from the decisions of the run, if they name it, and else its first one, as in TVM's fallback configuration.
#pragma once

#include <memory>
#include <vector>

#include "script/autotvm/space.h"
#include "script/objects.h"

namespace loopsmith::script::autotvm {

/// The decisions for the runs of this thread while it lives, and the knobs that templates define in that time.
class Applying {
 public:
  /// `decisions`: null for the fallback.
  explicit Applying(std::shared_ptr<const Decisions> decisions);
  Applying(const Applying&) = delete;
  auto operator=(const Applying&) -> Applying& = delete;
  ~Applying();
  [[nodiscard]] auto space() const -> const Space& { return space_; }

 private:
  friend class ConfigObject;
  friend auto get_config(eval::Evaluator& evaluator, const eval::Arguments& arguments) -> eval::Value;
  std::shared_ptr<const Decisions> decisions_;
  mutable Space space_;
  const Applying* around_;
};

/// `autotvm.get_config()`
auto get_config(eval::Evaluator& evaluator, const eval::Arguments& arguments) -> eval::Value;

class ConfigObject final : public eval::Object {
 public:
  static const eval::TypeTag type_tag;
  explicit ConfigObject(std::shared_ptr<const Decisions> d) : Object(&type_tag), decisions(std::move(d)) {}
  const std::shared_ptr<const Decisions> decisions;   // null: the fallback
  // A run changes a configuration while it defines knobs; scripts hold objects as constants.
  mutable Space space;
  mutable std::vector<std::pair<std::string, Choice>> changed;   // by `fallback_split` and by assignments

  /// The choice of a knob; null: no such knob.
  [[nodiscard]] auto choice(std::string_view name) const -> const Choice*;
  /// Adds a knob, unless one has its name, which then stays. False: a decision does not fit, which was reported.
  [[nodiscard]] auto define(eval::Evaluator& evaluator, Knob knob, Origin where) const -> bool;

  auto get_attribute(eval::Evaluator& evaluator, Name name, Origin where) const -> std::optional<eval::Value> override;
  void attribute_names(std::vector<Name>& out) const override;
  auto get_item(eval::Evaluator& evaluator, const std::vector<eval::Argument>& indices, bool is_tuple, Origin where) const -> std::optional<eval::Value> override;
  /// `cfg["tile_x"] = SplitEntity([-1, 8])`
  auto set_item(eval::Evaluator& evaluator, const std::vector<eval::Argument>& indices, bool is_tuple, const eval::Argument& value, Origin where) const -> bool override;
  auto clone(eval::Cloner& cloner) const -> std::optional<eval::Value> override;
  auto repr() const -> std::string override;
};

/// `cfg["tile_x"]`
class EntityObject final : public eval::Object {
 public:
  static const eval::TypeTag type_tag;
  EntityObject(std::string n, Choice c) : Object(&type_tag), name(std::move(n)), choice(std::move(c)) {}
  const std::string name;
  const Choice choice;
  auto get_attribute(eval::Evaluator& evaluator, Name attribute, Origin where) const -> std::optional<eval::Value> override;
  void attribute_names(std::vector<Name>& out) const override;
  auto repr() const -> std::string override { return choice.text(); }
};

/// An axis of the space: an output of a knob, or `cfg.axis(EXTENT)`.
class SpaceAxisObject final : public eval::Object {
 public:
  static const eval::TypeTag type_tag;
  SpaceAxisObject(std::string k, size_t i, int64_t l) : Object(&type_tag), knob(std::move(k)), index(i), length(l) {}
  const std::string knob;
  const size_t index;
  const int64_t length;   // 0: an output of a knob, whose extent is not known
  auto equals(const eval::Object& other) const -> bool override;
  auto repr() const -> std::string override;
};

}  // namespace loopsmith::script::autotvm
