// Compiled kernels on disk, a file each, named by a hash of everything that the code depends on. Several processes may read and write at the same time:
// a file appears whole or not at all, and a file that does not fit its own hash counts as absent.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace loopsmith::runtime {

struct CubinCache {
  std::string folder;                           // empty: nothing is kept
  uint64_t most_bytes = 256ULL << 20U;          // beyond, the files that were used least recently go

  /// The content that was stored under these parts.
  [[nodiscard]] auto find(const std::vector<std::string>& key) const -> std::optional<std::string>;
  /// Failures are ignored: compiling works without a cache.
  void store(const std::vector<std::string>& key, const std::string& content) const;
};

/// The user's cache, `loopsmith/kernels` in the folder of caches.
[[nodiscard]] auto user_cubin_cache() -> CubinCache;

}  // namespace loopsmith::runtime
