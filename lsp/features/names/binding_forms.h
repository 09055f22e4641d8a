// Forms that bind names: the kind of entity that a statement of a program binds, derived from its words.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "lsp/features/names.h"
#include "syntax/ast.h"

namespace loopsmith::lsp {

/// The last word of a dotted name, or of the called function; empty: another expression.
[[nodiscard]] auto last_name(const syntax::Expr* expr) -> std::string_view;
[[nodiscard]] auto has_decorator(const syntax::List<syntax::ExprPtr>& decorators, std::initializer_list<std::string_view> names) -> bool;
/// True for a function whose body is TIR: names in it are bound by statement lists.
[[nodiscard]] auto is_program(const syntax::FunctionDef& def) -> bool;
/// The string argument with a keyword in a call; null: none.
[[nodiscard]] auto string_keyword(const syntax::CallExpr& call, std::string_view name) -> const syntax::StringExpr*;
[[nodiscard]] auto trait(Trait t) -> uint16_t;
/// The kind and traits of a name in a program that is assigned this value.
[[nodiscard]] auto kind_bound_by(const syntax::Expr* value) -> std::pair<EntityKind, uint16_t>;
/// The traits of a loop over this iterable.
[[nodiscard]] auto loop_traits(const syntax::Expr* iterable) -> uint16_t;

}  // namespace loopsmith::lsp
