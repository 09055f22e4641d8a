// Statements: blocks, assignments, compound statements.
#include "syntax/builder.h"

#include <algorithm>
#include <string>

#include "support/codes.h"

namespace loopsmith::syntax {

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

// The end of the last statement of a program in parts, as a position in this item.
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

void end_with(Stmt& statement, Span header, std::initializer_list<const Block*> blocks) {
  uint32_t end = header.end;
  for (const Block* block : blocks) {
    if (!block->empty()) { end = std::max(end, block->back()->span.end); }
  }
  statement.span.end = end;
}

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
    case Cst::import_from_statement: return import_from(node, children);
    case Cst::if_statement: return if_statement(node);
    case Cst::for_statement: {
      if (is_async) { return opaque_statement(node, "async"); }
      auto* made = make<ForStmt>(node);
      made->header_span = header(node);
      made->target = target(at(field.left));
      made->iterable = at(field.right);
      made->body = suite_field(children, field.body);
      made->otherwise = else_clause(children);
      end_with(*made, made->header_span, {&made->body, &made->otherwise});
      return made;
    }
    case Cst::while_statement: {
      auto* made = make<WhileStmt>(node);
      made->header_span = header(node);
      made->condition = at(field.condition);
      made->body = suite_field(children, field.body);
      made->otherwise = else_clause(children);
      end_with(*made, made->header_span, {&made->body, &made->otherwise});
      return made;
    }
    case Cst::with_statement: return is_async ? opaque_statement(node, "async") : with_statement(node, children);
    case Cst::function_definition:
      if (is_async) { return opaque_statement(node, "async"); }
      return definition(node, node, {});
    case Cst::class_definition: return definition(node, node, {});
    case Cst::decorated_definition: return decorated(node, children);
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

auto Builder::else_clause(const Children& children) -> Block {
  Block out;
  for (size_t i = 0; i < children.size(); ++i) {
    if (children[i].symbol != Cst::else_clause) { continue; }
    Children clause(*this, children[i].node);
    out = suite_field(clause, fields().body);
  }
  return out;
}

auto Builder::with_statement(TSNode node, const Children& children) -> StmtPtr {
  const Fields& field = fields();
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
    // `with (a as b, c as d):` has items in parentheses, which parse as a tuple.
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
        report(second_assignment(right));
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
    report(second_assignment(right));
    made->value = broken(right);
  } else {
    made->value = expr(right);
  }
  return made;
}

auto Builder::second_assignment(TSNode node) -> Diagnostic {
  Children children(*this, node);
  std::string_view op = "=";
  for (size_t i = 0; i < children.size(); ++i) {
    if (children[i].field == fields().op) { op = text(children[i].node); }
  }
  return error(Code::SecondAssignment, origin_of(span(node))).arg("operator", op).remedy("write two statements");
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
    report(second_assignment(right));
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
  // Goes through the clauses from the last to the first: each is the `otherwise` of the one before.
  Block otherwise;
  uint32_t end = 0;
  std::vector<Child> clauses;
  for (size_t i = 0; i < children.size(); ++i) {
    if (children[i].symbol == Cst::elif_clause || children[i].symbol == Cst::else_clause) { clauses.push_back(children[i]); }
  }
  if (clauses.size() > kMaxChain) {
    report(error(Code::ChainTooLong, origin_of(header(clauses[kMaxChain].node))).arg("limit", static_cast<int64_t>(kMaxChain)).remedy("take the later clauses out into a statement of their own"));
    clauses.resize(kMaxChain);
  }
  // Builds the clauses in the order of the text, so that diagnostics have the same order.
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

}  // namespace loopsmith::syntax
