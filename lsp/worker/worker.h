// The worker's two threads and their state: the reader takes frames, the analysis thread does everything else (see run.h). Methods are in
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

/// True for an edit of a document. An edit has only the document's number; the frame that opened the document came before.
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
    std::string published;  // the diagnostics message sent last
    bool shows_schedules = false;  // `published` contains findings of schedules
    std::string checked;    // diagnostics of the last check, before schedules ran
    SentTokens sent_tokens;
    JudgedState judged;
    std::string marks = "[]";   // the marks of schedules that were sent last
    Clock::time_point waits_since{};        // the time of the edit since which its schedules wait to run
    std::chrono::milliseconds turn = first_turn;   // the time for which its schedules may run while other documents wait
    std::map<std::string, int64_t> served;  // by the address of a view: the version that the view was made from
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

  /// While it exists, the front knows the text or request of the present work, and blames it if the worker dies.
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

  /// While it exists, arriving frames cancel the work (`take`). `is_refused`: frames have already arrived, so the work must not begin.
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

  // Shared by the threads, under the mutex.
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Frame> arrived_;
  uint64_t taken_ = 0;         // the number of frames, signs of life not counted
  bool ended_ = false;
  CancelSource current_;       // cancels the present work of the analysis thread
  bool current_yields_ = false;  // any arriving frame cancels the work (a replay of schedules), not only one that makes it stale
  uint64_t current_ticket_ = 0;
  uint64_t current_document_ = 0;
  std::unordered_map<uint64_t, bool> cancelled_;  // requests that were cancelled before work on them began

  // Used by the analysis thread only.
  uint64_t rested_at_ = 0;     // the number of frames at the last report that the worker is idle
  Encoding encoding_ = Encoding::Utf16;
  Json capabilities_;
  MachineFacts machine_;
  Json machine_options_;
  int64_t peaks_written_ = 0;    // when the file of peaks in `machine_` was written
  Deadline look_again_{};
  bool pulls_ = false;           // the client requests diagnostics itself
  bool loop_hints_ = false;      // hints give the reason why loops are not vectorized
  std::string manual_;           // the page that explains diagnostics; empty: the editor does not support links to it, or it was not found
  std::string links_;            // the same page, for links in texts
  std::vector<std::string> folders_;
  Deadline too_large_until_{};
  /// Open documents as the editor has them, other files from the disk.
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
  std::shared_ptr<workspace::Imports> imports_;   // imports of open documents; null: none is open
  std::vector<std::unique_ptr<OpenDocument>> documents_;
  uint64_t last_replayed_ = 0;   // the document whose schedules ran last; the other documents come first
  bool has_closed_ = false;      // a document was closed since memory was last released
  std::map<uint64_t, JobFacts> jobs_;
  Records records_;
  bool refreshes_lenses_ = false;   // the client supports `workspace/codeLens/refresh`
  int64_t records_seen_ = 0;     // when the file of records was written, as of the last check
  std::map<uint64_t, double> bests_;   // by program that was open at the last check: its recorded best time
  std::deque<Request> settled_;  // requests that wait until all schedules of their document have run
};

}  // namespace loopsmith::lsp
