// Dependences between the blocks of a scope, updated from state to state: see dependences.h.
#include "schedule/facts/dependences.h"

#include <algorithm>
#include <span>
#include <unordered_map>

#include "schedule/facts/sorted_sequence.h"

namespace loopsmith::schedule {

void add_blocks(const Stmt& stmt, std::vector<const Block*>& out) {
  switch (stmt.kind()) {
    case NodeKind::For: add_blocks(stmt.as<For>()->body, out); return;
    case NodeKind::BlockRealize: out.push_back(stmt.as<BlockRealize>()->block.get()); return;
    case NodeKind::SeqStmt: for (const Stmt& one : stmt.as<SeqStmt>()->seq) { add_blocks(one, out); } return;
    case NodeKind::IfThenElse:
      add_blocks(stmt.as<IfThenElse>()->then_case, out);
      if (stmt.as<IfThenElse>()->else_case) { add_blocks(stmt.as<IfThenElse>()->else_case, out); }
      return;
    case NodeKind::LetStmt: add_blocks(stmt.as<LetStmt>()->body, out); return;
    case NodeKind::AttrStmt: add_blocks(stmt.as<AttrStmt>()->body, out); return;
    case NodeKind::AssertStmt: add_blocks(stmt.as<AssertStmt>()->body, out); return;
    case NodeKind::BufferRealize: add_blocks(stmt.as<BufferRealize>()->body, out); return;
    case NodeKind::Allocate: add_blocks(stmt.as<Allocate>()->body, out); return;
    case NodeKind::AllocateConst: add_blocks(stmt.as<AllocateConst>()->body, out); return;
    case NodeKind::DeclBuffer: add_blocks(stmt.as<DeclBuffer>()->body, out); return;
    case NodeKind::While: add_blocks(stmt.as<While>()->body, out); return;
    default: return;
  }
}

namespace {

using Use = ScopeBlocks::Use;
using Touch = ScopeBlocks::Touch;
using Toucher = ScopeBlocks::Toucher;
using Known = ScopeBlocks::Known;

// A Toucher with the position of its block in the text.
struct Event {
  const BufferNode* buffer = nullptr;
  int at = 0;
  Use use = Use::Read;
  NodeId block = 0;
  friend auto operator<=>(const Event&, const Event&) = default;
};

auto touches_of(KnownHiddenReads& hidden, const Block& block) -> Array<Touch> {
  std::vector<Touch> out;
  for (const BufferRegion& read : block.reads) { out.push_back({read.buffer.get(), Use::Read}); }
  for (const Buffer& buffer : hidden.of(block)) { out.push_back({buffer.get(), Use::HiddenRead}); }
  for (const BufferRegion& write : block.writes) { out.push_back({write.buffer.get(), Use::Write}); }
  return out;
}
auto is_silent(const Array<Touch>& touches) -> bool {
  return std::all_of(touches.begin(), touches.end(), [](const Touch& t) { return t.use == Use::HiddenRead; });
}

// The dependences of a block on blocks before it. `events_on` returns the touchers of a buffer, in the order of the text.
template <class EventsOn>
auto dependences_of(NodeId block, int at, const Array<Touch>& touches, const EventsOn& events_on) -> std::vector<Dependence> {
  std::vector<Dependence> out;
  auto depend = [&](const BufferNode* buffer, Use on, DependenceKind kind, bool is_hidden) {
    for (const Event& event : events_on(buffer)) {
      if (event.at >= at) { break; }
      if (event.use == on) { out.push_back({event.block, block, kind, buffer, is_hidden}); }
    }
  };
  for (const auto& [buffer, use] : touches) {
    if (use != Use::Write) { depend(buffer, Use::Write, DependenceKind::Raw, use == Use::HiddenRead); }
  }
  for (const auto& [buffer, use] : touches) {
    if (use == Use::Write) { depend(buffer, Use::Write, DependenceKind::Waw, false); }
  }
  for (const auto& [buffer, use] : touches) {
    if (use != Use::Write) { continue; }
    depend(buffer, Use::Read, DependenceKind::War, false);
    depend(buffer, Use::HiddenRead, DependenceKind::War, true);
  }
  return out;
}
template <class Dependences>
auto count_overwrites(const Dependences& all) -> int {
  return static_cast<int>(std::count_if(all.begin(), all.end(), [](const Dependence& d) { return d.kind == DependenceKind::War || d.kind == DependenceKind::Opaque; }));
}

auto place_of(const Sequence<Known>& all, NodeId block) -> size_t {
  return all.lower_bound([&](const Known& known) { return known.block < block; });
}
auto first_on(const Sequence<Toucher>& all, const BufferNode* buffer, Use use = Use::Read) -> size_t {
  return all.lower_bound([&](const Toucher& toucher) { return toucher < Toucher{buffer, use, 0}; });
}

auto is_place(const Stmt& s) -> bool { return s.kind() == NodeKind::For || s.kind() == NodeKind::BlockRealize; }

// A tree that has only its strands yet.
auto begin_tree(const FuncTree& func, const Place& scope, const ScopeTree* before) -> ScopeTree {
  ScopeTree out{.scope = scope.id, .is_plain = true, .strands = {}, .blocks = {}};
  const Stmt& body = scope.block()->body;
  const auto* list = body.as<SeqStmt>();
  out.strands = list ? list->seq : Sequence<Stmt>{body};
  // If the body was plain before, only new statements need a check.
  for (size_t i = 0, k = 0; out.is_plain && i < out.strands.size();) {
    size_t run = before && before->is_plain ? out.strands.same_run(i, before->strands, k) : 0;
    i += run;
    k += run;
    if (i == out.strands.size()) { break; }
    out.is_plain = is_place(out.strands[i]);
    ++i;
    for (size_t ahead = 0; before && i < out.strands.size() && ahead < 4 && k + ahead < before->strands.size(); ++ahead) {
      if (before->strands[k + ahead].same_as(out.strands[i])) { k += ahead; break; }
    }
  }
  if (out.is_plain) { return out; }
  std::vector<Stmt> strands;
  for (int i = scope.index + 1; i < scope.end;) {
    const Place& place = func.places()[static_cast<size_t>(i)];
    strands.push_back(place.stmt());
    i = place.end;
  }
  out.strands = std::move(strands);
  return out;
}

// The difference of two trees: blocks that are in one tree only, that touch other buffers, or that moved past other blocks.
struct Changes {
  std::vector<NodeId> gone;
  std::vector<std::pair<const Block*, Array<Touch>>> fresh;
};
auto changes_between(KnownHiddenReads& hidden, const ScopeTree& before, const ScopeTree& now) -> Changes {
  Changes out;
  std::vector<const Block*> old_blocks, new_blocks;        // between strands that are in both trees
  auto compare = [&] {
    size_t next = 0;
    for (const Block* block : new_blocks) {
      Array<Touch> touches = touches_of(hidden, *block);
      auto found = std::find_if(old_blocks.begin() + static_cast<std::ptrdiff_t>(next), old_blocks.end(), [&](const Block* old) { return old->id == block->id; });
      if (found != old_blocks.end()) {
        const Known* known = before.blocks->find(block->id);
        if (known && std::equal(touches.begin(), touches.end(), known->touches.begin(), known->touches.end())) {
          for (auto at = static_cast<size_t>(found - old_blocks.begin()); next < at; ++next) { out.gone.push_back(old_blocks[next]->id); }
          ++next;
          continue;
        }
      }
      out.fresh.emplace_back(block, std::move(touches));
    }
    for (; next < old_blocks.size(); ++next) { out.gone.push_back(old_blocks[next]->id); }
    old_blocks.clear();
    new_blocks.clear();
  };
  difference(before.strands, now.strands, [&](size_t from, size_t to, size_t new_from, size_t new_to) {
    for (; from < to; ++from) { add_blocks(before.strands[from], old_blocks); }
    for (; new_from < new_to; ++new_from) { add_blocks(now.strands[new_from], new_blocks); }
    compare();
  });
  return out;
}

// Builds the blocks from the strands alone.
auto make_blocks(KnownHiddenReads& hidden, const Sequence<Stmt>& strands) -> std::shared_ptr<const ScopeBlocks> {
  std::vector<const Block*> blocks;
  for (const Stmt& strand : strands) { add_blocks(strand, blocks); }
  std::vector<Known> known;
  std::vector<Event> events;
  std::vector<NodeId> silent;
  known.reserve(blocks.size());
  for (const Block* block : blocks) {
    known.push_back({block->id, touches_of(hidden, *block), {}});
    if (is_silent(known.back().touches)) { silent.push_back(block->id); }
    for (const auto& [buffer, use] : known.back().touches) { events.push_back({buffer, static_cast<int>(known.size() - 1), use, block->id}); }
  }
  std::sort(events.begin(), events.end());
  auto events_on = [&](const BufferNode* buffer) {
    auto [first, end] = std::equal_range(events.begin(), events.end(), Event{buffer}, [](const Event& a, const Event& b) { return a.buffer < b.buffer; });
    return std::span(first, end);
  };
  ScopeBlocks out;
  for (size_t i = 0; i < known.size(); ++i) {
    known[i].dependences = dependences_of(known[i].block, static_cast<int>(i), known[i].touches, events_on);
    out.overwrites += count_overwrites(known[i].dependences);
  }
  std::vector<Toucher> touchers;
  touchers.reserve(events.size());
  for (const Event& event : events) { touchers.push_back({event.buffer, event.use, event.block}); }
  std::sort(touchers.begin(), touchers.end());
  std::sort(known.begin(), known.end(), [](const Known& a, const Known& b) { return a.block < b.block; });
  std::sort(silent.begin(), silent.end());
  out.blocks = std::move(known);
  out.touchers = std::move(touchers);
  out.silent = std::move(silent);
  return std::make_shared<const ScopeBlocks>(std::move(out));
}

// Builds the blocks from those of the state before and the changes. Null: too many changes.
auto make_blocks(const FuncTree& func, const ScopeBlocks& before, const Changes& changes) -> std::shared_ptr<const ScopeBlocks> {
  auto is_much = [&](size_t count) { return count * 4 > before.blocks.size(); };
  if (is_much(changes.gone.size() + changes.fresh.size())) { return nullptr; }
  ScopeBlocks now = before;
  std::vector<const BufferNode*> touched;    // buffers that other blocks access than before
  for (NodeId id : changes.gone) {
    size_t at = place_of(now.blocks, id);
    const Known known = now.blocks[at];
    for (const auto& [buffer, use] : known.touches) {
      touched.push_back(buffer);
      erase_sorted(now.touchers, {buffer, use, id});
    }
    if (is_silent(known.touches)) { erase_sorted(now.silent, id); }
    now.overwrites -= count_overwrites(known.dependences);
    now.blocks = now.blocks.spliced(at, at + 1, {});
  }
  std::vector<NodeId> affected;
  for (const auto& [block, touches] : changes.fresh) {
    affected.push_back(block->id);
    Known known{block->id, touches, {}};
    for (const auto& [buffer, use] : touches) {
      touched.push_back(buffer);
      insert_sorted(now.touchers, {buffer, use, block->id});
    }
    if (is_silent(touches)) { insert_sorted(now.silent, block->id); }
    size_t at = place_of(now.blocks, block->id);
    now.blocks = now.blocks.spliced(at, at, std::span(&known, 1));
  }
  // Other blocks that touch these buffers, if any block writes them.
  std::sort(touched.begin(), touched.end());
  touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
  for (const BufferNode* buffer : touched) {
    if (!now.is_written(buffer) && !before.is_written(buffer)) { continue; }
    for (size_t at = first_on(now.touchers, buffer); at < now.touchers.size() && now.touchers[at].buffer == buffer; ++at) { affected.push_back(now.touchers[at].block); }
  }
  std::sort(affected.begin(), affected.end());
  affected.erase(std::unique(affected.begin(), affected.end()), affected.end());
  if (is_much(affected.size())) { return nullptr; }
  std::unordered_map<const BufferNode*, std::vector<Event>> events;
  auto events_on = [&](const BufferNode* buffer) -> const std::vector<Event>& {
    auto [found, is_new] = events.try_emplace(buffer);
    if (!is_new) { return found->second; }
    for (size_t at = first_on(now.touchers, buffer); at < now.touchers.size() && now.touchers[at].buffer == buffer; ++at) {
      const Toucher& toucher = now.touchers[at];
      found->second.push_back({buffer, func.places().index_of(toucher.block), toucher.use, toucher.block});
    }
    std::sort(found->second.begin(), found->second.end());
    return found->second;
  };
  for (NodeId id : affected) {
    size_t at = place_of(now.blocks, id);
    const Known& known = now.blocks[at];
    std::vector<Dependence> dependences = dependences_of(id, func.places().index_of(id), known.touches, events_on);
    if (std::equal(dependences.begin(), dependences.end(), known.dependences.begin(), known.dependences.end())) { continue; }
    now.overwrites += count_overwrites(dependences) - count_overwrites(known.dependences);
    Known changed{id, known.touches, std::move(dependences)};
    now.blocks = now.blocks.spliced(at, at + 1, std::span(&changed, 1));
  }
  return std::make_shared<const ScopeBlocks>(std::move(now));
}

}  // namespace

auto ScopeBlocks::find(NodeId block) const -> const Known* {
  size_t at = place_of(blocks, block);
  return at < blocks.size() && blocks[at].block == block ? &blocks[at] : nullptr;
}
auto ScopeBlocks::is_written(const BufferNode* buffer) const -> bool {
  size_t at = first_on(touchers, buffer, Use::Write);
  return at < touchers.size() && touchers[at].buffer == buffer;
}

auto make_scope_tree(const FuncTree& func, const Place& scope, KnownHiddenReads& hidden) -> ScopeTree {
  ScopeTree out = begin_tree(func, scope, nullptr);
  out.blocks = make_blocks(hidden, out.strands);
  return out;
}

auto make_scope_tree(const FuncTree& func, const Place& scope, KnownHiddenReads& hidden, const ScopeTree& before) -> ScopeTree {
  ScopeTree out = begin_tree(func, scope, &before);
  Changes changes = changes_between(hidden, before, out);
  out.blocks = changes.gone.empty() && changes.fresh.empty() ? before.blocks : make_blocks(func, *before.blocks, changes);
  if (!out.blocks) { out.blocks = make_blocks(hidden, out.strands); }
  return out;
}

auto is_same(const ScopeTree& a, const ScopeTree& b) -> bool {
  auto all_same = [](const auto& one, const auto& other) { return std::equal(one.begin(), one.end(), other.begin(), other.end()); };
  auto same_known = [&](const Known& one, const Known& other) {
    return one.block == other.block && all_same(one.touches, other.touches) && all_same(one.dependences, other.dependences);
  };
  const ScopeBlocks &x = *a.blocks, &y = *b.blocks;
  return a.scope == b.scope && a.is_plain == b.is_plain && all_same(a.strands, b.strands) && all_same(x.touchers, y.touchers) && all_same(x.silent, y.silent) &&
         x.overwrites == y.overwrites && std::equal(x.blocks.begin(), x.blocks.end(), y.blocks.begin(), y.blocks.end(), same_known);
}

auto changed_consumers(const FuncTree& func, const ScopeTree& before, const ScopeTree& now) -> std::vector<NodeId> {
  std::vector<const Block*> blocks;
  difference(before.strands, now.strands, [&](size_t, size_t, size_t from, size_t to) { for (; from < to; ++from) { add_blocks(now.strands[from], blocks); } });
  std::vector<NodeId> out;
  const Scope info(func, *now.blocks);
  for (const Block* block : blocks) {
    out.push_back(block->id);
    for (const Dependence& d : info.of_src(block->id)) { out.push_back(d.dst); }
  }
  difference(before.blocks->blocks, now.blocks->blocks, [&](size_t, size_t, size_t from, size_t to) { for (; from < to; ++from) { out.push_back(now.blocks->blocks[from].block); } });
  return in_text_order(func, std::move(out));
}

auto in_text_order(const FuncTree& func, std::vector<NodeId> ids) -> std::vector<NodeId> {
  std::vector<std::pair<int, NodeId>> sorted;
  sorted.reserve(ids.size());
  for (NodeId id : ids) { sorted.emplace_back(func.places().index_of(id), id); }
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  ids.clear();
  for (const auto& [_, id] : sorted) { ids.push_back(id); }
  return ids;
}

// ---- questions about a scope ---------------------------------------------------------------------------

auto Scope::of_dst(NodeId id) const -> std::span<const Dependence> {
  const Known* known = blocks_->find(id);
  return known ? std::span<const Dependence>(known->dependences.begin(), known->dependences.end()) : std::span<const Dependence>();
}
auto Scope::of_src(NodeId id) const -> std::vector<Dependence> {
  std::vector<Dependence> out;
  const Known* known = blocks_->find(id);
  if (!known) { return out; }
  // Collects the other blocks that touch a buffer that this block touches.
  std::vector<NodeId> others;
  const auto& touchers = blocks_->touchers;
  for (const auto& [buffer, use] : known->touches) {
    for (size_t at = first_on(touchers, buffer, use == Use::Write ? Use::Read : Use::Write); at < touchers.size() && touchers[at].buffer == buffer; ++at) { others.push_back(touchers[at].block); }
  }
  for (NodeId other : in_text_order(*func_, std::move(others))) {
    for (const Dependence& d : of_dst(other)) {
      if (d.src == id) { out.push_back(d); }
    }
  }
  return out;
}
auto Scope::overwrites() const -> bool { return blocks_->overwrites > 0; }
auto Scope::is_written(const BufferNode* buffer) const -> bool { return blocks_->is_written(buffer); }
auto Scope::writers(const BufferNode* buffer) const -> std::vector<NodeId> {
  std::vector<NodeId> out;
  const auto& touchers = blocks_->touchers;
  for (size_t at = first_on(touchers, buffer, Use::Write); at < touchers.size() && touchers[at].buffer == buffer; ++at) { out.push_back(touchers[at].block); }
  return out.size() > 1 ? in_text_order(*func_, std::move(out)) : out;
}

}  // namespace loopsmith::schedule
