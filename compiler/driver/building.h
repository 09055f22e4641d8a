// Building one file of kernels for one target: objects, libraries, a header. What `loopsmith build` does in a program of its
// own per file, so that a file which breaks the compiler costs itself only.
#pragma once

#include <cstdint>
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

struct BuildJob {
  std::string file;
  std::string target;        // as written
  std::string stem;          // path of the artefacts without their endings: "out/matmul"
  std::string with = {};     // this schedule function only; empty: for each program the last one in the file that is for it
  bool as_written = false;   // apply no schedules
  std::string staging;       // a folder on the file system of `stem`: what is made stands there, and whoever asked publishes it
  std::string cache = {};    // folder of objects by content; empty: none
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

/// Writes beside and renames, so that nobody ever sees half of it. Folders on the way are made.
[[nodiscard]] auto write_whole(const std::string& path, std::string_view content) -> Status;

}  // namespace loopsmith::driver
