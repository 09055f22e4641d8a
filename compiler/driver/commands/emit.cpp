// `loopsmith emit FILE`: prints generated code.
#include <algorithm>
#include <array>
#include <filesystem>
#include <variant>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "artefact/artefact.h"
#include "codegen/llvm/codegen.h"
#include "codegen/source/launches.h"
#include "codegen/source/source.h"
#include "driver/building.h"
#include "driver/command.h"
#include "driver/lowering.h"
#include "driver/program.h"
#include "ir/ops.h"
#include "ir/printer.h"
#include "ir/vocabulary.h"
#include "runtime/devices/cuda_tools.h"
#include "runtime/devices/limits.h"
#include "runtime/devices/program.h"
#include "support/codes.h"
#include "support/spelling.h"
#include "support/text.h"

namespace loopsmith::driver::commands {
namespace {

const Usage usage{
    .command = "emit",
    .arguments = "FILE [--kind KIND] [--with NAME] [--target T] [-o F]",
    .summary = "Generates code: LLVM IR, assembly, an object file, or GPU kernels as text; or the C header that `build` makes.",
    .details = "Without `--kind`, the target of a GPU chooses it: `cuda` and `opencl` their text, `nvptx` PTX, `rocm` assembly.\n"
               "`cuda` and `opencl` print the loops that are bound to blocks and threads as kernels; `ptx` and `cubin` compile the CUDA\n"
               "text by NVRTC for the target's `-arch`, sm_80 without one; for the target `nvptx -mcpu=sm_80` LLVM makes the PTX,\n"
               "and ptxas assembles it. `launches` prints the kernels' arguments, grids, blocks and dynamic shared memory as JSON, for\n"
               "hosts that launch the kernels themselves. No GPU is needed.\n"
               "The object has one C function per program, `int32_t NAME(const Argument* arguments)`; it needs libc and\n"
               "libm, and `loopsmith_parallel` for parallel loops.",
    .options = {{.name = "--kind", .value = "KIND", .help = "llvm, asm, obj, c-header, cuda, opencl, ptx, cubin or launches"},
                with_option,
                log_option,
                function_option,
                target_option,
                {.name = "--output", .value = "F", .help = "the output file; the default is standard output", .short_name = "-o"},
                {.name = "--debug-info", .help = "the code carries the lines of the file, for debuggers, profilers and `addr2line`", .short_name = "-g"},
                {.name = "--time", .value = "S", .help = "the time limit of the CUDA compiler; the default is 1min"},
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

/// A kind of generated code.
struct Kind {
  std::string_view name;
  codegen::EmitKind machine_code{};                           // for processors
  std::optional<codegen::SourceDialect> device = {};          // for GPUs
  std::optional<runtime::CudaForm> form = {};                 // of compiled CUDA
  bool is_binary = false;
};
constexpr std::array kinds = {
    Kind{"llvm", codegen::EmitKind::LlvmIR},
    Kind{"asm", codegen::EmitKind::Assembly},
    Kind{"obj", codegen::EmitKind::Object, {}, {}, true},
    Kind{"c-header", codegen::EmitKind::Object},
    Kind{"cuda", {}, codegen::SourceDialect::Cuda},
    Kind{"opencl", {}, codegen::SourceDialect::OpenCl},
    Kind{"ptx", {}, codegen::SourceDialect::Cuda, runtime::CudaForm::Ptx},
    Kind{"cubin", {}, codegen::SourceDialect::Cuda, runtime::CudaForm::Cubin, true},
    Kind{"launches"},
};

auto find_kind(std::string_view name) -> const Kind* {
  auto found = std::ranges::find(kinds, name, &Kind::name);
  return found == kinds.end() ? nullptr : &*found;
}
auto names_of_kinds() -> std::vector<std::string> {
  std::vector<std::string> out;
  for (const Kind& kind : kinds) { out.emplace_back(kind.name); }
  return out;
}
auto unknown_kind(const std::string& given) -> int {
  const std::vector<std::string> names = names_of_kinds();
  std::string meant = closest(given, names);
  return usage_error("emit", meant.empty() ? fmt::format("`--kind` is one of {}, not `{}`", fmt::join(names, ", "), given) : fmt::format("there is no kind `{}`; did you mean `{}`?", given, meant));
}
/// The kind that a target stands for; null: a processor, whose code has several forms.
auto kind_of(const target::Target& target) -> const Kind* {
  if (target.kind == target_kind::nvptx) { return find_kind("ptx"); }
  if (target.kind == target_kind::rocm) { return find_kind("asm"); }
  return target.kind == target_kind::cuda || target.kind == target_kind::opencl ? find_kind(target.kind) : nullptr;
}

/// True where code of a kind is for a target: CUDA C, its compiled forms and PTX for NVIDIA's GPUs, OpenCL C for its devices, and launches for both. LLVM's
/// kinds serve processors, AMD's GPUs and `nvptx`.
auto serves(const Kind& kind, const target::Target& target) -> bool {
  const bool is_nvidia = target.kind == target_kind::cuda || target.kind == target_kind::nvptx;
  if (kind_of(target) == nullptr || kind.name == "c-header") { return true; }
  if (kind.device) { return *kind.device == codegen::SourceDialect::OpenCl ? target.kind == target_kind::opencl : is_nvidia; }
  if (kind.name == "launches") { return is_nvidia || target.kind == target_kind::opencl; }
  return target.kind == target_kind::nvptx || target.kind == target_kind::rocm;
}

/// The launches of a module's kernels as a JSON object, for the dialect of the target.
auto launch_sheet(const IRModule& module, const target::Target& asked) -> Result<std::string> {
  const bool is_opencl = asked.kind == target_kind::opencl;
  LOOPSMITH_TRY(any, target::parse(is_opencl ? "opencl" : "cuda"));
  const target::Target& target = asked.kind == any.kind ? asked : any;
  LOOPSMITH_TRY(lowered, transform::lower(module, lower_context(target), lower_request(target)));
  LOOPSMITH_CHECK(runtime::check_kernels(lowered, target));
  using Json = nlohmann::ordered_json;
  auto number = [](const Expr& e) -> Json {
    if (auto value = as_int(e)) { return *value; }
    return print_script(e);
  };
  auto list = [&](const std::vector<Expr>& values) {
    Json out = Json::array();
    for (const Expr& e : values) { out.push_back(number(e)); }
    return out;
  };
  Json sheet = Json::array();
  for (const auto& [function, launch] : codegen::launches(lowered, is_opencl ? codegen::SourceDialect::OpenCl : codegen::SourceDialect::Cuda)) {
    Json arguments = Json::array();
    for (const auto& argument : launch.arguments) {
      arguments.push_back({{"name", argument.name}, {"dtype", argument.dtype.str()}, {"pointer", argument.is_pointer}, {"value", number(argument.value)}});
    }
    sheet.push_back({{"function", function}, {"kernel", launch.kernel.view()}, {"grid", list(launch.grid)}, {"block", list(launch.block)},
                     {"dynamic_shared_bytes", number(launch.dynamic_shared_bytes)}, {"arguments", std::move(arguments)}});
  }
  return Json{{"target", target.str()}, {"launches", std::move(sheet)}}.dump(2) + "\n";
}

/// The header for the functions of a module.
auto c_header(const IRModule& module, const std::string& library) -> Result<std::string> {
  std::vector<artefact::Kernel> kernels;
  for (const auto& [name, func] : module->functions) {
    std::string symbol = codegen::symbol_of(name, func);
    if (!artefact::is_c_name(symbol)) { return error(Code::NotACName, func->origin).arg("name", symbol); }
    if (codegen::is_c_library_name(symbol)) { return error(Code::NotACName, func->origin).arg("name", symbol).note({}, "the C library has a function of that name"); }
    kernels.push_back({symbol, codegen::inner_symbol(symbol), codegen::interface_of(func, symbol), {}});
  }
  return artefact::header(library, kernels);
}

/// The options that do not depend on the file.
struct Request {
  const Kind* kind = nullptr;          // null: the target decides
  codegen::CodegenOptions options;
  Compiling compiling{};
  std::string output;
};
auto read_request(const Arguments& arguments) -> std::variant<int, Request> {
  Request out;
  out.options.hosted = false;
  if (auto given = arguments.get("--kind")) {
    out.kind = find_kind(*given);
    if (out.kind == nullptr) { return unknown_kind(*given); }
  }
  if (auto level = arguments.get("--opt-level")) {
    auto number = parse_number(*level, 0, 3);
    if (!number) { return usage_error("emit", "`--opt-level` is a number from 0 to 3"); }
    out.options.opt_level = static_cast<int>(*number);
  }
  const std::string time = arguments.get("--time", "60");
  const auto seconds = parse_seconds(time);
  if (!seconds) { return usage_error("emit", "`--time` takes a time such as 30, 90s or 2min, not `" + time + "`"); }
  const std::string compiler = arguments.get("--compiler", "nvrtc");
  if (compiler != "nvrtc" && compiler != "nvcc") { return usage_error("emit", fmt::format("`--compiler` is nvrtc or nvcc, not `{}`", compiler)); }
  out.compiling = {*seconds, compiler == "nvcc"};
  out.output = arguments.get("--output", "-");
  if (out.kind != nullptr && out.kind->is_binary && out.output == "-" && isatty(STDOUT_FILENO)) {
    return usage_error("emit", "an object file on a terminal is of no use: name a file with `-o F`");
  }
  return out;
}

/// The module to emit. A bare function gets its name in the file as its symbol, because an object with a function `main` would not link; the program
/// that a schedule makes itself gets the name of the file.
auto named_module(const Selection& selection) -> IRModule {
  const bool is_nameless = !selection.schedule.empty() && selection.program.view() == selection.schedule && selection.function == "main";
  if (!selection.is_bare && !is_nameless) { return selection.module; }
  PrimFuncNode named = *selection.module->find(selection.function);
  named.attrs = with_attr(named.attrs, "global_symbol", is_nameless ? kernel_name_of(selection.file->name()) : selection.program.str());
  return with_function(selection.module, selection.function, make_func(std::move(named)));
}

auto generate(const IRModule& module, const Selection& selection, const Kind& kind, Request& request, bool with_lines) -> Result<std::string> {
  if (kind.name == "c-header") { return c_header(module, std::filesystem::path(selection.file->name()).stem().string()); }
  if (kind.name == "launches") { return launch_sheet(module, selection.target); }
  if (kind.device) { return kernels(module, selection.target, *kind.device, kind.form, request.compiling, with_lines ? selection.file->locate() : Locate()); }
  if (with_lines) { request.options.locate = source_places(selection.file->locate()); }
  LOOPSMITH_TRY(lowered, transform::lower(module, lower_context(selection.target), lower_request(selection.target)));
  LOOPSMITH_CHECK(runtime::check_kernels(lowered, selection.target));
  return codegen::emit(lowered, selection.target, kind.machine_code, request.options);
}

}  // namespace

auto emit(std::vector<std::string> args) -> int {
  auto read = read_arguments(usage, args);
  if (const int* status = std::get_if<int>(&read)) { return *status; }
  const auto& arguments = std::get<Arguments>(read);
  auto asked = read_request(arguments);
  if (const int* status = std::get_if<int>(&asked)) { return *status; }
  auto& request = std::get<Request>(asked);
  Reporter reporter(arguments);
  auto picked = pick(arguments, {.path = arguments.positional()[0], .needs_target = true, .needs_function = true}, reporter);
  if (const int* status = std::get_if<int>(&picked)) { return *status; }
  const auto& selection = std::get<Selection>(picked);
  const Kind* kind = request.kind != nullptr ? request.kind : kind_of(selection.target);
  if (kind == nullptr) { return usage_error("emit", fmt::format("it needs `--kind {}`, or the target of a GPU", fmt::join(names_of_kinds(), "|"))); }
  if (arguments.has("--target") && !serves(*kind, selection.target)) {
    return usage_error("emit", fmt::format("`--kind {}` makes no code for the target `{}`: choose `--kind {}` or another target", kind->name, selection.target.kind, kind_of(selection.target)->name));
  }
  auto text = generate(named_module(selection), selection, *kind, request, arguments.has("--debug-info"));
  auto status = text ? write_file(request.output, *text) : Status(text.diagnostics());
  if (status) { return exit_done; }
  reporter.report(status.diagnostics(), selection.file.get());
  return reporter.status();
}

}  // namespace loopsmith::driver::commands
