// Primitives as completion items: see primitives.h.
#include "lsp/features/completion/primitives.h"

#include <fmt/format.h>

#include <algorithm>

#include "lsp/features/completion/arguments.h"
#include "lsp/features/completion/legality.h"
#include "lsp/features/words.h"
#include "support/text.h"

namespace loopsmith::lsp {
namespace {

/// Escapes the characters of `text` that have a meaning in a snippet.
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
    size_t begin = name_end(text, i);
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

}  // namespace

void add_primitives(const ScheduleSpot& spot, ItemList& items) {
  constexpr int unknown_rank = 200;
  constexpr int refused_rank = 400;
  constexpr int most_gain_rank = -1000;
  constexpr int slower_rank = 100;
  int order = 0;
  Gains gains(spot);
  // All primitives are judged before any speedup is estimated, because legality matters more for the list.
  struct Legal { size_t item; const schedule::Primitive* row; schedule::Move move; };
  std::vector<Legal> legal;
  for (const schedule::Primitive* row : schedule::all_primitives()) {
    ++order;
    if (spot.patience.cancel.is_cancelled()) { return; }
    if (!row->name.starts_with(spot.text.prefix)) { continue; }
    CompletionItem item{std::string(row->name), CompletionKind::Primitive, std::string(row->help),
                        "```python\n" + row->signature() + "\n```\n" + std::string(row->help), {}, false, order};
    if (!row->is_pure && !row->is_sampling && spot.now != nullptr) {
      schedule::Legality legality = remembered(spot, std::string(row->name), [&](const schedule::Stop& stop) { return schedule::legality_of(*spot.now, *row, names_for(spot.live), stop); });
      if (legality.verdict == schedule::Legality::Verdict::Legal) {
        item.detail = schedule::in_words_of(schedule::text_of(*spot.now->state().func(spot.now->func_working_on()), *legality.move, names_for(spot.live)), spot.schedule_name);
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
  // Before the bracket of an existing call only the name is replaced.
  const std::string_view behind = spot.behind;
  const bool is_called = !behind.empty() && (behind[0] == '(' || is_name_part(behind[0]));
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
    item.detail = schedule::in_words_of(schedule::text_of(*spot.now->state().func(spot.now->func_working_on()), move, names_for(spot.live)), spot.schedule_name);
    if (!item.call.empty()) { item.call = snippet_of(one.row->name, item.detail); }
    item.note = cost::gain_text(gain);
    if (gain < 1) { item.rank += slower_rank; } else { faster.emplace_back(gain, one.item); }
  }
  std::sort(faster.begin(), faster.end(), [](const auto& a, const auto& b) { return std::pair(-a.first, a.second) < std::pair(-b.first, b.second); });
  for (size_t i = 0; i < faster.size() && !spot.live.empty(); ++i) { items.list[faster[i].second].rank = most_gain_rank + static_cast<int>(i); }
  for (const ScheduleWord& word : schedule_words()) { items.add({std::string(word.name), CompletionKind::Function, std::string(word.help), {}, {}, false, 300}); }
}

}  // namespace loopsmith::lsp
