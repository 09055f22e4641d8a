// The tree of places, and the order that barriers impose: see watch.h.
#include "interp/watch.h"

#include <algorithm>
#include <bit>

namespace loopsmith::interp {

void Shadow::reset(int64_t bytes, int granule_bytes) {
  granule = std::max(1, granule_bytes);
  shift = std::has_single_bit(static_cast<unsigned>(granule)) ? std::countr_zero(static_cast<unsigned>(granule)) : -1;
  uses.assign(static_cast<size_t>(bytes / granule + 1), {});
}

auto Watch::add(const Place& place) -> uint32_t {
  places_.push_back(place);
  return static_cast<uint32_t>(places_.size() - 1);
}

auto Watch::enter(uint32_t from, const void* loop, Name name, uint64_t instance, int64_t iteration, Runner runner, bool is_launch) -> uint32_t {
  if (places_.size() >= most) { return from; }
  Place place{.parent = from, .depth = places_[from].depth + 1, .loop = loop, .name = name, .instance = instance, .iteration = iteration};
  place.runner = runner;
  place.is_launch = is_launch;
  return add(place);
}

auto Watch::enter_reduction(uint32_t from, const void* block, const std::vector<const void*>* loops) -> uint32_t {
  if (places_.size() >= most) { return from; }
  return add({.parent = from, .depth = places_[from].depth + 1, .name = Name(), .reducing = block, .reduced = loops});
}

void Watch::begin_kernel(uint64_t instance, std::vector<ThreadDimension> dimensions) {
  kernels_[instance] = std::move(dimensions);
  known_.clear();
}

auto Watch::enter_thread(uint32_t from, const void* kernel, uint64_t instance, int64_t thread, bool is_launch) -> uint32_t {
  if (places_.size() >= most) { return from; }
  Place place{.parent = from, .depth = places_[from].depth + 1, .loop = kernel, .name = Name("thread"), .instance = instance, .iteration = thread};
  place.clock = 1;
  place.is_thread = true;
  place.runner = Runner::Thread;
  place.is_launch = is_launch;
  return add(place);
}

auto Watch::past_barrier(uint32_t thread_place, Barrier barrier) -> uint32_t {
  if (!places_[thread_place].is_thread) { return thread_place; }
  // Without a place behind the barrier, ordered accesses would look unordered.
  is_full_ = is_full_ || places_.size() >= most;
  if (is_full_) { return thread_place; }
  Place next = places_[thread_place];
  ++next.clock;
  if (barrier == Barrier::Block) { ++next.block_epoch; }
  if (barrier == Barrier::Warp) {
    ++next.warp_epoch;
    // Behind the barrier every thread of the warp has the order of events that any of them had. All threads reach this point before any continues.
    if (!known_.empty()) {
      auto first = static_cast<size_t>(next.iteration / warp * warp);
      for (size_t t = first; t < std::min(known_.size(), first + warp); ++t) { release(thread_place, known_[t]); }
    }
  }
  return add(next);
}

auto Watch::moved(uint32_t place, uint32_t thread_place) -> uint32_t {
  if (places_[place].is_thread) { return thread_place; }
  if (place <= beginning || places_.size() >= most) { return place; }
  Place copy = places_[place];
  copy.parent = moved(copy.parent, thread_place);
  return add(copy);
}

void Watch::release(uint32_t thread_place, Clock& into) {
  const Place& place = places_[thread_place];
  auto kernel = kernels_.find(place.instance);
  if (!place.is_thread || kernel == kernels_.end()) { return; }
  int64_t threads = 1;
  for (const ThreadDimension& d : kernel->second) { threads *= d.extent; }
  if (known_.empty()) { known_.resize(static_cast<size_t>(threads)); }
  into.resize(static_cast<size_t>(threads));
  auto self = static_cast<size_t>(place.iteration);
  const Clock known = known_[self];
  for (size_t t = 0; t < known.size(); ++t) { into[t] = std::max(into[t], known[t]); }
  into[self] = std::max(into[self], place.clock);
}

void Watch::acquire(uint32_t thread_place, const Clock& from) {
  const Place& place = places_[thread_place];
  if (!place.is_thread || known_.empty()) { return; }
  Clock& known = known_[static_cast<size_t>(place.iteration)];
  known.resize(std::max(known.size(), from.size()));
  for (size_t t = 0; t < from.size(); ++t) { known[t] = std::max(known[t], from[t]); }
}

auto Watch::start_copy(uint32_t from) -> uint32_t {
  if (places_.size() >= most) { return from; }
  Place copy = places_[from];
  copy.is_unfinished = true;
  return add(copy);
}

void Watch::finish_copy(uint32_t copy, uint32_t at) {
  if (copy > beginning && places_[copy].is_unfinished) { places_[copy] = places_[at]; }
}

auto Watch::is_ordered_by_barriers(const Place& before, const Place& now) const -> bool {
  if (!before.is_thread) { return false; }
  if (before.block_epoch != now.block_epoch) { return true; }
  if (before.iteration / warp == now.iteration / warp && before.warp_epoch != now.warp_epoch) { return true; }
  if (known_.empty()) { return false; }
  const Clock& known = known_[static_cast<size_t>(now.iteration)];
  auto other = static_cast<size_t>(before.iteration);
  return other < known.size() && known[other] >= before.clock;
}

auto Watch::kernel_of(uint32_t place) const -> uint64_t {
  while (place > beginning && !places_[place].is_thread) { place = places_[place].parent; }
  return place > beginning ? places_[place].instance : 0;
}

auto Watch::unordered(uint32_t before, uint32_t now) const -> std::optional<Conflict> {
  uint32_t a = before;
  uint32_t b = now;
  if (a == b || a == 0 || b == 0 || is_full_) { return {}; }
  // A copy ends with its block; the next one has memory of its own.
  if (places_[a].is_unfinished && kernel_of(a) == kernel_of(b)) { return Conflict{a, b, Runner::Other, places_[a].is_launch, true}; }
  const void* reducing_a = places_[a].reducing;
  const void* reducing_b = places_[b].reducing;
  const std::vector<const void*>* reduced = places_[a].reduced;
  while (places_[a].depth > places_[b].depth) {
    uint32_t up = places_[a].parent;
    if (up == b) { return {}; }
    a = up;
  }
  while (places_[b].depth > places_[a].depth) {
    uint32_t up = places_[b].parent;
    if (up == a) { return {}; }
    b = up;
  }
  while (a != b && places_[a].parent != places_[b].parent) {
    // Behind a barrier a thread has another place, but is the same thread.
    if (places_[a].is_thread && places_[b].is_thread && places_[a].instance == places_[b].instance) { break; }
    a = places_[a].parent;
    b = places_[b].parent;
  }
  const Place& x = places_[a];
  const Place& y = places_[b];
  if (a == b || !x.loop || !y.loop || x.instance != y.instance || x.iteration == y.iteration || is_ordered_by_barriers(x, y)) { return {}; }
  if (reducing_a && reducing_a == reducing_b && std::find(reduced->begin(), reduced->end(), x.loop) != reduced->end()) { return {}; }
  return Conflict{a, b, x.runner, x.is_launch, false};
}

auto Watch::in_words(uint32_t place) const -> std::string {
  std::string out;
  for (; place > beginning; place = places_[place].parent) {
    const Place& p = places_[place];
    if (!p.loop) { continue; }
    std::string words = p.name.str() + "=" + std::to_string(p.iteration);
    if (auto kernel = kernels_.find(p.instance); p.is_thread && kernel != kernels_.end()) {
      words.clear();
      int64_t rest = p.iteration;
      for (const ThreadDimension& d : kernel->second) {
        words += (words.empty() ? "" : ", ") + d.variable.str() + "=" + std::to_string(rest % d.extent);
        rest /= d.extent;
      }
    }
    out = words + (out.empty() ? "" : ", " + out);
  }
  return out;
}

}  // namespace loopsmith::interp
