// Schedules and their variables as values of the script language: `sch.split(i, factors=[None, 8])` finds the row of the
// primitive by its name and passes the arguments on. This file names no primitive.
#pragma once

#include <memory>
#include <optional>

#include "eval/evaluator.h"
#include "schedule/schedule.h"

namespace loopsmith::script {

namespace te { struct Stages; }

/// A block, loop or number of a schedule. The number is its index in the table of the schedule that made it.
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

/// `sch.tune(budget="2min", trials=64)`, or `...`: a place in a schedule that a search is to fill. It changes nothing.
struct TuneRequest {
  Origin call;
  double seconds = 0;    // 0: not given
  int64_t trials = 0;    // 0: not given
};

/// Adds the names that may follow `sch.`.
void schedule_attributes(std::vector<Name>& out);
/// If an argument has the name of no parameter, adds the most similar parameter to the diagnostic.
void add_parameter_meant(Diagnostic& d, const schedule::Primitive& primitive, Name keyword, Origin keyword_at);

/// `sch`: it changes with every primitive, so a snapshot of a frame copies it (which is cheap).
class ScheduleObject final : public eval::Object {
 public:
  static const eval::TypeTag type_tag;
  explicit ScheduleObject(schedule::Schedule s) : Object(&type_tag), schedule(std::move(s)) {}

  /// A function may make several schedules. A run follows its own schedule (Own). Another one (Other) has a separate run, which reports its refused
  /// calls; after such a refusal the schedule is unknown here. Copies, and schedules that a helper makes for itself, are Beside.
  enum class Part : uint8_t { Own, Other, Beside };
  struct Refused { const schedule::Primitive* primitive = nullptr; schedule::Arguments arguments; Origin call; };
  /// A record of the calls of the schedule, for the run that follows it.
  struct Record {
    Part part = Part::Beside;
    uint32_t step = 0;                      // new nodes get it as their schedule statement; 0: none
    uint64_t executed = 0;                  // the number of primitives that ran
    // For the current statement:
    std::optional<Refused> refused = {};    // the last refused call, to be explained (refusals.h)
    std::optional<TuneRequest> hole = {};   // the last place for a search
    /// A primitive would have been called with an unknown argument, or an unknown function with the schedule: from then on the schedule is
    /// unknown too.
    bool is_unknown = false;
    /// A step of a stage was refused, which was reported.
    bool is_stage_refused = false;

    void begin_statement(uint32_t number) { *this = {.part = part, .step = number, .executed = executed}; }
  };
  // Scripts hold objects as constants.
  mutable schedule::Schedule schedule;
  mutable Record record;
  /// The stages of a schedule of tensor expressions (`te.create_schedule`), which `schedule` is translated from. Null: it is a schedule of blocks.
  mutable std::shared_ptr<const te::Stages> stages;

  auto get_attribute(eval::Evaluator& evaluator, Name name, Origin where) const -> std::optional<eval::Value> override;
  void attribute_names(std::vector<Name>& out) const override;
  auto get_item(eval::Evaluator& evaluator, const std::vector<eval::Argument>& indices, bool is_tuple, Origin where) const -> std::optional<eval::Value> override;
  auto clone(eval::Cloner& cloner) const -> std::optional<eval::Value> override;
  auto repr() const -> std::string override { return stages ? "<te.Schedule>" : "<tir.Schedule>"; }
};

/// The largest value of `T.vscale()` on a target, given as text; 0: it has no scalable vectors, or cannot be parsed.
[[nodiscard]] auto most_vscale(const std::string& target) -> int64_t;

/// The value of `sch.get_sref(block)` for a loop or block of a schedule.
[[nodiscard]] auto sref_value(const schedule::Schedule& sch, const schedule::Place& place) -> eval::Value;

/// The text of a target of a script (`Target("cuda")`, also with several parts): "llvm -mcpu=znver4". Only the kind if the script names
/// just a card.
[[nodiscard]] auto target_text(const Attr& target) -> std::string;
/// The target of the innermost `with` that has one; null: there is none.
[[nodiscard]] auto target_around(const eval::Evaluator& evaluator) -> const Attr*;

/// For Evaluator::not_called: marks the schedules that become unknown because a call was not made.
void leave_out_call(const eval::Value& callee, const syntax::Expr& written, const eval::Arguments& arguments);

/// Converts a value for a primitive; none: an error was reported, or the value is unknown.
[[nodiscard]] auto to_schedule(eval::Evaluator& evaluator, const eval::Argument& argument) -> std::optional<schedule::Value>;
[[nodiscard]] auto from_schedule(const schedule::Value& value) -> eval::Value;

}  // namespace loopsmith::script
