// Applies a Rewrite to a function: copies the nodes on the path from each change to the root. See rewrite.h.
#include "schedule/rewrite.h"

#include <algorithm>
#include <utility>

#include "ir/ops.h"
#include "ir/visitor.h"
#include "support/scoped_value.h"

namespace loopsmith::schedule {

namespace {

// Copies the path from the changes to the root. Subtrees without a change keep their old nodes.
struct PathCopy {
  const FuncTree& func;
  const Rewrite& rewrite;
  std::vector<NodeId> holds_change;         // loops and blocks that have an edit, or contain one
  struct Marked { const void* stmt; int index, parent; };
  std::vector<Marked> marked;               // the statements of these
  int around = -1;                          // the place whose body is copied

  PathCopy(const FuncTree& f, const Rewrite& r) : func(f), rewrite(r) {
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

  // Copies the body of a loop or block and inserts the new statements.
  auto copy_body(NodeId id, const Stmt& body) -> Stmt {
    ScopedValue<int> inside(around, func.find(id)->index);
    auto inserts = [&](const Rewrite::Insert& insert) { return insert.at == id; };
    auto insert = std::find_if(rewrite.inserts.begin(), rewrite.inserts.end(), inserts);
    return insert == rewrite.inserts.end() ? copy(body) : put_in(body, *insert);
  }

  struct Edit { size_t at; Stmt with; };
  // The changed statements of a list, with their new versions. Loops and blocks are found by their ids; other statements are searched only until
  // all edits are found.
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
    // The new statement is joined to the statement that it precedes, or to the last one.
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

auto rewritten_body(const FuncTree& func, const Rewrite& rewrite) -> Stmt { return PathCopy(func, rewrite).copy(func.func()->body); }

}  // namespace loopsmith::schedule
