// Where a move goes in the text, and how things are called there: see moves.h.
#include "lsp/features/moves.h"

#include <algorithm>

#include <fmt/format.h>

#include "lsp/features/names.h"
#include "lsp/features/steps.h"
#include "lsp/features/tuning.h"
#include "schedule/moves.h"

namespace loopsmith::lsp {
namespace {

using workspace::Snapshot;

/// A state of a schedule, and what the script calls things in it.
struct Stand {
  schedule::Schedule schedule;
  std::vector<std::pair<std::string, NodeId>> names;   // of variables, the last binding of each
  uint32_t offset = 0;
  std::vector<Name> taken;                             // names that the function binds, anywhere
  std::string before;                                  // what the statement is inserted between
  std::string after;
};

void collect_names(const script::ScheduleRun& run, size_t end, const schedule::Schedule& state, Stand& stand) {
  for (size_t i = 0; i < end; ++i) {
    for (const auto& named : run.steps[i].named) {
      std::erase_if(stand.names, [&](const auto& one) { return one.first == named.name.view(); });
      const schedule::Place* place = nullptr;
      if (const auto* loop = named.variable.as<schedule::LoopRV>()) {
        if (auto found = state.get(*loop); found.ok()) { place = *found; }
      } else if (const auto* block = named.variable.as<schedule::BlockRV>()) {
        if (auto found = state.get(*block); found.ok()) { place = *found; }
      }
      if (place != nullptr) { stand.names.emplace_back(named.name.str(), place->id); }
    }
  }
}

auto indent_of(const Snapshot& snapshot, uint32_t offset) -> std::string {
  std::string_view line = snapshot.lines().line_text(snapshot.text(), snapshot.lines().line_of(offset));
  return std::string(line.substr(0, std::min(line.find_first_not_of(" \t"), line.size())));
}

/// All names of a function, and those of the file it may mean.
auto names_bound_by(const Snapshot& snapshot, DeclId function) -> std::vector<Name> {
  std::vector<Name> names;
  for (const Entity& entity : names_of(snapshot).entities) {
    if (entity.function == function || entity.function == 0) { names.push_back(entity.name); }
  }
  return names;
}

/// After step `index` of a schedule.
auto stand_after(const Snapshot& snapshot, const script::ScheduleRun& run, size_t index) -> std::optional<Stand> {
  if (index >= run.steps.size() || run.steps[index].after == nullptr) { return std::nullopt; }
  auto span = snapshot.resolve(run.steps[index].where);
  if (!span) { return std::nullopt; }
  // A comment behind the statement stays with it.
  uint32_t end = span->end;
  const std::string& text = snapshot.text();
  size_t next = text.find_first_not_of(" \t", end);
  if (next != std::string::npos && text[next] == '#') { end = static_cast<uint32_t>(std::min(text.find_first_of("\r\n", next), text.size())); }
  Stand stand{*run.steps[index].after, {}, end, names_bound_by(snapshot, run.decl), "\n" + indent_of(snapshot, span->begin), ""};
  collect_names(run, index + 1, stand.schedule, stand);
  return stand;
}

// What is said even where it is not possible: what people look for first.
constexpr std::string_view always_told[] = {"parallel", "vectorize", "unroll"};
constexpr size_t most_offered = 14;

auto offer(const Stand& stand, const schedule::FuncState& func, const schedule::Place& focus) -> std::vector<OfferedMove> {
  auto name_of = [&](const schedule::Place& place) -> std::string {
    for (auto one = stand.names.rbegin(); one != stand.names.rend(); ++one) {
      if (one->second == place.id) { return one->first; }
    }
    return {};
  };
  auto is_taken = [&](std::string_view name) { return std::find(stand.taken.begin(), stand.taken.end(), name) != stand.taken.end(); };
  std::vector<OfferedMove> legal;
  std::vector<OfferedMove> others;
  for (const schedule::Primitive* row : schedule::all_primitives()) {
    if (row->is_pure || row->is_sampling || legal.size() >= most_offered) { continue; }
    bool is_told = std::find(std::begin(always_told), std::end(always_told), row->name) != std::end(always_told);
    std::optional<OfferedMove> refused;
    bool is_found = false;
    for (const schedule::Move& move : schedule::candidate_moves(stand.schedule.state(), func, focus, *row)) {
      Status status = schedule::judge(stand.schedule.state(), func, move);
      std::string text = schedule::text_of(func, move, name_of);
      if (!status.ok()) {
        if (!refused && is_told) { refused = OfferedMove{text, status.diagnostics().front().message(), stand.offset, {}}; }
        continue;
      }
      // Judged legal and then refused would be a fault of ours; it is not offered.
      auto tried = schedule::try_move(stand.schedule, move, name_of, is_taken);
      if (!tried.ok()) { continue; }
      legal.push_back({tried->statement, {}, stand.offset, stand.before + tried->statement + stand.after});
      is_found = true;
      break;
    }
    if (!is_found && refused) { others.push_back(std::move(*refused)); }
  }
  legal.insert(legal.end(), others.begin(), others.end());
  return legal;
}

/// In a schedule: the variable under the cursor.
auto offered_in_schedule(const Snapshot& snapshot, const script::FileSchedule& schedule, uint32_t at) -> std::vector<OfferedMove> {
  if (schedule.run == nullptr || !schedule.is_settled) { return {}; }
  const script::ScheduleRun& run = *schedule.run;
  NameTable names = names_of(snapshot);
  const Occurrence* here = names.at(at);
  size_t index = step_at(run, snapshot.syntax().origin_at(at).begin);
  if (here == nullptr || index == no_step) { return {}; }
  auto stand = stand_after(snapshot, run, index);
  if (!stand) { return {}; }
  for (const auto& [name, id] : stand->names) {
    if (name != names.entities[here->entity].name.view()) { continue; }
    auto found = stand->schedule.state().find(id);
    if (found) { return offer(*stand, *found.func, *found.place); }
  }
  return {};
}

auto matches(const Origin& a, const Origin& b) -> bool { return a.decl == b.decl && a.begin == b.begin && a.end == b.end; }

/// In a program: the loop or block whose head the cursor is in.
auto offered_in_program(const Snapshot& snapshot, uint32_t at) -> std::vector<OfferedMove> {
  Origin cursor = snapshot.syntax().origin_at(at);
  syntax::ItemPtr item = snapshot.syntax().declaration(cursor.decl);
  if (!item) { return {}; }
  const syntax::Stmt* statement = nullptr;
  Name name;
  for (const syntax::Stmt* top : item->statements) {
    syntax::walk(*top, [&](const syntax::Node& node) {
      if (node.decl != cursor.decl || cursor.begin < node.span.begin || cursor.begin > node.span.end) { return false; }
      if (const auto* loop = node.as<syntax::ForStmt>(); loop != nullptr && cursor.begin <= loop->header_span.end) { statement = loop; }
      if (const auto* with = node.as<syntax::WithStmt>(); with != nullptr && cursor.begin <= with->header_span.end) { statement = with; }
      if (const auto* word = node.as<syntax::NameExpr>()) { name = word->name; }
      return true;
    });
  }
  if (statement == nullptr) { return {}; }
  const workspace::Program* program = nullptr;
  for (const workspace::Program& one : snapshot.programs()) {
    if (!one.module || one.is_inside) { continue; }
    if (one.decl == cursor.decl) { program = &one; }
    for (const auto& [function, body] : one.module->functions) {
      if (body->origin.decl == cursor.decl) { program = &one; }
    }
  }
  if (program == nullptr) { return {}; }
  // The last schedule for it that runs to its end; else a new one.
  std::optional<Stand> stand;
  bool has_schedule = false;
  for (const script::FileSchedule& schedule : snapshot.schedules()) {
    if (schedule.program_decl != program->decl) { continue; }
    has_schedule = true;
    stand.reset();
    if (schedule.run == nullptr || !schedule.is_settled || !schedule.run->is_complete || schedule.run->steps.empty()) { continue; }
    stand = stand_after(snapshot, *schedule.run, schedule.run->steps.size() - 1);
  }
  if (has_schedule && !stand) { return {}; }
  if (!stand) {
    std::string mark = "\x01";
    std::string text = fmt::format("@ls.schedule({0})\ndef {0}_schedule(sch: tir.Schedule) -> None:\n    {1}\n", program->name.view(), mark);
    auto insertion = insertion_after(snapshot, program->name.view(), text);
    if (!insertion) { return {}; }
    size_t hole = insertion->text.find(mark);
    if (hole == std::string::npos) { return {}; }
    stand = Stand{schedule::Schedule(program->module), {}, insertion->offset, {Name("sch")}, insertion->text.substr(0, hole), insertion->text.substr(hole + mark.size())};
  }
  const schedule::FuncState* func = stand->schedule.state().func(stand->schedule.func_working_on());
  if (func == nullptr) { return {}; }
  const schedule::Place* focus = nullptr;
  for (const schedule::Place& place : func->places()) {
    bool is_there = place.is_loop() ? matches(place.loop->origin, statement->origin()) : matches(place.block()->origin, statement->origin());
    if (!is_there) { continue; }
    // The block, or the loop of that name; else the innermost that came of it by splits (`k_0`, `k_1`). A cache's loops come of the
    // same statement and are another matter.
    bool is_part = place.is_loop() && place.name().view().starts_with(name.str() + "_");
    bool is_it = place.is_block() || place.name() == name;
    if (is_it || (is_part && (focus == nullptr || !(focus->name() == name)))) { focus = &place; }
  }
  return focus != nullptr ? offer(*stand, *func, *focus) : std::vector<OfferedMove>();
}

}  // namespace

auto moves_offered(const Snapshot& snapshot, uint32_t at) -> std::vector<OfferedMove> {
  if (at >= snapshot.text().size()) { return {}; }
  if (const script::FileSchedule* schedule = schedule_at(snapshot, at)) { return offered_in_schedule(snapshot, *schedule, at); }
  return offered_in_program(snapshot, at);
}

}  // namespace loopsmith::lsp
