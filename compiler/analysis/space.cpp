// Iterations as numbers: see space.h.
#include "analysis/space.h"

#include <fmt/format.h>

#include <algorithm>

#include "arith/analyzer.h"
#include "ir/ops.h"
#include "ir/visitor.h"

namespace loopsmith::analysis {
namespace {

auto floor_div(int64_t a, int64_t b) -> int64_t {
  int64_t q = a / b;
  return (a % b != 0 && ((a < 0) != (b < 0))) ? q - 1 : q;
}

auto contains(const std::vector<const VarNode*>& vars, const VarNode* var) -> bool {
  return std::find(vars.begin(), vars.end(), var) != vars.end();
}

/// The deepest expression that is evaluated; a deeper one has no value.
constexpr int deepest = 200;

auto value_of(const Expr& expr, const Numbers& numbers, int depth) -> std::optional<int64_t>;

auto binary_value(const BinaryNode& n, const Numbers& numbers, int depth) -> std::optional<int64_t> {
  auto a = value_of(n.a, numbers, depth + 1);
  // The right operand may be unknown if the left one decides.
  if (n.kind == NodeKind::And && a && *a == 0) { return 0; }
  if (n.kind == NodeKind::Or && a && *a != 0) { return 1; }
  auto b = value_of(n.b, numbers, depth + 1);
  if (n.kind == NodeKind::And && b && *b == 0) { return 0; }
  if (n.kind == NodeKind::Or && b && *b != 0) { return 1; }
  if (!a || !b) { return {}; }
  int64_t out = 0;
  switch (n.kind) {
    case NodeKind::Add: return __builtin_add_overflow(*a, *b, &out) ? std::nullopt : std::optional(out);
    case NodeKind::Sub: return __builtin_sub_overflow(*a, *b, &out) ? std::nullopt : std::optional(out);
    case NodeKind::Mul: return __builtin_mul_overflow(*a, *b, &out) ? std::nullopt : std::optional(out);
    case NodeKind::Div: case NodeKind::Mod: case NodeKind::FloorDiv: case NodeKind::FloorMod:
      if (*b == 0 || *b == -1) { return {}; }
      if (n.kind == NodeKind::Div) { return *a / *b; }
      if (n.kind == NodeKind::Mod) { return *a % *b; }
      if (n.kind == NodeKind::FloorDiv) { return floor_div(*a, *b); }
      return *a - floor_div(*a, *b) * *b;
    case NodeKind::Min: return std::min(*a, *b);
    case NodeKind::Max: return std::max(*a, *b);
    case NodeKind::EQ: return *a == *b;
    case NodeKind::NE: return *a != *b;
    case NodeKind::LT: return *a < *b;
    case NodeKind::LE: return *a <= *b;
    case NodeKind::GT: return *a > *b;
    case NodeKind::GE: return *a >= *b;
    case NodeKind::And: return *a != 0 && *b != 0;
    case NodeKind::Or: return *a != 0 || *b != 0;
    default: return {};
  }
}

auto value_of(const Expr& expr, const Numbers& numbers, int depth) -> std::optional<int64_t> {
  if (depth > deepest || !expr) { return {}; }
  DataType t = expr.dtype();
  if (!t.is_integral() || !t.is_scalar()) { return {}; }
  switch (expr.kind()) {
    case NodeKind::IntImm: return expr.as<IntImm>()->value;
    case NodeKind::VarNode: {
      const int64_t* found = numbers.find(expr.as<VarNode>());
      return found ? std::optional(*found) : std::nullopt;
    }
    case NodeKind::Add: case NodeKind::Sub: case NodeKind::Mul: case NodeKind::Div: case NodeKind::Mod: case NodeKind::FloorDiv:
    case NodeKind::FloorMod: case NodeKind::Min: case NodeKind::Max: case NodeKind::EQ: case NodeKind::NE: case NodeKind::LT:
    case NodeKind::LE: case NodeKind::GT: case NodeKind::GE: case NodeKind::And: case NodeKind::Or: {
      auto value = binary_value(*static_cast<const BinaryNode*>(expr.get()), numbers, depth);
      // A result that does not fit its type would wrap: it counts as unknown.
      if (value && t.is_int() && t.bits < 64 && (*value >= (int64_t{1} << (t.bits - 1)) || *value < -(int64_t{1} << (t.bits - 1)))) { return {}; }
      if (value && t.is_uint() && *value < 0) { return {}; }
      return value;
    }
    case NodeKind::Not: {
      auto a = value_of(expr.as<Not>()->a, numbers, depth + 1);
      return a ? std::optional<int64_t>(*a == 0) : std::nullopt;
    }
    case NodeKind::Cast: {
      const auto* c = expr.as<Cast>();
      auto a = value_of(c->value, numbers, depth + 1);
      if (!a) { return {}; }
      if (t.is_bool()) { return *a != 0; }
      if (t.bits < 64 && (*a >= (int64_t{1} << (t.bits - 1)) || *a < -(int64_t{1} << (t.bits - 1)))) { return {}; }
      return a;
    }
    case NodeKind::Select: {
      const auto* s = expr.as<Select>();
      auto c = value_of(s->condition, numbers, depth + 1);
      return c ? value_of(*c ? s->true_value : s->false_value, numbers, depth + 1) : std::nullopt;
    }
    case NodeKind::Call: {
      const auto* c = expr.as<Call>();
      static const Name likely("likely"), if_then_else("if_then_else"), left("shift_left"), right("shift_right"), bit_and("bitwise_and");
      if (c->op == likely && c->args.size() == 1) { return value_of(c->args[0], numbers, depth + 1); }
      if (c->op == if_then_else && c->args.size() == 3) {
        auto condition = value_of(c->args[0], numbers, depth + 1);
        return condition ? value_of(c->args[*condition ? 1 : 2], numbers, depth + 1) : std::nullopt;
      }
      if ((c->op == left || c->op == right || c->op == bit_and) && c->args.size() == 2) {
        auto a = value_of(c->args[0], numbers, depth + 1);
        auto b = value_of(c->args[1], numbers, depth + 1);
        if (!a || !b) { return {}; }
        if (c->op == bit_and) { return *a & *b; }
        if (*b < 0 || *b > 30 || *a < 0 || *a > (int64_t{1} << 30)) { return {}; }
        return c->op == left ? *a << *b : *a >> *b;
      }
      return {};
    }
    default: return {};
  }
}

}  // namespace

auto evaluate(const Expr& expr, const Numbers& numbers) -> std::optional<int64_t> { return value_of(expr, numbers, 0); }

auto plain_condition(const Expr& condition) -> Expr {
  static const Name likely("likely");
  if (const auto* c = condition.as<Call>(); c && c->op == likely && c->args.size() == 1) { return plain_condition(c->args[0]); }
  return condition;
}

void add_variables(const Expr& expr, std::vector<const VarNode*>& out) {
  if (const auto* v = expr.as<VarNode>()) {
    if (!contains(out, v)) { out.push_back(v); }
    return;
  }
  visit_children(expr, [&](const Expr& child) { add_variables(child, out); });
}

auto is_pure_integer(const Expr& expr) -> bool {
  if (expr.as<BufferLoad>() || !expr.dtype().is_integral()) { return false; }
  if (const auto* c = expr.as<Call>()) {
    static const Name likely("likely"), if_then_else("if_then_else"), left("shift_left"), right("shift_right"), bit_and("bitwise_and");
    if (c->op != likely && c->op != if_then_else && c->op != left && c->op != right && c->op != bit_and) { return false; }
  }
  bool pure = true;
  visit_children(expr, [&](const Expr& child) { pure = pure && is_pure_integer(child); });
  return pure;
}

auto Space::find(const VarNode* var) const -> const Entry* {
  for (size_t i = entries_.size(); i-- > 0;) {
    if (entries_[i].var == var) { return &entries_[i]; }
  }
  return nullptr;
}

auto Space::dependencies(const std::vector<Expr>& exprs) const -> std::vector<const VarNode*> {
  std::vector<const VarNode*> out;
  for (const Expr& e : exprs) { add_variables(e, out); }
  for (size_t i = 0; i < out.size(); ++i) {
    const Entry* entry = find(out[i]);
    if (!entry) { continue; }
    if (entry->kind == Kind::Binding) {
      add_variables(entry->value, out);
    } else {
      add_variables(entry->min, out);
      add_variables(entry->extent, out);
    }
  }
  return out;
}

// ---- intervals ---------------------------------------------------------------------------------------------------

namespace {

constexpr int64_t limit = int64_t{1} << 40;   // a larger bound counts as unknown

auto checked(int64_t min, int64_t max) -> std::optional<Interval> {
  if (min < -limit || max > limit) { return {}; }
  return Interval{min, max};
}

auto interval_of(const Expr& expr, const Space& space, int depth) -> std::optional<Interval> {
  if (depth > 60 || !expr || !expr.dtype().is_integral() || !expr.dtype().is_scalar()) { return {}; }
  if (const auto* i = expr.as<IntImm>()) { return checked(i->value, i->value); }
  if (const auto* v = expr.as<VarNode>()) {
    const Space::Entry* entry = space.find(v);
    if (!entry) { return {}; }
    if (entry->kind == Space::Kind::Binding) { return interval_of(entry->value, space, depth + 1); }
    auto min = interval_of(entry->min, space, depth + 1);
    auto extent = interval_of(entry->extent, space, depth + 1);
    if (!min || !extent) { return {}; }
    return checked(min->min, min->max + std::max<int64_t>(extent->max, 1) - 1);
  }
  if (const auto* c = expr.as<Cast>()) {
    auto inner = interval_of(c->value, space, depth + 1);
    if (!inner || c->dtype.bits < 32) { return {}; }
    return inner;
  }
  auto both = [&](auto f) -> std::optional<Interval> {
    const auto& n = *static_cast<const BinaryNode*>(expr.get());
    auto a = interval_of(n.a, space, depth + 1);
    auto b = interval_of(n.b, space, depth + 1);
    if (!a || !b) { return {}; }
    return f(*a, *b);
  };
  switch (expr.kind()) {
    case NodeKind::Add: return both([](Interval a, Interval b) { return checked(a.min + b.min, a.max + b.max); });
    case NodeKind::Sub: return both([](Interval a, Interval b) { return checked(a.min - b.max, a.max - b.min); });
    case NodeKind::Mul:
      return both([](Interval a, Interval b) -> std::optional<Interval> {
        for (int64_t x : {a.min, a.max, b.min, b.max}) {
          if (x > (int64_t{1} << 30) || x < -(int64_t{1} << 30)) { return {}; }
        }
        auto all = {a.min * b.min, a.min * b.max, a.max * b.min, a.max * b.max};
        return checked(std::min(all), std::max(all));
      });
    case NodeKind::FloorDiv: case NodeKind::Div:
      return both([](Interval a, Interval b) -> std::optional<Interval> {
        if (b.min != b.max || b.min <= 0) { return {}; }
        return Interval{floor_div(a.min, b.min), floor_div(a.max, b.min)};
      });
    case NodeKind::FloorMod: case NodeKind::Mod:
      return both([&](Interval a, Interval b) -> std::optional<Interval> {
        if (b.min != b.max || b.min <= 0 || (expr.kind() == NodeKind::Mod && a.min < 0)) { return {}; }
        if (floor_div(a.min, b.min) == floor_div(a.max, b.min)) {
          int64_t base = floor_div(a.min, b.min) * b.min;
          return Interval{a.min - base, a.max - base};
        }
        return Interval{0, b.min - 1};
      });
    case NodeKind::Min: return both([](Interval a, Interval b) { return checked(std::min(a.min, b.min), std::min(a.max, b.max)); });
    case NodeKind::Max: return both([](Interval a, Interval b) { return checked(std::max(a.min, b.min), std::max(a.max, b.max)); });
    default: return {};
  }
}

}  // namespace

auto Space::interval(const Expr& expr) const -> std::optional<Interval> { return interval_of(expr, *this, 0); }

// ---- witnesses ---------------------------------------------------------------------------------------------------

namespace {

/// The last value of a loop, below `min` if the loop is empty. None: it overflows 64 bits.
auto last_value(int64_t min, int64_t extent) -> std::optional<int64_t> {
  int64_t last = 0;
  return __builtin_add_overflow(min, std::max<int64_t>(extent, 0) - 1, &last) ? std::nullopt : std::optional(last);
}

/// One search: goes through entries in order, and checks each condition as soon as all its variables have values.
class Search {
 public:
  Search(const Space& space, const std::vector<Expr>& relevant, int64_t& budget, const Space::Goal& goal, const Numbers& fixed)
      : budget_(budget), goal_(goal), numbers_(fixed) {
    std::vector<Expr> matters = relevant;
    for (const Space::Entry& e : space.entries()) {
      if (e.kind == Space::Kind::Guard) { matters.push_back(e.value); }
    }
    relevant_ = space.dependencies(matters);
    // Checks a condition after the last variable that it uses.
    std::vector<const VarNode*> known;
    for (const auto& item : fixed.items()) { known.push_back(item.first); }
    struct Waiting { Expr condition; bool negated; std::vector<const VarNode*> needs; };
    std::vector<Waiting> waiting;
    auto release = [&] {
      for (size_t i = 0; i < waiting.size();) {
        bool ready = std::all_of(waiting[i].needs.begin(), waiting[i].needs.end(), [&](const VarNode* v) { return contains(known, v); });
        if (!ready) { ++i; continue; }
        Space::Entry guard;
        guard.kind = Space::Kind::Guard;
        guard.value = waiting[i].condition;
        guard.negated = waiting[i].negated;
        steps_.push_back(std::move(guard));
        waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(i));
      }
    };
    // Registers all conditions at the beginning: one inside of a loop may depend on outer loops alone.
    for (const Space::Entry& e : space.entries()) {
      if (e.kind != Space::Kind::Guard) { continue; }
      auto wait = [&](const Expr& condition) {
        Waiting w{condition, e.negated, {}};
        add_variables(condition, w.needs);
        waiting.push_back(std::move(w));
      };
      if (e.negated) { wait(e.value); continue; }
      for (const Expr& part : arith::split_conjunction(e.value)) { wait(part); }
    }
    for (const Space::Entry& e : space.entries()) {
      if (e.kind == Space::Kind::Guard) { continue; }
      steps_.push_back(e);
      if (!contains(known, e.var)) { known.push_back(e.var); }
      release();
    }
    if (!waiting.empty()) { hopeless_ = true; }
  }

  auto run(int64_t most) -> std::optional<Numbers> {
    if (hopeless_) { return {}; }
    for (bool all : {false, true}) {
      all_ = all;
      stop_ = false;
      truncated_ = false;
      left_ = std::min<int64_t>(budget_, all ? most : 500);
      int64_t before = left_;
      bool found = step(0);
      budget_ -= before - left_;
      if (found) { return found_; }
      // If no loop has values between the first and the last, all values have been tried.
      if (stop_ || !truncated_ || budget_ <= 0) { break; }
    }
    return {};
  }

 private:
  static constexpr int64_t iterations_per_value = 64;

  auto step(size_t at) -> bool {
    if (left_ <= 0) { return false; }
    if (at == steps_.size()) {
      if (goal_(numbers_)) {
        found_ = numbers_;
        return true;
      }
      // An innermost loop of billions of iterations must end as well. Its iterations are cheap, so several of them count as one value.
      if (++refused_ % iterations_per_value == 0) { --left_; }
      return false;
    }
    const Space::Entry& e = steps_[at];
    if (e.kind == Space::Kind::Guard) {
      auto holds = evaluate(e.value, numbers_);
      if (!holds) { stop_ = true; return false; }
      if ((*holds != 0) != e.negated) { return step(at + 1); }
      --left_;   // the loops around go on: each of their values counts
      return false;
    }
    --left_;
    if (numbers_.find(e.var) != nullptr) {
      // A value that is fixed from outside counts only if the loop reaches it.
      auto min = e.min ? evaluate(e.min, numbers_) : std::nullopt;
      auto extent = e.extent ? evaluate(e.extent, numbers_) : std::nullopt;
      int64_t value = *numbers_.find(e.var);
      auto last = min && extent ? last_value(*min, *extent) : std::nullopt;
      if (!last || value < *min || value > *last) { return false; }
      return step(at + 1);
    }
    if (e.kind == Space::Kind::Binding) {
      auto value = evaluate(e.value, numbers_);
      if (!value) {
        // The variable has no value; neither has an expression that needs it.
        return step(at + 1);
      }
      numbers_.push(e.var, *value);
      bool found = step(at + 1);
      numbers_.pop();
      return found;
    }
    auto min = evaluate(e.min, numbers_);
    auto extent = evaluate(e.extent, numbers_);
    auto end = min && extent ? last_value(*min, *extent) : std::nullopt;
    if (!end) { stop_ = true; return false; }
    if (*extent <= 0) { return false; }
    auto attempt = [&](int64_t value) {
      numbers_.push(e.var, value);
      bool found = step(at + 1);
      numbers_.pop();
      return found;
    };
    const int64_t last = *end;
    if (!contains(relevant_, e.var)) { return attempt(*min); }
    if (attempt(last)) { return true; }
    if (stop_ || last == *min) { return false; }
    if (attempt(*min)) { return true; }
    if (*extent > 2) { truncated_ = true; }
    if (!all_) { return false; }
    for (int64_t lo = *min + 1, hi = last - 1; lo <= hi && !stop_ && left_ > 0; ++lo, --hi) {
      if (attempt(hi)) { return true; }
      if (lo < hi && attempt(lo)) { return true; }
    }
    return false;
  }

  int64_t& budget_;
  const Space::Goal& goal_;
  Numbers numbers_;
  std::vector<const VarNode*> relevant_;
  std::vector<Space::Entry> steps_;
  std::optional<Numbers> found_;
  int64_t left_ = 0;
  int64_t refused_ = 0;     // iterations that reach the place, and for which the goal does not hold
  bool hopeless_ = false;   // a condition uses a variable without a value
  bool stop_ = false;       // an entry cannot be evaluated
  bool all_ = false;
  bool truncated_ = false;
};

}  // namespace

auto Space::witness(const std::vector<Expr>& relevant, int64_t& budget, const Goal& goal, const Numbers& fixed, int64_t most) const -> std::optional<Numbers> {
  if (budget <= 0) { return {}; }
  return Search(*this, relevant, budget, goal, fixed).run(most);
}

auto Space::in_words(const Numbers& numbers, const std::vector<Expr>& relevant) const -> std::string {
  std::vector<const VarNode*> vars = dependencies(relevant);
  std::string out;
  for (const Entry& e : entries_) {
    if ((e.kind != Kind::Loop && e.kind != Kind::Thread) || !contains(vars, e.var)) { continue; }
    if (const int64_t* value = numbers.find(e.var)) { out += fmt::format("{}`{}` = {}", out.empty() ? "" : ", ", e.var->name.view(), *value); }
  }
  return out;
}

}  // namespace loopsmith::analysis
