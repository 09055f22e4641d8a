// Walking over loops: see walk.h.
#include "tune/metaschedule/features/walk.h"

#include "ir/ops.h"
#include "tune/metaschedule/features/prepared.h"

namespace loopsmith::tune::metaschedule {
namespace {

// The bound loops of a kernel, the outermost first.
class CollectBound : public Visitor {
 public:
  using Visitor::on;
  std::vector<const For*> loops;
  void on(const For& n) override {
    if (n.for_kind == ForKind::ThreadBinding && n.thread) { loops.push_back(&n); }
    visit(n.body);
  }
};

}  // namespace

void Walk::under(const Expr& condition, const Stmt& stmt) {
  conditions_.push_back(condition);
  visit(stmt);
  conditions_.pop_back();
}

void Walk::inside(const StmtNode* place, const Stmt& body) {
  auto here = allocations_.find(place);
  if (here == allocations_.end()) { return visit(body); }
  for (const Buffer& buffer : here->second) { enter_allocation(buffer); }
  visit(body);
  for (const Buffer& buffer : here->second) { leave_allocation(buffer); }
}

// Opens one loop per axis, in the order in which the axes first occur. Only the outermost loop keeps its annotations, as in TVM's UnifyThreadBinding.
void Walk::open_kernel(const For& outermost) {
  CollectBound bound;
  bound.on(outermost);
  std::unordered_map<Name, Var> by_axis;
  for (const For* loop : bound.loops) {
    auto [axis, is_new] = by_axis.emplace(loop->thread->thread_tag, loop->var);
    values_[loop->var.get()] = axis->second;
    if (!is_new) { continue; }
    AttrMap annotations = loop == &outermost ? loop->annotations : AttrMap();
    made_.push_back(make<For>(loop->var, loop->min, loop->extent, loop->for_kind, Stmt(), loop->thread, annotations, loop->origin, loop->id));
    nest_.push(*made_.back().as<For>());
    enter_loop(*made_.back().as<For>());
  }
  in_kernel_ = true;
  inside(&outermost, outermost.body);
  in_kernel_ = false;
  for (size_t i = 0; i < by_axis.size(); ++i) { nest_.pop(); }
}

void Walk::on(const For& n) {
  if (n.for_kind == ForKind::ThreadBinding && n.thread) { return in_kernel_ ? inside(&n, n.body) : open_kernel(n); }
  if (is_unit_loop(n)) {
    values_[n.var.get()] = zero(n.var->dtype);
    return visit(n.body);
  }
  const For* loop = &n;
  if (!as_int(n.min) || !as_int(n.extent)) {
    made_.push_back(make<For>(n.var, outside_blocks(n.min), outside_blocks(n.extent), n.for_kind, Stmt(), n.thread, n.annotations, n.origin, n.id));
    loop = made_.back().as<For>();
  }
  nest_.push(*loop);
  enter_loop(*loop);
  inside(&n, n.body);
  nest_.pop();
}

void Walk::on(const BlockRealize& n) {
  const Block& block = *n.block;
  Expr first;   // true in the instances that run the init
  for (size_t i = 0; i < n.iter_values.size(); ++i) {
    const IterVar& iter = block.iter_vars[i];
    values_[iter.var.get()] = cast(iter.var->dtype, outside_blocks(n.iter_values[i]));
    if (iter.kind != IterKind::Reduction) { continue; }
    Expr at_start = equal(Expr(iter.var), iter.dom.min);
    first = first ? logical_and(first, at_start) : at_start;
  }
  bool is_guarded = !is_one(n.predicate);
  if (is_guarded) { conditions_.push_back(outside_blocks(n.predicate)); }
  for (const MatchBufferRegion& match : block.match_buffers) {
    std::vector<Range> region;
    for (const Range& r : match.source.region) { region.push_back({outside_blocks(r.min), outside_blocks(r.extent)}); }
    views_[match.buffer.get()] = {match.source.buffer, Array<Range>(region)};
    view(match.source.buffer, Array<Range>(std::move(region)));
  }
  Stmt body = block.body;
  if (block.init) { body = seq({first ? make<IfThenElse>(first, block.init) : block.init, block.body}); }
  inside(&block, body);
  if (is_guarded) { conditions_.pop_back(); }
}

}  // namespace loopsmith::tune::metaschedule
