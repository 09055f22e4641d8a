// `loopsmith print FILE`: prints the programs of a file as script, as the compiler parsed them.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "driver/command.h"
#include "driver/program.h"
#include "support/codes.h"
#include "workspace/edits/migration.h"

namespace loopsmith::driver::commands {
namespace {

// Removes `columns` blanks from the beginning of each line but the first.
auto unindented(const std::string& text, size_t columns) -> std::string {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = std::string_view(text).substr(at, end - at);
    size_t blanks = std::min(line.find_first_not_of(' '), line.size());
    out += at == 0 ? line : line.substr(std::min(blanks, columns));
    if (end < text.size()) { out += '\n'; }
    at = end + 1;
  }
  return out;
}

const Usage usage{
    .command = "print",
    .arguments = "FILE [--function F] [--dialect D] [--comments types|regions]",
    .summary = "Parses, checks, and prints programs as script in the standard form, with all defaults written out.",
    .options = {function_option, dialect_option,
                {.name = "--comments", .value = "WHAT", .help = "adds comments: the types of values, or the regions that loops and blocks touch"}, json_option},
    .examples = {{"loopsmith print matmul.tir", "every program of the file"},
                 {"loopsmith print matmul.tir --function matmul --dialect sblock", "one, in the spelling of recent TVM"}},
    .least = 1,
    .most = 1,
};

// The text of a program whose meaning is unknown, in the words of the requested dialect, if any; without its indentation.
auto as_written(const SourceFile& file, const workspace::Program& program, std::optional<Dialect> dialect) -> std::string {
  const syntax::Document& document = file.snapshot()->syntax();
  std::optional<Span> found;
  for (const syntax::PlacedItem& placed : document.items()) {
    for (syntax::StmtPtr s : placed.item->statements) {
      syntax::walk(*s, [&](const syntax::Node& n) {
        const auto* def = n.as<syntax::FunctionDef>();
        const auto* of = n.as<syntax::ClassDef>();
        if (!def && !of) { return true; }
        Span name = def ? def->name.span : of->name.span;
        bool is_it = program.is_inside ? n.decl == program.where.decl && name.begin == program.where.begin : n.decl == program.decl;
        if (is_it && !found) { found = document.resolve(n.origin()); }
        return !found;
      });
    }
  }
  if (!found) { return {}; }
  const std::string& text = document.text();
  size_t line = text.rfind('\n', found->begin);
  std::string out = unindented(text.substr(found->begin, found->end - found->begin), found->begin - (line == std::string::npos ? 0 : line + 1));
  if (!dialect) { return out; }
  syntax::Document alone(out + "\n");
  std::string made = workspace::with_edits(alone.text(), workspace::migrate(alone, file.name(), *dialect).edits);
  return made.substr(0, made.find_last_not_of('\n') + 1);
}

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
  // Reports errors, and the programs that are left out because their meaning is unknown.
  Diagnostics shown = (*file)->diagnostics();
  std::erase_if(shown, [](const Diagnostic& d) { return d.severity != Severity::Error && d.code != Code::NotChecked && d.code != Code::UnknownMeaning && d.code != Code::OtherLanguage; });
  reporter.report(shown, file->get());
  bool first = true;
  std::vector<workspace::Program> programs = workspace::top_programs(*(*file)->snapshot());
  for (workspace::Program& inner : workspace::inner_programs(*(*file)->snapshot())) { programs.push_back(std::move(inner)); }
  for (const workspace::Program& program : programs) {
    std::string written = program.module || program.has_errors ? std::string() : as_written(**file, program, dialect);
    if (!program.module && written.empty()) { continue; }
    if (!first && !arguments.json()) { fmt::print("\n\n"); }
    first = false;
    if (!program.module) {
      if (arguments.json()) { written = nlohmann::json({{"text", written}}).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace); }
      fmt::print("{}\n", written);
      continue;
    }
    if (int status = print_module(program.module, arguments); status != exit_done) { return status; }
  }
  return reporter.errors() ? reporter.status() : static_cast<int>(exit_done);
}

}  // namespace loopsmith::driver::commands
