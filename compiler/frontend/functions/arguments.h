// Shared by the functions of `T`: reads arguments as expressions, types and variables, and reports arguments that do not fit.
// Private to compiler/frontend/functions and the namespaces.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/lowerer.h"

namespace loopsmith::frontend {

using eval::bind_arguments;
using eval::BoundArguments;
using eval::make_object;
using eval::Parameter;

/// Reports an argument of the wrong type and returns an error value. An unknown argument is returned without a report.
auto wrong_type(Evaluator& e, const Argument& argument, std::string_view expected) -> Value;
/// Reports that a function of one parameter, `name`, got no argument or several, and returns an error value.
auto not_one_argument(Evaluator& e, const Arguments& a, std::string_view callee, std::string_view name) -> Value;
/// The value of an expression; an error value if `e` is null, which has been reported.
[[nodiscard]] auto expr_or_error(Expr e) -> Value;
/// The data type of a buffer's elements: any type except `void`. None: an error was reported.
[[nodiscard]] auto to_element_dtype(Evaluator& e, const Argument& a) -> std::optional<DataType>;
/// An integer scalar: an extent or a bound of a loop. Null: an error was reported.
[[nodiscard]] auto to_integer(Evaluator& e, const Argument& a) -> Expr;

/// The builder of the program around a call of the function named `what`. Null: the call is outside of a program; the error was reported.
[[nodiscard]] auto need_program(Evaluator& e, const Arguments& a, std::string_view what) -> Lowerer*;
/// The block directly around a call of the function named `what`. Null: there is none; the error was reported.
[[nodiscard]] auto need_block(Evaluator& e, const Arguments& a, std::string_view what) -> BlockSpec*;

/// The result of a call whose arguments could not be bound: unknown if an argument is unknown, otherwise an error.
[[nodiscard]] auto not_bound(const BoundArguments& b) -> Value;
/// True when parameter `i` was given a value other than `None`.
[[nodiscard]] auto is_given(const BoundArguments& b, size_t i) -> bool;

/// The type of a call given by keyword: `dtype`, or `ty` in TVM's main line. Null: there is none.
[[nodiscard]] auto named_type(const Arguments& a) -> const Argument*;
/// The arguments without the type that older texts give operators by keyword, `T.exp(x, dtype="float32")`. TVM ignores it too.
[[nodiscard]] auto without_dtype(const Arguments& a) -> Arguments;
/// Moves keyword arguments to the positions of their parameters. `names`: the parameters, separated by spaces. False: an error was reported.
[[nodiscard]] auto place_named(Evaluator& e, std::string_view callee, std::string_view names, Arguments& a) -> bool;
/// All arguments as expressions, in the order of their parameters; their count must be from `low` to `high`. False: an error was reported. Leaves in `a`
/// the arguments that were read.
[[nodiscard]] auto operands(Evaluator& e, std::string_view name, Arguments& a, size_t low, size_t high, std::vector<Expr>& out, std::string_view names = {}) -> bool;

/// The parameters of a lambda as fresh variables of type `t`, and as the values for calling it. Null: an error was reported.
[[nodiscard]] auto lambda_vars(Evaluator& e, const Argument& a, std::vector<Var>& vars, std::vector<Value>& values, DataType t) -> const eval::Function*;
/// A list of variables. False: an error was reported.
[[nodiscard]] auto to_variables(Evaluator& e, const Argument& a, std::vector<Var>& out) -> bool;
/// A range of integers: an extent, `(begin, end)`, or a Python range. None: an error was reported.
[[nodiscard]] auto to_domain(Evaluator& e, const Argument& a) -> std::optional<Range>;

/// Warns of an older form, as TVM does. `modernise` (words.h) makes the edit, since it has the text.
void report_deprecated(Evaluator& e, Origin where, std::string old, std::string name);

}  // namespace loopsmith::frontend
