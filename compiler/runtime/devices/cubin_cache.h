// Compiled kernels on disk, one file each, named by a hash of all inputs of the code. Several processes may read and write at the same time:
// a file becomes visible completely or not at all, and a file that does not match its own hash counts as absent.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace loopsmith::runtime {

struct CubinCache {
  std::string folder;                           // empty: no files are kept
  uint64_t most_bytes = 256ULL << 20U;          // beyond this limit, the least recently used files are removed

  /// The content that was stored under these parts.
  [[nodiscard]] auto find(const std::vector<std::string>& key) const -> std::optional<std::string>;
  /// Ignores failures: compiling works without a cache.
  void store(const std::vector<std::string>& key, const std::string& content) const;
};

/// The user's cache, `loopsmith/kernels` in the folder of caches.
[[nodiscard]] auto user_cubin_cache() -> CubinCache;

}  // namespace loopsmith::runtime
