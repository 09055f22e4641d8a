// Arguments of calls at the prompt: see arguments.h.
#include "repl/arguments.h"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <span>

#include "ir/ops.h"
#include "schedule/legality.h"
#include "schedule/primitive.h"
#include "script/scope_names.h"

namespace loopsmith::repl {
namespace {

/// A key waits no longer than this.
constexpr auto patience = std::chrono::milliseconds(150);
constexpr int64_t largest_factor = 4096;

/// The innermost call of a primitive that is not closed.
struct Call {
  const schedule::Primitive* row = nullptr;
  std::vector<std::string> arguments;    // that are complete, in order, but for those with a keyword
  std::vector<std::pair<std::string, std::string>> named;   // the others
  std::string keyword;                   // of the one at the end; may be empty
  bool in_list = false;                  // of the one at the end
  bool in_text = false;                  // the end is in quotes

  /// What is given for a parameter; empty: nothing.
  [[nodiscard]] auto given(size_t index) const -> std::string {
    if (index < arguments.size()) { return arguments[index]; }
    for (const auto& [name, value] : named) {
      if (row != nullptr && index < row->params.size() && row->params[index].name == name) { return value; }
    }
    return {};
  }
};

constexpr std::string_view thread_axes[] = {"blockIdx.x", "blockIdx.y", "blockIdx.z", "threadIdx.x", "threadIdx.y", "threadIdx.z", "vthread.x", "vthread.y", "vthread.z"};
constexpr std::string_view storage_scopes[] = {"global", "shared", "local", "shared.dyn", "warp", "wmma.matrix_a", "wmma.matrix_b", "wmma.accumulator"};

auto trimmed(std::string_view text) -> std::string {
  size_t begin = std::min(text.find_first_not_of(' '), text.size());
  return std::string(text.substr(begin, text.find_last_not_of(' ') + 1 - begin));
}

/// Where the `=` behind a keyword is; `npos`: there is none.
auto keyword_end(std::string_view argument) -> size_t {
  size_t end = 0;
  while (end < argument.size() && (std::isalnum(static_cast<unsigned char>(argument[end])) != 0 || argument[end] == '_')) { ++end; }
  size_t equals = argument.find_first_not_of(' ', end);
  bool is_one = end > 0 && equals != std::string_view::npos && argument[equals] == '=' && (equals + 1 >= argument.size() || argument[equals + 1] != '=');
  return is_one ? equals : std::string_view::npos;
}

auto open_call(std::string_view text) -> Call {
  struct Open { char bracket; size_t at; };
  std::vector<Open> open;
  char quote = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (quote != 0) {
      if (c == quote) { quote = 0; }
      continue;
    }
    if (c == '"' || c == '\'') { quote = c; }
    if (c == '(' || c == '[' || c == '{') { open.push_back({c, i}); }
    if ((c == ')' || c == ']' || c == '}') && !open.empty()) { open.pop_back(); }
  }
  Call call;
  call.in_text = quote != 0;
  while (!open.empty() && open.back().bracket == '[') {
    call.in_list = true;
    open.pop_back();
  }
  if (open.empty() || open.back().bracket != '(') { return call; }
  size_t begin = open.back().at;
  size_t name = begin;
  while (name > 0 && (std::isalnum(static_cast<unsigned char>(text[name - 1])) != 0 || text[name - 1] == '_')) { --name; }
  if (name < 4 || text.substr(name - 4, 4) != "sch.") { return call; }
  call.row = schedule::find_primitive(std::string(text.substr(name, begin - name)));
  // Its arguments, at its own depth.
  int depth = 0;
  size_t from = begin + 1;
  for (size_t i = begin + 1; i <= text.size(); ++i) {
    char c = i < text.size() ? text[i] : '\0';
    if (c == '(' || c == '[' || c == '{') { ++depth; }
    if (c == ')' || c == ']' || c == '}') { --depth; }
    if (c == ',' && depth == 0) {
      std::string argument = trimmed(text.substr(from, i - from));
      size_t equals = keyword_end(argument);
      if (equals != std::string::npos) {
        call.named.emplace_back(trimmed(std::string_view(argument).substr(0, equals)), trimmed(std::string_view(argument).substr(equals + 1)));
      } else {
        call.arguments.push_back(std::move(argument));
      }
      from = i + 1;
    }
  }
  std::string last = trimmed(text.substr(from));
  size_t equals = keyword_end(last);
  if (equals != std::string::npos) { call.keyword = trimmed(std::string_view(last).substr(0, equals)); }
  return call;
}

auto value_of(const schedule::Place& place) -> schedule::Value { return place.is_block() ? schedule::Choice::block(place) : schedule::Choice::loop(place); }

/// Names of the script, looked up once.
auto names_in(const Session& session) -> schedule::NameOfPlace {
  return [names = script::scope_names(session.schedule(), *session.steps()[session.position()].frame.scope)](const schedule::Place& place) -> std::string {
    auto found = names.find(place.id);
    return found == names.end() || found->second.starts_with("_") ? std::string() : found->second;
  };
}

/// What an argument that is written means, by place; none: anything else.
auto value_of(const Session& session, std::string text) -> std::optional<schedule::Value> {
  if (text.size() >= 2 && (text.front() == '"' || text.front() == '\'') && text.back() == text.front()) { text = text.substr(1, text.size() - 2); }
  if (const schedule::Place* place = session.place_of(text)) { return value_of(*place); }
  // What was offered for a loop that has no name.
  if (text.starts_with("sch.")) {
    const schedule::FuncState* func = session.schedule().state().func(session.function());
    auto name_of = names_in(session);
    for (const schedule::Place& place : func->places()) {
      if (place.parent >= 0 && schedule::place_text(*func, place, name_of) == text) { return value_of(place); }
    }
  }
  if (!text.empty() && text.size() < 10 && text.find_first_not_of("0123456789") == std::string::npos) { return schedule::Value(int64_t{std::stol(text)}); }
  return std::nullopt;
}

}  // namespace

auto complete_argument(const Session& session, std::string_view before, std::string_view word) -> std::optional<std::vector<std::string>> {
  // `:why-not split(` is about the call that it would be.
  constexpr std::string_view asked = ":why-not ";
  std::string as_call;
  if (before.starts_with(asked)) {
    std::string_view rest = before.substr(asked.size());
    as_call = (rest.starts_with("sch.") ? "" : "sch.") + std::string(rest);
    before = as_call;
  }
  Call call = open_call(before);
  if (call.row == nullptr || (call.row->is_pure && !call.in_text)) { return std::nullopt; }
  const schedule::Schedule& now = session.schedule();
  const schedule::FuncState* func = now.state().func(session.function());
  if (func == nullptr || !func->is_schedulable()) { return std::nullopt; }
  const schedule::Param* param = nullptr;
  size_t index = call.arguments.size();
  for (size_t i = 0; i < call.row->params.size(); ++i) {
    const schedule::Param& one = call.row->params[i];
    bool is_it = call.keyword.empty() ? i == index || (one.is_variadic && i < index) : call.keyword == one.name;
    if (is_it) {
      param = &one;
      index = i;
      break;
    }
  }
  if (param == nullptr) { return std::nullopt; }
  std::vector<std::string> out;
  auto offer = [&](const std::string& text) {
    if (text.starts_with(word)) { out.push_back(text); }
  };
  if (call.in_text) {
    auto offer_all = [&](std::span<const std::string_view> texts) {
      for (std::string_view text : texts) { offer(std::string(text)); }
    };
    if (param->kind == schedule::ValueKind::Block || param->kind == schedule::ValueKind::BlockOrLoop || call.row->is_pure) {
      for (const schedule::Place& place : func->places()) {
        if (place.is_block() && place.parent >= 0) { offer(place.name().str()); }
      }
    } else if (param->name == "thread_axis") {
      offer_all(thread_axes);
    } else if (param->name == "storage_scope") {
      offer_all(storage_scopes);
    }
    return out;
  }
  if (call.in_list) {
    // Factors of the loop before.
    std::string loop = call.given(0);
    auto first = loop.empty() ? nullptr : session.place_of(loop);
    auto extent = first != nullptr && first->is_loop() && param->name == "factors" ? as_int(first->loop->extent) : std::nullopt;
    if (!extent) { return std::nullopt; }
    offer("None");
    for (int64_t d = 2; d <= std::min(*extent, largest_factor); ++d) {
      if (*extent % d == 0) { offer(std::to_string(d)); }
    }
    return out;
  }
  bool takes_loop = param->kind == schedule::ValueKind::Loop || param->kind == schedule::ValueKind::BlockOrLoop;
  bool takes_block = param->kind == schedule::ValueKind::Block || param->kind == schedule::ValueKind::BlockOrLoop;
  if (takes_loop || takes_block) {
    std::vector<std::optional<schedule::Value>> first;
    bool is_known = true;
    schedule::Value::List list;
    for (size_t i = 0; i < (param->is_variadic ? call.arguments.size() : index); ++i) {
      std::string given = call.given(i);
      auto value = value_of(session, given);
      is_known = is_known && value;
      if (!value) { break; }
      if (param->is_variadic && i >= index) { list.push_back(std::move(*value)); } else { first.push_back(std::move(value)); }
    }
    auto until = std::chrono::steady_clock::now() + patience;
    auto is_late = [&] { return std::chrono::steady_clock::now() > until; };
    auto name_of = names_in(session);
    for (const schedule::Place& place : func->places()) {
      if (place.parent < 0 || (place.is_loop() ? !takes_loop : !takes_block)) { continue; }
      // A loop without a name is looked up in the call: of many, those that there is time for.
      std::string name = name_of(place);
      bool is_unnamed = name.empty() && place.is_loop();
      if (is_unnamed && is_late()) { continue; }
      if (name.empty()) { name = schedule::place_text(*func, place, name_of); }
      if (!name.starts_with(word)) { continue; }
      bool is_used = std::find(call.arguments.begin(), call.arguments.end(), name) != call.arguments.end() && param->kind != schedule::ValueKind::Block;
      if (is_used) { continue; }
      auto with_here = first;
      if (param->is_list) {
        // One more of several; the last may be the last.
        auto all = list;
        all.push_back(value_of(place));
        with_here.emplace_back(schedule::Value(std::move(all)));
      } else {
        with_here.emplace_back(value_of(place));
      }
      // Of the first of several loops nothing is said before there are more.
      bool is_judged = is_known && !is_late() && !(param->is_list && list.empty());
      schedule::Legality legality = is_judged ? schedule::legality_with(now, *call.row, with_here, is_late) : schedule::Legality{};
      if (legality.verdict != schedule::Legality::Verdict::Refused) { offer(name); }
    }
  }
  // Parameters that are left, by their names.
  if (call.keyword.empty() && !param->is_variadic) {
    for (size_t i = index; i < call.row->params.size(); ++i) {
      if (!word.empty() || i > index || !(takes_loop || takes_block)) { offer(std::string(call.row->params[i].name) + "="); }
    }
  }
  if (out.empty() && !takes_loop && !takes_block) { return std::nullopt; }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

}  // namespace loopsmith::repl
