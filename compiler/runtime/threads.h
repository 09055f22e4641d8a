// The thread pool behind `parallel` loops, and the other functions that compiled kernels call: workspace memory, error texts.
//
// Every thread begins with a separate contiguous part of the range (the same part in every call, so that its caches
// still contain the data) and then takes work that other threads have left. Threads spin for a short time between loops, then
// sleep. A parallel loop inside a parallel loop, or during another thread's parallel loop, runs on its caller's
// thread alone.
#pragma once

#include <cstdint>
#include <string>

namespace loopsmith::runtime {

/// Sets the number of threads for loops that the calling thread starts, itself included. The default is the number of cores.
void set_threads(int count);
[[nodiscard]] auto threads() -> int;

/// Sets the number of threads and restores it at the end of the scope.
class ThreadsScope {
 public:
  explicit ThreadsScope(int count) : before_(threads()) { set_threads(count); }
  ~ThreadsScope() { set_threads(before_); }
  ThreadsScope(const ThreadsScope&) = delete;
  auto operator=(const ThreadsScope&) -> ThreadsScope& = delete;

 private:
  int before_;
};

/// Binds the calling thread to the first processor that it may use; the pool's threads use the other processors. For
/// measuring. False if the system cannot bind threads.
auto pin_calling_thread() -> bool;

/// The text of the calling thread's last kernel failure.
[[nodiscard]] auto last_error() -> const std::string&;
void clear_error();

/// Returns the calling thread's cached workspace memory to the system.
void trim_workspaces();

}  // namespace loopsmith::runtime

// Functions that kernels call, as C symbols. The JIT maps their names to these addresses.
extern "C" {
using loopsmith_share = int32_t (*)(void* captured, int64_t begin, int64_t end);
auto loopsmith_parallel(loopsmith_share share, void* captured, int64_t begin, int64_t end) -> int32_t;
auto loopsmith_workspace(int64_t bytes) -> void*;
void loopsmith_workspace_release(void* memory);
void loopsmith_set_error(const char* text);
/// Requests the permission to use tiles (AMX) for this process. 0: granted.
auto loopsmith_request_tiles() -> int64_t;
/// The same for texts with "{index}" and "{extent}", which are replaced by the numbers; transform/check_bounds.h inserts the calls.
auto loopsmith_out_of_bounds(const char* text, int64_t index, int64_t extent) -> int32_t;
}
