// Threads with their own stacks: see kernel.h.
#include "interp/kernel.h"

#include "interp/statements.h"
#include "support/text.h"

#include <sys/mman.h>
#include <ucontext.h>

#include <fmt/format.h>

#include <algorithm>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define LOOPSMITH_FIBERS_ASAN 1
#include <sanitizer/common_interface_defs.h>
#endif
#endif

namespace loopsmith::interp {
namespace {

constexpr size_t stack_bytes = size_t{1} << 20;   // the system allocates pages at their first use

}  // namespace

struct Kernel::Context {
  ucontext_t context{};
  void* fake_stack = nullptr;      // AddressSanitizer's
  const void* bottom = nullptr;    // of the scheduler's stack
  size_t size = 0;
};

struct Kernel::Fiber {
  enum class State : uint8_t { Ready, Waiting, Done } state = State::Ready;
  Frame frame;
  Kernel* kernel = nullptr;
  ucontext_t context{};
  void* stack = nullptr;
  const void* site = nullptr;              // the place of the wait
  const std::vector<int>* group = nullptr;
  Origin origin;
  Wait kind = Wait::Exchange;
  const std::function<bool()>* until = nullptr;   // the condition that it waits for; null: it waits for other threads
  ~Fiber() { if (stack) { ::munmap(stack, stack_bytes); } }
};

Kernel::Kernel(Frame& parent, std::vector<Dimension> dimensions, Origin origin)
    : parent_(parent), dimensions_(std::move(dimensions)), origin_(origin), storages_(parent.storages.size()), scheduler_(std::make_unique<Context>()) {
  for (const Dimension& d : dimensions_) { count_ = static_cast<int>(count_ * d.extent); }
  posted.resize(static_cast<size_t>(count_));
  everybody.assign(static_cast<size_t>(count_), 0);
}
Kernel::~Kernel() = default;

auto Kernel::index(int thread, size_t dimension) const -> int64_t {
  int64_t rest = thread;
  for (size_t d = 0; d < dimension; ++d) { rest /= dimensions_[d].extent; }
  return rest % dimensions_[dimension].extent;
}

auto Kernel::storage(uint32_t number) -> std::pair<Memory*, bool> {
  bool is_new = !storages_[number];
  if (is_new) { storages_[number] = std::make_unique<Memory>(); }
  return {storages_[number].get(), is_new};
}

auto Kernel::across(const std::vector<size_t>& dimensions) -> const std::vector<int>& {
  auto [found, is_new] = across_.try_emplace(dimensions);
  for (int t = 0; is_new && t < count_; ++t) {
    int64_t key = 0;
    for (size_t d = 0; d < dimensions_.size(); ++d) {
      if (std::find(dimensions.begin(), dimensions.end(), d) == dimensions.end()) { key = key * dimensions_[d].extent + index(t, d); }
    }
    found->second.push_back(static_cast<int>(key));
  }
  return found->second;
}
auto Kernel::warps(int64_t size) -> const std::vector<int>& {
  auto [found, is_new] = warps_.try_emplace(size);
  for (int t = 0; is_new && t < count_; ++t) { found->second.push_back(static_cast<int>(t / size)); }
  return found->second;
}

void Kernel::enter(unsigned high, unsigned low) {
  auto* fiber = reinterpret_cast<Fiber*>((static_cast<uintptr_t>(high) << 32) | low);
  Kernel& kernel = *fiber->kernel;
#ifdef LOOPSMITH_FIBERS_ASAN
  __sanitizer_finish_switch_fiber(nullptr, &kernel.scheduler_->bottom, &kernel.scheduler_->size);
#endif
  kernel.body_->run(fiber->frame);
  fiber->state = Fiber::State::Done;
#ifdef LOOPSMITH_FIBERS_ASAN
  __sanitizer_start_switch_fiber(nullptr, kernel.scheduler_->bottom, kernel.scheduler_->size);
#endif
  ::setcontext(&kernel.scheduler_->context);
}

void Kernel::resume(Fiber& fiber) {
  current_ = &fiber;
#ifdef LOOPSMITH_FIBERS_ASAN
  __sanitizer_start_switch_fiber(&scheduler_->fake_stack, fiber.stack, stack_bytes);
#endif
  ::swapcontext(&scheduler_->context, &fiber.context);
#ifdef LOOPSMITH_FIBERS_ASAN
  __sanitizer_finish_switch_fiber(scheduler_->fake_stack, nullptr, nullptr);
#endif
  current_ = nullptr;
}

void Kernel::wait(Frame& f, const void* site, const std::vector<int>& group, Origin origin, Wait kind) {
  if (f.failed) { return; }
  Fiber& fiber = *current_;
  fiber.state = Fiber::State::Waiting;
  fiber.site = site;
  fiber.group = &group;
  fiber.origin = origin;
  fiber.kind = kind;
  suspend(fiber);
}

void Kernel::wait_until(Frame& f, const std::function<bool()>& holds, Origin origin) {
  if (f.failed || holds()) { return; }
  Fiber& fiber = *current_;
  fiber.state = Fiber::State::Waiting;
  fiber.site = &holds;
  fiber.group = &everybody;
  fiber.origin = origin;
  fiber.kind = Wait::Exchange;
  fiber.until = &holds;
  suspend(fiber);
  fiber.until = nullptr;
}

void Kernel::suspend(Fiber& fiber) {
#ifdef LOOPSMITH_FIBERS_ASAN
  void* fake_stack = nullptr;
  __sanitizer_start_switch_fiber(&fake_stack, scheduler_->bottom, scheduler_->size);
#endif
  ::swapcontext(&fiber.context, &scheduler_->context);
#ifdef LOOPSMITH_FIBERS_ASAN
  __sanitizer_finish_switch_fiber(fake_stack, &scheduler_->bottom, &scheduler_->size);
#endif
}

// Resumes the threads of every group that is complete. False when no group is. `is_stuck`: barriers of warps no longer wait for threads that wait
// at other places.
auto Kernel::release(bool is_stuck) -> bool {
  bool any = false;
  std::vector<char> is_open(fibers_.size(), 0);
  for (size_t t = 0; t < fibers_.size(); ++t) {
    Fiber& fiber = *fibers_[t];
    if (fiber.state != Fiber::State::Waiting || is_open[t]) { continue; }
    if (fiber.until) {
      is_open[t] = (*fiber.until)() ? 1 : 0;
      any = any || is_open[t] != 0;
      continue;
    }
    bool all = true;
    for (size_t u = 0; u < fibers_.size() && all; ++u) {
      const Fiber& other = *fibers_[u];
      if ((*fiber.group)[u] != (*fiber.group)[t]) { continue; }
      bool is_elsewhere = other.state != Fiber::State::Waiting || other.site != fiber.site;
      if (!is_elsewhere) { continue; }
      all = fiber.kind == Wait::WarpBarrier ? is_stuck || other.state == Fiber::State::Done : other.state == Fiber::State::Done && fiber.kind == Wait::Exchange;
    }
    if (!all) { continue; }
    for (size_t u = 0; u < fibers_.size(); ++u) {
      const Fiber& other = *fibers_[u];
      if (other.state == Fiber::State::Waiting && !other.until && other.site == fiber.site && (*fiber.group)[u] == (*fiber.group)[t]) { is_open[u] = 1; }
    }
    any = true;
  }
  for (size_t t = 0; t < fibers_.size(); ++t) {
    if (!is_open[t]) { continue; }
    Fiber& fiber = *fibers_[t];
    if (fiber.kind != Wait::Exchange) { fiber.frame.pass_barrier(fiber.kind == Wait::BlockBarrier ? Watch::Barrier::Block : Watch::Barrier::Warp); }
    fiber.state = Fiber::State::Ready;
  }
  return any;
}

auto Kernel::thread_text(int thread) const -> std::string {
  std::string out;
  for (size_t d = 0; d < dimensions_.size(); ++d) {
    Name name = dimensions_[d].variable.empty() ? dimensions_[d].name : dimensions_[d].variable;
    out += (out.empty() ? "" : ", ") + name.str() + "=" + std::to_string(index(thread, d));
  }
  return out;
}

// The error for a thread that waits forever for others: names one of them, and the place where their paths diverge.
auto Kernel::diverged(const Fiber& waiting) const -> Diagnostic {
  Diagnostic d = error(loopsmith::Code::InterpBarrier, waiting.origin).arg("iteration", waiting.frame.iteration());
  if (waiting.until || !waiting.group) { return d; }
  auto own = static_cast<size_t>(waiting.frame.thread);
  for (const auto& fiber : fibers_) {
    auto other = static_cast<size_t>(fiber->frame.thread);
    bool is_here = fiber->state == Fiber::State::Waiting && fiber->site == waiting.site;
    if (is_here || (*waiting.group)[other] != (*waiting.group)[own]) { continue; }
    const std::string here = thread_text(waiting.frame.thread);
    const std::string there = thread_text(fiber->frame.thread);
    for (const Branch* branch : waiting.frame.branches) {
      uint8_t way = waiting.frame.ways[branch->counter];
      if (fiber->frame.ways[branch->counter] == way) { continue; }
      return std::move(d).note(branch->origin, fmt::format("here the ways part: the condition is {} for `{}` and {} for `{}`", way == 1, here, way != 1, there));
    }
    for (const LoopInProgress& loop : waiting.frame.loops) {
      if (loop.counter >= waiting.frame.trips.size() || fiber->frame.trips[loop.counter] == waiting.frame.trips[loop.counter]) { continue; }
      int64_t theirs = std::max<int64_t>(0, fiber->frame.trips[loop.counter] - 1);
      return std::move(d).note(waiting.origin, fmt::format("loop `{}` has {} for `{}` and {} for `{}`", loop.name.view(), count_text(waiting.frame.trips[loop.counter] - 1, "iteration"), here, theirs, there));
    }
    if (fiber->state == Fiber::State::Waiting) { return std::move(d).note(fiber->origin, fmt::format("`{}` waits here while `{}` waits there", there, here)); }
    return std::move(d).note(waiting.origin, fmt::format("`{}` waits here, and `{}` has ended", here, there));
  }
  return d;
}

// No thread can continue: the waiting threads wait forever.
void Kernel::give_up() {
  bool failed = std::any_of(fibers_.begin(), fibers_.end(), [](const auto& fiber) { return fiber->frame.failed; });
  for (auto& fiber : fibers_) {
    if (fiber->state != Fiber::State::Waiting) { continue; }
    if (!failed) { fiber->frame.fail(diverged(*fiber)); }
    failed = fiber->frame.failed = true;
    fiber->state = Fiber::State::Ready;
  }
}

/// Gives a thread copies of the local memory that is allocated outside of the kernel.
void Kernel::own_local_memory(Frame& frame) const {
  for (size_t i = 0; i < parent_.storages.size(); ++i) {
    const Memory* outside = parent_.storages[i].get();
    if (!outside || !outside->is_of_thread) { continue; }
    auto own = std::make_unique<Memory>();
    own->bytes = own->capacity = outside->bytes;
    own->owned.reset(new char[static_cast<size_t>(std::max<int64_t>(outside->bytes, 1))]);
    own->data = own->owned.get();
    std::copy_n(outside->data, outside->bytes, own->data);
    own->is_of_thread = true;
    own->written = outside->written;
    own->shadow = outside->shadow;
    for (Pointer& pointer : frame.pointers) {
      if (pointer.memory == outside) { pointer.memory = own.get(); }
    }
    for (Binding& binding : frame.bindings) {
      if (binding.memory == outside) { binding.memory = own.get(); }
    }
    frame.storages[i] = std::move(own);
  }
}

/// Writes changes of that memory back, thread by thread: the next loops over the threads of the block read them.
void Kernel::keep_local_memory() {
  for (const auto& storage : parent_.storages) {
    Memory* outside = storage.get();
    if (!outside || !outside->is_of_thread) { continue; }
    const size_t number = static_cast<size_t>(&storage - parent_.storages.data());
    const std::vector<char> before(outside->data, outside->data + outside->bytes);
    for (const auto& fiber : fibers_) {
      const Memory* own = fiber->frame.storages[number].get();
      if (!own || !own->is_of_thread || own->bytes != outside->bytes) { continue; }
      for (size_t i = 0; i < before.size(); ++i) {
        if (own->data[i] != before[i]) { outside->data[i] = own->data[i]; }
      }
      for (size_t i = 0; i < std::min(own->written.size(), outside->written.size()); ++i) { outside->written[i] = outside->written[i] | own->written[i]; }
    }
  }
}

void Kernel::start_threads(bool is_launch) {
  uint64_t instance = parent_.watch ? parent_.watch->fresh_instance() : 0;
  if (parent_.watch) {
    std::vector<Watch::ThreadDimension> named;
    for (const Dimension& d : dimensions_) { named.push_back({d.variable.empty() ? d.name : d.variable, d.extent}); }
    parent_.watch->begin_kernel(instance, std::move(named));
  }
  for (int t = 0; t < count_; ++t) {
    auto fiber = std::make_unique<Fiber>();
    fiber->kernel = this;
    Frame& frame = fiber->frame;
    frame.slots = parent_.slots;
    frame.pointers = parent_.pointers;
    frame.bindings = parent_.bindings;
    frame.storages.resize(parent_.storages.size());
    frame.loops = parent_.loops;
    frame.counts.resize(parent_.counts.size());
    frame.iterations.resize(parent_.iterations.size());
    frame.regions = parent_.regions;
    frame.ways.resize(parent_.counts.size());
    frame.trips.resize(parent_.iterations.size());
    frame.steps = parent_.steps;
    frame.step_limit = parent_.step_limit;
    frame.allocated = parent_.allocated;
    frame.deadline = parent_.deadline;
    frame.options = parent_.options;
    frame.kernel = this;
    frame.thread = t;
    frame.watch = parent_.watch;
    if (is_launch) { own_local_memory(frame); }
    if (frame.watch) { frame.position = frame.thread_place = frame.watch->enter_thread(parent_.position, this, instance, t, is_launch); }
    fiber->stack = ::mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (fiber->stack == MAP_FAILED) {
      fiber->stack = nullptr;
      parent_.fail(error(loopsmith::Code::InterpLimit, origin_).arg("what", "asking for too many threads").arg("iteration", parent_.iteration()));
      return;
    }
    ::getcontext(&fiber->context);
    fiber->context.uc_stack.ss_sp = fiber->stack;
    fiber->context.uc_stack.ss_size = stack_bytes;
    fiber->context.uc_link = nullptr;
    auto address = reinterpret_cast<uintptr_t>(fiber.get());
    ::makecontext(&fiber->context, reinterpret_cast<void (*)()>(&Kernel::enter), 2, static_cast<unsigned>(address >> 32), static_cast<unsigned>(address));
    fibers_.push_back(std::move(fiber));
  }
}

// Adds the counts and reports of the threads to the parent's frame.
void Kernel::collect() {
  int64_t steps = 0;
  for (auto& fiber : fibers_) {
    Frame& frame = fiber->frame;
    for (size_t i = 0; i < frame.counts.size(); ++i) { parent_.counts[i] += frame.counts[i]; }
    for (size_t i = 0; i < frame.iterations.size(); ++i) { parent_.iterations[i] += frame.iterations[i]; }
    parent_.stats.statements += frame.stats.statements;
    parent_.stats.block_instances += frame.stats.block_instances;
    steps += frame.steps - parent_.steps;
    // All threads find the same problem.
    for (Diagnostic& d : frame.stats.warnings) {
      auto is_same = [&](const Diagnostic& o) { return o.code == d.code && o.where == d.where; };
      std::vector<Diagnostic>& all = parent_.stats.warnings;
      if (std::none_of(all.begin(), all.end(), is_same)) { all.push_back(std::move(d)); }
    }
    for (Diagnostic& d : frame.errors) { parent_.fail(std::move(d)); }
  }
  parent_.steps += steps;
}

void Kernel::run(const Statement& body, bool is_launch) {
  body_ = &body;
  start_threads(is_launch);
  if (parent_.failed) { return; }
  // Frees the memory of the threads after the kernel.
  const int64_t allocated = *parent_.allocated;
  bool failed = false;
  for (bool going = true; going;) {
    going = false;
    for (auto& fiber : fibers_) {
      if (fiber->state != Fiber::State::Ready) { continue; }
      going = true;
      // After one thread fails, all threads stop.
      fiber->frame.failed = fiber->frame.failed || failed;
      resume(*fiber);
      failed = failed || fiber->frame.failed;
    }
    if (release(false) || release(true)) {
      going = true;
      continue;
    }
    bool any_waits = std::any_of(fibers_.begin(), fibers_.end(), [](const auto& fiber) { return fiber->state == Fiber::State::Waiting; });
    if (!any_waits) { continue; }
    give_up();
    failed = going = true;
  }
  *parent_.allocated = allocated;
  if (is_launch) { keep_local_memory(); }
  collect();
}

}  // namespace loopsmith::interp
