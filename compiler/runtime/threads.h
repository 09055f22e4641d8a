// The thread pool behind `parallel` loops, and what else compiled kernels call: workspace memory, error texts.
//
// Work is shared: every thread begins with a contiguous part of the range of its own (the same part in every
// call, so that its caches hold it) and then takes from what others have left. Threads spin for a little while
// between loops, then sleep. A parallel loop within a parallel loop, or while another thread's loop runs, is
// run by its caller alone.
#pragma once

#include <cstdint>
#include <string>

namespace loopsmith::runtime {

/// How many threads loops started by the calling thread may use, itself included. The processor's cores at first.
void set_threads(int count);
[[nodiscard]] auto threads() -> int;

/// Sets and restores.
class ThreadsScope {
 public:
  explicit ThreadsScope(int count) : before_(threads()) { set_threads(count); }
  ~ThreadsScope() { set_threads(before_); }
  ThreadsScope(const ThreadsScope&) = delete;
  auto operator=(const ThreadsScope&) -> ThreadsScope& = delete;

 private:
  int before_;
};

/// Binds the calling thread to the first processor it may use, where the pool's first thread is not; for
/// measuring. False where the system has no such thing.
auto pin_calling_thread() -> bool;

/// The text of the calling thread's last kernel failure.
[[nodiscard]] auto last_error() -> const std::string&;
void clear_error();

/// Gives cached workspace memory of the calling thread back to the system.
void trim_workspaces();

}  // namespace loopsmith::runtime

// What kernels call. Symbols of the C language; the JIT is told their addresses.
extern "C" {
using loopsmith_share = int32_t (*)(void* captured, int64_t begin, int64_t end);
auto loopsmith_parallel(loopsmith_share share, void* captured, int64_t begin, int64_t end) -> int32_t;
auto loopsmith_workspace(int64_t bytes) -> void*;
void loopsmith_workspace_release(void* memory);
void loopsmith_set_error(const char* text);
/// The same with "{index}" and "{extent}" in the text replaced; what transform/check_bounds.h calls.
auto loopsmith_out_of_bounds(const char* text, int64_t index, int64_t extent) -> int32_t;
}
