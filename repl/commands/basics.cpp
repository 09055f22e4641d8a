// Commands that move about: help, load, programs, with, undo, redo, goto, steps, target, quit.
#include <algorithm>

#include "repl/commands.h"
#include "schedule/primitive.h"
#include "script/reference.h"

namespace loopsmith::repl {
namespace {

auto number(const std::vector<std::string>& arguments, size_t otherwise, size_t& out) -> bool {
  out = otherwise;
  if (arguments.empty()) { return true; }
  out = 0;
  for (char c : arguments[0]) {
    if (c < '0' || c > '9' || out > 1000000) { return false; }
    out = out * 10 + static_cast<size_t>(c - '0');
  }
  return true;
}

auto pad(std::string text, size_t width) -> std::string {
  if (text.size() < width) { text.resize(width, ' '); }
  return text;
}

auto help(Session& session, const std::vector<std::string>& arguments) -> bool {
  if (!arguments.empty()) {
    std::string name = arguments[0];
    if (name.starts_with("sch.")) { name = name.substr(4); }
    if (name.starts_with(":")) { name = name.substr(1); }
    if (const schedule::Primitive* p = schedule::find_primitive(name)) {
      session.print(script::reference_help(*p));
      return true;
    }
    if (const Command* c = find_command(name)) {
      session.print(":" + std::string(c->name) + " " + std::string(c->arguments) + "\n  " + std::string(c->summary) + "\n");
      return true;
    }
    session.complain("there is no primitive or command `" + name + "`\n");
    return false;
  }
  session.print("Lines are script: `i, j, k = sch.get_loops(\"C\")`, `sch.split(i, factors=[None, 8])`. What a step changed is\n"
                "shown; end the line with `;` to keep it quiet. `?split` explains a primitive.\n\n");
  for (const Command& c : all_commands()) {
    session.print("  :" + pad(std::string(c.name) + " " + std::string(c.arguments), 24) + " " + std::string(c.summary) + "\n");
  }
  session.print("\nprimitives: ");
  size_t column = 12;
  for (const schedule::Primitive* p : schedule::all_primitives()) {
    if (column + p->name.size() + 1 > session.host().width) {
      session.print("\n  ");
      column = 2;
    }
    session.print(std::string(p->name) + " ");
    column += p->name.size() + 1;
  }
  session.print("\n");
  return true;
}

auto load(Session& session, const std::vector<std::string>& arguments) -> bool {
  if (arguments.size() != 1) {
    session.complain(":load takes a file\n");
    return false;
  }
  if (!session.load(arguments[0])) { return false; }
  session.print("program `" + session.program_name().str() + "` of " + session.path() + "\n");
  return true;
}

auto programs(Session& session, const std::vector<std::string>& arguments) -> bool {
  if (!needs_program(session)) { return false; }
  if (!arguments.empty()) { return session.begin(arguments[0]); }
  for (size_t i = 0; i < session.file().size(); ++i) {
    const frontend::Declaration& d = session.file().declaration(i);
    if (!d.is_program) { continue; }
    session.print(std::string(d.item->name == session.program_name().view() ? "* " : "  ") + d.item->name.str() + "\n");
    for (const script::FileSchedule& s : session.schedules().all()) {
      if (s.program_decl == d.item->decl) { session.print("      " + s.name.str() + "\n"); }
    }
  }
  return true;
}

auto with(Session& session, const std::vector<std::string>& arguments) -> bool {
  if (!needs_program(session)) { return false; }
  if (arguments.size() != 1) {
    session.complain(":with takes the name of a schedule of the file; `:programs` lists them\n");
    return false;
  }
  if (!session.begin("", arguments[0])) { return false; }
  session.print("`" + arguments[0] + "` applied to `" + session.program_name().str() + "`\n");
  return true;
}

auto show_place(const Session& session) -> void {
  const Step& step = session.steps()[session.position()];
  session.print("at step " + std::to_string(session.position()) + " of " + std::to_string(session.steps().size() - 1) +
                (step.line.empty() ? " (the beginning)" : ": " + step.line) + "\n");
}

auto undo(Session& session, const std::vector<std::string>& arguments) -> bool {
  size_t count;
  if (!needs_program(session)) { return false; }
  if (!number(arguments, 1, count)) { session.complain(":undo takes a number\n"); return false; }
  if (count > session.position()) {
    session.complain(session.position() == 0 ? "there is nothing to undo\n" : "there are only " + std::to_string(session.position()) + " steps\n");
    return false;
  }
  session.go_to(session.position() - count);
  show_place(session);
  return true;
}

auto redo(Session& session, const std::vector<std::string>& arguments) -> bool {
  size_t count;
  if (!needs_program(session)) { return false; }
  if (!number(arguments, 1, count)) { session.complain(":redo takes a number\n"); return false; }
  if (!session.go_to(session.position() + count)) { session.complain("there is nothing to redo\n"); return false; }
  show_place(session);
  return true;
}

auto go_to(Session& session, const std::vector<std::string>& arguments) -> bool {
  size_t step;
  if (!needs_program(session)) { return false; }
  if (arguments.size() != 1 || !number(arguments, 0, step) || !session.go_to(step)) {
    session.complain(":goto takes a step from 0 to " + std::to_string(session.steps().size() - 1) + "; `:steps` lists them\n");
    return false;
  }
  show_place(session);
  return true;
}

auto steps(Session& session, const std::vector<std::string>&) -> bool {
  if (!needs_program(session)) { return false; }
  for (size_t i = 0; i < session.steps().size(); ++i) {
    const Step& step = session.steps()[i];
    session.print(std::string(i == session.position() ? "> " : "  ") + pad(std::to_string(i), 4) + (step.line.empty() ? "(the beginning)" : step.line) +
                  "\n");
  }
  return true;
}

auto target(Session& session, const std::vector<std::string>& arguments) -> bool {
  if (!arguments.empty()) {
    std::string text;
    for (const std::string& word : arguments) { text += (text.empty() ? "" : " ") + word; }
    auto parsed = target::parse(text);
    if (!parsed.ok()) {
      session.report(parsed.diagnostics());
      return false;
    }
    session.set_target(*parsed);
  }
  session.print(session.target().str() + "\n");
  return true;
}

auto quit(Session& session, const std::vector<std::string>&) -> bool {
  session.quit();
  return true;
}

}  // namespace

const Command help_command{"help", "[NAME]", "this list, or what a primitive or command does", help};
const Command load_command{"load", "FILE", "reads a file and begins with its first program", load};
const Command programs_command{"programs", "[NAME]", "programs and schedules of the file; begins with another one", programs};
const Command with_command{"with", "SCHEDULE", "begins with a schedule of the file applied", with};
const Command undo_command{"undo", "[N]", "takes back the last step, or N", undo};
const Command redo_command{"redo", "[N]", "does it again", redo};
const Command goto_command{"goto", "N", "goes to a step", go_to};
const Command steps_command{"steps", "", "what was done so far", steps};
const Command target_command{"target", "[TARGET]", "what code is made for", target};
const Command quit_command{"quit", "", "ends the session", quit};

}  // namespace loopsmith::repl
