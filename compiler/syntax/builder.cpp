// The syntax tree, node by node. Everything that nests is guarded by depth; what only chains to the left
// (`a + b + c`, `x.y[0](1)`) is built in a loop, however long.
#include "syntax/builder.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>

#include "support/codes.h"
#include "support/hash.h"

namespace loopsmith::syntax {

auto is_keyword(std::string_view word) -> bool {
  static constexpr std::string_view keywords[] = {
      "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def",
      "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is",
      "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while", "with", "yield"};
  return word.size() >= 2 && word.size() <= 8 && std::binary_search(std::begin(keywords), std::end(keywords), word);
}

auto Builder::name(TSNode node) -> Name {
  std::string_view words = text(node);
  // The parser takes a keyword for a name where it expects none.
  if (is_keyword(words)) { misplaced_keywords.push_back(raw_span(node)); }
  return Name(words);
}

Builder::~Builder() {
  if (has_cursor_) { ts_tree_cursor_delete(&cursor_); }
}

Builder::Children::Children(Builder& builder, TSNode node) : builder_(builder), first_(builder.pool_.size()), count_(0) {
  if (builder.has_cursor_) {
    ts_tree_cursor_reset(&builder.cursor_, node);
  } else {
    builder.cursor_ = ts_tree_cursor_new(node);
    builder.has_cursor_ = true;
  }
  if (!ts_tree_cursor_goto_first_child(&builder.cursor_)) { return; }
  do {
    TSNode child = ts_tree_cursor_current_node(&builder.cursor_);
    Cst symbol = symbol_of(child);
    if (symbol == Cst::comment) { continue; }
    builder.pool_.push_back({child, symbol, ts_tree_cursor_current_field_id(&builder.cursor_)});
    ++count_;
  } while (ts_tree_cursor_goto_next_sibling(&builder.cursor_));
}

auto Builder::Children::find(TSFieldId field) const -> TSNode {
  for (size_t i = 0; i < count_; ++i) {
    Child child = (*this)[i];
    if (child.field == field && ts_node_is_named(child.node)) { return child.node; }
  }
  return TSNode{};
}

auto Builder::span(TSNode node) const -> Span {
  Span raw = raw_span(node);
  return {shifts_(raw.begin), shifts_(raw.end)};
}

auto Builder::raw_span(TSNode node) const -> Span {
  return {static_cast<uint32_t>(ts_node_start_byte(node) + shift_), static_cast<uint32_t>(ts_node_end_byte(node) + shift_)};
}

auto Builder::text(TSNode node) const -> std::string_view {
  uint32_t begin = ts_node_start_byte(node);
  return source_.substr(begin, ts_node_end_byte(node) - begin);
}

template <class T>
auto Builder::make(Span where) -> T* {
  T* node = item_.arena.make<T>();
  node->kind = T::kKind;
  node->decl = item_.decl;
  node->span = where;
  return node;
}

template <class T>
auto Builder::make(TSNode node) -> T* {
  return make<T>(span(node));
}

template <class T>
auto Builder::list(const std::vector<T>& elements) -> List<T> {
  if (elements.empty()) { return {}; }
  static_assert(std::is_trivially_copyable_v<T>);
  auto* data = static_cast<T*>(item_.arena.allocate(sizeof(T) * elements.size()));
  std::uninitialized_copy(elements.begin(), elements.end(), data);
  return {data, static_cast<uint32_t>(elements.size())};
}

void Builder::report(Diagnostic diagnostic) {
  ++broken_count_;
  item_.diagnostics.push_back(std::move(diagnostic));
}

auto Builder::broken(TSNode node) -> ExprPtr {
  ++broken_count_;
  auto* made = make<BrokenExpr>(node);
  made->has_error = true;
  return made;
}

auto Builder::opaque(TSNode node, std::string_view what) -> ExprPtr {
  auto* made = make<OpaqueExpr>(node);
  made->what = what;
  return made;
}

auto Builder::too_deep(TSNode node) -> bool {
  if (depth_ <= kMaxDepth) { return false; }
  for (const Diagnostic& known : item_.diagnostics) {
    if (known.code == Code::NestedTooDeeply) { return true; }
  }
  Span where = span(node);
  where.end = std::min(where.end, where.begin + 1);
  report(error(Code::NestedTooDeeply, origin_of(where)).arg("limit", static_cast<int64_t>(kMaxDepth)));
  return true;
}

// ---- expressions

auto Builder::expr(TSNode node) -> ExprPtr {
  Deeper deeper(*this);
  // Parentheses leave nothing.
  Cst symbol = symbol_of(node);
  while (symbol == Cst::parenthesized_expression) {
    TSNode inner = ts_node_named_child(node, 0);
    for (uint32_t i = 1; !ts_node_is_null(inner) && symbol_of(inner) == Cst::comment; ++i) { inner = ts_node_named_child(node, i); }
    if (ts_node_is_null(inner)) { return broken(node); }
    node = inner;
    symbol = symbol_of(node);
  }
  if (too_deep(node)) { return broken(node); }
  uint32_t before = broken_count_;
  ExprPtr made = expr_inner(node, symbol);
  if (broken_count_ != before) { const_cast<Expr*>(made)->has_error = true; }
  return made;
}

auto Builder::exprs(const Children& children) -> List<ExprPtr> {
  std::vector<ExprPtr> elements;
  for (size_t i = 0; i < children.size(); ++i) {
    Child child = children[i];
    if (ts_node_is_named(child.node)) { elements.push_back(expr(child.node)); }
  }
  return list(elements);
}

auto Builder::expr_inner(TSNode node, Cst symbol) -> ExprPtr {
  const Fields& field = fields();
  switch (symbol) {
    case Cst::identifier: {
      auto* made = make<NameExpr>(node);
      made->name = name(node);
      return made;
    }
    case Cst::integer: return integer(node);
    case Cst::float_: {
      auto* made = make<FloatExpr>(node);
      made->text = item_.arena.copy(text(node));
      std::string digits(text(node));
      std::erase(digits, '_');
      made->value = std::strtod(digits.c_str(), nullptr);
      return made;
    }
    case Cst::string:
    case Cst::concatenated_string: return string(node, symbol);
    case Cst::true_:
    case Cst::false_:
    case Cst::none:
    case Cst::ellipsis: {
      auto* made = make<ConstantExpr>(node);
      made->value = symbol == Cst::true_    ? ConstantValue::True
                    : symbol == Cst::false_ ? ConstantValue::False
                    : symbol == Cst::none   ? ConstantValue::None
                                            : ConstantValue::Ellipsis;
      return made;
    }
    case Cst::tuple:
    case Cst::expression_list:
    case Cst::expression_list_target: {
      auto* made = make<TupleExpr>(node);
      made->elements = exprs(Children(*this, node));
      return made;
    }
    case Cst::list: {
      auto* made = make<ListExpr>(node);
      made->elements = exprs(Children(*this, node));
      return made;
    }
    case Cst::set: {
      auto* made = make<SetExpr>(node);
      made->elements = exprs(Children(*this, node));
      return made;
    }
    case Cst::dictionary: {
      auto* made = make<DictExpr>(node);
      Children children(*this, node);
      std::vector<DictEntry> entries;
      for (size_t i = 0; i < children.size(); ++i) {
        Child child = children[i];
        if (child.symbol == Cst::pair) {
          Children pair(*this, child.node);
          ExprPtr key = expr(pair.find(field.key));
          entries.push_back({key, expr(pair.find(field.value))});
        } else if (child.symbol == Cst::dictionary_splat) {
          entries.push_back({nullptr, expr(ts_node_named_child(child.node, 0))});
        }
      }
      made->entries = list(entries);
      return made;
    }
    case Cst::unary_operator:
    case Cst::not_operator: {
      Children children(*this, node);
      auto* made = make<UnaryExpr>(node);
      std::string_view op = text(children[0].node);
      made->op = op == "-" ? UnaryOp::Negate : op == "+" ? UnaryOp::Plus : op == "~" ? UnaryOp::Invert : UnaryOp::Not;
      made->op_span = span(children[0].node);
      made->operand = symbol == Cst::unary_operator ? operand(children.find(field.operand)) : expr(children.find(field.operand));
      return made;
    }
    case Cst::binary_operator:
    case Cst::attribute:
    case Cst::subscript:
    case Cst::call: return chain(node);
    case Cst::boolean_operator: return boolean(node);
    case Cst::comparison: return comparison(node);
    case Cst::conditional_expression: {
      Children children(*this, node);
      auto* made = make<ConditionalExpr>(node);
      made->then = expr(children.find(field.then));
      made->condition = expr(children.find(field.condition));
      made->otherwise = expr(children.find(field.otherwise));
      return made;
    }
    case Cst::lambda: {
      Children children(*this, node);
      auto* made = make<LambdaExpr>(node);
      TSNode parameters = children.find(field.parameters);
      if (!ts_node_is_null(parameters)) { made->params = params(parameters); }
      made->body = expr(children.find(field.body));
      return made;
    }
    case Cst::slice: {
      Children children(*this, node);
      auto* made = make<SliceExpr>(node);
      auto part = [&](TSFieldId which) -> ExprPtr {
        TSNode found = children.find(which);
        return ts_node_is_null(found) ? nullptr : expr(found);
      };
      made->lower = part(field.lower);
      made->upper = part(field.upper);
      made->step = part(field.step);
      return made;
    }
    case Cst::starred: {
      auto* made = make<StarredExpr>(node);
      Children children(*this, node);
      made->value = expr(children[children.size() - 1].node);
      return made;
    }
    case Cst::named_expression: {
      Children children(*this, node);
      auto* made = make<NamedExpr>(node);
      made->name = identifier(children.find(field.name));
      made->value = expr(children.find(field.value));
      return made;
    }
    case Cst::list_comprehension: return comprehension(node, ComprehensionKind::List);
    case Cst::set_comprehension: return comprehension(node, ComprehensionKind::Set);
    case Cst::dictionary_comprehension: return comprehension(node, ComprehensionKind::Dict);
    case Cst::generator_expression: return comprehension(node, ComprehensionKind::Generator);
    case Cst::await: return opaque(node, "await");
    case Cst::yield: return opaque(node, "yield");
    case Cst::imaginary: return opaque(node, "complex number");
    case Cst::as_pattern: {
      Children children(*this, node);
      for (size_t i = 0; i < children.size(); ++i) {
        Child child = children[i];
        if (text(child.node) == "as") {
          report(error(Code::UnexpectedToken, origin_of(span(child.node))).arg("found", "`as`"));
        }
      }
      return broken(node);
    }
    default: return broken(node);
  }
}

auto Builder::integer(TSNode node) -> ExprPtr {
  auto* made = make<IntExpr>(node);
  made->text = item_.arena.copy(text(node));
  std::string digits(made->text);
  std::erase(digits, '_');
  unsigned base = 10;
  size_t at = 0;
  if (digits.size() > 2 && digits[0] == '0') {
    char prefix = digits[1];
    base = prefix == 'x' || prefix == 'X' ? 16 : prefix == 'o' || prefix == 'O' ? 8 : prefix == 'b' || prefix == 'B' ? 2 : 10;
    at = base == 10 ? 0 : 2;
  }
  uint64_t value = 0;
  bool fits = true;
  for (; at < digits.size() && fits; ++at) {
    char c = digits[at];
    auto digit = static_cast<uint64_t>(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
    if (value > (static_cast<uint64_t>(INT64_MAX) - digit) / base) { fits = false; }
    value = value * base + digit;
  }
  made->fits = fits;
  made->value = fits ? static_cast<int64_t>(value) : 0;
  return made;
}

auto Builder::chain(TSNode node) -> ExprPtr {
  std::vector<TSNode> links;
  Cst symbol = symbol_of(node);
  while (symbol == Cst::binary_operator || symbol == Cst::attribute || symbol == Cst::subscript || symbol == Cst::call) {
    if (links.size() == kMaxChain) {
      Span where = span(links.front());
      where.begin = where.end == 0 ? 0 : where.end - 1;
      report(error(Code::ChainTooLong, origin_of(where)).arg("limit", static_cast<int64_t>(kMaxChain)));
      return broken(links.front());
    }
    links.push_back(node);
    node = ts_node_child(node, 0);
    symbol = symbol_of(node);
  }
  ExprPtr made = expr(node);
  for (size_t i = links.size(); i > 0; --i) {
    uint32_t before = broken_count_;
    bool was_broken = made->has_error;
    made = link(links[i - 1], symbol_of(links[i - 1]), made);
    if (was_broken || broken_count_ != before) { const_cast<Expr*>(made)->has_error = true; }
  }
  return made;
}

auto Builder::link(TSNode node, Cst symbol, ExprPtr left) -> ExprPtr {
  const Fields& field = fields();
  Children children(*this, node);
  switch (symbol) {
    case Cst::binary_operator: {
      auto* made = make<BinaryExpr>(node);
      made->left = left;
      TSNode op = TSNode{};
      for (size_t i = 0; i < children.size(); ++i) {
        if (children[i].field == field.op) { op = children[i].node; }
      }
      made->op_span = span(op);
      static constexpr std::pair<std::string_view, BinaryOp> operators[] = {
          {"+", BinaryOp::Add}, {"-", BinaryOp::Sub}, {"*", BinaryOp::Mul}, {"/", BinaryOp::Div},
          {"//", BinaryOp::FloorDiv}, {"%", BinaryOp::Mod}, {"**", BinaryOp::Pow}, {"@", BinaryOp::MatMul},
          {"<<", BinaryOp::ShiftLeft}, {">>", BinaryOp::ShiftRight}, {"&", BinaryOp::BitAnd},
          {"|", BinaryOp::BitOr}, {"^", BinaryOp::BitXor}};
      for (const auto& [words, value] : operators) {
        if (text(op) == words) { made->op = value; }
      }
      made->right = operand(children.find(field.right));
      return made;
    }
    case Cst::attribute: {
      auto* made = make<AttributeExpr>(node);
      made->object = left;
      made->attr = identifier(children.find(field.attribute));
      return made;
    }
    case Cst::subscript: {
      auto* made = make<SubscriptExpr>(node);
      made->object = left;
      std::vector<ExprPtr> indices;
      bool has_comma = false;
      bool is_parenthesized_tuple = false;
      uint32_t open = 0;
      for (size_t i = 1; i < children.size(); ++i) {
        Child child = children[i];
        if (child.symbol == Cst::comma) { has_comma = true; }
        else if (ts_node_is_named(child.node)) {
          is_parenthesized_tuple = child.symbol == Cst::tuple;
          indices.push_back(expr(child.node));
        } else if (open == 0) { open = ts_node_start_byte(child.node); }
      }
      made->brackets_span = {shifts_(static_cast<uint32_t>(open + shift_)), made->span.end};
      made->is_tuple = has_comma;
      made->indices = list(indices);
      if (!has_comma && is_parenthesized_tuple) {
        // `A[(i, j)]` is `A[i, j]`.
        if (const auto* tuple = indices[0]->as<TupleExpr>()) {
          made->is_tuple = true;
          made->indices = tuple->elements;
        }
      }
      return made;
    }
    default: {
      auto* made = make<CallExpr>(node);
      made->callee = left;
      TSNode args = children.find(field.arguments);
      made->args_span = span(args);
      if (symbol_of(args) == Cst::generator_expression) {
        made->args = list(std::vector<ExprPtr>{expr(args)});
      } else {
        arguments(args, made->args, made->keywords);
      }
      return made;
    }
  }
}

void Builder::arguments(TSNode node, List<ExprPtr>& args, List<Keyword>& keywords) {
  const Fields& field = fields();
  std::vector<ExprPtr> positional;
  std::vector<Keyword> named;
  Children children(*this, node);
  for (size_t i = 0; i < children.size(); ++i) {
    Child child = children[i];
    if (!ts_node_is_named(child.node)) { continue; }
    if (child.symbol == Cst::keyword_argument) {
      Children parts(*this, child.node);
      Identifier id = identifier(parts.find(field.name));
      named.push_back({id, expr(parts.find(field.value)), span(child.node)});
    } else if (child.symbol == Cst::dictionary_splat) {
      Span where = span(child.node);
      named.push_back({{Name(), {where.begin, where.begin + 2}}, expr(ts_node_named_child(child.node, 0)), where});
    } else {
      ExprPtr value = expr(child.node);
      if (!named.empty() && child.symbol != Cst::starred && !value->has_error) {
        report(error(Code::PositionalAfterKeyword, value->origin())
                   .remedy("give it a name too, or move it before the keyword arguments"));
      }
      positional.push_back(value);
    }
  }
  args = list(positional);
  keywords = list(named);
}

auto Builder::boolean(TSNode node) -> ExprPtr {
  const Fields& field = fields();
  auto operator_of = [&](TSNode of) {
    Children children(*this, of);
    for (size_t i = 0; i < children.size(); ++i) {
      if (children[i].field == field.op) { return text(children[i].node); }
    }
    return std::string_view{};
  };
  auto* made = make<BooleanExpr>(node);
  std::string_view op = operator_of(node);
  made->is_and = op == "and";
  std::vector<TSNode> operands;
  TSNode left = node;
  while (symbol_of(left) == Cst::boolean_operator && operator_of(left) == op) {
    Children children(*this, left);
    operands.push_back(children.find(field.right));
    left = children.find(field.left);
  }
  operands.push_back(left);
  std::vector<ExprPtr> values;
  for (size_t i = operands.size(); i > 0; --i) { values.push_back(expr(operands[i - 1])); }
  made->values = list(values);
  return made;
}

auto Builder::comparison(TSNode node) -> ExprPtr {
  const Fields& field = fields();
  auto* made = make<CompareExpr>(node);
  // `a < b < c` nests to the left.
  struct Link { TSNode op; TSNode right; };
  std::vector<Link> links;
  TSNode left = node;
  while (symbol_of(left) == Cst::comparison) {
    Children children(*this, left);
    Link one{TSNode{}, children.find(field.right)};
    for (size_t i = 0; i < children.size(); ++i) {
      if (children[i].field == field.op) { one.op = children[i].node; }
    }
    links.push_back(one);
    left = children.find(field.left);
  }
  std::vector<ExprPtr> operands{operand(left)};
  std::vector<CompareOp> ops;
  std::vector<Span> op_spans;
  for (size_t i = links.size(); i > 0; --i) {
    std::string_view op = text(links[i - 1].op);
    ops.push_back(op == "==" ? CompareOp::Eq : op == "!=" ? CompareOp::Ne : op == "<" ? CompareOp::Lt
                  : op == "<=" ? CompareOp::Le : op == ">" ? CompareOp::Gt : op == ">=" ? CompareOp::Ge
                  : op == "in" ? CompareOp::In : op == "is" ? CompareOp::Is
                  : op.starts_with("not") ? CompareOp::NotIn : CompareOp::IsNot);
    op_spans.push_back(span(links[i - 1].op));
    operands.push_back(operand(links[i - 1].right));
  }
  made->operands = list(operands);
  made->ops = list(ops);
  made->op_spans = list(op_spans);
  return made;
}

// What an operator works on. The grammar lets through what binds less tightly: `a + not b`.
auto Builder::operand(TSNode node) -> ExprPtr {
  Cst symbol = symbol_of(node);
  if (symbol == Cst::not_operator || symbol == Cst::lambda || symbol == Cst::conditional_expression) {
    Span where = span(node);
    std::string_view word = symbol == Cst::not_operator ? "not" : symbol == Cst::lambda ? "lambda" : "if";
    if (word != "if") { where.end = where.begin + static_cast<uint32_t>(word.size()); }
    report(error(Code::UnexpectedToken, origin_of(where)).arg("found", "`" + std::string(word) + "` after an operator").remedy("put it in parentheses"));
  }
  return expr(node);
}

auto Builder::comprehension(TSNode node, ComprehensionKind which) -> ExprPtr {
  const Fields& field = fields();
  auto* made = make<ComprehensionExpr>(node);
  made->which = which;
  Children children(*this, node);
  std::vector<ComprehensionFor> clauses;
  std::vector<ExprPtr> conditions;
  bool is_async = false;
  auto close = [&] {
    if (!clauses.empty()) { clauses.back().conditions = list(conditions); }
    conditions.clear();
  };
  for (size_t i = 0; i < children.size(); ++i) {
    Child child = children[i];
    if (child.symbol == Cst::for_clause) {
      close();
      Children parts(*this, child.node);
      is_async = is_async || parts[0].symbol == Cst::async;
      ExprPtr left = target(expr(parts.find(field.left)));
      clauses.push_back({left, expr(parts.find(field.right)), {}});
    } else if (child.symbol == Cst::if_clause) {
      Children parts(*this, child.node);
      conditions.push_back(expr(parts.find(field.condition)));
    } else if (child.field == field.element && child.symbol == Cst::pair) {
      Children pair(*this, child.node);
      made->key = expr(pair.find(field.key));
      made->element = expr(pair.find(field.value));
    } else if (child.field == field.element) {
      made->element = expr(child.node);
    }
  }
  close();
  made->clauses = list(clauses);
  return is_async ? opaque(node, "async") : made;
}

// ---- strings

namespace {

void append_utf8(std::string& out, uint32_t c) {
  if (c < 0x80) { out += static_cast<char>(c); }
  else if (c < 0x800) { out += static_cast<char>(0xc0 | c >> 6); out += static_cast<char>(0x80 | (c & 0x3f)); }
  else if (c < 0x10000) {
    out += static_cast<char>(0xe0 | c >> 12);
    out += static_cast<char>(0x80 | (c >> 6 & 0x3f));
    out += static_cast<char>(0x80 | (c & 0x3f));
  } else if (c < 0x110000) {
    out += static_cast<char>(0xf0 | c >> 18);
    out += static_cast<char>(0x80 | (c >> 12 & 0x3f));
    out += static_cast<char>(0x80 | (c >> 6 & 0x3f));
    out += static_cast<char>(0x80 | (c & 0x3f));
  }
}

// The character that `\N{name}` stands for; 0: not one of character_names.def.
auto named_character(std::string_view name) -> uint32_t {
  struct Row { std::string_view name; uint32_t code; };
  static constexpr Row rows[] = {
#define CHARACTER(name, code) {name, code},
#include "syntax/character_names.def"
  };
  std::string upper(name);
  for (char& c : upper) { c = static_cast<char>(std::toupper(static_cast<unsigned char>(c))); }
  const auto* found = std::lower_bound(std::begin(rows), std::end(rows), upper, [](const Row& row, const std::string& wanted) { return row.name < wanted; });
  return found != std::end(rows) && found->name == upper ? found->code : 0;
}

// What a literal's inside means. Line ends are "\n" however the file writes them.
void decode(std::string_view raw, bool is_raw, bool is_bytes, bool is_format, std::string& out) {
  for (size_t i = 0; i < raw.size(); ++i) {
    char c = raw[i];
    if (is_format && (c == '{' || c == '}') && i + 1 < raw.size() && raw[i + 1] == c) { out += c; ++i; continue; }
    if (c == '\r') {
      if (i + 1 < raw.size() && raw[i + 1] == '\n') { ++i; }
      out += '\n';
      continue;
    }
    if (c != '\\' || is_raw || i + 1 >= raw.size()) { out += c; continue; }
    char e = raw[++i];
    auto hex = [&](size_t digits) {
      uint32_t value = 0;
      size_t got = 0;
      while (got < digits && i + 1 < raw.size() && std::isxdigit(static_cast<unsigned char>(raw[i + 1])) != 0) {
        char d = raw[++i];
        value = value * 16 + static_cast<uint32_t>(d <= '9' ? d - '0' : (d | 0x20) - 'a' + 10);
        ++got;
      }
      return value;
    };
    auto put = [&](uint32_t value) {
      if (is_bytes) { out += static_cast<char>(value); } else { append_utf8(out, value); }
    };
    switch (e) {
      case '\n': break;
      case '\r': if (i + 1 < raw.size() && raw[i + 1] == '\n') { ++i; } break;
      case '\\': case '\'': case '"': out += e; break;
      case 'a': out += '\a'; break;
      case 'b': out += '\b'; break;
      case 'f': out += '\f'; break;
      case 'n': out += '\n'; break;
      case 'r': out += '\r'; break;
      case 't': out += '\t'; break;
      case 'v': out += '\v'; break;
      case 'x': put(hex(2)); break;
      case 'u': if (is_bytes) { out += "\\u"; } else { put(hex(4)); } break;
      case 'U': if (is_bytes) { out += "\\U"; } else { put(hex(8)); } break;
      case 'N': {
        size_t close = !is_bytes && i + 1 < raw.size() && raw[i + 1] == '{' ? raw.find('}', i + 1) : std::string_view::npos;
        uint32_t code = close == std::string_view::npos ? 0 : named_character(raw.substr(i + 2, close - i - 2));
        if (code == 0) {
          out += "\\N";
          break;
        }
        put(code);
        i = close;
        break;
      }
      default:
        if (e >= '0' && e <= '7') {
          uint32_t value = static_cast<uint32_t>(e - '0');
          for (int k = 0; k < 2 && i + 1 < raw.size() && raw[i + 1] >= '0' && raw[i + 1] <= '7'; ++k) {
            value = value * 8 + static_cast<uint32_t>(raw[++i] - '0');
          }
          put(is_bytes ? value & 0xff : value);
        } else {
          out += '\\';
          out += e;
        }
    }
  }
}

auto lower_prefix(std::string_view start) -> std::string {
  std::string prefix;
  for (char c : start) {
    if (c == '"' || c == '\'') { break; }
    prefix += static_cast<char>(c | 0x20);
  }
  return prefix;
}

}  // namespace

void Builder::string_parts(TSNode node, std::vector<FStringPart>& parts, std::string& pending, bool& has_fields) {
  Children children(*this, node);
  if (children.size() == 0) { return; }
  std::string prefix = lower_prefix(text(children[0].node));
  bool is_raw = prefix.find('r') != std::string::npos;
  bool is_bytes = prefix.find('b') != std::string::npos;
  bool is_format = prefix.find('f') != std::string::npos || prefix.find('t') != std::string::npos;
  has_fields = has_fields || is_format;
  for (size_t i = 1; i < children.size(); ++i) {
    Child child = children[i];
    if (child.symbol == Cst::string_content) {
      decode(text(child.node), is_raw, is_bytes, is_format, pending);
    } else if (child.symbol == Cst::interpolation) {
      if (!pending.empty()) {
        FStringPart literal;
        literal.text = item_.arena.copy(pending);
        literal.span = {span(node).begin, span(child.node).begin};
        parts.push_back(literal);
        pending.clear();
      }
      parts.push_back(interpolation(child.node));
    }
  }
}

// `{x = }` prints the blanks too.
auto Builder::debug_end(uint32_t end) const -> uint32_t {
  while (end < source_.size() && source_[end] == ' ') { ++end; }
  return end;
}

auto Builder::interpolation(TSNode node) -> FStringPart {
  Deeper deeper(*this);
  const Fields& field = fields();
  FStringPart part;
  part.span = span(node);
  Children children(*this, node);
  TSNode value = children.find(field.value);
  if (ts_node_is_null(value) || too_deep(node)) {
    part.value = broken(node);
    return part;
  }
  part.value = expr(value);
  for (size_t i = 0; i < children.size(); ++i) {
    Child child = children[i];
    if (child.field == field.debug) {
      part.is_debug = true;
      uint32_t begin = ts_node_start_byte(node) + 1;
      part.text = item_.arena.copy(source_.substr(begin, debug_end(ts_node_end_byte(child.node)) - begin));
    } else if (child.symbol == Cst::conversion) {
      part.conversion = text(child.node)[1];
    } else if (child.symbol == Cst::format_specifier) {
      Children specifier(*this, child.node);
      std::vector<FStringPart> format;
      for (size_t k = 0; k < specifier.size(); ++k) {
        Child piece = specifier[k];
        if (piece.symbol == Cst::interpolation) {
          format.push_back(interpolation(piece.node));
        } else if (piece.symbol == Cst::format_text) {
          FStringPart literal;
          literal.text = item_.arena.copy(text(piece.node));
          literal.span = span(piece.node);
          format.push_back(literal);
        }
      }
      part.format = list(format);
    }
  }
  return part;
}

auto Builder::string(TSNode node, Cst symbol) -> ExprPtr {
  std::vector<FStringPart> parts;
  std::string pending;
  bool has_fields = false;
  std::string prefix;
  if (symbol == Cst::string) {
    prefix = lower_prefix(text(ts_node_child(node, 0)));
    string_parts(node, parts, pending, has_fields);
  } else {
    Children children(*this, node);
    for (size_t i = 0; i < children.size(); ++i) {
      Child child = children[i];
      if (i == 0) { prefix = lower_prefix(text(ts_node_child(child.node, 0))); }
      string_parts(child.node, parts, pending, has_fields);
    }
  }
  if (has_fields) {
    if (!pending.empty()) {
      FStringPart literal;
      literal.text = item_.arena.copy(pending);
      literal.span = span(node);
      parts.push_back(literal);
    }
    auto* made = make<FStringExpr>(node);
    made->parts = list(parts);
    return made;
  }
  auto* made = make<StringExpr>(node);
  made->value = item_.arena.copy(pending);
  made->prefix = item_.arena.copy(prefix);
  made->is_bytes = prefix.find('b') != std::string::npos;
  return made;
}

// ---- parameters, targets

auto Builder::params(TSNode node) -> List<Param> {
  const Fields& field = fields();
  Children children(*this, node);
  std::vector<Param> made;
  for (size_t i = 0; i < children.size(); ++i) {
    Child child = children[i];
    if (!ts_node_is_named(child.node)) { continue; }
    Param param;
    param.span = span(child.node);
    switch (child.symbol) {
      case Cst::identifier: param.name = identifier(child.node); break;
      case Cst::keyword_separator: param.kind = ParamKind::StarOnly; break;
      case Cst::positional_separator: param.kind = ParamKind::SlashOnly; break;
      default: {
        param.kind = child.symbol == Cst::star_parameter          ? ParamKind::Star
                     : child.symbol == Cst::double_star_parameter ? ParamKind::DoubleStar
                                                                  : ParamKind::Plain;
        Children parts(*this, child.node);
        param.name = identifier(parts.find(field.name));
        if (TSNode type = parts.find(field.type); !ts_node_is_null(type)) { param.annotation = expr(type); }
        if (TSNode value = parts.find(field.value); !ts_node_is_null(value)) { param.default_value = expr(value); }
      }
    }
    made.push_back(param);
  }
  return list(made);
}

auto Builder::type_params(const Children& children) -> List<Param> {
  std::vector<Param> made;
  for (size_t i = 0; i < children.size(); ++i) {
    if (children[i].symbol != Cst::type_parameters) { continue; }
    Children all(*this, children[i].node);
    for (size_t k = 0; k < all.size(); ++k) {
      Child child = all[k];
      if (child.symbol != Cst::type_parameter) { continue; }
      Children parts(*this, child.node);
      Param param;
      param.span = span(child.node);
      bool is_bound = false;
      for (size_t p = 0; p < parts.size(); ++p) {
        TSNode part = parts[p].node;
        if (!ts_node_is_named(part)) { is_bound = text(part) == ":"; continue; }
        if (param.name.name.empty()) { param.name = identifier(part); } else if (is_bound && !param.annotation) { param.annotation = expr(part); }
      }
      made.push_back(param);
    }
  }
  return list(made);
}

// Checks that an expression can be assigned to. It stays what it is: what it does to others is theirs to say.
auto Builder::target(ExprPtr root) -> ExprPtr {
  std::vector<ExprPtr> stack{root};
  while (!stack.empty()) {
    ExprPtr at = stack.back();
    stack.pop_back();
    switch (at->kind) {
      case Kind::Name:
      case Kind::Attribute:
      case Kind::Subscript:
      case Kind::OpaqueExpr:
      case Kind::BrokenExpr: break;
      case Kind::Starred: stack.push_back(at->as<StarredExpr>()->value); break;
      case Kind::Tuple:
        for (ExprPtr one : at->as<TupleExpr>()->elements) { stack.push_back(one); }
        break;
      case Kind::ListExpr:
        for (ExprPtr one : at->as<ListExpr>()->elements) { stack.push_back(one); }
        break;
      default: {
        std::string_view what = "this expression";
        switch (at->kind) {
          case Kind::Call: what = "the result of a call"; break;
          case Kind::Int:
          case Kind::Float:
          case Kind::String:
          case Kind::FString: what = "a literal"; break;
          case Kind::Constant: what = "a constant"; break;
          case Kind::Compare: what = "a comparison"; break;
          case Kind::Dict: what = "a dict"; break;
          case Kind::Lambda: what = "a lambda"; break;
          default: break;
        }
        Diagnostic wrong = error(Code::InvalidTarget, at->origin()).arg("what", what);
        if (at->kind == Kind::Call) {
          (void)std::move(wrong).remedy("an element of a buffer is written with brackets: `A[i, j] = ...`");
        }
        report(std::move(wrong));
      }
    }
  }
  return root;
}

auto Builder::salvage(TSNode root, Span part) -> List<ExprPtr> {
  std::vector<ExprPtr> parts;
  std::vector<TSNode> stack{root};
  while (!stack.empty() && parts.size() < 1000) {
    TSNode node = stack.back();
    stack.pop_back();
    Cst symbol = symbol_of(node);
    bool is_expression = symbol == Cst::expression_list || symbol == Cst::expression_list_target ||
                         (symbol >= Cst::named_expression && symbol <= Cst::call) || symbol == Cst::parenthesized_expression ||
                         (symbol >= Cst::tuple && symbol <= Cst::dictionary) ||
                         (symbol >= Cst::generator_expression && symbol <= Cst::dictionary_comprehension);
    is_expression = is_expression && symbol != Cst::lambda_parameters && symbol != Cst::slice;
    if (is_expression && !ts_node_has_error(node) && !ts_node_is_missing(node)) {
      if (ts_node_start_byte(node) >= part.begin && ts_node_end_byte(node) <= part.end) {
        parts.push_back(expr(node));
      }
      continue;
    }
    Children children(*this, node);
    for (size_t i = children.size(); i > 0; --i) { stack.push_back(children[i - 1].node); }
  }
  return list(parts);
}

// ---- statements

auto Builder::placeholder_at(uint32_t begin) -> const Placeholder* {
  auto found = std::lower_bound(placeholders.begin(), placeholders.end(), begin,
                                [](const Placeholder& p, uint32_t at) { return p.begin < at; });
  return found != placeholders.end() && found->begin == begin ? &*found : nullptr;
}

auto Builder::module(TSNode root) -> Block {
  std::vector<StmtPtr> out;
  Children children(*this, root);
  for (size_t i = 0; i < children.size(); ++i) {
    Child child = children[i];
    if (ts_node_is_named(child.node)) { statement(child.node, out); }
  }
  return list(out);
}

auto Builder::block(TSNode node) -> Block {
  std::vector<StmtPtr> out;
  Children children(*this, node);
  for (size_t i = 0; i < children.size(); ++i) {
    Child child = children[i];
    if (ts_node_is_named(child.node)) { statement(child.node, out); }
  }
  return list(out);
}

auto Builder::suite_field(const Children& children, TSFieldId field) -> Block {
  for (size_t i = 0; i < children.size(); ++i) {
    Child child = children[i];
    if (child.field == field && child.symbol == Cst::block) { return block(child.node); }
  }
  return {};
}

auto Builder::header(TSNode node) -> Span {
  Children children(*this, node);
  Span where = span(node);
  for (size_t i = 0; i < children.size(); ++i) {
    Child child = children[i];
    if (!ts_node_is_named(child.node) && text(child.node) == ":") { where.end = span(child.node).end; return where; }
  }
  return where;
}

// Where the last statement of a program in parts ends, counted in this item.
auto Builder::end_of_parts() const -> uint32_t {
  for (size_t i = item_.members.size(); i-- > 0;) {
    const Item::Member& part = item_.members[i];
    if (!part.item->statements.empty()) { return part.offset + part.item->statements.back()->span.end; }
  }
  return 0;
}

void Builder::statement(TSNode node, std::vector<StmtPtr>& out) {
  Deeper deeper(*this);
  const Placeholder* placeholder = placeholders.empty() ? nullptr : placeholder_at(ts_node_start_byte(node));
  if (placeholder != nullptr && placeholder->member != nullptr) {
    out.push_back(placeholder->member->statements[0]);
    return;
  }
  if (placeholder != nullptr && placeholder->is_body) {
    for (const Item::Member& part : item_.members) {
      out.insert(out.end(), part.item->statements.begin(), part.item->statements.end());
      for (StmtPtr statement : part.item->statements) { broken_count_ += statement->has_error ? 1 : 0; }
    }
    return;
  }
  if (placeholder != nullptr) {
    ++broken_count_;
    auto* made = make<BrokenStmt>(placeholder->line);
    made->has_error = true;
    made->parts = placeholder->parts;
    if (symbol_of(node) == Cst::if_statement) {
      std::vector<StmtPtr> body;
      Children children(*this, node);
      for (size_t i = 0; i < children.size(); ++i) {
        Child child = children[i];
        auto add = [&](const Block& more) { body.insert(body.end(), more.begin(), more.end()); };
        if (child.symbol == Cst::block) { add(block(child.node)); }
        if (child.symbol == Cst::elif_clause || child.symbol == Cst::else_clause) {
          Children clause(*this, child.node);
          add(suite_field(clause, fields().body));
          add(suite_field(clause, fields().consequence));
        }
      }
      made->body = list(body);
      if (!body.empty()) { made->span.end = std::max(made->span.end, item_.head == 0 ? body.back()->span.end : end_of_parts()); }
    }
    out.push_back(made);
    return;
  }
  if (too_deep(node)) {
    ++broken_count_;
    auto* made = make<BrokenStmt>(node);
    made->has_error = true;
    out.push_back(made);
    return;
  }
  uint32_t before = broken_count_;
  StmtPtr made = statement_inner(node, symbol_of(node));
  if (broken_count_ != before) { const_cast<Stmt*>(made)->has_error = true; }
  out.push_back(made);
}

namespace {

// A compound statement ends with its last statement: comments below it are not its own.
void end_with(Stmt& statement, Span header, std::initializer_list<const Block*> blocks) {
  uint32_t end = header.end;
  for (const Block* block : blocks) {
    if (!block->empty()) { end = std::max(end, block->back()->span.end); }
  }
  statement.span.end = end;
}

}  // namespace

auto Builder::statement_inner(TSNode node, Cst symbol) -> StmtPtr {
  const Fields& field = fields();
  Children children(*this, node);
  auto at = [&](TSFieldId which) -> ExprPtr {
    TSNode found = children.find(which);
    return ts_node_is_null(found) ? nullptr : expr(found);
  };
  bool is_async = children.size() > 0 && children[0].symbol == Cst::async;
  switch (symbol) {
    case Cst::expression_statement: {
      Child child = children[0];
      if (child.symbol == Cst::assignment) { return assignment(child.node); }
      if (child.symbol == Cst::augmented_assignment) { return augmented(child.node); }
      auto* made = make<ExprStmt>(node);
      made->value = expr(child.node);
      return made;
    }
    case Cst::return_statement: {
      auto* made = make<ReturnStmt>(node);
      if (children.size() > 1) { made->value = expr(children[1].node); }
      return made;
    }
    case Cst::assert_statement: {
      auto* made = make<AssertStmt>(node);
      made->condition = at(field.condition);
      made->message = at(field.message);
      return made;
    }
    case Cst::pass_statement: return make<PassStmt>(node);
    case Cst::break_statement: return make<BreakStmt>(node);
    case Cst::continue_statement: return make<ContinueStmt>(node);
    case Cst::delete_statement: {
      auto* made = make<DelStmt>(node);
      ExprPtr value = target(expr(children[children.size() - 1].node));
      const auto* tuple = value->as<TupleExpr>();
      made->targets = tuple != nullptr ? tuple->elements : list(std::vector<ExprPtr>{value});
      return made;
    }
    case Cst::global_statement:
    case Cst::nonlocal_statement: {
      auto* made = make<ScopeStmt>(node);
      made->is_global = symbol == Cst::global_statement;
      std::vector<Identifier> names;
      for (size_t i = 0; i < children.size(); ++i) {
        if (children[i].symbol == Cst::identifier) { names.push_back(identifier(children[i].node)); }
      }
      made->names = list(names);
      return made;
    }
    case Cst::import_statement: {
      auto* made = make<ImportStmt>(node);
      made->names = imports(children);
      return made;
    }
    case Cst::import_from_statement: {
      auto* made = make<ImportFromStmt>(node);
      TSNode module = children.find(field.module_);
      if (symbol_of(module) == Cst::relative_name) {
        Children parts(*this, module);
        for (size_t i = 0; i < parts.size(); ++i) {
          Child part = parts[i];
          if (part.symbol == Cst::import_prefix) {
            std::string_view dots = text(part.node);
            made->level = static_cast<uint32_t>(std::count(dots.begin(), dots.end(), '.'));
          }
          if (part.symbol == Cst::dotted_name) { made->module = path(part.node); }
        }
      } else {
        made->module = path(module);
      }
      for (size_t i = 0; i < children.size(); ++i) {
        if (children[i].symbol == Cst::import_star) { made->is_star = true; }
      }
      made->names = imports(children);
      return made;
    }
    case Cst::if_statement: return if_statement(node);
    case Cst::for_statement: {
      if (is_async) { return opaque_statement(node, "async"); }
      auto* made = make<ForStmt>(node);
      made->header_span = header(node);
      made->target = target(at(field.left));
      made->iterable = at(field.right);
      made->body = suite_field(children, field.body);
      for (size_t i = 0; i < children.size(); ++i) {
        if (children[i].symbol == Cst::else_clause) {
          Children clause(*this, children[i].node);
          made->otherwise = suite_field(clause, field.body);
        }
      }
      end_with(*made, made->header_span, {&made->body, &made->otherwise});
      return made;
    }
    case Cst::while_statement: {
      auto* made = make<WhileStmt>(node);
      made->header_span = header(node);
      made->condition = at(field.condition);
      made->body = suite_field(children, field.body);
      for (size_t i = 0; i < children.size(); ++i) {
        if (children[i].symbol == Cst::else_clause) {
          Children clause(*this, children[i].node);
          made->otherwise = suite_field(clause, field.body);
        }
      }
      end_with(*made, made->header_span, {&made->body, &made->otherwise});
      return made;
    }
    case Cst::with_statement: {
      if (is_async) { return opaque_statement(node, "async"); }
      auto* made = make<WithStmt>(node);
      made->header_span = header(node);
      std::vector<WithItem> items;
      auto add_items = [&](const Children& list_of) {
        for (size_t i = 0; i < list_of.size(); ++i) {
          Child child = list_of[i];
          if (!ts_node_is_named(child.node)) { continue; }
          if (child.symbol == Cst::as_pattern) {
            Children parts(*this, child.node);
            ExprPtr context = expr(parts.find(field.value));
            items.push_back({context, target(expr(parts.find(field.alias)))});
          } else {
            items.push_back({expr(child.node), nullptr});
          }
        }
      };
      for (size_t i = 0; i < children.size(); ++i) {
        if (children[i].symbol != Cst::with_items) { continue; }
        Children listed(*this, children[i].node);
        // `with (a as b, c as d):` is items in parentheses, which parse as a tuple.
        bool is_one = listed.size() == 1 && (listed[0].symbol == Cst::tuple || listed[0].symbol == Cst::parenthesized_expression);
        if (is_one) {
          Children inner(*this, listed[0].node);
          add_items(inner);
        } else {
          add_items(listed);
        }
      }
      made->items = list(items);
      made->body = suite_field(children, field.body);
      end_with(*made, made->header_span, {&made->body});
      return made;
    }
    case Cst::function_definition:
      if (is_async) { return opaque_statement(node, "async"); }
      return definition(node, node, {});
    case Cst::class_definition: return definition(node, node, {});
    case Cst::decorated_definition: {
      TSNode inner = children.find(field.definition);
      if (ts_node_is_null(inner)) { return opaque_statement(node, "decorator"); }
      TSNode first = ts_node_child(inner, 0);
      if (symbol_of(first) == Cst::async) { return opaque_statement(node, "async"); }
      std::vector<ExprPtr> decorators;
      for (size_t i = 0; i < children.size(); ++i) {
        if (children[i].symbol != Cst::decorator) { continue; }
        Children parts(*this, children[i].node);
        for (size_t k = 0; k < parts.size(); ++k) {
          if (ts_node_is_named(parts[k].node)) { decorators.push_back(expr(parts[k].node)); }
        }
      }
      return definition(inner, node, std::move(decorators));
    }
    case Cst::raise_statement: return opaque_statement(node, "raise");
    case Cst::type_alias_statement: return opaque_statement(node, "type");
    case Cst::try_statement: return opaque_statement(node, "try");
    case Cst::match_statement: return opaque_statement(node, "match");
    default: {
      ++broken_count_;
      auto* made = make<BrokenStmt>(node);
      made->has_error = true;
      return made;
    }
  }
}

auto Builder::assignment(TSNode node) -> StmtPtr {
  const Fields& field = fields();
  Children children(*this, node);
  ExprPtr first = expr(children.find(field.left));
  TSNode type = children.find(field.type);
  TSNode right = children.find(field.right);
  if (!ts_node_is_null(type)) {
    auto* made = make<AnnAssignStmt>(node);
    made->target = target(first);
    made->annotation = expr(type);
    if (!ts_node_is_null(right)) {
      if (symbol_of(right) == Cst::assignment || symbol_of(right) == Cst::augmented_assignment) {
        report(error(Code::UnexpectedToken, origin_of(span(right))).arg("found", "second assignment after an annotation"));
        made->value = broken(right);
      } else {
        made->value = expr(right);
      }
    }
    return made;
  }
  auto* made = make<AssignStmt>(node);
  std::vector<ExprPtr> targets{target(first)};
  while (symbol_of(right) == Cst::assignment) {
    Children more(*this, right);
    if (!ts_node_is_null(more.find(field.type))) { break; }
    targets.push_back(target(expr(more.find(field.left))));
    right = more.find(field.right);
  }
  made->targets = list(targets);
  Cst symbol = symbol_of(right);
  if (symbol == Cst::assignment || symbol == Cst::augmented_assignment) {
    report(error(Code::UnexpectedToken, origin_of(span(right))).arg("found", "assignment of another form after `=`"));
    made->value = broken(right);
  } else {
    made->value = expr(right);
  }
  return made;
}

auto Builder::augmented(TSNode node) -> StmtPtr {
  const Fields& field = fields();
  Children children(*this, node);
  auto* made = make<AugAssignStmt>(node);
  for (size_t i = 0; i < children.size(); ++i) {
    Child child = children[i];
    if (child.field != field.op) { continue; }
    made->op_span = span(child.node);
    std::string_view op = text(child.node);
    static constexpr std::pair<std::string_view, BinaryOp> operators[] = {
        {"+=", BinaryOp::Add}, {"-=", BinaryOp::Sub}, {"*=", BinaryOp::Mul}, {"/=", BinaryOp::Div},
        {"//=", BinaryOp::FloorDiv}, {"%=", BinaryOp::Mod}, {"**=", BinaryOp::Pow}, {"@=", BinaryOp::MatMul},
        {"<<=", BinaryOp::ShiftLeft}, {">>=", BinaryOp::ShiftRight}, {"&=", BinaryOp::BitAnd},
        {"|=", BinaryOp::BitOr}, {"^=", BinaryOp::BitXor}};
    for (const auto& [words, value] : operators) {
      if (op == words) { made->op = value; }
    }
  }
  made->target = expr(children.find(field.left));
  if (made->target->kind == Kind::Tuple || made->target->kind == Kind::ListExpr || made->target->kind == Kind::Starred) {
    report(error(Code::InvalidTarget, made->target->origin()).arg("what", "several targets at once with an operator"));
  } else {
    target(made->target);
  }
  TSNode right = children.find(field.right);
  Cst symbol = symbol_of(right);
  if (symbol == Cst::assignment || symbol == Cst::augmented_assignment) {
    report(error(Code::UnexpectedToken, origin_of(span(right))).arg("found", "second assignment"));
    made->value = broken(right);
  } else {
    made->value = expr(right);
  }
  return made;
}

auto Builder::if_statement(TSNode node) -> StmtPtr {
  const Fields& field = fields();
  Children children(*this, node);
  auto* made = make<IfStmt>(node);
  made->header_span = header(node);
  made->condition = expr(children.find(field.condition));
  made->then = suite_field(children, field.consequence);
  // The clauses from the last to the first: each is the `otherwise` of the one before.
  Block otherwise;
  uint32_t end = 0;
  std::vector<Child> clauses;
  for (size_t i = 0; i < children.size(); ++i) {
    if (children[i].symbol == Cst::elif_clause || children[i].symbol == Cst::else_clause) { clauses.push_back(children[i]); }
  }
  if (clauses.size() > kMaxChain) {
    report(error(Code::ChainTooLong, origin_of(header(clauses[kMaxChain].node))).arg("limit", static_cast<int64_t>(kMaxChain)));
    clauses.resize(kMaxChain);
  }
  // Built in the order of the text, so that diagnostics are in it too.
  struct Built { IfStmt* clause; Block otherwise; };
  std::vector<Built> built;
  for (const Child& child : clauses) {
    Children clause(*this, child.node);
    if (child.symbol == Cst::else_clause) {
      built.push_back({nullptr, suite_field(clause, field.body)});
      continue;
    }
    uint32_t before = broken_count_;
    auto* elif = make<IfStmt>(child.node);
    elif->is_elif = true;
    elif->header_span = header(child.node);
    elif->condition = expr(clause.find(field.condition));
    elif->then = suite_field(clause, field.consequence);
    elif->has_error = broken_count_ != before;
    built.push_back({elif, {}});
  }
  bool has_error = false;
  for (size_t i = built.size(); i > 0; --i) {
    Built& one = built[i - 1];
    if (one.clause == nullptr) {
      otherwise = one.otherwise;
      for (StmtPtr statement : otherwise) { has_error = has_error || statement->has_error; }
    } else {
      one.clause->otherwise = otherwise;
      one.clause->has_error = one.clause->has_error || has_error;
      has_error = one.clause->has_error;
      end_with(*one.clause, one.clause->header_span, {&one.clause->then, &one.clause->otherwise});
      otherwise = list(std::vector<StmtPtr>{one.clause});
    }
    end = std::max(end, otherwise.empty() ? 0 : otherwise.back()->span.end);
  }
  made->otherwise = otherwise;
  end_with(*made, made->header_span, {&made->then, &made->otherwise});
  return made;
}

auto Builder::definition(TSNode node, TSNode whole, std::vector<ExprPtr> decorators) -> StmtPtr {
  const Fields& field = fields();
  for (Span where : broken_decorators) {
    // Those right above; they are blank in the parsed text.
    uint32_t first = static_cast<uint32_t>(ts_node_start_byte(node) + shift_);
    if (where.end > first) { continue; }
    std::string_view between = source_.substr(where.end - shift_, first - where.end);
    bool is_near = between.find_first_not_of(" \t\r\n") == std::string_view::npos ||
                   (!decorators.empty() && where.end <= decorators.back()->span.end);
    if (!is_near && (decorators.empty() || between.find('@') == std::string_view::npos)) { continue; }
    auto* made = make<BrokenExpr>(Span{shifts_(where.begin), shifts_(where.end)});
    made->has_error = true;
    ++broken_count_;
    decorators.push_back(made);
  }
  std::sort(decorators.begin(), decorators.end(), [](ExprPtr a, ExprPtr b) { return a->span.begin < b->span.begin; });
  Children children(*this, node);
  Span where = span(whole);
  if (symbol_of(node) == Cst::class_definition) {
    auto* made = make<ClassDef>(where);
    made->header_span = header(node);
    made->decorators = list(decorators);
    made->name = identifier(children.find(field.name));
    TSNode supers = children.find(field.superclasses);
    if (!ts_node_is_null(supers)) { arguments(supers, made->bases, made->keywords); }
    made->body = suite_field(children, field.body);
    uint32_t end = made->header_span.end;
    for (StmtPtr statement : made->body) {
      if (statement->decl == item_.decl) { end = std::max(end, statement->span.end); }
    }
    for (const Item::Member& member : item_.members) {
      end = std::max(end, member.offset + static_cast<uint32_t>(member.item->text.size()));
    }
    made->span.end = end;
    return made;
  }
  auto* made = make<FunctionDef>(where);
  made->header_span = header(node);
  made->decorators = list(decorators);
  made->name = identifier(children.find(field.name));
  made->type_params = type_params(children);
  TSNode parameters = children.find(field.parameters);
  made->params = params(parameters);
  made->params_span = span(parameters);
  TSNode returns = children.find(field.return_type);
  if (!ts_node_is_null(returns)) { made->returns = expr(returns); }
  made->body = suite_field(children, field.body);
  if (item_.head == 0) {
    end_with(*made, made->header_span, {&made->body});
  } else {
    made->span.end = std::max(made->header_span.end, end_of_parts());
  }
  if (!decorators.empty()) { made->span.begin = std::min(made->span.begin, decorators.front()->span.begin); }
  std::string_view all = std::string_view(item_.text).substr(made->span.begin, made->span.end - made->span.begin);
  made->text_hash = hash_bytes(all);
  return made;
}

auto Builder::path(TSNode node) -> List<Identifier> {
  std::vector<Identifier> made;
  Children children(*this, node);
  for (size_t i = 0; i < children.size(); ++i) {
    if (children[i].symbol == Cst::identifier) { made.push_back(identifier(children[i].node)); }
  }
  return list(made);
}

auto Builder::imports(const Children& children) -> List<ImportName> {
  const Fields& field = fields();
  std::vector<ImportName> made;
  for (size_t i = 0; i < children.size(); ++i) {
    Child child = children[i];
    if (child.field != field.name) { continue; }
    ImportName one;
    one.span = span(child.node);
    if (child.symbol == Cst::dotted_name) { one.path = path(child.node); }
    else if (child.symbol == Cst::aliased_import) {
      Children parts(*this, child.node);
      one.path = path(parts.find(field.name));
      one.alias = identifier(parts.find(field.alias));
    } else { continue; }
    made.push_back(one);
  }
  return list(made);
}

void Builder::captures(TSNode pattern, std::vector<Identifier>& binds) {
  std::vector<TSNode> stack{pattern};
  while (!stack.empty()) {
    TSNode at = stack.back();
    stack.pop_back();
    Cst symbol = symbol_of(at);
    if (symbol == Cst::identifier) {
      if (text(at) != "_") { binds.push_back(identifier(at)); }
      continue;
    }
    // `a.b` is a value, and so is what is called.
    if (symbol == Cst::attribute) { continue; }
    Children inner(*this, at);
    for (size_t i = inner.size(); i > 0; --i) {
      Child child = inner[i - 1];
      bool is_name = (symbol == Cst::call && child.field == fields().function) || (symbol == Cst::keyword_argument && child.field == fields().name);
      if (ts_node_is_named(child.node) && !is_name) { stack.push_back(child.node); }
    }
  }
}

// What is opaque may still bind names: those that it assigns to, imports or defines, as far as its syntax tells.
auto Builder::opaque_statement(TSNode node, std::string_view what) -> StmtPtr {
  const Fields& field = fields();
  auto* made = make<OpaqueStmt>(node);
  made->what = what;
  std::vector<Identifier> binds;
  std::vector<TSNode> stack{node};
  auto names_in = [&](TSNode root) {
    std::vector<TSNode> targets{root};
    while (!targets.empty()) {
      TSNode at = targets.back();
      targets.pop_back();
      Cst symbol = symbol_of(at);
      if (symbol == Cst::identifier) { binds.push_back(identifier(at)); }
      if (symbol == Cst::tuple || symbol == Cst::list || symbol == Cst::expression_list || symbol == Cst::starred ||
          symbol == Cst::expression_list_target || symbol == Cst::parenthesized_expression) {
        Children inner(*this, at);
        for (size_t i = inner.size(); i > 0; --i) { targets.push_back(inner[i - 1].node); }
      }
    }
  };
  while (!stack.empty()) {
    TSNode at = stack.back();
    stack.pop_back();
    Children children(*this, at);
    Cst symbol = symbol_of(at);
    bool is_definition = symbol == Cst::function_definition || symbol == Cst::class_definition;
    for (size_t i = 0; i < children.size(); ++i) {
      Child child = children[i];
      bool is_target = ((symbol == Cst::assignment || symbol == Cst::augmented_assignment || symbol == Cst::for_statement) &&
                        child.field == field.left) ||
                       (symbol == Cst::as_pattern && child.field == field.alias);
      if (is_target) { names_in(child.node); }
      if ((is_definition || symbol == Cst::type_alias_statement || symbol == Cst::named_expression) && child.field == field.name) {
        binds.push_back(identifier(child.node));
      }
      // Any name in a pattern may be a capture.
      if (symbol == Cst::case_clause && child.symbol != Cst::block && child.field != field.body && child.field != field.guard) { captures(child.node, binds); }
      if ((symbol == Cst::import_statement || symbol == Cst::import_from_statement) && child.field == field.name) {
        bool is_alias = child.symbol == Cst::aliased_import;
        Children parts(*this, child.node);
        TSNode bound = is_alias ? parts.find(field.alias) : parts.size() > 0 ? parts[0].node : child.node;
        binds.push_back(identifier(bound));
      }
    }
    if (is_definition) { continue; }
    for (size_t i = children.size(); i > 0; --i) {
      Child child = children[i - 1];
      if (ts_node_is_named(child.node)) { stack.push_back(child.node); }
    }
  }
  made->binds = list(binds);
  return made;
}

}  // namespace loopsmith::syntax
