// The builder of statements: see ir_builder.h. Its methods have the names, parameters and defaults of TVM's `IRBuilder`.
#include "frontend/ir_builder.h"

#include <fmt/format.h>

#include <algorithm>

#include "eval/not_made.h"
#include "frontend/functions/arguments.h"
#include "frontend/stores.h"
#include "frontend/te/tensors.h"
#include "frontend/words.h"
#include "ir/ops.h"
#include "support/codes.h"
#include "support/reasons.h"

namespace loopsmith::frontend {
namespace {

auto refuse(Evaluator& e, std::string_view method, Origin where, const Reason& why, std::string remedy) -> Value {
  return e.report(error(Code::BadValue, where).arg("action", fmt::format("call `{}` of the builder", method)).arg("reason", why.text()).remedy(std::move(remedy)));
}
auto builder_of(const Value& self) -> const IrBuilder& { return *self.as<IrBuilder>(); }

// The result of a method that opens a scope: `with` enters it.
class BuilderScope final : public eval::Object {
 public:
  static const eval::TypeTag type_tag;
  BuilderScope(const IrBuilder& builder, std::string_view method, Origin where, Value value, IrBuilder::Around around)
      : Object(&type_tag), builder_(&builder), method_(method), where_(where), value_(std::move(value)), around_(std::move(around)), expected_(builder.expect(method, where)) {}

  auto is_context() const -> bool override { return true; }
  auto get_attribute(Evaluator&, Name name, Origin) const -> std::optional<Value> override {
    static const Name enter_name("__enter__"), exit_name("__exit__");
    if (name == enter_name) { return Value(make_object<eval::Method>(Value(this), name, [](Evaluator& e, const Value& self, const Arguments& a) { return self.as<BuilderScope>()->enter(e, a.call); })); }
    if (name == exit_name) { return Value(make_object<eval::Method>(Value(this), name, [](Evaluator&, const Value& self, const Arguments&) { return self.as<BuilderScope>()->exit(); })); }
    return {};
  }
  auto enter(Evaluator& e, Origin where) const -> Value {
    builder_->entered(expected_);
    if (is_entered_) { return refuse(e, method_, where, because(Why::ScopeAgain), "call it again for each `with`"); }
    is_entered_ = true;
    if (!around_) {
      Ref<IfThenElse> condition = builder_->take_condition();
      if (!condition) { return refuse(e, method_, where, because(Why::ElseWithoutIf), "write it directly behind a `with ib.if_scope(...)`"); }
      around_ = [condition](Stmt body) -> Stmt { return make<IfThenElse>(condition->condition, condition->then_case, std::move(body), condition->origin); };
    }
    is_open_ = true;
    builder_->open(method_, where_);
    return value_;
  }
  auto exit() const -> Value {
    if (!std::exchange(is_open_, false)) { return {}; }
    Stmt body = builder_->close();
    builder_->add(around_(std::move(body)));
    return {};
  }
  auto repr() const -> std::string override { return "<scope of " + std::string(method_) + ">"; }

 private:
  const Ref<IrBuilder> builder_;
  const std::string_view method_;
  const Origin where_;
  const Value value_;                      // the value that `as` binds
  mutable IrBuilder::Around around_;       // none: the scope continues the condition in front of it
  const size_t expected_;
  mutable bool is_entered_ = false, is_open_ = false;
};
const eval::TypeTag BuilderScope::type_tag{"a scope of a builder"};

auto scope(const Value& self, std::string_view method, Origin where, Value value, IrBuilder::Around around) -> Value {
  return make_object<BuilderScope>(builder_of(self), method, where, std::move(value), std::move(around));
}

auto emit(Evaluator& e, const Value& self, const Arguments& a) -> Value {
  BoundArguments b;
  if (!bind_arguments(e, "emit", a, {{"stmt"}}, b)) { return not_bound(b); }
  const Value& given = b.values[0].value;
  if (const auto* stmt = given.as<StmtObject>()) {
    builder_of(self).add(stmt->stmt);
    return {};
  }
  const auto* call = given.as<ExprObject>();
  if (!call || !call->expr.as<Call>()) {
    return refuse(e, "emit", b.values[0].where, because(Why::NotEmitted).arg("found", describe(given)), "give a call, such as `tvm.tir.call_extern(...)`, or the result of another builder's `get()`");
  }
  if (!is_within_limits(e, call->expr, b.values[0].where)) { return Value::error(); }
  builder_of(self).add(make<Evaluate>(call->expr, a.call));
  return {};
}

// The kind of a loop by the name that the builder has for it.
auto loop_kind(Evaluator& e, const BoundArguments& b) -> std::optional<ForKind> {
  static constexpr std::pair<std::string_view, ForKind> kinds[] = {{"serial", ForKind::Serial}, {"parallel", ForKind::Parallel}, {"vectorize", ForKind::Vectorized}, {"unroll", ForKind::Unrolled}};
  const std::string name = te::text_of(b, 4, "serial");
  for (const auto& [known, kind] : kinds) {
    if (name == known) { return kind; }
  }
  (void)e.report(error(Code::WrongType, b.values[4].where).arg("expected", "`\"serial\"`, `\"parallel\"`, `\"vectorize\"` or `\"unroll\"`").arg("found", "`\"" + name + "\"`"));
  return std::nullopt;
}

auto for_range(Evaluator& e, const Value& self, const Arguments& a) -> Value {
  BoundArguments b;
  if (!bind_arguments(e, "for_range", a, {{"begin"}, {"end"}, {"name", false}, {"dtype", false}, {"kind", false}}, b)) { return not_bound(b); }
  Expr begin = to_integer(e, b.values[0]), end = to_integer(e, b.values[1]);
  auto kind = loop_kind(e, b);
  if (!begin || !end || !kind || !match_operands(e, "-", begin, b.values[0].where, end, b.values[1].where, a.call)) { return Value::error(); }
  DataType type = begin.dtype();
  if (is_given(b, 3)) {
    auto given = to_dtype(e, b.values[3]);
    if (!given) { return Value::error(); }
    type = *given;
  }
  Expr extent = cast(type, difference(end, begin));
  const std::string given = te::text_of(b, 2, "i");
  Var var = make<VarNode>(Name(given == "i" ? builder_of(self).next_name() : given), type, a.call);
  auto around = [var, begin = cast(type, begin), extent, kind = *kind, where = a.call](Stmt body) -> Stmt {
    return make<For>(var, begin, extent, kind, std::move(body), std::nullopt, AttrMap(), where);
  };
  return scope(self, "for_range", a.call, make_object<ExprObject>(Expr(var)), std::move(around));
}

// A condition; null: reported.
auto to_condition(Evaluator& e, const Argument& a) -> Expr {
  Expr out = to_expr(e, a);
  if (!out) { return {}; }
  if (!out.dtype().is_integral() || !out.dtype().is_scalar()) {
    wrong_type(e, a, "a condition");
    return {};
  }
  return out.dtype().is_bool() ? out : cast(DataType::bool_(), out);
}
auto if_scope(Evaluator& e, const Value& self, const Arguments& a) -> Value {
  BoundArguments b;
  if (!bind_arguments(e, "if_scope", a, {{"cond"}}, b)) { return not_bound(b); }
  Expr condition = to_condition(e, b.values[0]);
  if (!condition) { return Value::error(); }
  return scope(self, "if_scope", a.call, {}, [condition, where = a.call](Stmt body) -> Stmt { return make<IfThenElse>(condition, std::move(body), Stmt(), where); });
}
auto else_scope(Evaluator& e, const Value& self, const Arguments& a) -> Value {
  BoundArguments b;
  if (!bind_arguments(e, "else_scope", a, {}, b)) { return not_bound(b); }
  return scope(self, "else_scope", a.call, {}, {});
}
auto while_loop(Evaluator& e, const Value& self, const Arguments& a) -> Value {
  BoundArguments b;
  if (!bind_arguments(e, "while_loop", a, {{"condition"}}, b)) { return not_bound(b); }
  Expr condition = to_condition(e, b.values[0]);
  if (!condition) { return Value::error(); }
  return scope(self, "while_loop", a.call, {}, [condition, where = a.call](Stmt body) -> Stmt { return make<While>(condition, std::move(body), where); });
}
auto new_scope(Evaluator& e, const Value& self, const Arguments& a) -> Value {
  BoundArguments b;
  if (!bind_arguments(e, "new_scope", a, {}, b)) { return not_bound(b); }
  return scope(self, "new_scope", a.call, {}, [](Stmt body) { return body; });
}

// ---- statements around those that follow in the scope

auto scope_attr(Evaluator& e, const Value& self, const Arguments& a) -> Value {
  BoundArguments b;
  if (!bind_arguments(e, "scope_attr", a, {{"node"}, {"attr_key"}, {"value"}}, b)) { return not_bound(b); }
  const std::string* key = b.values[1].value.string();
  if (!key) { return wrong_type(e, b.values[1], "an attribute's name"); }
  check_word(e, Vocabulary::StatementAttribute, *key, b.values[1].where);
  Expr value = to_expr(e, b.values[2]);
  if (!value) { return Value::error(); }
  AttrStmt::Subject subject;
  const Value& node = b.values[0].value;
  if (const auto* thread = node.as<te::ThreadAxisObject>()) {
    IterVar iter;
    iter.var = thread->var;
    iter.dom = from_zero(value);
    iter.kind = IterKind::ThreadIndex;
    iter.thread_tag = Name(thread->tag_of_thread);
    iter.origin = a.call;
    subject = iter;
  } else if (const auto* buffer = node.as<BufferObject>()) {
    subject = buffer->buffer;
  } else if (const auto* axis = node.as<IterVarObject>()) {
    subject = axis->iter;
  } else if (!node.is_none()) {
    Expr x = to_expr(e, b.values[0]);
    if (!x) { return Value::error(); }
    subject = x;
  }
  builder_of(self).add_around([subject, key = Name(*key), value, where = a.call](Stmt body) -> Stmt { return make<AttrStmt>(subject, key, value, std::move(body), where); });
  return {};
}

auto let(Evaluator& e, const Value& self, const Arguments& a) -> Value {
  BoundArguments b;
  if (!bind_arguments(e, "let", a, {{"var_name"}, {"value"}}, b)) { return not_bound(b); }
  const std::string* name = b.values[0].value.string();
  Expr value = to_expr(e, b.values[1]);
  if (!value) { return Value::error(); }
  if (!name) { return wrong_type(e, b.values[0], "a name"); }
  Var var = make<VarNode>(Name(*name), value.dtype(), a.call);
  builder_of(self).add_around([var, value, where = a.call](Stmt body) -> Stmt { return make<LetStmt>(var, value, std::move(body), where); });
  return make_object<ExprObject>(Expr(var));
}

auto allocate(Evaluator& e, const Value& self, const Arguments& a) -> Value {
  BoundArguments b;
  if (!bind_arguments(e, "allocate", a, {{"dtype"}, {"shape"}, {"name", false}, {"scope", false}, {"axis_separators", false}}, b)) { return not_bound(b); }
  auto type = to_element_dtype(e, b.values[0]);
  std::vector<Expr> shape;
  if (!type || !te::to_shape(e, b.values[1], shape)) { return Value::error(); }
  std::string memory = te::text_of(b, 3, "");
  if (memory.empty()) { memory = "global"; }
  check_word(e, Vocabulary::StorageScope, memory, b.values[3].where);
  Buffer buffer = make_buffer(Name(te::text_of(b, 2, "buf")), *type, std::move(shape), Name(memory), a.call);
  builder_of(self).add_around([buffer, where = a.call](Stmt body) -> Stmt {
    Stmt declared = make<DeclBuffer>(buffer, std::move(body), where);
    return make<Allocate>(buffer->data, buffer->dtype, buffer->shape, bool_imm(true), std::move(declared), AttrMap(), where);
  });
  return make_object<PointerObject>(buffer, builder_of(self));
}

auto buffer_ptr(Evaluator& e, const Value& self, const Arguments& a) -> Value {
  BoundArguments b;
  if (!bind_arguments(e, "buffer_ptr", a, {{"buf"}, {"shape", false}}, b)) { return not_bound(b); }
  const auto* given = b.values[0].value.as<BufferObject>();
  if (!given) { return wrong_type(e, b.values[0], "a buffer"); }
  Buffer buffer = given->buffer;
  if (is_given(b, 1)) {
    std::vector<Expr> shape;
    if (!te::to_shape(e, b.values[1], shape)) { return Value::error(); }
    BufferNode fields = *buffer;
    fields.shape = std::move(shape);
    fields.strides = {};
    fields.origin = a.call;
    buffer = make_buffer(std::move(fields));
    builder_of(self).add_around([buffer, where = a.call](Stmt body) -> Stmt { return make<DeclBuffer>(buffer, std::move(body), where); });
  }
  return make_object<PointerObject>(buffer, builder_of(self));
}

auto pointer(Evaluator& e, const Value& self, const Arguments& a) -> Value {
  BoundArguments b;
  if (!bind_arguments(e, "pointer", a, {{"content_type"}, {"name", false}, {"scope", false}}, b)) { return not_bound(b); }
  auto type = to_element_dtype(e, b.values[0]);
  if (!type) { return Value::error(); }
  const std::string memory = te::text_of(b, 2, "");
  Buffer buffer = make_buffer(Name(te::text_of(b, 1, "ptr")), *type, Array<Expr>{int_imm(1)}, Name(memory.empty() ? "global" : memory), a.call);
  return make_object<PointerObject>(buffer, builder_of(self));
}

auto likely(Evaluator& e, const Value&, const Arguments& a) -> Value {
  static const Name op("likely");
  BoundArguments b;
  if (!bind_arguments(e, "likely", a, {{"expr"}}, b)) { return not_bound(b); }
  Expr x = to_expr(e, b.values[0]);
  return x ? expr_or_error(make<Call>(x.dtype(), op, Array<Expr>{x}, a.call)) : Value::error();
}

auto get(Evaluator& e, const Value& self, const Arguments& a) -> Value {
  BoundArguments b;
  if (!bind_arguments(e, "get", a, {}, b)) { return not_bound(b); }
  return builder_of(self).get(e, a.call);
}

struct Method { const char* name; eval::Method::Run run; };
constexpr Method methods[] = {
    {"emit", emit}, {"for_range", for_range}, {"if_scope", if_scope}, {"else_scope", else_scope}, {"while_loop", while_loop}, {"new_scope", new_scope},
    {"scope_attr", scope_attr}, {"let", let}, {"allocate", allocate}, {"buffer_ptr", buffer_ptr}, {"pointer", pointer}, {"likely", likely}, {"get", get},
};

auto create(Evaluator& e, const Arguments& a) -> Value {
  BoundArguments b;
  if (!bind_arguments(e, "ir_builder.create", a, {}, b)) { return not_bound(b); }
  return make_object<IrBuilder>();
}

}  // namespace

const eval::TypeTag IrBuilder::type_tag{"a builder of statements"};

IrBuilder::IrBuilder() : Object(&type_tag), scopes_(1), not_made_(eval::not_made()) {}

void IrBuilder::add(Stmt stmt) const { scopes_.back().items.push_back({std::move(stmt), {}}); }
void IrBuilder::add_around(Around around) const { scopes_.back().items.push_back({{}, std::move(around)}); }
void IrBuilder::open(std::string_view method, Origin where) const { scopes_.push_back({{method, where}, {}}); }

auto IrBuilder::close() const -> Stmt {
  Scope ended = std::move(scopes_.back());
  scopes_.pop_back();
  std::vector<Stmt> behind;   // the last first
  auto joined = [&] {
    std::reverse(behind.begin(), behind.end());
    return sequence_of(std::exchange(behind, {}), ended.made_by.where);
  };
  for (auto item = ended.items.rbegin(); item != ended.items.rend(); ++item) {
    if (item->around) {
      Stmt body = joined();
      behind.push_back(item->around(std::move(body)));
    } else {
      behind.push_back(std::move(item->stmt));
    }
  }
  return joined();
}

auto IrBuilder::take_condition() const -> Ref<IfThenElse> {
  std::vector<Item>& items = scopes_.back().items;
  const auto* condition = items.empty() || !items.back().stmt ? nullptr : items.back().stmt.as<IfThenElse>();
  if (!condition || condition->else_case) { return {}; }
  Ref<IfThenElse> out(condition);
  items.pop_back();
  return out;
}

auto IrBuilder::next_name() const -> std::string {
  const int number = loops_++;
  return number < 3 ? std::string(1, static_cast<char>('i' + number)) : "i_" + std::to_string(number - 3);
}

auto IrBuilder::expect(std::string_view method, Origin where) const -> size_t {
  expected_.push_back({method, where});
  return expected_.size() - 1;
}

auto IrBuilder::get(Evaluator& evaluator, Origin where) const -> Value {
  if (scopes_.size() > 1) {
    const Place& open = scopes_.back().made_by;
    const Reason why = because(Why::ScopeOpen).arg("scope", open.method);
    return evaluator.report(error(Code::BadValue, where).arg("action", "call `get` of the builder").arg("reason", why.text())
                                .note(open.where, "the scope begins here").remedy("call `get()` behind the `with` statement"));
  }
  for (const Place& one : expected_) {
    if (one.method.empty()) { continue; }
    return refuse(evaluator, "get", one.where, because(Why::ScopeNotEntered).arg("scope", one.method), "write `with ib." + std::string(one.method) + "(...):`, and the statements of the scope below it");
  }
  // A call or a store with an unknown value was left out.
  if (eval::not_made() != not_made_) { return evaluator.opaque(where); }
  Stmt all = close();
  scopes_.emplace_back();
  return make_object<StmtObject>(std::move(all));
}

auto IrBuilder::get_attribute(Evaluator&, Name name, Origin) const -> std::optional<Value> {
  for (const Method& method : methods) {
    if (name == method.name) { return Value(make_object<eval::Method>(Value(this), name, method.run)); }
  }
  return {};
}
void IrBuilder::attribute_names(std::vector<Name>& out) const {
  for (const Method& method : methods) { out.emplace_back(method.name); }
}

const eval::TypeTag PointerObject::type_tag{"a pointer"};

// One index counts the elements of all dimensions.
static auto indices_of_pointer(Evaluator& evaluator, const Buffer& buffer, const std::vector<Argument>& given) -> std::vector<Argument> {
  std::vector<Argument> indices = given;
  if (indices.size() == 1 && indices[0].value.items()) {
    indices.clear();
    for (const Value& item : *given[0].value.items()) { indices.push_back({item, given[0].where, {}}); }
  }
  const Array<Expr>& shape = buffer->shape;
  Expr rest = indices.size() == 1 && shape.size() > 1 ? to_expr(evaluator, indices[0]) : Expr();
  if (!rest) { return indices; }
  std::vector<Argument> out(shape.size(), indices[0]);
  for (size_t d = shape.size(); d-- > 0;) {
    const Expr extent = cast(rest.dtype(), shape[d]);
    out[d].value = expr_value(d == 0 ? rest : simplified(floormod(rest, extent)));
    rest = simplified(floordiv(rest, extent));
  }
  return out;
}

auto PointerObject::get_item(Evaluator& evaluator, const std::vector<Argument>& given, bool, Origin where) const -> std::optional<Value> {
  std::vector<Expr> at;
  if (!to_indices(evaluator, buffer, indices_of_pointer(evaluator, buffer, given), where, at)) { return Value::error(); }
  return make_object<ExprObject>(make<BufferLoad>(buffer, std::move(at), where));
}

auto PointerObject::set_item(Evaluator& evaluator, const std::vector<Argument>& given, bool, const Argument& value, Origin where) const -> bool {
  if (Stmt made = store_of(evaluator, buffer, indices_of_pointer(evaluator, buffer, given), value, where)) { builder_->add(std::move(made)); }
  return true;
}

auto PointerObject::get_attribute(Evaluator&, Name name, Origin) const -> std::optional<Value> {
  static const Name dtype("dtype");
  return name == dtype ? std::optional(Value::str(buffer->dtype.str())) : std::nullopt;
}

auto namespace_ir_builder() -> Value {
  Ref<eval::Namespace> space = make_object<eval::Namespace>(Name("tir.ir_builder"));
  const_cast<eval::Namespace&>(*space).add(Name("create"), make_object<eval::Builtin>(Name("create"), create));
  return space;
}

}  // namespace loopsmith::frontend
