// Iterations of parallel, vectorised and thread-bound loops that touch the same element, where one of them writes it.
//
// A race is shown with numbers: the elements that two iterations touch are listed and compared. Tries pairs of neighbours, the first and the
// last iteration, and distances of powers of two; parameters count as 64. So a reported race really occurs, and races between other pairs are
// missed. Buffers on the same memory are compared by bytes. Indices that are read from memory cannot be listed: a store with such indices
// that also reads its element *may* race, and is reported as a possible race. So are writes under conditions on the contents of memory, and addresses
// of allocated memory that all iterations pass to other code, and accesses that collide if a parameter is 0 or 1. Behind a jump, each access is one that
// may run. Copies of whole elements (`memcpy`) count as loads and stores; views of a block that are boxes count as accesses of their source.
//
// Not reported: memory that lowering makes private to each iteration (all its accesses are in the loop, or its scope is private to a
// thread), reductions across threads, shared memory that one thread reads and another writes (lowering inserts barriers), and iterations
// that write the same value to the same element.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <deque>
#include <map>
#include <numeric>
#include <set>

#include "analysis/subject.h"
#include "arith/analyzer.h"
#include "ir/element_bytes.h"
#include "ir/jumps.h"
#include "ir/ops.h"
#include "ir/printer.h"
#include "ir/scratch.h"
#include "ir/visitor.h"
#include "ir/vocabulary.h"
#include "support/codes.h"
#include "support/guards.h"

namespace loopsmith::analysis {
namespace {

constexpr int64_t sample = 64;            // the value used for parameters
constexpr size_t most_elements = 400;     // the most elements of an iteration that are listed
constexpr int64_t most_rewrite_steps = 60000;   // the most values tried, in one program, to find writes that make a read harmless

enum class Threads : uint8_t { None, Block, Thread };

auto threads_of(const For& loop) -> Threads {
  if (!loop.thread) { return Threads::None; }
  std::string_view tag = loop.thread->thread_tag.view();
  if (is_block_axis(tag)) { return Threads::Block; }
  return Threads::Thread;
}

auto kind_name(const For& loop) -> std::string {
  switch (loop.for_kind) {
    case ForKind::Parallel: return "parallel";
    case ForKind::Vectorized: return "vectorized";
    case ForKind::ThreadBinding: return loop.thread ? "`" + loop.thread->thread_tag.str() + "`" : "thread-bound";
    default: return "serial";
  }
}

/// True when the stored value is the same in both iterations. False if it reads the memory to which it is stored.
auto same_value(const Expr& expr, const Numbers& a, const Numbers& b, const Facts& facts, const VarNode* stored) -> bool {
  if (expr.dtype().is_integral() && is_pure_integer(expr)) {
    auto x = evaluate(expr, a);
    auto y = evaluate(expr, b);
    if (x && y) { return *x == *y; }
  }
  if (const auto* v = expr.as<VarNode>()) {
    const int64_t* x = a.find(v);
    const int64_t* y = b.find(v);
    return x == nullptr || y == nullptr ? x == y : *x == *y;
  }
  // Two loads of the same element are assumed to have the same value, even if other iterations write it.
  if (const auto* load = expr.as<BufferLoad>(); load && facts.memory(*load->buffer) == stored) { return false; }
  bool same = true;
  visit_children(expr, [&](const Expr& child) { same = same && same_value(child, a, b, facts, stored); });
  return same;
}

class Races {
 public:
  explicit Races(Subject& subject) : subject_(subject), facts_(subject.facts) {
    for (const Var& p : facts_.func->params) {
      if (!p->dtype.is_integral()) { continue; }
      samples_.push(p.get(), sample);
      scalars_.insert(p.get());
    }
    for (const auto& [param, buffer] : facts_.func->buffer_map) {
      for (const auto* exprs : {&buffer->shape, &buffer->strides}) {
        for (const Expr& e : *exprs) {
          const auto* v = e.as<VarNode>();
          if (v && !samples_.find(v)) { samples_.push(v, sample); }
          if (v) { scalars_.erase(v); }
        }
      }
    }
    accesses_ = facts_.accesses;
    for (Access& a : accesses_) {
      ++uses_[facts_.memory(*a.buffer)];
      to_source(a);
    }
    for (size_t i = 0; i < facts_.pointers.size(); ++i) { add_copy(i); }
    for (const UnorderedJump& jump : facts_.has_jumps ? unordered_jumps(facts_.func->body) : std::vector<UnorderedJump>()) { reported_.insert(jump.loop); }
  }

  void run() {
    for (const LoopFact& fact : facts_.loops) {
      if (subject_.cancel.is_cancelled()) { return; }
      ForKind kind = fact.loop->for_kind;
      if (kind != ForKind::Parallel && kind != ForKind::Vectorized && kind != ForKind::ThreadBinding) { continue; }
      if (reported_.contains(fact.loop)) { continue; }
      if (!check(fact)) { check_small_numbers(fact); }
    }
  }

 private:
  /// An access through a view of a block becomes an access of the view's source, if the view is a box of it.
  void to_source(Access& a) {
    for (int hops = 0; hops < 8; ++hops) {
      const MatchBufferRegion* match = nullptr;
      for (const BlockFact& b : facts_.blocks) {
        for (const MatchBufferRegion& m : b.block->match_buffers) { if (m.buffer.get() == a.buffer) { match = &m; } }
      }
      if (!match || match->buffer->dtype != match->source.buffer->dtype) { return; }
      const Array<Range>& box = match->source.region;
      const size_t dims = match->buffer->shape.size();
      if (dims > box.size() || a.indices->size() != dims || match->source.buffer->shape.size() != box.size()) { return; }
      std::vector<Expr> indices;
      for (size_t d = 0; d < box.size(); ++d) {
        const size_t missing = box.size() - dims;
        if (d < missing && !is_one(box[d].extent)) { return; }
        if (d >= missing && !arith::deep_equal(match->buffer->shape[d - missing], box[d].extent) && as_int(match->buffer->shape[d - missing]) != as_int(box[d].extent)) { return; }
        indices.push_back(d < missing ? box[d].min : box[d].min + cast(box[d].min.dtype(), (*a.indices)[d - missing]));
        if (d >= missing && (*a.indices)[d - missing].dtype().lanes != 1) { return; }
      }
      a.indices = &made_.emplace_back(std::move(indices));
      a.buffer = match->source.buffer.get();
    }
  }

  /// A copy of whole elements behind an address becomes an access.
  void add_copy(size_t i) {
    const PointerUse& use = facts_.pointers[i];
    const auto* load = use.place ? use.place.as<BufferLoad>() : nullptr;
    auto bytes = use.bytes ? as_int(use.bytes) : std::nullopt;
    auto size = load ? bytes_of_element(*load->buffer) : std::nullopt;
    if (!load || !bytes || !size || *bytes <= 0 || *bytes % *size != 0 || load->indices.empty() || facts_.is_allocated(facts_.memory(*load->buffer))) { return; }
    std::vector<Expr> indices(load->indices.begin(), load->indices.end());
    const int64_t count = *bytes / *size;
    if (indices.back().dtype().lanes != 1 || count > static_cast<int64_t>(most_elements)) { return; }
    if (count > 1) { indices.back() = make<Ramp>(indices.back(), one(indices.back().dtype()), int_imm(count)); }
    Access a;
    a.buffer = load->buffer.get();
    a.indices = &made_.emplace_back(std::move(indices));
    a.is_write = use.writes;
    a.is_certain = !facts_.has_jumps;
    a.load = load;
    a.space = use.space;
    a.origin = use.origin;
    to_source(a);
    copies_.emplace(i, std::move(a));
  }

  /// The accesses in a loop, with copies of elements at the end.
  auto accesses_in(const LoopFact& fact) const -> std::vector<const Access*> {
    std::vector<const Access*> out;
    for (size_t i = fact.begin; i < fact.end; ++i) { out.push_back(&accesses_[i]); }
    for (auto at = copies_.lower_bound(fact.first_pointer); at != copies_.end() && at->first < fact.end_pointer; ++at) { out.push_back(&at->second); }
    return out;
  }

  /// Parameters other than sizes are often 0 or 1.
  void check_small_numbers(const LoopFact& fact) {
    std::vector<const VarNode*> numbers;
    for (const Access* a : accesses_in(fact)) {
      for (const Expr& index : *a->indices) {
        post_order(index, [&](const Expr& e) {
          const auto* v = e.as<VarNode>();
          if (v && scalars_.contains(v) && std::find(numbers.begin(), numbers.end(), v) == numbers.end()) { numbers.push_back(v); }
        });
      }
    }
    if (numbers.empty() || fact.loop->for_kind == ForKind::ThreadBinding) { return; }
    Temporarily samples(samples_);
    for (int64_t number : {0, 1}) {
      Temporarily trying(tried_, fmt::format("`{}` is {}", numbers.front()->name.view(), number));
      for (const VarNode* v : numbers) { samples_.push(v, number); }
      if (check(fact)) { return; }
    }
  }

  /// True if a race was reported.
  auto check(const LoopFact& fact) -> bool {
    std::map<const VarNode*, size_t> inside;
    std::vector<const VarNode*> written;
    in_ = accesses_in(fact);
    for (const Access* access : in_) {
      const Access& a = *access;
      const VarNode* memory = facts_.memory(*a.buffer);
      if (&a >= accesses_.data() && &a < accesses_.data() + accesses_.size()) { ++inside[memory]; }
      if (a.is_write && std::find(written.begin(), written.end(), memory) == written.end()) { written.push_back(memory); }
    }
    // One message for each loop.
    for (const VarNode* memory : written) {
      if (!is_private(fact, memory, inside[memory]) && check_memory(fact, memory)) { return true; }
    }
    for (const VarNode* memory : written) {
      if (!is_private(fact, memory, inside[memory]) && check_conditional(fact, memory)) { return true; }
    }
    return check_pointers(fact, inside);
  }

  auto is_private(const LoopFact& fact, const VarNode* memory, size_t inside) const -> bool {
    Threads threads = threads_of(*fact.loop);
    std::string_view scope = memory->pointer ? memory->pointer->scope.view() : std::string_view();
    bool is_global = scope.empty() || scope == "global";
    bool is_shared = is_shared_memory(scope);
    if (threads == Threads::Thread && !is_global && !is_shared) { return true; }
    if (threads == Threads::Block && !is_global) { return true; }
    for (size_t i = 0; i < facts_.pointers.size(); ++i) {
      if (facts_.memory(facts_.pointers[i].data) == memory && !copies_.contains(i)) { return true; }   // its accesses are not visible
    }
    if (!facts_.is_allocated(memory)) { return false; }
    bool all_inside = uses_of(memory) == inside && (in_blocks(fact, memory) == inside || is_scratch(fact, memory));
    // All threads see shared memory, at any place of its declaration.
    if (threads == Threads::Thread && is_shared) { return false; }
    return all_inside;
  }

  /// True if each iteration fills the memory before it reads from it.
  auto is_scratch(const LoopFact& fact, const VarNode* memory) const -> bool {
    std::vector<const VarNode*> names;
    for (const Facts::PointerName& pointer : facts_.names) {
      if (facts_.memory(pointer.name) != memory) { continue; }
      if (!pointer.begins_inside) { names.push_back(pointer.name); continue; }
      bool is_inside = false;
      post_order(fact.loop->body, [&](const Stmt& s) { is_inside = is_inside || s.get() == pointer.let; }, [](const Expr&) {});
      if (!is_inside) { return false; }
    }
    return scratch_use(*fact.loop, memory, names).is_scratch;
  }

  /// Other code that writes to memory which all iterations of a parallel or vectorized loop share, at a place that is the same for all.
  auto check_pointers(const LoopFact& fact, const std::map<const VarNode*, size_t>& inside) -> bool {
    if (fact.loop->for_kind == ForKind::ThreadBinding || evaluate_bound(fact.loop->extent).value_or(2) < 2) { return false; }
    for (size_t i = fact.first_pointer; i < fact.end_pointer; ++i) {
      const PointerUse& use = facts_.pointers[i];
      const VarNode* memory = facts_.memory(use.data);
      if (!use.writes || !use.origin.is_known() || is_allocated_in(fact, memory) || !facts_.is_allocated(memory)) { continue; }
      // Blocks declare what they access, and lowering gives each iteration the memory that only blocks use.
      if (use.block && blocks_below(fact).contains(use.block)) { continue; }
      std::vector<Expr> place = use.place ? std::vector<Expr>{use.place} : std::vector<Expr>();
      std::vector<const VarNode*> vars = use.space->dependencies(place);
      if (std::find(vars.begin(), vars.end(), fact.loop->var.get()) != vars.end()) { continue; }
      auto accesses = inside.find(memory);
      bool all_inside = uses_of(memory) == (accesses == inside.end() ? 0 : accesses->second);
      for (size_t k = 0; k < facts_.pointers.size(); ++k) {
        all_inside = all_inside && ((k >= fact.first_pointer && k < fact.end_pointer) || facts_.memory(facts_.pointers[k].data) != memory);
      }
      if (all_inside && is_scratch(fact, memory)) { continue; }
      may_race(fact, use.origin, memory_name(memory), {}, fmt::format("make `{}` serial, or allocate `{}` in it", fact.loop->var->name.view(), memory_name(memory)));
      return true;
    }
    return false;
  }
  auto uses_of(const VarNode* memory) const -> size_t {
    auto found = uses_.find(memory);
    return found == uses_.end() ? 0 : found->second;
  }
  auto is_allocated_in(const LoopFact& fact, const VarNode* memory) const -> bool {
    bool found = false;
    post_order(fact.loop->body, [&](const Stmt& s) {
      if (const auto* n = s.as<Allocate>()) { found = found || n->data.get() == memory; }
      if (const auto* n = s.as<BufferRealize>()) { found = found || n->buffer->data.get() == memory; }
      if (const auto* n = s.as<Block>()) { for (const Buffer& b : n->alloc_buffers) { found = found || b->data.get() == memory; } }
    }, [](const Expr&) {});
    return found;
  }
  auto memory_name(const VarNode* memory) const -> std::string_view {
    for (const AllocFact& a : facts_.allocs) { if (a.data == memory && a.buffer) { return a.buffer->name.view(); } }
    return memory->name.view();
  }
  static auto blocks_below(const LoopFact& fact) -> std::set<const Block*> {
    std::set<const Block*> below;
    post_order(fact.loop->body, [&](const Stmt& s) { if (const auto* block = s.as<Block>()) { below.insert(block); } }, [](const Expr&) {});
    return below;
  }

  /// The number of accesses to the memory in blocks below the loop. Lowering gives each iteration a copy of buffers that only such blocks access.
  auto in_blocks(const LoopFact& fact, const VarNode* memory) const -> size_t {
    std::set<const Block*> below = blocks_below(fact);
    size_t out = 0, counted_to = fact.begin;
    for (const BlockFact& b : facts_.blocks) {
      if (!below.contains(b.block) || b.end <= counted_to) { continue; }
      for (size_t i = std::max(b.begin, counted_to); i < b.end; ++i) { out += facts_.memory(*facts_.accesses[i].buffer) == memory ? 1 : 0; }
      counted_to = b.end;
    }
    return out;
  }

  auto is_reduction_across_threads(const LoopFact& fact, const Access& a) const -> bool {
    if (fact.loop->for_kind != ForKind::ThreadBinding || !a.store) { return false; }
    for (const BlockFact& b : facts_.blocks) {
      if (!b.block->init || &a < accesses_.data() + b.begin || &a >= accesses_.data() + b.end) { continue; }
      for (size_t i = 0; i < b.block->iter_vars.size() && b.realize; ++i) {
        if (b.block->iter_vars[i].kind == IterKind::Reduction) { return true; }
      }
    }
    return false;
  }

  auto check_memory(const LoopFact& fact, const VarNode* memory) -> bool {
    // A report about the update is clearer than one about the init in front of it.
    return check_memory(fact, memory, false) || check_memory(fact, memory, true);
  }

  auto check_memory(const LoopFact& fact, const VarNode* memory, bool inits) -> bool {
    Threads threads = threads_of(*fact.loop);
    for (size_t i = 0; i < in_.size(); ++i) {
      const Access& w = *in_[i];
      if (w.in_init != inits) { continue; }
      if (!w.is_write || !is_listed(w, memory) || !w.is_certain || w.is_masked) { continue; }
      if (is_reduction_across_threads(fact, w)) { continue; }
      for (size_t j = 0; j < in_.size(); ++j) {
        const Access& other = *in_[j];
        if (!is_listed(other, memory) || !other.is_certain || other.is_masked || !has_common_places(w, other)) { continue; }
        if (other.is_write && j < i && other.in_init == inits) { continue; }
        // Barriers order the reads and writes of threads that share memory, except within one statement.
        if (!other.is_write && threads == Threads::Thread && (other.store != w.store || !w.store)) { continue; }
        if (is_reduction_across_threads(fact, other)) { continue; }
        if (collide(fact, w, other, false)) { return true; }
      }
      if (may_collide(fact, w)) { return true; }
    }
    return false;
  }

  /// Writes and reads under conditions on the contents of memory: they may collide.
  auto check_conditional(const LoopFact& fact, const VarNode* memory) -> bool {
    if (fact.loop->for_kind == ForKind::ThreadBinding) { return false; }
    for (size_t i = 0; i < in_.size(); ++i) {
      const Access& w = *in_[i];
      if (!w.is_write || w.in_init || !is_listed(w, memory) || w.is_masked || selects_iteration(fact, w)) { continue; }
      for (size_t j = 0; j < in_.size(); ++j) {
        const Access& other = *in_[j];
        if (other.in_init || !is_listed(other, memory) || other.is_masked || (other.is_write && j < i) || !has_common_places(w, other)) { continue; }
        if (!depends_on_memory(*w.space) && !depends_on_memory(*other.space) && w.is_certain && other.is_certain) { continue; }
        if (collide(fact, w, other, true)) { return true; }
      }
    }
    return false;
  }

  static auto depends_on_memory(const Space& space) -> bool {
    return std::any_of(space.entries().begin(), space.entries().end(), [](const Space::Entry& e) {
      return (e.kind == Space::Kind::Guard && has_load(e.value)) || (e.kind == Space::Kind::Loop && has_load(e.extent));
    });
  }
  /// True under a condition that few iterations fulfil: `if i == k[0]`.
  static auto selects_iteration(const LoopFact& fact, const Access& a) -> bool {
    bool found = false;
    for (const Space::Entry& e : a.space->entries()) {
      if (e.kind != Space::Kind::Guard || !has_load(e.value)) { continue; }
      post_order(e.value, [&](const Expr& x) {
        const bool is_equality = e.negated ? x.as<NE>() != nullptr : x.as<EQ>() != nullptr;
        if (!is_equality) { return; }
        std::vector<const VarNode*> vars = a.space->dependencies({x});
        found = found || std::find(vars.begin(), vars.end(), fact.loop->var.get()) != vars.end();
      });
    }
    return found;
  }
  /// The space without conditions on the contents of memory. Loops whose extents are such contents run once.
  static auto without_contents(const Space& space) -> Space {
    Space out;
    for (const Space::Entry& e : space.entries()) {
      if (e.kind == Space::Kind::Loop && has_load(e.extent)) {
        Space::Entry once = e;
        once.extent = one(e.extent.dtype());
        out.push(std::move(once));
        continue;
      }
      if (e.kind != Space::Kind::Guard || !has_load(e.value)) { out.push(e); continue; }
      if (e.negated) { continue; }
      for (const Expr& part : arith::split_conjunction(e.value)) {
        if (has_load(part)) { continue; }
        Space::Entry known = e;
        known.value = part;
        out.push(std::move(known));
      }
    }
    return out;
  }

  /// Accesses through views of blocks are not listed: their places depend on the iteration.
  auto is_listed(const Access& a, const VarNode* memory) const -> bool {
    const VarNode* data = a.buffer->data.get();
    if (facts_.memory(data) != memory) { return false; }
    return data == memory || std::any_of(facts_.names.begin(), facts_.names.end(), [&](const Facts::PointerName& p) { return p.name == data; });
  }
  /// True if the elements of both can be compared: one buffer, or two whose elements are known bytes behind the same pointer.
  auto has_common_places(const Access& a, const Access& b) const -> bool {
    if (a.buffer == b.buffer) { return a.indices->size() == b.indices->size(); }
    auto is_known = [&](const Access& one) {
      auto named = std::find_if(facts_.names.begin(), facts_.names.end(), [&](const Facts::PointerName& p) { return p.name == one.buffer->data.get(); });
      return (named == facts_.names.end() || !named->begins_inside) && first_byte(*one.buffer, std::vector<int64_t>(one.indices->size(), 0));
    };
    return is_known(a) && is_known(b);
  }

  /// `place`: compared; the element itself, or its bytes in units that both accesses have.
  struct Touched { std::vector<int64_t> place, element; Numbers numbers; };

  /// False outside of constant extents: for a sample of a parameter, an index may be there.
  static auto is_element(const BufferNode& buffer, const std::vector<int64_t>& at) -> bool {
    for (size_t d = 0; d < at.size() && at.size() == buffer.shape.size(); ++d) {
      auto extent = as_int(buffer.shape[d]);
      if (extent && (at[d] < 0 || at[d] >= *extent)) { return false; }
    }
    return true;
  }

  auto elements(const LoopFact& fact, const Access& a, const Space& space, int64_t value) -> std::optional<std::vector<Touched>> {
    std::vector<Touched> out;
    Numbers fixed = samples_;
    fixed.push(fact.loop->var.get(), value);
    std::vector<Expr> relevant(a.indices->begin(), a.indices->end());
    bool known = true;
    (void)space.witness(relevant, subject_.budget, [&](const Numbers& n) {
      std::vector<int64_t> at;
      int64_t lanes = 1;
      Expr stride;
      for (const Expr& index : *a.indices) {
        const auto* ramp = index.as<Ramp>();
        auto v = evaluate(ramp ? ramp->base : index, n);
        if (!v) { known = false; return true; }
        if (ramp) {
          lanes = as_int(ramp->lanes).value_or(0);
          stride = ramp->stride;
        }
        at.push_back(*v);
      }
      if (lanes <= 0) { known = false; return true; }
      int64_t step = stride ? evaluate(stride, n).value_or(1) : 0;
      for (int64_t lane = 0; lane < lanes; ++lane) {
        if (is_element(*a.buffer, at)) { out.push_back({at, at, n}); }
        // A buffer without dimensions has one element, and no index to move.
        if (!at.empty() && __builtin_add_overflow(at.back(), step, &at.back())) { break; }
      }
      return out.size() >= most_elements;
    }, fixed);
    if (!known) { return {}; }
    return out;
  }

  /// Pairs of iterations that are tried: neighbours, the first and the last, distances of powers of two.
  auto pairs_of(const LoopFact& fact, bool both_ways) const -> std::vector<std::pair<int64_t, int64_t>> {
    auto first = evaluate_bound(fact.loop->min);
    auto extent = evaluate_bound(fact.loop->extent);
    std::vector<std::pair<int64_t, int64_t>> pairs;
    int64_t last = 0;
    if (!first || !extent || *extent < 2 || __builtin_add_overflow(*first, *extent - 1, &last)) { return pairs; }
    auto add = [&](int64_t a, int64_t b) {
      if (a < 0 || b < 0 || a >= *extent || b >= *extent || a == b) { return; }
      auto p = std::pair(*first + a, *first + b);
      if (std::find(pairs.begin(), pairs.end(), p) == pairs.end()) { pairs.push_back(p); }
    };
    add(0, 1);
    if (both_ways) { add(1, 0); }
    for (int64_t d = 2; d < *extent && d <= 64; d *= 2) { add(0, d); }
    add(0, *extent - 1);
    if (both_ways) { add(*extent - 1, 0); }
    add(*extent / 2, *extent / 2 + 1);
    if (both_ways) { add(*extent / 2 + 1, *extent / 2); }
    return pairs;
  }

  /// `is_conditional`: conditions on the contents of memory may hold or not.
  auto collide(const LoopFact& fact, const Access& w, const Access& other, bool is_conditional) -> bool {
    const Space of_w = is_conditional ? without_contents(*w.space) : *w.space;
    const Space of_o = is_conditional ? without_contents(*other.space) : *other.space;
    const int64_t unit = w.buffer == other.buffer ? 0 : std::gcd(*bytes_of_element(*w.buffer), *bytes_of_element(*other.buffer));
    std::map<int64_t, std::vector<Touched>> of_write;
    std::map<int64_t, std::vector<Touched>> of_other;
    auto is_before = [](const Touched& x, const Touched& y) { return x.place < y.place; };
    for (const auto& [a, b] : pairs_of(fact, &w != &other)) {
      if (subject_.budget <= 0) { return false; }
      if (!of_write.contains(a)) {
        auto list = elements(fact, w, of_w, a);
        if (!list) { return false; }
        to_bytes(w, unit, *list);
        std::sort(list->begin(), list->end(), is_before);
        of_write[a] = std::move(*list);
      }
      if (!of_other.contains(b)) {
        auto list = elements(fact, other, of_o, b);
        if (!list) { return false; }
        to_bytes(other, unit, *list);
        of_other[b] = std::move(*list);
      }
      const std::vector<Touched>& left = of_write[a];
      for (const Touched& t : of_other[b]) {
        auto at = std::lower_bound(left.begin(), left.end(), t, is_before);
        if (at == left.end() || at->place != t.place || is_harmless(fact, w, other, b, *at, t)) { continue; }
        if (is_conditional) {
          may_race(fact, w.origin, w.buffer->name.view(), other.origin == w.origin ? Origin() : other.origin,
                   facts_.is_allocated(facts_.memory(*w.buffer))
                       ? fmt::format("make `{}` serial (`T.serial`), or let each iteration store every element of `{}` before it loads it", fact.loop->var->name.view(), w.buffer->name.view())
                       : fmt::format("make `{}` serial (`T.serial`), or let each iteration write elements of its own", fact.loop->var->name.view()));
        } else {
          report(fact, w, other, a, b, at->element);
        }
        return true;
      }
    }
    return false;
  }

  /// True if one condition, with the same value in both iterations, selects the first access or the second one.
  auto are_opposite(const Access& w, const Touched& written, const Access& other, const Touched& t) const -> bool {
    for (const Space::Entry& e : w.space->entries()) {
      if (e.kind != Space::Kind::Guard || !has_load(e.value)) { continue; }
      bool is_opposite = std::any_of(other.space->entries().begin(), other.space->entries().end(), [&](const Space::Entry& o) {
        return o.kind == Space::Kind::Guard && o.value.get() == e.value.get() && o.negated != e.negated;
      });
      if (is_opposite && same_value(e.value, written.numbers, t.numbers, facts_, facts_.memory(*w.buffer))) { return true; }
    }
    return false;
  }

  /// True if the order of a write and of another access in iteration `b` has no effect.
  auto is_harmless(const LoopFact& fact, const Access& w, const Access& other, int64_t b, const Touched& written, const Touched& t) -> bool {
    if (are_opposite(w, written, other, t)) { return true; }
    if (!other.is_write) { return w.store && writes_it_too(fact, w, b, written); }
    if (!w.store || !other.store) { return false; }
    if (other.store == w.store) { return same_value(w.store->value, written.numbers, t.numbers, facts_, facts_.memory(*w.buffer)); }
    return is_same_constant(w.store->value, other.store->value);
  }

  /// Places as bytes in units; zero: as elements.
  static void to_bytes(const Access& a, int64_t unit, std::vector<Touched>& list) {
    if (unit == 0) { return; }
    std::vector<Touched> out;
    const int64_t size = *bytes_of_element(*a.buffer);
    for (Touched& t : list) {
      auto byte = first_byte(*a.buffer, t.element);
      for (int64_t i = 0; byte && i < size; i += unit) {
        out.push_back(t);
        out.back().place = {(*byte + i) / unit};
      }
    }
    list = std::move(out);
  }

  /// True when the reading iteration has itself written the same value to the element: then the order of the writes has no effect.
  auto writes_it_too(const LoopFact& fact, const Access& w, int64_t iteration, const Touched& written) -> bool {
    if (!w.store || reads_memory(w.store->value, facts_.memory(*w.buffer))) { return false; }
    Numbers fixed = samples_;
    fixed.push(fact.loop->var.get(), iteration);
    for (size_t d = 0; d < w.indices->size(); ++d) {
      // An index that is the variable of a loop determines the variable's value: that loop is not searched.
      const VarNode* loop = loop_variable(w, (*w.indices)[d]);
      const int64_t* known = loop ? fixed.find(loop) : nullptr;
      if (known && *known != written.element[d]) { return false; }
      if (loop && !known) { fixed.push(loop, written.element[d]); }
    }
    std::vector<Expr> relevant(w.indices->begin(), w.indices->end());
    int64_t most = std::min<int64_t>(rewrite_steps_, 20000);
    int64_t left = most;
    bool found = w.space->witness(relevant, left, [&](const Numbers& n) {
      for (size_t d = 0; d < w.indices->size(); ++d) {
        auto v = evaluate((*w.indices)[d], n);
        if (!v || *v != written.element[d]) { return false; }
      }
      return same_value(w.store->value, written.numbers, n, facts_, facts_.memory(*w.buffer));
    }, fixed, left).has_value();
    rewrite_steps_ -= most - left;
    // Reports nothing if the search stopped early.
    return found || left <= 0;
  }

  auto reads_memory(const Expr& value, const VarNode* memory) const -> bool {
    bool reads = false;
    post_order(value, [&](const Expr& e) {
      const auto* load = e.as<BufferLoad>();
      reads = reads || (load && facts_.memory(*load->buffer) == memory);
    });
    return reads;
  }

  /// The loop variable that equals an index, directly or through iter vars; null for other indices.
  static auto loop_variable(const Access& access, Expr index) -> const VarNode* {
    const auto* var = index.as<VarNode>();
    const Space::Entry* entry = var ? access.space->find(var) : nullptr;
    while (entry && entry->kind == Space::Kind::Binding) {
      var = entry->value.as<VarNode>();
      entry = var ? access.space->find(var) : nullptr;
    }
    return entry && entry->kind == Space::Kind::Loop ? var : nullptr;
  }

  static auto is_same_constant(const Expr& a, const Expr& b) -> bool {
    const auto* x = a.as<FloatImm>();
    const auto* y = b.as<FloatImm>();
    if (x && y) { return x->value == y->value; }
    auto i = as_int(a);
    auto j = as_int(b);
    return i && j && *i == *j;
  }

  auto evaluate_bound(const Expr& e) const -> std::optional<int64_t> { return evaluate(e, samples_); }

  /// A store at indices read from memory that also reads its element: a histogram.
  auto may_collide(const LoopFact& fact, const Access& w) -> bool {
    if (!w.store) { return false; }
    bool indirect = false;
    for (const Expr& index : *w.indices) { post_order(index, [&](const Expr& e) { indirect |= e.as<BufferLoad>() != nullptr; }); }
    if (!indirect) { return false; }
    bool reads_itself = false;
    for (size_t i = fact.begin; i < fact.end; ++i) {
      const Access& a = facts_.accesses[i];
      reads_itself |= !a.is_write && a.store == w.store && a.buffer == w.buffer;
    }
    if (!reads_itself) { return false; }
    std::vector<Expr> indices(w.indices->begin(), w.indices->end());
    for (const VarNode* v : w.space->dependencies(indices)) {
      if (v != fact.loop->var.get()) { continue; }
      may_race(fact, w.origin, w.buffer->name.view(), {}, fmt::format("make `{}` serial, or give each iteration a part of its own and add them up afterwards", fact.loop->var->name.view()));
      return true;
    }
    return false;
  }

  /// `other`: the place of the other access; unknown: the same.
  void may_race(const LoopFact& fact, Origin where, std::string_view buffer, Origin other, std::string remedy) {
    Diagnostic d = error(Code::PossibleRace, where).arg("kind", kind_name(*fact.loop)).arg("loop", fact.loop->var->name.view()).arg("buffer", buffer);
    if (other.is_known()) { (void)std::move(d).note(other, "the other access is here"); }
    (void)std::move(d).note(subject_.header(*fact.loop), tried_.empty() ? std::string("the loop is here") : fmt::format("the loop is here; {}, for example", tried_), fact.loop->id)
        .remedy(std::move(remedy));
    subject_.report(std::move(d));
  }

  static auto element_text(const Access& a, const std::vector<int64_t>& element) -> std::string {
    return fmt::format("{}[{}]", a.buffer->name.view(), element.empty() ? "()" : fmt::format("{}", fmt::join(element, ", ")));
  }

  void report(const LoopFact& fact, const Access& w, const Access& other, int64_t a, int64_t b, const std::vector<int64_t>& element) {
    const std::string loop = fact.loop->var->name.str();
    if (!tried_.empty()) {
      may_race(fact, w.origin, w.buffer->name.view(), other.origin == w.origin ? Origin() : other.origin, fmt::format("make `{}` serial (`T.serial`), or assert that the parameter has another value", loop));
      return;
    }
    Diagnostic d = error(Code::DataRace, w.origin).arg("kind", kind_name(*fact.loop)).arg("loop", loop)
                       .arg("element", element_text(w, element))
                       .arg("first", a).arg("second", b).arg("what", other.is_write ? "both write" : "one writes and the other reads");
    if (!(other.origin == w.origin)) { (void)std::move(d).note(other.origin, other.is_write ? "it is also written here" : "it is read here"); }
    (void)std::move(d).note(subject_.header(*fact.loop), fmt::format("`{}` is a {} loop", loop, kind_name(*fact.loop)), fact.loop->id);
    if (!samples_.items().empty() && evaluate(fact.loop->extent, {}) == std::nullopt) {
      (void)std::move(d).note(subject_.header(*fact.loop), fmt::format("tried with sizes of {}", sample));
    }
    bool accumulates = false;
    std::vector<Expr> indices(w.indices->begin(), w.indices->end());
    std::vector<const VarNode*> vars = w.space->dependencies(indices);
    bool everywhere = std::find(vars.begin(), vars.end(), fact.loop->var.get()) == vars.end();
    for (size_t i = fact.begin; i < fact.end; ++i) {
      const Access& r = facts_.accesses[i];
      if (!w.store || r.is_write || r.store != w.store || r.buffer != w.buffer || r.indices->size() != w.indices->size()) { continue; }
      bool same = true;
      for (size_t k = 0; k < r.indices->size(); ++k) { same = same && arith::deep_equal((*r.indices)[k], (*w.indices)[k]); }
      accumulates |= same;
    }
    if (accumulates && everywhere) {
      (void)std::move(d).remedy(fmt::format("all iterations of `{}` add to the same elements: keep it serial and run another loop in parallel, or give each part a result of its own with `sch.rfactor`", loop));
    } else if (facts_.is_allocated(facts_.memory(*w.buffer))) {
      (void)std::move(d).remedy(fmt::format("make `{}` serial (`T.serial`), or let each iteration store every element of `{}` before it loads it", loop, w.buffer->name.view()));
    } else if (!other.is_write && !accumulates) {
      (void)std::move(d).remedy(fmt::format("make `{}` serial (`T.serial`), or write to another buffer than is read", loop));
    } else {
      (void)std::move(d).remedy(fmt::format("make `{}` serial (`T.serial`), or let each iteration write elements of its own", loop));
    }
    subject_.report(std::move(d));
  }

  Subject& subject_;
  const Facts& facts_;
  int64_t rewrite_steps_ = most_rewrite_steps;
  Numbers samples_;
  std::string tried_;                     // "`k` is 1": the sample is one of small numbers; empty: it is `sample`
  std::set<const VarNode*> scalars_;      // parameters that are no sizes
  std::map<const VarNode*, size_t> uses_;
  std::vector<Access> accesses_;          // those of the facts, in terms of the sources of views
  std::map<size_t, Access> copies_;       // by the number of the pointer
  std::deque<Array<Expr>> made_;          // indices that no statement has
  std::vector<const Access*> in_;         // the accesses in the loop that is checked
  std::set<const For*> reported_;         // loops that a jump makes serial or wrong
};

}  // namespace

void check_races(Subject& subject) {
  Races(subject).run();
}

}  // namespace loopsmith::analysis
