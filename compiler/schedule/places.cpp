// Builds the places of a function from its body and the places of the state before: see places.h.
#include "schedule/places.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace loopsmith::schedule {

namespace {

// A list is searched in order: for so few places, that is faster than any table.
constexpr size_t most_in_list = 64;
constexpr int usual_in_leaf = 20, most_in_leaf = 40;
constexpr int usual_in_branch = 16, most_in_branch = 32;

// Three bits for each name. About one leaf in twenty has all three bits set without containing the name.
auto name_bits(Name name) -> uint64_t {
  uint64_t mixed = name.hash() * 0x9e3779b97f4a7c15ULL;
  return uint64_t{1} << (mixed >> 58) | uint64_t{1} << (mixed >> 52 & 63) | uint64_t{1} << (mixed >> 46 & 63);
}

auto is_place(const Stmt& s) -> bool { return s.kind() == NodeKind::For || s.kind() == NodeKind::BlockRealize; }
auto id_of(const Stmt& s) -> NodeId { return s.as<For>() ? s.as<For>()->id : s.as<BlockRealize>()->block->id; }

// Calls a sink for each loop and block, before and after its body, and for lists of statements. Does not enter statements that the sink
// takes over.
template <class Sink>
void walk(const Stmt& stmt, Sink& sink) {
  switch (stmt.kind()) {
    case NodeKind::For: {
      const For* loop = stmt.as<For>();
      if (sink.takes_over(loop, loop->id)) { return; }
      auto around = sink.open(Place{.id = loop->id, .loop = loop}, loop->body);
      walk(loop->body, sink);
      sink.close(around);
      return;
    }
    case NodeKind::BlockRealize: {
      const BlockRealize* realize = stmt.as<BlockRealize>();
      if (sink.takes_over(realize, realize->block->id)) { return; }
      auto around = sink.open(Place{.id = realize->block->id, .realize = realize}, realize->block->body);
      walk(realize->block->body, sink);
      sink.close(around);
      return;
    }
    case NodeKind::SeqStmt: sink.list(*stmt.as<SeqStmt>()); return;
    case NodeKind::IfThenElse: {
      const auto& branch = *stmt.as<IfThenElse>();
      walk(branch.then_case, sink);
      if (branch.else_case) { walk(branch.else_case, sink); }
      return;
    }
    case NodeKind::LetStmt: walk(stmt.as<LetStmt>()->body, sink); return;
    case NodeKind::AttrStmt: walk(stmt.as<AttrStmt>()->body, sink); return;
    case NodeKind::AssertStmt: walk(stmt.as<AssertStmt>()->body, sink); return;
    case NodeKind::BufferRealize: walk(stmt.as<BufferRealize>()->body, sink); return;
    case NodeKind::Allocate: walk(stmt.as<Allocate>()->body, sink); return;
    case NodeKind::AllocateConst: walk(stmt.as<AllocateConst>()->body, sink); return;
    case NodeKind::DeclBuffer: walk(stmt.as<DeclBuffer>()->body, sink); return;
    case NodeKind::While: walk(stmt.as<While>()->body, sink); return;
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

}  // namespace

// A place without the numbers that change when other statements are inserted.
struct Places::Standing {
  NodeId id;
  const void* node;                        // the loop, or the block's realize
  NodeId parent;                           // 0: none
  int below;                               // the number of places below it
  bool is_loop;
  Name name;                               // of a block
};

// Consecutive places. This head is followed in memory by `count` places, then by their ids once more, for searching.
struct Places::Leaf {
  mutable uint32_t refs;
  int number;
  int count;
  uint64_t names;                          // bits of the names of all blocks in the leaf
  [[nodiscard]] auto begin() const -> const Standing* { return reinterpret_cast<const Standing*>(this + 1); }
  [[nodiscard]] auto end() const -> const Standing* { return begin() + count; }
  [[nodiscard]] auto find(NodeId id) const -> const Standing* {
    const auto* ids = reinterpret_cast<const NodeId*>(end());
    const NodeId* found = std::find(ids, ids + count, id);
    return found == ids + count ? nullptr : begin() + (found - ids);
  }

  static auto bytes(size_t count) -> size_t { return sizeof(Leaf) + count * (sizeof(Standing) + sizeof(NodeId)); }
  static auto make(int number, const Standing* all, size_t count) -> const Leaf* {
    auto* leaf = new (allocate_node(bytes(count))) Leaf{1, number, static_cast<int>(count), 0};
    std::uninitialized_copy(all, all + count, reinterpret_cast<Standing*>(leaf + 1));
    auto* ids = reinterpret_cast<NodeId*>(const_cast<Standing*>(leaf->end()));
    for (const Standing& standing : *leaf) {
      *ids++ = standing.id;
      if (!standing.is_loop) { leaf->names |= name_bits(standing.name); }
    }
    return leaf;
  }
  static void release(const Leaf* leaf) {
    if (--leaf->refs == 0) { free_node(const_cast<Leaf*>(leaf), bytes(static_cast<size_t>(leaf->count))); }
  }
};

// Consecutive leaves. They follow this head in memory, each with the number of places in it and in the leaves before.
struct Places::Branch {
  struct Twig { const Leaf* leaf; int number; int end; };
  mutable uint32_t refs;
  int number;
  int count;                               // the number of leaves
  uint64_t names;
  [[nodiscard]] auto begin() const -> const Twig* { return reinterpret_cast<const Twig*>(this + 1); }
  [[nodiscard]] auto end() const -> const Twig* { return begin() + count; }
  [[nodiscard]] auto size() const -> int { return end()[-1].end; }
  [[nodiscard]] auto begin_of(const Twig* twig) const -> int { return twig->end - twig->leaf->count; }

  /// Takes ownership of the leaves.
  static auto make(int number, const Leaf* const* all, size_t count) -> const Branch* {
    auto* branch = new (allocate_node(sizeof(Branch) + count * sizeof(Twig))) Branch{1, number, static_cast<int>(count), 0};
    auto* twigs = reinterpret_cast<Twig*>(branch + 1);
    int end = 0;
    for (size_t i = 0; i < count; ++i) {
      new (twigs + i) Twig{all[i], all[i]->number, end += all[i]->count};
      branch->names |= all[i]->names;
    }
    return branch;
  }
  static void release(const Branch* branch) {
    if (--branch->refs != 0) { return; }
    for (const Twig& twig : *branch) { Leaf::release(twig.leaf); }
    free_node(const_cast<Branch*>(branch), sizeof(Branch) + static_cast<size_t>(branch->count) * sizeof(Twig));
  }
};

// ---- lists ---------------------------------------------------------------------------------------------

class Places::Anew {
 public:
  explicit Anew(std::vector<Place>& list) : list_(list) {}
  struct Around { int index, parent, scope; };
  auto takes_over(const void*, NodeId) -> bool { return false; }
  auto open(Place place, const Stmt&) -> Around {
    Around out{static_cast<int>(list_.size()), parent_, scope_};
    place.index = out.index;
    place.parent = parent_;
    place.scope = scope_;
    list_.push_back(place);
    parent_ = out.index;
    if (place.is_block()) { scope_ = out.index; }
    return out;
  }
  void close(const Around& around) {
    list_[static_cast<size_t>(around.index)].end = static_cast<int>(list_.size());
    parent_ = around.parent;
    scope_ = around.scope;
  }
  void list(const SeqStmt& all) { for (const Stmt& stmt : all.seq) { walk(stmt, *this); } }

 protected:
  std::vector<Place>& list_;
  int parent_ = -1, scope_ = -1;
};

// Copies a place of the old list together with all places below it.
class Places::FromList : public Anew {
 public:
  FromList(std::vector<Place>& list, const Places& before) : Anew(list), before_(before) {}
  auto takes_over(const void* node, NodeId id) -> bool {
    auto is_it = [&](const Place& place) { return place.loop == node || place.realize == node; };
    const Place* old = cursor_ < before_.list_.size() ? &before_.list_[cursor_] : nullptr;
    if (!old || !is_it(*old)) {
      old = before_.find(id);
      if (!old || !is_it(*old)) {
        // The place is new, or contains a change: its children follow it in the old list.
        if (old) { cursor_ = static_cast<size_t>(old->index) + 1; }
        return false;
      }
    }
    int first = old->index, shift = static_cast<int>(list_.size()) - first, old_scope = old->scope;
    cursor_ = static_cast<size_t>(old->end);
    auto begin = static_cast<std::ptrdiff_t>(list_.size());
    list_.insert(list_.end(), before_.list_.begin() + first, before_.list_.begin() + old->end);
    if (shift == 0 && scope_ == old_scope && parent_ == list_[static_cast<size_t>(begin)].parent) { return true; }
    for (auto at = list_.begin() + begin; at != list_.end(); ++at) {
      at->index += shift;
      at->parent = at->parent < first ? parent_ : at->parent + shift;
      at->scope = at->scope == old_scope ? scope_ : at->scope + shift;
      at->end += shift;
    }
    return true;
  }
  void list(const SeqStmt& all) { for (const Stmt& stmt : all.seq) { walk(stmt, *this); } }

 private:
  const Places& before_;
  size_t cursor_ = 0;                      // the probable position of the next statement in the old list
};

// ---- leaves --------------------------------------------------------------------------------------------

// First maps each part of the new text to a part of the old text or to new places, then makes leaves from these parts.
class Places::FromLeaves {
 public:
  FromLeaves(Places& places, const Places& before) : places_(places), before_(before) {
    fresh_.clear();
    parts_.clear();
  }

  struct Around { size_t fresh; int index; NodeId parent; };
  auto takes_over(const void* node, NodeId id) -> bool {
    Found old = before_.stand(cursor_);
    if (!old.standing || old.standing->node != node) {
      if (!old.standing || old.standing->id != id) { old = before_.stand(id); }
      if (!old.standing || old.standing->node != node) {
        if (old.standing) { cursor_ = old.index + 1; }
        flush();
        refused_ = old.standing;
        return false;
      }
    }
    bool goes_on = first_ < end_ && old.index == end_ && parent_ == its_parent_ && old.standing->parent == old_parent_;
    if (!goes_on) {
      flush();
      first_ = old.index;
      its_parent_ = parent_;
      old_parent_ = old.standing->parent;
    }
    end_ = cursor_ = old.index + 1 + old.standing->below;
    return true;
  }
  auto open(const Place& place, const Stmt& body) -> Around {
    Around out{fresh_.size(), count_++, parent_};
    fresh_.push_back({.id = place.id, .node = place.loop ? static_cast<const void*>(place.loop) : place.realize, .parent = parent_, .below = 0, .is_loop = place.is_loop(), .name = place.loop ? no_name_ : place.name()});
    if (parts_.empty() || !parts_.back().is_fresh) { parts_.push_back({static_cast<int>(out.fresh), static_cast<int>(out.fresh), true}); }
    ++parts_.back().end;
    parent_ = place.id;
    // The list of statements that was entered last, and its old version; null if one of the two is not a list.
    const Standing* old = refused_;
    const Stmt* old_body = !old ? nullptr : old->is_loop ? &static_cast<const For*>(old->node)->body : &static_cast<const BlockRealize*>(old->node)->block->body;
    body_ = body.as<SeqStmt>();
    old_list_ = old_body ? old_body->as<SeqStmt>() : nullptr;
    return out;
  }
  void close(const Around& around) {
    flush();
    fresh_[around.fresh].below = count_ - around.index - 1;
    parent_ = around.parent;
  }
  // Takes over a run of statements that is also in the old list, together with its last statement. A few statements may have been removed or added.
  void list(const SeqStmt& all) {
    const SeqStmt* old = body_ == &all ? old_list_ : nullptr;
    size_t there = 0;                      // the position in the old list
    for (size_t i = 0; i < all.seq.size(); ++i) {
      const Stmt& item = all.seq[i];
      walk(item, *this);
      if (!old || i + 1 == all.seq.size() || !is_place(item) || first_ >= end_) { continue; }
      constexpr size_t gap = 8;
      size_t found = there, stop = std::min(old->seq.size(), there + gap);
      while (found < stop && !old->seq[found].same_as(item)) { ++found; }
      if (found == stop) { continue; }
      size_t alike = all.seq.same_run(i, old->seq, found);
      there = found + alike;
      const Stmt& last = all.seq[i + alike - 1];
      Found place = alike > 2 && is_place(last) ? before_.stand(id_of(last)) : Found();
      if (!place.standing) { continue; }
      end_ = cursor_ = place.index + 1 + place.standing->below;
      i += alike - 1;
    }
  }

  void make_leaves() {
    flush();
    places_.leaf_of_ = before_.leaf_of_;
    places_.branches_.reserve(before_.branches_.size() + 2);
    leaves_ = static_cast<int>(before_.numbers_->branch_of_leaf.size());
    numbers_ = static_cast<int>(before_.numbers_->post_of_branch.size());
    is_used_.assign(static_cast<size_t>(leaves_), 0);
    is_branch_used_.assign(static_cast<size_t>(numbers_), 0);
    for (const Part& part : parts_) {
      if (part.is_fresh) { put_fresh(part); } else { put_old(part); }
    }
    finish_leaf();
    finish_branch();
    places_.size_ = static_cast<size_t>(count_);
    // Most leaves stay in their branches.
    bool is_same = places_.branches_.size() == before_.branches_.size();
    for (size_t i = 0; is_same && i < places_.branches_.size(); ++i) {
      const Branch &now = *places_.branches_[i].branch, &was = *before_.branches_[i].branch;
      auto same_leaf = [](const Branch::Twig& a, const Branch::Twig& b) { return a.number == b.number; };
      is_same = &now == &was || (now.number == was.number && std::equal(now.begin(), now.end(), was.begin(), was.end(), same_leaf));
    }
    if (is_same) { places_.numbers_ = before_.numbers_; } else { places_.number_leaves(leaves_, numbers_); }
  }
  [[nodiscard]] auto count() const -> int { return count_; }

 private:
  // Old places from `first` up to `end`, with a new parent if one is given; or places of `fresh_`.
  struct Part { int first = 0, end = 0; bool is_fresh = false; NodeId parent = 0, old_parent = 0; };

  // Memory that is reused for each update.
  struct Scratch {
    std::vector<Standing> fresh, open;
    std::vector<Part> parts;
    std::vector<size_t> strangers;
    std::vector<const Leaf*> open_branch;
    std::vector<char> is_used, is_branch_used;
  };
  static auto scratch() -> Scratch& {
    static thread_local Scratch out;
    return out;
  }

  void flush() {
    if (first_ >= end_) { return; }
    bool moves = its_parent_ != old_parent_;
    parts_.push_back({first_, end_, false, moves ? its_parent_ : 0, old_parent_});
    count_ += end_ - first_;
    first_ = end_;
  }

  void put_fresh(const Part& part) {
    if (open_.empty()) {
      // Goes into the leaf of its old neighbours, or behind other new places while there is room.
      int number = before_.leaf_of_.find(fresh_[static_cast<size_t>(part.first)].id);
      int branch = number < 0 ? -1 : before_.numbers_->branch_of_leaf[static_cast<size_t>(number)];
      if (branch >= 0 && !is_used_[static_cast<size_t>(number)] && !opens_behind(branch)) {
        begin_leaf(number, branch);
      } else if (!open_branch_.empty() && open_branch_.back()->count < usual_in_leaf) {
        const Leaf* leaf = open_branch_.back();
        open_branch_.pop_back();
        number_ = leaf->number;
        open_.assign(leaf->begin(), leaf->end());
        Leaf::release(leaf);
      } else {
        begin_leaf(leaves_++, -1);
      }
    }
    for (int i = part.first; i < part.end; ++i) {
      strangers_.push_back(open_.size());
      open_.push_back(fresh_[static_cast<size_t>(i)]);
    }
  }
  void put_old(const Part& part) {
    for (size_t post = before_.post_of(part.first); post < before_.branches_.size() && before_.branches_[post].begin < part.end; ++post) {
      const auto& [branch, branch_begin] = before_.branches_[post];
      bool is_whole = part.parent == 0 && part.first <= branch_begin && branch_begin + branch->size() <= part.end;
      if (is_whole && !is_branch_used_[static_cast<size_t>(branch->number)]) {
        finish_leaf();
        finish_branch();
        is_branch_used_[static_cast<size_t>(branch->number)] = 1;
        for (const Branch::Twig& twig : *branch) { is_used_[static_cast<size_t>(twig.number)] = 1; }
        ++branch->refs;
        push(branch);
        continue;
      }
      for (const Branch::Twig& twig : *branch) {
        int begin = branch_begin + branch->begin_of(&twig), end = branch_begin + twig.end;
        if (end <= part.first) { continue; }
        if (begin >= part.end) { break; }
        put_old(part, twig, *branch, std::max(part.first, begin) - begin, std::min(part.end, end) - begin);
      }
    }
  }
  void put_old(const Part& part, const Branch::Twig& twig, const Branch& branch, int from, int to) {
    const Leaf* leaf = twig.leaf;
    bool is_used = is_used_[static_cast<size_t>(leaf->number)];
    if (!is_used && part.parent == 0 && to - from == leaf->count) {
      finish_leaf();
      is_used_[static_cast<size_t>(leaf->number)] = 1;
      ++leaf->refs;
      begin_branch(branch.number);
      open_branch_.push_back(leaf);
      return;
    }
    if (open_.empty() || (number_ != leaf->number && !is_used)) {
      finish_leaf();
      begin_leaf(is_used ? leaves_++ : leaf->number, branch.number);
    }
    for (int i = from; i < to; ++i) {
      if (number_ != leaf->number) { strangers_.push_back(open_.size()); }
      open_.push_back(leaf->begin()[i]);
      if (part.parent != 0 && open_.back().parent == part.old_parent) { open_.back().parent = part.parent; }
    }
  }

  // True if the leaf that is being made already belongs behind that branch.
  [[nodiscard]] auto opens_behind(int branch) const -> bool { return is_branch_used_[static_cast<size_t>(branch)] && branch != branch_; }
  // Puts the next leaf into that branch, unless leaves of another branch have come in between.
  void begin_branch(int number) {
    if (number >= 0 && number != branch_ && !is_branch_used_[static_cast<size_t>(number)]) {
      finish_branch();
      branch_ = number;
      is_branch_used_[static_cast<size_t>(number)] = 1;
    }
  }
  void begin_leaf(int number, int branch) {
    number_ = number;
    if (static_cast<size_t>(number) < is_used_.size()) { is_used_[static_cast<size_t>(number)] = 1; }
    begin_branch(branch);
  }
  void push(const Branch* branch) {
    places_.branches_.push_back({branch, begin_});
    begin_ += branch->size();
  }
  void finish_leaf() {
    if (open_.empty()) { return; }
    size_t parts = open_.size() <= most_in_leaf ? 1 : (open_.size() + usual_in_leaf - 1) / usual_in_leaf;
    size_t own = open_.size() / parts;       // the size of the first part, which keeps the number
    for (size_t at : strangers_) {
      if (at < own && places_.leaf_of_.find(open_[at].id) != number_) { places_.leaf_of_.set(open_[at].id, number_); }
    }
    for (size_t k = 0; k < parts; ++k) {
      size_t first = open_.size() * k / parts, end = open_.size() * (k + 1) / parts;
      int number = k == 0 ? number_ : leaves_++;
      for (size_t i = first; k > 0 && i < end; ++i) { places_.leaf_of_.set(open_[i].id, number); }
      open_branch_.push_back(Leaf::make(number, open_.data() + first, end - first));
    }
    open_.clear();
    strangers_.clear();
  }
  void finish_branch() {
    if (!open_branch_.empty()) {
      size_t parts = open_branch_.size() <= most_in_branch ? 1 : (open_branch_.size() + usual_in_branch - 1) / usual_in_branch;
      for (size_t k = 0; k < parts; ++k) {
        size_t first = open_branch_.size() * k / parts, end = open_branch_.size() * (k + 1) / parts;
        push(Branch::make(k == 0 && branch_ >= 0 ? branch_ : numbers_++, open_branch_.data() + first, end - first));
      }
      open_branch_.clear();
    }
    branch_ = -1;
  }

  Places& places_;
  const Places& before_;
  const Name no_name_;
  int count_ = 0;
  NodeId parent_ = 0;
  int cursor_ = 0;                         // the probable position of the next statement in `before_`
  // Siblings that are also consecutive in `before_`: from `first_` up to `end_`.
  int first_ = 0, end_ = 0;
  NodeId its_parent_ = 0, old_parent_ = 0;
  const Standing* refused_ = nullptr;      // the old place of the loop or block that could not be taken over; null if it had none
  const SeqStmt* body_ = nullptr;
  const SeqStmt* old_list_ = nullptr;
  std::vector<Standing>& fresh_ = scratch().fresh;
  std::vector<Part>& parts_ = scratch().parts;
  // While leaves are made: the new places of the leaf that is being filled, and the branch that is being filled.
  std::vector<Standing>& open_ = scratch().open;
  std::vector<size_t>& strangers_ = scratch().strangers;
  int number_ = 0;
  std::vector<const Leaf*>& open_branch_ = scratch().open_branch;
  int branch_ = -1;
  int begin_ = 0;
  int leaves_ = 0, numbers_ = 0;           // the count of numbers given to leaves and to branches
  std::vector<char>&is_used_ = scratch().is_used, &is_branch_used_ = scratch().is_branch_used;   // for the numbers that were given before
};

Places::Places(const Stmt& body) {
  list_.reserve(32);
  Anew sink(list_);
  walk(body, sink);
  cut_into_leaves();
}

Places::Places(const Stmt& body, const Places& before) {
  if (before.is_small()) {
    list_.reserve(before.list_.size() + 16);
    FromList sink(list_, before);
    walk(body, sink);
    cut_into_leaves();
    return;
  }
  FromLeaves sink(*this, before);
  walk(body, sink);
  // If few places are left, or leaves have become small, builds everything anew.
  bool is_worn = static_cast<size_t>(sink.count()) <= most_in_list / 2 || before.numbers_->branch_of_leaf.size() > static_cast<size_t>(sink.count() / 8 + 16);
  if (!is_worn) {
    sink.make_leaves();
    return;
  }
  Anew anew(list_);
  walk(body, anew);
  cut_into_leaves();
}

Places::~Places() { for (const Post& post : branches_) { Branch::release(post.branch); } }

void Places::cut_into_leaves() {
  if (list_.size() <= most_in_list) { return; }
  std::vector<Place> all = std::exchange(list_, {});
  std::vector<Standing> standing;
  standing.reserve(all.size());
  const Name none;
  for (const Place& p : all) {
    standing.push_back({.id = p.id, .node = p.loop ? static_cast<const void*>(p.loop) : p.realize, .parent = p.parent < 0 ? 0 : all[static_cast<size_t>(p.parent)].id, .below = p.end - p.index - 1, .is_loop = p.is_loop(), .name = p.loop ? none : p.name()});
  }
  std::vector<const Leaf*> leaves;
  size_t parts = (all.size() + usual_in_leaf - 1) / usual_in_leaf;
  for (size_t k = 0; k < parts; ++k) {
    size_t first = all.size() * k / parts, end = all.size() * (k + 1) / parts;
    leaves.push_back(Leaf::make(static_cast<int>(k), standing.data() + first, end - first));
    for (size_t i = first; i < end; ++i) { leaf_of_.set(all[i].id, static_cast<int>(k)); }
  }
  size_t branches = (parts + usual_in_branch - 1) / usual_in_branch;
  int begin = 0;
  for (size_t k = 0; k < branches; ++k) {
    size_t first = parts * k / branches, end = parts * (k + 1) / branches;
    branches_.push_back({Branch::make(static_cast<int>(k), leaves.data() + first, end - first), begin});
    begin += branches_.back().branch->size();
  }
  size_ = all.size();
  number_leaves(static_cast<int>(parts), static_cast<int>(branches));
}

void Places::number_leaves(int leaves, int branches) {
  auto out = std::make_shared<Numbers>();
  out->branch_of_leaf.assign(static_cast<size_t>(leaves), -1);
  out->post_of_branch.assign(static_cast<size_t>(branches), -1);
  for (size_t i = 0; i < branches_.size(); ++i) {
    const Branch& branch = *branches_[i].branch;
    out->post_of_branch[static_cast<size_t>(branch.number)] = static_cast<int>(i);
    for (const Branch::Twig& twig : branch) { out->branch_of_leaf[static_cast<size_t>(twig.number)] = branch.number; }
  }
  numbers_ = std::move(out);
}

// ---- look-ups ------------------------------------------------------------------------------------------

auto Places::post_of(int index) const -> size_t {
  auto behind = std::upper_bound(branches_.begin(), branches_.end(), index, [](int i, const Post& post) { return i < post.begin; });
  return static_cast<size_t>(behind - branches_.begin()) - 1;
}

auto Places::spot_of(int index) const -> Spot {
  const Post& post = branches_[post_of(index)];
  const Branch::Twig* twig = std::upper_bound(post.branch->begin(), post.branch->end(), index - post.begin, [](int i, const Branch::Twig& t) { return i < t.end; });
  return {twig->leaf, post.begin + post.branch->begin_of(twig)};
}

auto Places::stand(int index) const -> Found {
  if (static_cast<size_t>(index) >= size_) { return {}; }
  Spot spot = spot_of(index);
  return {index, spot.leaf->begin() + (index - spot.begin)};
}

auto Places::stand(NodeId id) const -> Found {
  Spot spot;
  const Standing* found = find(id, spot);
  return found ? Found{spot.begin + static_cast<int>(found - spot.leaf->begin()), found} : Found();
}

auto Places::find(NodeId id, Spot& spot) const -> const Standing* {
  int number = leaf_of_.find(id);
  int branch = number < 0 ? -1 : numbers_->branch_of_leaf[static_cast<size_t>(number)];
  if (branch < 0) { return nullptr; }
  const Post& post = branches_[static_cast<size_t>(numbers_->post_of_branch[static_cast<size_t>(branch)])];
  const Branch::Twig* twig = std::find_if(post.branch->begin(), post.branch->end(), [&](const Branch::Twig& t) { return t.number == number; });
  spot = {twig->leaf, post.begin + post.branch->begin_of(twig)};
  return twig->leaf->find(id);
}

// Steps use the places of a few leaves only. A table is built for callers that visit all places.
auto Places::made(const Spot& spot) const -> const Place* {
  auto number = static_cast<size_t>(spot.leaf->number);
  if (number < all_made_.size()) {
    if (all_made_[number]) { return all_made_[number]; }
  } else {
    for (const Made& made : made_) {
      if (made.leaf == spot.leaf) { return made.places.get(); }
    }
  }
  made_.push_back({spot.leaf, make_places(spot)});
  constexpr size_t few = 8;
  if (made_.size() > few && all_made_.empty()) {
    all_made_.assign(numbers_->branch_of_leaf.size(), nullptr);
    for (const Made& made : made_) { all_made_[static_cast<size_t>(made.leaf->number)] = made.places.get(); }
  }
  if (!all_made_.empty()) { all_made_[number] = made_.back().places.get(); }
  return made_.back().places.get();
}

auto Places::make_places(const Spot& spot) const -> std::unique_ptr<Place[]> {
  const auto& [leaf, begin] = spot;
  auto out = std::make_unique_for_overwrite<Place[]>(static_cast<size_t>(leaf->count));
  struct Around { int index = -1, scope = -1, end = 0; bool is_block = false; };
  // Many places have the same loops and blocks around them that lie outside of the leaf.
  NodeId outside_id = 0;
  Around outside;
  auto around_from_outside = [&](NodeId parent) -> const Around& {
    if (parent == outside_id) { return outside; }
    Found found = stand(parent);
    outside_id = parent;
    outside = {.index = found.index, .is_block = !found.standing->is_loop};
    Found scope = found;
    while (scope.standing->is_loop) { scope = stand(scope.standing->parent); }
    outside.scope = scope.index;
    return outside;
  };
  static thread_local std::vector<Around> open;   // the places of the leaf that are around the next place
  open.clear();
  for (int i = 0; i < leaf->count; ++i) {
    const Standing& standing = leaf->begin()[i];
    Place& place = out[static_cast<size_t>(i)];
    int index = begin + i;
    place = {.id = standing.id, .loop = standing.is_loop ? static_cast<const For*>(standing.node) : nullptr, .realize = standing.is_loop ? nullptr : static_cast<const BlockRealize*>(standing.node),
             .index = index, .parent = -1, .scope = -1, .end = index + 1 + standing.below};
    while (!open.empty() && open.back().end <= index) { open.pop_back(); }
    if (!open.empty() || standing.parent != 0) {
      const Around& around = open.empty() ? around_from_outside(standing.parent) : open.back();
      place.parent = around.index;
      place.scope = around.scope;
    }
    if (standing.below > 0) { open.push_back({index, standing.is_loop ? place.scope : index, place.end, !standing.is_loop}); }
  }
  return out;
}

auto Places::at(int index) const -> const Place& {
  Spot spot = spot_of(index);
  return made(spot)[index - spot.begin];
}

auto Places::find(NodeId id) const -> const Place* {
  if (is_small()) {
    for (const Place& place : list_) {
      if (place.id == id) { return &place; }
    }
    return nullptr;
  }
  Spot spot;
  const Standing* found = find(id, spot);
  return found ? made(spot) + (found - spot.leaf->begin()) : nullptr;
}

auto Places::index_of(NodeId id) const -> int {
  if (!is_small()) { return stand(id).index; }
  const Place* found = find(id);
  return found ? found->index : -1;
}

auto Places::holds(const Place& place) const -> bool {
  return place.index >= 0 && static_cast<size_t>(place.index) < size() && &(*this)[static_cast<size_t>(place.index)] == &place;
}

auto Places::blocks_named(Name name) const -> std::vector<const Place*> {
  std::vector<const Place*> out;
  for (const Place& place : list_) {
    if (place.is_block() && place.block()->name == name) { out.push_back(&place); }
  }
  uint64_t bits = name_bits(name);
  for (const auto& [branch, begin] : branches_) {
    if ((branch->names & bits) != bits) { continue; }
    for (const Branch::Twig& twig : *branch) {
      if ((twig.leaf->names & bits) != bits) { continue; }
      for (const Standing& standing : *twig.leaf) {
        if (!standing.is_loop && standing.name == name) { out.push_back(made({twig.leaf, begin + branch->begin_of(&twig)}) + (&standing - twig.leaf->begin())); }
      }
    }
  }
  return out;
}

auto Places::blocks_below(const Place& place) const -> std::vector<const BlockRealize*> {
  std::vector<const BlockRealize*> out;
  if (is_small()) {
    for (int i = place.index + 1; i < place.end;) {
      const Place& at = list_[static_cast<size_t>(i)];
      if (at.is_block()) { out.push_back(at.realize); }
      i = at.is_block() ? at.end : i + 1;
    }
    return out;
  }
  // Goes from leaf to leaf; after a block that contains others, continues behind these.
  for (int i = place.index + 1; i < place.end;) {
    size_t post = post_of(i);
    const Branch& branch = *branches_[post].branch;
    const Branch::Twig* twig = std::upper_bound(branch.begin(), branch.end(), i - branches_[post].begin, [](int k, const Branch::Twig& t) { return k < t.end; });
    for (int begin = branches_[post].begin + branch.begin_of(twig); twig != branch.end() && i < place.end; begin += twig->leaf->count, ++twig) {
      while (i < place.end && i < begin + twig->leaf->count) {
        const Standing& at = twig->leaf->begin()[i - begin];
        if (!at.is_loop) { out.push_back(static_cast<const BlockRealize*>(at.node)); }
        i += at.is_loop ? 1 : 1 + at.below;
      }
      if (i > begin + twig->leaf->count) { break; }
    }
  }
  return out;
}

void Places::const_iterator::look_up() {
  if (!places_ || index_ >= places_->size()) { return; }
  if (places_->is_small()) {
    at_ = places_->list_.data() + index_;
    end_ = places_->list_.data() + places_->list_.size();
    return;
  }
  Spot spot = places_->spot_of(static_cast<int>(index_));
  const Place* all = places_->made(spot);
  at_ = all + (static_cast<int>(index_) - spot.begin);
  end_ = all + spot.leaf->count;
}

}  // namespace loopsmith::schedule
