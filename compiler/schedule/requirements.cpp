// The checks that several primitives share, with their diagnostics: see requirements.h.
#include "schedule/requirements.h"

#include <algorithm>
#include <unordered_set>

#include <fmt/format.h>

#include "ir/ops.h"
#include "ir/printer.h"
#include "ir/visitor.h"
#include "schedule/block_classes.h"
#include "schedule/facts/bindings.h"
#include "schedule/facts/instances.h"
#include "schedule/facts/outside_blocks.h"
#include "schedule/func_tree.h"
#include "schedule/hidden.h"
#include "schedule/rewriting.h"
#include "schedule/threads.h"
#include "support/codes.h"
#include "support/fault.h"
#include "support/reasons.h"

namespace loopsmith::schedule {

namespace {

// A buffer that both the block and a plain statement of the scope touch, one of them writing it.
struct Shared { const BufferNode* buffer = nullptr; bool is_written = false; };
auto shared_with(const OutsideBlocks::Touched& touched, const FuncState& func, const Place& block) -> Shared {
  for (const BufferRegion& write : block.block()->writes) {
    const VarNode* data = write.buffer->data.get();
    if (touched.writes.contains(data) || touched.reads.contains(data)) { return {write.buffer.get(), touched.writes.contains(data)}; }
  }
  for (const BufferRegion& read : block.block()->reads) {
    if (touched.writes.contains(read.buffer->data.get())) { return {read.buffer.get(), true}; }
  }
  for (const Buffer& read : func.hidden_reads(block)) {
    if (touched.writes.contains(read->data.get())) { return {read.get(), true}; }
  }
  return {};
}

}  // namespace

auto require_blocks_only(const Context& cx, const PlaceArg& loop, bool no_loads) -> Status {
  const OutsideBlocks& outside = loop.func->outside_blocks();
  const bool has_statements = outside.loops_with_statements.contains(loop->id) || (no_loads && outside.loops_with_loads.contains(loop->id));
  if (!has_statements || FAULT(statement_order_ignored)) { return ok(); }
  return note_loop(cx.error(Code::ControlFlow).arg("name", loop->name().view()).arg("reason", because(Why::StatementsOutsideBlocks).text()), *loop)
      .remedy("put these statements into a block");
}

namespace {

// Checks that no plain statement of the block's scope conflicts with the block.
auto require_no_conflict(const Context& cx, const FuncState& func, const Place& block) -> Status {
  const OutsideBlocks& outside = func.outside_blocks();
  const Place* scope = func.scope(block);
  auto touched = scope ? outside.touched.find(scope->id) : outside.touched.end();
  if (touched == outside.touched.end() || FAULT(statement_ignored)) { return ok(); }
  Shared shared = shared_with(touched->second, func, block);
  if (!shared.buffer) { return ok(); }
  return note_block(cx.error(Code::PlainStatement).arg("name", block.name().view()).arg("buffer", shared.buffer->name.view())
                        .arg("access", shared.is_written ? "writes" : "reads"), block)
      .remedy("put that statement into a block");
}

}  // namespace

namespace {

// The memory that the block accesses (that it writes) has no second buffer: accesses of other blocks through that one would seem independent.
auto require_one_buffer(const Context& cx, const FuncState& func, const Place& block, bool writes_only) -> Status {
  const auto& second = func.outside_blocks().second_buffers;
  if (second.empty()) { return ok(); }
  for (const Array<BufferRegion>* regions : {&block.block()->writes, &block.block()->reads}) {
    if (writes_only && regions == &block.block()->reads) { break; }
    for (const BufferRegion& region : *regions) {
      auto found = second.find(region.buffer->data.get());
      if (found == second.end()) { continue; }
      return note_block(cx.error(Code::ControlFlow).arg("name", block.name().view()).arg("reason", because(Why::IsView).arg("buffer", found->second->name.view()).text()), block)
          .remedy("access the memory through one buffer");
    }
  }
  return ok();
}

// A `while` repeats the whole loop, and the call changes only the inside of the loop: then the `while` repeats the changed loop.
auto is_repeated_whole(const Context& cx, const PlaceArg& at, Why why) -> bool {
  const bool is_within = at->is_loop() && (cx.primitive.effects.order == Order::Kept || has(cx.primitive.effects.hidden, Hidden::ReordersIterations));
  if (!is_within || why != Why::RepeatedByWhile) { return false; }
  bool holds_while = false;
  post_order(at->loop->body, [&](const Stmt& s) { holds_while = holds_while || s.as<While>(); }, [](const Expr&) {});
  return !holds_while;
}

}  // namespace

auto require_no_second_buffer(const Context& cx, const PlaceArg& block) -> Status { return require_one_buffer(cx, *block.func, *block, true); }

auto require_nothing_between(const Context& cx, const PlaceArg& at) -> Status {
  const Order order = cx.primitive.effects.order;
  const OutsideBlocks& outside = at.func->outside_blocks();
  if (outside.empty()) { return ok(); }
  if (at->is_block()) {
    if (order != Order::Untouched) { LOOPSMITH_CHECK(require_one_buffer(cx, *at.func, *at, false)); }
  } else if (order != Order::Untouched && order != Order::Kept) {
    for (const Place* block : at.func->child_blocks(*at)) { LOOPSMITH_CHECK(require_one_buffer(cx, *at.func, *block, false)); }
  }
  if (order == Order::Untouched) { return ok(); }
  if (auto skipped = outside.skipped.find(at->id); skipped != outside.skipped.end() && !is_repeated_whole(cx, at, skipped->second.why) && !FAULT(jump_ignored)) {
    Diagnostic d = cx.error(Code::ControlFlow).arg("name", at->name().view()).arg("reason", skipped->second.text());
    return (at->is_block() ? note_block(std::move(d), *at) : note_loop(std::move(d), *at)).note(outside.jump_at.at(at->id), "it stands here");
  }
  if (at->is_block()) {
    if (order == Order::LoopsReshaped) {
      for (const Place* loop : at.func->loops(*at)) { LOOPSMITH_CHECK(require_blocks_only(cx, PlaceArg{at.func, loop})); }
    }
    return require_no_conflict(cx, *at.func, *at);
  }
  if (order != Order::Kept) { LOOPSMITH_CHECK(require_blocks_only(cx, at)); }
  // The blocks of the later loop move to the first one.
  if (order == Order::Merged) {
    for (const Place* block : at.func->child_blocks(*at)) { LOOPSMITH_CHECK(require_no_conflict(cx, *at.func, *block)); }
  }
  return ok();
}

auto at_block(Diagnostic diagnostic, const Place& block) -> Diagnostic {
  return std::move(diagnostic).arg("block", block.name().view()).at_node(block.id)
      .note(block.block()->origin, fmt::format("`{}` is here", block.name().view()), block.id);
}

auto require_own_domain(const Context& cx, const FuncState& func, const Place& block, const IterVar& iter) -> Status {
  if (as_int(iter.dom.min) && as_int(iter.dom.extent)) { return ok(); }
  for (const Place* at = func.parent(block); at; at = func.parent(*at)) {
    if (!at->is_loop()) { continue; }
    auto is_this = [&](const VarNode& v) { return &v == at->loop->var.get(); };
    if (!uses_var(iter.dom.min, is_this) && !uses_var(iter.dom.extent, is_this)) { continue; }
    return note_loop(note_block(cx.error(Code::IterDomainDependent).arg("block", block.name().view()).arg("iter", iter.var->name.view()).arg("loop", at->name().view()), block), *at);
  }
  return ok();
}

auto require_own_domains(const Context& cx, const FuncState& func, const Place& block) -> Status {
  for (const IterVar& iter : block.block()->iter_vars) { LOOPSMITH_CHECK(require_own_domain(cx, func, block, iter)); }
  return ok();
}

auto require_one_sum(const Context& cx, const FuncState& func, const Place& producer, const Place* outside) -> Status {
  if (!producer.block()->init) { return ok(); }
  for (const Place* at = func.parent(producer); at && at->is_loop() && !(outside && (at == outside || func.is_below(*outside, *at))); at = func.parent(*at)) {
    if (!runs_at_once(*at->loop)) { continue; }
    bool is_shared = repeats_instances(*producer.realize, *at->loop) ||
                     counted_sharing(loop_domains(func, producer), at->loop->var, producer.realize->iter_values.to_vector(), producer.realize->predicate).value_or(false);
    if (!is_shared) { continue; }
    return note_block(note_loop(cx.error(Code::ReductionShared).arg("block", producer.name().view()).arg("loop", at->name().view()), *at), producer);
  }
  return ok();
}

auto root_block_error(const Context& cx, const FuncState& func, const Place& root) -> Diagnostic {
  Diagnostic out = cx.error(Code::RootBlock).arg("block", root.name().view()).at_node(root.id);
  const auto inside = func.child_blocks(root);
  if (!inside.empty()) { out.remedies.push_back(fmt::format("choose a block inside of it: `sch.get_block(\"{}\")`", inside.front()->name().view())); }
  return out;
}

auto require_scope(const Context& cx, const PlaceArg& at) -> Result<const Place*> {
  if (const Place* scope = at.func->scope(*at)) { return scope; }
  return root_block_error(cx, *at.func, *at);
}

auto require_stage_pipeline(const Context& cx, const FuncState& func, const Place& scope) -> Status {
  const Cover& cover = func.cover(scope);
  if (cover.stage_pipeline) { return ok(); }
  Diagnostic out = at_block(cx.error(Code::NotStagePipeline), scope);
  std::vector<Dependence> overwriting;
  for (const Place* block : func.child_blocks(scope)) {
    for (const Dependence& d : func.scope_info(scope).of_dst(block->id)) {
      if (d.kind == DependenceKind::War && overwriting.empty()) { overwriting.push_back(d); }
    }
  }
  for (const Dependence& d : overwriting) {
    const Place& dst = *func.find(d.dst);
    out.notes.push_back({dst.block()->origin,
                         fmt::format("`{}` overwrites `{}` after `{}` reads it", dst.name().view(), d.buffer->name.view(), func.find(d.src)->name().view()), d.dst});
    out.node_ids.push_back(d.dst);
    break;
  }
  for (NodeId id : cover.uncovered) {
    const Place& block = *func.find(id);
    out.notes.push_back({block.block()->origin, fmt::format("`{}` may read more than was written before it", block.name().view()), id});
    out.node_ids.push_back(id);
  }
  return out;
}

auto require_complete(const Context& cx, const FuncState& func, const Place& block) -> Status {
  auto why = why_not_complete(func, block);
  if (!why) { return ok(); }
  return at_block(cx.error(Code::NotComplete).arg("reason", why->text()), block);
}

auto require_reduction(const Context& cx, const FuncState& func, const Place& block) -> Status {
  auto why = why_not_reduction(func, block);
  if (!why) { return ok(); }
  return at_block(cx.error(Code::NotReduction).arg("reason", why->text()), block);
}

auto require_complete_or_reduction(const Context& cx, const FuncState& func, const Place& block) -> Status {
  auto not_complete = why_not_complete(func, block);
  if (!not_complete) { return ok(); }
  auto not_reduction = why_not_reduction(func, block);
  if (!not_reduction) { return ok(); }
  return at_block(cx.error(Code::NotCompleteOrReduction).arg("complete", not_complete->text()).arg("reduction", not_reduction->text()), block);
}

auto require_compact_dataflow(const Context& cx, const FuncState& func, const Place& subtree) -> Status {
  for (const Place* block : func.child_blocks(subtree)) {
    auto not_complete = why_not_complete_locally(*block->block());
    if (!not_complete) { continue; }
    auto not_reduction = why_not_reduction_locally(func, *block);
    if (!not_reduction) { continue; }
    return at_block(cx.error(Code::NotCompact).arg("subtree", subtree.name().view()).arg("complete", not_complete->text()).arg("reduction", not_reduction->text()),
                    *block).at_node(subtree.id);
  }
  return ok();
}

auto require_independent_loops(const Context& cx, const FuncState& func, const Place& block) -> Status {
  std::unordered_set<const VarNode*> outer;
  for (const Place* at : func.loops(block)) {
    const VarNode* used = nullptr;
    auto is_outer = [&](const VarNode& v) { return outer.count(&v) ? (used = &v, true) : false; };
    if (uses_var(at->loop->extent, is_outer) || uses_var(at->loop->min, is_outer)) {
      return note_loop(cx.error(Code::LoopDependent).arg("loop", at->name().view()).arg("on", used->name.view()), *at);
    }
    outer.insert(at->loop->var.get());
  }
  return ok();
}

auto require_affine_binding(const Context& cx, const FuncState& func, const Place& block) -> Status {
  if (func.is_affine_binding(block)) { return ok(); }
  std::vector<std::string> bindings;
  for (size_t i = 0; i < block.realize->iter_values.size(); ++i) {
    bindings.push_back(fmt::format("`{} = {}`", block.block()->iter_vars[i].var->name.view(), print_script(block.realize->iter_values[i])));
  }
  return at_block(cx.error(Code::NotAffine).arg("bindings", in_words(bindings)), block)
      .remedy("bind each iter var to loop variables with constant factors, and use each loop variable in one binding only");
}

auto require_buffer(const Context& cx, const Place& block, int64_t index, bool is_write) -> Result<BufferRegion> {
  const auto& regions = is_write ? block.block()->writes : block.block()->reads;
  if (index >= 0 && index < static_cast<int64_t>(regions.size())) {
    const BufferRegion& region = regions[static_cast<size_t>(index)];
    LOOPSMITH_CHECK(require_buffer_not_hidden(cx, block, region.buffer, is_write));
    return region;
  }
  Diagnostic out = at_block(cx.error(Code::BufferIndex).arg("index", index).arg("count", static_cast<int64_t>(regions.size()))
                                .arg("access", is_write ? "writes" : "reads"), block);
  std::vector<std::string> choices;
  for (size_t i = 0; i < regions.size(); ++i) { choices.push_back(fmt::format("{} for `{}`", i, regions[i].buffer->name.view())); }
  if (!choices.empty()) { out.remedies.push_back("give " + in_words(choices)); }
  return out;
}

auto in_words(const std::vector<std::string>& names) -> std::string {
  std::string out;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i) { out += i + 1 == names.size() ? " and " : ", "; }
    out += names[i];
  }
  return out;
}

}  // namespace loopsmith::schedule
