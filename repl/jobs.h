// Searches that go on while the session does: `:tune 64 &` starts `loopsmith tune` as a program of its own, and here is what the
// session knows of it. A thread per job reads what it says, and touches nothing else of the session: how far it is, or its end, is asked
// for between lines. What was measured is in the database whatever becomes of the job. A search that was stopped at the prompt leaves the
// comparison of its best with the program to a job, too.
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
    std::string told;            // how far it is, what came of it, or why there is nothing
    bool compares = false;       // what a search found, with the program
  };
  struct Found {
    IRModule program;            // that was searched for
    std::string trace;           // TVM's JSON
    double seconds = 0;          // of a call, measured
  };

  BackgroundJobs();
  /// Ends all that run.
  ~BackgroundJobs();

  /// `arguments` follow `loopsmith tune - --json`; `text` is the file, `function` what the program is called in it. Its number, or why it
  /// could not be started.
  [[nodiscard]] auto start(const IRModule& program, const std::string& name, const std::string& function, const std::string& text, const std::vector<std::string>& arguments)
      -> std::pair<std::optional<size_t>, std::string>;
  /// Compares what a search that was stopped had found with the program, beside the session; the job's number.
  [[nodiscard]] auto compare(const IRModule& program, const std::string& name, std::unique_ptr<tune::Comparison> comparison) -> size_t;
  [[nodiscard]] auto all() const -> std::vector<View>;
  /// Asks it to stop and keep the best so far; one that compares gives it up. False: no such job runs.
  auto stop(size_t number) -> bool;
  /// Waits until it has ended, or `is_enough` says so. False: it still runs, or there is no such job.
  auto wait(size_t number, bool (*is_enough)()) const -> bool;
  [[nodiscard]] auto result(size_t number) const -> std::optional<Found>;
  /// Those that ended since this was asked last.
  [[nodiscard]] auto news() -> std::vector<View>;

 private:
  struct Job;
  [[nodiscard]] auto find(size_t number) const -> Job*;
  std::vector<std::unique_ptr<Job>> jobs_;
};

}  // namespace loopsmith::repl
