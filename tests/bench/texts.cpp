// Files for measurements: see texts.h.
#include "tests/bench/texts.h"

#include <fmt/format.h>

namespace loopsmith::bench {
namespace {

/// Twenty-five lines: a program of two blocks, and a schedule for it.
auto unit(int number) -> std::string {
  std::string text = fmt::format("# Program {}.\n\n\n@T.prim_func\ndef program_{}(\n", number, number);
  text += "    A: T.Buffer((64, 64), \"float32\"), B: T.Buffer((64, 64), \"float32\"), D: T.Buffer((64, 64), \"float32\")\n):\n";
  text +=
      "    C = T.alloc_buffer((64, 64))\n"
      "    for i, j, k in T.grid(64, 64, 64):\n"
      "        with T.block(\"C\"):\n"
      "            vi, vj, vk = T.axis.remap(\"SSR\", [i, j, k])\n"
      "            with T.init():\n"
      "                C[vi, vj] = T.float32(0)\n"
      "            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]\n"
      "    for i, j in T.grid(64, 64):\n"
      "        with T.block(\"D\"):\n"
      "            vi, vj = T.axis.remap(\"SS\", [i, j])\n"
      "            D[vi, vj] = C[vi, vj] * T.float32(2)\n"
      "\n\n";
  text += fmt::format("@ls.schedule(program_{})\ndef schedule_{}(sch: tir.Schedule) -> None:\n", number, number);
  text +=
      "    i, j, k = sch.get_loops(\"C\")\n"
      "    j0, j1 = sch.split(j, factors=[None, 16])\n"
      "    sch.reorder(i, j0, k, j1)\n";
  return text;
}

}  // namespace

auto file_of_lines(int lines) -> std::string {
  std::string text;
  for (int i = 0; i < lines / unit_lines; ++i) { text += unit(i); }
  return text;
}

auto function_of_lines(int lines) -> std::string {
  std::string text = "@T.prim_func\ndef main(A: T.Buffer((64, 64), \"float32\"), D: T.Buffer((64, 64), \"float32\")):\n";
  for (int i = 0; i < lines / statement_lines; ++i) {
    text += fmt::format("    for i, j in T.grid(64, 64):\n        with T.block(\"D{}\"):\n            vi, vj = T.axis.remap(\"SS\", [i, j])\n", i);
    text += "            D[vi, vj] = A[vi, vj] * T.float32(2)\n";
  }
  return text;
}

auto module_of_94_lines() -> std::string {
  constexpr int stages = 13;
  std::string text = "# Thirteen blocks, one after the other.\n@T.prim_func\n";
  text += "def main(B0: T.Buffer((128, 128), \"float32\"), B13: T.Buffer((128, 128), \"float32\")):\n    T.func_attr({\"tir.noalias\": T.bool(True)})\n";
  for (int s = 1; s < stages; ++s) { text += fmt::format("    B{} = T.alloc_buffer((128, 128))\n", s); }
  for (int s = 1; s <= stages; ++s) {
    text += fmt::format(
        "    for i, j in T.grid(128, 128):\n        with T.block(\"B{}\"):\n            vi, vj = T.axis.remap(\"SS\", [i, j])\n"
        "            T.reads(B{}[vi, vj])\n            T.writes(B{}[vi, vj])\n"
        "            B{}[vi, vj] = B{}[vi, vj] * T.float32(2) + T.float32(1)\n",
        s, s - 1, s, s, s - 1);
  }
  return text;
}

auto long_schedule() -> std::string {
  return R"(
@T.prim_func
def conv2d_bias_relu(
    data: T.Buffer((1, 28, 28, 64), "float32"),
    weight: T.Buffer((3, 3, 64, 64), "float32"),
    bias: T.Buffer((64,), "float32"),
    out: T.Buffer((1, 28, 28, 64), "float32"),
):
    padded = T.alloc_buffer((1, 30, 30, 64))
    conv = T.alloc_buffer((1, 28, 28, 64))
    biased = T.alloc_buffer((1, 28, 28, 64))
    for n, h, w, c in T.grid(1, 30, 30, 64):
        with T.block("pad"):
            vn, vh, vw, vc = T.axis.remap("SSSS", [n, h, w, c])
            padded[vn, vh, vw, vc] = T.if_then_else(
                1 <= vh and vh < 29 and 1 <= vw and vw < 29, data[vn, vh - 1, vw - 1, vc], T.float32(0)
            )
    for n, h, w, co, rh, rw, rc in T.grid(1, 28, 28, 64, 3, 3, 64):
        with T.block("conv"):
            vn, vh, vw, vco, vrh, vrw, vrc = T.axis.remap("SSSSRRR", [n, h, w, co, rh, rw, rc])
            with T.init():
                conv[vn, vh, vw, vco] = T.float32(0)
            conv[vn, vh, vw, vco] = conv[vn, vh, vw, vco] + padded[vn, vh + vrh, vw + vrw, vrc] * weight[vrh, vrw, vrc, vco]
    for n, h, w, c in T.grid(1, 28, 28, 64):
        with T.block("bias"):
            vn, vh, vw, vc = T.axis.remap("SSSS", [n, h, w, c])
            biased[vn, vh, vw, vc] = conv[vn, vh, vw, vc] + bias[vc]
    for n, h, w, c in T.grid(1, 28, 28, 64):
        with T.block("relu"):
            vn, vh, vw, vc = T.axis.remap("SSSS", [n, h, w, c])
            out[vn, vh, vw, vc] = T.max(biased[vn, vh, vw, vc], T.float32(0))


@ls.schedule(conv2d_bias_relu, target="llvm")
def by_hand(sch: tir.Schedule) -> None:
    pad = sch.get_block("pad")
    n, h, w, c = sch.get_loops(pad)
    h0, h1 = sch.split(h, factors=[None, 5])
    w0, w1 = sch.split(w, factors=[None, 5])
    c0, c1 = sch.split(c, factors=[None, 16])
    sch.reorder(n, h0, w0, c0, h1, w1, c1)
    rows = sch.fuse(n, h0)
    tiles = sch.fuse(rows, w0)
    sch.annotate(tiles, "tile", 1)
    c2, c3 = sch.split(c0, factors=[None, 2])
    sch.unroll(w1)
    sch.vectorize(c1)
    sch.parallel(tiles)
    bias = sch.get_block("bias")
    n, h, w, c = sch.get_loops(bias)
    h0, h1 = sch.split(h, factors=[None, 4])
    w0, w1 = sch.split(w, factors=[None, 7])
    c0, c1 = sch.split(c, factors=[None, 16])
    sch.reorder(n, h0, w0, c0, h1, w1, c1)
    rows = sch.fuse(n, h0)
    tiles = sch.fuse(rows, w0)
    sch.annotate(tiles, "tile", 1)
    c2, c3 = sch.split(c0, factors=[None, 2])
    sch.unroll(w1)
    sch.vectorize(c1)
    sch.parallel(tiles)
    relu = sch.get_block("relu")
    n, h, w, c = sch.get_loops(relu)
    h0, h1 = sch.split(h, factors=[None, 4])
    w0, w1 = sch.split(w, factors=[None, 7])
    c0, c1 = sch.split(c, factors=[None, 16])
    sch.reorder(n, h0, w0, c0, h1, w1, c1)
    rows = sch.fuse(n, h0)
    tiles = sch.fuse(rows, w0)
    sch.annotate(tiles, "tile", 1)
    c2, c3 = sch.split(c0, factors=[None, 2])
    sch.unroll(w1)
    sch.vectorize(c1)
    sch.parallel(tiles)
    conv = sch.get_block("conv")
    n, h, w, co, rh, rw, rc = sch.get_loops(conv)
    acc = sch.cache_write(conv, 0, "local")
    panel = sch.cache_read(conv, 1, "global")
    h0, h1 = sch.split(h, factors=[None, 2])
    w0, w1 = sch.split(w, factors=[None, 7])
    c0, c1 = sch.split(co, factors=[None, 32])
    k0, k1 = sch.split(rc, factors=[None, 16])
    sch.reorder(n, h0, c0, w0, h1, k0, rh, rw, k1, w1, c1)
    sch.reverse_compute_at(acc, h1)
    out = sch.get_loops(acc)
    sch.vectorize(out[-1])
    sch.annotate(k0, "tile", 1)
    sch.vectorize(c1)
    sch.unroll(w1)
    sch.vectorize(sch.get_loops(panel)[-1])
    rows = sch.fuse(n, h0)
    sch.parallel(rows)
    init = sch.decompose_reduction(conv, k0)
    sch.annotate(init, "part", 1)
    sch.annotate(rows, "tile", 1)
)";
}

auto stage_schedule() -> std::string {
  return R"(from tvm import te

M, K, N = 128, 128, 128
A = te.placeholder((M, K), name="A")
B = te.placeholder((K, N), name="B")
k = te.reduce_axis((0, K), name="k")
packed = te.compute((N // 16, K, 16), lambda t, p, j: B[p, t * 16 + j], name="packed")
C = te.compute((M, N), lambda i, j: te.sum(A[i, k] * packed[j // 16, k, j % 16], axis=k), name="C")
D = te.compute((M, N), lambda i, j: te.max(C[i, j], 0.0), name="D")
s = te.create_schedule(D.op)
i, j = s[D].op.axis
i0, i1 = s[D].split(i, factor=32)
j0, j1 = s[D].split(j, factor=32)
s[D].reorder(i0, j0, i1, j1)
s[D].pragma(i1, "tile", 1)
j2, j3 = s[D].split(j1, factor=16)
s[D].vectorize(j3)
f = s[D].fuse(i0, j0)
s[D].parallel(f)
s[D].pragma(f, "tile", 1)
s[C].compute_at(s[D], f)
ci, cj = s[C].op.axis
(ck,) = s[C].op.reduce_axis
k0, k1 = s[C].split(ck, factor=4)
c0, c1 = s[C].split(cj, factor=16)
r0, r1 = s[C].split(ci, factor=4)
s[C].reorder(r0, c0, k0, k1, r1, c1)
s[C].unroll(k1)
s[C].unroll(r1)
s[C].vectorize(c1)
s[C].pragma(k0, "tile", 1)
s[C].pragma(r0, "tile", 1)
pt, pk, pj = s[packed].op.axis
p0, p1 = s[packed].split(pk, factor=8)
s[packed].reorder(p0, pt, p1, pj)
s[packed].unroll(p1)
s[packed].vectorize(pj)
s[packed].parallel(p0)
s[packed].pragma(pt, "tile", 1)
s[packed].storage_align(packed.op.axis[1], 16, 0)
)";
}

auto block_schedule() -> std::string {
  return R"(@T.prim_func
def main(A: T.Buffer((128, 128), "float32"), B: T.Buffer((128, 128), "float32"), D: T.Buffer((128, 128), "float32")):
    packed = T.alloc_buffer((8, 128, 16))
    C = T.alloc_buffer((128, 128))
    for t, p, j in T.grid(8, 128, 16):
        with T.block("packed"):
            vt, vp, vj = T.axis.remap("SSS", [t, p, j])
            packed[vt, vp, vj] = B[vp, vt * 16 + vj]
    for i, j, k in T.grid(128, 128, 128):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * packed[vj // 16, vk, vj % 16]
    for i, j in T.grid(128, 128):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = T.max(C[vi, vj], T.float32(0))


@ls.schedule(main, target="llvm")
def by_blocks(sch: tir.Schedule) -> None:
    packed = sch.get_block("packed")
    c = sch.get_block("C")
    d = sch.get_block("D")
    i, j = sch.get_loops(d)
    i0, i1 = sch.split(i, factors=[None, 32])
    j0, j1 = sch.split(j, factors=[None, 32])
    sch.reorder(i0, j0, i1, j1)
    sch.annotate(i1, "tile", 1)
    j2, j3 = sch.split(j1, factors=[None, 16])
    sch.vectorize(j3)
    f = sch.fuse(i0, j0)
    sch.parallel(f)
    sch.annotate(f, "tile", 1)
    sch.compute_at(c, f, preserve_unit_loops=True)
    _, ci, cj, ck = sch.get_loops(c)
    k0, k1 = sch.split(ck, factors=[None, 4])
    c0, c1 = sch.split(cj, factors=[None, 16])
    r0, r1 = sch.split(ci, factors=[None, 4])
    sch.reorder(r0, c0, k0, k1, r1, c1)
    sch.unroll(k1)
    sch.unroll(r1)
    sch.vectorize(c1)
    sch.annotate(k0, "tile", 1)
    sch.annotate(r0, "tile", 1)
    pt, pk, pj = sch.get_loops(packed)
    p0, p1 = sch.split(pk, factors=[None, 8])
    sch.reorder(p0, pt, p1, pj)
    sch.unroll(p1)
    sch.vectorize(pj)
    sch.parallel(p0)
    sch.annotate(pt, "tile", 1)
    sch.storage_align(packed, 0, 1, 16, 0)
    sch.decompose_reduction(c, k0)
)";
}

}  // namespace loopsmith::bench
