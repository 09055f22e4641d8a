// Commands for searches in the background: jobs, wait, stop, search, take. `:tune ... &` starts one (execution.cpp).
#include <fmt/format.h>

#include <algorithm>

#include "repl/commands.h"
#include "support/process.h"

namespace loopsmith::repl {
namespace {

using State = BackgroundJobs::State;

auto word(State state) -> const char* {
  switch (state) {
    case State::Running: return "running";
    case State::Stopping: return "stopping";
    case State::Done: return "done";
    case State::Failed: return "no result";
  }
  return "";
}

/// The job with the given number, else the newest one in one of the states. None: an error was reported.
auto pick(const Session& session, const std::vector<std::string>& arguments, std::initializer_list<State> states) -> std::optional<size_t> {
  std::vector<BackgroundJobs::View> all = session.jobs().all();
  if (!arguments.empty()) {
    size_t number = static_cast<size_t>(std::strtoul(arguments[0].c_str(), nullptr, 10));
    if (number >= 1 && number <= all.size()) { return number; }
    session.complain(all.empty() ? "no search is in the background; `:tune 30s &` starts one\n" : fmt::format("no search has the number {}; `:jobs` lists them\n", arguments[0]));
    return std::nullopt;
  }
  for (size_t i = all.size(); i-- > 0;) {
    if (std::find(states.begin(), states.end(), all[i].state) != states.end()) { return all[i].number; }
  }
  session.complain(all.empty() ? "no search is in the background; `:tune 30s &` starts one\n" : "no search in the background is in that state; `:jobs` lists all\n");
  return std::nullopt;
}

auto jobs(Session& session, const std::vector<std::string>&) -> bool {
  if (session.jobs().all().empty()) { session.print("nothing in the background; `:tune 30s &` starts a search there\n"); }
  for (const BackgroundJobs::View& job : session.jobs().all()) { session.print(fmt::format("[{}] {} {}: {}\n", job.number, job.program, word(job.state), job.progress)); }
  return true;
}

auto stop(Session& session, const std::vector<std::string>& arguments) -> bool {
  auto number = pick(session, arguments, {State::Running});
  if (!number) { return false; }
  if (!session.jobs().stop(*number)) {
    session.complain(fmt::format("[{}] is not running\n", *number));
    return false;
  }
  session.print(session.jobs().all()[*number - 1].compares ? fmt::format("[{}] is given up; its best was not compared with the program\n", *number)
                                                           : fmt::format("[{}] stops, and keeps its best\n", *number));
  return true;
}

auto wait(Session& session, const std::vector<std::string>& arguments) -> bool {
  auto number = pick(session, arguments, {State::Running, State::Stopping});
  if (!number) { return false; }
  static CancelToken token;
  token = session.interrupt();
  (void)session.jobs().wait(*number, [] { return token.is_cancelled(); });
  return true;
}

auto take(Session& session, const std::vector<std::string>& arguments) -> bool {
  std::vector<BackgroundJobs::View> all = session.jobs().all();
  bool is_any_done = std::any_of(all.begin(), all.end(), [](const BackgroundJobs::View& job) { return job.state == State::Done; });
  auto number = is_any_done ? pick(session, arguments, {State::Done}) : pick(session, arguments, {State::Running, State::Stopping});
  if (!number) { return false; }
  auto found = session.jobs().result(*number);
  if (!found) {
    const BackgroundJobs::View& job = all[*number - 1];
    session.complain(job.state == State::Failed ? fmt::format("[{}] has no result: {}\n", job.number, job.progress)
                                                : fmt::format("[{}] has no result yet: {}; `:wait` waits for it\n", job.number, job.progress));
    return false;
  }
  std::vector<size_t> path = session.has_program() ? session.path_to(session.position()) : std::vector<size_t>();
  bool is_for_here = session.has_program() && (found->program.same_as(session.original()) ||
                                               std::any_of(path.begin(), path.end(), [&](size_t step) { return session.steps()[step].hole && session.module_at(step).same_as(found->program); }));
  if (!is_for_here) {
    session.complain("that search was for another program, or for an earlier version of the file; the result of a search from a step `sch.tune()` is taken at that step\n");
    return false;
  }
  return adopt_found(session, found->program, found->trace, found->seconds);
}

/// Commands that begin with `]`: start a search in the background, list searches, and show the database of all searches.
auto search(Session& session, const std::vector<std::string>& arguments) -> bool {
  if (arguments.empty()) { return jobs(session, {}); }
  const std::string& word = arguments[0];
  std::vector<std::string> rest(arguments.begin() + 1, arguments.end());
  if (word == "stop") { return stop(session, rest); }
  if (word == "wait") { return wait(session, rest); }
  if (word == "take") { return take(session, rest); }
  if (word == "db") {
    std::string line = "'" + current_program() + "' db";
    for (const std::string& one : rest) { line += " '" + one + "'"; }
    return shell_command.run(session, {line});
  }
  if (word[0] >= '0' && word[0] <= '9') { return tune_command.run(session, {word, "&"}); }
  session.complain("`]` lists searches; `]64` or `]30s` starts one in the background; `]stop`, `]wait`, `]take`; `]db list` and others of `loopsmith db`\n");
  return false;
}

}  // namespace

const Command jobs_command{"jobs", "", "searches in the background: their progress and results", jobs};
const Command wait_command{"wait", "[N]", "waits for a search in the background; Ctrl-C ends the waiting, not the search", wait};
const Command stop_command{"stop", "[N]", "stops a search in the background, which keeps its best", stop};
const Command search_command{"search", "[N | TIME | stop | wait | take | db ...]", "searches in the background (also `]`): lists them, starts one; `]db list` shows all records", search};
const Command take_command{"take", "[N]", "makes the best of a search in the background the next step", take};

}  // namespace loopsmith::repl
