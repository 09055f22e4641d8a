// Objects for other programs: a C compiler links them into a program without Loopsmith.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "support/process.h"
#include "tests/unit/codegen/build.h"

using namespace loopsmith;
using namespace loopsmith::test;
using namespace std::chrono_literals;

TEST_CASE("a standalone object links with libc and libm alone, and runs its parallel loops by itself") {
  const int n = 5000;
  Buffer a = buffer("A", f32, n);
  Buffer b = buffer("B", f32, n);
  Buffer t = make_buffer("T", f32, {int_imm(n)});
  Var i = var("i");
  Var j = var("j");
  // Workspace memory, a parallel loop, mathematics of our own and of libm.
  Stmt body = seq({loop(i, n, put(t, i, intrinsic(f32, "exp", {at(a, i)})), ForKind::Parallel),
                   loop(j, n, put(b, j, intrinsic(f32, "sin", {at(t, j)}) + float_imm(1)))});
  body = make<Allocate>(t->data, f32, Array<Expr>{int_imm(n)}, bool_imm(true), body, AttrMap{{Name("storage"), Attr("workspace")}});
  PrimFuncNode named = *function({a, b}, body);
  named.attrs = with_attr(named.attrs, "global_symbol", Attr("kernel"));
  auto object = codegen::emit(module_of(make_func(std::move(named))), target::host(), codegen::EmitKind::Object, {.hosted = false});
  if (!object.ok()) { FAIL(text_of(object.diagnostics())); }
  auto folder = std::filesystem::temp_directory_path() / ("loopsmith-objects-" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "kernel.o", std::ios::binary) << *object;
  std::ofstream(folder / "user.c") << R"(
    #include <math.h>
    #include <stdint.h>
    #include <stdio.h>
    extern int32_t kernel(const void* arguments);
    static float a[5000], b[5000];
    int main(void) {
      void* slots[2] = {a, b};
      for (int i = 0; i < 5000; ++i) { a[i] = (float)i / 5000; }
      if (kernel(slots) != 0) { return 2; }
      for (int i = 0; i < 5000; ++i) {
        if (fabs(b[i] - (sin(exp(a[i])) + 1)) > 1e-5) { printf("%d: %g\n", i, b[i]); return 1; }
      }
      puts("same");
      return 0;
    })";
  for (const char* how : {"-pie", "-no-pie"}) {
    auto linked = run_program({.argv = {"cc", how, "-fPIE", "-o", (folder / "user").string(), (folder / "user.c").string(), (folder / "kernel.o").string(), "-lm"}}, "", in(60s));
    REQUIRE(linked.ok());
    REQUIRE(linked->status.succeeded());
    auto ran = run_program({.argv = {(folder / "user").string()}}, "", in(20s));
    REQUIRE(ran.ok());
    CHECK(ran->output == "same\n");
  }
  auto shared = run_program({.argv = {"cc", "-shared", "-Wl,-z,text", "-o", (folder / "kernel.so").string(), (folder / "kernel.o").string(), "-lm"}}, "", in(60s));
  REQUIRE(shared.ok());
  CHECK(shared->status.succeeded());
  std::filesystem::remove_all(folder);
}
