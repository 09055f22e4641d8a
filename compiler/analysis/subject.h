// The input of every analysis: the facts of one function, its text, a budget of work, and the diagnostics to report to.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/facts.h"
#include "support/cancel.h"
#include "support/diagnostic.h"
#include "syntax/document.h"

namespace loopsmith::analysis {

class Subject {
 public:
  /// `declaration`: that of the program. `is_instance`: a function made the program for some arguments; parts of it may be needed for
  /// other arguments only.
  Subject(const Facts& facts, const syntax::Document& document, const syntax::Item& declaration, bool is_instance, Diagnostics& out, CancelToken cancel = {})
      : facts(facts), document(document), declaration(declaration), is_instance(is_instance), cancel(std::move(cancel)), out_(out) {}

  const Facts& facts;
  const syntax::Document& document;
  const syntax::Item& declaration;
  const bool is_instance;
  /// Checked at every access, loop and block. After a cancellation the findings are incomplete.
  const CancelToken cancel;
  /// The values that searches for iterations may still try (space.h).
  int64_t budget = 60000;
  /// The number of queries that may still be sent to the prover.
  int64_t questions = 64;
  /// An access was found outside of its buffer: conditions around it are wrong too, and are not reported.
  bool leaves_bounds = false;
  /// Iter vars that were found to leave their domains: accesses that they index are not reported again.
  std::vector<const VarNode*> misbound;

  void report(Diagnostic diagnostic) {
    // A program of one declaration may contain a place several times (macros, loops of the script, augmented assignments).
    for (const Diagnostic& d : out_) {
      if (d.code == diagnostic.code && d.where == diagnostic.where) { return; }
    }
    out_.push_back(std::move(diagnostic));
  }

  /// The source text of a place, on one line; empty if it is unknown or long.
  [[nodiscard]] auto text(Origin origin) const -> std::string;
  /// An expression as the user wrote it, or as it is printed.
  [[nodiscard]] auto text(const Expr& expr) const -> std::string;
  /// The place of an index within an access `A[i, j]`; the whole access if the index is not found in the text.
  [[nodiscard]] auto index_place(Origin access, size_t dim) const -> Origin;
  /// The item that contains an origin; null: it is not in this document.
  [[nodiscard]] auto item(Origin origin) const -> syntax::ItemPtr;
  /// For a part of a long program: the same place, counted from the start of the program.
  [[nodiscard]] auto in_whole(Origin origin) const -> Origin;
  /// The target and iterable of a loop: `i in range(16)`.
  [[nodiscard]] auto header(const For& loop) const -> Origin;

 private:
  Diagnostics& out_;
};

// The analyses, a file each.
void check_bounds(Subject& subject);            // accesses outside of buffers, iter vars outside of domains
void check_regions(Subject& subject);           // T.reads and T.writes against the accesses
void check_device_limits(Subject& subject);     // more threads than the target of the program allows
void check_jumps(Subject& subject);             // `break` and others in loops whose iterations have no order
void check_races(Subject& subject);             // iterations of parallel loops that touch the same elements
void check_thread_races(Subject& subject);      // threads that race or wait forever, where barriers are written out
void check_initialisation(Subject& subject);    // reads before writes, reductions without an init
void check_conditions(Subject& subject);        // conditions that are always true or false, loops that do nothing
void check_externals(Subject& subject);         // calls of functions that Loopsmith does not run

}  // namespace loopsmith::analysis
