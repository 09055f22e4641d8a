// Modules: lowers a class decorated by `@I.ir_module`, with its functions and macros, to an IRModule. Also recognises declarations of programs.
#include <algorithm>
#include <unordered_set>

#include "frontend/lower.h"
#include "frontend/objects.h"
#include "support/codes.h"

namespace loopsmith::frontend {

using eval::make_object;

namespace {

// `Module.f` and `cls.f` inside of a module.
class ModuleRef final : public eval::Object {
 public:
  static const eval::TypeTag type_tag;
  std::vector<std::pair<Name, DataType>> functions;
  std::vector<std::pair<Name, Value>> macros;
  ModuleRef() : Object(&type_tag) {}
  auto get_attribute(Evaluator&, Name name, Origin) const -> std::optional<Value> override {
    for (const auto& [function, returns] : functions) {
      if (function == name) { return make_object<GlobalObject>(function, returns); }
    }
    for (const auto& [macro, value] : macros) {
      if (macro == name) { return value; }
    }
    return {};
  }
  void attribute_names(std::vector<Name>& out) const override {
    for (const auto& f : functions) { out.push_back(f.first); }
    for (const auto& m : macros) { out.push_back(m.first); }
  }
};
const eval::TypeTag ModuleRef::type_tag{"the module"};

// The last name of `T.prim_func`, `T.prim_func(private=True)`, `prim_func`.
auto decorator_name(const syntax::Expr& e) -> Name {
  if (const auto* call = e.as<syntax::CallExpr>()) { return decorator_name(*call->callee); }
  if (const auto* attribute = e.as<syntax::AttributeExpr>()) { return attribute->attr.name; }
  if (const auto* name = e.as<syntax::NameExpr>()) { return name->name; }
  return {};
}

// `@T.function`, the name of `@T.prim_func` since October 2026, and `@T.jit`. `R.function` belongs to another language.
auto is_newer_function(const syntax::Expr& e) -> bool {
  static const Name function("function"), jit("jit");
  if (const auto* call = e.as<syntax::CallExpr>()) { return is_newer_function(*call->callee); }
  const auto* attribute = e.as<syntax::AttributeExpr>();
  const auto* space = attribute ? attribute->object->as<syntax::NameExpr>() : nullptr;
  static const Name t("T"), ts("Ts"), tirx("tirx"), s_tir("s_tir");
  return space && (attribute->attr.name == function || attribute->attr.name == jit) && (space->name == t || space->name == ts || space->name == tirx || space->name == s_tir);
}

}  // namespace

auto is_program(const syntax::Stmt& declaration) -> bool {
  static const Name prim_func("prim_func"), ir_module("ir_module");
  if (const auto* f = declaration.as<syntax::FunctionDef>()) {
    return std::any_of(f->decorators.begin(), f->decorators.end(), [](const syntax::Expr* d) { return decorator_name(*d) == prim_func || is_newer_function(*d); });
  }
  if (const auto* c = declaration.as<syntax::ClassDef>()) {
    return std::any_of(c->decorators.begin(), c->decorators.end(), [](const syntax::Expr* d) { return decorator_name(*d) == ir_module; });
  }
  return false;
}

namespace {

auto is_macro(const syntax::FunctionDef& f) -> bool {
  static const Name macro("macro"), in_line("inline");
  return std::any_of(f.decorators.begin(), f.decorators.end(), [](const syntax::Expr* d) { return decorator_name(*d) == macro || decorator_name(*d) == in_line; });
}

}  // namespace

namespace {

// The functions of a module, each with the type of its result according to the text.
auto functions_of(const syntax::ClassDef& def) -> std::vector<std::pair<Name, DataType>> {
  std::vector<std::pair<Name, DataType>> out;
  for (const syntax::Stmt* stmt : def.body) {
    const auto* f = stmt->as<syntax::FunctionDef>();
    if (!f || !is_program(*f)) { continue; }
    DataType returns = DataType::void_();
    if (const auto* attribute = f->returns ? f->returns->as<syntax::AttributeExpr>() : nullptr) {
      returns = DataType::parse(attribute->attr.name.view()).value_or(returns);
    }
    out.emplace_back(f->name.name, returns);
  }
  return out;
}

// The attributes of a module: `I.module_attrs({...})`.
auto module_attributes(const syntax::Stmt& stmt) -> const syntax::Expr* {
  static const Name attrs_name("module_attrs");
  const auto* statement = stmt.as<syntax::ExprStmt>();
  const auto* call = statement ? statement->value->as<syntax::CallExpr>() : nullptr;
  return call && decorator_name(*call->callee) == attrs_name && call->args.size() == 1 ? call->args[0] : nullptr;
}

// Functions of other languages (R.function) are left out; one diagnostic names all of them.
void report_foreign(Evaluator& e, const std::vector<const syntax::FunctionDef*>& foreign) {
  if (foreign.empty()) { return; }
  constexpr size_t most_notes = 8;
  auto place = [](const syntax::FunctionDef& f) { return Origin{f.decl, f.name.span.begin, f.name.span.end, 0}; };
  Diagnostic d = error(Code::OtherLanguage, place(*foreign[0])).arg("name", foreign[0]->name.name.view());
  // The file has no error: editors do not underline hints.
  d.severity = Severity::Hint;
  for (size_t i = 1; i < foreign.size() && i <= most_notes; ++i) { (void)std::move(d).note(place(*foreign[i]), "so is `" + foreign[i]->name.name.str() + "`"); }
  if (foreign.size() > most_notes + 1) { (void)std::move(d).remedy("so are " + std::to_string(foreign.size() - most_notes - 1) + " more"); }
  e.report(std::move(d));
}

// Lowers the statements of a module's class, one after the other.
class ModuleLowering {
 public:
  ModuleLowering(Evaluator& e, const syntax::ClassDef& def, const eval::ScopeRef& scope, PartCache* parts)
      : evaluator_(e), def_(def), inner_(e.new_scope(scope)), parts_(parts), self_(make_object<ModuleRef>()) {}

  auto run() -> LoweredModule {
    size_t errors_before = evaluator_.diagnostics.size();
    static const Name cls("cls");
    fields().functions = functions_of(def_);
    inner_->set(def_.name.name, self_);
    inner_->set(cls, self_);
    define_macros();
    for (const syntax::Stmt* stmt : def_.body) {
      if (macros_.count(stmt) == 0) { statement(*stmt); }
    }
    report_foreign(evaluator_, foreign_);
    for (const syntax::FunctionDef* f : foreign_) { out_.foreign.push_back(f->name.name); }
    node_.functions = std::move(lowered_);
    out_.partial = make_module(std::move(node_));
    bool failed = false;
    for (size_t i = errors_before; i < evaluator_.diagnostics.size(); ++i) {
      failed |= evaluator_.diagnostics[i].severity == Severity::Error && evaluator_.diagnostics[i].code != Code::IndexOutOfBounds;
    }
    if (complete_ && !failed && !out_.is_opaque) { out_.module = out_.partial; }
    return std::move(out_);
  }

 private:
  auto fields() -> ModuleRef& { return const_cast<ModuleRef&>(*self_); }

  // Defines the macros of the module; its functions call them by name or through the module.
  void define_macros() {
    for (const syntax::Stmt* stmt : def_.body) {
      const auto* f = stmt->as<syntax::FunctionDef>();
      if (!f || !is_macro(*f)) { continue; }
      Value ignored;
      (void)evaluator_.exec(*f, inner_, ignored);
      macros_.insert(stmt);
      if (const Value* made = inner_->find_here(f->name.name)) { fields().macros.emplace_back(f->name.name, *made); }
    }
  }

  void statement(const syntax::Stmt& stmt) {
    const auto* f = stmt.as<syntax::FunctionDef>();
    if (f && is_program(*f)) { return function(*f); }
    if (f) { foreign_.push_back(f); return; }
    if (stmt.kind == syntax::Kind::ClassDef) {
      evaluator_.opaque(stmt.origin());
      out_.is_opaque = true;
      return;
    }
    if (const syntax::Expr* given = module_attributes(stmt)) {
      Argument dict = evaluator_.eval_argument(*given, inner_);
      if (auto attrs = dict.value.is_unknown() ? std::nullopt : to_attrs(evaluator_, dict)) { node_.attrs = std::move(*attrs); }
      return;
    }
    Value ignored;
    (void)evaluator_.exec(stmt, inner_, ignored);
  }

  void function(const syntax::FunctionDef& f) {
    FunctionOptions options;
    for (const syntax::Expr* d : f.decorators) {
      Value decorator = evaluator_.eval(*d, inner_);
      if (auto given = prim_func_options(decorator)) { options = *given; }
      else if (!decorator.is_error()) { out_.is_opaque = true; }
    }
    LoweredFunction one = lower_function(evaluator_, f, inner_, options, parts_);
    // Functions without blocks look the same in several dialects: the latest dialect among the module's functions counts.
    node_.dialect = std::max(node_.dialect, dialect_of(options, one));
    if (!options.check_well_formed) { out_.unchecked.push_back(f.name.name); }
    out_.is_opaque |= one.is_opaque;
    if (out_.thread_word.empty()) { out_.thread_word = one.thread_word; }
    complete_ &= bool(one.func);
    bool is_repeated = std::any_of(lowered_.begin(), lowered_.end(), [&](const auto& known) { return known.first == f.name.name; });
    if (is_repeated) {
      evaluator_.report(error(Code::DuplicateFunction, {f.decl, f.name.span.begin, f.name.span.end, 0}).arg("name", f.name.name.view()).remedy("rename one of them"));
      return;
    }
    if (one.partial) { lowered_.emplace_back(f.name.name, one.func ? one.func : one.partial); }
  }

  Evaluator& evaluator_;
  const syntax::ClassDef& def_;
  eval::ScopeRef inner_;
  PartCache* parts_;
  Ref<ModuleRef> self_;                                    // `Module` and `cls` inside of it
  std::unordered_set<const syntax::Stmt*> macros_;
  std::vector<const syntax::FunctionDef*> foreign_;        // of other languages
  std::vector<std::pair<Name, PrimFunc>> lowered_;
  IRModuleNode node_;
  LoweredModule out_;
  bool complete_ = true;                                   // every function could be lowered
};

}  // namespace

auto lower_module(Evaluator& e, const syntax::ClassDef& def, const eval::ScopeRef& scope, PartCache* parts) -> LoweredModule {
  return ModuleLowering(e, def, scope, parts).run();
}

}  // namespace loopsmith::frontend
