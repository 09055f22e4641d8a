# Kernels of threads and tiles: read, with names, numbers of indices, shapes and types checked, and one report at the program.
# run: golden_diagnostics tests/golden/frontend/thread_level.py
from tvm.script import s_tir as Ts
from tvm.script import tirx as T
from tvm.script.tirx import tile as Tx
from tvm.tirx.layout import S, TileLayout, laneid


def test_tiles():
    lanes = T.TileLayout(T.S[32 : 1 @ laneid])

    @T.prim_func
    def tiles(A: T.Buffer((128,), "float32", scope="global"), B: T.Buffer((8, 8), "float16", layout=TileLayout(S[8, 8]))):
        T.device_entry()
        bx, by = T.cta_id([4, 2])
        lane = T.lane_id([32])
        C = T.alloc_buffer([128, 128], dtype="float16", scope="shared", layout=lanes)
        Tx.warp.exp2(A[0:32])
        T.ptx.mbarrier.init(C.ptr_to([0, 0]), 1)
        T.ptx["cp.async.bulk.shared::cluster"](C.ptr_to([0, 0]), A.ptr_to([0]), 16)
        with T.thread()[lane == 0]:
            C[bx, by] = A[lane]
        T.cuda.cta_sync()
        C[0, 1, 2] = T.float16(1)
        A[bx, by] = T.float32(0)
        B[unknown, 0] = T.float16(0)

    @T.prim_func
    def indices(A: T.Buffer((128,), "float32")):
        x, y, z = T.thread_id([8, 4])
        A[x] = T.Cast("float99", y)
        A[T.cta_idd([4])] = T.float32(0)


@T.jit(persistent=True)
def kernel(A: T.Buffer((128,), "float32"), n: T.constexpr, m: T.Optional[T.int32] = None):
    for i in range(n):
        A[i] = T.float32(i)


# Programs beside them, without a word of that language, are read as usual.
@Ts.function
def doubled(A: T.Tensor((128,), "float32"), B: T.Tensor((128,), "float32")):
    for i in range(129):
        with Ts.sblock("b"):
            v = Ts.axis.spatial(129, i)
            B[v] = A[v] * T.float32(2)
