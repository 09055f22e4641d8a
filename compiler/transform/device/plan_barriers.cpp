// Conflicts between the threads of a block: see plan_barriers.h.
#include "transform/device/plan_barriers.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include "arith/analyzer.h"
#include "arith/iter_map.h"
#include "ir/equal.h"
#include "ir/ops.h"
#include "ir/visitor.h"
#include "ir/vocabulary.h"
#include "support/reasons.h"
#include "support/scoped_value.h"
#include "transform/affine.h"
#include "transform/device/uniform.h"

namespace loopsmith::transform {
namespace {

/// The run of a loop that binds a dimension.
using Run = uint64_t;
constexpr Run unbound_first = 0;   // outside of all loops over the dimension; only its first thread executes the statement
constexpr Run unbound_all = 1;     // outside of all loops over the dimension; all its threads execute the statement
constexpr Run past = 2;            // a run of an earlier iteration of a loop around

/// True for a sum that has a different value for each choice of the variables: its terms (`x`, `x // 4`, `x % 4`) differ between any two choices, and each coefficient
/// is larger than the largest sum of the terms with smaller ones. This also holds for padded rows and for tiles of larger arrays, which are no bijections.
auto differs_everywhere(const Affine& sum, const arith::IterDomains& domains) -> bool {
  if (sum.has_wrapped) { return false; }
  arith::Analyzer analyzer;
  for (const auto& [variable, range] : domains) { analyzer.bind(variable, range); }
  auto varies = [&](const VarNode& v) { return std::any_of(domains.begin(), domains.end(), [&](const auto& domain) { return domain.first.get() == &v; }); };
  struct Digit { uint64_t scale, extent; };
  std::vector<Digit> digits;
  std::vector<Expr> atoms;
  for (const Affine::Term& term : sum.terms) {
    if (!uses_var(term.atom, varies)) { continue; }
    const arith::ConstIntBound bounds = analyzer.const_int_bound(term.atom);
    if (bounds.min < 0 || bounds.max > std::numeric_limits<int32_t>::max() || term.coefficient == std::numeric_limits<int64_t>::min()) { return false; }
    digits.push_back({static_cast<uint64_t>(std::abs(term.coefficient)), static_cast<uint64_t>(bounds.max) + 1});
    atoms.push_back(term.atom);
  }
  auto is_term = [&](const Var& v) { return std::any_of(atoms.begin(), atoms.end(), [&](const Expr& e) { return e.as<VarNode>() == v.get(); }); };
  const bool are_variables = std::all_of(domains.begin(), domains.end(), [&](const auto& domain) { return is_term(domain.first); });
  if (!are_variables && arith::detect_iter_map(atoms, domains, bool_imm(true), arith::IterMapLevel::Bijective, analyzer).indices.empty()) { return false; }
  std::sort(digits.begin(), digits.end(), [](const Digit& a, const Digit& b) { return a.scale < b.scale; });
  uint64_t reach = 0;
  for (const Digit& digit : digits) {
    uint64_t more = 0;
    if (digit.scale <= reach || __builtin_mul_overflow(digit.scale, digit.extent - 1, &more) || __builtin_add_overflow(reach, more, &reach)) { return false; }
  }
  return true;
}

struct Access {
  const VarNode* data = nullptr;
  bool is_write = false;
  Expr index;                      // in the canonical thread indices; none: any element
  int64_t element_bytes = 0;       // the unit of the index; 0: the index has another one, that of vectors
  std::vector<Run> runs;           // one for every dimension of the block
  std::vector<const VarNode*> moved;   // loop variables of the index that have had other values since then
};

class Planner {
 public:
  Planner(const Stmt& kernel, const ThreadBlock& block, const FilledAlike& filled_alike) : block_(block), filled_alike_(filled_alike), uniform_(kernel), runs_(block.dimensions.size(), unbound_first), is_first_(block.dimensions.size(), 0) {
    for (const ThreadBlock::Dimension& d : block_.dimensions) { indices_.push_back(var(d.tag)); }
  }
  BarrierPlan plan;

  void walk(const Stmt& stmt) {
    if (plan.problem) { return; }
    if (auto loop = as_thread_loop(stmt); loop && is_thread_index(loop->tag)) {
      enter(stmt, *loop, [&] { walk(loop->body); });
      return;
    }
    // Each block has separate memory; blocks do not repeat one another.
    if (auto blocks = as_thread_loop(stmt); blocks && is_block_axis(blocks->tag.view())) { return walk(blocks->body); }
    switch (stmt.kind()) {
      case NodeKind::SeqStmt:
        for (const Stmt& s : stmt.as<SeqStmt>()->seq) { walk(s); }
        return;
      case NodeKind::For: return loop(stmt, *stmt.as<For>());
      case NodeKind::While: return loop(stmt, *stmt.as<While>());
      case NodeKind::IfThenElse: return branch(stmt, *stmt.as<IfThenElse>());
      case NodeKind::LetStmt: {
        const auto& n = *stmt.as<LetStmt>();
        // A barrier for reads in the value stands in front of the whole statement, because the value has no statement before it.
        take(stmt, [&] { reads(n.value); });
        return walk(n.body);
      }
      case NodeKind::AttrStmt: {
        ScopedValue inside(is_async_, is_async_ || stmt.as<AttrStmt>()->key == "async_scope");
        return walk(stmt.as<AttrStmt>()->body);
      }
      case NodeKind::AssertStmt: return walk(stmt.as<AssertStmt>()->body);
      case NodeKind::Allocate: {
        const auto& n = *stmt.as<Allocate>();
        if (!n.data->pointer || !is_shared_memory(n.data->pointer->scope.view())) { own_.insert(n.data.get()); }
        return walk(n.body);
      }
      case NodeKind::AllocateConst: return walk(stmt.as<AllocateConst>()->body);
      case NodeKind::DeclBuffer: return walk(stmt.as<DeclBuffer>()->body);
      case NodeKind::Evaluate:
        if (is_barrier(stmt)) { pending_.clear(); return; }
        unit(stmt);
        if (is_wait_for_copies(stmt)) { copies_land(); }
        return;
      default: return unit(stmt);
    }
  }

 private:
  template <class F>
  void enter(const Stmt& stmt, const ThreadLoop& loop, F&& inside) {
    auto dimension = block_.find(loop.tag);
    if (!dimension) { return inside(); }
    for (const VarNode* v : {loop.var.get(), loop.alias.get()}) {
      if (v) { canonical_[v] = cast(v->dtype, Expr(indices_[*dimension])); }
    }
    Run& id = run_of_[stmt.get()];
    if (id == 0) { id = next_run_++; }
    ScopedValue bound(runs_[*dimension], Run(id));
    inside();
  }

  void loop(const Stmt& stmt, const For& n) {
    if (!uniform_.is_uniform(n.min) || !uniform_.is_uniform(n.extent) || n.for_kind == ForKind::Vectorized) { return unit(stmt); }
    domains_[n.var.get()] = Range{n.min, n.extent};
    repeated(stmt, n.body, n.var, [&] { reads(n.min); reads(n.extent); }, [&] { walk(n.body); });
  }
  void loop(const Stmt& stmt, const While& n) {
    if (!uniform_.is_uniform(n.condition)) { return unit(stmt); }
    repeated(stmt, n.body, {}, [&] { reads(n.condition); }, [&] {
      walk(n.body);
      // The body ends with the next evaluation of the condition.
      std::vector<Access> body = std::exchange(pending_, {});
      reads(n.condition);
      const std::vector<Access> here = std::exchange(pending_, {});
      if (plan.behind.contains(stmt.get()) || conflict(body, here)) {
        plan.behind.insert(stmt.get());
        body.clear();
      }
      pending_ = std::move(body);
      for (const Access& access : here) { remember(access); }
    });
  }
  /// A loop that all threads repeat alike. `begin`: the accesses before its first iteration; `iteration`: walks through the body.
  template <class Begin, class Iteration>
  void repeated(const Stmt& stmt, const Stmt& body, const Var& counter, Begin&& begin, Iteration&& iteration) {
    // A loop without barriers inside waits once, before its first iteration.
    std::vector<Access> before = std::exchange(pending_, {});
    const size_t barriers = plan.before.size() + plan.behind.size();
    repeat(iteration, counter);
    pending_ = std::move(before);
    if (plan.before.size() + plan.behind.size() == barriers && !contains_barrier(body)) { return take(stmt, [&] { gather(stmt); }); }
    if (uniform_.jump_apart(body)) { return fail("a loop that some threads of a block leave earlier than others", because(Why::BarrierInLoop), stmt.origin()); }
    take(stmt, begin);
    repeat(iteration, counter);
  }
  auto contains_barrier(const Stmt& stmt) const -> bool {
    bool found = false;
    post_order(stmt, [&](const Stmt& s) { found = found || is_barrier(s) || plan.before.contains(s.get()) || plan.behind.contains(s.get()); }, [](const Expr&) {});
    return found;
  }
  /// True for barriers of the block that the program writes itself; those of a warp may stand in a branch.
  static auto is_written_barrier_in(const Stmt& stmt) -> bool {
    bool found = false;
    post_order(
        stmt,
        [&](const Stmt& s) {
          const auto* text = is_barrier(s) && !s.as<Evaluate>()->value.as<Call>()->args.empty() ? s.as<Evaluate>()->value.as<Call>()->args[0].as<StringImm>() : nullptr;
          found = found || (text && text->value != "warp");
        },
        [](const Expr&) {});
    return found;
  }
  /// A body that runs several times: accesses after its last barrier may conflict with those before its first barrier.
  template <class F>
  void repeat(F&& body, const Var& counter) {
    // An earlier loop may have had the same variable, with other values.
    for (Access& access : pending_) { note_moved(access, counter); }
    std::vector<Access> before = pending_;
    if (counter) { open_.insert(counter.get()); }
    body();
    std::vector<Access> end = pending_;
    for (Access& access : end) { in_the_past(access, counter); }
    pending_.clear();
    for (Access& access : end) { remember(std::move(access)); }
    for (Access& access : before) { remember(std::move(access)); }
    body();
    if (counter) { open_.erase(counter.get()); }
  }
  static void note_moved(Access& access, const Var& counter) {
    const bool uses = counter && access.index && uses_var(access.index, [&](const VarNode& v) { return &v == counter.get(); });
    if (uses && std::find(access.moved.begin(), access.moved.end(), counter.get()) == access.moved.end()) { access.moved.push_back(counter.get()); }
  }
  /// An access of an earlier iteration: loops inside of the repeated body have started again since then, and their variables have other values.
  void in_the_past(Access& access, const Var& counter) {
    for (size_t d = 0; d < runs_.size(); ++d) {
      if (access.runs[d] > unbound_all && access.runs[d] != runs_[d]) { access.runs[d] = past; }
    }
    if (!access.index) { return; }
    post_order(access.index, [&](const Expr& e) {
      const auto* v = e.as<VarNode>();
      const bool moves = v && (v == counter.get() || (domains_.contains(v) && !open_.contains(v)));
      if (moves && std::find(access.moved.begin(), access.moved.end(), v) == access.moved.end()) { access.moved.push_back(v); }
    });
  }

  void branch(const Stmt& stmt, const IfThenElse& n) {
    if (uniform_.is_uniform(n.condition)) {
      // A barrier before the branch also serves the statements inside. Inside the branch, some devices run code of the first thread in all threads.
      wait_before(stmt);
      take(stmt, [&] { reads(n.condition); });
      std::vector<Access> before = pending_;
      walk(n.then_case);
      std::vector<Access> then_end = std::exchange(pending_, before);
      if (n.else_case) { walk(n.else_case); }
      for (Access& access : then_end) { remember(std::move(access)); }
      return;
    }
    auto known = plan.distributed.find(stmt.get());
    if (known == plan.distributed.end()) {
      if (is_written_barrier_in(stmt)) {
        fail("a branch that only some threads of a block take", because(Why::BarrierInBranch), stmt.origin());
        return;
      }
      if (!conflicts_inside(stmt)) { return unit(stmt); }
      Stmt spread = distribute(n.condition, n.then_case);
      if (spread && n.else_case) {
        Stmt other = distribute(logical_not(n.condition), n.else_case);
        spread = other ? seq({spread, other}) : Stmt();
      }
      if (!spread || spread.as<IfThenElse>()) {
        fail("a branch that only some threads of a block take", because(Why::ExchangeInBranch), stmt.origin());
        return;
      }
      known = plan.distributed.emplace(stmt.get(), std::move(spread)).first;
    }
    walk(Stmt(known->second));
  }
  /// Puts the condition around each statement of a body instead of around the whole body; null if a statement may change the condition.
  auto distribute(const Expr& condition, const Stmt& body) -> Stmt {
    bool loads = false;
    post_order(condition, [&](const Expr& e) { loads = loads || e.as<BufferLoad>() || (e.as<Call>() && !e.as<Call>()->args.empty() && e.as<Call>()->op != "likely"); });
    if (loads) { return {}; }
    switch (body.kind()) {
      case NodeKind::SeqStmt: {
        std::vector<Stmt> out;
        for (const Stmt& s : body.as<SeqStmt>()->seq) {
          out.push_back(distribute(condition, s));
          if (!out.back()) { return {}; }
        }
        return seq(std::move(out), body.origin());
      }
      case NodeKind::For: {
        const auto& n = *body.as<For>();
        if (n.for_kind == ForKind::Vectorized || !uniform_.is_uniform(n.extent)) { break; }
        Stmt inner = distribute(condition, n.body);
        return inner ? make<For>(n.var, n.min, n.extent, n.for_kind, inner, n.thread, n.annotations, n.origin, n.id) : Stmt();
      }
      case NodeKind::Allocate: {
        const auto& n = *body.as<Allocate>();
        Stmt inner = distribute(condition, n.body);
        return inner ? make<Allocate>(n.data, n.dtype, n.extents, n.condition, inner, n.annotations, n.origin) : Stmt();
      }
      case NodeKind::DeclBuffer: {
        const auto& n = *body.as<DeclBuffer>();
        Stmt inner = distribute(condition, n.body);
        return inner ? make<DeclBuffer>(n.buffer, inner, n.origin) : Stmt();
      }
      default: break;
    }
    return make<IfThenElse>(condition, body, Stmt(), body.origin());
  }

  // ---- statements that are done without a barrier inside

  void unit(const Stmt& stmt) {
    if (is_written_barrier_in(stmt)) {
      fail("a loop that some threads of a block repeat more often than others", because(Why::BarrierInLoop), stmt.origin());
      return;
    }
    if (conflicts_inside(stmt)) {
      fail("a statement that some threads of a block repeat more often than others", because(Why::ExchangeInLoop), stmt.origin());
      return;
    }
    take(stmt, [&] { gather(stmt); });
  }
  /// Puts a barrier before a statement if any part of it conflicts with the accesses before.
  void wait_before(const Stmt& stmt) {
    std::vector<Access> before = std::exchange(pending_, {});
    gather(stmt);
    const std::vector<Access> here = std::exchange(pending_, {});
    pending_ = std::move(before);
    if (plan.before.contains(stmt.get()) || conflict(pending_, here)) {
      plan.before.insert(stmt.get());
      pending_.clear();
    }
  }
  /// Puts a barrier before a statement whose accesses conflict with those before, and adds its accesses.
  template <class F>
  void take(const Stmt& stmt, F&& accesses) {
    std::vector<Access> before = std::exchange(pending_, {});
    ScopedValue alone(is_alone_, is_alone_ || is_done_by_one(stmt));
    accesses();
    std::vector<Access> here = std::exchange(pending_, {});
    const bool known = plan.before.contains(stmt.get());
    if (known || conflict(before, here)) {
      plan.before.insert(stmt.get());
      before.clear();
    }
    pending_ = std::move(before);
    for (Access& access : here) { remember(std::move(access)); }
  }
  /// True if the first thread of unbound dimensions executes the whole statement: it contains no loop over threads, and accesses no thread's own memory.
  auto is_done_by_one(const Stmt& stmt) const -> bool {
    bool out = true;
    post_order(
        stmt,
        [&](const Stmt& s) {
          const auto* store = s.as<BufferStore>();
          out = out && !as_thread_loop(s) && !is_barrier(s) && !s.as<Allocate>() && !(store && own_.contains(store->buffer->data.get()));
        },
        [&](const Expr& e) { out = out && !is_collective(e); });
    return out;
  }
  auto conflicts_inside(const Stmt& stmt) -> bool {
    std::vector<Access> before = std::exchange(pending_, {});
    ScopedValue alone(is_alone_, is_alone_ || is_done_by_one(stmt));
    gather(stmt);
    std::vector<Access> here = std::exchange(pending_, std::move(before));
    return conflict(here, here);
  }
  void gather(const Stmt& stmt) {
    if (auto loop = as_thread_loop(stmt); loop && is_thread_index(loop->tag)) {
      enter(stmt, *loop, [&] { gather(loop->body); });
      return;
    }
    if (const auto* store = stmt.as<BufferStore>()) { add(store->buffer, store->indices, true); }
    if (const auto* allocate = stmt.as<Allocate>(); allocate && (!allocate->data->pointer || !is_shared_memory(allocate->data->pointer->scope.view()))) { own_.insert(allocate->data.get()); }
    // Accesses of earlier iterations may conflict with those of later ones.
    auto repeat_gathered = [&](const Var& counter) {
      std::vector<Access> earlier = pending_;
      for (Access& access : earlier) {
        in_the_past(access, counter);
        remember(std::move(access));
      }
    };
    if (const auto* n = stmt.as<For>()) {
      domains_[n->var.get()] = Range{n->min, n->extent};
      reads(n->min);
      reads(n->extent);
      gather(n->body);
      return repeat_gathered(n->var);
    }
    if (const auto* n = stmt.as<While>()) {
      reads(n->condition);
      gather(n->body);
      return repeat_gathered({});
    }
    if (const auto* n = stmt.as<AttrStmt>(); n && n->key == "async_scope") {
      ScopedValue inside(is_async_, true);
      return gather(n->body);
    }
    // `if tx == 0:` makes its accesses as statements outside of the loops over the dimension do.
    if (const auto* n = stmt.as<IfThenElse>(); n && !n->else_case) {
      if (auto dimension = first_thread_of(n->condition)) {
        reads(n->condition);
        ScopedValue unbound(runs_[*dimension], unbound_first);
        ScopedValue first(is_first_[*dimension], uint8_t(1));
        return gather(n->then_case);
      }
    }
    visit_children(stmt, [&](const Expr& e) { reads(e); }, [&](const Stmt& s) { gather(s); });
  }
  /// The dimension whose first thread the condition selects.
  auto first_thread_of(const Expr& condition) const -> std::optional<size_t> {
    const auto* n = condition.as<EQ>();
    const auto* v = n && is_zero(n->b) ? n->a.as<VarNode>() : nullptr;
    auto canonical = v ? canonical_.find(v) : canonical_.end();
    if (canonical == canonical_.end()) { return {}; }
    for (size_t d = 0; d < indices_.size(); ++d) {
      if (uses_var(canonical->second, [&](const VarNode& index) { return &index == indices_[d].get(); })) { return d; }
    }
    return {};
  }
  void reads(const Expr& expr) {
    if (!expr) { return; }
    post_order(expr, [&](const Expr& e) {
      if (const auto* load = e.as<BufferLoad>()) { add(load->buffer, load->indices, false); }
      const auto* call = e.as<Call>();
      if (!call) { return; }
      for (const Expr& arg : call->args) {
        if (const auto* v = arg.as<VarNode>(); v && v->dtype.is_handle()) { add(v, {}, call->op != "tvm_access_ptr" || call->args.size() < 5 || !is_one(call->args[4])); }
        if (call->op == "address_of") { if (const auto* load = arg.as<BufferLoad>()) { add(load->buffer->data.get(), {}, true); } }
      }
    });
  }
  void add(const Buffer& buffer, const Array<Expr>& indices, bool is_write) {
    Expr index = indices.size() == 1 ? indices[0] : Expr();
    int64_t element_bytes = buffer->dtype.element_bytes() * buffer->dtype.lanes;
    if (index && (index.dtype().lanes != 1 || index.dtype().scalable)) {
      const auto* ramp = index.as<Ramp>();
      index = ramp && is_one(ramp->stride) ? ramp->base : Expr();
      // Vectors of different length may begin at the same element and end at different ones.
      if (index) { index = mul(index, int_imm(ramp->dtype.lanes, index.dtype())); }
      element_bytes = 0;
    }
    add(buffer->data.get(), index ? substitute(index, canonical_) : Expr(), is_write, element_bytes);
  }
  void add(const VarNode* data, Expr index, bool is_write, int64_t element_bytes = 0) {
    if (own_.contains(data)) { return; }
    Access access{data, is_write, std::move(index), element_bytes, runs_, {}};
    // Any thread may load outside of the loops over a dimension; stores to memory of several threads are made by the first one.
    for (size_t d = 0; d < runs_.size(); ++d) {
      if (!is_write && !is_alone_ && !is_first_[d] && access.runs[d] == unbound_first) { access.runs[d] = unbound_all; }
    }
    if (is_write && is_async_) { in_flight_.push_back(access); }
    remember(std::move(access));
  }
  static auto is_wait_for_copies(const Stmt& stmt) -> bool {
    const auto* call = stmt.as<Evaluate>()->value.as<Call>();
    return call && call->op == "ptx_wait_group";
  }
  /// Asynchronous copies write when their thread waits for them, whatever barriers stood between: other threads may read behind a further barrier.
  void copies_land() {
    for (Access access : in_flight_) {
      access.index = {};
      for (size_t d = 0; d < runs_.size(); ++d) {
        if (access.runs[d] > unbound_all && access.runs[d] != runs_[d]) { access.runs[d] = past; }
      }
      remember(std::move(access));
    }
  }

  void remember(Access access) {
    for (const Access& other : pending_) {
      const bool same_index = other.index ? access.index && structural_equal(other.index, access.index) : !access.index;
      if (other.data == access.data && other.is_write == access.is_write && other.element_bytes == access.element_bytes && other.runs == access.runs && other.moved == access.moved && same_index) { return; }
    }
    pending_.push_back(std::move(access));
  }

  // ---- conflicts

  auto conflict(const std::vector<Access>& before, const std::vector<Access>& here) -> bool {
    for (const Access& a : before) {
      for (const Access& b : here) {
        if (&a != &b && a.data == b.data && (a.is_write || b.is_write) && conflict(a, b)) { return true; }
      }
    }
    return false;
  }
  auto conflict(const Access& a, const Access& b) -> bool {
    bool meets = false;
    for (size_t d = 0; d < block_.dimensions.size(); ++d) {
      if (is_one(block_.dimensions[d].extent)) { continue; }
      meets = meets || a.runs[d] != b.runs[d] || a.runs[d] == unbound_all || is_read_of_alike(a, b, d);
    }
    if (!meets && !names_other_thread(a, b)) { return false; }
    if (!a.index || !b.index || a.element_bytes != b.element_bytes) { return true; }
    if (structural_equal(a.index, b.index) && is_own(a, b)) { return false; }
    return !never_meet(a, b);
  }
  auto is_alike(const VarNode* data, size_t d) const -> bool {
    auto alike = filled_alike_.find(data);
    return alike != filled_alike_.end() && std::find(alike->second.begin(), alike->second.end(), block_.dimensions[d].tag) != alike->second.end();
  }
  /// True where one thread reads memory that another one may already fill for its next iteration. Stores do not conflict among themselves: every thread ends
  /// with the same one. Pointers to such memory are only read (uniform.h), and have no index.
  auto is_read_of_alike(const Access& a, const Access& b, size_t d) const -> bool { return !(a.is_write && b.is_write && a.index && b.index) && is_alike(a.data, d); }
  /// True for two accesses of shared memory in one run of the loops, where the index of one depends on the thread and that of the other does not. Example: each thread
  /// writes one element of a tile, and then one loop copies the whole tile.
  auto names_other_thread(const Access& a, const Access& b) const -> bool {
    if (!a.index || !b.index || !a.data->pointer || !is_shared_memory(a.data->pointer->scope.view())) { return false; }
    for (size_t d = 0; d < block_.dimensions.size(); ++d) {
      if (is_one(block_.dimensions[d].extent) || a.runs[d] <= unbound_all) { continue; }
      auto is_index = [&](const VarNode& v) { return &v == indices_[d].get(); };
      if (uses_var(a.index, is_index) != uses_var(b.index, is_index)) { return true; }
    }
    return false;
  }
  /// True for two accesses to different elements, whatever the threads and iterations are: their indices lie in ranges apart, or in different copies of a
  /// buffer in a pipeline, as `k % 3 * 64 + ...` and `(k + 1) % 3 * 64 + ...` do in one iteration.
  auto never_meet(const Access& a, const Access& b) -> bool {
    if (a.element_bytes == 0) { return false; }
    arith::Analyzer analyzer;
    std::unordered_set<const VarNode*> bound;
    for (const Expr& index : {a.index, b.index}) {
      post_order(index, [&](const Expr& e) {
        const auto* v = e.as<VarNode>();
        if (!v || !bound.insert(v).second) { return; }
        for (size_t d = 0; d < indices_.size(); ++d) {
          if (indices_[d].get() == v) { analyzer.bind(indices_[d], from_zero(cast(v->dtype, block_.dimensions[d].extent))); }
        }
        if (auto domain = domains_.find(v); domain != domains_.end()) { analyzer.bind(Var(Ref<VarNode>(v)), domain->second); }
      });
    }
    const arith::ConstIntBound of_a = analyzer.const_int_bound(a.index), of_b = analyzer.const_int_bound(b.index);
    if (of_a.max < of_b.min || of_b.max < of_a.min) { return true; }
    auto is_same = [&](const VarNode& v) {
      auto has = [&](const std::vector<const VarNode*>& moved) { return std::find(moved.begin(), moved.end(), &v) != moved.end(); };
      return open_.contains(&v) && !has(a.moved) && !has(b.moved);
    };
    auto place_a = place_of(a.index, is_same), place_b = place_of(b.index, is_same);
    if (!place_a || !place_b || place_a->count != place_b->count || place_a->size != place_b->size) { return false; }
    Affine between = affine_of(place_a->number);
    between.add(affine_of(place_b->number), -1);
    if (!between.is_constant() || between.has_wrapped || between.constant % place_a->count == 0) { return false; }
    auto is_inside = [&](const Expr& rest) {
      const arith::ConstIntBound bounds = analyzer.const_int_bound(rest);
      return bounds.min >= 0 && bounds.max < place_a->size;
    };
    return is_inside(place_a->rest) && is_inside(place_b->rest);
  }
  /// An index as `number % count * size + rest`, the number in variables of loops around both accesses.
  struct Place { Expr number; int64_t count, size; Expr rest; };
  static auto place_of(const Expr& index, const std::function<bool(const VarNode&)>& is_same) -> std::optional<Place> {
    Affine sum = affine_of(index);
    std::optional<Place> out;
    for (size_t i = 0; i < sum.terms.size(); ++i) {
      const auto* mod = sum.terms[i].atom.as<FloorMod>();
      auto count = mod ? as_int(mod->b) : std::nullopt;
      if (!count || *count < 2 || sum.terms[i].coefficient < 1) { continue; }
      bool is_known = true;
      post_order(mod->a, [&](const Expr& e) { is_known = is_known && !e.as<BufferLoad>() && !e.as<Call>() && !(e.as<VarNode>() && !is_same(*e.as<VarNode>())); });
      if (!is_known) { continue; }
      if (out) { return {}; }
      Affine rest = sum;
      rest.terms.erase(rest.terms.begin() + static_cast<std::ptrdiff_t>(i));
      out = Place{mod->a, *count, sum.terms[i].coefficient, rest.expr(index.dtype())};
    }
    return sum.has_wrapped ? std::nullopt : out;
  }
  /// True if only one thread can reach the same element by both accesses with the same index: the index differs between threads and iterations.
  auto is_own(const Access& a, const Access& b) -> bool {
    const Expr& index = a.index;
    arith::IterDomains domains;
    for (size_t d = 0; d < block_.dimensions.size(); ++d) {
      const Expr& extent = block_.dimensions[d].extent;
      if (is_one(extent) || (a.is_write && b.is_write && is_alike(a.data, d))) { continue; }
      if (!uses_var(index, [&](const VarNode& v) { return &v == indices_[d].get(); })) { return false; }
      domains.emplace_back(indices_[d], from_zero(cast(DataType::int_(32), extent)));
    }
    std::vector<const VarNode*> moved = a.moved;
    for (const VarNode* v : b.moved) { if (std::find(moved.begin(), moved.end(), v) == moved.end()) { moved.push_back(v); } }
    for (const VarNode* v : moved) {
      auto domain = domains_.find(v);
      if (domain == domains_.end()) { return false; }
      domains.emplace_back(Var(Ref<VarNode>(v)), domain->second);
    }
    if (domains.empty() || differs_everywhere(affine_of(index), domains)) { return true; }
    arith::Analyzer analyzer;
    return !arith::detect_iter_map({index}, domains, bool_imm(true), arith::IterMapLevel::Bijective, analyzer).indices.empty();
  }

  void fail(std::string what, const Reason& why, Origin origin) {
    if (!plan.problem) { plan.problem = BarrierPlan::Problem{std::move(what), why, origin}; }
  }

  const ThreadBlock& block_;
  const FilledAlike& filled_alike_;
  Uniform uniform_;
  std::vector<Var> indices_;                                 // one canonical index for every dimension
  std::vector<Run> runs_;                                    // of the current statement
  std::vector<uint8_t> is_first_;                            // by dimension: a condition selects only its first thread
  bool is_alone_ = false;                                    // one thread of the unbound dimensions executes the current statement
  Run next_run_ = past + 1;
  std::unordered_map<const StmtNode*, Run> run_of_;          // by loop
  std::vector<Access> pending_;                              // accesses since the last barrier
  bool is_async_ = false;                                    // stores of the statement at hand happen when the thread waits for them
  std::vector<Access> in_flight_;                            // such stores so far
  VarMap canonical_;
  std::unordered_map<const VarNode*, Range> domains_;        // of loop variables
  std::unordered_set<const VarNode*> open_;                  // the variables of the loops around
  std::unordered_set<const VarNode*> own_;                   // memory of a single thread
};

}  // namespace

auto plan_barriers(const Stmt& kernel, const ThreadBlock& block, const FilledAlike& filled_alike) -> BarrierPlan {
  Planner planner(kernel, block, filled_alike);
  planner.walk(kernel);
  return std::move(planner.plan);
}

}  // namespace loopsmith::transform
