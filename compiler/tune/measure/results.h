// Parts that the workers for processors and for devices share: the program of a task, and the comparison of results.
#pragma once

#include <string>

#include "interp/compare.h"
#include "schedule/schedule.h"
#include "tune/measure/messages.h"

namespace loopsmith::tune {

// Up to this number of block instances the interpreter checks everything. If elements cannot be sampled, it checks everything up to the second number,
// which takes seconds.
constexpr double full_check_instances = 1e7;
constexpr double patient_check_instances = 1e8;
constexpr int sampled_elements = 64;

/// The message of the first diagnostic.
[[nodiscard]] auto first_message(const Diagnostics& diagnostics) -> std::string;

/// The module of a text with the function in it.
[[nodiscard]] auto read_module(const std::string& text, Name function) -> Result<IRModule>;

/// A module after the steps of a trace in TVM's JSON.
[[nodiscard]] auto replayed(const IRModule& module, Name function, const std::string& trace) -> Result<IRModule>;

/// The first difference of results; empty: none. `deciding_bits`: the width of the type that decides if the difference is no larger than rounding explains;
/// otherwise 0. `reply` gets the largest relative difference of reals so far, with its bound.
[[nodiscard]] auto differs(const PrimFunc& func, const interp::Inputs& expected, const interp::Inputs& got, bool exact, int* deciding_bits = nullptr,
                           CheckReply* reply = nullptr) -> std::string;

}  // namespace loopsmith::tune
