// Explains a design space: its sketches with their knobs and sizes, the trials of each in the database, the sketches that the search has closed, and the reasons
// why units do not fit. Measures nothing.
#pragma once

#include <string>
#include <vector>

#include "ir/ir.h"
#include "support/diagnostic.h"
#include "target/target.h"
#include "tune/session/session.h"
#include "tune/space/unit.h"

namespace loopsmith::tune {

struct KnobExplained {
  std::string name;
  size_t choices = 0;
  std::string first, last;      // choices as text: "[4, 2, 8]"
};

struct SketchExplained {
  std::string name;
  double points = 0;
  std::vector<KnobExplained> knobs;
  double accepted = 0;          // the share of random points that the draft accepts
  SketchTally tally;            // of the search, as far as its measurements are in the database
  std::string why_closed;       // empty: the search still proposes its points
};

struct SpaceExplained {
  std::string search;
  int records = 0;              // of the program in the database, of any search
  std::vector<SketchExplained> sketches;
  std::vector<UnitFit> units;
  std::vector<FailureCause> causes;
};

/// Options: `search`, `seed`, `space`, `keep_order`, `database`.
[[nodiscard]] auto explain_space(const IRModule& module, Name function, const target::Target& target, const SessionOptions& options) -> Result<SpaceExplained>;

[[nodiscard]] auto explain_sketch(const Sketch& sketch, const SketchTally& tally, const std::string& why_closed) -> SketchExplained;

/// A heading with the program, then the sketches with a line per knob, then the units.
[[nodiscard]] auto text_of(const SpaceExplained& explained, const std::string& program) -> std::string;

}  // namespace loopsmith::tune
