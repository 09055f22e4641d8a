// An editor without a screen: starts `loopsmith lsp`, speaks the protocol with it over pipes, and keeps the time. One thread.
// When something arrives is noted as soon as its bytes are read, so parsing on this side is not measured.
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
  /// Starts the server and waits until `initialize` is answered; `initialize_seconds` says how long both took.
  /// What it keeps of searches goes into the folder `data`; empty: where a person's goes.
  [[nodiscard]] static auto start(const std::string& program, const std::string& data = {}) -> std::optional<Editor>;

  [[nodiscard]] auto initialize_seconds() const -> double { return initialize_seconds_; }
  [[nodiscard]] auto started() const -> Clock::time_point { return started_; }

  /// From now on the server says how long it took for each change, from reading it to having written its diagnostics of names and
  /// types, or knowing that they are those of before: `own_time` reads that.
  void trace();
  struct OwnTime {
    int64_t version = 0;
    double milliseconds = 0;
  };
  [[nodiscard]] static auto own_time(const lsp::Json& message) -> std::optional<OwnTime>;

  void open(const std::string& uri, const std::string& text);
  /// The text between two columns of a line becomes another. Gives when it was sent.
  auto change(const std::string& uri, int64_t version, uint32_t line, uint32_t from, uint32_t to, std::string_view text) -> Clock::time_point;

  /// The same for any range of the protocol's.
  auto change(const std::string& uri, int64_t version, const lsp::Json& range, std::string_view text) -> Clock::time_point;

  /// When diagnostics of this version, or a later one, arrived.
  [[nodiscard]] auto diagnostics(const std::string& uri, int64_t version) -> std::optional<Clock::time_point>;
  /// Their number in what came last.
  [[nodiscard]] auto problems() const -> size_t { return problems_; }

  struct Answer {
    double seconds = 0;
    bool is_unknown = false;  // the server has no such method
    bool is_error = false;
    lsp::Json result;         // null where it is an error
  };
  [[nodiscard]] auto ask(std::string_view method, lsp::Json params) -> std::optional<Answer>;
  /// All is known of the document: its schedules have run.
  [[nodiscard]] auto settle(const std::string& uri, int64_t version) -> std::optional<Clock::time_point>;

  /// A search for the function, as an editor starts one, in a text that is opened for it; the job's number.
  [[nodiscard]] auto tune(const std::string& uri, std::string_view text, std::string_view function) -> std::optional<int64_t>;
  /// Ends it; false where it had ended.
  [[nodiscard]] auto stop_tuning(int64_t job) -> bool;

  /// Sends without waiting for the answer; its id.
  auto request(std::string_view method, lsp::Json params) -> int64_t;
  /// Says that the answer is not wanted any more.
  void cancel(int64_t request);
  /// The next message from the server, and when it arrived; none at the deadline.
  [[nodiscard]] auto next(Deadline deadline) -> std::optional<std::pair<lsp::Json, Clock::time_point>>;
  /// Processor time used so far by the server and its worker, jobs not counted, in seconds; none where the system does not say.
  [[nodiscard]] auto cpu_seconds() const -> std::optional<double>;
  /// Bytes resident, of the server and all it started; none where the system does not say.
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
