// The facts that states keep about blocks, and states after a rewrite: see state.h. The code that computes facts is in facts/.
#include "schedule/state.h"

#include <algorithm>
#include <utility>

#include "ir/ops.h"
#include "schedule/facts/bindings.h"
#include "schedule/facts/mentions.h"
#include "schedule/facts/outside_blocks.h"

namespace loopsmith::schedule {

// Facts with the pointers from which they were computed. `made_from` and the strands of trees keep the nodes alive, so that
// equal pointers mean equal nodes.
struct FuncState::Kept {
  struct CoverEntry {
    NodeId scope;
    PrimFunc made_from;
    std::vector<const void*> around;       // the inputs from loops and blocks around the scope, and the scope's own iter vars
    std::shared_ptr<const ScopeTree> tree;
    Cover cover;
  };
  struct BindingEntry {
    NodeId block;
    PrimFunc made_from;
    std::vector<const void*> read_from;
    bool is_affine;
  };
  std::shared_ptr<KnownHiddenReads> hidden = std::make_shared<KnownHiddenReads>();   // shared by all states of a schedule
  std::shared_ptr<KnownCovers> known_covers = std::make_shared<KnownCovers>();       // likewise
  // The buffers that a block allocates, sorted by their memory.
  struct AllocEntry { NodeId block; Sequence<Buffer> made_from; Sequence<Alloc> by_data; };
  std::vector<AllocEntry> allocs;            // of this state or an earlier one: compared on use
  // Blocks of a scope that write buffers which the scope does not allocate; also compared on use.
  struct OutputEntry { NodeId scope; Sequence<Buffer> own; Sequence<Stmt> strands; std::vector<NodeId> blocks; };
  std::vector<std::shared_ptr<const OutputEntry>> outputs;
  std::vector<std::shared_ptr<const ScopeTree>> scopes;
  std::vector<std::shared_ptr<const CoverEntry>> covers;
  std::vector<std::shared_ptr<const BindingEntry>> bindings;
  std::vector<std::shared_ptr<const ScopeMentions>> mentions;
  std::vector<std::shared_ptr<const RacesKept>> races;
  std::shared_ptr<const OutsideBlocks> outside;   // primitives add no such statement, so an empty answer stays valid
  // Taken over from the state before, and not compared yet.
  std::vector<std::shared_ptr<const ScopeTree>> old_scopes;
  std::vector<std::shared_ptr<const CoverEntry>> old_covers;
  std::vector<std::shared_ptr<const BindingEntry>> old_bindings;
  std::vector<std::shared_ptr<const ScopeMentions>> old_mentions;
};

FuncState::FuncState(Name name, PrimFunc func) : FuncTree(name, std::move(func)), kept_(std::make_shared<Kept>()) {}
FuncState::FuncState(Name name, PrimFunc func, const FuncState& before) : FuncTree(name, std::move(func), before), kept_(std::make_shared<Kept>()) {}

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
  // Only the ranges of loops count: the kind of a loop does not change iter values.
  for (const Place* loop : func.loops(block)) {
    out.push_back(loop->loop->var.get());
    out.push_back(loop->loop->min.get());
    out.push_back(loop->loop->extent.get());
  }
  add_realize(out, *block.realize);
  return out;
}

// Regions may use variables that are bound outside of the scope.
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

auto FuncState::hidden_reads(const Block& block) const -> const std::vector<Buffer>& { return kept_->hidden->of(block); }

auto FuncState::kept_races() const -> const std::vector<std::shared_ptr<const RacesKept>>& { return kept_->races; }
void FuncState::keep_races(std::shared_ptr<const RacesKept> races) const { kept_->races.push_back(std::move(races)); }

// A short list of buffers is searched in order; a longer one is kept sorted.
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
  kept_->scopes.push_back(std::make_shared<const ScopeTree>(before ? make_scope_tree(*this, scope_place, *kept_->hidden, *before) : make_scope_tree(*this, scope_place, *kept_->hidden)));
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
    // Blocks mostly write buffers in the order of their allocation.
    auto next = own.begin();
    constexpr std::ptrdiff_t near = 16;
    for (const BlockRealize* realize : places().blocks_below(scope_place)) {
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
auto FuncState::outside_blocks() const -> const OutsideBlocks& {
  if (!kept_->outside) { kept_->outside = std::make_shared<const OutsideBlocks>(find_outside_blocks(func())); }
  return *kept_->outside;
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
      Kept::BindingEntry{block.id, func(), std::move(inputs), compute_affine_binding(*this, block)});
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
    cover = compute_cover(*this, scope_place, scope_info(scope_place), changed_consumers(*this, *before->tree, *tree), before->cover, kept_->known_covers.get());
  } else {
    cover = compute_cover(*this, scope_place, scope_info(scope_place), *kept_->known_covers);
  }
  auto entry = std::make_shared<Kept::CoverEntry>(Kept::CoverEntry{scope_place.id, func(), std::move(around), std::move(tree), std::move(cover)});
  kept_->covers.push_back(entry);
  return entry->cover;
}

auto FuncState::region_cover(const Place& block) const -> bool {
  const Place* around = scope(block);
  return !around || cover_of(cover(*around), block.id);
}

auto FuncState::stage_pipeline(const Place& scope_place) const -> bool { return cover(scope_place).stage_pipeline; }

void FuncState::adopt(const FuncState& before) {
  // A search makes thousands of states from one. If too many entries belong to removed blocks, they are dropped.
  constexpr size_t many = 4096;
  if (before.kept_->hidden->size() < many + 4 * places().size()) { kept_->hidden = before.kept_->hidden; }
  constexpr size_t many_covers = 512;
  if (before.kept_->known_covers->size() < many_covers + 4 * places().size()) { kept_->known_covers = before.kept_->known_covers; }
  kept_->allocs = before.kept_->allocs;
  kept_->outputs = before.kept_->outputs;
  if (before.kept_->outside && before.kept_->outside->empty()) { kept_->outside = before.kept_->outside; }
  // Keeps the newest fact of each scope and block.
  auto take = [](auto& into, const auto& current, const auto& old, auto key) {
    into = current;
    for (const auto& entry : old) {
      bool is_there = std::any_of(current.begin(), current.end(), [&](const auto& kept) { return (*kept).*key == (*entry).*key; });
      if (!is_there && into.size() < 64) { into.push_back(entry); }
    }
  };
  take(kept_->old_scopes, before.kept_->scopes, before.kept_->old_scopes, &ScopeTree::scope);
  take(kept_->old_covers, before.kept_->covers, before.kept_->old_covers, &Kept::CoverEntry::scope);
  // Mentions are not merged scope by scope, as the facts above: few primitives need them. The newest state that has some counts.
  kept_->old_mentions = before.kept_->mentions.empty() ? before.kept_->old_mentions : before.kept_->mentions;
  take(kept_->old_bindings, before.kept_->bindings, before.kept_->old_bindings, &Kept::BindingEntry::block);
}

auto FuncState::verify_cached() const -> std::optional<std::string> {
  FuncState anew(name(), func());
  auto same_place = [](const Place& a, const Place& b) {
    return a.id == b.id && a.loop == b.loop && a.realize == b.realize && a.index == b.index && a.parent == b.parent && a.scope == b.scope && a.end == b.end;
  };
  if (!std::equal(places().begin(), places().end(), anew.places().begin(), anew.places().end(), same_place)) { return "the tree of loops and blocks differs from one made anew"; }
  for (const Place& place : places()) {
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
    if (!is_same(make_scope_tree(*this, *place, *kept_->hidden), *entry)) {
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
    if (!(compute_cover(*this, *place, scope_info(*place)) == entry->cover)) {
      return "the region cover kept of block `" + place->name().str() + "` differs from a recomputation";
    }
  }
  return {};
}

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
  PrimFunc changed = with_body(rewrite.signature ? rewrite.signature : before.func(), rewritten_body(before, rewrite));
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
