// The sizes of a call: which values the shape variables of a function have, and whether the given tensors fit its buffers.
//
// A function's buffers name sizes, `A: T.Buffer((n * 2, m))`, strides and an offset. Each is a formula over slots: the parameters in order, then the
// variables that only buffers name. A call gives numbers for some slots (scalars) and for all formulas (the tensors). `solve` finds the other slots,
// a formula with one unknown at a time, and then checks every formula. Compiled code, the command line and the interpreter use this one check; the C
// entries of libraries have the same in C (artefact/support_source.cpp). Plain data: it outlives the IR.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/ir.h"

namespace loopsmith {

/// An integer expression in postfix order. Empty: an expression that has no such form.
struct Formula {
  enum class Op : uint8_t { Constant, Slot, Add, Sub, Mul, FloorDiv, FloorMod, Min, Max };
  struct Step {
    Op op = Op::Constant;
    int64_t value = 0;   // of a constant; the number of a slot
  };
  std::vector<Step> steps;

  [[nodiscard]] auto is_known() const -> bool { return !steps.empty(); }
  [[nodiscard]] auto constant() const -> std::optional<int64_t> {
    return steps.size() == 1 && steps[0].op == Op::Constant ? std::optional(steps[0].value) : std::nullopt;
  }
  /// The slot, where that is all.
  [[nodiscard]] auto slot() const -> std::optional<size_t> {
    return steps.size() == 1 && steps[0].op == Op::Slot ? std::optional(static_cast<size_t>(steps[0].value)) : std::nullopt;
  }
};
/// The deepest stack that a formula needs; larger expressions have no formula.
inline constexpr size_t max_formula_depth = 16;

struct BufferSizes {
  size_t parameter = 0;
  std::string name;
  std::vector<Formula> shape;
  std::vector<Formula> strides;      // in elements; empty: compact, row-major
  std::optional<Formula> offset;     // in elements; none: the buffer begins where its memory does
};

struct Sizes {
  struct Variable {
    std::string name;
    DataType type;
  };
  size_t parameters = 0;
  std::vector<std::string> names;    // of the parameters
  std::vector<Variable> variables;   // slots behind the parameters
  std::vector<BufferSizes> buffers;
  [[nodiscard]] auto slots() const -> size_t { return parameters + variables.size(); }
};
[[nodiscard]] auto sizes_of(const PrimFunc& func) -> Sizes;
/// An expression over the slots of a function; unknown where it has other variables.
[[nodiscard]] auto formula_of(const PrimFunc& func, const Expr& expr) -> Formula;
/// The variables behind `Sizes::variables`.
[[nodiscard]] auto shape_variables(const PrimFunc& func) -> std::vector<Var>;
/// The first variable that no formula can give, whatever the tensors: its index in `variables`.
[[nodiscard]] auto undetermined_variable(const Sizes& sizes) -> std::optional<size_t>;

/// A value; none where a slot is unknown, a divisor is not positive, or the value does not fit 64 bits.
[[nodiscard]] auto evaluate(const Formula& formula, const std::vector<std::optional<int64_t>>& slots) -> std::optional<int64_t>;

/// The tensor given for a buffer.
struct GivenTensor {
  std::vector<int64_t> shape;
  std::vector<int64_t> strides = {};   // in elements; empty: compact
  int64_t offset = 0;
};
/// Why tensors do not fit: "shape (n * 2,) and `n` is 5", found (7,).
struct Misfit {
  size_t buffer = SIZE_MAX;            // in `Sizes::buffers`; SIZE_MAX: a variable has no value
  std::string expected;                // "shape (n * 2, 4)", "strides (16, 1)", "offset 4", "a value that the shapes of the tensors give"
  std::string found;                   // "(10, 5)"
  std::string note;                    // "`n` is 4"; may be empty
  size_t variable = SIZE_MAX;          // the one without a value
};
/// Fills in the unknown slots. `given`: a tensor for each buffer, null where none is given yet: its formulas are not used. With `is_complete` every
/// variable must get a value.
[[nodiscard]] auto solve(const Sizes& sizes, std::vector<std::optional<int64_t>>& slots, const std::vector<const GivenTensor*>& given, bool is_complete = true)
    -> std::optional<Misfit>;

/// "n * 2", as the program has it; and "(n * 2, 4)".
[[nodiscard]] auto text_of(const Sizes& sizes, const Formula& formula) -> std::string;
[[nodiscard]] auto text_of(const Sizes& sizes, const std::vector<Formula>& formulas) -> std::string;

}  // namespace loopsmith
