// Reading texts, up to a size, and writing files so that no reader sees half of one and everything about the file except its content stays as it was.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "support/diagnostic.h"

namespace loopsmith {

/// The most bytes of a text: more than any program that people write. Reading more, from a device without an end, would only fill memory.
inline constexpr size_t largest_text = 64 << 20;

/// Reads a file, or standard input for "-".
[[nodiscard]] auto read_text(const std::string& path) -> Result<std::string>;

/// Writes a file, or standard output for "-". A symbolic link, the mode, the owner, the extended attributes and further hard links of an existing file
/// stay. Where that is possible with a new file that takes the place of the old one, a reader sees either the old content or the new one, even after a
/// crash; otherwise the old file is written into.
[[nodiscard]] auto write_file(const std::string& path, std::string_view content) -> Status;
/// The same of a content in several pieces.
[[nodiscard]] auto write_file(const std::string& path, std::span<const std::string_view> pieces) -> Status;

}  // namespace loopsmith
