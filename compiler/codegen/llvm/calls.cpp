// Calls of intrinsics: see builder.h. Three tables list them: `forms` evaluate some or none of their arguments themselves, `functions` take
// values, and `real_functions` take values and compute a real. Loopsmith has its own exp, log, tanh, sigmoid and erf of float32 (maths.cpp),
// which work on vectors; other functions of libm are called lane by lane.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "codegen/llvm/builder.h"
#include "ir/ops.h"
#include "ir/reals.h"
#include "support/reasons.h"
#include "support/text.h"

namespace loopsmith::codegen {
namespace {

/// Intrinsics without code, by the beginning of their names, and the reason.
struct Refusal { std::string_view prefix; Why why = Why::NeedsGpu; };

constexpr Refusal refused_on_processors[] = {
    {"tvm_warp_shuffle", Why::ThreadsNotAround}, {"tvm_warp_"}, {"ptx_"}, {"mma_"}, {"cuda_"}, {"simdgroup_"}, {"make_filled_simdgroup"},
    {"tvm_load_matrix"}, {"tvm_store_matrix"}, {"tvm_mma"}, {"tvm_bmma"}, {"tvm_fill_fragment"}};

/// Host code around calls, and memory that only a device's runtime allocates. Passes have replaced the forms that the module defines.
constexpr std::string_view runtime_families[] = {"tvm_stack_", "tvm_struct_", "tvm_throw_", "tvm_check_return", "anylist_", "lookup_param", "texture2d_", "nd_mem_alloc", "TVMBackend"};

}  // namespace

/// One call while its code is generated.
class CallBuilder {
 public:
  CallBuilder(ModuleBuilder& module, const Call& node) : b_(module), ir_(module.ir_), node_(node), op_(node.op.view()), type_(node.dtype) {
    if (op_.starts_with("tir.")) { op_.remove_prefix(4); }
  }

  auto emit() -> llvm::Value* {
    if (auto why = refusal()) { return wrong(because(*why)); }
    if (op_.starts_with("@")) {
      return wrong(because(Why::CallNotInPlace));
    }
    if (b_.is_nvidia()) {
      Value made = b_.nvidia_call(node_, op_);
      if (made != nullptr || has_failed()) { return made; }
    }
    if (const Row* row = find(forms)) { return apply(*row); }
    if (!evaluate_arguments()) { return nullptr; }
    if (op_ == "reinterpret") { return apply({"reinterpret", 1, 1, &CallBuilder::reinterpret}); }
    if (op_ == "ret") { return apply({"ret", 0, 1, &CallBuilder::ret}); }
    if (is_short_real(type_) && !node_.args.empty() && is_short_real(node_.args[0].dtype())) { return through_wider_real(); }
    if (const Row* row = find(functions)) { return apply(*row); }
    if (type_.is_integral() && !type_.is_bool() && (op_ == "abs" || op_ == "fabs")) { return apply({op_, 1, 1, &CallBuilder::integer_magnitude, llvm::Intrinsic::not_intrinsic, Takes::SameType}); }
    if (type_.is_bool() && (op_ == "isnan" || op_ == "isinf" || op_ == "isfinite")) { return apply({op_, 1, 1, &CallBuilder::classify}); }
    if (!type_.is_float()) { return no_code_for_type(); }
    if (const Row* row = find(real_functions)) { return apply(*row); }
    if (type_.bits == 16 && std::all_of(node_.args.begin(), node_.args.end(), [](const Expr& arg) { return arg.dtype().is_real(); })) { return half_through_float(); }
    const Row* own = type_.bits == 32 && args_.size() == 1 ? find(float_functions) : nullptr;
    if (own == nullptr) { own = find(library_functions); }
    return own != nullptr ? apply(*own) : wrong(because(Why::NoCodeHere));
  }

 private:
  using Value = llvm::Value*;

  /// The types of the arguments of a row.
  enum class Takes : uint8_t { Any, Integers, SameIntegers, SameType, FirstOfSameType };

  /// An intrinsic with the fewest and most arguments that it takes. `id`: LLVM's intrinsic, if nothing else is needed.
  struct Row {
    std::string_view op;
    size_t fewest, most;
    Value (CallBuilder::*emit)();
    llvm::Intrinsic::ID id = llvm::Intrinsic::not_intrinsic;
    Takes takes = Takes::Any;
  };
  static constexpr size_t any = SIZE_MAX;
  static const Row forms[19];
  static const Row functions[15];
  static const Row real_functions[14];
  static const Row float_functions[5];
  static const Row library_functions[31];

  // -- looking up, arguments, failing

  template <size_t N>
  [[nodiscard]] auto find(const Row (&rows)[N]) const -> const Row* {
    const Row* row = std::find_if(rows, rows + N, [&](const Row& r) { return r.op == op_; });
    return row == rows + N ? nullptr : row;
  }

  auto apply(const Row& row) -> Value {
    size_t given = node_.args.size();
    if (given < row.fewest || given > row.most) {
      return wrong(because(Why::TakesArguments).arg("wanted", (row.most == any ? "at least " : "") + count_text(static_cast<int64_t>(row.fewest), "argument")).arg("given", given));
    }
    if (auto why = takes_other_types(row.takes)) { return wrong(*why); }
    id_ = row.id;
    return (this->*row.emit)();
  }

  /// The reason why arguments of these types are refused; none: they are accepted. LLVM crashes at an instruction with operands of other types.
  [[nodiscard]] auto takes_other_types(Takes takes) const -> std::optional<Reason> {
    if (takes == Takes::Any) { return std::nullopt; }
    for (const Expr& arg : node_.args) {
      DataType t = arg.dtype();
      if (takes == Takes::Integers && (!t.is_integral() || !type_.is_integral())) { return because(Why::TakesIntegers); }
      if (takes == Takes::SameIntegers && (!t.is_integral() || t.element() != type_.element())) { return because(Why::TakesSameIntegers); }
      if (takes == Takes::SameType && t.element() != type_.element()) { return because(Why::ArgumentsOfResultType); }
      if (takes == Takes::FirstOfSameType && &arg == &node_.args[0] && t.element() != type_.element()) { return because(Why::FirstOfResultType); }
      if (takes == Takes::FirstOfSameType && &arg != &node_.args[0] && !t.is_integral()) { return because(Why::SecondNotInteger); }
      if (t.lanes != 1 && t.lanes != type_.lanes) { return because(Why::LanesOfResult); }
    }
    return std::nullopt;
  }

  [[nodiscard]] auto refusal() const -> std::optional<Why> {
    if (!b_.is_gpu()) {
      for (const Refusal& r : refused_on_processors) {
        if (op_.starts_with(r.prefix)) { return r.why; }
      }
    }
    bool is_of_runtime = std::any_of(std::begin(runtime_families), std::end(runtime_families), [&](std::string_view family) { return op_.starts_with(family); });
    return is_of_runtime ? std::optional(Why::NeedsRuntime) : std::nullopt;
  }

  auto wrong(const Reason& why) -> Value { return b_.fail(fmt::format("`{}`", op_), why, node_.origin); }
  auto no_code_for_type() -> Value { return wrong(because(Why::NoCodeForResult).arg("dtype", type_.str())); }
  [[nodiscard]] auto has_failed() const -> bool { return b_.failure_.has_value(); }
  /// The value of a call without a result.
  auto nothing() -> Value { return ir_.getInt32(0); }

  auto evaluate_arguments() -> bool {
    for (const Expr& arg : node_.args) {
      Value value = b_.eval(arg);
      if (has_failed()) { return false; }
      bool is_spread = arg.dtype().lanes == 1 && op_ != "reinterpret" && !op_.starts_with("vector");
      args_.push_back(b_.splat(value, is_spread ? type_.lanes : 1));
    }
    return true;
  }

  // -- forms

  auto if_then_else() -> Value { return b_.choose(node_.args[0], node_.args[1], node_.args[2], type_); }
  auto first_argument() -> Value { return b_.eval(node_.args[0]); }

  auto infinity() -> Value {
    if (is_short_real(type_)) { return b_.short_constant(type_, std::numeric_limits<double>::infinity()); }
    return type_.is_float() ? llvm::ConstantFP::getInfinity(b_.type_of(type_)) : no_code_for_type();
  }

  auto address_of() -> Value {
    const auto* place = node_.args[0].as<BufferLoad>();
    return place != nullptr ? b_.address_of(*place) : wrong(because(Why::NotAnElement));
  }

  /// The element `offset` of memory, as a pointer. The machine ignores the extent and the kind of the access.
  auto access_ptr() -> Value {
    Value memory = b_.eval(node_.args[1]);
    Value offset = has_failed() ? nullptr : b_.eval_index(node_.args[2]);
    llvm::Type* element = has_failed() ? nullptr : b_.memory_type_of(node_.args[0].dtype());
    return has_failed() ? nullptr : ir_.CreateGEP(element, memory, offset);
  }

  auto external() -> Value {
    const auto* name = node_.args[0].as<StringImm>();
    return name != nullptr ? b_.external(name->value, node_) : wrong(because(Why::FirstNoFunction));
  }

  auto packed() -> Value {
    const auto* name = node_.args.empty() ? nullptr : node_.args[0].as<StringImm>();
    return wrong(because(Why::NoFunctionToCall).arg("function", name != nullptr ? name->value : std::string()));
  }

  auto machine_instruction() -> Value { return b_.machine_instruction(node_); }
  auto ignored() -> Value { return nothing(); }

  /// A barrier between the threads of a block or of a warp.
  auto barrier() -> Value {
    if (!b_.is_gpu()) { return evaluate_arguments() ? no_code_for_type() : nullptr; }
    const auto* scope = node_.args.empty() ? nullptr : node_.args[0].as<StringImm>();
    b_.emit_barrier(scope != nullptr && scope->value == "warp");
    return nothing();
  }

  auto atomic_add() -> Value {
    if (type_.lanes != 1 || type_.is_bool() || !(type_.is_integral() || (type_.is_float() && type_.bits >= 32))) { return no_code_for_type(); }
    Value place = b_.eval(node_.args[0]);
    Value value = has_failed() ? nullptr : b_.eval(node_.args[1]);
    if (has_failed()) { return nullptr; }
    auto operation = type_.is_float() ? llvm::AtomicRMWInst::FAdd : llvm::AtomicRMWInst::Add;
    return ir_.CreateAtomicRMW(operation, place, value, llvm::MaybeAlign(), llvm::AtomicOrdering::Monotonic);
  }

  /// A call of the profiler, which libraries built for other programs do not have.
  auto profile() -> Value {
    Value number = b_.eval_index(node_.args[0]);
    if (has_failed() || !b_.options_.hosted) { return has_failed() ? nullptr : nothing(); }
    const char* function = op_.starts_with("start") ? "loopsmith_profile_start" : "loopsmith_profile_end";
    ir_.CreateCall(b_.declare(function, ir_.getVoidTy(), {ir_.getInt64Ty()}), {number});
    return nothing();
  }

  auto prefetch() -> Value {
    const auto* place = node_.args[0].as<BufferLoad>();
    Value pointer = place != nullptr ? b_.address_of(*place) : b_.eval(node_.args[0]);
    if (has_failed()) { return nullptr; }
    std::array<uint32_t, 3> settings = {0, 3, 1};   // read, keep in all levels, data
    for (size_t i = 1; i < node_.args.size() && i <= 3; ++i) {
      if (auto v = as_int(node_.args[i])) { settings[i - 1] = static_cast<uint32_t>(*v); }
    }
    ir_.CreateIntrinsic(llvm::Intrinsic::prefetch, {pointer->getType()}, {pointer, ir_.getInt32(settings[0]), ir_.getInt32(settings[1]), ir_.getInt32(settings[2])});
    return nothing();
  }

  // -- functions of any type

  auto reinterpret() -> Value {
    llvm::Type* type = b_.type_of(type_);
    if (has_failed()) { return nullptr; }
    if (type_.is_handle() != node_.args[0].dtype().is_handle() || type_.is_void()) { return wrong(because(Why::PointerNoNumber)); }
    if (type->getPrimitiveSizeInBits() != args_[0]->getType()->getPrimitiveSizeInBits()) { return wrong(because(Why::TypesDifferInSize)); }
    return ir_.CreateBitCast(args_[0], type);
  }

  auto ret() -> Value {
    if (!args_.empty() && (!node_.args[0].dtype().is_integral() || node_.args[0].dtype().is_vector())) {
      return wrong(because(Why::ReturnsStatus).arg("dtype", node_.args[0].dtype().str()));
    }
    b_.stop_with(args_.empty() ? nothing() : ir_.CreateIntCast(args_[0], ir_.getInt32Ty(), true));
    ir_.SetInsertPoint(llvm::BasicBlock::Create(b_.context_, "unreached", b_.frame_.function));
    return nothing();
  }

  /// A short real: computed in float32 and rounded after. float8_e8m0fnu goes through float64: it rounds at the root of two, which
  /// float32 would miss.
  auto through_wider_real() -> Value {
    DataType real = DataType::float_(type_.code == TypeCode::Float8E8M0FNU ? 64 : 32, type_.lanes);
    std::vector<Expr> wide;
    for (const Expr& arg : node_.args) { wide.push_back(is_short_real(arg.dtype()) ? make<Cast>(real.with_lanes(arg.dtype().lanes), arg) : arg); }
    Value value = b_.call(*make<Call>(real, node_.op, Array<Expr>(wide), node_.origin));
    return has_failed() ? nullptr : b_.cast(value, real, type_, node_.origin);
  }

  auto bitwise_and() -> Value { return ir_.CreateAnd(args_[0], args_[1]); }
  auto bitwise_or() -> Value { return ir_.CreateOr(args_[0], args_[1]); }
  auto bitwise_xor() -> Value { return ir_.CreateXor(args_[0], args_[1]); }
  auto bitwise_not() -> Value { return ir_.CreateNot(args_[0]); }

  /// Shifting by the width or more gives 0, or the sign; LLVM leaves it undefined.
  auto shift() -> Value {
    Value last = llvm::ConstantInt::get(args_[1]->getType(), static_cast<uint64_t>(type_.bits - 1));
    Value amount = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, args_[1], last);
    if (op_ == "shift_right" && type_.is_int()) { return ir_.CreateAShr(args_[0], amount); }
    Value shifted = op_ == "shift_left" ? ir_.CreateShl(args_[0], amount) : ir_.CreateLShr(args_[0], amount);
    return ir_.CreateSelect(ir_.CreateICmpUGT(args_[1], last), llvm::Constant::getNullValue(args_[0]->getType()), shifted);
  }

  /// (product + 2^(shift - 1)) >> shift in 64 bits: half is rounded up.
  auto rounding_shift(Value product, Value shift) -> Value {
    // The interpreter takes the nearest shift that exists, too; a constant shift costs nothing.
    Value one = llvm::ConstantInt::get(product->getType(), 1), none = llvm::ConstantInt::get(product->getType(), 0);
    shift = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, shift, none), llvm::ConstantInt::get(product->getType(), 63));
    Value half = ir_.CreateLShr(ir_.CreateShl(one, shift), one);
    return ir_.CreateTrunc(ir_.CreateAShr(ir_.CreateAdd(product, half), shift), b_.type_of(type_));
  }

  /// Fixed-point multiplication: x y / 2^(q - s).
  auto multiply_shift() -> Value {
    if (!type_.is_int() || type_.bits > 32) { return no_code_for_type(); }
    llvm::Type* wide = b_.type_of(DataType::int_(64, type_.lanes));
    auto widened = [&](size_t i) { return ir_.CreateSExt(args_[i], wide); };
    return rounding_shift(ir_.CreateMul(widened(0), widened(1)), ir_.CreateSub(widened(2), widened(3)));
  }

  /// Fixed-point multiplication with separate shifts: (x << left) y / 2^(q + right).
  auto multiply_shift_per_axis() -> Value {
    if (!type_.is_int() || type_.bits > 32) { return no_code_for_type(); }
    llvm::Type* wide = b_.type_of(DataType::int_(64, type_.lanes));
    auto widened = [&](size_t i) { return ir_.CreateSExt(args_[i], wide); };
    auto is_wanted = [&](size_t i) { return ir_.CreateICmpNE(args_[i], llvm::Constant::getNullValue(args_[i]->getType())); };
    Value x = ir_.CreateSelect(is_wanted(5), ir_.CreateShl(widened(0), widened(2)), widened(0));
    Value shift = ir_.CreateSelect(is_wanted(6), ir_.CreateAdd(widened(4), widened(3)), widened(4));
    return rounding_shift(ir_.CreateMul(x, widened(1)), shift);
  }

  auto max_or_min() -> Value { return b_.arithmetic(op_ == "max" ? NodeKind::Max : NodeKind::Min, args_[0], args_[1], type_, false, false); }
  auto popcount() -> Value { return ir_.CreateZExtOrTrunc(ir_.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, args_[0]), b_.type_of(type_)); }
  auto leading_zeros() -> Value {
    Value zeros = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, args_[0], ir_.getInt1(false));
    return ir_.CreateZExtOrTrunc(zeros, b_.type_of(type_));
  }

  /// `type_.lanes` lanes of the arguments, in order, from the given one on.
  auto lanes_from(int first) -> Value {
    int given = 0;
    for (const Expr& arg : node_.args) {
      if (arg.dtype().is_scalar() || arg.dtype().element() != type_.element() || arg.dtype() != node_.args[0].dtype()) { return wrong(because(Why::ArgumentsNotVectors)); }
      given += arg.dtype().lanes;
    }
    if (type_.is_scalar() || first + type_.lanes > given) { return wrong(because(Why::ResultLanes).arg("found", type_.lanes).arg("given", given)); }
    std::vector<int> lanes;
    for (int i = 0; i < type_.lanes; ++i) { lanes.push_back(first + i); }
    return args_.size() == 2 ? ir_.CreateShuffleVector(args_[0], args_[1], lanes) : ir_.CreateShuffleVector(args_[0], lanes);
  }
  auto low_lanes() -> Value { return lanes_from(0); }
  auto high_lanes() -> Value { return lanes_from(type_.lanes); }

  auto integer_magnitude() -> Value { return type_.is_int() ? ir_.CreateBinaryIntrinsic(llvm::Intrinsic::abs, args_[0], ir_.getInt1(false)) : args_[0]; }

  /// isnan, isinf, isfinite.
  auto classify() -> Value {
    DataType from = node_.args[0].dtype();
    if (from.is_integral()) { return b_.splat(ir_.getInt1(op_ == "isfinite"), type_.lanes); }
    Value value = is_short_real(from) ? b_.short_to_float(args_[0], from) : args_[0];
    if (op_ == "isnan") { return ir_.CreateFCmpUNO(value, value); }
    Value magnitude = ir_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, value);
    Value infinity = llvm::ConstantFP::getInfinity(value->getType());
    return op_ == "isinf" ? ir_.CreateFCmpOEQ(magnitude, infinity) : ir_.CreateFCmpONE(magnitude, infinity);
  }

  // -- functions of reals

  auto unary_intrinsic() -> Value { return ir_.CreateUnaryIntrinsic(id_, args_[0]); }
  auto copysign() -> Value { return ir_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, args_[0], args_[1]); }
  auto fused_multiply_add() -> Value { return ir_.CreateIntrinsic(llvm::Intrinsic::fma, {args_[0]->getType()}, args_); }
  auto reciprocal_root() -> Value {
    return ir_.CreateFDiv(llvm::ConstantFP::get(args_[0]->getType(), 1.0), ir_.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, args_[0]));
  }
  auto ldexp() -> Value {
    Value exponent = b_.cast(args_[1], node_.args[1].dtype().with_lanes(type_.lanes), DataType::int_(32, type_.lanes), node_.origin);
    return has_failed() ? nullptr : ir_.CreateIntrinsic(llvm::Intrinsic::ldexp, {args_[0]->getType(), exponent->getType()}, {args_[0], exponent});
  }

  /// float16: computed in float32 and rounded after.
  auto half_through_float() -> Value {
    if (args_.empty()) { return wrong(because(Why::NoArgument)); }
    std::vector<Expr> wide;
    for (const Expr& arg : node_.args) { wide.push_back(make<Cast>(DataType::float_(32, arg.dtype().lanes), arg)); }
    Value value = b_.call(*make<Call>(DataType::float_(32, type_.lanes), node_.op, Array<Expr>(wide), node_.origin));
    return has_failed() ? nullptr : ir_.CreateFPTrunc(value, b_.type_of(type_));
  }

  auto own_exp() -> Value { return b_.exp_f32(args_[0]); }
  auto own_log() -> Value { return b_.log_f32(args_[0]); }
  auto own_tanh() -> Value { return b_.tanh_f32(args_[0]); }
  auto own_sigmoid() -> Value { return b_.sigmoid_f32(args_[0]); }
  auto own_erf() -> Value { return b_.erf_f32(args_[0]); }

  auto sigmoid() -> Value {
    Value one = llvm::ConstantFP::get(args_[0]->getType(), 1.0);
    return ir_.CreateFDiv(one, ir_.CreateFAdd(one, b_.libm("exp", type_, {ir_.CreateFNeg(args_[0])})));
  }
  auto library() -> Value { return b_.libm(op_, type_, args_); }

  ModuleBuilder& b_;
  llvm::IRBuilder<>& ir_;
  const Call& node_;
  std::string_view op_;
  const DataType type_;
  std::vector<Value> args_;
  llvm::Intrinsic::ID id_ = llvm::Intrinsic::not_intrinsic;
};

const CallBuilder::Row CallBuilder::forms[] = {
    {"if_then_else", 3, 3, &CallBuilder::if_then_else},
    {"likely", 1, 1, &CallBuilder::first_argument},
    {"builtin.likely", 1, 1, &CallBuilder::first_argument},
    {"ignore_loop_partition", 1, 1, &CallBuilder::first_argument},
    {"infinity", 0, any, &CallBuilder::infinity},
    {"address_of", 1, any, &CallBuilder::address_of},
    {"tvm_access_ptr", 3, any, &CallBuilder::access_ptr},
    {"call_extern", 1, any, &CallBuilder::external},
    {"call_pure_extern", 1, any, &CallBuilder::external},
    {"tvm_call_packed", 0, any, &CallBuilder::packed},
    {"tvm_call_cpacked", 0, any, &CallBuilder::packed},
    {"call_llvm_pure_intrin", 0, any, &CallBuilder::machine_instruction},
    {"call_llvm_intrin", 0, any, &CallBuilder::machine_instruction},
    {"tvm_storage_sync", 0, any, &CallBuilder::barrier},
    {"assume", 0, any, &CallBuilder::ignored},
    {"atomic_add", 2, 2, &CallBuilder::atomic_add},
    {"start_profile_intrinsic", 1, 1, &CallBuilder::profile},
    {"end_profile_intrinsic", 1, 1, &CallBuilder::profile},
    {"prefetch", 1, any, &CallBuilder::prefetch},
};

const CallBuilder::Row CallBuilder::functions[] = {
    {"bitwise_and", 2, 2, &CallBuilder::bitwise_and, llvm::Intrinsic::not_intrinsic, Takes::SameIntegers},
    {"bitwise_or", 2, 2, &CallBuilder::bitwise_or, llvm::Intrinsic::not_intrinsic, Takes::SameIntegers},
    {"bitwise_xor", 2, 2, &CallBuilder::bitwise_xor, llvm::Intrinsic::not_intrinsic, Takes::SameIntegers},
    {"bitwise_not", 1, 1, &CallBuilder::bitwise_not, llvm::Intrinsic::not_intrinsic, Takes::SameIntegers},
    {"shift_left", 2, 2, &CallBuilder::shift, llvm::Intrinsic::not_intrinsic, Takes::SameIntegers},
    {"shift_right", 2, 2, &CallBuilder::shift, llvm::Intrinsic::not_intrinsic, Takes::SameIntegers},
    {"q_multiply_shift", 4, 4, &CallBuilder::multiply_shift, llvm::Intrinsic::not_intrinsic, Takes::Integers},
    {"q_multiply_shift_per_axis", 7, 7, &CallBuilder::multiply_shift_per_axis, llvm::Intrinsic::not_intrinsic, Takes::Integers},
    {"max", 2, 2, &CallBuilder::max_or_min, llvm::Intrinsic::not_intrinsic, Takes::SameType},
    {"min", 2, 2, &CallBuilder::max_or_min, llvm::Intrinsic::not_intrinsic, Takes::SameType},
    {"popcount", 1, 1, &CallBuilder::popcount, llvm::Intrinsic::not_intrinsic, Takes::Integers},
    {"clz", 1, 1, &CallBuilder::leading_zeros, llvm::Intrinsic::not_intrinsic, Takes::Integers},
    {"vectorlow", 1, 1, &CallBuilder::low_lanes},
    {"vectorhigh", 1, 1, &CallBuilder::high_lanes},
    {"vectorcombine", 2, 2, &CallBuilder::low_lanes},
};

const CallBuilder::Row CallBuilder::real_functions[] = {
    {"sqrt", 1, 1, &CallBuilder::unary_intrinsic, llvm::Intrinsic::sqrt, Takes::SameType},
    {"floor", 1, 1, &CallBuilder::unary_intrinsic, llvm::Intrinsic::floor, Takes::SameType},
    {"ceil", 1, 1, &CallBuilder::unary_intrinsic, llvm::Intrinsic::ceil, Takes::SameType},
    {"trunc", 1, 1, &CallBuilder::unary_intrinsic, llvm::Intrinsic::trunc, Takes::SameType},
    {"round", 1, 1, &CallBuilder::unary_intrinsic, llvm::Intrinsic::round, Takes::SameType},
    {"nearbyint", 1, 1, &CallBuilder::unary_intrinsic, llvm::Intrinsic::nearbyint, Takes::SameType},
    {"rint", 1, 1, &CallBuilder::unary_intrinsic, llvm::Intrinsic::rint, Takes::SameType},
    {"roundeven", 1, 1, &CallBuilder::unary_intrinsic, llvm::Intrinsic::roundeven, Takes::SameType},
    {"abs", 1, 1, &CallBuilder::unary_intrinsic, llvm::Intrinsic::fabs, Takes::SameType},
    {"fabs", 1, 1, &CallBuilder::unary_intrinsic, llvm::Intrinsic::fabs, Takes::SameType},
    {"rsqrt", 1, 1, &CallBuilder::reciprocal_root, llvm::Intrinsic::not_intrinsic, Takes::SameType},
    {"copysign", 2, 2, &CallBuilder::copysign, llvm::Intrinsic::not_intrinsic, Takes::SameType},
    {"fma", 3, 3, &CallBuilder::fused_multiply_add, llvm::Intrinsic::not_intrinsic, Takes::SameType},
    {"ldexp", 2, 2, &CallBuilder::ldexp, llvm::Intrinsic::not_intrinsic, Takes::FirstOfSameType},
};

const CallBuilder::Row CallBuilder::float_functions[] = {
    {"exp", 1, 1, &CallBuilder::own_exp, llvm::Intrinsic::not_intrinsic, Takes::SameType},
    {"log", 1, 1, &CallBuilder::own_log, llvm::Intrinsic::not_intrinsic, Takes::SameType},
    {"tanh", 1, 1, &CallBuilder::own_tanh, llvm::Intrinsic::not_intrinsic, Takes::SameType},
    {"sigmoid", 1, 1, &CallBuilder::own_sigmoid, llvm::Intrinsic::not_intrinsic, Takes::SameType},
    {"erf", 1, 1, &CallBuilder::own_erf, llvm::Intrinsic::not_intrinsic, Takes::SameType},
};

#define LIBRARY(name, count) {name, count, count, &CallBuilder::library, llvm::Intrinsic::not_intrinsic, Takes::SameType}
const CallBuilder::Row CallBuilder::library_functions[] = {
    {"sigmoid", 1, 1, &CallBuilder::sigmoid, llvm::Intrinsic::not_intrinsic, Takes::SameType},
    LIBRARY("exp", 1), LIBRARY("exp2", 1), LIBRARY("exp10", 1), LIBRARY("expm1", 1), LIBRARY("log", 1), LIBRARY("log2", 1), LIBRARY("log10", 1), LIBRARY("log1p", 1),
    LIBRARY("sin", 1), LIBRARY("cos", 1), LIBRARY("tan", 1), LIBRARY("asin", 1), LIBRARY("acos", 1), LIBRARY("atan", 1), LIBRARY("sinh", 1), LIBRARY("cosh", 1),
    LIBRARY("tanh", 1), LIBRARY("asinh", 1), LIBRARY("acosh", 1), LIBRARY("atanh", 1), LIBRARY("erf", 1), LIBRARY("erfc", 1), LIBRARY("cbrt", 1), LIBRARY("tgamma", 1),
    LIBRARY("lgamma", 1), LIBRARY("pow", 2), LIBRARY("atan2", 2), LIBRARY("fmod", 2), LIBRARY("hypot", 2), LIBRARY("nextafter", 2)};
#undef LIBRARY

auto ModuleBuilder::call(const Call& node) -> llvm::Value* { return CallBuilder(*this, node).emit(); }

auto ModuleBuilder::libm(std::string_view name, DataType dtype, const std::vector<llvm::Value*>& args) -> llvm::Value* {
  if (is_gpu() || options_.without_c_library) {
    llvm::Value* made = dtype.bits == 32 ? gpu_function(name, args) : nullptr;
    return made != nullptr ? made : fail(fmt::format("`{}` of `{}`", name, dtype.element().str()), because(Why::NoCLibrary), {});
  }
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

}  // namespace loopsmith::codegen
