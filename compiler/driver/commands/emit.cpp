// `loopsmith emit FILE`: prints generated code.
#include <filesystem>

#include <fmt/format.h>
#include <unistd.h>

#include "artefact/artefact.h"
#include "codegen/llvm/codegen.h"
#include "codegen/source/source.h"
#include "driver/building.h"
#include "driver/command.h"
#include "driver/lowering.h"
#include "driver/program.h"
#include "ir/vocabulary.h"
#include "runtime/devices/cuda_tools.h"
#include "runtime/devices/limits.h"
#include "runtime/devices/program.h"
#include "support/codes.h"
#include "support/spelling.h"

namespace loopsmith::driver::commands {
namespace {

const Usage usage{
    .command = "emit",
    .arguments = "FILE --kind KIND [--with NAME] [--target T] [-o F]",
    .summary = "Generates code: LLVM IR, assembly, an object file, or GPU kernels as text; or the C header that `build` makes.",
    .details = "`cuda` and `opencl` print the loops that are bound to blocks and threads as kernels; `ptx` and `cubin` compile the CUDA\n"
               "text by NVRTC for the target's `-arch`, sm_80 without one; for the target `nvptx -mcpu=sm_80` LLVM makes the PTX,\n"
               "and ptxas assembles it. No GPU is needed.\n"
               "The object has one C function per program, `int32_t NAME(const Argument* arguments)`; it needs libc and\n"
               "libm, and `loopsmith_parallel` for parallel loops.",
    .options = {{.name = "--kind", .value = "KIND", .help = "llvm, asm, obj, c-header, cuda, opencl, ptx or cubin"},
                with_option,
                log_option,
                function_option,
                target_option,
                {.name = "--output", .value = "F", .help = "the output file; the default is standard output", .short_name = "-o"},
                {.name = "--debug-info", .help = "the code carries the lines of the file, for debuggers, profilers and `addr2line`", .short_name = "-g"},
                {.name = "--time", .value = "S", .help = "the time limit of the CUDA compiler; the default is 60 s"},
                {.name = "--compiler", .value = "C", .help = "the CUDA compiler: nvrtc, or the program nvcc; the default is nvrtc"},
                {.name = "--opt-level", .value = "N", .help = "0 to 3; the default is the target's, else 2"},
                json_option},
    .examples = {{"loopsmith emit matmul.tir --with matmul_blocked --kind asm", "assembly for this machine"},
                 {"loopsmith emit matmul.tir --kind asm -g", "the same with the line of the file for each instruction"},
                 {"loopsmith emit saxpy.tir --with on_gpu --kind cuda", "the kernels of a schedule as CUDA C"},
                 {"loopsmith emit matmul.tir --kind obj --target \"llvm -mcpu=x86-64-v3\" -o matmul.o", "an object for another machine"}},
    .least = 1,
    .most = 1,
};

/// The compiler of CUDA C.
struct Compiling { double seconds; bool by_nvcc; };

/// The kernels of a module as PTX by LLVM; a cubin where ptxas is installed.
auto kernels_by_llvm(const IRModule& module, const target::Target& target, runtime::CudaForm form, const Compiling& compiling, const Locate& locate) -> Result<std::string> {
  LOOPSMITH_TRY(lowered, transform::lower(module, lower_context(target), lower_request(target)));
  LOOPSMITH_CHECK(runtime::check_kernels(lowered, target));
  codegen::CodegenOptions options;
  options.hosted = false;
  if (locate) { options.locate = source_places(locate); }
  LOOPSMITH_TRY(ptx, codegen::emit(lowered, target, codegen::EmitKind::Assembly, options));
  return form == runtime::CudaForm::Ptx ? Result<std::string>(std::move(ptx)) : runtime::assemble_ptx(ptx, target::cuda_arch(target), compiling.seconds);
}

/// The kernels of a module as text, or compiled.
auto kernels(const IRModule& module, const target::Target& asked, codegen::SourceDialect dialect, std::optional<runtime::CudaForm> form, const Compiling& compiling, const Locate& locate) -> Result<std::string> {
  if (form && asked.kind == target_kind::nvptx) { return kernels_by_llvm(module, asked, *form, compiling, locate); }
  const bool is_cuda = dialect == codegen::SourceDialect::Cuda;
  LOOPSMITH_TRY(any, target::parse(is_cuda ? "cuda" : "opencl"));
  const target::Target& target = asked.kind == any.kind ? asked : any;
  LOOPSMITH_TRY(lowered, transform::lower(module, lower_context(target), lower_request(target)));
  LOOPSMITH_CHECK(runtime::check_kernels(lowered, target));
  codegen::SourceOptions options;
  if (locate) { options.locate = source_places(locate); }
  if (!form) { return codegen::kernel_source(lowered, dialect, options); }
  LOOPSMITH_TRY(code, runtime::compile_cuda_kernels(lowered, {.arch = target::cuda_arch(target), .form = *form, .line_info = static_cast<bool>(locate), .by_nvcc = compiling.by_nvcc}, options, {.seconds = compiling.seconds}));
  return std::move(code.code);
}

}  // namespace

auto emit(std::vector<std::string> args) -> int {
  auto read = read_arguments(usage, args);
  if (const int* status = std::get_if<int>(&read)) { return *status; }
  const auto& arguments = std::get<Arguments>(read);
  auto kind = arguments.get("--kind");
  if (!kind) { return usage_error("emit", "it needs `--kind llvm|asm|obj|c-header|cuda|opencl|ptx|cubin`"); }
  codegen::EmitKind wanted{};
  std::optional<codegen::SourceDialect> device;
  std::optional<runtime::CudaForm> form;       // the form of compiled CUDA
  if (*kind == "llvm") { wanted = codegen::EmitKind::LlvmIR; }
  else if (*kind == "asm") { wanted = codegen::EmitKind::Assembly; }
  else if (*kind == "obj") { wanted = codegen::EmitKind::Object; }
  else if (*kind == "c-header") { wanted = codegen::EmitKind::Object; }
  else if (*kind == "cuda") { device = codegen::SourceDialect::Cuda; }
  else if (*kind == "opencl") { device = codegen::SourceDialect::OpenCl; }
  else if (*kind == "ptx" || *kind == "cubin") {
    device = codegen::SourceDialect::Cuda;
    form = *kind == "ptx" ? runtime::CudaForm::Ptx : runtime::CudaForm::Cubin;
  } else {
    std::string meant = closest(*kind, {"llvm", "asm", "obj", "c-header", "cuda", "opencl", "ptx", "cubin"});
    return usage_error("emit", meant.empty() ? fmt::format("`--kind` is llvm, asm, obj, c-header, cuda, opencl, ptx or cubin, not `{}`", *kind)
                                             : fmt::format("there is no kind `{}`; did you mean `{}`?", *kind, meant));
  }
  codegen::CodegenOptions options;
  options.hosted = false;
  if (auto level = arguments.get("--opt-level")) {
    auto number = parse_number(*level, 0, 3);
    if (!number) { return usage_error("emit", "`--opt-level` is a number from 0 to 3"); }
    options.opt_level = static_cast<int>(*number);
  }
  const std::string time = arguments.get("--time", "60");
  const auto seconds_given = parse_seconds(time);
  if (!seconds_given) { return usage_error("emit", "`--time` takes a time such as 30, 90s or 2min, not `" + time + "`"); }
  const double seconds = *seconds_given;
  const std::string compiler = arguments.get("--compiler", "nvrtc");
  if (compiler != "nvrtc" && compiler != "nvcc") { return usage_error("emit", fmt::format("`--compiler` is nvrtc or nvcc, not `{}`", compiler)); }
  std::string output = arguments.get("--output", "-");
  if ((*kind == "obj" || *kind == "cubin") && output == "-" && isatty(STDOUT_FILENO)) {
    return usage_error("emit", "an object file on a terminal is of no use: name a file with `-o F`");
  }
  Reporter reporter(arguments);
  auto picked = pick(arguments, {.path = arguments.positional()[0], .needs_target = true, .needs_function = true}, reporter);
  if (const int* status = std::get_if<int>(&picked)) { return *status; }
  const auto& selection = std::get<Selection>(picked);
  auto fail = [&](const Diagnostics& diagnostics) {
    reporter.report(diagnostics, selection.file.get());
    return reporter.status();
  };
  IRModule module = selection.module;
  // The program that a schedule makes itself has no name of its own.
  const bool is_nameless = !selection.schedule.empty() && selection.program.view() == selection.schedule && selection.function == "main";
  if (selection.is_bare || is_nameless) {
    // The symbol of a bare function is its name in the file: an object with a function `main` would not link.
    PrimFuncNode named = *module->find(selection.function);
    named.attrs = with_attr(named.attrs, "global_symbol", is_nameless ? kernel_name_of(selection.file->name()) : selection.program.str());
    module = with_function(module, selection.function, make_func(std::move(named)));
  }
  if (*kind == "c-header") {
    std::vector<artefact::Kernel> kernels;
    for (const auto& [name, func] : module->functions) {
      std::string symbol = codegen::symbol_of(name, func);
      if (!artefact::is_c_name(symbol)) { return fail({error(Code::NotACName, func->origin).arg("name", symbol)}); }
      if (codegen::is_c_library_name(symbol)) { return fail({error(Code::NotACName, func->origin).arg("name", symbol).note({}, "the C library has a function of that name")}); }
      kernels.push_back({symbol, codegen::inner_symbol(symbol), codegen::interface_of(func, symbol), {}});
    }
    std::string library = std::filesystem::path(selection.file->name()).stem().string();
    if (auto status = write_file(output, artefact::header(library, kernels)); !status) { return fail(status.diagnostics()); }
    return exit_done;
  }
  if (arguments.has("--debug-info")) { options.locate = source_places(selection.file->locate()); }
  if (device) {
    auto text = kernels(module, selection.target, *device, form, {seconds, compiler == "nvcc"}, arguments.has("--debug-info") ? selection.file->locate() : Locate());
    if (!text) { return fail(text.diagnostics()); }
    if (auto status = write_file(output, *text); !status) { return fail(status.diagnostics()); }
    return exit_done;
  }
  auto lowered = transform::lower(module, lower_context(selection.target), lower_request(selection.target));
  if (!lowered) { return fail(lowered.diagnostics()); }
  auto code = codegen::emit(*lowered, selection.target, wanted, options);
  if (!code) { return fail(code.diagnostics()); }
  if (auto status = write_file(output, *code); !status) { return fail(status.diagnostics()); }
  return exit_done;
}

}  // namespace loopsmith::driver::commands
