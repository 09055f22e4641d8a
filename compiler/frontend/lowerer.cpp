// Lowers a program from its declaration: parameters, annotations, the body, and macros expanded in it. See lowerer.h. Statements are in
// lowerer_statements.cpp, names in lowerer_names.cpp, the stack being built in lowerer_frames.cpp, long programs in lowerer_parts.cpp.
#include "frontend/lowerer.h"

#include <algorithm>

#include "frontend/thread_level.h"
#include "ir/ops.h"
#include "support/codes.h"

namespace loopsmith::frontend {

using eval::make_object;
using namespace syntax;
using IrExpr = loopsmith::Expr;
using IrStmt = loopsmith::Stmt;

const char Lowerer::tag = 0;

namespace {

constexpr uint32_t deepest_expansion = 60;
constexpr uint32_t most_expansions = 20'000;

// `range` inside of a program: over expressions it makes a loop; over integers it may be either a loop or a Python range.
auto program_range(Evaluator& evaluator, const Arguments& a) -> Value {
  bool plain = true;
  for (const Argument& x : a.all) { plain &= x.value.is_int() || x.value.is_bool(); }
  // TVM reads it as `T.serial`, whose other arguments are keywords.
  plain &= a.positional == a.all.size();
  static const Name range("range");
  static const Name serial("serial");
  if (plain || a.positional == 0 || a.positional > 3) {
    return evaluator.call(Argument{*eval::builtin(range), a.callee, {}}, a);
  }
  static const Name step("step");
  if (a.positional == 3) {
    Arguments with_step = a;
    with_step.all[2].keyword = step;
    with_step.positional = 2;
    return evaluator.call(Argument{*namespace_t().as<eval::Namespace>()->find(serial), a.callee, {}}, with_step);
  }
  return evaluator.call(Argument{*namespace_t().as<eval::Namespace>()->find(serial), a.callee, {}}, a);
}

}  // namespace

Lowerer::Lowerer(Evaluator& evaluator, eval::ScopeRef around, PartCache* parts)
    : evaluator_(evaluator), around_(std::move(around)), host_(evaluator.host, this), host_tag_(evaluator.host_tag, &tag), parts_(parts) {}

auto Lowerer::expand(const MacroObject& macro, const Arguments& arguments) -> Value {
  if (depth_ >= deepest_expansion) {
    // The condition that ends the recursion may be unknown.
    if (is_opaque_) { return evaluator_.opaque(arguments.call); }
    return evaluator_.report(error(Code::TooDeep, arguments.call).arg("limit", static_cast<int64_t>(deepest_expansion)));
  }
  if (++expansions_ > most_expansions) {
    if (expansions_ > most_expansions + 1) { return Value::error(); }
    return evaluator_.report(error(Code::TooMuchWork, arguments.call).arg("what", "more than " + std::to_string(most_expansions) + " expansions of macros in a program"));
  }
  Ref<eval::Function> function = macro.function;
  // Names that the macro does not bind are looked up at its definition, or, if it is not hygienic, at its call.
  auto frame = evaluator_.start(function, arguments, macro.hygienic ? function->captured : here_);
  if (!frame) { return Value::error(); }
  Temporarily deeper(depth_, depth_ + 1);
  Temporarily globals(evaluator_.globals, function->globals);
  Temporarily tree(evaluator_.tree, function->keep_alive);
  Temporarily here(here_);
  Temporarily def(def_, function->def);
  size_t depth = frames_.size();
  for (StmtPtr stmt : function->def->body) { statement(*stmt, frame->scope); }
  // A let or an allocation that the macro leaves open extends to the end of the macro only.
  exit_to(depth);
  return {};
}

void Lowerer::param(const Param& p, const eval::ScopeRef& scope) {
  if (!p.annotation) { return; }
  Origin at = p.annotation->origin();
  at.begin = p.name.span.begin;
  at.end = p.name.span.end;
  Argument annotation = evaluator_.eval_argument(*p.annotation, scope);
  const Value& v = annotation.value;
  is_opaque_ |= v.is_opaque();
  if (v.is_unknown()) {
    scope->set(p.name.name, v);
    return;
  }
  // `T.constexpr` and `T.Optional[...]`: `.specialize(...)` sets the value.
  static const Name constexpr_name("constexpr");
  const auto* builtin = v.as<eval::Builtin>();
  if (v.as<ThreadWord>() || (builtin && builtin->name == constexpr_name)) {
    use_thread_level("T.jit", annotation.where);
    scope->set(p.name.name, Value::opaque());
    return;
  }
  if (const auto* b = v.as<BufferObject>()) {
    (void)name_buffer(b->buffer, p.name.name, at);
    Var handle = make<VarNode>(Name(p.name.name.str() + "_handle"), DataType::handle(), at);
    params_.push_back(handle);
    buffer_map_.emplace_back(handle, b->buffer);
    scope->set(p.name.name, v);
    return;
  }
  Var var;
  if (const auto* t = v.as<DtypeObject>()) { var = make<VarNode>(p.name.name, t->dtype, at); }
  if (auto known = ahead_.find(p.name.name); known != ahead_.end() && var) { var = known->second; }
  if (const auto* e = v.as<ExprObject>()) {
    if (const auto* node = e->expr.as<VarNode>()) {
      var = Var(node);
      // `n: n`: a variable that the file made for shapes.
      bool is_its_own = node->name == p.name.name && bound_.count(node) == 0;
      if (!name_var(var, p.name.name, at) && !is_its_own) { var = {}; }
    }
  }
  if (!var) {
    Diagnostic d = error(Code::WrongType, annotation.where).arg("expected", "the type of a parameter").arg("found", describe(v));
    static const std::pair<std::string_view, std::string_view> pythons[] = {{"int", "T.int32"}, {"float", "T.float32"}, {"bool", "T.bool"}};
    const auto* written = p.annotation ? p.annotation->as<NameExpr>() : nullptr;
    for (auto [python, ours] : pythons) {
      if (written && written->name.view() == python) { (void)std::move(d).remedy("name the type with its bits: `" + std::string(ours) + "`").fix(annotation.where, std::string(ours)); }
    }
    if (v.as<BufferTypeObject>()) { (void)std::move(d).remedy("add its shape and type: `T.Buffer((128, 128), \"float32\")`"); }
    evaluator_.report(std::move(d));
    scope->set(p.name.name, Value::error());
    return;
  }
  params_.push_back(var);
  (void)bind_var(var.get());
  scope->set(p.name.name, make_object<ExprObject>(IrExpr(var)));
}

void Lowerer::type_param(const Param& p, const eval::ScopeRef& scope) {
  DataType t = DataType::int_(64);
  if (p.annotation) {
    Argument bound = evaluator_.eval_argument(*p.annotation, scope);
    if (const auto* known = bound.value.as<DtypeObject>()) { t = known->dtype; }
  }
  Origin at{frames_.front().origin.decl, p.name.span.begin, p.name.span.end, 0};
  Var var = make<VarNode>(p.name.name, t, at);
  symbols_.emplace_back(p.name.name, var);
  (void)bind_var(var.get());
  scope->set(p.name.name, make_object<ExprObject>(IrExpr(var)));
}

void Lowerer::declare_ahead(const FunctionDef& def, const eval::ScopeRef& scope) {
  std::unordered_set<Name> used;
  for (const Param& p : def.params) {
    const auto* type = p.annotation ? p.annotation->as<AttributeExpr>() : nullptr;
    auto t = type ? DataType::parse(type->attr.name.view()) : std::nullopt;
    if (t && t->is_integral() && used.count(p.name.name) != 0 && !meaning(p.name.name, scope)) {
      Var var = make<VarNode>(p.name.name, *t, Origin{def.decl, p.name.span.begin, p.name.span.end, 0});
      ahead_.emplace(p.name.name, var);
      scope->set(p.name.name, make_object<ExprObject>(IrExpr(var)));
    }
    if (!p.annotation) { continue; }
    walk(*p.annotation, [&](const Node& n) {
      if (const auto* name = n.as<NameExpr>()) { used.insert(name->name); }
      return true;
    });
  }
}

void Lowerer::signature(const FunctionDef& def, const eval::ScopeRef& scope) {
  for (const Param& p : def.type_params) { type_param(p, scope); }
  declare_ahead(def, scope);
  for (size_t i = 0; i < def.params.size(); ++i) {
    const Param& p = def.params[i];
    const Param* same = nullptr;
    for (size_t k = 0; k < i; ++k) { same = def.params[k].name.name == p.name.name ? &def.params[k] : same; }
    if (same && !p.name.name.empty()) {
      evaluator_.report(error(Code::RedefinedName, {def.decl, p.name.span.begin, p.name.span.end, 0}).arg("name", p.name.name.view())
                            .note({def.decl, same->name.span.begin, same->name.span.end, 0}, "the first one is here")
                            .remedy("use another name for one of them"));
      continue;
    }
    if (p.kind != ParamKind::Plain) {
      evaluator_.opaque({def.decl, p.span.begin, p.span.end, 0});
      is_opaque_ = true;
      continue;
    }
    if (!p.annotation) {
      evaluator_.report(error(Code::MissingAnnotation, {def.decl, p.name.span.begin, p.name.span.end, 0}).arg("name", p.name.name.view())
                            .remedy("add its type: `" + p.name.name.str() + ": T.Buffer((128, 128), \"float32\")`, or `" + p.name.name.str() + ": T.int32`"));
      scope->set(p.name.name, Value::error());
      continue;
    }
    if (p.default_value && !options_.is_jit) {
      evaluator_.report(error(Code::NoEffect, p.default_value->origin()).arg("what", "the default value of `" + p.name.name.str() + "`").remedy("remove it: callers give all arguments"));
    }
    param(p, scope);
    auto& known = assigned_[scope.get()];
    known.first = scope;
    known.second.emplace(p.name.name, Origin{def.decl, p.name.span.begin, p.name.span.end, 0});
  }
  if (def.returns) {
    Argument returns = evaluator_.eval_argument(*def.returns, scope);
    // A function that returns a buffer belongs to a higher level.
    is_opaque_ |= returns.value.is_opaque() || returns.value.as<BufferObject>() != nullptr;
    if (const auto* t = returns.value.as<DtypeObject>()) { ret_type_ = t->dtype; }
    else if (const auto* e = returns.value.as<ExprObject>()) { ret_type_ = e->expr.dtype(); }
  }
}

namespace {

// The annotations of a signature, in the order of the text.
auto annotations_of(const FunctionDef& def) -> std::vector<const syntax::Node*> {
  std::vector<const syntax::Node*> out;
  for (const auto* params : {&def.type_params, &def.params}) {
    for (const Param& p : *params) {
      if (p.annotation) { out.push_back(p.annotation); }
    }
  }
  if (def.returns) { out.push_back(def.returns); }
  return out;
}

// True if a diagnostic from index `first` on makes a program unusable. An index out of bounds does not: the program has a meaning otherwise.
auto has_failed(const Diagnostics& diagnostics, size_t first) -> bool {
  return std::any_of(diagnostics.begin() + static_cast<std::ptrdiff_t>(first), diagnostics.end(),
                     [](const Diagnostic& d) { return d.severity == Severity::Error && d.code != Code::IndexOutOfBounds; });
}

}  // namespace

auto Lowerer::run(const FunctionDef& def, FunctionOptions options) -> LoweredFunction {
  size_t errors_before = evaluator_.diagnostics.size();
  eval::ScopeRef scope = evaluator_.new_scope(around_);
  static const Name range("range");
  if (!around_ || !around_->find(range)) { scope->set(range, make_object<eval::Builtin>(range, program_range)); }
  global_symbol_ = def.name.name;
  rebinds_names_ = options.rebinds_names;
  options_ = options;
  scope_ = scope;
  def_ = &def;
  if (options.is_jit) { use_thread_level("T.jit", def.origin()); }
  Origin name_at{def.decl, def.name.span.begin, def.name.span.end, 0};
  BuildFrame& f = frames_.emplace_back();
  f.kind = FrameKind::Function;
  f.origin = def.origin();
  bool in_parts = parts_ != nullptr && !def.body.empty() && def.body.front()->decl != def.decl &&
                  std::none_of(def.body.begin(), def.body.end(), [](StmtPtr stmt) { return lacks_block(*stmt); });
  if (!in_parts) {
    parts_ = nullptr;
    signature(def, scope);
    body(def.body, scope);
  } else {
    part(def.decl, annotations_of(def), scope, [&] { signature(def, scope); });
    for (size_t i = 0; i < def.body.size();) {
      DeclId decl = def.body[i]->decl;
      std::vector<const syntax::Node*> nodes;
      for (; i < def.body.size() && def.body[i]->decl == decl; ++i) { nodes.push_back(def.body[i]); }
      part(decl, nodes, scope, [&] {
        for (const syntax::Node* node : nodes) {
          if (!evaluator_.step(node->origin())) { break; }
          statement(static_cast<const syntax::Stmt&>(*node), scope);
        }
      });
    }
  }
  exit_to(1);
  IrStmt stmt = sequence_of(std::move(frames_.back().stmts), def.origin());
  frames_.pop_back();
  static const Name default_buffer("buffer");
  for (const Buffer& b : root_allocs_) { (void)name_buffer(b, default_buffer, name_at); }

  PrimFuncNode node;
  node.params = params_;
  // Sorts by parameters: the text may match the buffers in any order.
  std::vector<std::pair<Var, Buffer>> ordered;
  for (const Var& p : params_) {
    for (const auto& entry : buffer_map_) {
      if (entry.first == p) {
        (void)name_buffer(entry.second, default_buffer, name_at);
        ordered.push_back(entry);
      }
    }
  }
  node.buffer_map = std::move(ordered);
  node.body = std::move(stmt);
  node.ret_type = ret_type_;
  static const Name global_symbol("global_symbol");
  if (const Attr* symbol = find_attr(attrs_, global_symbol); symbol && symbol->string() && *symbol->string() == def.name.name.view()) {
    attrs_ = without_attr(attrs_, global_symbol);
  }
  node.attrs = attrs_;
  node.is_private = options.is_private;
  node.origin = def.origin();
  LoweredFunction out;
  out.uses_sblock = uses_sblock_;
  out.is_opaque = is_opaque_;
  out.thread_word = thread_word_;
  out.partial = complete(std::move(node), std::move(root_allocs_), evaluator_, parts_);
  if (!def.has_error && !is_opaque_ && !has_failed(evaluator_.diagnostics, errors_before)) { out.func = out.partial; }
  return out;
}

auto not_checked(Name program, Name thread_word, Origin where, Origin opaque_at) -> Diagnostic {
  if (!thread_word.empty()) { return error(Code::UnknownMeaning, where).arg("name", program.view()).arg("word", thread_word.view()); }
  return error(Code::NotChecked, opaque_at.is_known() ? opaque_at : where);
}

auto dialect_of(const FunctionOptions& options, const LoweredFunction& lowered) -> Dialect {
  if (options.dialect != Dialect::Block) { return options.dialect; }
  return lowered.uses_sblock || options.rebinds_names ? Dialect::SBlock : Dialect::Block;
}

auto lower_function(Evaluator& evaluator, const FunctionDef& def, const eval::ScopeRef& scope, FunctionOptions options, PartCache* parts) -> LoweredFunction {
  Lowerer lowerer(evaluator, scope, parts);
  return lowerer.run(def, options);
}

}  // namespace loopsmith::frontend
