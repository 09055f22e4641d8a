// Scheduled programs built by hand, in the form that schedules make, for tests of lowering passes.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ir/ir.h"
#include "ir/ops.h"
#include "tests/unit/catch.h"

namespace loopsmith::test {

constexpr DataType f32 = DataType::float_(32);
constexpr DataType i32 = DataType::int_(32);

inline auto ints(std::vector<int64_t> shape) -> Array<Expr> {
  std::vector<Expr> out;
  for (int64_t e : shape) { out.push_back(int_imm(e)); }
  return Array<Expr>(std::move(out));
}
inline auto buffer(const char* name, std::vector<int64_t> shape, DataType t = f32) -> Buffer { return make_buffer(name, t, ints(std::move(shape))); }
inline auto at(const Buffer& b, std::vector<Expr> indices) -> Expr { return make<BufferLoad>(b, Array<Expr>(std::move(indices))); }
inline auto put(const Buffer& b, std::vector<Expr> indices, Expr value) -> Stmt {
  return make<BufferStore>(b, std::move(value), Array<Expr>(std::move(indices)));
}
inline auto region(const Buffer& b, std::vector<Expr> indices) -> BufferRegion {
  std::vector<Range> ranges;
  for (Expr& i : indices) { ranges.push_back(point(std::move(i))); }
  return {b, Array<Range>(std::move(ranges)), {}};
}
inline auto loop(const Var& v, int64_t extent, Stmt body, ForKind kind = ForKind::Serial, AttrMap annotations = {}) -> Stmt {
  return make<For>(v, int_imm(0), int_imm(extent), kind, std::move(body), std::optional<IterVar>(), std::move(annotations));
}
inline auto spatial(const Var& v, int64_t extent) -> IterVar { return IterVar{v, from_zero(int_imm(extent)), IterKind::Spatial, {}, {}}; }
inline auto reduction(const Var& v, int64_t extent) -> IterVar { return IterVar{v, from_zero(int_imm(extent)), IterKind::Reduction, {}, {}}; }

struct BlockSpec {
  const char* name = "";
  std::vector<IterVar> iters = {};
  std::vector<Expr> values = {};
  std::vector<BufferRegion> reads = {};
  std::vector<BufferRegion> writes = {};
  Stmt body = {};
  Stmt init = {};
  std::vector<Buffer> allocate = {};
  std::vector<MatchBufferRegion> views = {};
  Expr where = {};
};
inline auto block(BlockSpec s) -> Stmt {
  Block::Fields f;
  f.name = s.name;
  f.iter_vars = s.iters;
  f.reads = s.reads;
  f.writes = s.writes;
  f.body = s.body;
  f.init = s.init;
  f.alloc_buffers = s.allocate;
  f.match_buffers = s.views;
  return make<BlockRealize>(Array<Expr>(s.values), s.where ? s.where : bool_imm(true), make<Block>(std::move(f)));
}
inline auto program(const std::vector<Buffer>& buffers, Stmt body, std::vector<Buffer> allocate = {}) -> IRModule {
  PrimFuncNode f;
  std::vector<Var> params;
  std::vector<std::pair<Var, Buffer>> map;
  for (const Buffer& b : buffers) {
    params.push_back(var(b->name.str() + "_handle", DataType::handle()));
    map.emplace_back(params.back(), b);
  }
  f.params = Array<Var>(params);
  f.buffer_map = Array<std::pair<Var, Buffer>>(map);
  f.body = block({.name = "root", .body = std::move(body), .allocate = std::move(allocate)});
  return module_of(make_func(std::move(f)));
}

/// C = A B with a tile of C in a buffer of its own, innermost loop vectorized, tile loops unrolled. Odd sizes get
/// predicates.
inline auto tiled_matmul(int64_t m, int64_t n, int64_t k, int64_t tm = 4, int64_t tn = 16, bool parallel = true) -> IRModule {
  Buffer a = buffer("A", {m, k}), b = buffer("B", {k, n}), c = buffer("C", {m, n}), local = buffer("C_local", {m, n});
  int64_t mo = (m + tm - 1) / tm, no = (n + tn - 1) / tn;
  Var i0 = var("i0"), j0 = var("j0"), i1 = var("i1"), j1 = var("j1"), k0 = var("k"), vi = var("vi"), vj = var("vj"), vk = var("vk");
  auto row = [&](const Var& o, const Var& i) { return add(mul(Expr(o), int_imm(tm)), Expr(i)); };
  auto column = [&](const Var& o, const Var& i) { return add(mul(Expr(o), int_imm(tn)), Expr(i)); };
  auto inside = [&](const Var& i, const Var& j) {
    Expr out = bool_imm(true);
    if (m % tm) { out = logical_and(out, less(row(i0, i), int_imm(m))); }
    if (n % tn) { out = logical_and(out, less(column(j0, j), int_imm(n))); }
    return out;
  };
  Stmt update = block({.name = "C",
                       .iters = {spatial(vi, m), spatial(vj, n), reduction(vk, k)},
                       .values = {row(i0, i1), column(j0, j1), k0},
                       .reads = {region(a, {vi, vk}), region(b, {vk, vj})},
                       .writes = {region(local, {vi, vj})},
                       .body = put(local, {vi, vj}, add(at(local, {vi, vj}), mul(at(a, {vi, vk}), at(b, {vk, vj})))),
                       .init = put(local, {vi, vj}, float_imm(0)),
                       .where = inside(i1, j1)});
  Stmt compute = loop(k0, k, loop(i1, tm, loop(j1, tn, update, ForKind::Vectorized), ForKind::Unrolled));
  Var i2 = var("i2"), j2 = var("j2"), wi = var("v0"), wj = var("v1");
  Stmt copy = block({.name = "C_write",
                     .iters = {spatial(wi, m), spatial(wj, n)},
                     .values = {row(i0, i2), column(j0, j2)},
                     .reads = {region(local, {wi, wj})},
                     .writes = {region(c, {wi, wj})},
                     .body = put(c, {wi, wj}, at(local, {wi, wj})),
                     .where = inside(i2, j2)});
  Stmt write = loop(i2, tm, loop(j2, tn, copy, ForKind::Vectorized), ForKind::Unrolled);
  Stmt body = loop(i0, mo, loop(j0, no, seq({compute, write})), parallel ? ForKind::Parallel : ForKind::Serial);
  return program({a, b, c}, body, {local});
}

}  // namespace loopsmith::test
