// Makes calls from the command line: see execution.h.
#include "driver/execution.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>
#include <thread>

#include "codegen/sizes.h"
#include "driver/command.h"
#include "driver/lowering.h"
#include "ir/externals.h"
#include "ir/reals.h"
#include "runtime/npy.h"
#include "support/codes.h"
#include "support/confinement.h"
#include "support/process.h"
#include "support/reasons.h"
#include "support/spelling.h"
#include "support/text.h"

namespace loopsmith::driver {
namespace {

auto is_number(const std::string& text, double& out) -> bool {
  char* end = nullptr;
  out = std::strtod(text.c_str(), &end);
  return end != text.c_str() && *end == 0;
}

auto most_of(DataType type) -> uint64_t { return UINT64_MAX >> (64 - (type.is_uint() ? type.bits : type.bits - 1)); }
auto least_of(DataType type) -> int64_t { return type.is_uint() ? 0 : -static_cast<int64_t>(most_of(type)) - 1; }

/// An integer, `1000` or `1e3`; the bits of one of uint64 beyond 2^63. None: the text is no whole number, or does not fit the type.
auto whole_number(const std::string& text, DataType type) -> std::optional<int64_t> {
  const char* begin = text.data() + (text.starts_with('+') ? 1 : 0);
  const char* end = text.data() + text.size();
  uint64_t positive = 0;
  int64_t value = 0;
  if (auto [last, failed] = std::from_chars(begin, end, positive); failed == std::errc() && last == end) {
    return positive <= most_of(type) ? std::optional(static_cast<int64_t>(positive)) : std::nullopt;
  }
  if (auto [last, failed] = std::from_chars(begin, end, value); failed == std::errc() && last == end) {
    return value >= least_of(type) ? std::optional(value) : std::nullopt;
  }
  double real = 0;
  constexpr double exact = 9007199254740992.0;   // 2^53
  if (!is_number(text, real) || std::abs(real) > exact || real != std::floor(real)) { return {}; }
  value = static_cast<int64_t>(real);
  return value >= least_of(type) && (value < 0 || static_cast<uint64_t>(value) <= most_of(type)) ? std::optional(value) : std::nullopt;
}

auto shape_text(const std::vector<int64_t>& shape) -> std::string {
  std::string out = "(";
  for (size_t i = 0; i < shape.size(); ++i) { out += (i ? ", " : "") + std::to_string(shape[i]); }
  return out + (shape.size() == 1 ? ",)" : ")");
}

/// The first element of a tensor of integers: `Tensor::get` is exact up to 2^53 only.
auto whole_text(const runtime::Tensor& tensor) -> std::string {
  uint64_t bits = 0;
  const int width = tensor.dtype().bits;
  if (width != 64) { return fmt::format("{}", static_cast<int64_t>(tensor.get(0))); }
  std::memcpy(&bits, tensor.data(), sizeof bits);
  return tensor.dtype().is_uint() ? fmt::format("{}", bits) : fmt::format("{}", static_cast<int64_t>(bits));
}

struct Summary { double least = 0, most = 0, mean = 0; int64_t odd = 0; };   // odd: NaN or infinite, excluded from the rest
auto summarise(const runtime::Tensor& tensor) -> Summary {
  Summary out;
  int64_t n = 0;
  for (int64_t i = 0; i < tensor.count(); ++i) {
    double v = tensor.get(i);
    if (!std::isfinite(v)) {
      ++out.odd;
      continue;
    }
    out.least = n == 0 ? v : std::min(out.least, v);
    out.most = n == 0 ? v : std::max(out.most, v);
    out.mean += (v - out.mean) / static_cast<double>(++n);
  }
  return out;
}

}  // namespace

auto symbol_of(const Selection& selection) -> std::string {
  std::string symbol = codegen::symbol_of(selection.function, selection.before->find(selection.function));
  // A bare function is `main` of its module; its symbol is its name in the file.
  return selection.is_bare && symbol == selection.function.str() ? selection.program.str() : symbol;
}

auto bounds_checks(const Selection& selection, const Arguments& arguments) -> Locate {
  if (!arguments.has("--check-bounds")) { return {}; }
  if (selection.file) { return selection.file->locate(); }
  return [](const Origin&) -> std::optional<Located> { return {}; };
}

auto named_module(const Selection& selection) -> IRModule {
  if (!selection.is_bare) { return selection.module; }
  PrimFuncNode named = *selection.module->find(selection.function);
  named.attrs = with_attr(named.attrs, "global_symbol", symbol_of(selection));
  return with_function(selection.module, selection.function, make_func(std::move(named)));
}

auto compile(const Selection& selection, const Locate& checked, bool fills_allocations) -> Result<runtime::JitModule> {
  IRModule module = named_module(selection);
  LOOPSMITH_TRY(lowered, transform::lower(module, lower_context(selection.target, checked), lower_request(selection.target)));
  codegen::CodegenOptions options;
  options.fills_allocations = fills_allocations;
  // Debuggers and profilers of this process (runtime/jit_tools.h) show source lines.
  if (const char* tools = std::getenv("LOOPSMITH_JIT"); tools != nullptr && selection.file) { options.locate = source_places(selection.file->locate()); }
  return runtime::JitModule::compile(lowered, selection.target, options, module);
}

namespace {

/// The value for a name on the command line: a file or a number as text, or an array with that name in an archive.
struct Given {
  std::string text;
  std::shared_ptr<const runtime::NpzFile> archive;
};

auto wrong_argument(const std::string& name, const Reason& why) -> Diagnostic { return error(Code::InterpArgument).arg("name", name).arg("reason", why.text()); }

auto size_text(uint64_t bytes) -> std::string {
  for (auto [shift, letter] : {std::pair(30U, 'G'), std::pair(20U, 'M')}) {
    if (bytes % (1ULL << shift) == 0) { return fmt::format("{}{}", bytes >> shift, letter); }
  }
  return fmt::format("{} bytes", bytes);
}

/// Makes a call step by step: the given values, then sizes and scalars, then the buffers from files, which fix further sizes, then random contents.
class CallMaker {
 public:
  CallMaker(const Selection& selection, const Arguments& arguments, uint64_t most_bytes)
      : arguments_(arguments), function_(selection.program.str()), most_bytes_(most_bytes), bytes_left_(most_bytes) {
    call_.interface = codegen::interface_of(selection.before->find(selection.function), symbol_of(selection));
    slots_.resize(call_.interface.slots());
    given_tensors_.resize(parameters().size());
    call_.tensors.resize(parameters().size());
    call_.values.resize(parameters().size());
    call_.is_from_file.resize(parameters().size());
  }

  auto make() -> Result<Call> {
    LOOPSMITH_CHECK(read_given());
    LOOPSMITH_CHECK(take_sizes());
    for (size_t i = 0; i < parameters().size(); ++i) { LOOPSMITH_CHECK(take_argument(i)); }
    LOOPSMITH_CHECK(solve_sizes(false));
    choose_sizes();
    LOOPSMITH_TRY(seed, read_seed());
    for (size_t i = 0; i < parameters().size(); ++i) {
      if (parameters()[i].kind != codegen::Parameter::Kind::Buffer) { continue; }
      if (!call_.tensors[i].data()) { LOOPSMITH_CHECK(fill_randomly(i, seed)); }
    }
    // Includes strides and offsets, which tensors from files and random ones do not choose.
    LOOPSMITH_CHECK(solve_sizes(true));
    for (size_t i = parameters().size(); i < slots_.size(); ++i) { call_.sizes.push_back(slots_[i].value_or(0)); }
    for (size_t i = 0; i < parameters().size(); ++i) {
      if (parameters()[i].kind == codegen::Parameter::Kind::Buffer) { call_.values[i] = &call_.tensors[i]; }
    }
    return std::move(call_);
  }

 private:
  [[nodiscard]] auto parameters() const -> const std::vector<codegen::Parameter>& { return call_.interface.parameters; }
  auto read_seed() const -> Result<uint64_t> {
    auto text = arguments_.get("--random");
    if (!text) { return uint64_t{0}; }
    auto number = parse_number(*text, 0, INT64_MAX);
    if (!number) { return wrong_argument("--random " + *text, because(Why::SeedForm)); }
    return static_cast<uint64_t>(*number);
  }

  auto check_name(const std::string& name) const -> Status {
    std::vector<std::string> names = call_.interface.shape_variables;
    for (const codegen::Parameter& p : parameters()) { names.push_back(p.name); }
    if (std::find(names.begin(), names.end(), name) != names.end()) { return ok(); }
    std::string meant = closest(name, names);
    Diagnostic d = error(Code::NoSuchParameter).arg("function", function_).arg("name", name);
    // A name of one letter is close to every other.
    if (!meant.empty() && name.size() > 1) { return std::move(d).remedy(fmt::format("did you mean `{}`?", meant)); }
    if (names.empty()) { return std::move(d).note({}, "it has no parameters"); }
    for (std::string& one : names) { one = "`" + one + "`"; }
    return std::move(d).note({}, fmt::format("its parameters are {}", fmt::join(names, ", ")));
  }

  auto read_given() -> Status {
    for (const std::string& path : arguments_.all("--inputs")) {
      LOOPSMITH_TRY(archive, runtime::NpzFile::open(path));
      auto shared = std::make_shared<const runtime::NpzFile>(std::move(archive));
      for (const std::string& name : shared->names()) {
        LOOPSMITH_CHECK(check_name(name));
        given_[name] = {{}, shared};
      }
    }
    for (const std::string& text : arguments_.all("--arg")) {
      size_t equals = text.find('=');
      std::string name = text.substr(0, equals);
      if (equals == std::string::npos) { return wrong_argument("--arg " + text, because(Why::ArgumentForm)); }
      LOOPSMITH_CHECK(check_name(name));
      given_[name] = {text.substr(equals + 1), nullptr};
    }
    // Numbers in an archive are arrays without dimensions.
    for (auto& [name, value] : given_) {
      auto p = std::find_if(parameters().begin(), parameters().end(), [&, &wanted = name](const codegen::Parameter& q) { return q.name == wanted; });
      if (!value.archive || (p != parameters().end() && p->kind == codegen::Parameter::Kind::Buffer)) { continue; }
      LOOPSMITH_TRY(number, value.archive->read(name));
      if (number.count() != 1) { return wrong_argument(name, because(Why::NumberAndArray).arg("found", number.describe())); }
      value = {number.dtype().is_real() ? fmt::format("{}", number.get(0)) : whole_text(number), nullptr};
    }
    return ok();
  }

  auto take_sizes() -> Status {
    for (size_t i = 0; i < call_.interface.shape_variables.size(); ++i) {
      auto found = given_.find(call_.interface.shape_variables[i]);
      if (found == given_.end()) { continue; }
      auto number = parse_number(found->second.text, 0, INT32_MAX);
      if (!number) { return wrong_argument("--arg " + found->first + "=" + found->second.text, because(Why::SizeForm)); }
      slots_[parameters().size() + i] = *number;
    }
    return ok();
  }

  auto take_argument(size_t i) -> Status {
    const codegen::Parameter& p = parameters()[i];
    auto found = given_.find(p.name);
    if (p.kind == codegen::Parameter::Kind::Pointer) { return wrong_argument(p.name, because(Why::BarePointer)); }
    if (p.kind == codegen::Parameter::Kind::Buffer) { return found == given_.end() ? ok() : take_file(i, found->second); }
    // A size of one would hide mistakes of a schedule, and be useless to measure.
    const int64_t usual = codegen::is_size(call_.interface, i) ? runtime::usual_size : 1;
    if (found == given_.end() && codegen::is_size(call_.interface, i)) { call_.chosen_sizes.push_back(p.name); }
    if (p.dtype.is_real()) {
      double number = static_cast<double>(usual);
      if (found != given_.end() && !is_number(found->second.text, number)) {
        return wrong_argument("--arg " + p.name + "=" + found->second.text, because(Why::TypeIsNumber).arg("dtype", p.dtype.str()));
      }
      call_.values[i] = number;
      return ok();
    }
    auto number = found == given_.end() ? std::optional(usual) : whole_number(found->second.text, p.dtype);
    if (!number) {
      return wrong_argument("--arg " + p.name + "=" + found->second.text, because(Why::WholeNumber).arg("dtype", p.dtype.str()).arg("least", least_of(p.dtype)).arg("most", most_of(p.dtype)));
    }
    call_.values[i] = *number;
    slots_[i] = *number;
    return ok();
  }

  /// Reads a buffer from a file; its shape fixes the sizes in it.
  auto take_file(size_t i, const Given& given) -> Status {
    const codegen::Parameter& p = parameters()[i];
    LOOPSMITH_TRY(tensor, given.archive ? given.archive->read(p.name, p.dtype) : runtime::read_npy(given.text, p.dtype));
    bool fits = tensor.dtype() == p.dtype && tensor.shape().size() == p.shape.size();
    if (!fits) { return mismatch(i, tensor); }
    given_tensors_[i].shape = tensor.shape();
    call_.tensors[i] = std::move(tensor);
    call_.is_from_file[i] = true;
    return ok();
  }

  auto mismatch(size_t i, const runtime::Tensor& tensor) const -> Diagnostic {
    const codegen::Parameter& p = parameters()[i];
    Diagnostic d = error(Code::ArgumentMismatch).arg("argument", p.name).arg("function", function_)
                       .arg("expected", p.dtype.str() + " " + codegen::shape_text(call_.interface, i)).arg("found", tensor.describe());
    if (!is_short_real(p.dtype) || tensor.dtype() == p.dtype) { return d; }
    return std::move(d).remedy(fmt::format("NumPy has no `{}`: save its bits as bytes, `numpy.save(FILE, bits.view(\"V{}\"))`", p.dtype.str(), p.dtype.element_bytes()));
  }

  /// Computes the sizes from the shapes of files, and checks that all files fit.
  auto solve_sizes(bool is_complete) -> Status {
    const Sizes& sizes = call_.interface.sizes;
    std::vector<const GivenTensor*> given;
    for (const BufferSizes& buffer : sizes.buffers) { given.push_back(call_.tensors[buffer.parameter].data() ? &given_tensors_[buffer.parameter] : nullptr); }
    auto misfit = solve(sizes, slots_, given, is_complete);
    if (!misfit) { return ok(); }
    if (misfit->variable != SIZE_MAX) { return size_unknown(misfit->variable); }
    size_t i = sizes.buffers[misfit->buffer].parameter;
    Diagnostic d = error(Code::ArgumentMismatch).arg("argument", parameters()[i].name).arg("function", function_)
                       .arg("expected", misfit->expected).arg("found", misfit->found);
    return misfit->note.empty() ? std::move(d) : std::move(d).note({}, misfit->note);
  }

  /// Sizes that neither the command line nor a file gives.
  void choose_sizes() {
    for (size_t i = 0; i < call_.interface.shape_variables.size(); ++i) {
      std::optional<int64_t>& slot = slots_[parameters().size() + i];
      if (slot || !codegen::is_size(call_.interface, parameters().size() + i)) { continue; }
      slot = runtime::usual_size;
      call_.chosen_sizes.push_back(call_.interface.shape_variables[i]);
    }
  }

  auto size_unknown(size_t variable) const -> Diagnostic {
    const std::string& name = call_.interface.shape_variables[variable];
    return wrong_argument(name, because(Why::SizeOfProgramUnknown).arg("program", function_)).remedy(fmt::format("give it: `--arg {}=128`, or a file for a buffer with it", name));
  }

  auto fill_randomly(size_t i, uint64_t seed) -> Status {
    const codegen::Parameter& p = parameters()[i];
    auto shape = codegen::shape_of(call_.interface, i, slots_);
    for (size_t v = 0; !shape && v < slots_.size(); ++v) {
      const std::string& name = v < parameters().size() ? parameters()[v].name : call_.interface.shape_variables[v - parameters().size()];
      if (slots_[v] && *slots_[v] < 0 && codegen::is_size(call_.interface, v)) { return wrong_argument(name, because(Why::SizeForm)).remedy("give a size of at least 0"); }
    }
    if (!shape) {
      return wrong_argument(p.name, because(Why::ShapeWithoutValue).arg("shape", codegen::shape_text(call_.interface, i))).remedy(fmt::format("give a file: `--arg {}=FILE.npy`", p.name));
    }
    if (p.is_unknown_index) {
      return wrong_argument(p.name, because(Why::IndicesWithoutRange)).remedy(fmt::format("give its contents: `--arg {}=FILE.npy`", p.name));
    }
    int64_t bytes = static_cast<int64_t>(p.dtype.element_bytes()) * p.dtype.lanes;
    bool is_countable = true;
    for (int64_t extent : *shape) { is_countable = !__builtin_mul_overflow(bytes, extent, &bytes) && is_countable; }
    const bool fits = is_countable && static_cast<uint64_t>(bytes) <= bytes_left_;
    if (!fits && most_bytes_ != UINT64_MAX) {
      return error(Code::OutOfMemory).arg("what", fmt::format("`{}`", p.name)).arg("bytes", is_countable ? bytes_text(static_cast<double>(bytes)) : "more than 8 EiB")
          .arg("limit", fmt::format("the memory limit of {} leaves", size_text(most_bytes_)))
          .remedy("choose smaller sizes with `--arg`, or another limit with `--memory`");
    }
    if (fits) { bytes_left_ -= static_cast<uint64_t>(bytes); }
    LOOPSMITH_TRY(tensor, runtime::Tensor::random(p.dtype, std::move(*shape), seed * 1000003 + i));
    if (auto range = codegen::index_range(call_.interface, i, slots_)) { tensor.fill_range(range->first, range->last, seed * 1000003 + i); }
    given_tensors_[i].shape = tensor.shape();
    call_.tensors[i] = std::move(tensor);
    return ok();
  }

  const Arguments& arguments_;
  const std::string function_;
  const uint64_t most_bytes_;
  uint64_t bytes_left_;
  Call call_;
  std::map<std::string, Given> given_;
  std::vector<std::optional<int64_t>> slots_;   // the known scalar parameters and sizes
  std::vector<GivenTensor> given_tensors_;      // from files
};

}  // namespace

auto make_call(const Selection& selection, const Arguments& arguments, uint64_t most_bytes) -> Result<Call> {
  if (!selection.before->find(selection.function)) {
    return error(Code::NoProgram).arg("file", selection.program.view()).remedy("a program is a function with `@T.prim_func`, or a class with `@I.ir_module` that has some");
  }
  return CallMaker(selection, arguments, most_bytes).make();
}

auto interpreter_arguments(const Call& call) -> std::vector<interp::Argument> {
  std::vector<interp::Argument> out;
  for (const runtime::Value& value : call.values) {
    if (const auto* tensor = std::get_if<const runtime::Tensor*>(&value)) { out.emplace_back((*tensor)->view()); }
    else if (const auto* integer = std::get_if<int64_t>(&value)) { out.emplace_back(*integer); }
    else { out.emplace_back(std::get<double>(value)); }
  }
  return out;
}

void note_externals(const Selection& selection) {
  std::set<std::string> names;
  for (const auto& [name, func] : selection.module->functions) {
    for (const ExternalCall& call : external_calls(func)) { names.insert("`" + std::string(call.name) + "`"); }
  }
  if (names.empty()) { return; }
  fmt::print(stderr, "note: the program calls {}\n", fmt::join(names, ", "));
}

void note_sizes(const Call& call, const Arguments& arguments) {
  if (arguments.json() && !call.chosen_sizes.empty()) {
    nlohmann::json sizes = nlohmann::json::object();
    for (const std::string& name : call.chosen_sizes) { sizes[name] = runtime::usual_size; }
    fmt::print("{}\n", nlohmann::json({{"event", "sizes"}, {"sizes", sizes}}).dump());
    return;
  }
  for (const std::string& name : call.chosen_sizes) { fmt::print(stderr, "note: the size `{}` is {}; `--arg {}=N` gives another\n", name, runtime::usual_size, name); }
}

auto write_results(const Call& call, const Arguments& arguments) -> Status {
  auto folder = arguments.get("--out");
  if (folder && ::mkdir(folder->c_str(), 0777) != 0 && errno != EEXIST) {
    return error(Code::CannotWrite).arg("file", *folder).arg("reason", std::strerror(errno));
  }
  for (size_t i = 0; i < call.tensors.size(); ++i) {
    const codegen::Parameter& p = call.interface.parameters[i];
    if (p.kind != codegen::Parameter::Kind::Buffer || !p.is_written) { continue; }
    const runtime::Tensor& tensor = call.tensors[i];
    std::string file;
    if (folder) {
      file = *folder + "/" + p.name + ".npy";
      LOOPSMITH_CHECK(runtime::write_npy(file, tensor));
    }
    Summary s = summarise(tensor);
    if (arguments.json()) {
      nlohmann::json line = {{"name", p.name}, {"dtype", tensor.dtype().str()}, {"shape", tensor.shape()}, {"min", s.least}, {"max", s.most}, {"mean", s.mean}};
      if (s.odd) { line["not_finite"] = s.odd; }
      if (folder) { line["file"] = file; }
      fmt::print("{}\n", line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
      continue;
    }
    std::string head;
    for (int64_t k = 0; k < std::min<int64_t>(4, tensor.count()); ++k) { head += fmt::format("{}{:.6g}", k ? " " : "", tensor.get(k)); }
    fmt::print("{}: {} {}  {}{}  min {:.6g}, max {:.6g}, mean {:.6g}", p.name, tensor.dtype().str(), shape_text(tensor.shape()), head,
               tensor.count() > 4 ? " ..." : "", s.least, s.most, s.mean);
    if (s.odd) { fmt::print(", {} not finite", s.odd); }
    if (folder) { fmt::print("  -> {}", file); }
    fmt::print("\n");
  }
  return ok();
}

namespace {

constexpr int finished_offset = 64;

/// The bytes of "512M", "16G" or a plain number; none for other texts.
auto parse_bytes(std::string_view text) -> std::optional<uint64_t> {
  uint64_t unit = 1;
  if (!text.empty()) {
    char last = text.back();
    unit = last == 'K' ? 1ULL << 10U : last == 'M' ? 1ULL << 20U : last == 'G' ? 1ULL << 30U : last == 'T' ? 1ULL << 40U : 1;
  }
  if (unit > 1) { text.remove_suffix(1); }
  auto number = parse_number(text, 1, 1LL << 40U);
  if (!number || static_cast<uint64_t>(*number) > (1ULL << 60U) / unit) { return {}; }
  return static_cast<uint64_t>(*number) * unit;
}

/// A sentence about a process that did not finish the command.
auto why_unfinished(const ExitStatus& status) -> std::string {
  if (status.signal == 0) { return fmt::format("the program ended its process, with status {}, before the command was done", status.code); }
  bool is_memory = status.signal == SIGSEGV || status.signal == SIGBUS;
  return fmt::format("the program {}{}", status.describe(), is_memory ? ": it reads or writes outside of its buffers" : "");
}

}  // namespace

auto read_limits(const std::string& command, const Arguments& arguments, const ExecutionLimits& defaults) -> std::variant<ExecutionLimits, int> {
  ExecutionLimits limits = defaults;
  if (auto text = arguments.get("--time")) {
    auto seconds = parse_seconds(*text);
    if (!seconds) { return usage_error(command, "`--time` takes a time such as 30, 90s or 2min, not `" + *text + "`"); }
    limits.seconds = *seconds;
  }
  if (auto text = arguments.get("--memory")) {
    auto bytes = parse_bytes(*text);
    if (!bytes) { return usage_error(command, "`--memory` takes a size such as 512M or 16G, not `" + *text + "`"); }
    limits.bytes = *bytes;
  }
  return limits;
}

auto finished(int status) -> int { return finished_offset + status; }

auto run_apart(const std::string& command, const std::string& kind, const std::vector<std::string>& args, const ExecutionLimits& limits) -> int {
  ProcessOptions options;
  options.argv = {current_program(), "worker", kind};
  options.argv.insert(options.argv.end(), args.begin(), args.end());
  options.standard_input = options.standard_output = Stream::Inherit;
  options.limits.address_space = address_space_for(limits.bytes);
  options.hides_environment = true;
  options.sweeps = true;
  std::fflush(stdout);
  auto process = Process::start(options);
  if (!process) {
    fmt::print(stderr, "loopsmith {}: {}\n", command, process.diagnostics()[0].message());
    return exit_internal;
  }
  auto status = process->wait(in(std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(limits.seconds))));
  if (!status) {
    (void)process->kill();
    fmt::print(stderr, "loopsmith {}: the program was stopped at the time limit of {}\nhelp: `--time` sets another limit\n", command, limit_text(limits.asked > 0 ? limits.asked : limits.seconds));
    return exit_input;
  }
  if (status->signal == 0 && status->code >= finished_offset) { return status->code - finished_offset; }
  fmt::print(stderr, "loopsmith {}: {}\n", command, why_unfinished(*status));
  if (status->signal == SIGSEGV || status->signal == SIGBUS) {
    // Kernels have no such tests.
    const bool is_of_device = std::any_of(args.begin(), args.end(), [](const std::string& word) { return word.starts_with("opencl") || word.starts_with("cuda") || word.starts_with("nvidia/"); });
    fmt::print(stderr, "help: {}\n", is_of_device ? "`loopsmith interpret` names the first access outside of a buffer, slowly"
                                                  : "`--check-bounds` tests every access and names the first bad one; so does `loopsmith interpret`, slowly");
  }
  if (status->signal == SIGABRT) { fmt::print(stderr, "help: the memory limit is {}; `--memory` sets another\n", size_text(limits.bytes)); }
  return exit_input;
}

void confined(const std::function<void()>& work) {
  auto within = [&] {
    // Tools that watch compiled code write files of their own (runtime/jit_tools.h).
    if (std::getenv("LOOPSMITH_JIT") == nullptr) { confine_this_thread(); }
    work();
  };
  std::optional<std::thread> thread;
  try {
    thread.emplace(within);
  } catch (const std::system_error&) {
    // If the system provides no more threads, the process's own limits apply.
    work();
    return;
  }
  thread->join();
}

}  // namespace loopsmith::driver
