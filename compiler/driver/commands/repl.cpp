// `loopsmith repl [FILE]`: interactive scheduling, on a terminal or from a pipe.
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "driver/command.h"
#include "driver/program.h"
#include "repl/repl.h"

namespace loopsmith::driver::commands {
namespace {

const Usage usage{
    .command = "repl",
    .arguments = "[FILE]",
    .summary = "Schedules a program step by step and shows the changes of every step.",
    .details = "Lines are script (`i, j, k = sch.get_loops(\"C\")`) or commands (`:undo`, `:diff`, `:asm`, `:bench`, `:help`). From a\n"
               "pipe, lines are read one by one, and the first mistake ends the session with status 1.",
    .options = {{.name = "--no-history", .help = "does not keep the lines typed"},
                {.name = "--no-init", .help = "does not execute ~/.config/loopsmith/replrc"},
                {.name = "--attach", .value = "MIRROR", .help = "the text of FILE in an editor, where it is open; editors start the REPL with this"},
                {.name = "--function", .value = "NAME", .help = "the program of the file to begin with"},
                {.name = "--with", .value = "NAME", .help = "the schedule of the file to begin with: its statements are the steps"},
                {.name = "--line", .value = "N", .help = "a line of the file: begins with the schedule there, up to its statement"},
                {.name = "--step", .value = "LINE", .help = "executes this line of script first, commands are refused; may be repeated", .repeatable = true},
                {.name = "--command", .value = "LINE", .help = "executes this line instead of reading; may be repeated", .short_name = "-c", .repeatable = true},
                {.name = "--allow-shell", .help = "executes `;` and `:shell` lines of documents and transcripts, too; without it only those that are typed"},
                {.name = "--check", .value = "TRANSCRIPT", .help = "executes the inputs of a transcript; status 1 where the answers differ"},
                {.name = "--update", .value = "TRANSCRIPT", .help = "the same, and writes the new answers into the transcript"}},
    .examples = {{"loopsmith repl matmul.tir", "begins with the file's first program"},
                 {"loopsmith repl matmul.tir --with matmul_blocked", "begins with a schedule of the file"},
                 {"printf ':with matmul_blocked\\n:bench\\n' | loopsmith repl matmul.tir", "commands from a pipe"},
                 {"loopsmith repl -c ':loops' matmul.tir", "one command"},
                 {"loopsmith repl --check session.sched", "a session as a test"}},
    .least = 0,
    .most = 1,
};

auto history_path() -> std::string {
  const char* state = std::getenv("XDG_STATE_HOME");
  const char* home = std::getenv("HOME");
  if (state && *state) { return std::string(state) + "/loopsmith/history.jsonl"; }
  return home && *home ? std::string(home) + "/.local/state/loopsmith/history.jsonl" : std::string();
}

auto init_path() -> std::string {
  const char* config = std::getenv("XDG_CONFIG_HOME");
  const char* home = std::getenv("HOME");
  if (config && *config) { return std::string(config) + "/loopsmith/replrc"; }
  return home && *home ? std::string(home) + "/.config/loopsmith/replrc" : std::string();
}

}  // namespace

auto repl(std::vector<std::string> args) -> int {
  auto read = read_arguments(usage, args);
  if (const int* status = std::get_if<int>(&read)) { return *status; }
  const auto& arguments = std::get<Arguments>(read);
  loopsmith::repl::Host host;
  bool color = arguments.color(STDOUT_FILENO);
  host.color = color;
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) { host.width = size.ws_col; }
  host.out = [](std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); std::fflush(stdout); };
  host.err = [](std::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); std::fflush(stderr); };
  host.render = [color](const Diagnostic& d, const loopsmith::repl::Locator& locator, const std::string& file) {
    Locate locate = [&](const Origin& origin) -> std::optional<Located> {
      auto found = locator(origin);
      return found ? std::optional(Located{found->first, found->second}) : std::nullopt;
    };
    return render(d, locate, {.color = color, .file = file});
  };
  host.trusts_texts = arguments.has("--allow-shell");
  loopsmith::repl::ReplOptions options;
  if (!arguments.positional().empty()) { options.file = arguments.positional()[0]; }
  for (const char* mode : {"--check", "--update"}) {
    if (auto path = arguments.get(mode)) { return loopsmith::repl::run_transcript(std::move(host), *path, std::string_view(mode) == "--update", options.file); }
  }
  options.program = arguments.get("--function", "");
  options.schedule = arguments.get("--with", "");
  if (auto text = arguments.get("--line")) {
    auto line = parse_number(*text, 1, 1LL << 31U);
    if (!line) { return usage_error("repl", "`--line` takes the number of a line, not `" + *text + "`"); }
    options.line = static_cast<size_t>(*line);
  }
  options.steps = arguments.all("--step");
  options.mirror = arguments.get("--attach", "");
  if (!options.mirror.empty() && options.file.empty()) { return usage_error("repl", "`--attach` needs the file whose text it is"); }
  options.lines = arguments.all("--command");
  options.interactive = options.lines.empty() && options.steps.empty() && ::isatty(STDIN_FILENO) && ::isatty(STDOUT_FILENO);
  if (options.interactive && !arguments.has("--no-init")) { options.init = init_path(); }
  if (!arguments.has("--no-history")) { options.history = history_path(); }
  return loopsmith::repl::run_repl(std::move(host), options);
}

}  // namespace loopsmith::driver::commands
