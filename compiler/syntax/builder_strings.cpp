// String literals: prefixes, escapes, f-strings.
#include "syntax/builder.h"

#include <algorithm>
#include <string>

#include "support/codes.h"

namespace loopsmith::syntax {

namespace {

void append_utf8(std::string& out, uint32_t c) {
  if (c < 0x80) { out += static_cast<char>(c); }
  else if (c < 0x800) { out += static_cast<char>(0xc0 | c >> 6); out += static_cast<char>(0x80 | (c & 0x3f)); }
  else if (c < 0x10000) {
    out += static_cast<char>(0xe0 | c >> 12);
    out += static_cast<char>(0x80 | (c >> 6 & 0x3f));
    out += static_cast<char>(0x80 | (c & 0x3f));
  } else if (c < 0x110000) {
    out += static_cast<char>(0xf0 | c >> 18);
    out += static_cast<char>(0x80 | (c >> 12 & 0x3f));
    out += static_cast<char>(0x80 | (c >> 6 & 0x3f));
    out += static_cast<char>(0x80 | (c & 0x3f));
  }
}

// The character of `\N{name}`; 0 if the name is not in character_names.def.
auto named_character(std::string_view name) -> uint32_t {
  struct Row { std::string_view name; uint32_t code; };
  static constexpr Row rows[] = {
#define CHARACTER(name, code) {name, code},
#include "syntax/character_names.def"
  };
  std::string upper(name);
  for (char& c : upper) { c = static_cast<char>(std::toupper(static_cast<unsigned char>(c))); }
  const auto* found = std::lower_bound(std::begin(rows), std::end(rows), upper, [](const Row& row, const std::string& wanted) { return row.name < wanted; });
  return found != std::end(rows) && found->name == upper ? found->code : 0;
}

// Computes the value of a literal from the text between its quotes. Line ends become "\n".
void decode(std::string_view raw, bool is_raw, bool is_bytes, bool is_format, std::string& out) {
  for (size_t i = 0; i < raw.size(); ++i) {
    char c = raw[i];
    if (is_format && (c == '{' || c == '}') && i + 1 < raw.size() && raw[i + 1] == c) { out += c; ++i; continue; }
    if (c == '\r') {
      if (i + 1 < raw.size() && raw[i + 1] == '\n') { ++i; }
      out += '\n';
      continue;
    }
    if (c != '\\' || is_raw || i + 1 >= raw.size()) { out += c; continue; }
    char e = raw[++i];
    auto hex = [&](size_t digits) {
      uint32_t value = 0;
      size_t got = 0;
      while (got < digits && i + 1 < raw.size() && std::isxdigit(static_cast<unsigned char>(raw[i + 1])) != 0) {
        char d = raw[++i];
        value = value * 16 + static_cast<uint32_t>(d <= '9' ? d - '0' : (d | 0x20) - 'a' + 10);
        ++got;
      }
      return value;
    };
    auto put = [&](uint32_t value) {
      if (is_bytes) { out += static_cast<char>(value); } else { append_utf8(out, value); }
    };
    switch (e) {
      case '\n': break;
      case '\r': if (i + 1 < raw.size() && raw[i + 1] == '\n') { ++i; } break;
      case '\\': case '\'': case '"': out += e; break;
      case 'a': out += '\a'; break;
      case 'b': out += '\b'; break;
      case 'f': out += '\f'; break;
      case 'n': out += '\n'; break;
      case 'r': out += '\r'; break;
      case 't': out += '\t'; break;
      case 'v': out += '\v'; break;
      case 'x': put(hex(2)); break;
      case 'u': if (is_bytes) { out += "\\u"; } else { put(hex(4)); } break;
      case 'U': if (is_bytes) { out += "\\U"; } else { put(hex(8)); } break;
      case 'N': {
        size_t close = !is_bytes && i + 1 < raw.size() && raw[i + 1] == '{' ? raw.find('}', i + 1) : std::string_view::npos;
        uint32_t code = close == std::string_view::npos ? 0 : named_character(raw.substr(i + 2, close - i - 2));
        if (code == 0) {
          out += "\\N";
          break;
        }
        put(code);
        i = close;
        break;
      }
      default:
        if (e >= '0' && e <= '7') {
          uint32_t value = static_cast<uint32_t>(e - '0');
          for (int k = 0; k < 2 && i + 1 < raw.size() && raw[i + 1] >= '0' && raw[i + 1] <= '7'; ++k) {
            value = value * 8 + static_cast<uint32_t>(raw[++i] - '0');
          }
          put(is_bytes ? value & 0xff : value);
        } else {
          out += '\\';
          out += e;
        }
    }
  }
}

auto lower_prefix(std::string_view start) -> std::string {
  std::string prefix;
  for (char c : start) {
    if (c == '"' || c == '\'') { break; }
    prefix += static_cast<char>(c | 0x20);
  }
  return prefix;
}

}  // namespace

void Builder::string_parts(TSNode node, std::vector<FStringPart>& parts, std::string& pending, bool& has_fields) {
  Children children(*this, node);
  if (children.size() == 0) { return; }
  std::string prefix = lower_prefix(text(children[0].node));
  bool is_raw = prefix.find('r') != std::string::npos;
  bool is_bytes = prefix.find('b') != std::string::npos;
  bool is_format = prefix.find('f') != std::string::npos || prefix.find('t') != std::string::npos;
  has_fields = has_fields || is_format;
  for (size_t i = 1; i < children.size(); ++i) {
    Child child = children[i];
    if (child.symbol == Cst::string_content) {
      decode(text(child.node), is_raw, is_bytes, is_format, pending);
    } else if (child.symbol == Cst::interpolation) {
      if (!pending.empty()) {
        FStringPart literal;
        literal.text = item_.arena.copy(pending);
        literal.span = {span(node).begin, span(child.node).begin};
        parts.push_back(literal);
        pending.clear();
      }
      parts.push_back(interpolation(child.node));
    }
  }
}

// `{x = }` prints the spaces too.
auto Builder::debug_end(uint32_t end) const -> uint32_t {
  while (end < source_.size() && source_[end] == ' ') { ++end; }
  return end;
}

auto Builder::interpolation(TSNode node) -> FStringPart {
  Deeper deeper(*this);
  const Fields& field = fields();
  FStringPart part;
  part.span = span(node);
  Children children(*this, node);
  TSNode value = children.find(field.value);
  if (ts_node_is_null(value) || too_deep(node)) {
    part.value = broken(node);
    return part;
  }
  part.value = expr(value);
  for (size_t i = 0; i < children.size(); ++i) {
    Child child = children[i];
    if (child.field == field.debug) {
      part.is_debug = true;
      uint32_t begin = ts_node_start_byte(node) + 1;
      part.text = item_.arena.copy(source_.substr(begin, debug_end(ts_node_end_byte(child.node)) - begin));
    } else if (child.symbol == Cst::conversion) {
      part.conversion = text(child.node)[1];
    } else if (child.symbol == Cst::format_specifier) {
      Children specifier(*this, child.node);
      std::vector<FStringPart> format;
      for (size_t k = 0; k < specifier.size(); ++k) {
        Child piece = specifier[k];
        if (piece.symbol == Cst::interpolation) {
          format.push_back(interpolation(piece.node));
        } else if (piece.symbol == Cst::format_text) {
          FStringPart literal;
          literal.text = item_.arena.copy(text(piece.node));
          literal.span = span(piece.node);
          format.push_back(literal);
        }
      }
      part.format = list(format);
    }
  }
  return part;
}

auto Builder::string(TSNode node, Cst symbol) -> ExprPtr {
  std::vector<FStringPart> parts;
  std::string pending;
  bool has_fields = false;
  std::string prefix;
  if (symbol == Cst::string) {
    prefix = lower_prefix(text(ts_node_child(node, 0)));
    string_parts(node, parts, pending, has_fields);
  } else {
    Children children(*this, node);
    for (size_t i = 0; i < children.size(); ++i) {
      Child child = children[i];
      if (i == 0) { prefix = lower_prefix(text(ts_node_child(child.node, 0))); }
      string_parts(child.node, parts, pending, has_fields);
    }
  }
  if (has_fields) {
    if (!pending.empty()) {
      FStringPart literal;
      literal.text = item_.arena.copy(pending);
      literal.span = span(node);
      parts.push_back(literal);
    }
    auto* made = make<FStringExpr>(node);
    made->parts = list(parts);
    return made;
  }
  auto* made = make<StringExpr>(node);
  made->value = item_.arena.copy(pending);
  made->prefix = item_.arena.copy(prefix);
  made->is_bytes = prefix.find('b') != std::string::npos;
  return made;
}

}  // namespace loopsmith::syntax
