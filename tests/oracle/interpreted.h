// Programs of the corpus and their scheduled versions, run by the reference interpreter: the standard for compiled code and for kernels on devices.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "interp/compare.h"
#include "kind.h"
#include "program.h"
#include "runtime/jit.h"

namespace loopsmith::oracle {

/// A program before and after its schedule, as texts. Both are equal if the workload has no schedule.
struct ScheduledText { std::string id, before, after; };
/// Reads a line of the corpus. None, and counted as left out: the reference contradicts itself there.
[[nodiscard]] auto scheduled_text(const Json& line, Tally& tally) -> std::optional<ScheduledText>;

/// A scheduled program, inputs for it, and the interpreter's results for the unscheduled program.
struct Interpreted {
  IRModule scheduled;
  PrimFunc function;          // of the unscheduled program
  interp::Inputs given;
  interp::Inputs expected;
  bool is_exact = false;      // the results are the same in each order of evaluation
};
/// None, and counted as left out: the program is unreadable or too large, or the interpreter does not give the same results for both versions.
[[nodiscard]] auto interpret_both(const ScheduledText& text, Tally& tally) -> std::optional<Interpreted>;

/// The arguments for a call of compiled code; they share the tensors of the inputs.
[[nodiscard]] auto values_of(const interp::Inputs& inputs) -> std::vector<runtime::Value>;
/// The first difference between results and those of the interpreter. None: they are equal.
[[nodiscard]] auto difference_from(const Interpreted& program, const interp::Inputs& results) -> std::optional<std::string>;

}  // namespace loopsmith::oracle
