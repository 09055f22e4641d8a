// Errors of names and calls in the text of schedules that do not depend on the run: undefined names, names that are used before they have a value,
// unknown primitives, and arguments that a primitive does not take. Nothing is run, so all of these errors are reported at once, with every key,
// even for a program with errors.
//
// Reports only certain errors: if Python that is not evaluated here (`exec`, `import *`, names that unread statements bind) may define a name, the name is
// not reported. Codes, messages and places are the same as those of running the statement.
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
  /// Reads again the bodies whose text, or the meaning of whose names, may have changed.
  void update(frontend::File& file, const std::vector<ScheduleBody>& bodies);
  /// In the order of the bodies, followed by the helpers that receive their schedules.
  [[nodiscard]] auto diagnostics() const -> const Diagnostics& { return diagnostics_; }

  /// The names of one declaration, from its text.
  struct Item {
    syntax::ItemPtr item;
    std::vector<Name> bound;       // bound at the top of the file; also by `global` in functions
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
    uint64_t means = 0;            // hash of the possible meanings of its names
    Diagnostics diagnostics;
    std::vector<Handed> handed;
  };

 private:
  std::unordered_map<const syntax::Item*, Item> items_;
  std::unordered_map<const syntax::Item*, Found> found_;
  Diagnostics diagnostics_;
};

}  // namespace loopsmith::script
