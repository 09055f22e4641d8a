// Gives a buffer of a loop two copies: see inject_double_buffer.h.
#include "transform/inject_double_buffer.h"

#include <limits>
#include <set>
#include <vector>

#include "ir/jumps.h"
#include "ir/ops.h"
#include "ir/sizes.h"
#include "ir/visitor.h"
#include "transform/fold.h"

namespace loopsmith::transform {
namespace {

/// The memory that a statement accesses, by data variable; and a flag for other effects than loads and stores.
struct Touches : Visitor {
  std::set<const VarNode*> read, written;
  bool is_plain = true;
  using Visitor::on;
  void on(const BufferLoad& n) override {
    read.insert(n.buffer->data.get());
    is_plain = is_plain && n.indices.size() == 1 && n.indices[0].dtype().lanes == 1;
    Visitor::on(n);
  }
  void on(const BufferStore& n) override {
    written.insert(n.buffer->data.get());
    is_plain = is_plain && n.indices.size() == 1 && n.indices[0].dtype().lanes == 1;
    Visitor::on(n);
  }
  void on(const VarNode& n) override { is_plain = is_plain && !n.dtype.is_handle(); }
  void on(const Allocate& n) override {
    is_plain = false;
    Visitor::on(n);
  }
  void on(const DeclBuffer& n) override {
    is_plain = false;
    Visitor::on(n);
  }
  void on(const While& n) override {
    is_plain = false;
    Visitor::on(n);
  }
  void on(const Break&) override { is_plain = false; }
  void on(const Continue&) override { is_plain = false; }
  void on(const Evaluate& n) override {
    is_plain = is_plain && !is_return(Stmt(Ref<Evaluate>(&n)));
    Visitor::on(n);
  }
};

/// Redirects the accesses to a buffer to one of its two copies: B[i] becomes B[i + offset].
class InPlace : public Mutator {
 public:
  InPlace(const Buffer& old, const Buffer& fresh, Expr offset) : old_(old), fresh_(fresh), offset_(std::move(offset)) {}
  using Mutator::on;
  auto on(const BufferLoad& n) -> Expr override {
    Expr out = Mutator::on(n);
    const auto& load = *out.as<BufferLoad>();
    if (load.buffer.get() != old_.get()) { return out; }
    return make<BufferLoad>(fresh_, moved(load.indices), load.origin, load.predicate);
  }
  auto on(const BufferStore& n) -> Stmt override {
    Stmt out = Mutator::on(n);
    const auto& store = *out.as<BufferStore>();
    if (store.buffer.get() != old_.get()) { return out; }
    return make<BufferStore>(fresh_, store.value, moved(store.indices), store.origin, store.predicate);
  }

 private:
  auto moved(const Array<Expr>& indices) const -> Array<Expr> { return Array<Expr>{add(indices[0], cast(indices[0].dtype(), offset_))}; }
  const Buffer& old_;
  const Buffer& fresh_;
  Expr offset_;
};

class Inject : public Mutator {
 public:
  using Mutator::on;
  auto on(const For& n) -> Stmt override {
    Stmt out = Mutator::on(n);
    const auto& loop = *out.as<For>();
    if (loop.for_kind != ForKind::Serial) { return out; }
    Stmt made = doubled(loop);
    return made ? made : out;
  }

 private:
  static auto doubled(const For& loop) -> Stmt {
    static const Name double_key("double_buffer_scope");
    const auto* allocate = loop.body.as<Allocate>();
    const auto* declared = allocate ? allocate->body.as<DeclBuffer>() : nullptr;
    const auto* sequence = declared ? declared->body.as<SeqStmt>() : nullptr;
    const auto* attr = sequence && sequence->seq.size() > 1 ? sequence->seq[0].as<AttrStmt>() : nullptr;
    const auto* subject = attr && attr->key == double_key ? std::get_if<Expr>(&attr->node) : nullptr;
    const VarNode* data = allocate ? allocate->data.get() : nullptr;
    if (!subject || subject->as<VarNode>() != data || declared->buffer->data.get() != data || declared->buffer->shape.size() != 1) { return {}; }
    if (!is_one(allocate->condition)) { return {}; }
    Expr size = product_of(allocate->extents);
    // Indices into twice the size must fit int32.
    auto elements = as_int(size);
    if (!elements || *elements > std::numeric_limits<int32_t>::max() / 2) { return {}; }

    Touches producer, consumer;
    producer.visit(attr->body);
    std::vector<Stmt> rest(sequence->seq.begin() + 1, sequence->seq.end());
    for (const Stmt& s : rest) { consumer.visit(s); }
    bool is_early = producer.is_plain && consumer.is_plain && !consumer.written.contains(data);
    // The producer now runs an iteration earlier.
    for (const VarNode* v : producer.written) { is_early = is_early && v == data; }
    for (const VarNode* v : producer.read) { is_early = is_early && !consumer.written.contains(v); }
    if (!is_early) { return {}; }

    BufferNode fields = *declared->buffer;
    fields.shape = {mul(size, constant_int(size.dtype(), 2))};
    Buffer fresh = make_buffer(std::move(fields));
    const DataType t = loop.var->dtype;
    auto number = [&](int64_t value) { return constant_int(t, value); };
    auto at = [&](const Stmt& s, const Expr& iteration) {
      Expr offset = mul(floormod(sub(iteration, loop.min), number(2)), cast(t, size));
      return InPlace(declared->buffer, fresh, std::move(offset)).mutate(s);
    };
    Expr end = add(loop.min, loop.extent);
    Stmt first = fold(at(attr->body, loop.var), {{loop.var.get(), loop.min}}, /*copy=*/true);
    if (Expr runs = less(number(0), loop.extent); !is_one(runs)) { first = make<IfThenElse>(runs, std::move(first), Stmt(), loop.origin); }
    Expr next = add(Expr(loop.var), number(1));
    Stmt ahead = fold(at(attr->body, loop.var), {{loop.var.get(), next}}, /*copy=*/true);
    std::vector<Stmt> body{make<IfThenElse>(less(next, end), std::move(ahead), Stmt(), attr->origin)};
    for (const Stmt& s : rest) { body.push_back(at(s, loop.var)); }
    Stmt turned = make<For>(loop.var, loop.min, loop.extent, loop.for_kind, seq(std::move(body), loop.origin), loop.thread, loop.annotations, loop.origin, loop.id);
    Stmt inside = make<DeclBuffer>(fresh, seq({std::move(first), std::move(turned)}, loop.origin), declared->origin);
    return make<Allocate>(allocate->data, allocate->dtype, Array<Expr>{mul(size, constant_int(size.dtype(), 2))}, allocate->condition, std::move(inside), allocate->annotations, allocate->origin);
  }
};

}  // namespace

auto inject_double_buffer(const IRModule& module, const LowerContext&) -> Result<IRModule> {
  return map_functions(module, [](const PrimFunc& func) -> Result<PrimFunc> {
    Inject inject;
    Stmt body = inject.mutate(func->body);
    return body.same_as(func->body) ? func : with_body(func, body);
  });
}

}  // namespace loopsmith::transform
