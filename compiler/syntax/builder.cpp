// The syntax tree, node by node: code for all kinds of node, and the expressions that can be saved from a line that does not parse.
// Expressions, strings and statements are in builder_*.cpp. Nested constructs are limited in depth; chains to the left
// (`a + b + c`, `x.y[0](1)`) are built in a loop and may have any length.
#include "syntax/builder.h"

#include <algorithm>
#include <string>

#include "support/codes.h"
#include "support/text.h"

namespace loopsmith::syntax {

auto Builder::name(TSNode node) -> Name {
  std::string_view words = text(node);
  // Where no keyword is expected, the parser takes a keyword for a name.
  if (is_python_keyword(words)) { misplaced_keywords.push_back(raw_span(node)); }
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
  report(error(Code::NestedTooDeeply, origin_of(where)).arg("limit", static_cast<int64_t>(kMaxDepth)).remedy("give the inner parts names in statements before"));
  return true;
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

}  // namespace loopsmith::syntax
