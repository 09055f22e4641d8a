// Products on matrix and dot-product units of x86: tiles (AMX), dot products of bytes (VNNI) and of bfloat16 (AVX512-BF16).
//
//     parallel others, i0, j0 | i1, j1 | other reductions, k0 | mi, nj | the unit
//
// A block fits a unit if it adds products of elements of the unit's types, and its loops include rows, columns and a depth that are
// multiples of the unit's. mi x nj results stay in registers while the reduction runs. The unit needs B packed: elements of a column that
// are multiplied together must be adjacent. Otherwise B is first copied into that layout, as a whole or by each task. Elementwise consumers
// of the product run on its tile.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <variant>

#include <fmt/format.h>

#include "ir/ops.h"
#include "ir/printer.h"
#include "support/codes.h"
#include "tune/space/analysis.h"
#include "tune/space/sketch.h"
#include "tune/space/steps.h"
#include "tune/space/unit.h"

namespace loopsmith::tune {
namespace {

using schedule::BlockRV;
using schedule::LoopRV;
using schedule::Schedule;
using schedule::Value;

constexpr int64_t lanes = 16;                  // columns of one instruction
constexpr int64_t tile_rows = 16;
constexpr int64_t tiles = 8;                   // registers
constexpr int64_t max_rows = 16;               // of a register tile of dot products

struct Unit {
  const char* name;
  bool target::Hardware::* is_present;
  DataType a, b, c;
  int64_t group;                               // the number of adjacent elements of a column
  const char* product;
  // Tiles only; null for dot products.
  const char* load_a;
  const char* load_b;
  const char* fill;
  const char* store;

  [[nodiscard]] auto is_tile() const -> bool { return load_a != nullptr; }
  [[nodiscard]] auto depth() const -> int64_t { return is_tile() ? lanes * group : group; }
};

auto units() -> const std::vector<Unit>& {
  using target::Hardware;
  static const DataType u8 = DataType::uint(8), i8 = DataType::int_(8), i32 = DataType::int_(32), bf16 = DataType::bfloat16(), f32 = DataType::float_(32);
  static const std::vector<Unit> all = {
      {"tiles", &Hardware::amx_bf16, bf16, bf16, f32, 2, "amx_sync_16x16x32_bf16bf16f32", "amx_load_16x32_bf16", "amx_load_16x16x2_bf16", "amx_fill_16x16_f32", "amx_store_16x16_f32"},
      {"tiles", &Hardware::amx_int8, u8, i8, i32, 4, "amx_sync_16x16x64_u8i8i32", "amx_load_16x64_u8", "amx_load_16x16x4_i8", "amx_fill_16x16_i32", "amx_store_16x16_i32"},
      {"tiles", &Hardware::amx_int8, i8, i8, i32, 4, "amx_sync_16x16x64_i8i8i32", "amx_load_16x64_i8", "amx_load_16x16x4_i8", "amx_fill_16x16_i32", "amx_store_16x16_i32"},
      {"dot products", &Hardware::vnni, u8, i8, i32, 4, "dot_16x4_vnni", nullptr, nullptr, nullptr, nullptr},
      {"dot products", &Hardware::avx512_bf16, bf16, bf16, f32, 2, "dot_16x2_avx512bf16", nullptr, nullptr, nullptr, nullptr},
  };
  return all;
}

/// A block as a product on a unit. Loops are numbers in BlockFact::loops.
struct Product {
  const Unit* unit = nullptr;
  size_t i = 0, j = 0, k = 0;
  std::vector<size_t> spatial, reductions;     // the other loops
  int64_t a_read = 0, b_read = 0;              // numbers of the regions that the block reads
  bool is_packed = false;                      // B has the unit's layout
  size_t b_j = 0, b_k = 0;                     // for another layout of B: the dimensions indexed by j and k
  size_t b_rank = 0;
};

/// The load behind a cast to the type of the result.
auto widened(const Expr& e, DataType to) -> const BufferLoad* {
  const auto* cast = e.as<Cast>();
  return cast && cast->dtype == to ? cast->value.as<BufferLoad>() : nullptr;
}

/// The number of the loop that feeds an index which is a single iter var; none for other indices.
auto loop_of(const schedule::FuncState& func, const schedule::Place& place, const Expr& index) -> std::optional<size_t> {
  const auto* iter = index.as<VarNode>();
  const Block& block = *place.block();
  for (size_t v = 0; iter && v < block.iter_vars.size(); ++v) {
    if (block.iter_vars[v].var.get() != iter) { continue; }
    const auto* loop = place.realize->iter_values[v].as<VarNode>();
    size_t number = 0;
    for (const schedule::Place* around : func.loops(place)) {
      if (around->loop->var.get() == loop) { return number; }
      ++number;
    }
  }
  return {};
}

auto number_of_read(const Block& block, const BufferNode* buffer) -> std::optional<int64_t> {
  for (size_t i = 0; i < block.reads.size(); ++i) {
    if (block.reads[i].buffer.get() == buffer) { return static_cast<int64_t>(i); }
  }
  return {};
}

/// Finds the layout of B: that of the unit, or the dimensions to pack.
auto find_columns(const schedule::FuncState& func, const schedule::Place& place, const BufferLoad& b, Product& product) -> bool {
  const Expr& last = b.indices[b.indices.size() - 1];
  product.b_rank = b.indices.size();
  if (const auto* mod = last.as<FloorMod>(); mod && as_int(mod->b) == product.unit->group) {
    product.is_packed = loop_of(func, place, mod->a) == product.k;
    return product.is_packed;
  }
  bool has_j = false, has_k = false;
  for (size_t d = 0; d < b.indices.size(); ++d) {
    auto loop = loop_of(func, place, b.indices[d]);
    if (loop == product.j) { product.b_j = d; has_j = true; }
    if (loop == product.k) { product.b_k = d; has_k = true; }
  }
  return has_j && has_k;
}

/// The rows of a tile: a loop that indexes the second last dimension of A and C. The rows of dot products: the last spatial loop that B does not use.
auto find_rows(const BlockFact& fact, const BufferNode* a, const BufferNode* b, const BufferNode* c, Product& product) -> bool {
  auto moves = [&](const BufferNode* buffer, size_t loop) {
    return std::any_of(fact.accesses.begin(), fact.accesses.end(), [&](const AccessFact& access) {
      return access.buffer == buffer && std::any_of(access.strides.begin(), access.strides.end(), [&](const auto& d) { return d[loop] != 0; });
    });
  };
  // The loop must be the only index of this dimension: `tensorize` does not accept a tile of a window (`w + rw`).
  auto is_row = [&](const BufferNode* buffer, size_t loop) {
    return std::any_of(fact.accesses.begin(), fact.accesses.end(), [&](const AccessFact& access) {
      if (access.buffer != buffer || access.strides.size() < 2) { return false; }
      const std::vector<int64_t>& row = access.strides[access.strides.size() - 2];
      return row[loop] == 1 && std::count(row.begin(), row.end(), 0) + 1 == static_cast<std::ptrdiff_t>(row.size());
    });
  };
  for (size_t l = fact.loops.size(); l-- > 0;) {
    if (fact.loops[l].is_reduction || l == product.j || moves(b, l)) { continue; }
    if (product.unit->is_tile() ? !is_row(a, l) || !is_row(c, l) || fact.loops[l].extent % tile_rows != 0 : !moves(a, l)) { continue; }
    product.i = l;
    return true;
  }
  return false;
}

/// The block as a product on the unit, or the first place where the two differ.
auto product_on(const Unit& unit, const schedule::FuncState& func, const schedule::Place& place, const BlockFact& fact) -> std::variant<Product, std::string> {
  const Block& block = *place.block();
  const auto* store = block.body.as<BufferStore>();
  const auto* init = block.init ? block.init.as<BufferStore>() : nullptr;
  if (!store || !init || !fact.is_simple || !fact.has_reduction) { return "the block is not one store in loops from 0, with an `init`, each bound to one axis"; }
  const auto* sum = store->value.as<Add>();
  const auto* before = sum ? sum->a.as<BufferLoad>() : nullptr;
  const auto* factors = sum ? sum->b.as<Mul>() : nullptr;
  if (!before || !factors || !before->buffer.same_as(store->buffer)) { return fmt::format("`{}` is not the element before plus a product", print_script(store->value)); }
  if (!(store->buffer->dtype == unit.c)) { return fmt::format("`{}` has the type {}, and the unit adds {}", store->buffer->name.str(), store->buffer->dtype.str(), unit.c.str()); }
  // Tiles begin as zeros.
  const auto* real = init->value.as<FloatImm>();
  if (unit.is_tile() && !is_zero(init->value) && !(real && real->value == 0 && !std::signbit(real->value))) { return fmt::format("the sum begins with `{}`, and a tile with 0", print_script(init->value)); }
  const BufferLoad* a = widened(factors->a, unit.c);
  const BufferLoad* b = widened(factors->b, unit.c);
  if (!a || !b) { return fmt::format("`{}` is not a product of two elements that are cast to {}", print_script(sum->b), unit.c.str()); }
  for (const auto& [load, type] : {std::pair(a, unit.a), std::pair(b, unit.b)}) {
    if (!(load->buffer->dtype == type)) { return fmt::format("`{}` has the type {}, and the unit multiplies {} by {}", load->buffer->name.str(), load->buffer->dtype.str(), unit.a.str(), unit.b.str()); }
  }
  if (a->buffer.same_as(b->buffer) || a->indices.size() == 0 || b->indices.size() < 2) { return "the factors are not elements of two buffers, the second one a matrix"; }
  Product product;
  product.unit = &unit;
  auto k = loop_of(func, place, a->indices[a->indices.size() - 1]);
  auto j = loop_of(func, place, store->indices[store->indices.size() - 1]);
  if (!k || !fact.loops[*k].is_reduction) { return fmt::format("the last index of `{}` is not a reduction axis", a->buffer->name.str()); }
  if (!j || fact.loops[*j].is_reduction) { return fmt::format("the last index of `{}` is not a spatial axis", store->buffer->name.str()); }
  product.k = *k;
  product.j = *j;
  for (const auto& [loop, multiple] : {std::pair(*k, unit.depth()), std::pair(*j, lanes)}) {
    if (fact.loops[loop].extent % multiple != 0) { return fmt::format("`{}` has {} iterations, and the unit takes a multiple of {}", fact.loops[loop].name, fact.loops[loop].extent, multiple); }
  }
  if (!find_rows(fact, a->buffer.get(), b->buffer.get(), store->buffer.get(), product)) { return unit.is_tile() ? fmt::format("no loop makes rows of {}: a multiple of {} that alone indexes both `{}` and `{}`", tile_rows, tile_rows, a->buffer->name.str(), store->buffer->name.str()) : fmt::format("every spatial loop moves `{}`, so no row uses its elements again", b->buffer->name.str()); }
  if (!find_columns(func, place, *b, product)) { return fmt::format("no dimensions of `{}` are indexed by `{}` and `{}` alone", b->buffer->name.str(), fact.loops[*k].name, fact.loops[*j].name); }
  auto a_read = number_of_read(block, a->buffer.get());
  auto b_read = number_of_read(block, b->buffer.get());
  if (!a_read || !b_read) { return "the block does not declare the regions that it reads"; }
  product.a_read = *a_read;
  product.b_read = *b_read;
  for (size_t l = 0; l < fact.loops.size(); ++l) {
    if (l == product.i || l == product.j || l == product.k) { continue; }
    (fact.loops[l].is_reduction ? product.reductions : product.spatial).push_back(l);
  }
  return product;
}

/// Ways to split a loop into [outer, middle, registers] with `unit` iterations inside.
auto choices_of(int64_t extent, int64_t unit, int64_t most) -> std::vector<std::vector<int64_t>> {
  std::vector<std::vector<int64_t>> out;
  const int64_t whole = extent / unit;
  for (int64_t r = 1; r <= most; ++r) {
    if (whole % r != 0) { continue; }
    for (int64_t m : divisors(whole / r)) { out.push_back({whole / r / m, m, r}); }
  }
  return out;
}

auto step(Result<Value> result) -> Status {
  if (!result.ok()) { return std::move(result).diagnostics(); }
  return ok();
}

class UnitSketch : public Sketch {
 public:
  UnitSketch(const SpaceContext& context, std::vector<BlockFact> blocks, size_t at, Product product)
      : blocks_(std::move(blocks)), fact_(blocks_[at]), product_(std::move(product)), core_(context.core) {
    const Unit& unit = *product_.unit;
    name_ = std::string(unit.name) + " " + fact_.name;
    find_consumers(at, context.taken);
    knobs_.push_back({"tile " + fact_.loops[product_.i].name, choices_of(fact_.loops[product_.i].extent, unit.is_tile() ? tile_rows : 1, unit.is_tile() ? 3 : max_rows)});
    knobs_.push_back({"tile " + fact_.loops[product_.j].name, choices_of(fact_.loops[product_.j].extent, lanes, unit.is_tile() ? 3 : 4)});
    knobs_.push_back({"rows innermost in the middle", {{0}, {1}}});
    const bool packs_by_task = !product_.is_packed && product_.b_rank == 2;
    knobs_.push_back({"pack by each task", packs_by_task ? std::vector<std::vector<int64_t>>{{0}, {1}} : std::vector<std::vector<int64_t>>{{0}}});
  }

  auto apply(Schedule& sch, const Point& point) const -> Status override;
  auto draft(const Point& point) const -> double override;
  auto features(const Point& point) const -> std::vector<double> override;

 private:
  enum KnobNumber : uint8_t { Rows, Columns, Order, Packing };
  /// The blocks and loops that `apply` works on.
  struct Made {
    BlockRV product;
    std::optional<BlockRV> pack, a, b, out, last;
    std::optional<LoopRV> tasks, middle, depth, first_reduction;
    std::vector<LoopRV> registers;             // mi, nj
    LoopRV unit;                               // the outermost loop of the unit
  };

  auto add_copies(Schedule& sch, Made& made) const -> Status;
  auto tile_loops(Schedule& sch, const Point& point, Made& made) const -> Status;
  auto move_blocks(Schedule& sch, const Point& point, Made& made) const -> Status;
  auto tensorize_tiles(Schedule& sch, const Made& made, BlockRV zero) const -> Status;
  auto tensorize_dots(Schedule& sch, const Made& made, BlockRV zero) const -> Status;
  auto finish_pack(Schedule& sch, const Point& point, BlockRV pack) const -> Status;

  void find_consumers(size_t at, const std::set<std::string>& taken) {
    std::set<size_t> seen = {at};
    while (!blocks_[at].is_output) {
      std::set<size_t> consumers(blocks_[at].consumers.begin(), blocks_[at].consumers.end());
      if (consumers.size() != 1) { break; }
      const size_t next = *consumers.begin();
      if (!blocks_[next].is_simple || blocks_[next].has_reduction || taken.contains(blocks_[next].name)) { break; }
      if (!fused_.empty()) { inlined_.push_back(fused_); }
      fused_ = blocks_[next].name;
      seen.insert(next);
      at = next;
    }
    for (size_t i : seen) { covered_.insert(blocks_[i].name); }
  }

  std::vector<BlockFact> blocks_;
  BlockFact fact_;
  Product product_;
  CoreModel core_;
  std::vector<std::string> inlined_;           // consumers inlined into the last one
  std::string fused_;                          // the last elementwise consumer; empty: none
};

/// The loops of a block inside of `outer`, outermost first.
auto loops_inside(Schedule& sch, BlockRV block, LoopRV outer) -> Result<std::vector<LoopRV>> {
  LOOPSMITH_TRY(loops, get_loops(sch, block));
  LOOPSMITH_TRY(around, sch.get(outer));
  for (size_t i = 0; i < loops.size(); ++i) {
    LOOPSMITH_TRY(place, sch.get(loops[i]));
    if (place->id == around->id) { return std::vector<LoopRV>(loops.begin() + static_cast<std::ptrdiff_t>(i) + 1, loops.end()); }
  }
  return loops;
}

/// Splits a loop into parts of `size`; a loop of this size is not split. The result is the loop over the parts, if there is one, and the part.
struct Cut { std::optional<LoopRV> outer; LoopRV inner; };
auto cut(Schedule& sch, LoopRV loop, int64_t size) -> Result<Cut> {
  const int64_t extent = extent_of(sch, loop);
  if (extent == size) { return Cut{{}, loop}; }
  LOOPSMITH_TRY(parts, split(sch, loop, {extent / size, size}));
  return Cut{parts[0], parts[1]};
}

/// Makes the last two loops of a copy tiles of 16 rows by `columns`, which unrolled loops select, and replaces a tile by an instruction.
auto tensorize_copy(Schedule& sch, LoopRV rows, LoopRV columns, int64_t width, std::optional<LoopRV> inside, const char* intrinsic) -> Status {
  LOOPSMITH_TRY(row, cut(sch, rows, tile_rows));
  LOOPSMITH_TRY(column, cut(sch, columns, width));
  std::vector<Value> order;
  for (const std::optional<LoopRV>& loop : {row.outer, column.outer, std::optional<LoopRV>(row.inner), std::optional<LoopRV>(column.inner), inside}) {
    if (loop) { order.push_back(*loop); }
  }
  if (column.outer) { LOOPSMITH_CHECK(step(sch.call("reorder", order))); }
  for (const std::optional<LoopRV>& loop : {row.outer, column.outer}) {
    if (loop) { LOOPSMITH_CHECK(step(sch.call("unroll", {*loop}))); }
  }
  return step(sch.call("tensorize", {row.inner, Value(intrinsic)}));
}

auto UnitSketch::add_copies(Schedule& sch, Made& made) const -> Status {
  const Unit& unit = *product_.unit;
  if (!product_.is_packed) {
    LOOPSMITH_TRY(packed, sch.call("cache_read", {made.product, Value(product_.b_read), Value("global")}));
    made.pack = *packed.as<BlockRV>();
    IndexMapNode map;
    std::vector<Var> dims;
    std::vector<Expr> image;
    for (size_t d = 0; d < product_.b_rank; ++d) {
      dims.push_back(var(d == product_.b_j ? "j" : d == product_.b_k ? "k" : "d" + std::to_string(d)));
      if (d != product_.b_j && d != product_.b_k) { image.push_back(dims.back()); }
    }
    const Var& j = dims[product_.b_j];
    const Var& k = dims[product_.b_k];
    image.insert(image.end(), {floordiv(j, int_imm(lanes)), floordiv(k, int_imm(unit.group)), floormod(j, int_imm(lanes)), floormod(k, int_imm(unit.group))});
    map.initial = Array<Var>(dims);
    map.final = Array<Expr>(image);
    LOOPSMITH_CHECK(step(sch.call("transform_layout", {made.product, Value(Value::List{Value("read"), Value(product_.b_read)}), Value(make_index_map(std::move(map)))})));
  }
  if (!fused_.empty()) {
    LOOPSMITH_TRY(last, get_block(sch, fused_));
    made.last = last;
  }
  if (unit.is_tile()) {
    LOOPSMITH_TRY(a, sch.call("cache_read", {made.product, Value(product_.a_read), Value("amx.tmm")}));
    LOOPSMITH_TRY(b, sch.call("cache_read", {made.product, Value(product_.b_read), Value("amx.tmm")}));
    made.a = *a.as<BlockRV>();
    made.b = *b.as<BlockRV>();
  }
  if (unit.is_tile() || fused_.empty()) {
    LOOPSMITH_TRY(out, sch.call("cache_write", {made.product, Value(0), Value(unit.is_tile() ? "amx.tmm" : "global")}));
    made.out = *out.as<BlockRV>();
  }
  return ok();
}

auto UnitSketch::tile_loops(Schedule& sch, const Point& point, Made& made) const -> Status {
  const Unit& unit = *product_.unit;
  LOOPSMITH_TRY(loops, get_loops(sch, made.product));
  std::vector<int64_t> rows = chosen(point, Rows);
  std::vector<int64_t> columns = chosen(point, Columns);
  if (unit.is_tile()) { rows.push_back(tile_rows); }
  columns.push_back(lanes);
  LOOPSMITH_TRY(i, split(sch, loops[product_.i], rows));
  LOOPSMITH_TRY(j, split(sch, loops[product_.j], columns));
  LOOPSMITH_TRY(k, split(sch, loops[product_.k], {fact_.loops[product_.k].extent / unit.depth(), unit.depth()}));
  std::vector<LoopRV> outer;
  for (size_t l : product_.spatial) { outer.push_back(loops[l]); }
  outer.push_back(i[0]);
  outer.push_back(j[0]);
  std::vector<LoopRV> order = outer;
  const bool rows_inner = chosen(point, Order)[0] == 1;
  order.push_back(rows_inner ? j[1] : i[1]);
  order.push_back(rows_inner ? i[1] : j[1]);
  made.middle = order.back();
  for (size_t l : product_.reductions) { order.push_back(loops[l]); }
  order.push_back(k[0]);
  made.depth = k[0];
  made.first_reduction = product_.reductions.empty() ? k[0] : loops[product_.reductions.front()];
  made.registers = {i[2], j[2]};
  made.unit = unit.is_tile() ? i[3] : j[3];
  order.insert(order.end(), {i[2], j[2]});
  if (unit.is_tile()) { order.push_back(i[3]); }
  order.insert(order.end(), {j[3], k[1]});
  LOOPSMITH_CHECK(step(sch.call("reorder", std::vector<Value>(order.begin(), order.end()))));
  LOOPSMITH_TRY(tasks, fuse(sch, outer));
  made.tasks = tasks;
  return step(sch.call("parallel", {tasks}));
}

auto UnitSketch::move_blocks(Schedule& sch, const Point& point, Made& made) const -> Status {
  if (made.a) { LOOPSMITH_CHECK(step(sch.call("compute_at", {*made.a, *made.depth}))); }
  if (made.b) { LOOPSMITH_CHECK(step(sch.call("compute_at", {*made.b, *made.depth}))); }
  if (made.pack && chosen(point, Packing)[0] == 1) { LOOPSMITH_CHECK(step(sch.call("compute_at", {*made.pack, *made.tasks}))); }
  if (made.out) { LOOPSMITH_CHECK(step(sch.call("reverse_compute_at", {*made.out, *made.middle}))); }
  if (made.last) { LOOPSMITH_CHECK(step(sch.call("reverse_compute_at", {*made.last, *made.middle}))); }
  return ok();
}

auto UnitSketch::tensorize_tiles(Schedule& sch, const Made& made, BlockRV zero) const -> Status {
  const Unit& unit = *product_.unit;
  LOOPSMITH_TRY(a, loops_inside(sch, *made.a, *made.depth));
  if (a.size() < 2) { return error(Code::Internal).arg("what", "a tile of A has fewer than two loops"); }
  LOOPSMITH_CHECK(tensorize_copy(sch, a[a.size() - 2], a.back(), unit.depth(), {}, unit.load_a));
  LOOPSMITH_TRY(b, loops_inside(sch, *made.b, *made.depth));
  if (b.size() < 3) { return error(Code::Internal).arg("what", "a tile of B has fewer than three loops"); }
  for (size_t i = 0; i + 3 < b.size(); ++i) { LOOPSMITH_CHECK(step(sch.call("unroll", {b[i]}))); }
  LOOPSMITH_CHECK(tensorize_copy(sch, b[b.size() - 3], b[b.size() - 2], lanes, b.back(), unit.load_b));
  LOOPSMITH_TRY(fill, get_loops(sch, zero));
  for (size_t i : {fill.size() - 4, fill.size() - 3}) { LOOPSMITH_CHECK(step(sch.call("unroll", {fill[i]}))); }
  LOOPSMITH_CHECK(step(sch.call("tensorize", {fill[fill.size() - 2], Value(unit.fill)})));
  for (LoopRV loop : made.registers) { LOOPSMITH_CHECK(step(sch.call("unroll", {loop}))); }
  LOOPSMITH_CHECK(step(sch.call("tensorize", {made.unit, Value(unit.product)})));
  LOOPSMITH_TRY(out, loops_inside(sch, *made.out, *made.middle));
  if (out.size() < 2) { return error(Code::Internal).arg("what", "a tile of C has fewer than two loops"); }
  return tensorize_copy(sch, out[out.size() - 2], out.back(), lanes, {}, unit.store);
}

auto UnitSketch::tensorize_dots(Schedule& sch, const Made& made, BlockRV zero) const -> Status {
  for (LoopRV loop : made.registers) { LOOPSMITH_CHECK(step(sch.call("unroll", {loop}))); }
  LOOPSMITH_TRY(fill, get_loops(sch, zero));
  LOOPSMITH_CHECK(step(sch.call("vectorize", {fill.back()})));
  for (size_t i : {fill.size() - 3, fill.size() - 2}) { LOOPSMITH_CHECK(step(sch.call("unroll", {fill[i]}))); }
  if (made.out) { LOOPSMITH_CHECK(vectorize_inner(sch, *made.out, 2, static_cast<int>(lanes), true)); }
  return step(sch.call("tensorize", {made.unit, Value(product_.unit->product)}));
}

/// The copy of B into the unit's layout: 16 columns as a vector for each element of a group, which code generation interleaves.
auto UnitSketch::finish_pack(Schedule& sch, const Point& point, BlockRV pack) const -> Status {
  LOOPSMITH_TRY(loops, get_loops(sch, pack));
  std::vector<LoopRV> dims(loops.end() - static_cast<std::ptrdiff_t>(product_.b_rank), loops.end());
  LOOPSMITH_TRY(j, cut(sch, dims[product_.b_j], lanes));
  LOOPSMITH_TRY(k, cut(sch, dims[product_.b_k], product_.unit->group));
  std::vector<LoopRV> outer;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (d != product_.b_j && d != product_.b_k) { outer.push_back(dims[d]); }
  }
  if (j.outer) { outer.push_back(*j.outer); }
  std::vector<Value> order(outer.begin(), outer.end());
  if (k.outer) { order.push_back(*k.outer); }
  order.push_back(k.inner);
  order.push_back(j.inner);
  LOOPSMITH_CHECK(step(sch.call("reorder", order)));
  LOOPSMITH_CHECK(step(sch.call("vectorize", {j.inner})));
  LOOPSMITH_CHECK(step(sch.call("unroll", {k.inner})));
  if (chosen(point, Packing)[0] == 1 || outer.empty()) { return ok(); }
  LOOPSMITH_TRY(fused, fuse(sch, outer));
  return step(sch.call("parallel", {fused}));
}

auto UnitSketch::apply(Schedule& sch, const Point& point) const -> Status {
  Made made;
  LOOPSMITH_TRY(block, get_block(sch, fact_.name));
  made.product = block;
  for (const std::string& name : inlined_) {
    LOOPSMITH_TRY(inlined, get_block(sch, name));
    LOOPSMITH_CHECK(step(sch.call("compute_inline", {inlined})));
  }
  LOOPSMITH_CHECK(add_copies(sch, made));
  LOOPSMITH_CHECK(tile_loops(sch, point, made));
  LOOPSMITH_CHECK(move_blocks(sch, point, made));
  LOOPSMITH_TRY(zero, sch.call("decompose_reduction", {made.product, *made.first_reduction}));
  LOOPSMITH_CHECK(product_.unit->is_tile() ? tensorize_tiles(sch, made, *zero.as<BlockRV>()) : tensorize_dots(sch, made, *zero.as<BlockRV>()));
  if (made.last) { LOOPSMITH_CHECK(vectorize_inner(sch, *made.last, 2, static_cast<int>(core_.lanes), true)); }
  if (made.pack) { LOOPSMITH_CHECK(finish_pack(sch, point, *made.pack)); }
  return ok();
}

/// Cycles of the products and of the loads beside them, by where the operands stay; then the result, and packing.
auto UnitSketch::draft(const Point& point) const -> double {
  const Unit& unit = *product_.unit;
  const std::vector<int64_t>& i = chosen(point, Rows);
  const std::vector<int64_t>& j = chosen(point, Columns);
  const auto mi = static_cast<double>(i[2]), nj = static_cast<double>(j[2]);
  const double needed = unit.is_tile() ? mi * nj + mi + nj : mi * nj + nj + 1;
  if (needed > (unit.is_tile() ? static_cast<double>(tiles) : core_.registers)) { return std::numeric_limits<double>::infinity(); }
  double tasks = static_cast<double>(i[0] * j[0]);
  for (size_t l : product_.spatial) { tasks *= static_cast<double>(fact_.loops[l].extent); }
  if (tasks < core_.cores && fact_.instances > 1e5) { return std::numeric_limits<double>::infinity(); }
  const double rows = unit.is_tile() ? tile_rows : 1;
  const double bytes_a = unit.a.element_bytes(), bytes_b = unit.b.element_bytes();
  double depth = static_cast<double>(fact_.loops[product_.k].extent);
  for (size_t l : product_.reductions) { depth *= static_cast<double>(fact_.loops[l].extent); }
  // The operand of the loop outside stays in the first cache if it fits there; the other one in the second.
  const double panel_a = mi * rows * depth * bytes_a, panel_b = nj * lanes * depth * bytes_b;
  const bool rows_inner = chosen(point, Order)[0] == 1;
  const double kept = rows_inner ? panel_b : panel_a;
  const double passing = rows_inner ? panel_a * static_cast<double>(i[1]) : panel_b * static_cast<double>(j[1]);
  auto load_cycles = [&](double bytes) {
    if (bytes < 0.8 * core_.l1) { return unit.is_tile() ? 8.0 : 0.5; }
    if (bytes < 0.6 * core_.l2) { return unit.is_tile() ? 20.0 : 1.5; }
    return unit.is_tile() ? 40.0 : 3.0;
  };
  const double kept_loads = load_cycles(kept), passing_loads = load_cycles(std::max(passing, kept));
  const double loads = rows_inner ? mi * passing_loads + nj * kept_loads : mi * kept_loads + nj * passing_loads;
  double compute = unit.is_tile() ? 16 * mi * nj : 0.5 * mi * nj / std::min(1.0, mi * nj / 10);
  const double products = fact_.instances / (rows * lanes * static_cast<double>(unit.depth()));
  double cycles = products / (mi * nj) * (std::max(compute, loads) + 0.3 * std::min(compute, loads));
  cycles += fact_.instances / depth * 4 / 16;
  double seconds = cycles / core_.clock * std::ceil(tasks / core_.cores) / tasks + core_.fork_seconds;
  if (!product_.is_packed) {
    double bytes = depth * static_cast<double>(fact_.loops[product_.j].extent) * bytes_b;
    if (chosen(point, Packing)[0] == 1) { bytes *= static_cast<double>(i[0]); }
    seconds += bytes / 12 / core_.clock / core_.cores;
  }
  return seconds;
}

auto UnitSketch::features(const Point& point) const -> std::vector<double> {
  std::vector<double> out;
  for (size_t knob : {size_t{Rows}, size_t{Columns}}) {
    for (int64_t factor : chosen(point, knob)) { out.push_back(std::log2(static_cast<double>(factor))); }
  }
  out.push_back(std::log2(static_cast<double>(chosen(point, Rows)[2] * chosen(point, Columns)[2])));
  out.push_back(point[Order]);
  out.push_back(point[Packing]);
  out.push_back(point[Order] ? out[1] : out[4]);
  return out;
}

/// The block with the most work among those with a reduction.
struct Heaviest { std::vector<BlockFact> blocks; size_t at = 0; const schedule::Place* place = nullptr; };
auto heaviest(const SpaceContext& context, const schedule::FuncState& func) -> std::optional<Heaviest> {
  if (!func.is_schedulable()) { return {}; }
  Heaviest out{analyze(func), 0, nullptr};
  const std::vector<BlockFact>& blocks = out.blocks;
  out.at = blocks.size();
  for (size_t i = 0; i < blocks.size(); ++i) {
    if (blocks[i].has_reduction && !context.taken.contains(blocks[i].name) && (out.at == blocks.size() || blocks[i].instances * blocks[i].flops > blocks[out.at].instances * blocks[out.at].flops)) { out.at = i; }
  }
  if (out.at == blocks.size()) { return {}; }
  for (const schedule::Place* p : func.child_blocks(func.root())) {
    if (p->id == blocks[out.at].id) { out.place = p; }
  }
  return out.place ? std::optional(std::move(out)) : std::nullopt;
}

auto is_present(const Unit& unit, const target::Hardware& hardware) -> bool { return hardware.*unit.is_present && (unit.is_tile() || hardware.avx512); }

}  // namespace

void add_unit_sketches(const SpaceContext& context, Sketches& out) {
  schedule::State state(context.module);
  const schedule::FuncState* func = state.func(context.function);
  auto found = func ? heaviest(context, *func) : std::nullopt;
  for (const Unit& unit : units()) {
    if (!found || !is_present(unit, context.hardware)) { continue; }
    auto product = product_on(unit, *func, *found->place, found->blocks[found->at]);
    if (auto* fits = std::get_if<Product>(&product)) { out.push_back(std::make_unique<UnitSketch>(context, found->blocks, found->at, std::move(*fits))); }
  }
}

auto unit_fits(const SpaceContext& context) -> std::vector<UnitFit> {
  std::vector<UnitFit> out;
  schedule::State state(context.module);
  const schedule::FuncState* func = state.func(context.function);
  auto found = func ? heaviest(context, *func) : std::nullopt;
  if (!found) { return out; }
  const BlockFact& fact = found->blocks[found->at];
  for (const Unit& unit : units()) {
    UnitFit fit{fmt::format("{} of {} by {}", unit.name, unit.a.str(), unit.b.str()), fact.name, {}};
    auto product = product_on(unit, *func, *found->place, fact);
    if (const auto* why = std::get_if<std::string>(&product)) { fit.why_not = *why; }
    else if (!is_present(unit, context.hardware)) { fit.why_not = "the target's processor does not have the unit"; }
    out.push_back(std::move(fit));
  }
  return out;
}

}  // namespace loopsmith::tune
