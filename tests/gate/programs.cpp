// Random programs as text and as modules: see programs.h. program.h writes them.
#include "tests/gate/programs.h"

#include <regex>
#include <sstream>
#include <vector>

#include "frontend/file.h"
#include "intrinsics/registry.h"
#include "ir/equal.h"
#include "ir/printer.h"
#include "support/codes.h"
#include "syntax/document.h"
#include "tests/gate/program.h"

namespace loopsmith::gate {

auto random_program(Random& random) -> Generated { return Program(random).make(); }

auto spelled_recently(const std::string& program) -> std::string {
  static const std::regex blocks(R"(\bT\.(block|alloc_buffer)\()");
  std::string out = std::regex_replace(program, blocks, "T.s$1(");
  static const std::regex allocations(R"(\bT\.salloc_buffer\()");
  return std::regex_replace(out, allocations, "T.sblock_alloc_buffer(");
}

auto with_wide_loops(const std::string& program) -> std::string {
  static const std::regex heads(R"((range|T\.grid)\(([0-9, ]+)\))");
  static const std::regex axes(R"((T\.axis\.(?:spatial|reduce))\(([0-9]+), )");
  static const std::regex number("[0-9]+");
  std::string out;
  auto rest = program.cbegin();
  for (std::sregex_iterator at(program.begin(), program.end(), heads), end; at != end; ++at) {
    out.append(rest, (*at)[0].first);
    out += (*at)[1].str() + "(" + std::regex_replace((*at)[2].str(), number, "T.int64($&)") + ")";
    rest = (*at)[0].second;
  }
  out.append(rest, program.cend());
  return std::regex_replace(out, axes, "$1(T.int64($2), ");
}

auto parse_program(const std::string& text, std::string& problem) -> IRModule {
  syntax::Document document(text);
  frontend::File file;
  file.update(document);
  IRModule module;
  Diagnostics all = document.diagnostics();
  for (size_t i = 0; i < file.size(); ++i) {
    const frontend::Declaration& declaration = file.declaration(i);
    all.insert(all.end(), declaration.diagnostics.begin(), declaration.diagnostics.end());
    if (declaration.is_program && declaration.module) { module = declaration.module; }
  }
  for (const Diagnostic& d : all) {
    // Unrolled loops contain such indices under conditions that are never true.
    if (d.severity == Severity::Error && d.code != Code::IndexOutOfBounds) {
      problem = d.message();
      return {};
    }
  }
  if (!module) { problem = "no program"; }
  return module;
}

auto parse_units(const std::string& text, std::string& problem) -> Units {
  if (text.empty()) { return nullptr; }
  syntax::Document document(text);
  frontend::File file(intrinsics::predeclared);
  file.update(document);
  Diagnostics all = document.diagnostics();
  for (size_t i = 0; i < file.size(); ++i) { all.insert(all.end(), file.declaration(i).diagnostics.begin(), file.declaration(i).diagnostics.end()); }
  auto out = std::make_shared<std::vector<schedule::TensorIntrin>>(intrinsics::registered_in(file, all));
  for (const Diagnostic& d : all) { if (d.severity == Severity::Error) { problem = d.message(); return nullptr; } }
  return out;
}

auto short_text(const IRModule& module) -> std::string {
  PrintOptions options;
  options.header = false;
  options.dialect = module->dialect;
  std::string whole = module->functions.size() == 1 ? print_script(module->functions[0].second, options) : print_script(module, options);
  // Drop lines whose information the parser finds again.
  auto without = [](const std::string& text, const std::vector<std::string>& starts) {
    std::string out;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      size_t at = line.find_first_not_of(' ');
      bool drop = at == std::string::npos;
      for (const std::string& start : starts) { drop = drop || line.compare(at, start.size(), start) == 0; }
      if (!drop) { out += line + "\n"; }
    }
    return out;
  };
  for (const auto& starts : {std::vector<std::string>{"#", "T.reads(", "T.writes(", "T.func_attr("}, std::vector<std::string>{"#", "T.reads(", "T.writes("}, std::vector<std::string>{"#"}}) {
    std::string text = without(whole, starts);
    std::string problem;
    IRModule again = parse_program(text, problem);
    if (!again) { continue; }
    if (starts.size() == 4 || structural_equal(again, module)) {
      if (starts.size() == 4) {
        // The attribute only declares that parameters do not overlap.
        std::string kept = without(whole, {"#", "T.func_attr("});
        IRModule other = parse_program(kept, problem);
        if (!other || !structural_equal(again, other)) { continue; }
      }
      return text;
    }
  }
  return whole;
}

}  // namespace loopsmith::gate
