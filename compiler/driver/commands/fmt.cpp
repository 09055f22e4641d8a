// `loopsmith fmt FILE...`: formats files in the standard layout, in place.
#include <fmt/format.h>

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

#include "driver/command.h"
#include "driver/program.h"
#include "format/format.h"
#include "support/codes.h"
#include "support/text_diff.h"
#include "syntax/document.h"
#include "workspace/edits/migration.h"

namespace loopsmith::driver::commands {
namespace {

const Usage usage{
    .command = "fmt",
    .arguments = "[--check] [--diff] [--dialect D] FILE...",
    .summary = "Formats programs, schedules and scripts, in place; `-` is standard input, to standard output.",
    .details = "Never changes the meaning of a text: syntax trees are compared before a file is written. Comments, order and\n"
               "groups of lines stay; statements with syntax errors stay byte for byte (and give exit status 1).\n"
               "In .py files only TVMScript and schedules are formatted. `# fmt: off`, `# fmt: on` and `# fmt: skip`\n"
               "work as in Python formatters.",
    .options = {{.name = "--dialect", .value = "D", .help = "first replaces the words of the file by those of a dialect: block, sblock, s_tir, ts, tensor, or a version of TVM; warns where a word changed its meaning"},
                {.name = "--check", .help = "writes nothing; exit status 1 where a file would change"},
                {.name = "--diff", .help = "writes nothing; shows the changes"},
                {.name = "--width", .value = "N", .help = "the width of lines in columns; the default is 120"},
                {.name = "--indent", .value = "N", .help = "columns per level of indentation; the default is 4"},
                json_option},
    .examples = {{"loopsmith fmt matmul.tir", "the file in the standard layout"},
                 {"loopsmith fmt --dialect 0.24 kernels.py", "the file in the words of TVM 0.24"},
                 {"loopsmith fmt --check *.tir kernels.py", "in continuous integration"}},
    .least = 1,
    .most = 100000,
};

// Converts the text to another dialect and reports warnings.
auto migrated(const std::string& name, const std::string& text, Dialect dialect, Reporter& reporter) -> std::string {
  auto file = SourceFile::from_text(name, text);
  workspace::Migration migration = workspace::migrate(file->snapshot()->syntax(), name, dialect);
  reporter.report(migration.warnings, file.get());
  return workspace::with_edits(text, migration.edits);
}

}  // namespace

auto format(std::vector<std::string> args) -> int {
  auto read = read_arguments(usage, args);
  if (const int* status = std::get_if<int>(&read)) { return *status; }
  const auto& arguments = std::get<Arguments>(read);
  auto width = parse_number(arguments.get("--width", "120"), 20, 10000);
  auto indent = parse_number(arguments.get("--indent", "4"), 1, 16);
  if (!width) { return usage_error("fmt", "`--width` is a number from 20 to 10000"); }
  if (!indent) { return usage_error("fmt", "`--indent` is a number from 1 to 16"); }
  std::optional<Dialect> dialect;
  if (!read_dialect("fmt", arguments, dialect)) { return exit_usage; }
  Reporter reporter(arguments);
  bool checks = arguments.has("--check");
  bool shows = arguments.has("--diff");
  bool would_change = false;
  bool has_broken = false;
  for (const std::string& path : arguments.positional()) {
    auto text = read_file(path);
    if (!text) {
      reporter.report(text.diagnostics(), nullptr);
      continue;
    }
    std::string name = path == "-" ? arguments.get("--stdin-name", "-") : path;
    const std::string original = *text;
    if (dialect) { *text = migrated(name, *text, *dialect, reporter); }
    syntax::Document document(*text);
    bool is_broken = has_errors(document.diagnostics());
    std::string formatted = format::apply_edits(*text, format::format_document(document, {.width = static_cast<uint32_t>(*width), .indent = static_cast<uint32_t>(*indent),
                                                                                        .is_python = format::is_python_file(name), .range = {}}));
    bool changes = formatted != original;
    if (arguments.json()) {
      nlohmann::json line = {{"file", name}, {"changed", changes}, {"errors", is_broken}};
      if (path == "-" && !checks && !shows) { line["text"] = formatted; }
      fmt::print("{}\n", line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    }
    if (is_broken) {
      has_broken = true;
      fmt::print(stderr, "{}: statements with syntax errors were left as they are; `loopsmith check` shows them\n", name);
    }
    if (shows && changes && !arguments.json()) { fmt::print("{}:\n{}", name, render_diff(original, formatted, {.color = arguments.color(STDOUT_FILENO)})); }
    if (checks || shows) {
      would_change = would_change || (checks && changes);
      if (checks && changes && !arguments.json()) { fmt::print(stderr, "{}: would be reformatted\n", name); }
    } else if (path == "-") {
      if (arguments.json()) { continue; }
      if (auto status = write_file("-", formatted); !status) { reporter.report(status.diagnostics(), nullptr); }
    } else if (changes) {
      if (auto status = write_file(path, formatted); !status) { reporter.report(status.diagnostics(), nullptr); }
      else if (!arguments.json()) { fmt::print(stderr, "{}: reformatted\n", name); }
    }
  }
  if (reporter.errors()) { return reporter.status(); }
  return would_change || has_broken ? exit_input : exit_done;
}

}  // namespace loopsmith::driver::commands
