// Prints values in words: see values.h.
#include "repl/values.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/loop_kind.h"
#include "ir/printer.h"
#include "schedule/extent_text.h"
#include "script/objects.h"
#include "script/scope_names.h"
#include "support/text.h"

namespace loopsmith::repl {
namespace {

auto describe_variable(const schedule::Schedule& schedule, const script::VariableObject& variable) -> std::string {
  if (const auto* number = variable.variable.as<schedule::ExprRV>()) {
    auto found = schedule.get(*number);
    return found.ok() ? std::to_string(*found) : variable.repr();
  }
  const schedule::Place* place = script::place_of(schedule, variable);
  if (place == nullptr) { return variable.repr() + " (gone)"; }
  if (place->is_loop()) { return fmt::format("{}:{}{}", place->name().view(), schedule::extent_text(place->loop->extent), loop_kind_behind(" ", *place->loop)); }
  return fmt::format("block {}", place->name().view());
}

}  // namespace

auto is_handle(const eval::Value& value) -> bool {
  if (value.as<script::VariableObject>() != nullptr) { return true; }
  const std::vector<eval::Value>* items = value.items();
  return items != nullptr && !items->empty() && std::all_of(items->begin(), items->end(), [](const eval::Value& item) { return item.as<script::VariableObject>() != nullptr; });
}

auto describe_value(const schedule::Schedule& schedule, const eval::Value& value, size_t most) -> std::string {
  if (const auto* variable = value.as<script::VariableObject>()) { return describe_variable(schedule, *variable); }
  if (const auto* object = value.as<script::ScheduleObject>()) {
    size_t count = object->schedule.trace().size();
    return fmt::format("<schedule of `{}` after {}: `:loops` draws it, `:print` shows it>", object->schedule.func_working_on().view(), count_text(static_cast<int64_t>(count), "instruction"));
  }
  const std::vector<eval::Value>* items = value.items();
  bool has_handles = items != nullptr && std::any_of(items->begin(), items->end(), is_handle);
  if (!has_handles) { return value.repr(); }
  bool is_tuple = value.type_name() == "tuple";
  std::string out(is_tuple ? "(" : "[");
  for (size_t i = 0; i < items->size(); ++i) {
    std::string item = describe_value(schedule, (*items)[i], most);
    size_t left = items->size() - i;
    if (i > 0 && left > 1 && out.size() + item.size() + 12 > most) { return out + fmt::format(", ... {} more{}", left, is_tuple ? ")" : "]"); }
    out += (i == 0 ? "" : ", ") + item;
  }
  return out + (is_tuple ? (items->size() == 1 ? ",)" : ")") : "]");
}

auto describe_bound(const syntax::Document& document, const eval::Scope& scope, const schedule::Schedule& schedule, size_t most) -> std::string {
  std::string out;
  auto add = [&](const syntax::Expr& target, auto&& self) -> void {
    const syntax::List<syntax::ExprPtr>* elements = nullptr;
    if (const auto* tuple = target.as<syntax::TupleExpr>()) { elements = &tuple->elements; }
    if (const auto* list = target.as<syntax::ListExpr>()) { elements = &list->elements; }
    if (elements != nullptr) {
      for (const syntax::Expr* element : *elements) { self(*element, self); }
    }
    const auto* name = target.as<syntax::NameExpr>();
    const eval::Value* value = name != nullptr ? scope.find_here(name->name) : nullptr;
    if (value == nullptr || !is_handle(*value)) { return; }
    std::string part;
    if (const auto* variable = value->as<script::VariableObject>()) {
      const schedule::Place* place = script::place_of(schedule, *variable);
      if (place != nullptr && place->is_loop()) { part = fmt::format("{}:{}", name->name.view(), schedule::extent_text(place->loop->extent)); }
      if (place != nullptr && place->is_block() && place->name() != name->name) { part = fmt::format("{}:{}", name->name.view(), place->name().view()); }
      if (variable->variable.as<schedule::ExprRV>() != nullptr) { part = fmt::format("{}={}", name->name.view(), describe_variable(schedule, *variable)); }
    } else {
      part = name->name.str() + ":" + describe_value(schedule, *value, most > name->name.view().size() + 8 ? most - name->name.view().size() - 8 : 8);
    }
    if (!part.empty()) { out += (out.empty() ? "" : " ") + part; }
  };
  for (const syntax::PlacedItem& placed : document.items()) {
    for (const syntax::Stmt* stmt : placed.item->statements) {
      if (const auto* assign = stmt->as<syntax::AssignStmt>()) {
        for (const syntax::Expr* target : assign->targets) { add(*target, add); }
      }
    }
  }
  return out;
}

}  // namespace loopsmith::repl
