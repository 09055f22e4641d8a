// Computes the words and sectors that the threads of each warp touch: see banks.h.
#include "cost/banks.h"

#include <algorithm>
#include <array>
#include <set>
#include <tuple>

#include "arith/analyzer.h"
#include "ir/evaluate.h"
#include "ir/ops.h"
#include "ir/printer.h"
#include "ir/visitor.h"
#include "ir/vocabulary.h"
#include "support/saturate.h"

namespace loopsmith::cost {
namespace {

constexpr int64_t banks = 32;
constexpr int64_t bank_bytes = 4;
constexpr int64_t warp = 32;
constexpr int64_t sector_bytes = 32;
constexpr int64_t most_threads = 1024;           // of a block
constexpr int64_t most_evaluations = 1 << 15;    // the limit for each access, over threads and iterations

struct Around {
  Var var;
  int64_t min = 0, extent = 1;
  int axis = -1;                                 // 0, 1, 2: threadIdx.x, y, z
  bool is_block = false;                         // blockIdx
  bool is_vector = false;
};

struct Condition { Expr expr; bool holds = true; };

class Walker {
 public:
  Walker(const PrimFunc& function, const Buffer& buffer, const std::vector<Alignment>& alignments) : buffer_(buffer), is_global_(is_global_memory(buffer->scope().view())) {
    // All threads of the block execute an access, even if the loops around it are not bound to all axes.
    post_order(function->body, [&](const Stmt& stmt) {
      if (const auto* loop = stmt.as<For>(); loop != nullptr && loop->thread) { count(loop->thread->thread_tag.view(), loop->extent); }
      if (const auto* attr = stmt.as<AttrStmt>(); attr != nullptr && std::holds_alternative<IterVar>(attr->node)) { count(std::get<IterVar>(attr->node).thread_tag.view(), attr->value); }
    }, [](const Expr&) {});
    std::vector<Expr> strides(buffer->strides.begin(), buffer->strides.end());
    if (strides.empty()) {
      Expr below = int_imm(1);
      strides.resize(buffer->shape.size());
      for (size_t d = strides.size(); d-- > 0;) {
        for (const Alignment& one : alignments) {
          auto number = as_int(below);
          if (one.axis != static_cast<int64_t>(d) || one.factor <= 0 || !number) { continue; }
          int64_t over = (one.factor + one.offset % one.factor - *number % one.factor) % one.factor;
          below = int_imm(*number + over);
        }
        strides[d] = below;
        below = analyzer_.simplify(mul(cast(DataType::int_(64), buffer->shape[d]), cast(DataType::int_(64), below)));
      }
    }
    for (const Expr& stride : strides) { strides_.push_back(as_int(stride)); }
  }

  std::vector<BankUse> uses;

  void walk(const Stmt& stmt) {
    switch (stmt->kind) {
      case NodeKind::For: {
        const auto& loop = static_cast<const For&>(*stmt);
        loads(loop.extent);
        enter(loop.var, loop.min, loop.extent, loop.thread ? loop.thread->thread_tag.view() : std::string_view(), loop.for_kind == ForKind::Vectorized);
        walk(loop.body);
        around_.pop_back();
        return;
      }
      case NodeKind::AttrStmt: {
        const auto& attr = static_cast<const AttrStmt&>(*stmt);
        const auto* iter = std::get_if<IterVar>(&attr.node);
        bool is_thread = iter != nullptr && !iter->thread_tag.empty() && iter->var;
        if (is_thread) { enter(iter->var, int_imm(0), attr.value, iter->thread_tag.view(), false); }
        walk(attr.body);
        if (is_thread) { around_.pop_back(); }
        return;
      }
      case NodeKind::IfThenElse: {
        const auto& branch = static_cast<const IfThenElse&>(*stmt);
        loads(branch.condition);
        conditions_.push_back({substitute(branch.condition, bindings_), true});
        walk(branch.then_case);
        conditions_.back().holds = false;
        if (branch.else_case) { walk(branch.else_case); }
        conditions_.pop_back();
        return;
      }
      case NodeKind::BlockRealize: {
        const auto& realize = static_cast<const BlockRealize&>(*stmt);
        for (size_t i = 0; i < realize.iter_values.size(); ++i) { bindings_.insert_or_assign(realize.block->iter_vars[i].var.get(), substitute(realize.iter_values[i], bindings_)); }
        conditions_.push_back({substitute(realize.predicate, bindings_), true});
        if (realize.block->init) { walk(realize.block->init); }
        walk(realize.block->body);
        conditions_.pop_back();
        return;
      }
      case NodeKind::BufferStore: {
        const auto& store = static_cast<const BufferStore&>(*stmt);
        loads(store.value);
        for (const Expr& index : store.indices) { loads(index); }
        if (store.buffer.same_as(buffer_)) { note(store.indices, true, store.origin); }
        return;
      }
      default: visit_children(stmt, [&](const Expr& expr) { loads(expr); }, [&](const Stmt& child) { walk(child); });
    }
  }

 private:
  static auto axis_of(std::string_view tag) -> int {
    auto axis = thread_axis(tag);
    return axis && axis->family == ThreadFamily::Thread ? axis->dimension : -1;
  }

  void count(std::string_view tag, const Expr& extent) {
    if (int axis = axis_of(tag); axis >= 0) { extents_[static_cast<size_t>(axis)] = std::max(extents_[static_cast<size_t>(axis)], as_int(extent).value_or(1)); }
  }

  void enter(const Var& var, const Expr& min, const Expr& extent, std::string_view tag, bool is_vector) {
    Around one{var, as_int(min).value_or(0), as_int(extent).value_or(0), axis_of(tag), is_block_axis(tag), is_vector};
    around_.push_back(std::move(one));
  }

  void loads(const Expr& expr) {
    if (const auto* load = expr.as<BufferLoad>(); load != nullptr && load->buffer.same_as(buffer_)) { note(load->indices, false, load->origin); }
    visit_children(expr, [&](const Expr& child) { loads(child); });
  }

  void note(const Array<Expr>& written, bool is_write, Origin origin) {
    if (std::none_of(around_.begin(), around_.end(), [](const Around& one) { return one.axis >= 0; })) { return; }
    BankUse use;
    use.access = buffer_->name.str() + "[";
    use.is_write = is_write;
    use.origin = origin;
    std::vector<Expr> indices;
    Expr offset = constant_int(DataType::int_(64), 0);
    for (size_t d = 0; d < written.size(); ++d) {
      Expr index = substitute(written[d], bindings_);
      use.access += (d == 0 ? "" : ", ") + print_script(analyzer_.simplify(index));
      use.is_known = use.is_known && index.dtype().lanes == 1 && d < strides_.size() && strides_[d].has_value();
      if (use.is_known) { offset = add(offset, mul(cast(DataType::int_(64), index), constant_int(DataType::int_(64), *strides_[d]))); }
    }
    use.access += "]";
    if (use.is_known) { measure(analyzer_.simplify(offset), use); }
    auto same = std::find_if(uses.begin(), uses.end(), [&](const BankUse& one) { return one.access == use.access && one.is_write == use.is_write; });
    if (same == uses.end()) { uses.push_back(std::move(use)); return; }
    same->ways = std::max(same->ways, use.ways);
    if (use.sectors - use.least_sectors > same->sectors - same->least_sectors) { std::tie(same->sectors, same->least_sectors) = std::pair(use.sectors, use.least_sectors); }
    same->is_known = same->is_known && use.is_known;
    same->is_whole = same->is_whole && use.is_whole;
  }

  void measure(const Expr& offset, BankUse& use) {
    std::array<const Around*, 3> axes{};
    std::vector<const Around*> others;           // loops whose iterations are examined one after the other
    std::vector<const Around*> lanes;
    auto uses_in = [](const Expr& expr, const Around& one) { return uses_var(expr, [&](const VarNode& v) { return &v == one.var.get(); }); };
    Valuation values;
    VarMap first;
    for (const Around& one : around_) {
      bool matters = uses_in(offset, one) || std::any_of(conditions_.begin(), conditions_.end(), [&](const Condition& c) { return uses_in(c.expr, one); });
      if (one.axis >= 0) { axes[static_cast<size_t>(one.axis)] = &one; }
      if (matters && one.extent <= 0) { use.is_known = false; return; }
      values.emplace_back(one.var.get(), one.min);
      if (one.axis < 0 && matters && !one.is_block) { (one.is_vector ? lanes : others).push_back(&one); }
      if (one.axis < 0) { first.emplace(one.var.get(), constant_int(one.var->dtype, one.min)); }
      // Each block of the grid has its own memory; the first block stands for all.
    }
    // A thread fetches neighbouring elements of a vectorized loop together, up to 16 bytes.
    int64_t bytes = buffer_->dtype.element_bytes();
    int64_t width = bytes;
    for (const Around* lane : lanes) {
      bool is_together = lane == lanes.back() && bytes * lane->extent <= 16 &&
                         std::none_of(conditions_.begin(), conditions_.end(), [&](const Condition& c) { return uses_in(c.expr, *lane); }) &&
                         are_neighbours(offset, *lane, axes, others, values);
      if (is_together) { width = bytes * lane->extent; } else { others.push_back(lane); }
    }
    int64_t threads = 1;
    for (int64_t extent : extents_) { threads = saturating_mul(threads, extent); }
    if (threads <= 0 || threads > most_threads) { use.is_known = false; return; }
    // Iterations that shift all threads by whole words have the same conflicts.
    Expr moved = analyzer_.simplify(sub(offset, substitute(offset, first)));
    auto is_thread = [&](const VarNode& v) { return std::any_of(axes.begin(), axes.end(), [&](const Around* axis) { return axis != nullptr && axis->var.get() == &v; }); };
    bool decides = std::any_of(conditions_.begin(), conditions_.end(), [&](const Condition& c) {
      return std::any_of(others.begin(), others.end(), [&](const Around* one) { return uses_in(c.expr, *one); });
    });
    if (!decides && bytes % bank_bytes == 0 && width == bytes && !is_global_ && !uses_var(moved, is_thread)) { others.clear(); }
    std::vector<int64_t> extents;
    int64_t combinations = 1;
    for (const Around* one : others) {
      int64_t some = std::clamp<int64_t>(most_evaluations / threads / combinations, 1, one->extent);
      use.is_whole = use.is_whole && some == one->extent;
      extents.push_back(some);
      combinations *= some;
    }
    for (int64_t at = 0; at < combinations; ++at) {
      int64_t rest = at;
      for (size_t i = 0; i < others.size(); ++i) {
        set(values, *others[i], others[i]->min + rest % extents[i]);
        rest /= extents[i];
      }
      bool is_known = is_global_ ? sectors_of(offset, axes, threads, bytes, width, values, use) : conflicts_of(offset, axes, threads, bytes, width, values, use);
      if (!is_known) { return; }
    }
  }

  /// True when the iterations of a vectorized loop access neighbouring elements, the first at a multiple of their number, for every thread: in the first and in the
  /// last iteration of the loops around. Numbers decide, because an index with quotients hides it: `(t * 4 + v) // 64`.
  auto are_neighbours(const Expr& offset, const Around& lane, const std::array<const Around*, 3>& axes, const std::vector<const Around*>& others, Valuation values) const -> bool {
    int64_t threads = 1;
    for (int64_t extent : extents_) { threads = saturating_mul(threads, extent); }
    if (threads > most_threads || threads * lane.extent > most_evaluations) { return false; }
    for (bool is_last : {false, true}) {
      for (const Around* one : others) { set(values, *one, one->min + (is_last ? one->extent - 1 : 0)); }
      for (int64_t thread = 0; thread < threads; ++thread) {
        int64_t rest = thread;
        for (size_t i = 0; i < axes.size(); ++i) {
          if (axes[i] != nullptr) { set(values, *axes[i], axes[i]->min + std::min(rest % extents_[i], axes[i]->extent - 1)); }
          rest /= extents_[i];
        }
        set(values, lane, lane.min);
        const auto first = evaluate_integer(offset, values);
        if (!first || *first % lane.extent != 0) { return false; }
        for (int64_t i = 1; i < lane.extent; ++i) {
          set(values, lane, lane.min + i);
          if (evaluate_integer(offset, values) != *first + i) { return false; }
        }
      }
    }
    return true;
  }

  static void set(Valuation& values, const Around& one, int64_t value) {
    for (auto& [var, number] : values) {
      if (var == one.var.get()) { number = value; }
    }
  }

  /// Calls `begin` for each thread, and `touch` with the element of each thread that takes part in one iteration. False: an element is unknown.
  template <class Begin, class Touch>
  auto each_thread(const Expr& offset, const std::array<const Around*, 3>& axes, int64_t threads, Valuation& values, BankUse& use, const Begin& begin, const Touch& touch) const -> bool {
    for (int64_t thread = 0; thread < threads; ++thread) {
      begin(thread);
      int64_t rest = thread;
      bool is_active = true;
      for (size_t i = 0; i < axes.size(); ++i) {
        int64_t at = rest % extents_[i];
        rest /= extents_[i];
        if (axes[i] == nullptr) { continue; }
        set(values, *axes[i], axes[i]->min + at);
        is_active = is_active && at < axes[i]->extent;
      }
      for (const Condition& condition : conditions_) {
        if (is_one(condition.expr)) { continue; }
        auto holds = evaluate_integer(condition.expr, values);
        // A condition on the contents of buffers counts as true for all threads.
        if (holds && (*holds != 0) != condition.holds) { is_active = false; }
      }
      if (!is_active) { continue; }
      auto element = evaluate_integer(offset, values);
      if (!element || *element < 0 || *element > (int64_t{1} << 56)) { use.is_known = false; return false; }
      touch(*element);
    }
    return true;
  }

  /// The conflicts of all threads in one iteration.
  auto conflicts_of(const Expr& offset, const std::array<const Around*, 3>& axes, int64_t threads, int64_t bytes, int64_t width, Valuation& values, BankUse& use) const -> bool {
    int64_t together = width <= bank_bytes ? warp : std::max<int64_t>(1, banks * bank_bytes / width);
    std::array<std::set<int64_t>, banks> words;
    auto begin = [&](int64_t thread) {
      if (thread % together != 0 && thread % warp != 0) { return; }
      for (auto& bank : words) { bank.clear(); }
    };
    return each_thread(offset, axes, threads, values, use, begin, [&](int64_t element) {
      for (int64_t word = element * bytes / bank_bytes; word <= (element * bytes + width - 1) / bank_bytes; ++word) {
        auto& bank = words[static_cast<size_t>(word % banks)];
        bank.insert(word);
        use.ways = std::max(use.ways, static_cast<int64_t>(bank.size()));
      }
    });
  }

  /// The sectors of each warp in one iteration.
  auto sectors_of(const Expr& offset, const std::array<const Around*, 3>& axes, int64_t threads, int64_t bytes, int64_t width, Valuation& values, BankUse& use) const -> bool {
    std::set<int64_t> sectors, elements;
    auto finish = [&] {
      auto count = static_cast<int64_t>(sectors.size());
      int64_t least = (static_cast<int64_t>(elements.size()) * width + sector_bytes - 1) / sector_bytes;
      if (use.sectors == 0 || count - least > use.sectors - use.least_sectors) { std::tie(use.sectors, use.least_sectors) = std::pair(count, least); }
      sectors.clear();
      elements.clear();
    };
    auto begin = [&](int64_t thread) { if (thread % warp == 0 && !elements.empty()) { finish(); } };
    bool is_known = each_thread(offset, axes, threads, values, use, begin, [&](int64_t element) {
      elements.insert(element);
      for (int64_t sector = element * bytes / sector_bytes; sector <= (element * bytes + width - 1) / sector_bytes; ++sector) { sectors.insert(sector); }
    });
    if (!elements.empty()) { finish(); }
    return is_known;
  }

  Buffer buffer_;
  bool is_global_;                               // otherwise it is in shared memory
  std::array<int64_t, 3> extents_{1, 1, 1};      // of threadIdx.x, y, z
  std::vector<std::optional<int64_t>> strides_;
  std::vector<Around> around_;
  std::vector<Condition> conditions_;
  VarMap bindings_;
  arith::Analyzer analyzer_;
};

}  // namespace

auto bank_uses(const PrimFunc& function, const Buffer& buffer, const std::vector<Alignment>& alignments) -> std::vector<BankUse> {
  Walker walker(function, buffer, alignments);
  walker.walk(function->body);
  return std::move(walker.uses);
}

}  // namespace loopsmith::cost
