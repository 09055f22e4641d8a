# "Schedule Primitives in TVM": each primitive on its own.
import tvm
from tvm import te

m = 48
n = 40
A = te.placeholder((m, n), name="A")
B = te.placeholder((m, n), name="B")
C = te.compute((m, n), lambda i, j: A[i, j] * B[i, j], name="C")

s = te.create_schedule([C.op])

s = te.create_schedule(C.op)
xo, xi = s[C].split(s[C].op.axis[0], factor=32)

s = te.create_schedule(C.op)
bx, tx = s[C].split(C.op.axis[0], nparts=32)

s = te.create_schedule(C.op)
xo, yo, xi, yi = s[C].tile(C.op.axis[0], C.op.axis[1], x_factor=10, y_factor=5)

s = te.create_schedule(C.op)
xo, yo, xi, yi = s[C].tile(C.op.axis[0], C.op.axis[1], x_factor=10, y_factor=5)
fused = s[C].fuse(xi, yi)

s = te.create_schedule(C.op)
xo, yo, xi, yi = s[C].tile(C.op.axis[0], C.op.axis[1], x_factor=10, y_factor=5)
s[C].reorder(xi, yo, xo, yi)

s = te.create_schedule(C.op)
bx, tx = s[C].split(C.op.axis[0], factor=64)
s[C].bind(bx, te.thread_axis("blockIdx.x"))
s[C].bind(tx, te.thread_axis("threadIdx.x"))

s = te.create_schedule(C.op)
s[C].prefetch(A, C.op.axis[0], 1)
s[C].prefetch(B, C.op.axis[0], 2)
