// Finds the updates of elements that threads make together: see thread_updates.h.
#include "transform/device/thread_updates.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>

#include "ir/equal.h"
#include "ir/ops.h"
#include "ir/visitor.h"
#include "ir/vocabulary.h"

namespace loopsmith::transform {
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
    if (!found.updates.empty()) { late_.insert(n.var.get()); }
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
        found.updates.push_back({&n, Combiner::Sum, {}, {}});
        is_choice_ = false;
      }
      return;
    }
    if ((uses(n.indices[0], depends_) || !conditions_.empty()) && !n.predicate && !shares_element(n.indices[0])) { return; }
    Update update{&n, Combiner::Sum, {}, {}};
    const bool is_one_element = n.indices[0].dtype().lanes == 1 && !n.predicate && !uses(n.indices[0], inside_) && !uses(n.indices[0], depends_) && take_conditions(n, update);
    const bool matches = is_one_element && match(n, update);
    is_choice_ = is_choice_ && is_one_element && !matches;
    around_.push_back(conditions_);
    found.can_be_split = found.can_be_split && matches;
    found.updates.push_back(std::move(update));
  }

  /// The updates as one choice, if they are one.
  [[nodiscard]] auto choice() const -> std::optional<Choice> {
    if (!is_choice_ || found.updates.empty() || is_updated_twice(found.updates)) { return {}; }
    Choice out;
    out.condition = found.updates.front().condition;
    std::vector<Expr> terms;
    for (size_t k = 0; k < found.updates.size(); ++k) {
      const BufferStore& n = *found.updates[k].store;
      if (!same(around_[k], around_.front()) || reads_too_late(n.value, k)) { return {}; }
      Expr keeps, term;
      if (!match_choice(n, keeps, term) || loads_element(term) || (out.keeps && !structural_equal(out.keeps, keeps))) { return {}; }
      out.keeps = std::move(keeps);
      terms.push_back(std::move(term));
      out.stores.push_back(&n);
      out.kept.push_back(var("kept", n.buffer->dtype));
      out.taken.push_back(var("taken", n.buffer->dtype));
    }
    out.keeps = in_variables(out, terms);
    if (!out.keeps || !begin(out)) { return {}; }
    return out;
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
  struct Operation { Combiner op; Expr a, b; };
  static auto operation(const Expr& value) -> std::optional<Operation> {
    static constexpr std::pair<NodeKind, Combiner> nodes[] = {{NodeKind::Add, Combiner::Sum},     {NodeKind::Mul, Combiner::Product}, {NodeKind::Min, Combiner::Minimum},
                                                              {NodeKind::Max, Combiner::Maximum}, {NodeKind::And, Combiner::And},     {NodeKind::Or, Combiner::Or}};
    for (const auto& [kind, op] : nodes) {
      if (value.kind() != kind) { continue; }
      const auto& n = *static_cast<const BinaryNode*>(value.get());
      return Operation{op, n.a, n.b};
    }
    static constexpr std::pair<std::string_view, Combiner> calls[] = {{"bitwise_and", Combiner::BitwiseAnd}, {"bitwise_or", Combiner::BitwiseOr}, {"bitwise_xor", Combiner::BitwiseXor}};
    const auto* call = value.as<Call>();
    for (const auto& [name, op] : calls) {
      if (call && call->args.size() == 2 && call->op == name) { return Operation{op, call->args[0], call->args[1]}; }
    }
    return {};
  }
  static auto match(const BufferStore& n, Update& out) -> bool {
    const auto value = operation(n.value);
    if (!value) { return false; }
    for (const auto& [accumulator, other] : {std::pair(&value->a, &value->b), std::pair(&value->b, &value->a)}) {
      const auto* load = accumulator->as<BufferLoad>();
      if (!load || load->buffer->data != n.buffer->data || load->indices.size() != 1 || !structural_equal(load->indices[0], n.indices[0])) { continue; }
      if (loads(*other, n.buffer->data.get())) { continue; }
      out.op = value->op;
      out.value = *other;
      return true;
    }
    return false;
  }

  // ---- choices
  static auto same(const std::vector<Expr>& a, const std::vector<Expr>& b) -> bool { return std::ranges::equal(a, b, [](const Expr& x, const Expr& y) { return structural_equal(x, y); }); }
  /// The number of the update of the element that an expression loads; none for others.
  auto element_of(const Expr& e) const -> std::optional<size_t> {
    const auto* load = e.as<BufferLoad>();
    for (size_t k = 0; load && k < found.updates.size(); ++k) {
      const BufferStore& n = *found.updates[k].store;
      if (load->buffer->data == n.buffer->data && load->indices.size() == 1 && !load->predicate && structural_equal(load->indices[0], n.indices[0])) { return k; }
    }
    return {};
  }
  auto loads_element(const Expr& e) const -> bool {
    return std::ranges::any_of(found.updates, [&](const Update& update) { return loads(e, update.store->buffer->data.get()); });
  }
  /// The value with the values of variables in their place.
  auto inlined(Expr e) const -> Expr {
    constexpr int most_nested = 8;
    for (int i = 0; i < most_nested && uses_var(e, [&](const VarNode& v) { return lets_.contains(&v); }); ++i) { e = substitute(e, lets_); }
    return e;
  }
  /// True if the value of an update loads an element behind an earlier update of it.
  auto reads_too_late(const Expr& value, size_t number) const -> bool {
    bool out = uses_var(value, [&](const VarNode& v) { return late_.contains(&v); });
    post_order(value, [&](const Expr& e) { out = out || element_of(e).value_or(number) < number; });
    return out;
  }
  /// `element = Select(keeps, element, term)`, or with the branches exchanged.
  auto match_choice(const BufferStore& n, Expr& keeps, Expr& term) const -> bool {
    const Expr value = inlined(n.value);
    Expr condition, yes, no;
    if (const auto* select = value.as<Select>()) { condition = select->condition; yes = select->true_value; no = select->false_value; }
    const auto* call = value.as<Call>();
    if (call && call->op == "if_then_else" && call->args.size() == 3) { condition = call->args[0]; yes = call->args[1]; no = call->args[2]; }
    if (!condition) { return false; }
    auto is_own = [&](const Expr& e) {
      auto k = element_of(e);
      return k && found.updates[*k].store == &n;
    };
    if (is_own(yes) == is_own(no)) { return false; }
    keeps = is_own(yes) ? condition : logical_not(condition);
    term = is_own(yes) ? no : yes;
    return true;
  }
  /// The condition of a choice in its variables; null if it depends on anything else.
  auto in_variables(const Choice& choice, const std::vector<Expr>& terms) const -> Expr {
    struct Replace : Mutator {
      const FindUpdates& find;
      const Choice& choice;
      const std::vector<Expr>& terms;
      Replace(const FindUpdates& f, const Choice& c, const std::vector<Expr>& t) : find(f), choice(c), terms(t) {}
      using Mutator::mutate;
      using Mutator::on;
#define EXPR(Kind) auto on(const Kind& node) -> Expr override { Expr e = variable_for(self(node)); return e ? e : Mutator::on(node); }
#define STMT(Kind)
#include "ir/nodes.def"
      [[nodiscard]] auto variable_for(const Expr& e) const -> Expr {
        if (auto k = find.element_of(e)) { return choice.kept[*k]; }
        for (size_t k = 0; k < terms.size(); ++k) {
          if (structural_equal(e, terms[k])) { return choice.taken[k]; }
        }
        return {};
      }
    } replace(*this, choice, terms);
    Expr out = replace.mutate(choice.keeps);
    bool is_closed = !uses(out, depends_) && !uses(out, inside_);
    post_order(out, [&](const Expr& e) { is_closed = is_closed && !e.as<BufferLoad>(); });
    return is_closed ? out : Expr();
  }
  /// Finds the values from which threads begin. False if the loop accesses the elements in other ways.
  auto begin(Choice& choice) const -> bool {
    bool is_fine = true;
    post_order(loop_.body, [](const Stmt&) {}, [&](const Expr& e) {
      const auto* load = e.as<BufferLoad>();
      const bool is_group = load && std::ranges::any_of(choice.stores, [&](const BufferStore* n) { return n->buffer->data == load->buffer->data; });
      is_fine = is_fine && (!is_group || element_of(e)) && std::ranges::none_of(choice.stores, [&](const BufferStore* n) { return e.get() == n->buffer->data.get(); });
    });
    for (const BufferStore* n : choice.stores) {
      choice.first.push_back(make<BufferLoad>(n->buffer, n->indices, n->origin));
      post_order(loop_.body, [&](const Stmt& s) {
        const auto* other = s.as<BufferStore>();
        if (!other || other == n || other->buffer->data != n->buffer->data) { return; }
        // The init of the first thread.
        bool is_constant = true;
        post_order(other->value, [&](const Expr& e) { is_constant = is_constant && !e.as<BufferLoad>() && !e.as<VarNode>(); });
        is_fine = is_fine && is_constant && !other->predicate && std::ranges::equal(other->indices, n->indices, [](const Expr& a, const Expr& b) { return structural_equal(a, b); });
        choice.first.back() = other->value;
      }, [](const Expr&) {});
      is_fine = is_fine && !is_stored_elsewhere(loop_.body, *n, loop_);
    }
    return is_fine;
  }

  const ThreadLoop& loop_;
  Variables depends_, inside_, own_;
  VarMap lets_;
  std::vector<Expr> conditions_;   // around the current statement
  std::vector<const For*> loops_;  // inside of the thread loop, around the current statement
  // For choices: the conditions around each update, variables that are computed behind one, and whether all updates may be one choice.
  std::vector<std::vector<Expr>> around_;
  Variables late_;
  bool is_choice_ = true;
};

}  // namespace

auto find_thread_updates(const ThreadLoop& loop) -> ThreadUpdates {
  FindUpdates find(loop);
  find.visit(loop.body);
  if (!find.found.can_be_split) { find.found.choice = find.choice(); }
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
