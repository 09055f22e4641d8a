// Every tensor intrinsic computes the same as its description: the interpreter runs both on the same contents, on tiles inside
// larger buffers. The contents of WMMA's fragments are opaque, and the layouts in TVM's descriptions for operands of mma hold only
// between its loads and its products; so loads, products and stores of those run together.
#include <cstring>
#include <set>
#include <string>

#include <fmt/format.h>

#include "frontend/file.h"
#include "interp/compare.h"
#include "intrinsics/registry.h"
#include "ir/ops.h"
#include "schedule/intrinsics.h"
#include "support/hash.h"
#include "syntax/document.h"
#include "tests/unit/catch.h"

using namespace loopsmith;

namespace {

auto table() -> const schedule::IntrinsicTable& {
  intrinsics::install();
  return *schedule::builtin_intrinsics();
}

// A block with the body of a function, on views of the tiles.
auto unit_block(const PrimFunc& func, const std::vector<BufferRegion>& tiles, const std::string& name) -> Stmt {
  PrimFunc own = schedule::fresh_copy(func, 32);
  const Block& root = *own->body.as<BlockRealize>()->block;
  Block::Fields f = root.fields();
  f.name = Name(name);
  f.reads = {};
  f.writes = {};
  std::vector<MatchBufferRegion> views;
  for (size_t i = 0; i < own->params.size(); ++i) { views.push_back({own->buffer_of(own->params[i]), tiles[i]}); }
  f.match_buffers = std::move(views);
  return make<BlockRealize>(Array<Expr>(), bool_imm(true), make<Block>(std::move(f)));
}
auto program(const std::vector<Buffer>& buffers, std::vector<Buffer> allocated, std::vector<Stmt> steps) -> IRModule {
  PrimFuncNode fields;
  std::vector<Var> params;
  std::vector<std::pair<Var, Buffer>> map;
  for (const Buffer& b : buffers) {
    params.push_back(make<VarNode>(b->name, DataType::handle()));
    map.emplace_back(params.back(), b);
  }
  fields.params = std::move(params);
  fields.buffer_map = std::move(map);
  Block::Fields root;
  root.name = Name("root");
  root.body = seq(std::move(steps));
  root.alloc_buffers = std::move(allocated);
  fields.body = make<BlockRealize>(Array<Expr>(), bool_imm(true), make<Block>(std::move(root)));
  IRModuleNode module;
  module.functions = Sequence<std::pair<Name, PrimFunc>>{std::pair<Name, PrimFunc>(Name("main"), make_func(std::move(fields)))};
  return make_module(std::move(module));
}

auto constant_shape(const Buffer& b) -> std::vector<int64_t> {
  std::vector<int64_t> out;
  for (const Expr& e : b->shape) { out.push_back(as_int(e).value()); }
  return out;
}

// A program that runs the function on the second of three tiles of each parameter.
auto on_second_tile(const PrimFunc& func, const std::vector<Buffer>& buffers) -> IRModule {
  std::vector<BufferRegion> tiles;
  for (size_t i = 0; i < buffers.size(); ++i) {
    std::vector<Range> ranges{{int_imm(1), int_imm(1)}};
    for (int64_t e : constant_shape(func->buffer_of(func->params[i]))) { ranges.push_back({int_imm(0), int_imm(e)}); }
    tiles.push_back({buffers[i], Array<Range>(std::move(ranges)), {}});
  }
  return program(buffers, {}, {unit_block(func, tiles, "unit")});
}
auto three_tiles(const PrimFunc& description) -> std::vector<Buffer> {
  std::vector<Buffer> out;
  for (const Var& param : description->params) {
    Buffer b = description->buffer_of(param);
    std::vector<Expr> shape{int_imm(3)};
    for (int64_t e : constant_shape(b)) { shape.push_back(int_imm(e)); }
    out.push_back(make_buffer(b->name, b->dtype, Array<Expr>(std::move(shape)), b->scope()));
  }
  return out;
}

enum class Fill : uint8_t { Small, Reals, Bytes };   // Bytes: integers of their whole range

// The difference of two programs; empty if they agree.
auto difference(const IRModule& a, const IRModule& b, uint64_t seed, Fill contents) -> std::string {
  PrimFunc func = a->find("main");
  auto inputs = interp::make_inputs(func, seed, contents == Fill::Reals ? interp::Contents::Reals : interp::Contents::SmallIntegers);
  if (!inputs.ok()) { return inputs.diagnostics()[0].message(); }
  if (contents == Fill::Bytes) {
    uint64_t state = seed;
    for (size_t i = 0; i < inputs->storage.size(); ++i) {
      if (func->buffer_of(func->params[i])->dtype.is_real()) { continue; }
      for (char& c : inputs->storage[i]) { c = static_cast<char>((state = hash_combine(state, 77)) >> 20); }
    }
  }
  auto other = interp::copy_inputs(*inputs);
  interp::Options options;
  options.report_unwritten = true;
  auto first = interp::interpret(a, "main", inputs->arguments, options);
  if (!first.ok()) { return "description: " + first.diagnostics()[0].message(); }
  auto second = interp::interpret(b, "main", other.arguments, options);
  if (!second.ok()) { return "implementation: " + second.diagnostics()[0].message(); }
  for (const Diagnostic& d : second->warnings) { return d.message(); }
  for (size_t i = 0; i < func->params.size(); ++i) {
    auto d = interp::compare_tensors(func->params[i]->name.str(), std::get<TensorView>(inputs->arguments[i]), std::get<TensorView>(other.arguments[i]), contents != Fill::Reals);
    if (d.found) { return d.where; }
  }
  return {};
}

// True for units whose assignment of elements to threads is private to their intrinsics.
auto is_opaque(const std::string& name) -> bool {
  if (name.starts_with("wmma_")) { return name.find("_trans") != std::string::npos; }
  // Tiles of B are numbered in rows of 32 columns, the size of a load: a product is undefined on a narrower matrix.
  if (name.starts_with("mma_sync_m16n8k8")) { return true; }
  bool takes_b = name.starts_with("mma_f16") || name.starts_with("mma_bf16") || (name.starts_with("mma_") && name.ends_with("_trans_b"));
  bool gives_b = name.starts_with("mma_ldmatrix_") && (name.find("_trans") != std::string::npos || name.starts_with("mma_ldmatrix_f16_b") || name.starts_with("mma_ldmatrix_bf16_b"));
  return takes_b || gives_b;
}
// Elements of four bits are not whole bytes, which the interpreter does not run.
auto is_of_half_bytes(const std::string& name) -> bool { return name.starts_with("wmma_load_8x8x32_s4") || name.starts_with("wmma_sync_8x8x32_s4"); }

// A tile of C, 16 x 16, is the product of a tile of A and one of B, `k` deep; tiles begin inside of the matrices.
auto reference_product(const std::string& a, const std::string& out, int k, bool a_trans, bool b_trans, const std::string& scope, const std::string& result_scope) -> IRModule {
  syntax::Document document(fmt::format(R"(
@T.prim_func
def main(A: T.Buffer(({4}), "{0}", scope="{8}"), B: T.Buffer(({5}), "{0}", scope="{8}"), C: T.Buffer((32, 32), "{1}", scope="{6}")):
    for i, j in T.grid(16, 16):
        C[i + 16, j] = T.{1}(0)
        for k in range({7}):
            C[i + 16, j] = C[i + 16, j] + T.Cast("{1}", A[{2}]) * T.Cast("{1}", B[{3}])
)", a, out, a_trans ? fmt::format("k + {}, i + 16", k) : fmt::format("i + 16, k + {}", k), b_trans ? fmt::format("j + 16, k + {}", k) : fmt::format("k + {}, j + 16", k),
      a_trans ? fmt::format("{}, 32", 2 * k) : fmt::format("32, {}", 2 * k), b_trans ? fmt::format("32, {}", 2 * k) : fmt::format("{}, 32", 2 * k), result_scope, k, scope));
  frontend::File file;
  file.update(document);
  for (size_t i = 0; i < file.size(); ++i) {
    for (const Diagnostic& d : file.declaration(i).diagnostics) { UNSCOPED_INFO(d.message()); }
    if (file.declaration(i).module) { return file.declaration(i).module; }
  }
  return {};
}
// Copies of the parameters' buffers, for another program.
auto parameters_of(const IRModule& module) -> std::vector<Buffer> {
  std::vector<Buffer> out;
  PrimFunc func = module->find("main");
  for (const Var& p : func->params) {
    Buffer b = func->buffer_of(p);
    out.push_back(make_buffer(b->name, b->dtype, b->shape, b->scope()));
  }
  return out;
}
auto tile(const Buffer& buffer, int64_t row, int64_t rows, int64_t column, int64_t columns) -> BufferRegion {
  return BufferRegion{buffer, Array<Range>{Range{int_imm(row), int_imm(rows)}, Range{int_imm(column), int_imm(columns)}}, {}};
}
auto find(const std::string& name) -> const PrimFunc& {
  INFO(name);
  const schedule::TensorIntrin* found = table().find(Name(name));
  REQUIRE(found != nullptr);
  return found->implementation;
}

}  // namespace

TEST_CASE("implementations compute the same as their descriptions") {
  size_t checked = 0, together = 0, without = 0;
  for (Name name : table().names()) {
    INFO(name.str());
    if (is_of_half_bytes(name.str())) { ++without; continue; }
    if (is_opaque(name.str())) { ++together; continue; }
    const schedule::TensorIntrin* intrinsic = table().find(name);
    REQUIRE(intrinsic != nullptr);
    std::vector<Buffer> buffers = three_tiles(intrinsic->description);
    IRModule plain = on_second_tile(intrinsic->description, buffers);
    IRModule unit = on_second_tile(intrinsic->implementation, buffers);
    for (uint64_t seed = 1; seed <= 2; ++seed) {
      CHECK(difference(plain, unit, seed, Fill::Small) == "");
      CHECK(difference(plain, unit, seed, Fill::Reals) == "");
    }
    // Saturating instructions differ from their descriptions: Intel's saturate sums of two products, AMD's and Qualcomm's the whole sum.
    bool saturates = name == "dot_16x4_avx512" || name == "sdot4" || name == "dot_product_32x2_i16i16i32_vdmpy";
    if (!saturates) { CHECK(difference(plain, unit, 3, Fill::Bytes) == ""); }
    ++checked;
  }
  CHECK(checked + together + without == table().names().size());
  CHECK(without == 5);
  CHECK(together == 49);
}

TEST_CASE("saturating sums differ from plain ones") {
  const schedule::TensorIntrin* intrinsic = table().find(Name("dot_16x4_avx512"));
  REQUIRE(intrinsic != nullptr);
  std::vector<Buffer> buffers = three_tiles(intrinsic->description);
  std::string first;
  for (uint64_t seed = 1; seed < 6 && first.empty(); ++seed) {
    first = difference(on_second_tile(intrinsic->description, buffers), on_second_tile(intrinsic->implementation, buffers), seed, Fill::Bytes);
  }
  CHECK(first.starts_with("C["));
}

TEST_CASE("WMMA: fragments are loaded, multiplied and stored as the products of the matrices") {
  struct Types { const char* loads; const char* product; const char* fill; const char* dtype; const char* out; };
  for (const Types& t : {Types{"f16", "f16f16f32", "f32", "float16", "float32"}, Types{"f16", "f16f16f16", "f16", "float16", "float16"}, Types{"bf16", "bf16bf16f32", "f32", "bfloat16", "float32"}, Types{"s8", "s8s8s32", "s32", "int8", "int32"}}) {
    for (int which = 0; which < 8; ++which) {
      bool a_trans = which & 1, b_trans = which & 2, dynamic = which & 4;
      auto load = [&](const char* matrix, bool trans) {
        return find(fmt::format("wmma_load_16x16x16_{}_{}{}_shared{}", t.loads, matrix, trans ? "_trans" : "", dynamic ? "_dyn" : ""));
      };
      IRModule plain = reference_product(t.dtype, t.out, 16, a_trans, b_trans, dynamic ? "shared.dyn" : "shared", "shared");
      REQUIRE(plain);
      std::vector<Buffer> params = parameters_of(plain);
      // Four fragments each; the used ones are not the first.
      auto square = [&](const char* name, DataType type, const char* scope) { return make_buffer(Name(name), type, Array<Expr>{int_imm(32), int_imm(32)}, Name(scope)); };
      Buffer a = square("A_f", params[0]->dtype, "wmma.matrix_a"), b = square("B_f", params[1]->dtype, "wmma.matrix_b"), c = square("C_f", params[2]->dtype, "wmma.accumulator");
      BufferRegion fa = tile(a, 0, 16, 16, 16), fb = tile(b, 16, 16, 0, 16), fc = tile(c, 16, 16, 16, 16);
      IRModule unit = program(params, {a, b, c}, {
          unit_block(find(fmt::format("wmma_fill_16x16x16_{}", t.fill)), {fc}, "fill"),
          unit_block(load("a", a_trans), {tile(params[0], 16, 16, 16, 16), fa}, "load_a"),
          unit_block(load("b", b_trans), {tile(params[1], 16, 16, 16, 16), fb}, "load_b"),
          unit_block(find(fmt::format("wmma_sync_16x16x16_{}{}", t.product, b_trans ? "_trans" : "")), {fa, fb, fc}, "sync"),
          unit_block(find(fmt::format("wmma_store_16x16x16_{}_shared", t.fill)), {fc, tile(params[2], 16, 16, 0, 16)}, "store"),
      });
      INFO(t.product << (a_trans ? " A transposed" : "") << (b_trans ? " B transposed" : ""));
      CHECK(difference(plain, unit, 1, Fill::Small) == "");
      CHECK(difference(plain, unit, 2, Fill::Reals) == "");
    }
  }
}

TEST_CASE("MMA: mma multiplies the matrices that ldmatrix loads") {
  struct Types { const char* loads; const char* product; const char* result; const char* dtype; const char* out; int k; };
  for (const Types& t : {Types{"f16", "f16f16f32", "f32", "float16", "float32", 16}, Types{"f16", "f16f16f16", "f16", "float16", "float16", 16},
                       Types{"bf16", "bf16bf16f32", "f32", "bfloat16", "float32", 16}, Types{"i8", "i8i8i32", "i32", "int8", "int32", 32}, Types{"e4m3", "e4m3e4m3f32", "f32", "e4m3_float8", "float32", 32},
                       Types{"e5m2", "e5m2e5m2f32", "f32", "e5m2_float8", "float32", 32}}) {
    for (int which = 0; which < 8; ++which) {
      bool a_trans = which & 1, b_trans = which & 2, dynamic = which & 4;
      if ((a_trans || dynamic) && t.k == 32) { continue; }   // no such intrinsic exists
      auto load = [&](const char* matrix, bool trans) {
        return find(fmt::format("mma_ldmatrix_{}_{}{}{}", t.loads, matrix, trans ? "_trans" : "", dynamic ? "_dyn" : ""));
      };
      IRModule plain = reference_product(t.dtype, t.out, t.k, a_trans, b_trans, dynamic ? "shared.dyn" : "shared", "global");
      REQUIRE(plain);
      std::vector<Buffer> params = parameters_of(plain);
      auto registers = [&](const char* name, DataType type, int count) { return make_buffer(Name(name), type, Array<Expr>{int_imm(32), int_imm(count)}, Name("warp")); };
      int local = t.k / 2;
      Buffer a = registers("A_w", params[0]->dtype, local), b = registers("B_w", params[1]->dtype, local), c = registers("C_w", params[2]->dtype, 8);
      BufferRegion wa = tile(a, 0, 32, 0, local), wb = tile(b, 0, 32, 0, local), wc = tile(c, 0, 32, 0, 8);
      auto matrix = [&](const Buffer& m, bool deep_first) { return deep_first ? tile(m, t.k, t.k, 16, 16) : tile(m, 16, 16, t.k, t.k); };
      IRModule unit = program(params, {a, b, c}, {
          unit_block(find(fmt::format("mma_fill_16x16_{}", t.result)), {wc}, "fill"),
          unit_block(load("a", a_trans), {wa, matrix(params[0], a_trans)}, "load_a"),
          unit_block(load("b", b_trans), {wb, matrix(params[1], !b_trans)}, "load_b"),
          unit_block(find(fmt::format("mma_{}{}{}", t.product, a_trans ? "_trans_a" : "", b_trans ? "_trans_b" : "")), {wa, wb, wc}, "mma"),
          unit_block(find(fmt::format("mma_store_16x16_{}_global_", t.result)), {wc, tile(params[2], 16, 16, 0, 16)}, "store"),
      });
      INFO(t.product << (a_trans ? " A transposed" : "") << (b_trans ? " B transposed" : ""));
      CHECK(difference(plain, unit, 1, Fill::Small) == "");
      CHECK(difference(plain, unit, 2, Fill::Reals) == "");
    }
  }
}

TEST_CASE("MMA: whole matrices of a warp are loaded, multiplied tile by tile, and stored") {
  struct Types { const char* loads; const char* product; const char* result; const char* dtype; const char* out; };
  for (const Types& t : {Types{"f16", "f16f16f32", "f32", "float16", "float32"}, Types{"f16", "f16f16f16", "f16", "float16", "float16"}, Types{"bf16", "bf16bf16f32", "f32", "bfloat16", "float32"}}) {
    // Rows 32 to 63 of A, columns 32 to 63 of B and the last 8 of both sums: no number of a tile is 0.
    syntax::Document document(fmt::format(R"(
@T.prim_func
def main(A: T.Buffer((64, 16), "{0}", scope="shared.dyn"), B: T.Buffer((16, 64), "{0}", scope="shared.dyn"), C: T.Buffer((64, 64), "{1}", scope="shared.dyn")):
    for i, j in T.grid(32, 32):
        C[i + 32, j + 32] = T.{1}(0)
        for k in range(8):
            C[i + 32, j + 32] = C[i + 32, j + 32] + T.Cast("{1}", A[i + 32, k + 8]) * T.Cast("{1}", B[k + 8, j + 32])
)", t.dtype, t.out));
    frontend::File file;
    file.update(document);
    IRModule plain = file.declaration(0).module;
    REQUIRE(plain);
    std::vector<Buffer> params = parameters_of(plain);
    auto matrix = [&](const char* name, DataType type, int64_t rows, int64_t columns, const char* scope) { return make_buffer(Name(name), type, Array<Expr>{int_imm(rows), int_imm(columns)}, Name(scope)); };
    Buffer a = matrix("A_m", params[0]->dtype, 64, 16, "m16n8k8.matrixA"), b = matrix("B_m", params[1]->dtype, 16, 64, "m16n8k8.matrixB"), c = matrix("C_m", params[2]->dtype, 64, 64, "m16n8k8.matrixC");
    std::vector<Stmt> steps{unit_block(find(fmt::format("mma_load_m16n8k8_{}_A_shared_dyn", t.loads)), {tile(params[0], 32, 32, 8, 8), tile(a, 32, 32, 8, 8)}, "load_a"),
                            unit_block(find(fmt::format("mma_load_m16n8k8_{}_B_shared_dyn", t.loads)), {tile(params[1], 8, 8, 32, 32), tile(b, 8, 8, 32, 32)}, "load_b")};
    for (int64_t i = 32; i < 64; i += 16) {
      for (int64_t j = 32; j < 64; j += 8) {
        BufferRegion sum = tile(c, i, 16, j, 8);
        steps.push_back(unit_block(find(fmt::format("mma_init_m16n8k8_{}", t.result)), {sum}, "init"));
        steps.push_back(unit_block(find(fmt::format("mma_sync_m16n8k8_{}", t.product)), {tile(a, i, 16, 8, 8), tile(b, 8, 8, j, 8), sum}, "sync"));
        steps.push_back(unit_block(find(fmt::format("mma_store_m16n8k8_{}_global", t.result)), {sum, tile(params[2], i, 16, j, 8)}, "store"));
      }
    }
    IRModule unit = program(params, {a, b, c}, std::move(steps));
    INFO(t.product);
    CHECK(difference(plain, unit, 1, Fill::Small) == "");
    CHECK(difference(plain, unit, 2, Fill::Reals) == "");
  }
}

TEST_CASE("unsupported uses of units are refused with a reason") {
  auto refusal = [&](const std::string& text) -> std::string {
    syntax::Document document(text);
    frontend::File file;
    file.update(document);
    for (size_t i = 0; i < file.size(); ++i) {
      IRModule module = file.declaration(i).module;
      if (!module) { continue; }
      auto inputs = interp::make_inputs(module->find("main"), 1, interp::Contents::SmallIntegers);
      REQUIRE(inputs.ok());
      auto done = interp::interpret(module, "main", inputs->arguments);
      return done.ok() ? "" : done.diagnostics()[0].message();
    }
    return "no program";
  };
  // A vector continues in the next row of a tile, but not after the last row.
  CHECK(refusal(R"(
@T.prim_func
def main(A: T.Buffer((4, 8), "int8"), B: T.Buffer((16,), "int8")):
    with T.block("b"):
        V = T.match_buffer(A[0:4, 0:4], (4, 4), "int8", strides=[8, 1], offset_factor=1)
        B[0:16] = V[0, 4:20]
)").find("is outside of its extent 4") != std::string::npos);
  CHECK(refusal(R"(
@T.prim_func
def main(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32")):
    B[0:16] = T.call_llvm_pure_intrin("int32x16", "llvm.x86.no.such.unit", T.uint32(1), A[0:16])
)").find("llvm.x86.no.such.unit") != std::string::npos);
  CHECK(refusal(R"(
@T.prim_func
def main(A: T.Buffer((16, 32), "float32", scope="warp")):
    T.evaluate(T.mma_fill("float32", 8, A.data, 0))
)").find("outside of a launch") != std::string::npos);
  CHECK(refusal(R"(
@T.prim_func
def main(A: T.Buffer((15, 64), "int8")):
    T.evaluate(T.call_llvm_intrin("void", "llvm.x86.tileloadd64", T.uint32(3), T.uint8(0), A.access_ptr("r"), T.int64(64)))
)").find("llvm.x86.tileloadd64") != std::string::npos);
}
