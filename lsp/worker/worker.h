// The worker's two threads and their state: the reader takes frames, the analysis thread does everything else (run.h has the whole). Methods are in
// worker.cpp (the threads and the queue), documents.cpp (texts, schedules and the messages about them) and requests.cpp (answers).
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "lsp/protocol/framing.h"
#include "lsp/protocol/methods.h"
#include "lsp/worker/machine_facts.h"
#include "lsp/worker/records.h"
#include "lsp/worker/routes.h"
#include "support/hash.h"
#include "workspace/imports.h"

namespace loopsmith::lsp {

/// Edits come with the number of a document and nothing else; the frame that opens the document came before.
[[nodiscard]] auto is_edit_of(const Frame& frame, uint64_t document) -> bool;

class Worker {
 public:
  explicit Worker(int output) : output_(output) {}

  void take(Frame frame);
  void end_of_input();
  void analyse();

 private:
  static constexpr std::chrono::milliseconds first_turn{250};
  struct OpenDocument {
    uint64_t number = 0;
    std::string path;
    std::unique_ptr<workspace::Document> document;
    bool needs_check = true;
    bool needs_replay = true;
    std::string published;  // the message sent last
    bool shows_schedules = false;  // `published` has findings of schedules
    std::string checked;    // diagnostics of the last check, before schedules ran
    SentTokens sent_tokens;
    JudgedState judged;
    std::string marks = "[]";   // the marks of schedules that were sent last
    Clock::time_point waits_since{};        // the time of the edit since which its schedules wait to be run
    std::chrono::milliseconds turn = first_turn;   // how long its schedules may run while other documents wait for theirs
    std::map<std::string, int64_t> served;  // the version that each view was made of, by its address
  };
  struct Request {
    uint64_t ticket = 0;
    uint64_t document = 0;
    const Route* route = nullptr;
    Json id;
    Json params;
  };

  void handle(Frame frame);
  void notified(const std::string& name, OpenDocument* open, const Frame& frame, const Json& params);
  void start(const Json& params);
  void open(const Frame& frame, const Json& params);
  void change(OpenDocument& open, const Frame& frame, const Json& params);
  [[nodiscard]] auto is_stale(const Frame& frame) -> bool;
  auto later_edits(uint64_t document) -> std::vector<Frame>;
  void job_changed(const Json& params);
  void keep_job(JobFacts job);
  void set_machine(const Json& options);
  void set_hints(const Json& options);
  void set_folders(const Json& params);
  [[nodiscard]] auto peaks_written() -> int64_t;
  void check(OpenDocument& open);
  void refresh_imports();
  void refresh_imports_of(const std::string& path);
  void refresh_records();
  auto replay_one() -> bool;
  [[nodiscard]] auto next_to_replay() -> OpenDocument*;
  void replay_briefly(OpenDocument& open);
  void publish_replayed(OpenDocument& open);
  void publish(OpenDocument& open);
  void send_stale_views(OpenDocument& open);
  void send_progress(OpenDocument& open, const std::vector<ReplayMark>& marks);
  void answer(const Request& request);
  [[nodiscard]] auto result_of(const Request& request, OpenDocument* open, const CancelToken& token) -> Json;
  void answer_settled();
  [[nodiscard]] auto find(uint64_t number) -> OpenDocument*;
  void write(const std::string& bytes);

  /// While it lives, the front knows which text or request is being worked on, and blames that one if the worker dies.
  class Working {
   public:
    Working(Worker& worker, const OpenDocument* open, uint64_t ticket = 0) : worker_(worker) {
      uint64_t number = open != nullptr ? open->number : 0;
      auto version = static_cast<uint64_t>(open != nullptr ? open->document->snapshot()->version() : 0);
      worker_.write(framed("", {{header::working, 1}, {header::document, number}, {header::version, version}, {header::blamed, ticket}}));
    }
    ~Working() { worker_.write(framed("", {{header::working, 0}})); }

   private:
    Worker& worker_;
  };

  /// While it lives, frames that arrive cancel the work (`take`). `is_refused`: there are some already, so the work must not begin.
  class Yielding {
   public:
    Yielding(Worker& worker, const CancelSource& source) : worker_(worker) {
      std::lock_guard lock(worker_.mutex_);
      is_refused = !worker_.arrived_.empty() || worker_.ended_;
      if (is_refused) { return; }
      worker_.current_ = source;
      worker_.current_yields_ = true;
    }
    ~Yielding() {
      std::lock_guard lock(worker_.mutex_);
      worker_.current_yields_ = false;
    }
    Yielding(const Yielding&) = delete;
    auto operator=(const Yielding&) -> Yielding& = delete;
    bool is_refused = false;

   private:
    Worker& worker_;
  };

  int output_;
  std::mutex write_mutex_;

  // Between the threads, under the mutex.
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Frame> arrived_;
  uint64_t taken_ = 0;         // frames, signs of life not counted
  bool ended_ = false;
  CancelSource current_;       // stops what the analysis thread does now
  bool current_yields_ = false;  // any frame that arrives stops it (replaying schedules), not only one that makes it stale
  uint64_t current_ticket_ = 0;
  uint64_t current_document_ = 0;
  std::unordered_map<uint64_t, bool> cancelled_;  // tickets given up before they were begun

  // The analysis thread's own.
  uint64_t rested_at_ = 0;     // frames taken at the last report of rest
  Encoding encoding_ = Encoding::Utf16;
  Json capabilities_;
  MachineFacts machine_;
  Json machine_options_;
  int64_t peaks_written_ = 0;    // as of `machine_`
  Deadline look_again_{};
  bool pulls_ = false;           // the client asks for diagnostics
  bool loop_hints_ = false;      // hints say why loops are not vectorized
  std::string manual_;           // the page that explains diagnostics; empty: the editor does not ask for it, or it is not there
  std::string links_;            // the same, for links in texts
  std::vector<std::string> folders_;
  Deadline too_large_until_{};
  /// Open documents as the editor has them, others as they are written.
  class EditorTexts final : public workspace::TextsOnDisk {
   public:
    explicit EditorTexts(const Worker& worker) : worker_(worker) {}
    auto stamp(const std::string& path) -> std::optional<uint64_t> override {
      const OpenDocument* open = find(path);
      return open != nullptr ? hash_combine(open->number, hash_bytes(open->document->snapshot()->text())) : TextsOnDisk::stamp(path);
    }
    auto text(const std::string& path) -> std::optional<std::string> override {
      const OpenDocument* open = find(path);
      return open != nullptr ? open->document->snapshot()->text() : TextsOnDisk::text(path);
    }

   private:
    [[nodiscard]] auto find(const std::string& path) const -> const OpenDocument* {
      for (const auto& open : worker_.documents_) {
        if (open->path == path) { return open.get(); }
      }
      return nullptr;
    }
    const Worker& worker_;
  };
  std::shared_ptr<workspace::Imports> imports_;   // of open documents; null: none is open
  std::vector<std::unique_ptr<OpenDocument>> documents_;
  uint64_t last_replayed_ = 0;   // the document whose schedules ran last: those of the others come next
  bool has_closed_ = false;      // one, since memory was given back
  std::map<uint64_t, JobFacts> jobs_;
  Records records_;
  bool refreshes_lenses_ = false;   // the client asks for lenses again when it gets a request to do so
  int64_t records_seen_ = 0;     // when their file was written, as of the last look
  std::map<uint64_t, double> bests_;   // of the programs that were open at the last look: what is recorded of them
  std::deque<Request> settled_;  // wait until all is known of their document
};

}  // namespace loopsmith::lsp
