// Expressions: arithmetic, casts, choices, vectors. See builder.h.
#include <fmt/format.h>

#include "codegen/llvm/builder.h"
#include "ir/ops.h"
#include "ir/reals.h"
#include "ir/visitor.h"
#include "support/reasons.h"
#include "support/scoped_value.h"

namespace loopsmith::codegen {
namespace {

auto is_plain_signed(DataType t) -> bool { return t.is_int() && t.is_scalar() && t.bits <= 64; }

/// True when the expression may be computed at a place where the program would not compute it.
auto is_harmless(const Expr& expr, int depth = 0) -> bool {
  if (depth > 8) { return false; }
  auto both = [&](const Expr& a, const Expr& b) { return is_harmless(a, depth + 1) && is_harmless(b, depth + 1); };
  switch (expr.kind()) {
    case NodeKind::VarNode:
    case NodeKind::IntImm:
    case NodeKind::FloatImm: return true;
    case NodeKind::Cast: return is_harmless(expr.as<Cast>()->value, depth + 1);
    case NodeKind::Add:
    case NodeKind::Sub:
    case NodeKind::Mul:
    case NodeKind::Min:
    case NodeKind::Max: {
      const auto* n = static_cast<const BinaryNode*>(expr.get());
      return both(n->a, n->b);
    }
    case NodeKind::Broadcast: return is_harmless(expr.as<Broadcast>()->value, depth + 1);
    case NodeKind::Ramp: return is_harmless(expr.as<Ramp>()->base, depth + 1);
    default: return false;
  }
}

}  // namespace

auto ModuleBuilder::eval(const Expr& expr) -> llvm::Value* {
  if (failure_) { return nullptr; }
  if (++depth_ > max_depth) {
    --depth_;
    return fail("an expression", because(Why::NestedDeeper).arg("limit", max_depth), expr.origin());
  }
  llvm::DebugLoc around = ir_.getCurrentDebugLocation();
  mark(expr.origin());
  llvm::Value* out = eval_node(expr);
  ir_.SetCurrentDebugLocation(around);
  --depth_;
  if (out == nullptr && !failure_) { fail("an expression", because(Why::NoValue), expr.origin()); }
  return out;
}

auto ModuleBuilder::variable(const VarNode& var) -> llvm::Value* {
  auto found = frame_.vars.find(&var);
  if (found == frame_.vars.end()) {
    return fail(fmt::format("the variable `{}`", var.name.str()), because(Why::DefinitionNotAround), var.origin);
  }
  Binding& binding = found->second;
  if (binding.value != nullptr) { return binding.value; }
  // The value is not cached: the place of this use may not dominate that of the next use.
  return ir_.CreateSExtOrTrunc(binding.wide, type_of(var.dtype));
}

auto ModuleBuilder::is_index_like(const Expr& expr) -> bool {
  switch (expr.kind()) {
    case NodeKind::VarNode:
    case NodeKind::IntImm: return is_plain_signed(expr.dtype());
    case NodeKind::Cast: return is_plain_signed(expr.dtype()) && is_plain_signed(expr.as<Cast>()->value.dtype()) &&
                                expr.dtype().bits >= expr.as<Cast>()->value.dtype().bits && is_index_like(expr.as<Cast>()->value);
    case NodeKind::Add:
    case NodeKind::Sub:
    case NodeKind::Mul:
    case NodeKind::Div:
    case NodeKind::Mod:
    case NodeKind::FloorDiv:
    case NodeKind::FloorMod:
    case NodeKind::Min:
    case NodeKind::Max: {
      const auto* n = static_cast<const BinaryNode*>(expr.get());
      return is_plain_signed(expr.dtype()) && is_index_like(n->a) && is_index_like(n->b);
    }
    default: return false;
  }
}

auto ModuleBuilder::is_nonnegative(const Expr& expr) -> bool {
  if (!expr || !is_plain_signed(expr.dtype())) { return false; }
  switch (expr.kind()) {
    case NodeKind::VarNode: return frame_.nonnegative.contains(expr.as<VarNode>());
    case NodeKind::IntImm: return expr.as<IntImm>()->value >= 0;
    case NodeKind::Cast: return expr.dtype().bits >= expr.as<Cast>()->value.dtype().bits && is_nonnegative(expr.as<Cast>()->value);
    case NodeKind::Add:
    case NodeKind::Mul:
    case NodeKind::Div:
    case NodeKind::FloorDiv:
    case NodeKind::Min: {
      const auto* n = static_cast<const BinaryNode*>(expr.get());
      return is_nonnegative(n->a) && is_nonnegative(n->b);
    }
    case NodeKind::Max: return is_nonnegative(expr.as<Max>()->a) || is_nonnegative(expr.as<Max>()->b);
    case NodeKind::Mod: return is_nonnegative(expr.as<Mod>()->a);
    case NodeKind::FloorMod: return is_nonnegative(expr.as<FloorMod>()->b);
    default: return false;
  }
}

auto ModuleBuilder::eval_index(const Expr& expr) -> llvm::Value* {
  if (failure_) { return nullptr; }
  const DataType t = expr.dtype();
  if (is_plain_signed(t)) {
    switch (expr.kind()) {
      case NodeKind::IntImm: return ir_.getInt64(static_cast<uint64_t>(expr.as<IntImm>()->value));
      case NodeKind::VarNode:
        if (auto found = frame_.vars.find(expr.as<VarNode>()); found != frame_.vars.end() && found->second.wide != nullptr) {
          return found->second.wide;
        }
        break;
      case NodeKind::Cast: {
        const Expr& value = expr.as<Cast>()->value;
        if (is_plain_signed(value.dtype()) && value.dtype().bits <= t.bits) { return eval_index(value); }
        break;
      }
      case NodeKind::Add:
      case NodeKind::Sub:
      case NodeKind::Mul:
      case NodeKind::Div:
      case NodeKind::Mod:
      case NodeKind::FloorDiv:
      case NodeKind::FloorMod:
      case NodeKind::Min:
      case NodeKind::Max: {
        const auto* n = static_cast<const BinaryNode*>(expr.get());
        if (++depth_ > max_depth) {
          --depth_;
          return fail("an expression", because(Why::NestedDeeper).arg("limit", max_depth), expr.origin());
        }
        llvm::Value* a = eval_index(n->a);
        llvm::Value* b = eval_index(n->b);
        --depth_;
        if (failure_) { return nullptr; }
        return arithmetic(expr.kind(), a, b, DataType::int_(64), true, is_nonnegative(n->a) && is_nonnegative(n->b));
      }
      default: break;
    }
  }
  if (!t.is_integral() || !t.is_scalar()) { return fail("an index", because(Why::IndexNotInteger).arg("dtype", t.str()), expr.origin()); }
  llvm::Value* value = eval(expr);
  if (failure_) { return nullptr; }
  return t.is_int() ? ir_.CreateSExtOrTrunc(value, ir_.getInt64Ty()) : ir_.CreateZExtOrTrunc(value, ir_.getInt64Ty());
}

/// The scalar base and stride of a vector expression of the form base + i * stride; none for other expressions.
auto ModuleBuilder::as_ramp(const Expr& expr) -> std::optional<std::pair<Expr, Expr>> {
  if (expr.dtype().is_scalar()) { return {}; }
  switch (expr.kind()) {
    case NodeKind::Ramp: {
      const auto* n = expr.as<Ramp>();
      if (!n->base.dtype().is_scalar()) { return {}; }
      return std::pair(n->base, n->stride);
    }
    case NodeKind::Broadcast: {
      const auto* n = expr.as<Broadcast>();
      if (!n->value.dtype().is_scalar()) { return {}; }
      return std::pair(n->value, zero(n->value.dtype()));
    }
    case NodeKind::Add: {
      auto a = as_ramp(expr.as<Add>()->a);
      auto b = a ? as_ramp(expr.as<Add>()->b) : std::nullopt;
      if (!b) { return {}; }
      return std::pair(a->first + b->first, a->second + b->second);
    }
    case NodeKind::Sub: {
      auto a = as_ramp(expr.as<Sub>()->a);
      auto b = a ? as_ramp(expr.as<Sub>()->b) : std::nullopt;
      if (!b) { return {}; }
      return std::pair(a->first - b->first, a->second - b->second);
    }
    case NodeKind::Mul: {
      auto a = as_ramp(expr.as<Mul>()->a);
      auto b = a ? as_ramp(expr.as<Mul>()->b) : std::nullopt;
      if (!b) { return {}; }
      if (is_zero(b->second)) { return std::pair(a->first * b->first, a->second * b->first); }
      if (is_zero(a->second)) { return std::pair(a->first * b->first, b->second * a->first); }
      return {};
    }
    case NodeKind::Cast: {
      const auto* n = expr.as<Cast>();
      if (!n->dtype.is_int() || !n->value.dtype().is_int() || n->dtype.bits < n->value.dtype().bits) { return {}; }
      auto a = as_ramp(n->value);
      if (!a) { return {}; }
      return std::pair(loopsmith::cast(n->dtype.element(), a->first), loopsmith::cast(n->dtype.element(), a->second));
    }
    default: return {};
  }
}

auto ModuleBuilder::cast(llvm::Value* value, DataType from, DataType to, Origin where) -> llvm::Value* {
  if (from == to) { return value; }
  if (from.lanes == 1 && to.lanes > 1) {
    value = splat(value, to.lanes);
    from = from.with_lanes(to.lanes);
  }
  if (from.lanes != to.lanes) { return fail("a cast", because(Why::LanesDiffer).arg("from", from.str()).arg("to", to.str()), where); }
  if (from == to) { return value; }
  if (is_short_real(from)) {
    value = short_to_float(value, from);
    from = DataType::float_(32, from.lanes);
    if (from == to) { return value; }
  }
  if (is_short_real(to)) {
    // Types with more bits than float32 can represent are converted through float64.
    bool is_wide = from.is_real() ? from.bits == 64 : from.bits > 16;
    value = cast(value, from, DataType::float_(is_wide ? 64 : 32, to.lanes), where);
    if (failure_) { return nullptr; }
    return is_wide ? double_to_short(value, to) : float_to_short(value, to);
  }
  llvm::Type* type = type_of(to);
  if (failure_) { return nullptr; }
  if (from.is_float() && from.bits == 64 && to.is_float() && to.bits == 16) { return ir_.CreateFPTrunc(double_to_odd_float(value), type); }
  if (from.is_float() && to.is_float()) { return ir_.CreateFPCast(value, type); }
  if (from.is_float() && to.is_bool()) { return ir_.CreateFCmpUNE(value, llvm::Constant::getNullValue(value->getType())); }
  if (from.is_float() && to.is_int()) { return ir_.CreateFPToSI(value, type); }
  if (from.is_float() && to.is_uint()) { return ir_.CreateFPToUI(value, type); }
  if (from.is_int() && to.is_float()) { return ir_.CreateSIToFP(value, type); }
  if (from.is_uint() && to.is_float()) { return ir_.CreateUIToFP(value, type); }
  if (from.is_integral() && to.is_bool()) { return ir_.CreateIsNotNull(value); }
  if (from.is_int() && to.is_integral()) { return ir_.CreateSExtOrTrunc(value, type); }
  if (from.is_uint() && to.is_integral()) { return ir_.CreateZExtOrTrunc(value, type); }
  if (from.is_handle() && to.is_handle()) { return value; }
  if (from.is_handle() && to.is_integral()) { return ir_.CreatePtrToInt(value, type); }
  if (from.is_integral() && to.is_handle()) { return ir_.CreateIntToPtr(value, type); }
  return fail("a cast", because(Why::NoConversion).arg("from", from.str()).arg("to", to.str()), where);
}

/// Division that rounds towards minus infinity. Signed: the truncated quotient, minus 1 if the signs differ and the remainder is not 0.
auto ModuleBuilder::floor_divide(llvm::Value* a, llvm::Value* b, DataType dtype, bool want_mod, bool nonnegative) -> llvm::Value* {
  if (dtype.is_uint()) { return want_mod ? ir_.CreateURem(a, b) : ir_.CreateUDiv(a, b); }
  if (auto* constant = llvm::dyn_cast<llvm::Constant>(b)) {
    llvm::Constant* scalar = constant->getType()->isVectorTy() ? constant->getSplatValue() : constant;
    if (auto* number = llvm::dyn_cast_or_null<llvm::ConstantInt>(scalar); number != nullptr && number->getValue().isStrictlyPositive() &&
                                                                           number->getValue().isPowerOf2()) {
      llvm::Type* type = a->getType();
      if (want_mod) { return ir_.CreateAnd(a, llvm::ConstantInt::get(type, number->getValue() - 1)); }
      return ir_.CreateAShr(a, llvm::ConstantInt::get(type, number->getValue().logBase2()));
    }
  }
  if (nonnegative) { return want_mod ? ir_.CreateURem(a, b) : ir_.CreateUDiv(a, b); }
  llvm::Value* quotient = ir_.CreateSDiv(a, b);
  llvm::Value* rest = ir_.CreateSub(a, ir_.CreateMul(quotient, b));
  llvm::Value* zero = llvm::Constant::getNullValue(a->getType());
  llvm::Value* differs = ir_.CreateAnd(ir_.CreateICmpNE(rest, zero), ir_.CreateICmpSLT(ir_.CreateXor(rest, b), zero));
  if (want_mod) { return ir_.CreateAdd(rest, ir_.CreateSelect(differs, b, zero)); }
  return ir_.CreateSub(quotient, ir_.CreateZExt(differs, a->getType()));
}

auto ModuleBuilder::arithmetic(NodeKind kind, llvm::Value* a, llvm::Value* b, DataType dtype, bool no_wrap, bool nonnegative) -> llvm::Value* {
  if (dtype.is_real() && dtype.bits <= 32 && (kind == NodeKind::FloorDiv || kind == NodeKind::FloorMod)) {
    // Rounding the quotient first could reach the next integer.
    DataType wide = DataType::float_(64, dtype.lanes);
    llvm::Value* left = cast(a, dtype, wide, {});
    llvm::Value* right = failure_ ? nullptr : cast(b, dtype, wide, {});
    return failure_ ? nullptr : cast(arithmetic(kind, left, right, wide, false, false), wide, dtype, {});
  }
  if (is_short_real(dtype)) {
    DataType wide = DataType::float_(32, dtype.lanes);
    return float_to_short(arithmetic(kind, short_to_float(a, dtype), short_to_float(b, dtype), wide, false, false), dtype);
  }
  const bool is_float = dtype.is_float();
  const bool is_signed = dtype.is_int();
  const bool nsw = no_wrap && is_signed;
  bool divides = !is_float && (kind == NodeKind::Div || kind == NodeKind::Mod || kind == NodeKind::FloorDiv || kind == NodeKind::FloorMod);
  if (divides && mask_ != nullptr && !llvm::isa<llvm::Constant>(b)) {
    // Inactive lanes may have any divisor: they divide by 1.
    llvm::Value* live = mask_;
    if (!b->getType()->isVectorTy()) { live = ir_.CreateOrReduce(mask_); }
    if (!b->getType()->isVectorTy() || llvm::cast<llvm::FixedVectorType>(b->getType())->getNumElements() ==
                                           llvm::cast<llvm::FixedVectorType>(mask_->getType())->getNumElements()) {
      b = ir_.CreateSelect(live, b, llvm::ConstantInt::get(b->getType(), 1));
    }
  }
  switch (kind) {
    case NodeKind::Add: return is_float ? ir_.CreateFAdd(a, b) : ir_.CreateAdd(a, b, "", false, nsw);
    case NodeKind::Sub: return is_float ? ir_.CreateFSub(a, b) : ir_.CreateSub(a, b, "", false, nsw);
    case NodeKind::Mul: return is_float ? ir_.CreateFMul(a, b) : ir_.CreateMul(a, b, "", false, nsw);
    case NodeKind::Div: return is_float ? ir_.CreateFDiv(a, b) : (is_signed && !nonnegative) ? ir_.CreateSDiv(a, b) : ir_.CreateUDiv(a, b);
    case NodeKind::Mod: return is_float ? ir_.CreateFRem(a, b) : (is_signed && !nonnegative) ? ir_.CreateSRem(a, b) : ir_.CreateURem(a, b);
    case NodeKind::FloorDiv:
      return is_float ? ir_.CreateUnaryIntrinsic(llvm::Intrinsic::floor, ir_.CreateFDiv(a, b)) : floor_divide(a, b, dtype, false, nonnegative);
    case NodeKind::FloorMod: {
      if (!is_float) { return floor_divide(a, b, dtype, true, nonnegative); }
      llvm::IRBuilder<>::FastMathFlagGuard guard(ir_);
      if (!options_.fast_math) { ir_.clearFastMathFlags(); }   // an fma would leave a nonzero remainder of an exact division
      return ir_.CreateFSub(a, ir_.CreateFMul(ir_.CreateUnaryIntrinsic(llvm::Intrinsic::floor, ir_.CreateFDiv(a, b)), b));
    }
    case NodeKind::Min:
      if (is_float) { return ir_.CreateSelect(ir_.CreateFCmpOLT(a, b), a, b); }
      return ir_.CreateBinaryIntrinsic(is_signed ? llvm::Intrinsic::smin : llvm::Intrinsic::umin, a, b);
    case NodeKind::Max:
      if (is_float) { return ir_.CreateSelect(ir_.CreateFCmpOGT(a, b), a, b); }
      return ir_.CreateBinaryIntrinsic(is_signed ? llvm::Intrinsic::smax : llvm::Intrinsic::umax, a, b);
    default: return nullptr;
  }
}

auto ModuleBuilder::compare(NodeKind kind, llvm::Value* a, llvm::Value* b, DataType operands) -> llvm::Value* {
  if (is_short_real(operands)) {
    a = short_to_float(a, operands);
    b = short_to_float(b, operands);
    operands = DataType::float_(32, operands.lanes);
  }
  using P = llvm::CmpInst::Predicate;
  P predicate = P::ICMP_EQ;
  const bool f = operands.is_float();
  const bool s = operands.is_int();
  switch (kind) {
    case NodeKind::EQ: predicate = f ? P::FCMP_OEQ : P::ICMP_EQ; break;
    case NodeKind::NE: predicate = f ? P::FCMP_UNE : P::ICMP_NE; break;
    case NodeKind::LT: predicate = f ? P::FCMP_OLT : s ? P::ICMP_SLT : P::ICMP_ULT; break;
    case NodeKind::LE: predicate = f ? P::FCMP_OLE : s ? P::ICMP_SLE : P::ICMP_ULE; break;
    case NodeKind::GT: predicate = f ? P::FCMP_OGT : s ? P::ICMP_SGT : P::ICMP_UGT; break;
    case NodeKind::GE: predicate = f ? P::FCMP_OGE : s ? P::ICMP_SGE : P::ICMP_UGE; break;
    default: return nullptr;
  }
  return f ? ir_.CreateFCmp(predicate, a, b) : ir_.CreateICmp(predicate, a, b);
}

auto ModuleBuilder::only_if(llvm::Value* condition, DataType dtype, const std::function<llvm::Value*()>& value) -> llvm::Value* {
  llvm::BasicBlock* before = ir_.GetInsertBlock();
  auto* yes = llvm::BasicBlock::Create(context_, "chosen", frame_.function);
  auto* after = llvm::BasicBlock::Create(context_, "choice", frame_.function);
  ir_.CreateCondBr(condition, yes, after);
  ir_.SetInsertPoint(yes);
  llvm::Value* computed = value();
  if (failure_) { return nullptr; }
  llvm::BasicBlock* from = ir_.GetInsertBlock();
  ir_.CreateBr(after);
  ir_.SetInsertPoint(after);
  llvm::PHINode* phi = ir_.CreatePHI(computed->getType(), 2);
  phi->addIncoming(poison(dtype), before);
  phi->addIncoming(computed, from);
  return phi;
}

auto ModuleBuilder::choose(const Expr& condition, const Expr& yes, const Expr& no, DataType dtype) -> llvm::Value* {
  if (auto known = as_int(condition)) {
    const Expr& chosen = *known != 0 ? yes : no;
    llvm::Value* value = eval(chosen);
    return failure_ ? nullptr : splat(value, chosen.dtype().lanes == 1 ? dtype.lanes : 1);
  }
  llvm::Value* test = eval(condition);
  if (failure_) { return nullptr; }
  auto widened = [&](const Expr& e) -> llvm::Value* {
    llvm::Value* value = eval(e);
    return failure_ ? nullptr : splat(value, e.dtype().lanes == 1 ? dtype.lanes : 1);
  };
  if (condition.dtype().lanes == 1) {
    if (is_harmless(yes) && is_harmless(no)) {
      llvm::Value* a = widened(yes);
      llvm::Value* b = failure_ ? nullptr : widened(no);
      return failure_ ? nullptr : ir_.CreateSelect(test, a, b);
    }
    auto* on_yes = llvm::BasicBlock::Create(context_, "chosen", frame_.function);
    auto* on_no = llvm::BasicBlock::Create(context_, "otherwise", frame_.function);
    auto* after = llvm::BasicBlock::Create(context_, "choice", frame_.function);
    ir_.CreateCondBr(test, on_yes, on_no);
    ir_.SetInsertPoint(on_yes);
    llvm::Value* a = widened(yes);
    llvm::BasicBlock* yes_end = ir_.GetInsertBlock();
    ir_.CreateBr(after);
    ir_.SetInsertPoint(on_no);
    llvm::Value* b = failure_ ? nullptr : widened(no);
    if (failure_) { return nullptr; }
    llvm::BasicBlock* no_end = ir_.GetInsertBlock();
    ir_.CreateBr(after);
    ir_.SetInsertPoint(after);
    llvm::PHINode* phi = ir_.CreatePHI(a->getType(), 2);
    phi->addIncoming(a, yes_end);
    phi->addIncoming(b, no_end);
    return phi;
  }
  // For a vector of conditions, computes both sides, each with only its own lanes active.
  auto under = [&](llvm::Value* lanes, const Expr& value) -> llvm::Value* {
    ScopedValue mask(mask_, mask_ != nullptr ? ir_.CreateAnd(mask_, lanes) : lanes);
    return widened(value);
  };
  llvm::Value* a = under(test, yes);
  llvm::Value* b = failure_ ? nullptr : under(ir_.CreateNot(test), no);
  return failure_ ? nullptr : ir_.CreateSelect(test, a, b);
}

auto ModuleBuilder::eval_node(const Expr& expr) -> llvm::Value* {
  const DataType t = expr.dtype();
  switch (expr.kind()) {
    case NodeKind::VarNode: return variable(*expr.as<VarNode>());
    case NodeKind::IntImm: {
      llvm::Type* type = type_of(t.element());
      if (failure_) { return nullptr; }
      auto value = static_cast<uint64_t>(expr.as<IntImm>()->value);
      if (t.is_handle()) { return llvm::ConstantPointerNull::get(llvm::PointerType::getUnqual(context_)); }
      if (t.is_bool()) { value = value != 0 ? 1 : 0; }
      return llvm::ConstantInt::get(type, value, t.is_int());
    }
    case NodeKind::FloatImm: {
      double value = expr.as<FloatImm>()->value;
      if (is_short_real(t)) { return short_constant(t, value); }
      llvm::Type* type = type_of(t.element());
      return failure_ ? nullptr : llvm::ConstantFP::get(type, value);
    }
    case NodeKind::StringImm: return constant_string(expr.as<StringImm>()->value);
    case NodeKind::Cast: {
      const auto* n = expr.as<Cast>();
      llvm::Value* value = eval(n->value);
      return failure_ ? nullptr : cast(value, n->value.dtype(), t, n->origin);
    }
    case NodeKind::Add:
    case NodeKind::Sub:
    case NodeKind::Mul:
    case NodeKind::Div:
    case NodeKind::Mod:
    case NodeKind::FloorDiv:
    case NodeKind::FloorMod:
    case NodeKind::Min:
    case NodeKind::Max: {
      const auto* n = static_cast<const BinaryNode*>(expr.get());
      llvm::Value* a = eval(n->a);
      llvm::Value* b = eval(n->b);
      if (failure_) { return nullptr; }
      a = splat(a, n->a.dtype().lanes == 1 ? t.lanes : 1);
      b = splat(b, n->b.dtype().lanes == 1 ? t.lanes : 1);
      return arithmetic(expr.kind(), a, b, t, false, is_nonnegative(n->a) && is_nonnegative(n->b));
    }
    case NodeKind::EQ:
    case NodeKind::NE:
    case NodeKind::LT:
    case NodeKind::LE:
    case NodeKind::GT:
    case NodeKind::GE: {
      const auto* n = static_cast<const BinaryNode*>(expr.get());
      if (is_index_like(n->a) && is_index_like(n->b)) {
        llvm::Value* a = eval_index(n->a);
        llvm::Value* b = eval_index(n->b);
        return failure_ ? nullptr : compare(expr.kind(), a, b, DataType::int_(64));
      }
      llvm::Value* a = eval(n->a);
      llvm::Value* b = eval(n->b);
      if (failure_) { return nullptr; }
      a = splat(a, n->a.dtype().lanes == 1 ? t.lanes : 1);
      b = splat(b, n->b.dtype().lanes == 1 ? t.lanes : 1);
      return compare(expr.kind(), a, b, n->a.dtype());
    }
    case NodeKind::And:
    case NodeKind::Or: {
      const auto* n = static_cast<const BinaryNode*>(expr.get());
      llvm::Value* a = eval(n->a);
      llvm::Value* b = eval(n->b);
      if (failure_) { return nullptr; }
      a = splat(a, n->a.dtype().lanes == 1 ? t.lanes : 1);
      b = splat(b, n->b.dtype().lanes == 1 ? t.lanes : 1);
      return expr.kind() == NodeKind::And ? ir_.CreateAnd(a, b) : ir_.CreateOr(a, b);
    }
    case NodeKind::Not: {
      llvm::Value* a = eval(expr.as<Not>()->a);
      return failure_ ? nullptr : ir_.CreateNot(a);
    }
    case NodeKind::Select: {
      const auto* n = expr.as<Select>();
      llvm::Value* condition = eval(n->condition);
      llvm::Value* yes = eval(n->true_value);
      llvm::Value* no = eval(n->false_value);
      if (failure_) { return nullptr; }
      yes = splat(yes, n->true_value.dtype().lanes == 1 ? t.lanes : 1);
      no = splat(no, n->false_value.dtype().lanes == 1 ? t.lanes : 1);
      return ir_.CreateSelect(condition, yes, no);
    }
    case NodeKind::BufferLoad: return load(*expr.as<BufferLoad>());
    case NodeKind::Broadcast: {
      const auto* n = expr.as<Broadcast>();
      llvm::Value* value = eval(n->value);
      if (failure_) { return nullptr; }
      int inner = n->value.dtype().lanes;
      if (inner == 1) { return splat(value, t.lanes); }
      std::vector<int> lanes;
      for (int i = 0; i < t.lanes; ++i) { lanes.push_back(i % inner); }
      return ir_.CreateShuffleVector(value, lanes);
    }
    case NodeKind::Ramp: {
      const auto* n = expr.as<Ramp>();
      llvm::Value* base = eval(n->base);
      llvm::Value* stride = eval(n->stride);
      if (failure_) { return nullptr; }
      int inner = n->base.dtype().lanes;
      auto* type = llvm::cast<llvm::FixedVectorType>(type_of(t));
      std::vector<llvm::Constant*> steps;
      std::vector<int> repeat;
      for (int i = 0; i < t.lanes; ++i) {
        steps.push_back(llvm::ConstantInt::get(type->getElementType(), static_cast<uint64_t>(i / inner)));
        repeat.push_back(i % inner);
      }
      auto widened = [&](llvm::Value* v) { return v->getType()->isVectorTy() ? ir_.CreateShuffleVector(v, repeat) : splat(v, t.lanes); };
      return ir_.CreateAdd(widened(base), ir_.CreateMul(widened(stride), llvm::ConstantVector::get(steps)));
    }
    case NodeKind::Shuffle: {
      const auto* n = expr.as<Shuffle>();
      std::vector<llvm::Value*> elements;
      for (const Expr& v : n->vectors) {
        llvm::Value* value = eval(v);
        if (failure_) { return nullptr; }
        if (v.dtype().lanes == 1) { elements.push_back(value); }
        for (int i = 0; v.dtype().lanes > 1 && i < v.dtype().lanes; ++i) { elements.push_back(ir_.CreateExtractElement(value, static_cast<uint64_t>(i))); }
      }
      llvm::Value* out = t.lanes > 1 ? llvm::PoisonValue::get(type_of(t)) : nullptr;
      for (size_t i = 0; i < n->indices.size(); ++i) {
        auto index = as_int(n->indices[i]);
        if (!index || *index < 0 || static_cast<size_t>(*index) >= elements.size()) {
          return fail("a shuffle", because(Why::ShuffleIndices), n->origin);
        }
        if (t.lanes == 1) { return elements[static_cast<size_t>(*index)]; }
        out = ir_.CreateInsertElement(out, elements[static_cast<size_t>(*index)], i);
      }
      return out;
    }
    case NodeKind::Let: {
      const auto* n = expr.as<Let>();
      llvm::Value* out = nullptr;
      emit_let(n->var, n->value, [&] { out = eval(n->body); });
      return out;
    }
    case NodeKind::Call: return call(*expr.as<Call>());
    case NodeKind::Reduce: return fail_not_flat("a reduction", expr.origin());
    default: return fail_not_flat("an expression", expr.origin());
  }
}

}  // namespace loopsmith::codegen
