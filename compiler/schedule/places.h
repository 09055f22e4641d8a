// The loops and blocks of a function in the order of the text, each with its position.
//
// A small function has a list of places. A large one has leaves of a few dozen places. Leaves store no number that changes when a statement is
// inserted elsewhere, so consecutive states share the leaves that a step does not change. The numbers of a `Place`, which do
// change, are computed on the first use of a leaf, and kept. So the cost of a step among thousands of loops is proportional to its change, plus
// one number for each leaf.
#pragma once

#include <cstddef>
#include <iterator>
#include <memory>
#include <vector>

#include "ir/ir.h"
#include "schedule/id_map.h"

namespace loopsmith::schedule {

/// A loop or block with its position. It lives as long as some state that contains it.
struct Place {
  NodeId id = 0;
  const For* loop = nullptr;               // one of the two is null
  const BlockRealize* realize = nullptr;
  int index = 0;                           // in the tree, in the order of the text
  int parent = -1;                         // the loop or block around it; -1 for the root block
  int scope = -1;                          // the nearest block around it; -1 for the root block
  int end = 0;                             // one past the last place below it

  [[nodiscard]] auto is_loop() const -> bool { return loop != nullptr; }
  [[nodiscard]] auto is_block() const -> bool { return realize != nullptr; }
  [[nodiscard]] auto block() const -> const Block* { return realize->block.get(); }
  [[nodiscard]] auto stmt() const -> Stmt {
    return loop ? Stmt(Ref<For>(loop)) : Stmt(Ref<BlockRealize>(realize));
  }
  /// The name of the loop variable or of the block, for messages.
  [[nodiscard]] auto name() const -> Name { return loop ? loop->var->name : block()->name; }
};

class Places {
 public:
  Places() = default;
  /// The places of a function's body. Loops and blocks in the `init` of a block are left out: no primitive reaches them.
  explicit Places(const Stmt& body);
  /// The same, for a body that shares most of its nodes with the body of `before`.
  Places(const Stmt& body, const Places& before);
  Places(const Places&) = delete;
  auto operator=(const Places&) -> Places& = delete;
  ~Places();

  [[nodiscard]] auto size() const -> size_t { return is_small() ? list_.size() : size_; }
  [[nodiscard]] auto empty() const -> bool { return size() == 0; }
  auto operator[](size_t index) const -> const Place& { return is_small() ? list_[index] : at(static_cast<int>(index)); }
  [[nodiscard]] auto front() const -> const Place& { return (*this)[0]; }
  [[nodiscard]] auto back() const -> const Place& { return (*this)[size() - 1]; }
  [[nodiscard]] auto find(NodeId id) const -> const Place*;
  /// The index of a loop or block; -1 for an unknown id.
  [[nodiscard]] auto index_of(NodeId id) const -> int;
  /// True for a place of this object; false for a copy, and for a place of another state.
  [[nodiscard]] auto holds(const Place& place) const -> bool;
  /// The blocks with that name.
  [[nodiscard]] auto blocks_named(Name name) const -> std::vector<const Place*>;

  /// The outermost blocks below a place, in the order of the text.
  [[nodiscard]] auto blocks_below(const Place& place) const -> std::vector<const BlockRealize*>;

  class const_iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = Place;
    using difference_type = std::ptrdiff_t;
    using pointer = const Place*;
    using reference = const Place&;
    const_iterator() = default;
    const_iterator(const Places* places, size_t index) : places_(places), index_(index) { look_up(); }
    auto operator*() const -> const Place& { return *at_; }
    auto operator->() const -> const Place* { return at_; }
    auto operator++() -> const_iterator& {
      ++index_;
      if (++at_ == end_) { look_up(); }
      return *this;
    }
    auto operator++(int) -> const_iterator { const_iterator old = *this; ++*this; return old; }
    friend auto operator==(const const_iterator& a, const const_iterator& b) -> bool { return a.index_ == b.index_; }

   private:
    void look_up();
    const Places* places_ = nullptr;
    size_t index_ = 0;
    const Place* at_ = nullptr;
    const Place* end_ = nullptr;
  };
  /// Iterates from an index on; faster than looking up each index.
  [[nodiscard]] auto from(int index) const -> const_iterator { return {this, static_cast<size_t>(index)}; }
  [[nodiscard]] auto begin() const -> const_iterator { return {this, 0}; }
  [[nodiscard]] auto end() const -> const_iterator { return {this, size()}; }

 private:
  struct Standing;
  struct Leaf;
  struct Branch;
  struct Post { const Branch* branch; int begin; };                // `begin`: the number of the branch's first place
  struct Spot { const Leaf* leaf = nullptr; int begin = 0; };
  struct Found { int index = -1; const Standing* standing = nullptr; };
  // Leaves and branches keep their numbers while others are added and removed; -1: removed.
  struct Numbers { std::vector<int> branch_of_leaf, post_of_branch; };
  struct Made { const Leaf* leaf; std::unique_ptr<Place[]> places; };
  class Anew;
  class FromList;
  class FromLeaves;

  [[nodiscard]] auto is_small() const -> bool { return branches_.empty(); }
  void cut_into_leaves();
  void number_leaves(int leaves, int branches);
  [[nodiscard]] auto at(int index) const -> const Place&;
  [[nodiscard]] auto post_of(int index) const -> size_t;
  [[nodiscard]] auto spot_of(int index) const -> Spot;
  [[nodiscard]] auto stand(int index) const -> Found;
  [[nodiscard]] auto stand(NodeId id) const -> Found;
  [[nodiscard]] auto find(NodeId id, Spot& spot) const -> const Standing*;
  [[nodiscard]] auto made(const Spot& spot) const -> const Place*;
  [[nodiscard]] auto make_places(const Spot& spot) const -> std::unique_ptr<Place[]>;

  std::vector<Place> list_;                       // for a small function
  size_t size_ = 0;
  std::vector<Post> branches_;                    // for a large function
  std::shared_ptr<const Numbers> numbers_;
  IdMap leaf_of_;                                 // the number of the leaf that may contain an id
  mutable std::vector<Made> made_;
  mutable std::vector<const Place*> all_made_;    // by index; empty while few places were used
};

}  // namespace loopsmith::schedule
