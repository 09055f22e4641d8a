// From module to bytes: see codegen.h. LLVM's own errors are collected and become diagnostics; without this, LLVM would print them and exit. If LLVM aborts
// or crashes, its crash recovery returns control to this thread: memory of that attempt is lost, and the result is a diagnostic.
#include <fmt/format.h>
#include <llvm/ADT/SmallString.h>
#include <llvm/CodeGen/MachineModuleInfo.h>
#include <llvm/CodeGen/Passes.h>
#include <llvm/CodeGen/TargetPassConfig.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/CrashRecoveryContext.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <unordered_set>

#include "codegen/llvm/builder.h"
#include "codegen/llvm/machine.h"
#include "codegen/llvm/passes.h"
#include "codegen/source/source.h"
#include "ir/vocabulary.h"
#include "codegen/llvm/failure.h"
#include "support/codes.h"

namespace loopsmith::codegen {
namespace {

auto longest_block(const llvm::Module& module) -> size_t {
  size_t out = 0;
  for (const llvm::Function& function : module) {
    for (const llvm::BasicBlock& block : function) { out = std::max(out, block.size()); }
  }
  return out;
}

/// Does the work of LLVM's addPassesToEmitFile. The time of LLVM's instruction schedulers grows with the square of a block's length: seconds at
/// this length, minutes at five times this length. Longer blocks keep their original order, and run up to a quarter slower.
auto add_passes(llvm::LLVMTargetMachine& machine, llvm::legacy::PassManager& passes, llvm::raw_pwrite_stream& out, llvm::CodeGenFileType type, size_t longest) -> bool {
  constexpr size_t long_block = 30'000;
  llvm::TargetPassConfig* config = machine.createPassConfig(passes);
  config->setDisableVerify(true);
  if (longest > long_block) {
    config->disablePass(&llvm::MachineSchedulerID);
    config->disablePass(&llvm::PostRASchedulerID);
  }
  auto* info = new llvm::MachineModuleInfoWrapperPass(&machine);
  passes.add(config);
  passes.add(info);
  if (config->addISelPasses()) { return false; }
  config->addMachinePasses();
  config->setInitialized();
  return !machine.addAsmPrinter(passes, out, nullptr, type, info->getMMI().getContext()) && (passes.add(llvm::createFreeMachineFunctionPass()), true);
}

auto emit_unguarded(const IRModule& module, const target::Target& target, EmitKind kind, const CodegenOptions& options) -> Result<std::string> {
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
  std::unordered_set<std::string> symbols;
  for (const auto& [function, func] : module->functions) {
    // The host's functions, which launch the kernels, are no code of NVIDIA's GPUs.
    if (target.kind == target_kind::nvptx && !is_kernel(func)) { continue; }
    std::string symbol = symbol_of(function, func);
    if (!symbols.insert(entry_symbol(symbol, options)).second) { return error(Code::KernelTwice, func->origin).arg("name", symbol); }
    builder.add_function(func, symbol);
    if (builder.failure()) { return *builder.failure(); }
  }
  builder.end_debug_info();
  machine->Options.MCOptions.AsmVerbose = options.locate != nullptr;
  auto failed = [&](std::string why) { return llvm_failed(name, std::move(why)); };
  {
    std::string why;
    llvm::raw_string_ostream stream(why);
    if (llvm::verifyModule(made, &stream)) { return failed(why); }
  }
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
    auto& code_machine = static_cast<llvm::LLVMTargetMachine&>(*machine);
    if (!add_passes(code_machine, passes, stream, type, longest_block(made))) { return failed("it cannot write this kind of file for the target"); }
    passes.run(made);
    out.assign(bytes.data(), bytes.size());
  }
  if (!complaints.empty()) { return failed(complaints); }
  return out;
}

/// Catches LLVM's fatal errors and crashes in the calling thread.
class Recovery {
 public:
  Recovery() {
    std::lock_guard guard(mutex);
    if (users++ == 0) {
      llvm::CrashRecoveryContext::Enable();
      llvm::install_fatal_error_handler(on_fatal_error);
    }
  }
  ~Recovery() {
    std::lock_guard guard(mutex);
    if (--users == 0) {
      llvm::remove_fatal_error_handler();
      llvm::CrashRecoveryContext::Disable();
    }
  }
  Recovery(const Recovery&) = delete;
  auto operator=(const Recovery&) -> Recovery& = delete;

  /// False if LLVM aborted or crashed.
  auto run(llvm::function_ref<void()> work) -> bool {
    fatal_error().clear();
    return context_.RunSafely(work);
  }
  [[nodiscard]] auto why() const -> std::string { return fatal_error().empty() ? "it crashed" : fatal_error(); }

 private:
  static auto fatal_error() -> std::string& {
    thread_local std::string text;
    return text;
  }
  static void on_fatal_error(void*, const char* reason, bool) {
    fatal_error() = reason;
    if (llvm::CrashRecoveryContext* context = llvm::CrashRecoveryContext::GetCurrent()) { context->HandleExit(1); }
  }
  static inline std::mutex mutex;
  static inline int users = 0;
  llvm::CrashRecoveryContext context_;
};

}  // namespace

auto entry_symbol(const std::string& name, const CodegenOptions& options) -> std::string {
  bool is_inner = !options.hosted && name.starts_with(inner_symbol(""));
  return !is_inner && (options.hosted || is_c_library_name(name)) ? inner_symbol(name) : name;
}

auto emit(const IRModule& module, const target::Target& target, EmitKind kind, const CodegenOptions& options) -> Result<std::string> {
  Recovery recovery;
  auto* answer = new Result<std::string>(Diagnostics{});
  std::unique_ptr<Result<std::string>> kept(answer);
  if (recovery.run([&] { *answer = emit_unguarded(module, target, kind, options); })) { return std::move(*answer); }
  // The output may be incomplete.
  (void)kept.release();
  forget_machine();
  std::string name = module->functions.empty() ? std::string("module") : symbol_of(module->functions[0].first, module->functions[0].second);
  return llvm_failed(name, recovery.why());
}

}  // namespace loopsmith::codegen
