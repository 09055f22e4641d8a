// Sets: `set()`, `{1, 2}`, `{x for x in rows}`.
#pragma once

#include "eval/value.h"

namespace loopsmith::eval {

/// Its items are the keys of a dict. Iteration is in the order of insertion, so that results do not depend on hashes.
class Set final : public Object {
 public:
  static const TypeTag type_tag;
  Set() : Object(&type_tag) {}
  [[nodiscard]] auto contains(const Value& item) const -> bool { return items_->find(item) != nullptr; }
  void add(const Value& item) const { items_->set(item, Value()); }
  auto erase(const Value& item) const -> bool { return items_->erase(item); }
  /// Replaces all items by those of another set, which is not used afterwards.
  void take(const Set& other) const { items_ = other.items_; }
  void clear() const { items_ = make_object<Dict>(); }
  [[nodiscard]] auto items() const -> std::vector<Value>;
  auto get_attribute(Evaluator&, Name name, Origin where) const -> std::optional<Value> override;
  void attribute_names(std::vector<Name>& out) const override;
  auto iterate(Evaluator&, Origin) const -> std::optional<std::vector<Value>> override { return items(); }
  auto length() const -> std::optional<int64_t> override { return items_->length(); }
  auto truth() const -> std::optional<bool> override { return items_->truth(); }
  auto binary(Evaluator&, syntax::BinaryOp op, const Argument& self, const Argument& other, bool reflected, Origin where) const -> std::optional<Value> override;
  auto compare(Evaluator&, syntax::CompareOp op, const Argument& self, const Argument& other, bool reflected, Origin where) const -> std::optional<Value> override;
  auto equals(const Object& other) const -> bool override;
  auto repr() const -> std::string override;
  auto clone(Cloner& cloner) const -> std::optional<Value> override;

 private:
  mutable Ref<Dict> items_ = make_object<Dict>();
};

/// Adds an item, within the limits of the evaluator. False: the item can change, or there are too many; the error was reported.
[[nodiscard]] auto add_to_set(Evaluator& e, const Set& set, const Argument& item) -> bool;
/// The builtin `set`.
auto make_set(Evaluator& e, const Arguments& a) -> Value;

}  // namespace loopsmith::eval
