// Schedules and their variables as values of the script language: `sch.split(i, factors=[None, 8])` finds the row of the
// primitive by its name and hands the arguments on. Nothing here knows any primitive by name.
#pragma once

#include <functional>
#include <optional>

#include "eval/evaluator.h"
#include "schedule/schedule.h"

namespace loopsmith::script {

/// A block, loop or number of a schedule. The number is its place in the table of the schedule that made it.
class VariableObject final : public eval::Object {
 public:
  static const eval::TypeTag type_tag;
  explicit VariableObject(schedule::Value v) : Object(&type_tag), variable(std::move(v)) {}
  const schedule::Value variable;   // BlockRV, LoopRV or ExprRV
  auto type_name() const -> std::string_view override;
  auto equals(const eval::Object& other) const -> bool override;
  auto hash() const -> uint64_t override;
  auto repr() const -> std::string override;
  auto binary(eval::Evaluator& evaluator, syntax::BinaryOp op, const eval::Argument& self, const eval::Argument& other, bool reflected, Origin where) const
      -> std::optional<eval::Value> override;
};

/// `sch.tune(budget="2min", trials=64)`: a place in a schedule that a search is to fill. It changes nothing.
struct Hole {
  Origin call;
  double seconds = 0;    // 0: not said
  int64_t trials = 0;    // 0: not said
};

/// What `sch.` may be followed by.
void schedule_attributes(std::vector<Name>& out);
/// Of an argument whose name a primitive does not know: the parameter that may be meant.
void add_parameter_meant(Diagnostic& d, const schedule::Primitive& primitive, Name keyword, Origin keyword_at);

/// `sch`: it changes with every primitive, so a snapshot of a frame copies it (which is cheap).
class ScheduleObject final : public eval::Object {
 public:
  static const eval::TypeTag type_tag;
  explicit ScheduleObject(schedule::Schedule s) : Object(&type_tag), schedule(std::move(s)) {}
  mutable schedule::Schedule schedule;
  /// What nodes made from now on give as their schedule statement; 0: none. And how many primitives ran.
  mutable uint32_t step = 0;
  mutable uint64_t executed = 0;
  /// The last call that was refused, for whoever explains it (refusals.h).
  struct Refused { const schedule::Primitive* primitive = nullptr; schedule::Arguments arguments; Origin call; };
  mutable std::optional<Refused> refused;
  /// The last hole that was passed.
  mutable std::optional<Hole> hole;
  /// A primitive would have been called with what is not known, or a function that is not known with the schedule: from then on
  /// the schedule is not known either.
  mutable bool is_unknown = false;
  /// Among several schedules of a function: the one that a run follows, one that is followed by a run of its own (what is refused of it is told
  /// there, and from then on it is not known here), or a copy and what a helper makes for itself.
  enum class Part : uint8_t { Own, Other, Beside };
  mutable Part part = Part::Beside;
  auto get_attribute(eval::Evaluator& evaluator, Name name, Origin where) const -> std::optional<eval::Value> override;
  void attribute_names(std::vector<Name>& out) const override;
  auto clone(eval::Cloner& cloner) const -> std::optional<eval::Value> override;
  auto repr() const -> std::string override { return "<tir.Schedule>"; }
};

/// What `T.vscale()` may be at most for a target as written; 0: it has no scalable vectors, or cannot be read.
[[nodiscard]] auto most_vscale(const std::string& target) -> int64_t;

/// A target as a script has it (`Target("cuda")`, also of several parts), as it is written: "llvm -mcpu=znver4". Of a card that is known by its
/// name only, the kind.
[[nodiscard]] auto target_text(const Attr& target) -> std::string;
/// The target of the innermost `with` that has one; null: none.
[[nodiscard]] auto target_around(const eval::Evaluator& evaluator) -> const Attr*;

/// For Evaluator::not_called: which schedules are not known after a call that was left out.
void leave_out_call(const eval::Value& callee, const syntax::Expr& written, const eval::Arguments& arguments);

/// A value for a primitive; none: reported, or unknown.
[[nodiscard]] auto to_schedule(eval::Evaluator& evaluator, const eval::Argument& argument) -> std::optional<schedule::Value>;
[[nodiscard]] auto from_schedule(const schedule::Value& value) -> eval::Value;

/// What higher rooms teach: a value of theirs as a schedule value (expressions of the program, index maps), and a module
/// as a script value (`sch.mod`). Set once, by the room that knows the frontend's objects.
struct Bridge {
  std::function<std::optional<schedule::Value>(eval::Evaluator&, const eval::Argument&)> to_schedule;
  std::function<eval::Value(const IRModule&)> module_value;
};
void set_bridge(Bridge bridge);

}  // namespace loopsmith::script
