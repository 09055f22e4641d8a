# C = A x B, with B transposed: a routine in C computes 16 elements at a time. The file declares the routine as a tensor intrinsic; docs/tensor_expressions.md explains it.
import tvm
from tvm import te

M, K, N = 128, 128, 128
tile = 16

A = te.placeholder((M, K), name="A")
B = te.placeholder((N, K), name="B")
k = te.reduce_axis((0, K), name="k")
C = te.compute((M, N), lambda i, j: te.sum(A[i, k] * B[j, k], axis=k), name="C")

routine = """
void rows_reset(float *c, int rows) {
  for (int r = 0; r < rows; ++r) { c[r] = 0.0f; }
}

void rows_update(float *c, const float *a, const float *b, int rows, int length, int stride) {
  for (int r = 0; r < rows; ++r) {
    float sum = c[r];
    for (int p = 0; p < length; ++p) { sum += a[p] * b[r * stride + p]; }
    c[r] = sum;
  }
}
"""


def rows_of_product(rows, length):
    # The description: `tensorize` replaces loops that compute this.
    a = te.placeholder((length,), name="a")
    b = te.placeholder((rows, length), name="b")
    p = te.reduce_axis((0, length), name="p")
    c = te.compute((rows,), lambda r: te.sum(a[p] * b[r, p], axis=p), name="c")
    rows_of_b = tvm.tir.decl_buffer(b.shape, b.dtype, name="b", offset_factor=1, strides=[te.var("stride"), 1])

    # The implementation: the whole tile, the start of the reduction, a step of it.
    def fcompute(ins, outs):
        def update():
            ib = tvm.tir.ir_builder.create()
            ib.emit(
                tvm.tir.call_extern(
                    "int32", "rows_update", outs[0].access_ptr("rw"), ins[0].access_ptr("r"), ins[1].access_ptr("r"), rows, length, ins[1].strides[0]
                )
            )
            return ib.get()

        def reset():
            ib = tvm.tir.ir_builder.create()
            ib.emit(tvm.tir.call_extern("int32", "rows_reset", outs[0].access_ptr("w"), rows))
            return ib.get()

        return update(), reset(), update()

    return te.decl_tensor_intrin(c.op, fcompute, binds={b: rows_of_b})


s = te.create_schedule(C.op)
i, j = s[C].op.axis
j0, j1 = s[C].split(j, factor=tile)
k0, k1 = s[C].split(k, factor=tile)
s[C].reorder(i, j0, k0, j1, k1)
s[C].tensorize(j1, rows_of_product(tile, tile))
s[C].pragma(i, "import_c", routine)
s[C].parallel(i)
