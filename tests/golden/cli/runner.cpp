// Runs `loopsmith` as a user does and compares its output. A case is a text file:
//
//     # Why the case exists.
//     --- file bad.tir              the lines below, in a file of the case's own folder
//     --- make deep.tir "x = " "("*20000 "1\n"      a file made of quoted pieces; `*N` repeats a piece
//     --- run check bad.tir         a command line (split at spaces; quotes keep words together; `> F` at the end
//                                   writes the output to a file of the folder; `> /dev/full`, `>&-` and the same
//                                   with `2` in front work as in a shell; words `NAME=VALUE` before the
//                                   command set environment variables)
//     --- input                     the standard input; without this section it is empty
//     --- stdout                    the expected output; without this section nothing may be written
//     --- stderr
//     --- exit 1                    without this section 0; `--- exit 0 or 1` where a measurement decides
//
// One case may run several commands, in order, in the same folder. In expectations, `{*}` stands for any text
// within a line, and a line `{...}` for any number of lines. EXAMPLES at the start of a word is the folder of
// the examples. LOOPSMITH_UPDATE=1 rewrites the expectations of cases that failed; a line with wildcards
// that still matches stays; a line `{...}` is lost.
//
// usage: golden-cli LOOPSMITH EXAMPLES CASE...
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "support/process.h"

namespace fs = std::filesystem;

namespace {

struct Run {
  std::string files;                                          // the sections `--- file` and `--- make` above it, unchanged
  std::string command;
  std::string input, out, err;
  std::vector<int> codes;                                     // the exit statuses that pass; empty stands for 0
};
struct Case {
  std::string preamble;                                       // the comment above the first section, unchanged
  std::vector<std::pair<std::string, std::string>> files;
  std::vector<Run> runs;
};

auto read_file(const fs::path& path) -> std::string {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

// `"piece" "piece"*20000`, with \n \t \\ \" \xHH in pieces.
auto make_content(const std::string& spec) -> std::string {
  std::string out;
  for (size_t i = 0; i < spec.size();) {
    if (spec[i] != '"') {
      ++i;
      continue;
    }
    std::string piece;
    for (++i; i < spec.size() && spec[i] != '"'; ++i) {
      if (spec[i] != '\\') {
        piece += spec[i];
        continue;
      }
      char c = spec[++i];
      if (c == 'n') { piece += '\n'; }
      else if (c == 't') { piece += '\t'; }
      else if (c == 'x') {
        piece += static_cast<char>(std::stoi(spec.substr(i + 1, 2), nullptr, 16));
        i += 2;
      } else { piece += c; }
    }
    ++i;
    size_t times = 1;
    if (i < spec.size() && spec[i] == '*') { times = std::strtoul(spec.c_str() + i + 1, nullptr, 10); }
    for (size_t n = 0; n < times; ++n) { out += piece; }
  }
  return out;
}

auto parse_case(const std::string& text) -> Case {
  Case out;
  std::string* target = nullptr;
  bool in_files = false;
  std::string files;                                          // those of the next run
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    if (line.rfind("--- ", 0) != 0) {
      if (target) { *target += line + '\n'; }
      if (in_files) { files += line + '\n'; }
      if (out.runs.empty() && out.files.empty()) { out.preamble += line + '\n'; }
      continue;
    }
    std::istringstream words(line.substr(4));
    std::string kind;
    words >> kind;
    std::string rest;
    std::getline(words >> std::ws, rest);
    if (kind == "run") {
      out.runs.push_back({std::move(files), rest, {}, {}, {}, {}});
      files.clear();
      target = nullptr;
      in_files = false;
      continue;
    }
    in_files = kind == "file" || kind == "make";
    if (in_files) { files += line + '\n'; }
    if (kind == "file") {
      out.files.emplace_back(rest, "");
      target = &out.files.back().second;
    } else if (kind == "make") {
      size_t space = rest.find(' ');
      out.files.emplace_back(rest.substr(0, space), make_content(rest.substr(space)));
      target = nullptr;
    } else if (out.runs.empty()) {
      target = nullptr;
    } else if (kind == "input") {
      target = &out.runs.back().input;
    } else if (kind == "stdout") {
      target = &out.runs.back().out;
    } else if (kind == "stderr") {
      target = &out.runs.back().err;
    } else if (kind == "exit") {
      std::istringstream words(rest);
      for (std::string word; words >> word;) {
        if (word != "or") { out.runs.back().codes.push_back(std::atoi(word.c_str())); }
      }
      target = nullptr;
    }
  }
  return out;
}

auto ended_as_expected(const Run& run, int code) -> bool {
  return run.codes.empty() ? code == 0 : std::find(run.codes.begin(), run.codes.end(), code) != run.codes.end();
}

auto exit_text(const Run& run) -> std::string { return run.codes.empty() ? "0" : fmt::format("{}", fmt::join(run.codes, " or ")); }

auto split_words(const std::string& line, const std::string& examples) -> std::vector<std::string> {
  std::vector<std::string> out;
  std::string word;
  bool open = false;
  char quote = 0;
  auto finish = [&] {
    if (!open) { return; }
    if (word.rfind("EXAMPLES", 0) == 0) { word = examples + word.substr(8); }
    out.push_back(word);
    word.clear();
    open = false;
  };
  for (char c : line) {
    if (quote) {
      if (c == quote) { quote = 0; } else { word += c; }
    } else if (c == '"' || c == '\'') {
      quote = c;
      open = true;
    } else if (c == ' ') {
      finish();
    } else {
      word += c;
      open = true;
    }
  }
  finish();
  return out;
}

auto line_matches(const std::string& pattern, const std::string& line) -> bool {
  size_t at = 0;
  size_t from = 0;
  bool first = true;
  while (true) {
    size_t star = pattern.find("{*}", from);
    std::string part = pattern.substr(from, star == std::string::npos ? std::string::npos : star - from);
    if (star == std::string::npos) {
      if (first) { return line == pattern; }
      return line.size() >= at + part.size() && line.compare(line.size() - part.size(), part.size(), part) == 0;
    }
    size_t found = first ? (line.compare(0, part.size(), part) == 0 ? 0 : std::string::npos) : line.find(part, at);
    if (found == std::string::npos) { return false; }
    at = found + part.size();
    from = star + 3;
    first = false;
  }
}

auto lines_of(const std::string& text) -> std::vector<std::string> {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) { out.push_back(line); }
  return out;
}

auto matches(const std::vector<std::string>& pattern, size_t p, const std::vector<std::string>& text, size_t t) -> bool {
  for (; p < pattern.size(); ++p, ++t) {
    if (pattern[p] == "{...}") {
      for (size_t skip = t; skip <= text.size(); ++skip) {
        if (matches(pattern, p + 1, text, skip)) { return true; }
      }
      return false;
    }
    if (t >= text.size() || !line_matches(pattern[p], text[t])) { return false; }
  }
  return t == text.size();
}
auto matches(const std::string& pattern, const std::string& text) -> bool { return matches(lines_of(pattern), 0, lines_of(text), 0); }

auto indent(const std::string& text) -> std::string {
  std::string out;
  for (const std::string& line : lines_of(text)) { out += "      " + line + '\n'; }
  return out;
}

// The new text; a line keeps its old form with wildcards if the old form still matches. The longest common sequence of lines decides.
auto updated_lines(const std::string& old_text, const std::string& new_text) -> std::string {
  if (matches(old_text, new_text)) { return old_text; }
  std::vector<std::string> was = lines_of(old_text);
  std::vector<std::string> is = lines_of(new_text);
  std::vector<std::vector<size_t>> common(was.size() + 1, std::vector<size_t>(is.size() + 1, 0));
  for (size_t i = was.size(); i-- > 0;) {
    for (size_t j = is.size(); j-- > 0;) {
      common[i][j] = std::max({common[i + 1][j], common[i][j + 1], line_matches(was[i], is[j]) ? common[i + 1][j + 1] + 1 : 0});
    }
  }
  std::string out;
  for (size_t i = 0, j = 0; j < is.size();) {
    if (i < was.size() && line_matches(was[i], is[j]) && common[i][j] == common[i + 1][j + 1] + 1) {
      out += was[i++] + '\n';
      ++j;
    } else if (i < was.size() && common[i + 1][j] >= common[i][j + 1]) {
      ++i;
    } else {
      out += is[j++] + '\n';
    }
  }
  return out;
}

// Removes redirections to devices, and closed streams, from a command line, and returns these as text for the shell.
auto take_redirections(std::vector<std::string>& words) -> std::string {
  std::string out;
  while (words.size() > 1) {
    const std::string& last = words.back();
    const std::string& before = words[words.size() - 2];
    bool is_device = last.rfind("/dev/", 0) == 0 && (before == ">" || before == "2>");
    if (!is_device && last != ">&-" && last != "2>&-") { break; }
    out += " " + (is_device ? before + last : last);
    words.resize(words.size() - (is_device ? 2 : 1));
  }
  return out;
}

// Keeps large changes of a case in a folder of its own, which is deleted at the end.
auto run_case(const std::string& program, const std::string& examples, const fs::path& path) -> bool {
  Case test = parse_case(read_file(path));
  if (test.runs.empty()) {
    fmt::print("{}: runs nothing\n", path.string());
    return false;
  }
  fs::path folder = fs::temp_directory_path() / fmt::format("loopsmith-golden-{}-{}", getpid(), path.stem().string());
  fs::remove_all(folder);
  fs::create_directories(folder);
  for (const auto& [name, content] : test.files) {
    fs::create_directories((folder / name).parent_path());
    std::ofstream(folder / name, std::ios::binary) << content;
  }
  bool passed = true;
  std::string updated = test.preamble;
  for (Run& run : test.runs) {
    loopsmith::ProcessOptions options;
    options.argv = split_words(run.command, examples);
    std::string redirected = take_redirections(options.argv);
    std::string save;
    if (options.argv.size() > 2 && options.argv[options.argv.size() - 2] == ">") {
      save = options.argv.back();
      options.argv.resize(options.argv.size() - 2);
    }
    options.environment = {{"NO_COLOR", ""}, {"TERM", "xterm"}, {"COLUMNS", "100"}};
    while (!options.argv.empty() && options.argv.front().starts_with("LOOPSMITH_") && options.argv.front().find('=') != std::string::npos) {
      const size_t equals = options.argv.front().find('=');
      options.environment.emplace_back(options.argv.front().substr(0, equals), options.argv.front().substr(equals + 1));
      options.argv.erase(options.argv.begin());
    }
    options.argv.insert(options.argv.begin(), program);
    if (!redirected.empty()) { options.argv.insert(options.argv.begin(), {"/bin/sh", "-c", "exec \"$@\" " + redirected, "sh"}); }
    options.directory = folder.string();
    options.standard_error = loopsmith::Stream::Pipe;
    auto result = loopsmith::run_program(options, run.input, loopsmith::in(std::chrono::seconds(60)));
    if (!result.ok()) {
      fmt::print("{}: {}\n", path.string(), result.diagnostics()[0].message());
      passed = false;
      break;
    }
    if (!save.empty()) {
      std::ofstream(folder / save, std::ios::binary) << result->output;
      result->output.clear();
    }
    int code = result->status.signal ? 128 + result->status.signal : result->status.code;
    bool ended = ended_as_expected(run, code);
    bool same = matches(run.out, result->output) && matches(run.err, result->error) && ended;
    if (!same) {
      passed = false;
      fmt::print("{}: `loopsmith {}`{}\n", path.string(), run.command, result->timed_out ? " did not end within 60 s" : "");
      if (!matches(run.out, result->output)) { fmt::print("    stdout expected:\n{}    got:\n{}", indent(run.out), indent(result->output)); }
      if (!matches(run.err, result->error)) { fmt::print("    stderr expected:\n{}    got:\n{}", indent(run.err), indent(result->error)); }
      if (!ended) { fmt::print("    exit status expected {}, got {}\n", exit_text(run), code); }
    }
    updated += run.files + "--- run " + run.command + '\n';
    if (!run.input.empty()) { updated += "--- input\n" + run.input; }
    std::string out = same ? run.out : updated_lines(run.out, result->output);
    std::string err = same ? run.err : updated_lines(run.err, result->error);
    if (!out.empty()) { updated += "--- stdout\n" + out; }
    if (!err.empty()) { updated += "--- stderr\n" + err; }
    if (ended && !run.codes.empty()) {
      updated += "--- exit " + exit_text(run) + '\n';
    } else if (code != 0) {
      updated += fmt::format("--- exit {}\n", code);
    }
  }
  fs::remove_all(folder);
  if (!passed && std::getenv("LOOPSMITH_UPDATE")) {
    std::ofstream(path, std::ios::binary) << updated;
    fmt::print("{}: updated\n", path.string());
    return true;
  }
  return passed;
}

}  // namespace

auto main(int argc, char** argv) -> int {
  if (argc < 4) {
    fmt::print(stderr, "usage: golden-cli LOOPSMITH EXAMPLES CASE...\n");
    return 2;
  }
  int failed = 0;
  for (int i = 3; i < argc; ++i) {
    if (!run_case(argv[1], argv[2], argv[i])) { ++failed; }
  }
  return failed ? 1 : 0;
}
