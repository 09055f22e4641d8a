// Functions, types, constants: see builder.h.
#include "codegen/llvm/builder.h"
#include "codegen/source/source.h"

#include <algorithm>

#include <fmt/format.h>

#include "ir/ops.h"
#include "ir/reals.h"
#include "support/codes.h"
#include "support/reasons.h"
#include "target/hardware.h"

namespace loopsmith::codegen {

ModuleBuilder::ModuleBuilder(llvm::LLVMContext& context, llvm::Module& module, const llvm::TargetMachine& machine, const target::Target& target,
                             const CodegenOptions& options)
    : context_(context), module_(module), machine_(machine), target_(target), options_(options), ir_(context) {
  llvm::FastMathFlags flags;
  if (options.fast_math) { flags.setFast(); }
  if (options.contract) { flags.setAllowContract(true); }
  ir_.setFastMathFlags(flags);
  begin_debug_info();
}

auto ModuleBuilder::fail(std::string_view what, const Reason& why, Origin where) -> llvm::Value* {
  if (!failure_) {
    failure_ = error(Code::CannotEmit, where).arg("what", what).arg("function", function_name_).arg("target", target_.str()).arg("reason", why.text());
  }
  return nullptr;
}

auto ModuleBuilder::fail_not_flat(std::string what, Origin where) -> llvm::Value* {
  if (!failure_) { failure_ = error(Code::NotFlat, where).arg("what", what).arg("function", function_name_); }
  return nullptr;
}

auto ModuleBuilder::type_of(DataType dtype) -> llvm::Type* {
  llvm::Type* scalar = nullptr;
  switch (dtype.code) {
    case TypeCode::Int:
    case TypeCode::UInt: scalar = llvm::IntegerType::get(context_, dtype.bits); break;
    case TypeCode::Float:
      if (dtype.bits == 16) { scalar = llvm::Type::getHalfTy(context_); }
      if (dtype.bits == 32) { scalar = llvm::Type::getFloatTy(context_); }
      if (dtype.bits == 64) { scalar = llvm::Type::getDoubleTy(context_); }
      break;
    case TypeCode::BFloat: scalar = llvm::Type::getInt16Ty(context_); break;   // computed in f32, rounded after each operation
    case TypeCode::Float8E4M3FN:
    case TypeCode::Float8E5M2:
    case TypeCode::Float8E3M4:
    case TypeCode::Float8E4M3:
    case TypeCode::Float8E4M3B11FNUZ:
    case TypeCode::Float8E4M3FNUZ:
    case TypeCode::Float8E5M2FNUZ:
    case TypeCode::Float8E8M0FNU:
    case TypeCode::Float6E2M3FN:
    case TypeCode::Float6E3M2FN:
    case TypeCode::Float4E2M1FN: scalar = llvm::Type::getInt8Ty(context_); break;   // the same
    case TypeCode::Handle: scalar = llvm::PointerType::getUnqual(context_); break;
    case TypeCode::Void: return llvm::Type::getVoidTy(context_);
    default: break;
  }
  if (scalar == nullptr || dtype.scalable) {
    fail(fmt::format("a value of type `{}`", dtype.str()), because(Why::NoCodeForType), {});
    scalar = llvm::Type::getInt32Ty(context_);
  }
  return dtype.lanes > 1 ? llvm::FixedVectorType::get(scalar, dtype.lanes) : scalar;
}

auto ModuleBuilder::memory_type_of(DataType dtype) -> llvm::Type* {
  if (dtype.is_bool()) { return type_of(DataType::uint(8, dtype.lanes)); }
  if (is_short_real(dtype) && dtype.bits % 8 != 0) { fail(fmt::format("a buffer of `{}`", dtype.str()), because(Why::NotWholeBytes), {}); }
  return type_of(dtype);
}

auto ModuleBuilder::poison(DataType dtype) -> llvm::Value* {
  return dtype.is_void() ? ir_.getInt32(0) : static_cast<llvm::Value*>(llvm::Constant::getNullValue(type_of(dtype)));
}

auto ModuleBuilder::splat(llvm::Value* scalar, int lanes) -> llvm::Value* {
  return lanes > 1 ? ir_.CreateVectorSplat(static_cast<unsigned>(lanes), scalar) : scalar;
}

auto ModuleBuilder::constant_string(const std::string& text) -> llvm::Value* {
  llvm::Value*& slot = strings_[text];
  if (slot == nullptr) { slot = ir_.CreateGlobalString(text, "text"); }
  return slot;
}

auto ModuleBuilder::declare(const std::string& name, llvm::Type* result, llvm::ArrayRef<llvm::Type*> params) -> llvm::FunctionCallee {
  llvm::FunctionCallee callee = module_.getOrInsertFunction(name, llvm::FunctionType::get(result, params, false));
  if (auto* function = llvm::dyn_cast<llvm::Function>(callee.getCallee())) { function->setDoesNotThrow(); }
  return callee;
}

void ModuleBuilder::set_attributes(llvm::Function& function) {
  function.addFnAttr(llvm::Attribute::NoUnwind);
  target::Hardware has = target::hardware(target_);
  if (has.vector_bits >= 256) { function.addFnAttr("prefer-vector-width", std::to_string(has.vector_bits)); }
  function.addFnAttr("target-cpu", machine_.getTargetCPU());
  if (!machine_.getTargetFeatureString().empty()) { function.addFnAttr("target-features", machine_.getTargetFeatureString()); }
  // Accesses new stack memory beyond a page page by page, so that an overflow hits the guard page and not other memory.
  if (target_.architecture() == target::Architecture::X86_64) { function.addFnAttr("probe-stack", "inline-asm"); }
}

void ModuleBuilder::close_entry(llvm::BasicBlock* first) {
  if (frame_.streams) { fence_streams(*frame_.function); }
  ir_.SetInsertPoint(frame_.entry);
  ir_.CreateBr(frame_.uses_tiles ? prepare_tiles(first) : first);
}

auto ModuleBuilder::slots_of(const PrimFunc& func) -> std::vector<Slot> {
  std::vector<Slot> slots;
  llvm::Type* pointer = llvm::PointerType::getUnqual(context_);
  for (const Var& param : func->params) {
    if (Buffer buffer = func->buffer_of(param)) {
      slots.push_back({buffer->data.get(), pointer, true, static_cast<unsigned>(std::max(1, buffer->dtype.element_bytes()))});
    } else if (param->dtype.is_handle() && is_nvidia() && param->pointer) {
      // Memory of a device: a launch passes whole tensors, which begin at multiples of 16 bytes, as CUDA C assumes for its vectors.
      slots.push_back({param.get(), pointer, true, 16});
    } else {
      slots.push_back({param.get(), param->dtype.is_handle() ? pointer : type_of(param->dtype), false, 1});
    }
  }
  for (const Var& v : shape_variables(func)) { slots.push_back({v.get(), type_of(v->dtype), false, 1}); }
  return slots;
}

void ModuleBuilder::add_function(const PrimFunc& func, const std::string& symbol) {
  function_name_ = symbol;
  threads_.clear();
  sizes_.clear();
  shared_offset_ = is_nvidia() && requested_shared_bytes(func) > 0 ? 0 : -1;
  noalias_ = true;
  if (const Attr* attr = find_attr(func->attrs, "tir.noalias"); attr != nullptr && attr->expr()) { noalias_ = !is_zero(attr->expr()); }

  // The body takes its pointers as parameters, because LLVM accepts `noalias` only there; the entry unpacks its slots and calls the body.
  const std::vector<Slot> slots = slots_of(func);
  std::vector<llvm::Type*> types;
  for (const Slot& slot : slots) { types.push_back(slot.type); }
  auto* body_type = llvm::FunctionType::get(ir_.getInt32Ty(), types, false);
  auto* body = llvm::Function::Create(body_type, llvm::Function::InternalLinkage, symbol + ".body", module_);
  set_attributes(*body);
  enter_function(*body, func->origin);

  frame_ = Frame{};
  frame_.function = body;
  frame_.entry = llvm::BasicBlock::Create(context_, "entry", body);
  llvm::BasicBlock* first = llvm::BasicBlock::Create(context_, "begin", body);
  for (size_t i = 0; i < slots.size(); ++i) {
    llvm::Argument* arg = body->getArg(static_cast<unsigned>(i));
    arg->setName(slots[i].var->name.str());
    frame_.vars[slots[i].var].value = arg;
    if (slots[i].is_buffer) {
      if (noalias_) {
        arg->addAttr(llvm::Attribute::NoAlias);
        frame_.disjoint.insert(slots[i].var);
      }
      arg->addAttr(llvm::Attribute::getWithAlignment(context_, llvm::Align(llvm::PowerOf2Ceil(slots[i].alignment))));
    }
  }
  for (const auto& [param, buffer] : func->buffer_map) {
    std::vector<Expr> dims(buffer->shape.begin(), buffer->shape.end());
    sizes_[buffer->data.get()] = sizes_[param.get()] = {std::move(dims), static_cast<uint64_t>(buffer->dtype.element_bytes()) * buffer->dtype.lanes};
  }
  // The handle of a buffer parameter is also its data variable.
  for (const auto& [param, buffer] : func->buffer_map) {
    if (auto found = frame_.vars.find(buffer->data.get()); found != frame_.vars.end()) { frame_.vars.emplace(param.get(), Binding(found->second)); }
  }
  ir_.SetInsertPoint(first);
  emit(func->body);
  if (ir_.GetInsertBlock()->getTerminator() == nullptr) { ir_.CreateRet(ir_.getInt32(0)); }
  close_entry(first);
  if (is_gpu()) {
    if (!failure_) { add_kernel(func, *body, symbol); }
    return;
  }
  add_entry(func, *body, slots, symbol);
}

void ModuleBuilder::add_entry(const PrimFunc& func, llvm::Function& body, const std::vector<Slot>& slots, const std::string& symbol) {
  llvm::Type* pointer = llvm::PointerType::getUnqual(context_);
  auto* entry = llvm::Function::Create(llvm::FunctionType::get(ir_.getInt32Ty(), {pointer}, false), llvm::Function::ExternalLinkage, entry_symbol(symbol, options_), module_);
  set_attributes(*entry);
  enter_function(*entry, func->origin);
  if (options_.hidden) { entry->setVisibility(llvm::GlobalValue::HiddenVisibility); }
  entry->getArg(0)->setName("arguments");
  ir_.SetInsertPoint(llvm::BasicBlock::Create(context_, "entry", entry));
  std::vector<llvm::Value*> args;
  for (size_t i = 0; i < slots.size(); ++i) {
    llvm::Value* slot = ir_.CreateConstInBoundsGEP1_64(ir_.getInt64Ty(), entry->getArg(0), i);
    llvm::Type* type = slots[i].type;
    llvm::Align eight(8);
    if (type->isPointerTy()) {
      args.push_back(ir_.CreateAlignedLoad(pointer, slot, eight));
    } else if (type->isFloatingPointTy()) {
      args.push_back(ir_.CreateFPCast(ir_.CreateAlignedLoad(ir_.getDoubleTy(), slot, eight), type));
    } else if (is_short_real(slots[i].var->dtype)) {
      args.push_back(double_to_short(ir_.CreateAlignedLoad(ir_.getDoubleTy(), slot, eight), slots[i].var->dtype));
    } else {
      llvm::Value* wide = ir_.CreateAlignedLoad(ir_.getInt64Ty(), slot, eight);
      args.push_back(slots[i].var->dtype.is_bool() ? ir_.CreateICmpNE(wide, ir_.getInt64(0)) : ir_.CreateSExtOrTrunc(wide, type));
    }
  }
  llvm::CallInst* result = ir_.CreateCall(&body, args);
  result->setTailCall();
  ir_.CreateRet(result);
}

}  // namespace loopsmith::codegen
