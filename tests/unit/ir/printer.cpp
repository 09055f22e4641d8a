// The script printer on modules built by hand: its syntax, its names, and the variables that it declares.
// tests/oracle checks its agreement with TVM over thousands of programs.
#include "ir/printer.h"

#include "../catch.h"
#include "ir/equal.h"
#include "ir/ops.h"

using namespace loopsmith;

namespace {

auto i32(int64_t value) -> Expr { return int_imm(value); }

struct Matmul {
  Buffer a = make_buffer("A", DataType::float_(32), {i32(8), i32(4)});
  Buffer b = make_buffer("B", DataType::float_(32), {i32(4), i32(16)});
  Buffer c = make_buffer("C", DataType::float_(32), {i32(8), i32(16)});
  Ref<For> outer;
  Ref<Block> block;

  auto func(ForKind kind = ForKind::Serial, const char* loop = "i", int extent = 4) -> PrimFunc {
    Var i = var(loop), j = var("j"), k = var("k"), vi = var("vi"), vj = var("vj"), vk = var("vk");
    auto axis = [](const Var& v, int n, IterKind kind) { return IterVar{v, from_zero(i32(n)), kind, {}, {}}; };
    Expr old = make<BufferLoad>(c, Array<Expr>{vi, vj});
    Expr term = Expr(make<BufferLoad>(a, Array<Expr>{vi, vk})) * Expr(make<BufferLoad>(b, Array<Expr>{vk, vj}));
    Block::Fields f;
    f.name = "C";
    f.iter_vars = {axis(vi, 8, IterKind::Spatial), axis(vj, 16, IterKind::Spatial), axis(vk, extent, IterKind::Reduction)};
    f.reads = {{a, {point(vi), point(vk)}, {}}, {b, {point(vk), point(vj)}, {}}};
    f.writes = {{c, {point(vi), point(vj)}, {}}};
    f.body = make<BufferStore>(c, old + term, Array<Expr>{vi, vj});
    f.init = make<BufferStore>(c, float_imm(0.0), Array<Expr>{vi, vj});
    block = make<Block>(f);
    Stmt body = make<BlockRealize>(Array<Expr>{i, j, k}, bool_imm(true), block);
    body = make<For>(k, i32(0), i32(extent), ForKind::Serial, body);
    body = make<For>(j, i32(0), i32(16), ForKind::Serial, body);
    outer = make<For>(i, i32(0), i32(8), kind, body);
    Block::Fields root;
    root.name = "root";
    root.body = outer;
    PrimFuncNode fn;
    std::vector<Var> params;
    std::vector<std::pair<Var, Buffer>> map;
    for (const Buffer& buffer : {a, b, c}) {
      params.push_back(var(buffer->name.str() + "_handle", DataType::handle()));
      map.emplace_back(params.back(), buffer);
    }
    fn.params = params;
    fn.buffer_map = map;
    fn.body = make<BlockRealize>(Array<Expr>{}, bool_imm(true), make<Block>(root));
    return make_func(fn);
  }
};

constexpr const char* matmul_text = R"(# from tvm.script import ir as I
# from tvm.script import tir as T

@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((8, 4), "float32"), B: T.Buffer((4, 16), "float32"), C: T.Buffer((8, 16), "float32")):
        # with T.block("root"):
        for i, j, k in T.grid(8, 16, 4):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                T.reads(A[vi, vk], B[vk, vj])
                T.writes(C[vi, vj])
                with T.init():
                    C[vi, vj] = T.float32(0.0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj])";

}  // namespace

TEST_CASE("a module prints as TVM prints it") {
  CHECK(print_script(module_of(Matmul().func())) == matmul_text);
}

TEST_CASE("the sblock dialect spells blocks its way") {
  std::string text = print_script(module_of(Matmul().func(), Dialect::SBlock));
  CHECK(text.find("# with T.sblock(\"root\"):") != std::string::npos);
  CHECK(text.find("with T.sblock(\"C\"):") != std::string::npos);
  CHECK(text.find("T.block") == std::string::npos);
}

TEST_CASE("the sblock dialect spells data types as TVM has since") {
  PrintOptions recent;
  recent.dialect = Dialect::SBlock;
  Expr x = make<Cast>(*DataType::parse("float8_e4m3fnx4"), make<VarNode>(Name("x"), DataType::float_(32).with_lanes(4)));
  CHECK(print_script(x, recent) == "T.Cast(\"float8_e4m3fnx4\", x)");
  CHECK(print_script(x) == "T.Cast(\"e4m3_float8x4\", x)");
}

TEST_CASE("operators keep their tree") {
  Var x = var("x"), y = var("y");
  auto text = [](const Expr& e) { return print_script(e); };
  CHECK(text(make<Mul>(make<Add>(x, y), x)) == "(x + y) * x");
  CHECK(text(make<Sub>(x, make<Sub>(y, x))) == "x - (y - x)");
  CHECK(text(make<Sub>(make<Sub>(x, y), x)) == "x - y - x");
  CHECK(text(make<FloorMod>(make<FloorDiv>(x, i32(4)), i32(8))) == "x // 4 % 8");
  CHECK(text(make<Or>(make<Not>(make<And>(make<LT>(x, y), make<EQ>(x, i32(1)))), make<LE>(i32(0), y))) ==
        "not (x < y and x == 1) or 0 <= y");
  // Python chains comparisons: without parentheses this would mean something else.
  CHECK(text(make<EQ>(make<LT>(x, y), make<LT>(y, x))) == "(x < y) == (y < x)");
  // An operation that the operator would fold is written as a call.
  CHECK(text(make<Add>(x, i32(0))) == "T.Add(x, 0)");
  CHECK(text(make<Mul>(i32(2), i32(3))) == "T.Mul(2, 3)");
  CHECK(text(make<Div>(x, y)) == "T.Div(x, y)");
  CHECK(text(make<Mod>(x, y)) == "T.truncmod(x, y)");
}

TEST_CASE("numbers show their type") {
  CHECK(print_script(int_imm(-3)) == "-3");
  CHECK(print_script(int_imm(7, DataType::int_(64))) == "T.int64(7)");
  CHECK(print_script(int_imm(-1, DataType::uint(64))) == "T.uint64(18446744073709551615)");
  CHECK(print_script(bool_imm(true)) == "T.bool(True)");
  CHECK(print_script(float_imm(0.9)) == "T.float32(0.90000000000000002)");
  CHECK(print_script(float_imm(1e30)) == "T.float32(1000000000000000019884624838656.0)");
  CHECK(print_script(float_imm(1e-5, DataType::float_(16))) == "T.float16(1.0000000000000001e-05)");
  CHECK(print_script(float_imm(-std::numeric_limits<double>::infinity())) == "T.float32(\"-inf\")");
}

TEST_CASE("names are unique among the visible ones, and never a word of the language") {
  Buffer a = make_buffer("T", DataType::int_(32), {i32(4)});
  Var outer = var("i"), inner = var("i"), other = var("lambda");
  Stmt store = make<BufferStore>(a, Expr(outer) + Expr(inner), Array<Expr>{inner});
  Stmt first = make<For>(inner, i32(1), i32(2), ForKind::Serial, store);
  Stmt second = make<For>(other, i32(0), i32(2), ForKind::Unrolled, make<BufferStore>(a, other, Array<Expr>{other}));
  Stmt loop = make<For>(outer, i32(0), i32(4), ForKind::Parallel, seq({first, second}));
  CHECK(print_script(loop) == R"(for i in T.parallel(4):
    for i_1 in range(1, 3):
        T_1[i_1] = i + i_1
    for lambda_1 in T.unroll(2):
        T_1[lambda_1] = lambda_1)");
}

TEST_CASE("free variables of a function are declared before the statement that uses them") {
  Buffer a = make_buffer("A", DataType::float_(32), {i32(4)});
  Buffer alias;
  {
    BufferNode fields = *a;
    fields.name = "A";
    fields.shape = {i32(2), i32(2)};
    alias = make_buffer(fields);
  }
  Var n = var("n"), i = var("i");
  Stmt store = make<BufferStore>(alias, float_imm(1), Array<Expr>{n, i});
  PrimFuncNode fn;
  Var p = var("p", DataType::handle());
  fn.params = {p};
  fn.buffer_map = {{p, a}};
  fn.body = seq({make<For>(i, i32(0), i32(2), ForKind::Serial, store), make<Evaluate>(make<Add>(n, n))});
  CHECK(print_script(make_func(fn), {.header = false}) == R"(@T.prim_func
def main(A: T.Buffer((4,), "float32")):
    n = T.int32()
    for i in range(2):
        A_1 = T.Buffer((2, 2), data=A.data)
        A_1[n, i] = T.float32(1.0)
    T.evaluate(n + n))");
}

TEST_CASE("ranges give the places of loops and blocks in the text") {
  Matmul program;
  PrimFunc fn = program.func();
  std::vector<PrintedRange> ranges;
  std::string text = print_script(fn, {.ranges = &ranges});
  bool loop = false, block = false;
  for (const PrintedRange& r : ranges) {
    std::string name = text.substr(r.name_begin, r.name_end - r.name_begin);
    if (r.id == program.outer->id) {
      loop = true;
      CHECK(name == "i");
      CHECK(text.substr(r.begin, 13) == "for i, j, k i");
    }
    if (r.id == program.block->id) {
      block = true;
      CHECK(name == "C");
      CHECK(text.substr(r.begin, 12) == "with T.block");
      CHECK(r.end == text.size());
    }
  }
  CHECK(loop);
  CHECK(block);
}
