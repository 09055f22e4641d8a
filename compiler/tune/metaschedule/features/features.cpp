// Features of stores: see features.h.
#include "tune/metaschedule/features/features.h"

#include <algorithm>
#include <optional>

#include "ir/ops.h"
#include "support/saturate.h"
#include "tune/metaschedule/features/arithmetic.h"
#include "tune/metaschedule/features/buffer_accesses.h"
#include "tune/metaschedule/features/locations.h"
#include "tune/metaschedule/features/prepared.h"
#include "tune/metaschedule/features/regions.h"
#include "tune/metaschedule/features/walk.h"

namespace loopsmith::tune::metaschedule {
namespace {

constexpr size_t intensity_samples = 10;

// The numbers of a store besides those of its allocation.
struct Row {
  size_t order = 0;
  std::vector<double> before;       // arithmetic, loops, threads, buffers, intensity
  int64_t iterations = 1;           // of the loops around
  size_t loops = 0;
  int64_t unroll_steps = 0;
};

struct Allocation {
  int64_t bytes = 0;
  int64_t elements_in_all = 0;
  int64_t iterations = 1;           // of the loops around
};

void export_loops(const std::vector<const For*>& loops, std::vector<double>& out) {
  int64_t product = loops.empty() ? 0 : 1;
  for (const For* loop : loops) { product = saturating_mul(product, extent_of(*loop).value_or(1)); }
  int64_t last = loops.empty() ? 0 : extent_of(*loops.back()).value_or(1);
  for (int64_t n : {static_cast<int64_t>(loops.size()), product, last}) { out.push_back(log_scale(static_cast<double>(n))); }
  // The position among spatial and reduction loops: TVM knows "none" and "mixed" only.
  for (int position = 0; position < 8; ++position) { out.push_back(position == (loops.empty() ? 0 : 7) ? 1.0 : 0.0); }
}

auto first_extent(const std::vector<const For*>& loops) -> int64_t { return loops.empty() ? 1 : extent_of(*loops.front()).value_or(1); }

void export_threads(const LoopNest& nest, bool is_gpu, std::vector<double>& out) {
  out.push_back(is_gpu ? 1.0 : 0.0);
  for (const auto* axes : {&nest.blocks, &nest.threads}) {
    for (const auto& loops : *axes) { out.push_back(log_scale(static_cast<double>(is_gpu ? first_extent(loops) : 1))); }
  }
  out.push_back(log_scale(static_cast<double>(is_gpu ? first_extent(nest.virtual_threads) : 1)));
}

class Collect : public Walk {
 public:
  using Walk::on;
  Collect(const AllocationsByPlace& allocations, const Compacted& compacted, bool is_gpu) : Walk(allocations), compacted_(compacted), is_gpu_(is_gpu) {}

  void allocate(const Buffer& buffer) { leave_allocation(buffer); }
  void on(const BufferStore& n) override;
  void on(const IfThenElse& n) override;
  void on(const LetStmt& n) override {
    Expr value = rewritten(n.value);
    // TVM replaces the variables of these values only.
    bool is_replaced = as_int(value) || value.as<FloatImm>() || value.as<VarNode>() || (value.dtype().is_int() && is_pure_value(value));
    if (is_replaced) { analyzer_.bind(n.var, value, true); }
    visit(n.body);
  }
  auto rows() -> std::vector<StoreFeatures>;

 protected:
  void enter_loop(const For& n) override { analyzer_.bind(n.var, Range{n.min, n.extent}, true); }
  void leave_allocation(const Buffer& buffer) override {
    int64_t elements = 1;
    for (int64_t n : shaped(buffer).shape) { elements = saturating_mul(elements, n); }
    allocations_[buffer.get()] = {saturating_mul(elements, buffer->dtype.element_bytes()), saturating_mul(elements, nest_.product), nest_.product};
  }

 private:
  class Rewrite;
  class SetLoadsAside;
  [[nodiscard]] auto rewritten(const Expr& expr) -> Expr;
  [[nodiscard]] auto simplified_value(const Expr& value) -> Expr;
  [[nodiscard]] auto simplified_place(const Buffer& buffer, const Array<Expr>& indices) -> std::pair<Buffer, std::vector<Expr>>;
  [[nodiscard]] auto place(const Buffer& buffer, const Array<Expr>& indices) -> std::pair<Buffer, std::vector<Expr>>;
  [[nodiscard]] auto shaped(const Buffer& buffer) -> ShapedBuffer;

  const Compacted& compacted_;
  bool is_gpu_;
  arith::Analyzer analyzer_;        // knows the loops around
  arith::Analyzer bounds_;          // for the boxes of accesses
  TouchedUnderLoop touched_;
  // A store and the loads in its value often have the same indices.
  struct SimplifiedPlace { Buffer buffer; Array<Expr> indices; std::pair<Buffer, std::vector<Expr>> place; };
  std::vector<SimplifiedPlace> places_;                             // of the store in work
  std::unordered_map<const BufferNode*, Row> rows_;
  std::unordered_map<const BufferNode*, Allocation> allocations_;
};

// Expressions of a block in terms of loops, with accesses of the compacted buffers.
class Collect::Rewrite : public Mutator {
 public:
  using Mutator::on;
  explicit Rewrite(Collect& collect) : collect_(collect) {}
  auto on(const VarNode& n) -> Expr override { return collect_.outside_blocks(self(n)); }
  auto on(const BufferLoad& n) -> Expr override {
    auto [buffer, indices] = collect_.place(n.buffer, n.indices);
    return make<BufferLoad>(buffer, Array<Expr>(std::move(indices)), n.origin, n.predicate);
  }

 private:
  Collect& collect_;
};

auto Collect::rewritten(const Expr& expr) -> Expr { return analyzer_.simplify(Rewrite(*this).mutate(expr)); }

// Takes loads out of a value: each distinct one stands for a number. Simplification then has less to do, with the same result, since the indices are simplified on
// their own.
class Collect::SetLoadsAside : public Mutator {
 public:
  using Mutator::on;
  explicit SetLoadsAside(Collect& collect) : collect_(collect) {}
  auto on(const VarNode& n) -> Expr override { return collect_.outside_blocks(self(n)); }
  auto on(const BufferLoad& n) -> Expr override {
    auto [buffer, indices] = collect_.simplified_place(n.buffer, n.indices);
    const auto is_same = [&](const Ref<BufferLoad>& known) {
      return known->buffer == buffer && std::equal(indices.begin(), indices.end(), known->indices.begin(), known->indices.end(),
                                                    [](const Expr& a, const Expr& b) { return a.same_as(b) || arith::deep_equal(a, b); });
    };
    size_t number = static_cast<size_t>(std::find_if(loads_.begin(), loads_.end(), is_same) - loads_.begin());
    if (number == loads_.size()) { loads_.push_back(make<BufferLoad>(buffer, Array<Expr>(std::move(indices)), n.origin)); }
    return make<BufferLoad>(buffer, Array<Expr>{int_imm(static_cast<int64_t>(number))}, n.origin);
  }
  [[nodiscard]] auto put_back(const Expr& value) const -> Expr {
    class PutBack : public Mutator {
     public:
      using Mutator::on;
      explicit PutBack(const std::vector<Ref<BufferLoad>>& loads) : loads_(loads) {}
      auto on(const BufferLoad& n) -> Expr override { return loads_[static_cast<size_t>(*as_int(n.indices[0]))]; }

     private:
      const std::vector<Ref<BufferLoad>>& loads_;
    };
    return PutBack(loads_).mutate(value);
  }
  // Conditions in a value hold for the indices of its loads, and such values are simplified as a whole.
  static auto is_possible(const Expr& value) -> bool {
    bool possible = true;
    post_order(value, [&](const Expr& e) {
      const auto* call = e.as<Call>();
      const auto* load = e.as<BufferLoad>();
      possible = possible && !(call && call->op == "if_then_else") && !(load && load->predicate) && e.kind() != NodeKind::Select && e.kind() != NodeKind::And &&
                 e.kind() != NodeKind::Or && e.kind() != NodeKind::Let;
    });
    return possible;
  }

 private:
  Collect& collect_;
  std::vector<Ref<BufferLoad>> loads_;
};

auto Collect::simplified_value(const Expr& value) -> Expr {
  if (!SetLoadsAside::is_possible(value)) { return rewritten(value); }
  SetLoadsAside aside(*this);
  const Expr plain = aside.mutate(value);
  return aside.put_back(plain.as<BufferLoad>() ? plain : analyzer_.simplify(plain));
}

auto Collect::simplified_place(const Buffer& buffer, const Array<Expr>& indices) -> std::pair<Buffer, std::vector<Expr>> {
  const auto is_same = [&](const SimplifiedPlace& known) {
    return known.buffer == buffer && std::equal(indices.begin(), indices.end(), known.indices.begin(), known.indices.end(), [](const Expr& a, const Expr& b) { return a.same_as(b); });
  };
  auto known = std::find_if(places_.begin(), places_.end(), is_same);
  if (known != places_.end()) { return known->place; }
  auto out = place(buffer, indices);
  for (Expr& index : out.second) { index = analyzer_.simplify(index); }
  places_.push_back({buffer, indices, out});
  return out;
}

// The buffer behind views, and the indices in its compacted form, not simplified.
auto Collect::place(const Buffer& buffer, const Array<Expr>& indices) -> std::pair<Buffer, std::vector<Expr>> {
  Rewrite rewrite(*this);
  std::vector<Expr> out;
  for (const Expr& index : indices) { out.push_back(rewrite.mutate(index)); }
  Buffer target = buffer;
  for (auto view = views_.find(target.get()); view != views_.end(); view = views_.find(target.get())) {
    const Array<Range>& region = view->second.region;
    size_t offset = region.size() - std::min(region.size(), out.size());
    std::vector<Expr> inner;
    for (size_t i = 0; i < region.size(); ++i) { inner.push_back(i < offset ? region[i].min : region[i].min + out[i - offset]); }
    out = std::move(inner);
    target = view->second.source;
  }
  auto compacted = compacted_.find(target.get());
  for (size_t i = 0; compacted != compacted_.end() && i < out.size() && i < compacted->second.size(); ++i) { out[i] = out[i] - compacted->second[i].min; }
  return {target, std::move(out)};
}

auto Collect::shaped(const Buffer& buffer) -> ShapedBuffer {
  ShapedBuffer out{buffer.get(), {}};
  auto compacted = compacted_.find(buffer.get());
  for (size_t i = 0; i < buffer->shape.size(); ++i) {
    Expr extent = compacted != compacted_.end() ? compacted->second[i].extent : buffer->shape[i];
    if (auto number = as_int(extent)) {
      out.shape.push_back(*number);
      continue;
    }
    arith::ConstIntBound bound = bounds_.const_int_bound(extent);
    out.shape.push_back(bound.max >= 0 && bound.max < arith::ConstIntBound::pos_inf ? bound.max : 1);
  }
  return out;
}

void Collect::on(const IfThenElse& n) {
  Expr condition = rewritten(n.condition);
  if (auto known = as_int(condition)) {
    if (*known != 0) { visit(n.then_case); } else if (n.else_case) { visit(n.else_case); }
    return;
  }
  {
    auto scope = analyzer_.enter(condition);
    visit(n.then_case);
  }
  if (!n.else_case) { return; }
  auto scope = analyzer_.enter(logical_not(condition));
  visit(n.else_case);
}

void Collect::on(const BufferStore& n) {
  places_.clear();
  Expr value = simplified_value(n.value);
  if (value.as<IntImm>() || value.as<FloatImm>()) { return; }
  auto [buffer, indices] = simplified_place(n.buffer, n.indices);
  std::vector<BufferAccess> accesses{{shaped(buffer), true, indices}};
  bool copies_itself = false;
  post_order(value, [&](const Expr& e) {
    const auto* load = e.as<BufferLoad>();
    if (load) { accesses.push_back({shaped(load->buffer), false, {load->indices.begin(), load->indices.end()}}); }
  });
  if (const auto* load = value.as<BufferLoad>(); load && load->buffer == buffer) {
    copies_itself = std::equal(indices.begin(), indices.end(), load->indices.begin(), load->indices.end(), [](const Expr& a, const Expr& b) { return arith::deep_equal(a, b); });
  }
  if (copies_itself) { return; }
  Row& row = rows_[buffer.get()];
  if (row.order == 0) { row.order = rows_.size(); }
  row.before.clear();
  Arithmetic arithmetic = arithmetic_of(value, nest_.product);
  arithmetic.export_to(row.before);
  for (const auto* loops : {&nest_.vectorized, &nest_.unrolled, &nest_.parallel}) { export_loops(*loops, row.before); }
  export_threads(nest_, is_gpu_, row.before);
  AccessFeatures access = access_features(accesses, nest_, touched_, bounds_);
  row.before.insert(row.before.end(), access.numbers.begin(), access.numbers.end());
  std::vector<double> curve = intensity_curve(arithmetic, nest_, access.loop_bytes, intensity_samples);
  row.before.insert(row.before.end(), curve.begin(), curve.end());
  row.iterations = nest_.product;
  row.loops = nest_.loops.size();
  row.unroll_steps = nest_.unroll_steps.empty() ? 0 : nest_.unroll_steps.back();
}

auto Collect::rows() -> std::vector<StoreFeatures> {
  std::vector<std::pair<const BufferNode*, Row*>> sorted;
  for (auto& [buffer, row] : rows_) { sorted.emplace_back(buffer, &row); }
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.second->order < b.second->order; });
  std::vector<StoreFeatures> out;
  for (auto& [buffer, row] : sorted) {
    Allocation allocation = allocations_[buffer];
    std::vector<double> all = std::move(row->before);
    for (double x : {static_cast<double>(allocation.bytes), static_cast<double>(allocation.elements_in_all), static_cast<double>(allocation.iterations),
                     static_cast<double>(row->iterations) / static_cast<double>(allocation.iterations), static_cast<double>(row->iterations), static_cast<double>(row->loops),
                     static_cast<double>(row->unroll_steps)}) {
      all.push_back(log_scale(x));
    }
    StoreFeatures& features = out.emplace_back();
    std::copy_n(all.begin(), std::min(all.size(), features.size()), features.begin());
  }
  return out;
}

}  // namespace

auto extract_features(const IRModule& scheduled, bool is_gpu) -> std::vector<StoreFeatures> {
  std::vector<StoreFeatures> out;
  for (const auto& [name, given] : scheduled->functions) {
    PrimFunc func = without_layout_blocks(given);
    func = with_body(func, prepared_for_features(func->body));
    AllocationsByPlace allocations = find_locations(func);
    Compacted compacted = find_regions(func, allocations);
    Collect collect(allocations, compacted, is_gpu);
    collect.visit(func->body);
    for (const auto& [param, buffer] : func->buffer_map) { collect.allocate(buffer); }
    std::vector<StoreFeatures> rows = collect.rows();
    out.insert(out.end(), rows.begin(), rows.end());
  }
  return out;
}

}  // namespace loopsmith::tune::metaschedule
