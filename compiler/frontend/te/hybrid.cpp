// `te.hybrid.script`: a tensor operation as a function with loops. A call of the function with tensors lowers its body like that of a program, in which
// `output_tensor` and `allocate` make buffers, and gives the tensors that it returns.
//
// The statements become one block. Its loops have the kinds that the function gives them (`parallel`, `vectorize`, `unroll`, `bind`).
#include <algorithm>

#include "frontend/lowerer.h"
#include "frontend/te/hybrid_nest.h"
#include "frontend/te/tensors.h"
#include "ir/ops.h"
#include "support/codes.h"
#include "support/guards.h"
#include "syntax/ast.h"

namespace loopsmith::frontend::te {
namespace {

using syntax::Kind;

// The outputs of the call that is being lowered; null: no hybrid function is.
thread_local std::vector<Buffer>* outputs_of_call = nullptr;

auto need_call(Evaluator& e, const Arguments& a, const char* name) -> Lowerer* {
  Lowerer* lowerer = outputs_of_call ? Lowerer::of(e) : nullptr;
  if (!lowerer) { e.report(error(Code::OutsideProgram, a.call).arg("what", std::string("`") + name + "`")); }
  return lowerer;
}

// The buffer that `output_tensor` or `allocate` makes; null: an error was reported.
auto make_local(Evaluator& e, const Arguments& a, const char* name) -> Buffer {
  static const std::vector<Parameter> parameters = {{"shape"}, {"dtype", false}, {"scope", false}};
  BoundArguments b;
  std::vector<Expr> shape;
  if (!bind_arguments(e, name, a, parameters, b) || !to_shape(e, b.values[0], shape)) { return {}; }
  DataType type = DataType::float_(32);
  if (is_given(b, 1)) {
    auto given = to_dtype(e, b.values[1]);
    if (!given) { return {}; }
    type = *given;
  }
  // The assignment gives the buffer its name.
  return make_buffer(Name(), type, std::move(shape), text_of(b, 2, "global"), a.call);
}

auto output_tensor(Evaluator& e, const Arguments& a) -> Value {
  if (!need_call(e, a, "output_tensor")) { return Value::error(); }
  Buffer made = make_local(e, a, "output_tensor");
  if (!made) { return Value::error(); }
  outputs_of_call->push_back(made);
  return make_object<BufferObject>(made);
}

auto allocate(Evaluator& e, const Arguments& a) -> Value {
  Lowerer* lowerer = need_call(e, a, "allocate");
  Buffer made = lowerer ? make_local(e, a, "allocate") : Buffer();
  if (!made) { return Value::error(); }
  lowerer->add_alloc(made);
  return make_object<BufferObject>(made);
}

// A function of `T`.
auto function_of(const char* name) -> Value {
  const auto* space = namespace_t().as<eval::Namespace>();
  const Value* found = space ? space->find(Name(name)) : nullptr;
  return found ? *found : Value::opaque();
}

// Makes a loop over threads: `bind("threadIdx.x", n)`.
auto bind_threads(Evaluator& e, const Arguments& a) -> Value {
  static const std::vector<Parameter> parameters = {{"tag"}, {"extent"}};
  static const Name thread("thread");
  BoundArguments b;
  if (!bind_arguments(e, "bind", a, parameters, b)) { return not_bound(b); }
  Arguments moved = a;
  moved.all = {b.values[1], b.values[0]};
  moved.all[0].keyword = {};
  moved.all[1].keyword = thread;
  moved.positional = 1;
  return e.call({function_of("thread_binding"), a.callee, {}}, moved);
}

// Adds the names that a hybrid function knows.
void add_names(const eval::ScopeRef& scope) {
  scope->set(Name("output_tensor"), make_object<eval::Builtin>(Name("output_tensor"), output_tensor));
  scope->set(Name("allocate"), make_object<eval::Builtin>(Name("allocate"), allocate));
  scope->set(Name("bind"), make_object<eval::Builtin>(Name("bind"), bind_threads));
  static constexpr std::pair<const char*, const char*> renamed[] = {{"serial", "serial"}, {"parallel", "parallel"}, {"vectorize", "vectorized"}, {"unroll", "unroll"}, {"const_range", "unroll"}};
  for (const auto& [own, of_t] : renamed) { scope->set(Name(own), function_of(of_t)); }
  for (const char* name : {"exp", "log", "tanh", "sigmoid", "sqrt", "rsqrt", "power", "popcount", "round", "floor", "ceil", "erf", "cos", "sin", "likely", "max", "min", "float16", "float32", "float64",
                           "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool"}) {
    scope->set(Name(name), function_of(name));
  }
}

// The first statement that a hybrid function cannot have, in words; empty: none.
struct Unfit { std::string what; Origin where; };
auto unfit_in(const syntax::Block& body, bool is_function) -> std::optional<Unfit> {
  for (size_t i = 0; i < body.size(); ++i) {
    const syntax::Stmt& stmt = *body[static_cast<uint32_t>(i)];
    std::optional<Unfit> below;
    switch (stmt.kind) {
      case Kind::Assign: case Kind::AugAssign: case Kind::AnnAssign: case Kind::ExprStmt: case Kind::Pass: case Kind::Assert: break;
      case Kind::For: below = unfit_in(static_cast<const syntax::ForStmt&>(stmt).body, false); break;
      case Kind::If: {
        const auto& branch = static_cast<const syntax::IfStmt&>(stmt);
        below = unfit_in(branch.then, false);
        if (!below) { below = unfit_in(branch.otherwise, false); }
        break;
      }
      case Kind::Return:
        if (!is_function || i + 1 != body.size()) { return Unfit{"a `return` before its last statement", stmt.origin()}; }
        break;
      case Kind::While: return Unfit{"a `while` loop", stmt.origin()};
      case Kind::With: return Unfit{"a `with` statement", stmt.origin()};
      case Kind::FunctionDef: case Kind::ClassDef: return Unfit{"a definition", stmt.origin()};
      default: return Unfit{"this statement", stmt.origin()};
    }
    if (below) { return below; }
  }
  return std::nullopt;
}

class HybridFunction final : public eval::Object {
 public:
  static const eval::TypeTag type_tag;
  const Ref<eval::Function> function;
  explicit HybridFunction(Ref<eval::Function> f) : Object(&type_tag), function(std::move(f)) {}
  auto is_callable() const -> bool override { return true; }
  auto call(Evaluator& e, const Arguments& a) const -> std::optional<Value> override;
  auto repr() const -> std::string override { return "<hybrid function " + function->name().str() + ">"; }

 private:
  // Binds the parameters as names of the body. False: an argument does not fit, and the error was reported.
  auto bind_parameters(Evaluator& e, const Arguments& a, const eval::ScopeRef& scope, std::vector<std::pair<Ref<TensorObject>, Buffer>>& inputs) const -> bool;
  auto lower(Evaluator& e, const eval::ScopeRef& scope, std::vector<Buffer>& outputs) const -> PrimFunc;
  // The operation of a function whose loops a schedule may change.
  auto computed(Evaluator& e, const Arguments& a, const HybridNest& nest, const Buffer& output) const -> Value;
  // The outputs in the order of the `return`. Empty: the `return` names other tensors, and the error was reported.
  auto returned(Evaluator& e, const std::vector<Buffer>& outputs) const -> std::vector<Buffer>;
};
const eval::TypeTag HybridFunction::type_tag{"a hybrid function"};

auto refuse(Evaluator& e, Origin where, std::string_view what, std::string remedy) -> Value {
  return e.report(error(Code::HybridStatement, where).arg("what", what).remedy(std::move(remedy)));
}

auto HybridFunction::bind_parameters(Evaluator& e, const Arguments& a, const eval::ScopeRef& scope, std::vector<std::pair<Ref<TensorObject>, Buffer>>& inputs) const -> bool {
  std::vector<Parameter> parameters;
  for (const syntax::Param& p : function->params()) { parameters.push_back({p.name.name, !p.default_value}); }
  BoundArguments b;
  if (!bind_arguments(e, function->name().view(), a, parameters, b)) { return false; }
  auto value_of = [&](const Value& given, Name name) -> Value {
    const auto* tensor = given.as<TensorObject>();
    if (!tensor) { return given; }
    Buffer buffer = make_buffer(name, tensor->buffer()->dtype, tensor->buffer()->shape, "global", a.call);
    inputs.emplace_back(Ref<TensorObject>(tensor), buffer);
    return make_object<BufferObject>(buffer);
  };
  for (size_t i = 0; i < parameters.size(); ++i) {
    Value given = b.given[i] ? b.values[i].value : function->defaults[i];
    if (const auto* items = given.items()) {
      std::vector<Value> values;
      for (const Value& item : *items) { values.push_back(value_of(item, Name(parameters[i].name.str() + "_" + std::to_string(values.size())))); }
      given = Value::tuple(std::move(values));
    } else {
      given = value_of(given, parameters[i].name);
    }
    scope->set(parameters[i].name, given);
  }
  return true;
}

auto HybridFunction::lower(Evaluator& e, const eval::ScopeRef& scope, std::vector<Buffer>& outputs) const -> PrimFunc {
  syntax::FunctionDef def = *function->def;
  def.params = {};
  def.decorators = {};
  std::vector<syntax::StmtPtr> body(function->def->body.begin(), function->def->body.end());
  if (!body.empty() && body.back()->kind == Kind::Return) { body.pop_back(); }
  def.body = syntax::Block(body.data(), static_cast<uint32_t>(body.size()));
  FunctionOptions options;
  options.check_well_formed = false;
  options.dialect_is_given = true;
  // A number that is assigned to a name is a variable of the function.
  options.rebinds_names = true;
  Temporarily<eval::Environment*> names(e.globals, function->globals);
  Temporarily<std::vector<Buffer>*> call(outputs_of_call, &outputs);
  return lower_function(e, def, scope, options).func;
}

auto HybridFunction::returned(Evaluator& e, const std::vector<Buffer>& outputs) const -> std::vector<Buffer> {
  const syntax::Block& body = function->def->body;
  const auto* last = body.empty() ? nullptr : body[body.size() - 1]->as<syntax::ReturnStmt>();
  std::vector<const syntax::Expr*> named;
  if (const auto* tuple = last && last->value ? last->value->as<syntax::TupleExpr>() : nullptr) { named.assign(tuple->elements.begin(), tuple->elements.end()); }
  else if (last && last->value) { named.push_back(last->value); }
  std::vector<Buffer> out;
  for (const syntax::Expr* one : named) {
    const auto* name = one->as<syntax::NameExpr>();
    auto at = std::find_if(outputs.begin(), outputs.end(), [&](const Buffer& buffer) { return name && buffer->name == name->name; });
    if (at != outputs.end()) { out.push_back(*at); }
  }
  if (!named.empty() && out.size() == named.size() && out.size() == outputs.size()) { return out; }
  refuse(e, last ? last->origin() : function->def->origin(), last ? "a `return` of other values than all of its output tensors" : "loops without a `return` behind them", "end it with `return`, and the names of its `output_tensor(...)`");
  return {};
}

auto HybridFunction::computed(Evaluator& e, const Arguments& a, const HybridNest& nest, const Buffer& output) const -> Value {
  std::vector<Expr> body{nest.value};
  if (!nest.reduce_axis.empty()) {
    std::vector<Value> axes;
    for (const IterVar& iter : nest.reduce_axis) { axes.push_back(make_object<IterVarObject>(iter)); }
    const auto reducers = named_reducers();
    const auto sum = std::find_if(reducers.begin(), reducers.end(), [](const auto& one) { return std::string_view(one.first) == "sum"; });
    Value reduced = e.call(sum->second, {make_object<ExprObject>(nest.value), Value::list(std::move(axes))}, a.call);
    const auto* given = reduced.as<ExprObject>();
    if (!given) { return reduced; }
    body[0] = given->expr;
  }
  std::vector<Buffer> outputs{make_buffer(output->name, output->dtype, output->shape, "global", a.call)};
  Ref<Operation> op = make_object<Operation>(Operation::Kind::Compute, function->name(), std::move(outputs), a.call);
  auto& fields = const_cast<Operation&>(*op);
  fields.axis = nest.axis;
  fields.reduce_axis = nest.reduce_axis;
  fields.is_hybrid = true;
  collect_inputs(body, fields.inputs);
  fields.body = std::move(body);
  return set_depth(e, fields) ? tensors_of(op) : Value::error();
}

auto HybridFunction::call(Evaluator& e, const Arguments& a) const -> std::optional<Value> {
  if (auto unfit = unfit_in(function->def->body, true)) { return refuse(e, unfit->where, unfit->what, "use `for` loops, conditions and assignments"); }
  eval::ScopeRef scope = e.new_scope(function->captured);
  add_names(scope);
  std::vector<std::pair<Ref<TensorObject>, Buffer>> inputs;
  std::vector<Buffer> made;
  const size_t reported = e.diagnostics.size();
  if (!bind_parameters(e, a, scope, inputs)) { return Value::error(); }
  PrimFunc lowered = lower(e, scope, made);
  if (!lowered) { return e.diagnostics.size() > reported ? Value::error() : e.opaque(a.call); }
  std::vector<Buffer> out = returned(e, made);
  if (out.empty()) { return Value::error(); }
  // The program of the body has a root block for its allocations, which the block of the operation takes over.
  const auto* root = lowered->body.as<BlockRealize>();
  const bool has_root = root && root->block->iter_vars.empty() && root->block->name == "root";
  const Stmt& statement = has_root ? root->block->body : lowered->body;
  if (out.size() == 1 && (!has_root || root->block->alloc_buffers.empty())) {
    std::vector<std::pair<Buffer, Buffer>> read;
    for (const auto& [tensor, buffer] : inputs) { read.emplace_back(tensor->buffer(), buffer); }
    if (auto nest = hybrid_nest(statement, out[0], read)) { return computed(e, a, *nest, out[0]); }
  }
  std::vector<Buffer> outputs;
  for (const Buffer& one : out) { outputs.push_back(make_buffer(one->name, one->dtype, one->shape, "global", a.call)); }
  Ref<Operation> op = make_object<Operation>(Operation::Kind::Extern, function->name(), std::move(outputs), a.call);
  auto& fields = const_cast<Operation&>(*op);
  for (const auto& [tensor, buffer] : inputs) {
    fields.in_buffers.emplace_back(tensor->buffer(), buffer);
    if (std::find(fields.inputs.begin(), fields.inputs.end(), tensor->op) == fields.inputs.end()) { fields.inputs.push_back(tensor->op); }
  }
  fields.out_buffers = std::move(out);
  fields.is_hybrid = true;
  fields.statement = statement;
  if (has_root) { fields.allocated.assign(root->block->alloc_buffers.begin(), root->block->alloc_buffers.end()); }
  return set_depth(e, fields) ? tensors_of(op) : Value::error();
}

auto script(Evaluator& e, const Arguments& a) -> Value {
  const auto* function = a.positional == 1 ? a.all[0].value.as<eval::Function>() : nullptr;
  return function && function->def ? Value(make_object<HybridFunction>(Ref<eval::Function>(function))) : e.opaque(a.call);
}

auto unknown_member(Name) -> std::optional<Value> { return Value::opaque(); }

}  // namespace

auto namespace_hybrid() -> Value {
  Ref<eval::Namespace> space = make_object<eval::Namespace>(Name("te.hybrid"), unknown_member);
  const_cast<eval::Namespace&>(*space).add(Name("script"), make_object<eval::Builtin>(Name("script"), script));
  return space;
}

}  // namespace loopsmith::frontend::te
