// Requests about the process itself: the memory that it uses, and its rest.
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

/// `loopsmith/memoryUsage`: a tree of {name, bytes, children?} with `text`, the same in lines. What processes have is the system's number; what
/// is in them is counted, and the rest is called that.
auto memory_route(const RouteContext& context, const Json&) -> RouteResult {
  std::unordered_set<const void*> counted;
  MemoryNode files{"open files", 0, {}};
  for (const Snapshot* snapshot : context.documents) {
    if (context.cancel.is_cancelled()) { return cancelled(); }
    files.children.push_back(memory_of(*snapshot, counted));
    files.bytes += files.children.back().bytes;
  }
  // The set that counts is no part of what is counted.
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
  // The count may exceed the memory of the process, because some freed memory is the system's again.
  worker.bytes = std::max(worker.bytes, known);
  add({"freed, for later use", std::min<uint64_t>(nodes.free + heap.free, worker.bytes - known), {}});
  add({"the rest: code of the program, and data of no single file", worker.bytes - known, {}});
  MemoryNode front{"texts and messages", resident_memory(static_cast<int>(::getppid())).value_or(0), {}};
  MemoryNode all{"loopsmith lsp", worker.bytes + front.bytes, {std::move(worker), std::move(front)}};
  Json json = memory_json(all);
  json["text"] = memory_text(all);
  return json;
}

/// Answered when its lane comes: all is known of the version then.
auto wait_for_state(const RouteContext& context, const Json&) -> RouteResult {
  return Json{{"uri", context.snapshot->name()}, {"version", context.snapshot->version()}, {"state", "done"}};
}

}  // namespace loopsmith::lsp
