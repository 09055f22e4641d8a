// `loopsmith mcp`: the Model Context Protocol on standard input and output (JSON-RPC 2.0, one message per line), for agents, with the tools check, schedule,
// hint, bench, tune and measure. A call becomes a command line of this program and runs as a process, so its answer is the command's answer, and a crash or an
// endless loop fails one call only. No tool writes a file except the tuning database; only bench, tune and measure execute programs.
//
// The main thread reads. Two threads execute: one the quick tools in order, one bench, tune and measure, so that two measurements never run at once. Source: modelcontextprotocol.io, revisions 2024-11-05 to 2025-06-18.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <condition_variable>
#include <csignal>
#include <deque>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>
#include <utility>
#include <variant>

#include "driver/arguments.h"
#include "driver/command.h"
#include "support/process.h"
#include "support/text.h"
#include "tune/search/search.h"

namespace loopsmith::driver::commands {
namespace {

using Json = nlohmann::json;
using namespace std::chrono_literals;

const Usage usage{
    .command = "mcp",
    .arguments = "",
    .summary = "Serves an agent: the Model Context Protocol on standard input and output.",
    .details = "Tools: check, schedule, hint, bench, tune, measure. Each returns the output of the command with its name. Programs come as paths or\n"
               "as text; no tool changes a file. docs/mcp.md explains how to configure agents.",
    .options = {},
    .reads_files = false,
    .examples = {{"loopsmith mcp", "what an agent's configuration names as its command"}},
};

constexpr std::string_view newest_protocol = "2025-06-18";
constexpr std::string_view protocols[] = {"2024-11-05", "2025-03-26", newest_protocol};
/// The most bytes of an answer's text: agents pay for every byte.
constexpr size_t most_text = 60'000;
constexpr auto quick_limit = 30s;
constexpr auto bench_limit = 300s;
/// The most bytes of a message; a longer one is refused.
constexpr size_t longest_message = 64U << 20U;
constexpr int deepest_message = 64;

enum Error : int { ParseError = -32700, InvalidRequest = -32600, MethodNotFound = -32601, InvalidParams = -32602 };

// ---- tools ---------------------------------------------------------------------------------------------------------

auto search_schema() -> Json {
  Json names = Json::array();
  for (const tune::SearchKind& kind : tune::search_kinds()) { names.push_back(std::string(kind.name)); }
  return {{"type", "string"}, {"enum", std::move(names)}, {"description", "the search; the default is guided"}};
}
auto string_schema(const char* description) -> Json { return {{"type", "string"}, {"description", description}}; }
auto strings_schema(const char* description) -> Json {
  return {{"type", "array"}, {"items", {{"type", "string"}}}, {"description", description}};
}

auto source_properties() -> Json {
  return {{"path", string_schema("a .tir file, or a .py file with TVMScript; or give `text`")},
          {"text", string_schema("the file's content, in place of `path`")},
          {"function", string_schema("the program meant, where the file has several")}};
}

auto tool(const char* name, const char* title, const char* description, Json properties, bool executes) -> Json {
  Json schema = {{"type", "object"}, {"properties", std::move(properties)}, {"additionalProperties", false}};
  return {{"name", name},
          {"title", title},
          {"description", description},
          {"inputSchema", std::move(schema)},
          {"annotations", {{"title", title}, {"readOnlyHint", !executes}, {"destructiveHint", false}, {"idempotentHint", true}, {"openWorldHint", false}}}};
}

auto with(Json base, std::initializer_list<std::pair<const char*, Json>> more) -> Json {
  for (const auto& [name, schema] : more) { base[name] = schema; }
  return base;
}

auto all_tools() -> const Json& {
  static const Json tools = [] {
    Json with_schema = string_schema("a schedule function of the file, applied first");
    Json steps = strings_schema("script lines on `sch`, in order: `i, j, k = sch.get_loops(\"C\")`, `i0, i1 = sch.split(i, factors=[None, 8])`");
    Json check_source = source_properties();
    check_source.erase("function");
    Json list = Json::array();
    list.push_back(tool("check", "Check programs and schedules",
                        "Errors and warnings in TIRScript programs (TVMScript's syntax) and their schedules: races, bounds, refused primitives with the "
                        "dependence that forbids them and repairs that were tried. Nothing is executed.",
                        check_source, false));
    list.push_back(tool("schedule", "Apply schedule primitives",
                        "Applies schedule primitives step by step and shows the changes of each, then the program. A refused step changes nothing: the answer "
                        "has the reason, with a pair of conflicting iterations where one exists, and calls that would work. Nothing is executed.",
                        with(source_properties(), {{"with", with_schema}, {"steps", steps},
                                                   {"print", {{"type", "boolean"}, {"description", "show the whole program at the end (default true)"}}}}), false));
    list.push_back(tool("hint", "Legal moves",
                        "The loop tree of a state, and the primitives with arguments that are legal there, as lines that `schedule` takes as steps. `about` narrows "
                        "them to a primitive, loop or block, with the reasons why the others are not legal; `all` lists every move where there are many.",
                        with(source_properties(), {{"with", with_schema}, {"steps", steps}, {"about", strings_schema("names of primitives, loops (as the script or program "
                                                                                                                "calls them) or blocks")}}), false));
    list.push_back(tool("bench", "Measure",
                        "Compiles and times a program as written and under schedules, in turns: seconds, spread, GFLOP/s, share of this machine's roofline. Executes "
                        "the program in a process with limits.",
                        with(source_properties(), {{"with", strings_schema("schedule functions of the file to compare")}}), true));
    list.push_back(tool("tune", "Search for a fast schedule",
                        "Searches schedules by measuring candidates; the answer is the best as a readable schedule function, verified against the interpreter. "
                        "Cancelling stops the search and keeps its records. Executes programs in processes with limits.",
                        with(source_properties(), {{"trials", {{"type", "integer"}, {"minimum", 1}, {"maximum", 1000000}, {"description", "candidates to measure"}}},
                                                   {"seconds", {{"type", "number"}, {"exclusiveMinimum", 0}, {"maximum", 604800}, {"description", "how long to search (default 60); checking the best comes on top"}}},
                                                   {"target", string_schema("the target; the default is this machine")},
                                                   {"search", search_schema()},
                                                   {"space", string_schema("the candidates: `own` (the default on processors), `metaschedule`, or a call such as `ScheduleFn(tiles)` with a function of the file")},
                                                   {"with", string_schema("a schedule function of the file that samples: its samples are the space")},
                                                   {"keep_order", {{"type", "boolean"}, {"description", "take only schedules that add real numbers in the order of the program"}}}}), true));
    list.push_back(tool("measure", "Measure proposed schedules",
                        "Builds and measures schedules that you propose, in the search's own harness: each in a process with limits, slow ones stopped early. The answer has a row for "
                        "each, with its time or the reason of its failure, and the fastest as a readable schedule function, verified against the interpreter. Measurements are kept in the tuning database.",
                        with(source_properties(), {{"schedules", strings_schema("each a schedule: lines of script on `sch`, or a trace in TVM's JSON")},
                                                   {"seconds", {{"type", "number"}, {"exclusiveMinimum", 0}, {"maximum", 604800}, {"description", "the time for all of them; without it each gets the time that it needs"}}},
                                                   {"target", string_schema("the target; the default is this machine")},
                                                   {"keep_order", {{"type", "boolean"}, {"description", "reject schedules that add real numbers in another order than the program"}}}}), true));
    return list;
  }();
  return tools;
}

struct Command {
  std::vector<std::string> arguments;   // of this program
  std::string path;                     // the path of the file; empty: the text is the input
  std::string input;
  Clock::duration limit = quick_limit;
};

/// Checks the arguments of a call against the tool's schema. Returns a sentence on the first mistake; empty: there is none.
auto mistake_in(const std::string& name, const Json& arguments) -> std::string {
  const Json* schema = nullptr;
  for (const Json& one : all_tools()) {
    if (one["name"] == name) { schema = &one["inputSchema"]["properties"]; }
  }
  for (const auto& [key, value] : arguments.items()) {
    if (!schema->contains(key)) { return fmt::format("`{}` takes no argument `{}`", name, key); }
    const std::string type = (*schema)[key]["type"];
    bool fits = type == "string" ? value.is_string() : type == "boolean" ? value.is_boolean() : type == "integer" ? value.is_number_integer() : type == "number" ? value.is_number() : value.is_array();
    if (type == "array" && fits) {
      for (const Json& item : value) { fits = fits && item.is_string(); }
    }
    if (!fits) { return fmt::format("`{}` is {}", key, type == "array" ? "a list of strings" : type == "integer" ? "a whole number" : "a " + type); }
    if (!value.is_number()) { continue; }
    const Json& range = (*schema)[key];
    bool is_in = value >= range.value("minimum", Json(value)) && value <= range.value("maximum", Json(value)) && (!range.contains("exclusiveMinimum") || value > range["exclusiveMinimum"]);
    if (!is_in) {
      std::string from = range.contains("minimum") ? "from " + range["minimum"].dump() + " on" : "above " + range["exclusiveMinimum"].dump();
      return fmt::format("`{}` is a number {}, {} at most, not {}", key, from, range["maximum"].dump(), value.dump());
    }
  }
  return {};
}

/// The strings of an argument that is a list; empty: the call does not have it.
auto list_of(const Json& arguments, const char* key) -> std::vector<std::string> {
  return arguments.contains(key) ? arguments[key].get<std::vector<std::string>>() : std::vector<std::string>();
}

/// Adds the steps of `schedule` or `hint`, and the REPL commands that show their result. Returns a sentence on the first mistake; empty: there is none.
auto add_steps(bool is_hint, const Json& arguments, std::vector<std::string>& out) -> std::string {
  auto add = [&](std::initializer_list<std::string> words) { out.insert(out.end(), words); };
  for (const std::string& step : list_of(arguments, "steps")) {
    // Steps are script. REPL commands, which write files, read others or run a shell, are not offered here. `--step` refuses them in any form; this check
    // reports the reason.
    size_t first = step.find_first_not_of(" \t\n");
    if (first == std::string::npos) { continue; }
    if (std::string_view(":?;]").find(step[first]) != std::string_view::npos) { return fmt::format("a step is a line of script, not a command: `{}`", step); }
    add({"--step", step + (is_hint && step.back() != ';' ? ";" : "")});
  }
  if (!is_hint) {
    bool prints = !arguments.contains("print") || arguments["print"].get<bool>();
    add({"-c", prints ? ":print" : ":loops"});
  } else {
    std::string about;
    for (const std::string& one : list_of(arguments, "about")) {
      // Only names may follow; any other text could be a command.
      bool is_name = !one.empty() && one.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.[]-") == std::string::npos;
      if (!is_name) { return fmt::format("`about` names primitives, loops and blocks, not `{}`", one); }
      about += " " + one;
    }
    add({"-c", ":loops", "-c", ":hint" + about});
  }
  return {};
}

/// Makes the command line of a call; an error sentence if the arguments are wrong.
auto command_of(const std::string& name, const Json& arguments) -> std::variant<Command, std::string> {
  if (std::string mistake = mistake_in(name, arguments); !mistake.empty()) { return mistake; }
  auto text = [&](const char* key) { return arguments.contains(key) ? arguments[key].get<std::string>() : std::string(); };
  auto list = [&](const char* key) { return list_of(arguments, key); };
  if (arguments.contains("path") == arguments.contains("text")) { return std::string("give `path` or `text`, one of the two"); }
  Command command;
  std::string file = arguments.contains("path") ? text("path") : "-";
  if (file.empty()) { return std::string("`path` is empty"); }
  if (arguments.contains("path")) { command.path = file; }
  // The path must not look like an option or standard input.
  if (arguments.contains("path") && file.front() == '-') { file.insert(0, "./"); }
  command.input = text("text");
  auto add = [&](std::initializer_list<std::string> words) { command.arguments.insert(command.arguments.end(), words); };
  if (name == "check") {
    add({"check", "--json", file});
  } else if (name == "schedule" || name == "hint") {
    add({"repl", "--color=never"});
    if (arguments.contains("function")) { add({"--function", text("function")}); }
    if (arguments.contains("with")) { add({"--with", text("with")}); }
    if (std::string mistake = add_steps(name == "hint", arguments, command.arguments); !mistake.empty()) { return mistake; }
    add({file});
  } else if (name == "measure") {
    if (list("schedules").empty()) { return std::string("`schedules` is empty: propose at least one"); }
    add({"tune", "--json"});
    if (arguments.contains("function")) { add({"--function", text("function")}); }
    if (arguments.contains("seconds")) { add({"--time", fmt::format("{}s", arguments["seconds"].get<double>())}); }
    if (arguments.contains("target")) { add({"--target", text("target")}); }
    if (arguments.value("keep_order", false)) { add({"--keep-order"}); }
    // A text in front of its option's name could be taken for another option.
    for (const std::string& one : list("schedules")) { add({"--candidate", "\n" + one}); }
    command.limit = Clock::duration::max();
    add({file});
  } else {
    add({name, "--json"});
    if (arguments.contains("function")) { add({"--function", text("function")}); }
    if (name == "bench") {
      for (const std::string& schedule : list("with")) { add({"--with", schedule}); }
      command.limit = bench_limit;
    } else {
      command.limit = Clock::duration::max();
      if (arguments.contains("space")) { add({"--space", text("space")}); }
      if (arguments.contains("with")) { add({"--with", text("with")}); }
      if (arguments.contains("trials")) { add({"--trials", std::to_string(arguments["trials"].get<int64_t>())}); }
      if (arguments.contains("seconds")) { add({"--time", fmt::format("{}s", arguments["seconds"].get<double>())}); }
      if (arguments.contains("target")) { add({"--target", text("target")}); }
      if (arguments.contains("search")) { add({"--search", text("search")}); }
      if (arguments.value("keep_order", false)) { add({"--keep-order"}); }
    }
    add({file});
  }
  return command;
}

// ---- paths ---------------------------------------------------------------------------------------------------------

/// The folders that the client reports as its roots. A client without support for roots may name any file that its user can read.
struct Roots {
  bool are_asked_for = false;           // the client supports roots
  bool are_known = false;               // the client has answered
  std::vector<std::filesystem::path> folders;
};

/// The folder of a `file://` address; empty: it is another address.
auto folder_of(const std::string& uri) -> std::filesystem::path {
  constexpr std::string_view scheme = "file://";
  if (!uri.starts_with(scheme)) { return {}; }
  size_t begin = uri.find('/', scheme.size());
  std::string path;
  for (size_t i = std::min(begin, uri.size()); i < uri.size(); ++i) {
    bool is_escaped = uri[i] == '%' && i + 2 < uri.size() && std::isxdigit(static_cast<unsigned char>(uri[i + 1])) != 0 && std::isxdigit(static_cast<unsigned char>(uri[i + 2])) != 0;
    path += is_escaped ? static_cast<char>(std::stoi(uri.substr(i + 1, 2), nullptr, 16)) : uri[i];
    i += is_escaped ? 2 : 0;
  }
  std::error_code problem;
  std::filesystem::path folder = std::filesystem::canonical(path, problem);
  return problem ? std::filesystem::path() : folder;
}

/// The reason why a file must not be read; empty: it may be. Links are followed before the folders are compared. A pipe or a device would block the tools.
auto why_not_read(const std::string& path, const Roots& roots) -> std::string {
  std::error_code problem;
  std::filesystem::path file = std::filesystem::canonical(path, problem);
  // For files inside the roots, the command itself reports why it cannot read one. Outside, the answer must not reveal the existence of the file.
  if (problem && !roots.are_asked_for) { return {}; }
  if (roots.are_asked_for) {
    if (!roots.are_known) { return fmt::format("`{}` is not read: the client has not answered which folders its roots are", path); }
    bool is_inside = !problem && std::any_of(roots.folders.begin(), roots.folders.end(), [&](const std::filesystem::path& root) {
      return std::mismatch(root.begin(), root.end(), file.begin(), file.end()).first == root.end();
    });
    if (!is_inside) { return fmt::format("`{}` is not read: no such file is below the roots that the client gives", path); }
  }
  std::filesystem::file_status facts = std::filesystem::status(file, problem);
  if (!problem && !std::filesystem::is_regular_file(facts) && !std::filesystem::is_directory(facts)) { return fmt::format("`{}` is not read: it is neither a file nor a folder", path); }
  return {};
}

// ---- answers -------------------------------------------------------------------------------------------------------

auto shortened(std::string text) -> std::string {
  if (text.size() <= most_text) { return text; }
  size_t end = std::min(text.rfind('\n', most_text), most_text);
  size_t left = text.size() - end;
  return text.substr(0, end) + fmt::format("\n... {} more bytes\n", left);
}

auto text_result(std::string text, bool is_error) -> Json {
  return {{"content", Json::array({{{"type", "text"}, {"text", shortened(std::move(text))}}})}, {"isError", is_error}};
}

/// "a.tir:34:5: error: cannot apply `parallel` to ... [loop-carried]", with notes and remedies below.
auto diagnostic_text(const Json& d) -> std::string {
  std::string where = d.value("file", "");
  if (d.contains("line")) { where += fmt::format(":{}:{}", d["line"].get<int64_t>(), d.value("column", int64_t{1})); }
  std::string out = fmt::format("{}: {}: {} [{}]\n", where, d.value("severity", ""), d.value("message", ""), d.value("code", ""));
  if (d.contains("notes")) {
    for (const Json& note : d["notes"]) {
      out += fmt::format("  {}note: {}\n", note.contains("line") ? fmt::format("line {}: ", note["line"].get<int64_t>()) : "", note.value("message", ""));
    }
  }
  if (d.contains("help")) {
    for (const Json& help : d["help"]) { out += fmt::format("  help: {}\n", help.get<std::string>()); }
  }
  return out;
}

auto lines_of_json(const std::string& output) -> std::vector<Json> {
  std::vector<Json> lines;
  size_t begin = 0;
  while (begin < output.size()) {
    size_t end = std::min(output.find('\n', begin), output.size());
    Json line = Json::parse(output.substr(begin, end - begin), nullptr, false);
    if (line.is_object()) { lines.push_back(std::move(line)); }
    begin = end + 1;
  }
  return lines;
}

/// The output of a command as the result of a call.
auto result_of(const std::string& name, const std::string& output, const std::string& errors, const ExitStatus& status) -> Json {
  if (status.signal != 0) { return text_result(fmt::format("`{}` {}\n{}", name, status.describe(), errors), true); }
  if (name == "schedule" || name == "hint") { return text_result(output + errors, status.code != 0); }
  Json diagnostics = Json::array();
  Json rows = Json::array();
  Json done;
  std::string text;
  for (const Json& line : lines_of_json(output)) {
    if (line.contains("severity")) {
      diagnostics.push_back(line);
      text += diagnostic_text(line);
    } else if (line.value("event", "") == "done") {
      done = line;
    } else if (line.value("event", "") == "candidates") {
      rows = line["candidates"];
      for (const Json& row : rows) {
        text += fmt::format("schedule {}: {}{}{}\n", row.value("number", 0), row.value("outcome", ""), row.contains("seconds") ? ", " + duration_text(row["seconds"].get<double>()) : "",
                            row.contains("message") ? ": " + row["message"].get<std::string>() : "");
      }
    } else if (line.value("event", "") == "error") {
      text += line.value("message", "") + "\n";
    } else if (!line.contains("event")) {
      rows.push_back(line);
    }
  }
  if (name == "check") {
    size_t errors_found = 0;
    for (const Json& d : diagnostics) { errors_found += d.value("severity", "") == "error" ? 1 : 0; }
    if (status.code > 1) { return text_result(errors, true); }
    Json result = text_result(diagnostics.empty() ? "nothing is wrong\n" : text, false);
    result["structuredContent"] = {{"diagnostics", diagnostics}, {"errors", errors_found}};
    return result;
  }
  if (status.code != 0) {
    // Without a fastest one, the rows still have the reasons.
    Json result = text_result(text + errors, rows.empty());
    if (!rows.empty()) { result["structuredContent"] = {{"schedules", rows}}; }
    return result;
  }
  if (name == "bench") {
    for (const Json& row : rows) {
      text += fmt::format("{}: {} +- {:.1f}%", row.value("name", ""), duration_text(row.value("seconds", 0.0)), 100 * row.value("deviation", 0.0));
      if (row.value("gflops", 0.0) > 0) { text += fmt::format(", {:.4g} GFLOP/s", row.value("gflops", 0.0)); }
      const char* roof = row.contains("roofline_of") ? "the measured memory bandwidth" : "the roofline";
      if (double share = row.value("roofline", 0.0); share > 1.005) {
        text += fmt::format(", above {} (it is to be measured again: `loopsmith target show --measure`)", roof);
      } else if (share > 0) {
        text += fmt::format(", {:.1f}% of {}", 100 * share, roof);
      }
      text += "\n";
    }
    Json result = text_result(text, false);
    result["structuredContent"] = {{"rows", rows}};
    return result;
  }
  if (!done.is_object()) { return text_result(text + errors, true); }
  const double plain = done.value("plain_seconds", 0.0);
  const std::string verified = done.value("verified", "");
  text += fmt::format("{}{}{}, {}; verified: {}\n\n{}", duration_text(done.value("best_seconds", 0.0)), done.value("ranked", false) ? " by an estimate, since no device measured" : "",
                      plain > 0 ? fmt::format(", as written {}", duration_text(plain)) : "", count_text(done.value("trials", int64_t{0}), "trial"), verified.empty() ? "nothing" : verified, done.value("schedule_text", ""));
  Json result = text_result(text, false);
  done.erase("event");
  done.erase("trace");   // the schedule text contains the same steps
  if (!rows.empty()) { done["schedules"] = rows; }
  result["structuredContent"] = std::move(done);
  return result;
}

/// True for the tools that search or measure until they are stopped, and answer with the best result so far.
auto is_search(const std::string& name) -> bool { return name == "tune" || name == "measure"; }

// ---- the server ----------------------------------------------------------------------------------------------------

struct Call {
  Json id;
  Json progress_token;
  std::string name;
  Command command;
  std::atomic<bool> is_cancelled = false;   // no client waits for an answer
  std::atomic<bool> is_stopped = false;     // the search must end and answer with its best result
};

class Server {
 public:
  void run();

 private:
  struct Lane {
    std::deque<std::shared_ptr<Call>> waiting;
    std::thread thread;
  };

  void take(const std::string& line);
  void request(const Json& id, const std::string& method, const Json& params);
  void cancel(const Json& id);
  void ask_for_roots();
  void take_roots(const Json& result);
  [[nodiscard]] auto known_roots() -> Roots;
  void execute(Call& call);
  void search(Call& call, const ProcessOptions& options);
  void work(Lane& lane);
  void send(const Json& message);
  void reply(const Json& id, Json result) { send({{"jsonrpc", "2.0"}, {"id", id}, {"result", std::move(result)}}); }
  void fail(const Json& id, int code, const std::string& why) { send({{"jsonrpc", "2.0"}, {"id", id}, {"error", {{"code", code}, {"message", why}}}}); }

  std::mutex output_;
  std::mutex mutex_;   // protects the fields below
  std::condition_variable changed_;
  Lane quick_;
  Lane slow_;
  std::map<std::string, std::shared_ptr<Call>> calls_;   // by id, as text
  Roots roots_;
  int64_t roots_request_ = 0;                            // the id of the last request for roots; 0: none was sent
  bool ended_ = false;
};

void Server::send(const Json& message) {
  std::lock_guard lock(output_);
  fmt::print("{}\n", message.dump(-1, ' ', false, Json::error_handler_t::replace));
  std::fflush(stdout);
}

void Server::cancel(const Json& id) {
  std::lock_guard lock(mutex_);
  auto found = calls_.find(id.dump());
  if (found != calls_.end()) { found->second->is_cancelled = true; }
}

/// Sends the only kind of request of this server; the ids are numbers from 1 on.
void Server::ask_for_roots() {
  int64_t id = 0;
  {
    std::lock_guard lock(mutex_);
    if (!roots_.are_asked_for) { return; }
    id = ++roots_request_;
  }
  send({{"jsonrpc", "2.0"}, {"id", id}, {"method", "roots/list"}});
}

void Server::take_roots(const Json& result) {
  std::lock_guard lock(mutex_);
  roots_.are_known = true;
  roots_.folders.clear();
  const Json list = result.is_object() ? result.value("roots", Json::array()) : Json::array();
  for (const Json& root : list.is_array() ? list : Json::array()) {
    if (!root.is_object() || !root.contains("uri") || !root["uri"].is_string()) { continue; }
    if (auto folder = folder_of(root["uri"].get<std::string>()); !folder.empty()) { roots_.folders.push_back(std::move(folder)); }
  }
  changed_.notify_all();
}

/// Waits briefly for the client's answer.
auto Server::known_roots() -> Roots {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, 5s, [&] { return !roots_.are_asked_for || roots_.are_known || ended_; });
  return roots_;
}

void Server::request(const Json& id, const std::string& method, const Json& params) {
  if (method == "initialize") {
    if (params.is_object() && params.value("capabilities", Json()).is_object() && params["capabilities"].contains("roots")) {
      std::lock_guard lock(mutex_);
      roots_.are_asked_for = true;
    }
    std::string wanted = params.is_object() ? params.value("protocolVersion", Json()).is_string() ? params["protocolVersion"].get<std::string>() : "" : "";
    bool is_known = std::find(std::begin(protocols), std::end(protocols), wanted) != std::end(protocols);
    return reply(id, {{"protocolVersion", is_known ? wanted : std::string(newest_protocol)},
                      {"capabilities", {{"tools", {{"listChanged", false}}}}},
                      {"serverInfo", {{"name", "loopsmith"}, {"title", "Loopsmith"}, {"version", LOOPSMITH_VERSION}}},
                      {"instructions", "Tensor programs and schedules in TVMScript's syntax. `hint` lists legal moves of a state, `schedule` applies them and shows the "
                                       "change, `check` finds mistakes, `bench` measures, `tune` searches."}});
  }
  if (method == "ping") { return reply(id, Json::object()); }
  if (method == "tools/list") { return reply(id, {{"tools", all_tools()}}); }
  if (method != "tools/call") { return fail(id, MethodNotFound, fmt::format("there is no method `{}`", method)); }
  if (!params.is_object() || !params.contains("name") || !params["name"].is_string()) { return fail(id, InvalidParams, "`name` of the tool is missing"); }
  auto name = params["name"].get<std::string>();
  bool is_known = std::any_of(all_tools().begin(), all_tools().end(), [&](const Json& one) { return one["name"] == name; });
  if (!is_known) { return fail(id, InvalidParams, fmt::format("there is no tool `{}`", name)); }
  Json arguments = params.value("arguments", Json::object());
  if (!arguments.is_object()) { return fail(id, InvalidParams, "`arguments` is an object"); }
  auto command = command_of(name, arguments);
  if (auto* why = std::get_if<std::string>(&command)) { return reply(id, text_result(*why, true)); }
  auto call = std::make_shared<Call>();
  call->id = id;
  call->name = name;
  call->command = std::move(std::get<Command>(command));
  if (Json meta = params.value("_meta", Json()); meta.is_object()) { call->progress_token = meta.value("progressToken", Json()); }
  std::lock_guard lock(mutex_);
  calls_[id.dump()] = call;
  (name == "bench" || is_search(name) ? slow_ : quick_).waiting.push_back(std::move(call));
  changed_.notify_all();
}

/// The nesting depth of brackets outside strings, which is limited before a message is parsed.
auto depth_of(const std::string& text) -> int {
  int depth = 0;
  int deepest = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (in_string) {
      if (c == '\\') { ++i; } else if (c == '"') { in_string = false; }
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      deepest = std::max(deepest, ++depth);
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return deepest;
}

void Server::take(const std::string& line) {
  if (line.size() > longest_message || depth_of(line) > deepest_message) { return fail(nullptr, ParseError, "the message is too large or too deep"); }
  Json message = Json::parse(line, nullptr, false);
  if (message.is_discarded()) { return fail(nullptr, ParseError, "the message is not valid JSON"); }
  if (!message.is_object()) { return fail(nullptr, InvalidRequest, "a message is an object"); }
  Json id = message.value("id", Json());
  bool has_id = message.contains("id");
  Json method = message.value("method", Json());
  if (!method.is_string()) {
    // An answer: to the last request for the roots, or to one that a later request replaced.
    if (message.contains("result") || message.contains("error")) {
      bool is_newest = false;
      {
        std::lock_guard lock(mutex_);
        is_newest = roots_request_ > 0 && id == Json(roots_request_);
      }
      if (is_newest) { take_roots(message.value("result", Json())); }
      return;
    }
    return fail(id, InvalidRequest, "the message has no method");
  }
  Json params = message.value("params", Json::object());
  if (!has_id) {
    if (method == "notifications/initialized" || method == "notifications/roots/list_changed") { ask_for_roots(); }
    if (method == "notifications/cancelled" && params.is_object()) { cancel(params.value("requestId", Json())); }
    return;
  }
  if (!id.is_string() && !id.is_number_integer()) { return fail(nullptr, InvalidRequest, "the id of a request is a string or an integer"); }
  request(id, method.get<std::string>(), params);
}

void Server::execute(Call& call) {
  ProcessOptions options;
  options.argv = {current_program()};
  options.argv.insert(options.argv.end(), call.command.arguments.begin(), call.command.arguments.end());
  options.standard_error = Stream::Pipe;
  if (call.is_cancelled) { return; }
  if (!call.command.path.empty()) {
    if (std::string why = why_not_read(call.command.path, known_roots()); !why.empty()) { return reply(call.id, text_result(why, true)); }
  }
  if (!is_search(call.name)) {
    // Waits for a running quick tool, even a cancelled one.
    auto result = run_program(options, call.command.input, in(call.command.limit));
    if (call.is_cancelled) { return; }
    if (!result.ok()) { return reply(call.id, text_result(result.diagnostics().front().message(), true)); }
    if (result->timed_out) { return reply(call.id, text_result(fmt::format("`{}` took longer than {} s and was stopped", call.name, std::chrono::duration_cast<std::chrono::seconds>(call.command.limit).count()), true)); }
    return reply(call.id, result_of(call.name, result->output, result->error, result->status));
  }
  search(call, options);
}

/// The standard error of a process that runs: read as it comes, so that the process never waits. Mistakes in options are there.
class ErrorsOf {
 public:
  explicit ErrorsOf(Process& process) : pipe_(process.release_error()) {}
  ~ErrorsOf() { if (pipe_ >= 0) { ::close(pipe_); } }
  ErrorsOf(const ErrorsOf&) = delete;
  auto operator=(const ErrorsOf&) -> ErrorsOf& = delete;
  void read() {
    char buffer[4096];
    for (ssize_t n = 0; pipe_ >= 0 && (n = ::read(pipe_, buffer, sizeof buffer)) > 0;) {
      if (text_.size() < most_text) { text_.append(buffer, static_cast<size_t>(n)); }
    }
  }
  [[nodiscard]] auto text() const -> const std::string& { return text_; }

 private:
  int pipe_;
  std::string text_;
};

/// A search that ends early answers with its best result so far; a search that had not begun at the end of the input, with the best recorded result.
void Server::search(Call& call, const ProcessOptions& options) {
  auto started = Process::start(options);
  if (!started.ok()) { return reply(call.id, text_result(started.diagnostics().front().message(), true)); }
  Process& process = *started;
  (void)process.write(call.command.input, in(quick_limit));
  process.close_input();
  std::string output;
  ErrorsOf errors(process);
  bool is_stopping = false;
  bool has_begun = false;   // before its first line the search ignores signals
  while (true) {
    if (has_begun && (call.is_cancelled || call.is_stopped) && !std::exchange(is_stopping, true)) { process.send_signal(SIGINT); }
    ReadResult line = process.read_line(in(100ms));
    errors.read();
    if (line.status == IoStatus::TimedOut) { continue; }
    if (line.status == IoStatus::Closed) { break; }
    output += line.data + "\n";
    has_begun = true;
    if (call.progress_token.is_null()) { continue; }
    Json event = Json::parse(line.data, nullptr, false);
    if (!event.is_object() || event.value("event", "") != "progress") { continue; }
    Json params = {{"progressToken", call.progress_token}, {"progress", event.value("trial", int64_t{0})}};
    if (event.value("trials", int64_t{0}) > 0) { params["total"] = event["trials"]; }
    double best = event.value("best_seconds", 0.0);
    params["message"] = best > 0 ? fmt::format("{}, best {}", event.value("phase", ""), duration_text(best)) : event.value("phase", "");
    send({{"jsonrpc", "2.0"}, {"method", "notifications/progress"}, {"params", std::move(params)}});
  }
  auto status = process.wait(in(quick_limit));
  // The protocol forbids an answer to a cancelled call. The best candidate is in the database, and a later call continues from it.
  if (call.is_cancelled) { return; }
  errors.read();
  reply(call.id, result_of(call.name, output, errors.text(), status ? *status : process.kill()));
}

void Server::work(Lane& lane) {
  while (true) {
    std::shared_ptr<Call> call;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return !lane.waiting.empty() || ended_; });
      if (lane.waiting.empty()) { return; }
      call = lane.waiting.front();
      lane.waiting.pop_front();
    }
    execute(*call);
    std::lock_guard lock(mutex_);
    auto found = calls_.find(call->id.dump());
    if (found != calls_.end() && found->second == call) { calls_.erase(found); }
  }
}

void Server::run() {
  quick_.thread = std::thread([this] { work(quick_); });
  slow_.thread = std::thread([this] { work(slow_); });
  for (std::string line; std::getline(std::cin, line);) {
    if (line.ends_with('\r')) { line.pop_back(); }
    if (!line.empty()) { take(line); }
  }
  {
    // Answers pending calls before the end, searches with their best candidates.
    std::lock_guard lock(mutex_);
    ended_ = true;
    for (auto& [id, call] : calls_) {
      if (is_search(call->name)) { call->is_stopped = true; }
    }
    changed_.notify_all();
  }
  quick_.thread.join();
  slow_.thread.join();
}

}  // namespace

auto mcp(std::vector<std::string> args) -> int {
  auto read = read_arguments(usage, args);
  if (const int* status = std::get_if<int>(&read)) { return *status; }
  ::signal(SIGPIPE, SIG_IGN);
  Server().run();
  return exit_done;
}

}  // namespace loopsmith::driver::commands
