// Expressions, buffers and types as values: operators, attributes, conversions. See objects.h.
#include "frontend/objects.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "eval/wide_int.h"
#include "frontend/introspection.h"
#include "frontend/lowerer.h"
#include "ir/ops.h"
#include "ir/printer.h"
#include "ir/visitor.h"
#include "support/codes.h"

namespace loopsmith::frontend {

using eval::make_object;
using syntax::BinaryOp;
using syntax::CompareOp;
using syntax::UnaryOp;

const eval::TypeTag ExprObject::type_tag{"an expression"};
const eval::TypeTag BufferObject::type_tag{"a buffer"};
const eval::TypeTag RegionObject::type_tag{"a region of a buffer"};
const eval::TypeTag DtypeObject::type_tag{"a data type"};
const eval::TypeTag BufferTypeObject::type_tag{"T.Buffer"};
const eval::TypeTag FrameObject::type_tag{"a statement with a body"};
const eval::TypeTag MetaObject::type_tag{"a meta variable"};
const eval::TypeTag StmtObject::type_tag{"a statement"};
const eval::TypeTag AttrObject::type_tag{"an attribute's value"};
auto AttrObject::is_context() const -> bool { return target_attr(attr) != nullptr; }
const eval::TypeTag ReducerObject::type_tag{"a reducer"};
const eval::TypeTag AxisSeparatorObject::type_tag{"an axis separator"};
const eval::TypeTag IterVarObject::type_tag{"an axis"};
const eval::TypeTag GlobalObject::type_tag{"a function of the module"};
const eval::TypeTag MacroObject::type_tag{"a macro"};
const eval::TypeTag ProgramObject::type_tag{"a program"};
const eval::TypeTag DomainObject::type_tag{"a range of integers"};
const eval::TypeTag FixtureObject::type_tag{"a parameter of tests"};

namespace {

auto scalar_text(const DataType& t) -> std::string { return "`" + t.str() + "`"; }

}  // namespace

auto expr_value(Expr expr) -> Value {
  if (!expr) { return Value::error(); }
  if (const auto* imm = expr.as<IntImm>(); imm && imm->dtype == DataType::int_(32)) { return Value(imm->value); }
  return make_object<ExprObject>(std::move(expr));
}

auto to_expr(Evaluator& evaluator, const Argument& a) -> Expr {
  const Value& v = a.value;
  switch (v.kind()) {
    case Value::Kind::Object: break;
    case Value::Kind::Bool: return bool_imm(v.bool_value(), a.where);
    case Value::Kind::Int: {
      int64_t i = v.int_value();
      bool narrow = i >= std::numeric_limits<int32_t>::min() && i <= std::numeric_limits<int32_t>::max();
      return int_imm(i, DataType::int_(narrow ? 32 : 64), a.where);
    }
    case Value::Kind::Float: return float_imm(v.float_value(), DataType::float_(32), a.where);
    case Value::Kind::Error: case Value::Kind::Opaque: return {};
    case Value::Kind::None:
      evaluator.report(error(Code::WrongType, a.where).arg("expected", "an expression").arg("found", "`None`"));
      return {};
  }
  if (const auto* e = v.as<ExprObject>()) { return e->expr; }
  if (const auto* r = v.as<RegionObject>()) { return region_load(evaluator, r->region, a.where); }
  if (const std::string* s = v.string()) { return make<StringImm>(*s, a.where); }
  if (const auto* i = v.as<IterVarObject>()) { return i->iter.var; }
  if (const auto* w = v.as<eval::WideInt>()) { return int_imm(static_cast<int64_t>(w->bits), DataType::uint(64), a.where); }
  if (const auto* m = v.as<MetaObject>()) { return to_expr(evaluator, {m->value, a.where, {}}); }
  if (const auto* b = v.as<BufferObject>()) {
    Diagnostic d = error(Code::WrongType, a.where).arg("expected", "an expression").arg("found", describe(v));
    evaluator.report(std::move(d).remedy("index it, `" + b->buffer->name.str() + "[...]`, or take its pointer, `" + b->buffer->name.str() + ".data`"));
    return {};
  }
  if (evaluator.is_known_tuple(v)) { return {}; }
  Diagnostic wrong = error(Code::WrongType, a.where).arg("expected", "an expression").arg("found", describe(v));
  if (std::string remedy = eval::unpacking(v); !remedy.empty()) { (void)std::move(wrong).remedy(std::move(remedy)); }
  if (const auto* one = v.as<eval::Tuple>(); one && one->items.size() == 1) { (void)std::move(wrong).remedy("it has one value, which `[0]` takes"); }
  if (v.as<DtypeObject>()) { (void)std::move(wrong).remedy("a value of it is written `" + v.as<DtypeObject>()->repr() + "(...)`"); }
  evaluator.report(std::move(wrong));
  return {};
}

auto fits(Evaluator& evaluator, int64_t value, DataType type, Origin where) -> bool {
  DataType t = type.element();
  if (!t.is_integral() || t.is_bool() || t.bits < 2) { return true; }
  bool is_whole = t.bits >= 64;
  int64_t low = t.is_uint() ? 0 : is_whole ? std::numeric_limits<int64_t>::min() : -(int64_t{1} << (t.bits - 1));
  int64_t high = is_whole ? std::numeric_limits<int64_t>::max() : (int64_t{1} << (t.is_uint() ? t.bits : t.bits - 1)) - 1;
  if (value >= low && value <= high) { return true; }
  std::string most = is_whole ? "18446744073709551615" : std::to_string(high);
  evaluator.report(error(Code::BadValue, where).arg("what", fmt::format("{} does not fit `{}`, which holds {} to {}", value, t.str(), low, most))
                       .remedy(fmt::format("write a number that fits, or use another type; `T.Cast(\"{}\", {})` keeps the lowest {} bits", t.str(), value, t.bits)));
  return false;
}

auto to_expr_like(Evaluator& evaluator, const Argument& a, DataType like) -> Expr {
  DataType element = like.element();
  if (a.value.is_int() || a.value.is_bool()) {
    if (element.is_bool() && a.value.is_int()) { return to_expr(evaluator, a); }
    if (element.is_integral() && !a.value.is_bool()) {
      if (!fits(evaluator, a.value.int_value(), element, a.where)) { return {}; }
      return int_imm(a.value.int_value(), element, a.where);
    }
    if (element.is_real() && a.value.is_int()) { return float_imm(static_cast<double>(a.value.int_value()), element, a.where); }
  }
  if (const auto* w = a.value.as<eval::WideInt>()) {
    if (element.is_real()) { return float_imm(static_cast<double>(w->bits), element, a.where); }
    if (!element.is_bool() && !(element == DataType::uint(64))) {
      evaluator.report(error(Code::IntegerOverflow, a.where).arg("what", a.value.repr() + " as `" + element.str() + "`"));
      return {};
    }
  }
  if (const auto* m = a.value.as<MetaObject>()) { return to_expr_like(evaluator, {m->value, a.where, {}}, like); }
  if (a.value.is_float() && element.is_real()) { return float_imm(a.value.float_value(), element, a.where); }
  return to_expr(evaluator, a);
}

auto to_dtype(Evaluator& evaluator, const Argument& a) -> std::optional<DataType> {
  if (const auto* t = a.value.as<DtypeObject>()) { return t->dtype; }
  if (const std::string* s = a.value.string()) {
    if (s->empty()) { return DataType::void_(); }
    if (auto t = DataType::parse(*s)) { return t; }
    static const std::vector<Name> common = {"float16", "float32", "float64", "bfloat16", "int8", "int16", "int32", "int64",
                                             "uint8", "uint16", "uint32", "uint64", "bool", "handle", "void"};
    // Names of other languages.
    static const std::unordered_map<std::string_view, Name> elsewhere = {
        {"fp16", "float16"}, {"half", "float16"}, {"fp32", "float32"}, {"single", "float32"}, {"fp64", "float64"}, {"double", "float64"},
        {"bf16", "bfloat16"}, {"long", "int64"}, {"i8", "int8"}, {"i16", "int16"}, {"i32", "int32"}, {"i64", "int64"},
        {"u8", "uint8"}, {"u16", "uint16"}, {"u32", "uint32"}, {"u64", "uint64"}, {"f16", "float16"}, {"f32", "float32"}, {"f64", "float64"}};
    Diagnostic d = error(Code::UnknownDtype, a.where).arg("name", *s);
    auto other = elsewhere.find(*s);
    if (Name near = other == elsewhere.end() ? eval::closest_name(Name(*s), common) : other->second; !near.empty()) {
      (void)std::move(d).remedy("did you mean `\"" + near.str() + "\"`?").fix(a.where, "\"" + near.str() + "\"");
    }
    evaluator.report(std::move(d));
    return {};
  }
  if (const auto* v = a.value.as<ExprObject>()) {
    if (const auto* s = v->expr.as<StringImm>()) { return DataType::parse(s->value); }
  }
  if (!a.value.is_unknown()) { evaluator.report(error(Code::WrongType, a.where).arg("expected", "a data type").arg("found", describe(a.value))); }
  return {};
}

auto to_attr(Evaluator& evaluator, const Argument& a) -> std::optional<Attr> {
  const Value& v = a.value;
  if (v.is_unknown()) { return {}; }
  if (v.is_none()) { return Attr(); }
  if (const std::string* s = v.string()) { return Attr(*s); }
  if (const auto* items = v.items()) {
    std::vector<Attr> out;
    for (const Value& item : *items) {
      auto one = to_attr(evaluator, {item, a.where, {}});
      if (!one) { return {}; }
      out.push_back(std::move(*one));
    }
    return Attr(Array<Attr>(std::move(out)));
  }
  if (v.as<eval::Dict>()) {
    auto map = to_attrs(evaluator, a);
    if (!map) { return {}; }
    return Attr(std::move(*map));
  }
  if (const auto* o = v.as<AttrObject>()) { return o->attr; }
  if (const auto* t = v.as<DtypeObject>()) { return Attr(t->dtype.str()); }
  if (const auto* b = v.as<BufferObject>()) { return Attr(Expr(b->buffer->data)); }
  if (const auto* r = v.as<RegionObject>()) {
    std::vector<Attr> parts{Attr(Expr(r->region.buffer->data))};
    for (const Range& range : r->region.region) { parts.emplace_back(Array<Attr>{Attr(range.min), Attr(range.extent)}); }
    return Attr(Array<Attr>(std::move(parts)));
  }
  Expr e = to_expr(evaluator, a);
  if (!e) { return {}; }
  return Attr(std::move(e));
}

auto to_attrs(Evaluator& evaluator, const Argument& a) -> std::optional<AttrMap> {
  const auto* dict = a.value.as<eval::Dict>();
  if (!dict) {
    if (a.value.is_none()) { return AttrMap(); }
    if (!a.value.is_unknown()) { evaluator.report(error(Code::WrongType, a.where).arg("expected", "a dict of attributes").arg("found", describe(a.value))); }
    return {};
  }
  std::vector<std::pair<Name, Attr>> out;
  for (const auto& [key, value] : dict->entries()) {
    const std::string* name = key.string();
    if (!name) {
      evaluator.report(error(Code::WrongType, a.where).arg("expected", "a str as key").arg("found", describe(key)));
      return {};
    }
    auto attr = to_attr(evaluator, {value, a.where, {}});
    if (!attr) { return {}; }
    out.emplace_back(Name(*name), std::move(*attr));
  }
  std::sort(out.begin(), out.end(), [](const auto& x, const auto& y) { return x.first < y.first; });
  return AttrMap(std::move(out));
}

auto to_exprs(Evaluator& evaluator, const Argument& a, std::vector<Expr>& out) -> bool {
  if (const auto* items = a.value.items()) {
    bool good = true;
    for (const Value& item : *items) {
      Expr e = to_expr(evaluator, {item, a.where, {}});
      good &= bool(e);
      if (e) { out.push_back(std::move(e)); }
    }
    return good;
  }
  if (a.value.is_unknown()) { return false; }
  Expr e = to_expr(evaluator, a);
  if (e) { out.push_back(e); }
  return bool(e);
}

auto difference(const Expr& stop, const Expr& start) -> Expr {
  if (is_zero(start)) { return stop; }
  if (const auto* sum = stop.as<Add>()) {
    if (arith_deep_equal(sum->a, start)) { return sum->b; }
    if (arith_deep_equal(sum->b, start)) { return sum->a; }
  }
  return simplified(sub(stop, start));
}

// A scalable vector counts in multiples of vscale.
auto is_scalable(const Expr& lanes) -> bool {
  const auto* product = lanes.as<Mul>();
  auto is_vscale = [](const Expr& e) { const auto* c = e.as<Call>(); return c && c->op == "vscale"; };
  return product && (is_vscale(product->a) || is_vscale(product->b));
}

auto region_load(Evaluator& evaluator, const BufferRegion& region, Origin where) -> Expr {
  std::vector<Expr> indices;
  for (const Range& r : region.region) {
    if (is_one(r.extent)) {
      indices.push_back(r.min);
    } else if (auto lanes = as_int(r.extent); lanes && *lanes > 0 && *lanes <= 65535) {
      indices.push_back(make<Ramp>(r.min, one(r.min.dtype()), int_imm(*lanes), r.min.origin()));
    } else if (is_scalable(r.extent)) {
      indices.push_back(make<Ramp>(r.min, one(r.min.dtype()), r.extent, r.min.origin()));
    } else {
      evaluator.report(error(Code::WrongType, where).arg("expected", "a value").arg("found", "a region whose size is not a constant"));
      return {};
    }
  }
  return make<BufferLoad>(region.buffer, std::move(indices), where);
}

auto to_indices(Evaluator& evaluator, const Buffer& buffer, const std::vector<Argument>& indices, Origin where, std::vector<Expr>& out) -> bool {
  if (indices.size() != buffer->shape.size()) {
    Diagnostic d = error(Code::WrongIndexCount, where).arg("buffer", buffer->name.view()).arg("dims", static_cast<int64_t>(buffer->shape.size())).arg("count", static_cast<int64_t>(indices.size()));
    if (buffer->origin.is_known()) { (void)std::move(d).note(buffer->origin, "`" + buffer->name.str() + "` is declared here"); }
    evaluator.report(std::move(d));
    return false;
  }
  bool good = true;
  for (size_t i = 0; i < indices.size(); ++i) {
    const Argument& index = indices[i];
    DataType like = buffer->shape[i].dtype();
    if (const auto* slice = index.value.as<eval::SliceObject>()) {
      Expr start = slice->lower.value.is_none() ? zero(like) : to_expr(evaluator, slice->lower);
      Expr stop = slice->upper.value.is_none() ? buffer->shape[i] : to_expr(evaluator, slice->upper);
      Expr step = slice->step.value.is_none() ? one(start ? start.dtype() : like) : to_expr(evaluator, slice->step);
      if (!start || !stop || !step) { good = false; continue; }
      if (!match_types(stop, start) || !match_types(step, start)) { good = false; continue; }
      Expr count = difference(stop, start);
      if (auto by = as_int(step); by && *by < 0) {
        // As Python counts: 4:0:-1 is 4, 3, 2, 1.
        Expr down = constant_int(step.dtype(), -*by);
        count = simplified(floordiv(add(difference(start, stop), sub(down, one(step.dtype()))), down));
      } else if (!is_one(step)) {
        count = simplified(floordiv(add(count, sub(step, one(step.dtype()))), step));
      }
      auto lanes = as_int(count);
      if (lanes == 1) {
        out.push_back(start);
      } else if (lanes && *lanes > 0 && *lanes <= 65535) {
        out.push_back(make<Ramp>(start, step, int_imm(*lanes), index.where));
      } else {
        if (is_scalable(count)) {
          out.push_back(make<Ramp>(start, step, count, index.where));
        } else {
          evaluator.report(error(Code::WrongType, index.where).arg("expected", "a slice of constant size").arg("found", "one of another size"));
          good = false;
        }
      }
      continue;
    }
    if (index.value.is_float()) {
      evaluator.report(error(Code::WrongType, index.where).arg("expected", "an integer index").arg("found", describe(index.value)));
      good = false;
      continue;
    }
    Expr e = to_expr(evaluator, index);
    if (!e) { good = false; continue; }
    if (!e.dtype().is_integral()) {
      evaluator.report(error(Code::WrongType, index.where).arg("expected", "an integer index").arg("found", describe(index.value)));
      good = false;
      continue;
    }
    if (const auto* imm = e.as<IntImm>()) {
      auto size = as_int(buffer->shape[i]);
      if (imm->value < 0 || (size && imm->value >= *size)) {
        Diagnostic d = error(Code::IndexOutOfBounds, index.where).arg("index", imm->value).arg("buffer", buffer->name.view()).arg("dim", static_cast<int64_t>(i)).arg("size", size ? std::to_string(*size) : "unknown size");
        if (buffer->origin.is_known()) { (void)std::move(d).note(buffer->origin, "`" + buffer->name.str() + "` is declared here"); }
        if (size && imm->value < 0 && imm->value >= -*size) {
          std::string meant = std::to_string(*size + imm->value);
          (void)std::move(d).remedy("indices do not count from the end as in Python: write `" + meant + "`").fix(index.where, meant);
        }
        // The program can be printed and compared even so.
        evaluator.report(std::move(d));
      }
    }
    out.push_back(std::move(e));
  }
  return good;
}

auto to_region(Evaluator& evaluator, const Argument& a) -> std::optional<BufferRegion> {
  if (const auto* r = a.value.as<RegionObject>()) { return r->region; }
  if (const auto* b = a.value.as<BufferObject>()) {
    BufferRegion out = full_region(b->buffer);
    out.origin = a.where;
    return out;
  }
  if (const auto* e = a.value.as<ExprObject>()) {
    if (const auto* load = e->expr.as<BufferLoad>()) {
      std::vector<Range> region;
      for (const Expr& index : load->indices) {
        if (const auto* ramp = index.as<Ramp>()) {
          region.push_back({ramp->base, is_one(ramp->stride) ? cast(ramp->base.dtype(), ramp->lanes) : mul(ramp->stride, cast(ramp->stride.dtype(), ramp->lanes))});
        } else {
          region.push_back(point(index));
        }
      }
      return BufferRegion{load->buffer, std::move(region), a.where};
    }
  }
  if (!a.value.is_unknown()) { evaluator.report(error(Code::WrongType, a.where).arg("expected", "a region of a buffer").arg("found", describe(a.value))); }
  return {};
}

namespace {

// A chain of operators in a text may have 3,000 links.
constexpr int deepest_expression = 3200;
constexpr int64_t largest_expression = 1'000'000;

/// With a stack of its own: what is measured may be deeper than the machine's.
auto is_within(const Expr& root, int depth, int64_t& nodes) -> bool {
  std::vector<std::pair<Expr, int>> left{{root, depth}};
  while (!left.empty()) {
    auto [x, below] = std::move(left.back());
    left.pop_back();
    if (below == 0 || --nodes < 0) { return false; }
    switch (x.kind()) {
      case NodeKind::VarNode: case NodeKind::IntImm: case NodeKind::FloatImm: case NodeKind::StringImm: continue;
      default: break;
    }
    visit_children(x, [&left, next = below - 1](const Expr& child) { left.emplace_back(child, next); });
  }
  return true;
}

}  // namespace

auto is_bearable(Evaluator& evaluator, const Expr& expr, Origin where) -> bool {
  int64_t nodes = largest_expression;
  if (is_within(expr, deepest_expression, nodes)) { return true; }
  if (nodes < 0) { evaluator.report(error(Code::TooMuchWork, where).arg("what", "an expression of more than " + std::to_string(largest_expression) + " parts")); }
  else { evaluator.report(error(Code::TooDeep, where).arg("limit", static_cast<int64_t>(deepest_expression))); }
  return false;
}

// ---- operators ---------------------------------------------------------------------------------------------------

auto match_operands(Evaluator& evaluator, std::string_view op, Expr& a, Origin a_at, Expr& b, Origin b_at, Origin where) -> bool {
  if (a.dtype() == b.dtype() || match_types(a, b)) { return true; }
  evaluator.report(error(Code::TypeMismatch, where).arg("op", op).arg("left", a.dtype().str()).arg("right", b.dtype().str())
                       .note(a_at, "this is " + scalar_text(a.dtype())).note(b_at, "this is " + scalar_text(b.dtype())));
  return false;
}

auto make_binary(Evaluator& evaluator, BinaryOp op, Expr a, Origin a_at, Expr b, Origin b_at, Origin where) -> Expr {
  if (!match_operands(evaluator, symbol(op), a, a_at, b, b_at, where)) { return {}; }
  DataType t = a.dtype();
  auto needs_integers = [&]() {
    if (t.is_integral()) { return true; }
    Diagnostic wrong = error(Code::BadOperands, where).arg("op", symbol(op)).arg("left", scalar_text(t)).arg("right", scalar_text(t));
  if (op == BinaryOp::Pow) { (void)std::move(wrong).remedy("powers are written `T.pow(a, b)`"); }
  evaluator.report(std::move(wrong));
    return false;
  };
  auto call = [&](const char* name) -> Expr {
    if (!needs_integers()) { return {}; }
    return make<Call>(t, Name(name), Array<Expr>{a, b}, where);
  };
  if (t.is_handle() && op != BinaryOp::Add && op != BinaryOp::Sub) {
    evaluator.report(error(Code::BadOperands, where).arg("op", symbol(op)).arg("left", "a handle").arg("right", "a handle"));
    return {};
  }
  // TVM 0.19 folds constants and drops neutral operands (`x * 1` is `x`) where a program says them by signs; its main line does not.
  const Lowerer* lowerer = Lowerer::of(evaluator);
  bool folds = !lowerer || !lowerer->rebinds_names();
  switch (op) {
    case BinaryOp::Add: return folds ? add(a, b, where) : make<Add>(a, b, where);
    case BinaryOp::Sub: return folds ? sub(a, b, where) : make<Sub>(a, b, where);
    case BinaryOp::Mul: return folds ? mul(a, b, where) : make<Mul>(a, b, where);
    case BinaryOp::Div: return folds ? div(a, b, where) : make<Div>(a, b, where);
    case BinaryOp::FloorDiv:
    case BinaryOp::Mod: {
      if (is_zero(b) && t.is_integral()) {
        evaluator.report(error(Code::DivisionByZero, b_at));
        return {};
      }
      if (op == BinaryOp::FloorDiv) { return folds ? floordiv(a, b, where) : make<FloorDiv>(a, b, where); }
      return folds ? floormod(a, b, where) : make<FloorMod>(a, b, where);
    }
    case BinaryOp::BitAnd: { static const Name n("bitwise_and"); return call(n.str().c_str()); }
    case BinaryOp::BitOr: return call("bitwise_or");
    case BinaryOp::BitXor: return call("bitwise_xor");
    case BinaryOp::ShiftLeft: return call("shift_left");
    case BinaryOp::ShiftRight: return call("shift_right");
    case BinaryOp::Pow: case BinaryOp::MatMul: break;
  }
  Diagnostic wrong = error(Code::BadOperands, where).arg("op", symbol(op)).arg("left", scalar_text(t)).arg("right", scalar_text(t));
  if (op == BinaryOp::Pow) { (void)std::move(wrong).remedy("powers are written `T.pow(a, b)`"); }
  evaluator.report(std::move(wrong));
  return {};
}

namespace {

// Operands that are no expressions leave the answer to the evaluator ("cannot be applied").
auto is_operand(const Value& v) -> bool {
  return v.is_int() || v.is_bool() || v.is_float() || v.as<MetaObject>() || v.as<eval::WideInt>() || v.as<ExprObject>() || v.as<RegionObject>() || v.as<IterVarObject>();
}

auto binary_op(Evaluator& evaluator, BinaryOp op, const Argument& self, const Argument& other, bool reflected, Origin where) -> std::optional<Value> {
  if (!is_operand(other.value) || op == BinaryOp::MatMul) { return {}; }
  Expr a = to_expr(evaluator, self);
  if (!a) { return Value::error(); }
  // A literal has a type of its own, int32 or float32, and the two are matched; in comparisons it takes that of the other side.
  Expr b = to_expr(evaluator, other);
  if (!b) { return Value::error(); }
  Argument self_at = self;
  if (reflected) {
    Expr out = make_binary(evaluator, op, std::move(b), other.where, std::move(a), self.where, where);
    return out ? Value(make_object<ExprObject>(std::move(out))) : Value::error();
  }
  Expr out = make_binary(evaluator, op, std::move(a), self.where, std::move(b), other.where, where);
  return out ? Value(make_object<ExprObject>(std::move(out))) : Value::error();
}

auto compare_op(Evaluator& evaluator, CompareOp op, const Argument& self, const Argument& other, bool reflected, Origin where) -> std::optional<Value> {
  if (!is_operand(other.value)) { return {}; }
  Expr a = to_expr(evaluator, self);
  if (!a) { return Value::error(); }
  Expr b = to_expr_like(evaluator, other, a.dtype());
  if (!b) { return Value::error(); }
  Origin a_at = self.where;
  Origin b_at = other.where;
  if (reflected) {
    std::swap(a, b);
    std::swap(a_at, b_at);
  }
  if (!match_operands(evaluator, symbol(op), a, a_at, b, b_at, where)) { return Value::error(); }
  // Outside of programs a constant is its number: `annotations["unrolled"] == T.bool(True)`.
  auto left = as_int(a);
  auto right = as_int(b);
  if (left && right && !Lowerer::of(evaluator)) {
    switch (op) {
      case CompareOp::Eq: return Value(*left == *right);
      case CompareOp::Ne: return Value(*left != *right);
      case CompareOp::Lt: return Value(*left < *right);
      case CompareOp::Le: return Value(*left <= *right);
      case CompareOp::Gt: return Value(*left > *right);
      case CompareOp::Ge: return Value(*left >= *right);
      default: return {};
    }
  }
  Expr out;
  switch (op) {
    case CompareOp::Eq: out = make<EQ>(a, b, where); break;
    case CompareOp::Ne: out = make<NE>(a, b, where); break;
    case CompareOp::Lt: out = make<LT>(a, b, where); break;
    case CompareOp::Le: out = make<LE>(a, b, where); break;
    case CompareOp::Gt: out = make<GT>(a, b, where); break;
    case CompareOp::Ge: out = make<GE>(a, b, where); break;
    default: return {};
  }
  return make_object<ExprObject>(std::move(out));
}

auto unary_op(Evaluator& evaluator, UnaryOp op, const Expr& x, Origin where) -> std::optional<Value> {
  switch (op) {
    case UnaryOp::Plus: return make_object<ExprObject>(x);
    case UnaryOp::Negate:
      if (x.dtype().is_handle()) { return {}; }
      return make_object<ExprObject>(mul(x, constant_int(x.dtype(), -1, where), where));
    case UnaryOp::Invert: {
      if (!x.dtype().is_integral()) { return {}; }
      static const Name bitwise_not("bitwise_not");
      return make_object<ExprObject>(make<Call>(x.dtype(), bitwise_not, Array<Expr>{x}, where));
    }
    case UnaryOp::Not:
      if (!x.dtype().is_bool()) {
        evaluator.report(error(Code::WrongType, x.origin().is_known() ? x.origin() : where).arg("expected", "a condition").arg("found", "an expression of type " + scalar_text(x.dtype())));
        return Value::error();
      }
      return make_object<ExprObject>(make<Not>(x, where));
  }
  return {};
}

}  // namespace

auto ExprObject::binary(Evaluator& e, BinaryOp op, const Argument& self, const Argument& other, bool reflected, Origin where) const
    -> std::optional<Value> {
  return binary_op(e, op, self, other, reflected, where);
}
auto ExprObject::compare(Evaluator& e, CompareOp op, const Argument& self, const Argument& other, bool reflected, Origin where) const
    -> std::optional<Value> {
  return compare_op(e, op, self, other, reflected, where);
}
auto ExprObject::unary(Evaluator& e, UnaryOp op, Origin where) const -> std::optional<Value> { return unary_op(e, op, expr, where); }
auto ExprObject::choose(Evaluator& e, const Argument& self, const Argument& then, const Argument& otherwise, Origin where) const -> std::optional<Value> {
  Expr condition = to_expr(e, self);
  if (!condition || !condition.dtype().is_bool() || !condition.dtype().is_scalar()) { return {}; }
  Expr a = to_expr(e, then);
  Expr b = to_expr(e, otherwise);
  if (!a || !b || !match_operands(e, "if", a, then.where, b, otherwise.where, where)) { return Value::error(); }
  return Value(make_object<ExprObject>(if_then_else(condition, a, b, where)));
}

auto ExprObject::logical(Evaluator& e, bool is_and, const Argument& left, const Argument& right, Origin where) const -> std::optional<Value> {
  Expr a = to_expr(e, left);
  Expr b = to_expr(e, right);
  if (!a || !b) { return Value::error(); }
  bool good = true;
  for (const auto& [x, at] : {std::pair(a, left.where), std::pair(b, right.where)}) {
    if (x.dtype().is_bool()) { continue; }
    e.report(error(Code::WrongType, at).arg("expected", "a condition").arg("found", "an expression of type " + scalar_text(x.dtype())));
    good = false;
  }
  if (!good) { return Value::error(); }
  if (!match_operands(e, is_and ? "and" : "or", a, left.where, b, right.where, where)) { return Value::error(); }
  if (!a.dtype().is_scalar()) {
    // Of vectors, element by element.
    static const Name bitwise_and("bitwise_and"), bitwise_or("bitwise_or");
    return make_object<ExprObject>(Expr(make<Call>(a.dtype(), is_and ? bitwise_and : bitwise_or, Array<Expr>{a, b}, where)));
  }
  Expr out = is_and ? Expr(make<And>(a, b, where)) : Expr(make<Or>(a, b, where));
  return make_object<ExprObject>(std::move(out));
}
auto ExprObject::type_name() const -> std::string_view {
  if (described_.empty()) {
    const auto* v = expr.as<VarNode>();
    described_ = (v && !v->name.empty() ? "`" + v->name.str() + "` of type `" : "an expression of type `") + expr.dtype().str() + "`";
  }
  return described_;
}
auto ExprObject::repr() const -> std::string {
  const auto* v = expr.as<VarNode>();
  if (v) { return v->name.str(); }
  if (const auto* s = expr.as<StringImm>()) { return "'" + s->value + "'"; }
  if (const auto* i = expr.as<IntImm>()) { return std::to_string(i->value); }
  if (const auto* f = expr.as<FloatImm>()) { return Value(f->value).repr(); }
  return print_script(expr);
}
auto ExprObject::equals(const Object& other) const -> bool {
  const auto* o = other.as<ExprObject>();
  return o && o->expr == expr;
}
auto ExprObject::get_item(Evaluator& e, const std::vector<Argument>& indices, bool is_tuple, Origin where) const -> std::optional<Value> {
  // The bytes of a pointer cannot be indexed; a vector's lanes can, by T.Shuffle.
  return {};
}

namespace {

auto method(const Value& self, const char* name, eval::Method::Run run) -> Value { return make_object<eval::Method>(self, Name(name), run); }

auto astype(Evaluator& e, const Value& self, const Arguments& a) -> Value {
  eval::BoundArguments b;
  static const std::vector<eval::Parameter> parameters = {{"dtype"}};
  if (!bind_arguments(e, "astype", a, parameters, b)) { return Value::error(); }
  auto t = to_dtype(e, b.values[0]);
  Expr x = to_expr(e, {self, a.callee, {}});
  if (!t || !x) { return Value::error(); }
  return make_object<ExprObject>(cast(*t, x, a.call));
}

auto is_same_expr(Evaluator& e, const Value& self, const Arguments& a) -> Value {
  eval::BoundArguments b;
  if (!bind_arguments(e, "same_as", a, {{"other"}}, b)) { return b.unknown; }
  const auto* other = b.values[0].value.as<ExprObject>();
  return Value(other && self.as<ExprObject>()->expr == other->expr);
}

auto first_pointer(Evaluator& e, const Value& self, const Arguments& a) -> Value {
  static const std::vector<eval::Parameter> parameters = {{"access_mask"}, {"ptr_type", false}, {"content_lanes", false}, {"offset", false}, {"extent", false}};
  eval::BoundArguments b;
  if (!bind_arguments(e, "access_ptr", a, parameters, b)) { return Value::error(); }
  const Buffer& buffer = self.as<BufferObject>()->buffer;
  int64_t mask = 0;
  if (const std::string* s = b.values[0].value.string()) {
    for (char c : *s) {
      if (c != 'r' && c != 'w') {
        return e.report(error(Code::WrongType, b.values[0].where).arg("expected", "`\"r\"`, `\"w\"` or `\"rw\"`").arg("found", "`\"" + *s + "\"`"));
      }
      mask |= c == 'r' ? 1 : 2;
    }
  } else {
    mask = b.values[0].value.to_int().value_or(0);
  }
  Expr elements;
  // Rewrites of shapes leave strides behind: only those that belong to the shape count.
  if (!buffer->strides.empty() && !buffer->shape.empty()) {
    elements = mul(buffer->strides[0], buffer->shape[0]);
  } else {
    elements = int_imm(1);
    for (const Expr& s : buffer->shape) { elements = mul(elements, s); }
  }
  Expr elem_offset = buffer->elem_offset ? buffer->elem_offset : int_imm(0);
  Expr given_offset = b.given[3] ? to_expr(e, b.values[3]) : int_imm(0);
  if (!given_offset) { return Value::error(); }
  Expr offset = add(elem_offset, given_offset);
  Expr extent = b.given[4] && !b.values[4].value.is_none() ? to_expr(e, b.values[4]) : sub(elements, given_offset);
  if (!extent) { return Value::error(); }
  int64_t lanes = b.given[2] ? b.values[2].value.to_int().value_or(1) : 1;
  if (lanes > 1) {
    offset = floordiv(offset, int_imm(lanes));
    extent = floordiv(extent, int_imm(lanes));
  }
  static const Name type_annotation("type_annotation");
  static const Name access_ptr("tvm_access_ptr");
  DataType content = buffer->dtype.with_lanes(static_cast<int>(lanes) * buffer->dtype.lanes);
  Expr type = make<Call>(content, type_annotation, Array<Expr>{}, a.call);
  return make_object<ExprObject>(make<Call>(DataType::handle(), access_ptr, Array<Expr>{type, buffer->data, offset, extent, int_imm(mask)}, a.call));
}

auto as_arguments(const Argument& a) -> std::vector<Argument> {
  std::vector<Argument> out;
  if (const auto* items = a.value.items()) {
    for (const Value& item : *items) { out.push_back({item, a.where, {}}); }
  } else {
    out.push_back(a);
  }
  return out;
}

auto vload(Evaluator& e, const Value& self, const Arguments& a) -> Value {
  static const std::vector<eval::Parameter> parameters = {{"begin"}, {"dtype", false}, {"predicate", false}};
  eval::BoundArguments b;
  if (!bind_arguments(e, "vload", a, parameters, b)) { return Value::error(); }
  const Buffer& buffer = self.as<BufferObject>()->buffer;
  std::vector<Expr> indices;
  if (!to_indices(e, buffer, as_arguments(b.values[0]), a.call, indices)) { return Value::error(); }
  Expr predicate;
  if (b.given[2] && !b.values[2].value.is_none()) {
    predicate = to_expr(e, b.values[2]);
    if (!predicate) { return Value::error(); }
  }
  if (b.given[1] && !b.values[1].value.is_none()) {
    auto t = to_dtype(e, b.values[1]);
    if (!t) { return Value::error(); }
    int lanes = t->lanes / std::max<int>(1, buffer->dtype.lanes);
    if (lanes > 1 && !indices.empty() && indices.back().dtype().is_scalar()) {
      Expr last = indices.back();
      indices.back() = make<Ramp>(last, one(last.dtype()), int_imm(lanes), a.call);
    }
  }
  return make_object<ExprObject>(make<BufferLoad>(buffer, std::move(indices), a.call, predicate));
}
// `A.ptr_to([i])`: the address of an element.
auto pointer_to(Evaluator& e, const Value& self, const Arguments& a) -> Value {
  static const std::vector<eval::Parameter> parameters = {{"indices"}};
  static const Name address_of("address_of");
  eval::BoundArguments b;
  if (!bind_arguments(e, "ptr_to", a, parameters, b)) { return b.unknown.is_unknown() ? b.unknown : Value::error(); }
  const Buffer& buffer = self.as<BufferObject>()->buffer;
  std::vector<Expr> indices;
  if (!to_indices(e, buffer, as_arguments(b.values[0]), a.call, indices)) { return Value::error(); }
  Expr element = make<BufferLoad>(buffer, std::move(indices), a.call);
  return make_object<ExprObject>(make<Call>(DataType::handle(), address_of, Array<Expr>{std::move(element)}, a.call));
}
auto vstore(Evaluator& e, const Value& self, const Arguments& a) -> Value {
  static const std::vector<eval::Parameter> parameters = {{"begin"}, {"value"}, {"predicate", false}};
  eval::BoundArguments b;
  if (!bind_arguments(e, "vstore", a, parameters, b)) { return Value::error(); }
  const Buffer& buffer = self.as<BufferObject>()->buffer;
  std::vector<Expr> indices;
  if (!to_indices(e, buffer, as_arguments(b.values[0]), a.call, indices)) { return Value::error(); }
  Expr value = to_expr_like(e, b.values[1], buffer->dtype);
  if (!value) { return Value::error(); }
  int lanes = value.dtype().lanes / std::max<int>(1, buffer->dtype.lanes);
  if (lanes > 1 && !indices.empty() && indices.back().dtype().is_scalar()) {
    Expr last = indices.back();
    indices.back() = make<Ramp>(last, one(last.dtype()), int_imm(lanes), a.call);
  }
  Expr predicate;
  if (b.given[2] && !b.values[2].value.is_none()) {
    predicate = to_expr(e, b.values[2]);
    if (!predicate) { return Value::error(); }
  }
  return make_object<StmtObject>(make<BufferStore>(buffer, std::move(value), std::move(indices), a.call, predicate));
}
auto offset_of(Evaluator& e, const Value& self, const Arguments& a) -> Value {
  static const std::vector<eval::Parameter> parameters = {{"indices"}};
  eval::BoundArguments b;
  if (!bind_arguments(e, "offset_of", a, parameters, b)) { return Value::error(); }
  const Buffer& buffer = self.as<BufferObject>()->buffer;
  std::vector<Expr> indices;
  if (!to_indices(e, buffer, as_arguments(b.values[0]), a.call, indices)) { return Value::error(); }
  Expr offset;
  for (size_t i = 0; i < indices.size(); ++i) {
    if (buffer->strides.size() == indices.size()) {
      Expr term = mul(indices[i], buffer->strides[i]);
      offset = offset ? add(offset, term) : term;
    } else {
      offset = offset ? add(mul(offset, buffer->shape[i]), indices[i]) : indices[i];
    }
  }
  if (!offset) { offset = int_imm(0); }
  if (buffer->elem_offset) { offset = add(buffer->elem_offset, offset); }
  return Value::list({expr_value(offset)});
}
auto scope_of(Evaluator& e, const Value& self, const Arguments& a) -> Value { return Value::str(self.as<BufferObject>()->buffer->scope().str()); }

auto expr_list(const Array<Expr>& exprs) -> Value {
  std::vector<Value> out;
  for (const Expr& e : exprs) { out.push_back(expr_value(e)); }
  return Value::tuple(std::move(out));
}

// TVM's main line adds attributes: one that is nearly a known one is a mistake there too, others are not evaluated.
auto unknown_attribute(Evaluator& evaluator, Name name, const eval::Object& object) -> std::optional<Value> {
  const Lowerer* lowerer = Lowerer::of(evaluator);
  if (!lowerer || !lowerer->rebinds_names()) { return {}; }
  std::vector<Name> names;
  object.attribute_names(names);
  return eval::closest_name(name, names).empty() ? std::optional<Value>(Value::opaque()) : std::nullopt;
}

}  // namespace

auto ExprObject::get_attribute(Evaluator& evaluator, Name name, Origin where) const -> std::optional<Value> {
  static const Name dtype_name("dtype"), astype_name("astype"), same_name("same_as"), ty("ty"), source("source");
  if (name == dtype_name) { return Value::str(expr.dtype().str()); }
  if (name == ty) { return tensor ? Value(make_object<BufferObject>(tensor)) : Value(make_object<DtypeObject>(expr.dtype())); }
  // Tests of TVM's main line ask a parameter that is a tensor for its shape.
  if (static const Name shape("shape"); tensor && name == shape) { return make_object<BufferObject>(tensor)->get_attribute(evaluator, name, where); }
  if (name == astype_name) { return method(Value(this), "astype", astype); }
  if (name == same_name) { return method(Value(this), "same_as", is_same_expr); }
  if (const auto* l = expr.as<BufferLoad>(); l && name == source) { return make_object<BufferObject>(l->buffer); }
  if (auto member = member_of(expr, name)) { return member; }
  return unknown_attribute(evaluator, name, *this);
}
void ExprObject::attribute_names(std::vector<Name>& out) const {
  out.insert(out.end(), {Name("dtype"), Name("astype")});
  member_names(expr, out);
}

// ---- buffers and regions -----------------------------------------------------------------------------------------

auto BufferTypeObject::get_attribute(Evaluator&, Name name, Origin) const -> std::optional<Value> {
  static const Name own_name("__name__");
  return name == own_name ? std::optional(Value::str("Buffer")) : std::nullopt;
}

auto BufferObject::get_attribute(Evaluator& evaluator, Name name, Origin) const -> std::optional<Value> {
  if (static const Name cls("__class__"); name == cls) { return classes({"Buffer"}); }
  static const Name data("data"), shape("shape"), strides("strides"), elem_offset("elem_offset"), dtype("dtype"), name_name("name"),
      access_ptr("access_ptr"), vload_name("vload"), vstore_name("vstore"), offset_of_name("offset_of"), scope("scope"),
      data_alignment("data_alignment"), offset_factor("offset_factor"), axis_separators("axis_separators");
  if (name == data) { return make_object<ExprObject>(Expr(buffer->data)); }
  if (name == shape) { return expr_list(buffer->shape); }
  if (name == strides) { return expr_list(buffer->strides); }
  if (name == elem_offset) { return buffer->elem_offset ? expr_value(buffer->elem_offset) : Value(0); }
  if (name == dtype) { return Value::str(buffer->dtype.str()); }
  if (name == name_name) { return Value::str(buffer->name.str()); }
  // TVM's main line asks the type of a tensor for its shape and its dtype: what is known of both is one thing here.
  if (static const Name ty("ty"); name == ty) { return Value(this); }
  if (name == access_ptr) { return method(Value(this), "access_ptr", first_pointer); }
  if (name == vload_name) { return method(Value(this), "vload", vload); }
  if (name == vstore_name) { return method(Value(this), "vstore", vstore); }
  if (name == offset_of_name) { return method(Value(this), "offset_of", offset_of); }
  if (name == scope) { return method(Value(this), "scope", scope_of); }
  if (name == data_alignment) { return Value(buffer->data_alignment); }
  if (name == offset_factor) { return Value(buffer->offset_factor); }
  if (name == axis_separators) {
    std::vector<Value> out;
    for (int s : buffer->axis_separators) { out.emplace_back(s); }
    return Value::list(std::move(out));
  }
  if (static const Name ptr_to("ptr_to"); name == ptr_to) { return method(Value(this), "ptr_to", pointer_to); }
  // What TVM's main line has for layouts.
  static const Name others[] = {Name("view"), Name("local"), Name("permute"), Name("layout"), Name("storage"), Name("allocated_addr"), Name("partition"),
                                Name("tile"), Name("byte_offset"), Name("source"), Name("sub"), Name("rearrange"), Name("chunk"), Name("reshape")};
  if (std::find(std::begin(others), std::end(others), name) != std::end(others)) { return Value::opaque(); }
  return unknown_attribute(evaluator, name, *this);
}
void BufferObject::attribute_names(std::vector<Name>& out) const {
  for (const char* n : {"data", "shape", "strides", "elem_offset", "dtype", "name", "access_ptr", "vload", "vstore", "offset_of", "scope",
                        "data_alignment", "offset_factor", "axis_separators"}) {
    out.emplace_back(n);
  }
}
auto BufferObject::type_name() const -> std::string_view {
  if (described_.empty()) { described_ = buffer->name.empty() ? "a buffer" : "buffer `" + buffer->name.str() + "`"; }
  return described_;
}
auto BufferObject::repr() const -> std::string { return buffer->name.str(); }
auto BufferObject::equals(const Object& other) const -> bool {
  const auto* o = other.as<BufferObject>();
  return o && o->buffer == buffer;
}

// `A[iters]` where iters is a tuple or list of indices.
static auto spread(const std::vector<Argument>& indices) -> std::vector<Argument> {
  if (indices.size() != 1) { return indices; }
  const auto* meta = indices[0].value.as<MetaObject>();
  return as_arguments({meta ? meta->value : indices[0].value, indices[0].where, {}});
}

auto BufferObject::get_item(Evaluator& evaluator, const std::vector<Argument>& given, bool, Origin where) const -> std::optional<Value> {
  std::vector<Argument> indices = spread(given);
  // `A[i]` of a matrix is a row in TVM's main line, what operations on tiles take.
  const Lowerer* lowerer = Lowerer::of(evaluator);
  if (indices.size() < buffer->shape.size() && lowerer && lowerer->rebinds_names()) { return evaluator.opaque(where); }
  bool has_slice = false;
  bool has_step = false;
  for (const Argument& i : indices) {
    if (const auto* s = i.value.as<eval::SliceObject>()) {
      has_slice = true;
      has_step |= !s->step.value.is_none();
    }
  }
  if (!has_slice || has_step) {
    std::vector<Expr> out;
    if (!to_indices(evaluator, buffer, indices, where, out)) { return Value::error(); }
    return make_object<ExprObject>(make<BufferLoad>(buffer, std::move(out), where));
  }
  if (indices.size() != buffer->shape.size()) {
    std::vector<Expr> none;
    (void)to_indices(evaluator, buffer, indices, where, none);
    return Value::error();
  }
  std::vector<Range> region;
  for (size_t i = 0; i < indices.size(); ++i) {
    const auto* s = indices[i].value.as<eval::SliceObject>();
    if (!s) {
      Expr e = to_expr(evaluator, indices[i]);
      if (!e) { return Value::error(); }
      region.push_back(point(std::move(e)));
      continue;
    }
    Expr start = s->lower.value.is_none() ? Expr() : to_expr(evaluator, s->lower);
    Expr stop = s->upper.value.is_none() ? buffer->shape[i] : to_expr(evaluator, s->upper);
    if (!stop || (!start && !s->lower.value.is_none())) { return Value::error(); }
    if (!start) { start = zero(stop.dtype()); }
    if (!match_operands(evaluator, ":", start, s->lower.where, stop, s->upper.where, indices[i].where)) { return Value::error(); }
    Expr extent = difference(stop, start);
    region.push_back({std::move(start), std::move(extent)});
  }
  return make_object<RegionObject>(BufferRegion{buffer, std::move(region), where});
}

auto BufferObject::set_item(Evaluator& evaluator, const std::vector<Argument>& indices, bool, const Argument& value, Origin where) const -> bool {
  Lowerer* lowerer = Lowerer::of(evaluator);
  if (!lowerer) {
    evaluator.report(error(Code::OutsideProgram, where).arg("what", "a store to a buffer"));
    return true;
  }
  lowerer->store(buffer, spread(indices), value, where);
  return true;
}

// Slips that say what was meant: its elements.
auto BufferObject::call(Evaluator& e, const Arguments& a) const -> std::optional<Value> {
  return e.report(error(Code::NotCallable, a.callee).arg("what", std::string(type_name())).remedy("elements are named with brackets: `" + buffer->name.str() + "[...]`"));
}
auto BufferObject::binary(Evaluator& e, BinaryOp op, const Argument& self, const Argument& other, bool reflected, Origin where) const -> std::optional<Value> {
  const Argument& left = reflected ? other : self;
  const Argument& right = reflected ? self : other;
  return e.report(error(Code::BadOperands, where).arg("op", symbol(op)).arg("left", describe(left.value)).arg("right", describe(right.value))
                      .remedy("its elements are numbers: `" + buffer->name.str() + "[...]`"));
}

auto RegionObject::get_attribute(Evaluator& e, Name name, Origin where) const -> std::optional<Value> {
  static const Name buffer_name("buffer"), region_name("region"), cls("__class__");
  if (name == cls) { return classes({"BufferRegion"}); }
  if (name == buffer_name) { return make_object<BufferObject>(region.buffer); }
  if (name == region_name) {
    std::vector<Value> out;
    for (const Range& range : region.region) { out.push_back(make_object<DomainObject>(range)); }
    return Value::list(std::move(out));
  }
  Expr load = region_load(e, region, where);
  if (!load) { return Value::error(); }
  return make_object<ExprObject>(load)->get_attribute(e, name, where);
}
auto RegionObject::binary(Evaluator& e, BinaryOp op, const Argument& self, const Argument& other, bool reflected, Origin where) const
    -> std::optional<Value> {
  return binary_op(e, op, self, other, reflected, where);
}
auto RegionObject::compare(Evaluator& e, CompareOp op, const Argument& self, const Argument& other, bool reflected, Origin where) const
    -> std::optional<Value> {
  return compare_op(e, op, self, other, reflected, where);
}
auto RegionObject::unary(Evaluator& e, UnaryOp op, Origin where) const -> std::optional<Value> {
  Expr load = region_load(e, region, where);
  if (!load) { return Value::error(); }
  return unary_op(e, op, load, where);
}
auto RegionObject::repr() const -> std::string { return print_script(region); }

auto LoopSpec::value() const -> Expr { return step ? add(start, mul(var, step)) : Expr(var); }

auto MetaObject::get_attribute(Evaluator& e, Name name, Origin where) const -> std::optional<Value> { return e.attribute({value, where, {}}, name, where); }
auto MetaObject::get_item(Evaluator& e, const std::vector<Argument>& indices, bool is_tuple, Origin where) const -> std::optional<Value> {
  return value.object() ? value.object()->get_item(e, indices, is_tuple, where) : std::nullopt;
}
auto MetaObject::iterate(Evaluator& e, Origin where) const -> std::optional<std::vector<Value>> {
  auto items = e.iterate({value, where, {}});
  if (items) {
    // Each of them gives a name to a value, as the whole does.
    for (Value& item : *items) { item = make_object<MetaObject>(std::move(item)); }
  }
  return items;
}
auto MetaObject::binary(Evaluator& e, BinaryOp op, const Argument& self, const Argument& other, bool reflected, Origin where) const
    -> std::optional<Value> {
  Argument plain{value, self.where, {}};
  return reflected ? e.binary(op, other, plain, where) : e.binary(op, plain, other, where);
}
auto MetaObject::compare(Evaluator& e, CompareOp op, const Argument& self, const Argument& other, bool reflected, Origin where) const
    -> std::optional<Value> {
  Argument plain{value, self.where, {}};
  return reflected ? e.compare(op, other, plain, where) : e.compare(op, plain, other, where);
}
auto MetaObject::unary(Evaluator& e, UnaryOp op, Origin where) const -> std::optional<Value> { return e.unary(op, {value, where, {}}, where); }

// ---- types, functions, programs ----------------------------------------------------------------------------------

auto DtypeObject::get_attribute(Evaluator&, Name name, Origin) const -> std::optional<Value> {
  static const Name dtype_name("dtype");
  return name == dtype_name ? std::optional(Value::str(dtype.str())) : std::nullopt;
}
auto DtypeObject::equals(const Object& other) const -> bool {
  const auto* o = other.as<DtypeObject>();
  return o && o->dtype == dtype;
}

auto IterVarObject::binary(Evaluator& e, BinaryOp op, const Argument& self, const Argument& other, bool reflected, Origin where) const
    -> std::optional<Value> {
  return binary_op(e, op, self, other, reflected, where);
}
auto IterVarObject::compare(Evaluator& e, CompareOp op, const Argument& self, const Argument& other, bool reflected, Origin where) const
    -> std::optional<Value> {
  return compare_op(e, op, self, other, reflected, where);
}
auto IterVarObject::unary(Evaluator& e, UnaryOp op, Origin where) const -> std::optional<Value> { return unary_op(e, op, iter.var, where); }

auto IterVarObject::get_attribute(Evaluator&, Name name, Origin) const -> std::optional<Value> {
  static const Name var_name("var"), dom_name("dom"), iter_type("iter_type"), thread_tag("thread_tag");
  if (name == var_name) { return make_object<ExprObject>(Expr(iter.var)); }
  if (name == dom_name && iter.dom.extent) { return make_object<DomainObject>(iter.dom); }
  // TVM's numbers.
  if (name == iter_type) { return Value(iter.kind == IterKind::Spatial ? 0 : iter.kind == IterKind::Reduction ? 2 : iter.kind == IterKind::Scan ? 3 : 4); }
  if (static const Name cls("__class__"); name == cls) { return classes({"IterVar"}); }
  if (name == thread_tag) { return Value::str(iter.thread_tag.str()); }
  return {};
}
void IterVarObject::attribute_names(std::vector<Name>& out) const {
  for (const char* n : {"var", "dom", "iter_type", "thread_tag"}) { out.push_back(Name(n)); }
}

auto DomainObject::get_attribute(Evaluator&, Name name, Origin) const -> std::optional<Value> {
  static const Name min("min"), extent("extent");
  if (name == min) { return expr_value(range.min); }
  if (name == extent) { return expr_value(range.extent); }
  return {};
}
void DomainObject::attribute_names(std::vector<Name>& out) const {
  for (const char* n : {"min", "extent"}) { out.push_back(Name(n)); }
}
auto DomainObject::repr() const -> std::string { return "range(min=" + print_script(range.min) + ", extent=" + print_script(range.extent) + ")"; }

auto from_attr(const Attr& attr) -> Value {
  if (const auto* items = attr.list()) {
    std::vector<Value> out;
    for (const Attr& item : *items) { out.push_back(from_attr(item)); }
    return Value::list(std::move(out));
  }
  if (const std::string* text = attr.string()) { return Value::str(*text); }
  if (const auto* map = std::get_if<AttrMap>(&attr.value)) { return from_attrs(*map); }
  Expr e = attr.expr();
  if (!e) { return make_object<AttrObject>(attr); }
  if (const auto* s = e.as<StringImm>()) { return Value::str(s->value); }
  if (const auto* i = e.as<IntImm>()) { return e.dtype().is_bool() ? Value(i->value != 0) : Value(i->value); }
  if (const auto* f = e.as<FloatImm>()) { return Value(f->value); }
  return make_object<ExprObject>(e);
}
auto from_attrs(const AttrMap& attrs) -> Value {
  auto out = make_object<eval::Dict>();
  for (const auto& [key, attr] : attrs) { out->set(Value::str(key.str()), from_attr(attr)); }
  return out;
}

auto GlobalObject::call(Evaluator& e, const Arguments& a) const -> std::optional<Value> {
  std::vector<Expr> args;
  bool good = true;
  for (const Argument& argument : a.all) {
    if (const auto* b = argument.value.as<BufferObject>()) {
      args.push_back(b->buffer->data);
      continue;
    }
    Expr x = to_expr(e, argument);
    good &= bool(x);
    args.push_back(std::move(x));
  }
  if (!good) { return Value::error(); }
  return make_object<ExprObject>(make<Call>(returns, Name("@" + name.str()), std::move(args), a.call));
}

auto MacroObject::call(Evaluator& e, const Arguments& a) const -> std::optional<Value> {
  Lowerer* lowerer = Lowerer::of(e);
  if (!lowerer) { return e.report(error(Code::OutsideProgram, a.call).arg("what", "a call of a macro")); }
  return lowerer->expand(*this, a);
}

auto ProgramObject::get_attribute(Evaluator&, Name attribute, Origin at) const -> std::optional<Value> {
  if (!module) { return {}; }
  if (PrimFunc f = module->find(attribute)) { return make_object<ProgramObject>(module_of(f, module->dialect), attribute, true, where); }
  // with_attr and the like make programs of programs outside of what is evaluated here.
  static const Name with_attr("with_attr"), script("script"), show("show"), functions("functions");
  if (attribute == with_attr || attribute == functions) { return Value::opaque(); }
  if (is_function && module->functions.size() == 1) {
    const PrimFunc& func = module->functions[0].second;
    static const Name params("params"), buffer_map("buffer_map"), attrs("attrs");
    if (attribute == params) {
      std::vector<Value> out;
      for (const Var& param : func->params) {
        auto mapped = std::find_if(func->buffer_map.begin(), func->buffer_map.end(), [&](const auto& entry) { return entry.first == param; });
        out.push_back(make_object<ExprObject>(Expr(param), mapped == func->buffer_map.end() ? Buffer() : mapped->second));
      }
      return Value::list(std::move(out));
    }
    if (attribute == buffer_map) {
      auto out = make_object<eval::Dict>();
      for (const auto& [param, buffer] : func->buffer_map) { out->set(make_object<ExprObject>(Expr(param)), make_object<BufferObject>(buffer)); }
      return out;
    }
    if (attribute == attrs) { return from_attrs(func->attrs); }
  }
  auto method = [&](eval::Method::Run run) { return Value(Ref<eval::Object>(make_object<eval::Method>(Value(Ref<eval::Object>(this)), attribute, run).get())); };
  if (attribute == script) { return method([](Evaluator&, const Value& self, const eval::Arguments&) { return Value::str(self.as<ProgramObject>()->text()); }); }
  if (attribute == show) {
    return method([](Evaluator& e, const Value& self, const eval::Arguments&) {
      if (e.output) { e.output(self.as<ProgramObject>()->text() + "\n"); }
      return Value();
    });
  }
  return {};
}
void ProgramObject::attribute_names(std::vector<Name>& out) const {
  for (const char* n : {"script", "show"}) { out.push_back(Name(n)); }
  if (!is_function) { return; }
  for (const char* n : {"params", "buffer_map", "attrs"}) { out.push_back(Name(n)); }
}
auto ProgramObject::get_item(Evaluator& e, const std::vector<Argument>& indices, bool, Origin) const -> std::optional<Value> {
  const std::string* key = indices.size() == 1 ? indices[0].value.string() : nullptr;
  if (!key || !module) { return {}; }
  if (PrimFunc f = module->find(Name(*key))) { return make_object<ProgramObject>(module_of(f, module->dialect), Name(*key), true, where); }
  return e.report(error(Code::KeyNotFound, indices[0].where).arg("key", indices[0].value.repr()));
}
auto ProgramObject::text() const -> std::string {
  bool is_one = is_function && module && module->functions.size() == 1;
  return !module ? std::string() : is_one ? print_script(module->functions[0].second) : print_script(module);
}
auto ProgramObject::repr() const -> std::string { return "<program " + name.str() + ">"; }

}  // namespace loopsmith::frontend
