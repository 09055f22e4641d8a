// Loops and blocks with their costs: see loop_view.h.
#include "lsp/features/loop_view.h"

#include <fmt/format.h>

#include "cost/loop_facts.h"
#include "lsp/features/insertion_point.h"
#include "schedule/loop_tree.h"
#include "support/text.h"

namespace loopsmith::lsp {
namespace {

auto kind_of(const schedule::Place& place) -> std::string {
  if (place.is_block()) { return "block"; }
  switch (place.loop->for_kind) {
    case ForKind::Serial: return "serial";
    case ForKind::Parallel: return "parallel";
    case ForKind::Vectorized: return "vectorized";
    case ForKind::Unrolled: return "unrolled";
    case ForKind::ThreadBinding: return "bound";
  }
  return "serial";
}

auto facts_of(const PrimFunc& function, const schedule::Place& place) -> std::string {
  auto facts = cost::loop_facts(function, place.id);
  if (!facts) { return {}; }
  std::string out;
  auto add = [&](const std::string& one) { out += (out.empty() ? "" : ", ") + one; };
  auto most = [](bool is_most) { return is_most ? "at most " : ""; };
  if (facts->flops && *facts->flops > 0) { add(most(facts->is_most_flops) + flops_text(*facts->flops)); }
  if (facts->bytes && *facts->bytes > 0) { add(most(facts->is_most_bytes) + bytes_text(*facts->bytes)); }
  bool is_repeated = facts->runs && *facts->runs > 1;
  if (is_repeated && !out.empty()) { out = "per run: " + out; }
  if (is_repeated) { out += fmt::format("{}{}{} runs", out.empty() ? "" : "; ", most(facts->is_most_runs), grouped(*facts->runs)); }
  return out;
}

}  // namespace

auto loop_view_at(const workspace::Snapshot& snapshot, uint32_t at) -> std::optional<LoopView> {
  auto point = point_at(snapshot, at);
  const schedule::FuncState* func = point ? point->func() : nullptr;
  if (func == nullptr || !func->is_schedulable()) { return std::nullopt; }
  LoopView view{point->title, func->name().str(), {}};
  std::vector<size_t> depth(func->places().size(), 0);
  for (const schedule::Place& place : func->places()) {
    auto index = static_cast<size_t>(place.index);
    if (place.parent >= 0) { depth[index] = depth[static_cast<size_t>(place.parent)] + 1; }
    const Origin& where = place.is_loop() ? place.loop->origin : place.block()->origin;
    view.nodes.push_back({index, depth[index], place.is_block(), kind_of(place), schedule::describe(place), point->name_of(place), facts_of(func->func(), place), where});
  }
  return view;
}

}  // namespace loopsmith::lsp
