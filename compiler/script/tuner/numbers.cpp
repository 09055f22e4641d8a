// Arrays of numbers, and the functions of NumPy for them: see numbers.h.
#include "script/tuner/numbers.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "support/codes.h"
#include "support/reasons.h"

namespace loopsmith::script {
namespace {

using eval::Argument;
using eval::Arguments;
using eval::Evaluator;
using eval::Value;

// Longer arrays are refused: the features of a batch are far smaller.
constexpr int64_t most_numbers = 1 << 22;

auto array_value(std::vector<double> numbers, size_t columns = 0) -> Value { return Value(Ref<eval::Object>(eval::make_object<NumberArray>(std::move(numbers), columns).get())); }

auto bad(Evaluator& e, Origin where, std::string_view expected, const Value& found) -> Value {
  return e.report(error(Code::WrongType, where).arg("expected", expected).arg("found", eval::describe(found)));
}

/// An array, a list of numbers, or a list of equally long lists and arrays. Null: the value is none of these.
auto as_array(const Value& value) -> Ref<NumberArray> {
  if (const auto* array = value.as<NumberArray>()) { return Ref<NumberArray>(array); }
  if (auto list = numbers_in(value)) { return eval::make_object<NumberArray>(std::move(*list), size_t{0}); }
  const auto* items = value.items();
  if (!items) { return {}; }
  std::vector<double> numbers;
  size_t columns = 0;
  for (const Value& item : *items) {
    auto row = numbers_in(item);
    if (!row || row->empty() || (columns > 0 && row->size() != columns)) { return {}; }
    columns = row->size();
    numbers.insert(numbers.end(), row->begin(), row->end());
  }
  return eval::make_object<NumberArray>(std::move(numbers), columns);
}

/// The places that an index chooses along an axis of a length.
struct Chosen {
  std::vector<size_t> places;
  bool is_single = false;
};
auto places_of(Evaluator& e, const Argument& index, size_t length) -> std::optional<Chosen> {
  const auto size = static_cast<int64_t>(length);
  Chosen out;
  if (const auto* slice = index.value.as<eval::SliceObject>()) {
    const auto part = [&](const Argument& a, int64_t otherwise) {
      const auto n = a.value.to_int();
      return !n ? otherwise : std::clamp<int64_t>(*n < 0 ? *n + size : *n, 0, size);
    };
    const int64_t step = slice->step.value.to_int().value_or(1);
    if (step < 1) { return (void)bad(e, index.where, "a slice with a positive step", index.value), std::nullopt; }
    for (int64_t i = part(slice->lower, 0); i < part(slice->upper, size); i += step) { out.places.push_back(static_cast<size_t>(i)); }
    return out;
  }
  std::vector<double> several;
  if (auto n = index.value.to_int()) { several = {static_cast<double>(*n)}, out.is_single = true; }
  else if (auto list = numbers_in(index.value)) { several = std::move(*list); }
  else { return (void)bad(e, index.where, "an index, a slice or a list of indices", index.value), std::nullopt; }
  for (double one : several) {
    const auto at = static_cast<int64_t>(one < 0 ? one + static_cast<double>(size) : one);
    if (at < 0 || at >= size) { return (void)bad(e, index.where, fmt::format("an index below {}", size), Value(one)), std::nullopt; }
    out.places.push_back(static_cast<size_t>(at));
  }
  return out;
}

enum class Fold : uint8_t { Sum, Mean, Max, Min };
auto fold(Fold what, const double* begin, size_t count, size_t stride) -> double {
  double out = what == Fold::Max ? -std::numeric_limits<double>::infinity() : what == Fold::Min ? std::numeric_limits<double>::infinity() : 0;
  for (size_t i = 0; i < count; ++i) {
    const double x = begin[i * stride];
    if (what == Fold::Max) { out = std::max(out, x); } else if (what == Fold::Min) { out = std::min(out, x); } else { out += x; }
  }
  return what == Fold::Mean ? out / static_cast<double>(count) : out;
}
/// Folds all numbers if no axis is given, the rows for axis 0, and the columns for axis 1.
auto folded(Evaluator& e, Fold what, const NumberArray& a, const Argument* axis, Origin where) -> Value {
  if (!e.charge(a.numbers.size(), 0, where)) { return Value::error(); }
  const auto along = axis ? axis->value.to_int() : std::nullopt;
  if (axis && !axis->value.is_none() && !along) { return bad(e, axis->where, "0, 1 or None", axis->value); }
  if (a.numbers.empty() && (what == Fold::Max || what == Fold::Min || what == Fold::Mean)) { return e.report(error(Code::BadValue, where).arg("action", "reduce this array").arg("reason", because(Why::EmptyArray).text())); }
  if (!along || !a.is_table()) { return Value(fold(what, a.numbers.data(), a.numbers.size(), 1)); }
  const bool is_down = *along == 0 || *along == -2;
  std::vector<double> out;
  for (size_t i = 0; i < (is_down ? a.columns : a.rows()); ++i) {
    out.push_back(is_down ? fold(what, a.numbers.data() + i, a.rows(), a.columns) : fold(what, a.numbers.data() + i * a.columns, a.columns, 1));
  }
  return array_value(std::move(out));
}

auto applied(syntax::BinaryOp op, double a, double b) -> std::optional<double> {
  switch (op) {
    case syntax::BinaryOp::Add: return a + b;
    case syntax::BinaryOp::Sub: return a - b;
    case syntax::BinaryOp::Mul: return a * b;
    case syntax::BinaryOp::Div: return a / b;
    case syntax::BinaryOp::Pow: return std::pow(a, b);
    default: return std::nullopt;
  }
}

/// True for equal shapes, and for a table and a list as long as its rows.
auto can_combine(const NumberArray& a, const NumberArray& b) -> bool {
  const auto row_length = [](const NumberArray& one) { return one.is_table() ? one.columns : one.rows(); };
  if (a.numbers.empty() || b.numbers.empty()) { return a.numbers.size() == b.numbers.size(); }
  return row_length(a) == row_length(b) && (a.is_table() != b.is_table() || a.rows() == b.rows());
}

/// `a @ b`: of two lists, of a table and a list, and of two tables.
auto product(Evaluator& e, const NumberArray& a, const NumberArray& b, Origin where) -> std::optional<Value> {
  const size_t inner = a.is_table() ? a.columns : a.rows(), rows = a.is_table() ? a.rows() : 1, columns = b.is_table() ? b.columns : 1;
  if (inner != b.rows()) { return std::nullopt; }
  if (!e.charge(rows * columns * inner, rows * columns * sizeof(double), where)) { return Value::error(); }
  std::vector<double> out(rows * columns);
  for (size_t i = 0; i < rows; ++i) {
    for (size_t j = 0; j < columns; ++j) {
      for (size_t k = 0; k < inner; ++k) { out[i * columns + j] += a.numbers[i * inner + k] * b.numbers[k * columns + j]; }
    }
  }
  if (!a.is_table() && !b.is_table()) { return Value(out[0]); }
  return array_value(std::move(out), a.is_table() && b.is_table() ? columns : 0);
}

template <Fold What> auto fold_method(Evaluator& e, const Value& self, const Arguments& given) -> Value {
  const Argument* axis = given.positional > 0 ? &given.all[0] : given.keyword(Name("axis"));
  return folded(e, What, *self.as<NumberArray>(), axis, given.call);
}
auto itself(Evaluator&, const Value& self, const Arguments&) -> Value { return self; }
auto flat(Evaluator&, const Value& self, const Arguments&) -> Value { return array_value(self.as<NumberArray>()->numbers); }
auto to_list(Evaluator& e, const Value& self, const Arguments& given) -> Value {
  const auto& array = *self.as<NumberArray>();
  if (!e.charge(array.numbers.size(), array.numbers.size() * sizeof(Value), given.call)) { return Value::error(); }
  std::vector<Value> out;
  if (!array.is_table()) {
    for (double n : array.numbers) { out.emplace_back(n); }
    return Value::list(std::move(out));
  }
  for (size_t r = 0; r < array.rows(); ++r) {
    std::vector<Value> row(array.numbers.begin() + static_cast<ptrdiff_t>(r * array.columns), array.numbers.begin() + static_cast<ptrdiff_t>((r + 1) * array.columns));
    out.push_back(Value::list(std::move(row)));
  }
  return Value::list(std::move(out));
}

struct MethodRow { const char* name; eval::Method::Run run; };
constexpr MethodRow methods[] = {{"sum", fold_method<Fold::Sum>}, {"mean", fold_method<Fold::Mean>}, {"max", fold_method<Fold::Max>}, {"min", fold_method<Fold::Min>},
                                 {"numpy", itself}, {"asnumpy", itself}, {"astype", itself}, {"copy", itself}, {"flatten", flat}, {"ravel", flat}, {"tolist", to_list}};

}  // namespace

const eval::TypeTag NumberArray::type_tag{"array of numbers"};

auto number_array(std::vector<double> numbers, size_t columns) -> Value { return array_value(std::move(numbers), columns); }

auto numbers_in(const Value& value) -> std::optional<std::vector<double>> {
  if (const auto* array = value.as<NumberArray>()) { return array->is_table() ? std::nullopt : std::optional(array->numbers); }
  const auto* items = value.items();
  if (!items) { return std::nullopt; }
  std::vector<double> out;
  for (const Value& item : *items) {
    const auto number = item.to_float();
    if (!number) { return std::nullopt; }
    out.push_back(*number);
  }
  return out;
}

auto NumberArray::get_attribute(Evaluator& e, Name member, Origin where) const -> std::optional<Value> {
  const std::string_view name = member.view();
  if (name == "shape") {
    std::vector<Value> shape{Value(static_cast<int64_t>(rows()))};
    if (is_table()) { shape.emplace_back(static_cast<int64_t>(columns)); }
    return Value::tuple(std::move(shape));
  }
  if (name == "ndim") { return Value(is_table() ? 2 : 1); }
  if (name == "size") { return Value(static_cast<int64_t>(numbers.size())); }
  if (name == "dtype") { return Value::str("float64"); }
  if (name == "T" && !is_table()) { return Value(Ref<eval::Object>(this)); }
  if (name == "T") {
    std::vector<double> out;
    for (size_t c = 0; c < columns; ++c) { for (size_t r = 0; r < rows(); ++r) { out.push_back(numbers[r * columns + c]); } }
    return array_value(std::move(out), rows());
  }
  for (const MethodRow& row : methods) {
    if (name == row.name) { return Value(Ref<eval::Object>(eval::make_object<eval::Method>(Value(Ref<eval::Object>(this)), member, row.run).get())); }
  }
  // NumPy's arrays have more methods than are known here.
  return e.opaque(where);
}

void NumberArray::attribute_names(std::vector<Name>& out) const {
  for (const char* name : {"shape", "ndim", "size", "dtype", "T"}) { out.emplace_back(name); }
  for (const MethodRow& row : methods) { out.emplace_back(row.name); }
}

auto NumberArray::get_item(Evaluator& e, const std::vector<Argument>& indices, bool, Origin where) const -> std::optional<Value> {
  if (indices.empty() || indices.size() > (is_table() ? 2U : 1U)) {
    return e.report(error(Code::WrongType, where).arg("expected", is_table() ? "one or two indices" : "one index").arg("found", std::to_string(indices.size())));
  }
  const auto row = places_of(e, indices[0], rows());
  if (!row) { return Value::error(); }
  if (!is_table()) {
    if (row->is_single) { return Value(numbers[row->places[0]]); }
    std::vector<double> out;
    for (size_t r : row->places) { out.push_back(numbers[r]); }
    return array_value(std::move(out));
  }
  Chosen column;
  if (indices.size() == 2) {
    auto chosen = places_of(e, indices[1], columns);
    if (!chosen) { return Value::error(); }
    column = std::move(*chosen);
  } else {
    column.places.resize(columns);
    std::iota(column.places.begin(), column.places.end(), size_t{0});
  }
  if (row->is_single && column.is_single) { return Value(numbers[row->places[0] * columns + column.places[0]]); }
  if (!e.charge(row->places.size() * column.places.size(), row->places.size() * column.places.size() * sizeof(double), where)) { return Value::error(); }
  std::vector<double> out;
  for (size_t r : row->places) { for (size_t c : column.places) { out.push_back(numbers[r * columns + c]); } }
  return array_value(std::move(out), row->is_single || column.is_single ? 0 : column.places.size());
}

auto NumberArray::iterate(Evaluator& e, Origin where) const -> std::optional<std::vector<Value>> {
  if (!e.charge(numbers.size(), numbers.size() * sizeof(double), where)) { return std::vector<Value>(); }
  std::vector<Value> out;
  for (size_t r = 0; r < rows(); ++r) {
    if (!is_table()) { out.emplace_back(numbers[r]); }
    else { out.push_back(array_value({numbers.begin() + static_cast<ptrdiff_t>(r * columns), numbers.begin() + static_cast<ptrdiff_t>((r + 1) * columns)})); }
  }
  return out;
}

auto NumberArray::binary(Evaluator& e, syntax::BinaryOp op, const Argument&, const Argument& other, bool reflected, Origin where) const -> std::optional<Value> {
  const Ref<NumberArray> b = as_array(other.value);
  if (op == syntax::BinaryOp::MatMul) { return !b ? std::nullopt : reflected ? product(e, *b, *this, where) : product(e, *this, *b, where); }
  const auto scalar = other.value.to_float();
  if ((!b && !scalar) || !applied(op, 1, 1)) { return std::nullopt; }
  if (b && !can_combine(*this, *b)) { return std::nullopt; }
  // The smaller one is used again for each row of the larger one.
  const NumberArray& large = b && b->numbers.size() > numbers.size() ? *b : *this;
  const auto at = [&](const NumberArray& a, size_t i) { return a.numbers[&a == &large ? i : i % a.numbers.size()]; };
  if (!e.charge(large.numbers.size(), large.numbers.size() * sizeof(double), where)) { return Value::error(); }
  std::vector<double> out(large.numbers.size());
  for (size_t i = 0; i < out.size(); ++i) {
    const double mine = at(*this, i), its = scalar ? *scalar : at(*b, i);
    out[i] = *applied(op, reflected ? its : mine, reflected ? mine : its);
  }
  return array_value(std::move(out), large.columns);
}

auto NumberArray::unary(Evaluator&, syntax::UnaryOp op, Origin) const -> std::optional<Value> {
  if (op != syntax::UnaryOp::Negate) { return op == syntax::UnaryOp::Plus ? std::optional(Value(Ref<eval::Object>(this))) : std::nullopt; }
  std::vector<double> out = numbers;
  for (double& n : out) { n = -n; }
  return array_value(std::move(out), columns);
}

auto NumberArray::repr() const -> std::string {
  std::string out = "array([";
  constexpr size_t most_shown = 8;
  for (size_t i = 0; i < std::min(numbers.size(), most_shown); ++i) { out += (i == 0 ? "" : ", ") + fmt::format("{:g}", numbers[i]); }
  if (numbers.size() > most_shown) { out += ", ..."; }
  return out + (is_table() ? fmt::format("], shape=({}, {}))", rows(), columns) : std::string("])"));
}

namespace {

/// "random.rand" for `np.random.rand`; empty: the expression is not a name of NumPy.
auto numpy_name(const syntax::Expr& callee) -> std::string {
  std::string out;
  const syntax::Expr* at = &callee;
  while (const auto* attribute = at->as<syntax::AttributeExpr>()) {
    out = attribute->attr.name.str() + (out.empty() ? "" : "." + out);
    at = attribute->object;
  }
  const auto* root = at->as<syntax::NameExpr>();
  // An array of TVM's runtime is its contents.
  if (root && root->name.view() == "tvm" && (out == "nd.array" || out == "runtime.tensor")) { return "array"; }
  return root && (root->name.view() == "np" || root->name.view() == "numpy") ? out : std::string();
}

/// The length and width that `np.zeros((2, 3))` and `np.random.rand(2, 3)` ask for.
struct Shape { size_t length = 1, columns = 0; bool is_scalar = false; };
auto shape_of(Evaluator& e, const std::vector<Value>& extents, Origin where) -> std::optional<Shape> {
  Shape out;
  out.is_scalar = extents.empty();
  if (extents.size() > 2) { return (void)bad(e, where, "at most two extents", Value::tuple(extents)), std::nullopt; }
  int64_t total = 1;
  for (const Value& one : extents) {
    const auto n = one.to_int();
    if (!n || *n < 0 || *n > most_numbers || total * *n > most_numbers) { return (void)bad(e, where, fmt::format("extents of at most {} numbers", most_numbers), one), std::nullopt; }
    total *= *n;
  }
  if (!e.charge(static_cast<size_t>(total), static_cast<size_t>(total) * sizeof(double), where)) { return std::nullopt; }
  out.length = static_cast<size_t>(total);
  out.columns = extents.size() == 2 ? static_cast<size_t>(extents[1].int_value()) : 0;
  return out;
}

auto random_share(uint64_t& state) -> double {
  state = state * 6364136223846793005ULL + 1442695040888963407ULL;
  uint64_t mixed = (state ^ (state >> 33)) * 0xff51afd7ed558ccdULL;
  return static_cast<double>((mixed ^ (mixed >> 29)) >> 11) / static_cast<double>(1ULL << 53);
}

/// `np.zeros`, `np.full`, `np.random.rand` and their like.
auto made_array(Evaluator& e, std::string_view name, const Arguments& given, uint64_t& state) -> std::optional<Value> {
  const bool is_random = name == "random.rand" || name == "random.random" || name == "random.uniform" || name == "random.randn" || name == "random.normal" || name == "random.randint";
  if (name != "zeros" && name != "ones" && name != "full" && !is_random) { return std::nullopt; }
  std::vector<Value> extents;
  const bool is_spread = name == "random.rand" || name == "random.randn";
  const bool is_integer = name == "random.randint";
  const Argument* size = given.keyword(Name("size"));
  if (is_integer && !size && given.positional > 2) { size = &given.all[2]; }
  if (is_spread) { for (size_t i = 0; i < given.positional; ++i) { extents.push_back(given.all[i].value); } }
  else if (size || (given.positional > 0 && !is_integer)) {
    const Value& shape = size ? size->value : given.all[name == "random.uniform" || name == "random.normal" ? given.positional - 1 : 0].value;
    extents = shape.items_or_itself();
  }
  const auto shape = shape_of(e, extents, given.call);
  if (!shape) { return Value::error(); }
  double fill = name == "ones" ? 1 : 0;
  if (name == "full") {
    const Argument* value = given.positional > 1 ? &given.all[1] : given.keyword(Name("fill_value"));
    if (!value || !value->value.to_float()) { return bad(e, given.call, "a number to fill the array with", value ? value->value : Value()); }
    fill = *value->value.to_float();
  }
  std::vector<double> out(shape->length, fill);
  if (is_integer) {
    // `randint(low, high, size=...)`; without `high`, from 0 to `low`. The end is not in the range.
    const size_t bounds = std::min<size_t>(2, given.positional);
    const auto first = bounds > 0 ? given.all[0].value.to_int() : std::nullopt, second = bounds > 1 ? given.all[1].value.to_int() : std::nullopt;
    const int64_t low = second ? first.value_or(0) : 0, high = second ? *second : first.value_or(0);
    if (bounds == 0 || high <= low) { return bad(e, given.call, "`randint(low, high, size=...)` with `low` below `high`", given.positional > 0 ? given.all[0].value : Value()); }
    const double span = static_cast<double>(high) - static_cast<double>(low);
    for (double& n : out) { n = static_cast<double>(low) + std::floor(random_share(state) * span); }
    return size ? array_value(std::move(out), shape->columns) : Value(static_cast<int64_t>(out[0]));
  }
  const bool is_normal = name == "random.randn" || name == "random.normal";
  // `uniform(low, high, size)` and `normal(mean, deviation, size)`.
  const bool has_range = (name == "random.uniform" || name == "random.normal") && given.positional >= 2;
  const double first = has_range ? given.all[0].value.to_float().value_or(0) : 0;
  const double second = has_range ? given.all[1].value.to_float().value_or(1) : 1;
  if (is_random) {
    for (double& n : out) {
      n = is_normal ? std::sqrt(-2 * std::log(1 - random_share(state))) * std::cos(6.283185307179586 * random_share(state)) : random_share(state);
      n = is_normal ? first + second * n : first + (second - first) * n;
    }
  }
  return shape->is_scalar ? Value(out[0]) : array_value(std::move(out), shape->columns);
}

using ElementFunction = double (*)(double);
auto element_function(std::string_view name) -> ElementFunction {
  constexpr std::pair<std::string_view, ElementFunction> all[] = {
      {"exp", [](double x) { return std::exp(x); }},   {"log", [](double x) { return std::log(x); }},     {"log2", [](double x) { return std::log2(x); }},
      {"log1p", [](double x) { return std::log1p(x); }}, {"sqrt", [](double x) { return std::sqrt(x); }}, {"abs", [](double x) { return std::abs(x); }},
      {"tanh", [](double x) { return std::tanh(x); }}, {"square", [](double x) { return x * x; }},        {"negative", [](double x) { return -x; }}};
  for (const auto& [known, function] : all) { if (known == name) { return function; } }
  return nullptr;
}

}  // namespace

namespace {

/// `random.randint(a, b)` and its like, of Python's module: both ends belong to the range. None: another call.
auto call_of_random(Evaluator& e, const syntax::Expr& callee, const Arguments& given, uint64_t& state) -> std::optional<Value> {
  const auto* attribute = callee.as<syntax::AttributeExpr>();
  const auto* module = attribute ? attribute->object->as<syntax::NameExpr>() : nullptr;
  if (!module || module->name.view() != "random") { return std::nullopt; }
  const std::string_view name = attribute->attr.name.view();
  if (name == "random" && given.all.empty()) { return Value(random_share(state)); }
  if (name == "seed") {
    state = given.positional > 0 ? static_cast<uint64_t>(given.all[0].value.to_int().value_or(0)) : 0;
    return Value();
  }
  if (name == "randint" && given.positional == 2) {
    const auto low = given.all[0].value.to_int(), high = given.all[1].value.to_int();
    if (!low || !high || *high < *low) { return bad(e, given.call, "two integers, the larger one behind", given.all[1].value); }
    const double span = static_cast<double>(*high) - static_cast<double>(*low) + 1;
    return Value(std::min(*high, *low + static_cast<int64_t>(random_share(state) * span)));
  }
  if (name == "choice" && given.positional == 1 && given.all[0].value.items() && !given.all[0].value.items()->empty()) {
    const std::vector<Value>& items = *given.all[0].value.items();
    return items[std::min(items.size() - 1, static_cast<size_t>(random_share(state) * static_cast<double>(items.size())))];
  }
  return std::nullopt;
}

}  // namespace

auto call_of_numpy(Evaluator& e, const syntax::Expr& callee, const Arguments& given, uint64_t& random_state) -> std::optional<Value> {
  if (auto drawn = call_of_random(e, callee, given, random_state)) { return drawn; }
  const std::string name = numpy_name(callee);
  if (name.empty()) { return std::nullopt; }
  for (size_t i = 0; i < given.positional; ++i) { if (given.all[i].value.is_unknown()) { return std::nullopt; } }
  if (auto made = made_array(e, name, given, random_state)) { return made; }
  if (given.positional == 0) { return std::nullopt; }
  const Value& first = given.all[0].value;
  if (name == "arange" && given.positional == 1 && first.to_int()) {
    const auto shape = shape_of(e, {first}, given.call);
    if (!shape) { return Value::error(); }
    std::vector<double> out(shape->length);
    std::iota(out.begin(), out.end(), 0.0);
    return array_value(std::move(out));
  }
  if (const ElementFunction function = element_function(name); function && first.to_float()) { return Value(function(*first.to_float())); }
  if (name == "concatenate" || name == "hstack") {
    std::vector<double> out;
    for (const Value& item : first.items() ? *first.items() : std::vector<Value>()) {
      const auto part = numbers_in(item);
      if (!part) { return std::nullopt; }
      out.insert(out.end(), part->begin(), part->end());
    }
    return array_value(std::move(out));
  }
  const Ref<NumberArray> array = as_array(first);
  if (!array) { return std::nullopt; }
  if (!e.charge(array->numbers.size(), array->numbers.size() * sizeof(double), given.call)) { return Value::error(); }
  const Value same = Value(Ref<eval::Object>(array.get()));
  if (name == "array" || name == "asarray" || name == "stack" || name == "vstack") { return same; }
  if (const ElementFunction function = element_function(name)) {
    std::vector<double> out = array->numbers;
    for (double& n : out) { n = function(n); }
    return array_value(std::move(out), array->columns);
  }
  const Argument* axis = given.positional > 1 ? &given.all[1] : given.keyword(Name("axis"));
  constexpr std::pair<std::string_view, Fold> folds[] = {{"sum", Fold::Sum}, {"mean", Fold::Mean}, {"max", Fold::Max}, {"amax", Fold::Max}, {"min", Fold::Min}, {"amin", Fold::Min}};
  for (const auto& [known, what] : folds) { if (name == known) { return folded(e, what, *array, axis, given.call); } }
  if (name == "dot" && given.positional == 2) {
    const Ref<NumberArray> other = as_array(given.all[1].value);
    return other ? product(e, *array, *other, given.call) : std::nullopt;
  }
  if (name == "argsort" && !array->is_table()) {
    std::vector<double> order(array->rows());
    std::iota(order.begin(), order.end(), 0.0);
    std::sort(order.begin(), order.end(), [&](double a, double b) { return std::pair(array->numbers[static_cast<size_t>(a)], a) < std::pair(array->numbers[static_cast<size_t>(b)], b); });
    return array_value(std::move(order));
  }
  return std::nullopt;
}

}  // namespace loopsmith::script
