// The values of programs for the evaluator: expressions, buffers, regions, types, loops and blocks that are about to be entered, programs.
// Private to the frontend and to script, whose scripts use programs as values.
#pragma once

#include <memory>
#include <string>

#include "eval/evaluator.h"
#include "eval/value.h"
#include "frontend/lower.h"
#include "ir/ir.h"

namespace loopsmith::frontend {

using eval::Argument;
using eval::Arguments;
using eval::Evaluator;
using eval::Value;

class ExprObject final : public eval::Object {
 public:
  static const eval::TypeTag type_tag;
  const Expr expr;
  /// The buffer of a parameter that passes a tensor, which is its type in TVM's main line. Otherwise null.
  const Buffer tensor;
  explicit ExprObject(Expr e, Buffer t = {}) : Object(&type_tag), expr(std::move(e)), tensor(std::move(t)) {}
  auto get_attribute(Evaluator&, Name name, Origin where) const -> std::optional<Value> override;
  void attribute_names(std::vector<Name>& out) const override;
  auto binary(Evaluator&, syntax::BinaryOp op, const Argument& self, const Argument& other, bool reflected, Origin where) const
      -> std::optional<Value> override;
  auto compare(Evaluator&, syntax::CompareOp op, const Argument& self, const Argument& other, bool reflected, Origin where) const
      -> std::optional<Value> override;
  auto unary(Evaluator&, syntax::UnaryOp op, Origin where) const -> std::optional<Value> override;
  auto logical(Evaluator&, bool is_and, const Argument& left, const Argument& right, Origin where) const -> std::optional<Value> override;
  auto choose(Evaluator&, const Argument& self, const Argument& then, const Argument& otherwise, Origin where) const -> std::optional<Value> override;
  auto get_item(Evaluator&, const std::vector<Argument>&, bool is_tuple, Origin where) const -> std::optional<Value> override;
  auto truth() const -> std::optional<bool> override { return {}; }
  auto type_name() const -> std::string_view override;
  auto repr() const -> std::string override;
  auto equals(const Object& other) const -> bool override;
  auto hash() const -> uint64_t override { return reinterpret_cast<uintptr_t>(expr.get()); }

 private:
  mutable std::string described_;
};

class BufferObject final : public eval::Object {
 public:
  static const eval::TypeTag type_tag;
  const Buffer buffer;
  explicit BufferObject(Buffer b) : Object(&type_tag), buffer(std::move(b)) {}
  auto get_attribute(Evaluator&, Name name, Origin where) const -> std::optional<Value> override;
  void attribute_names(std::vector<Name>& out) const override;
  auto get_item(Evaluator&, const std::vector<Argument>&, bool is_tuple, Origin where) const -> std::optional<Value> override;
  auto set_item(Evaluator&, const std::vector<Argument>&, bool is_tuple, const Argument& value, Origin where) const -> bool override;
  auto call(Evaluator&, const Arguments&) const -> std::optional<Value> override;
  auto binary(Evaluator&, syntax::BinaryOp op, const Argument& self, const Argument& other, bool reflected, Origin where) const -> std::optional<Value> override;
  auto type_name() const -> std::string_view override;
  auto repr() const -> std::string override;
  auto equals(const Object& other) const -> bool override;

 private:
  mutable std::string described_;
};

/// `A[0:4, i]`: a region until a value is needed.
class RegionObject final : public eval::Object {
 public:
  static const eval::TypeTag type_tag;
  const BufferRegion region;
  explicit RegionObject(BufferRegion r) : Object(&type_tag), region(std::move(r)) {}
  auto get_attribute(Evaluator&, Name name, Origin where) const -> std::optional<Value> override;
  auto binary(Evaluator&, syntax::BinaryOp op, const Argument& self, const Argument& other, bool reflected, Origin where) const
      -> std::optional<Value> override;
  auto compare(Evaluator&, syntax::CompareOp op, const Argument& self, const Argument& other, bool reflected, Origin where) const
      -> std::optional<Value> override;
  auto unary(Evaluator&, syntax::UnaryOp op, Origin where) const -> std::optional<Value> override;
  auto truth() const -> std::optional<bool> override { return {}; }
  auto repr() const -> std::string override;
};

/// The range of an index or iter var: `region.region[0].extent`, `iter.dom.min`.
class DomainObject final : public eval::Object {
 public:
  static const eval::TypeTag type_tag;
  const Range range;
  explicit DomainObject(Range r) : Object(&type_tag), range(std::move(r)) {}
  auto get_attribute(Evaluator&, Name name, Origin where) const -> std::optional<Value> override;
  void attribute_names(std::vector<Name>& out) const override;
  auto repr() const -> std::string override;
};

/// `T.float32`: as an annotation, a cast, or a variable when called without arguments.
class DtypeObject final : public eval::Object {
 public:
  static const eval::TypeTag type_tag;
  const DataType dtype;
  /// `x: T.int32` makes a variable that can be assigned to, as in TVM's main line.
  const bool declares_cell;
  /// The name of an older form, `Ptr`: calling or indexing it reports the form that replaces it.
  const std::string_view older;
  explicit DtypeObject(DataType t, bool cell = false, std::string_view older = {}) : Object(&type_tag), dtype(t), declares_cell(cell), older(older) {}
  auto is_callable() const -> bool override { return true; }
  auto call(Evaluator&, const Arguments&) const -> std::optional<Value> override;
  auto get_item(Evaluator&, const std::vector<Argument>&, bool is_tuple, Origin where) const -> std::optional<Value> override;
  auto get_attribute(Evaluator&, Name name, Origin where) const -> std::optional<Value> override;
  void attribute_names(std::vector<Name>& out) const override { out.push_back(Name("dtype")); }
  auto equals(const Object& other) const -> bool override;
  auto repr() const -> std::string override { return "T." + dtype.str(); }
};

/// `T.Buffer`: called or indexed, it declares a buffer.
class BufferTypeObject final : public eval::Object {
 public:
  static const eval::TypeTag type_tag;
  BufferTypeObject() : Object(&type_tag) {}
  auto is_callable() const -> bool override { return true; }
  auto call(Evaluator&, const Arguments&) const -> std::optional<Value> override;
  auto get_item(Evaluator&, const std::vector<Argument>&, bool is_tuple, Origin where) const -> std::optional<Value> override;
  auto get_attribute(Evaluator&, Name name, Origin where) const -> std::optional<Value> override;
  auto repr() const -> std::string override { return "T.Buffer"; }
};

struct LoopSpec {
  Var var;                       // nameless until bound
  Expr min, extent;
  ForKind kind = ForKind::Serial;
  std::optional<IterVar> thread;
  AttrMap annotations;
  Expr start, step;              // for a loop with a step, the variable in the text is start + var * step; otherwise null
  /// The value of the loop variable's name in the body.
  [[nodiscard]] auto value() const -> Expr;
};

enum class FrameKind : uint8_t {
  Function, Loop, Block, Init, If, Then, Else, While, Let, Attr, Assert, Allocate, AllocateConst, DeclBuffer, Realize, Thread, Scope,
};

struct BlockSpec {
  Name name;
  std::vector<IterVar> iter_vars;
  std::vector<Expr> iter_values;
  std::optional<std::vector<BufferRegion>> reads, writes;
  Expr predicate;
  Stmt init;
  std::vector<Buffer> alloc_buffers;
  std::vector<MatchBufferRegion> match_buffers;
  AttrMap annotations;
  bool no_realize = false;
  bool binds_by_name = false;    // `with T.block([16]) as [vi]`: `T.bind` gives the values, or loops are made
};

/// A statement with a body that is being built: the statements so far, and the fields of the statement around them. The kind determines which
/// fields are used.
struct BuildFrame {
  FrameKind kind = FrameKind::Scope;
  Origin origin;
  std::vector<Stmt> stmts;
  std::vector<LoopSpec> loops;           // Loop
  std::shared_ptr<BlockSpec> block;      // Block; of one frame only
  Expr a, b;                             // condition; value; message
  Var var;                               // Let, Allocate, AllocateConst
  Buffer buffer;                         // DeclBuffer, Realize
  bool owns_memory = false;              // DeclBuffer: also allocates the memory
  Array<Expr> extents;
  DataType dtype;
  std::string text;                      // bytes of AllocateConst, scope of Realize
  Array<Range> bounds;                   // Realize
  Name key;                              // Attr
  AttrStmt::Subject subject;             // Attr
  AttrMap annotations;
  IterVar thread;                        // Thread
  Stmt then_case, else_case;             // If
};

/// A loop, block or statement with a body that is not entered yet: `with` or `for` enters it, or it extends to the end of the body around it.
class FrameObject final : public eval::Object {
 public:
  static const eval::TypeTag type_tag;
  mutable BuildFrame frame;
  mutable bool entered = false;
  const std::string_view what;     // "T.block", for messages
  FrameObject(BuildFrame f, std::string_view w) : Object(&type_tag), frame(std::move(f)), what(w) {}
  auto type_name() const -> std::string_view override { return what; }
};

/// A value to which an assignment gives a name without making a variable of the program: `T.meta_var(x)`.
class MetaObject final : public eval::Object {
 public:
  static const eval::TypeTag type_tag;
  const Value value;
  explicit MetaObject(Value v) : Object(&type_tag), value(std::move(v)) {}
  // -- same operations as the value
  auto get_attribute(Evaluator&, Name name, Origin where) const -> std::optional<Value> override;
  auto get_item(Evaluator&, const std::vector<Argument>&, bool is_tuple, Origin where) const -> std::optional<Value> override;
  auto iterate(Evaluator&, Origin where) const -> std::optional<std::vector<Value>> override;
  auto binary(Evaluator&, syntax::BinaryOp op, const Argument& self, const Argument& other, bool reflected, Origin where) const
      -> std::optional<Value> override;
  auto compare(Evaluator&, syntax::CompareOp op, const Argument& self, const Argument& other, bool reflected, Origin where) const
      -> std::optional<Value> override;
  auto unary(Evaluator&, syntax::UnaryOp op, Origin where) const -> std::optional<Value> override;
};

/// A statement as a value: the result of `A.vstore(...)`, and of `sch.get(i)`, which returns the loop or block of a schedule's variable.
/// introspection.h has its attributes.
class StmtObject final : public eval::Object {
 public:
  static const eval::TypeTag type_tag;
  const Stmt stmt;
  explicit StmtObject(Stmt s) : Object(&type_tag), stmt(std::move(s)) {}
  auto get_attribute(Evaluator&, Name name, Origin where) const -> std::optional<Value> override;
  void attribute_names(std::vector<Name>& out) const override;
  auto type_name() const -> std::string_view override;
  auto repr() const -> std::string override;
  /// Compares identity, as TVM does.
  auto equals(const Object& other) const -> bool override;
  auto hash() const -> uint64_t override;
};

/// The value of an attribute that is not an expression: an index map, a target.
class AttrObject final : public eval::Object {
 public:
  static const eval::TypeTag type_tag;
  const Attr attr;
  explicit AttrObject(Attr a) : Object(&type_tag), attr(std::move(a)) {}
  /// `with T.target("llvm"):`
  auto is_context() const -> bool override;
  /// Facts of a target (introspection.h).
  auto get_attribute(Evaluator&, Name name, Origin where) const -> std::optional<Value> override;
  auto repr() const -> std::string override;
};

/// `IndexMap.AXIS_SEPARATOR`, used between the results of an index map's function.
class AxisSeparatorObject final : public eval::Object {
 public:
  static const eval::TypeTag type_tag;
  AxisSeparatorObject() : Object(&type_tag) {}
  auto repr() const -> std::string override { return "IndexMap.AXIS_SEPARATOR"; }
};

class ReducerObject final : public eval::Object {
 public:
  static const eval::TypeTag type_tag;
  const CommReducer reducer;
  explicit ReducerObject(CommReducer r) : Object(&type_tag), reducer(std::move(r)) {}
};

class IterVarObject final : public eval::Object {
 public:
  static const eval::TypeTag type_tag;
  const IterVar iter;
  explicit IterVarObject(IterVar i) : Object(&type_tag), iter(std::move(i)) {}
  auto get_attribute(Evaluator&, Name name, Origin where) const -> std::optional<Value> override;
  void attribute_names(std::vector<Name>& out) const override;
  auto repr() const -> std::string override { return iter.var->name.str(); }
  // -- same operations as the variable
  auto binary(Evaluator&, syntax::BinaryOp op, const Argument& self, const Argument& other, bool reflected, Origin where) const
      -> std::optional<Value> override;
  auto compare(Evaluator&, syntax::CompareOp op, const Argument& self, const Argument& other, bool reflected, Origin where) const
      -> std::optional<Value> override;
  auto unary(Evaluator&, syntax::UnaryOp op, Origin where) const -> std::optional<Value> override;
};

/// A function of the module: `Module.f`, `cls.f`.
class GlobalObject final : public eval::Object {
 public:
  static const eval::TypeTag type_tag;
  const Name name;
  const DataType returns;
  GlobalObject(Name n, DataType r) : Object(&type_tag), name(n), returns(r) {}
  auto is_callable() const -> bool override { return true; }
  auto call(Evaluator&, const Arguments&) const -> std::optional<Value> override;
};

/// `@T.macro`: a function whose body replaces its call.
class MacroObject final : public eval::Object {
 public:
  static const eval::TypeTag type_tag;
  const Ref<eval::Function> function;
  const bool hygienic;
  MacroObject(Ref<eval::Function> f, bool h) : Object(&type_tag), function(std::move(f)), hygienic(h) {}
  auto is_callable() const -> bool override { return true; }
  auto call(Evaluator&, const Arguments&) const -> std::optional<Value> override;
};

/// A program: the result of `@T.prim_func` and `@I.ir_module`.
class ProgramObject final : public eval::Object {
 public:
  static const eval::TypeTag type_tag;
  const IRModule module;
  const Name name;            // of the declaration
  const bool is_function;     // a bare function: its module has one function, `main`
  const Origin where;         // of the declaration's name
  const std::vector<Name> foreign;   // functions of other languages in the text; their values are unknown
  const Ref<eval::Object> task;      // The task whose computation the program is; the program has its members. Null: no task.
  ProgramObject(IRModule m, Name n, bool f, Origin o, std::vector<Name> others = {}, Ref<eval::Object> t = nullptr)
      : Object(&type_tag), module(std::move(m)), name(n), is_function(f), where(o), foreign(std::move(others)), task(std::move(t)) {}
  auto get_attribute(Evaluator&, Name name, Origin where) const -> std::optional<Value> override;
  void attribute_names(std::vector<Name>& out) const override;
  auto get_item(Evaluator&, const std::vector<Argument>&, bool is_tuple, Origin where) const -> std::optional<Value> override;
  /// The value as script.
  [[nodiscard]] auto text() const -> std::string;
  auto repr() const -> std::string override;
  /// `print(program)` prints the script, as TVM does.
  auto to_str() const -> std::string override { return module ? text() : repr(); }
};

/// `dtype = tvm.testing.parameter("float32", "float16")`: a parameter of tests. Programs in tests are read with its first value.
class FixtureObject final : public eval::Object {
 public:
  static const eval::TypeTag type_tag;
  const Value first;
  explicit FixtureObject(Value v) : Object(&type_tag), first(std::move(v)) {}
  auto repr() const -> std::string override { return "a parameter of tests"; }
};

/// The value for an expression; integer constants of type int32 become integers of the script.
[[nodiscard]] auto expr_value(Expr expr) -> Value;
/// A value as an expression; null: it is unknown, or no expression, which is reported.
[[nodiscard]] auto to_expr(Evaluator& evaluator, const Argument& argument) -> Expr;
/// True when the type can represent the value. False: an error was reported.
[[nodiscard]] auto fits(Evaluator& evaluator, int64_t value, DataType type, Origin where) -> bool;
/// Like `to_expr`, but a number gets the type `like`, that of the other operand or of the buffer ("A[i] < 1").
[[nodiscard]] auto to_expr_like(Evaluator& evaluator, const Argument& argument, DataType like) -> Expr;
[[nodiscard]] auto to_dtype(Evaluator& evaluator, const Argument& argument) -> std::optional<DataType>;
/// The value of an attribute as a value of scripts.
[[nodiscard]] auto from_attr(const Attr& attr) -> Value;
[[nodiscard]] auto from_attrs(const AttrMap& attrs) -> Value;
[[nodiscard]] auto to_attr(Evaluator& evaluator, const Argument& argument) -> std::optional<Attr>;
/// A dict of attributes.
[[nodiscard]] auto to_attrs(Evaluator& evaluator, const Argument& argument) -> std::optional<AttrMap>;
/// One expression or a list of them.
[[nodiscard]] auto to_exprs(Evaluator& evaluator, const Argument& argument, std::vector<Expr>& out) -> bool;
/// The indices of a load or store; slices with constant sizes become ramps. False: an error was reported, or an index is unknown.
[[nodiscard]] auto to_indices(Evaluator& evaluator, const Buffer& buffer, const std::vector<Argument>& indices, Origin where, std::vector<Expr>& out) -> bool;
[[nodiscard]] auto to_region(Evaluator& evaluator, const Argument& argument) -> std::optional<BufferRegion>;
/// The load of a region: one element, or a vector.
[[nodiscard]] auto region_load(Evaluator& evaluator, const BufferRegion& region, Origin where) -> Expr;
/// `stop - start`, simplified: `start + n` gives `n`.
[[nodiscard]] auto difference(const Expr& stop, const Expr& start) -> Expr;

/// The result for an attribute that an object does not have. None (an error) in TVM 0.19. In programs of TVM's main line, which adds attributes, opaque
/// unless the name is nearly a known one.
[[nodiscard]] auto unknown_attribute(Evaluator& evaluator, Name name, const eval::Object& object) -> std::optional<Value>;

/// Converts two operands to one type; false: an error was reported.
[[nodiscard]] auto match_operands(Evaluator& evaluator, std::string_view op, Expr& a, Origin a_at, Expr& b, Origin b_at, Origin where) -> bool;
[[nodiscard]] auto make_binary(Evaluator& evaluator, syntax::BinaryOp op, Expr a, Origin a_at, Expr b, Origin b_at, Origin where) -> Expr;

/// The options of `T.prim_func`, called or not; none for other values.
[[nodiscard]] auto prim_func_options(const Value& decorator) -> std::optional<FunctionOptions>;
/// True for `T.let`, as in `x: T.let = value`.
[[nodiscard]] auto is_let_annotation(const Value& annotation) -> bool;
[[nodiscard]] auto is_module_decorator(const Value& decorator) -> bool;
/// False for `I.ir_module(check_well_formed=False)`, which applies to the module's functions too.
[[nodiscard]] auto checks_module(const Value& decorator) -> bool;

/// The namespaces of every file: T, I, tir. Each thread has its own.
[[nodiscard]] auto namespace_t() -> const Value&;
[[nodiscard]] auto namespace_i() -> const Value&;
/// `T` of `from tvm.script import tirx as T`, TVM's main line.
[[nodiscard]] auto namespace_tirx() -> const Value&;
/// `Ts` of `from tvm.script import s_tir as Ts`, since September 2026.
[[nodiscard]] auto namespace_s_tir() -> const Value&;
/// The value that `from tvm.script import tir as T` binds to a name; null: it is unknown.
[[nodiscard]] auto imported(const syntax::ImportFromStmt& from, const syntax::ImportName& what) -> const Value*;
/// Tensor expressions, `te` (te.cpp). Its functions of scalars are those of `tir`.
[[nodiscard]] auto te_namespace(const Value& tir) -> Value;

}  // namespace loopsmith::frontend
