"""Writes data/OPERATOR.PARAMETER.npy: inputs, and what NumPy computes of them. Run with Debian's python3-numpy:
    /usr/bin/python3 tests/numpy/make.py
"""
import os

import numpy as np

here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data")
rng = np.random.default_rng(20)


def real(*shape, dtype=np.float32):
    return rng.standard_normal(shape).astype(dtype)


def whole(low, high, shape, dtype):
    return rng.integers(low, high, shape).astype(dtype)


def write(name, **tensors):
    for parameter, value in tensors.items():
        np.save(os.path.join(here, f"{name}.{parameter}.npy"), np.ascontiguousarray(value))


def windows(a, shape, stride=1):
    """a[..., y * stride + ky, x * stride + kx] as (..., y, x, ky, kx)."""
    axes = tuple(range(a.ndim - len(shape), a.ndim))
    view = np.lib.stride_tricks.sliding_window_view(a, shape, axis=axes)
    index = (slice(None),) * (a.ndim - len(shape)) + (slice(None, None, stride),) * len(shape)
    return view[index]


a, b = real(4, 7), real(7)
write("add", A=a, B=b, C=a + b)
a = real(33)
write("relu", A=a, B=np.maximum(a, 0))
a = whole(-128, 128, 33, np.int8)
write("clip", A=a, B=np.clip(a, -20, 30))
a = real(5, 9)
write("sigmoid", A=a, B=(1 / (1 + np.exp(-a.astype(np.float64)))).astype(np.float32))
a = real(40, dtype=np.float64)
write("tanh", A=a, B=np.tanh(a))
a = real(6, 8)
d = a.astype(np.float64)
write("gelu_tanh", A=a, B=(0.5 * d * (1 + np.tanh(0.7978845608 * (d + 0.044715 * d**3)))).astype(np.float32))
a = real(4, 10)
e = np.exp(a.astype(np.float64) - a.max(axis=1, keepdims=True))
write("softmax", A=a, B=(e / e.sum(axis=1, keepdims=True)).astype(np.float32))
a = real(3, 8, dtype=np.float64)
write("log_softmax", A=a, B=a - np.log(np.exp(a).sum(axis=1, keepdims=True)))
a, g = real(4, 16), real(16)
d = a.astype(np.float64)
write("layer_norm", A=a, G=g, B=((d - d.mean(1, keepdims=True)) / np.sqrt(d.var(1, keepdims=True) + 1e-5) * g).astype(np.float32))
a, b = real(9, 11), real(11, 7)
write("matmul", A=a, B=b, C=a @ b)
a, b = whole(0, 256, (8, 16), np.uint8), whole(-128, 128, (8, 16), np.int8)
write("matmul_int8", A=a, B=b, C=a.astype(np.int32) @ b.astype(np.int32).T)
a, b = real(6, 8, dtype=np.float16), real(8, 5, dtype=np.float16)
write("matmul_float16", A=a, B=b, C=a.astype(np.float32) @ b.astype(np.float32))
a, b = real(3, 4, 6, dtype=np.float64), real(3, 6, 5, dtype=np.float64)
write("batch_matmul", A=a, B=b, C=a @ b)
a, w, b = real(5, 12), real(6, 12), real(6)
write("dense_bias_relu", A=a, W=w, b=b, C=np.maximum(a @ w.T + b, 0))
a, w = real(3, 12), real(4, 3, 5)
write("conv1d", A=a, W=w, B=np.einsum("cxk,ock->ox", windows(a, (5,)), w))
a, w = real(1, 7, 7, 3), real(3, 3, 3, 4)
p = np.pad(a, ((0, 0), (1, 1), (1, 1), (0, 0)))
write("conv2d_nhwc", A=a, W=w, B=np.einsum("ncyxhw,hwco->nyxo", windows(p.transpose(0, 3, 1, 2), (3, 3), 2), w))
a, w = real(4, 6, 6), real(4, 3, 3)
write("depthwise_conv2d", A=a, W=w, B=np.einsum("cyxhw,chw->cyx", windows(a, (3, 3)), w))
a = real(2, 8, 8)
write("max_pool2d", A=a, B=windows(a, (2, 2), 2).max(axis=(3, 4)))
a = real(2, 7, 7)
write("avg_pool2d", A=a, B=windows(a, (3, 3)).mean(axis=(3, 4)))
a = whole(-1000, 1000, (6, 13), np.int64)
write("sum_rows", A=a, B=a.sum(axis=1))
a = real(5, 20, dtype=np.float64)
write("norm", A=a, B=np.linalg.norm(a, axis=1))
a = real(5, 17)
write("argmax", A=a, I=a.argmax(axis=1).astype(np.int32), V=a.max(axis=1))
a = real(3, 9)
write("cumsum", A=a, B=np.cumsum(a, axis=1))
a = whole(-30000, 30000, (4, 5, 6), np.int16)
write("transpose", A=a, B=a.transpose(2, 0, 1))
a, i = real(10, 4), whole(0, 10, 7, np.int32)
write("gather", A=a, I=i, B=np.take(a, i, axis=0))
a, b = real(3, 4), real(3, 6)
write("concatenate", A=a, B=b, C=np.concatenate([a, b], axis=1))
a = real(6)
write("pad_reflect", A=a, B=np.pad(a, 2, mode="reflect"))
a = real(3, 4)
write("upsample_nearest", A=a, B=a.repeat(2, axis=0).repeat(2, axis=1))
a, b = whole(-50, 50, 24, np.int32), whole(1, 9, 24, np.int32) * rng.choice([-1, 1], 24).astype(np.int32)
write("floor_divide", A=a, B=b, Q=a // b, R=a % b)
a = real(6, 6)
write("triangle", A=a, B=np.tril(a))
