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
#include "schedule/intrinsics.h"
#include "schedule/legality.h"
#include "schedule/primitive.h"
#include "script/schedules.h"
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
  size_t step = no_step;
  Patience patience = {};
  mutable bool is_cut_short = false;              // something was not judged for lack of time

  [[nodiscard]] auto is_late() const -> bool { return patience.cancel.is_cancelled() || (patience.until != never() && Clock::now() > patience.until); }
};

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
    if (const script::ScheduleRun* run = spot.run) {
      // Steps whose statement ends before the one at the cursor.
      uint32_t place = spot.at - snapshot.syntax().resolve({decl, 0, 0, 0}).value_or(Span{spot.base, spot.base}).begin;
      for (size_t i = 0; i < run->steps.size() && run->steps[i].where.end < place; ++i) {
        if (run->steps[i].after == nullptr) { break; }
        spot.state = run->steps[i].after.get();
        spot.step = i;
      }
    }
    if (spot.state != nullptr) {
      spot.now = spot.run->steps[spot.step].after;
    } else if (spot.program) {
      bool is_known = patience.judged != nullptr && patience.judged->program && patience.judged->program.same_as(spot.program);
      spot.now = is_known ? patience.judged->state : std::make_shared<const schedule::Schedule>(spot.program);
    }
    if (patience.judged != nullptr && patience.judged->state != spot.now) {
      *patience.judged = {spot.now, spot.state == nullptr ? spot.program : IRModule(), {}};
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
  for (size_t i = 0; i <= spot.step; ++i) {
    for (const auto& named : spot.run->steps[i].named) {
      LiveVariable variable{.name = named.name.str()};
      if (const auto* list = named.variable.as<schedule::Value::List>()) {
        forget(variable.name);
        for (size_t item = 0; item < list->size(); ++item) {
          auto place = place_of(*spot.state, (*list)[item]);
          if (place != nullptr) { live.push_back({fmt::format("{}[{}]", named.name.view(), item), place}); }
        }
        continue;
      }
      if (const auto* loop = named.variable.as<schedule::LoopRV>()) {
        auto place = spot.state->get(*loop);
        if (place.ok()) { variable.place = *place; }
      } else if (const auto* block = named.variable.as<schedule::BlockRV>()) {
        auto place = spot.state->get(*block);
        if (place.ok()) { variable.place = *place; }
      } else if (const auto* number = named.variable.as<schedule::ExprRV>()) {
        auto value = spot.state->get(*number);
        if (!value.ok()) { continue; }
        variable.number = *value;
        set(variable);
        continue;
      }
      if (variable.place != nullptr) { set(variable); } else { forget(variable.name); }
    }
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

/// An argument that is written: a variable's place, or a constant; none: anything else.
auto written_value(const Spot& spot, const std::vector<LiveVariable>& live, std::string_view text) -> std::optional<schedule::Value> {
  for (const LiveVariable& variable : live) {
    if (variable.name != text) { continue; }
    if (variable.place == nullptr) { return schedule::Value(variable.number); }
    return variable.place->is_block() ? schedule::Choice::block(*variable.place) : schedule::Choice::loop(*variable.place);
  }
  if (text.find('(') != std::string_view::npos) {
    for (const auto& [written, place] : unnamed_places(spot, live)) {
      if (written == text) { return place->is_block() ? schedule::Choice::block(*place) : schedule::Choice::loop(*place); }
    }
  }
  if (text.size() >= 2 && (text.front() == '"' || text.front() == '\'') && text.back() == text.front()) {
    std::string_view name = text.substr(1, text.size() - 2);
    for (const schedule::Place& place : spot.now->state().func(spot.now->func_working_on())->places()) {
      if (place.is_block() && place.parent >= 0 && place.name() == name) { return schedule::Choice::block(place); }
    }
    return schedule::Value(std::string(name));
  }
  if (!text.empty() && text.size() < 10 && text.find_first_not_of("0123456789") == std::string_view::npos) { return schedule::Value(int64_t{std::stol(std::string(text))}); }
  return std::nullopt;
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
  if (is_stopped) {
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
      auto value = written_value(spot, live, argument);
      if (!value) { return {}; }
      list.push_back(std::move(*value));
    }
    list.push_back(here);
    first.emplace_back(schedule::Value(std::move(list)));
    return judged();
  }
  if (!call.keyword.empty() && at > call.arguments.size()) { return {}; }
  for (size_t i = 0; i < at; ++i) {
    auto value = i < call.arguments.size() ? written_value(spot, live, call.arguments[i]) : std::nullopt;
    if (!value) { return {}; }
    first.push_back(std::move(value));
  }
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
  auto first = row != nullptr && spot.now != nullptr && !spot.text.call->arguments.empty() ? written_value(spot, live, spot.text.call->arguments.front()) : std::nullopt;
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
  // Where an argument, or an item of a list of them, ends.
  auto end_of = [](std::string_view all, size_t from) {
    int depth = 0;
    char quote = 0;
    bool is_lambda = all.substr(from).starts_with("lambda");
    size_t i = from;
    for (; i < all.size(); ++i) {
      char c = all[i];
      if (quote != 0) { quote = c == quote ? '\0' : quote; continue; }
      if (c == '"' || c == '\'') { quote = c; }
      if (c == '(' || c == '[' || c == '{') { ++depth; }
      if (c == ')' || c == ']' || c == '}') { --depth; }
      // What stands in front of it names the parameters.
      if (c == ':' && depth == 0) { is_lambda = false; }
      if (c == ',' && depth == 0 && !is_lambda) { break; }
    }
    return i;
  };
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
    size_t end = end_of(text, i);
    std::string_view value = text.substr(i, end - i);
    if (value.starts_with('[') && value.ends_with(']') && value.size() > 2) {
      std::string_view list = value.substr(1, value.size() - 2);
      out += '[';
      for (size_t k = 0; k < list.size();) {
        size_t next = end_of(list, k);
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
    case EntityKind::Buffer: return entity.has(Trait::LocalScope) ? "local buffer" : "buffer";
    case EntityKind::Loop: return "loop variable";
    case EntityKind::Iter: return entity.has(Trait::Reduction) ? "reduction iter var" : entity.has(Trait::Spatial) ? "spatial iter var" : "iter var";
    default: return "variable";
  }
}

/// Did a step before the cursor bind the name to a loop, block or number?
auto was_named(const Spot& spot, Name name) -> bool {
  if (spot.state == nullptr) { return false; }
  for (size_t i = 0; i <= spot.step; ++i) {
    for (const auto& named : spot.run->steps[i].named) {
      if (named.name == name) { return true; }
    }
  }
  return false;
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
    if (names_block) {
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
    } else if (keyword == "dtype" || callee == "Buffer" || callee == "alloc_buffer" || callee == "match_buffer" || callee == "decl_buffer" || callee == "cast" || callee == "allocate") {
      items.values(dtypes, "dtype");
    }
  } else if (!spot.text.object.empty()) {
    if (!spot.schedule_name.empty() && spot.text.object == spot.schedule_name) {
      add_primitives(items, live);
    } else {
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
      if (param->name == "factors") {
        if (auto extent = extent_of_argument(spot, live)) {
          int64_t left = extent_left(spot, *extent).value_or(*extent);
          std::vector<int64_t> all = divisors(left);
          for (size_t i = 0; i < all.size(); ++i) {
            items.add({std::to_string(all[i]), CompletionKind::Value, fmt::format("divides {}: {} are left", left, left / all[i]), {}, {}, false, static_cast<int>(1 + i)});
          }
        }
        const std::vector<std::string>& written = spot.text.call->list_items;
        bool has_open = std::find(written.begin(), written.end(), "None") != written.end();
        if (!has_open) { items.add({"None", CompletionKind::Value, "what is left of the extent; once", {}, {}, false, 0}); }
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

auto parameter_note(const Spot& spot, const schedule::Primitive& row, const schedule::Param& param, bool is_active, const std::vector<LiveVariable>& live)
    -> std::string {
  using schedule::ValueKind;
  std::string note;
  std::string refused;
  std::string why;
  if (param.name == "factors") {
    note = "one per new loop, outermost first; one may be `None`";
    if (auto extent = extent_of_argument(spot, live)) {
      std::string list;
      for (int64_t d : divisors(*extent)) {
        if (list.size() > 60) {
          list += " …";
          break;
        }
        list += (list.empty() ? "" : " ") + std::to_string(d);
      }
      note += fmt::format("; their product is at least {} (divisors: {})", *extent, list);
    }
    return note;
  }
  if (param.kind == ValueKind::Loop || param.kind == ValueKind::Block || param.kind == ValueKind::BlockOrLoop) {
    for (const LiveVariable& variable : live) {
      if (variable.place == nullptr) { continue; }
      bool fits = param.kind == ValueKind::BlockOrLoop || variable.place->is_loop() == (param.kind == ValueKind::Loop);
      if (!fits) { continue; }
      schedule::Legality legality = is_active ? argument_legality(spot, live, row, param, *variable.place) : schedule::Legality();
      if (legality.verdict == schedule::Legality::Verdict::Refused) {
        refused += fmt::format("{}`{}`", refused.empty() ? "" : ", ", variable.name);
        if (why.empty()) { why = legality.why_not; }
        continue;
      }
      note += fmt::format("{}`{}` ({})", note.empty() ? "now: " : ", ", variable.name, describe(*variable.place));
    }
    if (!refused.empty()) { note += fmt::format("{}not {}: {}", note.empty() ? "" : "; ", refused, why); }
    if (note.empty() && param.kind != ValueKind::Loop) {
      for (const std::string& name : block_names(spot)) { note += (note.empty() ? "now: " : ", ") + fmt::format("`\"{}\"`", name); }
    }
  }
  return note;
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
