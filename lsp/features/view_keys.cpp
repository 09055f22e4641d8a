// From a place in the printed program to the node printed there: see view_keys.h.
#include "lsp/features/view_keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "cost/estimate.h"
#include "ir/ops.h"
#include "lsp/features/insertion_point.h"
#include "lsp/features/steps.h"
#include "lsp/features/view_origins.h"
#include "lsp/features/views.h"
#include "schedule/moves.h"
#include "support/text.h"
#include "target/target.h"

namespace loopsmith::lsp {
namespace {

using workspace::Snapshot;

auto offset_in(const View& view, uint32_t line, uint32_t column) -> size_t {
  size_t at = 0;
  for (; line > 0; --line) {
    size_t end = view.text.find('\n', at);
    if (end == std::string::npos) { return view.text.size(); }
    at = end + 1;
  }
  return std::min(at + column, std::min(view.text.find('\n', at), view.text.size()));
}

/// The innermost loop or block at a place. In a head that several loops share, the loop whose variable is at the place, or else the outermost.
auto place_at(const View& view, size_t at) -> const PrintedRange* {
  size_t line = at == 0 ? 0 : view.text.rfind('\n', at - 1) + 1;
  // The indentation of a line belongs to its statement.
  at = std::max(at, std::min(view.text.find_first_not_of(' ', line), view.text.size()));
  size_t end_of_line = std::min(view.text.find('\n', line), view.text.size());
  const PrintedRange* found = nullptr;
  for (const PrintedRange& place : view.places) {
    if (place.begin > at || place.end < at) { continue; }
    if (place.name_begin <= at && at <= place.name_end) { return &place; }
    bool is_on_head = place.name_begin >= line && place.name_begin <= end_of_line;
    bool shares_head = found != nullptr && found->begin == place.begin && found->end == place.end;
    if (!shares_head || !is_on_head) { found = &place; }
  }
  return found;
}

auto about_of(const schedule::Place& place) -> std::string {
  if (place.is_block()) { return fmt::format("block `{}`", place.name().view()); }
  auto extent = as_int(place.loop->extent);
  return fmt::format("loop `{}`{}", place.name().view(), extent ? fmt::format(", extent {}", grouped(*extent)) : "");
}

auto is_of_blocks(std::string_view primitive) -> bool { return primitive == "compute_at" || primitive == "reverse_compute_at"; }

/// The loop or block for a primitive at a place: the block inside a loop, or the loop around a block.
auto focus_of(const schedule::FuncState& func, const schedule::Place& place, std::string_view primitive) -> const schedule::Place* {
  if (!is_of_blocks(primitive)) {
    const schedule::Place* at = &place;
    while (at != nullptr && at->is_block()) { at = func.parent(*at); }
    return at;
  }
  if (place.is_block()) { return &place; }
  const schedule::Place* only = nullptr;
  for (int i = place.index + 1; i < place.end; ++i) {
    const schedule::Place& below = func.places()[static_cast<size_t>(i)];
    if (!below.is_block()) { continue; }
    if (only != nullptr) { return nullptr; }
    only = &below;
  }
  return only;
}

/// Proposed factors: the largest usual tile that divides the extent.
auto usual_factors(const schedule::Place& loop) -> std::string {
  auto extent = as_int(loop.loop->extent);
  for (int64_t factor : {32, 16, 8, 4, 2}) {
    if (extent && *extent > factor && *extent % factor == 0) { return fmt::format("None, {}", factor); }
  }
  return "None, 8";
}

}  // namespace

auto printed_at(const View& view, uint32_t line, uint32_t column) -> const PrintedRange* { return place_at(view, offset_in(view, line, column)); }

auto name_in(const View& view, const PrintedRange& place) -> ViewSpan {
  std::string_view before = std::string_view(view.text).substr(0, place.name_begin);
  size_t start = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  auto line = static_cast<uint32_t>(std::count(before.begin(), before.end(), '\n'));
  return {line, place.name_begin - static_cast<uint32_t>(start), place.name_end - static_cast<uint32_t>(start)};
}

auto moves_in_view(const Snapshot& snapshot, uint32_t at, uint32_t line, uint32_t column, std::string_view primitive, const std::vector<std::optional<int64_t>>& factors) -> ViewMoves {
  ViewMoves out;
  auto refuse = [&](std::string why) {
    out.why_none = std::move(why);
    return out;
  };
  auto view = view_at(snapshot, at);
  auto point = point_at(snapshot, at);
  const schedule::FuncState* func = point ? point->func() : nullptr;
  if (!view || func == nullptr || !func->is_schedulable()) { return refuse("no schedule can be written for this view"); }
  const PrintedRange* printed = place_at(*view, offset_in(*view, line, column));
  if (printed == nullptr) { return refuse("there is no loop or block at the cursor"); }
  const schedule::Place* place = func->find(printed->id);
  if (place == nullptr) { return refuse("this loop or block no longer exists at the end of the schedule, or is in another function; put the cursor on a statement of the schedule"); }
  const schedule::Place* focus = focus_of(*func, *place, primitive);
  if (focus == nullptr) {
    return refuse(is_of_blocks(primitive) ? fmt::format("several blocks are in loop `{}`; put the cursor on one of them", place->name().view()) : "there is no loop at the cursor");
  }
  out.about = about_of(*focus);
  if (primitive == "split") { out.factors = usual_factors(*focus); }

  auto name_of = [&](const schedule::Place& one) { return point->name_of(one); };
  auto is_taken = [&](std::string_view name) { return point->is_taken(name); };
  const cost::CoreModel core = cost::core_for(point->target);
  std::vector<ViewMove> refused;
  auto add = [&](const schedule::Move& move) {
    ViewMove one;
    for (const schedule::Value& value : move.values) {
      // In a candidate move, the loop variable with number N refers to place N.
      const auto* loop = value.as<schedule::LoopRV>();
      if (loop == nullptr || loop->var >= func->places().size()) { continue; }
      NodeId id = func->places()[loop->var].id;
      auto shown = std::find_if(view->places.begin(), view->places.end(), [&](const PrintedRange& range) { return range.id == id; });
      if (id != focus->id && is_of_blocks(primitive) && shown != view->places.end()) { one.other = name_in(*view, *shown); }
    }
    one.move.offset = point->offset;
    auto tried = schedule::try_move(point->schedule, move, name_of, is_taken);
    if (!tried.ok()) {
      one.move.text = point->in_words(schedule::text_of(*func, move, name_of));
      one.move.why_not = tried.diagnostics().front().message();
      refused.push_back(std::move(one));
      return;
    }
    const schedule::FuncState* after = tried->after.state().func(func->name());
    one.move.gain = after != nullptr ? cost::gain(*func, *after, core).value_or(1) : 1;
    if (cost::gain_text(one.move.gain).empty()) { one.move.gain = 1; }
    one.move.text = point->in_words(tried->statement);
    one.move.insert = point->before + one.move.text + point->after;
    one.move.imports = point->imports;
    bool is_listed = std::any_of(out.moves.begin(), out.moves.end(), [&](const ViewMove& other) { return other.move.text == one.move.text; });
    if (is_listed) { return; }
    auto better = std::upper_bound(out.moves.begin(), out.moves.end(), one.move.gain, [](double gain, const ViewMove& other) { return gain > other.move.gain; });
    out.moves.insert(better, std::move(one));
  };
  std::vector<std::string_view> names = {primitive};
  if (primitive == "compute_at") { names.push_back("reverse_compute_at"); }
  for (std::string_view name : names) {
    const schedule::Primitive* row = schedule::find_primitive(name);
    if (row == nullptr || row->is_pure || row->is_sampling) { return refuse(fmt::format("`{}` is not a primitive that changes a program", name)); }
    if (name == "split" && !factors.empty()) {
      schedule::Value::List list;
      for (const auto& factor : factors) { list.push_back(factor ? schedule::Value(*factor) : schedule::Value()); }
      auto matched = schedule::match_arguments(*row, {.positional = {schedule::Choice::loop(*focus), schedule::Value(std::move(list))}, .keyword = {}}, {});
      if (!matched.ok()) { return refuse(matched.diagnostics().front().message()); }
      add({row, std::move(matched->values)});
      continue;
    }
    for (const schedule::Move& move : schedule::candidate_moves(point->schedule.state(), *func, *focus, *row)) { add(move); }
  }
  if (out.moves.empty()) {
    out.why_none = refused.empty() ? fmt::format("`{}` cannot be tried on {}", primitive, out.about) : refused.front().move.why_not;
  }
  out.moves.insert(out.moves.end(), std::make_move_iterator(refused.begin()), std::make_move_iterator(refused.end()));
  return out;
}

auto hover_in_view(const Snapshot& snapshot, uint32_t at, uint32_t line, uint32_t column, const Machine& machine) -> std::optional<ViewHover> {
  auto view = view_at(snapshot, at);
  if (!view) { return std::nullopt; }
  size_t offset = offset_in(*view, line, column);
  const PrintedRange* place = place_at(*view, offset);
  std::vector<IRModule> modules;
  if (const script::FileSchedule* schedule = schedule_at(snapshot, on_statement(snapshot, at)); schedule != nullptr) {
    auto point = point_at(snapshot, at);
    if (point) { modules.push_back(point->schedule.module()); } else if (schedule->program) { modules.push_back(schedule->program); }
  } else {
    for (const workspace::Program& program : snapshot.programs()) {
      if (program.module) { modules.push_back(program.module); }
    }
  }
  size_t begin = name_begin(view->text, offset);
  size_t end = name_end(view->text, offset);
  std::string word = view->text.substr(begin, end - begin);
  for (const IRModule& module : modules) {
    for (const auto& [name, function] : module->functions) {
      auto info = place != nullptr ? hover_place(function, place->id, machine) : std::nullopt;
      // A word belongs to the function whose loops are around it; outside loops, to the function that has a buffer with this name.
      bool is_here = place == nullptr || info.has_value();
      bool is_on_name = place != nullptr && place->name_begin <= offset && offset <= place->name_end;
      if (auto buffer = is_here && !word.empty() && !is_on_name ? hover_buffer(function, Name(word)) : std::nullopt) {
        return ViewHover{std::move(*buffer), {line, column - static_cast<uint32_t>(offset - begin), column + static_cast<uint32_t>(end - offset)}};
      }
      if (!info) { continue; }
      if (view->schedule != nullptr) {
        for (size_t step : makers_of(*view->schedule->run, view->reached, place->id)) { info->facts.push_back({"made", made_in(snapshot, view->schedule->run->steps[step].where)}); }
      }
      return ViewHover{std::move(*info), name_in(*view, *place)};
    }
  }
  return std::nullopt;
}

}  // namespace loopsmith::lsp
