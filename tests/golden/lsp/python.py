"""A module of somebody's project: TVMScript stands among Python that is none of ours."""
from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np
from tvm import tir
from tvm.script import ir as I
from tvm.script import tir as T


@dataclass
class Config:
    size: int = 64
    name: str = "blur"

    def path(self) -> str:
        return os.path.join("/tmp", f"{self.name!r}-{self.size:>4}")


def reference(a: np.ndarray) -> np.ndarray:
    return a[:-1] + a[1:] if len(a) > 1 else a


@T.prim_func
def blur(A: T.Buffer((65,), "float32"), B: T.Buffer((64,), "float32")):
    for i in range(64):
        with T.block("B"):
            vi = T.axis.spatial(64, i)
            B[vi] = A[vi] + A[vi + 1]


@I.ir_module
class Module:
    @T.prim_func
    def main(X: T.Buffer((32, 32), "float32"), Y: T.Buffer((32,), "float32")):
        for i, k in T.grid(32, 32):
            with T.block("Y"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    Y[vi] = T.float32(0)
                Y[vi] = Y[vi] + X[vi, vk]


def halves(sch, loop):
    return sch.split(loop, factors=[None, 2])


@ls.schedule(blur)
def fast(sch: tir.Schedule) -> None:
    b = sch.get_block("B")
    (i,) = sch.get_loops(b)
    outer, inner = sch.split(i, factors=[None, 16])
    sch.parallel(outer)
    sch.vectorize(inner)


if __name__ == "__main__":
    config = Config()
    a = np.random.rand(65).astype("float32")
    print(config.path(), {k: v for k, v in vars(config).items()}, reference(a))
