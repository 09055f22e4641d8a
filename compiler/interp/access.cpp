// Reports of accesses, and stores: see access.h.
#include "interp/access.h"

#include <fmt/format.h>

namespace loopsmith::interp {

void AccessSite::not_declared(Frame& f) const {
  if (!f.failed) { f.fail(error(loopsmith::Code::InterpUnsupported, origin).arg("what", "an access to `" + buffer->name.str() + "` before its declaration")); }
}

void AccessSite::out_of_bounds(Frame& f, int64_t index, int64_t extent, int at) const {
  if (f.failed) { return; }
  std::string dimension = at < 0 ? "memory" : std::to_string(at);
  f.fail(error(loopsmith::Code::InterpOutOfBounds, origin).arg("index", index).arg("buffer", buffer->name.view())
             .arg("extent", extent).arg("dimension", dimension).arg("iteration", f.iteration()));
}

void AccessSite::unwritten(Frame& f) const {
  if (f.warned.insert(buffer).second) {
    f.stats.warnings.push_back(error(loopsmith::Code::InterpUnwritten, origin).arg("buffer", buffer->name.view()).arg("iteration", f.iteration()));
  }
}

auto AccessSite::element_text(Frame& f, int lane) const -> std::string {
  int saved = f.lane;
  f.lane = element_lanes > 1 ? lane / element_lanes : lane;
  std::string out;
  for (const Index& index : indices) { out += (out.empty() ? "" : ", ") + std::to_string(index.value(f)); }
  f.lane = saved;
  return buffer->name.str() + "[" + out + "]";
}

namespace {

/// The current access to a granule.
struct Now {
  uint32_t place = 0, access = 0;
  Origin origin;
  const AccessSite* site = nullptr;   // null: an access through a pointer
  int lane = 0;
  int64_t granule = 0;                // of the memory, for an access through a pointer
};

void report_race(Frame& f, const Now& now, const Watch::Conflict& conflict, Shadow::Use before, bool wrote, bool writes) {
  const AccessInText& other = f.watch->access(before.access);
  std::string first = f.watch->in_words(conflict.first);
  std::string second = f.watch->in_words(conflict.second);
  Diagnostic d = error(loopsmith::Code::InterpRace, now.origin).arg("buffer", now.site ? now.site->element_text(f, now.lane) : fmt::format("{}[{}]", f.watch->access(now.access).buffer.view(), now.granule))
                     .arg("other", wrote ? "writes" : "reads").arg("other_iteration", first).arg("here", writes ? "writes" : "reads").arg("iteration", f.iteration());
  if (conflict.is_launch) { d.severity = Severity::Error; }
  auto done = [](bool write) { return write ? "written" : "read"; };
  if (conflict.is_copy) {
    (void)std::move(d).note(other.origin, fmt::format("an asynchronous copy that `{}` starts here {} `{}`, and nothing has waited for it", first, wrote ? "writes" : "reads", other.buffer.view()));
  } else {
    (void)std::move(d).note(other.origin, fmt::format("`{}` is {} here by `{}`", other.buffer.view(), done(wrote), first));
    (void)std::move(d).note(now.origin, fmt::format("one possible order: `{}` {} the element here before `{}` {} it there", second, writes ? "writes" : "reads", first, wrote ? "writes" : "reads"));
  }
  f.stats.warnings.push_back(std::move(d));
}

/// Checks a granule for conflicts with earlier accesses, and records this one. Makes one report for each access in the text.
void note_granule(Frame& f, Runner owner, Shadow::Granule& uses, const Now& now, bool writes, bool is_same) {
  auto conflict_with = [&](Shadow::Use before, bool wrote) {
    if (before.place == 0 || before.place == now.place) { return false; }
    auto conflict = f.watch->unordered(before.place, now.place);
    if (!conflict) { return false; }
    // Blocks, or threads, that each have their own memory cannot conflict there.
    if (owner == Runner::Thread ? conflict->runner == Runner::Thread || conflict->runner == Runner::Block : owner == conflict->runner) { return false; }
    // The number of the access identifies it, since its address changes when a closure is copied.
    if (f.raced.insert(now.access).second) { report_race(f, now, *conflict, before, wrote, writes); }
    return true;
  };
  if (writes) {
    // Several iterations that write the same value are harmless.
    bool found = !is_same && conflict_with(uses.writer, true);
    found = found || (!is_same && conflict_with(uses.reader, false));
    if (!found && !is_same) { conflict_with(uses.latest_reader, false); }
    uses.writer = {now.place, now.access};
    return;
  }
  conflict_with(uses.writer, true);
  if (uses.reader.place == now.place || uses.latest_reader.place == now.place) { return; }
  if (!f.watch->unordered(uses.reader.place, now.place)) { uses.reader = {now.place, now.access}; } else { uses.latest_reader = {now.place, now.access}; }
}

}  // namespace

void note_bytes(Frame& f, const Pointer& pointer, int64_t bytes, uint32_t place, uint32_t access, bool writes, bool is_same) {
  if (!f.watch || !pointer.memory || !pointer.memory->shadow.is_on() || bytes <= 0 || !pointer.has(bytes)) { return; }
  Shadow& shadow = pointer.memory->shadow;
  Now now{place, access, f.watch->access(access).origin};
  for (auto [g, last] = shadow.granules(pointer.byte, bytes); g <= last; ++g) {
    now.granule = static_cast<int64_t>(g);
    note_granule(f, shadow.owner, shadow.uses[g], now, writes, is_same);
  }
}

void AccessSite::note_read(Frame& f, Memory& memory, int64_t at, int lane) const {
  Shadow& shadow = memory.shadow;
  for (auto [g, last] = shadow.granules(at, element_bytes); g <= last; ++g) {
    Shadow::Granule& uses = shadow.uses[g];
    if (uses.writer.place == f.position && uses.reader.place == f.position) { continue; }
    note_granule(f, shadow.owner, uses, {f.position, number, origin, this, lane}, false, false);
  }
}

void AccessSite::note_write(Frame& f, Memory& memory, int64_t at, uint64_t bits, int lane) const {
  Shadow& shadow = memory.shadow;
  bool is_same = std::memcmp(memory.data + at, &bits, static_cast<size_t>(element_bytes)) == 0;
  for (auto [g, last] = shadow.granules(at, element_bytes); g <= last; ++g) { note_granule(f, shadow.owner, shadow.uses[g], {f.position, number, origin, this, lane}, true, is_same); }
}

void AccessSite::check_declared(Frame& f, int lane, bool writes) const {
  int saved = f.lane;
  f.lane = element_lanes > 1 ? lane / element_lanes : lane;
  for (const DeclaredRegions& regions : declared) {
    bool is_covered = false;
    for (const DeclaredRegions::Place& place : regions.places) {
      bool inside = true;
      for (size_t d = 0; d < indices.size() && inside; ++d) {
        int64_t index = indices[d].value(f);
        inside = index >= f.regions[place.first + 2 * d] && index < f.regions[place.first + 2 * d + 1];
      }
      is_covered = is_covered || inside;
    }
    if (is_covered || !f.warned.insert(this).second) { continue; }
    std::string element;
    for (const Index& index : indices) { element += (element.empty() ? "" : ", ") + std::to_string(index.value(f)); }
    f.stats.warnings.push_back(error(loopsmith::Code::InterpUndeclared, origin).arg("block", regions.block->name.view()).arg("access", writes ? "writes" : "reads")
                                   .arg("buffer", buffer->name.view()).arg("index", element).arg("iteration", f.iteration()));
  }
  f.lane = saved;
}

void put(Frame& f, const AccessSite& site, bool is_int, int lane, Slot v) {
  int64_t at = site.locate(f, lane);
  if (at < 0) { return; }
  Memory& memory = *f.bindings[site.binding].memory;
  uint64_t bits;
  if (is_int) {
    bits = static_cast<uint64_t>(v.i);
  } else if (site.element.is_float() && site.element_bytes == 4) {
    auto single = static_cast<float>(v.f);
    uint32_t narrow;
    std::memcpy(&narrow, &single, 4);
    bits = narrow;
  } else {
    bits = to_bits(site.element, v.f);
  }
  site.before_write(f, memory, at, bits, lane);
  std::memcpy(memory.data + at, &bits, static_cast<size_t>(site.element_bytes));   // little-endian hosts
  if (!memory.written.empty()) { std::fill_n(memory.written.begin() + at, site.element_bytes, uint8_t{1}); }
}

void Store::run(Frame& f) const {
  if (++f.steps >= f.next_check) { f.check_limits(site.origin); }
  ++f.stats.statements;
  if (lanes == 1) {
    f.lane = 0;
    if (!site.wanted(f, 0)) { return; }
    ++f.counts[counter];
    Slot v;
    if (value.i) { v.i = value.i->eval(f); } else { v.f = value.f->eval(f); }
    if (!f.failed) { put(f, site, value.i != nullptr, 0, v); }
    return;
  }
  // All lanes are read before any is written.
  constexpr int few = 64;
  Slot small[few];
  std::vector<Slot> large(lanes > few ? static_cast<size_t>(lanes) : 0);
  Slot* values = lanes > few ? large.data() : small;
  for (int l = 0; l < lanes && !f.failed; ++l) {
    f.lane = l;
    if (!site.wanted(f, l)) { continue; }
    ++f.counts[counter];
    if (value.i) { values[l].i = value.i->eval(f); } else { values[l].f = value.f->eval(f); }
  }
  for (int l = 0; l < lanes && !f.failed; ++l) {
    if (site.wanted(f, l)) { put(f, site, value.i != nullptr, l, values[l]); }
  }
  f.lane = 0;
}

void Frame::check_limits(Origin at) {
  next_check = std::min(step_limit, steps + 4096);
  if (options->cancel.is_cancelled()) {
    fail(error(loopsmith::Code::Cancelled));
  } else if (steps >= step_limit) {
    fail(error(loopsmith::Code::InterpLimit, at).arg("what", std::to_string(steps) + " statements").arg("iteration", iteration()));
  } else if (std::chrono::steady_clock::now() >= deadline) {
    fail(error(loopsmith::Code::InterpLimit, at).arg("what", "its time limit").arg("iteration", iteration()));
  }
}

}  // namespace loopsmith::interp
