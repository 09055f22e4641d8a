// Writing files so that no reader sees half of one.
#pragma once

#include <string>
#include <string_view>

#include "support/diagnostic.h"

namespace loopsmith {

/// Writes a file, or standard output for "-". A reader sees either the old content or the new one, even after a failure or a crash.
[[nodiscard]] auto write_file(const std::string& path, std::string_view content) -> Status;

}  // namespace loopsmith
