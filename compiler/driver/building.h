// Building one file of kernels for one target: objects, libraries, a header. What `loopsmith build` does in a program of its
// own per file, so that a file which breaks the compiler costs itself only.
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
  std::string staged;        // where it stands until it is published; a file beside others of `BuildJob::staging`
  std::string kind;          // "object", "static", "shared", "header"
  uint64_t bytes = 0;
  uint64_t hash = 0;         // of the contents (support/hash.h)
};

struct BuiltKernel {
  std::string name;
  std::string schedule;      // the schedule function applied; empty: as written
};

/// A schedule from elsewhere than the file.
struct TunedSchedule {
  std::string trace;         // TVM's JSON
  std::string name;          // for the manifest: "tuned: trial 17, 1.2 ms"
};

struct BuildJob {
  std::string file;
  std::string target;        // as written
  std::string stem;          // path of the artefacts without their endings: "out/matmul"
  std::string with = {};     // this schedule function only; empty: for each program the last one in the file that is for it
  bool as_written = false;   // apply no schedules
  std::string staging;       // a folder on the file system of `stem`: what is made stands there, and whoever asked publishes it
  std::string cache = {};    // folder of objects by content; empty: none
  /// Asked for each program; none where there is none, and then the file's own schedule is applied. Null: nobody is asked.
  std::function<std::optional<TunedSchedule>(const IRModule& program, const target::Target& target)> tuned = {};
  bool packed = false;       // a second entry for TVM's runtime
  bool debug_info = false;   // lines of the file in the code
  bool may_be_empty = false; // a file without programs is no mistake
};

struct BuildResult {
  std::vector<Artefact> artefacts;
  std::vector<BuiltKernel> kernels;
  std::vector<std::string> notes;   // what was left out, and why
  bool from_cache = false;          // the object was there
};

/// Reports mistakes of the file; none: there were errors, and nothing was written but in the staging folder.
[[nodiscard]] auto build_file(const BuildJob& job, Reporter& reporter) -> std::optional<BuildResult>;

/// Puts what was made in its place, one right after the other. Where one cannot be put there, none of them stays.
[[nodiscard]] auto publish(const std::vector<Artefact>& artefacts) -> Status;

/// Changes whenever this program does: part of every key.
[[nodiscard]] auto engine_id() -> std::string;

/// `write_file`, with the folders on the way.
[[nodiscard]] auto write_whole(const std::string& path, std::string_view content) -> Status;

}  // namespace loopsmith::driver
