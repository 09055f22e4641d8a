// Conditions in conjunctive normal form, and simplifications of that form: merging two alternatives of a disjunction
// (b < 10 or 10 < b is b != 10), merging disjunctions that differ in one alternative, dropping implied disjunctions.
//
//     (a or b) and (a or c)   ==>   a or (b and c),   where b and c is simpler than its parts
//
// The form can be exponentially larger than the condition: with more than `max_clauses` clauses a condition stays unchanged.
#include <algorithm>
#include <vector>

#include "arith/state.h"
#include "ir/ops.h"

namespace loopsmith::arith {
namespace {

constexpr size_t max_clauses = 64;
constexpr size_t max_alternatives = 16;

using Clause = std::vector<Expr>;       // a disjunction; empty: false
using Clauses = std::vector<Clause>;    // a conjunction; empty: true

auto is_in(const Clause& clause, const Expr& e) -> bool {
  return std::any_of(clause.begin(), clause.end(), [&](const Expr& x) { return deep_equal(x, e); });
}
auto is_part_of(const Clause& a, const Clause& b) -> bool {
  return std::all_of(a.begin(), a.end(), [&](const Expr& e) { return is_in(b, e); });
}

// False when the number of clauses exceeds the limit.
auto collect(const Expr& e, Clauses& out, int depth) -> bool {
  if (depth > Analyzer::State::max_depth) { return false; }
  if (const auto* both = e.as<And>()) { return collect(both->a, out, depth + 1) && collect(both->b, out, depth + 1); }
  const auto* either = e.as<Or>();
  if (!either) {
    out.push_back({e});
    return out.size() <= max_clauses;
  }
  Clauses left, right;
  if (!collect(either->a, left, depth + 1) || !collect(either->b, right, depth + 1)) { return false; }
  if (left.size() * right.size() + out.size() > max_clauses) { return false; }
  for (const Clause& a : left) {
    for (const Clause& b : right) {
      Clause joined = a;
      for (const Expr& x : b) { if (!is_in(joined, x)) { joined.push_back(x); } }
      if (joined.size() > max_alternatives) { return false; }
      out.push_back(std::move(joined));
    }
  }
  return true;
}

class NormalForm {
 public:
  NormalForm(Analyzer& analyzer, Clauses clauses) : analyzer_(analyzer), clauses_(std::move(clauses)) {}

  void simplify() {
    for (Clause& clause : clauses_) {
      for (size_t i = 0; i < clause.size(); ++i) {
        for (size_t j = i + 1; j < clause.size(); ++j) { merge(clause[i], clause[j], false); }
      }
    }
    drop_constants();
    for (size_t i = 0; i < clauses_.size(); ++i) {
      for (size_t j = i + 1; j < clauses_.size(); ++j) { across(clauses_[i], clauses_[j]); }
    }
    drop_constants();
  }

  [[nodiscard]] auto expr() const -> Expr {
    Expr all = bool_imm(true);
    for (const Clause& clause : clauses_) {
      Expr any = bool_imm(false);
      for (const Expr& e : clause) { any = logical_or(any, e); }
      all = logical_and(all, any);
    }
    return all;
  }

 private:
  // Simplifies `a and b` or `a or b`: to two parts, or to one part and the neutral constant.
  void merge(Expr& a, Expr& b, bool is_and) {
    Expr joint = is_and ? logical_and(a, b) : logical_or(a, b);
    Expr simpler = analyzer_.simplify(joint);
    if (deep_equal(simpler, joint)) { return; }
    const BinaryNode* parts = is_and ? static_cast<const BinaryNode*>(simpler.as<And>()) : simpler.as<Or>();
    if (parts) {
      Expr first = parts->a, second = parts->b;
      a = std::move(first);
      b = std::move(second);
    } else {
      a = bool_imm(is_and);
      b = std::move(simpler);
    }
  }

  void across(Clause& a, Clause& b) {
    if (a.size() == 1 && b.size() == 1) { return merge(a[0], b[0], true); }
    // A clause that contains all alternatives of another one follows from it.
    if (is_part_of(a, b)) { b = {bool_imm(true)}; return; }
    if (is_part_of(b, a)) { a = {bool_imm(true)}; return; }
    if (a.size() != b.size()) { return; }
    auto own = [](Clause& x, const Clause& other) { return std::find_if(x.begin(), x.end(), [&](const Expr& e) { return !is_in(other, e); }); };
    auto shared = static_cast<size_t>(std::count_if(b.begin(), b.end(), [&](const Expr& e) { return is_in(a, e); }));
    if (shared + 1 != a.size()) { return; }
    auto x = own(a, b), y = own(b, a);
    if (x != a.end() && y != b.end()) { merge(*x, *y, true); }
  }

  void drop_constants() {
    for (Clause& clause : clauses_) {
      if (std::any_of(clause.begin(), clause.end(), is_one)) { clause = {bool_imm(true)}; }
      std::erase_if(clause, is_zero);
    }
    if (std::any_of(clauses_.begin(), clauses_.end(), [](const Clause& c) { return c.empty(); })) { clauses_ = {{}}; return; }
    std::erase_if(clauses_, [](const Clause& c) { return c.size() == 1 && is_one(c[0]); });
  }

  Analyzer& analyzer_;
  Clauses clauses_;
};

}  // namespace

auto simplify_as_and_of_ors(Analyzer::State& state, const Expr& condition) -> Expr {
  // Disables this simplification while it simplifies parts.
  struct Disable {
    uint8_t& extensions;
    uint8_t before;
    explicit Disable(uint8_t& e) : extensions(e), before(e) { extensions &= static_cast<uint8_t>(~convert_boolean_to_and_of_ors); }
    ~Disable() { extensions = before; }
  } disable(state.extensions);
  Expr simplified = state.owner->simplify(condition);
  Clauses clauses;
  if (!collect(simplified, clauses, 0)) { return simplified; }
  // Duplicate clauses are dropped.
  Clauses distinct;
  for (Clause& clause : clauses) {
    bool known = std::any_of(distinct.begin(), distinct.end(), [&](const Clause& c) { return c.size() == clause.size() && is_part_of(c, clause); });
    if (!known) { distinct.push_back(std::move(clause)); }
  }
  NormalForm form(*state.owner, std::move(distinct));
  form.simplify();
  return form.expr();
}

}  // namespace loopsmith::arith
