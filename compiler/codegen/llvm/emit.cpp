// From module to bytes: see codegen.h. LLVM's own complaints are collected and become diagnostics; LLVM would
// otherwise print them and exit.
#include <fmt/format.h>
#include <llvm/ADT/SmallString.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include "codegen/llvm/builder.h"
#include "codegen/llvm/machine.h"
#include "codegen/llvm/passes.h"
#include "support/codes.h"

namespace loopsmith::codegen {

auto emit(const IRModule& module, const target::Target& target, EmitKind kind, const CodegenOptions& options) -> Result<std::string> {
  LOOPSMITH_TRY(machine, machine_for(target, options));
  llvm::LLVMContext context;
  context.setDiscardValueNames(kind != EmitKind::LlvmIR);
  std::string complaints;
  context.setDiagnosticHandlerCallBack(
      [](const llvm::DiagnosticInfo* info, void* out) {
        if (info->getSeverity() != llvm::DS_Error) { return; }
        llvm::raw_string_ostream stream(*static_cast<std::string*>(out));
        llvm::DiagnosticPrinterRawOStream printer(stream);
        info->print(printer);
      },
      &complaints);
  std::string name = module->functions.empty() ? std::string("module") : symbol_of(module->functions[0].first, module->functions[0].second);
  llvm::Module made(name, context);
  made.setTargetTriple(machine->getTargetTriple().str());
  made.setDataLayout(machine->createDataLayout());
  made.setPICLevel(llvm::PICLevel::BigPIC);
  ModuleBuilder builder(context, made, *machine, target, options);
  for (const auto& [function, func] : module->functions) {
    builder.add_function(func, symbol_of(function, func));
    if (builder.failure()) { return *builder.failure(); }
  }
  builder.end_debug_info();
  machine->Options.MCOptions.AsmVerbose = options.locate != nullptr;
  auto failed = [&](std::string why) { return error(Code::LlvmFailed).arg("function", name).arg("why", why); };
#ifdef LOOPSMITH_CHECKED
  {
    std::string why;
    llvm::raw_string_ostream stream(why);
    if (llvm::verifyModule(made, &stream)) { return failed(why); }
  }
#endif
  LOOPSMITH_CHECK(run_passes(made, *machine, opt_level(target, options), options.passes));
  std::string out;
  if (kind == EmitKind::LlvmIR) {
    llvm::raw_string_ostream stream(out);
    made.print(stream, nullptr);
  } else {
    llvm::SmallString<0> bytes;
    llvm::raw_svector_ostream stream(bytes);
    llvm::legacy::PassManager passes;
    auto type = kind == EmitKind::Object ? llvm::CodeGenFileType::ObjectFile : llvm::CodeGenFileType::AssemblyFile;
    if (machine->addPassesToEmitFile(passes, stream, nullptr, type, true)) { return failed("it cannot write this kind of file for the target"); }
    passes.run(made);
    out.assign(bytes.data(), bytes.size());
  }
  if (!complaints.empty()) { return failed(complaints); }
  return out;
}

}  // namespace loopsmith::codegen
