// Checks the places of a moved block and its neighbours: see relocation.h.
#include "schedule/placement/relocation.h"

#include <algorithm>
#include <functional>
#include <utility>

#include <fmt/format.h>

#include "ir/ops.h"
#include "ir/visitor.h"
#include "schedule/block_classes.h"
#include "schedule/hidden.h"
#include "schedule/requirements.h"
#include "schedule/rewriting.h"
#include "support/codes.h"
#include "support/fault.h"

namespace loopsmith::schedule::placement {

auto Relocation::error(Code code) const -> Diagnostic {
  return cx.error(code).arg("block", block->name().view()).arg("loop", loop->name().view());
}

auto Relocation::reads_too_early(const BufferNode& buffer, NodeId producer) const -> Diagnostic {
  Diagnostic out = note_loop(error(Code::ReadsTooEarly).arg("buffer", buffer.name.view()).arg("producer", func.find(producer)->name().view()), *loop);
  out.node_ids.push_back(block->id);
  out.node_ids.push_back(producer);
  return out;
}

auto Relocation::region_not_solved(std::string_view buffer) const -> Diagnostic {
  return note_block(cx.error(Code::RegionNotSolved).arg("block", block->name().view()).arg("buffer", buffer).arg("loop", loop->name().view()), *block);
}

auto Relocation::output_not_solved(std::string_view otherwise) const -> Diagnostic {
  return region_not_solved(moved().writes.empty() ? otherwise : moved().writes[0].buffer->name.view());
}

namespace {

auto loop_around_block(const Relocation& move) -> Diagnostic {
  return move.error(Code::LoopAroundBlock).arg("relation", move.cx.primitive.name == "reverse_compute_at" ? "producer" : "consumer");
}

// The error that the loop is in another function or block.
auto other_scope(const Relocation& move) -> Diagnostic {
  if (move.loop.func != &move.func) {
    return move.error(Code::NotInSameScope).arg("scope", fmt::format("function `{}`", move.func.name().view())).arg("other", fmt::format("function `{}`", move.loop.func->name().view()))
        .remedy(fmt::format("choose a loop of `{}`", move.func.name().view()));
  }
  auto name_of = [](const Place& scope) { return scope.parent < 0 ? std::string("the root block") : fmt::format("block `{}`", scope.name().view()); };
  const Place* other = move.func.scope(*move.loop);
  return move.error(Code::NotInSameScope).arg("scope", name_of(move.scope)).arg("other", other ? name_of(*other) : "no block")
      .remedy(fmt::format("choose a loop that is directly in {}", name_of(move.scope)));
}

}  // namespace

auto begin_relocation(const Context& cx, const BlockArg& block, const LoopArg& loop) -> Result<Relocation> {
  const FuncState& func = *block.func;
  LOOPSMITH_TRY(scope, require_scope(cx, block));
  LOOPSMITH_CHECK(require_free_to_move(cx, func, *block, loop.func == &func ? loop.place : nullptr));
  LOOPSMITH_CHECK(require_stage_pipeline(cx, func, *scope));
  LOOPSMITH_CHECK(require_complete_or_reduction(cx, func, *block));
  Relocation move{.cx = cx, .block = block, .loop = loop, .func = func, .scope = *scope,
                  .producers = producers_of(func, *block), .consumers = consumers_of(func, *block), .outer = {}};
  std::erase_if(move.producers, [&](NodeId id) {
    auto all = func.scope_info(*scope).of_dst(block->id);
    return std::none_of(all.begin(), all.end(), [&](const Dependence& d) { return d.src == id && d.kind != DependenceKind::War && !d.is_hidden; });
  });
  bool is_around = loop.func == &func && func.is_below(*block, *loop);
  if (loop.func != &func || loop->scope != scope->index || is_around) {
    return note_loop(note_block(is_around ? loop_around_block(move) : other_scope(move), *block), *loop);
  }
  for (const Place* at = loop.place; at && at->is_loop(); at = func.parent(*at)) {
    move.outer.insert(move.outer.begin(), {at->loop->var, Range{at->loop->min, at->loop->extent}});
  }
  return move;
}

void bind_surroundings(const Relocation& move, arith::Analyzer& analyzer) {
  for (const auto& [param, buffer] : move.func.func()->buffer_map) {
    for (const Expr& extent : buffer->shape) {
      if (extent.as<VarNode>()) { analyzer.mark_non_negative(extent.ref<VarNode>()); }
    }
  }
  // Binds the innermost loop first: TVM tried its proofs in this order.
  for (auto loop = move.outer.rbegin(); loop != move.outer.rend(); ++loop) { analyzer.bind(loop->first, loop->second); }
}

auto require_no_output(const Relocation& move) -> Status {
  if (!is_output_block(move.func, *move.block, move.scope)) { return ok(); }
  const auto& writes = move.moved().writes;
  return note_block(move.cx.error(Code::OutputBlock).arg("block", move.block->name().view()).arg("buffer", writes.empty() ? "" : writes[0].buffer->name.view()), *move.block);
}

auto require_domains_at_loop(const Relocation& move) -> Status {
  for (const IterVar& iter : move.moved().iter_vars) {
    for (const Place* at = move.func.parent(*move.block); at && at->is_loop(); at = move.func.parent(*at)) {
      if (move.func.is_below(*move.loop, *at)) { continue; }
      auto is_this = [&](const VarNode& v) { return &v == at->loop->var.get(); };
      if (uses_var(iter.dom.min, is_this) || uses_var(iter.dom.extent, is_this)) {
        return note_loop(note_block(move.cx.error(Code::IterDomainDependent).arg("block", move.block->name().view()).arg("iter", iter.var->name.view()).arg("loop", at->name().view()), *move.block), *at);
      }
    }
  }
  return ok();
}

auto require_behind_producers(const Relocation& move) -> Status {
  const FuncState& func = move.func;
  const Place* outermost = move.loop.place;
  while (func.parent(*outermost)->is_loop() && !func.is_below(*move.block, *func.parent(*outermost))) { outermost = func.parent(*outermost); }
  for (const Dependence& d : func.scope_info(move.scope).of_dst(move.block->id)) {
    if (d.kind != DependenceKind::Raw) { continue; }
    // A block without consumers may move up, but not past its producers.
    const Place& producer = *func.find(d.src);
    bool is_late = d.is_hidden ? producer.end > outermost->index : producer.index >= move.loop->end;
    if (!is_late) { continue; }
    Diagnostic out = move.reads_too_early(*d.buffer, d.src);
    if (!d.is_hidden) { return out; }
    return std::move(out).note(move.moved().origin, fmt::format("`{}` loads `{}`, which its `T.reads` does not list", move.block->name().view(), d.buffer->name.view()), move.block->id);
  }
  return ok();
}

// ---- the position under the loop -----------------------------------------------------------------------

namespace {

auto blocks_in(const Stmt& stmt) -> std::vector<NodeId> {
  std::vector<NodeId> out;
  std::function<void(const Stmt&)> walk = [&](const Stmt& s) {
    if (const auto* realize = s.as<BlockRealize>()) {
      out.push_back(realize->block->id);
      return;
    }
    visit_children(s, [](const Expr&) {}, walk);
  };
  walk(stmt);
  return out;
}

auto holds(const std::vector<NodeId>& ids, NodeId id) -> bool { return std::find(ids.begin(), ids.end(), id) != ids.end(); }

// The statements of the loop's body, and the positions of the block's neighbours among them.
struct Neighbours {
  int count = 0;
  int last_producer = -1;
  int first_consumer = 0;                    // `count` if no consumer is under the loop
  std::vector<NodeId> seen;                  // all blocks under the loop
};

auto neighbours_under(const Relocation& move) -> Result<Neighbours> {
  std::vector<Stmt> statements;
  if (const auto* n = move.loop.loop().body.as<SeqStmt>()) { statements = n->seq.to_vector(); } else { statements.push_back(move.loop.loop().body); }
  Neighbours out{.count = static_cast<int>(statements.size()), .first_consumer = static_cast<int>(statements.size()), .seen = {}};
  NodeId producer = 0, consumer = 0;         // the last producer, the first consumer
  for (int i = 0; i < out.count; ++i) {
    for (NodeId id : blocks_in(statements[static_cast<size_t>(i)])) {
      out.seen.push_back(id);
      if (holds(move.producers, id)) {
        out.last_producer = i;
        producer = id;
      }
      if (holds(move.consumers, id) && i < out.first_consumer) {
        out.first_consumer = i;
        consumer = id;
      }
    }
  }
  if (out.last_producer >= out.first_consumer) {
    return note_loop(note_block(move.error(Code::NoInsertionPoint).arg("producer", move.func.find(producer)->name().view())
                                    .arg("consumer", move.func.find(consumer)->name().view()), *move.block), *move.loop);
  }
  return out;
}

// A diagnostic about the block, the loop and another block.
auto with_other(Diagnostic diagnostic, const Relocation& move, const Place& other) -> Diagnostic {
  Diagnostic out = note_loop(std::move(diagnostic), *move.loop);
  out.node_ids.push_back(move.block->id);
  out.node_ids.push_back(other.id);
  out.notes.push_back({other.block()->origin, fmt::format("`{}` is here", other.name().view()), other.id});
  return out;
}

auto choose_position(const Relocation& move, const Neighbours& neighbours, int64_t index) -> Result<int> {
  if (index == -1) { return FAULT(compute_at_behind_consumer) ? neighbours.count : neighbours.first_consumer; }
  int first = neighbours.last_producer + 1;
  if (index == -2) { return first; }
  if (index >= first && index <= neighbours.first_consumer) { return static_cast<int>(index); }
  return note_loop(move.cx.error(Code::InsertionIndex).arg("index", index).arg("first", first).arg("last", neighbours.first_consumer), *move.loop);
}

}  // namespace

auto position_before_consumers(const Relocation& move, int64_t index) -> Result<int> {
  LOOPSMITH_TRY(neighbours, neighbours_under(move));
  for (NodeId id : move.consumers) {
    if (holds(neighbours.seen, id)) { continue; }
    const Place& other = *move.func.find(id);
    Diagnostic out = with_other(move.error(Code::NotUnderLoop).arg("other", other.name().view()).arg("relation", "consumer"), move, other);
    return std::move(out).remedy(fmt::format("choose a loop around all consumers of `{}`, or move them under `{}` first", move.block->name().view(), move.loop->name().view()));
  }
  return choose_position(move, neighbours, index);
}

auto position_behind_producers(const Relocation& move, int64_t index) -> Result<int> {
  LOOPSMITH_TRY(neighbours, neighbours_under(move));
  for (NodeId id : move.producers) {
    if (holds(neighbours.seen, id)) { continue; }
    const Place& other = *move.func.find(id);
    Diagnostic out = with_other(move.error(Code::NotUnderLoop).arg("other", other.name().view()).arg("relation", "producer"), move, other);
    return std::move(out).remedy(fmt::format("choose a loop around all producers of `{}`", move.block->name().view()));
  }
  // Without producers under the loop, a block may move up, but not past its consumers.
  for (NodeId id : move.consumers) {
    const Place& other = *move.func.find(id);
    if (holds(neighbours.seen, id) || other.index > move.loop->index) { continue; }
    return with_other(move.error(Code::ConsumerBefore).arg("other", other.name().view()), move, other);
  }
  return choose_position(move, neighbours, index);
}

}  // namespace loopsmith::schedule::placement
