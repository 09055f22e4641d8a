// Builds one file of kernels for one target: objects, libraries, a header. `loopsmith build` does this in a separate process per file, so that a file
// that crashes the compiler does not stop the others.
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
  std::string schedule;      // the applied schedule function; empty: as written
};

/// A schedule that does not come from the file.
struct TunedSchedule {
  std::string trace;         // TVM's JSON
  std::string name;          // for the manifest: "tuned: trial 17, 1.200 ms"
};

struct BuildJob {
  std::string file;
  std::string target;        // as written
  std::string stem;          // path of the artefacts without their endings: "out/matmul"
  std::string with = {};     // only this schedule function; empty: for each program the last one for it in the file
  bool as_written = false;   // apply no schedules
  std::string staging;       // a folder on the file system of `stem` for the artefacts, which the caller publishes
  std::string cache = {};    // folder of objects by content; empty: none
  /// Finds a schedule for each program; without a result, the file's own schedule is applied. Null: only the file's schedules are used.
  std::function<std::optional<TunedSchedule>(const IRModule& program, const target::Target& target)> tuned = {};
  bool packed = false;       // a second entry for TVM's runtime
  bool python = false;       // a module of Python beside the library
  bool debug_info = false;   // the code contains the line numbers of the file
  bool may_be_empty = false; // a file without programs is not an error
};

struct BuildResult {
  std::vector<Artefact> artefacts;
  std::vector<BuiltKernel> kernels;
  std::vector<std::string> notes;   // omitted parts, and the reasons
  bool from_cache = false;          // the object was in the cache
};

/// Reports the errors of the file. None: it has errors; at most files in the staging folder were written.
[[nodiscard]] auto build_file(const BuildJob& job, Reporter& reporter) -> std::optional<BuildResult>;

/// The name of the file as a name of C, for a kernel that has none: `my-kernel.py` gives `my_kernel`.
[[nodiscard]] auto kernel_name_of(const std::string& file) -> std::string;

/// Moves artefacts to their places. If one move fails, all moved artefacts are removed.
[[nodiscard]] auto publish(const std::vector<Artefact>& artefacts) -> Status;

/// A text that changes whenever this program changes: part of every cache key.
[[nodiscard]] auto engine_id() -> std::string;

/// Like `write_file`, but also makes the parent folders.
[[nodiscard]] auto write_whole(const std::string& path, std::string_view content) -> Status;

}  // namespace loopsmith::driver
