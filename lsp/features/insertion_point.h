// The place where a new statement is inserted into a schedule: the state there, the variables of the script for loops and blocks, and the text around it.
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
  std::vector<std::pair<std::string, NodeId>> names;   // the last binding of each variable
  uint32_t offset = 0;
  std::vector<Name> taken;                             // names that the function binds
  std::string before;                                  // texts before and after the inserted statement
  std::string after;
  std::string title;                                   // "tiled after 3 of 12 statements"
  std::string variable = "sch";                        // the script's variable for the schedule
  std::string target = {};                             // the target of the schedule; empty: the file has none
  std::optional<TextEdit> imports = {};                // an import that the statement needs

  /// The script's variable for a loop or block; empty: it has none.
  [[nodiscard]] auto name_of(const schedule::Place& place) const -> std::string;
  /// Calls as `schedule/moves.h` writes them, with the script's name for the schedule.
  [[nodiscard]] auto in_words(std::string calls) const -> std::string { return schedule::in_words_of(std::move(calls), variable); }
  [[nodiscard]] auto is_taken(std::string_view name) const -> bool;
  /// The function that inserted statements work on; null: none.
  [[nodiscard]] auto func() const -> const schedule::FuncState* { return schedule.state().func(schedule.func_working_on()); }
};

/// Behind step `index` of a schedule. None: the step did not run.
[[nodiscard]] auto point_after(const workspace::Snapshot& snapshot, const script::FileSchedule& schedule, size_t index) -> std::optional<InsertionPoint>;
/// The same for a schedule of stages too, whose statements are steps on them (stage_steps.h).
[[nodiscard]] auto point_behind(const workspace::Snapshot& snapshot, const script::FileSchedule& schedule, size_t index) -> std::optional<InsertionPoint>;
/// For the program at an offset: the end of its last schedule, or a new schedule that is inserted with the statement. None:
/// no program is there, or its schedule does not run to its end.
[[nodiscard]] auto point_for_program(const workspace::Snapshot& snapshot, Origin at) -> std::optional<InsertionPoint>;
/// In a schedule: behind the statement at the cursor, or above all statements. Elsewhere: `point_for_program`.
[[nodiscard]] auto point_at(const workspace::Snapshot& snapshot, uint32_t at) -> std::optional<InsertionPoint>;

}  // namespace loopsmith::lsp
