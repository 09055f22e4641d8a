// The tuning database: what was measured, kept so that it is measured once.
//
// One SQLite file (write-ahead log, many readers and writers). A *workload* is a program's text in canonical form
// with its structural hash; a *record* is one measured candidate of a workload on a target: the trace in TVM's
// JSON, its measurement, how it ended. Records are never changed but for `verified`; losing power loses at most the
// last commits, never the file. The only file that includes SQLite is database.cpp.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "support/diagnostic.h"

namespace loopsmith::tune {

/// What makes two measurements comparable.
struct TaskKey {
  uint64_t workload = 0;      // structural hash of the module
  std::string target;         // canonical target text
  std::string machine;        // identity of the machine the numbers come from

  friend auto operator==(const TaskKey&, const TaskKey&) -> bool = default;
};

/// How a trial ended. All but `Measured` say why there is no time.
enum class Outcome : uint8_t {
  Measured,   // `median_seconds` and the rest are meant
  Censored,   // stopped early: not faster than `median_seconds`
  Rejected,   // the build refused it (too large, not lowered)
  Crashed,    // the worker died in it
  TimedOut,   // the worker was killed at the time limit
  Wrong,      // ran, but its results differ
};
[[nodiscard]] auto outcome_name(Outcome outcome) -> const char*;

struct Record {
  int64_t id = 0;                 // given by the database
  uint64_t candidate = 0;         // hash of the lowered candidate
  std::string trace;              // TVM's JSON
  Outcome outcome = Outcome::Measured;
  double median_seconds = 0;      // of one call
  double spread_seconds = 0;      // median absolute deviation of the blocks
  int blocks = 0;
  std::string note;               // cause, where there is no time
  uint64_t seed = 0;              // of the session that proposed it
  int trial = 0;                  // its number in that session
  std::string verified;           // "": not; else how ("interpreter, all outputs")
  int64_t unix_time = 0;
};

/// One open database. Not for use from several threads at once; open it again instead.
class Database {
 public:
  Database(Database&&) noexcept;
  auto operator=(Database&&) noexcept -> Database&;
  ~Database();

  /// Opens or makes the file, with its folder. A path of ":memory:" keeps nothing. Fails where the file is not a
  /// database, is of a newer version than this program knows, or cannot be written.
  [[nodiscard]] static auto open(const std::string& path) -> Result<Database>;

  /// Where `tune` keeps its records unless told otherwise: below XDG_DATA_HOME.
  [[nodiscard]] static auto default_path() -> std::string;

  /// Remembers the program's text; a second call with the same key changes nothing.
  [[nodiscard]] auto add_workload(const TaskKey& task, const std::string& name, const std::string& text) -> Status;

  /// Durable once this returns, but for power loss; `sync` covers that too.
  [[nodiscard]] auto add(const TaskKey& task, Record record) -> Result<int64_t>;
  [[nodiscard]] auto mark_verified(int64_t record, const std::string& how) -> Status;
  [[nodiscard]] auto mark_wrong(int64_t record, const std::string& why) -> Status;
  [[nodiscard]] auto sync() -> Status;

  /// In the order they were added.
  [[nodiscard]] auto records(const TaskKey& task) -> Result<std::vector<Record>>;
  [[nodiscard]] auto find(const TaskKey& task, uint64_t candidate) -> Result<std::optional<Record>>;
  /// The fastest measured one; empty where there is none.
  [[nodiscard]] auto best(const TaskKey& task) -> Result<std::optional<Record>>;

  struct Workload {
    TaskKey task;
    std::string name;
    std::string text;
    int64_t records = 0;
    double best_seconds = 0;    // 0: none measured
  };
  [[nodiscard]] auto workloads() -> Result<std::vector<Workload>>;

  /// What is no longer wanted. A workload's fastest measured record always stays.
  struct Unwanted {
    std::optional<int64_t> beyond = {};     // of each workload, all but so many: the fastest measured ones first
    std::optional<int64_t> before = {};     // added before this time
  };
  struct Forgotten { int64_t records = 0, workloads = 0; };
  /// Removes it, with workloads that have no records, and gives the room back to the disk.
  [[nodiscard]] auto forget(const Unwanted& unwanted) -> Result<Forgotten>;

  /// All of what `work` adds, or, where it fails, nothing.
  [[nodiscard]] auto at_once(const std::function<Status()>& work) -> Status;

 private:
  struct Impl;
  explicit Database(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// What a file of records says of a program, read as it lies on the disk: nothing is written or locked, no file is made. Records that a
/// program which is writing now has not moved out of its log are not seen yet.
struct Recorded {
  Record best;              // the fastest measured one whose results were compared; without one the fastest
  std::string target;       // it was measured for
  int64_t records = 0;      // of the program on this machine, for all targets
};
/// Of the workload with this hash on a machine, for whatever target. None: no such record; or there is no such file, it is none of ours or
/// of a newer version, or it changed while it was read.
[[nodiscard]] auto recorded_on_disk(const std::string& path, uint64_t workload, const std::string& machine) -> std::optional<Recorded>;
/// The last measured records of the workload on a machine, for all targets, so many at most; read the same way.
[[nodiscard]] auto measured_on_disk(const std::string& path, uint64_t workload, const std::string& machine, int64_t most) -> std::vector<Record>;

}  // namespace loopsmith::tune
