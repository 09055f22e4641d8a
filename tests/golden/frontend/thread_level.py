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
    #   ^^^^^ information[unknown-meaning]: `tiles` uses the thread-level language (`T.TileLayout`): its names, shapes and types are checked, but it cannot be analysed, scheduled or run
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
    #   ^^^^^^^^^^ error[wrong-index-count]: `C` has 2 dimensions, 3 indices given; note at `C`: `C` is declared here
        A[bx, by] = T.float32(0)
    #   ^^^^^^^^^ error[wrong-index-count]: `A` has 1 dimension, 2 indices given; note at `A`: `A` is declared here
        B[unknown, 0] = T.float16(0)
    #     ^^^^^^^ error[undefined-name]: `unknown` is not defined

    @T.prim_func
    def indices(A: T.Buffer((128,), "float32")):
    #   ^^^^^^^ information[unknown-meaning]: `indices` uses the thread-level language (`T.thread_id`): its names, shapes and types are checked, but it cannot be analysed, scheduled or run
        x, y, z = T.thread_id([8, 4])
    #   ^^^^^^^ error[unpack-count]: cannot assign 2 values to 3 names; help: give as many names as values
        A[x] = T.Cast("float99", y)
    #                 ^^^^^^^^^ error[unknown-dtype]: `float99` is not a data type; help: did you mean `"float16"`?; fix: `"float99"` becomes `"float16"`
        A[T.cta_idd([4])] = T.float32(0)
    #       ^^^^^^^ error[no-attribute]: `T` has no attribute `cta_idd`; help: did you mean `cta_id`?; fix: `cta_idd` becomes `cta_id`


@T.jit(persistent=True)
def kernel(A: T.Buffer((128,), "float32"), n: T.constexpr, m: T.Optional[T.int32] = None):
#   ^^^^^^ information[unknown-meaning]: `kernel` uses the thread-level language (`T.jit`): its names, shapes and types are checked, but it cannot be analysed, scheduled or run
    for i in range(n):
        A[i] = T.float32(i)


# Programs beside them, without a word of that language, are read as usual.
@Ts.function
def doubled(A: T.Tensor((128,), "float32"), B: T.Tensor((128,), "float32")):
    for i in range(129):
        with Ts.sblock("b"):
            v = Ts.axis.spatial(129, i)
            B[v] = A[v] * T.float32(2)
    #                ^ error[access-out-of-bounds]: index `v` of `A` is 128 at `i` = 128, outside of dimension 0, which has size 128; help: read it only where it is there: `T.if_then_else(v < 128, A[...], ...)`, or pad `A` first; note at `A`: `A` has shape (128,); note at `i in range(129)`: `i` runs from 0 to 128


@T.prim_func
def unknown_values(A: T.Buffer((16,), "float32")):
#   ^^^^^^^^^^^^^^ information[unknown-meaning]: `unknown_values` uses the thread-level language (`T.device_entry`): its names, shapes and types are checked, but it cannot be analysed, scheduled or run
    T.device_entry()
    tx = T.thread_id([16])
    A[tx, tx] = T.call_cuda("x")
#   ^^^^^^^^^ error[wrong-index-count]: `A` has 1 dimension, 2 indices given; note at `A`: `A` is declared here
    A[tx, 0] = T.foo(A[tx])
#   ^^^^^^^^ error[wrong-index-count]: `A` has 1 dimension, 2 indices given; note at `A`: `A` is declared here
