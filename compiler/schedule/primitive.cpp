// Rows of primitives: look-up, and conversion of the values of calls to arguments.
#include "schedule/primitive.h"

#include <cmath>

#include <fmt/format.h>

#include "schedule/hidden.h"
#include "schedule/requirements.h"
#include "schedule/schedule.h"
#include "support/codes.h"

namespace loopsmith::schedule {

auto find_primitive(std::string_view name) -> const Primitive* {
  for (const Primitive* row : all_primitives()) {
    if (row->name == name) { return row; }
  }
  if (name == "get_sblock") { return find_primitive("get_block"); }
  return nullptr;
}

auto find_instruction(std::string_view kind) -> const Primitive* {
  for (const Primitive* row : all_primitives()) {
    if (row->kind == kind) { return row; }
  }
  if (kind == "GetSBlock") { return find_instruction("GetBlock"); }
  return nullptr;
}

auto Primitive::signature() const -> std::string {
  std::string out = std::string(name) + "(";
  bool first = true;
  for (const Param& param : params) {
    if (!first) { out += ", "; }
    first = false;
    if (param.is_variadic) { out += "*"; }
    out += param.name;
    if (!param.otherwise) { continue; }
    out += "=";
    const Value& value = *param.otherwise;
    if (const bool* b = value.as<bool>()) { out += *b ? "True" : "False"; }
    else if (const int64_t* i = value.integer()) { out += std::to_string(*i); }
    else if (const auto* s = value.as<std::string>()) { out += "\"" + *s + "\""; }
    else if (value.as<Value::List>()) { out += "[]"; }
    else { out += "None"; }
  }
  out += ")";
  if (output != OutputKind::None) { out += " -> " + std::string(output_name); }
  return out;
}

auto Context::find_intrinsic(Name name) const -> const TensorIntrin* {
  if (own_intrinsics) {
    for (const TensorIntrin& intrinsic : *own_intrinsics) {
      if (intrinsic.name == name) { return &intrinsic; }
    }
  }
  return builtin_intrinsics() ? builtin_intrinsics()->find(name) : nullptr;
}
auto Context::intrinsic_names() const -> std::vector<Name> {
  std::vector<Name> out;
  if (own_intrinsics) {
    for (const TensorIntrin& intrinsic : *own_intrinsics) { out.push_back(intrinsic.name); }
  }
  if (const IntrinsicTable* table = builtin_intrinsics()) {
    for (Name name : table->names()) { out.push_back(name); }
  }
  return out;
}

auto Context::error(Code code) const -> Diagnostic {
  Diagnostic out = loopsmith::error(code, call);
  out.args.emplace_back("primitive", std::string(primitive.name));
  return out;
}

namespace {

auto wrong_kind(const Context& cx, const Param& param, const Value& value, std::string_view wanted) -> Diagnostic {
  return cx.error(Code::ParameterKind).arg("parameter", param.name).arg("expected", wanted).arg("found", kind_in_words(value));
}

auto resolve(const Context& cx, const Param& param, const Value& value, uint32_t var, Context::Binding::Kind kind, PlaceArg& out) -> Status {
  bool wants_block = kind == Context::Binding::Kind::Block;
  if (var >= cx.variables.size() || cx.variables[var].kind != kind) {
    return cx.error(Code::VariableGone).arg("variable", Schedule::name_of(value)).arg("what", wants_block ? "block" : "loop");
  }
  auto found = cx.state.find(cx.variables[var].value);
  if (!found && !cx.variables[var].func.empty()) {
    (void)cx.state.func(cx.variables[var].func);
    found = cx.state.find(cx.variables[var].value);
  }
  if (!found || found.place->is_block() != wants_block) {
    return cx.error(Code::VariableGone).arg("variable", Schedule::name_of(value)).arg("what", wants_block ? "block" : "loop")
        .remedy(wants_block ? "look the block up again with `get_block`" : "look the loops up again with `get_loops`");
  }
  out.func = found.func;
  out.place = found.place;
  LOOPSMITH_CHECK(require_nothing_between(cx, out));
  return require_nothing_hidden(cx, out);
}

auto integer_of(const Context& cx, const Value& value, int64_t& out) -> bool {
  if (const int64_t* i = value.integer()) { out = *i; return true; }
  if (const bool* b = value.as<bool>()) { out = *b ? 1 : 0; return true; }
  if (const Expr* e = value.as<Expr>()) {
    if (const auto* imm = e->as<IntImm>()) { out = imm->value; return true; }
  }
  if (const ExprRV* v = value.as<ExprRV>()) {
    if (v->var < cx.variables.size() && cx.variables[v->var].kind == Context::Binding::Kind::Int) {
      out = static_cast<int64_t>(cx.variables[v->var].value);
      return true;
    }
  }
  return false;
}

}  // namespace

auto convert(const Context& cx, const Param& param, const Value& value, BlockArg& out) -> Status {
  if (const BlockRV* rv = value.as<BlockRV>()) { return resolve(cx, param, value, rv->var, Context::Binding::Kind::Block, out); }
  return wrong_kind(cx, param, value, "a block");
}
auto convert(const Context& cx, const Param& param, const Value& value, LoopArg& out) -> Status {
  if (const LoopRV* rv = value.as<LoopRV>()) { return resolve(cx, param, value, rv->var, Context::Binding::Kind::Loop, out); }
  return wrong_kind(cx, param, value, "a loop");
}
auto convert(const Context& cx, const Param& param, const Value& value, LocationArg& out) -> Status {
  if (const LoopRV* rv = value.as<LoopRV>(); rv && rv->var < cx.variables.size()) {
    NodeId id = cx.variables[rv->var].value;
    if (id == LocationArg::root_mark) { out.mark = LocationArg::Mark::Root; return ok(); }
    if (id == LocationArg::inline_mark) { out.mark = LocationArg::Mark::Inline; return ok(); }
  }
  return convert(cx, param, value, static_cast<LoopArg&>(out));
}
auto convert(const Context& cx, const Param& param, const Value& value, PlaceArg& out) -> Status {
  if (const BlockRV* rv = value.as<BlockRV>()) { return resolve(cx, param, value, rv->var, Context::Binding::Kind::Block, out); }
  if (const LoopRV* rv = value.as<LoopRV>()) { return resolve(cx, param, value, rv->var, Context::Binding::Kind::Loop, out); }
  return wrong_kind(cx, param, value, "a block or a loop");
}
auto convert(const Context& cx, const Param& param, const Value& value, bool& out) -> Status {
  int64_t number = 0;
  if (!integer_of(cx, value, number)) { return wrong_kind(cx, param, value, "a bool"); }
  out = number != 0;
  return ok();
}
auto convert(const Context& cx, const Param& param, const Value& value, int64_t& out) -> Status {
  if (!integer_of(cx, value, out)) { return wrong_kind(cx, param, value, "an integer"); }
  return ok();
}
auto convert(const Context& cx, const Param& param, const Value& value, double& out) -> Status {
  if (const double* d = value.as<double>()) { out = *d; return ok(); }
  if (const Expr* e = value.as<Expr>()) {
    if (const auto* imm = e->as<FloatImm>()) { out = imm->value; return ok(); }
  }
  int64_t number = 0;
  if (!integer_of(cx, value, number)) { return wrong_kind(cx, param, value, "a number"); }
  out = static_cast<double>(number);
  return ok();
}
auto convert(const Context& cx, const Param& param, const Value& value, std::string& out) -> Status {
  if (const auto* s = value.as<std::string>()) { out = *s; return ok(); }
  return wrong_kind(cx, param, value, "a string");
}
auto convert(const Context& cx, const Param& param, const Value& value, IndexMap& out) -> Status {
  if (const auto* map = value.as<IndexMap>()) { out = *map; return ok(); }
  return wrong_kind(cx, param, value, "an index map (a lambda from indices to indices)");
}
auto convert(const Context& cx, const Param& param, const Value& value, AccessArg& out) -> Status {
  const auto* text = value.as<std::string>();
  if (!text || (*text != "read" && *text != "write")) { return wrong_kind(cx, param, value, "\"read\" or \"write\""); }
  out.is_write = *text == "write";
  return ok();
}
auto convert(const Context& cx, const Param& param, const Value& value, BufferArg& out) -> Status {
  const auto* pair = value.as<Value::List>();
  AccessArg access;
  if (!pair || pair->size() != 2 || !convert(cx, param, (*pair)[0], access).ok() || !integer_of(cx, (*pair)[1], out.index)) {
    return wrong_kind(cx, param, value, "a buffer, as (\"read\", 0), (\"write\", 0) or by its name");
  }
  out.is_write = access.is_write;
  return ok();
}
auto convert(const Context& cx, const Param& param, const Value& value, Value& out) -> Status {
  out = value;
  // Replaces a variable that stands for a number by its value, so that primitives receive the number.
  if (value.as<ExprRV>()) {
    int64_t number = 0;
    if (!integer_of(cx, value, number)) { return wrong_kind(cx, param, value, "a variable that holds an integer"); }
    out = Value(number);
  } else if (const auto* list = value.as<Value::List>()) {
    Value::List items(list->size());
    for (size_t i = 0; i < list->size(); ++i) { LOOPSMITH_CHECK(convert(cx, param, (*list)[i], items[i])); }
    out = Value(std::move(items));
  } else if (const auto* dict = value.as<Value::Dict>()) {
    Value::Dict items(*dict);
    for (auto& [key, item] : items) {
      Value read;
      LOOPSMITH_CHECK(convert(cx, param, item, read));
      item = std::move(read);
    }
    out = Value(std::move(items));
  }
  return ok();
}
auto list_items(const Context& cx, const Param& param, const Value& value) -> Result<const Value::List*> {
  static const Value::List none;
  if (value.is_none()) { return &none; }
  if (const auto* list = value.as<Value::List>()) { return list; }
  return wrong_kind(cx, param, value, "a list");
}

}  // namespace loopsmith::schedule
