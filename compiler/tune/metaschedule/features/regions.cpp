// Accessed parts of buffers: see regions.h.
#include "tune/metaschedule/features/regions.h"

#include <optional>

#include "arith/int_set.h"
#include "ir/ops.h"
#include "ir/vocabulary.h"
#include "tune/metaschedule/features/walk.h"

namespace loopsmith::tune::metaschedule {
namespace {

using arith::IntSet;

struct Access {
  size_t depth = 0;                   // loops around the allocation
  std::vector<IntSet> region;         // so far; empty: not accessed yet
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
  void enter_loop(const For& n) override { analyzer_.bind(n.var, Range{n.min, n.extent}, true); }
  void enter_allocation(const Buffer& buffer) override {
    accesses_[buffer.get()] = {nest_.loops.size(), {}};
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
    if (is_again && !last.region.empty()) { return; }
    std::vector<Range> region;
    for (const Expr& index : here) { region.push_back(point(index)); }
    access(buffer, Array<Range>(std::move(region)));
    last.last_indices = std::move(here);
    last.last_loops = nest_.loops;
    last.last_conditions = conditions_;
  }
  void access(const Buffer& buffer, const Array<Range>& region) {
    auto known = accesses_.find(buffer.get());
    if (known == accesses_.end()) { return; }
    Access& found = known->second;
    std::vector<std::pair<Var, Range>> relaxed;
    for (size_t i = 0; i < nest_.loops.size(); ++i) {
      const For& loop = *nest_.loops[i];
      if (i >= found.depth || is_shared_over(loop, buffer)) { relaxed.emplace_back(loop.var, Range{loop.min, loop.extent}); }
    }
    Expr predicate = bool_imm(true);
    for (const Expr& condition : conditions_) { predicate = is_one(predicate) ? condition : logical_and(predicate, condition); }
    std::vector<IntSet> sets = arith::estimate_region_upper_bound(region, relaxed, predicate, analyzer_);
    if (found.region.empty()) {
      found.region = std::move(sets);
      return;
    }
    for (size_t i = 0; i < sets.size(); ++i) { found.region[i] = arith::union_of({found.region[i], sets[i]}); }
  }
  auto narrowed(const Buffer& buffer, const Access& found) -> std::vector<Range> {
    std::vector<Range> ranges;
    for (size_t i = 0; i < buffer->shape.size(); ++i) {
      const Expr& shape = buffer->shape[i];
      if (i >= found.region.size()) {
        ranges.push_back(from_zero(shape));
        continue;
      }
      Range range = found.region[i].cover_range(from_zero(shape));
      Expr begin = analyzer_.simplify(max(zero(shape.dtype()), range.min));
      Expr extent = analyzer_.simplify(min(shape, range.min + range.extent) - begin);
      if (!as_int(extent)) {
        arith::ConstIntBound bound = analyzer_.const_int_bound(extent);
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

  arith::Analyzer analyzer_;
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
