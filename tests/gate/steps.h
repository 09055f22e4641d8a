// Steps of a random schedule, each on its own: it names the loops and blocks that it takes (a loop by a block below it and its
// place among the loops around that), so that any of the steps may be left out and the rest still means something.
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
    int loop = -1;                    // among the loops around the block; -1: the block itself
  };
  const schedule::Primitive* row = nullptr;
  std::vector<std::pair<std::string, schedule::Value>> args;   // BlockRV{i}, LoopRV{i}: refs[i]
  std::vector<Ref> refs;

  /// `sch.split(sch.get_loops("C")[0], factors=[None, 4])`
  [[nodiscard]] auto text() const -> std::string;
};

/// A call of a random primitive, with arguments from its row: candidates, where it names some, else by their kind. None: nothing fits.
/// Those that were accepted seldom so far are likelier. `near`: mostly the block of that name and the loops around it.
struct Count { int64_t accepted = 0, refused = 0; };
using StepCounts = std::map<std::string, Count>;
[[nodiscard]] auto random_step(const schedule::Schedule& sch, Random& random, const StepCounts& counts, const std::string& near = {}) -> std::optional<Step>;
/// A step that makes sense right after this one, and seldom otherwise: a rolling buffer where a block was moved to its consumers, an
/// annotation taken away again. None for most.
[[nodiscard]] auto follow_up(const Step& step, Random& random) -> std::optional<Step>;
/// The name of some block of `main`; empty where it has none.
[[nodiscard]] auto random_block(const schedule::Schedule& sch, Random& random) -> std::string;

/// The primitives that change programs.
[[nodiscard]] auto changing_rows() -> std::vector<const schedule::Primitive*>;

enum class Applied : uint8_t { Accepted, Refused, NoSuchPlace };
[[nodiscard]] auto apply_step(schedule::Schedule& sch, const Step& step) -> Applied;

}  // namespace loopsmith::gate
