import tvm
from tvm.script import tir as T

N = 4


@tvm.script.ir_module
class Module:
    @T.prim_func
    def main(a: T.handle, b: T.handle):
        A = T.match_buffer(a, (128, 128), "float32")
        B = T.match_buffer(b, (128, 128), "float32")
        for i, j in T.grid(128, 128):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * T.float32(2)


sch = tvm.tir.Schedule(Module)
# The block and its loops.
block = sch.get_block("B")
i, j = sch.get_loops(block)

j0, j1 = sch.split(j, factors=[None, N])
sch.vectorize(j1)
print(sch.mod.script())
sch.parallel(i)
mod = tvm.build(sch.mod, target="llvm")
