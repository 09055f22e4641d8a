// Dependences between the blocks of a scope, kept up from state to state: see scopes.h.
#include "schedule/scopes.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <type_traits>
#include <unordered_map>

#include "ir/visitor.h"

namespace loopsmith::schedule {
namespace {

using Use = ScopeBlocks::Use;
using Touch = ScopeBlocks::Touch;

// The same by block.
struct Event {
  const BufferNode* buffer = nullptr;
  int block = 0;
  Use use = Use::Read;
};

// By buffer, then in the order of the text.
void sort(std::vector<Event>& events) {
  std::sort(events.begin(), events.end(), [](const Event& a, const Event& b) { return std::tie(a.buffer, a.block, a.use) < std::tie(b.buffer, b.block, b.use); });
}

auto bit_of(uint64_t key) -> uint64_t { return uint64_t{1} << ((key * 0x9e3779b97f4a7c15ULL) >> 58); }

// A few things that many are asked whether they are among.
template <class T>
class Few {
 public:
  void add(const T& item) {
    bits_ |= bit_of(key(item));
    items_.push_back(item);
  }
  void sort() {
    std::sort(items_.begin(), items_.end());
    items_.erase(std::unique(items_.begin(), items_.end()), items_.end());
  }
  template <class F> void drop(const F& f) { std::erase_if(items_, f); }
  [[nodiscard]] auto empty() const -> bool { return items_.empty(); }
  [[nodiscard]] auto holds(const T& item) const -> bool { return (bits_ & bit_of(key(item))) != 0 && std::binary_search(items_.begin(), items_.end(), item); }

 private:
  static auto key(const T& item) -> uint64_t {
    if constexpr (std::is_pointer_v<T>) { return static_cast<uint64_t>(reinterpret_cast<uintptr_t>(item)) >> 4; } else { return item; }
  }
  uint64_t bits_ = 0;
  std::vector<T> items_;
};
using Buffers = Few<const BufferNode*>;

void add_touches(const FuncState& func, const Block& block, std::vector<Touch>& out) {
  for (const BufferRegion& read : block.reads) { out.push_back({read.buffer.get(), Use::Read}); }
  for (const Buffer& buffer : func.hidden_reads(block)) { out.push_back({buffer.get(), Use::HiddenRead}); }
  for (const BufferRegion& write : block.writes) { out.push_back({write.buffer.get(), Use::Write}); }
}
auto is_silent(const Block& block) -> bool { return block.reads.empty() && block.writes.empty(); }

// What a block depends on, of those before it.
void add_dependences(const ScopeBlocks& tree, const std::vector<NodeId>& ids, const std::vector<Event>& events, int block, std::vector<Dependence>& out) {
  auto depend = [&](const BufferNode* buffer, Use on, DependenceKind kind, bool is_hidden) {
    auto at = std::lower_bound(events.begin(), events.end(), buffer, [](const Event& e, const BufferNode* b) { return e.buffer < b; });
    for (; at != events.end() && at->buffer == buffer && at->block < block; ++at) {
      if (at->use == on) { out.push_back({ids[static_cast<size_t>(at->block)], ids[static_cast<size_t>(block)], kind, buffer, is_hidden}); }
    }
  };
  auto touches = tree.touches_of(static_cast<size_t>(block));
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
}

// The blocks in a statement, not counting blocks inside those.
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

auto is_place(const Stmt& s) -> bool { return s.kind() == NodeKind::For || s.kind() == NodeKind::BlockRealize; }

// A tree with its strands, and no more.
auto begin_tree(const FuncState& func, const Place& scope, const ScopeTree* before) -> ScopeTree {
  ScopeTree out{.scope = scope.id, .is_plain = true, .strands = {}, .blocks = {}};
  const Stmt& body = scope.block()->body;
  const auto* list = body.as<SeqStmt>();
  out.strands = list ? list->seq : Sequence<Stmt>{body};
  // Of a plain body that goes before, only what is new need be looked at.
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

// Where each strand stands for one that was there, with the same blocks that touch the same: all that is known stays.
auto keeps_blocks(const FuncState& func, const ScopeTree& before, const ScopeTree& now) -> bool {
  if (before.strands.size() != now.strands.size()) { return false; }
  const ScopeBlocks& known = *before.blocks;
  std::vector<const Block*> blocks;
  std::vector<Touch> touches;
  for (size_t i = now.strands.same_run(0, before.strands, 0); i < now.strands.size(); ++i, i += now.strands.same_run(i, before.strands, i)) {
    blocks.clear();
    add_blocks(now.strands[i], blocks);
    auto first = static_cast<size_t>(known.firsts[i]);
    if (static_cast<size_t>(known.end_of(i)) != first + blocks.size()) { return false; }
    for (size_t b = 0; b < blocks.size(); ++b) {
      if (known.info->blocks[first + b] != blocks[b]->id) { return false; }
      touches.clear();
      add_touches(func, *blocks[b], touches);
      auto then = known.touches_of(first + b);
      bool was_silent = std::binary_search(known.silent.begin(), known.silent.end(), static_cast<int>(first + b));
      if (was_silent != is_silent(*blocks[b]) || !std::equal(then.begin(), then.end(), touches.begin(), touches.end())) { return false; }
    }
  }
  return true;
}

// The blocks of a strand, with what they touch.
void add_strand(const FuncState& func, const Stmt& strand, ScopeBlocks& out, std::vector<NodeId>& ids) {
  std::vector<const Block*> blocks;
  add_blocks(strand, blocks);
  for (const Block* block : blocks) {
    if (is_silent(*block)) { out.silent.push_back(static_cast<int>(ids.size())); }
    ids.push_back(block->id);
    out.touch_firsts.push_back(static_cast<int>(out.touches.size()));
    add_touches(func, *block, out.touches);
  }
}

}  // namespace

auto make_scope_tree(const FuncState& func, const Place& scope) -> ScopeTree {
  ScopeTree out = begin_tree(func, scope, nullptr);
  ScopeBlocks all;
  Scope info;
  for (const Stmt& strand : out.strands) {
    all.firsts.push_back(static_cast<int>(info.blocks.size()));
    add_strand(func, strand, all, info.blocks);
  }
  std::vector<Event> events;
  int count = static_cast<int>(info.blocks.size());
  for (int i = 0; i < count; ++i) {
    for (const auto& [buffer, use] : all.touches_of(static_cast<size_t>(i))) { events.push_back({buffer, i, use}); }
  }
  sort(events);
  for (int i = 0; i < count; ++i) {
    info.firsts.push_back(static_cast<int>(info.dependences.size()));
    add_dependences(all, info.blocks, events, i, info.dependences);
  }
  for (const Event& event : events) {
    if (event.use == Use::Write) { info.writes.push_back({event.buffer, info.blocks[static_cast<size_t>(event.block)]}); }
  }
  all.info = std::make_shared<const Scope>(std::move(info));
  out.blocks = std::make_shared<const ScopeBlocks>(std::move(all));
  return out;
}

// What stands at the front and at the end of both is found by looking, what moved in between by a table.
auto same_strands(const ScopeTree& before, const ScopeTree& now) -> std::vector<int> {
  const auto &old = before.strands, &strands = now.strands;
  size_t front = strands.same_run(0, old, 0), back = 0;
  constexpr size_t few = 4;
  for (size_t i = 0; back == 0 && i <= few && front + i < strands.size(); ++i) {
    for (size_t k = 0; back == 0 && k <= few && front + k < old.size(); ++k) {
      if (!strands[front + i].same_as(old[front + k])) { continue; }
      size_t run = strands.same_run(front + i, old, front + k);
      if (front + i + run == strands.size() && front + k + run == old.size()) { back = run; }
    }
  }
  std::vector<int> out(strands.size(), -1);
  std::iota(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(front), 0);
  std::iota(out.end() - static_cast<std::ptrdiff_t>(back), out.end(), static_cast<int>(old.size() - back));
  if (front == old.size() - back || front == strands.size() - back) { return out; }
  std::unordered_map<const void*, int> there;
  for (size_t i = front; i < old.size() - back; ++i) { there.emplace(old[i].get(), static_cast<int>(i)); }
  int last = static_cast<int>(front) - 1;
  for (size_t i = front; i < strands.size() - back; ++i) {
    auto found = there.find(strands[i].get());
    if (found == there.end() || found->second <= last) { continue; }
    out[i] = last = found->second;
  }
  return out;
}

// Strands that follow each other in both trees are taken over together, and so are blocks that depend on what they depended on: a step
// that changes one of hundreds copies a few long pieces.
auto make_scope_tree(const FuncState& func, const Place& scope, const ScopeTree& before) -> ScopeTree {
  ScopeTree out = begin_tree(func, scope, &before);
  if (keeps_blocks(func, before, out)) {
    out.blocks = before.blocks;
    return out;
  }
  std::vector<int> same = same_strands(before, out);
  // Blocks: those of the same strands are the same; others may be, as far as dependences go.
  const ScopeBlocks& was = *before.blocks;
  const Scope& old = *was.info;
  ScopeBlocks now;
  std::vector<NodeId> ids;
  size_t expected = old.blocks.size() + 4;
  ids.reserve(expected);
  now.firsts.reserve(out.strands.size());
  now.touches.reserve(was.touches.size() + 12);
  now.touch_firsts.reserve(expected);
  std::vector<int> old_of;                   // -1: it depends on others in another way, perhaps
  old_of.reserve(expected);
  std::vector<char> stays(old.blocks.size(), 0);
  for (size_t s = 0; s < out.strands.size();) {
    size_t begin = ids.size();
    if (same[s] < 0) {
      now.firsts.push_back(static_cast<int>(begin));
      add_strand(func, out.strands[s], now, ids);
      old_of.resize(ids.size(), -1);
      ++s;
      continue;
    }
    size_t end = s + 1;
    while (end < out.strands.size() && same[end] == same[end - 1] + 1) { ++end; }
    int from = was.firsts[static_cast<size_t>(same[s])], to = was.end_of(static_cast<size_t>(same[end - 1]));
    int shift = static_cast<int>(begin) - from;
    for (size_t there = static_cast<size_t>(same[s]); s < end; ++s, ++there) { now.firsts.push_back(was.firsts[there] + shift); }
    if (from == to) { continue; }
    ids.insert(ids.end(), old.blocks.begin() + from, old.blocks.begin() + to);
    auto touch_from = was.touch_firsts[static_cast<size_t>(from)];
    int touch_shift = static_cast<int>(now.touches.size()) - touch_from;
    now.touches.insert(now.touches.end(), was.touches.begin() + touch_from, was.touches.begin() + static_cast<std::ptrdiff_t>(was.touch_end_of(static_cast<size_t>(to - 1))));
    now.touch_firsts.insert(now.touch_firsts.end(), was.touch_firsts.begin() + from, was.touch_firsts.begin() + to);
    for (size_t i = begin; touch_shift != 0 && i < now.touch_firsts.size(); ++i) { now.touch_firsts[i] += touch_shift; }
    for (int i : was.silent) { if (from <= i && i < to) { now.silent.push_back(i + shift); } }
    old_of.resize(ids.size());
    std::iota(old_of.begin() + static_cast<std::ptrdiff_t>(begin), old_of.end(), from);
    std::fill(stays.begin() + from, stays.begin() + to, 1);
  }
  int last = -1;
  for (size_t i = 0; i < ids.size(); ++i) {
    if (old_of[i] < 0) {
      size_t behind = i + 1;
      while (behind < old_of.size() && old_of[behind] < 0) { ++behind; }
      int next = behind < old_of.size() ? old_of[behind] : static_cast<int>(old.blocks.size());   // in terms of `before`, what comes behind
      for (int k = last + 1; k < next; ++k) {
        auto at = static_cast<size_t>(k);
        if (old.blocks[at] != ids[i]) { continue; }
        auto then = was.touches_of(at), touches = now.touches_of(i);
        if (std::equal(then.begin(), then.end(), touches.begin(), touches.end())) {
          old_of[i] = k;
          stays[at] = 1;
        }
        break;
      }
    }
    if (old_of[i] >= 0) { last = old_of[i]; }
  }
  auto finish = [&](std::shared_ptr<const Scope> info) {
    now.info = std::move(info);
    out.blocks = std::make_shared<const ScopeBlocks>(std::move(now));
    return std::move(out);
  };
  bool is_same = ids.size() == old.blocks.size();
  for (size_t i = 0; is_same && i < ids.size(); ++i) { is_same = old_of[i] == static_cast<int>(i); }
  if (is_same) { return finish(was.info); }

  Scope info;
  info.blocks = ids;
  // Buffers about which there is something new: touched by what is new or gone, and written at all.
  Buffers touched, written;
  for (size_t i = 0; i < ids.size(); ++i) {
    if (old_of[i] >= 0) { continue; }
    for (const auto& [buffer, use] : now.touches_of(i)) {
      touched.add(buffer);
      if (use == Use::Write) { written.add(buffer); }
    }
  }
  for (size_t i = 0; i < old.blocks.size(); ++i) {
    if (stays[i]) { continue; }
    for (const auto& [buffer, use] : was.touches_of(i)) { touched.add(buffer); }
  }
  touched.sort();
  written.sort();
  touched.drop([&](const BufferNode* buffer) { return !written.holds(buffer) && !old.is_written(buffer); });
  // Blocks that touch those, and all that these blocks touch.
  std::vector<char> affected(ids.size(), 0);
  Buffers wanted;
  for (size_t i = 0; i < ids.size(); ++i) {
    auto touches = now.touches_of(i);
    if (old_of[i] >= 0 && (touched.empty() || std::none_of(touches.begin(), touches.end(), [&](const auto& touch) { return touched.holds(touch.buffer); }))) { continue; }
    affected[i] = 1;
    for (const auto& [buffer, use] : touches) { wanted.add(buffer); }
  }
  wanted.sort();
  std::vector<Event> events;
  for (size_t i = 0; !wanted.empty() && i < ids.size(); ++i) {
    for (const auto& [buffer, use] : now.touches_of(i)) { if (wanted.holds(buffer)) { events.push_back({buffer, static_cast<int>(i), use}); } }
  }
  sort(events);
  info.dependences.reserve(old.dependences.size() + 8);
  info.firsts.reserve(ids.size());
  for (size_t i = 0; i < ids.size();) {
    if (affected[i]) {
      info.firsts.push_back(static_cast<int>(info.dependences.size()));
      add_dependences(now, info.blocks, events, static_cast<int>(i), info.dependences);
      ++i;
      continue;
    }
    size_t end = i + 1;
    while (end < ids.size() && !affected[end] && old_of[end] == old_of[end - 1] + 1) { ++end; }
    auto from = static_cast<size_t>(old_of[i]), to = from + end - i;
    auto first = old.firsts[from], behind = to < old.firsts.size() ? old.firsts[to] : static_cast<int>(old.dependences.size());
    int shift = static_cast<int>(info.dependences.size()) - first;
    info.dependences.insert(info.dependences.end(), old.dependences.begin() + first, old.dependences.begin() + behind);
    for (size_t k = from; k < to; ++k) { info.firsts.push_back(old.firsts[k] + shift); }
    i = end;
  }
  // Who writes what, in the order of buffers: what is new among what is not.
  std::vector<Scope::Write> fresh;
  for (const Event& event : events) {
    if (event.use == Use::Write && touched.holds(event.buffer)) { fresh.push_back({event.buffer, info.blocks[static_cast<size_t>(event.block)]}); }
  }
  info.writes.reserve(old.writes.size() + fresh.size());
  auto from = fresh.begin();
  for (const Scope::Write& write : old.writes) {
    if (touched.holds(write.buffer)) { continue; }
    for (; from != fresh.end() && from->buffer < write.buffer; ++from) { info.writes.push_back(*from); }
    info.writes.push_back(write);
  }
  info.writes.insert(info.writes.end(), from, fresh.end());
  return finish(std::make_shared<const Scope>(std::move(info)));
}

namespace {

// The memory that is mentioned in a statement, in regions and views of blocks too.
class FindMentions : public Visitor {
 public:
  explicit FindMentions(std::vector<const VarNode*>& out) : out_(out) {}
  using Visitor::visit;

 protected:
  using Visitor::on;
  void on(const VarNode& n) override { if (n.dtype.is_handle()) { out_.push_back(&n); } }
  void on(const BufferLoad& n) override {
    add(n.buffer);
    Visitor::on(n);
  }
  void on(const BufferStore& n) override {
    add(n.buffer);
    Visitor::on(n);
  }
  void on(const BufferRealize& n) override {
    add(n.buffer);
    Visitor::on(n);
  }
  void on(const DeclBuffer& n) override {
    add(n.buffer);
    Visitor::on(n);
  }
  void on(const Block& n) override {
    for (const auto* regions : {&n.reads, &n.writes}) {
      for (const BufferRegion& region : *regions) { add(region.buffer); }
    }
    for (const MatchBufferRegion& match : n.match_buffers) { add(match.source.buffer); }
    Visitor::on(n);
  }

 private:
  void add(const Buffer& buffer) { out_.push_back(buffer->data.get()); }
  std::vector<const VarNode*>& out_;
};

}  // namespace

auto make_scope_mentions(const FuncState& func, const Place& scope, std::shared_ptr<const ScopeTree> tree, const ScopeMentions* before) -> ScopeMentions {
  ScopeMentions out{.tree = std::move(tree), .data = {}, .firsts = {}};
  size_t count = out.tree->strands.size();
  std::vector<int> same(count, -1);
  if (before) { same = same_strands(*before->tree, *out.tree); }
  out.firsts.reserve(count);
  if (before) { out.data.reserve(before->data.size() + 12); }
  for (size_t s = 0; s < count;) {
    auto begin = static_cast<std::ptrdiff_t>(out.data.size());
    if (same[s] < 0) {
      out.firsts.push_back(static_cast<int>(begin));
      FindMentions(out.data).visit(out.tree->strands[s]);
      std::sort(out.data.begin() + begin, out.data.end());
      out.data.erase(std::unique(out.data.begin() + begin, out.data.end()), out.data.end());
      ++s;
      continue;
    }
    size_t end = s + 1;
    while (end < count && same[end] == same[end - 1] + 1) { ++end; }
    auto first = static_cast<size_t>(same[s]), behind = first + end - s;
    int shift = static_cast<int>(begin) - before->firsts[first];
    out.data.insert(out.data.end(), before->data.begin() + before->firsts[first], before->data.begin() + before->end_of(behind - 1));
    for (size_t k = first; k < behind; ++k) { out.firsts.push_back(before->firsts[k] + shift); }
    s = end;
  }
  return out;
}

auto changed_consumers(const ScopeTree& before, const ScopeTree& now) -> std::vector<int> {
  const Scope &old = before.info(), &info = now.info();
  std::vector<int> out;
  if (before.blocks == now.blocks) {
    // Of strands that changed the blocks, and those that depend on them.
    for (size_t s = now.strands.same_run(0, before.strands, 0); s < now.strands.size(); ++s, s += now.strands.same_run(s, before.strands, s)) {
      for (int i = now.blocks->firsts[s]; i < now.blocks->end_of(s); ++i) {
        out.push_back(i);
        for (const Dependence& d : info.of_src(info.blocks[static_cast<size_t>(i)])) { out.push_back(info.number_of(d.dst)); }
      }
    }
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
  }
  std::vector<int> same = same_strands(before, now);
  Few<NodeId> in_others;                     // blocks of strands that changed
  for (size_t s = 0; s < same.size(); ++s) {
    for (int i = now.blocks->firsts[s]; same[s] < 0 && i < now.blocks->end_of(s); ++i) { in_others.add(info.blocks[static_cast<size_t>(i)]); }
  }
  in_others.sort();
  for (size_t s = 0; s < same.size(); ++s) {
    for (int i = now.blocks->firsts[s]; i < now.blocks->end_of(s); ++i) {
      auto here = info.of_block(static_cast<size_t>(i));
      bool is_same = same[s] >= 0 && std::none_of(here.begin(), here.end(), [&](const Dependence& d) { return in_others.holds(d.src); });
      if (is_same && &old != &info) {
        auto there = old.of_block(static_cast<size_t>(before.blocks->firsts[static_cast<size_t>(same[s])] + i - now.blocks->firsts[s]));
        is_same = std::equal(here.begin(), here.end(), there.begin(), there.end());
      }
      if (!is_same) { out.push_back(i); }
    }
  }
  return out;
}

}  // namespace loopsmith::schedule
