// The results of `loopsmith tune`: the schedule that was found as text, its report, the causes of failed candidates, and the insertion into the file.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "driver/program.h"
#include "tune/session/session.h"
#include "workspace/edits/schedule_text.h"

namespace loopsmith::driver::commands {

/// Reports a failure in the requested form; `causes`: those of failed candidates, for JSON. Returns the exit status.
auto report_failure(const Arguments& arguments, const std::string& why, nlohmann::json causes = {}) -> int;

/// The program that the search begins with: in front of the hole, else as written.
[[nodiscard]] auto searched_program(const Selection& selection) -> const IRModule&;

/// The names and the comments of a found schedule of a program.
[[nodiscard]] auto found_form(const Selection& selection, const IRModule& searched, const tune::SessionResult& result, const Arguments& arguments, uint64_t seed) -> workspace::ScheduleText;
/// A found schedule as text: a function with an unused name, or the statements that fill the hole.
struct FoundText {
  std::string name;
  Result<std::string> text;
};
[[nodiscard]] auto found_text(const Selection& selection, const tune::SessionResult& result, const Arguments& arguments, uint64_t seed) -> FoundText;

/// A cause of failed candidates, and the file with a trace that reproduces it; empty: it is in no file.
struct Cause {
  tune::FailureCause cause;
  std::string path;
};
/// Writes the traces that reproduce failures. Without a folder in the options they go beside the database; a database in memory has none.
[[nodiscard]] auto with_reproducers(const Arguments& arguments, const tune::SessionOptions& options, const std::string& program, const std::vector<tune::FailureCause>& causes) -> std::vector<Cause>;
[[nodiscard]] auto causes_as_json(const std::string& file, const std::string& program, const std::vector<Cause>& causes) -> nlohmann::json;
/// Prints a line for each cause, with the command that reproduces it below.
void report_causes(const std::string& file, const std::string& program, const std::vector<Cause>& causes);

[[nodiscard]] auto profile_as_json(const tune::Profile& profile) -> nlohmann::json;
/// Prints the event `done`. `text`: the schedule, which has the name `name`.
void report_done_as_json(const Selection& selection, const tune::SessionResult& result, const std::string& name, const std::string& text, nlohmann::json causes);
/// Prints the best time, the times of the phases, and the notes.
void report_done(const tune::SessionResult& result);

/// Writes a found schedule into the file, as the file is now. Refuses if the program was changed meanwhile. Returns the exit status.
auto insert_found(const Arguments& arguments, const std::string& path, const Selection& selection, const std::string& name, const std::string& text, Reporter& reporter) -> int;

}  // namespace loopsmith::driver::commands
