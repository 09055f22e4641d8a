// Kernels of NVIDIA's GPUs as PTX by LLVM, in addition to gpu.cpp, which serves all GPUs: no CUDA Toolkit is needed. A driver loads the PTX, or ptxas assembles it
// (https://llvm.org/docs/NVPTXUsage.html).
#include <fmt/format.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "codegen/llvm/builder.h"
#include "ir/ops.h"
#include "support/reasons.h"

namespace loopsmith::codegen {

void ModuleBuilder::make_nvidia_kernel(llvm::Function& kernel) {
  kernel.setCallingConv(llvm::CallingConv::PTX_Kernel);
  llvm::NamedMDNode* annotations = module_.getOrInsertNamedMetadata("nvvm.annotations");
  auto annotate = [&](const char* key, int64_t value) {
    annotations->addOperand(llvm::MDNode::get(context_, {llvm::ValueAsMetadata::get(&kernel), llvm::MDString::get(context_, key),
                                                         llvm::ConstantAsMetadata::get(ir_.getInt32(static_cast<uint32_t>(value)))}));
  };
  annotate("kernel", 1);
  const bool is_constant = std::all_of(threads_.begin(), threads_.end(), [](const auto& thread) { return thread.second > 0; });
  if (!is_constant) { return; }
  for (char axis : {'x', 'y', 'z'}) {
    auto found = threads_.find(fmt::format("threadIdx.{}", axis));
    annotate(fmt::format("maxntid{}", axis).c_str(), found == threads_.end() ? 1 : found->second);
  }
}

namespace {

/// CUDA's atomic functions of one value, by name; none: another function.
auto atomic_operation(std::string_view name, DataType type) -> std::optional<llvm::AtomicRMWInst::BinOp> {
  using Op = llvm::AtomicRMWInst;
  const bool is_real = type.is_float();
  if (name == "atomicAdd") { return is_real ? Op::FAdd : Op::Add; }
  if (name == "atomicExch") { return Op::Xchg; }
  if (is_real) { return {}; }
  if (name == "atomicSub") { return Op::Sub; }
  if (name == "atomicMin") { return type.is_int() ? Op::Min : Op::UMin; }
  if (name == "atomicMax") { return type.is_int() ? Op::Max : Op::UMax; }
  if (name == "atomicAnd") { return Op::And; }
  if (name == "atomicOr") { return Op::Or; }
  return name == "atomicXor" ? std::optional(Op::Xor) : std::nullopt;
}

/// The function that a call of C names; empty for other calls.
auto c_function(const Call& node, std::string_view op) -> std::string_view {
  const auto* name = (op == "call_extern" || op == "call_pure_extern") && !node.args.empty() ? node.args[0].as<StringImm>() : nullptr;
  return name ? std::string_view(name->value) : std::string_view();
}

}  // namespace

auto ModuleBuilder::nvidia_call(const Call& node, std::string_view op) -> llvm::Value* {
  const std::string_view function = c_function(node, op);
  const size_t first = function.empty() ? 0 : 1;
  if ((op == "dp4a" || function == "__dp4a") && node.args.size() == first + 3) {
    std::vector<llvm::Value*> words;
    for (size_t i = first; i < node.args.size() && !failure_; ++i) {
      llvm::Value* value = eval(node.args[i]);
      if (!failure_) { words.push_back(ir_.CreateBitCast(value, ir_.getInt32Ty())); }
    }
    if (failure_) { return nullptr; }
    // LLVM has no intrinsic for it before version 20.
    auto letter = [&](size_t i) { return node.args[first + i].dtype().is_int() ? 's' : 'u'; };
    llvm::Type* word = ir_.getInt32Ty();
    auto* instruction = llvm::InlineAsm::get(llvm::FunctionType::get(word, {word, word, word}, false), fmt::format("dp4a.{}32.{}32 $0, $1, $2, $3;", letter(0), letter(1)), "=r,r,r,r", false);
    return ir_.CreateCall(instruction, words);
  }
  if (const auto atomic = node.args.size() == 3 ? atomic_operation(function, node.args[2].dtype()) : std::nullopt) {
    llvm::Value* place = eval(node.args[1]);
    llvm::Value* value = failure_ ? nullptr : eval(node.args[2]);
    return failure_ ? nullptr : ir_.CreateAtomicRMW(*atomic, place, value, llvm::MaybeAlign(), llvm::AtomicOrdering::Monotonic);
  }
  if (op == "tvm_warp_shuffle" || op == "tvm_warp_shuffle_up" || op == "tvm_warp_shuffle_down") { return warp_exchange(node, op); }
  if (op == "tvm_warp_activemask") { return ir_.CreateIntrinsic(llvm::Intrinsic::nvvm_activemask, {}, {}); }
  if (op == "ptx_cp_async" && node.args.size() >= 5) { return asynchronous_copy(node); }
  if (op == "ptx_commit_group") {
    ir_.CreateIntrinsic(llvm::Intrinsic::nvvm_cp_async_commit_group, {}, {});
    return ir_.getInt32(0);
  }
  if (op == "ptx_wait_group" && node.args.size() == 1) {
    auto open = as_int(node.args[0]);
    if (!open || *open < 0) { return fail("`ptx_wait_group`", because(Why::OpenGroupsNotConstant), node.origin); }
    ir_.CreateIntrinsic(llvm::Intrinsic::nvvm_cp_async_wait_group, {}, {ir_.getInt32(static_cast<uint32_t>(*open))});
    return ir_.getInt32(0);
  }
  if (op == "tvm_fill_fragment" || op == "tvm_load_matrix_sync" || op == "tvm_store_matrix_sync" || op == "tvm_mma_sync") {
    return fail(fmt::format("`{}`", op), because(Why::NoMatrixUnits).arg("dialect", "LLVM's code for `nvptx`, unlike the target `cuda`,"), node.origin);
  }
  return nullptr;
}

/// (mask, value, lane or distance, width, warp size): the value of another lane of the segment of `width` lanes, in words of 32 bits.
auto ModuleBuilder::warp_exchange(const Call& node, std::string_view op) -> llvm::Value* {
  auto width = node.args.size() == 5 ? as_int(node.args[3]) : std::nullopt;
  const DataType type = node.dtype;
  if (!width || *width < 1 || *width > 32 || (*width & (*width - 1)) != 0) { return fail(fmt::format("`{}`", op), because(Why::ShuffleWidth), node.origin); }
  if (type.lanes != 1 || type.bits > 64 || type.bits < 8 || type.is_bool() || type.is_handle()) { return fail(fmt::format("`{}` of `{}`", op, type.str()), because(Why::ExchangedScalars), node.origin); }
  llvm::Value* mask = eval(node.args[0]);
  llvm::Value* value = failure_ ? nullptr : eval(node.args[1]);
  llvm::Value* lane = failure_ ? nullptr : eval(node.args[2]);
  if (failure_) { return nullptr; }
  mask = ir_.CreateZExtOrTrunc(mask, ir_.getInt32Ty());
  lane = ir_.CreateSExtOrTrunc(lane, ir_.getInt32Ty());
  const bool is_up = op == "tvm_warp_shuffle_up";
  const llvm::Intrinsic::ID exchange = op == "tvm_warp_shuffle" ? llvm::Intrinsic::nvvm_shfl_sync_idx_i32 : is_up ? llvm::Intrinsic::nvvm_shfl_sync_up_i32 : llvm::Intrinsic::nvvm_shfl_sync_down_i32;
  // PTX ISA, "shfl.sync": the segment's mask in bits 8 to 12, the clamp in bits 0 to 4.
  llvm::Value* segment = ir_.getInt32(static_cast<uint32_t>((32 - *width) << 8 | (is_up ? 0 : 31)));
  llvm::Type* own = value->getType();
  auto bits = static_cast<unsigned>(own->getPrimitiveSizeInBits());
  llvm::Value* word = ir_.CreateZExt(ir_.CreateBitCast(value, ir_.getIntNTy(bits)), ir_.getIntNTy(std::max(bits, 32U)));
  auto of_other = [&](llvm::Value* part) { return ir_.CreateIntrinsic(exchange, {}, {mask, part, lane, segment}); };
  if (bits <= 32) {
    word = ir_.CreateTrunc(of_other(word), ir_.getIntNTy(bits));
  } else {
    llvm::Type* wide = ir_.getInt64Ty();
    llvm::Value* low = ir_.CreateZExt(of_other(ir_.CreateTrunc(word, ir_.getInt32Ty())), wide);
    llvm::Value* high = ir_.CreateZExt(of_other(ir_.CreateTrunc(ir_.CreateLShr(word, 32), ir_.getInt32Ty())), wide);
    word = ir_.CreateOr(low, ir_.CreateShl(high, 32));
  }
  return ir_.CreateBitCast(word, own);
}

/// (to, offset, from, offset, bytes[, predicate]), offsets in elements of the call's type. Where the predicate is false, no byte is read and zeros are written.
auto ModuleBuilder::asynchronous_copy(const Call& node) -> llvm::Value* {
  auto bytes = as_int(node.args[4]);
  if (!bytes || (*bytes != 4 && *bytes != 8 && *bytes != 16)) { return fail("`ptx_cp_async`", because(Why::CopyBytes), node.origin); }
  auto place = [&](size_t at, unsigned space) -> llvm::Value* {
    llvm::Value* memory = eval(node.args[at]);
    llvm::Value* offset = failure_ ? nullptr : eval_index(node.args[at + 1]);
    if (failure_) { return nullptr; }
    return ir_.CreateAddrSpaceCast(ir_.CreateInBoundsGEP(memory_type_of(node.dtype), memory, offset), llvm::PointerType::get(context_, space));
  };
  llvm::Value* to = place(0, 3);
  llvm::Value* from = failure_ ? nullptr : place(2, 1);
  llvm::Value* taken = !failure_ && node.args.size() > 5 ? eval(node.args[5]) : nullptr;
  if (failure_) { return nullptr; }
  struct Copy { int64_t bytes; llvm::Intrinsic::ID plain, with_size; };
  static constexpr std::array copies{Copy{4, llvm::Intrinsic::nvvm_cp_async_ca_shared_global_4, llvm::Intrinsic::nvvm_cp_async_ca_shared_global_4_s},
                                     Copy{8, llvm::Intrinsic::nvvm_cp_async_ca_shared_global_8, llvm::Intrinsic::nvvm_cp_async_ca_shared_global_8_s},
                                     Copy{16, llvm::Intrinsic::nvvm_cp_async_cg_shared_global_16, llvm::Intrinsic::nvvm_cp_async_cg_shared_global_16_s}};
  const Copy& copy = *std::find_if(copies.begin(), copies.end(), [&](const Copy& c) { return c.bytes == *bytes; });
  if (taken == nullptr) {
    ir_.CreateIntrinsic(copy.plain, {}, {to, from});
  } else {
    taken = taken->getType()->isIntegerTy(1) ? taken : ir_.CreateIsNotNull(taken);
    ir_.CreateIntrinsic(copy.with_size, {}, {to, from, ir_.CreateSelect(taken, ir_.getInt32(static_cast<uint32_t>(*bytes)), ir_.getInt32(0))});
  }
  return ir_.getInt32(0);
}

}  // namespace loopsmith::codegen
