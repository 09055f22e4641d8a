// Targets: the machines that code is made for, written in TVM's form ("llvm -mcpu=znver4 -num-cores=2").
//
// A target is a plain value: parsed, printed, compared, hashed by its text. The hardware of such a machine
// (caches, vector registers, matrix units) is in target/hardware.h. This room does not use LLVM: codegen checks
// that LLVM supports the processor.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/diagnostic.h"

namespace loopsmith::target {

enum class Architecture : uint8_t { X86_64, AArch64, WebAssembly32, RiscV64, Other };

struct Target {
  std::string kind = "llvm";               // the form of the code: "llvm", "c", "cuda"
  std::string cpu = {};                    // -mcpu; empty: any of the architecture
  std::string triple = {};                 // -mtriple; empty: this machine's
  std::vector<std::string> features = {};  // -mattr: "+avx512f", "-amx-tile", in the order given
  int cores = 0;                           // -num-cores; 0: not given
  int opt_level = -1;                      // -opt-level, 0 to 3; -1: not given
  /// TVM's other options, in the order given: `-arch` and the limits of blocks (gpu.h reads them), and those without effect here (-keys, -model ...).
  std::vector<std::pair<std::string, std::string>> others = {};

  /// The text that `parse` reads: `llvm -mcpu=znver4 -num-cores=2 -mtriple=x86_64-pc-linux-gnu`.
  [[nodiscard]] auto str() const -> std::string;
  [[nodiscard]] auto architecture() const -> Architecture;
  /// The largest `vscale`, a power of two: scalable vectors are up to that many times as long as the shortest. 0: no scalable vectors.
  [[nodiscard]] auto most_vscale() const -> int64_t;
  /// True when, by architecture and system, this machine can run the target's code.
  [[nodiscard]] auto is_host_architecture() const -> bool;
  friend auto operator==(const Target&, const Target&) -> bool = default;
};

/// Reads a target. `llvm` alone, without -mcpu and -mtriple, and `-mcpu=native` mean this machine and are
/// resolved to its name, features and cores.
[[nodiscard]] auto parse(std::string_view text) -> Result<Target>;

/// This machine as a target: its kind of processor, the features of that kind that it lacks, its cores. Computed once.
[[nodiscard]] auto host() -> const Target&;

/// The triple of this machine, as "x86_64-pc-linux-gnu".
[[nodiscard]] auto host_triple() -> std::string;

}  // namespace loopsmith::target
