// A schedule: a state, the variables that stand for its loops, blocks and numbers, and the trace of instructions that
// made it. Scripts, REPL, editor, tuner and trace replay all call rows of primitives through `apply`.
//
// A Schedule is a value with cheap copies: keep a copy before a step to undo it. On failure nothing changes: neither the
// module pointer, nor the trace, nor the random state.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schedule/primitive.h"
#include "schedule/state.h"
#include "schedule/trace.h"
#include "schedule/value.h"

namespace loopsmith::schedule {

/// Arguments as a script gives them.
struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> keyword;
};

/// The deepest nesting of a place. A primitive that would make a deeper nest is refused: every state of a schedule copies the path from the root
/// to the place that a step changed, and hand-written programs are far less deep.
inline constexpr size_t deepest_nest = 256;

class Schedule {
 public:
  /// Works on "main" if the module has it, else on the only function, else on none until `work_on`.
  explicit Schedule(IRModule module, int64_t seed = -1);

  [[nodiscard]] auto module() const -> const IRModule& { return state_.module(); }
  [[nodiscard]] auto state() const -> const State& { return state_; }
  [[nodiscard]] auto trace() const -> const Trace& { return trace_; }
  [[nodiscard]] auto func_working_on() const -> Name { return func_; }
  [[nodiscard]] auto work_on(Name func) -> Status;
  /// Sets the tensor intrinsics of the schedule's file; they take precedence over those that come with Loopsmith.
  void use_intrinsics(std::shared_ptr<const std::vector<TensorIntrin>> intrinsics) { intrinsics_ = std::move(intrinsics); }
  [[nodiscard]] auto intrinsics() const -> const std::shared_ptr<const std::vector<TensorIntrin>>& { return intrinsics_; }

  /// Sets the largest value of `T.vscale()` on the machine that the schedule is for: it may be 1, 2, 4 up to this. 0: no scalable vectors, or unknown.
  void use_vscale(int64_t most) { most_vscale_ = most; }
  [[nodiscard]] auto most_vscale() const -> int64_t { return most_vscale_; }

  /// A copy. Its random engine starts from a seed drawn here, as in TVM's `copy`.
  [[nodiscard]] auto fork() -> Schedule;
  void seed(int64_t seed) { random_.seed(seed); }
  auto fork_seed() -> int64_t { return random_.fork_seed(); }

  /// Calls a primitive as a script does: names are matched, defaults filled in, strings naming blocks looked up.
  /// Returns None, a variable, or a list of variables. `doubts` gets warnings about the step (Context::doubts).
  [[nodiscard]] auto apply(const Primitive& primitive, Arguments arguments, Origin call = {}, Diagnostics* doubts = nullptr) -> Result<Value>;
  /// The same, with the primitive given by its name in scripts ("split").
  [[nodiscard]] auto apply(std::string_view name, Arguments arguments, Origin call = {}) -> Result<Value>;
  /// For C++: `sch.call("split", {loop, Value::List{4, 8}})`.
  [[nodiscard]] auto call(std::string_view name, std::vector<Value> positional) -> Result<Value> {
    return apply(name, Arguments{std::move(positional), {}});
  }
  /// Calls with one value per parameter of the row (None for a default); the fastest way.
  [[nodiscard]] auto apply_values(const Primitive& primitive, std::vector<Value> values, Value decision = {}, Origin call = {}, Diagnostics* doubts = nullptr)
      -> Result<std::vector<Value>>;

  /// Replays a trace made for a module like this one. Maps its variables to new ones here. Uses the decisions in the
  /// trace; instructions without a decision sample. Calls `watch` after each instruction, with the module before it.
  using Watch = std::function<void(const Instruction& done, const IRModule& before)>;
  [[nodiscard]] auto replay(const Trace& trace, bool remove_postproc = false, const Watch& watch = {}) -> Status;

  /// The position of a replay: the next instruction, and the schedule's variable for each variable of the trace. A copy of the schedule continues from a copy of
  /// its position, also with another trace whose instructions and decisions are the same up to there.
  struct ReplayPlace {
    size_t next = 0;
    std::vector<uint32_t> variables = {};
  };
  /// Replays the instructions from the place up to `end`, and moves the place. After an error the schedule is the one in front of the failed instruction.
  [[nodiscard]] auto continue_replay(std::span<const Instruction* const> instructions, size_t end, ReplayPlace& place, const Watch& watch = {}) -> Status;

  // The loop, block or number that a variable stands for now; an error if it is gone.
  [[nodiscard]] auto get(BlockRV block) const -> Result<const Place*>;
  [[nodiscard]] auto get(LoopRV loop) const -> Result<const Place*>;
  [[nodiscard]] auto get(ExprRV expr) const -> Result<int64_t>;
  /// The name in the trace: "b0", "l3".
  [[nodiscard]] static auto name_of(const Value& variable) -> std::string;
  void remove_rv(const Value& variable);

 private:
  [[nodiscard]] auto resolve_names(const Primitive& primitive, std::vector<Value>& values, Origin call) -> Status;
  /// Converts arguments of scripts to the form in traces: buffers to access and index, functions and numbers to index
  /// maps. Returns the axis separators among the results of a function.
  [[nodiscard]] auto settle(const Primitive& primitive, std::vector<Value>& values, Origin call) const -> Result<std::vector<int64_t>>;
  State state_;
  Name func_;
  RandomEngine random_;
  Sequence<Context::Binding> variables_;
  Trace trace_;
  std::shared_ptr<const std::vector<TensorIntrin>> intrinsics_;
  int64_t most_vscale_ = 0;
};

/// Unpacks the result of `apply`.
[[nodiscard]] auto loops_of(const Value& value) -> std::vector<LoopRV>;
[[nodiscard]] auto blocks_of(const Value& value) -> std::vector<BlockRV>;
[[nodiscard]] auto exprs_of(const Value& value) -> std::vector<ExprRV>;

}  // namespace loopsmith::schedule
