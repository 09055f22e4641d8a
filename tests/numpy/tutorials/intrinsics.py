# "Intrinsics and Math Functions": functions of the machine's library.
import tvm
from tvm import te

n = 70
A = te.placeholder((n,), name="A")
B = te.compute(A.shape, lambda i: te.exp(A[i]), name="B")
C = te.compute(A.shape, lambda i: te.sqrt(te.abs(A[i])) + te.tanh(A[i]) * te.floor(A[i]), name="C")
s = te.create_schedule([B.op, C.op])
bx, tx = s[B].split(B.op.axis[0], factor=64)
s[B].bind(bx, te.thread_axis("blockIdx.x"))
s[B].bind(tx, te.thread_axis("threadIdx.x"))
