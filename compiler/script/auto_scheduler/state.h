// A state of TVM's auto-scheduler: the stages of a task with their axes, and the steps that made them.
//
// A state follows the names, the kinds and, where they are known, the extents of axes. It makes no program: steps.h translates its steps to primitives. Stages and axes
// have the numbers of TVM's records: stages in the order of its compute DAG, axes from the outermost loop.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "eval/value.h"
#include "frontend/te/tensors.h"
#include "script/te/stages.h"

namespace loopsmith::script::auto_scheduler {

struct Step {
  std::string kind;                                                                  // "SP", "RE" ...
  std::vector<std::variant<int64_t, std::string, std::vector<int64_t>>> arguments;   // behind the kind

  friend auto operator==(const Step&, const Step&) -> bool = default;
};
/// "SP 2 0 64 [4, 2] 1"
[[nodiscard]] auto text_of(const Step& step) -> std::string;
/// Arguments of another form are 0, or an empty list.
[[nodiscard]] auto number_of(const Step& step, size_t argument) -> int64_t;
[[nodiscard]] auto list_of(const Step& step, size_t argument) -> const std::vector<int64_t>&;

/// The numbers of annotations in a record.
enum class Annotation : int64_t { None = 0, Unroll = 1, Vectorize = 2, Parallel = 3, VThread = 4, BlockX = 5, ThreadX = 6, BlockY = 7, ThreadY = 8, BlockZ = 9, ThreadZ = 10, Tensorize = 11 };

struct StateAxis {
  std::string name;
  int64_t extent = 0;                  // 0: not known
  bool is_reduction = false;
  Annotation annotation = Annotation::None;
  size_t id = 0;                       // the same in every state that the axis is in
};

/// The reads that one stage makes of another: an index for each dimension.
struct StageRead {
  size_t stage = 0;                    // that is read, by its place in the program
  std::vector<std::vector<Expr>> accesses;
};

struct StateStage {
  enum class Place : uint8_t { Root, Inline, At };
  std::string name;
  Ref<frontend::te::Operation> op;     // of the program; a stage that a step adds has that of the stage it was made of
  bool is_placeholder = false, is_compute = false, is_output = false;
  /// `cache_write` made the stage a copy of the stage in front of it.
  bool is_copy = false;
  size_t written_axes = 0;             // the number of axes before any step
  std::vector<StateAxis> axes;
  std::vector<size_t> inputs;          // stages that it reads, by number
  Place place = Place::Root;
  size_t at_stage = 0, at_axis = 0;    // the number of the stage, the id of the axis

  [[nodiscard]] auto has_reduction() const -> bool;
  /// True when a step has changed the number of axes.
  [[nodiscard]] auto is_tiled() const -> bool { return axes.size() != written_axes; }
};

class State {
 public:
  /// The state of a program without steps. `tensors`: of the task, in its order.
  State(const te::Stages& stages, const std::vector<eval::Value>& tensors);

  [[nodiscard]] auto stages() const -> const std::vector<StateStage>& { return stages_; }
  [[nodiscard]] auto steps() const -> const std::vector<Step>& { return steps_; }
  /// Appends a step. Returns the reason against it; empty: it is applied.
  [[nodiscard]] auto apply(Step step) -> std::string;
  /// Sets the extents of axes, as a translation has found them: by stage and axis; 0 leaves one as it is.
  void set_extents(const std::vector<std::vector<int64_t>>& extents);

  /// The stages that are computed at an axis.
  [[nodiscard]] auto attached_at(size_t stage, size_t axis) const -> std::vector<size_t>;
  [[nodiscard]] auto has_attached(size_t stage) const -> bool;
  /// The stages that read a stage; those of a stage that is computed inline stand for it.
  [[nodiscard]] auto consumers_of(size_t stage) const -> std::vector<size_t>;

 private:
  auto split(size_t stage, size_t axis, const std::vector<int64_t>& lengths, bool is_inner_first) -> std::string;
  auto fuse(size_t stage, const std::vector<int64_t>& axes) -> std::string;
  auto reorder(size_t stage, const std::vector<int64_t>& axes) -> std::string;
  auto compute_at(size_t stage, int64_t target, int64_t axis) -> std::string;
  auto cache_read(size_t stage, const std::string& scope, const std::vector<int64_t>& readers) -> std::string;
  auto cache_write(size_t stage, const std::string& scope) -> std::string;
  auto rfactor(size_t stage, size_t axis, int64_t place) -> std::string;
  auto apply_to_axis(const Step& step, size_t stage) -> std::string;
  /// Makes room for a stage with this number.
  void insert_stage(size_t number, StateStage stage);
  auto new_axis(std::string name, int64_t extent, bool is_reduction) -> StateAxis;

  std::vector<StateStage> stages_;
  std::vector<Step> steps_;
  size_t next_axis_ = 0;
};

/// The lengths of a step that follows an earlier split, or several of them; none: the steps do not fit.
[[nodiscard]] auto followed_lengths(const std::vector<Step>& steps, const Step& step) -> std::optional<std::vector<int64_t>>;

/// The stages of a program in the order of TVM's compute DAG: their places in `stages.stages`.
[[nodiscard]] auto numbered_stages(const te::Stages& stages, const std::vector<eval::Value>& tensors) -> std::vector<size_t>;

}  // namespace loopsmith::script::auto_scheduler
