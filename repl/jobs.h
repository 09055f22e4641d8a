// Searches in the background of a session: `:tune 64 &` starts `loopsmith tune` as a program of its own. A thread per job reads the
// events that the program prints, and touches nothing else of the session; the session asks for progress and results between inputs.
// Measurements are in the database whatever becomes of the job. A search that was stopped at the prompt leaves the comparison of its
// best with the program to a job, too.
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
    std::string progress;        // its progress, its result, or the reason that it has none
    bool compares = false;       // it compares the result of a search with the program
  };
  struct Found {
    IRModule program;            // that the search was for
    std::string trace;           // TVM's JSON
    double seconds = 0;          // of a call, measured
  };

  BackgroundJobs();
  /// Ends all running jobs.
  ~BackgroundJobs();

  /// Starts a search. `arguments` follow `loopsmith tune - --json`; `text` is the file, `function` the name of the program in it. The number of the
  /// job, or the reason that it could not be started.
  [[nodiscard]] auto start(const IRModule& program, const std::string& name, const std::string& function, const std::string& text, const std::vector<std::string>& arguments)
      -> std::pair<std::optional<size_t>, std::string>;
  /// Compares the result of a search that was stopped with the program, in the background; the job's number.
  [[nodiscard]] auto compare(const IRModule& program, const std::string& name, std::unique_ptr<tune::Comparison> comparison) -> size_t;
  [[nodiscard]] auto all() const -> std::vector<View>;
  /// Asks a search to stop and keep its best so far; a comparison is given up. False: no such job runs.
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
