// Implements the manifest, lock and staging folder of builds: see build_folder.h.
#include "driver/build_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <set>

#include "driver/building.h"

namespace loopsmith::driver {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {
constexpr int manifest_version = 1;
}  // namespace

auto read_manifest(const std::string& path) -> json {
  auto text = read_file(path);
  json manifest = text ? json::parse(*text, nullptr, false) : json();
  if (!manifest.is_object() || manifest.value("version", 0) != manifest_version || !manifest["built"].is_object()) {
    return {{"version", manifest_version}, {"built", json::object()}};
  }
  return manifest;
}

auto key_of(const BuildTask& task) -> std::string { return task.file + " | " + task.target; }

auto is_current(const json& manifest, const BuildTask& task, const std::string& engine) -> bool {
  const json& built = manifest["built"];
  auto found = built.find(key_of(task));
  if (found == built.end() || !found->is_object() || task.source == 0) { return false; }
  if (found->value("source", "") != fmt::format("{:016x}", task.source) || found->value("engine", "") != engine ||
      found->value("options", "") != task.options || found->value("stem", "") != task.stem) {
    return false;
  }
  const json& artefacts = (*found)["artefacts"];
  if (task.is_named && artefacts.empty()) { return false; }
  return artefacts.is_array() && std::all_of(artefacts.begin(), artefacts.end(), [](const json& artefact) {
    std::error_code problem;
    return artefact.is_object() && fs::file_size(artefact.value("path", ""), problem) == artefact.value("bytes", uint64_t{0}) && !problem;
  });
}

auto forget(json& manifest, const std::vector<const BuildTask*>& tasks) -> size_t {
  std::set<std::string> changing;
  for (const BuildTask* task : tasks) { changing.insert(task->stem); }
  size_t forgotten = 0;
  json& known = manifest["built"];
  for (auto it = known.begin(); it != known.end();) {
    bool goes = !it->is_object() || changing.contains(it->value("stem", ""));
    forgotten += goes ? 1 : 0;
    it = goes ? known.erase(it) : std::next(it);
  }
  return forgotten;
}

auto write_manifest(const json& manifest, const std::string& path, const std::string& staging) -> Status {
  std::string staged = staging + "/manifest.json";
  LOOPSMITH_CHECK(write_file(staged, manifest.dump(1, ' ', false, json::error_handler_t::replace) + "\n"));
  return publish({{.path = path, .staged = staged, .kind = "manifest"}});
}

FolderLock::FolderLock(const std::string& folder) : descriptor_(::open((folder + "/.loopsmith-lock").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0666)) {
  if (descriptor_ < 0 || ::flock(descriptor_, LOCK_EX | LOCK_NB) == 0) { return; }
  fmt::print(stderr, "loopsmith build: another build works in `{}`; waiting for it\n", folder);
  (void)::flock(descriptor_, LOCK_EX);
}
FolderLock::~FolderLock() {
  if (descriptor_ >= 0) { ::close(descriptor_); }
}

StagingFolder::StagingFolder(const std::string& folder) : path_(folder + "/.loopsmith-staging") {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
  fs::create_directory(path_, problem_);
}
StagingFolder::~StagingFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace loopsmith::driver
