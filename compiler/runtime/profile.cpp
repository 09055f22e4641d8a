// Counts and times loops: see profile.h.
#include "runtime/profile.h"

#include <array>
#include <atomic>
#include <chrono>

namespace loopsmith::runtime {
namespace {

constexpr int64_t most_loops = 4096;
constexpr size_t most_nested = 64;

struct Slot {
  std::atomic<int64_t> runs{0};
  std::atomic<int64_t> nanoseconds{0};
};
std::array<Slot, most_loops> slots;

using Clock = std::chrono::steady_clock;
// The start times of the calling thread's running loops, outermost first.
struct Begun {
  std::array<Clock::time_point, most_nested> at;
  size_t count = 0;
};
thread_local Begun begun;

}  // namespace

auto profile() -> std::vector<LoopTime> {
  std::vector<LoopTime> out;
  for (int64_t i = 0; i < most_loops; ++i) {
    const Slot& slot = slots[static_cast<size_t>(i)];
    if (int64_t runs = slot.runs.load(); runs > 0) { out.push_back({i, runs, static_cast<double>(slot.nanoseconds.load()) * 1e-9}); }
  }
  return out;
}

void reset_profile() {
  for (Slot& slot : slots) {
    slot.runs = 0;
    slot.nanoseconds = 0;
  }
  begun.count = 0;
}

}  // namespace loopsmith::runtime

void loopsmith_profile_start(int64_t) {
  using namespace loopsmith::runtime;
  if (begun.count < most_nested) { begun.at[begun.count] = Clock::now(); }
  ++begun.count;
}

void loopsmith_profile_end(int64_t number) {
  using namespace loopsmith::runtime;
  // A loop that was left by an error has no end: its entry, and those of loops inside of it, are removed by the next reset.
  if (begun.count == 0) { return; }
  --begun.count;
  if (begun.count >= most_nested || number < 0 || number >= most_loops) { return; }
  Slot& slot = slots[static_cast<size_t>(number)];
  slot.runs.fetch_add(1, std::memory_order_relaxed);
  slot.nanoseconds.fetch_add(std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begun.at[begun.count]).count(), std::memory_order_relaxed);
}
