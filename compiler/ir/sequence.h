// Immutable sequences whose versions share memory. A long one is a tree of pieces: replacing one item among thousands copies its piece
// and the forks above, not the thousands. A short one, the usual case, is a single piece: one pointer wide, one allocation, read like an
// array. (B-trees whose nodes store the number of items below them.)
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include "ir/ref.h"

namespace loopsmith {

template <class T>
class Sequence {
  struct Piece;

 public:
  using value_type = T;

  /// Moves through a piece like a pointer, and looks the next piece up at its end.
  class const_iterator {
   public:
    using iterator_category = std::random_access_iterator_tag;
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    using pointer = const T*;
    using reference = const T&;

    const_iterator() = default;
    const_iterator(const Piece* root, size_t index) : root_(root), index_(index) { look_up(); }
    auto operator*() const -> const T& { return *at_; }
    auto operator->() const -> const T* { return at_; }
    auto operator[](difference_type k) const -> const T& { return *(*this + k); }
    auto operator++() -> const_iterator& {
      ++index_;
      if (++at_ == end_) { look_up(); }
      return *this;
    }
    auto operator++(int) -> const_iterator { const_iterator old = *this; ++*this; return old; }
    auto operator--() -> const_iterator& { return *this -= 1; }
    auto operator--(int) -> const_iterator { const_iterator old = *this; --*this; return old; }
    auto operator+=(difference_type k) -> const_iterator& {
      index_ = static_cast<size_t>(static_cast<difference_type>(index_) + k);
      look_up();
      return *this;
    }
    auto operator-=(difference_type k) -> const_iterator& { return *this += -k; }
    friend auto operator+(const_iterator i, difference_type k) -> const_iterator { return i += k; }
    friend auto operator+(difference_type k, const_iterator i) -> const_iterator { return i += k; }
    friend auto operator-(const_iterator i, difference_type k) -> const_iterator { return i -= k; }
    friend auto operator-(const const_iterator& a, const const_iterator& b) -> difference_type {
      return static_cast<difference_type>(a.index_) - static_cast<difference_type>(b.index_);
    }
    friend auto operator==(const const_iterator& a, const const_iterator& b) -> bool { return a.index_ == b.index_; }
    friend auto operator<=>(const const_iterator& a, const const_iterator& b) -> std::strong_ordering { return a.index_ <=> b.index_; }

   private:
    void look_up() {
      if (!root_ || index_ >= root_->size) { return; }
      auto [leaf, offset] = leaf_of(root_, index_);
      at_ = items(leaf) + offset;
      end_ = items(leaf) + leaf->size;
    }
    const Piece* root_ = nullptr;
    size_t index_ = 0;
    const T* at_ = nullptr;
    const T* end_ = nullptr;
  };

  Sequence() = default;
  Sequence(std::initializer_list<T> all) : root_(build(all.begin(), all.size())) {}
  Sequence(const std::vector<T>& all) : root_(build(all.data(), all.size())) {}                                                // NOLINT
  Sequence(std::vector<T>&& all) : root_(build(std::make_move_iterator(all.begin()), all.size())) {}                           // NOLINT
  Sequence(const Sequence& other) : root_(retain(other.root_)) {}
  Sequence(Sequence&& other) noexcept : root_(std::exchange(other.root_, nullptr)) {}
  ~Sequence() { release(root_); }
  auto operator=(const Sequence& other) -> Sequence& { Sequence(other).swap(*this); return *this; }
  auto operator=(Sequence&& other) noexcept -> Sequence& { Sequence(std::move(other)).swap(*this); return *this; }

  [[nodiscard]] auto size() const -> size_t { return root_ ? root_->size : 0; }
  [[nodiscard]] auto empty() const -> bool { return root_ == nullptr; }
  [[nodiscard]] auto begin() const -> const_iterator { return const_iterator(root_, 0); }
  [[nodiscard]] auto end() const -> const_iterator { return const_iterator(root_, size()); }
  auto operator[](size_t index) const -> const T& {
    auto [leaf, offset] = leaf_of(root_, index);
    return items(leaf)[offset];
  }
  [[nodiscard]] auto front() const -> const T& { return (*this)[0]; }
  [[nodiscard]] auto back() const -> const T& { return (*this)[size() - 1]; }
  /// True for the same sequence; equal contents are not enough.
  [[nodiscard]] auto same_as(const Sequence& other) const -> bool { return root_ == other.root_; }
  [[nodiscard]] auto to_vector() const -> std::vector<T> { return std::vector<T>(begin(), end()); }
  void swap(Sequence& other) noexcept { std::swap(root_, other.root_); }

  /// The sequence with the items from `from` up to `to` replaced by others. Shares the pieces that contain none of the replaced items.
  [[nodiscard]] auto spliced(size_t from, size_t to, std::span<const T> with) const -> Sequence {
    if (!root_) { return of(build(with.data(), with.size())); }
    std::vector<const Piece*> out;
    splice(root_, from, to, with, out);
    while (out.size() > 1) {
      std::vector<const Piece*> above;
      fork(out, above);
      out = std::move(above);
    }
    const Piece* root = out.empty() ? nullptr : out.front();
    while (root && root->height > 0 && (root->size <= most || count(root) == 1)) {
      const Piece* inner = root->size <= most ? build(const_iterator(root, 0), root->size) : retain(children(root)[0].piece);
      release(root);
      root = inner;
    }
    return of(root);
  }

  /// The number of items of a sorted sequence for which `is_before(item)` is true.
  template <class F>
  [[nodiscard]] auto lower_bound(const F& is_before) const -> size_t {
    size_t passed = 0;
    const Piece* at = root_;
    while (at && at->height > 0) {
      // Enters the first child whose last item does not come before the position.
      const Child* all = children(at);
      const Child* found = std::partition_point(all, all + count(at) - 1, [&](const Child& child) { return is_before(last_of(child.piece)); });
      if (found != all) { passed += found[-1].end; }
      at = found->piece;
    }
    return !at ? 0 : passed + static_cast<size_t>(std::partition_point(items(at), items(at) + at->size, is_before) - items(at));
  }

  /// The number of items from `at` on that equal those of another sequence from `there` on. Does not compare shared pieces.
  [[nodiscard]] auto same_run(size_t at, const Sequence& other, size_t there) const -> size_t {
    size_t run = 0;
    while (at + run < size() && there + run < other.size()) {
      // Descends to the largest piece that begins here in both, or to leaves.
      const Piece *a = root_, *b = other.root_, *a_fork = nullptr, *b_fork = nullptr;
      size_t i = at + run, k = there + run, a_child = 0, b_child = 0;
      while (a != b || i != k) {
        bool goes_down_a = a->height > 0 && a->height >= b->height, goes_down_b = b->height > 0 && b->height >= a->height;
        if (!goes_down_a && !goes_down_b) { break; }
        if (goes_down_a) { a_fork = a; a_child = child_of(a, i); a = children(a)[a_child].piece; }
        if (goes_down_b) { b_fork = b; b_child = child_of(b, k); b = children(b)[b_child].piece; }
      }
      if (a == b && i == k) {
        run += a->size - i;
        if (!a_fork || !b_fork) { continue; }
        for (++a_child, ++b_child; a_child < count(a_fork) && b_child < count(b_fork) && children(a_fork)[a_child].piece == children(b_fork)[b_child].piece; ++a_child, ++b_child) {
          run += children(a_fork)[a_child].piece->size;
        }
        continue;
      }
      size_t longest = std::min(a->size - i, b->size - k);
      const T *from = items(a) + i, *other_from = items(b) + k;
      auto same = static_cast<size_t>(std::mismatch(from, from + longest, other_from).first - from);
      run += same;
      if (same < longest) { break; }
    }
    return run;
  }

  /// The sequence with f applied to each item; the same sequence if f returned every item unchanged (decided by `same(a, b)`).
  template <class F, class Same>
  [[nodiscard]] auto map_same(F&& f, Same&& same) const -> Sequence {
    std::vector<std::pair<size_t, T>> changes;
    size_t index = 0;
    for (const T& item : *this) {
      T changed = f(item);
      if (!same(changed, item)) { changes.emplace_back(index, std::move(changed)); }
      ++index;
    }
    Sequence out = *this;
    if (changes.size() * usual <= size()) {
      for (const auto& [at, changed] : changes) { out = out.spliced(at, at + 1, std::span(&changed, 1)); }
      return out;
    }
    std::vector<T> all = to_vector();
    for (auto& [at, changed] : changes) { all[at] = std::move(changed); }
    return std::move(all);
  }

 private:
  // The items of a leaf follow its head in memory; so do the children of a fork. Nodes of `most` pointers come from the free lists.
  struct Piece { mutable uint32_t refs; uint32_t size : 28; uint32_t height : 4; };
  struct Child { const Piece* piece; uint32_t end; };        // `end`: the number of items in it and in the children before
  struct Fork : Piece { uint64_t count; };
  static constexpr size_t most = 30, usual = 20;
  static constexpr size_t head = sizeof(Piece) > alignof(T) ? sizeof(Piece) : alignof(T);

  static auto items(const Piece* leaf) -> const T* { return reinterpret_cast<const T*>(reinterpret_cast<const char*>(leaf) + head); }
  static auto children(const Piece* fork) -> const Child* { return reinterpret_cast<const Child*>(reinterpret_cast<const char*>(fork) + sizeof(Fork)); }
  static auto count(const Piece* piece) -> size_t { return piece->height == 0 ? piece->size : static_cast<const Fork*>(piece)->count; }

  // The child that contains an item; the item's number becomes its number in that child.
  static auto child_of(const Piece* fork, size_t& index) -> size_t {
    const Child* all = children(fork);
    const Child* found = std::upper_bound(all, all + count(fork), index, [](size_t i, const Child& child) { return i < child.end; });
    if (found != all) { index -= found[-1].end; }
    return static_cast<size_t>(found - all);
  }
  static auto leaf_of(const Piece* piece, size_t index) -> std::pair<const Piece*, size_t> {
    while (piece->height > 0) { piece = children(piece)[child_of(piece, index)].piece; }
    return {piece, index};
  }

  static auto last_of(const Piece* piece) -> const T& {
    while (piece->height > 0) { piece = children(piece)[count(piece) - 1].piece; }
    return items(piece)[piece->size - 1];
  }

  static auto of(const Piece* root) -> Sequence {
    Sequence out;
    out.root_ = root;
    return out;
  }
  static auto retain(const Piece* piece) -> const Piece* {
    if (piece) { ++piece->refs; }
    return piece;
  }
  static void release(const Piece* piece) {
    if (!piece || --piece->refs != 0) { return; }
    size_t all = count(piece);
    if (piece->height == 0) {
      for (size_t i = 0; i < all; ++i) { items(piece)[i].~T(); }
      free_node(const_cast<Piece*>(piece), head + all * sizeof(T));
    } else {
      for (size_t i = 0; i < all; ++i) { release(children(piece)[i].piece); }
      free_node(const_cast<Piece*>(piece), sizeof(Fork) + all * sizeof(Child));
    }
  }

  template <class Iterator>
  static auto new_leaf(Iterator& from, size_t size) -> const Piece* {
    auto* leaf = static_cast<Piece*>(allocate_node(head + size * sizeof(T)));
    leaf->refs = 1;
    leaf->size = static_cast<uint32_t>(size);
    leaf->height = 0;
    auto* out = const_cast<T*>(items(leaf));
    for (size_t i = 0; i < size; ++i, ++from) { new (out + i) T(*from); }
    return leaf;
  }
  static auto new_fork(const Piece* const* all, size_t count) -> const Piece* {
    auto* made = static_cast<Fork*>(allocate_node(sizeof(Fork) + count * sizeof(Child)));
    made->refs = 1;
    made->height = all[0]->height + 1U;
    made->count = count;
    auto* out = const_cast<Child*>(children(made));
    uint32_t end = 0;
    for (size_t i = 0; i < count; ++i) { out[i] = {all[i], end += all[i]->size}; }
    made->size = end;
    return made;
  }
  // The smallest number of parts for few items; for more, parts with free space.
  static auto parts_for(size_t count) -> size_t { return count <= most ? 1 : (count + usual - 1) / usual; }
  template <class Iterator>
  static void leaves(Iterator from, size_t size, std::vector<const Piece*>& out) {
    size_t parts = size == 0 ? 0 : parts_for(size);
    for (size_t i = 0; i < parts; ++i) { out.push_back(new_leaf(from, size * (i + 1) / parts - size * i / parts)); }
  }
  static void fork(const std::vector<const Piece*>& all, std::vector<const Piece*>& out) {
    size_t parts = all.empty() ? 0 : parts_for(all.size());
    for (size_t i = 0; i < parts; ++i) {
      size_t first = all.size() * i / parts;
      out.push_back(new_fork(all.data() + first, all.size() * (i + 1) / parts - first));
    }
  }
  template <class Iterator>
  static auto build(Iterator from, size_t size) -> const Piece* {
    if (size == 0) { return nullptr; }
    if (size <= most) { return new_leaf(from, size); }
    std::vector<const Piece*> all;
    leaves(from, size, all);
    while (all.size() > 1) {
      std::vector<const Piece*> above;
      fork(all, above);
      all = std::move(above);
    }
    return all.front();
  }

  // The items of a leaf after a splice.
  struct Spliced {
    const T* at;
    const T* from;
    const T* to;
    std::span<const T> with;
    auto operator*() const -> const T& { return at == from && !with.empty() ? with.front() : *at; }
    auto operator++() -> Spliced& {
      if (at == from && !with.empty()) { with = with.subspan(1); } else { ++at; }
      if (at == from && with.empty()) { at = to; from = nullptr; }
      return *this;
    }
  };

  // Makes pieces of the same height from the rest of a piece and its new items.
  static void splice(const Piece* piece, size_t from, size_t to, std::span<const T> with, std::vector<const Piece*>& out) {
    if (piece->height == 0) {
      const T* all = items(piece);
      Spliced now{all, all + from, all + to, with};
      if (from == 0 && with.empty()) { now.at = now.to; now.from = nullptr; }
      leaves(now, piece->size - (to - from) + with.size(), out);
      return;
    }
    std::vector<const Piece*> all;
    size_t own = count(piece);
    all.reserve(own + 4);
    bool is_in = false;
    size_t begin = 0, changed = 0, changed_end = 0;          // the new items among `all`
    for (size_t i = 0; i < own; begin = children(piece)[i].end, ++i) {
      const auto& [child, end] = children(piece)[i];
      bool takes = !is_in && (from < end || i + 1 == own);
      if (!takes && (!is_in || to <= begin)) { all.push_back(retain(child)); continue; }
      if (takes) { changed = all.size(); }
      splice(child, takes ? from - begin : 0, std::min<size_t>(to, end) - begin, takes ? with : std::span<const T>(), all);
      changed_end = all.size();
      is_in = true;
    }
    join_small(all, changed, changed_end);
    fork(all, out);
  }
  // Joins small new pieces with a neighbour.
  static void join_small(std::vector<const Piece*>& all, size_t from, size_t to) {
    for (size_t i = from; i < to && i < all.size(); ++i) {
      if (count(all[i]) >= usual / 2 || all.size() < 2) { continue; }
      size_t left = i > 0 ? i - 1 : i;
      const Piece *a = all[left], *b = all[left + 1];
      if (count(a) + count(b) > most) { continue; }
      const Piece* joined;
      if (a->height == 0) {
        std::vector<T> both(items(a), items(a) + a->size);
        both.insert(both.end(), items(b), items(b) + b->size);
        auto at = std::make_move_iterator(both.begin());
        joined = new_leaf(at, both.size());
      } else {
        std::vector<const Piece*> both;
        for (const Piece* fork : {a, b}) {
          for (size_t k = 0; k < count(fork); ++k) { both.push_back(retain(children(fork)[k].piece)); }
        }
        joined = new_fork(both.data(), both.size());
      }
      release(a);
      release(b);
      all[left] = joined;
      all.erase(all.begin() + static_cast<std::ptrdiff_t>(left) + 1);
      i = left;
    }
  }

  const Piece* root_ = nullptr;
};

/// The differences of two sequences, in order, each as the item numbers in both. Items between two differences are equal. An item that
/// moved may count as removed and added. The cost grows with the differences, if there are few.
template <class T, class F>
void difference(const Sequence<T>& before, const Sequence<T>& now, const F& differs) {
  constexpr size_t near = 8;
  for (size_t i = 0, k = 0;;) {
    size_t run = now.same_run(i, before, k);
    i += run;
    k += run;
    size_t new_left = now.size() - i, old_left = before.size() - k;
    if (new_left == 0 && old_left == 0) { return; }
    // The nearest items that are equal again; none: the rest differs.
    size_t skip_new = new_left, skip_old = old_left;
    for (size_t distance = 1; distance <= near && skip_new == new_left && skip_old == old_left; ++distance) {
      for (size_t a = 0; a <= distance; ++a) {
        size_t b = distance - a;
        if (a >= new_left || b >= old_left || !(now[i + a] == before[k + b])) { continue; }
        skip_new = a;
        skip_old = b;
        break;
      }
    }
    differs(k, k + skip_old, i, i + skip_new);
    k += skip_old;
    i += skip_new;
  }
}

}  // namespace loopsmith
