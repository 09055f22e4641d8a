// The `T` and `I` namespaces: what a program can call. One function each, and a table at the end; intrinsics that only
// make a call of an operator are rows of intrinsics.def.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstring>
#include <limits>
#include <unordered_map>
#include <unordered_set>

#include "eval/wide_int.h"
#include "frontend/introspection.h"
#include "frontend/lowerer.h"
#include "frontend/words.h"
#include "ir/ops.h"
#include "ir/plain.h"
#include "ir/printer.h"
#include "ir/visitor.h"
#include "support/codes.h"

namespace loopsmith::frontend {

using eval::bind_arguments;
using eval::BoundArguments;
using eval::make_object;
using eval::Parameter;

namespace {

auto wrong(Evaluator& e, const Argument& a, std::string_view expected) -> Value {
  if (a.value.is_unknown()) { return a.value; }
  return e.report(error(Code::WrongType, a.where).arg("expected", expected).arg("found", describe(a.value)));
}
auto expr(Expr e) -> Value { return e ? Value(make_object<ExprObject>(std::move(e))) : Value::error(); }

// The type of what a buffer holds.
auto to_element_dtype(Evaluator& e, const Argument& a) -> std::optional<DataType> {
  auto t = to_dtype(e, a);
  if (!t || !t->is_void()) { return t; }
  e.report(error(Code::WrongType, a.where).arg("expected", "the data type of elements").arg("found", "`void`"));
  return {};
}

auto need_program(Evaluator& e, const Arguments& a, std::string_view what) -> Lowerer* {
  Lowerer* lowerer = Lowerer::of(e);
  if (!lowerer) { e.report(error(Code::OutsideProgram, a.callee).arg("what", "`" + std::string(what) + "`")); }
  return lowerer;
}
auto need_block(Evaluator& e, const Arguments& a, std::string_view what) -> BlockSpec* {
  Lowerer* lowerer = need_program(e, a, what);
  if (!lowerer) { return nullptr; }
  BlockSpec* block = lowerer->block_here();
  if (!block && !lowerer->is_in_unknown()) { e.report(error(Code::OutsideBlock, a.callee).arg("what", what)); }
  return block;
}
// What a call gives whose arguments could not be bound: an argument that is not known makes it unknown.
auto not_bound(const BoundArguments& b) -> Value { return b.unknown.is_unknown() ? b.unknown : Value::error(); }
auto is_given(const BoundArguments& b, size_t i) -> bool { return b.given[i] && !b.values[i].value.is_none(); }

// The type of a call by its name, which is `ty` in TVM's main line; null: it is not named.
auto named_type(const Arguments& a) -> const Argument* {
  static const Name dtype_name("dtype"), ty_name("ty");
  if (a.all.size() <= a.positional) { return nullptr; }
  const Argument* given = a.keyword(dtype_name);
  return given ? given : a.keyword(ty_name);
}

// Operators of the namespace say their type twice in older texts, `T.exp(x, dtype="float32")`: TVM drops it, and so is it here.
auto without_dtype(const Arguments& a) -> Arguments {
  Arguments out = a;
  const Argument* type = named_type(out);
  for (size_t i = out.positional; i < out.all.size(); ++i) {
    if (&out.all[i] == type) {
      out.all.erase(out.all.begin() + static_cast<std::ptrdiff_t>(i));
      break;
    }
  }
  return out;
}

// Named arguments in the place their parameter has; `names` is one name per parameter, separated by spaces. False: reported.
auto place_named(Evaluator& e, std::string_view callee, std::string_view names, Arguments& a) -> bool {
  if (a.all.size() == a.positional) { return true; }
  std::vector<Name> parameters;
  for (size_t at = 0; at < names.size();) {
    size_t end = std::min(names.find(' ', at), names.size());
    parameters.emplace_back(names.substr(at, end - at));
    at = end + 1;
  }
  std::vector<Argument> placed(a.all.begin(), a.all.begin() + static_cast<std::ptrdiff_t>(a.positional));
  std::vector<bool> given(placed.size(), true);
  for (size_t i = a.positional; i < a.all.size(); ++i) {
    const Argument& x = a.all[i];
    auto found = std::find(parameters.begin(), parameters.end(), x.keyword);
    if (found == parameters.end()) {
      Diagnostic d = error(Code::UnexpectedArgument, x.keyword_at).arg("name", x.keyword.view()).arg("callee", callee);
      if (Name near = eval::closest_name(x.keyword, parameters); !near.empty()) {
        (void)std::move(d).remedy("did you mean `" + near.str() + "`?").fix(x.keyword_at, near.str());
      }
      e.report(std::move(d));
      return false;
    }
    auto place = static_cast<size_t>(found - parameters.begin());
    if (placed.size() <= place) {
      placed.resize(place + 1);
      given.resize(place + 1, false);
    }
    if (given[place]) {
      e.report(error(Code::DuplicateArgument, x.keyword_at).arg("name", x.keyword.view()).arg("callee", callee));
      return false;
    }
    placed[place] = x;
    given[place] = true;
  }
  for (size_t i = 0; i < placed.size(); ++i) {
    if (!given[i]) {
      e.report(error(Code::MissingArgument, a.callee).arg("name", parameters[i].view()).arg("callee", callee));
      return false;
    }
  }
  a.all = std::move(placed);
  a.positional = a.all.size();
  return true;
}

// All arguments as expressions, in the order of their parameters; false: reported. `a` is left with what was taken.
auto operands(Evaluator& e, std::string_view name, Arguments& a, size_t low, size_t high, std::vector<Expr>& out, std::string_view names = {}) -> bool {
  if (a.all.size() > a.positional) { a = without_dtype(a); }
  if (!place_named(e, name, names, a)) { return false; }
  if (a.positional < low) {
    e.report(error(Code::TooFewArguments, a.callee).arg("callee", name).arg("count", static_cast<int64_t>(low)).arg("given", static_cast<int64_t>(a.positional)));
    return false;
  }
  if (a.positional > high) {
    e.report(error(Code::TooManyArguments, a.all[high].where).arg("callee", name).arg("count", static_cast<int64_t>(high)).arg("given", static_cast<int64_t>(a.positional)));
    return false;
  }
  bool good = true;
  for (const Argument& x : a.all) {
    Expr y = to_expr(e, x);
    good &= bool(y);
    out.push_back(std::move(y));
  }
  return good;
}

// ---- declarations of buffers -------------------------------------------------------------------------------------

auto is_identifier(std::string_view text) -> bool {
  auto letter = [](char c) { return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  if (text.empty() || !letter(text[0])) { return false; }
  return std::all_of(text.begin(), text.end(), [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}
auto pointer_element(DataType t) -> DataType { return t; }

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
  wrong(e, a, "a storage scope");
  return global;
}

// Extents given as names, `T.Buffer(("n", 16), "float32")`, are variables of the program, known from here on.
auto with_symbols(Evaluator& e, const Argument& shape) -> Value {
  Lowerer* lowerer = Lowerer::of(e);
  auto symbol = [&](const Value& v) -> Value {
    const std::string* s = v.string();
    if (!s || !lowerer || !is_identifier(*s)) { return v; }
    return make_object<ExprObject>(Expr(lowerer->symbol(Name(*s), shape.where)));
  };
  if (const auto* items = shape.value.items()) {
    std::vector<Value> out;
    for (const Value& item : *items) { out.push_back(symbol(item)); }
    return Value::tuple(std::move(out));
  }
  return symbol(shape.value);
}

// A nameless buffer; none: reported. `pointer`: where it may be at an address that is computed, which is put there.
auto declare(Evaluator& e, const BufferArguments& a, Origin where, const BufferRegion* source = nullptr, Expr* pointer = nullptr) -> Buffer {
  BufferNode out;
  out.origin = where;
  bool good = true;
  std::vector<Expr> shape;
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
  out.dtype = DataType::float_(32);
  if (!a.dtype.value.is_none()) {
    auto t = to_element_dtype(e, a.dtype);
    good &= t.has_value();
    if (t) { out.dtype = *t; }
  } else if (source && a.shape.value.is_none()) {
    out.dtype = source->buffer->dtype;
  }
  Name scope = scope_name(e, a.scope);
  if (!a.data.value.is_none()) {
    Expr data = to_expr(e, a.data);
    const auto* v = data ? data.as<VarNode>() : nullptr;
    bool is_computed = data && !v && pointer && data.dtype().is_handle();
    if (data && !v && !is_computed) {
      e.report(error(Code::WrongType, a.data.where).arg("expected", "a pointer").arg("found", describe(a.data.value)));
    }
    good &= v != nullptr || is_computed;
    if (v) { out.data = Var(v); }
    if (is_computed) { *pointer = std::move(data); }
  }
  if (!out.data) { out.data = make<VarNode>(Name(), DataType::handle(), where, PointerType{pointer_element(out.dtype), scope}); }
  if (!a.strides.value.is_none()) {
    std::vector<Expr> strides;
    const auto* items = a.strides.value.items();
    if (items) {
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
      good &= to_exprs(e, a.strides, strides);
    }
    // Their number is left as it is, as TVM does: rewrites of shapes leave strides behind.
    out.strides = std::move(strides);
  }
  int64_t align = a.align.value.to_int().value_or(0);
  out.data_alignment = align > 0 ? static_cast<int>(align) : 64;
  int64_t factor = a.offset_factor.value.to_int().value_or(0);
  out.offset_factor = factor > 0 ? static_cast<int>(factor) : 1;
  if (!a.elem_offset.value.is_none()) {
    if (const std::string* s = a.elem_offset.value.string()) {
      out.elem_offset = make<VarNode>(Name(*s), DataType::int_(32), a.elem_offset.where);
    } else {
      Expr offset = to_expr(e, a.elem_offset);
      good &= bool(offset);
      if (offset && !is_zero(offset)) { out.elem_offset = std::move(offset); }
    }
  } else if (factor > 0) {
    DataType t = out.shape.empty() ? DataType::int_(32) : out.shape[0].dtype();
    out.elem_offset = make<VarNode>(Name(), t, where);
  }
  if (const std::string* s = a.buffer_type.value.string()) {
    if (*s == "auto" || *s == "auto_broadcast") { out.buffer_kind = BufferKind::AutoBroadcast; }
    else if (!s->empty() && *s != "default") {
      wrong(e, a.buffer_type, "`\"auto\"` or `\"default\"`");
      good = false;
    }
  }
  if (const auto* items = a.axis_separators.value.items()) {
    std::vector<int> separators;
    for (const Value& v : *items) { separators.push_back(static_cast<int>(v.to_int().value_or(0))); }
    out.axis_separators = std::move(separators);
  }
  if (!good) { return {}; }
  return make_buffer(std::move(out));
}

const std::vector<Parameter>& buffer_parameters() {
  static const std::vector<Parameter> parameters = {
      {"shape", false}, {"dtype", false}, {"data", false}, {"strides", false}, {"elem_offset", false}, {"scope", false},
      {"align", false}, {"offset_factor", false}, {"buffer_type", false}, {"axis_separators", false},
      {"layout", false, true}, {"allocated_addr", false, true}, {"byte_offset", false, true}};
  return parameters;
}
// How elements lie in the memory of a machine, which TVM's main line says by layouts and addresses, has no meaning here: a
// buffer that has such is not checked. `first`: the parameter `shape`.
auto is_laid_out(const BoundArguments& b, size_t first) -> bool {
  // Extents that are expressions in quotes.
  for (const Value& extent : b.values[first].value.items() ? *b.values[first].value.items() : std::vector<Value>()) {
    if (const std::string* text = extent.string(); text && !is_identifier(*text)) { return true; }
  }
  for (size_t i = first + 10; i < first + 13; ++i) {
    const std::string* text = b.values[i].value.string();
    if (is_given(b, i) && !(text && *text == "default")) { return true; }
  }
  return false;
}
auto buffer_arguments(const BoundArguments& b, size_t first) -> BufferArguments {
  return {b.values[first], b.values[first + 1], b.values[first + 2], b.values[first + 3], b.values[first + 4],
          b.values[first + 5], b.values[first + 6], b.values[first + 7], b.values[first + 8], b.values[first + 9]};
}

auto alloc_buffer(Evaluator& e, const Arguments& a) -> Value {
  BoundArguments b;
  Lowerer* lowerer = need_program(e, a, "T.alloc_buffer");
  static const std::vector<Parameter> parameters = [] {
    std::vector<Parameter> out = buffer_parameters();
    out.push_back({"annotations", false});
    return out;
  }();
  if (!lowerer || !bind_arguments(e, "T.alloc_buffer", a, parameters, b)) { return not_bound(b); }
  if (is_laid_out(b, 0)) { return e.opaque(a.call); }
  Buffer buffer = declare(e, buffer_arguments(b, 0), a.call);
  if (!buffer) { return Value::error(); }
  if (const Argument& given = b.values.back(); is_given(b, b.values.size() - 1)) {
    // An allocation of a block has no annotations: it becomes a statement, which has.
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
  lowerer->add_alloc(buffer);
  return make_object<BufferObject>(buffer);
}

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

// `x = T.local_scalar("int32")`: a variable that can be assigned to, in memory of one element.
auto alloc_cell(Evaluator& e, const Arguments& a, const char* scope) -> Value {
  static const std::vector<Parameter> parameters = {{"dtype", false}, {"annotations", false, true}};
  BoundArguments b;
  Lowerer* lowerer = need_program(e, a, "T.local_scalar");
  if (!lowerer || !bind_arguments(e, "T.local_scalar", a, parameters, b)) { return not_bound(b); }
  auto t = is_given(b, 0) ? to_element_dtype(e, b.values[0]) : std::optional(DataType::float_(32));
  return t ? expr(lowerer->make_cell(*t, Name(scope), a.call)) : Value::error();
}
auto local_scalar(Evaluator& e, const Arguments& a) -> Value { return alloc_cell(e, a, "local"); }
auto shared_scalar(Evaluator& e, const Arguments& a) -> Value { return alloc_cell(e, a, "shared"); }

// Has the view the shape of what it looks at? What is not known while the program is read may be. False: reported.
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
                 .note(b.values[0].where, "this is what it looks at"));
    return false;
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
  if (is_laid_out(b, 1)) { return e.opaque(a.call); }
  const Argument& param = b.values[0];
  if (const auto* x = param.value.as<ExprObject>()) {
    if (const auto* var = x->expr.as<VarNode>()) {
      if (!lowerer->is_param(var)) {
        return e.report(error(Code::WrongType, param.where).arg("expected", "a parameter of the function, or a region").arg("found", describe(param.value)));
      }
      if (!var->dtype.is_handle()) {
        return e.report(error(Code::WrongType, param.where).arg("expected", "a parameter of type `T.handle`").arg("found", "`" + var->name.str() + "` of type `" + var->dtype.str() + "`")
                            .remedy("a number has no elements to see: declare it `" + var->name.str() + ": T.handle`"));
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
  if (!block) { return e.report(error(Code::OutsideBlock, a.callee).arg("what", "T.match_buffer of a region")); }
  Buffer buffer = declare(e, buffer_arguments(b, 1), a.call, &*region);
  if (!buffer || !fits_region(e, *buffer, *region, b)) { return Value::error(); }
  block->match_buffers.push_back({buffer, *region});
  return make_object<BufferObject>(buffer);
}

// Outside of programs Python makes a buffer of that name with it, as `tir.decl_buffer` does.
auto free_buffer(Evaluator& e, const Arguments& a) -> Value {
  static const std::vector<Parameter> parameters = [] {
    std::vector<Parameter> out = buffer_parameters();
    out.insert(out.begin() + 2, Parameter{"name", false});
    return out;
  }();
  BoundArguments b;
  if (!bind_arguments(e, "tir.decl_buffer", a, parameters, b)) { return not_bound(b); }
  const std::string* name = b.values[2].value.string();
  Name called(name ? *name : "buffer");
  b.values.erase(b.values.begin() + 2);
  b.given.erase(b.given.begin() + 2);
  if (is_laid_out(b, 0)) { return e.opaque(a.call); }
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
  if (is_laid_out(b, 0)) { return e.opaque(a.call); }
  BuildFrame f;
  f.kind = FrameKind::DeclBuffer;
  f.origin = a.call;
  // `data=T.address_of(A[i, 0])`, in TVM's main line: the pointer is bound before the buffer is declared.
  f.buffer = declare(e, buffer_arguments(b, 0), a.call, nullptr, &f.a);
  if (!f.buffer) { return Value::error(); }
  f.owns_memory = b.values[2].value.is_none();
  return make_object<FrameObject>(std::move(f), "T.decl_buffer");
}

auto declare_plain(Evaluator& e, const Arguments& a) -> Value {
  BoundArguments b;
  if (!bind_arguments(e, "T.Buffer", a, buffer_parameters(), b)) { return not_bound(b); }
  if (is_laid_out(b, 0)) { return e.opaque(a.call); }
  Buffer buffer = declare(e, buffer_arguments(b, 0), a.call);
  return buffer ? Value(make_object<BufferObject>(buffer)) : Value::error();
}

/// Apache TVM warns of these forms; the fix needs the text and is made where that is known: `modernise` in words.h.
void report_deprecated(Evaluator& e, Origin where, std::string old, std::string name) {
  std::string remedy = "write `" + name + "`";
  e.report(error(Code::Deprecated, where).arg("old", std::move(old)).arg("name", std::move(name)).remedy(std::move(remedy)));
}

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
  f.var = make<VarNode>(Name(), DataType::handle(), a.call, PointerType{pointer_element(*t), scope ? Name(*scope) : Name()});
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

// ---- loops -------------------------------------------------------------------------------------------------------

auto extent_like(Evaluator& e, const Argument& a) -> Expr {
  Expr x = to_expr(e, a);
  if (x && (!x.dtype().is_integral() || !x.dtype().is_scalar())) {
    e.report(error(Code::WrongType, a.where).arg("expected", "an integer").arg("found", describe(a.value)));
    return {};
  }
  return x;
}

// None: reported.
auto make_loop(Evaluator& e, ForKind kind, const Argument& start, const Argument* stop, Origin where) -> std::optional<LoopSpec> {
  LoopSpec loop;
  loop.kind = kind;
  if (stop) {
    Expr low = extent_like(e, start);
    Expr high = extent_like(e, *stop);
    if (!low || !high || !match_operands(e, "-", low, start.where, high, stop->where, where)) { return {}; }
    loop.extent = difference(high, low);
    loop.min = std::move(low);
  } else {
    loop.extent = extent_like(e, start);
    if (!loop.extent) { return {}; }
    loop.min = int_imm(0, loop.extent.dtype(), where);
  }
  loop.var = make<VarNode>(Name(), loop.extent.dtype());
  return loop;
}

// `range(a, b, s)`: a loop from 0 over the number of steps, whose variable stands for a + i * s in the body.
auto add_step(Evaluator& e, LoopSpec& loop, const Argument& given) -> bool {
  Expr step = extent_like(e, given);
  if (!step) { return false; }
  if (auto constant = as_int(step); constant && *constant < 1) {
    e.report(error(Code::BadValue, given.where).arg("what", "the step of a loop is at least 1"));
    return false;
  }
  if (is_one(step)) { return true; }
  step = cast(loop.extent.dtype(), step);
  loop.start = loop.min;
  loop.min = int_imm(0, loop.extent.dtype(), given.where);
  loop.extent = simplified(floordiv(add(loop.extent, sub(step, one(step.dtype()))), step));
  loop.step = std::move(step);
  return true;
}

// The type of the loop's variable, where it is said. False: reported.
auto set_dtype(Evaluator& e, LoopSpec& loop, const Argument& given) -> bool {
  auto t = to_dtype(e, given);
  if (!t) { return false; }
  if (!t->is_integral() || !t->is_scalar()) {
    wrong(e, given, "an integer type");
    return false;
  }
  loop.min = cast(*t, loop.min);
  loop.extent = cast(*t, loop.extent);
  loop.var = make<VarNode>(Name(), *t);
  return true;
}

auto loop_frame(LoopSpec loop, std::string_view what, Origin where) -> Value {
  BuildFrame f;
  f.kind = FrameKind::Loop;
  f.origin = where;
  f.loops.push_back(std::move(loop));
  return make_object<FrameObject>(std::move(f), what);
}

template <ForKind kind>
auto loop(Evaluator& e, const Arguments& a) -> Value {
  static const std::vector<Parameter> parameters = {{"start"}, {"stop", false}, {"annotations", false, true}, {"step", false, true},
                                                    {"dtype", false, true}, {"unroll", false, true}};
  static const char* what = kind == ForKind::Serial ? "T.serial" : kind == ForKind::Parallel ? "T.parallel" : kind == ForKind::Vectorized ? "T.vectorized" : "T.unroll";
  BoundArguments b;
  if (!need_program(e, a, what) || !bind_arguments(e, what, a, parameters, b)) { return not_bound(b); }
  auto spec = make_loop(e, kind, b.values[0], is_given(b, 1) ? &b.values[1] : nullptr, a.call);
  if (!spec) { return Value::error(); }
  if (is_given(b, 2)) {
    auto annotations = to_attrs(e, b.values[2]);
    if (!annotations) { return Value::error(); }
    check_keys(e, Vocabulary::LoopAnnotation, *annotations, b.values[2].where);
    spec->annotations = std::move(*annotations);
  }
  if (is_given(b, 5)) {
    // TVM's main line: whether the C compiler is to unroll the loop, and how far.
    static const Name unroll("pragma_unroll"), stay("disable_unroll");
    auto how = to_attr(e, b.values[5]);
    if (!how) { return Value::error(); }
    bool is_off = b.values[5].value.is_bool() && b.values[5].value.to_int().value_or(0) == 0;
    spec->annotations = is_off ? with_attr(spec->annotations, stay, Attr(bool_imm(true))) : with_attr(spec->annotations, unroll, std::move(*how));
  }
  if (is_given(b, 4) && !set_dtype(e, *spec, b.values[4])) { return Value::error(); }
  if (is_given(b, 3) && !add_step(e, *spec, b.values[3])) { return Value::error(); }
  return loop_frame(std::move(*spec), what, a.call);
}

auto thread_binding(Evaluator& e, const Arguments& a) -> Value {
  static const std::vector<Parameter> parameters = {{"start"}, {"stop", false}, {"thread", false}, {"annotations", false, true}};
  BoundArguments b;
  if (!need_program(e, a, "T.thread_binding") || !bind_arguments(e, "T.thread_binding", a, parameters, b)) { return not_bound(b); }
  Argument thread = b.values[2];
  bool has_stop = is_given(b, 1);
  if (thread.value.is_none() && b.values[1].value.string()) {
    thread = b.values[1];
    has_stop = false;
  }
  const std::string* tag = thread.value.string();
  if (!tag) {
    return e.report(error(Code::WrongType, thread.value.is_none() ? a.call : thread.where).arg("expected", "a thread tag, `thread=\"threadIdx.x\"`").arg("found", thread.value.is_none() ? "none" : describe(thread.value)));
  }
  check_word(e, Vocabulary::ThreadAxis, *tag, thread.where);
  auto spec = make_loop(e, ForKind::ThreadBinding, b.values[0], has_stop ? &b.values[1] : nullptr, a.call);
  if (!spec) { return Value::error(); }
  IterVar iter;
  iter.var = make<VarNode>(Name("iter"), spec->extent.dtype(), a.call);
  iter.kind = IterKind::ThreadIndex;
  iter.thread_tag = Name(*tag);
  iter.origin = thread.where;
  spec->thread = std::move(iter);
  if (is_given(b, 3)) {
    auto annotations = to_attrs(e, b.values[3]);
    if (!annotations) { return Value::error(); }
    check_keys(e, Vocabulary::LoopAnnotation, *annotations, b.values[3].where);
    spec->annotations = std::move(*annotations);
  }
  return loop_frame(std::move(*spec), "T.thread_binding", a.call);
}

auto grid(Evaluator& e, const Arguments& a) -> Value {
  if (!need_program(e, a, "T.grid")) { return Value::error(); }
  static const Name dtype_name("dtype");
  const Argument* dtype = a.keyword(dtype_name);
  for (size_t i = a.positional; i < a.all.size(); ++i) {
    if (&a.all[i] == dtype) { continue; }
    return e.report(error(Code::UnexpectedArgument, a.all[i].keyword_at).arg("name", a.all[i].keyword.view()).arg("callee", "T.grid"));
  }
  BuildFrame f;
  f.kind = FrameKind::Loop;
  f.origin = a.call;
  bool good = true;
  for (size_t i = 0; i < a.positional; ++i) {
    const Argument& extent = a.all[i];
    std::optional<LoopSpec> spec;
    if (const auto* pair = extent.value.as<eval::Tuple>(); pair && pair->items.size() == 2) {
      Argument stop{pair->items[1], extent.where, {}};
      spec = make_loop(e, ForKind::Serial, {pair->items[0], extent.where, {}}, &stop, extent.where);
    } else {
      spec = make_loop(e, ForKind::Serial, extent, nullptr, extent.where);
    }
    good &= spec.has_value() && (!dtype || dtype->value.is_none() || set_dtype(e, *spec, *dtype));
    if (spec) { f.loops.push_back(std::move(*spec)); }
  }
  if (!good) { return Value::error(); }
  return make_object<FrameObject>(std::move(f), "T.grid");
}

// ---- blocks ------------------------------------------------------------------------------------------------------

auto domain(Evaluator& e, const Argument& a) -> std::optional<Range>;
auto make_block(Evaluator& e, const Arguments& a, std::string_view what) -> Value {
  static const std::vector<Parameter> parameters = {{"name", false}, {"no_realize", false}, {"exec_scope", false, true}};
  static const std::vector<Parameter> with_axes = {{"axes"}, {"name", false}, {"exec_scope", false}};
  BoundArguments b;
  if (!need_program(e, a, what)) { return Value::error(); }
  BuildFrame f;
  f.kind = FrameKind::Block;
  f.origin = a.call;
  f.block = std::make_shared<BlockSpec>();
  if (a.positional > 0 && a.all[0].value.items()) {
    // The first TVMScript: `with T.block([16, T.reduce_axis(0, 16)], "C") as [vi, vk]:`, bound by `T.bind(vi, i)`.
    if (!bind_arguments(e, what, a, with_axes, b)) { return not_bound(b); }
    for (const Value& item : *a.all[0].value.items()) {
      IterVar iter;
      iter.origin = a.all[0].where;
      if (const auto* axis = item.as<IterVarObject>()) {
        iter = axis->iter;
      } else {
        auto dom = domain(e, {item, a.all[0].where, {}});
        if (!dom) { return Value::error(); }
        iter.dom = std::move(*dom);
        iter.var = make<VarNode>(Name(), iter.dom.extent.dtype(), a.all[0].where);
      }
      f.block->iter_vars.push_back(std::move(iter));
      f.block->iter_values.emplace_back();
    }
    if (is_given(b, 1)) {
      const std::string* name = b.values[1].value.string();
      if (!name) { return wrong(e, b.values[1], "a block's name"); }
      f.block->name = Name(*name);
    }
    f.block->binds_by_name = true;
    return make_object<FrameObject>(std::move(f), what);
  }
  if (!bind_arguments(e, what, a, parameters, b)) { return not_bound(b); }
  if (b.given[0]) {
    const std::string* name = b.values[0].value.string();
    if (!name) { return wrong(e, b.values[0], "a block's name"); }
    f.block->name = Name(*name);
  }
  f.block->no_realize = b.given[1] && b.values[1].value.to_int().value_or(0) != 0;
  return make_object<FrameObject>(std::move(f), what);
}
auto block(Evaluator& e, const Arguments& a) -> Value { return make_block(e, a, "T.block"); }
auto sblock(Evaluator& e, const Arguments& a) -> Value {
  if (Lowerer* lowerer = Lowerer::of(e)) { lowerer->use_sblock(); }
  return make_block(e, a, "T.sblock");
}
auto init(Evaluator& e, const Arguments& a) -> Value {
  BlockSpec* here = need_block(e, a, "T.init");
  if (!here) { return Value::error(); }
  if (here->init) { return e.report(error(Code::GivenTwice, a.callee).arg("what", "T.init").arg("block", here->name.view())); }
  BuildFrame f;
  f.kind = FrameKind::Init;
  f.origin = a.call;
  return make_object<FrameObject>(std::move(f), "T.init");
}
auto where(Evaluator& e, const Arguments& given) -> Value {
  Arguments a = given;
  BlockSpec* here = need_block(e, a, "T.where");
  std::vector<Expr> args;
  if (!here || !operands(e, "T.where", a, 1, 1, args, "predicate")) { return Value::error(); }
  if (here->predicate) { return e.report(error(Code::GivenTwice, a.callee).arg("what", "T.where").arg("block", here->name.view())); }
  Expr condition = args[0];
  if (!condition.dtype().is_bool()) {
    if (!condition.dtype().is_integral()) { return wrong(e, a.all[0], "a condition"); }
    condition = cast(DataType::bool_(), condition);
  }
  here->predicate = std::move(condition);
  return {};
}

auto add_regions(Evaluator& e, const Argument& a, std::vector<BufferRegion>& out) -> bool {
  if (const auto* items = a.value.items()) {
    bool good = true;
    for (const Value& item : *items) { good &= add_regions(e, {item, a.where, {}}, out); }
    return good;
  }
  auto region = to_region(e, a);
  if (region) { out.push_back(std::move(*region)); }
  return region.has_value();
}
auto touched(Evaluator& e, const Arguments& a, bool is_write) -> Value {
  std::string_view what = is_write ? "T.writes" : "T.reads";
  BlockSpec* here = need_block(e, a, what);
  if (!here) { return Value::error(); }
  std::vector<BufferRegion> regions;
  for (const Argument& x : a.all) { (void)add_regions(e, x, regions); }
  // What is said to be touched is no access: TVM takes any region.
  for (Diagnostic& d : e.diagnostics) {
    bool is_here = d.where.decl == a.call.decl && d.where.begin >= a.call.begin && d.where.end <= a.call.end;
    if (d.code == Code::IndexOutOfBounds && is_here) { d.severity = Severity::Warning; }
  }
  auto& slot = is_write ? here->writes : here->reads;
  if (slot) { return e.report(error(Code::GivenTwice, a.callee).arg("what", what).arg("block", here->name.view())); }
  slot = std::move(regions);
  return {};
}
auto reads(Evaluator& e, const Arguments& a) -> Value { return touched(e, a, false); }
auto writes(Evaluator& e, const Arguments& a) -> Value { return touched(e, a, true); }

auto block_attr(Evaluator& e, const Arguments& a) -> Value {
  BlockSpec* here = need_block(e, a, "T.block_attr");
  static const std::vector<Parameter> parameters = {{"attrs"}};
  BoundArguments b;
  if (!here || !bind_arguments(e, "T.block_attr", a, parameters, b)) { return not_bound(b); }
  auto attrs = to_attrs(e, b.values[0]);
  if (!attrs) { return Value::error(); }
  check_keys(e, Vocabulary::BlockAnnotation, *attrs, b.values[0].where);
  if (here->annotations.empty()) {
    here->annotations = std::move(*attrs);
  } else {
    for (const auto& [key, value] : *attrs) { here->annotations = with_attr(here->annotations, key, value); }
  }
  return {};
}

// The domain of an axis: an extent, or (begin, end).
auto domain(Evaluator& e, const Argument& a) -> std::optional<Range> {
  if (const auto* items = a.value.items()) {
    if (items->size() != 2) {
      wrong(e, a, "an extent, or (begin, end)");
      return {};
    }
    Expr begin = extent_like(e, {(*items)[0], a.where, {}});
    Expr end = extent_like(e, {(*items)[1], a.where, {}});
    if (!begin || !end || !match_operands(e, "-", begin, a.where, end, a.where, a.where)) { return {}; }
    Expr extent = difference(end, begin);
    return Range{std::move(begin), std::move(extent)};
  }
  if (const auto* range = a.value.as<eval::RangeObject>()) { return Range{int_imm(range->start), int_imm(range->stop - range->start)}; }
  Expr extent = extent_like(e, a);
  if (!extent) { return {}; }
  return Range{zero(extent.dtype()), std::move(extent)};
}

auto push_axis(BlockSpec& here, IterKind kind, Range dom, Expr binding, DataType dtype, Origin where) -> Value {
  IterVar iter;
  iter.var = make<VarNode>(Name(), dtype, where);
  iter.dom = std::move(dom);
  iter.kind = kind;
  iter.origin = where;
  here.iter_vars.push_back(iter);
  here.iter_values.push_back(std::move(binding));
  return expr(iter.var);
}

auto axis(Evaluator& e, const Arguments& a, IterKind kind, std::string_view what) -> Value {
  static const std::vector<Parameter> parameters = {{"dom"}, {"binding"}, {"dtype", false}};
  static const std::vector<Parameter> unbound = {{"dom"}, {"binding", false}, {"dtype", false}};
  BlockSpec* here = need_block(e, a, what);
  BoundArguments b;
  // A block that is not realized has nothing to bind its axes to.
  if (!here || !bind_arguments(e, what, a, here->no_realize ? unbound : parameters, b)) { return not_bound(b); }
  auto dom = domain(e, b.values[0]);
  if (!dom) { return Value::error(); }
  DataType dtype = DataType::int_(32);
  if (is_given(b, 2)) {
    auto t = to_dtype(e, b.values[2]);
    if (!t) { return Value::error(); }
    dtype = *t;
  }
  int bits = std::max<int>({dom->min.dtype().bits, dom->extent.dtype().bits, dtype.bits});
  dtype = dtype.with_bits(bits);
  dom->min = cast(dtype, dom->min);
  dom->extent = cast(dtype, dom->extent);
  Expr binding = b.given[1] ? to_expr_like(e, b.values[1], dtype) : int_imm(0, dtype, a.call);
  if (!binding) { return Value::error(); }
  if (!binding.dtype().is_integral() || !binding.dtype().is_scalar()) { return wrong(e, b.values[1], "an integer binding"); }
  return push_axis(*here, kind, std::move(*dom), std::move(binding), dtype, a.call);
}
auto axis_spatial(Evaluator& e, const Arguments& a) -> Value { return axis(e, a, IterKind::Spatial, "T.axis.spatial"); }
auto axis_reduce(Evaluator& e, const Arguments& a) -> Value { return axis(e, a, IterKind::Reduction, "T.axis.reduce"); }
auto axis_scan(Evaluator& e, const Arguments& a) -> Value { return axis(e, a, IterKind::Scan, "T.axis.scan"); }
auto axis_opaque(Evaluator& e, const Arguments& a) -> Value { return axis(e, a, IterKind::Opaque, "T.axis.opaque"); }

// `T.reduce_axis(16)`, `T.reduce_axis(0, 16)`: an axis of `with T.block([...])`.
template <IterKind kind>
auto free_axis(Evaluator& e, const Arguments& a) -> Value {
  if (a.all.empty() || a.all.size() > 2 || a.positional != a.all.size()) {
    return e.report(error(Code::WrongType, a.call).arg("expected", "an extent, or begin and end").arg("found", std::to_string(a.all.size()) + " arguments"));
  }
  Argument dom = a.all[0];
  if (a.all.size() == 2) { dom.value = Value::tuple({a.all[0].value, a.all[1].value}); }
  auto range = domain(e, dom);
  if (!range) { return Value::error(); }
  IterVar iter;
  iter.origin = a.call;
  iter.kind = kind;
  iter.dom = std::move(*range);
  iter.var = make<VarNode>(Name(), iter.dom.extent.dtype(), a.call);
  return make_object<IterVarObject>(std::move(iter));
}

auto axis_remap(Evaluator& e, const Arguments& a) -> Value {
  static const std::vector<Parameter> parameters = {{"kinds"}, {"bindings"}, {"dtype", false}};
  Lowerer* lowerer = Lowerer::of(e);
  BlockSpec* here = need_block(e, a, "T.axis.remap");
  BoundArguments b;
  if (!here || !bind_arguments(e, "T.axis.remap", a, parameters, b)) { return not_bound(b); }
  const std::string* kinds = b.values[0].value.string();
  if (!kinds) { return wrong(e, b.values[0], "axis kinds, one letter each"); }
  const auto* bindings = b.values[1].value.items();
  if (!bindings) { return wrong(e, b.values[1], "a list of loop variables"); }
  if (bindings->size() != kinds->size()) {
    return e.report(error(Code::RemapCount, b.values[0].where).arg("kinds", static_cast<int64_t>(kinds->size())).arg("vars", static_cast<int64_t>(bindings->size())));
  }
  std::vector<Value> vars;
  for (size_t i = 0; i < kinds->size(); ++i) {
    Argument binding{(*bindings)[i], b.values[1].where, {}};
    Expr x = to_expr(e, binding);
    if (!x) { return Value::error(); }
    const auto* var = x.as<VarNode>();
    const LoopSpec* loop = var ? lowerer->find_loop(var) : nullptr;
    if (!loop) {
      return e.report(error(Code::NotALoopVariable, binding.where).arg("what", describe(binding.value)));
    }
    IterKind kind = IterKind::Spatial;
    char k = (*kinds)[i];
    if (k == 'R') { kind = IterKind::Reduction; }
    else if (k != 'S') {
      return e.report(error(Code::WrongType, b.values[0].where).arg("expected", "axis kinds `S` and `R`").arg("found", std::string("`") + k + "`"));
    }
    vars.push_back(push_axis(*here, kind, {loop->min, loop->extent}, x, var->dtype, a.call));
  }
  if (vars.size() == 1) { return vars[0]; }
  return Value::list(std::move(vars));
}

// ---- statements --------------------------------------------------------------------------------------------------

auto func_attr(Evaluator& e, const Arguments& a) -> Value {
  static const std::vector<Parameter> parameters = {{"attrs"}};
  BoundArguments b;
  Lowerer* lowerer = need_program(e, a, "T.func_attr");
  if (!lowerer || !bind_arguments(e, "T.func_attr", a, parameters, b)) { return not_bound(b); }
  auto attrs = to_attrs(e, b.values[0]);
  if (!attrs) { return Value::error(); }
  check_keys(e, Vocabulary::FunctionAttribute, *attrs, b.values[0].where);
  if (lowerer->attrs().empty()) {
    lowerer->set_attrs(std::move(*attrs));
  } else {
    AttrMap merged = lowerer->attrs();
    for (const auto& [key, value] : *attrs) { merged = with_attr(merged, key, value); }
    lowerer->set_attrs(std::move(merged));
  }
  return {};
}
auto func_name(Evaluator& e, const Arguments& a) -> Value { return {}; }
auto func_ret(Evaluator& e, const Arguments& a) -> Value {
  Lowerer* lowerer = need_program(e, a, "T.func_ret");
  if (!lowerer || a.all.empty()) { return Value::error(); }
  if (auto t = to_dtype(e, a.all[0])) { lowerer->set_return_type(*t); }
  return {};
}

auto evaluate(Evaluator& e, const Arguments& given) -> Value {
  Arguments a = given;
  Lowerer* lowerer = need_program(e, a, "T.evaluate");
  std::vector<Expr> args;
  if (!lowerer || !operands(e, "T.evaluate", a, 1, 1, args, "value")) { return Value::error(); }
  lowerer->add_evaluated(args[0], a.call);
  return {};
}

auto buffer_store(Evaluator& e, const Arguments& a) -> Value {
  static const std::vector<Parameter> parameters = {{"buffer"}, {"value"}, {"indices"}, {"predicate", false}};
  BoundArguments b;
  Lowerer* lowerer = need_program(e, a, "T.buffer_store");
  if (!lowerer || !bind_arguments(e, "T.buffer_store", a, parameters, b)) { return not_bound(b); }
  const auto* buffer = b.values[0].value.as<BufferObject>();
  if (!buffer) { return wrong(e, b.values[0], "a buffer"); }
  std::vector<Argument> indices;
  if (const auto* items = b.values[2].value.items()) {
    for (const Value& item : *items) { indices.push_back({item, b.values[2].where, {}}); }
  } else {
    indices.push_back(b.values[2]);
  }
  lowerer->store(buffer->buffer, indices, b.values[1], a.call);
  return {};
}

auto let_statement(Evaluator& e, const Arguments& a) -> Value {
  static const std::vector<Parameter> parameters = {{"value"}, {"type_annotation", false}, {"var", false, true}};
  BoundArguments b;
  if (!need_program(e, a, "T.LetStmt") || !bind_arguments(e, "T.LetStmt", a, parameters, b)) { return not_bound(b); }
  BuildFrame f;
  f.kind = FrameKind::Let;
  f.origin = a.call;
  f.a = to_expr(e, b.values[0]);
  if (!f.a) { return Value::error(); }
  if (const auto* v = b.values[2].value.as<ExprObject>(); v && v->expr.as<VarNode>()) {
    f.var = Var(v->expr.as<VarNode>());
  } else {
    const Value& type = b.values[1].value;
    const auto* pointer = type.as<ExprObject>() ? type.as<ExprObject>()->expr.as<VarNode>() : nullptr;
    const auto* plain = type.as<DtypeObject>();
    DataType t = pointer ? pointer->dtype : plain ? plain->dtype : f.a.dtype();
    f.var = pointer && pointer->pointer ? make<VarNode>(Name(), t, a.call, *pointer->pointer) : make<VarNode>(Name(), t, a.call);
  }
  return make_object<FrameObject>(std::move(f), "T.LetStmt");
}
auto bind_value(Evaluator& e, const Arguments& a) -> Value {
  // `T.bind(vi, i)`: the value of an axis of `with T.block([...]) as [vi]`.
  if (Lowerer* lowerer = Lowerer::of(e); lowerer && a.positional == 2 && a.all.size() == 2) {
    const auto* v = a.all[0].value.as<ExprObject>();
    BlockSpec* here = v ? lowerer->block_here() : nullptr;
    for (size_t i = 0; here && here->binds_by_name && i < here->iter_vars.size(); ++i) {
      if (here->iter_vars[i].var.get() != v->expr.get()) { continue; }
      Expr value = to_expr_like(e, a.all[1], v->expr.dtype());
      if (value) { here->iter_values[i] = std::move(value); }
      return {};
    }
  }
  // `x = T.bind(value)`: a variable of the program.
  static const std::vector<Parameter> parameters = {{"value"}, {"type_annotation", false}, {"var", false, true}};
  BoundArguments b;
  if (!need_program(e, a, "T.bind") || !bind_arguments(e, "T.bind", a, parameters, b)) { return not_bound(b); }
  return let_statement(e, a);
}
auto let(Evaluator& e, const Arguments& a) -> Value {
  // `T.let(x, value)`: a statement; `T.let(x, value, body)`: an expression.
  static const std::vector<Parameter> parameters = {{"v"}, {"value"}, {"body", false}};
  BoundArguments b;
  if (!bind_arguments(e, "T.let", a, parameters, b)) { return not_bound(b); }
  const auto* v = b.values[0].value.as<ExprObject>();
  const auto* var = v ? v->expr.as<VarNode>() : nullptr;
  if (!var) { return wrong(e, b.values[0], "a variable"); }
  Expr value = to_expr_like(e, b.values[1], var->dtype);
  if (!value) { return Value::error(); }
  if (is_given(b, 2)) {
    Expr body = to_expr(e, b.values[2]);
    return body ? expr(make<Let>(Var(var), value, body, a.call)) : Value::error();
  }
  BuildFrame f;
  f.kind = FrameKind::Let;
  f.origin = a.call;
  f.var = Var(var);
  f.a = std::move(value);
  return make_object<FrameObject>(std::move(f), "T.let");
}
auto let_expression(Evaluator& e, const Arguments& a) -> Value {
  static const std::vector<Parameter> parameters = {{"expr"}, {"where"}};
  BoundArguments b;
  if (!bind_arguments(e, "T.Let", a, parameters, b)) { return not_bound(b); }
  const auto* where_dict = b.values[1].value.as<eval::Dict>();
  if (!where_dict || where_dict->entries().size() != 1) { return wrong(e, b.values[1], "a dict of one variable and its value"); }
  const auto* v = where_dict->entries()[0].first.as<ExprObject>();
  const auto* var = v ? v->expr.as<VarNode>() : nullptr;
  if (!var) { return wrong(e, b.values[1], "a dict of one variable and its value"); }
  Expr value = to_expr_like(e, {where_dict->entries()[0].second, b.values[1].where, {}}, var->dtype);
  Expr body = to_expr(e, b.values[0]);
  if (!value || !body) { return Value::error(); }
  return expr(make<Let>(Var(var), value, body, a.call));
}
auto meta_var(Evaluator& e, const Arguments& a) -> Value {
  if (a.all.size() != 1) { return e.report(error(Code::TooFewArguments, a.callee).arg("callee", "T.meta_var").arg("count", 1).arg("given", static_cast<int64_t>(a.all.size()))); }
  return make_object<MetaObject>(a.all[0].value);
}

auto condition_frame(Evaluator& e, const Arguments& a, FrameKind kind, const char* what) -> Value {
  static const std::vector<Parameter> parameters = {{"condition"}};
  static const std::vector<Parameter> with_message = {{"condition"}, {"message"}};
  bool is_assert = kind == FrameKind::Assert;
  BoundArguments b;
  if (!need_program(e, a, what) || !bind_arguments(e, what, a, is_assert ? with_message : parameters, b)) { return not_bound(b); }
  BuildFrame f;
  f.kind = kind;
  f.origin = a.call;
  f.a = to_expr(e, b.values[0]);
  if (!f.a) { return Value::error(); }
  if (!f.a.dtype().is_integral() || !f.a.dtype().is_scalar()) { return wrong(e, b.values[0], "a condition"); }
  if (!f.a.dtype().is_bool()) { f.a = cast(DataType::bool_(), f.a); }
  if (is_assert) {
    f.b = to_expr(e, b.values[1]);
    if (!f.b) { return Value::error(); }
  }
  return make_object<FrameObject>(std::move(f), what);
}
auto assert_statement(Evaluator& e, const Arguments& a) -> Value { return condition_frame(e, a, FrameKind::Assert, "T.Assert"); }
auto while_statement(Evaluator& e, const Arguments& a) -> Value { return condition_frame(e, a, FrameKind::While, "T.While"); }
auto if_statement(Evaluator& e, const Arguments& a) -> Value { return condition_frame(e, a, FrameKind::If, "T.If"); }
template <FrameKind kind>
auto branch(Evaluator& e, const Arguments& a) -> Value {
  const char* what = kind == FrameKind::Then ? "T.Then" : "T.Else";
  Lowerer* lowerer = need_program(e, a, what);
  if (!lowerer) { return Value::error(); }
  if (!lowerer->directly_in(FrameKind::If)) { return e.report(error(Code::BadValue, a.callee).arg("what", std::string("`") + what + "` stands directly in `with T.If(...)`")); }
  BuildFrame f;
  f.kind = kind;
  f.origin = a.call;
  return make_object<FrameObject>(std::move(f), what);
}

auto attr(Evaluator& e, const Arguments& a) -> Value {
  static const std::vector<Parameter> parameters = {{"node"}, {"attr_key"}, {"value"}};
  BoundArguments b;
  // `T.attr({"key": value})` is of the device's part of a program.
  if (a.all.size() == 1 && a.all[0].value.as<eval::Dict>()) { return e.opaque(a.call); }
  if (!need_program(e, a, "T.attr") || !bind_arguments(e, "T.attr", a, parameters, b)) { return not_bound(b); }
  BuildFrame f;
  f.kind = FrameKind::Attr;
  f.origin = a.call;
  const Value& node = b.values[0].value;
  if (const auto* buffer = node.as<BufferObject>()) { f.subject = buffer->buffer; }
  else if (const auto* iter = node.as<IterVarObject>()) { f.subject = iter->iter; }
  else if (const auto* x = node.as<ExprObject>()) { f.subject = x->expr; }
  else if (const auto* combiner = node.as<ReducerObject>()) {
    // A reduction of nothing stands for its combiner.
    const CommReducer& c = combiner->reducer;
    f.subject = Expr(make<Reduce>(c, c->identity, Array<IterVar>(), bool_imm(true), 0, Array<Expr>(), a.call));
  }
  else if (node.is_none() || node.as<AttrObject>() || node.as<eval::Dict>()) { f.subject = std::monostate{}; }
  else {
    Expr x = to_expr(e, b.values[0]);
    if (!x) { return Value::error(); }
    f.subject = x;
  }
  const std::string* key = b.values[1].value.string();
  if (!key) { return wrong(e, b.values[1], "an attribute's name"); }
  check_word(e, Vocabulary::StatementAttribute, *key, b.values[1].where);
  f.key = Name(*key);
  f.a = to_expr(e, b.values[2]);
  if (!f.a) { return Value::error(); }
  return make_object<FrameObject>(std::move(f), "T.attr");
}

auto thread_iter(Name tag, DataType t, Origin where) -> IterVar {
  IterVar iter;
  iter.var = make<VarNode>(Name(), t, where);
  iter.kind = IterKind::ThreadIndex;
  iter.thread_tag = tag;
  iter.origin = where;
  return iter;
}
auto env_thread(Evaluator& e, const Arguments& a) -> Value {
  static const std::vector<Parameter> parameters = {{"thread_tag"}, {"dtype", false}};
  BoundArguments b;
  Lowerer* lowerer = need_program(e, a, "T.env_thread");
  if (!lowerer || !bind_arguments(e, "T.env_thread", a, parameters, b)) { return not_bound(b); }
  const std::string* tag = b.values[0].value.string();
  if (!tag) { return wrong(e, b.values[0], "a thread tag"); }
  DataType t = DataType::int_(32);
  if (is_given(b, 1)) { t = to_dtype(e, b.values[1]).value_or(t); }
  check_word(e, Vocabulary::ThreadAxis, *tag, b.values[0].where);
  IterVar iter = thread_iter(Name(*tag), t, a.call);
  lowerer->add_thread_axis(iter);
  return expr(iter.var);
}
auto launch_thread(Evaluator& e, const Arguments& a) -> Value {
  static const std::vector<Parameter> parameters = {{"thread"}, {"extent"}};
  BoundArguments b;
  Lowerer* lowerer = need_program(e, a, "T.launch_thread");
  if (!lowerer || !bind_arguments(e, "T.launch_thread", a, parameters, b)) { return not_bound(b); }
  Expr extent = extent_like(e, b.values[1]);
  if (!extent) { return Value::error(); }
  BuildFrame f;
  f.kind = FrameKind::Thread;
  f.origin = a.call;
  if (const std::string* tag = b.values[0].value.string()) {
    check_word(e, Vocabulary::ThreadAxis, *tag, b.values[0].where);
    f.thread = thread_iter(Name(*tag), extent.dtype(), a.call);
    lowerer->add_thread_axis(f.thread);
  } else {
    const auto* v = b.values[0].value.as<ExprObject>();
    const auto* var = v ? v->expr.as<VarNode>() : nullptr;
    const IterVar* known = var ? lowerer->thread_axis(var) : nullptr;
    if (!known) { return wrong(e, b.values[0], "a thread tag, or a variable of `T.env_thread`"); }
    f.thread = *known;
  }
  f.thread.dom = from_zero(extent);
  bool is_virtual = f.thread.thread_tag.view().starts_with("vthread");
  static const Name thread_extent("thread_extent"), virtual_thread("virtual_thread");
  f.key = is_virtual ? virtual_thread : thread_extent;
  f.a = std::move(extent);
  return make_object<FrameObject>(std::move(f), "T.launch_thread");
}

auto realize(Evaluator& e, const Arguments& a) -> Value {
  static const std::vector<Parameter> parameters = {{"buffer_slice"}, {"storage_scope"}, {"condition", false}};
  BoundArguments b;
  if (!need_program(e, a, "T.realize") || !bind_arguments(e, "T.realize", a, parameters, b)) { return not_bound(b); }
  if (const auto* whole = b.values[0].value.as<BufferObject>()) {
    std::string all;
    for (const Expr& extent : whole->buffer->shape) { all += (all.empty() ? "0:" : ", 0:") + print_debug(extent, 40); }
    return e.report(error(Code::WrongType, b.values[0].where).arg("expected", "a region of a buffer").arg("found", describe(b.values[0].value))
                        .remedy("say how much of it: `" + whole->buffer->name.str() + "[" + all + "]`"));
  }
  auto region = to_region(e, b.values[0]);
  const std::string* scope = b.values[1].value.string();
  if (!region || !scope) { return region ? wrong(e, b.values[1], "a storage scope") : Value::error(); }
  if (!scope->empty()) { check_word(e, Vocabulary::StorageScope, *scope, b.values[1].where); }
  BuildFrame f;
  f.kind = FrameKind::Realize;
  f.origin = a.call;
  f.buffer = region->buffer;
  f.bounds = region->region;
  f.text = *scope;
  f.a = is_given(b, 2) ? to_expr(e, b.values[2]) : bool_imm(true, a.call);
  if (!f.a) { return Value::error(); }
  return make_object<FrameObject>(std::move(f), "T.realize");
}

// ---- expressions -------------------------------------------------------------------------------------------------

// `T.max`: what a function of the table below is called.
auto name_of(eval::Builtin::Run run) -> std::string;
template <class Node>
auto raw_binary(Evaluator& e, const Arguments& given) -> Value {
  Arguments a = given;
  std::vector<Expr> x;
  static const std::string name = name_of(raw_binary<Node>);
  if (!operands(e, name, a, 2, 2, x, "a b")) { return Value::error(); }
  if (a.all[0].value.is_int() || a.all[0].value.is_float()) { x[0] = to_expr_like(e, a.all[0], x[1].dtype()); }
  else if (a.all[1].value.is_int() || a.all[1].value.is_float()) { x[1] = to_expr_like(e, a.all[1], x[0].dtype()); }
  if (!x[0] || !x[1]) { return Value::error(); }
  if (!match_operands(e, "this", x[0], a.all[0].where, x[1], a.all[1].where, a.call)) { return Value::error(); }
  return expr(make<Node>(x[0], x[1], a.call));
}
using Fold = auto (*)(Expr, Expr, Origin) -> Expr;
template <Fold fold>
auto folded_binary(Evaluator& e, const Arguments& given) -> Value {
  Arguments a = given;
  std::vector<Expr> x;
  static const std::string name = name_of(folded_binary<fold>);
  if (!operands(e, name, a, 2, 2, x, "a b")) { return Value::error(); }
  if (!match_operands(e, "this", x[0], a.all[0].where, x[1], a.all[1].where, a.call)) { return Value::error(); }
  Expr out = fold(x[0], x[1], a.call);
  return expr(std::move(out));
}
auto raw_not(Evaluator& e, const Arguments& given) -> Value {
  Arguments a = given;
  std::vector<Expr> x;
  return operands(e, "T.Not", a, 1, 1, x, "a") ? expr(make<Not>(x[0], a.call)) : Value::error();
}
template <syntax::BinaryOp op>
auto bit_operator(Evaluator& e, const Arguments& given) -> Value {
  Arguments a = given;
  std::vector<Expr> x;
  static const std::string name = name_of(bit_operator<op>);
  if (!operands(e, name, a, 2, 2, x, "x y")) { return Value::error(); }
  return expr(make_binary(e, op, x[0], a.all[0].where, x[1], a.all[1].where, a.call));
}
auto bitwise_not(Evaluator& e, const Arguments& given) -> Value {
  Arguments a = given;
  std::vector<Expr> x;
  if (!operands(e, "T.bitwise_not", a, 1, 1, x, "x")) { return Value::error(); }
  return expr(make<Call>(x[0].dtype(), Name("bitwise_not"), Array<Expr>{x[0]}, a.call));
}
auto power(Evaluator& e, const Arguments& given) -> Value {
  Arguments a = given;
  std::vector<Expr> x;
  if (!operands(e, "T.pow", a, 2, 2, x, "x y")) { return Value::error(); }
  if (!match_operands(e, "pow", x[0], a.all[0].where, x[1], a.all[1].where, a.call)) { return Value::error(); }
  return expr(make<Call>(x[0].dtype(), Name("pow"), Array<Expr>{x[0], x[1]}, a.call));
}
auto fmod_of(Evaluator& e, const Arguments& given) -> Value {
  Arguments a = given;
  std::vector<Expr> x;
  if (!operands(e, "T.fmod", a, 2, 2, x, "x y")) { return Value::error(); }
  if (!match_operands(e, "fmod", x[0], a.all[0].where, x[1], a.all[1].where, a.call)) { return Value::error(); }
  return expr(make<Call>(x[0].dtype(), Name("fmod"), Array<Expr>{x[0], x[1]}, a.call));
}
auto absolute(Evaluator& e, const Arguments& given) -> Value {
  Arguments a = given;
  std::vector<Expr> x;
  if (!operands(e, "T.abs", a, 1, 1, x, "x")) { return Value::error(); }
  DataType t = x[0].dtype();
  if (t.is_uint()) { return expr(x[0]); }
  if (t.is_int()) {
    if (auto i = as_int(x[0]); i && t.is_scalar()) { return expr(int_imm(*i < 0 ? -*i : *i, t, a.call)); }
    return expr(select(greater_equal(x[0], zero(t)), x[0], sub(zero(t), x[0]), a.call));
  }
  return expr(make<Call>(t, Name("fabs"), Array<Expr>{x[0]}, a.call));
}

auto raw_cast(Evaluator& e, const Arguments& a) -> Value {
  static const std::vector<Parameter> parameters = {{"dtype"}, {"value"}};
  BoundArguments b;
  if (!bind_arguments(e, "T.Cast", a, parameters, b)) { return not_bound(b); }
  if (b.values[1].value.string() && !b.values[0].value.string() && DataType::parse(*b.values[1].value.string())) {
    return e.report(error(Code::WrongType, b.values[0].where).arg("expected", "a data type").arg("found", describe(b.values[0].value))
                        .remedy("the type comes first: `T.Cast(\"" + *b.values[1].value.string() + "\", ...)`; or `T.cast(..., \"" + *b.values[1].value.string() + "\")`"));
  }
  auto t = to_dtype(e, b.values[0]);
  Expr x = to_expr(e, b.values[1]);
  if (!t || !x) { return Value::error(); }
  return expr(make<Cast>(*t, x, a.call));
}
auto folded_cast(Evaluator& e, const Arguments& a) -> Value {
  static const std::vector<Parameter> parameters = {{"value"}, {"dtype"}};
  BoundArguments b;
  if (!bind_arguments(e, "T.cast", a, parameters, b)) { return not_bound(b); }
  if (b.values[0].value.string() && !b.values[1].value.string()) { std::swap(b.values[0], b.values[1]); }
  Expr x = to_expr(e, b.values[0]);
  auto t = to_dtype(e, b.values[1]);
  if (!t || !x) { return Value::error(); }
  return expr(cast(*t, x, a.call));
}
// A constant, or a multiple of `T.vscale()`.
auto is_lane_count(const Expr& lanes) -> bool {
  static const Name vscale("vscale");
  if (auto n = as_int(lanes)) { return *n >= 2 && *n <= 65535; }
  bool scales = false;
  post_order(lanes, [&](const Expr& x) { scales |= x.as<Call>() && x.as<Call>()->op == vscale; });
  return scales;
}

auto ramp(Evaluator& e, const Arguments& a) -> Value {
  static const std::vector<Parameter> parameters = {{"base"}, {"stride"}, {"lanes"}};
  BoundArguments b;
  if (!bind_arguments(e, "T.Ramp", a, parameters, b)) { return not_bound(b); }
  Expr base = to_expr(e, b.values[0]);
  if (!base) { return Value::error(); }
  Expr stride = to_expr_like(e, b.values[1], base.dtype());
  Expr lanes = to_expr(e, b.values[2]);
  if (!stride || !lanes) { return Value::error(); }
  if (!match_operands(e, "T.Ramp", base, b.values[0].where, stride, b.values[1].where, a.call)) { return Value::error(); }
  if (!is_lane_count(lanes)) { return wrong(e, b.values[2], "a number of lanes"); }
  return expr(make<Ramp>(base, stride, lanes, a.call));
}
auto broadcast(Evaluator& e, const Arguments& a) -> Value {
  static const std::vector<Parameter> parameters = {{"value"}, {"lanes"}};
  BoundArguments b;
  if (!bind_arguments(e, "T.Broadcast", a, parameters, b)) { return not_bound(b); }
  Expr value = to_expr(e, b.values[0]);
  Expr lanes = to_expr(e, b.values[1]);
  if (!value || !lanes) { return Value::error(); }
  if (!is_lane_count(lanes)) { return wrong(e, b.values[1], "a number of lanes"); }
  return expr(make<Broadcast>(value, lanes, a.call));
}
auto shuffle(Evaluator& e, const Arguments& a) -> Value {
  static const std::vector<Parameter> parameters = {{"vectors"}, {"indices"}};
  BoundArguments b;
  if (!bind_arguments(e, "T.Shuffle", a, parameters, b)) { return not_bound(b); }
  std::vector<Expr> vectors;
  std::vector<Expr> indices;
  if (!to_exprs(e, b.values[0], vectors) || !to_exprs(e, b.values[1], indices)) { return Value::error(); }
  if (vectors.empty() || indices.empty()) { return wrong(e, b.values[0], "at least one vector and one index"); }
  return expr(make<Shuffle>(std::move(vectors), std::move(indices), a.call));
}
auto choose(Evaluator& e, const Arguments& given, bool is_select) -> Value {
  Arguments a = without_dtype(given);
  static const std::vector<Parameter> parameters = {{"condition"}, {"true_value"}, {"false_value"}};
  static const std::vector<Parameter> parameters_if = {{"cond"}, {"t"}, {"f"}};
  BoundArguments b;
  if (!bind_arguments(e, is_select ? "T.Select" : "T.if_then_else", a, is_select ? parameters : parameters_if, b)) { return not_bound(b); }
  Expr c = to_expr(e, b.values[0]);
  Expr t = to_expr(e, b.values[1]);
  Expr f = to_expr(e, b.values[2]);
  if (!c || !t || !f) { return Value::error(); }
  // The values of a `Select` have one type; those of `if_then_else` are matched.
  auto is_literal = [&](size_t i) { return is_select && (b.values[i].value.is_int() || b.values[i].value.is_float()); };
  if (is_literal(1)) { t = to_expr_like(e, b.values[1], f.dtype()); } else if (is_literal(2)) { f = to_expr_like(e, b.values[2], t.dtype()); }
  if (!t || !f) { return Value::error(); }
  if (!c.dtype().is_integral()) { return wrong(e, b.values[0], "a condition"); }
  if (!match_operands(e, is_select ? "T.Select" : "T.if_then_else", t, b.values[1].where, f, b.values[2].where, a.call)) { return Value::error(); }
  if (is_select) { return expr(make<Select>(c, t, f, a.call)); }
  if (!c.dtype().is_bool()) { c = cast(DataType::bool_(), c); }
  return expr(if_then_else(c, t, f, a.call));
}
auto select_of(Evaluator& e, const Arguments& a) -> Value { return choose(e, a, true); }
auto if_then_else_of(Evaluator& e, const Arguments& a) -> Value { return choose(e, a, false); }

auto min_value_of(Evaluator& e, const Arguments& a) -> Value {
  if (a.all.size() != 1) { return e.report(error(Code::TooFewArguments, a.callee).arg("callee", "T.min_value").arg("count", 1).arg("given", static_cast<int64_t>(a.all.size()))); }
  auto t = to_dtype(e, a.all[0]);
  return t ? expr(min_value(*t)) : Value::error();
}
auto max_value_of(Evaluator& e, const Arguments& a) -> Value {
  if (a.all.size() != 1) { return e.report(error(Code::TooFewArguments, a.callee).arg("callee", "T.max_value").arg("count", 1).arg("given", static_cast<int64_t>(a.all.size()))); }
  auto t = to_dtype(e, a.all[0]);
  return t ? expr(max_value(*t)) : Value::error();
}
template <bool is_float>
auto immediate(Evaluator& e, const Arguments& a) -> Value {
  static const std::vector<Parameter> parameters = {{"dtype"}, {"value"}};
  BoundArguments b;
  if (!bind_arguments(e, is_float ? "T.FloatImm" : "T.IntImm", a, parameters, b)) { return not_bound(b); }
  auto t = to_dtype(e, b.values[0]);
  if (!t) { return Value::error(); }
  if (is_float) {
    auto d = b.values[1].value.to_float();
    return d ? expr(float_imm(*d, *t, a.call)) : wrong(e, b.values[1], "a number");
  }
  if (b.values[1].value.as<eval::WideInt>()) {
    Expr x = to_expr_like(e, b.values[1], *t);
    return x ? expr(std::move(x)) : Value::error();
  }
  auto i = b.values[1].value.to_int();
  return i ? expr(int_imm(*i, *t, a.call)) : wrong(e, b.values[1], "an int");
}
auto constant_of(Evaluator& e, const Arguments& a) -> Value {
  static const std::vector<Parameter> parameters = {{"value"}, {"dtype", false}};
  BoundArguments b;
  if (!bind_arguments(e, "const", a, parameters, b)) { return not_bound(b); }
  if (!is_given(b, 1)) {
    Expr x = to_expr(e, b.values[0]);
    return x ? expr(x) : Value::error();
  }
  auto t = to_dtype(e, b.values[1]);
  if (!t) { return Value::error(); }
  Expr x = to_expr_like(e, b.values[0], *t);
  return x ? expr(cast(*t, x, a.call)) : Value::error();
}
// `tvm.runtime.convert(4)`: a number as an expression; others as they are.
auto converted(Evaluator& e, const Arguments& a) -> Value {
  if (a.all.size() != 1) { return e.opaque(a.call); }
  const Value& v = a.all[0].value;
  if (!v.is_int() && !v.is_bool() && !v.is_float()) { return v; }
  Expr x = to_expr(e, a.all[0]);
  return x ? expr(x) : Value::error();
}
auto string_immediate(Evaluator& e, const Arguments& a) -> Value {
  const std::string* s = a.all.size() == 1 ? a.all[0].value.string() : nullptr;
  if (!s) { return e.report(error(Code::WrongType, a.call).arg("expected", "a str").arg("found", a.all.empty() ? "nothing" : describe(a.all[0].value))); }
  return expr(make<StringImm>(*s, a.call));
}
auto named_var(Evaluator& e, const Arguments& a) -> Value {
  static const std::vector<Parameter> parameters = {{"name", false}, {"dtype", false}};
  BoundArguments b;
  if (!bind_arguments(e, "T.Var", a, parameters, b)) { return not_bound(b); }
  const std::string* name = b.values[0].value.string();
  if (!name) { return wrong(e, b.values[0], "a name"); }
  DataType t = DataType::int_(32);
  if (is_given(b, 1)) {
    auto given = to_dtype(e, b.values[1]);
    if (!given) { return Value::error(); }
    t = *given;
  }
  return expr(make<VarNode>(Name(*name), t, a.call));
}
auto fresh_var(Evaluator& e, const Arguments& a) -> Value {
  static const std::vector<Parameter> parameters = {{"dtype"}, {"name", false}};
  BoundArguments b;
  if (!bind_arguments(e, "T.var", a, parameters, b)) { return not_bound(b); }
  auto t = to_dtype(e, b.values[0]);
  const std::string* name = b.values[1].value.string();
  return t ? expr(make<VarNode>(name ? Name(*name) : Name(), *t, a.call)) : Value::error();
}
// `n = I.dynamic("n")`: a variable that shapes of programs are given by.
auto dynamic_var(Evaluator& e, const Arguments& a) -> Value {
  static const std::vector<Parameter> parameters = {{"name"}, {"dtype", false}};
  BoundArguments b;
  if (!bind_arguments(e, "I.dynamic", a, parameters, b)) { return not_bound(b); }
  const std::string* name = b.values[0].value.string();
  if (!name) { return wrong(e, b.values[0], "a name"); }
  auto t = is_given(b, 1) ? to_dtype(e, b.values[1]) : std::optional(DataType::int_(64));
  return t ? expr(make<VarNode>(Name(*name), *t, a.call)) : Value::error();
}
// `M = TypeVar("M")`, the same in Python's words; what else it may be given says nothing of the program.
auto type_var(Evaluator& e, const Arguments& a) -> Value {
  if (a.positional != 1 || a.all.size() != 1 || !a.all[0].value.string()) { return e.opaque(a.call); }
  return dynamic_var(e, a);
}
// `T.constexpr(c)`: it is decided while the program is read.
auto constant_condition(Evaluator& e, const Arguments& a) -> Value {
  if (a.all.size() != 1) { return e.opaque(a.call); }
  return a.all[0].value;
}
auto buffer_load(Evaluator& e, const Arguments& a) -> Value {
  static const std::vector<Parameter> parameters = {{"buffer"}, {"indices"}, {"predicate", false}};
  BoundArguments b;
  if (!bind_arguments(e, "T.BufferLoad", a, parameters, b)) { return not_bound(b); }
  const auto* buffer = b.values[0].value.as<BufferObject>();
  if (!buffer) { return wrong(e, b.values[0], "a buffer"); }
  std::vector<Expr> indices;
  if (!to_exprs(e, b.values[1], indices)) { return Value::error(); }
  return expr(make<BufferLoad>(buffer->buffer, std::move(indices), a.call));
}
auto range_of(Evaluator& e, const Arguments& a) -> Value {
  std::vector<Value> parts;
  if (a.all.size() == 1) { parts.emplace_back(0); }
  for (const Argument& x : a.all) { parts.push_back(x.value); }
  return Value::tuple(std::move(parts));
}
auto iter_var(Evaluator& e, const Arguments& a) -> Value {
  static const std::vector<Parameter> parameters = {{"v"}, {"dom"}, {"iter_type"}, {"thread_tag", false}};
  BoundArguments b;
  if (!bind_arguments(e, "T.iter_var", a, parameters, b)) { return not_bound(b); }
  IterVar iter;
  iter.origin = a.call;
  if (const std::string* name = b.values[0].value.string()) { iter.var = make<VarNode>(Name(*name), DataType::int_(32), a.call); }
  else if (const auto* v = b.values[0].value.as<ExprObject>(); v && v->expr.as<VarNode>()) { iter.var = Var(v->expr.as<VarNode>()); }
  else { return wrong(e, b.values[0], "a variable"); }
  if (!b.values[1].value.is_none()) {
    auto dom = domain(e, b.values[1]);
    if (!dom) { return Value::error(); }
    iter.dom = std::move(*dom);
  }
  static const std::vector<std::pair<Name, IterKind>> kinds = {
      {"DataPar", IterKind::Spatial}, {"CommReduce", IterKind::Reduction}, {"ThreadIndex", IterKind::ThreadIndex}, {"Ordered", IterKind::Scan},
      {"Opaque", IterKind::Opaque},   {"Unrolled", IterKind::Spatial},     {"Vectorized", IterKind::Spatial},      {"Parallelized", IterKind::Spatial},
      {"Tensorized", IterKind::Spatial}, {"DimInfo", IterKind::Spatial}};
  if (const std::string* kind = b.values[2].value.string()) {
    auto known = std::find_if(kinds.begin(), kinds.end(), [&](const auto& k) { return k.first.view() == *kind; });
    if (known == kinds.end()) {
      std::vector<Name> names;
      for (const auto& k : kinds) { names.push_back(k.first); }
      Diagnostic d = error(Code::WrongType, b.values[2].where).arg("expected", "a kind of iter var, such as `\"DataPar\"` or `\"CommReduce\"`").arg("found", "`\"" + *kind + "\"`");
      if (Name near = eval::closest_name(Name(*kind), names); !near.empty()) {
        (void)std::move(d).remedy("did you mean `\"" + near.str() + "\"`?").fix(b.values[2].where, "\"" + near.str() + "\"");
      }
      return e.report(std::move(d));
    }
    iter.kind = known->second;
  }
  if (const std::string* tag = b.values[3].value.string()) { iter.thread_tag = Name(*tag); }
  return make_object<IterVarObject>(std::move(iter));
}

// The parameters of a lambda as fresh variables.
auto lambda_vars(Evaluator& e, const Argument& a, std::vector<Var>& vars, std::vector<Value>& values, DataType t) -> const eval::Function* {
  const auto* f = a.value.as<eval::Function>();
  if (!f) { wrong(e, a, "a lambda"); return nullptr; }
  for (const syntax::Param& p : f->params()) {
    if (p.kind != syntax::ParamKind::Plain) { wrong(e, a, "a lambda of plain parameters"); return nullptr; }
    vars.push_back(make<VarNode>(p.name.name, t, a.where));
    values.push_back(expr(vars.back()));
  }
  return f;
}
auto index_map_from(Evaluator& e, const Argument& a, DataType t) -> IndexMap {
  std::vector<Var> vars;
  std::vector<Value> values;
  if (!lambda_vars(e, a, vars, values, t)) { return {}; }
  Value result = e.call(a.value, std::move(values), a.where);
  std::vector<Expr> final;
  if (result.is_unknown() || !to_exprs(e, {result, a.where, {}}, final)) { return {}; }
  return make_index_map({.initial = std::move(vars), .final = std::move(final), .inverse = {}});
}
// The map, its inverse (or none) and the type of indices (or none), as bound.
auto make_map(Evaluator& e, const BoundArguments& b, size_t inverse_at, size_t dtype_at) -> Value {
  DataType t = DataType::int_(32);
  if (is_given(b, dtype_at)) {
    auto given = to_dtype(e, b.values[dtype_at]);
    if (!given) { return Value::error(); }
    t = *given;
  }
  IndexMap map = index_map_from(e, b.values[0], t);
  if (!map) { return Value::error(); }
  if (is_given(b, inverse_at) && !b.values[inverse_at].value.is_none()) {
    IndexMap inverse = index_map_from(e, b.values[inverse_at], t);
    if (!inverse) { return Value::error(); }
    map = make_index_map({.initial = map->initial, .final = map->final, .inverse = std::move(inverse)});
  }
  return make_object<AttrObject>(Attr(std::move(map)));
}
auto index_map(Evaluator& e, const Arguments& a) -> Value {
  static const std::vector<Parameter> parameters = {{"mapping"}, {"inverse_index_map", false, true}, {"index_dtype", false, true}};
  BoundArguments b;
  if (!bind_arguments(e, "T.index_map", a, parameters, b)) { return not_bound(b); }
  return make_map(e, b, 1, 2);
}
auto index_map_from_func(Evaluator& e, const Arguments& a) -> Value {
  static const std::vector<Parameter> parameters = {{"mapping_function"}, {"ndim", false}, {"inverse_index_map", false}, {"index_dtype", false, true}};
  BoundArguments b;
  if (!bind_arguments(e, "IndexMap.from_func", a, parameters, b)) { return not_bound(b); }
  return make_map(e, b, 2, 3);
}
auto comm_reducer(Evaluator& e, const Arguments& a) -> Value {
  static const std::vector<Parameter> parameters = {{"combiner"}, {"identity"}};
  BoundArguments b;
  if (!bind_arguments(e, "T.comm_reducer", a, parameters, b)) { return not_bound(b); }
  std::vector<Expr> identity;
  if (!to_exprs(e, b.values[1], identity)) { return Value::error(); }
  std::vector<Var> vars;
  std::vector<Value> values;
  const auto* f = lambda_vars(e, b.values[0], vars, values, identity.empty() ? DataType::int_(32) : identity[0].dtype());
  if (!f || vars.size() != 2 * identity.size()) { return f ? wrong(e, b.values[0], "a lambda of two parameters per identity") : Value::error(); }
  for (size_t i = 0; i < vars.size(); ++i) {
    vars[i] = make<VarNode>(vars[i]->name, identity[i % identity.size()].dtype(), b.values[0].where);
    values[i] = expr(vars[i]);
  }
  Value result = e.call(b.values[0].value, std::move(values), a.call);
  std::vector<Expr> results;
  if (result.is_unknown() || !to_exprs(e, {result, a.call, {}}, results)) { return Value::error(); }
  auto* node = new (allocate_node(sizeof(CommReducerNode))) CommReducerNode;
  node->lhs = std::vector<Var>(vars.begin(), vars.begin() + static_cast<std::ptrdiff_t>(identity.size()));
  node->rhs = std::vector<Var>(vars.begin() + static_cast<std::ptrdiff_t>(identity.size()), vars.end());
  node->result = std::move(results);
  node->identity = std::move(identity);
  return make_object<ReducerObject>(CommReducer(node));
}
auto variables(Evaluator& e, const Argument& a, std::vector<Var>& out) -> bool {
  std::vector<Expr> exprs;
  if (!to_exprs(e, a, exprs)) { return false; }
  for (const Expr& x : exprs) {
    if (!x.as<VarNode>()) {
      wrong(e, a, "a list of variables");
      return false;
    }
    out.emplace_back(x.as<VarNode>());
  }
  return true;
}
auto comm_reducer_of_parts(Evaluator& e, const Arguments& a) -> Value {
  static const std::vector<Parameter> parameters = {{"lhs"}, {"rhs"}, {"result"}, {"identity_element"}};
  BoundArguments b;
  if (!bind_arguments(e, "T.CommReducer", a, parameters, b)) { return not_bound(b); }
  std::vector<Var> lhs, rhs;
  std::vector<Expr> result, identity;
  if (!variables(e, b.values[0], lhs) || !variables(e, b.values[1], rhs) || !to_exprs(e, b.values[2], result) || !to_exprs(e, b.values[3], identity)) { return Value::error(); }
  if (lhs.empty() || lhs.size() != rhs.size() || lhs.size() != result.size() || lhs.size() != identity.size()) {
    return wrong(e, b.values[3], "as many identities as variables on each side and results");
  }
  for (size_t i = 0; i < lhs.size(); ++i) {
    if (lhs[i]->dtype == identity[i].dtype()) { continue; }
    e.report(error(Code::WrongType, b.values[3].where).arg("expected", "an identity of type `" + lhs[i]->dtype.str() + "`, as `" + lhs[i]->name.str() + "` is")
                 .arg("found", "one of type `" + identity[i].dtype().str() + "`"));
    return Value::error();
  }
  auto* node = new (allocate_node(sizeof(CommReducerNode))) CommReducerNode;
  node->lhs = std::move(lhs);
  node->rhs = std::move(rhs);
  node->result = std::move(result);
  node->identity = std::move(identity);
  return make_object<ReducerObject>(CommReducer(node));
}
auto index_map_of_parts(Evaluator& e, const Arguments& a) -> Value {
  static const std::vector<Parameter> parameters = {{"initial_indices"}, {"final_indices"}, {"inverse_index_map", false}};
  if (a.positional > 0 && a.all[0].value.as<eval::Function>()) { return index_map(e, a); }
  BoundArguments b;
  if (!bind_arguments(e, "T.IndexMap", a, parameters, b)) { return not_bound(b); }
  std::vector<Var> initial;
  std::vector<Expr> final;
  if (!variables(e, b.values[0], initial) || !to_exprs(e, b.values[1], final)) { return Value::error(); }
  IndexMapNode node;
  node.initial = std::move(initial);
  node.final = std::move(final);
  if (is_given(b, 2)) {
    const auto* inverse = b.values[2].value.as<AttrObject>();
    const auto* map = inverse ? std::get_if<IndexMap>(&inverse->attr.value) : nullptr;
    if (!map) { return wrong(e, b.values[2], "an index map"); }
    node.inverse = *map;
  }
  return make_object<AttrObject>(Attr(make_index_map(std::move(node))));
}
// `T.reduce(combiner, source, init, axis, condition, value_index)`, as it is printed.
auto reduce(Evaluator& e, const Arguments& a) -> Value {
  static const std::vector<Parameter> parameters = {{"combiner"}, {"source"}, {"init"}, {"axis"}, {"condition", false}, {"value_index", false}};
  BoundArguments b;
  if (!bind_arguments(e, "T.reduce", a, parameters, b)) { return not_bound(b); }
  const auto* combiner = b.values[0].value.as<ReducerObject>();
  if (!combiner) { return wrong(e, b.values[0], "a reducer, `T.comm_reducer(...)`"); }
  std::vector<Expr> source, init;
  if (!to_exprs(e, b.values[1], source) || (is_given(b, 2) && !to_exprs(e, b.values[2], init))) { return Value::error(); }
  if (source.size() != combiner->reducer->result.size()) { return wrong(e, b.values[1], "as many sources as the reducer has results"); }
  std::vector<IterVar> axes;
  std::vector<Value> given = {b.values[3].value};
  if (const auto* items = b.values[3].value.items()) { given = *items; }
  for (const Value& v : given) {
    const auto* axis = v.as<IterVarObject>();
    if (!axis) { return wrong(e, b.values[3], "a list of axes, `T.iter_var(...)`"); }
    axes.push_back(axis->iter);
  }
  Expr condition = is_given(b, 4) ? to_expr(e, b.values[4]) : bool_imm(true, a.call);
  auto index = is_given(b, 5) ? b.values[5].value.to_int() : std::optional<int64_t>(0);
  if (!condition) { return Value::error(); }
  if (!index || *index < 0 || *index >= static_cast<int64_t>(source.size())) { return wrong(e, b.values[5], "the index of a source"); }
  return expr(make<Reduce>(combiner->reducer, std::move(source), std::move(axes), std::move(condition), static_cast<int>(*index), std::move(init), a.call));
}
auto lookup_intrinsic(Evaluator& e, const Arguments& a) -> Value {
  // TVM asks LLVM for a number; here the name itself is what calls carry.
  const std::string* name = a.all.size() == 1 ? a.all[0].value.string() : nullptr;
  if (!name) { return e.report(error(Code::WrongType, a.call).arg("expected", "the name of an LLVM intrinsic").arg("found", a.all.empty() ? "nothing" : describe(a.all[0].value))); }
  return a.all[0].value;
}
// The kind that a target names: its first word, or what stands under "kind". A name with a slash is a tag.
void check_target(Evaluator& e, const Attr& target, Origin where) {
  static const Name kind_name("kind");
  if (const auto* map = std::get_if<AttrMap>(&target.value)) {
    if (const Attr* kind = find_attr(*map, kind_name)) { check_target(e, *kind, where); }
    return;
  }
  const std::string* text = target.string();
  if (!text || text->find('/') != std::string::npos) { return; }
  if (std::string kind = text->substr(0, text->find(' ')); !kind.empty()) { check_word(e, Vocabulary::TargetKind, kind, where); }
}

auto target(Evaluator& e, const Arguments& a) -> Value {
  static const std::vector<Parameter> parameters = {{"target_config"}, {"host", false}};
  BoundArguments b;
  if (!bind_arguments(e, "T.target", a, parameters, b)) { return not_bound(b); }
  auto value = to_attr(e, b.values[0]);
  if (!value) { return Value::error(); }
  check_target(e, *value, b.values[0].where);
  static const Name host_name("host");
  auto plain = [](const Attr& a) {
    const Attr* inner = target_attr(a);
    return inner ? *inner : a;
  };
  // A host is said without `T.target` of its own: in the dictionary, or behind the name of a target.
  if (auto* map = std::get_if<AttrMap>(&value->value)) {
    if (const Attr* host = find_attr(*map, host_name)) { value = Attr(with_attr(*map, host_name, plain(*host))); }
  }
  if (is_given(b, 1)) {
    auto host = to_attr(e, b.values[1]);
    if (!host) { return Value::error(); }
    check_target(e, *host, b.values[1].where);
    const auto* map = std::get_if<AttrMap>(&value->value);
    value = map ? Attr(with_attr(*map, host_name, plain(*host))) : Attr(Array<Attr>{*value, plain(*host)});
  }
  return make_object<AttrObject>(Attr(AttrMap{{target_key(), std::move(*value)}}));
}
template <bool is_all>
auto combine_conditions(Evaluator& e, const Arguments& given) -> Value {
  Arguments a = given;
  std::vector<Expr> x;
  if (!operands(e, is_all ? "T.all" : "T.any", a, 1, 1000, x)) { return Value::error(); }
  Expr out = x[0];
  for (size_t i = 1; i < x.size(); ++i) { out = is_all ? logical_and(out, x[i], a.call) : logical_or(out, x[i], a.call); }
  return expr(out);
}

// What TVM's main line says by calls of `masked_load(buffer, indices ..., mask)` and `masked_store(buffer, value, indices ..., mask)`
// are accesses with a predicate. None: the call is none of these.
auto masked_access(Evaluator& e, std::string_view op, const std::vector<Argument>& args, Origin where) -> std::optional<Value> {
  bool is_store = op == "masked_store";
  const auto* buffer = (is_store || op == "masked_load") && !args.empty() ? args[0].value.as<BufferObject>() : nullptr;
  size_t first = is_store ? 2 : 1;
  if (!buffer || args.size() != first + buffer->buffer->shape.size() + 1) { return {}; }
  std::vector<Argument> at(args.begin() + static_cast<std::ptrdiff_t>(first), args.end() - 1);
  std::vector<Expr> indices;
  bool good = to_indices(e, buffer->buffer, at, where, indices);
  Expr mask = to_expr(e, args.back());
  if (!good || !mask) { return Value::error(); }
  if (!is_store) { return expr(make<BufferLoad>(buffer->buffer, std::move(indices), where, std::move(mask))); }
  Lowerer* lowerer = Lowerer::of(e);
  Expr value = to_expr_like(e, args[1], buffer->buffer->dtype);
  if (!value || !lowerer) { return Value::error(); }
  Expr call = make<Call>(DataType::void_(), Name("masked_store"), Array<Expr>{buffer->buffer->data, value}, where);
  lowerer->means(call, make<BufferStore>(buffer->buffer, std::move(value), std::move(indices), where, std::move(mask)));
  return expr(std::move(call));
}

auto call_intrin(Evaluator& e, const Arguments& a0) -> Value {
  Arguments a = a0;
  static const Name dtype_name("dtype");
  if (const Argument* t = a.keyword(dtype_name)) {
    Argument first = *t;
    first.keyword = Name();
    a.all.erase(a.all.begin() + (t - a.all.data()));
    a.all.insert(a.all.begin(), std::move(first));
    ++a.positional;
  }
  // `T.Call("tirx.prefetch", [x], ty="void")`, as TVM's main line has it: the type by name.
  static const Name ty_name("ty"), op_name("op"), args_name("args");
  if (const Argument* t = a.keyword(ty_name)) {
    Arguments ordered = a;
    ordered.all = {*t};
    for (size_t i = 0; i < a.all.size(); ++i) {
      const Argument& x = a.all[i];
      if (i < a.positional || x.keyword == op_name || x.keyword == args_name) { ordered.all.push_back(x); }
    }
    for (Argument& x : ordered.all) { x.keyword = Name(); }
    ordered.positional = ordered.all.size();
    a = std::move(ordered);
  }
  if (a.all.size() < 2) { return e.report(error(Code::TooFewArguments, a.callee).arg("callee", "T.call_intrin").arg("count", 2).arg("given", static_cast<int64_t>(a.all.size()))); }
  auto t = to_dtype(e, a.all[0]);
  const std::string* name = a.all[1].value.string();
  if (!t) { return Value::error(); }
  auto is_part = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.'; };
  if (!name || name->empty() || !std::all_of(name->begin(), name->end(), is_part)) { return wrong(e, a.all[1], "an operator's name"); }
  std::vector<Expr> args;
  // `T.Call("int32", "tir.ret", [x])`: the node's own form has its arguments in a list.
  if (const auto* items = a.all.size() == 3 ? a.all[2].value.items() : nullptr) {
    Argument list = a.all[2];
    a.all.pop_back();
    for (const Value& item : *items) { a.all.push_back({item, list.where, {}}); }
  }
  std::string_view op = *name;
  for (std::string_view prefix : {"tir.", "tirx."}) {
    if (op.starts_with(prefix)) { op.remove_prefix(prefix.size()); }
  }
  if (auto masked = masked_access(e, op, {a.all.begin() + 2, a.all.end()}, a.call)) { return *masked; }
  for (size_t i = 2; i < a.all.size(); ++i) {
    const auto* buffer = a.all[i].value.as<BufferObject>();
    Expr x = buffer ? Expr(buffer->buffer->data) : to_expr(e, a.all[i]);
    if (!x) { return Value::error(); }
    args.push_back(std::move(x));
  }
  return expr(make<Call>(*t, Name(op), std::move(args), a.call));
}

// ---- intrinsics by table -----------------------------------------------------------------------------------------

enum class Rule : uint8_t { First, Last, Same, Arg1, Int32, UInt32, Bool, Handle, Void };
struct Intrinsic { const char* name; const char* op; Rule rule; uint8_t low, high; };
constexpr Intrinsic intrinsics[] = {
#define INTRINSIC(name, op, rule, low, high) {#name, #op, Rule::rule, low, high},
#include "frontend/intrinsics.def"
};

auto parameter_names(std::string_view intrinsic) -> std::string_view {
  static constexpr std::pair<std::string_view, std::string_view> table[] = {
#define PARAMETERS(name, names) {#name, names},
#include "frontend/intrinsic_parameters.def"
  };
  for (const auto& [name, names] : table) {
    if (name == intrinsic) { return names; }
  }
  return {};
}

// What a packed function gets for a buffer: its pointer, shape, strides, number of dimensions, type and offset.
auto packed_buffer(const Buffer& b, Origin where) -> Expr {
  static const Name make_shape("tvm_stack_make_shape"), make_array("tvm_stack_make_array");
  auto shape = [&](const Array<Expr>& of) -> Expr { return make<Call>(DataType::handle(), make_shape, of, where); };
  Expr strides = b->strides.empty() ? int_imm(0, DataType::int_(32), where) : shape(b->strides);
  Expr offset = b->elem_offset ? b->elem_offset : int_imm(0, b->shape.empty() ? DataType::int_(32) : b->shape[0].dtype(), where);
  Expr dimensions = int_imm(static_cast<int64_t>(b->shape.size()), DataType::int_(32), where);
  return make<Call>(DataType::handle(), make_array, Array<Expr>{b->data, shape(b->shape), strides, dimensions, zero(b->dtype), offset}, where);
}

class IntrinsicObject final : public eval::Object {
 public:
  static const eval::TypeTag type_tag;
  const Intrinsic& row;
  const Name op;
  const std::string full_name;
  explicit IntrinsicObject(const Intrinsic& r) : Object(&type_tag), row(r), op(r.op), full_name(std::string("T.") + r.name) {}
  auto is_callable() const -> bool override { return true; }
  auto repr() const -> std::string override { return full_name; }
  auto call(Evaluator& e, const Arguments& given) const -> std::optional<Value> override {
    std::optional<DataType> type;
    Arguments a = given;
    const Argument* keyword = named_type(a);
    bool is_typed = row.rule == Rule::First || row.rule == Rule::Last;
    if (is_typed) {
      if (!keyword && a.positional == 0) {
        return e.report(error(Code::MissingArgument, a.callee).arg("name", "dtype").arg("callee", full_name));
      }
      size_t at = keyword ? static_cast<size_t>(keyword - a.all.data()) : row.rule == Rule::First ? 0 : a.positional - 1;
      type = to_dtype(e, a.all[at]);
      if (!type) { return Value::error(); }
      a.positional -= at < a.positional ? 1 : 0;
      a.all.erase(a.all.begin() + static_cast<std::ptrdiff_t>(at));
    } else if (keyword) {
      a = without_dtype(a);
    }
    if (a.all.size() > a.positional) {
      std::string_view names = parameter_names(row.name);
      if (!place_named(e, full_name, names.empty() && row.high == 1 ? "x" : names, a)) { return Value::error(); }
    }
    // `T.prefetch(A, [T.Range(0, 4)])`: a statement that nothing of TVM makes any more.
    static const Name prefetch("prefetch");
    if (op == prefetch && a.all.size() == 2 && a.all[0].value.as<BufferObject>() && a.all[1].value.items()) { return e.opaque(a.call); }
    std::vector<Expr> args;
    bool good = true;
    for (const Argument& x : a.all) {
      if (const auto* b = x.value.as<BufferObject>()) {
        static const Name packed("tvm_call_packed"), cpacked("tvm_call_cpacked");
        args.push_back(op == packed || op == cpacked ? packed_buffer(b->buffer, x.where) : Expr(b->buffer->data));
        continue;
      }
      Expr y = to_expr(e, x);
      good &= bool(y);
      args.push_back(std::move(y));
    }
    if (!good) { return Value::error(); }
    // With the type, which is written like another argument.
    int64_t types = row.rule == Rule::First || row.rule == Rule::Last ? 1 : 0;
    if (args.size() < row.low) {
      return e.report(error(Code::TooFewArguments, a.callee).arg("callee", full_name).arg("count", row.low + types).arg("given", static_cast<int64_t>(args.size()) + types));
    }
    if (row.high != 255 && args.size() > row.high) {
      return e.report(error(Code::TooManyArguments, a.all[row.high].where).arg("callee", full_name).arg("count", row.high + types).arg("given", static_cast<int64_t>(args.size()) + types));
    }
    DataType t;
    switch (row.rule) {
      case Rule::First: case Rule::Last: t = *type; break;
      case Rule::Same:
        if (args.empty()) {
          // `T.ret()`: nothing is returned.
          t = DataType::void_();
          break;
        }
        t = args[0].dtype();
        if (args.size() == 2 && !(args[0].dtype() == args[1].dtype())) {
          if (!match_operands(e, row.name, args[0], a.all[0].where, args[1], a.all[1].where, a.call)) { return Value::error(); }
          t = args[0].dtype();
        }
        break;
      case Rule::Arg1: t = args.size() > 1 ? args[1].dtype() : args[0].dtype(); break;
      case Rule::Int32: t = DataType::int_(32); break;
      case Rule::UInt32: t = DataType::uint(32); break;
      case Rule::Bool: t = DataType::bool_(); break;
      case Rule::Handle: t = DataType::handle(); break;
      case Rule::Void: t = DataType::void_(); break;
    }
    static const Name access_ptr("tvm_access_ptr"), type_annotation("type_annotation"), storage_sync("tvm_storage_sync");
    // A type's own bits are its values; others are as many.
    static const Name reinterpret("reinterpret");
    if (op == reinterpret && args.size() == 1) {
      DataType from = args[0].dtype();
      if (from == t && !t.is_handle()) { return expr(args[0]); }
      bool is_number = !t.is_handle() && !from.is_handle() && !from.is_void() && !t.scalable && !from.scalable && t.bits >= 8 && from.bits >= 8;
      if (is_number && t.bits * t.lanes != from.bits * from.lanes) {
        return e.report(error(Code::BadValue, a.all[0].where).arg("what", fmt::format("`{}` has {} bits, and `{}` has {}: a reinterpretation keeps them all", from.str(), from.bits * from.lanes, t.str(), t.bits * t.lanes))
                            .remedy(fmt::format("`T.Cast(\"{}\", ...)` converts the value", t.str())));
      }
    }
    if (op == storage_sync) {
      if (const auto* s = args[0].as<StringImm>()) { check_word(e, Vocabulary::StorageScope, s->value, a.all[0].where); }
    }
    if (DataType accessed = accessed_type(op, Array<Expr>(args)); !accessed.is_void()) { t = accessed; }
    if (op == access_ptr) {
      if (const auto* s = args[0].as<StringImm>()) {
        if (auto content = DataType::parse(s->value)) { args[0] = make<Call>(*content, type_annotation, Array<Expr>{}, a.call); }
      }
    }
    return expr(make<Call>(t, op, std::move(args), a.call));
  }
};
const eval::TypeTag IntrinsicObject::type_tag{"an intrinsic"};

// ---- decorators --------------------------------------------------------------------------------------------------

class PrimFuncDecorator final : public eval::Object {
 public:
  static const eval::TypeTag type_tag;
  const FunctionOptions options;
  explicit PrimFuncDecorator(FunctionOptions o) : Object(&type_tag), options(o) {}
  auto is_callable() const -> bool override { return true; }
  auto call(Evaluator& e, const Arguments& a) const -> std::optional<Value> override {
    if (a.positional == 1 && a.all.size() == 1) {
      if (const auto* f = a.all[0].value.as<eval::Function>(); f && f->def) { return make(e, *f->def, f->captured); }
    }
    static const std::vector<Parameter> parameters = {{"private", false, true}, {"check_well_formed", false, true}, {"is_stir", false, true},
                                                      {"s_tir", false, true}, {"persistent", false, true}};
    BoundArguments b;
    if (!bind_arguments(e, "T.prim_func", a, parameters, b)) { return not_bound(b); }
    FunctionOptions out = options;
    out.is_private = b.given[0] && b.values[0].value.to_int().value_or(0) != 0;
    out.check_well_formed = !b.given[1] || b.values[1].value.to_int().value_or(1) != 0;
    return make_object<PrimFuncDecorator>(out);
  }
  auto decorate(Evaluator& e, const syntax::Stmt& declaration, const eval::ScopeRef& scope, Origin where) const -> std::optional<Value> override {
    const auto* def = declaration.as<syntax::FunctionDef>();
    if (!def) { return {}; }
    return make(e, *def, scope);
  }

 private:
  auto make(Evaluator& e, const syntax::FunctionDef& def, const eval::ScopeRef& scope) const -> Value {
    LoweredFunction lowered = lower_function(e, def, scope, options);
    if (!lowered.func) { return lowered.is_opaque ? Value::opaque() : Value::error(); }
    return make_object<ProgramObject>(module_of(lowered.func, lowered.uses_sblock ? Dialect::SBlock : Dialect::Block), def.name.name, true,
                                      Origin{def.decl, def.name.span.begin, def.name.span.end, 0});
  }
};
const eval::TypeTag PrimFuncDecorator::type_tag{"T.prim_func"};

class ModuleDecorator final : public eval::Object {
 public:
  static const eval::TypeTag type_tag;
  ModuleDecorator() : Object(&type_tag) {}
  auto is_callable() const -> bool override { return true; }
  auto call(Evaluator& e, const Arguments& a) const -> std::optional<Value> override { return Value(this); }
  auto decorate(Evaluator& e, const syntax::Stmt& declaration, const eval::ScopeRef& scope, Origin where) const -> std::optional<Value> override {
    const auto* def = declaration.as<syntax::ClassDef>();
    if (!def) { return {}; }
    LoweredModule lowered = lower_module(e, *def, scope);
    if (!lowered.module) { return lowered.is_opaque ? Value::opaque() : Value::error(); }
    return make_object<ProgramObject>(lowered.module, def->name.name, false, Origin{def->decl, def->name.span.begin, def->name.span.end, 0});
  }
};
const eval::TypeTag ModuleDecorator::type_tag{"I.ir_module"};

class MacroDecorator final : public eval::Object {
 public:
  static const eval::TypeTag type_tag;
  const bool hygienic;
  explicit MacroDecorator(bool h) : Object(&type_tag), hygienic(h) {}
  auto is_callable() const -> bool override { return true; }
  auto call(Evaluator& e, const Arguments& a) const -> std::optional<Value> override {
    if (a.positional == 1) {
      if (const auto* f = a.all[0].value.as<eval::Function>(); f && f->def) { return make_object<MacroObject>(Ref<eval::Function>(f), hygienic); }
    }
    static const std::vector<Parameter> parameters = {{"hygienic", false, true}};
    BoundArguments b;
    if (!bind_arguments(e, "T.macro", a, parameters, b)) { return not_bound(b); }
    return make_object<MacroDecorator>(!b.given[0] || b.values[0].value.to_int().value_or(1) != 0);
  }
};
const eval::TypeTag MacroDecorator::type_tag{"T.macro"};

// `x: T.let = value` and `x: T.let[T.int32] = value` bind a name, `T.let(x, value, body)` is an expression.
class LetObject final : public eval::Object {
 public:
  static const eval::TypeTag type_tag;
  LetObject() : Object(&type_tag) {}
  auto is_callable() const -> bool override { return true; }
  auto call(Evaluator& e, const Arguments& a) const -> std::optional<Value> override { return let(e, a); }
  auto get_item(Evaluator&, const std::vector<Argument>& indices, bool, Origin) const -> std::optional<Value> override {
    if (indices.size() != 1) { return {}; }
    // In TVM's main line the type alone declares a variable that can be assigned to: this one cannot.
    const auto* type = indices[0].value.as<DtypeObject>();
    return type ? Value(make_object<DtypeObject>(type->dtype)) : indices[0].value;
  }
  auto repr() const -> std::string override { return "T.let"; }
};
const eval::TypeTag LetObject::type_tag{"T.let"};

auto module_attrs(Evaluator& e, const Arguments& a) -> Value { return {}; }
auto opaque_function(Evaluator& e, const Arguments& a) -> Value { return e.opaque(a.call); }

struct Row { const char* name; eval::Builtin::Run run; };
constexpr Row rows[] = {
    // buffers and memory
    {"alloc_buffer", alloc_buffer}, {"sblock_alloc_buffer", alloc_buffer}, {"match_buffer", match_buffer}, {"decl_buffer", decl_buffer},
    {"buffer_decl", declare_by_older_name}, {"allocate", allocate}, {"allocate_const", allocate_const},
    // loops
    {"serial", loop<ForKind::Serial>}, {"parallel", loop<ForKind::Parallel>}, {"vectorized", loop<ForKind::Vectorized>},
    {"unroll", loop<ForKind::Unrolled>}, {"thread_binding", thread_binding}, {"grid", grid},
    // blocks
    {"block", block}, {"sblock", sblock}, {"init", init}, {"where", where}, {"reads", reads}, {"writes", writes},
    {"block_attr", block_attr}, {"sblock_attr", block_attr}, {"reduce_axis", free_axis<IterKind::Reduction>},
    {"scan_axis", free_axis<IterKind::Scan>}, {"opaque_axis", free_axis<IterKind::Opaque>},
    // statements
    {"func_attr", func_attr}, {"func_name", func_name}, {"func_ret", func_ret}, {"evaluate", evaluate}, {"buffer_store", buffer_store},
    {"LetStmt", let_statement}, {"bind", bind_value}, {"Let", let_expression}, {"meta_var", meta_var}, {"attr", attr},
    {"env_thread", env_thread}, {"launch_thread", launch_thread}, {"realize", realize},
    {"Bind", bind_value}, {"Assert", assert_statement}, {"While", while_statement}, {"If", if_statement}, {"Then", branch<FrameKind::Then>},
    {"Else", branch<FrameKind::Else>},
    // operators that keep their operands as they are
    {"Add", raw_binary<Add>}, {"Sub", raw_binary<Sub>}, {"Mul", raw_binary<Mul>}, {"Div", raw_binary<Div>}, {"Mod", raw_binary<Mod>},
    {"FloorDiv", raw_binary<FloorDiv>}, {"FloorMod", raw_binary<FloorMod>}, {"Min", raw_binary<Min>}, {"Max", raw_binary<Max>},
    {"EQ", raw_binary<EQ>}, {"NE", raw_binary<NE>}, {"LT", raw_binary<LT>}, {"LE", raw_binary<LE>}, {"GT", raw_binary<GT>},
    {"GE", raw_binary<GE>}, {"And", raw_binary<And>}, {"Or", raw_binary<Or>}, {"Not", raw_not},
    // operators that fold constants
    {"min", folded_binary<min>}, {"max", folded_binary<max>}, {"floordiv", folded_binary<floordiv>}, {"floormod", folded_binary<floormod>},
    {"indexdiv", folded_binary<floordiv>}, {"indexmod", folded_binary<floormod>}, {"truncdiv", folded_binary<div>}, {"div", folded_binary<div>},
    {"truncmod", folded_binary<truncmod>}, {"ceildiv", folded_binary<ceildiv>}, {"fmod", fmod_of}, {"pow", power}, {"power", power},
    {"abs", absolute}, {"fabs", absolute},
    {"shift_left", bit_operator<syntax::BinaryOp::ShiftLeft>}, {"shift_right", bit_operator<syntax::BinaryOp::ShiftRight>},
    {"bitwise_and", bit_operator<syntax::BinaryOp::BitAnd>}, {"bitwise_or", bit_operator<syntax::BinaryOp::BitOr>},
    {"bitwise_xor", bit_operator<syntax::BinaryOp::BitXor>}, {"bitwise_not", bitwise_not},
    {"all", combine_conditions<true>}, {"any", combine_conditions<false>},
    // other expressions
    {"Cast", raw_cast}, {"cast", folded_cast}, {"Ramp", ramp}, {"ramp", ramp}, {"Broadcast", broadcast}, {"broadcast", broadcast},
    {"Shuffle", shuffle}, {"Select", select_of}, {"if_then_else", if_then_else_of}, {"min_value", min_value_of}, {"max_value", max_value_of},
    {"const", constant_of}, {"IntImm", immediate<false>}, {"FloatImm", immediate<true>}, {"StringImm", string_immediate}, {"Var", named_var}, {"SizeVar", named_var},
    {"var", fresh_var}, {"BufferLoad", buffer_load}, {"Range", range_of}, {"iter_var", iter_var}, {"IterVar", iter_var}, {"index_map", index_map},
    {"comm_reducer", comm_reducer}, {"target", target}, {"call_intrin", call_intrin}, {"Call", call_intrin},
    {"reduce", reduce}, {"Reduce", reduce}, {"CommReducer", comm_reducer_of_parts},
    {"llvm_lookup_intrinsic_id", lookup_intrinsic},
};
auto name_of(eval::Builtin::Run run) -> std::string {
  for (const Row& row : rows) {
    if (row.run == run) { return std::string("T.") + row.name; }
  }
  return "the operator";
}
// What TVM's main line has besides.
constexpr Row newer_rows[] = {
    {"alloc_shared", alloc_shared}, {"alloc_local", alloc_local}, {"local_scalar", local_scalar}, {"shared_scalar", shared_scalar},
    {"alloc_tensor", alloc_buffer}, {"decl_tensor", decl_buffer}, {"match_tensor", match_buffer}, {"constexpr", constant_condition},
    {"dynamic", dynamic_var},
};

auto other_member(Name name) -> std::optional<Value> {
  if (auto t = DataType::parse(name.view())) { return make_object<DtypeObject>(*t); }
  return {};
}

// What TVM's main line has besides: programs of threads, warps and tiles, by execution scopes and layouts, and the machines'
// own instructions in namespaces (`T.cuda.cta_sync`, `T.ptx.mbarrier.init`). A program that uses them is not checked.
auto script_member(Name name) -> std::optional<Value> {
  if (auto known = other_member(name)) { return known; }
  static const std::unordered_map<Name, DataType> aliases = {
      {"bf16", DataType::bfloat16()}, {"f16", DataType::float_(16)}, {"f32", DataType::float_(32)}, {"f64", DataType::float_(64)},
      {"i8", DataType::int_(8)},      {"i16", DataType::int_(16)},   {"i32", DataType::int_(32)},   {"i64", DataType::int_(64)},
      {"u8", DataType::uint(8)},      {"u16", DataType::uint(16)},   {"u32", DataType::uint(32)},   {"u64", DataType::uint(64)}};
  if (auto alias = aliases.find(name); alias != aliases.end()) { return make_object<DtypeObject>(alias->second); }
  static const std::unordered_set<Name> elsewhere = {
      "cuda", "ptx", "nvshmem", "webgpu", "metal", "nki", "trn", "tmem", "smem", "tile", "jit", "kernel", "ComposeLayout", "ExecScope", "Iter", "Layout", "R", "S",
      "ScopeIdDef", "SwizzleLayout", "TensorMap", "TileLayout", "add_to_parent", "alloc_cast_frag", "alloc_scalar", "alloc_tcgen05_ldst_frag", "call_kernel",
      "cluster_id", "cooperative_tensor_fill", "cooperative_tensor_load", "cooperative_tensor_multiply_accumulate", "cooperative_tensor_store", "cta_id",
      "cta_id_in_cluster", "cta_id_in_pair", "decl_scalar", "device_entry", "filter", "hint", "lane_id", "local_scalar", "lookup_param", "meta_class",
      "print_buffer", "ptr_byte_offset", "register_script_namespace", "scalar_wrapper", "scope_id", "selector", "shared_scalar", "static_assert", "thread_id",
      "thread_id_in_wg", "thread_return", "CallEffectKind", "ProducerLoad", "Tuple", "buffer_var", "arg", "elected", "warp_id", "warp_id_in_wg", "warpgroup_id", "wg_reg_tile"};
  return elsewhere.count(name) != 0 ? std::optional<Value>(Value::opaque()) : std::nullopt;
}

// `T` of `from tvm.script import tirx as T`: its types declare variables that can be assigned to, and any name is an operation
// on tiles. One that is nearly the name of something else is a slip of the finger all the same.
auto tirx_member(Name name) -> std::optional<Value>;

// `tvm.IRModule({"main": f})`, `tvm.IRModule.from_expr(f)`.
auto module_of_program(Evaluator& e, const Arguments& a) -> Value {
  if (a.all.size() != 1) { return e.opaque(a.call); }
  if (a.all[0].value.as<ProgramObject>()) { return a.all[0].value; }
  const auto* dict = a.all[0].value.as<eval::Dict>();
  IRModuleNode node;
  std::vector<std::pair<Name, PrimFunc>> functions;
  for (const auto& [key, value] : dict ? dict->entries() : std::vector<std::pair<Value, Value>>{}) {
    const auto* program = value.as<ProgramObject>();
    const std::string* name = key.string();
    if (!program || !name || program->module->functions.size() != 1) { return e.opaque(a.call); }
    functions.emplace_back(Name(*name), program->module->functions[0].second);
    node.dialect = program->module->dialect;
  }
  if (functions.empty()) { return e.opaque(a.call); }
  node.functions = std::move(functions);
  return make_object<ProgramObject>(make_module(std::move(node)), Name("Module"), false, a.callee);
}
class ModuleMaker final : public eval::Object {
 public:
  static const eval::TypeTag type_tag;
  ModuleMaker() : Object(&type_tag) {}
  auto is_callable() const -> bool override { return true; }
  auto call(Evaluator& e, const Arguments& a) const -> std::optional<Value> override { return module_of_program(e, a); }
  auto get_attribute(Evaluator&, Name name, Origin) const -> std::optional<Value> override {
    static const Name from_expr("from_expr");
    if (name == from_expr) { return make_object<eval::Builtin>(from_expr, module_of_program); }
    return Value::opaque();
  }
};
const eval::TypeTag ModuleMaker::type_tag{"tvm.IRModule"};

// `IndexMap(initial, final)`, `IndexMap.from_func(lambda i: ...)`, `IndexMap.AXIS_SEPARATOR`.
class IndexMapMaker final : public eval::Object {
 public:
  static const eval::TypeTag type_tag;
  IndexMapMaker() : Object(&type_tag) {}
  auto is_callable() const -> bool override { return true; }
  auto call(Evaluator& e, const Arguments& a) const -> std::optional<Value> override { return index_map_of_parts(e, a); }
  auto get_attribute(Evaluator&, Name name, Origin) const -> std::optional<Value> override {
    static const Name from_func("from_func"), separator("AXIS_SEPARATOR");
    if (name == from_func) { return make_object<eval::Builtin>(from_func, index_map_from_func); }
    if (name == separator) { return make_object<AxisSeparatorObject>(); }
    return Value::opaque();
  }
};
const eval::TypeTag IndexMapMaker::type_tag{"tvm.tir.IndexMap"};

// What `I` of the main line has besides.
auto ir_member(Name name) -> std::optional<Value> {
  static const std::unordered_set<Name> elsewhere = {"BoolImm", "Call", "Expr", "FloatImm", "FuncType", "GlobalVar", "IntImm", "Op", "Optional", "PointerType",
                                                     "PrimType", "SourceName", "Span", "StringType", "Tuple", "TupleType", "Type", "Var", "constexpr"};
  return elsewhere.count(name) != 0 ? std::optional<Value>(Value::opaque()) : std::nullopt;
}

// `tvm.testing.parameter("float32", "float16")`, `parameter(by_dict={"one": 1})`, and `parameters(("float32", 4), ("float16", 8))` for several at once.
auto test_parameter(Evaluator& e, const Arguments& a) -> Value {
  static const Name by_dict("by_dict");
  const Argument* named = a.keyword(by_dict);
  const auto* dict = named ? named->value.as<eval::Dict>() : nullptr;
  if (dict && !dict->entries().empty()) { return make_object<FixtureObject>(dict->entries().front().second); }
  if (a.positional == 0 || a.all[0].value.is_unknown()) { return e.opaque(a.call); }
  return make_object<FixtureObject>(a.all[0].value);
}
auto test_parameters(Evaluator& e, const Arguments& a) -> Value {
  const auto* row = a.positional == 0 ? nullptr : a.all[0].value.items();
  if (!row) { return e.opaque(a.call); }
  std::vector<Value> out;
  for (const Value& v : *row) { out.push_back(make_object<FixtureObject>(v)); }
  return Value::tuple(std::move(out));
}

auto namespace_tir() -> const Value&;

// What is not known of Python's `tvm` is not evaluated, and no mistake.
auto unknown_member(Name) -> std::optional<Value> { return Value::opaque(); }
auto python_member(Name name) -> std::optional<Value> {
  if (auto known = other_member(name)) { return known; }
  // `tir.stmt.Block`, `tir.expr.Cast`: the modules that define them.
  static const Name expr("expr"), stmt("stmt"), function("function");
  if (name == expr || name == stmt || name == function) { return namespace_tir(); }
  return Value::opaque();
}

struct Namespaces {
  Value t, i, tir, te, tvm, index_maps;   // tir: that of Python, whose other members are not evaluated
  Value tirx, type_vars;                  // tirx: `T` of TVM's main line
  Namespaces() {
    auto make_builtin = [](const char* name, eval::Builtin::Run run) { return make_object<eval::Builtin>(Name(name), run); };
    Ref<eval::Namespace> axis = make_object<eval::Namespace>(Name("T.axis"));
    auto add_to = [](const Ref<eval::Namespace>& space, const char* name, Value value) {
      const_cast<eval::Namespace&>(*space).add(Name(name), std::move(value));
    };
    for (const auto& [name, run] : std::initializer_list<Row>{{"spatial", axis_spatial}, {"S", axis_spatial}, {"reduce", axis_reduce}, {"R", axis_reduce},
                                                              {"scan", axis_scan}, {"opaque", axis_opaque}, {"remap", axis_remap}}) {
      add_to(axis, name, make_builtin(name, run));
    }
    Ref<eval::Namespace> script_tir = make_object<eval::Namespace>(Name("T"), script_member);
    Ref<eval::Namespace> python_tir = make_object<eval::Namespace>(Name("tir"), python_member);
    Ref<eval::Namespace> script_tirx = make_object<eval::Namespace>(Name("T"), tirx_member);
    auto add_t = [&](const char* name, const Value& value) {
      add_to(script_tirx, name, value);
      add_to(script_tir, name, value);
      add_to(python_tir, name, value);
    };
    for (const Intrinsic& row : intrinsics) { add_t(row.name, make_object<IntrinsicObject>(row)); }
    for (const Row& row : rows) { add_t(row.name, make_builtin(row.name, row.run)); }
    for (const Row& row : newer_rows) { add_t(row.name, make_builtin(row.name, row.run)); }
    index_maps = make_object<IndexMapMaker>();
    add_t("IndexMap", index_maps);
    add_t("axis", axis);
    add_t("let", make_object<LetObject>());
    for (const char* name : {"Buffer", "buffer"}) { add_t(name, make_object<BufferTypeObject>()); }
    add_t("prim_func", make_object<PrimFuncDecorator>(FunctionOptions{}));
    add_t("macro", make_object<MacroDecorator>(true));
    add_t("inline", make_object<MacroDecorator>(true));
    for (const char* name : {"float8_e4m3fn", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64", "bfloat16", "bool",
                             "handle", "void"}) {
      add_t(name, *other_member(Name(name)));
    }
    add_t("boolean", make_object<DtypeObject>(DataType::bool_()));
    for (const char* name : {"Ptr", "ptr"}) { add_t(name, make_object<DtypeObject>(DataType::handle(), false, name)); }
    FunctionOptions newer;
    newer.rebinds_names = true;
    for (const char* name : {"prim_func", "function"}) { add_to(script_tirx, name, make_object<PrimFuncDecorator>(newer)); }
    add_to(script_tirx, "Tensor", make_object<BufferTypeObject>());
    for (const char* name : {"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64", "bfloat16", "bool", "boolean"}) {
      add_to(script_tirx, name, make_object<DtypeObject>(std::string_view(name) == "boolean" ? DataType::bool_() : *DataType::parse(name), true));
    }
    t = script_tir;
    tirx = script_tirx;
    add_classes(const_cast<eval::Namespace&>(*python_tir), iter_var);
    tir = python_tir;
    type_vars = make_builtin("TypeVar", type_var);
    Ref<eval::Namespace> ir = make_object<eval::Namespace>(Name("I"), ir_member);
    add_to(ir, "ir_module", make_object<ModuleDecorator>());
    for (const char* name : {"module_attrs", "module_global_infos", "module_set_attr", "module_get_attr"}) { add_to(ir, name, make_builtin(name, module_attrs)); }
    add_to(ir, "Range", make_builtin("Range", range_of));
    add_to(ir, "dynamic", make_builtin("dynamic", dynamic_var));
    add_to(ir, "meta_var", make_builtin("meta_var", meta_var));
    add_to(ir, "StringImm", make_builtin("StringImm", string_immediate));
    for (const char* name : {"dummy_global_info", "vdevice", "lookup_vdevice"}) { add_to(ir, name, make_builtin(name, opaque_function)); }
    i = ir;
    te = te_namespace(t);
    Ref<eval::Namespace> script = make_object<eval::Namespace>(Name("tvm.script"), unknown_member);
    add_to(script, "tir", t);
    add_to(script, "tirx", tirx);
    add_to(script, "s_tir", tirx);
    add_to(script, "ir", i);
    add_to(script, "ir_module", *ir->find(Name("ir_module")));
    Ref<eval::Namespace> runtime = make_object<eval::Namespace>(Name("tvm.runtime"), unknown_member);
    add_to(runtime, "convert", make_builtin("convert", converted));
    add_to(runtime, "const", make_builtin("const", constant_of));
    Ref<eval::Namespace> all = make_object<eval::Namespace>(Name("tvm"), unknown_member);
    add_to(all, "runtime", runtime);
    Ref<eval::Namespace> targets = make_object<eval::Namespace>(Name("tvm.target"), unknown_member);
    add_to(targets, "Target", target_class(target));
    add_to(all, "target", targets);
    add_to(all, "ir", namespace_ir_of_python());
    add_to(all, "tir", tir);
    add_to(all, "tirx", tir);
    Ref<eval::Namespace> testing = make_object<eval::Namespace>(Name("tvm.testing"), unknown_member);
    add_to(testing, "parameter", make_builtin("parameter", test_parameter));
    add_to(testing, "parameters", make_builtin("parameters", test_parameters));
    add_to(all, "testing", testing);
    add_to(all, "IRModule", make_object<ModuleMaker>());
    add_to(all, "te", te);
    add_to(all, "script", script);
    tvm = all;
  }
};

auto namespaces() -> const Namespaces& {
  static thread_local const Namespaces the_namespaces;
  return the_namespaces;
}

auto namespace_tir() -> const Value& { return namespaces().tir; }

auto tirx_member(Name name) -> std::optional<Value> {
  if (auto known = script_member(name)) {
    const auto* t = known->as<DtypeObject>();
    return t ? Value(make_object<DtypeObject>(t->dtype, true)) : *known;
  }
  // Operations on tiles, some of which are nearly the names of operators on values, and forms of the builder.
  static const std::unordered_set<Name> tiles = {"add", "sub", "mul", "fdiv", "select", "maximum", "minimum", "reciprocal", "zero", "fill", "memset", "copy", "sum", "tensor"};
  if (tiles.count(name) != 0 || name.view().size() <= 4 || name.view().ends_with('_')) { return Value::opaque(); }
  std::vector<Name> names;
  namespaces().tirx.as<eval::Namespace>()->attribute_names(names);
  return eval::closest_name(name, names).empty() ? std::optional<Value>(Value::opaque()) : std::nullopt;
}

}  // namespace

auto is_let_annotation(const Value& annotation) -> bool { return annotation.as<LetObject>() != nullptr; }

auto prim_func_options(const Value& decorator) -> std::optional<FunctionOptions> {
  const auto* p = decorator.as<PrimFuncDecorator>();
  return p ? std::optional(p->options) : std::nullopt;
}
auto is_module_decorator(const Value& decorator) -> bool { return decorator.as<ModuleDecorator>() != nullptr; }

auto namespace_t() -> const Value& { return namespaces().t; }
auto namespace_i() -> const Value& { return namespaces().i; }
auto namespace_tirx() -> const Value& { return namespaces().tirx; }

auto predeclared(Name name) -> const Value* {
  static const Name t("T"), i("I"), tir("tir"), tirx("tirx"), tvm("tvm"), te("te");
  static const Name opaque_names[] = {"R", "topi", "np", "numpy"};
  if (name == t) { return &namespaces().t; }
  if (name == tir || name == tirx) { return &namespaces().tir; }
  if (name == i) { return &namespaces().i; }
  static const Name index_map_name("IndexMap"), type_var_name("TypeVar");
  if (name == type_var_name) { return &namespaces().type_vars; }
  if (name == index_map_name) { return &namespaces().index_maps; }
  if (name == te) { return &namespaces().te; }
  if (name == tvm) { return &namespaces().tvm; }
  static const Value opaque = Value::opaque();
  for (Name o : opaque_names) {
    if (name == o) { return &opaque; }
  }
  return nullptr;
}

auto imported(const syntax::ImportFromStmt& from, const syntax::ImportName& name) -> const Value* {
  static const Name tirx("tirx"), tir("tir"), s_tir("s_tir"), ir("ir"), upper_i("I"), upper_t("T"), script("script");
  Name what = name.path.empty() ? Name() : name.path.back().name;
  bool from_script = std::any_of(from.module.begin(), from.module.end(), [](const syntax::Identifier& part) { return part.name == script; });
  if (from_script && (what == tirx || what == s_tir)) { return &namespaces().tirx; }
  if (what == tirx) { what = tir; }
  if (what == tir && from_script) { what = upper_t; }
  if (what == ir && from_script) { what = upper_i; }
  // `from tvm.script.tir import prim_func`: a member of the namespace.
  if (from_script && !from.module.empty()) {
    Name last = from.module.back().name;
    const Value* space = last == tir ? &namespaces().t : last == tirx || last == s_tir ? &namespaces().tirx : last == ir ? &namespaces().i : nullptr;
    const Value* member = space ? space->as<eval::Namespace>()->find(what) : nullptr;
    if (member) { return member; }
  }
  // `from tvm.tir.stmt import Block`, `from tvm.target import Target`: a member of Python's modules.
  static const Name tvm("tvm");
  if (from.module.size() > 1 && from.module[0].name == tvm && !from_script) {
    const Value* space = from.module[1].name == tir || from.module[1].name == tirx ? &namespaces().tir : namespaces().tvm.as<eval::Namespace>()->find(from.module[1].name);
    const auto* members = space ? space->as<eval::Namespace>() : nullptr;
    const Value* member = members ? members->find(what) : nullptr;
    if (member) { return member; }
  }
  return predeclared(what);
}

// ---- types as values ---------------------------------------------------------------------------------------------

auto DtypeObject::call(Evaluator& e, const Arguments& a) const -> std::optional<Value> {
  static const Name expr_name("expr"), size_var("is_size_var"), storage("storage_scope"), dtype_name("dtype");
  if (dtype.is_handle()) {
    if (!older.empty()) { report_deprecated(e, a.callee, "T." + std::string(older) + "(...)", "T.handle(...)"); }
    // T.handle("float32", "global"): a pointer.
    const Argument* first = a.positional > 0 ? &a.all[0] : a.keyword(dtype_name);
    const Argument* second = a.positional > 1 ? &a.all[1] : a.keyword(storage);
    if (first && !first->value.is_none() && (first->value.string() || first->value.as<DtypeObject>())) {
      // What a machine calls a map of a tensor.
      if (const std::string* text = first->value.string(); text && *text == "tensormap") { return e.opaque(a.call); }
      auto t = to_dtype(e, *first);
      if (!t) { return Value::error(); }
      const std::string* scope = second ? second->value.string() : nullptr;
      if (scope && !scope->empty()) { check_word(e, Vocabulary::StorageScope, *scope, second->where); }
      return expr(make<VarNode>(Name(), dtype, a.call, PointerType{*t, scope ? Name(*scope) : Name("global")}));
    }
  }
  const Argument* given = a.positional > 0 ? &a.all[0] : a.keyword(expr_name);
  if (!given || given->value.is_none()) { return expr(make<VarNode>(Name(), dtype, a.call)); }
  if (const std::string* s = given->value.string()) {
    if (dtype.is_real() && (*s == "inf" || *s == "-inf" || *s == "nan")) {
      double value = *s == "inf" ? INFINITY : *s == "-inf" ? -INFINITY : NAN;
      return expr(float_imm(value, dtype, a.call));
    }
    return wrong(e, *given, "a number");
  }
  Expr x = given->value.as<eval::WideInt>() ? to_expr_like(e, *given, dtype) : to_expr(e, *given);
  if (!x) { return Value::error(); }
  if (given->value.is_int()) {
    int64_t v = given->value.int_value();
    bool is_pattern = dtype.bits >= 64;   // of bits
    if (!is_pattern && !fits(e, v, dtype, given->where)) { return Value::error(); }
    return expr(constant_int(dtype, v, a.call));
  }
  if (given->value.is_float() && dtype.is_real()) { return expr(constant(dtype, given->value.float_value(), a.call)); }
  if (x.dtype().is_handle() && !dtype.is_handle() && !dtype.is_integral()) { return wrong(e, *given, "a number"); }
  return expr(cast(dtype, x, a.call));
}
auto DtypeObject::get_item(Evaluator& e, const std::vector<Argument>& indices, bool is_tuple, Origin where) const -> std::optional<Value> {
  // `v: T.float32[8]`: memory of a thread, by TVM's main line.
  if (declares_cell && !dtype.is_handle()) {
    BufferNode node;
    node.origin = where;
    node.dtype = dtype;
    std::vector<Expr> shape;
    for (const Argument& i : indices) {
      Expr extent = to_expr(e, i);
      if (!extent) { return i.value.is_opaque() ? Value::opaque() : Value::error(); }
      shape.push_back(std::move(extent));
    }
    node.shape = std::move(shape);
    node.data = make<VarNode>(Name(), DataType::handle(), where, PointerType{dtype, Name("local")});
    node.data_alignment = 64;
    node.offset_factor = 1;
    return make_object<BufferObject>(make_buffer(std::move(node)));
  }
  // `T.Ptr[T.float32]`, an older form of `T.handle("float32")`.
  if (!dtype.is_handle() || indices.empty() || indices.size() > 2) { return {}; }
  auto element = to_dtype(e, indices[0]);
  if (!element) { return Value::error(); }
  if (!older.empty()) { report_deprecated(e, where, "T." + std::string(older) + "[...]", "T.handle(...)"); }
  const std::string* scope = indices.size() > 1 ? indices[1].value.string() : nullptr;
  return expr(make<VarNode>(Name(), dtype, where, PointerType{*element, scope ? Name(*scope) : Name("global")}));
}

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

// ---- modules -----------------------------------------------------------------------------------------------------

namespace {

// `Module.f` and `cls.f` inside of a module.
class ModuleRef final : public eval::Object {
 public:
  static const eval::TypeTag type_tag;
  std::vector<std::pair<Name, DataType>> functions;
  std::vector<std::pair<Name, Value>> macros;
  ModuleRef() : Object(&type_tag) {}
  auto get_attribute(Evaluator&, Name name, Origin) const -> std::optional<Value> override {
    for (const auto& [function, returns] : functions) {
      if (function == name) { return make_object<GlobalObject>(function, returns); }
    }
    for (const auto& [macro, value] : macros) {
      if (macro == name) { return value; }
    }
    return {};
  }
  void attribute_names(std::vector<Name>& out) const override {
    for (const auto& f : functions) { out.push_back(f.first); }
    for (const auto& m : macros) { out.push_back(m.first); }
  }
};
const eval::TypeTag ModuleRef::type_tag{"the module"};

// The last name of `T.prim_func`, `T.prim_func(private=True)`, `prim_func`.
auto decorator_name(const syntax::Expr& e) -> Name {
  if (const auto* call = e.as<syntax::CallExpr>()) { return decorator_name(*call->callee); }
  if (const auto* attribute = e.as<syntax::AttributeExpr>()) { return attribute->attr.name; }
  if (const auto* name = e.as<syntax::NameExpr>()) { return name->name; }
  return {};
}

// `@T.function`, what TVM's main line calls `@T.prim_func`; `R.function` is of another language.
auto is_newer_function(const syntax::Expr& e) -> bool {
  static const Name function("function");
  if (const auto* call = e.as<syntax::CallExpr>()) { return is_newer_function(*call->callee); }
  const auto* attribute = e.as<syntax::AttributeExpr>();
  const auto* space = attribute ? attribute->object->as<syntax::NameExpr>() : nullptr;
  static const Name t("T"), ts("Ts"), tirx("tirx"), s_tir("s_tir");
  return space && attribute->attr.name == function && (space->name == t || space->name == ts || space->name == tirx || space->name == s_tir);
}

}  // namespace

auto is_program(const syntax::Stmt& declaration) -> bool {
  static const Name prim_func("prim_func"), ir_module("ir_module");
  if (const auto* f = declaration.as<syntax::FunctionDef>()) {
    return std::any_of(f->decorators.begin(), f->decorators.end(), [](const syntax::Expr* d) { return decorator_name(*d) == prim_func || is_newer_function(*d); });
  }
  if (const auto* c = declaration.as<syntax::ClassDef>()) {
    return std::any_of(c->decorators.begin(), c->decorators.end(), [](const syntax::Expr* d) { return decorator_name(*d) == ir_module; });
  }
  return false;
}

namespace {

auto is_macro(const syntax::FunctionDef& f) -> bool {
  static const Name macro("macro"), in_line("inline");
  return std::any_of(f.decorators.begin(), f.decorators.end(), [](const syntax::Expr* d) { return decorator_name(*d) == macro || decorator_name(*d) == in_line; });
}

}  // namespace

auto lower_module(Evaluator& e, const syntax::ClassDef& def, const eval::ScopeRef& scope, PartCache* parts) -> LoweredModule {
  size_t errors_before = e.diagnostics.size();
  eval::ScopeRef inner = e.new_scope(scope);
  Ref<ModuleRef> self = make_object<ModuleRef>();
  auto& functions = const_cast<ModuleRef&>(*self).functions;
  for (const syntax::Stmt* stmt : def.body) {
    if (const auto* f = stmt->as<syntax::FunctionDef>(); f && is_program(*f)) {
      DataType returns = DataType::void_();
      if (f->returns) {
        if (const auto* attribute = f->returns->as<syntax::AttributeExpr>()) {
          returns = DataType::parse(attribute->attr.name.view()).value_or(returns);
        }
      }
      functions.emplace_back(f->name.name, returns);
    }
  }
  static const Name cls("cls");
  inner->set(def.name.name, self);
  inner->set(cls, self);
  // Macros of the module, which its functions call by their names or the module's.
  std::unordered_set<const syntax::Stmt*> macros;
  for (const syntax::Stmt* stmt : def.body) {
    const auto* f = stmt->as<syntax::FunctionDef>();
    if (!f || !is_macro(*f)) { continue; }
    Value ignored;
    (void)e.exec(*f, inner, ignored);
    macros.insert(stmt);
    if (const Value* made = inner->find_here(f->name.name)) { const_cast<ModuleRef&>(*self).macros.emplace_back(f->name.name, *made); }
  }
  LoweredModule out;
  IRModuleNode node;
  std::vector<std::pair<Name, PrimFunc>> lowered;
  bool complete = true;
  std::vector<const syntax::FunctionDef*> foreign;
  for (const syntax::Stmt* stmt : def.body) {
    if (macros.count(stmt) != 0) { continue; }
    const auto* f = stmt->as<syntax::FunctionDef>();
    if (f && is_program(*f)) {
      FunctionOptions options;
      for (const syntax::Expr* d : f->decorators) {
        Value decorator = e.eval(*d, inner);
        if (const auto* p = decorator.as<PrimFuncDecorator>()) { options = p->options; }
        else if (!decorator.is_error()) { out.is_opaque = true; }
      }
      LoweredFunction one = lower_function(e, *f, inner, options, parts);
      if (one.uses_sblock) { node.dialect = Dialect::SBlock; }
      if (!options.check_well_formed) { out.unchecked.push_back(f->name.name); }
      out.is_opaque |= one.is_opaque;
      complete &= bool(one.func);
      bool repeated = false;
      for (auto& [name, func] : lowered) {
        if (name == f->name.name) { repeated = true; }
      }
      if (repeated) {
        e.report(error(Code::DuplicateFunction, {f->decl, f->name.span.begin, f->name.span.end, 0}).arg("name", f->name.name.view()));
        continue;
      }
      if (one.partial) { lowered.emplace_back(f->name.name, one.func ? one.func : one.partial); }
      continue;
    }
    if (f || stmt->kind == syntax::Kind::ClassDef) {
      // Functions of other languages (R.function) are not looked at; what is beside them is a module all the same.
      if (f) { foreign.push_back(f); }
      else { out.is_opaque = true; }
      continue;
    }
    if (const auto* call = stmt->as<syntax::ExprStmt>()) {
      if (const auto* c = call->value->as<syntax::CallExpr>()) {
        static const Name attrs_name("module_attrs");
        if (decorator_name(*c->callee) == attrs_name && c->args.size() == 1) {
          Argument dict = e.eval_argument(*c->args[0], inner);
          if (auto attrs = dict.value.is_unknown() ? std::nullopt : to_attrs(e, dict)) { node.attrs = std::move(*attrs); }
          continue;
        }
      }
    }
    Value ignored;
    (void)e.exec(*stmt, inner, ignored);
  }
  if (!foreign.empty()) {
    // Said once for all of them.
    constexpr size_t most_notes = 8;
    auto place = [](const syntax::FunctionDef& f) { return Origin{f.decl, f.name.span.begin, f.name.span.end, 0}; };
    Diagnostic d = error(Code::OtherLanguage, place(*foreign[0])).arg("name", foreign[0]->name.name.view());
    for (size_t i = 1; i < foreign.size() && i <= most_notes; ++i) { (void)std::move(d).note(place(*foreign[i]), "so is `" + foreign[i]->name.name.str() + "`"); }
    if (foreign.size() > most_notes + 1) { (void)std::move(d).remedy("so are " + std::to_string(foreign.size() - most_notes - 1) + " more"); }
    e.report(std::move(d));
  }
  node.functions = std::move(lowered);
  out.partial = make_module(std::move(node));
  bool failed = false;
  for (size_t i = errors_before; i < e.diagnostics.size(); ++i) {
    failed |= e.diagnostics[i].severity == Severity::Error && e.diagnostics[i].code != Code::IndexOutOfBounds;
  }
  if (complete && !failed && !out.is_opaque) { out.module = out.partial; }
  return out;
}

}  // namespace loopsmith::frontend
