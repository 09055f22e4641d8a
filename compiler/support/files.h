// Files written whole.
#pragma once

#include <string>
#include <string_view>

#include "support/diagnostic.h"

namespace loopsmith {

/// Writes all of it; "-": standard output. Whoever reads the file meanwhile, or after a failure, sees all of the old or the new.
[[nodiscard]] auto write_file(const std::string& path, std::string_view content) -> Status;

}  // namespace loopsmith
