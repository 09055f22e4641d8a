// Hover: what is known about the thing under the cursor: a loop, a block, a buffer, a program, or a variable of a schedule
// as it is at its line.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "schedule/draws.h"
#include "workspace/snapshot.h"

namespace loopsmith::lsp {

struct Fact {
  std::string label;  // "flops", "memory": what a test asks for
  std::string text;   // a phrase for people; code in backticks
};

struct HoverInfo {
  Span span;
  std::string title;  // "loop `k`: serial, extent 512"
  std::vector<Fact> facts;
  std::string schedule = {};                      // whose name it is, for those who know what was timed and compared
  std::string program = {};                       // that it schedules
  std::string primitive = {};                     // whose reference says more
  std::optional<schedule::Draw> draw = {};        // of a sampling call, for those who know what was recorded
  IRModule drawn_for = {};                        // the program it draws for
};

/// What loops are compared with. Nothing is said of what is not known.
struct Machine {
  std::vector<uint64_t> caches = {};   // bytes of each level, the nearest first
  double flops = 0;                    // float32 operations a second on one core; 0: not known
  struct Rate { uint64_t footprint; double bytes; };
  std::vector<Rate> rates = {};        // bytes a second on one core, by growing footprint in bytes
};

/// Empty where the cursor is on nothing that has a meaning (blank space, a comment).
[[nodiscard]] auto hover(const workspace::Snapshot& snapshot, uint32_t at, const Machine& machine = {}) -> std::optional<HoverInfo>;

/// "made in line 5: `i0, i1 = sch.split(i, factors=[None, 8])`"; empty: the statement is not in the text.
[[nodiscard]] auto made_in(const workspace::Snapshot& snapshot, Origin statement) -> std::string;

/// A loop or block of a function, by its id. None: it is not there.
[[nodiscard]] auto hover_place(const PrimFunc& function, NodeId id, const Machine& machine) -> std::optional<HoverInfo>;
/// A buffer of a function, by its name. None: it has none of that name.
[[nodiscard]] auto hover_buffer(const PrimFunc& function, Name name) -> std::optional<HoverInfo>;

}  // namespace loopsmith::lsp
