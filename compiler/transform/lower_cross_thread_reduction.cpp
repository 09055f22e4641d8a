// Lowers reductions and exchanges to memory: see lower_cross_thread_reduction.h.
#include "transform/lower_cross_thread_reduction.h"

#include <algorithm>
#include <unordered_map>

#include "ir/ops.h"
#include "ir/visitor.h"
#include "support/scoped_value.h"
#include "transform/thread_block.h"

namespace loopsmith::transform {
namespace {

auto barrier() -> Stmt { return make<Evaluate>(make<Call>(DataType::int_(32), Name("tvm_storage_sync"), Array<Expr>{make<StringImm>("shared")})); }
auto element(const Buffer& buffer, Expr index) -> Expr { return make<BufferLoad>(buffer, Array<Expr>{std::move(index)}); }
auto put(const Buffer& buffer, Expr value, Expr index) -> Stmt { return make<BufferStore>(buffer, std::move(value), Array<Expr>{std::move(index)}); }

class Lower : public Mutator {
 public:
  using Mutator::mutate;
  using Mutator::on;
  explicit Lower(bool keeps_exchanges) : keeps_exchanges_(keeps_exchanges) {}

  auto on(const For& n) -> Stmt override {
    if (auto loop = as_thread_loop(self(n)); loop && is_thread_index(loop->tag)) { return within(self(n), *loop, [&] { return Mutator::on(n); }); }
    return Mutator::on(n);
  }
  auto on(const AttrStmt& n) -> Stmt override {
    if (auto loop = as_thread_loop(self(n)); loop && is_thread_index(loop->tag)) { return within(self(n), *loop, [&] { return Mutator::on(n); }); }
    if (n.key == "reduce_scope") {
      const auto* subject = std::get_if<Expr>(&n.node);
      ScopedValue inside(reducer_, subject ? subject->as<Reduce>() : nullptr);
      Stmt body = mutate(n.body);
      // The combiner's attribute is removed together with its reductions.
      if (!has_reduction(body)) { return body; }
      return body.same_as(n.body) ? self(n) : make<AttrStmt>(n.node, n.key, n.value, std::move(body), n.origin);
    }
    return Mutator::on(n);
  }
  auto on(const Evaluate& n) -> Stmt override {
    if (is_reduction(self(n))) { return reduce(n); }
    return exchange(self(n), [&](const Expr& value) { return make<Evaluate>(value, n.origin); }, n.value);
  }
  auto on(const BufferStore& n) -> Stmt override {
    return exchange(self(n), [&](const Expr& value) { return make<BufferStore>(n.buffer, value, n.indices, n.origin, n.predicate); }, n.value);
  }
  auto on(const LetStmt& n) -> Stmt override {
    Stmt body = mutate(n.body);
    Stmt same = body.same_as(n.body) ? self(n) : make<LetStmt>(n.var, n.value, body, n.origin);
    return exchange(same, [&](const Expr& value) { return make<LetStmt>(n.var, value, body, n.origin); }, n.value);
  }

 private:
  static auto has_reduction(const Stmt& stmt) -> bool {
    bool found = false;
    post_order(stmt, [&](const Stmt& s) { found = found || is_reduction(s); }, [](const Expr&) {});
    return found;
  }

  /// Enters a loop over threads: its index is known inside, and the shared memory is allocated around the whole thread block.
  template <class F>
  auto within(const Stmt& stmt, const ThreadLoop& loop, F&& walk) -> Stmt {
    const bool is_outermost = !block_;
    if (is_outermost) { block_.emplace(stmt); }
    auto outer = indices_;
    indices_.insert_or_assign(loop.tag.str(), loop.var);
    const VarNode* names[] = {loop.var.get(), loop.alias.get()};
    for (const VarNode* v : names) { if (v) { dimension_of_[v] = *block_->find(loop.tag); } }
    Stmt out = walk();
    indices_ = std::move(outer);
    if (!is_outermost) { return out; }
    block_.reset();
    for (size_t i = shared_.size(); i-- > 0;) {
      const Buffer& b = shared_[i];
      out = make<Allocate>(b->data, b->dtype, b->shape, bool_imm(true), make<DeclBuffer>(b, std::move(out)));
    }
    shared_.clear();
    return out;
  }
  auto shared(const char* name, DataType dtype) -> Buffer {
    shared_.push_back(make_buffer(Name(name), dtype, Array<Expr>{block_->count()}, "shared"));
    return shared_.back();
  }
  /// The number of this thread, with index 0 in the dimensions `without`; null if an index is unknown here.
  auto thread(const std::vector<size_t>& without = {}) -> Expr {
    Expr out = int_imm(0);
    for (size_t d = 0; d < block_->dimensions.size(); ++d) {
      if (std::find(without.begin(), without.end(), d) != without.end()) { continue; }
      auto known = indices_.find(block_->dimensions[d].tag.str());
      if (known == indices_.end()) { return {}; }
      out = add(std::move(out), mul(Expr(known->second), block_->stride(d)));
    }
    return out;
  }

  auto reduce(const Evaluate& n) -> Stmt {
    const Call& call = *n.value.as<Call>();
    auto count = call.args.empty() ? std::nullopt : as_int(call.args[0]);
    if (!block_ || !reducer_ || !count || *count < 1 || call.args.size() < static_cast<size_t>(2 + 2 * *count)) { return self(n); }
    const auto size = static_cast<size_t>(*count);
    const CommReducerNode& combiner = *reducer_->combiner;
    if (combiner.lhs.size() != size || combiner.result.size() != size || combiner.identity.size() != size) { return self(n); }
    std::vector<size_t> across;
    for (size_t i = 2 + 2 * size; i < call.args.size(); ++i) {
      const auto* v = call.args[i].as<VarNode>();
      if (auto found = v ? dimension_of_.find(v) : dimension_of_.end(); found != dimension_of_.end()) { across.push_back(found->second); }
    }
    std::sort(across.begin(), across.end());
    Expr here = thread();
    Expr first = here ? thread(across) : Expr();
    std::vector<const BufferLoad*> results;
    for (size_t i = 0; i < size; ++i) {
      const Expr& to = call.args[2 + size + i];
      const auto* load = to.as<BufferLoad>();
      if (const auto* address = to.as<Call>(); address && address->op == "address_of" && !address->args.empty()) { load = address->args[0].as<BufferLoad>(); }
      results.push_back(load);
    }
    if (!here || std::any_of(results.begin(), results.end(), [](const BufferLoad* r) { return r == nullptr; })) { return self(n); }

    std::vector<Stmt> out;
    std::vector<Buffer> cross;
    const Expr& condition = call.args[1 + size];
    for (size_t i = 0; i < size; ++i) {
      const Expr& value = call.args[1 + i];
      cross.push_back(shared("cross", value.dtype()));
      out.push_back(put(cross[i], if_then_else(condition, value, combiner.identity[i]), here));
    }
    out.push_back(barrier());
    // The first thread of each group reduces the values of the other threads, in order.
    Expr others = int_imm(-1);
    Expr group = int_imm(1);
    Expr is_first = bool_imm(true);
    for (size_t d : across) {
      group = mul(std::move(group), block_->dimensions[d].extent);
      is_first = logical_and(std::move(is_first), equal(Expr(indices_.at(block_->dimensions[d].tag.str())), int_imm(0)));
    }
    others = add(group, std::move(others));
    Var r = var("r");
    Expr rest = add(Expr(r), int_imm(1));
    Expr other = first;
    for (size_t k = 0; k < across.size(); ++k) {
      const Expr& extent = block_->dimensions[across[k]].extent;
      Expr digit = k + 1 == across.size() ? rest : floormod(rest, extent);
      other = add(std::move(other), mul(std::move(digit), block_->stride(across[k])));
      rest = floordiv(std::move(rest), extent);
    }
    VarMap map;
    std::vector<std::pair<Var, Expr>> operands;
    for (size_t i = 0; i < size; ++i) {
      for (const auto& [from, at] : {std::pair(combiner.lhs[i], first), std::pair(combiner.rhs[i], other)}) {
        Var operand = var(from->name, cross[i]->dtype);
        map[from.get()] = operand;
        operands.emplace_back(operand, element(cross[i], at));
      }
    }
    std::vector<Stmt> stores;
    for (size_t i = 0; i < size; ++i) { stores.push_back(put(cross[i], substitute(combiner.result[i], map), first)); }
    Stmt combine = seq(std::move(stores));
    for (size_t i = operands.size(); i-- > 0;) { combine = make<LetStmt>(operands[i].first, operands[i].second, std::move(combine)); }
    out.push_back(make<IfThenElse>(is_first, make<For>(r, int_imm(0), others, ForKind::Serial, std::move(combine))));
    out.push_back(barrier());
    for (size_t i = 0; i < size; ++i) { out.push_back(make<BufferStore>(results[i]->buffer, element(cross[i], first), results[i]->indices, n.origin)); }
    // No thread may store its next value before all threads have read this one.
    out.push_back(barrier());
    return seq(std::move(out), n.origin);
  }

  /// A statement with exchanges in its value: each value is stored and read before the statement.
  template <class F>
  auto exchange(const Stmt& stmt, F&& rebuild, const Expr& value) -> Stmt {
    Expr here = block_ && !keeps_exchanges_ ? thread() : Expr();
    if (!here) { return stmt; }
    std::vector<const Call*> calls;   // innermost first
    post_order(value, [&](const Expr& e) {
      const auto* call = is_exchange(e) ? e.as<Call>() : nullptr;
      if (call && call->args.size() == 5 && std::find(calls.begin(), calls.end(), call) == calls.end()) { calls.push_back(call); }
    });
    if (calls.empty()) { return stmt; }
    struct Replace : Mutator {
      std::unordered_map<const Call*, Var> by;
      using Mutator::mutate;
      using Mutator::on;
      auto on(const Call& n) -> Expr override {
        auto found = by.find(&n);
        return found == by.end() ? Mutator::on(n) : Expr(found->second);
      }
    } replace;
    struct Step { Buffer place; Expr value; Var read; Expr from; };
    std::vector<Step> steps;
    for (const Call* call : calls) {
      Step step{shared("exchanged", call->dtype), replace.mutate(call->args[1]), var("received", call->dtype), {}};
      auto number = [&](size_t i) { return cast(DataType::int_(32), replace.mutate(call->args[i])); };
      Expr warp = int_imm(std::max<int64_t>(1, as_int(call->args[4]).value_or(32)));
      Expr width = loopsmith::max(loopsmith::min(number(3), warp), int_imm(1));
      Expr place = floormod(here, warp);
      Expr begin = mul(floordiv(place, width), width);
      Expr distance = number(2);
      Expr from = call->op == "tvm_warp_shuffle" ? add(begin, floormod(distance, width)) : call->op == "tvm_warp_shuffle_up" ? sub(place, distance) : add(place, distance);
      // If the sender is outside of its part of the warp or of the block, the thread keeps its own value.
      Expr sender = add(sub(here, place), from);
      Expr is_there = logical_and(logical_and(greater_equal(from, begin), less(from, add(begin, width))), less(sender, block_->count()));
      step.from = select(std::move(is_there), sender, here);
      replace.by[call] = step.read;
      steps.push_back(std::move(step));
    }
    Stmt out = rebuild(replace.mutate(value));
    for (size_t i = steps.size(); i-- > 0;) {
      Step& step = steps[i];
      Stmt read = make<LetStmt>(step.read, element(step.place, step.from), seq({barrier(), std::move(out)}));
      out = seq({put(step.place, step.value, here), barrier(), std::move(read)});
    }
    return out;
  }

  std::optional<ThreadBlock> block_;
  const Reduce* reducer_ = nullptr;
  std::unordered_map<std::string, Var> indices_;                 // by tag
  std::unordered_map<const VarNode*, size_t> dimension_of_;
  std::vector<Buffer> shared_;
  bool keeps_exchanges_;
};

}  // namespace

auto lower_cross_thread_reduction(const IRModule& module, const LowerContext&) -> Result<IRModule> {
  return map_functions(module, [](const PrimFunc& func) -> Result<PrimFunc> { return with_body(func, Lower(false).mutate(func->body)); });
}
auto lower_cross_thread_reduction_with_warps(const IRModule& module, const LowerContext&) -> Result<IRModule> {
  return map_functions(module, [](const PrimFunc& func) -> Result<PrimFunc> { return with_body(func, Lower(true).mutate(func->body)); });
}

}  // namespace loopsmith::transform
