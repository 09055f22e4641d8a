// Commands about what was typed and how answers look: hist, past, mode, time, shell.
#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "repl/answers.h"
#include "repl/commands.h"
#include "schedule/loop_tree.h"
#include "script/refusals.h"

namespace loopsmith::repl {
namespace {

/// Of what was typed, the newest that are shown where nothing is searched for.
constexpr size_t shown_at_once = 20;

auto joined(const std::vector<std::string>& words) -> std::string {
  std::string out;
  for (const std::string& word : words) { out += (out.empty() ? "" : " ") + word; }
  return out;
}

auto history(Session& session, const std::vector<std::string>& arguments) -> bool {
  std::string wanted = joined(arguments);
  std::vector<std::string> found;
  std::vector<std::string> all = session.history();
  for (size_t i = all.size(); i-- > 0;) {
    const std::string& line = all[i];
    if (line.starts_with(":hist") || (!wanted.empty() && line.find(wanted) == std::string::npos)) { continue; }
    if (std::find(found.begin(), found.end(), line) != found.end()) { continue; }
    found.push_back(line);
    if (wanted.empty() && found.size() == shown_at_once) { break; }
  }
  if (found.empty()) {
    session.print(wanted.empty() ? "nothing was typed yet\n" : fmt::format("nothing that was typed has `{}` in it\n", wanted));
    return true;
  }
  std::string out;
  for (size_t i = found.size(); i-- > 0;) { out += fmt::format("  {:>3}) {}\n", i + 1, script::one_line(found[i])); }
  if (session.host().can_choose) { out += "type a number to do it again\n"; }
  session.show(out);
  session.offer(std::move(found));
  return true;
}

// Where a loop or block came from, and what each step since made of it.
auto past(Session& session, const std::vector<std::string>& arguments) -> bool {
  if (!needs_program(session)) { return false; }
  if (arguments.size() != 1) {
    session.complain(":past takes the name of a loop or block of the script\n");
    return false;
  }
  const std::string& name = arguments[0];
  std::string last;
  std::string out;
  for (size_t step : session.path_to(session.position())) {
    const schedule::Place* place = session.variable_at(step, name);
    std::string now = place != nullptr ? schedule::describe(*place) : last.empty() ? std::string() : "is no more";
    if (now == last) { continue; }
    const Step& done = session.steps()[step];
    out += fmt::format("  {:<4}{}\n         {} {}\n", step, done.line.empty() ? "(the beginning)" : script::one_line(done.line), name, now == "is no more" ? now : "is " + now);
    last = now;
  }
  if (out.empty()) {
    session.complain("`" + name + "` is no loop or block of the script\n");
    return false;
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
  session.print("took " + seconds_text(std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count()) + "\n");
  return done;
}

auto shell(Session& session, const std::vector<std::string>& arguments) -> bool {
  std::string line = joined(arguments);
  if (line.empty()) {
    session.complain("`;` takes a line for the shell: `;ls`\n");
    return false;
  }
  int status = std::system(line.c_str());
  return status != -1 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

const Command history_command{"hist", "[TEXT]", "what was typed, here and earlier, that has TEXT in it, numbered", history};
const Command past_command{"past", "NAME", "which steps made a loop or block what it is (also `??NAME`)", past};
const Command mode_command{"mode", "[diff|ir|tree|table|json|md]", "how what came of a step is shown", mode};
const Command time_command{"time", "LINE", "does a line and says how long that took", time};
const Command shell_command{"shell", "LINE", "does a line of the shell (also `;LINE`)", shell};

}  // namespace loopsmith::repl
