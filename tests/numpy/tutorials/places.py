# "Schedule Primitives in TVM": where a stage is computed.
import tvm
from tvm import te

m = 50
A = te.placeholder((m,), name="A")
B = te.compute((m,), lambda i: A[i] + 1, name="B")
C = te.compute((m,), lambda i: B[i] * 2, name="C")

s = te.create_schedule(C.op)

s = te.create_schedule(C.op)
s[B].compute_at(s[C], C.op.axis[0])

s = te.create_schedule(C.op)
s[B].compute_inline()

s = te.create_schedule(C.op)
s[B].compute_at(s[C], C.op.axis[0])
s[B].compute_root()

s = te.create_schedule(C.op)
outer, inner = s[C].split(C.op.axis[0], factor=8)
group = s.create_group(outputs=B, inputs=A)
group.compute_at(s[C], outer)
