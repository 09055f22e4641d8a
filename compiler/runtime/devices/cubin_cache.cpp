// Compiled kernels on disk: see cubin_cache.h.
#include "runtime/devices/cubin_cache.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "support/files.h"
#include "support/hash.h"
#include "target/peaks.h"

namespace loopsmith::runtime {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view magic = "loopsmith kernels 1\n";

/// 128 bits from the parts, each with its length: two hashes with different initial values.
auto name_of(const std::vector<std::string>& key) -> std::string {
  uint64_t first = hash_bytes("first"), second = hash_bytes("second");
  for (const std::string& part : key) {
    const std::string length = std::to_string(part.size());
    first = hash_bytes(part, hash_bytes(length, first));
    second = hash_bytes(part, hash_bytes(length, second));
  }
  return fmt::format("{:016x}{:016x}", first, second);
}

/// Removes the least recently used files until three quarters of the limit remain, so that not every store has to remove one.
void shrink(const fs::path& folder, uint64_t most_bytes) {
  struct Entry { fs::path path; fs::file_time_type used; uint64_t bytes; };
  std::vector<Entry> entries;
  uint64_t total = 0;
  std::error_code problem;
  for (fs::directory_iterator at(folder, problem); !problem && at != fs::directory_iterator(); at.increment(problem)) {
    std::error_code gone;
    const uint64_t bytes = at->file_size(gone);
    const auto used = gone ? fs::file_time_type() : at->last_write_time(gone);
    if (gone) { continue; }
    entries.push_back({at->path(), used, bytes});
    total += bytes;
  }
  if (total <= most_bytes) { return; }
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.used < b.used; });
  for (const Entry& entry : entries) {
    if (total <= most_bytes / 4 * 3) { return; }
    std::error_code ignored;
    fs::remove(entry.path, ignored);
    total -= entry.bytes;
  }
}

}  // namespace

auto CubinCache::find(const std::vector<std::string>& key) const -> std::optional<std::string> {
  if (folder.empty()) { return {}; }
  const std::string path = folder + "/" + name_of(key);
  std::error_code problem;
  if (!fs::is_regular_file(path, problem)) { return {}; }
  auto text = read_text(path);
  if (!text || text->size() < magic.size() + 17 || !text->starts_with(magic)) { return {}; }
  std::string content = text->substr(magic.size() + 17);
  if (fmt::format("{:016x}", hash_bytes(content)) != text->substr(magic.size(), 16)) { return {}; }
  fs::last_write_time(path, fs::file_time_type::clock::now(), problem);
  return content;
}

void CubinCache::store(const std::vector<std::string>& key, const std::string& content) const {
  if (folder.empty() || content.size() > most_bytes / 4) { return; }
  std::error_code problem;
  fs::create_directories(folder, problem);
  if (problem) { return; }
  if (!write_file(folder + "/" + name_of(key), fmt::format("{}{:016x}\n{}", magic, hash_bytes(content), content))) { return; }
  shrink(folder, most_bytes);
}

auto user_cubin_cache() -> CubinCache {
  const std::string file = target::peaks_file();
  return {.folder = file.empty() ? std::string() : file.substr(0, file.find_last_of('/')) + "/kernels"};
}

}  // namespace loopsmith::runtime
