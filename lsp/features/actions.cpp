// The list of code actions at a place: see actions.h.
#include "lsp/features/actions.h"

#include <fmt/format.h>

#include <algorithm>

#include "lsp/features/scheduled_program.h"
#include "lsp/features/callers.h"
#include "lsp/features/block_schedule.h"
#include "lsp/features/decisions.h"
#include "lsp/features/reduction_repairs.h"
#include "lsp/features/factors.h"
#include "lsp/features/idle_steps.h"
#include "lsp/features/inlining.h"
#include "lsp/features/lenses.h"
#include "lsp/features/moves.h"
#include "lsp/features/rewrites.h"
#include "lsp/features/sizes.h"
#include "lsp/features/steps.h"
#include "lsp/features/tuning.h"
#include "lsp/features/loop_name_repairs.h"
#include "support/text.h"
#include "workspace/edits/migration.h"

namespace loopsmith::lsp {
namespace {

using workspace::Snapshot;

/// Collects the actions at one place.
struct ActionList {
  const Snapshot& snapshot;
  const Measured& measured;
  const ActionRequest& request;
  std::vector<CodeAction> actions = {};

  [[nodiscard]] auto wants(ActionKind kind) const -> bool { return request.kinds.contains(kind); }
  [[nodiscard]] auto is_here(const JobFacts& job) const -> bool { return job.uri == snapshot.name(); }
  void add_edits(const TextRewrite& rewrite, ActionKind kind = ActionKind::Rewrite) {
    if (!rewrite.edits.empty()) { actions.push_back({.title = rewrite.title, .kind = kind, .edits = rewrite.edits}); }
  }
  void add_command(std::string title, OfferedCommand command, bool is_preferred = false) {
    actions.push_back({.title = std::move(title), .command = std::move(command), .is_preferred = is_preferred});
  }
};

/// Rewrites whose edits are computed only for the chosen action. `offer` uses only the text and the last run of the schedule.
struct LazyRewrite {
  std::string_view name;
  ActionKind kind;
  auto (*offer)(const Snapshot& snapshot, uint32_t at) -> TextRewrite;
  bool tries_much = false;   // computing the edits runs schedules many times
  /// The title alone, where `offer` takes long; empty: the rewrite is not offered. Null: `offer` has it.
  auto (*title)(const Snapshot& snapshot, uint32_t at) -> std::string = nullptr;
  bool is_comment = false;   // the edits add comments, which break nothing
};

auto minimisable(const Snapshot& snapshot, uint32_t at) -> TextRewrite {
  const script::FileSchedule* schedule = schedule_at(snapshot, at);
  return {schedule != nullptr && schedule->run != nullptr ? fmt::format("Minimise `{}`", schedule->name.view()) : std::string(), {}, {}};
}

constexpr std::string_view minimise_rewrite = "minimise";
constexpr LazyRewrite lazy_rewrites[] = {
    {"inline", ActionKind::Inline, inline_helper},
    {"drop idle steps", ActionKind::Rewrite, drop_idle_steps},
    {"constants", ActionKind::Rewrite, decisions_as_constants},
    {"decisions", ActionKind::Rewrite, decisions_as_arguments},
    {"symbolic", ActionKind::Rewrite, factors_as_draws},
    {"block schedule", ActionKind::Rewrite, as_block_schedule, false, block_schedule_title},
    {minimise_rewrite, ActionKind::Rewrite, minimisable, true},
    {"explanation", ActionKind::Rewrite, explain_schedule, false, explanation_title, true},
};

void add_lazy_rewrites(ActionList& out) {
  for (const LazyRewrite& row : lazy_rewrites) {
    if (!out.wants(row.kind) || (row.tries_much && !out.request.can_resolve)) { continue; }
    if (row.title != nullptr && out.request.can_resolve) {
      std::string title = row.title(out.snapshot, out.request.span.begin);
      if (!title.empty()) { out.actions.push_back({.title = std::move(title), .kind = row.kind, .rewrite = row.name}); }
      continue;
    }
    TextRewrite rewrite = row.offer(out.snapshot, out.request.span.begin);
    if (rewrite.title.empty() || (rewrite.edits.empty() && rewrite.why_not.empty() && !row.tries_much)) { continue; }
    // The check runs schedules, so it happens only for the chosen action, if the editor requests its edits separately.
    if (rewrite.why_not.empty() && out.request.can_resolve) {
      out.actions.push_back({.title = rewrite.title, .kind = row.kind, .rewrite = row.name});
      continue;
    }
    if (rewrite.why_not.empty() && !row.is_comment) { rewrite.why_not = what_breaks(out.snapshot, rewrite.edits, out.request.cancel); }
    if (rewrite.why_not.empty()) {
      out.add_edits(rewrite, row.kind);
    } else if (out.request.shows_disabled) {
      out.actions.push_back({.title = rewrite.title, .kind = row.kind, .why_disabled = rewrite.why_not});
    }
  }
}

/// Repairs of the finding number `index`, and the finding as the expectation of a test.
void add_repairs(ActionList& out, const workspace::Finding& finding, size_t index) {
  if (out.wants(ActionKind::QuickFix)) {
    std::vector<TextRewrite> repairs = repairs_of(out.snapshot, finding);
    for (TextRewrite& repair : reduction_repairs(out.snapshot, finding, out.request.cancel)) { repairs.push_back(std::move(repair)); }
    for (TextRewrite& repair : loop_name_repairs(out.snapshot, finding, out.request.cancel)) { repairs.push_back(std::move(repair)); }
    for (TextRewrite& repair : repairs) {
      bool is_first = &repair == &repairs.front();
      out.actions.push_back({.title = repair.title, .kind = ActionKind::QuickFix, .edits = std::move(repair.edits), .is_preferred = is_first, .finding = index});
    }
    if (!finding.fixes.empty() && repairs.empty()) {
      std::vector<TextEdit> edits;
      for (const auto& fix : finding.fixes) { edits.push_back({fix.span, fix.replacement}); }
      std::string title = finding.remedies.empty() ? "Fix: " + finding.message : finding.remedies.front();
      out.actions.push_back({.title = std::move(title), .kind = ActionKind::QuickFix, .edits = std::move(edits), .finding = index});
    }
  }
  if (out.wants(ActionKind::Rewrite) && out.request.findings.contains(index)) {
    TextRewrite test = as_expectation(out.snapshot, finding);
    out.actions.push_back({.title = test.title, .edits = std::move(test.edits), .finding = index});
  }
}

/// Calls of primitives on the loop or block at the cursor: the first few legal ones, without calls that should make the program slower. A request for
/// rewrites alone gets all legal ones. An editor that shows disabled actions also gets the names of the rest, and refused calls with the reason.
void add_moves(ActionList& out, uint32_t focus) {
  constexpr std::ptrdiff_t most_shown = 10;
  const ActionRequest& request = out.request;
  bool shows_all = request.is_narrowed;
  std::vector<OfferedMove> moves = moves_offered(out.snapshot, focus, request.shows_disabled ? Refusals::All : Refusals::Usual, request.until);
  auto legal_end = std::find_if(moves.begin(), moves.end(), [](const OfferedMove& move) { return !move.why_not.empty(); });
  // A tile, which is several statements, is always among the first, whatever its estimate.
  auto tile = std::find_if(moves.begin(), legal_end, [](const OfferedMove& move) { return move.primitive == "tile"; });
  if (!shows_all && tile != legal_end && tile - moves.begin() >= most_shown) { std::rotate(moves.begin() + most_shown - 1, tile, tile + 1); }
  // Calls that the estimate considers slower are shown only in the loop view and for a request for rewrites alone.
  auto slower = std::find_if(moves.begin(), legal_end, [](const OfferedMove& move) { return move.gain < 1; });
  auto shown_end = shows_all ? legal_end : moves.begin() + std::min(most_shown, slower - moves.begin());
  for (auto move = moves.begin(); move != moves.end(); ++move) {
    if (move == shown_end && shown_end != legal_end) {
      std::vector<std::string_view> names;
      for (; move != legal_end; ++move) { names.push_back(move->primitive); }
      --move;
      // An editor without disabled actions cannot show the rest.
      if (request.shows_disabled) { out.actions.push_back({.title = fmt::format("{} more: {}", names.size(), fmt::join(names, ", ")), .why_disabled = "the loop view, and a request for `refactor.rewrite` alone, show all that can be done"}); }
    } else if (move->why_not.empty()) {
      out.actions.push_back({.title = title_of(*move), .edits = edits_of(*move)});
    } else if (request.shows_disabled) {
      out.actions.push_back({.title = title_of(*move), .why_disabled = move->why_not});
    }
  }
}

void add_split_question(ActionList& out, uint32_t focus) {
  auto question = out.request.asks_forms ? split_asked(out.snapshot, focus) : std::nullopt;
  if (!question) { return; }
  std::string title = question->extent > 0 ? fmt::format("Split `{}` ({}) by ...", question->loop, question->extent) : fmt::format("Split `{}` by ...", question->loop);
  out.add_command(title, {.kind = CommandKind::Split, .at = focus, .loop = question->loop, .extent = question->extent, .factors = question->factors});
}

auto recorded_best(const ActionList& out, std::string_view function) -> std::optional<RecordedBest> {
  auto best = out.measured.records != nullptr && !function.empty() ? out.measured.records->best(out.snapshot, function) : std::nullopt;
  return best && best->is_compared ? best : std::nullopt;
}

/// The only function in the program of a schedule; empty: the program has several functions, or is in an unknown file.
auto only_function_of(const Snapshot& snapshot, const script::FileSchedule& schedule) -> std::string {
  std::string function;
  for (const workspace::Program& program : snapshot.programs()) {
    if (program.decl != schedule.program_decl || !program.module || program.is_inside || program.module->functions.size() != 1) { continue; }
    function = is_function(snapshot, program) ? program.name.str() : program.module->functions.front().first.str();
  }
  return function;
}

/// Actions for the schedule around the cursor: to replace it by the best schedule found.
void add_schedule_rewrites(ActionList& out) {
  const script::FileSchedule* schedule = schedule_at(out.snapshot, out.request.span.begin);
  if (schedule == nullptr || schedule->run == nullptr) { return; }
  // Replacing the steps by those of an empty function shows whether a replacement is possible.
  if (replace_schedule(out.snapshot, *schedule, "def f(sch):\n    sch.trace\n").edits.empty()) { return; }
  std::string title = fmt::format("Replace `{}` with the best schedule", schedule->name.view());
  bool has_found = false;
  for (const auto& [id, job] : out.measured.jobs) {
    if (!job.tunes() || !out.is_here(job) || !job.is_done() || !is_for(out.snapshot, *schedule, job.function)) { continue; }
    has_found = true;
    out.add_command(title, {.kind = CommandKind::InsertSchedule, .job = id, .replaced = schedule->name.str()});
  }
  std::string function = only_function_of(out.snapshot, *schedule);
  if (auto best = has_found ? std::nullopt : recorded_best(out, function)) {
    title += fmt::format(" ({}, recorded)", duration_text(best->seconds));
    out.add_command(title, {.kind = CommandKind::InsertSchedule, .function = function, .replaced = schedule->name.str(), .is_recorded = true});
  }
}

/// Actions for the hole at the cursor: to search for its steps, to stop the search, to insert the steps.
void add_holes(ActionList& out) {
  for (const script::FileSchedule& schedule : out.snapshot.schedules()) {
    auto hole = hole_of(out.snapshot, schedule);
    if (!hole || hole->span.end < out.request.span.begin || hole->span.begin > out.request.span.end) { continue; }
    OfferedCommand command = hole_lens(out.snapshot, out.measured, schedule.name.str(), *hole).command;
    bool inserts = command.kind == CommandKind::InsertSchedule;
    std::string title = inserts ? "Fill in the best steps" : command.kind == CommandKind::StopTune ? "Stop tuning and keep the best" : "Tune this place in the background";
    out.add_command(std::move(title), std::move(command), inserts);
  }
}

struct MigrationRow { std::string_view name; Dialect dialect; };
constexpr MigrationRow migrations[] = {
    {"migrate to tensor", dialects::tensor}, {"migrate to ts", dialects::ts}, {"migrate to s_tir", dialects::s_tir}, {"migrate to sblock", dialects::sblock}, {"migrate to block", dialects::block}};

/// Offered on the head of a function, because migrations change the whole file, and only to editors that request the edits of the chosen action
/// separately: each migration analyses the file twice.
void add_migrations(ActionList& out) {
  if (!out.request.can_resolve) { return; }
  auto callable = callable_at(out.snapshot, out.request.span.begin);
  if (!callable || callable->name_span.begin > out.request.span.begin || out.request.span.begin > callable->name_span.end) { return; }
  const Dialect own = workspace::dialect_of_text(out.snapshot.syntax()).dialect;
  for (const MigrationRow& row : migrations) {
    if (row.dialect == own) { continue; }
    out.actions.push_back({.title = fmt::format("Migrate this file to TVM {}", dialects::versions_of(row.dialect)), .rewrite = row.name});
  }
}

auto stop_title(const JobFacts& job, const std::string& function) -> std::string {
  if (job.phase == JobPhase::Kept) { return fmt::format("Give up tuning {}, as an earlier session began it", function); }
  if (job.phase == JobPhase::ComparingStopped) { return fmt::format("Give up the comparison of the best of {} with the program", function); }
  return fmt::format("Stop tuning {} and keep the best", function);
}

/// Actions to begin, pause or stop a search for a program, or to insert its result.
void add_searches(ActionList& out, const std::string& function) {
  bool is_running = false;
  bool has_found = false;
  for (const auto& [id, job] : out.measured.jobs) {
    if (!job.tunes() || !out.is_here(job) || job.function != function) { continue; }
    if (job.is_done()) {
      has_found = true;
      out.add_command("Insert best schedule", {.kind = CommandKind::InsertSchedule, .job = id}, true);
      continue;
    }
    is_running = true;
    out.add_command(stop_title(job, function), {.kind = CommandKind::StopTune, .job = id});
    if (job.phase == JobPhase::ComparingStopped) { continue; }
    out.add_command(fmt::format("{} tuning {}", job.is_paused() ? "Resume" : "Pause", function), {.kind = job.is_paused() ? CommandKind::ResumeTune : CommandKind::PauseTune, .job = id});
  }
  if (!is_running) { out.add_command(fmt::format("Tune {} in the background", function), {.kind = CommandKind::Tune, .function = function, .sizes = open_sizes(out.snapshot, function)}); }
  if (auto best = is_running || has_found ? std::nullopt : recorded_best(out, function)) {
    out.add_command(fmt::format("Insert best schedule ({}, recorded)", duration_text(best->seconds)), {.kind = CommandKind::InsertSchedule, .function = function, .is_recorded = true});
  }
}

/// Actions to interpret the program or schedule at the cursor: the whole program, or only the block at the cursor.
void add_interpretations(ActionList& out) {
  auto add = [&](const std::string& function, const std::string& schedule, const std::string& block = {}) {
    std::string whole = schedule.empty() ? function : schedule;
    std::string subject = block.empty() ? whole : fmt::format("block `{}` of {}", block, whole);
    out.add_command(fmt::format("Interpret {} on random inputs, every access checked", subject), {.kind = CommandKind::Interpret, .function = function, .schedule = schedule, .block = block, .sizes = open_sizes(out.snapshot, function)});
  };
  std::vector<Tunable> programs = tunables_in(out.snapshot, out.request.span);
  std::string block = block_meant(out.snapshot, out.request.span.begin);
  for (const Tunable& program : programs) { add(program.name, ""); }
  for (const Tunable& program : block.empty() ? std::vector<Tunable>() : programs) { add(program.name, "", block); }
  const script::FileSchedule* schedule = schedule_at(out.snapshot, out.request.span.begin);
  if (schedule == nullptr || schedule->run == nullptr || !schedule->run->is_complete || schedule->program_name.empty()) { return; }
  add(schedule->program_name.str(), schedule->name.str());
  if (!block.empty()) { add(schedule->program_name.str(), schedule->name.str(), block); }
}

}  // namespace

auto code_actions(const Snapshot& snapshot, const Measured& measured, const ActionRequest& request) -> std::vector<CodeAction> {
  ActionList out{snapshot, measured, request};
  const std::vector<workspace::Finding> findings = snapshot.findings();
  for (size_t i = 0; i < findings.size(); ++i) {
    if (findings[i].span.end >= request.span.begin && findings[i].span.begin <= request.span.end) { add_repairs(out, findings[i], i); }
  }
  if (out.wants(ActionKind::Extract)) { out.add_edits(extract_steps(snapshot, request.span), ActionKind::Extract); }
  if (!out.wants(ActionKind::Rewrite)) {
    add_lazy_rewrites(out);
    return std::move(out.actions);
  }
  const uint32_t focus = focus_of_selection(snapshot, request.span);
  add_moves(out, focus);
  for (const TextRewrite& rewrite : other_factors_offered(snapshot, request.span.begin, request.cancel)) { out.add_edits(rewrite); }
  add_split_question(out, focus);
  add_lazy_rewrites(out);
  add_schedule_rewrites(out);
  add_holes(out);
  add_migrations(out);
  for (const Tunable& program : tunables_in(snapshot, request.span)) { add_searches(out, program.name); }
  add_interpretations(out);
  return std::move(out.actions);
}

auto resolve_rewrite(const Snapshot& snapshot, uint32_t at, std::string_view rewrite, const CancelToken& cancel) -> std::optional<TextRewrite> {
  for (const MigrationRow& migration : migrations) {
    if (migration.name == rewrite) { return migration_to(snapshot, migration.dialect); }
  }
  const auto* row = std::find_if(std::begin(lazy_rewrites), std::end(lazy_rewrites), [&](const LazyRewrite& one) { return one.name == rewrite; });
  if (row == std::end(lazy_rewrites)) { return std::nullopt; }
  bool minimises = rewrite == minimise_rewrite;
  TextRewrite found = minimises ? minimise_schedule(snapshot, at, Removed::Steps, cancel) : row->offer(snapshot, at);
  // The search for the smallest schedule has already tried the edits that it returns.
  if (minimises) {
    found.why_not.clear();
  } else if (found.why_not.empty() && !row->is_comment) {
    found.why_not = what_breaks(snapshot, found.edits, cancel);
  }
  // Without a reason, an action without edits would look broken.
  if (found.why_not.empty() && found.edits.empty()) { found.why_not = minimises ? "every step is needed" : "there is nothing to change"; }
  return found;
}

}  // namespace loopsmith::lsp
