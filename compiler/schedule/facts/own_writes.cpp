// Loads and stores of one block instance in the order of its statements: see own_writes.h.
#include "schedule/facts/own_writes.h"

#include <algorithm>
#include <optional>
#include <set>

#include "arith/analyzer.h"
#include "arith/int_set.h"
#include "ir/follow.h"
#include "ir/ops.h"
#include "ir/visitor.h"
#include "schedule/facts/instance_walk.h"

namespace loopsmith::schedule {

namespace {

// Elements of a buffer: an interval in each dimension, both ends inclusive. A box may be empty: then the high end of one interval is one below the low
// end, never less.
struct Interval { Expr low, high; };
using Box = std::vector<Interval>;

constexpr size_t most_boxes = 16;

// True if a statement contains a jump: `break`, `continue` or a return.
auto jumps(const Stmt& stmt) -> bool {
  static const Name ret("ret");
  bool found = false;
  post_order(stmt, [&](const Stmt& s) { found = found || s.as<Break>() || s.as<Continue>(); },
             [&](const Expr& e) { const auto* call = e.as<Call>(); found = found || (call && call->op == ret); });
  return found;
}

// Walks the body of a block and keeps the boxes of elements that it has certainly stored so far.
class Walk {
 public:
  /// `only_stores`: ignores loads.
  Walk(const Buffer& buffer, bool only_stores) : buffer_(buffer), only_stores_(only_stores) {}
  arith::Analyzer analyzer;
  std::vector<Box> stored;
  bool are_loads_covered = true;            // for the loads seen so far
  bool is_opaque = false;                   // the buffer is used in a way that the walk cannot follow

  void bind(const Var& var, const Range& range) {
    analyzer.bind(var, range);
    ranges_.emplace_back(var, range);
  }

  void follow(const Stmt& stmt) {
    switch (stmt.kind()) {
      case NodeKind::SeqStmt:
        for (const Stmt& s : stmt.as<SeqStmt>()->seq) { follow(s); }
        return;
      case NodeKind::BufferStore: return on_store(*stmt.as<BufferStore>());
      case NodeKind::For: return on_loop(*stmt.as<For>());
      case NodeKind::IfThenElse: return on_condition(*stmt.as<IfThenElse>());
      case NodeKind::LetStmt: return on_let(*stmt.as<LetStmt>());
      case NodeKind::While: {
        look(stmt.as<While>()->condition);
        std::vector<Box> before = stored;
        follow(stmt.as<While>()->body);
        stored = std::move(before);
        return;
      }
      case NodeKind::Evaluate: return look(stmt.as<Evaluate>()->value);
      case NodeKind::AttrStmt: return follow(stmt.as<AttrStmt>()->body);
      case NodeKind::AssertStmt: return follow(stmt.as<AssertStmt>()->body);
      case NodeKind::DeclBuffer: return follow(stmt.as<DeclBuffer>()->body);
      case NodeKind::Allocate: return follow(stmt.as<Allocate>()->body);
      default: {
        // The walk does not enter blocks inside.
        std::vector<Box> before = stored;
        visit_children(stmt, [&](const Expr& e) { look(e); }, [&](const Stmt& s) { follow(s); });
        if (stmt.as<BlockRealize>() && mentions(stmt)) { is_opaque = true; }
        stored = std::move(before);
      }
    }
  }

 private:
  void look(const Expr& e) {
    if (only_stores_) { return; }
    static const Name if_then_else_name("if_then_else");
    if (const auto* var = e.as<VarNode>()) { is_opaque = is_opaque || var == buffer_->data.get(); }
    if (const auto* load = e.as<BufferLoad>(); load && load->buffer == buffer_ && are_loads_covered) { are_loads_covered = is_covered(*load); }
    const auto* call = e.as<Call>();
    if (!call || !(call->op == if_then_else_name) || call->args.size() != 3) {
      visit_children(e, [&](const Expr& child) { look(child); });
      return;
    }
    look(call->args[0]);
    {
      auto known = enter(call->args[0]);
      look(call->args[1]);
    }
    auto known = enter(logical_not(call->args[0]));
    look(call->args[2]);
  }

  // A condition on the contents of buffers may become false later, so it is not assumed.
  auto enter(const Expr& condition) -> arith::Analyzer::Scope {
    return looks_up(condition) ? arith::Analyzer::Scope() : analyzer.enter(condition);
  }
  static auto looks_up(const Expr& e) -> bool {
    bool found = false;
    post_order(e, [&](const Expr& part) { found = found || part.as<BufferLoad>() || part.as<Call>(); });
    return found;
  }

  void on_let(const LetStmt& n) {
    look(n.value);
    bool is_plain = n.var->dtype.is_int() && !looks_up(n.value);
    if (is_plain) { analyzer.bind(n.var, n.value); }
    follow(n.body);
    // After the statement its variable is undefined: replaces the variable by its value.
    VarMap value{{n.var.get(), n.value}};
    if (!is_plain) { std::erase_if(stored, [&](const Box& box) { return uses(box, *n.var); }); }
    for (Box& box : stored) {
      for (Interval& i : box) { i = {substitute(i.low, value), substitute(i.high, value)}; }
    }
  }

  void on_store(const BufferStore& store) {
    look(store.value);
    for (const Expr& index : store.indices) { look(index); }
    if (!(store.buffer == buffer_) || store.predicate || store.value.dtype().lanes != 1 || store.value.dtype().scalable) { return; }
    Box box;
    bool is_known = true;
    for (const Expr& index : store.indices) {
      is_known = is_known && index.dtype().lanes == 1 && !looks_up(index);
      box.push_back({index, index});
    }
    if (is_known) { add(std::move(box)); }
  }

  void on_condition(const IfThenElse& n) {
    look(n.condition);
    std::vector<Box> before = stored;
    {
      auto known = enter(n.condition);
      follow(n.then_case);
    }
    std::vector<Box> first = std::exchange(stored, before);
    if (n.else_case) {
      auto known = enter(logical_not(n.condition));
      follow(n.else_case);
    }
    // Keeps the boxes that both branches stored.
    std::vector<Box> second = std::exchange(stored, std::move(before));
    for (Box& box : first) {
      if (std::any_of(second.begin(), second.end(), [&](const Box& other) { return is_same(box, other); })) { add(std::move(box)); }
    }
  }

  // A load in iteration `i` of a loop finds the stores before the loop, the stores of the iterations before `i`, and earlier stores of this iteration.
  void on_loop(const For& loop) {
    look(loop.min);
    look(loop.extent);
    bind(loop.var, Range{loop.min, loop.extent});
    // The stores of one iteration alone.
    Walk alone(buffer_, true);
    for (const auto& [var, range] : ranges_) { alone.bind(var, range); }
    alone.follow(loop.body);
    if (!only_stores_) {
      std::vector<Box> before = stored;
      bool is_in_order = loop.for_kind == ForKind::Serial || loop.for_kind == ForKind::Unrolled;
      for (const Box& box : alone.stored) {
        if (!is_in_order) { break; }
        if (auto earlier = over(box, loop.var, loop.min, sub(Expr(loop.var), one(loop.var->dtype)))) { add(std::move(*earlier)); }
      }
      follow(loop.body);
      stored = std::move(before);
    }
    if (loop.thread) { return; }
    bool runs = analyzer.can_prove(less(zero(loop.extent.dtype()), loop.extent));
    Expr last = analyzer.simplify(sub(add(loop.min, loop.extent), one(loop.extent.dtype())));
    for (const Box& box : alone.stored) {
      if (!uses(box, *loop.var)) {
        if (runs) { add(box); }
      } else if (auto all = over(box, loop.var, loop.min, last)) {
        add(std::move(*all));
      }
    }
  }

  static auto uses(const Box& box, const VarNode& var) -> bool {
    auto is_var = [&](const VarNode& v) { return &v == &var; };
    return std::any_of(box.begin(), box.end(), [&](const Interval& i) { return uses_var(i.low, is_var) || uses_var(i.high, is_var); });
  }

  // The box over all values of a variable from `first` to `last`; empty if `last` is one less than `first`. None: the boxes
  // leave gaps, or move in several dimensions.
  auto over(const Box& box, const Var& var, const Expr& first, const Expr& last) -> std::optional<Box> {
    VarMap next{{var.get(), add(Expr(var), one(var->dtype))}}, at_first{{var.get(), first}}, at_last{{var.get(), last}};
    Box out;
    bool moves = false;
    for (const Interval& i : box) {
      auto step = as_int(analyzer.simplify(sub(substitute(i.low, next), i.low)));
      auto same = as_int(analyzer.simplify(sub(substitute(i.high, next), i.high)));
      if (!step || step != same || (*step != 0 && moves)) { return {}; }
      moves = moves || *step != 0;
      if (*step == 0) { out.push_back({analyzer.simplify(substitute(i.low, at_first)), analyzer.simplify(substitute(i.high, at_first))}); continue; }
      // There are no gaps if the interval is at least as long as the step.
      Expr length = add(sub(i.high, i.low), one(i.low.dtype()));
      if (!analyzer.can_prove(greater_equal(length, int_imm(std::abs(*step), length.dtype())))) { return {}; }
      bool grows = *step > 0;
      out.push_back({analyzer.simplify(substitute(i.low, grows ? at_first : at_last)), analyzer.simplify(substitute(i.high, grows ? at_last : at_first))});
    }
    if (!moves) { return {}; }
    return out;
  }

  auto is_same(const Box& a, const Box& b) -> bool {
    for (size_t d = 0; d < a.size(); ++d) {
      if (!analyzer.can_prove_equal(a[d].low, b[d].low) || !analyzer.can_prove_equal(a[d].high, b[d].high)) { return false; }
    }
    return true;
  }
  auto contains(const Interval& outer, const Interval& inner) -> bool {
    return analyzer.can_prove(less_equal(outer.low, inner.low)) && analyzer.can_prove(less_equal(inner.high, outer.high));
  }

  // Joins two boxes that touch in one dimension, if one contains the other in all other dimensions.
  auto joined(const Box& a, const Box& b) -> std::optional<Box> {
    std::optional<size_t> along;
    Box out(a.size());
    for (size_t d = 0; d < a.size(); ++d) {
      if (contains(a[d], b[d])) { out[d] = b[d]; continue; }
      if (contains(b[d], a[d])) { out[d] = a[d]; continue; }
      if (along) { return {}; }
      along = d;
    }
    if (!along) { return {}; }
    const Interval* first = &a[*along];
    const Interval* second = &b[*along];
    for (int turn = 0; turn < 2; ++turn, std::swap(first, second)) {
      Expr behind = add(first->high, one(first->high.dtype()));
      if (analyzer.can_prove(less_equal(first->low, second->low)) && analyzer.can_prove(less_equal(second->low, behind)) && analyzer.can_prove(less_equal(first->high, second->high))) {
        out[*along] = {first->low, second->high};
        return out;
      }
    }
    return {};
  }

  void add(Box box) {
    if (stored.size() >= most_boxes) { return; }
    for (size_t i = 0, n = stored.size(); i < n && stored.size() < most_boxes; ++i) {
      if (auto both = joined(stored[i], box)) { stored.push_back(std::move(*both)); }
    }
    stored.push_back(std::move(box));
  }
  static auto add(const Expr& a, const Expr& b) -> Expr { return loopsmith::add(a, b); }

  auto is_covered(const BufferLoad& load) -> bool {
    if (load.predicate || load.indices.size() != buffer_->shape.size()) { return false; }
    return std::any_of(stored.begin(), stored.end(), [&](const Box& box) {
      for (size_t d = 0; d < box.size(); ++d) {
        if (load.indices[d].dtype().lanes != 1 || !contains(box[d], {load.indices[d], load.indices[d]})) { return false; }
      }
      return true;
    });
  }

  auto mentions(const Stmt& stmt) -> bool {
    bool found = false;
    post_order(stmt, [&](const Stmt& s) { const auto* store = s.as<BufferStore>(); found = found || (store && store->buffer == buffer_); },
               [&](const Expr& e) { const auto* load = e.as<BufferLoad>(); found = found || (load && load->buffer == buffer_) || e.get() == buffer_->data.get(); });
    return found;
  }

  const Buffer& buffer_;
  bool only_stores_;
  Domains ranges_;                          // of iter vars and loops around, the outermost first
};

auto begin_walk(Walk& walk, const Block& block) -> bool {
  if (!block.match_buffers.empty() || jumps(block.body)) { return false; }
  for (const IterVar& iter : block.iter_vars) { walk.bind(iter.var, iter.dom); }
  return true;
}

// The stores of one instance, run with numbers. Finds loads of elements that the instance did not store before.
class Instance : public Follower {
 public:
  explicit Instance(const Buffer& buffer) : buffer_(buffer) {}
  bool is_covered = true;
  void begin() { stored_.clear(); }

 protected:
  void load(const Buffer& buffer, const Element& at) override { is_covered = is_covered && (!(buffer == buffer_) || stored_.contains(at)); }
  void load_somewhere(const Buffer& buffer) override { is_covered = is_covered && !(buffer == buffer_); }
  void store(const Buffer& buffer, const Element& at, bool certain) override { if (buffer == buffer_ && certain) { stored_.insert(at); } }
  void hand_out(const VarNode* data) override { is_covered = is_covered && data != buffer_->data.get(); }

 private:
  const Buffer& buffer_;
  std::set<Element> stored_;
};

auto counted_own_reads(const FuncTree& func, const Place& block, const Buffer& buffer) -> bool {
  if (is_too_much(func, block) || jumps(block.block()->body)) { return false; }
  Instance instance(buffer);
  Valuation values;
  int64_t steps = 0;
  return Around(func, block, nullptr).run(values, steps, [&](Valuation& here) {
    instance.begin();
    instance.values = here;
    return instance.follow(Stmt(Ref<Block>(block.block()))) && instance.is_covered;
  });
}

}  // namespace

auto certain_stores(const Block& block, const Buffer& buffer) -> std::vector<BufferRegion> {
  Walk walk(buffer, true);
  if (!begin_walk(walk, block)) { return {}; }
  walk.follow(block.body);
  std::vector<BufferRegion> out;
  for (const Box& box : walk.stored) {
    std::vector<Range> ranges;
    for (const Interval& i : box) { ranges.push_back({i.low, walk.analyzer.simplify(sub(add(i.high, one(i.high.dtype())), i.low))}); }
    out.push_back({buffer, Array<Range>(std::move(ranges)), block.origin});
  }
  return out;
}

auto reads_own_writes_only(const FuncTree& func, const Place& place, const Buffer& buffer) -> bool {
  const Block& block = *place.block();
  Walk walk(buffer, false);
  if (!block.init && begin_walk(walk, block)) {
    walk.follow(block.body);
    if (walk.are_loads_covered && !walk.is_opaque) { return true; }
  }
  return counted_own_reads(func, place, buffer);
}

}  // namespace loopsmith::schedule
