// The comments of a schedule that a search found: its time, its verification, and the certificate. The certificate consists of the hashes of the program that
// the schedule was found for and of the scheduled program. With it a reader of the text alone can detect a change of either program.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "ir/ir.h"

namespace loopsmith::workspace {

/// The first words of the comments above the steps of a found schedule ("Tuned: 1.098 ms, ...").
constexpr std::string_view tuned_comment = "Tuned: ";

/// Structural hashes of the program that a schedule was found for, and of the scheduled program.
struct Certificate {
  uint64_t program = 0;
  uint64_t scheduled = 0;
};
/// The certificate of a trace (TVM's JSON) on a function of the module. None: the trace does not replay.
[[nodiscard]] auto certificate_of(const IRModule& module, Name function, const std::string& trace) -> std::optional<Certificate>;

/// A measured time of a schedule, and its conditions.
struct Timed {
  std::string target;
  double seconds = 0;        // the median
  double spread_seconds = 0;
  int timings = 0;
  int64_t unix_time = 0;
};
/// A comment: "Program 0123456789abcdef, scheduled fedcba9876543210; llvm -mcpu=znver4; +-0.3%, 24 timings; Loopsmith 1.0; 2026-11-23".
/// Without a certificate (the steps are only a part of a schedule), the same without hashes.
[[nodiscard]] auto certificate_text(const std::optional<Certificate>& certificate, const Timed& timed) -> std::string;
/// The first certificate in the comments of a text. None: the text has no certificate.
[[nodiscard]] auto certificate_in(std::string_view text) -> std::optional<Certificate>;

}  // namespace loopsmith::workspace
