// Completion at the prompt: words of commands, and items of script. Items that depend on the state of the schedule come from the completion of
// editors (lsp/features/completion), which needs a text, a state and the names of the script; here its items become words.
#include <algorithm>
#include <chrono>

#include "lsp/features/calls.h"
#include "lsp/features/completion/arguments.h"
#include "lsp/features/completion/schedule_items.h"
#include "repl/answers.h"
#include "repl/commands.h"
#include "repl/session.h"
#include "repl/text.h"
#include "schedule/primitive.h"
#include "support/text.h"
#include "transform/pipelines.h"

namespace loopsmith::repl {
namespace {

/// A key waits no longer than this.
constexpr auto patience = std::chrono::milliseconds(300);

/// The words that fit behind a command.
enum class Words : uint8_t { Commands, Labels, Modes, Switches, Places, PlacesOrAll, PlacesOrPrimitives, Primitives, Programs, Stages, Settings, Topics, Schedules, Searches };
struct Rule {
  std::string_view before;     // the word follows an input that begins with this text
  Words words;
};
constexpr Rule rules[] = {
    {":goto ", Words::Labels},      {":bench ", Words::Labels},     {":diff ", Words::Labels},      {":why ", Words::Labels},       {":explain ", Words::Labels},
    {":mode ", Words::Modes},       {":set ascii ", Words::Switches}, {":set diff ", Words::Switches}, {":set pager ", Words::Switches}, {":set plain ", Words::Switches},
    {":print ", Words::PlacesOrAll}, {":p ", Words::Places},        {":ir ", Words::Places},        {":past ", Words::Places},      {":what-if ", Words::Places},
    {"??", Words::Places},          {":hint ", Words::PlacesOrPrimitives}, {":programs ", Words::Programs}, {":lower ", Words::Stages}, {"]", Words::Searches},
    {":set ", Words::Settings},     {":help ", Words::Topics},      {":with ", Words::Schedules},   {":watch ", Words::Schedules},
};

/// True if the letters of a word occur in a name in their order, the first one first.
auto has_letters(std::string_view name, std::string_view word) -> bool {
  if (!word.empty() && !name.starts_with(word[0])) { return false; }
  size_t at = 0;
  for (char c : word) {
    at = name.find(c, at);
    if (at == std::string_view::npos) { return false; }
    ++at;
  }
  return true;
}

/// Sorted, each once.
auto sorted(std::vector<std::string> words) -> std::vector<std::string> {
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  return words;
}

/// The script's variables for loops, blocks and numbers of a schedule.
auto live_variables(const schedule::Schedule& schedule, const eval::Scope& scope) -> std::vector<lsp::LiveVariable> {
  std::vector<lsp::LiveVariable> live;
  auto add = [&](const eval::Value& value, std::string name) {
    const auto* variable = value.as<script::VariableObject>();
    if (variable == nullptr) { return; }
    if (const auto* number = variable->variable.as<schedule::ExprRV>()) {
      if (auto known = schedule.get(*number); known.ok()) { live.push_back({std::move(name), nullptr, *known}); }
    } else if (const schedule::Place* place = lsp::place_of(schedule, variable->variable)) {
      live.push_back({std::move(name), place});
    }
  };
  for (const auto& [name, value] : scope.slots()) {
    if (name.view().starts_with("_")) { continue; }
    add(value, name.str());
    const std::vector<eval::Value>* items = value.items();
    for (size_t i = 0; items != nullptr && i < items->size(); ++i) { add((*items)[i], name.str() + "[" + std::to_string(i) + "]"); }
  }
  lsp::leave_out_named_items(live);
  return live;
}

/// The labels of items that are neither refused nor needless; if there are none, all labels. Needless are a keyword for the argument at the
/// cursor, and a factor of one.
auto labels_of(const std::vector<lsp::CompletionItem>& items, const lsp::ScheduleSpot& spot) -> std::vector<std::string> {
  const bool is_argument = spot.text.object.empty() && spot.text.call;
  const schedule::Primitive* row = is_argument ? lsp::row_called(spot) : nullptr;
  const schedule::Param* param = row != nullptr ? lsp::parameter_at(*row, *spot.text.call) : nullptr;
  const std::string keyword = param != nullptr && spot.text.prefix.empty() ? std::string(param->name) + "=" : std::string();
  std::vector<std::string> fitting;
  std::vector<std::string> all;
  for (const lsp::CompletionItem& item : items) {
    bool is_needless = item.label == keyword || (is_argument && spot.text.call->in_list && item.label == "1");
    bool is_refused = item.note == "not here";
    all.push_back(item.label);
    if (!is_needless && !is_refused) { fitting.push_back(item.label); }
  }
  return fitting.empty() ? all : fitting;
}

}  // namespace

auto Session::words_of_command(const std::string& before, const std::string& word) const -> std::optional<std::vector<std::string>> {
  const auto* rule = std::find_if(std::begin(rules), std::end(rules), [&](const Rule& one) { return before.starts_with(one.before); });
  std::optional<Words> kind = rule != std::end(rules) ? std::optional(rule->words) : std::nullopt;
  std::string_view stem = trim(before);
  if (stem == ":") { kind = Words::Commands; }
  if (stem == "?") { kind = Words::Topics; }
  // `?split ` requests help for a primitive at a loop or block.
  if (before.starts_with("?") && !before.starts_with("??") && before.find(' ') != std::string::npos) { kind = Words::Places; }
  if (before == ":why-not " || before == ":why-not sch.") { kind = Words::Primitives; }
  if (!kind) { return std::nullopt; }
  std::vector<std::string> out;
  auto offer = [&](std::string_view candidate) {
    if (candidate.starts_with(word)) { out.emplace_back(candidate); }
  };
  auto offer_all = [&](std::initializer_list<std::string_view> candidates) { for (std::string_view one : candidates) { offer(one); } };
  auto offer_commands = [&] { for (const Command& c : all_commands()) { offer(c.name); } };
  auto offer_primitives = [&] { for (const schedule::Primitive* p : schedule::all_primitives()) { offer(p->name); } };
  auto offer_places = [&] {
    const schedule::FuncState* func = has_program() ? schedule().state().func(function()) : nullptr;
    for (size_t i = 0; func != nullptr && i < func->places().size(); ++i) {
      const schedule::Place& place = func->places()[i];
      std::string name = place.parent >= 0 ? name_of(place) : std::string();
      if (place.parent >= 0) { offer(name.empty() ? place.name().view() : std::string_view(name)); }
    }
  };
  switch (*kind) {
    case Words::Commands: offer_commands(); return out;
    case Words::Labels:
      for (const SessionStep& step : steps_) {
        if (!step.label.empty()) { offer(step.label); }
      }
      return out;
    case Words::Modes:
      for (const AnswerMode& mode : answer_modes()) { offer(mode.name); }
      return out;
    case Words::Switches: offer_all({"off", "on"}); return out;
    case Words::Places: offer_places(); return sorted(std::move(out));
    case Words::PlacesOrAll: offer("all"); offer_places(); return sorted(std::move(out));
    case Words::PlacesOrPrimitives: offer("all"); offer_primitives(); offer_places(); return sorted(std::move(out));
    case Words::Primitives: offer_primitives(); return out;
    case Words::Programs:
      for (size_t i = 0; document_ && i < document_->file().size(); ++i) {
        const frontend::Declaration& d = document_->file().declaration(i);
        if (d.is_program) { offer(d.item->name.view()); }
      }
      return out;
    case Words::Stages:
      for (const transform::Stage& stage : transform::pipeline(target_.kind)) { offer(stage.name); }
      return out;
    case Words::Settings: offer_all({"ascii", "context", "diff", "height", "pager", "plain"}); return out;
    case Words::Topics: offer_commands(); offer_primitives(); return out;
    case Words::Schedules:
      for (const script::FileSchedule& s : snapshot_->schedules()) { offer(s.name.view()); }
      return out;
    case Words::Searches: offer_all({"db", "stop", "take", "wait"}); return out;
  }
  return out;
}

auto Session::words_of_script(std::string_view line, size_t cursor, size_t& start) const -> std::vector<std::string> {
  const eval::Scope& scope = *steps_[position_].frame.scope;
  lsp::ScheduleSpot spot{.text = lsp::cursor_text(line, static_cast<uint32_t>(cursor))};
  start = spot.text.prefix_begin;
  if (spot.text.in_comment) { return {}; }
  spot.behind = line.substr(cursor);
  spot.schedule_name = sch_name.str();
  spot.target = target_.str();
  spot.now = std::make_shared<const schedule::Schedule>(schedule());
  spot.program = original_;
  spot.live = live_variables(*spot.now, scope);
  spot.patience.until = in(patience);
  std::vector<std::string> out = labels_of(lsp::sorted_items(lsp::schedule_items(spot)), spot);
  const bool is_primitive = spot.text.object == spot.schedule_name;
  if (out.empty() && is_primitive && !spot.text.prefix.empty()) {
    // If no primitive begins so, the letters in their order are enough (`dred`).
    std::string word = std::exchange(spot.text.prefix, {});
    for (std::string& label : labels_of(lsp::sorted_items(lsp::schedule_items(spot)), spot)) {
      if (has_letters(label, word)) { out.push_back(std::move(label)); }
    }
  }
  if (!out.empty() || spot.text.in_string || !spot.text.object.empty()) { return out; }
  // Names of the script, if the argument of the primitive is unknown.
  auto offer = [&](std::string_view candidate) {
    if (candidate.starts_with(spot.text.prefix)) { out.emplace_back(candidate); }
  };
  for (const auto& [name, value] : scope.slots()) {
    if (name != last_name && name != last_error_name) { offer(name.view()); }
  }
  for (std::string_view name : {"sch", "range", "len"}) { offer(name); }
  std::string_view stem = trim(line.substr(0, start));
  if (stem.empty() || stem.ends_with(":") || stem.ends_with(";")) {
    for (std::string_view name : {"for", "if", "print"}) { offer(name); }
  }
  return sorted(std::move(out));
}

auto Session::complete(const std::string& input, size_t cursor, size_t& start) const -> std::vector<std::string> {
  cursor = std::min(cursor, input.size());
  start = name_begin(input, cursor);
  const size_t first = std::min(input.find_first_not_of(' '), input.size());
  // `:why-not` is completed as one word, unlike `sch.split`.
  if (size_t colon = input.rfind(':', start); colon != std::string::npos && colon == first && input.find(' ', colon) >= cursor) { start = colon + 1; }
  const std::string before = input.substr(0, start);
  if (auto words = words_of_command(before, input.substr(start, cursor - start))) { return *std::move(words); }
  // `:why-not split(` takes a call, and `:time` runs a line of script; other commands take no script.
  constexpr std::string_view asked = ":why-not ", timed = ":time ";
  bool is_command = first < input.size() && (input[first] == ':' || input[first] == '?' || input[first] == ';');
  size_t skipped = input.starts_with(asked) ? asked.size() : input.starts_with(timed) ? timed.size() : 0;
  if (!has_program() || (is_command && skipped == 0) || skipped > cursor) { return {}; }
  std::string line = input.substr(skipped);
  size_t added = 0;
  if (skipped == asked.size() && !line.starts_with("sch.")) {
    line.insert(0, "sch.");
    added = 4;
  }
  std::vector<std::string> words = words_of_script(line, cursor - skipped + added, start);
  start = start + skipped - std::min(added, start + skipped);
  return words;
}

}  // namespace loopsmith::repl
