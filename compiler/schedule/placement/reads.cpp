// Checks the elements that a moved block reads at its new place: see reads.h.
#include "schedule/placement/reads.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "arith/int_set.h"
#include "ir/ops.h"
#include "ir/visitor.h"
#include "schedule/block_classes.h"
#include "schedule/facts/replacement.h"
#include "schedule/rewriting.h"
#include "support/codes.h"
#include "support/fault.h"

namespace loopsmith::schedule::placement {

using arith::IntSet;

namespace {

// True if a block reads a buffer that the producer writes.
auto reads_of_producer(const Place& block, const Place& producer) -> bool {
  for (const BufferRegion& read : block.block()->reads) {
    for (const BufferRegion& write : producer.block()->writes) { if (read.buffer == write.buffer) { return true; } }
  }
  return false;
}

// True if a value loaded from a buffer of the producers decides an index, a divisor, a condition or the bounds of a loop. If such a value is read
// before it is written, the error remains even where a later instance overwrites the result.
auto decides_by_loads(const FuncState& func, const Block& block, const std::vector<NodeId>& producers) -> bool {
  static const Name if_then_else_name("if_then_else");
  bool found = false;
  auto look_at = [&](const Expr& expr) {
    post_order(expr, [&](const Expr& e) {
      const auto* load = e.as<BufferLoad>();
      if (!load) { return; }
      for (NodeId id : producers) {
        for (const BufferRegion& write : func.find(id)->block()->writes) { if (write.buffer == load->buffer) { found = true; } }
      }
    });
  };
  auto on_expr = [&](const Expr& e) {
    if (const auto* n = e.as<BufferLoad>()) { for (const Expr& index : n->indices) { look_at(index); } }
    if (const auto* n = e.as<FloorDiv>()) { look_at(n->b); }
    if (const auto* n = e.as<FloorMod>()) { look_at(n->b); }
    if (const auto* n = e.as<Div>(); n && !n->b.dtype().is_float()) { look_at(n->b); }
    if (const auto* n = e.as<Mod>(); n && !n->b.dtype().is_float()) { look_at(n->b); }
    if (const auto* n = e.as<Let>()) { look_at(n->value); }
    if (const auto* n = e.as<Call>(); n && n->op == if_then_else_name && !n->args.empty()) { look_at(n->args[0]); }
  };
  auto on_stmt = [&](const Stmt& s) {
    if (const auto* n = s.as<BufferStore>()) { for (const Expr& index : n->indices) { look_at(index); } }
    if (const auto* n = s.as<For>()) { look_at(n->min); look_at(n->extent); }
    if (const auto* n = s.as<IfThenElse>()) { look_at(n->condition); }
    if (const auto* n = s.as<LetStmt>()) { look_at(n->value); }
  };
  if (block.init) { post_order(block.init, on_stmt, on_expr); }
  post_order(block.body, on_stmt, on_expr);
  return found;
}

// True if `made` contains every element of `needed` that lies within the buffer.
auto is_within(const Box& made, const Box& needed, const BufferNode& buffer, arith::Analyzer& analyzer) -> bool {
  for (size_t i = 0; i < made.size(); ++i) {
    Expr last = buffer.shape[i] - one(buffer.shape[i].dtype());
    bool is_made = needed[i].has_lower_bound() && needed[i].has_upper_bound() && made[i].has_lower_bound() && made[i].has_upper_bound() &&
                   (analyzer.can_prove(less_equal(made[i].min(), needed[i].min())) || analyzer.can_prove(less_equal(made[i].min(), zero(last.dtype())))) &&
                   (analyzer.can_prove(less_equal(needed[i].max(), made[i].max())) || analyzer.can_prove(less_equal(last, made[i].max())));
    if (!is_made) { return false; }
  }
  return true;
}

// The block's read in terms of the new loops.
auto read_at_new_place(const Relocation& move, const Nest& nest, const BufferRegion& read, const arith::DomMap& domains) -> Box {
  VarMap map;
  for (size_t i = 0; i < nest.iter_values.size(); ++i) { map.emplace(move.moved().iter_vars[i].var.get(), nest.iter_values[i]); }
  std::vector<Range> ranges;
  for (const Range& range : read.region) { ranges.push_back(substitute(range, map)); }
  return arith::eval_set(Array<Range>(std::move(ranges)), domains);
}

auto domains_of(const Nest& nest) -> arith::DomMap {
  arith::DomMap domains;
  for (const auto& [var, range] : nest.loops) { domains.emplace(var.get(), IntSet::from_range(range)); }
  return domains;
}

auto producer_note(Diagnostic diagnostic, const Place& producer) -> Diagnostic {
  return std::move(diagnostic).note(producer.block()->origin, fmt::format("`{}` is here", producer.name().view()), producer.id);
}

// For a block that moves under a loop of its producers: with the new loops it reads only elements that an iteration of the loop writes.
auto require_written(const Relocation& move, const Nest& nest, arith::Analyzer& analyzer) -> Status {
  for (const BufferRegion& read : move.moved().reads) {
    std::vector<Box> written;
    const Place* producer = nullptr;
    for (NodeId id : move.producers) {
      const Place& other = *move.func.find(id);
      for (const BufferRegion& write : other.block()->writes) {
        if (write.buffer != read.buffer) { continue; }
        written.push_back(relaxed(move.func, other, *move.loop, write, Threads::AtOne));
        producer = &other;
      }
    }
    if (written.empty()) { continue; }
    if (!is_within(unite(written), read_at_new_place(move, nest, read, domains_of(nest)), *read.buffer, analyzer)) {
      return producer_note(move.reads_too_early(*read.buffer, producer->id), *producer).remedy(fmt::format("choose a loop outside of `{}`", move.loop->name().view()));
    }
  }
  return ok();
}

// Sums that producers accumulate over the loop, or over a loop around it, must be complete when the block reads them. An instance that runs in
// every iteration also runs in the last one, and so gets the right values in the end, unless incomplete values select the elements that it accesses.
auto require_complete_sums(const Relocation& move, const Nest& nest, bool decides_by_them) -> Status {
  for (NodeId id : move.producers) {
    const Place& producer = *move.func.find(id);
    for (const Place* at = move.loop.place; at && at->is_loop(); at = move.func.parent(*at)) {
      if (is_one(at->loop->extent)) { continue; }
      auto is_this = [&](const VarNode& v) { return &v == at->loop->var.get(); };
      bool reduces = false;
      for (size_t i = 0; i < producer.realize->iter_values.size(); ++i) {
        reduces |= producer.block()->iter_vars[i].kind == IterKind::Reduction && uses_var(producer.realize->iter_values[i], is_this);
      }
      bool chooses = decides_by_them || uses_var(nest.predicate, is_this) || nest.uses(at->loop->var);
      if (!reduces || !chooses || !reads_of_producer(*move.block, producer)) { continue; }
      Diagnostic out = note_loop(move.error(Code::ReadsTooEarly).arg("buffer", producer.block()->writes[0].buffer->name.view()).arg("producer", producer.name().view()), *at);
      out.node_ids.push_back(move.block->id);
      out.node_ids.push_back(producer.id);
      return std::move(out).remedy(fmt::format("choose a loop outside of `{}`, over which `{}` reduces", at->name().view(), producer.name().view()));
    }
  }
  return ok();
}

}  // namespace

auto require_known_starts(const Relocation& move, const Nest& nest) -> Status {
  for (const Expr& value : nest.iter_values) {
    const BufferNode* looked_up = nullptr;
    post_order(value, [&](const Expr& e) {
      const auto* load = e.as<BufferLoad>();
      if (load) { looked_up = load->buffer.get(); }
    });
    if (looked_up) { return move.region_not_solved(looked_up->name.view()).note(move.moved().origin, fmt::format("the needed instances follow from the contents of `{}`", looked_up->name.view()), move.block->id); }
  }
  return ok();
}

auto require_reads_after_producers(const Relocation& move, const Nest& nest, bool reads_several, arith::Analyzer& analyzer) -> Status {
  if (FAULT(reverse_compute_at_too_early)) { return ok(); }
  bool decides_by_them = decides_by_loads(move.func, move.moved(), move.producers);
  if (decides_by_them) {
    auto counted = counted_replacement(move.func, *move.loop, move.moved(), nest.loops, nest.iter_values, nest.predicate, true);
    decides_by_them = !counted || counted->reads_unmade || counted->reads_early;
  }
  if (reads_several || decides_by_them) { LOOPSMITH_CHECK(require_written(move, nest, analyzer)); }
  return require_complete_sums(move, nest, decides_by_them);
}

auto require_reads_made(const Relocation& move, const Nest& nest, arith::Analyzer& analyzer) -> Status {
  const FuncState& func = move.func;
  const Place* late = nullptr;
  const BufferNode* unmade = nullptr;
  for (const BufferRegion& read : move.moved().reads) {
    std::vector<Box> boxes;
    // For each producer the innermost loop that the block will share with it; of these loops, the outermost.
    const Place* outermost = nullptr;
    const Place* producer = nullptr;
    for (NodeId id : producers_of(func, *move.block)) {
      const Place& other = *func.find(id);
      const Place* shared = move.loop.place;
      while (shared && shared->is_loop() && !func.is_below(other, *shared)) { shared = func.parent(*shared); }
      bool is_repeated = false;
      for (const Place* at = shared; at && at->is_loop(); at = func.parent(*at)) { is_repeated = is_repeated || !is_one(at->loop->extent); }
      if (!is_repeated) { continue; }
      for (const BufferRegion& write : other.block()->writes) {
        if (write.buffer != read.buffer) { continue; }
        boxes.push_back(relaxed(func, other, *shared, write, Threads::AtOne));
        if (!outermost || shared->index < outermost->index) { outermost = shared; }
        producer = &other;
      }
    }
    if (boxes.empty()) { continue; }
    arith::DomMap domains = domains_of(nest);
    for (const Place* at = move.loop.place; at != outermost; at = func.parent(*at)) {
      domains.emplace(at->loop->var.get(), IntSet::from_range(Range{at->loop->min, at->loop->extent}));
    }
    if (is_within(unite(boxes), read_at_new_place(move, nest, read, domains), *read.buffer, analyzer)) { continue; }
    late = producer;
    unmade = read.buffer.get();
  }
  if (!late) { return ok(); }
  // If the iterations make the whole buffer, running them decides.
  if (func.is_below(*late, *move.loop)) {
    auto counted = counted_replacement(func, *move.loop, move.moved(), nest.loops, nest.iter_values, nest.predicate, true);
    if (counted && !counted->reads_unmade) { return ok(); }
  }
  return producer_note(move.reads_too_early(*unmade, late->id), *late);
}

}  // namespace loopsmith::schedule::placement
