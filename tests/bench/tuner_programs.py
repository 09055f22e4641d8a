"""The programs of the tuner's scoreboard, as text: shapes of Apache TVM's MetaSchedule operators, products, normalizations and odd sizes."""


def grid(names, extents):
    return f"    for {', '.join(names)} in T.grid({', '.join(map(str, extents))}):\n"


def reduction(name, kinds, loops, extents, init, update):
    axes = ", ".join("v" + one for one in loops)
    head = grid(loops, extents) + f'        with T.block("{name}"):\n            {axes} = T.axis.remap("{kinds}", [{", ".join(loops)}])\n'
    return head + f"            with T.init():\n                {init}\n            {update}\n"


def spatial(name, loops, extents, statement):
    axes = ", ".join("v" + one for one in loops)
    comma = "," if len(loops) == 1 else ""
    return grid(loops, extents) + f'        with T.block("{name}"):\n            {axes}{comma} = T.axis.remap("{"S" * len(loops)}", [{", ".join(loops)}])\n            {statement}\n'


def function(name, arguments, body):
    parameters = ", ".join(f'{buffer}: T.Buffer({shape}, "{dtype}")' for buffer, shape, dtype in arguments)
    return f"@T.prim_func\ndef {name}({parameters}):\n{body}"


def product(name, m, n, k, inputs=("float32", "float32"), total="float32"):
    cast = (lambda text, dtype: text) if inputs[0] == total else (lambda text, dtype: f'T.Cast("{total}", {text})')
    body = reduction("C", "SSR", ["i", "j", "k"], [m, n, k], f'C[vi, vj] = T.{total}(0)', f"C[vi, vj] = C[vi, vj] + {cast('A[vi, vk]', inputs[0])} * {cast('B[vk, vj]', inputs[1])}")
    return function(name, [("A", (m, k), inputs[0]), ("B", (k, n), inputs[1]), ("C", (m, n), total)], body)


def batched_transposed(name, heads, rows, depth):
    body = reduction("C", "SSSR", ["h", "i", "j", "k"], [heads, rows, rows, depth], "C[vh, vi, vj] = T.float32(0)", "C[vh, vi, vj] = C[vh, vi, vj] + A[vh, vi, vk] * B[vh, vj, vk]")
    return function(name, [("A", (heads, rows, depth), "float32"), ("B", (heads, rows, depth), "float32"), ("C", (heads, rows, rows), "float32")], body)


def convolution(name, size, channels, filters, kernel, stride=1, pad=0, dilation=1, groups=1, relu=False):
    out = (size + 2 * pad - dilation * (kernel - 1) - 1) // stride + 1
    padded = size + 2 * pad
    inside, per_group = channels // groups, filters // groups
    channel = f"vf // {per_group} * {inside} + vc" if groups > 1 else "vc"
    body = f'    P = T.alloc_buffer((1, {padded}, {padded}, {channels}), "float32")\n'
    target = "C"
    if relu:
        body += f'    C = T.alloc_buffer((1, {out}, {out}, {filters}), "float32")\n'
    # The bounds of the condition keep the load inside of the input.
    body += spatial("P", ["n", "y", "x", "c"], [1, padded, padded, channels],
                    f"P[vn, vy, vx, vc] = T.if_then_else({pad} <= vy and vy < {pad + size} and {pad} <= vx and vx < {pad + size}, A[vn, vy - {pad}, vx - {pad}, vc], T.float32(0))")
    body += reduction("C", "SSSSRRR", ["n", "y", "x", "f", "r", "s", "c"], [1, out, out, filters, kernel, kernel, inside], f"{target}[vn, vy, vx, vf] = T.float32(0)",
                      f"{target}[vn, vy, vx, vf] = {target}[vn, vy, vx, vf] + P[vn, vy * {stride} + vr * {dilation}, vx * {stride} + vs * {dilation}, {channel}] * W[vr, vs, vc, vf]")
    arguments = [("A", (1, size, size, channels), "float32"), ("W", (kernel, kernel, inside, filters), "float32")]
    if relu:
        body += spatial("D", ["n", "y", "x", "f"], [1, out, out, filters], "D[vn, vy, vx, vf] = T.max(C[vn, vy, vx, vf] + bias[vf], T.float32(0))")
        return function(name, arguments + [("bias", f"({filters},)", "float32"), ("D", (1, out, out, filters), "float32")], body)
    return function(name, arguments + [("C", (1, out, out, filters), "float32")], body)


def depthwise(name, size, channels, kernel, stride, pad):
    out, padded = (size + 2 * pad - kernel) // stride + 1, size + 2 * pad
    body = f'    P = T.alloc_buffer((1, {padded}, {padded}, {channels}), "float32")\n'
    body += spatial("P", ["n", "y", "x", "c"], [1, padded, padded, channels],
                    f"P[vn, vy, vx, vc] = T.if_then_else({pad} <= vy and vy < {pad + size} and {pad} <= vx and vx < {pad + size}, A[vn, vy - {pad}, vx - {pad}, vc], T.float32(0))")
    body += reduction("C", "SSSSRR", ["n", "y", "x", "c", "r", "s"], [1, out, out, channels, kernel, kernel], "C[vn, vy, vx, vc] = T.float32(0)",
                      f"C[vn, vy, vx, vc] = C[vn, vy, vx, vc] + P[vn, vy * {stride} + vr, vx * {stride} + vs, vc] * W[vr, vs, vc]")
    return function(name, [("A", (1, size, size, channels), "float32"), ("W", (kernel, kernel, channels), "float32"), ("C", (1, out, out, channels), "float32")], body)


def softmax(name, rows, columns):
    body = f'    M = T.alloc_buffer(({rows},), "float32")\n    E = T.alloc_buffer(({rows}, {columns}), "float32")\n    S = T.alloc_buffer(({rows},), "float32")\n'
    body += reduction("M", "SR", ["i", "k"], [rows, columns], 'M[vi] = T.min_value("float32")', "M[vi] = T.max(M[vi], A[vi, vk])")
    body += spatial("E", ["i", "j"], [rows, columns], "E[vi, vj] = T.exp(A[vi, vj] - M[vi])")
    body += reduction("S", "SR", ["i", "k"], [rows, columns], "S[vi] = T.float32(0)", "S[vi] = S[vi] + E[vi, vk]")
    body += spatial("B", ["i", "j"], [rows, columns], "B[vi, vj] = E[vi, vj] / S[vi]")
    return function(name, [("A", (rows, columns), "float32"), ("B", (rows, columns), "float32")], body)


def norm(name, rows, columns):
    body = reduction("C", "SRR", ["b", "i", "j"], [1, rows, columns], "C[vb] = T.float32(0)", "C[vb] = C[vb] + A[vb, vi, vj] * A[vb, vi, vj]")
    body = '    C = T.alloc_buffer((1,), "float32")\n' + body + spatial("D", ["b"], [1], "D[vb] = T.sqrt(C[vb])").replace("in T.grid(1)", "in range(1)")
    return function(name, [("A", (1, rows, columns), "float32"), ("D", "(1,)", "float32")], body)


def programs():
    """By name, in the order of the scoreboard."""
    return {
        "gmm_512": product("gmm_512", 512, 512, 512),
        "gmm_1024": product("gmm_1024", 1024, 1024, 1024),
        "gemm_2048": product("gemm_2048", 2048, 2048, 2048),
        "gemm_u8s8_1024": product("gemm_u8s8_1024", 1024, 1024, 1024, ("uint8", "int8"), "int32"),
        "c2d_0": convolution("c2d_0", 224, 3, 64, 7, 2, 3),
        "c2d_1": convolution("c2d_1", 56, 64, 64, 1),
        "c2d_2": convolution("c2d_2", 14, 256, 256, 3, 1, 1),
        "cbr_1": convolution("cbr_1", 56, 64, 128, 3, 2, 1, relu=True),
        "dil_2": convolution("dil_2", 14, 256, 256, 3, 1, 1, dilation=2),
        "grp_2": convolution("grp_2", 14, 256, 256, 3, 1, 1, groups=4),
        "dep_0": depthwise("dep_0", 112, 32, 3, 1, 1),
        "tbg_3": batched_transposed("tbg_3", 12, 128, 128),
        "sfm_3": softmax("sfm_3", 2048, 2048),
        "nrm_3": norm("nrm_3", 4096, 1024),
        "gemm_197x768x768": product("gemm_197x768x768", 197, 768, 768),
        "gemm_127x509x1021": product("gemm_127x509x1021", 127, 509, 1021),
        "softmax_4608x384": softmax("softmax_4608x384", 4608, 384),
    }


def small():
    """For a test: a few milliseconds a trial."""
    return {"gemm_64": product("gemm_64", 64, 64, 64)}
