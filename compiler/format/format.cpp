// From documents to edits: the lines and comments of a declaration in order, the blocks that contain them, and the new text of each.
#include "format/format.h"

#include <algorithm>
#include <array>

#include "format/layout.h"
#include "format/lexer.h"
#include "syntax/lines.h"

namespace loopsmith::format {
namespace {

using syntax::Item;
using syntax::ItemKind;
using syntax::Node;

constexpr size_t kBlankBetween = 2;  // the most blank lines between declarations
constexpr size_t kBlankInside = 1;

auto intersects(Span a, Span b) -> bool { return a.begin <= b.end && b.begin <= a.end; }
auto is_blank(std::string_view text) -> bool { return text.find_first_not_of(" \t\r\n") == std::string_view::npos; }

auto count_newlines(std::string_view text) -> size_t {
  size_t count = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n' || (text[i] == '\r' && (i + 1 == text.size() || text[i + 1] != '\n'))) { ++count; }
  }
  return count;
}

/// The document's line ending: the one behind its first statement or comment, since line breaks inside of brackets may be removed.
auto newline_of(const syntax::Document& document) -> std::string_view {
  std::string_view text = document.text();
  size_t from = 0;
  if (!document.items().empty()) {
    const syntax::PlacedItem& first = document.items().front();
    syntax::Lines scanned = syntax::scan_lines(first.item->text);
    const Span* line = scanned.lines.empty() ? nullptr : &scanned.lines.front().span;
    if (!scanned.comments.empty() && (line == nullptr || scanned.comments.front().span.begin < line->begin)) { line = &scanned.comments.front().span; }
    if (line != nullptr) { from = first.offset + line->end; }
  }
  size_t at = text.find_first_of("\r\n", from);
  if (at == std::string_view::npos || text[at] == '\n') { return "\n"; }
  return text.substr(at, 2) == "\r\n" ? "\r\n" : "\r";
}

// ---- the TVMScript in Python files ---------------------------------------------------------------------------------

auto last_name(const syntax::Expr& expr) -> std::string_view {
  if (const auto* call = expr.as<syntax::CallExpr>()) { return last_name(*call->callee); }
  if (const auto* attribute = expr.as<syntax::AttributeExpr>()) { return attribute->attr.name.view(); }
  if (const auto* name = expr.as<syntax::NameExpr>()) { return name->name.view(); }
  return {};
}

auto is_tvmscript(const Node& node) -> bool {
  auto is_one_of = [](std::string_view word, std::initializer_list<std::string_view> words) { return std::find(words.begin(), words.end(), word) != words.end(); };
  if (const auto* function = node.as<syntax::FunctionDef>()) {
    for (syntax::ExprPtr decorator : function->decorators) {
      if (is_one_of(last_name(*decorator), {"prim_func", "macro", "inline", "schedule"})) { return true; }
    }
    return !function->params.empty() && function->params.front().annotation != nullptr && last_name(*function->params.front().annotation) == "Schedule";
  }
  if (const auto* klass = node.as<syntax::ClassDef>()) {
    return std::any_of(klass->decorators.begin(), klass->decorators.end(), [](syntax::ExprPtr decorator) { return last_name(*decorator) == "ir_module"; });
  }
  return false;
}

// ---- one declaration ---------------------------------------------------------------------------------------------

struct Suite {
  int parent = -1;
  uint32_t indent = 0;     // columns, as written
  bool is_fixed = false;   // its lines keep their columns
  std::string lead;        // the new indentation of its lines
};

struct Entry {
  Span span;               // in the declaration's text; the span of a line includes the comment behind it
  bool is_comment = false;
  bool is_frozen = false;  // its text must not change
  int suite = 0;
  size_t line = 0;
  std::string_view trailing;
};

class ItemFormatter {
 public:
  ItemFormatter(const Item& item, uint32_t base_indent, std::string_view newline, const FormatOptions& options, bool& is_off)
      : item_(item), text_(item.text), base_indent_(base_indent), newline_(newline), options_(options), is_off_(is_off) {}

  auto run() -> std::vector<Edit> {
    scanned_ = syntax::scan_lines(text_, base_indent_);
    mark_lines();
    place_lines();
    make_entries();
    place_comments();
    settle_columns();
    return edits();
  }
  /// True when the space before the first entry, or behind the last, may change.
  [[nodiscard]] auto is_free_at_begin() const -> bool { return !entries_.empty() && !entries_.front().is_frozen; }
  [[nodiscard]] auto is_free_at_end() const -> bool { return !entries_.empty() && !entries_.back().is_frozen; }

 private:
  // ---- lines that are not formatted

  void mark_lines() {
    size_t count = scanned_.lines.size();
    frozen_.assign(count, false);
    stays_.assign(count, false);
    lexed_.resize(count);
    for (size_t i = 0; i < count; ++i) {
      const syntax::LogicalLine& line = scanned_.lines[i];
      lexed_[i] = lex(code(line.span));
      if (line.fault != syntax::LineFault::None || !lexed_[i]) { freeze(i); }
    }
    freeze_errors(item_, 0);
    bool everything = !options_.is_python;
    for (syntax::StmtPtr statement : item_.statements) {
      syntax::walk(*statement, [&](const Node& node) {
        Span span = place(node);
        if (node.kind == syntax::Kind::BrokenExpr) { freeze_span(span); }
        if (const auto* broken = node.as<syntax::BrokenStmt>()) {
          uint32_t end = broken->body.empty() ? span.end : place(*broken->body.front()).begin;
          freeze_span({span.begin, end == span.begin ? end : end - 1});
        }
        if (node.kind == syntax::Kind::OpaqueStmt && lines_in(span) > 1) { freeze_span(span); }
        if (!everything && is_tvmscript(node)) {
          selected_.push_back(span);
          return false;
        }
        return true;
      });
    }
    for (size_t i = 0; i < count; ++i) {
      if (!is_wanted(scanned_.lines[i].span)) { stays_[i] = true; }
    }
  }

  // True in the formatted part of a Python file that is also in the requested range.
  [[nodiscard]] auto is_wanted(Span span) const -> bool {
    if (options_.range && !intersects(span, *options_.range)) { return false; }
    return !options_.is_python || std::any_of(selected_.begin(), selected_.end(), [&](Span s) { return span.begin >= s.begin && span.end <= s.end; });
  }
  [[nodiscard]] auto place(const Node& node) const -> Span {
    if (node.decl == item_.decl) { return node.span; }
    auto found = offsets_.find(node.decl);
    return found == offsets_.end() ? node.span : Span{found->second + node.span.begin, found->second + node.span.end};
  }
  void freeze_errors(const Item& item, uint32_t offset) {
    for (const Diagnostic& diagnostic : item.diagnostics) {
      if (diagnostic.severity == Severity::Error) { freeze_span({offset + diagnostic.where.begin, offset + diagnostic.where.end}); }
    }
    for (const Item::Member& member : item.members) { freeze_errors(*member.item, offset + member.offset); }
  }
  void freeze(size_t line) {
    frozen_[line] = true;
    has_broken_ = true;
  }
  void freeze_span(Span span) {
    has_broken_ = true;
    for (size_t i = 0; i < scanned_.lines.size(); ++i) {
      if (intersects(scanned_.lines[i].span, span)) { frozen_[i] = true; }
    }
  }
  [[nodiscard]] auto lines_in(Span span) const -> size_t {
    return static_cast<size_t>(std::count_if(scanned_.lines.begin(), scanned_.lines.end(), [&](const auto& line) { return intersects(line.span, span); }));
  }

  // ---- blocks

  void place_lines() {
    suites_.push_back({.parent = -1, .indent = base_indent_, .is_fixed = false, .lead = std::string(base_indent_, ' ')});
    int top = 0;
    for (const syntax::LogicalLine& line : scanned_.lines) {
      while (top > 0 && line.indent < suites_[static_cast<size_t>(top)].indent) { top = suites_[static_cast<size_t>(top)].parent; }
      if (line.indent > suites_[static_cast<size_t>(top)].indent) {
        suites_.push_back({.parent = top, .indent = line.indent, .is_fixed = false, .lead = {}});
        top = static_cast<int>(suites_.size()) - 1;
      }
      suite_of_line_.push_back(top);
    }
  }

  void make_entries() {
    size_t comment = 0;
    const auto& comments = scanned_.comments;
    auto own_lines = [&](uint32_t limit) {
      for (; comment < comments.size() && comments[comment].span.begin < limit; ++comment) {
        if (!entries_.empty() && comments[comment].span.end <= entries_.back().span.end) { continue; }
        entries_.push_back({.span = comments[comment].span, .is_comment = true, .is_frozen = false, .suite = 0, .line = comment, .trailing = {}});
      }
    };
    for (size_t i = 0; i < scanned_.lines.size(); ++i) {
      Span span = scanned_.lines[i].span;
      own_lines(span.begin);
      while (comment < comments.size() && comments[comment].span.begin < span.end) { ++comment; }
      Entry entry{.span = span, .is_comment = false, .is_frozen = frozen_[i], .suite = suite_of_line_[i], .line = i, .trailing = {}};
      if (comment < comments.size() && text_.substr(span.end, comments[comment].span.begin - span.end).find_first_of("\r\n") == std::string_view::npos) {
        entry.trailing = code(comments[comment].span);
        entry.span.end = comments[comment].span.end;
        ++comment;
      }
      entries_.push_back(entry);
    }
    own_lines(static_cast<uint32_t>(text_.size()) + 1);
    for (Entry& entry : entries_) {
      std::string comment = comment_text(entry.is_comment ? code(entry.span) : entry.trailing);
      if (entry.is_comment && comment == "# fmt: on") { is_off_ = false; }
      if (is_off_ || comment == "# fmt: skip" || (!entry.is_comment && skips(entry.line))) { entry.is_frozen = has_broken_ = true; }
      if (entry.is_comment && comment == "# fmt: off") { is_off_ = true; }
      if (entry.is_comment && !is_wanted(entry.span)) { entry.is_frozen = true; }
      if (!entry.is_comment && stays_[entry.line]) { entry.is_frozen = true; }
    }
  }

  [[nodiscard]] auto skips(size_t line) const -> bool {
    return lexed_[line] && std::any_of(lexed_[line]->tokens.begin(), lexed_[line]->tokens.end(), [](const Token& token) {
      return token.kind == TokenKind::Comment && comment_text(token.text) == "# fmt: skip";
    });
  }

  // A comment belongs to the block below it, or to a block that ends above it and has the same indentation.
  void place_comments() {
    auto indent_of = [&](int suite) { return suites_[static_cast<size_t>(suite)].indent; };
    int above = 0;
    for (size_t i = 0; i < entries_.size(); ++i) {
      Entry& entry = entries_[i];
      if (entry.is_comment) {
        int below = 0;
        for (size_t k = i + 1; k < entries_.size(); ++k) {
          if (!entries_[k].is_comment) { below = entries_[k].suite; break; }
        }
        entry.suite = below;
        for (int s = above; s != -1 && indent_of(s) >= indent_of(below); s = suites_[static_cast<size_t>(s)].parent) {
          if (indent_of(s) <= scanned_.comments[entry.line].indent) {
            entry.suite = s;
            break;
          }
        }
      }
      above = entry.suite;
    }
  }

  // Decides bottom up which blocks keep their columns; then computes the columns top down.
  void settle_columns() {
    for (size_t i = 0; i < scanned_.lines.size(); ++i) {
      if (has_broken_ || stays_[i] || base_indent_ > 0) { suites_[static_cast<size_t>(suite_of_line_[i])].is_fixed = true; }
    }
    for (size_t s = suites_.size(); s-- > 1;) {
      if (suites_[s].is_fixed) { suites_[static_cast<size_t>(suites_[s].parent)].is_fixed = true; }
    }
    for (size_t s = 1; s < suites_.size(); ++s) {
      Suite& suite = suites_[s];
      suite.lead = suite.is_fixed ? std::string() : suites_[static_cast<size_t>(suite.parent)].lead + std::string(options_.indent, ' ');
      if (!suite.is_fixed) { continue; }
      for (size_t i = 0; i < scanned_.lines.size(); ++i) {
        if (suite_of_line_[i] == static_cast<int>(s)) { suite.lead = written_lead(scanned_.lines[i].span.begin); break; }
      }
    }
  }
  // The blanks in front of a position on its line.
  [[nodiscard]] auto written_lead(uint32_t at) const -> std::string {
    size_t begin = at;
    while (begin > 0 && (text_[begin - 1] == ' ' || text_[begin - 1] == '\t')) { --begin; }
    if (begin == 0) { return std::string(base_indent_, ' '); }
    return std::string(text_.substr(begin, at - begin));
  }

  // ---- edits

  auto edits() -> std::vector<Edit> {
    std::vector<Edit> out;
    for (size_t i = 0; i < entries_.size(); ++i) {
      const Entry& entry = entries_[i];
      if (i > 0) {
        const Entry& before = entries_[i - 1];
        Span span{before.span.end, entry.span.begin};
        std::string_view gap = code(span);
        bool is_wanted_gap = !options_.range || intersects(span, *options_.range);
        if (!before.is_frozen && !entry.is_frozen && is_wanted_gap && is_blank(gap)) { replace(out, span, gap_text(before, entry, gap)); }
        // Keeps the blanks before a line that is not formatted.
      }
      if (!entry.is_frozen) { replace(out, entry.span, entry.is_comment ? comment_text(code(entry.span)) : line_text(entry)); }
    }
    return out;
  }

  void replace(std::vector<Edit>& out, Span span, std::string text) const {
    if (code(span) != text) { out.push_back({span, std::move(text)}); }
  }

  auto gap_text(const Entry& before, const Entry& entry, std::string_view gap) const -> std::string {
    size_t newlines = count_newlines(gap);
    if (newlines == 0) { return std::string(gap); }
    bool is_decorator = !before.is_comment && text_[before.span.begin] == '@';
    size_t blanks = std::min(newlines - 1, is_decorator ? 0 : kBlankInside);
    std::string out;
    for (size_t i = 0; i <= blanks; ++i) { out += newline_; }
    const Suite& suite = suites_[static_cast<size_t>(entry.suite)];
    return out + (suite.is_fixed ? written_lead(entry.span.begin) : suite.lead);
  }

  [[nodiscard]] auto code(Span span) const -> std::string_view { return text_.substr(span.begin, span.end - span.begin); }

  auto line_text(const Entry& entry) const -> std::string {
    const syntax::LogicalLine& line = scanned_.lines[entry.line];
    const Suite& suite = suites_[static_cast<size_t>(entry.suite)];
    const std::string lead = suite.is_fixed ? written_lead(entry.span.begin) : suite.lead;
    const LexedLine& lexed = *lexed_[entry.line];
    std::string out;
    bool is_laid = true;
    std::string inner = lead;
    for (std::vector<Token>& piece : statements_of(lexed.tokens)) {
      bool is_head = piece.back().is_operator(":") && is_head_piece(piece);
      if (!out.empty()) { out += std::string(newline_) + inner; }
      auto made = lay_out(std::move(piece), {.width = options_.width, .indent = options_.indent, .newline = newline_, .lead = inner});
      if (!made || (lexed.has_backslash && made->find_first_of("\r\n") != std::string::npos)) {
        is_laid = false;
        break;
      }
      out += *made;
      if (is_head) { inner = lead + std::string(options_.indent, ' '); }
    }
    if (!is_laid) { out = shifted(line, lexed, lead); }
    if (!entry.trailing.empty()) { out += "  " + comment_text(entry.trailing); }
    return out;
  }

  static auto is_head_piece(const std::vector<Token>& piece) -> bool { return piece[0].kind == TokenKind::Keyword && syntax::is_head_word(piece[0].text); }

  // The statements on a line: those after a head's colon, and those between semicolons.
  static auto statements_of(const std::vector<Token>& tokens) -> std::vector<std::vector<Token>> {
    std::vector<std::vector<Token>> out(1);
    bool awaits_head = is_head_piece(tokens);
    int depth = 0;
    int lambdas = 0;
    for (const Token& token : tokens) {
      if (token.kind == TokenKind::Open) { ++depth; }
      if (token.kind == TokenKind::Close) { --depth; }
      if (depth == 0 && token.is_operator(";")) {
        if (!out.back().empty()) { out.emplace_back(); }
        continue;
      }
      out.back().push_back(token);
      if (depth != 0) { continue; }
      if (token.is("lambda")) { ++lambdas; }
      if (!token.is_operator(":")) { continue; }
      if (lambdas > 0) { --lambdas; }
      else if (awaits_head) {
        awaits_head = false;
        out.emplace_back();
      }
    }
    if (out.back().empty()) { out.pop_back(); }
    return out;
  }

  // The logical line as written, with its continuation lines moved by the same distance as its first line.
  auto shifted(const syntax::LogicalLine& line, const LexedLine& lexed, const std::string& lead) const -> std::string {
    std::string_view all = code(line.span);
    auto delta = static_cast<int64_t>(columns(lead)) - static_cast<int64_t>(line.indent);
    std::string out;
    size_t at = 0;
    for (const Token& token : lexed.tokens) {
      auto begin = static_cast<size_t>(token.text.data() - all.data());
      std::string_view gap = all.substr(at, begin - at);
      size_t last = gap.find_last_of("\r\n");
      if (last == std::string_view::npos || delta == 0) {
        out += gap;
      } else {
        out += gap.substr(0, last + 1);
        int64_t column = 0;
        for (char c : gap.substr(last + 1)) { column += c == '\t' ? 8 - column % 8 : 1; }
        out += std::string(static_cast<size_t>(std::max<int64_t>(0, column + delta)), ' ');
      }
      out += token.text;
      at = begin + token.text.size();
    }
    return out;
  }

  const Item& item_;
  const std::unordered_map<DeclId, uint32_t> offsets_ = syntax::offsets_in(item_);   // of members and parts
  std::string_view text_;
  uint32_t base_indent_;
  std::string_view newline_;
  const FormatOptions& options_;
  bool& is_off_;
  syntax::Lines scanned_;
  std::vector<std::optional<LexedLine>> lexed_;
  std::vector<bool> frozen_;             // broken lines, and lines that a comment excludes
  std::vector<bool> stays_;              // lines outside of the requested range
  bool has_broken_ = false;
  std::vector<Span> selected_;           // TVMScript in Python
  std::vector<Suite> suites_;            // parents before children
  std::vector<int> suite_of_line_;
  std::vector<Entry> entries_;
};

// ---- comparing meaning ----------------------------------------------------------------------------------------------

/// Trees and comments of a text, without their positions.
auto meaning(std::string_view text) -> std::string {
  syntax::Document document{std::string(text)};
  std::string out;
  for (const syntax::PlacedItem& placed : document.items()) {
    for (syntax::StmtPtr statement : placed.item->statements) { out += syntax::to_sexpr(*statement) + "\n"; }
  }
  for (const syntax::CommentSpan& comment : syntax::scan_lines(text).comments) {
    out += comment_text(text.substr(comment.span.begin, comment.span.end - comment.span.begin)) + "\n";
  }
  return out;
}

auto column_of(std::string_view text, uint32_t at) -> uint32_t {
  uint32_t column = 0;
  for (; at > 0 && (text[at - 1] == ' ' || text[at - 1] == '\t'); --at) { ++column; }
  return column;
}

}  // namespace

auto format_document(const syntax::Document& document, const FormatOptions& options) -> std::vector<Edit> {
  const std::string& text = document.text();
  std::string_view newline = newline_of(document);
  std::vector<Edit> out;
  bool is_off = false;
  uint32_t end = 0;
  bool is_free = !options.is_python;  // the end of the previous text may be moved
  auto gap = [&](Span span, std::string wanted) {
    std::string_view is = std::string_view(text).substr(span.begin, span.end - span.begin);
    if (is == wanted || !is_blank(is) || (options.range && !intersects(span, *options.range))) { return; }
    // Text that is not formatted may end within a line break: the rest of the break is no gap.
    if (span.begin > 0 && text[span.begin - 1] == '\r' && is.starts_with('\n')) { return; }
    out.push_back({span, std::move(wanted)});
  };
  for (const syntax::PlacedItem& placed : document.items()) {
    const Item& item = *placed.item;
    uint32_t column = column_of(text, placed.offset);
    FormatOptions own = options;
    bool is_in_range = true;
    if (options.range) {
      is_in_range = options.range->end >= placed.offset && options.range->begin <= placed.end();
      own.range = Span{options.range->begin > placed.offset ? options.range->begin - placed.offset : 0,
                       options.range->end > placed.offset ? options.range->end - placed.offset : 0};
    }
    bool is_readable = item.kind != ItemKind::Broken && is_in_range;
    std::vector<Edit> edits;
    bool free_begin = false;
    bool free_end = false;
    if (is_readable) {
      ItemFormatter formatter(item, item.kind == ItemKind::Comments ? 0 : column, newline, own, is_off);
      edits = formatter.run();
      free_begin = formatter.is_free_at_begin() && (column == 0 || item.kind == ItemKind::Comments);
      free_end = formatter.is_free_at_end();
      if (!edits.empty() && column == 0 && meaning(item.text) != meaning(apply_edits(item.text, edits))) { edits.clear(); }
    }
    Span between{end, placed.offset};
    if (end == 0 && text.starts_with("\xEF\xBB\xBF")) { between.begin = 3; }
    if (is_free && free_begin) {
      size_t newlines = count_newlines(std::string_view(text).substr(between.begin, between.end - between.begin));
      std::string wanted;
      if (end != 0) {
        for (size_t i = 0; i < std::clamp<size_t>(newlines, 1, kBlankBetween + 1); ++i) { wanted += newline; }
      }
      gap(between, std::move(wanted));
    }
    for (Edit& edit : edits) {
      edit.span.begin += placed.offset;
      edit.span.end += placed.offset;
      out.push_back(std::move(edit));
    }
    end = placed.end();
    is_free = free_end;
  }
  if (is_free && end != 0) { gap({end, static_cast<uint32_t>(text.size())}, std::string(newline)); }
  return out;
}

auto format_on_newline(const syntax::Document& document, uint32_t at, FormatOptions options) -> std::vector<Edit> {
  const std::string& text = document.text();
  at = std::min(at, static_cast<uint32_t>(text.size()));
  uint32_t line_begin = at;
  while (line_begin > 0 && (text[line_begin - 1] == ' ' || text[line_begin - 1] == '\t')) { --line_begin; }
  if (line_begin == 0 || (text[line_begin - 1] != '\n' && text[line_begin - 1] != '\r')) { return {}; }
  uint32_t line_end = at;
  while (line_end < text.size() && (text[line_end] == ' ' || text[line_end] == '\t')) { ++line_end; }
  bool is_empty_line = line_end == text.size() || text[line_end] == '\n' || text[line_end] == '\r';
  uint32_t code_end = line_begin;
  while (code_end > 0 && is_blank(std::string_view(text).substr(code_end - 1, 1))) { --code_end; }
  const syntax::PlacedItem* placed = document.item_at(code_end);
  if (placed == nullptr || code_end <= placed->offset) { return {}; }
  // The complete statement right above.
  uint32_t column = column_of(text, placed->offset);
  syntax::Lines lines = syntax::scan_lines(placed->item->text, column);
  const syntax::LogicalLine* above = nullptr;
  for (const syntax::LogicalLine& line : lines.lines) {
    if (placed->offset + line.span.begin < line_begin) { above = &line; }
  }
  if (above == nullptr || above->fault == syntax::LineFault::UnclosedBracket || above->fault == syntax::LineFault::UnclosedString ||
      placed->offset + above->span.end > line_begin) { return {}; }
  options.range = Span{placed->offset + above->span.begin, placed->offset + above->span.end};
  std::string_view code = std::string_view(placed->item->text).substr(above->span.begin, above->span.end - above->span.begin);
  uint32_t wanted = above->indent;
  std::string_view word = syntax::first_word(code);
  if (above->ends_with_colon && syntax::is_head_word(word)) { wanted += options.indent; }
  else if (word == "return" || word == "pass" || word == "break" || word == "continue") { wanted -= std::min(wanted, options.indent); }
  std::string blanks(wanted, ' ');
  // A head without a block is broken: it is formatted as if the block existed.
  syntax::Document read = document;
  if (above->ends_with_colon && is_empty_line) { read.edit({line_begin, line_end}, blanks + "pass"); }
  std::vector<Edit> out;
  // Formats only the statement: the user is typing the blanks around it.
  for (Edit& edit : format_document(read, options)) {
    if (edit.span.begin >= options.range->begin && edit.span.end <= code_end && edit.span.begin < edit.span.end) { out.push_back(std::move(edit)); }
  }
  if (!is_empty_line || (options.is_python && out.empty())) { return out; }
  if (std::string_view(text).substr(line_begin, line_end - line_begin) != blanks) { out.push_back({{line_begin, line_end}, std::move(blanks)}); }
  return out;
}

auto apply_edits(std::string_view text, const std::vector<Edit>& edits) -> std::string {
  std::string out;
  size_t at = 0;
  for (const Edit& edit : edits) {
    out += text.substr(at, edit.span.begin - at);
    out += edit.text;
    at = edit.span.end;
  }
  return out += text.substr(at);
}

auto format_text(std::string text, const FormatOptions& options) -> std::string {
  syntax::Document document(std::move(text));
  return apply_edits(document.text(), format_document(document, options));
}

auto is_python_file(std::string_view name) -> bool { return name.ends_with(".py") || name.ends_with(".pyi"); }

}  // namespace loopsmith::format
