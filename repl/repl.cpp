// Reading lines: libedit on a terminal, plain lines from a pipe. See repl.h.
#include "repl/repl.h"

#include <editline/readline.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>

#include "repl/commands.h"

namespace loopsmith::repl {
namespace {

constexpr const char* prompt = "sch> ";
constexpr const char* continuation = "...> ";
constexpr int kept_lines = 2000;

// Completion is asked for by a C library without a place for our data; there is one session on a terminal.
Session* completing = nullptr;

// Ctrl-C cancels what runs; at the prompt it drops the line.
CancelSource* running = nullptr;
void on_interrupt(int) {
  if (running) { running->cancel(); }
}
auto fresh_token() -> CancelToken {
  static CancelSource source;
  source = CancelSource();
  running = &source;
  return source.token();
}

auto completions(const char*, int begin, int) -> char** {
  rl_attempted_completion_over = 1;
  std::string line(rl_line_buffer ? rl_line_buffer : "");
  size_t start = 0;
  std::vector<std::string> words = completing->complete(line, static_cast<size_t>(rl_point), start);
  if (words.empty()) { return nullptr; }
  // What is replaced begins where the library says, which may be before our word ("sch." in "sch.spl").
  if (static_cast<size_t>(begin) < start) {
    std::string kept = line.substr(static_cast<size_t>(begin), start - static_cast<size_t>(begin));
    for (std::string& word : words) { word = kept + word; }
  }
  // The first entry is what all have in common.
  std::string common = words[0];
  for (const std::string& word : words) {
    size_t n = 0;
    while (n < common.size() && n < word.size() && common[n] == word[n]) { ++n; }
    common.resize(n);
  }
  auto** out = static_cast<char**>(std::malloc((words.size() + 2) * sizeof(char*)));
  out[0] = ::strdup(common.c_str());
  for (size_t i = 0; i < words.size(); ++i) { out[i + 1] = ::strdup(words[i].c_str()); }
  out[words.size() + 1] = nullptr;
  if (words.size() == 1) {
    out[1] = nullptr;
  }
  return out;
}

auto read_terminal_line(const char* text, std::string& line) -> bool {
  char* read = ::readline(text);
  if (!read) { return false; }
  line = read;
  std::free(read);
  return true;
}

void make_folders(const std::string& path) {
  for (size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1)) {
    ::mkdir(path.substr(0, slash).c_str(), 0777);
  }
}

}  // namespace

auto run_repl(Host host, const ReplOptions& options) -> int {
  host.interrupted = fresh_token;
  struct sigaction interrupt {};
  interrupt.sa_handler = on_interrupt;
  ::sigaction(SIGINT, &interrupt, nullptr);
  Session session(std::move(host));
  bool failed = false;
  if (!options.file.empty() && !session.load(options.file)) {
    failed = true;
    if (!options.interactive) { return 1; }
  }
  if (options.interactive) {
    completing = &session;
    ::using_history();
    ::stifle_history(kept_lines);
    if (!options.history.empty()) {
      make_folders(options.history);
      ::read_history(options.history.c_str());
    }
    rl_attempted_completion_function = completions;
    rl_completion_append_character = 0;
    static char breaks[] = " \t\n\"'`@$><=;|&{(,[.:?";
    rl_completer_word_break_characters = breaks;
    if (session.has_program()) {
      session.print("`sch` schedules `" + session.program_name().str() + "` of " + session.path() + ". `:help` says what can be typed.\n");
    } else {
      session.print("`:load FILE` reads a program. `:help` says what can be typed.\n");
    }
  }
  std::string last;
  while (!session.wants_quit()) {
    std::string input;
    std::string line;
    bool more = options.interactive ? read_terminal_line(prompt, line) : static_cast<bool>(std::getline(std::cin, line));
    if (!more) { break; }
    input = line;
    while (!session.is_complete(input)) {
      more = options.interactive ? read_terminal_line(continuation, line) : static_cast<bool>(std::getline(std::cin, line));
      if (!more) { break; }
      input += "\n" + line;
      if (line.empty()) { break; }
    }
    if (options.interactive && input != last && input.find_first_not_of(" \t\n") != std::string::npos) {
      // One entry per input, also where it had several lines.
      ::add_history(input.c_str());
      last = input;
    }
    bool ok = session.execute(input);
    running = nullptr;
    failed = failed || !ok;
    std::fflush(stdout);
    // A script from a pipe stops at its first mistake: later lines would build on what is not there.
    if (!ok && !options.interactive) { return 1; }
  }
  if (options.interactive) {
    session.print("\n");
    if (!options.history.empty()) { ::write_history(options.history.c_str()); }
  }
  return failed && !options.interactive ? 1 : 0;
}

}  // namespace loopsmith::repl
