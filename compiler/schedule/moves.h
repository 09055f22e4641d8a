// Legal moves: the primitives and arguments that a state allows, found from the rows of primitives alone. A row lists the arguments worth
// trying (`from`, candidates.h; for blocks, loops and parameters with a default they follow from the kind), and its check decides
// which of these are legal. No tree is rewritten.
//
// Here arguments identify loops and blocks by place: variable i stands for place i of the function (`Choice`), so that no
// variables of a schedule are needed. `apply_move` looks the places up in a schedule, as a person would.
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

/// Matches the arguments of a script's call to the parameters of the row. Errors: too many, unknown, missing.
struct Matched { std::vector<Value> values; Value decision; };
[[nodiscard]] auto match_arguments(const Primitive& primitive, Arguments arguments, Origin call) -> Result<Matched>;
/// The diagnostic for an argument that is too many, unknown, given twice, or missing; values are not checked. None: the arguments fit. `is_all`: the
/// call has no further arguments, such as `*arguments`.
[[nodiscard]] auto wrong_arguments(const Primitive& primitive, size_t positional, const std::vector<std::string_view>& keywords, Origin call, bool is_all = true)
    -> std::optional<Diagnostic>;

struct Move {
  const Primitive* primitive = nullptr;
  std::vector<Value> values;               // one per parameter; loops and blocks by place
};

/// The calls of a primitive worth trying at a loop or block. Empty for look-ups, for primitives that take another kind of place,
/// and where a parameter has no candidates.
[[nodiscard]] auto candidate_moves(const State& state, const FuncState& func, const Place& focus, const Primitive& primitive) -> std::vector<Move>;
/// The values worth trying for one parameter of such a call, given the arguments for the parameters before it.
[[nodiscard]] auto candidate_values(const State& state, const FuncState& func, const Place& focus, const Primitive& primitive, std::span<const Value> before) -> std::vector<Value>;
/// Ok for a legal move, else diagnostics with the reason. Nothing is changed or rewritten.
[[nodiscard]] auto judge(const State& state, const FuncState& func, const Move& move) -> Status;

/// True for a move that advice may suggest. False for a move without effect (a loop that is vectorized already, a cache of a cache in the same
/// memory), and for a move for another kind of machine: threads and shared memory if `is_device` is false, `parallel` if it is true.
[[nodiscard]] auto is_worth_offering(const FuncState& func, const Move& move, bool is_device) -> bool;

struct JudgedMove {
  Move move;
  Diagnostics why;                         // empty: legal
  [[nodiscard]] auto is_legal() const -> bool { return why.empty(); }
};
/// All candidates at a place, with the result of their checks. `only`: those of one primitive.
[[nodiscard]] auto moves_at(const State& state, const FuncState& func, const Place& focus, const Primitive* only = nullptr) -> std::vector<JudgedMove>;

/// The name of a loop or block in the script. Empty: it has no name, and is looked up by its block's name.
using NameOfPlace = std::function<std::string(const Place&)>;
/// `sch.split(i, factors=[None, 8])`; a loop without a name as `sch.get_loops("C")[1]`.
[[nodiscard]] auto text_of(const FuncState& func, const Move& move, const NameOfPlace& name_of = {}) -> std::string;

/// A loop or block as an argument in the script: its name, or a look-up.
[[nodiscard]] auto place_text(const FuncState& func, const Place& place, const NameOfPlace& name_of = {}) -> std::string;

/// Any argument as the script writes it: `[None, 8]`, `("read", 0)`, `lambda i, j: (j, i)`.
[[nodiscard]] auto argument_text(const FuncState& func, const Value& value, const Param& param, const NameOfPlace& name_of = {}) -> std::string;

/// Calls on `sch`, renamed for a script whose schedule has another name.
[[nodiscard]] auto in_words_of(std::string calls, std::string_view schedule) -> std::string;

/// A move that was applied to a copy.
struct Tried {
  std::string statement;                   // `i_0, i_1 = sch.split(i, factors=[None, 8])`
  Schedule after;
};
/// Applies the move to a copy. Returns it as a statement whose results are named after the new loops and blocks; a number is appended where a name is taken.
/// Errors: the move is not legal.
[[nodiscard]] auto try_move(const Schedule& schedule, const Move& move, const NameOfPlace& name_of,
                            const std::function<bool(std::string_view)>& is_taken) -> Result<Tried>;

/// Looks the places up in the schedule, and records the look-ups in its trace, as a person would write them. Returns the arguments as variables.
[[nodiscard]] auto look_up(Schedule& schedule, const FuncState& func, const std::vector<Value>& values) -> Result<std::vector<Value>>;
/// Looks the places up and applies the move. A failure changes nothing.
[[nodiscard]] auto apply_move(Schedule& schedule, const Move& move) -> Result<Value>;
/// The arguments of a schedule's call, by place. None: the loop or block of a variable is gone, or in another function.
[[nodiscard]] auto to_places(const Schedule& schedule, const FuncState& func, const Primitive& primitive, const std::vector<Value>& values)
    -> std::optional<std::vector<Value>>;

}  // namespace loopsmith::schedule
