"""A shared library from Python, with ctypes and NumPy: call.py LIBRARY.so"""
import ctypes
import sys

import numpy as np


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64),
    ]


def aligned(shape, dtype, boundary=64):
    """An empty array whose first element lies on a boundary."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    raw = np.empty(size + boundary, np.uint8)
    start = -raw.ctypes.data % boundary
    return raw[start:start + size].view(dtype).reshape(shape)


def as_dl(array):
    code = {"i": 0, "u": 1, "f": 2}[array.dtype.kind]
    shape = (ctypes.c_int64 * array.ndim)(*array.shape)
    strides = (ctypes.c_int64 * array.ndim)(*(s // array.itemsize for s in array.strides))
    return DLTensor(array.ctypes.data, 1, 0, array.ndim, code, array.itemsize * 8, 1, shape, strides, 0)


library = ctypes.CDLL(sys.argv[1])
library.loopsmith_last_error.restype = ctypes.c_char_p
rng = np.random.default_rng(0)
a, b, c = aligned((64, 96), "float32"), aligned((96, 48), "float32"), aligned((64, 48), "float32")
a[:] = rng.integers(-4, 5, a.shape)
b[:] = rng.integers(-4, 5, b.shape)
status = library.matmul(*(ctypes.byref(as_dl(x)) for x in (a, b, c)))
assert status == 0, library.loopsmith_last_error()
assert np.array_equal(c, a @ b)
status = library.matmul(*(ctypes.byref(as_dl(x)) for x in (a.T, b, c)))
assert status != 0 and b"wrong shape" in library.loopsmith_last_error()
print("ok   from Python: equal to NumPy; a transposed argument is refused:", library.loopsmith_last_error().decode())
