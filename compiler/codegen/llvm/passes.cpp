// A short list of passes. The schedule decides on vectorisation, unrolling and tiling, so LLVM's loop and SLP
// vectorisers, unrollers and inliners are left out: they take more than half of the compilation time and undo
// measured decisions. The list puts accumulators into registers (sroa, licm), removes common subexpressions and
// simplifies the emitted address arithmetic.
#include "codegen/llvm/passes.h"
#include "codegen/llvm/failure.h"
#include "support/codes.h"

#include <llvm/Passes/PassBuilder.h>

namespace loopsmith::codegen {

auto run_passes(llvm::Module& module, llvm::TargetMachine& machine, int level, const std::string& pipeline) -> Status {
  const llvm::StringRef triple = module.getTargetTriple();
  const bool is_gpu = triple.starts_with("amdgcn") || triple.starts_with("nvptx");
  if (level == 0 && pipeline.empty() && !is_gpu) { return ok(); }
  static const char* const usual =
      "function(sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg,loop-mssa(licm<allowspeculation>),early-cse)";
  // For GPUs: inlines bodies into kernels, infers the memory of flat addresses, and unrolls loops over arrays that a thread indexes.
  static const char* const gpu =
      "always-inline,function(sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg,infer-address-spaces,"
      "loop-mssa(licm<allowspeculation>),early-cse),globaldce";
  const char* const list = is_gpu ? gpu : usual;
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  llvm::ModulePassManager manager;
  if (auto failed = builder.parsePassPipeline(manager, pipeline.empty() ? list : pipeline)) {
    return llvm_failed(module.getName().str(), llvm::toString(std::move(failed)));
  }
  manager.run(module, modules);
  return ok();
}

}  // namespace loopsmith::codegen
