// The names of the tuner in scripts: TVM's `meta_schedule` with its classes of pieces, `derived_object`, and the decorators of `ls`. See pieces.h.
#include "script/tuner/pieces.h"

#include "script/tuner/candidates.h"
#include "script/tuner/inherited.h"
#include "script/tuner/members.h"
#include "script/tuner/spaces.h"
#include "support/codes.h"

namespace loopsmith::script {
namespace {

using eval::Arguments;
using eval::Evaluator;
using eval::Value;

/// The class of pieces that a base stands for. A base of unknown value counts by its last name: files import it in many ways.
auto base_class(Evaluator& evaluator, const syntax::Expr& base, const eval::ScopeRef& scope) -> Ref<PieceClass> {
  const Value value = evaluator.eval(base, scope);
  if (const auto* type = value.as<PieceClass>()) { return Ref<PieceClass>(type); }
  const auto* attribute = base.as<syntax::AttributeExpr>();
  const auto* name = base.as<syntax::NameExpr>();
  const Value* known = value.is_opaque() ? tuner_name(attribute ? attribute->attr.name : name ? name->name : Name()) : nullptr;
  const auto* type = known ? known->as<PieceClass>() : nullptr;
  return type ? Ref<PieceClass>(type) : Ref<PieceClass>();
}

/// `@derived_object` in front of a class.
class DerivedObject final : public eval::Object {
 public:
  static const eval::TypeTag type_tag;
  DerivedObject() : Object(&type_tag) {}
  auto is_callable() const -> bool override { return true; }
  auto call(Evaluator& evaluator, const Arguments& given) const -> std::optional<Value> override {
    return given.positional == 1 && given.all[0].value.as<PieceClass>() ? given.all[0].value : evaluator.opaque(given.call);
  }
  auto repr() const -> std::string override { return "<function derived_object>"; }
  auto decorate(Evaluator& evaluator, const syntax::Stmt& declaration, const eval::ScopeRef& scope, Origin) const -> std::optional<Value> override {
    const auto* def = declaration.as<syntax::ClassDef>();
    if (!def) { return {}; }
    Ref<PieceClass> base;
    for (const syntax::Expr* one : def->bases) {
      if (!base) { base = base_class(evaluator, *one, scope); }
    }
    // Classes of other parts of TVM (a database) are unknown.
    if (!base) { return evaluator.opaque(def->origin()); }
    PieceClass::Members members = base->members;
    // Functions do not see the names of the class around them.
    const eval::ScopeRef constants = evaluator.new_scope(scope);
    for (const syntax::Stmt* stmt : def->body) {
      if (const auto* method = stmt->as<syntax::FunctionDef>()) {
        members.emplace_back(method->name.name, evaluator.make_function(*method, scope));
        continue;
      }
      Value ignored;
      (void)evaluator.exec(*stmt, constants, ignored);
    }
    for (const auto& slot : constants->slots()) { members.push_back(slot); }
    const Origin where{def->decl, def->name.span.begin, def->name.span.end, 0};
    return value_of(eval::make_object<PieceClass>(base->kind, def->name.name, PieceClass::Origins::Written, where, std::move(members)));
  }
};
const eval::TypeTag DerivedObject::type_tag{"function"};

/// `@ls.rule`, `@ls.postproc` and `@ls.mutator` in front of a function.
class PieceDecorator final : public eval::Object {
 public:
  static const eval::TypeTag type_tag;
  explicit PieceDecorator(PieceKind k) : Object(&type_tag), kind(k) {}
  const PieceKind kind;
  auto is_callable() const -> bool override { return true; }
  auto call(Evaluator& evaluator, const Arguments& given) const -> std::optional<Value> override {
    const auto* function = given.positional == 1 && given.all.size() == 1 ? given.all[0].value.as<eval::Function>() : nullptr;
    // `@ls.rule()` is the same as `@ls.rule`.
    if (given.all.empty()) { return Value(Ref<eval::Object>(this)); }
    if (!function) {
      return evaluator.report(error(Code::WrongType, given.all[0].where).arg("expected", "a function").arg("found", eval::describe(given.all[0].value)));
    }
    Origin where = given.all[0].where;
    if (function->def) { where = {function->def->decl, function->def->name.span.begin, function->def->name.span.end, 0}; }
    return value_of(eval::make_object<Piece>(kind, function->name(), where, Ref<eval::Function>(function)));
  }
  auto repr() const -> std::string override { return "<decorator of a " + std::string(kind_text(kind)) + ">"; }
};
const eval::TypeTag PieceDecorator::type_tag{"function"};

// `ReuseType(req="must", levels=[4], scope="shared")`: a dictionary here.
auto reuse_type(Evaluator& evaluator, const Arguments& given) -> Value {
  eval::BoundArguments bound;
  if (!eval::bind_arguments(evaluator, "ReuseType", given, {{"req"}, {"levels"}, {"scope"}}, bound)) { return bound.unknown; }
  auto out = eval::make_object<eval::Dict>();
  out->set(Value::str("req"), bound.values[0].value);
  out->set(Value::str("levels"), bound.values[1].value);
  out->set(Value::str("scope"), bound.values[2].value);
  return value_of(out);
}

// `ms.tune_tir(...)` and its like.
auto tune_tir(Evaluator& evaluator, const Arguments& given) -> Value { return call_of_build_script(evaluator, given, "ms.tune_tir"); }
auto tune_tasks(Evaluator& evaluator, const Arguments& given) -> Value { return call_of_build_script(evaluator, given, "ms.tune_tasks"); }
auto compile_tir(Evaluator& evaluator, const Arguments& given) -> Value { return call_of_build_script(evaluator, given, "ms.compile_tir"); }
auto tune_context(Evaluator& evaluator, const Arguments& given) -> Value { return call_of_build_script(evaluator, given, "ms.TuneContext"); }

auto find_in(const std::vector<std::pair<Name, Value>>& all, Name name) -> const Value* {
  for (const auto& [known, value] : all) {
    if (known == name) { return &value; }
  }
  return nullptr;
}

struct Names {
  std::vector<std::pair<Name, Value>> tvm;      // TVM's pieces
  std::vector<std::pair<Name, Value>> imported; // names that files import from TVM's modules

  Names() {
    struct Kind { PieceKind kind; const char* space; const char* type; const char* base; std::vector<const char*> names; };
    const std::vector<Kind> kinds = {
        {PieceKind::ScheduleRule, "schedule_rule", "ScheduleRule", "PyScheduleRule",
         {"AddRFactor", "ApplyCustomRule", "AutoBind", "AutoInline", "CrossThreadReduction", "InlineConstantScalars", "MultiLevelTiling", "MultiLevelTilingTensorCore",
          "MultiLevelTilingWideVector", "MultiLevelTilingWithIntrin", "ParallelizeVectorizeUnroll", "RandomComputeLocation"}},
        {PieceKind::Postproc, "postproc", "Postproc", "PyPostproc",
         {"DisallowAsyncStridedMemCopy", "DisallowDynamicLoop", "RewriteCooperativeFetch", "RewriteLayout", "RewriteParallelVectorizeUnroll", "RewriteReductionBlock",
          "RewriteTensorize", "RewriteUnboundBlock", "VerifyGPUCode", "VerifyVTCMLimit"}},
        {PieceKind::Mutator, "mutator", "Mutator", "PyMutator", {"MutateComputeLocation", "MutateParallel", "MutateThreadBinding", "MutateTileSize", "MutateUnroll"}},
    };
    // Names that are not known here are unknown, not wrong: the module has many more.
    auto ms = eval::make_object<eval::Namespace>(Name("ms"), any_name);
    const Value derived = value_of(eval::make_object<DerivedObject>());
    add_member(ms, "derived_object", derived);
    auto utils = eval::make_object<eval::Namespace>(Name("ms.utils"), any_name);
    add_member(utils, "derived_object", derived);
    add_member(ms, "utils", value_of(utils));
    add_spaces(ms);
    auto integration = eval::make_object<eval::Namespace>(Name("ms.tir_integration"), any_name);
    auto tuning = eval::make_object<eval::Namespace>(Name("ms.tune"), any_name);
    auto contexts = eval::make_object<eval::Namespace>(Name("ms.tune_context"), any_name);
    const struct { const char* name; eval::Builtin::Run run; const Ref<eval::Namespace>& also; } functions[] = {
        {"tune_tir", tune_tir, integration}, {"compile_tir", compile_tir, integration}, {"tune_tasks", tune_tasks, tuning}, {"TuneContext", tune_context, contexts}};
    for (const auto& f : functions) {
      const Value value = value_of(eval::make_object<eval::Builtin>(Name(f.name), f.run));
      // TVM has `compile_tir` only in `ms.tir_integration`.
      if (std::string_view(f.name) != "compile_tir") { add_member(ms, f.name, value); }
      add_member(f.also, f.name, value);
      imported.emplace_back(Name(f.name), value);
    }
    add_member(ms, "tir_integration", value_of(integration));
    add_member(ms, "tune", value_of(tuning));
    add_member(ms, "tune_context", value_of(contexts));
    imported.emplace_back(Name("derived_object"), derived);
    for (const Kind& kind : kinds) {
      auto space = eval::make_object<eval::Namespace>(Name(std::string("ms.") + kind.space), any_name);
      const Value base = value_of(eval::make_object<PieceClass>(kind.kind, Name(kind.base), PieceClass::Origins::Base));
      add_member(space, kind.base, base);
      imported.emplace_back(Name(kind.base), base);
      for (const char* name : kind.names) {
        Value type = value_of(eval::make_object<PieceClass>(kind.kind, Name(name), PieceClass::Origins::Tvm));
        add_member(space, name, type);
        tvm.emplace_back(Name(name), std::move(type));
      }
      if (kind.kind == PieceKind::ScheduleRule) {
        const Value reuse = value_of(eval::make_object<eval::Builtin>(Name("ReuseType"), reuse_type));
        add_member(space, "ReuseType", reuse);
        tvm.emplace_back(Name("ReuseType"), reuse);
      }
      // `ms.schedule_rule.ScheduleRule` and `ms.schedule_rule.create` are other names of `ms.ScheduleRule` and its method.
      if (const Value* type = find_in(space_names(), Name(kind.type))) {
        add_member(space, kind.type, *type);
        if (auto create = type->as<eval::Namespace>()->find(Name("create"))) { add_member(space, "create", *create); }
      }
      add_member(ms, kind.space, value_of(space));
    }
    const Value model_base = value_of(eval::make_object<PieceClass>(PieceKind::CostModel, Name("PyCostModel"), PieceClass::Origins::Base));
    add_models(ms, model_base);
    imported.emplace_back(Name("PyCostModel"), model_base);
    imported.emplace_back(Name("PyTaskScheduler"), task_scheduler_base());
    add_runners(ms);
    imported.insert(imported.end(), runner_names_of_tvm().begin(), runner_names_of_tvm().end());
    imported.insert(imported.end(), model_names_of_tvm().begin(), model_names_of_tvm().end());
    tvm.insert(tvm.end(), model_names_of_tvm().begin(), model_names_of_tvm().end());
    tvm.insert(tvm.end(), space_names().begin(), space_names().end());
    // `from tvm.meta_schedule.schedule_rule import AutoInline`.
    imported.insert(imported.end(), tvm.begin(), tvm.end());
    imported.emplace_back(Name("ms"), value_of(ms));
    imported.emplace_back(Name("meta_schedule"), value_of(ms));
  }
};

auto names() -> const Names& {
  static thread_local const Names the_names;
  return the_names;
}

}  // namespace

auto tuner_name(Name name) -> const Value* { return find_in(names().imported, name); }
auto tvm_piece(Name name) -> const Value* { return find_in(names().tvm, name); }

void add_piece_decorators(eval::Namespace& ls) {
  ls.add(Name("rule"), value_of(eval::make_object<PieceDecorator>(PieceKind::ScheduleRule)));
  ls.add(Name("postproc"), value_of(eval::make_object<PieceDecorator>(PieceKind::Postproc)));
  ls.add(Name("mutator"), value_of(eval::make_object<PieceDecorator>(PieceKind::Mutator)));
}

}  // namespace loopsmith::script
