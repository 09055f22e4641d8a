// Mirrors of documents: see mirrors.h.
#include "lsp/server/mirrors.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

namespace loopsmith::lsp {
namespace {

auto write_aside(const std::string& path, std::string_view text) -> bool {
  std::string aside = path + ".new";
  {
    std::ofstream file(aside, std::ios::binary);
    file.write(text.data(), static_cast<std::streamsize>(text.size()));
    if (!file.flush()) { return false; }
  }
  return std::rename(aside.c_str(), path.c_str()) == 0;
}

auto base() -> std::string {
  const char* run = std::getenv("XDG_RUNTIME_DIR");
  return run != nullptr && *run == '/' ? run : "/tmp";
}

constexpr std::string_view prefix = "loopsmith-mirror-";

/// Opens and locks the folder; -1: another user owns it, another server has locked it, or it is not a folder.
auto locked(const std::string& folder) -> int {
  int file = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (file < 0) { return -1; }
  struct stat facts {};
  if (::fstat(file, &facts) == 0 && facts.st_uid == ::getuid() && ::flock(file, LOCK_EX | LOCK_NB) == 0) { return file; }
  ::close(file);
  return -1;
}

/// Removes the folder of a mirror with its files: the mirror, edits and answers, and files that a write left unfinished.
void remove_folder(const std::filesystem::path& folder) {
  std::error_code ignored;
  for (auto file = std::filesystem::directory_iterator(folder, ignored); !ignored && file != std::filesystem::directory_iterator(); file.increment(ignored)) {
    ::unlink(file->path().c_str());
  }
  ::rmdir(folder.c_str());
}

}  // namespace

void Mirrors::sweep() {
  std::error_code none;
  for (auto entry = std::filesystem::directory_iterator(base(), none); !none && entry != std::filesystem::directory_iterator(); entry.increment(none)) {
    if (!entry->path().filename().native().starts_with(prefix)) { continue; }
    int file = locked(entry->path());
    if (file < 0) { continue; }
    remove_folder(entry->path());
    ::close(file);
  }
}

Mirrors::~Mirrors() {
  while (!mirrors_.empty()) { close(mirrors_.begin()->first); }
}

auto Mirrors::open(uint64_t document, std::string_view name, int64_t version, std::string_view text) -> std::optional<std::string> {
  if (auto known = mirrors_.find(document); known != mirrors_.end()) {
    write(document, version, text);
    return known->second.path;
  }
  std::string folder = base() + "/" + std::string(prefix) + "XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr) { return std::nullopt; }
  Mirror mirror{folder, folder + "/" + std::string(name), version, locked(folder)};
  if (!write_aside(mirror.path, text)) {
    ::rmdir(folder.c_str());
    if (mirror.lock >= 0) { ::close(mirror.lock); }
    return std::nullopt;
  }
  return mirrors_.emplace(document, std::move(mirror)).first->second.path;
}

auto Mirrors::version(uint64_t document) const -> std::optional<int64_t> {
  auto found = mirrors_.find(document);
  return found != mirrors_.end() ? std::optional(found->second.version) : std::nullopt;
}

void Mirrors::write(uint64_t document, int64_t version, std::string_view text) {
  auto found = mirrors_.find(document);
  // A write that fails (the disk may be full) is tried again at the next tick.
  if (found != mirrors_.end() && write_aside(found->second.path, text)) { found->second.version = version; }
}

auto Mirrors::take_edit(uint64_t document) -> std::optional<std::string> {
  auto found = mirrors_.find(document);
  if (found == mirrors_.end()) { return std::nullopt; }
  std::string path = found->second.path + ".edit";
  std::ifstream file(path, std::ios::binary);
  if (!file) { return std::nullopt; }
  std::ostringstream text;
  text << file.rdbuf();
  ::unlink(path.c_str());
  return text.str();
}

void Mirrors::answer_edit(uint64_t document, std::string_view reason) {
  auto found = mirrors_.find(document);
  if (found != mirrors_.end()) { (void)write_aside(found->second.path + ".done", reason); }
}

void Mirrors::close(uint64_t document) {
  auto found = mirrors_.find(document);
  if (found == mirrors_.end()) { return; }
  remove_folder(found->second.folder);
  if (found->second.lock >= 0) { ::close(found->second.lock); }
  mirrors_.erase(found);
}

}  // namespace loopsmith::lsp
