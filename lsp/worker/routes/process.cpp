// Requests about the process itself: its memory, and a wait for the end of its work.
#include "lsp/worker/routes/all.h"

#include <unistd.h>

#include <algorithm>
#include <unordered_set>

#include "ir/memory.h"
#include "lsp/features/memory.h"
#include "lsp/worker/conversions.h"
#include "support/memory.h"

namespace loopsmith::lsp {
namespace {

using workspace::Snapshot;

auto memory_json(const MemoryNode& node) -> Json {
  Json json = {{"name", node.name}, {"bytes", node.bytes}};
  for (const MemoryNode& child : node.children) { json["children"].push_back(memory_json(child)); }
  return json;
}

}  // namespace

/// `loopsmith/memoryUsage`: a tree of {name, bytes, children?} with `text`, the same in lines. The total of a process comes from the system;
/// known parts are counted, and the difference is shown as the rest.
auto memory_route(const RouteContext& context, const Json&) -> RouteResult {
  std::unordered_set<const void*> counted;
  MemoryNode files{"open files", 0, {}};
  for (const Snapshot* snapshot : context.documents) {
    if (context.cancel.is_cancelled()) { return cancelled(); }
    files.children.push_back(memory_of(*snapshot, counted));
    files.bytes += files.children.back().bytes;
  }
  // The set of counted nodes does not count itself.
  counted = {};
  NodeMemory nodes = node_memory();
  HeapMemory heap = heap_memory();
  MemoryNode worker{"analysis", resident_memory().value_or(0), {}};
  uint64_t known = 0;
  auto add = [&](MemoryNode node) {
    known += node.bytes;
    worker.children.push_back(std::move(node));
  };
  add(std::move(files));
  // The count may exceed the memory of the process, because some freed memory was returned to the system.
  worker.bytes = std::max(worker.bytes, known);
  add({"freed, for later use", std::min<uint64_t>(nodes.free + heap.free, worker.bytes - known), {}});
  add({"the rest: code of the program, and data of no single file", worker.bytes - known, {}});
  MemoryNode front{"texts and messages", resident_memory(static_cast<int>(::getppid())).value_or(0), {}};
  MemoryNode all{"loopsmith lsp", worker.bytes + front.bytes, {std::move(worker), std::move(front)}};
  Json json = memory_json(all);
  json["text"] = memory_text(all);
  return json;
}

/// Answered when its lane comes: then all schedules of the version have run.
auto wait_for_state(const RouteContext& context, const Json&) -> RouteResult {
  return Json{{"uri", context.snapshot->name()}, {"version", context.snapshot->version()}, {"state", "done"}};
}

}  // namespace loopsmith::lsp
