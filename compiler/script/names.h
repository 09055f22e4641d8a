// Names and calls in the text of schedules that are wrong whatever runs: names that nothing defines, or that are used before anything gives them
// a value, primitives that there are not, arguments that a primitive does not take. Nothing is run, so that all of them are told at once, with every
// key, for a program with mistakes as well.
//
// Only what is certain is told. What Python that is not evaluated here may do (`exec`, `import *`, names bound in what is only known to be
// valid) gives the benefit of the doubt. Codes, texts and places are those that running the statement gives.
#pragma once

#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "frontend/file.h"
#include "support/diagnostic.h"

namespace loopsmith::script {

/// A function, or statements at the top of the file, that make schedules or are handed them.
struct ScheduleBody {
  syntax::ItemPtr item;
  size_t place = SIZE_MAX;   // of statements at the top: which declaration of the file they are
};

class Names {
 public:
  /// Looks again at those whose text, or what their names may mean, has changed.
  void update(frontend::File& file, const std::vector<ScheduleBody>& bodies);
  /// In the order of the bodies, then of the helpers that they hand their schedules to.
  [[nodiscard]] auto diagnostics() const -> const Diagnostics& { return diagnostics_; }

  /// What one declaration says of names, by its text.
  struct Item {
    syntax::ItemPtr item;
    std::vector<Name> bound;       // at the top of the file; `global` in functions too
    std::vector<Name> foreign;     // those of them that are not TVM's
    bool is_dynamic = false;       // it may bind any name
  };
  /// A call that hands over a schedule.
  struct Handed {
    Name function;
    Name keyword;                  // of the argument; empty: it is counted
    size_t position = 0;
  };
  /// What was found in one body.
  struct Found {
    syntax::ItemPtr item;
    uint64_t means = 0;            // hash of what its names may mean
    Diagnostics diagnostics;
    std::vector<Handed> handed;
  };

 private:
  std::unordered_map<const syntax::Item*, Item> items_;
  std::unordered_map<const syntax::Item*, Found> found_;
  Diagnostics diagnostics_;
};

}  // namespace loopsmith::script
