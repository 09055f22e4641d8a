// Tile registers (AMX): eight registers of 16 rows of 64 bytes, which instructions name by number.
//
// A buffer of scope `amx.tmm` has no memory: it occupies registers, 1024 bytes each, from the first free one on while its allocation lives. An
// argument that points into it becomes the number of a register, so loops that choose a tile must be unrolled. Only tile instructions
// access such a buffer. An argument may also be a number; then the register must not belong to a buffer.
//
// A thread must set the shapes of tiles before it uses them, so every function with tiles begins with this step. On Linux the process must request
// permission, once.
#include <fmt/format.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/IntrinsicsX86.h>

#include <algorithm>
#include <array>

#include "codegen/llvm/builder.h"
#include "ir/ops.h"
#include "support/reasons.h"

namespace loopsmith::codegen {
namespace {

constexpr uint64_t tile_bytes = 1024;
constexpr int tile_count = 8;

/// A pointer into a buffer: its data variable, and the offset in bytes as a count of elements times their size.
struct TilePointer { const VarNode* data = nullptr; Expr index; int element_bytes = 1; };

auto tile_pointer(const Expr& e) -> TilePointer {
  if (const auto* data = e.as<VarNode>()) { return {data, int_imm(0), 1}; }
  const auto* call = e.as<Call>();
  if (call == nullptr) { return {}; }
  if (call->op == "tvm_access_ptr" && call->args.size() >= 3) { return {call->args[1].as<VarNode>(), call->args[2], call->args[0].dtype().element_bytes()}; }
  const auto* place = call->op == "address_of" && !call->args.empty() ? call->args[0].as<BufferLoad>() : nullptr;
  if (place == nullptr || place->indices.size() != 1) { return {}; }
  Expr index = place->buffer->elem_offset ? place->indices[0] + place->buffer->elem_offset : place->indices[0];
  return {place->buffer->data.get(), index, place->buffer->dtype.element_bytes()};
}

/// True for calls that run a part of a parallel loop on this thread.
auto launches_threads(const llvm::CallInst& call) -> bool {
  const llvm::Function* callee = call.getCalledFunction();
  return callee != nullptr && (callee->getName() == "loopsmith_parallel" || callee->getName().contains(".share."));
}

/// The tile instruction of a call; not_intrinsic: another instruction.
auto tile_instruction(const llvm::Instruction& instruction) -> llvm::Intrinsic::ID {
  const auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
  switch (call != nullptr ? call->getIntrinsicID() : llvm::Intrinsic::not_intrinsic) {
    case llvm::Intrinsic::x86_tilezero: case llvm::Intrinsic::x86_tileloadd64: case llvm::Intrinsic::x86_tileloaddt164: case llvm::Intrinsic::x86_tilestored64:
    case llvm::Intrinsic::x86_tdpbssd: case llvm::Intrinsic::x86_tdpbsud: case llvm::Intrinsic::x86_tdpbusd: case llvm::Intrinsic::x86_tdpbuud: case llvm::Intrinsic::x86_tdpbf16ps:
      return call->getIntrinsicID();
    default: return llvm::Intrinsic::not_intrinsic;
  }
}

auto is_tile_load(const llvm::Instruction& instruction) -> bool {
  llvm::Intrinsic::ID id = tile_instruction(instruction);
  return id == llvm::Intrinsic::x86_tileloadd64 || id == llvm::Intrinsic::x86_tileloaddt164;
}

/// True if a tile instruction reads or writes tile number `tile`.
auto names_tile(const llvm::Instruction& instruction, uint64_t tile) -> bool {
  const auto& call = llvm::cast<llvm::CallInst>(instruction);
  llvm::Intrinsic::ID id = call.getIntrinsicID();
  const unsigned tiles = is_tile_load(instruction) || id == llvm::Intrinsic::x86_tilezero || id == llvm::Intrinsic::x86_tilestored64 ? 1 : 3;
  for (unsigned i = 0; i < tiles; ++i) {
    if (llvm::cast<llvm::ConstantInt>(call.getArgOperand(i))->getZExtValue() == tile) { return true; }
  }
  return false;
}

/// Moves each load of a tile down to the first product that uses it, past other loads and products, so that products start before all tiles are
/// loaded: this saves 5 to 10 % of the time of a matrix product on Sapphire Rapids. LLVM never moves these calls.
void delay_tile_loads(llvm::BasicBlock& block) {
  std::vector<llvm::Instruction*> loads;
  for (llvm::Instruction& instruction : block) {
    if (is_tile_load(instruction)) { loads.push_back(&instruction); }
  }
  // Starts with the first load, so that the loads of one product keep their order.
  for (llvm::Instruction* load : loads) {
    const uint64_t tile = llvm::cast<llvm::ConstantInt>(llvm::cast<llvm::CallInst>(load)->getArgOperand(0))->getZExtValue();
    llvm::Instruction* user = nullptr;
    for (llvm::Instruction* at = load->getNextNode(); at != nullptr && !at->isTerminator(); at = at->getNextNode()) {
      llvm::Intrinsic::ID id = tile_instruction(*at);
      if (id != llvm::Intrinsic::not_intrinsic && names_tile(*at, tile)) { user = at; }
      bool passes = id == llvm::Intrinsic::not_intrinsic ? !at->mayWriteToMemory() : id != llvm::Intrinsic::x86_tilestored64;
      if (user != nullptr || !passes) { break; }
    }
    if (user != nullptr) { load->moveBefore(user); }
  }
}

}  // namespace

/// The number of the tile that an argument names, as a constant.
auto ModuleBuilder::tile_argument(const Expr& argument, const std::string& instruction, Origin where) -> llvm::Value* {
  auto wrong = [&](const Reason& why) { return fail(fmt::format("`{}`", instruction), why, where); };
  if (!argument.dtype().is_handle()) {
    llvm::Value* value = eval(argument);
    if (failure_) { return nullptr; }
    const auto* number = llvm::dyn_cast<llvm::ConstantInt>(value);
    if (number == nullptr || number->getZExtValue() >= tile_count) { return wrong(because(Why::TileNumber)); }
    if (number->getZExtValue() < static_cast<uint64_t>(frame_.tiles_held)) { return wrong(because(Why::TileHeld).arg("tile", number->getZExtValue())); }
    return value;
  }
  TilePointer pointer = tile_pointer(argument);
  auto held = pointer.data != nullptr ? frame_.tile_buffers.find(pointer.data) : frame_.tile_buffers.end();
  if (held == frame_.tile_buffers.end()) { return wrong(because(Why::TileNotInBuffer)); }
  llvm::Value* index = eval_index(pointer.index);
  if (failure_) { return nullptr; }
  const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(index);
  if (constant == nullptr) { return wrong(because(Why::TileNotConstant).arg("buffer", pointer.data->name.view())); }
  const int64_t offset = constant->getSExtValue() * pointer.element_bytes;
  if (offset < 0 || offset % static_cast<int64_t>(tile_bytes) != 0) { return wrong(because(Why::ByteNotTile).arg("byte", offset).arg("buffer", pointer.data->name.view())); }
  const int64_t number = held->second + offset / static_cast<int64_t>(tile_bytes);
  if (number >= frame_.tiles_held) { return wrong(because(Why::ByteBeyondTiles).arg("byte", offset).arg("buffer", pointer.data->name.view())); }
  return ir_.getInt8(static_cast<uint8_t>(number));
}

/// Reserves the registers of a buffer of tiles, while its allocation lives. `bytes` is 0 if the size is not constant.
void ModuleBuilder::allocate_tiles(const Allocate& node, uint64_t bytes) {
  auto wrong = [&](const Reason& why) { fail(fmt::format("the buffer `{}` in tile registers", node.data->name.str()), why, node.origin); };
  if (bytes == 0 || bytes % tile_bytes != 0) { wrong(because(Why::SizeNotTiles)); return; }
  const uint64_t tiles = bytes / tile_bytes;
  const uint64_t left = static_cast<uint64_t>(tile_count - frame_.tiles_held);
  if (tiles > left) { wrong(because(Why::TooFewTiles).arg("needed", tiles).arg("free", left).arg("count", tile_count)); return; }
  frame_.tile_buffers[node.data.get()] = frame_.tiles_held;
  frame_.tiles_held += static_cast<int>(tiles);
  emit(node.body);
  frame_.tiles_held -= static_cast<int>(tiles);
  frame_.tile_buffers.erase(node.data.get());
}

/// Requests permission to use tiles from the system; 0: granted. In this process the runtime has a function for it. Code for other programs has only libc.
auto ModuleBuilder::request_tiles() -> llvm::Value* {
  llvm::Type* i64 = ir_.getInt64Ty();
  if (options_.hosted) { return ir_.CreateCall(declare("loopsmith_request_tiles", i64, {})); }
  // arch_prctl(ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA): https://docs.kernel.org/arch/x86/xstate.html
  llvm::FunctionCallee request = module_.getOrInsertFunction("syscall", llvm::FunctionType::get(i64, {i64}, true));
  return ir_.CreateCall(request, {ir_.getInt64(158), ir_.getInt64(0x1023), ir_.getInt64(18)});
}

/// At the start of a function that uses tiles, requests permission and sets their shapes; at its end, releases them. Returns the block where code continues.
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
  // The share of a parallel loop that this thread runs releases its tiles at its end.
  std::vector<llvm::CallInst*> launches;
  for (llvm::Instruction& instruction : llvm::instructions(*function)) {
    auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
    if (call != nullptr && launches_threads(*call)) { launches.push_back(call); }
  }
  for (llvm::CallInst* call : launches) {
    llvm::IRBuilder<> after(call->getNextNode());
    after.CreateIntrinsic(llvm::Intrinsic::x86_ldtilecfg, {}, {shape});
  }
  for (llvm::BasicBlock& block : *function) {
    delay_tile_loads(block);
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
