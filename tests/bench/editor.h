// An editor without a screen: starts `loopsmith lsp`, speaks the protocol with it over pipes, and measures times. One thread.
// The arrival time of a message is taken when its bytes are read, so parsing on this side is not measured.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "lsp/protocol/framing.h"
#include "lsp/protocol/json.h"
#include "support/process.h"

namespace loopsmith::bench {

class Editor {
 public:
  /// Starts the server and waits for the answer to `initialize`; `initialize_seconds` is the time of both. The server keeps
  /// its searches in the folder `data`; empty: in the user's folder.
  [[nodiscard]] static auto start(const std::string& program, const std::string& data = {}) -> std::optional<Editor>;

  [[nodiscard]] auto initialize_seconds() const -> double { return initialize_seconds_; }
  [[nodiscard]] auto started() const -> Clock::time_point { return started_; }

  /// From now on the server reports, for each change, the time from reading the change until the diagnostics of names
  /// and types are written, or found unchanged. `own_time` parses the report.
  void trace();
  struct OwnTime {
    int64_t version = 0;
    double milliseconds = 0;
  };
  [[nodiscard]] static auto own_time(const lsp::Json& message) -> std::optional<OwnTime>;

  void open(const std::string& uri, const std::string& text);
  /// Replaces the text between two columns of a line. Returns the time of sending.
  auto change(const std::string& uri, int64_t version, uint32_t line, uint32_t from, uint32_t to, std::string_view text) -> Clock::time_point;

  /// The same for any range of the protocol.
  auto change(const std::string& uri, int64_t version, const lsp::Json& range, std::string_view text) -> Clock::time_point;

  /// The arrival time of diagnostics for this version or a later one.
  [[nodiscard]] auto diagnostics(const std::string& uri, int64_t version) -> std::optional<Clock::time_point>;
  /// The number of diagnostics in the latest message.
  [[nodiscard]] auto problems() const -> size_t { return problems_; }

  struct Answer {
    double seconds = 0;
    bool is_unknown = false;  // the server has no such method
    bool is_error = false;
    lsp::Json result;         // null if the answer is an error
  };
  [[nodiscard]] auto ask(std::string_view method, lsp::Json params) -> std::optional<Answer>;
  /// Waits until the document is analysed and its schedules have run.
  [[nodiscard]] auto settle(const std::string& uri, int64_t version) -> std::optional<Clock::time_point>;

  /// Starts a search for the function as an editor does, in a new document with this text; returns the job's number.
  [[nodiscard]] auto tune(const std::string& uri, std::string_view text, std::string_view function) -> std::optional<int64_t>;
  /// Stops the search; false if it had already ended.
  [[nodiscard]] auto stop_tuning(int64_t job) -> bool;

  /// Sends a request without waiting for the answer; returns its id.
  auto request(std::string_view method, lsp::Json params) -> int64_t;
  /// Cancels a request.
  void cancel(int64_t request);
  /// The next message from the server, with its arrival time; none at the deadline.
  [[nodiscard]] auto next(Deadline deadline) -> std::optional<std::pair<lsp::Json, Clock::time_point>>;
  /// Processor time of the server and its worker so far, without jobs, in seconds; none if the system does not report it.
  [[nodiscard]] auto cpu_seconds() const -> std::optional<double>;
  /// Resident bytes of the server and all its processes; none if the system does not report them.
  [[nodiscard]] auto memory() const -> std::optional<uint64_t>;

 private:
  explicit Editor(Process process) : process_(std::move(process)) {}
  void send(const lsp::Json& message);
  [[nodiscard]] auto next() -> std::optional<std::pair<lsp::Json, Clock::time_point>>;

  Process process_;
  lsp::FrameReader reader_;
  Clock::time_point started_{};
  Clock::time_point arrived_{};
  double initialize_seconds_ = 0;
  int64_t id_ = 0;
  size_t problems_ = 0;
};

}  // namespace loopsmith::bench
