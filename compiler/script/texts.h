// Texts of other files that a file names, such as the logs of tuners. Higher rooms find and read them (workspace/imports.h); nothing of them is evaluated.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "frontend/file.h"

namespace loopsmith::script {

/// Reads a text for the file that has these imports: a path of its own, or one below the folder of that file. None: the file cannot be read.
using ReadText = std::function<std::optional<std::string>(const frontend::Modules& imports, const std::string& path)>;
/// Sets the reader of this thread.
void read_texts_with(ReadText reader);

/// The text of a path that a file names; none: it cannot be read, or no reader is set.
[[nodiscard]] auto text_beside(const frontend::File& file, const std::string& path) -> std::optional<std::string>;

}  // namespace loopsmith::script
