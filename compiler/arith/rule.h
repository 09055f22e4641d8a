// Rewrite rules as text, and the engine that applies them.
//
//     {"min(x, y + z * c1) + z * c2", "min(x + z * c2, y)", "c1 == -c2"}
//
// means: an expression of the form on the left becomes the form on the right if the condition holds. Alternatives
// of a pattern are separated by " | ". Names:
//     x y z b1 b2 s1 s2 lanes   any expression; the same name again, an equal one
//     c1 c2 c3                  an integer constant
//     f                         a floating-point constant
// `//` and `%` are floor division and its remainder in patterns and results; in conditions, which compute with
// constants, they are those of C. Conditions may demand proofs: ge0(e): e >= 0; ge1(e): e >= 1; eq0(e): e == 0;
// and index(e): e has an index type, whose arithmetic does not wrap around.
//
// The rules for a kind of node are tried in the order of their table, which is that of TVM 0.19. The tables are
// compiled on first use; rules that cannot match are skipped by the kinds of the operands.
#pragma once

#include <array>
#include <vector>

#include "arith/state.h"

namespace loopsmith::arith {

class Rewriter;

namespace slot {
enum : uint8_t { x, y, z, b1, b2, s1, s2, lanes, c1, c2, c3, f, count };
}

/// The values of a pattern's names; points into the matched expression.
struct Match {
  std::array<const Expr*, slot::count> at{};
  [[nodiscard]] auto operator[](uint8_t name) const -> const Expr& { return *at[name]; }
  [[nodiscard]] auto has(uint8_t name) const -> bool { return at[name] != nullptr; }
  [[nodiscard]] auto integer(uint8_t name) const -> int64_t { return at[name]->as<IntImm>()->value; }
};

enum class On : uint8_t { Index, Vector, Any };   // the allowed types of the node's first operand
enum class Then : uint8_t { Done, Again };        // Again: the result is rewritten in turn

/// A rule written in C++: returns null if it does not apply.
using Native = auto (*)(Rewriter&, const Expr& whole, const Match&) -> Expr;

struct Rule {
  const char* pattern;
  const char* result;
  const char* condition = "";
  Then then = Then::Done;
  On on = On::Index;
  Native native = nullptr;       // replaces result and condition
};

class RuleSet {
 public:
  explicit RuleSet(const std::vector<Rule>& rules);
  /// The result of the first matching rule, or null.
  [[nodiscard]] auto apply(Rewriter& rewriter, const Expr& expr) const -> Expr;

  /// For tests: the number of patterns, and an expression that matches one of them. `parts` are the values of its names; null for
  /// patterns of vectors.
  [[nodiscard]] auto count() const -> size_t { return rules_.size(); }
  [[nodiscard]] auto example(size_t index, const Match& parts, DataType like) const -> Expr;

 private:
  struct Node {
    enum class Op : uint8_t { Bind, Same, BindInt, SameInt, BindFloat, Literal, Truth, Binary, Not, Select, Ramp, Broadcast, Proof };
    Op op;
    NodeKind kind = NodeKind::Add;
    uint8_t name = 0;
    int64_t value = 0;
    std::array<uint16_t, 3> child{};
  };
  struct Compiled {
    uint16_t pattern, result, condition;
    bool has_condition;
    Then then;
    On on;
    Native native;
  };
  class Parser;
  class Engine;
  auto candidates(const Expr& expr) const -> const std::vector<uint16_t>&;
  auto may_fit(const Compiled& rule, int type_class, int a_class, int b_class) const -> bool;

  size_t id_;
  std::vector<Node> nodes_;
  std::vector<Compiled> rules_;
};

// The tables, one file per kind of node in rules/.
auto add_rules() -> const RuleSet&;
auto sub_rules() -> const RuleSet&;
auto mul_rules() -> const RuleSet&;
auto div_rules() -> const RuleSet&;
auto mod_rules() -> const RuleSet&;
auto floordiv_rules() -> const RuleSet&;
auto floormod_rules() -> const RuleSet&;
auto min_rules() -> const RuleSet&;
auto max_rules() -> const RuleSet&;
auto eq_rules() -> const RuleSet&;
auto lt_rules() -> const RuleSet&;
auto not_rules() -> const RuleSet&;
auto and_rules() -> const RuleSet&;
auto or_rules() -> const RuleSet&;

}  // namespace loopsmith::arith
