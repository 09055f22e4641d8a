// Functions of float32 for GPUs, which have no C library: in terms of the functions in maths.cpp where these lose no precision, else in float64, with
// Taylor series over reduced ranges. Errors are a few units in the last place; sin, cos and tan lose precision above 10^9.
#include <numbers>

#include "codegen/llvm/builder.h"

namespace loopsmith::codegen {
namespace {

constexpr double ln2 = std::numbers::ln2;

}  // namespace

/// Truncates to an int32; out of range the nearest one, and 0 for NaN.
auto ModuleBuilder::to_int(llvm::Value* x) -> llvm::Value* {
  llvm::Type* ints = x->getType()->getWithNewType(ir_.getInt32Ty());
  return ir_.CreateIntrinsic(llvm::Intrinsic::fptosi_sat, {ints, x->getType()}, {x});
}
auto ModuleBuilder::nearest(llvm::Value* x) -> llvm::Value* { return ir_.CreateUnaryIntrinsic(llvm::Intrinsic::rint, x); }
/// The value within bounds; NaN stays.
auto ModuleBuilder::bounded(llvm::Value* x, double low, double high) -> llvm::Value* {
  llvm::Value *least = real(x->getType(), low), *most = real(x->getType(), high);
  x = ir_.CreateSelect(ir_.CreateFCmpOLT(x, least), least, x);
  return ir_.CreateSelect(ir_.CreateFCmpOGT(x, most), most, x);
}
auto ModuleBuilder::is_infinite(llvm::Value* x) -> llvm::Value* {
  return ir_.CreateFCmpOEQ(ir_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x), llvm::ConstantFP::getInfinity(x->getType()));
}

/// y 2^n for a whole number n of float32, as two factors: n may exceed the exponents of normal numbers.
auto ModuleBuilder::times_power(llvm::Value* y, llvm::Value* n) -> llvm::Value* {
  llvm::Type* type = y->getType();
  llvm::Value* whole = to_int(n);
  auto integer = [&](int v) { return llvm::ConstantInt::get(whole->getType(), static_cast<uint64_t>(v), true); };
  llvm::Value* half = ir_.CreateAShr(whole, integer(1));
  auto power = [&](llvm::Value* e) { return ir_.CreateBitCast(ir_.CreateShl(ir_.CreateAdd(e, integer(127)), integer(23)), type); };
  return ir_.CreateFMul(ir_.CreateFMul(y, power(half)), power(ir_.CreateSub(whole, half)));
}

auto ModuleBuilder::gpu_exp2(llvm::Value* x) -> llvm::Value* {
  x = bounded(x, -151, 129);
  llvm::Value* n = nearest(x);
  return times_power(exp_f32(ir_.CreateFMul(ir_.CreateFSub(x, n), real(x->getType(), ln2))), n);
}

auto ModuleBuilder::gpu_exp10(llvm::Value* x) -> llvm::Value* {
  llvm::Type* type = x->getType();
  x = bounded(x, -46, 39);
  llvm::Value* n = nearest(ir_.CreateFMul(x, real(type, std::numbers::ln10 / ln2)));
  // log10(2) in two parts, the first exact when multiplied by a small integer.
  llvm::Value* r = muladd(n, real(type, -0.301025390625), x);
  r = muladd(n, real(type, -4.6050389811952137e-6), r);
  return times_power(exp_f32(ir_.CreateFMul(r, real(type, std::numbers::ln10))), n);
}

/// log(1 + x) = log(u) x / (u - 1) with u = 1 + x rounded: the quotient takes back the rounding.
auto ModuleBuilder::gpu_log1p(llvm::Value* x) -> llvm::Value* {
  llvm::Value* one = real(x->getType(), 1.0);
  llvm::Value* u = ir_.CreateFAdd(x, one);
  llvm::Value* difference = ir_.CreateFSub(u, one);
  llvm::Value* log = log_f32(u);
  llvm::Value* corrected = ir_.CreateFMul(log, ir_.CreateFDiv(x, difference));
  // -1 and infinity.
  corrected = ir_.CreateSelect(is_infinite(log), log, corrected);
  return ir_.CreateSelect(ir_.CreateFCmpOEQ(difference, real(x->getType(), 0.0)), x, corrected);
}

/// exp(x) - 1 = (u - 1) x / log(u) with u = exp(x) rounded.
auto ModuleBuilder::gpu_expm1(llvm::Value* x) -> llvm::Value* {
  llvm::Value* one = real(x->getType(), 1.0);
  llvm::Value* u = exp_f32(x);
  llvm::Value* difference = ir_.CreateFSub(u, one);
  llvm::Value* corrected = ir_.CreateFMul(difference, ir_.CreateFDiv(x, log_f32(u)));
  llvm::Value* is_far = ir_.CreateFCmpOGT(ir_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x), one);
  corrected = ir_.CreateSelect(is_far, difference, corrected);
  return ir_.CreateSelect(ir_.CreateFCmpOEQ(u, one), x, corrected);
}

/// Above 20 both are e^|x| / 2, as a product that overflows only where the result does: an argument |x| - ln 2 would be rounded.
auto ModuleBuilder::gpu_sinh(llvm::Value* x) -> llvm::Value* {
  llvm::Type* type = x->getType();
  llvm::Value* magnitude = ir_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
  llvm::Value* grown = gpu_expm1(magnitude);
  llvm::Value* root = exp_f32(ir_.CreateFMul(magnitude, real(type, 0.5)));
  llvm::Value* large = ir_.CreateFMul(ir_.CreateFMul(root, real(type, 0.5)), root);
  llvm::Value* small = ir_.CreateFMul(real(type, 0.5), ir_.CreateFAdd(grown, ir_.CreateFDiv(grown, ir_.CreateFAdd(grown, real(type, 1.0)))));
  llvm::Value* out = ir_.CreateSelect(ir_.CreateFCmpOGT(magnitude, real(type, 20.0)), large, small);
  return ir_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, out, x);
}
auto ModuleBuilder::gpu_cosh(llvm::Value* x) -> llvm::Value* {
  llvm::Type* type = x->getType();
  llvm::Value* magnitude = ir_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
  llvm::Value* root = exp_f32(ir_.CreateFMul(magnitude, real(type, 0.5)));
  llvm::Value* large = ir_.CreateFMul(ir_.CreateFMul(root, real(type, 0.5)), root);
  llvm::Value* half = ir_.CreateFMul(real(type, 0.5), exp_f32(bounded(magnitude, 0, 80)));
  llvm::Value* small = ir_.CreateFAdd(half, ir_.CreateFDiv(real(type, 0.25), half));
  return ir_.CreateSelect(ir_.CreateFCmpOGT(magnitude, real(type, 20.0)), large, small);
}

/// sin and cos of x = n pi/2 + r, |r| <= pi/4, by their series in float64. `shift`: quarters of a turn that are added.
auto ModuleBuilder::gpu_sine(llvm::Value* given, int shift) -> llvm::Value* {
  llvm::Type* type = given->getType()->getWithNewType(ir_.getDoubleTy());
  llvm::Value* x = ir_.CreateFPExt(given, type);
  llvm::Value* n = nearest(ir_.CreateFMul(x, real(type, 2 / std::numbers::pi)));
  // pi/2 in two parts.
  llvm::Value* r = muladd(n, real(type, -1.5707963267948966), x);
  r = muladd(n, real(type, -6.123233995736766e-17), r);
  llvm::Value* square = ir_.CreateFMul(r, r);
  llvm::Value* sine = ir_.CreateFMul(r, polynomial(square, {-1.0 / 39916800, 1.0 / 362880, -1.0 / 5040, 1.0 / 120, -1.0 / 6, 1.0}));
  llvm::Value* cosine = polynomial(square, {-1.0 / 3628800, 1.0 / 40320, -1.0 / 720, 1.0 / 24, -0.5, 1.0});
  llvm::Value* whole = to_int(n);
  auto integer = [&](int v) { return llvm::ConstantInt::get(whole->getType(), static_cast<uint64_t>(v), true); };
  llvm::Value* quarter = ir_.CreateAnd(ir_.CreateAdd(whole, integer(shift)), integer(3));
  llvm::Value* is_cosine = ir_.CreateICmpNE(ir_.CreateAnd(quarter, integer(1)), integer(0));
  llvm::Value* out = ir_.CreateSelect(is_cosine, cosine, sine);
  out = ir_.CreateSelect(ir_.CreateICmpUGE(quarter, integer(2)), ir_.CreateFNeg(out), out);
  return ir_.CreateFPTrunc(out, given->getType());
}

/// exp(y log|x|) in float64, and the cases that C lists for signs, zeros and infinities.
auto ModuleBuilder::gpu_pow(llvm::Value* base, llvm::Value* exponent) -> llvm::Value* {
  llvm::Type* narrow = base->getType();
  llvm::Type* type = narrow->getWithNewType(ir_.getDoubleTy());
  llvm::Type* longs = narrow->getWithNewType(ir_.getInt64Ty());
  auto integer = [&](int64_t v) { return llvm::ConstantInt::get(longs, static_cast<uint64_t>(v), true); };
  llvm::Value *one = real(type, 1.0), *zero = real(type, 0.0), *infinity = llvm::ConstantFP::getInfinity(type);
  llvm::Value *x = ir_.CreateFPExt(base, type), *y = ir_.CreateFPExt(exponent, type);
  llvm::Value* magnitude = ir_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
  // |x| = 2^e m, m in [sqrt(1/2), sqrt 2); log m = 2 (s + s^3/3 + ...), s = (m - 1) / (m + 1). Every float32 is a normal float64.
  llvm::Value* from_root = ir_.CreateSub(ir_.CreateBitCast(magnitude, longs), integer(0x3fe6a09e667f3bcd));
  llvm::Value* e = ir_.CreateAShr(from_root, integer(52));
  llvm::Value* m = ir_.CreateBitCast(ir_.CreateSub(ir_.CreateBitCast(magnitude, longs), ir_.CreateShl(e, integer(52))), type);
  llvm::Value* s = ir_.CreateFDiv(ir_.CreateFSub(m, one), ir_.CreateFAdd(m, one));
  llvm::Value* series = polynomial(ir_.CreateFMul(s, s), {2.0 / 15, 2.0 / 13, 2.0 / 11, 2.0 / 9, 2.0 / 7, 2.0 / 5, 2.0 / 3, 2.0});
  llvm::Value* log = muladd(ir_.CreateSIToFP(e, type), real(type, ln2), ir_.CreateFMul(s, series));
  // exp(t) = 2^n exp(r), |r| <= ln 2 / 2.
  llvm::Value* t = bounded(ir_.CreateFMul(y, log), -200, 200);
  llvm::Value* n = nearest(ir_.CreateFMul(t, real(type, 1 / ln2)));
  llvm::Value* r = muladd(n, real(type, -ln2), t);
  llvm::Value* grown = polynomial(r, {1.0 / 3628800, 1.0 / 362880, 1.0 / 40320, 1.0 / 5040, 1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5, 1.0, 1.0});
  llvm::Value* power = ir_.CreateShl(ir_.CreateAdd(ir_.CreateSExt(to_int(n), longs), integer(1023)), integer(52));
  llvm::Value* out = ir_.CreateFMul(grown, ir_.CreateBitCast(power, type));
  llvm::Value* is_edge = ir_.CreateOr(ir_.CreateFCmpOEQ(magnitude, zero), ir_.CreateFCmpOEQ(magnitude, infinity));
  llvm::Value* grows = ir_.CreateICmpEQ(ir_.CreateFCmpOGT(magnitude, one), ir_.CreateFCmpOGT(y, zero));
  out = ir_.CreateSelect(ir_.CreateAnd(is_edge, ir_.CreateFCmpONE(y, zero)), ir_.CreateSelect(grows, infinity, zero), out);
  // A negative base: odd powers are negative, and those of no whole number are not defined.
  llvm::Value* is_whole = ir_.CreateFCmpOEQ(ir_.CreateUnaryIntrinsic(llvm::Intrinsic::trunc, y), y);
  llvm::Value* half = ir_.CreateFMul(y, real(type, 0.5));
  llvm::Value* is_odd = ir_.CreateAnd(is_whole, ir_.CreateFCmpONE(ir_.CreateUnaryIntrinsic(llvm::Intrinsic::trunc, half), half));
  llvm::Value* is_negative = ir_.CreateICmpSLT(ir_.CreateBitCast(x, longs), integer(0));
  out = ir_.CreateSelect(ir_.CreateAnd(is_negative, is_odd), ir_.CreateFNeg(out), out);
  llvm::Value* is_undefined = ir_.CreateAnd(ir_.CreateAnd(ir_.CreateFCmpOLT(x, zero), ir_.CreateNot(is_whole)), ir_.CreateFCmpONE(magnitude, infinity));
  out = ir_.CreateSelect(is_undefined, llvm::ConstantFP::getQNaN(type), out);
  llvm::Value* is_one = ir_.CreateOr(ir_.CreateOr(ir_.CreateFCmpOEQ(x, one), ir_.CreateFCmpOEQ(y, zero)), ir_.CreateAnd(ir_.CreateFCmpOEQ(magnitude, one), is_infinite(y)));
  llvm::Value* is_nan = ir_.CreateFCmpUNO(x, y);
  return ir_.CreateFPTrunc(ir_.CreateSelect(is_one, one, ir_.CreateSelect(is_nan, llvm::ConstantFP::getQNaN(type), out)), narrow);
}

auto ModuleBuilder::gpu_function(std::string_view name, const std::vector<llvm::Value*>& args) -> llvm::Value* {
  llvm::Value* x = args[0];
  llvm::Type* type = x->getType();
  if (name == "exp") { return exp_f32(x); }
  if (name == "exp2") { return gpu_exp2(x); }
  if (name == "exp10") { return gpu_exp10(x); }
  if (name == "expm1") { return gpu_expm1(x); }
  if (name == "log2") { return ir_.CreateFMul(log_f32(x), real(type, std::numbers::log2e)); }
  if (name == "log10") { return ir_.CreateFMul(log_f32(x), real(type, std::numbers::log10e)); }
  if (name == "log1p") { return gpu_log1p(x); }
  if (name == "sinh") { return gpu_sinh(x); }
  if (name == "cosh") { return gpu_cosh(x); }
  if (name == "sin") { return gpu_sine(x, 0); }
  if (name == "cos") { return gpu_sine(x, 1); }
  if (name == "tan") { return ir_.CreateFDiv(gpu_sine(x, 0), gpu_sine(x, 1)); }
  if (name == "pow") { return gpu_pow(x, args[1]); }
  return nullptr;
}

}  // namespace loopsmith::codegen
