// Kernels of AMD's GPUs, in addition to gpu.cpp, which serves all GPUs. Loopsmith only emits this code: a launcher reads the metadata of the code object
// (https://llvm.org/docs/AMDGPUUsage.html).
#include <fmt/format.h>
#include <llvm/IR/IntrinsicsAMDGPU.h>

#include "codegen/llvm/builder.h"

namespace loopsmith::codegen {

void ModuleBuilder::make_amd_kernel(llvm::Function& kernel, int64_t threads) {
  kernel.setCallingConv(llvm::CallingConv::AMDGPU_KERNEL);
  kernel.setVisibility(llvm::GlobalValue::ProtectedVisibility);
  kernel.addFnAttr("amdgpu-flat-work-group-size", fmt::format("{},{}", threads, threads));
}

/// A barrier: all threads of the block arrive, and see the stores of the others.
void ModuleBuilder::emit_amd_barrier() {
  llvm::SyncScope::ID block = context_.getOrInsertSyncScopeID("workgroup");
  ir_.CreateFence(llvm::AtomicOrdering::Release, block);
  ir_.CreateIntrinsic(llvm::Intrinsic::amdgcn_s_barrier, {}, {});
  ir_.CreateFence(llvm::AtomicOrdering::Acquire, block);
}

}  // namespace loopsmith::codegen
