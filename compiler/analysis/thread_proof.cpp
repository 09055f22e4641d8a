// Pairs of accesses that no barrier separates, and why they never meet: see thread_proof.h.
#include "analysis/thread_proof.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "arith/analyzer.h"
#include "arith/iter_map.h"
#include "ir/equal.h"
#include "ir/evaluate.h"
#include "ir/ops.h"
#include "ir/printer.h"
#include "ir/visitor.h"
#include "ir/vocabulary.h"
#include "support/codes.h"
#include "support/reasons.h"
#include "transform/affine.h"
#include "transform/thread_block.h"

namespace loopsmith::analysis {
namespace {

using transform::Affine;
using transform::ThreadLoop;

constexpr size_t most_pairs = 20000;   // compared in one kernel

/// One dimension of a launch. All loops over the dimension count with one variable.
struct Dimension {
  Name tag;
  Expr extent;
  Var index;
  [[nodiscard]] auto is_thread() const -> bool { return is_thread_axis(tag.view()); }
};

/// An access of memory that several threads can reach.
struct Use {
  const BufferNode* buffer = nullptr;
  const VarNode* memory = nullptr;
  bool is_write = false;
  std::vector<Expr> indices;                              // in the variables of the dimensions
  std::vector<arith::ConstIntBound> bounds;               // of each index, where the conditions around hold
  std::vector<std::optional<int64_t>> only;               // by dimension: the only thread that the conditions around select
  Origin origin;
  std::string text;
};
using UsePtr = std::shared_ptr<const Use>;

auto is_block_barrier(const Stmt& stmt) -> bool {
  if (!transform::is_barrier(stmt)) { return false; }
  const auto& args = stmt.as<Evaluate>()->value.as<Call>()->args;
  const auto* scope = args.empty() ? nullptr : args[0].as<StringImm>();
  return scope != nullptr && scope->value != "warp";
}
auto has_barrier(const Stmt& stmt) -> bool {
  bool found = false;
  if (stmt) { post_order(stmt, [&](const Stmt& s) { found = found || is_block_barrier(s); }, [](const Expr&) {}); }
  return found;
}
/// True for a body that passes a barrier whatever the conditions in it are.
auto always_waits(const Stmt& stmt) -> bool {
  if (is_block_barrier(stmt)) { return true; }
  if (const auto* n = stmt.as<SeqStmt>()) { return std::any_of(n->seq.begin(), n->seq.end(), always_waits); }
  if (const auto* n = stmt.as<AttrStmt>()) { return always_waits(n->body); }
  if (const auto* n = stmt.as<LetStmt>()) { return always_waits(n->body); }
  if (const auto* n = stmt.as<Allocate>()) { return always_waits(n->body); }
  if (const auto* n = stmt.as<DeclBuffer>()) { return always_waits(n->body); }
  return false;
}

/// The least difference between two values of a sum for different choices of the variables in `domains`; none: two choices may have one value. Terms that are not
/// variables (`x // 4`, `x % 4`) must differ between any two choices. Wider than 64 bits counts as unknown.
auto least_gap(const std::vector<Affine::Term>& terms, const arith::IterDomains& domains, arith::Analyzer& analyzer) -> std::optional<int64_t> {
  struct Digit { int64_t scale, most; };
  std::vector<Digit> digits;
  std::vector<Expr> atoms;
  for (const Affine::Term& term : terms) {
    const arith::ConstIntBound bound = analyzer.const_int_bound(term.atom);
    if (bound.min < 0 || term.coefficient == std::numeric_limits<int64_t>::min()) { return {}; }
    digits.push_back({std::abs(term.coefficient), bound.max});
    atoms.push_back(term.atom);
  }
  auto is_term = [&](const Var& v) { return std::any_of(atoms.begin(), atoms.end(), [&](const Expr& e) { return e.as<VarNode>() == v.get(); }); };
  const bool are_variables = std::all_of(domains.begin(), domains.end(), [&](const auto& domain) { return is_term(domain.first); });
  if (!are_variables && arith::detect_iter_map(atoms, domains, bool_imm(true), arith::IterMapLevel::Bijective, analyzer).indices.empty()) { return {}; }
  std::sort(digits.begin(), digits.end(), [](const Digit& a, const Digit& b) { return a.scale < b.scale; });
  int64_t reach = 0;
  int64_t gap = std::numeric_limits<int64_t>::max();
  bool is_open = false;                                   // the digits so far have no largest value
  for (const Digit& digit : digits) {
    if (is_open || digit.scale <= reach) { return {}; }
    gap = std::min(gap, digit.scale - reach);
    int64_t more = 0;
    is_open = __builtin_mul_overflow(digit.scale, digit.most, &more) || __builtin_add_overflow(reach, more, &reach);
  }
  return gap;
}

class Kernel {
 public:
  explicit Kernel(const Facts& facts) : facts_(facts) {}

  auto run(const Stmt& kernel) -> Diagnostic {
    if (facts_.has_jumps) { fail(because(Why::KernelJumps), kernel.origin()); }
    find_dimensions(kernel);
    find_own_memory(kernel);
    if (!failure_) { walk(kernel); }
    if (!failure_) { compare_threads(); }
    if (!failure_) { compare_blocks(); }
    if (failure_) { return std::move(*failure_); }
    return error(Code::ThreadsProved, kernel.origin());
  }

 private:
  void fail(const Reason& reason, Origin where) {
    if (!failure_) { failure_ = error(Code::ThreadsNotProved, where).arg("reason", reason.text()); }
  }

  void find_dimensions(const Stmt& kernel) {
    post_order(kernel, [&](const Stmt& s) {
      auto loop = transform::as_thread_loop(s);
      if (!loop || !(is_thread_axis(loop->tag.view()) || is_block_axis(loop->tag.view()))) { return; }
      auto known = std::find_if(dimensions_.begin(), dimensions_.end(), [&](const Dimension& d) { return d.tag == loop->tag; });
      if (known != dimensions_.end()) {
        if (!structural_equal(known->extent, loop->extent)) { fail(because(Why::LaunchedWithOtherExtents).arg("axis", loop->tag.view()).arg("first", print_script(known->extent)).arg("second", print_script(loop->extent)), s.origin()); }
        return;
      }
      Var index = var(loop->tag, loop->extent.dtype());
      analyzer_.bind(index, from_zero(loop->extent));
      dimensions_.push_back({loop->tag, loop->extent, index});
    }, [](const Expr&) {});
    only_.resize(dimensions_.size());
  }

  /// Memory that each thread has for itself: allocated in the kernel, and not shared.
  void find_own_memory(const Stmt& kernel) {
    auto note = [&](const VarNode* data) {
      if (!data->pointer || !is_shared_memory(data->pointer->scope.view())) { own_.push_back(data); }
    };
    post_order(kernel, [&](const Stmt& s) {
      if (const auto* n = s.as<Allocate>()) { note(n->data.get()); }
      if (const auto* n = s.as<Block>()) { for (const Buffer& buffer : n->alloc_buffers) { note(buffer->data.get()); } }
    }, [](const Expr&) {});
    auto refuse = [&](const VarNode* data) {
      const VarNode* memory = facts_.memory(data);
      if (is_common(memory)) { fail(because(Why::UsedByPointer).arg("buffer", memory->name.view()), kernel.origin()); }
    };
    for (const PointerUse& use : facts_.pointers) { refuse(use.data); }
    for (const Facts::PointerName& pointer : facts_.names) { refuse(pointer.name); }
  }
  auto is_common(const VarNode* memory) const -> bool {
    if (std::find(own_.begin(), own_.end(), memory) != own_.end()) { return false; }
    std::string_view scope = memory->pointer ? memory->pointer->scope.view() : std::string_view();
    return is_shared_memory(scope) || is_global_memory(scope);
  }

  // ---- the walk: every pair of accesses of one block that no barrier separates

  void walk(const Stmt& stmt) {
    if (failure_) { return; }
    if (auto launch = transform::as_thread_loop(stmt)) { return enter(*launch); }
    switch (stmt->kind) {
      case NodeKind::SeqStmt:
        for (const Stmt& s : stmt.as<SeqStmt>()->seq) { walk(s); }
        return;
      case NodeKind::AttrStmt:
        // Asynchronous stores happen when the thread waits for them, whatever barriers stand between.
        if (stmt.as<AttrStmt>()->key == "async_scope") { return fail(because(Why::StatementNotFollowed), stmt.origin()); }
        return walk(stmt.as<AttrStmt>()->body);
      case NodeKind::Allocate: return walk(stmt.as<Allocate>()->body);
      case NodeKind::AllocateConst: return walk(stmt.as<AllocateConst>()->body);
      case NodeKind::DeclBuffer: return walk(stmt.as<DeclBuffer>()->body);
      case NodeKind::AssertStmt:
        reads(stmt.as<AssertStmt>()->condition);
        return walk(stmt.as<AssertStmt>()->body);
      case NodeKind::LetStmt: return let(*stmt.as<LetStmt>());
      case NodeKind::For: return loop(*stmt.as<For>());
      case NodeKind::IfThenElse: return branch(stmt, *stmt.as<IfThenElse>());
      case NodeKind::BlockRealize: return block(*stmt.as<BlockRealize>());
      case NodeKind::BufferStore: return store(*stmt.as<BufferStore>());
      case NodeKind::Evaluate:
        if (is_block_barrier(stmt)) { return pending_.clear(); }
        return reads(stmt.as<Evaluate>()->value);
      default: return fail(because(Why::StatementNotFollowed), stmt.origin());
    }
  }

  void enter(const ThreadLoop& launch) {
    auto found = std::find_if(dimensions_.begin(), dimensions_.end(), [&](const Dimension& d) { return d.tag == launch.tag; });
    for (const VarNode* v : {launch.var.get(), launch.alias.get()}) {
      if (v == nullptr) { continue; }
      if (found != dimensions_.end()) {
        values_[v] = cast(v->dtype, Expr(found->index));
      } else {
        analyzer_.bind(Var(Ref<VarNode>(v)), from_zero(launch.extent), true);   // a virtual thread: a loop of each thread
      }
    }
    walk(launch.body);
  }

  void let(const LetStmt& n) {
    reads(n.value);
    bool loads = false;
    post_order(n.value, [&](const Expr& e) { loads = loads || e.as<BufferLoad>() || e.as<Call>(); });
    if (!loads && n.var->dtype.is_integral() && n.var->dtype.lanes == 1) { values_[n.var.get()] = plain(n.value); }
    walk(n.body);
  }

  void loop(const For& n) {
    reads(n.min);
    reads(n.extent);
    const Range domain{plain(n.min), plain(n.extent)};
    analyzer_.bind(n.var, domain, true);
    if (!has_barrier(n.body)) { return walk(n.body); }
    if (!is_same_for_all(domain.min) || !is_same_for_all(domain.extent)) { return fail(because(Why::BarrierInUnevenLoop).arg("loop", n.var->name.view()), n.origin); }
    in_step_.push_back(n.var.get());
    rename_in_pending(n.var, domain);
    std::vector<UsePtr> before = pending_;
    walk(n.body);
    // The next iteration, which begins with the accesses behind the last barrier of this one.
    Var next = var(n.var->name, n.var->dtype);
    analyzer_.bind(next, domain);
    values_[n.var.get()] = always_waits(n.body) ? add(n.var, int_imm(1, n.var->dtype)) : Expr(next);
    in_step_.push_back(next.get());
    kept_.push_back(next);
    walk(n.body);
    values_.erase(n.var.get());
    if (const auto count = as_int(domain.extent); !count || *count < 1) { for (UsePtr& use : before) { pending_.push_back(std::move(use)); } }
  }
  /// Accesses of an earlier run of a loop: its variable has another value there.
  void rename_in_pending(const Var& counter, const Range& domain) {
    Var other = var(counter->name, counter->dtype);
    analyzer_.bind(other, domain);
    kept_.push_back(other);
    VarMap map{{counter.get(), other}};
    for (UsePtr& use : pending_) {
      Use renamed = *use;
      for (Expr& index : renamed.indices) { index = substitute(index, map); }
      use = std::make_shared<const Use>(std::move(renamed));
    }
  }

  void branch(const Stmt& stmt, const IfThenElse& n) {
    reads(n.condition);
    const Expr condition = plain(n.condition);
    if (has_barrier(stmt) && !is_same_for_all(condition)) { return fail(because(Why::BarrierUnderCondition).arg("condition", print_script(n.condition)), n.condition.origin()); }
    std::vector<UsePtr> before = pending_;
    under(condition, [&] { walk(n.then_case); });
    if (!n.else_case && !has_barrier(stmt)) { return; }
    std::vector<UsePtr> after = std::exchange(pending_, std::move(before));
    if (n.else_case) { under(logical_not(condition), [&] { walk(n.else_case); }); }
    for (UsePtr& use : after) { remember(std::move(use)); }
  }
  template <class F>
  void under(const Expr& condition, F&& inside) {
    auto was = only_;
    bool loads = false;
    post_order(condition, [&](const Expr& e) { loads = loads || e.as<BufferLoad>() || e.as<Call>(); });
    if (loads) { return inside(); }
    for (const Expr& part : arith::split_conjunction(condition)) {
      const auto* equal = part.as<EQ>();
      const auto value = equal ? as_int(equal->b) : std::nullopt;
      for (size_t d = 0; value && d < dimensions_.size(); ++d) { if (equal->a.as<VarNode>() == dimensions_[d].index.get()) { only_[d] = *value; } }
    }
    {
      auto scope = analyzer_.enter(condition);
      inside();
    }
    only_ = std::move(was);
  }

  void block(const BlockRealize& n) {
    reads(n.predicate);
    for (size_t i = 0; i < n.iter_values.size(); ++i) {
      reads(n.iter_values[i]);
      values_[n.block->iter_vars[i].var.get()] = plain(n.iter_values[i]);
    }
    under(plain(n.predicate), [&] {
      if (n.block->init) { walk(n.block->init); }
      walk(n.block->body);
    });
  }

  void store(const BufferStore& n) {
    for (const Expr& index : n.indices) { reads(index); }
    reads(n.value);
    note(n.buffer, n.indices, true, n.origin);
  }
  void reads(const Expr& expr) {
    post_order(expr, [&](const Expr& e) {
      if (const auto* load = e.as<BufferLoad>()) { note(load->buffer, load->indices, false, load->origin); }
    });
  }
  void note(const Buffer& buffer, const Array<Expr>& indices, bool is_write, Origin origin) {
    const VarNode* memory = facts_.memory(*buffer);
    if (!is_common(memory)) { return; }
    if (buffer->data.get() != memory) { return fail(because(Why::UsedByView).arg("buffer", memory->name.view()), origin); }
    Use use{buffer.get(), memory, is_write, {}, {}, only_, origin, {}};
    VarMap selected;
    for (size_t d = 0; d < dimensions_.size(); ++d) { if (only_[d]) { selected[dimensions_[d].index.get()] = int_imm(*only_[d], dimensions_[d].index->dtype); } }
    for (const Expr& index : indices) {
      use.text += (use.text.empty() ? "" : ", ") + print_script(index);
      use.indices.push_back(substitute(plain(index), selected));
      use.bounds.push_back(index.dtype().is_scalar() ? analyzer_.const_int_bound(use.indices.back()) : arith::ConstIntBound{});
    }
    use.text = fmt::format("{}[{}]", buffer->name.view(), use.text);
    auto made = std::make_shared<const Use>(std::move(use));
    add_pair(made, made);
    for (const UsePtr& other : pending_) { add_pair(other, made); }
    remember(made);
    all_.push_back(std::move(made));
  }
  void remember(UsePtr use) {
    const bool is_known = std::any_of(pending_.begin(), pending_.end(), [&](const UsePtr& other) { return is_same(*other, *use); });
    if (!is_known) { pending_.push_back(std::move(use)); }
  }
  /// Pairs are compared after the walk, because the conditions around one access do not hold for the other.
  void add_pair(const UsePtr& a, const UsePtr& b) {
    if (failure_ || a->memory != b->memory || !(a->is_write || b->is_write)) { return; }
    if (pairs_.size() >= most_pairs) { return fail(because(Why::TooManyAccesses), b->origin); }
    pairs_.emplace_back(a, b);
  }
  static auto is_same(const Use& a, const Use& b) -> bool {
    return a.buffer == b.buffer && a.is_write == b.is_write && a.only == b.only && a.bounds == b.bounds &&
           std::equal(a.indices.begin(), a.indices.end(), b.indices.begin(), b.indices.end(), [](const Expr& x, const Expr& y) { return structural_equal(x, y); });
  }

  /// An expression in the variables of the dimensions.
  auto plain(const Expr& e) const -> Expr { return e ? substitute(e, values_) : e; }
  auto is_same_for_all(const Expr& e) const -> bool {
    bool same = true;
    post_order(e, [&](const Expr& sub) {
      if (const auto* v = sub.as<VarNode>()) { same = same && (is_in_step(*v) || is_of_block(*v)); }
      same = same && !sub.as<BufferLoad>() && !sub.as<Call>();
    });
    return same;
  }
  /// True for a variable that has one value in all threads of a block: a counter of a loop with barriers, or a parameter.
  auto is_in_step(const VarNode& v) const -> bool {
    if (std::find(in_step_.begin(), in_step_.end(), &v) != in_step_.end()) { return true; }
    const auto& params = facts_.func->params;
    if (std::any_of(params.begin(), params.end(), [&](const Var& p) { return p.get() == &v; })) { return true; }
    return std::any_of(facts_.func->buffer_map.begin(), facts_.func->buffer_map.end(), [&](const auto& entry) {
      return std::any_of(entry.second->shape.begin(), entry.second->shape.end(), [&](const Expr& e) { return e.as<VarNode>() == &v; });
    });
  }
  auto is_of_block(const VarNode& v) const -> bool {
    return std::any_of(dimensions_.begin(), dimensions_.end(), [&](const Dimension& d) { return !d.is_thread() && d.index.get() == &v; });
  }

  // ---- pairs

  void compare_threads() {
    auto is_shared = [&](const VarNode& v) { return is_in_step(v) || is_of_block(v); };
    for (const auto& [a, b] : pairs_) {
      std::vector<const Dimension*> threads;
      for (size_t d = 0; d < dimensions_.size(); ++d) {
        if (dimensions_[d].is_thread() && !is_same_thread(*a, *b, d)) { threads.push_back(&dimensions_[d]); }
      }
      if (!are_apart(*a, *b, threads, is_shared)) { return report(*a, *b, because(a == b ? Why::ThreadsMayWriteOne : Why::ThreadsMayMeet)); }
    }
  }
  auto is_same_thread(const Use& a, const Use& b, size_t d) const -> bool { return is_one(dimensions_[d].extent) || (a.only[d] && a.only[d] == b.only[d]); }

  /// Blocks run in any order, so every pair of accesses of memory that the blocks share counts.
  void compare_blocks() {
    size_t compared = 0;
    for (size_t i = 0; i < all_.size(); ++i) {
      for (size_t j = 0; j <= i && !failure_; ++j) {
        const Use& a = *all_[i];
        const Use& b = *all_[j];
        if (a.memory != b.memory || !(a.is_write || b.is_write) || is_shared_memory(a.memory->pointer ? a.memory->pointer->scope.view() : std::string_view())) { continue; }
        if (++compared > most_pairs) { return fail(because(Why::TooManyAccesses), b.origin); }
        std::vector<const Dimension*> blocks;
        for (size_t d = 0; d < dimensions_.size(); ++d) {
          if (!dimensions_[d].is_thread() && !is_same_thread(a, b, d)) { blocks.push_back(&dimensions_[d]); }
        }
        auto is_shared = [&](const VarNode& v) { return is_parameter(v); };
        if (!are_apart(a, b, blocks, is_shared)) { report(b, a, because(i == j ? Why::BlocksMayWriteOne : Why::BlocksMayMeet)); }
      }
    }
  }
  auto is_parameter(const VarNode& v) const -> bool { return is_in_step(v) && std::find(in_step_.begin(), in_step_.end(), &v) == in_step_.end(); }

  void report(const Use& a, const Use& b, Reason reason) {
    auto access = [](const Use& use) { return use.is_write ? "written" : "read"; };
    fail(std::move(reason).arg("first", a.text).arg("first_access", access(a)).arg("second", b.text).arg("second_access", access(b)), a.origin);
    if (&a != &b && !(a.origin == b.origin)) { (void)std::move(*failure_).note(b.origin, fmt::format("`{}` is {} here", b.text, access(b))); }
  }

  /// An index: terms that depend on the thread alone, terms with one value for both accesses, and the others.
  struct Parts {
    std::vector<Affine::Term> thread, rest;
    Affine shared;
    bool has_wrapped = false;
  };

  /// True if two accesses reach different elements whenever they come from threads that differ in one of the dimensions. `is_shared`: variables with
  /// one value for both.
  template <class F>
  auto are_apart(const Use& a, const Use& b, std::vector<const Dimension*> dimensions, const F& is_shared) -> bool {
    if (dimensions.empty()) { return true; }
    if (a.buffer != b.buffer || a.indices.size() != b.indices.size()) { return false; }
    for (size_t i = 0; i < a.indices.size(); ++i) {
      if (a.bounds[i].max < b.bounds[i].min || b.bounds[i].max < a.bounds[i].min) { return true; }
      if (!a.indices[i].dtype().is_scalar() || !b.indices[i].dtype().is_scalar()) { continue; }
      const auto told_apart = dimensions_in(a.indices[i], b.indices[i], dimensions, is_shared);
      if (!told_apart) { return true; }
      std::erase_if(dimensions, [&](const Dimension* d) { return std::find(told_apart->begin(), told_apart->end(), d) != told_apart->end(); });
    }
    return dimensions.empty();
  }

  /// The dimensions that make two indices differ; none: the indices differ in any case.
  template <class F>
  auto dimensions_in(const Expr& a, const Expr& b, const std::vector<const Dimension*>& dimensions, const F& is_shared) -> std::optional<std::vector<const Dimension*>> {
    const Parts of_a = parts_of(a, dimensions, is_shared), of_b = parts_of(b, dimensions, is_shared);
    Affine common = of_a.shared;
    common.add(of_b.shared, -1);
    if (of_a.has_wrapped || of_b.has_wrapped || common.has_wrapped) { return std::vector<const Dimension*>(); }
    std::optional<std::vector<const Dimension*>> out;
    for (const Affine& distance : distances_of(common)) {
      auto in = dimensions_at(of_a, of_b, distance, dimensions);
      if (!in) { continue; }
      if (!out) { out = std::move(in); continue; }
      std::erase_if(*out, [&](const Dimension* d) { return std::find(in->begin(), in->end(), d) == in->end(); });
    }
    return out;
  }
  /// The same for one distance between the parts that both accesses share.
  auto dimensions_at(const Parts& of_a, const Parts& of_b, const Affine& common, const std::vector<const Dimension*>& dimensions) -> std::optional<std::vector<const Dimension*>> {
    std::vector<const Dimension*> in;
    // The parts that depend on the thread would have to make up for `common` and the rest.
    int64_t divisor = 0, low = common.constant, high = common.constant;
    bool is_bounded = true;
    auto add_rest = [&](const Affine::Term& term, int64_t sign) {
      divisor = std::gcd(divisor, term.coefficient);
      const arith::ConstIntBound bound = analyzer_.const_int_bound(term.atom);
      int64_t x = 0, y = 0;
      is_bounded = is_bounded && bound.min != arith::ConstIntBound::neg_inf && bound.max != arith::ConstIntBound::pos_inf && !__builtin_mul_overflow(term.coefficient * sign, bound.min, &x) &&
                   !__builtin_mul_overflow(term.coefficient * sign, bound.max, &y) && !__builtin_add_overflow(low, std::min(x, y), &low) &&
                   !__builtin_add_overflow(high, std::max(x, y), &high);
    };
    for (const Affine::Term& term : common.terms) { add_rest(term, 1); }
    for (const Affine::Term& term : of_a.rest) { add_rest(term, 1); }
    for (const Affine::Term& term : of_b.rest) { add_rest(term, -1); }
    if (differ_by_remainder(of_a, of_b, divisor, common.constant)) { return {}; }
    if (!has_same_thread_part(of_a, of_b)) { return in; }
    arith::IterDomains domains;
    for (const Dimension* d : dimensions) {
      auto is_index = [&](const VarNode& v) { return &v == d->index.get(); };
      if (std::any_of(of_a.thread.begin(), of_a.thread.end(), [&](const Affine::Term& term) { return uses_var(term.atom, is_index); })) {
        domains.emplace_back(d->index, from_zero(d->extent));
        in.push_back(d);
      }
    }
    const auto gap = domains.empty() ? std::nullopt : least_gap(of_a.thread, domains, analyzer_);
    const bool beyond = gap && is_bounded && *gap > high && -*gap < low;
    if (!beyond && !(gap && fits_below(of_a, divisor, common.constant))) { in.clear(); }
    return in;
  }

  /// The values of a sum such as `k % 2 * 64 - (k + 1) % 2 * 64`, whose terms repeat with one variable; the sum itself where there are no such values.
  static auto distances_of(const Affine& sum) -> std::vector<Affine> {
    constexpr int64_t most_period = 64;
    const VarNode* counter = nullptr;
    int64_t period = 1;
    for (const Affine::Term& term : sum.terms) {
      const auto* mod = term.atom.as<FloorMod>();
      const auto divisor = mod ? as_int(mod->b) : std::nullopt;
      if (!divisor || *divisor < 1) { return {sum}; }
      bool is_known = true;
      post_order(mod->a, [&](const Expr& e) {
        const auto* v = e.as<VarNode>();
        if (v != nullptr && counter == nullptr) { counter = v; }
        is_known = is_known && (v == nullptr || v == counter) && !e.as<BufferLoad>() && !e.as<Call>() && !e.as<FloorDiv>();
      });
      period = std::lcm(period, *divisor);
      if (!is_known || period > most_period) { return {sum}; }
    }
    std::vector<Affine> out;
    for (int64_t at = 0; at < period && counter != nullptr; ++at) {
      Affine value;
      value.constant = sum.constant;
      for (const Affine::Term& term : sum.terms) {
        const auto number = evaluate_integer(term.atom, {{counter, at}});
        if (!number) { return {sum}; }
        value.constant += term.coefficient * *number;
      }
      out.push_back(std::move(value));
    }
    return out.empty() ? std::vector<Affine>{sum} : out;
  }

  template <class F>
  auto parts_of(const Expr& index, const std::vector<const Dimension*>& dimensions, const F& is_shared) -> Parts {
    const Affine sum = transform::affine_of(analyzer_.simplify(index));
    Parts out;
    out.has_wrapped = sum.has_wrapped;
    out.shared.constant = sum.constant;
    for (const Affine::Term& term : sum.terms) {
      bool is_of_thread = true, is_common = true;
      post_order(term.atom, [&](const Expr& e) {
        if (const auto* v = e.as<VarNode>()) {
          is_of_thread = is_of_thread && std::any_of(dimensions.begin(), dimensions.end(), [&](const Dimension* d) { return d->index.get() == v; });
          is_common = is_common && is_shared(*v);
        }
        if (e.as<BufferLoad>() || e.as<Call>()) { is_of_thread = is_common = false; }
      });
      if (is_of_thread) { out.thread.push_back(term); }
      else if (is_common) { out.shared.add(term.atom, term.coefficient); }
      else { out.rest.push_back(term); }
    }
    return out;
  }
  static auto has_same_thread_part(const Parts& a, const Parts& b) -> bool {
    auto has = [](const std::vector<Affine::Term>& terms, const Affine::Term& term) {
      return std::any_of(terms.begin(), terms.end(), [&](const Affine::Term& other) { return other.coefficient == term.coefficient && structural_equal(other.atom, term.atom); });
    };
    return a.thread.size() == b.thread.size() && std::all_of(a.thread.begin(), a.thread.end(), [&](const Affine::Term& term) { return has(b.thread, term); });
  }
  /// True if all coefficients of both indices have a divisor that does not divide the difference of their constants.
  static auto differ_by_remainder(const Parts& a, const Parts& b, int64_t divisor, int64_t constant) -> bool {
    for (const Parts* parts : {&a, &b}) { for (const Affine::Term& term : parts->thread) { divisor = std::gcd(divisor, term.coefficient); } }
    return divisor == 0 ? constant != 0 : constant % divisor != 0;
  }
  /// True if the thread's part stays below a number that divides all other parts, so that the others cannot make up for a difference in it.
  auto fits_below(const Parts& parts, int64_t divisor, int64_t constant) -> bool {
    if (divisor == 0) { return constant == 0; }
    if (constant % divisor != 0) { return false; }
    int64_t span = 0;
    for (const Affine::Term& term : parts.thread) {
      const arith::ConstIntBound bound = analyzer_.const_int_bound(term.atom);
      int64_t width = 0;
      if (bound.min == arith::ConstIntBound::neg_inf || bound.max == arith::ConstIntBound::pos_inf || __builtin_mul_overflow(std::abs(term.coefficient), bound.max - bound.min, &width) ||
          __builtin_add_overflow(span, width, &span)) {
        return false;
      }
    }
    return span < divisor;
  }

  const Facts& facts_;
  arith::Analyzer analyzer_;
  std::vector<Dimension> dimensions_;
  std::vector<const VarNode*> own_;                       // memory of one thread
  VarMap values_;                                         // of variables of the program, in the variables of the dimensions
  std::vector<std::optional<int64_t>> only_;              // as in Use, of the place at hand
  std::vector<const VarNode*> in_step_;                   // counters of loops with barriers
  std::vector<Var> kept_;                                 // variables that indices of uses refer to
  std::vector<UsePtr> pending_;                           // since the last barrier
  std::vector<UsePtr> all_;
  std::vector<std::pair<UsePtr, UsePtr>> pairs_;          // that no barrier separates
  std::optional<Diagnostic> failure_;
};

/// Collects the outermost launches below a statement.
void find_kernels(const Stmt& stmt, std::vector<Stmt>& out) {
  auto launch = transform::as_thread_loop(stmt);
  if (launch && (is_thread_axis(launch->tag.view()) || is_block_axis(launch->tag.view()))) {
    out.push_back(stmt);
    return;
  }
  visit_children(stmt, [](const Expr&) {}, [&](const Stmt& child) { find_kernels(child, out); });
}

}  // namespace

auto thread_proofs(const PrimFunc& function, const Diagnostics& found) -> Diagnostics {
  bool is_explicit = false;
  post_order(function->body, [&](const Stmt& s) {
    const auto* attr = s.as<AttrStmt>();
    is_explicit = is_explicit || is_block_barrier(s) || (attr != nullptr && attr->key == "thread_extent");
  }, [](const Expr&) {});
  if (!is_explicit) { return {}; }
  const Facts facts = collect(function);
  std::vector<Stmt> kernels;
  find_kernels(function->body, kernels);
  Diagnostics out;
  auto is_refuted = [&](const Stmt& kernel) {
    return std::any_of(found.begin(), found.end(), [&](const Diagnostic& d) {
      return (d.code == Code::ThreadRace || d.code == Code::BarrierNotReached) && d.where.decl == kernel.origin().decl;
    });
  };
  for (const Stmt& kernel : kernels) { if (!is_refuted(kernel)) { out.push_back(Kernel(facts).run(kernel)); } }
  return out;
}

}  // namespace loopsmith::analysis
