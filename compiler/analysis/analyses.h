// Analyses of programs that need more than names and types: what is proved wrong (errors), what is suspicious (warnings,
// hints). Each is a file behind one row of a table (analyses.cpp) and works on one declaration: nothing found here
// depends on other declarations but through the program that was lowered, so results are kept with it.
//
// Only functions without errors are looked at, but for indices that are out of bounds: one mistake gives one message. Nothing
// here executes a program.
// One thread, as the File.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "frontend/file.h"
#include "support/cancel.h"
#include "support/diagnostic.h"
#include "syntax/document.h"

namespace loopsmith::analysis {

class Analyses {
 public:
  /// Looks at the declarations whose program is another than last time, in the order of the text, as long as they have no
  /// more than `lines` lines together and it is not cancelled. `is_tir`: a file of programs, in which nothing is there for
  /// others. False: something is left, and calling again goes on.
  auto update(const syntax::Document& document, frontend::File& file, bool is_tir, int64_t lines, const CancelToken& cancel = {}) -> bool;

  /// Of what has been looked at, in the order of the text.
  [[nodiscard]] auto diagnostics() const -> const Diagnostics& { return all_; }

 private:
  struct Kept {
    IRModule module;
    std::vector<IRModule> inside;
    syntax::ItemPtr item;
    bool was_clean = false;
    Diagnostics found;
    uint64_t generation = 0;
  };
  std::unordered_map<DeclId, Kept> kept_;
  Diagnostics all_;
  uint64_t generation_ = 0;
};

/// One program on its own, all analyses, nothing kept.
[[nodiscard]] auto analyse(const syntax::Document& document, const syntax::Item& item, const IRModule& module, bool is_instance = false) -> Diagnostics;

}  // namespace loopsmith::analysis
