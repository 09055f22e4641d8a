// A cursor in a text that works on a schedule, and the state of the schedule there. An editor finds both in a snapshot (editor_spot.h); the REPL
// has both. Completion by the state of a schedule is a function of this struct.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lsp/features/calls.h"
#include "schedule/legality.h"
#include "schedule/schedule.h"
#include "script/partway.h"
#include "support/cancel.h"
#include "support/process.h"

namespace loopsmith::lsp {

/// Legality and estimates in one state of a schedule, cached: the next key usually needs the same state.
struct JudgedState {
  std::shared_ptr<const schedule::Schedule> state;
  IRModule program;           // the program, if `state` is a schedule of it without steps; none: `state` comes from a run
  std::unordered_map<std::string, schedule::Legality> found;
  /// By primitive: the call with the largest estimated speedup, and that speedup (1: none).
  std::unordered_map<std::string, std::pair<schedule::Move, double>> best = {};
  /// The schedule inside a statement, and the text, program and target that it depends on.
  std::string inside_of = {};
  IRModule inside_program = {};
  std::shared_ptr<const script::Partway> inside = {};
};

/// Limits for judging: judging every primitive of a large state takes too long for a completion list.
struct Patience {
  CancelToken cancel = {};            // cancelled by the next key
  Deadline until = never();
  JudgedState* judged = nullptr;      // null: no cache
};

/// A name of the script for a loop, a block or a number that exists at the cursor.
struct LiveVariable {
  std::string name;                         // for an item of a list: "loops[2]"
  const schedule::Place* place = nullptr;   // in the state at the cursor; null: a number
  int64_t number = 0;
};

struct ScheduleSpot {
  CursorText text;
  std::string_view behind = {};                   // the text from the cursor on
  std::string schedule_name = {};                 // "sch"; empty: the cursor is in no schedule
  std::string target = {};                        // the target of the estimates
  std::shared_ptr<const schedule::Schedule> now = nullptr;   // before the statement at the cursor; null: not known
  IRModule program = {};                          // before the first statement
  std::vector<LiveVariable> live = {};
  Patience patience = {};
  mutable bool is_cut_short = false;              // some items were not judged because the time was used up

  [[nodiscard]] auto is_late() const -> bool { return patience.cancel.is_cancelled() || (patience.until != never() && Clock::now() > patience.until); }
};

/// The loop or block of a variable; null: it no longer exists, or the variable is a number.
[[nodiscard]] auto place_of(const schedule::Schedule& state, const schedule::Value& variable) -> const schedule::Place*;

/// Removes items of lists whose loops and blocks have variables of their own.
void leave_out_named_items(std::vector<LiveVariable>& live);

/// The newest variable of a loop or block. The list must outlive the returned function.
[[nodiscard]] auto names_for(const std::vector<LiveVariable>& live) -> schedule::NameOfPlace;

/// "parallel loop `i_0`, extent 64", "block `C`".
[[nodiscard]] auto describe(const schedule::Place& place) -> std::string;

/// The blocks of the function that the schedule works on, by name.
[[nodiscard]] auto block_names(const ScheduleSpot& spot) -> std::vector<std::string>;
[[nodiscard]] auto function_names(const ScheduleSpot& spot) -> std::vector<Name>;

/// Loops and blocks of the program without a variable, each with the expression that looks it up.
[[nodiscard]] auto unnamed_places(const ScheduleSpot& spot) -> std::vector<std::pair<std::string, const schedule::Place*>>;

}  // namespace loopsmith::lsp
