; Scopes, definitions and references, for editors without a language server at hand.

(module) @local.scope
(function_definition) @local.scope
(class_definition) @local.scope
(lambda) @local.scope
(generator_expression) @local.scope
(list_comprehension) @local.scope
(set_comprehension) @local.scope
(dictionary_comprehension) @local.scope

(function_definition name: (identifier) @local.definition)
(class_definition name: (identifier) @local.definition)
(parameters (identifier) @local.definition)
(parameter name: (identifier) @local.definition)
(star_parameter name: (identifier) @local.definition)
(double_star_parameter name: (identifier) @local.definition)
(lambda_parameters (identifier) @local.definition)

(assignment left: (identifier) @local.definition)
(assignment left: (expression_list (identifier) @local.definition))
(assignment left: (tuple (identifier) @local.definition))
(named_expression name: (identifier) @local.definition)
(for_statement left: (identifier) @local.definition)
(for_statement left: (expression_list_target (identifier) @local.definition))
(for_statement left: (tuple (identifier) @local.definition))
(for_clause left: (identifier) @local.definition)
(for_clause left: (expression_list_target (identifier) @local.definition))
(as_pattern alias: (identifier) @local.definition)
(as_pattern alias: (tuple (identifier) @local.definition))
(aliased_import alias: (identifier) @local.definition)

(identifier) @local.reference
