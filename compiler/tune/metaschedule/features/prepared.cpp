// Functions as features see them: see prepared.h.
#include "tune/metaschedule/features/prepared.h"

#include <unordered_map>
#include <unordered_set>

#include "ir/ops.h"
#include "ir/visitor.h"
#include "tune/metaschedule/calls.h"

namespace loopsmith::tune::metaschedule {
namespace {

class Simplify : public Mutator {
 public:
  using Mutator::on;
  auto on(const Select& n) -> Expr override { return has_load(n.condition) || has_load(n.true_value) || has_load(n.false_value) ? self(n) : constant(n.dtype, 1.0); }
  auto on(const VarNode& n) -> Expr override { return unit_.count(&n) > 0 ? zero(n.dtype) : self(n); }
  auto on(const For& n) -> Stmt override {
    if (!is_unit_loop(n)) { return Mutator::on(n); }
    unit_.insert(n.var.get());
    return mutate(n.body);
  }

 private:
  std::unordered_set<const VarNode*> unit_;
};

// A program that needs no change is not copied: most programs for processors need none.
class NeedsPreparation : public Visitor {
 public:
  using Visitor::on;
  bool found = false;
  void on(const Select&) override { found = true; }
  void on(const For& n) override {
    int add = n.for_kind == ForKind::ThreadBinding ? 1 : 0;
    bound_ += add;
    Visitor::on(n);
    bound_ -= add;
  }
  void on(const BlockRealize& n) override {
    found = found || (bound_ > 0 && n.block->init);
    for (const Expr& value : n.iter_values) { visit(value); }
    visit(n.predicate);
    if (n.block->init) { visit(n.block->init); }
    visit(n.block->body);
  }

 private:
  int bound_ = 0;
};

// Copies that layout rewriting marked: source and destination.
class FindLayoutBlocks : public Visitor {
 public:
  using Visitor::on;
  std::unordered_map<const BufferNode*, Buffer> made;
  static auto is_marked(const Block& n) -> bool {
    const Attr* attr = find_attr(n.annotations, "meta_schedule.layout_rewrite_preproc");
    return attr && attr->expr() && is_one(attr->expr());
  }
  void on(const Block& n) override {
    if (!is_marked(n)) { return Visitor::on(n); }
    const auto* store = n.body.as<BufferStore>();
    const auto* load = store ? store->value.as<BufferLoad>() : nullptr;
    if (load) { made[load->buffer.get()] = store->buffer; }
  }
};

class DropLayoutBlocks : public Mutator {
 public:
  using Mutator::on;
  explicit DropLayoutBlocks(const std::unordered_map<const BufferNode*, Buffer>& made) {
    for (const auto& [source, buffer] : made) { made_.insert(buffer.get()); }
  }
  auto on(const Block& n) -> Stmt override {
    if (FindLayoutBlocks::is_marked(n)) {
      Block::Fields fields = n.fields();
      fields.reads = fields.writes = {};
      fields.body = no_op();
      return make<Block>(std::move(fields), n.origin, n.id);
    }
    Stmt inner = Mutator::on(n);
    Block::Fields fields = inner.as<Block>()->fields();
    std::vector<Buffer> kept;
    for (const Buffer& b : fields.alloc_buffers) {
      if (made_.count(b.get()) == 0) { kept.push_back(b); }
    }
    if (kept.size() == fields.alloc_buffers.size()) { return inner; }
    fields.alloc_buffers = Sequence<Buffer>(std::move(kept));
    return make<Block>(std::move(fields), n.origin, n.id);
  }

 private:
  std::unordered_set<const BufferNode*> made_;
};

}  // namespace

auto is_unit_loop(const For& loop) -> bool { return loop.for_kind == ForKind::Serial && loop.annotations.empty() && is_zero(loop.min) && is_one(loop.extent); }

auto prepared_for_features(const Stmt& body) -> Stmt {
  NeedsPreparation needs;
  needs.visit(body);
  return needs.found ? with_thread_reductions(Simplify().mutate(body)) : body;
}

auto without_layout_blocks(const PrimFunc& func) -> PrimFunc {
  FindLayoutBlocks find;
  find.visit(func->body);
  if (find.made.empty()) { return func; }
  PrimFuncNode fields = *func;
  std::vector<std::pair<Var, Buffer>> buffers;
  for (const auto& [param, buffer] : func->buffer_map) {
    auto made = find.made.find(buffer.get());
    buffers.emplace_back(param, made == find.made.end() ? buffer : made->second);
  }
  fields.buffer_map = Array<std::pair<Var, Buffer>>(std::move(buffers));
  fields.body = DropLayoutBlocks(find.made).mutate(func->body);
  return make_func(std::move(fields));
}

}  // namespace loopsmith::tune::metaschedule
