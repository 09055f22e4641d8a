// The messages between a tuning session and its measurement workers: one JSON object per line in either direction.
//
//     -> {"op":"task", "module":TEXT, "function":NAME, "target":TEXT, "seed":N}     <- {"ok":true} or {"ok":false,"why":...}
//        with "arguments", the elements of each parameter, measurements have these contents
//        for device targets also "opens_device" and "code_target", and the reply describes the device
//     -> {"op":"build", "id":N, "trace":JSON text}                                  <- BuildReply
//        with "module", the text of the scheduled program, no trace is replayed
//     -> {"op":"measure", "id":N, "best":seconds, "repeat":N}                       <- MeasureReply
//     -> {"op":"drop", "id":N}                                                      (no reply)
//     -> {"op":"check", "id":N, "seconds":S}                                        <- CheckReply
//        if the interpreter would take longer than S (0: no limit), an unoptimised build replaces it
//
// A worker keeps the candidates that it built until they are measured or dropped, and replies in the order of the requests. The session stores the
// worker's standard error for the record of a crash.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "support/diagnostic.h"
#include "tune/database/database.h"

namespace loopsmith::tune {

/// The program to be tuned, in the form that a worker needs.
struct WorkerTask {
  std::string module;     // script text of the unscheduled program
  std::string function;   // the function in that module
  std::string target;
  uint64_t seed = 0;      // of the inputs
  std::vector<std::vector<double>> arguments = {};   // the elements of each buffer parameter in measurements; an empty list, or none: random ones
  // For targets of devices:
  bool opens_device = false;    // the worker opens the device, and may measure
  std::string code_target = {}; // the device's own target, for which code is made; empty: `target`
};

/// The outcome of a candidate's build. Every outcome except `Built` ends the trial.
enum class BuildOutcome : uint8_t {
  Built,
  Rejected,   // too large, or not lowered; or `stop` ended the build
  Crashed,    // the worker died
  TimedOut,   // the worker was killed at the time limit
};
[[nodiscard]] auto outcome_name(BuildOutcome outcome) -> const char*;
/// The outcome of a trial that was not built.
[[nodiscard]] auto trial_outcome(BuildOutcome outcome) -> Outcome;

struct BuildReply {
  uint64_t id = 0;
  BuildOutcome outcome = BuildOutcome::Built;
  std::string note;                      // the cause, if it was not built
  uint64_t lowered_hash = 0;             // structural hash after lowering; candidates with the same hash are equally fast
  uint64_t object_hash = 0;              // hash of the machine code
  double seconds = 0;                    // of replay, lowering and code generation
  double estimate_seconds = 0;           // of a call on a device, from static figures; 0: none
  std::string figures = {};              // of kernels that were compiled: "96 registers, no spills, 34 KB shared"
};

struct MeasureReply {
  uint64_t id = 0;
  Outcome outcome = Outcome::Measured;   // Measured, Censored (stopped early) or Wrong
  std::string note;
  double median_seconds = 0;
  double spread_seconds = 0;
  int blocks = 0;
  bool ends_worker = false;   // a device may be unusable until the worker is restarted
};

/// Verification of one built candidate.
struct CheckReply {
  uint64_t id = 0;
  bool equal = false;
  std::string how;       // "all outputs against the interpreter"
  std::string note;      // the first difference
  double error = -1;     // the largest difference of compared reals, relative to the largest element of its tensor; -1: no reals
  double allowed = 0;    // the bound for `error`
  uint64_t seed = 0;     // of the inputs
  int inputs = 0;        // the number of inputs with compared results
  bool ends_worker = false;
  bool timed_out = false;  // the comparison was ended at its limit: the results are neither right nor wrong. The pool sets it, no worker
};
/// "2 inputs, largest error 3e-7 of the result's scale (2e-5 allowed), seed 8"; empty: no results were compared.
[[nodiscard]] auto extent_text(const CheckReply& reply) -> std::string;
/// "2 inputs: all outputs against the interpreter, no error".
[[nodiscard]] auto compared_text(const CheckReply& reply) -> std::string;
/// The extent and `how`: "2 inputs, all outputs against the interpreter, no error, seed 8".
[[nodiscard]] auto verified_text(const CheckReply& reply) -> std::string;

[[nodiscard]] auto to_line(const WorkerTask& task) -> std::string;
[[nodiscard]] auto build_line(uint64_t id, const std::string& trace, const std::string& module) -> std::string;
[[nodiscard]] auto measure_line(uint64_t id, double best_seconds, int repeat) -> std::string;
[[nodiscard]] auto check_line(uint64_t id, double seconds) -> std::string;
[[nodiscard]] auto drop_line(uint64_t id) -> std::string;

struct TaskReply {
  bool ok = false;
  std::string why = {};
  // The answer of a worker that opens a device also has:
  std::string device = {};        // its name with its number of units; empty: no device
  std::string code_target = {};   // the target of its code
  std::string no_device = {};     // the reason why there is no device
  uint64_t block_threads = 0;     // the limits of a block; 0: unknown
  uint64_t shared_bytes = 0;
  uint64_t units = 0;             // multiprocessors
};
[[nodiscard]] auto to_line(const TaskReply& reply) -> std::string;
[[nodiscard]] auto to_line(const BuildReply& reply) -> std::string;
[[nodiscard]] auto to_line(const MeasureReply& reply) -> std::string;
[[nodiscard]] auto to_line(const CheckReply& reply) -> std::string;

/// False when the line is not such a reply.
[[nodiscard]] auto parse_line(const std::string& line, TaskReply& out) -> bool;
[[nodiscard]] auto parse_line(const std::string& line, BuildReply& out) -> bool;
[[nodiscard]] auto parse_line(const std::string& line, MeasureReply& out) -> bool;
[[nodiscard]] auto parse_line(const std::string& line, CheckReply& out) -> bool;

/// A request as a worker reads it.
struct Request {
  enum class Op : uint8_t { Task, Build, Measure, Check, Drop };
  Op op = Op::Task;
  WorkerTask task;
  uint64_t id = 0;
  std::string trace;
  std::string module;
  double best_seconds = 0;
  int repeat = 0;
  double seconds = 0;
};
[[nodiscard]] auto parse_line(const std::string& line, Request& out) -> bool;

}  // namespace loopsmith::tune
