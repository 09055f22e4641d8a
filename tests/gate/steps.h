// Steps of a random schedule. Each step finds its loops and blocks by name (a loop by a block inside it and the loop's
// index around that block), so that any step can be removed and the others keep their meaning.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "schedule/schedule.h"
#include "tests/gate/random.h"

namespace loopsmith::gate {

struct Step {
  struct Ref {
    std::string block;
    int loop = -1;                    // the index among the loops around the block; -1: the block itself
  };
  const schedule::Primitive* row = nullptr;
  std::vector<std::pair<std::string, schedule::Value>> args;   // BlockRV{i}, LoopRV{i}: refs[i]
  std::vector<Ref> refs;

  /// `sch.split(sch.get_loops("C")[0], factors=[None, 4])`
  [[nodiscard]] auto text() const -> std::string;
};

/// The calls of each primitive so far, by its name.
struct Count { int64_t accepted = 0, refused = 0; };
using StepCounts = std::map<std::string, Count>;
/// A random call of a primitive, with arguments from the candidates of its row or else by their kind. None: no arguments fit.
/// Primitives that were rarely accepted are more likely. `near`: prefers this block and the loops around it.
[[nodiscard]] auto random_step(const schedule::Schedule& sch, Random& random, const StepCounts& counts, const std::string& near = {}) -> std::optional<Step>;
/// A step that is useful only after this step: a rolling buffer after a block was moved to its consumers, the removal of an
/// annotation. Usually none.
[[nodiscard]] auto follow_up(const Step& step, Random& random) -> std::optional<Step>;
/// The name of a random block of `main`; empty: it has no block.
[[nodiscard]] auto random_block(const schedule::Schedule& sch, Random& random) -> std::string;

/// The primitives that change programs.
[[nodiscard]] auto changing_rows() -> std::vector<const schedule::Primitive*>;

enum class Applied : uint8_t { Accepted, Refused, NoSuchPlace };
[[nodiscard]] auto apply_step(schedule::Schedule& sch, const Step& step) -> Applied;

}  // namespace loopsmith::gate
