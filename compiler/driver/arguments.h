// The arguments of a subcommand. One declaration serves parsing, checking and the help text (`COMMAND --help`).
//
// Options are `--name`, `--name VALUE` or `--name=VALUE`, and short ones if declared (`-o F`, `-oF`). `--` ends options.
// `-` is a positional argument. All commands accept `--help`, and those with colours `--color WHEN`.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace loopsmith::driver {

struct Option {
  std::string_view name;          // "--target"
  std::string_view value = {};    // the placeholder of its value in the help ("T"); empty: it has no value
  std::string_view help = {};
  std::string_view short_name = {};
  bool repeatable = false;
};

struct Usage {
  std::string_view command;
  std::string_view arguments;     // "FILE [--function F]", after the command's name
  std::string_view summary;       // one sentence
  std::string_view details = {};  // paragraphs, wrapped as they are shown
  std::vector<Option> options = {};
  bool reads_files = true;        // it takes the options about imports and standard input
  std::vector<std::pair<std::string_view, std::string_view>> examples = {};   // command line, its effect
  size_t least = 0;               // the least number of positional arguments
  size_t most = 0;
};

class Arguments {
 public:
  [[nodiscard]] auto has(std::string_view option) const -> bool { return options_.count(std::string(option)) != 0; }
  /// The last value of an option.
  [[nodiscard]] auto get(std::string_view option) const -> std::optional<std::string>;
  [[nodiscard]] auto get(std::string_view option, std::string_view otherwise) const -> std::string;
  [[nodiscard]] auto all(std::string_view option) const -> std::vector<std::string>;
  [[nodiscard]] auto positional() const -> const std::vector<std::string>& { return positional_; }
  /// True if the stream gets colours: by `--color always|never|auto`; `auto` means a terminal without NO_COLOR.
  [[nodiscard]] auto color(int file_descriptor) const -> bool;
  [[nodiscard]] auto json() const -> bool { return has("--json"); }

 private:
  friend auto read_arguments(const Usage& usage, const std::vector<std::string>& args) -> std::variant<Arguments, int>;
  std::map<std::string, std::vector<std::string>> options_;
  std::vector<std::string> positional_;
};

/// The arguments, or the exit status if the command is finished (it showed the help, or reported a mistake).
[[nodiscard]] auto read_arguments(const Usage& usage, const std::vector<std::string>& args) -> std::variant<Arguments, int>;

/// A whole number within bounds; none otherwise.
[[nodiscard]] auto parse_number(std::string_view text, long long least, long long most) -> std::optional<long long>;

}  // namespace loopsmith::driver
