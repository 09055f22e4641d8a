// `loopsmith equal A B`: compares two programs apart from names, and shows the first difference.
#include "ir/equal.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "driver/command.h"
#include "driver/program.h"

namespace loopsmith::driver::commands {
namespace {

const Usage usage{
    .command = "equal",
    .arguments = "A B [--map-free-vars] [--function F]",
    .summary = "Compares the structure of two modules; shows the first difference.",
    .details = "Names of variables, buffers and blocks do not matter. A file with one program is compared as a module;\n"
               "of files with several, `--function` names the one to compare. Exit status 1 where they differ.",
    .options = {{.name = "--map-free-vars", .help = "variables that neither side defines may correspond, too"}, function_option, json_option},
    .examples = {{"loopsmith equal before.tir after.tir", "prints `equal`, or the first place where they differ"}},
    .least = 2,
    .most = 2,
};

}  // namespace

auto equal(std::vector<std::string> args) -> int {
  auto read = read_arguments(usage, args);
  if (const int* status = std::get_if<int>(&read)) { return *status; }
  const auto& arguments = std::get<Arguments>(read);
  Reporter reporter(arguments);
  auto left = pick(arguments, {.path = arguments.positional()[0], .ill_formed = true}, reporter);
  if (const int* status = std::get_if<int>(&left)) { return *status; }
  auto right = pick(arguments, {.path = arguments.positional()[1], .ill_formed = true}, reporter);
  if (const int* status = std::get_if<int>(&right)) { return *status; }
  Selection& a = std::get<Selection>(left);
  Selection& b = std::get<Selection>(right);
  auto difference = first_difference(a.module, b.module, {.map_free_vars = arguments.has("--map-free-vars")});
  auto place = [](const Selection& s, const Origin& origin) -> std::string {
    Locate locate = s.file->locate();
    auto at = origin.is_known() ? locate(origin) : std::nullopt;
    if (!at) { return s.file->name(); }
    HumanPosition p = human_position(*at->text, at->span.begin);
    return fmt::format("{}:{}:{}", s.file->name(), p.line, p.column);
  };
  if (arguments.json()) {
    nlohmann::json out = {{"equal", !difference}};
    if (difference) {
      out["path"] = difference->path;
      out["left"] = difference->left;
      out["right"] = difference->right;
    }
    fmt::print("{}\n", out.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  } else if (!difference) {
    fmt::print("equal\n");
  } else {
    fmt::print("different at {}\n  {}: {}\n  {}: {}\n", difference->path, place(a, difference->left_origin), difference->left,
               place(b, difference->right_origin), difference->right);
  }
  return difference ? exit_input : exit_done;
}

}  // namespace loopsmith::driver::commands
