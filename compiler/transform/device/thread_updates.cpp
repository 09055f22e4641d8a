// Finds the updates of elements that threads make together: see thread_updates.h.
#include "transform/device/thread_updates.h"

#include <algorithm>
#include <unordered_set>

#include "ir/equal.h"
#include "ir/ops.h"
#include "ir/visitor.h"
#include "ir/vocabulary.h"

namespace loopsmith::transform {
namespace {

class FindUpdates : public Visitor {
 public:
  using Visitor::on;
  explicit FindUpdates(const ThreadLoop& loop) : loop_(loop) {
    depends_.insert(loop.var.get());
    if (loop.alias) { depends_.insert(loop.alias.get()); }
  }
  ThreadUpdates found;

  void on(const For& n) override {
    if (auto inner = as_thread_loop(Stmt(Ref<StmtNode>(&n))); inner && inner->tag == loop_.tag) { return; }
    derive(n.var, n.min);
    derive(n.var, n.extent);
    inside_.insert(n.var.get());
    loops_.push_back(&n);
    Visitor::on(n);
    loops_.pop_back();
  }
  void on(const LetStmt& n) override {
    derive(n.var, n.value);
    inside_.insert(n.var.get());
    lets_[n.var.get()] = n.value;
    Visitor::on(n);
  }
  void on(const Allocate& n) override {
    own_.insert(n.data.get());
    Visitor::on(n);
  }
  void on(const IfThenElse& n) override {
    const size_t around = conditions_.size();
    visit(n.condition);
    split(n.condition);
    visit(n.then_case);
    conditions_.resize(around);
    if (!n.else_case) { return; }
    conditions_.push_back(logical_not(n.condition));
    visit(n.else_case);
    conditions_.resize(around);
  }
  void on(const BufferStore& n) override {
    Visitor::on(n);
    if (own_.contains(n.buffer->data.get()) || n.indices.size() != 1) { return; }
    if (!depends_on(n.value, n.buffer->data.get())) {
      // If the threads store different values in one element, that of the last thread stays: they run one after the other.
      const bool varies = uses(n.value, depends_) || uses_var(n.value, [&](const VarNode& v) {
        return inside_.contains(&v) && !uses_var(n.indices[0], [&](const VarNode& of_index) { return &of_index == &v; });
      });
      if (varies && !uses(n.indices[0], depends_) && is_seen_by_all(n.buffer)) {
        found.can_be_split = false;
        found.updates.push_back({&n, NodeKind::Add, {}, {}});
      }
      return;
    }
    if (uses(n.indices[0], depends_) && !n.predicate && !shares_element(n.indices[0])) { return; }
    Update update{&n, NodeKind::Add, {}, {}};
    const bool matches = match(n, update) && n.indices[0].dtype().lanes == 1 && !n.predicate && !uses(n.indices[0], inside_) && !uses(n.indices[0], depends_) && take_conditions(n, update);
    found.can_be_split = found.can_be_split && matches;
    found.updates.push_back(std::move(update));
  }

 private:
  using Variables = std::unordered_set<const VarNode*>;
  static auto is_seen_by_all(const Buffer& buffer) -> bool {
    const auto memory = memory_family(buffer->scope().view()).value_or(MemoryFamily::Global);
    return memory == MemoryFamily::Global || memory == MemoryFamily::Shared;
  }
  static auto uses(const Expr& e, const Variables& variables) -> bool { return uses_var(e, [&](const VarNode& v) { return variables.contains(&v); }); }
  void derive(const Var& v, const Expr& from) {
    if (uses(from, depends_)) { depends_.insert(v.get()); }
  }
  void split(const Expr& condition) {
    if (const auto* both = condition.as<And>()) {
      split(both->a);
      split(both->b);
      return;
    }
    const auto* call = condition.as<Call>();
    if (call && call->op == "likely" && call->args.size() == 1) { return split(call->args[0]); }
    conditions_.push_back(condition);
  }
  auto shares_element(const Expr& index) const -> bool {
    VarMap known = lets_;
    if (loop_.alias) { known[loop_.alias.get()] = loop_.var; }
    return meets_in_iterations(loop_.var, loop_.extent, loops_, known, conditions_, index);
  }
  /// Keeps conditions that are the same for all threads around the combined update. False if another condition determines the elements.
  auto take_conditions(const BufferStore& n, Update& update) const -> bool {
    for (const Expr& condition : conditions_) {
      if (!uses(condition, depends_) && !uses(condition, inside_)) {
        if (loads(condition, n.buffer->data.get())) { return false; }
        update.condition = update.condition ? logical_and(update.condition, condition) : condition;
        continue;
      }
      const bool meets = uses_var(n.indices[0], [&](const VarNode& v) { return uses_var(condition, [&](const VarNode& other) { return &v == &other; }); });
      if (meets) { return false; }
    }
    return true;
  }
  static auto loads(const Expr& e, const VarNode* data) -> bool {
    bool found = false;
    post_order(e, [&](const Expr& sub) {
      const auto* load = sub.as<BufferLoad>();
      found = found || (load && load->buffer->data.get() == data);
    });
    return found;
  }
  /// True when the value is computed from an element of the memory, also through variables.
  auto depends_on(const Expr& e, const VarNode* data) const -> bool {
    bool found = loads(e, data);
    post_order(e, [&](const Expr& sub) {
      const auto* v = sub.as<VarNode>();
      auto let = v ? lets_.find(v) : lets_.end();
      found = found || (let != lets_.end() && depends_on(let->second, data));
    });
    return found;
  }
  static auto match(const BufferStore& n, Update& out) -> bool {
    NodeKind kind = n.value.kind();
    if (kind != NodeKind::Add && kind != NodeKind::Mul && kind != NodeKind::Min && kind != NodeKind::Max) { return false; }
    const auto& value = *static_cast<const BinaryNode*>(n.value.get());
    for (const auto& [accumulator, other] : {std::pair(&value.a, &value.b), std::pair(&value.b, &value.a)}) {
      const auto* load = accumulator->as<BufferLoad>();
      if (!load || load->buffer->data != n.buffer->data || load->indices.size() != 1 || !structural_equal(load->indices[0], n.indices[0])) { continue; }
      if (loads(*other, n.buffer->data.get())) { continue; }
      out.op = kind;
      out.value = *other;
      return true;
    }
    return false;
  }

  const ThreadLoop& loop_;
  Variables depends_, inside_, own_;
  VarMap lets_;
  std::vector<Expr> conditions_;   // around the current statement
  std::vector<const For*> loops_;  // inside of the thread loop, around the current statement
};

}  // namespace

auto find_thread_updates(const ThreadLoop& loop) -> ThreadUpdates {
  FindUpdates find(loop);
  find.visit(loop.body);
  return std::move(find.found);
}

auto is_updated_twice(const std::vector<Update>& updates) -> bool {
  for (size_t i = 0; i < updates.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (updates[i].store->buffer->data == updates[j].store->buffer->data) { return true; }
    }
  }
  return false;
}

namespace {

/// Finds the conditions around each store to one memory.
class StoresTo : public Visitor {
 public:
  using Visitor::on;
  using Visitor::visit;
  explicit StoresTo(const VarNode* data) : data_(data) {}
  struct Found { const BufferStore* store; std::vector<const IfThenElse*> conditions; };
  std::vector<Found> found;

  void on(const IfThenElse& n) override {
    around_.push_back(&n);
    Visitor::on(n);
    around_.pop_back();
  }
  void on(const BufferStore& n) override {
    if (n.buffer->data.get() == data_) { found.push_back({&n, around_}); }
    Visitor::on(n);
  }

 private:
  const VarNode* data_;
  std::vector<const IfThenElse*> around_;
};

/// True if several threads of the loop may store to the memory of an update outside of that update. A store is left out if a condition of its own depends on
/// the thread: it is the init of the first thread.
auto is_stored_elsewhere(const Stmt& body, const BufferStore& update, const ThreadLoop& loop) -> bool {
  StoresTo stores(update.buffer->data.get());
  stores.visit(body);
  auto own = std::find_if(stores.found.begin(), stores.found.end(), [&](const auto& one) { return one.store == &update; });
  if (own == stores.found.end()) { return false; }
  auto is_index = [&](const VarNode& v) { return &v == loop.var.get() || &v == loop.alias.get(); };
  return std::any_of(stores.found.begin(), stores.found.end(), [&](const auto& one) {
    return one.store != &update && std::none_of(one.conditions.begin(), one.conditions.end(), [&](const IfThenElse* condition) {
      // A condition of the block may stand around both.
      const bool is_shared = std::any_of(own->conditions.begin(), own->conditions.end(), [&](const IfThenElse* other) { return structural_equal(other->condition, condition->condition); });
      return !is_shared && uses_var(condition->condition, is_index);
    });
  });
}

}  // namespace

auto is_used_elsewhere(const ThreadLoop& loop, const std::vector<Update>& updates) -> bool {
  bool found = false;
  for (const Update& update : updates) {
    int loads = 0;
    found = found || is_stored_elsewhere(loop.body, *update.store, loop);
    post_order(
        loop.body, [](const Stmt&) {},
        [&](const Expr& e) {
          const auto* load = e.as<BufferLoad>();
          loads += load && load->buffer->data == update.store->buffer->data;
        });
    found = found || loads > 1;
  }
  return found;
}

auto with_thread_body(const Stmt& stmt, const ThreadLoop& loop, Stmt body) -> Stmt {
  if (const auto* n = stmt.as<For>()) { return make<For>(n->var, n->min, n->extent, n->for_kind, std::move(body), n->thread, n->annotations, n->origin, n->id); }
  const auto& n = *stmt.as<AttrStmt>();
  return make<AttrStmt>(n.node, n.key, n.value, std::move(body), n.origin);
}

}  // namespace loopsmith::transform
