// What searches of earlier days found: the best so far of a program, from the database that `loopsmith tune` writes. Reading it writes
// nothing and takes no lock; a database that is missing, of somebody else, or being written is silence.
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

/// What is asked again and again of a file that seldom changes. One thread's.
class Records {
 public:
  /// Of the file that `tune` writes.
  Records();
  explicit Records(std::string path) : path_(std::move(path)) {}
  /// None: nothing was measured of it on this machine.
  auto best(uint64_t workload) -> std::optional<tune::Recorded>;
  auto best(const IRModule& program) -> std::optional<tune::Recorded>;
  /// The values that trials of a program on this machine drew.
  auto drawn(const IRModule& program, const schedule::Draw& draw) -> const RecordedDraws&;
  /// When the file was written; 0: there is none.
  [[nodiscard]] auto written() const -> int64_t;
  /// Structural, and remembered.
  auto hash_of(const IRModule& program) -> uint64_t;
  /// Where it is.
  [[nodiscard]] auto path() const -> const std::string& { return path_; }
  /// Lets go of the programs that were asked about; where they are more than so many.
  void forget(size_t most = 0) {
    if (hashes_.size() > most) { hashes_.clear(); }
  }

 private:
  std::string path_;
  int64_t written_ = 0;       // what the answers kept are of: when the file was written
  std::map<uint64_t, std::optional<tune::Recorded>> known_;
  std::map<std::tuple<uint64_t, std::string, std::string, size_t>, RecordedDraws> drawn_;
  auto is_there() -> bool;
  // A program is hashed once: most of a file stays while somebody types in it. Kept, so that no other takes its place in memory.
  std::unordered_map<const void*, std::pair<IRModule, uint64_t>> hashes_;
};

/// The records as features ask for them, in a process with the peaks of its machine.
class RecordsOfPrograms : public RecordedSearches {
 public:
  /// `peaks`: of all cores; none: not measured, and no share of the roofline is known.
  RecordsOfPrograms(Records& records, std::optional<target::Peaks> peaks) : records_(records), peaks_(std::move(peaks)) {}
  auto best(const workspace::Snapshot& snapshot, std::string_view function) -> std::optional<RecordedBest> override;
  auto schedule_text(const workspace::Snapshot& snapshot, std::string_view function) -> std::optional<std::string> override;
  auto draws(const IRModule& program, const schedule::Draw& draw) -> RecordedDraws override;
  auto is_of_another_program(const workspace::Snapshot& snapshot, const script::FileSchedule& schedule) -> bool override;

 private:
  /// A record, with its program and the function in the program's module.
  struct Best { tune::Recorded recorded; const workspace::Program* program = nullptr; Name function; };
  [[nodiscard]] auto find(const workspace::Snapshot& snapshot, std::string_view function) -> std::optional<Best>;

  Records& records_;
  std::optional<target::Peaks> peaks_;
};

/// Which records are used for a program and why others are not, in lines of Markdown. Empty: there is no such program.
[[nodiscard]] auto records_explained(const workspace::Snapshot& snapshot, std::string_view function, const Records& records) -> std::string;

/// What searches for a program found, one after the other, in lines of Markdown. Empty: there is no such program.
[[nodiscard]] auto records_told(const workspace::Snapshot& snapshot, std::string_view function, const Records& records) -> std::string;

}  // namespace loopsmith::lsp
