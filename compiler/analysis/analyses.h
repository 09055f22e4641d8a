// Analyses of programs that need more than names and types. They report proved errors and suspicious code (warnings, hints). Each
// is a file behind one row of a table (analyses.cpp) and works on one declaration. A finding depends on other declarations only through the
// lowered program, so findings are kept with the program.
//
// Functions with errors are not analysed, except after an index out of bounds: one error gives one message. No analysis executes a
// program. One thread, as for File.
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
  /// Analyses the declarations whose program has changed, in the order of the text, until they exceed `lines` lines together or the
  /// work is cancelled. `is_tir`: a file of programs, from which no other file imports. False: declarations are left, and the next call continues
  /// with them.
  auto update(const syntax::Document& document, frontend::File& file, bool is_tir, int64_t lines, const CancelToken& cancel = {}) -> bool;

  /// The findings in the declarations analysed so far, in the order of the text.
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

/// Runs all analyses on one program; keeps no results.
[[nodiscard]] auto analyse(const syntax::Document& document, const syntax::Item& item, const IRModule& module, bool is_instance = false) -> Diagnostics;

}  // namespace loopsmith::analysis
