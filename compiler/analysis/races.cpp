// Iterations of parallel, vectorised and thread-bound loops that touch the same element, where one of them writes it.
//
// A race is shown with numbers: the elements that two iterations touch are listed and compared. Tries pairs of neighbours, the first and the
// last iteration, and distances of powers of two; parameters count as 64. So a reported race really occurs, and races between other pairs are
// missed. Indices that are read from memory cannot be listed: a store with such indices that also reads its element *may* race, and is
// reported as a possible race.
//
// Not reported: memory that lowering makes private to each iteration (all its accesses are in the loop, or its scope is private to a
// thread), reductions across threads, shared memory that one thread reads and another writes (lowering inserts barriers), and iterations
// that write the same value to the same element.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "analysis/subject.h"
#include "arith/analyzer.h"
#include "ir/ops.h"
#include "ir/printer.h"
#include "ir/scratch.h"
#include "ir/visitor.h"
#include "ir/vocabulary.h"
#include "support/codes.h"

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
      if (p->dtype.is_integral()) { samples_.push(p.get(), sample); }
    }
    for (const auto& [param, buffer] : facts_.func->buffer_map) {
      for (const auto* exprs : {&buffer->shape, &buffer->strides}) {
        for (const Expr& e : *exprs) {
          if (const auto* v = e.as<VarNode>(); v && !samples_.find(v)) { samples_.push(v, sample); }
        }
      }
    }
    for (const Access& a : facts_.accesses) { ++uses_[facts_.memory(*a.buffer)]; }
  }

  void run() {
    for (const LoopFact& fact : facts_.loops) {
      if (subject_.cancel.is_cancelled()) { return; }
      ForKind kind = fact.loop->for_kind;
      if (kind != ForKind::Parallel && kind != ForKind::Vectorized && kind != ForKind::ThreadBinding) { continue; }
      check(fact);
    }
  }

 private:
  void check(const LoopFact& fact) {
    std::map<const VarNode*, size_t> inside;
    std::vector<const VarNode*> written;
    for (size_t i = fact.begin; i < fact.end; ++i) {
      const Access& a = facts_.accesses[i];
      const VarNode* memory = facts_.memory(*a.buffer);
      ++inside[memory];
      if (a.is_write && std::find(written.begin(), written.end(), memory) == written.end()) { written.push_back(memory); }
    }
    for (const VarNode* memory : written) {
      if (is_private(fact, memory, inside[memory])) { continue; }
      if (check_memory(fact, memory)) { return; }   // one message for each loop
    }
  }

  auto is_private(const LoopFact& fact, const VarNode* memory, size_t inside) const -> bool {
    Threads threads = threads_of(*fact.loop);
    std::string_view scope = memory->pointer ? memory->pointer->scope.view() : std::string_view();
    bool is_global = scope.empty() || scope == "global";
    bool is_shared = is_shared_memory(scope);
    if (threads == Threads::Thread && !is_global && !is_shared) { return true; }
    if (threads == Threads::Block && !is_global) { return true; }
    for (const PointerUse& p : facts_.pointers) {
      if (facts_.memory(p.data) == memory) { return true; }   // its accesses are not visible
    }
    if (!facts_.is_allocated(memory)) { return false; }
    bool all_inside = uses_.at(memory) == inside && (in_blocks(fact, memory) == inside || scratch_use(*fact.loop, memory).is_scratch);
    // All threads see shared memory, at any place of its declaration.
    if (threads == Threads::Thread && is_shared) { return false; }
    return all_inside;
  }

  /// The number of accesses to the memory in blocks below the loop. Lowering gives each iteration a copy of buffers that only such blocks access.
  auto in_blocks(const LoopFact& fact, const VarNode* memory) const -> size_t {
    std::set<const Block*> below;
    post_order(fact.loop->body, [&](const Stmt& s) { if (const auto* block = s.as<Block>()) { below.insert(block); } }, [](const Expr&) {});
    size_t out = 0, counted_to = fact.begin;
    for (const BlockFact& b : facts_.blocks) {
      if (!below.contains(b.block) || b.end <= counted_to) { continue; }
      for (size_t i = std::max(b.begin, counted_to); i < b.end; ++i) { out += facts_.memory(*facts_.accesses[i].buffer) == memory ? 1 : 0; }
      counted_to = b.end;
    }
    return out;
  }

  static auto is_reduction_across_threads(const LoopFact& fact, const Access& a, const Facts& facts) -> bool {
    if (fact.loop->for_kind != ForKind::ThreadBinding || !a.store) { return false; }
    for (const BlockFact& b : facts.blocks) {
      if (!b.block->init || &a < &facts.accesses[b.begin] || &a >= facts.accesses.data() + b.end) { continue; }
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
    for (size_t i = fact.begin; i < fact.end; ++i) {
      const Access& w = facts_.accesses[i];
      if (w.in_init != inits) { continue; }
      // Does not list accesses through views.
      if (!w.is_write || w.buffer->data.get() != memory || !w.is_certain || w.is_masked) { continue; }
      if (is_reduction_across_threads(fact, w, facts_)) { continue; }
      for (size_t j = fact.begin; j < fact.end; ++j) {
        const Access& other = facts_.accesses[j];
        if (other.buffer != w.buffer || !other.is_certain || other.is_masked || other.indices->size() != w.indices->size()) { continue; }
        if (other.is_write && j < i && other.in_init == inits) { continue; }
        // Barriers order the reads and writes of threads that share memory, except within one statement.
        if (!other.is_write && threads == Threads::Thread && other.store != w.store) { continue; }
        if (is_reduction_across_threads(fact, other, facts_)) { continue; }
        if (collide(fact, w, other)) { return true; }
      }
      if (may_collide(fact, w)) { return true; }
    }
    return false;
  }

  struct Touched { std::vector<int64_t> element; Numbers numbers; };

  auto elements(const LoopFact& fact, const Access& a, int64_t value) -> std::optional<std::vector<Touched>> {
    std::vector<Touched> out;
    Numbers fixed = samples_;
    fixed.push(fact.loop->var.get(), value);
    std::vector<Expr> relevant(a.indices->begin(), a.indices->end());
    bool known = true;
    (void)a.space->witness(relevant, subject_.budget, [&](const Numbers& n) {
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
        out.push_back({at, n});
        // A buffer without dimensions has one element, and no index to move.
        if (!at.empty() && __builtin_add_overflow(at.back(), step, &at.back())) { break; }
      }
      return out.size() >= most_elements;
    }, fixed);
    if (!known) { return {}; }
    return out;
  }

  auto collide(const LoopFact& fact, const Access& w, const Access& other) -> bool {
    auto first = evaluate_bound(fact.loop->min);
    auto extent = evaluate_bound(fact.loop->extent);
    if (!first || !extent || *extent < 2) { return false; }
    std::vector<std::pair<int64_t, int64_t>> pairs;
    int64_t last = 0;
    if (__builtin_add_overflow(*first, *extent - 1, &last)) { return false; }
    auto add = [&](int64_t a, int64_t b) {
      if (a < 0 || b < 0 || a >= *extent || b >= *extent || a == b) { return; }
      auto p = std::pair(*first + a, *first + b);
      if (std::find(pairs.begin(), pairs.end(), p) == pairs.end()) { pairs.push_back(p); }
    };
    add(0, 1);
    if (&w != &other) { add(1, 0); }
    for (int64_t d = 2; d < *extent && d <= 64; d *= 2) { add(0, d); }
    add(0, *extent - 1);
    add(*extent / 2, *extent / 2 + 1);
    if (&w != &other) { add(*extent / 2 + 1, *extent / 2); }
    std::map<int64_t, std::vector<Touched>> of_write;
    std::map<int64_t, std::vector<Touched>> of_other;
    for (const auto& [a, b] : pairs) {
      if (subject_.budget <= 0) { return false; }
      if (!of_write.contains(a)) {
        auto list = elements(fact, w, a);
        if (!list) { return false; }
        std::sort(list->begin(), list->end(), [](const Touched& x, const Touched& y) { return x.element < y.element; });
        of_write[a] = std::move(*list);
      }
      if (!of_other.contains(b)) {
        auto list = elements(fact, other, b);
        if (!list) { return false; }
        of_other[b] = std::move(*list);
      }
      const std::vector<Touched>& left = of_write[a];
      for (const Touched& t : of_other[b]) {
        auto at = std::lower_bound(left.begin(), left.end(), t, [](const Touched& x, const Touched& y) { return x.element < y.element; });
        if (at == left.end() || at->element != t.element) { continue; }
        if (other.is_write && w.store && other.store == w.store && same_value(w.store->value, at->numbers, t.numbers, facts_, facts_.memory(*w.buffer))) { continue; }
        if (other.is_write && w.store && other.store && other.store != w.store && is_same_constant(w.store->value, other.store->value)) { continue; }
        if (!other.is_write && writes_it_too(fact, w, b, *at, t)) { continue; }
        report(fact, w, other, a, b, t.element);
        return true;
      }
    }
    return false;
  }

  /// True when the reading iteration has itself written the same value to the element: then the order of the writes has no effect.
  auto writes_it_too(const LoopFact& fact, const Access& w, int64_t iteration, const Touched& written, const Touched& read) -> bool {
    if (!w.store || reads_memory(w.store->value, facts_.memory(*w.buffer))) { return false; }
    Numbers fixed = samples_;
    fixed.push(fact.loop->var.get(), iteration);
    for (size_t d = 0; d < w.indices->size(); ++d) {
      // An index that is the variable of a loop determines the variable's value: that loop is not searched.
      const VarNode* loop = loop_variable(w, (*w.indices)[d]);
      const int64_t* known = loop ? fixed.find(loop) : nullptr;
      if (known && *known != read.element[d]) { return false; }
      if (loop && !known) { fixed.push(loop, read.element[d]); }
    }
    std::vector<Expr> relevant(w.indices->begin(), w.indices->end());
    int64_t most = std::min<int64_t>(rewrite_steps_, 20000);
    int64_t left = most;
    bool found = w.space->witness(relevant, left, [&](const Numbers& n) {
      for (size_t d = 0; d < w.indices->size(); ++d) {
        auto v = evaluate((*w.indices)[d], n);
        if (!v || *v != read.element[d]) { return false; }
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
      subject_.report(error(Code::PossibleRace, w.origin).arg("kind", kind_name(*fact.loop)).arg("loop", fact.loop->var->name.view())
                          .arg("buffer", w.buffer->name.view())
                          .note(subject_.header(*fact.loop), "the loop is here", fact.loop->id)
                          .remedy(fmt::format("make `{}` serial, or give each iteration a part of its own and add them up afterwards", fact.loop->var->name.view())));
      return true;
    }
    return false;
  }

  void report(const LoopFact& fact, const Access& w, const Access& other, int64_t a, int64_t b, const std::vector<int64_t>& element) {
    std::string at;
    for (int64_t v : element) { at += (at.empty() ? "" : ", ") + std::to_string(v); }
    if (element.empty()) { at = "()"; }
    const std::string loop = fact.loop->var->name.str();
    Diagnostic d = error(Code::DataRace, w.origin).arg("kind", kind_name(*fact.loop)).arg("loop", loop)
                       .arg("element", fmt::format("{}[{}]", w.buffer->name.view(), at))
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
      if (r.is_write || r.store != w.store || r.buffer != w.buffer || r.indices->size() != w.indices->size()) { continue; }
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
  std::map<const VarNode*, size_t> uses_;
};

}  // namespace

void check_races(Subject& subject) {
  if (!subject.facts.has_jumps) { Races(subject).run(); }
}

}  // namespace loopsmith::analysis
