// Expressions, and calls, comprehensions, parameters and targets of assignments.
#include "syntax/builder.h"

#include <algorithm>
#include <cstdlib>
#include <string>

#include "support/codes.h"

namespace loopsmith::syntax {

auto Builder::expr(TSNode node) -> ExprPtr {
  Deeper deeper(*this);
  // Parentheses make no node.
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
      report(error(Code::ChainTooLong, origin_of(where)).arg("limit", static_cast<int64_t>(kMaxChain)).remedy("give parts of the expression names in statements before"));
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

// An operand of an operator. The grammar accepts operators that bind less tightly: `a + not b`.
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

// Checks that an expression can be assigned to, and returns it unchanged.
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
          (void)std::move(wrong).remedy("name the element with brackets: `A[i, j] = ...`");
        }
        report(std::move(wrong));
      }
    }
  }
  return root;
}

}  // namespace loopsmith::syntax
