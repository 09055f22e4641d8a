// The output folder of `loopsmith build`: its manifest, which records the sources and options of every artefact; a lock, so that one build at a time works in
// a folder; and a staging folder for the artefacts of a file until all of them exist.
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
  uint64_t source = 0;         // hash of the text; 0: the file is unreadable
  std::string options;         // all other options that change the artefacts
  bool is_named = false;       // given on the command line, not found in a folder
};

/// Reads the manifest; without a readable one, an empty manifest.
[[nodiscard]] auto read_manifest(const std::string& path) -> nlohmann::json;
/// The task's key in the manifest.
[[nodiscard]] auto key_of(const BuildTask& task) -> std::string;
/// True if every artefact of the task exists, unchanged since its build from this same text.
[[nodiscard]] auto is_current(const nlohmann::json& manifest, const BuildTask& task, const std::string& engine) -> bool;
/// Removes the entries of tasks before they are built, and of other tasks with the same artefacts. Returns the number removed.
auto forget(nlohmann::json& manifest, const std::vector<const BuildTask*>& tasks) -> size_t;
/// Writes the manifest through a staging folder.
[[nodiscard]] auto write_manifest(const nlohmann::json& manifest, const std::string& path, const std::string& staging) -> Status;

/// The lock of a folder during a build; the constructor waits for another build to end.
class FolderLock {
 public:
  explicit FolderLock(const std::string& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  [[nodiscard]] auto is_held() const -> bool { return descriptor_ >= 0; }

 private:
  int descriptor_;
};

/// A staging folder on the file system of the output. Removes the leftovers of an earlier build that was killed.
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
