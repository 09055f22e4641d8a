// The grammar of TIRScript for tree-sitter: Python's syntax, as far as programs, schedules and scripts use it, and
// enough of the rest that `.py` files with such programs can be parsed. The scanner (src/scanner.c) handles layout (lines, indentation)
// and strings with their nesting.
//
// Targets of assignments are parsed as expressions; the program that builds a syntax tree from the parse checks them.
/// <reference types="tree-sitter-cli/dsl" />
// @ts-check

const PREC = {
  lambda: -2,
  conditional: -1,
  or: 10,
  and: 11,
  not: 12,
  compare: 13,
  bitor: 14,
  bitxor: 15,
  bitand: 16,
  shift: 17,
  add: 18,
  multiply: 19,
  unary: 20,
  power: 21,
  await: 22,
  postfix: 23,
};

const list1 = (rule) => seq(rule, repeat(seq(',', rule)), optional(','));
const list = (rule) => optional(list1(rule));

module.exports = grammar({
  name: 'tirscript',

  word: $ => $.identifier,

  externals: $ => [
    $._newline,
    $._indent,
    $._dedent,
    $.string_start,
    $._string_text,
    $.escape_interpolation,
    $.string_end,
    // The scanner never produces these tokens: if they are valid, the scanner knows that brackets are open.
    ')',
    ']',
    '}',
  ],

  extras: $ => [$.comment, /[\s\f\uFEFF\u2060\u200B]|\\\r?\n/],

  inline: $ => [
    $._simple_statement, $._compound_statement, $._name, $._named_expression, $._values, $._right_side, $._element, $._targets,
    $._field,
  ],

  conflicts: $ => [
    [$.match_statement, $._soft_name],
  ],

  rules: {
    module: $ => repeat($._statement),

    _statement: $ => choice($._simple_line, $._compound_statement),

    // ---- simple statements

    _simple_line: $ => seq($._simple_statement, repeat(seq(';', $._simple_statement)), optional(';'), $._newline),

    _simple_statement: $ => choice(
      $.expression_statement,
      $.return_statement,
      $.assert_statement,
      $.pass_statement,
      $.break_statement,
      $.continue_statement,
      $.import_statement,
      $.import_from_statement,
      $.delete_statement,
      $.global_statement,
      $.nonlocal_statement,
      $.raise_statement,
      $.type_alias_statement,
    ),

    expression_statement: $ => choice($._values, $.assignment, $.augmented_assignment, $.yield),

    assignment: $ => seq(
      field('left', $._values),
      choice(
        seq('=', field('right', $._right_side)),
        seq(':', field('type', $._expression)),
        seq(':', field('type', $._expression), '=', field('right', $._right_side)),
      ),
    ),

    augmented_assignment: $ => seq(
      field('left', $._values),
      field('operator', choice('+=', '-=', '*=', '/=', '//=', '%=', '**=', '@=', '>>=', '<<=', '&=', '|=', '^=')),
      field('right', $._right_side),
    ),

    _right_side: $ => choice($._values, $.assignment, $.augmented_assignment, $.yield),

    return_statement: $ => seq('return', optional($._values)),
    assert_statement: $ => seq('assert', field('condition', $._expression), optional(seq(',', field('message', $._expression)))),
    pass_statement: _ => 'pass',
    break_statement: _ => 'break',
    continue_statement: _ => 'continue',
    delete_statement: $ => seq('del', $._values),
    global_statement: $ => seq('global', $.identifier, repeat(seq(',', $.identifier))),
    nonlocal_statement: $ => seq('nonlocal', $.identifier, repeat(seq(',', $.identifier))),
    raise_statement: $ => seq('raise', optional(seq($._expression, optional(seq('from', field('cause', $._expression)))))),
    type_alias_statement: $ => seq('type', field('name', $.identifier), optional($.type_parameters), '=', field('value', $._expression)),

    import_statement: $ => seq('import', $._import_name, repeat(seq(',', $._import_name))),
    import_from_statement: $ => seq(
      'from',
      field('module', choice($.dotted_name, $.relative_name)),
      'import',
      choice($.import_star, $._import_names, seq('(', list1($._import_name), ')')),
    ),
    _import_names: $ => seq($._import_name, repeat(seq(',', $._import_name))),
    _import_name: $ => field('name', choice($.dotted_name, $.aliased_import)),
    aliased_import: $ => seq(field('name', $.dotted_name), 'as', field('alias', $.identifier)),
    import_star: _ => '*',
    dotted_name: $ => prec(1, seq($.identifier, repeat(seq('.', $.identifier)))),
    relative_name: $ => seq($.import_prefix, optional($.dotted_name)),
    import_prefix: _ => repeat1('.'),

    // ---- compound statements

    _compound_statement: $ => choice(
      $.function_definition,
      $.class_definition,
      $.decorated_definition,
      $.if_statement,
      $.for_statement,
      $.while_statement,
      $.with_statement,
      $.try_statement,
      $.match_statement,
    ),

    decorated_definition: $ => seq(repeat1($.decorator), field('definition', choice($.function_definition, $.class_definition))),
    decorator: $ => seq('@', $._named_expression, $._newline),

    function_definition: $ => seq(
      optional('async'),
      'def',
      field('name', $.identifier),
      optional($.type_parameters),
      field('parameters', $.parameters),
      optional(seq('->', field('return_type', $._values))),
      ':',
      field('body', $._suite),
    ),

    class_definition: $ => seq(
      'class',
      field('name', $.identifier),
      optional($.type_parameters),
      field('superclasses', optional($.argument_list)),
      ':',
      field('body', $._suite),
    ),

    type_parameters: $ => seq('[', list1(choice($.type_parameter, $.starred, $.dictionary_splat)), ']'),
    type_parameter: $ => seq($.identifier, optional(seq(':', $._expression)), optional(seq('=', $._expression))),

    parameters: $ => seq('(', list($._parameter), ')'),
    _parameter: $ => choice(
      $.identifier,
      $.parameter,
      $.star_parameter,
      $.double_star_parameter,
      $.keyword_separator,
      $.positional_separator,
    ),
    parameter: $ => seq(
      field('name', $.identifier),
      choice(
        seq(':', field('type', $._expression)),
        seq('=', field('value', $._expression)),
        seq(':', field('type', $._expression), '=', field('value', $._expression)),
      ),
    ),
    star_parameter: $ => seq('*', field('name', $.identifier), optional(seq(':', field('type', choice($._expression, $.starred))))),
    double_star_parameter: $ => seq('**', field('name', $.identifier), optional(seq(':', field('type', $._expression)))),
    keyword_separator: _ => '*',
    positional_separator: _ => '/',

    if_statement: $ => seq(
      'if',
      field('condition', $._named_expression),
      ':',
      field('consequence', $._suite),
      repeat(field('alternative', $.elif_clause)),
      optional(field('alternative', $.else_clause)),
    ),
    elif_clause: $ => seq('elif', field('condition', $._named_expression), ':', field('consequence', $._suite)),
    else_clause: $ => seq('else', ':', field('body', $._suite)),

    for_statement: $ => seq(
      optional('async'),
      'for',
      field('left', $._targets),
      'in',
      field('right', $._values),
      ':',
      field('body', $._suite),
      field('alternative', optional($.else_clause)),
    ),

    while_statement: $ => seq(
      'while',
      field('condition', $._named_expression),
      ':',
      field('body', $._suite),
      field('alternative', optional($.else_clause)),
    ),

    // Items in parentheses are parsed as a tuple whose elements may have `as`.
    with_statement: $ => seq(optional('async'), 'with', $.with_items, ':', field('body', $._suite)),
    with_items: $ => list1(choice($._expression, $.as_pattern)),
    as_pattern: $ => seq(field('value', $._expression), 'as', field('alias', $._target)),

    try_statement: $ => seq(
      'try',
      ':',
      field('body', $._suite),
      choice(
        seq(repeat1($.except_clause), optional($.else_clause), optional($.finally_clause)),
        $.finally_clause,
      ),
    ),
    except_clause: $ => seq('except', optional('*'), optional(list1(choice($._expression, $.as_pattern))), ':', field('body', $._suite)),
    finally_clause: $ => seq('finally', ':', field('body', $._suite)),

    match_statement: $ => seq('match', field('subject', $._values), ':', field('body', alias($._match_block, $.block))),
    _match_block: $ => choice(seq($._indent, repeat($.case_clause), $._dedent), $._newline),
    case_clause: $ => seq(
      'case',
      list1(choice($._expression, $.starred, $.as_pattern)),
      optional(seq('if', field('guard', $._named_expression))),
      ':',
      field('body', $._suite),
    ),

    // A head without a body is accepted here; the tree builder reports it with a better message.
    _suite: $ => choice(
      alias($._simple_line, $.block),
      seq($._indent, $.block),
      alias($._newline, $.block),
    ),
    block: $ => seq(repeat($._statement), $._dedent),

    // ---- expressions
    //
    // One rule for all operators, with precedences: separate rules for each level would cost a reduction per level
    // for every operand. Therefore `a + not b` is accepted here, and the tree builder reports it.

    _values: $ => choice($._expression, $.starred, $.expression_list),
    expression_list: $ => prec.right(seq(
      choice($._expression, $.starred),
      choice(',', seq(repeat1(seq(',', choice($._expression, $.starred))), optional(','))),
    )),
    starred: $ => seq('*', $._expression),

    _targets: $ => choice($._target, $.expression_list_target),
    expression_list_target: $ => prec.right(seq($._target, choice(',', seq(repeat1(seq(',', $._target)), optional(','))))),
    // `for i in x`: the `in` ends the target.
    _target: $ => prec(1, choice(
      $._name,
      $.attribute,
      $.subscript,
      $.call,
      $.parenthesized_expression,
      $.tuple,
      $.list,
      alias($.starred_target, $.starred),
    )),
    starred_target: $ => seq('*', $._target),

    _named_expression: $ => choice($._expression, $.named_expression),
    named_expression: $ => seq(field('name', $._name), ':=', field('value', $._expression)),

    _expression: $ => choice(
      $._name,
      $.integer,
      $.float,
      $.imaginary,
      $.string,
      $.concatenated_string,
      $.true,
      $.false,
      $.none,
      $.ellipsis,
      $.attribute,
      $.subscript,
      $.call,
      $.binary_operator,
      $.unary_operator,
      $.comparison,
      $.not_operator,
      $.boolean_operator,
      $.conditional_expression,
      $.lambda,
      $.await,
      $.parenthesized_expression,
      $.tuple,
      $.list,
      $.dictionary,
      $.set,
      $.generator_expression,
      $.list_comprehension,
      $.set_comprehension,
      $.dictionary_comprehension,
    ),

    conditional_expression: $ => prec.right(PREC.conditional, seq(
      field('then', $._expression), 'if', field('condition', $._expression), 'else', field('otherwise', $._expression),
    )),

    lambda: $ => prec(PREC.lambda, seq('lambda', field('parameters', optional($.lambda_parameters)), ':', field('body', $._expression))),
    lambda_parameters: $ => list1(choice(
      $.identifier,
      alias($.lambda_default, $.parameter),
      alias($.lambda_star, $.star_parameter),
      alias($.lambda_double_star, $.double_star_parameter),
      $.keyword_separator,
      $.positional_separator,
    )),
    lambda_default: $ => seq(field('name', $.identifier), '=', field('value', $._expression)),
    lambda_star: $ => seq('*', field('name', $.identifier)),
    lambda_double_star: $ => seq('**', field('name', $.identifier)),

    boolean_operator: $ => choice(
      prec.left(PREC.or, seq(field('left', $._expression), field('operator', 'or'), field('right', $._expression))),
      prec.left(PREC.and, seq(field('left', $._expression), field('operator', 'and'), field('right', $._expression))),
    ),
    not_operator: $ => prec(PREC.not, seq(field('operator', 'not'), field('operand', $._expression))),
    // A chain nests to the left: `a < b < c` is a comparison of a comparison.
    comparison: $ => prec.left(PREC.compare, seq(
      field('left', $._expression),
      field('operator', choice('<', '<=', '==', '!=', '>=', '>', 'in', alias($._not_in, 'not in'), 'is', alias($._is_not, 'is not'))),
      field('right', $._expression),
    )),

    _not_in: _ => seq('not', 'in'),
    _is_not: _ => prec(PREC.compare, seq('is', 'not')),

    binary_operator: $ => choice(
      ...[
        ['|', PREC.bitor], ['^', PREC.bitxor], ['&', PREC.bitand], ['<<', PREC.shift], ['>>', PREC.shift],
        ['+', PREC.add], ['-', PREC.add], ['*', PREC.multiply], ['/', PREC.multiply], ['//', PREC.multiply],
        ['%', PREC.multiply], ['@', PREC.multiply],
      ].map(([operator, precedence]) => prec.left(precedence, seq(
        field('left', $._expression), field('operator', operator), field('right', $._expression),
      ))),
      prec.right(PREC.power, seq(field('left', $._expression), field('operator', '**'), field('right', $._expression))),
    ),
    unary_operator: $ => prec(PREC.unary, seq(field('operator', choice('-', '+', '~')), field('operand', $._expression))),
    await: $ => prec(PREC.await, seq('await', $._expression)),

    _name: $ => choice($.identifier, alias($._soft_name, $.identifier)),
    _soft_name: _ => choice('match', 'type'),

    attribute: $ => prec(PREC.postfix, seq(field('object', $._expression), '.', field('attribute', $.identifier))),
    subscript: $ => prec(PREC.postfix, seq(
      field('object', $._expression),
      '[',
      list1(field('index', choice($._named_expression, $.starred, $.slice))),
      ']',
    )),
    slice: $ => seq(
      field('lower', optional($._expression)),
      ':',
      field('upper', optional($._expression)),
      optional(seq(':', field('step', optional($._expression)))),
    ),
    call: $ => prec(PREC.postfix, seq(field('function', $._expression), field('arguments', choice($.argument_list, $.generator_expression)))),
    argument_list: $ => seq('(', list(choice($._named_expression, $.starred, $.dictionary_splat, $.keyword_argument, $.as_pattern)), ')'),
    keyword_argument: $ => seq(field('name', $._name), '=', field('value', choice($._expression, $.as_pattern))),
    dictionary_splat: $ => seq('**', $._expression),

    parenthesized_expression: $ => prec(1, seq('(', choice($._named_expression, $.yield, $.as_pattern), ')')),
    _element: $ => choice($._named_expression, $.starred, $.as_pattern),
    tuple: $ => seq('(', optional(seq($._element, choice(',', seq(repeat1(seq(',', $._element)), optional(','))))), ')'),
    list: $ => seq('[', list($._element), ']'),
    set: $ => seq('{', list1($._element), '}'),
    dictionary: $ => seq('{', list(choice($.pair, $.dictionary_splat)), '}'),
    pair: $ => seq(field('key', $._expression), ':', field('value', choice($._expression, $.as_pattern))),

    generator_expression: $ => seq('(', field('element', $._named_expression), $._clauses, ')'),
    list_comprehension: $ => seq('[', field('element', $._named_expression), $._clauses, ']'),
    set_comprehension: $ => seq('{', field('element', $._named_expression), $._clauses, '}'),
    dictionary_comprehension: $ => seq('{', field('element', $.pair), $._clauses, '}'),
    _clauses: $ => seq($.for_clause, repeat(choice($.for_clause, $.if_clause))),
    for_clause: $ => seq(optional('async'), 'for', field('left', $._targets), 'in', field('right', $._expression)),
    if_clause: $ => seq('if', field('condition', choice($._expression, $.named_expression))),

    yield: $ => prec.right(seq('yield', choice(seq('from', $._expression), optional($._values)))),

    // ---- tokens

    concatenated_string: $ => prec.right(seq($.string, repeat1($.string))),
    string: $ => seq($.string_start, repeat(choice($.string_content, $.interpolation)), $.string_end),
    string_content: $ => prec.right(repeat1(choice($._string_text, $.escape_interpolation, $.escape_sequence))),
    escape_sequence: _ => token.immediate(prec(1, /\\(u[a-fA-F\d]{4}|U[a-fA-F\d]{8}|x[a-fA-F\d]{2}|[0-7]{1,3}|\r?\n|['"abfrntv\\]|N\{[^}\n]+\})/)),
    interpolation: $ => seq(
      '{',
      field('value', choice($._field, $.yield)),
      optional(field('debug', '=')),
      optional(field('conversion', $.conversion)),
      optional(field('format', $.format_specifier)),
      '}',
    ),
    _field: $ => choice($._expression, alias($.field_list, $.expression_list)),
    field_list: $ => seq(choice($._expression, $.starred), choice(',', seq(repeat1(seq(',', choice($._expression, $.starred))), optional(',')))),
    conversion: _ => /![a-zA-Z]/,
    format_specifier: $ => seq(':', repeat(choice($.format_text, $.interpolation))),
    format_text: _ => token(prec(1, /[^{}\r\n'"]+/)),

    identifier: _ => /[_\p{XID_Start}][_\p{XID_Continue}]*/,

    integer: _ => token(choice(
      /0[xX](_?[0-9a-fA-F])+/,
      /0[oO](_?[0-7])+/,
      /0[bB](_?[01])+/,
      /[0-9](_?[0-9])*/,
    )),
    float: _ => token(choice(
      /[0-9](_?[0-9])*\.([0-9](_?[0-9])*)?([eE][+-]?[0-9](_?[0-9])*)?/,
      /\.[0-9](_?[0-9])*([eE][+-]?[0-9](_?[0-9])*)?/,
      /[0-9](_?[0-9])*[eE][+-]?[0-9](_?[0-9])*/,
    )),
    imaginary: _ => token(/([0-9](_?[0-9])*\.?([0-9](_?[0-9])*)?|\.[0-9](_?[0-9])*)([eE][+-]?[0-9](_?[0-9])*)?[jJ]/),

    true: _ => 'True',
    false: _ => 'False',
    none: _ => 'None',
    ellipsis: _ => '...',

    comment: _ => token(/#[^\r\n]*/),
  },
});
