// An editor without a screen: see editor.h.
#include "tests/bench/editor.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

namespace loopsmith::bench {
namespace {

using lsp::Json;
constexpr auto patience = std::chrono::seconds(30);

auto seconds(Clock::duration span) -> double { return std::chrono::duration<double>(span).count(); }

/// A process and all its descendants, from Linux's /proc.
auto family(int root) -> std::vector<int> {
  std::vector<int> all = {root};
  for (size_t i = 0; i < all.size(); ++i) {
    // Linux lists a child at the thread that started it.
    std::error_code none;
    for (const auto& task : std::filesystem::directory_iterator(fmt::format("/proc/{}/task", all[i]), none)) {
      std::ifstream children(task.path() / "children");
      for (int child = 0; children >> child;) { all.push_back(child); }
    }
  }
  return all;
}

auto resident(int pid) -> std::optional<uint64_t> {
  uint64_t bytes = 0;
  for (int one : family(pid)) {
    std::ifstream sizes(fmt::format("/proc/{}/statm", one));
    uint64_t whole = 0;
    uint64_t pages = 0;
    if (sizes >> whole >> pages) { bytes += pages * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE)); }
  }
  return bytes > 0 ? std::optional(bytes) : std::nullopt;
}

}  // namespace

auto Editor::start(const std::string& program, const std::string& data) -> std::optional<Editor> {
  ProcessOptions options;
  // Searches must not write to the user's folder.
  options.environment = {{"XDG_STATE_HOME", "/nonexistent"}};
  if (!data.empty()) { options.environment.emplace_back("XDG_DATA_HOME", data); }
  options.argv = {program, "lsp"};
  options.standard_error = Stream::Null;
  Clock::time_point start = Clock::now();
  auto process = Process::start(options);
  if (!process.ok()) { return {}; }
  Editor editor(std::move(process).value());
  editor.started_ = start;
  auto answer = editor.ask("initialize", {{"processId", nullptr}, {"rootUri", nullptr}, {"capabilities", Json::object()}});
  if (!answer || answer->result.is_null()) { return {}; }
  editor.initialize_seconds_ = seconds(editor.arrived_ - start);
  editor.send(lsp::notification("initialized", Json::object()));
  return editor;
}

void Editor::send(const Json& message) { (void)process_.write(lsp::framed(lsp::to_text(message)), in(patience)); }

auto Editor::next() -> std::optional<std::pair<Json, Clock::time_point>> { return next(in(patience)); }

auto Editor::next(Deadline deadline) -> std::optional<std::pair<Json, Clock::time_point>> {
  while (true) {
    if (auto frame = reader_.next()) {
      std::string why;
      auto message = lsp::parse_json(frame->body, why);
      if (!message) { return {}; }
      // Requests of the server are answered with null.
      if (message->contains("method") && message->contains("id")) { send(lsp::response((*message)["id"], nullptr)); }
      if (lsp::string_in(*message, "method") == "textDocument/publishDiagnostics") {
        problems_ = lsp::member(lsp::member(*message, "params"), "diagnostics").size();
      }
      return {{std::move(*message), arrived_}};
    }
    ReadResult read = process_.read_some(deadline);
    arrived_ = Clock::now();
    if (read.status != IoStatus::Done) { return {}; }
    reader_.feed(read.data);
  }
}

void Editor::trace() { send(lsp::notification("$/setTrace", {{"value", "messages"}})); }

auto Editor::own_time(const Json& message) -> std::optional<OwnTime> {
  if (lsp::string_in(message, "method") != "$/logTrace") { return {}; }
  std::istringstream said(lsp::string_in(lsp::member(message, "params"), "message"));
  std::string word, unit;
  OwnTime out;
  if (!(said >> word && word == "diagnostics" && said >> word >> word >> out.version >> word >> out.milliseconds >> unit)) { return {}; }
  out.milliseconds *= unit == "s" ? 1e3 : unit == "us" ? 1e-3 : unit == "ns" ? 1e-6 : 1;
  return out;
}

void Editor::open(const std::string& uri, const std::string& text) {
  send(lsp::notification("textDocument/didOpen", {{"textDocument", {{"uri", uri}, {"languageId", "tir"}, {"version", 1}, {"text", text}}}}));
}

auto Editor::change(const std::string& uri, int64_t version, uint32_t line, uint32_t from, uint32_t to, std::string_view text) -> Clock::time_point {
  return change(uri, version, lsp::to_json(lsp::TextRange{{line, from}, {line, to}}), text);
}

auto Editor::change(const std::string& uri, int64_t version, const Json& range, std::string_view text) -> Clock::time_point {
  Json change = {{"range", range}, {"text", text}};
  std::string frame = lsp::framed(lsp::to_text(lsp::notification(
      "textDocument/didChange", {{"textDocument", {{"uri", uri}, {"version", version}}}, {"contentChanges", Json::array({change})}})));
  Clock::time_point now = Clock::now();
  (void)process_.write(frame, in(patience));
  return now;
}

auto Editor::diagnostics(const std::string& uri, int64_t version) -> std::optional<Clock::time_point> {
  while (auto message = next()) {
    const Json& params = lsp::member(message->first, "params");
    if (lsp::string_in(message->first, "method") == "textDocument/publishDiagnostics" && lsp::string_in(params, "uri") == uri &&
        lsp::int_in(params, "version").value_or(0) >= version) {
      return message->second;
    }
  }
  return {};
}

void Editor::cancel(int64_t request) { send(lsp::notification("$/cancelRequest", {{"id", request}})); }

auto Editor::tune(const std::string& uri, std::string_view text, std::string_view function) -> std::optional<int64_t> {
  open(uri, std::string(text));
  auto answer = ask("workspace/executeCommand", {{"command", "loopsmith.tune"}, {"arguments", {{{"uri", uri}, {"function", function}, {"seconds", 3600}, {"trials", 1000000}}}}});
  return answer ? lsp::int_in(answer->result, "job") : std::nullopt;
}

auto Editor::stop_tuning(int64_t job) -> bool {
  auto answer = ask("workspace/executeCommand", {{"command", "loopsmith.tune.stop"}, {"arguments", {{{"job", job}}}}});
  return answer && !answer->is_error;
}

auto Editor::request(std::string_view method, Json params) -> int64_t {
  send({{"jsonrpc", "2.0"}, {"id", ++id_}, {"method", method}, {"params", std::move(params)}});
  return id_;
}

auto Editor::cpu_seconds() const -> std::optional<double> {
  double all = 0;
  for (int pid : family(process_.pid())) {
    std::ifstream file(fmt::format("/proc/{}/stat", pid));
    std::string line;
    if (!std::getline(file, line)) { return {}; }
    // After the name in brackets, which may contain any character, come state, parent, ...; user and system time are the 12th and 13th field, niceness the 17th.
    std::istringstream fields(line.substr(line.rfind(')') + 1));
    std::string field;
    double ticks = 0;
    bool is_job = false;
    for (int i = 1; i <= 17 && fields >> field; ++i) {
      if (i == 12 || i == 13) { ticks += std::stod(field); }
      is_job = i == 17 && field != "0";
    }
    if (is_job) { continue; }
    all += ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
  }
  return all;
}

auto Editor::ask(std::string_view method, Json params) -> std::optional<Answer> {
  int64_t id = ++id_;
  std::string frame = lsp::framed(lsp::to_text({{"jsonrpc", "2.0"}, {"id", id}, {"method", method}, {"params", std::move(params)}}));
  Clock::time_point sent = Clock::now();
  if (process_.write(frame, in(patience)) != IoStatus::Done) { return {}; }
  while (auto message = next()) {
    const Json& json = message->first;
    if (json.contains("method") || lsp::int_in(json, "id") != id) { continue; }
    return Answer{seconds(message->second - sent), lsp::int_in(lsp::member(json, "error"), "code") == int(lsp::ErrorCode::MethodNotFound),
                  json.contains("error"), lsp::member(json, "result")};
  }
  return {};
}

auto Editor::settle(const std::string& uri, int64_t version) -> std::optional<Clock::time_point> {
  auto answer = ask("loopsmith/waitForState", {{"textDocument", {{"uri", uri}}}, {"version", version}, {"state", "done"}});
  if (!answer || answer->result.is_null()) { return {}; }
  return arrived_;
}

auto Editor::memory() const -> std::optional<uint64_t> { return resident(process_.pid()); }

}  // namespace loopsmith::bench
