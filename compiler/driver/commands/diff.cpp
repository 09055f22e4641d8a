// `loopsmith diff FILE --with NAME [A..B]`: what the statements of a schedule changed in the program.
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
    .summary = "Shows what a schedule changed: statement by statement, or between two lines of the file.",
    .details = "A and B are lines: the program after the statements up to line A is compared with the one after those up to line B. `..B`\n"
               "begins with the program as written, `A..` ends with the last statement, a single line is what its statement did.",
    .options = {with_option, {.name = "--context", .value = "N", .help = "unchanged lines around a change; 3"}, json_option},
    .examples = {{"loopsmith diff matmul.tir --with matmul_blocked", "each statement with its changes"},
                 {"loopsmith diff matmul.tir --with matmul_blocked 24..28", "what lines 25 to 28 did together"},
                 {"loopsmith diff matmul.tir --with matmul_blocked ..", "the whole schedule at once"}},
    .least = 1,
    .most = 2,
};

struct Statement {
  uint32_t line = 0;       // of its first byte, from 1
  uint32_t last_line = 0;  // of its last
  std::string text;        // its first line
  std::string after;       // the module, printed; empty: it did not run
};

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
  // A, B: lines; 0: before the first statement; none: the last.
  bool is_range = arguments.positional().size() == 2;
  uint32_t from = 0;
  std::optional<uint32_t> to;
  bool is_single = false;
  if (is_range) {
    std::string range = arguments.positional()[1];
    size_t dots = range.find("..");
    auto line = [](std::string_view text) { return parse_number(text, 1, 100'000'000); };
    std::string_view left = std::string_view(range).substr(0, dots);
    std::string_view right = dots == std::string::npos ? std::string_view() : std::string_view(range).substr(dots + 2);
    is_single = dots == std::string::npos;
    auto a = line(left);
    auto b = line(right);
    if ((!left.empty() && !a) || (!right.empty() && !b)) { return usage_error("diff", fmt::format("`{}` is no range of lines, as `24..28`", range)); }
    if (a) { from = static_cast<uint32_t>(*a); }
    if (b) { to = static_cast<uint32_t>(*b); }
    if (to && *to < from) { return usage_error("diff", fmt::format("`{}` ends before it begins", range)); }
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
  // What ran is shown even where a later statement failed.
  reporter.report(run->all_diagnostics(), &file, true);
  std::vector<Statement> statements;
  Locate locate = file.locate();
  for (const script::Step& step : run->steps) {
    auto where = locate(step.where);
    if (!where || where->text == nullptr) { continue; }
    auto at = where->text->line_column(where->span.begin);
    std::string text(where->text->line_text(at.line).substr(at.column));
    uint32_t last_line = where->text->line_column(where->span.end).line + 1;
    statements.push_back({at.line + 1, last_line, std::move(text), step.after != nullptr ? print_script(step.after->module()) : std::string()});
  }
  // Lines that no statement reaches: asked for by mistake, not "nothing changed".
  if (is_range && !statements.empty()) {
    uint32_t first = std::ranges::min(statements, {}, &Statement::line).line;
    uint32_t last = std::ranges::max(statements, {}, &Statement::last_line).last_line;
    if (from > last || (to && *to < first)) {
      return usage_error("diff", fmt::format("no statement of `{}` is there: its {} {} in lines {} to {}", name, statements.size(),
                                             statements.size() == 1 ? "statement is" : "statements are", first, last));
    }
  }
  std::string program = run->program ? print_script(run->program) : std::string();

  auto show = [&](const std::string& title, uint32_t line, const std::string& before, const std::string& after) {
    if (arguments.json()) {
      auto count = count_diff(diff_lines(before, after));
      fmt::print("{}\n", nlohmann::json({{"line", line}, {"statement", title}, {"added", count.added}, {"removed", count.removed},
                                         {"diff", diff_scripts(before, after, {.context = options.context})}})
                             .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
      return;
    }
    std::string changes = diff_scripts(before, after, options);
    if (!title.empty()) { fmt::print("{}{}{}\n", options.color ? "\033[1m" : "", title, options.color ? "\033[0m" : ""); }
    fmt::print("{}", changes.empty() ? (title.empty() ? "nothing changed\n" : "") : changes);
  };
  if (is_single) {
    // The statement of that line, against the one before it.
    const Statement* found = nullptr;
    std::string before = program;
    for (const Statement& statement : statements) {
      if (statement.line > from) { break; }
      if (found != nullptr && !found->after.empty()) { before = found->after; }
      found = &statement;
    }
    if (found == nullptr) { return usage_error("diff", fmt::format("no statement of `{}` is in line {} or above", name, from)); }
    show(fmt::format("{}: {}", found->line, found->text), found->line, before, found->after.empty() ? before : found->after);
  } else if (is_range) {
    std::string before = program;
    std::string after = program;
    for (const Statement& statement : statements) {
      if (statement.after.empty()) { break; }
      if (statement.line <= from) { before = statement.after; }
      if (!to || statement.line <= *to) { after = statement.after; }
    }
    show("", to.value_or(0), before, after);
  } else {
    std::string before = program;
    for (const Statement& statement : statements) {
      if (statement.after.empty()) { break; }
      show(fmt::format("{}: {}", statement.line, statement.text), statement.line, before, statement.after);
      before = statement.after;
    }
  }
  return reporter.errors() > 0 ? reporter.status() : exit_done;
}

}  // namespace loopsmith::driver::commands
