// A case of the gate: a program, the steps of a schedule, and the options of lowering. Checks of a case, and the reduction of a failing
// case to a small one.
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
  std::string what;            // a description for the user
  std::string stage;           // the faulty stage of lowering, if any
};

struct CheckOptions {
  bool lowering = true;
  bool texts = true;           // print and parse the texts, replay the trace
  bool compiled = false;       // also compile to machine code
  bool has_units = false;      // some step inserted a tensor intrinsic (set by `check`)
  bool kernels = false;        // lower for devices; the next four need it
  bool host = false;           // run the CUDA text on the processor
  bool opencl = false;         // run the OpenCL text by this machine's driver
  bool cuda = false;           // run the CUDA text on the GPU, where NVIDIA's driver is
  bool cubin = false;          // compile the CUDA text for GPUs, if the CUDA Toolkit is installed
};

/// True when the functions take different arguments (a parameter in another layout). Their results then cannot be compared.
[[nodiscard]] auto changes_interface(const IRModule& before, const IRModule& after) -> bool;

/// Runs the case; none: no failure, or the program itself fails (`ran` false). `refusals` gets the reason if a device has no code for the schedule.
[[nodiscard]] auto check(const Case& c, const CheckOptions& options, bool* ran = nullptr, std::vector<std::string>* refusals = nullptr) -> std::optional<Failure>;

/// The smallest case found that fails in the same way (shrink.cpp). `is_wanted`: a further condition on the case; empty: none.
[[nodiscard]] auto shrink(const Case& c, const Failure& failure, const CheckOptions& options, double seconds,
                          const std::function<bool(const Case&)>& is_wanted = {}) -> Case;

/// The message without the names and numbers in it.
[[nodiscard]] auto gist(const std::string& message) -> std::string;

/// The program and the schedule in the usual form of a script.
[[nodiscard]] auto script_of(const Case& c) -> std::string;
[[nodiscard]] auto line_count(const std::string& text) -> int;

/// The first difference between compiled and interpreted results on the same inputs. Empty: no difference, or no code generator.
[[nodiscard]] auto compiled_difference(const IRModule& module, const IRModule& lowered, uint64_t seed) -> std::string;

}  // namespace loopsmith::gate
