// The machine that hovers and lenses compare with: described by the editor's options `caches` and `peaks`, or else this machine.
#pragma once

#include <cstdint>
#include <optional>

#include "lsp/features/hover.h"
#include "lsp/protocol/json.h"
#include "target/peaks.h"

namespace loopsmith::lsp {

struct MachineFacts {
  Machine machine;
  std::optional<target::Peaks> peaks;   // of all cores; none: not measured
};

/// Properties that are missing in the options are those of this machine.
[[nodiscard]] auto machine_facts(const Json& options) -> MachineFacts;

/// The time when the file of measured peaks was written; 0: it does not exist.
[[nodiscard]] auto peaks_file_written() -> int64_t;

}  // namespace loopsmith::lsp
