// Hardware of a machine: cores, caches, vector and matrix units. CPUID and sysfs report them for this machine;
// for other machines a table has them by the processor's name. Measured rates are in peaks.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "target/target.h"

namespace loopsmith::target {

struct Cache {
  uint64_t bytes = 0;     // 0: none, or unknown
  int line = 64;          // bytes
  int ways = 0;           // 0: unknown
  int shared_by = 1;      // hardware threads that share it
};

struct Hardware {
  std::string name;            // the vendor's name, for people: "AMD EPYC"; empty for machines other than this one
  bool is_this_machine = false;
  int cores = 1;               // threads that kernels may use
  Cache l1;                    // data
  Cache l2;
  Cache l3;
  int vector_bits = 128;       // of the widest registers that are worth using
  int vector_registers = 16;
  bool fma = false;
  bool avx512 = false;         // F, BW, DQ, VL together
  bool vnni = false;           // vpdpbusd in any width
  bool avx512_bf16 = false;
  bool avx512_fp16 = false;
  bool amx_int8 = false;
  bool amx_bf16 = false;

  [[nodiscard]] auto lanes(int bits) const -> int { return vector_bits / bits; }
};

[[nodiscard]] auto hardware(const Target& target) -> Hardware;

/// The processor's features in LLVM's spelling, as the processor and the operating system report them; only
/// those that this room uses. Empty for architectures without a table here.
struct HostFeature {
  std::string_view name;
  bool present;
};
[[nodiscard]] auto host_features() -> const std::vector<HostFeature>&;

/// Identifies a machine in caches of measurements: name, features, cores, cache sizes.
[[nodiscard]] auto machine_identity() -> std::string;

}  // namespace loopsmith::target
