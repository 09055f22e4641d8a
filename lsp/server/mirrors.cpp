// Mirrors of documents: see mirrors.h.
#include "lsp/server/mirrors.h"

#include <stdlib.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

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

}  // namespace

Mirrors::~Mirrors() {
  while (!mirrors_.empty()) { close(mirrors_.begin()->first); }
}

auto Mirrors::open(uint64_t document, std::string_view name, int64_t version, std::string_view text) -> std::optional<std::string> {
  if (auto known = mirrors_.find(document); known != mirrors_.end()) {
    write(document, version, text);
    return known->second.path;
  }
  const char* run = std::getenv("XDG_RUNTIME_DIR");
  std::string folder = std::string(run != nullptr && *run == '/' ? run : "/tmp") + "/loopsmith-XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr) { return std::nullopt; }
  Mirror mirror{folder, folder + "/" + std::string(name), version};
  if (!write_aside(mirror.path, text)) {
    ::rmdir(folder.c_str());
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
  // A disk that is full now may not be later.
  if (found != mirrors_.end() && write_aside(found->second.path, text)) { found->second.version = version; }
}

void Mirrors::close(uint64_t document) {
  auto found = mirrors_.find(document);
  if (found == mirrors_.end()) { return; }
  ::unlink((found->second.path + ".new").c_str());
  ::unlink(found->second.path.c_str());
  ::rmdir(found->second.folder.c_str());
  mirrors_.erase(found);
}

}  // namespace loopsmith::lsp
