// Hidden accesses: see hidden.h.
#include "schedule/hidden.h"

#include <algorithm>
#include <functional>

#include "ir/visitor.h"
#include "schedule/counted_races.h"
#include "schedule/rewriting.h"
#include "support/codes.h"

namespace loopsmith::schedule {
namespace {

auto declares_nothing(const Place& block) -> bool { return block.block()->reads.empty() && block.block()->writes.empty(); }

// All accesses to outer buffers that blocks inside of a hiding block declare.
struct Accesses { std::vector<const BufferNode*> reads, writes; };
auto hidden_in(const FuncState& func, const Place& block) -> Accesses {
  Accesses out;
  std::vector<const BufferNode*> own;
  for (int i = block.index; i < block.end; ++i) {
    const Place& at = func.places()[static_cast<size_t>(i)];
    if (!at.is_block()) { continue; }
    for (const Buffer& b : at.block()->alloc_buffers) { own.push_back(b.get()); }
    for (const MatchBufferRegion& m : at.block()->match_buffers) { own.push_back(m.buffer.get()); }
    for (const BufferRegion& r : at.block()->reads) { out.reads.push_back(r.buffer.get()); }
    for (const BufferRegion& r : at.block()->writes) { out.writes.push_back(r.buffer.get()); }
  }
  auto is_own = [&](const BufferNode* b) { return std::find(own.begin(), own.end(), b) != own.end(); };
  std::erase_if(out.reads, is_own);
  std::erase_if(out.writes, is_own);
  return out;
}

auto shared(const std::vector<const BufferNode*>& a, const std::vector<const BufferNode*>& b) -> const BufferNode* {
  for (const BufferNode* x : a) {
    if (std::find(b.begin(), b.end(), x) != b.end()) { return x; }
  }
  return nullptr;
}

// True if the iterations of a loop may run in any order although a hiding block is below: iter vars of inner blocks that use the loop
// are data-parallel, and no inner block reads a buffer that is written inside.
auto is_order_free(const FuncState& func, const Place& block, const Place& loop) -> bool {
  Accesses all = hidden_in(func, block);
  if (shared(all.reads, all.writes)) { return false; }
  for (int i = block.index + 1; i < block.end; ++i) {
    const Place& at = func.places()[static_cast<size_t>(i)];
    if (!at.is_block()) { continue; }
    bool follows = false;
    for (size_t k = 0; k < at.realize->iter_values.size(); ++k) {
      if (!uses_var(at.realize->iter_values[k], [&](const VarNode& v) { return &v == loop.loop->var.get(); })) { continue; }
      if (at.block()->iter_vars[k].kind != IterKind::Spatial) { return false; }
      follows = true;
    }
    // An inner block that does not use the loop accesses the same elements in each iteration.
    if (!follows && func.child_blocks(at).empty()) { return false; }
  }
  return true;
}

}  // namespace

auto hides_accesses(const FuncState& func, const Place& block) -> bool {
  if (!block.is_block() || block.parent < 0 || !declares_nothing(block) || block.end == block.index + 1) { return false; }
  Accesses all = hidden_in(func, block);
  return !all.reads.empty() || !all.writes.empty();
}

auto hides_access_to(const FuncState& func, const Place& block, const Buffer& buffer) -> bool {
  if (!hides_accesses(func, block)) { return false; }
  Accesses all = hidden_in(func, block);
  auto has = [&](const std::vector<const BufferNode*>& in) { return std::find(in.begin(), in.end(), buffer.get()) != in.end(); };
  return has(all.reads) || has(all.writes);
}

namespace {

auto refuse(const Context& cx, const Place& block, const BufferNode* buffer) -> Diagnostic {
  return note_block(cx.error(Code::HiddenAccesses).arg("block", block.name().view()).arg("buffer", buffer->name.view()), block)
      .remedy("apply it before `loop_partition` makes the block, or declare the accesses in its `T.reads` and `T.writes`");
}
auto any_of(const FuncState& func, const Place& block) -> const BufferNode* {
  Accesses all = hidden_in(func, block);
  return all.writes.empty() ? all.reads.front() : all.writes.front();
}

// The child of a block that is, or contains, a place.
auto strand_of(const FuncState& func, const Place& scope, const Place& place) -> const Place& {
  const Place* at = &place;
  while (func.parent(*at) && func.parent(*at) != &scope) { at = func.parent(*at); }
  return *at;
}

// The hidden accesses of a sibling that conflict with the accesses of a block or loop.
enum class Conflict : uint8_t {
  None,
  OfReaders,                                // the sibling reads elements that the block writes
  OfWriters,                                // the sibling writes elements that the block writes
  OfOrder,                                  // the order of the two must stay
  OfOwn,                                    // as OfOrder; also any common read of a buffer of the scope, since the buffer may vanish or change its form
  OfAny,                                    // as OfOwn; also any common read of a parameter, since parameters may change their form
};
// The kind of conflict with a sibling, by its position.
using ConflictWith = std::function<Conflict(const Place& sibling)>;

auto require_siblings_apart(const Context& cx, const FuncState& func, const Place& at, const Accesses& here, const ConflictWith& conflict_with) -> Status {
  const Place* scope = func.scope(at);
  if (!scope) { return ok(); }
  for (const Place* block : func.silent_blocks(*scope)) {
    if (block->id == at.id || func.is_below(at, *block) || !hides_accesses(func, *block)) { continue; }
    Conflict conflict = conflict_with(*block);
    if (conflict == Conflict::None) { continue; }
    Accesses other = hidden_in(func, *block);
    const bool is_about_order = conflict >= Conflict::OfOrder;
    const BufferNode* buffer = conflict == Conflict::OfWriters ? nullptr : shared(here.writes, other.reads);
    if (!buffer && (is_about_order || conflict == Conflict::OfWriters)) { buffer = shared(here.writes, other.writes); }
    if (!buffer && is_about_order) { buffer = shared(here.reads, other.writes); }
    if (!buffer && conflict == Conflict::OfAny) { buffer = shared(here.reads, other.reads); }
    if (!buffer && conflict == Conflict::OfOwn) {
      std::vector<const BufferNode*> own;
      for (const Buffer& b : scope->block()->alloc_buffers) { own.push_back(b.get()); }
      std::erase_if(own, [&](const BufferNode* b) { return std::find(here.reads.begin(), here.reads.end(), b) == here.reads.end(); });
      buffer = shared(own, other.reads);
    }
    if (buffer) { return refuse(cx, *block, buffer); }
  }
  return ok();
}
auto always(Conflict conflict) -> ConflictWith { return [conflict](const Place&) { return conflict; }; }
// Adds the declared accesses of a block, and its hidden reads.
void add_known(const FuncState& func, const Place& block, Accesses& out) {
  for (const BufferRegion& r : block.block()->reads) { out.reads.push_back(r.buffer.get()); }
  for (const BufferRegion& r : block.block()->writes) { out.writes.push_back(r.buffer.get()); }
  for (const Buffer& b : func.hidden_reads(block)) { out.reads.push_back(b.get()); }
}

}  // namespace

auto require_nothing_hidden(const Context& cx, const PlaceArg& at) -> Status {
  const Hidden claims = cx.primitive.effects.hidden;
  const bool moves = has(claims, Hidden::MovesBlock), gathers = has(claims, Hidden::GathersBelow), reorders = has(claims, Hidden::ReordersIterations);
  if (!moves && !gathers && !reorders) { return ok(); }
  const FuncState& func = *at.func;
  if (at->is_block() && hides_accesses(func, *at)) { return refuse(cx, *at, any_of(func, *at)); }
  if (at->is_block() && has(claims, Hidden::TrustsRegions)) {
    if (const auto& hidden = func.hidden_reads(*at); !hidden.empty()) {
      return note_block(cx.error(Code::HiddenAccesses).arg("block", at->name().view()).arg("buffer", hidden.front()->name.view()), *at.place);
    }
  }
  if (at->is_loop() && (gathers || reorders)) {
    for (const Place* block : func.child_blocks(*at)) {
      if (!hides_accesses(func, *block)) { continue; }
      if (!reorders || !is_order_free(func, *block, *at)) { return refuse(cx, *block, any_of(func, *block)); }
      // Collects the buffers that the blocks beside it access in other iterations.
      Accesses all = hidden_in(func, *block), others;
      for (const Place* other : func.child_blocks(*at)) { if (other != block) { add_known(func, *other, others); } }
      const BufferNode* between = shared(all.writes, others.reads);
      if (!between) { between = shared(all.writes, others.writes); }
      if (!between) { between = shared(all.reads, others.writes); }
      if (between && !counted_races(func, *at).is_known) { return refuse(cx, *block, between); }
    }
  }
  if (!moves) { return ok(); }
  Accesses here;
  if (at->is_block()) { add_known(func, *at, here); } else { for (const Place* block : func.child_blocks(*at)) { add_known(func, *block, here); } }
  const Place* scope = func.scope(*at);
  if (!scope) { return ok(); }
  const bool changes_buffer = has(claims, Hidden::ChangesBuffer), stays = has(claims, Hidden::StaysInLoops);
  const Place& strand = strand_of(func, *scope, *at);
  return require_siblings_apart(cx, func, *at, here, [&](const Place& sibling) {
    // A block that stays in its loops keeps its order with everything outside of them, and buffers between the two keep their form.
    bool is_elsewhere = &strand_of(func, *scope, sibling) != &strand;
    if (stays && is_elsewhere) { return Conflict::None; }
    return changes_buffer ? Conflict::OfOwn : Conflict::OfOrder;
  });
}

auto require_free_to_move(const Context& cx, const FuncState& func, const Place& block, const Place* loop) -> Status {
  if (hides_accesses(func, block)) { return refuse(cx, block, any_of(func, block)); }
  Accesses here;
  add_known(func, block, here);
  const Place* scope = func.scope(block);
  if (!scope || !loop || !func.is_below(*loop, *scope)) { return require_siblings_apart(cx, func, block, here, always(Conflict::OfOrder)); }
  const Place& from = strand_of(func, *scope, block);
  const Place& to = strand_of(func, *scope, *loop);
  return require_siblings_apart(cx, func, block, here, [&](const Place& sibling) {
    const int at = strand_of(func, *scope, sibling).index;
    if (at < std::min(from.index, to.index)) { return Conflict::None; }
    if (at <= std::max(from.index, to.index)) { return Conflict::OfOrder; }
    // Under a loop of its consumers, a block makes only the elements that these consumers read.
    return to.index > from.index ? Conflict::OfReaders : Conflict::None;
  });
}

auto require_no_hidden_writer(const Context& cx, const Place& block, const Buffer& buffer) -> Status {
  auto found = cx.state.find(block.id);
  if (!found) { return ok(); }
  Accesses here;
  here.reads.push_back(buffer.get());
  return require_siblings_apart(cx, *found.func, block, here, always(Conflict::OfOrder));
}

auto require_buffer_not_hidden(const Context& cx, const Place& block, const Buffer& buffer, bool is_write) -> Status {
  const Hidden claims = cx.primitive.effects.hidden;
  auto found = has(claims, Hidden::RedirectsAccesses) ? cx.state.find(block.id) : State::Found{};
  if (!found) { return ok(); }
  Accesses here;
  (is_write ? here.writes : here.reads).push_back(buffer.get());
  return require_siblings_apart(cx, *found.func, block, here, [&](const Place& sibling) {
    if (has(claims, Hidden::CopiesBeforeReaders) && is_write && sibling.index > block.index) { return Conflict::OfWriters; }
    return has(claims, Hidden::ChangesParameter) ? Conflict::OfAny : Conflict::OfOrder;
  });
}

}  // namespace loopsmith::schedule
