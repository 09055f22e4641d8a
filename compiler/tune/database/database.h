// The tuning database keeps all measurements, so that no candidate is measured twice.
//
// One SQLite file (write-ahead log, many readers and writers). A *workload* is a program's text in canonical form
// with its structural hash; a *record* is one measured candidate of a workload on a target: the trace in TVM's
// JSON, its measurement and its outcome. Only `verified` and a wrong result are added to a record later. A power failure loses at most the last commits,
// never the file. Only database.cpp includes SQLite.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "support/diagnostic.h"

namespace loopsmith::tune {

/// Two measurements with the same key are comparable.
struct TaskKey {
  uint64_t workload = 0;      // structural hash of the module
  std::string target;         // canonical target text
  std::string machine;        // identity of the machine that measured

  friend auto operator==(const TaskKey&, const TaskKey&) -> bool = default;
};

/// The end of a trial. Each value other than `Measured` is the reason why the trial has no time.
enum class Outcome : uint8_t {
  Measured,   // `median_seconds` and the other numbers are valid
  Censored,   // stopped early: not faster than `median_seconds`
  Rejected,   // the build refused it (too large, not lowered)
  Crashed,    // the worker died
  TimedOut,   // the worker was killed at the time limit
  Wrong,      // it ran, but its results differ
};
[[nodiscard]] auto outcome_name(Outcome outcome) -> const char*;

/// True for a possible number of seconds of one call: finite, above 0, and less than four months. Records with other times are neither added nor read.
[[nodiscard]] auto is_time(double seconds) -> bool;

struct Record {
  int64_t id = 0;                 // assigned by the database
  uint64_t candidate = 0;         // hash of the lowered candidate
  std::string trace;              // TVM's JSON
  Outcome outcome = Outcome::Measured;
  double median_seconds = 0;      // of one call
  double spread_seconds = 0;      // median absolute deviation of the blocks
  int blocks = 0;
  std::string note;               // the cause, if the trial has no time
  uint64_t seed = 0;              // the seed of the session that proposed it
  int trial = 0;                  // its number in that session
  std::string line = {};          // the same trial in a log of one of TVM's older tuners, whose template or task made it; empty: there is none
  std::string verified;           // the way of verification ("2 inputs, all outputs against the interpreter, no error, seed 8"); empty: not verified
  int64_t unix_time = 0;
};

/// One open database, for one thread. Other threads open the file separately.
class Database {
 public:
  Database(Database&&) noexcept;
  auto operator=(Database&&) noexcept -> Database&;
  ~Database();

  /// Opens the file, or creates it with its folder. The path ":memory:" keeps nothing. Fails if the file is not a database, belongs to a newer version of
  /// this program, or cannot be written.
  [[nodiscard]] static auto open(const std::string& path) -> Result<Database>;

  /// The default file of `tune`, below XDG_DATA_HOME.
  [[nodiscard]] static auto default_path() -> std::string;

  /// Stores the program's text; a second call with the same key changes nothing.
  [[nodiscard]] auto add_workload(const TaskKey& task, const std::string& name, const std::string& text) -> Status;

  /// After this returns, the record survives a crash of this process; after `sync`, it also survives a power failure.
  [[nodiscard]] auto add(const TaskKey& task, Record record) -> Result<int64_t>;
  [[nodiscard]] auto mark_verified(int64_t record, const std::string& how) -> Status;
  [[nodiscard]] auto mark_wrong(int64_t record, const std::string& why) -> Status;
  /// Sets the line of a record, or replaces it.
  [[nodiscard]] auto set_line(int64_t record, const std::string& line) -> Status;
  [[nodiscard]] auto sync() -> Status;

  /// In the order in which they were added.
  [[nodiscard]] auto records(const TaskKey& task) -> Result<std::vector<Record>>;
  [[nodiscard]] auto find(const TaskKey& task, uint64_t candidate) -> Result<std::optional<Record>>;
  /// The fastest measured record; none: there is no measured record.
  [[nodiscard]] auto best(const TaskKey& task) -> Result<std::optional<Record>>;

  struct Workload {
    TaskKey task;
    std::string name;
    std::string text;
    int64_t records = 0;
    double best_seconds = 0;    // 0: none measured
  };
  [[nodiscard]] auto workloads() -> Result<std::vector<Workload>>;

  /// The records to remove. A workload's fastest measured record is always kept.
  struct Unwanted {
    std::optional<int64_t> beyond = {};     // all records of each workload beyond this number; keeps the fastest measured ones
    std::optional<int64_t> before = {};     // records added before this time
  };
  struct Forgotten { int64_t records = 0, workloads = 0; };
  /// Removes these records and all workloads without records, and shrinks the file.
  [[nodiscard]] auto forget(const Unwanted& unwanted) -> Result<Forgotten>;

  /// Runs `work` as one transaction: if it fails, none of its changes is kept.
  [[nodiscard]] auto at_once(const std::function<Status()>& work) -> Status;

 private:
  struct Impl;
  explicit Database(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// The records of a program in a file on disk. Reading takes no lock, writes nothing and creates no file. Records that another process has only in its
/// write-ahead log are not visible yet.
struct Recorded {
  Record best;              // the fastest verified record; without one the fastest
  std::string target;       // of the best
  int64_t records = 0;      // of the program on this machine, for all targets
};
/// The records of the workload with this hash on a machine, for any target. None: the file has no such record, is missing, is no tuning database or belongs to a
/// newer version, or changed while it was read.
[[nodiscard]] auto recorded_on_disk(const std::string& path, uint64_t workload, const std::string& machine) -> std::optional<Recorded>;
/// The last measured records of the workload on a machine, for all targets, at most `most`; read in the same way.
[[nodiscard]] auto measured_on_disk(const std::string& path, uint64_t workload, const std::string& machine, int64_t most) -> std::vector<Record>;

}  // namespace loopsmith::tune
