// Matrix products: see gemm.h. Rows and columns beyond the matrices are computed on zeros in the packed copies, and never stored.
#include "tests/bench/cpu/gemm.h"

#include <algorithm>

#include "ir/ops.h"

namespace loopsmith::bench {
namespace {

auto at(const Buffer& b, Expr index, Expr predicate = {}) -> Expr { return make<BufferLoad>(b, Array<Expr>{std::move(index)}, Origin{}, std::move(predicate)); }
auto put(const Buffer& b, Expr index, Expr value, Expr predicate = {}) -> Stmt {
  return make<BufferStore>(b, std::move(value), Array<Expr>{std::move(index)}, Origin{}, std::move(predicate));
}
auto loop(const Var& v, int64_t extent, Stmt body, ForKind kind = ForKind::Serial) -> Stmt {
  return make<For>(v, int_imm(0), int_imm(extent), kind, std::move(body));
}
auto number(int64_t value) -> Expr { return int_imm(value); }

}  // namespace

auto gemm(const Gemm& g) -> IRModule {
  const DataType f32 = DataType::float_(32);
  const DataType vector = f32.with_lanes(g.lanes);
  const int64_t nr = g.nr();
  const int64_t mr = g.mr;
  const int64_t panels = (g.n + nr - 1) / nr;
  const int64_t row_blocks = (g.m + g.mc - 1) / g.mc;
  const int64_t tiles = g.mc / mr;
  const int64_t depth_blocks = (g.k + g.kc - 1) / g.kc;
  Buffer a = make_buffer("A", f32, {number(g.m * g.k)});
  Buffer b = make_buffer("B", f32, {number(g.k * g.n)});
  Buffer c = make_buffer("C", f32, {number(g.m * g.n)});
  Buffer packed_b = make_buffer("packed_B", f32, {number(panels * g.k * nr)});
  Buffer packed_a = make_buffer("packed_A", f32, {number(g.mc * g.kc)});
  Buffer tile = make_buffer("tile", f32, {number(mr * nr)}, "local");
  auto lanes_at = [&](Expr base) -> Expr { return make<Ramp>(std::move(base), int_imm(1), int_imm(g.lanes)); };
  auto spread = [&](Expr value) -> Expr { return make<Broadcast>(std::move(value), int_imm(g.lanes)); };
  auto within = [&](Expr base, int64_t bound) -> Expr { return less(lanes_at(std::move(base)), spread(number(bound))); };
  const bool ragged_n = g.n % nr != 0;
  const bool ragged_m = g.m % g.mc != 0 || g.mc % mr != 0;

  // Packing B: panel p holds columns p*nr ..., row by row.
  Var p = var("p");
  Var row = var("row");
  std::vector<Stmt> copies;
  for (int v = 0; v < g.nv; ++v) {
    Expr column = p * number(nr) + number(int64_t(v) * g.lanes);
    Expr from = lanes_at(row * number(g.n) + column);
    copies.push_back(put(packed_b, lanes_at(p * number(g.k * nr) + row * number(nr) + number(int64_t(v) * g.lanes)),
                         ragged_n ? at(b, from, within(column, g.n)) : at(b, from)));
  }
  Stmt pack_b = loop(p, panels, loop(row, g.k, seq(copies)), ForKind::Parallel);

  Var block = var("block");        // of rows
  Var kb = var("kb");              // of depth
  Var j = var("j");                // panel of B
  Var i = var("i");                // tile of rows
  Var kk = var("kk");
  Expr first_k = kb * number(g.kc);
  const int64_t depth = std::min(g.kc, g.k);

  // Packing A: tile t holds rows t*mr ..., column by column.
  Var t = var("t");
  Var ka = var("ka");
  std::vector<Stmt> picks;
  for (int64_t r = 0; r < mr; ++r) {
    Expr at_row = block * number(g.mc) + t * number(mr) + number(r);
    Expr value = at(a, at_row * number(g.k) + first_k + ka);
    if (ragged_m) { value = if_then_else(less(at_row, number(g.m)), value, float_imm(0)); }
    picks.push_back(put(packed_a, t * number(depth * mr) + ka * number(mr) + number(r), value));
  }
  Stmt pack_a = loop(t, tiles, loop(ka, depth, seq(picks)));

  // The register tile.
  auto place = [&](int64_t r, int v) { return lanes_at(number(r * nr + int64_t(v) * g.lanes)); };
  auto c_index = [&](int64_t r, int v) {
    return lanes_at((block * number(g.mc) + i * number(mr) + number(r)) * number(g.n) + j * number(nr) + number(int64_t(v) * g.lanes));
  };
  std::vector<Stmt> zero;
  std::vector<Stmt> fetch;
  std::vector<Stmt> update;
  std::vector<Stmt> write;
  std::vector<Var> rows_b;
  for (int v = 0; v < g.nv; ++v) { rows_b.push_back(var("b" + std::to_string(v), vector)); }
  for (int64_t r = 0; r < mr; ++r) {
    Expr at_row = block * number(g.mc) + i * number(mr) + number(r);
    Expr from_a = g.pack_a ? at(packed_a, i * number(depth * mr) + kk * number(mr) + number(r)) : at(a, at_row * number(g.k) + first_k + kk);
    for (int v = 0; v < g.nv; ++v) {
      zero.push_back(put(tile, place(r, v), constant(vector, 0)));
      Expr live;
      if (ragged_n) { live = within(j * number(nr) + number(int64_t(v) * g.lanes), g.n); }
      Stmt back = put(tile, place(r, v), at(c, c_index(r, v), live));
      Stmt out = put(c, c_index(r, v), at(tile, place(r, v)), live);
      fetch.push_back(ragged_m ? Stmt(make<IfThenElse>(less(at_row, number(g.m)), back)) : back);
      write.push_back(ragged_m ? Stmt(make<IfThenElse>(less(at_row, number(g.m)), out)) : out);
      update.push_back(put(tile, place(r, v), make<Add>(at(tile, place(r, v)), make<Mul>(spread(from_a), rows_b[static_cast<size_t>(v)]))));
    }
  }
  Stmt step = seq(update);
  for (int v = g.nv - 1; v >= 0; --v) {
    Expr from_b = at(packed_b, lanes_at(j * number(g.k * nr) + (first_k + kk) * number(nr) + number(int64_t(v) * g.lanes)));
    step = make<LetStmt>(rows_b[static_cast<size_t>(v)], from_b, step);
  }
  Stmt start = depth_blocks > 1 ? Stmt(make<IfThenElse>(equal(kb, number(0)), seq(zero), seq(fetch))) : seq(zero);
  Stmt micro = make<Allocate>(tile->data, f32, Array<Expr>{number(mr * nr)}, bool_imm(true), seq({start, loop(kk, depth, step), seq(write)}));
  Stmt panels_loop = loop(j, panels, loop(i, tiles, micro));
  Stmt depths = loop(kb, depth_blocks, g.pack_a ? seq({pack_a, panels_loop}) : panels_loop);
  if (g.pack_a) { depths = make<Allocate>(packed_a->data, f32, Array<Expr>{number(g.mc * depth)}, bool_imm(true), depths); }
  Stmt rows = loop(block, row_blocks, depths, ForKind::Parallel);
  Stmt whole = make<Allocate>(packed_b->data, f32, Array<Expr>{number(panels * g.k * nr)}, bool_imm(true), seq({pack_b, rows}));

  PrimFuncNode fields;
  std::vector<Var> params;
  std::vector<std::pair<Var, Buffer>> map;
  for (const Buffer& buffer : {a, b, c}) {
    params.push_back(var(buffer->name.str() + "_handle", DataType::handle()));
    map.emplace_back(params.back(), buffer);
  }
  fields.params = Array<Var>(params);
  fields.buffer_map = Array<std::pair<Var, Buffer>>(map);
  fields.body = whole;
  return module_of(make_func(std::move(fields)));
}

}  // namespace loopsmith::bench
