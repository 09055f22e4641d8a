// The methods we know, and who answers them: methods.def as data.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace loopsmith::lsp {

enum class Method : uint8_t {
#define METHOD(id, name, kind, owner, scope) id,
#include "lsp/protocol/methods.def"
#undef METHOD
};

enum class MethodKind : uint8_t { Request, Notification };
enum class MethodOwner : uint8_t { Front, Worker };
enum class MethodScope : uint8_t { None, Document, Text };

struct MethodRow {
  Method method;
  std::string_view name;
  MethodKind kind;
  MethodOwner owner;
  MethodScope scope;
};

inline constexpr MethodRow method_rows[] = {
#define METHOD(id, name, kind, owner, scope) \
  {Method::id, name, MethodKind::kind, MethodOwner::owner, MethodScope::scope},
#include "lsp/protocol/methods.def"
#undef METHOD
};

[[nodiscard]] constexpr auto find_method(std::string_view name) -> const MethodRow* {
  for (const MethodRow& row : method_rows) {
    if (row.name == name) { return &row; }
  }
  return nullptr;
}

[[nodiscard]] constexpr auto find_method_row(Method method) -> const MethodRow& {
  return method_rows[static_cast<size_t>(method)];
}

// The legend of semantic tokens: lsp/features/tokens.h has the same as enumerators.
inline constexpr std::array<std::string_view, 9> token_types = {"namespace", "class", "function", "parameter", "variable",
                                                                "buffer",    "loop",  "iterator", "block"};
inline constexpr std::array<std::string_view, 14> token_modifiers = {"declaration", "modification", "readonly",   "deprecated",
                                                                     "spatial",     "reduction",    "parallel",   "vectorized",
                                                                     "unrolled",    "threadBound",  "local",      "shared",
                                                                     "warp",        "idle"};

// Commands of workspace/executeCommand.
inline constexpr std::string_view tune_command = "loopsmith.tune";
/// Runs a program on random inputs, under a schedule where one is named ({uri, function, schedule}), and shows the results.
inline constexpr std::string_view run_command = "loopsmith.run";
/// The same by the reference interpreter within a limit of steps, with every access checked against its bounds.
inline constexpr std::string_view interpret_command = "loopsmith.interpret";
/// Times a program as written and, where `schedule` is given, under it ({uri, function, schedule}).
inline constexpr std::string_view bench_command = "loopsmith.bench";
/// Compares the results of a program under a schedule with those of the program as written ({uri, function, schedule}).
inline constexpr std::string_view verify_command = "loopsmith.verify";
inline constexpr std::string_view stop_tune_command = "loopsmith.tune.stop";
/// A search stands still, and goes on ({job}, or {uri}: the one in that document).
inline constexpr std::string_view pause_tune_command = "loopsmith.tune.pause";
inline constexpr std::string_view resume_tune_command = "loopsmith.tune.resume";
inline constexpr std::string_view insert_schedule_command = "loopsmith.insertSchedule";
/// Runs a schedule to the statement at a place and shows the program as it is there ({uri, position, stage?}); answers as `loopsmith/ir` does.
inline constexpr std::string_view replay_to_command = "loopsmith.replay.to";
/// Explains which records are used for a program and why others are not ({uri, function or position} gives {title, text}).
inline constexpr std::string_view explain_records_command = "loopsmith.db.explain";
/// The measurements of all searches for a program on this machine, one after the other ({uri, function or position} gives {title, text}).
inline constexpr std::string_view records_history_command = "loopsmith.db.history";
/// Two schedules of a program beside one another, statement by statement ({uri, schedule, other} gives {title, text}).
inline constexpr std::string_view compare_schedules_command = "loopsmith.schedules.compare";
/// Splits the loop at a place by the factors that are asked for ({uri, version, position, factors}).
inline constexpr std::string_view split_command = "loopsmith.split";
/// Writes the program that a schedule makes into the text, behind the schedule ({uri, schedule}).
inline constexpr std::string_view apply_schedule_command = "loopsmith.schedule.apply";
/// Switches hints about loops that are not vectorized on or off; answers {shown}.
inline constexpr std::string_view toggle_hints_command = "loopsmith.hints.toggle";
/// Writes what a report of a fault needs, without names and texts of the file ({uri, position} gives {path, codes, ...}).
inline constexpr std::string_view report_bundle_command = "loopsmith.report.bundle";
/// Gives the command line of a REPL that sees the document as it is in the editor, saved or not ({uri} gives {command, mirror}).
inline constexpr std::string_view attach_repl_command = "loopsmith.attachRepl";
/// Executed by editors with the capability `experimental.loopsmithViews`: shows the view of a place ({uri, position}).
inline constexpr std::string_view show_view_command = "loopsmith.showIr";
/// Two states side by side ({from, to, title}, addresses of views), and the texts that commands above answer ({uri, ...}).
inline constexpr std::string_view show_difference_command = "loopsmith.showDifference";
inline constexpr std::string_view show_history_command = "loopsmith.showHistory";
inline constexpr std::string_view show_comparison_command = "loopsmith.showComparison";

// Headers that front and worker put on frames, beside Content-Length. All values are numbers.
namespace header {
/// Names a request on its way through the worker; its answer carries it back.
inline constexpr std::string_view ticket = "Ticket";
/// With it: the frame is a notification about that request, not yet its answer.
inline constexpr std::string_view piece = "Piece";
/// The front's number of an open document, on whatever is about it.
inline constexpr std::string_view document = "Document";
/// The version of that document.
inline constexpr std::string_view version = "Version";
/// Front to worker: that document is closed.
inline constexpr std::string_view close = "Close";
/// Worker to front: it starts (1) or ends (0) work on the document, which gets the blame if it dies meanwhile.
inline constexpr std::string_view working = "Working";
/// With it: the ticket of the request that the work is for; 0: it is for the text itself.
inline constexpr std::string_view blamed = "Blamed";
/// Worker to front: names and types of that version are checked, and the diagnostics are the same as before.
inline constexpr std::string_view unchanged = "Unchanged";
/// Front to worker: give up that ticket. Front to worker and back: a sign of life, and how often work polled.
inline constexpr std::string_view cancel = "Cancel";
inline constexpr std::string_view ping = "Ping";
/// Worker to front: views of the document that an editor has are out of date; the body lists their addresses.
inline constexpr std::string_view views = "Views";
/// Worker to front: the records of a program in an open document changed, and lenses show them.
inline constexpr std::string_view records = "Records";
/// Worker to front: it is idle, after so many frames (signs of life not counted).
inline constexpr std::string_view rest = "Rest";
}  // namespace header

}  // namespace loopsmith::lsp
