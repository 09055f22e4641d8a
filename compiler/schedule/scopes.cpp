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

using Use = ScopeTree::Use;

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

void add_touches(const FuncState& func, ScopeTree& tree, size_t from) {
  for (size_t i = from; i < tree.blocks.size(); ++i) {
    const Block& block = *tree.blocks[i];
    tree.touch_firsts.push_back(static_cast<int>(tree.touches.size()));
    for (const BufferRegion& read : block.reads) { tree.touches.push_back({read.buffer.get(), Use::Read}); }
    for (const Buffer& buffer : func.hidden_reads(block)) { tree.touches.push_back({buffer.get(), Use::HiddenRead}); }
    for (const BufferRegion& write : block.writes) { tree.touches.push_back({write.buffer.get(), Use::Write}); }
    if (block.reads.empty() && block.writes.empty()) { tree.silent.push_back(static_cast<int>(i)); }
  }
}

// What a block depends on, of those before it.
void add_dependences(const ScopeTree& tree, const std::vector<NodeId>& ids, const std::vector<Event>& events, int block, std::vector<Dependence>& out) {
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

void add_blocks(const FuncState& func, const Place& strand, std::vector<const Block*>& blocks) {
  for (int i = strand.index; i < strand.end;) {
    const Place& place = func.places()[static_cast<size_t>(i)];
    if (place.is_block()) {
      blocks.push_back(place.block());
      i = place.end;
    } else {
      ++i;
    }
  }
}

auto node_of(const Place& place) -> const void* { return place.is_loop() ? static_cast<const void*>(place.loop) : place.realize; }

template <class F>
void each_strand(const FuncState& func, const Place& scope, const F& f) {
  for (int i = scope.index + 1; i < scope.end;) {
    const Place& place = func.places()[static_cast<size_t>(i)];
    f(place);
    i = place.end;
  }
}

}  // namespace

auto make_scope_tree(const FuncState& func, const Place& scope) -> ScopeTree {
  ScopeTree out{.scope = scope.id, .made_from = func.func(), .strands = {}, .blocks = {}, .touches = {}, .touch_firsts = {}, .silent = {}, .info = {}};
  each_strand(func, scope, [&](const Place& place) {
    out.strands.push_back({node_of(place), place.id, static_cast<int>(out.blocks.size())});
    add_blocks(func, place, out.blocks);
  });
  add_touches(func, out, 0);
  Scope info;
  std::vector<Event> events;
  int count = static_cast<int>(out.blocks.size());
  for (int i = 0; i < count; ++i) {
    info.blocks.push_back(out.blocks[static_cast<size_t>(i)]->id);
    for (const auto& [buffer, use] : out.touches_of(static_cast<size_t>(i))) { events.push_back({buffer, i, use}); }
  }
  sort(events);
  for (int i = 0; i < count; ++i) {
    info.firsts.push_back(static_cast<int>(info.dependences.size()));
    add_dependences(out, info.blocks, events, i, info.dependences);
  }
  for (const Event& event : events) {
    if (event.use == Use::Write) { info.writes.push_back({event.buffer, info.blocks[static_cast<size_t>(event.block)]}); }
  }
  out.info = std::make_shared<const Scope>(std::move(info));
  return out;
}

// What stands at the front and at the end of both is found by looking, what moved in between by a table.
auto same_strands(const ScopeTree& before, const ScopeTree& now) -> std::vector<int> {
  const auto &old = before.strands, &strands = now.strands;
  size_t least = std::min(old.size(), strands.size());
  size_t front = 0, back = 0;
  while (front < least && old[front].node == strands[front].node) { ++front; }
  while (back < least - front && old[old.size() - 1 - back].node == strands[strands.size() - 1 - back].node) { ++back; }
  std::vector<int> out(strands.size(), -1);
  std::iota(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(front), 0);
  std::iota(out.end() - static_cast<std::ptrdiff_t>(back), out.end(), static_cast<int>(old.size() - back));
  if (front == old.size() - back || front == strands.size() - back) { return out; }
  std::unordered_map<const void*, int> there;
  for (size_t i = front; i < old.size() - back; ++i) { there.emplace(old[i].node, static_cast<int>(i)); }
  int last = static_cast<int>(front) - 1;
  for (size_t i = front; i < strands.size() - back; ++i) {
    auto found = there.find(strands[i].node);
    if (found == there.end() || found->second <= last) { continue; }
    out[i] = last = found->second;
  }
  return out;
}

// Strands that follow each other in both trees are taken over together, and so are blocks that depend on what they depended on: a step
// that changes one of hundreds copies a few long pieces.
auto make_scope_tree(const FuncState& func, const Place& scope, const ScopeTree& before) -> ScopeTree {
  ScopeTree out{.scope = scope.id, .made_from = func.func(), .strands = {}, .blocks = {}, .touches = {}, .touch_firsts = {}, .silent = {}, .info = {}};
  out.strands.reserve(before.strands.size() + 4);
  std::vector<int> places;
  places.reserve(before.strands.size() + 4);
  each_strand(func, scope, [&](const Place& place) {
    out.strands.push_back({node_of(place), place.id, 0});
    places.push_back(place.index);
  });
  std::vector<int> same = same_strands(before, out);
  // Blocks: those of the same strands are the same; others may be, as far as dependences go.
  const Scope& old = *before.info;
  size_t expected = before.blocks.size() + 4;
  out.blocks.reserve(expected);
  out.touches.reserve(before.touches.size() + 12);
  out.touch_firsts.reserve(expected);
  std::vector<int> old_of;                   // -1: it depends on others in another way, perhaps
  old_of.reserve(expected);
  std::vector<char> stays(before.blocks.size(), 0);
  for (size_t s = 0; s < out.strands.size();) {
    size_t begin = out.blocks.size();
    if (same[s] < 0) {
      out.strands[s].first = static_cast<int>(begin);
      add_blocks(func, func.places()[static_cast<size_t>(places[s])], out.blocks);
      add_touches(func, out, begin);
      old_of.resize(out.blocks.size(), -1);
      ++s;
      continue;
    }
    size_t end = s + 1;
    while (end < out.strands.size() && same[end] == same[end - 1] + 1) { ++end; }
    int from = before.strands[static_cast<size_t>(same[s])].first, to = before.end_of(static_cast<size_t>(same[end - 1]));
    int shift = static_cast<int>(begin) - from;
    for (size_t there = static_cast<size_t>(same[s]); s < end; ++s, ++there) { out.strands[s].first = before.strands[there].first + shift; }
    if (from == to) { continue; }
    out.blocks.insert(out.blocks.end(), before.blocks.begin() + from, before.blocks.begin() + to);
    auto touch_from = before.touch_firsts[static_cast<size_t>(from)];
    int touch_shift = static_cast<int>(out.touches.size()) - touch_from;
    out.touches.insert(out.touches.end(), before.touches.begin() + touch_from, before.touches.begin() + static_cast<std::ptrdiff_t>(before.touch_end_of(static_cast<size_t>(to - 1))));
    out.touch_firsts.insert(out.touch_firsts.end(), before.touch_firsts.begin() + from, before.touch_firsts.begin() + to);
    for (size_t i = begin; touch_shift != 0 && i < out.touch_firsts.size(); ++i) { out.touch_firsts[i] += touch_shift; }
    for (int i : before.silent) { if (from <= i && i < to) { out.silent.push_back(i + shift); } }
    old_of.resize(out.blocks.size());
    std::iota(old_of.begin() + static_cast<std::ptrdiff_t>(begin), old_of.end(), from);
    std::fill(stays.begin() + from, stays.begin() + to, 1);
  }
  int last = -1;
  for (size_t i = 0; i < out.blocks.size(); ++i) {
    if (old_of[i] < 0) {
      size_t behind = i + 1;
      while (behind < old_of.size() && old_of[behind] < 0) { ++behind; }
      int next = behind < old_of.size() ? old_of[behind] : static_cast<int>(before.blocks.size());   // in terms of `before`, what comes behind
      const Block& is = *out.blocks[i];
      for (int k = last + 1; k < next; ++k) {
        auto at = static_cast<size_t>(k);
        const Block& was = *before.blocks[at];
        if (was.id != is.id) { continue; }
        if (was.reads.begin() == is.reads.begin() && was.writes.begin() == is.writes.begin() && func.hidden_reads(was) == func.hidden_reads(is)) {
          old_of[i] = k;
          stays[at] = 1;
        }
        break;
      }
    }
    if (old_of[i] >= 0) { last = old_of[i]; }
  }
  bool is_same = out.blocks.size() == before.blocks.size();
  for (size_t i = 0; is_same && i < out.blocks.size(); ++i) { is_same = old_of[i] == static_cast<int>(i); }
  if (is_same) {
    out.info = before.info;
    return out;
  }

  Scope info;
  info.blocks.reserve(out.blocks.size());
  for (const Block* block : out.blocks) { info.blocks.push_back(block->id); }
  // Buffers about which there is something new: touched by what is new or gone, and written at all.
  Buffers touched, written;
  for (size_t i = 0; i < out.blocks.size(); ++i) {
    if (old_of[i] >= 0) { continue; }
    for (const auto& [buffer, use] : out.touches_of(i)) {
      touched.add(buffer);
      if (use == Use::Write) { written.add(buffer); }
    }
  }
  for (size_t i = 0; i < before.blocks.size(); ++i) {
    if (stays[i]) { continue; }
    for (const auto& [buffer, use] : before.touches_of(i)) { touched.add(buffer); }
  }
  touched.sort();
  written.sort();
  touched.drop([&](const BufferNode* buffer) { return !written.holds(buffer) && !old.is_written(buffer); });
  // Blocks that touch those, and all that these blocks touch.
  std::vector<char> affected(out.blocks.size(), 0);
  Buffers wanted;
  for (size_t i = 0; i < out.blocks.size(); ++i) {
    auto touches = out.touches_of(i);
    if (old_of[i] >= 0 && (touched.empty() || std::none_of(touches.begin(), touches.end(), [&](const auto& touch) { return touched.holds(touch.buffer); }))) { continue; }
    affected[i] = 1;
    for (const auto& [buffer, use] : touches) { wanted.add(buffer); }
  }
  wanted.sort();
  std::vector<Event> events;
  for (size_t i = 0; !wanted.empty() && i < out.blocks.size(); ++i) {
    for (const auto& [buffer, use] : out.touches_of(i)) { if (wanted.holds(buffer)) { events.push_back({buffer, static_cast<int>(i), use}); } }
  }
  sort(events);
  info.dependences.reserve(old.dependences.size() + 8);
  info.firsts.reserve(out.blocks.size());
  for (size_t i = 0; i < out.blocks.size();) {
    if (affected[i]) {
      info.firsts.push_back(static_cast<int>(info.dependences.size()));
      add_dependences(out, info.blocks, events, static_cast<int>(i), info.dependences);
      ++i;
      continue;
    }
    size_t end = i + 1;
    while (end < out.blocks.size() && !affected[end] && old_of[end] == old_of[end - 1] + 1) { ++end; }
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
  out.info = std::make_shared<const Scope>(std::move(info));
  return out;
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
      FindMentions(out.data).visit(func.find(out.tree->strands[s].id)->stmt());
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
  std::vector<int> same = same_strands(before, now);
  const Scope &old = *before.info, &info = *now.info;
  Few<NodeId> in_others;                     // blocks of strands that changed
  for (size_t s = 0; s < same.size(); ++s) {
    for (int i = now.strands[s].first; same[s] < 0 && i < now.end_of(s); ++i) { in_others.add(info.blocks[static_cast<size_t>(i)]); }
  }
  in_others.sort();
  std::vector<int> out;
  for (size_t s = 0; s < same.size(); ++s) {
    for (int i = now.strands[s].first; i < now.end_of(s); ++i) {
      auto here = info.of_block(static_cast<size_t>(i));
      bool is_same = same[s] >= 0 && std::none_of(here.begin(), here.end(), [&](const Dependence& d) { return in_others.holds(d.src); });
      if (is_same && &old != &info) {
        auto there = old.of_block(static_cast<size_t>(before.strands[static_cast<size_t>(same[s])].first + i - now.strands[s].first));
        is_same = std::equal(here.begin(), here.end(), there.begin(), there.end());
      }
      if (!is_same) { out.push_back(i); }
    }
  }
  return out;
}

}  // namespace loopsmith::schedule
