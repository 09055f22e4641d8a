// Reads the launches off the calls of the host functions: see launches.h.
#include "codegen/source/launches.h"

#include "codegen/interface.h"
#include "ir/calls.h"
#include "ir/ops.h"
#include "ir/visitor.h"

namespace loopsmith::codegen {
namespace {

/// The launch that a call of the host makes. The call passes the kernel's arguments, and then an extent for each of the kernel's launch parameters.
auto launch_of(std::string function, const Name& name, const PrimFunc& kernel, const Call& call, SourceDialect dialect) -> Launch {
  Launch out{std::move(function), name.str(), {}, std::vector<Expr>(3, int_imm(1)), std::vector<Expr>(3, int_imm(1)), int_imm(0)};
  const size_t count = kernel->params.size();
  for (size_t i = 0; i < count && i + 1 < call.args.size(); ++i) {
    const Var& param = kernel->params[i];
    const bool is_pointer = param->dtype.is_handle();
    out.arguments.push_back({param->name.str(), is_pointer && param->pointer ? param->pointer->element : param->dtype, is_pointer, call.args[i + 1]});
  }
  const Attr* tags = find_attr(kernel->attrs, Name("tir.kernel_launch_params"));
  for (size_t i = 0; tags != nullptr && tags->list() != nullptr && i < tags->list()->size() && 1 + count + i < call.args.size(); ++i) {
    const std::string& tag = *(*tags->list())[i].string();
    const Expr& extent = call.args[1 + count + i];
    if (tag == "tir.use_dyn_shared_memory") { out.dynamic_shared_bytes = extent; continue; }
    (tag.starts_with("blockIdx") ? out.grid : out.block)[static_cast<size_t>(tag.back() - 'x')] = extent;
  }
  if (dialect == SourceDialect::Cuda) {
    if (const int64_t requested = requested_shared_bytes(kernel); requested > 0) { out.dynamic_shared_bytes = add(out.dynamic_shared_bytes, int_imm(requested, out.dynamic_shared_bytes.dtype())); }
  }
  return out;
}

}  // namespace

auto launches(const IRModule& module, SourceDialect dialect) -> std::vector<Launch> {
  std::vector<Launch> out;
  for (const auto& [name, function] : module->functions) {
    if (is_kernel(function)) { continue; }
    post_order(function->body, [&](const Stmt& stmt) {
      const auto* evaluate = stmt.as<Evaluate>();
      const auto* call = evaluate != nullptr ? evaluate->value.as<Call>() : nullptr;
      const auto callee = call != nullptr ? packed_name(*call) : std::nullopt;
      PrimFunc kernel = callee ? module->find(*callee) : PrimFunc();
      if (kernel && is_kernel(kernel)) { out.push_back(launch_of(symbol_of(name, function), *callee, kernel, *call, dialect)); }
    }, [](const Expr&) {});
  }
  return out;
}

}  // namespace loopsmith::codegen
