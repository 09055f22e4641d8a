// Builds the library of a file: see building.h.
#include "driver/building.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include "artefact/artefact.h"
#include "codegen/llvm/codegen.h"
#include "driver/device.h"
#include "driver/lowering.h"
#include "ir/externals.h"
#include "ir/ops.h"
#include "ir/printer.h"
#include "ir/vocabulary.h"
#include "runtime/devices/limits.h"
#include "runtime/devices/program.h"
#include "schedule/trace_json.h"
#include "support/codes.h"
#include "support/hash.h"
#include "support/process.h"
#include "support/reasons.h"
#include "support/text.h"
#include "transform/bind_sizes.h"
#include "transform/inline_calls.h"
#include "workspace/tuned_for_another.h"

namespace loopsmith::driver {
namespace {

namespace fs = std::filesystem;

/// The input of the compiler: a module whose functions have the symbols that entries call.
struct Unit {
  IRModule module;
  std::vector<artefact::Kernel> kernels;
  std::vector<BuiltKernel> built;
  /// Kernels that are another one for constant sizes.
  struct VariantOf { size_t kernel; transform::VariantMark mark; Origin origin; };
  std::vector<VariantOf> variants = {};
};

auto cannot_write(const std::string& path) -> Diagnostic {
  return error(Code::CannotWrite).arg("file", path).arg("reason", std::strerror(errno));
}

/// True for a GPU. A driver that reads the object's metadata launches its kernels; no C code calls them.
auto is_gpu(const target::Target& target) -> bool { return target.kind == "rocm"; }

/// True for devices whose kernels an entry in C launches.
auto is_launched(const target::Target& target) -> bool { return is_device_target(target); }

/// The reason why no entry in C can check the arguments of a function; none: an entry can.
auto why_no_entry(const codegen::Interface& interface) -> std::optional<Reason> {
  for (const BufferSizes& buffer : interface.sizes.buffers) {
    bool is_known = std::all_of(buffer.shape.begin(), buffer.shape.end(), [](const Formula& f) { return f.is_known(); }) &&
                    std::all_of(buffer.strides.begin(), buffer.strides.end(), [](const Formula& f) { return f.is_known(); }) && (!buffer.offset || buffer.offset->is_known());
    if (!is_known) { return because(Why::ShapeNotChecked).arg("buffer", buffer.name); }
  }
  auto missing = undetermined_variable(interface.sizes);
  if (!missing) { return {}; }
  return because(Why::SizeUndetermined).arg("size", interface.sizes.variables[*missing].name);
}

/// Adds the public functions of a scheduled program to the unit; `has_entries`: callers use entries in C.
auto add_program(Unit& unit, const workspace::Program& program, const IRModule& scheduled, const std::string& schedule, bool has_entries, int device_type) -> Diagnostics {
  Diagnostics problems;
  // Must come before functions are renamed: calls find them by name.
  auto inlined = transform::inline_calls(scheduled, {});
  if (!inlined) { return inlined.diagnostics(); }
  const IRModule& module = *inlined;
  for (const auto& [name, func] : module->functions) {
    bool is_private = func->is_private && !program.is_function;
    std::string kernel_name = program.is_function ? program.name.str() : codegen::symbol_of(name, func);
    // C reserves the name `main`.
    if (kernel_name == "main" && !program.is_function) { kernel_name = program.name.str(); }
    // Several modules of a file may have private functions with the same name.
    std::string symbol = is_private ? program.name.str() + "." + kernel_name : has_entries ? codegen::inner_symbol(kernel_name) : kernel_name;
    if (!is_private && !artefact::is_c_name(kernel_name)) {
      problems.push_back(error(Code::NotACName, func->origin).arg("name", kernel_name).remedy("rename the function, or give it a `global_symbol`"));
      continue;
    }
    if (!is_private && codegen::is_c_library_name(kernel_name)) {
      problems.push_back(error(Code::NotACName, func->origin).arg("name", kernel_name).note({}, "the C library has a function of that name").remedy("rename the function, or give it a `global_symbol`"));
      continue;
    }
    if (std::any_of(unit.kernels.begin(), unit.kernels.end(), [&](const artefact::Kernel& other) { return other.name == kernel_name; })) {
      problems.push_back(error(Code::KernelTwice, func->origin).arg("name", kernel_name).remedy("give one of them another name, or put them into files of their own"));
      continue;
    }
    codegen::Interface interface = codegen::interface_of(func, kernel_name);
    if (auto why = is_private || !has_entries ? std::nullopt : why_no_entry(interface)) {
      Diagnostic d = error(Code::CannotEmit, func->origin).arg("what", "the entry").arg("function", kernel_name).arg("target", "C").arg("reason", why->text());
      problems.push_back(why->why == Why::SizeUndetermined ? std::move(d).remedy("add the size as a parameter, or as an extent of a buffer") : std::move(d));
      continue;
    }
    PrimFuncNode renamed = *func;
    renamed.attrs = with_attr(renamed.attrs, "global_symbol", symbol);
    Name key = program.is_function ? program.name : Name(program.name.str() + "." + name.str());
    PrimFunc made = make_func(std::move(renamed));
    unit.module = with_function(unit.module, key, made);
    if (is_private) { continue; }
    if (auto mark = transform::variant_mark(func); mark && has_entries) { unit.variants.push_back({unit.kernels.size(), *std::move(mark), func->origin}); }
    unit.kernels.push_back({kernel_name, symbol, std::move(interface), {}, device_type});
    unit.built.push_back({kernel_name, schedule});
  }
  return problems;
}

auto type_in_words(const codegen::Parameter& p) -> std::string {
  using enum codegen::Parameter::Kind;
  return p.kind == Buffer ? fmt::format("a buffer of `{}`", p.dtype.str()) : p.kind == Scalar ? fmt::format("a number of type `{}`", p.dtype.str()) : "a pointer";
}
/// `extents`: the shape if the sizes determine it; none: the shape as the program writes it.
auto shape_in_words(const std::optional<std::vector<int64_t>>& extents, const codegen::Interface& interface, size_t parameter) -> std::string {
  return "`" + (extents ? fmt::format("({}{})", fmt::join(*extents, ", "), extents->size() == 1 ? "," : "") : codegen::shape_text(interface, parameter)) + "`";
}

/// The reason why one kernel cannot stand in for another one with given sizes; none: it can. `sizes`: slots of `whole` with their values.
auto why_no_variant(const codegen::Interface& variant, const codegen::Interface& whole, const std::vector<std::pair<size_t, int64_t>>& sizes) -> std::optional<Reason> {
  std::vector<std::optional<int64_t>> slots(whole.slots());
  for (auto [slot, value] : sizes) { slots[slot] = value; }
  if (variant.parameters.size() != whole.parameters.size()) { return because(Why::ParameterCount).arg("found", variant.parameters.size()).arg("program", whole.name).arg("wanted", whole.parameters.size()); }
  const bool is_symbolic = !variant.shape_variables.empty();
  if (is_symbolic && variant.shape_variables != whole.shape_variables) { return because(Why::SizeNotConstant).arg("size", variant.shape_variables[0]).arg("program", whole.name); }
  for (size_t i = 0; i < whole.parameters.size(); ++i) {
    const codegen::Parameter& a = variant.parameters[i];
    const codegen::Parameter& b = whole.parameters[i];
    if (a.kind != b.kind || !(a.dtype == b.dtype)) {
      return because(Why::ParameterType).arg("name", a.name).arg("found", type_in_words(a)).arg("parameter", b.name).arg("program", whole.name).arg("wanted", type_in_words(b));
    }
    if (a.kind != codegen::Parameter::Kind::Buffer) { continue; }
    const auto found = codegen::shape_of(variant, i, is_symbolic ? slots : std::vector<std::optional<int64_t>>(variant.slots()));
    const auto wanted = codegen::shape_of(whole, i, slots);
    if (found != wanted) {
      return because(Why::ParameterShape).arg("name", a.name).arg("found", shape_in_words(found, variant, i)).arg("parameter", b.name).arg("program", whole.name)
          .arg("wanted", shape_in_words(wanted, whole, i));
    }
  }
  return {};
}

/// The slots of a kernel for the sizes of a variant; fewer than the sizes: `complain` got the others.
auto slots_of(const codegen::Interface& interface, const transform::SizeValues& sizes, const std::function<void(const Reason&)>& complain) -> std::vector<std::pair<size_t, int64_t>> {
  std::vector<std::pair<size_t, int64_t>> out;
  for (const auto& [size, value] : sizes) {
    auto parameter = std::find_if(interface.parameters.begin(), interface.parameters.end(), [&](const codegen::Parameter& p) { return p.kind == codegen::Parameter::Kind::Scalar && p.name == size; });
    auto variable = std::find(interface.shape_variables.begin(), interface.shape_variables.end(), size);
    if (parameter != interface.parameters.end()) { out.emplace_back(parameter - interface.parameters.begin(), value); }
    else if (variable != interface.shape_variables.end()) { out.emplace_back(interface.parameters.size() + static_cast<size_t>(variable - interface.shape_variables.begin()), value); }
    else { complain(because(Why::NoSizeOfVariant).arg("program", interface.name).arg("size", size)); }
  }
  return out;
}

/// Lets the entries of kernels call the variants for given sizes.
auto add_variants(Unit& unit) -> Diagnostics {
  Diagnostics problems;
  for (const Unit::VariantOf& one : unit.variants) {
    const std::string name = unit.kernels[one.kernel].name;
    auto complain = [&](const Reason& why) {
      problems.push_back(error(Code::BadValue, one.origin).arg("action", "use `" + name + "` as a variant of `" + one.mark.program + "`").arg("reason", why.text()));
    };
    auto whole = std::find_if(unit.kernels.begin(), unit.kernels.end(), [&](const artefact::Kernel& k) { return k.name == one.mark.program; });
    if (whole == unit.kernels.end()) {
      complain(because(Why::NoProgramOfVariant));
      continue;
    }
    const artefact::Kernel& kernel = unit.kernels[one.kernel];
    for (const transform::SizeValues& sizes : one.mark.choices) {
      artefact::Variant variant{.symbol = kernel.symbol, .sizes = slots_of(whole->interface, sizes, complain)};
      if (variant.sizes.size() != sizes.size()) { break; }
      if (auto why = why_no_variant(kernel.interface, whole->interface, variant.sizes)) {
        complain(*why);
        break;
      }
      whole->variants.push_back(std::move(variant));
    }
  }
  return problems;
}

/// `scratch`: the folder for temporary files of the compiler.
auto run_compiler(std::vector<std::string> argv, const std::string& scratch, std::string& problem) -> bool {
  std::string shown;
  for (const std::string& word : argv) { shown += (shown.empty() ? "" : " ") + word; }
  ProcessOptions options{.argv = std::move(argv), .standard_input = Stream::Null, .standard_error = Stream::Pipe};
  if (!scratch.empty()) { options.environment = {{"TMPDIR", scratch}}; }
  auto result = run_program(options, "", in(std::chrono::minutes(5)));
  if (!result) {
    problem = result.diagnostics().front().message();
    return false;
  }
  if (result->status.succeeded()) { return true; }
  problem = fmt::format("`{}` {}: {}", shown, result->status.describe(), result->error.substr(0, 2000));
  return false;
}

auto is_wasm(const target::Target& target) -> bool { return target.architecture() == target::Architecture::WebAssembly32; }

/// clang, if it finds a C library for WebAssembly.
auto wasm_compiler() -> std::vector<std::string> {
  for (const char* name : {"clang", "clang-19"}) {
    auto path = find_program(name);
    if (!path) { continue; }
    std::vector<std::string> command = {*path, "--target=wasm32-wasi"};
    std::vector<std::string> probe = command;
    probe.insert(probe.end(), {"-fsyntax-only", "-include", "stdlib.h", "-xc", "/dev/null"});
    std::string problem;
    if (run_compiler(std::move(probe), {}, problem)) { return command; }
  }
  return {};
}

/// A C compiler for the target; empty: none.
auto c_compiler(const target::Target& target) -> std::vector<std::string> {
  if (target.is_host_architecture() && (target.triple.empty() || target.triple == target::host_triple())) {
    if (const char* asked = std::getenv("CC"); asked != nullptr && *asked != '\0') { return {asked}; }
    for (const char* name : {"cc", "gcc", "clang", "clang-19"}) {
      if (auto path = find_program(name)) { return {*path}; }
    }
    return {};
  }
  if (is_wasm(target)) { return wasm_compiler(); }
  if (auto path = find_program(target.triple + "-gcc")) { return {*path}; }
  return {};
}

/// If `c_compiler` finds none: a sentence about the compiler to install.
auto missing_compiler(const target::Target& target) -> std::string {
  if (target.triple.empty()) { return "install one, or set CC"; }
  if (is_wasm(target)) { return "install clang and wasi-libc"; }
  return fmt::format("install {}-gcc", target.triple);
}

/// A folder; the destructor removes it with its contents.
struct ScratchFolder {
  std::string path;
  explicit ScratchFolder(const std::string& staging) {
    std::string pattern = staging + "/making-XXXXXX";
    if (mkdtemp(pattern.data()) != nullptr) { path = fs::absolute(pattern).string(); }
  }
  ~ScratchFolder() {
    std::error_code ignored;
    if (!path.empty()) { fs::remove_all(path, ignored); }
  }
  ScratchFolder(const ScratchFolder&) = delete;
};

constexpr std::string_view cache_magic = "loopsmith object 1\n";

auto cache_path(const std::string& folder, uint64_t key) -> std::string { return fmt::format("{}/{:02x}/{:014x}.o", folder, key >> 56U, key & 0xffffffffffffffU); }

/// Entries contain the hash of their contents: a truncated or changed entry counts as missing.
auto read_cache(const std::string& path) -> std::optional<std::string> {
  auto text = read_file(path);
  if (!text || text->size() < cache_magic.size() + 17 || !text->starts_with(cache_magic)) { return std::nullopt; }
  std::string hash = text->substr(cache_magic.size(), 16);
  std::string object = text->substr(cache_magic.size() + 17);
  if (fmt::format("{:016x}", hash_bytes(object)) != hash) { return std::nullopt; }
  return object;
}

/// Ignores failures: a build works without a cache.
void write_cache(const std::string& path, const std::string& object) {
  (void)write_whole(path, fmt::format("{}{:016x}\n{}", cache_magic, hash_bytes(object), object));
}

/// A text that changes whenever a program's file changes.
auto program_identity(const std::string& path) -> std::string {
  struct stat info{};
  auto found = find_program(path);
  if (!found || ::stat(found->c_str(), &info) != 0) { return "unknown"; }
  return fmt::format("{}-{}.{}", info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
}

}  // namespace

auto kernel_name_of(const std::string& file) -> std::string {
  std::string name = fs::path(file).stem().string();
  for (char& c : name) {
    if (!is_name_part(c) || static_cast<unsigned char>(c) >= 0x80) { c = '_'; }
  }
  return name.empty() || is_digit(name.front()) ? "kernel_" + name : name;
}

auto engine_id() -> std::string { return program_identity(current_program()); }

auto write_whole(const std::string& path, std::string_view content) -> Status {
  std::error_code problem;
  fs::path parent = fs::path(path).parent_path();
  if (!parent.empty()) { fs::create_directories(parent, problem); }
  if (problem) { return error(Code::CannotWrite).arg("file", path).arg("reason", problem.message()); }
  return write_file(path, content);
}

auto publish(const std::vector<Artefact>& artefacts) -> Status {
  for (size_t i = 0; i < artefacts.size(); ++i) {
    const Artefact& artefact = artefacts[i];
    std::error_code problem;
    fs::path folder = fs::path(artefact.path).parent_path();
    if (!folder.empty()) { fs::create_directories(folder, problem); }
    if (!problem) { fs::rename(artefact.staged, artefact.path, problem); }
    if (!problem) { continue; }
    std::error_code ignored;
    for (size_t k = 0; k < i; ++k) { fs::remove(artefacts[k].path, ignored); }
    return error(Code::CannotWrite).arg("file", artefact.path).arg("reason", problem.message());
  }
  return ok();
}

namespace {

// The steps of a build, in their order. Each fails with diagnostics, whose places are in the file.

/// A program under its selected schedule.
struct Scheduled {
  IRModule before, after;
  std::string name;
};

/// The schedules of the file: for each program the last one for it and for this kind of target.
auto pick_schedules(SourceFile& file, const BuildJob& job, const target::Target& target) -> Result<std::vector<Scheduled>> {
  std::vector<Scheduled> out;
  if (job.as_written) { return out; }
  const std::vector<std::string> names = workspace::schedule_names(*file.snapshot());
  if (!job.with.empty() && std::find(names.begin(), names.end(), job.with) == names.end()) { return error(Code::NoSuchSchedule).arg("name", job.with).arg("file", job.file); }
  for (const std::string& name : names) {
    if (!job.with.empty() && name != job.with) { continue; }
    LOOPSMITH_TRY(run, file.document().run_schedule(name));
    // A function that makes its schedule itself may be a test: it is applied only on request.
    if (run.makes_its_own && job.with.empty()) { continue; }
    if (!run.target.empty()) {
      auto meant = target::parse(run.target);
      if (meant && meant->kind != target.kind) { continue; }
    }
    if (Diagnostics made = run.all_diagnostics(); has_errors(made)) { return made; }
    if (auto why = run.why_incomplete()) { return *std::move(why); }
    if (!run.result || !run.is_complete) { return error(Code::ScheduleIncomplete).arg("name", name); }
    std::erase_if(out, [&](const Scheduled& other) { return other.before.same_as(run.asked); });
    out.push_back({run.asked, run.result->module(), name});
  }
  return out;
}

/// A program under the best schedule of the tuning database. None, with a note: no schedule there applies.
auto tuned(const workspace::Program& program, const BuildJob& job, const target::Target& target, std::vector<std::string>& notes) -> std::optional<Scheduled> {
  auto best = job.tuned(program.module, target);
  if (!best) {
    notes.push_back(fmt::format("`{}` was not tuned for {}", program.name.view(), target.str()));
    return {};
  }
  auto trace = schedule::trace_from_json(best->trace);
  schedule::Schedule sch(program.module, 1);
  if (trace && sch.replay(*trace)) { return Scheduled{program.module, sch.module(), best->name}; }
  notes.push_back(fmt::format("`{}`: the best trace of the tuning database does not apply to it any more", program.name.view()));
  return {};
}

/// The kind of device of DLPack.
auto device_type_of(const target::Target& target) -> int {
  return target.kind == target_kind::opencl ? 4 : target.kind == target_kind::cuda ? 2 : 1;
}

/// All programs of the file, scheduled, as one unit.
auto assemble(SourceFile& file, const BuildJob& job, const target::Target& target, std::vector<std::string>& notes) -> Result<Unit> {
  LOOPSMITH_TRY(scheduled, pick_schedules(file, job, target));
  Unit unit{.module = make_module({}), .kernels = {}, .built = {}};
  Diagnostics problems;
  for (const workspace::Program& program : workspace::top_programs(*file.snapshot())) {
    if (!program.module || program.has_errors) { continue; }
    Scheduled one{program.module, program.module, {}};
    auto found = std::find_if(scheduled.begin(), scheduled.end(), [&](const Scheduled& s) { return s.before.same_as(program.module); });
    if (found != scheduled.end()) {
      one = *found;
      for (const script::FileSchedule& schedule : file.snapshot()->schedules()) {
        auto other = schedule.name.view() == found->name ? workspace::tuned_for_another(*file.snapshot(), schedule) : std::nullopt;
        if (other) { notes.push_back(other->message()); }
      }
    }
    if (job.tuned) {
      if (auto best = tuned(program, job, target, notes)) { one = std::move(*best); }
    }
    Diagnostics more = add_program(unit, program, one.after, one.name, !is_gpu(target), device_type_of(target));
    problems.insert(problems.end(), more.begin(), more.end());
  }
  // A schedule that makes its program itself, as one of tensor expressions: its kernel has the name of the file.
  for (const Scheduled& one : scheduled) {
    const std::vector<workspace::Program> programs = workspace::top_programs(*file.snapshot());
    if (std::any_of(programs.begin(), programs.end(), [&](const workspace::Program& program) { return one.before.same_as(program.module); })) { continue; }
    workspace::Program made;
    made.name = Name(kernel_name_of(job.file));
    Diagnostics more = add_program(unit, made, one.after, one.name, !is_gpu(target), device_type_of(target));
    problems.insert(problems.end(), more.begin(), more.end());
  }
  Diagnostics more = add_variants(unit);
  problems.insert(problems.end(), more.begin(), more.end());
  if (problems.empty() && unit.kernels.empty() && !job.may_be_empty) {
    problems.push_back(workspace::with_schedules_that_make_programs(error(Code::NothingToBuild).arg("file", job.file), *file.snapshot()));
  }
  if (!problems.empty()) { return problems; }
  return unit;
}

/// The machine code of a unit as an object; taken from the cache if the same input was compiled before.
auto make_object(const Unit& unit, SourceFile& file, const BuildJob& job, const target::Target& target, bool has_compiler, bool& is_cached) -> Result<std::string> {
  uint64_t key = hash_bytes(print_script(unit.module));
  for (const std::string& part : {target.str(), engine_id(), std::string(has_compiler ? "in a library" : "alone")}) { key = hash_bytes(part, key); }
  if (job.debug_info) {
    auto text = read_file(job.file);
    key = hash_bytes(text ? *text : "", hash_bytes(fs::absolute(job.file).string(), key));
  }
  if (auto object = job.cache.empty() ? std::nullopt : read_cache(cache_path(job.cache, key))) {
    is_cached = true;
    return std::move(*object);
  }
  LOOPSMITH_TRY(lowered, transform::lower(unit.module, lower_context(target), lower_request(target)));
  codegen::CodegenOptions options;
  options.hosted = false;
  options.hidden = has_compiler;
  if (job.debug_info) { options.locate = source_places(file.locate()); }
  LOOPSMITH_TRY(object, codegen::emit(lowered, target, codegen::EmitKind::Object, options));
  if (!job.cache.empty()) { write_cache(cache_path(job.cache, key), object); }
  return object;
}

/// The architectures in a library for CUDA: that of the target, else the usual ones. PTX serves later ones.
auto cuda_archs_of(const target::Target& target) -> std::vector<std::string> {
  const bool is_given = std::any_of(target.others.begin(), target.others.end(), [](const auto& option) { return option.first == "arch"; });
  if (is_given) { return {target::cuda_arch(target)}; }
  return {"sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"};
}

/// The C source that launches a unit's kernels.
auto make_device_source(const Unit& unit, const std::string& library, SourceFile& file, const BuildJob& job, const target::Target& target) -> Result<std::string> {
  LOOPSMITH_TRY(lowered, transform::lower(unit.module, lower_context(target), lower_request(target)));
  LOOPSMITH_CHECK(runtime::check_kernels(lowered, target));
  codegen::SourceOptions options;
  if (job.debug_info) { options.locate = source_places(file.locate()); }
  std::vector<artefact::DeviceCode> codes;
  if (target.kind == target_kind::opencl) {
    LOOPSMITH_TRY(text, codegen::kernel_source(lowered, codegen::SourceDialect::OpenCl, options));
    codes.push_back({"opencl", std::move(text)});
  } else {
    const std::vector<std::string> archs = cuda_archs_of(target);
    for (const std::string& arch : archs) {
      LOOPSMITH_TRY(code, runtime::compile_cuda_kernels(lowered, {.arch = arch, .form = runtime::CudaForm::Cubin, .line_info = job.debug_info}, options));
      codes.push_back({arch, std::move(code.code)});
    }
    LOOPSMITH_TRY(ptx, runtime::compile_cuda_kernels(lowered, {.arch = archs.back(), .form = runtime::CudaForm::Ptx, .line_info = job.debug_info}, options));
    codes.push_back({"compute_" + archs.back().substr(3), std::move(ptx.code)});
  }
  return artefact::device_hosts(library, lowered, unit.kernels, target.kind == target_kind::opencl, codes);
}

/// Compiles and links with a C compiler in a scratch folder.
class Linking {
 public:
  Linking(const BuildJob& job, const std::vector<std::string>& compiler, std::string library, std::string scratch)
      : job_(job), compiler_(compiler), library_(std::move(library)), scratch_(std::move(scratch)),
        // The paths of the scratch folder must not occur in the artefacts: the same input gives the same bytes.
        prefix_map_(fmt::format("-ffile-prefix-map={}=.", scratch_)) {}

  struct Linked { std::string object, archive, shared; };
  /// `has_shared`: WebAssembly has objects and archives, but no loadable shared libraries.
  /// `object`: the machine code of the kernels; or, with `is_source`, the C source that launches them.
  auto link(const Unit& unit, const std::string& object, bool is_source, bool has_shared) -> Result<Linked> {
    const std::string kernels = path(library_ + ".kernels.o"), source = path("entries.c"), entries = path(library_ + ".entries.o");
    const std::string joined = path(library_ + ".o"), shared = path("lib" + library_ + ".so");
    if (is_source) { LOOPSMITH_CHECK(write_file(path("launch.c"), object)); } else { LOOPSMITH_CHECK(write_file(kernels, object)); }
    LOOPSMITH_CHECK(write_file(source, artefact::entries(library_, unit.kernels, job_.packed)));
    LOOPSMITH_CHECK(write_file(path("loopsmith_support.h"), artefact::support()));
    LOOPSMITH_TRY(support, make_support());
    LOOPSMITH_CHECK(compile(source, entries));
    if (is_source) { LOOPSMITH_CHECK(compile(path("launch.c"), kernels)); }
    LOOPSMITH_CHECK(call({"-nostdlib", "-r", entries, support, kernels, "-o", joined}));
    if (has_shared) {
      LOOPSMITH_CHECK(call({"-shared", "-Wl,--build-id=none", "-Wl,-z,noexecstack", entries, support, kernels, "-o", shared, "-lm", "-ldl", "-pthread"}));
    }
    LOOPSMITH_TRY(whole, read_file(joined));
    LOOPSMITH_TRY(library, has_shared ? read_file(shared) : Result<std::string>(std::string()));
    LOOPSMITH_TRY(archive, codegen::archive({{library_ + ".o", whole}}));
    return Linked{std::move(whole), std::move(archive), std::move(library)};
  }

 private:
  [[nodiscard]] auto path(const std::string& name) const -> std::string { return scratch_ + "/" + name; }
  auto call(const std::vector<std::string>& more) -> Status {
    std::vector<std::string> argv = compiler_;
    argv.insert(argv.end(), more.begin(), more.end());
    std::string problem;
    if (run_compiler(std::move(argv), scratch_, problem)) { return ok(); }
    return error(Code::LinkFailed).arg("reason", problem);
  }
  auto compile(const std::string& source, const std::string& made) -> Status {
    return call({"-std=c11", "-O2", "-fPIC", "-fvisibility=hidden", prefix_map_, "-c", source, "-o", made});
  }
  /// The support code as an object. Compiling it takes most of the C compiler's time, and it is the same for all files, so it is cached too.
  auto make_support() -> Result<std::string> {
    uint64_t key = hash_bytes(artefact::support(), hash_bytes(program_identity(compiler_.front())));
    for (const std::string& word : compiler_) { key = hash_bytes(word, key); }
    const std::string made = path("support.o");
    if (auto support = job_.cache.empty() ? std::nullopt : read_cache(cache_path(job_.cache, key))) {
      LOOPSMITH_CHECK(write_file(made, *support));
      return made;
    }
    const std::string source = path("support.c");
    LOOPSMITH_CHECK(write_file(source, "#define LOOPSMITH_SUPPORT_CODE\n#include \"loopsmith_support.h\"\n"));
    LOOPSMITH_CHECK(compile(source, made));
    if (auto object = job_.cache.empty() ? Result<std::string>(std::string()) : read_file(made); object && !job_.cache.empty()) {
      write_cache(cache_path(job_.cache, key), *object);
    }
    return made;
  }

  const BuildJob& job_;
  const std::vector<std::string>& compiler_;
  const std::string library_;
  const std::string scratch_;
  const std::string prefix_map_;
};

/// The external functions that are neither in C's maths library nor in the support code.
auto foreign_functions(const IRModule& module) -> std::string {
  std::set<std::string> names;
  for (const auto& [name, func] : module->functions) {
    for (const ExternalCall& call : external_calls(func)) {
      if (external(call.name).kind == ExternalKind::Unknown) { names.insert("`" + std::string(call.name) + "`"); }
    }
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

/// Writes an artefact into the staging folder.
auto stage(const BuildJob& job, const std::string& library, const std::string& path, const char* kind, std::string_view content, BuildResult& result) -> Status {
  std::string staged = fmt::format("{}/{}-{}.{}", job.staging, library, ::getpid(), result.artefacts.size());
  LOOPSMITH_CHECK(write_file(staged, content));
  result.artefacts.push_back({path, staged, kind, content.size(), hash_bytes(content)});
  return ok();
}

/// The artefacts of a unit from its object: a GPU's object alone; without a C compiler the object and the header; else the libraries too.
auto stage_all(const Unit& unit, const std::string& object, const BuildJob& job, const target::Target& target, const std::vector<std::string>& compiler, BuildResult& result)
    -> Status {
  const std::string library = fs::path(job.stem).filename().string();
  auto put = [&](const std::string& path, const char* kind, std::string_view content) { return stage(job, library, path, kind, content, result); };
  if (is_gpu(target)) {
    result.notes.push_back(fmt::format("for a GPU {}.o holds the kernels alone: link it with `ld.lld -shared`; a launcher reads its metadata", library));
    return put(job.stem + ".o", "object", object);
  }
  const std::string header = artefact::header(library, unit.kernels, job.packed);
  if (compiler.empty()) {
    result.notes.push_back(fmt::format("no C compiler for `{}` was found: there are no libraries, and {}.o has the inner functions only; {}", target.str(), library,
                                       missing_compiler(target)));
    LOOPSMITH_CHECK(put(job.stem + ".o", "object", object));
    return put(job.stem + ".h", "header", header);
  }
  ScratchFolder scratch(job.staging);
  if (scratch.path.empty()) { return cannot_write(job.staging); }
  bool has_shared = !is_wasm(target);
  LOOPSMITH_TRY(linked, Linking(job, compiler, library, scratch.path).link(unit, object, is_launched(target), has_shared));
  const std::string lib = (fs::path(job.stem).parent_path() / ("lib" + library)).string();
  // The header comes last: if a header exists, its library exists too.
  LOOPSMITH_CHECK(put(job.stem + ".o", "object", linked.object));
  LOOPSMITH_CHECK(put(lib + ".a", "static", linked.archive));
  if (has_shared) { LOOPSMITH_CHECK(put(lib + ".so", "shared", linked.shared)); }
  std::error_code unknown;
  if (job.python && fs::equivalent(job.stem + ".py", job.file, unknown)) {
    return error(Code::CannotWrite).arg("file", job.stem + ".py").arg("reason", because(Why::HoldsThePrograms).text()).remedy("name another folder with `-o`");
  }
  if (job.python && is_launched(target)) { result.notes.push_back("there is no module of Python: NumPy has no tensors of a device; call the library by ctypes"); }
  if (job.python && has_shared && !is_launched(target)) { LOOPSMITH_CHECK(put(job.stem + ".py", "python", artefact::python_module(library, unit.kernels))); }
  if (job.python && !has_shared) { result.notes.push_back("there is no module of Python: this target has no shared libraries"); }
  return put(job.stem + ".h", "header", header);
}

}  // namespace

auto build_file(const BuildJob& job, Reporter& reporter) -> std::optional<BuildResult> {
  auto read = SourceFile::read(job.file);
  if (!read) {
    reporter.report(read.diagnostics(), nullptr);
    return std::nullopt;
  }
  SourceFile& file = **read;
  auto fail = [&](const Diagnostics& diagnostics) -> std::optional<BuildResult> {
    reporter.report(diagnostics, &file);
    return std::nullopt;
  };
  reporter.report(file.diagnostics(), &file, true);
  if (reporter.errors() > 0) { return std::nullopt; }
  auto target = target::parse(job.target);
  if (!target) { return fail(target.diagnostics()); }
  if (auto known = target::check_gpu(*target); !known) { return fail(known.diagnostics()); }
  BuildResult result;
  auto unit = assemble(file, job, *target, result.notes);
  if (!unit) { return fail(unit.diagnostics()); }
  if (unit->kernels.empty()) {
    result.notes = {"there is no program in it, so there is nothing to build"};
    return result;
  }
  result.kernels = unit->built;
  if (std::string names = foreign_functions(unit->module); !names.empty()) { result.notes.push_back(fmt::format("the program calls {}: link a library with it", names)); }
  const std::vector<std::string> compiler = c_compiler(is_launched(*target) ? target::host() : *target);
  if (is_launched(*target) && compiler.empty()) { return fail({error(Code::LinkFailed).arg("reason", because(Why::NoCCompiler).text()).remedy("install one, or set CC")}); }
  auto object = is_launched(*target) ? make_device_source(*unit, fs::path(job.stem).filename().string(), file, job, *target)
                                     : make_object(*unit, file, job, *target, !compiler.empty(), result.from_cache);
  if (!object) { return fail(object.diagnostics()); }
  if (Status staged = stage_all(*unit, *object, job, *target, compiler, result); !staged) { return fail(staged.diagnostics()); }
  return result;
}

}  // namespace loopsmith::driver
