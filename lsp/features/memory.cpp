// Counting the memory of texts: see memory.h.
#include "lsp/features/memory.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/memory.h"
#include "support/text.h"

namespace loopsmith::lsp {
namespace {

auto bytes_of(const syntax::Item& item) -> uint64_t {
  uint64_t bytes = sizeof item + item.text.capacity() + item.arena.bytes() + item.comments.capacity() * sizeof(syntax::Comment);
  for (const syntax::Item::Member& member : item.members) { bytes += bytes_of(*member.item); }
  return bytes;
}

auto bytes_of(const Diagnostics& diagnostics) -> uint64_t {
  uint64_t bytes = diagnostics.capacity() * sizeof(Diagnostic);
  for (const Diagnostic& diagnostic : diagnostics) { bytes += diagnostic.args.capacity() * sizeof(diagnostic.args[0]) + diagnostic.remedies.capacity() * sizeof(std::string); }
  return bytes;
}

auto bytes_of(const schedule::Value& value) -> uint64_t {
  uint64_t bytes = 0;
  if (const auto* list = value.as<schedule::Value::List>()) {
    bytes += list->capacity() * sizeof(schedule::Value);
    for (const schedule::Value& item : *list) { bytes += bytes_of(item); }
  } else if (const auto* text = value.as<std::string>()) {
    bytes += text->capacity() > 15 ? text->capacity() + 1 : 0;
  }
  return bytes;
}

/// The overhead of an allocation in the C library, with the count of its owners.
constexpr uint64_t owned = 32;

// Traces that continue the same trace share their instructions.
auto bytes_of_trace(const schedule::Trace& trace, std::unordered_set<const void*>& counted) -> uint64_t {
  uint64_t bytes = 0;
  if (trace.empty() || counted.contains(&trace.last())) { return 0; }
  std::vector<const schedule::Instruction*> instructions = trace.instructions();
  for (size_t i = instructions.size(); i-- > 0 && counted.insert(instructions[i]).second;) {
    const schedule::Instruction& one = *instructions[i];
    bytes += owned + sizeof one + (one.values.capacity() + one.outputs.capacity()) * sizeof(schedule::Value);
    for (const schedule::Value& value : one.values) { bytes += bytes_of(value); }
    bytes += bytes_of(one.decision);
  }
  return bytes;
}

/// A schedule; parts that were already counted do not count again.
auto bytes_of(const schedule::Schedule& schedule, std::unordered_set<const void*>& counted) -> uint64_t {
  uint64_t bytes = count_nodes(schedule.module(), counted) + bytes_of_trace(schedule.trace(), counted);
  // The loops and blocks of the function, and cached facts about them, which need about the same memory.
  if (const schedule::FuncState* func = schedule.state().func(schedule.func_working_on()); func != nullptr && counted.insert(func).second) {
    constexpr size_t most_alone = 64;    // in larger functions most places are shared
    bytes += owned + 2 * sizeof(schedule::FuncState) + std::min(func->places().size(), most_alone) * sizeof(schedule::Place);
  }
  return bytes;
}

/// The variables of a function between two statements.
auto bytes_of(const eval::Frame& frame, std::unordered_set<const void*>& counted) -> uint64_t {
  uint64_t bytes = sizeof frame;
  for (const eval::Scope* scope = frame.scope.get(); scope != nullptr && counted.insert(scope).second; scope = scope->parent().get()) {
    bytes += owned + sizeof(eval::Scope) + scope->slots().capacity() * sizeof(scope->slots()[0]);
    for (const auto& [name, value] : scope->slots()) {
      const auto* object = value.as<script::ScheduleObject>();
      if (object != nullptr && counted.insert(object).second) { bytes += sizeof(script::ScheduleObject) + bytes_of(object->schedule, counted); }
      const auto* variable = value.as<script::VariableObject>();
      if (variable != nullptr && counted.insert(variable).second) { bytes += sizeof(script::VariableObject); }
    }
  }
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
  add("trees for the next edit", snapshot.syntax().kept_bytes());
  uint64_t programs = 0;
  for (const workspace::Program& program : snapshot.programs()) { programs += count_nodes(program.module, counted) + count_nodes(program.partial, counted); }
  add(count_text(static_cast<int64_t>(snapshot.programs().size()), "program"), programs);
  uint64_t states = 0;
  size_t steps = 0;
  for (const script::FileSchedule& schedule : snapshot.schedules()) {
    if (schedule.run == nullptr) { continue; }
    states += sizeof(script::ScheduleRun) + schedule.run->steps.capacity() * sizeof(script::Step) + schedule.run->text.capacity();
    for (const eval::Frame& frame : schedule.run->frames) { states += bytes_of(frame, counted); }
    for (const script::Step& step : schedule.run->steps) {
      states += step.named.capacity() * sizeof(script::Step::Named) + step.printed.capacity() + bytes_of(step.diagnostics);
      if (step.after == nullptr || !counted.insert(step.after.get()).second) { continue; }
      ++steps;
      states += owned + sizeof(schedule::Schedule) + bytes_of(*step.after, counted);
    }
  }
  add(count_text(static_cast<int64_t>(steps), "state") + " of schedules", states);
  return out;
}

auto memory_text(const MemoryNode& tree) -> std::string {
  std::string out;
  write(tree, tree.bytes / 100, 0, out);
  return out;
}

}  // namespace loopsmith::lsp
