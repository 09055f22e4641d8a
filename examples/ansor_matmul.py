# A task of the auto-scheduler (Ansor): D = A x B + C in float32. The rules of the auto-scheduler make its space. docs/templates.md explains it.
import tvm
from tvm import auto_scheduler, te


@auto_scheduler.register_workload
def matmul_add(N, L, M, dtype):
    A = te.placeholder((N, L), name="A", dtype=dtype)
    B = te.placeholder((L, M), name="B", dtype=dtype)
    C = te.placeholder((N, M), name="C", dtype=dtype)
    k = te.reduce_axis((0, L), name="k")
    matmul = te.compute((N, M), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="matmul")
    D = te.compute((N, M), lambda i, j: matmul[i, j] + C[i, j], name="D")
    return [A, B, C, D]


task = auto_scheduler.SearchTask(func=matmul_add, args=(256, 256, 256, "float32"), target="llvm")
options = auto_scheduler.TuningOptions(num_measure_trials=32, measure_callbacks=[auto_scheduler.RecordToFile("matmul_add.json")])
task.tune(options)
