// Comments that silence warnings:
//
//     B = T.alloc_buffer((16,), "float32")   # ls: ignore[unused-name]
//     # ls: ignore[data-race, possible-race]
//     for i in T.parallel(16): ...           a comment alone on its line applies to the next line
//     # ls: ignore-file[unused-import]       anywhere at the top level: the whole file
//
// A comment names the codes that it silences. Errors are never silenced.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "support/diagnostic.h"
#include "syntax/document.h"

namespace loopsmith::analysis {

/// True when a comment of the declaration or of the file silences the warning. For warnings from other sources: from reading a file or
/// running its schedules.
[[nodiscard]] auto is_silenced(const syntax::Document& document, const Diagnostic& diagnostic) -> bool;

class Ignores {
 public:
  /// The comments of a declaration, and of its members. The declaration must outlive this.
  explicit Ignores(const syntax::Item& item);

  /// Removes the diagnostics that a comment silences, and records the comments that did.
  void apply(Diagnostics& diagnostics);
  /// Reports unknown codes; with `complete`, if all findings are known, also codes that silence no finding.
  [[nodiscard]] auto problems(bool complete) const -> Diagnostics;

  /// The codes that are silenced in the whole file. Adds errors in those comments to `problems`.
  static auto of_file(const syntax::Document& document, Diagnostics& problems) -> std::vector<Code>;

 private:
  struct Line {
    uint32_t begin = 0, end = 0;   // the line to which the comment applies, in bytes of the declaration
    Code code{};
    Origin where;                  // the place of the code in the comment
    bool used = false;
  };
  void add(const syntax::Item& item, uint32_t offset);
  const std::string& text_;
  std::unordered_map<DeclId, uint32_t> offsets_;   // of members
  std::vector<Line> lines_;
  Diagnostics unknown_;
};

}  // namespace loopsmith::analysis
