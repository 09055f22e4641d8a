// Reports of accesses, and stores: see access.h.
#include "interp/access.h"

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

namespace {

void report_race(Frame& f, const AccessSite& site, const Watch::Conflict& conflict, const char* other, const char* here) {
  // At most one report for each access in the text.
  if (!f.warned.insert(&site).second) { return; }
  f.stats.warnings.push_back(error(loopsmith::Code::InterpRace, site.origin).arg("buffer", site.buffer->name.view()).arg("other", other)
                                 .arg("other_iteration", f.watch->in_words(conflict.first)).arg("here", here).arg("iteration", f.iteration()));
}

}  // namespace

void AccessSite::note_read(Frame& f, Memory& memory, int64_t at) const {
  Shadow& shadow = memory.shadow;
  for (auto [g, last] = shadow.granules(at, element_bytes); g <= last; ++g) {
    if (shadow.writer[g] != f.position) {
      if (auto conflict = f.watch->unordered(shadow.writer[g], f.position)) { report_race(f, *this, *conflict, "writes", "reads"); }
    }
    uint32_t& reader = shadow.reader[g];
    if (reader != f.position && !f.watch->unordered(reader, f.position)) { reader = f.position; }
  }
}

void AccessSite::note_write(Frame& f, Memory& memory, int64_t at, uint64_t bits) const {
  Shadow& shadow = memory.shadow;
  // Several iterations that write the same value are harmless.
  bool is_same = std::memcmp(memory.data + at, &bits, static_cast<size_t>(element_bytes)) == 0;
  for (auto [g, last] = shadow.granules(at, element_bytes); g <= last; ++g) {
    if (!is_same) {
      if (auto conflict = f.watch->unordered(shadow.writer[g], f.position)) {
        report_race(f, *this, *conflict, "writes", "writes");
      } else if (auto conflict2 = f.watch->unordered(shadow.reader[g], f.position)) {
        report_race(f, *this, *conflict2, "reads", "writes");
      }
    }
    shadow.writer[g] = f.position;
  }
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
  if (++f.steps >= f.next_check) { f.check_limits(); }
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

void Frame::check_limits() {
  next_check = std::min(step_limit, steps + 4096);
  if (options->cancel.is_cancelled()) {
    fail(error(loopsmith::Code::Cancelled));
  } else if (steps >= step_limit) {
    fail(error(loopsmith::Code::InterpLimit).arg("what", std::to_string(steps) + " statements").arg("iteration", iteration()));
  } else if (std::chrono::steady_clock::now() >= deadline) {
    fail(error(loopsmith::Code::InterpLimit).arg("what", "its time limit").arg("iteration", iteration()));
  }
}

}  // namespace loopsmith::interp
