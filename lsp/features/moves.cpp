// The place and the text of an offered call: see moves.h.
#include "lsp/features/moves.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "cost/estimate.h"
#include "ir/ops.h"
#include "lsp/features/names.h"
#include "lsp/features/insertion_point.h"
#include "lsp/features/stage_steps.h"
#include "lsp/features/steps.h"
#include "lsp/features/tiling.h"
#include "schedule/moves.h"

namespace loopsmith::lsp {
namespace {

using workspace::Snapshot;

/// The primitives that `Refusals::Usual` lists.
constexpr std::string_view usually_shown[] = {"parallel", "vectorize", "unroll"};

struct Asked {
  Refusals refusals = Refusals::Usual;
  Deadline until = never();
};

auto offer(const InsertionPoint& point, const schedule::FuncState& func, const schedule::Place& focus, const Asked& asked) -> std::vector<OfferedMove> {
  auto name_of = [&](const schedule::Place& place) { return point.name_of(place); };
  auto is_taken = [&](std::string_view name) { return point.is_taken(name); };
  const cost::CoreModel core = cost::core_for(point.target);
  std::vector<OfferedMove> legal;
  std::vector<OfferedMove> others;
  auto put = [&](OfferedMove move) {
    auto place = std::upper_bound(legal.begin(), legal.end(), move.gain, [](double g, const OfferedMove& other) { return g > other.gain; });
    legal.insert(place, std::move(move));
  };
  // Tiling is judged first, because it usually gains most and the time is limited.
  std::optional<OfferedMove> tiling = tiling_offered(point, func, focus, asked.until);
  size_t not_judged = 0;
  for (const schedule::Primitive* row : schedule::all_primitives()) {
    if (row->is_pure || row->is_sampling) { continue; }
    if (Clock::now() >= asked.until) {
      ++not_judged;
      continue;
    }
    bool is_shown = asked.refusals == Refusals::All || std::find(std::begin(usually_shown), std::end(usually_shown), row->name) != std::end(usually_shown);
    std::optional<OfferedMove> refused;
    bool is_found = false;
    for (const schedule::Move& move : schedule::candidate_moves(point.schedule.state(), func, focus, *row)) {
      Status status = schedule::judge(point.schedule.state(), func, move);
      if (!status.ok()) {
        if (!refused && is_shown) { refused = OfferedMove{point.in_words(schedule::text_of(func, move, name_of)), status.diagnostics().front().message(), 1, point.offset, {}}; }
        continue;
      }
      if (!schedule::is_worth_offering(func, move, core.is_device)) { continue; }
      // A call that was judged legal and fails when tried shows a bug of ours; it is not offered.
      auto tried = schedule::try_move(point.schedule, move, name_of, is_taken);
      if (!tried.ok()) { continue; }
      const schedule::FuncState* after = tried->after.state().func(func.name());
      double gain = after != nullptr ? cost::gain(func, *after, core).value_or(1) : 1;
      if (cost::gain_text(gain).empty()) { gain = 1; }
      std::string statement = point.in_words(tried->statement);
      put({statement, {}, gain, point.offset, point.before + statement + point.after, point.imports, {}, row->name});
      is_found = true;
      break;
    }
    if (!is_found && refused) { others.push_back(std::move(*refused)); }
  }
  if (tiling && tiling->why_not.empty()) {
    put(std::move(*tiling));
  } else if (tiling && asked.refusals == Refusals::All) {
    others.push_back(std::move(*tiling));
  }
  legal.insert(legal.end(), std::make_move_iterator(others.begin()), std::make_move_iterator(others.end()));
  if (not_judged > 0 && asked.refusals == Refusals::All) {
    legal.push_back({fmt::format("{} more primitives", not_judged), "the program is large, and there was no time to judge them: the loop view takes its time", 1, point.offset, {}});
  }
  return legal;
}

/// A loop or block at the cursor, and the place for a statement about it.
struct Focus { InsertionPoint point; NodeId id = 0; };

/// In a schedule: the loop or block of the variable at the cursor.
auto focus_in_schedule(const Snapshot& snapshot, const script::FileSchedule& schedule, uint32_t at) -> std::optional<Focus> {
  if (schedule.run == nullptr || !schedule.is_settled()) { return std::nullopt; }
  const script::ScheduleRun& run = *schedule.run;
  NameTable names = names_of(snapshot);
  const Occurrence* here = names.at(at);
  size_t index = step_at(run, snapshot.syntax().origin_at(at).begin);
  if (here == nullptr || index == no_step) { return std::nullopt; }
  auto point = point_after(snapshot, schedule, index);
  if (!point) { return std::nullopt; }
  for (const auto& [name, id] : point->names) {
    if (name == names.entities[here->entity].name.view()) { return Focus{std::move(*point), id}; }
  }
  return std::nullopt;
}

auto matches(const Origin& a, const Origin& b) -> bool { return a.decl == b.decl && a.begin == b.begin && a.end == b.end; }

/// The name in `with T.block("C")`; empty: the statement is not a block, or the block has no name.
auto block_named(const syntax::Stmt& statement) -> std::string {
  const auto* with = statement.as<syntax::WithStmt>();
  const auto* call = with != nullptr && !with->items.empty() ? with->items.front().context->as<syntax::CallExpr>() : nullptr;
  const auto* name = call != nullptr && !call->args.empty() ? call->args.front()->as<syntax::StringExpr>() : nullptr;
  return name != nullptr ? std::string(name->value) : std::string();
}

/// In a program: the loop or block with the cursor in its head.
auto focus_in_program(const Snapshot& snapshot, uint32_t at) -> std::optional<Focus> {
  Origin cursor = snapshot.syntax().origin_at(at);
  syntax::ItemPtr item = snapshot.syntax().declaration(cursor.decl);
  if (!item) { return std::nullopt; }
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
  if (statement == nullptr) { return std::nullopt; }
  auto point = point_for_program(snapshot, cursor);
  if (!point) { return std::nullopt; }
  const schedule::FuncState* func = point->func();
  if (func == nullptr) { return std::nullopt; }
  // Several blocks may come from this one: `decompose_reduction` leaves the update block, and caches copy the block.
  std::string block = block_named(*statement);
  auto rank = [&](const schedule::Place& place) { return place.name().view() == block ? 2 : place.name().view() == block + "_update" ? 1 : 0; };
  const schedule::Place* focus = nullptr;
  for (const schedule::Place& place : func->places()) {
    bool is_there = place.is_loop() ? matches(place.loop->origin, statement->origin()) : matches(place.block()->origin, statement->origin());
    if (!is_there) { continue; }
    // The block, or the loop with the name at the cursor; else the innermost loop that splits made of it (`k_0`, `k_1`). Loops of a cache
    // have the same origin, but are not meant.
    bool is_part = place.is_loop() && place.name().view().starts_with(name.str() + "_");
    bool is_it = place.is_block() ? focus == nullptr || rank(place) >= rank(*focus) : place.name() == name;
    if (is_it || (is_part && (focus == nullptr || !(focus->name() == name)))) { focus = &place; }
  }
  if (focus == nullptr) { return std::nullopt; }
  NodeId id = focus->id;
  return Focus{std::move(*point), id};
}

auto focus_at(const Snapshot& snapshot, uint32_t at) -> std::optional<Focus> {
  if (at >= snapshot.text().size()) { return std::nullopt; }
  const script::FileSchedule* schedule = schedule_at(snapshot, at);
  return schedule != nullptr ? focus_in_schedule(snapshot, *schedule, at) : focus_in_program(snapshot, at);
}

/// The script's variable for a loop, or else the loop's name in the program.
auto called(const Focus& focus, const schedule::Place& place) -> std::string {
  std::string name = focus.point.name_of(place);
  return name.empty() ? place.name().str() : name;
}

}  // namespace

auto title_of(const OfferedMove& move) -> std::string {
  std::string gain = cost::gain_text(move.gain);
  const std::string& what = move.title.empty() ? move.text : move.title;
  std::string title = gain.empty() ? what : what + "  (" + gain + ")";
  return move.breaks.empty() ? title : title + "  (breaks a later step: " + move.breaks + ")";
}

void note_broken_step(const Snapshot& snapshot, OfferedMove& move) {
  constexpr size_t longest = 65536;
  const std::string& text = snapshot.text();
  if (!move.why_not.empty() || text.size() > longest) { return; }
  // If the next text is not indented, or there is none, the function ends here: no later step can break.
  size_t next = text.find_first_not_of(" \t\r\n", move.offset);
  if (next == std::string::npos || next == 0 || text[next - 1] == '\n') { return; }
  move.breaks = workspace::error_after(snapshot, edits_of(move), {});
}

auto moves_offered(const Snapshot& snapshot, uint32_t at, Refusals refusals, Deadline until) -> std::vector<OfferedMove> {
  if (is_of_stages(snapshot, at)) { return stage_steps_offered(snapshot, at, until); }
  auto focus = focus_at(snapshot, at);
  auto found = focus ? focus->point.schedule.state().find(focus->id) : schedule::State::Found{};
  return found ? offer(focus->point, *found.func, *found.place, {refusals, until}) : std::vector<OfferedMove>();
}

auto focus_of_selection(const Snapshot& snapshot, Span selected) -> uint32_t {
  const std::string& text = snapshot.text();
  uint32_t at = selected.begin;
  while (at < selected.end && at < text.size() && (text[at] == ' ' || text[at] == '\t' || text[at] == '\r' || text[at] == '\n')) { ++at; }
  if (at >= text.size() || schedule_at(snapshot, at) != nullptr) { return at; }
  Origin cursor = snapshot.syntax().origin_at(at);
  syntax::ItemPtr item = snapshot.syntax().declaration(cursor.decl);
  if (!item) { return at; }
  const syntax::ForStmt* loop = nullptr;
  for (const syntax::Stmt* top : item->statements) {
    syntax::walk(*top, [&](const syntax::Node& node) {
      if (node.decl != cursor.decl || cursor.begin < node.span.begin || cursor.begin > node.span.end) { return false; }
      if (const auto* one = node.as<syntax::ForStmt>(); one != nullptr && cursor.begin <= one->header_span.end) { loop = one; }
      return true;
    });
  }
  if (loop == nullptr) { return at; }
  uint32_t to_text = at - cursor.begin;
  std::optional<uint32_t> chosen;
  uint32_t innermost = at;
  syntax::walk(*loop->target, [&](const syntax::Node& node) {
    if (node.as<syntax::NameExpr>() == nullptr) { return true; }
    innermost = node.span.begin + to_text;
    bool is_selected = selected.begin == selected.end ? node.span.begin <= cursor.begin && cursor.begin <= node.span.end
                                                      : innermost < selected.end && node.span.end + to_text > selected.begin;
    if (is_selected) { chosen = innermost; }
    return true;
  });
  return chosen.value_or(innermost);
}

auto block_meant(const Snapshot& snapshot, uint32_t at) -> std::string {
  if (at < snapshot.text().size() && schedule_at(snapshot, at) == nullptr) {
    // Read the block from the text: a schedule may have replaced it.
    std::string_view line = snapshot.lines().line_text(snapshot.text(), snapshot.lines().line_of(at));
    size_t head = line.find("block(\"");
    size_t end = head == std::string_view::npos ? head : line.find('"', head + 7);
    bool is_with = line.find("with ") < head;
    return end == std::string_view::npos || !is_with ? std::string() : std::string(line.substr(head + 7, end - head - 7));
  }
  auto focus = focus_at(snapshot, at);
  auto found = focus ? focus->point.schedule.state().find(focus->id) : schedule::State::Found{};
  return found && found.place->is_block() ? found.place->name().str() : std::string();
}

auto split_asked(const Snapshot& snapshot, uint32_t at) -> std::optional<SplitQuestion> {
  auto focus = focus_at(snapshot, at);
  auto found = focus ? focus->point.schedule.state().find(focus->id) : schedule::State::Found{};
  if (!found || !found.place->is_loop()) { return std::nullopt; }
  auto extent = as_int(found.place->loop->extent);
  const schedule::Primitive* row = schedule::find_primitive("split");
  std::vector<schedule::Move> moves = schedule::candidate_moves(focus->point.schedule.state(), *found.func, *found.place, *row);
  bool is_legal = std::any_of(moves.begin(), moves.end(), [&](const schedule::Move& move) { return schedule::judge(focus->point.schedule.state(), *found.func, move).ok(); });
  if (!is_legal || (extent && *extent < 2)) { return std::nullopt; }
  SplitQuestion question{called(*focus, *found.place), extent.value_or(0), "None, 8"};
  // Propose a factor that divides the extent.
  for (int64_t factor : {32, 16, 8, 4, 2}) {
    if (extent && *extent > factor && *extent % factor == 0) {
      question.factors = fmt::format("None, {}", factor);
      break;
    }
  }
  return question;
}

auto split_by(const Snapshot& snapshot, uint32_t at, const std::vector<std::optional<int64_t>>& factors) -> OfferedMove {
  OfferedMove out;
  auto focus = focus_at(snapshot, at);
  auto found = focus ? focus->point.schedule.state().find(focus->id) : schedule::State::Found{};
  if (!found || !found.place->is_loop()) {
    out.why_not = "there is no loop at the cursor";
    return out;
  }
  schedule::Value::List list;
  for (const auto& factor : factors) { list.push_back(factor ? schedule::Value(*factor) : schedule::Value()); }
  const schedule::Primitive* row = schedule::find_primitive("split");
  auto matched = schedule::match_arguments(*row, {.positional = {schedule::Choice::loop(*found.place), schedule::Value(std::move(list))}, .keyword = {}}, {});
  auto name_of = [&](const schedule::Place& place) { return focus->point.name_of(place); };
  auto tried = matched.ok() ? schedule::try_move(focus->point.schedule, {row, std::move(matched->values)}, name_of, [&](std::string_view name) { return focus->point.is_taken(name); })
                            : Result<schedule::Tried>(matched.diagnostics());
  if (!tried.ok()) {
    out.why_not = tried.diagnostics().front().message();
    return out;
  }
  out.text = focus->point.in_words(tried->statement);
  out.offset = focus->point.offset;
  out.insert = focus->point.before + out.text + focus->point.after;
  out.imports = focus->point.imports;
  return out;
}

auto moves_offered_on(const Snapshot& snapshot, uint32_t at, size_t place) -> std::vector<OfferedMove> {
  auto point = point_at(snapshot, at);
  const schedule::FuncState* func = point ? point->func() : nullptr;
  if (func == nullptr || place >= func->places().size()) { return {}; }
  return offer(*point, *func, func->places()[place], {});
}

auto parse_factors(std::string_view text) -> std::optional<std::vector<std::optional<int64_t>>> {
  std::vector<std::optional<int64_t>> factors;
  while (true) {
    size_t comma = std::min(text.find(','), text.size());
    std::string_view one = text.substr(0, comma);
    while (!one.empty() && one.front() == ' ') { one.remove_prefix(1); }
    while (!one.empty() && one.back() == ' ') { one.remove_suffix(1); }
    int64_t number = 0;
    auto [end, problem] = std::from_chars(one.data(), one.data() + one.size(), number);
    bool is_number = problem == std::errc() && end == one.data() + one.size() && number > 0;
    if (!is_number && one != "None") { return std::nullopt; }
    factors.push_back(is_number ? std::optional(number) : std::nullopt);
    if (comma == text.size()) { break; }
    text.remove_prefix(comma + 1);
  }
  if (factors.size() == 1) { factors.insert(factors.begin(), std::nullopt); }
  return factors;
}

auto edits_of(const OfferedMove& move) -> std::vector<TextEdit> {
  std::vector<TextEdit> edits;
  if (move.imports) { edits.push_back(*move.imports); }
  edits.push_back({{move.offset, move.offset}, move.insert});
  return edits;
}

}  // namespace loopsmith::lsp
