// bfloat16 and the kinds of float8, float6 and float4: registers and memory hold their bits; operations compute in float32 and round to
// nearest even afterwards, bit for bit as in ir/reals.h. Straight-line code for any number of lanes.
//
// Rounding twice, to float32 and then to fewer bits, gives the same result as rounding once: for sums, products and quotients because
// float32 has more than twice their bits plus two (Figueroa, "When is double rounding innocuous?"), for float64 because it is
// first rounded to odd (Boldo and Melquiond). Instructions of AVX512-BF16 are not used: they treat subnormal numbers as zeros.
#include "codegen/llvm/builder.h"
#include "ir/reals.h"

namespace loopsmith::codegen {

auto ModuleBuilder::short_constant(DataType dtype, double value) -> llvm::Value* {
  return llvm::ConstantInt::get(type_of(dtype.element()), to_bits(dtype.element(), value));
}

auto ModuleBuilder::short_to_float(llvm::Value* value, DataType dtype) -> llvm::Value* {
  llvm::Type* floats = value->getType()->getWithNewType(ir_.getFloatTy());
  llvm::Type* ints = value->getType()->getWithNewType(ir_.getInt32Ty());
  auto integer = [&](uint64_t v) { return llvm::ConstantInt::get(ints, v); };
  llvm::Value* bits = ir_.CreateZExt(value, ints);
  if (dtype.is_bfloat16()) { return ir_.CreateBitCast(ir_.CreateShl(bits, 16), floats); }
  llvm::Value* nan = integer(0x7fc00000);
  if (dtype.code == TypeCode::Float8E8M0FNU) {
    llvm::Value* power = ir_.CreateShl(bits, 23);
    power = ir_.CreateSelect(ir_.CreateICmpEQ(bits, integer(0)), integer(0x400000), power);   // 2^-127 is subnormal
    return ir_.CreateBitCast(ir_.CreateSelect(ir_.CreateICmpEQ(bits, integer(255)), nan, power), floats);
  }
  const RealFormat f = real_format(dtype);
  const int magnitude_bits = f.exponent + f.mantissa;
  llvm::Value* sign = ir_.CreateShl(ir_.CreateLShr(bits, static_cast<uint64_t>(magnitude_bits)), 31);
  llvm::Value* magnitude = ir_.CreateAnd(bits, integer((uint64_t{1} << magnitude_bits) - 1));
  llvm::Value* shifted = ir_.CreateShl(magnitude, static_cast<uint64_t>(23 - f.mantissa));
  llvm::Value* normal = ir_.CreateAdd(shifted, integer(static_cast<uint64_t>(127 - f.bias) << 23U));
  // Subnormal: converted with a leading one, which is then subtracted; exact, and without subnormal numbers of float32.
  const uint64_t least = static_cast<uint64_t>(128 - f.bias) << 23U;
  llvm::Value* small = nullptr;
  {
    llvm::IRBuilder<>::FastMathFlagGuard guard(ir_);
    ir_.clearFastMathFlags();
    llvm::Value* one_more = ir_.CreateBitCast(ir_.CreateAdd(shifted, integer(least)), floats);
    small = ir_.CreateBitCast(ir_.CreateFSub(one_more, ir_.CreateBitCast(integer(least), floats)), ints);
  }
  llvm::Value* out = ir_.CreateSelect(ir_.CreateICmpULT(magnitude, integer(uint64_t{1} << f.mantissa)), small, normal);
  if (f.has_infinity) {
    llvm::Value* top = integer(f.overflow());
    out = ir_.CreateSelect(ir_.CreateICmpUGE(magnitude, top), ir_.CreateOr(shifted, integer(0x7f800000)), out);
  }
  if (f.finite_nan) { out = ir_.CreateSelect(ir_.CreateICmpEQ(magnitude, integer(f.nan())), nan, out); }
  out = ir_.CreateOr(out, sign);
  if (f.unsigned_zero) { out = ir_.CreateSelect(ir_.CreateICmpEQ(bits, integer(f.nan())), nan, out); }
  return ir_.CreateBitCast(out, floats);
}

auto ModuleBuilder::float_to_short(llvm::Value* value, DataType dtype) -> llvm::Value* {
  llvm::Type* floats = value->getType();
  llvm::Type* ints = floats->getWithNewType(ir_.getInt32Ty());
  llvm::Type* narrow = floats->getWithNewType(type_of(dtype.element()));
  auto integer = [&](uint64_t v) { return llvm::ConstantInt::get(ints, v); };
  if (dtype.code == TypeCode::Float8E8M0FNU) { return double_to_power(ir_.CreateFPExt(value, floats->getWithNewType(ir_.getDoubleTy()))); }
  llvm::Value* bits = ir_.CreateBitCast(value, ints);
  llvm::Value* magnitude = ir_.CreateAnd(bits, integer(0x7fffffff));
  llvm::Value* is_nan = ir_.CreateICmpUGT(magnitude, integer(0x7f800000));
  if (dtype.is_bfloat16()) {
    llvm::Value* odd = ir_.CreateAnd(ir_.CreateLShr(bits, 16), integer(1));
    llvm::Value* rounded = ir_.CreateAdd(bits, ir_.CreateAdd(odd, integer(0x7fff)));
    llvm::Value* quiet = ir_.CreateOr(bits, integer(0x400000));
    return ir_.CreateTrunc(ir_.CreateLShr(ir_.CreateSelect(is_nan, quiet, rounded), 16), narrow);
  }
  const RealFormat f = real_format(dtype);
  const auto lost = static_cast<uint64_t>(23 - f.mantissa);
  llvm::Value* sign = ir_.CreateShl(ir_.CreateLShr(bits, 31), static_cast<uint64_t>(f.exponent + f.mantissa));
  llvm::Value* odd = ir_.CreateAnd(ir_.CreateLShr(magnitude, lost), integer(1));
  llvm::Value* rounded = ir_.CreateAdd(magnitude, ir_.CreateAdd(odd, integer((uint64_t{1} << (lost - 1)) - 1)));
  llvm::Value* pattern = ir_.CreateSub(ir_.CreateLShr(rounded, lost), integer(static_cast<uint64_t>(127 - f.bias) << f.mantissa));
  // Subnormal: adding 2^(23 + place) aligns the last place with that of float32, so that the addition rounds.
  {
    llvm::IRBuilder<>::FastMathFlagGuard guard(ir_);
    ir_.clearFastMathFlags();
    llvm::Value* line = integer(static_cast<uint64_t>(127 + 24 - f.bias - f.mantissa) << 23U);
    llvm::Value* sum = ir_.CreateFAdd(ir_.CreateBitCast(magnitude, floats), ir_.CreateBitCast(line, floats));
    llvm::Value* is_small = ir_.CreateICmpULT(magnitude, integer(static_cast<uint64_t>(128 - f.bias) << 23U));
    pattern = ir_.CreateSelect(is_small, ir_.CreateSub(ir_.CreateBitCast(sum, ints), line), pattern);
  }
  llvm::Value* too_large = ir_.CreateICmpUGT(pattern, integer(f.largest()));
  if (f.unsigned_zero) {
    pattern = ir_.CreateSelect(ir_.CreateICmpEQ(pattern, integer(0)), pattern, ir_.CreateOr(pattern, sign));
    pattern = ir_.CreateSelect(ir_.CreateOr(too_large, is_nan), integer(f.nan()), pattern);
  } else {
    pattern = ir_.CreateSelect(too_large, integer(f.overflow()), pattern);
    if (f.has_nan) { pattern = ir_.CreateSelect(is_nan, integer(f.nan()), pattern); }
    pattern = ir_.CreateOr(pattern, sign);
    if (!f.has_nan) { pattern = ir_.CreateSelect(is_nan, integer(f.nan()), pattern); }
  }
  return ir_.CreateTrunc(pattern, narrow);
}

auto ModuleBuilder::double_to_short(llvm::Value* value, DataType dtype) -> llvm::Value* {
  return dtype.code == TypeCode::Float8E8M0FNU ? double_to_power(value) : float_to_short(double_to_odd_float(value), dtype);
}

auto ModuleBuilder::double_to_odd_float(llvm::Value* value) -> llvm::Value* {
  llvm::Type* floats = value->getType()->getWithNewType(ir_.getFloatTy());
  llvm::Type* ints = value->getType()->getWithNewType(ir_.getInt32Ty());
  llvm::IRBuilder<>::FastMathFlagGuard guard(ir_);
  ir_.clearFastMathFlags();
  // Rounds towards zero, then sets the last place if bits were lost.
  llvm::Value* nearest = ir_.CreateFPTrunc(value, floats);
  llvm::Value* back = ir_.CreateFPExt(nearest, value->getType());
  auto size_of = [&](llvm::Value* v) { return ir_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, v); };
  llvm::Value* bits = ir_.CreateBitCast(nearest, ints);
  llvm::Value* beyond = ir_.CreateZExt(ir_.CreateFCmpOGT(size_of(back), size_of(value)), ints);
  llvm::Value* odd = ir_.CreateOr(ir_.CreateSub(bits, beyond), llvm::ConstantInt::get(ints, 1));
  llvm::Value* exact = ir_.CreateFCmpUEQ(back, value);   // or NaN
  return ir_.CreateBitCast(ir_.CreateSelect(exact, bits, odd), floats);
}

/// e8m0: the nearest power of two by ratio.
auto ModuleBuilder::double_to_power(llvm::Value* value) -> llvm::Value* {
  llvm::Type* ints = value->getType()->getWithNewType(ir_.getInt64Ty());
  auto integer = [&](int64_t v) { return llvm::ConstantInt::get(ints, static_cast<uint64_t>(v), true); };
  llvm::Value* bits = ir_.CreateBitCast(value, ints);
  llvm::Value* magnitude = ir_.CreateAnd(bits, integer(INT64_MAX));
  // From the root of two on, a mantissa carries into the exponent.
  llvm::Value* carried = ir_.CreateAdd(magnitude, integer((int64_t{1} << 52) - 0x6a09e667f3bcd));
  llvm::Value* exponent = ir_.CreateSub(ir_.CreateLShr(carried, 52), integer(1023 - 127));
  exponent = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, exponent, integer(0));
  exponent = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, exponent, integer(254));
  exponent = ir_.CreateSelect(ir_.CreateICmpSLE(bits, integer(0)), integer(0), exponent);
  exponent = ir_.CreateSelect(ir_.CreateICmpUGT(magnitude, integer(int64_t{0x7ff} << 52)), integer(255), exponent);
  return ir_.CreateTrunc(exponent, value->getType()->getWithNewType(ir_.getInt8Ty()));
}

}  // namespace loopsmith::codegen
