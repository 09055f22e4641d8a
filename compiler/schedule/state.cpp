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

// ---- the tree ------------------------------------------------------------------------------------------

namespace {

auto hash_id(NodeId id) -> uint64_t { return id * 0x9e3779b97f4a7c15ULL; }

// Small trees are searched in order: that is quicker than any table.
constexpr size_t small_tree = 24;

}  // namespace

// What was computed, with the pointers it was computed from. `made_from` keeps those alive, so that equal pointers
// mean equal nodes.
struct FuncState::Kept {
  struct CoverEntry {
    NodeId scope;
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

// From ids to places, by open addressing. Shared by the states that follow from one another: a primitive moves most places together.
struct FuncState::Table {
  struct Slot { NodeId id = 0; int place = -1; };
  std::vector<Slot> slots;
  [[nodiscard]] auto find(NodeId id) const -> int {
    for (size_t slot = (hash_id(id) >> 20) & (slots.size() - 1); slots[slot].place >= 0; slot = (slot + 1) & (slots.size() - 1)) {
      if (slots[slot].id == id) { return slots[slot].place; }
    }
    return -1;
  }
};

// A tree while it is made from the one before.
struct FuncState::Growth {
  const FuncState& before;
  int cursor = 0;                            // where in `before` the next statement probably stands
  // Siblings that follow each other there as well, not copied yet: those from `first` to `end` in `before`.
  int first = 0, end = 0;
  int parent = 0, scope = 0, old_scope = 0;
  std::vector<Run> copied = {};              // in terms of `before`
  // The body of the loop or block that was met last, and what its statements were; null where it was or is no list.
  const StmtNode* body = nullptr;
  const Array<Stmt>* old_items = nullptr;

  void enter(const Stmt& now, NodeId id) {
    const Place* old = before.find(id);
    const SeqStmt* list = !old ? nullptr : (old->loop ? old->loop->body : old->block()->body).as<SeqStmt>();
    body = now.get();
    old_items = list ? &list->seq : nullptr;
  }
};

namespace {

auto is_place(const Stmt& s) -> bool { return s.kind() == NodeKind::For || s.kind() == NodeKind::BlockRealize; }
auto id_of(const Stmt& s) -> NodeId { return s.as<For>() ? s.as<For>()->id : s.as<BlockRealize>()->block->id; }

}  // namespace

FuncState::FuncState(Name name, PrimFunc func) : name_(name), func_(std::move(func)), kept_(std::make_shared<Kept>()) {
  if (!root_block(func_)) { return; }
  places_.reserve(32);
  walk(func_->body, -1, -1, nullptr);
  make_table();
}

FuncState::FuncState(Name name, PrimFunc func, const FuncState& before) : name_(name), func_(std::move(func)), kept_(std::make_shared<Kept>()) {
  if (!root_block(func_)) { return; }
  places_.reserve(before.places_.size() + 16);
  Growth growth{.before = before};
  walk(func_->body, -1, -1, &growth);
  flush(&growth);
  adopt_table(before, growth.copied);
}

void FuncState::make_table() {
  table_ = nullptr;
  runs_.clear();
  others_.clear();
  if (places_.size() <= small_tree) { return; }
  size_t slots = 64;
  while (slots < places_.size() * 2) { slots *= 2; }
  auto table = std::make_shared<Table>();
  table->slots.resize(slots);
  for (const Place& place : places_) {
    size_t slot = (hash_id(place.id) >> 20) & (slots - 1);
    while (table->slots[slot].place >= 0) { slot = (slot + 1) & (slots - 1); }
    table->slots[slot] = {place.id, place.index};
  }
  table_ = std::move(table);
  runs_.push_back({0, static_cast<int>(places_.size()), 0});
}

// What was copied from the tree before is found by its table, as long as little else came.
void FuncState::adopt_table(const FuncState& before, const std::vector<Run>& copied) {
  constexpr size_t most_runs = 32, most_others = 64;
  if (!before.table_ || places_.size() <= small_tree) { return make_table(); }
  std::vector<Run> runs;
  int known = 0;                             // places before this one are in `runs` or `others`
  auto add_others = [&](int end) { for (; known < end; ++known) { others_.push_back(known); } };
  for (const Run& part : copied) {
    std::vector<Run> here;
    for (const Run& run : before.runs_) {
      int from = std::max(part.first, run.begin), to = std::min(part.end, run.begin + run.end - run.first);
      if (from < to) { here.push_back({run.first + from - run.begin, run.first + to - run.begin, part.begin + from - part.first}); }
    }
    std::sort(here.begin(), here.end(), [](const Run& a, const Run& b) { return a.begin < b.begin; });
    for (const Run& run : here) {
      add_others(run.begin);
      known = run.begin + run.end - run.first;
      runs.push_back(run);
    }
    if (runs.size() > most_runs || others_.size() > most_others) { return make_table(); }
  }
  add_others(static_cast<int>(places_.size()));
  if (runs.size() > most_runs || others_.size() > most_others) { return make_table(); }
  std::sort(runs.begin(), runs.end(), [](const Run& a, const Run& b) { return a.first < b.first; });
  runs_ = std::move(runs);
  table_ = before.table_;
}

auto FuncState::take_over(const void* node, NodeId id, int parent, int scope, Growth* growth) -> bool {
  if (!growth) { return false; }
  const FuncState& before = growth->before;
  auto is_it = [&](const Place& place) { return place.loop == node || place.realize == node; };
  const Place* old = static_cast<size_t>(growth->cursor) < before.places_.size() ? &before.places_[static_cast<size_t>(growth->cursor)] : nullptr;
  if (!old || !is_it(*old)) {
    old = before.find(id);
    if (!old || !is_it(*old)) {
      // Made anew, or around what changes: what follows in the old tree is what is inside.
      if (old) { growth->cursor = old->index + 1; }
      flush(growth);
      return false;
    }
  }
  bool goes_on = growth->first < growth->end && old->index == growth->end && parent == growth->parent && scope == growth->scope && old->scope == growth->old_scope;
  if (!goes_on) {
    flush(growth);
    growth->first = old->index;
    growth->parent = parent;
    growth->scope = scope;
    growth->old_scope = old->scope;
  }
  growth->end = growth->cursor = old->end;
  return true;
}

void FuncState::flush(Growth* growth) {
  if (!growth || growth->first >= growth->end) { return; }
  int first = std::exchange(growth->first, growth->end);
  int begin = static_cast<int>(places_.size());
  int shift = begin - first;
  int scope_shift = growth->scope - growth->old_scope;
  const std::vector<Place>& old = growth->before.places_;
  places_.insert(places_.end(), old.begin() + first, old.begin() + growth->end);
  growth->copied.push_back({first, growth->end, begin});
  if (shift == 0 && scope_shift == 0 && growth->parent == old[static_cast<size_t>(first)].parent) { return; }
  for (auto at = places_.begin() + begin; at != places_.end(); ++at) {
    at->index += shift;
    at->parent = at->parent < first ? growth->parent : at->parent + shift;
    at->scope += at->scope == growth->old_scope ? scope_shift : shift;
    at->end += shift;
  }
}

void FuncState::walk(const Stmt& stmt, int parent, int scope, Growth* growth) {
  switch (stmt.kind()) {
    case NodeKind::For: {
      const For* loop = stmt.as<For>();
      if (take_over(loop, loop->id, parent, scope, growth)) { return; }
      int index = static_cast<int>(places_.size());
      places_.push_back({.id = loop->id, .loop = loop, .index = index, .parent = parent, .scope = scope});
      if (growth) { growth->enter(loop->body, loop->id); }
      walk(loop->body, index, scope, growth);
      flush(growth);
      places_[index].end = static_cast<int>(places_.size());
      return;
    }
    case NodeKind::BlockRealize: {
      const BlockRealize* realize = stmt.as<BlockRealize>();
      if (take_over(realize, realize->block->id, parent, scope, growth)) { return; }
      int index = static_cast<int>(places_.size());
      places_.push_back({.id = realize->block->id, .realize = realize, .index = index, .parent = parent, .scope = scope});
      if (growth) { growth->enter(realize->block->body, realize->block->id); }
      walk(realize->block->body, index, index, growth);
      flush(growth);
      places_[index].end = static_cast<int>(places_.size());
      return;
    }
    case NodeKind::SeqStmt: {
      const Array<Stmt>& items = stmt.as<SeqStmt>()->seq;
      const Array<Stmt>* old = growth && growth->body == stmt.get() ? growth->old_items : nullptr;
      size_t there = 0;                      // in the old list
      for (size_t i = 0; i < items.size(); ++i) {
        walk(items[i], parent, scope, growth);
        if (!old || i + 1 == items.size()) { continue; }
        // Those that follow each other in the old list too are taken over with the last of them.
        size_t found = there;
        while (found < old->size() && !(*old)[found].same_as(items[i])) { ++found; }
        if (found == old->size()) { continue; }
        there = found;
        size_t alike = 1;
        while (i + alike < items.size() && there + alike < old->size() && (*old)[there + alike].same_as(items[i + alike])) { ++alike; }
        const Place* last = alike > 2 && growth->first < growth->end && is_place(items[i]) && is_place(items[i + alike - 1]) ? growth->before.find(id_of(items[i + alike - 1])) : nullptr;
        if (!last) { continue; }
        growth->end = growth->cursor = last->end;
        i += alike - 1;
        there += alike - 1;
      }
      return;
    }
    case NodeKind::IfThenElse: {
      const auto& branch = *stmt.as<IfThenElse>();
      walk(branch.then_case, parent, scope, growth);
      if (branch.else_case) { walk(branch.else_case, parent, scope, growth); }
      return;
    }
    case NodeKind::LetStmt: walk(stmt.as<LetStmt>()->body, parent, scope, growth); return;
    case NodeKind::AttrStmt: walk(stmt.as<AttrStmt>()->body, parent, scope, growth); return;
    case NodeKind::AssertStmt: walk(stmt.as<AssertStmt>()->body, parent, scope, growth); return;
    case NodeKind::BufferRealize: walk(stmt.as<BufferRealize>()->body, parent, scope, growth); return;
    case NodeKind::Allocate: walk(stmt.as<Allocate>()->body, parent, scope, growth); return;
    case NodeKind::AllocateConst: walk(stmt.as<AllocateConst>()->body, parent, scope, growth); return;
    case NodeKind::DeclBuffer: walk(stmt.as<DeclBuffer>()->body, parent, scope, growth); return;
    case NodeKind::While: walk(stmt.as<While>()->body, parent, scope, growth); return;
    case NodeKind::Block:
    case NodeKind::BufferStore:
    case NodeKind::Evaluate:
    case NodeKind::Break:
    case NodeKind::Continue: return;
#define EXPR(Kind) case NodeKind::Kind:
#define STMT(Kind)
#include "ir/nodes.def"
      return;
  }
}

auto FuncState::find(NodeId id) const -> const Place* {
  if (!table_) {
    for (const Place& place : places_) {
      if (place.id == id) { return &place; }
    }
    return nullptr;
  }
  if (int there = table_->find(id); there >= 0) {
    auto behind = std::upper_bound(runs_.begin(), runs_.end(), there, [](int place, const Run& run) { return place < run.first; });
    if (behind != runs_.begin() && there < behind[-1].end) { return &places_[static_cast<size_t>(behind[-1].begin + there - behind[-1].first)]; }
  }
  for (int other : others_) {
    if (places_[static_cast<size_t>(other)].id == id) { return &places_[static_cast<size_t>(other)]; }
  }
  return nullptr;
}

auto FuncState::loops(const Place& p) const -> std::vector<const Place*> {
  std::vector<const Place*> out;
  for (const Place* at = parent(p); at && at->is_loop(); at = parent(*at)) { out.push_back(at); }
  std::reverse(out.begin(), out.end());
  return out;
}

auto FuncState::child_blocks(const Place& p) const -> std::vector<const Place*> {
  std::vector<const Place*> out;
  for (int i = p.index + 1; i < p.end;) {
    const Place& place = places_[i];
    if (place.is_block()) {
      out.push_back(&place);
      i = place.end;
    } else {
      ++i;
    }
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

auto FuncState::scope_tree(const Place& scope_place) const -> const std::shared_ptr<const ScopeTree>& {
  for (const auto& tree : kept_->scopes) {
    if (tree->scope == scope_place.id) { return tree; }
  }
  auto before = find_entry(kept_->old_scopes, [&](const ScopeTree& tree) { return tree.scope == scope_place.id; });
  kept_->scopes.push_back(std::make_shared<const ScopeTree>(before ? make_scope_tree(*this, scope_place, *before) : make_scope_tree(*this, scope_place)));
  return kept_->scopes.back();
}
auto FuncState::scope_info(const Place& scope_place) const -> const Scope& { return *scope_tree(scope_place)->info; }

auto FuncState::mentioning(const Place& scope_place, const Buffer& buffer) const -> std::vector<const Place*> {
  auto of_this = [&](const ScopeMentions& m) { return m.tree->scope == scope_place.id; };
  auto found = find_entry(kept_->mentions, of_this);
  if (!found) {
    auto before = find_entry(kept_->old_mentions, of_this);
    found = std::make_shared<const ScopeMentions>(make_scope_mentions(*this, scope_place, scope_tree(scope_place), before.get()));
    kept_->mentions.push_back(found);
  }
  std::vector<const Place*> out;
  const std::vector<const VarNode*>& data = found->data;
  for (auto at = std::find(data.begin(), data.end(), buffer->data.get()); at != data.end(); at = std::find(at + 1, data.end(), buffer->data.get())) {
    // The last strand that begins no later; of empty ones the last holds it.
    auto behind = std::upper_bound(found->firsts.begin(), found->firsts.end(), static_cast<int>(at - data.begin()));
    out.push_back(find(found->tree->strands[static_cast<size_t>(behind - found->firsts.begin() - 1)].id));
  }
  return out;
}
auto FuncState::has_plain_body(const Place& scope_place) const -> bool {
  const auto& strands = scope_tree(scope_place)->strands;
  const Stmt& body = scope_place.block()->body;
  const auto* list = body.as<SeqStmt>();
  if (!list) { return strands.size() == 1 && strands[0].node == body.get(); }
  return std::equal(strands.begin(), strands.end(), list->seq.begin(), list->seq.end(), [](const ScopeTree::Strand& strand, const Stmt& stmt) { return strand.node == stmt.get(); });
}
auto FuncState::silent_blocks(const Place& scope_place) const -> std::vector<const Place*> {
  const ScopeTree& tree = *scope_tree(scope_place);
  std::vector<const Place*> out;
  for (int i : tree.silent) { out.push_back(find(tree.blocks[static_cast<size_t>(i)]->id)); }
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
    cover = compute_cover(*this, scope_place, changed_consumers(*before->tree, *tree), before->cover);
  } else {
    cover = compute_cover(*this, scope_place);
  }
  auto entry = std::make_shared<Kept::CoverEntry>(Kept::CoverEntry{scope_place.id, std::move(around), std::move(tree), std::move(cover)});
  kept_->covers.push_back(entry);
  return entry->cover;
}

auto FuncState::region_cover(const Place& block) const -> bool {
  const Place* around = scope(block);
  return !around || cover_of(cover(*around), block.id);
}

auto FuncState::stage_pipeline(const Place& scope_place) const -> bool { return cover(scope_place).stage_pipeline; }

void FuncState::adopt(const FuncState& before) {
  kept_->hidden = before.kept_->hidden;
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
  auto is_same = [](const Place& a, const Place& b) {
    return a.id == b.id && a.loop == b.loop && a.realize == b.realize && a.index == b.index && a.parent == b.parent && a.scope == b.scope && a.end == b.end;
  };
  if (!std::equal(places_.begin(), places_.end(), anew.places_.begin(), anew.places_.end(), is_same)) { return "the tree of loops and blocks differs from one made anew"; }
  for (const Place& place : places_) {
    const Place* found = find(place.id);
    if (!found || found->id != place.id) { return "`" + place.name().str() + "` is not found by its id"; }
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
    ScopeTree tree = make_scope_tree(*this, *place);
    auto is_same_touch = [](const ScopeTree::Touch& a, const ScopeTree::Touch& b) { return a.buffer == b.buffer && a.use == b.use; };
    bool touches_same = tree.blocks == entry->blocks && tree.touch_firsts == entry->touch_firsts && tree.silent == entry->silent &&
                        std::equal(tree.touches.begin(), tree.touches.end(), entry->touches.begin(), entry->touches.end(), is_same_touch);
    if (!touches_same || !(*tree.info == *entry->info)) {
      return "the dependences kept of block `" + place->name().str() + "` differ from a recomputation";
    }
  }
  for (const auto& entry : kept_->old_mentions) {
    if (const Place* place = find(entry->tree->scope); place && !place->block()->alloc_buffers.empty()) { (void)mentioning(*place, place->block()->alloc_buffers[0]); }
  }
  for (const auto& entry : kept_->mentions) {
    const Place* place = find(entry->tree->scope);
    if (!place) { return "what is kept of a scope's buffers is of one that is gone"; }
    ScopeMentions anew_mentions = make_scope_mentions(*this, *place, entry->tree, nullptr);
    if (entry->data != anew_mentions.data || entry->firsts != anew_mentions.firsts) {
      return "what is kept of the buffers that block `" + place->name().str() + "` mentions differs from a recomputation";
    }
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

auto Scope::of_src(NodeId id) const -> std::vector<Dependence> {
  std::vector<Dependence> out;
  for (const Dependence& d : dependences) {
    if (d.src == id) { out.push_back(d); }
  }
  return out;
}
auto Scope::of_block(size_t i) const -> std::span<const Dependence> {
  auto first = static_cast<size_t>(firsts[i]), end = i + 1 < firsts.size() ? static_cast<size_t>(firsts[i + 1]) : dependences.size();
  return std::span(dependences).subspan(first, end - first);
}
auto Scope::of_dst(NodeId id) const -> std::vector<Dependence> {
  auto found = std::find(blocks.begin(), blocks.end(), id);
  if (found == blocks.end()) { return {}; }
  auto all = of_block(static_cast<size_t>(found - blocks.begin()));
  return {all.begin(), all.end()};
}
auto Scope::writers(const BufferNode* buffer) const -> std::span<const Write> {
  auto first = std::lower_bound(writes.begin(), writes.end(), buffer, [](const Write& write, const BufferNode* b) { return write.buffer < b; });
  auto end = first;
  while (end != writes.end() && end->buffer == buffer) { ++end; }
  return {first, end};
}

// ---- rewriting -----------------------------------------------------------------------------------------

namespace {

// Copies the path from the changes to the root. Subtrees without a change are the old nodes.
struct PathCopy {
  const FuncState& func;
  const Rewrite& rewrite;
  std::vector<NodeId> holds_change;         // of loops and blocks that change, or hold something that does
  struct Marked { const void* stmt; int parent; };
  std::vector<Marked> marked;               // their statements
  int around = -1;                          // the place whose body is copied

  PathCopy(const FuncState& f, const Rewrite& r) : func(f), rewrite(r) {
    for (const auto& change : r.changes) { mark(change.at); }
    for (const auto& insert : r.inserts) { mark(insert.at); }
    for (const auto& before : r.befores) { mark(before.at); }
    for (const auto& alloc : r.allocs) { mark(alloc.at); }
  }

  void mark(NodeId id) {
    for (const Place* at = func.find(id); at && !is_marked(at->id); at = func.parent(*at)) {
      holds_change.push_back(at->id);
      marked.push_back({at->stmt().get(), at->parent});
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
  auto edits_of(const Array<Stmt>& items) -> std::vector<Edit> {
    std::vector<Edit> edits;
    std::vector<const void*> wanted;
    for (const Marked& m : marked) {
      if (m.parent == around) { wanted.push_back(m.stmt); }
    }
    size_t at = 0, left = wanted.size();
    for (; at < items.size() && left > 0 && wanted.size() <= 4; ++at) {
      for (const void* stmt : wanted) {
        if (items[at].get() == stmt) { --left; edits.push_back({at, copy(items[at])}); }
      }
    }
    if (left == 0) { return edits; }
    edits.clear();
    at = 0;
    for (const Stmt& item : items) {
      Stmt now = copy(item);
      if (!now.same_as(item)) { edits.push_back({at, std::move(now)}); }
      ++at;
    }
    return edits;
  }
  static auto edited(const Array<Stmt>& items, std::vector<Edit> edits, Origin origin) -> Stmt {
    std::vector<Stmt> all;
    all.reserve(items.size() + edits.size());
    size_t next = 0;
    auto keep = [&](size_t end) { all.insert(all.end(), items.begin() + next, items.begin() + end); };
    for (Edit& edit : edits) {
      keep(edit.at);
      next = edit.at + 1;
      if (const auto* many = edit.with.as<SeqStmt>()) {
        all.insert(all.end(), many->seq.begin(), many->seq.end());
      } else if (!is_no_op(edit.with)) {
        all.push_back(std::move(edit.with));
      }
    }
    keep(items.size());
    return all.empty() ? no_op() : all.size() == 1 ? all.front() : Stmt(make<SeqStmt>(Array<Stmt>(std::move(all)), origin));
  }

  auto put_in(const Stmt& body, const Rewrite::Insert& insert) -> Stmt {
    if (const auto* n = body.as<AllocateConst>()) {
      return make<AllocateConst>(n->data, n->dtype, n->extents, n->bytes, put_in(n->body, insert), n->annotations, n->origin);
    }
    if (const auto* n = body.as<DeclBuffer>()) { return make<DeclBuffer>(n->buffer, put_in(n->body, insert), n->origin); }
    const auto* n = body.as<SeqStmt>();
    Array<Stmt> items = n ? n->seq : Array<Stmt>{body};
    std::vector<Edit> edits = edits_of(items);
    // The new statement goes with the one that it stands before, or behind the last.
    size_t position = std::min(static_cast<size_t>(insert.position), items.size());
    size_t beside = std::min(position, items.size() - 1);
    auto edit = std::find_if(edits.begin(), edits.end(), [&](const Edit& e) { return e.at >= beside; });
    if (edit == edits.end() || edit->at != beside) { edit = edits.insert(edit, {beside, items[beside]}); }
    edit->with = position < items.size() ? seq({insert.stmt, edit->with}, body.origin()) : seq({edit->with, insert.stmt}, body.origin());
    return edited(items, std::move(edits), body.origin());
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
      std::vector<Buffer> buffers;
      buffers.reserve(fields.alloc_buffers.size() + 1);
      for (const Buffer& buffer : fields.alloc_buffers) {
        if (!alloc.remove || !(buffer == alloc.remove)) { buffers.push_back(buffer); } else if (alloc.add) { buffers.push_back(alloc.add); }
      }
      if (alloc.add && !alloc.remove) { buffers.push_back(alloc.add); }
      fields.alloc_buffers = std::move(buffers);
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
        return edits.empty() ? stmt : edited(n.seq, std::move(edits), n.origin);
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
