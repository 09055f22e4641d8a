// Dependences between the blocks of a scope, kept up from state to state: see scopes.h.
#include "schedule/scopes.h"

#include <algorithm>
#include <functional>
#include <tuple>
#include <unordered_map>

#include "ir/visitor.h"

namespace loopsmith::schedule {
namespace {

// A block touches a buffer.
enum class Use : uint8_t { Read, HiddenRead, Write };
struct Event {
  const BufferNode* buffer = nullptr;
  int block = 0;
  Use use = Use::Read;
};

template <class F>
void each_use(const FuncState& func, const Block& block, const F& f) {
  for (const BufferRegion& read : block.reads) { f(read.buffer.get(), Use::Read); }
  for (const Buffer& buffer : func.hidden_reads(block)) { f(buffer.get(), Use::HiddenRead); }
  for (const BufferRegion& write : block.writes) { f(write.buffer.get(), Use::Write); }
}

// By buffer, then in the order of the text.
void sort(std::vector<Event>& events) {
  std::sort(events.begin(), events.end(), [](const Event& a, const Event& b) { return std::tie(a.buffer, a.block, a.use) < std::tie(b.buffer, b.block, b.use); });
}

void sort(std::vector<const BufferNode*>& buffers) {
  std::sort(buffers.begin(), buffers.end());
  buffers.erase(std::unique(buffers.begin(), buffers.end()), buffers.end());
}
auto holds(const std::vector<const BufferNode*>& buffers, const BufferNode* buffer) -> bool { return std::binary_search(buffers.begin(), buffers.end(), buffer); }

// What a block depends on, of those before it.
void add_dependences(const FuncState& func, const ScopeTree& tree, const std::vector<NodeId>& ids, const std::vector<Event>& events, int block, std::vector<Dependence>& out) {
  auto depend = [&](const BufferNode* buffer, Use on, DependenceKind kind) {
    auto at = std::lower_bound(events.begin(), events.end(), buffer, [](const Event& e, const BufferNode* b) { return e.buffer < b; });
    for (; at != events.end() && at->buffer == buffer && at->block < block; ++at) {
      bool is_hidden = on == Use::HiddenRead;
      if (at->use == on) { out.push_back({ids[static_cast<size_t>(at->block)], ids[static_cast<size_t>(block)], kind, buffer, is_hidden}); }
    }
  };
  const Block& here = *tree.blocks[static_cast<size_t>(block)];
  for (const BufferRegion& read : here.reads) { depend(read.buffer.get(), Use::Write, DependenceKind::Raw); }
  for (const Buffer& buffer : func.hidden_reads(here)) {
    size_t first = out.size();
    depend(buffer.get(), Use::Write, DependenceKind::Raw);
    for (size_t i = first; i < out.size(); ++i) { out[i].is_hidden = true; }
  }
  for (const BufferRegion& write : here.writes) { depend(write.buffer.get(), Use::Write, DependenceKind::Waw); }
  for (const BufferRegion& write : here.writes) {
    depend(write.buffer.get(), Use::Read, DependenceKind::War);
    depend(write.buffer.get(), Use::HiddenRead, DependenceKind::War);
  }
}

void add_blocks(const FuncState& func, const Place& strand, std::vector<NodeId>& ids, std::vector<const Block*>& blocks) {
  for (int i = strand.index; i < strand.end;) {
    const Place& place = func.places()[static_cast<size_t>(i)];
    if (place.is_block()) {
      ids.push_back(place.id);
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
  ScopeTree out{.scope = scope.id, .made_from = func.func(), .strands = {}, .blocks = {}, .info = {}};
  Scope info;
  each_strand(func, scope, [&](const Place& place) {
    out.strands.push_back({node_of(place), place.id, static_cast<int>(out.blocks.size())});
    add_blocks(func, place, info.blocks, out.blocks);
  });
  std::vector<Event> events;
  int count = static_cast<int>(out.blocks.size());
  for (int i = 0; i < count; ++i) {
    each_use(func, *out.blocks[static_cast<size_t>(i)], [&](const BufferNode* buffer, Use use) { events.push_back({buffer, i, use}); });
  }
  sort(events);
  for (int i = 0; i < count; ++i) {
    info.firsts.push_back(static_cast<int>(info.dependences.size()));
    add_dependences(func, out, info.blocks, events, i, info.dependences);
  }
  for (const Event& event : events) {
    if (event.use == Use::Write) { info.writes.push_back({event.buffer, info.blocks[static_cast<size_t>(event.block)]}); }
  }
  out.info = std::make_shared<const Scope>(std::move(info));
  return out;
}

// Of two lists, for each of `now` where it stands in `before`, in increasing order; -1: it does not. What stands at the front and at
// the end of both is found by looking, what moved in between by a table.
template <class Get>
static auto align(int before_count, int count, const Get& before_at, const Get& now_at) -> std::vector<int> {
  std::vector<int> out(static_cast<size_t>(count), -1);
  int front = 0;
  while (front < std::min(before_count, count) && before_at(front) == now_at(front)) { out[static_cast<size_t>(front)] = front; ++front; }
  int back = 0;
  while (back < std::min(before_count, count) - front && before_at(before_count - 1 - back) == now_at(count - 1 - back)) {
    out[static_cast<size_t>(count - 1 - back)] = before_count - 1 - back;
    ++back;
  }
  if (front == before_count - back || front == count - back) { return out; }
  std::unordered_map<uint64_t, int> there;
  for (int i = front; i < before_count - back; ++i) { there.emplace(before_at(i), i); }
  int last = front - 1;
  for (int i = front; i < count - back; ++i) {
    auto found = there.find(now_at(i));
    if (found == there.end() || found->second <= last) { continue; }
    out[static_cast<size_t>(i)] = last = found->second;
  }
  return out;
}

auto same_strands(const ScopeTree& before, const ScopeTree& now) -> std::vector<int> {
  using Get = std::function<uint64_t(int)>;
  auto of = [](const ScopeTree& tree) { return [&tree](int i) { return static_cast<uint64_t>(reinterpret_cast<uintptr_t>(tree.strands[static_cast<size_t>(i)].node)); }; };
  return align<Get>(static_cast<int>(before.strands.size()), static_cast<int>(now.strands.size()), of(before), of(now));
}

auto make_scope_tree(const FuncState& func, const Place& scope, const ScopeTree& before) -> ScopeTree {
  ScopeTree out{.scope = scope.id, .made_from = func.func(), .strands = {}, .blocks = {}, .info = {}};
  out.strands.reserve(before.strands.size() + 4);
  std::vector<int> places;
  each_strand(func, scope, [&](const Place& place) {
    out.strands.push_back({node_of(place), place.id, 0});
    places.push_back(place.index);
  });
  std::vector<int> same = same_strands(before, out);
  // Blocks: those of the same strands are the same; others may be, as far as dependences go.
  const Scope& old = *before.info;
  Scope info;
  info.blocks.reserve(before.blocks.size() + 4);
  out.blocks.reserve(before.blocks.size() + 4);
  std::vector<int> old_of;                   // -1: it depends on others in another way, perhaps
  old_of.reserve(before.blocks.size() + 4);
  std::vector<bool> stays(before.blocks.size(), false);
  for (size_t s = 0; s < out.strands.size(); ++s) {
    out.strands[s].first = static_cast<int>(out.blocks.size());
    if (same[s] >= 0) {
      auto from = static_cast<size_t>(before.strands[static_cast<size_t>(same[s])].first), to = static_cast<size_t>(before.end_of(static_cast<size_t>(same[s])));
      for (size_t i = from; i < to; ++i) {
        info.blocks.push_back(old.blocks[i]);
        out.blocks.push_back(before.blocks[i]);
        old_of.push_back(static_cast<int>(i));
        stays[i] = true;
      }
    } else {
      add_blocks(func, func.places()[static_cast<size_t>(places[s])], info.blocks, out.blocks);
      old_of.resize(out.blocks.size(), -1);
    }
  }
  std::vector<int> next(out.blocks.size() + 1, static_cast<int>(before.blocks.size()));   // the least that comes behind, in terms of `before`
  for (size_t i = out.blocks.size(); i-- > 0;) { next[i] = old_of[i] >= 0 ? old_of[i] : next[i + 1]; }
  int last = -1;
  for (size_t i = 0; i < out.blocks.size(); ++i) {
    if (old_of[i] < 0) {
      for (int k = last + 1; k < next[i + 1]; ++k) {
        auto at = static_cast<size_t>(k);
        const Block &was = *before.blocks[at], &is = *out.blocks[i];
        if (old.blocks[at] != info.blocks[i]) { continue; }
        if (was.reads.begin() == is.reads.begin() && was.writes.begin() == is.writes.begin() && func.hidden_reads(was) == func.hidden_reads(is)) {
          old_of[i] = k;
          stays[at] = true;
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

  // Buffers about which there is something new: touched by what is new or gone, and written at all.
  std::vector<const BufferNode*> touched, written;
  for (size_t i = 0; i < out.blocks.size(); ++i) {
    if (old_of[i] >= 0) { continue; }
    each_use(func, *out.blocks[i], [&](const BufferNode* buffer, Use use) {
      touched.push_back(buffer);
      if (use == Use::Write) { written.push_back(buffer); }
    });
  }
  for (size_t i = 0; i < before.blocks.size(); ++i) {
    if (!stays[i]) { each_use(func, *before.blocks[i], [&](const BufferNode* buffer, Use) { touched.push_back(buffer); }); }
  }
  sort(touched);
  sort(written);
  std::erase_if(touched, [&](const BufferNode* buffer) { return !holds(written, buffer) && !old.is_written(buffer); });
  // Blocks that touch those, and all that these blocks touch.
  std::vector<bool> affected(out.blocks.size());
  std::vector<const BufferNode*> wanted;
  for (size_t i = 0; i < out.blocks.size(); ++i) {
    affected[i] = old_of[i] < 0;
    if (!affected[i]) { each_use(func, *out.blocks[i], [&](const BufferNode* buffer, Use) { affected[i] = affected[i] || holds(touched, buffer); }); }
    if (affected[i]) { each_use(func, *out.blocks[i], [&](const BufferNode* buffer, Use) { wanted.push_back(buffer); }); }
  }
  sort(wanted);
  std::vector<Event> events;
  for (size_t i = 0; i < out.blocks.size(); ++i) {
    each_use(func, *out.blocks[i], [&](const BufferNode* buffer, Use use) { if (holds(wanted, buffer)) { events.push_back({buffer, static_cast<int>(i), use}); } });
  }
  sort(events);
  info.dependences.reserve(old.dependences.size() + 8);
  info.firsts.reserve(out.blocks.size());
  for (size_t i = 0; i < out.blocks.size(); ++i) {
    info.firsts.push_back(static_cast<int>(info.dependences.size()));
    if (affected[i]) {
      add_dependences(func, out, info.blocks, events, static_cast<int>(i), info.dependences);
    } else {
      auto kept = old.of_block(static_cast<size_t>(old_of[i]));
      info.dependences.insert(info.dependences.end(), kept.begin(), kept.end());
    }
  }
  // Who writes what, in the order of buffers: what is new among what is not.
  std::vector<Scope::Write> fresh;
  for (const Event& event : events) {
    if (event.use == Use::Write && holds(touched, event.buffer)) { fresh.push_back({event.buffer, info.blocks[static_cast<size_t>(event.block)]}); }
  }
  info.writes.reserve(old.writes.size() + fresh.size());
  auto from = fresh.begin();
  for (const Scope::Write& write : old.writes) {
    if (holds(touched, write.buffer)) { continue; }
    for (; from != fresh.end() && from->buffer < write.buffer; ++from) { info.writes.push_back(*from); }
    info.writes.push_back(write);
  }
  info.writes.insert(info.writes.end(), from, fresh.end());
  out.info = std::make_shared<const Scope>(std::move(info));
  return out;
}

namespace {

// All buffers and pointers in a statement, regions and views of blocks included.
class FindMentions : public Visitor {
 public:
  explicit FindMentions(std::vector<const void*>& out) : out_(out) {}
  using Visitor::visit;

 protected:
  using Visitor::on;
  void on(const VarNode& n) override { if (n.dtype.is_handle()) { out_.push_back(&n); } }
  void on(const BufferLoad& n) override {
    out_.push_back(n.buffer.get());
    Visitor::on(n);
  }
  void on(const BufferStore& n) override {
    out_.push_back(n.buffer.get());
    Visitor::on(n);
  }
  void on(const BufferRealize& n) override {
    out_.push_back(n.buffer.get());
    Visitor::on(n);
  }
  void on(const DeclBuffer& n) override {
    out_.push_back(n.buffer.get());
    out_.push_back(n.buffer->data.get());
    Visitor::on(n);
  }
  void on(const Block& n) override {
    for (const auto* regions : {&n.reads, &n.writes}) {
      for (const BufferRegion& region : *regions) { out_.push_back(region.buffer.get()); }
    }
    for (const MatchBufferRegion& match : n.match_buffers) { out_.push_back(match.source.buffer.get()); }
    Visitor::on(n);
  }

 private:
  std::vector<const void*>& out_;
};

}  // namespace

auto make_scope_mentions(const FuncState& func, const Place& scope, std::shared_ptr<const ScopeTree> tree, const ScopeMentions* before) -> ScopeMentions {
  ScopeMentions out{.tree = std::move(tree), .mentions = {}};
  std::vector<int> same(out.tree->strands.size(), -1);
  if (before) { same = same_strands(*before->tree, *out.tree); }
  std::vector<ScopeMentions::Mention> fresh;
  size_t strand = 0;
  std::vector<const void*> found;
  each_strand(func, scope, [&](const Place& place) {
    if (same[strand++] >= 0) { return; }
    found.clear();
    FindMentions(found).visit(place.stmt());
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    for (const void* what : found) { fresh.push_back({what, place.id}); }
  });
  auto is_before = [](const ScopeMentions::Mention& a, const ScopeMentions::Mention& b) { return a.what < b.what; };
  std::sort(fresh.begin(), fresh.end(), is_before);
  if (!before) {
    out.mentions = std::move(fresh);
    return out;
  }
  // Of the strands that are gone, or made anew with the same id, nothing stays.
  std::vector<NodeId> gone;
  {
    std::vector<bool> stays(before->tree->strands.size(), false);
    for (int old : same) { if (old >= 0) { stays[static_cast<size_t>(old)] = true; } }
    for (size_t i = 0; i < stays.size(); ++i) { if (!stays[i]) { gone.push_back(before->tree->strands[i].id); } }
  }
  std::sort(gone.begin(), gone.end());
  out.mentions.reserve(before->mentions.size() + fresh.size());
  auto next = fresh.begin();
  for (const ScopeMentions::Mention& mention : before->mentions) {
    if (std::binary_search(gone.begin(), gone.end(), mention.strand)) { continue; }
    for (; next != fresh.end() && next->what < mention.what; ++next) { out.mentions.push_back(*next); }
    out.mentions.push_back(mention);
  }
  out.mentions.insert(out.mentions.end(), next, fresh.end());
  return out;
}

auto changed_consumers(const ScopeTree& before, const ScopeTree& now) -> std::vector<int> {
  std::vector<int> same = same_strands(before, now);
  const Scope &old = *before.info, &info = *now.info;
  std::vector<NodeId> in_others;             // blocks of strands that changed
  for (size_t s = 0; s < same.size(); ++s) {
    for (int i = now.strands[s].first; same[s] < 0 && i < now.end_of(s); ++i) { in_others.push_back(info.blocks[static_cast<size_t>(i)]); }
  }
  std::sort(in_others.begin(), in_others.end());
  std::vector<int> out;
  for (size_t s = 0; s < same.size(); ++s) {
    for (int i = now.strands[s].first; i < now.end_of(s); ++i) {
      auto here = info.of_block(static_cast<size_t>(i));
      bool is_same = same[s] >= 0 && std::none_of(here.begin(), here.end(), [&](const Dependence& d) { return std::binary_search(in_others.begin(), in_others.end(), d.src); });
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
