// Buffers and memory: `T.Buffer`, `T.match_buffer`, `T.alloc_buffer`, `T.decl_buffer`, `T.allocate` and similar functions.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "frontend/functions/arguments.h"
#include "frontend/functions/functions.h"
#include "frontend/thread_level.h"
#include "frontend/words.h"
#include "ir/ops.h"
#include "ir/printer.h"
#include "support/codes.h"
#include "support/guards.h"
#include "support/text.h"

namespace loopsmith::frontend {

namespace {

struct BufferArguments {
  Argument shape, dtype, data, strides, elem_offset, scope, align, offset_factor, buffer_type, axis_separators;
};

auto scope_name(Evaluator& e, const Argument& a) -> Name {
  static const Name global("global");
  if (a.value.is_none()) { return global; }
  if (const std::string* s = a.value.string()) {
    if (s->empty()) { return global; }
    check_word(e, Vocabulary::StorageScope, *s, a.where);
    return Name(*s);
  }
  wrong_type(e, a, "a storage scope");
  return global;
}

// Extents given as names, `T.Buffer(("n", 16), "float32")`, become variables of the program, defined from here on.
auto with_symbols(Evaluator& e, const Argument& shape) -> Value {
  Lowerer* lowerer = Lowerer::of(e);
  auto symbol = [&](const Value& v) -> Value {
    const std::string* s = v.string();
    if (!s || !lowerer || !is_name(*s)) { return v; }
    return make_object<ExprObject>(Expr(lowerer->symbol(Name(*s), shape.where)));
  };
  if (const auto* items = shape.value.items()) {
    std::vector<Value> out;
    for (const Value& item : *items) { out.push_back(symbol(item)); }
    return Value::tuple(std::move(out));
  }
  return symbol(shape.value);
}

// Sets the extents; for a view without a shape, those of its region. False: an error was reported.
auto set_shape(Evaluator& e, const BufferArguments& a, Origin where, const BufferRegion* source, BufferNode& out) -> bool {
  std::vector<Expr> shape;
  bool good = true;
  if (!a.shape.value.is_none()) {
    Argument extents = a.shape;
    extents.value = with_symbols(e, a.shape);
    good &= to_exprs(e, extents, shape);
    for (const Expr& extent : shape) {
      if (!extent.dtype().is_integral() || !extent.dtype().is_scalar()) {
        e.report(error(Code::WrongType, a.shape.where).arg("expected", "an integer extent").arg("found", "one of type `" + extent.dtype().str() + "`"));
        good = false;
      }
    }
  } else if (source) {
    for (const Range& r : source->region) { shape.push_back(r.extent); }
  } else {
    e.report(error(Code::WrongType, where).arg("expected", "a shape").arg("found", "none"));
    good = false;
  }
  out.shape = std::move(shape);
  return good;
}

// Sets the pointer to the data. `pointer`: receives the address if it may be computed. False: an error was reported.
auto set_data(Evaluator& e, const BufferArguments& a, Expr* pointer, BufferNode& out) -> bool {
  if (a.data.value.is_none()) { return true; }
  Expr data = to_expr(e, a.data);
  const auto* v = data ? data.as<VarNode>() : nullptr;
  bool is_computed = data && !v && pointer && data.dtype().is_handle();
  if (data && !v && !is_computed) {
    e.report(error(Code::WrongType, a.data.where).arg("expected", "a pointer").arg("found", describe(a.data.value)));
  }
  if (v) { out.data = Var(v); }
  if (is_computed) { *pointer = std::move(data); }
  return v != nullptr || is_computed;
}

// False: an error was reported. A stride that is given by name is a fresh variable.
auto set_strides(Evaluator& e, const BufferArguments& a, BufferNode& out) -> bool {
  if (a.strides.value.is_none()) { return true; }
  std::vector<Expr> strides;
  bool good = true;
  if (const auto* items = a.strides.value.items()) {
    for (const Value& item : *items) {
      if (const std::string* s = item.string()) {
        strides.push_back(make<VarNode>(Name(*s), DataType::int_(32), a.strides.where));
        continue;
      }
      Expr x = to_expr(e, {item, a.strides.where, {}});
      good &= bool(x);
      strides.push_back(std::move(x));
    }
  } else {
    good = to_exprs(e, a.strides, strides);
  }
  // Does not check the number of strides, as TVM: rewrites of shapes may leave old strides.
  out.strides = std::move(strides);
  return good;
}

// The offset of the first element; with a factor and no offset, a fresh variable. False: an error was reported.
auto set_offset(Evaluator& e, const BufferArguments& a, Origin where, BufferNode& out) -> bool {
  int64_t factor = a.offset_factor.value.to_int().value_or(0);
  out.offset_factor = factor > 0 ? static_cast<int>(factor) : 1;
  if (a.elem_offset.value.is_none()) {
    DataType t = out.shape.empty() ? DataType::int_(32) : out.shape[0].dtype();
    if (factor > 0) { out.elem_offset = make<VarNode>(Name(), t, where); }
    return true;
  }
  if (const std::string* s = a.elem_offset.value.string()) {
    out.elem_offset = make<VarNode>(Name(*s), DataType::int_(32), a.elem_offset.where);
    return true;
  }
  Expr offset = to_expr(e, a.elem_offset);
  if (offset && !is_zero(offset)) { out.elem_offset = offset; }
  return bool(offset);
}

// A buffer without a name; none: an error was reported. `source`: the region of which it is a view. `pointer`: receives the address if it may be computed.
auto declare(Evaluator& e, const BufferArguments& a, Origin where, const BufferRegion* source = nullptr, Expr* pointer = nullptr) -> Buffer {
  BufferNode out;
  out.origin = where;
  bool good = set_shape(e, a, where, source, out);
  out.dtype = DataType::float_(32);
  if (!a.dtype.value.is_none()) {
    auto t = to_element_dtype(e, a.dtype);
    good &= t.has_value();
    if (t) { out.dtype = *t; }
  } else if (source && a.shape.value.is_none()) {
    out.dtype = source->buffer->dtype;
  }
  Name scope = scope_name(e, a.scope);
  good &= set_data(e, a, pointer, out);
  if (!out.data) { out.data = make<VarNode>(Name(), DataType::handle(), where, PointerType{out.dtype, scope}); }
  good &= set_strides(e, a, out);
  int64_t align = a.align.value.to_int().value_or(0);
  out.data_alignment = align > 0 ? static_cast<int>(align) : 64;
  good &= set_offset(e, a, where, out);
  if (const std::string* s = a.buffer_type.value.string()) {
    if (*s == "auto" || *s == "auto_broadcast") { out.buffer_kind = BufferKind::AutoBroadcast; }
    else if (!s->empty() && *s != "default") {
      wrong_type(e, a.buffer_type, "`\"auto\"` or `\"default\"`");
      good = false;
    }
  }
  if (const auto* items = a.axis_separators.value.items()) {
    std::vector<int> separators;
    for (const Value& v : *items) { separators.push_back(static_cast<int>(v.to_int().value_or(0))); }
    out.axis_separators = std::move(separators);
  }
  return good ? make_buffer(std::move(out)) : Buffer();
}

const std::vector<Parameter>& buffer_parameters() {
  static const std::vector<Parameter> parameters = {
      {"shape", false}, {"dtype", false}, {"data", false}, {"strides", false}, {"elem_offset", false}, {"scope", false},
      {"align", false}, {"offset_factor", false}, {"buffer_type", false}, {"axis_separators", false},
      {"layout", false, true}, {"allocated_addr", false, true}, {"byte_offset", false, true}};
  return parameters;
}
// True for a buffer with an unknown shape: its extents are expressions in quotes. Records layouts and addresses, by which TVM's
// main line places elements in the memory of a machine. `first`: the index of the parameter `shape`.
auto is_laid_out(Evaluator& e, const BoundArguments& b, size_t first) -> bool {
  for (const Value& extent : b.values[first].value.items() ? *b.values[first].value.items() : std::vector<Value>()) {
    if (const std::string* text = extent.string(); text && !is_name(*text)) { return true; }
  }
  for (size_t i = first + 10; i < first + 13; ++i) {
    const std::string* text = b.values[i].value.string();
    if (!is_given(b, i) || (text && *text == "default")) { continue; }
    if (!Lowerer::of(e)) { return true; }
    note_thread_level(e, i == first + 10 ? "layout" : i == first + 11 ? "allocated_addr" : "byte_offset", b.values[i].where);
  }
  return false;
}
auto buffer_arguments(const BoundArguments& b, size_t first) -> BufferArguments {
  return {b.values[first], b.values[first + 1], b.values[first + 2], b.values[first + 3], b.values[first + 4],
          b.values[first + 5], b.values[first + 6], b.values[first + 7], b.values[first + 8], b.values[first + 9]};
}

auto alloc_for(Evaluator& e, const Arguments& a, bool is_for_block) -> Value {
  BoundArguments b;
  Lowerer* lowerer = need_program(e, a, "T.alloc_buffer");
  static const std::vector<Parameter> parameters = [] {
    std::vector<Parameter> out = buffer_parameters();
    out.push_back({"annotations", false});
    return out;
  }();
  if (!lowerer || !bind_arguments(e, "T.alloc_buffer", a, parameters, b)) { return not_bound(b); }
  if (is_laid_out(e, b, 0)) { return e.opaque(a.call); }
  Buffer buffer = declare(e, buffer_arguments(b, 0), a.call);
  if (!buffer) { return Value::error(); }
  if (const Argument& given = b.values.back(); is_given(b, b.values.size() - 1)) {
    // An allocation of a block has no annotations, so it becomes a statement, which has annotations.
    auto annotations = to_attrs(e, given);
    if (!annotations) { return Value::error(); }
    BuildFrame f;
    f.kind = FrameKind::DeclBuffer;
    f.origin = a.call;
    f.buffer = std::move(buffer);
    f.owns_memory = true;
    f.annotations = std::move(*annotations);
    return make_object<FrameObject>(std::move(f), "T.alloc_buffer");
  }
  // Memory other than global belongs to a thread or a block of threads at any place of allocation, so the call is unambiguous.
  static const Name global("global");
  WithoutReports unclear(e.diagnostics);
  const bool is_here = !is_for_block && lowerer->allocates_in_place(a.callee);
  if (buffer->scope() == global) { unclear.keep(); }
  if (is_here) { lowerer->allocate_here(buffer, a.call); } else { lowerer->add_alloc(buffer); }
  return make_object<BufferObject>(buffer);
}
// Until TVM 0.23 `T.alloc_buffer` allocates for the block around; later, for the statements below it. `T.sblock_alloc_buffer` allocates
// for the block.
auto alloc_buffer(Evaluator& e, const Arguments& a) -> Value { return alloc_for(e, a, false); }
auto sblock_alloc_buffer(Evaluator& e, const Arguments& a) -> Value { return alloc_for(e, a, true); }

// `T.alloc_shared((16,), "float32")`.
auto alloc_in(Evaluator& e, const Arguments& given, const char* scope) -> Value {
  static const Name scope_name("scope");
  Arguments a = given;
  a.all.push_back({Value::str(scope), a.callee, {}});
  a.all.back().keyword = scope_name;
  return alloc_buffer(e, a);
}
auto alloc_shared(Evaluator& e, const Arguments& a) -> Value { return alloc_in(e, a, "shared"); }
auto alloc_local(Evaluator& e, const Arguments& a) -> Value { return alloc_in(e, a, "local"); }

// `x = T.local_scalar("int32")`: a variable that can be assigned to, stored in memory of one element.
auto alloc_cell(Evaluator& e, const Arguments& a, const char* scope) -> Value {
  static const std::vector<Parameter> parameters = {{"dtype", false}, {"annotations", false, true}};
  BoundArguments b;
  Lowerer* lowerer = need_program(e, a, "T.local_scalar");
  if (!lowerer || !bind_arguments(e, "T.local_scalar", a, parameters, b)) { return not_bound(b); }
  auto t = is_given(b, 0) ? to_element_dtype(e, b.values[0]) : std::optional(DataType::float_(32));
  return t ? expr_or_error(lowerer->make_cell(*t, Name(scope), a.call)) : Value::error();
}
auto local_scalar(Evaluator& e, const Arguments& a) -> Value { return alloc_cell(e, a, "local"); }
auto shared_scalar(Evaluator& e, const Arguments& a) -> Value { return alloc_cell(e, a, "shared"); }

// True when the view's shape fits its region. Extents that are not constant fit any other. False: an error was reported.
auto fits_region(Evaluator& e, const BufferNode& view, const BufferRegion& region, const BoundArguments& b) -> bool {
  auto listed = [](const std::vector<std::string>& items) { return fmt::format("({}{})", fmt::join(items, ", "), items.size() == 1 ? "," : ""); };
  auto text = [](const Expr& extent) { return as_int(extent) ? std::to_string(*as_int(extent)) : std::string("?"); };
  std::vector<std::string> extents, shape;
  for (const Range& r : region.region) { extents.push_back(text(r.extent)); }
  for (const Expr& extent : view.shape) { shape.push_back(text(extent)); }
  size_t more = extents.size() > shape.size() ? extents.size() - shape.size() : 0;
  bool fits = extents.size() >= shape.size();
  for (size_t i = 0; fits && i < extents.size(); ++i) {
    const std::string& other = i < more ? "1" : shape[i - more];
    fits = extents[i] == other || extents[i] == "?" || other == "?";
  }
  if (!fits) {
    e.report(error(Code::WrongType, is_given(b, 1) ? b.values[1].where : b.values[0].where).arg("expected", "the shape of the region, " + listed(extents)).arg("found", listed(shape))
                 .note(b.values[0].where, "the region is here"));
    return false;
  }
  return true;
}

// True when the view reads its source as it is: same type of elements, same scope, same layout. False: an error was reported.
auto shares_memory_of(Evaluator& e, const BufferNode& view, const BufferRegion& region, const BoundArguments& b) -> bool {
  const BufferNode& source = *region.buffer;
  auto differs = [&](size_t argument, const std::string& expected, const std::string& found, const std::string& remedy) {
    const bool has_place = is_given(b, argument);
    Diagnostic d = error(Code::WrongType, b.values[has_place ? argument : 0].where).arg("expected", expected).arg("found", found).remedy(remedy);
    if (has_place) { (void)std::move(d).note(b.values[0].where, "the region is here"); }
    e.report(std::move(d));
    return false;
  };
  const std::string name = "`" + source.name.str() + "`";
  if (!(view.dtype == source.dtype)) {
    return differs(2, fmt::format("the type of {}, `{}`", name, source.dtype.str()), fmt::format("`{}`", view.dtype.str()),
                   fmt::format("write `dtype=\"{}\"`", source.dtype.str()));
  }
  if (!(view.scope() == source.scope())) {
    return differs(6, fmt::format("the scope of {}, `{}`", name, source.scope().view()), fmt::format("`{}`", view.scope().view()),
                   fmt::format("write `scope=\"{}\"`", source.scope().view()));
  }
  int64_t compact = 1;
  const size_t count = source.shape.size();
  for (size_t d = count, v = view.strides.size(); d-- > 0 && v-- > 0 && view.strides.size() == view.shape.size();) {
    auto stride = source.strides.size() == count ? as_int(source.strides[d]) : std::optional(compact);
    auto given = as_int(view.strides[v]), extent = as_int(source.shape[d]);
    if (!stride) { break; }
    if (given && *given != *stride && !is_one(view.shape[v])) {
      return differs(4, fmt::format("the stride of dimension {} of {}, {}", d, name, *stride), std::to_string(*given), "leave `strides` out: the view takes those of its source");
    }
    if (!extent || __builtin_mul_overflow(compact, *extent, &compact)) { break; }
  }
  return true;
}

auto match_buffer(Evaluator& e, const Arguments& a) -> Value {
  static const std::vector<Parameter> parameters = [] {
    std::vector<Parameter> out = buffer_parameters();
    out.insert(out.begin(), Parameter{"param"});
    return out;
  }();
  BoundArguments b;
  Lowerer* lowerer = need_program(e, a, "T.match_buffer");
  if (!lowerer || !bind_arguments(e, "T.match_buffer", a, parameters, b)) { return not_bound(b); }
  if (is_laid_out(e, b, 1)) { return e.opaque(a.call); }
  const Argument& param = b.values[0];
  if (const auto* x = param.value.as<ExprObject>()) {
    if (const auto* var = x->expr.as<VarNode>()) {
      if (!lowerer->is_param(var)) {
        return e.report(error(Code::WrongType, param.where).arg("expected", "a parameter of the function, or a region").arg("found", describe(param.value)));
      }
      if (!var->dtype.is_handle()) {
        return e.report(error(Code::WrongType, param.where).arg("expected", "a parameter of type `T.handle`").arg("found", "`" + var->name.str() + "` of type `" + var->dtype.str() + "`")
                            .remedy("declare the parameter as a pointer: `" + var->name.str() + ": T.handle`"));
      }
      Buffer buffer = declare(e, buffer_arguments(b, 1), a.call);
      if (!buffer) { return Value::error(); }
      lowerer->map_buffer(Var(var), buffer);
      return make_object<BufferObject>(buffer);
    }
  }
  auto region = to_region(e, param);
  if (!region) { return Value::error(); }
  BlockSpec* block = lowerer->block();
  if (!block && lowerer->is_in_unknown()) { return Value::error(); }
  if (!block) { return e.report(error(Code::OutsideBlock, a.callee).arg("what", "T.match_buffer of a region").remedy("move it directly below a `with T.block(...):`")); }
  Buffer buffer = declare(e, buffer_arguments(b, 1), a.call, &*region);
  if (!buffer || !fits_region(e, *buffer, *region, b) || !shares_memory_of(e, *buffer, *region, b)) { return Value::error(); }
  block->match_buffers.push_back({buffer, *region});
  return make_object<BufferObject>(buffer);
}

// Outside of programs it makes a named buffer, as Python's `tir.decl_buffer` does.
auto free_buffer(Evaluator& e, const Arguments& a) -> Value {
  static const std::vector<Parameter> parameters = [] {
    std::vector<Parameter> out = buffer_parameters();
    out.insert(out.begin() + 2, Parameter{"name", false});
    for (Parameter& p : out) {
      if (p.name == Name("align")) { p.name = Name("data_alignment"); }
    }
    return out;
  }();
  BoundArguments b;
  if (!bind_arguments(e, "tir.decl_buffer", a, parameters, b)) { return not_bound(b); }
  const std::string* name = b.values[2].value.string();
  Name called(name ? *name : "buffer");
  b.values.erase(b.values.begin() + 2);
  b.given.erase(b.given.begin() + 2);
  if (is_laid_out(e, b, 0)) { return e.opaque(a.call); }
  Buffer buffer = declare(e, buffer_arguments(b, 0), a.call);
  if (!buffer) { return Value::error(); }
  BufferNode fields = *buffer;
  fields.name = called;
  return make_object<BufferObject>(make_buffer(std::move(fields)));
}

auto decl_buffer(Evaluator& e, const Arguments& a) -> Value {
  if (!Lowerer::of(e)) { return free_buffer(e, a); }
  BoundArguments b;
  if (!bind_arguments(e, "T.decl_buffer", a, buffer_parameters(), b)) { return not_bound(b); }
  if (is_laid_out(e, b, 0)) { return e.opaque(a.call); }
  BuildFrame f;
  f.kind = FrameKind::DeclBuffer;
  f.origin = a.call;
  // `data=T.address_of(A[i, 0])`, in TVM's main line: binds the pointer before it declares the buffer.
  f.buffer = declare(e, buffer_arguments(b, 0), a.call, nullptr, &f.a);
  if (!f.buffer) { return Value::error(); }
  f.owns_memory = b.values[2].value.is_none();
  return make_object<FrameObject>(std::move(f), "T.decl_buffer");
}

auto declare_plain(Evaluator& e, const Arguments& a) -> Value {
  BoundArguments b;
  if (!bind_arguments(e, "T.Buffer", a, buffer_parameters(), b)) { return not_bound(b); }
  if (is_laid_out(e, b, 0)) { return e.opaque(a.call); }
  Buffer buffer = declare(e, buffer_arguments(b, 0), a.call);
  return buffer ? Value(make_object<BufferObject>(buffer)) : Value::error();
}

/// Apache TVM warns of these forms. The fix needs the text: `modernise` in words.h makes it.

auto declare_by_older_name(Evaluator& e, const Arguments& a) -> Value {
  report_deprecated(e, a.callee, "T.buffer_decl(...)", "T.Buffer(...)");
  return declare_plain(e, a);
}

auto allocate(Evaluator& e, const Arguments& a) -> Value {
  static const std::vector<Parameter> parameters = {{"extents"}, {"dtype"}, {"scope", false}, {"condition", false}, {"annotations", false}};
  BoundArguments b;
  if (!need_program(e, a, "T.allocate") || !bind_arguments(e, "T.allocate", a, parameters, b)) { return not_bound(b); }
  BuildFrame f;
  f.kind = FrameKind::Allocate;
  f.origin = a.call;
  std::vector<Expr> extents;
  auto t = to_dtype(e, b.values[1]);
  if (!to_exprs(e, b.values[0], extents) || !t) { return Value::error(); }
  f.extents = std::move(extents);
  f.dtype = *t;
  const std::string* scope = b.values[2].value.string();
  f.var = make<VarNode>(Name(), DataType::handle(), a.call, PointerType{*t, scope ? Name(*scope) : Name()});
  f.a = is_given(b, 3) ? to_expr(e, b.values[3]) : bool_imm(true, a.call);
  if (!f.a) { return Value::error(); }
  if (is_given(b, 4)) {
    auto annotations = to_attrs(e, b.values[4]);
    if (!annotations) { return Value::error(); }
    f.annotations = std::move(*annotations);
  }
  return make_object<FrameObject>(std::move(f), "T.allocate");
}

auto number_bytes(Evaluator& e, const Value& v, DataType t, Origin where, std::string& out) -> bool {
  if (const auto* items = v.items()) {
    for (const Value& item : *items) {
      if (!number_bytes(e, item, t, where, out)) { return false; }
    }
    return true;
  }
  auto put = [&](const auto& x) { out.append(reinterpret_cast<const char*>(&x), sizeof x); };
  auto d = v.to_float();
  auto i = v.to_int();
  if (const auto* x = v.as<ExprObject>()) {
    if (const auto* imm = x->expr.as<IntImm>()) { i = imm->value; d = static_cast<double>(*i); }
    if (const auto* imm = x->expr.as<FloatImm>()) { d = imm->value; }
  }
  if (t.is_float() && t.bits == 32 && d) { put(static_cast<float>(*d)); return true; }
  if (t.is_float() && t.bits == 64 && d) { put(*d); return true; }
  if (t.is_integral() && i) {
    int64_t value = *i;
    out.append(reinterpret_cast<const char*>(&value), static_cast<size_t>(t.element_bytes()));
    return true;
  }
  e.report(error(Code::WrongType, where).arg("expected", "numbers of type `" + t.str() + "`").arg("found", describe(v)));
  return false;
}

auto allocate_const(Evaluator& e, const Arguments& a) -> Value {
  static const std::vector<Parameter> parameters = {{"data"}, {"dtype"}, {"extents"}, {"annotations", false}};
  BoundArguments b;
  if (!need_program(e, a, "T.allocate_const") || !bind_arguments(e, "T.allocate_const", a, parameters, b)) { return not_bound(b); }
  BuildFrame f;
  f.kind = FrameKind::AllocateConst;
  f.origin = a.call;
  auto t = to_dtype(e, b.values[1]);
  std::vector<Expr> extents;
  if (!t || !to_exprs(e, b.values[2], extents) || !number_bytes(e, b.values[0].value, *t, b.values[0].where, f.text)) { return Value::error(); }
  f.extents = std::move(extents);
  f.dtype = *t;
  f.var = make<VarNode>(Name(), DataType::handle(), a.call, PointerType{*t, Name("global")});
  if (is_given(b, 3)) {
    if (auto annotations = to_attrs(e, b.values[3])) { f.annotations = std::move(*annotations); }
  }
  return make_object<FrameObject>(std::move(f), "T.allocate_const");
}

}  // namespace

auto BufferTypeObject::call(Evaluator& e, const Arguments& a) const -> std::optional<Value> { return declare_plain(e, a); }
auto BufferTypeObject::get_item(Evaluator& e, const std::vector<Argument>& indices, bool is_tuple, Origin where) const -> std::optional<Value> {
  // T.Buffer[(16, 16), "float32"], T.Buffer[16, "float32"], T.Buffer[(16, 16)]
  Arguments a;
  a.call = a.callee = a.parentheses = where;
  a.all = indices;
  a.positional = indices.size();
  bool all_extents = true;
  for (const Argument& i : indices) { all_extents &= !i.value.string() && !i.value.items() && !i.value.as<DtypeObject>(); }
  bool is_list = all_extents && indices.size() > 1;
  report_deprecated(e, where, "T.Buffer[...]", is_list ? "T.Buffer((...))" : "T.Buffer(...)");
  if (is_list) {
    std::vector<Value> shape;
    for (const Argument& i : indices) { shape.push_back(i.value); }
    a.all = {Argument{Value::tuple(std::move(shape)), where, {}}};
    a.positional = 1;
  }
  return declare_plain(e, a);
}

auto buffer_functions() -> FunctionRows {
  static constexpr FunctionRow rows[] = {
      {"alloc_buffer", alloc_buffer}, {"sblock_alloc_buffer", sblock_alloc_buffer}, {"match_buffer", match_buffer}, {"decl_buffer", decl_buffer},
      {"buffer_decl", declare_by_older_name}, {"allocate", allocate}, {"allocate_const", allocate_const}, {"alloc_shared", alloc_shared},
      {"alloc_local", alloc_local}, {"local_scalar", local_scalar}, {"shared_scalar", shared_scalar}, {"alloc_tensor", alloc_buffer},
      {"decl_tensor", decl_buffer}, {"match_tensor", match_buffer},
  };
  return rows;
}

}  // namespace loopsmith::frontend
