// Cuts a text into declarations, a class into its functions, and a long program into parts.
#include <algorithm>
#include <array>
#include <cstdlib>

#include "support/hash.h"
#include "support/text.h"
#include "syntax/ast.h"
#include "syntax/lines.h"
#include "syntax/record_form.h"

namespace loopsmith::syntax {

namespace {

template <size_t N>
auto is_one_of(std::string_view word, const std::array<std::string_view, N>& words) -> bool {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Shorter programs are parsed as a whole: it takes a millisecond.
constexpr size_t kLongBody = 60;
// The most simple statements in a part, and the usual number between two cuts.
constexpr size_t kTogether = 16;
constexpr uint64_t kCutOneIn = 6;

constexpr std::array<std::string_view, 4> kClauseWords = {"else", "elif", "except", "finally"};

auto is_definition_start(std::string_view word, std::string_view line) -> bool {
  return word == "def" || word == "class" || (word == "async" && line.find("def") != std::string_view::npos) ||
         (!line.empty() && line[0] == '@');
}


/// The variable in `sch = tir.Schedule(...)` or `s = te.create_schedule(...)`, with any of TVM's namespaces, and in `sch, args = task.apply_best(...)`; empty for other lines.
auto schedule_made(std::string_view code) -> std::string_view {
  auto name_at = [&](size_t at) { return code.substr(at, name_end(code, at) - at); };
  auto skip_blanks = [&](size_t at) { return std::min(code.find_first_not_of(" \t", at), code.size()); };
  if (code.empty() || !is_name_start(code[0])) { return {}; }
  std::string_view variable = name_at(0);
  size_t at = skip_blanks(variable.size());
  const bool is_pair = at < code.size() && code[at] == ',';
  if (is_pair) {
    at = skip_blanks(at + 1);
    if (at >= code.size() || !is_name_start(code[at])) { return {}; }
    at = skip_blanks(at + name_at(at).size());
  }
  if (at >= code.size() || code[at] != '=') { return {}; }
  at = skip_blanks(at + 1);
  for (std::string_view space, word;; ++at) {
    if (at >= code.size() || !is_name_start(code[at])) { return {}; }
    space = std::exchange(word, name_at(at));
    at += word.size();
    if (at >= code.size()) { return {}; }
    if (code[at] == '.') { continue; }
    bool is_ours = space.empty() || space == "tir" || space == "s_tir" || space == "schedule";
    bool is_stages = word == "create_schedule" && (space == "te" || space == "tvm");
    if (is_pair) { return !space.empty() && is_record_method(word) && code[at] == '(' ? variable : std::string_view{}; }
    return ((word == "Schedule" && is_ours) || is_stages) && code[at] == '(' ? variable : std::string_view{};
  }
}

/// The variable in `state = dag.get_init_state()`; empty for other lines.
auto state_made(std::string_view code) -> std::string_view {
  constexpr std::string_view call = ".get_init_state()";
  if (code.empty() || !is_name_start(code[0])) { return {}; }
  const std::string_view variable = code.substr(0, name_end(code, 0));
  const size_t equals = std::min(code.find_first_not_of(" \t", variable.size()), code.size());
  const std::string_view line = code.substr(0, code.find('\n'));
  return equals < code.size() && code[equals] == '=' && line.find(call) != std::string_view::npos ? variable : std::string_view{};
}

/// Joins the statements of each schedule at the top of the file to one declaration, with the statements that make the auto-scheduler's state for it.
auto join_schedules(std::string_view text, std::vector<Chunk> chunks) -> std::vector<Chunk> {
  auto code = [&](size_t k) { return chunks[k].is_comments ? std::string_view{} : text.substr(chunks[k].span.begin, chunks[k].span.end - chunks[k].span.begin); };
  auto is_at_margin = [&](size_t k) { return chunks[k].span.begin == 0 || text[chunks[k].span.begin - 1] == '\n' || text[chunks[k].span.begin - 1] == '\r'; };
  std::vector<Chunk> joined;
  joined.reserve(chunks.size());
  for (size_t i = 0; i < chunks.size(); ++i) {
    joined.push_back(chunks[i]);
    std::string_view variable = is_at_margin(i) ? schedule_made(code(i)) : std::string_view{};
    if (const std::string_view state = variable.empty() && is_at_margin(i) ? state_made(code(i)) : std::string_view{}; !state.empty()) {
      for (size_t k = i + 1; variable.empty() && k < chunks.size(); ++k) {
        if (!schedule_made(code(k)).empty() && contains_name(code(k), state)) { variable = state; }
      }
    }
    if (variable.empty()) { continue; }
    size_t last = i;
    std::vector<std::string_view> variables = {variable};
    auto speaks_of_them = [&](std::string_view part) { return std::any_of(variables.begin(), variables.end(), [&](std::string_view one) { return contains_name(part, one); }); };
    for (size_t k = i + 1; k < chunks.size(); ++k) {
      std::string_view next = code(k);
      std::string_view word = first_word(next);
      bool is_function = word == "def" || word == "async";
      bool is_main = word == "if" && next.substr(0, next.find('\n')).find("__name__") != std::string_view::npos;
      if (next.starts_with('@') || word == "class" || is_main || (is_function && (next.find("Schedule") != std::string_view::npos || next.find("create_schedule") != std::string_view::npos))) { break; }
      if (std::string_view another = schedule_made(next); !another.empty()) {
        // `tir.Schedule(sch.mod)` continues the declaration.
        if (!speaks_of_them(next.substr(next.find('=')))) { break; }
        variables.push_back(another);
      }
      if (!is_function && speaks_of_them(next)) { last = k; }
      // A call of a function that works on the schedule is one of its statements.
      if (word == "def" && speaks_of_them(next)) {
        const size_t name = std::min(next.find_first_not_of(" \t", word.size()), next.size());
        variables.push_back(next.substr(name, name_end(next, name) - name));
      }
    }
    joined.back().span.end = chunks[last].span.end;
    i = last;
  }
  return joined;
}

}  // namespace

auto split_declarations(std::string_view text, const Lines& scanned) -> std::vector<Chunk> {
  std::vector<Chunk> chunks;
  const auto& lines = scanned.lines;
  const auto& comments = scanned.comments;
  size_t comment = 0;
  bool awaits_definition = false;
  bool is_compound = false;
  auto is_open = [&] { return !chunks.empty() && !chunks.back().is_comments; };
  // Assigns the comments before `limit` that have no place yet. They join the current declaration if it continues after them, or if they
  // are indented.
  auto place_comments = [&](uint32_t limit, bool goes_on) {
    bool may_join = is_open();
    for (; comment < comments.size() && comments[comment].span.begin < limit; ++comment) {
      const CommentSpan& c = comments[comment];
      if (!chunks.empty() && c.span.end <= chunks.back().span.end) { continue; }
      if (!c.own_line && is_open()) {
        chunks.back().span.end = c.span.end;
      } else if (goes_on) {
        continue;
      } else if (may_join && c.indent > 0) {
        chunks.back().span.end = c.span.end;
      } else {
        may_join = false;
        // A blank line between comments ends a run.
        if (!chunks.empty() && chunks.back().is_comments) {
          std::string_view between = text.substr(chunks.back().span.end, c.span.begin - chunks.back().span.end);
          if (std::count(between.begin(), between.end(), '\n') <= 1) {
            chunks.back().span.end = c.span.end;
            continue;
          }
        }
        chunks.push_back({c.span, true});
      }
    }
  };
  for (const LogicalLine& line : lines) {
    std::string_view code = text.substr(line.span.begin, line.span.end - line.span.begin);
    std::string_view word = first_word(code);
    bool goes_on = false;
    if (is_open()) {
      if (line.indent > 0) { goes_on = true; }
      else if (awaits_definition) { goes_on = is_definition_start(word, code); }
      else if (is_compound) { goes_on = is_one_of(word, kClauseWords); }
    }
    place_comments(line.span.begin, goes_on);
    if (goes_on && is_open()) {
      chunks.back().span.end = line.span.end;
    } else {
      chunks.push_back({line.span, false});
      is_compound = word == "if" || word == "for" || word == "while" || word == "try" || word == "async";
    }
    awaits_definition = line.indent == 0 && !code.empty() && code[0] == '@';
  }
  place_comments(static_cast<uint32_t>(text.size()) + 1, false);
  return join_schedules(text, std::move(chunks));
}

auto split_members(std::string_view text, const Lines& scanned) -> std::vector<Chunk> {
  std::vector<Chunk> members;
  const auto& lines = scanned.lines;
  size_t i = 0;
  while (i < lines.size() && text[lines[i].span.begin] == '@') { ++i; }
  if (i >= lines.size() || first_word(text.substr(lines[i].span.begin)) != "class" || i + 1 >= lines.size()) { return members; }
  if (!lines[i].ends_with_colon || lines[i].fault != LineFault::None) { return members; }
  ++i;
  uint32_t body = lines[i].indent;
  if (body == 0) { return members; }
  while (i < lines.size()) {
    size_t start = i;
    auto code = [&](size_t k) { return text.substr(lines[k].span.begin, lines[k].span.end - lines[k].span.begin); };
    while (i < lines.size() && lines[i].indent == body && code(i).starts_with('@')) { ++i; }
    std::string_view word = i < lines.size() && lines[i].indent == body ? first_word(code(i)) : std::string_view{};
    bool is_function = word == "def" || (word == "async" && code(i).find("def") != std::string_view::npos);
    if (i < lines.size()) { ++i; }
    if (!is_function) { continue; }
    while (i < lines.size() && lines[i].indent > body) { ++i; }
    uint32_t end = lines[i - 1].span.end;
    uint32_t limit = i < lines.size() ? lines[i].span.begin : static_cast<uint32_t>(text.size()) + 1;
    for (const CommentSpan& comment : scanned.comments) {
      if (comment.span.begin < end || comment.span.begin >= limit) { continue; }
      if (comment.own_line && comment.indent <= body) { break; }
      end = comment.span.end;
    }
    members.push_back({{lines[start].span.begin, end}, false});
  }
  return members;
}

auto least_lines_in_parts() -> size_t& {
  static size_t lines = [] {
    const char* set = std::getenv("LOOPSMITH_TEST_PARTS");
    return set != nullptr ? static_cast<size_t>(std::max(1L, std::strtol(set, nullptr, 10))) : kLongBody;
  }();
  return lines;
}

auto split_body(std::string_view text, const Lines& scanned) -> std::vector<Chunk> {
  const auto& lines = scanned.lines;
  auto code = [&](size_t k) { return text.substr(lines[k].span.begin, lines[k].span.end - lines[k].span.begin); };
  size_t i = 0;
  bool is_program = false;
  while (i < lines.size() && code(i).starts_with('@') && lines[i].indent == lines[0].indent && lines[i].fault == LineFault::None) {
    is_program = is_program || code(i).find("prim_func") != std::string_view::npos || code(i).find("T.function") != std::string_view::npos;
    ++i;
  }
  if (!is_program || i + 1 >= lines.size() || lines.size() - i - 1 < least_lines_in_parts()) { return {}; }
  if (first_word(code(i)) != "def" || !lines[i].ends_with_colon || lines[i].fault != LineFault::None || lines[i].indent != lines[0].indent) { return {}; }
  uint32_t body = lines[++i].indent;
  if (body <= lines[0].indent) { return {}; }
  for (size_t k = i; k < lines.size(); ++k) {
    if (lines[k].indent < body) { return {}; }
  }
  std::vector<Chunk> parts;
  auto comment = scanned.comments.begin();
  size_t together = 0;          // the number of simple statements in the current part; 0: it is a statement with a body
  bool awaits_definition = false;
  for (; i < lines.size(); ++i) {
    std::string_view word = first_word(code(i));
    bool goes_on = !parts.empty() && (lines[i].indent > body || awaits_definition || is_one_of(word, kClauseWords));
    awaits_definition = lines[i].indent == body && code(i).starts_with('@');
    bool is_simple = lines[i].indent == body && !goes_on && !awaits_definition && !is_head_word(word) && word != "match" && !lines[i].ends_with_colon &&
                     lines[i].fault == LineFault::None && (i + 1 == lines.size() || lines[i + 1].indent <= body);
    // The text of a statement alone decides if a part begins with it. The number of statements above does not, since edits change it.
    bool joins = is_simple && together > 0 && together < kTogether && hash_bytes(code(i)) % kCutOneIn != 0;
    if (goes_on || joins) {
      parts.back().span.end = lines[i].span.end;
    } else {
      parts.push_back({lines[i].span, false});
    }
    together = is_simple ? joins ? together + 1 : 1 : 0;
    // The part includes comments at the end of its line, and comments that are indented like its body.
    uint32_t limit = i + 1 < lines.size() ? lines[i + 1].span.begin : static_cast<uint32_t>(text.size()) + 1;
    while (comment != scanned.comments.end() && comment->span.begin < lines[i].span.end) { ++comment; }
    for (; comment != scanned.comments.end() && comment->span.begin < limit; ++comment) {
      bool is_inside = !comment->own_line || (comment->indent > body && together == 0);
      if (!is_inside) { break; }
      parts.back().span.end = comment->span.end;
    }
  }
  return parts;
}

}  // namespace loopsmith::syntax
