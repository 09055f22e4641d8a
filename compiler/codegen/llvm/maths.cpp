// Exponentials and related functions of float32, as straight-line code for any number of lanes.
//
// The largest errors over all finite arguments, as tests/unit/codegen measures them, are 4 units in the last place
// (2 for exp and log). Infinities, zeros and NaNs give the same results as in libm; results below the normal range keep the
// precision of that range. The polynomials were fitted for this file: minimax in relative error over the reduced
// range, by reweighted least squares in 40 digits.
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/MC/MCSubtargetInfo.h>

#include <cmath>

#include "codegen/llvm/builder.h"

namespace loopsmith::codegen {

auto ModuleBuilder::real(llvm::Type* type, double value) -> llvm::Value* { return llvm::ConstantFP::get(type, value); }

auto ModuleBuilder::muladd(llvm::Value* a, llvm::Value* b, llvm::Value* c) -> llvm::Value* {
  return ir_.CreateIntrinsic(llvm::Intrinsic::fmuladd, {a->getType()}, {a, b, c});
}

/// Horner's scheme.
auto ModuleBuilder::polynomial(llvm::Value* x, std::initializer_list<double> highest_first) -> llvm::Value* {
  llvm::Value* out = nullptr;
  for (double coefficient : highest_first) {
    llvm::Value* c = real(x->getType(), coefficient);
    out = out == nullptr ? c : muladd(out, x, c);
  }
  return out;
}

/// Applies a function to vectors in pieces of `piece` lanes.
auto ModuleBuilder::in_pieces(const std::vector<llvm::Value*>& args, unsigned piece, const std::function<llvm::Value*(const std::vector<llvm::Value*>&)>& make) -> llvm::Value* {
  auto* type = llvm::cast<llvm::FixedVectorType>(args[0]->getType());
  const unsigned lanes = type->getNumElements();
  if (lanes == piece) { return make(args); }
  llvm::Value* out = llvm::PoisonValue::get(type);
  for (unsigned at = 0; at < lanes; at += piece) {
    std::vector<llvm::Value*> parts;
    for (llvm::Value* arg : args) {
      auto* part = llvm::FixedVectorType::get(llvm::cast<llvm::FixedVectorType>(arg->getType())->getElementType(), piece);
      parts.push_back(ir_.CreateExtractVector(part, arg, ir_.getInt64(at)));
    }
    out = ir_.CreateInsertVector(type, out, make(parts), ir_.getInt64(at));
  }
  return out;
}

/// The lanes of an AVX-512 register if the vector of float32 fills whole registers of the target and is not too long; else 0.
auto ModuleBuilder::avx512_piece(llvm::Type* type) -> unsigned {
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  if (vector == nullptr || !machine_.getTargetTriple().isX86() || !machine_.getMCSubtargetInfo()->checkFeatures("+avx512f,+avx512vl,+avx512dq")) { return 0; }
  const unsigned lanes = vector->getNumElements();
  const unsigned piece = lanes % 16 == 0 ? 16 : lanes % 8 == 0 ? 8 : 4;
  return lanes % piece == 0 && lanes / piece <= 8 ? piece : 0;
}

/// With 512 bits at a time: exp(x) = 2^floor(n) T[16 (n - floor(n))] exp(r), n the nearest multiple of 1/16 to x / ln 2, |r| <= ln 2 / 32.
/// The table T is one register. The sum that rounds n has the table's index in its last four bits, and the scaling instruction itself
/// computes the floor. That instruction also yields 0 and infinity for an n out of range, provided that its other operand is positive
/// and not NaN; a bound on r ensures that, also for an infinite x.
/// Longer vectors do each step for all their registers before the next step: a chain per register would fill the processor's queues
/// with waiting instructions.
auto ModuleBuilder::exp_by_table(llvm::Value* x) -> llvm::Value* {
  llvm::Type* type = x->getType();
  llvm::Value* shift = real(type, 786432.0);   // 3 2^18: no bits below 1/16
  llvm::Value* shifted = muladd(x, real(type, 1.44269504088896341), shift);
  llvm::Value* n = nullptr;
  {
    llvm::IRBuilder<>::FastMathFlagGuard guard(ir_);
    ir_.clearFastMathFlags();
    n = ir_.CreateFSub(shifted, shift);
  }
  llvm::Value* r = muladd(n, real(type, -0.693359375), x);
  r = muladd(n, real(type, 2.12194440054690583e-4), r);
  // The operand with the smaller magnitude, with the sign of the first; if one is NaN, the other.
  r = in_pieces({r}, 16, [&](const std::vector<llvm::Value*>& parts) {
    llvm::Type* one = parts[0]->getType();
    return ir_.CreateIntrinsic(llvm::Intrinsic::x86_avx512_mask_range_ps_512, {},
                               {parts[0], real(one, 0.03125), ir_.getInt32(2), llvm::PoisonValue::get(one), ir_.getInt16(0xffff), ir_.getInt32(4)});
  });
  std::vector<llvm::Constant*> entries;
  for (int i = 0; i < 16; ++i) { entries.push_back(llvm::ConstantFP::get(ir_.getFloatTy(), static_cast<double>(static_cast<float>(std::exp2(i / 16.0))))); }
  llvm::Value* table = llvm::ConstantVector::get(entries);
  llvm::Value* entry = in_pieces({shifted}, 16, [&](const std::vector<llvm::Value*>& parts) {
    llvm::Value* number = ir_.CreateBitCast(parts[0], parts[0]->getType()->getWithNewType(ir_.getInt32Ty()));
    return ir_.CreateIntrinsic(llvm::Intrinsic::x86_avx512_permvar_sf_512, {}, {table, number});
  });
  llvm::Value* scaled = ir_.CreateFMul(entry, r);
  return scale_by_power(muladd(scaled, polynomial(r, {0.16666666667, 0.5000162, 1.0}), entry), n);
}

/// exp(x) = 2^n exp(r), n the nearest integer to x / ln 2, |r| <= ln 2 / 2, exp(r) = 1 + r (1 + r P(r)).
auto ModuleBuilder::exp_f32(llvm::Value* x) -> llvm::Value* {
  llvm::Type* type = x->getType();
  if (avx512_piece(type) == 16) { return exp_by_table(x); }
  llvm::Type* ints = type->getWithNewType(ir_.getInt32Ty());
  auto integer = [&](int v) { return llvm::ConstantInt::get(ints, static_cast<uint64_t>(v), true); };
  // Beyond these bounds the result is 0 or infinite. The comparisons are false for NaN, which passes unchanged.
  llvm::Value* low = real(type, -104.0);
  llvm::Value* high = real(type, 89.0);
  x = ir_.CreateSelect(ir_.CreateFCmpOLT(x, low), low, x);
  x = ir_.CreateSelect(ir_.CreateFCmpOGT(x, high), high, x);
  // Adding 3 2^22 leaves no bits for fractions: the sum's last bits are n, and subtracting it again gives n as a number.
  llvm::Value* shift = real(type, 12582912.0);
  llvm::Value* shifted = muladd(x, real(type, 1.44269504088896341), shift);
  llvm::Value* n = nullptr;
  {
    llvm::IRBuilder<>::FastMathFlagGuard guard(ir_);
    ir_.clearFastMathFlags();
    n = ir_.CreateFSub(shifted, shift);
  }
  // ln 2 in two parts, the first exact when multiplied by a small integer.
  llvm::Value* r = muladd(n, real(type, -0.693359375), x);
  r = muladd(n, real(type, 2.12194440054690583e-4), r);
  llvm::Value* p = polynomial(r, {0.0013813069477, 0.00836942812366, 0.0416684584474, 0.166665146895, 0.49999993042});
  llvm::Value* y = muladd(muladd(p, r, real(type, 1.0)), r, real(type, 1.0));
  if (llvm::Value* scaled = scale_by_power(y, n)) { return scaled; }
  // 2^n as two factors, since n exceeds the exponents of normal numbers.
  llvm::Value* whole = ir_.CreateSub(ir_.CreateBitCast(shifted, ints), integer(0x4b400000));
  llvm::Value* half = ir_.CreateAShr(whole, integer(1));
  llvm::Value* rest = ir_.CreateSub(whole, half);
  auto power = [&](llvm::Value* e) { return ir_.CreateBitCast(ir_.CreateShl(ir_.CreateAdd(e, integer(127)), integer(23)), type); };
  return ir_.CreateFMul(ir_.CreateFMul(y, power(half)), power(rest));
}

/// y 2^floor(n) with AVX-512's instruction for it, for whole registers; null elsewhere.
auto ModuleBuilder::scale_by_power(llvm::Value* y, llvm::Value* n) -> llvm::Value* {
  const unsigned piece = avx512_piece(y->getType());
  if (piece == 0) { return nullptr; }
  return in_pieces({y, n}, piece, [&](const std::vector<llvm::Value*>& parts) -> llvm::Value* {
    llvm::Value* any = llvm::PoisonValue::get(parts[0]->getType());
    if (piece == 16) {   // 4: the current rounding mode
      return ir_.CreateIntrinsic(llvm::Intrinsic::x86_avx512_mask_scalef_ps_512, {}, {parts[0], parts[1], any, ir_.getInt16(0xffff), ir_.getInt32(4)});
    }
    llvm::Intrinsic::ID id = piece == 8 ? llvm::Intrinsic::x86_avx512_mask_scalef_ps_256 : llvm::Intrinsic::x86_avx512_mask_scalef_ps_128;
    return ir_.CreateIntrinsic(id, {}, {parts[0], parts[1], any, ir_.getInt8(0xff)});
  });
}

/// log(x) = e ln 2 + log(1 + f), x = 2^e (1 + f), 1 + f in [sqrt(1/2), sqrt 2); log(1 + f) = f - f^2/2 + f^3 P(f).
auto ModuleBuilder::log_f32(llvm::Value* x) -> llvm::Value* {
  llvm::Type* type = x->getType();
  llvm::Type* ints = type->getWithNewType(ir_.getInt32Ty());
  auto integer = [&](uint32_t v) { return llvm::ConstantInt::get(ints, v); };
  // Subnormals are scaled into the normal range by 2^23.
  llvm::Value* is_tiny = ir_.CreateFCmpOLT(x, real(type, 1.17549435082228751e-38));
  llvm::Value* scaled = ir_.CreateSelect(is_tiny, ir_.CreateFMul(x, real(type, 8388608.0)), x);
  llvm::Value* bits = ir_.CreateBitCast(scaled, ints);
  // Counting exponents from sqrt(1/2) puts the mantissa in [sqrt(1/2), sqrt 2).
  llvm::Value* from_root = ir_.CreateSub(bits, integer(0x3f3504f3));
  llvm::Value* exponent = ir_.CreateAShr(from_root, integer(23));
  llvm::Value* mantissa = ir_.CreateBitCast(ir_.CreateSub(bits, ir_.CreateShl(exponent, integer(23))), type);
  llvm::Value* e = ir_.CreateSIToFP(exponent, type);
  e = ir_.CreateSelect(is_tiny, ir_.CreateFSub(e, real(type, 23.0)), e);
  llvm::Value* f = ir_.CreateFSub(mantissa, real(type, 1.0));
  llvm::Value* square = ir_.CreateFMul(f, f);
  llvm::Value* p = polynomial(f, {0.0675018819167, -0.11678990602, 0.118883124511, -0.124049674724, 0.14219437954, -0.166680328786,
                                  0.200021271211, -0.250000088982, 0.333333124349});
  llvm::Value* tail = ir_.CreateFMul(ir_.CreateFMul(f, square), p);
  tail = muladd(e, real(type, -2.12194440054690583e-4), tail);
  tail = muladd(square, real(type, -0.5), tail);
  llvm::Value* y = muladd(e, real(type, 0.693359375), ir_.CreateFAdd(f, tail));
  llvm::Value* zero = real(type, 0.0);
  llvm::Value* infinity = llvm::ConstantFP::getInfinity(type);
  y = ir_.CreateSelect(ir_.CreateFCmpOEQ(x, infinity), infinity, y);
  y = ir_.CreateSelect(ir_.CreateFCmpOEQ(x, zero), llvm::ConstantFP::getInfinity(type, true), y);
  // Unordered or less: negative numbers and NaN.
  return ir_.CreateSelect(ir_.CreateFCmpULT(x, zero), llvm::ConstantFP::getQNaN(type), y);
}

/// Small: x + x^3 P(x^2). Else 1 - 2 / (exp(2|x|) + 1), with the sign of x.
auto ModuleBuilder::tanh_f32(llvm::Value* x) -> llvm::Value* {
  llvm::Type* type = x->getType();
  llvm::Value* magnitude = ir_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
  llvm::Value* square = ir_.CreateFMul(x, x);
  llvm::Value* p = polynomial(square, {-0.00568106822975, 0.0206184108471, -0.0537336228215, 0.133313724339, -0.333332795018});
  llvm::Value* small = muladd(ir_.CreateFMul(square, x), p, x);
  llvm::Value* grown = exp_f32(ir_.CreateFAdd(magnitude, magnitude));
  llvm::Value* large = ir_.CreateFSub(real(type, 1.0), ir_.CreateFDiv(real(type, 2.0), ir_.CreateFAdd(grown, real(type, 1.0))));
  large = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, large, x);
  return ir_.CreateSelect(ir_.CreateFCmpOLT(magnitude, real(type, 0.625)), small, large);
}

auto ModuleBuilder::sigmoid_f32(llvm::Value* x) -> llvm::Value* {
  llvm::Value* one = real(x->getType(), 1.0);
  return ir_.CreateFDiv(one, ir_.CreateFAdd(one, exp_f32(ir_.CreateFNeg(x))));
}

/// Small: x + x P(x^2). Else 1 - exp(-|x| - |x| Q(|x|)), with the sign of x; 1 from 4 on.
auto ModuleBuilder::erf_f32(llvm::Value* x) -> llvm::Value* {
  llvm::Type* type = x->getType();
  llvm::Value* magnitude = ir_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
  llvm::Value* square = ir_.CreateFMul(x, x);
  llvm::Value* p = polynomial(square, {-0.00059536759713, 0.00498592624731, -0.0267617088683, 0.112816821954, -0.376124810617, 0.128379147684});
  llvm::Value* small = muladd(x, p, x);
  llvm::Value* bounded = ir_.CreateSelect(ir_.CreateFCmpOGT(magnitude, real(type, 4.0)), real(type, 4.0), magnitude);
  llvm::Value* q = polynomial(bounded, {-0.00021400492402, 0.00321510657806, -0.0228904086277, 0.105262480423, 0.635717870007, 0.12851448231});
  llvm::Value* shrunk = exp_f32(ir_.CreateFSub(ir_.CreateFNeg(bounded), ir_.CreateFMul(bounded, q)));
  llvm::Value* large = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, ir_.CreateFSub(real(type, 1.0), shrunk), x);
  return ir_.CreateSelect(ir_.CreateFCmpOLT(magnitude, real(type, 0.92)), small, large);
}

}  // namespace loopsmith::codegen
