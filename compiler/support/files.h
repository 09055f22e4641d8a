// Reads texts up to a size limit. Writes files such that no reader sees half of the content, and that everything except the content stays as it was.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "support/diagnostic.h"
#include "support/reason.h"

namespace loopsmith {

/// The most bytes of a text, more than any hand-written program. Reading more, from a device without an end, would only fill memory.
inline constexpr size_t largest_text = 64 << 20;

/// The diagnostic for a file, or for one line of it (`records.json:3`), whose content cannot be used.
[[nodiscard]] auto unreadable(std::string_view place, const Reason& why) -> Diagnostic;

/// Reads a file, or standard input for "-".
[[nodiscard]] auto read_text(const std::string& path) -> Result<std::string>;

/// Writes a file, or standard output for "-". A symbolic link, the mode, the owner, the extended attributes and further hard links of an existing file
/// are kept. If possible, a new file replaces the old one: a reader then sees either the old content or the new one, even after a
/// crash. Otherwise the content is written into the old file.
[[nodiscard]] auto write_file(const std::string& path, std::string_view content) -> Status;
/// The same for content in several pieces.
[[nodiscard]] auto write_file(const std::string& path, std::span<const std::string_view> pieces) -> Status;

}  // namespace loopsmith
