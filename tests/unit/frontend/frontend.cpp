// From text to TIR: the printed program, inferred regions, and the declarations that an edit evaluates again.
#include "frontend/file.h"
#include "frontend/objects.h"
#include "ir/equal.h"
#include "ir/ops.h"
#include "ir/printer.h"
#include "syntax/document.h"
#include "tests/unit/catch.h"

using namespace loopsmith;

namespace {

auto messages(const Diagnostics& diagnostics) -> std::string {
  std::string out;
  for (const Diagnostic& d : diagnostics) { out += std::string(code_id(d.code)) + ": " + d.message() + "\n"; }
  return out;
}

auto lower(const std::string& text, const char* name) -> IRModule {
  syntax::Document document(text);
  frontend::File file;
  file.update(document);
  CHECK(messages(document.diagnostics()) == "");
  CHECK(messages(file.diagnostics()) == "");
  auto value = file.value(Name(name));
  REQUIRE(value);
  const auto* program = value->as<frontend::ProgramObject>();
  REQUIRE(program);
  return program->module;
}

auto body(const std::string& text, const char* name = "f") -> std::string {
  std::string out = print_script(lower(text, name)->functions[0].second);
  return out.substr(out.find("def ")) + "\n";
}

}  // namespace

TEST_CASE("the regions of a block are inferred, and a reduction with init reads no output") {
  CHECK(body("@T.prim_func\n"
             "def f(A: T.Buffer((64, 32), \"float32\"), B: T.Buffer((64,), \"float32\")):\n"
             "    for i, k in T.grid(16, 32):\n"
             "        with T.block(\"B\"):\n"
             "            vi, vk = T.axis.remap(\"SR\", [i, k])\n"
             "            with T.init():\n"
             "                for x in range(4):\n"
             "                    B[vi * 4 + x] = T.float32(0)\n"
             "            for x in range(4):\n"
             "                B[vi * 4 + x] = B[vi * 4 + x] + A[vi * 4 + x, vk]\n") ==
        "def main(A: T.Buffer((64, 32), \"float32\"), B: T.Buffer((64,), \"float32\")):\n"
        "    # with T.block(\"root\"):\n"
        "    for i, k in T.grid(16, 32):\n"
        "        with T.block(\"B\"):\n"
        "            vi, vk = T.axis.remap(\"SR\", [i, k])\n"
        "            T.reads(A[vi * 4:vi * 4 + 4, vk])\n"
        "            T.writes(B[vi * 4:vi * 4 + 4])\n"
        "            with T.init():\n"
        "                for x in range(4):\n"
        "                    B[vi * 4 + x] = T.float32(0.0)\n"
        "            for x in range(4):\n"
        "                B[vi * 4 + x] = B[vi * 4 + x] + A[vi * 4 + x, vk]\n");
}

TEST_CASE("both spellings of blocks give the same program, and are remembered") {
  std::string text =
      "@T.prim_func\n"
      "def f(A: T.Buffer((4,), \"float32\")):\n"
      "    for i in range(4):\n"
      "        with T.block(\"A\"):\n"
      "            v = T.axis.spatial(4, i)\n"
      "            A[v] = T.float32(1)\n";
  std::string recent = text;
  recent.replace(recent.find("T.block"), 7, "T.sblock");
  IRModule a = lower(text, "f");
  IRModule b = lower(recent, "f");
  CHECK(a->dialect == Dialect::Block);
  CHECK(b->dialect == Dialect::SBlock);
  CHECK(structural_equal(a, b));
}

TEST_CASE("statements of every kind print back") {
  std::string text =
      "def main(p: T.handle, n: T.int32, C: T.Buffer((64,), \"int32\")) -> T.int32:\n"
      "    A = T.match_buffer(p, (n,))\n"
      "    x: T.float32 = A[0] * T.float32(2.0)\n"
      "    for i in T.parallel(n, annotations={\"k\": 1}):\n"
      "        if i < n and A[i] > x:\n"
      "            A[i] = T.max(A[i], x)\n"
      "        else:\n"
      "            A[i] = T.exp(A[i])\n"
      "    while C[0] < 10:\n"
      "        C[0] = C[0] + 1\n"
      "    with T.attr(C.data, \"pragma\", 1):\n"
      "        C[T.Ramp(0, 2, 8)] = C[0:8] + T.Broadcast(n, 8)\n"
      "        C[0:4] = C[7:3:-1] + T.Broadcast(T.Min(1, 2), 4)\n"
      "    for tx in T.thread_binding(32, thread=\"threadIdx.x\"):\n"
      "        C[tx] = T.shift_right(C[tx], 1)\n"
      "    assert n > 0, \"n\"\n"
      "    return n\n";
  std::string again = "@T.prim_func\n" + body("@T.prim_func\n" + text, "main");
  // The printer's own spelling of it is a fixed point, with the same meaning.
  CHECK(structural_equal(lower("@T.prim_func\n" + text, "main"), lower(again, "main")));
  CHECK(again == "@T.prim_func\n" + body(again, "main"));
}

TEST_CASE("signs fold constants and drop neutral operands, but in programs of the main line") {
  std::string lines =
      "    T.evaluate(n * 1 + 0)\n"
      "    T.evaluate(T.int32(2) * T.int32(3) - n * 0)\n"
      "    T.evaluate(n // 1 % 4)\n";
  CHECK(body("@T.prim_func\ndef f(n: T.int32):\n" + lines) ==
        "def main(n: T.int32):\n"
        "    T.evaluate(n)\n"
        "    T.evaluate(6)\n"
        "    T.evaluate(n % 4)\n");
  CHECK(body("from tvm.script import tirx as T\n@T.prim_func\ndef f(n: T.int32):\n" + lines) ==
        "def main(n: T.int32):\n"
        "    T.evaluate(T.Add(T.Mul(n, 1), 0))\n"
        "    T.evaluate(T.Mul(2, 3) - T.Mul(n, 0))\n"
        "    T.evaluate(T.FloorDiv(n, 1) % 4)\n");
}
TEST_CASE("programs of functions, constants and macros") {
  std::string text =
      "N = 8\n"
      "@T.macro\n"
      "def twice(B, i):\n"
      "    B[i] = B[i] * T.float32(2)\n"
      "def make(n, double):\n"
      "    @T.prim_func\n"
      "    def main(A: T.Buffer((n,), \"float32\")):\n"
      "        for i in range(n):\n"
      "            if double:\n"
      "                twice(A, i)\n"
      "            else:\n"
      "                A[i] = T.float32(0)\n"
      "    return main\n"
      "f = make(N, True)\n"
      "g = make(n=N * 2, double=False)\n";
  CHECK(body(text) ==
        "def main(A: T.Buffer((8,), \"float32\")):\n    for i in range(8):\n        A[i] = A[i] * T.float32(2.0)\n");
  CHECK(body(text, "g") == "def main(A: T.Buffer((16,), \"float32\")):\n    for i in range(16):\n        A[i] = T.float32(0.0)\n");
}

TEST_CASE("the parts of a node's text are known, from its declaration on") {
  std::string text =
      "# above\n\n@T.prim_func\ndef f(A: T.Buffer((4,), \"float32\")):\n    for i in range(4):\n        A[i] = T.sqrt(A[i])\n";
  syntax::Document document(text);
  frontend::File file;
  file.update(document);
  const frontend::Declaration* f = file.find(Name("f"));
  REQUIRE(f);
  REQUIRE(f->module);
  const auto* loop = f->module->functions[0].second->body.as<For>();
  REQUIRE(loop);
  const auto* store = loop->body.as<BufferStore>();
  REQUIRE(store);
  auto piece = [&](Origin origin) {
    auto span = document.resolve(origin);
    return span ? text.substr(span->begin, span->end - span->begin) : "?";
  };
  CHECK(piece(store->value.origin()) == "T.sqrt(A[i])");
  CHECK(piece(store->origin) == "A[i]");
  CHECK(piece(loop->var->origin) == "i");
  CHECK(loop->id != 0);
}

TEST_CASE("an edit evaluates again the changed declaration and those that use it") {
  std::string text =
      "N = 4\n"
      "M = 5\n"
      "@T.prim_func\ndef f(A: T.Buffer((N,), \"float32\")):\n    A[0] = T.float32(0)\n"
      "@T.prim_func\ndef g(A: T.Buffer((M,), \"float32\")):\n    A[0] = T.float32(0)\n";
  syntax::Document document(text);
  frontend::File file;
  file.update(document);
  (void)file.diagnostics();
  CHECK(file.last_work().evaluated == 4);
  PrimFunc f = file.find(Name("f"))->module->functions[0].second;
  PrimFunc g = file.find(Name("g"))->module->functions[0].second;

  document.edit(Span{10, 11}, "6");
  REQUIRE(document.text().substr(0, 12) == "N = 4\nM = 6\n");
  file.update(document);
  (void)file.diagnostics();
  CHECK(file.last_work().evaluated == 2);
  CHECK(file.find(Name("f"))->module->functions[0].second == f);
  CHECK_FALSE(file.find(Name("g"))->module->functions[0].second == g);
  CHECK(print_script(file.find(Name("g"))->module).find("T.Buffer((6,)") != std::string::npos);

  // Text above moves everything and changes nothing else.
  document.edit(Span{0, 0}, "# a comment\n\n");
  file.update(document);
  (void)file.diagnostics();
  CHECK(file.find(Name("f"))->module->functions[0].second == f);
}

namespace {

/// A program of `blocks` blocks, some buffers and a let, with a constant of the file in one place.
auto long_program(int blocks) -> std::string {
  std::string text = "N = 16\n\n@T.prim_func\ndef main(a: T.handle, B: T.Buffer((16,), \"float32\"), n: T.int32):\n    A = T.match_buffer(a, (16,))\n    C = T.alloc_buffer((16,))\n";
  text += "    m: T.int32 = n + 1\n";
  for (int i = 0; i < blocks; ++i) {
    std::string number = std::to_string(i);
    text += "    for i in range(" + std::string(i == 7 ? "N" : "16") + "):\n        with T.block(\"b" + number + "\"):\n            vi = T.axis.spatial(16, i)\n            " +
            (i % 2 == 0 ? "C[vi] = A[vi] + T.float32(" + number + ")" : "B[vi] = C[vi] * T.float32(" + number + ")") + "\n";
  }
  return text;
}

struct Edited {
  syntax::Document document;
  frontend::File file;
  explicit Edited(const std::string& text) : document(text) { look(); }
  void look() {
    file.update(document);
    (void)file.diagnostics();
  }
  auto replace(const std::string& what, const std::string& with) -> frontend::File::PartWork {
    size_t at = document.text().find(what);
    REQUIRE(at != std::string::npos);
    document.edit({static_cast<uint32_t>(at), static_cast<uint32_t>(at + what.size())}, with);
    look();
    return file.last_part_work();
  }
  auto statements() -> std::vector<Stmt> {
    const frontend::Declaration* d = file.find(Name("main"));
    REQUIRE(d);
    REQUIRE(d->partial);
    // The root block, the let, the sequence.
    const Stmt& body = d->partial->functions[0].second->body.as<BlockRealize>()->block->body;
    return body.as<LetStmt>()->body.as<SeqStmt>()->seq.to_vector();
  }
};

}  // namespace

TEST_CASE("an edit in a long program lowers the statement it is in, and those that depend on it") {
  Edited edited(long_program(40));
  REQUIRE(messages(edited.file.diagnostics()) == "");
  std::vector<Stmt> before = edited.statements();
  REQUIRE(before.size() == 40);
  auto same = [&](const std::vector<Stmt>& now, size_t from, size_t shift) {
    size_t count = 0;
    for (size_t i = from; i + shift < now.size() && i < before.size(); ++i) { count += before[i].same_as(now[i + shift]) ? 1 : 0; }
    return count;
  };

  // Edit a statement: the others are the same nodes, at their present places.
  frontend::File::PartWork work = edited.replace("C[vi] = A[vi] + T.float32(4)", "C[vi] = A[vi] + A[vi] + T.float32(44)");
  CHECK(work.lowered == 1);
  CHECK(work.reused >= 41);
  std::vector<Stmt> now = edited.statements();
  CHECK(same(now, 0, 0) == 39);
  auto last = edited.document.resolve(now.back()->origin);
  REQUIRE(last);
  CHECK(last->begin == edited.document.text().rfind("for i in range"));

  // Insert a statement: those after it move.
  work = edited.replace("    for i in range(16):\n        with T.block(\"b10\")", "    T.evaluate(n)\n    for i in range(16):\n        with T.block(\"b10\")");
  CHECK(work.lowered == 1);
  now = edited.statements();
  REQUIRE(now.size() == 41);
  CHECK(same(now, 10, 1) == 30);

  // Edit a buffer with many uses: all of these statements are lowered again, and no other.
  work = edited.replace("C = T.alloc_buffer((16,))", "C = T.alloc_buffer((16,), scope=\"local\")");
  CHECK(work.lowered >= 41);
  CHECK(messages(edited.file.diagnostics()) == "");

  // A constant of the file.
  before = edited.statements();
  work = edited.replace("N = 16", "N = 8");
  CHECK(work.lowered == 1);
  CHECK(as_int(edited.statements()[7].as<For>()->extent) == 8);

  // A mistake is reported after it is made, and not before.
  work = edited.replace("A[vi] + T.float32(6)", "A[vi] + T.float32(\"6\")");
  CHECK(edited.file.diagnostics().size() == 1);
  work = edited.replace("T.float32(12)", "T.float32(120)");
  CHECK(edited.file.diagnostics().size() == 1);
  work = edited.replace("T.float32(\"6\")", "T.float32(6)");
  CHECK(edited.file.diagnostics().empty());

  // A variable that hides another one, a name bound twice, a line that cannot be parsed.
  work = edited.replace("    m: T.int32 = n + 1\n", "    m: T.int32 = n + 1\n    C = T.alloc_buffer((16,))\n");
  CHECK(messages(edited.file.diagnostics()).find("redefined-name") != std::string::npos);
  work = edited.replace("    m: T.int32 = n + 1\n    C = T.alloc_buffer((16,))\n", "    m: T.int32 = n + 1\n");
  CHECK(messages(edited.file.diagnostics()) == "");
  work = edited.replace("T.float32(20)", "T.float32((20");
  CHECK(work.lowered <= 2);
  CHECK(!edited.document.diagnostics().empty());
  CHECK(edited.statements().size() == 41);
}

TEST_CASE("a long program that is evaluated step by step is the one that is evaluated at once") {
  Edited edited(long_program(40));
  for (const char* step : {"T.float32(3)", "T.float32(30)", "(16, i)", "B[vi] = C[vi] * T.float32(1)"}) {
    (void)edited.replace(step, "(15, i)");
    Edited fresh(edited.document.text());
    CHECK(messages(edited.file.diagnostics()) == messages(fresh.file.diagnostics()));
    CHECK(structural_equal(edited.file.find(Name("main"))->partial, fresh.file.find(Name("main"))->partial));
  }
}

TEST_CASE("a suggestion in place of an unknown name is one of the current names") {
  Edited edited("first = 1\nx = frist\n");
  REQUIRE(edited.file.diagnostics().size() == 1);
  REQUIRE(edited.file.diagnostics()[0].remedies.size() == 1);
  (void)edited.replace("first = 1", "other = 1");
  CHECK(edited.file.diagnostics()[0].remedies.empty());
}

TEST_CASE("a script that runs out of steps does not stop later evaluations") {
  syntax::Document document("n = 0\nwhile True:\n    n = n + 1\n");
  frontend::File file;
  document.edit({0, static_cast<uint32_t>(document.text().size())}, "def f():\n    x = 0\n    while True:\n        x = x + 1\n    return x\n\ny = f()\n");
  file.update(document);
  CHECK(messages(file.diagnostics()).find("too-much-work") == 0);
  document.edit({0, static_cast<uint32_t>(document.text().size())}, "y = 3\nz = y + 1\n");
  file.update(document);
  CHECK(messages(file.diagnostics()) == "");
  CHECK(file.value(Name("z"))->int_value() == 4);
}

TEST_CASE("programs inside of Python are evaluated again when a value that they use changes") {
  std::string text = "N = 4\n\ndef test(x):\n    @T.prim_func\n    def f(A: T.Buffer((N,), \"int32\")):\n        A[0] = 1\n";
  syntax::Document document(text);
  frontend::File file;
  file.update(document);
  const auto& before = file.declaration(1);
  REQUIRE(before.inside.size() == 1);
  CHECK(before.inside[0].name == "test.f");
  CHECK(print_script(before.inside[0].module).find("A: T.Buffer((4,), \"int32\")") != std::string::npos);
  document.edit({4, 5}, "8");
  file.update(document);
  const auto& after = file.declaration(1);
  REQUIRE(after.inside.size() == 1);
  CHECK(print_script(after.inside[0].module).find("A: T.Buffer((8,), \"int32\")") != std::string::npos);
}

TEST_CASE("a name that is bound again below does not change declarations above") {
  CHECK(body("N = 4\n@T.prim_func\ndef f(A: T.Buffer((N,), \"float32\")):\n    A[0] = T.float32(0)\nN = 9\n") ==
        "def main(A: T.Buffer((4,), \"float32\")):\n    A[0] = T.float32(0.0)\n");
}

TEST_CASE("tensor expressions become the program that TVM makes of them") {
  auto program = [](const std::string& text) { return body(text, "f"); };
  CHECK(program("A = te.placeholder((4, 16), name=\"A\")\n"
                "B = te.placeholder((16, 8), name=\"B\")\n"
                "k = te.reduce_axis((0, 16), name=\"k\")\n"
                "C = te.compute((4, 8), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name=\"C\")\n"
                "f = te.create_prim_func([A, B, C])\n") ==
        "def main(A: T.Buffer((4, 16), \"float32\"), B: T.Buffer((16, 8), \"float32\"), C: T.Buffer((4, 8), \"float32\")):\n"
        "    T.func_attr({\"tir.noalias\": T.bool(True)})\n"
        "    # with T.block(\"root\"):\n"
        "    for i, j, k in T.grid(4, 8, 16):\n"
        "        with T.block(\"C\"):\n"
        "            v_i, v_j, v_k = T.axis.remap(\"SSR\", [i, j, k])\n"
        "            T.reads(A[v_i, v_k], B[v_k, v_j])\n"
        "            T.writes(C[v_i, v_j])\n"
        "            with T.init():\n"
        "                C[v_i, v_j] = T.float32(0.0)\n"
        "            C[v_i, v_j] = C[v_i, v_j] + A[v_i, v_k] * B[v_k, v_j]\n");
  // Several outputs of one computation, shapes that are known at run time, intermediate tensors.
  CHECK(program("m = te.var(\"m\")\n"
                "A = te.placeholder((m, 4), name=\"A\")\n"
                "M = te.compute((m, 4), lambda x, y: A[x, y] * 2, name=\"main\")\n"
                "B0, B1 = te.compute((m, 4), lambda i, j: (M[i, j] + 2, M[i, j] * 3), name=\"B\")\n"
                "f = te.create_prim_func([A, B0, B1])\n") ==
        "def main(var_A: T.handle, var_B_v0: T.handle, var_B_v1: T.handle):\n"
        "    T.func_attr({\"tir.noalias\": T.bool(True)})\n"
        "    m = T.int32()\n"
        "    A = T.match_buffer(var_A, (m, 4))\n"
        "    B_v0 = T.match_buffer(var_B_v0, (m, 4))\n"
        "    B_v1 = T.match_buffer(var_B_v1, (m, 4))\n"
        "    # with T.block(\"root\"):\n"
        "    main = T.alloc_buffer((m, 4))\n"
        "    for x, y in T.grid(m, 4):\n"
        "        with T.block(\"main\"):\n"
        "            v_x, v_y = T.axis.remap(\"SS\", [x, y])\n"
        "            T.reads(A[v_x, v_y])\n"
        "            T.writes(main[v_x, v_y])\n"
        "            main[v_x, v_y] = A[v_x, v_y] * T.float32(2.0)\n"
        "    for i, j in T.grid(m, 4):\n"
        "        with T.block(\"B_v0\"):\n"
        "            v_i, v_j = T.axis.remap(\"SS\", [i, j])\n"
        "            T.reads(main[v_i, v_j])\n"
        "            T.writes(B_v0[v_i, v_j])\n"
        "            B_v0[v_i, v_j] = main[v_i, v_j] + T.float32(2.0)\n"
        "        with T.block(\"B_v1\"):\n"
        "            v_i, v_j = T.axis.remap(\"SS\", [i, j])\n"
        "            T.reads(main[v_i, v_j])\n"
        "            T.writes(B_v1[v_i, v_j])\n"
        "            B_v1[v_i, v_j] = main[v_i, v_j] * T.float32(3.0)\n");
  // A reduction of pairs computes both before it stores either.
  CHECK(program("best = te.comm_reducer(lambda x, y: (tir.Select(x[1] >= y[1], x[0], y[0]), tir.Select(x[1] >= y[1], x[1], y[1])), lambda t0, t1: (tir.const(-1, t0), te.min_value(t1)))\n"
                "i = te.placeholder((4, 8), \"int32\", \"i\")\n"
                "v = te.placeholder((4, 8), \"float32\", \"v\")\n"
                "k = te.reduce_axis((0, 8), \"k\")\n"
                "a, b = te.compute((4,), lambda r: best((i[r, k], v[r, k]), axis=k), name=\"best\")\n"
                "f = te.create_prim_func([i, v, a, b])\n") ==
        "def main(i: T.Buffer((4, 8), \"int32\"), v: T.Buffer((4, 8), \"float32\"), best_v0: T.Buffer((4,), \"int32\"), best_v1: T.Buffer((4,), \"float32\")):\n"
        "    T.func_attr({\"tir.noalias\": T.bool(True)})\n"
        "    # with T.block(\"root\"):\n"
        "    for r, k in T.grid(4, 8):\n"
        "        with T.block(\"best\"):\n"
        "            v_r, v_k = T.axis.remap(\"SR\", [r, k])\n"
        "            T.reads(v[v_r, v_k], i[v_r, v_k])\n"
        "            T.writes(best_v0[v_r], best_v1[v_r])\n"
        "            with T.init():\n"
        "                best_v0[v_r] = -1\n"
        "                best_v1[v_r] = T.float32(-340282346638528859811704183484516925440.0)\n"
        "            v_best_v0: T.int32 = T.Select(best_v1[v_r] >= v[v_r, v_k], best_v0[v_r], i[v_r, v_k])\n"
        "            v_best_v1: T.float32 = T.Select(best_v1[v_r] >= v[v_r, v_k], best_v1[v_r], v[v_r, v_k])\n"
        "            best_v0[v_r] = v_best_v0\n"
        "            best_v1[v_r] = v_best_v1\n");
  // No dimensions: one point.
  CHECK(program("a = te.placeholder((), name=\"a\", dtype=\"int32\")\n"
                "c = te.compute(a.shape, lambda *i: a(*i) + 1, name=\"c\")\n"
                "f = te.create_prim_func([a, c])\n") ==
        "def main(a: T.Buffer((), \"int32\"), c: T.Buffer((), \"int32\")):\n"
        "    T.func_attr({\"tir.noalias\": T.bool(True)})\n"
        "    # with T.block(\"root\"):\n"
        "    with T.block(\"c\"):\n"
        "        vi = T.axis.spatial(1, 0)\n"
        "        T.reads(a[()])\n"
        "        T.writes(c[()])\n"
        "        c[()] = a[()] + 1\n");
}

TEST_CASE("a head without its colon stays the head of its block") {
  std::string text =
      "@T.prim_func\n"
      "def f(A: T.Buffer((4,), \"float32\"))\n"
      "    for i in range(4)\n"
      "        A[i] = T.float32(1)\n";
  syntax::Document document(text);
  CHECK(messages(document.diagnostics()) == "missing-colon: expected `:` at the end of the `def` line\nmissing-colon: expected `:` at the end of the `for` line\n");
  frontend::File file;
  file.update(document);
  CHECK(messages(file.diagnostics()) == "");
  const auto& d = file.declaration(0);
  REQUIRE(d.partial);
  CHECK(print_script(d.partial->functions[0].second).find("A[i] = T.float32(1.0)") != std::string::npos);
  // Places after the missing colon are correct.
  Origin at = d.partial->functions[0].second->body.origin();
  CHECK(text.substr(at.begin, 3) == "for");
}

TEST_CASE("half a line takes no name away from the programs below it") {
  std::string program =
      "@T.prim_func\n"
      "def f(A: T.Buffer((4,), \"float32\")):\n"
      "    for i in range(n):\n"
      "        A[i] = T.float32(1)\n";
  for (const char* line : {"def g(A: T", "def g(A: T.", "def g(n", "def g(A: T.Buffer((n", "T = (", "g(n, T"}) {
    INFO(line);
    syntax::Document document("n = 4\n" + std::string(line) + "\n\n" + program);
    frontend::File file;
    file.update(document);
    CHECK(messages(file.diagnostics()) == "");
    CHECK(file.find(Name("f"))->module);
  }
  // The broken line may bind names that are bound nowhere else, so no name is reported as undefined.
  syntax::Document document("n = (\n\n" + program);
  frontend::File file;
  file.update(document);
  CHECK(messages(file.diagnostics()) == "");
}

TEST_CASE("named characters in strings") {
  IRModule module = lower("@T.prim_func\ndef f():\n    T.func_attr({\"unit\": \"\\N{DEGREE SIGN}C \\N{greek small letter mu}\"})\n    T.evaluate(0)\n", "f");
  const Attr* unit = find_attr(module->functions[0].second->attrs, Name("unit"));
  REQUIRE(unit);
  REQUIRE(unit->string());
  CHECK(*unit->string() == "\xc2\xb0" "C \xce\xbc");
}

TEST_CASE("tensor expressions without end are refused") {
  auto messages_of = [](const std::string& text) {
    syntax::Document document(text);
    frontend::File file;
    file.update(document);
    Diagnostics all = file.diagnostics();
    return all.empty() ? std::string() : std::string(code_id(all[0].code));
  };
  std::string head = "A = te.placeholder((4,), name=\"A\")\n";
  CHECK(messages_of(head + "def deep(n):\n    e = A[0]\n    for i in range(n):\n        e = e + A[0]\n    return e\n"
                    "f = te.create_prim_func([A, te.compute((4,), lambda i: deep(100000))])\n") == "too-deep");
  CHECK(messages_of(head + "def wide(n):\n    e = A[0]\n    for i in range(n):\n        e = e + e\n    return e\n"
                    "f = te.create_prim_func([A, te.compute((4,), lambda i: wide(60))])\n") == "too-much-work");
  CHECK(messages_of("def wide(A, n):\n    e = A[0]\n    for i in range(n):\n        e = e + e\n    return e\n"
             "@T.prim_func\ndef f(A: T.Buffer((4,), \"float32\")):\n    A[0] = wide(A, 60)\n") == "too-much-work");
  CHECK(messages_of(head + "def chain(B, n):\n    for i in range(n):\n        B = te.compute((4,), lambda i: B[i] + 1.0)\n    return B\n"
                    "f = te.create_prim_func([A, chain(A, 20000)])\n") == "too-deep");
}
