// Values of the script language, and the interface through which other rooms add their own values.
//
// A Value is 16 bytes: none, bool, int, float, or a counted Object (strings, lists, functions, and the classes that
// higher rooms derive from Object: expressions, buffers, schedules, random variables). Two kinds stand for unknown
// values: `Error` (a diagnostic was reported; no further one will be) and `Opaque` (the text uses Python that TIRScript
// does not have; every result computed from it is opaque too, never an error).
//
// Reference counts are not atomic: values belong to one thread. The address of its TypeTag identifies the type of an object, since
// there is no run-time type information.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/ref.h"
#include "support/diagnostic.h"
#include "support/name.h"
#include "syntax/ast.h"

namespace loopsmith::eval {

class Evaluator;
class Object;
class Value;
class Cloner;
struct Arguments;
class Scope;
void destroy(const Object* object);
void destroy(const Scope* scope);

/// The name of a class of objects in messages ("list", "loop", "tir.Schedule").
struct TypeTag {
  std::string_view name;
};

class Value {
 public:
  enum class Kind : uint8_t { Error, Opaque, None, Bool, Int, Float, Object };

  Value() : kind_(Kind::None), int_(0) {}
  Value(bool value) : kind_(Kind::Bool), int_(value) {}                        // NOLINT
  Value(int value) : kind_(Kind::Int), int_(value) {}                          // NOLINT
  Value(int64_t value) : kind_(Kind::Int), int_(value) {}                      // NOLINT
  Value(double value) : kind_(Kind::Float), float_(value) {}                   // NOLINT
  template <class T> requires std::is_base_of_v<Object, T>
  Value(const Ref<T>& object) : Value(static_cast<const Object*>(object.get())) {}  // NOLINT
  explicit Value(const Object* object);
  explicit Value(const void*) = delete;
  explicit Value(const char*) = delete;
  Value(const Value& other);
  Value(Value&& other) noexcept : kind_(other.kind_), int_(other.int_) { other.kind_ = Kind::None; }
  ~Value() { if (kind_ == Kind::Object) { release(); } }
  auto operator=(const Value& other) -> Value& { Value copy(other); swap(copy); return *this; }
  auto operator=(Value&& other) noexcept -> Value& { Value taken(std::move(other)); swap(taken); return *this; }
  void swap(Value& other) noexcept { std::swap(kind_, other.kind_); std::swap(int_, other.int_); }

  static auto error() -> Value { return Value(Kind::Error); }
  static auto opaque() -> Value { return Value(Kind::Opaque); }
  static auto str(std::string text) -> Value;
  static auto list(std::vector<Value> items) -> Value;
  static auto tuple(std::vector<Value> items) -> Value;

  [[nodiscard]] auto kind() const -> Kind { return kind_; }
  [[nodiscard]] auto is_error() const -> bool { return kind_ == Kind::Error; }
  [[nodiscard]] auto is_opaque() const -> bool { return kind_ == Kind::Opaque; }
  /// Error or opaque.
  [[nodiscard]] auto is_unknown() const -> bool { return kind_ <= Kind::Opaque; }
  [[nodiscard]] auto is_none() const -> bool { return kind_ == Kind::None; }
  [[nodiscard]] auto is_bool() const -> bool { return kind_ == Kind::Bool; }
  /// An int, not a bool.
  [[nodiscard]] auto is_int() const -> bool { return kind_ == Kind::Int; }
  [[nodiscard]] auto is_float() const -> bool { return kind_ == Kind::Float; }
  [[nodiscard]] auto is_object() const -> bool { return kind_ == Kind::Object; }
  [[nodiscard]] auto bool_value() const -> bool { return int_ != 0; }
  [[nodiscard]] auto int_value() const -> int64_t { return int_; }
  [[nodiscard]] auto float_value() const -> double { return float_; }
  [[nodiscard]] auto object() const -> const Object* { return kind_ == Kind::Object ? object_ : nullptr; }
  /// The object as a T; null if it is of another type.
  template <class T> [[nodiscard]] auto as() const -> const T*;
  /// An int, or a bool as 0 or 1.
  [[nodiscard]] auto to_int() const -> std::optional<int64_t> {
    if (kind_ == Kind::Int || kind_ == Kind::Bool) { return int_; }
    return {};
  }
  [[nodiscard]] auto to_float() const -> std::optional<double> {
    if (kind_ == Kind::Float) { return float_; }
    if (auto i = to_int()) { return static_cast<double>(*i); }
    return {};
  }
  /// The text of a string; null for other values.
  [[nodiscard]] auto string() const -> const std::string*;
  /// The items of a list or tuple; null for other values.
  [[nodiscard]] auto items() const -> const std::vector<Value>*;
  /// The items of a list or tuple; of another value, the value alone. For arguments that are one thing or several.
  [[nodiscard]] auto items_or_itself() const -> std::vector<Value>;

  [[nodiscard]] auto type_name() const -> std::string_view;
  /// The text of Python's repr().
  [[nodiscard]] auto repr() const -> std::string;
  /// The text of Python's str().
  [[nodiscard]] auto to_str() const -> std::string;
  /// Python's == for two script values; identity for objects without a comparison.
  [[nodiscard]] auto equals(const Value& other) const -> bool;
  [[nodiscard]] auto hash() const -> uint64_t;

 private:
  explicit Value(Kind kind) : kind_(kind), int_(0) {}
  void release();
  Kind kind_;
  union {
    int64_t int_;
    double float_;
    const Object* object_;
  };
};

/// An argument with its place in the text; `keyword` is empty for positional arguments.
struct Argument {
  Value value;
  Origin where;
  Name keyword;
  Origin keyword_at = {};  // the place of the name; unknown for positional arguments
};

/// The arguments of a call as an object receives them: positional arguments first, then keywords in the order of the text.
struct Arguments {
  std::vector<Argument> all;
  size_t positional = 0;
  Origin call;        // the whole call
  Origin callee;      // the name of the function
  Origin parentheses; // "(...)"

  [[nodiscard]] auto keyword(Name name) const -> const Argument* {
    for (size_t i = positional; i < all.size(); ++i) {
      if (all[i].keyword == name) { return &all[i]; }
    }
    return nullptr;
  }
};

/// The most levels of nested values that are compared, hashed or copied: values may contain themselves and share parts, so walks must be bounded.
inline constexpr uint32_t deepest_value = 1000;
/// True if a walk exceeded this depth since the last call of this function: its result is not right, and the evaluator refuses the statement.
[[nodiscard]] auto took_walk_too_deep() -> bool;

class Object {
 public:
  mutable uint32_t refs = 0;
  const TypeTag* const tag;

  explicit Object(const TypeTag* type) : tag(type) {}
  Object(const Object&) = delete;
  auto operator=(const Object&) -> Object& = delete;
  virtual ~Object() = default;

  template <class T> [[nodiscard]] auto as() const -> const T* {
    return tag == &T::type_tag ? static_cast<const T*>(this) : nullptr;
  }

  // An object returns none for an operation that it does not support; the evaluator then reports this with its place. A
  // result of Value::error() means that the object itself has reported the error (evaluator.report).

  [[nodiscard]] virtual auto type_name() const -> std::string_view { return tag->name; }
  [[nodiscard]] virtual auto get_attribute(Evaluator& evaluator, Name name, Origin where) const -> std::optional<Value>;
  /// Adds the names of attributes, for "did you mean" and completion.
  virtual void attribute_names(std::vector<Name>& out) const {}
  [[nodiscard]] virtual auto is_callable() const -> bool { return false; }
  /// True for an object that may be used in `with`; code in the body finds it in `Evaluator::contexts`.
  [[nodiscard]] virtual auto is_context() const -> bool { return false; }
  [[nodiscard]] virtual auto call(Evaluator& evaluator, const Arguments& arguments) const -> std::optional<Value>;
  /// `self[indices]`; the items of a tuple between the brackets are separate indices.
  [[nodiscard]] virtual auto get_item(Evaluator& evaluator, const std::vector<Argument>& indices, bool is_tuple, Origin where) const
      -> std::optional<Value>;
  /// False: not supported. Failures that were reported count as supported.
  [[nodiscard]] virtual auto set_item(Evaluator& evaluator, const std::vector<Argument>& indices, bool is_tuple, const Argument& value,
                                      Origin where) const -> bool;
  [[nodiscard]] virtual auto set_attribute(Evaluator& evaluator, Name name, const Argument& value, Origin where) const -> bool;
  [[nodiscard]] virtual auto iterate(Evaluator& evaluator, Origin where) const -> std::optional<std::vector<Value>>;
  [[nodiscard]] virtual auto length() const -> std::optional<int64_t> { return {}; }
  /// `self op other`, or `other op self` where `reflected`.
  [[nodiscard]] virtual auto binary(Evaluator& evaluator, syntax::BinaryOp op, const Argument& self, const Argument& other, bool reflected,
                                    Origin where) const -> std::optional<Value>;
  [[nodiscard]] virtual auto compare(Evaluator& evaluator, syntax::CompareOp op, const Argument& self, const Argument& other, bool reflected,
                                     Origin where) const -> std::optional<Value>;
  [[nodiscard]] virtual auto unary(Evaluator& evaluator, syntax::UnaryOp op, Origin where) const -> std::optional<Value>;
  /// `a and b`, `a or b` if a or b is such an object and neither decides the result: an expression of the program.
  [[nodiscard]] virtual auto logical(Evaluator& evaluator, bool is_and, const Argument& left, const Argument& right, Origin where) const
      -> std::optional<Value>;
  /// `then if self else otherwise` if the value of `self` is unknown: an expression of the program.
  [[nodiscard]] virtual auto choose(Evaluator& evaluator, const Argument& self, const Argument& then, const Argument& otherwise, Origin where) const
      -> std::optional<Value>;
  /// None: the object has no truth value (for example an expression of the program).
  [[nodiscard]] virtual auto truth() const -> std::optional<bool> { return true; }
  [[nodiscard]] virtual auto equals(const Object& other) const -> bool { return this == &other; }
  [[nodiscard]] virtual auto hash() const -> uint64_t { return reinterpret_cast<uintptr_t>(this); }
  [[nodiscard]] virtual auto repr() const -> std::string;
  [[nodiscard]] virtual auto to_str() const -> std::string { return repr(); }
  /// For a decorator that reads the declaration itself (T.prim_func, I.ir_module). None: an ordinary decorator, which
  /// is called with the function.
  [[nodiscard]] virtual auto decorate(Evaluator& evaluator, const syntax::Stmt& declaration, const Ref<Scope>& scope, Origin where) const
      -> std::optional<Value>;
  /// A copy that can change independently, for mutable objects; none: the object is shared.
  [[nodiscard]] virtual auto clone(Cloner& cloner) const -> std::optional<Value>;
};

/// Copies values that change (lists, dicts, scopes), each once, so that shared values stay shared.
class Cloner {
 public:
  [[nodiscard]] auto clone(const Value& value) -> Value;
  /// The copy of an object made before, or none.
  [[nodiscard]] auto find(const Object* object) const -> const Object*;
  void remember(const Object* original, const Object* copy);

  /// The number of copied values, a measure of the memory that the copies take.
  [[nodiscard]] auto size() const -> size_t { return size_; }
  void add_size(size_t values) { size_ += values; }

 private:
  std::unordered_map<const Object*, Value> copies_;
  uint32_t depth_ = 0;
  size_t size_ = 0;
};

class Str final : public Object {
 public:
  static const TypeTag type_tag;
  const std::string text;
  explicit Str(std::string t) : Object(&type_tag), text(std::move(t)) {}
  auto get_attribute(Evaluator&, Name name, Origin where) const -> std::optional<Value> override;
  void attribute_names(std::vector<Name>& out) const override;
  auto get_item(Evaluator&, const std::vector<Argument>&, bool is_tuple, Origin where) const -> std::optional<Value> override;
  auto iterate(Evaluator&, Origin) const -> std::optional<std::vector<Value>> override;
  auto length() const -> std::optional<int64_t> override;
  auto truth() const -> std::optional<bool> override { return !text.empty(); }
  auto equals(const Object& other) const -> bool override;
  auto hash() const -> uint64_t override;
  auto repr() const -> std::string override;
  auto to_str() const -> std::string override { return text; }
};

/// Lists and tuples. The items of a list change although scripts hold objects as constants, so they are mutable.
class Sequence : public Object {
 public:
  mutable std::vector<Value> items;
  auto get_item(Evaluator&, const std::vector<Argument>&, bool is_tuple, Origin where) const -> std::optional<Value> override;
  auto iterate(Evaluator&, Origin) const -> std::optional<std::vector<Value>> override { return items; }
  auto length() const -> std::optional<int64_t> override { return static_cast<int64_t>(items.size()); }
  auto truth() const -> std::optional<bool> override { return !items.empty(); }
  auto equals(const Object& other) const -> bool override;
  auto hash() const -> uint64_t override;

 protected:
  Sequence(const TypeTag* type, std::vector<Value> i) : Object(type), items(std::move(i)) {}
};
class List final : public Sequence {
 public:
  static const TypeTag type_tag;
  explicit List(std::vector<Value> i) : Sequence(&type_tag, std::move(i)) {}
  auto get_attribute(Evaluator&, Name name, Origin where) const -> std::optional<Value> override;
  void attribute_names(std::vector<Name>& out) const override;
  auto set_item(Evaluator&, const std::vector<Argument>&, bool is_tuple, const Argument& value, Origin where) const -> bool override;
  auto repr() const -> std::string override;
  auto clone(Cloner& cloner) const -> std::optional<Value> override;
};
class Tuple final : public Sequence {
 public:
  static const TypeTag type_tag;
  explicit Tuple(std::vector<Value> i) : Sequence(&type_tag, std::move(i)) {}
  auto repr() const -> std::string override;
  auto clone(Cloner& cloner) const -> std::optional<Value> override;
};

/// A dict, whose entries keep the order of insertion.
class Dict final : public Object {
 public:
  static const TypeTag type_tag;
  Dict() : Object(&type_tag) {}
  [[nodiscard]] auto entries() const -> const std::vector<std::pair<Value, Value>>& { return entries_; }
  [[nodiscard]] auto find(const Value& key) const -> const Value*;
  void set(const Value& key, Value value) const;
  auto erase(const Value& key) const -> bool;
  auto get_attribute(Evaluator&, Name name, Origin where) const -> std::optional<Value> override;
  void attribute_names(std::vector<Name>& out) const override;
  auto get_item(Evaluator&, const std::vector<Argument>&, bool is_tuple, Origin where) const -> std::optional<Value> override;
  auto set_item(Evaluator&, const std::vector<Argument>&, bool is_tuple, const Argument& value, Origin where) const -> bool override;
  auto iterate(Evaluator&, Origin) const -> std::optional<std::vector<Value>> override;
  auto length() const -> std::optional<int64_t> override { return static_cast<int64_t>(entries_.size()); }
  auto truth() const -> std::optional<bool> override { return !entries_.empty(); }
  auto equals(const Object& other) const -> bool override;
  auto repr() const -> std::string override;
  auto clone(Cloner& cloner) const -> std::optional<Value> override;

 private:
  mutable std::vector<std::pair<Value, Value>> entries_;
  mutable std::unordered_multimap<uint64_t, size_t> index_;
};

class RangeObject final : public Object {
 public:
  static const TypeTag type_tag;
  const int64_t start, stop, step;
  RangeObject(int64_t a, int64_t b, int64_t s) : Object(&type_tag), start(a), stop(b), step(s) {}
  auto get_item(Evaluator&, const std::vector<Argument>&, bool is_tuple, Origin where) const -> std::optional<Value> override;
  auto iterate(Evaluator&, Origin) const -> std::optional<std::vector<Value>> override;
  auto length() const -> std::optional<int64_t> override;
  auto truth() const -> std::optional<bool> override { return *length() != 0; }
  auto repr() const -> std::string override;
};

/// A slice `lower:upper:step` as an index; missing parts are None.
class SliceObject final : public Object {
 public:
  static const TypeTag type_tag;
  const Argument lower, upper, step;
  SliceObject(Argument l, Argument u, Argument s) : Object(&type_tag), lower(std::move(l)), upper(std::move(u)), step(std::move(s)) {}
  auto repr() const -> std::string override;
};

/// A function that a room provides: plain pointer, no captured state.
class Builtin final : public Object {
 public:
  using Run = auto (*)(Evaluator&, const Arguments&) -> Value;
  static const TypeTag type_tag;
  const Name name;
  const Run run;
  Builtin(Name n, Run r) : Object(&type_tag), name(n), run(r) {}
  auto is_callable() const -> bool override { return true; }
  auto call(Evaluator& evaluator, const Arguments& arguments) const -> std::optional<Value> override { return run(evaluator, arguments); }
  auto repr() const -> std::string override;
};

/// A method bound to its object.
class Method final : public Object {
 public:
  using Run = auto (*)(Evaluator&, const Value& self, const Arguments&) -> Value;
  static const TypeTag type_tag;
  const Value self;
  const Name name;
  const Run run;
  Method(Value s, Name n, Run r) : Object(&type_tag), self(std::move(s)), name(n), run(r) {}
  auto is_callable() const -> bool override { return true; }
  auto call(Evaluator& evaluator, const Arguments& arguments) const -> std::optional<Value> override { return run(evaluator, self, arguments); }
  auto repr() const -> std::string override;
  auto clone(Cloner& cloner) const -> std::optional<Value> override;
};

/// A namespace ("T", "T.axis", "ls"): names with values, found by pointer.
class Namespace final : public Object {
 public:
  static const TypeTag type_tag;
  const Name name;
  /// `fallback` makes members with other names, or returns none.
  using Fallback = auto (*)(Name) -> std::optional<Value>;
  explicit Namespace(Name n, Fallback f = nullptr) : Object(&type_tag), name(n), fallback_(f) {}
  void add(Name member, Value value) { members_.insert_or_assign(member, std::move(value)); }
  [[nodiscard]] auto find(Name member) const -> const Value*;
  auto get_attribute(Evaluator&, Name name, Origin where) const -> std::optional<Value> override;
  void attribute_names(std::vector<Name>& out) const override;
  auto repr() const -> std::string override;

 private:
  std::unordered_map<Name, Value> members_;
  Fallback fallback_;
};

template <class T, class... Args>
[[nodiscard]] auto make_object(Args&&... args) -> Ref<T> {
  return Ref<T>(new T(std::forward<Args>(args)...));
}

template <class T> auto Value::as() const -> const T* { return kind_ == Kind::Object ? object_->as<T>() : nullptr; }

}  // namespace loopsmith::eval
