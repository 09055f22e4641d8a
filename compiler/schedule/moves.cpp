// Legal moves: see moves.h.
#include "schedule/moves.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "ir/ops.h"
#include "schedule/candidates.h"
#include "schedule/trace.h"
#include "support/codes.h"
#include "support/text.h"

namespace loopsmith::schedule {
namespace {

// The limit on combinations: a person would not read more.
constexpr size_t most_moves = 256;

auto candidates_for(const Choice& choice, const Param& param, bool is_first) -> std::vector<Value> {
  if (param.candidates) { return param.candidates(choice); }
  const Place& focus = choice.focus;
  if (is_first && !param.is_list) {
    switch (param.kind) {
      case ValueKind::Block: return focus.is_block() ? std::vector<Value>{Choice::block(focus)} : std::vector<Value>();
      case ValueKind::Loop: return focus.is_loop() ? std::vector<Value>{Choice::loop(focus)} : std::vector<Value>();
      case ValueKind::BlockOrLoop: return {focus.is_block() ? Choice::block(focus) : Choice::loop(focus)};
      default: break;
    }
  }
  if (param.otherwise) { return {*param.otherwise}; }
  if (param.kind == ValueKind::Bool) { return candidates::booleans(choice); }
  if (param.kind == ValueKind::Loop && !param.is_list) { return candidates::loops_around(choice); }
  return {};
}

// True for values that belong to the focus. A list of loops belongs to its outermost loop, so that each list is tried at one place only.
auto is_about(const Choice& choice, const Value& value) -> bool {
  const auto* list = value.as<Value::List>();
  if (!list) { return true; }
  const Place* first = nullptr;
  for (const Value& item : *list) {
    const Place* place = choice.place(item);
    if (place && (!first || place->index < first->index)) { first = place; }
  }
  return !first || first == &choice.focus;
}

void combine(const Choice& before, const Primitive& primitive, std::vector<Value>& chosen, std::vector<Move>& out) {
  size_t i = chosen.size();
  if (out.size() >= most_moves) { return; }
  if (i == primitive.params.size()) {
    out.push_back({&primitive, chosen});
    return;
  }
  Choice choice{before.state, before.func, before.focus, chosen};
  for (Value& value : candidates_for(choice, primitive.params[i], i == 0)) {
    if (i == 0 && !is_about(choice, value)) { continue; }
    chosen.push_back(std::move(value));
    combine(choice, primitive, chosen, out);
    chosen.pop_back();
  }
}

auto table_of(const FuncState& func) -> std::vector<Context::Binding> {
  std::vector<Context::Binding> out;
  out.reserve(func.places().size());
  for (const Place& place : func.places()) {
    out.push_back({place.is_block() ? Context::Binding::Kind::Block : Context::Binding::Kind::Loop, place.id, func.name()});
  }
  return out;
}

auto judge_with(const State& state, const FuncState& func, const Move& move, const std::vector<Context::Binding>& table) -> Status {
  RandomEngine random(1);
  Value decision;
  Context cx{state, *move.primitive, func.name(), {}, random, decision, table};
  return move.primitive->check(cx, move.values);
}

auto has_unique_name(const FuncState& func, const Place& block) -> bool {
  size_t count = 0;
  for (const Place& place : func.places()) { count += place.is_block() && place.name() == block.name(); }
  return count == 1;
}

// The number of a block among the blocks of its scope.
auto number_in_scope(const FuncState& func, const Place& block) -> size_t {
  auto blocks = func.child_blocks(*func.scope(block));
  return static_cast<size_t>(std::find(blocks.begin(), blocks.end(), &block) - blocks.begin());
}

auto block_text(const FuncState& func, const Place& block, const NameOfPlace& name_of, bool as_argument) -> std::string {
  if (std::string name = name_of ? name_of(block) : ""; !name.empty()) { return name; }
  if (has_unique_name(func, block)) {
    return as_argument ? fmt::format("\"{}\"", block.name().view()) : fmt::format("sch.get_block(\"{}\")", block.name().view());
  }
  if (!func.scope(block)) { return fmt::format("sch.get_block(\"{}\")", block.name().view()); }
  return fmt::format("sch.get_child_blocks({})[{}]", block_text(func, *func.scope(block), name_of, true), number_in_scope(func, block));
}

auto loop_text(const FuncState& func, const Place& loop, const NameOfPlace& name_of) -> std::string {
  if (std::string name = name_of ? name_of(loop) : ""; !name.empty()) { return name; }
  auto below = func.child_blocks(loop);
  if (below.empty()) { return loop.name().str(); }
  return fmt::format("sch.get_loops({})[{}]", block_text(func, *below.front(), name_of, true), func.loops(loop).size());
}

auto value_text(const FuncState& func, const Value& value, const Param& param, const NameOfPlace& name_of) -> std::string {
  if (const auto* b = value.as<BlockRV>()) { return block_text(func, func.places()[b->var], name_of, true); }
  if (const auto* l = value.as<LoopRV>()) { return loop_text(func, func.places()[l->var], name_of); }
  if (const auto* list = value.as<Value::List>()) {
    bool is_pair = param.kind == ValueKind::Buffer;
    std::string out = is_pair ? "(" : "[";
    for (size_t i = 0; i < list->size(); ++i) { out += (i ? ", " : "") + value_text(func, (*list)[i], param, name_of); }
    return out + (is_pair ? ")" : "]");
  }
  if (value.is_none()) { return "None"; }
  if (const bool* b = value.as<bool>()) { return *b ? "True" : "False"; }
  if (const int64_t* i = value.integer()) { return std::to_string(*i); }
  if (const auto* d = value.as<double>()) { return fmt::format("{}", *d); }
  if (const auto* s = value.as<std::string>()) { return "\"" + *s + "\""; }
  // Index maps and expressions, as a trace prints them.
  Instruction instruction;
  bool is_ranges = param.map_of == MapOf::Ranges;
  instruction.primitive = find_primitive(is_ranges ? "annotate_buffer_access" : "annotate");
  instruction.values = is_ranges ? std::vector<Value>{Value(), Value(int64_t{0}), Value(""), value} : std::vector<Value>{Value(), Value(""), value};
  std::string line = python_line(instruction);
  std::string_view key = is_ranges ? "gen_new_ranges=" : "ann_val=";
  size_t at = line.find(key);
  return at == std::string::npos ? "..." : line.substr(at + key.size(), line.size() - at - key.size() - 1);
}

auto one(Result<Value> result, size_t index) -> Result<Value> {
  if (!result.ok()) { return result; }
  const auto* list = result->as<Value::List>();
  if (!list || index >= list->size()) { return error(Code::VariableGone).arg("variable", "_").arg("what", "place"); }
  return Value((*list)[index]);
}

auto look_up_place(Schedule& schedule, const FuncState& func, const Place& place) -> Result<Value> {
  if (place.is_loop()) {
    auto below = func.child_blocks(place);
    if (below.empty()) { return error(Code::VariableGone).arg("variable", place.name().view()).arg("what", "loop"); }
    LOOPSMITH_TRY(block, look_up_place(schedule, func, *below.front()));
    return one(schedule.call("get_loops", {block}), func.loops(place).size());
  }
  if (has_unique_name(func, place) || !func.scope(place)) { return schedule.call("get_block", {Value(place.name().str()), Value(func.name().str())}); }
  LOOPSMITH_TRY(scope, look_up_place(schedule, func, *func.scope(place)));
  return one(schedule.call("get_child_blocks", {scope}), number_in_scope(func, place));
}

auto looked_up(Schedule& schedule, const FuncState& func, const Value& value) -> Result<Value> {
  if (const auto* b = value.as<BlockRV>()) { return look_up_place(schedule, func, func.places()[b->var]); }
  if (const auto* l = value.as<LoopRV>()) { return look_up_place(schedule, func, func.places()[l->var]); }
  if (const auto* list = value.as<Value::List>()) {
    Value::List out;
    for (const Value& item : *list) {
      LOOPSMITH_TRY(found, looked_up(schedule, func, item));
      out.push_back(std::move(found));
    }
    return Value(std::move(out));
  }
  return value;
}

}  // namespace

auto candidate_moves(const State& state, const FuncState& func, const Place& focus, const Primitive& primitive) -> std::vector<Move> {
  std::vector<Move> out;
  if (primitive.is_pure || primitive.params.empty()) { return out; }
  // A script cannot look up a loop that holds no block (in a block that copies a tile).
  if (focus.is_loop() && func.child_blocks(focus).empty()) { return out; }
  std::vector<Value> chosen;
  combine({state, func, focus, {}}, primitive, chosen, out);
  return out;
}

auto candidate_values(const State& state, const FuncState& func, const Place& focus, const Primitive& primitive, std::span<const Value> before) -> std::vector<Value> {
  if (before.size() >= primitive.params.size()) { return {}; }
  return candidates_for({state, func, focus, before}, primitive.params[before.size()], before.empty());
}

auto judge(const State& state, const FuncState& func, const Move& move) -> Status { return judge_with(state, func, move, table_of(func)); }

namespace {

auto is_of_device(std::string_view text) -> bool {
  return text.starts_with("threadIdx") || text.starts_with("blockIdx") || text.starts_with("vthread") || text.starts_with("shared") || text.starts_with("warp") ||
         text.starts_with("wmma") || text.starts_with("m16n8k8");
}

/// True if the loop already has the kind that the primitive sets, or runs once, so that its kind has no effect.
auto has_kind(const For& loop, std::string_view primitive) -> bool {
  if (primitive == "parallel" || primitive == "vectorize" || primitive == "unroll") {
    ForKind kind = primitive == "parallel" ? ForKind::Parallel : primitive == "vectorize" ? ForKind::Vectorized : ForKind::Unrolled;
    return loop.for_kind == kind || as_int(loop.extent) == 1;
  }
  return primitive == "bind" && loop.for_kind == ForKind::ThreadBinding;
}

/// True if the buffer to be cached is itself memory of the function in the same scope: the cache would only copy a copy.
auto copies_a_copy(const FuncState& func, const Block& block, const Move& move) -> bool {
  const int64_t* index = move.values.size() > 2 ? move.values[1].integer() : nullptr;
  const auto* scope = move.values.size() > 2 ? move.values[2].as<std::string>() : nullptr;
  const auto& regions = move.primitive->name == "cache_read" ? block.reads : block.writes;
  if (!index || !scope || *index < 0 || *index >= static_cast<int64_t>(regions.size())) { return false; }
  const Buffer& buffer = regions[static_cast<size_t>(*index)].buffer;
  for (const auto& [param, one] : func.func()->buffer_map) {
    if (one == buffer) { return false; }
  }
  return buffer->scope().view() == *scope;
}

}  // namespace

auto is_worth_offering(const FuncState& func, const Move& move, bool is_device) -> bool {
  std::string_view name = move.primitive->name;
  if (is_device ? name == "parallel" : name == "bind") { return false; }
  for (const Value& value : move.values) {
    const auto* text = value.as<std::string>();
    if (text && !is_device && is_of_device(*text)) { return false; }
  }
  if (move.values.empty()) { return true; }
  uint32_t index = UINT32_MAX;
  if (const auto* loop = move.values[0].as<LoopRV>()) { index = loop->var; }
  if (const auto* block = move.values[0].as<BlockRV>()) { index = block->var; }
  if (index >= func.places().size()) { return true; }
  const Place& place = func.places()[index];
  if (place.is_loop()) { return !has_kind(*place.loop, name); }
  return (name != "cache_read" && name != "cache_write") || !copies_a_copy(func, *place.block(), move);
}

auto moves_at(const State& state, const FuncState& func, const Place& focus, const Primitive* only) -> std::vector<JudgedMove> {
  std::vector<JudgedMove> out;
  auto table = table_of(func);
  for (const Primitive* primitive : all_primitives()) {
    if (only && primitive != only) { continue; }
    for (Move& move : candidate_moves(state, func, focus, *primitive)) {
      Status status = judge_with(state, func, move, table);
      out.push_back({std::move(move), status.ok() ? Diagnostics() : std::move(status).diagnostics()});
    }
  }
  return out;
}

auto in_words_of(std::string calls, std::string_view schedule) -> std::string {
  if (schedule == "sch") { return calls; }
  std::string out;
  char quote = 0;
  for (size_t i = 0; i < calls.size(); ++i) {
    char c = calls[i];
    bool is_within = i > 0 && (c == '.' || calls[i - 1] == '.' || is_name_part(calls[i - 1]));
    if (quote == 0 && !is_within && calls.compare(i, 4, "sch.") == 0) {
      out += schedule;
      i += 2;
      continue;
    }
    if (c == '"' || c == '\'') { quote = quote == 0 ? c : quote == c ? '\0' : quote; }
    out += c;
  }
  return out;
}

auto place_text(const FuncState& func, const Place& place, const NameOfPlace& name_of) -> std::string {
  return place.is_block() ? block_text(func, place, name_of, true) : loop_text(func, place, name_of);
}

auto argument_text(const FuncState& func, const Value& value, const Param& param, const NameOfPlace& name_of) -> std::string { return value_text(func, value, param, name_of); }

auto text_of(const FuncState& func, const Move& move, const NameOfPlace& name_of) -> std::string {
  std::string out = fmt::format("sch.{}(", move.primitive->name);
  bool first = true;
  bool is_positional = true;
  for (size_t i = 0; i < move.primitive->params.size(); ++i) {
    const Param& param = move.primitive->params[i];
    if (param.otherwise && move.values[i] == *param.otherwise) {
      is_positional = false;
      continue;
    }
    if (param.role == Role::Decision) { continue; }
    const auto* list = move.values[i].as<Value::List>();
    if (param.is_variadic && list) {
      for (const Value& item : *list) {
        out += (first ? "" : ", ") + value_text(func, item, param, name_of);
        first = false;
      }
      continue;
    }
    bool is_named = !is_positional || (i > 0 && param.role != Role::Input) || list;
    // In Python no positional argument may follow a keyword argument.
    if (is_named && i > 0) { is_positional = false; }
    out += fmt::format("{}{}{}", first ? "" : ", ", is_named && i > 0 ? fmt::format("{}=", param.name) : "", value_text(func, move.values[i], param, name_of));
    first = false;
  }
  return out + ")";
}

auto try_move(const Schedule& schedule, const Move& move, const NameOfPlace& name_of, const std::function<bool(std::string_view)>& is_taken) -> Result<Tried> {
  const FuncState* func = schedule.state().func(schedule.func_working_on());
  if (!func) { return error(Code::NoFunctionToSchedule).arg("function", schedule.func_working_on().view()); }
  Tried tried{text_of(*func, move, name_of), schedule};
  LOOPSMITH_TRY(results, apply_move(tried.after, move));
  std::vector<std::string> names;
  for (const Value& result : *results.as<Value::List>()) {
    std::string name;
    if (const auto* b = result.as<BlockRV>()) {
      LOOPSMITH_TRY(place, tried.after.get(*b));
      name = place->name().str();
    } else if (const auto* l = result.as<LoopRV>()) {
      LOOPSMITH_TRY(place, tried.after.get(*l));
      name = place->name().str();
    } else {
      name = std::string(move.primitive->output_name);
    }
    for (char& c : name) { c = is_name_part(c) ? c : '_'; }
    if (name.empty() || is_digit(name[0])) { name.insert(0, "_"); }
    auto is_used = [&](const std::string& one) { return is_taken(one) || std::find(names.begin(), names.end(), one) != names.end(); };
    std::string unique = name;
    for (int number = 1; is_used(unique); ++number) { unique = fmt::format("{}_{}", name, number); }
    names.push_back(std::move(unique));
  }
  if (!names.empty()) {
    bool is_list = move.primitive->output == OutputKind::Loops || move.primitive->output == OutputKind::Blocks || move.primitive->output == OutputKind::Exprs;
    tried.statement = fmt::format("{}{} = {}", fmt::join(names, ", "), is_list && names.size() == 1 ? "," : "", tried.statement);
  }
  return tried;
}

auto look_up(Schedule& schedule, const FuncState& func, const std::vector<Value>& values) -> Result<std::vector<Value>> {
  std::vector<Value> out;
  for (const Value& value : values) {
    LOOPSMITH_TRY(found, looked_up(schedule, func, value));
    out.push_back(std::move(found));
  }
  return out;
}

auto apply_move(Schedule& schedule, const Move& move) -> Result<Value> {
  const FuncState* func = schedule.state().func(schedule.func_working_on());
  if (!func) { return error(Code::NoFunctionToSchedule).arg("function", schedule.func_working_on().view()); }
  Schedule before = schedule;
  auto run = [&]() -> Result<Value> {
    LOOPSMITH_TRY(values, look_up(schedule, *func, move.values));
    LOOPSMITH_TRY(outputs, schedule.apply_values(*move.primitive, std::move(values)));
    return Value(Value::List(std::move(outputs)));
  };
  auto result = run();
  if (!result.ok()) { schedule = std::move(before); }
  return result;
}

auto to_places(const Schedule& schedule, const FuncState& func, const Primitive& primitive, const std::vector<Value>& values)
    -> std::optional<std::vector<Value>> {
  bool is_known = true;
  std::function<Value(const Value&, bool)> convert_one = [&](const Value& value, bool names_block) -> Value {
    auto place_of = [&](const Result<const Place*>& found) -> Value {
      const Place* here = found.ok() ? func.find((*found)->id) : nullptr;
      is_known = is_known && here;
      return !here ? Value() : here->is_block() ? Choice::block(*here) : Choice::loop(*here);
    };
    if (const auto* b = value.as<BlockRV>()) { return place_of(schedule.get(*b)); }
    if (const auto* l = value.as<LoopRV>()) { return place_of(schedule.get(*l)); }
    if (const auto* e = value.as<ExprRV>()) {
      auto number = schedule.get(*e);
      is_known = is_known && number.ok();
      return number.ok() ? Value(*number) : Value();
    }
    if (const auto* s = value.as<std::string>(); s && names_block) {
      for (const Place& place : func.places()) {
        if (place.is_block() && place.name() == std::string_view(*s) && has_unique_name(func, place)) { return Choice::block(place); }
      }
      is_known = false;
      return value;
    }
    if (const auto* list = value.as<Value::List>()) {
      Value::List out;
      for (const Value& item : *list) { out.push_back(convert_one(item, names_block)); }
      return Value(std::move(out));
    }
    return value;
  };
  std::vector<Value> out;
  for (size_t i = 0; i < values.size(); ++i) {
    ValueKind kind = primitive.params[i].kind;
    out.push_back(convert_one(values[i], kind == ValueKind::Block || kind == ValueKind::BlockOrLoop));
  }
  if (!is_known) { return {}; }
  return out;
}

}  // namespace loopsmith::schedule
