// From a file to its library: see building.h.
#include "driver/building.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "artefact/artefact.h"
#include "codegen/llvm/codegen.h"
#include "driver/lowering.h"
#include "ir/ops.h"
#include "ir/printer.h"
#include "schedule/trace_json.h"
#include "support/codes.h"
#include "support/hash.h"
#include "support/process.h"
#include "transform/inline_calls.h"

namespace loopsmith::driver {
namespace {

namespace fs = std::filesystem;

/// What is compiled: a module whose functions have the symbols that entries call.
struct Unit {
  IRModule module;
  std::vector<artefact::Kernel> kernels;
  std::vector<BuiltKernel> built;
};

auto cannot_write(const std::string& path) -> Diagnostic {
  return error(Code::CannotWrite).arg("file", path).arg("why", std::strerror(errno));
}

/// Its kernels are launched by a driver that reads the object's metadata: nothing in C calls them.
auto is_gpu(const target::Target& target) -> bool { return target.kind == "rocm"; }

/// Adds the public functions of a scheduled program to the unit; `has_entries`: others call them by entries in C.
auto add_program(Unit& unit, const workspace::Program& program, const IRModule& scheduled, const std::string& schedule, bool has_entries) -> Diagnostics {
  Diagnostics problems;
  // While functions have the names that calls know them by.
  auto inlined = transform::inline_calls(scheduled, {});
  if (!inlined) { return inlined.diagnostics(); }
  const IRModule& module = *inlined;
  for (const auto& [name, func] : module->functions) {
    bool is_private = func->is_private && !program.is_function;
    std::string kernel_name = program.is_function ? program.name.str() : codegen::symbol_of(name, func);
    // C has a `main` of its own.
    if (kernel_name == "main" && !program.is_function) { kernel_name = program.name.str(); }
    std::string symbol = is_private || !has_entries ? kernel_name : artefact::inner_symbol(kernel_name);
    if (!is_private && !artefact::is_c_name(kernel_name)) {
      problems.push_back(error(Code::NotACName, func->origin).arg("name", kernel_name).remedy("rename the function, or give it a `global_symbol`"));
      continue;
    }
    if (std::any_of(unit.kernels.begin(), unit.kernels.end(), [&](const artefact::Kernel& other) { return other.name == kernel_name; })) {
      problems.push_back(error(Code::KernelTwice, func->origin).arg("name", kernel_name).remedy("give one of them another name, or put them into files of their own"));
      continue;
    }
    PrimFuncNode renamed = *func;
    renamed.attrs = with_attr(renamed.attrs, "global_symbol", symbol);
    Name key = program.is_function ? program.name : Name(program.name.str() + "." + name.str());
    PrimFunc made = make_func(std::move(renamed));
    unit.module = with_function(unit.module, key, made);
    if (is_private) { continue; }
    unit.kernels.push_back({kernel_name, symbol, codegen::interface_of(func, kernel_name), {}});
    unit.built.push_back({kernel_name, schedule});
  }
  return problems;
}

/// `scratch`: where it may leave what it did not finish.
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

/// clang, where it finds a C library for WebAssembly.
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

/// What is to be installed where `c_compiler` finds none.
auto missing_compiler(const target::Target& target) -> std::string {
  if (target.triple.empty()) { return "install one, or set CC"; }
  if (is_wasm(target)) { return "install clang and wasi-libc"; }
  return fmt::format("install {}-gcc", target.triple);
}

/// A folder that goes away with its contents.
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

/// Contents carry their own hash: what was cut off or changed is as good as absent.
auto read_cache(const std::string& path) -> std::optional<std::string> {
  auto text = read_file(path);
  if (!text || text->size() < cache_magic.size() + 17 || !text->starts_with(cache_magic)) { return std::nullopt; }
  std::string hash = text->substr(cache_magic.size(), 16);
  std::string object = text->substr(cache_magic.size() + 17);
  if (fmt::format("{:016x}", hash_bytes(object)) != hash) { return std::nullopt; }
  return object;
}

/// A cache that cannot be written is no reason to fail.
void write_cache(const std::string& path, const std::string& object) {
  (void)write_whole(path, fmt::format("{}{:016x}\n{}", cache_magic, hash_bytes(object), object));
}

/// Changes whenever a program does.
auto program_identity(const std::string& path) -> std::string {
  struct stat info{};
  auto found = find_program(path);
  if (!found || ::stat(found->c_str(), &info) != 0) { return "unknown"; }
  return fmt::format("{}-{}.{}", info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
}

}  // namespace

auto engine_id() -> std::string { return program_identity(current_program()); }

auto write_whole(const std::string& path, std::string_view content) -> Status {
  std::error_code problem;
  fs::path parent = fs::path(path).parent_path();
  if (!parent.empty()) { fs::create_directories(parent, problem); }
  if (problem) { return error(Code::CannotWrite).arg("file", path).arg("why", problem.message()); }
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
    return error(Code::CannotWrite).arg("file", artefact.path).arg("why", problem.message());
  }
  return ok();
}

auto build_file(const BuildJob& job, Reporter& reporter) -> std::optional<BuildResult> {
  auto read = SourceFile::read(job.file);
  if (!read) {
    reporter.report(read.diagnostics(), nullptr);
    return std::nullopt;
  }
  SourceFile& file = **read;
  auto fail = [&](Diagnostics diagnostics) -> std::optional<BuildResult> {
    reporter.report(diagnostics, &file);
    return std::nullopt;
  };
  reporter.report(file.diagnostics(), &file, true);
  if (reporter.errors() > 0) { return std::nullopt; }
  auto target = target::parse(job.target);
  if (!target) { return fail(target.diagnostics()); }

  // The schedules: for each program the last one in the file that is for it and this kind of target.
  struct Scheduled { IRModule before, after; std::string name; };
  std::vector<Scheduled> scheduled;
  if (!job.as_written) {
    const std::vector<std::string> names = workspace::schedule_names(*file.snapshot());
    if (!job.with.empty() && std::find(names.begin(), names.end(), job.with) == names.end()) { return fail({error(Code::NoSuchSchedule).arg("name", job.with).arg("file", job.file)}); }
    for (const std::string& name : names) {
      if (!job.with.empty() && name != job.with) { continue; }
      auto run = file.document().run_schedule(name);
      if (!run) { return fail(run.diagnostics()); }
      // What makes its schedule itself may be a test: it is taken where it is asked for.
      if (run->makes_its_own && job.with.empty()) { continue; }
      if (!run->target.empty()) {
        auto meant = target::parse(run->target);
        if (meant && meant->kind != target->kind) { continue; }
      }
      if (Diagnostics made = run->all_diagnostics(); has_errors(made)) { return fail(made); }
      if (auto why = run->why_incomplete()) { return fail({*std::move(why)}); }
      if (!run->result || !run->is_complete) { return fail({error(Code::ScheduleIncomplete).arg("name", name)}); }
      std::erase_if(scheduled, [&](const Scheduled& other) { return other.before.same_as(run->asked); });
      scheduled.push_back({run->asked, run->result->module(), name});
    }
  }

  Unit unit{.module = make_module({}), .kernels = {}, .built = {}};
  Diagnostics problems;
  std::vector<std::string> notes;
  for (const workspace::Program& program : workspace::top_programs(*file.snapshot())) {
    if (!program.module || program.has_errors) { continue; }
    auto found = std::find_if(scheduled.begin(), scheduled.end(), [&](const Scheduled& s) { return s.before.same_as(program.module); });
    IRModule after = found != scheduled.end() ? found->after : program.module;
    std::string name = found != scheduled.end() ? found->name : "";
    if (auto best = job.tuned ? job.tuned(program.module, *target) : std::nullopt) {
      auto trace = schedule::trace_from_json(best->trace);
      schedule::Schedule sch(program.module, 1);
      if (trace && sch.replay(*trace)) {
        after = sch.module();
        name = best->name;
      } else {
        notes.push_back(fmt::format("`{}`: the best trace of the tuning database does not apply to it any more", program.name.view()));
      }
    } else if (job.tuned) {
      notes.push_back(fmt::format("`{}` was not tuned for {}", program.name.view(), target->str()));
    }
    Diagnostics more = add_program(unit, program, after, name, !is_gpu(*target));
    problems.insert(problems.end(), more.begin(), more.end());
  }
  if (problems.empty() && unit.kernels.empty() && job.may_be_empty) {
    BuildResult nothing;
    nothing.notes.emplace_back("there is no program in it, so there is nothing to build");
    return nothing;
  }
  if (problems.empty() && unit.kernels.empty()) { problems.push_back(error(Code::NothingToBuild).arg("file", job.file)); }
  if (!problems.empty()) { return fail(problems); }

  BuildResult result;
  result.kernels = unit.built;
  result.notes = std::move(notes);
  std::string library = fs::path(job.stem).filename().string();

  // The object, by its contents where it was made before.
  std::vector<std::string> compiler = c_compiler(*target);
  uint64_t key = hash_bytes(print_script(unit.module));
  for (const std::string& part : {target->str(), engine_id(), std::string(compiler.empty() ? "alone" : "in a library")}) { key = hash_bytes(part, key); }
  if (job.debug_info) {
    auto text = read_file(job.file);
    key = hash_bytes(text ? *text : "", hash_bytes(fs::absolute(job.file).string(), key));
  }
  std::optional<std::string> object;
  if (!job.cache.empty()) { object = read_cache(cache_path(job.cache, key)); }
  result.from_cache = object.has_value();
  if (!object) {
    auto lowered = transform::lower(unit.module, lower_context(*target), lower_request(*target));
    if (!lowered) { return fail(lowered.diagnostics()); }
    codegen::CodegenOptions options;
    options.hosted = false;
    options.hidden = !compiler.empty();
    if (job.debug_info) { options.locate = source_places(file.locate()); }
    auto code = codegen::emit(*lowered, *target, codegen::EmitKind::Object, options);
    if (!code) { return fail(code.diagnostics()); }
    object = std::move(*code);
    if (!job.cache.empty()) { write_cache(cache_path(job.cache, key), *object); }
  }

  auto put = [&](const std::string& path, const char* kind, std::string_view content) -> bool {
    std::string staged = fmt::format("{}/{}-{}.{}", job.staging, library, ::getpid(), result.artefacts.size());
    if (auto status = write_file(staged, content); !status) {
      reporter.report(status.diagnostics(), nullptr);
      return false;
    }
    result.artefacts.push_back({path, staged, kind, content.size(), hash_bytes(content)});
    return true;
  };

  ScratchFolder scratch(job.staging);
  if (scratch.path.empty()) {
    reporter.report({cannot_write(job.staging)}, nullptr);
    return std::nullopt;
  }
  if (is_gpu(*target)) {
    result.notes.push_back(fmt::format("for a GPU there is {}.o with its kernels alone: link it with `ld.lld -shared`, and whoever launches them reads its metadata", library));
    if (!put(job.stem + ".o", "object", *object)) { return std::nullopt; }
    return result;
  }
  if (compiler.empty()) {
    result.notes.push_back(fmt::format("no C compiler for `{}` was found: there are no libraries, and {}.o has the inner functions only; {}", target->str(), library,
                                       missing_compiler(*target)));
    if (!put(job.stem + ".o", "object", *object)) { return std::nullopt; }
    if (!put(job.stem + ".h", "header", artefact::header(library, unit.kernels, job.packed))) { return std::nullopt; }
    return result;
  }
  std::string kernels_path = scratch.path + "/" + library + ".kernels.o";
  std::string source_path = scratch.path + "/entries.c";
  std::string entries_path = scratch.path + "/" + library + ".entries.o";
  std::string support_path = scratch.path + "/support.o";
  auto lay = [&](const std::string& path, std::string_view content) -> bool {
    auto status = write_file(path, content);
    if (!status) { reporter.report(status.diagnostics(), nullptr); }
    return status.ok();
  };
  if (!lay(kernels_path, *object) || !lay(source_path, artefact::entries(library, unit.kernels, job.packed)) ||
      !lay(scratch.path + "/loopsmith_support.h", artefact::support())) {
    return std::nullopt;
  }
  auto call = [&](std::vector<std::string> more) {
    std::vector<std::string> argv = compiler;
    argv.insert(argv.end(), more.begin(), more.end());
    std::string problem;
    if (run_compiler(std::move(argv), scratch.path, problem)) { return true; }
    reporter.report({error(Code::LinkFailed).arg("why", problem)}, nullptr);
    return false;
  };
  // The paths of the scratch folder are not to be seen in what is made: the same input gives the same bytes.
  std::string prefix_map = fmt::format("-ffile-prefix-map={}=.", scratch.path);
  auto compile = [&](const std::string& source, const std::string& made) {
    return call({"-std=c11", "-O2", "-fPIC", "-fvisibility=hidden", prefix_map, "-c", source, "-o", made});
  };
  // The support takes a C compiler most of its time, and is the same for all files.
  uint64_t support_key = hash_bytes(artefact::support(), hash_bytes(program_identity(compiler.front())));
  for (const std::string& word : compiler) { support_key = hash_bytes(word, support_key); }
  std::optional<std::string> support;
  if (!job.cache.empty()) { support = read_cache(cache_path(job.cache, support_key)); }
  if (support) {
    if (!lay(support_path, *support)) { return std::nullopt; }
  } else {
    std::string support_source = scratch.path + "/support.c";
    if (!lay(support_source, "#define LOOPSMITH_SUPPORT_CODE\n#include \"loopsmith_support.h\"\n") || !compile(support_source, support_path)) { return std::nullopt; }
    auto made = job.cache.empty() ? Result<std::string>(std::string()) : read_file(support_path);
    if (!job.cache.empty() && made) { write_cache(cache_path(job.cache, support_key), *made); }
  }
  std::string object_path = scratch.path + "/" + library + ".o";
  std::string shared_path = scratch.path + "/lib" + library + ".so";
  // WebAssembly has objects and archives, and no shared libraries that anybody loads.
  bool has_shared = !is_wasm(*target);
  if (!compile(source_path, entries_path) || !call({"-nostdlib", "-r", entries_path, support_path, kernels_path, "-o", object_path}) ||
      (has_shared && !call({"-shared", "-Wl,--build-id=none", "-Wl,-z,noexecstack", entries_path, support_path, kernels_path, "-o", shared_path, "-lm", "-pthread"}))) {
    return std::nullopt;
  }
  auto whole = read_file(object_path);
  auto shared = has_shared ? read_file(shared_path) : Result<std::string>(std::string());
  if (!whole || !shared) {
    reporter.report((whole ? shared : whole).diagnostics(), nullptr);
    return std::nullopt;
  }
  auto archive = codegen::archive({{library + ".o", *whole}});
  if (!archive) { return fail(archive.diagnostics()); }
  fs::path stem(job.stem);
  std::string lib = (stem.parent_path() / ("lib" + library)).string();
  // Whoever sees the header finds the library.
  if (!put(job.stem + ".o", "object", *whole) || !put(lib + ".a", "static", *archive) || (has_shared && !put(lib + ".so", "shared", *shared)) ||
      !put(job.stem + ".h", "header", artefact::header(library, unit.kernels, job.packed))) {
    return std::nullopt;
  }
  return result;
}

}  // namespace loopsmith::driver
