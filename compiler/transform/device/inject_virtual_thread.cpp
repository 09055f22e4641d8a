// Virtual threads as register code: see inject_virtual_thread.h.
#include "transform/device/inject_virtual_thread.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <unordered_set>

#include "ir/jumps.h"
#include "ir/ops.h"
#include "ir/visitor.h"
#include "ir/vocabulary.h"
#include "support/fault.h"
#include "support/saturate.h"
#include "support/scoped_value.h"
#include "transform/thread_block.h"

namespace loopsmith::transform {
namespace {

/// Above, written out, the statements would make a long text, and their values would not fit into registers.
constexpr int64_t most_unrolled = 16;

auto loads_or_calls(const Expr& e) -> bool {
  bool found = false;
  post_order(e, [&](const Expr& sub) { found = found || sub.as<BufferLoad>() || (sub.as<Call>() && sub.as<Call>()->op != "likely"); });
  return found;
}
auto loads_from(const Expr& e, const VarNode* data) -> bool {
  bool found = false;
  post_order(e, [&](const Expr& sub) { found = found || (sub.as<BufferLoad>() && sub.as<BufferLoad>()->buffer->data.get() == data); });
  return found;
}
auto contains_threads(const Stmt& stmt) -> bool {
  bool found = false;
  post_order(stmt, [&](const Stmt& s) { found = found || as_thread_loop(s); }, [](const Expr&) {});
  return found;
}
/// True for calls that do something each time, and may not be left out for all but one virtual thread.
auto is_repeated_call(const Expr& e) -> bool {
  static constexpr std::array ops{"call_extern", "call_pure_extern", "call_packed", "tvm_call_packed", "call_cpacked", "tvm_call_cpacked", "atomic_add"};
  const auto* call = e.as<Call>();
  return call && std::any_of(ops.begin(), ops.end(), [&](const char* op) { return call->op == op; });
}

/// The variables and the memory that differ between the virtual threads of a loop body.
class Differences {
 public:
  Differences(const Var& index, int64_t extent, const Stmt& body) {
    vars_.insert(index.get());
    post_order(body, [&](const Stmt& s) { if (const auto* n = s.as<Allocate>()) { own_.insert(n->data.get()); } }, [](const Expr&) {});
    do {
      has_changed_ = false;
      walk(body, false);
    } while (has_changed_);
    find_passed(body, false);
    is_entangled = is_entangled || MeetingUpdates(*this, index, extent).meets_in(body);
  }
  /// Virtual threads pass values to each other, or a pointer is used that has no parts.
  bool is_entangled = false;

  [[nodiscard]] auto differs(const Expr& e) const -> bool {
    if (!e) { return false; }
    bool found = false;
    post_order(e, [&](const Expr& sub) {
      const auto* v = sub.as<VarNode>();
      const auto* load = sub.as<BufferLoad>();
      found = found || (v && (vars_.contains(v) || memory_.contains(v))) || (load && memory_.contains(load->buffer->data.get()));
    });
    return found;
  }
  /// True for statements that each virtual thread has to do.
  [[nodiscard]] auto differs(const Stmt& stmt) const -> bool {
    bool found = false;
    post_order(
        stmt,
        [&](const Stmt& s) {
          const auto* store = s.as<BufferStore>();
          const auto* allocate = s.as<Allocate>();
          found = found || (store && (has_parts(store->buffer->data.get()) || is_update(*store))) || (allocate && has_parts(allocate->data.get()));
        },
        [&](const Expr& e) { found = found || is_repeated_call(e) || differs_here(e); });
    return found;
  }
  [[nodiscard]] auto has_parts(const VarNode* data) const -> bool { return memory_.contains(data); }

 private:
  /// Finds updates (`x = x + y`) of elements that several virtual threads share. One thread after the other, the updates add up; side by side they would not.
  class MeetingUpdates : public Visitor {
   public:
    MeetingUpdates(const Differences& differences, const Var& index, int64_t extent) : differences_(differences), index_(index), extent_(int_imm(extent, index->dtype)) {}
    auto meets_in(const Stmt& body) -> bool {
      visit(body);
      return meets_;
    }
    using Visitor::on;
    using Visitor::visit;
    void on(const For& n) override {
      loops_.push_back(&n);
      Visitor::on(n);
      loops_.pop_back();
    }
    void on(const LetStmt& n) override {
      lets_[n.var.get()] = substitute(n.value, lets_);
      Visitor::on(n);
    }
    void on(const IfThenElse& n) override {
      conditions_.push_back(n.condition);
      visit(n.then_case);
      conditions_.back() = logical_not(n.condition);
      if (n.else_case) { visit(n.else_case); }
      conditions_.pop_back();
    }
    void on(const BufferStore& n) override {
      const bool is_placed = n.indices.size() == 1 && differences_.differs(n.indices[0]) && differences_.is_update(n);
      meets_ = meets_ || (is_placed && meets_in_iterations(index_, extent_, loops_, lets_, conditions_, n.indices[0]));
    }

   private:
    const Differences& differences_;
    const Var index_;
    const Expr extent_;
    std::vector<const For*> loops_;
    std::vector<Expr> conditions_;
    VarMap lets_;
    bool meets_ = false;
  };

  [[nodiscard]] auto differs_here(const Expr& e) const -> bool {
    const auto* v = e.as<VarNode>();
    const auto* load = e.as<BufferLoad>();
    return (v && (vars_.contains(v) || memory_.contains(v))) || (load && memory_.contains(load->buffer->data.get()));
  }
  /// An update of memory from outside adds something in every virtual thread.
  [[nodiscard]] auto is_update(const BufferStore& store) const -> bool {
    const VarNode* data = store.buffer->data.get();
    return !own_.contains(data) && loads_from(store.value, data);
  }
  void mark(std::unordered_set<const VarNode*>& set, const VarNode* v) { has_changed_ = set.insert(v).second || has_changed_; }

  /// `inside`: a condition or the length of a loop around differs.
  void walk(const Stmt& stmt, bool inside) {
    switch (stmt.kind()) {
      case NodeKind::BufferStore: {
        const auto& n = *stmt.as<BufferStore>();
        const bool is_other = inside || differs(n.value) || differs_any(n.indices) || differs(n.predicate);
        if (is_other && own_.contains(n.buffer->data.get())) { mark(memory_, n.buffer->data.get()); }
        return calls(n.value, inside);
      }
      case NodeKind::Evaluate: return calls(stmt.as<Evaluate>()->value, inside);
      case NodeKind::For: {
        const auto& n = *stmt.as<For>();
        const bool is_other = differs(n.min) || differs(n.extent);
        if (is_other) { mark(vars_, n.var.get()); }
        return walk(n.body, inside || is_other);
      }
      case NodeKind::While: return walk(stmt.as<While>()->body, inside || differs(stmt.as<While>()->condition));
      case NodeKind::IfThenElse: {
        const auto& n = *stmt.as<IfThenElse>();
        const bool is_other = inside || differs(n.condition);
        walk(n.then_case, is_other);
        if (n.else_case) { walk(n.else_case, is_other); }
        return;
      }
      case NodeKind::LetStmt: {
        const auto& n = *stmt.as<LetStmt>();
        if (differs(n.value)) { mark(vars_, n.var.get()); }
        calls(n.value, inside);
        return walk(n.body, inside);
      }
      default: visit_children(stmt, [&](const Expr& e) { calls(e, inside); }, [&](const Stmt& s) { walk(s, inside); });
    }
  }
  /// Memory that a call may write differs where one of its arguments does.
  void calls(const Expr& expr, bool inside) {
    post_order(expr, [&](const Expr& e) {
      const auto* call = e.as<Call>();
      if (!call || !(inside || std::any_of(call->args.begin(), call->args.end(), [&](const Expr& arg) { return differs(arg); }))) { return; }
      for (const Expr& arg : call->args) {
        const auto* v = arg.as<VarNode>();
        const auto* inner = arg.as<Call>();
        if (!v && inner && inner->op == "tvm_access_ptr" && inner->args.size() > 1) { v = inner->args[1].as<VarNode>(); }
        if (!v && inner && inner->op == "address_of" && !inner->args.empty() && inner->args[0].as<BufferLoad>()) { v = inner->args[0].as<BufferLoad>()->buffer->data.get(); }
        if (v && own_.contains(v)) { mark(memory_, v); }
      }
    });
  }
  auto differs_any(const Array<Expr>& all) const -> bool { return std::any_of(all.begin(), all.end(), [&](const Expr& e) { return differs(e); }); }

  void find_passed(const Stmt& body, bool) {
    std::unordered_set<const VarNode*> loaded, passed, begun, updated;
    post_order(
        body,
        [&](const Stmt& s) {
          const auto* store = s.as<BufferStore>();
          const VarNode* data = store ? store->buffer->data.get() : nullptr;
          if (store && !own_.contains(data) && differs(store->value) && !differs_any(store->indices)) { passed.insert(data); }
          if (store && !own_.contains(data) && !differs_any(store->indices)) { (is_update(*store) ? updated : begun).insert(data); }
          if (const auto* allocate = s.as<Allocate>()) { is_entangled = is_entangled || differs_any(allocate->extents); }
        },
        [&](const Expr& e) {
          if (const auto* load = e.as<BufferLoad>()) { loaded.insert(load->buffer->data.get()); }
          const auto* call = e.as<Call>();
          if (!call || call->op == "tvm_access_ptr") { return; }
          for (const Expr& arg : call->args) { is_entangled = is_entangled || (arg.as<VarNode>() && memory_.contains(arg.as<VarNode>())); }
        });
    for (const VarNode* data : passed) { is_entangled = is_entangled || loaded.contains(data); }
    // Every virtual thread begins the same sum anew and adds to it: side by side they would add to one sum.
    for (const VarNode* data : updated) { is_entangled = is_entangled || begun.contains(data); }
  }

  std::unordered_set<const VarNode*> own_;      // memory that is allocated inside
  std::unordered_set<const VarNode*> vars_;
  std::unordered_set<const VarNode*> memory_;   // of `own_`
  bool has_changed_ = false;
};

/// Moves the loop over the virtual threads of one nest inwards.
class Interleave {
 public:
  Interleave(const Var& index, int64_t extent, ForKind kind, const Stmt& body) : index_(index), extent_(extent), kind_(kind), differences_(index, extent, body) {}

  /// None where the loop has to stay.
  auto run(const Stmt& body) -> Stmt {
    if (differences_.is_entangled) { return {}; }
    Stmt out = push(body, {});
    return has_failed_ ? Stmt() : out;
  }

 private:
  struct Part { Expr size; int bytes; };

  auto push(const Stmt& stmt, const Expr& guard) -> Stmt {
    if (has_failed_ || is_barrier(stmt) || (!guard && !differences_.differs(stmt))) { return stmt; }
    // A condition that moved inwards protects loads that it stood around.
    auto is_common = [&](const Expr& e) { return !differences_.differs(e) && !(guard && loads_or_calls(e)); };
    switch (stmt.kind()) {
      case NodeKind::SeqStmt: {
        std::vector<Stmt> out;
        for (const Stmt& s : stmt.as<SeqStmt>()->seq) { out.push_back(push(s, guard)); }
        return seq(std::move(out), stmt.origin());
      }
      case NodeKind::For: {
        const auto& n = *stmt.as<For>();
        if (!is_common(n.min) || !is_common(n.extent) || n.for_kind == ForKind::Vectorized) { return repeat(stmt, guard); }
        return make<For>(n.var, n.min, n.extent, n.for_kind, push(n.body, guard), n.thread, n.annotations, n.origin, n.id);
      }
      case NodeKind::While: {
        const auto& n = *stmt.as<While>();
        return is_common(n.condition) ? make<While>(n.condition, push(n.body, guard), n.origin) : repeat(stmt, guard);
      }
      case NodeKind::IfThenElse: return branch(stmt, *stmt.as<IfThenElse>(), guard);
      case NodeKind::LetStmt: {
        const auto& n = *stmt.as<LetStmt>();
        if (is_common(n.value)) { return make<LetStmt>(n.var, n.value, push(n.body, guard), n.origin); }
        if (!meets(n.body)) { return repeat(stmt, guard); }
        return loads_or_calls(n.value) ? fail(stmt) : push(substitute(n.body, {{n.var.get(), n.value}}), guard);
      }
      case NodeKind::AttrStmt: {
        const auto& n = *stmt.as<AttrStmt>();
        return !n.value || is_common(n.value) ? make<AttrStmt>(n.node, n.key, n.value, push(n.body, guard), n.origin) : repeat(stmt, guard);
      }
      case NodeKind::AssertStmt: {
        const auto& n = *stmt.as<AssertStmt>();
        return seq({repeat(make<AssertStmt>(n.condition, n.message, no_op(), n.origin), guard), push(n.body, guard)}, n.origin);
      }
      case NodeKind::Allocate: return allocate(*stmt.as<Allocate>(), guard);
      case NodeKind::AllocateConst: {
        const auto& n = *stmt.as<AllocateConst>();
        return make<AllocateConst>(n.data, n.dtype, n.extents, n.bytes, push(n.body, guard), n.annotations, n.origin);
      }
      case NodeKind::DeclBuffer: {
        const auto& n = *stmt.as<DeclBuffer>();
        Buffer declared = with_parts(n.buffer);
        return make<DeclBuffer>(declared, push(n.body, guard), n.origin);
      }
      default: return repeat(stmt, guard);
    }
  }
  /// True where threads of the block meet: the statement may get barriers.
  static auto meets(const Stmt& stmt) -> bool { return waits(stmt) || contains_threads(stmt); }

  auto branch(const Stmt& stmt, const IfThenElse& n, const Expr& guard) -> Stmt {
    const bool differs = differences_.differs(n.condition);
    if (!differs && !(guard && loads_or_calls(n.condition))) {
      return make<IfThenElse>(n.condition, push(n.then_case, guard), n.else_case ? push(n.else_case, guard) : Stmt(), n.origin);
    }
    if (!meets(stmt) || loads_or_calls(n.condition)) { return repeat(stmt, guard); }
    auto both = [&](const Expr& condition) { return guard ? logical_and(guard, condition) : condition; };
    std::vector<Stmt> out{push(n.then_case, both(n.condition))};
    if (n.else_case) { out.push_back(push(n.else_case, both(logical_not(n.condition)))); }
    return seq(std::move(out), n.origin);
  }
  auto allocate(const Allocate& n, const Expr& guard) -> Stmt {
    if (!differences_.has_parts(n.data.get())) { return make<Allocate>(n.data, n.dtype, n.extents, n.condition, push(n.body, guard), n.annotations, n.origin); }
    Expr size = int_imm(1);
    for (const Expr& e : n.extents) { size = mul(std::move(size), e); }
    parts_[n.data.get()] = {size, n.dtype.element_bytes() * n.dtype.lanes};
    Expr all = FAULT(vthread_one_part) ? size : mul(size, int_imm(extent_));
    return make<Allocate>(n.data, n.dtype, Array<Expr>{all}, n.condition, push(n.body, guard), n.annotations, n.origin);
  }
  auto with_parts(const Buffer& buffer) -> Buffer {
    auto found = parts_.find(buffer->data.get());
    if (found == parts_.end()) { return buffer; }
    Buffer& made = buffers_[buffer.get()];
    if (made) { return made; }
    if (buffer->dtype.element_bytes() * buffer->dtype.lanes != found->second.bytes || buffer->shape.size() != 1) {
      has_failed_ = true;
      return buffer;
    }
    BufferNode fields = *buffer;
    fields.shape = Array<Expr>{mul(found->second.size, int_imm(extent_))};
    return made = make_buffer(std::move(fields));
  }

  /// The statement of each virtual thread.
  auto repeat(const Stmt& stmt, const Expr& guard) -> Stmt {
    if (!guard && !differences_.differs(stmt)) { return stmt; }
    if (waits(stmt) || jumps_out_of(stmt).any()) { return fail(stmt); }
    Stmt body = InParts(*this).mutate(stmt);
    if (guard) { body = make<IfThenElse>(guard, std::move(body), Stmt(), stmt.origin()); }
    Var index = var(index_->name, index_->dtype, index_->origin);
    body = substitute(body, {{index_.get(), Expr(index)}});
    return make<For>(index, zero(index->dtype), int_imm(extent_, index->dtype), kind_, std::move(body), std::nullopt, AttrMap(), stmt.origin());
  }
  auto fail(const Stmt& stmt) -> Stmt {
    has_failed_ = true;
    return stmt;
  }

  /// Redirects accesses to the part of the virtual thread.
  class InParts : public Mutator {
   public:
    explicit InParts(Interleave& outer) : outer_(outer) {}
    using Mutator::mutate;
    using Mutator::on;
    auto on(const BufferLoad& n) -> Expr override {
      if (!outer_.parts_.contains(n.buffer->data.get())) { return Mutator::on(n); }
      return make<BufferLoad>(outer_.with_parts(n.buffer), place(n.buffer, n.indices), n.origin, n.predicate ? mutate(n.predicate) : Expr());
    }
    auto on(const BufferStore& n) -> Stmt override {
      if (!outer_.parts_.contains(n.buffer->data.get())) { return Mutator::on(n); }
      return make<BufferStore>(outer_.with_parts(n.buffer), mutate(n.value), place(n.buffer, n.indices), n.origin, n.predicate ? mutate(n.predicate) : Expr());
    }
    auto on(const DeclBuffer& n) -> Stmt override {
      Buffer declared = outer_.with_parts(n.buffer);
      return declared.same_as(n.buffer) ? Mutator::on(n) : make<DeclBuffer>(declared, mutate(n.body), n.origin);
    }
    auto on(const Call& n) -> Expr override {
      const auto* data = n.op == "tvm_access_ptr" && n.args.size() == 5 ? n.args[1].as<VarNode>() : nullptr;
      if (!data || !outer_.parts_.contains(data)) { return Mutator::on(n); }
      // The offset counts elements of the pointer's type.
      const DataType element = n.args[0].dtype();
      if (element.element_bytes() * element.lanes != outer_.parts_.at(data).bytes) {
        outer_.has_failed_ = true;
        return self(n);
      }
      std::vector<Expr> args(n.args.begin(), n.args.end());
      args[2] = add(mutate(args[2]), offset(data, args[2].dtype()));
      return make<Call>(n.dtype, n.op, Array<Expr>(std::move(args)), n.origin);
    }

   private:
    auto offset(const VarNode* data, DataType dtype) -> Expr { return cast(dtype, mul(Expr(outer_.index_), outer_.parts_.at(data).size)); }
    auto place(const Buffer& buffer, const Array<Expr>& indices) -> Array<Expr> {
      if (indices.size() != 1) {
        outer_.has_failed_ = true;
        return indices;
      }
      Expr index = mutate(indices[0]);
      return Array<Expr>{add(offset(buffer->data.get(), index.dtype().element()), std::move(index))};
    }
    Interleave& outer_;
  };

  const Var index_;
  const int64_t extent_;
  const ForKind kind_;
  Differences differences_;
  std::unordered_map<const VarNode*, Part> parts_;
  std::unordered_map<const BufferNode*, Buffer> buffers_;
  bool has_failed_ = false;
};

class Inject : public Mutator {
 public:
  using Mutator::mutate;
  using Mutator::on;
  auto on(const For& n) -> Stmt override { return virtual_thread(self(n), [&] { return Mutator::on(n); }); }
  auto on(const AttrStmt& n) -> Stmt override { return virtual_thread(self(n), [&] { return Mutator::on(n); }); }

 private:
  template <class F>
  auto virtual_thread(const Stmt& stmt, F&& walk) -> Stmt {
    auto loop = as_thread_loop(stmt);
    if (!loop || !is_virtual_axis(loop->tag.view())) { return walk(); }
    auto extent = as_int(loop->extent);
    ScopedValue inside(count_, saturating_mul(count_, extent.value_or(1)));
    const ForKind kind = count_ <= most_unrolled ? ForKind::Unrolled : ForKind::Serial;
    Stmt out = walk();
    loop = as_thread_loop(out);
    if (!extent || *extent < 1) { return out; }
    Stmt body = loop->alias ? substitute(loop->body, {{loop->alias.get(), Expr(loop->var)}}) : loop->body;
    const auto* written = stmt.as<For>();
    if (written && !is_zero(written->min)) { body = substitute(body, {{loop->var.get(), add(Expr(loop->var), written->min)}}); }
    if (*extent == 1) { return substitute(body, {{loop->var.get(), zero(loop->var->dtype)}}); }
    Stmt interleaved = Interleave(loop->var, *extent, kind, body).run(body);
    return interleaved ? interleaved : out;
  }
  int64_t count_ = 1;   // of virtual threads, in the loops around
};

}  // namespace

auto inject_virtual_thread(const IRModule& module, const LowerContext&) -> Result<IRModule> {
  return map_functions(module, [](const PrimFunc& func) -> Result<PrimFunc> { return with_body(func, Inject().mutate(func->body)); });
}

}  // namespace loopsmith::transform
