// One walk over a function: see facts.h.
#include "analysis/facts.h"

#include "ir/externals.h"
#include "ir/jumps.h"
#include "ir/ops.h"
#include "ir/visitor.h"
#include "support/guards.h"

namespace loopsmith::analysis {
namespace {

class Collector : public Visitor {
 public:
  explicit Collector(const CancelToken& cancel) : cancel_(cancel) {}

  Facts facts;

  using Visitor::on;
  using Visitor::visit;

  void run(const PrimFunc& func) {
    facts.func = func;
    visit(func->body);
  }

  // ---- accesses ----------------------------------------------------------------------------------------------------
  void on(const BufferLoad& node) override {
    for (const Expr& i : node.indices) { visit(i); }
    if (node.predicate) { visit(node.predicate); }
    note(node.buffer.get(), node.indices, false, bool(node.predicate), node.origin).load = &node;
  }
  void on(const BufferStore& node) override {
    Temporarily inner(store_, &node);
    for (const Expr& i : node.indices) { visit(i); }
    visit(node.value);
    if (node.predicate) { visit(node.predicate); }
    note(node.buffer.get(), node.indices, true, bool(node.predicate), node.origin);
    effect();
  }
  void on(const VarNode& node) override {
    if (node.dtype.is_handle()) { pointer(&node, {}, call_at_.is_known() ? call_at_ : node.origin); }
  }
  void on(const Call& node) override {
    static const Name access_ptr("tvm_access_ptr"), if_then_else("if_then_else"), address_of("address_of"), assume("assume"), ret("ret"),
        likely("likely");
    Temporarily at(call_at_, node.origin);
    if (node.op == access_ptr && node.args.size() == 5) {
      if (const auto* data = node.args[1].as<VarNode>()) {
        auto mask = as_int(node.args[4]);
        Temporarily reading(reads_only_, reads_only_ || (mask && (*mask & 2) == 0));
        pointer(data, node.args[2], node.origin);
      }
      for (size_t i = 2; i < 4; ++i) { visit(node.args[i]); }
      return;
    }
    if (node.op == address_of && node.args.size() == 1) {
      if (const auto* load = node.args[0].as<BufferLoad>()) {
        pointer(load->buffer->data.get(), node.args[0], node.origin);
        for (const Expr& i : load->indices) { visit(i); }
        return;
      }
    }
    static const Name allreduce("tvm_thread_allreduce");
    if (node.op == allreduce) {
      // The named elements are written.
      for (const Expr& arg : node.args) {
        if (const auto* load = arg.as<BufferLoad>()) {
          pointer(load->buffer->data.get(), arg, node.origin);
        }
      }
      effect();
      return;
    }
    if (node.op == if_then_else && node.args.size() == 3) {
      condition(node.args[0], ConditionKind::IfThenElse, node.origin);
      visit(node.args[0]);
      under(node.args[0], false, [&] { visit(node.args[1]); });
      under(node.args[0], true, [&] { visit(node.args[2]); });
      return;
    }
    if (node.op == ret) { jump(); }
    // A copy reads behind its second pointer, and pure functions write nowhere.
    const bool is_copy = external(external_name(node)).kind == ExternalKind::Memory;
    const bool is_pure = node.op.view().find("pure") != std::string_view::npos;
    const size_t first = facts.pointers.size();
    for (size_t i = 0; i < node.args.size(); ++i) {
      Temporarily reading(reads_only_, is_pure || (is_copy && i != 1));
      visit(node.args[i]);
    }
    if (is_copy && node.args.size() == 4) {
      for (size_t i = first; i < facts.pointers.size(); ++i) { facts.pointers[i].bytes = node.args[3]; }
    }
    if (!is_known_pure(node.op)) { effect(); }
  }
  void on(const Select& node) override {
    // Lowering turns a select that reads memory into an if_then_else: its condition guards both operands.
    condition(node.condition, ConditionKind::Select, node.origin);
    visit(node.condition);
    under(node.condition, false, [&] { visit(node.true_value); });
    under(node.condition, true, [&] { visit(node.false_value); });
  }
  void on(const And& node) override {
    visit(node.a);
    under(node.a, false, [&] { visit(node.b); });
  }
  void on(const Or& node) override {
    visit(node.a);
    under(node.a, true, [&] { visit(node.b); });
  }
  void on(const Let& node) override {
    visit(node.value);
    size_t mark = space_.size();
    bind(node.var.get(), node.value);
    visit(node.body);
    leave(mark);
  }

  // ---- statements --------------------------------------------------------------------------------------------------
  void on(const SeqStmt& node) override {
    static const Name assume("assume");
    size_t mark = space_.size();
    for (const Stmt& s : node.seq) {
      if (cancel_.is_cancelled()) { break; }
      visit(s);
      if (const auto* e = s.as<Evaluate>()) {
        if (const auto* call = e->value.as<Call>(); call && call->op == assume && call->args.size() == 1) { guard(call->args[0], false); }
      }
      // Behind `if c: continue`, the condition is false.
      if (const auto* branch = s.as<IfThenElse>(); branch && !branch->else_case && is_jump(branch->then_case)) { guard(branch->condition, true); }
    }
    leave(mark);
  }
  void on(const Evaluate& node) override {
    if (node.value.as<Call>()) { effect(); }
    visit(node.value);
  }
  void on(const For& node) override {
    visit(node.min);
    visit(node.extent);
    size_t index = facts.loops.size();
    facts.loops.push_back({&node, snapshot(), facts.accesses.size(), 0, facts.pointers.size()});
    size_t mark = space_.size();
    Space::Entry e;
    e.kind = Space::Kind::Loop;
    e.var = node.var.get();
    e.min = node.min;
    e.extent = node.extent;
    e.loop = &node;
    e.origin = node.origin;
    push(std::move(e));
    open_.push_back(index);
    visit(node.body);
    open_.pop_back();
    leave(mark);
    LoopFact& fact = facts.loops[index];
    fact.end = facts.accesses.size();
    fact.end_pointer = facts.pointers.size();
    if (!open_.empty()) {
      facts.loops[open_.back()].has_effect |= fact.has_effect;
      facts.loops[open_.back()].has_pointers |= fact.has_pointers;
    }
  }
  void on(const While& node) override {
    visit(node.condition);
    size_t mark = space_.size();
    guard(node.condition, false);
    {
      Temporarily uncertain(certain_, false);
      visit(node.body);
    }
    leave(mark);
  }
  void on(const Break& node) override { jump(); }
  void on(const Continue& node) override { jump(); }
  void on(const IfThenElse& node) override {
    condition(node.condition, ConditionKind::If, node.origin);
    visit(node.condition);
    under(node.condition, false, [&] { visit(node.then_case); });
    if (node.else_case) { under(node.condition, true, [&] { visit(node.else_case); }); }
  }
  void on(const AssertStmt& node) override {
    condition(node.condition, ConditionKind::Assert, node.origin);
    visit(node.condition);
    effect();
    under(node.condition, false, [&] { visit(node.body); });
  }
  void on(const LetStmt& node) override {
    if (!name_pointer(node)) { visit(node.value); }
    size_t mark = space_.size();
    bind(node.var.get(), node.value);
    visit(node.body);
    leave(mark);
  }
  void on(const AttrStmt& node) override {
    static const Name thread_extent("thread_extent"), virtual_thread("virtual_thread");
    visit(node.value);
    size_t mark = space_.size();
    if (const auto* iter = std::get_if<IterVar>(&node.node); iter && (node.key == thread_extent || node.key == virtual_thread)) {
      if (!space_.find(iter->var.get())) {
        Space::Entry e;
        e.kind = Space::Kind::Thread;
        e.var = iter->var.get();
        e.min = int_imm(0, iter->var->dtype);
        e.extent = node.value;
        e.origin = node.origin;
        push(std::move(e));
      }
    } else {
      effect();
    }
    visit(node.body);
    leave(mark);
  }
  void on(const Allocate& node) override {
    facts.allocs.push_back({{}, node.data.get(), node.origin, open_.size(), false, &node});
    for (const Expr& e : node.extents) { visit(e); }
    visit(node.body);
  }
  void on(const AllocateConst& node) override {
    facts.allocs.push_back({{}, node.data.get(), node.origin, open_.size(), true});
    visit(node.body);
  }
  void on(const DeclBuffer& node) override {
    for (AllocFact& a : facts.allocs) {
      if (a.data == node.buffer->data.get() && !a.buffer) { a.buffer = node.buffer; }
    }
    visit(node.body);
  }
  void on(const BufferRealize& node) override {
    facts.allocs.push_back({node.buffer, node.buffer->data.get(), node.origin, open_.size()});
    visit(node.body);
  }
  void on(const BlockRealize& node) override {
    for (const Expr& v : node.iter_values) { visit(v); }
    visit(node.predicate);
    block(*node.block, &node);
  }
  void on(const Block& node) override { block(node, nullptr); }

 private:
  const CancelToken& cancel_;
  void block(const Block& node, const BlockRealize* realize) {
    Temporarily inside(block_, &node);
    SpacePtr around = snapshot();
    size_t mark = space_.size();
    if (realize && !is_one(realize->predicate)) {
      condition(realize->predicate, ConditionKind::Where, realize->predicate.origin());
    }
    for (size_t i = 0; i < node.iter_vars.size(); ++i) {
      const IterVar& iter = node.iter_vars[i];
      if (realize && i < realize->iter_values.size()) {
        bind(iter.var.get(), realize->iter_values[i]);
      } else if (iter.dom.extent) {
        Space::Entry e;
        e.kind = Space::Kind::Thread;
        e.var = iter.var.get();
        e.min = iter.dom.min;
        e.extent = iter.dom.extent;
        e.origin = iter.var->origin;
        push(std::move(e));
      }
    }
    if (realize && !is_one(realize->predicate)) { guard(realize->predicate, false); }
    for (const Buffer& b : node.alloc_buffers) { facts.allocs.push_back({b, b->data.get(), b->origin, open_.size()}); }
    for (const MatchBufferRegion& m : node.match_buffers) { facts.views[m.buffer->data.get()] = m.source.buffer->data.get(); }
    size_t index = facts.blocks.size();
    facts.blocks.push_back({&node, realize, around, snapshot(), facts.accesses.size(), 0, certain_ && !facts.has_jumps});
    if (node.init) {
      size_t before = space_.size();
      for (const IterVar& iter : node.iter_vars) {
        if (iter.kind == IterKind::Reduction && iter.dom.min) { guard(equal(Expr(iter.var), iter.dom.min), false); }
      }
      {
        Temporarily init(in_init_, true);
        visit(node.init);
      }
      leave(before);
    }
    visit(node.body);
    facts.blocks[index].end = facts.accesses.size();
    leave(mark);
  }

  // False: the let gives no pointer of this function another name.
  auto name_pointer(const LetStmt& node) -> bool {
    static const Name address_of("address_of");
    if (!node.var->dtype.is_handle()) { return false; }
    const auto* data = node.value.as<VarNode>();
    const auto* call = node.value.as<Call>();
    const auto* place = call && call->op == address_of && call->args.size() == 1 ? call->args[0].as<BufferLoad>() : nullptr;
    if (!data && !place) { return false; }
    if (place) { for (const Expr& i : place->indices) { visit(i); } }
    facts.views[node.var.get()] = data ? data : place->buffer->data.get();
    facts.names.push_back({node.var.get(), &node, place != nullptr});
    loop_has_pointer();
    return true;
  }

  auto note(const BufferNode* buffer, const Array<Expr>& indices, bool is_write, bool masked, Origin origin) -> Access& {
    Access a;
    a.buffer = buffer;
    a.indices = &indices;
    a.is_write = is_write;
    a.is_masked = masked;
    a.in_init = in_init_;
    a.is_certain = certain_ && !facts.has_jumps;
    a.store = store_;
    a.space = snapshot();
    a.origin = origin;
    facts.accesses.push_back(std::move(a));
    return facts.accesses.back();
  }
  void condition(const Expr& e, ConditionKind kind, Origin origin) { facts.conditions.push_back({e, kind, snapshot(), origin}); }

  template <class F>
  void under(const Expr& e, bool negated, F f) {
    size_t mark = space_.size();
    guard(e, negated);
    f();
    leave(mark);
  }
  void guard(const Expr& e, bool negated) {
    Space::Entry entry;
    entry.kind = Space::Kind::Guard;
    entry.value = plain_condition(e);
    entry.negated = negated;
    entry.origin = e.origin();
    push(std::move(entry));
  }
  void bind(const VarNode* var, const Expr& value) {
    if (!var->dtype.is_integral()) { return; }
    Space::Entry entry;
    entry.kind = Space::Kind::Binding;
    entry.var = var;
    entry.value = value;
    push(std::move(entry));
  }
  void push(Space::Entry entry) {
    shared_.reset();
    space_.push(std::move(entry));
  }
  void leave(size_t mark) {
    if (space_.size() == mark) { return; }
    shared_.reset();
    space_.pop(mark);
  }
  auto snapshot() -> SpacePtr {
    if (!shared_) { shared_ = std::make_shared<const Space>(space_); }
    return shared_;
  }
  void effect() {
    if (!open_.empty()) { facts.loops[open_.back()].has_effect = true; }
  }
  void pointer(const VarNode* data, Expr place, Origin origin) {
    facts.pointers.push_back({data, facts.accesses.size(), !reads_only_, std::move(place), snapshot(), origin, block_, {}});
    loop_has_pointer();
  }
  void loop_has_pointer() {
    if (!open_.empty()) { facts.loops[open_.back()].has_pointers = true; }
  }
  void jump() { facts.has_jumps = true; }
  static auto is_jump(const Stmt& stmt) -> bool {
    const auto* seq = stmt.as<SeqStmt>();
    const Stmt& last = seq && !seq->seq.empty() ? seq->seq.back() : stmt;
    return last.as<Break>() || last.as<Continue>() || is_return(last);
  }
  static auto is_known_pure(Name op) -> bool {
    static const std::unordered_set<Name> pure = {"exp", "exp2", "log", "sqrt", "rsqrt", "tanh", "sigmoid", "erf", "pow", "abs", "fabs", "floor", "ceil",
                                                  "round", "trunc", "sin", "cos", "tan", "likely", "if_then_else", "max_value", "min_value",
                                                  "shift_left", "shift_right", "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not"};
    return pure.contains(op);
  }

  Space space_;
  SpacePtr shared_;
  std::vector<size_t> open_;
  const BufferStore* store_ = nullptr;
  const Block* block_ = nullptr;
  Origin call_at_;                             // of the innermost call around
  bool in_init_ = false;
  bool certain_ = true;
  bool reads_only_ = false;                    // for pointers in arguments
};

}  // namespace

auto Facts::memory(const VarNode* data) const -> const VarNode* {
  for (int hops = 0; hops < 32; ++hops) {
    auto found = views.find(data);
    if (found == views.end()) { break; }
    data = found->second;
  }
  return data;
}

auto Facts::is_allocated(const VarNode* memory) const -> bool {
  for (const AllocFact& a : allocs) {
    if (a.data == memory) { return true; }
  }
  return false;
}

auto collect(const PrimFunc& func, const CancelToken& cancel) -> Facts {
  Collector collector(cancel);
  collector.run(func);
  return std::move(collector.facts);
}

}  // namespace loopsmith::analysis
