// Shrinks allocations to their use: see compact_buffer_allocation.h.
#include "transform/compact_buffer_allocation.h"

#include <limits>
#include <unordered_set>

#include "ir/ops.h"
#include "ir/visitor.h"
#include "transform/affine.h"
#include "support/fault.h"

namespace loopsmith::transform {
namespace {

// The stride of a dimension: a multiple of `factor`, plus `offset`.
struct Alignment {
  size_t dimension = 0;
  int64_t factor = 1;
  int64_t offset = 0;
};

// The known facts about an allocated buffer.
struct Usage {
  size_t depth = 0;                                // loops around the allocation
  std::vector<std::optional<Interval>> ranges;     // accessed indices per dimension; none: unknown
  bool touched = false;
  bool fixed = false;                              // accessed in ways that this pass does not support
  std::vector<Alignment> alignments;               // of strides, from storage_align
};

class Collect : public Visitor {
 public:
  using Visitor::on;
  using Visitor::visit;

  std::unordered_map<const BufferNode*, Usage> usage;
  std::unordered_map<const BufferNode*, Domains> where;   // the domains around the allocation

  void on(const For& n) override {
    visit(n.min);
    visit(n.extent);
    domains_.push(n.var.get(), n.min, n.extent);
    visit(n.body);
    domains_.pop();
  }
  void on(const Block& n) override {
    // Skips the regions in a block's signature: its body has the same accesses, with more precise ranges.
    for (const Buffer& b : n.alloc_buffers) {
      Usage u;
      u.depth = domains_.order.size();
      u.ranges.resize(b->shape.size());
      u.fixed = !b->strides.empty() || !b->axis_separators.empty();
      auto [other, fresh] = by_data_.emplace(b->data.get(), b.get());
      if (!fresh) {
        u.fixed = true;
        usage[other->second].fixed = true;
      }
      usage[b.get()] = std::move(u);
      where[b.get()] = domains_;
    }
    if (const Attr* entries = find_attr(n.annotations, "buffer_dim_align")) { align(*entries, n.writes); }
    for (const MatchBufferRegion& m : n.match_buffers) { access(m.source.buffer.get(), m.source.region); }
    if (n.init) { visit(n.init); }
    visit(n.body);
  }
  void on(const BlockRealize& n) override {
    visit(n.predicate);
    on(*n.block);
  }
  void on(const BufferLoad& n) override {
    access(n.buffer.get(), n.indices);
    Visitor::on(n);
  }
  void on(const BufferStore& n) override {
    access(n.buffer.get(), n.indices);
    Visitor::on(n);
  }
  void on(const Call& n) override {
    static const Name address_of("address_of");
    const auto* place = n.op == address_of && n.args.size() == 1 ? n.args[0].as<BufferLoad>() : nullptr;
    if (!place) { return Visitor::on(n); }
    // Accesses through the address have no known range.
    auto found = usage.find(place->buffer.get());
    if (found != usage.end()) { found->second.fixed = true; } else { on(*place->buffer->data); }
    for (const Expr& i : place->indices) { visit(i); }
  }
  void on(const LetStmt& n) override {
    // Indices that use the variable of a let have no known range.
    visit(n.value);
    domains_.of.erase(n.var.get());
    opaque_.insert(n.var.get());
    visit(n.body);
  }
  void on(const VarNode& n) override {
    if (!n.dtype.is_handle()) { return; }
    auto found = by_data_.find(&n);
    if (found != by_data_.end()) { usage[found->second].fixed = true; }
  }
  void on(const DeclBuffer& n) override {
    on(*n.buffer->data);
    Visitor::on(n);
  }

 private:
  /// Applies the annotation, a list of [index of the written buffer, dimension, factor, offset].
  void align(const Attr& entries, const Array<BufferRegion>& writes) {
    for (size_t i = 0; entries.list() && i < entries.list()->size(); ++i) {
      const auto* entry = (*entries.list())[i].list();
      if (!entry || entry->size() != 4) { continue; }
      int64_t numbers[4];
      bool known = true;
      for (size_t k = 0; k < 4; ++k) {
        auto number = (*entry)[k].expr() ? as_int((*entry)[k].expr()) : std::nullopt;
        constexpr int64_t most = std::numeric_limits<int32_t>::max();
        known = known && number && *number <= most && *number >= -most;
        numbers[k] = number.value_or(0);
      }
      if (!known || numbers[0] < 0 || static_cast<size_t>(numbers[0]) >= writes.size() || numbers[2] < 1) { continue; }
      auto found = usage.find(writes[static_cast<size_t>(numbers[0])].buffer.get());
      if (found == usage.end()) { continue; }
      const auto rank = static_cast<int64_t>(found->second.ranges.size());
      const int64_t dimension = numbers[1] < 0 ? numbers[1] + rank : numbers[1];
      if (dimension >= 0 && dimension < rank) { found->second.alignments.push_back({static_cast<size_t>(dimension), numbers[2], numbers[3]}); }
    }
  }
  void access(const BufferNode* buffer, const Array<Expr>& indices) {
    std::vector<Range> region;
    for (const Expr& i : indices) { region.push_back({i, one(i.dtype())}); }
    access(buffer, Array<Range>(std::move(region)));
  }
  void access(const BufferNode* buffer, const Array<Range>& region) {
    auto found = usage.find(buffer);
    if (found == usage.end()) {
      // Another buffer over the same memory.
      auto same = by_data_.find(buffer->data.get());
      if (same != by_data_.end()) { usage[same->second].fixed = true; }
      return;
    }
    Usage& u = found->second;
    if (region.size() != u.ranges.size()) {
      u.fixed = true;
      return;
    }
    std::unordered_map<const VarNode*, bool> relaxed;
    for (size_t i = u.depth; i < domains_.order.size(); ++i) { relaxed[domains_.order[i]] = true; }
    for (const VarNode* v : opaque_) { relaxed[v] = true; }
    for (size_t i = 0; i < region.size(); ++i) {
      if (u.touched && !u.ranges[i]) { continue; }
      if (region[i].min.dtype().is_vector()) {
        u.ranges[i].reset();
        continue;
      }
      std::optional<Interval> here = interval_of(region[i].min, domains_, relaxed);
      if (here && !is_one(region[i].extent)) {
        auto extent = interval_of(region[i].extent, domains_, relaxed);
        if (extent) {
          here->high.add(extent->high);
          here->high.constant -= 1;
        } else {
          here.reset();
        }
      }
      u.ranges[i] = u.touched ? join(u.ranges[i], here, where[buffer]) : std::move(here);
    }
    u.touched = true;
  }
  static auto join(const std::optional<Interval>& a, const std::optional<Interval>& b, const Domains& around) -> std::optional<Interval> {
    if (!a || !b) { return {}; }
    auto pick = [&](const Affine& x, const Affine& y, bool least) -> std::optional<Affine> {
      Affine d = x;
      d.add(y, -1);
      auto high = constant_max(d, around);
      auto low = constant_min(d, around);
      if (high && *high <= 0) { return least || FAULT(compact_union_lost) ? x : y; }
      if (low && *low >= 0) { return least ? y : x; }
      return {};
    };
    auto low = pick(a->low, b->low, true);
    auto high = pick(a->high, b->high, false);
    if (!low || !high) { return {}; }
    return Interval{std::move(*low), std::move(*high)};
  }

  Domains domains_;
  std::unordered_map<const VarNode*, const BufferNode*> by_data_;
  std::unordered_set<const VarNode*> opaque_;
};

// The strides of aligned rows, from the last dimension outwards; none if an extent is not constant.
auto aligned_strides(const std::vector<Expr>& shape, const std::vector<Alignment>& alignments) -> std::vector<Expr> {
  std::vector<Expr> out(shape.size());
  int64_t stride = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    for (const Alignment& a : alignments) {
      if (a.dimension != d) { continue; }
      // The smallest padding such that the stride modulo `factor` is `offset`.
      const int64_t rest = (a.factor + a.offset % a.factor - stride % a.factor) % a.factor;
      stride += rest < 0 ? rest + a.factor : rest;
    }
    const bool fits = shape[d].dtype().bits > 32 || stride <= std::numeric_limits<int32_t>::max();
    out[d] = constant_int(fits ? shape[d].dtype() : DataType::int_(64), stride);
    auto extent = as_int(shape[d]);
    if (!extent || __builtin_mul_overflow(stride, *extent, &stride)) { return {}; }
  }
  return out;
}

struct Compacted {
  Buffer buffer;
  std::vector<Expr> base;   // subtracted from indices; null: 0
};

class Rewrite : public Mutator {
 public:
  explicit Rewrite(const std::unordered_map<const BufferNode*, Compacted>& map) : map_(map) {}
  using Mutator::mutate;
  using Mutator::on;

  auto on(const BufferLoad& n) -> Expr override {
    Expr out = Mutator::on(n);
    const auto* c = find(n.buffer);
    if (!c) { return out; }
    const auto& load = *out.as<BufferLoad>();
    return make<BufferLoad>(c->buffer, shifted(*c, load.indices), n.origin, load.predicate);
  }
  auto on(const BufferStore& n) -> Stmt override {
    Stmt out = Mutator::on(n);
    const auto* c = find(n.buffer);
    if (!c) { return out; }
    const auto& store = *out.as<BufferStore>();
    return make<BufferStore>(c->buffer, store.value, shifted(*c, store.indices), n.origin, store.predicate);
  }
  auto on(const Block& n) -> Stmt override {
    Stmt out = Mutator::on(n);
    Block::Fields f = out.as<Block>()->fields();
    bool changed = false;
    auto region = [&](const BufferRegion& r) -> BufferRegion {
      const auto* c = find(r.buffer);
      if (!c) { return r; }
      changed = true;
      std::vector<Range> ranges;
      for (size_t i = 0; i < r.region.size(); ++i) {
        Expr min = r.region[i].min;
        ranges.push_back({c->base[i] ? minus(min, c->base[i]) : min, r.region[i].extent});
      }
      return {c->buffer, std::move(ranges), r.origin};
    };
    std::vector<BufferRegion> reads, writes;
    for (const BufferRegion& r : f.reads) { reads.push_back(region(r)); }
    for (const BufferRegion& r : f.writes) { writes.push_back(region(r)); }
    std::vector<MatchBufferRegion> views;
    for (const MatchBufferRegion& m : f.match_buffers) { views.push_back({m.buffer, region(m.source)}); }
    std::vector<Buffer> allocated;
    for (const Buffer& b : f.alloc_buffers) {
      const auto* c = find(b);
      changed = changed || c;
      allocated.push_back(c ? c->buffer : b);
    }
    if (!changed) { return out; }
    f.reads = std::move(reads);
    f.writes = std::move(writes);
    f.match_buffers = std::move(views);
    f.alloc_buffers = std::move(allocated);
    return make<Block>(std::move(f), n.origin, n.id);
  }

 private:
  auto find(const Buffer& b) const -> const Compacted* {
    auto found = map_.find(b.get());
    return found == map_.end() ? nullptr : &found->second;
  }
  static auto minus(const Expr& index, const Expr& base) -> Expr {
    DataType t = index.dtype();
    Affine a = affine_of(index);
    a.add(affine_of(base), -1);
    return a.expr(t);
  }
  static auto shifted(const Compacted& c, const Array<Expr>& indices) -> Array<Expr> {
    std::vector<Expr> out;
    for (size_t i = 0; i < indices.size(); ++i) { out.push_back(c.base[i] ? minus(indices[i], c.base[i]) : indices[i]); }
    return out;
  }
  const std::unordered_map<const BufferNode*, Compacted>& map_;
};

auto compact(const PrimFunc& func) -> PrimFunc {
  Collect collect;
  collect.visit(func->body);
  std::unordered_map<const BufferNode*, Compacted> map;
  std::vector<Buffer> alive;
  post_order(
      func->body,
      [&](const Stmt& s) {
        if (const auto* block = s.as<Block>()) { alive.insert(alive.end(), block->alloc_buffers.begin(), block->alloc_buffers.end()); }
      },
      [](const Expr&) {});
  for (const Buffer& buffer : alive) {
    const Usage& u = collect.usage[buffer.get()];
    if (u.fixed || !u.touched) { continue; }
    const Domains& around = collect.where[buffer.get()];
    Compacted c;
    std::vector<Expr> shape;
    bool changed = false;
    for (size_t i = 0; i < buffer->shape.size(); ++i) {
      const Expr& old = buffer->shape[i];
      std::optional<int64_t> extent;
      if (u.ranges[i]) {
        Affine size = u.ranges[i]->high;
        size.add(u.ranges[i]->low, -1);
        extent = constant_max(size, around);
        if (extent && *extent == std::numeric_limits<int64_t>::max()) { extent.reset(); }
        if (extent && !FAULT(compact_extent_short)) { ++*extent; }
      }
      auto old_extent = as_int(old);
      bool smaller = extent && *extent >= 1 && (!old_extent || *extent < *old_extent);
      if (!smaller) {
        shape.push_back(old);
        c.base.emplace_back();
        continue;
      }
      changed = true;
      shape.push_back(constant_int(old.dtype(), *extent));
      Expr base = u.ranges[i]->low.expr(old.dtype());
      c.base.push_back(is_zero(base) || FAULT(compact_base_lost) ? Expr() : base);
    }
    std::vector<Expr> strides = u.alignments.empty() ? std::vector<Expr>() : aligned_strides(shape, u.alignments);
    if (!changed && strides.empty()) { continue; }
    BufferNode fields = *buffer;
    fields.strides = std::move(strides);
    fields.shape = std::move(shape);
    c.buffer = make_buffer(std::move(fields));
    map.emplace(buffer.get(), std::move(c));
  }
  if (map.empty()) { return func; }
  return with_body(func, Rewrite(map).mutate(func->body));
}

}  // namespace

auto compact_buffer_allocation(const IRModule& module, const LowerContext&) -> Result<IRModule> {
  return map_functions(module, [](const PrimFunc& func) -> Result<PrimFunc> { return compact(func); });
}

}  // namespace loopsmith::transform
