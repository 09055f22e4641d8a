// `loopsmith lsp`: the language server; editors start it.
#include "lsp/server/loop.h"
#include "lsp/server/searches.h"

#include "driver/arguments.h"
#include "driver/command.h"
#include "support/process.h"
#include "support/text.h"

namespace loopsmith::driver::commands {
namespace {

const Usage usage{
    .command = "lsp",
    .arguments = "[--stdio | --socket PATH | --port N] [--record F]",
    .summary = "Serves an editor, by the Language Server Protocol.",
    .details = "Analysis runs in a process of its own, which is started again when it dies; so is each search in the\n"
               "background. Opening a file checks it and applies its schedules; it never executes the program in it. A client on a\n"
               "port sends a token as `initializationOptions.token`: that of LOOPSMITH_TOKEN, else a random one, which is printed on\n"
               "standard error.",
    .options = {{"--stdio", "", "uses standard input and output, as without an option"},
                {"--socket", "PATH", "waits for one client on this Unix socket instead, which only you can open"},
                {"--port", "N", "waits for one client with the token on this port of the local machine instead"},
                {"--record", "F", "records the session in a file, a line of JSON for each message"},
                {"--hang-limit", "TIME", "the processor time without progress, as `2s`, after which analysis is stopped; the default is 1s"},
                {"--tuner", "PROGRAM", "the program to start as `PROGRAM tune - --json` for searches; the default is this program"},
                // vscode-languageclient adds this option to the command line of a server.
                {"--clientProcessId", "PID", "accepted and not used, as `initialize` sends it"}},
    .reads_files = false,
    .examples = {{"loopsmith lsp", "the command in an editor's configuration"},
                 {"loopsmith lsp --record session.jsonl", "records the messages of editor and server"}},
};

}  // namespace

auto lsp(std::vector<std::string> args) -> int {
  auto read = read_arguments(usage, args);
  if (const int* status = std::get_if<int>(&read)) { return *status; }
  const auto& arguments = std::get<Arguments>(read);
  loopsmith::lsp::ServerOptions options;
  options.program = current_program();
  options.job_program = arguments.get("--tuner", options.program);
  options.record = arguments.get("--record", "");
  options.front.searches = loopsmith::lsp::KeptSearches::default_folder();
  options.socket = arguments.get("--socket", "");
  if (auto port = arguments.get("--port")) {
    auto number = parse_number(*port, 1, 65535);
    if (!number) { return usage_error("lsp", "`--port` takes a number from 1 to 65535"); }
    options.port = static_cast<int>(*number);
  }
  if (auto limit = arguments.get("--hang-limit")) {
    auto seconds = parse_seconds(*limit);
    if (!seconds) { return usage_error("lsp", "`--hang-limit` takes a time, as in `2s`"); }
    options.front.hang_limit = std::chrono::duration<double>(*seconds);
  }
  return loopsmith::lsp::serve(options);
}

}  // namespace loopsmith::driver::commands
