// The whole path: a file's text, its programs and schedule functions, lowering, compiled code. The results must equal
// those of the reference interpreter on the unscheduled program.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "frontend/file.h"
#include "interp/compare.h"
#include "intrinsics/registry.h"
#include "ir/printer.h"
#include "script/run.h"
#include "support/process.h"
#include "target/hardware.h"
#include "tests/support/paths.h"
#include "tests/unit/codegen/build.h"
#include "transform/pipelines.h"

using namespace loopsmith;
using namespace loopsmith::test;

namespace {

struct Version { std::string name; IRModule module; };
struct Program { std::string name; IRModule module; std::vector<Version> scheduled; };

/// The programs of a text, each with the results of its schedule functions.
auto programs_of(const std::string& text) -> std::vector<Program> {
  syntax::Document document(text);
  frontend::File file;
  file.update(document);
  for (const Diagnostic& d : file.diagnostics()) {
    // Higher rooms define `ls`.
    if (d.message() == "`ls` is not defined") { continue; }
    INFO(d.message());
    CHECK(d.severity != Severity::Error);
  }
  std::vector<Program> out;
  for (size_t i = 0; i < file.size(); ++i) {
    const frontend::Declaration& d = file.declaration(i);
    if (d.module) { out.push_back({d.item->name.str(), d.module, {}}); }
  }
  for (size_t i = 0; i < file.size(); ++i) {
    syntax::ItemPtr item = file.item(i);
    for (const syntax::Stmt* stmt : item->statements) {
      const auto* def = stmt->as<syntax::FunctionDef>();
      auto function = def != nullptr ? script::as_schedule_function(*def, item, item->text) : std::nullopt;
      const auto* name = function && function->program != nullptr ? function->program->as<syntax::NameExpr>() : nullptr;
      if (name == nullptr) { continue; }
      for (Program& p : out) {
        if (name->name.str() != p.name) { continue; }
        script::RunRequest request;
        request.function = *function;
        request.program = p.module;
        request.globals = &file;
        request.heap = std::make_shared<eval::Heap>();
        script::ScheduleRun run = script::run_schedule(request);
        for (const Diagnostic& problem : run.all_diagnostics()) { FAIL_CHECK(item->name.str() << ": " << problem.message()); }
        if (run.result) { p.scheduled.push_back({item->name.str(), run.result->module()}); }
      }
    }
  }
  return out;
}

auto value_of(const interp::Argument& argument) -> runtime::Value {
  if (const auto* view = std::get_if<TensorView>(&argument)) { return *view; }
  if (const auto* integer = std::get_if<int64_t>(&argument)) { return *integer; }
  return std::get<double>(argument);
}

/// Runs the module compiled, and the program interpreted, on the same inputs.
void check_same(const IRModule& program, const IRModule& module, const codegen::CodegenOptions& options = {}) {
  const PrimFunc& func = program->functions[0].second;
  auto flat = transform::lower(module);
  if (!flat.ok()) { FAIL(text_of(flat.diagnostics())); }
  auto compiled = runtime::JitModule::compile(*flat, target::host(), options, module);
  if (!compiled.ok()) { FAIL(text_of(compiled.diagnostics()) << print_script(*flat)); }
  for (interp::Contents contents : {interp::Contents::SmallIntegers, interp::Contents::Reals}) {
    bool exact = contents == interp::Contents::SmallIntegers && interp::is_exact_on_integers(func);
    auto inputs = interp::make_inputs(func, 7, contents);
    REQUIRE(inputs.ok());
    interp::Inputs ours = interp::copy_inputs(*inputs);
    auto ran = interp::interpret(program, program->functions[0].first, inputs->arguments);
    if (!ran.ok()) { FAIL(text_of(ran.diagnostics())); }
    std::vector<runtime::Value> values;
    for (const auto& a : ours.arguments) { values.push_back(value_of(a)); }
    auto status = runtime::call(compiled->functions().front(), values);
    if (!status.ok()) { FAIL(text_of(status.diagnostics())); }
    for (size_t i = 0; i < values.size(); ++i) {
      const auto* expected = std::get_if<TensorView>(&inputs->arguments[i]);
      if (expected == nullptr) { continue; }
      auto difference = interp::compare_tensors(func->params[i]->name.str(), *expected, std::get<TensorView>(ours.arguments[i]), exact);
      INFO(difference.where << ", " << difference.elements << " differ");
      CHECK_FALSE(difference.found);
    }
  }
}

auto read(const std::string& path) -> std::string {
  std::ifstream file(path);
  std::ostringstream out;
  out << file.rdbuf();
  return out.str();
}

/// Replaces sizes in an example, as "512" by "48": the interpreter needs small ones.
auto resized(std::string text, const std::vector<std::pair<std::string, std::string>>& changes) -> std::string {
  for (const auto& [from, to] : changes) {
    for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) { text.replace(at, from.size(), to); }
  }
  return text;
}

void check_file(const std::string& name, const std::vector<std::pair<std::string, std::string>>& changes) {
  auto programs = programs_of(resized(read(tests::source_folder() + "/examples/" + name), changes));
  REQUIRE_FALSE(programs.empty());
  for (const Program& p : programs) {
    INFO(p.name);
    CHECK_FALSE(p.scheduled.empty());
    check_same(p.module, p.module);
    check_same(p.module, p.module, {.opt_level = 0});
    for (const Version& v : p.scheduled) {
      INFO(v.name);
      check_same(p.module, v.module);
      check_same(p.module, v.module, {.opt_level = 0});
    }
  }
}

}  // namespace

TEST_CASE("the examples, plain and scheduled, give the interpreter's results") {
  check_file("matmul.tir", {{"512", "64"}});
  check_file("matmul.tir", {{"512, 512), \"float32\"", "96, 96), \"float32\""}, {"grid(512, 512, 512)", "grid(96, 96, 96)"}});
  check_file("softmax.tir", {{"256", "8"}});
  check_file("conv2d_bias_relu.tir", {{"28", "7"}, {"30", "9"}, {"29", "8"}, {"64", "32"}});
}

namespace {

struct InnerLoop { int products = 0; int on_stack = 0; };

/// The innermost loop with the most multiply-adds in x86 assembly: those, and accesses relative to the stack pointer.
auto inner_loop(const std::string& assembly) -> InnerLoop {
  std::vector<std::string> lines;
  std::istringstream in(assembly);
  for (std::string line; std::getline(in, line);) { lines.push_back(line); }
  InnerLoop best;
  size_t last_end = 0;   // the end of the loop before: a loop that begins above it contains that loop
  for (size_t end = 0; end < lines.size(); ++end) {
    size_t target = lines[end].find(".LBB");
    if (lines[end].find("\tj") == std::string::npos || target == std::string::npos) { continue; }
    size_t begin = end;
    while (begin > 0 && lines[begin].rfind(lines[end].substr(target) + ":", 0) != 0) { --begin; }
    if (begin == 0 || begin < last_end) { continue; }
    last_end = end;
    InnerLoop here;
    for (size_t i = begin; i < end; ++i) {
      here.products += lines[i].find("vfmadd") != std::string::npos ? 1 : 0;
      here.on_stack += lines[i].find("(%rsp") != std::string::npos || lines[i].find("(%rbp") != std::string::npos ? 1 : 0;
    }
    if (here.products > best.products) { best = here; }
  }
  return best;
}

auto inner_loop_of(const std::string& text, const std::string& schedule, const std::string& target_text) -> InnerLoop {
  auto target = target::parse(target_text);
  REQUIRE(target.ok());
  for (const Program& p : programs_of(text)) {
    for (const Version& v : p.scheduled) {
      if (v.name != schedule) { continue; }
      auto flat = transform::lower(v.module);
      REQUIRE(flat.ok());
      auto assembly = codegen::emit(*flat, *target, codegen::EmitKind::Assembly, {.hosted = false});
      if (!assembly.ok()) { FAIL(text_of(assembly.diagnostics())); }
      return inner_loop(*assembly);
    }
  }
  FAIL("there is no schedule " << schedule);
  return {};
}

}  // namespace

TEST_CASE("register tiles stay in registers: no access to the stack in the inner loop of a matrix product") {
  const std::string text = read(tests::source_folder() + "/examples/matmul_1024.tir");
  const std::string avx2 = "llvm -mtriple=x86_64-pc-linux-gnu -mcpu=haswell -num-cores=1";
  const std::string avx512 = "llvm -mtriple=x86_64-pc-linux-gnu -mcpu=skylake-avx512 -num-cores=1";
  InnerLoop small = inner_loop_of(text, "tile_6_by_16", avx2);
  CHECK(small.products % 12 == 0);
  CHECK(small.products > 0);
  CHECK(small.on_stack == 0);
  InnerLoop large = inner_loop_of(text, "tile_4_by_64", avx512);
  CHECK(large.products % 16 == 0);
  CHECK(large.products > 0);
  CHECK(large.on_stack == 0);
  // A tile that exceeds the registers uses the stack.
  CHECK(inner_loop_of(resized(text, {{"tiled(sch, 6, 16, 8)", "tiled(sch, 16, 16, 8)"}}), "tile_6_by_16", avx2).on_stack > 0);
}

TEST_CASE("stores past the caches are waited for where others may learn of them, not behind each loop; every line of a long vector is fetched") {
  auto programs = programs_of(R"(
@T.prim_func
def rows(x: T.Buffer((8, 1024), "float32"), y: T.Buffer((8, 1024), "float32"), z: T.Buffer((8, 1024), "float32")):
    T.func_attr({"tir.noalias": T.bool(True)})
    for i, j in T.grid(8, 1024):
        with T.block("y"):
            vi, vj = T.axis.remap("SS", [i, j])
            y[vi, vj] = x[vi, vj] * T.float32(2)
    for i, j in T.grid(8, 1024):
        with T.block("z"):
            vi, vj = T.axis.remap("SS", [i, j])
            z[vi, vj] = y[7 - vi, vj] + T.float32(1)

@ls.schedule(rows)
def serial(sch: tir.Schedule) -> None:
    i, j = sch.get_loops("y")
    j0, j1 = sch.split(j, factors=[None, 64])
    sch.vectorize(j1)
    sch.annotate(j0, "pragma_nontemporal_store", 1)
    sch.annotate(j0, "pragma_prefetch", 2048)
    i, j = sch.get_loops("z")
    sch.parallel(i)

@ls.schedule(rows)
def parallel(sch: tir.Schedule) -> None:
    i, j = sch.get_loops("y")
    sch.parallel(i)
    j0, j1 = sch.split(j, factors=[None, 16])
    sch.vectorize(j1)
    sch.annotate(j0, "pragma_nontemporal_store", 1)
)");
  REQUIRE(programs.size() == 1);
  REQUIRE(programs[0].scheduled.size() == 2);
  auto target = target::parse("llvm -mtriple=x86_64-pc-linux-gnu -mcpu=skylake-avx512 -num-cores=2");
  REQUIRE(target.ok());
  for (const Version& v : programs[0].scheduled) {
    INFO(v.name);
    auto flat = transform::lower(v.module);
    REQUIRE(flat.ok());
    auto code = codegen::emit(*flat, *target, codegen::EmitKind::LlvmIR, {.opt_level = 0});
    if (!code.ok()) { FAIL(text_of(code.diagnostics())); }
    // Each function, with its streaming stores, fences, calls of the pool and returns.
    std::vector<std::string> functions;
    std::istringstream lines(*code);
    size_t fetched = 0;
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("define")) { functions.emplace_back(); }
      if (functions.empty()) { continue; }
      auto has = [&](const char* word) { return line.find(word) != std::string::npos; };
      if (has("!nontemporal") && functions.back().find('s') == std::string::npos) { functions.back() += 's'; }
      if (has("call void @llvm.x86.sse.sfence(")) { functions.back() += 'f'; }
      if (has("@loopsmith_parallel(")) { functions.back() += 'p'; }
      if (has(" ret ")) { functions.back() += 'r'; }
      if (has("call void @llvm.prefetch")) { ++fetched; }
    }
    auto streaming = std::find_if(functions.begin(), functions.end(), [](const std::string& f) { return f.find('s') != std::string::npos; });
    REQUIRE(streaming != functions.end());
    INFO(*streaming);
    // A fence in front of each call and return, and no other.
    for (size_t i = 0; i < streaming->size(); ++i) {
      if ((*streaming)[i] == 'p' || (*streaming)[i] == 'r') { CHECK((i > 0 && (*streaming)[i - 1] == 'f')); }
      if ((*streaming)[i] == 'f') { CHECK((i + 1 < streaming->size() && (*streaming)[i + 1] != 's' && (*streaming)[i + 1] != 'f')); }
    }
    CHECK((streaming->find('p') != std::string::npos) == (v.name == "serial"));
    CHECK(streaming->find('r') != std::string::npos);
    if (v.name == "serial") { CHECK(fetched == 8); }   // 64 floats are four cache lines; the function has two versions, for aligned and for other memory
    auto same = interp::compare_modules(programs[0].module, *flat, programs[0].module->functions[0].first);
    CHECK(same.ok());
  }
}

TEST_CASE("a tensorized dot product of bytes becomes the unit's instruction, and gives the interpreter's results") {
  intrinsics::install();
  auto programs = programs_of(R"(
@T.prim_func
def dense(A: T.Buffer((8, 12), "uint8"), B: T.Buffer((2, 3, 16, 4), "int8"), C: T.Buffer((8, 32), "int32")):
    for i, j, k in T.grid(8, 32, 12):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0
            C[vi, vj] = C[vi, vj] + T.Cast("int32", A[vi, vk]) * T.Cast("int32", B[vj // 16, vk // 4, vj % 16, vk % 4])

@ls.schedule(dense)
def vnni(sch: tir.Schedule) -> None:
    i, j, k = sch.get_loops("C")
    j0, j1 = sch.split(j, factors=[None, 16])
    k0, k1 = sch.split(k, factors=[None, 4])
    sch.reorder(i, j0, k0, j1, k1)
    sch.parallel(i)
    sch.decompose_reduction("C", k0)
    i, j0, k0, j1, k1 = sch.get_loops("C_update")
    sch.tensorize(j1, "dot_16x4_vnni")

@ls.schedule(dense)
def avx512(sch: tir.Schedule) -> None:
    i, j, k = sch.get_loops("C")
    j0, j1 = sch.split(j, factors=[None, 16])
    k0, k1 = sch.split(k, factors=[None, 4])
    sch.reorder(i, j0, k0, j1, k1)
    sch.decompose_reduction("C", k0)
    i, j0, k0, j1, k1 = sch.get_loops("C_update")
    sch.tensorize(j1, "dot_16x4_avx512")
)");
  REQUIRE(programs.size() == 1);
  REQUIRE(programs[0].scheduled.size() == 2);
  const Program& p = programs[0];
  auto assembly = [&](const Version& v, const target::Target& target) {
    auto flat = transform::lower(v.module);
    if (!flat.ok()) { FAIL(text_of(flat.diagnostics())); }
    auto code = codegen::emit(*flat, target, codegen::EmitKind::Assembly);
    return code.ok() ? std::move(code).value() : code.diagnostics()[0].message();
  };
  auto of_cpu = [](const char* cpu) {
    auto target = target::parse(std::string("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=") + cpu);
    REQUIRE(target.ok());
    return std::move(target).value();
  };
  CHECK(assembly(p.scheduled[0], of_cpu("cascadelake")).find("vpdpbusd") != std::string::npos);
  CHECK(assembly(p.scheduled[0], of_cpu("haswell")).find("the target has no `avx512vnni`") != std::string::npos);
  CHECK(assembly(p.scheduled[1], of_cpu("skylake-avx512")).find("vpmaddubsw") != std::string::npos);
  // Runs on machines with the unit; the interpreter runs the program everywhere.
  for (size_t i = 0; i < 2; ++i) {
    auto flat = transform::lower(p.scheduled[i].module);
    REQUIRE(flat.ok());
    auto same = interp::compare_modules(p.module, *flat, p.module->functions[0].first);
    REQUIRE(same.ok());
    CHECK(same->equal);
    if (codegen::emit(*flat, target::host(), codegen::EmitKind::Assembly).ok()) { check_same(p.module, p.scheduled[i].module); }
  }
}

TEST_CASE("instructions of x86 give the interpreter's results for any bits of their operands") {
  struct Instruction { const char* name; const char* result; std::vector<const char*> arguments; };
  const std::vector<Instruction> instructions = {
      {"llvm.x86.avx512.vpdpbusd.512", "int32x16", {"int32x16", "int32x16", "int32x16"}},
      {"llvm.x86.avx512.vpdpbusd.256", "int32x8", {"int32x8", "int32x8", "int32x8"}},
      {"llvm.x86.avx512.vpdpbusd.128", "int32x4", {"int32x4", "int32x4", "int32x4"}},
      {"llvm.x86.avx512.vpdpbusds.512", "int32x16", {"int32x16", "int32x16", "int32x16"}},
      {"llvm.x86.avx512.vpdpwssd.512", "int32x16", {"int32x16", "int32x16", "int32x16"}},
      {"llvm.x86.avx512.vpdpwssds.512", "int32x16", {"int32x16", "int32x16", "int32x16"}},
      {"llvm.x86.avx512.pmaddubs.w.512", "int16x32", {"uint8x64", "int8x64"}},
      {"llvm.x86.avx512.pmaddw.d.512", "int32x16", {"int16x32", "int16x32"}},
      {"llvm.x86.avx2.pmadd.ub.sw", "int16x16", {"uint8x32", "int8x32"}},
      {"llvm.x86.avx2.pmadd.wd", "int32x8", {"int16x16", "int16x16"}},
      {"llvm.x86.avx512bf16.dpbf16ps.512", "float32x16", {"float32x16", "bfloat16x32", "bfloat16x32"}},
      {"llvm.x86.avx512bf16.dpbf16ps.256", "float32x8", {"float32x8", "bfloat16x16", "bfloat16x16"}},
      {"llvm.x86.avx512bf16.dpbf16ps.128", "float32x4", {"float32x4", "bfloat16x8", "bfloat16x8"}},
  };
  constexpr int times = 512;
  size_t run_here = 0;
  for (const Instruction& instruction : instructions) {
    INFO(instruction.name);
    auto parts = [](std::string_view type) { return std::pair(std::string(type.substr(0, type.find('x'))), std::string(type.substr(type.find('x') + 1))); };
    std::string params;
    std::string operands;
    for (size_t i = 0; i < instruction.arguments.size(); ++i) {
      auto [element, lanes] = parts(instruction.arguments[i]);
      params += fmt::format("A{}: T.Buffer(({}, {}), \"{}\"), ", i, times, lanes, element);
      operands += fmt::format(", A{}[i, 0:{}]", i, lanes);
    }
    auto [element, lanes] = parts(instruction.result);
    auto programs = programs_of(fmt::format(R"(
@T.prim_func
def main({0}R: T.Buffer(({1}, {2}), "{3}")):
    for i in range({1}):
        R[i, 0:{2}] = T.call_llvm_pure_intrin("{4}", "{5}", T.uint32({6}){7})
)", params, times, lanes, element, instruction.result, instruction.name, instruction.arguments.size(), operands));
    REQUIRE(programs.size() == 1);
    const IRModule& program = programs[0].module;
    const PrimFunc& func = program->functions[0].second;
    auto flat = transform::lower(program);
    REQUIRE(flat.ok());
    // Random bits; for reals with exponents that sums of products can reach, those of subnormal numbers included.
    auto inputs = interp::make_inputs(func, 5, interp::Contents::SmallIntegers);
    REQUIRE(inputs.ok());
    uint64_t state = 88172645463325252U;
    auto random = [&] { state ^= state << 13U; state ^= state >> 7U; state ^= state << 17U; return static_cast<uint32_t>(state >> 16U); };
    for (size_t i = 0; i + 1 < inputs->storage.size(); ++i) {
      const auto& view = std::get<TensorView>(inputs->arguments[i]);
      auto* bytes = static_cast<char*>(view.data);
      auto fill = [&](auto zero, int mantissa) {
        for (size_t at = 0; at + sizeof(zero) <= inputs->storage[i].size(); at += sizeof(zero)) {
          uint32_t bits = random();
          if (mantissa > 0) {
            uint32_t exponent = random() % 4 == 0 ? random() % 3 : 50 + random() % 100;
            bits = (bits & ((1U << static_cast<uint32_t>(mantissa)) - 1)) | (exponent << static_cast<uint32_t>(mantissa)) | (random() % 2 << static_cast<uint32_t>(mantissa + 8));
          }
          auto value = static_cast<decltype(zero)>(bits);
          std::memcpy(bytes + at, &value, sizeof(value));
        }
      };
      DataType type = func->buffer_of(func->params[i])->dtype;
      if (type.is_bfloat16()) { fill(uint16_t{}, 7); } else if (type.is_real()) { fill(uint32_t{}, 23); } else { fill(uint8_t{}, 0); }
    }
    interp::Inputs ours = interp::copy_inputs(*inputs);
    auto expected = interp::interpret(program, program->functions[0].first, inputs->arguments);
    if (!expected.ok()) { FAIL(text_of(expected.diagnostics())); }
    // Runs if this machine has the unit.
    if (!codegen::emit(*flat, target::host(), codegen::EmitKind::Assembly).ok()) { continue; }
    ++run_here;
    auto code = runtime::JitModule::compile(*flat, target::host(), {}, program);
    if (!code.ok()) { FAIL(text_of(code.diagnostics())); }
    std::vector<runtime::Value> values;
    for (const auto& a : ours.arguments) { values.push_back(value_of(a)); }
    auto status = runtime::call(code->functions().front(), values);
    if (!status.ok()) { FAIL(text_of(status.diagnostics())); }
    CHECK(std::memcmp(std::get<TensorView>(inputs->arguments.back()).data, std::get<TensorView>(ours.arguments.back()).data, inputs->storage.back().size()) == 0);
  }
  UNSCOPED_INFO(run_here << " of " << instructions.size() << " ran");
  target::Hardware here = target::hardware(target::host());
  CHECK(run_here >= (here.avx512 && here.vnni && here.avx512_bf16 ? instructions.size() : 0));
}

TEST_CASE("debug information: addresses of the code are lines of the script") {
  const std::string text = R"(@T.prim_func
def kernel(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32"), n: T.int32):
    T.func_attr({"global_symbol": "kernel"})
    for i in T.parallel(64):
        with T.block("B"):
            vi = T.axis.spatial(64, i)
            B[vi] = T.sin(
                A[vi],
            )
    for j in range(n):
        B[j] = B[j] / T.float32(3)
)";
  auto programs = programs_of(text);
  REQUIRE(programs.size() == 1);
  auto flat = transform::lower(programs[0].module);
  REQUIRE(flat.ok());
  codegen::CodegenOptions options;
  options.hosted = false;
  // The declaration begins the text.
  options.locate = [&](const Origin& origin) -> std::optional<codegen::SourcePlace> {
    auto line = static_cast<uint32_t>(1 + std::count(text.begin(), text.begin() + origin.begin, '\n'));
    return codegen::SourcePlace{"/somewhere/kernel.tir", line, 1};
  };
  auto folder = std::filesystem::temp_directory_path() / ("loopsmith-lines-" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  auto path = [&](const char* name) { return (folder / name).string(); };
  for (int level : {0, 2}) {
    options.opt_level = level;
    auto object = codegen::emit(*flat, target::host(), codegen::EmitKind::Object, options);
    if (!object.ok()) { FAIL(text_of(object.diagnostics())); }
    std::ofstream(path("kernel.o"), std::ios::binary) << *object;
    auto output = [&](const std::vector<std::string>& argv, const std::string& input = "") {
      auto ran = run_program({.argv = argv}, input, in(std::chrono::seconds(60)));
      REQUIRE(ran.ok());
      REQUIRE(ran->status.succeeded());
      return ran->output;
    };
    output({"cc", "-shared", "-o", path("kernel.so"), path("kernel.o"), "-lm"});
    // Addresses and sizes of the code.
    std::istringstream symbols(output({"objdump", "-h", path("kernel.so")}));
    std::string addresses;
    for (std::string line; std::getline(symbols, line);) {
      std::istringstream columns(line);
      std::string number, name, size, address;
      columns >> number >> name >> size >> address;
      if (name != ".text") { continue; }
      uint64_t first = std::stoull(address, nullptr, 16);
      for (uint64_t a = first; a < first + std::stoull(size, nullptr, 16); ++a) { addresses += fmt::format("{:#x}\n", a); }
    }
    std::istringstream places(output({"addr2line", "-e", path("kernel.so")}, addresses));
    std::set<std::string> lines;
    for (std::string line; std::getline(places, line);) {
      if (line.find("kernel.tir") != std::string::npos) { lines.insert(line.substr(0, line.find(" ("))); }
    }
    INFO(fmt::format("level {}: {}", level, fmt::join(lines, " ")));
    CHECK(lines.contains("/somewhere/kernel.tir:7"));    // the call and the store
    CHECK(lines.contains("/somewhere/kernel.tir:8"));    // the load
    CHECK(lines.contains("/somewhere/kernel.tir:11"));
    CHECK_FALSE(lines.contains("/somewhere/kernel.tir:3"));
  }
  std::filesystem::remove_all(folder);
}

TEST_CASE("elements beyond 2^31 are found, of buffers whose extents fit int32") {
  // The memory is only reserved: few of its pages are touched.
  constexpr size_t rows = 60000, columns = 60000, bytes = rows * columns;
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) { return; }
  auto* a = static_cast<int8_t*>(memory);
  for (size_t row : {size_t{0}, size_t{40000}, rows - 1}) { a[row * columns + columns - 1] = static_cast<int8_t>(1 + row % 100); }
  // By a scalar index, a vector of neighbours and a vector across rows.
  const std::vector<std::string> bodies = {
      "    for i in range(3):\n        B[i] = A[i * 19999 + T.min(i, 1) * 20001, 59999]\n",
      "    for i in T.vectorized(4):\n        B[i] = A[59999, 59996 + i]\n",
      "    for i in T.vectorized(4):\n        B[i] = A[i * 19999 + 2, 59999]\n",
  };
  const std::vector<std::vector<int8_t>> expected = {{1, 1, 100, 0}, {0, 0, 0, 100}, {0, 0, 1, 100}};
  for (size_t n = 0; n < bodies.size(); ++n) {
    INFO(bodies[n]);
    auto programs = programs_of("@T.prim_func\ndef main(A: T.Buffer((60000, 60000), \"int8\"), B: T.Buffer((4,), \"int8\")):\n" + bodies[n]);
    REQUIRE(programs.size() == 1);
    auto flat = transform::lower(programs[0].module);
    if (!flat.ok()) { FAIL(text_of(flat.diagnostics())); }
    auto compiled = runtime::JitModule::compile(*flat, target::host(), {}, programs[0].module);
    if (!compiled.ok()) { FAIL(text_of(compiled.diagnostics())); }
    std::vector<int8_t> b(4, 0);
    std::vector<runtime::Value> values{TensorView{memory, DataType::int_(8), {rows, columns}}, TensorView{b.data(), DataType::int_(8), {4}}};
    auto status = runtime::call(compiled->functions().front(), values);
    if (!status.ok()) { FAIL(text_of(status.diagnostics())); }
    CHECK(b == expected[n]);
  }
  (void)::munmap(memory, bytes);
}
