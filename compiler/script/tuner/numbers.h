// Arrays of numbers for cost models that are written in script: a list or a table of float64, as features come in. Such a model is the only place where the evaluator
// knows functions of NumPy; everywhere else they are unknown.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "eval/evaluator.h"

namespace loopsmith::script {

/// A list of numbers, or a table in rows. Scripts do not change it.
class NumberArray final : public eval::Object {
 public:
  static const eval::TypeTag type_tag;
  /// `columns` 0: a list.
  NumberArray(std::vector<double> n, size_t c) : Object(&type_tag), numbers(std::move(n)), columns(c) {}
  const std::vector<double> numbers;
  const size_t columns;

  [[nodiscard]] auto is_table() const -> bool { return columns > 0; }
  [[nodiscard]] auto rows() const -> size_t { return is_table() ? numbers.size() / columns : numbers.size(); }
  auto get_attribute(eval::Evaluator&, Name member, Origin) const -> std::optional<eval::Value> override;
  void attribute_names(std::vector<Name>& out) const override;
  auto get_item(eval::Evaluator&, const std::vector<eval::Argument>&, bool is_tuple, Origin) const -> std::optional<eval::Value> override;
  auto iterate(eval::Evaluator&, Origin) const -> std::optional<std::vector<eval::Value>> override;
  auto length() const -> std::optional<int64_t> override { return static_cast<int64_t>(rows()); }
  auto binary(eval::Evaluator&, syntax::BinaryOp op, const eval::Argument& self, const eval::Argument& other, bool reflected, Origin) const -> std::optional<eval::Value> override;
  auto unary(eval::Evaluator&, syntax::UnaryOp op, Origin) const -> std::optional<eval::Value> override;
  auto truth() const -> std::optional<bool> override { return std::nullopt; }
  auto repr() const -> std::string override;
};

[[nodiscard]] auto number_array(std::vector<double> numbers, size_t columns = 0) -> eval::Value;
/// The numbers of an array without rows, or of a list or tuple of numbers; none: the value is another one.
[[nodiscard]] auto numbers_in(const eval::Value& value) -> std::optional<std::vector<double>>;

/// A call of NumPy, or of Python's module `random`, by its name in the text, such as `np.array(...)` or `numpy.random.rand(8)`. None: the name is not one of theirs, or the
/// function is not known here.
/// Random numbers follow from `random_state`.
[[nodiscard]] auto call_of_numpy(eval::Evaluator& evaluator, const syntax::Expr& callee, const eval::Arguments& given, uint64_t& random_state) -> std::optional<eval::Value>;

}  // namespace loopsmith::script
