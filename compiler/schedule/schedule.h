// A schedule: a state, the variables that stand for its loops, blocks and numbers, and the trace of how it came
// about. It is the door for scripts, REPL, editor, tuner and trace replay, which all call rows of primitives
// through `apply`.
//
// A Schedule is a value with cheap copies: a copy before a step is an undo. On failure nothing changes: not the
// module pointer, not the trace, not the random state.
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

class Schedule {
 public:
  /// Works on "main" where there is one, else on the only function, else on none until `work_on`.
  explicit Schedule(IRModule module, int64_t seed = -1);

  [[nodiscard]] auto module() const -> const IRModule& { return state_.module(); }
  [[nodiscard]] auto state() const -> const State& { return state_; }
  [[nodiscard]] auto trace() const -> const Trace& { return trace_; }
  [[nodiscard]] auto func_working_on() const -> Name { return func_; }
  [[nodiscard]] auto work_on(Name func) -> Status;
  /// Tensor intrinsics of the file that the schedule is in, found before those that come with Loopsmith.
  void use_intrinsics(std::shared_ptr<const std::vector<TensorIntrin>> intrinsics) { intrinsics_ = std::move(intrinsics); }
  [[nodiscard]] auto intrinsics() const -> const std::shared_ptr<const std::vector<TensorIntrin>>& { return intrinsics_; }

  /// What `T.vscale()` may be on the machine that the schedule is for: 1, 2, 4 up to this; 0: it has no scalable vectors, or is not said.
  void use_vscale(int64_t most) { most_vscale_ = most; }
  [[nodiscard]] auto most_vscale() const -> int64_t { return most_vscale_; }

  /// A copy; its random engine goes on from a seed drawn here, as TVM's `copy` does.
  [[nodiscard]] auto fork() -> Schedule;
  void seed(int64_t seed) { random_.seed(seed); }
  auto fork_seed() -> int64_t { return random_.fork_seed(); }

  /// Calls a primitive as a script does: names are matched, defaults filled in, strings naming blocks looked up.
  /// Gives None, a variable, or a list of variables.
  [[nodiscard]] auto apply(const Primitive& primitive, Arguments arguments, Origin call = {}) -> Result<Value>;
  /// The same by the script's name ("split").
  [[nodiscard]] auto apply(std::string_view name, Arguments arguments, Origin call = {}) -> Result<Value>;
  /// For C++: `sch.call("split", {loop, Value::List{4, 8}})`.
  [[nodiscard]] auto call(std::string_view name, std::vector<Value> positional) -> Result<Value> {
    return apply(name, Arguments{std::move(positional), {}});
  }
  /// Calls with one value per parameter of the row (None where there is a default), the shortest way.
  [[nodiscard]] auto apply_values(const Primitive& primitive, std::vector<Value> values, Value decision = {}, Origin call = {})
      -> Result<std::vector<Value>>;

  /// Replays a trace made for a module like this one. Its variables are mapped to new ones here. Decisions in the
  /// trace are used; instructions without one sample. `watch` is told the module before each one, behind it.
  using Watch = std::function<void(const Instruction& done, const IRModule& before)>;
  [[nodiscard]] auto replay(const Trace& trace, bool remove_postproc = false, const Watch& watch = {}) -> Status;

  // What variables stand for now; an error where the loop or block is gone.
  [[nodiscard]] auto get(BlockRV block) const -> Result<const Place*>;
  [[nodiscard]] auto get(LoopRV loop) const -> Result<const Place*>;
  [[nodiscard]] auto get(ExprRV expr) const -> Result<int64_t>;
  /// "b0", "l3": as in the trace.
  [[nodiscard]] static auto name_of(const Value& variable) -> std::string;
  void remove_rv(const Value& variable);

 private:
  [[nodiscard]] auto resolve_names(const Primitive& primitive, std::vector<Value>& values, Origin call) -> Status;
  /// Brings arguments as scripts give them to the form that traces have: buffers by access and index, functions and numbers as
  /// index maps. Gives the axis separators that were among the results of a function.
  [[nodiscard]] auto settle(const Primitive& primitive, std::vector<Value>& values, Origin call) const -> Result<std::vector<int64_t>>;
  State state_;
  Name func_;
  RandomEngine random_;
  Sequence<Context::Binding> variables_;
  Trace trace_;
  std::shared_ptr<const std::vector<TensorIntrin>> intrinsics_;
  int64_t most_vscale_ = 0;
};

/// Unpacks what `apply` gave.
[[nodiscard]] auto loops_of(const Value& value) -> std::vector<LoopRV>;
[[nodiscard]] auto blocks_of(const Value& value) -> std::vector<BlockRV>;
[[nodiscard]] auto exprs_of(const Value& value) -> std::vector<ExprRV>;

}  // namespace loopsmith::schedule
