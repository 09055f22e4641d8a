// Code for GPUs: each function becomes a kernel, to be launched over the extents of its loops over blockIdx and threadIdx.
//
//     void NAME(ptr addrspace(1) ..., scalars ...)      // parameters in order, then the variables of shapes
//
// The body is an inlined function with flat addresses; LLVM infers the memory of each address. Shared buffers are in the memory of a block, all
// other allocations belong to a thread. AMD's and NVIDIA's GPUs share all of this, address spaces included; their own parts are in amdgcn.cpp and nvptx.cpp.
#include <fmt/format.h>
#include <llvm/IR/IntrinsicsAMDGPU.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

#include <algorithm>

#include "codegen/llvm/builder.h"
#include "codegen/source/source.h"
#include "ir/ops.h"
#include "ir/vocabulary.h"
#include "support/reasons.h"
#include "support/saturate.h"

namespace loopsmith::codegen {
namespace {

constexpr unsigned global_memory = 1, shared_memory = 3;

struct ThreadIndex { std::string_view tag; llvm::Intrinsic::ID amd, nvidia; };
constexpr ThreadIndex thread_indices[] = {{"blockIdx.x", llvm::Intrinsic::amdgcn_workgroup_id_x, llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x},
                                          {"blockIdx.y", llvm::Intrinsic::amdgcn_workgroup_id_y, llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_y},
                                          {"blockIdx.z", llvm::Intrinsic::amdgcn_workgroup_id_z, llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_z},
                                          {"threadIdx.x", llvm::Intrinsic::amdgcn_workitem_id_x, llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x},
                                          {"threadIdx.y", llvm::Intrinsic::amdgcn_workitem_id_y, llvm::Intrinsic::nvvm_read_ptx_sreg_tid_y},
                                          {"threadIdx.z", llvm::Intrinsic::amdgcn_workitem_id_z, llvm::Intrinsic::nvvm_read_ptx_sreg_tid_z}};

}  // namespace

void ModuleBuilder::add_kernel(const PrimFunc& func, llvm::Function& body, const std::string& symbol) {
  body.addFnAttr(llvm::Attribute::AlwaysInline);
  std::vector<llvm::Type*> types;
  for (llvm::Argument& arg : body.args()) {
    types.push_back(arg.getType()->isPointerTy() ? llvm::PointerType::get(context_, global_memory) : arg.getType());
  }
  auto* kernel = llvm::Function::Create(llvm::FunctionType::get(ir_.getVoidTy(), types, false), llvm::Function::ExternalLinkage, symbol, module_);
  set_attributes(*kernel);
  int64_t threads = 1;
  for (const auto& [tag, extent] : threads_) {
    if (is_thread_axis(tag)) { threads = saturating_mul(threads, std::max<int64_t>(extent, 1)); }
  }
  if (threads > 1024) {
    fail(fmt::format("{} threads", threads), because(Why::ThreadsOfBlockMost), func->origin);
    return;
  }
  is_nvidia() ? make_nvidia_kernel(*kernel) : make_amd_kernel(*kernel, threads);
  enter_function(*kernel, func->origin);
  ir_.SetInsertPoint(llvm::BasicBlock::Create(context_, "entry", kernel));
  std::vector<llvm::Value*> args;
  for (unsigned i = 0; i < types.size(); ++i) {
    llvm::Argument* given = kernel->getArg(i);
    given->setName(body.getArg(i)->getName());
    if (given->getType()->isPointerTy() && body.getArg(i)->hasNoAliasAttr()) { given->addAttr(llvm::Attribute::NoAlias); }
    if (given->getType()->isPointerTy() && is_nvidia()) {
      if (llvm::MaybeAlign align = body.getArg(i)->getParamAlign()) { given->addAttr(llvm::Attribute::getWithAlignment(context_, *align)); }
    }
    args.push_back(given->getType()->isPointerTy() ? ir_.CreateAddrSpaceCast(given, llvm::PointerType::getUnqual(context_)) : given);
  }
  ir_.CreateCall(&body, args);
  ir_.CreateRetVoid();
}

/// Binds a variable to the index of this thread or block; false for tags without such an index.
auto ModuleBuilder::bind_thread(const Var& var, std::string_view tag, const Expr& extent, Origin origin) -> bool {
  const auto* found = std::find_if(std::begin(thread_indices), std::end(thread_indices), [&](const auto& row) { return row.tag == tag; });
  auto count = as_int(extent);
  if (found == std::end(thread_indices)) { return false; }
  if (is_thread_axis(tag)) {
    if (!count && !is_nvidia()) {
      fail(fmt::format("a loop over `{}`", tag), because(Why::ThreadsNotConstant), origin);
      return false;
    }
    auto [known, is_new] = threads_.emplace(std::string(tag), count.value_or(0));
    if (!is_new && known->second != count.value_or(0)) {
      fail(fmt::format("loops of {} and {} over `{}`", known->second, count.value_or(0), tag), because(Why::ThreadsOfAxisDiffer), origin);
      return false;
    }
  }
  llvm::Value* index = ir_.CreateZExt(ir_.CreateIntrinsic(is_nvidia() ? found->nvidia : found->amd, {}, {}), ir_.getInt64Ty());
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
  if (is_shared_memory(scope) && shared_offset_ >= 0) {
    // All arrays lie in one memory, whose size the launch requests.
    llvm::Type* bytes = llvm::ArrayType::get(ir_.getInt8Ty(), 0);
    llvm::GlobalVariable* all = module_.getNamedGlobal("ls_shared");
    if (all == nullptr) {
      all = new llvm::GlobalVariable(module_, bytes, false, llvm::GlobalValue::ExternalLinkage, nullptr, "ls_shared", nullptr, llvm::GlobalValue::NotThreadLocal, shared_memory);
      all->setAlignment(llvm::Align(128));
    }
    llvm::Value* begin = ir_.CreateConstInBoundsGEP1_64(ir_.getInt8Ty(), all, static_cast<uint64_t>(shared_offset_));
    shared_offset_ += shared_array_bytes(static_cast<int64_t>(count) * node.dtype.element_bytes() * node.dtype.lanes);
    return ir_.CreateAddrSpaceCast(begin, flat);
  }
  if (is_shared_memory(scope)) {
    auto* memory = new llvm::GlobalVariable(module_, type, false, llvm::GlobalValue::InternalLinkage, llvm::PoisonValue::get(type),
                                            fmt::format("{}.{}", function_name_, node.data->name.str()), nullptr, llvm::GlobalValue::NotThreadLocal, shared_memory);
    memory->setAlignment(llvm::Align(is_nvidia() ? 128 : 16));
    return ir_.CreateAddrSpaceCast(memory, flat);
  }
  llvm::IRBuilder<>::InsertPointGuard guard(ir_);
  ir_.SetInsertPoint(frame_.entry);
  llvm::AllocaInst* memory = ir_.CreateAlloca(type, nullptr, node.data->name.str());
  memory->setAlignment(llvm::Align(16));
  return ir_.CreateAddrSpaceCast(memory, flat);
}

void ModuleBuilder::emit_barrier(bool of_warp) {
  if (!is_nvidia()) {
    // Threads of a warp are in step and need none.
    if (!of_warp) { emit_amd_barrier(); }
    return;
  }
  if (of_warp) { ir_.CreateIntrinsic(llvm::Intrinsic::nvvm_bar_warp_sync, {}, {ir_.getInt32(0xffffffffU)}); }
  else { ir_.CreateIntrinsic(llvm::Intrinsic::nvvm_barrier0, {}, {}); }
}

}  // namespace loopsmith::codegen
