// Memory of processes: returns freed memory to the system, which a long-running program does after it closes a large document; and measures memory.
#pragma once

#include <cstdint>
#include <optional>

namespace loopsmith {

/// Returns freed memory to the system. Takes milliseconds on a large heap; does nothing for C libraries that keep no free memory.
void give_memory_back();

/// Bytes that the C library has allocated, and bytes that it keeps for later allocations; zeros if it does not report them.
struct HeapMemory {
  uint64_t used = 0;
  uint64_t free = 0;
};
[[nodiscard]] auto heap_memory() -> HeapMemory;

/// Resident memory of a process in bytes (`process` 0: this process). None if the system does not report it.
[[nodiscard]] auto resident_memory(int process = 0) -> std::optional<uint64_t>;

}  // namespace loopsmith
