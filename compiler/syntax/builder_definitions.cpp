// Definitions of functions and classes, imports, and statements that are not analysed.
#include "syntax/builder.h"

#include <algorithm>
#include <string>

#include "support/codes.h"
#include "support/hash.h"

namespace loopsmith::syntax {

auto Builder::definition(TSNode node, TSNode whole, std::vector<ExprPtr> decorators) -> StmtPtr {
  const Fields& field = fields();
  for (Span where : broken_decorators) {
    // The decorators right above; they are blank in the parsed text.
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

auto Builder::decorated(TSNode node, const Children& children) -> StmtPtr {
  TSNode inner = children.find(fields().definition);
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

auto Builder::import_from(TSNode node, const Children& children) -> StmtPtr {
  auto* made = make<ImportFromStmt>(node);
  TSNode module = children.find(fields().module_);
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
    // `a.b` in a pattern is a value; it binds no name.
    if (symbol == Cst::attribute) { continue; }
    Children inner(*this, at);
    for (size_t i = inner.size(); i > 0; --i) {
      Child child = inner[i - 1];
      bool is_name = (symbol == Cst::call && child.field == fields().function) || (symbol == Cst::keyword_argument && child.field == fields().name);
      if (ts_node_is_named(child.node) && !is_name) { stack.push_back(child.node); }
    }
  }
}

// A statement that is not supported may still bind names: those that its syntax assigns to, imports or defines.
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
      // Any name in a pattern may bind a value.
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
