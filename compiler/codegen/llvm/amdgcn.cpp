// Code for AMD's GPUs: each function becomes a kernel, to be launched over the extents of its loops over blockIdx and threadIdx.
//
//     amdgpu_kernel void NAME(ptr addrspace(1) ..., scalars ...)      // parameters in order, then the variables of shapes
//
// The body is an inlined function with flat addresses; LLVM infers the memory of each address. Shared buffers are in LDS; each
// thread has its own copy of all other allocations. Loopsmith only emits this code: a launcher reads the metadata of the code object
// (https://llvm.org/docs/AMDGPUUsage.html).
#include <fmt/format.h>
#include <llvm/IR/IntrinsicsAMDGPU.h>

#include <algorithm>

#include "codegen/llvm/builder.h"
#include "ir/ops.h"
#include "ir/vocabulary.h"
#include "support/saturate.h"

namespace loopsmith::codegen {
namespace {

constexpr unsigned global_memory = 1, shared_memory = 3;

}  // namespace

void ModuleBuilder::add_kernel(const PrimFunc& func, llvm::Function& body, const std::string& symbol) {
  body.addFnAttr(llvm::Attribute::AlwaysInline);
  std::vector<llvm::Type*> types;
  for (llvm::Argument& arg : body.args()) {
    types.push_back(arg.getType()->isPointerTy() ? llvm::PointerType::get(context_, global_memory) : arg.getType());
  }
  auto* kernel = llvm::Function::Create(llvm::FunctionType::get(ir_.getVoidTy(), types, false), llvm::Function::ExternalLinkage, symbol, module_);
  kernel->setCallingConv(llvm::CallingConv::AMDGPU_KERNEL);
  kernel->setVisibility(llvm::GlobalValue::ProtectedVisibility);
  set_attributes(*kernel);
  int64_t threads = 1;
  for (const auto& [tag, extent] : threads_) {
    if (is_thread_axis(tag)) { threads = saturating_mul(threads, extent); }
  }
  if (threads > 1024) {
    fail(fmt::format("{} threads", threads), "a block has 1024 at most", func->origin);
    return;
  }
  kernel->addFnAttr("amdgpu-flat-work-group-size", fmt::format("{},{}", threads, threads));
  enter_function(*kernel, func->origin);
  ir_.SetInsertPoint(llvm::BasicBlock::Create(context_, "entry", kernel));
  std::vector<llvm::Value*> args;
  for (unsigned i = 0; i < types.size(); ++i) {
    llvm::Argument* given = kernel->getArg(i);
    given->setName(body.getArg(i)->getName());
    if (given->getType()->isPointerTy() && body.getArg(i)->hasNoAliasAttr()) { given->addAttr(llvm::Attribute::NoAlias); }
    args.push_back(given->getType()->isPointerTy() ? ir_.CreateAddrSpaceCast(given, llvm::PointerType::getUnqual(context_)) : given);
  }
  ir_.CreateCall(&body, args);
  ir_.CreateRetVoid();
}

/// Binds a variable to the index of this thread or block; false for tags without such an index.
auto ModuleBuilder::bind_thread(const Var& var, std::string_view tag, const Expr& extent, Origin origin) -> bool {
  static constexpr std::pair<std::string_view, llvm::Intrinsic::ID> indices[] = {
      {"blockIdx.x", llvm::Intrinsic::amdgcn_workgroup_id_x},   {"blockIdx.y", llvm::Intrinsic::amdgcn_workgroup_id_y},
      {"blockIdx.z", llvm::Intrinsic::amdgcn_workgroup_id_z},   {"threadIdx.x", llvm::Intrinsic::amdgcn_workitem_id_x},
      {"threadIdx.y", llvm::Intrinsic::amdgcn_workitem_id_y},   {"threadIdx.z", llvm::Intrinsic::amdgcn_workitem_id_z}};
  const auto* found = std::find_if(std::begin(indices), std::end(indices), [&](const auto& row) { return row.first == tag; });
  auto count = as_int(extent);
  if (found == std::end(indices)) { return false; }
  if (is_thread_axis(tag)) {
    if (!count) {
      fail(fmt::format("a loop over `{}`", tag), "the number of threads of a block must be constant", origin);
      return false;
    }
    auto [known, is_new] = threads_.emplace(std::string(tag), *count);
    if (!is_new && known->second != *count) {
      fail(fmt::format("loops of {} and {} over `{}`", known->second, *count, tag), "a kernel has a single number of threads per axis", origin);
      return false;
    }
  }
  llvm::Value* index = ir_.CreateZExt(ir_.CreateIntrinsic(found->second, {}, {}), ir_.getInt64Ty());
  frame_.vars[var.get()] = Binding{nullptr, index};
  frame_.nonnegative.insert(var.get());
  return true;
}

/// Allocates shared memory, or memory of a thread.
auto ModuleBuilder::allocate_on_gpu(const Allocate& node, uint64_t count) -> llvm::Value* {
  const std::string_view scope = node.data->pointer ? node.data->pointer->scope.view() : std::string_view();
  llvm::Type* flat = llvm::PointerType::getUnqual(context_);
  llvm::Type* type = llvm::ArrayType::get(memory_type_of(node.dtype), std::max<uint64_t>(count, 1));
  if (failure_) { return nullptr; }
  if (is_shared_memory(scope)) {
    auto* memory = new llvm::GlobalVariable(module_, type, false, llvm::GlobalValue::InternalLinkage, llvm::PoisonValue::get(type),
                                            fmt::format("{}.{}", function_name_, node.data->name.str()), nullptr, llvm::GlobalValue::NotThreadLocal, shared_memory);
    memory->setAlignment(llvm::Align(16));
    return ir_.CreateAddrSpaceCast(memory, flat);
  }
  llvm::IRBuilder<>::InsertPointGuard guard(ir_);
  ir_.SetInsertPoint(frame_.entry);
  llvm::AllocaInst* memory = ir_.CreateAlloca(type, nullptr, node.data->name.str());
  memory->setAlignment(llvm::Align(16));
  return ir_.CreateAddrSpaceCast(memory, flat);
}

/// A barrier: waits until all threads of the block arrive, and makes the stores of each visible to the others.
void ModuleBuilder::emit_barrier() {
  llvm::SyncScope::ID block = context_.getOrInsertSyncScopeID("workgroup");
  ir_.CreateFence(llvm::AtomicOrdering::Release, block);
  ir_.CreateIntrinsic(llvm::Intrinsic::amdgcn_s_barrier, {}, {});
  ir_.CreateFence(llvm::AtomicOrdering::Acquire, block);
}

}  // namespace loopsmith::codegen
