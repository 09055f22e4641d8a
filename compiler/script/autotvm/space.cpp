// Spaces of templates: see space.h.
#include "script/autotvm/space.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace loopsmith::script::autotvm {
namespace {

constexpr std::pair<KnobKind, std::string_view> words_of_kinds[] = {{KnobKind::Split, "sp"}, {KnobKind::Reorder, "re"}, {KnobKind::Annotate, "an"}, {KnobKind::Other, "ot"}};

auto factors_of(int64_t n) -> std::vector<int64_t> {
  std::vector<int64_t> out;
  for (int64_t i = 1; i * i <= n; ++i) {
    if (n % i != 0) { continue; }
    out.push_back(i);
    if (i * i != n) { out.push_back(n / i); }
  }
  std::sort(out.begin(), out.end());
  return out;
}

auto powers_of_two(int64_t n) -> std::vector<int64_t> {
  std::vector<int64_t> out;
  for (int64_t power = 1; power <= n; power *= 2) { out.push_back(power); }
  return out;
}

auto reorder_choice(std::vector<int64_t> order) -> Choice { return {.kind = KnobKind::Reorder, .numbers = std::move(order), .words = {}, .value = {}}; }
auto words_choice(std::vector<std::string> words) -> Choice { return {.kind = KnobKind::Annotate, .numbers = {}, .words = std::move(words), .value = {}}; }

// Adds all merges of chains in which the longest rest always goes first.
void merge(const std::vector<std::vector<int64_t>>& chains, std::vector<size_t>& at, std::vector<int64_t>& made, std::vector<std::vector<int64_t>>& out) {
  size_t longest = 0, rest = 0;
  for (size_t i = 0; i < chains.size(); ++i) {
    if (chains[i].size() - at[i] > rest) {
      longest = i;
      rest = chains[i].size() - at[i];
    }
  }
  if (rest == 0) {
    out.push_back(made);
    return;
  }
  made.push_back(chains[longest][at[longest]]);
  ++at[longest];
  merge(chains, at, made, out);
}
auto merged(const std::vector<std::vector<int64_t>>& chains) -> std::vector<std::vector<int64_t>> {
  std::vector<size_t> at(chains.size());
  std::vector<int64_t> made;
  std::vector<std::vector<int64_t>> out;
  merge(chains, at, made, out);
  return out;
}

// "fuse" for the outer axes, then the places of threads.
auto bound(size_t axes, std::vector<std::string> places) -> std::vector<Choice> {
  std::vector<std::string> words(axes - places.size(), "fuse");
  words.insert(words.end(), places.begin(), places.end());
  return {words_choice(std::move(words))};
}

auto thread_annotations(size_t axes, bool has_virtual) -> std::optional<std::vector<Choice>> {
  if (has_virtual) {
    if (axes >= 9) { return bound(axes, {"blockIdx.z", "blockIdx.y", "blockIdx.x", "vthread", "vthread", "vthread", "threadIdx.z", "threadIdx.y", "threadIdx.x"}); }
    if (axes >= 6) { return bound(axes, {"blockIdx.y", "blockIdx.x", "vthread", "vthread", "threadIdx.y", "threadIdx.x"}); }
    if (axes >= 3) { return bound(axes, {"blockIdx.x", "vthread", "threadIdx.x"}); }
    return std::nullopt;
  }
  if (axes >= 6) { return bound(axes, {"blockIdx.z", "blockIdx.y", "blockIdx.x", "threadIdx.z", "threadIdx.y", "threadIdx.x"}); }
  if (axes >= 4) { return bound(axes, {"blockIdx.y", "blockIdx.x", "threadIdx.y", "threadIdx.x"}); }
  if (axes >= 2) { return bound(axes, {"blockIdx.x", "threadIdx.x"}); }
  return std::nullopt;
}

}  // namespace

auto kind_word(KnobKind kind) -> std::string_view {
  return std::find_if(std::begin(words_of_kinds), std::end(words_of_kinds), [&](const auto& row) { return row.first == kind; })->second;
}
auto kind_of_word(std::string_view word) -> std::optional<KnobKind> {
  const auto* row = std::find_if(std::begin(words_of_kinds), std::end(words_of_kinds), [&](const auto& one) { return one.second == word; });
  return row == std::end(words_of_kinds) ? std::nullopt : std::optional(row->first);
}

auto Choice::text() const -> std::string {
  if (kind == KnobKind::Other) { return value.repr(); }
  if (!words.empty()) { return fmt::format("['{}']", fmt::join(words, "', '")); }
  return fmt::format("[{}]", fmt::join(numbers, ", "));
}
auto operator==(const Choice& a, const Choice& b) -> bool { return a.kind == b.kind && a.numbers == b.numbers && a.words == b.words && a.value.equals(b.value); }

auto Space::find(std::string_view name) const -> const Knob* {
  auto at = std::find_if(knobs.begin(), knobs.end(), [&](const Knob& knob) { return knob.name == name; });
  return at == knobs.end() ? nullptr : &*at;
}
auto Space::size() const -> double {
  double out = 1;
  for (const Knob& knob : knobs) { out = std::min(1e18, out * static_cast<double>(knob.choices.size())); }
  return out;
}
auto Decisions::find(std::string_view name) const -> const Choice* {
  auto at = std::find_if(choices.begin(), choices.end(), [&](const auto& one) { return one.first == name; });
  return at == choices.end() ? nullptr : &at->second;
}

auto decisions_at(const Space& space, const std::vector<size_t>& indices) -> Decisions {
  Decisions out;
  for (size_t k = 0; k < space.knobs.size() && k < indices.size(); ++k) { out.choices.emplace_back(space.knobs[k].name, space.knobs[k].choices[indices[k]]); }
  return out;
}

auto index_of(const Space& space, const Decisions& decisions) -> std::optional<int64_t> {
  if (space.size() >= 9e17) { return std::nullopt; }
  int64_t out = 0, weight = 1;
  for (const Knob& knob : space.knobs) {
    const Choice* chosen = decisions.find(knob.name);
    auto at = chosen ? std::find(knob.choices.begin(), knob.choices.end(), *chosen) : knob.choices.end();
    if (at == knob.choices.end()) { return std::nullopt; }
    out += weight * (at - knob.choices.begin());
    weight *= static_cast<int64_t>(knob.choices.size());
  }
  return out;
}

auto splits(int64_t length, const SplitOptions& options) -> std::optional<std::vector<Choice>> {
  std::vector<int64_t> factors;
  if (options.policy == "factors") {
    factors = factors_of(length);
  } else if (options.policy == "power2") {
    factors = powers_of_two(length);
  } else if (options.policy == "verbose") {
    std::vector<int64_t> divisors = factors_of(length), powers = powers_of_two(length);
    std::set_union(divisors.begin(), divisors.end(), powers.begin(), powers.end(), std::back_inserter(factors));
  } else {
    return std::nullopt;
  }
  std::erase_if(factors, [&](int64_t factor) { return factor > options.most; });
  const bool has_no_tail = options.has_no_tail.value_or(options.policy == "factors");
  std::vector<Choice> out;
  std::vector<int64_t> inner(options.outputs - 1);
  std::function<void(size_t, int64_t)> add = [&](size_t now, int64_t product) {
    if (product > length || out.size() >= most_choices) { return; }
    if (now == inner.size()) {
      if (has_no_tail && length % product != 0) { return; }
      Choice choice{.kind = KnobKind::Split, .numbers = {-1}, .words = {}, .value = {}};
      choice.numbers.insert(choice.numbers.end(), inner.rbegin(), inner.rend());
      out.push_back(std::move(choice));
      return;
    }
    for (int64_t factor : factors) {
      inner[now] = factor;
      add(now + 1, product * factor);
    }
  };
  add(0, 1);
  return out;
}

auto orders(size_t axes, size_t begin, size_t end) -> std::vector<Choice> {
  std::vector<int64_t> order(axes);
  std::iota(order.begin(), order.end(), 0);
  std::vector<Choice> out;
  auto first = order.begin() + static_cast<std::ptrdiff_t>(begin), last = order.begin() + static_cast<std::ptrdiff_t>(end);
  do { out.push_back(reorder_choice(order)); } while (out.size() < most_choices && std::next_permutation(first, last));
  return out;
}

auto interleaved(const std::vector<std::vector<int64_t>>& spatial, const std::vector<std::vector<int64_t>>& reduce, bool for_threads) -> std::vector<Choice> {
  std::vector<std::vector<int64_t>> outer, inner;
  std::vector<int64_t> innermost;
  for (const auto& chain : spatial) {
    if (chain.empty()) { continue; }
    outer.emplace_back(chain.begin(), chain.end() - 1);
    innermost.push_back(chain.back());
    if (!for_threads) { inner.push_back({chain.back()}); }
  }
  inner.insert(inner.end(), reduce.begin(), reduce.end());
  std::vector<Choice> out;
  for (const auto& first : merged(outer)) {
    for (const auto& second : merged(inner)) {
      std::vector<int64_t> order = first;
      order.insert(order.end(), second.begin(), second.end());
      if (for_threads) { order.insert(order.end(), innermost.begin(), innermost.end()); }
      out.push_back(reorder_choice(std::move(order)));
    }
  }
  return out;
}

auto annotations(size_t axes, std::string_view policy) -> std::optional<std::vector<Choice>> {
  if (policy == "bind_gpu" || policy == "bind_gpu_virtual") { return thread_annotations(axes, policy == "bind_gpu_virtual"); }
  std::vector<std::string> words;
  for (size_t at = 0; at <= policy.size();) {
    size_t end = std::min(policy.find('_', at), policy.size());
    std::string word(policy.substr(at, end - at));
    words.push_back(word == "try" ? "none" : word);
    if (words.back() != "none" && words.back() != "unroll" && words.back() != "vec") { return std::nullopt; }
    at = end + 1;
  }
  std::vector<Choice> out;
  std::vector<std::string> made(axes);
  std::function<void(size_t)> add = [&](size_t now) {
    if (out.size() >= most_choices) { return; }
    if (now == axes) {
      // At most one axis becomes vectors.
      if (std::count(made.begin(), made.end(), "vec") <= 1) { out.push_back(words_choice(made)); }
      return;
    }
    for (const std::string& word : words) {
      made[now] = word;
      add(now + 1);
    }
  };
  add(0);
  return out;
}

auto anchors(size_t axes, size_t count) -> std::vector<Choice> {
  std::vector<Choice> out;
  std::vector<int64_t> made;
  std::function<void(size_t)> add = [&](size_t from) {
    if (made.size() == count) {
      out.push_back({.kind = KnobKind::Annotate, .numbers = made, .words = {}, .value = {}});
      return;
    }
    for (size_t axis = from; axis < axes && out.size() < most_choices; ++axis) {
      made.push_back(static_cast<int64_t>(axis));
      add(axis + 1);
      made.pop_back();
    }
  };
  add(0);
  return out;
}

}  // namespace loopsmith::script::autotvm
