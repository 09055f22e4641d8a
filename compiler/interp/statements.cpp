// Memory of allocations, instances of blocks: see statements.h.
#include "interp/statements.h"

#include "interp/kernel.h"

namespace loopsmith::interp {

void AllocateMemory::run(Frame& f) const {
  f.lane = 0;
  if (is_shared && f.kernel) {
    auto [storage, is_new] = f.kernel->storage(number);
    if (is_new) { make(f, *storage); }
    f.pointers[memory] = {storage, 0};
  } else {
    std::unique_ptr<Memory>& storage = f.storages[number];
    if (!storage) { storage = std::make_unique<Memory>(); }
    make(f, *storage);
    f.pointers[memory] = {storage.get(), 0};
  }
  if (f.failed) { return; }
  for (const BindBuffer& b : bind) { b.run(f); }
}

auto reserve(Frame& f, Memory& storage, int64_t bytes, int element_bytes) -> bool {
  // Memory is kept for the next execution of an allocation, so it never shrinks.
  int64_t needed = std::max(bytes, storage.capacity);
  if (needed > f.options->max_bytes) { return false; }
  // The records need two 32-bit numbers for each element, and one byte for each byte.
  if (f.watch) { needed += 8 * (bytes / std::max(1, element_bytes) + 1); }
  if (f.options->report_unwritten) { needed += bytes; }
  const int64_t more = std::max<int64_t>(0, needed - storage.charged);
  if (more > f.options->max_bytes - *f.allocated) { return false; }
  *f.allocated += more;
  storage.charged += more;
  return true;
}

void AllocateMemory::make(Frame& f, Memory& storage) const {
  int64_t bytes = element_bytes;
  bool fits = true;
  for (const IntExpr* e : extents) { fits = !__builtin_mul_overflow(bytes, std::max<int64_t>(0, e->eval(f)), &bytes) && fits; }
  if (!fits || !reserve(f, storage, bytes, static_cast<int>(element_bytes))) {
    const std::string asked = fits ? std::to_string(bytes) + " bytes" : std::string("more than 2^63 bytes");
    f.fail(error(loopsmith::Code::InterpLimit, origin).arg("what", "asking for " + asked + ", beyond the memory limit of " + std::to_string(f.options->max_bytes) + " bytes")
               .arg("iteration", f.iteration()));
    return;
  }
  if (!storage.owned || storage.capacity < bytes) {
    storage.owned.reset(new char[static_cast<size_t>(std::max<int64_t>(bytes, 1))]);
    storage.capacity = bytes;
  }
  storage.bytes = bytes;
  storage.is_of_thread = owner == Runner::Thread;
  storage.data = storage.owned.get();
  if (!constant.empty()) {
    std::memcpy(storage.data, constant.data(), std::min(constant.size(), static_cast<size_t>(bytes)));
  } else {
    // Fills unwritten elements with NaN, so that reads of them show in results.
    std::memset(storage.data, 0xFF, static_cast<size_t>(bytes));
    if (f.options->report_unwritten) { storage.written.assign(static_cast<size_t>(bytes), 0); }
  }
  if (f.watch) {
    storage.shadow.reset(bytes, static_cast<int>(element_bytes));
    storage.shadow.owner = owner;
  }
}

auto BlockInstance::is_wanted(Frame& f) const -> bool {
  std::vector<int64_t> values;
  for (const auto& [slot, value] : iters) { values.push_back(f.slots[slot].i); }
  return f.options->only(*block, values);
}

void BlockInstance::run(Frame& f) const {
  f.lane = 0;
  if (predicate && !predicate->eval(f)) { return; }
  for (const auto& [slot, value] : moved) { f.slots[slot].i = value_of(*value, f); }
  if (f.failed) { return; }
  if (f.options->only && !is_wanted(f)) { return; }
  ++f.stats.block_instances;
  for (const auto& a : allocations) {
    a->run(f);
    if (f.failed) { return; }
  }
  for (const BindBuffer& view : views) { view.run(f); }
  for (const MatchRegion& m : matches) {
    m.run(f);
    if (f.failed) { return; }
  }
  for (const DeclaredRegion& region : declared) {
    for (size_t d = 0; d < region.mins.size(); ++d) {
      f.lane = 0;
      int64_t begin = value_of(*region.mins[d], f);
      f.regions[region.first + 2 * d] = begin;
      f.regions[region.first + 2 * d + 1] = end_of(begin, value_of(*region.extents[d], f));
    }
  }
  uint32_t around = f.position;
  uint32_t thread_place = f.thread_place;
  const bool reduces = f.watch && !reduced.empty();
  if (reduces) { f.position = f.watch->enter_reduction(around, block, &reduced); }
  if (init) {
    bool first = true;
    for (auto [slot, start] : starts) { first = first && f.slots[slot].i == value_of(*start, f); }
    if (first) { init->run(f); }
  }
  if (!f.failed) { body->run(f); }
  if (!reduces) { return; }
  f.position_behind_barriers(around, thread_place);
  f.position = around;
}

}  // namespace loopsmith::interp
