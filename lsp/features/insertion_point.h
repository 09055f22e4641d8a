// Where a move is made: a state of a schedule, what the script calls things in it, and where a statement about it goes in the text.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lsp/features/lines.h"
#include "schedule/moves.h"
#include "workspace/snapshot.h"

namespace loopsmith::lsp {

struct InsertionPoint {
  schedule::Schedule schedule;
  std::vector<std::pair<std::string, NodeId>> names;   // of variables, the last binding of each
  uint32_t offset = 0;
  std::vector<Name> taken;                             // names that the function binds, anywhere
  std::string before;                                  // what the statement is inserted between
  std::string after;
  std::string title;                                   // "tiled after 3 of 12 statements"
  std::string variable = "sch";                        // what the script calls its schedule
  std::string target = {};                             // that the schedule is for; empty: not said
  std::optional<TextEdit> imports = {};                // what the file must import for the statement

  /// What the script calls a loop or block; empty: nothing.
  [[nodiscard]] auto name_of(const schedule::Place& place) const -> std::string;
  /// Calls as `schedule/moves.h` writes them, in the script's words.
  [[nodiscard]] auto in_words(std::string calls) const -> std::string { return schedule::in_words_of(std::move(calls), variable); }
  [[nodiscard]] auto is_taken(std::string_view name) const -> bool;
  /// The function that statements are about; null: none.
  [[nodiscard]] auto func() const -> const schedule::FuncState* { return schedule.state().func(schedule.func_working_on()); }
};

/// After step `index` of a schedule. None: it did not run.
[[nodiscard]] auto point_after(const workspace::Snapshot& snapshot, const script::FileSchedule& schedule, size_t index) -> std::optional<InsertionPoint>;
/// For the program that holds a place: at the end of its last schedule, or in a schedule that is written with the statement. None:
/// no program is there, or its schedule does not run to its end.
[[nodiscard]] auto point_for_program(const workspace::Snapshot& snapshot, Origin at) -> std::optional<InsertionPoint>;
/// In a schedule: after the statement at the cursor, or above all; elsewhere `stand_of_program`.
[[nodiscard]] auto point_at(const workspace::Snapshot& snapshot, uint32_t at) -> std::optional<InsertionPoint>;

}  // namespace loopsmith::lsp
