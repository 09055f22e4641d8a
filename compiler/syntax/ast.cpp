// The tree's arena, the children of each kind of node, and the tree as text.
#include "syntax/ast.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

namespace loopsmith::syntax {

auto Arena::allocate(size_t size) -> void* {
  size = (size + 7) & ~size_t{7};
  if (size > left_) {
    // Many declarations are one line long, some are thousands of lines long.
    size_t slab = std::max(size, std::clamp<size_t>(total_, 512, 65536));
    slabs_.push_back(std::make_unique_for_overwrite<char[]>(slab));
    next_ = slabs_.back().get();
    left_ = slab;
    total_ += slab;
  }
  void* result = next_;
  next_ += size;
  left_ -= size;
  return result;
}

auto Arena::copy(std::string_view text) -> std::string_view {
  if (text.empty()) { return {}; }
  char* bytes = static_cast<char*>(allocate(text.size()));
  std::memcpy(bytes, text.data(), text.size());
  return {bytes, text.size()};
}

namespace {

void add_offsets(const Item& item, uint32_t offset, std::unordered_map<DeclId, uint32_t>& out) {
  out.emplace(item.decl, offset);
  for (const Item::Member& member : item.members) { add_offsets(*member.item, offset + member.offset, out); }
}

}  // namespace

auto offsets_in(const Item& item) -> std::unordered_map<DeclId, uint32_t> {
  std::unordered_map<DeclId, uint32_t> out;
  add_offsets(item, 0, out);
  return out;
}

auto kind_name(Kind kind) -> std::string_view {
  switch (kind) {
    case Kind::Name: return "name";
    case Kind::Int: return "int";
    case Kind::Float: return "float";
    case Kind::String: return "string";
    case Kind::FString: return "fstring";
    case Kind::Constant: return "constant";
    case Kind::Tuple: return "tuple";
    case Kind::ListExpr: return "list";
    case Kind::Dict: return "dict";
    case Kind::Set: return "set";
    case Kind::Unary: return "unary";
    case Kind::Binary: return "binary";
    case Kind::Boolean: return "boolean";
    case Kind::Compare: return "compare";
    case Kind::Conditional: return "conditional";
    case Kind::Lambda: return "lambda";
    case Kind::Call: return "call";
    case Kind::Attribute: return "attribute";
    case Kind::Subscript: return "subscript";
    case Kind::Slice: return "slice";
    case Kind::Comprehension: return "comprehension";
    case Kind::Starred: return "starred";
    case Kind::NamedExpr: return "named";
    case Kind::OpaqueExpr: return "opaque";
    case Kind::BrokenExpr: return "broken";
    case Kind::FunctionDef: return "def";
    case Kind::ClassDef: return "class";
    case Kind::Assign: return "assign";
    case Kind::AnnAssign: return "annassign";
    case Kind::AugAssign: return "augassign";
    case Kind::ExprStmt: return "expr";
    case Kind::Return: return "return";
    case Kind::If: return "if";
    case Kind::For: return "for";
    case Kind::While: return "while";
    case Kind::With: return "with";
    case Kind::Assert: return "assert";
    case Kind::Pass: return "pass";
    case Kind::Break: return "break";
    case Kind::Continue: return "continue";
    case Kind::Import: return "import";
    case Kind::ImportFrom: return "from";
    case Kind::Del: return "del";
    case Kind::Scope: return "scope";
    case Kind::OpaqueStmt: return "opaque-stmt";
    case Kind::BrokenStmt: return "broken-stmt";
  }
  return "";
}

auto symbol(UnaryOp op) -> std::string_view {
  switch (op) {
    case UnaryOp::Negate: return "-";
    case UnaryOp::Plus: return "+";
    case UnaryOp::Invert: return "~";
    case UnaryOp::Not: return "not";
  }
  return "";
}

auto symbol(BinaryOp op) -> std::string_view {
  switch (op) {
    case BinaryOp::Add: return "+";
    case BinaryOp::Sub: return "-";
    case BinaryOp::Mul: return "*";
    case BinaryOp::Div: return "/";
    case BinaryOp::FloorDiv: return "//";
    case BinaryOp::Mod: return "%";
    case BinaryOp::Pow: return "**";
    case BinaryOp::MatMul: return "@";
    case BinaryOp::ShiftLeft: return "<<";
    case BinaryOp::ShiftRight: return ">>";
    case BinaryOp::BitAnd: return "&";
    case BinaryOp::BitOr: return "|";
    case BinaryOp::BitXor: return "^";
  }
  return "";
}

auto symbol(CompareOp op) -> std::string_view {
  switch (op) {
    case CompareOp::Eq: return "==";
    case CompareOp::Ne: return "!=";
    case CompareOp::Lt: return "<";
    case CompareOp::Le: return "<=";
    case CompareOp::Gt: return ">";
    case CompareOp::Ge: return ">=";
    case CompareOp::In: return "in";
    case CompareOp::NotIn: return "not in";
    case CompareOp::Is: return "is";
    case CompareOp::IsNot: return "is not";
  }
  return "";
}

namespace {

auto literal(std::string_view text) -> std::string {
  std::string out = "\"";
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') { out += '\\'; out += c; }
    else if (byte < 0x20 || byte == 0x7f) { out += fmt::format("\\x{:02x}", byte); }
    else { out += c; }
  }
  return out + "\"";
}

/// Lists the parts of a node in the order of the text: `child(label, node)` and `text(label, words)`. Children may be null (absent). The
/// label distinguishes parts whose position is not unique.
template <class Child, class Text>
void describe(const Node& node, Child&& child, Text&& text) {
  auto each = [&](std::string_view label, const auto& list) {
    for (const auto* one : list) { child(label, one); }
  };
  auto parts = [&](auto&& self, const List<FStringPart>& list) -> void {
    for (const FStringPart& part : list) {
      if (part.value == nullptr || part.is_debug) { text("text", literal(part.text)); }
      if (part.value != nullptr) { child("value", part.value); }
      if (part.conversion != 0) { text("conversion", std::string(1, part.conversion)); }
      if (!part.format.empty()) {
        text("format", "<");
        self(self, part.format);
        text("format", ">");
      }
    }
  };
  auto params = [&](const List<Param>& list) {
    for (const Param& param : list) {
      std::string_view star = param.kind == ParamKind::Star || param.kind == ParamKind::StarOnly ? "*"
                              : param.kind == ParamKind::DoubleStar                              ? "**"
                              : param.kind == ParamKind::SlashOnly                               ? "/"
                                                                                                 : "";
      text("param", fmt::format("{}{}", star, param.name.name.view()));
      child("type", param.annotation);
      child("default", param.default_value);
    }
  };
  auto keywords = [&](const List<Keyword>& list) {
    for (const Keyword& keyword : list) {
      text("keyword", keyword.name.name.empty() ? "**" : keyword.name.name.str());
      child("", keyword.value);
    }
  };
  auto names = [&](std::string_view label, const List<Identifier>& list) {
    for (const Identifier& id : list) { text(label, id.name.str()); }
  };
  auto imports = [&](const List<ImportName>& list) {
    for (const ImportName& name : list) {
      std::string path;
      for (const Identifier& id : name.path) { path += (path.empty() ? "" : ".") + id.name.str(); }
      text("name", path);
      if (!name.alias.name.empty()) { text("as", name.alias.name.str()); }
    }
  };
  switch (node.kind) {
    case Kind::Name: text("", node.as<NameExpr>()->name.str()); break;
    case Kind::Int: text("", std::string(node.as<IntExpr>()->text)); break;
    case Kind::Float: text("", std::string(node.as<FloatExpr>()->text)); break;
    case Kind::String: {
      const auto& n = *node.as<StringExpr>();
      text("", std::string(n.is_bytes ? "b" : "") + literal(n.value));
      break;
    }
    case Kind::FString: parts(parts, node.as<FStringExpr>()->parts); break;
    case Kind::Constant: {
      static constexpr std::string_view values[] = {"None", "True", "False", "..."};
      text("", std::string(values[static_cast<int>(node.as<ConstantExpr>()->value)]));
      break;
    }
    case Kind::Tuple: each("", node.as<TupleExpr>()->elements); break;
    case Kind::ListExpr: each("", node.as<ListExpr>()->elements); break;
    case Kind::Set: each("", node.as<SetExpr>()->elements); break;
    case Kind::Dict:
      for (const DictEntry& entry : node.as<DictExpr>()->entries) {
        child("key", entry.key);
        child(entry.key == nullptr ? "splat" : "", entry.value);
      }
      break;
    case Kind::Unary:
      text("", std::string(symbol(node.as<UnaryExpr>()->op)));
      child("", node.as<UnaryExpr>()->operand);
      break;
    case Kind::Binary: {
      const auto& n = *node.as<BinaryExpr>();
      text("", std::string(symbol(n.op)));
      child("", n.left);
      child("", n.right);
      break;
    }
    case Kind::Boolean:
      text("", node.as<BooleanExpr>()->is_and ? "and" : "or");
      each("", node.as<BooleanExpr>()->values);
      break;
    case Kind::Compare: {
      const auto& n = *node.as<CompareExpr>();
      for (uint32_t i = 0; i < n.operands.size(); ++i) {
        if (i > 0) { text("", std::string(symbol(n.ops[i - 1]))); }
        child("", n.operands[i]);
      }
      break;
    }
    case Kind::Conditional: {
      const auto& n = *node.as<ConditionalExpr>();
      child("", n.then);
      child("if", n.condition);
      child("else", n.otherwise);
      break;
    }
    case Kind::Lambda:
      params(node.as<LambdaExpr>()->params);
      child("body", node.as<LambdaExpr>()->body);
      break;
    case Kind::Call: {
      const auto& n = *node.as<CallExpr>();
      child("", n.callee);
      each("", n.args);
      keywords(n.keywords);
      break;
    }
    case Kind::Attribute:
      child("", node.as<AttributeExpr>()->object);
      text("", "." + node.as<AttributeExpr>()->attr.name.str());
      break;
    case Kind::Subscript: {
      const auto& n = *node.as<SubscriptExpr>();
      child("", n.object);
      if (n.is_tuple) { text("", "tuple"); }
      each("", n.indices);
      break;
    }
    case Kind::Slice: {
      const auto& n = *node.as<SliceExpr>();
      child("lower", n.lower);
      child("upper", n.upper);
      child("step", n.step);
      break;
    }
    case Kind::Comprehension: {
      const auto& n = *node.as<ComprehensionExpr>();
      static constexpr std::string_view kinds[] = {"list", "dict", "set", "generator"};
      text("", std::string(kinds[static_cast<int>(n.which)]));
      child("key", n.key);
      child("", n.element);
      for (const ComprehensionFor& clause : n.clauses) {
        child("for", clause.target);
        child("in", clause.iterable);
        each("if", clause.conditions);
      }
      break;
    }
    case Kind::Starred: child("", node.as<StarredExpr>()->value); break;
    case Kind::NamedExpr:
      text("", node.as<NamedExpr>()->name.name.str());
      child("", node.as<NamedExpr>()->value);
      break;
    case Kind::OpaqueExpr: text("", std::string(node.as<OpaqueExpr>()->what)); break;
    case Kind::BrokenExpr: each("", node.as<BrokenExpr>()->parts); break;
    case Kind::FunctionDef: {
      const auto& n = *node.as<FunctionDef>();
      each("decorator", n.decorators);
      text("", n.name.name.str());
      params(n.type_params);
      params(n.params);
      child("returns", n.returns);
      each("body", n.body);
      break;
    }
    case Kind::ClassDef: {
      const auto& n = *node.as<ClassDef>();
      each("decorator", n.decorators);
      text("", n.name.name.str());
      each("base", n.bases);
      keywords(n.keywords);
      each("body", n.body);
      break;
    }
    case Kind::Assign:
      each("target", node.as<AssignStmt>()->targets);
      child("", node.as<AssignStmt>()->value);
      break;
    case Kind::AnnAssign: {
      const auto& n = *node.as<AnnAssignStmt>();
      child("target", n.target);
      child("type", n.annotation);
      child("", n.value);
      break;
    }
    case Kind::AugAssign: {
      const auto& n = *node.as<AugAssignStmt>();
      text("", std::string(symbol(n.op)) + "=");
      child("target", n.target);
      child("", n.value);
      break;
    }
    case Kind::ExprStmt: child("", node.as<ExprStmt>()->value); break;
    case Kind::Return: child("", node.as<ReturnStmt>()->value); break;
    case Kind::If: {
      const auto& n = *node.as<IfStmt>();
      child("", n.condition);
      each("then", n.then);
      each("else", n.otherwise);
      break;
    }
    case Kind::For: {
      const auto& n = *node.as<ForStmt>();
      child("", n.target);
      child("in", n.iterable);
      each("body", n.body);
      each("else", n.otherwise);
      break;
    }
    case Kind::While: {
      const auto& n = *node.as<WhileStmt>();
      child("", n.condition);
      each("body", n.body);
      each("else", n.otherwise);
      break;
    }
    case Kind::With:
      for (const WithItem& item : node.as<WithStmt>()->items) {
        child("item", item.context);
        child("as", item.target);
      }
      each("body", node.as<WithStmt>()->body);
      break;
    case Kind::Assert:
      child("", node.as<AssertStmt>()->condition);
      child("message", node.as<AssertStmt>()->message);
      break;
    case Kind::Pass:
    case Kind::Break:
    case Kind::Continue: break;
    case Kind::Import: imports(node.as<ImportStmt>()->names); break;
    case Kind::ImportFrom: {
      const auto& n = *node.as<ImportFromStmt>();
      std::string path(n.level, '.');
      for (uint32_t i = 0; i < n.module.size(); ++i) { path += (i > 0 ? "." : "") + n.module[i].name.str(); }
      text("", path);
      if (n.is_star) { text("name", "*"); }
      imports(n.names);
      break;
    }
    case Kind::Del: each("", node.as<DelStmt>()->targets); break;
    case Kind::Scope:
      text("", node.as<ScopeStmt>()->is_global ? "global" : "nonlocal");
      names("name", node.as<ScopeStmt>()->names);
      break;
    case Kind::OpaqueStmt:
      text("", std::string(node.as<OpaqueStmt>()->what));
      names("binds", node.as<OpaqueStmt>()->binds);
      break;
    case Kind::BrokenStmt:
      each("", node.as<BrokenStmt>()->parts);
      each("body", node.as<BrokenStmt>()->body);
      break;
  }
}

}  // namespace

auto children(const Node& node) -> std::vector<const Node*> {
  std::vector<const Node*> below;
  describe(
      node,
      [&](std::string_view, const Node* child) {
        if (child != nullptr) { below.push_back(child); }
      },
      [](std::string_view, const std::string&) {});
  return below;
}

auto to_sexpr(const Node& root, bool with_spans) -> std::string {
  // A chain may be thousands deep: an explicit stack holds the parts that are still to be written.
  struct Work {
    const Node* node;
    std::string text;
  };
  std::string out;
  std::vector<Work> stack{{&root, {}}};
  while (!stack.empty()) {
    Work work = std::move(stack.back());
    stack.pop_back();
    out += work.text;
    if (work.node == nullptr) { continue; }
    out += '(';
    out += kind_name(work.node->kind);
    if (with_spans) { out += fmt::format("@{}-{}", work.node->span.begin, work.node->span.end); }
    if (work.node->has_error) { out += '!'; }
    std::vector<Work> parts;
    auto lead = [](std::string_view label) { return label.empty() ? std::string(" ") : fmt::format(" {}:", label); };
    describe(
        *work.node,
        [&](std::string_view label, const Node* child) {
          if (child != nullptr) { parts.push_back({child, lead(label)}); }
        },
        [&](std::string_view label, const std::string& words) { parts.push_back({nullptr, lead(label) + words}); });
    parts.push_back({nullptr, ")"});
    for (size_t i = parts.size(); i > 0; --i) { stack.push_back(std::move(parts[i - 1])); }
  }
  return out;
}

auto to_sexpr(const Item& item, bool with_spans) -> std::string {
  std::string out;
  for (StmtPtr statement : item.statements) {
    if (!out.empty()) { out += ' '; }
    out += to_sexpr(*statement, with_spans);
  }
  if (item.kind == ItemKind::Comments) { out = fmt::format("(comments {})", item.comments.size()); }
  return out;
}

}  // namespace loopsmith::syntax
