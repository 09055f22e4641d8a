// Converts values of scripts to expressions, types, attributes, indices and regions, and back: the functions `to_...` and `from_...` of objects.h.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "eval/wide_int.h"
#include "frontend/ir_builder.h"
#include "frontend/lowerer.h"
#include "frontend/objects.h"
#include "frontend/thread_level.h"
#include "ir/ops.h"
#include "ir/visitor.h"
#include "support/codes.h"

namespace loopsmith::frontend {

using eval::make_object;

auto expr_value(Expr expr) -> Value {
  if (!expr) { return Value::error(); }
  if (const auto* imm = expr.as<IntImm>(); imm && imm->dtype == DataType::int_(32)) { return Value(imm->value); }
  return make_object<ExprObject>(std::move(expr));
}

auto to_expr(Evaluator& evaluator, const Argument& a) -> Expr {
  const Value& v = a.value;
  if (const auto* word = v.as<ThreadWord>()) {
    note_thread_level(evaluator, word->path.view(), a.where);
    evaluator.opaque(a.where);
    return {};
  }
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
  if (const auto* p = v.as<PointerObject>()) { return p->buffer->data; }
  if (const auto* b = v.as<BufferObject>()) {
    Diagnostic d = error(Code::WrongType, a.where).arg("expected", "an expression").arg("found", describe(v));
    evaluator.report(std::move(d).remedy("index it, `" + b->buffer->name.str() + "[...]`, or take its pointer, `" + b->buffer->name.str() + ".data`"));
    return {};
  }
  if (evaluator.is_known_tuple(v)) { return {}; }
  Diagnostic wrong = error(Code::WrongType, a.where).arg("expected", "an expression").arg("found", describe(v));
  if (std::string remedy = eval::unpacking(v); !remedy.empty()) { (void)std::move(wrong).remedy(std::move(remedy)); }
  if (const auto* one = v.as<eval::Tuple>(); one && one->items.size() == 1) { (void)std::move(wrong).remedy("take its only value with `[0]`"); }
  if (v.as<DtypeObject>()) { (void)std::move(wrong).remedy("write a value of that type: `" + v.as<DtypeObject>()->repr() + "(...)`"); }
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
  evaluator.report(error(Code::NumberDoesNotFit, where).arg("value", value).arg("type", t.str()).arg("low", low).arg("high", most)
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
    if (s->starts_with("custom[")) {
      // A Python extension registers this type: programs with it are not checked.
      if (Lowerer* lowerer = Lowerer::of(evaluator)) { lowerer->mark_opaque(); }
      evaluator.opaque(a.where);
      return {};
    }
    static const std::vector<Name> common = {"float16", "float32", "float64", "bfloat16", "int8", "int16", "int32", "int64",
                                             "uint8", "uint16", "uint32", "uint64", "bool", "handle", "void"};
    // Names of types in other languages.
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

// The number of lanes of a scalable vector is a multiple of vscale.
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
        // As in Python: 4:0:-1 is 4, 3, 2, 1.
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
    Expr e = to_expr(evaluator, index);
    if (!e) { good = false; continue; }
    if (!e.dtype().is_integral()) {
      Diagnostic d = error(Code::WrongType, index.where).arg("expected", "an integer index").arg("found", describe(index.value));
      if (!e.dtype().is_real()) {
        evaluator.report(std::move(d));
        good = false;
        continue;
      }
      // TVM reads it, and reports an error when it makes code. Here the index is rounded towards zero.
      d.severity = Severity::Warning;
      evaluator.report(std::move(d).remedy("convert it: `T.Cast(\"int32\", ...)`"));
      DataType rounded = DataType::int_(32, e.dtype().lanes);
      rounded.scalable = e.dtype().scalable;
      e = cast(rounded, e, index.where);
    }
    if (const auto* imm = e.as<IntImm>()) {
      auto size = as_int(buffer->shape[i]);
      if (imm->value < 0 || (size && imm->value >= *size)) {
        Diagnostic d = error(Code::IndexOutOfBounds, index.where).arg("index", imm->value).arg("buffer", buffer->name.view()).arg("dim", static_cast<int64_t>(i)).arg("size", size ? std::to_string(*size) : "unknown size");
        if (buffer->origin.is_known()) { (void)std::move(d).note(buffer->origin, "`" + buffer->name.str() + "` is declared here"); }
        if (size && imm->value < 0 && imm->value >= -*size) {
          std::string meant = std::to_string(*size + imm->value);
          (void)std::move(d).remedy("count from the beginning: write `" + meant + "`").fix(index.where, meant);
        }
        // Keeps the index: the program can still be printed and compared.
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

// A chain of operators in a text may have up to 3,000 links.
constexpr int deepest_expression = 3200;
constexpr int64_t largest_expression = 1'000'000;

/// Uses an explicit stack: the expression may be deeper than the machine's stack allows.
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

auto is_within_limits(Evaluator& evaluator, const Expr& expr, Origin where) -> bool {
  int64_t nodes = largest_expression;
  if (is_within(expr, deepest_expression, nodes)) { return true; }
  if (nodes < 0) { evaluator.report(error(Code::TooMuchWork, where).arg("what", "an expression of more than " + std::to_string(largest_expression) + " parts")); }
  else { evaluator.report(error(Code::TooDeep, where).arg("limit", static_cast<int64_t>(deepest_expression))); }
  return false;
}

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

}  // namespace loopsmith::frontend
