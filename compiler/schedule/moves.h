// Legal moves: which primitives with which arguments a state allows, from the rows alone. A row says which arguments are worth
// trying (`from`, candidates.h; blocks, loops and parameters with a default follow from their kind), its check says which of
// those are legal: no tree is rewritten.
//
// Here arguments name loops and blocks by place: variable i stands for place i of the function (`Choice`), so that a state
// can be asked without a schedule's variables. `apply_move` looks them up in a schedule, as a person would.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "schedule/primitive.h"
#include "schedule/schedule.h"
#include "support/diagnostic.h"

namespace loopsmith::schedule {

/// Arguments of a script's call, one per parameter of the row. Errors: too many, unknown, missing.
struct Matched { std::vector<Value> values; Value decision; };
[[nodiscard]] auto match_arguments(const Primitive& primitive, Arguments arguments, Origin call) -> Result<Matched>;
/// An argument too many, unknown, given twice, or missing, whatever their values are; none: they fit. `is_all`: there are no others, as `*arguments`
/// would be.
[[nodiscard]] auto wrong_arguments(const Primitive& primitive, size_t positional, const std::vector<std::string_view>& keywords, Origin call, bool is_all = true)
    -> std::optional<Diagnostic>;

struct Move {
  const Primitive* primitive = nullptr;
  std::vector<Value> values;               // one per parameter; loops and blocks by place
};

/// The calls of a primitive worth trying at a loop or block. Empty for look-ups, for primitives about another kind of place,
/// and where a parameter has no candidates.
[[nodiscard]] auto candidate_moves(const State& state, const FuncState& func, const Place& focus, const Primitive& primitive) -> std::vector<Move>;
/// What is worth trying for one parameter of such a call, behind the arguments for those before it.
[[nodiscard]] auto candidate_values(const State& state, const FuncState& func, const Place& focus, const Primitive& primitive, std::span<const Value> before) -> std::vector<Value>;
/// Is the move legal? The diagnostics say why not. Changes nothing and rewrites nothing.
[[nodiscard]] auto judge(const State& state, const FuncState& func, const Move& move) -> Status;

struct JudgedMove {
  Move move;
  Diagnostics why;                         // empty: legal
  [[nodiscard]] auto is_legal() const -> bool { return why.empty(); }
};
/// All candidates at a place, judged. `only`: of one primitive.
[[nodiscard]] auto moves_at(const State& state, const FuncState& func, const Place& focus, const Primitive* only = nullptr) -> std::vector<JudgedMove>;

/// What a script calls a loop or block; empty: nothing, it is then looked up by name.
using NameOfPlace = std::function<std::string(const Place&)>;
/// `sch.split(i, factors=[None, 8])`; loops without a name as `sch.get_loops("C")[1]`.
[[nodiscard]] auto text_of(const FuncState& func, const Move& move, const NameOfPlace& name_of = {}) -> std::string;

/// A loop or block as an argument in the script: its name, or a look-up.
[[nodiscard]] auto place_text(const FuncState& func, const Place& place, const NameOfPlace& name_of = {}) -> std::string;

/// Any argument as the script writes it: `[None, 8]`, `("read", 0)`, `lambda i, j: (j, i)`.
[[nodiscard]] auto argument_text(const FuncState& func, const Value& value, const Param& param, const NameOfPlace& name_of = {}) -> std::string;

/// Calls as they are written here, for a script whose schedule has another name than `sch`.
[[nodiscard]] auto in_words_of(std::string calls, std::string_view schedule) -> std::string;

/// A move that was made on a copy.
struct Tried {
  std::string statement;                   // `i_0, i_1 = sch.split(i, factors=[None, 8])`
  Schedule after;
};
/// The move as a statement that gives its results names: those of the loops and blocks made, as the program calls them, with a number
/// behind where the name is taken. Errors: it is not legal.
[[nodiscard]] auto try_move(const Schedule& schedule, const Move& move, const NameOfPlace& name_of,
                            const std::function<bool(std::string_view)>& is_taken) -> Result<Tried>;

/// Looks the places up in the schedule, recorded in its trace as a person would have to: arguments as its variables.
[[nodiscard]] auto look_up(Schedule& schedule, const FuncState& func, const std::vector<Value>& values) -> Result<std::vector<Value>>;
/// Looks the places up and applies the move. A failure changes nothing.
[[nodiscard]] auto apply_move(Schedule& schedule, const Move& move) -> Result<Value>;
/// Arguments of a schedule's call, by place. None: a variable is gone, or in another function.
[[nodiscard]] auto to_places(const Schedule& schedule, const FuncState& func, const Primitive& primitive, const std::vector<Value>& values)
    -> std::optional<std::vector<Value>>;

}  // namespace loopsmith::schedule
