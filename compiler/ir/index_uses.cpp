// Finds buffers of indices: see index_uses.h. Each index has a lower and an upper bound, which are sums of loaded elements and constants; a loop variable
// lies between the bounds of its first and last value.
#include "ir/index_uses.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "ir/equal.h"
#include "ir/ops.h"
#include "ir/visitor.h"

namespace loopsmith {
namespace {

/// A sum of loads, each with a factor, and a number.
struct Form {
  struct Term {
    Expr load;
    size_t parameter;
    int64_t factor;
  };
  std::vector<Term> terms;
  int64_t constant = 0;

  [[nodiscard]] auto is_constant() const -> bool { return terms.empty(); }
  [[nodiscard]] auto has_negative() const -> bool {
    return std::any_of(terms.begin(), terms.end(), [](const Term& t) { return t.factor < 0; });
  }
};
struct Bounds {
  Form low, high;
};
using MaybeBounds = std::optional<Bounds>;

auto plus(const Form& a, const Form& b, int64_t sign) -> std::optional<Form> {
  Form out = a;
  int64_t step = 0;
  if (__builtin_mul_overflow(b.constant, sign, &step) || __builtin_add_overflow(out.constant, step, &out.constant)) { return {}; }
  for (const Form::Term& term : b.terms) {
    auto same = std::find_if(out.terms.begin(), out.terms.end(), [&](const Form::Term& t) { return structural_equal(t.load, term.load); });
    if (same == out.terms.end()) { same = out.terms.insert(out.terms.end(), {term.load, term.parameter, 0}); }
    int64_t factor = 0;
    if (__builtin_mul_overflow(term.factor, sign, &factor) || __builtin_add_overflow(same->factor, factor, &same->factor)) { return {}; }
  }
  std::erase_if(out.terms, [](const Form::Term& t) { return t.factor == 0; });
  return out;
}

auto bounded(std::optional<Form> low, std::optional<Form> high) -> MaybeBounds {
  return low && high ? MaybeBounds(Bounds{std::move(*low), std::move(*high)}) : std::nullopt;
}

auto times(const Form& a, int64_t factor) -> std::optional<Form> { return plus({}, a, factor); }
auto constant(int64_t value) -> Form { return {.terms = {}, .constant = value}; }
auto constants(int64_t low, int64_t high) -> Bounds { return {constant(low), constant(high)}; }

class Finder : public Visitor {
 public:
  explicit Finder(const PrimFunc& func) : func_(func) {
    for (size_t i = 0; i < func->params.size(); ++i) {
      Buffer buffer = func->buffer_of(func->params[i]);
      if (!buffer || buffer->dtype.lanes != 1) { continue; }
      if (buffer->dtype.is_integral() && !buffer->dtype.is_bool()) { indices_.emplace(buffer->data.get(), i); }
      if (buffer->dtype.is_real()) { reals_.emplace(buffer->data.get(), i); }
    }
  }

  auto find() -> IndexUses {
    if (indices_.empty() && reals_.empty()) { return {}; }
    collect_stores();
    visit(func_->body);
    return std::move(uses_);
  }

 private:
  using Visitor::on;
  void on(const BufferLoad& node) override {
    access(node.buffer, node.indices);
    Visitor::on(node);
  }
  void on(const BufferStore& node) override {
    access(node.buffer, node.indices);
    Visitor::on(node);
  }
  void on(const For& node) override {
    loops_.emplace(node.var.get(), &node);
    Visitor::on(node);
  }
  void on(const AttrStmt& node) override {
    const auto* iter = node.key == "thread_extent" || node.key == "virtual_thread" ? std::get_if<IterVar>(&node.node) : nullptr;
    if (iter != nullptr) { launched_.emplace(iter->var.get(), node.value); }
    Visitor::on(node);
  }
  void on(const LetStmt& node) override {
    values_.emplace(node.var.get(), node.value);
    Visitor::on(node);
  }
  void on(const Let& node) override {
    values_.emplace(node.var.get(), node.value);
    Visitor::on(node);
  }
  void on(const IfThenElse& node) override {
    ++conditions_;
    Visitor::on(node);
    --conditions_;
  }
  void on(const Call& node) override {
    static const Name if_then_else("if_then_else");
    const int more = node.op == if_then_else ? 1 : 0;
    conditions_ += more;
    Visitor::on(node);
    conditions_ -= more;
  }
  void on(const BlockRealize& node) override {
    for (size_t i = 0; i < node.iter_values.size() && i < node.block->iter_vars.size(); ++i) { values_.emplace(node.block->iter_vars[i].var.get(), node.iter_values[i]); }
    Visitor::on(node);
  }

  /// Collects the stores to buffers of integers that the function allocates.
  void collect_stores() {
    post_order(func_->body, [&](const Stmt& s) {
      const auto* store = s.as<BufferStore>();
      if (store != nullptr && store->buffer->dtype.is_integral()) { stores_[store->buffer->data.get()].push_back(store->value); }
    }, [](const Expr&) {});
  }

  void access(const Buffer& buffer, const Array<Expr>& indices) {
    for (size_t d = 0; d < indices.size() && d < buffer->shape.size(); ++d) {
      std::vector<size_t> involved = parameters_behind(indices[d]);
      if (!involved.empty()) { add_use(bounds(indices[d], 0), buffer->shape[d], involved); }
    }
  }

  /// The parameters whose elements an index depends on. Each variable and buffer is followed once: a buffer may be stored from its own elements.
  auto parameters_behind(const Expr& index) -> std::vector<size_t> {
    std::vector<size_t> out;
    std::vector<Expr> left = {index};
    std::unordered_set<const VarNode*> followed;
    auto look_for_reals = [&](const Expr& sub) {
      const auto* load = sub.as<BufferLoad>();
      auto found = load ? reals_.find(load->buffer->data.get()) : reals_.end();
      if (found != reals_.end()) { out.push_back(found->second); }
    };
    auto look = [&](const Expr& sub) {
      // An index may be a real that is cast to an integer. Under a condition it is probably tested.
      if (const auto* c = sub.as<Cast>(); c && conditions_ == 0 && c->dtype.is_integral() && c->value.dtype().is_real()) { post_order(c->value, look_for_reals); }
      const auto* load = sub.as<BufferLoad>();
      const auto* v = load ? load->buffer->data.get() : sub.as<VarNode>();
      if (v == nullptr || !followed.insert(v).second) { return; }
      if (auto found = indices_.find(v); load && found != indices_.end()) { out.push_back(found->second); }
      else if (auto stored = stores_.find(v); load && stored != stores_.end()) { left.insert(left.end(), stored->second.begin(), stored->second.end()); }
      if (auto value = values_.find(v); value != values_.end()) { left.push_back(value->second); }
      if (auto loop = loops_.find(v); loop != loops_.end()) {
        left.push_back(loop->second->min);
        left.push_back(loop->second->extent);
      }
    };
    while (!left.empty()) {
      Expr next = std::move(left.back());
      left.pop_back();
      post_order(next, look);
    }
    return out;
  }

  void add_use(const MaybeBounds& between, const Expr& extent, const std::vector<size_t>& involved) {
    // With a negative factor, each bound would need ends of both ranges.
    if (!between || between->low.has_negative() || between->high.has_negative()) {
      uses_.unknown.insert(uses_.unknown.end(), involved.begin(), involved.end());
      return;
    }
    int64_t scale = 0;
    for (const Form::Term& term : between->high.terms) { scale += term.factor; }
    for (const Form::Term& term : between->high.terms) {
      uses_.known.push_back({term.parameter, extent, scale, between->low.is_constant() ? 0 : between->low.constant, between->high.constant});
    }
  }

  auto bounds(const Expr& e, int depth) -> MaybeBounds {
    if (depth > most_steps) { return {}; }
    if (auto value = as_int(e)) { return constants(*value, *value); }
    switch (e.kind()) {
      case NodeKind::VarNode: return bounds_of_variable(*e.as<VarNode>(), depth);
      case NodeKind::BufferLoad: return bounds_of_load(e, depth);
      case NodeKind::Cast: return e.as<Cast>()->value.dtype().is_integral() ? bounds(e.as<Cast>()->value, depth + 1) : std::nullopt;
      case NodeKind::Broadcast: return bounds(e.as<Broadcast>()->value, depth + 1);
      case NodeKind::Ramp: return bounds_of_ramp(*e.as<Ramp>(), depth);
      case NodeKind::Add:
      case NodeKind::Sub:
      case NodeKind::Mul:
      case NodeKind::Div:
      case NodeKind::FloorDiv:
      case NodeKind::Mod:
      case NodeKind::FloorMod:
      case NodeKind::Min:
      case NodeKind::Max: return bounds_of_binary(e.kind(), *static_cast<const BinaryNode*>(e.get()), depth);
      case NodeKind::Select: return joined(bounds(e.as<Select>()->true_value, depth + 1), bounds(e.as<Select>()->false_value, depth + 1));
      case NodeKind::Call: return bounds_of_call(*e.as<Call>(), depth);
      default: return {};
    }
  }

  auto bounds_of_variable(const VarNode& v, int depth) -> MaybeBounds {
    if (auto value = values_.find(&v); value != values_.end()) { return bounds(value->second, depth + 1); }
    if (auto launch = launched_.find(&v); launch != launched_.end()) {
      auto count = bounds(launch->second, depth + 1);
      return count ? bounded(constant(0), plus(count->high, constant(1), -1)) : std::nullopt;
    }
    auto loop = loops_.find(&v);
    if (loop == loops_.end()) { return {}; }
    auto first = bounds(loop->second->min, depth + 1), count = bounds(loop->second->extent, depth + 1);
    if (!first || !count) { return {}; }
    auto end = plus(first->high, count->high, 1);
    return bounded(first->low, end ? plus(*end, constant(1), -1) : std::nullopt);
  }

  auto bounds_of_load(const Expr& e, int depth) -> MaybeBounds {
    const auto* load = e.as<BufferLoad>();
    if (auto found = indices_.find(load->buffer->data.get()); found != indices_.end()) {
      Form form{.terms = {{e, found->second, 1}}, .constant = 0};
      return Bounds{form, form};
    }
    const VarNode* data = load->buffer->data.get();
    auto stored = stores_.find(data);
    if (stored == stores_.end()) { return {}; }
    if (stored->second.size() == 1) { return bounds(stored->second[0], depth + 1); }
    // A value computed from the element itself has no bound of its own, unless an operator bounds it: `x[0] = (x[0] + A[i]) % 64`. A buffer is followed once on
    // each path, and with the same knowledge of loops and variables only once at all.
    const size_t known = loops_.size() + values_.size() + launched_.size();
    auto [at, is_new] = of_stores_.try_emplace(data);
    if (!is_new && (at->second.is_open || at->second.known == known)) { return at->second.is_open ? std::nullopt : at->second.between; }
    at->second = {.known = known, .is_open = true, .between = {}};
    MaybeBounds all = bounds(stored->second[0], depth + 1);
    for (size_t i = 1; i < stored->second.size() && all; ++i) { all = joined(all, bounds(stored->second[i], depth + 1)); }
    of_stores_[data] = {.known = known, .is_open = false, .between = all};
    return all;
  }

  auto bounds_of_call(const Call& n, int depth) -> MaybeBounds {
    static const Name bitwise_and("bitwise_and"), if_then_else("if_then_else");
    if (n.op == if_then_else && n.args.size() == 3) { return joined(bounds(n.args[1], depth + 1), bounds(n.args[2], depth + 1)); }
    if (!(n.op == bitwise_and) || n.args.size() != 2) { return {}; }
    for (const Expr& arg : n.args) {
      if (auto mask = as_int(arg); mask && *mask >= 0) { return constants(0, *mask); }
    }
    return {};
  }
  /// One of two values.
  static auto joined(const MaybeBounds& a, const MaybeBounds& b) -> MaybeBounds {
    if (!a || !b || !a->low.is_constant() || !b->low.is_constant() || !a->high.is_constant() || !b->high.is_constant()) { return {}; }
    return constants(std::min(a->low.constant, b->low.constant), std::max(a->high.constant, b->high.constant));
  }

  auto bounds_of_ramp(const Ramp& n, int depth) -> MaybeBounds {
    auto base = bounds(n.base, depth + 1);
    auto stride = as_int(n.stride);
    if (!base || !stride || *stride < 0) { return {}; }
    return bounded(base->low, plus(base->high, constant(*stride * (n.dtype.lanes - 1)), 1));
  }

  auto bounds_of_binary(NodeKind kind, const BinaryNode& n, int depth) -> MaybeBounds {
    if (kind == NodeKind::FloorMod && as_int(n.b).value_or(0) > 0) { return constants(0, *as_int(n.b) - 1); }
    if (auto clamped = bounds_of_clamp(kind, n)) { return clamped; }
    auto a = bounds(n.a, depth + 1), b = bounds(n.b, depth + 1);
    if (!a || !b) { return {}; }
    const bool is_number = b->low.is_constant() && b->high.is_constant() && b->low.constant == b->high.constant;
    const int64_t number = b->low.constant;
    switch (kind) {
      case NodeKind::Add: return bounded(plus(a->low, b->low, 1), plus(a->high, b->high, 1));
      case NodeKind::Sub: return bounded(plus(a->low, b->high, -1), plus(a->high, b->low, -1));
      case NodeKind::Mul:
        if (!is_number && a->low.is_constant() && a->high.is_constant()) { return a->low.constant == a->high.constant ? scaled(*b, a->low.constant) : std::nullopt; }
        return is_number ? scaled(*a, number) : std::nullopt;
      // Elements are not negative, so a quotient lies between 0 and its dividend; so does a remainder.
      case NodeKind::Div:
      case NodeKind::FloorDiv: return is_number && number > 0 && a->low.constant >= 0 && !a->low.has_negative() ? bounded(constant(0), a->high) : std::nullopt;
      case NodeKind::Mod:
      case NodeKind::FloorMod: return is_number && number > 0 && a->low.constant >= 0 && !a->low.has_negative() ? MaybeBounds(constants(0, number - 1)) : std::nullopt;
      case NodeKind::Min: return bounded(constant(std::min(a->low.constant, b->low.constant)), a->high.is_constant() ? a->high : b->high);
      case NodeKind::Max: {
        if (!a->high.is_constant() && !b->high.is_constant()) { return {}; }
        Form high = a->high.is_constant() ? b->high : a->high;
        high.constant = std::max(a->high.constant, b->high.constant);
        return bounded(constant(std::max(a->low.constant, b->low.constant)), high);
      }
      default: return {};
    }
  }

  /// `max(min(x, 15), 0)` and `min(max(x, 0), 15)`.
  static auto bounds_of_clamp(NodeKind kind, const BinaryNode& n) -> MaybeBounds {
    if (kind != NodeKind::Min && kind != NodeKind::Max) { return {}; }
    const NodeKind other = kind == NodeKind::Min ? NodeKind::Max : NodeKind::Min;
    for (const auto& [outer, rest] : {std::pair(n.a, n.b), std::pair(n.b, n.a)}) {
      auto end = as_int(outer);
      if (!end || rest.kind() != other) { continue; }
      const auto& inner = *static_cast<const BinaryNode*>(rest.get());
      auto start = as_int(inner.b) ? as_int(inner.b) : as_int(inner.a);
      if (start) { return constants(std::min(*start, *end), std::max(*start, *end)); }
    }
    return {};
  }

  static auto scaled(const Bounds& inner, int64_t factor) -> MaybeBounds {
    return factor >= 0 ? bounded(times(inner.low, factor), times(inner.high, factor)) : bounded(times(inner.high, factor), times(inner.low, factor));
  }

  static constexpr int most_steps = 12;
  const PrimFunc& func_;
  std::unordered_map<const VarNode*, size_t> indices_;               // the data of parameters that may contain indices
  std::unordered_map<const VarNode*, size_t> reals_;                 // the data of parameters of reals
  std::unordered_map<const VarNode*, std::vector<Expr>> stores_;
  struct OfStores {
    size_t known = 0;          // the number of loops and variables known then
    bool is_open = false;      // being computed
    MaybeBounds between = {};
  };
  std::unordered_map<const VarNode*, OfStores> of_stores_;            // of buffers with several stores
  std::unordered_map<const VarNode*, Expr> values_;
  std::unordered_map<const VarNode*, const For*> loops_;
  std::unordered_map<const VarNode*, Expr> launched_;                // the extents of launches
  int conditions_ = 0;                                               // around the current statement or expression
  IndexUses uses_;
};

}  // namespace

auto index_uses(const PrimFunc& func) -> IndexUses { return Finder(func).find(); }

void IndexRange::narrow(const IndexUse& use, int64_t extent) {
  int64_t room = 0;
  if (__builtin_sub_overflow(extent, 1, &room) || __builtin_sub_overflow(room, use.high, &room)) { return; }
  last = std::min(last, room < 0 ? -1 : room / use.scale);
  if (use.low < 0) { first = std::max(first, (-use.low + use.scale - 1) / use.scale); }
}

}  // namespace loopsmith
