// Edits of the text in the editor that a REPL is attached to. The REPL writes the edit beside the mirror, MIRROR.edit, as JSON: the text that it has read, and the
// lines to replace. The server takes the file, has the editor make the edit, and answers by MIRROR.done (lsp/server/mirrors.h).
#pragma once

#include <chrono>
#include <string>

namespace loopsmith::repl {

/// Has the editor replace `before`, the text of the mirror, by `after`, in one edit of whole lines. Returns the reason why the edit was not made; empty: it was made.
[[nodiscard]] auto edit_in_editor(const std::string& mirror, const std::string& before, const std::string& after,
                                  std::chrono::milliseconds patience = std::chrono::seconds(10)) -> std::string;

}  // namespace loopsmith::repl
