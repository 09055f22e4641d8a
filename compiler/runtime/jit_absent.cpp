// Replaces the JIT in builds without LLVM: every request returns a diagnostic.
#include "runtime/jit.h"
#include "support/codes.h"

namespace loopsmith::runtime {

struct JitModule::Loaded { std::vector<JitFunction> functions; };

JitModule::JitModule(std::unique_ptr<Loaded> code) : code_(std::move(code)) {}
JitModule::JitModule(JitModule&& other) noexcept = default;
auto JitModule::operator=(JitModule&& other) noexcept -> JitModule& = default;
JitModule::~JitModule() = default;

auto runs_here(const target::Target&) -> Status { return error(Code::NoLlvm); }
auto JitModule::load(std::string_view, std::vector<codegen::Interface>, int) -> Result<JitModule> { return error(Code::NoLlvm); }
auto JitModule::compile(const IRModule&, const target::Target&, const codegen::CodegenOptions&, const IRModule&) -> Result<JitModule> {
  return error(Code::NoLlvm);
}
auto JitModule::functions() const -> const std::vector<JitFunction>& { return code_->functions; }
auto JitModule::find(std::string_view name) const -> Result<const JitFunction*> { return error(Code::NoSuchFunction).arg("function", name); }

}  // namespace loopsmith::runtime
