// Reading loops as the value of each element: see hybrid_nest.h.
#include "frontend/te/hybrid_nest.h"

#include "ir/equal.h"
#include "ir/ops.h"
#include "ir/visitor.h"

namespace loopsmith::frontend::te {
namespace {

/// Reads the buffers of tensors; knows whether another one is read.
class Reads final : public Mutator {
 public:
  explicit Reads(const std::vector<std::pair<Buffer, Buffer>>& inputs) : inputs_(inputs) {}
  bool has_other = false;
  auto on(const BufferLoad& node) -> Expr override {
    for (const auto& [tensor, used] : inputs_) {
      if (used == node.buffer && !node.predicate) { return make<BufferLoad>(tensor, mutate(node.indices), node.origin); }
    }
    has_other = true;
    return self(node);
  }

 private:
  const std::vector<std::pair<Buffer, Buffer>>& inputs_;
};

/// The serial loops on top of a statement, which is left below them. False: one has another kind.
auto take_loops(Stmt& statement, std::vector<const For*>& loops) -> bool {
  while (const auto* loop = statement.as<For>()) {
    if (loop->for_kind != ForKind::Serial || !loop->annotations.empty() || !is_zero(loop->min)) { return false; }
    loops.push_back(loop);
    statement = loop->body;
  }
  return true;
}

auto to_iter(const For& loop, IterKind kind) -> IterVar {
  IterVar iter;
  iter.var = loop.var;
  iter.dom = from_zero(loop.extent);
  iter.kind = kind;
  iter.origin = loop.origin;
  return iter;
}

/// True where each loop runs over a dimension of the store, in their order, and all of it.
auto covers(const BufferStore& store, const std::vector<const For*>& loops) -> bool {
  if (store.predicate || store.indices.size() != loops.size()) { return false; }
  for (size_t i = 0; i < loops.size(); ++i) {
    if (store.indices[i].get() != loops[i]->var.get() || !structural_equal(loops[i]->extent, store.buffer->shape[i])) { return false; }
  }
  return true;
}

auto is_zero_of_any_type(const Expr& value) -> bool {
  const auto* real = value.as<FloatImm>();
  return is_zero(value) || (real != nullptr && real->value == 0);
}

/// The `x` of `output[i, j] + x`, where that is the element that is stored; none: another value.
auto addend(const BufferStore& store) -> Expr {
  const auto* sum = store.value.as<Add>();
  const auto* own = sum != nullptr ? sum->a.as<BufferLoad>() : nullptr;
  if (own == nullptr || own->buffer != store.buffer || own->predicate || own->indices.size() != store.indices.size()) { return {}; }
  for (size_t i = 0; i < store.indices.size(); ++i) {
    if (own->indices[i].get() != store.indices[i].get()) { return {}; }
  }
  return sum->b;
}

}  // namespace

auto hybrid_nest(const Stmt& statement, const Buffer& output, const std::vector<std::pair<Buffer, Buffer>>& inputs) -> std::optional<HybridNest> {
  Stmt below = statement;
  std::vector<const For*> loops, reduced;
  if (!take_loops(below, loops)) { return std::nullopt; }
  HybridNest out;
  for (const For* loop : loops) { out.axis.push_back(to_iter(*loop, IterKind::Spatial)); }
  const auto* store = below.as<BufferStore>();
  Expr value = store != nullptr ? store->value : Expr();
  if (const auto* both = below.as<SeqStmt>(); both != nullptr && both->seq.size() == 2) {
    const auto* start = both->seq[0].as<BufferStore>();
    Stmt inner = both->seq[1];
    if (start == nullptr || start->buffer != output || !is_zero_of_any_type(start->value) || !covers(*start, loops) || !take_loops(inner, reduced) || reduced.empty()) { return std::nullopt; }
    for (const For* loop : reduced) { out.reduce_axis.push_back(to_iter(*loop, IterKind::Reduction)); }
    store = inner.as<BufferStore>();
    value = store != nullptr ? addend(*store) : Expr();
  }
  if (store == nullptr || !value || store->buffer != output || !covers(*store, loops) || !(value.dtype() == output->dtype)) { return std::nullopt; }
  Reads reads(inputs);
  out.value = reads.mutate(value);
  return reads.has_other ? std::nullopt : std::optional(std::move(out));
}

}  // namespace loopsmith::frontend::te
