// Arguments of primitives: converts values of scripts to values of schedules, and back. See objects.h.
#include <algorithm>

#include "frontend/objects.h"
#include "ir/ops.h"
#include "script/objects.h"
#include "support/codes.h"

namespace loopsmith::script {
namespace {

// Calls a function of indices with fresh variables, like TVM's `IndexMap.from_func`.
auto map_of_function(eval::Evaluator& evaluator, const Ref<eval::Function>& function, Origin where, const schedule::MapRequest& request)
    -> std::optional<schedule::MapWithSeparators> {
  // Plain parameters come first, then those of `*indices`, then those after it, which are passed by keyword.
  size_t plain = 0;
  const syntax::Param* star = nullptr;
  for (const syntax::Param& p : function->params()) {
    if (p.kind == syntax::ParamKind::Plain) { ++plain; }
    else if (p.kind == syntax::ParamKind::Star) { star = &p; }
    else {
      evaluator.report(error(Code::ArgumentKind, where).arg("what", "a function with such parameters").arg("wanted", "a function of indices"));
      return {};
    }
  }
  std::vector<Var> first, last;
  eval::Arguments call;
  auto variable = [&](Name name) {
    Var v = make<VarNode>(name, request.dtype, where);
    call.all.push_back({eval::Value(Ref<eval::Object>(eval::make_object<frontend::ExprObject>(Expr(v)).get())), where, {}});
    return v;
  };
  bool is_behind = false;
  for (const syntax::Param& p : function->params()) {
    if (&p == star) {
      for (size_t i = plain; i < request.arity; ++i) {
        size_t at = i - plain;
        bool is_named = request.names.size() == request.arity && plain == 0;
        first.push_back(variable(is_named ? request.names[at] : Name(p.name.name.str() + "_" + std::to_string(at))));
      }
      is_behind = true;
      continue;
    }
    size_t at = first.size() + last.size();
    bool is_named = at < request.names.size() && !star;
    auto& to = is_behind ? last : first;
    to.push_back(variable(is_named ? request.names[at] : p.name.name));
    if (is_behind) { call.all.back().keyword = p.name.name; }
  }
  call.positional = first.size();
  call.call = where;
  eval::Value result = evaluator.call_function(function, call);
  if (result.is_unknown()) { return {}; }
  schedule::MapWithSeparators out;
  std::vector<Expr> final;
  auto add = [&](const eval::Value& item) {
    Expr e = frontend::to_expr(evaluator, {item, where, {}});
    if (e) { final.push_back(e); }
    return bool(e);
  };
  for (const eval::Value& item : result.items_or_itself()) {
    if (item.as<frontend::AxisSeparatorObject>()) {
      out.separators.push_back(static_cast<int64_t>(final.size()));
      continue;
    }
    const auto* range = item.items();
    if (!range) {
      if (!add(item)) { return {}; }
      if (request.is_ranges) { final.push_back(loopsmith::add(final.back(), one(final.back().dtype()))); }
      continue;
    }
    if (!request.is_ranges || range->size() != 2) {
      evaluator.report(error(Code::ArgumentKind, where).arg("what", eval::describe(item)).arg("wanted", request.is_ranges ? "an index, or a begin and an end" : "an index"));
      return {};
    }
    if (!add((*range)[0]) || !add((*range)[1])) { return {}; }
  }
  first.insert(first.end(), last.begin(), last.end());
  out.map = make_index_map({.initial = std::move(first), .final = std::move(final), .inverse = {}});
  return out;
}

auto program_value(eval::Evaluator& evaluator, const eval::Argument& argument) -> std::optional<schedule::Value> {
  if (const auto* e = argument.value.as<frontend::ExprObject>()) { return schedule::Value(e->expr); }
  if (const auto* b = argument.value.as<frontend::BufferObject>()) { return schedule::Value(b->buffer->name.str()); }
  if (const auto* a = argument.value.as<frontend::AttrObject>()) {
    if (const auto* map = std::get_if<IndexMap>(&a->attr.value)) { return schedule::Value(*map); }
  }
  // A function of indices becomes an index map, once the number of indices is known.
  if (const auto* f = argument.value.as<eval::Function>()) {
    auto make_map = [&evaluator, function = Ref<eval::Function>(f), where = argument.where](const schedule::MapRequest& request) {
      return map_of_function(evaluator, function, where, request);
    };
    return schedule::Value(schedule::Lambda(std::make_shared<const std::function<std::optional<schedule::MapWithSeparators>(const schedule::MapRequest&)>>(make_map)));
  }
  return {};
}

// The deepest nesting of lists in an argument.
constexpr int max_list_depth = 16;

auto convert(eval::Evaluator& evaluator, const eval::Argument& argument, int depth) -> std::optional<schedule::Value> {
  const eval::Value& value = argument.value;
  if (value.is_unknown()) { return {}; }
  if (value.is_none()) { return schedule::Value(); }
  if (value.is_bool()) { return schedule::Value(value.bool_value()); }
  if (value.is_int()) { return schedule::Value(value.int_value()); }
  if (value.is_float()) { return schedule::Value(value.float_value()); }
  if (const std::string* text = value.string()) { return schedule::Value(*text); }
  if (const auto* variable = value.as<VariableObject>()) { return variable->variable; }
  if (depth > max_list_depth) {
    evaluator.report(error(Code::ArgumentTooDeep, argument.where).arg("limit", max_list_depth));
    return {};
  }
  if (const auto* items = value.items()) {
    schedule::Value::List list;
    for (const eval::Value& item : *items) {
      // Lists that share parts are copied for each occurrence.
      if (!evaluator.charge(1, sizeof(schedule::Value), argument.where)) { return {}; }
      auto converted = convert(evaluator, {item, argument.where, {}}, depth + 1);
      if (!converted) { return {}; }
      list.push_back(std::move(*converted));
    }
    return schedule::Value(std::move(list));
  }
  if (const auto* dict = value.as<eval::Dict>()) {
    schedule::Value::Dict out;
    for (const auto& [key, item] : dict->entries()) {
      if (!evaluator.charge(1, sizeof(schedule::Value), argument.where)) { return {}; }
      const std::string* name = key.string();
      auto converted = convert(evaluator, {item, argument.where, {}}, depth + 1);
      if (!converted) { return {}; }
      if (!name) {
        evaluator.report(error(Code::ArgumentKind, argument.where).arg("what", eval::describe(key)).arg("wanted", "a string as key"));
        return {};
      }
      out.emplace_back(*name, std::move(*converted));
    }
    return schedule::Value(std::move(out));
  }
  if (auto converted = program_value(evaluator, argument)) { return converted; }
  evaluator.report(error(Code::ArgumentKind, argument.where)
                       .arg("what", eval::describe(value))
                       .arg("wanted", "a block, loop, number, string, list or index map"));
  return {};
}

}  // namespace

auto to_schedule(eval::Evaluator& evaluator, const eval::Argument& argument) -> std::optional<schedule::Value> { return convert(evaluator, argument, 0); }

auto from_schedule(const schedule::Value& value) -> eval::Value {
  if (const auto* items = value.as<schedule::Value::List>()) {
    std::vector<eval::Value> out;
    for (const schedule::Value& item : *items) { out.push_back(from_schedule(item)); }
    return eval::Value::list(std::move(out));
  }
  if (const auto* b = value.as<bool>()) { return eval::Value(*b); }
  if (const auto* i = value.as<int64_t>()) { return eval::Value(*i); }
  if (const auto* d = value.as<double>()) { return eval::Value(*d); }
  if (const auto* s = value.as<std::string>()) { return eval::Value::str(*s); }
  if (value.as<schedule::BlockRV>() || value.as<schedule::LoopRV>() || value.as<schedule::ExprRV>()) {
    return eval::Value(Ref<eval::Object>(eval::make_object<VariableObject>(value).get()));
  }
  return {};
}

}  // namespace loopsmith::script
