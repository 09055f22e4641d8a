// The tree of places: see watch.h.
#include "interp/watch.h"

#include <algorithm>
#include <bit>

namespace loopsmith::interp {

void Shadow::reset(int64_t bytes, int granule_bytes) {
  granule = std::max(1, granule_bytes);
  shift = std::has_single_bit(static_cast<unsigned>(granule)) ? std::countr_zero(static_cast<unsigned>(granule)) : -1;
  auto n = static_cast<size_t>(bytes / granule + 1);
  writer.assign(n, 0);
  reader.assign(n, 0);
}

auto Watch::enter(uint32_t from, const void* loop, Name name, uint64_t instance, int64_t iteration, uint32_t epoch) -> uint32_t {
  if (places_.size() >= most) { return from; }
  places_.push_back({from, places_[from].depth + 1, loop, name, instance, iteration, epoch, nullptr, nullptr});
  return static_cast<uint32_t>(places_.size() - 1);
}

auto Watch::past_barrier(uint32_t place) -> uint32_t {
  if (places_.size() >= most) { return place; }
  Place next = places_[place];
  ++next.epoch;
  places_.push_back(next);
  return static_cast<uint32_t>(places_.size() - 1);
}

auto Watch::enter_reduction(uint32_t from, const void* block, const std::vector<const void*>* loops) -> uint32_t {
  if (places_.size() >= most) { return from; }
  places_.push_back({from, places_[from].depth + 1, nullptr, Name(), 0, 0, 0, block, loops});
  return static_cast<uint32_t>(places_.size() - 1);
}

auto Watch::unordered(uint32_t a, uint32_t b) const -> std::optional<Conflict> {
  if (a == b || a == 0 || b == 0) { return {}; }
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
    a = places_[a].parent;
    b = places_[b].parent;
  }
  const Place& x = places_[a];
  const Place& y = places_[b];
  if (a == b || !x.loop || !y.loop || x.instance != y.instance || x.iteration == y.iteration || x.epoch != y.epoch) { return {}; }
  if (reducing_a && reducing_a == reducing_b && std::find(reduced->begin(), reduced->end(), x.loop) != reduced->end()) { return {}; }
  return Conflict{a, b};
}

auto Watch::in_words(uint32_t place) const -> std::string {
  std::string out;
  for (; place > beginning; place = places_[place].parent) {
    const Place& p = places_[place];
    if (p.loop) { out = p.name.str() + "=" + std::to_string(p.iteration) + (out.empty() ? "" : ", " + out); }
  }
  return out;
}

}  // namespace loopsmith::interp
