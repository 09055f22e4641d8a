// Names: assignments to variables, buffers and memory. A fresh variable or buffer gets the first name that the text assigns to it.
#include "frontend/lowerer.h"

#include <algorithm>
#include <utility>

#include "ir/ops.h"
#include "ir/visitor.h"
#include "support/codes.h"

namespace loopsmith::frontend {

using eval::make_object;
using namespace syntax;
using IrExpr = loopsmith::Expr;
using IrStmt = loopsmith::Stmt;

auto Lowerer::name_var(const Var& var, Name name, Origin where) -> bool {
  if (!var->name.empty()) { return false; }
  // The node is not yet shared with any finished node: naming it completes its construction.
  auto& fields = const_cast<VarNode&>(*var);
  fields.name = name;
  if (where.is_known()) { fields.origin = where; }
  return true;
}
auto Lowerer::name_buffer(const Buffer& buffer, Name name, Origin where) -> bool {
  if (!buffer->name.empty()) { return false; }
  auto& fields = const_cast<BufferNode&>(*buffer);
  fields.name = name;
  if (where.is_known()) { fields.origin = where; }
  (void)name_var(buffer->data, name, where);
  static const Name elem_offset("_elem_offset");
  if (const auto* offset = buffer->elem_offset ? buffer->elem_offset.as<VarNode>() : nullptr; offset && offset->name.empty()) {
    const_cast<VarNode*>(offset)->name = Name(name.str() + "_elem_offset");
  }
  return true;
}

auto Lowerer::bind_var(const VarNode* var) -> bool {
  if (!bound_.insert(var).second) { return false; }
  if (parts_) { bound_in_order_.emplace_back(var); }
  return true;
}

namespace {

// Adds the names of an assignment's target.
void add_targets(const syntax::Expr& target, std::vector<Name>& out) {
  if (const auto* name = target.as<NameExpr>()) { out.push_back(name->name); }
  if (const auto* tuple = target.as<TupleExpr>()) {
    for (ExprPtr part : tuple->elements) { add_targets(*part, out); }
  }
  if (const auto* list = target.as<ListExpr>()) {
    for (ExprPtr part : list->elements) { add_targets(*part, out); }
  }
}

// Finds names that are assigned although an assignment in the same or an enclosing list of statements gave them a value. Equal names in sibling lists
// are separate.
class Reassigned {
 public:
  explicit Reassigned(std::unordered_set<Name>& found) : found_(found) {}

  void list(const syntax::Block& block, const syntax::List<syntax::Param>& params = {}) {
    known_.emplace_back();
    for (const syntax::Param& p : params) { known_.back().insert(p.name.name); }
    for (StmtPtr stmt : block) { statement(*stmt); }
    std::unordered_set<Name> ended = std::move(known_.back());
    known_.pop_back();
    // If Python decides an `if`, the names of its branch are visible below.
    if (is_branch_ && !known_.empty()) { known_.back().merge(ended); }
  }

 private:
  void statement(const syntax::Stmt& stmt) {
    std::vector<Name> targets;
    if (const auto* s = stmt.as<AssignStmt>()) {
      for (ExprPtr target : s->targets) { add_targets(*target, targets); }
    }
    if (const auto* s = stmt.as<AnnAssignStmt>()) { add_targets(*s->target, targets); }
    if (const auto* s = stmt.as<AugAssignStmt>()) { add_targets(*s->target, targets); }
    for (Name name : targets) {
      bool is_known = std::any_of(known_.begin(), known_.end(), [&](const auto& names) { return names.count(name) != 0; });
      if (is_known) { found_.insert(name); }
      known_.back().insert(name);
    }
    Temporarily branch(is_branch_, stmt.kind == Kind::If);
    if (const auto* s = stmt.as<ForStmt>()) { list(s->body); }
    if (const auto* s = stmt.as<WhileStmt>()) { list(s->body); }
    if (const auto* s = stmt.as<WithStmt>()) { list(s->body); }
    if (const auto* s = stmt.as<IfStmt>()) {
      // A branch does not see the names of the other branch.
      std::vector<std::unordered_set<Name>> before = known_;
      list(s->then);
      std::vector<std::unordered_set<Name>> after = std::exchange(known_, std::move(before));
      list(s->otherwise);
      known_.back().merge(after.back());
    }
  }

  std::unordered_set<Name>& found_;
  std::vector<std::unordered_set<Name>> known_;   // the names of each open list of statements
  bool is_branch_ = false;
};

}  // namespace

// A macro that assigns to its parameter changes the variable that a call passes, so that variable needs memory, too.
void Lowerer::add_changed_arguments(const FunctionDef& def, eval::Environment* globals, int depth, std::unordered_set<Name>& out) {
  constexpr int deepest_chain = 8;
  if (depth > deepest_chain || globals == nullptr) { return; }
  auto look_in = [&](const CallExpr& call) {
    const auto* callee = call.callee->as<NameExpr>();
    if (!callee) { return; }
    WithoutReports quiet(evaluator_.diagnostics);
    const Value* local = here_ ? here_->find(callee->name) : nullptr;
    auto value = local ? std::optional<Value>(*local) : globals->lookup(evaluator_, callee->name, callee->origin());
    const auto* macro = value ? value->as<MacroObject>() : nullptr;
    if (!macro || !macro->function->def || macro->function->def == &def) { return; }
    std::unordered_set<Name> changed;
    const auto& params = macro->function->def->params;
    // Parameters have a value at the beginning.
    Reassigned(changed).list(macro->function->def->body, params);
    add_changed_arguments(*macro->function->def, macro->function->globals, depth + 1, changed);
    auto pass = [&](const syntax::Expr& argument, Name param) {
      const auto* given = argument.as<NameExpr>();
      if (given && changed.count(param) != 0) { out.insert(given->name); }
    };
    for (size_t i = 0; i < call.args.size() && i < params.size(); ++i) { pass(*call.args[i], params[i].name.name); }
    for (const syntax::Keyword& keyword : call.keywords) { pass(*keyword.value, keyword.name.name); }
  };
  for (StmtPtr stmt : def.body) {
    walk(*stmt, [&](const Node& n) {
      if (const auto* call = n.as<CallExpr>()) { look_in(*call); }
      return n.kind != Kind::FunctionDef && n.kind != Kind::ClassDef;
    });
  }
}

auto Lowerer::words() -> const Words& {
  auto [at, is_new] = words_by_def_.try_emplace(def_);
  Words& words = at->second;
  if (!is_new || def_ == nullptr) { return words; }
  const FunctionDef& def = *def_;
  Reassigned(words.reassigned).list(def.body);
  if (rebinds_names_) { add_changed_arguments(def, evaluator_.globals, 0, words.reassigned); }
  static const Name block("block"), sblock("sblock");
  for (StmtPtr stmt : def.body) {
    walk(*stmt, [&](const Node& n) {
      if (const auto* member = n.as<AttributeExpr>()) {
        words.has_sblocks |= member->attr.name == sblock;
        words.has_blocks |= member->attr.name == sblock || member->attr.name == block;
      }
      return n.kind != Kind::FunctionDef && n.kind != Kind::ClassDef;
    });
  }
  words.hash = (words.has_blocks ? 1 : 0) + (words.has_sblocks ? 2 : 0);
  for (Name name : words.reassigned) { words.hash += std::hash<Name>()(name); }
  return words;
}

auto Lowerer::makes_cell(Name name, const IrExpr& value) -> bool {
  DataType t = value.dtype();
  return rebinds_names_ && words().reassigned.count(name) != 0 && !t.is_handle() && !t.is_void() && !value.as<StringImm>();
}

auto Lowerer::let(Name name, IrExpr value, Origin where) -> Value {
  if (!is_within_limits(evaluator_, value, where)) { return Value::error(); }
  if (makes_cell(name, value)) {
    Value made = make_object<ExprObject>(make_cell(value.dtype(), Name("local"), where));
    Buffer memory = cell(made);
    (void)name_buffer(memory, name, where);
    store(memory, {Argument{Value(0), where, {}}}, {make_object<ExprObject>(std::move(value)), where, {}}, where);
    return made;
  }
  BuildFrame f;
  f.kind = FrameKind::Let;
  f.origin = where;
  f.var = make<VarNode>(name, value.dtype(), where);
  if (const auto* v = value.as<VarNode>()) {
    const_cast<VarNode&>(*f.var).pointer = v->pointer;
  } else if (const auto* load = value.as<Call>(); load && load->dtype.is_handle()) {
    static const Name access_ptr("tvm_access_ptr");
    if (load->op == access_ptr && !load->args.empty()) {
      const auto* data = load->args.size() > 1 ? load->args[1].as<VarNode>() : nullptr;
      const_cast<VarNode&>(*f.var).pointer = PointerType{load->args[0].dtype(), data && data->pointer ? data->pointer->scope : Name()};
    }
  }
  f.a = std::move(value);
  (void)bind_var(f.var.get());
  Value out = make_object<ExprObject>(IrExpr(f.var));
  frames_.push_back(std::move(f));
  return out;
}

auto Lowerer::bind_name(Name name, const Argument& value, Binding how, Origin where) -> Value {
  const Value& v = value.value;
  if (v.is_unknown() || v.is_none()) { return v; }
  if (const auto* meta = v.as<MetaObject>()) { return meta->value; }
  if (const auto* e = v.as<ExprObject>()) {
    if (const auto* var = e->expr.as<VarNode>()) {
      // A variable without a name in the text gets this one; for other variables, an assignment makes a copy.
      if (bind_var(var) || how == Binding::Target) {
        (void)name_var(Var(var), name, where);
        return v;
      }
    }
    if (how == Binding::Target) { return v; }
    // The first name of such memory is the buffer's name.
    if (Buffer memory = cell(v); memory && name_buffer(memory, name, where)) { return v; }
    return let(name, e->expr, where);
  }
  if (const auto* b = v.as<BufferObject>()) {
    (void)name_buffer(b->buffer, name, where);
    return v;
  }
  if (const auto* i = v.as<IterVarObject>()) {
    (void)name_var(i->iter.var, name, where);
    (void)bind_var(i->iter.var.get());
    if (how == Binding::Assign) { return v; }
    return make_object<ExprObject>(IrExpr(i->iter.var));
  }
  if (const auto* f = v.as<FrameObject>()) {
    if (how == Binding::Target || f->entered) { return v; }
    if (f->frame.kind == FrameKind::Block || f->frame.kind == FrameKind::Loop) {
      return evaluator_.report(needs_body(*f, value.where));
    }
    Value entered = enter(*f, value.where);
    return bind_name(name, {entered, value.where, {}}, Binding::Target, where);
  }
  if (const auto* items = v.items()) {
    for (size_t i = 0; i < items->size(); ++i) {
      const Value& item = (*items)[i];
      const auto* e = item.as<ExprObject>();
      bool fresh = (e && e->expr.as<VarNode>()) || item.as<BufferObject>() || item.as<IterVarObject>();
      if (fresh) { (void)bind_name(Name(name.str() + "_" + std::to_string(i)), {item, value.where, {}}, Binding::Target, where); }
    }
    return v;
  }
  if (how == Binding::Target) { return v; }
  if (v.as<RegionObject>() || v.is_int() || v.is_bool() || v.is_float()) {
    IrExpr e = to_expr(evaluator_, value);
    return e ? let(name, std::move(e), where) : Value::error();
  }
  return v;
}

void Lowerer::bind(const syntax::Expr& target, const Argument& value, Binding how, const eval::ScopeRef& scope) {
  if (const auto* name = target.as<NameExpr>()) {
    bool is_value = !value.value.is_unknown() && !value.value.as<FrameObject>() && !value.value.as<BufferObject>();
    if (Buffer memory = how == Binding::Assign && is_value ? cell(target, scope) : Buffer()) {
      return store(memory, {Argument{Value(0), target.origin(), {}}}, value, target.origin());
    }
    scope->set(name->name, bind_name(name->name, value, how, name->origin()));
    return;
  }
  const syntax::List<ExprPtr>* targets = nullptr;
  if (const auto* tuple = target.as<TupleExpr>()) { targets = &tuple->elements; }
  if (const auto* list = target.as<ListExpr>()) { targets = &list->elements; }
  if (const auto* meta = targets ? value.value.as<MetaObject>() : nullptr) {
    return bind(target, {meta->value, value.where, {}}, Binding::Target, scope);
  }
  if (targets) {
    bool has_star = false;
    for (ExprPtr t : *targets) { has_star |= t->kind == Kind::Starred; }
    std::optional<std::vector<Value>> items;
    if (!value.value.is_unknown()) {
      Argument source = value;
      if (const auto* f = value.value.as<FrameObject>(); f && how == Binding::Assign) { source.value = enter(*f, value.where); }
      if (source.value.as<ExprObject>()) {
        items = std::vector<Value>{source.value};
      } else {
        items = evaluator_.iterate(source);
      }
    }
    if (items && !has_star && items->size() != targets->size()) {
      evaluator_.report(error(Code::UnpackCount, target.origin()).arg("targets", static_cast<int64_t>(targets->size())).arg("values", static_cast<int64_t>(items->size())).remedy("give as many names as values"));
      // The targets that have a value still get it.
      items->resize(targets->size(), Value::error());
    }
    if (!items) { items = std::vector<Value>(targets->size(), value.value.is_opaque() ? Value::opaque() : Value::error()); }
    size_t next = 0;
    for (size_t i = 0; i < targets->size(); ++i) {
      const syntax::Expr& t = *(*targets)[i];
      if (const auto* star = t.as<StarredExpr>()) {
        size_t after = targets->size() - i - 1;
        std::vector<Value> rest;
        while (next + after < items->size()) { rest.push_back((*items)[next++]); }
        bind(*star->value, {Value::list(std::move(rest)), value.where, {}}, how, scope);
        continue;
      }
      bind(t, {next < items->size() ? (*items)[next] : Value::error(), value.where, {}}, how, scope);
      ++next;
    }
    return;
  }
  if (value.value.is_unknown()) {
    is_opaque_ |= value.value.is_opaque();
    // The target may contain errors.
    if (const auto* subscript = target.as<SubscriptExpr>()) {
      Value ignored = evaluator_.eval(*subscript, scope);
      is_opaque_ |= ignored.is_opaque();
    }
    return;
  }
  if (const auto* subscript = target.as<SubscriptExpr>()) {
    for (ExprPtr index : subscript->indices) {
      const auto* constant = index->as<ConstantExpr>();
      if (!constant || constant->value != syntax::ConstantValue::Ellipsis) { continue; }
      evaluator_.report(error(Code::WrongType, index->origin()).arg("expected", "an index").arg("found", "`...`").remedy("store the elements in a loop"));
      return;
    }
  }
  const bool was_opaque = evaluator_.opaque_at.is_known();
  (void)evaluator_.assign(target, value, scope);
  is_opaque_ |= !was_opaque && evaluator_.opaque_at.is_known();
}

auto Lowerer::store_together(const AssignStmt& s, const Argument& value, const eval::ScopeRef& scope) -> bool {
  const auto* items = value.value.items();
  const auto* targets = s.targets.size() == 1 ? s.targets[0]->as<TupleExpr>() : nullptr;
  if (!items || !targets || items->size() != targets->elements.size() || items->size() < 2) { return false; }
  bool loads = false;
  for (const Value& item : *items) {
    const auto* e = item.as<ExprObject>();
    if (!e) { continue; }
    post_order(e->expr, [&](const IrExpr& x) { loads |= x.as<BufferLoad>() != nullptr; });
  }
  bool stores = false;
  for (ExprPtr target : targets->elements) { stores |= target->kind == Kind::Subscript || cell(*target, scope); }
  if (!loads || !stores) { return false; }
  std::vector<Value> values;
  for (size_t i = 0; i < items->size(); ++i) {
    const auto* e = (*items)[i].as<ExprObject>();
    const auto* name = targets->elements[i]->as<NameExpr>();
    Name temporary(name ? name->name.str() + "_new" : "value_" + std::to_string(i));
    values.push_back(e && !e->expr.dtype().is_handle() ? let(temporary, e->expr, value.where) : (*items)[i]);
  }
  bind(*s.targets[0], {Value::tuple(std::move(values)), value.where, {}}, Binding::Assign, scope);
  return true;
}

// `T.sblock` without `s_tir=True` may be TVM 0.24, where an assignment makes a new variable. Reported once for each function.
void Lowerer::note_version(const syntax::Expr& target) {
  const auto* name = target.as<NameExpr>();
  if (!name || options_.dialect >= dialects::s_tir || depth_ > 0 || !words().has_sblocks || std::exchange(has_noted_version_, true)) { return; }
  evaluator_.report(error(Code::UnclearDialect, target.origin()).arg("word", name->name.str() + " = ...").arg("meaning", "a store to `" + name->name.str() + "`, as since TVM 0.25")
                        .remedy("write `@T.prim_func(s_tir=True)` for that; in TVM 0.24, an assignment makes a new variable, so keep the value in memory: `" + name->name.str() + "[0] = ...`"));
}

void Lowerer::on_assign(const AssignStmt& s, const eval::ScopeRef& scope) {
  Argument value = evaluator_.eval_argument(*s.value, scope);
  is_opaque_ |= value.value.is_opaque();
  if (store_together(s, value, scope)) { return; }
  for (ExprPtr target : s.targets) {
    if (Buffer memory = value.value.is_unknown() ? Buffer() : cell(*target, scope); memory && !value.value.as<FrameObject>() && !value.value.as<BufferObject>()) {
      note_version(*target);
      store(memory, {Argument{Value(0), target->origin(), {}}}, value, s.origin());
      continue;
    }
    // The error in the value has been reported.
    if (!value.value.is_error()) { check_new(*target, scope); }
    bind(*target, value, Binding::Assign, scope);
  }
}

namespace {

auto is_of_program(const Value& v) -> bool { return v.as<ExprObject>() || v.as<BufferObject>() || v.as<IterVarObject>(); }

}  // namespace

// `v += by` in a macro, where `v` is a parameter without memory of its own: the sum is lost unless the macro reads it.
void Lowerer::check_parameter(const NameExpr& name, const eval::ScopeRef& scope) {
  const Value* before = depth_ > 0 && def_ != nullptr ? scope->find_here(name.name) : nullptr;
  bool is_param = before && is_of_program(*before) && std::any_of(def_->params.begin(), def_->params.end(), [&](const syntax::Param& p) { return p.name.name == name.name; });
  if (!is_param) { return; }
  bool is_read = false;
  for (StmtPtr stmt : def_->body) {
    walk(*stmt, [&](const Node& n) {
      const auto* other = n.as<NameExpr>();
      is_read = is_read || (other && other != &name && other->name == name.name && other->span.begin > name.span.begin);
      return true;
    });
  }
  if (is_read) { return; }
  evaluator_.report(error(Code::LostAssignment, name.origin()).arg("name", name.name.view()).arg("scope", "the macro")
                        .remedy("pass memory, and store to it: `" + name.name.str() + "[0] += ...`"));
}

void Lowerer::check_new(const syntax::Expr& target, const eval::ScopeRef& scope, bool changes) {
  const syntax::List<ExprPtr>* parts = nullptr;
  if (const auto* tuple = target.as<TupleExpr>()) { parts = &tuple->elements; }
  if (const auto* list = target.as<ListExpr>()) { parts = &list->elements; }
  for (size_t i = 0; parts && i < parts->size(); ++i) { check_new(*(*parts)[i], scope); }
  const auto* name = target.as<NameExpr>();
  if (!name) { return; }
  auto& known = assigned_[scope.get()];
  known.first = scope;
  auto [at, is_new] = known.second.emplace(name->name, name->origin());
  if (is_new && changes) { check_parameter(*name, scope); }
  if (is_new) { return; }
  const Value* before = scope->find_here(name->name);
  if (rebinds_names_ || (before && !is_of_program(*before))) { return; }
  if (changes) {
    evaluator_.report(error(Code::RedefinedName, name->origin()).arg("name", name->name.view())
                          .note(at->second, "it is given its meaning here")
                          .remedy("keep the changing value in memory: `" + name->name.str() + " = T.alloc_buffer((1,), \"float32\")`, then `" + name->name.str() + "[0] += ...`"));
    return;
  }
  evaluator_.report(error(Code::RedefinedName, name->origin()).arg("name", name->name.view())
                        .note(at->second, "it is given its meaning here")
                        .remedy("use another name: a program names each variable and buffer once"));
}

void Lowerer::has_named(const syntax::Expr& target, const eval::ScopeRef& scope) {
  auto& known = assigned_[scope.get()];
  known.first = scope;
  walk(target, [&](const Node& n) {
    if (const auto* name = n.as<NameExpr>()) { known.second.emplace(name->name, name->origin()); }
    return true;
  });
}

void Lowerer::on_ann_assign(const AnnAssignStmt& s, const eval::ScopeRef& scope) {
  Argument annotation = evaluator_.eval_argument(*s.annotation, scope);
  Argument value = s.value ? evaluator_.eval_argument(*s.value, scope) : Argument{};
  const auto* name = s.target->as<NameExpr>();
  is_opaque_ |= value.value.is_opaque() || annotation.value.is_opaque();
  if (annotation.value.is_unknown() || value.value.is_unknown()) {
    if (name) { scope->set(name->name, annotation.value.is_error() || value.value.is_error() ? Value::error() : Value::opaque()); }
    return;
  }
  if (!name) {
    evaluator_.report(error(Code::WrongType, s.target->origin()).arg("expected", "a name").arg("found", "another target"));
    return;
  }
  Var var;
  if (const auto* t = annotation.value.as<DtypeObject>(); t && t->declares_cell && !t->dtype.is_handle()) {
    Value made = make_object<ExprObject>(make_cell(t->dtype, Name("local"), name->origin()));
    Buffer memory = cell(made);
    (void)name_buffer(memory, name->name, name->origin());
    if (s.value) { store(memory, {Argument{Value(0), name->origin(), {}}}, value, s.origin()); }
    scope->set(name->name, std::move(made));
    return;
  }
  if (const auto* b = annotation.value.as<BufferObject>(); b && !s.value && s.annotation->kind == Kind::Subscript) {
    static const Name local("local");
    if (b->buffer->scope() == local) {
      (void)name_buffer(b->buffer, name->name, name->origin());
      add_alloc(b->buffer);
      scope->set(name->name, annotation.value);
      return;
    }
  }
  if (const auto* t = annotation.value.as<DtypeObject>()) {
    var = make<VarNode>(name->name, t->dtype, name->origin());
  } else if (const auto* e = annotation.value.as<ExprObject>(); e && e->expr.as<VarNode>() && e->expr.as<VarNode>()->name.empty()) {
    var = Var(e->expr.as<VarNode>());
    (void)name_var(var, name->name, name->origin());
  } else if (annotation.value.as<BufferObject>() || annotation.value.as<MetaObject>() || annotation.value.as<eval::Builtin>() || is_let_annotation(annotation.value)) {
    // `A: T.Buffer(...) = ...`, `x: T.meta_var = ...` and `x: T.let = ...`: the annotation has no effect on the value.
    bool makes_variable = annotation.value.as<BufferObject>() || is_let_annotation(annotation.value);
    if (s.value) { scope->set(name->name, bind_name(name->name, value, makes_variable ? Binding::Assign : Binding::Target, name->origin())); }
    return;
  } else {
    evaluator_.report(error(Code::WrongType, annotation.where).arg("expected", "a data type").arg("found", describe(annotation.value)));
    scope->set(name->name, Value::error());
    return;
  }
  if (!s.value) {
    // `x: T.int32` declares a variable, as `x = T.int32()` does.
    (void)bind_var(var.get());
    scope->set(name->name, make_object<ExprObject>(IrExpr(var)));
    return;
  }
  IrExpr e = to_expr_like(evaluator_, value, var->dtype);
  if (e && !(e.dtype() == var->dtype) && !(e.dtype().is_handle() && var->dtype.is_handle())) {
    if (e.as<IntImm>() || e.as<FloatImm>()) {
      e = cast(var->dtype, e, value.where);
    } else {
      evaluator_.report(error(Code::TypeMismatch, value.where).arg("op", "=").arg("left", var->dtype.str()).arg("right", e.dtype().str())
                            .note(annotation.where, "the annotation is `" + var->dtype.str() + "`"));
    }
  }
  (void)bind_var(var.get());
  scope->set(name->name, make_object<ExprObject>(IrExpr(var)));
  if (!e || !is_within_limits(evaluator_, e, value.where)) { return; }
  BuildFrame f;
  f.kind = FrameKind::Let;
  f.origin = s.origin();
  f.var = std::move(var);
  f.a = std::move(e);
  frames_.push_back(std::move(f));
}

void Lowerer::on_aug_assign(const AugAssignStmt& s, const eval::ScopeRef& scope) {
  Argument old = evaluator_.eval_argument(*s.target, scope);
  Argument right = evaluator_.eval_argument(*s.value, scope);
  is_opaque_ |= old.value.is_opaque() || right.value.is_opaque();
  if (old.value.is_unknown() || right.value.is_unknown()) { return; }
  Value value = evaluator_.binary(s.op, old, right, s.origin());
  if (value.is_unknown()) { return; }
  if (Buffer memory = cell(*s.target, scope)) {
    note_version(*s.target);
    return store(memory, {Argument{Value(0), s.target->origin(), {}}}, {value, s.origin(), {}}, s.origin());
  }
  check_new(*s.target, scope, true);
  bind(*s.target, {std::move(value), s.origin(), {}}, Binding::Assign, scope);
}

}  // namespace loopsmith::frontend
