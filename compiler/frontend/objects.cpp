// Expressions, regions, types, functions and programs as values: their attributes. See objects.h; operators are in operators.cpp, buffers in
// buffer_object.cpp, conversions in conversions.cpp.
#include "frontend/objects.h"

#include <algorithm>

#include "frontend/introspection.h"
#include "frontend/lowerer.h"
#include "ir/ops.h"
#include "ir/printer.h"
#include "support/codes.h"

namespace loopsmith::frontend {

using eval::make_object;

const eval::TypeTag ExprObject::type_tag{"an expression"};
const eval::TypeTag BufferObject::type_tag{"a buffer"};
const eval::TypeTag RegionObject::type_tag{"a region of a buffer"};
const eval::TypeTag DtypeObject::type_tag{"a data type"};
const eval::TypeTag BufferTypeObject::type_tag{"T.Buffer"};
const eval::TypeTag FrameObject::type_tag{"a statement with a body"};
const eval::TypeTag MetaObject::type_tag{"a meta variable"};
const eval::TypeTag StmtObject::type_tag{"a statement"};
const eval::TypeTag AttrObject::type_tag{"an attribute's value"};
auto AttrObject::is_context() const -> bool { return target_attr(attr) != nullptr; }
const eval::TypeTag ReducerObject::type_tag{"a reducer"};
const eval::TypeTag AxisSeparatorObject::type_tag{"an axis separator"};
const eval::TypeTag IterVarObject::type_tag{"an axis"};
const eval::TypeTag GlobalObject::type_tag{"a function of the module"};
const eval::TypeTag MacroObject::type_tag{"a macro"};
const eval::TypeTag ProgramObject::type_tag{"a program"};
const eval::TypeTag DomainObject::type_tag{"a range of integers"};
const eval::TypeTag FixtureObject::type_tag{"a parameter of tests"};

namespace {

auto method(const Value& self, const char* name, eval::Method::Run run) -> Value { return make_object<eval::Method>(self, Name(name), run); }

auto astype(Evaluator& e, const Value& self, const Arguments& a) -> Value {
  eval::BoundArguments b;
  static const std::vector<eval::Parameter> parameters = {{"dtype"}};
  if (!bind_arguments(e, "astype", a, parameters, b)) { return Value::error(); }
  auto t = to_dtype(e, b.values[0]);
  Expr x = to_expr(e, {self, a.callee, {}});
  if (!t || !x) { return Value::error(); }
  return make_object<ExprObject>(cast(*t, x, a.call));
}

// `x.equal(y)`: the condition as an expression.
auto equal_to(Evaluator& e, const Value& self, const Arguments& a) -> Value {
  eval::BoundArguments b;
  if (!bind_arguments(e, "equal", a, {{"other"}}, b)) { return b.unknown; }
  Expr x = to_expr(e, {self, a.callee, {}}), y = to_expr(e, b.values[0]);
  if (!x || !y) { return Value::error(); }
  if (!match_types(x, y)) { return e.report(error(Code::BadOperands, a.call).arg("op", "==").arg("left", eval::describe(self)).arg("right", eval::describe(b.values[0].value))); }
  return make_object<ExprObject>(equal(x, y, a.call));
}

auto is_same_expr(Evaluator& e, const Value& self, const Arguments& a) -> Value {
  eval::BoundArguments b;
  if (!bind_arguments(e, "same_as", a, {{"other"}}, b)) { return b.unknown; }
  const auto* other = b.values[0].value.as<ExprObject>();
  return Value(other && self.as<ExprObject>()->expr == other->expr);
}

}  // namespace

// TVM's main line adds attributes: a name that is nearly a known one is an error there too; others are not evaluated.
auto unknown_attribute(Evaluator& evaluator, Name name, const eval::Object& object) -> std::optional<Value> {
  const Lowerer* lowerer = Lowerer::of(evaluator);
  if (!lowerer || !lowerer->rebinds_names()) { return {}; }
  std::vector<Name> names;
  object.attribute_names(names);
  return eval::closest_name(name, names).empty() ? std::optional<Value>(Value::opaque()) : std::nullopt;
}

auto ExprObject::get_attribute(Evaluator& evaluator, Name name, Origin where) const -> std::optional<Value> {
  static const Name dtype_name("dtype"), astype_name("astype"), same_name("same_as"), ty("ty"), source("source");
  if (name == dtype_name) { return Value::str(expr.dtype().str()); }
  if (name == ty) { return tensor ? Value(make_object<BufferObject>(tensor)) : Value(make_object<DtypeObject>(expr.dtype())); }
  // Tests of TVM's main line read the shape of a parameter that is a tensor.
  if (static const Name shape("shape"); tensor && name == shape) { return make_object<BufferObject>(tensor)->get_attribute(evaluator, name, where); }
  if (name == astype_name) { return method(Value(this), "astype", astype); }
  if (static const Name equal_name("equal"); name == equal_name) { return method(Value(this), "equal", equal_to); }
  if (name == same_name) { return method(Value(this), "same_as", is_same_expr); }
  if (const auto* l = expr.as<BufferLoad>(); l && name == source) { return make_object<BufferObject>(l->buffer); }
  if (auto member = member_of(expr, name)) { return member; }
  return unknown_attribute(evaluator, name, *this);
}
void ExprObject::attribute_names(std::vector<Name>& out) const {
  out.insert(out.end(), {Name("dtype"), Name("astype")});
  member_names(expr, out);
}

auto ExprObject::type_name() const -> std::string_view {
  if (described_.empty()) {
    const auto* v = expr.as<VarNode>();
    described_ = (v && !v->name.empty() ? "`" + v->name.str() + "` of type `" : "an expression of type `") + expr.dtype().str() + "`";
  }
  return described_;
}
auto ExprObject::repr() const -> std::string {
  const auto* v = expr.as<VarNode>();
  if (v) { return v->name.str(); }
  if (const auto* s = expr.as<StringImm>()) { return "'" + s->value + "'"; }
  if (const auto* i = expr.as<IntImm>()) { return std::to_string(i->value); }
  if (const auto* f = expr.as<FloatImm>()) { return Value(f->value).repr(); }
  return print_script(expr);
}
auto ExprObject::equals(const Object& other) const -> bool {
  const auto* o = other.as<ExprObject>();
  return o && o->expr == expr;
}
auto ExprObject::get_item(Evaluator& e, const std::vector<Argument>& indices, bool is_tuple, Origin where) const -> std::optional<Value> {
  // The bytes of a pointer cannot be indexed; a vector's lanes can, by T.Shuffle.
  return {};
}

auto BufferTypeObject::get_attribute(Evaluator&, Name name, Origin) const -> std::optional<Value> {
  static const Name own_name("__name__");
  return name == own_name ? std::optional(Value::str("Buffer")) : std::nullopt;
}

auto RegionObject::get_attribute(Evaluator& e, Name name, Origin where) const -> std::optional<Value> {
  static const Name buffer_name("buffer"), region_name("region"), cls("__class__");
  if (name == cls) { return classes({"BufferRegion"}); }
  if (name == buffer_name) { return make_object<BufferObject>(region.buffer); }
  if (name == region_name) {
    std::vector<Value> out;
    for (const Range& range : region.region) { out.push_back(make_object<DomainObject>(range)); }
    return Value::list(std::move(out));
  }
  Expr load = region_load(e, region, where);
  if (!load) { return Value::error(); }
  return make_object<ExprObject>(load)->get_attribute(e, name, where);
}
auto RegionObject::repr() const -> std::string { return print_script(region); }

auto LoopSpec::value() const -> Expr { return step ? add(start, mul(var, step)) : Expr(var); }

auto MetaObject::get_attribute(Evaluator& e, Name name, Origin where) const -> std::optional<Value> { return e.attribute({value, where, {}}, name, where); }
auto MetaObject::get_item(Evaluator& e, const std::vector<Argument>& indices, bool is_tuple, Origin where) const -> std::optional<Value> {
  return value.object() ? value.object()->get_item(e, indices, is_tuple, where) : std::nullopt;
}
auto MetaObject::iterate(Evaluator& e, Origin where) const -> std::optional<std::vector<Value>> {
  auto items = e.iterate({value, where, {}});
  if (items) {
    // Each item is a meta variable too.
    for (Value& item : *items) { item = make_object<MetaObject>(std::move(item)); }
  }
  return items;
}

auto DtypeObject::get_attribute(Evaluator&, Name name, Origin) const -> std::optional<Value> {
  static const Name dtype_name("dtype");
  return name == dtype_name ? std::optional(Value::str(dtype.str())) : std::nullopt;
}
auto DtypeObject::equals(const Object& other) const -> bool {
  const auto* o = other.as<DtypeObject>();
  return o && o->dtype == dtype;
}

auto IterVarObject::get_attribute(Evaluator&, Name name, Origin) const -> std::optional<Value> {
  static const Name var_name("var"), dom_name("dom"), iter_type("iter_type"), thread_tag("thread_tag");
  if (name == var_name) { return make_object<ExprObject>(Expr(iter.var)); }
  if (name == dom_name && iter.dom.extent) { return make_object<DomainObject>(iter.dom); }
  // TVM's numbers.
  if (name == iter_type) { return Value(iter.kind == IterKind::Spatial ? 0 : iter.kind == IterKind::Reduction ? 2 : iter.kind == IterKind::Scan ? 3 : 4); }
  if (static const Name cls("__class__"); name == cls) { return classes({"IterVar"}); }
  if (name == thread_tag) { return Value::str(iter.thread_tag.str()); }
  return {};
}
void IterVarObject::attribute_names(std::vector<Name>& out) const {
  for (const char* n : {"var", "dom", "iter_type", "thread_tag"}) { out.push_back(Name(n)); }
}

auto DomainObject::get_attribute(Evaluator&, Name name, Origin) const -> std::optional<Value> {
  static const Name min("min"), extent("extent");
  if (name == min) { return expr_value(range.min); }
  if (name == extent) { return expr_value(range.extent); }
  return {};
}
void DomainObject::attribute_names(std::vector<Name>& out) const {
  for (const char* n : {"min", "extent"}) { out.push_back(Name(n)); }
}
auto DomainObject::repr() const -> std::string { return "range(min=" + print_script(range.min) + ", extent=" + print_script(range.extent) + ")"; }

auto GlobalObject::call(Evaluator& e, const Arguments& a) const -> std::optional<Value> {
  std::vector<Expr> args;
  bool good = true;
  for (const Argument& argument : a.all) {
    if (const auto* b = argument.value.as<BufferObject>()) {
      args.push_back(b->buffer->data);
      continue;
    }
    Expr x = to_expr(e, argument);
    good &= bool(x);
    args.push_back(std::move(x));
  }
  if (!good) { return Value::error(); }
  return make_object<ExprObject>(make<Call>(returns, Name("@" + name.str()), std::move(args), a.call));
}

auto MacroObject::call(Evaluator& e, const Arguments& a) const -> std::optional<Value> {
  Lowerer* lowerer = Lowerer::of(e);
  if (!lowerer) { return e.report(error(Code::OutsideProgram, a.call).arg("what", "a call of a macro").remedy("move it into a function with `@T.prim_func`")); }
  return lowerer->expand(*this, a);
}

auto ProgramObject::get_attribute(Evaluator& e, Name attribute, Origin at) const -> std::optional<Value> {
  if (!module) { return {}; }
  if (std::optional<Value> member = task ? task->get_attribute(e, attribute, at) : std::nullopt) { return member; }
  if (PrimFunc f = module->find(attribute)) { return make_object<ProgramObject>(module_of(f, module->dialect), attribute, true, where); }
  // with_attr and similar methods make other programs, which are not evaluated here.
  static const Name with_attr("with_attr"), script("script"), show("show"), functions("functions");
  if (attribute == with_attr || attribute == functions) { return Value::opaque(); }
  if (is_function && module->functions.size() == 1) {
    const PrimFunc& func = module->functions[0].second;
    static const Name params("params"), buffer_map("buffer_map"), attrs("attrs");
    if (attribute == params) {
      std::vector<Value> out;
      for (const Var& param : func->params) {
        auto mapped = std::find_if(func->buffer_map.begin(), func->buffer_map.end(), [&](const auto& entry) { return entry.first == param; });
        out.push_back(make_object<ExprObject>(Expr(param), mapped == func->buffer_map.end() ? Buffer() : mapped->second));
      }
      return Value::list(std::move(out));
    }
    if (attribute == buffer_map) {
      auto out = make_object<eval::Dict>();
      for (const auto& [param, buffer] : func->buffer_map) { out->set(make_object<ExprObject>(Expr(param)), make_object<BufferObject>(buffer)); }
      return out;
    }
    if (attribute == attrs) { return from_attrs(func->attrs); }
  }
  auto method = [&](eval::Method::Run run) { return Value(Ref<eval::Object>(make_object<eval::Method>(Value(Ref<eval::Object>(this)), attribute, run).get())); };
  if (attribute == script) { return method([](Evaluator&, const Value& self, const eval::Arguments&) { return Value::str(self.as<ProgramObject>()->text()); }); }
  if (attribute == show) {
    return method([](Evaluator& e, const Value& self, const eval::Arguments&) {
      if (e.output) { e.output(self.as<ProgramObject>()->text() + "\n"); }
      return Value();
    });
  }
  return {};
}
void ProgramObject::attribute_names(std::vector<Name>& out) const {
  if (task) { task->attribute_names(out); }
  for (const char* n : {"script", "show"}) { out.push_back(Name(n)); }
  if (!is_function) { return; }
  for (const char* n : {"params", "buffer_map", "attrs"}) { out.push_back(Name(n)); }
}
auto ProgramObject::get_item(Evaluator& e, const std::vector<Argument>& indices, bool, Origin) const -> std::optional<Value> {
  const std::string* key = indices.size() == 1 ? indices[0].value.string() : nullptr;
  if (!key || !module) { return {}; }
  if (PrimFunc f = module->find(Name(*key))) { return make_object<ProgramObject>(module_of(f, module->dialect), Name(*key), true, where); }
  if (std::find(foreign.begin(), foreign.end(), Name(*key)) != foreign.end()) { return e.opaque(indices[0].where); }
  return e.report(error(Code::KeyNotFound, indices[0].where).arg("container", "module").arg("kind", "function").arg("key", indices[0].value.repr()));
}
auto ProgramObject::text() const -> std::string {
  bool is_one = is_function && module && module->functions.size() == 1;
  return !module ? std::string() : is_one ? print_script(module->functions[0].second) : print_script(module);
}
auto ProgramObject::repr() const -> std::string { return "<program " + name.str() + ">"; }

}  // namespace loopsmith::frontend
