// The host's side of programs with kernels: see program.h.
#include "runtime/devices/program.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <optional>
#include <unordered_map>

#include <fmt/format.h>

#include "codegen/source/launches.h"
#include "ir/calls.h"
#include "ir/ops.h"
#include "ir/visitor.h"
#include "runtime/devices/limits.h"
#include "support/codes.h"
#include "support/reasons.h"

namespace loopsmith::runtime {
namespace {

using Number = std::variant<int64_t, double>;

auto as_integer(const Number& n) -> int64_t { return std::holds_alternative<int64_t>(n) ? std::get<int64_t>(n) : static_cast<int64_t>(std::get<double>(n)); }
auto as_real(const Number& n) -> double { return std::holds_alternative<int64_t>(n) ? static_cast<double>(std::get<int64_t>(n)) : std::get<double>(n); }
auto floor_div(int64_t a, int64_t b) -> int64_t { return a / b - ((a % b != 0) && ((a < 0) != (b < 0))); }

/// One run of a host function.
class HostRun {
 public:
  HostRun(const IRModuleNode& module, Device& device, std::string function) : module_(module), device_(device), function_(std::move(function)) {}
  HostRun(const HostRun&) = delete;
  auto operator=(const HostRun&) -> HostRun& = delete;
  ~HostRun() {
    for (const DeviceMemory& memory : owned_) { device_.release(memory); }
  }
  std::unordered_map<const VarNode*, DeviceMemory> memory;
  std::unordered_map<const VarNode*, Number> numbers;

  /// Memory for an allocation of the program. Consecutive runs use the same memory.
  auto workspace(const VarNode* data, uint64_t bytes) -> Result<DeviceMemory> {
    auto kept = workspaces_.find(data);
    if (kept != workspaces_.end() && kept->second.bytes >= bytes) { return kept->second; }
    auto made = allocate(bytes);
    if (made) { workspaces_[data] = *made; }
    return made;
  }
  auto allocate(uint64_t bytes) -> Result<DeviceMemory> {
    auto made = device_.allocate(bytes);
    if (made) { owned_.push_back(*made); }
    return made;
  }

  auto run(const Stmt& stmt) -> Status {
    switch (stmt.kind()) {
      case NodeKind::SeqStmt:
        for (const Stmt& s : stmt.as<SeqStmt>()->seq) { LOOPSMITH_CHECK(run(s)); }
        return ok();
      case NodeKind::DeclBuffer: return run(stmt.as<DeclBuffer>()->body);
      case NodeKind::AttrStmt: return run(stmt.as<AttrStmt>()->body);
      case NodeKind::Allocate: {
        const auto& n = *stmt.as<Allocate>();
        auto bytes = static_cast<uint64_t>(n.dtype.element_bytes() * n.dtype.lanes);
        for (const Expr& e : n.extents) {
          LOOPSMITH_TRY(extent, evaluate(e));
          if (as_integer(extent) < 0 || __builtin_mul_overflow(bytes, static_cast<uint64_t>(as_integer(extent)), &bytes)) { return problem(n.origin, because(Why::BufferWithoutSize).arg("buffer", n.data->name.view())); }
        }
        LOOPSMITH_TRY(made, workspace(n.data.get(), bytes));
        memory[n.data.get()] = made;
        return run(n.body);
      }
      case NodeKind::LetStmt: {
        const auto& n = *stmt.as<LetStmt>();
        LOOPSMITH_TRY(value, evaluate(n.value));
        numbers[n.var.get()] = value;
        return run(n.body);
      }
      case NodeKind::AssertStmt: {
        const auto& n = *stmt.as<AssertStmt>();
        LOOPSMITH_TRY(holds, evaluate(n.condition));
        const auto* message = n.message.as<StringImm>();
        if (as_integer(holds) == 0) { return error(Code::KernelFailed, n.origin).arg("function", function_).arg("reason", message ? message->value : because(Why::AssertionOfHost).text()); }
        return run(n.body);
      }
      case NodeKind::IfThenElse: {
        const auto& n = *stmt.as<IfThenElse>();
        LOOPSMITH_TRY(taken, evaluate(n.condition));
        if (as_integer(taken) != 0) { return run(n.then_case); }
        return n.else_case ? run(n.else_case) : ok();
      }
      case NodeKind::For: {
        const auto& n = *stmt.as<For>();
        LOOPSMITH_TRY(begin, evaluate(n.min));
        LOOPSMITH_TRY(extent, evaluate(n.extent));
        for (int64_t i = 0; i < as_integer(extent); ++i) {
          numbers[n.var.get()] = as_integer(begin) + i;
          LOOPSMITH_CHECK(run(n.body));
        }
        return ok();
      }
      case NodeKind::Evaluate: {
        const auto* call = stmt.as<Evaluate>()->value.as<Call>();
        return call && packed_name(*call) ? launch(*call) : ok();
      }
      default: return problem(stmt.origin(), because(Why::NoHostStatement));
    }
  }

 private:
  auto problem(Origin origin, const Reason& why) const -> Diagnostic { return error(Code::KernelFailed, origin).arg("function", function_).arg("reason", why.text()); }

  auto launch(const Call& call) -> Status {
    auto [known, is_new] = launches_.try_emplace(&call);
    if (is_new) { known->second = codegen::launch_of(module_, call, device_.facts().target == "opencl" ? codegen::SourceDialect::OpenCl : codegen::SourceDialect::Cuda); }
    const std::optional<codegen::Launch>& launched = known->second;
    if (!launched) { return problem(call.origin, because(Why::NotAKernel).arg("kernel", packed_name(call)->view())); }
    std::vector<KernelArgument> arguments;
    for (const codegen::Launch::Argument& argument : launched->arguments) {
      const auto* v = argument.value.as<VarNode>();
      if (v && v->dtype.is_handle()) {
        auto found = memory.find(v);
        if (found == memory.end()) { return problem(call.origin, because(Why::NoDeviceMemory).arg("buffer", v->name.view())); }
        arguments.emplace_back(found->second);
        continue;
      }
      LOOPSMITH_TRY(value, evaluate(argument.value));
      arguments.emplace_back(bytes_of(value, argument.dtype));
    }
    LaunchSize size;
    for (size_t axis = 0; axis < 3; ++axis) {
      LOOPSMITH_TRY(blocks, evaluate(launched->grid[axis]));
      LOOPSMITH_TRY(threads, evaluate(launched->block[axis]));
      // A launch without threads does nothing; drivers refuse it.
      if (as_integer(blocks) <= 0 || as_integer(threads) <= 0) { return ok(); }
      size.grid[axis] = static_cast<uint64_t>(as_integer(blocks));
      size.block[axis] = static_cast<uint64_t>(as_integer(threads));
    }
    LOOPSMITH_TRY(shared, evaluate(launched->dynamic_shared_bytes));
    size.shared_bytes = static_cast<uint64_t>(std::max<int64_t>(0, as_integer(shared)));
    LOOPSMITH_CHECK(check_size(call, launched->kernel.view(), size));
    return device_.launch(launched->kernel.view(), size, arguments);
  }
  /// Checks extents that only the call determines; constant extents were checked before.
  auto check_size(const Call& call, std::string_view name, const LaunchSize& size) const -> Status {
    const target::GpuLimits& limits = device_.facts().limits;
    const uint64_t threads = size.block[0] * size.block[1] * size.block[2];
    auto over = [&](const Reason& why) { return error(Code::DeviceLimit, call.origin).arg("kernel", name).arg("target", device_.facts().name).arg("reason", why.text()); };
    if (limits.block_threads > 0 && threads > limits.block_threads) { return over(because(Why::ThreadsOfBlock).arg("found", threads).arg("most", limits.block_threads)); }
    if (limits.shared_most > 0 && size.shared_bytes > limits.shared_most) {
      return over(because(Why::SharedMemoryOfLaunch).arg("found", size.shared_bytes).arg("most", limits.shared_most));
    }
    return ok();
  }
  /// The number in the type that codegen/source gives to such a parameter.
  static auto bytes_of(const Number& value, DataType dtype) -> KernelNumber {
    KernelNumber out;
    auto put = [&](auto v) {
      std::memcpy(out.bytes.data(), &v, sizeof v);
      out.size = sizeof v;
    };
    if (dtype.is_real()) {
      if (dtype.bits == 64) { put(as_real(value)); } else { put(static_cast<float>(as_real(value))); }
    } else {
      int64_t v = as_integer(value);
      switch (dtype.bits) {
        case 64: put(v); break;
        case 32: put(static_cast<int32_t>(v)); break;
        case 16: put(static_cast<int16_t>(v)); break;
        default: put(static_cast<int8_t>(v)); break;
      }
    }
    return out;
  }

  auto evaluate(const Expr& e) -> Result<Number> {
    switch (e.kind()) {
      case NodeKind::IntImm: return Number(e.as<IntImm>()->value);
      case NodeKind::FloatImm: return Number(e.as<FloatImm>()->value);
      case NodeKind::VarNode: {
        auto found = numbers.find(e.as<VarNode>());
        if (found == numbers.end()) { return problem(e.origin(), because(Why::NoValueOnHost).arg("variable", e.as<VarNode>()->name.view())); }
        return found->second;
      }
      case NodeKind::Cast: {
        LOOPSMITH_TRY(value, evaluate(e.as<Cast>()->value));
        return e.dtype().is_real() ? Number(as_real(value)) : Number(as_integer(value));
      }
      case NodeKind::Not: {
        LOOPSMITH_TRY(value, evaluate(e.as<Not>()->a));
        return Number(int64_t(as_integer(value) == 0));
      }
      case NodeKind::Select: {
        const auto& n = *e.as<Select>();
        LOOPSMITH_TRY(condition, evaluate(n.condition));
        return evaluate(as_integer(condition) ? n.true_value : n.false_value);
      }
      case NodeKind::Call: {
        const auto& n = *e.as<Call>();
        if ((n.op == "if_then_else" || n.op == "tir.if_then_else") && n.args.size() == 3) {
          LOOPSMITH_TRY(condition, evaluate(n.args[0]));
          return evaluate(n.args[as_integer(condition) ? 1 : 2]);
        }
        if (n.args.size() == 1 && n.op == "likely") { return evaluate(n.args[0]); }
        return problem(e.origin(), because(Why::HostCannotCall).arg("function", n.op.view()));
      }
      case NodeKind::Add: case NodeKind::Sub: case NodeKind::Mul: case NodeKind::Div: case NodeKind::Mod: case NodeKind::FloorDiv: case NodeKind::FloorMod: case NodeKind::Min:
      case NodeKind::Max: case NodeKind::EQ: case NodeKind::NE: case NodeKind::LT: case NodeKind::LE: case NodeKind::GT: case NodeKind::GE: case NodeKind::And: case NodeKind::Or:
        return binary(*static_cast<const BinaryNode*>(e.get()));
      default: return problem(e.origin(), because(Why::HostCannotEvaluate));
    }
  }
  auto binary(const BinaryNode& n) -> Result<Number> {
    LOOPSMITH_TRY(x, evaluate(n.a));
    if (n.kind == NodeKind::And && as_integer(x) == 0) { return Number(int64_t(0)); }
    if (n.kind == NodeKind::Or && as_integer(x) != 0) { return Number(int64_t(1)); }
    LOOPSMITH_TRY(y, evaluate(n.b));
    if (n.a.dtype().is_real()) { return real(n, as_real(x), as_real(y)); }
    const int64_t a = as_integer(x), b = as_integer(y);
    const bool divides = n.kind == NodeKind::Div || n.kind == NodeKind::Mod || n.kind == NodeKind::FloorDiv || n.kind == NodeKind::FloorMod;
    if (divides && (b == 0 || (b == -1 && a == INT64_MIN))) { return problem(n.origin, because(Why::HostDividesByZero)); }
    switch (n.kind) {
      case NodeKind::Add: return Number(a + b);
      case NodeKind::Sub: return Number(a - b);
      case NodeKind::Mul: return Number(a * b);
      case NodeKind::Div: return Number(a / b);
      case NodeKind::Mod: return Number(a % b);
      case NodeKind::FloorDiv: return Number(floor_div(a, b));
      case NodeKind::FloorMod: return Number(a - floor_div(a, b) * b);
      case NodeKind::Min: return Number(std::min(a, b));
      case NodeKind::Max: return Number(std::max(a, b));
      case NodeKind::EQ: return Number(int64_t(a == b));
      case NodeKind::NE: return Number(int64_t(a != b));
      case NodeKind::LT: return Number(int64_t(a < b));
      case NodeKind::LE: return Number(int64_t(a <= b));
      case NodeKind::GT: return Number(int64_t(a > b));
      case NodeKind::GE: return Number(int64_t(a >= b));
      default: return Number(int64_t(b != 0));
    }
  }
  [[nodiscard]] auto real(const BinaryNode& n, double a, double b) const -> Result<Number> {
    switch (n.kind) {
      case NodeKind::Add: return Number(a + b);
      case NodeKind::Sub: return Number(a - b);
      case NodeKind::Mul: return Number(a * b);
      case NodeKind::Div: return Number(a / b);
      case NodeKind::Min: return Number(a < b ? a : b);
      case NodeKind::Max: return Number(a > b ? a : b);
      case NodeKind::EQ: return Number(int64_t(a == b));
      case NodeKind::NE: return Number(int64_t(a != b));
      case NodeKind::LT: return Number(int64_t(a < b));
      case NodeKind::LE: return Number(int64_t(a <= b));
      case NodeKind::GT: return Number(int64_t(a > b));
      case NodeKind::GE: return Number(int64_t(a >= b));
      default: return problem(n.origin, because(Why::HostCannotEvaluate));
    }
  }

  const IRModuleNode& module_;
  Device& device_;
  std::string function_;           // its name, for messages
  std::vector<DeviceMemory> owned_;
  std::unordered_map<const VarNode*, DeviceMemory> workspaces_;
  std::unordered_map<const Call*, std::optional<codegen::Launch>> launches_;   // of the calls that ran before
};

}  // namespace

namespace {

constexpr std::string_view statement_file = "statement";

/// A compiler's first message about a line of that file: `FILE(LINE): error: TEXT` of CUDA, `error: FILE:LINE:COLUMN: TEXT` or `FILE:LINE:COLUMN: error: TEXT` of clang.
struct Message { size_t line = 0; std::string text; };
auto first_error(const std::string& log) -> std::optional<Message> {
  constexpr std::string_view label = "error: ";
  for (size_t at = log.find(statement_file); at != std::string::npos; at = log.find(statement_file, at + 1)) {
    const size_t begin = log.rfind('\n', at) + 1, end = std::min(log.find('\n', at), log.size());
    const std::string line = log.substr(begin, end - begin);
    const size_t name = at - begin, number = name + statement_file.size();
    const size_t error_at = line.find(label);
    if (number >= line.size() || (line[number] != '(' && line[number] != ':') || error_at == std::string::npos) { continue; }
    size_t text = error_at + label.size();
    if (error_at < name) {
      text = line.find(": ", number);
      if (text == std::string::npos) { continue; }
      text += 2;
    }
    return Message{static_cast<size_t>(std::strtoull(line.c_str() + number + 1, nullptr, 10)), line.substr(text)};
  }
  return {};
}

/// The error of a compiler that refuses a module's kernels, at the statement in the program. Compiles again with line numbers that count statements. None: the
/// second message names no line of a statement. `compile` reports the messages of the compiler as a diagnostic.
auto place_of_error(const IRModule& flat, codegen::SourceDialect dialect, const std::string& target, const std::function<Status(const std::string&)>& compile) -> std::optional<Diagnostic> {
  constexpr size_t lines_of_statement = 1000, most_statements = 2'000'000;
  std::vector<Origin> statements;
  codegen::SourceOptions numbered;
  numbered.locate = [&](const Origin& origin) -> std::optional<codegen::SourcePlace> {
    if (!origin.is_known() || statements.size() > most_statements) { return {}; }
    statements.push_back(origin);
    return codegen::SourcePlace{std::string(statement_file), static_cast<uint32_t>(statements.size() * lines_of_statement), 1};
  };
  auto again = codegen::kernel_source(flat, dialect, numbered);
  if (!again) { return {}; }
  const Status failed = compile(*again);
  auto message = failed ? std::nullopt : first_error(failed.diagnostics().front().message());
  const size_t index = message ? message->line / lines_of_statement : 0;
  if (index == 0 || index > statements.size()) { return {}; }
  return error(Code::CannotEmit, statements[index - 1]).arg("what", "a statement").arg("function", "the kernels").arg("target", target).arg("reason", message->text);
}

}  // namespace

auto DeviceProgram::compile(const IRModule& flat, std::shared_ptr<Device> device, const IRModule& scheduled, const codegen::SourceOptions& options) -> Result<DeviceProgram> {
  const bool is_opencl = device->facts().target == "opencl";
  LOOPSMITH_CHECK(check_kernels(flat, device->facts().limits, fmt::format("`{}`", device->facts().name)));
  LOOPSMITH_TRY(source, codegen::kernel_source(flat, is_opencl ? codegen::SourceDialect::OpenCl : codegen::SourceDialect::Cuda, options));
  if (Status compiled = device->compile(source); !compiled) {
    auto placed = is_opencl ? place_of_error(flat, codegen::SourceDialect::OpenCl, "OpenCL", [&](const std::string& numbered) { return device->compile(numbered); }) : std::nullopt;
    return placed ? Diagnostics{std::move(*placed)} : compiled.diagnostics();
  }
  return DeviceProgram(flat, scheduled, std::move(device), std::move(source));
}

auto DeviceProgram::find_host(std::string_view function) const -> Result<Host> {
  for (const auto& [key, func] : flat_->functions) {
    if (codegen::is_kernel(func) || (!function.empty() && codegen::symbol_of(key, func) != function && key.view() != function)) { continue; }
    return Host{key, func};
  }
  return error(Code::NoSuchFunction).arg("function", function);
}

auto DeviceProgram::interface(std::string_view function) const -> Result<codegen::Interface> {
  LOOPSMITH_TRY(host, find_host(function));
  PrimFunc written = scheduled_ ? scheduled_->find(host.name) : PrimFunc();
  return codegen::interface_of(written ? written : host.function, codegen::symbol_of(host.name, host.function));
}

struct DeviceCall::State {
  State(const IRModuleNode& module, Device& on, PrimFunc host_function, std::string name) : device(on), host(std::move(host_function)), run(module, on, std::move(name)) {}
  struct Copy { DeviceMemory memory; TensorView view; bool is_written; };
  Device& device;
  PrimFunc host;
  HostRun run;
  std::vector<Copy> copies;
};

DeviceCall::DeviceCall(std::unique_ptr<State> state) : state_(std::move(state)) {}
DeviceCall::DeviceCall(DeviceCall&&) noexcept = default;
DeviceCall::~DeviceCall() = default;
auto DeviceCall::run() -> Status { return state_->run.run(state_->host->body); }
auto DeviceCall::read_back() -> Status {
  LOOPSMITH_CHECK(state_->device.wait());
  for (const State::Copy& copy : state_->copies) {
    if (copy.is_written) { LOOPSMITH_CHECK(state_->device.read(copy.view.data, copy.memory, static_cast<uint64_t>(copy.view.bytes()))); }
  }
  return ok();
}

auto DeviceProgram::prepare(std::string_view function, std::span<const Value> arguments) const -> Result<DeviceCall> {
  LOOPSMITH_TRY(found, find_host(function));
  LOOPSMITH_TRY(interface, this->interface(function));
  LOOPSMITH_TRY(slots, bind_arguments(interface, arguments));
  const PrimFunc& host = found.function;
  auto state = std::make_unique<DeviceCall::State>(*flat_, *device_, host, codegen::symbol_of(found.name, host));
  for (size_t i = 0; i < host->params.size(); ++i) {
    const codegen::Parameter& p = interface.parameters[i];
    if (p.kind == codegen::Parameter::Kind::Scalar) {
      state->run.numbers[host->params[i].get()] = p.dtype.is_real() ? Number(slots[i].real) : Number(slots[i].integer);
      continue;
    }
    const TensorView view = std::holds_alternative<const Tensor*>(arguments[i]) ? std::get<const Tensor*>(arguments[i])->view() : std::get<TensorView>(arguments[i]);
    const auto bytes = static_cast<uint64_t>(view.bytes());
    LOOPSMITH_TRY(made, state->run.allocate(bytes));
    LOOPSMITH_CHECK(device_->write(made, view.data, bytes));
    state->copies.push_back({made, view, p.is_written});
    Buffer buffer = host->buffer_of(host->params[i]);
    state->run.memory[buffer ? buffer->data.get() : host->params[i].get()] = made;
  }
  std::vector<Var> variables = codegen::shape_variables(host);
  for (size_t i = 0; i < variables.size() && interface.parameters.size() + i < slots.size(); ++i) {
    state->run.numbers[variables[i].get()] = slots[interface.parameters.size() + i].integer;
  }
  return DeviceCall(std::move(state));
}

auto DeviceProgram::call(std::string_view function, std::span<const Value> arguments) const -> Status {
  LOOPSMITH_TRY(prepared, prepare(function, arguments));
  LOOPSMITH_CHECK(prepared.run());
  return prepared.read_back();
}

auto compile_cuda_kernels(const IRModule& flat, const CudaOptions& options, const codegen::SourceOptions& source, const CompileLimits& limits) -> Result<CudaCode> {
  LOOPSMITH_TRY(text, codegen::kernel_source(flat, codegen::SourceDialect::Cuda, source));
  auto compiled = compile_cuda_apart(text, options, limits);
  if (compiled || compiled.diagnostics().front().code != Code::CannotEmit || compiled.diagnostics().front().message().find("error: ") == std::string::npos) { return compiled; }
  auto placed = place_of_error(flat, codegen::SourceDialect::Cuda, options.arch, [&](const std::string& numbered) -> Status {
    auto failed = compile_cuda_apart(numbered, options, {.seconds = limits.seconds, .bytes = limits.bytes, .use_cache = false});
    return failed ? ok() : Status(failed.diagnostics());
  });
  return placed ? Result<CudaCode>(std::move(*placed)) : std::move(compiled);
}

}  // namespace loopsmith::runtime
