// Integers from 2^63 to 2^64 - 1, as in `T.uint64(18446744073709551615)`. All other integers are plain Values. Results of
// operators that fit into int64 are plain again; others that fit into uint64 are wide.
#pragma once

#include <optional>
#include <string_view>

#include "eval/value.h"

namespace loopsmith::eval {

class WideInt final : public Object {
 public:
  static const TypeTag type_tag;
  const uint64_t bits;   // at least 2^63
  explicit WideInt(uint64_t b) : Object(&type_tag), bits(b) {}
  auto binary(Evaluator&, syntax::BinaryOp op, const Argument& self, const Argument& other, bool reflected, Origin where) const
      -> std::optional<Value> override;
  auto compare(Evaluator&, syntax::CompareOp op, const Argument& self, const Argument& other, bool reflected, Origin where) const
      -> std::optional<Value> override;
  auto equals(const Object& other) const -> bool override;
  auto hash() const -> uint64_t override { return bits; }
  auto repr() const -> std::string override { return std::to_string(bits); }
};

/// The value of a literal (decimal, 0x, 0o, 0b, with `_`) between 2^63 and 2^64 - 1; none for other numbers.
[[nodiscard]] auto wide_literal(std::string_view text) -> std::optional<uint64_t>;

}  // namespace loopsmith::eval
