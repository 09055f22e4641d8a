// The front: the process that communicates with the editor. It supervises the other processes and must never die: it owns the texts of open documents,
// pending requests, the editor's settings and the background jobs, so that all of these outlive an analysis worker. It never reads
// programs: the worker analyses texts, and separate processes run and tune programs. The front parses only JSON and does not use libuv;
// its Host (loop.cpp, or a test) calls it.
//
// Messages for the worker are passed on unchanged. A worker that makes no progress within the limits of `FrontOptions` is killed (front_worker.cpp). When the
// worker dies, the front answers every pending request with an error, starts a new worker
// and sends it all open documents. A document whose content killed a worker twice is not sent again until it is edited; until then it has a
// diagnostic. A request that killed a worker twice is refused until the text changes; other requests about the document still work. One thread.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "lsp/protocol/framing.h"
#include "lsp/protocol/json.h"
#include "lsp/protocol/methods.h"
#include "lsp/protocol/sync.h"
#include "lsp/server/jobs.h"
#include "lsp/server/mirrors.h"
#include "lsp/server/record.h"
#include "lsp/server/report.h"
#include "support/process.h"

namespace loopsmith::lsp {

/// Services of the event loop for the front. They do not call the front.
class Host : public JobHost {
 public:
  virtual void to_client(std::string frame) = 0;
  virtual void to_worker(std::string frame) = 0;
  /// Starts a new worker; false if that fails.
  virtual auto start_worker() -> bool = 0;
  /// The front gets `on_worker_end` later, as after any other end.
  virtual void kill_worker() = 0;
  /// Suspends the jobs, so that a request of the client has all processors, until `let_jobs_go` is called or a tenth of a second has passed.
  virtual void hold_jobs() = 0;
  virtual void let_jobs_go() = 0;
  /// Processor time that the worker has used.
  virtual auto worker_cpu() -> std::chrono::duration<double> = 0;
  virtual void quit(int status) = 0;
};

struct FrontOptions {
  /// Processor time that the worker may spend on one document without a sign of progress, in addition to an allowance for its size.
  std::chrono::duration<double> hang_limit = std::chrono::duration<double>(1.0);
  /// The same in wall-clock time, for a worker that waits for an event that never comes.
  std::chrono::duration<double> stuck_limit = std::chrono::duration<double>(30.0);
  /// The folder for unfinished searches; empty: searches are not stored.
  std::string searches = {};
};

class Front {
 public:
  Front(Host& host, FrontOptions options, Recorder* recorder = nullptr);

  // Events, from the host.
  void start();
  void on_client_bytes(std::string_view bytes);
  void on_client_end();
  void on_worker_bytes(std::string_view bytes);
  void on_worker_end(const ExitStatus& status);
  void on_job_line(JobId job, std::string_view line) { jobs_.on_line(job, line); }
  void on_job_end(JobId job, const ExitStatus& status, std::string_view errors) { jobs_.on_end(job, status, errors); }
  /// Called by the host about ten times a second.
  void on_tick();

 private:
  enum class State : uint8_t { Fresh, Running, ShutDown };

  struct Document {
    uint64_t number = 0;
    std::string uri;
    std::string language;
    int64_t version = 0;
    SyncedText text;
    bool quarantined = false;
    std::map<int64_t, Clock::time_point> read;  // by version: when the change arrived whose diagnostics are pending; only for a trace
  };

  /// A request that the worker has not answered yet.
  struct Pending {
    Json id;
    const MethodRow* row = nullptr;
    uint64_t document = 0;  // 0: none
    Clock::time_point since;
    std::optional<JobId> inserts;  // the job whose schedule this request inserts
    bool shows = false;            // the answer is a view, which the editor shows to the user
    bool reports = false;          // the answer goes into a report
    std::string label = {};        // of the edit in the answer, which the front asks the editor to make
    std::string file = {};         // of a report: the document's URI
    Json work_token = {};          // the token by which the client may cancel the request; null: none
  };

  // From the client.
  void on_message(std::string body);
  void handle(Json& message, std::string body);
  void on_request(const MethodRow& row, const Json& message, std::string body);
  void on_notification(const MethodRow& row, const Json& message, const std::string& body);
  void on_response(const Json& message);
  void initialize(const Json& id, const Json& params);
  void open(const Json& params, const std::string& body);
  void change(const Json& params, const std::string& body);
  void close(const Json& params, const std::string& body);
  void lose(const std::string& uri);
  void cancel_request(const Json& id);
  void cancel_progress(const Json& token);
  void configure(const Json& settings);
  [[nodiscard]] auto sizes_of(const Json& argument) const -> Json;
  void choose_sizes(const Json& id, const Json& params);
  [[nodiscard]] auto is_trusted() const -> bool;
  void report(const Pending& pending, const std::string& body);
  void replay_to(const Json& id, const Json& place);
  void show_view(const Pending& pending, const std::string& body);
  void attach_repl(const Json& id, const std::string& uri, std::optional<int64_t> line);
  void edit_from_repl(const std::string& uri, const Document& document, std::string edit);
  void execute_command(const Json& id, const Json& params, std::string body);
  void start_job(const Json& id, JobKind kind, const Json& argument);
  void steer_search(const Json& id, std::string_view command, const Json& argument);
  void insert_found(const Json& id, const Json& argument, std::string body);
  void toggle_hints(const Json& id);

  // To the client.
  void send(const Json& message);
  void send_text(std::string_view body);
  void trace_diagnostics(Document& document, int64_t version, bool is_unchanged);
  void reply(const Json& id, Json result) { send(response(id, std::move(result))); }
  void fail(const Json& id, ErrorCode code, std::string_view message) { send(error_response(id, code, message)); }
  void log(int type, std::string_view message);
  void ask_client(std::string_view method, Json params, std::function<void(const Json& response)> then);
  [[nodiscard]] auto status() const -> Json;
  void send_status();

  // The worker.
  void bring_up_worker();
  void send_all_to_worker();
  void send_open_to_worker(const Document& document);
  void forward(Pending pending, std::string body);
  void pass(std::string frame);
  void on_worker_frame(Frame frame);
  void insert_schedule(const Pending& pending, const std::string& body);
  void answer_all_pending(ErrorCode code, std::string_view message);
  void watch_worker();

  // Quarantine.
  void quarantine(Document& document);
  [[nodiscard]] auto is_poisonous(const Document& document) const -> bool;
  /// The key in `request_crashes_` of a request about a text; without a document the request is about all texts in their present state.
  [[nodiscard]] auto request_key(const MethodRow& row, const Document* document) const -> uint64_t;

  [[nodiscard]] auto find_document(const std::string& uri) -> Document*;
  [[nodiscard]] auto find_document(uint64_t number) -> Document*;

  Host& host_;
  FrontOptions options_;
  Recorder* recorder_;
  State state_ = State::Fresh;
  bool quit_ = false;
  FrameReader client_reader_;
  Clock::time_point read_at_{};   // the time when the present message was read
  Encoding encoding_ = Encoding::Utf16;
  Json client_capabilities_;
  Json initialize_params_;
  std::vector<std::string> folders_;   // the editor's workspace folders, as URIs
  Json configuration_;
  std::map<std::pair<std::string, std::string>, Json> sizes_;   // the sizes chosen for programs, by document and program: {"n": 128}
  std::optional<int64_t> client_process_;
  Clock::time_point client_checked_{};
  bool traces_ = false;

  std::unordered_map<std::string, std::unique_ptr<Document>> documents_;
  uint64_t next_document_ = 1;
  Mirrors mirrors_;
  std::optional<Clock::time_point> closed_at_;  // the last close of a document, until memory is released

  std::map<uint64_t, Pending> pending_;  // by ticket
  uint64_t next_ticket_ = 1;
  std::map<std::string, std::function<void(const Json&)>> asked_;  // pending requests from the server to the client, by id
  uint64_t next_question_ = 1;

  FrameReader worker_reader_;
  bool worker_up_ = false;
  uint64_t passed_ = 0;         // the number of frames sent to this worker, pings not counted
  bool rests_ = false;          // the worker has handled all of them and is idle
  Json sent_status_;            // the last status sent to the editor
  bool serves_client_ = false;  // true while a message of the client is handled
  std::deque<std::pair<uint64_t, std::string>> held_;  // requests that wait until a worker runs
  std::deque<Clock::time_point> restarts_;
  Clock::time_point restart_at_{};
  struct Working {
    uint64_t document = 0;
    int64_t version = 0;
    Clock::time_point since;
    std::chrono::duration<double> cpu{};
    uint64_t polls = 0;
    const MethodRow* request = nullptr;  // the request that the worker answers; null: it analyses the text
  };
  std::optional<Working> working_;
  std::unordered_map<uint64_t, int> crashes_;  // by hash of the text
  std::unordered_map<uint64_t, int> request_crashes_;
  uint64_t edits_ = 0;                         // the number of edits in all documents
  std::string last_crash_;

  Json client_info_;
  History history_;
  Jobs jobs_;
};

}  // namespace loopsmith::lsp
