// Operators on expressions: they match types as TVM does (a scalar is broadcast against a vector, integers
// are promoted, an integer constant takes the other side's type), and fold constants. Precondition: the types of the
// operands can be matched; callers with operands from outside text check this with `match_types` first.
#pragma once

#include "ir/ir.h"

namespace loopsmith {

[[nodiscard]] auto int_imm(int64_t value, DataType dtype = DataType::int_(32), Origin origin = {}) -> Expr;
[[nodiscard]] auto float_imm(double value, DataType dtype = DataType::float_(32), Origin origin = {}) -> Expr;
[[nodiscard]] auto bool_imm(bool value, Origin origin = {}) -> Expr;
/// A constant of any scalar or (by broadcast) vector type.
[[nodiscard]] auto constant(DataType dtype, double value, Origin origin = {}) -> Expr;
[[nodiscard]] auto constant_int(DataType dtype, int64_t value, Origin origin = {}) -> Expr;
[[nodiscard]] inline auto zero(DataType dtype) -> Expr { return constant_int(dtype, 0); }
[[nodiscard]] inline auto one(DataType dtype) -> Expr { return constant_int(dtype, 1); }
[[nodiscard]] auto min_value(DataType dtype) -> Expr;
[[nodiscard]] auto max_value(DataType dtype) -> Expr;

/// The value of an integer constant, or of a broadcast of one.
[[nodiscard]] auto as_int(const Expr& expr) -> std::optional<int64_t>;
[[nodiscard]] inline auto is_int(const Expr& expr, int64_t value) -> bool { auto v = as_int(expr); return v && *v == value; }
[[nodiscard]] inline auto is_zero(const Expr& e) -> bool { return is_int(e, 0); }
[[nodiscard]] inline auto is_one(const Expr& e) -> bool { return is_int(e, 1); }

/// Converts both to one type, as TVM's BinaryOpMatchTypes does; false if that is impossible (handles, lanes).
[[nodiscard]] auto match_types(Expr& a, Expr& b) -> bool;

[[nodiscard]] auto cast(DataType dtype, Expr value, Origin origin = {}) -> Expr;   // folds constants; same type: the value
[[nodiscard]] auto add(Expr a, Expr b, Origin origin = {}) -> Expr;
[[nodiscard]] auto sub(Expr a, Expr b, Origin origin = {}) -> Expr;
[[nodiscard]] auto mul(Expr a, Expr b, Origin origin = {}) -> Expr;
[[nodiscard]] auto div(Expr a, Expr b, Origin origin = {}) -> Expr;        // truncating, or real
[[nodiscard]] auto truncmod(Expr a, Expr b, Origin origin = {}) -> Expr;
[[nodiscard]] auto floordiv(Expr a, Expr b, Origin origin = {}) -> Expr;
[[nodiscard]] auto floormod(Expr a, Expr b, Origin origin = {}) -> Expr;
[[nodiscard]] auto ceildiv(Expr a, Expr b, Origin origin = {}) -> Expr;
[[nodiscard]] auto min(Expr a, Expr b, Origin origin = {}) -> Expr;
[[nodiscard]] auto max(Expr a, Expr b, Origin origin = {}) -> Expr;
[[nodiscard]] auto equal(Expr a, Expr b, Origin origin = {}) -> Expr;
[[nodiscard]] auto not_equal(Expr a, Expr b, Origin origin = {}) -> Expr;
[[nodiscard]] auto less(Expr a, Expr b, Origin origin = {}) -> Expr;
[[nodiscard]] auto less_equal(Expr a, Expr b, Origin origin = {}) -> Expr;
[[nodiscard]] auto greater(Expr a, Expr b, Origin origin = {}) -> Expr;
[[nodiscard]] auto greater_equal(Expr a, Expr b, Origin origin = {}) -> Expr;
[[nodiscard]] auto logical_and(Expr a, Expr b, Origin origin = {}) -> Expr;
[[nodiscard]] auto logical_or(Expr a, Expr b, Origin origin = {}) -> Expr;
[[nodiscard]] auto logical_not(Expr a, Origin origin = {}) -> Expr;
[[nodiscard]] auto select(Expr condition, Expr t, Expr f, Origin origin = {}) -> Expr;
/// Evaluates only the chosen value.
[[nodiscard]] auto if_then_else(Expr condition, Expr t, Expr f, Origin origin = {}) -> Expr;

inline auto operator+(Expr a, Expr b) -> Expr { return add(std::move(a), std::move(b)); }
inline auto operator-(Expr a, Expr b) -> Expr { return sub(std::move(a), std::move(b)); }
inline auto operator*(Expr a, Expr b) -> Expr { return mul(std::move(a), std::move(b)); }

/// Makes one statement: flattens nested sequences and drops `Evaluate(0)`. No statement gives Evaluate(0); one statement is returned as it is.
[[nodiscard]] auto seq(std::vector<Stmt> stmts, Origin origin = {}) -> Stmt;
[[nodiscard]] auto no_op() -> Stmt;
[[nodiscard]] auto is_no_op(const Stmt& stmt) -> bool;

/// A range of one element.
[[nodiscard]] auto point(Expr index) -> Range;
/// [0, extent)
[[nodiscard]] auto from_zero(Expr extent) -> Range;
[[nodiscard]] auto full_region(const Buffer& buffer) -> BufferRegion;

}  // namespace loopsmith
