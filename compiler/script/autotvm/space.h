// The space of an AutoTVM template: its knobs with their choices, in the order in which the template defines them.
//
// A choice is the value that a record keeps for a knob: the factors of a split, a permutation of axes, an annotation for each axis, or any value. The choices of a
// knob, and their order, are those of TVM, so the index of a configuration means the same in both.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "eval/value.h"

namespace loopsmith::script::autotvm {

enum class KnobKind : uint8_t { Split, Reorder, Annotate, Other };
/// "sp", "re", "an", "ot": the kind in a record.
[[nodiscard]] auto kind_word(KnobKind kind) -> std::string_view;
[[nodiscard]] auto kind_of_word(std::string_view word) -> std::optional<KnobKind>;

struct Choice {
  KnobKind kind = KnobKind::Other;
  std::vector<int64_t> numbers;      // Split: the factors, outermost first, where -1 is the rest; Reorder: the permutation; Annotate with `locate_cache`: the axes
  std::vector<std::string> words;    // Annotate: "none", "vec", "unroll", "blockIdx.x" ...
  eval::Value value;                 // Other

  /// "[-1, 8]", "['none', 'vec']", "512".
  [[nodiscard]] auto text() const -> std::string;
  friend auto operator==(const Choice& a, const Choice& b) -> bool;
};

struct Knob {
  std::string name;
  KnobKind kind = KnobKind::Other;
  std::vector<Choice> choices;
  int64_t length = 0;                // Split: the extent of the axis
};

struct Space {
  std::vector<Knob> knobs;
  double flop = 0;                   // that the template adds by `cfg.add_flop`

  [[nodiscard]] auto find(std::string_view name) const -> const Knob*;
  /// The number of configurations; saturates at 1e18.
  [[nodiscard]] auto size() const -> double;
};

/// A decision for each knob, by name: those of a record, or of a point of a search.
struct Decisions {
  std::vector<std::pair<std::string, Choice>> choices;
  [[nodiscard]] auto find(std::string_view name) const -> const Choice*;
};

/// The decisions of a point, an index for each knob.
[[nodiscard]] auto decisions_at(const Space& space, const std::vector<size_t>& indices) -> Decisions;
/// The index of a configuration in TVM's numbering: the first knob counts fastest. None: a decision is not among the choices of its knob, or is missing.
[[nodiscard]] auto index_of(const Space& space, const Decisions& decisions) -> std::optional<int64_t>;

struct SplitOptions {
  std::string policy = "factors";          // or "power2", "verbose"
  size_t outputs = 2;
  int64_t most = INT64_C(1) << 31;         // of each factor behind the first
  std::optional<bool> has_no_tail = {};    // only factors whose product divides the axis; none: as the policy has it
};
/// The factors of a split. None: the policy does not exist.
[[nodiscard]] auto splits(int64_t length, const SplitOptions& options) -> std::optional<std::vector<Choice>>;
/// All orders of the axes from `begin` to `end`; the others keep their places.
[[nodiscard]] auto orders(size_t axes, size_t begin, size_t end) -> std::vector<Choice>;
/// The orders that merge chains of axes, where the longest rest goes first. `spatial`, `reduce`: chains of axis numbers. `for_threads`: the innermost spatial axes stay behind.
[[nodiscard]] auto interleaved(const std::vector<std::vector<int64_t>>& spatial, const std::vector<std::vector<int64_t>>& reduce, bool for_threads) -> std::vector<Choice>;
/// The annotations of a policy: "try_vec", "try_unroll_vec", "bind_gpu", "bind_gpu_virtual". None: the policy does not exist, or needs more axes.
[[nodiscard]] auto annotations(size_t axes, std::string_view policy) -> std::optional<std::vector<Choice>>;
/// The ways to choose `anchors` of the axes, in their order.
[[nodiscard]] auto anchors(size_t axes, size_t count) -> std::vector<Choice>;

/// The largest number of choices of one knob.
inline constexpr size_t most_choices = 100'000;

}  // namespace loopsmith::script::autotvm
