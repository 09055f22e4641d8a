// The interface to tree-sitter: a parser, trees that free themselves, and the grammar's symbols as an enumeration. Private to
// this room.
#pragma once

#include <tree_sitter/api.h>

#include <cstdint>
#include <memory>
#include <string_view>

namespace loopsmith::syntax {

// Every named node, and the tokens that the builder uses, under the grammar's names.
#define LOOPSMITH_CST(X)                                                                                              \
  X(module) X(expression_statement) X(assignment) X(augmented_assignment) X(return_statement) X(assert_statement)     \
  X(pass_statement) X(break_statement) X(continue_statement) X(delete_statement) X(global_statement)                  \
  X(nonlocal_statement) X(raise_statement) X(type_alias_statement) X(import_statement) X(import_from_statement)       \
  X(aliased_import) X(import_star) X(dotted_name) X(relative_name) X(import_prefix) X(decorated_definition)           \
  X(decorator) X(function_definition) X(class_definition) X(type_parameters) X(type_parameter) X(parameters) X(parameter)               \
  X(star_parameter) X(double_star_parameter) X(keyword_separator) X(positional_separator) X(if_statement)             \
  X(elif_clause) X(else_clause) X(for_statement) X(while_statement) X(with_statement) X(with_items) X(as_pattern)     \
  X(try_statement) X(match_statement) X(case_clause) X(block) X(expression_list) X(expression_list_target) X(starred)                \
  X(named_expression) X(conditional_expression) X(lambda) X(lambda_parameters) X(boolean_operator) X(not_operator)    \
  X(comparison) X(binary_operator) X(unary_operator) X(await) X(identifier) X(integer) X(float_) X(imaginary)         \
  X(string) X(concatenated_string) X(true_) X(false_) X(none) X(ellipsis) X(attribute) X(subscript) X(slice) X(call)  \
  X(argument_list) X(keyword_argument) X(dictionary_splat) X(parenthesized_expression) X(tuple) X(list) X(set)        \
  X(dictionary) X(pair) X(generator_expression) X(list_comprehension) X(set_comprehension)                            \
  X(dictionary_comprehension) X(for_clause) X(if_clause) X(yield) X(string_start) X(string_content) X(string_end)     \
  X(interpolation) X(conversion) X(format_specifier) X(format_text) X(comment)

enum class Cst : uint8_t {
  other,
  async,
  comma,
#define LOOPSMITH_CST_ENUM(name) name,
  LOOPSMITH_CST(LOOPSMITH_CST_ENUM)
#undef LOOPSMITH_CST_ENUM
};

struct Fields {
  TSFieldId left, right, type, op, operand, condition, consequence, alternative, body, name, alias, value, module_,
      message, definition, parameters, return_type, superclasses, then, otherwise, object, attribute, index, lower,
      upper, step, function, arguments, key, element, debug, conversion, format, guard;
};

[[nodiscard]] auto symbol_of(TSNode node) -> Cst;
[[nodiscard]] auto fields() -> const Fields&;

struct TreeDeleter {
  void operator()(TSTree* tree) const { ts_tree_delete(tree); }
};
using Tree = std::unique_ptr<TSTree, TreeDeleter>;

/// Parses a text; `old` has the meaning of ts_parser_parse.
[[nodiscard]] auto parse_text(std::string_view text, const TSTree* old = nullptr) -> Tree;
/// The bytes that tree-sitter has allocated on this thread, including reserves. Trees that another thread frees stay counted.
[[nodiscard]] auto tree_bytes() -> size_t;
/// Parses a text as an edit of `before`, whose tree is `old`: the text between their common beginning and common end changed.
[[nodiscard]] auto parse_edited(std::string_view text, std::string_view before, const TSTree* old) -> Tree;

}  // namespace loopsmith::syntax
