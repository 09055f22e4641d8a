// `loopsmith print FILE`: the programs of a file as the compiler understood them, printed as script.
#include <fmt/format.h>

#include "driver/command.h"
#include "driver/program.h"
#include "support/codes.h"

namespace loopsmith::driver::commands {
namespace {

const Usage usage{
    .command = "print",
    .arguments = "FILE [--function F] [--dialect block|sblock] [--comments types|regions]",
    .summary = "Parses, checks, and prints programs as script in the standard form, with all defaults written out.",
    .options = {function_option, dialect_option,
                {.name = "--comments", .value = "WHAT", .help = "adds comments: the types of values, or the regions that loops and blocks touch"}, json_option},
    .examples = {{"loopsmith print matmul.tir", "every program of the file"},
                 {"loopsmith print matmul.tir --function matmul --dialect sblock", "one, in the spelling of recent TVM"}},
    .least = 1,
    .most = 1,
};

}  // namespace

auto print(std::vector<std::string> args) -> int {
  auto read = read_arguments(usage, args);
  if (const int* status = std::get_if<int>(&read)) { return *status; }
  const auto& arguments = std::get<Arguments>(read);
  std::optional<Dialect> dialect;
  if (!read_dialect("print", arguments, dialect)) { return exit_usage; }
  if (std::string comments = arguments.get("--comments", "types"); comments != "types" && comments != "regions") {
    return usage_error("print", fmt::format("`--comments` is types or regions, not `{}`", comments));
  }
  Reporter reporter(arguments);
  if (arguments.has("--function")) {
    auto picked = pick(arguments, {.path = arguments.positional()[0], .ill_formed = true}, reporter);
    if (const int* status = std::get_if<int>(&picked)) { return *status; }
    int status = print_module(std::get<Selection>(picked).module, arguments);
    return reporter.errors() ? reporter.status() : status;
  }
  auto file = SourceFile::read(arguments.positional()[0]);
  if (!file) {
    reporter.report(file.diagnostics(), nullptr);
    return reporter.status();
  }
  // Errors, and programs that are left out because they are not known.
  Diagnostics shown = (*file)->diagnostics();
  std::erase_if(shown, [](const Diagnostic& d) { return d.severity != Severity::Error && d.code != Code::NotChecked && d.code != Code::OtherLanguage; });
  reporter.report(shown, file->get());
  bool first = true;
  std::vector<workspace::Program> programs = workspace::top_programs(*(*file)->snapshot());
  for (workspace::Program& inner : workspace::inner_programs(*(*file)->snapshot())) { programs.push_back(std::move(inner)); }
  for (const workspace::Program& program : programs) {
    if (!program.module) { continue; }
    if (!first && !arguments.json()) { fmt::print("\n\n"); }
    first = false;
    if (int status = print_module(program.module, arguments); status != exit_done) { return status; }
  }
  return reporter.errors() ? reporter.status() : static_cast<int>(exit_done);
}

}  // namespace loopsmith::driver::commands
