// What TIRScript's layout needs beyond regular expressions: the end of a statement's line, indentation, and strings,
// whose replacement fields may hold strings again.
//
// State: the widths of the open blocks, and the open strings, innermost last. Brackets need no state: inside them the
// parser does not ask for a line's end. When it recovers from an error it asks for everything at once; then only what
// looks safe is given.

#include "tree_sitter/parser.h"

#include <stdlib.h>
#include <string.h>

enum Token {
  NEWLINE,
  INDENT,
  DEDENT,
  STRING_START,
  STRING_TEXT,
  ESCAPE_INTERPOLATION,
  STRING_END,
  CLOSE_PAREN,
  CLOSE_BRACKET,
  CLOSE_BRACE,
};

// Deeper nesting shares the last level; what is built from the tree refuses it long before.
enum { MAX_BLOCKS = 400, MAX_STRINGS = 100 };

enum StringFlags {
  SINGLE_QUOTE = 1,
  TRIPLE = 2,
  RAW = 4,
  FORMAT = 8,
};

typedef struct {
  uint16_t blocks[MAX_BLOCKS];
  uint32_t block_count;
  uint8_t strings[MAX_STRINGS];
  uint32_t string_count;
} Scanner;

void *tree_sitter_tirscript_external_scanner_create(void) {
  return calloc(1, sizeof(Scanner));
}

void tree_sitter_tirscript_external_scanner_destroy(void *payload) { free(payload); }

unsigned tree_sitter_tirscript_external_scanner_serialize(void *payload, char *buffer) {
  const Scanner *scanner = payload;
  unsigned size = 0;
  buffer[size++] = (char)scanner->string_count;
  memcpy(buffer + size, scanner->strings, scanner->string_count);
  size += scanner->string_count;
  for (uint32_t i = 0; i < scanner->block_count; ++i) {
    buffer[size++] = (char)(scanner->blocks[i] & 0xff);
    buffer[size++] = (char)(scanner->blocks[i] >> 8);
  }
  return size;
}

void tree_sitter_tirscript_external_scanner_deserialize(void *payload, const char *buffer, unsigned length) {
  Scanner *scanner = payload;
  scanner->string_count = 0;
  scanner->block_count = 0;
  if (length == 0) { return; }
  unsigned at = 0;
  scanner->string_count = (uint8_t)buffer[at++];
  memcpy(scanner->strings, buffer + at, scanner->string_count);
  at += scanner->string_count;
  while (at + 1 < length) {
    scanner->blocks[scanner->block_count++] =
        (uint16_t)((uint8_t)buffer[at] | ((uint16_t)(uint8_t)buffer[at + 1] << 8));
    at += 2;
  }
}

static void skip(TSLexer *lexer) { lexer->advance(lexer, true); }
static void take(TSLexer *lexer) { lexer->advance(lexer, false); }

static uint16_t current_block(const Scanner *scanner) {
  return scanner->block_count == 0 ? 0 : scanner->blocks[scanner->block_count - 1];
}

static bool is_name_char(int32_t c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c > 127;
}

enum { MAX_WORD = 10 };

// Reads the word at hand into `word`; gives its length, MAX_WORD when it is longer.
static unsigned read_word(TSLexer *lexer, char *word) {
  unsigned length = 0;
  while (is_name_char(lexer->lookahead) && length < MAX_WORD) {
    word[length++] = (char)lexer->lookahead;
    take(lexer);
  }
  return length;
}

// Is the word just read one that can only begin a statement?
static bool begins_statement(TSLexer *lexer, const char *word, unsigned length) {
  static const char *const words[] = {"def",   "class", "return", "while",  "with",     "assert", "import", "pass",
                                      "break", "raise", "try",    "global", "nonlocal", "del",    "continue"};
  for (unsigned i = 0; i < sizeof words / sizeof *words; ++i) {
    if (strlen(words[i]) == length && memcmp(words[i], word, length) == 0) {
      // `import=1` in a call is wrong as well, but `with = 3` typed in a bracket is better left to the parser.
      while (lexer->lookahead == ' ') { take(lexer); }
      return lexer->lookahead != '=' && lexer->lookahead != ',';
    }
  }
  return false;
}

// `unclosed` tells that the string's line, or the text, ends here without a quote.
static bool scan_string_text(Scanner *scanner, TSLexer *lexer, bool *unclosed) {
  uint8_t string = scanner->strings[scanner->string_count - 1];
  int32_t quote = string & SINGLE_QUOTE ? '\'' : '"';
  bool has_text = false;
  lexer->mark_end(lexer);
  for (;;) {
    if (lexer->eof(lexer)) {
      // An unclosed string: give what there is, the parser notices that its end is missing.
      lexer->mark_end(lexer);
      lexer->result_symbol = STRING_TEXT;
      *unclosed = !has_text;
      return has_text;
    }
    int32_t c = lexer->lookahead;
    if ((string & FORMAT) && (c == '{' || c == '}')) {
      lexer->mark_end(lexer);
      if (has_text) {
        lexer->result_symbol = STRING_TEXT;
        return true;
      }
      take(lexer);
      if (lexer->lookahead == c) {
        take(lexer);
        lexer->mark_end(lexer);
        lexer->result_symbol = ESCAPE_INTERPOLATION;
        return true;
      }
      // "{" opens a field; a lone "}" is an error that the parser reports.
      return false;
    }
    if (c == '\\') {
      lexer->mark_end(lexer);
      if (string & RAW) {
        // A quote after a backslash does not end a raw string, and both stay in it.
        take(lexer);
        if (lexer->lookahead == '\\' || lexer->lookahead == quote) { take(lexer); }
        else if (lexer->lookahead == '\r') {
          take(lexer);
          if (lexer->lookahead == '\n') { take(lexer); }
        } else if (lexer->lookahead == '\n') { take(lexer); }
        has_text = true;
        continue;
      }
      take(lexer);
      int32_t next = lexer->lookahead;
      bool is_escape = next == '\n' || next == '\r' || next == '\'' || next == '"' || next == '\\' ||
                       (next >= '0' && next <= '7') || next == 'a' || next == 'b' || next == 'f' || next == 'r' ||
                       next == 'n' || next == 't' || next == 'v' || next == 'x' || next == 'u' || next == 'U' ||
                       next == 'N';
      if (is_escape) {
        bool malformed = false;
        if (next == 'x' || next == 'u' || next == 'U') {
          int digits = next == 'x' ? 2 : next == 'u' ? 4 : 8;
          take(lexer);
          for (int i = 0; i < digits; ++i) {
            int32_t d = lexer->lookahead;
            if (!((d >= '0' && d <= '9') || (d >= 'a' && d <= 'f') || (d >= 'A' && d <= 'F'))) { malformed = true; break; }
            take(lexer);
          }
        } else if (next == 'N') {
          take(lexer);
          malformed = lexer->lookahead != '{';
        }
        if (!malformed) {
          // The escape is a token of its own; text before it is given first.
          lexer->result_symbol = STRING_TEXT;
          return has_text;
        }
      }
      // Python keeps a backslash that begins no escape.
      has_text = true;
      continue;
    }
    if (c == quote) {
      if (string & TRIPLE) {
        lexer->mark_end(lexer);
        take(lexer);
        if (lexer->lookahead == quote) {
          take(lexer);
          if (lexer->lookahead == quote) {
            if (has_text) {
              lexer->result_symbol = STRING_TEXT;
              return true;
            }
            take(lexer);
            lexer->mark_end(lexer);
            --scanner->string_count;
            lexer->result_symbol = STRING_END;
            return true;
          }
        }
        has_text = true;
        continue;
      }
      if (has_text) {
        lexer->mark_end(lexer);
        lexer->result_symbol = STRING_TEXT;
        return true;
      }
      take(lexer);
      lexer->mark_end(lexer);
      --scanner->string_count;
      lexer->result_symbol = STRING_END;
      return true;
    }
    if ((c == '\n' || c == '\r') && !(string & TRIPLE)) {
      // The line ends and the string does not: close it here, so that the damage ends with the line.
      lexer->mark_end(lexer);
      lexer->result_symbol = STRING_TEXT;
      *unclosed = !has_text;
      return has_text;
    }
    take(lexer);
    has_text = true;
  }
}

// What a prefix makes of a string; -1 when a letter is none of a prefix.
static int prefix_flag(int32_t c) {
  switch (c) {
    case 'f': case 'F': case 't': case 'T': return FORMAT;
    case 'r': case 'R': return RAW;
    case 'b': case 'B': case 'u': case 'U': return 0;
    default: return -1;
  }
}

// `string`: the flags of the prefix, if it has been read.
static bool scan_string_start(Scanner *scanner, TSLexer *lexer, uint8_t string, bool has_prefix) {
  for (int i = 0; i < 3 && !has_prefix; ++i) {
    int flag = prefix_flag(lexer->lookahead);
    if (flag < 0) { break; }
    string |= (uint8_t)flag;
    take(lexer);
  }
  if (lexer->lookahead != '\'' && lexer->lookahead != '"') { return false; }
  if (scanner->string_count == MAX_STRINGS) { return false; }
  int32_t quote = lexer->lookahead;
  if (quote == '\'') { string |= SINGLE_QUOTE; }
  take(lexer);
  lexer->mark_end(lexer);
  if (lexer->lookahead == quote) {
    take(lexer);
    if (lexer->lookahead == quote) {
      take(lexer);
      lexer->mark_end(lexer);
      string |= TRIPLE;
    }
  }
  scanner->strings[scanner->string_count++] = string;
  lexer->result_symbol = STRING_START;
  return true;
}

bool tree_sitter_tirscript_external_scanner_scan(void *payload, TSLexer *lexer, const bool *valid) {
  Scanner *scanner = payload;
  bool recovering = valid[STRING_TEXT] && valid[INDENT];
  bool in_brackets = valid[CLOSE_PAREN] || valid[CLOSE_BRACKET] || valid[CLOSE_BRACE];

  if (valid[STRING_TEXT] && scanner->string_count > 0 && !recovering) {
    bool unclosed = false;
    if (scan_string_text(scanner, lexer, &unclosed)) { return true; }
    if (unclosed) {
      // An end without a quote: the string is wrong, the lines below it need not be.
      --scanner->string_count;
      lexer->mark_end(lexer);
      lexer->result_symbol = STRING_END;
      return true;
    }
    return false;
  }

  lexer->mark_end(lexer);
  bool at_line_end = false;
  bool past_comment = false;
  uint32_t width = 0;
  int32_t first_comment_width = -1;
  for (;;) {
    int32_t c = lexer->lookahead;
    if (c == '\n') {
      at_line_end = true;
      width = 0;
      skip(lexer);
    } else if (c == '\r') {
      skip(lexer);
      if (lexer->lookahead != '\n') { at_line_end = true; }
      width = 0;
    } else if (c == ' ') {
      ++width;
      skip(lexer);
    } else if (c == '\f') {
      width = 0;
      skip(lexer);
    } else if (c == '\t') {
      width += 8 - width % 8;
      skip(lexer);
    } else if (c == 0xFEFF) {
      skip(lexer);
    } else if (c == '#' && (valid[NEWLINE] || valid[INDENT] || valid[DEDENT] || in_brackets)) {
      // Comments neither end nor begin anything. One before the line's end belongs to the line: leave it to be read.
      if (!at_line_end) { return false; }
      if (first_comment_width < 0) { first_comment_width = (int32_t)width; }
      past_comment = true;
      while (!lexer->eof(lexer) && lexer->lookahead != '\n' && lexer->lookahead != '\r') { skip(lexer); }
      width = 0;
    } else if (c == '\\') {
      skip(lexer);
      if (lexer->lookahead == '\r') { skip(lexer); }
      if (lexer->lookahead == '\n' || lexer->eof(lexer)) {
        skip(lexer);
      } else {
        return false;
      }
    } else if (lexer->eof(lexer)) {
      width = 0;
      at_line_end = true;
      break;
    } else {
      break;
    }
  }

  if (at_line_end) {
    if (width > 0xffff) { width = 0xffff; }
    uint16_t current = current_block(scanner);
    if (valid[INDENT] && width > current && !(recovering && in_brackets)) {
      if (scanner->block_count < MAX_BLOCKS) { scanner->blocks[scanner->block_count++] = (uint16_t)width; }
      lexer->result_symbol = INDENT;
      return true;
    }
    // Not where the parser does not ask for it: between `f(x[` and `i])` no bracket can be closed, and the line may
    // still begin in any column.
    bool may_dedent = valid[DEDENT];
    // A comment as deep as the block stays in it: wait until it has been read.
    if (may_dedent && width < current && first_comment_width < (int32_t)current) {
      --scanner->block_count;
      lexer->result_symbol = DEDENT;
      return true;
    }
    if (valid[NEWLINE] && !recovering) {
      lexer->result_symbol = NEWLINE;
      return true;
    }
    // An open bracket, and the next line can only be a statement: the bracket was forgotten.
    if (in_brackets && !recovering && !past_comment && scanner->string_count == 0 && is_name_char(lexer->lookahead)) {
      char word[MAX_WORD];
      unsigned length = read_word(lexer, word);
      if (begins_statement(lexer, word, length)) {
        lexer->result_symbol = NEWLINE;
        return true;
      }
      // The word may have been the prefix of a string.
      uint8_t string = 0;
      for (unsigned i = 0; i < length; ++i) {
        int flag = prefix_flag(word[i]);
        if (flag < 0 || length > 2) { return false; }
        string |= (uint8_t)flag;
      }
      return valid[STRING_START] && scan_string_start(scanner, lexer, string, true);
    }
    if (past_comment) { return false; }
  }

  if (valid[STRING_START]) { return scan_string_start(scanner, lexer, 0, false); }
  return false;
}
