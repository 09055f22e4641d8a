"""Writes data/OPERATOR.PARAMETER.npy: inputs, and what NumPy computes of them. Run with Debian's python3-numpy:
    /usr/bin/python3 tests/numpy/make.py
"""
import math
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
a = real(5, 11, dtype=np.float64)
write("gelu", A=a, B=0.5 * a * (1 + np.vectorize(math.erf)(a / np.sqrt(2))))
a, g = real(4, 16), real(16)
d = a.astype(np.float64)
write("rms_norm", A=a, G=g, B=(d / np.sqrt((d * d).mean(1, keepdims=True) + 1e-5) * g).astype(np.float32))
a, m, v, g, b = real(2, 3, 5, 5), real(3), np.abs(real(3)) + np.float32(0.1), real(3), real(3)
column = (slice(None), None, None)
d = (a.astype(np.float64) - m[column]) / np.sqrt(v[column] + 1e-5) * g[column] + b[column]
write("batch_norm", A=a, mean=m, variance=v, gamma=g, beta=b, B=d.astype(np.float32))
a, w = real(2, 5, 6, 5), real(3, 2, 2, 3, 2)
write("conv3d", A=a, W=w, B=np.einsum("czyxdhw,ocdhw->ozyx", windows(a, (2, 3, 2)), w))
a, w = real(4, 6, 6), real(6, 2, 3, 3)
groups = [np.einsum("cyxhw,ochw->oyx", windows(a[2 * g : 2 * g + 2], (3, 3)), w[3 * g : 3 * g + 3]) for g in range(2)]
write("group_conv2d", A=a, W=w, B=np.concatenate(groups))
a, w = real(2, 9, 9), real(3, 2, 3, 3)
write("dilated_conv2d", A=a, W=w, B=np.einsum("cyxhw,ochw->oyx", windows(a, (5, 5))[..., ::2, ::2], w))
a, w = real(2, 4, 4), real(2, 3, 3, 3)
out = np.zeros((3, 9, 9), np.float32)
for y, x in np.ndindex(4, 4):
    out[:, 2 * y : 2 * y + 3, 2 * x : 2 * x + 3] += np.einsum("c,cohw->ohw", a[:, y, x], w)
write("conv2d_transpose", A=a, W=w, B=out)
a = real(2, 3, 4, 5, dtype=np.float64)
write("global_avg_pool", A=a, B=a.mean(axis=(2, 3)))
a = real(5, 12, dtype=np.float64)
write("variance", A=a, B=a.var(axis=1))
a = whole(-9, 9, (6, 15), np.int32)
write("argmin", A=a, I=a.argmin(axis=1), V=a.min(axis=1))
i, a = whole(0, 5, 9, np.int32), real(9, 3)
out = np.zeros((5, 3), np.float32)
np.add.at(out, i, a)
write("scatter_add", I=i, A=a, B=out)
a, b = real(6), real(9)
write("outer", A=a, B=b, C=np.outer(a, b))
m, a, b = rng.random((4, 8)) < 0.5, whole(-(2**62), 2**62, (4, 8), np.int64), whole(-9, 9, (4, 8), np.int64)
write("where", M=m, A=a, B=b, C=np.where(m, a, b))
a, b = np.tril(real(6, 6, dtype=np.float64)) + 4 * np.eye(6), real(6, dtype=np.float64)
write("triangular_solve", L=a, b=b, x=np.linalg.solve(a, b))
i = whole(0, 5, 7, np.int32)
write("one_hot", I=i, B=np.eye(5, dtype=np.float32)[i])
a = np.arange(12, dtype=np.float32).reshape(3, 4)
np.savez_compressed(os.path.join(here, "archive.npz"), A=a, B=np.asfortranarray(a), n=np.int64(3))
