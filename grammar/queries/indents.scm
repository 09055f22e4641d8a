; The indentation of a new line, with Neovim's names for captures.

[
  (function_definition)
  (class_definition)
  (if_statement)
  (for_statement)
  (while_statement)
  (with_statement)
  (try_statement)
  (match_statement)
  (case_clause)
] @indent.begin

[
  (argument_list)
  (parameters)
  (type_parameters)
  (list)
  (tuple)
  (dictionary)
  (set)
  (parenthesized_expression)
  (subscript)
] @indent.begin

[(elif_clause) (else_clause) (except_clause) (finally_clause)] @indent.branch

[")" "]" "}"] @indent.branch @indent.end

[(return_statement) (raise_statement) (break_statement) (continue_statement) (pass_statement)] @indent.dedent

(string) @indent.auto
(comment) @indent.auto
