// A session with the real `loopsmith lsp`, in which a test is the editor: sends and receives messages, with deadlines.
#pragma once

#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "lsp/protocol/framing.h"
#include "lsp/protocol/json.h"
#include "support/process.h"
#include "tests/support/effort.h"

namespace loopsmith::lsp {

/// A folder for a server's data, removed at the end: a test must not see the user's measurements.
struct DataFolder {
  DataFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "loopsmith-data-XXXXXX").string();
    if (::mkdtemp(pattern.data()) != nullptr) { path = pattern; }
  }
  ~DataFolder() {
    std::error_code ignored;
    if (!path.empty()) { std::filesystem::remove_all(path, ignored); }
  }
  DataFolder(const DataFolder&) = delete;
  auto operator=(const DataFolder&) -> DataFolder& = delete;
  std::string path;
};

class Session {
 public:
  /// The time that any single answer may take: much longer than needed, so that a slow machine fails no test.
  static constexpr auto patience = std::chrono::seconds(tests::is_sanitized ? 120 : 30);

  Session(std::vector<std::string> argv, std::vector<std::pair<std::string, std::string>> environment = {}) {
    static const DataFolder data;
    bool has_data = std::any_of(environment.begin(), environment.end(), [](const auto& one) { return one.first == "XDG_DATA_HOME"; });
    if (!has_data) { environment.emplace_back("XDG_DATA_HOME", data.path); }
    bool has_state = std::any_of(environment.begin(), environment.end(), [](const auto& one) { return one.first == "XDG_STATE_HOME"; });
    if (!has_state) { environment.emplace_back("XDG_STATE_HOME", state_.path); }
    // Sanitizers slow a worker down so much that it would look as if it hangs.
    if (tests::is_sanitized && std::find(argv.begin(), argv.end(), "--hang-limit") == argv.end()) { argv.insert(argv.end(), {"--hang-limit", "20s"}); }
    auto process = Process::start({.argv = std::move(argv), .environment = std::move(environment)});
    if (process.ok()) { process_.emplace(std::move(process).value()); }
  }

  [[nodiscard]] auto is_running() -> bool { return process_ && !process_->poll_exit(); }
  [[nodiscard]] auto process() -> Process& { return *process_; }

  void send_bytes(std::string_view bytes) {
    if (process_) { (void)process_->write(bytes, in(patience)); }
  }
  void send(Json message) {
    message["jsonrpc"] = "2.0";
    send_bytes(framed(message.dump()));
  }
  void notify(std::string_view method, Json params) { send(notification(method, std::move(params))); }
  auto request(std::string_view method, Json params) -> int {
    int id = next_id_++;
    send({{"id", id}, {"method", method}, {"params", std::move(params)}});
    return id;
  }

  /// The next message; none at the deadline or when the server is gone.
  [[nodiscard]] auto next(Deadline deadline = in(patience)) -> std::optional<Json> {
    while (process_) {
      if (auto frame = reader_.next()) {
        Json message = Json::parse(frame->body, nullptr, false);
        received.push_back(message);
        if (message.is_object() && !message.contains("method") && message.value("id", Json()).is_number_integer()) { answers_[message["id"].get<int>()] = message; }
        return message;
      }
      ReadResult bytes = process_->read_some(deadline);
      if (bytes.status != IoStatus::Done) { return std::nullopt; }
      reader_.feed(bytes.data);
    }
    return std::nullopt;
  }
  [[nodiscard]] auto until(const std::function<bool(const Json&)>& wanted, Deadline deadline = in(patience)) -> Json {
    while (auto message = next(deadline)) {
      if (wanted(*message)) { return *message; }
    }
    return nullptr;
  }
  /// The answer to a request; null: none arrived.
  [[nodiscard]] auto answer(int id) -> Json {
    if (auto known = answers_.find(id); known != answers_.end()) { return known->second; }
    return until([&](const Json&) { return answers_.contains(id); });
  }
  [[nodiscard]] auto call(std::string_view method, Json params) -> Json { return answer(request(method, std::move(params))); }

  void initialize(Json capabilities = Json::object()) {
    (void)call("initialize", {{"processId", nullptr}, {"capabilities", std::move(capabilities)}});
    notify("initialized", Json::object());
  }
  void open(const std::string& uri, const std::string& text, int version = 1) {
    notify("textDocument/didOpen", {{"textDocument", {{"uri", uri}, {"languageId", "tirscript"}, {"version", version}, {"text", text}}}});
  }
  void replace(const std::string& uri, const std::string& text, int version) {
    notify("textDocument/didChange", {{"textDocument", {{"uri", uri}, {"version", version}}}, {"contentChanges", {{{"text", text}}}}});
  }
  [[nodiscard]] auto wait_for(const std::string& uri, int version) -> Json {
    return call("loopsmith/waitForState", {{"uri", uri}, {"version", version}});
  }
  /// The diagnostics that were published last for a document; null: none.
  [[nodiscard]] auto diagnostics(const std::string& uri) const -> Json {
    for (auto message = received.rbegin(); message != received.rend(); ++message) {
      if (message->value("method", "") == "textDocument/publishDiagnostics" && (*message)["params"]["uri"] == uri) {
        return (*message)["params"]["diagnostics"];
      }
    }
    return nullptr;
  }
  /// Shuts the server down as an editor does; returns its exit status, or -1 if it does not end.
  [[nodiscard]] auto goodbye() -> int {
    (void)call("shutdown", nullptr);
    notify("exit", nullptr);
    auto status = process_->wait(in(patience));
    return status && status->signal == 0 ? status->code : -1;
  }

  std::vector<Json> received;

 private:
  DataFolder state_;   // each session has its own
  std::optional<Process> process_;
  FrameReader reader_;
  int next_id_ = 1;
  std::unordered_map<int, Json> answers_;   // by the id of the request
};

}  // namespace loopsmith::lsp
