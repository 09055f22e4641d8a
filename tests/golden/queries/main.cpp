// The results of the grammar's queries on texts: highlights, locals, folds, indents, text objects. A case is NAME.tir and
// NAME.expect: a part for each query, a line for each capture or fold. Also, of every text of the corpus: each word,
// number and string has the right colour, each used name is resolved to its definition, and folds, indents and
// text objects exist for every block; the same, except for names of other texts, for tests/language/data, which contains every construct
// of the language.
//
//   golden_queries GRAMMAR CASES [--all]      LOOPSMITH_UPDATE=1 rewrites the expectations
#include <tree_sitter/api.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "tests/support/corpus.h"

extern "C" auto tree_sitter_tirscript() -> const TSLanguage*;

namespace {

auto read(const std::string& path) -> std::string {
  std::ifstream in(path, std::ios::binary);
  std::stringstream all;
  all << in.rdbuf();
  return all.str();
}

struct Capture {
  std::string name;
  TSNode node;
  uint32_t pattern;
  [[nodiscard]] auto begin() const -> uint32_t { return ts_node_start_byte(node); }
  [[nodiscard]] auto end() const -> uint32_t { return ts_node_end_byte(node); }
};

/// A query with its predicates: #eq?, #any-of?, #match?.
class Query {
 public:
  Query(const std::string& path) : source_(read(path)) {
    uint32_t where = 0;
    TSQueryError problem{};
    query_ = ts_query_new(tree_sitter_tirscript(), source_.data(), static_cast<uint32_t>(source_.size()), &where, &problem);
    if (query_ == nullptr) {
      std::printf("%s: error %d at byte %u\n", path.c_str(), static_cast<int>(problem), where);
      std::exit(1);
    }
  }
  Query(const Query&) = delete;
  ~Query() { ts_query_delete(query_); }

  /// Returns the captures in the order of the text; those of one node are in the order of the patterns.
  auto run(TSNode root, const std::string& text) -> std::vector<Capture> {
    std::vector<Capture> out;
    TSQueryCursor* cursor = ts_query_cursor_new();
    ts_query_cursor_exec(cursor, query_, root);
    TSQueryMatch match;
    while (ts_query_cursor_next_match(cursor, &match)) {
      if (!holds(match, text)) { continue; }
      for (uint16_t i = 0; i < match.capture_count; ++i) {
        uint32_t size = 0;
        const char* name = ts_query_capture_name_for_id(query_, match.captures[i].index, &size);
        out.push_back({std::string(name, size), match.captures[i].node, match.pattern_index});
      }
    }
    ts_query_cursor_delete(cursor);
    std::sort(out.begin(), out.end(), [](const Capture& a, const Capture& b) {
      if (a.begin() != b.begin()) { return a.begin() < b.begin(); }
      if (a.end() != b.end()) { return a.end() > b.end(); }
      return std::tie(a.pattern, a.name) < std::tie(b.pattern, b.name);
    });
    return out;
  }

 private:
  auto holds(const TSQueryMatch& match, const std::string& text) -> bool {
    uint32_t count = 0;
    const TSQueryPredicateStep* steps = ts_query_predicates_for_pattern(query_, match.pattern_index, &count);
    auto string_of = [&](const TSQueryPredicateStep& step) -> std::string {
      uint32_t size = 0;
      if (step.type == TSQueryPredicateStepTypeString) {
        const char* value = ts_query_string_value_for_id(query_, step.value_id, &size);
        return {value, size};
      }
      for (uint16_t i = 0; i < match.capture_count; ++i) {
        if (match.captures[i].index == step.value_id) {
          TSNode node = match.captures[i].node;
          return text.substr(ts_node_start_byte(node), ts_node_end_byte(node) - ts_node_start_byte(node));
        }
      }
      return {};
    };
    for (uint32_t i = 0; i < count;) {
      std::vector<std::string> words;
      for (; steps[i].type != TSQueryPredicateStepTypeDone; ++i) { words.push_back(string_of(steps[i])); }
      ++i;
      if (words.size() < 3) { continue; }
      if (words[0] == "eq?" && words[1] != words[2]) { return false; }
      if (words[0] == "any-of?" && std::find(words.begin() + 2, words.end(), words[1]) == words.end()) { return false; }
      if (words[0] == "match?") {
        auto [place, is_new] = patterns_.try_emplace(words[2]);
        if (is_new) { place->second = std::regex(words[2], std::regex::optimize); }
        if (!std::regex_search(words[1], place->second)) { return false; }
      }
    }
    return true;
  }

  std::string source_;
  TSQuery* query_ = nullptr;
  std::map<std::string, std::regex> patterns_;
};

struct Queries {
  explicit Queries(const std::string& grammar)
      : highlights(grammar + "/queries/highlights.scm"), locals(grammar + "/queries/locals.scm"), folds(grammar + "/queries/folds.scm"),
        indents(grammar + "/queries/indents.scm"), textobjects(grammar + "/queries/textobjects.scm") {}
  Query highlights, locals, folds, indents, textobjects;
};

class Parsed {
 public:
  explicit Parsed(const std::string& text) {
    TSParser* parser = ts_parser_new();
    ts_parser_set_language(parser, tree_sitter_tirscript());
    tree_ = ts_parser_parse_string(parser, nullptr, text.data(), static_cast<uint32_t>(text.size()));
    ts_parser_delete(parser);
  }
  Parsed(const Parsed&) = delete;
  ~Parsed() { ts_tree_delete(tree_); }
  [[nodiscard]] auto root() const -> TSNode { return ts_tree_root_node(tree_); }

 private:
  TSTree* tree_;
};

/// The colour of every leaf: given by the last pattern that matches the innermost node around it.
auto colours(Query& query, TSNode root, const std::string& text) -> std::vector<std::pair<TSNode, std::string>> {
  std::map<uint32_t, std::string> at_byte;
  std::vector<std::string> colour(text.size());
  // Outer first, later patterns last.
  for (const Capture& capture : query.run(root, text)) {
    if (capture.name[0] == '_') { continue; }
    for (uint32_t i = capture.begin(); i < capture.end(); ++i) { colour[i] = capture.name; }
  }
  std::vector<std::pair<TSNode, std::string>> out;
  TSTreeCursor cursor = ts_tree_cursor_new(root);
  for (bool more = true; more;) {
    TSNode node = ts_tree_cursor_current_node(&cursor);
    if (ts_node_child_count(node) == 0 && ts_node_end_byte(node) > ts_node_start_byte(node)) { out.emplace_back(node, colour[ts_node_start_byte(node)]); }
    if (ts_tree_cursor_goto_first_child(&cursor)) { continue; }
    while (more && !ts_tree_cursor_goto_next_sibling(&cursor)) { more = ts_tree_cursor_goto_parent(&cursor); }
  }
  ts_tree_cursor_delete(&cursor);
  return out;
}

auto line_of(TSNode node) -> uint32_t { return ts_node_start_point(node).row + 1; }
/// The last line with a character of the node that is not blank.
auto last_line(TSNode node, const std::string& text) -> uint32_t {
  uint32_t end = ts_node_end_byte(node);
  while (end > ts_node_start_byte(node) && std::strchr(" \t\r\n", text[end - 1]) != nullptr) { --end; }
  return line_of(node) + static_cast<uint32_t>(std::count(text.begin() + ts_node_start_byte(node), text.begin() + end, '\n'));
}
auto text_of(TSNode node, const std::string& text) -> std::string {
  return text.substr(ts_node_start_byte(node), ts_node_end_byte(node) - ts_node_start_byte(node));
}

struct Definitions {
  struct Scope { uint32_t begin, end; std::map<std::string, uint32_t> names; };
  std::vector<Scope> scopes;
  std::vector<std::pair<TSNode, std::optional<uint32_t>>> references;  // with the line of the definition
};
/// Resolves names as editors do: in the innermost scope with a definition of the name.
auto resolve(Query& query, TSNode root, const std::string& text) -> Definitions {
  Definitions out;
  std::vector<Capture> captures = query.run(root, text);
  std::set<uint32_t> defined;
  for (const Capture& capture : captures) {
    if (capture.name == "local.scope") { out.scopes.push_back({capture.begin(), capture.end(), {}}); }
  }
  auto innermost = [&](uint32_t at, auto&& wanted) -> Definitions::Scope* {
    Definitions::Scope* best = nullptr;
    for (auto& scope : out.scopes) {
      if (scope.begin <= at && at < scope.end && wanted(scope) && (best == nullptr || scope.end - scope.begin <= best->end - best->begin)) { best = &scope; }
    }
    return best;
  };
  for (const Capture& capture : captures) {
    if (capture.name != "local.definition") { continue; }
    // A function's name belongs to the scope around the function.
    TSNode parent = ts_node_parent(capture.node);
    bool names_scope = std::strcmp(ts_node_type(parent), "function_definition") == 0 || std::strcmp(ts_node_type(parent), "class_definition") == 0;
    uint32_t own_begin = ts_node_start_byte(parent);
    Definitions::Scope* scope = innermost(capture.begin(), [&](const Definitions::Scope& s) { return !names_scope || s.begin != own_begin || s.begin == 0; });
    if (scope != nullptr) { scope->names.try_emplace(text_of(capture.node, text), line_of(capture.node)); }
    defined.insert(capture.begin());
  }
  for (const Capture& capture : captures) {
    if (capture.name != "local.reference" || defined.contains(capture.begin())) { continue; }
    std::string name = text_of(capture.node, text);
    Definitions::Scope* scope = innermost(capture.begin(), [&](const Definitions::Scope& s) { return s.names.contains(name); });
    out.references.emplace_back(capture.node, scope == nullptr ? std::nullopt : std::optional(scope->names[name]));
  }
  return out;
}

auto describe(Queries& queries, const std::string& text) -> std::string {
  Parsed parsed(text);
  std::string out = "# highlights\n";
  uint32_t line = 0;
  auto begin_line = [&](uint32_t next) {
    if (next == line) { return; }
    out += (line == 0 ? "" : "\n") + std::to_string(next) + ":";
    line = next;
  };
  for (const auto& [node, colour] : colours(queries.highlights, parsed.root(), text)) {
    begin_line(line_of(node));
    std::string word = text_of(node, text);
    std::replace(word.begin(), word.end(), '\n', '~');
    out += " " + word + "\xC2\xB7" + (colour.empty() ? "-" : colour);
  }
  out += "\n# locals: uses, with the line of the definition\n";
  line = 0;
  for (const auto& [node, definition] : resolve(queries.locals, parsed.root(), text).references) {
    if (!definition) { continue; }
    begin_line(line_of(node));
    out += " " + text_of(node, text) + "<" + std::to_string(*definition);
  }
  out += "\n# folds\n";
  for (const Capture& capture : queries.folds.run(parsed.root(), text)) {
    uint32_t last = last_line(capture.node, text);
    if (last > line_of(capture.node)) { out += std::to_string(line_of(capture.node)) + "-" + std::to_string(last) + " " + ts_node_type(capture.node) + "\n"; }
  }
  for (auto [name, query] : {std::pair{"indents", &queries.indents}, std::pair{"text objects", &queries.textobjects}}) {
    out += std::string("# ") + name + "\n";
    for (const Capture& capture : query->run(parsed.root(), text)) {
      uint32_t last = last_line(capture.node, text);
      bool is_bracket = ts_node_end_byte(capture.node) - ts_node_start_byte(capture.node) == 1;
      if (is_bracket || (name[0] == 'i' && last == line_of(capture.node) && capture.name == "indent.begin")) { continue; }
      if (capture.name == "parameter.inner" || capture.name == "call.outer") { continue; }
      out += std::to_string(line_of(capture.node)) + "-" + std::to_string(last) + " " + capture.name + " " + ts_node_type(capture.node) + "\n";
    }
  }
  return out;
}

/// A name that locals.scm does not capture, although it is not an attribute, a keyword of an argument or a part of an import.
auto forgotten_name(Queries& queries, TSNode root, const std::string& text) -> std::string {
  std::set<uint32_t> known;
  for (const Capture& capture : queries.locals.run(root, text)) { known.insert(capture.begin()); }
  for (const auto& [node, colour] : colours(queries.highlights, root, text)) {
    if (std::strcmp(ts_node_type(node), "identifier") != 0 || known.contains(ts_node_start_byte(node))) { continue; }
    TSNode parent = ts_node_parent(node);
    std::string around = ts_node_type(parent);
    if (around == "attribute" || around == "keyword_argument" || around == "dotted_name") { continue; }
    return "`" + text_of(node, text) + "` in line " + std::to_string(line_of(node)) + " is neither definition nor use";
  }
  return {};
}

/// The first property of a correct text that this text lacks; empty: it has all of them. `is_closed`: the text defines all its names.
auto problem_in(Queries& queries, const std::string& text, bool is_closed) -> std::string {
  Parsed parsed(text);
  if (ts_node_has_error(parsed.root())) { return "it has errors"; }
  std::map<std::string, std::set<std::string>> wanted = {
      {"integer", {"number"}}, {"float", {"number"}}, {"string_start", {"string", "string.documentation"}}, {"string_content", {"string", "string.documentation"}},
      {"comment", {"comment"}}, {"for", {"keyword"}}, {"with", {"keyword"}}, {"def", {"keyword"}}, {"if", {"keyword"}}, {"in", {"keyword"}}, {"class", {"keyword"}},
      {"+", {"operator"}}, {"*", {"operator"}}, {"//", {"operator"}}, {"=", {"operator"}}, {"(", {"punctuation.bracket"}}, {",", {"punctuation.delimiter"}}};
  for (const auto& [node, colour] : colours(queries.highlights, parsed.root(), text)) {
    std::string type = ts_node_type(node);
    std::string at = " `" + text_of(node, text) + "` in line " + std::to_string(line_of(node));
    if (colour.empty() && (type == "identifier" || wanted.contains(type))) { return "no colour for" + at; }
    if (auto found = wanted.find(type); found != wanted.end() && !found->second.contains(colour)) { return "the colour " + colour + " for" + at; }
  }
  if (std::string forgotten = forgotten_name(queries, parsed.root(), text); !forgotten.empty()) { return forgotten; }
  // All names of a program are defined in it, except namespaces and builtins.
  static const std::set<std::string> known = {"T", "I", "R", "tir", "range"};
  for (const auto& [node, definition] : resolve(queries.locals, parsed.root(), text).references) {
    if (!is_closed || definition || known.contains(text_of(node, text))) { continue; }
    if (text_of(node, text) == "Module") { continue; }
    return "no definition of `" + text_of(node, text) + "` in line " + std::to_string(line_of(node));
  }
  // Every block has a fold, an indentation and a text object.
  std::set<std::pair<uint32_t, std::string>> folds, indents, objects;
  for (const Capture& c : queries.folds.run(parsed.root(), text)) { folds.emplace(c.begin(), ts_node_type(c.node)); }
  for (const Capture& c : queries.indents.run(parsed.root(), text)) {
    if (c.name == "indent.begin") { indents.emplace(c.begin(), ts_node_type(c.node)); }
  }
  for (const Capture& c : queries.textobjects.run(parsed.root(), text)) {
    if (c.name.ends_with(".outer")) { objects.emplace(c.begin(), ts_node_type(c.node)); }
  }
  std::string problem;
  TSTreeCursor cursor = ts_tree_cursor_new(parsed.root());
  for (bool more = true; more;) {
    TSNode node = ts_tree_cursor_current_node(&cursor);
    std::string type = ts_node_type(node);
    if (type == "for_statement" || type == "with_statement" || type == "if_statement" || type == "while_statement" || type == "function_definition" || type == "class_definition") {
      std::pair key(ts_node_start_byte(node), type);
      const char* missing = !folds.contains(key) ? "folded" : !indents.contains(key) ? "indented" : !objects.contains(key) ? "an object" : nullptr;
      if (missing != nullptr && problem.empty()) { problem = "the " + type + " in line " + std::to_string(line_of(node)) + " is not " + missing; }
    }
    if (ts_tree_cursor_goto_first_child(&cursor)) { continue; }
    while (more && !ts_tree_cursor_goto_next_sibling(&cursor)) { more = ts_tree_cursor_goto_parent(&cursor); }
  }
  ts_tree_cursor_delete(&cursor);
  return problem;
}

}  // namespace

auto main(int argc, char** argv) -> int {
  if (argc < 3) { return 2; }
  Queries queries(argv[1]);
  int failures = 0;
  bool updates = std::getenv("LOOPSMITH_UPDATE") != nullptr;
  for (const char* name : {"constructs", "schedule"}) {
    std::string path = std::string(argv[2]) + "/" + name;
    std::string text = read(path + ".tir");
    std::string got = describe(queries, text);
    if (updates) { std::ofstream(path + ".expect", std::ios::binary) << got; }
    Parsed parsed(text);
    if (text.empty() || ts_node_has_error(parsed.root())) {
      std::printf("FAIL %s: missing, or it has errors\n", name);
      ++failures;
    }
    if (std::string forgotten = forgotten_name(queries, parsed.root(), text); !forgotten.empty()) {
      std::printf("FAIL %s: %s\n", name, forgotten.c_str());
      ++failures;
    }
    std::string expected = read(path + ".expect");
    if (got == expected) { continue; }
    std::istringstream a(expected), b(got);
    for (std::string want, have; std::getline(a, want) && std::getline(b, have);) {
      if (want == have) { continue; }
      std::printf("FAIL %s\n- %s\n+ %s\n", name, want.c_str(), have.c_str());
      break;
    }
    ++failures;
  }
  size_t step = argc > 3 && std::strcmp(argv[3], "--all") == 0 ? 1 : 20;
  size_t seen = 0;
  const auto& texts = loopsmith::tests::corpus_texts();
  for (size_t i = 0; i < texts.size(); i += step, ++seen) {
    std::string problem = problem_in(queries, texts[i].second, true);
    if (problem.empty()) { continue; }
    std::printf("FAIL %s: %s\n", texts[i].first.c_str(), problem.c_str());
    if (++failures > 20) { break; }
  }
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(argv[2]) + "/../../language/data")) {
    std::string text = read(entry.path().string());
    ++files;
    std::string problem = problem_in(queries, text, false);
    if (problem.empty()) { continue; }
    std::printf("FAIL %s: %s\n", entry.path().filename().c_str(), problem.c_str());
    ++failures;
  }
  seen += files;
  std::printf("%zu texts, %d failures\n", seen, failures);
  return failures == 0 && seen > 20 && files > 8 ? 0 : 1;
}
