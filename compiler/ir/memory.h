// Memory of nodes: freed nodes wait in lists of their thread for new nodes of the same size (ref.h).
#pragma once

#include <cstddef>
#include <unordered_set>

#include "ir/ir.h"

namespace loopsmith {

/// Returns completely free chunks of this thread's node memory to the C library. Walks over all free nodes: only for use after
/// a large document was closed.
void give_nodes_back();

/// This thread's memory for nodes, in bytes, without arrays and nodes of 512 bytes and more, which the C library allocates. Walks over all free nodes.
/// Zero if nodes have no memory of their own (under sanitizers).
struct NodeMemory {
  size_t used = 0;
  size_t free = 0;   // waits for new nodes
};
[[nodiscard]] auto node_memory() -> NodeMemory;

/// The bytes of the statements and expressions of a program that are not in `counted` yet, with their lists and buffers; adds them to `counted`.
[[nodiscard]] auto count_nodes(const IRModule& module, std::unordered_set<const void*>& counted) -> size_t;

/// The bytes of a sequence's pieces that are not in `counted` yet, by the first item of each piece; adds them to it. Excludes memory that items point to.
template <class T>
[[nodiscard]] auto sequence_bytes(const Sequence<T>& sequence, std::unordered_set<const void*>& counted) -> size_t {
  constexpr size_t head = 16;
  size_t bytes = 0;
  const T* last = nullptr;
  bool is_new = false;
  for (const T& item : sequence) {
    // Items of a piece are adjacent in memory.
    if (last == nullptr || &item != last + 1) {
      is_new = counted.insert(&item).second;
      bytes += is_new ? head : 0;
    }
    bytes += is_new ? sizeof(T) : 0;
    last = &item;
  }
  return bytes;
}

}  // namespace loopsmith
