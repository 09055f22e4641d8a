// Statements: attributes of functions, stores, lets, conditions, `T.attr`, threads, `T.realize`.
#include "frontend/functions/arguments.h"
#include "frontend/functions/functions.h"
#include "frontend/words.h"
#include "ir/ops.h"
#include "ir/printer.h"
#include "ir/vocabulary.h"
#include "support/codes.h"

namespace loopsmith::frontend {

namespace {

// Renames `tirx.noalias`, TVM's spelling of attributes since 0.24, to `tir.noalias`.
auto in_older_words(const AttrMap& attrs) -> AttrMap {
  AttrMap out;
  for (const auto& [key, value] : attrs) {
    bool is_newer = key.view().starts_with("tirx.");
    out = with_attr(out, is_newer ? Name("tir." + std::string(key.view().substr(5))) : key, value);
  }
  return out;
}

auto func_attr(Evaluator& e, const Arguments& a) -> Value {
  static const std::vector<Parameter> parameters = {{"attrs"}};
  BoundArguments b;
  Lowerer* lowerer = need_program(e, a, "T.func_attr");
  if (!lowerer || !bind_arguments(e, "T.func_attr", a, parameters, b)) { return not_bound(b); }
  auto attrs = to_attrs(e, b.values[0]);
  if (!attrs) { return Value::error(); }
  check_keys(e, Vocabulary::FunctionAttribute, *attrs, b.values[0].where);
  *attrs = in_older_words(*attrs);
  if (lowerer->attrs().empty()) {
    lowerer->set_attrs(std::move(*attrs));
  } else {
    AttrMap merged = lowerer->attrs();
    for (const auto& [key, value] : *attrs) { merged = with_attr(merged, key, value); }
    lowerer->set_attrs(std::move(merged));
  }
  return {};
}
auto func_name(Evaluator& e, const Arguments& a) -> Value { return {}; }
auto func_ret(Evaluator& e, const Arguments& a) -> Value {
  Lowerer* lowerer = need_program(e, a, "T.func_ret");
  if (!lowerer || a.all.empty()) { return Value::error(); }
  if (auto t = to_dtype(e, a.all[0])) { lowerer->set_return_type(*t); }
  return {};
}

auto evaluate(Evaluator& e, const Arguments& given) -> Value {
  Arguments a = given;
  Lowerer* lowerer = need_program(e, a, "T.evaluate");
  std::vector<Expr> args;
  if (!lowerer || !operands(e, "T.evaluate", a, 1, 1, args, "value")) { return Value::error(); }
  lowerer->add_evaluated(args[0], a.call);
  return {};
}

auto buffer_store(Evaluator& e, const Arguments& a) -> Value {
  static const std::vector<Parameter> parameters = {{"buffer"}, {"value"}, {"indices"}, {"predicate", false}};
  BoundArguments b;
  Lowerer* lowerer = need_program(e, a, "T.buffer_store");
  if (!lowerer || !bind_arguments(e, "T.buffer_store", a, parameters, b)) { return not_bound(b); }
  const auto* buffer = b.values[0].value.as<BufferObject>();
  if (!buffer) { return wrong_type(e, b.values[0], "a buffer"); }
  std::vector<Argument> indices;
  if (const auto* items = b.values[2].value.items()) {
    for (const Value& item : *items) { indices.push_back({item, b.values[2].where, {}}); }
  } else {
    indices.push_back(b.values[2]);
  }
  lowerer->store(buffer->buffer, indices, b.values[1], a.call);
  return {};
}

auto let_statement(Evaluator& e, const Arguments& a) -> Value {
  static const std::vector<Parameter> parameters = {{"value"}, {"type_annotation", false}, {"var", false, true}};
  BoundArguments b;
  if (!need_program(e, a, "T.LetStmt") || !bind_arguments(e, "T.LetStmt", a, parameters, b)) { return not_bound(b); }
  BuildFrame f;
  f.kind = FrameKind::Let;
  f.origin = a.call;
  f.a = to_expr(e, b.values[0]);
  if (!f.a) { return Value::error(); }
  if (const auto* v = b.values[2].value.as<ExprObject>(); v && v->expr.as<VarNode>()) {
    f.var = Var(v->expr.as<VarNode>());
  } else {
    const Value& type = b.values[1].value;
    const auto* pointer = type.as<ExprObject>() ? type.as<ExprObject>()->expr.as<VarNode>() : nullptr;
    const auto* plain = type.as<DtypeObject>();
    DataType t = pointer ? pointer->dtype : plain ? plain->dtype : f.a.dtype();
    f.var = pointer && pointer->pointer ? make<VarNode>(Name(), t, a.call, *pointer->pointer) : make<VarNode>(Name(), t, a.call);
  }
  return make_object<FrameObject>(std::move(f), "T.LetStmt");
}
auto bind_value(Evaluator& e, const Arguments& a) -> Value {
  // `T.bind(vi, i)`: the value of an axis of `with T.block([...]) as [vi]`.
  if (Lowerer* lowerer = Lowerer::of(e); lowerer && a.positional == 2 && a.all.size() == 2) {
    const auto* v = a.all[0].value.as<ExprObject>();
    BlockSpec* here = v ? lowerer->block_here() : nullptr;
    for (size_t i = 0; here && here->binds_by_name && i < here->iter_vars.size(); ++i) {
      if (here->iter_vars[i].var.get() != v->expr.get()) { continue; }
      Expr value = to_expr_like(e, a.all[1], v->expr.dtype());
      if (value) { here->iter_values[i] = std::move(value); }
      return {};
    }
  }
  // `x = T.bind(value)`: a variable of the program.
  static const std::vector<Parameter> parameters = {{"value"}, {"type_annotation", false}, {"var", false, true}};
  BoundArguments b;
  if (!need_program(e, a, "T.bind") || !bind_arguments(e, "T.bind", a, parameters, b)) { return not_bound(b); }
  return let_statement(e, a);
}

auto let_expression(Evaluator& e, const Arguments& a) -> Value {
  static const std::vector<Parameter> parameters = {{"expr"}, {"where"}};
  BoundArguments b;
  if (!bind_arguments(e, "T.Let", a, parameters, b)) { return not_bound(b); }
  const auto* where_dict = b.values[1].value.as<eval::Dict>();
  if (!where_dict || where_dict->entries().size() != 1) { return wrong_type(e, b.values[1], "a dict of one variable and its value"); }
  const auto* v = where_dict->entries()[0].first.as<ExprObject>();
  const auto* var = v ? v->expr.as<VarNode>() : nullptr;
  if (!var) { return wrong_type(e, b.values[1], "a dict of one variable and its value"); }
  Expr value = to_expr_like(e, {where_dict->entries()[0].second, b.values[1].where, {}}, var->dtype);
  Expr body = to_expr(e, b.values[0]);
  if (!value || !body) { return Value::error(); }
  return expr_or_error(make<Let>(Var(var), value, body, a.call));
}

auto condition_frame(Evaluator& e, const Arguments& a, FrameKind kind, const char* what) -> Value {
  static const std::vector<Parameter> parameters = {{"condition"}};
  static const std::vector<Parameter> with_message = {{"condition"}, {"message"}};
  bool is_assert = kind == FrameKind::Assert;
  BoundArguments b;
  if (!need_program(e, a, what) || !bind_arguments(e, what, a, is_assert ? with_message : parameters, b)) { return not_bound(b); }
  BuildFrame f;
  f.kind = kind;
  f.origin = a.call;
  f.a = to_expr(e, b.values[0]);
  if (!f.a) { return Value::error(); }
  if (!f.a.dtype().is_integral() || !f.a.dtype().is_scalar()) { return wrong_type(e, b.values[0], "a condition"); }
  if (!f.a.dtype().is_bool()) { f.a = cast(DataType::bool_(), f.a); }
  if (is_assert) {
    f.b = to_expr(e, b.values[1]);
    if (!f.b) { return Value::error(); }
  }
  return make_object<FrameObject>(std::move(f), what);
}
auto assert_statement(Evaluator& e, const Arguments& a) -> Value { return condition_frame(e, a, FrameKind::Assert, "T.Assert"); }
auto while_statement(Evaluator& e, const Arguments& a) -> Value { return condition_frame(e, a, FrameKind::While, "T.While"); }
auto if_statement(Evaluator& e, const Arguments& a) -> Value { return condition_frame(e, a, FrameKind::If, "T.If"); }
template <FrameKind kind>
auto branch(Evaluator& e, const Arguments& a) -> Value {
  const char* what = kind == FrameKind::Then ? "T.Then" : "T.Else";
  Lowerer* lowerer = need_program(e, a, what);
  if (!lowerer) { return Value::error(); }
  if (!lowerer->directly_in(FrameKind::If)) { return e.report(error(Code::BranchOutsideIf, a.callee).arg("branch", what).remedy("move it below `with T.If(condition):`")); }
  BuildFrame f;
  f.kind = kind;
  f.origin = a.call;
  return make_object<FrameObject>(std::move(f), what);
}

// A list of buffers and values as one expression, `T.tvm_tuple(...)`.
auto tuple_of_pointers(Evaluator& e, const Value& list, Origin where) -> Expr {
  static const Name tuple("tvm_tuple");
  std::vector<Expr> parts;
  for (const Value& item : *list.items()) {
    const auto* buffer = item.as<BufferObject>();
    Expr part = buffer ? Expr(buffer->buffer->data) : to_expr(e, {item, where, {}});
    if (!part) { return {}; }
    parts.push_back(std::move(part));
  }
  return make<Call>(DataType::handle(), tuple, Array<Expr>(std::move(parts)), where);
}

auto attr(Evaluator& e, const Arguments& a) -> Value {
  static const std::vector<Parameter> parameters = {{"node"}, {"attr_key"}, {"value"}};
  BoundArguments b;
  // `T.attr({"key": value})` belongs to the device part of a program.
  if (a.all.size() == 1 && a.all[0].value.as<eval::Dict>()) { return e.opaque(a.call); }
  if (!need_program(e, a, "T.attr") || !bind_arguments(e, "T.attr", a, parameters, b)) { return not_bound(b); }
  BuildFrame f;
  f.kind = FrameKind::Attr;
  f.origin = a.call;
  const Value& node = b.values[0].value;
  if (const auto* buffer = node.as<BufferObject>()) { f.subject = buffer->buffer; }
  else if (const auto* iter = node.as<IterVarObject>()) { f.subject = iter->iter; }
  else if (const auto* x = node.as<ExprObject>()) { f.subject = x->expr; }
  else if (const auto* combiner = node.as<ReducerObject>()) {
    // A combiner is stored as a reduction without axes.
    const CommReducer& c = combiner->reducer;
    f.subject = Expr(make<Reduce>(c, c->identity, Array<IterVar>(), bool_imm(true), 0, Array<Expr>(), a.call));
  }
  else if (node.is_none() || node.as<AttrObject>() || node.as<eval::Dict>()) { f.subject = std::monostate{}; }
  else if (node.items()) {
    // `T.attr([view, buffer], "buffer_bind_scope", ...)`: stores the pair as a call with the two pointers.
    Expr x = tuple_of_pointers(e, node, b.values[0].where);
    if (!x) { return Value::error(); }
    f.subject = x;
  } else {
    Expr x = to_expr(e, b.values[0]);
    if (!x) { return Value::error(); }
    f.subject = x;
  }
  const std::string* key = b.values[1].value.string();
  if (!key) { return wrong_type(e, b.values[1], "an attribute's name"); }
  check_word(e, Vocabulary::StatementAttribute, *key, b.values[1].where);
  f.key = Name(*key);
  f.a = to_expr(e, b.values[2]);
  if (!f.a) { return Value::error(); }
  return make_object<FrameObject>(std::move(f), "T.attr");
}

auto thread_iter(Name tag, DataType t, Origin where) -> IterVar {
  IterVar iter;
  iter.var = make<VarNode>(Name(), t, where);
  iter.kind = IterKind::ThreadIndex;
  iter.thread_tag = tag;
  iter.origin = where;
  return iter;
}
auto env_thread(Evaluator& e, const Arguments& a) -> Value {
  static const std::vector<Parameter> parameters = {{"thread_tag"}, {"dtype", false}};
  BoundArguments b;
  Lowerer* lowerer = need_program(e, a, "T.env_thread");
  if (!lowerer || !bind_arguments(e, "T.env_thread", a, parameters, b)) { return not_bound(b); }
  const std::string* tag = b.values[0].value.string();
  if (!tag) { return wrong_type(e, b.values[0], "a thread tag"); }
  DataType t = DataType::int_(32);
  if (is_given(b, 1)) { t = to_dtype(e, b.values[1]).value_or(t); }
  check_word(e, Vocabulary::ThreadAxis, *tag, b.values[0].where);
  IterVar iter = thread_iter(Name(*tag), t, a.call);
  lowerer->add_thread_axis(iter);
  return expr_or_error(iter.var);
}
auto launch_thread(Evaluator& e, const Arguments& a) -> Value {
  static const std::vector<Parameter> parameters = {{"thread"}, {"extent"}};
  BoundArguments b;
  Lowerer* lowerer = need_program(e, a, "T.launch_thread");
  if (!lowerer || !bind_arguments(e, "T.launch_thread", a, parameters, b)) { return not_bound(b); }
  Expr extent = to_integer(e, b.values[1]);
  if (!extent) { return Value::error(); }
  BuildFrame f;
  f.kind = FrameKind::Thread;
  f.origin = a.call;
  if (const std::string* tag = b.values[0].value.string()) {
    check_word(e, Vocabulary::ThreadAxis, *tag, b.values[0].where);
    f.thread = thread_iter(Name(*tag), extent.dtype(), a.call);
    lowerer->add_thread_axis(f.thread);
  } else {
    const auto* v = b.values[0].value.as<ExprObject>();
    const auto* var = v ? v->expr.as<VarNode>() : nullptr;
    const IterVar* known = var ? lowerer->thread_axis(var) : nullptr;
    if (!known) { return wrong_type(e, b.values[0], "a thread tag, or a variable of `T.env_thread`"); }
    f.thread = *known;
  }
  f.thread.dom = from_zero(extent);
  // A second variable for an index that an outer statement launches with the same number of threads is the same index.
  const BuildFrame* around = lowerer->launched(f.thread.thread_tag);
  if (around && around->thread.var.get() != f.thread.var.get() && arith_deep_equal(around->a, extent)) {
    f.kind = FrameKind::Let;
    f.var = f.thread.var;
    f.a = cast(f.var->dtype, Expr(around->thread.var));
    return make_object<FrameObject>(std::move(f), "T.launch_thread");
  }
  bool is_virtual = is_virtual_axis(f.thread.thread_tag.view());
  static const Name thread_extent("thread_extent"), virtual_thread("virtual_thread");
  f.key = is_virtual ? virtual_thread : thread_extent;
  f.a = std::move(extent);
  return make_object<FrameObject>(std::move(f), "T.launch_thread");
}

auto realize(Evaluator& e, const Arguments& a) -> Value {
  static const std::vector<Parameter> parameters = {{"buffer_slice"}, {"storage_scope"}, {"condition", false}};
  BoundArguments b;
  if (!need_program(e, a, "T.realize") || !bind_arguments(e, "T.realize", a, parameters, b)) { return not_bound(b); }
  if (const auto* whole = b.values[0].value.as<BufferObject>()) {
    std::string all;
    for (const Expr& extent : whole->buffer->shape) { all += (all.empty() ? "0:" : ", 0:") + print_debug(extent, 40); }
    return e.report(error(Code::WrongType, b.values[0].where).arg("expected", "a region of a buffer").arg("found", describe(b.values[0].value))
                        .remedy("name the region: `" + whole->buffer->name.str() + "[" + all + "]`"));
  }
  auto region = to_region(e, b.values[0]);
  const std::string* scope = b.values[1].value.string();
  if (!region || !scope) { return region ? wrong_type(e, b.values[1], "a storage scope") : Value::error(); }
  if (!scope->empty()) { check_word(e, Vocabulary::StorageScope, *scope, b.values[1].where); }
  BuildFrame f;
  f.kind = FrameKind::Realize;
  f.origin = a.call;
  f.buffer = region->buffer;
  f.bounds = region->region;
  f.text = *scope;
  f.a = is_given(b, 2) ? to_expr(e, b.values[2]) : bool_imm(true, a.call);
  if (!f.a) { return Value::error(); }
  return make_object<FrameObject>(std::move(f), "T.realize");
}

}  // namespace

auto let(Evaluator& e, const Arguments& a) -> Value {
  // `T.let(x, value)`: a statement; `T.let(x, value, body)`: an expression.
  static const std::vector<Parameter> parameters = {{"v"}, {"value"}, {"body", false}};
  BoundArguments b;
  if (!bind_arguments(e, "T.let", a, parameters, b)) { return not_bound(b); }
  const auto* v = b.values[0].value.as<ExprObject>();
  const auto* var = v ? v->expr.as<VarNode>() : nullptr;
  if (!var) { return wrong_type(e, b.values[0], "a variable"); }
  Expr value = to_expr_like(e, b.values[1], var->dtype);
  if (!value) { return Value::error(); }
  if (is_given(b, 2)) {
    Expr body = to_expr(e, b.values[2]);
    return body ? expr_or_error(make<Let>(Var(var), value, body, a.call)) : Value::error();
  }
  BuildFrame f;
  f.kind = FrameKind::Let;
  f.origin = a.call;
  f.var = Var(var);
  f.a = std::move(value);
  return make_object<FrameObject>(std::move(f), "T.let");
}
auto meta_var(Evaluator& e, const Arguments& a) -> Value {
  if (a.all.size() != 1) { return not_one_argument(e, a, "T.meta_var", "value"); }
  return make_object<MetaObject>(a.all[0].value);
}

auto statement_functions() -> FunctionRows {
  static constexpr FunctionRow rows[] = {
      {"func_attr", func_attr}, {"func_name", func_name}, {"func_ret", func_ret}, {"evaluate", evaluate}, {"buffer_store", buffer_store},
      {"LetStmt", let_statement}, {"bind", bind_value}, {"Let", let_expression}, {"meta_var", meta_var}, {"attr", attr}, {"env_thread", env_thread},
      {"launch_thread", launch_thread}, {"realize", realize}, {"Bind", bind_value}, {"Assert", assert_statement}, {"While", while_statement},
      {"If", if_statement}, {"Then", branch<FrameKind::Then>}, {"Else", branch<FrameKind::Else>},
  };
  return rows;
}

}  // namespace loopsmith::frontend
