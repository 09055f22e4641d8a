// The script printer: expressions, regions, attributes, index maps.
#include <charconv>
#include <unordered_map>

#include "ir/ops.h"
#include "ir/plain.h"
#include "ir/printer/script_printer.h"
#include "ir/spelling.h"
#include "ir/visitor.h"
#include "ir/wrapped.h"

namespace loopsmith {

namespace {

enum class TypeArgument : uint8_t { None, First, Last };

// The position of the type in a printed call of an intrinsic.
auto type_argument(Name op) -> TypeArgument {
  static const std::unordered_map<Name, TypeArgument> table = [] {
    std::unordered_map<Name, TypeArgument> out;
    for (const char* name : {"reinterpret", "call_extern", "call_pure_extern", "call_llvm_intrin", "call_llvm_pure_intrin", "ptx_mma",
                             "ptx_mma_sp", "ptx_ldmatrix", "ptx_cp_async", "ptx_cp_async_bulk", "mma_store", "mma_fill", "vectorhigh",
                             "vectorlow", "vectorcombine", "get_active_lane_mask", "infinity", "type_annotation", "call_spirv_pure_glsl450"}) {
      out.emplace(Name(name), TypeArgument::First);
    }
    out.emplace(Name("tvm_struct_get"), TypeArgument::Last);
    return out;
  }();
  auto found = table.find(op);
  return found == table.end() ? TypeArgument::None : found->second;
}

auto printed_op(Name op) -> std::string_view {
  static const std::unordered_map<Name, std::string_view> table = {
      {Name("tvm_call_packed"), "call_packed"},
      {Name("tvm_call_cpacked"), "call_cpacked"},
      {Name("tvm_call_packed_lowered"), "call_packed_lowered"},
      {Name("tvm_call_cpacked_lowered"), "call_cpacked_lowered"},
  };
  auto found = table.find(op);
  return found == table.end() ? op.view() : found->second;
}

}  // namespace

void ScriptPrinter::expr(const Expr& e, int parent, bool tight) {
  switch (e.kind()) {
#define STMT(Kind) case NodeKind::Kind: return;
#define EXPR(Kind) case NodeKind::Kind: return on(*static_cast<const Kind*>(e.get()), parent, tight);
#include "ir/nodes.def"
  }
}

void ScriptPrinter::on(const IntImm& e, int, bool) {
  DataType t = e.dtype;
  if (t == DataType::int_(32)) {
    integer(e.value);
    return;
  }
  type_name(t);
  out_ += '(';
  if (t.is_bool()) {
    out_ += e.value ? "True" : "False";
  } else if (t.is_uint() && t.bits == 64) {
    char text[24];
    auto end = std::to_chars(text, text + sizeof text, static_cast<uint64_t>(e.value)).ptr;
    out_.append(text, end);
  } else {
    integer(e.value);
  }
  out_ += ')';
}

void ScriptPrinter::on(const FloatImm& e, int, bool) {
  type_name(e.dtype);
  out_ += '(';
  append_float(e.value);
  out_ += ')';
}

void ScriptPrinter::on(const Cast& e, int, bool) {
  out_ += "T.Cast(";
  dtype_literal(e.dtype);
  out_ += ", ";
  expr(e.value);
  out_ += ')';
}

void ScriptPrinter::on(const Div& e, int parent, bool tight) {
  if (e.a.dtype().is_integral()) { return call2("T.Div(", e.a, e.b); }
  sugared(e, {" / ", "T.Div(", multiply_level}, parent, tight, div);
}

void ScriptPrinter::on(const And& e, int parent, bool tight) {
  if (!e.dtype.is_scalar()) { return call2("T.And(", e.a, e.b); }
  sugared(e, {" and ", "T.And(", and_level}, parent, tight, logical_and);
}

void ScriptPrinter::on(const Or& e, int parent, bool tight) {
  if (!e.dtype.is_scalar()) { return call2("T.Or(", e.a, e.b); }
  sugared(e, {" or ", "T.Or(", or_level}, parent, tight, logical_or);
}

void ScriptPrinter::on(const Not& e, int parent, bool tight) {
  bool paren = open(not_level, parent, tight);
  out_ += "not ";
  expr(e.a, not_level);
  close(paren);
}

void ScriptPrinter::on(const Select& e, int, bool) {
  out_ += "T.Select(";
  expr(e.condition);
  out_ += ", ";
  expr(e.true_value);
  out_ += ", ";
  expr(e.false_value);
  out_ += ')';
}

void ScriptPrinter::on(const BufferLoad& e, int, bool) {
  buffer_name(e.buffer);
  if (e.predicate) {
    out_ += ".vload(";
    list(e.indices);
    out_ += ", predicate=";
    expr(e.predicate);
    out_ += ')';
    return;
  }
  indices(e.indices);
}

void ScriptPrinter::on(const Ramp& e, int, bool) {
  out_ += "T.Ramp(";
  expr(e.base);
  out_ += ", ";
  expr(e.stride);
  out_ += ", ";
  expr(e.lanes);
  out_ += ')';
}

void ScriptPrinter::on(const Shuffle& e, int, bool) {
  out_ += "T.Shuffle(";
  list(e.vectors);
  out_ += ", ";
  list(e.indices);
  out_ += ')';
}

void ScriptPrinter::on(const Let& e, int, bool) {
  // TVM declares the variable in front of the statement.
  if (!is_defined(e.var.get())) { declare_free(e.var.get()); }
  out_ += "T.Let(";
  expr(e.body);
  out_ += ", where={";
  expr(e.var);
  out_ += ": ";
  expr(e.value);
  out_ += "})";
}

void ScriptPrinter::on(const Call& e, int, bool) {
  std::string_view op = printed_op(e.op);
  // A reader gives `T.tvm_throw_last_error()` another type than lowering does.
  static const Name throw_last_error("tvm_throw_last_error");
  if (e.op == throw_last_error && !e.dtype.is_handle()) {
    out_ += "T.Call(";
    dtype_literal(e.dtype);
    out_ += ", \"tir.tvm_throw_last_error\", [])";
    return;
  }
  // A function of numbers has the type of its operand, `T.exp(x)`; a call by name may have another type.
  static const std::unordered_set<std::string_view> keep_type = {"exp", "exp2", "exp10", "erf", "tanh", "sigmoid", "log", "log2", "log10", "log1p", "tan", "cos", "cosh", "acos",
                                                                 "acosh", "sin", "sinh", "asin", "asinh", "atan", "atanh", "sqrt", "rsqrt", "floor", "ceil", "trunc", "round",
                                                                 "nearbyint"};
  bool has_another = e.args.size() == 1 && !(e.dtype == e.args[0].dtype()) && keep_type.count(op) != 0;
  // A load through a pointer reads elements of the pointer's element type.
  if (DataType accessed = accessed_type(e.op, e.args); !accessed.is_void()) { has_another = !(e.dtype == accessed); }
  if (has_another) {
    out_ += "T.Call(";
    dtype_literal(e.dtype);
    out_ += ", \"tir.";
    out_ += op;
    out_ += "\", [";
    bool first = true;
    for (const Expr& x : e.args) {
      comma(first);
      expr(x);
    }
    out_ += "])";
    return;
  }
  if (!op.empty() && op[0] == '@') {
    out_ += in_module_ ? "Module." : "";
    out_ += op.substr(1);
  } else {
    out_ += "T.";
    out_ += op;
  }
  out_ += '(';
  bool first = true;
  TypeArgument where = type_argument(e.op);
  if (where == TypeArgument::First) {
    comma(first);
    dtype_literal(e.dtype);
  }
  for (const Expr& arg : e.args) {
    comma(first);
    expr(arg);
  }
  if (where == TypeArgument::Last) {
    comma(first);
    dtype_literal(e.dtype);
  }
  out_ += ')';
}

void ScriptPrinter::combiner(const CommReducerNode& c) {
  push_frame(nullptr);
  out_ += "T.comm_reducer(lambda ";
  bool first = true;
  for (const auto& side : {c.lhs, c.rhs}) {
    for (const Var& v : side) {
      comma(first);
      out_ += define_var(v.get()).view();
    }
  }
  out_ += ": ";
  tuple(c.result);
  out_ += ", ";
  list(c.identity);
  out_ += ')';
  pop_frame();
}

void ScriptPrinter::on(const Reduce& e, int, bool) {
  out_ += "T.reduce(";
  combiner(*e.combiner);
  out_ += ", ";
  list(e.source);
  out_ += ", ";
  list(e.init);
  out_ += ", [";
  bool first = true;
  for (const IterVar& axis : e.axis) {
    comma(first);
    iter_var(axis);
  }
  out_ += "], ";
  expr(e.condition);
  out_ += ", ";
  integer(e.value_index);
  out_ += ')';
}

void ScriptPrinter::region(const BufferRegion& r) {
  buffer_name(r.buffer);
  if (r.region.empty()) {
    out_ += "[()]";
    return;
  }
  out_ += '[';
  bool first = true;
  for (const Range& range : r.region) {
    comma(first);
    slice(range);
  }
  out_ += ']';
}

void ScriptPrinter::slice(const Range& range) {
  expr(range.min);
  if (is_one(range.extent) && range.extent.kind() == NodeKind::IntImm) { return; }
  out_ += ':';
  expr(add(range.min, range.extent));
}

void ScriptPrinter::attr(const Attr& a) {
  if (std::holds_alternative<std::monostate>(a.value)) { out_ += "None"; }
  else if (const auto* e = std::get_if<Expr>(&a.value)) {
    // A buffer among attributes is stored as its pointer, and printed as the buffer.
    const auto* v = e->as<VarNode>();
    auto known = v ? objects_.find(v) : objects_.end();
    if (known != objects_.end() && known->second.part == Part::Data) { buffer_name(*known->second.buffer); } else { expr(*e); }
  }
  else if (const auto* s = std::get_if<std::string>(&a.value)) { string_literal(*s); }
  else if (const auto* l = std::get_if<Array<Attr>>(&a.value)) {
    out_ += '[';
    bool first = true;
    for (const Attr& item : *l) {
      comma(first);
      attr(item);
    }
    out_ += ']';
  } else if (const Attr* t = target_attr(a)) { target(*t); }
  else if (const auto* m = std::get_if<AttrMap>(&a.value)) { attrs(*m); }
  else if (const auto* map = std::get_if<IndexMap>(&a.value)) { index_map(*map); }
}

void ScriptPrinter::target(const Attr& given) {
  out_ += "T.target(";
  if (const auto* pair = std::get_if<Array<Attr>>(&given.value); pair && pair->size() == 2) {
    attr((*pair)[0]);
    out_ += ", host=";
    attr((*pair)[1]);
  } else {
    attr(given);
  }
  out_ += ')';
}

void ScriptPrinter::attrs(const AttrMap& map) {
  out_ += '{';
  bool first = true;
  for (const auto& [key, value] : map) {
    comma(first);
    string_literal(key.view());
    out_ += ": ";
    attr(value);
  }
  out_ += '}';
}

void ScriptPrinter::index_map(const IndexMap& map) {
  out_ += "T.index_map(";
  index_lambda(map);
  if (map->inverse) {
    out_ += ", inverse_index_map=";
    index_lambda(map->inverse);
  }
  out_ += ')';
}

void ScriptPrinter::comma(bool& first) {
  if (!first) { out_ += ", "; }
  first = false;
}

void ScriptPrinter::integer(int64_t value) {
  char text[24];
  auto end = std::to_chars(text, text + sizeof text, value).ptr;
  out_.append(text, end);
}

void ScriptPrinter::type_name(DataType t) {
  out_ += "T.";
  append_dtype(t);
}

void ScriptPrinter::dtype_literal(DataType t) {
  out_ += '"';
  append_dtype(t);
  out_ += '"';
}

void ScriptPrinter::append_dtype(DataType t) {
  if (t == DataType::float_(32)) { out_ += "float32"; }
  else if (t == DataType::int_(32)) { out_ += "int32"; }
  else if (t == DataType::int_(64)) { out_ += "int64"; }
  else { out_ += sblock_ ? recent_spelling(t) : t.str(); }
}

auto ScriptPrinter::open(int level, int parent, bool tight) -> bool {
  bool paren = level < parent || (tight && level == parent);
  if (paren) { out_ += '('; }
  return paren;
}

void ScriptPrinter::close(bool paren) {
  if (paren) { out_ += ')'; }
}

void ScriptPrinter::call2(const char* head, const Expr& a, const Expr& b) {
  out_ += head;
  expr(a);
  out_ += ", ";
  expr(b);
  out_ += ')';
}

auto ScriptPrinter::may_fold(const Expr& e) -> bool {
  return e.kind() == NodeKind::IntImm || e.kind() == NodeKind::FloatImm || e.kind() == NodeKind::Broadcast;
}

void ScriptPrinter::define_free_of(const Expr& e) {
  (void)uses_var(e, [&](const VarNode& v) {
    define_var(&v);
    return false;
  });
}

void ScriptPrinter::list(const Array<Expr>& items) {
  out_ += '[';
  bool first = true;
  for (const Expr& e : items) {
    comma(first);
    expr(e);
  }
  out_ += ']';
}

void ScriptPrinter::tuple(const Array<Expr>& items) {
  out_ += '(';
  bool first = true;
  for (const Expr& e : items) {
    comma(first);
    expr(e);
  }
  if (items.size() == 1) { out_ += ','; }
  out_ += ')';
}

void ScriptPrinter::indices(const Array<Expr>& items) {
  if (items.empty()) {
    out_ += "[()]";
    return;
  }
  out_ += '[';
  bool first = true;
  for (const Expr& e : items) {
    comma(first);
    const auto* ramp = e.as<Ramp>();
    const auto* stride = ramp ? ramp->stride.as<IntImm>() : nullptr;
    WrapWatch watch;
    Expr end = stride ? add(ramp->base, mul(ramp->lanes, ramp->stride)) : Expr();
    // The end of a slice may overflow the type of its elements.
    if (!stride || watch.found()) {
      expr(e);
      continue;
    }
    expr(ramp->base);
    out_ += ':';
    expr(end);
    if (stride->value != 1) {
      out_ += ':';
      expr(ramp->stride);
    }
  }
  out_ += ']';
}

void ScriptPrinter::regions(const Array<BufferRegion>& items) {
  bool first = true;
  for (const BufferRegion& r : items) {
    comma(first);
    region(r);
  }
}

void ScriptPrinter::index_lambda(const IndexMap& map) {
  push_frame(nullptr);
  out_ += "lambda ";
  bool first = true;
  for (const Var& v : map->initial) {
    comma(first);
    out_ += define_var(v.get()).view();
  }
  out_ += ": ";
  tuple(map->final);
  pop_frame();
}

void ScriptPrinter::iter_var(const IterVar& iter) {
  static constexpr const char* kinds[] = {"DataPar", "CommReduce", "Ordered", "Opaque", "ThreadIndex"};
  out_ += "T.iter_var(";
  expr(iter.var);
  out_ += ", ";
  if (iter.dom.extent) {
    out_ += "T.Range(";
    expr(iter.dom.min);
    out_ += ", ";
    expr(add(iter.dom.min, iter.dom.extent));
    out_ += ')';
  } else {
    out_ += "None";
  }
  out_ += ", ";
  string_literal(kinds[static_cast<size_t>(iter.kind)]);
  out_ += ", ";
  string_literal(iter.thread_tag.view());
  out_ += ')';
}

void ScriptPrinter::subject(const AttrStmt::Subject& node) {
  if (const auto* e = std::get_if<Expr>(&node)) {
    const auto* reduction = e->as<Reduce>();
    if (reduction && reduction->axis.empty()) { combiner(*reduction->combiner); } else { expr(*e); }
  } else if (const auto* b = std::get_if<Buffer>(&node)) { buffer_name(*b); }
  else if (const auto* i = std::get_if<IterVar>(&node)) { iter_var(*i); }
  else { out_ += "None"; }
}

}  // namespace loopsmith
