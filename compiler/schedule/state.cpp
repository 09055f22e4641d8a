// The tree of a function, rewriting along a path, and the answers kept about blocks: see state.h. How the answers
// come about is in analysis.cpp.
#include "schedule/state.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "ir/ops.h"
#include "ir/visitor.h"
#include "schedule/analysis.h"
#include "schedule/scopes.h"

namespace loopsmith::schedule {

// What was computed, with the pointers it was computed from. `made_from` and the strands of trees keep those alive, so that equal
// pointers mean equal nodes.
struct FuncState::Kept {
  struct CoverEntry {
    NodeId scope;
    PrimFunc made_from;
    std::vector<const void*> around;       // what is known of the loops and blocks around the scope, and of its own iter vars
    std::shared_ptr<const ScopeTree> tree;
    Cover cover;
  };
  struct BindingEntry {
    NodeId block;
    PrimFunc made_from;
    std::vector<const void*> read_from;
    bool is_affine;
  };
  // By block node; shared by all states of a schedule. Each entry keeps its block alive.
  struct HiddenEntry { Ref<Block> block; std::vector<Buffer> buffers; };
  std::shared_ptr<std::unordered_map<const Block*, HiddenEntry>> hidden = std::make_shared<std::unordered_map<const Block*, HiddenEntry>>();
  // The buffers that a block allocates, by their memory.
  struct AllocEntry { NodeId block; Sequence<Buffer> made_from; Sequence<Alloc> by_data; };
  std::vector<AllocEntry> allocs;            // of this state, or one before: compared when asked
  // Blocks of a scope that write what it does not allocate; likewise.
  struct OutputEntry { NodeId scope; Sequence<Buffer> own; Sequence<Stmt> strands; std::vector<NodeId> blocks; };
  std::vector<std::shared_ptr<const OutputEntry>> outputs;
  std::vector<std::shared_ptr<const ScopeTree>> scopes;
  std::vector<std::shared_ptr<const CoverEntry>> covers;
  std::vector<std::shared_ptr<const BindingEntry>> bindings;
  std::vector<std::shared_ptr<const ScopeMentions>> mentions;
  // Taken over from the state before, not compared yet.
  std::vector<std::shared_ptr<const ScopeTree>> old_scopes;
  std::vector<std::shared_ptr<const CoverEntry>> old_covers;
  std::vector<std::shared_ptr<const BindingEntry>> old_bindings;
  std::vector<std::shared_ptr<const ScopeMentions>> old_mentions;
};

// ---- the tree ------------------------------------------------------------------------------------------

FuncState::FuncState(Name name, PrimFunc func)
    : name_(name), func_(std::move(func)), places_(root_block(func_) ? Places(func_->body) : Places()), kept_(std::make_shared<Kept>()) {}

FuncState::FuncState(Name name, PrimFunc func, const FuncState& before)
    : name_(name), func_(std::move(func)), places_(root_block(func_) ? Places(func_->body, before.places_) : Places()), kept_(std::make_shared<Kept>()) {}

auto FuncState::loops(const Place& p) const -> std::vector<const Place*> {
  std::vector<const Place*> out;
  for (const Place* at = parent(p); at && at->is_loop(); at = parent(*at)) { out.push_back(at); }
  std::reverse(out.begin(), out.end());
  return out;
}

auto FuncState::child_blocks(const Place& p) const -> std::vector<const Place*> {
  std::vector<const Place*> out;
  if (p.end == p.index + 1) { return out; }
  for (auto at = places_.from(p.index + 1);;) {
    const Place& place = *at;
    if (place.is_block()) { out.push_back(&place); }
    int next = place.is_block() ? place.end : place.index + 1;
    if (next >= p.end) { break; }
    if (next == place.index + 1) { ++at; } else { at = places_.from(next); }
  }
  return out;
}

// ---- kept answers --------------------------------------------------------------------------------------

namespace {

void add_loop(std::vector<const void*>& out, const For& loop) {
  out.push_back(loop.var.get());
  out.push_back(loop.min.get());
  out.push_back(loop.extent.get());
  out.push_back(reinterpret_cast<const void*>(static_cast<uintptr_t>(loop.for_kind)));
  // Which threads share a memory depends on the axis.
  out.push_back(loop.thread ? loop.thread->thread_tag.view().data() : nullptr);
}

void add_realize(std::vector<const void*>& out, const BlockRealize& realize) {
  out.push_back(realize.iter_values.begin());
  out.push_back(realize.predicate.get());
  out.push_back(realize.block->iter_vars.begin());
}

auto binding_inputs(const FuncState& func, const Place& block) -> std::vector<const void*> {
  std::vector<const void*> out;
  // Of loops the ranges only: how they run does not change what iter values are.
  for (const Place* loop : func.loops(block)) {
    out.push_back(loop->loop->var.get());
    out.push_back(loop->loop->min.get());
    out.push_back(loop->loop->extent.get());
  }
  add_realize(out, *block.realize);
  return out;
}

// Regions may mention what is bound outside of the scope.
auto around_scope(const FuncState& func, const Place& scope) -> std::vector<const void*> {
  std::vector<const void*> out;
  for (const Place* at = func.parent(scope); at; at = func.parent(*at)) {
    if (at->is_loop()) { add_loop(out, *at->loop); } else { add_realize(out, *at->realize); }
  }
  add_realize(out, *scope.realize);
  return out;
}

template <class Entry, class Matches>
auto find_entry(const std::vector<std::shared_ptr<const Entry>>& entries, const Matches& matches) -> std::shared_ptr<const Entry> {
  for (const auto& entry : entries) {
    if (matches(*entry)) { return entry; }
  }
  return nullptr;
}

}  // namespace

auto FuncState::hidden_reads(const Block& block) const -> const std::vector<Buffer>& {
  auto found = kept_->hidden->find(&block);
  if (found == kept_->hidden->end()) { found = kept_->hidden->emplace(&block, Kept::HiddenEntry{Ref<Block>(&block), compute_hidden_reads(block)}).first; }
  return found->second.buffers;
}

// Few buffers are gone through, many are kept sorted.
static constexpr size_t few_buffers = 24;

auto FuncState::allocs_by_data(const Place& block) const -> const Sequence<Alloc>& {
  const Sequence<Buffer>& all = block.block()->alloc_buffers;
  auto entry = std::find_if(kept_->allocs.begin(), kept_->allocs.end(), [&](const Kept::AllocEntry& e) { return e.block == block.id; });
  if (entry == kept_->allocs.end()) { entry = kept_->allocs.insert(entry, {block.id, {}, {}}); }
  if (entry->made_from.same_as(all)) { return entry->by_data; }
  std::vector<Alloc> gone, fresh;
  difference(entry->made_from, all, [&](size_t from, size_t to, size_t new_from, size_t new_to) {
    for (; from < to; ++from) { gone.push_back({entry->made_from[from]->data.get(), entry->made_from[from].get()}); }
    for (; new_from < new_to; ++new_from) { fresh.push_back({all[new_from]->data.get(), all[new_from].get()}); }
  });
  Sequence<Alloc>& sorted = entry->by_data;
  if ((gone.size() + fresh.size()) * 8 > all.size()) {
    fresh.clear();
    for (const Buffer& buffer : all) { fresh.push_back({buffer->data.get(), buffer.get()}); }
    std::sort(fresh.begin(), fresh.end());
    sorted = std::move(fresh);
  } else {
    auto place_of = [&](const Alloc& alloc) { return sorted.lower_bound([&](const Alloc& other) { return other < alloc; }); };
    for (const Alloc& alloc : gone) {
      size_t at = place_of(alloc);
      sorted = sorted.spliced(at, at + 1, {});
    }
    for (const Alloc& alloc : fresh) {
      size_t at = place_of(alloc);
      sorted = sorted.spliced(at, at, std::span(&alloc, 1));
    }
  }
  entry->made_from = all;
  return sorted;
}

auto FuncState::allocates(const Place& block, const Buffer& buffer) const -> bool {
  const Sequence<Buffer>& all = block.block()->alloc_buffers;
  if (all.size() <= few_buffers) { return std::find(all.begin(), all.end(), buffer) != all.end(); }
  const Sequence<Alloc>& sorted = allocs_by_data(block);
  Alloc wanted{buffer->data.get(), buffer.get()};
  size_t at = sorted.lower_bound([&](const Alloc& other) { return other < wanted; });
  return at < sorted.size() && sorted[at] == wanted;
}

auto FuncState::allocated_on(const Place& block, const VarNode* data) const -> std::vector<Buffer> {
  const Sequence<Buffer>& all = block.block()->alloc_buffers;
  std::vector<Buffer> out;
  if (all.size() <= few_buffers) {
    std::copy_if(all.begin(), all.end(), std::back_inserter(out), [&](const Buffer& b) { return b->data.get() == data; });
    return out;
  }
  const Sequence<Alloc>& sorted = allocs_by_data(block);
  for (size_t at = sorted.lower_bound([&](const Alloc& other) { return other.data < data; }); at < sorted.size() && sorted[at].data == data; ++at) {
    out.emplace_back(sorted[at].buffer);
  }
  return out;
}

auto FuncState::scope_tree(const Place& scope_place) const -> const std::shared_ptr<const ScopeTree>& {
  for (const auto& tree : kept_->scopes) {
    if (tree->scope == scope_place.id) { return tree; }
  }
  auto before = find_entry(kept_->old_scopes, [&](const ScopeTree& tree) { return tree.scope == scope_place.id; });
  kept_->scopes.push_back(std::make_shared<const ScopeTree>(before ? make_scope_tree(*this, scope_place, *before) : make_scope_tree(*this, scope_place)));
  return kept_->scopes.back();
}
auto FuncState::scope_info(const Place& scope_place) const -> Scope { return {*this, *scope_tree(scope_place)->blocks}; }

auto FuncState::output_blocks(const Place& scope_place) const -> const std::vector<NodeId>& {
  auto of_this = [&](const Kept::OutputEntry& e) { return e.scope == scope_place.id; };
  const Sequence<Buffer>& own = scope_place.block()->alloc_buffers;
  const auto* list = scope_place.block()->body.as<SeqStmt>();
  Sequence<Stmt> strands = list ? list->seq : Sequence<Stmt>{scope_place.block()->body};
  auto found = std::find_if(kept_->outputs.begin(), kept_->outputs.end(), [&](const auto& e) { return of_this(*e); });
  if (found != kept_->outputs.end() && (*found)->own.same_as(own) && (*found)->strands.same_as(strands)) { return (*found)->blocks; }
  auto entry = std::make_shared<Kept::OutputEntry>(Kept::OutputEntry{scope_place.id, own, strands, {}});
  auto add = [&](const Block& block) {
    bool is_output = std::any_of(block.writes.begin(), block.writes.end(), [&](const BufferRegion& write) { return !allocates(scope_place, write.buffer); });
    if (is_output) { entry->blocks.push_back(block.id); }
  };
  if (found != kept_->outputs.end() && (*found)->own.same_as(own)) {
    std::vector<const Block*> gone, fresh;
    const Sequence<Stmt>& old = (*found)->strands;
    difference(old, strands, [&](size_t from, size_t to, size_t new_from, size_t new_to) {
      for (; from < to; ++from) { add_blocks(old[from], gone); }
      for (; new_from < new_to; ++new_from) { add_blocks(strands[new_from], fresh); }
    });
    entry->blocks = (*found)->blocks;
    std::erase_if(entry->blocks, [&](NodeId id) { return std::any_of(gone.begin(), gone.end(), [&](const Block* block) { return block->id == id; }); });
    for (const Block* block : fresh) { add(*block); }
    entry->blocks = in_text_order(*this, std::move(entry->blocks));
  } else {
    // Mostly blocks write buffers in the order in which these are allocated.
    auto next = own.begin();
    constexpr std::ptrdiff_t near = 16;
    for (const BlockRealize* realize : places_.blocks_below(scope_place)) {
      const Block& block = *realize->block;
      if (block.writes.size() == 1) {
        auto at = std::find(next, next + std::min<std::ptrdiff_t>(near, own.end() - next), block.writes[0].buffer);
        if (at != own.end() && *at == block.writes[0].buffer) { next = at + 1; continue; }
      }
      add(block);
    }
  }
  if (found == kept_->outputs.end()) { return kept_->outputs.emplace_back(std::move(entry))->blocks; }
  *found = std::move(entry);
  return (*found)->blocks;
}

auto FuncState::mentioning(const Place& scope_place, const Buffer& buffer) const -> std::vector<const Place*> {
  auto of_this = [&](const ScopeMentions& m) { return m.tree->scope == scope_place.id; };
  auto found = find_entry(kept_->mentions, of_this);
  if (!found) {
    auto before = find_entry(kept_->old_mentions, of_this);
    found = std::make_shared<const ScopeMentions>(make_scope_mentions(scope_tree(scope_place), before.get()));
    kept_->mentions.push_back(found);
  }
  std::vector<const Place*> out;
  const auto& all = found->all;
  const VarNode* data = buffer->data.get();
  for (size_t at = all.lower_bound([&](const ScopeMentions::Mention& m) { return m.data < data; }); at < all.size() && all[at].data == data; ++at) { out.push_back(find(all[at].strand)); }
  std::sort(out.begin(), out.end(), [](const Place* a, const Place* b) { return a->index < b->index; });
  return out;
}
auto FuncState::has_plain_body(const Place& scope_place) const -> bool {
  return scope_tree(scope_place)->is_plain;
}
auto FuncState::silent_blocks(const Place& scope_place) const -> std::vector<const Place*> {
  const ScopeTree& tree = *scope_tree(scope_place);
  std::vector<const Place*> out;
  for (NodeId id : tree.blocks->silent) { out.push_back(find(id)); }
  std::sort(out.begin(), out.end(), [](const Place* a, const Place* b) { return a->index < b->index; });
  return out;
}
auto FuncState::blocks_mentioning(const Place& scope_place, const Buffer& buffer) const -> std::vector<const Place*> {
  std::vector<const Place*> out;
  for (const Place* strand : mentioning(scope_place, buffer)) {
    if (strand->is_block()) { out.push_back(strand); continue; }
    for (const Place* block : child_blocks(*strand)) { out.push_back(block); }
  }
  return out;
}

auto FuncState::is_affine_binding(const Place& block) const -> bool {
  auto of_this = [&](const Kept::BindingEntry& e) { return e.block == block.id; };
  if (auto entry = find_entry(kept_->bindings, of_this)) { return entry->is_affine; }
  auto inputs = binding_inputs(*this, block);
  if (auto entry = find_entry(kept_->old_bindings, of_this); entry && entry->read_from == inputs) {
    kept_->bindings.push_back(entry);
    return entry->is_affine;
  }
  auto entry = std::make_shared<Kept::BindingEntry>(
      Kept::BindingEntry{block.id, func_, std::move(inputs), compute_affine_binding(*this, block)});
  kept_->bindings.push_back(entry);
  return entry->is_affine;
}

static auto cover_of(const Cover& cover, NodeId block) -> bool {
  return std::find(cover.uncovered.begin(), cover.uncovered.end(), block) == cover.uncovered.end();
}

auto FuncState::cover(const Place& scope_place) const -> const Cover& {
  auto of_this = [&](const Kept::CoverEntry& e) { return e.scope == scope_place.id; };
  if (auto entry = find_entry(kept_->covers, of_this)) { return entry->cover; }
  std::shared_ptr<const ScopeTree> tree = scope_tree(scope_place);
  auto around = around_scope(*this, scope_place);
  auto before = find_entry(kept_->old_covers, of_this);
  Cover cover;
  if (before && before->around == around) {
    cover = compute_cover(*this, scope_place, changed_consumers(*this, *before->tree, *tree), before->cover);
  } else {
    cover = compute_cover(*this, scope_place);
  }
  auto entry = std::make_shared<Kept::CoverEntry>(Kept::CoverEntry{scope_place.id, func_, std::move(around), std::move(tree), std::move(cover)});
  kept_->covers.push_back(entry);
  return entry->cover;
}

auto FuncState::region_cover(const Place& block) const -> bool {
  const Place* around = scope(block);
  return !around || cover_of(cover(*around), block.id);
}

auto FuncState::stage_pipeline(const Place& scope_place) const -> bool { return cover(scope_place).stage_pipeline; }

void FuncState::adopt(const FuncState& before) {
  // A search makes thousands of states from one: what it keeps of blocks that are long gone is given up.
  constexpr size_t many = 4096;
  if (before.kept_->hidden->size() < many + 4 * places_.size()) { kept_->hidden = before.kept_->hidden; }
  kept_->allocs = before.kept_->allocs;
  kept_->outputs = before.kept_->outputs;
  // Of each scope and block the newest answer.
  auto take = [](auto& into, const auto& current, const auto& old, auto key) {
    into = current;
    for (const auto& entry : old) {
      bool is_there = std::any_of(current.begin(), current.end(), [&](const auto& kept) { return (*kept).*key == (*entry).*key; });
      if (!is_there && into.size() < 64) { into.push_back(entry); }
    }
  };
  take(kept_->old_scopes, before.kept_->scopes, before.kept_->old_scopes, &ScopeTree::scope);
  take(kept_->old_covers, before.kept_->covers, before.kept_->old_covers, &Kept::CoverEntry::scope);
  // Few primitives ask, mostly of one scope.
  kept_->old_mentions = before.kept_->mentions.empty() ? before.kept_->old_mentions : before.kept_->mentions;
  take(kept_->old_bindings, before.kept_->bindings, before.kept_->old_bindings, &Kept::BindingEntry::block);
}

auto FuncState::verify_cached() const -> std::optional<std::string> {
  FuncState anew(name_, func_);
  auto same_place = [](const Place& a, const Place& b) {
    return a.id == b.id && a.loop == b.loop && a.realize == b.realize && a.index == b.index && a.parent == b.parent && a.scope == b.scope && a.end == b.end;
  };
  if (!std::equal(places_.begin(), places_.end(), anew.places_.begin(), anew.places_.end(), same_place)) { return "the tree of loops and blocks differs from one made anew"; }
  for (const Place& place : places_) {
    const Place* found = find(place.id);
    if (!found || found->id != place.id) { return "`" + place.name().str() + "` is not found by its id"; }
  }
  for (const auto& entry : kept_->allocs) {
    const Place* place = find(entry.block);
    if (!place) { continue; }
    std::vector<Alloc> allocs;
    for (const Buffer& buffer : place->block()->alloc_buffers) { allocs.push_back({buffer->data.get(), buffer.get()}); }
    std::sort(allocs.begin(), allocs.end());
    const Sequence<Alloc>& kept = allocs_by_data(*place);
    if (!std::equal(allocs.begin(), allocs.end(), kept.begin(), kept.end())) { return "what is kept of the buffers that block `" + place->name().str() + "` allocates differs from a recomputation"; }
  }
  for (const auto& entry : kept_->old_scopes) {
    if (const Place* place = find(entry->scope)) { (void)scope_info(*place); }
  }
  for (const auto& entry : kept_->old_bindings) {
    if (const Place* place = find(entry->block)) { (void)is_affine_binding(*place); }
  }
  for (const auto& entry : kept_->old_covers) {
    if (const Place* place = find(entry->scope)) { (void)stage_pipeline(*place); }
  }
  for (const auto& entry : kept_->scopes) {
    const Place* place = find(entry->scope);
    if (!place) { return "a scope is kept that is gone"; }
    if (!is_same(make_scope_tree(*this, *place), *entry)) {
      return "the dependences kept of block `" + place->name().str() + "` differ from a recomputation";
    }
  }
  for (const auto& entry : kept_->old_mentions) {
    if (const Place* place = find(entry->tree->scope); place && !place->block()->alloc_buffers.empty()) { (void)mentioning(*place, place->block()->alloc_buffers[0]); }
  }
  for (const auto& entry : kept_->mentions) {
    const Place* place = find(entry->tree->scope);
    if (!place) { return "what is kept of a scope's buffers is of one that is gone"; }
    ScopeMentions anew_mentions = make_scope_mentions(entry->tree, nullptr);
    if (!std::equal(entry->all.begin(), entry->all.end(), anew_mentions.all.begin(), anew_mentions.all.end())) {
      return "what is kept of the buffers that block `" + place->name().str() + "` mentions differs from a recomputation";
    }
  }
  for (const auto& entry : kept_->outputs) {
    const Place* place = find(entry->scope);
    if (place && anew.output_blocks(*place) != output_blocks(*place)) { return "what is kept of the blocks of `" + place->name().str() + "` that write outputs differs from a recomputation"; }
  }
  for (const auto& entry : kept_->bindings) {
    const Place* place = find(entry->block);
    if (!place) { return "a binding is kept of a block that is gone"; }
    if (compute_affine_binding(*this, *place) != entry->is_affine) {
      return "the affine flag kept of block `" + place->name().str() + "` differs from a recomputation";
    }
  }
  for (const auto& entry : kept_->covers) {
    const Place* place = find(entry->scope);
    if (!place) { return "a cover is kept of a scope that is gone"; }
    if (!(compute_cover(*this, *place) == entry->cover)) {
      return "the region cover kept of block `" + place->name().str() + "` differs from a recomputation";
    }
  }
  return {};
}

// From where it would stand among others of its size, by halves, as far as statements are loops and blocks.
auto position_of(const FuncState& func, const Sequence<Stmt>& items, const Place& around, const Place& wanted) -> size_t {
  const void* node = wanted.is_loop() ? static_cast<const void*>(wanted.loop) : wanted.realize;
  auto is_it = [&](const Stmt& item) { return item.get() == node; };
  constexpr size_t few = 24;
  if (items.size() <= few) { return static_cast<size_t>(std::find_if(items.begin(), items.end(), is_it) - items.begin()); }
  size_t from = 0, to = items.size();
  size_t at = to * static_cast<size_t>(wanted.index - around.index) / static_cast<size_t>(around.end - around.index);
  for (size_t stride = 1; to - from > 1; stride *= 2) {
    const Stmt& item = items[at];
    if (is_it(item)) { return at; }
    const auto* loop = item.as<For>();
    const auto* realize = item.as<BlockRealize>();
    if (!loop && !realize) { break; }
    bool is_before = func.places().index_of(loop ? loop->id : realize->block->id) < wanted.index;
    (is_before ? from : to) = at;
    size_t near = is_before ? at + stride : at - std::min(at, stride), half = from + (to - from) / 2;
    at = is_before ? std::min(near, half) : std::max(near, half);
  }
  auto found = std::find_if(items.begin() + static_cast<std::ptrdiff_t>(from), items.begin() + static_cast<std::ptrdiff_t>(to), is_it);
  return found - items.begin() == static_cast<std::ptrdiff_t>(to) ? items.size() : static_cast<size_t>(found - items.begin());
}

// ---- rewriting -----------------------------------------------------------------------------------------

namespace {

// Copies the path from the changes to the root. Subtrees without a change are the old nodes.
struct PathCopy {
  const FuncState& func;
  const Rewrite& rewrite;
  std::vector<NodeId> holds_change;         // of loops and blocks that change, or hold something that does
  struct Marked { const void* stmt; int index, parent; };
  std::vector<Marked> marked;               // their statements
  int around = -1;                          // the place whose body is copied

  PathCopy(const FuncState& f, const Rewrite& r) : func(f), rewrite(r) {
    constexpr size_t usual_depth = 16;
    holds_change.reserve(usual_depth);
    marked.reserve(usual_depth);
    for (const auto& change : r.changes) { mark(change.at); }
    for (const auto& insert : r.inserts) { mark(insert.at); }
    for (const auto& before : r.befores) { mark(before.at); }
    for (const auto& alloc : r.allocs) { mark(alloc.at); }
  }

  void mark(NodeId id) {
    for (const Place* at = func.find(id); at && !is_marked(at->id); at = func.parent(*at)) {
      holds_change.push_back(at->id);
      marked.push_back({at->stmt().get(), at->index, at->parent});
    }
  }
  auto is_marked(NodeId id) const -> bool { return std::find(holds_change.begin(), holds_change.end(), id) != holds_change.end(); }

  auto change_of(NodeId id) const -> const Rewrite::Change* {
    for (const auto& change : rewrite.changes) {
      if (change.at == id) { return &change; }
    }
    return nullptr;
  }

  // The body of a loop or block, with what is put in.
  auto copy_body(NodeId id, const Stmt& body) -> Stmt {
    int outer = std::exchange(around, func.find(id)->index);
    auto inserts = [&](const Rewrite::Insert& insert) { return insert.at == id; };
    auto insert = std::find_if(rewrite.inserts.begin(), rewrite.inserts.end(), inserts);
    Stmt out = insert == rewrite.inserts.end() ? copy(body) : put_in(body, *insert);
    around = outer;
    return out;
  }

  struct Edit { size_t at; Stmt with; };
  // Which statements of a list change, and into what. Statements that are no loop or block themselves are looked into only where
  // something that changes was not met.
  auto edits_of(const Sequence<Stmt>& items) -> std::vector<Edit> {
    std::vector<Edit> edits;
    std::vector<const void*> wanted;
    for (const Marked& m : marked) {
      if (m.parent == around) { wanted.push_back(m.stmt); }
    }
    size_t left = wanted.size();
    constexpr size_t few = 64;
    if (items.size() > few) {
      for (const Marked& m : marked) {
        if (m.parent != around) { continue; }
        size_t at = position_of(func, items, func.places()[static_cast<size_t>(around)], func.places()[static_cast<size_t>(m.index)]);
        if (at < items.size()) { --left; edits.push_back({at, copy(items[at])}); }
      }
      std::sort(edits.begin(), edits.end(), [](const Edit& a, const Edit& b) { return a.at < b.at; });
    } else if (wanted.size() <= 4) {
      size_t at = 0;
      for (const Stmt& item : items) {
        if (left == 0) { break; }
        for (const void* stmt : wanted) {
          if (item.get() == stmt) { --left; edits.push_back({at, copy(item)}); }
        }
        ++at;
      }
    }
    if (left == 0) { return edits; }
    edits.clear();
    size_t at = 0;
    for (const Stmt& item : items) {
      Stmt now = copy(item);
      if (!now.same_as(item)) { edits.push_back({at, std::move(now)}); }
      ++at;
    }
    return edits;
  }
  static auto edited(Sequence<Stmt> items, const std::vector<Edit>& edits, Origin origin) -> Stmt {
    for (auto edit = edits.rbegin(); edit != edits.rend(); ++edit) {
      std::vector<Stmt> many;
      std::span<const Stmt> with(&edit->with, is_no_op(edit->with) ? 0 : 1);
      if (const auto* list = edit->with.as<SeqStmt>()) {
        many = list->seq.to_vector();
        with = many;
      }
      items = items.spliced(edit->at, edit->at + 1, with);
    }
    return items.empty() ? no_op() : items.size() == 1 ? items.front() : Stmt(make<SeqStmt>(std::move(items), origin));
  }

  auto put_in(const Stmt& body, const Rewrite::Insert& insert) -> Stmt {
    if (const auto* n = body.as<AllocateConst>()) {
      return make<AllocateConst>(n->data, n->dtype, n->extents, n->bytes, put_in(n->body, insert), n->annotations, n->origin);
    }
    if (const auto* n = body.as<DeclBuffer>()) { return make<DeclBuffer>(n->buffer, put_in(n->body, insert), n->origin); }
    const auto* n = body.as<SeqStmt>();
    Sequence<Stmt> items = n ? n->seq : Sequence<Stmt>{body};
    std::vector<Edit> edits = edits_of(items);
    // The new statement goes with the one that it stands before, or behind the last.
    size_t position = std::min(static_cast<size_t>(insert.position), items.size());
    size_t beside = std::min(position, items.size() - 1);
    auto edit = std::find_if(edits.begin(), edits.end(), [&](const Edit& e) { return e.at >= beside; });
    if (edit == edits.end() || edit->at != beside) { edit = edits.insert(edit, {beside, items[beside]}); }
    edit->with = position < items.size() ? seq({insert.stmt, edit->with}, body.origin()) : seq({edit->with, insert.stmt}, body.origin());
    return edited(std::move(items), edits, body.origin());
  }
  auto with_before(NodeId id, Stmt stmt) const -> Stmt {
    for (const auto& before : rewrite.befores) {
      if (before.at == id) { return seq({before.stmt, std::move(stmt)}, before.stmt.origin()); }
    }
    return stmt;
  }
  void set_allocs(NodeId id, Block::Fields& fields) const {
    for (const auto& alloc : rewrite.allocs) {
      if (alloc.at != id) { continue; }
      Sequence<Buffer>& all = fields.alloc_buffers;
      auto at = static_cast<size_t>((alloc.remove ? std::find(all.begin(), all.end(), alloc.remove) : all.end()) - all.begin());
      if (alloc.remove && at == all.size()) { continue; }
      all = all.spliced(at, std::min(at + 1, all.size()), std::span(&alloc.add, alloc.add ? 1 : 0));
    }
  }

  auto copy(const Stmt& stmt) -> Stmt {
    switch (stmt.kind()) {
      case NodeKind::For: {
        const auto& n = *stmt.as<For>();
        if (!is_marked(n.id)) { return stmt; }
        if (const auto* change = change_of(n.id)) { return with_before(n.id, change->with ? change->with : no_op()); }
        return with_before(n.id, make<For>(n.var, n.min, n.extent, n.for_kind, copy_body(n.id, n.body), n.thread, n.annotations, n.origin, n.id));
      }
      case NodeKind::BlockRealize: {
        const auto& n = *stmt.as<BlockRealize>();
        if (!is_marked(n.block->id)) { return stmt; }
        if (const auto* change = change_of(n.block->id)) {
          if (!change->with) { return no_op(); }
          if (auto block = change->with.ref<Block>()) { return make<BlockRealize>(n.iter_values, n.predicate, std::move(block), n.origin); }
          return change->with;
        }
        auto fields = n.block->fields();
        fields.body = copy_body(n.block->id, fields.body);
        set_allocs(n.block->id, fields);
        return make<BlockRealize>(n.iter_values, n.predicate, make<Block>(std::move(fields), n.block->origin, n.block->id), n.origin);
      }
      case NodeKind::SeqStmt: {
        const auto& n = *stmt.as<SeqStmt>();
        std::vector<Edit> edits = edits_of(n.seq);
        return edits.empty() ? stmt : edited(n.seq, edits, n.origin);
      }
      case NodeKind::IfThenElse: {
        const auto& n = *stmt.as<IfThenElse>();
        Stmt then_case = copy(n.then_case);
        Stmt else_case = n.else_case ? copy(n.else_case) : Stmt();
        if (then_case.same_as(n.then_case) && else_case.same_as(n.else_case)) { return stmt; }
        return make<IfThenElse>(n.condition, std::move(then_case), std::move(else_case), n.origin);
      }
      case NodeKind::LetStmt: {
        const auto& n = *stmt.as<LetStmt>();
        Stmt body = copy(n.body);
        return body.same_as(n.body) ? stmt : Stmt(make<LetStmt>(n.var, n.value, std::move(body), n.origin));
      }
      case NodeKind::AttrStmt: {
        const auto& n = *stmt.as<AttrStmt>();
        Stmt body = copy(n.body);
        return body.same_as(n.body) ? stmt : Stmt(make<AttrStmt>(n.node, n.key, n.value, std::move(body), n.origin));
      }
      case NodeKind::AssertStmt: {
        const auto& n = *stmt.as<AssertStmt>();
        Stmt body = copy(n.body);
        return body.same_as(n.body) ? stmt : Stmt(make<AssertStmt>(n.condition, n.message, std::move(body), n.origin));
      }
      case NodeKind::BufferRealize: {
        const auto& n = *stmt.as<BufferRealize>();
        Stmt body = copy(n.body);
        return body.same_as(n.body) ? stmt : Stmt(make<BufferRealize>(n.buffer, n.bounds, n.condition, std::move(body), n.origin));
      }
      case NodeKind::Allocate: {
        const auto& n = *stmt.as<Allocate>();
        Stmt body = copy(n.body);
        return body.same_as(n.body) ? stmt : Stmt(make<Allocate>(n.data, n.dtype, n.extents, n.condition, std::move(body), n.annotations, n.origin));
      }
      case NodeKind::AllocateConst: {
        const auto& n = *stmt.as<AllocateConst>();
        Stmt body = copy(n.body);
        return body.same_as(n.body) ? stmt : Stmt(make<AllocateConst>(n.data, n.dtype, n.extents, n.bytes, std::move(body), n.annotations, n.origin));
      }
      case NodeKind::DeclBuffer: {
        const auto& n = *stmt.as<DeclBuffer>();
        Stmt body = copy(n.body);
        return body.same_as(n.body) ? stmt : Stmt(make<DeclBuffer>(n.buffer, std::move(body), n.origin));
      }
      case NodeKind::While: {
        const auto& n = *stmt.as<While>();
        Stmt body = copy(n.body);
        return body.same_as(n.body) ? stmt : Stmt(make<While>(n.condition, std::move(body), n.origin));
      }
      case NodeKind::Block:
      case NodeKind::BufferStore:
      case NodeKind::Evaluate:
      case NodeKind::Break:
      case NodeKind::Continue: return stmt;
#define EXPR(Kind) case NodeKind::Kind:
#define STMT(Kind)
#include "ir/nodes.def"
        return stmt;
    }
    return stmt;
  }
};

class Renumber : public Mutator {
 public:
  using Mutator::on;
  auto on(const For& n) -> Stmt override {
    return make<For>(n.var, n.min, n.extent, n.for_kind, mutate(n.body), n.thread, n.annotations, n.origin);
  }
  auto on(const Block& n) -> Stmt override {
    auto fields = n.fields();
    fields.body = mutate(fields.body);
    if (fields.init) { fields.init = mutate(fields.init); }
    return make<Block>(std::move(fields), n.origin);
  }
};

}  // namespace

auto renumber(const Stmt& stmt) -> Stmt { return Renumber().mutate(stmt); }

State::State(IRModule module) : module_(std::move(module)) {}

auto State::func(Name name) const -> const FuncState* {
  for (const auto& func : funcs_) {
    if (func->name() == name) { return func.get(); }
  }
  PrimFunc func = module_->find(name);
  if (!func) { return nullptr; }
  return funcs_.emplace_back(std::make_shared<const FuncState>(name, std::move(func))).get();
}

auto State::find(NodeId id) const -> Found {
  for (const auto& func : funcs_) {
    if (const Place* place = func->find(id)) { return {func.get(), place}; }
  }
  return {};
}

auto State::after(Name name, const Rewrite& rewrite) const -> State {
  const FuncState& before = *func(name);
  PathCopy path(before, rewrite);
  Stmt body = path.copy(before.func()->body);
  PrimFunc changed = with_body(rewrite.signature ? rewrite.signature : before.func(), std::move(body));
  State out;
  out.module_ = with_function(module_, name, changed);
  for (const auto& [key, func] : rewrite.functions) { out.module_ = with_function(out.module_, key, func); }
  auto is_other = [&](Name key) { return std::any_of(rewrite.functions.begin(), rewrite.functions.end(), [&](const auto& f) { return f.first == key; }); };
  for (const auto& func : funcs_) {
    if (func->name() == name && !(out.module_->find(name) == func->func())) {
      auto fresh = std::make_shared<FuncState>(name, out.module_->find(name), before);
      fresh->adopt(before);
      out.funcs_.push_back(std::move(fresh));
    } else if (!is_other(func->name())) {
      out.funcs_.push_back(func);
    }
  }
  return out;
}

auto State::verify_cached(Name name) const -> std::optional<std::string> {
  const FuncState* state = func(name);
  return state ? state->verify_cached() : std::nullopt;
}

}  // namespace loopsmith::schedule
