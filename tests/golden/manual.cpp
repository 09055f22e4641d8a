// docs/diagnostics.md: every code of the catalogue has exactly one section `## CODE`, so that every link to it works. The example of a section is
// checked as `loopsmith check` does, together with the programs of the page that it schedules. Exactly its code must be reported; comments in the
// example show the place and the message:
//
//     sch.parallel(k)
//     #            ^ cannot apply `parallel` to `k`: it feeds `vk` of block `C`, which is not spatial
//
// The test removes these marks, writes them again from the findings, and requires that the page is the same; so too for the list of contents.
// LOOPSMITH_UPDATE=1 writes both.
//
//     golden_manual docs/diagnostics.md
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "driver/manual.h"
#include "support/codes.h"
#include "support/origin.h"
#include "workspace/snapshot.h"

namespace {

using namespace loopsmith;

/// Codes that no checked text can show. Their sections describe in words when they are reported.
const std::set<std::string> without_example = {
    // Limits of the text, and files that are not text.
    "nested-too-deeply", "chain-too-long", "invalid-utf8", "binary-text", "text-too-large",
    // Programs for which other checks report an error first.
    "no-insertion-point", "partial-results", "view-dtype",
    // Traces, which are not part of a file.
    "no-such-primitive", "no-such-instruction", "trace-format", "trace-variable", "trace-outputs",
    // A program that runs.
    "out-of-bounds", "interpreter-limit", "interpreter-unsupported", "interpreter-argument",
    "divergent-barrier", "inactive-lane", "bank-conflict", "scattered-access", "threads-proved", "threads-not-proved", "race", "undeclared-access", "argument-count", "argument-mismatch",
    "arguments-overlap", "kernel-failed", "device-failed", "device-limit", "out-of-memory", "bad-tensor-file", "no-such-parameter",
    // Build scripts.
    "command-failed", "file-with-errors", "not-a-program-name", "python-not-run",
    // Machine code and targets of commands.
    "unknown-stage", "bad-target", "unknown-processor", "unknown-feature", "no-llvm", "not-flat",
    "cannot-emit", "llvm-failed", "cannot-load-code", "no-such-function", "not-a-c-name", "kernel-twice",
    "nothing-to-build", "link-failed",
    // Migrations to another dialect.
    "changed-meaning", "not-migrated",
    // Tuning.
    "tuner-piece", "cannot-tune", "worker-failed", "database-unreadable", "database-failed",
    // Commands: files, processes, the choice of a program.
    "internal", "cannot-read", "cannot-write", "cannot-start", "cancelled", "no-such-program", "no-program",
    "several-programs", "no-such-schedule", "record-refused", "several-schedules", "nothing-to-schedule", "schedule-incomplete",
};

/// Another code that the example necessarily reports too.
const std::map<std::string, std::string> given_with = {
    {"program-has-errors", "undefined-name"},
};

int wrong = 0;
void fail(const std::string& what) {
  std::printf("%s\n", what.c_str());
  ++wrong;
}

auto is_mark(std::string_view line) -> bool {
  size_t at = line.find_first_not_of(' ');
  if (at == std::string_view::npos || line[at] != '#') { return false; }
  at = line.find_first_not_of(' ', at + 1);
  return at != std::string_view::npos && line[at] == '^';
}

// The mark below the columns `first` to `last` of a line. Its `#` has the indentation of the line, or stands left of the marked columns.
auto mark(std::string_view line, uint32_t first, uint32_t last, const std::string& message) -> std::string {
  first = std::max<uint32_t>(first, 1);
  auto indent = static_cast<uint32_t>(std::min(line.find_first_not_of(' '), line.size()));
  uint32_t hash = std::min(indent, first > 4 ? 4U : 0U);
  return std::string(hash, ' ') + "#" + std::string(first - hash - 1, ' ') + std::string(std::max(last, first + 1) - first, '^') + " " + message;
}

// The example with its marks.
auto checked(const std::string& page, const std::string& code, const std::string& example) -> std::string {
  std::string before = driver::shared_programs(page, example);
  std::string text = before + example;
  auto document = workspace::analyse("example.tir", text);
  SourceText source("example.tir", text);
  auto above = static_cast<uint32_t>(std::count(before.begin(), before.end(), '\n'));
  std::multimap<uint32_t, std::string> marks;
  std::set<std::string> found;
  for (const workspace::Finding& finding : document->snapshot()->findings()) {
    std::string id(code_id(finding.code));
    // Examples call functions of their own, which is an information.
    if (id != code && finding.severity == Severity::Information) { continue; }
    found.insert(id);
    auto begin = source.line_column(finding.span.begin);
    auto end = source.line_column(finding.span.end);
    std::string_view line = source.line_text(begin.line);
    if (id == code) { marks.emplace(begin.line, mark(line, begin.column, end.line == begin.line ? end.column : static_cast<uint32_t>(line.size()), finding.message)); }
    if (begin.line < above) { fail("the example of `" + code + "` gives `" + id + "` in a program that it shares: " + finding.message); }
  }
  std::set<std::string> wanted = {code};
  if (auto more = given_with.find(code); more != given_with.end()) { wanted.insert(more->second); }
  if (found != wanted) {
    std::string all;
    for (const std::string& one : found) { all += " " + one; }
    fail("the example of `" + code + "` gives:" + all);
  }
  std::istringstream in(example);
  std::string line, out;
  for (uint32_t number = above; std::getline(in, line); ++number) {
    out += line + "\n";
    for (auto [at, end] = marks.equal_range(number); at != end; ++at) { out += at->second + "\n"; }
  }
  return out;
}

// The anchor of a heading on web sites that show the page.
auto anchor(const std::string& heading) -> std::string {
  std::string out;
  for (char c : heading) {
    if (std::isalnum(static_cast<unsigned char>(c))) { out += static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }
    else if (c == ' ' || c == '-') { out += '-'; }
  }
  return out;
}

// Links to a part of the page and its sections, in lines that fit a screen.
auto links(const std::string& heading, const std::vector<std::string>& codes) -> std::string {
  std::string out, line = "- [" + heading + "](#" + anchor(heading) + ")";
  for (size_t i = 0; i < codes.size(); ++i) {
    line += i == 0 ? ":" : ",";
    std::string link = "[`" + codes[i] + "`](#" + codes[i] + ")";
    if (line.size() + 1 + link.size() < 120) { line += " " + link; continue; }
    out += line + "\n";
    line = "  " + link;
  }
  return out + line + "\n";
}

}  // namespace

auto main(int argc, char** argv) -> int {
  if (argc != 2) { return 2; }
  std::ifstream in(argv[1]);
  std::stringstream all;
  all << in.rdbuf();
  std::string page = all.str();

  std::string line, heading, code, example, body;
  std::vector<std::pair<std::string, std::vector<std::string>>> parts;
  std::multiset<std::string> sections;
  std::set<std::string> with_example;
  bool in_example = false;
  // Copies everything except the table of contents, which is generated.
  while (std::getline(all, line)) {
    if (in_example && line == "```") {
      in_example = false;
      if (!code.empty()) {
        with_example.insert(code);
        example = checked(page, code, example);
      }
      body += example + line + "\n";
      example.clear();
    } else if (in_example) {
      if (!is_mark(line)) { example += line + "\n"; }
    } else {
      in_example = line == "```python";
      if (line.starts_with("# ")) {
        heading = line.substr(2);
        code.clear();
        if (heading != "Diagnostics" && heading != "Contents") { parts.emplace_back(heading, std::vector<std::string>()); }
      } else if (line.starts_with("## ")) {
        code = line.substr(3);
        sections.insert(code);
        if (!parts.empty()) { parts.back().second.push_back(code); }
      }
      if (heading != "Contents" || line.starts_with("# ")) { body += line + "\n"; }
    }
  }
  std::set<std::string> codes;
  for (Code c : all_codes()) { codes.emplace(code_id(c)); }
  for (const std::string& one : sections) {
    if (!codes.contains(one)) { fail("there is no code `" + one + "`"); }
  }
  for (const std::string& one : codes) {
    if (sections.count(one) != 1) { fail("`" + one + "` has " + std::to_string(sections.count(one)) + " sections"); }
    if (with_example.contains(one) == without_example.contains(one)) { fail("`" + one + (with_example.contains(one) ? "` has an example after all" : "` has no example")); }
    if (driver::manual_section(page, one).find_first_not_of('\n') == std::string::npos) { fail("`" + one + "` is not explained"); }
  }

  std::string contents = "\n";
  for (const auto& [name, codes_in_it] : parts) { contents += links(name, codes_in_it); }
  const std::string title = "# Contents\n";
  size_t at = body.find(title);
  if (at == std::string::npos) { fail("the page has no contents"); }
  else { body.insert(at + title.size(), contents + "\n"); }
  const char* update = std::getenv("LOOPSMITH_UPDATE");
  if (body != page && update && *update == '1') { std::ofstream(argv[1]) << body; }
  else if (body != page) {
    std::istringstream a(page), b(body);
    std::string left, right;
    while (std::getline(a, left) && std::getline(b, right) && left == right) {}
    fail("marks or contents are not those of the examples: LOOPSMITH_UPDATE=1 writes them; first\n  " + left + "\n  " + right);
  }
  std::printf("%zu sections, %zu examples, %d wrong\n", sections.size(), with_example.size(), wrong);
  return wrong != 0 || with_example.empty();
}
