// What fits a place, and in which order: see completion.h.
#include "lsp/features/completion.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <tuple>

#include "cost/estimate.h"
#include "eval/evaluator.h"
#include "frontend/lower.h"
#include "frontend/words.h"
#include "ir/ops.h"
#include "ir/printer.h"
#include "ir/script_diff.h"
#include "lsp/features/calls.h"
#include "lsp/features/names.h"
#include "lsp/features/steps.h"
#include "lsp/features/tuning.h"
#include "lsp/features/words.h"
#include "schedule/candidates.h"
#include "schedule/intrinsics.h"
#include "schedule/legality.h"
#include "schedule/primitive.h"
#include "script/schedules.h"
#include "support/cancel_scope.h"
#include "syntax/schedule_form.h"

namespace loopsmith::lsp {
namespace {

using workspace::Snapshot;

// ---- the place -----------------------------------------------------------------------------------------------------

/// A cursor in a declaration, and the schedule it is in.
struct Spot {
  const Snapshot& snapshot;
  uint32_t at = 0;
  CursorText text;
  const syntax::PlacedItem* item = nullptr;       // the declaration; null: none
  uint32_t base = 0;                              // its first byte
  std::shared_ptr<const syntax::FunctionDef> function = nullptr;  // around the cursor
  const script::FileSchedule* schedule = nullptr;
  const script::ScheduleRun* run = nullptr;       // its newest, which may have been cut short
  std::string schedule_name;                      // "sch"
  const schedule::Schedule* state = nullptr;      // before the statement at the cursor; null: no step was taken
  std::shared_ptr<const schedule::Schedule> now = nullptr;  // the same, and of the plain program before the first step; null: not known
  IRModule program;                               // before the first step
  size_t steps = 0;                               // taken before it
  std::shared_ptr<const script::Partway> inside = nullptr;   // further, into the statement that the cursor is inside of; null: it is in none
  Patience patience = {};
  mutable bool is_cut_short = false;              // something was not judged for lack of time

  [[nodiscard]] auto is_late() const -> bool { return patience.cancel.is_cancelled() || (patience.until != never() && Clock::now() > patience.until); }
};

/// The function of a schedule, with the text from its first byte on.
auto function_of(const script::FileSchedule& schedule, std::string_view text) -> script::ScheduleFunction {
  auto def = syntax::function_of(schedule.item);
  script::ScheduleFunction function = script::as_schedule_function(*def, def, text, schedule.form);
  function.others = schedule.others;
  function.contexts = syntax::contexts_of(schedule.item);
  return function;
}

/// The schedule inside statement `index` of a function, before the one at the cursor. Null: it is not known. What was found is remembered while the text
/// in front of the cursor's line, or of the part of it that may be a statement, stays.
auto inside_of(const Spot& spot, const script::ScheduleFunction& function, size_t index, uint32_t place) -> std::shared_ptr<const script::Partway> {
  const script::ScheduleRun& run = *spot.run;
  uint32_t begin = function.def->body[index]->span.begin;
  bool has_run = index < run.steps.size() && run.steps[index].where.begin == begin && std::string_view(run.text).substr(0, begin) == function.text.substr(0, begin);
  if (!has_run) { return nullptr; }
  size_t end = function.text.substr(0, place).find_last_of("\n:;");
  end = std::max<size_t>(end == std::string_view::npos ? 0 : end + 1, begin);
  // How far it is indented says what the cursor's line is in, and a blank that a statement has ended.
  size_t word = std::min<size_t>(function.text.find_first_not_of(" \t", end), place);
  if (place > 0 && place <= function.text.size() && function.text[place - 1] == ' ') { word = place; }
  std::string what = fmt::format("{} {} {} {}", run.context, spot.schedule->number, run.target, function.text.substr(0, std::max(end, word)));
  JudgedState* known = spot.patience.judged;
  if (known != nullptr && known->inside != nullptr && known->inside_of == what && known->inside_program.same_as(run.program)) { return known->inside; }
  bool is_late = false;
  auto found = script::partway({.function = function, .run = run, .index = index, .at = place, .stop = [&] { return is_late = is_late || spot.is_late(); }, .cancel = spot.patience.cancel});
  spot.is_cut_short = spot.is_cut_short || is_late;
  auto inside = found ? std::make_shared<const script::Partway>(std::move(*found)) : nullptr;
  if (known != nullptr && !is_late && !spot.patience.cancel.is_cancelled()) {
    known->inside_of = std::move(what);
    known->inside_program = run.program;
    known->inside = inside;
  }
  return inside;
}

auto find_spot(const Snapshot& snapshot, uint32_t at, const Patience& patience = {}) -> Spot {
  Spot spot{.snapshot = snapshot, .at = std::min(at, static_cast<uint32_t>(snapshot.text().size())), .text = {}, .schedule_name = {}, .program = {}, .patience = patience};
  // Blank space below a declaration belongs to it, where one is being written.
  const syntax::PlacedItem* placed = snapshot.syntax().item_at(spot.at);
  uint32_t line_start = snapshot.lines().line_start(snapshot.text(), snapshot.lines().line_of(spot.at));
  bool is_indented = line_start < snapshot.text().size() && snapshot.text()[line_start] == ' ';
  if (placed == nullptr && is_indented) {
    for (const syntax::PlacedItem& item : snapshot.syntax().items()) {
      if (item.offset <= spot.at) { placed = &item; }
    }
  }
  if (placed == nullptr) {
    spot.base = line_start;
    spot.text = cursor_text(std::string_view(snapshot.text()).substr(spot.base), spot.at - spot.base);
    spot.text.prefix_begin += spot.base;
    return spot;
  }
  uint32_t inside = std::min(spot.at, placed->end());
  Origin origin = snapshot.syntax().origin_at(inside);
  DeclId decl = snapshot.syntax().whole(origin.decl != 0 ? origin.decl : placed->item->decl);
  spot.item = placed;
  spot.base = placed->offset;
  spot.text = cursor_text(std::string_view(snapshot.text()).substr(spot.base), spot.at - spot.base);
  spot.text.prefix_begin += spot.base;
  spot.function = syntax::function_of(snapshot.syntax().declaration(decl));
  for (const script::FileSchedule& schedule : snapshot.schedules()) {
    if (schedule.decl == decl) { spot.schedule = &schedule; }
  }
  if (spot.schedule != nullptr && !spot.schedule->others.empty()) {
    if (const script::FileSchedule* about = schedule_at(snapshot, on_statement(snapshot, spot.at)); about != nullptr && about->decl == decl) { spot.schedule = about; }
  }
  std::optional<syntax::ScheduleForm> form = spot.schedule != nullptr && spot.function != nullptr ? std::optional(spot.schedule->form) : std::nullopt;
  if (form) {
    spot.schedule_name = form->variable.str();
    spot.program = spot.schedule->program;
    spot.run = spot.schedule->interrupted ? spot.schedule->interrupted.get() : spot.schedule->run.get();
    bool is_known = true;
    if (const script::ScheduleRun* run = spot.run) {
      // Steps whose statement ends before the one at the cursor.
      uint32_t begin = snapshot.syntax().resolve({decl, 0, 0, 0}).value_or(Span{spot.base, spot.base}).begin;
      uint32_t place = spot.at - begin;
      script::ScheduleFunction function = function_of(*spot.schedule, std::string_view(snapshot.text()).substr(begin));
      std::optional<size_t> around = script::statement_around(function, place);
      for (size_t i = 0; i < std::min(run->steps.size(), around.value_or(SIZE_MAX)) && run->steps[i].where.end < place; ++i) {
        if (run->steps[i].after == nullptr) { break; }
        spot.state = run->steps[i].after.get();
        spot.steps = i + 1;
      }
      if (around) {
        spot.inside = inside_of(spot, function, *around, place);
        is_known = spot.inside != nullptr;
        spot.state = is_known ? spot.inside->schedule.get() : nullptr;
        if (!is_known) { spot.steps = 0; }
      }
    }
    JudgedState* judged = patience.judged;
    if (spot.inside != nullptr) {
      spot.now = spot.inside->schedule;
    } else if (spot.state != nullptr) {
      spot.now = spot.run->steps[spot.steps - 1].after;
    } else if (spot.program && is_known) {
      bool is_judged = judged != nullptr && judged->program && judged->program.same_as(spot.program);
      spot.now = is_judged ? judged->state : std::make_shared<const schedule::Schedule>(spot.program);
    }
    if (judged != nullptr && judged->state != spot.now) {
      judged->state = spot.now;
      judged->program = spot.state == nullptr ? spot.program : IRModule();
      judged->found.clear();
      judged->best.clear();
    }
  }
  if (spot.schedule_name.empty() && spot.function != nullptr) { spot.schedule_name = syntax::schedule_parameter(*spot.function).str(); }
  return spot;
}

// ---- the state of a schedule -----------------------------------------------------------------------------------------

struct LiveVariable {
  std::string name;
  const schedule::Place* place = nullptr;   // null: a number
  int64_t number = 0;
};

/// The loop or block of a variable; null: it is gone, or a number.
auto place_of(const schedule::Schedule& state, const schedule::Value& variable) -> const schedule::Place* {
  if (const auto* loop = variable.as<schedule::LoopRV>()) {
    auto place = state.get(*loop);
    return place.ok() ? *place : nullptr;
  }
  if (const auto* block = variable.as<schedule::BlockRV>()) {
    auto place = state.get(*block);
    return place.ok() ? *place : nullptr;
  }
  return nullptr;
}

auto live_variables(const Spot& spot) -> std::vector<LiveVariable> {
  std::vector<LiveVariable> live;
  if (spot.state == nullptr) { return live; }
  auto forget = [&](const std::string& name) {
    std::erase_if(live, [&](const LiveVariable& other) { return other.name == name || other.name.starts_with(name + "["); });
  };
  auto set = [&](const LiveVariable& variable) {
    forget(variable.name);
    live.push_back(variable);
  };
  auto add = [&](Name name, const schedule::Value& value) {
    LiveVariable variable{.name = name.str()};
    if (const auto* list = value.as<schedule::Value::List>()) {
      forget(variable.name);
      for (size_t item = 0; item < list->size(); ++item) {
        if (const schedule::Place* place = place_of(*spot.state, (*list)[item])) { live.push_back({fmt::format("{}[{}]", name.view(), item), place}); }
      }
      return;
    }
    if (const auto* number = value.as<schedule::ExprRV>()) {
      auto known = spot.state->get(*number);
      if (!known.ok()) { return; }
      variable.number = *known;
      set(variable);
      return;
    }
    variable.place = place_of(*spot.state, value);
    if (variable.place != nullptr) { set(variable); } else { forget(variable.name); }
  };
  for (size_t i = 0; i < spot.steps; ++i) {
    for (const auto& named : spot.run->steps[i].named) { add(named.name, named.variable); }
  }
  if (spot.inside != nullptr) {
    for (const auto& named : spot.inside->named) { add(named.name, named.variable); }
  }
  return live;
}

/// Items of lists whose loops and blocks have no names of their own: the others are listed by those.
void leave_out_named_items(std::vector<LiveVariable>& live) {
  std::vector<NodeId> named;
  for (const LiveVariable& one : live) {
    if (one.place != nullptr && !one.name.ends_with(']')) { named.push_back(one.place->id); }
  }
  std::erase_if(live, [&](const LiveVariable& one) { return one.name.ends_with(']') && std::find(named.begin(), named.end(), one.place->id) != named.end(); });
}

auto names_for(const std::vector<LiveVariable>& live) -> schedule::NameOfPlace {
  return [&live](const schedule::Place& place) -> std::string {
    // A name of its own rather than an item of a list.
    std::string item;
    for (auto variable = live.rbegin(); variable != live.rend(); ++variable) {
      if (variable->place == nullptr || variable->place->id != place.id) { continue; }
      if (!variable->name.ends_with(']')) { return variable->name; }
      if (item.empty()) { item = variable->name; }
    }
    return item;
  };
}

auto describe(const schedule::Place& place) -> std::string {
  if (!place.is_loop()) { return fmt::format("block `{}`", place.name().view()); }
  const For& loop = *place.loop;
  const char* kind = loop.for_kind == ForKind::Parallel ? "parallel " : loop.for_kind == ForKind::Vectorized ? "vectorized "
                     : loop.for_kind == ForKind::Unrolled ? "unrolled " : loop.for_kind == ForKind::ThreadBinding ? "bound " : "";
  return fmt::format("{}loop `{}`, extent {}", kind, loop.var->name.view(), print_script(loop.extent));
}

auto block_names(const Spot& spot) -> std::vector<std::string> {
  std::vector<std::string> names;
  auto add = [&](const schedule::State& state, Name func) {
    const schedule::FuncState* places = state.func(func);
    if (places == nullptr) { return; }
    for (const schedule::Place& place : places->places()) {
      if (place.is_block() && place.parent >= 0) { names.push_back(place.name().str()); }
    }
  };
  if (spot.now != nullptr) { add(spot.now->state(), spot.now->func_working_on()); }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

auto function_names(const Spot& spot) -> std::vector<Name> {
  std::vector<Name> names;
  IRModule module = spot.now != nullptr ? spot.now->module() : spot.program;
  if (!module) { return names; }
  for (const auto& [name, function] : module->functions) { names.push_back(name); }
  return names;
}

/// The parameter that an argument of a call is for; null: none.
auto parameter_at(const schedule::Primitive& row, const CallContext& call) -> const schedule::Param* {
  for (const schedule::Param& param : row.params) {
    if (!call.keyword.empty() && param.name == call.keyword) { return &param; }
  }
  if (!call.keyword.empty()) { return nullptr; }
  for (size_t i = 0; i < row.params.size(); ++i) {
    if (i == call.argument || (row.params[i].is_variadic && call.argument >= i)) { return &row.params[i]; }
  }
  return nullptr;
}

auto row_called(const Spot& spot) -> const schedule::Primitive* {
  if (!spot.text.call || spot.schedule_name.empty()) { return nullptr; }
  const std::string& callee = spot.text.call->callee;
  size_t dot = callee.rfind('.');
  if (dot == std::string::npos || callee.substr(0, dot) != spot.schedule_name) { return nullptr; }
  return schedule::find_primitive(std::string_view(callee).substr(dot + 1));
}

/// Loops and blocks of the program that the script has no name for, as it would look them up.
auto unnamed_places(const Spot& spot, const std::vector<LiveVariable>& live) -> std::vector<std::pair<std::string, const schedule::Place*>> {
  // A list of more is not read; each is judged besides.
  constexpr size_t most = 40;
  std::vector<std::pair<std::string, const schedule::Place*>> out;
  const schedule::FuncState* func = spot.now != nullptr ? spot.now->state().func(spot.now->func_working_on()) : nullptr;
  if (func == nullptr || !func->is_schedulable()) { return out; }
  auto name_of = names_for(live);
  for (const schedule::Place& place : func->places()) {
    if (place.parent < 0 || !name_of(place).empty()) { continue; }
    out.emplace_back(schedule::in_words_of(schedule::place_text(*func, place, name_of), spot.schedule_name), &place);
    if (out.size() == most || spot.is_late()) { break; }
  }
  return out;
}

/// Where an argument, or an item of a list, ends.
auto end_of_item(std::string_view text, size_t from) -> size_t {
  int depth = 0;
  char quote = 0;
  bool is_lambda = text.substr(from).starts_with("lambda");
  size_t i = from;
  for (; i < text.size(); ++i) {
    char c = text[i];
    if (quote != 0) { quote = c == quote ? '\0' : quote; continue; }
    if (c == '"' || c == '\'') { quote = c; }
    if (c == '(' || c == '[' || c == '{') { ++depth; }
    if (c == ')' || c == ']' || c == '}') { --depth; }
    // What stands in front of it names the parameters.
    if (c == ':' && depth == 0) { is_lambda = false; }
    if (c == ',' && depth == 0 && !is_lambda) { break; }
  }
  return i;
}

/// An argument that is written: a variable's place, or a constant; none: anything else.
auto written_value(const Spot& spot, const std::vector<LiveVariable>& live, const schedule::Param& param, std::string_view text) -> std::optional<schedule::Value> {
  for (const LiveVariable& variable : live) {
    if (variable.name != text) { continue; }
    if (variable.place == nullptr) { return schedule::Value(variable.number); }
    return variable.place->is_block() ? schedule::Choice::block(*variable.place) : schedule::Choice::loop(*variable.place);
  }
  if (text.size() >= 2 && (text.front() == '"' || text.front() == '\'') && text.back() == text.front()) {
    std::string_view name = text.substr(1, text.size() - 2);
    bool names_block = param.kind == schedule::ValueKind::Block || param.kind == schedule::ValueKind::BlockOrLoop;
    for (const schedule::Place& place : spot.now->state().func(spot.now->func_working_on())->places()) {
      if (names_block && place.is_block() && place.parent >= 0 && place.name() == name) { return schedule::Choice::block(place); }
    }
    return names_block ? std::nullopt : std::optional(schedule::Value(std::string(name)));
  }
  bool is_list = text.size() >= 2 && ((text.front() == '[' && text.back() == ']') || (text.front() == '(' && text.back() == ')'));
  if (is_list) {
    std::string_view items = text.substr(1, text.size() - 2);
    schedule::Value::List list;
    for (size_t begin = 0; begin < items.size();) {
      size_t end = end_of_item(items, begin);
      std::string_view item = items.substr(begin, end - begin);
      item = item.substr(std::min(item.find_first_not_of(' '), item.size()));
      auto value = written_value(spot, live, param, item.substr(0, item.find_last_not_of(' ') + 1));
      if (!value) { return std::nullopt; }
      list.push_back(std::move(*value));
      begin = end + 1;
    }
    return schedule::Value(std::move(list));
  }
  if (text.find('(') != std::string_view::npos) {
    for (const auto& [written, place] : unnamed_places(spot, live)) {
      if (written == text) { return place->is_block() ? schedule::Choice::block(*place) : schedule::Choice::loop(*place); }
    }
  }
  if (text == "None") { return schedule::Value(); }
  if (text == "True" || text == "False") { return schedule::Value(text == "True"); }
  if (!text.empty() && text.size() < 10 && text.find_first_not_of("0123456789") == std::string_view::npos) { return schedule::Value(int64_t{std::stol(std::string(text))}); }
  return std::nullopt;
}

/// What is written for a parameter among the arguments before the cursor; empty: nothing is.
auto argument_for(const CallContext& call, const schedule::Primitive& row, size_t param) -> std::string {
  std::string named = std::string(row.params[param].name) + "=";
  for (size_t i = 0; i < call.arguments.size(); ++i) {
    const std::string& text = call.arguments[i];
    if (text.starts_with(named)) { return text.substr(std::min(text.find_first_not_of(' ', named.size()), text.size())); }
    size_t equals = text.find('=');
    bool is_named = equals != std::string::npos && std::all_of(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(equals), [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c >= 0x80; });
    if (i == param && !is_named) { return text; }
  }
  return {};
}

/// A buffer that is named (`"A"`), as the block before it counts it. Other values, and names that it has not: as they are.
auto with_buffer_found(const Spot& spot, const std::vector<schedule::Value>& before, const schedule::Param& param, schedule::Value value) -> schedule::Value {
  const auto* name = value.as<std::string>();
  bool is_buffer = param.kind == schedule::ValueKind::Buffer;
  if (name == nullptr || (param.index_of.empty() && !is_buffer)) { return value; }
  const schedule::FuncState& func = *spot.now->state().func(spot.now->func_working_on());
  for (const schedule::Value& one : before) {
    const schedule::Place* place = schedule::Choice{spot.now->state(), func, func.root(), {}}.place(one);
    if (place == nullptr || !place->is_block()) { continue; }
    for (bool is_write : {false, true}) {
      if (!is_buffer && is_write != (param.index_of == "write")) { continue; }
      const auto& regions = is_write ? place->block()->writes : place->block()->reads;
      for (size_t i = 0; i < regions.size(); ++i) {
        if (regions[i].buffer->name.view() != *name) { continue; }
        schedule::Value index(static_cast<int64_t>(i));
        return is_buffer ? schedule::Value(schedule::Value::List{is_write ? "write" : "read", std::move(index)}) : index;
      }
    }
  }
  return value;
}

/// The arguments for the parameters before one. None: one is not known, or nothing is known here.
auto values_before(const Spot& spot, const std::vector<LiveVariable>& live, const schedule::Primitive& row, size_t param) -> std::optional<std::vector<schedule::Value>> {
  if (spot.now == nullptr || spot.now->state().func(spot.now->func_working_on()) == nullptr) { return std::nullopt; }
  std::vector<schedule::Value> values;
  for (size_t i = 0; i < param; ++i) {
    std::string text = argument_for(*spot.text.call, row, i);
    auto value = text.empty() ? row.params[i].otherwise : written_value(spot, live, row.params[i], text);
    if (!value) { return std::nullopt; }
    values.push_back(with_buffer_found(spot, values, row.params[i], std::move(*value)));
  }
  return values;
}

/// The block that the first argument is.
auto block_of_argument(const Spot& spot, const std::vector<LiveVariable>& live, const schedule::Primitive& row) -> const Block* {
  for (size_t i = 0; i < row.params.size(); ++i) {
    if (row.params[i].kind != schedule::ValueKind::Block && row.params[i].kind != schedule::ValueKind::BlockOrLoop) { continue; }
    auto before = values_before(spot, live, row, i + 1);
    if (!before) { return nullptr; }
    const schedule::FuncState& func = *spot.now->state().func(spot.now->func_working_on());
    const schedule::Place* place = schedule::Choice{spot.now->state(), func, func.root(), {}}.place(before->back());
    return place != nullptr && place->is_block() ? place->block() : nullptr;
  }
  return nullptr;
}

/// What was judged of this state before, or is now. Cut short, it is judged again with the next key.
template <typename Judge>
auto remembered(const Spot& spot, const std::string& question, const Judge& judge) -> schedule::Legality {
  JudgedState* known = spot.patience.judged;
  if (known != nullptr) {
    if (auto found = known->found.find(question); found != known->found.end()) { return found->second; }
  }
  if (spot.is_late()) {
    spot.is_cut_short = true;
    return {};
  }
  bool is_stopped = false;
  schedule::Legality legality = judge([&] { return is_stopped = is_stopped || spot.is_late(); });
  if (is_stopped || spot.patience.cancel.is_cancelled()) {
    spot.is_cut_short = true;
    return {};
  }
  if (known != nullptr) { known->found.emplace(question, legality); }
  return legality;
}

/// Could a loop or block be the argument at the cursor, with those before it?
auto argument_legality(const Spot& spot, const std::vector<LiveVariable>& live, const schedule::Primitive& row, const schedule::Param& param,
                       const schedule::Place& place) -> schedule::Legality {
  if (row.is_pure || row.is_sampling || spot.now == nullptr || spot.now->state().func(spot.now->func_working_on()) == nullptr) { return {}; }
  const CallContext& call = *spot.text.call;
  auto at = static_cast<size_t>(&param - row.params.data());
  schedule::Value here = place.is_block() ? schedule::Choice::block(place) : schedule::Choice::loop(place);
  std::vector<std::optional<schedule::Value>> first;
  auto judged = [&] {
    std::string question = fmt::format("{}({},{}:{}", row.name, fmt::join(call.arguments, ","), param.name, place.index);
    return remembered(spot, question, [&](const schedule::Stop& stop) { return schedule::legality_with(*spot.now, row, first, stop); });
  };
  if (param.is_list) {
    // Loops one by one: those before and this one are judged as the whole list.
    if (at != 0 || !param.is_variadic || call.arguments.empty()) { return {}; }
    schedule::Value::List list;
    for (const std::string& argument : call.arguments) {
      auto value = written_value(spot, live, param, argument);
      if (!value) { return {}; }
      list.push_back(std::move(*value));
    }
    list.push_back(here);
    first.emplace_back(schedule::Value(std::move(list)));
    return judged();
  }
  auto before = values_before(spot, live, row, at);
  if (!before) { return {}; }
  first.assign(before->begin(), before->end());
  first.emplace_back(std::move(here));
  return judged();
}

auto extent_of_argument(const Spot& spot, const std::vector<LiveVariable>& live) -> std::optional<int64_t> {
  if (spot.text.call->arguments.empty()) { return std::nullopt; }
  std::string first = spot.text.call->arguments.front();
  if (first.starts_with("loop=")) { first = first.substr(5); }
  for (const LiveVariable& variable : live) {
    if (variable.name == first && variable.place != nullptr && variable.place->is_loop()) { return as_int(variable.place->loop->extent); }
  }
  return std::nullopt;
}

/// What the factors at the other places of the list leave of an extent; none: they do not divide it, or are no numbers.
auto extent_left(const Spot& spot, int64_t extent) -> std::optional<int64_t> {
  std::vector<std::string> others = spot.text.call->list_items;
  std::string_view behind = std::string_view(spot.snapshot.text()).substr(spot.at);
  behind = behind.substr(0, std::min(behind.find_first_of("]\n"), behind.size()));
  for (size_t comma = behind.find(','); comma != std::string_view::npos; comma = behind.find(',', comma + 1)) {
    std::string_view item = behind.substr(comma + 1);
    item = item.substr(0, item.find(','));
    item = item.substr(std::min(item.find_first_not_of(' '), item.size()));
    others.emplace_back(item.substr(0, item.find_last_not_of(' ') + 1));
  }
  for (const std::string& other : others) {
    if (other.empty() || other == "None") { continue; }
    bool is_number = other.size() < 10 && other.find_first_not_of("0123456789") == std::string::npos;
    int64_t factor = is_number ? std::stol(other) : 0;
    if (factor <= 0 || extent % factor != 0) { return std::nullopt; }
    extent /= factor;
  }
  return extent;
}

auto divisors(int64_t number) -> std::vector<int64_t> {
  std::vector<int64_t> found;
  for (int64_t d = 1; d <= number && d <= 4096; ++d) {
    if (number % d == 0) { found.push_back(d); }
  }
  return found;
}

constexpr int refused_argument_rank = 60;

// ---- items -----------------------------------------------------------------------------------------------------------

constexpr std::string_view dtypes[] = {"float32", "float16", "bfloat16", "float64", "int8", "uint8", "int32", "int64", "int16", "uint16", "uint32", "uint64",
                                       "bool", "handle", "float8_e4m3fn", "float8_e5m2", "int4", "uint1"};
constexpr std::string_view scopes[] = {"global", "shared", "local", "shared.dyn", "warp", "wmma.matrix_a", "wmma.matrix_b", "wmma.accumulator"};
constexpr std::string_view threads[] = {"blockIdx.x", "blockIdx.y", "blockIdx.z", "threadIdx.x", "threadIdx.y", "threadIdx.z", "vthread.x", "vthread.y", "vthread.z"};

constexpr std::string_view accesses[] = {"read", "write"};
constexpr std::string_view targets[] = {"llvm", "cuda", "rocm", "c", "llvm -mcpu=native", "llvm -num-cores=1"};

struct Items {
  const Spot& spot;
  std::vector<CompletionItem> list;
  void add(CompletionItem item) {
    if (std::string_view(item.label).starts_with(spot.text.prefix) || std::string_view(item.found_by).starts_with(spot.text.prefix)) { list.push_back(std::move(item)); }
  }
  template <size_t N>
  void values(const std::string_view (&all)[N], const char* detail) {
    for (size_t i = 0; i < N; ++i) { add({std::string(all[i]), CompletionKind::Value, detail, {}, {}, false, static_cast<int>(i)}); }
  }
  void words(frontend::Vocabulary vocabulary, const char* detail, int rank) {
    for (Name word : frontend::known_words(vocabulary)) { add({word.str(), CompletionKind::Value, detail, {}, {}, false, rank++}); }
  }
};

/// Tensor intrinsics by name: those that compute what the block or loop does, then the others with the reason.
void add_intrinsics(Items& items, const std::vector<LiveVariable>& live) {
  constexpr size_t most_judged = 200;
  const Spot& spot = items.spot;
  std::vector<Name> names;
  if (spot.now != nullptr && spot.now->intrinsics() != nullptr) {
    for (const schedule::TensorIntrin& one : *spot.now->intrinsics()) { names.push_back(one.name); }
  }
  if (const schedule::IntrinsicTable* table = schedule::builtin_intrinsics()) {
    for (Name name : table->names()) { names.push_back(name); }
  }
  const schedule::Primitive* row = schedule::find_primitive("tensorize");
  auto before = row != nullptr ? values_before(spot, live, *row, 1) : std::nullopt;
  auto first = before ? std::optional(before->front()) : std::nullopt;
  for (size_t i = 0; i < names.size(); ++i) {
    CompletionItem item{names[i].str(), CompletionKind::Value, "tensor intrinsic", {}, {}, false, 100};
    if (first && i < most_judged) {
      std::vector<std::optional<schedule::Value>> values = {first, schedule::Value(names[i].str())};
      schedule::Legality legality = remembered(spot, fmt::format("tensorize({},{}", spot.text.call->arguments.front(), names[i].view()),
                                               [&](const schedule::Stop& stop) { return schedule::legality_with(*spot.now, *row, values, stop); });
      if (legality.verdict == schedule::Legality::Verdict::Legal) { item.rank = 0; }
      if (legality.verdict == schedule::Legality::Verdict::Refused) {
        item.rank = 200;
        item.detail = legality.why_not;
        item.note = "not here";
      }
    }
    items.add(std::move(item));
  }
}

/// A value that may be the argument at the cursor.
struct Offered {
  std::string text;            // as it is written
  std::string about;           // "buffer `A`"; may be empty
  schedule::Legality legality;
};

/// What a number or a pair stands for: `1` the buffer `A` that the block reads, `[1, 0]` iter vars. Empty: itself.
auto about_value(const schedule::Value& value, const schedule::Param& param, const Block* block, const std::vector<schedule::Value>& before) -> std::string {
  if (block == nullptr) { return {}; }
  auto buffer = [&](bool is_write, const int64_t* index) {
    const auto& regions = is_write ? block->writes : block->reads;
    bool is_there = index != nullptr && *index >= 0 && static_cast<size_t>(*index) < regions.size();
    return is_there ? fmt::format("buffer `{}`", regions[static_cast<size_t>(*index)].buffer->name.view()) : std::string();
  };
  if (!param.index_of.empty()) { return buffer(param.index_of == "write", value.integer()); }
  const auto* list = value.as<schedule::Value::List>();
  if (param.kind == schedule::ValueKind::Buffer && list != nullptr && list->size() == 2) { return buffer((*list)[0] == schedule::Value("write"), (*list)[1].integer()); }
  if (param.name == "buffer_index" && before.size() == 1) { return buffer(false, value.integer()); }
  if (param.name == "new_order" && list != nullptr) {
    std::string order;
    for (const schedule::Value& item : *list) {
      const int64_t* at = item.integer();
      if (at == nullptr || static_cast<size_t>(*at) >= block->iter_vars.size()) { return {}; }
      order += (order.empty() ? "" : ", ") + fmt::format("`{}`", block->iter_vars[static_cast<size_t>(*at)].var->name.view());
    }
    return order;
  }
  return {};
}

/// What is worth trying as the argument at the cursor, where that is no loop or block, judged with the arguments before it.
auto values_offered(const Spot& spot, const std::vector<LiveVariable>& live, const schedule::Primitive& row, const schedule::Param& param) -> std::vector<Offered> {
  constexpr size_t most = 24;
  using schedule::ValueKind;
  auto at = static_cast<size_t>(&param - row.params.data());
  bool is_place = param.kind == ValueKind::Loop || param.kind == ValueKind::Block || param.kind == ValueKind::BlockOrLoop || param.kind == ValueKind::Bool;
  auto before = at > 0 && !is_place && !row.is_pure ? values_before(spot, live, row, at) : std::nullopt;
  if (!before) { return {}; }
  const schedule::FuncState& func = *spot.now->state().func(spot.now->func_working_on());
  if (!func.is_schedulable()) { return {}; }
  schedule::Choice all{spot.now->state(), func, func.root(), *before};
  std::vector<schedule::Value> values = schedule::candidate_values(spot.now->state(), func, all.subject(), row, *before);
  auto words = [&](const auto& known) {
    values.clear();
    for (std::string_view word : known) { values.emplace_back(std::string(word)); }
  };
  if (param.name == "thread_axis") { words(threads); }
  if (param.name == "storage_scope") { words(scopes); }
  if (param.name == "dtype") { words(dtypes); }
  // Those that cannot be taken are told, too.
  if (param.kind == ValueKind::Buffer) { values = schedule::candidates::buffers(all); }
  const schedule::Place& subject = all.subject();
  const Block* block = subject.is_block() ? subject.block() : block_of_argument(spot, live, row);
  auto name_of = names_for(live);
  std::vector<Offered> out;
  for (const schedule::Value& value : values) {
    if (out.size() == most) { break; }
    Offered one{schedule::argument_text(func, value, param, name_of), about_value(value, param, block, *before), {}};
    std::vector<std::optional<schedule::Value>> first(before->begin(), before->end());
    first.emplace_back(value);
    std::string question = fmt::format("{}({},{}={}", row.name, fmt::join(spot.text.call->arguments, ","), param.name, one.text);
    one.legality = remembered(spot, question, [&](const schedule::Stop& stop) { return schedule::legality_with(*spot.now, row, first, stop); });
    out.push_back(std::move(one));
  }
  return out;
}

/// Those as items: what is legal first, what is not with the reason.
void add_values(Items& items, const std::vector<LiveVariable>& live, const schedule::Primitive& row, const schedule::Param& param) {
  const Spot& spot = items.spot;
  auto extent = param.name == "factors" ? extent_of_argument(spot, live) : std::nullopt;
  for (Offered& one : values_offered(spot, live, row, param)) {
    using Verdict = schedule::Legality::Verdict;
    CompletionItem item{one.text, CompletionKind::Value, one.about, {}, {}, false, one.legality.verdict == Verdict::Legal ? 0 : 3};
    if (item.detail.empty() && extent) {
      int64_t product = 1;
      auto list = written_value(spot, live, param, one.text);
      const auto* factors = list ? list->as<schedule::Value::List>() : nullptr;
      for (size_t i = 0; factors != nullptr && i < factors->size(); ++i) { product *= (*factors)[i].integer() != nullptr ? *(*factors)[i].integer() : 1; }
      item.detail = *extent % product == 0 ? fmt::format("`None` is {}", *extent / product) : fmt::format("{} is no multiple of {}: guarded by a condition", *extent, product);
      if (*extent % product != 0) { item.rank = 2; }
    }
    if (one.legality.verdict == Verdict::Refused) {
      item.rank = refused_argument_rank;
      item.detail = one.legality.why_not;
      item.note = "not here";
    }
    // What a number stands for may be said by its name.
    if (!param.index_of.empty() && one.about.size() > 9) {
      CompletionItem named = item;
      named.label = fmt::format("\"{}\"", std::string_view(one.about).substr(8, one.about.size() - 9));
      named.detail = item.note.empty() ? fmt::format("what `{}` is", one.text) : item.detail;
      named.rank += 1;
      items.add(std::move(named));
    }
    items.add(std::move(item));
  }
}

/// Buffers of a block by their names, in a string.
void add_buffer_names(Items& items, const std::vector<LiveVariable>& live, const schedule::Primitive& row, const schedule::Param& param) {
  const Block* block = block_of_argument(items.spot, live, row);
  if (block == nullptr) { return; }
  for (bool is_write : {false, true}) {
    if (!param.index_of.empty() && is_write != (param.index_of == "write")) { continue; }
    for (const BufferRegion& region : is_write ? block->writes : block->reads) {
      items.add({region.buffer->name.str(), CompletionKind::Buffer, is_write ? "buffer that the block writes" : "buffer that the block reads", {}, {}, false, is_write ? 1 : 0});
    }
  }
}

/// In a list that is one number for each iter var of a block, or an order of them: what the next may be.
void add_iter_numbers(Items& items, const std::vector<LiveVariable>& live, const schedule::Primitive& row, const schedule::Param& param) {
  const Block* block = block_of_argument(items.spot, live, row);
  if (block == nullptr) { return; }
  const CallContext& call = *items.spot.text.call;
  if (param.name == "padding") {
    if (call.list_item >= block->iter_vars.size()) { return; }
    const IterVar& iter = block->iter_vars[call.list_item];
    auto extent = as_int(iter.dom.extent);
    int rank = 0;
    for (int64_t number : {1, 2, 4, 8, 16, 32, 64}) {
      int64_t padded = extent ? (*extent + number - 1) / number * number : 0;
      items.add({std::to_string(number), CompletionKind::Value, extent ? fmt::format("`{}`: {} becomes {}", iter.var->name.view(), *extent, padded) : fmt::format("`{}`", iter.var->name.view()), {}, {}, false, rank++});
    }
    return;
  }
  for (size_t i = 0; i < block->iter_vars.size(); ++i) {
    std::string text = std::to_string(i);
    bool is_there = std::find(call.list_items.begin(), call.list_items.end(), text) != call.list_items.end();
    if (!is_there) { items.add({text, CompletionKind::Value, fmt::format("iter var `{}`", block->iter_vars[i].var->name.view()), {}, {}, false, static_cast<int>(i)}); }
  }
}

/// The next factor of a list: what divides what the others leave.
void add_factors(Items& items, const std::vector<LiveVariable>& live, bool may_be_open) {
  const Spot& spot = items.spot;
  if (auto extent = extent_of_argument(spot, live)) {
    int64_t left = extent_left(spot, *extent).value_or(*extent);
    std::vector<int64_t> all = divisors(left);
    for (size_t i = 0; i < all.size(); ++i) {
      items.add({std::to_string(all[i]), CompletionKind::Value, fmt::format("divides {}: {} are left", left, left / all[i]), {}, {}, false, static_cast<int>(1 + i)});
    }
  }
  const std::vector<std::string>& written = spot.text.call->list_items;
  bool has_open = std::find(written.begin(), written.end(), "None") != written.end();
  if (may_be_open && !has_open) { items.add({"None", CompletionKind::Value, "what is left of the extent; once", {}, {}, false, 0}); }
}

/// Decisions of a sampled tile: as many factors as it is asked for, of which the last ones are those most used.
void add_decisions(Items& items, const std::vector<LiveVariable>& live, const schedule::Primitive& row) {
  auto extent = extent_of_argument(items.spot, live);
  auto before = extent ? values_before(items.spot, live, row, 2) : std::nullopt;
  const int64_t* count = before ? before->back().integer() : nullptr;
  if (count == nullptr || *count < 1 || *count > 8) { return; }
  int rank = 0;
  for (int64_t inner : {4, 8, 16, 2, 1}) {
    bool fits = *extent % inner == 0 && (inner == 1 || *extent > inner) && (*count > 1 || inner == 1);
    if (!fits) { continue; }
    std::vector<int64_t> factors(static_cast<size_t>(*count), 1);
    factors.back() *= inner;
    factors.front() *= *extent / inner;
    items.add({fmt::format("[{}]", fmt::join(factors, ", ")), CompletionKind::Value, fmt::format("their product is {}", *extent), {}, {}, false, rank++});
  }
}

/// Of the legal calls of a primitive, the first one and for each variable of the script the first one about it, the one that should make the
/// program fastest, and how many times as fast (1: the estimate sees no difference). None: there is no time for it now.
class Gains {
 public:
  Gains(const Spot& spot, const std::vector<LiveVariable>& live) : spot_(spot), live_(live), core_(cost::core_for(spot.schedule != nullptr ? spot.schedule->target : std::string())) {
    // Of the time there is, what is legal goes first.
    if (spot.patience.until != never()) { until_ = in(std::chrono::milliseconds(15)); }
  }
  auto best(const schedule::Primitive& row, const schedule::Move& first) -> std::optional<std::pair<schedule::Move, double>> {
    JudgedState* known = spot_.patience.judged;
    if (known != nullptr) {
      if (auto found = known->best.find(std::string(row.name)); found != known->best.end()) { return found->second; }
    }
    if (is_late()) { return std::nullopt; }
    if (!now_) { now_ = seconds_of(*spot_.now); }
    std::pair<schedule::Move, double> best{first, gain_of(first)};
    const schedule::State& state = spot_.now->state();
    const schedule::FuncState* func = state.func(spot_.now->func_working_on());
    for (const LiveVariable& variable : live_) {
      if (*now_ <= 0 || func == nullptr || variable.place == nullptr) { continue; }
      if (is_late()) { return std::nullopt; }
      const schedule::Place* focus = func->find(variable.place->id);
      if (focus == nullptr) { continue; }
      for (const schedule::Move& move : schedule::candidate_moves(state, *func, *focus, row)) {
        if (!schedule::judge(state, *func, move).ok()) { continue; }
        if (double gain = gain_of(move); gain > best.second) { best = {move, gain}; }
        break;
      }
    }
    if (spot_.patience.cancel.is_cancelled()) { return std::nullopt; }
    if (known != nullptr) { known->best.emplace(std::string(row.name), best); }
    return best;
  }

 private:
  [[nodiscard]] auto is_late() const -> bool { return spot_.is_late() || (until_ != never() && Clock::now() > until_); }
  [[nodiscard]] auto seconds_of(const schedule::Schedule& schedule) const -> double {
    const schedule::FuncState* func = schedule.state().func(schedule.func_working_on());
    auto found = func != nullptr ? cost::estimate(*func, core_) : std::nullopt;
    return found ? found->seconds : 0;
  }
  auto gain_of(const schedule::Move& move) -> double {
    if (*now_ <= 0) { return 1; }
    auto tried = schedule::try_move(*spot_.now, move, names_for(live_), [](std::string_view) { return false; });
    double after = tried.ok() ? seconds_of(tried->after) : 0;
    return after > 0 && !cost::gain_text(*now_ / after).empty() ? *now_ / after : 1;
  }

  const Spot& spot_;
  const std::vector<LiveVariable>& live_;
  cost::CoreModel core_;
  Deadline until_ = never();
  std::optional<double> now_;
};

/// `text` within a snippet.
auto escaped(std::string_view text) -> std::string {
  std::string out;
  for (char c : text) {
    if (c == '$' || c == '}' || c == '\\') { out += '\\'; }
    out += c;
  }
  return out;
}

/// A call, as `text_of` writes it, with a placeholder for each argument and each item of a list: "split(${1:i}, factors=[${2:None}, ${3:8}])$0".
auto snippet_of(std::string_view name, std::string_view call) -> std::string {
  size_t open = call.find(fmt::format(".{}(", name));
  if (open == std::string_view::npos || !call.ends_with(')')) { return {}; }
  std::string_view text = call.substr(open + name.size() + 2);
  text.remove_suffix(1);
  int number = 0;
  auto placeholder = [&](std::string_view value) { return fmt::format("${{{}:{}}}", ++number, escaped(value)); };
  std::string out = std::string(name) + "(";
  for (size_t i = 0; i < text.size();) {
    size_t begin = i;
    while (begin < text.size() && (std::isalnum(static_cast<unsigned char>(text[begin])) != 0 || text[begin] == '_')) { ++begin; }
    bool is_named = begin < text.size() && begin > i && text[begin] == '=' && text.substr(begin, 2) != "==";
    if (is_named) {
      out += text.substr(i, begin + 1 - i);
      i = begin + 1;
    }
    size_t end = end_of_item(text, i);
    std::string_view value = text.substr(i, end - i);
    if (value.starts_with('[') && value.ends_with(']') && value.size() > 2) {
      std::string_view list = value.substr(1, value.size() - 2);
      out += '[';
      for (size_t k = 0; k < list.size();) {
        size_t next = end_of_item(list, k);
        out += (k > 0 ? ", " : "") + placeholder(list.substr(k, next - k));
        k = std::min(next + 2, list.size());
      }
      out += ']';
    } else if (!value.empty()) {
      out += placeholder(value);
    }
    if (end < text.size()) { out += ", "; }
    i = std::min(end + 2, text.size());
  }
  return out + ")$0";
}

/// Primitives of which some call is legal now: those that should pay first, by how much; the others in the order of the reference page, those
/// that should make the program slower last. Then those of which that is not known, then the rest, each with the reason. Before anything has
/// a name, looking things up comes first.
void add_primitives(Items& items, const std::vector<LiveVariable>& live) {
  constexpr int unknown_rank = 200;
  constexpr int refused_rank = 400;
  constexpr int most_gain_rank = -1000;
  constexpr int slower_rank = 100;
  const Spot& spot = items.spot;
  int order = 0;
  Gains gains(spot, live);
  // What is legal is judged of all before any gain is: that is what nobody can do without.
  struct Legal { size_t item; const schedule::Primitive* row; schedule::Move move; };
  std::vector<Legal> legal;
  for (const schedule::Primitive* row : schedule::all_primitives()) {
    ++order;
    if (spot.patience.cancel.is_cancelled()) { return; }
    if (!row->name.starts_with(spot.text.prefix)) { continue; }
    CompletionItem item{std::string(row->name), CompletionKind::Primitive, std::string(row->help),
                        "```python\n" + row->signature() + "\n```\n" + std::string(row->help), {}, false, order};
    if (!row->is_pure && !row->is_sampling && spot.now != nullptr) {
      schedule::Legality legality = remembered(spot, std::string(row->name), [&](const schedule::Stop& stop) { return schedule::legality_of(*spot.now, *row, names_for(live), stop); });
      if (legality.verdict == schedule::Legality::Verdict::Legal) {
        item.detail = schedule::in_words_of(schedule::text_of(*spot.now->state().func(spot.now->func_working_on()), *legality.move, names_for(live)), spot.schedule_name);
        item.primitive = item.label;
        legal.push_back({items.list.size(), row, *legality.move});
      } else if (legality.verdict == schedule::Legality::Verdict::Refused) {
        item.detail = legality.why_not;
        item.note = "not here";
        item.rank += refused_rank;
      } else {
        item.rank += unknown_rank;
      }
    }
    items.add(std::move(item));
  }
  // Where a call stands already, its arguments stay.
  const std::string_view behind = std::string_view(spot.snapshot.text()).substr(std::min<size_t>(spot.at, spot.snapshot.text().size()));
  const bool is_called = !behind.empty() && (behind[0] == '(' || behind[0] == '_' || std::isalnum(static_cast<unsigned char>(behind[0])) != 0);
  for (const Legal& one : legal) {
    if (one.item < items.list.size() && !is_called) { items.list[one.item].call = snippet_of(one.row->name, items.list[one.item].detail); }
  }
  std::vector<std::pair<double, size_t>> faster;
  for (const Legal& one : legal) {
    if (one.item >= items.list.size()) { continue; }
    auto best = gains.best(*one.row, one.move);
    if (!best) {
      spot.is_cut_short = true;
      break;
    }
    auto [move, gain] = *best;
    if (gain == 1) { continue; }
    CompletionItem& item = items.list[one.item];
    item.detail = schedule::in_words_of(schedule::text_of(*spot.now->state().func(spot.now->func_working_on()), move, names_for(live)), spot.schedule_name);
    if (!item.call.empty()) { item.call = snippet_of(one.row->name, item.detail); }
    item.note = cost::gain_text(gain);
    if (gain < 1) { item.rank += slower_rank; } else { faster.emplace_back(gain, one.item); }
  }
  std::sort(faster.begin(), faster.end(), [](const auto& a, const auto& b) { return std::pair(-a.first, a.second) < std::pair(-b.first, b.second); });
  for (size_t i = 0; i < faster.size() && !live.empty(); ++i) { items.list[faster[i].second].rank = most_gain_rank + static_cast<int>(i); }
  for (const ScheduleWord& word : schedule_words()) { items.add({std::string(word.name), CompletionKind::Function, std::string(word.help), {}, {}, false, 300}); }
}

/// Attributes of `T`, `T.axis`, `I`, `ls` ...
auto add_namespace(Items& items, std::string_view path) -> bool {
  eval::Evaluator evaluator;
  std::optional<eval::Value> value;
  size_t begin = 0;
  while (begin <= path.size()) {
    size_t end = std::min(path.find('.', begin), path.size());
    Name part(path.substr(begin, end - begin));
    if (begin == 0) {
      const eval::Value* known = frontend::predeclared(part);
      if (known == nullptr) { known = script::predeclared(part); }
      if (known == nullptr) { return false; }
      value = *known;
    } else {
      if (value->object() == nullptr) { return false; }
      value = value->object()->get_attribute(evaluator, part, {});
      if (!value) { return false; }
    }
    begin = end + 1;
  }
  if (value->object() == nullptr) { return false; }
  std::vector<Name> names;
  value->object()->attribute_names(names);
  for (Name name : names) {
    std::string_view text = name.view();
    bool is_dtype = DataType::parse(text).has_value();
    std::string whole = std::string(path) + "." + name.str();
    auto usage = usage_of(whole);
    // The words that programs are written with, in the order in which they are written; then operators and mathematics, dtypes (those most used
    // first), classes of nodes; what is for machines comes last: intrinsics of one target, names with underscores in front.
    bool is_of_machine = text.starts_with("tvm_") || text.starts_with("ptx_") || text.starts_with("call_llvm") || text.starts_with("mma_") || text.starts_with("nd_mem") || text.starts_with("tvmx_");
    bool is_node = !is_dtype && text.front() >= 'A' && text.front() <= 'Z';
    const auto* usual = std::find(std::begin(dtypes), std::end(dtypes), text);
    int rank = text.starts_with("_") ? 600 : is_of_machine ? 500 : usage && usage->place ? *usage->place : is_dtype && usual != std::end(dtypes) ? 250 + static_cast<int>(usual - std::begin(dtypes))
               : is_dtype ? 300 : is_node ? 400 : usage ? 200 : 210;
    items.add({name.str(), is_dtype ? CompletionKind::Class : CompletionKind::Function, usage ? usage->form : whole, usage ? usage->help : std::string(), {}, false, rank});
  }
  return true;
}

auto completion_kind(EntityKind kind) -> CompletionKind {
  switch (kind) {
    case EntityKind::Namespace: return CompletionKind::Namespace;
    case EntityKind::Class: return CompletionKind::Class;
    case EntityKind::Program:
    case EntityKind::Schedule:
    case EntityKind::Function: return CompletionKind::Function;
    case EntityKind::Constant: return CompletionKind::Constant;
    case EntityKind::Buffer: return CompletionKind::Buffer;
    case EntityKind::Loop: return CompletionKind::Loop;
    case EntityKind::Block: return CompletionKind::Block;
    default: return CompletionKind::Variable;
  }
}

auto kind_text(const Entity& entity) -> std::string {
  switch (entity.kind) {
    case EntityKind::Namespace: return "namespace";
    case EntityKind::Class: return "module";
    case EntityKind::Program: return "program";
    case EntityKind::Schedule: return "schedule";
    case EntityKind::Function: return "function";
    case EntityKind::Constant: return "constant";
    case EntityKind::Parameter: return "parameter";
    case EntityKind::Buffer: return entity.has(Trait::LocalScope) ? "local buffer" : entity.has(Trait::SharedScope) ? "shared buffer" : entity.has(Trait::WarpScope) ? "warp buffer" : "buffer";
    case EntityKind::Loop: return "loop variable";
    case EntityKind::Iter: return entity.has(Trait::Reduction) ? "reduction iter var" : entity.has(Trait::Spatial) ? "spatial iter var" : "iter var";
    default: return "variable";
  }
}

/// Did a step before the cursor bind the name to a loop, block or number?
auto was_named(const Spot& spot, Name name) -> bool {
  if (spot.state == nullptr) { return false; }
  auto is_it = [&](const auto& named) { return named.name == name; };
  for (size_t i = 0; i < spot.steps; ++i) {
    const auto& named = spot.run->steps[i].named;
    if (std::any_of(named.begin(), named.end(), is_it)) { return true; }
  }
  return spot.inside != nullptr && std::any_of(spot.inside->named.begin(), spot.inside->named.end(), is_it);
}

/// Names bound above the cursor in the function around it, and those of the file.
void add_names(Items& items, const std::vector<LiveVariable>& live) {
  const Spot& spot = items.spot;
  NameTable names = names_in_reach(spot.snapshot, spot.item);
  DeclId here = spot.function != nullptr ? spot.function->decl : 0;
  std::vector<Name> seen;
  // What was judged as an argument stands where it was put.
  for (const CompletionItem& item : items.list) { seen.emplace_back(item.label); }
  for (auto o = names.occurrences.rbegin(); o != names.occurrences.rend(); ++o) {
    const Entity& entity = names.entities[o->entity];
    if (o->role != Role::Bind || entity.kind == EntityKind::Block || !entity.is_bound) { continue; }
    bool is_local = entity.function != 0;
    if (is_local && (entity.function != here || o->span.begin >= spot.text.prefix_begin)) { continue; }
    if (o->span.begin <= spot.at && o->span.end >= spot.at) { continue; }
    if (std::find(seen.begin(), seen.end(), entity.name) != seen.end()) { continue; }
    seen.push_back(entity.name);
    std::string detail = kind_text(entity);
    CompletionKind kind = completion_kind(entity.kind);
    for (const LiveVariable& variable : live) {
      if (!is_local || entity.name.view() != variable.name) { continue; }
      detail = variable.place != nullptr ? describe(*variable.place) : std::to_string(variable.number);
      kind = variable.place == nullptr ? CompletionKind::Value : variable.place->is_loop() ? CompletionKind::Loop : CompletionKind::Block;
    }
    bool is_gone = is_local && was_named(spot, entity.name) && std::none_of(live.begin(), live.end(), [&](const LiveVariable& one) { return entity.name.view() == one.name; });
    if (is_gone) { detail = "its loop or block is no longer there"; }
    items.add({entity.name.str(), kind, detail, {}, {}, false, is_gone ? refused_argument_rank + 1 : is_local ? 10 : 20});
  }
  for (std::string_view name : {"T", "I", "tir", "ls"}) {
    if (std::find(seen.begin(), seen.end(), Name(name)) == seen.end()) { items.add({std::string(name), CompletionKind::Namespace, "namespace", {}, {}, false, 25}); }
  }
  for (std::string_view word : {"for", "if", "elif", "else", "while", "with", "def", "return", "pass", "assert", "and", "or", "not", "in", "True", "False", "None", "range"}) {
    items.add({std::string(word), CompletionKind::Keyword, "", {}, {}, false, 40});
  }
}

void add_snippets(Items& items) {
  const Spot& spot = items.spot;
  if (!spot.text.object.empty() || spot.text.call) { return; }
  std::string_view text = spot.snapshot.text();
  uint32_t line = spot.snapshot.lines().line_of(spot.at);
  uint32_t start = spot.snapshot.lines().line_start(text, line);
  std::string_view before = text.substr(start, spot.text.prefix_begin - start);
  if (before.find_first_not_of(" \t") != std::string_view::npos) { return; }
  auto add = [&](const char* label, const char* detail, const char* body) {
    items.add({label, CompletionKind::Snippet, detail, std::string("```python\n") + detail + "\n```", body, true, 30});
  };
  if (before.empty()) {
    add("prim_func", "a program",
        "@T.prim_func\ndef ${1:name}(${2:A}: T.Buffer((${3:128, 128}), \"${4:float32}\")):\n    T.func_attr({\"tir.noalias\": T.bool(True)})\n    $0");
    std::string schedule = in_form_of(spot.snapshot, "@ls.schedule(${1:program})\ndef ${2:name}(sch: tir.Schedule) -> None:\n    ${3:b} = sch.get_block(\"${4:C}\")\n    $0").text;
    if (schedule.ends_with('\n')) { schedule.pop_back(); }
    add("schedule", "a schedule for a program", schedule.c_str());
  } else if (spot.schedule == nullptr) {
    add("grid", "loops over a grid", "for ${1:i, j} in T.grid(${2:128, 128}):\n    $0");
    add("block", "a block with its iter vars", "with T.block(\"${1:C}\"):\n    ${2:vi, vj} = T.axis.remap(\"${3:SS}\", [${4:i, j}])\n    $0");
    add("init", "the value a reduction begins with", "with T.init():\n    ${1:C[vi, vj]} = T.float32(0)\n$0");
  }
}

}  // namespace

auto completion(const Snapshot& snapshot, uint32_t at, const Patience& patience) -> Completion {
  CancelScope scope(patience.cancel);
  Spot spot = find_spot(snapshot, at, patience);
  Completion result;
  result.replaced = {spot.text.prefix_begin, spot.at};
  if (spot.text.in_comment) { return result; }
  Items items{spot, {}};
  const schedule::Primitive* row = row_called(spot);
  const schedule::Param* param = row != nullptr ? parameter_at(*row, *spot.text.call) : nullptr;
  std::vector<LiveVariable> live = live_variables(spot);
  leave_out_named_items(live);
  if (spot.text.in_string) {
    std::string_view callee = spot.text.call ? std::string_view(spot.text.call->callee) : std::string_view();
    callee = callee.substr(callee.rfind('.') == std::string_view::npos ? 0 : callee.rfind('.') + 1);
    std::string_view keyword = spot.text.call ? std::string_view(spot.text.call->keyword) : std::string_view();
    bool names_block = param != nullptr && (param->kind == schedule::ValueKind::Block || param->kind == schedule::ValueKind::BlockOrLoop ||
                                            (row->name == "get_block" && param->name == "name"));
    bool names_function = (param != nullptr && param->name == "func_name") || (callee == "work_on" && spot.text.call->callee == spot.schedule_name + ".work_on");
    bool names_buffer = param != nullptr && (!param->index_of.empty() || param->kind == schedule::ValueKind::Buffer);
    if (names_function) {
      for (Name name : function_names(spot)) { items.add({name.str(), CompletionKind::Function, "function of the module", {}, {}, false, 0}); }
    } else if (names_buffer && spot.text.call->in_tuple) {
      items.values(accesses, "buffers that the block accesses so");
    } else if (names_buffer) {
      add_buffer_names(items, live, *row, *param);
    } else if (names_block) {
      for (const std::string& name : block_names(spot)) { items.add({name, CompletionKind::Block, "block", {}, {}, false, 0}); }
    } else if (keyword == "scope" || keyword == "storage_scope" || (param != nullptr && param->name.find("scope") != std::string_view::npos)) {
      items.values(scopes, "storage scope");
    } else if (keyword == "thread" || callee == "thread_binding" || callee == "launch_thread" || callee == "env_thread" || (param != nullptr && param->name.find("thread") != std::string_view::npos)) {
      items.values(threads, "thread axis");
    } else if (param != nullptr && param->name == "tensor_intrin") {
      add_intrinsics(items, live);
    } else if (param != nullptr && param->name == "ann_key") {
      items.words(frontend::Vocabulary::LoopAnnotation, "annotation of loops", 0);
      items.words(frontend::Vocabulary::BlockAnnotation, "annotation of blocks", 100);
    } else if (spot.text.call && spot.text.call->in_dictionary) {
      if (callee == "func_attr") { items.words(frontend::Vocabulary::FunctionAttribute, "attribute of functions", 0); }
      if (callee == "block_attr" || callee == "sblock_attr") { items.words(frontend::Vocabulary::BlockAnnotation, "annotation of blocks", 0); }
      if (keyword == "annotations") { items.words(frontend::Vocabulary::LoopAnnotation, "annotation of loops", 0); }
    } else if (keyword == "target") {
      items.values(targets, "target");
    } else if (keyword == "dtype" || (param != nullptr && param->name == "dtype") || callee == "Buffer" || callee == "alloc_buffer" || callee == "match_buffer" || callee == "decl_buffer" || callee == "cast" || callee == "allocate") {
      items.values(dtypes, "dtype");
    }
  } else if (!spot.text.object.empty()) {
    if (!spot.schedule_name.empty() && spot.text.object == spot.schedule_name) {
      add_primitives(items, live);
    } else {
      std::string_view space = spot.text.object;
      space = space.substr(space.rfind('.') == std::string_view::npos ? 0 : space.rfind('.') + 1);
      if (space == "tir" || space == "s_tir") { items.add({"Schedule", CompletionKind::Class, "tir.Schedule(mod)", "a program that is scheduled; as the annotation of a parameter, one that is handed to the function", {}, false, 0}); }
      (void)add_namespace(items, spot.text.object);
    }
  } else {
    if (param != nullptr) {
      using schedule::ValueKind;
      for (const LiveVariable& variable : live) {
        bool fits = variable.place == nullptr ? param->kind == ValueKind::Int || param->kind == ValueKind::OptionalInt
                    : variable.place->is_loop() ? param->kind == ValueKind::Loop || param->kind == ValueKind::BlockOrLoop
                                                : param->kind == ValueKind::Block || param->kind == ValueKind::BlockOrLoop;
        if (!fits) { continue; }
        if (patience.cancel.is_cancelled()) { break; }
        CompletionItem item{variable.name, CompletionKind::Value, std::to_string(variable.number), {}, {}, false, 2};
        if (variable.place != nullptr) {
          item.kind = variable.place->is_loop() ? CompletionKind::Loop : CompletionKind::Block;
          item.detail = describe(*variable.place);
          schedule::Legality legality = argument_legality(spot, live, *row, *param, *variable.place);
          item.rank = legality.verdict == schedule::Legality::Verdict::Legal ? 0 : 2;
          if (legality.verdict == schedule::Legality::Verdict::Refused) {
            item.rank = refused_argument_rank;
            item.detail = legality.why_not;
            item.note = "not here";
          }
        }
        items.add(std::move(item));
      }
      // What has no name is looked up in the call, where it would be legal there.
      bool takes_loop = param->kind == ValueKind::Loop || param->kind == ValueKind::BlockOrLoop;
      bool takes_block = param->kind == ValueKind::Block || param->kind == ValueKind::BlockOrLoop;
      for (const auto& [written, place] : takes_loop || takes_block ? unnamed_places(spot, live) : std::vector<std::pair<std::string, const schedule::Place*>>()) {
        if (place->is_loop() ? !takes_loop : !takes_block) { continue; }
        if (patience.cancel.is_cancelled()) { break; }
        schedule::Legality legality = argument_legality(spot, live, *row, *param, *place);
        if (legality.verdict == schedule::Legality::Verdict::Refused) { continue; }
        CompletionItem item{written, place->is_loop() ? CompletionKind::Loop : CompletionKind::Block, describe(*place), {}, {}, false, legality.verdict == schedule::Legality::Verdict::Legal ? 1 : 3};
        // Found by the name that the program has for it, too.
        item.found_by = place->name().str() + " " + written;
        items.add(std::move(item));
      }
      const CallContext& call = *spot.text.call;
      bool is_decision = param->name == "decision" && row->name.find("tile") != std::string_view::npos;
      if (call.in_list && (param->name == "factors" || is_decision)) {
        add_factors(items, live, !is_decision);
      } else if (call.in_list && (param->name == "padding" || param->name == "new_order")) {
        add_iter_numbers(items, live, *row, *param);
      } else if (is_decision) {
        add_decisions(items, live, *row);
      } else if (param->name == "name" && row->name == "get_block") {
        for (const std::string& name : block_names(spot)) { items.add({fmt::format("\"{}\"", name), CompletionKind::Block, "block", {}, {}, false, 0}); }
      } else if (!call.in_list && !call.in_tuple) {
        add_values(items, live, *row, *param);
      }
      if (param->kind == ValueKind::Bool) {
        items.add({"True", CompletionKind::Value, "", {}, {}, false, 0});
        items.add({"False", CompletionKind::Value, "", {}, {}, false, 0});
      }
    }
    if (row != nullptr && spot.text.call->keyword.empty() && !spot.text.call->in_list) {
      for (size_t i = spot.text.call->argument; i < row->params.size(); ++i) {
        if (row->params[i].is_variadic) { continue; }
        items.add({std::string(row->params[i].name) + "=", CompletionKind::Constant, fmt::format("argument of `{}`", row->name), {}, {}, false, 15});
      }
    }
    add_names(items, live);
    add_snippets(items);
  }
  // The best of each label.
  std::sort(items.list.begin(), items.list.end(), [](const CompletionItem& a, const CompletionItem& b) { return std::tie(a.rank, a.label) < std::tie(b.rank, b.label); });
  for (CompletionItem& item : items.list) {
    bool is_there = std::any_of(result.items.begin(), result.items.end(), [&](const CompletionItem& other) { return other.label == item.label && other.is_snippet == item.is_snippet; });
    if (!is_there) { result.items.push_back(std::move(item)); }
  }
  result.is_complete = !spot.is_cut_short;
  return result;
}

namespace {

/// 1 where the estimate sees no difference.
auto gain_of(const schedule::Schedule& before, const schedule::Schedule& after) -> double {
  const schedule::FuncState* from = before.state().func(before.func_working_on());
  const schedule::FuncState* to = after.state().func(after.func_working_on());
  if (from == nullptr || to == nullptr) { return 1; }
  double gain = cost::gain(*from, *to, cost::core_of(target::host())).value_or(1);
  return cost::gain_text(gain).empty() ? 1 : gain;
}

}  // namespace

auto preview(const Snapshot& snapshot, uint32_t at, std::string_view primitive) -> std::string {
  Spot spot = find_spot(snapshot, at);
  const schedule::Primitive* row = schedule::find_primitive(primitive);
  if (row == nullptr || spot.now == nullptr) { return {}; }
  std::vector<LiveVariable> live = live_variables(spot);
  schedule::Legality legality = schedule::legality_of(*spot.now, *row, names_for(live));
  if (legality.verdict != schedule::Legality::Verdict::Legal) { return {}; }
  auto is_taken = [&](std::string_view name) { return std::any_of(live.begin(), live.end(), [&](const LiveVariable& one) { return one.name == name; }); };
  auto best = Gains(spot, live).best(*row, *legality.move);
  auto tried = schedule::try_move(*spot.now, best ? best->first : *legality.move, names_for(live), is_taken);
  if (!tried.ok()) { return {}; }
  std::string text = fmt::format("```python\n{}\n```\n{}", row->signature(), row->help);
  if (double gain = gain_of(*spot.now, tried->after); gain != 1) { text += "\n\n" + cost::gain_text(gain) + ", by estimate"; }
  text += fmt::format("\n\n```python\n{}\n```\n", schedule::in_words_of(tried->statement, spot.schedule_name));
  std::string diff = diff_scripts(print_script(spot.now->module()), print_script(tried->after.module()), {.context = 1});
  text += diff.empty() ? std::string("changes nothing") : "```diff\n" + diff + "```";
  return text;
}

namespace {

/// What an argument may be now, and what not, each with its reason.
class Note {
 public:
  void add(const std::string& what, const std::string& about, const schedule::Legality& legality) {
    std::string text = about.empty() ? fmt::format("`{}`", what) : fmt::format("`{}` ({})", what, about);
    if (legality.verdict != schedule::Legality::Verdict::Refused) {
      fits_.push_back(std::move(text));
      return;
    }
    auto same = std::find_if(refused_.begin(), refused_.end(), [&](const auto& one) { return one.first == legality.why_not; });
    if (same == refused_.end()) { same = refused_.insert(same, {legality.why_not, {}}); }
    same->second.push_back(fmt::format("`{}`", what));
  }
  [[nodiscard]] auto is_empty() const -> bool { return fits_.empty() && refused_.empty(); }
  [[nodiscard]] auto text(std::string_view head = "now: ") const -> std::string {
    constexpr size_t most_fitting = 16;
    constexpr size_t most_reasons = 4;
    std::string out = fits_.empty() ? std::string() : std::string(head) + joined(fits_, most_fitting);
    for (size_t i = 0; i < std::min(refused_.size(), most_reasons); ++i) { out += fmt::format("{}not {}: {}", out.empty() ? "" : "; ", joined(refused_[i].second, most_fitting / 2), refused_[i].first); }
    return out;
  }

 private:
  static auto joined(const std::vector<std::string>& all, size_t most) -> std::string {
    std::string out;
    for (size_t i = 0; i < std::min(all.size(), most); ++i) { out += (i > 0 ? ", " : "") + all[i]; }
    return all.size() > most ? out + fmt::format(" and {} more", all.size() - most) : out;
  }
  std::vector<std::string> fits_;
  std::vector<std::pair<std::string, std::vector<std::string>>> refused_;   // by reason
};

auto parameter_note(const Spot& spot, const schedule::Primitive& row, const schedule::Param& param, bool is_active, const std::vector<LiveVariable>& live)
    -> std::string {
  using schedule::ValueKind;
  Note note;
  if (param.name == "factors") {
    std::string text = "one per new loop, outermost first; one may be `None`";
    if (auto extent = extent_of_argument(spot, live)) {
      std::string list;
      for (int64_t d : divisors(*extent)) {
        if (list.size() > 60) {
          list += " …";
          break;
        }
        list += (list.empty() ? "" : " ") + std::to_string(d);
      }
      text += fmt::format("; their product is at least {} (divisors: {})", *extent, list);
    }
    return text;
  }
  if (param.kind == ValueKind::Loop || param.kind == ValueKind::Block || param.kind == ValueKind::BlockOrLoop) {
    for (const LiveVariable& variable : live) {
      if (variable.place == nullptr) { continue; }
      bool fits = param.kind == ValueKind::BlockOrLoop || variable.place->is_loop() == (param.kind == ValueKind::Loop);
      if (!fits) { continue; }
      schedule::Legality legality = is_active ? argument_legality(spot, live, row, param, *variable.place) : schedule::Legality();
      note.add(variable.name, describe(*variable.place), legality);
    }
    if (note.is_empty() && param.kind != ValueKind::Loop) {
      for (const std::string& name : block_names(spot)) { note.add(fmt::format("\"{}\"", name), {}, {}); }
    }
    return note.text();
  }
  if (!is_active || spot.now == nullptr) { return {}; }
  if (param.name == "func_name") {
    for (Name name : function_names(spot)) { note.add(fmt::format("\"{}\"", name.view()), {}, {}); }
  } else if (row.name == "get_block" && param.name == "name") {
    for (const std::string& name : block_names(spot)) { note.add(fmt::format("\"{}\"", name), {}, {}); }
  } else if (param.name == "ann_key" && row.name == "annotate") {
    auto before = values_before(spot, live, row, 1);
    bool is_block = before && before->front().as<schedule::BlockRV>() != nullptr;
    for (Name word : frontend::known_words(is_block ? frontend::Vocabulary::BlockAnnotation : frontend::Vocabulary::LoopAnnotation)) { note.add(fmt::format("\"{}\"", word.view()), {}, {}); }
    return note.text("any; known are: ");
  } else if (param.name == "tensor_intrin") {
    Items items{spot, {}};
    add_intrinsics(items, live);
    std::sort(items.list.begin(), items.list.end(), [](const CompletionItem& a, const CompletionItem& b) { return std::tie(a.rank, a.label) < std::tie(b.rank, b.label); });
    using Verdict = schedule::Legality::Verdict;
    for (const CompletionItem& item : items.list) {
      bool is_refused = !item.note.empty();
      note.add(fmt::format("\"{}\"", item.label), {}, {is_refused ? Verdict::Refused : Verdict::Unknown, {}, is_refused ? item.detail : std::string()});
    }
  } else if (row.is_sampling && row.name.find("tile") != std::string_view::npos) {
    auto extent = extent_of_argument(spot, live);
    std::string of = extent ? fmt::format(", {}", *extent) : std::string();
    if (param.name == "n") { return fmt::format("how many factors: any number from 1; their product is the extent of the loop{}", of); }
    if (param.name == "max_innermost_factor") { return fmt::format("what the last factor is at most; -1: any that divides the extent{}", of); }
    if (param.name == "decision") { return fmt::format("the factors, if they are not to be drawn; their product is the extent of the loop{}", of); }
  } else {
    for (const Offered& one : values_offered(spot, live, row, param)) { note.add(one.text, one.about, one.legality); }
  }
  return note.text();
}

}  // namespace

namespace {

/// Of a form as it is written: "for i, j in T.grid(m, n)" gives "T.grid(m, n)" with `m` and `n`.
auto signature_of(std::string_view callee, const Usage& usage, const CallContext& call) -> std::optional<Signature> {
  size_t begin = usage.form.find(std::string(callee) + "(");
  if (begin == std::string::npos) { return std::nullopt; }
  Signature signature;
  signature.label = usage.form.substr(begin);
  signature.documentation = usage.help;
  int depth = 0;
  uint32_t from = 0;
  for (uint32_t i = static_cast<uint32_t>(callee.size()); i < signature.label.size(); ++i) {
    char c = signature.label[i];
    bool opens = c == '(' || c == '[' || c == '{';
    bool closes = c == ')' || c == ']' || c == '}';
    if (opens && ++depth == 1) { from = i + 1; }
    bool ends = depth == 1 && (c == ',' || closes);
    if (ends && i > from) {
      signature.parameters.emplace_back(from, i);
      signature.parameter_notes.emplace_back();
    }
    if (ends) { from = i + (i + 1 < signature.label.size() && signature.label[i + 1] == ' ' ? 2 : 1); }
    if (closes && --depth == 0) { break; }
  }
  auto name_of = [&](size_t i) {
    std::string_view text = std::string_view(signature.label).substr(signature.parameters[i].first, signature.parameters[i].second - signature.parameters[i].first);
    return text.substr(0, text.find('='));
  };
  for (size_t i = 0; i < signature.parameters.size(); ++i) {
    // "..." stands for all that follow.
    bool is_here = i == call.argument || (i < call.argument && name_of(i) == "...");
    if (call.keyword.empty() ? is_here : name_of(i) == call.keyword) { signature.active = i; }
  }
  return signature;
}

/// Of a function of a file.
auto signature_of_function(const Snapshot& snapshot, std::string_view name, const CallContext& call) -> std::optional<Signature> {
  Signature signature;
  for (const syntax::PlacedItem& placed : snapshot.syntax().items()) {
    for (const syntax::Stmt* statement : placed.item->statements) {
      const auto* def = statement->as<syntax::FunctionDef>();
      if (def == nullptr || def->name.name.view() != name) { continue; }
      signature.label = def->name.name.str() + "(";
      for (const syntax::Param& param : def->params) {
        if (!signature.parameters.empty()) { signature.label += ", "; }
        auto begin = static_cast<uint32_t>(signature.label.size());
        auto span = snapshot.syntax().resolve({def->decl, param.span.begin, param.span.end, 0});
        std::string text = span ? snapshot.text().substr(span->begin, span->end - span->begin) : param.name.name.str();
        std::replace(text.begin(), text.end(), '\n', ' ');
        signature.label += text;
        signature.parameters.emplace_back(begin, static_cast<uint32_t>(signature.label.size()));
        signature.parameter_notes.emplace_back();
        if (call.keyword.empty() ? signature.parameters.size() - 1 == call.argument : param.name.name.view() == call.keyword) { signature.active = signature.parameters.size() - 1; }
      }
      signature.label += ")";
      return signature;
    }
  }
  return std::nullopt;
}

}  // namespace

auto signature_help(const Snapshot& snapshot, uint32_t at, const Patience& patience, const FindElsewhere& elsewhere) -> std::optional<Signature> {
  CancelScope scope(patience.cancel);
  Spot spot = find_spot(snapshot, at, patience);
  if (spot.text.in_comment || !spot.text.call) { return std::nullopt; }
  const CallContext& call = *spot.text.call;
  Signature signature;
  if (const schedule::Primitive* row = row_called(spot)) {
    std::vector<LiveVariable> live = live_variables(spot);
    leave_out_named_items(live);
    signature.label = row->signature();
    signature.documentation = row->help;
    size_t from = signature.label.find('(');
    for (size_t i = 0; i < row->params.size(); ++i) {
      size_t begin = signature.label.find(row->params[i].name, from);
      if (begin == std::string::npos) { begin = from; }
      // To the comma or bracket that ends it, past lists in its default.
      size_t end = begin;
      int depth = 0;
      while (end < signature.label.size() && !(depth == 0 && (signature.label[end] == ',' || signature.label[end] == ')'))) {
        depth += signature.label[end] == '(' || signature.label[end] == '[' ? 1 : signature.label[end] == ')' || signature.label[end] == ']' ? -1 : 0;
        ++end;
      }
      signature.parameters.emplace_back(static_cast<uint32_t>(begin), static_cast<uint32_t>(end));
      signature.parameter_notes.push_back(parameter_note(spot, *row, row->params[i], parameter_at(*row, call) == &row->params[i], live));
      from = end;
    }
    if (const schedule::Param* param = parameter_at(*row, call)) { signature.active = static_cast<size_t>(param - row->params.data()); }
    return signature;
  }
  if (auto usage = usage_of(call.callee)) { return signature_of(call.callee, *usage, call); }
  if (auto signature = signature_of_function(snapshot, call.callee, call)) { return signature; }
  auto found = elsewhere && call.open > 0 ? elsewhere(spot.base + call.open - 1) : std::nullopt;
  if (found) { return signature_of_function(*found->first, found->second.view(), call); }
  return std::nullopt;
}

}  // namespace loopsmith::lsp
