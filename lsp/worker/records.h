// What searches of earlier days found: the best so far of a program, from the database that `loopsmith tune` writes. Reading it writes
// nothing and takes no lock; a database that is missing, of somebody else, or being written is silence.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "lsp/features/tuning.h"
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
  /// How often each value of a draw occurs among the trials of a program on this machine, and its best time: by value.
  struct Drawn { int64_t trials = 0; double best_seconds = 0; };
  struct DrawnValues { std::map<std::vector<int64_t>, Drawn> values; int64_t trials = 0; };
  auto drawn(const IRModule& program, const schedule::Draw& draw) -> const DrawnValues&;
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
  std::map<std::tuple<uint64_t, std::string, std::string, size_t>, DrawnValues> drawn_;
  auto is_there() -> bool;
  // A program is hashed once: most of a file stays while somebody types in it. Kept, so that no other takes its place in memory.
  std::unordered_map<const void*, std::pair<IRModule, uint64_t>> hashes_;
};

struct BestSoFar {
  tune::Recorded recorded;
  double share = 0;          // of the roofline; 0: not known
  const workspace::Program* program = nullptr;
  Name function;             // in its module
};
/// Is a program a function of its own, not a class of several?
[[nodiscard]] auto is_function(const workspace::Snapshot& snapshot, const workspace::Program& program) -> bool;
/// The program that is, or holds, the function of a name; null: there is none, or there are several.
[[nodiscard]] auto program_with(const workspace::Snapshot& snapshot, std::string_view function) -> const workspace::Program*;

/// Of the program that holds a function by that name. None: nothing is recorded, or several programs hold one.
[[nodiscard]] auto best_so_far(const workspace::Snapshot& snapshot, std::string_view function, Records& records, const std::optional<target::Peaks>& peaks)
    -> std::optional<BestSoFar>;

/// Which records are used for a program and why others are not, in lines of Markdown. Empty: there is no such program.
[[nodiscard]] auto records_explained(const workspace::Snapshot& snapshot, std::string_view function, const Records& records) -> std::string;

/// What searches for a program found, one after the other, in lines of Markdown. Empty: there is no such program.
[[nodiscard]] auto records_told(const workspace::Snapshot& snapshot, std::string_view function, const Records& records) -> std::string;

/// The schedule function of a record, by a name that the file does not have; none: its trace is not for the program any more.
[[nodiscard]] auto schedule_text_of(const workspace::Snapshot& snapshot, const BestSoFar& best) -> std::optional<std::string>;

}  // namespace loopsmith::lsp
