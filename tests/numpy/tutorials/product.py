# "Reduction": a reducer of the file, and a convolution as a reduction over two axes.
import tvm
from tvm import te

n = 6
m = 9
A = te.placeholder((n, m), name="A")
product = te.comm_reducer(lambda x, y: x * y, lambda t: tvm.tir.const(1, dtype=t), name="product")
k = te.reduce_axis((0, m), name="k")
B = te.compute((n,), lambda i: product(A[i, k], axis=k), name="B")
s = te.create_schedule(B.op)
s[B].parallel(B.op.axis[0])
