// Sets: see sets.h.
#include "eval/sets.h"

#include <algorithm>

#include "eval/evaluator.h"
#include "eval/limit_text.h"
#include "support/codes.h"

namespace loopsmith::eval {
namespace {

constexpr size_t bytes_of_item = 7 * sizeof(Value);

auto set_of(const Value& self) -> const Set& { return *self.as<Set>(); }
// Counts the items of a copy against the limits.
auto may_copy(Evaluator& e, const Set& set, Origin where) -> bool {
  const auto size = static_cast<size_t>(*set.length());
  return e.charge(size, size * bytes_of_item, where);
}
auto copy_of(const Set& set) -> Ref<Set> {
  Ref<Set> out = make_object<Set>();
  for (const Value& item : set.items()) { out->add(item); }
  return out;
}

// The items of an argument, as a set; null: it has none, or one of them can change, which was reported.
auto to_set(Evaluator& e, const Argument& given) -> Ref<Set> {
  if (const auto* set = given.value.as<Set>()) { return Ref<Set>(set); }
  auto items = e.iterate(given);
  if (!items) { return {}; }
  Ref<Set> out = make_object<Set>();
  for (Value& item : *items) {
    if (!add_to_set(e, *out, {std::move(item), given.where, {}})) { return {}; }
  }
  return out;
}

auto no_such_item(Evaluator& e, Origin where, const std::string& item) -> Value {
  return e.report(error(Code::KeyNotFound, where).arg("container", "set").arg("kind", "item").arg("key", item));
}

auto joined(Evaluator& e, const Set& a, const Set& b, Origin where) -> Value {
  Ref<Set> out = copy_of(a);
  for (const Value& item : b.items()) {
    if (!add_to_set(e, *out, {item, where, {}})) { return Value::error(); }
  }
  return out;
}
// The items of `a` that are, or are not, in `b`.
auto selected(const Set& a, const Set& b, bool in_both) -> Ref<Set> {
  Ref<Set> out = make_object<Set>();
  for (const Value& item : a.items()) {
    if (b.contains(item) == in_both) { out->add(item); }
  }
  return out;
}
auto is_subset(const Set& a, const Set& b) -> bool {
  const std::vector<Value> items = a.items();
  return std::all_of(items.begin(), items.end(), [&](const Value& item) { return b.contains(item); });
}
auto combined(Evaluator& e, syntax::BinaryOp op, const Set& a, const Set& b, Origin where) -> std::optional<Value> {
  if (!may_copy(e, a, where) || !may_copy(e, b, where)) { return Value::error(); }
  switch (op) {
    case syntax::BinaryOp::BitOr: return joined(e, a, b, where);
    case syntax::BinaryOp::BitAnd: return Value(selected(a, b, true));
    case syntax::BinaryOp::Sub: return Value(selected(a, b, false));
    case syntax::BinaryOp::BitXor: return joined(e, *selected(a, b, false), *selected(b, a, false), where);
    default: return {};
  }
}

// ---- methods -------------------------------------------------------------------------------------------------------

auto add(Evaluator& e, const Value& self, const Arguments& a) -> Value {
  return expect_arguments(e, "add", a, 1, 1) && add_to_set(e, set_of(self), a.all[0]) ? Value() : Value::error();
}
auto remove(Evaluator& e, const Value& self, const Arguments& a) -> Value {
  if (!expect_arguments(e, "remove", a, 1, 1) || !e.charge(static_cast<size_t>(*set_of(self).length()), 0, a.call)) { return Value::error(); }
  return set_of(self).erase(a.all[0].value) ? Value() : no_such_item(e, a.all[0].where, a.all[0].value.repr());
}
auto discard(Evaluator& e, const Value& self, const Arguments& a) -> Value {
  if (!expect_arguments(e, "discard", a, 1, 1) || !e.charge(static_cast<size_t>(*set_of(self).length()), 0, a.call)) { return Value::error(); }
  (void)set_of(self).erase(a.all[0].value);
  return {};
}
auto pop(Evaluator& e, const Value& self, const Arguments& a) -> Value {
  if (!expect_arguments(e, "pop", a, 0, 0)) { return Value::error(); }
  const std::vector<Value> items = set_of(self).items();
  if (items.empty()) { return no_such_item(e, a.call, "to remove"); }
  if (!e.charge(items.size(), 0, a.call)) { return Value::error(); }
  (void)set_of(self).erase(items.front());
  return items.front();
}
auto clear(Evaluator& e, const Value& self, const Arguments& a) -> Value {
  if (!expect_arguments(e, "clear", a, 0, 0)) { return Value::error(); }
  set_of(self).clear();
  return {};
}
auto copy(Evaluator& e, const Value& self, const Arguments& a) -> Value { return expect_arguments(e, "copy", a, 0, 0) && may_copy(e, set_of(self), a.call) ? Value(copy_of(set_of(self))) : Value::error(); }
auto update(Evaluator& e, const Value& self, const Arguments& a) -> Value {
  if (!expect_arguments(e, "update", a, 0, a.positional)) { return Value::error(); }
  for (const Argument& one : a.all) {
    Ref<Set> other = to_set(e, one);
    if (!other) { return Value::error(); }
    for (const Value& item : other->items()) {
      if (!add_to_set(e, set_of(self), {item, one.where, {}})) { return Value::error(); }
    }
  }
  return {};
}

// `a.union(b, c)`: one operator after the other.
auto fold(Evaluator& e, std::string_view name, syntax::BinaryOp op, const Value& self, const Arguments& a) -> Value {
  if (!expect_arguments(e, name, a, 0, a.positional)) { return Value::error(); }
  Value out(copy_of(set_of(self)));
  for (const Argument& one : a.all) {
    Ref<Set> other = to_set(e, one);
    if (!other) { return Value::error(); }
    out = *combined(e, op, set_of(out), *other, a.call);
    if (out.is_unknown()) { return out; }
  }
  return out;
}
auto union_of(Evaluator& e, const Value& self, const Arguments& a) -> Value { return fold(e, "union", syntax::BinaryOp::BitOr, self, a); }
auto intersection(Evaluator& e, const Value& self, const Arguments& a) -> Value { return fold(e, "intersection", syntax::BinaryOp::BitAnd, self, a); }
auto difference(Evaluator& e, const Value& self, const Arguments& a) -> Value { return fold(e, "difference", syntax::BinaryOp::Sub, self, a); }
auto symmetric_difference(Evaluator& e, const Value& self, const Arguments& a) -> Value { return fold(e, "symmetric_difference", syntax::BinaryOp::BitXor, self, a); }

auto issubset(Evaluator& e, const Value& self, const Arguments& a) -> Value {
  Ref<Set> other = expect_arguments(e, "issubset", a, 1, 1) ? to_set(e, a.all[0]) : Ref<Set>();
  return other ? Value(is_subset(set_of(self), *other)) : Value::error();
}
auto issuperset(Evaluator& e, const Value& self, const Arguments& a) -> Value {
  Ref<Set> other = expect_arguments(e, "issuperset", a, 1, 1) ? to_set(e, a.all[0]) : Ref<Set>();
  return other ? Value(is_subset(*other, set_of(self))) : Value::error();
}
auto isdisjoint(Evaluator& e, const Value& self, const Arguments& a) -> Value {
  Ref<Set> other = expect_arguments(e, "isdisjoint", a, 1, 1) ? to_set(e, a.all[0]) : Ref<Set>();
  return other ? Value(selected(set_of(self), *other, true)->items().empty()) : Value::error();
}

struct Row { const char* name; Method::Run run; };
constexpr Row rows[] = {
    {"add", add}, {"remove", remove}, {"discard", discard}, {"pop", pop}, {"clear", clear}, {"copy", copy}, {"update", update}, {"union", union_of},
    {"intersection", intersection}, {"difference", difference}, {"symmetric_difference", symmetric_difference},
    {"issubset", issubset}, {"issuperset", issuperset}, {"isdisjoint", isdisjoint},
};

}  // namespace

const TypeTag Set::type_tag{"set"};

auto Set::items() const -> std::vector<Value> {
  std::vector<Value> out;
  for (const auto& entry : items_->entries()) { out.push_back(entry.first); }
  return out;
}
auto Set::get_attribute(Evaluator&, Name name, Origin) const -> std::optional<Value> {
  for (const Row& row : rows) {
    if (name == row.name) { return Value(make_object<Method>(Value(this), name, row.run)); }
  }
  return {};
}
void Set::attribute_names(std::vector<Name>& out) const {
  for (const Row& row : rows) { out.emplace_back(row.name); }
}
auto Set::binary(Evaluator& e, syntax::BinaryOp op, const Argument&, const Argument& other, bool reflected, Origin where) const -> std::optional<Value> {
  const auto* that = other.value.as<Set>();
  if (!that) { return {}; }
  return reflected ? combined(e, op, *that, *this, where) : combined(e, op, *this, *that, where);
}
auto Set::compare(Evaluator&, syntax::CompareOp op, const Argument&, const Argument& other, bool reflected, Origin) const -> std::optional<Value> {
  const auto* that = other.value.as<Set>();
  if (!that) { return {}; }
  const Set& a = reflected ? *that : *this;
  const Set& b = reflected ? *this : *that;
  switch (op) {
    case syntax::CompareOp::Le: return Value(is_subset(a, b));
    case syntax::CompareOp::Lt: return Value(is_subset(a, b) && !is_subset(b, a));
    case syntax::CompareOp::Ge: return Value(is_subset(b, a));
    case syntax::CompareOp::Gt: return Value(is_subset(b, a) && !is_subset(a, b));
    default: return {};
  }
}
auto Set::equals(const Object& other) const -> bool {
  const auto* that = other.as<Set>();
  return that && items_->equals(*that->items_);
}
auto Set::repr() const -> std::string {
  std::string out;
  for (const Value& item : items()) {
    out += (out.empty() ? "" : ", ") + item.repr();
    if (out.size() > (1 << 16)) { return "{" + out + ", ...}"; }
  }
  return out.empty() ? "set()" : "{" + out + "}";
}
auto Set::clone(Cloner& cloner) const -> std::optional<Value> {
  Ref<Set> copy = make_object<Set>();
  cloner.remember(this, copy.get());
  for (const Value& item : items()) { copy->add(cloner.clone(item)); }
  return copy;
}

auto add_to_set(Evaluator& e, const Set& set, const Argument& item) -> bool {
  if (item.value.as<List>() || item.value.as<Dict>() || item.value.as<Set>()) {
    e.report(error(Code::WrongType, item.where).arg("expected", "an item that does not change").arg("found", describe(item.value)));
    return false;
  }
  if (static_cast<uint64_t>(*set.length()) >= e.limits.list_items) {
    e.report(error(Code::TooMuchWork, item.where).arg("what", more_than(e.limits.list_items, "a set", "items")));
    return false;
  }
  if (!e.charge(1, bytes_of_item, item.where)) { return false; }
  set.add(item.value);
  return true;
}

auto make_set(Evaluator& e, const Arguments& a) -> Value {
  if (!expect_arguments(e, "set", a, 0, 1)) { return Value::error(); }
  if (a.all.empty()) { return make_object<Set>(); }
  Ref<Set> given = to_set(e, a.all[0]);
  return given && may_copy(e, *given, a.call) ? Value(copy_of(*given)) : Value::error();
}

}  // namespace loopsmith::eval
