// The sizes that a program leaves open, for the commands that run, time or tune it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "workspace/snapshot.h"

namespace loopsmith::lsp {

/// The names of the sizes that a program of the text leaves to its callers; empty: none, or there is no such program without errors.
[[nodiscard]] auto open_sizes(const workspace::Snapshot& snapshot, std::string_view program) -> std::vector<std::string>;

}  // namespace loopsmith::lsp
