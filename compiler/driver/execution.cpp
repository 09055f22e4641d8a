// Calls from the command line: see execution.h.
#include "driver/execution.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "driver/command.h"
#include "driver/lowering.h"
#include "ir/reals.h"
#include "runtime/npy.h"
#include "support/codes.h"
#include "support/process.h"
#include "support/spelling.h"
#include "support/text.h"

namespace loopsmith::driver {
namespace {

auto is_number(const std::string& text, double& out) -> bool {
  char* end = nullptr;
  out = std::strtod(text.c_str(), &end);
  return end != text.c_str() && *end == 0;
}

auto shape_text(const std::vector<int64_t>& shape) -> std::string {
  std::string out = "(";
  for (size_t i = 0; i < shape.size(); ++i) { out += (i ? ", " : "") + std::to_string(shape[i]); }
  return out + (shape.size() == 1 ? ",)" : ")");
}

struct Summary { double least = 0, most = 0, mean = 0; int64_t odd = 0; };   // odd: NaN or infinite, not in the rest
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
  // Debuggers and profilers of this process (runtime/jit_tools.h) show lines.
  if (const char* tools = std::getenv("LOOPSMITH_JIT"); tools != nullptr && selection.file) { options.locate = source_places(selection.file->locate()); }
  return runtime::JitModule::compile(lowered, selection.target, options, module);
}

namespace {

/// The value that the command line gives for a name: a file or a number as text, or an array of that name in an archive.
struct Given {
  std::string text;
  std::shared_ptr<const runtime::NpzFile> archive;
};

auto wrong_argument(const std::string& name, std::string_view why) -> Diagnostic { return error(Code::InterpArgument).arg("name", name).arg("why", why); }

/// Makes a call step by step: the given values, then sizes and scalars, then the buffers of files, which fix further sizes, then random contents.
class CallMaker {
 public:
  CallMaker(const Selection& selection, const Arguments& arguments)
      : arguments_(arguments), function_(selection.program.str()) {
    call_.interface = codegen::interface_of(selection.before->find(selection.function), symbol_of(selection));
    sizes_.assign(call_.interface.shape_variables.size(), -1);
    scalar_sizes_.assign(parameters().size(), -1);
    call_.tensors.resize(parameters().size());
    call_.values.resize(parameters().size());
  }

  auto make() -> Result<Call> {
    LOOPSMITH_CHECK(read_given());
    LOOPSMITH_CHECK(take_sizes());
    for (size_t i = 0; i < parameters().size(); ++i) { LOOPSMITH_CHECK(take_argument(i)); }
    LOOPSMITH_CHECK(check_sizes());
    call_.sizes = sizes_;
    LOOPSMITH_TRY(seed, read_seed());
    for (size_t i = 0; i < parameters().size(); ++i) {
      if (parameters()[i].kind != codegen::Parameter::Kind::Buffer) { continue; }
      if (!call_.tensors[i].data()) { LOOPSMITH_CHECK(fill_randomly(i, seed)); }
    }
    for (size_t i = 0; i < parameters().size(); ++i) {
      if (parameters()[i].kind == codegen::Parameter::Kind::Buffer) { call_.values[i] = &call_.tensors[i]; }
    }
    return std::move(call_);
  }

 private:
  [[nodiscard]] auto parameters() const -> const std::vector<codegen::Parameter>& { return call_.interface.parameters; }
  /// Slots of dimensions number the parameters first, then the shape variables.
  [[nodiscard]] auto is_size(const codegen::Dimension& d) const -> bool {
    return d.kind == codegen::Dimension::Kind::Variable && static_cast<size_t>(d.slot) >= parameters().size();
  }
  auto size_of(const codegen::Dimension& d) -> int64_t& { return sizes_[static_cast<size_t>(d.slot) - parameters().size()]; }

  auto read_seed() const -> Result<uint64_t> {
    auto text = arguments_.get("--random");
    if (!text) { return uint64_t{0}; }
    auto number = parse_number(*text, 0, INT64_MAX);
    if (!number) { return wrong_argument("--random " + *text, "a seed is a whole number"); }
    return static_cast<uint64_t>(*number);
  }

  auto check_name(const std::string& name) const -> Status {
    std::vector<std::string> names = call_.interface.shape_variables;
    for (const codegen::Parameter& p : parameters()) { names.push_back(p.name); }
    if (std::find(names.begin(), names.end(), name) != names.end()) { return ok(); }
    std::string meant = closest(name, names);
    Diagnostic d = error(Code::NoSuchParameter).arg("function", function_).arg("name", name);
    return meant.empty() ? std::move(d) : std::move(d).remedy(fmt::format("did you mean `{}`?", meant));
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
      if (equals == std::string::npos) { return wrong_argument("--arg " + text, "it is NAME=FILE.npy or NAME=NUMBER"); }
      LOOPSMITH_CHECK(check_name(name));
      given_[name] = {text.substr(equals + 1), nullptr};
    }
    // Numbers of an archive are arrays without dimensions.
    for (auto& [name, value] : given_) {
      auto p = std::find_if(parameters().begin(), parameters().end(), [&, &wanted = name](const codegen::Parameter& q) { return q.name == wanted; });
      if (!value.archive || (p != parameters().end() && p->kind == codegen::Parameter::Kind::Buffer)) { continue; }
      LOOPSMITH_TRY(number, value.archive->read(name));
      if (number.count() != 1) { return wrong_argument(name, "it is a number, and the file has an array of " + number.describe()); }
      value = {number.dtype().is_real() ? fmt::format("{}", number.get(0)) : fmt::format("{}", static_cast<int64_t>(number.get(0))), nullptr};
    }
    return ok();
  }

  auto take_sizes() -> Status {
    for (size_t i = 0; i < sizes_.size(); ++i) {
      auto found = given_.find(call_.interface.shape_variables[i]);
      if (found == given_.end()) { continue; }
      auto number = parse_number(found->second.text, 0, INT32_MAX);
      if (!number) { return wrong_argument("--arg " + found->first + "=" + found->second.text, "a size is a whole number"); }
      sizes_[i] = *number;
    }
    return ok();
  }

  auto take_argument(size_t i) -> Status {
    const codegen::Parameter& p = parameters()[i];
    auto found = given_.find(p.name);
    if (p.kind == codegen::Parameter::Kind::Pointer) { return wrong_argument(p.name, "it is a bare pointer: match a buffer to it, so that its shape is known"); }
    if (p.kind == codegen::Parameter::Kind::Buffer) { return found == given_.end() ? ok() : take_file(i, found->second); }
    double number = 1;
    if (found != given_.end() && !is_number(found->second.text, number)) {
      return wrong_argument("--arg " + p.name + "=" + found->second.text, "a " + p.dtype.str() + " is a number");
    }
    if (p.dtype.is_real()) { call_.values[i] = number; } else { call_.values[i] = static_cast<int64_t>(number); }
    scalar_sizes_[i] = static_cast<int64_t>(number);
    return ok();
  }

  /// Reads a buffer from a file; its shape fixes the sizes in it.
  auto take_file(size_t i, const Given& given) -> Status {
    const codegen::Parameter& p = parameters()[i];
    LOOPSMITH_TRY(tensor, given.archive ? given.archive->read(p.name, p.dtype) : runtime::read_npy(given.text, p.dtype));
    bool fits = tensor.dtype() == p.dtype && tensor.shape().size() == p.shape.size();
    for (size_t d = 0; fits && d < p.shape.size(); ++d) {
      const codegen::Dimension& dimension = p.shape[d];
      if (dimension.kind == codegen::Dimension::Kind::Constant) { fits = tensor.shape()[d] == dimension.value; }
      if (is_size(dimension)) {
        int64_t& size = size_of(dimension);
        fits = size < 0 || size == tensor.shape()[d];
        size = tensor.shape()[d];
      }
    }
    if (!fits) { return mismatch(p, tensor); }
    call_.tensors[i] = std::move(tensor);
    return ok();
  }

  auto mismatch(const codegen::Parameter& p, const runtime::Tensor& tensor) const -> Diagnostic {
    std::string wanted = p.dtype.str() + " (";
    for (size_t d = 0; d < p.shape.size(); ++d) {
      const codegen::Dimension& dimension = p.shape[d];
      wanted += d ? ", " : "";
      wanted += dimension.kind == codegen::Dimension::Kind::Constant ? std::to_string(dimension.value)
                : is_size(dimension) ? call_.interface.shape_variables[static_cast<size_t>(dimension.slot) - parameters().size()] : "...";
    }
    Diagnostic d = error(Code::ArgumentMismatch).arg("argument", p.name).arg("function", function_).arg("expected", wanted + ")").arg("found", tensor.describe());
    if (!is_short_real(p.dtype) || tensor.dtype() == p.dtype) { return d; }
    return std::move(d).remedy(fmt::format("NumPy has no `{}`: save its bits as bytes, `numpy.save(FILE, bits.view(\"V{}\"))`", p.dtype.str(), p.dtype.element_bytes()));
  }

  auto check_sizes() const -> Status {
    for (size_t i = 0; i < sizes_.size(); ++i) {
      if (sizes_[i] >= 0) { continue; }
      const std::string& name = call_.interface.shape_variables[i];
      return wrong_argument(name, "this size of `" + function_ + "` is not known").remedy(fmt::format("say it: `--arg {}=128`, or give a file for a buffer with it", name));
    }
    return ok();
  }

  auto fill_randomly(size_t i, uint64_t seed) -> Status {
    const codegen::Parameter& p = parameters()[i];
    std::vector<int64_t> shape;
    for (const codegen::Dimension& d : p.shape) {
      if (d.kind == codegen::Dimension::Kind::Computed) {
        return wrong_argument(p.name, "its shape is not known").remedy(fmt::format("its shape is computed: give a file, `--arg {}=FILE.npy`", p.name));
      }
      shape.push_back(d.kind == codegen::Dimension::Kind::Constant ? d.value : is_size(d) ? size_of(d) : scalar_sizes_[static_cast<size_t>(d.slot)]);
    }
    LOOPSMITH_TRY(tensor, runtime::Tensor::random(p.dtype, std::move(shape), seed * 1000003 + i));
    call_.tensors[i] = std::move(tensor);
    return ok();
  }

  const Arguments& arguments_;
  const std::string function_;
  Call call_;
  std::map<std::string, Given> given_;
  std::vector<int64_t> sizes_;          // of the shape variables; -1: not known yet
  std::vector<int64_t> scalar_sizes_;   // of scalar parameters, which shapes may use
};

}  // namespace

auto make_call(const Selection& selection, const Arguments& arguments) -> Result<Call> {
  if (!selection.before->find(selection.function)) {
    return error(Code::NoProgram).arg("file", selection.program.view()).remedy("a program is a function with `@T.prim_func`, or a class with `@I.ir_module` that has some");
  }
  return CallMaker(selection, arguments).make();
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

auto write_results(const Call& call, const Arguments& arguments) -> Status {
  auto folder = arguments.get("--out");
  if (folder && ::mkdir(folder->c_str(), 0777) != 0 && errno != EEXIST) {
    return error(Code::CannotWrite).arg("file", *folder).arg("why", std::strerror(errno));
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

auto run_apart(const std::string& command, const std::string& kind, const std::vector<std::string>& args) -> int {
  ProcessOptions options;
  options.argv = {current_program(), "worker", kind};
  options.argv.insert(options.argv.end(), args.begin(), args.end());
  options.standard_input = options.standard_output = Stream::Inherit;
  std::fflush(stdout);
  auto process = Process::start(options);
  if (!process) {
    fmt::print(stderr, "loopsmith {}: {}\n", command, process.diagnostics()[0].message());
    return exit_internal;
  }
  auto status = process->wait(never());
  if (!status) { return exit_internal; }
  if (status->signal == 0) { return status->code; }
  fmt::print(stderr, "loopsmith {}: the program {}{}\n", command, status->describe(),
             status->signal == SIGSEGV || status->signal == SIGBUS ? ": it reads or writes outside of its buffers" : "");
  if (status->signal == SIGSEGV || status->signal == SIGBUS) {
    fmt::print(stderr, "help: `--check-bounds` tests every access and names the first bad one; so does `loopsmith interpret`, slowly\n");
  }
  return exit_input;
}

}  // namespace loopsmith::driver
