import tvm
from tvm import te

n = 64
A = te.placeholder((n, n), name="A")
k = te.reduce_axis((0, n), name="k")
B = te.compute((n, n), lambda i, j: A[i, j] * 2.0, name="B")
C = te.compute((n,), lambda i: te.sum(B[i, k], axis=k), name="C")

s = te.create_schedule(C.op)
(i,) = s[C].op.axis
i0, i1 = s[C].split(i, factor=16)
k0, k1 = s[C].split(k, nparts=4)
s[C].reorder(i0, k0, i1, k1)
s[B].compute_at(s[C], k0)
s[B].vectorize(B.op.axis[1])
s[C].parallel(i0)
s[C].parallel(i)
func = tvm.build(s, [A, C], "llvm")
