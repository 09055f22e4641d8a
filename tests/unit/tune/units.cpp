// The rule for matrix and dot-product units: the programs that it schedules, and the meaning of the results, by the interpreter.
#include <cmath>
#include <map>
#include <string>

#include "frontend/file.h"
#include "interp/compare.h"
#include "intrinsics/registry.h"
#include "ir/printer.h"
#include "schedule/schedule.h"
#include "syntax/document.h"
#include "tests/support/effort.h"
#include "tests/unit/catch.h"
#include "tune/space/sketch.h"

using namespace loopsmith;
using namespace loopsmith::tune;

namespace {

/// A machine with all units.
auto machine() -> target::Hardware {
  target::Hardware out;
  out.cores = 1;
  out.vector_bits = 512;
  out.vector_registers = 32;
  out.fma = out.avx512 = out.vnni = out.avx512_bf16 = out.amx_int8 = out.amx_bf16 = true;
  return out;
}

struct Applied { int points = 0; int refused = 0; int wrong = 0; std::string why; };

/// Applies some points of each sketch for a matrix or dot-product unit, and compares the results with those of the unscheduled program, both interpreted.
auto try_units(const std::string& text, const target::Hardware& hardware) -> std::map<std::string, Applied> {
  intrinsics::install();
  syntax::Document document(text);
  frontend::File file;
  file.update(document);
  const frontend::Declaration* program = file.find(Name("main"));
  REQUIRE((program && program->module));
  IRModule module = program->module;
  Sketches sketches;
  add_unit_sketches({module, Name("main"), hardware, cost::core_model(hardware)}, sketches);
  std::map<std::string, Applied> out;
  for (const auto& sketch : sketches) {
    Applied& applied = out[sketch->name()];
    uint64_t state = 11;
    for (int i = 0; i < 400 && applied.points < tests::size_of_test(6, 6, 2); ++i) {
      Point point;
      for (const Knob& knob : sketch->knobs()) { point.push_back(static_cast<uint16_t>((state = state * 6364136223846793005ULL + 1442695040888963407ULL) >> 33U) % static_cast<uint16_t>(knob.choices.size())); }
      if (!std::isfinite(sketch->draft(point))) { continue; }
      ++applied.points;
      schedule::Schedule sch(module, 1);
      Status done = sketch->apply(sch, point);
      if (!done.ok()) {
        ++applied.refused;
        applied.why = done.diagnostics()[0].message();
        continue;
      }
      auto same = interp::compare_modules(module, sch.module(), Name("main"));
      if (!same.ok() || !same->equal) {
        ++applied.wrong;
        applied.why = same.ok() ? print_script(sch.module()) : same.diagnostics()[0].message();
      }
    }
  }
  return out;
}

void check_units(const std::string& text, const std::vector<std::string>& expected, const target::Hardware& hardware = machine()) {
  INFO(text);
  auto found = try_units(text, hardware);
  std::vector<std::string> names;
  for (const auto& [name, applied] : found) {
    INFO(name << ": " << applied.why);
    names.push_back(name);
    CHECK(applied.points > 0);
    CHECK(applied.refused == 0);
    CHECK(applied.wrong == 0);
  }
  CHECK(names == expected);
}

/// C[m, n] += A[m, k] * B in the layout of `shape`, indexed by `index`; `rest` follows.
auto product(const std::string& a, const std::string& b, const std::string& c, const std::string& shape, const std::string& index, const std::string& sizes) -> std::string {
  const std::string zero = c == "float32" ? "T.float32(0)" : "0";
  return "@T.prim_func\ndef main(A: T.Buffer((32, 64), \"" + a + "\"), B: T.Buffer(" + shape + ", \"" + b + "\"), C: T.Buffer((32, 32), \"" + c + "\")):\n    for i, j, k in T.grid(" + sizes +
         "):\n        with T.block(\"C\"):\n            vi, vj, vk = T.axis.remap(\"SSR\", [i, j, k])\n            with T.init():\n                C[vi, vj] = " + zero +
         "\n            C[vi, vj] = C[vi, vj] + T.cast(A[vi, vk], \"" + c + "\") * T.cast(B[" + index + "], \"" + c + "\")\n";
}

}  // namespace

TEST_CASE("products of bfloat16 and of bytes are scheduled for tiles and dot products, whatever the layout of B") {
  check_units(product("bfloat16", "bfloat16", "float32", "(64, 32)", "vk, vj", "32, 32, 64"), {"dot products C", "tiles C"});
  check_units(product("bfloat16", "bfloat16", "float32", "(32, 64)", "vj, vk", "32, 32, 64"), {"dot products C", "tiles C"});
  check_units(product("bfloat16", "bfloat16", "float32", "(32, 32, 2)", "vk // 2, vj, vk % 2", "32, 32, 64"), {"dot products C", "tiles C"});
  check_units(product("uint8", "int8", "int32", "(64, 32)", "vk, vj", "32, 32, 64"), {"dot products C", "tiles C"});
  check_units(product("uint8", "int8", "int32", "(2, 16, 16, 4)", "vj // 16, vk // 4, vj % 16, vk % 4", "32, 32, 64"), {"dot products C", "tiles C"});
  check_units(product("int8", "int8", "int32", "(64, 32)", "vk, vj", "32, 32, 64"), {"tiles C"});
}

TEST_CASE("other types, other sizes and other machines are left to the other rules") {
  check_units(product("float32", "float32", "float32", "(64, 32)", "vk, vj", "32, 32, 64"), {});
  check_units(product("float16", "float16", "float32", "(64, 32)", "vk, vj", "32, 32, 64"), {});
  check_units(product("bfloat16", "bfloat16", "float32", "(64, 32)", "vk, vj", "32, 30, 64"), {});
  target::Hardware plain = machine();
  plain.amx_bf16 = plain.amx_int8 = false;
  check_units(product("bfloat16", "bfloat16", "float32", "(64, 32)", "vk, vj", "32, 32, 64"), {"dot products C"}, plain);
  plain.avx512_bf16 = false;
  check_units(product("bfloat16", "bfloat16", "float32", "(64, 32)", "vk, vj", "32, 32, 64"), {}, plain);
}

TEST_CASE("elementwise consumers run on the tile, and batches and convolutions are products") {
  check_units(R"(
@T.prim_func
def main(A: T.Buffer((32, 64), "bfloat16"), B: T.Buffer((64, 32), "bfloat16"), bias: T.Buffer((32,), "float32"), D: T.Buffer((32, 32), "float32")):
    C = T.alloc_buffer((32, 32), "float32")
    E = T.alloc_buffer((32, 32), "float32")
    for i, j, k in T.grid(32, 32, 64):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + T.cast(A[vi, vk], "float32") * T.cast(B[vk, vj], "float32")
    for i, j in T.grid(32, 32):
        with T.block("E"):
            vi, vj = T.axis.remap("SS", [i, j])
            E[vi, vj] = C[vi, vj] + bias[vj]
    for i, j in T.grid(32, 32):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = T.max(E[vi, vj], T.float32(0))
)", {"dot products C", "tiles C"});
  check_units(R"(
@T.prim_func
def main(A: T.Buffer((2, 16, 64), "uint8"), B: T.Buffer((2, 64, 16), "int8"), C: T.Buffer((2, 16, 16), "int32")):
    for b, i, j, k in T.grid(2, 16, 16, 64):
        with T.block("C"):
            vb, vi, vj, vk = T.axis.remap("SSSR", [b, i, j, k])
            with T.init():
                C[vb, vi, vj] = 0
            C[vb, vi, vj] = C[vb, vi, vj] + T.cast(A[vb, vi, vk], "int32") * T.cast(B[vb, vk, vj], "int32")
)", {"dot products C", "tiles C"});
  check_units(R"(
@T.prim_func
def main(X: T.Buffer((1, 4, 18, 32), "bfloat16"), W: T.Buffer((3, 3, 32, 16), "bfloat16"), Y: T.Buffer((1, 2, 16, 16), "float32")):
    for n, h, w, c, rh, rw, rc in T.grid(1, 2, 16, 16, 3, 3, 32):
        with T.block("Y"):
            vn, vh, vw, vc, vrh, vrw, vrc = T.axis.remap("SSSSRRR", [n, h, w, c, rh, rw, rc])
            with T.init():
                Y[vn, vh, vw, vc] = T.float32(0)
            Y[vn, vh, vw, vc] = Y[vn, vh, vw, vc] + T.cast(X[vn, vh + vrh, vw + vrw, vrc], "float32") * T.cast(W[vrh, vrw, vrc, vc], "float32")
)", {"dot products Y"});
  check_units(R"(
@T.prim_func
def main(X: T.Buffer((1, 2, 16, 32), "bfloat16"), W: T.Buffer((32, 16), "bfloat16"), Y: T.Buffer((1, 2, 16, 16), "float32")):
    for n, h, w, c, rc in T.grid(1, 2, 16, 16, 32):
        with T.block("Y"):
            vn, vh, vw, vc, vrc = T.axis.remap("SSSSR", [n, h, w, c, rc])
            with T.init():
                Y[vn, vh, vw, vc] = T.float32(0)
            Y[vn, vh, vw, vc] = Y[vn, vh, vw, vc] + T.cast(X[vn, vh, vw, vrc], "float32") * T.cast(W[vrc, vc], "float32")
)", {"dot products Y", "tiles Y"});
}
