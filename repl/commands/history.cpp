// Commands for earlier inputs and the form of answers: hist, past, explain, mode, time, shell.
#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>

#include "cost/estimate.h"
#include "repl/answers.h"
#include "repl/commands.h"
#include "repl/text.h"
#include "schedule/loop_tree.h"
#include "schedule/primitive.h"
#include "script/refusals.h"
#include "support/text.h"

namespace loopsmith::repl {
namespace {

/// The number of newest inputs shown without a search.
constexpr size_t shown_at_once = 20;
/// The largest number of inputs that a search shows.
constexpr size_t most_found = 200;

auto joined(const std::vector<std::string>& words) -> std::string {
  std::string out;
  for (const std::string& word : words) { out += (out.empty() ? "" : " ") + word; }
  return out;
}

auto is_blank(std::string_view text) -> bool { return text.find_first_not_of("0123456789 ") == std::string_view::npos; }

// Searches inputs and their effects on the program; every word must occur in one of the two.
auto history(Session& session, const std::vector<std::string>& arguments) -> bool {
  std::vector<Typed> found;
  std::vector<Typed> all = session.history();
  for (size_t i = all.size(); i-- > 0;) {
    const Typed& typed = all[i];
    if (typed.line.starts_with(":hist") || is_blank(typed.line)) { continue; }
    bool fits = std::all_of(arguments.begin(), arguments.end(), [&](const std::string& word) { return typed.line.find(word) != std::string::npos || typed.effect.find(word) != std::string::npos; });
    if (!fits || std::any_of(found.begin(), found.end(), [&](const Typed& one) { return script::one_line(one.line) == script::one_line(typed.line); })) { continue; }
    found.push_back(typed);
    if (found.size() == (arguments.empty() ? shown_at_once : most_found)) { break; }
  }
  if (found.empty()) {
    session.print(arguments.empty() ? "nothing was typed yet\n" : fmt::format("no input contains `{}`, and none had that effect\n", joined(arguments)));
    return true;
  }
  std::string out;
  std::vector<std::string> choices;
  for (size_t i = found.size(); i-- > 0;) {
    out += fmt::format("  {:>3}) {}\n", i + 1, script::one_line(found[i].line));
    // A text that is too long begins at the part with the first word of the search.
    std::string effect = found[i].effect;
    size_t room = session.host().width > 30 ? session.host().width - 10 : 20;
    if (!arguments.empty() && effect.size() > room) {
      size_t at = effect.find(arguments[0]);
      size_t begin = at == std::string::npos || at + arguments[0].size() < room ? 0 : effect.rfind("; ", at);
      if (begin != 0 && begin != std::string::npos) { effect = "... " + effect.substr(begin + 2); }
    }
    if (effect.size() > room) { effect = std::string(first_bytes(effect, room - 3)) + "..."; }
    if (!effect.empty() && !arguments.empty()) { out += "         " + effect + "\n"; }
  }
  for (Typed& one : found) { choices.push_back(std::move(one.line)); }
  if (session.host().can_choose) { out += "type a number to do it again\n"; }
  session.show(out);
  session.offer(std::move(choices));
  return true;
}

// Shows the origin of a loop or block, and each step that changed it; named by the script's variable while that existed, else by the
// program's name.
auto past(Session& session, const std::vector<std::string>& arguments) -> bool {
  if (!needs_program(session)) { return false; }
  if (arguments.size() != 1) {
    session.complain(":past takes the name of a loop or block\n");
    return false;
  }
  const std::string& name = arguments[0];
  std::vector<size_t> path = session.path_to(session.position());
  bool is_of_script = std::any_of(path.begin(), path.end(), [&](size_t step) { return session.variable_at(step, name) != nullptr; });
  const schedule::Place* here = is_of_script ? nullptr : session.place_of(name);
  NodeId id = here != nullptr ? here->id : 0;
  std::string last;
  std::string out;
  for (size_t step : path) {
    const schedule::FuncState* func = session.schedule_at(step).state().func(session.schedule_at(step).func_working_on());
    const schedule::Place* place = is_of_script ? session.variable_at(step, name) : id != 0 && func != nullptr ? func->find(id) : nullptr;
    std::string now = place != nullptr ? schedule::describe(*place) : last.empty() ? std::string() : "is gone";
    if (now == last) { continue; }
    const SessionStep& done = session.steps()[step];
    out += fmt::format("  {:<4}{}\n         {} {}\n", step, done.line.empty() ? "(the beginning)" : script::one_line(done.line), name, now == "is gone" ? now : "is " + now);
    std::string effect = session.effect_of(step).text();
    if (!effect.empty()) { out += "         " + wrapped("by " + effect, session.host().width > 40 ? session.host().width - 9 : 31, 12); }
    last = now;
  }
  if (out.empty()) {
    session.complain("`" + name + "` is not a loop or block here\n");
    return false;
  }
  session.show(out);
  return true;
}

// Explains a schedule as a text: for each step that changed the program, the purpose of its primitives, their effect here, and the estimated
// change of the time; at the end the total. Every number is computed from the states unless it is marked as measured.
auto explain(Session& session, const std::vector<std::string>& arguments) -> bool {
  if (!needs_program(session)) { return false; }
  std::vector<size_t> path = session.path_to(session.position());
  std::vector<size_t> asked;
  for (const std::string& text : arguments) {
    auto step = session.find_step(text);
    if (!step || *step == 0 || std::find(path.begin(), path.end(), *step) == path.end()) {
      session.complain(":explain takes steps on the way here; `:steps` lists them\n");
      return false;
    }
    asked.push_back(*step);
  }
  const bool is_all = asked.empty();
  if (is_all) { asked.assign(path.begin() + 1, path.end()); }
  const cost::CoreModel core = cost::core_of(session.target());
  auto function_at = [&](size_t step) { return session.schedule_at(step).state().func(session.schedule_at(step).func_working_on()); };
  auto gained = [&](size_t from, size_t to) -> std::string {
    const schedule::FuncState* before = function_at(from);
    const schedule::FuncState* after = function_at(to);
    auto gain = before != nullptr && after != nullptr ? cost::gain(*before, *after, core) : std::nullopt;
    std::string text = gain ? cost::gain_text(*gain) : std::string();
    return text.empty() ? text : text + " by estimate";
  };
  const size_t room = session.host().width > 40 ? session.host().width - 9 : 31;
  std::string out;
  for (size_t number : asked) {
    const SessionStep& step = session.steps()[number];
    if (is_all && !step.changes_program && !step.hole) { continue; }
    const schedule::Trace trace = session.schedule_at(number).trace();
    std::vector<const schedule::Instruction*> calls = trace.instructions();
    size_t before = session.schedule_at(step.parent).trace().size();
    if (before > calls.size()) { before = 0; }
    std::vector<const schedule::Primitive*> primitives;
    for (size_t i = before; i < calls.size(); ++i) {
      const schedule::Primitive* one = calls[i]->primitive;
      if (one != nullptr && !one->is_pure && std::find(primitives.begin(), primitives.end(), one) == primitives.end()) { primitives.push_back(one); }
    }
    std::string text;
    for (const schedule::Primitive* one : primitives) { text += (text.empty() ? "" : "; ") + fmt::format("`{}` {}", one->name, one->help); }
    if (step.hole) { text = "a place that a search is to fill"; }
    if (text.empty()) { text = "looks up"; }
    if (std::string changes = session.effect_of(number).changes; !changes.empty()) { text += ". Here: " + changes; }
    if (!step.changes_program && !primitives.empty()) { text += ". Here it changes no statement"; }
    if (std::string gain = gained(step.parent, number); !gain.empty()) { text += "; " + gain; }
    if (step.seconds > 0) { text += "; measured " + duration_text(step.seconds); }
    out += fmt::format("  {:<4}{}\n         ", number, step.line.empty() ? "(the beginning)" : script::one_line(step.line)) + wrapped(text + ".", room, 9);
  }
  if (is_all) {
    if (out.empty()) {
      session.print("no step changed the program yet\n");
      return true;
    }
    std::string gain = gained(0, session.position());
    out += wrapped("in all: " + (gain.empty() ? std::string("about the same time by estimate") : gain) + "; `:why` measures the gain of each step", session.host().width);
  }
  session.show(out);
  return true;
}

auto mode(Session& session, const std::vector<std::string>& arguments) -> bool {
  if (arguments.empty()) {
    for (const AnswerMode& one : answer_modes()) { session.print(fmt::format("{} {:<6} {}\n", one.name == session.settings().mode ? ">" : " ", one.name, one.summary)); }
    return true;
  }
  if (arguments.size() != 1 || find_answer_mode(arguments[0]) == nullptr) {
    std::string all;
    for (const AnswerMode& one : answer_modes()) { all += (all.empty() ? "" : ", ") + std::string(one.name); }
    session.complain(":mode takes one of " + all + "\n");
    return false;
  }
  session.settings().mode = arguments[0];
  return true;
}

auto time(Session& session, const std::vector<std::string>& arguments) -> bool {
  if (arguments.empty()) {
    session.complain(":time takes a line: `:time sch.parallel(i)`; programs are timed by `:bench`\n");
    return false;
  }
  auto begun = std::chrono::steady_clock::now();
  bool done = session.execute(joined(arguments));
  session.print("took " + duration_text(std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count()) + "\n");
  return done;
}

auto shell(Session& session, const std::vector<std::string>& arguments) -> bool {
  std::string line = joined(arguments);
  if (line.empty()) {
    session.complain("`;` takes a line for the shell: `;ls`\n");
    return false;
  }
  if (!session.runs_shell()) {
    session.complain("lines for the shell are not executed in documents and transcripts; `loopsmith repl --allow-shell` executes them\n");
    return false;
  }
  int status = std::system(line.c_str());
  if (status != -1 && WIFSIGNALED(status) && WTERMSIG(status) == SIGINT) { session.complain("\n"); }
  return status != -1 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

const Command history_command{"hist", "[TEXT]", "earlier inputs that contain TEXT or had that effect (`:hist compute_at`), numbered", history};
const Command past_command{"past", "NAME", "the steps that made and changed a loop or block (also `??NAME`)", past};
const Command explain_command{"explain", "[N]...", "the schedule as a text: each step with its purpose, its effect here, and its estimated gain", explain};
const Command mode_command{"mode", "[diff|ir|tree|table|json|md]", "how the result of a step is shown", mode};
const Command time_command{"time", "LINE", "executes a line and prints how long that took", time};
const Command shell_command{"shell", "LINE", "runs a line in the shell (also `;LINE`)", shell};

}  // namespace loopsmith::repl
