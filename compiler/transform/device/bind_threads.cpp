// Makes kernels from thread-bound loops: see bind_threads.h.
#include "transform/device/bind_threads.h"

#include <algorithm>
#include <array>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "ir/equal.h"
#include "ir/ops.h"
#include "ir/visitor.h"
#include "ir/vocabulary.h"
#include "support/codes.h"
#include "support/reasons.h"
#include "support/saturate.h"
#include "support/scoped_value.h"
#include "transform/device/plan_barriers.h"
#include "transform/device/uniform.h"
#include "transform/device/warp_memory.h"
#include "transform/thread_block.h"

namespace loopsmith::transform {
namespace {

using Problem = BarrierPlan::Problem;

auto barrier() -> Stmt { return make<Evaluate>(make<Call>(DataType::int_(32), Name("tvm_storage_sync"), Array<Expr>{make<StringImm>("shared")})); }

/// A dimension of the grid or of a block, with its launch extent.
struct Dimension {
  Name tag;
  ThreadAxis axis;
  Expr extent;
  Var index;
  [[nodiscard]] auto is_thread() const -> bool { return axis.family == ThreadFamily::Thread; }
  /// True when loops over it have more than one iteration.
  [[nodiscard]] auto is_wide() const -> bool { return !is_one(extent); }
};

/// The dimensions of a nest in the order of launches: blocks before threads, x before y before z.
class Grid {
 public:
  std::vector<Dimension> dimensions;
  std::optional<Problem> problem;

  explicit Grid(const Stmt& nest) {
    std::unordered_set<const VarNode*> inside;
    post_order(
        nest,
        [&](const Stmt& s) {
          if (auto loop = as_thread_loop(s)) { add(*loop, s.origin()); }
          if (const auto* n = s.as<For>()) { inside.insert(n->var.get()); }
          if (const auto* n = s.as<LetStmt>()) { inside.insert(n->var.get()); }
        },
        [](const Expr&) {});
    for (const Dimension& d : dimensions) {
      if (uses_var(d.extent, [&](const VarNode& v) { return inside.contains(&v); })) { fail(d.tag, because(Why::ExtentOfKernelVariables), nest.origin()); }
    }
    std::sort(dimensions.begin(), dimensions.end(), [](const Dimension& a, const Dimension& b) {
      return std::pair(a.is_thread(), a.axis.dimension) < std::pair(b.is_thread(), b.axis.dimension);
    });
  }
  [[nodiscard]] auto find(Name tag) const -> std::optional<size_t> {
    auto found = std::find_if(dimensions.begin(), dimensions.end(), [&](const Dimension& d) { return d.tag == tag; });
    if (found == dimensions.end()) { return {}; }
    return static_cast<size_t>(found - dimensions.begin());
  }

 private:
  void add(const ThreadLoop& loop, Origin origin) {
    auto axis = thread_axis(loop.tag.view());
    if (!axis) { return fail(loop.tag, because(Why::AxesOfKernels), origin); }
    if (axis->family == ThreadFamily::Virtual) { return; }
    Expr extent = cast(DataType::int_(32), loop.extent);
    auto known = find(loop.tag);
    if (!known) {
      std::string name(loop.tag.view());
      std::replace(name.begin(), name.end(), '.', '_');
      dimensions.push_back({loop.tag, *axis, extent, var(Name(name))});
      return;
    }
    Expr& launched = dimensions[*known].extent;
    if (structural_equal(launched, extent)) { return; }
    auto a = as_int(launched);
    auto b = as_int(extent);
    if (!a || !b) { return fail(loop.tag, because(Why::LoopExtentsDiffer), origin); }
    launched = int_imm(std::max(*a, *b));
  }
  void fail(Name tag, const Reason& why, Origin origin) {
    if (!problem) { problem = Problem{fmt::format("a loop over `{}`", tag.str()), why, origin}; }
  }
};

/// True when a statement contains a loop over the dimension.
auto binds(const Stmt& stmt, Name tag) -> bool {
  bool found = false;
  post_order(
      stmt,
      [&](const Stmt& s) {
        auto loop = as_thread_loop(s);
        found = found || (loop && loop->tag == tag);
      },
      [](const Expr&) {});
  return found;
}

auto contains_threads(const Stmt& stmt) -> bool {
  bool found = false;
  post_order(stmt, [&](const Stmt& s) { found = found || as_thread_loop(s); }, [](const Expr&) {});
  return found;
}

/// Moves memory of a block or thread that is allocated outside of the only kernel that accesses it into that kernel.
class SinkMemory : public Mutator {
 public:
  using Mutator::mutate;
  using Mutator::on;
  explicit SinkMemory(const Allocate& allocate) : allocate_(allocate) {}

  /// The code without the allocation around it; null if the memory does not belong to a single kernel.
  auto run() -> Stmt {
    Stmt out = mutate(allocate_.body);
    return kernels_ == 1 && !is_outside_ ? out : Stmt();
  }
  auto on(const For& n) -> Stmt override {
    if (n.for_kind == ForKind::ThreadBinding) { return kernel(self(n)); }
    ScopedValue repeated(is_repeated_, true);
    return Mutator::on(n);
  }
  auto on(const While& n) -> Stmt override {
    ScopedValue repeated(is_repeated_, true);
    return Mutator::on(n);
  }
  auto on(const AttrStmt& n) -> Stmt override { return as_thread_loop(self(n)) ? kernel(self(n)) : Mutator::on(n); }
  auto on(const DeclBuffer& n) -> Stmt override {
    if (n.buffer->data != allocate_.data) { return Mutator::on(n); }
    views_.push_back(n.buffer);
    return mutate(n.body);
  }
  auto on(const VarNode& n) -> Expr override {
    is_outside_ = is_outside_ || &n == allocate_.data.get();
    return Mutator::on(n);
  }

 protected:
  auto use(const Buffer& b) -> Buffer override {
    is_outside_ = is_outside_ || b->data == allocate_.data;
    return b;
  }

 private:
  auto kernel(const Stmt& nest) -> Stmt {
    bool uses = false;
    post_order(
        nest,
        [&](const Stmt& s) {
          const auto* store = s.as<BufferStore>();
          uses = uses || (store && store->buffer->data == allocate_.data);
        },
        [&](const Expr& e) {
          const auto* load = e.as<BufferLoad>();
          uses = uses || e.get() == allocate_.data.get() || (load && load->buffer->data == allocate_.data);
        });
    if (!uses) { return nest; }
    ++kernels_;
    // The memory keeps its values from one launch to the next.
    is_outside_ = is_outside_ || is_repeated_;
    Stmt inner = inside_blocks(nest);
    if (!inner.as<Allocate>()) { return inner; }
    Var block = var("block");
    IterVar iter{block, from_zero(int_imm(1)), IterKind::ThreadIndex, Name("blockIdx.x"), nest.origin()};
    return make<For>(block, int_imm(0), int_imm(1), ForKind::ThreadBinding, std::move(inner), iter, AttrMap(), nest.origin());
  }
  /// Each block has its own memory.
  auto inside_blocks(const Stmt& nest) -> Stmt {
    auto loop = as_thread_loop(nest);
    if (loop && is_block_axis(loop->tag.view())) {
      if (const auto* n = nest.as<For>()) { return make<For>(n->var, n->min, n->extent, n->for_kind, inside_blocks(n->body), n->thread, n->annotations, n->origin, n->id); }
      const auto& n = *nest.as<AttrStmt>();
      return make<AttrStmt>(n.node, n.key, n.value, inside_blocks(n.body), n.origin);
    }
    Stmt inner = nest;
    for (const Buffer& view : views_) { inner = make<DeclBuffer>(view, std::move(inner)); }
    return make<Allocate>(allocate_.data, allocate_.dtype, allocate_.extents, allocate_.condition, std::move(inner), allocate_.annotations, allocate_.origin);
  }
  const Allocate& allocate_;
  std::vector<Buffer> views_;
  int kernels_ = 0;
  bool is_repeated_ = false;       // true inside of a loop that launches kernels
  bool is_outside_ = false;        // statements of the host access the memory
};

/// Makes loops serial that are inside another loop over the same dimension and use the index of that loop: they need a separate index.
class OwnIndex : public Mutator {
 public:
  using Mutator::on;
  auto on(const For& n) -> Stmt override { return thread_loop(self(n), [&] { return Mutator::on(n); }); }
  auto on(const AttrStmt& n) -> Stmt override { return thread_loop(self(n), [&] { return Mutator::on(n); }); }

 private:
  template <class F>
  auto thread_loop(const Stmt& stmt, F&& walk) -> Stmt {
    auto loop = as_thread_loop(stmt);
    if (!loop || is_virtual_axis(loop->tag.view())) { return walk(); }
    std::vector<const VarNode*>& around = around_[loop->tag];
    auto is_index = [&](const VarNode& v) { return std::find(around.begin(), around.end(), &v) != around.end(); };
    if (!around.empty() && uses_var(loop->body, is_index)) {
      const auto* n = stmt.as<For>();
      Stmt body = loop->alias ? substitute(loop->body, {{loop->alias.get(), Expr(loop->var)}}) : loop->body;
      return make<For>(loop->var, n ? n->min : int_imm(0, loop->var->dtype), cast(loop->var->dtype, loop->extent), ForKind::Serial, mutate(body), std::nullopt, AttrMap(), stmt.origin());
    }
    const size_t outside = around.size();
    around.push_back(loop->var.get());
    if (loop->alias) { around.push_back(loop->alias.get()); }
    Stmt out = walk();
    around_[loop->tag].resize(outside);
    return out;
  }
  std::unordered_map<Name, std::vector<const VarNode*>> around_;   // for each dimension, the indices of the loops around
};

/// Gives all loops over a dimension its launch extent. Virtual threads and parallel loops become plain loops.
class Level : public Mutator {
 public:
  using Mutator::mutate;
  using Mutator::on;
  explicit Level(const Grid& grid) : grid_(grid) {}

  auto on(const For& n) -> Stmt override {
    if (as_thread_loop(self(n))) { return thread_loop(self(n), n.min); }
    // Lanes of a vector cannot run loops over threads.
    const bool is_plain = n.for_kind == ForKind::Parallel || (n.for_kind == ForKind::Vectorized && contains_threads(n.body));
    if (!is_plain) { return Mutator::on(n); }
    return make<For>(n.var, n.min, n.extent, ForKind::Serial, mutate(n.body), std::nullopt, n.annotations, n.origin, n.id);
  }
  auto on(const AttrStmt& n) -> Stmt override { return as_thread_loop(self(n)) ? thread_loop(self(n), int_imm(0)) : Mutator::on(n); }

 private:
  auto thread_loop(const Stmt& stmt, const Expr& min) -> Stmt {
    ThreadLoop loop = *as_thread_loop(stmt);
    Stmt body = loop.body;
    if (loop.alias) { body = substitute(body, {{loop.alias.get(), Expr(loop.var)}}); }
    if (!is_zero(min)) { body = substitute(body, {{loop.var.get(), add(Expr(loop.var), min)}}); }
    auto dimension = grid_.find(loop.tag);
    if (!dimension) {
      // With many virtual threads the text would become long, and their values would not fit into registers.
      ScopedValue inside(virtual_threads_, saturating_mul(virtual_threads_, as_int(loop.extent).value_or(most_virtual_threads + 1)));
      const ForKind kind = virtual_threads_ <= most_virtual_threads ? ForKind::Unrolled : ForKind::Serial;
      return make<For>(loop.var, int_imm(0, loop.var->dtype), cast(loop.var->dtype, loop.extent), kind, mutate(body), std::nullopt, AttrMap(), stmt.origin());
    }
    body = mutate(body);
    const Expr& launched = grid_.dimensions[*dimension].extent;
    auto extent = as_int(loop.extent);
    auto full = as_int(launched);
    if (extent && full && *extent < *full) { body = guard(less(Expr(loop.var), int_imm(*extent, loop.var->dtype)), loop.tag, body); }
    IterVar iter{loop.var, from_zero(launched), IterKind::ThreadIndex, loop.tag, stmt.origin()};
    return make<For>(loop.var, int_imm(0, loop.var->dtype), cast(loop.var->dtype, launched), ForKind::ThreadBinding, body, iter, AttrMap(), stmt.origin());
  }
  /// The condition around the parts of a body that are in no loop over the dimension.
  auto guard(const Expr& condition, Name tag, const Stmt& body) -> Stmt {
    if (!binds(body, tag)) { return make<IfThenElse>(condition, body, Stmt(), body.origin()); }
    if (auto loop = as_thread_loop(body); loop && loop->tag == tag) { return body; }
    struct Inside : Mutator {
      Level& level;
      const Expr& condition;
      Name tag;
      Inside(Level& l, const Expr& c, Name t) : level(l), condition(c), tag(t) {}
      using Mutator::on;
      auto again(const Stmt& s) -> Stmt { return level.guard(condition, tag, s); }
      auto on(const SeqStmt& n) -> Stmt override {
        std::vector<Stmt> out;
        for (const Stmt& s : n.seq) { out.push_back(again(s)); }
        return seq(std::move(out), n.origin);
      }
      auto on(const For& n) -> Stmt override { return make<For>(n.var, n.min, n.extent, n.for_kind, again(n.body), n.thread, n.annotations, n.origin, n.id); }
      auto on(const While& n) -> Stmt override { return make<While>(n.condition, again(n.body), n.origin); }
      auto on(const Allocate& n) -> Stmt override { return make<Allocate>(n.data, n.dtype, n.extents, n.condition, again(n.body), n.annotations, n.origin); }
      auto on(const AllocateConst& n) -> Stmt override { return make<AllocateConst>(n.data, n.dtype, n.extents, n.bytes, again(n.body), n.annotations, n.origin); }
      auto on(const DeclBuffer& n) -> Stmt override { return make<DeclBuffer>(n.buffer, again(n.body), n.origin); }
      auto on(const LetStmt& n) -> Stmt override { return make<LetStmt>(n.var, n.value, again(n.body), n.origin); }
      auto on(const AttrStmt& n) -> Stmt override { return make<AttrStmt>(n.node, n.key, n.value, again(n.body), n.origin); }
      auto on(const AssertStmt& n) -> Stmt override { return make<AssertStmt>(n.condition, n.message, again(n.body), n.origin); }
      auto on(const IfThenElse& n) -> Stmt override { return make<IfThenElse>(n.condition, again(n.then_case), n.else_case ? again(n.else_case) : Stmt(), n.origin); }
    };
    return Inside(*this, condition, tag).mutate(body);
  }
  static constexpr int64_t most_virtual_threads = 16;
  const Grid& grid_;
  int64_t virtual_threads_ = 1;    // the number of virtual threads of the loops around
};

/// Checks that the program keeps its meaning with one index per dimension, and finds memory that belongs to a block.
class Survey : public Visitor {
 public:
  using Visitor::on;
  using Visitor::visit;
  /// `of_lanes`: memory that lanes of warps hold in registers.
  Survey(const Grid& grid, const std::unordered_set<const VarNode*>& of_lanes) : grid_(grid), of_lanes_(of_lanes), bound_(grid.dimensions.size(), 0), depends_(grid.dimensions.size()) {}
  std::optional<Problem> problem;

  /// Memory of a kernel, by its data variable.
  struct Memory {
    std::vector<uint64_t> bound;         // the runs of loops around its allocation
    Name name;
    Origin origin;
    bool is_shared = false;              // several threads access it, or its scope is shared memory
    bool is_crossed = false;             // some thread accesses elements that another one stored
    int64_t bytes = 0;                   // 0: not constant
    /// The accesses of an allocated buffer in one dimension of blocks: in the run of the loop around its allocation (`own`), and in other loops over the dimension (`other`).
    struct Use { bool own_store = false, own_load = false, other_store = false, other_load = false; };
    std::vector<Use> uses;
    /// By dimension of blocks: the runs of loops in which it is stored, and in which it is used; 0: outside of all.
    std::vector<std::set<uint64_t>> stored_in, used_in;
  };
  std::unordered_map<const VarNode*, Memory> memory;

  /// For a buffer that becomes shared: the dimensions in which each thread has separate memory. Reports a problem if one thread makes some stores
  /// and all threads make others.
  auto own_dimensions(const Memory& m) -> std::vector<size_t> {
    std::vector<size_t> out;
    for (size_t d = 0; d < m.uses.size(); ++d) {
      const Memory::Use& use = m.uses[d];
      if (!use.own_store) { continue; }
      if (use.other_store || use.other_load) {
        fail(fmt::format("the buffer `{}`", m.name.str()), because(Why::EachThreadStores), m.origin);
      }
      out.push_back(d);
    }
    return out;
  }

  void on(const For& n) override {
    auto loop = as_thread_loop(Stmt(Ref<StmtNode>(&n)));
    auto dimension = loop ? grid_.find(loop->tag) : std::nullopt;
    if (!dimension) {
      derive(n.var, n.min);
      derive(n.var, n.extent);
      under(n.extent, n.body, [&] { Visitor::on(n); });
      return;
    }
    if (bound_[*dimension]) {
      const auto& outer = depends_[*dimension];
      if (uses_var(n.body, [&](const VarNode& v) { return outer.contains(&v); })) {
        fail(fmt::format("a loop over `{}`", loop->tag.str()), because(Why::IndexOfLoopAround), n.origin);
      }
    }
    auto before = depends_[*dimension];
    depends_[*dimension] = {n.var.get()};
    ScopedValue inside(bound_[*dimension], ++runs_);
    Visitor::on(n);
    depends_[*dimension] = std::move(before);
  }
  void on(const LetStmt& n) override {
    derive(n.var, n.value);
    Visitor::on(n);
  }
  void on(const IfThenElse& n) override {
    visit(n.condition);
    conditions_.push_back(n.condition);
    under(n.condition, n.then_case, [&] { visit(n.then_case); });
    if (n.else_case) { under(n.condition, n.else_case, [&] { visit(n.else_case); }); }
    conditions_.pop_back();
  }
  void on(const While& n) override {
    under(n.condition, n.body, [&] { Visitor::on(n); });
  }
  void on(const Allocate& n) override {
    const bool is_shared = n.data->pointer && is_shared_memory(n.data->pointer->scope.view());
    int64_t bytes = n.dtype.element_bytes() * n.dtype.lanes;
    for (const Expr& e : n.extents) { bytes = saturating_mul(bytes, as_int(e).value_or(0)); }
    memory[n.data.get()] = {bound_, n.data->name, n.origin, is_shared, false, bytes, std::vector<Memory::Use>(bound_.size()), std::vector<std::set<uint64_t>>(bound_.size()),
                            std::vector<std::set<uint64_t>>(bound_.size())};
    Visitor::on(n);
  }
  void on(const BufferStore& n) override {
    access(n.buffer->data.get(), true, n.origin);
    if (!memory.contains(n.buffer->data.get()) && is_update(n)) { updated_by_blocks(n); }
    Visitor::on(n);
  }
  void on(const BufferLoad& n) override {
    access(n.buffer->data.get(), false, n.origin);
    Visitor::on(n);
  }
  void on(const VarNode& n) override {
    if (n.dtype.is_handle()) { access(&n, false, n.origin); }
  }

 private:
  /// Records that the variable depends on the same dimensions as the value.
  void derive(const Var& v, const Expr& value) {
    for (auto& variables : depends_) {
      if (uses_var(value, [&](const VarNode& used) { return variables.contains(&used); })) { variables.insert(v.get()); }
    }
  }
  /// A body under a condition or in a loop. Loops over a dimension inside it run for the whole block, so the condition must not differ between threads.
  template <class F>
  void under(const Expr& condition, const Stmt& body, F&& walk) {
    for (size_t d = 0; d < bound_.size(); ++d) {
      if (bound_[d] && uses_var(condition, [&](const VarNode& v) { return depends_[d].contains(&v); }) && binds(body, grid_.dimensions[d].tag)) {
        fail(fmt::format("a loop over `{}`", grid_.dimensions[d].tag.str()), because(Why::ConditionOfLoopAround), body.origin());
      }
    }
    walk();
  }
  void access(const VarNode* data, bool is_store, Origin origin) {
    auto found = memory.find(data);
    if (found == memory.end()) { return across_blocks(data, is_store, origin); }
    Memory& m = found->second;
    if (of_lanes_.contains(data)) { return; }
    across_blocks(m, is_store, origin);
    for (size_t d = 0; d < bound_.size(); ++d) {
      const Dimension& dimension = grid_.dimensions[d];
      if (!dimension.is_thread() || !dimension.is_wide()) { continue; }
      const bool is_own = bound_[d] == m.bound[d];
      if (!is_own) { m.is_shared = m.is_crossed = true; }
      if (m.bound[d] == 0) { continue; }
      Memory::Use& use = m.uses[d];
      (is_own ? (is_store ? use.own_store : use.own_load) : (is_store ? use.other_store : use.other_load)) = true;
    }
  }
  /// Each block has a memory of its own: one that is stored in a loop over blocks has these values in the same loop only.
  void across_blocks(Memory& m, bool is_store, Origin origin) {
    for (size_t d = 0; d < bound_.size(); ++d) {
      if (grid_.dimensions[d].is_thread() || !grid_.dimensions[d].is_wide()) { continue; }
      auto& stored = m.stored_in[d];
      auto& used = m.used_in[d];
      if (is_store && bound_[d] != 0) { stored.insert(bound_[d]); }
      used.insert(bound_[d]);
      if (!stored.empty() && used.size() > 1) {
        fail(fmt::format("the buffer `{}`", m.name.str()), because(Why::BlocksHaveOwnMemory), origin);
      }
    }
  }
  /// Blocks cannot wait for each other: all accesses of global memory that is stored must belong to the same loops over blocks.
  void across_blocks(const VarNode* data, bool is_store, Origin origin) {
    std::vector<uint64_t> blocks;
    for (size_t d = 0; d < bound_.size(); ++d) {
      if (!grid_.dimensions[d].is_thread() && grid_.dimensions[d].is_wide()) { blocks.push_back(bound_[d]); }
    }
    auto [known, is_new] = global_.emplace(data, Global{blocks, is_store});
    if (is_new) { return; }
    known->second.is_stored = known->second.is_stored || is_store;
    known->second.differs = known->second.differs || known->second.blocks != blocks;
    if (known->second.is_stored && known->second.differs) {
      fail(fmt::format("the buffer `{}`", data->name.str()), because(Why::BlocksCannotWait), origin);
    }
  }
  static auto is_update(const BufferStore& n) -> bool {
    bool found = false;
    post_order(n.value, [&](const Expr& e) {
      const auto* load = e.as<BufferLoad>();
      found = found || (load && load->buffer->data == n.buffer->data && std::ranges::equal(load->indices, n.indices, [](const Expr& a, const Expr& b) { return structural_equal(a, b); }));
    });
    return found;
  }
  /// An element of global memory that is computed from its former value belongs to one block, because blocks run in any order and at the same time.
  void updated_by_blocks(const BufferStore& n) {
    for (size_t d = 0; d < bound_.size(); ++d) {
      if (grid_.dimensions[d].is_thread() || !grid_.dimensions[d].is_wide() || bound_[d] == 0) { continue; }
      auto depends = [&](const Expr& e) { return uses_var(e, [&](const VarNode& v) { return depends_[d].contains(&v); }); };
      if (std::ranges::any_of(n.indices, depends) || std::ranges::any_of(conditions_, depends)) { continue; }
      fail(fmt::format("the buffer `{}`", n.buffer->name.str()),
           because(Why::BlocksUpdateElement), n.origin);
    }
  }
  struct Global { std::vector<uint64_t> blocks; bool is_stored = false; bool differs = false; };

  void fail(std::string what, const Reason& why, Origin origin) {
    if (!problem) { problem = Problem{std::move(what), why, origin}; }
  }
  const Grid& grid_;
  const std::unordered_set<const VarNode*>& of_lanes_;
  uint64_t runs_ = 0;
  std::vector<uint64_t> bound_;                                          // the run of the loop over each dimension; 0: none
  std::vector<std::unordered_set<const VarNode*>> depends_;              // variables that depend on the index of each dimension
  std::unordered_map<const VarNode*, Global> global_;
  std::vector<Expr> conditions_;                                         // around the current statement
};

/// The shared memory that every kernel may have.
constexpr int64_t most_shared_bytes = 48 << 10;

/// Makes memory shared that several threads access. Where each thread of a dimension has a memory of its own, the shared one has a part for each; unless all
/// threads of the dimension would fill memory of a block with the same values, which the first one does then.
class Share : public Mutator {
 public:
  using Mutator::mutate;
  using Mutator::on;
  Share(const Stmt& nest, const Grid& grid, Survey& survey) : grid_(grid) {
    std::unordered_map<size_t, Uniform> known;
    for (auto& [data, m] : survey.memory) {
      if (!m.is_shared) { continue; }
      const bool is_of_block = m.is_crossed && data->pointer && is_shared_memory(data->pointer->scope.view());
      for (size_t d = 0; is_of_block && d < m.uses.size(); ++d) {
        if (!m.uses[d].own_store) { continue; }
        const Uniform& alike = known.try_emplace(d, nest, grid.dimensions[d].tag).first->second;
        if (!alike.is_filled_alike(nest, *data)) { continue; }
        m.uses[d] = {};
        filled_alike[data].push_back(grid.dimensions[d].tag);
      }
      std::vector<size_t> own = survey.own_dimensions(m);
      int64_t bytes = m.bytes;
      for (size_t d : own) { bytes = saturating_mul(bytes, as_int(grid.dimensions[d].extent).value_or(1)); }
      // Shared memory that threads do not share, and that has no room for a part of each.
      if (!m.is_crossed && bytes > most_shared_bytes) {
        local_.insert(data);
        own.clear();
      }
      shared_.emplace(data, std::move(own));
    }
  }
  std::optional<Problem> problem;
  FilledAlike filled_alike;

  auto on(const VarNode& n) -> Expr override {
    auto found = shared_.find(&n);
    if (found == shared_.end()) { return Mutator::on(n); }
    if (!found->second.empty()) { problem = Problem{fmt::format("the pointer `{}`", n.name.str()), because(Why::ThreadsHaveParts), n.origin}; }
    return Expr(renamed(Var(Ref<VarNode>(&n))));
  }
  auto on(const For& n) -> Stmt override {
    auto loop = as_thread_loop(self(n));
    auto dimension = loop ? grid_.find(loop->tag) : std::nullopt;
    if (!dimension) { return Mutator::on(n); }
    auto before = std::exchange(around_[*dimension], n.var);
    Stmt out = Mutator::on(n);
    around_[*dimension] = std::move(before);
    return out;
  }
  auto on(const Allocate& n) -> Stmt override {
    auto found = shared_.find(n.data.get());
    if (found == shared_.end()) { return Mutator::on(n); }
    Expr extent = int_imm(1);
    for (const Expr& e : n.extents) { extent = mul(std::move(extent), e); }
    sizes_[n.data.get()] = extent;
    for (size_t d : found->second) { extent = mul(std::move(extent), grid_.dimensions[d].extent); }
    return make<Allocate>(renamed(n.data), n.dtype, Array<Expr>{extent}, n.condition, mutate(n.body), n.annotations, n.origin);
  }
  auto on(const BufferLoad& n) -> Expr override {
    if (!shared_.contains(n.buffer->data.get())) { return Mutator::on(n); }
    return make<BufferLoad>(use(n.buffer), place(n.buffer, n.indices), n.origin, n.predicate ? mutate(n.predicate) : Expr());
  }
  auto on(const BufferStore& n) -> Stmt override {
    if (!shared_.contains(n.buffer->data.get())) { return Mutator::on(n); }
    return make<BufferStore>(use(n.buffer), mutate(n.value), place(n.buffer, n.indices), n.origin, n.predicate ? mutate(n.predicate) : Expr());
  }

 protected:
  auto use(const Buffer& b) -> Buffer override {
    auto found = shared_.find(b->data.get());
    if (found == shared_.end()) { return b; }
    Buffer& made = buffers_[b.get()];
    if (!made) {
      BufferNode fields = *b;
      fields.data = renamed(b->data);
      if (fields.shape.size() == 1 && !found->second.empty()) {
        // A buffer may be smaller than the memory that it shares with others: the parts of threads lie at the distance of that memory's size.
        Expr parts = int_imm(1);
        for (size_t d : found->second) { parts = mul(std::move(parts), grid_.dimensions[d].extent); }
        auto size = sizes_.find(b->data.get());
        const bool is_whole = size == sizes_.end() || structural_equal(size->second, fields.shape[0]);
        fields.shape = Array<Expr>{is_whole ? mul(parts, fields.shape[0]) : add(mul(sub(parts, int_imm(1)), size->second), fields.shape[0])};
      }
      made = make_buffer(std::move(fields));
    }
    return made;
  }

 private:
  auto place(const Buffer& buffer, const Array<Expr>& indices) -> Array<Expr> {
    const std::vector<size_t>& own = shared_.at(buffer->data.get());
    Array<Expr> out = mutate(indices);
    if (own.empty() || out.size() != 1) { return out; }
    Expr number = int_imm(0);
    for (size_t d : own) {
      if (!around_.contains(d)) { return out; }
      number = add(mul(std::move(number), grid_.dimensions[d].extent), cast(DataType::int_(32), Expr(around_.at(d))));
    }
    Expr offset = cast(out[0].dtype().element(), mul(std::move(number), sizes_.at(buffer->data.get())));
    return Array<Expr>{add(out[0], std::move(offset))};
  }
  auto renamed(const Var& v) -> Var {
    const bool is_local = local_.contains(v.get());
    if (!is_local && v->pointer && is_shared_memory(v->pointer->scope.view())) { return v; }
    Var& made = variables_[v.get()];
    if (!made) { made = make<VarNode>(v->name, v->dtype, v->origin, PointerType{v->pointer ? v->pointer->element : DataType(), Name(is_local ? "local" : "shared")}); }
    return made;
  }
  const Grid& grid_;
  std::unordered_map<const VarNode*, std::vector<size_t>> shared_;       // with the dimensions whose threads have parts of their own
  std::unordered_set<const VarNode*> local_;                             // those that become memory of each thread
  std::unordered_map<const VarNode*, Expr> sizes_;                       // the elements of a part
  std::unordered_map<size_t, Var> around_;                               // the index of the loop around over each dimension
  std::unordered_map<const VarNode*, Var> variables_;
  std::unordered_map<const BufferNode*, Buffer> buffers_;
};

/// The kernel's code with one index per dimension and barriers.
class Build {
 public:
  Build(const Grid& grid, const BarrierPlan& plan, const FilledAlike& filled_alike) : grid_(grid), plan_(plan), filled_alike_(filled_alike), bound_(grid.dimensions.size(), 0) {}

  auto run(const Stmt& nest) -> Stmt {
    Stmt out = build(nest);
    for (size_t d = grid_.dimensions.size(); d-- > 0;) {
      const Dimension& n = grid_.dimensions[d];
      out = make<AttrStmt>(IterVar{n.index, from_zero(n.extent), IterKind::ThreadIndex, n.tag, nest.origin()}, Name("thread_extent"), n.extent, std::move(out), nest.origin());
    }
    return out;
  }

 private:
  auto build(const Stmt& stmt) -> Stmt {
    Stmt out = without_barrier(stmt);
    return plan_.before.contains(stmt.get()) ? seq({barrier(), std::move(out)}) : out;
  }
  auto without_barrier(const Stmt& stmt) -> Stmt {
    if (auto found = plan_.distributed.find(stmt.get()); found != plan_.distributed.end()) { return build(found->second); }
    if (auto loop = as_thread_loop(stmt)) {
      auto dimension = grid_.find(loop->tag);
      if (!dimension) { return build(loop->body); }
      map_[loop->var.get()] = cast(loop->var->dtype, Expr(grid_.dimensions[*dimension].index));
      ScopedValue inside(bound_[*dimension], 1);
      return build(loop->body);
    }
    Expr first = is_alone_ ? Expr() : first_thread(stmt);
    Expr filler = is_filling_ ? Expr() : first_to_fill(stmt);
    if (filler) { first = first ? logical_and(std::move(first), filler) : filler; }
    if (!first) { return plain(stmt); }
    ScopedValue filling(is_filling_, is_filling_ || filler);
    ScopedValue inside(is_alone_, true);
    return make<IfThenElse>(std::move(first), plain(stmt), Stmt(), stmt.origin());
  }
  auto plain(const Stmt& stmt) -> Stmt {
    switch (stmt.kind()) {
      case NodeKind::SeqStmt: {
        std::vector<Stmt> out;
        for (const Stmt& s : stmt.as<SeqStmt>()->seq) { out.push_back(build(s)); }
        return seq(std::move(out), stmt.origin());
      }
      case NodeKind::For: {
        const auto& n = *stmt.as<For>();
        return make<For>(n.var, at(n.min), at(n.extent), n.for_kind, build(n.body), std::nullopt, n.annotations, n.origin, n.id);
      }
      case NodeKind::While: {
        const auto& n = *stmt.as<While>();
        Stmt body = build(n.body);
        return make<While>(at(n.condition), plan_.behind.contains(stmt.get()) ? seq({std::move(body), barrier()}) : std::move(body), n.origin);
      }
      case NodeKind::IfThenElse: {
        const auto& n = *stmt.as<IfThenElse>();
        return make<IfThenElse>(at(n.condition), build(n.then_case), n.else_case ? build(n.else_case) : Stmt(), n.origin);
      }
      case NodeKind::LetStmt: {
        const auto& n = *stmt.as<LetStmt>();
        return make<LetStmt>(n.var, at(n.value), build(n.body), n.origin);
      }
      case NodeKind::AttrStmt: {
        const auto& n = *stmt.as<AttrStmt>();
        return make<AttrStmt>(n.node, n.key, n.value ? at(n.value) : Expr(), build(n.body), n.origin);
      }
      case NodeKind::AssertStmt: {
        const auto& n = *stmt.as<AssertStmt>();
        return make<AssertStmt>(at(n.condition), n.message, build(n.body), n.origin);
      }
      case NodeKind::Allocate: {
        const auto& n = *stmt.as<Allocate>();
        if (!is_shared(n.data)) { own_.insert(n.data.get()); }
        std::vector<Expr> extents;
        for (const Expr& e : n.extents) { extents.push_back(at(e)); }
        return make<Allocate>(n.data, n.dtype, Array<Expr>(std::move(extents)), at(n.condition), build(n.body), n.annotations, n.origin);
      }
      case NodeKind::AllocateConst: {
        const auto& n = *stmt.as<AllocateConst>();
        return make<AllocateConst>(n.data, n.dtype, n.extents, n.bytes, build(n.body), n.annotations, n.origin);
      }
      case NodeKind::DeclBuffer: return make<DeclBuffer>(stmt.as<DeclBuffer>()->buffer, build(stmt.as<DeclBuffer>()->body), stmt.origin());
      default: return substitute(stmt, map_);
    }
  }
  /// The condition of a statement that one thread executes for all; null if each thread executes it.
  auto first_thread(const Stmt& stmt) -> Expr {
    if (is_barrier(stmt)) { return {}; }
    bool stores_global = false;
    bool stores_shared = false;
    bool is_closed = true;         // no part of it concerns all threads
    post_order(
        stmt,
        [&](const Stmt& s) {
          is_closed = is_closed && !as_thread_loop(s) && !is_barrier(s) && (s == stmt || !plan_.before.contains(s.get())) && !plan_.behind.contains(s.get()) && !plan_.distributed.contains(s.get());
          if (const auto* store = s.as<BufferStore>()) {
            const VarNode* data = store->buffer->data.get();
            if (own_.contains(data)) { is_closed = false; } else if (is_shared(store->buffer->data)) { stores_shared = true; } else { stores_global = true; }
          }
          if (s.as<Allocate>()) { is_closed = false; }
        },
        [&](const Expr& e) {
          // All threads of a warp execute these calls together.
          is_closed = is_closed && !is_collective(e);
          const auto* call = e.as<Call>();
          if (call && has_effect(*call)) { stores_global = true; }
        });
    if (!is_closed || (!stores_global && !stores_shared)) { return {}; }
    Expr out;
    for (size_t d = 0; d < bound_.size(); ++d) {
      const Dimension& n = grid_.dimensions[d];
      if (bound_[d] || !n.is_wide() || (!n.is_thread() && !stores_global)) { continue; }
      Expr is_first = equal(Expr(n.index), int_imm(0));
      out = out ? logical_and(std::move(out), std::move(is_first)) : std::move(is_first);
    }
    return out;
  }
  /// The condition of a statement that only fills memory which all threads of a dimension would fill alike; null for other statements.
  auto first_to_fill(const Stmt& stmt) -> Expr {
    const std::vector<Name>* tags = nullptr;
    bool fills_only = !filled_alike_.empty();
    post_order(
        stmt,
        [&](const Stmt& s) {
          const auto* store = s.as<BufferStore>();
          auto alike = store ? filled_alike_.find(store->buffer->data.get()) : filled_alike_.end();
          if (alike != filled_alike_.end() && (!tags || *tags == alike->second)) { tags = &alike->second; } else if (store) { fills_only = false; }
          fills_only = fills_only && !as_thread_loop(s) && !s.as<Evaluate>() && !s.as<Allocate>() && (s == stmt || !plan_.before.contains(s.get())) && !plan_.behind.contains(s.get());
        },
        [](const Expr&) {});
    Expr out;
    for (const Dimension& n : grid_.dimensions) {
      if (!fills_only || !tags || !n.is_wide() || std::find(tags->begin(), tags->end(), n.tag) == tags->end()) { continue; }
      Expr is_first = equal(Expr(n.index), int_imm(0));
      out = out ? logical_and(std::move(out), std::move(is_first)) : std::move(is_first);
    }
    return out;
  }
  static auto has_effect(const Call& call) -> bool {
    static constexpr std::array effects{"call_extern", "call_packed", "tvm_call_packed", "atomic_add"};
    return std::any_of(effects.begin(), effects.end(), [&](const char* name) { return call.op == name; });
  }
  static auto is_shared(const Var& data) -> bool { return data->pointer && is_shared_memory(data->pointer->scope.view()); }
  auto at(const Expr& e) -> Expr { return substitute(e, map_); }

  const Grid& grid_;
  const BarrierPlan& plan_;
  const FilledAlike& filled_alike_;
  bool is_filling_ = false;                      // inside of a statement that the first thread of some dimensions executes
  std::vector<uint8_t> bound_;                   // by dimension: true inside a loop over it
  bool is_alone_ = false;                                    // inside of a statement that only the first thread executes
  VarMap map_;
  std::unordered_set<const VarNode*> own_;      // memory of a single thread
};

class Bind : public Mutator {
 public:
  using Mutator::mutate;
  using Mutator::on;
  explicit Bind(bool has_warps) : has_warps_(has_warps) {}
  std::optional<Problem> problem;

  auto on(const For& n) -> Stmt override {
    if (n.for_kind == ForKind::ThreadBinding) { return kernel(self(n)); }
    const Expr& decides = has_load(n.min) ? n.min : n.extent;
    return is_decided_by_memory(decides, n.body) ? in_kernel(self(n), decides, true) : Mutator::on(n);
  }
  auto on(const AttrStmt& n) -> Stmt override { return as_thread_loop(self(n)) ? kernel(self(n)) : Mutator::on(n); }
  auto on(const While& n) -> Stmt override { return is_decided_by_memory(n.condition, n.body) ? in_kernel(self(n), n.condition, true) : Mutator::on(n); }
  auto on(const IfThenElse& n) -> Stmt override {
    const bool has_threads = contains_threads(n.then_case) || (n.else_case && contains_threads(n.else_case));
    return has_threads && has_load(n.condition) ? in_kernel(self(n), n.condition, false) : Mutator::on(n);
  }
  auto on(const LetStmt& n) -> Stmt override {
    if (!is_decided_by_memory(n.value, n.body)) { return Mutator::on(n); }
    // Each kernel loads the value itself, unless the memory has another one by then.
    return stores_loaded(n.body, n.value) ? in_kernel(self(n), n.value, false) : mutate(substitute(n.body, {{n.var.get(), n.value}}));
  }
  auto on(const Allocate& n) -> Stmt override {
    const bool is_of_kernel = n.data->pointer && !is_global_memory(n.data->pointer->scope.view());
    Stmt sunk = is_of_kernel ? SinkMemory(n).run() : Stmt();
    return sunk ? mutate(sunk) : Mutator::on(n);
  }

 private:
  auto kernel(const Stmt& written) -> Stmt {
    const Stmt nest = OwnIndex().mutate(written);
    Grid grid(nest);
    if (keep(grid.problem)) { return nest; }
    Stmt level = Level(grid).mutate(nest);
    const auto x = grid.find(Name("threadIdx.x"));
    const std::unordered_set<const VarNode*> of_lanes = has_warps_ && x ? memory_of_lanes(level) : std::unordered_set<const VarNode*>();
    Survey survey(grid, of_lanes);
    survey.visit(level);
    Share share(level, grid, survey);
    if (keep(survey.problem)) { return nest; }
    level = share.mutate(level);
    if (keep(share.problem)) { return nest; }
    ThreadBlock block(level);
    for (ThreadBlock::Dimension& d : block.dimensions) { d.extent = grid.dimensions[*grid.find(d.tag)].extent; }
    BarrierPlan plan = plan_barriers(level, block, share.filled_alike);
    if (keep(plan.problem)) { return nest; }
    Stmt built = Build(grid, plan, share.filled_alike).run(level);
    return x ? in_registers(built, of_lanes, grid.dimensions[*x].index) : built;
  }
  // ---- launches that depend on the memory of the device, which the host does not read

  static auto is_decided_by_memory(const Expr& decides, const Stmt& body) -> bool { return contains_threads(body) && has_load(decides); }
  /// True if the statement stores to memory that the expression loads from.
  static auto stores_loaded(const Stmt& stmt, const Expr& e) -> bool {
    std::unordered_set<const VarNode*> loaded;
    post_order(e, [&](const Expr& sub) {
      if (const auto* load = sub.as<BufferLoad>()) { loaded.insert(load->buffer->data.get()); }
    });
    bool found = false;
    post_order(
        stmt,
        [&](const Stmt& s) {
          const auto* store = s.as<BufferStore>();
          found = found || (store && loaded.contains(store->buffer->data.get()));
        },
        [&](const Expr& sub) { found = found || loaded.contains(sub.as<VarNode>()); });
    return found;
  }
  /// Makes one kernel of the whole statement, so that its threads decide themselves. Several blocks cannot do so if they repeat the statement, or if it changes
  /// the memory that decides.
  auto in_kernel(const Stmt& stmt, const Expr& decides, bool repeats) -> Stmt {
    std::string name;
    post_order(decides, [&](const Expr& e) { if (const auto* load = e.as<BufferLoad>(); load && name.empty()) { name = load->buffer->name.str(); } });
    std::optional<Problem> found;
    post_order(
        stmt,
        [&](const Stmt& s) {
          auto loop = as_thread_loop(s);
          const bool is_wide = loop && is_block_axis(loop->tag.view()) && !is_one(loop->extent);
          if (is_wide && (repeats || stores_loaded(stmt, decides))) { found = Problem{fmt::format("the buffer `{}`", name), because(Why::BlocksCannotWait), stmt.origin()}; }
        },
        [](const Expr&) {});
    return keep(found) ? stmt : kernel(stmt);
  }
  auto keep(const std::optional<Problem>& found) -> bool {
    if (found && !problem) { problem = found; }
    return found.has_value();
  }
  const bool has_warps_;           // lanes of a warp exchange registers
};

auto bind(const IRModule& module, bool has_warps) -> Result<IRModule> {
  return map_functions(module, [&](const PrimFunc& func) -> Result<PrimFunc> {
    Bind bind(has_warps);
    Stmt body = bind.mutate(func->body);
    if (bind.problem) {
      std::string function;
      for (const auto& [name, f] : module->functions) { if (f == func) { function = called(name, f); } }
      return error(Code::CannotEmit, bind.problem->origin).arg("what", bind.problem->what).arg("function", function).arg("target", "a GPU").arg("reason", bind.problem->why.text());
    }
    return with_body(func, std::move(body));
  });
}

}  // namespace

auto bind_threads(const IRModule& module, const LowerContext&) -> Result<IRModule> { return bind(module, false); }
auto bind_threads_with_warps(const IRModule& module, const LowerContext&) -> Result<IRModule> { return bind(module, true); }

}  // namespace loopsmith::transform
