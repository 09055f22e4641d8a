# "Compute and Reduce with Tuple Inputs": several outputs of one computation.
import tvm
from tvm import te

m = 12
n = 18
A0 = te.placeholder((m, n), name="A0")
A1 = te.placeholder((m, n), name="A1")
B0, B1 = te.compute((m, n), lambda i, j: (A0[i, j] + 2, A1[i, j] * 3), name="B")
s = te.create_schedule(B0.op)
