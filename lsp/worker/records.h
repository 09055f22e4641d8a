// Results of earlier searches: the best schedule recorded for a program, from the database that `loopsmith tune` writes. Reading writes
// nothing and takes no lock; a database that is missing, unreadable, or being written counts as empty.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "lsp/features/measured.h"
#include "schedule/draws.h"
#include "target/peaks.h"
#include "tune/database/database.h"
#include "workspace/snapshot.h"

namespace loopsmith::lsp {

/// Reads the database and caches the answers until the file changes. For one thread.
class Records {
 public:
  /// Reads the file that `tune` writes.
  Records();
  explicit Records(std::string path) : path_(std::move(path)) {}
  /// None: no measurement of the program on this machine.
  auto best(uint64_t workload) -> std::optional<tune::Recorded>;
  auto best(const IRModule& program) -> std::optional<tune::Recorded>;
  /// The values that trials of a program on this machine drew.
  auto drawn(const IRModule& program, const schedule::Draw& draw) -> const RecordedDraws&;
  /// The time when the file was written; 0: it does not exist.
  [[nodiscard]] auto written() const -> int64_t;
  /// The structural hash, cached.
  auto hash_of(const IRModule& program) -> uint64_t;
  /// The path of the database.
  [[nodiscard]] auto path() const -> const std::string& { return path_; }
  /// Releases the programs whose hashes are remembered, if they are more than `most`.
  void forget(size_t most = 0) {
    if (hashes_.size() > most) { hashes_.clear(); }
  }

 private:
  std::string path_;
  int64_t written_ = 0;       // the time when the file was written from which the cached answers come
  std::map<uint64_t, std::optional<tune::Recorded>> known_;
  std::map<std::tuple<uint64_t, std::string, std::string, size_t>, RecordedDraws> drawn_;
  auto is_there() -> bool;
  // Most programs of a file stay the same while the user types, so each is hashed once. The module is stored so that its address is not reused.
  std::unordered_map<const void*, std::pair<IRModule, uint64_t>> hashes_;
};

/// The records as features ask for them, in a process with the peaks of its machine.
class RecordsOfPrograms : public RecordedSearches {
 public:
  /// `peaks`: of all cores; none: not measured, so no share of the roofline is known.
  RecordsOfPrograms(Records& records, std::optional<target::Peaks> peaks) : records_(records), peaks_(std::move(peaks)) {}
  auto best(const workspace::Snapshot& snapshot, std::string_view function) -> std::optional<RecordedBest> override;
  auto schedule_text(const workspace::Snapshot& snapshot, std::string_view function) -> std::optional<std::string> override;
  auto draws(const IRModule& program, const schedule::Draw& draw) -> RecordedDraws override;

 private:
  /// A record, with its program and the function in the program's module.
  struct Best { tune::Recorded recorded; const workspace::Program* program = nullptr; Name function; };
  [[nodiscard]] auto find(const workspace::Snapshot& snapshot, std::string_view function) -> std::optional<Best>;

  Records& records_;
  std::optional<target::Peaks> peaks_;
};

/// The records that are used for a program, and the reasons why others are not, in Markdown. Empty: no such program.
[[nodiscard]] auto records_explained(const workspace::Snapshot& snapshot, std::string_view function, const Records& records) -> std::string;

/// The results of all searches for a program, one after the other, in Markdown. Empty: no such program.
[[nodiscard]] auto records_text(const workspace::Snapshot& snapshot, std::string_view function, const Records& records) -> std::string;

}  // namespace loopsmith::lsp
