// Accessed parts of buffers: see regions.h.
#include "tune/metaschedule/features/regions.h"

#include <algorithm>
#include <optional>

#include "arith/int_set.h"
#include "ir/ops.h"
#include "ir/vocabulary.h"
#include "support/saturate.h"
#include "tune/metaschedule/features/walk.h"

namespace loopsmith::tune::metaschedule {
namespace {

using arith::IntSet;

// The values base + low .. base + high of an index, where no loop within the allocation occurs in `base`; null: the base is 0.
struct Shifted {
  Expr base;
  int64_t low = 0, high = 0;
};

// An index as a sum of relaxed loops times constants and of terms without such loops: its values need no proof.
class ReadShifted {
 public:
  explicit ReadShifted(const std::vector<std::pair<Var, Range>>& relaxed) : relaxed_(relaxed) {}
  [[nodiscard]] auto read(const Expr& index) -> std::optional<Shifted> {
    if (!add(index, 1)) { return {}; }
    return std::move(out_);
  }

 private:
  [[nodiscard]] auto is_relaxed(const VarNode& var) const -> const Range* {
    auto found = std::find_if(relaxed_.begin(), relaxed_.end(), [&](const auto& r) { return r.first.get() == &var; });
    return found == relaxed_.end() ? nullptr : &found->second;
  }
  auto add(const Expr& e, int64_t factor) -> bool {
    if (auto number = as_int(e)) {
      shift(saturating_mul(*number, factor), saturating_mul(*number, factor));
      return true;
    }
    if (const auto* sum = e.as<Add>()) { return add(sum->a, factor) && add(sum->b, factor); }
    if (const auto* difference = e.as<Sub>()) { return add(difference->a, factor) && add(difference->b, -factor); }
    const auto* product = e.as<Mul>();
    auto scale = product ? as_int(product->b) : std::nullopt;
    if (scale) { return add(product->a, saturating_mul(factor, *scale)); }
    if (!uses_var(e, [&](const VarNode& v) { return is_relaxed(v) != nullptr; })) {
      Expr term = factor == 1 ? e : mul(e, constant_int(e.dtype(), factor));
      out_.base = out_.base ? loopsmith::add(out_.base, term) : term;
      return true;
    }
    return add_digit(e, factor);
  }
  // A loop, or a digit of it: terms of one loop are all at their largest in its last iteration, so their largest values add up. Factors below 0 move the other way.
  auto add_digit(const Expr& e, int64_t factor) -> bool {
    auto count = values_of(e);
    if (!count || factor < 1) { return false; }
    shift(0, saturating_mul(*count - 1, factor));
    return true;
  }
  // The number of values 0, 1, ... that a loop, its quotient or its remainder runs through, where the divisors divide its extent; else none.
  [[nodiscard]] auto values_of(const Expr& e) const -> std::optional<int64_t> {
    if (const auto* var = e.as<VarNode>()) {
      const Range* range = is_relaxed(*var);
      auto extent = range && is_zero(range->min) ? as_int(range->extent) : std::nullopt;
      return extent && *extent > 0 ? extent : std::nullopt;
    }
    // A fused loop that was split again: outer * length + inner.
    if (const auto* sum = e.as<Add>()) {
      const auto* outer = sum->a.as<Mul>();
      auto length = outer ? as_int(outer->b) : std::nullopt;
      auto blocks = length ? values_of(outer->a) : std::nullopt, inner = blocks ? values_of(sum->b) : std::nullopt;
      return inner && *inner == *length ? std::optional(saturating_mul(*blocks, *inner)) : std::nullopt;
    }
    const auto* quotient = e.as<FloorDiv>();
    const auto* remainder = e.as<FloorMod>();
    auto divisor = quotient ? as_int(quotient->b) : remainder ? as_int(remainder->b) : std::nullopt;
    if (!divisor || *divisor < 1) { return {}; }
    auto inner = values_of(quotient ? quotient->a : remainder->a);
    if (!inner || *inner % *divisor != 0) { return {}; }
    return quotient ? *inner / *divisor : *divisor;
  }
  void shift(int64_t low, int64_t high) {
    out_.low = saturating_add(out_.low, low);
    out_.high = saturating_add(out_.high, high);
  }

  const std::vector<std::pair<Var, Range>>& relaxed_;
  Shifted out_;
};

auto is_same_base(const Shifted& a, const Shifted& b) -> bool {
  return a.base && b.base ? a.base.same_as(b.base) || arith::deep_equal(a.base, b.base) : !a.base && !b.base;
}

auto as_set(const Shifted& values, DataType type) -> IntSet {
  const auto end = [&](int64_t shift) { return values.base ? values.base + constant_int(type, shift) : constant_int(type, shift); };
  return IntSet::interval(end(values.low), end(values.high));
}

struct Access {
  size_t depth = 0;                   // loops around the allocation
  std::vector<Shifted> simple;        // the region so far, while all accesses are simple
  std::vector<IntSet> region;         // so far, else; both are empty: not accessed yet
  // The last access: a store and the load in its value often touch the same element, and its region is estimated once.
  std::vector<Expr> last_indices = {};
  std::vector<const For*> last_loops = {};
  std::vector<Expr> last_conditions = {};
};

// Memory that threads share holds the elements of all threads: bound loops around the allocation count too.
auto is_shared_over(const For& loop, const Buffer& buffer) -> bool {
  if (loop.for_kind != ForKind::ThreadBinding || !loop.thread) { return false; }
  auto axis = thread_axis(loop.thread->thread_tag.view());
  if (!axis) { return false; }
  switch (memory_family(buffer->scope().view()).value_or(MemoryFamily::Local)) {
    case MemoryFamily::Global: return true;
    case MemoryFamily::Shared: return axis->family != ThreadFamily::Block;
    case MemoryFamily::Warp: return axis->family == ThreadFamily::Thread && axis->dimension == 0;
    default: return false;
  }
}

class FindRegions : public Walk {
 public:
  using Walk::on;
  using Walk::Walk;
  Compacted out;

  void on(const BufferStore& n) override {
    Visitor::on(n);
    access(n.buffer, n.indices);
  }
  void on(const BufferLoad& n) override {
    access(n.buffer, n.indices);
    Visitor::on(n);
  }
  void on(const VarNode& n) override {
    auto known = by_data_.find(&n);
    if (known != by_data_.end()) { access(known->second, full_region(known->second).region); }
  }
  void on(const IfThenElse& n) override {
    Expr condition = outside_blocks(n.condition);
    visit(n.condition);
    under(condition, n.then_case);
    if (n.else_case) { under(logical_not(condition), n.else_case); }
  }
  void on(const Call& n) override {
    if (n.op != "if_then_else" || n.args.size() != 3) { return Visitor::on(n); }
    visit(n.args[0]);
    Expr condition = outside_blocks(n.args[0]);
    conditions_.push_back(condition);
    visit(n.args[1]);
    conditions_.back() = logical_not(condition);
    visit(n.args[2]);
    conditions_.pop_back();
  }

 protected:
  void enter_loop(const For& n) override {
    unbound_.emplace_back(n.var, Range{n.min, n.extent});
    auto min = as_int(n.min), extent = as_int(n.extent);
    if (min && extent) { bounds_.update_bound(n.var, {*min, *min + *extent - 1}); }
  }
  void enter_allocation(const Buffer& buffer) override {
    accesses_[buffer.get()] = {nest_.loops.size(), {}, {}};
    by_data_[buffer->data.get()] = buffer;
  }
  void leave_allocation(const Buffer& buffer) override {
    out[buffer.get()] = narrowed(buffer, accesses_[buffer.get()]);
    by_data_.erase(buffer->data.get());
  }
  void view(const Buffer& source, const Array<Range>& region) override { access(source, region); }

 private:
  void access(const Buffer& buffer, const Array<Expr>& indices) {
    auto known = accesses_.find(buffer.get());
    if (known == accesses_.end()) { return; }
    std::vector<Expr> here;
    for (const Expr& index : indices) { here.push_back(outside_blocks(index)); }
    Access& last = known->second;
    const auto is_same = [](const Expr& a, const Expr& b) { return a.same_as(b) || arith::deep_equal(a, b); };
    const bool is_again = std::equal(here.begin(), here.end(), last.last_indices.begin(), last.last_indices.end(), is_same) && nest_.loops == last.last_loops &&
                          std::equal(conditions_.begin(), conditions_.end(), last.last_conditions.begin(), last.last_conditions.end(), is_same);
    if (is_again && (!last.region.empty() || !last.simple.empty())) { return; }
    last.last_loops = nest_.loops;
    last.last_conditions = conditions_;
    last.last_indices = here;
    if (add_simple(buffer, here, last)) { return; }
    std::vector<Range> region;
    for (const Expr& index : here) { region.push_back(point(index)); }
    access(buffer, Array<Range>(std::move(region)));
  }
  [[nodiscard]] auto relaxed_loops(const Buffer& buffer, const Access& found) const -> std::vector<std::pair<Var, Range>> {
    std::vector<std::pair<Var, Range>> relaxed;
    for (size_t i = 0; i < nest_.loops.size(); ++i) {
      const For& loop = *nest_.loops[i];
      if (i >= found.depth || is_shared_over(loop, buffer)) { relaxed.emplace_back(loop.var, Range{loop.min, loop.extent}); }
    }
    return relaxed;
  }
  // True where the region needs no proof: sums of loops, without conditions, that differ from those so far by constants.
  auto add_simple(const Buffer& buffer, const std::vector<Expr>& indices, Access& found) -> bool {
    if (!conditions_.empty() || !found.region.empty()) { return false; }
    const std::vector<std::pair<Var, Range>> relaxed = relaxed_loops(buffer, found);
    std::vector<Shifted> read;
    for (size_t i = 0; i < indices.size(); ++i) {
      auto values = ReadShifted(relaxed).read(indices[i]);
      if (!values || (!found.simple.empty() && !is_same_base(*values, found.simple[i]))) { return false; }
      read.push_back(std::move(*values));
    }
    for (size_t i = 0; i < found.simple.size(); ++i) {
      read[i].low = std::min(read[i].low, found.simple[i].low);
      read[i].high = std::max(read[i].high, found.simple[i].high);
    }
    found.simple = std::move(read);
    return true;
  }
  // From now on the region of the buffer is proved.
  static void leave_simple(const Buffer& buffer, Access& found) {
    for (size_t i = 0; i < found.simple.size(); ++i) { found.region.push_back(as_set(found.simple[i], buffer->shape[i].dtype())); }
    found.simple.clear();
  }
  void access(const Buffer& buffer, const Array<Range>& region) {
    auto known = accesses_.find(buffer.get());
    if (known == accesses_.end()) { return; }
    Access& found = known->second;
    leave_simple(buffer, found);
    const std::vector<std::pair<Var, Range>> relaxed = relaxed_loops(buffer, found);
    Expr predicate = bool_imm(true);
    for (const Expr& condition : conditions_) { predicate = is_one(predicate) ? condition : logical_and(predicate, condition); }
    std::vector<IntSet> sets = arith::estimate_region_upper_bound(region, relaxed, predicate, analyzer());
    if (found.region.empty()) {
      found.region = std::move(sets);
      return;
    }
    for (size_t i = 0; i < sets.size(); ++i) { found.region[i] = arith::union_of({found.region[i], sets[i]}); }
  }
  // The regions of simple accesses that lie within the buffer; none where this needs a proof.
  auto narrowed_simple(const Buffer& buffer, const Access& found) -> std::optional<std::vector<Range>> {
    std::vector<Range> ranges;
    for (size_t i = 0; i < found.simple.size(); ++i) {
      const Shifted& values = found.simple[i];
      auto length = as_int(buffer->shape[i]);
      const arith::ConstIntBound bound = values.base ? bounds_.const_int_bound(values.base) : arith::ConstIntBound{0, 0};
      if (!length || bound.min == arith::ConstIntBound::neg_inf || bound.max == arith::ConstIntBound::pos_inf) { return {}; }
      if (saturating_add(bound.min, values.low) < 0 || saturating_add(bound.max, values.high) >= *length) { return {}; }
      const DataType type = buffer->shape[i].dtype();
      const Expr begin = !values.base ? constant_int(type, values.low) : values.low == 0 ? values.base : values.base + constant_int(type, values.low);
      ranges.push_back({begin, constant_int(type, values.high - values.low + 1)});
    }
    return ranges;
  }
  auto narrowed(const Buffer& buffer, Access& found) -> std::vector<Range> {
    if (found.simple.size() == buffer->shape.size()) {
      if (auto ranges = narrowed_simple(buffer, found)) { return std::move(*ranges); }
    }
    leave_simple(buffer, found);
    std::vector<Range> ranges;
    arith::Analyzer& prover = analyzer();
    for (size_t i = 0; i < buffer->shape.size(); ++i) {
      const Expr& shape = buffer->shape[i];
      if (i >= found.region.size()) {
        ranges.push_back(from_zero(shape));
        continue;
      }
      Range range = found.region[i].cover_range(from_zero(shape));
      Expr begin = prover.simplify(max(zero(shape.dtype()), range.min));
      Expr extent = prover.simplify(min(shape, range.min + range.extent) - begin);
      if (!as_int(extent)) {
        arith::ConstIntBound bound = prover.const_int_bound(extent);
        if (bound.max == arith::ConstIntBound::pos_inf) {
          ranges.push_back(from_zero(shape));
          continue;
        }
        extent = constant_int(shape.dtype(), bound.max);
      }
      ranges.push_back({begin, extent});
    }
    return ranges;
  }

  // Knows the loops so far.
  auto analyzer() -> arith::Analyzer& {
    for (const auto& [var, range] : unbound_) { analyzer_.bind(var, range, true); }
    unbound_.clear();
    return analyzer_;
  }

  arith::Analyzer analyzer_;
  std::vector<std::pair<Var, Range>> unbound_;
  arith::Analyzer bounds_;          // only the ends of loops
  std::unordered_map<const BufferNode*, Access> accesses_;
  std::unordered_map<const VarNode*, Buffer> by_data_;
};

}  // namespace

auto find_regions(const PrimFunc& func, const AllocationsByPlace& allocations) -> Compacted {
  FindRegions find(allocations);
  find.visit(func->body);
  return std::move(find.out);
}

}  // namespace loopsmith::tune::metaschedule
