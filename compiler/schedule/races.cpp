// Finds races that a primitive would cause: among iterations that run at the same time, one touches elements that another one writes.
#include "schedule/races.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "schedule/block_classes.h"
#include "schedule/counted_races.h"
#include "schedule/facts/bindings.h"
#include "schedule/primitive.h"
#include "schedule/rewriting.h"
#include "schedule/staging.h"
#include "schedule/threads.h"
#include "support/codes.h"

namespace loopsmith::schedule {
namespace {

// The loops whose iterations run at the same time: those around the changes, and those in the changed code.
auto loops_at_once(const FuncState& func, const Rewrite& rewrite) -> std::vector<NodeId> {
  std::vector<NodeId> out;
  auto add_around = [&](NodeId id) {
    for (const Place* at = func.find(id); at; at = func.parent(*at)) {
      if (at->is_loop() && runs_at_once(*at->loop) && std::find(out.begin(), out.end(), at->id) == out.end()) { out.push_back(at->id); }
    }
  };
  for (const Rewrite::Change& change : rewrite.changes) { add_around(change.at); }
  for (const Rewrite::Insert& insert : rewrite.inserts) { add_around(insert.at); }
  for (const Rewrite::Before& before : rewrite.befores) { add_around(before.at); }
  return out;
}

// Buffers that were private to each iteration of a parallel loop before a step, and that code outside of the loop uses after it.
auto no_longer_own(const FuncState& before, const Place& loop_before, const FuncState& after, const Place& loop) -> std::vector<Buffer> {
  std::vector<Buffer> out;
  auto was_written = [&](const Buffer& buffer) {
    for (int i = loop_before.index + 1; i < loop_before.end; ++i) {
      const Place& place = before.places()[static_cast<size_t>(i)];
      if (place.is_block() && std::any_of(place.block()->writes.begin(), place.block()->writes.end(), [&](const BufferRegion& write) { return write.buffer == buffer; })) { return true; }
    }
    return false;
  };
  for (int i = loop.index + 1; i < loop.end; ++i) {
    const Place& place = after.places()[static_cast<size_t>(i)];
    if (!place.is_block()) { continue; }
    for (const BufferRegion& write : place.block()->writes) {
      if (std::find(out.begin(), out.end(), write.buffer) != out.end() || !was_written(write.buffer) || !is_used_outside(after, loop, write.buffer) || is_used_outside(before, loop_before, write.buffer)) { continue; }
      out.push_back(write.buffer);
    }
  }
  return out;
}

// Keeps one race found after a step, on a buffer that had no race before it. If there is none, `block` becomes null.
void leave_new(Races& races, const Races& earlier, const FuncState& before) {
  if (!races.block || !earlier.block) { return; }
  auto is_new = [&](const Buffer& buffer) {
    if (!earlier.is_known || earlier.buffer == buffer) { return false; }
    if (std::any_of(earlier.further.begin(), earlier.further.end(), [&](const Races::Pair& pair) { return pair.buffer == buffer; })) { return false; }
    // A buffer that the earlier program does not write replaces one of that program's buffers, so its race is not new.
    return std::any_of(before.places().begin(), before.places().end(), [&](const Place& place) {
      return place.is_block() && std::any_of(place.block()->writes.begin(), place.block()->writes.end(), [&](const BufferRegion& write) { return write.buffer == buffer; });
    });
  };
  if (is_new(races.buffer)) { return; }
  auto pair = std::find_if(races.further.begin(), races.further.end(), [&](const Races::Pair& p) { return is_new(p.buffer); });
  races.block = pair == races.further.end() ? nullptr : pair->block;
  if (!races.block) { return; }
  races.other = pair->other;
  races.buffer = pair->buffer;
}

}  // namespace

auto rewrites(const FuncState& func, const Place& place, const Place& loop) -> bool {
  std::vector<NodeId> producers = producers_of(func, place);
  for (const Place* at = func.parent(place); at && at->is_loop() && at != &loop; at = func.parent(*at)) {
    bool has_producer = std::any_of(producers.begin(), producers.end(), [&](NodeId id) { return func.is_below(*func.find(id), *at); });
    if (has_producer && repeats_instances(*place.realize, *at->loop)) { return true; }
  }
  return false;
}

auto may_meet(const FuncState& func, const Place& loop, const Buffer& buffer) -> const Place* {
  const Place* writer = nullptr;
  size_t writers = 0;
  std::vector<arith::IntSet> touched;
  bool repeats = false;
  for (int i = loop.index + 1; i < loop.end; ++i) {
    const Place& place = func.places()[static_cast<size_t>(i)];
    // A block around others declares their writes.
    if (!place.is_block() || !func.child_blocks(place).empty()) { continue; }
    for (const BufferRegion& write : place.block()->writes) {
      if (!(write.buffer == buffer)) { continue; }
      writer = &place;
      ++writers;
      repeats = repeats || place.block()->init || rewrites(func, place, loop);
      std::vector<arith::IntSet> here = touched_in(func, place, loop, write);
      if (touched.empty()) { touched = std::move(here); continue; }
      for (size_t d = 0; d < touched.size() && d < here.size(); ++d) { touched[d] = arith::union_of({touched[d], here[d]}); }
    }
  }
  return writer && (writers > 1 || repeats) && !stays_apart(func, loop, touched) ? writer : nullptr;
}

auto race_error(const Context& cx, const Place& loop, const Races& races) -> Diagnostic {
  const Place& block = *races.block;
  // One block whose instances overwrite each other's elements, and read none of them.
  const auto& reads = block.block()->reads;
  bool is_overwritten = races.block == races.other && !block.block()->init && std::none_of(reads.begin(), reads.end(), [&](const BufferRegion& r) { return r.buffer == races.buffer; });
  if (is_overwritten) {
    Diagnostic out = note_block(note_loop(cx.error(Code::IterationsWrite).arg("loop", loop.name().view()).arg("buffer", races.buffer->name.view())
                                              .arg("block", block.name().view()), loop), block);
    return races.is_counted ? std::move(out).arg("shown", "instances") : out;
  }
  Diagnostic out = note_loop(cx.error(Code::IterationsDepend).arg("loop", loop.name().view()).arg("producer", races.other->name().view()).arg("consumer", block.name().view()), loop)
      .at_node(block.id)
      .note(block.stmt().origin(), fmt::format("`{}` touches an element of `{}` that another iteration touches as well", block.name().view(), races.buffer->name.view()), block.id);
  return races.is_counted ? std::move(out).arg("shown", "instances") : out;
}

auto require_no_new_race(const Context& cx, const Outcome& outcome) -> Status {
  const FuncState* before = outcome.func.empty() ? nullptr : cx.state.func(outcome.func);
  return before ? require_no_new_race(cx, outcome, loops_at_once(*before, outcome.rewrite)) : ok();
}

auto require_no_new_race(const Context& cx, const Outcome& outcome, const std::vector<NodeId>& loops) -> Status {
  if (loops.empty()) { return ok(); }
  const FuncState* before = cx.state.func(outcome.func);
  const State next = cx.state.after(outcome.func, outcome.rewrite);
  const FuncState& after = *next.func(outcome.func);
  for (NodeId id : loops) {
    const Place* loop = after.find(id);
    if (!loop || !loop->is_loop()) { continue; }
    const Place& same = *before->find(id);
    Races races = counted_races(after, *loop, most_followed_instances);
    // Does not report races that existed before the step.
    if (races.block) { leave_new(races, counted_races(*before, same), *before); }
    if (races.block) { return race_error(cx, *loop, races); }
    if (races.is_known) { continue; }
    const std::vector<Buffer> shared = no_longer_own(*before, same, after, *loop);
    if (shared.empty()) { continue; }
    races = counted_races(after, *loop);
    for (const Buffer& buffer : shared) {
      if (races.block && races.buffer == buffer) { return race_error(cx, *loop, races); }
      for (const Races::Pair& pair : races.further) {
        if (pair.buffer == buffer) { return race_error(cx, *loop, {.is_known = races.is_known, .block = pair.block, .other = pair.other, .buffer = buffer}); }
      }
      const Place* writer = races.is_known ? nullptr : may_meet(after, *loop, buffer);
      if (writer) { return race_error(cx, *loop, {.block = writer, .other = writer, .buffer = buffer, .is_counted = false}); }
    }
  }
  return ok();
}

auto may_race(const Context& cx, std::span<const Value> values) -> bool {
  for (const Value& value : values) {
    const auto* block = value.as<BlockRV>();
    const auto* loop = value.as<LoopRV>();
    if (!block && !loop) { continue; }
    const uint32_t var = block ? block->var : loop->var;
    const FuncState* func = var < cx.variables.size() ? cx.state.func(cx.variables[var].func) : nullptr;
    return func && std::any_of(func->places().begin(), func->places().end(), [](const Place& p) { return p.is_loop() && runs_at_once(*p.loop); });
  }
  return false;
}

}  // namespace loopsmith::schedule
