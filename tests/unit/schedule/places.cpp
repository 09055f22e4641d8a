// Places derived from those of the state before equal places computed anew: after any changes, in functions of any size.
#include "schedule/places.h"

#include <set>

#include "../catch.h"
#include "ir/ops.h"

using namespace loopsmith;
using schedule::Place;
using schedule::Places;

namespace {

// Programs and changes to them, at random.
class Texts {
 public:
  explicit Texts(uint32_t seed) : state_(seed * 2654435761U + 1) {}
  auto below(size_t n) -> size_t {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<size_t>((state_ >> 33) % n);
  }
  auto loop(Stmt body, NodeId id = 0) -> Stmt {
    return make<For>(var("i"), int_imm(0), int_imm(8), ForKind::Serial, std::move(body), std::optional<IterVar>(), AttrMap(), Origin(), id);
  }
  auto block(Stmt body, NodeId id = 0) -> Stmt {
    Block::Fields fields;
    fields.name = Name("b" + std::to_string(below(40)));
    fields.body = std::move(body);
    return make<BlockRealize>(Array<Expr>(), bool_imm(true), make<Block>(std::move(fields), Origin(), id));
  }
  auto leaf() -> Stmt { return make<Evaluate>(make<Call>(DataType::int_(32), Name("f"), Array<Expr>())); }
  auto strand() -> Stmt {
    switch (below(8)) {
      case 0: return block(leaf());
      case 1: return loop(loop(block(leaf())));
      case 2: return loop(list(2 + below(4)));
      case 3: return block(loop(block(leaf())));
      case 4: return make<IfThenElse>(bool_imm(true), loop(block(leaf())), block(leaf()));
      case 5: return leaf();
      default: return loop(block(leaf()));
    }
  }
  auto list(size_t count) -> Stmt {
    std::vector<Stmt> all;
    for (size_t i = 0; i < count; ++i) { all.push_back(strand()); }
    return make<SeqStmt>(std::move(all));
  }
  // A copy of a statement with a change inside.
  auto changed(const Stmt& stmt) -> Stmt {
    if (const auto* n = stmt.as<For>()) {
      switch (below(6)) {
        case 0: return loop(n->body);                                  // another loop around the same body
        case 1: return loop(loop(n->body), n->id);                     // the same loop around another body
        default: return loop(changed(n->body), n->id);
      }
    }
    if (const auto* n = stmt.as<BlockRealize>()) { return block(changed(n->block->body), n->block->id); }
    if (const auto* n = stmt.as<IfThenElse>()) { return make<IfThenElse>(n->condition, changed(n->then_case), n->else_case); }
    const auto* n = stmt.as<SeqStmt>();
    if (!n) { return below(3) == 0 ? block(leaf()) : stmt; }
    size_t at = below(n->seq.size()), to = std::min(n->seq.size(), at + 1 + below(below(8) == 0 ? 60 : 3));
    auto with = [&](size_t from, size_t end, std::vector<Stmt> all) { return sequence(n->seq.spliced(from, end, all)); };
    switch (below(9)) {
      case 0: return with(at, at, {strand()});
      case 1: return with(at, to, {});
      case 2: {                                                        // moved elsewhere
        Stmt moved = n->seq[at];
        Sequence<Stmt> rest = n->seq.spliced(at, at + 1, {});
        size_t there = below(rest.size() + 1);
        return sequence(rest.spliced(there, there, std::span(&moved, 1)));
      }
      case 3: {                                                        // moved under a loop, or into a block
        Stmt part = sequence(Sequence<Stmt>(std::vector<Stmt>(n->seq.begin() + static_cast<std::ptrdiff_t>(at), n->seq.begin() + static_cast<std::ptrdiff_t>(to))));
        return with(at, to, {below(2) == 0 ? loop(part) : block(part)});
      }
      case 4: return with(at, at, list(1 + below(below(4) == 0 ? 100 : 4)).as<SeqStmt>()->seq.to_vector());
      default: return with(at, at + 1, {changed(n->seq[at])});
    }
  }

 private:
  auto sequence(Sequence<Stmt> all) -> Stmt {
    if (all.empty()) { return leaf(); }
    if (all.size() == 1) { return all.front(); }
    std::vector<Stmt> flat;
    for (const Stmt& s : all) {
      if (const auto* inner = s.as<SeqStmt>()) { flat.insert(flat.end(), inner->seq.begin(), inner->seq.end()); } else { flat.push_back(s); }
    }
    return flat.size() == all.size() ? Stmt(make<SeqStmt>(std::move(all))) : Stmt(make<SeqStmt>(std::move(flat)));
  }
  uint64_t state_;
};

auto is_same(const Place& a, const Place& b) -> bool {
  return a.id == b.id && a.loop == b.loop && a.realize == b.realize && a.index == b.index && a.parent == b.parent && a.scope == b.scope && a.end == b.end;
}

void check(const Places& now, const Places& anew, const std::set<NodeId>& gone) {
  REQUIRE(now.size() == anew.size());
  bool all = true;
  // By index, by id and in order, requested in this sequence.
  for (size_t i = 0; i < now.size(); i += 37) { all = all && is_same(now[i], anew[i]); }
  for (const Place& place : anew) {
    const Place* found = now.find(place.id);
    all = all && found && is_same(*found, place) && now.index_of(place.id) == place.index && now.holds(*found) && !now.holds(place);
  }
  size_t i = 0;
  for (const Place& place : now) { all = all && &place == &now[i] && is_same(place, anew[i]); ++i; }
  for (NodeId id : gone) { all = all && (now.find(id) == nullptr) == (anew.find(id) == nullptr); }
  for (const char* name : {"b0", "b7", "b39", "none"}) {
    auto a = now.blocks_named(name), b = anew.blocks_named(name);
    all = all && std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Place* x, const Place* y) { return is_same(*x, *y); });
  }
  REQUIRE(all);
}

TEST_CASE("places made from those before are those made anew", "[places]") {
  for (uint32_t seed = 0; seed < 12; ++seed) {
    INFO("seed " << seed);
    Texts texts(seed);
    constexpr size_t sizes[] = {2, 10, 40, 150, 700, 2500};
    Stmt list = texts.list(sizes[seed % 6]);
    // Long lists at the root, and deeper.
    Stmt body = texts.block(seed < 6 ? list : texts.loop(texts.block(texts.loop(list))));
    auto places = std::make_unique<Places>(body);
    std::set<NodeId> ids;
    for (int step = 0; step < 120; ++step) {
      const auto* root = body.as<BlockRealize>();
      Stmt next = texts.block(texts.changed(root->block->body), root->block->id);
      for (int more = static_cast<int>(texts.below(3)); more > 0; --more) { next = texts.block(texts.changed(next.as<BlockRealize>()->block->body), root->block->id); }
      auto after = std::make_unique<Places>(next, *places);
      if (ids.size() < 500) { for (const Place& place : *places) { ids.insert(place.id); } }
      check(*after, Places(next), ids);
      // Sometimes two states follow from the same one.
      if (texts.below(4) == 0) { check(Places(body, *after), Places(body), {}); }
      places = std::move(after);
      body = next;
    }
  }
}

}  // namespace
