// TargetMachines, and LLVM's names of processors and features: see machine.h. For a wrong name LLVM prints a
// message and continues (or exits); so names are checked here first.
#include "codegen/llvm/machine.h"
#include "ir/vocabulary.h"
#include "support/codes.h"
#include "support/reasons.h"
#include "target/gpu.h"

#include <fmt/format.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>

#include <algorithm>
#include <memory>

namespace loopsmith::codegen {
namespace {

auto similar(std::string_view wanted, const std::vector<std::string_view>& names) -> std::string {
  std::string_view best;
  size_t best_cost = wanted.size() / 2 + 1;
  std::vector<size_t> row;
  for (std::string_view name : names) {
    row.resize(name.size() + 1);
    for (size_t j = 0; j <= name.size(); ++j) { row[j] = j; }
    for (size_t i = 1; i <= wanted.size(); ++i) {
      size_t corner = row[0];
      row[0] = i;
      for (size_t j = 1; j <= name.size(); ++j) {
        size_t replaced = corner + (wanted[i - 1] == name[j - 1] ? 0 : 1);
        corner = row[j];
        row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
      }
    }
    if (row.back() < best_cost) { best_cost = row.back(); best = name; }
  }
  return std::string(best);
}

auto triple_of(const target::Target& target) -> std::string { return target.triple.empty() ? target::host_triple() : target.triple; }

auto find_target(const target::Target& target) -> Result<const llvm::Target*> {
  if (target.kind != target_kind::llvm && target.kind != target_kind::rocm && target.kind != target_kind::nvptx) {
    return error(Code::BadTarget).arg("target", target.str()).arg("reason", because(Why::KindWithoutLlvm).text());
  }
  initialize_llvm();
  std::string why;
  const llvm::Target* found = llvm::TargetRegistry::lookupTarget(triple_of(target), why);
  if (found == nullptr) {
    return error(Code::BadTarget).arg("target", target.str())
        .arg("reason", because(Why::TripleUnsupported).arg("triple", triple_of(target)).text());
  }
  return found;
}

/// A 32-bit processor for a 64-bit machine, for which LLVM aborts; empty: it fits.
auto wrong_width(const target::Target& target, const llvm::Target& found) -> std::optional<Reason> {
  auto architecture = target.architecture();
  if (architecture != target::Architecture::X86_64 && architecture != target::Architecture::RiscV64) { return {}; }
  std::string cpu = target.cpu;
  if (cpu.empty() || cpu == "generic") { cpu = architecture == target::Architecture::X86_64 ? "x86-64" : "generic-rv64"; }
  std::unique_ptr<llvm::MCSubtargetInfo> info(found.createMCSubtargetInfo(triple_of(target), cpu, fmt::format("{}", fmt::join(target.features, ","))));
  return info && info->checkFeatures("+64bit") ? std::nullopt : std::optional(because(Why::OtherWidth).arg("cpu", cpu).arg("triple", triple_of(target)));
}

auto check_names(const target::Target& target, const llvm::Target& found) -> Status {
  std::unique_ptr<llvm::MCSubtargetInfo> info(found.createMCSubtargetInfo(triple_of(target), "", ""));
  if (!info) { return error(Code::BadTarget).arg("target", target.str()).arg("reason", because(Why::UnknownToLlvm).text()); }
  if (!target.cpu.empty() && target.cpu != "generic" && !info->isCPUStringValid(target.cpu)) {
    std::vector<std::string_view> names;
    for (const auto& row : info->getAllProcessorDescriptions()) { names.emplace_back(row.Key); }
    auto out = error(Code::UnknownProcessor).arg("cpu", target.cpu).arg("arch", found.getName());
    if (target.kind == target_kind::nvptx && target::find_cuda_arch(target.cpu) != nullptr) {
      return std::move(out).remedy("choose `-mcpu=sm_90`, whose PTX a driver compiles for later GPUs, too; or the target `cuda`, which CUDA's compiler serves");
    }
    if (std::string name = similar(target.cpu, names); !name.empty()) { return std::move(out).remedy(fmt::format("did you mean `{}`?", name)); }
    return std::move(out).remedy("choose a name that `clang --print-supported-cpus` lists");
  }
  for (const std::string& feature : target.features) {
    std::string_view name = std::string_view(feature).substr(1);
    auto rows = info->getAllProcessorFeatures();
    if (std::any_of(rows.begin(), rows.end(), [&](const auto& row) { return name == row.Key; })) { continue; }
    std::vector<std::string_view> names;
    for (const auto& row : rows) { names.emplace_back(row.Key); }
    auto out = error(Code::UnknownFeature).arg("feature", name).arg("arch", found.getName());
    if (std::string close = similar(name, names); !close.empty()) { return std::move(out).remedy(fmt::format("did you mean `{}`?", close)); }
    return out;
  }
  if (auto why = wrong_width(target, found)) { return error(Code::BadTarget).arg("target", target.str()).arg("reason", why->text()); }
  return ok();
}

}  // namespace

void initialize_llvm() {
  static const bool done = [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter();
    LLVMInitializeRISCVTargetInfo();
    LLVMInitializeRISCVTarget();
    LLVMInitializeRISCVTargetMC();
    LLVMInitializeRISCVAsmPrinter();
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTarget();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUAsmPrinter();
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    LLVMInitializeWebAssemblyTargetInfo();
    LLVMInitializeWebAssemblyTarget();
    LLVMInitializeWebAssemblyTargetMC();
    LLVMInitializeWebAssemblyAsmPrinter();
    return true;
  }();
  (void)done;
}

auto opt_level(const target::Target& target, const CodegenOptions& options) -> int {
  if (options.opt_level >= 0) { return std::min(options.opt_level, 3); }
  return target.opt_level >= 0 ? target.opt_level : 2;
}

namespace {

struct Kept {
  target::Target target;
  bool contract = false;
  int level = -1;
  std::unique_ptr<llvm::TargetMachine> machine;
};
auto kept_machine() -> Kept& {
  thread_local Kept kept;
  return kept;
}

}  // namespace

void forget_machine() { (void)kept_machine().machine.release(); }

auto machine_for(const target::Target& target, const CodegenOptions& options) -> Result<llvm::TargetMachine*> {
  Kept& kept = kept_machine();
  const int level = opt_level(target, options);
  if (kept.machine && kept.target == target && kept.contract == options.contract && kept.level == level) { return kept.machine.get(); }
  LOOPSMITH_TRY(found, find_target(target));
  LOOPSMITH_CHECK(check_names(target, *found));
  llvm::TargetOptions settings;
  settings.AllowFPOpFusion = options.contract ? llvm::FPOpFusion::Standard : llvm::FPOpFusion::Strict;
  settings.FunctionSections = true;
  constexpr llvm::CodeGenOptLevel levels[] = {llvm::CodeGenOptLevel::None, llvm::CodeGenOptLevel::Less, llvm::CodeGenOptLevel::Default,
                                              llvm::CodeGenOptLevel::Aggressive};
  std::vector<std::string> features = target.features;
  std::optional<llvm::CodeModel::Model> model;
  if (target.architecture() == target::Architecture::RiscV64) {
    // RV64GC, the base of Linux distributions, whose libraries pass doubles in registers; LLVM's own default lacks even multiplication.
    if (target.cpu.empty()) { features.insert(features.begin(), {"+m", "+a", "+f", "+d", "+c"}); }
    settings.MCOptions.ABIName = "lp64d";
    model = llvm::CodeModel::Medium;
  }
  std::unique_ptr<llvm::TargetMachine> machine(found->createTargetMachine(
      triple_of(target), target.cpu, fmt::format("{}", fmt::join(features, ",")), settings, llvm::Reloc::PIC_, model, levels[level]));
  if (!machine) { return error(Code::BadTarget).arg("target", target.str()).arg("reason", because(Why::NoMachineInLlvm).text()); }
  kept = {target, options.contract, level, std::move(machine)};
  return kept.machine.get();
}

auto check_target(const target::Target& target) -> Status {
  LOOPSMITH_TRY(found, find_target(target));
  return check_names(target, *found);
}

auto llvm_version() -> std::string { return LLVM_VERSION_STRING; }

}  // namespace loopsmith::codegen
