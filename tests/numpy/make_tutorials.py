"""Writes data/tutorials/FILE.TENSOR.npy: the inputs of tutorials/FILE.py, and what NumPy computes of them. Run with Debian's python3-numpy:
    /usr/bin/python3 tests/numpy/make_tutorials.py
"""
import os

import numpy as np

here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data", "tutorials")
os.makedirs(here, exist_ok=True)
rng = np.random.default_rng(35)


def real(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def write(name, **tensors):
    for tensor, value in tensors.items():
        np.save(os.path.join(here, f"{name}.{tensor}.npy"), np.ascontiguousarray(value))


def windows(a, height, width):
    """a[..., y + ky, x + kx] as (..., y, x, ky, kx)."""
    return np.lib.stride_tricks.sliding_window_view(a, (height, width), axis=(a.ndim - 2, a.ndim - 1))


def convolution(data, kernel):
    """NCHW, padded by one."""
    padded = np.pad(data, ((0, 0), (0, 0), (1, 1), (1, 1)))
    return np.einsum("ncyxhw,ochw->noyx", windows(padded, 3, 3), kernel).astype(np.float32)


a, b = real(1000), real(1000)
write("vector_add", A=a, B=b, C=a + b)
a, b = real(64, 64), real(64, 64)
write("matmul", A=a, B=b, C=a @ b)
a, w = real(4, 4, 8, 16), real(3, 3, 8, 16)
padded = np.pad(a, ((1, 1), (1, 1), (0, 0), (0, 0)))
out = np.zeros((4, 4, 16, 16), np.float32)
for y, x in np.ndindex(3, 3):
    out += np.einsum("yxcn,cf->yxfn", padded[y : y + 4, x : x + 4], w[y, x])
write("convolution", A=a, W=w, B=out)
a = real(48, 64)
write("reduction", A=a, B=a.sum(axis=1))
a = real(6, 9)
write("product", A=a, B=a.prod(axis=1))
a, w = real(20, 20), real(3, 3)
write("convolution_sum", Input=a, Filter=w, Output=np.einsum("yxhw,hw->yx", windows(a, 3, 3), w).astype(np.float32))
a = real(12, 40)
write("scan", X=a, scan=np.cumsum(a, axis=0))
a = real(7, 16)
out = a.copy()
for t in range(1, 7):
    out[t] = out[t - 1] * 2 + a[t]
write("scan_stages", X=a, scan=out)
a = real(6, 10)
first = np.cumsum(a, axis=0)
second = np.zeros((6, 4), np.float32)
for t in range(1, 6):
    second[t] = second[t - 1] + first[t - 1, 0]
write("scan_states", X=a, scan_v0=first, scan_v1=second)
a, b = real(48, 40), real(48, 40)
write("primitives", A=a, B=b, C=a * b)
a = real(50)
write("places", A=a, C=(a + 1) * 2)
a, b = real(12, 18), real(12, 18)
write("tuples", A0=a, A1=b, B_v0=a + 2, B_v1=b * 3)
i, v = np.tile(np.arange(14, dtype=np.int32), (9, 1)), np.stack([rng.permutation(14) for _ in range(9)]).astype(np.int32)
write("argmax", idx=i, val=v, T_v0=v.argmax(axis=1).astype(np.int32), T_v1=v.max(axis=1))
a = real(70)
write("intrinsics", A=a, B=np.exp(a), C=np.sqrt(np.abs(a)) + np.tanh(a) * np.floor(a))
a, b = real(24, 32), real(32, 16)
write("autotvm_matmul", A=a, B=b, C=a @ b)
a, w = real(1, 4, 6, 6), real(8, 4, 3, 3)
write("autotvm_convolution", data=a, kernel=w, conv2d_nchw=convolution(a, w))
a, b, c = real(16, 24), real(24, 32), real(16, 32)
write("ansor_matmul", A=a, B=b, C=c, out=a @ b + c)
a, w, b = real(1, 4, 7, 7), real(6, 4, 3, 3), real(1, 6, 1, 1)
write("ansor_convolution", data=a, kernel=w, bias=b, compute=np.maximum(convolution(a, w) + b, 0))
