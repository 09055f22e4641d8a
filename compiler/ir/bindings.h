// The sizes of a call: finds the values of a function's shape variables, and checks that the given tensors fit its buffers.
//
// A function's buffers contain sizes, `A: T.Buffer((n * 2, m))`, strides and an offset. Each is a formula over slots: first the parameters in order, then the
// variables that occur only in buffers. A call gives numbers for some slots (scalars) and for all formulas (the tensors). `solve` finds the other slots,
// one formula with one unknown at a time, and then checks every formula. Compiled code, the command line and the interpreter use this one check; the C
// entries of libraries have the same check in C (artefact/support_source.cpp). Plain data: it outlives the IR.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/ir.h"

namespace loopsmith {

/// An integer expression in postfix order. Empty: the expression cannot be written in this form.
struct Formula {
  enum class Op : uint8_t { Constant, Slot, Add, Sub, Mul, FloorDiv, FloorMod, Min, Max };
  struct Step {
    Op op = Op::Constant;
    int64_t value = 0;   // the value of a constant; or the number of a slot
  };
  std::vector<Step> steps;

  [[nodiscard]] auto is_known() const -> bool { return !steps.empty(); }
  [[nodiscard]] auto constant() const -> std::optional<int64_t> {
    return steps.size() == 1 && steps[0].op == Op::Constant ? std::optional(steps[0].value) : std::nullopt;
  }
  /// The slot, if the formula consists of one slot only.
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
  std::optional<Formula> offset;     // in elements; none: the buffer begins at the start of its memory
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
/// An expression over the slots of a function; empty if it uses other variables.
[[nodiscard]] auto formula_of(const PrimFunc& func, const Expr& expr) -> Formula;
/// The variables behind `Sizes::variables`.
[[nodiscard]] auto shape_variables(const PrimFunc& func) -> std::vector<Var>;
/// The first variable that the tensors cannot determine, for any tensors: its index in `variables`.
[[nodiscard]] auto undetermined_variable(const Sizes& sizes) -> std::optional<size_t>;

/// The value; none if a slot is unknown, a divisor is not positive, or the value does not fit 64 bits.
[[nodiscard]] auto evaluate(const Formula& formula, const std::vector<std::optional<int64_t>>& slots) -> std::optional<int64_t>;

/// The tensor given for a buffer.
struct GivenTensor {
  std::vector<int64_t> shape;
  std::vector<int64_t> strides = {};   // in elements; empty: compact
  int64_t offset = 0;
};
/// The reason why tensors do not fit: expected "shape (n * 2,)", found "(7,)", note "`n` is 5".
struct Misfit {
  size_t buffer = SIZE_MAX;            // in `Sizes::buffers`; SIZE_MAX: a variable has no value
  std::string expected;                // "shape (n * 2, 4)", "strides (16, 1)", "offset 4", "a value that the shapes of the tensors give"
  std::string found;                   // "(10, 5)"
  std::string note;                    // "`n` is 4"; may be empty
  size_t variable = SIZE_MAX;          // the variable without a value
};
/// Fills in the unknown slots. `given`: a tensor for each buffer; null if it is not given yet, and its formulas are ignored. With `is_complete` every
/// variable must get a value.
[[nodiscard]] auto solve(const Sizes& sizes, std::vector<std::optional<int64_t>>& slots, const std::vector<const GivenTensor*>& given, bool is_complete = true)
    -> std::optional<Misfit>;

/// The text in the form of the program: "n * 2", and "(n * 2, 4)".
[[nodiscard]] auto text_of(const Sizes& sizes, const Formula& formula) -> std::string;
[[nodiscard]] auto text_of(const Sizes& sizes, const std::vector<Formula>& formulas) -> std::string;

}  // namespace loopsmith
