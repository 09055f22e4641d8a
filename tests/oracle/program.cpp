// Parses program texts into TIR: see program.h.
#include "program.h"

#include "frontend/file.h"
#include "syntax/document.h"

namespace loopsmith::oracle {

auto describe(const Diagnostics& diagnostics) -> std::string {
  for (const Diagnostic& d : diagnostics) {
    if (d.severity == Severity::Error) { return d.message() + " [" + std::string(code_id(d.code)) + "]"; }
  }
  return "(no error given)";
}

auto parse_program(const std::string& text) -> Parsed {
  static std::string last_text;
  static Parsed last;
  if (text == last_text) { return last; }
  syntax::Document document(text);
  frontend::File file;
  file.update(document);
  Parsed out;
  Diagnostics all = document.diagnostics();
  for (size_t i = 0; i < file.size(); ++i) {
    const frontend::Declaration& declaration = file.declaration(i);
    all.insert(all.end(), declaration.diagnostics.begin(), declaration.diagnostics.end());
    if (declaration.is_program && declaration.module) { out.module = declaration.module; }
  }
  if (!out.module || has_errors(all)) {
    out.problem = describe(all);
    for (const Diagnostic& d : all) {
      if (d.severity != Severity::Error) { continue; }
      if (auto span = document.resolve(d.where)) {
        SourceText source("", text);
        out.problem = "line " + std::to_string(source.line_column(span->begin).line + 1) + ": " + out.problem;
      }
      break;
    }
  }
  last_text = text;
  last = out;
  return out;
}

}  // namespace loopsmith::oracle
