"""A program of Python with records, for golden/lsp/recorded_python."""
from tvm.script import tir as T


@T.prim_func
def scale(A: T.Buffer((64, 256), "float32"), B: T.Buffer((64, 256), "float32")):
    for i, j in T.grid(64, 256):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
