// Comments that silence warnings:
//
//     B = T.alloc_buffer((16,), "float32")   # ls: ignore[unused-name]
//     # ls: ignore[data-race, possible-race]
//     for i in T.parallel(16): ...           a comment alone on its line is about the next one
//     # ls: ignore-file[unused-import]       anywhere at the top level: the whole file
//
// Codes are named, so that nothing else goes with them. Errors are never silenced.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "support/diagnostic.h"
#include "syntax/document.h"

namespace loopsmith::analysis {

/// Is a warning silenced by a comment, of its declaration or of the file? For what no analysis found: reading a file, running its schedules.
[[nodiscard]] auto is_silenced(const syntax::Document& document, const Diagnostic& diagnostic) -> bool;

class Ignores {
 public:
  /// The comments of a declaration, and of its members. The declaration must outlive this.
  explicit Ignores(const syntax::Item& item);

  /// Takes out what a comment silences; remembers which were of use.
  void apply(Diagnostics& diagnostics);
  /// Codes that there are not; with `complete`, also those that silence nothing: all that could be found was.
  [[nodiscard]] auto problems(bool complete) const -> Diagnostics;

  /// Codes that are silenced in the whole file, and what is wrong with the comments that say so.
  static auto of_file(const syntax::Document& document, Diagnostics& problems) -> std::vector<Code>;

 private:
  struct Line {
    uint32_t begin = 0, end = 0;   // the line that is meant, in bytes of the declaration
    Code code{};
    Origin where;                  // of the code in the comment
    bool used = false;
  };
  void add(const syntax::Item& item, uint32_t offset);
  const std::string& text_;
  std::unordered_map<DeclId, uint32_t> offsets_;   // of members
  std::vector<Line> lines_;
  Diagnostics unknown_;
};

}  // namespace loopsmith::analysis
