// The calls in a file, found by their text: tasks of AutoTVM and of the auto-scheduler are made by statements that nothing runs here.
#pragma once

#include <functional>
#include <string_view>

#include "eval/value.h"
#include "frontend/file.h"
#include "syntax/ast.h"

namespace loopsmith::script {

/// Calls `f` for every call in the file, in the order of the text, until it returns true.
void each_call(frontend::File& file, const std::function<bool(const syntax::CallExpr&)>& f);
/// The last name of an expression: `create` of `autotvm.task.create`; empty: it has none.
[[nodiscard]] auto last_name(const syntax::Expr& e) -> Name;
/// An argument by its place or by its keyword; null: it is not given.
[[nodiscard]] auto written_argument(const syntax::CallExpr& call, size_t place, std::string_view keyword) -> const syntax::Expr*;
/// The value of an expression with the names at the end of the file; its errors are not reported.
[[nodiscard]] auto value_in_file(frontend::File& file, const syntax::Expr& e) -> eval::Value;

}  // namespace loopsmith::script
