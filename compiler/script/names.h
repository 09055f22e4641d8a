// Names and calls in the text of schedules that are wrong whatever runs: names that nothing defines, names that are used before they have a value,
// unknown primitives, and arguments that a primitive does not take. Nothing is run, so all of these errors are reported at once, with every key,
// for a program with errors as well.
//
// Only certain errors are reported. Python that is not evaluated here (`exec`, `import *`, names that unread statements bind) gives the benefit of
// the doubt. Codes, messages and places are those of running the statement.
#pragma once

#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "frontend/file.h"
#include "support/diagnostic.h"

namespace loopsmith::script {

/// A function, or statements at the top of the file, that make schedules or receive them.
struct ScheduleBody {
  syntax::ItemPtr item;
  size_t place = SIZE_MAX;   // of statements at the top: the index of their declaration in the file
};

class Names {
 public:
  /// Reads the bodies again whose text, or the meaning of whose names, may have changed.
  void update(frontend::File& file, const std::vector<ScheduleBody>& bodies);
  /// In the order of the bodies, then of the helpers that receive their schedules.
  [[nodiscard]] auto diagnostics() const -> const Diagnostics& { return diagnostics_; }

  /// The names of one declaration, by its text.
  struct Item {
    syntax::ItemPtr item;
    std::vector<Name> bound;       // at the top of the file; `global` in functions too
    std::vector<Name> foreign;     // the bound names that are not TVM's
    bool is_dynamic = false;       // it may bind any name
  };
  /// A call with a schedule as an argument.
  struct Handed {
    Name function;
    Name keyword;                  // of the argument; empty: it is positional
    size_t position = 0;
  };
  /// The findings in one body.
  struct Found {
    syntax::ItemPtr item;
    uint64_t means = 0;            // hash of the meanings that its names may have
    Diagnostics diagnostics;
    std::vector<Handed> handed;
  };

 private:
  std::unordered_map<const syntax::Item*, Item> items_;
  std::unordered_map<const syntax::Item*, Found> found_;
  Diagnostics diagnostics_;
};

}  // namespace loopsmith::script
