// Golden cases of diagnostics: a case is a .tir or .py file with the expected diagnostics as comments, each below its line:
//
//     A[i, j] = B[i]
//     #         ^^^^ error[wrong-index-count]: `B` has 2 dimensions, 1 index given
//
// The test removes the comments, checks the rest as `loopsmith check` does (it runs no schedule), and inserts the diagnostics as comments again: the result must equal the
// case. LOOPSMITH_UPDATE=1 writes the result as the new case.
// Behind a message: remedies (`; help: ...`), notes with the source that they point to, and edits that repair it.
// A mark at a line's first column begins one to the right, after the `#`.
//
//     golden_diagnostics FOLDER-OR-FILE...
//     golden_diagnostics --list TEXTS                     prints the diagnostics of many texts
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "support/codes.h"
#include "support/origin.h"
#include "workspace/snapshot.h"

namespace {

using namespace loopsmith;

auto severity_name(Severity severity) -> const char* {
  switch (severity) {
    case Severity::Error: return "error";
    case Severity::Warning: return "warning";
    case Severity::Information: return "information";
    case Severity::Hint: return "hint";
  }
  return "";
}

auto is_expectation(std::string_view line) -> bool {
  size_t at = line.find_first_not_of(' ');
  if (at == std::string_view::npos || line[at] != '#') { return false; }
  at = line.find_first_not_of(' ', at + 1);
  return at != std::string_view::npos && line[at] == '^';
}

auto without_expectations(const std::string& text) -> std::string {
  std::istringstream in(text);
  std::string line;
  std::string out;
  while (std::getline(in, line)) {
    if (!is_expectation(line)) { out += line + "\n"; }
  }
  return out;
}

/// The text as `loopsmith check` reads it, without runs of its schedules.
auto snapshot_of(const std::string& text, bool is_python) -> workspace::SnapshotPtr {
  workspace::Document document(is_python ? "case.py" : "case.tir", 0, text);
  (void)document.analyse({});
  return document.snapshot();
}

auto with_reports(const std::string& text, bool is_python) -> std::string {
  workspace::SnapshotPtr document = snapshot_of(text, is_python);
  SourceText source("case", text);
  struct Mark { uint32_t line, column; size_t order; std::string text; };
  std::vector<Mark> marks;
  for (const Diagnostic& d : document->diagnostics()) {
    Span span = document->resolve(d.where).value_or(Span{});
    auto begin = source.line_column(span.begin);
    auto end = source.line_column(span.end);
    auto width = static_cast<uint32_t>(source.line_text(begin.line).size());
    uint32_t last = end.line == begin.line ? end.column : width;
    uint32_t first = std::max<uint32_t>(begin.column, 1);
    std::string comment = std::string(first > 4 ? 4 : 0, ' ') + "#";
    comment += std::string(first - static_cast<uint32_t>(comment.size()), ' ');
    comment += std::string(std::max<uint32_t>(last, first + 1) - first, '^') + " " + severity_name(d.severity) + "[" + std::string(code_id(d.code)) + "]: " + d.message();
    marks.push_back({begin.line, begin.column, marks.size(), comment});
    for (const std::string& remedy : d.remedies) { marks.back().text += "; help: " + remedy; }
    auto quoted = [&](Origin where) -> std::string {
      auto at = document->resolve(where);
      if (!at) { return "nowhere"; }
      std::string words = text.substr(at->begin, at->end - at->begin);
      words = words.substr(0, words.find('\n'));
      return words.empty() ? "line " + std::to_string(source.line_column(at->begin).line + 1) : "`" + (words.size() > 40 ? words.substr(0, 37) + "..." : words) + "`";
    };
    for (const RelatedNote& note : d.notes) { marks.back().text += "; note at " + quoted(note.where) + ": " + note.message; }
    for (const FixEdit& fix : d.fixes) {
      std::string made;
      for (char c : fix.replacement) { made += c == '\n' ? "\\n" : std::string(1, c); }
      marks.back().text += "; fix: " + quoted(fix.where) + " becomes `" + made + "`";
    }
  }
  std::sort(marks.begin(), marks.end(), [](const Mark& a, const Mark& b) { return std::tie(a.line, a.column, a.order) < std::tie(b.line, b.column, b.order); });
  std::string out;
  std::istringstream in(text);
  std::string line;
  size_t next = 0;
  for (uint32_t number = 0; std::getline(in, line); ++number) {
    out += line + "\n";
    for (; next < marks.size() && marks[next].line == number; ++next) { out += marks[next].text + "\n"; }
  }
  return out;
}

auto read(const std::filesystem::path& path) -> std::string {
  std::ifstream in(path);
  std::stringstream out;
  out << in.rdbuf();
  return out.str();
}

// False: the expectation is not met.
auto run(const std::filesystem::path& path, bool update) -> bool {
  std::string wanted = read(path);
  std::string found = with_reports(without_expectations(wanted), path.extension() == ".py");
  if (found == wanted) { return true; }
  if (update) {
    std::ofstream(path) << found;
    std::printf("updated %s\n", path.c_str());
    return true;
  }
  std::printf("%s\n", path.c_str());
  std::istringstream a(wanted);
  std::istringstream b(found);
  std::vector<std::string> left, right;
  std::string line;
  while (std::getline(a, line)) { left.push_back(line); }
  while (std::getline(b, line)) { right.push_back(line); }
  for (const std::string& l : left) {
    if (is_expectation(l) && std::find(right.begin(), right.end(), l) == right.end()) { std::printf("  expected  %s\n", l.c_str()); }
  }
  for (const std::string& l : right) {
    if (is_expectation(l) && std::find(left.begin(), left.end(), l) == left.end()) { std::printf("  reported  %s\n", l.c_str()); }
  }
  return false;
}

}  // namespace

// Prints the diagnostics of many texts, each after a line "@@@ NAME", one line per diagnostic.
auto list(const char* path) -> int {
  std::ifstream in(path);
  std::string line, name, text;
  auto flush = [&] {
    if (name.empty()) { return; }
    workspace::SnapshotPtr document = snapshot_of(text, name.ends_with(".py"));
    SourceText source("", text);
    for (const Diagnostic& d : document->diagnostics()) {
      auto span = document->resolve(d.where);
      auto at = source.line_column(span ? span->begin : 0);
      std::printf("%s:%u: %s: %s [%s]\n", name.c_str(), at.line + 1, severity_name(d.severity), d.message().c_str(), std::string(code_id(d.code)).c_str());
    }
    text.clear();
  };
  while (std::getline(in, line)) {
    if (line.rfind("@@@ ", 0) == 0) { flush(); name = line.substr(4); } else { text += line + "\n"; }
  }
  flush();
  return 0;
}

auto main(int argc, char** argv) -> int {
  if (argc == 3 && std::string_view(argv[1]) == "--list") { return list(argv[2]); }
  const char* update = std::getenv("LOOPSMITH_UPDATE");
  int cases = 0;
  int wrong = 0;
  for (int i = 1; i < argc; ++i) {
    std::vector<std::filesystem::path> paths;
    if (std::filesystem::is_directory(argv[i])) {
      for (const auto& entry : std::filesystem::recursive_directory_iterator(argv[i])) {
        if (entry.path().extension() == ".tir" || entry.path().extension() == ".py") { paths.push_back(entry.path()); }
      }
    } else {
      paths.emplace_back(argv[i]);
    }
    std::sort(paths.begin(), paths.end());
    for (const auto& path : paths) {
      ++cases;
      wrong += !run(path, update && *update == '1');
    }
  }
  std::printf("%d cases, %d wrong\n", cases, wrong);
  return cases == 0 || wrong != 0;
}
