// Machine instructions, called by LLVM's names: `T.call_llvm_pure_intrin("int32x16", "llvm.x86.avx512.vpdpbusd.512", ...)`. LLVM aborts
// if it cannot select an instruction, so code is made only for those in the table, and only if the target has the unit. Tile registers
// are in tiles.cpp.
#include <fmt/format.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/MC/MCSubtargetInfo.h>

#include <algorithm>

#include "codegen/llvm/builder.h"
#include "ir/ops.h"
#include "support/reasons.h"

namespace loopsmith::codegen {
namespace {

enum class Machine : uint8_t { X86, AArch64 };
struct Row { std::string_view name; Machine machine; const char* features; };
auto names_tiles(std::string_view name) -> bool { return name.starts_with("llvm.x86.tile") || name.starts_with("llvm.x86.tdp"); }
constexpr Row rows[] = {
    {"llvm.x86.avx512.vpdpbusd.512", Machine::X86, "+avx512vnni"},
    {"llvm.x86.avx512.vpdpbusds.512", Machine::X86, "+avx512vnni"},
    {"llvm.x86.avx512.vpdpwssd.512", Machine::X86, "+avx512vnni"},
    {"llvm.x86.avx512.vpdpwssds.512", Machine::X86, "+avx512vnni"},
    {"llvm.x86.avx512.vpdpbusd.256", Machine::X86, "+avx512vnni,+avx512vl"},
    {"llvm.x86.avx512.vpdpbusd.128", Machine::X86, "+avx512vnni,+avx512vl"},
    {"llvm.x86.avx512.pmaddubs.w.512", Machine::X86, "+avx512bw"},
    {"llvm.x86.avx512.pmaddw.d.512", Machine::X86, "+avx512bw"},
    {"llvm.x86.avx512bf16.dpbf16ps.512", Machine::X86, "+avx512bf16"},
    {"llvm.x86.avx512bf16.dpbf16ps.256", Machine::X86, "+avx512bf16,+avx512vl"},
    {"llvm.x86.avx512bf16.dpbf16ps.128", Machine::X86, "+avx512bf16,+avx512vl"},
    {"llvm.x86.avx2.pmadd.ub.sw", Machine::X86, "+avx2"},
    {"llvm.x86.avx2.pmadd.wd", Machine::X86, "+avx2"},
    {"llvm.x86.tilezero", Machine::X86, "+amx-tile"},
    {"llvm.x86.tileloadd64", Machine::X86, "+amx-tile"},
    {"llvm.x86.tileloaddt164", Machine::X86, "+amx-tile"},
    {"llvm.x86.tilestored64", Machine::X86, "+amx-tile"},
    {"llvm.x86.tdpbssd", Machine::X86, "+amx-int8"},
    {"llvm.x86.tdpbsud", Machine::X86, "+amx-int8"},
    {"llvm.x86.tdpbusd", Machine::X86, "+amx-int8"},
    {"llvm.x86.tdpbuud", Machine::X86, "+amx-int8"},
    {"llvm.x86.tdpbf16ps", Machine::X86, "+amx-bf16"},
    {"llvm.aarch64.neon.smull", Machine::AArch64, "+neon"},
    {"llvm.aarch64.neon.umull", Machine::AArch64, "+neon"},
    {"llvm.aarch64.neon.saddlp", Machine::AArch64, "+neon"},
    {"llvm.aarch64.neon.uaddlp", Machine::AArch64, "+neon"},
    {"llvm.aarch64.neon.addp", Machine::AArch64, "+neon"},
    {"llvm.aarch64.neon.sdot", Machine::AArch64, "+dotprod"},
    {"llvm.aarch64.neon.udot", Machine::AArch64, "+dotprod"},
};

}  // namespace

auto ModuleBuilder::machine_instruction(const Call& node) -> llvm::Value* {
  const auto* symbol = node.args.size() < 2 ? nullptr : node.args[0].as<StringImm>();
  if (symbol == nullptr) { return fail("`call_llvm_pure_intrin`", because(Why::FirstNoIntrinsic), node.origin); }
  const std::string& name = symbol->value;
  auto wrong = [&](const Reason& why) { return fail(fmt::format("`{}`", name), why, node.origin); };
  const auto* row = std::find_if(std::begin(rows), std::end(rows), [&](const Row& r) { return r.name == name; });
  if (row == std::end(rows)) { return wrong(because(Why::NoCodeForInstruction)); }
  bool fits = row->machine == Machine::X86 ? machine_.getTargetTriple().isX86() : machine_.getTargetTriple().isAArch64();
  if (!fits) { return wrong(because(Why::OtherProcessor).arg("triple", machine_.getTargetTriple().str()).arg("family", row->machine == Machine::X86 ? "x86" : "Arm")); }
  if (!machine_.getMCSubtargetInfo()->checkFeatures(row->features)) {
    return wrong(because(Why::FeatureMissing).arg("feature", std::string_view(row->features).substr(1)).arg("features", row->features));
  }
  size_t tiles = 0;   // that many arguments name tiles, from the first on
  if (names_tiles(name)) {
    if (!machine_.getTargetTriple().isOSLinux()) { return wrong(because(Why::TilesNeedLinux)); }
    tiles = name == "llvm.x86.tilezero" || name.find("load") != std::string::npos || name.find("store") != std::string::npos ? 1 : 3;
    frame_.uses_tiles = true;
  }
  std::vector<llvm::Value*> args;
  std::vector<llvm::Type*> types;
  for (size_t i = 2; i < node.args.size(); ++i) {
    args.push_back(i - 2 < tiles ? tile_argument(node.args[i], name, node.origin) : eval(node.args[i]));
    if (failure_) { return nullptr; }
    // Elsewhere a bfloat16 is an integer with its bits (short_reals.cpp).
    if (node.args[i].dtype().is_bfloat16()) { args.back() = ir_.CreateBitCast(args.back(), args.back()->getType()->getWithNewType(ir_.getBFloatTy())); }
    types.push_back(args.back()->getType());
  }
  llvm::Type* result = type_of(node.dtype);
  if (failure_) { return nullptr; }
  llvm::Intrinsic::ID id = llvm::Function::lookupIntrinsicID(name);
  if (id == llvm::Intrinsic::not_intrinsic) { return wrong(because(Why::InstructionUnknown)); }
  llvm::SmallVector<llvm::Intrinsic::IITDescriptor, 8> table;
  llvm::Intrinsic::getIntrinsicInfoTableEntries(id, table);
  llvm::ArrayRef<llvm::Intrinsic::IITDescriptor> rest = table;
  llvm::SmallVector<llvm::Type*, 4> overloads;
  auto* type = llvm::FunctionType::get(result, types, false);
  if (llvm::Intrinsic::matchIntrinsicSignature(type, rest, overloads) != llvm::Intrinsic::MatchIntrinsicTypes_Match || !rest.empty()) {
    return wrong(because(Why::InstructionTypes).arg("dtype", node.dtype.str()));
  }
  return ir_.CreateCall(llvm::Intrinsic::getDeclaration(&module_, id, overloads), args);
}

}  // namespace loopsmith::codegen
