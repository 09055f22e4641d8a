// Machine instructions, called by LLVM's names: `T.call_llvm_pure_intrin("int32x16", "llvm.x86.avx512.vpdpbusd.512", ...)`. LLVM aborts
// where it cannot select an instruction, so code is made only for those in the table, and only where the target has the unit.
//
// Tiles (AMX) are registers that a call names by number. A thread must set their shapes before it uses them, so every function with tiles
// begins with that: eight tiles of 16 rows of 64 bytes. On Linux the process must request permission, once.
#include <fmt/format.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/MC/MCSubtargetInfo.h>

#include <algorithm>
#include <array>

#include "codegen/llvm/builder.h"
#include "ir/ops.h"

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
  if (symbol == nullptr) { return fail("`call_llvm_pure_intrin`", "its first argument is not the name of an intrinsic", node.origin); }
  const std::string& name = symbol->value;
  auto wrong = [&](std::string why) { return fail(fmt::format("`{}`", name), std::move(why), node.origin); };
  const auto* row = std::find_if(std::begin(rows), std::end(rows), [&](const Row& r) { return r.name == name; });
  if (row == std::end(rows)) { return wrong("there is no code for this instruction"); }
  bool fits = row->machine == Machine::X86 ? machine_.getTargetTriple().isX86() : machine_.getTargetTriple().isAArch64();
  if (!fits) { return wrong(fmt::format("`{}` is no {} processor", machine_.getTargetTriple().str(), row->machine == Machine::X86 ? "x86" : "Arm")); }
  if (!machine_.getMCSubtargetInfo()->checkFeatures(row->features)) {
    return wrong(fmt::format("the target has no `{}`: name a processor that has it (`-mcpu`), or the features (`-mattr={}`)", std::string_view(row->features).substr(1), row->features));
  }
  std::vector<llvm::Value*> args;
  std::vector<llvm::Type*> types;
  for (size_t i = 2; i < node.args.size(); ++i) {
    args.push_back(eval(node.args[i]));
    if (failure_) { return nullptr; }
    // Elsewhere a bfloat16 is an integer with its bits (short_reals.cpp).
    if (node.args[i].dtype().is_bfloat16()) { args.back() = ir_.CreateBitCast(args.back(), args.back()->getType()->getWithNewType(ir_.getBFloatTy())); }
    types.push_back(args.back()->getType());
  }
  if (names_tiles(name)) {
    if (!machine_.getTargetTriple().isOSLinux()) { return wrong("tiles need Linux's permission, and the target is another system"); }
    // The numbers of the tiles are constants of the instruction.
    const size_t tiles = name == "llvm.x86.tilezero" || name.find("load") != std::string::npos || name.find("store") != std::string::npos ? 1 : 3;
    for (size_t i = 0; i < args.size() && i < tiles; ++i) {
      const auto* number = llvm::dyn_cast<llvm::ConstantInt>(args[i]);
      if (number == nullptr || number->getZExtValue() > 7) { return wrong("a tile is a constant from 0 to 7"); }
    }
    frame_.uses_tiles = true;
  }
  llvm::Type* result = type_of(node.dtype);
  if (failure_) { return nullptr; }
  llvm::Intrinsic::ID id = llvm::Function::lookupIntrinsicID(name);
  if (id == llvm::Intrinsic::not_intrinsic) { return wrong("LLVM does not know the instruction"); }
  llvm::SmallVector<llvm::Intrinsic::IITDescriptor, 8> table;
  llvm::Intrinsic::getIntrinsicInfoTableEntries(id, table);
  llvm::ArrayRef<llvm::Intrinsic::IITDescriptor> rest = table;
  llvm::SmallVector<llvm::Type*, 4> overloads;
  auto* type = llvm::FunctionType::get(result, types, false);
  if (llvm::Intrinsic::matchIntrinsicSignature(type, rest, overloads) != llvm::Intrinsic::MatchIntrinsicTypes_Match || !rest.empty()) {
    return wrong(fmt::format("it does not take arguments of these types, or does not return `{}`", node.dtype.str()));
  }
  return ir_.CreateCall(llvm::Intrinsic::getDeclaration(&module_, id, overloads), args);
}

/// Asks the system for the use of tiles; 0: granted. In this process the runtime has a function for it. Code for others has libc alone.
auto ModuleBuilder::request_tiles() -> llvm::Value* {
  llvm::Type* i64 = ir_.getInt64Ty();
  if (options_.hosted) { return ir_.CreateCall(declare("loopsmith_request_tiles", i64, {})); }
  // arch_prctl(ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA): https://docs.kernel.org/arch/x86/xstate.html
  llvm::FunctionCallee request = module_.getOrInsertFunction("syscall", llvm::FunctionType::get(i64, {i64}, true));
  return ir_.CreateCall(request, {ir_.getInt64(158), ir_.getInt64(0x1023), ir_.getInt64(18)});
}

/// At the beginning of a function that uses tiles: requests permission and sets their shapes; at its end: releases them. Returns the block to go on in.
auto ModuleBuilder::prepare_tiles(llvm::BasicBlock* first) -> llvm::BasicBlock* {
  llvm::Function* function = frame_.function;
  llvm::GlobalVariable* asked = module_.getGlobalVariable("tiles.granted", true);
  llvm::GlobalVariable* shape = module_.getGlobalVariable("tiles.shape", true);
  if (asked == nullptr) {
    asked = new llvm::GlobalVariable(module_, ir_.getInt8Ty(), false, llvm::GlobalValue::InternalLinkage, ir_.getInt8(0), "tiles.granted");
    // Palette 1; from byte 16 on the bytes per row of each tile, as 16-bit numbers; from byte 48 on the rows of each tile.
    std::array<uint8_t, 64> bytes{};
    bytes[0] = 1;
    for (size_t tile = 0; tile < 8; ++tile) { bytes[16 + 2 * tile] = 64; bytes[48 + tile] = 16; }
    llvm::Constant* value = llvm::ConstantDataArray::get(context_, bytes);
    shape = new llvm::GlobalVariable(module_, value->getType(), true, llvm::GlobalValue::PrivateLinkage, value, "tiles.shape");
    shape->setAlignment(llvm::Align(64));
  }
  for (llvm::BasicBlock& block : *function) {
    if (auto* leave = llvm::dyn_cast_or_null<llvm::ReturnInst>(block.getTerminator())) {
      llvm::IRBuilder<> at(leave);
      at.CreateIntrinsic(llvm::Intrinsic::x86_tilerelease, {}, {});
    }
  }
  auto* ask = llvm::BasicBlock::Create(context_, "tiles.ask", function);
  auto* granted = llvm::BasicBlock::Create(context_, "tiles.granted", function);
  auto* refused = llvm::BasicBlock::Create(context_, "tiles.refused", function);
  auto* ready = llvm::BasicBlock::Create(context_, "tiles.ready", function);
  ir_.CreateCondBr(ir_.CreateICmpNE(ir_.CreateLoad(ir_.getInt8Ty(), asked), ir_.getInt8(0)), ready, ask);
  ir_.SetInsertPoint(ask);
  llvm::Value* status = request_tiles();
  ir_.CreateCondBr(ir_.CreateICmpEQ(status, ir_.getInt64(0)), granted, refused);
  ir_.SetInsertPoint(refused);
  emit_error_text("the system does not let this process use tiles (AMX), or the processor has none");
  ir_.CreateRet(ir_.getInt32(3));
  ir_.SetInsertPoint(granted);
  ir_.CreateStore(ir_.getInt8(1), asked);
  ir_.CreateBr(ready);
  ir_.SetInsertPoint(ready);
  ir_.CreateIntrinsic(llvm::Intrinsic::x86_ldtilecfg, {}, {shape});
  return first;
}

}  // namespace loopsmith::codegen
