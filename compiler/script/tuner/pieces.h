// Pieces of the tuner as values of scripts: schedule rules, post-processors, mutators and cost models. A piece is one of TVM's, by its name and arguments, or is written in
// the file, in one of two forms:
//
//     @ms.derived_object                                    @ls.rule
//     class Tiles(ms.schedule_rule.PyScheduleRule):         def tiles(sch, block):
//         def apply(self, sch, block):                          ...
//             ...                                               return [sch]
//             return [sch]
//
// This file has the values and the names `ms` and `ls`. call.h runs written pieces; the tuner (tune/written) makes its own pieces of these values.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "eval/evaluator.h"

namespace loopsmith::script {

/// A filter is a function that chooses blocks; a space function makes the schedules of a space from a program; a cost model predicts which candidates are fast; a builder and
/// a runner give candidates their times; a task scheduler divides trials among programs. These six are only written.
enum class PieceKind : uint8_t { ScheduleRule, Postproc, Mutator, Filter, SpaceFunction, CostModel, Builder, Runner, TaskScheduler };
/// "schedule rule", "post-processor", "mutator", "filter", "schedule function", "cost model", "builder", "runner", "task scheduler".
[[nodiscard]] auto kind_text(PieceKind kind) -> std::string_view;

/// A class of pieces. A call of it makes a piece.
class PieceClass final : public eval::Object {
 public:
  static const eval::TypeTag type_tag;
  enum class Origins : uint8_t { Tvm, Base, Written };   // `MultiLevelTiling`; `PyScheduleRule`, which others derive from; a class of the file
  using Members = std::vector<std::pair<Name, eval::Value>>;
  PieceClass(PieceKind k, Name n, Origins o, Origin w = {}, Members m = {}) : Object(&type_tag), kind(k), name(n), origin(o), where(w), members(std::move(m)) {}
  const PieceKind kind;
  const Name name;
  const Origins origin;
  const Origin where;
  /// The functions and constants of a written class, and of the written classes that it derives from.
  const Members members;

  [[nodiscard]] auto find(Name member) const -> const eval::Value*;
  auto is_callable() const -> bool override { return true; }
  auto call(eval::Evaluator& evaluator, const eval::Arguments& arguments) const -> std::optional<eval::Value> override;
  auto get_attribute(eval::Evaluator&, Name member, Origin) const -> std::optional<eval::Value> override;
  auto repr() const -> std::string override { return "<class " + name.str() + ">"; }
};

class Piece final : public eval::Object {
 public:
  static const eval::TypeTag type_tag;
  explicit Piece(Ref<PieceClass> t, eval::Arguments a) : Object(&type_tag), kind(t->kind), name(t->name), where(t->where), type(std::move(t)), arguments(std::move(a)) {}
  Piece(PieceKind k, Name n, Origin w, Ref<eval::Function> f) : Object(&type_tag), kind(k), name(n), where(w), function(std::move(f)) {}
  const PieceKind kind;
  const Name name;
  const Origin where;                                   // of its definition; unknown for TVM's pieces
  const Ref<PieceClass> type;                           // null: a function with a decorator
  const Ref<eval::Function> function;                   // null: an instance of a class
  const eval::Arguments arguments;                      // of the call that made it
  /// The attributes that its methods have set.
  mutable std::vector<std::pair<Name, eval::Value>> attributes;
  /// A call ran out of steps or time: the piece is not called again.
  mutable bool is_closed = false;
  /// The state of the random numbers that a cost model draws.
  mutable uint64_t random_state = 0;

  [[nodiscard]] auto is_written() const -> bool { return function || (type && type->origin == PieceClass::Origins::Written); }
  auto is_callable() const -> bool override { return bool(function); }
  auto call(eval::Evaluator& evaluator, const eval::Arguments& given) const -> std::optional<eval::Value> override;
  auto get_attribute(eval::Evaluator&, Name member, Origin) const -> std::optional<eval::Value> override;
  auto set_attribute(eval::Evaluator&, Name member, const eval::Argument& value, Origin) const -> bool override;
  void attribute_names(std::vector<Name>& out) const override;
  /// The expression that makes the piece: "AutoInline(into_producer=True)".
  auto repr() const -> std::string override;
};

/// A value as a piece: a piece, or a class, of which one is made without arguments. Null: it is neither.
[[nodiscard]] auto piece_of(eval::Evaluator& evaluator, const eval::Value& value) -> Ref<Piece>;

/// The namespace `ms`, and names that files import from TVM's modules: `derived_object`, `PyScheduleRule`. Null for other names.
[[nodiscard]] auto tuner_name(Name name) -> const eval::Value*;
/// Adds the decorators of the short form: `ls.rule`, `ls.postproc`, `ls.mutator`.
void add_piece_decorators(eval::Namespace& ls);
/// TVM's class of pieces with a name; null: there is none.
[[nodiscard]] auto tvm_piece(Name name) -> const eval::Value*;

}  // namespace loopsmith::script
