// The builtins of the script language, with a table at the end: see evaluator.h. Each returns a value or reports an error.
#include <algorithm>
#include <cmath>
#include <limits>

#include "eval/evaluator.h"
#include "eval/limit_text.h"
#include "eval/sets.h"
#include "support/codes.h"

namespace loopsmith::eval {
namespace {

// The memory of a small tuple besides its items.
constexpr size_t bytes_of_tuple = 80;

auto wrong(Evaluator& evaluator, const Argument& a, std::string_view expected) -> Value {
  if (a.value.is_unknown()) { return a.value; }
  return evaluator.report(error(Code::WrongType, a.where).arg("expected", expected).arg("found", describe(a.value)));
}

auto len(Evaluator& e, const Arguments& a) -> Value {
  if (!expect_arguments(e, "len", a, 1, 1)) { return Value::error(); }
  if (const Object* o = a.all[0].value.object()) {
    if (auto n = o->length()) { return Value(*n); }
  }
  return wrong(e, a.all[0], "something with a length");
}

auto range(Evaluator& e, const Arguments& a) -> Value {
  if (!expect_arguments(e, "range", a, 1, 3)) { return Value::error(); }
  int64_t parts[3] = {0, 0, 1};
  for (size_t i = 0; i < a.all.size(); ++i) {
    auto v = a.all[i].value.to_int();
    if (!v) { return wrong(e, a.all[i], "an int"); }
    parts[a.all.size() == 1 ? 1 : i] = *v;
  }
  if (parts[2] == 0) { return e.report(error(Code::ZeroStep, a.all[2].where).arg("sequence", "a range").remedy("leave the step out, or write another number")); }
  return make_object<RangeObject>(parts[0], parts[1], parts[2]);
}

// The items of a single iterable argument, or the arguments themselves.
auto operands(Evaluator& e, std::string_view name, const Arguments& a, std::vector<Argument>& out) -> bool {
  if (a.positional == 0) { return expect_arguments(e, name, {a.all, a.positional, a.call, a.callee, a.parentheses}, 1, 1); }
  if (a.positional == 1) {
    auto items = e.iterate(a.all[0]);
    if (!items) { return false; }
    for (Value& v : *items) { out.push_back({std::move(v), a.all[0].where, {}}); }
  } else {
    out.assign(a.all.begin(), a.all.begin() + static_cast<std::ptrdiff_t>(a.positional));
  }
  return true;
}

auto extreme(Evaluator& e, const Arguments& a, bool largest) -> Value {
  const char* name = largest ? "max" : "min";
  std::vector<Argument> items;
  if (!operands(e, name, a, items)) { return Value::error(); }
  static const Name key_name("key");
  static const Name default_name("default");
  const Argument* key = a.keyword(key_name);
  if (items.empty()) {
    if (const Argument* otherwise = a.keyword(default_name)) { return otherwise->value; }
    return e.report(error(Code::EmptySequence, a.call).arg("function", name).remedy("give a value for this case: `default=0`"));
  }
  Argument best;
  Argument best_key;
  for (size_t i = 0; i < items.size(); ++i) {
    Argument k = items[i];
    if (key) { k.value = e.call(key->value, {items[i].value}, key->where); }
    if (k.value.is_unknown()) { return k.value; }
    if (i > 0) {
      Value better = e.compare(largest ? syntax::CompareOp::Gt : syntax::CompareOp::Lt, k, best_key, a.call);
      if (better.is_unknown()) { return better; }
      auto t = e.truth({better, a.call, {}});
      if (!t) { return Value::error(); }
      if (!*t) { continue; }
    }
    best = items[i];
    best_key = std::move(k);
  }
  return best.value;
}
auto min_of(Evaluator& e, const Arguments& a) -> Value { return extreme(e, a, false); }
auto max_of(Evaluator& e, const Arguments& a) -> Value { return extreme(e, a, true); }

auto sum(Evaluator& e, const Arguments& a) -> Value {
  BoundArguments b;
  if (!bind_arguments(e, "sum", a, {{"iterable"}, {"start", false}}, b)) { return Value::error(); }
  auto items = e.iterate(b.values[0]);
  if (!items) { return Value::error(); }
  Argument total{b.given[1] ? b.values[1].value : Value(0), a.call, {}};
  for (Value& v : *items) {
    total.value = e.binary(syntax::BinaryOp::Add, total, {std::move(v), b.values[0].where, {}}, a.call);
    if (total.value.is_unknown()) { break; }
  }
  return total.value;
}

auto abs_of(Evaluator& e, const Arguments& a) -> Value {
  if (!expect_arguments(e, "abs", a, 1, 1)) { return Value::error(); }
  const Value& v = a.all[0].value;
  if (auto i = v.to_int()) {
    if (*i == std::numeric_limits<int64_t>::min()) { return e.report(error(Code::IntegerOverflow, a.call).arg("what", "the result of `abs`")); }
    return Value(*i < 0 ? -*i : *i);
  }
  if (v.is_float()) { return Value(std::abs(v.float_value())); }
  return wrong(e, a.all[0], "a number");
}

auto sorted(Evaluator& e, const Arguments& a) -> Value {
  BoundArguments b;
  if (!bind_arguments(e, "sorted", a, {{"iterable"}, {"key", false, true}, {"reverse", false, true}}, b)) { return Value::error(); }
  auto items = e.iterate(b.values[0]);
  if (!items) { return Value::error(); }
  bool reverse = b.given[2] && e.truth(b.values[2]).value_or(false);
  std::vector<std::pair<Value, Value>> keyed;
  for (Value& v : *items) {
    Value k = b.given[1] && !b.values[1].value.is_none() ? e.call(b.values[1].value, {v}, b.values[1].where) : v;
    if (k.is_unknown()) { return k; }
    keyed.emplace_back(std::move(k), std::move(v));
  }
  // A sort of n items makes about n log2(n) comparisons.
  size_t rounds = 1;
  for (size_t n = keyed.size(); n > 1; n /= 2) { ++rounds; }
  if (!e.charge(keyed.size() * rounds, keyed.size() * 4 * sizeof(Value), a.call)) { return Value::error(); }
  Value failed;
  // A merge sort written here, because a failing comparison must not end std::stable_sort half way.
  auto less = [&](const Value& x, const Value& y) {
    if (failed.is_unknown()) { return false; }
    Value r = e.compare(syntax::CompareOp::Lt, {x, b.values[0].where, {}}, {y, b.values[0].where, {}}, a.call);
    if (r.is_unknown()) { failed = r; return false; }
    return r.is_bool() && r.bool_value();
  };
  std::vector<std::pair<Value, Value>> other(keyed.size());
  for (size_t width = 1; width < keyed.size(); width *= 2) {
    for (size_t start = 0; start < keyed.size(); start += 2 * width) {
      size_t mid = std::min(start + width, keyed.size());
      size_t end = std::min(start + 2 * width, keyed.size());
      size_t i = start;
      size_t j = mid;
      for (size_t k = start; k < end; ++k) {
        bool take_right = i >= mid || (j < end && (reverse ? less(keyed[i].first, keyed[j].first) : less(keyed[j].first, keyed[i].first)));
        other[k] = keyed[take_right ? j++ : i++];
      }
    }
    keyed.swap(other);
  }
  if (failed.is_unknown()) { return failed; }
  std::vector<Value> out;
  for (auto& k : keyed) { out.push_back(std::move(k.second)); }
  return Value::list(std::move(out));
}

auto reversed(Evaluator& e, const Arguments& a) -> Value {
  if (!expect_arguments(e, "reversed", a, 1, 1)) { return Value::error(); }
  auto items = e.iterate(a.all[0]);
  if (!items) { return Value::error(); }
  std::reverse(items->begin(), items->end());
  return Value::list(std::move(*items));
}

auto zip(Evaluator& e, const Arguments& a) -> Value {
  std::vector<std::vector<Value>> columns;
  for (size_t i = 0; i < a.positional; ++i) {
    auto items = e.iterate(a.all[i]);
    if (!items) { return Value::error(); }
    columns.push_back(std::move(*items));
  }
  size_t rows = SIZE_MAX;
  for (const auto& column : columns) { rows = std::min(rows, column.size()); }
  if (!columns.empty() && !e.charge(rows, rows * (bytes_of_tuple + columns.size() * sizeof(Value)), a.call)) { return Value::error(); }
  std::vector<Value> out;
  for (size_t row = 0; !columns.empty(); ++row) {
    std::vector<Value> items;
    for (auto& column : columns) {
      if (row >= column.size()) { return Value::list(std::move(out)); }
      items.push_back(column[row]);
    }
    out.push_back(Value::tuple(std::move(items)));
  }
  return Value::list(std::move(out));
}

auto enumerate(Evaluator& e, const Arguments& a) -> Value {
  BoundArguments b;
  if (!bind_arguments(e, "enumerate", a, {{"iterable"}, {"start", false}}, b)) { return Value::error(); }
  auto items = e.iterate(b.values[0]);
  if (!items) { return Value::error(); }
  if (!e.charge(items->size(), items->size() * (bytes_of_tuple + 2 * sizeof(Value)), a.call)) { return Value::error(); }
  int64_t i = b.given[1] ? b.values[1].value.to_int().value_or(0) : 0;
  std::vector<Value> out;
  for (Value& v : *items) { out.push_back(Value::tuple({Value(i++), std::move(v)})); }
  return Value::list(std::move(out));
}

auto map_of(Evaluator& e, const Arguments& a) -> Value {
  if (!expect_arguments(e, "map", a, 2, 100)) { return Value::error(); }
  std::vector<std::vector<Value>> columns;
  for (size_t i = 1; i < a.positional; ++i) {
    auto items = e.iterate(a.all[i]);
    if (!items) { return Value::error(); }
    columns.push_back(std::move(*items));
  }
  std::vector<Value> out;
  for (size_t row = 0; ; ++row) {
    std::vector<Value> args;
    for (auto& column : columns) {
      if (row >= column.size()) { return Value::list(std::move(out)); }
      args.push_back(column[row]);
    }
    Value v = e.call(a.all[0].value, std::move(args), a.all[0].where);
    if (v.is_unknown()) { return v; }
    out.push_back(std::move(v));
  }
}

auto filter(Evaluator& e, const Arguments& a) -> Value {
  if (!expect_arguments(e, "filter", a, 2, 2)) { return Value::error(); }
  auto items = e.iterate(a.all[1]);
  if (!items) { return Value::error(); }
  std::vector<Value> out;
  for (Value& v : *items) {
    Value keep = a.all[0].value.is_none() ? v : e.call(a.all[0].value, {v}, a.all[0].where);
    if (keep.is_unknown()) { return keep; }
    auto t = e.truth({keep, a.all[0].where, {}});
    if (!t) { return Value::error(); }
    if (*t) { out.push_back(std::move(v)); }
  }
  return Value::list(std::move(out));
}

auto any_all(Evaluator& e, const Arguments& a, std::string_view name, bool wanted) -> Value {
  if (!expect_arguments(e, name, a, 1, 1)) { return Value::error(); }
  auto items = e.iterate(a.all[0]);
  if (!items) { return Value::error(); }
  for (Value& v : *items) {
    auto t = e.truth({std::move(v), a.all[0].where, {}});
    if (!t) { return Value::error(); }
    if (*t == wanted) { return Value(wanted); }
  }
  return Value(!wanted);
}
auto any(Evaluator& e, const Arguments& a) -> Value { return any_all(e, a, "any", true); }
auto all(Evaluator& e, const Arguments& a) -> Value { return any_all(e, a, "all", false); }

auto to_int(Evaluator& e, const Arguments& a) -> Value {
  if (!expect_arguments(e, "int", a, 0, 2)) { return Value::error(); }
  if (a.all.empty()) { return Value(0); }
  const Value& v = a.all[0].value;
  if (auto i = v.to_int()) { return Value(*i); }
  if (v.is_float()) {
    if (!(std::abs(v.float_value()) < 9.2e18)) { return e.report(error(Code::IntegerOverflow, a.call).arg("what", v.repr())); }
    return Value(static_cast<int64_t>(v.float_value()));
  }
  if (const std::string* s = v.string()) {
    int base = a.all.size() > 1 ? static_cast<int>(a.all[1].value.to_int().value_or(10)) : 10;
    std::string text = *s;
    text.erase(std::remove(text.begin(), text.end(), '_'), text.end());
    size_t skip = base == 16 && text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X') ? 2 : 0;
    char* end = nullptr;
    errno = 0;
    long long value = std::strtoll(text.c_str() + skip, &end, base >= 2 && base <= 36 ? base : 10);
    if (text.empty() || *end != 0 || errno != 0) { return e.report(error(Code::NotANumber, a.all[0].where).arg("text", v.repr()).arg("type", "int").arg("number", "an integer")); }
    return Value(static_cast<int64_t>(value));
  }
  return wrong(e, a.all[0], "a number or a str");
}
auto to_float(Evaluator& e, const Arguments& a) -> Value {
  if (!expect_arguments(e, "float", a, 0, 1)) { return Value::error(); }
  if (a.all.empty()) { return Value(0.0); }
  if (auto f = a.all[0].value.to_float()) { return Value(*f); }
  if (const std::string* s = a.all[0].value.string()) {
    char* end = nullptr;
    double value = std::strtod(s->c_str(), &end);
    if (s->empty() || *end != 0) { return e.report(error(Code::NotANumber, a.all[0].where).arg("text", a.all[0].value.repr()).arg("type", "float").arg("number", "a decimal number")); }
    return Value(value);
  }
  return wrong(e, a.all[0], "a number or a str");
}
// The text that an operation made, if it is not too long.
auto made_text(Evaluator& e, std::string text, Origin where) -> Value {
  if (text.size() > e.limits.text_bytes) { return e.report(error(Code::TooMuchWork, where).arg("what", more_than(e.limits.text_bytes, "a text", "bytes"))); }
  if (!e.charge(text.size() / sizeof(Value), text.size(), where)) { return Value::error(); }
  return Value::str(std::move(text));
}
auto to_str(Evaluator& e, const Arguments& a) -> Value {
  if (!expect_arguments(e, "str", a, 0, 1)) { return Value::error(); }
  return made_text(e, a.all.empty() ? "" : a.all[0].value.to_str(), a.call);
}
auto repr(Evaluator& e, const Arguments& a) -> Value {
  if (!expect_arguments(e, "repr", a, 1, 1)) { return Value::error(); }
  return made_text(e, a.all[0].value.repr(), a.call);
}
auto to_bool(Evaluator& e, const Arguments& a) -> Value {
  if (!expect_arguments(e, "bool", a, 0, 1)) { return Value::error(); }
  if (a.all.empty()) { return Value(false); }
  auto t = e.truth(a.all[0]);
  return t ? Value(*t) : Value::error();
}
auto to_list(Evaluator& e, const Arguments& a) -> Value {
  if (!expect_arguments(e, "list", a, 0, 1)) { return Value::error(); }
  if (a.all.empty()) { return Value::list({}); }
  auto items = e.iterate(a.all[0]);
  return items ? Value::list(std::move(*items)) : Value::error();
}
auto to_tuple(Evaluator& e, const Arguments& a) -> Value {
  if (!expect_arguments(e, "tuple", a, 0, 1)) { return Value::error(); }
  if (a.all.empty()) { return Value::tuple({}); }
  auto items = e.iterate(a.all[0]);
  return items ? Value::tuple(std::move(*items)) : Value::error();
}
auto to_dict(Evaluator& e, const Arguments& a) -> Value {
  Ref<Dict> out = make_object<Dict>();
  if (a.positional > 1) { (void)expect_arguments(e, "dict", a, 0, 1); return Value::error(); }
  if (a.positional == 1) {
    if (const auto* other = a.all[0].value.as<Dict>()) {
      for (const auto& [k, v] : other->entries()) { out->set(k, v); }
    } else {
      auto items = e.iterate(a.all[0]);
      if (!items) { return Value::error(); }
      for (const Value& item : *items) {
        const auto* pair = item.items();
        if (!pair || pair->size() != 2) { return wrong(e, {item, a.all[0].where, {}}, "a pair"); }
        out->set((*pair)[0], (*pair)[1]);
      }
    }
  }
  for (size_t i = a.positional; i < a.all.size(); ++i) { out->set(Value::str(a.all[i].keyword.str()), a.all[i].value); }
  return out;
}

auto print(Evaluator& e, const Arguments& a) -> Value {
  static const Name sep_name("sep");
  static const Name end_name("end");
  std::string sep = " ";
  std::string end = "\n";
  for (size_t i = a.positional; i < a.all.size(); ++i) {
    const std::string* text = a.all[i].value.string();
    if (a.all[i].keyword == sep_name && text) { sep = *text; }
    else if (a.all[i].keyword == end_name && text) { end = *text; }
  }
  std::string out;
  for (size_t i = 0; i < a.positional; ++i) {
    out += (i ? sep : "") + a.all[i].value.to_str();
    if (out.size() > e.limits.text_bytes) { return e.report(error(Code::TooMuchWork, a.call).arg("what", more_than(e.limits.text_bytes, "a text", "bytes"))); }
  }
  if (!e.charge(out.size() / sizeof(Value), out.size(), a.call)) { return Value::error(); }
  if (e.output) { e.output(out + end); }
  return {};
}

auto round_of(Evaluator& e, const Arguments& a) -> Value {
  if (!expect_arguments(e, "round", a, 1, 2)) { return Value::error(); }
  auto f = a.all[0].value.to_float();
  if (!f) { return wrong(e, a.all[0], "a number"); }
  if (a.all.size() == 1) {
    if (a.all[0].value.to_int()) { return a.all[0].value; }
    if (!(std::abs(*f) < 9.2e18)) { return e.report(error(Code::IntegerOverflow, a.call).arg("what", "the result of `round`")); }
    return Value(static_cast<int64_t>(std::nearbyint(*f)));
  }
  double scale = std::pow(10.0, static_cast<double>(a.all[1].value.to_int().value_or(0)));
  return Value(std::nearbyint(*f * scale) / scale);
}
auto pow_of(Evaluator& e, const Arguments& a) -> Value {
  if (!expect_arguments(e, "pow", a, 2, 2)) { return Value::error(); }
  return e.binary(syntax::BinaryOp::Pow, a.all[0], a.all[1], a.call);
}
auto divmod(Evaluator& e, const Arguments& a) -> Value {
  if (!expect_arguments(e, "divmod", a, 2, 2)) { return Value::error(); }
  Value q = e.binary(syntax::BinaryOp::FloorDiv, a.all[0], a.all[1], a.call);
  if (q.is_unknown()) { return q; }
  Value r = e.binary(syntax::BinaryOp::Mod, a.all[0], a.all[1], a.call);
  if (r.is_unknown()) { return r; }
  return Value::tuple({std::move(q), std::move(r)});
}

// Types are the builtins that make them, as in `isinstance(x, int)`, and objects with a `__name__`; `__class__` of an object has the names of its
// classes. Constants of programs are plain numbers here, so an int is an `IntImm` too.
auto is_of(Evaluator& e, const Value& v, const Value& type, Origin where) -> bool {
  static const Name name_name("__name__"), class_name("__class__");
  std::string n;
  if (const auto* b = type.as<Builtin>()) { n = b->name.str(); }
  else if (auto own = type.object() ? type.object()->get_attribute(e, name_name, where) : std::nullopt; own && own->string()) { n = *own->string(); }
  if (n.empty()) { return false; }
  if (n == "int") { return v.to_int().has_value(); }
  if (v.type_name() == n) { return true; }
  bool is_expr = n == "PrimExpr" || n == "Expr";
  if (v.is_int() && (n == "IntImm" || is_expr)) { return true; }
  if (v.is_float() && (n == "FloatImm" || is_expr)) { return true; }
  auto own = v.object() ? v.object()->get_attribute(e, class_name, where) : std::nullopt;
  const auto* classes = own ? own->items() : nullptr;
  return classes && std::any_of(classes->begin(), classes->end(), [&](const Value& c) { return c.string() && *c.string() == n; });
}
auto isinstance(Evaluator& e, const Arguments& a) -> Value {
  if (!expect_arguments(e, "isinstance", a, 2, 2)) { return Value::error(); }
  if (const auto* types = a.all[1].value.items()) {
    return Value(std::any_of(types->begin(), types->end(), [&](const Value& t) { return is_of(e, a.all[0].value, t, a.call); }));
  }
  return Value(is_of(e, a.all[0].value, a.all[1].value, a.call));
}
auto type_of(Evaluator& e, const Arguments& a) -> Value {
  if (!expect_arguments(e, "type", a, 1, 1)) { return Value::error(); }
  if (const Value* b = builtin(Name(a.all[0].value.type_name()))) { return *b; }
  return Value::str(std::string(a.all[0].value.type_name()));
}
auto chr(Evaluator& e, const Arguments& a) -> Value {
  if (!expect_arguments(e, "chr", a, 1, 1)) { return Value::error(); }
  int64_t c = a.all[0].value.to_int().value_or(-1);
  if (c < 0 || c > 127) { return wrong(e, a.all[0], "an int from 0 to 127"); }
  return Value::str(std::string(1, static_cast<char>(c)));
}
auto ord(Evaluator& e, const Arguments& a) -> Value {
  if (!expect_arguments(e, "ord", a, 1, 1)) { return Value::error(); }
  const std::string* s = a.all[0].value.string();
  if (!s || s->size() != 1) { return wrong(e, a.all[0], "a str of one character"); }
  return Value(static_cast<int64_t>(static_cast<unsigned char>((*s)[0])));
}
auto hasattr(Evaluator& e, const Arguments& a) -> Value {
  if (!expect_arguments(e, "hasattr", a, 2, 2)) { return Value::error(); }
  const std::string* name = a.all[1].value.string();
  if (!name) { return wrong(e, a.all[1], "a str"); }
  const Object* o = a.all[0].value.object();
  return Value(o && o->get_attribute(e, Name(*name), a.call).has_value());
}
auto getattr(Evaluator& e, const Arguments& a) -> Value {
  if (!expect_arguments(e, "getattr", a, 2, 3)) { return Value::error(); }
  const std::string* name = a.all[1].value.string();
  if (!name) { return wrong(e, a.all[1], "a str"); }
  if (a.all.size() == 3) {
    const Object* o = a.all[0].value.object();
    auto found = o ? o->get_attribute(e, Name(*name), a.call) : std::nullopt;
    return found ? *found : a.all[2].value;
  }
  return e.attribute(a.all[0], Name(*name), a.all[1].where);
}

struct Row { const char* name; Builtin::Run run; };
constexpr Row rows[] = {
    {"abs", abs_of}, {"all", all}, {"any", any}, {"bool", to_bool}, {"chr", chr}, {"dict", to_dict}, {"divmod", divmod},
    {"enumerate", enumerate}, {"filter", filter}, {"float", to_float}, {"getattr", getattr}, {"hasattr", hasattr}, {"int", to_int},
    {"isinstance", isinstance}, {"len", len}, {"list", to_list}, {"map", map_of}, {"max", max_of}, {"min", min_of}, {"ord", ord},
    {"pow", pow_of}, {"print", print}, {"range", range}, {"repr", repr}, {"reversed", reversed}, {"round", round_of},
    {"set", make_set}, {"sorted", sorted}, {"str", to_str}, {"sum", sum}, {"tuple", to_tuple}, {"type", type_of}, {"zip", zip},
};

// One table per thread, since reference counts are not atomic.
auto table() -> const std::unordered_map<Name, Value>& {
  static thread_local const std::unordered_map<Name, Value> the_table = [] {
    std::unordered_map<Name, Value> out;
    for (const Row& row : rows) { out.emplace(Name(row.name), make_object<Builtin>(Name(row.name), row.run)); }
    // Other builtins of Python have no meaning here, but using their names is no error.
    for (const char* name : {"frozenset", "object", "super", "iter", "next", "open", "input", "id", "hash", "bytes", "bytearray", "complex",
                             "callable", "classmethod", "staticmethod", "property", "slice", "format", "vars", "dir", "globals", "locals",
                             "Exception", "ValueError", "TypeError", "RuntimeError", "AssertionError", "NotImplementedError", "KeyError",
                             "IndexError", "AttributeError", "LookupError", "NameError", "ImportError", "OSError", "ArithmeticError", "ZeroDivisionError",
                             "OverflowError", "StopIteration", "Warning", "UserWarning", "DeprecationWarning", "NotImplemented", "__name__", "__file__", "hex", "bin", "oct", "exec", "eval", "setattr", "delattr",
                             "issubclass", "memoryview", "__import__",
                             "aiter", "anext", "ascii", "breakpoint", "compile", "copyright", "credits", "exit", "help", "license", "quit",
                             "Ellipsis", "BaseException", "BaseExceptionGroup", "BlockingIOError", "BrokenPipeError", "BufferError", "BytesWarning", "ChildProcessError",
                             "ConnectionAbortedError", "ConnectionError", "ConnectionRefusedError", "ConnectionResetError", "EOFError", "EncodingWarning",
                             "EnvironmentError", "ExceptionGroup", "FileExistsError", "FileNotFoundError", "FloatingPointError", "FutureWarning", "GeneratorExit",
                             "IOError", "ImportWarning", "IndentationError", "InterruptedError", "IsADirectoryError", "KeyboardInterrupt", "MemoryError",
                             "ModuleNotFoundError", "NotADirectoryError", "PendingDeprecationWarning", "PermissionError", "ProcessLookupError",
                             "PythonFinalizationError", "RecursionError", "ReferenceError", "ResourceWarning", "RuntimeWarning", "StopAsyncIteration",
                             "SyntaxError", "SyntaxWarning", "SystemError", "SystemExit", "TabError", "TimeoutError", "UnboundLocalError",
                             "UnicodeDecodeError", "UnicodeEncodeError", "UnicodeError", "UnicodeTranslateError", "UnicodeWarning", "__build_class__",
                             "__builtins__", "__debug__", "__doc__", "__loader__", "__package__", "__spec__", "__annotations__", "__dict__", "__path__"}) {
      out.emplace(Name(name), Value::opaque());
    }
    return out;
  }();
  return the_table;
}

}  // namespace

auto builtin(Name name) -> const Value* {
  const auto& names = table();
  auto found = names.find(name);
  return found == names.end() ? nullptr : &found->second;
}
void builtin_names(std::vector<Name>& out) {
  for (const Row& row : rows) { out.emplace_back(row.name); }
}

}  // namespace loopsmith::eval
