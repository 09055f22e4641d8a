// Searches in the background of a session: `:tune 64 &` starts `loopsmith tune` as a separate program. One thread per job reads the
// events that the program prints, and uses nothing else of the session; the session polls for progress and results between inputs.
// Measurements stay in the database even if the job fails. A search that was stopped at the prompt also leaves the comparison of its
// best schedule with the program to a job.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ir/ir.h"
#include "tune/session/session.h"

namespace loopsmith::repl {

class BackgroundJobs {
 public:
  enum class State : uint8_t { Running, Stopping, Done, Failed };
  struct View {
    size_t number = 0;           // from 1
    std::string program;
    State state = State::Running;
    std::string progress;        // its progress, its result, or the reason why it has no result
    bool compares = false;       // it compares the result of a search with the program
  };
  struct Found {
    IRModule program;            // the program of the search
    std::string trace;           // TVM's JSON
    double seconds = 0;          // of a call, measured
  };

  BackgroundJobs();
  /// Ends all running jobs.
  ~BackgroundJobs();

  /// Starts a search. `arguments` follow `loopsmith tune - --json`; `text` is the file, `function` the name of the program in it. Returns the number of the
  /// job, or the reason why it could not be started.
  [[nodiscard]] auto start(const IRModule& program, const std::string& name, const std::string& function, const std::string& text, const std::vector<std::string>& arguments)
      -> std::pair<std::optional<size_t>, std::string>;
  /// Compares the result of a stopped search with the program, in the background; returns the job's number.
  [[nodiscard]] auto compare(const IRModule& program, const std::string& name, std::unique_ptr<tune::Comparison> comparison) -> size_t;
  [[nodiscard]] auto all() const -> std::vector<View>;
  /// Requests the end of a search, which keeps its best result; a comparison is aborted. False: no such job runs.
  auto stop(size_t number) -> bool;
  /// Waits until the job has ended, or `is_enough` returns true. False: it still runs, or does not exist.
  auto wait(size_t number, bool (*is_enough)()) const -> bool;
  [[nodiscard]] auto result(size_t number) const -> std::optional<Found>;
  /// The jobs that ended since the last call.
  [[nodiscard]] auto news() -> std::vector<View>;

 private:
  struct Job;
  [[nodiscard]] auto find(size_t number) const -> Job*;
  std::vector<std::unique_ptr<Job>> jobs_;
};

}  // namespace loopsmith::repl
