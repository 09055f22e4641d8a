// Replaces views by their sources: see lower_match_buffer.h.
#include "transform/lower_match_buffer.h"

#include <optional>
#include <unordered_set>

#include "ir/ops.h"
#include "ir/rewritten_buffer.h"
#include "ir/sizes.h"
#include "ir/strides.h"
#include "ir/visitor.h"
#include "support/codes.h"
#include "support/saturate.h"
#include "transform/fold.h"
#include "transform/rows.h"
#include "support/fault.h"
#include "support/reasons.h"

namespace loopsmith::transform {
namespace {

// The strides are int64 if flat indices of the buffer overflow int32.
auto compact_strides(const Buffer& buffer) -> std::vector<Expr> {
  if (is_strided(buffer)) { return buffer->strides.to_vector(); }
  const bool is_wide = needs_wide_index(*buffer);
  std::vector<Expr> out(buffer->shape.size());
  Expr step = is_wide ? int_imm(1, DataType::int_(64)) : int_imm(1);
  for (size_t i = buffer->shape.size(); i-- > 0;) {
    out[i] = step;
    if (i > 0) { step = mul(step, is_wide ? widened(buffer->shape[i]) : buffer->shape[i]); }
  }
  return out;
}

class LowerViews : public Mutator {
 public:
  using Mutator::mutate;
  using Mutator::on;

  auto on(const VarNode& n) -> Expr override {
    auto found = values_.find(&n);
    if (found == values_.end()) { return self(n); }
    if (wide_.count(&n) && !refused) {
      refused = error(Code::CannotEmit, n.origin).arg("what", "the use of `" + n.name.str() + "` in block `" + block_.str() + "`").arg("function", function_)
                    .arg("target", "any target").arg("reason", because(Why::SourceTooLarge).arg("dtype", n.dtype.str()).text())
                    .remedy("give the source a shape of int64: `T.int64(n)`");
    }
    return found->second;
  }
  explicit LowerViews(std::string function) : function_(std::move(function)) {}
  // The first use of a variable of a view whose value overflows its type.
  std::optional<Diagnostic> refused;

  auto on(const Block& n) -> Stmt override {
    block_ = n.name;
    for (const MatchBufferRegion& m : n.match_buffers) {
      // The source may itself be a view, which is resolved first.
      BufferRegion source = resolve({m.source.buffer, mutate(m.source.region), m.source.origin});
      bind(m.buffer, source);
      views_[m.buffer.get()] = source;
    }
    Stmt out = Mutator::on(n);
    bool names_view = !n.match_buffers.empty();
    for (const auto* regions : {&n.reads, &n.writes}) {
      for (const BufferRegion& r : *regions) { names_view = names_view || views_.count(r.buffer.get()) != 0; }
    }
    if (!names_view) { return out; }
    Block::Fields fields = out.as<Block>()->fields();
    fields.match_buffers = {};
    fields.reads = resolve_all(fields.reads);
    fields.writes = resolve_all(fields.writes);
    return make<Block>(std::move(fields), n.origin, n.id);
  }
  auto on(const BufferLoad& n) -> Expr override {
    Expr out = Mutator::on(n);
    auto view = views_.find(n.buffer.get());
    if (view == views_.end()) { return out; }
    const auto& load = *out.as<BufferLoad>();
    return make<BufferLoad>(view->second.buffer, into(view->second, row_by_row(n.buffer, view->second, load.indices)), n.origin, load.predicate);
  }
  auto on(const BufferStore& n) -> Stmt override {
    Stmt out = Mutator::on(n);
    auto view = views_.find(n.buffer.get());
    if (view == views_.end()) { return out; }
    const auto& store = *out.as<BufferStore>();
    return make<BufferStore>(view->second.buffer, store.value, into(view->second, row_by_row(n.buffer, view->second, store.indices)), n.origin, store.predicate);
  }

 protected:
  // Other buffers in the memory of a view, or with its strides and sizes.
  auto use(const Buffer& buffer) -> Buffer override {
    if (values_.empty() || views_.count(buffer.get()) != 0) { return buffer; }
    auto [known, is_new] = others_.try_emplace(buffer.get(), buffer);
    if (!is_new) { return known->second; }
    Buffer out = rewritten_buffer(buffer, [this](const Expr& x) { return mutate(x); });
    if (auto data = values_.find(buffer->data.get()); data != values_.end()) {
      BufferNode fields = *out;
      fields.data = Var(data->second.as<VarNode>());
      out = make_buffer(std::move(fields));
    }
    others_.at(buffer.get()) = out;
    return out;
  }

 private:
  // `B[0, 0:64]` of a (16, 4) view accesses the whole view. If its rows are not contiguous in memory, each lane gets the index of its row:
  // `B[ramp // 4, ramp % 4]`.
  static auto row_by_row(const Buffer& view, const BufferRegion& source, const Array<Expr>& indices) -> Array<Expr> {
    std::vector<Expr> strides = compact_strides(source.buffer);
    int64_t step = 1;
    for (size_t d = source.region.size(); d-- > 0;) {
      auto size = as_int(source.region[d].extent);
      auto here = as_int(strides[d]);
      if (size && *size == 1) { continue; }
      if (!size || !here || *here != step) { return spread_over_rows(view->shape, indices); }
      step = saturating_mul(step, *size);
    }
    return indices;
  }
  static auto into(const BufferRegion& source, const Array<Expr>& indices) -> Array<Expr> {
    std::vector<Expr> out;
    size_t leading = source.region.size() - indices.size();
    for (size_t i = 0; i < source.region.size(); ++i) {
      out.push_back(i < leading ? source.region[i].min : FAULT(match_offset_lost) ? indices[i - leading] : add(source.region[i].min, indices[i - leading]));
    }
    return out;
  }
  auto resolve(BufferRegion region) -> BufferRegion {
    auto view = views_.find(region.buffer.get());
    if (view == views_.end()) { return region; }
    const BufferRegion& source = view->second;
    std::vector<Range> ranges;
    size_t leading = source.region.size() - region.region.size();
    for (size_t i = 0; i < source.region.size(); ++i) {
      if (i < leading) { ranges.push_back(source.region[i]); continue; }
      const Range& r = region.region[i - leading];
      ranges.push_back({add(source.region[i].min, r.min), r.extent});
    }
    return {source.buffer, std::move(ranges), region.origin};
  }
  auto resolve_all(const Array<BufferRegion>& regions) -> Array<BufferRegion> {
    std::vector<BufferRegion> out;
    for (const BufferRegion& r : regions) { out.push_back(resolve(r)); }
    return out;
  }
  void set(const Expr& symbol, Expr value) {
    const auto* var = symbol ? symbol.as<VarNode>() : nullptr;
    if (!var || values_.count(var)) { return; }
    if (auto known = as_int(value); value.dtype().bits > var->dtype.bits && (!known || *known > *as_int(max_value(var->dtype)))) { wide_.insert(var); }
    values_[var] = cast(var->dtype, std::move(value));
  }
  void bind(const Buffer& view, const BufferRegion& source) {
    if (view->data != source.buffer->data) { values_[view->data.get()] = Expr(source.buffer->data); }
    size_t leading = source.region.size() >= view->shape.size() ? source.region.size() - view->shape.size() : 0;
    std::vector<Expr> strides = compact_strides(source.buffer);
    for (size_t i = 0; i < view->shape.size() && leading + i < source.region.size(); ++i) {
      set(view->shape[i], source.region[leading + i].extent);
    }
    for (size_t i = 0; i < view->strides.size() && leading + i < strides.size(); ++i) { set(view->strides[i], strides[leading + i]); }
    Expr offset = source.buffer->elem_offset ? source.buffer->elem_offset : int_imm(0);
    const bool is_wide = needs_wide_index(*source.buffer);
    for (size_t i = 0; i < strides.size(); ++i) {
      offset = add(offset, is_wide ? mul(widened(source.region[i].min), widened(strides[i])) : mul(source.region[i].min, strides[i]));
    }
    set(view->elem_offset, std::move(offset));
  }
  std::string function_;
  Name block_;
  VarMap values_;
  std::unordered_set<const VarNode*> wide_;   // variables of views whose values may overflow their type: they must not be used
  std::unordered_map<const BufferNode*, BufferRegion> views_;
  BufferMap others_;                          // buffers that are no views, with the values of the views' variables
};

}  // namespace

auto lower_match_buffer(const IRModule& module, const LowerContext&) -> Result<IRModule> {
  return map_functions(module, [](const PrimFunc& func) -> Result<PrimFunc> {
    LowerViews lowering(called("main", func));
    Stmt body = lowering.mutate(func->body);
    if (lowering.refused) { return std::move(*lowering.refused); }
    return with_body(func, std::move(body));
  });
}

}  // namespace loopsmith::transform
