// Legality at the cursor: see legality.h.
#include "lsp/features/completion/legality.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/vocabulary.h"
#include "lsp/features/completion/arguments.h"

namespace loopsmith::lsp {
namespace {

/// The meaning of a number or list: `1` is the buffer `A` that the block reads, `[1, 0]` an order of iter vars. Empty: no other meaning.
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

}  // namespace

auto argument_legality(const ScheduleSpot& spot, const schedule::Primitive& row, const schedule::Param& param, const schedule::Place& place) -> schedule::Legality {
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
    // In a call with loops as separate arguments, the loops before this one and this one are judged as a list.
    if (at != 0 || !param.is_variadic || call.arguments.empty()) { return {}; }
    schedule::Value::List list;
    for (const std::string& argument : call.arguments) {
      auto value = written_value(spot, param, argument);
      if (!value) { return {}; }
      list.push_back(std::move(*value));
    }
    list.push_back(here);
    first.emplace_back(schedule::Value(std::move(list)));
    return judged();
  }
  auto before = values_before(spot, row, at);
  if (!before) { return {}; }
  first.assign(before->begin(), before->end());
  first.emplace_back(std::move(here));
  return judged();
}

auto values_offered(const ScheduleSpot& spot, const schedule::Primitive& row, const schedule::Param& param) -> std::vector<Offered> {
  constexpr size_t most = 24;
  using schedule::ValueKind;
  auto at = static_cast<size_t>(&param - row.params.data());
  bool is_place = param.kind == ValueKind::Loop || param.kind == ValueKind::Block || param.kind == ValueKind::BlockOrLoop || param.kind == ValueKind::Bool;
  auto before = at > 0 && !is_place && !row.is_pure ? values_before(spot, row, at) : std::nullopt;
  if (!before) { return {}; }
  const schedule::FuncState& func = *spot.now->state().func(spot.now->func_working_on());
  if (!func.is_schedulable()) { return {}; }
  schedule::Choice all{spot.now->state(), func, func.root(), *before};
  std::vector<schedule::Value> values = schedule::candidate_values(spot.now->state(), func, all.subject(), row, *before);
  auto words = [&](const auto& known) {
    values.clear();
    for (std::string_view word : known) { values.emplace_back(std::string(word)); }
  };
  if (param.name == "thread_axis") { words(bindable_axes()); }
  if (param.name == "storage_scope") { words(usual_scopes()); }
  if (param.name == "dtype") { words(dtypes); }
  // Refused buffers are also listed, with the reason.
  if (param.kind == ValueKind::Buffer) { values = schedule::candidates::buffers(all); }
  const schedule::Place& subject = all.subject();
  const Block* block = subject.is_block() ? subject.block() : block_of_argument(spot, row);
  auto name_of = names_for(spot.live);
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

Gains::Gains(const ScheduleSpot& spot) : spot_(spot), core_(cost::core_for(spot.target)) {
  // Legality has priority: estimates get only this part of the time.
  if (spot.patience.until != never()) { until_ = in(std::chrono::milliseconds(15)); }
}

auto Gains::best(const schedule::Primitive& row, const schedule::Move& first) -> std::optional<std::pair<schedule::Move, double>> {
  JudgedState* known = spot_.patience.judged;
  if (known != nullptr) {
    if (auto found = known->best.find(std::string(row.name)); found != known->best.end()) { return found->second; }
  }
  if (is_late()) { return std::nullopt; }
  if (!now_) { now_ = seconds_of(*spot_.now); }
  std::pair<schedule::Move, double> best{first, gain_of(first)};
  const schedule::State& state = spot_.now->state();
  const schedule::FuncState* func = state.func(spot_.now->func_working_on());
  for (const LiveVariable& variable : spot_.live) {
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

auto Gains::is_late() const -> bool { return spot_.is_late() || (until_ != never() && Clock::now() > until_); }

auto Gains::seconds_of(const schedule::Schedule& schedule) const -> double {
  const schedule::FuncState* func = schedule.state().func(schedule.func_working_on());
  auto found = func != nullptr ? cost::estimate(*func, core_) : std::nullopt;
  return found ? found->seconds : 0;
}

auto Gains::gain_of(const schedule::Move& move) -> double {
  if (*now_ <= 0) { return 1; }
  auto tried = schedule::try_move(*spot_.now, move, names_for(spot_.live), [](std::string_view) { return false; });
  double after = tried.ok() ? seconds_of(tried->after) : 0;
  return after > 0 && !cost::gain_text(*now_ / after).empty() ? *now_ / after : 1;
}
}  // namespace loopsmith::lsp
