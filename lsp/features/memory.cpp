// Counting what texts take: see memory.h.
#include "lsp/features/memory.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/memory.h"
#include "lsp/features/numbers.h"

namespace loopsmith::lsp {
namespace {

auto bytes_of(const syntax::Item& item) -> uint64_t {
  uint64_t bytes = sizeof item + item.text.capacity() + item.arena.bytes() + item.comments.capacity() * sizeof(syntax::Comment);
  for (const syntax::Item::Member& member : item.members) { bytes += bytes_of(*member.item); }
  return bytes;
}

void write(const MemoryNode& node, uint64_t least, size_t depth, std::string& out) {
  out += fmt::format("{:>10}  {}{}\n", bytes_text(static_cast<int64_t>(node.bytes)), std::string(2 * depth, ' '), node.name);
  std::vector<const MemoryNode*> children;
  for (const MemoryNode& child : node.children) { children.push_back(&child); }
  std::sort(children.begin(), children.end(), [](const MemoryNode* a, const MemoryNode* b) { return a->bytes != b->bytes ? a->bytes > b->bytes : a < b; });
  uint64_t small = 0;
  size_t count = 0;
  for (const MemoryNode* child : children) {
    if (child->bytes >= least || children.size() <= 4) { write(*child, least, depth + 1, out); continue; }
    small += child->bytes;
    ++count;
  }
  if (count > 0) { out += fmt::format("{:>10}  {}{} smaller\n", bytes_text(static_cast<int64_t>(small)), std::string(2 * depth + 2, ' '), count); }
}

}  // namespace

auto memory_of(const workspace::Snapshot& snapshot, std::unordered_set<const void*>& counted) -> MemoryNode {
  MemoryNode out{snapshot.name(), 0, {}};
  auto add = [&](std::string name, uint64_t bytes) {
    out.bytes += bytes;
    out.children.push_back({std::move(name), bytes, {}});
  };
  add("text", snapshot.text().capacity());
  uint64_t tree = 0;
  for (const syntax::PlacedItem& placed : snapshot.syntax().items()) {
    if (counted.insert(placed.item.get()).second) { tree += bytes_of(*placed.item); }
  }
  add("syntax tree", tree);
  uint64_t programs = 0;
  for (const workspace::Program& program : snapshot.programs()) { programs += count_nodes(program.module, counted) + count_nodes(program.partial, counted); }
  add(fmt::format("{} program{}", snapshot.programs().size(), snapshot.programs().size() == 1 ? "" : "s"), programs);
  uint64_t states = 0;
  size_t steps = 0;
  for (const script::FileSchedule& schedule : snapshot.schedules()) {
    if (schedule.run == nullptr) { continue; }
    states += sizeof(script::ScheduleRun) + schedule.run->steps.capacity() * sizeof(script::Step) + schedule.run->text.capacity();
    for (const script::Step& step : schedule.run->steps) {
      if (step.after == nullptr || !counted.insert(step.after.get()).second) { continue; }
      ++steps;
      states += sizeof(schedule::Schedule) + count_nodes(step.after->module(), counted);
    }
  }
  add(fmt::format("{} state{} of schedules", steps, steps == 1 ? "" : "s"), states);
  return out;
}

auto memory_text(const MemoryNode& tree) -> std::string {
  std::string out;
  write(tree, tree.bytes / 100, 0, out);
  return out;
}

}  // namespace loopsmith::lsp
