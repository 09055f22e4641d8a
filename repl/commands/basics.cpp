// Commands that navigate in the session: help, load, programs, with, undo, redo, goto, steps, tree, branch, set, watch, target, quit.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>

#include "codegen/llvm/codegen.h"
#include "cost/estimate.h"
#include "ir/equal.h"
#include "ir/script_diff.h"
#include "ir/vocabulary.h"
#include "repl/commands.h"
#include "repl/effects.h"
#include "repl/text.h"
#include "schedule/moves.h"
#include "schedule/primitive.h"
#include "script/refusals.h"
#include "support/files.h"
#include "support/text.h"
#include "target/gpu.h"
#include "workspace/reference.h"

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

// Lists the calls of a primitive that are legal in this state: the first one at each loop and block, numbered, with its effect; then the number of
// places that refuse it, with the reason at the first. With the name of a loop or block, only the calls there.
auto what_here(Session& session, const schedule::Primitive& primitive, const std::string& place_name) -> bool {
  const schedule::FuncState* func = session.has_program() ? session.schedule().state().func(session.function()) : nullptr;
  if (func == nullptr || !func->is_schedulable() || primitive.is_pure) { return true; }
  const schedule::Place* only = place_name.empty() ? nullptr : session.place_that_is_meant(place_name);
  if (only == nullptr && !place_name.empty()) {
    session.complain(session.no_place(place_name));
    return false;
  }
  auto name_of = [&](const schedule::Place& place) { return session.name_of(place); };
  const eval::Scope& scope = *session.steps()[session.position()].frame.scope;
  auto is_taken = [&](std::string_view name) { return scope.find_here(Name(name)) != nullptr; };
  const cost::CoreModel core = cost::core_of(session.target());
  constexpr size_t most_shown = 6;
  std::string out;
  std::vector<std::string> choices;
  size_t legal = 0;
  size_t refused = 0;
  std::string why;
  CancelToken token = session.interrupt();
  for (const schedule::Place& place : func->places()) {
    if (token.is_cancelled()) {
      session.complain("stopped\n");
      return false;
    }
    if (place.parent < 0 || (only != nullptr && only != &place)) { continue; }
    std::vector<schedule::JudgedMove> moves = schedule::moves_at(session.schedule().state(), *func, place, &primitive);
    bool any = false;
    for (const schedule::JudgedMove& judged : moves) {
      if (!judged.is_legal()) { continue; }
      ++legal;
      if (any && only == nullptr) { continue; }
      any = true;
      if (choices.size() == most_shown) { continue; }
      auto tried = schedule::try_move(session.schedule(), judged.move, name_of, is_taken);
      if (!tried.ok() || tried->after.module().same_as(session.module())) { continue; }
      choices.push_back(tried->statement);
      const schedule::FuncState* after = tried->after.state().func(session.function());
      std::string gain = after != nullptr ? cost::gain_text(cost::gain(*func, *after, core).value_or(1)) : std::string();
      std::string about = describe_effect(session.schedule(), tried->after).changes;
      if (about.empty()) { about = structural_equal(tried->after.module(), session.module()) ? "changes nothing" : "the loops stay as they are"; }
      if (!gain.empty()) { about += "; " + gain + " by estimate"; }
      out += fmt::format("  {:>3}) {}\n", choices.size(), tried->statement) + list_row("", about, 9, session.host().width);
    }
    if (!any && !moves.empty()) {
      if (refused++ == 0) { why = moves.front().why.front().message(); }
    }
  }
  std::string where = place_name.empty() ? "here" : "at " + place_name;
  if (legal == 0 && refused == 0) {
    session.print("  " + where + "  it applies to nothing\n");
    return true;
  }
  std::string head = legal == 0 ? "  " + where + "  refused" : fmt::format("  {}  {} call{} legal{}", where, legal, legal == 1 ? " is" : "s are", legal > choices.size() ? ", such as" : "");
  out = head + "\n" + out;
  if (refused > 0) {
    std::string at = only != nullptr || legal == 0 ? std::string() : fmt::format("refused at {}, first: ", count_text(static_cast<int64_t>(refused), "other place"));
    out += "  not  " + wrapped(at + why, session.host().width > 40 ? session.host().width - 7 : 33, 7);
  }
  session.show(out);
  session.offer(std::move(choices));
  return true;
}

auto help(Session& session, const std::vector<std::string>& arguments) -> bool {
  if (!arguments.empty()) {
    std::string name = arguments[0];
    if (name.starts_with("sch.")) { name = name.substr(4); }
    if (name.starts_with(":")) { name = name.substr(1); }
    if (const schedule::Primitive* p = schedule::find_primitive(name)) {
      session.show(workspace::reference_help(*p));
      return what_here(session, *p, arguments.size() > 1 ? arguments[1] : std::string());
    }
    if (const Command* c = find_command(name)) {
      session.print(":" + std::string(c->name) + " " + std::string(c->arguments) + "\n  " + std::string(c->summary) + "\n");
      return true;
    }
    session.complain("`" + name + "` is neither a primitive nor a command\n");
    return false;
  }
  std::string text =
      wrapped("Lines are script: `i, j, k = sch.get_loops(\"C\")`, `sch.split(i, factors=[None, 8])`. The change of each step is "
              "shown; a `;` at the end of the line keeps it quiet. `?split` explains a primitive and lists its legal calls, `??i` lists the "
              "steps that made a loop, `;ls` runs in the shell, `]64` searches in the background. `_` is the value of the last line, `_err` "
              "the last failure.", session.host().width) + "\n";
  for (const Command& c : all_commands()) {
    text += list_row("  :" + std::string(c.name) + (c.arguments.empty() ? "" : " ") + std::string(c.arguments), c.summary, 26, session.host().width);
  }
  text += "\nprimitives: ";
  size_t column = 12;
  for (const schedule::Primitive* p : schedule::all_primitives()) {
    if (column + p->name.size() + 1 > session.host().width) {
      text += "\n  ";
      column = 2;
    }
    text += std::string(p->name) + " ";
    column += p->name.size() + 1;
  }
  session.show(text + "\n");
  return true;
}

auto load(Session& session, const std::vector<std::string>& arguments) -> bool {
  if (arguments.size() != 1) {
    session.complain(":load takes a file\n");
    return false;
  }
  // A file that is no program is a transcript, or lines of input.
  if (!arguments[0].ends_with(".tir") && !arguments[0].ends_with(".py")) {
    auto text = read_text(arguments[0]);
    if (!text) {
      session.complain(text.diagnostics().front().message() + "\n");
      return false;
    }
    return session.run_lines(*text);
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
  // Programs that a function of Python contains or makes are listed with their schedules.
  for (const script::FileSchedule& s : session.schedules().all()) {
    bool is_listed = false;
    for (size_t i = 0; i < session.file().size(); ++i) { is_listed = is_listed || (session.file().declaration(i).is_program && session.file().declaration(i).item->decl == s.program_decl); }
    if (is_listed || !s.program) { continue; }
    bool is_here = session.original().same_as(s.program);
    session.print(fmt::format("{} {} (for `:with {}`)\n", is_here ? "*" : " ", s.program_name.str().empty() ? std::string("a program") : s.program_name.str(), s.name.view()));
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
  const SessionStep& step = session.steps()[session.position()];
  session.print(fmt::format("at step {}{}: {}\n", session.position(), step.label.empty() ? "" : " (" + step.label + ")",
                            step.line.empty() ? "the beginning" : script::one_line(step.line)));
}

auto undo(Session& session, const std::vector<std::string>& arguments) -> bool {
  size_t count;
  if (!needs_program(session)) { return false; }
  if (!number(arguments, 1, count)) { session.complain(":undo takes a number\n"); return false; }
  std::vector<size_t> path = session.path_to(session.position());
  if (count >= path.size()) {
    session.complain(path.size() == 1 ? "there is nothing to undo\n" : fmt::format("only {} can be undone\n", count_text(static_cast<int64_t>(path.size() - 1), "step")));
    return false;
  }
  // `:redo` goes back the same way.
  session.go_to(path[path.size() - 1 - count]);
  show_place(session);
  return true;
}

auto redo(Session& session, const std::vector<std::string>& arguments) -> bool {
  size_t count;
  if (!needs_program(session)) { return false; }
  if (!number(arguments, 1, count)) { session.complain(":redo takes a number\n"); return false; }
  size_t at = session.position();
  for (size_t i = 0; i < count; ++i) {
    if (session.steps()[at].next == 0) { session.complain("there is nothing to redo\n"); return false; }
    at = session.steps()[at].next;
  }
  session.go_to(at);
  show_place(session);
  return true;
}

auto go_to(Session& session, const std::vector<std::string>& arguments) -> bool {
  if (!needs_program(session)) { return false; }
  auto step = arguments.size() == 1 ? session.find_step(arguments[0]) : std::nullopt;
  if (!step) {
    session.complain(fmt::format(":goto takes a step from 0 to {}, or the name of one; `:tree` shows them\n", session.steps().size() - 1));
    return false;
  }
  session.go_to(*step);
  show_place(session);
  return true;
}

auto steps(Session& session, const std::vector<std::string>&) -> bool {
  if (!needs_program(session)) { return false; }
  for (size_t i : session.path_to(session.position())) {
    const SessionStep& step = session.steps()[i];
    session.print(fmt::format("{} {:<4}{}\n", i == session.position() ? ">" : " ", i, step.line.empty() ? "(the beginning)" : script::one_line(step.line)));
  }
  return true;
}

/// The tree for screen readers: a sentence for each step, with the steps that follow it.
auto spoken_tree(const Session& session, const std::vector<std::vector<size_t>>& below) -> std::string {
  std::string out;
  for (size_t i = 0; i < session.steps().size(); ++i) {
    const SessionStep& step = session.steps()[i];
    std::string text = fmt::format("Step {}", i);
    if (i == session.position()) { text += ", where you are"; }
    if (!step.label.empty()) { text += ", named " + step.label; }
    if (step.seconds > 0) { text += ", timed at " + duration_text(step.seconds); }
    text += step.line.empty() ? ": the beginning." : ": " + script::one_line(step.line) + ".";
    if (i > 0 && step.parent + 1 != i) { text += fmt::format(" It follows step {}.", step.parent); }
    const std::vector<size_t>& next = below[i];
    if (next.size() > 1) {
      text += fmt::format(" It is followed by steps {}", next[0]);
      for (size_t j = 1; j < next.size(); ++j) { text += fmt::format("{} {}", j + 1 == next.size() ? " and" : ",", next[j]); }
      text += ".";
    } else if (next.empty()) {
      text += i == session.position() ? " No step follows it." : " No step follows it; " + fmt::format("`:goto {}` goes there.", i);
    }
    out += wrapped(text, session.host().width) ;
  }
  return out;
}

// Steps of one branch are printed at the same indentation; at a fork, every branch is indented.
auto tree(Session& session, const std::vector<std::string>&) -> bool {
  if (!needs_program(session)) { return false; }
  std::vector<std::vector<size_t>> below(session.steps().size());
  for (size_t i = 1; i < session.steps().size(); ++i) { below[session.steps()[i].parent].push_back(i); }
  if (session.settings().plain) {
    session.show(spoken_tree(session, below));
    return true;
  }
  bool ascii = session.settings().ascii;
  std::string out;
  struct Entry { size_t step; std::string lead; std::string branch; };
  std::vector<Entry> pending = {{0, "", ""}};
  while (!pending.empty()) {
    Entry entry = std::move(pending.back());
    pending.pop_back();
    const SessionStep& step = session.steps()[entry.step];
    std::string line = fmt::format("{} {}{}{:<3} {}", entry.step == session.position() ? ">" : " ", entry.lead, entry.branch, entry.step,
                                   step.line.empty() ? "(the beginning)" : script::one_line(step.line));
    if (!step.label.empty()) { line += "  [" + step.label + "]"; }
    if (step.seconds > 0) { line += "  " + duration_text(step.seconds); }
    out += line + "\n";
    std::string lead = entry.lead;
    if (!entry.branch.empty()) { lead += entry.branch == (ascii ? "`- " : "└─ ") ? "   " : ascii ? "|  " : "│  "; }
    const std::vector<size_t>& children = below[entry.step];
    for (size_t i = children.size(); i-- > 0;) {
      bool is_last = i + 1 == children.size();
      std::string branch = children.size() == 1 ? "" : is_last ? (ascii ? "`- " : "└─ ") : (ascii ? "|- " : "├─ ");
      pending.push_back({children[i], lead, std::move(branch)});
    }
  }
  session.show(out);
  return true;
}

auto branch(Session& session, const std::vector<std::string>& arguments) -> bool {
  if (!needs_program(session)) { return false; }
  if (arguments.empty()) {
    bool any = false;
    for (size_t i = 0; i < session.steps().size(); ++i) {
      const SessionStep& step = session.steps()[i];
      if (step.label.empty()) { continue; }
      any = true;
      session.print(fmt::format("{} {:<16} step {}{}\n", i == session.position() ? ">" : " ", step.label, i, step.seconds > 0 ? ", " + duration_text(step.seconds) : ""));
    }
    if (!any) { session.print("no step has a name; `:branch NAME` names this one\n"); }
    return true;
  }
  const std::string& name = arguments[0];
  if (arguments.size() > 1 || (name[0] >= '0' && name[0] <= '9')) {
    session.complain(":branch takes one name that does not begin with a digit\n");
    return false;
  }
  session.label(name);
  session.print(fmt::format("step {} is `{}`; `:goto {}` returns to it\n", session.position(), name, name));
  return true;
}

auto set(Session& session, const std::vector<std::string>& arguments) -> bool {
  Settings& settings = session.settings();
  struct Row { const char* name; bool* flag; size_t* number; const char* what; };
  size_t height = session.height();
  const Row rows[] = {{"diff", &settings.diff, nullptr, "show the change of each step"},
                      {"context", nullptr, &settings.context, "unchanged lines around a change"},
                      {"pager", &settings.pager, nullptr, "show long answers a screen at a time, on a terminal"},
                      {"ascii", &settings.ascii, nullptr, "draw trees with plain characters"},
                      {"plain", &settings.plain, nullptr, "sentences instead of pictures, for screen readers"},
                      {"height", nullptr, &height, "lines of the screen: longer programs are folded; 0: never"}};
  if (arguments.empty()) {
    for (const Row& row : rows) { session.print(fmt::format("  {:<8} {:<4} {}\n", row.name, row.flag ? (*row.flag ? "on" : "off") : std::to_string(*row.number), row.what)); }
    return true;
  }
  for (const Row& row : rows) {
    if (arguments.size() != 2 || arguments[0] != row.name) { continue; }
    size_t value = 0;
    if (row.flag && (arguments[1] == "on" || arguments[1] == "off")) { *row.flag = arguments[1] == "on"; return true; }
    if (row.number && number({arguments[1]}, 0, value) && value <= 1000) {
      *row.number = value;
      if (row.number == &height) { settings.height = height; }
      return true;
    }
    session.complain(fmt::format("`{}` takes {}\n", row.name, row.flag ? "`on` or `off`" : "a number up to 1000"));
    return false;
  }
  session.complain(":set takes a name and a value: `:set diff off`; `:set` alone lists them\n");
  return false;
}

// Loads the file and applies the schedule again whenever the file changes, until Ctrl-C.
auto watch(Session& session, const std::vector<std::string>& arguments) -> bool {
  if (!needs_program(session)) { return false; }
  if (arguments.size() > 1) { session.complain(":watch takes the name of a schedule, or nothing\n"); return false; }
  if (!arguments.empty() && !session.begin("", arguments[0])) { return false; }
  CancelToken token = session.interrupt();
  std::error_code problem;
  auto seen = std::filesystem::last_write_time(session.source(), problem);
  if (problem) { session.complain("cannot watch `" + session.path() + "`: it is not a file\n"); return false; }
  session.print("watching " + session.path() + "; Ctrl-C ends it\n");
  std::string before = session.module_text();
  while (!token.is_cancelled()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    auto now = std::filesystem::last_write_time(session.source(), problem);
    // While an editor saves by renaming, the file is missing for a moment.
    if (problem || now == seen) { continue; }
    seen = now;
    if (!session.reload()) { continue; }
    std::string after = session.module_text();
    std::string diff = diff_scripts(before, after, {.context = session.settings().context, .color = session.host().color, .width = session.host().width});
    session.print(diff.empty() ? "read again: the program is the same\n" : diff);
    before = std::move(after);
  }
  session.print("\n");
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
    const bool is_printed = parsed->kind == target_kind::cuda || parsed->kind == target_kind::opencl;
    if (auto usable = is_printed ? target::check_gpu(*parsed) : codegen::check_target(*parsed); !usable.ok()) {
      session.report(usable.diagnostics());
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

const Command help_command{"help", "[NAME [LOOP|BLOCK]]", "this list, or the explanation of a primitive or command, and the legal calls of a primitive here", help};
const Command load_command{"load", "FILE", "reads a file and begins with its first program; executes the inputs of a transcript", load};
const Command programs_command{"programs", "[NAME]", "lists programs and schedules of the file, or begins with another program", programs};
const Command with_command{"with", "SCHEDULE", "begins with a schedule of the file applied", with};
const Command undo_command{"undo", "[N]", "takes back the last step, or N", undo};
const Command redo_command{"redo", "[N]", "applies an undone step again", redo};
const Command goto_command{"goto", "N|NAME", "goes to a step", go_to};
const Command steps_command{"steps", "", "the steps from the beginning to here", steps};
const Command tree_command{"tree", "", "all steps, with those that were undone", tree};
const Command branch_command{"branch", "[NAME]", "names this step, for `:goto`; lists the names", branch};
const Command set_command{"set", "[NAME VALUE]", "settings of answers", set};
const Command watch_command{"watch", "[SCHEDULE]", "begins again whenever the file is written, and shows the change", watch};
const Command target_command{"target", "[TARGET]", "the target that code is made for", target};
const Command quit_command{"quit", "", "ends the session", quit};

}  // namespace loopsmith::repl
