// Reads the launches off the calls of the host functions: see launches.h.
#include "codegen/source/launches.h"

#include "codegen/interface.h"
#include "ir/calls.h"
#include "ir/ops.h"
#include "ir/visitor.h"

namespace loopsmith::codegen {

auto launch_of(const IRModuleNode& module, const Call& call, SourceDialect dialect) -> std::optional<Launch> {
  const auto name = packed_name(call);
  const PrimFunc kernel = name ? module.find(*name) : PrimFunc();
  if (!kernel || !is_kernel(kernel)) { return std::nullopt; }
  // The call passes the kernel's name, its arguments, and then an extent for each of the kernel's launch parameters.
  const Attr* tags = find_attr(kernel->attrs, Name("tir.kernel_launch_params"));
  const size_t count = kernel->params.size(), extents = tags != nullptr && tags->list() != nullptr ? tags->list()->size() : 0;
  if (call.args.size() < 1 + count + extents) { return std::nullopt; }
  Launch out{*name, {}, std::vector<Expr>(3, int_imm(1)), std::vector<Expr>(3, int_imm(1)), int_imm(0)};
  for (size_t i = 0; i < count; ++i) {
    const Var& param = kernel->params[i];
    const bool is_pointer = param->dtype.is_handle();
    out.arguments.push_back({param->name.str(), is_pointer && param->pointer ? param->pointer->element : param->dtype, is_pointer, call.args[i + 1]});
  }
  for (size_t i = 0; i < extents; ++i) {
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

auto launches(const IRModule& module, SourceDialect dialect) -> std::vector<HostLaunch> {
  std::vector<HostLaunch> out;
  for (const auto& [name, function] : module->functions) {
    if (is_kernel(function)) { continue; }
    post_order(function->body, [&](const Stmt& stmt) {
      const auto* evaluate = stmt.as<Evaluate>();
      const auto* call = evaluate != nullptr ? evaluate->value.as<Call>() : nullptr;
      auto launch = call != nullptr ? launch_of(*module, *call, dialect) : std::nullopt;
      if (launch) { out.push_back({symbol_of(name, function), *std::move(launch)}); }
    }, [](const Expr&) {});
  }
  return out;
}

}  // namespace loopsmith::codegen
