// The built-in tensor intrinsics: every script evaluates, and every pair is an intrinsic. Also intrinsics that files register.
#include <set>
#include <string>

#include "frontend/file.h"
#include "intrinsics/registry.h"
#include "ir/printer.h"
#include "schedule/tensor_mapping.h"
#include "support/diagnostic.h"
#include "syntax/document.h"
#include "tests/unit/catch.h"

using namespace loopsmith;

namespace {

auto table() -> const schedule::IntrinsicTable& {
  intrinsics::install();
  return *schedule::builtin_intrinsics();
}

// Programs of a file by name.
struct Source {
  explicit Source(std::string text) : document(std::move(text)), file(intrinsics::predeclared) { file.update(document); }
  syntax::Document document;
  frontend::File file;
};

/// A description that is also the implementation.
constexpr std::string_view copy_of_four = R"(
@T.prim_func
def one(A: T.Buffer((4,), "float32", offset_factor=1), B: T.Buffer((4,), "float32", offset_factor=1)):
    with T.block("root"):
        T.reads(A[0:4])
        T.writes(B[0:4])
        for i in range(4):
            with T.block("copy"):
                vi = T.axis.spatial(4, i)
                B[vi] = A[vi]
)";

}  // namespace

TEST_CASE("every built-in intrinsic can be read") {
  std::set<std::string> names;
  for (Name name : table().names()) {
    INFO(name.str());
    const schedule::TensorIntrin* intrinsic = table().find(name);
    REQUIRE(intrinsic != nullptr);
    CHECK(!schedule::why_no_intrinsic(intrinsic->description, intrinsic->implementation));
    CHECK(names.insert(name.str()).second);
  }
  CHECK(names.size() > 100);
  CHECK(table().find(Name("no_such_unit")) == nullptr);
}

TEST_CASE("a description matches itself, and a copy of it has variables of its own") {
  for (const char* name : {"dot_16x4_vnni", "dp4a_s8s8s32", "wmma_sync_16x16x16_f16f16f32_trans", "mma_f16f16f32", "mma_ldmatrix_i8_b", "amx_16x16x64_u8i8i32", "rocm_mfma_f16f16f32"}) {
    INFO(name);
    const schedule::TensorIntrin* intrinsic = table().find(Name(name));
    REQUIRE(intrinsic != nullptr);
    PrimFunc copy = schedule::fresh_copy(intrinsic->description, 32);
    schedule::IntrinsicMatch match;
    auto mismatch = schedule::match_intrinsic(*copy->body.as<BlockRealize>(), intrinsic->description, match);
    CHECK((mismatch ? mismatch->why.text() : std::string()) == "");
    CHECK(match.buffers.size() == copy->params.size());
    CHECK(print_script(copy) == print_script(intrinsic->description));
    for (size_t i = 0; i < copy->params.size(); ++i) { CHECK(!(copy->buffer_of(copy->params[i]) == intrinsic->description->buffer_of(intrinsic->description->params[i]))); }
  }
}

TEST_CASE("an implementation takes the width of the indices around it") {
  const schedule::TensorIntrin* intrinsic = table().find(Name("wmma_load_16x16x16_f16_a_shared"));
  REQUIRE(intrinsic != nullptr);
  std::string text = print_script(schedule::fresh_copy(intrinsic->implementation, 64));
  INFO(text);
  CHECK(text.find("T.int64(16)") != std::string::npos);
}

TEST_CASE("a file registers intrinsics of its own, a later one of a name for an earlier") {
  Source source(std::string(copy_of_four) + R"(
@T.prim_func
def two(A: T.Buffer((4,), "float32", offset_factor=1), B: T.Buffer((4,), "float32", offset_factor=1)):
    with T.block("root"):
        T.reads(A[0:4])
        T.writes(B[0:4])
        B[0:4] = A[0:4]

@T.prim_func
def loops(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        with T.block("copy"):
            vi = T.axis.spatial(4, i)
            B[vi] = A[vi]

TensorIntrin.register("copy", one, one)
TensorIntrin.register("copy", one, two)
tir.TensorIntrin.register("other", one, two)
TensorIntrin.register("wrong", one, loops)
TensorIntrin.register("missing", one)
TensorIntrin.register(7, one, two)
)");
  Diagnostics diagnostics;
  auto found = intrinsics::registered_in(source.file, diagnostics);
  REQUIRE(found.size() == 2);
  CHECK(found[0].name.str() == "copy");
  CHECK(found[1].name.str() == "other");
  CHECK(!(found[0].implementation == found[0].description));
  REQUIRE(diagnostics.size() == 3);
  CHECK(diagnostics[0].message() == "`wrong` is not a tensor intrinsic: the root block of its implementation declares no access to `A` in `T.reads` or `T.writes`");
  CHECK(diagnostics[1].message() == "`missing` is not a tensor intrinsic: it needs a description and an implementation");
  CHECK(diagnostics[2].message() == "`?` is not a tensor intrinsic: its name is not a string");
}

TEST_CASE("each registration has the limits of a script, however much was evaluated before it") {
  Source source(std::string(copy_of_four) + R"(
def name():
    out = "c"
    for i in range(50):
        out += "p"
    return out

TensorIntrin.register(name(), one, one)
)");
  source.file.evaluator().limits.steps = 1000;
  for (int i = 0; i < 10; ++i) {
    Diagnostics diagnostics;
    CHECK(intrinsics::registered_in(source.file, diagnostics).size() == 1);
    CHECK(diagnostics.empty());
  }
}

TEST_CASE("the loops that an intrinsic tiles are found by kind, from the last") {
  Source source(R"(
@T.prim_func
def dense(A: T.Buffer((5, 30, 70), "uint8"), B: T.Buffer((48, 70), "int8"), C: T.Buffer((5, 30, 48), "int32")):
    for b, i, k, j in T.grid(5, 30, 70, 48):
        with T.block("C"):
            vb, vi, vj, vk = T.axis.remap("SSSR", [b, i, j, k])
            with T.init():
                C[vb, vi, vj] = 0
            C[vb, vi, vj] = C[vb, vi, vj] + T.Cast("int32", A[vb, vi, vk]) * T.Cast("int32", B[vj, vk])
)");
  const frontend::Declaration* program = source.file.find(Name("dense"));
  REQUIRE((program && program->module));
  schedule::State state(program->module);
  const schedule::FuncState& func = *state.func(Name("main"));
  const schedule::Place& block = func.places().back();
  auto map = [&](const char* name, bool allow_padding) { return schedule::map_tensorize_loops(func, block, table().find(Name(name))->description, allow_padding); };
  CHECK(!map("dot_16x4_vnni", false));   // 70 is not a multiple of 4
  auto padded = map("dot_16x4_vnni", true);
  REQUIRE(padded);
  REQUIRE(padded->size() == 2);
  CHECK((*padded)[0].loop->name().str() == "j");
  CHECK((*padded)[0].tile == 16);
  CHECK((*padded)[0].padded_extent == 48);
  CHECK((*padded)[1].loop->name().str() == "k");
  CHECK((*padded)[1].padded_extent == 72);
  auto tiles = map("wmma_sync_16x16x16_s8s8s32_trans", true);
  REQUIRE(tiles);
  REQUIRE(tiles->size() == 3);
  CHECK((*tiles)[0].loop->name().str() == "i");
  CHECK((*tiles)[0].padded_extent == 32);
  CHECK((*tiles)[2].padded_extent == 80);
  CHECK(!map("wmma_fill_16x16x16_f32", false));
}

TEST_CASE("a convolution is seen as the matrix product of a unit") {
  Source source(R"(
@T.prim_func
def conv2d(data: T.Buffer((1, 18, 18, 64), "float16"), weight: T.Buffer((3, 3, 64, 32), "float16"), out: T.Buffer((1, 16, 16, 32), "float32")):
    for n, h, w, c, rh, rw, rc in T.grid(1, 16, 16, 32, 3, 3, 64):
        with T.block("conv"):
            vn, vh, vw, vc, vrh, vrw, vrc = T.axis.remap("SSSSRRR", [n, h, w, c, rh, rw, rc])
            with T.init():
                out[vn, vh, vw, vc] = T.float32(0)
            out[vn, vh, vw, vc] = out[vn, vh, vw, vc] + T.Cast("float32", data[vn, vh + vrh, vw + vrw, vrc]) * T.Cast("float32", weight[vrh, vrw, vrc, vc])

@T.prim_func
def batched(A: T.Buffer((8, 30, 70), "float16"), B: T.Buffer((8, 70, 48), "float16"), C: T.Buffer((8, 30, 48), "float32")):
    for b, i, k, j in T.grid(8, 30, 70, 48):
        with T.block("C"):
            vb, vi, vk, vj = T.axis.remap("SSRS", [b, i, k, j])
            with T.init():
                C[vb, vi, vj] = T.float32(0)
            C[vb, vi, vj] = C[vb, vi, vj] + T.Cast("float32", A[vb, vi, vk]) * T.Cast("float32", B[vb, vk, vj])

@T.prim_func
def row_sum(A: T.Buffer((16, 64), "float16"), C: T.Buffer((16,), "float32")):
    for i, k in T.grid(16, 64):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = T.float32(0)
            C[vi] = C[vi] + T.Cast("float32", A[vi, vk])

@T.prim_func
def gram(A: T.Buffer((32, 64), "float16"), C: T.Buffer((32, 32), "float32")):
    for i, j, k in T.grid(32, 32, 64):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + T.Cast("float32", A[vi, vk]) * T.Cast("float32", A[vj, vk])
)");
  auto map = [&](const char* program, const char* unit) {
    const frontend::Declaration* declaration = source.file.find(Name(program));
    REQUIRE((declaration && declaration->module));
    schedule::State state(declaration->module);
    const schedule::FuncState& func = *state.func(Name("main"));
    return schedule::map_iters_to_unit(*func.places().back().block(), table().find(Name(unit))->description);
  };
  auto conv = map("conv2d", "wmma_sync_16x16x16_f16f16f32");
  REQUIRE(conv);
  CHECK(print_script(conv->map) == "T.index_map(lambda vn, vh, vw, vc, vrh, vrw, vrc: (vn * 256 + vh * 16 + vw, vc, vrh * 192 + vrw * 64 + vrc))");
  CHECK(conv->leading == 0);
  CHECK(conv->extents == std::vector<int64_t>{256, 32, 576});
  REQUIRE(conv->buffers.size() == 3);
  CHECK(conv->buffers[0].first->name.str() == "data");
  CHECK(conv->buffers[1].first->name.str() == "weight");
  CHECK(conv->buffers[2].second->name.str() == "C");
  // The batch dimension is in all three buffers, and corresponds to no dimension of the unit.
  auto batched = map("batched", "wmma_sync_16x16x16_f16f16f32");
  REQUIRE(batched);
  CHECK(print_script(batched->map) == "T.index_map(lambda vb, vi, vk, vj: (vb, vi, vj, vk))");
  CHECK(batched->leading == 1);
  CHECK(!map("conv2d", "wmma_sync_16x16x16_s8s8s32"));        // other types
  CHECK(!map("row_sum", "wmma_sync_16x16x16_f16f16f32"));     // no product
  CHECK(!map("gram", "wmma_sync_16x16x16_f16f16f32"));        // one buffer for two
}
