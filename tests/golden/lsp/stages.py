import tvm
from tvm import te

A = te.placeholder((16,), name="A")
B = te.compute((16,), lambda i: A[i] + 1.0, name="B")
s = te.create_schedule(B.op)
io, ii = s[B].split(B.op.axis[0], factor=4)
s[B].parallel(io)
