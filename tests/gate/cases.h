// A case of the gate: a program, steps of a schedule, and how the result is lowered. What may go wrong with it, and how a case that
// goes wrong is made small enough to read.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tests/gate/steps.h"

namespace loopsmith::gate {

struct Case {
  std::string units;           // tensor intrinsics that the file registers, as text
  std::string program;
  std::vector<Step> steps;
  uint64_t seed = 1;           // of the inputs, and of the options of lowering
};

struct Failure {
  enum class Kind : uint8_t { ScheduleChangesResults, PassChangesResults, CompiledCodeDiffers, Race, LoweringFails, TextNotReadBack, TraceNotReplayed, KernelRace, KernelTextDiffers } kind{};
  std::string what;            // in words
  std::string stage;           // of lowering, where one is at fault
};

struct CheckOptions {
  bool lowering = true;
  bool texts = true;           // read back, replayed
  bool compiled = false;       // machine code as well
  bool has_units = false;      // some step put a tensor intrinsic in (set by `check`)
  bool kernels = false;        // lowering is that for devices; these ask for more:
  bool host = false;           //   the CUDA text runs on the processor
  bool opencl = false;         //   the OpenCL text runs on this machine's driver
  bool cubin = false;          //   the CUDA text is compiled for GPUs, where the CUDA Toolkit is
};

/// Do the two take other arguments (a parameter in another layout)? Then their results cannot be compared.
[[nodiscard]] auto changes_interface(const IRModule& before, const IRModule& after) -> bool;

/// Runs the case; none: all is well, or the program itself fails (`ran` false). `refusals` gets the reason where there is no kernel for a schedule.
[[nodiscard]] auto check(const Case& c, const CheckOptions& options, bool* ran = nullptr, std::vector<std::string>* refusals = nullptr) -> std::optional<Failure>;

/// The smallest case found that fails in the same way (shrink.cpp). `is_wanted`: what else must hold of it; none: nothing.
[[nodiscard]] auto shrink(const Case& c, const Failure& failure, const CheckOptions& options, double seconds,
                          const std::function<bool(const Case&)>& is_wanted = {}) -> Case;

/// A message without the names and numbers in it.
[[nodiscard]] auto gist(const std::string& message) -> std::string;

/// Program and schedule as a person writes them.
[[nodiscard]] auto script_of(const Case& c) -> std::string;
[[nodiscard]] auto line_count(const std::string& text) -> int;

/// Machine code of a lowered module and the interpreter on the same inputs; the first difference. Empty where there is no code generator.
[[nodiscard]] auto compiled_difference(const IRModule& module, const IRModule& lowered, uint64_t seed) -> std::string;

}  // namespace loopsmith::gate
