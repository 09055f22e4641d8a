from tvm import tir
from tvm.script import tir as T
from tvm.target import Target


@T.prim_func
def first(A: T.Buffer((64,), "float32")):
    for i in range(64):
        with T.block("A"):
            vi = T.axis.spatial(64, i)
            A[vi] = T.float32(1)


@T.prim_func
def second(B: T.Buffer((32,), "float32")):
    for i in range(32):
        with T.block("B"):
            vi = T.axis.spatial(32, i)
            B[vi] = T.float32(1)


def test_two():
    s1 = tir.Schedule(first)
    with Target("cuda"):
        s2 = tir.Schedule(second)
        (i,) = s1.get_loops("A")
        (j,) = s2.get_loops("B")
        i0, i1 = s1.split(i, factors=[None, 8])
        j0, j1 = s2.split(j, factors=[None, 4])
        s1.vectorize(i1)
        s2.bind(j1, "threadIdx.x")


def left(mod):
    sch = tir.Schedule(mod)
    sch.get_block("A")
