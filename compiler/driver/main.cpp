// `loopsmith COMMAND ...`: finds the command in the table and runs it.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <system_error>

#include "driver/arguments.h"
#include "driver/command.h"
#include "driver/execution.h"
#include "schedule/primitive.h"
#include "support/output.h"
#include "support/spelling.h"
#include "workspace/reference.h"

namespace loopsmith::driver {
namespace {

enum class Audience : uint8_t { Person, Machine };

struct Command {
  std::string_view name;
  Audience audience;
  std::string_view arguments;
  std::string_view summary;
  int (*run)(std::vector<std::string> args);
};

constexpr Command table[] = {
#define COMMAND(function, name, audience, arguments, summary) \
  {name, Audience::audience, arguments, summary, commands::function},
#include "driver/commands.def"
#undef COMMAND
};

void print_help(std::FILE* to) {
  fmt::print(to, "Loopsmith: tensor programs and their schedules, checked, run and tuned.\n\n");
  for (const Command& command : table) {
    if (command.audience != Audience::Person) { continue; }
    std::string call = fmt::format("{} {}", command.name, command.arguments);
    if (call.size() > 30) {
      fmt::print(to, "  {}\n  {:<30}  {}\n", call, "", command.summary);
    } else {
      fmt::print(to, "  {:<30}  {}\n", call, command.summary);
    }
  }
  fmt::print(to, "\n`loopsmith COMMAND --help` explains a command, `loopsmith help PRIMITIVE` a schedule primitive.\n");
}

auto closest_command(std::string_view wanted) -> std::string {
  std::vector<std::string> names;
  for (const Command& command : table) {
    if (command.audience == Audience::Person) { names.emplace_back(command.name); }
  }
  return closest(wanted, names);
}

auto find_command(std::string_view name) -> const Command* {
  const auto* found = std::find_if(std::begin(table), std::end(table), [&](const Command& c) { return c.name == name; });
  return found == std::end(table) ? nullptr : found;
}

// `loopsmith help WORD` explains a command or a primitive.
auto unknown_word(std::string_view word) -> int {
  std::vector<std::string> names;
  for (const Command& command : table) {
    if (command.audience == Audience::Person) { names.emplace_back(command.name); }
  }
  for (const schedule::Primitive* primitive : schedule::all_primitives()) { names.emplace_back(primitive->name); }
  std::string meant = closest(word, names);
  fmt::print(stderr, "loopsmith: there is no command or primitive `{}`{}\n", word,
             meant.empty() ? "; `loopsmith help` lists commands, `loopsmith help primitives` primitives" : fmt::format("; did you mean `{}`?", meant));
  return exit_usage;
}

auto unknown_command(std::string_view name) -> int {
  std::string meant = closest_command(name);
  fmt::print(stderr, "loopsmith: there is no command `{}`{}\n", name,
             meant.empty() ? "; `loopsmith help` lists them" : fmt::format("; did you mean `{}`?", meant));
  return exit_usage;
}

auto run_command(std::string_view name, std::vector<std::string> args) -> int {
  if (name == "help" || name == "--help" || name == "-h") {
    if (args.empty()) {
      print_help(stdout);
      return exit_done;
    }
    // Primitives and their reference page. A command with the same name (`trace`, `schedule`) takes precedence.
    if (args[0] == "primitives") {
      fmt::print("{}", workspace::reference_page());
      return exit_done;
    }
    const Command* about = find_command(args[0]);
    std::string_view name = args[0];
    if (name.starts_with("sch.")) { name.remove_prefix(4); }
    if (const schedule::Primitive* primitive = about ? nullptr : schedule::find_primitive(name)) {
      fmt::print("{}", workspace::reference_help(*primitive));
      return exit_done;
    }
    return about ? about->run({"--help"}) : unknown_word(args[0]);
  }
  if (name == "--version" || name == "version") {
    fmt::print("loopsmith {}\n", LOOPSMITH_VERSION);
    return exit_done;
  }
  const Command* found = find_command(name);
  if (!found) { return unknown_command(name); }
  return found->run(std::move(args));
}

}  // namespace

}  // namespace loopsmith::driver

namespace {

/// The status of the command. Errors are values everywhere in our code, so an exception that arrives here comes from the standard library.
auto run_guarded(std::string_view name, std::vector<std::string> args) -> int {
  using namespace loopsmith::driver;
  try {
    return run_command(name, std::move(args));
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "loopsmith: out of memory\n");
    return exit_environment;
  } catch (const std::system_error& failure) {
    fmt::print(stderr, "loopsmith: the system does not provide a resource: {}\n", failure.what());
    return exit_environment;
  } catch (const std::exception& failure) {
    fmt::print(stderr, "loopsmith: internal error: {}\n", failure.what());
    return exit_internal;
  }
}

}  // namespace

auto main(int argc, char** argv) -> int {
  using namespace loopsmith::driver;
  // The line-editing library needs the descriptors of the streams, which watched streams do not have.
  bool edits_lines = argc >= 2 && std::string_view(argv[1]) == "repl" && ::isatty(STDIN_FILENO) != 0 && ::isatty(STDOUT_FILENO) != 0;
  if (!edits_lines) { loopsmith::watch_output(); }
  if (argc < 2) {
    print_help(stderr);
    return exit_usage;
  }
  // With the signal ignored, a file beyond its size limit makes the write fail, as a full disk does.
  std::signal(SIGXFSZ, SIG_IGN);
  int status = run_guarded(argv[1], std::vector<std::string>(argv + 2, argv + argc));
  if (auto why = loopsmith::finish_output()) {
    fmt::print(stderr, "loopsmith: cannot write all of the output: {}\n", *why);
    // A worker that reached its end reports so.
    return status >= finished(0) ? finished(exit_internal) : exit_internal;
  }
  return status;
}
