// Arguments of the call at the cursor: see arguments.h.
#include "lsp/features/completion/arguments.h"

#include <algorithm>

#include "ir/ops.h"
#include "schedule/candidates.h"
#include "support/text.h"

namespace loopsmith::lsp {
namespace {

/// The text of the argument before the cursor for a parameter; empty: it is not written.
auto argument_for(const CallContext& call, const schedule::Primitive& row, size_t param) -> std::string {
  std::string named = std::string(row.params[param].name) + "=";
  for (size_t i = 0; i < call.arguments.size(); ++i) {
    const std::string& text = call.arguments[i];
    if (text.starts_with(named)) { return text.substr(std::min(text.find_first_not_of(' ', named.size()), text.size())); }
    size_t equals = text.find('=');
    bool is_named = equals != std::string::npos && std::all_of(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(equals), is_name_part);
    if (i == param && !is_named) { return text; }
  }
  return {};
}

/// The index of a buffer with a name (`"A"`) among the buffers that the block in an earlier argument reads or writes. Other values, and
/// names that the block does not use, are returned unchanged.
auto with_buffer_found(const ScheduleSpot& spot, const std::vector<schedule::Value>& before, const schedule::Param& param, schedule::Value value) -> schedule::Value {
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

}  // namespace

auto row_called(const ScheduleSpot& spot) -> const schedule::Primitive* {
  if (!spot.text.call || spot.schedule_name.empty()) { return nullptr; }
  const std::string& callee = spot.text.call->callee;
  size_t dot = callee.rfind('.');
  if (dot == std::string::npos || callee.substr(0, dot) != spot.schedule_name) { return nullptr; }
  return schedule::find_primitive(std::string_view(callee).substr(dot + 1));
}

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
    // Before the colon, commas separate parameters.
    if (c == ':' && depth == 0) { is_lambda = false; }
    if (c == ',' && depth == 0 && !is_lambda) { break; }
  }
  return i;
}

auto written_value(const ScheduleSpot& spot, const schedule::Param& param, std::string_view text) -> std::optional<schedule::Value> {
  for (const LiveVariable& variable : spot.live) {
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
      auto value = written_value(spot, param, item.substr(0, item.find_last_not_of(' ') + 1));
      if (!value) { return std::nullopt; }
      list.push_back(std::move(*value));
      begin = end + 1;
    }
    return schedule::Value(std::move(list));
  }
  if (text.find('(') != std::string_view::npos) {
    for (const auto& [written, place] : unnamed_places(spot)) {
      if (written == text) { return place->is_block() ? schedule::Choice::block(*place) : schedule::Choice::loop(*place); }
    }
  }
  if (text == "None") { return schedule::Value(); }
  if (text == "True" || text == "False") { return schedule::Value(text == "True"); }
  if (!text.empty() && text.size() < 10 && text.find_first_not_of("0123456789") == std::string_view::npos) { return schedule::Value(int64_t{std::stol(std::string(text))}); }
  return std::nullopt;
}

auto values_before(const ScheduleSpot& spot, const schedule::Primitive& row, size_t param) -> std::optional<std::vector<schedule::Value>> {
  if (spot.now == nullptr || spot.now->state().func(spot.now->func_working_on()) == nullptr) { return std::nullopt; }
  std::vector<schedule::Value> values;
  for (size_t i = 0; i < param; ++i) {
    std::string text = argument_for(*spot.text.call, row, i);
    auto value = text.empty() ? row.params[i].otherwise : written_value(spot, row.params[i], text);
    if (!value) { return std::nullopt; }
    values.push_back(with_buffer_found(spot, values, row.params[i], std::move(*value)));
  }
  return values;
}

auto block_of_argument(const ScheduleSpot& spot, const schedule::Primitive& row) -> const Block* {
  for (size_t i = 0; i < row.params.size(); ++i) {
    if (row.params[i].kind != schedule::ValueKind::Block && row.params[i].kind != schedule::ValueKind::BlockOrLoop) { continue; }
    auto before = values_before(spot, row, i + 1);
    if (!before) { return nullptr; }
    const schedule::FuncState& func = *spot.now->state().func(spot.now->func_working_on());
    const schedule::Place* place = schedule::Choice{spot.now->state(), func, func.root(), {}}.place(before->back());
    return place != nullptr && place->is_block() ? place->block() : nullptr;
  }
  return nullptr;
}

auto extent_of_argument(const ScheduleSpot& spot) -> std::optional<int64_t> {
  if (spot.text.call->arguments.empty()) { return std::nullopt; }
  std::string first = spot.text.call->arguments.front();
  if (first.starts_with("loop=")) { first = first.substr(5); }
  for (const LiveVariable& variable : spot.live) {
    if (variable.name == first && variable.place != nullptr && variable.place->is_loop()) { return as_int(variable.place->loop->extent); }
  }
  return std::nullopt;
}

auto extent_left(const ScheduleSpot& spot, int64_t extent) -> std::optional<int64_t> {
  std::vector<std::string> others = spot.text.call->list_items;
  std::string_view behind = spot.behind.substr(0, std::min(spot.behind.find_first_of("]\n"), spot.behind.size()));
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

}  // namespace loopsmith::lsp
