// The reference page: see reference.h.
#include "workspace/reference.h"

#include <algorithm>
#include <sstream>

#include "ir/printer.h"
#include "schedule/comments.h"
#include "support/codes.h"
#include "workspace/snapshot.h"

namespace loopsmith::workspace {
namespace {

auto indented(std::string_view text, std::string_view by) -> std::string {
  std::string out;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) { out += line.empty() ? "\n" : std::string(by) + line + "\n"; }
  return out;
}

// The body of the one function of a printed module.
auto body_of(const std::string& module) -> std::string {
  std::string out;
  bool is_inside = false;
  std::istringstream lines(module);
  for (std::string line; std::getline(lines, line);) {
    if (is_inside && line.size() > 8) { out += line.substr(8) + "\n"; }
    is_inside = is_inside || line.starts_with("    def ");
  }
  return out;
}

auto kind_in_words(const schedule::Param& param) -> std::string {
  std::string one;
  switch (param.kind) {
    case schedule::ValueKind::Block: one = "block"; break;
    case schedule::ValueKind::Loop: one = "loop"; break;
    case schedule::ValueKind::BlockOrLoop: one = "block or loop"; break;
    case schedule::ValueKind::Int: one = "int"; break;
    case schedule::ValueKind::OptionalInt: one = "int or None"; break;
    case schedule::ValueKind::Bool: one = "bool"; break;
    case schedule::ValueKind::Float: one = "float"; break;
    case schedule::ValueKind::String: one = "str"; break;
    case schedule::ValueKind::IndexMap: one = "index map"; break;
    case schedule::ValueKind::Buffer: one = "buffer, as (\"read\", 0) or by name"; break;
    case schedule::ValueKind::Access: one = "\"read\" or \"write\""; break;
    case schedule::ValueKind::Any: one = param.role == schedule::Role::Decision ? "decision" : "value"; break;
  }
  return param.is_variadic ? one + "s, one after the other" : param.is_list ? "list of " + one : one;
}

}  // namespace

auto run_example(const schedule::Primitive& primitive) -> Result<Example> {
  std::string text = std::string(primitive.example_program) + "\n@ls.schedule(main)\ndef s(sch: tir.Schedule) -> None:\n" +
                     indented(primitive.example_calls, "    ");
  Document document("example.tir", 0, std::move(text));
  document.evaluate();
  SnapshotPtr snapshot = document.snapshot();
  if (Diagnostics found = snapshot->diagnostics(); has_errors(found)) { return found; }
  if (snapshot->schedules().size() != 1) { return error(Code::Internal).arg("what", "an example without a schedule"); }
  LOOPSMITH_TRY(run, document.run_schedule("s"));
  if (Diagnostics found = run.all_diagnostics(); has_errors(found)) { return found; }
  if (!run.result) { return error(Code::Internal).arg("what", "an example that gives no module"); }
  return Example{body_of(print_script(snapshot->schedules()[0].program)), body_of(print_script(run.result->module())), std::string(primitive.example_calls)};
}

auto reference_section(const schedule::Primitive& primitive) -> std::string {
  const schedule::PrimitiveComment* comment = schedule::comment_of(primitive);
  std::string out = "### " + std::string(primitive.name) + "\n\n    sch." + primitive.signature() + "\n\n";
  std::string summary(comment ? comment->summary : primitive.help);
  out += summary + "\n\n";
  if (!primitive.params.empty()) {
    out += "| argument | takes |\n| --- | --- |\n";
    for (const schedule::Param& param : primitive.params) {
      out += "| `" + std::string(param.name) + "` | " + kind_in_words(param) + (param.otherwise ? ", optional" : "") + " |\n";
    }
    out += "\n";
  }
  if (comment && !comment->needs.empty()) { out += "*Needs* " + std::string(comment->needs) + "\n\n"; }
  if (comment && !comment->keeps.empty()) { out += "*Keeps* " + std::string(comment->keeps) + "\n\n"; }
  out += "In a trace it is `" + std::string(primitive.kind) + "`.\n\n";
  if (!primitive.example_program.empty()) {
    if (auto example = run_example(primitive); example.ok()) {
      out += "```python\n" + example->before + "```\n\nwith\n\n```python\n" + example->calls + "\n```\n\n";
      out += example->before == example->after ? "stays as it is.\n\n" : "becomes\n\n```python\n" + example->after + "```\n\n";
    } else {
      out += "(The example does not run: " + example.diagnostics()[0].message() + ")\n\n";
    }
  }
  if (comment && !comment->codes.empty()) {
    out += "Errors:\n\n";
    for (Code code : comment->codes) { out += "- `" + std::string(code_id(code)) + "`: " + std::string(code_text(code)) + "\n"; }
    out += "\n";
  }
  return out;
}

auto reference_page() -> std::string {
  std::string out =
      "# Schedule primitives\n\n"
      "Made from the rows of the primitives by `loopsmith help primitives > docs/primitives.md`; a test compares. Terms are\n"
      "TensorIR's. A primitive that is refused changes nothing; its error names the loops and blocks at fault, the reason and, where one\n"
      "can be found, a call that works instead. Every argument may cause: `parameter-kind` (a value of another kind),\n"
      "`variable-gone` (a loop or block that no longer exists), `missing-argument`, `unexpected-argument`, `too-many-arguments`,\n"
      "`duplicate-argument`.\n\n";
  for (const schedule::Primitive* primitive : schedule::all_primitives()) {
    out += "- [" + std::string(primitive->name) + "](#" + std::string(primitive->name) + "): " + std::string(primitive->help) + "\n";
  }
  out += "\n";
  for (const schedule::Primitive* primitive : schedule::all_primitives()) { out += reference_section(*primitive); }
  while (out.ends_with("\n\n")) { out.pop_back(); }
  return out;
}

auto reference_help(const schedule::Primitive& primitive) -> std::string {
  const schedule::PrimitiveComment* comment = schedule::comment_of(primitive);
  std::string out = "sch." + primitive.signature() + "\n  " + std::string(primitive.help) + "\n";
  auto add = [&](std::string_view word, std::string_view text) {
    if (text.empty()) { return; }
    std::string line = "  " + std::string(word);
    std::istringstream words{std::string(text)};
    for (std::string w; words >> w;) {
      if (line.size() + w.size() > 78) {
        out += line + "\n";
        line = "       ";
      }
      line += " " + w;
    }
    out += line + "\n";
  };
  if (comment) {
    add("needs", comment->needs);
    add("keeps", comment->keeps);
  }
  if (!primitive.example_calls.empty()) { out += "  for example\n" + indented(primitive.example_calls, "    "); }
  return out;
}

}  // namespace loopsmith::workspace
