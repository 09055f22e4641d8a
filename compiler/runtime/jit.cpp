// Links objects into this process with ORC: see jit.h. Codegen makes the object; this file provides its memory and
// addresses. An object may use only the symbols on a list: the runtime's entries, libc's memory functions, libm.
// It cannot use any other symbol of this process; in particular no function that makes system calls.
#include "runtime/jit.h"

#include <fmt/format.h>
#include <llvm/ExecutionEngine/JITLink/JITLinkMemoryManager.h>
#include <llvm/ExecutionEngine/Orc/Core.h>
#include <llvm/ExecutionEngine/Orc/ExecutorProcessControl.h>
#include <llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h>
#include <llvm/ExecutionEngine/Orc/TaskDispatch.h>
#include <llvm/Support/MemoryBuffer.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "runtime/jit_tools.h"
#include "runtime/profile.h"
#include "runtime/threads.h"
#include "support/codes.h"
#include "support/reasons.h"
#include "target/hardware.h"

// Conversions to short floats that processors have no instruction for, from the compiler's own library.
extern "C" {
_Float16 __truncdfhf2(double);
_Float16 __truncsfhf2(float);
float __extendhfsf2(_Float16);
}

namespace loopsmith::runtime {
namespace {

using llvm::orc::ExecutorAddr;

struct Symbol { const char* name; void* address; };

auto symbols() -> const std::vector<Symbol>& {
  using F1 = float (*)(float);
  using F2 = float (*)(float, float);
  using D1 = double (*)(double);
  using D2 = double (*)(double, double);
  using F3 = float (*)(float, float, float);
  using D3 = double (*)(double, double, double);
#define MATHS(name, D, F) {#name, reinterpret_cast<void*>(static_cast<D>(&::name))}, {#name "f", reinterpret_cast<void*>(static_cast<F>(&::name##f))}
#define MATHS_1(name) MATHS(name, D1, F1)
#define MATHS_2(name) MATHS(name, D2, F2)
#define MATHS_3(name) MATHS(name, D3, F3)
  static const std::vector<Symbol> table = {
      {"loopsmith_parallel", reinterpret_cast<void*>(&loopsmith_parallel)},
      {"loopsmith_workspace", reinterpret_cast<void*>(&loopsmith_workspace)},
      {"loopsmith_workspace_release", reinterpret_cast<void*>(&loopsmith_workspace_release)},
      {"loopsmith_set_error", reinterpret_cast<void*>(&loopsmith_set_error)},
      {"loopsmith_out_of_bounds", reinterpret_cast<void*>(&loopsmith_out_of_bounds)},
      {"loopsmith_profile_start", reinterpret_cast<void*>(&loopsmith_profile_start)},
      {"loopsmith_profile_end", reinterpret_cast<void*>(&loopsmith_profile_end)},
      {"loopsmith_request_tiles", reinterpret_cast<void*>(&loopsmith_request_tiles)},
      {"memcpy", reinterpret_cast<void*>(static_cast<void* (*)(void*, const void*, size_t)>(&::memcpy))},
      {"memmove", reinterpret_cast<void*>(static_cast<void* (*)(void*, const void*, size_t)>(&::memmove))},
      {"memset", reinterpret_cast<void*>(static_cast<void* (*)(void*, int, size_t)>(&::memset))},
#define EXTERNAL_MATHS(name, arguments) MATHS_##arguments(name),
#include "ir/externals.def"
      {"__truncdfhf2", reinterpret_cast<void*>(&__truncdfhf2)},
      {"__truncsfhf2", reinterpret_cast<void*>(&__truncsfhf2)},
      {"__extendhfsf2", reinterpret_cast<void*>(&__extendhfsf2)},
      {"ldexp", reinterpret_cast<void*>(static_cast<double (*)(double, int)>(&::ldexp))},
      {"ldexpf", reinterpret_cast<void*>(static_cast<float (*)(float, int)>(&::ldexpf))},
  };
#undef MATHS
#undef MATHS_1
#undef MATHS_2
#undef MATHS_3
  return table;
}

/// A feature that code for the target may use and this machine lacks; empty if none is known.
auto missing_here(const target::Target& target) -> std::string {
  target::Hardware wanted = target::hardware(target), here = target::hardware(target::host());
  std::vector<std::string_view> out;
  auto ask = [&](bool target::Hardware::* unit, std::string_view name) { if (wanted.*unit && !(here.*unit)) { out.push_back(name); } };
  ask(&target::Hardware::fma, "FMA");
  ask(&target::Hardware::avx512, "AVX-512");
  ask(&target::Hardware::vnni, "VNNI");
  ask(&target::Hardware::avx512_bf16, "AVX512-BF16");
  ask(&target::Hardware::avx512_fp16, "AVX512-FP16");
  ask(&target::Hardware::amx_int8, "AMX-INT8");
  ask(&target::Hardware::amx_bf16, "AMX-BF16");
  return fmt::format("{}", fmt::join(out, ", "));
}

auto cannot_load(llvm::Error failure) -> Diagnostic { return error(Code::CannotLoadCode).arg("reason", llvm::toString(std::move(failure))); }

}  // namespace

struct JitModule::Loaded {
  std::unique_ptr<llvm::orc::ExecutionSession> session;
  std::unique_ptr<llvm::orc::ObjectLinkingLayer> layer;
  std::vector<JitFunction> functions;
  std::string report;   // errors that the session reported

  ~Loaded() {
    if (session) { llvm::consumeError(session->endSession()); }
  }
};

JitModule::JitModule(std::unique_ptr<Loaded> code) : code_(std::move(code)) {}
JitModule::JitModule(JitModule&& other) noexcept = default;
auto JitModule::operator=(JitModule&& other) noexcept -> JitModule& = default;
JitModule::~JitModule() = default;

auto JitModule::load(std::string_view object, std::vector<codegen::Interface> interfaces, int threads) -> Result<JitModule> {
  auto code = std::make_unique<Loaded>();
  auto control = llvm::orc::SelfExecutorProcessControl::Create(nullptr, std::make_unique<llvm::orc::InPlaceTaskDispatcher>());
  if (!control) { return cannot_load(control.takeError()); }
  code->session = std::make_unique<llvm::orc::ExecutionSession>(std::move(*control));
  llvm::orc::ExecutionSession& session = *code->session;
  session.setErrorReporter([report = &code->report](llvm::Error failure) { *report += llvm::toString(std::move(failure)) + "\n"; });
  code->layer = std::make_unique<llvm::orc::ObjectLinkingLayer>(session);
  if (std::string why = tell_tools(session, *code->layer); !why.empty()) { return error(Code::CannotLoadCode).arg("reason", why); }
  llvm::orc::JITDylib& library = session.createBareJITDylib("kernels");
  llvm::orc::SymbolMap known;
  for (const Symbol& s : symbols()) {
    known[session.intern(s.name)] = {ExecutorAddr::fromPtr(s.address), llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Callable};
  }
  if (auto failure = library.define(llvm::orc::absoluteSymbols(std::move(known)))) { return cannot_load(std::move(failure)); }
  if (auto failure = code->layer->add(library, llvm::MemoryBuffer::getMemBufferCopy(llvm::StringRef(object.data(), object.size()), "kernels"))) {
    return cannot_load(std::move(failure));
  }
  for (codegen::Interface& interface : interfaces) {
    auto found = session.lookup({&library}, codegen::entry_symbol(interface.name, {}));
    if (!found) {
      std::string why = llvm::toString(found.takeError());
      return error(Code::CannotLoadCode).arg("reason", code->report.empty() ? why : code->report);
    }
    JitFunction function;
    function.entry = found->getAddress().toPtr<codegen::Entry>();
    function.interface = std::move(interface);
    function.threads = std::max(threads, 1);
    code->functions.push_back(std::move(function));
  }
  return JitModule(std::move(code));
}

auto runs_here(const target::Target& target) -> Status {
  if (!target.is_host_architecture()) {
    return error(Code::CannotLoadCode).arg("reason", because(Why::CodeOfOtherMachine).arg("target", target.str()).text());
  }
  if (std::string lacking = missing_here(target); !lacking.empty()) {
    return error(Code::CannotLoadCode).arg("reason", because(Why::CodeNeeds).arg("target", target.str()).arg("feature", lacking).text());
  }
  return ok();
}

auto JitModule::compile(const IRModule& flat, const target::Target& target, const codegen::CodegenOptions& options, const IRModule& scheduled)
    -> Result<JitModule> {
  LOOPSMITH_CHECK(runs_here(target));
  LOOPSMITH_TRY(object, codegen::emit(flat, target, codegen::EmitKind::Object, options));
  std::vector<codegen::Interface> interfaces;
  for (const auto& [name, func] : flat->functions) {
    PrimFunc shown = scheduled ? scheduled->find(name) : PrimFunc();
    codegen::Interface interface = codegen::interface_of(func, codegen::symbol_of(name, func));
    if (shown && shown->params.size() == func->params.size()) {
      codegen::Interface before = codegen::interface_of(shown, interface.name);
      if (before.shape_variables.size() == interface.shape_variables.size()) {
        for (size_t i = 0; i < before.parameters.size(); ++i) { before.parameters[i].is_written |= interface.parameters[i].is_written; }
        interface = std::move(before);
      }
    }
    interfaces.push_back(std::move(interface));
  }
  return load(object, std::move(interfaces), target.cores > 0 ? target.cores : target::host().cores);
}

auto JitModule::functions() const -> const std::vector<JitFunction>& { return code_->functions; }

auto JitModule::find(std::string_view name) const -> Result<const JitFunction*> {
  if (name.empty() && code_->functions.size() == 1) { return &code_->functions.front(); }
  for (const JitFunction& function : code_->functions) {
    if (function.interface.name == name) { return &function; }
  }
  auto out = error(Code::NoSuchFunction).arg("function", name);
  std::vector<std::string> names;
  for (const JitFunction& function : code_->functions) { names.push_back(function.interface.name); }
  return std::move(out).remedy(fmt::format("choose one of its functions: {}", fmt::join(names, ", ")));
}

}  // namespace loopsmith::runtime
