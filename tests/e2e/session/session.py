"""TVMScript among Python that is none of ours."""
import numpy as np
from tvm import tir
from tvm.script import tir as T


def reference(a: np.ndarray) -> np.ndarray:
    return a[:-1] + a[1:]


@T.prim_func
def blur(A: T.Buffer((65,), "float32"), B: T.Buffer((64,), "float32")):
    for i in range(64):
        with T.block("B"):
            vi = T.axis.spatial(64, i)
            B[vi] = A[vi] + A[vi + 2]


@ls.schedule(blur)
def fast(sch: tir.Schedule) -> None:
    (i,) = sch.get_loops("B")
    outer, inner = sch.split(i, factors=[None, 16])
    sch.vectorize(inner)
