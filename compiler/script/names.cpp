// Checks names and calls in the text of schedules: see names.h.
#include "script/names.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "eval/evaluator.h"
#include "frontend/inner_programs.h"
#include "frontend/objects.h"
#include "schedule/moves.h"
#include "script/objects.h"
#include "script/run.h"
#include "script/schedules.h"
#include "support/codes.h"
#include "support/hash.h"
#include "support/text.h"
#include "syntax/schedule_form.h"

namespace loopsmith::script {
namespace {

using namespace syntax;
using syntax::AssertStmt;
using syntax::Block;
using syntax::Expr;
using syntax::Stmt;
using NameSet = std::unordered_set<Name>;

// Calls a function for each word of a text that may be a name.
template <class F>
void each_word(std::string_view text, F&& f) {
  for (size_t at = 0; at < text.size();) {
    size_t begin = at;
    at = name_end(text, at);
    if (at > begin) { f(Name(text.substr(begin, at - begin))); } else { ++at; }
  }
}

// True if the text calls a function with that name.
auto has_call(std::string_view text, std::string_view name) -> bool {
  for (size_t at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1)) {
    bool begins = at == 0 || !is_name_part(text[at - 1]);
    size_t behind = text.find_first_not_of(' ', at + name.size());
    if (begins && behind != std::string_view::npos && text[behind] == '(') { return true; }
  }
  return false;
}

// Adds the names of `global a, b` and `nonlocal a, b`, at any place in the text.
void add_declared(std::string_view text, std::string_view keyword, NameSet& out) {
  for (size_t at = text.find(keyword); at != std::string_view::npos; at = text.find(keyword, at + 1)) {
    size_t begin = at + keyword.size();
    std::string_view line = text.substr(begin, text.find('\n', begin) - begin);
    if ((at == 0 || !is_name_part(text[at - 1])) && !line.empty() && (line[0] == ' ' || line[0] == '\\')) { each_word(line, [&](Name name) { out.insert(name); }); }
  }
}

// Adds the names of `name := value`.
void add_walrus(std::string_view text, NameSet& out) {
  for (size_t at = text.find(":="); at != std::string_view::npos; at = text.find(":=", at + 1)) {
    size_t end = at;
    while (end > 0 && text[end - 1] == ' ') { --end; }
    size_t begin = name_begin(text, end);
    if (begin < end) { out.insert(Name(text.substr(begin, end - begin))); }
  }
}

// True if the text may bind names in ways that are not supported here.
auto is_dynamic(std::string_view text) -> bool {
  for (std::string_view name : {"exec", "globals", "locals", "vars", "setattr"}) {
    if (has_call(text, name)) { return true; }
  }
  for (std::string_view part : {"__dict__", "builtins", "sys.modules", "global_enum", "_convert_"}) {
    if (text.find(part) != std::string_view::npos) { return true; }
  }
  for (size_t at = text.find("import"); at != std::string_view::npos; at = text.find("import", at + 1)) {
    size_t after = text.find_first_not_of(" \t\\\n(", at + 6);
    if (after != std::string_view::npos && text[after] == '*') { return true; }
  }
  return false;
}

// True for imports from TVM: `import tvm...`, `from tvm... import ...`.
auto is_of_tvm(const Stmt& stmt) -> bool {
  static const Name tvm("tvm");
  if (const auto* from = stmt.as<ImportFromStmt>()) { return from->level == 0 && !from->module.empty() && from->module[0].name == tvm; }
  const auto* import = stmt.as<ImportStmt>();
  return import && std::all_of(import->names.begin(), import->names.end(), [](const ImportName& one) { return !one.path.empty() && one.path[0].name == tvm; });
}

auto item_names(const ItemPtr& item) -> Names::Item {
  Names::Item out{.item = item, .bound = {}, .foreign = {}, .is_dynamic = false};
  // A program, which may be long, binds only its own name.
  if (!item->statements.empty() && frontend::is_program(*item->statements[0])) {
    frontend::bound_names(*item->statements[0], out.bound);
    out.foreign = out.bound;
    return out;
  }
  out.is_dynamic = is_dynamic(item->text);
  NameSet more;
  add_declared(item->text, "global", more);
  bool is_definition = item->kind == ItemKind::Function || item->kind == ItemKind::Class;
  if (!is_definition) { add_walrus(item->text, more); }
  // Each word of a broken statement may be a name that it binds.
  if (!is_definition && item->has_error) { each_word(item->text, [&](Name name) { more.insert(name); }); }
  for (StmtPtr stmt : item->statements) {
    size_t before = out.bound.size();
    frontend::bound_names(*stmt, out.bound);
    if (!is_of_tvm(*stmt)) { out.foreign.insert(out.foreign.end(), out.bound.begin() + static_cast<std::ptrdiff_t>(before), out.bound.end()); }
  }
  out.bound.insert(out.bound.end(), more.begin(), more.end());
  return out;
}

// The meanings of names outside of a body.
struct Around {
  NameSet bound;
  NameSet foreign;
  bool is_dynamic = false;
  uint64_t hash = 0;
};

auto names_around(const std::vector<const Names::Item*>& items, size_t before, size_t self) -> Around {
  Around out;
  for (size_t i = 0; i < items.size(); ++i) {
    out.is_dynamic |= items[i]->is_dynamic;
    if (i >= before || i == self) { continue; }
    out.bound.insert(items[i]->bound.begin(), items[i]->bound.end());
    out.foreign.insert(items[i]->foreign.begin(), items[i]->foreign.end());
  }
  // The sum is independent of the order of the sets.
  for (Name name : out.bound) { out.hash += hash_combine(1, hash_bytes(name.view())); }
  for (Name name : out.foreign) { out.hash += hash_combine(2, hash_bytes(name.view())); }
  out.hash = hash_combine(out.hash, out.is_dynamic ? 1 : 0);
  return out;
}

// Nesting deeper than in hand-written code.
constexpr int deepest = 300;

// Reads one body in the order in which it runs.
class Reader {
 public:
  Reader(const syntax::Item& item, const Around& around, Names::Found& out) : text_(item.text), around_(around), out_(out) {}

  // Reads a function; `handed`: its parameters that are known to receive schedules.
  void function(const FunctionDef& def, const NameSet& handed) {
    look_over(def);
    function_body(def, handed);
  }

  // Reads statements at the top of the file.
  void statements(const Block& body) {
    for (StmtPtr stmt : body) { look_over(*stmt); }
    Scope scope;
    begin(scope, body, {}, {});
    block(body);
    scope_ = scope.around;
  }

 private:
  struct Scope {
    Scope* around = nullptr;
    NameSet bound;       // names bound anywhere in it
    NameSet maybe;       // names bound on some path to this place
    NameSet schedules;   // names that only ever hold schedules
    bool runs = true;    // it runs now; otherwise after any statement of the enclosing scopes
  };

  // Records names that may be bound in ways that are not supported, and guards against missing attributes.
  void look_over(const Stmt& stmt) {
    std::string_view own = text_of(stmt.span);
    add_declared(own, "global", always_);
    add_declared(own, "nonlocal", always_);
    add_walrus(own, always_);
    asks_for_attributes_ = asks_for_attributes_ || has_call(own, "hasattr") || has_call(own, "getattr") || has_call(own, "isinstance") || has_call(own, "type");
    walk(stmt, [&](const Node& node) {
      if (node.kind == Kind::BrokenStmt || node.kind == Kind::BrokenExpr) { each_word(text_of(node.span), [&](Name name) { always_.insert(name); }); }
      if (const auto* assign = node.as<AssignStmt>()) {
        for (ExprPtr target : assign->targets) {
          if (const auto* attribute = target->as<AttributeExpr>()) { given_attributes_.insert(attribute->attr.name); }
        }
      }
      if (!node.is_expr() && is_of_tvm(static_cast<const Stmt&>(node))) {
        std::vector<Name> names;
        frontend::bound_names(static_cast<const Stmt&>(node), names);
        of_tvm_.insert(names.begin(), names.end());
      }
      return true;
    });
  }

  auto text_of(Span span) const -> std::string_view { return span.end <= text_.size() && span.begin <= span.end ? text_.substr(span.begin, span.end - span.begin) : std::string_view(); }

  // ---- scopes ----------------------------------------------------------------------------------------------------

  void begin(Scope& scope, const Block& body, const List<Param>& params, const NameSet& handed) {
    scope.around = scope_;
    std::vector<Name> names;
    for (StmtPtr stmt : body) { frontend::bound_names(*stmt, names); }
    scope.bound.insert(names.begin(), names.end());
    std::map<Name, std::ptrdiff_t> made;   // the number of times that a name is bound to a schedule
    for (const Param& param : params) {
      if (param.name.name.empty()) { continue; }
      scope.bound.insert(param.name.name);
      scope.maybe.insert(param.name.name);
      names.push_back(param.name.name);
      if (handed.contains(param.name.name)) { ++made[param.name.name]; }
    }
    scope_ = &scope;
    count_made(body, made, deepest);
    for (const auto& [name, times] : made) {
      if (!always_.contains(name) && std::count(names.begin(), names.end(), name) == times) { scope.schedules.insert(name); }
    }
  }

  void count_made(const Block& body, std::map<Name, std::ptrdiff_t>& made, int depth) const {
    if (depth == 0) { return; }
    for (StmtPtr stmt : body) {
      const Expr* value = nullptr;
      const Expr* target = nullptr;
      if (const auto* assign = stmt->as<AssignStmt>(); assign && assign->targets.size() == 1) { value = assign->value; target = assign->targets[0]; }
      if (const auto* assign = stmt->as<AnnAssignStmt>()) { value = assign->value; target = assign->target; }
      const auto* name = target ? target->as<NameExpr>() : nullptr;
      if (name && value && makes_schedule(*value)) { ++made[name->name]; }
      if (const auto* branch = stmt->as<IfStmt>()) { count_made(branch->then, made, depth - 1); count_made(branch->otherwise, made, depth - 1); }
      if (const auto* loop = stmt->as<ForStmt>()) { count_made(loop->body, made, depth - 1); count_made(loop->otherwise, made, depth - 1); }
      if (const auto* loop = stmt->as<WhileStmt>()) { count_made(loop->body, made, depth - 1); count_made(loop->otherwise, made, depth - 1); }
      if (const auto* with = stmt->as<WithStmt>()) { count_made(with->body, made, depth - 1); }
    }
  }

  // `tir.Schedule(program)`, of TVM's namespaces.
  auto makes_schedule(const Expr& value) const -> bool {
    const auto* call = value.as<CallExpr>();
    return call && is_schedule_made(*call) && !makes_stages(*call) && is_tvms(*call->callee);
  }
  // `tir.Schedule` where `tir` is TVM's.
  auto is_tvms(const Expr& named) const -> bool {
    const Expr* root = &named;
    while (const auto* attribute = root->as<AttributeExpr>()) { root = attribute->object; }
    const auto* name = root->as<NameExpr>();
    if (!name) { return false; }
    for (const Scope* scope = scope_; scope; scope = scope->around) {
      if (scope->bound.contains(name->name)) { return of_tvm_.contains(name->name); }
    }
    return !around_.foreign.contains(name->name);
  }

  auto holds_schedule(const Expr& e) const -> bool {
    const auto* name = e.as<NameExpr>();
    if (!name) { return false; }
    for (const Scope* scope = scope_; scope; scope = scope->around) {
      if (scope->bound.contains(name->name)) { return scope->schedules.contains(name->name); }
    }
    return false;
  }

  auto is_defined(Name name) const -> bool {
    // Python defines `__class__` inside methods.
    if (static const Name own_class("__class__"); always_.contains(name) || name == own_class) { return true; }
    for (const Scope* scope = scope_; scope; scope = scope->around) {
      if (scope->bound.contains(name) && (!scope->runs || scope->maybe.contains(name))) { return true; }
    }
    return around_.bound.contains(name) || frontend::predeclared(name) != nullptr || predeclared(name) != nullptr || eval::builtin(name) != nullptr;
  }

  void function_body(const FunctionDef& def, NameSet handed) {
    for (const Param& param : def.params) {
      if (param.annotation && is_schedule_type(*param.annotation)) { handed.insert(param.name.name); }
    }
    Scope scope;
    begin(scope, def.body, def.params, handed);
    for (const Param& param : def.type_params) { scope.bound.insert(param.name.name); scope.maybe.insert(param.name.name); }
    block(def.body);
    scope_ = scope.around;
  }
  // Reads a body that runs at some later time: names of the enclosing scopes may have been bound by any statement.
  template <class F>
  void later(F&& body) {
    std::vector<Scope*> stopped;
    for (Scope* scope = scope_; scope; scope = scope->around) {
      if (scope->runs) { stopped.push_back(scope); }
      scope->runs = false;
    }
    body();
    for (Scope* scope : stopped) { scope->runs = true; }
  }

  auto is_schedule_type(const Expr& annotation) const -> bool {
    const auto* attribute = annotation.as<AttributeExpr>();
    const auto* name = annotation.as<NameExpr>();
    Name type = attribute ? attribute->attr.name : name ? name->name : Name();
    return type == "Schedule" && is_tvms(annotation);
  }

  // ---- statements ------------------------------------------------------------------------------------------------

  void bind(Name name) {
    // The name belongs to the current scope, even in a comprehension.
    scope_->maybe.insert(name);
  }
  void bind_all(const Block& body) {
    std::vector<Name> names;
    for (StmtPtr stmt : body) { frontend::bound_names(*stmt, names); }
    scope_->maybe.insert(names.begin(), names.end());
  }
  void target(const Expr& e) {
    if (const auto* name = e.as<NameExpr>()) { return bind(name->name); }
    if (const auto* starred = e.as<StarredExpr>()) { return target(*starred->value); }
    const List<ExprPtr>* elements = nullptr;
    if (const auto* tuple = e.as<TupleExpr>()) { elements = &tuple->elements; }
    if (const auto* list = e.as<ListExpr>()) { elements = &list->elements; }
    if (!elements) { return expr(e); }
    for (ExprPtr element : *elements) { target(*element); }
  }

  void block(const Block& body) {
    if (++depth_ <= deepest) {
      for (StmtPtr stmt : body) { statement(*stmt); }
    }
    --depth_;
  }
  // Statements that may run never, once or several times: names that they bind may be bound afterwards, names that they delete may remain.
  void maybe_block(const Block& body) {
    NameSet before = scope_->maybe;
    block(body);
    scope_->maybe.insert(before.begin(), before.end());
  }

  void statement(const Stmt& stmt) {
    switch (stmt.kind) {
      case Kind::FunctionDef: return definition(static_cast<const FunctionDef&>(stmt));
      case Kind::ClassDef: return bind(static_cast<const ClassDef&>(stmt).name.name);
      case Kind::Assign: {
        const auto& s = static_cast<const AssignStmt&>(stmt);
        expr(*s.value);
        for (ExprPtr one : s.targets) { target(*one); }
        return;
      }
      case Kind::AnnAssign: {
        const auto& s = static_cast<const AnnAssignStmt&>(stmt);
        if (!s.value) { return; }
        expr(*s.value);
        return target(*s.target);
      }
      case Kind::AugAssign: {
        const auto& s = static_cast<const AugAssignStmt&>(stmt);
        expr(*s.target);
        expr(*s.value);
        return target(*s.target);
      }
      case Kind::ExprStmt: return expr(*static_cast<const ExprStmt&>(stmt).value);
      case Kind::Return: return maybe_expr(static_cast<const ReturnStmt&>(stmt).value);
      case Kind::Assert:
        expr(*static_cast<const AssertStmt&>(stmt).condition);
        return maybe_expr(static_cast<const AssertStmt&>(stmt).message);
      case Kind::If: return branches(static_cast<const IfStmt&>(stmt));
      case Kind::For: {
        const auto& s = static_cast<const ForStmt&>(stmt);
        expr(*s.iterable);
        bind_all(s.body);
        target(*s.target);
        maybe_block(s.body);
        return maybe_block(s.otherwise);
      }
      case Kind::While: {
        const auto& s = static_cast<const WhileStmt&>(stmt);
        bind_all(s.body);
        expr(*s.condition);
        maybe_block(s.body);
        return maybe_block(s.otherwise);
      }
      case Kind::With: {
        const auto& s = static_cast<const WithStmt&>(stmt);
        int outside = meant_to_fail_;
        for (const WithItem& item : s.items) {
          expr(*item.context);
          if (item.target) { target(*item.target); }
          meant_to_fail_ += eval::expects_failure(*item.context) == eval::ExpectedFailure::None ? 0 : 1;
        }
        maybe_block(s.body);
        meant_to_fail_ = outside;
        return;
      }
      case Kind::Del:
        for (ExprPtr one : static_cast<const DelStmt&>(stmt).targets) {
          expr(*one);
          if (const auto* name = one->as<NameExpr>()) { scope_->maybe.erase(name->name); }
        }
        return;
      case Kind::BrokenStmt: return maybe_block(static_cast<const BrokenStmt&>(stmt).body);
      default: {
        std::vector<Name> names;
        frontend::bound_names(stmt, names);
        scope_->maybe.insert(names.begin(), names.end());
      }
    }
  }

  void definition(const FunctionDef& def) {
    for (ExprPtr decorator : def.decorators) { expr(*decorator); }
    for (const Param& param : def.params) { maybe_expr(param.default_value); }
    bind(def.name.name);
    // A decorator may turn the function into anything, such as a program.
    if (def.decorators.empty()) { later([&] { function_body(def, {}); }); }
  }

  void branches(const IfStmt& s) {
    expr(*s.condition);
    NameSet before = scope_->maybe;
    block(s.then);
    std::swap(before, scope_->maybe);
    block(s.otherwise);
    scope_->maybe.insert(before.begin(), before.end());
  }

  // ---- expressions -----------------------------------------------------------------------------------------------

  void maybe_expr(const Expr* e) {
    if (e) { expr(*e); }
  }

  void expr(const Expr& e) {
    if (++depth_ <= deepest) { look(e); }
    --depth_;
  }
  void look(const Expr& e) {
    switch (e.kind) {
      case Kind::Name: return use(static_cast<const NameExpr&>(e));
      case Kind::Lambda: {
        const auto& lambda = static_cast<const LambdaExpr&>(e);
        for (const Param& param : lambda.params) { maybe_expr(param.default_value); }
        return later([&] {
          Scope scope;
          begin(scope, {}, lambda.params, {});
          expr(*lambda.body);
          scope_ = scope.around;
        });
      }
      case Kind::Comprehension: return comprehension(static_cast<const ComprehensionExpr&>(e));
      case Kind::NamedExpr: return expr(*static_cast<const NamedExpr&>(e).value);
      case Kind::Call: {
        const auto& call = static_cast<const CallExpr&>(e);
        expr(*call.callee);
        for (ExprPtr arg : call.args) { expr(*arg); }
        for (const Keyword& keyword : call.keywords) { expr(*keyword.value); }
        check_call(call);
        return note_handed(call);
      }
      case Kind::Attribute: {
        const auto& attribute = static_cast<const AttributeExpr&>(e);
        expr(*attribute.object);
        return check_attribute(attribute);
      }
      case Kind::OpaqueExpr:
      case Kind::BrokenExpr: return;
      default:
        for (const Node* child : children(e)) {
          if (child->is_expr()) { expr(static_cast<const Expr&>(*child)); }
        }
    }
  }

  void comprehension(const ComprehensionExpr& e) {
    if (e.clauses.empty()) { return; }
    expr(*e.clauses[0].iterable);
    auto inside = [&] {
      Scope scope;
      begin(scope, {}, {}, {});
      for (const ComprehensionFor& clause : e.clauses) {
        walk(*clause.target, [&](const Node& node) {
          if (const auto* name = node.as<NameExpr>()) { scope.bound.insert(name->name); }
          return true;
        });
      }
      for (size_t i = 0; i < e.clauses.size(); ++i) {
        if (i > 0) { expr(*e.clauses[i].iterable); }
        target(*e.clauses[i].target);
        for (ExprPtr condition : e.clauses[i].conditions) { expr(*condition); }
      }
      maybe_expr(e.key);
      expr(*e.element);
      scope_ = scope.around;
    };
    if (e.which == ComprehensionKind::Generator) { later(inside); } else { inside(); }
  }

  void use(const NameExpr& e) {
    if (around_.is_dynamic || meant_to_fail_ > 0 || is_defined(e.name)) { return; }
    std::vector<Name> names;
    for (const Scope* scope = scope_; scope; scope = scope->around) {
      const NameSet& known = scope->runs ? scope->maybe : scope->bound;
      names.insert(names.end(), known.begin(), known.end());
    }
    names.insert(names.end(), around_.bound.begin(), around_.bound.end());
    names.insert(names.end(), {Name("T"), Name("I"), Name("tir")});
    eval::builtin_names(names);
    report(with_near(error(Code::UndefinedName, e.origin()).arg("name", e.name.view()), e.name, names, e.origin()));
  }

  void check_attribute(const AttributeExpr& e) {
    if (!holds_schedule(*e.object) || is_uncertain() || given_attributes_.contains(e.attr.name) || e.attr.name.view().starts_with("_")) { return; }
    std::vector<Name> names;
    schedule_attributes(names);
    bool is_known = schedule::find_primitive(e.attr.name.view()) || std::find(names.begin(), names.end(), e.attr.name) != names.end();
    // Attributes of every object of TVM.
    for (std::string_view other : {"state", "handle", "same_as", "legacy_repr", "init_handle_by_constructor", "error_render_level"}) { is_known = is_known || e.attr.name.view() == other; }
    if (is_known) { return; }
    Origin where{e.decl, e.attr.span.begin, e.attr.span.end, 0};
    report(with_near(error(Code::NoAttribute, where).arg("what", "a tir.Schedule").arg("name", e.attr.name.view()), e.attr.name, names, where));
  }

  void check_call(const CallExpr& call) {
    const auto* attribute = call.callee->as<AttributeExpr>();
    if (!attribute || !holds_schedule(*attribute->object) || is_uncertain() || call.has_error) { return; }
    const schedule::Primitive* primitive = schedule::find_primitive(attribute->attr.name.view());
    if (!primitive) { return; }
    bool is_all = true;
    size_t positional = 0;
    for (ExprPtr arg : call.args) {
      if (arg->kind == Kind::Starred) { is_all = false; } else { ++positional; }
    }
    std::vector<std::string_view> keywords;
    for (const Keyword& keyword : call.keywords) {
      if (keyword.name.name.empty()) { is_all = false; } else { keywords.push_back(keyword.name.name.view()); }
    }
    auto wrong = schedule::wrong_arguments(*primitive, positional, keywords, call.origin(), is_all);
    if (!wrong) { return; }
    if (wrong->code == Code::UnexpectedArgument) {
      for (const Keyword& keyword : call.keywords) {
        bool is_it = std::any_of(wrong->args.begin(), wrong->args.end(), [&](const auto& arg) { return arg.first == "name" && arg.second == keyword.name.name.view(); });
        if (is_it) { add_parameter_meant(*wrong, *primitive, keyword.name.name, {call.decl, keyword.name.span.begin, keyword.name.span.end, 0}); }
      }
    }
    report(*std::move(wrong));
  }

  // Records schedules among the arguments of a function of the file.
  void note_handed(const CallExpr& call) {
    const auto* callee = call.callee->as<NameExpr>();
    if (!callee || is_uncertain()) { return; }
    for (const Scope* scope = scope_; scope; scope = scope->around) {
      if (scope->bound.contains(callee->name)) { return; }
    }
    for (uint32_t i = 0; i < call.args.size() && call.args[i]->kind != Kind::Starred; ++i) {
      if (holds_schedule(*call.args[i])) { out_.handed.push_back({callee->name, {}, i}); }
    }
    for (const Keyword& keyword : call.keywords) {
      if (!keyword.name.name.empty() && holds_schedule(*keyword.value)) { out_.handed.push_back({callee->name, keyword.name.name, 0}); }
    }
  }

  auto is_uncertain() const -> bool { return asks_for_attributes_ || meant_to_fail_ > 0; }

  static auto with_near(Diagnostic d, Name name, const std::vector<Name>& names, Origin where) -> Diagnostic {
    Name near = eval::closest_name(name, names);
    if (!near.empty()) { (void)std::move(d).remedy("did you mean `" + near.str() + "`?").fix(where, near.str()); }
    return d;
  }
  void report(Diagnostic d) { out_.diagnostics.push_back(std::move(d)); }

  std::string_view text_;
  const Around& around_;
  Names::Found& out_;
  Scope* scope_ = nullptr;
  NameSet always_;                     // possibly bound in ways that are not supported
  NameSet of_tvm_;                     // imported in the body
  NameSet given_attributes_;
  bool asks_for_attributes_ = false;
  int meant_to_fail_ = 0;
  int depth_ = 0;
};

// The parameters that receive schedules: the first one of `@ls.schedule`, and those for which a call in a body passes a schedule.
auto schedules_of(const FunctionDef& def, const std::vector<Names::Handed>& handed) -> NameSet {
  NameSet out;
  auto form = schedule_form(def);
  if (form && form->decorator && !def.params.empty()) { out.insert(def.params[0].name.name); }
  for (const Names::Handed& one : handed) {
    if (!one.keyword.empty()) { out.insert(one.keyword); }
    else if (one.position < def.params.size() && std::all_of(def.params.begin(), def.params.begin() + static_cast<std::ptrdiff_t>(one.position) + 1, [](const Param& p) { return p.kind == ParamKind::Plain; })) {
      out.insert(def.params[static_cast<uint32_t>(one.position)].name.name);
    }
  }
  return out;
}

}  // namespace

void Names::update(frontend::File& file, const std::vector<ScheduleBody>& bodies) {
  diagnostics_.clear();
  auto items_before = std::exchange(items_, {});
  auto found_before = std::exchange(found_, {});
  if (bodies.empty()) { return; }
  std::vector<const Item*> items;
  std::unordered_map<Name, std::vector<ItemPtr>> functions;
  for (size_t i = 0; i < file.size(); ++i) {
    const ItemPtr& item = file.item(i);
    auto known = items_before.find(item.get());
    Item names = known != items_before.end() ? std::move(known->second) : item_names(item);
    items.push_back(&items_.insert_or_assign(item.get(), std::move(names)).first->second);
    for (Name name : items.back()->bound) { functions[name].push_back(item); }
  }
  const Around whole = names_around(items, items.size(), SIZE_MAX);
  std::vector<ScheduleBody> all = bodies;
  std::unordered_map<const syntax::Item*, std::vector<Handed>> handed;
  for (size_t i = 0; i < all.size(); ++i) {
    // Copies the body, since helpers are added to the list.
    const ScheduleBody body = all[i];
    const auto* def = body.item->statements.empty() ? nullptr : body.item->statements[0]->as<FunctionDef>();
    if (def && (frontend::is_program(*def) || expects_failure(*def))) { continue; }
    NameSet schedules = def ? schedules_of(*def, handed[body.item.get()]) : NameSet();
    const Around* around = &whole;
    Around above;
    if (!def) {
      above = names_around(items, body.place, body.place);
      around = &above;
    }
    uint64_t means = around->hash;
    for (Name name : schedules) { means += hash_combine(3, hash_bytes(name.view())); }
    Found found{.item = body.item, .means = means, .diagnostics = {}, .handed = {}};
    auto known = found_before.find(body.item.get());
    if (known != found_before.end() && known->second.means == means) { found = known->second; }
    else if (def) { Reader(*body.item, *around, found).function(*def, schedules); }
    else { Reader(*body.item, *around, found).statements(body.item->statements); }
    for (const Handed& one : found.handed) {
      auto to = functions.find(one.function);
      if (to == functions.end() || to->second.size() != 1) { continue; }
      const ItemPtr& helper = to->second[0];
      const auto* helped = helper->statements.empty() ? nullptr : helper->statements[0]->as<FunctionDef>();
      if (!helped || !(helped->name.name == one.function)) { continue; }
      NameSet before = schedules_of(*helped, handed[helper.get()]);
      handed[helper.get()].push_back(one);
      bool is_new = schedules_of(*helped, handed[helper.get()]) != before;
      bool is_waiting = std::any_of(all.begin() + static_cast<std::ptrdiff_t>(i) + 1, all.end(), [&](const ScheduleBody& b) { return b.item == helper; });
      if (is_new && !is_waiting) { all.push_back({helper, SIZE_MAX}); }
    }
    found_.insert_or_assign(body.item.get(), std::move(found));
  }
  std::unordered_set<const syntax::Item*> reported;
  for (const ScheduleBody& body : all) {
    auto found = found_.find(body.item.get());
    if (found == found_.end() || !reported.insert(body.item.get()).second) { continue; }
    diagnostics_.insert(diagnostics_.end(), found->second.diagnostics.begin(), found->second.diagnostics.end());
  }
}

}  // namespace loopsmith::script
