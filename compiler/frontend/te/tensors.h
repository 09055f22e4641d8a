// Operations of tensor expressions and the tensors that they compute, as values of scripts; and the programs that are made of them. Schedules of
// tensor expressions (compiler/script/te) are made of such a program.
//
// A tensor is an output of an operation. Reading it, `A[i, k]`, is a load from a buffer that stands for the tensor and that
// programs replace by their own. Operations are found by that buffer: each registers itself in a table of the thread for as long as it lives.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "frontend/functions/arguments.h"

namespace loopsmith::frontend::te {

class Operation final : public eval::Object {
 public:
  enum class Kind : uint8_t { Placeholder, Compute, Extern, Scan };
  static const eval::TypeTag type_tag;
  const Kind kind;
  const Name name;
  const std::vector<Buffer> outputs;
  const Origin where;
  std::vector<Ref<Operation>> inputs;                    // operations that it reads, in the order of first use
  // Compute
  std::vector<IterVar> axis, reduce_axis;
  std::vector<Expr> body;
  std::vector<std::pair<Name, Value>> attrs;
  std::string tag;                                       // any text, for the script
  bool is_hybrid = false;
  // Compute by a call of a tensor intrinsic: the intrinsic, and the axes outside of its tiles. None: the function makes elements.
  Value intrinsic;
  size_t outer_axes = 0, outer_reduce_axes = 0;
  // Extern: buffers that `statement` uses for inputs and outputs
  std::vector<std::pair<Buffer, Buffer>> in_buffers;     // the tensor's buffer, and the statement's
  std::vector<Buffer> out_buffers;
  std::vector<Buffer> allocated;                         // for the statement alone
  Stmt statement;
  // Scan
  std::vector<Ref<Operation>> init, update;
  std::vector<Buffer> state;
  uint32_t depth = 1;                                    // the length of the longest chain of operations that ends here

  Operation(Kind k, Name n, std::vector<Buffer> o, Origin at);
  ~Operation() override;
  Operation(const Operation&) = delete;
  auto operator=(const Operation&) -> Operation& = delete;

  auto get_attribute(Evaluator&, Name attribute, Origin) const -> std::optional<Value> override;
  void attribute_names(std::vector<Name>& out) const override {
    for (const char* n : {"name", "axis", "reduce_axis", "output", "num_outputs", "body", "input_tensors", "tag"}) { out.emplace_back(n); }
  }
  auto repr() const -> std::string override { return "<te operation " + name.str() + ">"; }
};

class TensorObject final : public eval::Object {
 public:
  static const eval::TypeTag type_tag;
  const Ref<Operation> op;
  const size_t index;
  TensorObject(Ref<Operation> o, size_t i) : Object(&type_tag), op(std::move(o)), index(i) {}
  [[nodiscard]] auto buffer() const -> const Buffer& { return op->outputs[index]; }
  auto is_callable() const -> bool override { return true; }
  auto call(Evaluator& e, const Arguments& a) const -> std::optional<Value> override { return load(e, a.all, a.call); }
  auto get_item(Evaluator& e, const std::vector<Argument>& indices, bool, Origin where) const -> std::optional<Value> override {
    return load(e, indices, where);
  }
  /// `A + B`, `A * 2`: an operation on each element, in the shape that both fit (operators.cpp).
  auto binary(Evaluator& e, syntax::BinaryOp op, const Argument& self, const Argument& other, bool reflected, Origin where) const -> std::optional<Value> override;
  auto get_attribute(Evaluator&, Name attribute, Origin) const -> std::optional<Value> override;
  void attribute_names(std::vector<Name>& out) const override {
    for (const char* n : {"shape", "dtype", "name", "op", "ndim", "value_index"}) { out.emplace_back(n); }
  }
  auto equals(const Object& other) const -> bool override {
    const auto* o = other.as<TensorObject>();
    return o && o->buffer() == buffer();
  }
  auto repr() const -> std::string override { return "<te tensor " + buffer()->name.str() + ">"; }
  auto load(Evaluator& e, std::vector<Argument> indices, Origin where) const -> Value;
};

/// `te.thread_axis("threadIdx.x")`: an index of threads that a loop is bound to.
class ThreadAxisObject final : public eval::Object {
 public:
  static const eval::TypeTag type_tag;
  const std::string tag_of_thread;
  const Value extent;   // None: not given
  const Var var;        // stands for the index in `s[B].set_store_predicate(tx.var.equal(0))`
  ThreadAxisObject(std::string t, Value e);
  auto get_attribute(Evaluator&, Name attribute, Origin) const -> std::optional<Value> override;
  void attribute_names(std::vector<Name>& out) const override { out.emplace_back("var"); }
  /// In expressions the object stands for its variable.
  auto binary(Evaluator& e, syntax::BinaryOp op, const Argument& self, const Argument& other, bool reflected, Origin where) const -> std::optional<Value> override;
  auto compare(Evaluator& e, syntax::CompareOp op, const Argument& self, const Argument& other, bool reflected, Origin where) const -> std::optional<Value> override;
  auto repr() const -> std::string override { return "<te thread axis " + tag_of_thread + ">"; }
};

/// An operation of a program, with the blocks that compute it: one, or one for each output. Without blocks: its loops cannot be scheduled.
struct MadeOperation {
  Ref<Operation> op;
  std::vector<Name> blocks;
};
/// `with te.tag_scope(tag="elemwise"):`.
class TagScope final : public eval::Object {
 public:
  static const eval::TypeTag type_tag;
  const std::string tag;
  explicit TagScope(std::string t) : Object(&type_tag), tag(std::move(t)) {}
  auto is_context() const -> bool override { return true; }
  auto repr() const -> std::string override { return "<tag scope " + tag + ">"; }
};
/// The tag of an operation: that of the call, or of the scope around it.
[[nodiscard]] auto tag_of(const Evaluator& e, const BoundArguments& b, size_t i) -> std::string;

/// The program of a schedule, `te.create_schedule(OPS)`.
struct ScheduledProgram {
  IRModule module;
  std::vector<MadeOperation> operations;   // producers first
  std::vector<Buffer> parameters;          // the tensors of the parameters, in their order
};
/// `te.decl_tensor_intrin(...)`: an instruction that the script describes by an operation, and makes by a function.
class DeclaredIntrinsic final : public eval::Object {
 public:
  static const eval::TypeTag type_tag;
  struct Parts {
    ScheduledProgram description;   // of the operation alone
    std::vector<Buffer> buffers;    // the parameters of the statements, in the order of the description's
    /// The tile as a whole; the start of a reduction, and a step of it. Null: `fcompute` does not give it.
    Stmt body, reset, update;
    bool has_name = false;          // from the script
    /// Not empty: these errors prevent its use.
    Diagnostics why_not;
  };
  const Name name;
  const Parts parts;
  DeclaredIntrinsic(Name n, Parts p) : Object(&type_tag), name(n), parts(std::move(p)) {}
  auto is_callable() const -> bool override { return true; }
  /// `intrin(A[i, 0:16], B[i, 0:16], reduce_axis=k)` in the function of `te.compute` (intrinsic_call.cpp).
  auto call(Evaluator& e, const Arguments& a) const -> std::optional<Value> override;
  auto repr() const -> std::string override { return "<tensor intrinsic " + name.str() + ">"; }
};
/// The program that computes tensors: its parameters are the placeholders, in the order in which they are found, then the outputs. None: reported.
[[nodiscard]] auto scheduled_program(Evaluator& e, const std::vector<Ref<Operation>>& outputs, Origin where) -> std::optional<ScheduledProgram>;

/// The operations that are alive on this thread, by the buffers of their outputs.
[[nodiscard]] auto operations() -> const std::unordered_map<const BufferNode*, const Operation*>&;
/// The tensors of an operation: one, or a tuple of them.
[[nodiscard]] auto tensors_of(const Ref<Operation>& op) -> Value;
/// Adds the operations that `exprs` read, in the order in which TVM finds them: operands before the expressions made of them.
void collect_inputs(const std::vector<Expr>& exprs, std::vector<Ref<Operation>>& out);
/// True when every expression is small enough for recursive walks. False: an error was reported.
[[nodiscard]] auto are_within_limits(Evaluator& e, const std::vector<Expr>& exprs, Origin where) -> bool;
/// Sets the depth of an operation from its inputs. False: the chain is too long; the error was reported.
[[nodiscard]] auto set_depth(Evaluator& e, Operation& op) -> bool;
/// A shape: integer extents. False: an error was reported.
[[nodiscard]] auto to_shape(Evaluator& e, const Argument& a, std::vector<Expr>& out) -> bool;
/// The diagnostic that `function` needs another number of `what`.
[[nodiscard]] auto wrong_count(std::string_view function, size_t expected, std::string_view what, size_t found, Origin where) -> Diagnostic;
/// The statement that a function of a script returns for `name`, for a call of `function`. Null: the function returns no statement, and the error was reported.
[[nodiscard]] auto to_statement(Evaluator& e, const Argument& returned, std::string_view function, Name name) -> Stmt;
/// The place of a function: the name in its definition, or the argument that passes it.
[[nodiscard]] auto place_of(const Argument& function) -> Origin;
/// A string argument, or `otherwise` if it is not given.
[[nodiscard]] auto text_of(const BoundArguments& b, size_t i, const char* otherwise) -> std::string;

// The functions of `te`, by file.
auto placeholder(Evaluator& e, const Arguments& a) -> Value;      // compute.cpp
auto variable(Evaluator& e, const Arguments& a) -> Value;
auto reduce_axis(Evaluator& e, const Arguments& a) -> Value;
auto compute(Evaluator& e, const Arguments& a) -> Value;
auto thread_axis(Evaluator& e, const Arguments& a) -> Value;
auto comm_reducer(Evaluator& e, const Arguments& a) -> Value;     // reducers.cpp
auto extern_op(Evaluator& e, const Arguments& a) -> Value;        // extern.cpp
auto scan(Evaluator& e, const Arguments& a) -> Value;
auto tag_scope(Evaluator& e, const Arguments& a) -> Value;
auto decl_tensor_intrin(Evaluator& e, const Arguments& a) -> Value;   // intrinsic.cpp
auto create_prim_func(Evaluator& e, const Arguments& a) -> Value; // program.cpp
/// The namespace `te.hybrid` (hybrid.cpp).
[[nodiscard]] auto namespace_hybrid() -> Value;

/// `te.sum`, `te.prod`, `te.min`, `te.max`, each with its name (reducers.cpp).
[[nodiscard]] auto named_reducers() -> std::vector<std::pair<const char*, Value>>;
/// The program with every index in 64 bits, for `index_dtype_override="int64"` (widen.cpp).
[[nodiscard]] auto with_wide_indices(const PrimFunc& func) -> PrimFunc;

}  // namespace loopsmith::frontend::te
