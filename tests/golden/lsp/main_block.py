import tvm
from tvm import tir
from tvm.script import tir as T


@T.prim_func
def double(A: T.Buffer((128, 128), "float32"), B: T.Buffer((128, 128), "float32")):
    for i, j in T.grid(128, 128):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)


@T.prim_func
def fill(B: T.Buffer((128, 128), "float32")):
    for i, j in T.grid(128, 128):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = T.float32(0)


if __name__ == "__main__":
    sch = tir.Schedule(double)
    block = sch.get_block("B")
    i, j = sch.get_loops(block)
    j0, j1 = sch.split(j, factors=[None, 4])
    with tvm.target.Target("llvm"):
        sch.vectorize(j1)
    again = tir.Schedule(sch.mod)
    block = again.get_block("B")
    again.parallel(again.get_loops(block)[0])
    filled = tir.Schedule(fill)
    filled.parallel(filled.get_loops("B")[0])
    sch.get_block("B")
