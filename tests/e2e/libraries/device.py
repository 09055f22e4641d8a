"""Calls a library of kernels for OpenCL from Python by ctypes: device.py LIBRARY."""
import ctypes as c
import sys

cl = c.CDLL("libOpenCL.so.1")
for name in ["clCreateContext", "clCreateCommandQueue", "clCreateBuffer"]:
    getattr(cl, name).restype = c.c_void_p


class Tensor(c.Structure):
    _fields_ = [("data", c.c_void_p), ("device_type", c.c_int32), ("device_id", c.c_int32), ("ndim", c.c_int32), ("code", c.c_uint8), ("bits", c.c_uint8), ("lanes", c.c_uint16),
                ("shape", c.POINTER(c.c_int64)), ("strides", c.POINTER(c.c_int64)), ("byte_offset", c.c_uint64)]


platform, device, code = c.c_void_p(), c.c_void_p(), c.c_int32()
assert cl.clGetPlatformIDs(1, c.byref(platform), None) == 0
assert cl.clGetDeviceIDs(platform, c.c_uint64(0xFFFFFFFF), 1, c.byref(device), None) == 0
context = c.c_void_p(cl.clCreateContext(None, 1, c.byref(device), None, None, c.byref(code)))
queue = c.c_void_p(cl.clCreateCommandQueue(context, device, c.c_uint64(0), c.byref(code)))
count = 300
data = (c.c_float * count)(*range(count))
buffers = [c.c_void_p(cl.clCreateBuffer(context, c.c_uint64(1 | flag), c.c_size_t(c.sizeof(data)), given, c.byref(code))) for flag, given in [(32, data), (0, None)]]
shape = (c.c_int64 * 1)(count)
a, b = [Tensor(buffer, 4, 0, 1, 2, 32, 1, shape, None, 0) for buffer in buffers]
library = c.CDLL(sys.argv[1])
library.ramp.argtypes = [c.POINTER(Tensor), c.c_double, c.POINTER(Tensor)]
library.loopsmith_last_error.restype = c.c_char_p
assert library.ramp(a, 2.0, b) == 0, library.loopsmith_last_error()
assert cl.clEnqueueReadBuffer(queue, buffers[1], 1, c.c_size_t(0), c.c_size_t(c.sizeof(data)), data, 0, None, None) == 0
assert list(data) == [2.0 * (count - 1 - i) + 1 for i in range(count)]
print("ok   Python: called with tensors of a device")
