// Building one file of kernels for one target: objects, libraries, a header. `loopsmith build` does this in a process of its own per file, so that a file
// that breaks the compiler does not stop the others.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "driver/program.h"

namespace loopsmith::driver {

struct Artefact {
  std::string path;
  std::string staged;        // its place in `BuildJob::staging` until it is published
  std::string kind;          // "object", "static", "shared", "header", "python"
  uint64_t bytes = 0;
  uint64_t hash = 0;         // of the contents (support/hash.h)
};

struct BuiltKernel {
  std::string name;
  std::string schedule;      // the schedule function applied; empty: as written
};

/// A schedule that does not come from the file.
struct TunedSchedule {
  std::string trace;         // TVM's JSON
  std::string name;          // for the manifest: "tuned: trial 17, 1.2 ms"
};

struct BuildJob {
  std::string file;
  std::string target;        // as written
  std::string stem;          // path of the artefacts without their endings: "out/matmul"
  std::string with = {};     // this schedule function only; empty: for each program the last one for it in the file
  bool as_written = false;   // apply no schedules
  std::string staging;       // a folder on the file system of `stem` for the artefacts, which the caller publishes
  std::string cache = {};    // folder of objects by content; empty: none
  /// Finds a schedule for each program; where it finds none, the file's own schedule is applied. Null: only the file's schedules are used.
  std::function<std::optional<TunedSchedule>(const IRModule& program, const target::Target& target)> tuned = {};
  bool packed = false;       // a second entry for TVM's runtime
  bool python = false;       // a module of Python beside the library
  bool debug_info = false;   // the code carries the lines of the file
  bool may_be_empty = false; // a file without programs is not an error
};

struct BuildResult {
  std::vector<Artefact> artefacts;
  std::vector<BuiltKernel> kernels;
  std::vector<std::string> notes;   // parts that were left out, and the reasons
  bool from_cache = false;          // the object was in the cache
};

/// Reports the errors of the file. None: it has errors, and files were written to the staging folder at most.
[[nodiscard]] auto build_file(const BuildJob& job, Reporter& reporter) -> std::optional<BuildResult>;

/// Moves artefacts to their places. Where one cannot be moved, none of them stays.
[[nodiscard]] auto publish(const std::vector<Artefact>& artefacts) -> Status;

/// A text that changes with this program: part of every cache key.
[[nodiscard]] auto engine_id() -> std::string;

/// `write_file`, which also makes the folders above the file.
[[nodiscard]] auto write_whole(const std::string& path, std::string_view content) -> Status;

}  // namespace loopsmith::driver
