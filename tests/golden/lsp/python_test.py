import pytest
import tvm
from tvm import tir
from tvm.script import tir as T


@T.prim_func
def scale(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64, 64), "float32")):
    for i, j in T.grid(64, 64):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)


def tile(sch, loop, n):
    return sch.split(loop, factors=[None, n])


@pytest.mark.parametrize("factor", [8, 16])
def test_scale(factor):
    func = scale
    sch = tvm.tir.Schedule(func, debug_mask="all")
    i, j = sch.get_loops("B")
    with pytest.raises(tvm.tir.ScheduleError):
        sch.split(i, factors=[3, 5])
    i0, i1 = tile(sch, i, 8)
    tvm.ir.assert_structural_equal(func, sch.mod["main"])
    sch.reorder(j, i0, i1)
    sch.vectorize(i1)
    sch.fuse(j, i1)


def test_unknown(factor):
    sch = tir.Schedule(scale)
    i, j = sch.get_loops("B")
    sch.split(i, factors=[None, factor])
    sch.vectorize(j)


def test_inner():
    @T.prim_func
    def fill(A: T.Buffer((16,), "float32")):
        for i in range(16):
            with T.block("A"):
                vi = T.axis.spatial(16, i)
                A[vi] = T.float32(1)

    sch = tir.Schedule(fill)
    (i,) = sch.get_loops("A")
    sch.parallel(i)
    return sch.mod


class TestScale:
    factor = 4

    def test_split(self):
        sch = tir.Schedule(scale)
        i, j = sch.get_loops("B")
        j0, j1 = sch.split(j, factors=[None, 4])
        sch.vectorize(j1)
        sch.parallel("B")

    def test_own(self):
        sch = tir.Schedule(scale)
        i, j = sch.get_loops("B")
        sch.split(i, factors=[None, self.factor])
