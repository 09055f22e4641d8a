// Loads and stores: computes the address of an access, and checks it against the buffer's extents and the memory. Optional checks find reads of
// unwritten elements, races, and accesses outside of the regions that the blocks around declare.
#pragma once

#include "interp/frame.h"

namespace loopsmith::interp {

/// Regions of a buffer that a block around the access declares; one of them must contain it.
struct DeclaredRegions {
  const Block* block = nullptr;
  struct Place { size_t first = 0; };      // in Frame::regions: begin and end, dimension by dimension
  std::vector<Place> places;
};

/// An index. Most are variables or sums of multiples of a few variables (and of the lane, in a ramp), which are computed without
/// calling the expression's closure. Such sums do not wrap around in a correct program.
struct Index {
  struct Term { uint32_t slot; int64_t factor; };
  static constexpr int most_terms = 4;
  const IntExpr* expr;
  int64_t slot;               // -1: not a variable
  int terms = -1;             // the number of terms of such a sum; -1: another form
  Term term[most_terms] = {};
  int64_t constant = 0, per_lane = 0;
  Index(const IntExpr* e) : expr(e), slot(e->plain == IntExpr::Plain::Slot ? e->plain_value : -1) {}   // NOLINT: represents the expression
  auto operator*() const -> const IntExpr& { return *expr; }
  auto value(Frame& f) const -> int64_t {
    if (slot >= 0) { return f.slots[static_cast<size_t>(slot)].i; }
    if (terms < 0) { return value_of(*expr, f); }
    int64_t out = constant + per_lane * f.lane;
    for (int t = 0; t < terms; ++t) { out += f.slots[term[t].slot].i * term[t].factor; }
    return out;
  }
};

struct AccessSite {
  uint32_t binding = 0;
  const BufferNode* buffer = nullptr;
  std::vector<Index> indices;
  const IntExpr* predicate = nullptr;
  int element_lanes = 1;      // of the buffer's type
  int element_bytes = 4;
  DataType element;
  Origin origin;
  uint32_t number = 0;        // of the access in the text, for the watch
  std::vector<DeclaredRegions> declared;   // empty: not checked
  bool runs_over_rows = false;             // the vector is longer than a row: it continues with the next row, at any distance in memory

  /// Bytes from the start of the memory, or -1 after an error. `lane` counts lanes of the whole access.
  auto locate(Frame& f, int lane) const -> int64_t {
    const Binding& b = f.bindings[binding];
    int inner = 0;
    int saved = f.lane;
    if (element_lanes > 1) {
      inner = lane % element_lanes;
      f.lane = lane / element_lanes;
    } else {
      f.lane = lane;
    }
    int64_t place = b.offset;
    size_t n = indices.size();
    if (n != b.extents.size()) {
      f.lane = saved;
      not_declared(f);
      return -1;
    }
    const int64_t* extents = b.extents.data();
    const int64_t* strides = b.strides.data();
    int64_t rows = 0;                        // the number of rows by which the dimension behind overflowed
    for (size_t i = 0; i < n; ++i) {
      size_t d = runs_over_rows ? n - 1 - i : i;
      int64_t index = indices[d].value(f) + rows;
      if (runs_over_rows) {
        rows = d > 0 && index >= 0 && extents[d] > 0 ? index / extents[d] : 0;
        index -= rows * extents[d];
      }
      if (static_cast<uint64_t>(index) >= static_cast<uint64_t>(extents[d])) {
        f.lane = saved;
        out_of_bounds(f, index, b.extents[d], static_cast<int>(d));
        return -1;
      }
      place += index * strides[d];
    }
    f.lane = saved;
    if (static_cast<uint64_t>(place) >= static_cast<uint64_t>(b.count)) {
      out_of_bounds(f, place, b.count, -1);
      return -1;
    }
    return b.start + (place * element_lanes + inner) * element_bytes;
  }
  auto wanted(Frame& f, int lane) const -> bool {
    if (!predicate) { return true; }
    int saved = f.lane;
    f.lane = lane;
    bool yes = predicate->eval(f) != 0;
    f.lane = saved;
    return yes;
  }
  void before_read(Frame& f, Memory& memory, int64_t at, int lane) const {
    if (!memory.written.empty() && !memory.written[static_cast<size_t>(at)]) { unwritten(f); }
    if (memory.shadow.is_on() && f.watch) { note_read(f, memory, at, lane); }
    if (!declared.empty() && !runs_over_rows) { check_declared(f, lane, false); }
  }
  void before_write(Frame& f, Memory& memory, int64_t at, uint64_t bits, int lane) const {
    if (memory.shadow.is_on() && f.watch) { note_write(f, memory, at, bits, lane); }
    if (!declared.empty() && !runs_over_rows) { check_declared(f, lane, true); }
  }

  /// The element as text: `S[3, 4]`.
  [[nodiscard]] auto element_text(Frame& f, int lane) const -> std::string;

 private:
  /// Reports an index out of bounds; `dimension` -1: the access is outside of the memory.
  void out_of_bounds(Frame& f, int64_t index, int64_t extent, int dimension) const;
  void not_declared(Frame& f) const;
  void unwritten(Frame& f) const;
  void note_read(Frame& f, Memory& memory, int64_t at, int lane) const;
  void note_write(Frame& f, Memory& memory, int64_t at, uint64_t bits, int lane) const;
  void check_declared(Frame& f, int lane, bool writes) const;
};

/// Records an access to bytes through a pointer, by the thread or by an asynchronous copy at `place`. `is_same`: the bytes keep their values.
void note_bytes(Frame& f, const Pointer& pointer, int64_t bytes, uint32_t place, uint32_t access, bool writes, bool is_same);

template <class T>
auto read_as(const char* at) -> T {
  T v;
  std::memcpy(&v, at, sizeof v);
  return v;
}

struct LoadInt final : IntExpr {
  AccessSite site;
  auto eval(Frame& f) const -> int64_t override {
    if (!site.wanted(f, f.lane)) { return 0; }
    int64_t at = site.locate(f, f.lane);
    if (at < 0) { return 0; }
    Memory& memory = *f.bindings[site.binding].memory;
    site.before_read(f, memory, at, f.lane);
    const char* p = memory.data + at;
    bool is_signed = site.element.is_int();
    switch (site.element_bytes) {
      case 1: {
        int64_t v = is_signed ? read_as<int8_t>(p) : read_as<uint8_t>(p);
        return site.element.bits == 8 ? v : wrap_to(site.element, v);
      }
      case 2: return is_signed ? read_as<int16_t>(p) : read_as<uint16_t>(p);
      case 4: return is_signed ? read_as<int32_t>(p) : static_cast<int64_t>(read_as<uint32_t>(p));
      default: return read_as<int64_t>(p);
    }
  }
};
struct LoadReal final : RealExpr {
  AccessSite site;
  auto eval(Frame& f) const -> double override {
    if (!site.wanted(f, f.lane)) { return 0; }
    int64_t at = site.locate(f, f.lane);
    if (at < 0) { return 0; }
    Memory& memory = *f.bindings[site.binding].memory;
    site.before_read(f, memory, at, f.lane);
    const char* p = memory.data + at;
    if (site.element.is_float() && site.element_bytes == 4) { return read_as<float>(p); }
    if (site.element.is_float() && site.element_bytes == 8) { return read_as<double>(p); }
    return from_bits(site.element, site.element_bytes == 1 ? read_as<uint8_t>(p) : read_as<uint16_t>(p));
  }
};

/// Writes one lane of an access.
void put(Frame& f, const AccessSite& site, bool is_int, int lane, Slot value);

/// Adds to an element and returns its old value, atomically: concurrent calls are no race.
template <class Load, class Base>
struct AtomicAdd final : Base {
  Load place;
  Code value;
  DataType type;
  auto eval(Frame& f) const -> decltype(std::declval<Base&>().eval(f)) override {
    Slot sum;
    if (value.i) { sum.i = value.i->eval(f); } else { sum.f = value.f->eval(f); }
    Watch* watch = std::exchange(f.watch, nullptr);
    auto before = place.eval(f);
    if constexpr (std::is_same_v<Base, IntExpr>) { sum.i = wrap_to(type, sum.i + before); } else { sum.f = round_to(type, sum.f + before); }
    if (!f.failed) { put(f, place.site, std::is_same_v<Base, IntExpr>, f.lane, sum); }
    f.watch = watch;
    return before;
  }
};

struct Store final : Statement {
  AccessSite site;
  Code value;
  int lanes = 1;
  uint32_t counter = 0;
  void run(Frame& f) const override;
};

}  // namespace loopsmith::interp
