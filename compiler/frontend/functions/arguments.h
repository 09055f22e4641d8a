// Shared by the functions of `T`: arguments read as expressions, types and variables, with reports of those that do not fit.
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
/// The value of an expression; an error value where `e` is null, which has been reported.
[[nodiscard]] auto expr_or_error(Expr e) -> Value;
/// The data type of a buffer's elements: any but `void`. None: reported.
[[nodiscard]] auto to_element_dtype(Evaluator& e, const Argument& a) -> std::optional<DataType>;
/// An integer scalar: an extent or a bound of a loop. Null: reported.
[[nodiscard]] auto to_integer(Evaluator& e, const Argument& a) -> Expr;

/// The builder of the program around the call of the function `what`; null: the call is outside of a program, which is reported.
[[nodiscard]] auto need_program(Evaluator& e, const Arguments& a, std::string_view what) -> Lowerer*;
/// The block directly around the call of the function `what`; null: none, which is reported.
[[nodiscard]] auto need_block(Evaluator& e, const Arguments& a, std::string_view what) -> BlockSpec*;

/// The result of a call whose arguments could not be bound: unknown where an argument is unknown, otherwise an error.
[[nodiscard]] auto not_bound(const BoundArguments& b) -> Value;
/// True when parameter `i` was given a value other than `None`.
[[nodiscard]] auto is_given(const BoundArguments& b, size_t i) -> bool;

/// The type of a call given by keyword: `dtype`, or `ty` in TVM's main line. Null: it is not given.
[[nodiscard]] auto named_type(const Arguments& a) -> const Argument*;
/// The arguments without the type that older texts give operators by keyword, `T.exp(x, dtype="float32")`. TVM ignores it too.
[[nodiscard]] auto without_dtype(const Arguments& a) -> Arguments;
/// Puts keyword arguments in the place of their parameters. `names`: the parameters, separated by spaces. False: reported.
[[nodiscard]] auto place_named(Evaluator& e, std::string_view callee, std::string_view names, Arguments& a) -> bool;
/// All arguments as expressions, in the order of their parameters, between `low` and `high` of them. False: reported. Leaves in `a`
/// the arguments that were read.
[[nodiscard]] auto operands(Evaluator& e, std::string_view name, Arguments& a, size_t low, size_t high, std::vector<Expr>& out, std::string_view names = {}) -> bool;

/// The parameters of a lambda as fresh variables of type `t`, and as the values to call it with. Null: reported.
[[nodiscard]] auto lambda_vars(Evaluator& e, const Argument& a, std::vector<Var>& vars, std::vector<Value>& values, DataType t) -> const eval::Function*;
/// A list of variables. False: reported.
[[nodiscard]] auto to_variables(Evaluator& e, const Argument& a, std::vector<Var>& out) -> bool;
/// A range of integers: an extent, `(begin, end)`, or a Python range. None: reported.
[[nodiscard]] auto to_domain(Evaluator& e, const Argument& a) -> std::optional<Range>;

/// Warns of an older form that TVM warns of too. The edit is made where the text is known: `modernise` in words.h.
void report_deprecated(Evaluator& e, Origin where, std::string old, std::string name);

}  // namespace loopsmith::frontend
