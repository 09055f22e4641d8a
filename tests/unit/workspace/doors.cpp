// The four interfaces (command line, language server, REPL, MCP) report equal findings for a hundred files, hints included, in which comments silence some
// of the findings.
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "lsp/protocol/json.h"
#include "support/process.h"
#include "tests/support/corpus.h"
#include "tests/support/effort.h"
#include "tests/support/paths.h"
#include "tests/unit/catch.h"
#include "tests/unit/lsp/session.h"
#include "workspace/selection.h"
#include "workspace/snapshot.h"

using namespace loopsmith;
using lsp::Json;

namespace {

constexpr auto patience = std::chrono::seconds(tests::is_sanitized ? 600 : 120);
constexpr size_t corpus_files = 50;

struct File {
  std::string path;
  std::string text;
  std::vector<std::string> schedules;
  bool is_ascii = true;   // the interfaces count columns in the same way
};

/// "12:5 warning misspelt-word `threadidx.x` ...", with the remedies if an interface shows these separately.
using Findings = std::vector<std::string>;

auto finding(const File& file, int64_t line, int64_t column, const std::string& severity, const std::string& code, const std::string& message) -> std::string {
  return std::to_string(line) + ":" + std::to_string(file.is_ascii ? column : 0) + " " + severity + " " + code + " " + message;
}

/// Silences every second finding that is not an error on its own line, and one code in all of every seventh file.
auto with_silencing_comments(const std::string& name, const std::string& text, size_t number, size_t& silenced) -> std::string {
  auto document = workspace::analyse(name, text);
  workspace::SnapshotPtr snapshot = document->snapshot();
  std::map<uint32_t, std::string> added;   // by line
  std::string of_file;
  size_t count = number;
  for (const workspace::Finding& one : snapshot->findings()) {
    if (one.severity == Severity::Error || ++count % 2 != 0) { continue; }
    uint32_t line = snapshot->lines().line_of(one.span.begin);
    if (number % 7 == 0 && of_file.empty()) { of_file = "# ls: ignore-file[" + std::string(code_id(one.code)) + "]\n"; }
    if (snapshot->lines().line_text(text, line).find('#') != std::string_view::npos) { continue; }
    ++silenced;
    added.try_emplace(line, "  # ls: ignore[" + std::string(code_id(one.code)) + "]");
  }
  std::string out = of_file;
  for (uint32_t line = 0; line < snapshot->lines().line_count(); ++line) {
    out += std::string(snapshot->lines().line_text(text, line));
    if (auto comment = added.find(line); comment != added.end()) { out += comment->second; }
    out += "\n";
  }
  return out;
}

auto read(const std::filesystem::path& path) -> std::string {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

auto originals() -> std::vector<std::pair<std::string, std::string>> {
  std::vector<std::pair<std::string, std::string>> out;
  for (const char* folder : {"/examples", "/tests/golden/lsp", "/tests/golden/analysis", "/tests/golden/frontend"}) {
    for (const auto& entry : std::filesystem::directory_iterator(tests::source_folder() + folder)) {
      std::string extension = entry.path().extension();
      if (extension == ".tir" || (extension == ".py" && folder != std::string("/examples"))) { out.emplace_back(extension, read(entry.path())); }
    }
  }
  std::sort(out.begin(), out.end());
  const auto& corpus = tests::corpus_texts();
  for (size_t i = 0; i < corpus_files; ++i) { out.emplace_back(".tir", corpus[i * corpus.size() / corpus_files].second); }
  return out;
}

/// The files, in a folder that is removed at the end.
class Files {
 public:
  Files() {
    std::string pattern = (std::filesystem::temp_directory_path() / "loopsmith-doors-XXXXXX").string();
    REQUIRE(::mkdtemp(pattern.data()) != nullptr);
    folder_ = std::filesystem::canonical(pattern).string();
    auto texts = originals();
    for (size_t i = 0; i < texts.size(); i += tests::stride(5)) {
      File file;
      file.path = folder_ + "/file" + std::to_string(i) + texts[i].first;
      file.text = with_silencing_comments(file.path, texts[i].second, i, silenced);
      file.is_ascii = std::all_of(file.text.begin(), file.text.end(), [](char c) { return static_cast<signed char>(c) >= 0; });
      file.schedules = workspace::schedule_names(*workspace::analyse(file.path, file.text)->snapshot());
      std::ofstream(file.path, std::ios::binary) << file.text;
      all.push_back(std::move(file));
    }
  }
  ~Files() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  std::vector<File> all;
  size_t silenced = 0;

 private:
  std::string folder_;
};

auto from_json(const File& file, const Json& one) -> std::string {
  return finding(file, one.value("line", 0), one.value("column", 0), one.value("severity", ""), one.value("code", ""), one.value("message", ""));
}

/// `loopsmith check --json FILE...`
auto by_command(const std::vector<File>& files) -> std::map<std::string, Findings> {
  std::vector<std::string> argv = {tests::loopsmith_program(), "check", "--json"};
  std::map<std::string, const File*> by_path;
  for (const File& file : files) {
    argv.push_back(file.path);
    by_path[file.path] = &file;
  }
  auto ran = run_program({.argv = argv}, "", in(patience));
  REQUIRE(ran.ok());
  std::map<std::string, Findings> out;
  std::istringstream lines(ran->output);
  for (std::string line; std::getline(lines, line);) {
    Json one = Json::parse(line, nullptr, false);
    REQUIRE(one.is_object());
    const std::string path = one.value("file", "");
    REQUIRE(by_path.contains(path));
    out[path].push_back(from_json(*by_path[path], one));
  }
  return out;
}

auto by_editor(lsp::Session& session, const File& file) -> Findings {
  const char* const severities[] = {"", "error", "warning", "information", "hint"};
  std::string uri = "file://" + file.path;
  session.open(uri, file.text);
  (void)session.wait_for(uri, 1);
  Findings out;
  for (const Json& one : session.diagnostics(uri)) {
    const Json& begin = one["range"]["start"];
    std::string message = one["message"];
    out.push_back(finding(file, begin["line"].get<int64_t>() + 1, begin["character"].get<int64_t>() + 1, severities[one["severity"].get<size_t>()], one["code"],
                          message.substr(0, message.find("\nhelp: "))));
  }
  session.notify("textDocument/didClose", {{"textDocument", {{"uri", uri}}}});
  return out;
}

/// `:load FILE`, and again with `:with NAME` for each of its schedules. Lines from a pipe end at the first failure, so each has its own session.
auto by_repl(const File& file) -> Findings {
  static const std::regex rendered(R"(^(/.*):(\d+):(\d+): (error|warning|information|hint): (.*) \[([a-z0-9-]+)\]$)");
  std::vector<std::string> inputs = {":load " + file.path + "\n"};
  for (const std::string& name : file.schedules) { inputs.push_back(inputs[0] + ":with " + name + "\n"); }
  Findings out;
  for (const std::string& input : inputs) {
    auto ran = run_program({.argv = {tests::loopsmith_program(), "repl", "--color=never"}, .standard_error = Stream::Pipe}, input, in(patience));
    REQUIRE(ran.ok());
    std::istringstream lines(ran->error);
    std::smatch match;
    for (std::string line; std::getline(lines, line);) {
      // The refusal of `:with` itself is not a finding.
      bool is_finding = std::regex_match(line, match, rendered) && match[1] == file.path && match[6] != "schedule-incomplete";
      if (is_finding) { out.push_back(finding(file, std::stoll(match[2]), std::stoll(match[3]), match[4], match[6], match[5])); }
    }
  }
  return out;
}

class Agent {
 public:
  Agent() {
    auto started = Process::start({.argv = {tests::loopsmith_program(), "mcp"}});
    REQUIRE(started.ok());
    process_.emplace(std::move(started).value());
  }
  auto check(const File& file) -> Findings {
    Json request = {{"jsonrpc", "2.0"}, {"id", ++id_}, {"method", "tools/call"}, {"params", {{"name", "check"}, {"arguments", {{"path", file.path}}}}}};
    REQUIRE(process_->write(request.dump() + "\n", in(patience)) == IoStatus::Done);
    Json answer;
    do {
      ReadResult line = process_->read_line(in(patience));
      REQUIRE(line.status == IoStatus::Done);
      answer = Json::parse(line.data, nullptr, false);
    } while (answer.value("id", 0) != id_);
    Findings out;
    for (const Json& one : answer["result"]["structuredContent"]["diagnostics"]) { out.push_back(from_json(file, one)); }
    return out;
  }

 private:
  std::optional<Process> process_;
  int id_ = 0;
};

auto sorted(Findings findings) -> Findings {
  std::sort(findings.begin(), findings.end());
  return findings;
}
/// A session may report an error of a file again when a schedule of it runs.
auto distinct(const Findings& findings) -> std::set<std::string> { return {findings.begin(), findings.end()}; }

auto count_of(const Findings& findings, const std::string& severity) -> size_t {
  return static_cast<size_t>(std::count_if(findings.begin(), findings.end(), [&](const std::string& one) { return one.find(" " + severity + " ") != std::string::npos; }));
}

}  // namespace

TEST_CASE("command line, editor and agents report the same findings, whatever comments silence") {
  Files files;
  REQUIRE(files.all.size() > (tests::is_sanitized ? 15 : 90));
  auto command = by_command(files.all);
  lsp::Session session({tests::loopsmith_program(), "lsp"});
  session.initialize();
  Agent agent;
  size_t hints = 0, others = 0;
  for (const File& file : files.all) {
    CAPTURE(file.path, file.text);
    const Findings expected = sorted(command[file.path]);
    CHECK(sorted(by_editor(session, file)) == expected);
    CHECK(sorted(agent.check(file)) == expected);
    hints += count_of(expected, "hint");
    others += expected.size() - count_of(expected, "hint");
  }
  CHECK(session.goodbye() == 0);
  // The files have findings, and findings that can be silenced.
  CHECK(files.silenced > (tests::is_sanitized ? 2 : 20));
  if (!tests::is_sanitized) { CHECK(hints > 5); }
  CHECK(others > (tests::is_sanitized ? 0 : 20));
}

TEST_CASE("the REPL reports the findings of the command line, whatever comments silence") {
  Files files;
  auto command = by_command(files.all);
  for (const File& file : files.all) {
    CAPTURE(file.path, file.text);
    std::set<std::string> all = distinct(command[file.path]);
    std::set<std::string> in_repl = distinct(by_repl(file));
    // A session cannot work on a program with errors, so its schedules do not run there.
    if (count_of(command[file.path], "error") > 0) {
      CHECK(std::includes(all.begin(), all.end(), in_repl.begin(), in_repl.end()));
    } else {
      CHECK(in_repl == all);
    }
  }
}
