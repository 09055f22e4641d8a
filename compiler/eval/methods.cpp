// Methods of str, list and dict: a table per type at the end of each part.
#include <algorithm>
#include <array>
#include <cctype>

#include "eval/evaluator.h"
#include "eval/format.h"
#include "eval/limit_text.h"
#include "support/codes.h"

namespace loopsmith::eval {
namespace {

struct Row { const char* name; Method::Run run; };

template <size_t N>
auto find_row(const Row (&rows)[N], Name name) -> const Row* {
  for (const Row& row : rows) {
    if (name == row.name) { return &row; }
  }
  return nullptr;
}

auto wrong(Evaluator& e, const Argument& a, std::string_view expected) -> Value {
  return e.report(error(Code::WrongType, a.where).arg("expected", expected).arg("found", describe(a.value)));
}
auto too_long(Evaluator& e, const Arguments& a) -> Value { return e.report(error(Code::TooMuchWork, a.call).arg("what", more_than(e.limits.text_bytes, "a text", "bytes"))); }
auto made_text(Evaluator& e, std::string text, const Arguments& a) -> Value {
  return e.charge(text.size() / sizeof(Value), text.size(), a.call) ? Value::str(std::move(text)) : Value::error();
}
// Adds a part of a text to a list. False: the list is too long, or a limit is exceeded; the error was reported.
auto add_part(Evaluator& e, std::vector<Value>& out, std::string part, const Arguments& a) -> bool {
  constexpr size_t bytes_of_text = 5 * sizeof(Value);
  if (out.size() >= e.limits.list_items) {
    e.report(error(Code::TooMuchWork, a.call).arg("what", more_than(e.limits.list_items, "a list", "items")));
    return false;
  }
  if (!e.charge(1, bytes_of_text + part.size(), a.call)) { return false; }
  out.push_back(Value::str(std::move(part)));
  return true;
}
auto text_of(const Value& v) -> const std::string& { return *v.string(); }

// ---- str ---------------------------------------------------------------------------------------------------------

auto str_join(Evaluator& e, const Value& self, const Arguments& a) -> Value {
  if (!expect_arguments(e, "join", a, 1, 1)) { return Value::error(); }
  auto items = e.iterate(a.all[0]);
  if (!items) { return Value::error(); }
  std::string out;
  for (size_t i = 0; i < items->size(); ++i) {
    const std::string* part = (*items)[i].string();
    if (!part) { return wrong(e, {(*items)[i], a.all[0].where, {}}, "a str"); }
    if (i) { out += text_of(self); }
    out += *part;
    if (out.size() > e.limits.text_bytes) { return too_long(e, a); }
  }
  return made_text(e, std::move(out), a);
}
auto str_split(Evaluator& e, const Value& self, const Arguments& a) -> Value {
  if (!expect_arguments(e, "split", a, 0, 2)) { return Value::error(); }
  const std::string& s = text_of(self);
  std::vector<Value> out;
  if (a.all.empty() || a.all[0].value.is_none()) {
    size_t i = 0;
    while (i < s.size()) {
      while (i < s.size() && std::isspace(static_cast<unsigned char>(s[i]))) { ++i; }
      size_t start = i;
      while (i < s.size() && !std::isspace(static_cast<unsigned char>(s[i]))) { ++i; }
      if (i > start && !add_part(e, out, s.substr(start, i - start), a)) { return Value::error(); }
    }
    return Value::list(std::move(out));
  }
  const std::string* sep = a.all[0].value.string();
  if (!sep || sep->empty()) { return wrong(e, a.all[0], "a str that is not empty"); }
  int64_t most = a.all.size() > 1 ? a.all[1].value.to_int().value_or(-1) : -1;
  size_t start = 0;
  for (size_t at; (most < 0 || static_cast<int64_t>(out.size()) < most) && (at = find_text(s, *sep, start)) != std::string::npos; start = at + sep->size()) {
    if (!add_part(e, out, s.substr(start, at - start), a)) { return Value::error(); }
  }
  out.push_back(Value::str(s.substr(start)));
  return Value::list(std::move(out));
}
auto str_replace(Evaluator& e, const Value& self, const Arguments& a) -> Value {
  if (!expect_arguments(e, "replace", a, 2, 2)) { return Value::error(); }
  const std::string* from = a.all[0].value.string();
  const std::string* to = a.all[1].value.string();
  if (!from || from->empty()) { return wrong(e, a.all[0], "a str that is not empty"); }
  if (!to) { return wrong(e, a.all[1], "a str"); }
  std::string out;
  const std::string& s = text_of(self);
  size_t start = 0;
  for (size_t at; (at = find_text(s, *from, start)) != std::string::npos; start = at + from->size()) {
    out.append(s, start, at - start);
    out += *to;
    if (out.size() > e.limits.text_bytes) { return too_long(e, a); }
  }
  return made_text(e, out + s.substr(start), a);
}
auto affix(Evaluator& e, const Value& self, const Arguments& a, std::string_view name, bool front) -> Value {
  if (!expect_arguments(e, name, a, 1, 1)) { return Value::error(); }
  auto test = [&](const Value& v) {
    const std::string* t = v.string();
    return t && (front ? text_of(self).starts_with(*t) : text_of(self).ends_with(*t));
  };
  if (const auto* many = a.all[0].value.items()) { return Value(std::any_of(many->begin(), many->end(), test)); }
  if (!a.all[0].value.string()) { return wrong(e, a.all[0], "a str"); }
  return Value(test(a.all[0].value));
}
auto str_startswith(Evaluator& e, const Value& self, const Arguments& a) -> Value { return affix(e, self, a, "startswith", true); }
auto str_endswith(Evaluator& e, const Value& self, const Arguments& a) -> Value { return affix(e, self, a, "endswith", false); }
template <int (*F)(int)>
auto change_case(Evaluator& e, const Value& self, const Arguments& a) -> Value {
  if (!expect_arguments(e, "upper", a, 0, 0)) { return Value::error(); }
  std::string out = text_of(self);
  for (char& c : out) {
    if (static_cast<unsigned char>(c) < 128) { c = static_cast<char>(F(c)); }
  }
  return Value::str(std::move(out));
}
template <bool Left, bool Right>
auto strip(Evaluator& e, const Value& self, const Arguments& a) -> Value {
  if (!expect_arguments(e, "strip", a, 0, 1)) { return Value::error(); }
  std::string_view what = " \t\n\r\f\v";
  if (!a.all.empty()) {
    if (!a.all[0].value.string()) { return wrong(e, a.all[0], "a str"); }
    what = *a.all[0].value.string();
  }
  std::string_view s = text_of(self);
  std::array<bool, 256> is_removed{};
  for (char c : what) { is_removed[static_cast<unsigned char>(c)] = true; }
  while (Left && !s.empty() && is_removed[static_cast<unsigned char>(s.front())]) { s.remove_prefix(1); }
  while (Right && !s.empty() && is_removed[static_cast<unsigned char>(s.back())]) { s.remove_suffix(1); }
  return Value::str(std::string(s));
}
auto str_find(Evaluator& e, const Value& self, const Arguments& a) -> Value {
  if (!expect_arguments(e, "find", a, 1, 1)) { return Value::error(); }
  const std::string* part = a.all[0].value.string();
  if (!part) { return wrong(e, a.all[0], "a str"); }
  size_t at = find_text(text_of(self), *part);
  return Value(at == std::string::npos ? int64_t{-1} : static_cast<int64_t>(at));
}
auto str_count(Evaluator& e, const Value& self, const Arguments& a) -> Value {
  if (!expect_arguments(e, "count", a, 1, 1)) { return Value::error(); }
  const std::string* part = a.all[0].value.string();
  if (!part || part->empty()) { return wrong(e, a.all[0], "a str that is not empty"); }
  int64_t n = 0;
  for (size_t at = 0; (at = find_text(text_of(self), *part, at)) != std::string::npos; at += part->size()) { ++n; }
  return Value(n);
}
auto str_format(Evaluator& e, const Value& self, const Arguments& a) -> Value { return format_braces(e, text_of(self), a); }
auto str_isdigit(Evaluator& e, const Value& self, const Arguments& a) -> Value {
  if (!expect_arguments(e, "isdigit", a, 0, 0)) { return Value::error(); }
  const std::string& s = text_of(self);
  return Value(!s.empty() && std::all_of(s.begin(), s.end(), [](unsigned char c) { return std::isdigit(c); }));
}

constexpr Row str_rows[] = {
    {"join", str_join}, {"split", str_split}, {"replace", str_replace}, {"startswith", str_startswith}, {"endswith", str_endswith},
    {"upper", change_case<std::toupper>}, {"lower", change_case<std::tolower>}, {"strip", strip<true, true>}, {"lstrip", strip<true, false>},
    {"rstrip", strip<false, true>}, {"find", str_find}, {"count", str_count}, {"format", str_format}, {"isdigit", str_isdigit},
};

// ---- list --------------------------------------------------------------------------------------------------------

auto items_of(const Value& self) -> std::vector<Value>& { return self.as<List>()->items; }

auto list_append(Evaluator& e, const Value& self, const Arguments& a) -> Value {
  if (!expect_arguments(e, "append", a, 1, 1)) { return Value::error(); }
  if (items_of(self).size() >= e.limits.list_items) { return e.report(error(Code::TooMuchWork, a.call).arg("what", more_than(e.limits.list_items, "a list", "items"))); }
  items_of(self).push_back(a.all[0].value);
  return {};
}
auto list_extend(Evaluator& e, const Value& self, const Arguments& a) -> Value {
  if (!expect_arguments(e, "extend", a, 1, 1)) { return Value::error(); }
  auto more = e.iterate(a.all[0]);
  if (!more) { return Value::error(); }
  if (items_of(self).size() + more->size() > e.limits.list_items) { return e.report(error(Code::TooMuchWork, a.call).arg("what", more_than(e.limits.list_items, "a list", "items"))); }
  items_of(self).insert(items_of(self).end(), more->begin(), more->end());
  return {};
}
auto list_place(Evaluator& e, const Value& self, const Argument& a) -> std::optional<size_t> {
  auto size = static_cast<int64_t>(items_of(self).size());
  auto i = a.value.to_int();
  if (!i) { wrong(e, a, "an int"); return {}; }
  if (*i < -size || *i >= size) {
    e.report(error(Code::IndexOutOfRange, a.where).arg("index", *i).arg("what", "a list").arg("size", size));
    return {};
  }
  return static_cast<size_t>(*i < 0 ? *i + size : *i);
}
auto list_pop(Evaluator& e, const Value& self, const Arguments& a) -> Value {
  if (!expect_arguments(e, "pop", a, 0, 1)) { return Value::error(); }
  auto& items = items_of(self);
  auto at = list_place(e, self, a.all.empty() ? Argument{Value(-1), a.call, {}} : a.all[0]);
  if (!at) { return Value::error(); }
  if (!e.charge(items.size() - *at, 0, a.call)) { return Value::error(); }
  Value out = items[*at];
  items.erase(items.begin() + static_cast<std::ptrdiff_t>(*at));
  return out;
}
auto list_insert(Evaluator& e, const Value& self, const Arguments& a) -> Value {
  if (!expect_arguments(e, "insert", a, 2, 2)) { return Value::error(); }
  auto& items = items_of(self);
  auto i = a.all[0].value.to_int();
  if (!i) { return wrong(e, a.all[0], "an int"); }
  auto size = static_cast<int64_t>(items.size());
  int64_t at = std::clamp<int64_t>(*i < 0 ? *i + size : *i, 0, size);
  if (items.size() >= e.limits.list_items) { return e.report(error(Code::TooMuchWork, a.call).arg("what", more_than(e.limits.list_items, "a list", "items"))); }
  if (!e.charge(static_cast<size_t>(size - at), sizeof(Value), a.call)) { return Value::error(); }
  items.insert(items.begin() + at, a.all[1].value);
  return {};
}
auto list_index(Evaluator& e, const Value& self, const Arguments& a) -> Value {
  if (!expect_arguments(e, "index", a, 1, 1)) { return Value::error(); }
  const auto& items = items_of(self);
  if (!e.charge(items.size(), 0, a.call)) { return Value::error(); }
  for (size_t i = 0; i < items.size(); ++i) {
    if (items[i].equals(a.all[0].value)) { return Value(static_cast<int64_t>(i)); }
  }
  return e.report(error(Code::KeyNotFound, a.all[0].where).arg("container", "list").arg("kind", "item").arg("key", a.all[0].value.repr())
                      .remedy("test with `in` first"));
}
auto list_remove(Evaluator& e, const Value& self, const Arguments& a) -> Value {
  Value at = list_index(e, self, a);
  if (at.is_unknown()) { return at; }
  items_of(self).erase(items_of(self).begin() + at.int_value());
  return {};
}
auto list_count(Evaluator& e, const Value& self, const Arguments& a) -> Value {
  if (!expect_arguments(e, "count", a, 1, 1) || !e.charge(items_of(self).size(), 0, a.call)) { return Value::error(); }
  return Value(static_cast<int64_t>(std::count_if(items_of(self).begin(), items_of(self).end(), [&](const Value& v) { return v.equals(a.all[0].value); })));
}
auto list_reverse(Evaluator& e, const Value& self, const Arguments& a) -> Value {
  if (!expect_arguments(e, "reverse", a, 0, 0) || !e.charge(items_of(self).size(), 0, a.call)) { return Value::error(); }
  std::reverse(items_of(self).begin(), items_of(self).end());
  return {};
}
auto list_clear(Evaluator& e, const Value& self, const Arguments& a) -> Value {
  if (!expect_arguments(e, "clear", a, 0, 0)) { return Value::error(); }
  items_of(self).clear();
  return {};
}
auto list_copy(Evaluator& e, const Value& self, const Arguments& a) -> Value {
  if (!expect_arguments(e, "copy", a, 0, 0) || !e.charge(items_of(self).size(), items_of(self).size() * sizeof(Value), a.call)) { return Value::error(); }
  return Value::list(items_of(self));
}
auto list_sort(Evaluator& e, const Value& self, const Arguments& a) -> Value {
  static const Name sorted("sorted");
  Arguments with_self = a;
  with_self.all.insert(with_self.all.begin(), Argument{self, a.callee, {}});
  ++with_self.positional;
  Value out = e.call(Argument{*builtin(sorted), a.callee, {}}, with_self);
  if (out.is_unknown()) { return out; }
  items_of(self) = out.as<List>()->items;
  return {};
}

constexpr Row list_rows[] = {
    {"append", list_append}, {"extend", list_extend}, {"pop", list_pop}, {"insert", list_insert}, {"index", list_index},
    {"remove", list_remove}, {"count", list_count}, {"reverse", list_reverse}, {"clear", list_clear}, {"copy", list_copy}, {"sort", list_sort},
};

// ---- dict --------------------------------------------------------------------------------------------------------

auto dict_of(const Value& self) -> const Dict& { return *self.as<Dict>(); }

// Counts a list of the entries against the limits.
auto may_list(Evaluator& e, const Value& self, const Arguments& a) -> bool {
  constexpr size_t bytes_of_pair = 7 * sizeof(Value);
  size_t size = dict_of(self).entries().size();
  return e.charge(size, size * bytes_of_pair, a.call);
}

auto dict_get(Evaluator& e, const Value& self, const Arguments& a) -> Value {
  if (!expect_arguments(e, "get", a, 1, 2)) { return Value::error(); }
  if (const Value* found = dict_of(self).find(a.all[0].value)) { return *found; }
  return a.all.size() > 1 ? a.all[1].value : Value();
}
auto dict_keys(Evaluator& e, const Value& self, const Arguments& a) -> Value {
  if (!expect_arguments(e, "keys", a, 0, 0) || !may_list(e, self, a)) { return Value::error(); }
  return Value::list(*dict_of(self).iterate(e, a.call));
}
auto dict_values(Evaluator& e, const Value& self, const Arguments& a) -> Value {
  if (!expect_arguments(e, "values", a, 0, 0) || !may_list(e, self, a)) { return Value::error(); }
  std::vector<Value> out;
  for (const auto& [k, v] : dict_of(self).entries()) { out.push_back(v); }
  return Value::list(std::move(out));
}
auto dict_items(Evaluator& e, const Value& self, const Arguments& a) -> Value {
  if (!expect_arguments(e, "items", a, 0, 0) || !may_list(e, self, a)) { return Value::error(); }
  std::vector<Value> out;
  for (const auto& [k, v] : dict_of(self).entries()) { out.push_back(Value::tuple({k, v})); }
  return Value::list(std::move(out));
}
auto dict_update(Evaluator& e, const Value& self, const Arguments& a) -> Value {
  for (size_t i = 0; i < a.positional; ++i) {
    const auto* other = a.all[i].value.as<Dict>();
    if (!other) { return wrong(e, a.all[i], "a dict"); }
    for (const auto& [k, v] : other->entries()) { dict_of(self).set(k, v); }
  }
  for (size_t i = a.positional; i < a.all.size(); ++i) { dict_of(self).set(Value::str(a.all[i].keyword.str()), a.all[i].value); }
  return {};
}
auto dict_pop(Evaluator& e, const Value& self, const Arguments& a) -> Value {
  if (!expect_arguments(e, "pop", a, 1, 2)) { return Value::error(); }
  const Value* found = dict_of(self).find(a.all[0].value);
  if (!found) {
    if (a.all.size() > 1) { return a.all[1].value; }
    return e.report(error(Code::KeyNotFound, a.all[0].where).arg("container", "dict").arg("kind", "key").arg("key", a.all[0].value.repr())
                        .remedy("give a default: `pop(key, default)`"));
  }
  // The entries behind it move up.
  if (!e.charge(dict_of(self).entries().size(), 0, a.call)) { return Value::error(); }
  Value out = *found;
  dict_of(self).erase(a.all[0].value);
  return out;
}
auto dict_setdefault(Evaluator& e, const Value& self, const Arguments& a) -> Value {
  if (!expect_arguments(e, "setdefault", a, 1, 2)) { return Value::error(); }
  if (const Value* found = dict_of(self).find(a.all[0].value)) { return *found; }
  Value value = a.all.size() > 1 ? a.all[1].value : Value();
  dict_of(self).set(a.all[0].value, value);
  return value;
}
auto dict_copy(Evaluator& e, const Value& self, const Arguments& a) -> Value {
  if (!expect_arguments(e, "copy", a, 0, 0) || !may_list(e, self, a)) { return Value::error(); }
  Ref<Dict> out = make_object<Dict>();
  for (const auto& [k, v] : dict_of(self).entries()) { out->set(k, v); }
  return out;
}

constexpr Row dict_rows[] = {
    {"get", dict_get}, {"keys", dict_keys}, {"values", dict_values}, {"items", dict_items}, {"update", dict_update},
    {"pop", dict_pop}, {"setdefault", dict_setdefault}, {"copy", dict_copy},
};

template <size_t N>
auto method(const Object* self, const Row (&rows)[N], Name name) -> std::optional<Value> {
  const Row* row = find_row(rows, name);
  if (!row) { return {}; }
  return make_object<Method>(Value(self), name, row->run);
}
template <size_t N>
void row_names(const Row (&rows)[N], std::vector<Name>& out) {
  for (const Row& row : rows) { out.emplace_back(row.name); }
}

}  // namespace

auto Str::get_attribute(Evaluator&, Name name, Origin) const -> std::optional<Value> { return method(this, str_rows, name); }
void Str::attribute_names(std::vector<Name>& out) const { row_names(str_rows, out); }
auto List::get_attribute(Evaluator&, Name name, Origin) const -> std::optional<Value> { return method(this, list_rows, name); }
void List::attribute_names(std::vector<Name>& out) const { row_names(list_rows, out); }
auto Dict::get_attribute(Evaluator&, Name name, Origin) const -> std::optional<Value> { return method(this, dict_rows, name); }
void Dict::attribute_names(std::vector<Name>& out) const { row_names(dict_rows, out); }

}  // namespace loopsmith::eval
