// The front without its processes: a test plays the editor and the worker, and its clock moves only when the test advances it.
#pragma once

#include <algorithm>
#include <csignal>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lsp/protocol/jobs.h"
#include "lsp/server/front.h"
#include "tests/unit/catch.h"
#include "tests/unit/lsp/session.h"

namespace loopsmith::lsp {

struct Stage final : Host {
  std::vector<Json> client;                                // frames to the editor
  std::vector<Frame> worker;                               // frames to the worker
  std::vector<std::pair<JobId, int>> signals;
  std::vector<std::string> job_arguments;
  std::string job_input;
  int workers = 0;
  bool can_start = true;
  bool killed = false;
  bool jobs_held = false;
  double cpu = 0;
  Clock::time_point time = Clock::now();                   // the front's clock: it does not move unless a test advances it
  std::optional<int> exit_status;
  FrameReader client_reader;
  FrameReader worker_reader;
  Front front;
  int next_id = 1;

  explicit Stage(FrontOptions options = {}) : front(*this, std::move(options)) { front.start(); }

  void to_client(std::string frame) override {
    client_reader.feed(frame);
    while (auto got = client_reader.next()) { client.push_back(Json::parse(got->body)); }
  }
  void to_worker(std::string frame) override {
    worker_reader.feed(frame);
    while (auto got = worker_reader.next()) { worker.push_back(std::move(*got)); }
  }
  auto start_worker() -> bool override {
    ++workers;
    killed = false;
    worker.clear();
    return can_start;
  }
  void kill_worker() override { killed = true; }
  void hold_jobs() override { jobs_held = true; }
  void let_jobs_go() override { jobs_held = false; }
  auto worker_cpu() -> std::chrono::duration<double> override { return std::chrono::duration<double>(cpu); }
  void quit(int status) override { exit_status = status; }
  auto start_job(JobId, const std::vector<std::string>& arguments, const std::string& input) -> std::optional<std::string> override {
    job_arguments = arguments;
    job_input = input;
    return std::nullopt;
  }
  void signal_job(JobId job, int signal) override { signals.emplace_back(job, signal); }
  [[nodiscard]] auto now() const -> Clock::time_point override { return time; }
  void advance(Clock::duration span) { time += span; }

  // The editor.
  void send(const Json& message) { front.on_client_bytes(framed(message.dump())); }
  void notify(const char* method, Json params) { send(notification(method, std::move(params))); }
  auto ask(const char* method, Json params) -> int {
    int id = next_id++;
    send({{"jsonrpc", "2.0"}, {"id", id}, {"method", method}, {"params", std::move(params)}});
    return id;
  }
  auto answer_to(int id) -> Json {
    for (const Json& message : client) {
      if (!message.contains("method") && message.contains("id") && message["id"] == id) { return message; }
    }
    return nullptr;
  }
  auto error_of(int id) -> int {
    Json answer = answer_to(id);
    return answer.contains("error") ? answer["error"]["code"].get<int>() : 0;
  }
  auto last(const char* method) -> Json {
    for (auto message = client.rbegin(); message != client.rend(); ++message) {
      if (message->value("method", "") == method) { return *message; }
    }
    return nullptr;
  }
  void initialize(Json capabilities = Json::object()) {
    ask("initialize", {{"capabilities", std::move(capabilities)}});
    notify("initialized", Json::object());
  }
  void open(const char* uri, const char* text, int version = 1) {
    notify("textDocument/didOpen", {{"textDocument", {{"uri", uri}, {"languageId", "tir"}, {"version", version}, {"text", text}}}});
  }
  void replace(const char* uri, const char* text, int version) {
    notify("textDocument/didChange", {{"textDocument", {{"uri", uri}, {"version", version}}}, {"contentChanges", {{{"text", text}}}}});
  }
  auto hover(const char* uri) -> int {
    return ask("textDocument/hover", {{"textDocument", {{"uri", uri}}}, {"position", {{"line", 0}, {"character", 0}}}});
  }

  // The worker.
  auto document_number() -> uint64_t {
    for (auto frame = worker.rbegin(); frame != worker.rend(); ++frame) {
      if (frame->body.find("didOpen") != std::string::npos) { return *frame->number(header::document); }
    }
    return 0;
  }
  void from_worker(const Json& message, std::initializer_list<std::pair<std::string_view, uint64_t>> headers) {
    front.on_worker_bytes(framed(message.is_null() ? "" : message.dump(), headers));
  }
  void works_on(uint64_t document, uint64_t version) {
    from_worker(nullptr, {{header::working, 1}, {header::document, document}, {header::version, version}});
  }
  void worker_dies(int signal = SIGSEGV) { front.on_worker_end(ExitStatus{.signal = signal}); }
  auto has_open(const char* uri) -> bool {
    return std::any_of(worker.begin(), worker.end(), [&](const Frame& frame) {
      return frame.body.find("didOpen") != std::string::npos && frame.body.find(uri) != std::string::npos;
    });
  }
};

inline constexpr int server_not_initialized = -32002;
inline constexpr int invalid_request = -32600;
inline constexpr int method_not_found = -32601;
inline constexpr int invalid_params = -32602;
inline constexpr int internal_error = -32603;
inline constexpr int content_modified = -32801;
inline constexpr int request_cancelled = -32800;

}  // namespace loopsmith::lsp
