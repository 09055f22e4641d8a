// Loads, stores and addresses: see builder.h. A contiguous ramp becomes a vector access, any other vector of
// indices a gather or scatter; predicates and the active lanes of a vector `if_then_else` become masks.
#include <algorithm>

#include <fmt/format.h>

#include "codegen/llvm/builder.h"
#include "ir/equal.h"
#include "ir/ops.h"
#include "ir/strides.h"
#include "ir/visitor.h"
#include "support/reasons.h"

namespace loopsmith::codegen {

auto ModuleBuilder::alloca_in_entry(llvm::Type* type, uint64_t count, unsigned alignment, const std::string& name) -> llvm::AllocaInst* {
  llvm::IRBuilder<>::InsertPointGuard guard(ir_);
  ir_.SetInsertPoint(frame_.entry);
  llvm::Type* whole = count == 1 ? type : llvm::ArrayType::get(type, count);
  llvm::AllocaInst* out = ir_.CreateAlloca(whole, nullptr, name);
  out->setAlignment(llvm::Align(alignment));
  return out;
}

auto ModuleBuilder::pointer_to(const Buffer& buffer, llvm::Value* element_index) -> llvm::Value* {
  auto found = frame_.vars.find(buffer->data.get());
  if (frame_.tile_buffers.contains(buffer->data.get())) {
    fail(fmt::format("an access to `{}`", buffer->name.str()), because(Why::OnlyTileInstructions), buffer->origin);
    return nullptr;
  }
  if (found == frame_.vars.end() || found->second.value == nullptr) {
    fail(fmt::format("an access to `{}`", buffer->name.str()), because(Why::MemoryNotDefined), buffer->origin);
    return nullptr;
  }
  llvm::Value* base = found->second.value;
  llvm::Type* type = memory_type_of(buffer->dtype);
  if (buffer->elem_offset && !is_zero(buffer->elem_offset)) {
    llvm::Value* offset = eval_index(buffer->elem_offset);
    if (failure_) { return nullptr; }
    base = ir_.CreateInBoundsGEP(type->getScalarType(), base, offset);
  }
  return ir_.CreateInBoundsGEP(type, base, element_index);
}

/// The flat index of an access: combines several indices in row-major order or by strides.
auto ModuleBuilder::flat_index(const Buffer& buffer, const Array<Expr>& indices) -> Expr {
  if (indices.empty()) { return int_imm(0); }
  if (indices.size() == 1 && !is_strided(buffer)) { return indices[0]; }
  if (indices.size() != buffer->shape.size()) { return {}; }
  Expr out;
  for (size_t i = 0; i < indices.size(); ++i) {
    if (is_strided(buffer)) {
      Expr term = indices[i] * buffer->strides[i];
      out = out ? out + term : term;
    } else {
      out = out ? out * buffer->shape[i] + indices[i] : indices[i];
    }
  }
  return out;
}

auto ModuleBuilder::from_memory(llvm::Value* value, DataType dtype) -> llvm::Value* {
  return dtype.is_bool() ? ir_.CreateIsNotNull(value) : value;
}

auto ModuleBuilder::to_memory(llvm::Value* value, DataType dtype) -> llvm::Value* {
  return dtype.is_bool() ? ir_.CreateZExt(value, type_of(DataType::uint(8, dtype.lanes))) : value;
}

auto ModuleBuilder::address_of(const BufferLoad& node) -> llvm::Value* {
  Expr index = flat_index(node.buffer, node.indices);
  if (!index) { return fail_not_flat(fmt::format("an access to `{}`", node.buffer->name.str()), node.origin); }
  if (auto ramp = as_ramp(index)) { index = ramp->first; }
  llvm::Value* at = eval_index(index);
  return failure_ ? nullptr : pointer_to(node.buffer, at);
}

/// Prefetches the cache lines that this load will read some iterations later, if the program requests it.
void ModuleBuilder::fetch_ahead(const Buffer& buffer, llvm::Value* index, uint64_t bytes) {
  if (!fetched_.contains(buffer->data.get())) { return; }
  // The address may lie outside of the buffer, so it is not `inbounds`.
  llvm::Value* element = ir_.CreateGEP(memory_type_of(buffer->dtype), frame_.vars[buffer->data.get()].value, ir_.CreateAdd(index, ir_.getInt64(static_cast<uint64_t>(fetched_ahead_))));
  for (uint64_t at = 0; at == 0 || at < bytes; at += 64) {
    llvm::Value* line = ir_.CreateConstGEP1_64(ir_.getInt8Ty(), element, at);
    ir_.CreateIntrinsic(llvm::Intrinsic::prefetch, {line->getType()}, {line, ir_.getInt32(0), ir_.getInt32(3), ir_.getInt32(1)});
  }
}

auto ModuleBuilder::load(const BufferLoad& node) -> llvm::Value* {
  Expr index = flat_index(node.buffer, node.indices);
  if (!index) { return fail_not_flat(fmt::format("an access to `{}` with {} indices", node.buffer->name.str(), node.indices.size()), node.origin); }
  const DataType element = node.buffer->dtype;
  const llvm::Align align(static_cast<uint64_t>(llvm::PowerOf2Ceil(static_cast<uint64_t>(std::max(1, element.element_bytes())))));
  const int lanes = index.dtype().lanes;
  if (lanes == 1) {
    llvm::Value* predicate = node.predicate ? eval(node.predicate) : nullptr;
    if (failure_) { return nullptr; }
    auto plain = [&]() -> llvm::Value* {
      llvm::Value* at = eval_index(index);
      if (failure_) { return nullptr; }
      llvm::Value* pointer = pointer_to(node.buffer, at);
      return failure_ ? nullptr : from_memory(ir_.CreateAlignedLoad(memory_type_of(element), pointer, align), element);
    };
    if (mask_ != nullptr) {
      llvm::Value* any = ir_.CreateOrReduce(mask_);
      predicate = predicate != nullptr ? ir_.CreateAnd(predicate, any) : any;
    }
    return predicate != nullptr ? only_if(predicate, element, plain) : plain();
  }
  if (element.lanes != 1) { return fail(fmt::format("a vector access to `{}`", node.buffer->name.str()), because(Why::ElementsAreVectors), node.origin); }
  llvm::Value* mask = node.predicate ? splat(eval(node.predicate), node.predicate.dtype().lanes == 1 ? lanes : 1) : nullptr;
  if (failure_) { return nullptr; }
  if (mask_ != nullptr) { mask = mask != nullptr ? ir_.CreateAnd(mask, mask_) : mask_; }
  llvm::Type* type = memory_type_of(element.with_lanes(lanes));
  llvm::Value* nothing = llvm::Constant::getNullValue(type);
  auto ramp = as_ramp(index);
  if (ramp && is_one(ramp->second)) {
    llvm::Value* at = eval_index(ramp->first);
    llvm::Value* pointer = failure_ ? nullptr : pointer_to(node.buffer, at);
    if (failure_) { return nullptr; }
    if (mask == nullptr) { fetch_ahead(node.buffer, at, type->getPrimitiveSizeInBits().getFixedValue() / 8); }
    llvm::Value* value = mask != nullptr ? static_cast<llvm::Value*>(ir_.CreateMaskedLoad(type, pointer, align, mask, nothing))
                                         : ir_.CreateAlignedLoad(type, pointer, align);
    return from_memory(value, element.with_lanes(lanes));
  }
  if (ramp && is_zero(ramp->second) && mask == nullptr) {
    llvm::Value* at = eval_index(ramp->first);
    llvm::Value* pointer = failure_ ? nullptr : pointer_to(node.buffer, at);
    if (failure_) { return nullptr; }
    return splat(from_memory(ir_.CreateAlignedLoad(memory_type_of(element), pointer, align), element), lanes);
  }
  if (ramp && mask == nullptr && lanes <= 16 && as_int(ramp->second)) {
    // A constant stride: for few lanes, combined single loads beat the gather instruction.
    llvm::Value* at = eval_index(ramp->first);
    llvm::Value* first = failure_ ? nullptr : pointer_to(node.buffer, at);
    if (failure_) { return nullptr; }
    llvm::Value* out = llvm::PoisonValue::get(type);
    for (int i = 0; i < lanes; ++i) {
      llvm::Value* pointer = ir_.CreateConstInBoundsGEP1_64(type->getScalarType(), first, static_cast<uint64_t>(i * *as_int(ramp->second)));
      out = ir_.CreateInsertElement(out, ir_.CreateAlignedLoad(type->getScalarType(), pointer, align), static_cast<uint64_t>(i));
    }
    return from_memory(out, element.with_lanes(lanes));
  }
  llvm::Value* at = eval(index);
  if (failure_) { return nullptr; }
  llvm::Value* pointers = pointer_to(node.buffer, ir_.CreateSExt(at, llvm::FixedVectorType::get(ir_.getInt64Ty(), static_cast<unsigned>(lanes))));
  if (failure_) { return nullptr; }
  return from_memory(ir_.CreateMaskedGather(type, pointers, align, mask, nothing), element.with_lanes(lanes));
}

namespace {

/// True when sums and products of constants show that the expression is a multiple of `count`.
auto is_multiple(const Expr& e, int64_t count) -> bool {
  if (auto value = as_int(e)) { return *value % count == 0; }
  if (const auto* n = e.as<Add>()) { return is_multiple(n->a, count) && is_multiple(n->b, count); }
  if (const auto* n = e.as<Sub>()) { return is_multiple(n->a, count) && is_multiple(n->b, count); }
  if (const auto* n = e.as<Mul>()) { return is_multiple(n->a, count) || is_multiple(n->b, count); }
  if (const auto* n = e.as<Cast>()) { return n->dtype.is_int() && n->dtype.bits >= 32 && n->value.dtype().is_int() && is_multiple(n->value, count); }
  return false;
}

}  // namespace

/// Stores neighbouring lanes. The store bypasses the caches if the program requests it and the address is a multiple of the vector's size.
void ModuleBuilder::store_vector(llvm::Value* value, llvm::Value* pointer, llvm::Align align, const BufferStore& node) {
  const uint64_t bytes = value->getType()->getPrimitiveSizeInBits().getFixedValue() / 8;
  const bool streams = streamed_.contains(node.buffer->data.get()) && bytes >= 16 && llvm::isPowerOf2_64(bytes) &&
                       (!node.buffer->elem_offset || is_zero(node.buffer->elem_offset));
  auto ramp = streams ? as_ramp(flat_index(node.buffer, node.indices)) : std::nullopt;
  if (!ramp || !is_multiple(ramp->first, node.indices.back().dtype().lanes)) {
    ir_.CreateAlignedStore(value, pointer, align);
    return;
  }
  llvm::StoreInst* made = ir_.CreateAlignedStore(value, pointer, llvm::Align(std::min<uint64_t>(bytes, 64)));
  made->setMetadata(llvm::LLVMContext::MD_nontemporal, llvm::MDNode::get(context_, llvm::ConstantAsMetadata::get(ir_.getInt32(1))));
}

void ModuleBuilder::store(const BufferStore& node) {
  Expr index = flat_index(node.buffer, node.indices);
  if (!index) {
    fail_not_flat(fmt::format("an access to `{}` with {} indices", node.buffer->name.str(), node.indices.size()), node.origin);
    return;
  }
  const DataType element = node.buffer->dtype;
  const llvm::Align align(static_cast<uint64_t>(llvm::PowerOf2Ceil(static_cast<uint64_t>(std::max(1, element.element_bytes())))));
  const int lanes = index.dtype().lanes;
  if (element.lanes == 1 && node.value.dtype().lanes != lanes && node.value.dtype().lanes != 1) {
    fail(fmt::format("a store to `{}`", node.buffer->name.str()), because(Why::StoredCounts).arg("values", node.value.dtype().lanes).arg("elements", lanes), node.origin);
    return;
  }
  llvm::Value* predicate = node.predicate ? eval(node.predicate) : nullptr;
  if (failure_) { return; }
  // A scalar store: computes nothing if the predicate is false.
  llvm::BasicBlock* after = nullptr;
  if (lanes == 1 && predicate != nullptr) {
    auto* yes = llvm::BasicBlock::Create(context_, "store", frame_.function);
    after = llvm::BasicBlock::Create(context_, "stored", frame_.function);
    ir_.CreateCondBr(predicate, yes, after);
    ir_.SetInsertPoint(yes);
  }
  llvm::Value* value = eval(node.value);
  if (failure_) { return; }
  if (element.lanes == 1 && node.value.dtype().lanes != lanes) { value = splat(value, lanes); }
  value = to_memory(value, element.lanes == 1 ? element.with_lanes(lanes) : element);
  if (lanes == 1) {
    llvm::Value* at = eval_index(index);
    llvm::Value* pointer = failure_ ? nullptr : pointer_to(node.buffer, at);
    if (failure_) { return; }
    ir_.CreateAlignedStore(value, pointer, align);
    if (after != nullptr) {
      ir_.CreateBr(after);
      ir_.SetInsertPoint(after);
    }
    return;
  }
  if (element.lanes != 1) {
    fail(fmt::format("a vector access to `{}`", node.buffer->name.str()), because(Why::ElementsAreVectors), node.origin);
    return;
  }
  if (predicate != nullptr && node.predicate.dtype().lanes == 1) { predicate = splat(predicate, lanes); }
  auto ramp = as_ramp(index);
  if (ramp && is_one(ramp->second)) {
    llvm::Value* at = eval_index(ramp->first);
    llvm::Value* pointer = failure_ ? nullptr : pointer_to(node.buffer, at);
    if (failure_) { return; }
    if (predicate != nullptr) {
      ir_.CreateMaskedStore(value, pointer, align, predicate);
    } else {
      store_vector(value, pointer, align, node);
    }
    return;
  }
  llvm::Value* at = eval(index);
  if (failure_) { return; }
  llvm::Value* pointers = pointer_to(node.buffer, ir_.CreateSExt(at, llvm::FixedVectorType::get(ir_.getInt64Ty(), static_cast<unsigned>(lanes))));
  if (failure_) { return; }
  ir_.CreateMaskedScatter(value, pointers, align, predicate);
}

// ---- interleaved stores

namespace {

/// An index as a sum of an expression and a constant.
struct Shifted { Expr index; int64_t by = 0; };
auto shifted(const Expr& index) -> Shifted {
  const auto* sum = index.as<Add>();
  auto by = sum != nullptr ? as_int(sum->b) : std::nullopt;
  return by ? Shifted{sum->a, *by} : Shifted{index, 0};
}

/// True when a value is computed from numbers and loads alone, and none of the loads reads `data`.
auto reads_other_memory(const Expr& value, const VarNode* data) -> bool {
  bool other = true;
  post_order(value, [&](const Expr& e) {
    if (const auto* load = e.as<BufferLoad>()) { other = other && load->buffer->data.get() != data; }
    if (e.as<Call>() != nullptr) { other = false; }
  });
  return other;
}

}  // namespace

/// Stores to every second element, then to those between (or every fourth, and so on), as one store of the interleaved values:
///
///     B[i:i + 32:2] = x       ==>     B[i:i + 32] = (x0, y0, x1, y1, ...)
///     B[i + 1:i + 33:2] = y
///
/// Packing for matrix units consists of such stores, and processors have no fast scatter of small elements. Returns the number of statements from
/// `at` on that were stored together; 0: they have another form.
auto ModuleBuilder::store_interleaved(const Sequence<Stmt>& statements, size_t at) -> size_t {
  if (mask_ != nullptr || is_gpu()) { return 0; }
  int64_t count = 1;
  int lanes = 0;
  Shifted first;
  std::vector<const BufferStore*> stores;
  for (int64_t i = 0; i < count; ++i) {
    const auto* store = at + static_cast<size_t>(i) < statements.size() ? statements[at + static_cast<size_t>(i)].as<BufferStore>() : nullptr;
    if (store == nullptr || store->predicate || store->buffer->dtype.lanes != 1 || store->buffer->dtype.is_bool() || store->value.dtype().lanes < 2) { return 0; }
    auto ramp = as_ramp(flat_index(store->buffer, store->indices));
    auto stride = ramp ? as_int(ramp->second) : std::nullopt;
    if (!stride) { return 0; }
    Shifted begin = shifted(ramp->first);
    if (i == 0) {
      if (*stride != 2 && *stride != 4 && *stride != 8) { return 0; }
      count = *stride;
      lanes = store->value.dtype().lanes;
      first = begin;
    }
    const bool continues = *stride == count && begin.by == first.by + i && structural_equal(begin.index, first.index) && store->value.dtype().lanes == lanes &&
                           (i == 0 || store->buffer->data.same_as(stores.front()->buffer->data));
    if (!continues || !frame_.disjoint.contains(store->buffer->data.get()) || !reads_other_memory(store->value, store->buffer->data.get())) { return 0; }
    stores.push_back(store);
  }
  // All values side by side, then element by element.
  std::vector<llvm::Value*> parts;
  for (const BufferStore* store : stores) {
    llvm::Value* value = eval(store->value);
    if (failure_) { return static_cast<size_t>(count); }
    parts.push_back(to_memory(value, store->buffer->dtype.with_lanes(lanes)));
  }
  while (parts.size() > 1) {
    std::vector<llvm::Value*> wider;
    for (size_t i = 0; i < parts.size(); i += 2) {
      const unsigned size = 2 * llvm::cast<llvm::FixedVectorType>(parts[i]->getType())->getNumElements();
      std::vector<int> all(size);
      for (unsigned e = 0; e < size; ++e) { all[e] = static_cast<int>(e); }
      wider.push_back(ir_.CreateShuffleVector(parts[i], parts[i + 1], all));
    }
    parts = std::move(wider);
  }
  std::vector<int> order;
  for (int lane = 0; lane < lanes; ++lane) {
    for (int part = 0; part < count; ++part) { order.push_back(part * lanes + lane); }
  }
  llvm::Value* index = eval_index(as_ramp(flat_index(stores.front()->buffer, stores.front()->indices))->first);
  llvm::Value* pointer = failure_ ? nullptr : pointer_to(stores.front()->buffer, index);
  if (failure_) { return static_cast<size_t>(count); }
  ir_.CreateAlignedStore(ir_.CreateShuffleVector(parts.front(), order), pointer, llvm::Align(static_cast<uint64_t>(stores.front()->buffer->dtype.element_bytes())));
  return static_cast<size_t>(count);
}

}  // namespace loopsmith::codegen
