; Text objects (with the names of nvim-treesitter-textobjects): a loop's body, a block, a function, an argument.

(function_definition) @function.outer
(function_definition body: (block) @function.inner)
(class_definition) @class.outer
(class_definition body: (block) @class.inner)

[(for_statement) (while_statement)] @loop.outer
(for_statement body: (block) @loop.inner)
(while_statement body: (block) @loop.inner)

(with_statement) @block.outer
(with_statement body: (block) @block.inner)

(if_statement) @conditional.outer
(if_statement consequence: (block) @conditional.inner)

(call) @call.outer
(argument_list (_) @parameter.inner)
(parameters (_) @parameter.inner)
(type_parameters (_) @parameter.inner)
(comment) @comment.outer
