// Programs inside of Python functions and classes: see inner_programs.h.
#include "frontend/inner_programs.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "frontend/objects.h"
#include "frontend/well_formed.h"
#include "support/codes.h"
#include "support/guards.h"

namespace loopsmith::frontend {

using namespace syntax;

namespace {

// The most evaluation steps of one statement around programs: enough for a constant or a small table.
constexpr uint64_t steps_around = 100'000;
constexpr int deepest_block = 100;

void target_names(const syntax::Expr& target, std::vector<Name>& out) {
  if (const auto* name = target.as<NameExpr>()) { out.push_back(name->name); return; }
  if (const auto* star = target.as<StarredExpr>()) { return target_names(*star->value, out); }
  if (const auto* tuple = target.as<TupleExpr>()) {
    for (ExprPtr e : tuple->elements) { target_names(*e, out); }
  }
  if (const auto* list = target.as<ListExpr>()) {
    for (ExprPtr e : list->elements) { target_names(*e, out); }
  }
}

auto last_name(const syntax::Expr& e) -> Name {
  if (const auto* call = e.as<CallExpr>()) { return last_name(*call->callee); }
  if (const auto* attribute = e.as<AttributeExpr>()) { return attribute->attr.name; }
  if (const auto* name = e.as<NameExpr>()) { return name->name; }
  return {};
}

// `def before(A: T.Buffer(...))` in a class that derives from a comparison: the metaclass makes programs of such functions.
auto is_bare_program(const FunctionDef& def, const ClassDef* owner) -> bool {
  static const Name t("T"), before("before"), expected("expected");
  if (!owner || owner->bases.empty() || !def.decorators.empty()) { return false; }
  if (def.params.empty()) { return def.name.name == before || def.name.name == expected; }
  for (const Param& p : def.params) {
    const syntax::Expr* annotation = p.annotation;
    if (annotation) {
      if (const auto* call = annotation->as<CallExpr>()) { annotation = call->callee; }
    }
    const auto* member = annotation ? annotation->as<AttributeExpr>() : nullptr;
    const auto* space = member ? member->object->as<NameExpr>() : nullptr;
    if (!space || !(space->name == t)) { return false; }
  }
  return true;
}

auto any_program(const syntax::Block& block, const ClassDef* owner, int depth) -> bool;

auto any_program(const syntax::Stmt& stmt, const ClassDef* owner, int depth) -> bool {
  if (depth > deepest_block) { return false; }
  if (is_program(stmt)) { return true; }
  switch (stmt.kind) {
    case Kind::FunctionDef: {
      const auto& def = static_cast<const FunctionDef&>(stmt);
      return is_bare_program(def, owner) || any_program(def.body, nullptr, depth + 1);
    }
    case Kind::ClassDef: return any_program(static_cast<const ClassDef&>(stmt).body, &static_cast<const ClassDef&>(stmt), depth + 1);
    case Kind::If: return any_program(static_cast<const IfStmt&>(stmt).then, owner, depth + 1) || any_program(static_cast<const IfStmt&>(stmt).otherwise, owner, depth + 1);
    case Kind::For: return any_program(static_cast<const ForStmt&>(stmt).body, owner, depth + 1) || any_program(static_cast<const ForStmt&>(stmt).otherwise, owner, depth + 1);
    case Kind::While: return any_program(static_cast<const WhileStmt&>(stmt).body, owner, depth + 1) || any_program(static_cast<const WhileStmt&>(stmt).otherwise, owner, depth + 1);
    case Kind::With: return any_program(static_cast<const WithStmt&>(stmt).body, owner, depth + 1);
    default: return false;
  }
}
auto any_program(const syntax::Block& block, const ClassDef* owner, int depth) -> bool {
  for (StmtPtr s : block) {
    if (any_program(*s, owner, depth)) { return true; }
  }
  return false;
}

// Evaluates an expression only to get its value: within few steps, and without reports.
template <class F>
void quietly(eval::Evaluator& evaluator, F&& f) {
  WithoutReports unreported(evaluator.diagnostics);
  Temporarily opaque_at(evaluator.opaque_at);
  Temporarily limit(evaluator.limits.steps, steps_around);
  evaluator.reset_steps();
  f();
  evaluator.reset_steps();
}

auto elements(const syntax::Expr& e) -> const syntax::List<ExprPtr>* {
  if (const auto* list = e.as<ListExpr>()) { return &list->elements; }
  const auto* tuple = e.as<TupleExpr>();
  return tuple ? &tuple->elements : nullptr;
}
auto split_names(std::string_view text) -> std::vector<Name> {
  std::vector<Name> out;
  std::string word;
  for (char c : text) {
    if (c == ',') { out.emplace_back(std::exchange(word, {})); }
    else if (c != ' ') { word += c; }
  }
  if (!word.empty()) { out.emplace_back(word); }
  return out;
}

// `@pytest.mark.parametrize("extent, dtype", [(4, "float32"), ...])`: the value for the name in the first row; null: there is none.
auto first_of_test(const syntax::Expr& decorator, Name name) -> const syntax::Expr* {
  static const Name parametrize("parametrize");
  const auto* call = decorator.as<CallExpr>();
  if (!call || !(last_name(*call->callee) == parametrize) || call->args.size() < 2) { return nullptr; }
  std::vector<Name> names;
  if (const auto* text = call->args[0]->as<StringExpr>()) { names = split_names(text->value); }
  else if (const auto* items = elements(*call->args[0])) {
    for (ExprPtr item : *items) {
      if (const auto* one = item->as<StringExpr>()) { names.emplace_back(one->value); }
    }
  }
  auto at = std::find(names.begin(), names.end(), name);
  const auto* rows = elements(*call->args[1]);
  if (at == names.end() || !rows || rows->empty()) { return nullptr; }
  const syntax::Expr* row = (*rows)[0];
  if (names.size() == 1) { return last_name(*row) == Name("param") && row->as<CallExpr>() ? nullptr : row; }
  const auto* columns = elements(*row);
  auto column = static_cast<size_t>(at - names.begin());
  return columns && columns->size() == names.size() ? (*columns)[column] : nullptr;
}

// The argument of a call for a parameter; null: it has none, or it cannot be determined.
auto argument_for(const CallExpr& call, const FunctionDef& def, const Param& p) -> const syntax::Expr* {
  for (const Keyword& k : call.keywords) {
    if (k.name.name.empty() || k.name.name == p.name.name) { return k.name.name.empty() ? nullptr : k.value; }
  }
  size_t index = 0;
  for (; index < def.params.size() && &def.params[index] != &p; ++index) {
    if (def.params[index].kind != ParamKind::Plain) { return nullptr; }
  }
  if (index >= call.args.size()) { return nullptr; }
  bool is_sure = std::none_of(call.args.begin(), call.args.begin() + static_cast<std::ptrdiff_t>(index) + 1, [](const syntax::Expr* e) { return e->as<StarredExpr>(); });
  return is_sure ? call.args[index] : nullptr;
}

// Calls of the function by its name, in the order of the text, without those that `pytest.raises` expects to fail.
auto calls_of(Name function, const syntax::Stmt& root) -> std::vector<const CallExpr*> {
  constexpr size_t most = 16;
  static const Name raises("raises");
  std::vector<const CallExpr*> out;
  walk(root, [&](const Node& node) {
    if (out.size() >= most) { return false; }
    if (const auto* with = node.as<WithStmt>()) {
      if (std::any_of(with->items.begin(), with->items.end(), [](const WithItem& item) { return last_name(*item.context) == raises; })) { return false; }
    }
    const auto* call = node.as<CallExpr>();
    const auto* callee = call ? call->callee->as<NameExpr>() : nullptr;
    if (callee && callee->name == function) { out.push_back(call); }
    return true;
  });
  return out;
}

class Reader {
 public:
  Reader(eval::Evaluator& evaluator, std::vector<const syntax::Stmt*> roots, std::vector<InnerProgram>& out) : evaluator_(evaluator), roots_(std::move(roots)), out_(out) {}

  void block(const syntax::Block& block, const eval::ScopeRef& scope, const ClassDef* owner, const eval::ScopeRef& around) {
    for (StmtPtr s : block) { statement(*s, scope, owner, around); }
  }

  // `around`: the scope that nested functions see; in a class this is not the scope of the class.
  void statement(const syntax::Stmt& stmt, const eval::ScopeRef& scope, const ClassDef* owner, const eval::ScopeRef& around) {
    if (depth_ > deepest_block) { return; }
    ++depth_;
    on_statement(stmt, scope, owner, around);
    --depth_;
  }

 private:
  void on_statement(const syntax::Stmt& stmt, const eval::ScopeRef& scope, const ClassDef* owner, const eval::ScopeRef& around) {
    switch (stmt.kind) {
      case Kind::FunctionDef: {
        const auto& def = static_cast<const FunctionDef&>(stmt);
        return perhaps_wrong(def.decorators, [&] { function(def, scope, owner, around); });
      }
      case Kind::ClassDef: {
        const auto& def = static_cast<const ClassDef&>(stmt);
        return perhaps_wrong(def.decorators, [&] { a_class(def, scope); });
      }
      case Kind::If: {
        // Reads both branches. If the condition is known, reads the other branch with unknown values.
        const auto& s = static_cast<const IfStmt&>(stmt);
        if (!any_program(stmt, owner, 0)) { return around_it(stmt, scope); }
        std::optional<bool> taken = known_truth(*s.condition, scope);
        bool is_then = taken.value_or(true);
        const syntax::Block& other = is_then ? s.otherwise : s.then;
        eval::ScopeRef elsewhere = taken ? with_unknown(scope) : scope;
        block(other, elsewhere, owner, taken && around == scope ? elsewhere : around);
        return block(is_then ? s.then : s.otherwise, scope, owner, around);
      }
      case Kind::For: {
        const auto& s = static_cast<const ForStmt&>(stmt);
        if (!any_program(stmt, owner, 0)) { return around_it(stmt, scope); }
        // Reads the body once, with the first value.
        unknown_names(stmt, scope);
        quietly([&] {
          Argument values = evaluator_.eval_argument(*s.iterable, scope);
          auto items = values.value.is_unknown() ? std::nullopt : evaluator_.iterate(values);
          if (items && !items->empty()) { (void)evaluator_.assign(*s.target, {items->front(), s.target->origin(), {}}, scope); }
        });
        block(s.body, scope, owner, around);
        return block(s.otherwise, scope, owner, around);
      }
      case Kind::While:
        block(static_cast<const WhileStmt&>(stmt).body, scope, owner, around);
        return block(static_cast<const WhileStmt&>(stmt).otherwise, scope, owner, around);
      case Kind::With: {
        const auto& s = static_cast<const WithStmt&>(stmt);
        static const Name raises("raises");
        bool is_wrong = false;
        for (const WithItem& item : s.items) {
          is_wrong |= last_name(*item.context) == raises;
          if (item.target) { unknown_target(*item.target, scope); }
        }
        std::optional<WithoutReports> unreported;
        if (is_wrong) { unreported.emplace(evaluator_.diagnostics); }
        size_t made = out_.size();
        block(s.body, scope, owner, around);
        if (is_wrong) { out_.resize(made); }
        return;
      }
      case Kind::ExprStmt: case Kind::Return: case Kind::Assert: case Kind::Pass: return;
      case Kind::ImportFrom:
        for (const ImportName& n : static_cast<const ImportFromStmt&>(stmt).names) {
          const Value* known = n.path.empty() ? nullptr : imported(static_cast<const ImportFromStmt&>(stmt), n);
          if (known) { scope->set(n.alias.name.empty() ? n.path.front().name : n.alias.name, *known); }
          else { around_it(stmt, scope); }
        }
        return;
      default: return around_it(stmt, scope);
    }
  }

  // A test marked with `xfail` is wrong on purpose: its errors are not reported.
  template <class Decorators, class F>
  void perhaps_wrong(const Decorators& decorators, F&& read) {
    static const Name xfail("xfail");
    bool is_wrong = std::any_of(decorators.begin(), decorators.end(), [](const syntax::Expr* d) { return last_name(*d) == xfail; });
    std::optional<WithoutReports> unreported;
    if (is_wrong) { unreported.emplace(evaluator_.diagnostics); }
    auto made = static_cast<std::ptrdiff_t>(out_.size());
    read();
    if (!is_wrong) { return; }
    out_.erase(std::remove_if(out_.begin() + made, out_.end(), [](const InnerProgram& p) { return p.has_errors; }), out_.end());
  }

  // For a statement that is not a program: binds its names to their values, or to unknown values if the evaluation fails.
  void around_it(const syntax::Stmt& stmt, const eval::ScopeRef& scope) {
    std::vector<Name> names;
    bound_names(stmt, names);
    if (names.empty()) { return; }
    bool good = false;
    quietly([&] {
      Value ignored;
      eval::Flow flow = evaluator_.exec(stmt, scope, ignored);
      good = flow == eval::Flow::Next;
    });
    for (Name name : names) {
      const Value* value = scope->find_here(name);
      if (!good || !value || value->is_error()) { scope->set(name, Value::opaque()); }
    }
  }
  void unknown_names(const syntax::Stmt& stmt, const eval::ScopeRef& scope) {
    std::vector<Name> names;
    bound_names(stmt, names);
    for (Name name : names) { scope->set(name, Value::opaque()); }
  }
  void unknown_target(const syntax::Expr& target, const eval::ScopeRef& scope) {
    std::vector<Name> names;
    target_names(target, names);
    for (Name name : names) { scope->set(name, Value::opaque()); }
  }

  auto known_truth(const syntax::Expr& condition, const eval::ScopeRef& scope) -> std::optional<bool> {
    std::optional<bool> out;
    quietly([&] {
      Argument value = evaluator_.eval_argument(condition, scope);
      if (!value.value.is_unknown()) { out = evaluator_.truth(value); }
    });
    return out;
  }
  // A scope for the branch that is not taken: all names except those of functions are unknown.
  auto with_unknown(const eval::ScopeRef& scope) -> eval::ScopeRef {
    eval::ScopeRef out = evaluator_.new_scope(scope);
    for (const auto& [name, value] : scope ? scope->slots() : std::vector<std::pair<Name, Value>>()) {
      const eval::Object* object = value.object();
      if (!object || !object->is_callable()) { out->set(name, Value::opaque()); }
    }
    return out;
  }

  template <class F>
  void quietly(F&& f) { frontend::quietly(evaluator_, std::forward<F>(f)); }

  auto path(Name name) const -> Name {
    std::string out;
    for (Name part : path_) { out += part.str() + "."; }
    return Name(out + name.str());
  }

  void function(const FunctionDef& def, const eval::ScopeRef& scope, const ClassDef* owner, const eval::ScopeRef& around) {
    bool is_bare = is_bare_program(def, owner);
    if (is_bare || is_program(def)) { return program(def, scope, is_bare); }
    if (!any_program(def.body, nullptr, 0)) { return around_it(def, scope); }
    // The function itself can be called by statements around programs.
    around_it(def, scope);
    eval::ScopeRef inner = evaluator_.new_scope(around);
    bool is_known = true;
    for (const Param& p : def.params) {
      if (p.name.name.empty()) { continue; }
      Value first = first_value(evaluator_, def, p, scope);
      is_known &= !first.is_opaque();
      inner->set(p.name.name, std::move(first));
    }
    if (!is_known && owner == nullptr) { set_from_call(def, scope, inner); }
    path_.push_back(def.name.name);
    block(def.body, inner, nullptr, inner);
    path_.pop_back();
  }

  // Sets the parameters without a value from the first call whose arguments are all known.
  void set_from_call(const FunctionDef& def, const eval::ScopeRef& scope, const eval::ScopeRef& inner) {
    for (const syntax::Stmt* root : roots_) {
      for (const CallExpr* call : calls_of(def.name.name, *root)) {
        std::vector<std::pair<Name, Value>> values;
        bool is_known = true;
        for (const Param& p : def.params) {
          const Value* has = inner->find_here(p.name.name);
          if (p.name.name.empty() || (has && !has->is_opaque())) { continue; }
          const syntax::Expr* given = p.kind == ParamKind::Plain ? argument_for(*call, def, p) : nullptr;
          Value value = Value::opaque();
          if (given) { quietly([&] { value = evaluator_.eval(*given, scope); }); }
          is_known &= !value.is_unknown() && !value.is_none();
          values.emplace_back(p.name.name, std::move(value));
        }
        if (!is_known) { continue; }
        for (auto& [name, value] : values) { inner->set(name, std::move(value)); }
        return;
      }
    }
  }

  void program(const FunctionDef& def, const eval::ScopeRef& scope, bool is_bare) {
    size_t known = evaluator_.diagnostics.size();
    Origin where{def.decl, def.name.span.begin, def.name.span.end, 0};
    FunctionOptions options;
    options.check_well_formed = !is_bare;
    if (!is_bare) {
      // The decorator next to the function makes the program; those above it (of test runners) get the program.
      Argument decorator = evaluator_.eval_argument(*def.decorators[def.decorators.size() - 1], scope);
      auto given = prim_func_options(decorator.value);
      if (!given) {
        scope->set(def.name.name, Value::opaque());
        if (!decorator.value.is_error()) { evaluator_.report(not_checked(def.name.name, Name(), decorator.where, decorator.where)); }
        return;
      }
      options = *given;
    }
    Temporarily opaque_at(evaluator_.opaque_at, Origin());
    LoweredFunction lowered = lower_function(evaluator_, def, scope, options);
    if (lowered.is_opaque) { evaluator_.report(not_checked(def.name.name, lowered.thread_word, where, evaluator_.opaque_at)); }
    Dialect dialect = dialect_of(options, lowered);
    InnerProgram out;
    out.name = path(def.name.name);
    out.is_function = true;
    out.where = where;
    if (lowered.partial) { out.partial = module_of(lowered.partial, dialect); }
    if (lowered.func) {
      out.module = out.partial;
      if (options.check_well_formed) { check(lowered.func, options.rebinds_names); }
    }
    scope->set(def.name.name, out.module ? Value(eval::make_object<ProgramObject>(out.module, def.name.name, true, where)) : Value::opaque());
    add(std::move(out), known, lowered.is_opaque);
  }

  void a_class(const ClassDef& def, const eval::ScopeRef& scope) {
    if (is_program(def)) {
      size_t before = evaluator_.diagnostics.size();
      bool known = false;
      bool is_checked = true;
      quietly([&] {
        for (ExprPtr d : def.decorators) {
          Value decorator = evaluator_.eval(*d, scope);
          known |= is_module_decorator(decorator);
          is_checked &= checks_module(decorator);
        }
      });
      const Origin where{def.decl, def.name.span.begin, def.name.span.end, 0};
      if (!known) {
        scope->set(def.name.name, Value::opaque());
        evaluator_.report(not_checked(def.name.name, Name(), where, {}));
        return;
      }
      Temporarily opaque_at(evaluator_.opaque_at, Origin());
      LoweredModule lowered = lower_module(evaluator_, def, scope);
      if (lowered.is_opaque) { evaluator_.report(not_checked(def.name.name, lowered.thread_word, where, evaluator_.opaque_at)); }
      InnerProgram out;
      out.name = path(def.name.name);
      out.where = where;
      out.partial = lowered.partial;
      out.module = lowered.module;
      if (lowered.module) {
        for (const auto& [name, func] : lowered.module->functions) {
          if (is_checked && std::find(lowered.unchecked.begin(), lowered.unchecked.end(), name) == lowered.unchecked.end()) { check(func); }
        }
      }
      scope->set(def.name.name, out.module ? Value(eval::make_object<ProgramObject>(out.module, def.name.name, false, out.where, std::move(lowered.foreign))) : Value::opaque());
      return add(std::move(out), before, lowered.is_opaque);
    }
    eval::ScopeRef inner = evaluator_.new_scope(scope);
    path_.push_back(def.name.name);
    block(def.body, inner, &def, scope);
    path_.pop_back();
    scope->set(def.name.name, Value::opaque());
  }

  void check(const PrimFunc& func, bool is_newer = false) {
    Diagnostics found = well_formed(func, nullptr, is_newer);
    evaluator_.diagnostics.insert(evaluator_.diagnostics.end(), std::make_move_iterator(found.begin()), std::make_move_iterator(found.end()));
  }
  void add(InnerProgram program, size_t known, bool is_opaque) {
    for (size_t i = known; i < evaluator_.diagnostics.size(); ++i) { program.has_errors |= evaluator_.diagnostics[i].severity == Severity::Error; }
    // A program that depends on unknown values is not shown, since its shape may differ.
    if (is_opaque) { program.module = program.partial = {}; }
    out_.push_back(std::move(program));
  }

  eval::Evaluator& evaluator_;
  std::vector<const syntax::Stmt*> roots_;   // the statements that may call functions
  std::vector<InnerProgram>& out_;
  std::vector<Name> path_;
  int depth_ = 0;
};

}  // namespace

void bound_names(const syntax::Stmt& stmt, std::vector<Name>& out, int depth) {
  if (depth > 200) { return; }
  auto all = [&](const syntax::Block& block) {
    for (StmtPtr s : block) { bound_names(*s, out, depth + 1); }
  };
  switch (stmt.kind) {
    case Kind::FunctionDef: out.push_back(static_cast<const FunctionDef&>(stmt).name.name); break;
    case Kind::ClassDef: out.push_back(static_cast<const ClassDef&>(stmt).name.name); break;
    case Kind::Assign:
      for (ExprPtr t : static_cast<const AssignStmt&>(stmt).targets) { target_names(*t, out); }
      break;
    case Kind::AnnAssign: target_names(*static_cast<const AnnAssignStmt&>(stmt).target, out); break;
    case Kind::AugAssign: target_names(*static_cast<const AugAssignStmt&>(stmt).target, out); break;
    case Kind::Import:
      for (const ImportName& n : static_cast<const ImportStmt&>(stmt).names) {
        if (n.alias.name.empty() && n.path.empty()) { continue; }
        out.push_back(n.alias.name.empty() ? n.path.front().name : n.alias.name);
      }
      break;
    case Kind::ImportFrom:
      for (const ImportName& n : static_cast<const ImportFromStmt&>(stmt).names) {
        if (n.alias.name.empty() && n.path.empty()) { continue; }
        out.push_back(n.alias.name.empty() ? n.path.front().name : n.alias.name);
      }
      break;
    case Kind::If:
      all(static_cast<const IfStmt&>(stmt).then);
      all(static_cast<const IfStmt&>(stmt).otherwise);
      break;
    case Kind::For:
      target_names(*static_cast<const ForStmt&>(stmt).target, out);
      all(static_cast<const ForStmt&>(stmt).body);
      all(static_cast<const ForStmt&>(stmt).otherwise);
      break;
    case Kind::While:
      all(static_cast<const WhileStmt&>(stmt).body);
      all(static_cast<const WhileStmt&>(stmt).otherwise);
      break;
    case Kind::With:
      for (const WithItem& item : static_cast<const WithStmt&>(stmt).items) {
        if (item.target) { target_names(*item.target, out); }
      }
      all(static_cast<const WithStmt&>(stmt).body);
      break;
    case Kind::OpaqueStmt:
      for (const Identifier& n : static_cast<const OpaqueStmt&>(stmt).binds) { out.push_back(n.name); }
      break;
    case Kind::BrokenStmt:
      for (ExprPtr part : static_cast<const BrokenStmt&>(stmt).parts) { target_names(*part, out); }
      all(static_cast<const BrokenStmt&>(stmt).body);
      break;
    default: break;
  }
}

auto first_value(eval::Evaluator& evaluator, const FunctionDef& def, const Param& p, const eval::ScopeRef& scope) -> Value {
  if (p.kind != ParamKind::Plain) { return Value::opaque(); }
  Value out = Value::opaque();
  const syntax::Expr* given = p.default_value;
  for (ExprPtr d : def.decorators) {
    if (const syntax::Expr* first = first_of_test(*d, p.name.name)) { given = first; }
  }
  if (given) {
    quietly(evaluator, [&] { out = evaluator.eval(*given, scope); });
  } else {
    const Value* known = scope ? scope->find_here(p.name.name) : nullptr;
    std::optional<Value> global;
    if (!known && evaluator.globals) { global = evaluator.globals->lookup(evaluator, p.name.name, def.origin()); }
    const auto* fixture = known ? known->as<FixtureObject>() : global ? global->as<FixtureObject>() : nullptr;
    if (fixture) { out = fixture->first; }
  }
  // `None` counts as no value: code below replaces it by another value.
  return out.is_unknown() || out.is_none() ? Value::opaque() : out;
}

auto has_programs_inside(const syntax::Stmt& stmt) -> bool { return !is_program(stmt) && any_program(stmt, nullptr, 0); }

auto programs_inside(eval::Evaluator& evaluator, const syntax::Stmt& stmt, const std::vector<const syntax::Stmt*>& callers) -> std::vector<InnerProgram> {
  std::vector<InnerProgram> out;
  eval::ScopeRef scope = evaluator.new_scope({});
  std::vector<const syntax::Stmt*> roots{&stmt};
  roots.insert(roots.end(), callers.begin(), callers.end());
  Reader(evaluator, std::move(roots), out).statement(stmt, scope, nullptr, {});
  return out;
}

}  // namespace loopsmith::frontend
