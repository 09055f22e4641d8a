// Hover: facts about the thing at the cursor: a loop, a block, a buffer, a program, or a variable of a schedule
// in its state at that line.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "schedule/draws.h"
#include "workspace/snapshot.h"

namespace loopsmith::lsp {

struct Fact {
  std::string label;  // "flops", "memory": the key that tests use
  std::string text;   // a phrase for the user; code in backticks
};

struct HoverInfo {
  Span span;
  std::string title;  // "loop `k`: serial, extent 512"
  std::vector<Fact> facts;
  std::string schedule = {};                      // the schedule at the cursor, for its measurements (hover_measured.h)
  std::string program = {};                       // the program of the schedule
  std::string primitive = {};                     // the primitive, for a link to its reference page
  std::optional<schedule::Draw> draw = {};        // of a sampling call: the draw, for its recorded trials (hover_measured.h)
  IRModule drawn_for = {};                        // the program that the draw belongs to
};

/// The machine that loops are compared with. Facts that need unknown values are omitted.
struct Machine {
  std::vector<uint64_t> caches = {};   // bytes of each level, the nearest first
  double flops = 0;                    // float32 operations a second on one core; 0: not known
  struct Rate { uint64_t footprint; double bytes; };
  std::vector<Rate> rates = {};        // by growing footprint in bytes: bytes a second on one core
};

/// None: nothing with a meaning is at the cursor (blank space, a comment).
[[nodiscard]] auto hover(const workspace::Snapshot& snapshot, uint32_t at, const Machine& machine = {}) -> std::optional<HoverInfo>;

/// "made in line 5: `i0, i1 = sch.split(i, factors=[None, 8])`"; empty: the statement is not in the text.
[[nodiscard]] auto made_in(const workspace::Snapshot& snapshot, Origin statement) -> std::string;

/// The hover of a loop or block of a function, by its id. None: the function has no such loop or block.
[[nodiscard]] auto hover_place(const PrimFunc& function, NodeId id, const Machine& machine) -> std::optional<HoverInfo>;
/// The hover of a buffer of a function, by its name. None: the function has no such buffer.
[[nodiscard]] auto hover_buffer(const PrimFunc& function, Name name) -> std::optional<HoverInfo>;

}  // namespace loopsmith::lsp
