// The iterations that reach a place of a program: the loops around it, the values of iter vars and let variables, and the conditions that hold
// there. A question about them is answered by a witness: an iteration that runs, as numbers. So every reported iteration exists, and one
// that is not found is not reported.
//
// A loop with a constant extent is tried with its first and last value, then with all values, within a budget of values that one function's
// analyses share. For symbolic extents, bounds.cpp passes the corners to the prover.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ir/ir.h"

namespace loopsmith::analysis {

/// Integer variables with numbers as values. There are few, so look-ups search from the end.
class Numbers {
 public:
  void push(const VarNode* var, int64_t value) { items_.emplace_back(var, value); }
  void pop() { items_.pop_back(); }
  [[nodiscard]] auto find(const VarNode* var) const -> const int64_t* {
    for (size_t i = items_.size(); i-- > 0;) {
      if (items_[i].first == var) { return &items_[i].second; }
    }
    return nullptr;
  }
  [[nodiscard]] auto items() const -> const std::vector<std::pair<const VarNode*, int64_t>>& { return items_; }

 private:
  std::vector<std::pair<const VarNode*, int64_t>> items_;
};

/// The value of an integer or boolean expression; none if it reads memory, calls an unknown function, overflows, or uses a variable
/// without a number.
[[nodiscard]] auto evaluate(const Expr& expr, const Numbers& numbers) -> std::optional<int64_t>;

struct Interval { int64_t min = 0, max = 0; };

/// The loops, bindings and conditions around a place, outermost first.
class Space {
 public:
  enum class Kind : uint8_t { Loop, Thread, Binding, Guard };
  struct Entry {
    Kind kind{};
    const VarNode* var = nullptr;   // Loop, Thread, Binding
    Expr min, extent;               // Loop, Thread
    Expr value;                     // Binding: the variable's value. Guard: the condition
    bool negated = false;           // Guard: the condition is false here
    const For* loop = nullptr;      // Loop
    Origin origin;
  };

  void push(Entry entry) { entries_.push_back(std::move(entry)); }
  void pop(size_t size) { entries_.resize(size); }
  [[nodiscard]] auto size() const -> size_t { return entries_.size(); }
  [[nodiscard]] auto entries() const -> const std::vector<Entry>& { return entries_; }
  [[nodiscard]] auto find(const VarNode* var) const -> const Entry*;

  /// Bounds of an expression over all iterations, ignoring conditions; none if an end is not a number.
  [[nodiscard]] auto interval(const Expr& expr) const -> std::optional<Interval>;

  /// An iteration that runs and for which `goal` holds. `relevant`: the expressions that the goal evaluates. Each tried value counts against
  /// `budget`, those of the innermost loop in part; `most`: the most values of this search. `fixed`: values of some loops, and samples of parameters. None: no such iteration exists, or none was
  /// found, or it is unknown whether it runs.
  using Goal = std::function<bool(const Numbers&)>;
  [[nodiscard]] auto witness(const std::vector<Expr>& relevant, int64_t& budget, const Goal& goal, const Numbers& fixed = {}, int64_t most = 1500) const
      -> std::optional<Numbers>;

  /// "`i` = 15, `j` = 3": the loops among the numbers on which the expressions depend.
  [[nodiscard]] auto in_words(const Numbers& numbers, const std::vector<Expr>& relevant) const -> std::string;

  /// The variables on which an expression depends, through bindings and the bounds of loops.
  [[nodiscard]] auto dependencies(const std::vector<Expr>& exprs) const -> std::vector<const VarNode*>;

 private:
  std::vector<Entry> entries_;
};

/// The condition without `T.likely(c)` and casts to bool around it.
[[nodiscard]] auto plain_condition(const Expr& condition) -> Expr;
/// True for an integer expression that reads no memory and calls no function with effects or an unknown value.
[[nodiscard]] auto is_pure_integer(const Expr& expr) -> bool;
void add_variables(const Expr& expr, std::vector<const VarNode*>& out);

}  // namespace loopsmith::analysis
