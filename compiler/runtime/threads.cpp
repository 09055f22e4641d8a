// The pool, the workspace cache, error texts: see threads.h.
//
// Ownership: a Job lives in Pool. The thread that holds `busy_` writes it while no worker is inside; workers read
// it after they have seen `epoch_` change and entered through `gate_`. The thread that holds `busy_` closes the
// gate when no work is left, and waits only for the workers inside: a worker that sleeps, or that the system schedules
// later, delays no other thread. A Slot's `next` is shared, its `end` is part of the job. Error texts are per thread; a
// worker's text is copied into the job under `mutex_`.
#include "runtime/threads.h"

#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace loopsmith::runtime {
namespace {

void pause() {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

auto processors() -> const std::vector<int>& {
  static const std::vector<int> list = [] {
    std::vector<int> out;
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof(set), &set) == 0) {
      for (int i = 0; i < CPU_SETSIZE; ++i) {
        if (CPU_ISSET(i, &set)) { out.push_back(i); }
      }
    }
    if (out.empty()) { out.push_back(0); }
    return out;
  }();
  return list;
}

auto pin(int cpu) -> bool {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  return sched_setaffinity(0, sizeof(set), &set) == 0;
}

// Spinning pays off while loops follow each other within this time; a sleeping thread costs other programs nothing.
constexpr int spins_before_sleep = 4000;
constexpr int max_threads = 256;
constexpr uint64_t max_parts = 1024;   // An epoch is `job * max_parts + threads`, so this is more than max_threads.
constexpr uint64_t gate_open = 1024;   // A bit above every count of threads, so this is more than max_threads.
constexpr uint64_t gate_places = 2 * gate_open;

thread_local int allowed = 0;          // 0: not set
thread_local bool inside_parallel = false;
thread_local std::string error_text;

struct alignas(128) Slot {
  std::atomic<int64_t> next{0};
  int64_t end = 0;
};

class Pool {
 public:
  static auto instance() -> Pool& {
    // Never destroyed: threads may still use it while the process ends.
    static Pool* pool = new Pool;
    return *pool;
  }

  auto run(loopsmith_share share, void* captured, int64_t begin, int64_t end, int threads) -> int32_t {
    const int64_t extent = end - begin;
    threads = static_cast<int>(std::min<int64_t>({threads, extent, max_threads}));
    if (threads <= 1 || inside_parallel || busy_.exchange(true, std::memory_order_acquire)) { return share(captured, begin, end); }
    grow(threads - 1);
    threads = std::min(threads, static_cast<int>(workers_.size()) + 1);
    share_ = share;
    captured_ = captured;
    failure_.store(0, std::memory_order_relaxed);
    parts_ = threads;
    // Threads take the range in pieces, so that a delayed thread leaves little work; large enough pieces keep the
    // loops inside efficient.
    grain_ = std::max<int64_t>(1, extent / (int64_t(threads) * 16));
    for (int i = 0; i < threads; ++i) {
      // `extent * i / threads`, without a product that could overflow 64 bits.
      auto first = [&](int64_t part) { return begin + extent / threads * part + extent % threads * part / threads; };
      slots_[i].end = first(i + 1);
      slots_[i].next.store(first(i), std::memory_order_relaxed);
    }
    // A single word contains the number of the job and the number of its threads, so a worker that wakes late for a job
    // without a part for it cannot mix up the two.
    const uint64_t job = epoch_.load(std::memory_order_relaxed) / max_parts + 1;
    gate_.store(job * gate_places + gate_open, std::memory_order_release);
    epoch_.store(job * max_parts + static_cast<uint64_t>(threads), std::memory_order_seq_cst);
    if (sleeping_.load(std::memory_order_seq_cst) > 0) {
      std::lock_guard lock(mutex_);
      wake_.notify_all();
    }
    inside_parallel = true;
    work(0);
    inside_parallel = false;
    int spins = 0;
    gate_.fetch_and(~gate_open, std::memory_order_acq_rel);
    while (gate_.load(std::memory_order_acquire) % gate_open != 0) {
      if (++spins < spins_before_sleep) { pause(); } else { std::this_thread::yield(); }
    }
    int32_t failure = failure_.load(std::memory_order_relaxed);
    if (failure != 0) { error_text = failure_text_; }
    busy_.store(false, std::memory_order_release);
    return failure;
  }

 private:
  /// True while that job has work. The worker then counts as inside until it leaves.
  auto enter(uint64_t job) -> bool {
    uint64_t gate = gate_.load(std::memory_order_acquire);
    while (gate / gate_places == job && (gate & gate_open) != 0) {
      if (gate_.compare_exchange_weak(gate, gate + 1, std::memory_order_acq_rel, std::memory_order_acquire)) { return true; }
    }
    return false;
  }

  void work(int self) {
    for (int i = 0; i < parts_; ++i) {
      Slot& slot = slots_[(self + i) % parts_];
      while (failure_.load(std::memory_order_relaxed) == 0) {
        if (slot.next.load(std::memory_order_relaxed) >= slot.end) { break; }
        int64_t from = slot.next.fetch_add(grain_, std::memory_order_relaxed);
        if (from >= slot.end) { break; }
        int32_t code = share_(captured_, from, std::min(from + grain_, slot.end));
        if (code != 0) {
          std::lock_guard lock(mutex_);
          if (failure_.load(std::memory_order_relaxed) == 0) {
            failure_text_ = error_text;
            failure_.store(code, std::memory_order_relaxed);
          }
        }
      }
    }
  }

  void grow(int workers) {
    while (static_cast<int>(workers_.size()) < workers) {
      int index = static_cast<int>(workers_.size()) + 1;
      uint64_t seen = epoch_.load(std::memory_order_relaxed);
      try {
        workers_.emplace_back([this, index, seen] { loop(index, seen); });
      } catch (...) {
        return;   // the system starts no more threads: the existing ones do the work
      }
      workers_.back().detach();
    }
  }

  void loop(int index, uint64_t seen) {
    const auto& cpus = processors();
    if (cpus.size() > 1 && index < static_cast<int>(cpus.size())) { pin(cpus[static_cast<size_t>(index)]); }
    inside_parallel = true;
    while (true) {
      int spins = 0;
      uint64_t now = epoch_.load(std::memory_order_acquire);
      while (now == seen && ++spins < spins_before_sleep) {
        pause();
        now = epoch_.load(std::memory_order_acquire);
      }
      if (now == seen) {
        std::unique_lock lock(mutex_);
        sleeping_.fetch_add(1, std::memory_order_seq_cst);
        wake_.wait(lock, [&] { return epoch_.load(std::memory_order_seq_cst) != seen; });
        sleeping_.fetch_sub(1, std::memory_order_relaxed);
        now = epoch_.load(std::memory_order_acquire);
      }
      seen = now;
      if (index < static_cast<int>(now % max_parts) && enter(now / max_parts)) {
        work(index);
        gate_.fetch_sub(1, std::memory_order_acq_rel);
      }
    }
  }

  std::atomic<bool> busy_{false};
  alignas(128) std::atomic<uint64_t> epoch_{0};
  alignas(128) std::atomic<uint64_t> gate_{0};   // the job's number, a bit for "open", the number of workers inside
  std::atomic<int> sleeping_{0};
  std::atomic<int32_t> failure_{0};
  loopsmith_share share_ = nullptr;
  void* captured_ = nullptr;
  int parts_ = 0;
  int64_t grain_ = 1;
  std::string failure_text_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<std::thread> workers_;
  Slot slots_[max_threads];
};

// Workspace: kernels request the same sizes again and again, and new memory costs a page fault for every page.
// Each thread keeps released blocks, up to a limit.
struct Header { uint64_t bytes; uint64_t magic; };
constexpr uint64_t header_bytes = 64;
constexpr uint64_t huge_page = 2U << 20U;

struct Cache {
  std::vector<Header*> free;
  uint64_t bytes = 0;
  ~Cache() { clear(); }
  void clear() {
    for (Header* block : free) { std::free(block); }
    free.clear();
    bytes = 0;
  }
};
thread_local Cache cache;
constexpr uint64_t max_cached = 256U << 20U;

}  // namespace

void set_threads(int count) { allowed = std::max(count, 1); }
auto threads() -> int { return allowed > 0 ? allowed : static_cast<int>(processors().size()); }
auto pin_calling_thread() -> bool { return pin(processors().front()); }
auto last_error() -> const std::string& { return error_text; }
void clear_error() { error_text.clear(); }
void trim_workspaces() { cache.clear(); }

}  // namespace loopsmith::runtime

auto loopsmith_parallel(loopsmith_share share, void* captured, int64_t begin, int64_t end) -> int32_t {
  if (begin >= end) { return 0; }
  return loopsmith::runtime::Pool::instance().run(share, captured, begin, end, loopsmith::runtime::threads());
}

auto loopsmith_workspace(int64_t bytes) -> void* {
  using namespace loopsmith::runtime;
  if (bytes < 0) { return nullptr; }
  auto wanted = static_cast<uint64_t>(bytes);
  size_t best = cache.free.size();
  for (size_t i = 0; i < cache.free.size(); ++i) {
    uint64_t has = cache.free[i]->bytes;
    if (has >= wanted && has / 2 <= wanted && (best == cache.free.size() || has < cache.free[best]->bytes)) { best = i; }
  }
  Header* block = nullptr;
  if (best < cache.free.size()) {
    block = cache.free[best];
    cache.free[best] = cache.free.back();
    cache.free.pop_back();
    cache.bytes -= block->bytes;
  } else {
    // Large blocks do not start at a page boundary, so that several of them use different cache sets.
    uint64_t align = wanted >= huge_page ? huge_page : 64;
    uint64_t size = wanted + header_bytes;
    size = (size + align - 1) / align * align;
    if (size < wanted) { return nullptr; }
    block = static_cast<Header*>(std::aligned_alloc(align, size));
    if (block == nullptr) { return nullptr; }
#ifdef MADV_HUGEPAGE
    if (align == huge_page) { (void)madvise(block, size, MADV_HUGEPAGE); }
#endif
    block->bytes = size - header_bytes;
  }
  return reinterpret_cast<char*>(block) + header_bytes;
}

void loopsmith_workspace_release(void* memory) {
  using namespace loopsmith::runtime;
  if (memory == nullptr) { return; }
  auto* block = reinterpret_cast<Header*>(static_cast<char*>(memory) - header_bytes);
  if (cache.bytes + block->bytes > max_cached || cache.free.size() >= 64) {
    std::free(block);
    return;
  }
  cache.bytes += block->bytes;
  cache.free.push_back(block);
}

auto loopsmith_request_tiles() -> int64_t {
#if defined(__linux__) && defined(__x86_64__)
  // arch_prctl(ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA): https://docs.kernel.org/arch/x86/xstate.html
  return ::syscall(SYS_arch_prctl, 0x1023, 18);
#else
  return -1;
#endif
}

void loopsmith_set_error(const char* text) { loopsmith::runtime::error_text = text; }
auto loopsmith_out_of_bounds(const char* text, int64_t index, int64_t extent) -> int32_t {
  std::string& out = loopsmith::runtime::error_text;
  out = text;
  for (const auto& [name, value] : {std::pair("{index}", index), std::pair("{extent}", extent)}) {
    if (size_t at = out.find(name); at != std::string::npos) { out.replace(at, std::string_view(name).size(), std::to_string(value)); }
  }
  return 0;
}
