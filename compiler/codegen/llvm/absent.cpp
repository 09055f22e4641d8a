// Replaces the LLVM back end in builds without it: every request returns a diagnostic.
#include "codegen/llvm/codegen.h"
#include "support/codes.h"

namespace loopsmith::codegen {

auto emit(const IRModule&, const target::Target&, EmitKind, const CodegenOptions&) -> Result<std::string> {
  return error(Code::NoLlvm).remedy("configure with -DLOOPSMITH_LLVM=ON");
}

auto archive(const std::vector<ArchiveMember>&) -> Result<std::string> { return error(Code::NoLlvm).remedy("configure with -DLOOPSMITH_LLVM=ON"); }

auto check_target(const target::Target&) -> Status { return error(Code::NoLlvm).remedy("configure with -DLOOPSMITH_LLVM=ON"); }

auto llvm_version() -> std::string { return {}; }

}  // namespace loopsmith::codegen
