// Hybrid functions: loops of every kind, buffers, conditions and maths, as operations of schedules. The results are those of plain loops.
#include <cmath>
#include <string>

#include "frontend/file.h"
#include "interp/interp.h"
#include "ir/printer.h"
#include "script/schedules.h"
#include "syntax/document.h"
#include "tests/unit/catch.h"

using namespace loopsmith;

namespace {

struct Session {
  explicit Session(const std::string& text) : document("from tvm import te\n" + text), file(script::predeclared) {
    file.update(document);
    schedules.update(file);
    REQUIRE(schedules.run_all(file, {}));
  }
  auto run() -> const script::ScheduleRun& {
    auto* found = schedules.find(Name("s"));
    REQUIRE(found != nullptr);
    REQUIRE(found->run != nullptr);
    INFO((found->run->all_diagnostics().empty() ? std::string() : found->run->all_diagnostics()[0].message()));
    REQUIRE(found->run->all_diagnostics().empty());
    return *found->run;
  }
  auto text() -> std::string { return print_script(run().result->module()); }
  auto error() -> std::string {
    Diagnostics all = file.diagnostics();
    return all.empty() ? std::string() : all[0].message();
  }
  syntax::Document document;
  frontend::File file;
  script::Schedules schedules;
};

}  // namespace

TEST_CASE("an outer product by a hybrid function, and a stage that reads it", "[hybrid]") {
  Session session(R"(
@te.hybrid.script
def outer_product(a, b):
    c = output_tensor((a.shape[0], b.shape[0]), a.dtype)
    for i in parallel(a.shape[0]):
        for j in vectorize(b.shape[0]):
            c[i, j] = a[i] * b[j]
    return c


A = te.placeholder((16,), name="A")
B = te.placeholder((8,), name="B")
C = outer_product(A, B)
D = te.compute((16, 8), lambda i, j: C[i, j] + 1.0, name="D")
s = te.create_schedule(D.op)
s[D].parallel(D.op.axis[0])
)");
  std::string text = session.text();
  INFO(text);
  REQUIRE(text.find("for i in T.parallel(16):") != std::string::npos);
  REQUIRE(text.find("for j in T.vectorized(8):") != std::string::npos);
  REQUIRE(text.find("c[i, j] = a[i] * b[j]") != std::string::npos);
  REQUIRE(text.find("T.reads(a[0:16], b[0:8])") != std::string::npos);
  REQUIRE(text.find("T.writes(c[0:16, 0:8])") != std::string::npos);
  REQUIRE(text.find("D[v_i, v_j] = c[v_i, v_j] + T.float32(1.0)") != std::string::npos);
}

TEST_CASE("serial loops around one store are axes of the stage, which steps change", "[hybrid]") {
  Session session(R"(
@te.hybrid.script
def matmul(a, b):
    c = output_tensor((64, 48), "float32")
    for i in range(64):
        for j in range(48):
            c[i, j] = 0.0
            for k in range(32):
                c[i, j] += a[i, k] * b[k, j]
    return c


A = te.placeholder((64, 32), name="A")
B = te.placeholder((32, 48), name="B")
C = matmul(A, B)
s = te.create_schedule(C.op)
i, j, k = s[C].op.axis
io, ii = s[C].split(i, 4)
s[C].reorder(io, j, k, ii)
s[C].unroll(ii)
s[C].parallel(io)
)");
  std::string text = session.text();
  INFO(text);
  REQUIRE(text.find("for i_0 in T.parallel(16):") != std::string::npos);
  REQUIRE(text.find("T.unroll(4)") != std::string::npos);
  REQUIRE(text.find("with T.block(\"matmul_update\"):") != std::string::npos);
}

TEST_CASE("loops that are no axes of the stage", "[hybrid]") {
  // Each is one block: loops in another order than the dimensions, a recurrence, a buffer of the function alone, two outputs.
  for (const char* body : {"    for j in range(4):\n        for i in range(4):\n            b[i, j] = a[i, j]\n", "    for i in range(4):\n        for j in range(4):\n            b[i, j] = b[i, 0] + a[i, j]\n",
                           "    t = allocate((4,), \"float32\")\n    for i in range(4):\n        for j in range(4):\n            b[i, j] = a[i, j]\n",
                           "    for i in range(4):\n        for j in range(3):\n            b[i, j] = a[i, j]\n", "    for i in range(4):\n        for j in range(4):\n            b[i, j] = 1.0\n            for k in range(4):\n                b[i, j] += a[i, k]\n"}) {
    Session session("@te.hybrid.script\ndef f(a):\n    b = output_tensor((4, 4), \"float32\")\n" + std::string(body) + "    return b\n\nA = te.placeholder((4, 4), name=\"A\")\nB = f(A)\ns = te.create_schedule(B.op)\n");
    std::string text = session.text();
    INFO(text);
    REQUIRE(text.find("T.writes(b[0:4, 0:4])") != std::string::npos);
  }
}

TEST_CASE("local buffers, conditions, maths and unrolled loops", "[hybrid]") {
  Session session(R"(
@te.hybrid.script
def smooth(a):
    b = output_tensor(a.shape, "float32")
    t = allocate((3,), "float32", "local")
    for i in range(a.shape[0]):
        for k in const_range(3):
            t[k] = 0.0
            if i + k >= 1 and i + k < a.shape[0] + 1:
                t[k] = a[i + k - 1]
        b[i] = exp(t[0]) + sqrt(t[1]) * t[2]
    return b


A = te.placeholder((16,), name="A")
B = smooth(A)
s = te.create_schedule(B.op)
)");
  std::string text = session.text();
  INFO(text);
  REQUIRE(text.find("t = T.alloc_buffer((3,), scope=\"local\")") != std::string::npos);
  REQUIRE(text.find("T.unroll(3)") != std::string::npos);
  REQUIRE(text.find("if ") != std::string::npos);
  REQUIRE(text.find("T.exp(t[0]) + T.sqrt(t[1]) * t[2]") != std::string::npos);
}

TEST_CASE("several outputs and threads", "[hybrid]") {
  Session session(R"(
@te.hybrid.script
def both(a):
    low = output_tensor((len(a), 4), "float32")
    high = output_tensor((4,), "float32")
    for tx in bind("threadIdx.x", 4):
        low[0, tx] = min(a[0][tx], 0.0)
        high[tx] = max(a[0][tx], 0.0)
    return high, low


A = te.placeholder((4,), name="A")
H, L = both([A])
s = te.create_schedule([H.op])
)");
  std::string text = session.text();
  INFO(text);
  REQUIRE(text.find("thread=\"threadIdx.x\"") != std::string::npos);
  REQUIRE(text.find("low: T.Buffer((1, 4), \"float32\")") != std::string::npos);
}

TEST_CASE("statements that a hybrid function cannot have", "[hybrid]") {
  auto error_of = [](const std::string& body) {
    return Session("@te.hybrid.script\ndef f(a):\n    b = output_tensor((4,), \"float32\")\n" + body + "\n\nA = te.placeholder((4,), name=\"A\")\nB = f(A)\n").error();
  };
  REQUIRE(error_of("    while True:\n        pass\n    return b") == "a hybrid function cannot contain a `while` loop");
  REQUIRE(error_of("    for i in range(4):\n        b[i] = a[i]") == "a hybrid function cannot contain loops without a `return` behind them");
  REQUIRE(error_of("    for i in range(4):\n        b[i] = a[i]\n    return a") == "a hybrid function cannot contain a `return` of other values than all of its output tensors");
  REQUIRE(error_of("    for i in range(4):\n        return b\n    return b") == "a hybrid function cannot contain a `return` before its last statement");
}
