// Background jobs. A search for a schedule runs as a separate process (`loopsmith tune - --json`); this file gives
// the editor its progress, stops it with the best schedule so far, and offers the result for insertion. Jobs
// belong to the front, so they outlive analysis workers. One thread, no event loop.
//
// The process reads the text on its standard input and writes lines of JSON:
//   {"event":"progress","trial":12,"trials":64,"best_seconds":0.00123,"elapsed":15.2}
//   {"event":"done","schedule_text":"...","verified":"..."}
//   {"event":"error","message":"..."}
// A measurement is a job as well: `loopsmith bench - --json` writes a line per row ({"name":"plain","seconds":0.0012,"gflops":3.1,...}).
// A comparison of results: `loopsmith verify - --json` writes one line ({"compared":true,"equal":true,"how":"interpreter, all outputs",...}).
// A run: `loopsmith run - --json` writes a line per result ({"name":"C","dtype":"float32","shape":[16],"min":0,"max":1,"mean":0.5}).
// A run with every access checked: `loopsmith interpret - --json` writes the same lines, and also warnings and the error.
// SIGINT: stop, and report the best so far as done; SIGUSR1: pause; SIGUSR2: resume.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lsp/jobs/facts.h"
#include "lsp/protocol/json.h"
#include "lsp/server/searches.h"
#include "support/process.h"

namespace loopsmith::lsp {

using JobId = uint64_t;

struct JobRequest {
  std::string uri;
  std::string function;
  int64_t version = 0;
  std::string text;
  std::optional<int64_t> trials;
  std::optional<double> seconds;
  std::string target;
  std::string search = {};       // of `loopsmith tune --search`; empty: the default
  std::string space = {};        // of `loopsmith tune --space`; empty: the default
  JobKind kind = JobKind::Tune;
  std::string schedule;          // the schedule that is timed beside the program as written, or compared with it; empty: none
  std::string other;             // another schedule that is timed with it, in turns; empty: none
  std::string block;             // the block that is interpreted alone; empty: the whole program
  std::map<std::string, int64_t> sizes = {};   // the values of sizes that the program leaves open; sizes that are missing get a usual one
};

/// Services of the event loop that jobs use.
class JobHost {
 public:
  virtual ~JobHost() = default;
  /// Starts the program with the text as its input. Returns a message where it cannot be started.
  virtual auto start_job(JobId job, const std::vector<std::string>& arguments, const std::string& input)
      -> std::optional<std::string> = 0;
  virtual void signal_job(JobId job, int signal) = 0;
  /// The clock for progress messages and time limits. Tests override it.
  [[nodiscard]] virtual auto now() const -> Clock::time_point { return Clock::now(); }
};

/// Messages from jobs to the editor and to the worker. The front process sends them.
struct JobTalk {
  std::function<void(const Json& message)> to_client;
  std::function<void(std::string_view method, Json params, std::function<void(const Json&)> then)> ask_client;
  std::function<void(const Json& job)> to_worker;
};

class Jobs {
 public:
  /// `searches`: the folder that keeps unfinished searches; empty: they are not kept.
  Jobs(JobHost& host, JobTalk talk, std::string searches = {}) : host_(host), talk_(std::move(talk)), kept_(std::move(searches)) {}

  /// Sets the folders that the editor has opened, as URIs. Imports are resolved in these.
  void set_folders(std::vector<std::string> folders) { folders_ = std::move(folders); }
  void set_progress_support(bool supported) { shows_progress_ = supported; }
  /// True when the editor shows the trials of searches: it then receives `loopsmith/tuning`.
  void set_view_support(bool supported) { shows_trials_ = supported; }

  /// Returns the job's number, or the reason why it did not start.
  [[nodiscard]] auto start(JobRequest request) -> std::pair<std::optional<JobId>, std::string>;
  /// Stops a job. The best candidate so far is compared with the program before it is offered; a second call skips the comparison. False: no such job runs.
  auto stop(JobId job) -> bool;
  /// Pauses a search until it is resumed or stopped. Its measurements are kept, and no time of its budget passes. False: no such search runs.
  auto pause(JobId job) -> bool;
  auto resume(JobId job) -> bool;
  /// Restores the unfinished searches of a document from an earlier run of the server, as paused jobs.
  void restore(const std::string& uri, int64_t version);
  /// Continues a restored search on the present text. Returns the reason where it cannot; empty: it runs.
  [[nodiscard]] auto begin_again(JobId job, int64_t version, const std::string& text) -> std::string;
  [[nodiscard]] auto is_restored(JobId job) const -> bool;
  [[nodiscard]] auto uri_of(JobId job) const -> std::string;
  /// "tuning matmul: trial 12/64, best 0.7 us" for each running job, for a status line.
  [[nodiscard]] auto summary() const -> std::string;
  /// The running or paused search of a document that began last; without a document, the last one of all documents.
  [[nodiscard]] auto searching(const std::string& uri) const -> std::optional<JobId>;
  auto stop_by_token(const Json& token) -> bool;
  void stop_all();

  void on_line(JobId job, std::string_view line);
  void on_end(JobId job, const ExitStatus& status, std::string_view errors);
  void on_tick();

  /// The facts about every job that a restarted worker needs.
  [[nodiscard]] auto all_for_worker() const -> std::vector<Json>;
  [[nodiscard]] auto knows(JobId job) const -> bool { return jobs_.contains(job); }
  /// Records that the schedule of a job was inserted: it is not offered again.
  void inserted(JobId job);

 private:
  /// Comparing: the search ended, and its best candidate is compared with the program. Abandoned: stopped without that comparison.
  enum class State : uint8_t { Running, Paused, Stopping, Comparing, Abandoned, Done, Failed };
  struct Job {
    JobId id = 0;
    std::string uri;
    std::string function;
    int64_t version = 0;
    State state = State::Running;
    bool has_progress = false;  // the editor shows a progress bar for it
    bool hears = false;         // its process has begun to report; an earlier signal would end it
    bool ended = false;         // the process has ended
    Deadline kill_at = never();
    Clock::time_point last_report{};
    SearchProgress progress;    // of a search
    bool verifies = false;      // of a search: it compares its best candidate with the program
    std::string how;            // of a comparison: "interpreter, all outputs"
    std::optional<int> percentage;   // none: the job has no known length
    std::string failure;
    Json result;
    Json causes;                // of candidates of a search that failed, as the tuner lists them
    JobKind kind = JobKind::Tune;
    std::string schedule;
    std::optional<bool> is_equal;   // of a comparison
    std::string extent;             // of a comparison: "2 inputs, no error, seed 8"; empty: not reported
    std::vector<Json> rows;         // of a measurement, or the results of a run
    Json sizes;                     // the sizes that were chosen for it: {"n": 64}
    std::vector<std::string> warnings;   // of an interpretation
    Clock::time_point last_sent{};  // the time when the worker last received the progress
    std::string other;
    std::string block;
    Json news;                      // of a search: the events that the editor's view has not received yet
    Clock::time_point last_news{};
    bool is_restored = false;       // restored from an earlier session: it has no process
    KeptSearch kept;                // of a search: the stored state
    std::optional<double> budget;   // the time limit in seconds
    Clock::time_point last_kept{};
  };
  [[nodiscard]] auto launch(Job& job, const std::string& text) -> std::optional<std::string>;
  void show_progress(JobId id);
  void keep(Job& job, bool now);

  [[nodiscard]] static auto token_of(const Job& job) -> std::string;
  [[nodiscard]] static auto facts_of(const Job& job) -> JobFacts;
  [[nodiscard]] static auto for_worker(const Job& job) -> Json;
  void report(Job& job, bool now);
  void end_progress(Job& job, const std::string& message);
  void compare(Job& job);
  void tell_view(Job& job, bool now);
  /// The message at the end of a job: its type in the protocol, and a detail that is shown only at the end of the progress, since an editor may
  /// show one line of a message.
  struct EndText { std::string message, detail; int type = 3; };
  static auto text_of_result(const Job& job) -> EndText;
  static auto text_of_end(const Job& job) -> EndText;
  void finish(Job& job);

  std::vector<std::string> folders_;
  JobHost& host_;
  JobTalk talk_;
  bool shows_progress_ = false;
  bool shows_trials_ = false;
  std::map<JobId, Job> jobs_;
  JobId next_ = 1;
  KeptSearches kept_;
  bool is_closing_ = false;         // true while the server ends: the jobs that end now were not stopped by the user
};

}  // namespace loopsmith::lsp
