// Programs for Python code that inspects them, as libraries of schedules do: statements and expressions with the attributes that they have in
// TVM, classes for `isinstance`, operators, facts of a target.
#pragma once

#include "frontend/objects.h"

namespace loopsmith::frontend {

/// An attribute of a statement or an expression as in TVM: `store.value`, `loop.extent`, `call.op`. None: it has no such attribute.
[[nodiscard]] auto member_of(const Stmt& stmt, Name name) -> std::optional<Value>;
[[nodiscard]] auto member_of(const Expr& expr, Name name) -> std::optional<Value>;
void member_names(const Stmt& stmt, std::vector<Name>& out);
void member_names(const Expr& expr, std::vector<Name>& out);

/// The name of an operator, `tvm.ir.Op.get("tir.exp")`; empty: the value is not an operator.
[[nodiscard]] auto operator_name(const Value& value) -> std::string;

/// The classes of an object for `isinstance`, its own class first: the value of `__class__`.
[[nodiscard]] auto classes(std::initializer_list<const char*> names) -> Value;

/// A property of a target from its text: `kind.name`, `max_num_threads`, `attrs`, `arch`. Opaque if it depends on the machine.
[[nodiscard]] auto target_member(const Attr& target, Name name) -> std::optional<Value>;

/// Adds the classes of Python's `tvm.tir` that code names without calling them, such as `tir.BufferStore` and `tir.ForKind`, if `tir` has no such
/// name; and `tir.IterVar` with its constants: a call of it runs `make_iter_var`.
void add_classes(eval::Namespace& tir, eval::Builtin::Run make_iter_var);
/// `tvm.ir`: `Op.get("tir.exp")`; its other members are not evaluated.
[[nodiscard]] auto namespace_ir_of_python() -> Value;
/// The class `Target`: a call of it runs `make`; `Target.current()` is the target of the `with` around.
[[nodiscard]] auto target_class(eval::Builtin::Run make) -> Value;

}  // namespace loopsmith::frontend
