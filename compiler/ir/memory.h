// Memory of nodes: freed nodes wait in lists of their thread for the next ones of their size (ref.h).
#pragma once

#include <cstddef>
#include <unordered_set>

#include "ir/ir.h"

namespace loopsmith {

/// Returns wholly free chunks of this thread's memory for nodes to the C library. Takes a walk over all free nodes: only for use after
/// something large was closed.
void give_nodes_back();

/// Of this thread's memory for nodes, in bytes; arrays and nodes of half a kilobyte and more are the C library's. Takes a walk over all free nodes.
/// Zero where nodes have no memory of their own (under sanitizers).
struct NodeMemory {
  size_t used = 0;
  size_t free = 0;   // waits for the next nodes
};
[[nodiscard]] auto node_memory() -> NodeMemory;

/// Bytes of the statements and expressions of a program that are not in `counted` yet, with their lists and buffers; adds them to it.
[[nodiscard]] auto count_nodes(const IRModule& module, std::unordered_set<const void*>& counted) -> size_t;

/// Bytes of a sequence's pieces that are not in `counted` yet, by the first item of each; adds them. Memory that items point to is left out.
template <class T>
[[nodiscard]] auto sequence_bytes(const Sequence<T>& sequence, std::unordered_set<const void*>& counted) -> size_t {
  constexpr size_t head = 16;
  size_t bytes = 0;
  const T* last = nullptr;
  bool is_new = false;
  for (const T& item : sequence) {
    // Items of a piece lie side by side.
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
