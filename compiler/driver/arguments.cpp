// Reads and explains command lines: see arguments.h.
#include "driver/arguments.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "driver/command.h"
#include "support/spelling.h"
#include "workspace/imports.h"

namespace loopsmith::driver {
namespace {

// The options that commands share, in the order of the help.
const std::vector<Option>& common_options(const Usage& usage) {
  static const Option color{.name = "--color", .value = "WHEN", .help = "colours: auto (on a terminal), always, never"};
  static const Option help{.name = "--help", .help = "this text", .short_name = "-h"};
  static const std::vector<Option> of_all{color, help};
  static const std::vector<Option> of_readers = {
      color,
      {.name = "--import-root", .value = "DIR", .help = "the highest folder in which imports are searched; the default is the current folder", .repeatable = true},
      {.name = "--stdin-name", .value = "FILE", .help = "a name for standard input: its imports are searched beside this file"},
      help,
  };
  return usage.reads_files ? of_readers : of_all;
}

auto find_option(const Usage& usage, std::string_view name) -> const Option* {
  for (const auto* list : {&usage.options, &common_options(usage)}) {
    for (const Option& option : *list) {
      if (option.name == name || (!option.short_name.empty() && option.short_name == name)) { return &option; }
    }
  }
  return nullptr;
}

void print_usage(const Usage& usage) {
  fmt::print("usage: loopsmith {} {}\n\n{}\n", usage.command, usage.arguments, usage.summary);
  if (!usage.details.empty()) { fmt::print("\n{}\n", usage.details); }
  fmt::print("\noptions:\n");
  for (const auto* list : {&usage.options, &common_options(usage)}) {
    for (const Option& option : *list) {
      std::string left(option.name);
      if (!option.short_name.empty()) { left = fmt::format("{}, {}", option.short_name, option.name); }
      if (!option.value.empty()) { left += fmt::format(" {}", option.value); }
      if (left.size() > 26) {
        fmt::print("  {}\n  {:<26}  {}\n", left, "", option.help);
      } else {
        fmt::print("  {:<26}  {}\n", left, option.help);
      }
    }
  }
  if (!usage.examples.empty()) {
    fmt::print("\nexamples:\n");
    for (const auto& [line, what] : usage.examples) { fmt::print("  {}\n      {}\n", line, what); }
  }
}

}  // namespace

auto usage_error(const std::string& command, const std::string& message) -> int {
  fmt::print(stderr, "loopsmith {}: {}\n`loopsmith {} --help` explains its arguments\n", command, message, command);
  return exit_usage;
}

auto Arguments::get(std::string_view option) const -> std::optional<std::string> {
  auto found = options_.find(std::string(option));
  if (found == options_.end()) { return {}; }
  return found->second.back();
}
auto Arguments::get(std::string_view option, std::string_view otherwise) const -> std::string {
  return get(option).value_or(std::string(otherwise));
}
auto Arguments::all(std::string_view option) const -> std::vector<std::string> {
  auto found = options_.find(std::string(option));
  return found == options_.end() ? std::vector<std::string>() : found->second;
}
auto Arguments::color(int file_descriptor) const -> bool {
  std::string when = get("--color", "auto");
  if (when != "auto") { return when == "always"; }
  const char* no_color = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  if ((no_color && *no_color) || (terminal && std::string_view(terminal) == "dumb")) { return false; }
  return isatty(file_descriptor) != 0;
}

auto read_arguments(const Usage& usage, const std::vector<std::string>& args) -> std::variant<Arguments, int> {
  std::string command(usage.command);
  Arguments out;
  bool only_positional = false;
  for (size_t i = 0; i < args.size(); ++i) {
    const std::string& arg = args[i];
    if (only_positional || arg == "-" || arg.empty() || arg[0] != '-') {
      out.positional_.push_back(arg);
      continue;
    }
    if (arg == "--") {
      only_positional = true;
      continue;
    }
    size_t equals = arg.substr(0, 2) == "--" ? arg.find('=') : std::string::npos;
    std::string name = arg.substr(0, equals);
    const Option* option = find_option(usage, name);
    // `-j2` is the same as `-j 2`.
    std::optional<std::string> attached;
    if (!option && arg[1] != '-' && arg.size() > 2) {
      const Option* with_value = find_option(usage, arg.substr(0, 2));
      if (with_value && !with_value->value.empty()) {
        option = with_value;
        attached = arg.substr(2);
      }
    }
    if (!option) {
      std::vector<std::string> known;
      for (const auto* list : {&usage.options, &common_options(usage)}) {
        for (const Option& o : *list) { known.emplace_back(o.name); }
      }
      std::string meant = closest(name, known);
      return usage_error(command, fmt::format("there is no option `{}`{}", name, meant.empty() ? "" : fmt::format("; did you mean `{}`?", meant)));
    }
    if (option->name == "--help") {
      print_usage(usage);
      return static_cast<int>(exit_done);
    }
    std::string value;
    if (option->value.empty()) {
      if (equals != std::string::npos) { return usage_error(command, fmt::format("`{}` takes no value", option->name)); }
    } else if (equals != std::string::npos) {
      value = arg.substr(equals + 1);
    } else if (attached) {
      value = *attached;
    } else if (i + 1 < args.size()) {
      value = args[++i];
    } else {
      return usage_error(command, fmt::format("`{}` needs a value: `{} {}`", option->name, option->name, option->value));
    }
    if (option->name == "--color" && value != "auto" && value != "always" && value != "never") {
      return usage_error(command, fmt::format("`--color` is auto, always or never, not `{}`", value));
    }
    std::vector<std::string>& values = out.options_[std::string(option->name)];
    if (!values.empty() && !option->repeatable && !option->value.empty()) {
      return usage_error(command, fmt::format("`{}` is given twice", option->name));
    }
    values.push_back(std::move(value));
  }
  workspace::import_options() = {.input_name = out.get("--stdin-name", ""), .roots = out.all("--import-root")};
  if (out.positional_.size() < usage.least) {
    return usage_error(command, fmt::format("too few arguments: it is called as `loopsmith {} {}`", usage.command, usage.arguments));
  }
  if (out.positional_.size() > usage.most) {
    return usage_error(command, fmt::format("one argument too many: `{}`", out.positional_[usage.most]));
  }
  return out;
}

auto parse_number(std::string_view text, long long least, long long most) -> std::optional<long long> {
  long long value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty() || value < least || value > most) { return {}; }
  return value;
}

}  // namespace loopsmith::driver
