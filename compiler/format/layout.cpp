// Statements as trees of brackets, and the search for the best line breaks in them.
#include "format/layout.h"

#include <algorithm>
#include <memory>
#include <span>

#include "support/text.h"

namespace loopsmith::format {
namespace {

// The number of brackets on one line that are tried for breaking it, from the right.
constexpr size_t kCandidates = 6;
// A list with at least this many numbers is filled instead of written with one number per line.
constexpr size_t kFilled = 12;

// The most rounds until a layout must be stable.
constexpr int kRounds = 4;

struct Group;

/// A token, or a bracket with its contents.
struct Part {
  std::string text;             // of a token
  TokenKind kind{};
  bool space_before = false;
  bool is_prefix = false;       // an operator without a left operand
  std::unique_ptr<Group> group;
  uint32_t width = 0;           // on one line, without the space before
  bool must_break = false;      // cannot be on one line
  bool has_newline = false;     // a string of several lines

  [[nodiscard]] auto is(std::string_view wanted) const -> bool { return !group && kind != TokenKind::String && text == wanted; }
};
using Parts = std::span<const Part>;

struct Item {
  std::vector<std::string> comments;  // on separate lines before it
  std::vector<Part> parts;
  std::string trailing;               // a comment on its last line
};

enum class GroupKind : uint8_t { Call, Parameters, Subscript, Parentheses, Tuple, List, Braces };

struct Group {
  GroupKind kind{};
  char open = 0, close = 0;
  std::string open_comment;            // on the line of the opening bracket
  std::vector<Item> items;
  std::vector<std::string> last_comments;  // on separate lines before the closing bracket
  bool has_comma = false;              // after the last item
  bool has_comments = false;
  bool opens_line = false;             // the source has a line break after the opening bracket
  bool is_comprehension = false;

  // A comma may be added after the last item.
  [[nodiscard]] auto takes_comma() const -> bool {
    if (is_comprehension || items.empty()) { return false; }
    if (kind == GroupKind::Subscript || kind == GroupKind::Tuple) { return items.size() > 1 || has_comma; }
    if (kind == GroupKind::Parameters) { return true; }
    return kind != GroupKind::Parentheses && (items.size() > 1 || has_comma);
  }
  // True if the comma has a meaning: `(a,)`, `A[i,]`.
  [[nodiscard]] auto needs_comma() const -> bool { return has_comma && items.size() == 1 && (kind == GroupKind::Subscript || kind == GroupKind::Tuple); }
  [[nodiscard]] auto is_literal() const -> bool { return kind == GroupKind::Tuple || kind == GroupKind::List || kind == GroupKind::Braces; }
};

auto quotes(std::string_view text) -> std::string {
  size_t quote = text.find_first_of("\"'");
  if (text[quote] == '"') { return std::string(text); }
  size_t count = text.substr(quote).starts_with("'''") ? 3 : 1;
  std::string_view body = text.substr(quote + count, text.size() - quote - 2 * count);
  if (body.find('"') != std::string_view::npos || body.find("\\'") != std::string_view::npos) { return std::string(text); }
  return std::string(text.substr(0, quote)) + std::string(count, '"') + std::string(body) + std::string(count, '"');
}

/// Builds parts from tokens. Fails if a comment has no possible position.
class TreeBuilder {
 public:
  explicit TreeBuilder(const std::vector<Token>& tokens) : tokens_(tokens) {}

  auto statement(std::vector<Part>& out) -> bool {
    while (at_ < tokens_.size()) {
      if (tokens_[at_].kind == TokenKind::Comment || tokens_[at_].kind == TokenKind::Close) { return false; }
      if (!part(out)) { return false; }
    }
    if (out[0].is("def") || (out.size() > 1 && out[1].is("def"))) {
      auto parameters = std::find_if(out.begin(), out.end(), [](const Part& p) { return p.group && p.group->open == '('; });
      if (parameters != out.end()) { parameters->group->kind = GroupKind::Parameters; }
    }
    return true;
  }

 private:
  auto part(std::vector<Part>& out) -> bool {
    const Token& token = tokens_[at_];
    Part made;
    made.space_before = token.space_before;
    made.kind = token.kind;
    if (token.kind == TokenKind::Open) {
      made.group = std::make_unique<Group>();
      bool follows = at_ > 0 && !token.space_before && is_operand_end(at_ - 1);
      if (!group(*made.group, follows)) { return false; }
      measure(made);
    } else {
      made.text = token.kind == TokenKind::String ? quotes(token.text) : std::string(token.text);
      made.is_prefix = is_prefix(tokens_, at_);
      made.has_newline = made.text.find_first_of("\n\r") != std::string::npos;
      made.width = columns(made.text);
      ++at_;
    }
    out.push_back(std::move(made));
    return true;
  }

  [[nodiscard]] auto is_operand_end(size_t at) const -> bool {
    const Token& token = tokens_[at];
    return token.kind == TokenKind::Name || token.kind == TokenKind::String || token.kind == TokenKind::Close || token.is_operator("...");
  }

  auto group(Group& out, bool follows) -> bool {
    const Token& open = tokens_[at_++];
    out.open = open.text[0];
    out.close = out.open == '(' ? ')' : out.open == '[' ? ']' : '}';
    if (at_ < tokens_.size()) { out.opens_line = tokens_[at_].newline_before; }
    if (at_ < tokens_.size() && tokens_[at_].kind == TokenKind::Comment && !tokens_[at_].own_line) {
      out.open_comment = comment_text(tokens_[at_++].text);
      out.has_comments = out.opens_line = true;
    }
    while (true) {
      Item item;
      while (at_ < tokens_.size() && tokens_[at_].kind == TokenKind::Comment) {
        item.comments.push_back(comment_text(tokens_[at_++].text));
        out.has_comments = true;
      }
      if (at_ >= tokens_.size()) { return false; }
      if (tokens_[at_].kind == TokenKind::Close) {
        out.last_comments = std::move(item.comments);
        break;
      }
      while (at_ < tokens_.size() && tokens_[at_].kind != TokenKind::Close && !tokens_[at_].is_operator(",") && tokens_[at_].kind != TokenKind::Comment) {
        if (tokens_[at_].is("for") || tokens_[at_].is("async")) { out.is_comprehension = true; }
        if (!part(item.parts)) { return false; }
      }
      if (item.parts.empty() || at_ >= tokens_.size()) { return false; }
      out.has_comma = tokens_[at_].is_operator(",");
      if (out.has_comma) { ++at_; }
      if (at_ < tokens_.size() && tokens_[at_].kind == TokenKind::Comment && !tokens_[at_].own_line) {
        item.trailing = comment_text(tokens_[at_++].text);
        out.has_comments = true;
      }
      out.items.push_back(std::move(item));
      if (!out.has_comma) {
        // Comments before the closing bracket; any other token after a comment belongs to the item.
        while (at_ < tokens_.size() && tokens_[at_].kind == TokenKind::Comment) {
          out.last_comments.push_back(comment_text(tokens_[at_++].text));
          out.has_comments = true;
        }
        if (at_ >= tokens_.size() || tokens_[at_].kind != TokenKind::Close) { return false; }
        break;
      }
    }
    ++at_;
    bool is_tuple = out.items.size() != 1 || out.has_comma;
    out.kind = out.open == '{' ? GroupKind::Braces
               : out.open == '[' ? (follows ? GroupKind::Subscript : GroupKind::List)
               : follows         ? GroupKind::Call
               : is_tuple        ? GroupKind::Tuple
                                 : GroupKind::Parentheses;
    return true;
  }

  static void measure(Part& part) {
    const Group& group = *part.group;
    uint32_t width = 2;
    bool first = true;
    for (const Item& item : group.items) {
      if (!first) { width += 2; }
      first = false;
      for (const Part& inner : item.parts) {
        width += inner.width + (inner.space_before && &inner != item.parts.data() ? 1 : 0);
        part.must_break = part.must_break || inner.must_break;
        part.has_newline = part.has_newline || inner.has_newline;
      }
    }
    if (group.needs_comma()) { ++width; }
    part.width = width;
    bool asks = group.has_comma && !group.needs_comma();
    part.must_break = part.must_break || group.has_comments || asks;
  }

  const std::vector<Token>& tokens_;
  size_t at_ = 0;
};

/// Lines with a layout, and their costs.
struct Text {
  std::string text;
  uint32_t lines = 1;
  uint32_t overflow = 0;  // lines that are too long
};

class LineBreaker {
 public:
  explicit LineBreaker(const LayoutOptions& options) : options_(options), lead_(columns(options.lead)) {}

  auto statement(const std::vector<Part>& all) -> std::string {
    Parts parts(all);
    if (any_newline(parts)) { return flat(parts); }
    size_t rhs = right_side(parts);
    size_t end = rhs_end(parts);
    if (rhs != 0 && rhs < end) {
      Parts right = parts.subspan(rhs, end - rhs);
      Parts head = parts.first(rhs);
      Parts tail = parts.subspan(end);
      // Parentheses that only allow line breaks: they are removed if the line fits without them.
      bool is_wrapped = right.size() == 1 && right[0].group && right[0].group->kind == GroupKind::Parentheses && !right[0].group->has_comments;
      if (is_wrapped && !right[0].must_break && (right[0].group->opens_line || !fits(parts, 0, 0))) {
        const Group& group = *right[0].group;
        Parts inner(group.items[0].parts);
        bool stays = group.is_comprehension || std::any_of(inner.begin(), inner.end(), [](const Part& p) {
          return p.is(":=") || p.is("yield") || p.is("await") || p.kind == TokenKind::String;
        });
        if (!stays && lead_ + width(head) + 1 + width(inner) + width(tail) <= options_.width) {
          return flat(head) + " " + flat(inner) + flat(tail);
        }
      }
      if (fits(parts, 0, 0)) { return flat(parts); }
      if (is_wrapped) { return split_at(parts, rhs, 0, "").text; }
      size_t operators = count_operators(right);
      bool has_comma = std::any_of(right.begin(), right.end(), [](const Part& p) { return p.is(","); });
      if (operators > 0 && !has_comma) {
        bool must = std::any_of(right.begin(), right.end(), [](const Part& p) { return p.must_break; });
        if (must || (operators == 1 && right.back().group && !right.back().group->items.empty())) {
          Text at_bracket = split_bracket(parts, 0, "");
          if (at_bracket.overflow == 0) { return at_bracket.text; }
        }
        if (lead_ + width(head) + 2 <= options_.width) { return wrapped(head, right, tail); }
      }
      // Does not break a subscript or a name that fits on a separate line.
      const Part& last = right.back();
      bool is_call = last.group && last.group->kind != GroupKind::Subscript;
      if (operators == 0 && !has_comma && !is_call && lead_ + width(head) + 2 <= options_.width && fits(right, options_.indent, 0)) {
        return wrapped(head, right, tail);
      }
    }
    return line(parts, 0, "", false).text;
  }

 private:
  auto wrapped(Parts head, Parts right, Parts tail) -> std::string {
    return flat(head) + " (" + newline(options_.indent) + line(right, options_.indent, "", true).text + newline(0) + ")" + flat(tail);
  }

  [[nodiscard]] auto newline(uint32_t indent) const -> std::string { return std::string(options_.newline) + std::string(options_.lead) + std::string(indent, ' '); }

  static auto any_newline(Parts parts) -> bool {
    return std::any_of(parts.begin(), parts.end(), [](const Part& p) { return p.has_newline; });
  }
  static auto width(Parts parts) -> uint32_t {
    uint32_t total = 0;
    for (const Part& part : parts) { total += part.width + (part.space_before && &part != parts.data() ? 1 : 0); }
    return total;
  }
  [[nodiscard]] auto fits(Parts parts, uint32_t indent, size_t suffix) const -> bool {
    bool must = std::any_of(parts.begin(), parts.end(), [](const Part& p) { return p.must_break; });
    return !must && lead_ + indent + width(parts) + suffix <= options_.width;
  }

  static void flat(const Part& part, std::string& out) {
    if (!part.group) {
      out += part.text;
      return;
    }
    out += part.group->open;
    bool first = true;
    for (const Item& item : part.group->items) {
      if (!first) { out += ", "; }
      first = false;
      flat(item.parts, out);
    }
    if (part.group->needs_comma()) { out += ','; }
    out += part.group->close;
  }
  static void flat(Parts parts, std::string& out) {
    for (const Part& part : parts) {
      if (part.space_before && &part != parts.data()) { out += ' '; }
      flat(part, out);
    }
  }
  static auto flat(Parts parts) -> std::string {
    std::string out;
    flat(parts, out);
    return out;
  }

  // The precedence of the operator at `at`, which determines where lines break; 0: no break is possible here.
  static auto looseness(Parts parts, size_t at, bool in_comprehension) -> int {
    const Part& part = parts[at];
    if (part.group || at == 0 || part.is_prefix) { return 0; }
    const std::string& t = part.text;
    if (part.kind == TokenKind::String) { return parts[at - 1].kind == TokenKind::String && !parts[at - 1].group ? 12 : 0; }
    if (part.kind == TokenKind::Keyword) {
      if (t == "async") { return 20; }
      if (t == "for") { return parts[at - 1].is("async") ? 0 : 20; }
      if (t == "if") { return in_comprehension ? 20 : 16; }
      if (t == "else") { return 16; }
      if (t == "or") { return 14; }
      if (t == "and") { return 13; }
      if (t == "in") { return in_comprehension && !seen_condition(parts, at) ? 0 : parts[at - 1].is("not") ? 0 : 10; }
      if (t == "not") { return at + 1 < parts.size() && parts[at + 1].is("in") ? 10 : 0; }
      if (t == "is") { return 10; }
      return 0;
    }
    if (part.kind != TokenKind::Operator) { return 0; }
    if (t == "==" || t == "!=" || t == "<" || t == ">" || t == "<=" || t == ">=") { return 10; }
    if (t == "|") { return 9; }
    if (t == "^") { return 8; }
    if (t == "&") { return 7; }
    if (t == "<<" || t == ">>") { return 6; }
    if (t == "+" || t == "-") { return 5; }
    if (t == "*" || t == "/" || t == "//" || t == "%" || t == "@") { return 4; }
    return 0;
  }
  // The `in` of `for x in y` is not an operator; an `in` in a condition after it is.
  static auto seen_condition(Parts parts, size_t at) -> bool {
    for (size_t i = at; i-- > 0;) {
      if (parts[i].is("for")) { return false; }
      if (parts[i].is("if")) { return true; }
    }
    return true;
  }
  // Possible line breaks: those at the loosest operator.
  static auto breaks(Parts parts) -> std::vector<size_t> {
    int loosest = 0;
    bool in_comprehension = false;
    std::vector<std::pair<size_t, int>> all;
    for (size_t i = 0; i < parts.size(); ++i) {
      if (parts[i].is("lambda")) { break; }
      if (parts[i].is("for")) { in_comprehension = true; }
      if (int how = looseness(parts, i, in_comprehension); how != 0) {
        all.emplace_back(i, how);
        loosest = std::max(loosest, how);
      }
    }
    std::vector<size_t> out;
    for (auto [at, how] : all) {
      if (how == loosest) { out.push_back(at); }
    }
    return out;
  }
  static auto count_operators(Parts parts) -> size_t { return breaks(parts).size(); }

  // Prints parts, then `suffix`, on as many lines as needed; the first line begins at `indent`.
  auto line(Parts parts, uint32_t indent, std::string_view suffix, bool in_brackets) -> Text {
    if (fits(parts, indent, suffix.size())) { return {flat(parts) + std::string(suffix), 1, 0}; }
    if (in_brackets) {
      std::vector<size_t> places = breaks(parts);
      if (!places.empty()) {
        Text out{.text = {}, .lines = 0};
        size_t begin = 0;
        for (size_t k = 0; k <= places.size(); ++k) {
          size_t end = k < places.size() ? places[k] : parts.size();
          Text piece = line(parts.subspan(begin, end - begin), indent, k < places.size() ? std::string_view() : suffix, true);
          if (k > 0) { out.text += newline(indent); }
          out.text += piece.text;
          out.lines += piece.lines;
          out.overflow += piece.overflow;
          begin = end;
        }
        return out;
      }
    }
    return split_bracket(parts, indent, suffix);
  }

  auto split_bracket(Parts parts, uint32_t indent, std::string_view suffix) -> Text {
    std::vector<size_t> places;
    for (size_t i = parts.size(); i-- > 0 && places.size() < kCandidates;) {
      if (parts[i].group && (!parts[i].group->items.empty() || parts[i].group->has_comments)) { places.push_back(i); }
    }
    // Brackets that must break come first.
    auto must = std::find_if(parts.begin(), parts.end(), [](const Part& p) { return p.must_break; });
    if (must != parts.end()) { places = {static_cast<size_t>(must - parts.begin())}; }
    std::optional<Text> best;
    for (size_t place : places) {
      Text made = split_at(parts, place, indent, suffix);
      if (!best || made.overflow < best->overflow || (made.overflow == best->overflow && made.lines < best->lines)) { best = std::move(made); }
    }
    if (best) { return std::move(*best); }
    return {flat(parts) + std::string(suffix), 1, 1};
  }

  auto split_at(Parts parts, size_t place, uint32_t indent, std::string_view suffix) -> Text {
    const Group& group = *parts[place].group;
    Text out;
    out.text = flat(parts.first(place));
    if (parts[place].space_before && place != 0) { out.text += ' '; }
    out.text += group.open;
    if (lead_ + indent + columns(out.text) > options_.width) { out.overflow = 1; }
    if (!group.open_comment.empty()) { out.text += "  " + group.open_comment; }
    Text inner = body(group, indent + options_.indent);
    out.text += newline(indent + options_.indent) + inner.text + newline(indent);
    out.lines += inner.lines + 1;
    out.overflow += inner.overflow;
    // The tokens behind the closing bracket.
    std::string close(1, group.close);
    Parts rest = parts.subspan(place + 1);
    if (!rest.empty() && rest[0].space_before) { close += ' '; }
    if (fits(rest, indent + columns(close), suffix.size())) {
      out.text += close + flat(rest) + std::string(suffix);
      return out;
    }
    Text tail = tail_of(rest, indent, columns(close), suffix);
    out.text += close + tail.text;
    out.lines += tail.lines - 1;
    out.overflow += tail.overflow;
    return out;
  }

  // The text behind a closing bracket if it is too long: broken at its first bracket that must break, otherwise at the last.
  auto tail_of(Parts parts, uint32_t indent, uint32_t before, std::string_view suffix) -> Text {
    auto must = std::find_if(parts.begin(), parts.end(), [](const Part& p) { return p.must_break; });
    size_t place = static_cast<size_t>(must - parts.begin());
    if (must == parts.end()) {
      place = parts.size();
      for (size_t i = parts.size(); i-- > 0;) {
        if (parts[i].group && !parts[i].group->items.empty()) { place = i; break; }
      }
    }
    if (place == parts.size()) { return {flat(parts) + std::string(suffix), 1, 1}; }
    Text made = split_at(parts, place, indent, suffix);
    if (lead_ + indent + before + width(parts.first(place)) + 2 > options_.width) { ++made.overflow; }
    return made;
  }

  // The text between brackets, without the line breaks around it.
  auto body(const Group& group, uint32_t indent) -> Text {
    const auto& items = group.items;
    bool asks = group.has_comma && !group.needs_comma();
    if (items.empty()) {
      Text out{.text = {}, .lines = 0};
      for (const std::string& comment : group.last_comments) {
        if (out.lines++ > 0) { out.text += newline(indent); }
        out.text += comment;
      }
      return out;
    }
    if (!group.has_comments && is_filled(group)) { return fill(group, indent); }
    bool is_single = items.size() == 1 && !group.takes_comma();  // may be broken at its operators, without further brackets
    if (!group.has_comments && !asks && !is_single && !(group.is_literal() && group.takes_comma())) {
      // All on one line.
      uint32_t total = 0;
      bool must = false;
      for (const Item& item : items) {
        total += width(item.parts) + (total == 0 ? 0 : 2);
        must = must || std::any_of(item.parts.begin(), item.parts.end(), [](const Part& p) { return p.must_break; });
      }
      if (!must && lead_ + indent + total <= options_.width) {
        Text out;
        for (const Item& item : items) {
          if (&item != items.data()) { out.text += ", "; }
          out.text += flat(item.parts);
        }
        return out;
      }
    }
    Text out{.text = {}, .lines = 0};
    auto begin_line = [&] {
      if (out.lines > 0) { out.text += newline(indent); }
    };
    for (const Item& item : items) {
      for (const std::string& comment : item.comments) {
        begin_line();
        out.text += comment;
        ++out.lines;
      }
      bool is_last = &item == &items.back();
      begin_line();
      Text made = line(item.parts, indent, !is_last || group.takes_comma() ? "," : "", true);
      out.text += made.text;
      if (!item.trailing.empty()) { out.text += "  " + item.trailing; }
      out.lines += made.lines;
      out.overflow += made.overflow;
    }
    for (const std::string& comment : group.last_comments) {
      begin_line();
      out.text += comment;
      ++out.lines;
    }
    return out;
  }

  static auto is_filled(const Group& group) -> bool {
    if (!group.is_literal() || group.items.size() < kFilled) { return false; }
    return std::all_of(group.items.begin(), group.items.end(), [](const Item& item) {
      const auto& parts = item.parts;
      return parts.back().kind == TokenKind::Number && (parts.size() == 1 || (parts.size() == 2 && parts[0].is_prefix));
    });
  }
  auto fill(const Group& group, uint32_t indent) -> Text {
    Text out;
    uint32_t column = lead_ + indent;
    for (const Item& item : group.items) {
      std::string text = flat(item.parts) + (&item == &group.items.back() && !group.has_comma ? "" : ",");
      uint32_t width = columns(text);
      bool is_first = &item == group.items.data();
      if (!is_first && column + 1 + width > options_.width) {
        out.text += newline(indent);
        ++out.lines;
        column = lead_ + indent;
      } else if (!is_first) {
        out.text += ' ';
        ++column;
      }
      out.text += text;
      column += width;
    }
    return out;
  }

  // The start of a right-hand side that may get parentheses; 0: none.
  static auto right_side(Parts parts) -> size_t {
    if (parts.empty()) { return 0; }
    const Part& first = parts[0];
    if (first.kind == TokenKind::Keyword) {
      if (first.is("return") || first.is("if") || first.is("elif") || first.is("while")) { return 1; }
      if (first.is("for")) {
        for (size_t i = 1; i < parts.size(); ++i) {
          if (parts[i].is("in")) { return i + 1; }
        }
      }
      return 0;
    }
    if (first.is("@")) { return 0; }
    size_t found = 0;
    for (size_t i = 0; i < parts.size(); ++i) {
      if (parts[i].is("lambda")) { break; }
      if (parts[i].kind != TokenKind::Operator || parts[i].group) { continue; }
      const std::string& t = parts[i].text;
      bool compares = t == "==" || t == "!=" || t == "<=" || t == ">=" || t == ":=";
      if (t.back() == '=' && !compares) { found = i + 1; }
    }
    return found;
  }
  static auto rhs_end(Parts parts) -> size_t {
    bool is_head = parts[0].kind == TokenKind::Keyword && !parts[0].is("return") && parts.back().is(":");
    return is_head ? parts.size() - 1 : parts.size();
  }

  LayoutOptions options_;
  uint32_t lead_;
};

}  // namespace

auto columns(std::string_view text) -> uint32_t {
  return static_cast<uint32_t>(character_count(text));
}

auto comment_text(std::string_view comment) -> std::string {
  size_t end = comment.find_last_not_of(" \t\f\r\n");
  comment = comment.substr(0, end == std::string_view::npos ? 0 : end + 1);
  if (comment.size() > 1 && std::string_view(" !:#\t").find(comment[1]) == std::string_view::npos) {
    return "# " + std::string(comment.substr(1));
  }
  return std::string(comment);
}

namespace {

auto lay_out_once(std::vector<Token> tokens, const LayoutOptions& options) -> std::optional<std::string> {
  space_tokens(tokens);
  std::vector<Part> parts;
  if (tokens.empty() || !TreeBuilder(tokens).statement(parts)) { return std::nullopt; }
  return LineBreaker(options).statement(parts);
}

}  // namespace

auto lay_out(std::vector<Token> tokens, const LayoutOptions& options) -> std::optional<std::string> {
  std::optional<std::string> out = lay_out_once(std::move(tokens), options);
  // If one round adds a comma, the next round writes one item per line, which rarely changes the layout around it.
  for (int round = 0; round < kRounds && out && out->find('\n') != std::string::npos; ++round) {
    std::optional<LexedLine> again = lex(*out);
    std::optional<std::string> next = again ? lay_out_once(std::move(again->tokens), options) : std::nullopt;
    if (!next || *next == *out) { break; }
    out = std::move(next);
  }
  return out;
}

}  // namespace loopsmith::format
