// Hashing: mixing 64-bit words, and the hash of bytes. Stable across runs and machines.
#pragma once

#include <cstdint>
#include <string_view>

namespace loopsmith {

/// Mixes a value into a running state with the finaliser of splitmix64.
[[nodiscard]] constexpr auto hash_combine(uint64_t seed, uint64_t value) -> uint64_t {
  uint64_t x = seed * 0x9e3779b97f4a7c15ULL + value + 0x632be59bd9b4e019ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

/// FNV-1a, finished by a mix: for content keys, not for secrets.
[[nodiscard]] constexpr auto hash_bytes(std::string_view bytes, uint64_t seed = 0xcbf29ce484222325ULL) -> uint64_t {
  uint64_t state = seed;
  for (char byte : bytes) { state = (state ^ static_cast<unsigned char>(byte)) * 0x100000001b3ULL; }
  return hash_combine(state, bytes.size());
}

}  // namespace loopsmith
