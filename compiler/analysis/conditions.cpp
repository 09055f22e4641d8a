// Conditions that the loops around them decide, and loops that never run or have no effect.
//
// A condition is decided by the intervals of its operands, by the prover, and, for "always false", by a search for an
// iteration where it holds. In a program that a function made for some sizes, a condition may be needed for other sizes, so
// it is not reported.
#include <fmt/format.h>

#include "analysis/subject.h"
#include "arith/analyzer.h"
#include "ir/ops.h"
#include "ir/printer.h"
#include "ir/visitor.h"
#include "support/codes.h"
#include "support/saturate.h"
#include "support/text.h"

namespace loopsmith::analysis {
namespace {

struct Scopes {
  std::vector<arith::Analyzer::Scope> all;
  ~Scopes() {
    while (!all.empty()) { all.pop_back(); }
  }
};

class Conditions {
 public:
  explicit Conditions(Subject& subject) : subject_(subject), facts_(subject.facts) {}

  void run() {
    if (!subject_.is_instance && !facts_.has_jumps) {
      for (const ConditionFact& c : facts_.conditions) {
        if (subject_.cancel.is_cancelled()) { return; }
        check(c);
      }
    }
    for (const LoopFact& l : facts_.loops) {
      if (subject_.cancel.is_cancelled()) { return; }
      check(l);
    }
  }

 private:
  /// By intervals alone: fast, and enough for most conditions.
  static auto decided(const Expr& condition, const Space& space) -> std::optional<bool> {
    Expr e = plain_condition(condition);
    if (const auto* n = e.as<Not>()) {
      auto inner = decided(n->a, space);
      return inner ? std::optional(!*inner) : std::nullopt;
    }
    if (e.kind() == NodeKind::And || e.kind() == NodeKind::Or) {
      const auto& n = *static_cast<const BinaryNode*>(e.get());
      bool is_and = e.kind() == NodeKind::And;
      auto a = decided(n.a, space);
      auto b = decided(n.b, space);
      if ((a && *a != is_and) || (b && *b != is_and)) { return !is_and; }
      return a && b ? std::optional(is_and) : std::nullopt;
    }
    switch (e.kind()) {
      case NodeKind::LT: case NodeKind::LE: case NodeKind::GT: case NodeKind::GE: case NodeKind::EQ: case NodeKind::NE: break;
      default: return {};
    }
    const auto& n = *static_cast<const BinaryNode*>(e.get());
    auto a = space.interval(n.a);
    auto b = space.interval(n.b);
    if (!a || !b) { return {}; }
    auto less = [](Interval x, Interval y) -> std::optional<bool> {
      if (x.max < y.min) { return true; }
      if (x.min >= y.max) { return false; }
      return {};
    };
    auto negated = [](std::optional<bool> v) { return v ? std::optional(!*v) : v; };
    switch (e.kind()) {
      case NodeKind::LT: return less(*a, *b);
      case NodeKind::GT: return less(*b, *a);
      case NodeKind::GE: return negated(less(*a, *b));
      case NodeKind::LE: return negated(less(*b, *a));
      default: {
        bool apart = a->max < b->min || b->max < a->min;
        bool same = a->min == a->max && b->min == b->max && a->min == b->min;
        if (apart) { return e.kind() == NodeKind::NE; }
        if (same) { return e.kind() == NodeKind::EQ; }
        return {};
      }
    }
  }

  /// By the prover, under the loops and conditions around.
  auto proved(const Expr& condition, const Space& space) -> std::optional<bool> {
    if (subject_.questions <= 0) { return {}; }
    arith::Analyzer analyzer;
    Scopes scopes;
    VarMap values;
    for (const auto& [param, buffer] : facts_.func->buffer_map) {
      for (const Expr& e : buffer->shape) {
        if (const auto* v = e.as<VarNode>(); v && v->dtype.is_int()) { analyzer.mark_non_negative(Var(v)); }
      }
    }
    for (const Space::Entry& e : space.entries()) {
      if (e.kind == Space::Kind::Binding) {
        if (is_pure_integer(e.value)) { values.emplace(e.var, substitute(e.value, values)); }
      } else if (e.kind == Space::Kind::Guard) {
        if (!is_pure_integer(e.value)) { continue; }
        Expr g = substitute(e.value, values);
        scopes.all.push_back(analyzer.enter(e.negated ? logical_not(g) : g));
      } else {
        analyzer.bind(Var(e.var), Range{substitute(e.min, values), substitute(e.extent, values)}, true);
      }
    }
    --subject_.questions;
    switch (analyzer.prove(substitute(plain_condition(condition), values))) {
      case arith::Proof::True: return true;
      case arith::Proof::False: return false;
      case arith::Proof::Unknown: return {};
    }
    return {};
  }

  void check(const ConditionFact& fact) {
    Expr condition = plain_condition(fact.condition);
    if (as_int(condition) || !is_pure_integer(condition) || !condition.origin().is_known()) { return; }
    // A condition over sizes alone holds for some callers and not for others.
    bool over_loops = false;
    for (const VarNode* v : fact.space->dependencies({condition})) {
      const Space::Entry* e = fact.space->find(v);
      over_loops |= e && e->kind != Space::Kind::Binding;
    }
    if (!over_loops) { return; }
    auto answer = decided(condition, *fact.space);
    if (!answer) {
      // If it holds in one iteration and fails in another, there is nothing to prove.
      bool holds = has(condition, true, *fact.space);
      if (holds && has(condition, false, *fact.space)) { return; }
      answer = proved(condition, *fact.space);
      if (answer && *answer != holds && holds) { return; }
    }
    if (!answer) { return; }
    if (*answer && subject_.leaves_bounds) { return; }
    // An assertion should be true. A condition within an expression is cheap, and often comes from inlining.
    if (*answer && fact.kind != ConditionKind::If && fact.kind != ConditionKind::Where) { return; }
    if (mentions_constant(condition.origin())) { return; }
    Code code = *answer ? Code::ConditionAlwaysTrue : Code::ConditionAlwaysFalse;
    Diagnostic d = error(code, condition.origin()).arg("condition", subject_.text(condition));
    std::vector<Expr> exprs{condition};
    for (const VarNode* v : fact.space->dependencies(exprs)) {
      const Space::Entry* e = fact.space->find(v);
      if (!e || !e->loop) { continue; }
      auto min = as_int(e->min);
      auto extent = as_int(e->extent);
      if (min && extent) { (void)std::move(d).note(subject_.header(*e->loop), fmt::format("`{}` runs from {} to {}", v->name.view(), *min, saturating_add(*min, *extent) - 1), e->loop->id); }
    }
    switch (fact.kind) {
      case ConditionKind::If:
        (void)std::move(d).remedy(*answer ? "remove the `if` with its `else`, and keep the statements" : "the statements below never run: remove them, or mend the condition");
        break;
      case ConditionKind::Where:
        (void)std::move(d).remedy(*answer ? "remove the `T.where`" : "the block never runs: mend the condition");
        break;
      case ConditionKind::IfThenElse: case ConditionKind::Select:
        (void)std::move(d).remedy(*answer ? "write the first value alone" : "write the second value alone, or mend the condition");
        break;
      case ConditionKind::Assert: (void)std::move(d).remedy("the assertion always fails: mend the condition"); break;
      case ConditionKind::While: break;
    }
    subject_.report(std::move(d));
  }

  auto has(const Expr& condition, bool wanted, const Space& space) -> bool {
    return space.witness({condition}, subject_.budget, [&](const Numbers& n) {
      auto v = evaluate(condition, n);
      return v && (*v != 0) == wanted;
    }).has_value();
  }

  /// True when the text of the condition uses a constant of the file: the condition may be needed for another value of the constant.
  auto mentions_constant(Origin at) const -> bool {
    syntax::ItemPtr item = subject_.item(at);
    if (!item || at.end > item->text.size()) { return true; }
    std::string_view text = std::string_view(item->text).substr(at.begin, at.end - at.begin);
    for (size_t i = 0; i < text.size();) {
      if (!is_name_part(text[i])) { ++i; continue; }
      size_t end = name_end(text, i);
      std::string_view word = text.substr(i, end - i);
      bool is_attribute = i > 0 && text[i - 1] == '.';
      bool is_number = is_digit(word[0]);
      if (!is_attribute && !is_number && !is_keyword(word) && !is_variable(word)) { return true; }
      i = end;
    }
    return false;
  }
  static auto is_keyword(std::string_view word) -> bool {
    return word == "T" || word == "and" || word == "or" || word == "not" || word == "in" || word == "range" || word == "True" || word == "False";
  }
  auto is_variable(std::string_view word) const -> bool {
    for (const LoopFact& l : facts_.loops) {
      if (l.loop->var->name.view() == word) { return true; }
    }
    for (const BlockFact& b : facts_.blocks) {
      for (const IterVar& iter : b.block->iter_vars) {
        if (iter.var->name.view() == word) { return true; }
      }
    }
    for (const Var& p : facts_.func->params) {
      if (p->name.view() == word) { return true; }
    }
    for (const ConditionFact& c : facts_.conditions) {
      for (const Space::Entry& e : c.space->entries()) {
        if (e.var && e.var->name.view() == word) { return true; }
      }
    }
    return false;
  }

  // An unused value has a separate report.
  static auto computes(const For& loop) -> bool {
    bool found = false;
    post_order(loop.body, [&](const Stmt& s) {
      const auto* evaluated = s.as<Evaluate>();
      found = found || (evaluated && !evaluated->value.as<IntImm>() && !evaluated->value.as<Call>());
    }, [](const Expr&) {});
    return found;
  }

  void check(const LoopFact& fact) {
    auto extent = as_int(fact.loop->extent);
    if (extent && *extent <= 0 && !subject_.is_instance && !mentions_constant(subject_.header(*fact.loop))) {
      subject_.report(error(Code::LoopNeverRuns, subject_.header(*fact.loop)).arg("loop", fact.loop->var->name.view()).arg("extent", *extent)
                          .remedy("correct its bounds: `range(stop)` or `range(start, stop)`, without the stop itself"));
      return;
    }
    if (!fact.has_effect && !fact.has_pointers && !facts_.has_jumps && !computes(*fact.loop)) {
      // Only the outermost loop of a nest is reported.
      for (const LoopFact& other : facts_.loops) {
        if (&other != &fact && !other.has_effect && !other.has_pointers && other.space->size() < fact.space->size() && fact.space->find(other.loop->var.get())) { return; }
      }
      subject_.report(error(Code::LoopWithoutEffect, subject_.header(*fact.loop)).arg("loop", fact.loop->var->name.view()).remedy("remove it, or let it store something"));
    }
  }

  Subject& subject_;
  const Facts& facts_;
};

}  // namespace

void check_conditions(Subject& subject) { Conditions(subject).run(); }

}  // namespace loopsmith::analysis
