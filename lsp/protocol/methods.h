// The methods and commands that the server knows, and the process that answers each: methods.def as data.
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

// The legend of semantic tokens. The enumerators in lsp/features/tokens.h have the same order.
inline constexpr std::array<std::string_view, 9> token_types = {"namespace", "class", "function", "parameter", "variable",
                                                                "buffer",    "loop",  "iterator", "block"};
inline constexpr std::array<std::string_view, 14> token_modifiers = {"declaration", "modification", "readonly",   "deprecated",
                                                                     "spatial",     "reduction",    "parallel",   "vectorized",
                                                                     "unrolled",    "threadBound",  "local",      "shared",
                                                                     "warp",        "idle"};

// Commands of workspace/executeCommand.
inline constexpr std::string_view tune_command = "loopsmith.tune";
/// Runs a program on random inputs, under `schedule` if it is given ({uri, function, schedule}), and shows the results.
inline constexpr std::string_view run_command = "loopsmith.run";
/// The same by the reference interpreter with a limit of steps; every access is checked against its bounds.
inline constexpr std::string_view interpret_command = "loopsmith.interpret";
/// Times a program as written, and under `schedule` if it is given ({uri, function, schedule}).
inline constexpr std::string_view bench_command = "loopsmith.bench";
/// Compares the results of a program under a schedule with those of the program as written ({uri, function, schedule}).
inline constexpr std::string_view verify_command = "loopsmith.verify";
/// Chooses the sizes of a program whose shapes have variables ({uri, function, sizes: ["n"], again}), for all runs, measurements and searches of the session.
inline constexpr std::string_view sizes_command = "loopsmith.sizes";
inline constexpr std::string_view stop_tune_command = "loopsmith.tune.stop";
/// Pauses or resumes a search ({job}, or {uri}: the search in that document).
inline constexpr std::string_view pause_tune_command = "loopsmith.tune.pause";
inline constexpr std::string_view resume_tune_command = "loopsmith.tune.resume";
inline constexpr std::string_view insert_schedule_command = "loopsmith.insertSchedule";
/// Runs a schedule to the statement at a place and shows the program there ({uri, position, stage?}); same answer as `loopsmith/ir`.
inline constexpr std::string_view replay_to_command = "loopsmith.replay.to";
/// Explains which records are used for a program and why others are not: {uri, function or position} -> {title, text}.
inline constexpr std::string_view explain_records_command = "loopsmith.db.explain";
/// The measurements of all searches for a program on this machine, in order: {uri, function or position} -> {title, text}.
inline constexpr std::string_view records_history_command = "loopsmith.db.history";
/// Two schedules of a program side by side, statement by statement: {uri, schedule, other} -> {title, text}.
inline constexpr std::string_view compare_schedules_command = "loopsmith.schedules.compare";
/// Splits the loop at a place by the given factors ({uri, version, position, factors}).
inline constexpr std::string_view split_command = "loopsmith.split";
/// Inserts the program that a schedule makes behind the schedule ({uri, schedule}).
inline constexpr std::string_view apply_schedule_command = "loopsmith.schedule.apply";
/// Switches hints about loops that are not vectorized on or off; returns {shown}.
inline constexpr std::string_view toggle_hints_command = "loopsmith.hints.toggle";
/// Writes a report of a fault, without names and texts of the file: {uri, position} -> {path, codes, ...}.
inline constexpr std::string_view report_bundle_command = "loopsmith.report.bundle";
/// Returns the command line of a REPL that reads the document from the editor, saved or not: {uri} -> {command, mirror}.
inline constexpr std::string_view attach_repl_command = "loopsmith.attachRepl";
/// Run by editors with the capability `experimental.loopsmithViews`: shows the view of a place ({uri, position}).
inline constexpr std::string_view show_view_command = "loopsmith.showIr";
/// Shows two states side by side ({from, to, title}, addresses of views), or the result of a command above ({uri, ...}).
inline constexpr std::string_view show_difference_command = "loopsmith.showDifference";
inline constexpr std::string_view show_history_command = "loopsmith.showHistory";
inline constexpr std::string_view show_comparison_command = "loopsmith.showComparison";

// Headers that front and worker put on frames, beside Content-Length. All values are numbers.
namespace header {
/// The number of a request that the worker answers; the answer has the same number.
inline constexpr std::string_view ticket = "Ticket";
/// Beside `Ticket`: the frame is a notification about that request, and not yet its answer.
inline constexpr std::string_view piece = "Piece";
/// The front's number of the open document that the frame is about.
inline constexpr std::string_view document = "Document";
/// The version of that document.
inline constexpr std::string_view version = "Version";
/// Front to worker: the document is closed.
inline constexpr std::string_view close = "Close";
/// Worker to front: work on the document begins (1) or ends (0). If the worker dies between the two, the front blames this document.
inline constexpr std::string_view working = "Working";
/// Beside `Working`: the ticket of the request that the work is for; 0: the text is analysed.
inline constexpr std::string_view blamed = "Blamed";
/// Worker to front: names and types of this version are checked, and the diagnostics have not changed.
inline constexpr std::string_view unchanged = "Unchanged";
/// Front to worker: cancel the request with this ticket. Then, in both directions: a sign of life; the worker adds how often its work polled.
inline constexpr std::string_view cancel = "Cancel";
inline constexpr std::string_view ping = "Ping";
/// Worker to front: views that the editor shows are out of date; the body lists their addresses.
inline constexpr std::string_view views = "Views";
/// Worker to front: the records of a program in an open document changed, so lenses must be requested again.
inline constexpr std::string_view records = "Records";
/// Worker to front: it is idle, after this number of frames (signs of life not counted).
inline constexpr std::string_view rest = "Rest";
}  // namespace header

}  // namespace loopsmith::lsp
