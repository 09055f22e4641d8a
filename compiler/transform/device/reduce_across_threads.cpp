// Splits reductions into parts: see reduce_across_threads.h.
#include "transform/device/reduce_across_threads.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <unordered_map>
#include <unordered_set>

#include "arith/analyzer.h"
#include "ir/equal.h"
#include "ir/ops.h"
#include "ir/visitor.h"
#include "ir/vocabulary.h"
#include "support/scoped_value.h"
#include "transform/thread_block.h"

namespace loopsmith::transform {
namespace {

constexpr int64_t warp = 32;

auto put(const Buffer& buffer, Expr value, Expr index) -> Stmt { return make<BufferStore>(buffer, std::move(value), Array<Expr>{std::move(index)}); }
auto element(const Buffer& buffer, Expr index) -> Expr { return make<BufferLoad>(buffer, Array<Expr>{std::move(index)}); }

/// x op y for the operators of reductions that are split.
auto combine(NodeKind op, Expr x, Expr y) -> Expr {
  switch (op) {
    case NodeKind::Add: return add(std::move(x), std::move(y));
    case NodeKind::Mul: return mul(std::move(x), std::move(y));
    case NodeKind::Min: return loopsmith::min(std::move(x), std::move(y));
    default: return loopsmith::max(std::move(x), std::move(y));
  }
}
auto identity(NodeKind op, DataType t) -> Expr {
  switch (op) {
    case NodeKind::Add: return zero(t);
    case NodeKind::Mul: return one(t);
    case NodeKind::Min: return t.is_real() ? float_imm(std::numeric_limits<double>::infinity(), t) : max_value(t);
    default: return t.is_real() ? float_imm(-std::numeric_limits<double>::infinity(), t) : min_value(t);
  }
}

/// `element = element op value`.
struct Update {
  const BufferStore* store = nullptr;
  NodeKind op = NodeKind::Add;
  Expr value;
  Expr condition;                  // the conditions around it that are the same for all threads of the loop; null: always true
};

/// Finds the updates of elements in the body of a loop over threads that are the same for all its threads.
class FindUpdates : public Visitor {
 public:
  using Visitor::on;
  explicit FindUpdates(const ThreadLoop& loop) : loop_(loop) {
    depends_.insert(loop.var.get());
    if (loop.alias) { depends_.insert(loop.alias.get()); }
  }
  std::vector<Update> updates;
  bool is_taken_apart = true;      // all updates can be split

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
        is_taken_apart = false;
        updates.push_back({&n, NodeKind::Add, {}, {}});
      }
      return;
    }
    if (uses(n.indices[0], depends_) && !n.predicate && !shares_element(n.indices[0])) { return; }
    Update update{&n, NodeKind::Add, {}, {}};
    const bool matches = match(n, update) && n.indices[0].dtype().lanes == 1 && !n.predicate && !uses(n.indices[0], inside_) && !uses(n.indices[0], depends_) && take_conditions(n, update);
    is_taken_apart = is_taken_apart && matches;
    updates.push_back(std::move(update));
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

/// Adds calls that combine the values of lanes at half the distance, then at a quarter, and so on: lane 0 of each `width` lanes gets the result.
void combine_lanes(NodeKind op, const Buffer& part, int64_t width, std::vector<Stmt>& out) {
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
    // Code with barriers was written for threads already.
    if (is_one(loop.extent) || waits(loop.body)) { return stmt; }
    FindUpdates found(loop);
    found.visit(loop.body);
    if (found.updates.empty()) { return stmt; }
    // Each iteration of a loop over the same dimension around runs the whole reduction.
    if (std::any_of(around_.begin(), around_.end(), [&](const ThreadLoop& outer) { return outer.tag == loop.tag; })) { return serial(stmt, loop); }
    if (through_ == Through::Warps) { return in_warps(stmt, loop, found); }
    // The loop over the other dimension moves outside, where its index may select the element.
    if (auto inner = as_thread_loop(loop.body); inner && !found.is_taken_apart && is_thread_index(inner->tag) && inner->tag != loop.tag) {
      Stmt swapped = with_body(stmt, loop, inner->body);
      return with_body(loop.body, *inner, thread_loop(swapped, *as_thread_loop(swapped)));
    }
    auto count = as_int(loop.extent);
    if (!count || !found.is_taken_apart || is_updated_twice(found.updates) || is_read_elsewhere(loop.body, found.updates)) { return serial(stmt, loop); }
    Stmt body = loop.body;
    std::vector<Stmt> after;
    std::vector<Buffer> buffers;
    for (const Update& update : found.updates) { body = apart(body, update, loop, *count, buffers, after); }
    std::vector<Stmt> all{with_body(stmt, loop, std::move(body))};
    all.insert(all.end(), after.begin(), after.end());
    Stmt out = seq(std::move(all), stmt.origin());
    for (const Buffer& b : buffers) { out = with_buffer(b, std::move(out)); }
    return out;
  }
  /// The loop with parts that the lanes of warps exchange. Unchanged if the threads of an element are not whole warps or equal parts of a
  /// warp, or if not all of them reach the loop together.
  auto in_warps(const Stmt& stmt, const ThreadLoop& loop, const FindUpdates& found) const -> Stmt {
    auto count = as_int(loop.extent);
    if (!count || loop.tag != "threadIdx.x" || diverges_ || !uniformity_.is_whole || (warp % *count != 0 && (*count % warp != 0 || *count > warp * warp))) { return stmt; }
    if (!found.is_taken_apart || is_updated_twice(found.updates) || is_read_elsewhere(loop.body, found.updates) || contains_threads(loop.body)) { return stmt; }
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
    std::vector<Stmt> all{with_body(stmt, loop, std::move(inside))};
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
 public:
  static auto is_updated_twice(const std::vector<Update>& updates) -> bool {
    for (size_t i = 0; i < updates.size(); ++i) {
      for (size_t j = 0; j < i; ++j) {
        if (updates[i].store->buffer->data == updates[j].store->buffer->data) { return true; }
      }
    }
    return false;
  }
  /// True when the element is also loaded outside of its update.
  static auto is_read_elsewhere(const Stmt& body, const std::vector<Update>& updates) -> bool {
    bool found = false;
    for (const Update& update : updates) {
      int loads = 0;
      post_order(
          body, [](const Stmt&) {},
          [&](const Expr& e) {
            const auto* load = e.as<BufferLoad>();
            loads += load && load->buffer->data == update.store->buffer->data;
          });
      found = found || loads > 1;
    }
    return found;
  }
  static auto with_body(const Stmt& stmt, const ThreadLoop& loop, Stmt body) -> Stmt {
    if (const auto* n = stmt.as<For>()) { return make<For>(n->var, n->min, n->extent, n->for_kind, std::move(body), n->thread, n->annotations, n->origin, n->id); }
    const auto& n = *stmt.as<AttrStmt>();
    return make<AttrStmt>(n.node, n.key, n.value, std::move(body), n.origin);
  }
 private:
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

/// Moves loops over threads out of serial loops around them, where the loops compute nothing but one reduction: each thread then adds up its terms of all
/// iterations, and the threads combine their parts once.
class ThreadsOutside : public Mutator {
 public:
  using Mutator::mutate;
  using Mutator::on;
  auto on(const For& n) -> Stmt override {
    auto bound = as_thread_loop(self(n));
    // A loop of one iteration inside of another one over the same dimension does nothing of its own.
    const bool is_inside = bound && std::find(around_.begin(), around_.end(), bound->tag) != around_.end();
    if (is_inside && is_one(bound->extent)) {
      Stmt body = substitute(bound->body, {{bound->var.get(), n.min}});
      return mutate(bound->alias ? substitute(body, {{bound->alias.get(), n.min}}) : body);
    }
    if (bound) { around_.push_back(bound->tag); }
    Stmt out = Mutator::on(n);
    if (bound) { around_.pop_back(); }
    const auto& serial = *out.as<For>();
    auto loop = as_thread_loop(serial.body);
    const bool is_plain = (serial.for_kind == ForKind::Serial || serial.for_kind == ForKind::Unrolled) && loop && is_thread_index(loop->tag);
    if (!is_plain || uses_var(loop->extent, [&](const VarNode& v) { return &v == serial.var.get(); })) { return out; }
    Stmt inside = make<For>(serial.var, serial.min, serial.extent, serial.for_kind, loop->body, std::nullopt, serial.annotations, serial.origin, serial.id);
    return reduces_only(*loop, inside) && begins_once(serial, *loop) ? Reduce::with_body(serial.body, *loop, std::move(inside)) : out;
  }

 private:
  /// True if other stores than updates, which begin a sum, run in the first iteration of the serial loop only.
  static auto begins_once(const For& serial, const ThreadLoop& loop) -> bool {
    struct FindBegins : Visitor {
      using Visitor::on;
      using Visitor::visit;
      arith::Analyzer later;           // knows that an iteration is not the first
      int conditions = 0;              // around, of which one never holds then
      bool out = true;
      void on(const IfThenElse& n) override {
        const bool is_first_only = later.can_prove(logical_not(n.condition));
        conditions += is_first_only ? 1 : 0;
        visit(n.then_case);
        conditions -= is_first_only ? 1 : 0;
        if (n.else_case) { visit(n.else_case); }
      }
      void on(const BufferStore& n) override {
        bool is_update = false;
        post_order(n.value, [&](const Expr& e) { is_update = is_update || (e.as<BufferLoad>() && e.as<BufferLoad>()->buffer->data == n.buffer->data); });
        out = out && (is_update || conditions > 0);
      }
    } find;
    find.later.bind(serial.var, Range{add(serial.min, constant_int(serial.min.dtype(), 1)), sub(serial.extent, constant_int(serial.extent.dtype(), 1))});
    find.later.bind(loop.var, from_zero(cast(loop.var->dtype, loop.extent)));
    if (loop.alias) { find.later.bind(loop.alias, from_zero(cast(loop.alias->dtype, loop.extent))); }
    find.visit(loop.body);
    return find.out;
  }
  std::vector<Name> around_;   // the dimensions of the loops around
  /// True if the body of the loop stores nothing but the elements of reductions that can be taken apart.
  static auto reduces_only(ThreadLoop loop, const Stmt& body) -> bool {
    loop.body = body;
    FindUpdates found(loop);
    found.visit(body);
    if (found.updates.empty() || !found.is_taken_apart || Reduce::is_updated_twice(found.updates) || Reduce::is_read_elsewhere(body, found.updates)) { return false; }
    bool out = true;
    post_order(
        body,
        [&](const Stmt& s) {
          out = out && !as_thread_loop(s) && !s.as<Evaluate>() && !s.as<While>() && !s.as<AttrStmt>();
          const auto* store = s.as<BufferStore>();
          out = out && (!store || std::any_of(found.updates.begin(), found.updates.end(), [&](const Update& u) { return u.store->buffer->data == store->buffer->data; }));
        },
        [&](const Expr& e) { out = out && !is_exchange(e); });
    return out;
  }
};

}  // namespace

auto reduce_in_warps(const IRModule& module, const LowerContext&) -> Result<IRModule> {
  return map_functions(module, [](const PrimFunc& func) -> Result<PrimFunc> { return with_body(func, Reduce(Through::Warps).mutate(ThreadsOutside().mutate(func->body))); });
}
auto reduce_across_threads(const IRModule& module, const LowerContext&) -> Result<IRModule> {
  return map_functions(module, [](const PrimFunc& func) -> Result<PrimFunc> { return with_body(func, Reduce(Through::SharedMemory).mutate(ThreadsOutside().mutate(func->body))); });
}

}  // namespace loopsmith::transform
