// The attributes and classes of programs for Python that inspects them: see introspection.h.
#include "frontend/introspection.h"

#include <algorithm>
#include <unordered_set>

#include "ir/printer.h"
#include "ir/vocabulary.h"
#include "support/codes.h"
#include "support/text.h"

namespace loopsmith::frontend {
namespace {

using eval::make_object;

// ---- classes -----------------------------------------------------------------------------------------------------

constexpr const char* node_names[] = {
#define EXPR(Kind) #Kind,
#define STMT(Kind) #Kind,
#include "ir/nodes.def"
};
auto class_name(NodeKind kind) -> const char* {
  return kind == NodeKind::VarNode ? "Var" : node_names[static_cast<size_t>(kind)];
}

// A class of Python, for `isinstance`, with its constants. `make`: the function behind a call of the class.
class ClassObject final : public eval::Object {
 public:
  static const eval::TypeTag type_tag;
  using Members = std::vector<std::pair<Name, Value>>;
  ClassObject(Name n, Members m, eval::Builtin::Run make) : Object(&type_tag), name_(n), members_(std::move(m)), make_(make) {}
  auto is_callable() const -> bool override { return make_ != nullptr; }
  auto call(Evaluator& e, const Arguments& a) const -> std::optional<Value> override { return make_ ? make_(e, a) : e.opaque(a.call); }
  auto get_attribute(Evaluator&, Name name, Origin) const -> std::optional<Value> override {
    static const Name own_name("__name__");
    if (name == own_name) { return Value::str(name_.str()); }
    auto found = std::find_if(members_.begin(), members_.end(), [&](const auto& m) { return m.first == name; });
    return found != members_.end() ? std::optional(found->second) : std::optional(Value::opaque());
  }
  auto repr() const -> std::string override { return "<class " + name_.str() + ">"; }

 private:
  const Name name_;
  const Members members_;
  const eval::Builtin::Run make_;
};
const eval::TypeTag ClassObject::type_tag{"a class"};

auto make_class(const char* name, ClassObject::Members members = {}, eval::Builtin::Run make = nullptr) -> Value {
  return make_object<ClassObject>(Name(name), std::move(members), make);
}

// ---- operators ---------------------------------------------------------------------------------------------------

auto is_same(Evaluator& e, const Value& self, const Arguments& a) -> Value {
  eval::BoundArguments bound;
  if (!eval::bind_arguments(e, "same_as", a, {{"other"}}, bound)) { return bound.unknown; }
  const eval::Object* other = bound.values[0].value.object();
  return Value(other && self.object()->equals(*other));
}
auto same_as(const eval::Object& self) -> Value { return make_object<eval::Method>(Value(Ref<eval::Object>(&self)), Name("same_as"), is_same); }

// An operator: `tvm.ir.Op.get("tir.exp")`, `call.op`.
class OpObject final : public eval::Object {
 public:
  static const eval::TypeTag type_tag;
  explicit OpObject(Name n) : Object(&type_tag), name(n) {}
  const Name name;   // with the prefix: "tir.exp"
  auto get_attribute(Evaluator&, Name asked, Origin) const -> std::optional<Value> override {
    static const Name name_name("name"), same("same_as"), cls("__class__");
    if (asked == name_name) { return Value::str(name.str()); }
    if (asked == same) { return same_as(*this); }
    if (asked == cls) { return classes({"Op", "RelayExpr"}); }
    return {};
  }
  void attribute_names(std::vector<Name>& out) const override { out.insert(out.end(), {Name("name"), Name("same_as")}); }
  auto equals(const eval::Object& other) const -> bool override {
    const auto* that = other.as<OpObject>();
    return that && that->name == name;
  }
  auto hash() const -> uint64_t override { return std::hash<Name>()(name); }
  auto repr() const -> std::string override { return "Op(" + name.str() + ")"; }
};
const eval::TypeTag OpObject::type_tag{"an operator"};

auto op_named(Evaluator& e, const Arguments& a) -> Value {
  const std::string* name = a.all.size() == 1 ? a.all[0].value.string() : nullptr;
  return name ? Value(make_object<OpObject>(Name(*name))) : e.opaque(a.call);
}

// ---- members of nodes --------------------------------------------------------------------------------------------

auto list_of(const Array<Expr>& all) -> Value {
  std::vector<Value> out;
  for (const Expr& e : all) { out.push_back(expr_value(e)); }
  return Value::list(std::move(out));
}
template <class All, class Make>
auto list_of(const All& all, const Make& make) -> Value {
  std::vector<Value> out;
  for (const auto& item : all) { out.push_back(make(item)); }
  return Value::list(std::move(out));
}
// A constant of any type becomes a number of the script.
auto number_or_expr(const Expr& e) -> Value {
  const auto* imm = e.as<IntImm>();
  return imm ? Value(imm->value) : expr_value(e);
}
auto or_none(const Stmt& stmt) -> Value { return stmt ? Value(make_object<StmtObject>(stmt)) : Value(); }
auto buffer_value(const Buffer& b) -> Value { return make_object<BufferObject>(b); }
auto region_value(const BufferRegion& r) -> Value { return make_object<RegionObject>(r); }
auto iter_value(const IterVar& i) -> Value { return make_object<IterVarObject>(i); }
auto range_value(const Range& r) -> Value { return make_object<DomainObject>(r); }

constexpr const char* loop_kinds[] = {"serial", "parallel", "vectorized", "unrolled", "thread_binding"};

// Calls `row(name, value)` for every attribute: `value` makes its value.
template <class Row>
void each_member(const StmtNode& node, const Row& row) {
  auto stmt = [&](const char* name, const Stmt& s) { row(name, [&] { return or_none(s); }); };
  auto expr = [&](const char* name, const Expr& e) { row(name, [&] { return e ? expr_value(e) : Value(); }); };
  auto buffer = [&](const Buffer& b) { row("buffer", [&] { return buffer_value(b); }); };
  auto annotations = [&](const AttrMap& a) { row("annotations", [&] { return from_attrs(a); }); };
  switch (node.kind) {
    case NodeKind::LetStmt: {
      const auto& n = static_cast<const LetStmt&>(node);
      expr("var", n.var); expr("value", n.value); stmt("body", n.body);
      return;
    }
    case NodeKind::AttrStmt: {
      const auto& n = static_cast<const AttrStmt&>(node);
      row("attr_key", [&] { return Value::str(n.key.str()); });
      row("node", [&] {
        if (const auto* e = std::get_if<Expr>(&n.node)) { return expr_value(*e); }
        if (const auto* b = std::get_if<Buffer>(&n.node)) { return buffer_value(*b); }
        if (const auto* i = std::get_if<IterVar>(&n.node)) { return iter_value(*i); }
        return Value();
      });
      expr("value", n.value); stmt("body", n.body);
      return;
    }
    case NodeKind::AssertStmt: {
      const auto& n = static_cast<const AssertStmt&>(node);
      expr("condition", n.condition); expr("message", n.message); stmt("body", n.body);
      return;
    }
    case NodeKind::BufferStore: {
      const auto& n = static_cast<const BufferStore&>(node);
      buffer(n.buffer); expr("value", n.value); row("indices", [&] { return list_of(n.indices); }); expr("predicate", n.predicate);
      return;
    }
    case NodeKind::BufferRealize: {
      const auto& n = static_cast<const BufferRealize&>(node);
      buffer(n.buffer); row("bounds", [&] { return list_of(n.bounds, range_value); }); expr("condition", n.condition); stmt("body", n.body);
      return;
    }
    case NodeKind::Allocate: {
      const auto& n = static_cast<const Allocate&>(node);
      expr("buffer_var", n.data); row("dtype", [&] { return Value::str(n.dtype.str()); }); row("extents", [&] { return list_of(n.extents); });
      expr("condition", n.condition); stmt("body", n.body); annotations(n.annotations);
      return;
    }
    case NodeKind::AllocateConst: {
      const auto& n = static_cast<const AllocateConst&>(node);
      expr("buffer_var", n.data); row("dtype", [&] { return Value::str(n.dtype.str()); }); row("extents", [&] { return list_of(n.extents); });
      stmt("body", n.body); annotations(n.annotations);
      return;
    }
    case NodeKind::DeclBuffer: {
      const auto& n = static_cast<const DeclBuffer&>(node);
      buffer(n.buffer); stmt("body", n.body);
      return;
    }
    case NodeKind::SeqStmt: row("seq", [&] { return list_of(static_cast<const SeqStmt&>(node).seq, or_none); }); return;
    case NodeKind::Evaluate: expr("value", static_cast<const Evaluate&>(node).value); return;
    case NodeKind::IfThenElse: {
      const auto& n = static_cast<const IfThenElse&>(node);
      expr("condition", n.condition); stmt("then_case", n.then_case); stmt("else_case", n.else_case);
      return;
    }
    case NodeKind::For: {
      const auto& n = static_cast<const For&>(node);
      expr("loop_var", n.var);
      row("min", [&] { return number_or_expr(n.min); });
      row("extent", [&] { return number_or_expr(n.extent); });
      row("kind", [&] { return Value::str(loop_kinds[static_cast<size_t>(n.for_kind)]); });
      row("thread_binding", [&] { return n.thread ? iter_value(*n.thread) : Value(); });
      stmt("body", n.body); annotations(n.annotations);
      return;
    }
    case NodeKind::While: expr("condition", static_cast<const While&>(node).condition); stmt("body", static_cast<const While&>(node).body); return;
    case NodeKind::Break: case NodeKind::Continue: return;
    case NodeKind::Block: {
      const auto& n = static_cast<const Block&>(node);
      row("name_hint", [&] { return Value::str(n.name.str()); });
      row("iter_vars", [&] { return list_of(n.iter_vars, iter_value); });
      row("reads", [&] { return list_of(n.reads, region_value); });
      row("writes", [&] { return list_of(n.writes, region_value); });
      row("alloc_buffers", [&] { return list_of(n.alloc_buffers, buffer_value); });
      stmt("body", n.body); stmt("init", n.init); annotations(n.annotations);
      return;
    }
    case NodeKind::BlockRealize: {
      const auto& n = static_cast<const BlockRealize&>(node);
      row("iter_values", [&] { return list_of(n.iter_values); }); expr("predicate", n.predicate); stmt("block", Stmt(n.block));
      return;
    }
    default: return;   // expressions
  }
}
template <class Row>
void each_member(const ExprNode& node, const Row& row) {
  auto expr = [&](const char* name, const Expr& e) { row(name, [&] { return e ? expr_value(e) : Value(); }); };
  auto list = [&](const char* name, const Array<Expr>& all) { row(name, [&] { return list_of(all); }); };
  switch (node.kind) {
#define EXPR(Kind)
#define BINARY(Kind) case NodeKind::Kind:
#include "ir/nodes.def"
      expr("a", static_cast<const BinaryNode&>(node).a); expr("b", static_cast<const BinaryNode&>(node).b);
      return;
    case NodeKind::VarNode: row("name", [&] { return Value::str(static_cast<const VarNode&>(node).name.str()); }); return;
    case NodeKind::IntImm: row("value", [&] { return Value(static_cast<const IntImm&>(node).value); }); return;
    case NodeKind::FloatImm: row("value", [&] { return Value(static_cast<const FloatImm&>(node).value); }); return;
    case NodeKind::StringImm: row("value", [&] { return Value::str(static_cast<const StringImm&>(node).value); }); return;
    case NodeKind::Cast: expr("value", static_cast<const Cast&>(node).value); return;
    case NodeKind::Not: expr("a", static_cast<const Not&>(node).a); return;
    case NodeKind::Select: {
      const auto& n = static_cast<const Select&>(node);
      expr("condition", n.condition); expr("true_value", n.true_value); expr("false_value", n.false_value);
      return;
    }
    case NodeKind::BufferLoad: {
      const auto& n = static_cast<const BufferLoad&>(node);
      row("buffer", [&] { return buffer_value(n.buffer); }); list("indices", n.indices); expr("predicate", n.predicate);
      return;
    }
    case NodeKind::Ramp: {
      const auto& n = static_cast<const Ramp&>(node);
      expr("base", n.base); expr("stride", n.stride); expr("lanes", n.lanes);
      return;
    }
    case NodeKind::Broadcast: expr("value", static_cast<const Broadcast&>(node).value); expr("lanes", static_cast<const Broadcast&>(node).lanes); return;
    case NodeKind::Shuffle: list("vectors", static_cast<const Shuffle&>(node).vectors); list("indices", static_cast<const Shuffle&>(node).indices); return;
    case NodeKind::Let: {
      const auto& n = static_cast<const Let&>(node);
      expr("var", n.var); expr("value", n.value); expr("body", n.body);
      return;
    }
    case NodeKind::Call: {
      const auto& n = static_cast<const Call&>(node);
      row("op", [&] { return Value(make_object<OpObject>(n.op.view().starts_with('@') ? n.op : Name("tir." + n.op.str()))); });
      list("args", n.args);
      return;
    }
    case NodeKind::Reduce: {
      const auto& n = static_cast<const Reduce&>(node);
      list("source", n.source); row("axis", [&] { return list_of(n.axis, iter_value); }); expr("condition", n.condition); list("init", n.init);
      return;
    }
    default: return;   // statements
  }
}

template <class Node>
auto find_member(const Node& node, Name name) -> std::optional<Value> {
  std::optional<Value> out;
  each_member(node, [&](const char* row, const auto& value) { if (!out && name == row) { out = value(); } });
  return out;
}

}  // namespace

auto classes(std::initializer_list<const char*> names) -> Value {
  std::vector<Value> out;
  for (const char* name : names) { out.push_back(Value::str(name)); }
  return Value::tuple(std::move(out));
}

auto member_of(const Stmt& stmt, Name name) -> std::optional<Value> {
  static const Name cls("__class__"), same("same_as"), stmt_name("stmt");
  if (name == cls) { return classes({class_name(stmt->kind), "Stmt"}); }
  if (name == stmt_name && (stmt->kind == NodeKind::For || stmt->kind == NodeKind::Block)) { return Value(make_object<StmtObject>(stmt)); }
  return find_member(*stmt, name);
}
auto member_of(const Expr& expr, Name name) -> std::optional<Value> {
  static const Name cls("__class__");
  if (name == cls) { return classes({class_name(expr->kind), "PrimExpr", "Expr"}); }
  return find_member(*expr, name);
}
void member_names(const Stmt& stmt, std::vector<Name>& out) {
  each_member(*stmt, [&](const char* row, const auto&) { out.emplace_back(row); });
  out.emplace_back("same_as");
}
void member_names(const Expr& expr, std::vector<Name>& out) {
  each_member(*expr, [&](const char* row, const auto&) { out.emplace_back(row); });
  out.emplace_back("same_as");
}

// ---- statements --------------------------------------------------------------------------------------------------

auto StmtObject::get_attribute(Evaluator&, Name name, Origin) const -> std::optional<Value> {
  static const Name same("same_as");
  return name == same ? std::optional(same_as(*this)) : member_of(stmt, name);
}
void StmtObject::attribute_names(std::vector<Name>& out) const { member_names(stmt, out); }
auto StmtObject::type_name() const -> std::string_view {
  return stmt->kind == NodeKind::For ? "loop" : stmt->kind == NodeKind::Block || stmt->kind == NodeKind::BlockRealize ? "block" : "statement";
}
auto StmtObject::repr() const -> std::string { return print_script(stmt); }
auto StmtObject::equals(const eval::Object& other) const -> bool {
  const auto* that = other.as<StmtObject>();
  return that && that->stmt.get() == stmt.get();
}
auto StmtObject::hash() const -> uint64_t { return reinterpret_cast<uintptr_t>(stmt.get()); }

// ---- targets -----------------------------------------------------------------------------------------------------

namespace {

struct TargetFacts {
  std::string kind;
  std::vector<std::pair<Name, Value>> options;
  [[nodiscard]] auto find(Name name) const -> const Value* {
    auto found = std::find_if(options.begin(), options.end(), [&](const auto& o) { return o.first == name; });
    return found != options.end() ? &found->second : nullptr;
  }
};

auto option_value(const std::string& text) -> Value {
  bool is_number = !text.empty() && text.size() < 18 && std::all_of(text.begin(), text.end(), is_digit);
  return is_number ? Value(static_cast<int64_t>(std::stoll(text))) : Value::str(text);
}
void read_text(const std::string& text, TargetFacts& facts) {
  size_t at = std::min(text.find(' '), text.size());
  std::string kind = text.substr(0, at);
  // A tag names the vendor, which determines the kind and the facts that all NVIDIA cards share.
  if (kind.starts_with("nvidia/")) {
    facts.kind = target_kind::cuda;
    facts.options.emplace_back(Name("max_shared_memory_per_block"), Value(49152));
    facts.options.emplace_back(Name("max_threads_per_block"), Value(1024));
  } else if (kind.find('/') == std::string::npos) {
    facts.kind = kind;
  }
  while (at < text.size()) {
    size_t begin = text.find_first_not_of(' ', at);
    if (begin == std::string::npos) { break; }
    at = std::min(text.find(' ', begin), text.size());
    std::string option = text.substr(begin, at - begin);
    size_t equals = option.find('=');
    if (!option.starts_with('-') || equals == std::string::npos) { continue; }
    facts.options.emplace_back(Name(option.substr(1, equals - 1)), option_value(option.substr(equals + 1)));
  }
}
auto facts_of(const Attr& target) -> TargetFacts {
  TargetFacts out;
  if (const auto* list = target.list()) { return list->empty() ? out : facts_of((*list)[0]); }   // the host comes after it
  if (const std::string* text = target.string()) { read_text(*text, out); }
  if (const auto* map = std::get_if<AttrMap>(&target.value)) {
    for (const auto& [key, value] : *map) {
      const std::string* text = value.string();
      if ((key == "kind" || key == "tag") && text) { read_text(*text, out); } else { out.options.emplace_back(key, from_attr(value)); }
    }
  }
  // TVM's defaults.
  if (const TargetKind* kind = find_target_kind(out.kind)) {
    for (auto [option, value] : {std::pair("max_num_threads", kind->max_threads), std::pair("thread_warp_size", kind->warp_size)}) {
      if (value != 0 && !out.find(Name(option))) { out.options.emplace_back(Name(option), Value(value)); }
    }
  }
  return out;
}

auto text_of_target(const Attr& target) -> std::string {
  const std::string* text = target.string();
  return text ? *text : print_script(target);
}

auto current_target(Evaluator& e, const Arguments& a) -> Value {
  for (size_t i = e.contexts.size(); i-- > 0;) {
    const auto* context = e.contexts[i].as<AttrObject>();
    if (context && target_attr(context->attr)) { return e.contexts[i]; }
  }
  return e.opaque(a.call);
}

}  // namespace

auto target_member(const Attr& target, Name name) -> std::optional<Value> {
  static const Name kind("kind"), attrs("attrs"), cls("__class__"), name_name("name");
  static const std::unordered_set<Name> facts_asked = {Name("max_num_threads"), Name("thread_warp_size"), Name("max_shared_memory_per_block"), Name("max_threads_per_block"),
                                                       Name("arch"), Name("mcpu"), Name("mattr"), Name("mtriple"), Name("model"), Name("device")};
  if (name == cls) { return classes({"Target"}); }
  TargetFacts facts = facts_of(target);
  if (name == kind) {
    if (facts.kind.empty()) { return Value::opaque(); }
    return make_class("TargetKind", {{name_name, Value::str(facts.kind)}});
  }
  if (name == attrs) {
    Ref<eval::Dict> out = make_object<eval::Dict>();
    for (auto& [key, value] : facts.options) { out->set(Value::str(key.str()), value); }
    return out;
  }
  const Value* fact = facts_asked.count(name) != 0 ? facts.find(name) : nullptr;
  return fact ? *fact : Value::opaque();
}

auto AttrObject::get_attribute(Evaluator&, Name name, Origin) const -> std::optional<Value> {
  const Attr* target = target_attr(attr);
  return target ? target_member(*target, name) : std::nullopt;
}
auto AttrObject::repr() const -> std::string {
  const Attr* target = target_attr(attr);
  return target ? text_of_target(*target) : print_script(attr);
}

// ---- namespaces --------------------------------------------------------------------------------------------------

void add_classes(eval::Namespace& tir, eval::Builtin::Run make_iter_var) {
  auto add = [&](const char* name, Value value) {
    if (!tir.find(Name(name))) { tir.add(Name(name), std::move(value)); }
  };
  for (const char* name : {"PrimExpr", "Stmt", "BufferRegion", "PrimFunc"}) { add(name, make_class(name)); }
#define EXPR(Kind) add(class_name(NodeKind::Kind), make_class(class_name(NodeKind::Kind)));
#define STMT(Kind) add(class_name(NodeKind::Kind), make_class(class_name(NodeKind::Kind)));
#include "ir/nodes.def"
  ClassObject::Members kinds;
  for (const char* kind : loop_kinds) {
    std::string upper = kind;
    std::transform(upper.begin(), upper.end(), upper.begin(), [](char c) { return static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c); });
    kinds.emplace_back(Name(upper), Value::str(kind));
  }
  add("ForKind", make_class("ForKind", std::move(kinds)));
  // TVM's numbers.
  tir.add(Name("IterVar"), make_class("IterVar", {{Name("DataPar"), Value(0)}, {Name("ThreadIndex"), Value(1)}, {Name("CommReduce"), Value(2)},
                                                  {Name("Ordered"), Value(3)}, {Name("Opaque"), Value(4)}}, make_iter_var));
}

auto namespace_ir_of_python() -> Value {
  auto unknown = [](Name) -> std::optional<Value> { return Value::opaque(); };
  Value op = make_class("Op", {{Name("get"), Value(make_object<eval::Builtin>(Name("get"), op_named))}});
  Ref<eval::Namespace> ops = make_object<eval::Namespace>(Name("tvm.ir.op"), unknown);
  const_cast<eval::Namespace&>(*ops).add(Name("Op"), op);
  Ref<eval::Namespace> out = make_object<eval::Namespace>(Name("tvm.ir"), unknown);
  const_cast<eval::Namespace&>(*out).add(Name("Op"), op);
  const_cast<eval::Namespace&>(*out).add(Name("op"), ops);
  return out;
}

auto target_class(eval::Builtin::Run make) -> Value {
  return make_class("Target", {{Name("current"), Value(make_object<eval::Builtin>(Name("current"), current_target))}}, make);
}

auto operator_name(const Value& value) -> std::string {
  const auto* op = value.as<OpObject>();
  return op ? op->name.str() : std::string();
}

}  // namespace loopsmith::frontend
