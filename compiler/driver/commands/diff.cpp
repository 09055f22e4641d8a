// `loopsmith diff FILE --with NAME [A..B]`: shows the changes that the statements of a schedule make to the program.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include <nlohmann/json.hpp>

#include "driver/command.h"
#include "driver/program.h"
#include "ir/printer.h"
#include "ir/script_diff.h"
#include "support/text_diff.h"

namespace loopsmith::driver::commands {
namespace {

const Usage usage{
    .command = "diff",
    .arguments = "FILE [--with NAME] [A..B]",
    .summary = "Shows the changes of a schedule: statement by statement, or between two lines of the file.",
    .details = "A and B are lines: the program after the statements up to line A is compared with the one after those up to line B. `..B`\n"
               "begins with the program as written, `A..` ends with the last statement; a single line shows the changes of its statement.",
    .options = {with_option, {.name = "--context", .value = "N", .help = "unchanged lines around a change; the default is 3"}, json_option},
    .examples = {{"loopsmith diff matmul.tir --with matmul_blocked", "each statement with its changes"},
                 {"loopsmith diff matmul.tir --with matmul_blocked 24..28", "the changes of lines 25 to 28 together"},
                 {"loopsmith diff matmul.tir --with matmul_blocked ..", "the whole schedule at once"}},
    .least = 1,
    .most = 2,
};

struct Statement {
  uint32_t line = 0;       // of its first byte, from 1
  uint32_t last_line = 0;  // of its last
  std::string text;        // its first line
  std::string after;       // the printed module after it; empty: it did not run
};

/// The second argument, A..B. `from` 0: the program as written; no `to`: the last statement.
struct LineRange {
  uint32_t from = 0;
  std::optional<uint32_t> to;
  bool is_single = false;
};

auto read_range(const std::string& range) -> std::variant<LineRange, int> {
  size_t dots = range.find("..");
  auto line = [](std::string_view text) { return parse_number(text, 1, 100'000'000); };
  std::string_view left = std::string_view(range).substr(0, dots);
  std::string_view right = dots == std::string::npos ? std::string_view() : std::string_view(range).substr(dots + 2);
  auto a = line(left);
  auto b = line(right);
  if ((!left.empty() && !a) || (!right.empty() && !b)) { return usage_error("diff", fmt::format("`{}` is not a range of lines such as `24..28`", range)); }
  LineRange out;
  out.is_single = dots == std::string::npos;
  if (a) { out.from = static_cast<uint32_t>(*a); }
  if (b) { out.to = static_cast<uint32_t>(*b); }
  if (out.to && *out.to < out.from) { return usage_error("diff", fmt::format("`{}` ends before it begins", range)); }
  return out;
}

auto statements_of(const script::ScheduleRun& run, const Locate& locate) -> std::vector<Statement> {
  std::vector<Statement> statements;
  for (const script::Step& step : run.steps) {
    auto where = locate(step.where);
    if (!where || where->text == nullptr) { continue; }
    auto at = where->text->line_column(where->span.begin);
    std::string text(where->text->line_text(at.line).substr(at.column));
    uint32_t last_line = where->text->line_column(where->span.end).line + 1;
    statements.push_back({at.line + 1, last_line, std::move(text), step.after != nullptr ? print_script(step.after->module()) : std::string()});
  }
  return statements;
}

/// Prints differences between two printed modules.
class Shown {
 public:
  Shown(const Arguments& arguments, ScriptDiffOptions options) : json_(arguments.json()), options_(options) {}
  void show(const std::string& title, uint32_t line, const std::string& before, const std::string& after) const {
    if (json_) {
      auto count = count_diff(diff_lines(before, after));
      fmt::print("{}\n", nlohmann::json({{"line", line}, {"statement", title}, {"added", count.added}, {"removed", count.removed},
                                         {"diff", diff_scripts(before, after, {.context = options_.context})}})
                             .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
      return;
    }
    std::string changes = diff_scripts(before, after, options_);
    if (!title.empty()) { fmt::print("{}{}{}\n", options_.color ? "\033[1m" : "", title, options_.color ? "\033[0m" : ""); }
    fmt::print("{}", changes.empty() ? (title.empty() ? "nothing changed\n" : "") : changes);
  }

 private:
  bool json_;
  ScriptDiffOptions options_;
};

auto title_of(const Statement& statement) -> std::string { return fmt::format("{}: {}", statement.line, statement.text); }

/// Compares the program before and after the statement on a line, or the last one above it. False: there is no such statement.
auto show_single(const Shown& shown, const std::vector<Statement>& statements, uint32_t line, std::string before) -> bool {
  const Statement* found = nullptr;
  for (const Statement& statement : statements) {
    if (statement.line > line) { break; }
    if (found != nullptr && !found->after.empty()) { before = found->after; }
    found = &statement;
  }
  if (found == nullptr) { return false; }
  shown.show(title_of(*found), found->line, before, found->after.empty() ? before : found->after);
  return true;
}

void show_range(const Shown& shown, const std::vector<Statement>& statements, const LineRange& range, const std::string& program) {
  std::string before = program;
  std::string after = program;
  for (const Statement& statement : statements) {
    if (statement.after.empty()) { break; }
    if (statement.line <= range.from) { before = statement.after; }
    if (!range.to || statement.line <= *range.to) { after = statement.after; }
  }
  shown.show("", range.to.value_or(0), before, after);
}

void show_each(const Shown& shown, const std::vector<Statement>& statements, std::string before) {
  for (const Statement& statement : statements) {
    if (statement.after.empty()) { break; }
    shown.show(title_of(statement), statement.line, before, statement.after);
    before = statement.after;
  }
}

}  // namespace

auto diff(std::vector<std::string> args) -> int {
  auto read = read_arguments(usage, args);
  if (const int* status = std::get_if<int>(&read)) { return *status; }
  const auto& arguments = std::get<Arguments>(read);
  ScriptDiffOptions options{.color = arguments.color(STDOUT_FILENO)};
  if (auto context = arguments.get("--context")) {
    auto number = parse_number(*context, 0, 100000);
    if (!number) { return usage_error("diff", "`--context` is a number of lines"); }
    options.context = static_cast<size_t>(*number);
  }
  std::optional<LineRange> range;
  if (arguments.positional().size() == 2) {
    auto lines = read_range(arguments.positional()[1]);
    if (const int* status = std::get_if<int>(&lines)) { return *status; }
    range = std::get<LineRange>(lines);
  }

  Reporter reporter(arguments);
  auto opened = SourceFile::read(arguments.positional()[0]);
  if (!opened) {
    reporter.report(opened.diagnostics(), nullptr);
    return reporter.status();
  }
  SourceFile& file = **opened;
  reporter.report(file.diagnostics(), &file, true);
  std::string name = arguments.get("--with", "");
  if (name.empty()) {
    const std::vector<std::string> names = workspace::schedule_names(*file.snapshot());
    if (names.size() != 1) {
      return usage_error("diff", names.empty() ? fmt::format("there is no schedule function in `{}`", file.name()) : "the file has several schedule functions: name one with `--with NAME`");
    }
    name = names.front();
  }
  auto run = file.document().run_schedule(name);
  if (!run) {
    reporter.report(run.diagnostics(), &file);
    return reporter.status();
  }
  // The statements that ran are shown even if a later one failed.
  reporter.report(run->all_diagnostics(), &file, true);
  const std::vector<Statement> statements = statements_of(*run, file.locate());
  const std::string program = run->program ? print_script(run->program) : std::string();
  // A range without a statement is a mistake, not "nothing changed".
  if (range && !statements.empty()) {
    uint32_t first = std::ranges::min(statements, {}, &Statement::line).line;
    uint32_t last = std::ranges::max(statements, {}, &Statement::last_line).last_line;
    if (range->from > last || (range->to && *range->to < first)) {
      return usage_error("diff", fmt::format("no statement of `{}` is there: its {} {} in lines {} to {}", name, statements.size(),
                                             statements.size() == 1 ? "statement is" : "statements are", first, last));
    }
  }
  Shown shown(arguments, options);
  if (!range) {
    show_each(shown, statements, program);
  } else if (!range->is_single) {
    show_range(shown, statements, *range, program);
  } else if (!show_single(shown, statements, range->from, program)) {
    return usage_error("diff", fmt::format("no statement of `{}` is in line {} or above", name, range->from));
  }
  return reporter.errors() > 0 ? reporter.status() : exit_done;
}

}  // namespace loopsmith::driver::commands
