// A schedule of tensor expressions as data: its stages, and the steps that the script asked of each.
//
// A stage is the computation of one operation. Its axes are the loops that the operation has as written; steps (`split`, `fuse`, `reorder` ...) replace
// axes by others. As in TVM, a stage keeps its steps and its place apart, so their order does not matter: `translate.h` makes primitives on blocks of
// them, anew after each statement.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "frontend/c_source.h"
#include "frontend/te/tensors.h"
#include "schedule/schedule.h"

namespace loopsmith::script::te {

namespace expressions = frontend::te;

struct Axis {
  IterVar iter;                          // scripts know the axis by its variable
  size_t stage = 0;
  bool is_reduction = false;
};

/// A step on the axes of a stage.
struct AxisStep {
  enum class Kind : uint8_t { Split, Fuse, Reorder, Mark };
  Kind kind = Kind::Mark;
  std::vector<size_t> inputs, outputs;   // axes, by number
  std::optional<int64_t> factor;         // Split: the extent of the inner axis, or of the outer one where `is_by_parts`
  bool is_by_parts = false;
  std::string primitive;                 // Mark: `parallel`, `vectorize`, `unroll`, `bind`, `annotate`
  std::vector<schedule::Value> values;   // Mark: the arguments behind the loop
  std::optional<std::pair<size_t, size_t>> prefetched = {};   // Mark of `prefetch`: the stage and the output that it fetches
  Origin call;
};

/// A property of the block of a stage, or of its buffer: a primitive and its arguments behind the block.
struct BlockStep {
  std::string primitive;
  std::vector<schedule::Value> values;
  Origin call;
};

/// `tensorize` with an intrinsic of `te.decl_tensor_intrin`.
struct TensorizeStep {
  size_t axis = 0;
  Ref<expressions::DeclaredIntrinsic> intrinsic;
  Origin call;
};

/// `pragma` with C source whose functions can be read: statements of intrinsics call them.
struct SourceStep {
  std::shared_ptr<const frontend::CSource> source;
  std::string pragma;                    // "import_c"
  size_t axis = 0;
  Origin call;
};

struct Stage {
  enum class Place : uint8_t { Root, Inline, At };
  Name name;
  Ref<expressions::Operation> op;        // as it is now: steps that add stages change it
  std::vector<Buffer> tensors;           // by which scripts know the stage
  std::vector<Name> blocks;              // of the program; empty: see `made_by`, or the stage cannot be scheduled
  std::optional<size_t> made_by;         // the rewiring that makes its block
  bool is_placeholder = false, is_output = false;
  std::vector<size_t> inputs;            // stages that it reads
  std::vector<size_t> axes, reduce_axes; // as written
  std::vector<size_t> leaves;            // the axes that are loops now, outermost first
  std::vector<size_t> nest;              // the axes of the loops that the block has before any step
  std::vector<AxisStep> steps;
  std::vector<BlockStep> block_steps;
  std::vector<TensorizeStep> tensorized; // the last one of an axis counts
  Place place = Place::Root;
  size_t at_axis = 0;                    // of `compute_at`
  Origin placed;                         // the call of `compute_at` or `compute_inline`
};

/// A step that adds a stage.
struct Rewiring {
  enum class Kind : uint8_t { CacheRead, CacheWrite, RFactor };
  Kind kind = Kind::CacheRead;
  size_t stage = 0;                      // the stage that it is applied to
  size_t made = 0;                       // the stage that it adds
  std::string scope;
  std::vector<size_t> readers;           // CacheRead: the stages that read the copy
  size_t output = 0;                     // CacheRead: the output of the stage
  std::vector<AxisStep> steps;           // RFactor: the steps of the stage until then
  std::vector<size_t> nest;              // RFactor: the loops of the stage before those steps
  std::vector<size_t> leaves;            // RFactor: its loops after them
  size_t axis = 0;                       // RFactor: the axis whose iterations become independent
  int64_t factor_axis = 0;
  Origin call;
};

/// The state after a primitive of the last translation: the next one goes on behind the part that is as before.
struct Translated;

struct Stages {
  schedule::Schedule base;               // the program as written
  std::vector<Buffer> parameters;        // tensors of the parameters of the program
  std::vector<Axis> axes;
  std::vector<Stage> stages;
  std::vector<Rewiring> rewirings;
  std::vector<SourceStep> sources;
  std::vector<std::shared_ptr<const Translated>> done;
  /// The call that changed the stages last.
  Origin latest;
  /// A declared intrinsic does not fit the loops of its stage since a later step: a further one may change them again.
  bool has_waiting_tile = false;
  /// True: `finish` (create.h) translates all steps at once; false: each step is translated when it is called.
  bool is_at_once = false;

  explicit Stages(schedule::Schedule b) : base(std::move(b)) {}
  auto add_axis(IterVar iter, size_t stage, bool is_reduction) -> size_t {
    axes.push_back({std::move(iter), stage, is_reduction});
    return axes.size() - 1;
  }
  /// The stages, each before the stages that it reads.
  [[nodiscard]] auto consumers_first() const -> std::vector<size_t>;
  [[nodiscard]] auto consumers_of(size_t stage) const -> std::vector<size_t>;
  /// The stage of a tensor; none: the schedule has no such stage.
  [[nodiscard]] auto stage_of(const BufferNode* tensor) const -> std::optional<size_t>;
  /// The stage of an operation. After an edit the file may evaluate the statement of an operation again, so an operation that the same text made counts.
  [[nodiscard]] auto stage_of(const expressions::Operation& op) const -> std::optional<size_t>;
  /// The axis of an iter var, found in the same way; none: it is of another schedule.
  [[nodiscard]] auto axis_of(const IterVar& iter) const -> std::optional<size_t>;
  [[nodiscard]] auto is_leaf(size_t axis) const -> bool;
};

/// The stages of a program, as `te.create_schedule` makes them.
[[nodiscard]] auto make_stages(const expressions::ScheduledProgram& program, const std::vector<Ref<expressions::Operation>>& outputs, schedule::Schedule base) -> Stages;

}  // namespace loopsmith::script::te
