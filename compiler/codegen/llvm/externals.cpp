// Calls of C functions by name, `T.call_extern("float32", "expf", x)`: see builder.h. Code that runs in this process may call only the functions of a
// closed list (ir/externals.h). Functions that copy memory check that they stay inside of the given buffers. Code for
// other programs may call any function, which the final link must provide.
#include <fmt/format.h>

#include "codegen/llvm/builder.h"
#include "ir/externals.h"
#include "support/reasons.h"
#include "support/text.h"

namespace loopsmith::codegen {

auto ModuleBuilder::external(const std::string& name, const Call& node) -> llvm::Value* {
  auto wrong = [&](const Reason& why) { return fail(fmt::format("the call of `{}`", name), why, node.origin); };
  const External known = loopsmith::external(name);
  if (known.kind == ExternalKind::Unknown && options_.hosted) {
    (void)wrong(because(Why::ExternalNotHere));
    (void)std::move(*failure_).remedy("call a maths function of C, `memcpy`, `memmove` or `memset`; or build a library and link it with the function");
    return nullptr;
  }
  if (known.kind == ExternalKind::Memory) { return memory_function(name, node); }
  std::vector<llvm::Value*> args;
  std::vector<llvm::Type*> types;
  for (size_t i = 1; i < node.args.size(); ++i) {
    if (known.kind == ExternalKind::Maths && node.args[i].dtype() != known.type) {
      return wrong(because(Why::TakesTypes).arg("wanted", known.type.str()).arg("number", i).arg("found", node.args[i].dtype().str()));
    }
    args.push_back(eval(node.args[i]));
    if (failure_) { return nullptr; }
    types.push_back(args.back()->getType());
  }
  if (known.kind == ExternalKind::Maths) {
    if (args.size() != static_cast<size_t>(known.arguments)) { return wrong(because(Why::TakesArguments).arg("wanted", count_text(known.arguments, "argument")).arg("given", args.size())); }
    if (node.dtype != known.type) { return wrong(because(Why::ReturnsType).arg("wanted", known.type.str()).arg("found", node.dtype.str())); }
  }
  llvm::Type* result = node.dtype.is_void() ? ir_.getVoidTy() : type_of(node.dtype);
  if (failure_) { return nullptr; }
  auto* type = llvm::FunctionType::get(result, types, false);
  llvm::FunctionCallee callee = module_.getOrInsertFunction(name, type);
  if (callee.getFunctionType() != type) { return wrong(because(Why::OtherCallTypes)); }
  llvm::Value* out = ir_.CreateCall(callee, args);
  return node.dtype.is_void() ? ir_.getInt32(0) : out;
}

/// memcpy, memmove and memset: stops the function if the bytes are not inside of the buffers' memory.
auto ModuleBuilder::memory_function(const std::string& name, const Call& node) -> llvm::Value* {
  auto wrong = [&](const Reason& why) { return fail(fmt::format("the call of `{}`", name), why, node.origin); };
  if (node.args.size() != 4) { return wrong(because(Why::TakesArguments).arg("wanted", "3 arguments").arg("given", node.args.size() - 1)); }
  const bool sets = name == "memset";
  for (size_t i = 1; i <= (sets ? 1U : 2U); ++i) {
    if (!node.args[i].dtype().is_handle()) { return wrong(because(Why::ArgumentNoPointer).arg("number", i)); }
    if (memory_behind(node.args[i]) == nullptr) {
      return wrong(because(Why::SizeBehindArgument).arg("number", i));
    }
  }
  llvm::Value* to = eval(node.args[1]);
  llvm::Value* from = failure_ ? nullptr : sets ? eval_index(node.args[2]) : eval(node.args[2]);
  llvm::Value* bytes = failure_ ? nullptr : eval_index(node.args[3]);
  llvm::Value* fits = failure_ ? nullptr : is_inside(node.args[1], to, bytes);
  if (!failure_ && !sets) { fits = ir_.CreateAnd(fits, is_inside(node.args[2], from, bytes)); }
  if (failure_) { return nullptr; }
  auto* outside = llvm::BasicBlock::Create(context_, "outside", frame_.function);
  auto* inside = llvm::BasicBlock::Create(context_, "inside", frame_.function);
  ir_.CreateCondBr(fits, inside, outside);
  ir_.SetInsertPoint(outside);
  emit_error_text(fmt::format("`{}` reads or writes outside of a buffer", name));
  stop_with(ir_.getInt32(1));
  ir_.SetInsertPoint(inside);
  if (sets) { ir_.CreateMemSet(to, ir_.CreateTrunc(from, ir_.getInt8Ty()), bytes, llvm::MaybeAlign()); }
  else if (name == "memcpy") { ir_.CreateMemCpy(to, llvm::MaybeAlign(), from, llvm::MaybeAlign(), bytes); }
  else { ir_.CreateMemMove(to, llvm::MaybeAlign(), from, llvm::MaybeAlign(), bytes); }
  if (node.dtype.is_void()) { return ir_.getInt32(0); }
  return node.dtype.is_handle() ? to : static_cast<llvm::Value*>(llvm::Constant::getNullValue(type_of(node.dtype)));
}

/// The memory into which a pointer points, if its size is known; else null.
auto ModuleBuilder::memory_behind(const Expr& pointer) -> const VarNode* {
  const VarNode* memory = pointer.as<VarNode>();
  if (const auto* call = pointer.as<Call>()) {
    if (call->op.view().ends_with("address_of") && !call->args.empty()) {
      const auto* place = call->args[0].as<BufferLoad>();
      memory = place != nullptr ? place->buffer->data.get() : nullptr;
    } else if (call->op.view().ends_with("tvm_access_ptr") && call->args.size() > 1) {
      memory = call->args[1].as<VarNode>();
    }
  }
  return memory != nullptr && sizes_.contains(memory) ? memory : nullptr;
}

auto ModuleBuilder::size_of_memory(const VarNode& memory) -> llvm::Value* {
  const Extents& extents = sizes_.at(&memory);
  llvm::Value* bytes = ir_.getInt64(extents.element);
  for (const Expr& dim : extents.dims) {
    llvm::Value* extent = eval_index(dim);
    if (failure_) { return nullptr; }
    bytes = ir_.CreateMul(bytes, extent);
  }
  return bytes;
}

/// True when `bytes` bytes from a pointer on lie in its memory. Differences are unsigned: an address before the memory counts as far behind it.
auto ModuleBuilder::is_inside(const Expr& pointer, llvm::Value* at, llvm::Value* bytes) -> llvm::Value* {
  const VarNode& memory = *memory_behind(pointer);
  llvm::Value* begin = variable(memory);
  llvm::Value* size = failure_ ? nullptr : size_of_memory(memory);
  if (failure_) { return nullptr; }
  llvm::Type* i64 = ir_.getInt64Ty();
  llvm::Value* offset = ir_.CreateSub(ir_.CreatePtrToInt(at, i64), ir_.CreatePtrToInt(begin, i64));
  return ir_.CreateAnd(ir_.CreateICmpULE(offset, size), ir_.CreateICmpULE(bytes, ir_.CreateSub(size, offset)));
}

}  // namespace loopsmith::codegen
