// Matrix units: see tiles.h.
#include "interp/tiles.h"

#include <algorithm>
#include <cstring>

#include "interp/compiler.h"
#include "interp/kernel.h"
#include "ir/ops.h"

namespace loopsmith::interp {
namespace {

constexpr int warp_size = 32;
constexpr int wavefront_size = 64;
constexpr size_t amx_row_bytes = 64;
constexpr size_t amx_tile_bytes = 16 * amx_row_bytes;

// The elements of a matrix in memory, with checked access.
class Elements {
 public:
  Elements(Frame& f, const TileStatement& op, const TileOperand& operand) : f_(f), op_(op), element_(operand.element), pointer_(operand.pointer->eval(f)) {
    bytes_ = std::max(1, element_.element_bytes());
    if (operand.offset) { pointer_.byte += operand.offset->eval(f) * bytes_; }
  }
  Elements(Frame& f, const TileStatement& op, DataType element, Pointer pointer) : f_(f), op_(op), element_(element), pointer_(pointer), bytes_(std::max(1, element.element_bytes())) {}
  [[nodiscard]] auto pointer() const -> Pointer { return pointer_; }
  auto get(int64_t i) -> Slot {
    Slot out{};
    const char* p = place(i);
    if (!p) { return out; }
    uint64_t bits = 0;
    std::memcpy(&bits, p, static_cast<size_t>(bytes_));
    if (element_.is_real()) { out.f = from_bits(element_, bits); } else { out.i = wrap_to(element_, static_cast<int64_t>(bits)); }
    return out;
  }
  void set(int64_t i, Slot value) {
    char* p = place(i);
    if (!p) { return; }
    uint64_t bits = element_.is_real() ? to_bits(element_, value.f) : static_cast<uint64_t>(value.i);
    std::memcpy(p, &bits, static_cast<size_t>(bytes_));
    std::vector<uint8_t>& written = pointer_.memory->written;
    if (!written.empty()) { std::fill_n(written.begin() + (p - pointer_.memory->data), bytes_, uint8_t{1}); }
  }
  // c + a * b, rounded in the type of the accumulator.
  auto multiply_add(Slot c, DataType a_type, Slot a, DataType b_type, Slot b) const -> Slot {
    Slot out;
    if (!element_.is_real()) { out.i = wrap_to(element_, c.i + a.i * b.i); return out; }
    out.f = round_to(element_, c.f + (a_type.is_real() ? a.f : static_cast<double>(a.i)) * (b_type.is_real() ? b.f : static_cast<double>(b.i)));
    return out;
  }

 private:
  auto place(int64_t i) -> char* {
    int64_t at = pointer_.byte + i * bytes_;
    if (pointer_.has(bytes_, i * bytes_)) { return pointer_.memory->data + at; }
    if (!f_.failed) {
      f_.fail(error(loopsmith::Code::InterpOutOfBounds, op_.origin).arg("index", at).arg("buffer", op_.name.view())
                  .arg("extent", pointer_.memory ? pointer_.memory->bytes : 0).arg("dimension", "bytes").arg("iteration", f_.iteration()));
    }
    return nullptr;
  }
  Frame& f_;
  const TileStatement& op_;
  DataType element_;
  Pointer pointer_;
  int64_t bytes_;
};

auto bits_of(Pointer p, Slot* out) {
  static_assert(sizeof(Memory*) <= sizeof(int64_t));
  out[0].i = reinterpret_cast<int64_t>(p.memory);
  out[1].i = p.byte;
}
auto pointer_of(const Slot* s) -> Pointer { return {reinterpret_cast<Memory*>(s[0].i), s[1].i}; }

// The row and column of element i of a thread in mma's operands (PTX, "Matrix fragments for mma").
struct Spot { int row, column; };
auto left_spot(int k, int thread, int i) -> Spot {
  int group = thread >> 2, pair = thread & 3;
  if (k == 8) { return {group + (i >= 2 ? 8 : 0), pair * 2 + (i & 1)}; }
  if (k == 16) { return {group + (i / 2 % 2) * 8, pair * 2 + (i & 1) + (i >= 4 ? 8 : 0)}; }
  return {group + (i / 4 % 2) * 8, pair * 4 + (i & 3) + (i >= 8 ? 16 : 0)};
}
auto right_spot(int k, int thread, int i) -> Spot {
  int group = thread >> 2, pair = thread & 3;
  if (k == 8) { return {pair * 2 + (i & 1), group}; }
  if (k == 16) { return {pair * 2 + (i & 1) + (i >= 2 ? 8 : 0), group}; }
  return {pair * 4 + (i & 3) + (i >= 4 ? 16 : 0), group};
}
// The same for mma.sp of halves: the stored elements of A, k / 2 per row, and those of B.
auto sparse_left_spot(int k, int thread, int i) -> Spot {
  return left_spot(k / 2, thread, i);
}
auto sparse_right_spot(int thread, int i) -> Spot { return {(thread & 3) * 2 + (i & 1) + i / 2 * 8, thread >> 2}; }
auto result_spot(int thread, int i) -> Spot { return {(thread >> 2) + (i >= 2 ? 8 : 0), (thread & 3) * 2 + (i & 1)}; }

// The first element of the tile with this number in a warp's whole matrix (see tiles.h); its rows are `row` elements apart.
auto tile_start(Name scope, int64_t number, int64_t row) -> int64_t {
  int64_t across = std::max<int64_t>(1, row / (scope == "m16n8k8.matrixB" ? 32 : 8));
  if (scope == "m16n8k8.matrixC") { return number / 2 / across * 16 * row + number / 2 % across * 8; }
  int64_t group = number / 8, within = number % 8;
  if (scope == "m16n8k8.matrixA") { return (group / across * 32 + within / 4 * 16) * row + group % across * 8; }
  return group / across * 8 * row + group % across * 32 + within / 2 * 8;
}
auto scope_of_matrix(const Expr& pointer) -> Name {
  const auto* v = pointer.as<VarNode>();
  return v && v->pointer ? v->pointer->scope : Name();
}
auto is_matrix_of_warp(Name scope) -> bool { return scope.view().starts_with("m16n8k8.matrix"); }

}  // namespace

void TileStatement::run(Frame& f) const {
  if (++f.steps >= f.next_check) { f.check_limits(); }
  ++f.stats.statements;
  f.lane = 0;
  switch (kind) {
    case Kind::FillFragment: case Kind::LoadFragment: case Kind::StoreFragment: case Kind::MultiplyFragments: case Kind::CompareFragments:
      // The threads of a warp execute it once, together. Before lowering, the threads of an instruction may have no loop: each thread of the kernel stands for
      // a warp.
      if (in_kernel && f.kernel->thread_count() < warp_size && !f.kernel->has_dimension("threadIdx.x")) { return fragment_operation(f); }
      if (in_kernel) { f.kernel->wait(f, this, f.kernel->warps(warp_size), origin, Kernel::Wait::Exchange); }
      if (!f.failed && (!in_kernel || f.thread % warp_size == 0)) { fragment_operation(f); }
      if (in_kernel) { f.kernel->wait(f, &operands, f.kernel->warps(warp_size), origin, Kernel::Wait::Exchange); }
      return;
    case Kind::LoadMatrix: case Kind::MultiplyWarp: case Kind::FillWarp: case Kind::StoreWarp: return warp_operation(f);
    case Kind::LoadTile: case Kind::StoreTile: case Kind::MultiplyTiles: case Kind::ZeroTile: return tile_operation(f);
  }
}

void TileStatement::fragment_operation(Frame& f) const {
  // A fragment is identified by its number, which determines its offset.
  auto fragment = [&](size_t i, int size) {
    Pointer p = operands[i].pointer->eval(f);
    p.byte += operands[i].offset->eval(f) * size * std::max(1, operands[i].element.element_bytes());
    return Elements(f, *this, operands[i].element, p);
  };
  if (kind == Kind::MultiplyFragments || kind == Kind::CompareFragments) {
    Elements d = fragment(0, m * n), a = fragment(1, m * k), b = fragment(2, k * n), c = fragment(3, m * n);
    std::vector<Slot> out(static_cast<size_t>(m * n));
    for (int i = 0; i < m; ++i) {
      for (int j = 0; j < n; ++j) {
        Slot sum = c.get(i * n + j);
        for (int l = 0; l < k; ++l) {
          Slot x = a.get(i * k + l), y = b.get(l * n + j);
          if (kind == Kind::CompareFragments) { sum.i += (x.i ^ y.i) & 1; } else { sum = d.multiply_add(sum, operands[1].element, x, operands[2].element, y); }
        }
        out[static_cast<size_t>(i * n + j)] = sum;
      }
    }
    for (int i = 0; i < m * n; ++i) { d.set(i, out[static_cast<size_t>(i)]); }
    return;
  }
  Elements own = fragment(0, rows * columns);
  if (kind == Kind::FillFragment) {
    Slot v;
    if (value.i) { v.i = value.i->eval(f); } else { v.f = value.f->eval(f); }
    bool is_real = operands[0].element.is_real();
    if (is_real && value.i) { v.f = static_cast<double>(v.i); }
    if (!is_real && value.f) { v.i = static_cast<int64_t>(v.f); }
    for (int i = 0; i < rows * columns; ++i) { own.set(i, v); }
    return;
  }
  int64_t step = stride->eval(f);
  Elements memory(f, *this, operands[1]);
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < columns; ++j) {
      int64_t at = is_column_major ? j * step + i : i * step + j;
      if (kind == Kind::LoadFragment) { own.set(i * columns + j, memory.get(at)); } else { memory.set(at, own.get(i * columns + j)); }
    }
  }
}

// Thread t has the address of row t % 8 of tile t / 8.
void TileStatement::load_tiles_of_warp(Frame& f) const {
  Kernel& kernel = *f.kernel;
  int lane = f.thread % warp_size;
  const std::vector<int>& warps = kernel.warps(warp_size);
  std::vector<Slot>& mine = kernel.posted[static_cast<size_t>(f.thread)];
  mine.resize(2);
  bits_of(Elements(f, *this, operands[1]).pointer(), mine.data());
  kernel.wait(f, this, warps, origin, Kernel::Wait::Exchange);
  if (f.failed) { return; }
  int first = f.thread - lane;
  if (first + warp_size > kernel.thread_count()) { return too_few_threads(f); }
  int64_t row = operands[0].row->eval(f);
  int64_t start = tile_start(scopes[0], operands[0].offset->eval(f), row);
  Elements own(f, *this, {operands[0].pointer, nullptr, operands[0].element});
  for (int tile = 0; tile < 4; ++tile) {
    for (int i = 0; i < 2; ++i) {
      int r = is_transposed ? lane % 4 * 2 + i : lane / 4;
      int c = is_transposed ? lane / 4 : lane % 4 * 2 + i;
      Elements source(f, *this, operands[0].element, pointer_of(kernel.posted[static_cast<size_t>(first + tile * 8 + r)].data()));
      own.set(start + (scopes[0] == "m16n8k8.matrixA" ? tile * 8 + r : r) * row + (scopes[0] == "m16n8k8.matrixA" ? c : tile * 8 + c), source.get(c));
    }
  }
  kernel.wait(f, &operands, warps, origin, Kernel::Wait::Exchange);
}

// C += A * B, with 16 x 8, 16 x 8 and 8 x 8 elements. Outside of a launch a single thread has the whole matrices and multiplies them at once.
void TileStatement::multiply_tiles_of_warp(Frame& f) const {
  int lane = in_kernel ? f.thread % warp_size : 0, first = in_kernel ? f.thread - lane : 0;
  std::vector<Slot> here(operands.size() * 2);
  for (size_t i = 0; i < operands.size(); ++i) {
    Pointer p = operands[i].pointer->eval(f);
    p.byte += tile_start(scopes[i], operands[i].offset->eval(f), operands[i].row->eval(f)) * std::max(1, operands[i].element.element_bytes());
    bits_of(p, &here[2 * i]);
  }
  if (in_kernel) {
    f.kernel->posted[static_cast<size_t>(f.thread)] = here;
    f.kernel->wait(f, this, f.kernel->warps(warp_size), origin, Kernel::Wait::Exchange);
    if (f.failed) { return; }
    if (first + warp_size > f.kernel->thread_count()) { return too_few_threads(f); }
  }
  auto held_by = [&](int thread, size_t operand) {
    const std::vector<Slot>& theirs = in_kernel ? f.kernel->posted[static_cast<size_t>(first + thread)] : here;
    return Elements(f, *this, operands[operand].element, pointer_of(&theirs[2 * operand]));
  };
  int64_t c_row = operands[0].row->eval(f), a_row = operands[1].row->eval(f), b_row = operands[2].row->eval(f);
  std::vector<std::pair<int64_t, Slot>> out;
  Elements own = held_by(lane, 0);
  for (int thread = in_kernel ? lane : 0; thread < (in_kernel ? lane + 1 : warp_size); ++thread) {
    for (int i = 0; i < 4; ++i) {
      Spot s = result_spot(thread, i);
      Slot sum = own.get(s.row * c_row + s.column);
      for (int l = 0; l < 8; ++l) {
        Slot a = held_by(s.row % 8 * 4 + l / 2, 1).get(s.row * a_row + l);
        Slot b = held_by(s.column * 4 + l / 2, 2).get(l * b_row + s.column);
        sum = own.multiply_add(sum, operands[1].element, a, operands[2].element, b);
      }
      out.emplace_back(s.row * c_row + s.column, sum);
    }
  }
  if (in_kernel) { f.kernel->wait(f, &operands, f.kernel->warps(warp_size), origin, Kernel::Wait::Exchange); }
  for (const auto& [at, sum] : out) { if (!f.failed) { own.set(at, sum); } }
}

void TileStatement::too_few_threads(Frame& f) const {
  f.fail(error(loopsmith::Code::InterpUnsupported, origin).arg("what", "`" + name.str() + "` in a warp of less than 32 threads"));
}

// Operations whose threads need nothing of each other: fills, stores, and transposed loads of bytes. False: another operation.
auto TileStatement::own_part_of_warp(Frame& f) const -> bool {
  int lane = f.thread % warp_size;
  // Registers of the whole warp: each thread has its own row.
  auto own_row = [&](size_t i) {
    Elements all(f, *this, operands[i]);
    Pointer p = all.pointer();
    p.byte += static_cast<int64_t>(lane) * columns * std::max(1, operands[i].element.element_bytes());
    return Elements(f, *this, operands[i].element, p);
  };
  if (kind == Kind::FillWarp) {
    Elements row = own_row(0);
    for (int i = 0; i < columns; ++i) { row.set(i, Slot{}); }
    return true;
  }
  if (kind == Kind::StoreWarp) {
    Elements row = own_row(0);
    Elements memory(f, *this, operands[1]);
    int64_t step = stride->eval(f);
    for (int i = 0; i < columns; ++i) { memory.set((8 * (i % 4 / 2) + lane / 4) * step + 8 * (i / 4) + lane % 4 * 2 + i % 2, row.get(i)); }
    return true;
  }
  if (kind == Kind::LoadMatrix && is_transposed && operands[0].element.bits == 8) {
    // Loads byte by byte; the last argument is the stride.
    Elements own(f, *this, operands[0]);
    Elements memory(f, *this, {operands[1].pointer, nullptr, operands[1].element});
    int64_t step = operands[1].offset->eval(f);
    for (int i = 0; i < 16; ++i) { own.set(i, memory.get((i % 8 / 4 * 16 + lane % 4 * 4 + i % 4) * step + lane / 4 + i / 8 * 8)); }
    return true;
  }
  return false;
}

namespace {

/// Loads four matrices of 8 x 8 elements of 16 bits: thread t has the address of row t % 8 of matrix t / 8.
template <class OfThread>
void load_matrices(bool is_transposed, int lane, const OfThread& of_thread) {
  DataType half = DataType::uint(16);
  Elements own = of_thread(lane, 0, half);
  for (int matrix = 0; matrix < 4; ++matrix) {
    for (int i = 0; i < 2; ++i) {
      int row = is_transposed ? lane % 4 * 2 + i : lane / 4;
      int column = is_transposed ? lane / 4 : lane % 4 * 2 + i;
      own.set(matrix * 2 + i, of_thread(matrix * 8 + row, 1, half).get(column));
    }
  }
}

/// The left matrix, 16 x k, and the right matrix, k x 8, of a multiplication, each row by row.
struct Factors { std::vector<Slot> left, right; };

/// Collects the factors from the registers of all threads of the warp. `selected`: the word of a thread that chooses the elements of a sparse left matrix.
template <class OfThread>
auto factors_of_warp(const TileStatement& of, int64_t selected, const OfThread& of_thread) -> Factors {
  const int k = of.k, held = of.selector ? k / 2 : k;
  const int left_count = 16 * held / warp_size, right_count = k * 8 / warp_size;
  Factors out{std::vector<Slot>(static_cast<size_t>(16 * k)), std::vector<Slot>(static_cast<size_t>(k * 8))};
  // The column of an element of the sparse matrix: two bits for each; 16 bits of the word are for row r, the others for row r + 8.
  auto whole_column = [&](Spot s) {
    int holder = s.row % 8 * 4 + static_cast<int>(k == 16 ? selected & 3 : (selected & 1) * 2 + s.column / 8);
    auto word = static_cast<uint64_t>(of_thread(holder, 3, of.operands[3].element).get(0).i);
    return s.column / 2 * 4 + static_cast<int>((word >> (s.row / 8 * 16 + s.column % 8 * 2)) & 3);
  };
  for (int t = 0; t < warp_size; ++t) {
    Elements left = of_thread(t, 1, of.operands[1].element), right = of_thread(t, 2, of.operands[2].element);
    for (int i = 0; i < left_count; ++i) {
      Spot s = of.selector ? sparse_left_spot(k, t, i) : left_spot(k, t, i);
      if (of.selector) { s.column = whole_column(s); }
      out.left[static_cast<size_t>(s.row * k + s.column)] = left.get(i);
    }
    for (int i = 0; i < right_count; ++i) {
      Spot s = of.selector ? sparse_right_spot(t, i) : right_spot(k, t, i);
      out.right[static_cast<size_t>(s.row * 8 + s.column)] = right.get(i);
    }
  }
  return out;
}

}  // namespace

void TileStatement::warp_operation(Frame& f) const {
  if (kind == Kind::LoadMatrix && operands[0].row) { return load_tiles_of_warp(f); }
  if (kind == Kind::MultiplyWarp && operands[0].row) { return multiply_tiles_of_warp(f); }
  if (own_part_of_warp(f)) { return; }
  Kernel& kernel = *f.kernel;
  int lane = f.thread % warp_size;
  // Every thread posts the places of its operands; then each thread computes its own part.
  const std::vector<int>& warps = kernel.warps(warp_size);
  std::vector<Slot>& mine = kernel.posted[static_cast<size_t>(f.thread)];
  mine.resize(2 * operands.size());
  for (size_t i = 0; i < operands.size(); ++i) { bits_of(Elements(f, *this, operands[i]).pointer(), &mine[2 * i]); }
  kernel.wait(f, this, warps, origin, Kernel::Wait::Exchange);
  if (f.failed) { return; }
  int first = f.thread - lane;
  if (first + warp_size > kernel.thread_count()) { return too_few_threads(f); }
  auto of_thread = [&](int thread, size_t operand, DataType element) {
    return Elements(f, *this, element, pointer_of(&kernel.posted[static_cast<size_t>(first + thread)][2 * operand]));
  };
  if (kind == Kind::LoadMatrix) {
    load_matrices(is_transposed, lane, of_thread);
    kernel.wait(f, &operands, warps, origin, Kernel::Wait::Exchange);
    return;
  }
  // operands: C, A, B.
  const Factors factors = factors_of_warp(*this, selector ? selector->eval(f) : 0, of_thread);
  Elements c = of_thread(lane, 0, operands[0].element);
  std::array<Slot, 4> out{};
  for (int i = 0; i < 4; ++i) {
    Spot s = result_spot(lane, i);
    Slot sum = c.get(i);
    for (int l = 0; l < k; ++l) {
      sum = c.multiply_add(sum, operands[1].element, factors.left[static_cast<size_t>(s.row * k + l)], operands[2].element, factors.right[static_cast<size_t>(l * 8 + s.column)]);
    }
    out[static_cast<size_t>(i)] = sum;
  }
  // No thread may overwrite registers that others still read.
  kernel.wait(f, &operands, warps, origin, Kernel::Wait::Exchange);
  for (int i = 0; i < 4 && !f.failed; ++i) { c.set(i, out[static_cast<size_t>(i)]); }
}

/// The bytes of a tile: a register of this thread, or a place in a buffer of tiles. Null if that place is not in the buffer; the frame then has the error.
auto TileStatement::tile_memory(Frame& f, size_t which, bool is_written) const -> char* {
  if (!tile_buffers[which]) {
    if (f.tiles.empty()) { f.tiles.assign(8 * amx_tile_bytes, 0); }
    return f.tiles.data() + static_cast<size_t>(tiles[which]) * amx_tile_bytes;
  }
  Pointer p = tile_buffers[which]->eval(f);
  constexpr auto size = static_cast<int64_t>(amx_tile_bytes);
  if (!p.has(size)) {
    f.fail(error(loopsmith::Code::InterpOutOfBounds, origin).arg("index", p.byte).arg("buffer", name.view()).arg("extent", p.memory ? p.memory->bytes : 0)
               .arg("dimension", "bytes").arg("iteration", f.iteration()));
    return nullptr;
  }
  if (is_written && !p.memory->written.empty()) { std::fill_n(p.memory->written.begin() + p.byte, amx_tile_bytes, uint8_t{1}); }
  return p.memory->data + p.byte;
}

void TileStatement::tile_operation(Frame& f) const {
  constexpr size_t row_bytes = amx_row_bytes, tile_bytes = amx_tile_bytes;
  char* own = tile_memory(f, 0, kind != Kind::StoreTile);
  if (!own) { return; }
  if (kind == Kind::ZeroTile) {
    std::memset(own, 0, tile_bytes);
    return;
  }
  if (kind != Kind::MultiplyTiles) {
    Pointer p = operands[0].pointer->eval(f);
    int64_t step = stride->eval(f);
    for (int64_t r = 0; r < 16; ++r) {
      int64_t at = p.byte + r * step;
      if (!Pointer{p.memory, at}.has(static_cast<int64_t>(row_bytes))) {
        f.fail(error(loopsmith::Code::InterpOutOfBounds, origin).arg("index", at).arg("buffer", name.view()).arg("extent", p.memory ? p.memory->bytes : 0)
                   .arg("dimension", "bytes").arg("iteration", f.iteration()));
        return;
      }
      char* row = own + static_cast<size_t>(r) * row_bytes;
      if (kind == Kind::LoadTile) {
        std::memcpy(row, p.memory->data + at, row_bytes);
      } else {
        std::memcpy(p.memory->data + at, row, row_bytes);
        if (!p.memory->written.empty()) { std::fill_n(p.memory->written.begin() + at, row_bytes, uint8_t{1}); }
      }
    }
    return;
  }
  const char* left = tile_memory(f, 1, false);
  const char* right = tile_memory(f, 2, false);
  if (!left || !right) { return; }
  for (size_t i = 0; i < 16; ++i) {
    for (size_t j = 0; j < 16; ++j) {
      char* to = own + i * row_bytes + j * 4;
      if (left_is_signed && value.type.is_bfloat16()) {
        // Even and odd products have separate sums, in float32.
        float even = 0, odd = 0, c;
        std::memcpy(&c, to, 4);
        auto pair = [&](const char* row, size_t at, int which) { return static_cast<float>(from_bits(value.type, read_as<uint16_t>(row + at * 4 + static_cast<size_t>(which) * 2))); };
        for (size_t l = 0; l < 16; ++l) {
          even += pair(left + i * row_bytes, l, 0) * pair(right + l * row_bytes, j, 0);
          odd += pair(left + i * row_bytes, l, 1) * pair(right + l * row_bytes, j, 1);
        }
        c += even + odd;
        std::memcpy(to, &c, 4);
        continue;
      }
      auto sum = static_cast<int64_t>(read_as<int32_t>(to));
      for (size_t l = 0; l < 16; ++l) {
        for (size_t byte = 0; byte < 4; ++byte) {
          const char* a = left + i * row_bytes + l * 4 + byte;
          const char* b = right + l * row_bytes + j * 4 + byte;
          int64_t x = left_is_signed ? read_as<int8_t>(a) : read_as<uint8_t>(a);
          int64_t y = right_is_signed ? read_as<int8_t>(b) : read_as<uint8_t>(b);
          sum += x * y;
        }
      }
      auto narrow = static_cast<int32_t>(sum);
      std::memcpy(to, &narrow, 4);
    }
  }
}

auto WavefrontProduct::run(Frame& f) const -> Slot {
  Kernel& kernel = *f.kernel;
  int element = f.lane;
  int local = 16 * k / wavefront_size;
  std::vector<Slot> posted(static_cast<size_t>(2 * local));
  // Unpacks the bytes of a word.
  auto put_out = [&](const Code& code, DataType type, Slot* to) {
    bool is_packed = code.type.lanes == 1 && local > 1;
    for (int i = 0; i < local; ++i) {
      f.lane = is_packed || code.type.lanes == 1 ? 0 : i;
      if (code.f) { to[i].f = code.f->eval(f); continue; }
      int64_t word = code.i->eval(f);
      to[i].i = is_packed ? wrap_to(type, word >> (type.bits * i)) : word;
    }
  };
  put_out(a, a_element, posted.data());
  put_out(b, b_element, posted.data() + local);
  f.lane = element;
  Slot sum;
  if (c.i) { sum.i = c.i->eval(f); } else { sum.f = c.f->eval(f); }
  kernel.posted[static_cast<size_t>(f.thread)] = std::move(posted);
  const std::vector<int>& groups = kernel.warps(wavefront_size);
  kernel.wait(f, this, groups, origin, Kernel::Wait::Exchange);
  if (f.failed) { return sum; }
  int lane = f.thread % wavefront_size;
  int first = f.thread - lane;
  if (first + wavefront_size > kernel.thread_count()) {
    f.fail(error(loopsmith::Code::InterpUnsupported, origin).arg("what", "a matrix product in a wavefront of less than 64 threads"));
    return sum;
  }
  int row = lane / 16 * 4 + element, column = lane % 16;
  for (int l = 0; l < k; ++l) {
    // Thread row + 16 * (l / local) holds element l of a row (column), in its register l % local.
    const Slot& x = kernel.posted[static_cast<size_t>(first + row + 16 * (l / local))][static_cast<size_t>(l % local)];
    const Slot& y = kernel.posted[static_cast<size_t>(first + column + 16 * (l / local))][static_cast<size_t>(local + l % local)];
    if (type.is_real()) { sum.f = round_to(type.element(), sum.f + x.f * y.f); } else { sum.i = wrap_to(type.element(), sum.i + x.i * y.i); }
  }
  kernel.wait(f, &a, groups, origin, Kernel::Wait::Exchange);
  f.lane = element;
  return sum;
}

namespace {

struct WavefrontRow { std::string_view name; int k; DataType element; };
auto wavefront_rows() -> const std::vector<WavefrontRow>& {
  static const std::vector<WavefrontRow> rows = {
      {"llvm.amdgcn.mfma.f32.16x16x4f32", 4, DataType::float_(32)},
      {"llvm.amdgcn.mfma.f32.16x16x16f16", 16, DataType::float_(16)},
      {"llvm.amdgcn.mfma.i32.16x16x16i8", 16, DataType::int_(8)},
  };
  return rows;
}
auto wavefront_row(const Call& n) -> const WavefrontRow* {
  const auto* symbol = n.args.size() < 5 ? nullptr : n.args[0].as<StringImm>();
  if (!symbol || !(n.op == "call_llvm_pure_intrin" || n.op == "call_llvm_intrin")) { return nullptr; }
  for (const WavefrontRow& row : wavefront_rows()) {
    if (row.name == symbol->value) { return &row; }
  }
  return nullptr;
}

// The element type to which a pointer argument points.
auto pointee(const Expr& e) -> DataType {
  if (const auto* v = e.as<VarNode>(); v && v->pointer) { return v->pointer->element; }
  if (const auto* c = e.as<Call>(); c && c->op == "tvm_access_ptr" && !c->args.empty()) { return c->args[0].dtype().element(); }
  if (const auto* c = e.as<Call>(); c && c->op == "address_of" && !c->args.empty()) { return c->args[0].dtype().element(); }
  return DataType::handle();
}

}  // namespace

auto is_wavefront_product(const Call& call) -> bool { return wavefront_row(call) != nullptr; }

auto Compiler::matrix_product_of_wavefront(const Call& n) -> std::optional<Code> {
  const WavefrontRow* row = wavefront_row(n);
  if (!row) { return {}; }
  if (!in_kernel_) { return unsupported(n.origin, "`" + std::string(row->name) + "` outside of a launch"); }
  WavefrontProduct product;
  product.k = row->k;
  product.a = expr(n.args[2]);
  product.b = expr(n.args[3]);
  product.c = expr(n.args[4]);
  product.a_element = product.b_element = row->element;
  product.type = n.dtype;
  product.origin = n.origin;
  bool is_real = n.dtype.is_real();
  if ((product.a.f != nullptr) != is_real || (product.b.f != nullptr) != is_real || (product.c.f != nullptr) != is_real) {
    return unsupported(n.origin, "`" + std::string(row->name) + "` of other types");
  }
  if (is_real) { return Code{nullptr, make_real<WavefrontProductReal>(std::move(product)), n.dtype}; }
  return Code{make_int<WavefrontProductInt>(std::move(product)), nullptr, n.dtype};
}

/// Converts one call of a matrix unit to a statement. Each function handles a family of calls; null: the call has another form.
class Compiler::TileForms {
 public:
  TileForms(Compiler& compiler, const Call& call) : c_(compiler), n_(call), op_(call.op.view()) {}

  auto read() -> const Statement* {
    if (op_ == "tvm_fill_fragment" || op_ == "tvm_load_matrix_sync" || op_ == "tvm_store_matrix_sync") { return wmma_fragment(); }
    if (op_ == "tvm_mma_sync" || op_ == "tvm_bmma_sync") { return wmma_product(); }
    if (op_.starts_with("make_filled_simdgroup") || op_.starts_with("simdgroup_")) { return simdgroup(); }
    if (op_ == "ptx_ldmatrix" || op_ == "ptx_mma" || op_ == "ptx_mma_sp" || op_ == "mma_fill" || op_ == "mma_store") { return warp(); }
    return op_ == "call_llvm_intrin" || op_ == "call_llvm_pure_intrin" ? amx() : nullptr;
  }

 private:
  using Kind = TileStatement::Kind;

  // ---- WMMA

  auto wmma_fragment() -> const Statement* {
    bool is_fill = op_ == "tvm_fill_fragment", is_load = op_ == "tvm_load_matrix_sync";
    if (n_.args.size() != (is_fill ? 6 : 8)) { return nullptr; }
    auto* out = make(is_fill ? Kind::FillFragment : is_load ? Kind::LoadFragment : Kind::StoreFragment, op_);
    int m = static_cast<int>(number(1)), columns = static_cast<int>(number(2)), k = static_cast<int>(number(3));
    if (m < 1 || columns < 1 || k < 1 || m > 64 || columns > 64 || k > 128) { return refuse("a fragment of this shape"); }
    const auto* data = n_.args[0].as<VarNode>();
    std::string_view scope = data && data->pointer ? data->pointer->scope.view() : std::string_view();
    out->rows = scope == "wmma.matrix_b" ? k : m;
    out->columns = scope == "wmma.matrix_a" ? k : columns;
    out->operands.push_back(operand(0, 4));
    if (is_fill) {
      out->value = c_.expr(n_.args[5]);
      return checked(out);
    }
    out->operands.push_back(operand(5));
    out->stride = c_.int_expr(n_.args[6]);
    out->is_column_major = text(7) == "col_major";
    return checked(out);
  }

  /// (D, number, A, number, B, number, C, number). `tvm_bmma_sync` counts the differing bits between the 128 bits of a row and of a column.
  auto wmma_product() -> const Statement* {
    if (n_.args.size() != 8) { return nullptr; }
    bool is_bits = op_ == "tvm_bmma_sync";
    auto* out = make(is_bits ? Kind::CompareFragments : Kind::MultiplyFragments, op_);
    // Rows, columns and terms of a product: 16 x 16 x 16; for bits, 8 x 8 x 128.
    out->m = out->n = is_bits ? 8 : 16;
    out->k = is_bits ? 128 : 16;
    for (size_t i = 0; i < 8; i += 2) { out->operands.push_back(operand(i, i + 1)); }
    if (!is_bits) { return checked(out); }
    const std::vector<TileOperand>& all = out->operands;
    bool is_known = all[1].element.bits == 1 && all[2].element.bits == 1 && all[0].element.is_int() && all[0].element == all[3].element;
    return is_known ? out : refuse("`tvm_bmma_sync` of other types than bits with integer counts");
  }

  // ---- Metal

  /// (fragment, number, value, columns, rows), (fragment, number, memory, stride, columns, rows, is transposed), and the product of two
  /// matrices of 8 x 8.
  auto simdgroup() -> const Statement* {
    if (op_ == "simdgroup_multiply_accumulate" && n_.args.size() == 8) {
      auto* out = make(Kind::MultiplyFragments, op_);
      out->m = out->n = out->k = 8;
      for (size_t i = 0; i < 8; i += 2) { out->operands.push_back(operand(i, i + 1)); }
      return checked(out);
    }
    bool is_fill = op_ == "make_filled_simdgroup_matrix" && n_.args.size() == 5;
    bool is_load = op_ == "simdgroup_load" && n_.args.size() == 7;
    if (!is_fill && !is_load && !(op_ == "simdgroup_store" && n_.args.size() == 7)) { return nullptr; }
    auto* out = make(is_fill ? Kind::FillFragment : is_load ? Kind::LoadFragment : Kind::StoreFragment, op_);
    out->columns = static_cast<int>(number(is_fill ? 3 : 4));
    out->rows = static_cast<int>(number(is_fill ? 4 : 5));
    if (out->rows < 1 || out->columns < 1 || out->rows > 64 || out->columns > 64) { return refuse("a fragment of this shape"); }
    out->operands.push_back(operand(0, 1));
    if (is_fill) {
      out->value = c_.expr(n_.args[2]);
      return checked(out);
    }
    out->operands.push_back(operand(2));
    out->stride = c_.int_expr(n_.args[3]);
    out->is_column_major = number(6) != 0;
    return checked(out);
  }

  // ---- PTX: registers of a warp

  auto warp() -> const Statement* {
    bool is_load = op_ == "ptx_ldmatrix";
    size_t result_at = is_load ? 3 : 10;
    Name result_scope = n_.args.size() > result_at ? scope_of_matrix(n_.args[result_at]) : Name();
    bool has_whole_matrices = (is_load || op_ == "ptx_mma") && is_matrix_of_warp(result_scope);
    if (!c_.in_kernel_ && !(has_whole_matrices && op_ == "ptx_mma")) { return refuse("`" + std::string(op_) + "` outside of a launch"); }
    if (is_load) { return load_matrix(has_whole_matrices, result_scope); }
    if (op_ == "ptx_mma") { return multiply(has_whole_matrices); }
    return op_ == "ptx_mma_sp" ? multiply_sparse() : fill_or_store();
  }

  auto load_matrix(bool has_whole_matrices, Name result_scope) -> const Statement* {
    if (n_.args.size() != 7 || number(1) != 4 || text(2) != ".b16") { return refuse_form(); }
    auto* out = make(Kind::LoadMatrix, op_);
    out->is_transposed = number(0) != 0;
    if (!has_whole_matrices) {
      out->operands.push_back(operand(3, 4));
    } else if (!add_part(*out, 3) || pointee(n_.args[3]).bits != 16 || result_scope != (out->is_transposed ? Name("m16n8k8.matrixB") : Name("m16n8k8.matrixA"))) {
      return refuse_form();
    }
    out->operands.push_back(operand(5, 6));
    return checked(out);
  }

  auto multiply(bool has_whole_matrices) -> const Statement* {
    std::string_view shape = text(0);
    if (n_.args.size() < 12 || (shape != "m16n8k8" && shape != "m16n8k16" && shape != "m16n8k32") || text(1) != "row" || text(2) != "col") { return refuse_form(); }
    auto* out = make(Kind::MultiplyWarp, op_);
    out->k = shape == "m16n8k8" ? 8 : shape == "m16n8k16" ? 16 : 32;
    if (has_whole_matrices) {
      bool is_known = out->k == 8 && add_part(*out, 10) && add_part(*out, 6) && add_part(*out, 8) && out->scopes[0] == "m16n8k8.matrixC" &&
                      out->scopes[1] == "m16n8k8.matrixA" && out->scopes[2] == "m16n8k8.matrixB";
      return is_known ? checked(out) : refuse_form();
    }
    for (size_t at : {size_t{10}, size_t{6}, size_t{8}}) { out->operands.push_back(operand(at, at + 1)); }
    int bits = out->k == 32 ? 8 : 16;
    return out->operands[1].element.bits == bits && out->operands[2].element.bits == bits ? checked(out) : refuse_form();
  }

  /// (shape, layouts, types, A and its offset, B, C, the positions of A's elements and their offset, selector, saturates)
  auto multiply_sparse() -> const Statement* {
    if (n_.args.size() < 15 || (text(0) != "m16n8k16" && text(0) != "m16n8k32") || text(1) != "row" || text(2) != "col") { return refuse_form(); }
    auto* out = make(Kind::MultiplyWarp, op_);
    out->k = text(0) == "m16n8k16" ? 16 : 32;
    for (size_t at : {size_t{10}, size_t{6}, size_t{8}, size_t{12}}) { out->operands.push_back(operand(at, at + 1)); }
    out->selector = c_.int_expr(n_.args[14]);
    const std::vector<TileOperand>& all = out->operands;
    bool is_known = all[1].element.is_real() && all[1].element.bits == 16 && all[2].element == all[1].element && all[3].element == DataType::uint(32);
    return is_known ? checked(out) : refuse_form();
  }

  auto fill_or_store() -> const Statement* {
    if (op_ == "mma_fill") {
      if (n_.args.size() != 3) { return nullptr; }
      auto* out = make(Kind::FillWarp, op_);
      out->columns = static_cast<int>(number(0));
      out->operands.push_back(operand(1, 2));
      return checked(out);
    }
    if (n_.args.size() != 6 || number(0) != 16 || number(1) != 16) { return refuse_form(); }
    auto* out = make(Kind::StoreWarp, op_);
    out->columns = 8;
    out->operands.push_back(operand(3, 4));
    out->operands.push_back(operand(2));
    out->stride = c_.int_expr(n_.args[5]);
    return checked(out);
  }

  // ---- AMX

  auto amx() -> const Statement* {
    std::string_view name = text(0);
    // The tile in argument `at`, as tile number `which` of the statement.
    auto tile = [&](TileStatement& to, size_t which, size_t at) {
      if (n_.args[at].dtype().is_handle()) { to.tile_buffers[which] = c_.pointer(n_.args[at]); }
      else { to.tiles[which] = static_cast<int>(std::clamp<int64_t>(number(at), 0, 7)); }
    };
    if (name == "llvm.x86.tilezero" && n_.args.size() == 3) {
      auto* out = make(Kind::ZeroTile, name);
      tile(*out, 0, 2);
      return out;
    }
    bool is_store = name == "llvm.x86.tilestored64";
    if ((name == "llvm.x86.tileloadd64" || name == "llvm.x86.tileloaddt164" || is_store) && n_.args.size() == 5) {
      auto* out = make(is_store ? Kind::StoreTile : Kind::LoadTile, name);
      tile(*out, 0, 2);
      out->operands.push_back(operand(3));
      out->stride = c_.int_expr(n_.args[4]);
      return out;
    }
    bool is_bytes = name == "llvm.x86.tdpbssd" || name == "llvm.x86.tdpbsud" || name == "llvm.x86.tdpbusd" || name == "llvm.x86.tdpbuud";
    if ((!is_bytes && name != "llvm.x86.tdpbf16ps") || n_.args.size() != 5) { return nullptr; }
    auto* out = make(Kind::MultiplyTiles, name);
    for (size_t i = 0; i < 3; ++i) { tile(*out, i, i + 2); }
    out->left_is_signed = !is_bytes || name[13] == 's';
    out->right_is_signed = !is_bytes || name[14] == 's';
    if (!is_bytes) { out->value.type = DataType::bfloat16(); }
    return out;
  }

  // ---- arguments

  [[nodiscard]] auto text(size_t i) const -> std::string_view {
    const auto* s = i < n_.args.size() ? n_.args[i].as<StringImm>() : nullptr;
    return s ? std::string_view(s->value) : std::string_view();
  }
  [[nodiscard]] auto number(size_t i) const -> int64_t { return i < n_.args.size() ? as_int(n_.args[i]).value_or(0) : 0; }

  /// The operand behind a pointer argument, and its offset in another argument.
  auto operand(size_t pointer_at) -> TileOperand { return {c_.pointer(n_.args[pointer_at]), nullptr, pointee(n_.args[pointer_at])}; }
  auto operand(size_t pointer_at, size_t offset_at) -> TileOperand {
    TileOperand out = operand(pointer_at);
    out.offset = c_.int_expr(n_.args[offset_at]);
    return out;
  }
  /// Adds an operand that is part of a whole matrix, with the row stride of its buffer. False if it is not part of one.
  auto add_part(TileStatement& s, size_t at) -> bool {
    Name scope = scope_of_matrix(n_.args[at]);
    auto row = c_.row_of_.find(n_.args[at].as<VarNode>());
    if (!is_matrix_of_warp(scope) || row == c_.row_of_.end()) { return false; }
    s.operands.push_back(operand(at, at + 1));
    s.operands.back().row = c_.int_expr(row->second);
    s.scopes[s.operands.size() - 1] = scope;
    return true;
  }

  // ---- results

  auto make(Kind kind, std::string_view name) -> TileStatement* {
    auto* out = c_.make_stmt<TileStatement>();
    out->kind = kind;
    out->origin = n_.origin;
    out->name = Name(std::string(name));
    out->in_kernel = c_.in_kernel_;
    return out;
  }
  auto refuse(const std::string& what) -> const Statement* {
    c_.unsupported(n_.origin, what);
    return c_.make_stmt<Nothing>();
  }
  auto refuse_form() -> const Statement* { return refuse("this form of `" + std::string(op_) + "`"); }
  /// The statement, if all elements of its operands are whole bytes.
  auto checked(TileStatement* s) -> const Statement* {
    bool is_whole = std::all_of(s->operands.begin(), s->operands.end(), [&](const TileOperand& o) {
      // A bit takes a byte, as in other buffers.
      bool is_bit = o.element.bits == 1 && (s->kind == Kind::FillFragment || s->kind == Kind::LoadFragment || s->kind == Kind::StoreFragment);
      return !o.element.is_handle() && (o.element.bits % 8 == 0 || is_bit);
    });
    return is_whole ? s : refuse("`" + s->name.str() + "` of elements that are not whole bytes, or of no known type");
  }

  Compiler& c_;
  const Call& n_;
  std::string_view op_;
};

auto Compiler::tile_operation(const Call& n) -> const Statement* { return TileForms(*this, n).read(); }

}  // namespace loopsmith::interp
