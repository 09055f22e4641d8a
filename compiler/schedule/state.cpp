// The tree of a function, rewriting along a path, and the answers kept about blocks: see state.h. How the answers
// come about is in analysis.cpp.
#include "schedule/state.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "ir/ops.h"
#include "ir/visitor.h"
#include "schedule/analysis.h"

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
  struct ScopeEntry {
    NodeId scope;
    PrimFunc made_from;
    std::vector<const void*> read_from;
    Scope info;
  };
  struct CoverEntry {
    NodeId scope;
    PrimFunc made_from;
    std::vector<const void*> read_from;
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
  std::vector<std::shared_ptr<const ScopeEntry>> scopes;
  std::vector<std::shared_ptr<const CoverEntry>> covers;
  std::vector<std::shared_ptr<const BindingEntry>> bindings;
  // Taken over from the state before, not compared yet.
  std::vector<std::shared_ptr<const ScopeEntry>> old_scopes;
  std::vector<std::shared_ptr<const CoverEntry>> old_covers;
  std::vector<std::shared_ptr<const BindingEntry>> old_bindings;
};

FuncState::FuncState(Name name, PrimFunc func) : name_(name), func_(std::move(func)), kept_(std::make_shared<Kept>()) {
  if (!root_block(func_)) { return; }
  places_.reserve(32);
  walk(func_->body, -1, -1);
  make_table();
}

FuncState::FuncState(Name name, PrimFunc func, const FuncState& before) : name_(name), func_(std::move(func)), kept_(std::make_shared<Kept>()) {
  if (!root_block(func_)) { return; }
  places_.reserve(before.places_.size() + 16);
  before_ = &before;
  walk(func_->body, -1, -1);
  before_ = nullptr;
  make_table();
}

void FuncState::make_table() {
  if (places_.size() <= small_tree) { return; }
  size_t slots = 64;
  while (slots < places_.size() * 2) { slots *= 2; }
  table_.assign(slots, 0);
  for (const Place& place : places_) {
    size_t slot = (hash_id(place.id) >> 20) & (slots - 1);
    while (table_[slot] != 0) { slot = (slot + 1) & (slots - 1); }
    table_[slot] = static_cast<uint32_t>(place.index) + 1;
  }
}

auto FuncState::take_over(const void* node, NodeId id, int parent, int scope) -> bool {
  if (!before_) { return false; }
  auto is_it = [&](const Place& place) { return place.loop == node || place.realize == node; };
  const Place* old = static_cast<size_t>(cursor_) < before_->places_.size() ? &before_->places_[static_cast<size_t>(cursor_)] : nullptr;
  if (!old || !is_it(*old)) {
    old = before_->find(id);
    if (!old || !is_it(*old)) {
      // Made anew, or around what changes: what follows in the old tree is what is inside.
      if (old) { cursor_ = old->index + 1; }
      return false;
    }
  }
  int shift = static_cast<int>(places_.size()) - old->index;
  int scope_shift = scope - old->scope;
  int first = old->index, end = old->end, outside = old->scope;
  places_.insert(places_.end(), before_->places_.begin() + first, before_->places_.begin() + end);
  for (auto at = places_.begin() + first + shift; at != places_.end(); ++at) {
    at->index += shift;
    at->parent += shift;
    at->scope += at->scope == outside ? scope_shift : shift;
    at->end += shift;
  }
  places_[static_cast<size_t>(first + shift)].parent = parent;
  cursor_ = end;
  return true;
}

void FuncState::walk(const Stmt& stmt, int parent, int scope) {
  switch (stmt.kind()) {
    case NodeKind::For: {
      const For* loop = stmt.as<For>();
      if (take_over(loop, loop->id, parent, scope)) { return; }
      int index = static_cast<int>(places_.size());
      places_.push_back({.id = loop->id, .loop = loop, .index = index, .parent = parent, .scope = scope});
      walk(loop->body, index, scope);
      places_[index].end = static_cast<int>(places_.size());
      return;
    }
    case NodeKind::BlockRealize: {
      const BlockRealize* realize = stmt.as<BlockRealize>();
      if (take_over(realize, realize->block->id, parent, scope)) { return; }
      int index = static_cast<int>(places_.size());
      places_.push_back({.id = realize->block->id, .realize = realize, .index = index, .parent = parent, .scope = scope});
      walk(realize->block->body, index, index);
      places_[index].end = static_cast<int>(places_.size());
      return;
    }
    case NodeKind::SeqStmt:
      for (const Stmt& item : stmt.as<SeqStmt>()->seq) { walk(item, parent, scope); }
      return;
    case NodeKind::IfThenElse: {
      const auto& branch = *stmt.as<IfThenElse>();
      walk(branch.then_case, parent, scope);
      if (branch.else_case) { walk(branch.else_case, parent, scope); }
      return;
    }
    case NodeKind::LetStmt: walk(stmt.as<LetStmt>()->body, parent, scope); return;
    case NodeKind::AttrStmt: walk(stmt.as<AttrStmt>()->body, parent, scope); return;
    case NodeKind::AssertStmt: walk(stmt.as<AssertStmt>()->body, parent, scope); return;
    case NodeKind::BufferRealize: walk(stmt.as<BufferRealize>()->body, parent, scope); return;
    case NodeKind::Allocate: walk(stmt.as<Allocate>()->body, parent, scope); return;
    case NodeKind::AllocateConst: walk(stmt.as<AllocateConst>()->body, parent, scope); return;
    case NodeKind::DeclBuffer: walk(stmt.as<DeclBuffer>()->body, parent, scope); return;
    case NodeKind::While: walk(stmt.as<While>()->body, parent, scope); return;
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
  if (table_.empty()) {
    for (const Place& place : places_) {
      if (place.id == id) { return &place; }
    }
    return nullptr;
  }
  size_t slots = table_.size();
  for (size_t slot = (hash_id(id) >> 20) & (slots - 1); table_[slot] != 0; slot = (slot + 1) & (slots - 1)) {
    const Place& place = places_[table_[slot] - 1];
    if (place.id == id) { return &place; }
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

// What the dependences between the blocks of a scope are read from.
auto scope_inputs(const FuncState& func, const Place& scope) -> std::vector<const void*> {
  std::vector<const void*> out;
  for (const Place* child : func.child_blocks(scope)) {
    const Block& block = *child->block();
    out.push_back(reinterpret_cast<const void*>(child->id));
    out.push_back(block.reads.begin());
    out.push_back(block.writes.begin());
    // What it hides is read from its body.
    for (const Buffer& buffer : func.hidden_reads(*child)) { out.push_back(buffer.get()); }
  }
  return out;
}

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

auto cover_inputs(const FuncState& func, const Place& scope) -> std::vector<const void*> {
  std::vector<const void*> out;
  // Regions may mention what is bound outside of the scope.
  for (const Place* at = func.parent(scope); at; at = func.parent(*at)) {
    if (at->is_loop()) { add_loop(out, *at->loop); } else { add_realize(out, *at->realize); }
  }
  add_realize(out, *scope.realize);
  for (int i = scope.index + 1; i < scope.end;) {
    const Place& place = func.places()[i];
    out.push_back(reinterpret_cast<const void*>(place.id));
    out.push_back(reinterpret_cast<const void*>(static_cast<intptr_t>(place.parent - scope.index)));
    if (place.is_loop()) {
      add_loop(out, *place.loop);
      ++i;
    } else {
      add_realize(out, *place.realize);
      out.push_back(place.block()->reads.begin());
      out.push_back(place.block()->writes.begin());
      // What it certainly writes is read from its stores, and from those of blocks inside.
      out.push_back(place.block()->body.get());
      i = place.end;
    }
  }
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

auto FuncState::hidden_reads(const Place& place) const -> const std::vector<Buffer>& {
  const Block* block = place.block();
  auto found = kept_->hidden->find(block);
  if (found == kept_->hidden->end()) { found = kept_->hidden->emplace(block, Kept::HiddenEntry{Ref<Block>(block), compute_hidden_reads(*block)}).first; }
  return found->second.buffers;
}

auto FuncState::scope_info(const Place& scope_place) const -> const Scope& {
  auto of_this = [&](const Kept::ScopeEntry& e) { return e.scope == scope_place.id; };
  if (auto entry = find_entry(kept_->scopes, of_this)) { return entry->info; }
  auto inputs = scope_inputs(*this, scope_place);
  if (auto entry = find_entry(kept_->old_scopes, of_this); entry && entry->read_from == inputs) {
    kept_->scopes.push_back(entry);
    return entry->info;
  }
  auto entry = std::make_shared<Kept::ScopeEntry>(
      Kept::ScopeEntry{scope_place.id, func_, std::move(inputs), compute_scope(*this, scope_place)});
  kept_->scopes.push_back(entry);
  return entry->info;
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
  auto inputs = cover_inputs(*this, scope_place);
  if (auto entry = find_entry(kept_->old_covers, of_this); entry && entry->read_from == inputs) {
    kept_->covers.push_back(entry);
    return entry->cover;
  }
  auto entry = std::make_shared<Kept::CoverEntry>(
      Kept::CoverEntry{scope_place.id, func_, std::move(inputs), compute_cover(*this, scope_place)});
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
  auto take = [](auto& into, const auto& current, const auto& old) {
    into = current;
    for (const auto& entry : old) {
      bool is_newer = false;
      for (const auto& kept : current) { is_newer |= kept == entry; }
      if (!is_newer && into.size() < 64) { into.push_back(entry); }
    }
  };
  take(kept_->old_scopes, before.kept_->scopes, before.kept_->old_scopes);
  take(kept_->old_covers, before.kept_->covers, before.kept_->old_covers);
  take(kept_->old_bindings, before.kept_->bindings, before.kept_->old_bindings);
}

auto FuncState::verify_cached() const -> std::optional<std::string> {
  FuncState anew(name_, func_);
  auto is_same = [](const Place& a, const Place& b) {
    return a.id == b.id && a.loop == b.loop && a.realize == b.realize && a.index == b.index && a.parent == b.parent && a.scope == b.scope && a.end == b.end;
  };
  if (!std::equal(places_.begin(), places_.end(), anew.places_.begin(), anew.places_.end(), is_same)) { return "the tree of loops and blocks differs from one made anew"; }
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
    Scope fresh = compute_scope(*this, *place);
    if (fresh.blocks != entry->info.blocks || fresh.dependences != entry->info.dependences) {
      return "the dependences kept of block `" + place->name().str() + "` differ from a recomputation";
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
    Cover fresh = compute_cover(*this, *place);
    if (fresh.stage_pipeline != entry->cover.stage_pipeline || fresh.uncovered != entry->cover.uncovered) {
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
auto Scope::of_dst(NodeId id) const -> std::vector<Dependence> {
  std::vector<Dependence> out;
  for (const Dependence& d : dependences) {
    if (d.dst == id) { out.push_back(d); }
  }
  return out;
}
auto Scope::writers(const BufferNode* buffer) const -> const std::vector<NodeId>* {
  for (const auto& [key, blocks] : buffer_writers) {
    if (key == buffer) { return &blocks; }
  }
  return nullptr;
}

// ---- rewriting -----------------------------------------------------------------------------------------

namespace {

// Copies the path from the changes to the root. Subtrees without a change are the old nodes.
struct PathCopy {
  const FuncState& func;
  const Rewrite& rewrite;
  std::vector<NodeId> holds_change;         // of loops and blocks that change, or hold something that does

  PathCopy(const FuncState& f, const Rewrite& r) : func(f), rewrite(r) {
    for (const auto& change : r.changes) { mark(change.at); }
    for (const auto& insert : r.inserts) { mark(insert.at); }
    for (const auto& before : r.befores) { mark(before.at); }
    for (const auto& alloc : r.allocs) { mark(alloc.at); }
  }

  void mark(NodeId id) {
    for (const Place* at = func.find(id); at && !is_marked(at->id); at = func.parent(*at)) { holds_change.push_back(at->id); }
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
    for (const auto& insert : rewrite.inserts) {
      if (insert.at == id) { return put_in(body, insert); }
    }
    return copy(body);
  }
  auto put_in(const Stmt& body, const Rewrite::Insert& insert) -> Stmt {
    if (const auto* n = body.as<AllocateConst>()) {
      return make<AllocateConst>(n->data, n->dtype, n->extents, n->bytes, put_in(n->body, insert), n->annotations, n->origin);
    }
    if (const auto* n = body.as<DeclBuffer>()) { return make<DeclBuffer>(n->buffer, put_in(n->body, insert), n->origin); }
    std::vector<Stmt> items;
    if (const auto* n = body.as<SeqStmt>()) {
      for (const Stmt& item : n->seq) { items.push_back(item); }
    } else {
      items.push_back(body);
    }
    for (Stmt& item : items) { item = copy(item); }
    items.insert(items.begin() + std::min<ptrdiff_t>(insert.position, static_cast<ptrdiff_t>(items.size())), insert.stmt);
    return seq(std::move(items), body.origin());
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
      for (const Buffer& buffer : fields.alloc_buffers) {
        if (!alloc.remove || !(buffer == alloc.remove)) { buffers.push_back(buffer); }
      }
      if (alloc.add) { buffers.push_back(alloc.add); }
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
        std::vector<Stmt> items;
        items.reserve(n.seq.size());
        bool same = true;
        for (const Stmt& item : n.seq) {
          items.push_back(copy(item));
          same &= items.back().same_as(item);
        }
        return same ? stmt : seq(std::move(items), n.origin);
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

State::State(IRModule module) : module_(std::move(module)), funcs_(module_->functions.size()) {}

auto State::func(Name name) const -> const FuncState* {
  for (size_t i = 0; i < funcs_.size(); ++i) {
    const auto& [key, func] = module_->functions[i];
    if (!(key == name)) { continue; }
    if (!funcs_[i]) { funcs_[i] = std::make_shared<const FuncState>(key, func); }
    return funcs_[i].get();
  }
  return nullptr;
}

auto State::find(NodeId id) const -> Found {
  for (const auto& func : funcs_) {
    if (!func) { continue; }
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
  out.funcs_ = funcs_;
  out.funcs_.resize(out.module_->functions.size());
  for (size_t i = 0; i < out.funcs_.size(); ++i) {
    const auto& [key, func] = out.module_->functions[i];
    if (out.funcs_[i] && out.funcs_[i]->func() == func) { continue; }
    if (key == name) {
      auto fresh = std::make_shared<FuncState>(key, func, before);
      fresh->adopt(before);
      out.funcs_[i] = std::move(fresh);
    } else {
      out.funcs_[i] = nullptr;
    }
  }
  return out;
}

auto State::verify_cached(Name name) const -> std::optional<std::string> {
  const FuncState* state = func(name);
  return state ? state->verify_cached() : std::nullopt;
}

}  // namespace loopsmith::schedule
