// Values and the objects of the script language itself: see value.h. Methods of str, list and dict are in methods.cpp.
#include "eval/value.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "eval/evaluator.h"
#include "support/codes.h"
#include "support/hash.h"

namespace loopsmith::eval {

const TypeTag Str::type_tag{"str"};
const TypeTag List::type_tag{"list"};
const TypeTag Tuple::type_tag{"tuple"};
const TypeTag Dict::type_tag{"dict"};
const TypeTag RangeObject::type_tag{"range"};
const TypeTag SliceObject::type_tag{"slice"};
const TypeTag Builtin::type_tag{"builtin function"};
const TypeTag Method::type_tag{"method"};
const TypeTag Namespace::type_tag{"namespace"};

namespace {

// Deletes unreferenced objects one after the other: lists nested a million levels deep must not overflow the stack.
thread_local std::vector<const Object*>* waiting_to_die = nullptr;

void dispose(const Object* object) {
  if (waiting_to_die != nullptr) {
    waiting_to_die->push_back(object);
    return;
  }
  std::vector<const Object*> waiting;
  waiting_to_die = &waiting;
  delete object;
  while (!waiting.empty()) {
    const Object* next = waiting.back();
    waiting.pop_back();
    delete next;
  }
  waiting_to_die = nullptr;
}

// This thread's current walk over nested values.
struct Walk {
  uint32_t depth = 0;
  uint64_t visited = 0;
  bool went_too_deep = false;
  std::unordered_set<uint64_t> compared;                    // pairs of objects, so that shared parts are compared once
  std::unordered_map<const Object*, uint64_t> hashes;       // of objects that a long walk visited
  std::vector<const Object*> printed;                       // objects being printed, the outermost first
};
thread_local Walk walk;

// One level of the walk. False: it is too deep, and the walk ends here.
struct Level {
  Level() {
    ++walk.depth;
    ++walk.visited;
    if (walk.depth > deepest_value) { walk.went_too_deep = true; }
  }
  Level(const Level&) = delete;
  auto operator=(const Level&) -> Level& = delete;
  ~Level() {
    if (--walk.depth > 0) { return; }
    walk.visited = 0;
    walk.compared.clear();
    walk.hashes.clear();
  }
  explicit operator bool() const { return walk.depth <= deepest_value; }
  /// Walks over few values do not record visited objects.
  [[nodiscard]] static auto is_long() -> bool { return walk.visited > 100; }
};

// True if this walk visited the pair before. Then the pair is equal, or the walk has already found a difference, and ends. This also holds for values
// that contain themselves: they are equal if no difference can be reached.
auto was_compared(const Object* a, const Object* b) -> bool {
  return Level::is_long() && !walk.compared.insert(hash_combine(reinterpret_cast<uintptr_t>(a), reinterpret_cast<uintptr_t>(b))).second;
}

}  // namespace

void destroy(const Object* object) { dispose(object); }
auto took_walk_too_deep() -> bool { return std::exchange(walk.went_too_deep, false); }

Value::Value(const Object* object) : kind_(object ? Kind::Object : Kind::None), int_(0) {
  if (object) {
    object_ = object;
    ++object->refs;
  }
}
Value::Value(const Value& other) : kind_(other.kind_), int_(other.int_) {
  if (kind_ == Kind::Object) { ++object_->refs; }
}
void Value::release() {
  if (--object_->refs == 0) { dispose(object_); }
}

auto Value::str(std::string text) -> Value { return make_object<Str>(std::move(text)); }
auto Value::list(std::vector<Value> items) -> Value { return make_object<List>(std::move(items)); }
auto Value::tuple(std::vector<Value> items) -> Value { return make_object<Tuple>(std::move(items)); }

auto Value::string() const -> const std::string* {
  const Str* s = as<Str>();
  return s ? &s->text : nullptr;
}
auto Value::items() const -> const std::vector<Value>* {
  if (const auto* l = as<List>()) { return &l->items; }
  if (const auto* t = as<Tuple>()) { return &t->items; }
  return nullptr;
}
auto Value::items_or_itself() const -> std::vector<Value> {
  const std::vector<Value>* several = items();
  return several ? *several : std::vector<Value>{*this};
}

auto Value::type_name() const -> std::string_view {
  switch (kind_) {
    case Kind::Error: return "error";
    case Kind::Opaque: return "unknown";
    case Kind::None: return "None";
    case Kind::Bool: return "bool";
    case Kind::Int: return "int";
    case Kind::Float: return "float";
    case Kind::Object: return object_->type_name();
  }
  return "";
}

auto Value::repr() const -> std::string {
  switch (kind_) {
    case Kind::Error: return "<error>";
    case Kind::Opaque: return "<unknown>";
    case Kind::None: return "None";
    case Kind::Bool: return int_ ? "True" : "False";
    case Kind::Int: return std::to_string(int_);
    case Kind::Float: {
      if (std::isnan(float_)) { return "nan"; }
      if (std::isinf(float_)) { return float_ < 0 ? "-inf" : "inf"; }
      char text[40];
      // Finds the shortest text that is read back as the same number.
      for (int digits = 1; digits <= 17; ++digits) {
        std::snprintf(text, sizeof text, "%.*g", digits, float_);
        if (std::strtod(text, nullptr) == float_) { break; }
      }
      std::string out = text;
      size_t exponent = out.find('e');
      if (exponent != std::string::npos) {
        // Python uses exponents from 1e16 on.
        if (std::abs(float_) >= 1e-4 && std::abs(float_) < 1e16) {
          std::snprintf(text, sizeof text, "%.1f", float_);
          return text;
        }
        return out;
      }
      if (out.find('.') == std::string::npos) { out += ".0"; }
      return out;
    }
    case Kind::Object: return object_->repr();
  }
  return "";
}
auto Value::to_str() const -> std::string { return kind_ == Kind::Object ? object_->to_str() : repr(); }

auto Value::equals(const Value& other) const -> bool {
  if (kind_ == Kind::Object || other.kind_ == Kind::Object) {
    if (kind_ != other.kind_) { return false; }
    return object_ == other.object_ || object_->equals(*other.object_);
  }
  if (kind_ == Kind::None || other.kind_ == Kind::None) { return kind_ == other.kind_; }
  if (is_unknown() || other.is_unknown()) { return false; }
  if (kind_ == Kind::Float || other.kind_ == Kind::Float) { return *to_float() == *other.to_float(); }
  return int_ == other.int_;
}
auto Value::hash() const -> uint64_t {
  switch (kind_) {
    case Kind::Object: return object_->hash();
    case Kind::Float:
      if (float_ == std::floor(float_) && std::abs(float_) < 9e18) { return hash_combine(7, static_cast<uint64_t>(static_cast<int64_t>(float_))); }
      return hash_combine(8, static_cast<uint64_t>(int_));
    case Kind::Bool: case Kind::Int: return hash_combine(7, static_cast<uint64_t>(int_));
    default: return static_cast<uint64_t>(kind_);
  }
}

// ---- the default operations of an object: none ---------------------------------------------------------------------

auto Object::get_attribute(Evaluator&, Name, Origin) const -> std::optional<Value> { return {}; }
auto Object::call(Evaluator&, const Arguments&) const -> std::optional<Value> { return {}; }
auto Object::get_item(Evaluator&, const std::vector<Argument>&, bool, Origin) const -> std::optional<Value> { return {}; }
auto Object::set_item(Evaluator&, const std::vector<Argument>&, bool, const Argument&, Origin) const -> bool { return false; }
auto Object::set_attribute(Evaluator&, Name, const Argument&, Origin) const -> bool { return false; }
auto Object::iterate(Evaluator&, Origin) const -> std::optional<std::vector<Value>> { return {}; }
auto Object::binary(Evaluator&, syntax::BinaryOp, const Argument&, const Argument&, bool, Origin) const -> std::optional<Value> { return {}; }
auto Object::compare(Evaluator&, syntax::CompareOp, const Argument&, const Argument&, bool, Origin) const -> std::optional<Value> { return {}; }
auto Object::unary(Evaluator&, syntax::UnaryOp, Origin) const -> std::optional<Value> { return {}; }
auto Object::logical(Evaluator&, bool, const Argument&, const Argument&, Origin) const -> std::optional<Value> { return {}; }
auto Object::choose(Evaluator&, const Argument&, const Argument&, const Argument&, Origin) const -> std::optional<Value> { return {}; }
auto Object::repr() const -> std::string { return "<" + std::string(type_name()) + ">"; }
auto Object::decorate(Evaluator&, const syntax::Stmt&, const Ref<Scope>&, Origin) const -> std::optional<Value> { return {}; }
auto Object::clone(Cloner&) const -> std::optional<Value> { return {}; }

// ---- copies ------------------------------------------------------------------------------------------------------

auto Cloner::find(const Object* object) const -> const Object* {
  auto found = copies_.find(object);
  return found == copies_.end() ? nullptr : found->second.object();
}
void Cloner::remember(const Object* original, const Object* copy) { copies_.insert_or_assign(original, Value(copy)); }
auto Cloner::clone(const Value& value) -> Value {
  ++size_;
  const Object* object = value.object();
  if (!object) { return value; }
  if (const Object* copy = find(object)) { return Value(copy); }
  if (depth_ >= deepest_value) {
    walk.went_too_deep = true;
    return value;
  }
  ++depth_;
  std::optional<Value> copy = object->clone(*this);
  --depth_;
  if (!copy) {
    remember(object, object);
    return value;
  }
  if (copy->object()) { remember(object, copy->object()); }
  return *copy;
}

auto List::clone(Cloner& cloner) const -> std::optional<Value> {
  Ref<List> copy = make_object<List>(std::vector<Value>{});
  cloner.remember(this, copy.get());
  copy->items.reserve(items.size());
  for (const Value& item : items) { copy->items.push_back(cloner.clone(item)); }
  return copy;
}
auto Tuple::clone(Cloner& cloner) const -> std::optional<Value> {
  std::vector<Value> out;
  bool changed = false;
  for (const Value& item : items) {
    out.push_back(cloner.clone(item));
    changed |= out.back().object() != item.object();
  }
  if (!changed) { return {}; }
  return Value::tuple(std::move(out));
}
auto Dict::clone(Cloner& cloner) const -> std::optional<Value> {
  Ref<Dict> copy = make_object<Dict>();
  cloner.remember(this, copy.get());
  for (const auto& [key, value] : entries_) { copy->set(cloner.clone(key), cloner.clone(value)); }
  return copy;
}
auto Method::clone(Cloner& cloner) const -> std::optional<Value> {
  Value copy = cloner.clone(self);
  if (copy.object() == self.object()) { return {}; }
  return make_object<Method>(std::move(copy), name, run);
}

// ---- strings -----------------------------------------------------------------------------------------------------

auto Str::equals(const Object& other) const -> bool {
  const Str* o = other.as<Str>();
  return o && o->text == text;
}
auto Str::hash() const -> uint64_t { return hash_bytes(text); }
auto Str::length() const -> std::optional<int64_t> {
  int64_t count = 0;
  for (char c : text) { count += (static_cast<unsigned char>(c) & 0xc0) != 0x80; }
  return count;
}
auto Str::iterate(Evaluator&, Origin) const -> std::optional<std::vector<Value>> {
  std::vector<Value> out;
  for (size_t i = 0; i < text.size();) {
    size_t end = i + 1;
    while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) { ++end; }
    out.push_back(Value::str(text.substr(i, end - i)));
    i = end;
  }
  return out;
}
auto Str::repr() const -> std::string {
  char quote = text.find('\'') != std::string::npos && text.find('"') == std::string::npos ? '"' : '\'';
  std::string out(1, quote);
  for (char c : text) {
    if (c == '\n') { out += "\\n"; }
    else if (c == '\t') { out += "\\t"; }
    else if (c == '\r') { out += "\\r"; }
    else if (c == '\\' || c == quote) { out += '\\'; out += c; }
    else if (static_cast<unsigned char>(c) < 0x20) {
      char hex[8];
      std::snprintf(hex, sizeof hex, "\\x%02x", c);
      out += hex;
    } else { out += c; }
  }
  return out + quote;
}

// ---- sequences ---------------------------------------------------------------------------------------------------

namespace {

// Deeper values are printed as `...`.
constexpr size_t deepest_printed = 100;

// The text of a container: `inside` writes the text between its brackets. A container inside itself is `[...]`.
template <class F>
auto bracketed(const Object* self, const char* open, const char* close, const F& inside) -> std::string {
  bool is_inside_itself = std::find(walk.printed.begin(), walk.printed.end(), self) != walk.printed.end();
  if (is_inside_itself || walk.printed.size() >= deepest_printed) { return std::string(open) + "..." + close; }
  walk.printed.push_back(self);
  std::string out = open + inside() + close;
  walk.printed.pop_back();
  return out;
}

auto repr_items(const std::vector<Value>& items) -> std::string {
  std::string out;
  for (const Value& item : items) {
    if (!out.empty()) { out += ", "; }
    if (out.size() > (1 << 16)) { return out + "..."; }
    out += item.repr();
  }
  return out;
}

struct Slice { int64_t start, step; int64_t count; };

auto resolve_slice(Evaluator& evaluator, const SliceObject& slice, int64_t size, Origin where) -> std::optional<Slice> {
  auto part = [&](const Argument& a, int64_t otherwise) -> std::optional<int64_t> {
    if (a.value.is_none()) { return otherwise; }
    if (auto i = a.value.to_int()) { return i; }
    if (!a.value.is_error()) {
      evaluator.report(error(Code::WrongType, a.where).arg("expected", "an int").arg("found", describe(a.value)));
    }
    return {};
  };
  auto step = part(slice.step, 1);
  if (!step) { return {}; }
  if (*step == 0) {
    evaluator.report(error(Code::ZeroStep, slice.step.where).arg("sequence", "a slice").remedy("leave the step out, or write another number"));
    return {};
  }
  bool down = *step < 0;
  auto lower = part(slice.lower, down ? size - 1 : 0);
  auto upper = part(slice.upper, down ? -1 : size);
  if (!lower || !upper) { return {}; }
  auto clamp = [&](int64_t i, bool given) {
    if (given && i < 0) { i += size; }
    int64_t low = down ? -1 : 0;
    int64_t high = down ? size - 1 : size;
    return i < low ? low : i > high ? high : i;
  };
  int64_t a = clamp(*lower, !slice.lower.value.is_none());
  int64_t b = clamp(*upper, !slice.upper.value.is_none());
  if (slice.upper.value.is_none() && down) { b = -1; }
  int64_t count = down ? (a > b ? (a - b - 1) / (*step == INT64_MIN ? INT64_MAX : -*step) + 1 : 0) : (a < b ? (b - a - 1) / *step + 1 : 0);
  return Slice{a, *step, count};
}

// One index of a sequence as a position in it.
auto resolve_index(Evaluator& evaluator, const std::vector<Argument>& indices, bool is_tuple, int64_t size, std::string_view what, Origin where)
    -> std::optional<int64_t> {
  if (indices.size() != 1 || is_tuple) {
    evaluator.report(error(Code::WrongType, where).arg("expected", "one index").arg("found", std::to_string(indices.size())));
    return {};
  }
  auto i = indices[0].value.to_int();
  if (!i) {
    evaluator.report(error(Code::WrongType, indices[0].where).arg("expected", "an int").arg("found", describe(indices[0].value)));
    return {};
  }
  if (*i < -size || *i >= size) {
    Diagnostic d = error(Code::IndexOutOfRange, indices[0].where).arg("index", *i).arg("what", what).arg("size", size);
    if (size > 0) { (void)std::move(d).remedy(fmt::format("use an index from {} to {}", -size, size - 1)); }
    evaluator.report(std::move(d));
    return {};
  }
  return *i < 0 ? *i + size : *i;
}

}  // namespace

auto Str::get_item(Evaluator& evaluator, const std::vector<Argument>& indices, bool is_tuple, Origin where) const -> std::optional<Value> {
  auto size = *length();
  if (!evaluator.charge(text.size() / sizeof(Value), 0, where)) { return Value::error(); }
  // The byte positions of characters; empty for ASCII, where the position is the index.
  std::vector<size_t> begins;
  if (size != static_cast<int64_t>(text.size())) {
    if (!evaluator.charge(0, static_cast<size_t>(size) * sizeof(size_t), where)) { return Value::error(); }
    for (size_t i = 0; i < text.size(); ++i) {
      if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) { begins.push_back(i); }
    }
    begins.push_back(text.size());
  }
  auto character = [&](int64_t index) {
    auto i = static_cast<size_t>(index);
    return begins.empty() ? std::string_view(text).substr(i, 1) : std::string_view(text).substr(begins[i], begins[i + 1] - begins[i]);
  };
  if (indices.size() == 1) {
    if (const auto* slice = indices[0].value.as<SliceObject>()) {
      auto s = resolve_slice(evaluator, *slice, size, where);
      if (!s) { return Value::error(); }
      std::string out;
      for (int64_t i = 0; i < s->count; ++i) { out += character(s->start + i * s->step); }
      return Value::str(std::move(out));
    }
  }
  auto i = resolve_index(evaluator, indices, is_tuple, size, "a string", where);
  return i ? Value::str(std::string(character(*i))) : Value::error();
}

auto Sequence::get_item(Evaluator& evaluator, const std::vector<Argument>& indices, bool is_tuple, Origin where) const -> std::optional<Value> {
  auto size = static_cast<int64_t>(items.size());
  if (indices.size() == 1) {
    if (const auto* slice = indices[0].value.as<SliceObject>()) {
      auto s = resolve_slice(evaluator, *slice, size, where);
      if (!s) { return Value::error(); }
      if (!evaluator.charge(static_cast<size_t>(s->count), static_cast<size_t>(s->count) * sizeof(Value), where)) { return Value::error(); }
      std::vector<Value> out;
      for (int64_t i = 0; i < s->count; ++i) { out.push_back(items[static_cast<size_t>(s->start + i * s->step)]); }
      return tag == &List::type_tag ? Value::list(std::move(out)) : Value::tuple(std::move(out));
    }
  }
  auto i = resolve_index(evaluator, indices, is_tuple, size, tag == &List::type_tag ? "a list" : "a tuple", where);
  return i ? items[static_cast<size_t>(*i)] : Value::error();
}
auto Sequence::equals(const Object& other) const -> bool {
  if (other.tag != tag) { return false; }
  const auto& o = static_cast<const Sequence&>(other);
  if (o.items.size() != items.size()) { return false; }
  Level level;
  if (!level || was_compared(this, &other)) { return true; }
  for (size_t i = 0; i < items.size(); ++i) {
    if (!items[i].equals(o.items[i])) { return false; }
  }
  return true;
}
auto Sequence::hash() const -> uint64_t {
  // A list may change while it is a key: its hash must not depend on its items, which may change or contain the list itself.
  if (tag == &List::type_tag) { return 3; }
  Level level;
  if (!level) { return 0; }
  if (auto known = walk.hashes.find(this); known != walk.hashes.end()) { return known->second; }
  uint64_t out = items.size();
  for (const Value& item : items) { out = hash_combine(out, item.hash()); }
  if (Level::is_long()) { walk.hashes.emplace(this, out); }
  return out;
}
auto List::repr() const -> std::string {
  return bracketed(this, "[", "]", [&] { return repr_items(items); });
}
auto Tuple::repr() const -> std::string {
  return bracketed(this, "(", ")", [&] { return repr_items(items) + (items.size() == 1 ? "," : ""); });
}
auto List::set_item(Evaluator& evaluator, const std::vector<Argument>& indices, bool is_tuple, const Argument& value, Origin where) const -> bool {
  if (auto i = resolve_index(evaluator, indices, is_tuple, static_cast<int64_t>(items.size()), "a list", where)) {
    items[static_cast<size_t>(*i)] = value.value;
  }
  return true;
}

// ---- dictionaries ------------------------------------------------------------------------------------------------

auto Dict::find(const Value& key) const -> const Value* {
  auto [begin, end] = index_.equal_range(key.hash());
  for (auto it = begin; it != end; ++it) {
    if (entries_[it->second].first.equals(key)) { return &entries_[it->second].second; }
  }
  return nullptr;
}
void Dict::set(const Value& key, Value value) const {
  if (const Value* found = find(key)) {
    const_cast<Value&>(*found) = std::move(value);
    return;
  }
  index_.emplace(key.hash(), entries_.size());
  entries_.emplace_back(key, std::move(value));
}
auto Dict::erase(const Value& key) const -> bool {
  for (size_t i = 0; i < entries_.size(); ++i) {
    if (!entries_[i].first.equals(key)) { continue; }
    entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(i));
    index_.clear();
    for (size_t k = 0; k < entries_.size(); ++k) { index_.emplace(entries_[k].first.hash(), k); }
    return true;
  }
  return false;
}
auto Dict::get_item(Evaluator& evaluator, const std::vector<Argument>& indices, bool is_tuple, Origin where) const -> std::optional<Value> {
  Value key;
  if (indices.size() == 1 && !is_tuple) {
    key = indices[0].value;
  } else {
    std::vector<Value> parts;
    for (const Argument& a : indices) { parts.push_back(a.value); }
    key = Value::tuple(std::move(parts));
  }
  if (const Value* found = find(key)) { return *found; }
  return evaluator.report(error(Code::KeyNotFound, indices.empty() ? where : indices[0].where).arg("container", "dict").arg("kind", "key").arg("key", key.repr())
                              .remedy("use `get(key, default)` for a key that may be absent"));
}
auto Dict::set_item(Evaluator&, const std::vector<Argument>& indices, bool is_tuple, const Argument& value, Origin) const -> bool {
  if (indices.size() == 1 && !is_tuple) {
    set(indices[0].value, value.value);
  } else {
    std::vector<Value> parts;
    for (const Argument& a : indices) { parts.push_back(a.value); }
    set(Value::tuple(std::move(parts)), value.value);
  }
  return true;
}
auto Dict::iterate(Evaluator&, Origin) const -> std::optional<std::vector<Value>> {
  std::vector<Value> keys;
  for (const auto& entry : entries_) { keys.push_back(entry.first); }
  return keys;
}
auto Dict::equals(const Object& other) const -> bool {
  const Dict* o = other.as<Dict>();
  if (!o || o->entries_.size() != entries_.size()) { return false; }
  Level level;
  if (!level || was_compared(this, &other)) { return true; }
  for (const auto& [key, value] : entries_) {
    const Value* there = o->find(key);
    if (!there || !there->equals(value)) { return false; }
  }
  return true;
}
auto Dict::repr() const -> std::string {
  return bracketed(this, "{", "}", [&] {
    std::string out;
    for (const auto& [key, value] : entries_) {
      if (!out.empty()) { out += ", "; }
      if (out.size() > (1 << 16)) { return out + "..."; }
      out += key.repr() + ": " + value.repr();
    }
    return out;
  });
}

// ---- the others --------------------------------------------------------------------------------------------------

auto RangeObject::length() const -> std::optional<int64_t> {
  if (step > 0) { return start < stop ? static_cast<int64_t>((static_cast<uint64_t>(stop) - static_cast<uint64_t>(start) - 1) / static_cast<uint64_t>(step) + 1) : 0; }
  return start > stop ? static_cast<int64_t>((static_cast<uint64_t>(start) - static_cast<uint64_t>(stop) - 1) / (0 - static_cast<uint64_t>(step)) + 1) : 0;
}
auto RangeObject::iterate(Evaluator& evaluator, Origin where) const -> std::optional<std::vector<Value>> {
  int64_t count = *length();
  if (count < 0 || static_cast<uint64_t>(count) > evaluator.limits.list_items) {
    evaluator.report(error(Code::TooMuchWork, where).arg("what", "a range of " + std::to_string(count) + " values"));
    return std::vector<Value>{};
  }
  std::vector<Value> out;
  out.reserve(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) { out.emplace_back(start + i * step); }
  return out;
}
auto RangeObject::get_item(Evaluator& evaluator, const std::vector<Argument>& indices, bool is_tuple, Origin where) const -> std::optional<Value> {
  auto i = resolve_index(evaluator, indices, is_tuple, *length(), "a range", where);
  return i ? Value(start + *i * step) : Value::error();
}
auto RangeObject::repr() const -> std::string {
  std::string out = "range(" + std::to_string(start) + ", " + std::to_string(stop);
  return out + (step == 1 ? ")" : ", " + std::to_string(step) + ")");
}
auto SliceObject::repr() const -> std::string {
  return "slice(" + lower.value.repr() + ", " + upper.value.repr() + ", " + step.value.repr() + ")";
}
auto Builtin::repr() const -> std::string { return "<builtin function " + name.str() + ">"; }
auto Method::repr() const -> std::string { return "<method " + name.str() + ">"; }

auto Namespace::find(Name member) const -> const Value* {
  auto found = members_.find(member);
  return found == members_.end() ? nullptr : &found->second;
}
auto Namespace::get_attribute(Evaluator&, Name member, Origin) const -> std::optional<Value> {
  if (const Value* found = find(member)) { return *found; }
  return fallback_ ? fallback_(member) : std::nullopt;
}
void Namespace::attribute_names(std::vector<Name>& out) const {
  for (const auto& [member, value] : members_) { out.push_back(member); }
}
auto Namespace::repr() const -> std::string { return "<" + name.str() + ">"; }

}  // namespace loopsmith::eval
