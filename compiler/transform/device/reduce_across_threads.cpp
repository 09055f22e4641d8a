// Splits reductions into parts: see reduce_across_threads.h.
#include "transform/device/reduce_across_threads.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>
#include <unordered_map>
#include <unordered_set>

#include "arith/analyzer.h"
#include "ir/ops.h"
#include "ir/visitor.h"
#include "ir/vocabulary.h"
#include "support/scoped_value.h"
#include "transform/device/thread_updates.h"
#include "transform/device/threads_outside.h"
#include "transform/launches_as_loops.h"
#include "transform/thread_block.h"

namespace loopsmith::transform {
namespace {

constexpr int64_t warp = 32;

auto put(const Buffer& buffer, Expr value, Expr index) -> Stmt { return make<BufferStore>(buffer, std::move(value), Array<Expr>{std::move(index)}); }
auto element(const Buffer& buffer, Expr index) -> Expr { return make<BufferLoad>(buffer, Array<Expr>{std::move(index)}); }

/// x op y for the operators of reductions that are split.
auto combine(Combiner op, Expr x, Expr y) -> Expr {
  auto call = [&](const char* name) { return Expr(make<Call>(x.dtype(), Name(name), Array<Expr>{x, y})); };
  switch (op) {
    case Combiner::Sum: return add(std::move(x), std::move(y));
    case Combiner::Product: return mul(std::move(x), std::move(y));
    case Combiner::Minimum: return loopsmith::min(std::move(x), std::move(y));
    case Combiner::Maximum: return loopsmith::max(std::move(x), std::move(y));
    case Combiner::BitwiseAnd: return call("bitwise_and");
    case Combiner::BitwiseOr: return call("bitwise_or");
    case Combiner::BitwiseXor: return call("bitwise_xor");
    case Combiner::And: return logical_and(std::move(x), std::move(y));
    case Combiner::Or: return logical_or(std::move(x), std::move(y));
  }
  return x;
}
auto identity(Combiner op, DataType t) -> Expr {
  switch (op) {
    case Combiner::Sum: case Combiner::BitwiseOr: case Combiner::BitwiseXor: return zero(t);
    case Combiner::Product: return one(t);
    case Combiner::Minimum: return t.is_real() ? float_imm(std::numeric_limits<double>::infinity(), t) : max_value(t);
    case Combiner::Maximum: return t.is_real() ? float_imm(-std::numeric_limits<double>::infinity(), t) : min_value(t);
    case Combiner::BitwiseAnd: return t.is_uint() ? max_value(t) : int_imm(-1, t);
    case Combiner::And: return bool_imm(true);
    case Combiner::Or: return bool_imm(false);
  }
  return zero(t);
}

/// Adds calls that combine the values of lanes at half the distance, then at a quarter, and so on: lane 0 of each `width` lanes gets the result.
void combine_lanes(Combiner op, const Buffer& part, int64_t width, std::vector<Stmt>& out) {
  for (int64_t distance = width / 2; distance >= 1; distance /= 2) {
    Expr mask = int_imm(0xffffffff, DataType::uint(32));
    Expr other = make<Call>(part->dtype, Name("tvm_warp_shuffle_down"),
                            Array<Expr>{mask, element(part, int_imm(0)), int_imm(distance), int_imm(width), int_imm(warp)});
    out.push_back(put(part, combine(op, element(part, int_imm(0)), std::move(other)), int_imm(0)));
  }
}
auto with_buffer(const Buffer& b, Stmt body) -> Stmt { return make<Allocate>(b->data, b->dtype, b->shape, bool_imm(true), make<DeclBuffer>(b, std::move(body))); }

/// The extents of a kernel's loops over threads, and the values that differ from thread to thread.
class Uniformity : public Visitor {
 public:
  using Visitor::on;
  using Visitor::visit;
  bool is_whole = true;            // all loops over a dimension have one constant extent

  void on(const For& n) override {
    bind(Stmt(Ref<StmtNode>(&n)));
    if (!is_uniform(n.min) || !is_uniform(n.extent)) { different_.insert(n.var.get()); }
    Visitor::on(n);
  }
  void on(const AttrStmt& n) override {
    bind(Stmt(Ref<StmtNode>(&n)));
    Visitor::on(n);
  }
  void on(const LetStmt& n) override {
    if (!is_uniform(n.value)) { different_.insert(n.var.get()); }
    Visitor::on(n);
  }
  /// True when the value is the same for all threads of a block.
  [[nodiscard]] auto is_uniform(const Expr& e) const -> bool {
    bool out = true;
    post_order(e, [&](const Expr& sub) {
      const auto* v = sub.as<VarNode>();
      out = out && !sub.as<BufferLoad>() && !(v && different_.contains(v));
    });
    return out;
  }

 private:
  void bind(const Stmt& stmt) {
    auto loop = as_thread_loop(stmt);
    if (!loop || !is_thread_index(loop->tag)) { return; }
    different_.insert(loop->var.get());
    if (loop->alias) { different_.insert(loop->alias.get()); }
    auto extent = as_int(loop->extent);
    is_whole = is_whole && extent && extents_.emplace(loop->tag, *extent).first->second == *extent;
  }
  std::unordered_set<const VarNode*> different_;
  std::unordered_map<Name, int64_t> extents_;
};

/// The memory through which the parts of a reduction are combined.
enum class Through : uint8_t { Warps, SharedMemory };

class Reduce : public Mutator {
 public:
  using Mutator::mutate;
  using Mutator::on;
  explicit Reduce(Through through) : through_(through) {}

  auto on(const For& n) -> Stmt override {
    ScopedValue apart(diverges_, diverges_ || (in_kernel_ && !(uniformity_.is_uniform(n.min) && uniformity_.is_uniform(n.extent))));
    return at(self(n), [&] { return Mutator::on(n); });
  }
  auto on(const AttrStmt& n) -> Stmt override { return at(self(n), [&] { return Mutator::on(n); }); }
  auto on(const IfThenElse& n) -> Stmt override {
    ScopedValue apart(diverges_, diverges_ || (in_kernel_ && !uniformity_.is_uniform(n.condition)));
    return Mutator::on(n);
  }
  auto on(const While& n) -> Stmt override {
    ScopedValue apart(diverges_, diverges_ || (in_kernel_ && !uniformity_.is_uniform(n.condition)));
    return Mutator::on(n);
  }

 private:
  template <class F>
  auto at(const Stmt& stmt, F&& walk) -> Stmt {
    const bool is_bound = as_thread_loop(stmt).has_value();
    if (is_bound && !in_kernel_) {
      uniformity_ = Uniformity();
      uniformity_.visit(stmt);
    }
    Stmt out;
    {
      ScopedValue inside(in_kernel_, in_kernel_ || is_bound);
      if (is_bound) { around_.push_back(*as_thread_loop(stmt)); }
      out = walk();
      if (is_bound) { around_.pop_back(); }
    }
    auto loop = as_thread_loop(out);
    if (!loop || !is_thread_index(loop->tag)) { return out; }
    Stmt reduced = thread_loop(out, *loop);
    if (in_kernel_ || reduced.same_as(out) || as_thread_loop(reduced)) { return reduced; }
    // All parts of the reduction belong to one kernel.
    Var block = var("block");
    IterVar iter{block, from_zero(int_imm(1)), IterKind::ThreadIndex, Name("blockIdx.x"), stmt.origin()};
    return make<For>(block, int_imm(0), int_imm(1), ForKind::ThreadBinding, std::move(reduced), iter, AttrMap(), stmt.origin());
  }
  auto thread_loop(const Stmt& stmt, const ThreadLoop& loop) -> Stmt {
    // Launches, and code with barriers, were written for threads already.
    const auto* n = stmt.as<For>();
    if (is_one(loop.extent) || waits(loop.body) || (n && find_attr(n->annotations, Name(launched)))) { return stmt; }
    const ThreadUpdates found = find_thread_updates(loop);
    if (found.updates.empty()) { return stmt; }
    // Each iteration of a loop over the same dimension around runs the whole reduction.
    if (std::any_of(around_.begin(), around_.end(), [&](const ThreadLoop& outer) { return outer.tag == loop.tag; })) { return serial(stmt, loop); }
    if (through_ == Through::Warps) { return in_warps(stmt, loop, found); }
    // The loop over the other dimension moves outside, where its index may select the element.
    if (auto inner = as_thread_loop(loop.body); inner && !found.can_be_split && !found.choice && is_thread_index(inner->tag) && inner->tag != loop.tag) {
      Stmt swapped = with_thread_body(stmt, loop, inner->body);
      return with_thread_body(loop.body, *inner, thread_loop(swapped, *as_thread_loop(swapped)));
    }
    auto count = as_int(loop.extent);
    if (count && found.choice) { return choice_apart(stmt, loop, *found.choice, *count); }
    if (!count || !found.can_be_split || is_updated_twice(found.updates) || is_used_elsewhere(loop, found.updates)) { return serial(stmt, loop); }
    Stmt body = loop.body;
    std::vector<Stmt> after;
    std::vector<Buffer> buffers;
    for (const Update& update : found.updates) { body = apart(body, update, loop, *count, buffers, after); }
    std::vector<Stmt> all{with_thread_body(stmt, loop, std::move(body))};
    all.insert(all.end(), after.begin(), after.end());
    Stmt out = seq(std::move(all), stmt.origin());
    for (const Buffer& b : buffers) { out = with_buffer(b, std::move(out)); }
    return out;
  }
  /// The loop with parts that the lanes of warps exchange. Unchanged if the threads of an element are not whole warps or equal parts of a
  /// warp, or if not all of them reach the loop together.
  auto in_warps(const Stmt& stmt, const ThreadLoop& loop, const ThreadUpdates& found) const -> Stmt {
    auto count = as_int(loop.extent);
    if (!count || loop.tag != "threadIdx.x" || diverges_ || !uniformity_.is_whole || (warp % *count != 0 && (*count % warp != 0 || *count > warp * warp))) { return stmt; }
    if (!found.can_be_split || is_updated_twice(found.updates) || is_used_elsewhere(loop, found.updates) || contains_threads(loop.body)) { return stmt; }
    if (std::any_of(found.updates.begin(), found.updates.end(), [&](const Update& update) { return is_reduced_around(update); })) { return stmt; }
    const int64_t warps = (*count + warp - 1) / warp;
    Stmt body = loop.body;
    std::vector<Stmt> begin, end, after;
    std::vector<Buffer> own, totals, shared;
    for (const Update& update : found.updates) {
      const DataType t = update.store->buffer->dtype;
      own.push_back(make_buffer(Name("part"), t, Array<Expr>{int_imm(1)}, "local"));
      const Buffer& part = own.back();
      body = replaced(body, *update.store, put(part, combine(update.op, element(part, int_imm(0)), update.value), int_imm(0)));
      begin.push_back(put(part, identity(update.op, t), int_imm(0)));
      combine_lanes(update.op, part, std::min(*count, warp), end);
      if (warps == 1) {
        end.push_back(make<IfThenElse>(equal(Expr(loop.var), zero(loop.var->dtype)), result(update, part)));
        continue;
      }
      // Lane 0 of each warp stores its sum, and every warp combines these sums.
      shared.push_back(make_buffer(Name("parts"), t, Array<Expr>{int_imm(warps)}, "shared"));
      totals.push_back(make_buffer(Name("total"), t, Array<Expr>{int_imm(1)}, "local"));
      const Buffer& parts = shared.back();
      const Buffer& total = totals.back();
      Expr index = cast(DataType::int_(32), Expr(loop.var));
      end.push_back(make<IfThenElse>(equal(floormod(index, int_imm(warp)), int_imm(0)), put(parts, element(part, int_imm(0)), floordiv(index, int_imm(warp)))));
      Var lane = var(loop.var->name);
      std::vector<Stmt> last{put(total, identity(update.op, t), int_imm(0)), make<IfThenElse>(less(Expr(lane), int_imm(warps)), put(total, element(parts, lane), int_imm(0)))};
      combine_lanes(update.op, total, static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(warps))), last);
      last.push_back(make<IfThenElse>(equal(Expr(lane), int_imm(0)), result(update, total)));
      IterVar iter{lane, from_zero(int_imm(*count)), IterKind::ThreadIndex, loop.tag, stmt.origin()};
      after.push_back(make<For>(lane, int_imm(0), int_imm(*count), ForKind::ThreadBinding, with_buffer(total, seq(std::move(last))), iter, AttrMap(), stmt.origin()));
    }
    begin.push_back(std::move(body));
    begin.insert(begin.end(), end.begin(), end.end());
    Stmt inside = seq(std::move(begin));
    for (const Buffer& b : own) { inside = with_buffer(b, std::move(inside)); }
    std::vector<Stmt> all{with_thread_body(stmt, loop, std::move(inside))};
    all.insert(all.end(), after.begin(), after.end());
    Stmt out = seq(std::move(all), stmt.origin());
    for (const Buffer& b : shared) { out = with_buffer(b, std::move(out)); }
    return out;
  }
  /// True if a loop around over another dimension drives terms of the same sum: both loops are taken apart together.
  [[nodiscard]] auto is_reduced_around(const Update& update) const -> bool {
    return std::any_of(around_.begin(), around_.end(), [&](const ThreadLoop& loop) {
      auto is_index = [&](const VarNode& v) { return &v == loop.var.get() || &v == loop.alias.get(); };
      return is_thread_index(loop.tag) && !is_one(loop.extent) && !uses_var(update.store->indices[0], is_index);
    });
  }
  /// `element = element op total`, for the update of the element.
  static auto result(const Update& update, const Buffer& total) -> Stmt {
    const BufferStore& store = *update.store;
    Expr old = make<BufferLoad>(store.buffer, store.indices, store.origin);
    Stmt out = make<BufferStore>(store.buffer, combine(update.op, std::move(old), element(total, int_imm(0))), store.indices, store.origin);
    return update.condition ? make<IfThenElse>(update.condition, std::move(out), Stmt(), store.origin) : out;
  }
  static auto contains_threads(const Stmt& stmt) -> bool {
    bool found = false;
    post_order(stmt, [&](const Stmt& s) { found = found || as_thread_loop(s); }, [](const Expr&) {});
    return found;
  }
  static auto replaced(const Stmt& body, const BufferStore& from, Stmt to) -> Stmt {
    struct Replace : Mutator {
      const BufferStore* from = nullptr;
      Stmt to;
      using Mutator::on;
      auto on(const BufferStore& n) -> Stmt override { return &n == from ? to : Mutator::on(n); }
    } replace;
    replace.from = &from;
    replace.to = std::move(to);
    return replace.mutate(body);
  }
  /// The body with one update changed to a part of this thread; `after` receives the loops that combine the parts.
  static auto apart(const Stmt& body, const Update& update, const ThreadLoop& loop, int64_t count, std::vector<Buffer>& buffers, std::vector<Stmt>& after) -> Stmt {
    const BufferStore& store = *update.store;
    const DataType t = store.buffer->dtype;
    Buffer part = make_buffer(Name("part"), t, Array<Expr>{int_imm(1)}, "local");
    Buffer parts = make_buffer(Name("parts"), t, Array<Expr>{int_imm(count)}, "local");
    buffers.push_back(parts);
    Stmt own = replaced(body, store, put(part, combine(update.op, element(part, int_imm(0)), update.value), int_imm(0)));
    Expr index = cast(DataType::int_(32), Expr(loop.var));
    Stmt inside = seq({put(part, identity(update.op, t), int_imm(0)), std::move(own), put(parts, element(part, int_imm(0)), index)});
    inside = with_buffer(part, std::move(inside));
    for (int64_t left = count; left > 1; left = (left + 1) / 2) {
      const int64_t half = (left + 1) / 2;
      Var lane = var(loop.var->name);
      Stmt step = put(parts, combine(update.op, element(parts, lane), element(parts, add(Expr(lane), int_imm(half)))), lane);
      step = make<IfThenElse>(less(add(Expr(lane), int_imm(half)), int_imm(left)), std::move(step));
      IterVar iter{lane, from_zero(int_imm(count)), IterKind::ThreadIndex, loop.tag, store.origin};
      after.push_back(make<For>(lane, int_imm(0), int_imm(count), ForKind::ThreadBinding, std::move(step), iter, AttrMap(), store.origin));
    }
    after.push_back(result(update, parts));
    return inside;
  }
  /// The loop in which each thread chooses among its values, and the loops that choose among the threads' values. A thread may begin from a value that others
  /// begin from, too: a choice among equal values gives that value.
  static auto choice_apart(const Stmt& stmt, const ThreadLoop& loop, const Choice& choice, int64_t count) -> Stmt {
    struct Own : Mutator {
      const Choice& choice;
      std::vector<Buffer> part;
      explicit Own(const Choice& c) : choice(c) {}
      using Mutator::on;
      auto on(const BufferLoad& n) -> Expr override {
        for (size_t k = 0; k < part.size(); ++k) {
          if (n.buffer->data == choice.stores[k]->buffer->data) { return element(part[k], int_imm(0)); }
        }
        return Mutator::on(n);
      }
      auto on(const BufferStore& n) -> Stmt override {
        for (size_t k = 0; k < part.size(); ++k) {
          if (&n == choice.stores[k]) { return put(part[k], mutate(n.value), int_imm(0)); }
        }
        return Mutator::on(n);
      }
    } own(choice);
    const size_t n = choice.stores.size();
    std::vector<Buffer> parts;
    for (const BufferStore* store : choice.stores) {
      own.part.push_back(make_buffer(Name("part"), store->buffer->dtype, Array<Expr>{int_imm(1)}, "local"));
      parts.push_back(make_buffer(Name("parts"), store->buffer->dtype, Array<Expr>{int_imm(count)}, "local"));
    }
    auto guarded = [&](Stmt s) { return choice.condition ? Stmt(make<IfThenElse>(choice.condition, std::move(s), Stmt(), stmt.origin())) : s; };
    /// Stores `kept` or `taken` values, as the choice says.
    auto choose = [&](const std::vector<Expr>& kept, const std::vector<Expr>& taken, const std::function<Stmt(size_t, Expr)>& store) {
      VarMap values;
      for (size_t k = 0; k < n; ++k) { values[choice.kept[k].get()] = kept[k]; values[choice.taken[k].get()] = taken[k]; }
      Var keeps = var("keeps", DataType::bool_());
      std::vector<Stmt> out;
      for (size_t k = 0; k < n; ++k) { out.push_back(store(k, make<Select>(Expr(keeps), kept[k], taken[k]))); }
      return Stmt(make<LetStmt>(keeps, substitute(choice.keeps, values), seq(std::move(out), stmt.origin()), stmt.origin()));
    };
    std::vector<Stmt> inside;
    std::vector<Expr> firsts, totals;
    for (size_t k = 0; k < n; ++k) { inside.push_back(guarded(put(own.part[k], choice.first[k], int_imm(0)))); }
    inside.push_back(own.mutate(loop.body));
    for (size_t k = 0; k < n; ++k) { inside.push_back(guarded(put(parts[k], element(own.part[k], int_imm(0)), cast(DataType::int_(32), Expr(loop.var))))); }
    Stmt each = seq(std::move(inside));
    for (const Buffer& b : own.part) { each = with_buffer(b, std::move(each)); }
    std::vector<Stmt> all{with_thread_body(stmt, loop, std::move(each))};
    for (int64_t left = count; left > 1; left = (left + 1) / 2) {
      const int64_t half = (left + 1) / 2;
      Var lane = var(loop.var->name);
      std::vector<Expr> here, there;
      for (const Buffer& b : parts) { here.push_back(element(b, lane)); there.push_back(element(b, add(Expr(lane), int_imm(half)))); }
      Stmt step = choose(here, there, [&](size_t k, Expr value) { return put(parts[k], std::move(value), lane); });
      step = guarded(make<IfThenElse>(less(add(Expr(lane), int_imm(half)), int_imm(left)), std::move(step)));
      IterVar iter{lane, from_zero(int_imm(count)), IterKind::ThreadIndex, loop.tag, stmt.origin()};
      all.push_back(make<For>(lane, int_imm(0), int_imm(count), ForKind::ThreadBinding, std::move(step), iter, AttrMap(), stmt.origin()));
    }
    for (size_t k = 0; k < n; ++k) {
      const BufferStore& store = *choice.stores[k];
      firsts.push_back(make<BufferLoad>(store.buffer, store.indices, store.origin));
      totals.push_back(element(parts[k], int_imm(0)));
    }
    all.push_back(guarded(choose(firsts, totals, [&](size_t k, Expr value) -> Stmt { return make<BufferStore>(choice.stores[k]->buffer, std::move(value), choice.stores[k]->indices, choice.stores[k]->origin); })));
    Stmt out = seq(std::move(all), stmt.origin());
    for (const Buffer& b : parts) { out = with_buffer(b, std::move(out)); }
    return out;
  }
  static auto serial(const Stmt& stmt, const ThreadLoop& loop) -> Stmt {
    Stmt body = loop.alias ? substitute(loop.body, {{loop.alias.get(), Expr(loop.var)}}) : loop.body;
    const auto* n = stmt.as<For>();
    return make<For>(loop.var, n ? n->min : int_imm(0, loop.var->dtype), cast(loop.var->dtype, loop.extent), ForKind::Serial, std::move(body), std::nullopt, AttrMap(), stmt.origin());
  }
  const Through through_;
  Uniformity uniformity_;          // of the current kernel
  bool in_kernel_ = false;
  std::vector<ThreadLoop> around_;
  bool diverges_ = false;          // not all threads of a block reach the statement at hand
};

}  // namespace

auto reduce_in_warps(const IRModule& module, const LowerContext&) -> Result<IRModule> {
  return map_functions(module, [](const PrimFunc& func) -> Result<PrimFunc> { return with_body(func, Reduce(Through::Warps).mutate(move_threads_outside(func->body))); });
}
auto reduce_across_threads(const IRModule& module, const LowerContext&) -> Result<IRModule> {
  return map_functions(module, [](const PrimFunc& func) -> Result<PrimFunc> { return with_body(func, Reduce(Through::SharedMemory).mutate(move_threads_outside(func->body))); });
}

}  // namespace loopsmith::transform
