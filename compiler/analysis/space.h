// The iterations that reach a place of a program: loops around it, what iter vars and let variables stand for, and
// conditions that hold there. Questions about them are answered by looking for a witness: an iteration, as concrete
// numbers, that really runs. So whatever is reported of an iteration is true; what is not found is not reported.
//
// Constant extents are tried first and last value first, then all values, within a budget of visited values that one
// function's analyses share. Symbolic extents: `first_or_last` gives the corners as expressions, for the prover.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ir/ir.h"

namespace loopsmith::analysis {

/// Integer variables with numbers for values. Small: looked through from the end.
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

/// The value of an integer or boolean expression; none where it reads memory, calls what is not known, overflows, or uses
/// a variable without a number.
[[nodiscard]] auto evaluate(const Expr& expr, const Numbers& numbers) -> std::optional<int64_t>;

struct Interval { int64_t min = 0, max = 0; };

/// What is around a place, outermost first.
class Space {
 public:
  enum class Kind : uint8_t { Loop, Thread, Binding, Guard };
  struct Entry {
    Kind kind{};
    const VarNode* var = nullptr;   // Loop, Thread, Binding
    Expr min, extent;               // Loop, Thread
    Expr value;                     // Binding: what the variable stands for. Guard: what holds
    bool negated = false;           // Guard: it does not hold
    const For* loop = nullptr;      // Loop
    Origin origin;
  };

  void push(Entry entry) { entries_.push_back(std::move(entry)); }
  void pop(size_t size) { entries_.resize(size); }
  [[nodiscard]] auto size() const -> size_t { return entries_.size(); }
  [[nodiscard]] auto entries() const -> const std::vector<Entry>& { return entries_; }
  [[nodiscard]] auto find(const VarNode* var) const -> const Entry*;

  /// Bounds of an expression over all iterations, conditions left aside; none where an end is not a number.
  [[nodiscard]] auto interval(const Expr& expr) const -> std::optional<Interval>;

  /// An iteration that runs and for which `goal` holds. `relevant`: expressions the goal looks at. `budget` is taken from.
  /// `fixed`: values of some loops, and samples of parameters. None: there is none, or none was found, or whether it runs
  /// cannot be told. `most`: values that this search may try.
  using Goal = std::function<bool(const Numbers&)>;
  [[nodiscard]] auto witness(const std::vector<Expr>& relevant, int64_t& budget, const Goal& goal, const Numbers& fixed = {}, int64_t most = 1500) const
      -> std::optional<Numbers>;

  /// "`i` = 15, `j` = 3": the loops among the numbers that matter to the expressions.
  [[nodiscard]] auto in_words(const Numbers& numbers, const std::vector<Expr>& relevant) const -> std::string;

  /// The variables an expression depends on, through bindings and the bounds of loops.
  [[nodiscard]] auto dependencies(const std::vector<Expr>& exprs) const -> std::vector<const VarNode*>;

 private:
  std::vector<Entry> entries_;
};

/// `T.likely(c)` and casts to bool taken off.
[[nodiscard]] auto plain_condition(const Expr& condition) -> Expr;
/// Does it read memory, or call what has an effect or a value not known here?
[[nodiscard]] auto is_pure_integer(const Expr& expr) -> bool;
void add_variables(const Expr& expr, std::vector<const VarNode*>& out);

}  // namespace loopsmith::analysis
