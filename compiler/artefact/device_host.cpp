// Prints host functions of kernels as C: allocations, loops, conditions and launches. See artefact.h.
#include <unordered_map>

#include <fmt/format.h>

#include "artefact/artefact.h"
#include "codegen/source/launches.h"
#include "ir/calls.h"
#include "ir/ops.h"
#include "ir/visitor.h"
#include "support/codes.h"
#include "support/reasons.h"

namespace loopsmith::artefact {
namespace {

auto bytes_text(std::string_view bytes) -> std::string {
  std::string out;
  for (size_t i = 0; i < bytes.size(); ++i) { out += fmt::format("{},{}", static_cast<unsigned>(static_cast<unsigned char>(bytes[i])), i % 32 == 31 ? "\n" : ""); }
  return out + "0";
}

/// One host function. Integers are int64_t, reals double. Checks `status` after every step; `done:` releases workspaces.
class HostPrinter {
 public:
  HostPrinter(const IRModuleNode& module, bool is_opencl) : module_(module), is_opencl_(is_opencl) {}

  auto print(const PrimFunc& host, const Kernel& kernel) -> Result<std::string> {
    const auto& parameters = kernel.interface.parameters;
    std::string head;
    std::string first;     // a tensor, whose context is the context of the call
    for (size_t i = 0; i < host->params.size(); ++i) {
      const codegen::Parameter& p = parameters[i];
      const std::string name = fmt::format("a{}", i);
      if (p.kind == codegen::Parameter::Kind::Scalar) {
        names_[host->params[i].get()] = name;
        head += fmt::format("  const {} {} = slots[{}].{};\n  (void){};\n", p.dtype.is_real() ? "double" : "int64_t", name, i, p.dtype.is_real() ? "real" : "integer", name);
        continue;
      }
      Buffer buffer = host->buffer_of(host->params[i]);
      names_[buffer ? buffer->data.get() : host->params[i].get()] = name;
      head += fmt::format("  void* const {} = slots[{}].data;\n  (void){};\n", name, i, name);
      if (first.empty()) { first = name; }
    }
    std::vector<Var> variables = codegen::shape_variables(host);
    for (size_t i = 0; i < variables.size() && parameters.size() + i < kernel.interface.slots(); ++i) {
      const std::string name = fmt::format("n{}", i);
      names_[variables[i].get()] = name;
      head += fmt::format("  const int64_t {} = slots[{}].integer;\n  (void){};\n", name, parameters.size() + i, name);
    }
    if (first.empty()) { return error(Code::CannotEmit, host->origin).arg("what", "the entry").arg("function", kernel.name).arg("target", "a device").arg("reason", because(Why::NoTensorForDevice).text()); }
    statement(host->body);
    if (!failure_.empty()) { return failure_; }
    std::string spaces;
    for (int i = 0; i < workspaces_; ++i) { spaces += fmt::format("  void* w{} = NULL;\n", i); }
    std::string release;
    for (int i = 0; i < workspaces_; ++i) { release += fmt::format("  if (w{0} != NULL) {{ ls_give_back(w{0}); }}\n", i); }
    // Workspaces must not be released before the kernels that use them have finished.
    return fmt::format("int32_t {0}(const ls_argument* slots);\nint32_t {0}(const ls_argument* slots) {{\n  static const char function[] = \"{1}\";\n  ls_device* device = NULL;\n{2}{3}"
                       "  int32_t status = ls_find_device(function, ls_codes, {4}, 0, &device);\n  if (status != 0) {{ return status; }}\n{5}  goto done;\ndone:\n"
                       "  if (status == 0 && (ls_stream == NULL || {6} > 0)) {{ status = ls_wait(function, device); }}\n{7}  return status;\n}}\n\n",
                       kernel.symbol, kernel.name, head, spaces, first, body_, workspaces_, release);
  }

 private:
  void line(const std::string& text) { body_ += std::string(static_cast<size_t>(depth_) * 2, ' ') + text + "\n"; }
  void fail(Origin origin, const std::string& what) {
    if (failure_.empty()) { failure_.push_back(error(Code::CannotEmit, origin).arg("what", what).arg("function", "the host function").arg("target", "C").arg("reason", because(Why::NoPartOfHost).text())); }
  }
  template <class F>
  void nested(const std::string& head, F inside, const char* tail = "}") {
    line(head);
    ++depth_;
    inside();
    --depth_;
    line(tail);
  }

  void statement(const Stmt& stmt) {
    switch (stmt.kind()) {
      case NodeKind::SeqStmt:
        for (const Stmt& s : stmt.as<SeqStmt>()->seq) { statement(s); }
        return;
      case NodeKind::DeclBuffer: return statement(stmt.as<DeclBuffer>()->body);
      case NodeKind::AttrStmt: return statement(stmt.as<AttrStmt>()->body);
      case NodeKind::Allocate: {
        const auto& n = *stmt.as<Allocate>();
        std::string bytes = std::to_string(n.dtype.element_bytes() * n.dtype.lanes);
        for (const Expr& e : n.extents) { bytes += " * " + integer(e); }
        const std::string name = fmt::format("w{}", workspaces_++);
        names_[n.data.get()] = name;
        line(fmt::format("if ({} == NULL) {{ status = ls_workspace(function, device, {}, &{}); }}", name, bytes, name));
        line("if (status != 0) { goto done; }");
        return statement(n.body);
      }
      case NodeKind::LetStmt: {
        const auto& n = *stmt.as<LetStmt>();
        const std::string value = scalar(n.value), name = define(n.var.get());
        return nested(fmt::format("{{ const {} {} = {}; (void){};", n.value.dtype().is_real() ? "double" : "int64_t", name, value, name), [&] { statement(n.body); });
      }
      case NodeKind::AssertStmt: {
        const auto& n = *stmt.as<AssertStmt>();
        line(fmt::format("if (!{}) {{ status = ls_fail(function, \"an assertion failed\", \"\", 0); goto done; }}", integer(n.condition)));
        return statement(n.body);
      }
      case NodeKind::IfThenElse: {
        const auto& n = *stmt.as<IfThenElse>();
        nested(fmt::format("if ({}) {{", integer(n.condition)), [&] { statement(n.then_case); });
        if (n.else_case) { nested("else {", [&] { statement(n.else_case); }); }
        return;
      }
      case NodeKind::For: {
        const auto& n = *stmt.as<For>();
        const std::string begin = integer(n.min), extent = integer(n.extent), name = define(n.var.get());
        return nested(fmt::format("for (int64_t {0} = {1}, end_{0} = {1} + {2}; {0} < end_{0}; ++{0}) {{", name, begin, extent), [&] { statement(n.body); });
      }
      case NodeKind::Evaluate: {
        const auto* call = stmt.as<Evaluate>()->value.as<Call>();
        if (call && packed_name(*call)) { launch(*call); }
        return;
      }
      default: return fail(stmt.origin(), "a statement");
    }
  }

  void launch(const Call& call) {
    const auto launched = codegen::launch_of(module_, call, is_opencl_ ? codegen::SourceDialect::OpenCl : codegen::SourceDialect::Cuda);
    if (!launched) { return fail(call.origin, "the call of `" + packed_name(call)->str() + "`"); }
    const size_t count = launched->arguments.size();
    if (count > 256) { return fail(call.origin, "a kernel with more than 256 parameters"); }
    std::string arguments;
    for (size_t i = 0; i < count; ++i) {
      const codegen::Launch::Argument& argument = launched->arguments[i];
      const DataType t = argument.dtype;
      const Expr& given = argument.value;
      arguments += i ? ", " : "";
      if (argument.is_pointer) { arguments += fmt::format("{{1, sizeof(void*), {{.memory = {}}}}}", pointer(given)); }
      else if (t.is_real()) { arguments += t.bits == 64 ? fmt::format("{{0, 8, {{.real = {}}}}}", scalar(given)) : fmt::format("{{0, 4, {{.single = (float){}}}}}", scalar(given)); }
      else {
        const char* member = t.bits == 64 ? "integer" : t.bits == 32 ? "small" : t.bits == 16 ? "short_" : "byte";
        const char* type = t.bits == 64 ? "int64_t" : t.bits == 32 ? "int32_t" : t.bits == 16 ? "int16_t" : "int8_t";
        arguments += fmt::format("{{0, sizeof({0}), {{.{1} = ({0}){2}}}}}", type, member, integer(given));
      }
    }
    auto sizes = [&](const std::vector<Expr>& extents) { return fmt::format("{}, {}, {}", integer(extents[0]), integer(extents[1]), integer(extents[2])); };
    line("{");
    line(fmt::format("  ls_kernel_argument arguments[] = {{{}}};", arguments));
    line(fmt::format("  const int64_t grid[3] = {{{}}}, block[3] = {{{}}};", sizes(launched->grid), sizes(launched->block)));
    line(fmt::format("  status = ls_launch(function, device, \"{}\", grid, block, {}, {}, arguments);", launched->kernel.view(), integer(launched->dynamic_shared_bytes), count));
    line("  if (status != 0) { goto done; }");
    line("}");
  }

  auto define(const VarNode* variable) -> std::string { return names_[variable] = fmt::format("v{}", defined_++); }
  auto pointer(const Expr& e) -> std::string {
    const auto* v = e.as<VarNode>();
    auto found = v ? names_.find(v) : names_.end();
    if (found == names_.end()) { fail(e.origin(), "a pointer"); return "NULL"; }
    return found->second;
  }
  auto integer(const Expr& e) -> std::string { return e.dtype().is_real() ? fmt::format("(int64_t){}", scalar(e)) : scalar(e); }
  auto scalar(const Expr& e) -> std::string {
    auto two = [&](const char* op) { const auto& n = *static_cast<const BinaryNode*>(e.get()); return fmt::format("({} {} {})", scalar(n.a), op, scalar(n.b)); };
    auto called = [&](const char* function) { const auto& n = *static_cast<const BinaryNode*>(e.get()); return fmt::format("{}({}, {})", function, scalar(n.a), scalar(n.b)); };
    switch (e.kind()) {
      case NodeKind::IntImm: return e.as<IntImm>()->value == INT64_MIN ? "INT64_MIN" : fmt::format("INT64_C({})", e.as<IntImm>()->value);
      case NodeKind::FloatImm: return fmt::format("{:a}", e.as<FloatImm>()->value);
      case NodeKind::VarNode: {
        auto found = names_.find(e.as<VarNode>());
        if (found == names_.end()) { fail(e.origin(), "the variable `" + e.as<VarNode>()->name.str() + "`"); return "0"; }
        return found->second;
      }
      case NodeKind::Cast: return fmt::format("({}){}", e.dtype().is_real() ? "double" : "int64_t", scalar(e.as<Cast>()->value));
      case NodeKind::Not: return fmt::format("(!{})", scalar(e.as<Not>()->a));
      case NodeKind::Select: return fmt::format("({} ? {} : {})", scalar(e.as<Select>()->condition), scalar(e.as<Select>()->true_value), scalar(e.as<Select>()->false_value));
      case NodeKind::Add: return two("+");
      case NodeKind::Sub: return two("-");
      case NodeKind::Mul: return two("*");
      case NodeKind::Div: return two("/");
      case NodeKind::Mod: return two("%");
      case NodeKind::FloorDiv: return called("ls_floor_div");
      case NodeKind::FloorMod: return called("ls_floor_mod");
      case NodeKind::Min: return called("ls_least");
      case NodeKind::Max: return called("ls_most");
      case NodeKind::EQ: return two("==");
      case NodeKind::NE: return two("!=");
      case NodeKind::LT: return two("<");
      case NodeKind::LE: return two("<=");
      case NodeKind::GT: return two(">");
      case NodeKind::GE: return two(">=");
      case NodeKind::And: return two("&&");
      case NodeKind::Or: return two("||");
      case NodeKind::Call: {
        const auto& n = *e.as<Call>();
        if ((n.op == "if_then_else" || n.op == "tir.if_then_else") && n.args.size() == 3) { return fmt::format("({} ? {} : {})", scalar(n.args[0]), scalar(n.args[1]), scalar(n.args[2])); }
        if (n.op == "likely" && n.args.size() == 1) { return scalar(n.args[0]); }
        break;
      }
      default: break;
    }
    fail(e.origin(), "an expression");
    return "0";
  }

  const IRModuleNode& module_;
  const bool is_opencl_;
  std::unordered_map<const VarNode*, std::string> names_;
  std::string body_;
  Diagnostics failure_;
  int depth_ = 1, defined_ = 0, workspaces_ = 0;
};

}  // namespace

auto device_hosts(std::string_view library, const IRModule& flat, const std::vector<Kernel>& kernels, bool is_opencl, const std::vector<DeviceCode>& codes) -> Result<std::string> {
  std::string out = fmt::format("/* Host functions of kernels. */\n#define {}\n#include \"loopsmith_support.h\"\n{}\n", is_opencl ? "LS_OPENCL" : "LS_CUDA", device_support());
  std::string table;
  for (size_t i = 0; i < codes.size(); ++i) {
    out += fmt::format("static const unsigned char ls_code_{}[] = {{\n{}}};\n", i, bytes_text(codes[i].bytes));
    table += fmt::format("{{\"{}\", ls_code_{}, {}}}, ", codes[i].arch, i, codes[i].bytes.size());
  }
  out += fmt::format("static const ls_code ls_codes[] = {{{}{{NULL, NULL, 0}}}};\n\nLS_API void {}_set_stream(void* stream);\nLS_API void {}_set_stream(void* stream) {{ ls_stream = stream; }}\n\n", table, library, library);
  for (const Kernel& kernel : kernels) {
    PrimFunc host;
    for (const auto& [name, func] : flat->functions) {
      if (!codegen::is_kernel(func) && codegen::symbol_of(name, func) == kernel.symbol) { host = func; }
    }
    if (!host) { return error(Code::NoSuchFunction).arg("function", kernel.name); }
    LOOPSMITH_TRY(text, HostPrinter(*flat, is_opencl).print(host, kernel));
    out += text;
  }
  return out;
}

}  // namespace loopsmith::artefact
