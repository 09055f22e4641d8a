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
  // `main` of a module of its own is known by the name that it has in the file.
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
  // Debuggers and profilers that look at this process (runtime/jit_tools.h) want to know lines.
  if (const char* tools = std::getenv("LOOPSMITH_JIT"); tools != nullptr && selection.file) { options.locate = source_places(selection.file->locate()); }
  return runtime::JitModule::compile(lowered, selection.target, options, module);
}

auto make_call(const Selection& selection, const Arguments& arguments) -> Result<Call> {
  Call call;
  std::string function = selection.program.str();
  call.interface = codegen::interface_of(selection.before->find(selection.function), symbol_of(selection));
  const std::vector<codegen::Parameter>& parameters = call.interface.parameters;
  uint64_t seed = 0;
  if (auto text = arguments.get("--random")) {
    auto number = parse_number(*text, 0, INT64_MAX);
    if (!number) { return error(Code::InterpArgument).arg("name", "--random " + *text).arg("why", "a seed is a whole number"); }
    seed = static_cast<uint64_t>(*number);
  }
  std::vector<std::string> names = call.interface.shape_variables;
  for (const codegen::Parameter& p : parameters) { names.push_back(p.name); }
  auto unknown = [&](const std::string& name) {
    std::string meant = closest(name, names);
    Diagnostic d = error(Code::NoSuchParameter).arg("function", function).arg("name", name);
    return meant.empty() ? std::move(d) : std::move(d).remedy(fmt::format("did you mean `{}`?", meant));
  };
  // A file or a number for a name, or where the array of that name is.
  struct Given { std::string text; std::shared_ptr<const runtime::NpzFile> archive; };
  std::map<std::string, Given> given;
  for (const std::string& path : arguments.all("--inputs")) {
    LOOPSMITH_TRY(archive, runtime::NpzFile::open(path));
    auto shared = std::make_shared<const runtime::NpzFile>(std::move(archive));
    for (const std::string& name : shared->names()) {
      if (std::find(names.begin(), names.end(), name) == names.end()) { return unknown(name); }
      given[name] = {{}, shared};
    }
  }
  for (const std::string& text : arguments.all("--arg")) {
    size_t equals = text.find('=');
    std::string name = text.substr(0, equals);
    if (equals == std::string::npos) { return error(Code::InterpArgument).arg("name", "--arg " + text).arg("why", "it is NAME=FILE.npy or NAME=NUMBER"); }
    if (std::find(names.begin(), names.end(), name) == names.end()) { return unknown(name); }
    given[name] = {text.substr(equals + 1), nullptr};
  }
  // Numbers of an archive are arrays without dimensions.
  for (auto& [name, value] : given) {
    auto p = std::find_if(parameters.begin(), parameters.end(), [&](const codegen::Parameter& q) { return q.name == name; });
    if (!value.archive || (p != parameters.end() && p->kind == codegen::Parameter::Kind::Buffer)) { continue; }
    LOOPSMITH_TRY(number, value.archive->read(name));
    if (number.count() != 1) { return error(Code::InterpArgument).arg("name", name).arg("why", "it is a number, and the file has an array of " + number.describe()); }
    value = {number.dtype().is_real() ? fmt::format("{}", number.get(0)) : fmt::format("{}", static_cast<int64_t>(number.get(0))), nullptr};
  }

  // Files first: they fix the sizes that random contents need.
  std::vector<int64_t> sizes(call.interface.shape_variables.size(), -1);
  auto size_of = [&](const codegen::Dimension& d) -> int64_t& { return sizes[static_cast<size_t>(d.slot) - parameters.size()]; };
  std::vector<int64_t> scalar_sizes(parameters.size(), -1);
  for (size_t i = 0; i < sizes.size(); ++i) {
    auto found = given.find(call.interface.shape_variables[i]);
    if (found == given.end()) { continue; }
    auto number = parse_number(found->second.text, 0, INT32_MAX);
    if (!number) { return error(Code::InterpArgument).arg("name", "--arg " + found->first + "=" + found->second.text).arg("why", "a size is a whole number"); }
    sizes[i] = *number;
  }
  call.tensors.resize(parameters.size());
  call.values.resize(parameters.size());
  for (size_t i = 0; i < parameters.size(); ++i) {
    const codegen::Parameter& p = parameters[i];
    auto found = given.find(p.name);
    if (p.kind == codegen::Parameter::Kind::Pointer) {
      return error(Code::InterpArgument).arg("name", p.name).arg("why", "it is a bare pointer: match a buffer to it, so that its shape is known");
    }
    if (p.kind == codegen::Parameter::Kind::Scalar) {
      double number = 1;
      if (found != given.end() && !is_number(found->second.text, number)) {
        return error(Code::InterpArgument).arg("name", "--arg " + p.name + "=" + found->second.text).arg("why", "a " + p.dtype.str() + " is a number");
      }
      if (p.dtype.is_real()) { call.values[i] = number; } else { call.values[i] = static_cast<int64_t>(number); }
      scalar_sizes[i] = static_cast<int64_t>(number);
      continue;
    }
    if (found == given.end()) { continue; }
    LOOPSMITH_TRY(tensor, found->second.archive ? found->second.archive->read(p.name, p.dtype) : runtime::read_npy(found->second.text, p.dtype));
    bool fits = tensor.dtype() == p.dtype && tensor.shape().size() == p.shape.size();
    for (size_t d = 0; fits && d < p.shape.size(); ++d) {
      const codegen::Dimension& dimension = p.shape[d];
      if (dimension.kind == codegen::Dimension::Kind::Constant) { fits = tensor.shape()[d] == dimension.value; }
      if (dimension.kind == codegen::Dimension::Kind::Variable && static_cast<size_t>(dimension.slot) >= parameters.size()) {
        int64_t& size = size_of(dimension);
        fits = size < 0 || size == tensor.shape()[d];
        size = tensor.shape()[d];
      }
    }
    if (!fits) {
      std::string wanted = p.dtype.str() + " (";
      for (size_t d = 0; d < p.shape.size(); ++d) {
        const codegen::Dimension& dimension = p.shape[d];
        wanted += d ? ", " : "";
        wanted += dimension.kind == codegen::Dimension::Kind::Constant ? std::to_string(dimension.value)
                  : dimension.kind == codegen::Dimension::Kind::Variable && static_cast<size_t>(dimension.slot) >= parameters.size()
                      ? call.interface.shape_variables[static_cast<size_t>(dimension.slot) - parameters.size()]
                      : "...";
      }
      Diagnostic d = error(Code::ArgumentMismatch).arg("argument", p.name).arg("function", function).arg("expected", wanted + ")").arg("found", tensor.describe());
      if (is_short_real(p.dtype) && tensor.dtype() != p.dtype) {
        return std::move(d).remedy(fmt::format("NumPy has no `{}`: save its bits as bytes, `numpy.save(FILE, bits.view(\"V{}\"))`", p.dtype.str(), p.dtype.element_bytes()));
      }
      return d;
    }
    call.tensors[i] = std::move(tensor);
  }
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] >= 0) { continue; }
    const std::string& name = call.interface.shape_variables[i];
    return error(Code::InterpArgument).arg("name", name).arg("why", "this size of `" + function + "` is not known").remedy(fmt::format("say it: `--arg {}=128`, or give a file for a buffer with it", name));
  }
  call.sizes = sizes;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const codegen::Parameter& p = parameters[i];
    if (p.kind != codegen::Parameter::Kind::Buffer) { continue; }
    if (!call.tensors[i].data()) {
      std::vector<int64_t> shape;
      for (const codegen::Dimension& d : p.shape) {
        if (d.kind == codegen::Dimension::Kind::Computed) {
          return error(Code::InterpArgument).arg("name", p.name).arg("why", "its shape is not known").remedy(fmt::format("its shape is computed: give a file, `--arg {}=FILE.npy`", p.name));
        }
        bool is_size = d.kind == codegen::Dimension::Kind::Variable && static_cast<size_t>(d.slot) >= parameters.size();
        shape.push_back(d.kind == codegen::Dimension::Kind::Constant ? d.value : is_size ? size_of(d) : scalar_sizes[static_cast<size_t>(d.slot)]);
      }
      LOOPSMITH_TRY(tensor, runtime::Tensor::random(p.dtype, std::move(shape), seed * 1000003 + i));
      call.tensors[i] = std::move(tensor);
    }
  }
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].kind == codegen::Parameter::Kind::Buffer) { call.values[i] = &call.tensors[i]; }
  }
  return call;
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
