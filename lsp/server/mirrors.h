// Mirrors: files with the texts of open documents, saved or not, for programs beside the editor. A REPL that is attached to a document reads
// the mirror of the document, and asks for an edit of the document by a file beside the mirror. A mirror is made on request only, in a folder that no other user may read, and removed when the document is closed.
// The folder is locked while its server runs, so that the next server can remove the folders of a killed one. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace loopsmith::lsp {

class Mirrors {
 public:
  Mirrors() = default;
  /// Removes all mirrors.
  ~Mirrors();
  Mirrors(const Mirrors&) = delete;

  /// Removes the mirrors of servers that no longer run.
  static void sweep();

  /// The path of a document's mirror, which is created or updated; none: it cannot be written. `name` is the file's name.
  auto open(uint64_t document, std::string_view name, int64_t version, std::string_view text) -> std::optional<std::string>;
  /// The version in the mirror; none: the document has no mirror.
  [[nodiscard]] auto version(uint64_t document) const -> std::optional<int64_t>;
  /// Replaces the text. A concurrent reader sees the old text or the new one.
  void write(uint64_t document, int64_t version, std::string_view text);
  /// The edit that a program beside the editor asks for (MIRROR.edit, `repl/attached.h`), which is removed; none: no program asks.
  [[nodiscard]] auto take_edit(uint64_t document) -> std::optional<std::string>;
  /// Answers it (MIRROR.done): empty, or the reason why the edit was not made.
  void answer_edit(uint64_t document, std::string_view reason);
  void close(uint64_t document);
  [[nodiscard]] auto is_empty() const -> bool { return mirrors_.empty(); }

 private:
  struct Mirror {
    std::string folder;
    std::string path;
    int64_t version = 0;
    int lock = -1;
  };
  std::map<uint64_t, Mirror> mirrors_;
};

}  // namespace loopsmith::lsp
