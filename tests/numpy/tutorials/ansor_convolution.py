# "Auto-scheduling a Convolution Layer for GPU": a convolution with bias and ReLU, at a smaller size.
import tvm
from tvm import auto_scheduler, te, topi


@auto_scheduler.register_workload
def conv2d_layer(N, H, W, CO, CI, KH, KW, stride, padding):
    data = te.placeholder((N, CI, H, W), name="data")
    kernel = te.placeholder((CO, CI, KH, KW), name="kernel")
    bias = te.placeholder((1, CO, 1, 1), name="bias")
    conv = topi.nn.conv2d_nchw(data, kernel, stride, padding, dilation=1, out_dtype="float32")
    out = topi.nn.relu(conv + bias)
    return [data, kernel, bias, out]


task = auto_scheduler.SearchTask(func=conv2d_layer, args=(1, 7, 7, 6, 4, 3, 3, (1, 1), (1, 1)), target=tvm.target.Target("llvm"))
