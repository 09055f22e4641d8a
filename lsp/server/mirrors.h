// Texts of open documents as files, for programs beside the editor that are to see what is not saved: a REPL that is attached to a
// document reads its mirror. There is one only where it was asked for, in a folder that nobody else may read; it goes with the
// document. A folder is locked as long as its server lives, so that the next server knows what a killed one left behind. One thread.
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
  /// Takes all of them away.
  ~Mirrors();
  Mirrors(const Mirrors&) = delete;

  /// Takes away what servers that are gone have left.
  static void sweep();

  /// The mirror of a document, made where there is none; none: it cannot be written. `name` is what the file is called.
  auto open(uint64_t document, std::string_view name, int64_t version, std::string_view text) -> std::optional<std::string>;
  /// The version that is written; none: the document has no mirror.
  [[nodiscard]] auto version(uint64_t document) const -> std::optional<int64_t>;
  /// Whoever reads meanwhile sees the old text or the new one.
  void write(uint64_t document, int64_t version, std::string_view text);
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
