# C = A x B in float32 as tensor expressions, and the schedule of its stages: the steps of TVM's tutorial. docs/tensor_expressions.md explains them.
import tvm
from tvm import te

M, K, N = 256, 256, 256
bn = 32

A = te.placeholder((M, K), name="A")
B = te.placeholder((K, N), name="B")
k = te.reduce_axis((0, K), name="k")
# B in tiles of consecutive elements.
packed = te.compute((N // bn, K, bn), lambda tile, k, j: B[k, tile * bn + j], name="packed")
C = te.compute((M, N), lambda i, j: te.sum(A[i, k] * packed[j // bn, k, j % bn], axis=k), name="C")

s = te.create_schedule(C.op)
CC = s.cache_write(C, "global")
i0, j0, i1, j1 = s[C].tile(C.op.axis[0], C.op.axis[1], bn, bn)
s[CC].compute_at(s[C], j0)
ic, jc = s[CC].op.axis
k0, k1 = s[CC].split(k, factor=4)
s[CC].reorder(k0, ic, k1, jc)
s[CC].unroll(k1)
s[CC].vectorize(jc)
s[C].vectorize(j1)
s[C].parallel(i0)
tile, _, j = s[packed].op.axis
s[packed].vectorize(j)
s[packed].parallel(tile)
