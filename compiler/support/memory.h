// Memory that was freed goes back to the system: what a program that runs all day does after something large is gone. And how much there is.
#pragma once

#include <cstdint>
#include <optional>

namespace loopsmith {

/// Takes milliseconds on a large heap; nothing where the C library keeps no free memory to itself.
void give_memory_back();

/// What the C library has handed out and what it keeps for the next who asks, in bytes; zeros where it does not say.
struct HeapMemory {
  uint64_t used = 0;
  uint64_t free = 0;
};
[[nodiscard]] auto heap_memory() -> HeapMemory;

/// Memory of a process that is in use now, in bytes; 0: this one. None: the system does not say.
[[nodiscard]] auto resident_memory(int process = 0) -> std::optional<uint64_t>;

}  // namespace loopsmith
