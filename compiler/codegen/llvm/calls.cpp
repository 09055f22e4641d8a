// Calls of intrinsics: see builder.h. What LLVM has as an instruction or intrinsic is given to it; exp, log,
// tanh, sigmoid and erf of float32 are our own (maths.cpp), so that they work on vectors; the rest of libm is
// called lane by lane.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "codegen/llvm/builder.h"
#include "ir/ops.h"
#include "ir/reals.h"

namespace loopsmith::codegen {
namespace {

struct Row { std::string_view op; llvm::Intrinsic::ID id; };
constexpr Row unary_intrinsics[] = {
    {"sqrt", llvm::Intrinsic::sqrt},   {"floor", llvm::Intrinsic::floor},     {"ceil", llvm::Intrinsic::ceil},
    {"trunc", llvm::Intrinsic::trunc}, {"round", llvm::Intrinsic::round},     {"nearbyint", llvm::Intrinsic::nearbyint},
    {"rint", llvm::Intrinsic::rint},   {"roundeven", llvm::Intrinsic::roundeven},
};
constexpr std::string_view libm_unary[] = {"exp",  "exp2", "exp10", "expm1", "log",  "log2",  "log10", "log1p", "sin",   "cos",  "tan",
                                           "asin", "acos", "atan",  "sinh",  "cosh", "tanh", "asinh", "acosh", "atanh", "erf",  "erfc", "cbrt", "tgamma", "lgamma"};
constexpr std::string_view libm_binary[] = {"pow", "atan2", "fmod", "hypot", "nextafter"};

/// What the threads of a GPU do together, or ask of a unit that they share.
auto is_of_gpu(std::string_view op) -> bool {
  constexpr std::string_view families[] = {"tvm_warp_", "ptx_", "mma_", "cuda_", "simdgroup_", "make_filled_simdgroup", "tvm_load_matrix", "tvm_store_matrix", "tvm_mma", "tvm_bmma", "tvm_fill_fragment"};
  return std::any_of(std::begin(families), std::end(families), [&](std::string_view family) { return op.starts_with(family); });
}

/// What a host's code does around calls, and memory that only a device's runtime gives; what of it is known was replaced before.
auto is_of_runtime(std::string_view op) -> bool {
  constexpr std::string_view families[] = {"tvm_stack_", "tvm_struct_", "tvm_throw_", "tvm_check_return", "anylist_", "lookup_param", "texture2d_", "nd_mem_alloc", "TVMBackend"};
  return std::any_of(std::begin(families), std::end(families), [&](std::string_view family) { return op.starts_with(family); });
}

auto contains(const auto& list, std::string_view op) -> bool {
  return std::find(std::begin(list), std::end(list), op) != std::end(list);
}

}  // namespace

auto ModuleBuilder::intrinsic_unary(llvm::Intrinsic::ID id, llvm::Value* a) -> llvm::Value* { return ir_.CreateUnaryIntrinsic(id, a); }

auto ModuleBuilder::libm(std::string_view name, DataType dtype, const std::vector<llvm::Value*>& args) -> llvm::Value* {
  if (is_gpu()) { return fail(fmt::format("`{}` of `{}`", name, dtype.element().str()), "a GPU has no C library", {}); }
  const bool is_double = dtype.bits == 64;
  llvm::Type* type = is_double ? ir_.getDoubleTy() : ir_.getFloatTy();
  std::vector<llvm::Type*> types(args.size(), type);
  std::string symbol = std::string(name) + (is_double ? "" : "f");
  llvm::FunctionCallee callee = declare(symbol, type, types);
  auto* function = llvm::cast<llvm::Function>(callee.getCallee());
  function->setDoesNotAccessMemory();
  function->addFnAttr(llvm::Attribute::WillReturn);
  if (dtype.lanes == 1) { return ir_.CreateCall(callee, args); }
  llvm::Value* out = llvm::PoisonValue::get(llvm::FixedVectorType::get(type, dtype.lanes));
  for (uint64_t i = 0; i < dtype.lanes; ++i) {
    std::vector<llvm::Value*> lane;
    for (llvm::Value* arg : args) { lane.push_back(ir_.CreateExtractElement(arg, i)); }
    out = ir_.CreateInsertElement(out, ir_.CreateCall(callee, lane), i);
  }
  return out;
}

auto ModuleBuilder::external(const std::string& name, const Call& node, size_t first_arg) -> llvm::Value* {
  std::vector<llvm::Value*> args;
  std::vector<llvm::Type*> types;
  for (size_t i = first_arg; i < node.args.size(); ++i) {
    args.push_back(eval(node.args[i]));
    if (failure_) { return nullptr; }
    types.push_back(args.back()->getType());
  }
  llvm::Type* result = node.dtype.is_void() ? ir_.getVoidTy() : type_of(node.dtype);
  if (failure_) { return nullptr; }
  llvm::Value* out = ir_.CreateCall(module_.getOrInsertFunction(name, llvm::FunctionType::get(result, types, false)), args);
  return node.dtype.is_void() ? ir_.getInt32(0) : out;
}

auto ModuleBuilder::call(const Call& node) -> llvm::Value* {
  std::string_view op = node.op.view();
  if (op.starts_with("tir.")) { op.remove_prefix(4); }
  const DataType t = node.dtype;
  auto wrong = [&](std::string why) { return fail(fmt::format("`{}`", op), std::move(why), node.origin); };
  auto count_is = [&](size_t n) {
    if (node.args.size() == n) { return true; }
    wrong(fmt::format("it takes {} arguments, {} are given", n, node.args.size()));
    return false;
  };

  if (!is_gpu() && is_of_gpu(op)) {
    return op.starts_with("tvm_warp_shuffle")
               ? wrong("the threads that exchange values here are not those of loops over `threadIdx` around it")
               : wrong("threads of a GPU do that together, or ask it of a unit of theirs: a processor has no such unit. `loopsmith interpret` executes most of them");
  }
  if (is_of_runtime(op)) { return wrong("a runtime does that around a call, or gives that memory, and none is linked. `loopsmith interpret` executes it where the module says what it is"); }
  if (op == "tvm_call_packed" || op == "tvm_call_cpacked") {
    const auto* name = node.args.empty() ? nullptr : node.args[0].as<StringImm>();
    return wrong(fmt::format("the module has no function `{}` that takes these arguments, and packed functions from elsewhere are not linked", name != nullptr ? name->value : std::string()));
  }
  if (op.starts_with("@")) {
    return wrong("a function of the module is compiled where it is called, and this one cannot be: it calls itself, which `loopsmith interpret` executes, returns in a loop whose iterations have no order, is for another target, or does not fit its arguments");
  }
  // Those that do not evaluate all their arguments, or not as values.
  if (op == "if_then_else") {
    return count_is(3) ? choose(node.args[0], node.args[1], node.args[2], t) : nullptr;
  }
  if (op == "likely" || op == "builtin.likely" || op == "ignore_loop_partition") { return count_is(1) ? eval(node.args[0]) : nullptr; }
  if (op == "infinity" && node.args.empty() && is_short_real(t)) { return short_constant(t, std::numeric_limits<double>::infinity()); }
  if (op == "infinity" && node.args.empty() && t.is_float()) { return llvm::ConstantFP::getInfinity(type_of(t)); }
  if (op == "address_of") {
    const auto* place = node.args.empty() ? nullptr : node.args[0].as<BufferLoad>();
    return place != nullptr ? address_of(*place) : wrong("its argument is not an element of a buffer");
  }
  if (op == "tvm_access_ptr" && node.args.size() >= 3) {
    // The element `offset` of memory, as a pointer; how far it is accessed, and how, says nothing to the machine.
    llvm::Value* memory = eval(node.args[1]);
    llvm::Value* offset = failure_ ? nullptr : eval_index(node.args[2]);
    llvm::Type* element = failure_ ? nullptr : memory_type_of(node.args[0].dtype());
    return failure_ ? nullptr : ir_.CreateGEP(element, memory, offset);
  }
  if (op == "call_extern" || op == "call_pure_extern") {
    const auto* name = node.args.empty() ? nullptr : node.args[0].as<StringImm>();
    return name != nullptr ? external(name->value, node, 1) : wrong("its first argument is not the name of a function");
  }
  if (op == "call_llvm_pure_intrin" || op == "call_llvm_intrin") { return machine_instruction(node); }
  if (op == "tvm_storage_sync" && is_gpu()) {
    const auto* scope = node.args.empty() ? nullptr : node.args[0].as<StringImm>();
    // Threads of a warp are in step.
    if (scope == nullptr || scope->value != "warp") { emit_barrier(); }
    return ir_.getInt32(0);
  }
  if (op == "assume") { return ir_.getInt32(0); }
  if (op == "atomic_add") {
    if (!count_is(2)) { return nullptr; }
    if (t.lanes != 1 || t.is_bool() || !(t.is_integral() || (t.is_float() && t.bits >= 32))) { return wrong(fmt::format("there is no code for it with the result `{}`", t.str())); }
    llvm::Value* place = eval(node.args[0]);
    llvm::Value* value = failure_ ? nullptr : eval(node.args[1]);
    if (failure_) { return nullptr; }
    return ir_.CreateAtomicRMW(t.is_float() ? llvm::AtomicRMWInst::FAdd : llvm::AtomicRMWInst::Add, place, value, llvm::MaybeAlign(), llvm::AtomicOrdering::Monotonic);
  }
  if (op == "start_profile_intrinsic" || op == "end_profile_intrinsic") {
    if (!count_is(1)) { return nullptr; }
    llvm::Value* number = eval_index(node.args[0]);
    // Libraries for others have no profiler.
    if (failure_ || !options_.hosted) { return failure_ ? nullptr : ir_.getInt32(0); }
    ir_.CreateCall(declare(op[0] == 's' ? "loopsmith_profile_start" : "loopsmith_profile_end", ir_.getVoidTy(), {ir_.getInt64Ty()}), {number});
    return ir_.getInt32(0);
  }
  if (op == "prefetch" && !node.args.empty()) {
    llvm::Value* pointer = nullptr;
    if (const auto* place = node.args[0].as<BufferLoad>()) { pointer = address_of(*place); } else { pointer = eval(node.args[0]); }
    if (failure_) { return nullptr; }
    std::array<uint32_t, 3> settings = {0, 3, 1};   // read, keep in all levels, data
    for (size_t i = 1; i < node.args.size() && i <= 3; ++i) {
      if (auto v = as_int(node.args[i])) { settings[i - 1] = static_cast<uint32_t>(*v); }
    }
    ir_.CreateIntrinsic(llvm::Intrinsic::prefetch, {pointer->getType()},
                        {pointer, ir_.getInt32(settings[0]), ir_.getInt32(settings[1]), ir_.getInt32(settings[2])});
    return ir_.getInt32(0);
  }

  std::vector<llvm::Value*> args;
  for (const Expr& arg : node.args) {
    llvm::Value* value = eval(arg);
    if (failure_) { return nullptr; }
    args.push_back(splat(value, arg.dtype().lanes == 1 && op != "reinterpret" ? t.lanes : 1));
  }

  if (op == "reinterpret") {
    if (!count_is(1)) { return nullptr; }
    llvm::Type* type = type_of(t);
    if (failure_) { return nullptr; }
    if (type->getPrimitiveSizeInBits() != args[0]->getType()->getPrimitiveSizeInBits()) { return wrong("the types differ in size"); }
    return ir_.CreateBitCast(args[0], type);
  }
  if (op == "ret") {
    stop_with(args.empty() ? ir_.getInt32(0) : ir_.CreateIntCast(args[0], ir_.getInt32Ty(), true));
    ir_.SetInsertPoint(llvm::BasicBlock::Create(context_, "unreached", frame_.function));
    return ir_.getInt32(0);
  }

  // Short reals: in f32, rounded after. The root of two is where e8m0 rounds, which f32 would miss.
  if (is_short_real(t) && !node.args.empty() && is_short_real(node.args[0].dtype())) {
    std::vector<Expr> wide;
    DataType real = DataType::float_(t.code == TypeCode::Float8E8M0FNU ? 64 : 32, t.lanes);
    for (const Expr& arg : node.args) { wide.push_back(is_short_real(arg.dtype()) ? make<Cast>(real.with_lanes(arg.dtype().lanes), arg) : arg); }
    llvm::Value* value = call(*make<Call>(real, node.op, Array<Expr>(wide), node.origin));
    return failure_ ? nullptr : cast(value, real, t, node.origin);
  }

  if (op == "bitwise_and") { return count_is(2) ? ir_.CreateAnd(args[0], args[1]) : nullptr; }
  if (op == "bitwise_or") { return count_is(2) ? ir_.CreateOr(args[0], args[1]) : nullptr; }
  if (op == "bitwise_xor") { return count_is(2) ? ir_.CreateXor(args[0], args[1]) : nullptr; }
  if (op == "bitwise_not") { return count_is(1) ? ir_.CreateNot(args[0]) : nullptr; }
  if (op == "shift_left" || op == "shift_right") {
    if (!count_is(2)) { return nullptr; }
    // Shifting by the width or more gives 0, or the sign; to LLVM it is undefined.
    llvm::Value* last = llvm::ConstantInt::get(args[1]->getType(), static_cast<uint64_t>(t.bits - 1));
    if (op == "shift_right" && t.is_int()) {
      return ir_.CreateAShr(args[0], ir_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, args[1], last));
    }
    llvm::Value* amount = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, args[1], last);
    llvm::Value* shifted = op == "shift_left" ? ir_.CreateShl(args[0], amount) : ir_.CreateLShr(args[0], amount);
    return ir_.CreateSelect(ir_.CreateICmpUGT(args[1], last), llvm::Constant::getNullValue(args[0]->getType()), shifted);
  }
  if (op == "q_multiply_shift_per_axis") {
    // The same with the shifts apart: (x << left) y / 2^(q + right).
    if (!count_is(7)) { return nullptr; }
    if (!t.is_int() || t.bits > 32) { return wrong(fmt::format("there is no code for it with the result `{}`", t.str())); }
    llvm::Type* wide = type_of(DataType::int_(64, t.lanes));
    auto widened = [&](size_t i) { return ir_.CreateSExt(args[i], wide); };
    auto wanted = [&](size_t i) { return ir_.CreateICmpNE(args[i], llvm::Constant::getNullValue(args[i]->getType())); };
    llvm::Value* x = ir_.CreateSelect(wanted(5), ir_.CreateShl(widened(0), widened(2)), widened(0));
    llvm::Value* shift = ir_.CreateSelect(wanted(6), ir_.CreateAdd(widened(4), widened(3)), widened(4));
    llvm::Value* one = llvm::ConstantInt::get(wide, 1);
    llvm::Value* half = ir_.CreateShl(one, ir_.CreateSub(shift, one));
    return ir_.CreateTrunc(ir_.CreateAShr(ir_.CreateAdd(ir_.CreateMul(x, widened(1)), half), shift), type_of(t));
  }
  if (op == "q_multiply_shift") {
    // x y / 2^(q - s), rounded half up, in twice the width: fixed-point multiplication.
    if (!count_is(4)) { return nullptr; }
    if (!t.is_int() || t.bits > 32) { return wrong(fmt::format("there is no code for it with the result `{}`", t.str())); }
    llvm::Type* wide = type_of(DataType::int_(64, t.lanes));
    auto widened = [&](llvm::Value* v) { return ir_.CreateSExt(v, wide); };
    llvm::Value* shift = ir_.CreateSub(widened(args[2]), widened(args[3]));
    llvm::Value* one = llvm::ConstantInt::get(wide, 1);
    llvm::Value* product = ir_.CreateMul(widened(args[0]), widened(args[1]));
    llvm::Value* half = ir_.CreateShl(one, ir_.CreateSub(shift, one));
    return ir_.CreateTrunc(ir_.CreateAShr(ir_.CreateAdd(product, half), shift), type_of(t));
  }
  if (op == "max" || op == "min") {
    return count_is(2) ? arithmetic(op == "max" ? NodeKind::Max : NodeKind::Min, args[0], args[1], t, false, false) : nullptr;
  }
  if (op == "popcount") { return count_is(1) ? ir_.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, args[0]) : nullptr; }
  if (op == "clz") {
    if (!count_is(1)) { return nullptr; }
    llvm::Value* zeros = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, args[0], ir_.getInt1(false));
    return ir_.CreateZExtOrTrunc(zeros, type_of(t));
  }
  if (op == "vectorlow" || op == "vectorhigh") {
    std::vector<int> lanes;
    for (int i = 0; i < t.lanes; ++i) { lanes.push_back(i + (op == "vectorhigh" ? t.lanes : 0)); }
    llvm::Value* value = eval(node.args[0]);
    return failure_ ? nullptr : ir_.CreateShuffleVector(value, lanes);
  }

  if (op == "vectorcombine") {
    if (!count_is(2)) { return nullptr; }
    llvm::Value* low = eval(node.args[0]);
    llvm::Value* high = failure_ ? nullptr : eval(node.args[1]);
    std::vector<int> lanes;
    for (int i = 0; i < t.lanes; ++i) { lanes.push_back(i); }
    return failure_ ? nullptr : ir_.CreateShuffleVector(low, high, lanes);
  }

  // Integers.
  if (t.is_integral() && !t.is_bool()) {
    if (op == "abs" || op == "fabs") {
      if (!count_is(1)) { return nullptr; }
      return t.is_int() ? ir_.CreateBinaryIntrinsic(llvm::Intrinsic::abs, args[0], ir_.getInt1(false)) : args[0];
    }
  }
  if (t.is_bool() && (op == "isnan" || op == "isinf" || op == "isfinite") && count_is(1)) {
    DataType from = node.args[0].dtype();
    if (from.is_integral()) { return splat(ir_.getInt1(op == "isfinite"), t.lanes); }
    llvm::Value* value = is_short_real(from) ? short_to_float(args[0], from) : args[0];
    if (op == "isnan") { return ir_.CreateFCmpUNO(value, value); }
    llvm::Value* magnitude = ir_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, value);
    llvm::Value* infinity = llvm::ConstantFP::getInfinity(value->getType());
    return op == "isinf" ? ir_.CreateFCmpOEQ(magnitude, infinity) : ir_.CreateFCmpONE(magnitude, infinity);
  }
  if (!t.is_float()) { return wrong(fmt::format("there is no code for it with the result `{}`", t.str())); }

  // Reals.
  for (const Row& row : unary_intrinsics) {
    if (row.op == op) { return count_is(1) ? intrinsic_unary(row.id, args[0]) : nullptr; }
  }
  if (op == "abs" || op == "fabs") { return count_is(1) ? intrinsic_unary(llvm::Intrinsic::fabs, args[0]) : nullptr; }
  if (op == "rsqrt") {
    if (!count_is(1)) { return nullptr; }
    return ir_.CreateFDiv(llvm::ConstantFP::get(args[0]->getType(), 1.0), intrinsic_unary(llvm::Intrinsic::sqrt, args[0]));
  }
  if (op == "copysign") { return count_is(2) ? ir_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, args[0], args[1]) : nullptr; }
  if (op == "fma") { return count_is(3) ? ir_.CreateIntrinsic(llvm::Intrinsic::fma, {args[0]->getType()}, args) : nullptr; }
  if (op == "ldexp" && node.args.size() == 2) {
    llvm::Value* exponent = cast(args[1], node.args[1].dtype().with_lanes(t.lanes), DataType::int_(32, t.lanes), node.origin);
    return failure_ ? nullptr : ir_.CreateIntrinsic(llvm::Intrinsic::ldexp, {args[0]->getType(), exponent->getType()}, {args[0], exponent});
  }

  // f16: in f32, rounded after.
  if (t.bits == 16 && std::all_of(node.args.begin(), node.args.end(), [](const Expr& arg) { return arg.dtype().is_real(); })) {
    llvm::Type* half = args.empty() ? nullptr : args[0]->getType();
    std::vector<Expr> wide;
    for (const Expr& arg : node.args) { wide.push_back(make<Cast>(DataType::float_(32, arg.dtype().lanes), arg)); }
    if (half == nullptr) { return wrong("it has no argument"); }
    llvm::Value* value = call(*make<Call>(DataType::float_(32, t.lanes), node.op, Array<Expr>(wide), node.origin));
    return failure_ ? nullptr : ir_.CreateFPTrunc(value, type_of(t));
  }
  if (t.bits == 32 && args.size() == 1) {
    if (op == "exp") { return exp_f32(args[0]); }
    if (op == "log") { return log_f32(args[0]); }
    if (op == "tanh") { return tanh_f32(args[0]); }
    if (op == "sigmoid") { return sigmoid_f32(args[0]); }
    if (op == "erf") { return erf_f32(args[0]); }
  }
  if (op == "sigmoid") {
    if (!count_is(1)) { return nullptr; }
    llvm::Value* one = llvm::ConstantFP::get(args[0]->getType(), 1.0);
    return ir_.CreateFDiv(one, ir_.CreateFAdd(one, libm("exp", t, {ir_.CreateFNeg(args[0])})));
  }
  if (contains(libm_unary, op)) { return count_is(1) ? libm(op, t, args) : nullptr; }
  if (contains(libm_binary, op)) { return count_is(2) ? libm(op, t, args) : nullptr; }
  return wrong("there is no code for it here");
}

}  // namespace loopsmith::codegen
