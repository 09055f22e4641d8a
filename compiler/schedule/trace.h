// A trace: the instructions that made a schedule, with the decisions of its sampling instructions. It is read and
// written as TVM's JSON (trace_json.h), and written as Python text, byte for byte the output of TVM's
// `trace.show()`. The evaluator reads Python text: it is a schedule function.
//
// Traces are values; copies share the instructions.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "schedule/value.h"
#include "support/diagnostic.h"

namespace loopsmith::schedule {

struct Primitive;

struct Instruction {
  const Primitive* primitive = nullptr;
  std::vector<Value> values;               // one per parameter of the row, in its order; None if not given
  std::vector<Value> outputs;              // BlockRV, LoopRV, ExprRV
  Value decision;                          // None: no decision
  Origin origin;                           // the origin of the call, if there is a text
};

/// An instruction list with O(1) copies and appends.
class Trace {
 public:
  [[nodiscard]] auto size() const -> size_t { return last_ ? last_->size : 0; }
  [[nodiscard]] auto empty() const -> bool { return !last_; }
  void append(Instruction instruction);
  /// All instructions, in order.
  [[nodiscard]] auto instructions() const -> std::vector<const Instruction*>;
  [[nodiscard]] auto last() const -> const Instruction& { return last_->instruction; }
  /// The same trace with another decision at an instruction.
  [[nodiscard]] auto with_decision(size_t index, Value decision) const -> Trace;
  /// Removes instructions that change nothing and whose outputs are not used; with `remove_postproc`, also the
  /// instructions behind `enter_postproc`.
  [[nodiscard]] auto simplified(bool remove_postproc) const -> Trace;

  /// Without sampled integers: the decisions stand as numbers where later instructions used them. Sampled locations stay.
  [[nodiscard]] auto decided() const -> Trace;

  /// One line per instruction: `b0 = sch.get_block(name="C", func_name="main")`. TVM 0.19's text, or that of versions with `get_sblock`.
  [[nodiscard]] auto python_lines(Dialect dialect = Dialect::Block) const -> std::vector<std::string>;
  /// The whole output of `trace.show()` except for imports: `def apply_trace(sch: tir.Schedule) -> None:`.
  [[nodiscard]] auto python(Dialect dialect = Dialect::Block) const -> std::string;

 private:
  struct Node { std::shared_ptr<const Node> before; Instruction instruction; size_t size; };
  std::shared_ptr<const Node> last_;
};

/// The Python text of one instruction; variables are named `b0`, `l1`, `v2` by place.
[[nodiscard]] auto python_line(const Instruction& instruction) -> std::string;

}  // namespace loopsmith::schedule
