// Commands that show the program: print, diff, trace, save, lower, llvm, asm, kernels.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "codegen/llvm/codegen.h"
#include "ir/printer.h"
#include "ir/script_diff.h"
#include "ir/vocabulary.h"
#include "lsp/features/stages.h"
#include "repl/apart.h"
#include "repl/attached.h"
#include "repl/commands.h"
#include "support/files.h"
#include "syntax/document.h"
#include "syntax/python_schedule.h"
#include "target/gpu.h"
#include "transform/pipelines.h"
#include "workspace/edits/placing.h"

namespace loopsmith::repl {
namespace {

// If a program is longer than the screen, its parts that the last change left unchanged are folded; `:print all` shows every line, `:print i` the
// body of a loop or block.
auto print(Session& session, const std::vector<std::string>& arguments) -> bool {
  if (!needs_program(session)) { return false; }
  if (arguments.size() > 1) {
    session.complain(":print takes `all`, or a loop or block\n");
    return false;
  }
  if (!arguments.empty() && arguments[0] != "all") {
    const schedule::Place* place = session.place_that_is_meant(arguments[0]);
    if (place == nullptr) {
      session.complain(session.no_place(arguments[0]));
      return false;
    }
    session.show(session.colored(place->is_loop() ? print_script(Stmt(place->loop)) : print_script(Stmt(place->realize))) + "\n");
    return true;
  }
  size_t step = session.position();
  while (step != 0 && !session.steps()[step].changes_program) { step = session.steps()[step].parent; }
  IRModule before = step == 0 ? IRModule() : session.module_at(session.steps()[step].parent);
  session.show((arguments.empty() ? session.module_folded(before) : session.colored(session.module_text())) + "\n");
  return true;
}

// Compares with the step before, with a given step, or two steps with each other.
auto diff(Session& session, const std::vector<std::string>& arguments) -> bool {
  if (!needs_program(session)) { return false; }
  size_t to = session.position();
  size_t from = session.steps()[to].parent;
  for (size_t i = 0; i < arguments.size() && i < 2; ++i) {
    auto step = session.find_step(arguments[i]);
    if (!step) {
      session.complain(fmt::format(":diff takes steps, by number (0 to {}) or name\n", session.steps().size() - 1));
      return false;
    }
    (i == 0 ? from : to) = *step;
  }
  std::string text = diff_scripts(print_script(session.module_at(from)), print_script(session.module_at(to)), {.context = 3, .color = session.host().color, .width = session.host().width});
  session.show(text.empty() ? fmt::format("nothing changed from step {} to {}\n", from, to) : text);
  return true;
}

auto trace(Session& session, const std::vector<std::string>&) -> bool {
  if (!needs_program(session)) { return false; }
  for (const std::string& line : session.schedule().trace().python_lines()) { session.print(line + "\n"); }
  return true;
}

auto write(Session& session, const std::string& path, const std::string& text, const std::string& report) -> bool {
  if (Status written = write_file(path, text); !written.ok()) {
    session.report(written.diagnostics());
    return false;
  }
  session.wrote(path);
  session.print(report + "\n");
  return true;
}

/// The file is open in an editor, whose text may be newer than the file: the editor writes the schedule into its text.
auto write_in_editor(Session& session, const std::string& before, const std::string& after, const std::string& name) -> bool {
  std::string why = edit_in_editor(session.source(), before, after);
  if (!why.empty()) {
    session.complain("schedule `" + name + "` was not written: " + why + "\n");
    return false;
  }
  session.wrote(session.path());
  session.print("schedule `" + name + "` written into the text in the editor\n");
  return true;
}

/// The reason why the schedule cannot have the name; empty: it can.
auto why_no_name(const std::string& name) -> std::string {
  syntax::Document document("def " + name + "():\n    pass\n");
  bool is_name = !has_errors(document.diagnostics()) && document.items().size() == 1 && document.items()[0].item->name == std::string_view(name);
  return is_name ? std::string() : "`" + name + "` cannot be the name of a function";
}

/// A text of programs as a Python file: with the imports that its programs and a schedule need, and without schedules that use `ls`, which Python
/// does not define.
auto as_python(const Session& session, std::string text) -> std::string {
  if (!session.path().ends_with(".py")) {
    const auto& items = session.document().items();
    for (size_t i = items.size(); i-- > 0;) {
      if (items[i].item->text.find("@ls.") == std::string::npos || items[i].offset >= text.size()) { continue; }
      size_t end = std::min<size_t>(text.find_first_not_of("\r\n", std::min<size_t>(items[i].end(), text.size())), text.size());
      text.erase(items[i].offset, end - items[i].offset);
    }
    while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) { text.pop_back(); }
  }
  syntax::Document document(text);
  syntax::MissingImports missing = syntax::missing_imports(document, syntax::python_form(document));
  return text.insert(missing.offset, missing.lines);
}

auto save(Session& session, const std::vector<std::string>& arguments) -> bool {
  if (!needs_program(session)) { return false; }
  if (arguments.empty() && session.is_attached()) { return save(session, {session.path()}); }
  if (arguments.empty() || arguments.size() > 2) {
    session.complain(":save takes a file, and the name of the schedule function where it is not `session`\n");
    return false;
  }
  std::string name = arguments.size() > 1 ? arguments[1] : "session";
  if (std::string why = why_no_name(name); !why.empty()) {
    session.complain(why + "; `:save " + arguments[0] + " NAME` takes a name of letters, digits and `_`\n");
    return false;
  }
  // The path may name the same file in another spelling.
  std::error_code ignored;
  bool is_own = arguments[0] == session.path() || std::filesystem::equivalent(arguments[0], session.path(), ignored);
  // An unrelated file would be overwritten.
  if (!is_own && !session.has_written(arguments[0]) && std::filesystem::exists(arguments[0], ignored)) {
    session.complain("`" + arguments[0] + "` exists, and this session did not write it; save under another name\n");
    return false;
  }
  // A document: all inputs and answers.
  if (arguments[0].ends_with(".md")) { return write(session, arguments[0], session.as_document(), "the session was written to " + arguments[0] + "; `loopsmith repl --check " + arguments[0] + "` runs it again and compares"); }
  // The schedule is appended to the program's own file; another file gets the program too.
  std::string text, before;
  if (is_own) {
    auto old = read_text(session.source());
    if (!old) {
      session.complain(old.diagnostics().front().message() + "\n");
      return false;
    }
    text = *std::move(old);
    before = text;
  } else {
    text = session.document().text();
  }
  // Replaces the function that this session wrote there before.
  std::string& added = session.added()[{arguments[0], name}];
  size_t there = is_own && !added.empty() ? text.find(added) : std::string::npos;
  std::string behind;
  if (there != std::string::npos) {
    behind = text.substr(there + added.size());
    text.resize(there);
  }
  for (const std::string* part : {&text, &behind}) {
    syntax::Document document(*part);
    bool has = std::any_of(document.items().begin(), document.items().end(), [&](const syntax::PlacedItem& one) { return one.item->name == std::string_view(name); });
    if (!has) { continue; }
    session.complain("" + session.path() + " has a `" + name + "` already; `:save " + arguments[0] + " NAME` gives the schedule another name\n");
    return false;
  }
  bool is_python = arguments[0].ends_with(".py");
  std::string why;
  // In Python, a variable with the program's name hides the program in the whole function.
  const std::string program = session.program_name().str();
  const std::string alias = is_python && session.has_variable(program) ? program + "_program" : std::string();
  std::string function = session.as_function(name, alias.empty() ? program : alias, why);
  if (!why.empty()) {
    session.complain("the steps cannot be written as a schedule: " + why + "; `:save FILE.md` writes all inputs\n");
    return false;
  }
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) { text.pop_back(); }
  if (is_python) {
    text = as_python(session, std::move(text));
    function = (alias.empty() ? "" : alias + " = " + program + std::string(workspace::between_declarations)) + workspace::in_form_of(syntax::Document(text), is_python, function).text;
  }
  std::string saved = workspace::with_edits(text, workspace::appended(text, function, is_python)) + behind;
  if (is_own && session.is_attached()) {
    if (!write_in_editor(session, before, saved, name)) { return false; }
  } else if (!write(session, arguments[0], saved, "schedule `" + name + "` written to " + arguments[0])) {
    return false;
  }
  added = workspace::with_line_breaks(function, workspace::line_break_of(text));
  return true;
}

auto lower(Session& session, const std::vector<std::string>& arguments) -> bool {
  if (!needs_program(session)) { return false; }
  std::string stage = arguments.empty() ? std::string() : arguments[0];
  transform::LowerContext context;
  context.options.async_copies = target::has_async_copies(session.target());
  auto lowered = transform::lower(session.module(), context, {.target_kind = session.target().kind, .until = stage, .on_stage = {}});
  if (!lowered.ok()) {
    session.report(lowered.diagnostics());
    return false;
  }
  session.show(session.colored(print_script(*lowered)) + "\n");
  return true;
}

auto emit(Session& session, codegen::EmitKind kind) -> bool {
  if (!needs_program(session)) { return false; }
  transform::LowerContext context;
  context.options.async_copies = target::has_async_copies(session.target());
  auto lowered = transform::lower(session.module(), context, {.target_kind = session.target().kind, .until = {}, .on_stage = {}});
  if (!lowered.ok()) {
    session.report(lowered.diagnostics());
    return false;
  }
  auto text = codegen::emit(*lowered, session.target(), kind);
  if (!text.ok()) {
    session.report(text.diagnostics());
    return false;
  }
  session.show(*text + "\n");
  return true;
}

/// The kernels of the program now, as text. Without an argument the target chooses the form, CUDA C for targets without kernels.
auto kernels(Session& session, const std::vector<std::string>& arguments) -> bool {
  if (!needs_program(session)) { return false; }
  const std::string_view kind = session.target().kind;
  const std::string form = !arguments.empty() ? arguments[0] : kind == target_kind::opencl ? "opencl" : kind == target_kind::nvptx ? "ptx" : "cuda";
  const auto stage = form == "cuda" || form == "opencl" || form == "ptx" ? lsp::stage_named(form) : std::nullopt;
  if (!stage || arguments.size() > 1) {
    session.complain(":kernels takes `cuda`, `opencl` or `ptx`\n");
    return false;
  }
  const lsp::StageText text = lsp::stage_text(session.module(), *stage, session.program_name().view(), session.target().str());
  if (!text.problems.empty()) {
    session.report(text.problems);
    return false;
  }
  session.show(text.text + (text.text.ends_with("\n") ? "" : "\n"));
  return true;
}

}  // namespace

const Command print_command{"print", "[all | LOOP|BLOCK]", "the program now; where it is longer than the screen, unchanged nests are folded (also :ir)", print};
const Command diff_command{"diff", "[FROM [TO]]", "the change that the last step made, or between steps", diff};
const Command trace_command{"trace", "", "the trace so far, as Python", trace};
const Command save_command{"save", "[FILE [NAME]]", "writes the steps as a schedule function; to a file NAME.md the session as a document that can be checked. In a REPL that an editor opened, without FILE: into the text in the editor", save};
// Runs in a copy of the process, so that Ctrl-C ends it at once, even within a pass.
const Command lower_command{"lower", "[STAGE]", "the program after lowering, or after one stage of it",
                            [](Session& s, const std::vector<std::string>& arguments) { return apart(s, "lowering", [&] { return lower(s, arguments); }); }};
const Command llvm_command{"llvm", "", "LLVM IR", [](Session& s, const std::vector<std::string>&) { return apart(s, "compiling", [&] { return emit(s, codegen::EmitKind::LlvmIR); }); }};
const Command asm_command{"asm", "", "assembly", [](Session& s, const std::vector<std::string>&) { return apart(s, "compiling", [&] { return emit(s, codegen::EmitKind::Assembly); }); }};

const Command kernels_command{"kernels", "[cuda | opencl | ptx]", "the kernels of the program as CUDA C, OpenCL C or PTX; the default is the form of the target",
                              [](Session& s, const std::vector<std::string>& arguments) { return apart(s, "compiling", [&] { return kernels(s, arguments); }); }};

}  // namespace loopsmith::repl
