// Decorators of programs, `T.prim_func`, `I.ir_module` and `T.macro`, and the annotation `T.let`.
#include "frontend/functions/arguments.h"
#include "frontend/functions/functions.h"
#include "frontend/lower.h"
#include "frontend/thread_level.h"
#include "support/codes.h"

namespace loopsmith::frontend {

namespace {

class PrimFuncDecorator final : public eval::Object {
 public:
  static const eval::TypeTag type_tag;
  const FunctionOptions options;
  explicit PrimFuncDecorator(FunctionOptions o) : Object(&type_tag), options(o) {}
  auto is_callable() const -> bool override { return true; }
  auto call(Evaluator& e, const Arguments& a) const -> std::optional<Value> override {
    if (a.positional == 1 && a.all.size() == 1) {
      if (const auto* f = a.all[0].value.as<eval::Function>(); f && f->def) { return make(e, *f->def, f->captured); }
    }
    if (options.is_jit) { return Value(this); }
    static const std::vector<Parameter> parameters = {{"private", false, true}, {"check_well_formed", false, true}, {"is_stir", false, true},
                                                      {"s_tir", false, true}, {"persistent", false, true}, {"extra_vars", false, true}};
    BoundArguments b;
    if (!bind_arguments(e, "T.prim_func", a, parameters, b)) { return not_bound(b); }
    FunctionOptions out = options;
    out.is_private = b.given[0] && b.values[0].value.to_int().value_or(0) != 0;
    bool has_blocks = (b.given[2] && b.values[2].value.to_int().value_or(0) != 0) || (b.given[3] && b.values[3].value.to_int().value_or(0) != 0);
    if (has_blocks && out.dialect < dialects::s_tir) { out.dialect = dialects::s_tir; }
    out.check_well_formed = !b.given[1] || b.values[1].value.to_int().value_or(1) != 0;
    return make_object<PrimFuncDecorator>(out);
  }
  auto decorate(Evaluator& e, const syntax::Stmt& declaration, const eval::ScopeRef& scope, Origin where) const -> std::optional<Value> override {
    const auto* def = declaration.as<syntax::FunctionDef>();
    if (!def) { return {}; }
    return make(e, *def, scope);
  }

 private:
  auto make(Evaluator& e, const syntax::FunctionDef& def, const eval::ScopeRef& scope) const -> Value {
    LoweredFunction lowered = lower_function(e, def, scope, options);
    if (!lowered.func) { return lowered.is_opaque ? Value::opaque() : Value::error(); }
    return make_object<ProgramObject>(module_of(lowered.func, dialect_of(options, lowered)), def.name.name, true,
                                      Origin{def.decl, def.name.span.begin, def.name.span.end, 0});
  }
};
const eval::TypeTag PrimFuncDecorator::type_tag{"T.prim_func"};

class ModuleDecorator final : public eval::Object {
 public:
  static const eval::TypeTag type_tag;
  const bool check_well_formed;
  explicit ModuleDecorator(bool check) : Object(&type_tag), check_well_formed(check) {}
  auto is_callable() const -> bool override { return true; }
  auto call(Evaluator& e, const Arguments& a) const -> std::optional<Value> override {
    static const std::vector<Parameter> parameters = {{"check_well_formed", false, true}, {"extra_vars", false, true}};
    BoundArguments b;
    if (!bind_arguments(e, "I.ir_module", a, parameters, b)) { return not_bound(b); }
    return make_object<ModuleDecorator>(!b.given[0] || b.values[0].value.to_int().value_or(1) != 0);
  }
  auto decorate(Evaluator& e, const syntax::Stmt& declaration, const eval::ScopeRef& scope, Origin where) const -> std::optional<Value> override {
    const auto* def = declaration.as<syntax::ClassDef>();
    if (!def) { return {}; }
    LoweredModule lowered = lower_module(e, *def, scope);
    if (!lowered.module) { return lowered.is_opaque ? Value::opaque() : Value::error(); }
    return make_object<ProgramObject>(lowered.module, def->name.name, false, Origin{def->decl, def->name.span.begin, def->name.span.end, 0}, std::move(lowered.foreign));
  }
};
const eval::TypeTag ModuleDecorator::type_tag{"I.ir_module"};

class MacroDecorator final : public eval::Object {
 public:
  static const eval::TypeTag type_tag;
  const bool hygienic;
  explicit MacroDecorator(bool h) : Object(&type_tag), hygienic(h) {}
  auto is_callable() const -> bool override { return true; }
  auto call(Evaluator& e, const Arguments& a) const -> std::optional<Value> override {
    if (a.positional == 1) {
      if (const auto* f = a.all[0].value.as<eval::Function>(); f && f->def) { return make_object<MacroObject>(Ref<eval::Function>(f), hygienic); }
    }
    static const std::vector<Parameter> parameters = {{"hygienic", false, true}};
    BoundArguments b;
    if (!bind_arguments(e, "T.macro", a, parameters, b)) { return not_bound(b); }
    return make_object<MacroDecorator>(!b.given[0] || b.values[0].value.to_int().value_or(1) != 0);
  }
};
const eval::TypeTag MacroDecorator::type_tag{"T.macro"};

// `x: T.let = value` and `x: T.let[T.int32] = value` bind a name, `T.let(x, value, body)` is an expression.
class LetObject final : public eval::Object {
 public:
  static const eval::TypeTag type_tag;
  LetObject() : Object(&type_tag) {}
  auto is_callable() const -> bool override { return true; }
  auto call(Evaluator& e, const Arguments& a) const -> std::optional<Value> override { return let(e, a); }
  auto get_item(Evaluator&, const std::vector<Argument>& indices, bool, Origin) const -> std::optional<Value> override {
    if (indices.size() != 1) { return {}; }
    // In TVM's main line the type alone declares a variable that can be assigned to; this one cannot be.
    const auto* type = indices[0].value.as<DtypeObject>();
    if (type) { return make_object<DtypeObject>(type->dtype); }
    return indices[0].value.as<ThreadWord>() ? let_annotation() : indices[0].value;  // `T.let[T.Tuple(T.int32, T.float32)]`
  }
  auto repr() const -> std::string override { return "T.let"; }
};
const eval::TypeTag LetObject::type_tag{"T.let"};

}  // namespace

auto is_let_annotation(const Value& annotation) -> bool { return annotation.as<LetObject>() != nullptr; }

auto prim_func_options(const Value& decorator) -> std::optional<FunctionOptions> {
  const auto* p = decorator.as<PrimFuncDecorator>();
  return p ? std::optional(p->options) : std::nullopt;
}
auto is_module_decorator(const Value& decorator) -> bool { return decorator.as<ModuleDecorator>() != nullptr; }
auto checks_module(const Value& decorator) -> bool {
  const auto* d = decorator.as<ModuleDecorator>();
  return !d || d->check_well_formed;
}

auto prim_func_decorator(FunctionOptions options) -> Value { return make_object<PrimFuncDecorator>(options); }
auto module_decorator() -> Value { return make_object<ModuleDecorator>(true); }
auto macro_decorator() -> Value { return make_object<MacroDecorator>(true); }
auto let_annotation() -> Value { return make_object<LetObject>(); }

}  // namespace loopsmith::frontend
