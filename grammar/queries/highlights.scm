; Colours. The last pattern that matches has priority, so general patterns come first.

(identifier) @variable

((identifier) @constant
  (#match? @constant "^[A-Z][A-Z0-9_]+$"))

; The namespaces of the language.
((identifier) @module
  (#any-of? @module "T" "Ts" "Tx" "I" "R" "tir" "tirx" "s_tir" "te" "tvm" "ls"))

(attribute attribute: (identifier) @property)

(call function: (identifier) @function.call)
(call function: (attribute attribute: (identifier) @function.method.call))

((call function: (identifier) @function.builtin)
  (#any-of? @function.builtin
    "abs" "bool" "dict" "enumerate" "float" "int" "len" "list" "max" "min" "print" "range" "reversed" "sorted" "str"
    "sum" "tuple" "zip"))

; `T.float32(0)`, `T.int32`: types.
((attribute
   object: (identifier) @_namespace
   attribute: (identifier) @type)
  (#any-of? @_namespace "T" "Ts" "tir" "tirx" "R")
  (#match? @type "^(u?int[0-9]+|float[0-9]+|bfloat16|e[0-9]m[0-9].*|bool|handle|Buffer|Ptr|Schedule|Tensor)(x[0-9]+)?$"))

; `T.block`, `T.serial`, ...: the structure of a program.
((attribute
   object: (identifier) @_namespace
   attribute: (identifier) @function.builtin)
  (#any-of? @_namespace "T" "Ts" "tir" "tirx")
  (#any-of? @function.builtin
    "block" "sblock" "init" "reads" "writes" "where" "block_attr" "sblock_attr" "func_attr" "serial" "parallel"
    "vectorized" "unroll" "thread_binding" "grid" "axis" "match_buffer" "alloc_buffer" "sblock_alloc_buffer"
    "decl_buffer" "allocate" "allocate_const" "launch_thread" "attr" "let" "bind" "evaluate"
    "alloc_tensor" "decl_tensor" "match_tensor" "alloc_shared" "alloc_local" "device_entry" "cta_id" "cluster_id"
    "warpgroup_id" "warp_id" "thread_id" "lane_id"))

; `T.ptx.mbarrier.init`, `T.cuda.cta_sync`, `Tx.warp.copy`: instructions of machines, operations on tiles.
((attribute
   object: (attribute
     object: (identifier) @_namespace
     attribute: (identifier) @module))
  (#any-of? @_namespace "T" "Ts" "Tx")
  (#any-of? @module "ptx" "cuda" "nvshmem" "metal" "webgpu" "nki" "trn" "tile" "cta" "warp" "wg" "warpgroup" "thread" "cluster"))

(function_definition name: (identifier) @function)
(class_definition name: (identifier) @type)

(parameters (identifier) @variable.parameter)
(parameter name: (identifier) @variable.parameter)
(star_parameter name: (identifier) @variable.parameter)
(double_star_parameter name: (identifier) @variable.parameter)
(type_parameter . (identifier) @variable.parameter)
(lambda_parameters (identifier) @variable.parameter)
(keyword_argument name: (identifier) @variable.parameter)

(dotted_name (identifier) @module)

[(none) (true) (false) (ellipsis)] @constant.builtin
[(integer) (float) (imaginary)] @number
(string) @string
(escape_sequence) @string.escape
(escape_interpolation) @string.escape
(interpolation value: (identifier) @variable)
(conversion) @string.escape
(comment) @comment

; A docstring is coloured as a comment.
(function_definition body: (block . (expression_statement (string) @string.documentation)))
(class_definition body: (block . (expression_statement (string) @string.documentation)))

[
  "and" "as" "assert" "async" "await" "class" "def" "del" "elif" "else" "except" "finally" "for" "from" "global" "if"
  "import" "in" "is" "is not" "lambda" "nonlocal" "not" "not in" "or" "raise" "return" "try" "while" "with" "yield"
  "match" "case"
] @keyword
[(pass_statement) (break_statement) (continue_statement)] @keyword

[
  "+" "-" "*" "/" "//" "%" "**" "@" "<<" ">>" "&" "|" "^" "~" "<" "<=" "==" "!=" ">=" ">" "=" ":=" "->" "+=" "-=" "*="
  "/=" "//=" "%=" "**=" "@=" ">>=" "<<=" "&=" "|=" "^="
] @operator

["(" ")" "[" "]" "{" "}"] @punctuation.bracket
(interpolation "{" @punctuation.special "}" @punctuation.special)
["," "." ":" ";"] @punctuation.delimiter

(decorator "@" @attribute)
(decorator (identifier) @attribute)
(decorator (attribute attribute: (identifier) @attribute))
(decorator (call function: (identifier) @attribute))
(decorator (call function: (attribute attribute: (identifier) @attribute)))
