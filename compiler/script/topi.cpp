// Operators as scripts: see topi.h.
#include "script/topi.h"

#include "frontend/file.h"
#include "syntax/document.h"

namespace loopsmith::script {
namespace {

// The names of operations are those of TVM, so schedules find the same stages.
constexpr const char* text = R"(
def _pair(x):
    return x if isinstance(x, (list, tuple)) else (x, x)


def _pads(padding, kernel_h, kernel_w):
    if padding == "VALID":
        return 0, 0, 0, 0
    if padding == "SAME":
        return (kernel_h - 1) // 2, (kernel_w - 1) // 2, kernel_h // 2, kernel_w // 2
    if isinstance(padding, (list, tuple)):
        if len(padding) == 4:
            return padding[0], padding[1], padding[2], padding[3]
        return padding[0], padding[1], padding[0], padding[1]
    return padding, padding, padding, padding


def pad(data, pad_before, pad_after=None, pad_value=0.0, name="PadInput"):
    after = pad_before if pad_after is None else pad_after
    n = len(data.shape)
    shape = [data.shape[d] + pad_before[d] + after[d] for d in range(n)]

    def element(*index):
        inside = []
        moved = []
        for d in range(n):
            moved.append(index[d] - pad_before[d])
            if not (isinstance(pad_before[d], int) and pad_before[d] == 0):
                inside.append(index[d] >= pad_before[d])
            if not (isinstance(after[d], int) and after[d] == 0):
                inside.append(index[d] < data.shape[d] + pad_before[d])
        if len(inside) == 0:
            return data(*moved)
        return te.if_then_else(te.all(*inside), data(*moved), te.const(pad_value, data.dtype))

    return te.compute(shape, element, name=name, tag="injective,pad")


def conv2d_nchw(Input, Filter, stride, padding, dilation=1, out_dtype=None):
    dtype = Input.dtype if out_dtype is None else out_dtype
    stride_h, stride_w = _pair(stride)
    dilation_h, dilation_w = _pair(dilation)
    batch, in_channel, in_height, in_width = Input.shape
    num_filter, channel, kernel_h, kernel_w = Filter.shape
    dilated_h = (kernel_h - 1) * dilation_h + 1
    dilated_w = (kernel_w - 1) * dilation_w + 1
    top, left, down, right = _pads(padding, dilated_h, dilated_w)
    out_height = (in_height - dilated_h + top + down) // stride_h + 1
    out_width = (in_width - dilated_w + left + right) // stride_w + 1
    temp = pad(Input, [0, 0, top, left], [0, 0, down, right], name="pad_temp")
    rc = te.reduce_axis((0, in_channel), name="rc")
    ry = te.reduce_axis((0, kernel_h), name="ry")
    rx = te.reduce_axis((0, kernel_w), name="rx")
    return te.compute(
        (batch, num_filter, out_height, out_width),
        lambda nn, ff, yy, xx: te.sum(
            temp[nn, rc, yy * stride_h + ry * dilation_h, xx * stride_w + rx * dilation_w].astype(dtype) * Filter[ff, rc, ry, rx].astype(dtype),
            axis=[rc, ry, rx],
        ),
        name="conv2d_nchw",
        tag="conv2d_nchw",
    )


def dense(data, weight, bias=None, out_dtype=None):
    dtype = data.dtype if out_dtype is None else out_dtype
    batch, in_dim = data.shape
    out_dim = weight.shape[0]
    k = te.reduce_axis((0, in_dim), name="k")
    matmul = te.compute((batch, out_dim), lambda i, j: te.sum(data[i, k].astype(dtype) * weight[j, k].astype(dtype), axis=k), name="T_dense", tag="dense")
    if bias is None:
        return matmul
    return te.compute((batch, out_dim), lambda i, j: matmul[i, j] + bias[j].astype(dtype), name="T_add", tag="broadcast")


def relu(x):
    return te.compute(x.shape, lambda *i: te.max(x(*i), te.const(0, x.dtype)), name="compute", tag="elemwise")


def leaky_relu(x, alpha):
    return te.compute(x.shape, lambda *i: te.if_then_else(x(*i) > te.const(0, x.dtype), x(*i), x(*i) * te.const(alpha, x.dtype)), name="compute", tag="elemwise")


def exp(x):
    return te.compute(x.shape, lambda *i: te.exp(x(*i)), name="compute", tag="elemwise")


def tanh(x):
    return te.compute(x.shape, lambda *i: te.tanh(x(*i)), name="compute", tag="elemwise")


def sigmoid(x):
    return te.compute(x.shape, lambda *i: te.sigmoid(x(*i)), name="compute", tag="elemwise")


def add(a, b):
    return a + b


def subtract(a, b):
    return a - b


def multiply(a, b):
    return a * b


def divide(a, b):
    return a / b


def is_broadcast(tag):
    return tag in ("elemwise", "broadcast") or tag.startswith("elemwise") or tag.startswith("broadcast")


def is_injective(tag):
    return is_broadcast(tag) or tag.startswith("injective")


def traverse_inline(s, final_op, callback):
    visited = []

    def visit(op):
        if op in visited:
            return
        visited.append(op)
        if is_injective(op.tag):
            if op not in s.outputs:
                s[op].compute_inline()
            for tensor in op.input_tensors:
                if isinstance(tensor.op, te.ComputeOp):
                    visit(tensor.op)
        callback(op)

    visit(final_op)
)";

// The functions live as long as their file.
struct Library {
  frontend::File file;
  eval::Value space;
};

auto unknown_member(Name) -> std::optional<eval::Value> { return eval::Value::opaque(); }

auto make_library() -> Library* {
  auto* library = new Library;
  syntax::Document document{std::string(text)};
  library->file.update(document);
  auto topi = eval::make_object<eval::Namespace>(Name("topi"), unknown_member), nn = eval::make_object<eval::Namespace>(Name("topi.nn"), unknown_member);
  auto add = [&](const Ref<eval::Namespace>& space, const char* name) {
    if (auto value = library->file.value(Name(name))) { const_cast<eval::Namespace&>(*space).add(Name(name), *value); }
  };
  for (const char* name : {"pad", "conv2d_nchw", "dense", "relu", "leaky_relu"}) { add(nn, name); }
  for (const char* name : {"exp", "tanh", "sigmoid", "add", "subtract", "multiply", "divide"}) { add(topi, name); }
  auto tag = eval::make_object<eval::Namespace>(Name("topi.tag"), unknown_member), utils = eval::make_object<eval::Namespace>(Name("topi.utils"), unknown_member);
  for (const char* name : {"is_broadcast", "is_injective"}) { add(tag, name); }
  add(utils, "traverse_inline");
  for (const auto& [name, part] : {std::pair("tag", &tag), std::pair("utils", &utils)}) { const_cast<eval::Namespace&>(*topi).add(Name(name), eval::Value(*part)); }
  const_cast<eval::Namespace&>(*topi).add(Name("nn"), eval::Value(nn));
  library->space = eval::Value(topi);
  return library;
}

}  // namespace

auto namespace_topi() -> const eval::Value& {
  static thread_local const Library* const library = make_library();
  return library->space;
}

}  // namespace loopsmith::script
