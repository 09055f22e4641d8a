"""A library as a module of Python: call_module.py FOLDER, where `matmul.py` and `scale.py` are."""
import sys

import numpy as np

sys.path.insert(0, sys.argv[1])
import matmul
import scale


class Foreign:
    """A tensor of another library: nothing but the DLPack protocol."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self):
        return self.array.__dlpack__()

    def __dlpack_device__(self):
        return (1, 0)


def refused(words, kind, function, *arguments):
    try:
        function(*arguments)
    except kind as problem:
        assert words in str(problem), problem
        return
    raise AssertionError(f"not refused: {words}")


rng = np.random.default_rng(0)
a = rng.integers(-4, 5, (64, 96)).astype("float32")
b = rng.integers(-4, 5, (96, 48)).astype("float32")
c = np.empty((64, 48), "float32")
matmul.matmul(a, b, c)
assert np.array_equal(c, a @ b)
c[:] = 0
matmul.matmul(Foreign(a), Foreign(b), Foreign(c))
assert np.array_equal(c, a @ b)
x, y = np.arange(40, dtype="float32").reshape(5, 8), np.zeros((5, 8), "float32")
scale.scale(x, 2.5, y)
assert np.array_equal(y, x * np.float32(2.5))
refused("wrong shape", matmul.KernelError, matmul.matmul, a.T, b, c)
refused("stride", matmul.KernelError, matmul.matmul, np.asfortranarray(a), b, c)
refused("bits: 32 is wanted, 64 was given", matmul.KernelError, matmul.matmul, a.astype("float64"), b, c)
refused("overlaps", scale.KernelError, scale.scale, x, 1, x)
refused("is an array, not list", TypeError, matmul.matmul, [1], b, c)
c.flags.writeable = False
refused("read-only", matmul.KernelError, matmul.matmul, a, b, c)
assert matmul.__all__ == ["matmul", "KernelError"] and "C: float32 (64, 48), written" in matmul.matmul.__doc__
print("ok   a module of Python: arrays of NumPy and DLPack in, exceptions out")
