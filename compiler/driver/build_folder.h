// The output folder of `loopsmith build`: its manifest, which records the sources and options of every artefact; a lock, as one build works in a folder
// at a time; and a staging folder, where the artefacts of a file wait until all of them exist.
#pragma once

#include <cstdint>
#include <string>
#include <system_error>

#include <nlohmann/json.hpp>

#include "driver/program.h"

namespace loopsmith::driver {

/// One file to build for one target.
struct BuildTask {
  std::string file;
  std::string target;
  std::string stem;            // path of the artefacts without their extensions
  uint64_t source = 0;         // hash of the text; 0: the file cannot be read
  std::string options;         // all other options that change the artefacts
  bool is_named = false;       // given on the command line, not found in a folder
};

/// The manifest; without a readable one an empty manifest.
[[nodiscard]] auto read_manifest(const std::string& path) -> nlohmann::json;
/// The key of a task in the manifest.
[[nodiscard]] auto key_of(const BuildTask& task) -> std::string;
/// True when every artefact of the task exists as it was built, from this very text.
[[nodiscard]] auto is_current(const nlohmann::json& manifest, const BuildTask& task, const std::string& engine) -> bool;
/// Removes the entries of tasks that are about to be built, and of other tasks that would make the same artefacts. Returns the number removed.
auto forget(nlohmann::json& manifest, const std::vector<const BuildTask*>& tasks) -> size_t;
/// Writes the manifest through a staging folder.
[[nodiscard]] auto write_manifest(const nlohmann::json& manifest, const std::string& path, const std::string& staging) -> Status;

/// Held while a build works in a folder; waits for another build to end.
class FolderLock {
 public:
  explicit FolderLock(const std::string& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  [[nodiscard]] auto is_held() const -> bool { return descriptor_ >= 0; }

 private:
  int descriptor_;
};

/// A folder on the file system of the output. Removes what an earlier build left there when it was killed.
class StagingFolder {
 public:
  explicit StagingFolder(const std::string& folder);
  ~StagingFolder();
  StagingFolder(const StagingFolder&) = delete;
  [[nodiscard]] auto path() const -> const std::string& { return path_; }
  [[nodiscard]] auto problem() const -> const std::error_code& { return problem_; }

 private:
  std::string path_;
  std::error_code problem_;
};

}  // namespace loopsmith::driver
