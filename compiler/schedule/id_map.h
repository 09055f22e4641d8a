// A map from ids of loops and blocks to small numbers. Copies share nodes: setting a value copies only the few nodes above it. (A big-endian
// Patricia tree, after Okasaki and Gill's "Fast Mergeable Integer Maps". Its leaves are buckets of 16 consecutive ids, since loops and blocks
// Patricia tree, after Okasaki and Gill's "Fast Mergeable Integer Maps". Its leaves are buckets of 16 consecutive ids, since loops and blocks
#pragma once

#include <bit>
#include <cstdint>
#include <utility>

#include "ir/ir.h"

namespace loopsmith::schedule {

class IdMap {
 public:
  IdMap() = default;
  IdMap(const IdMap& other) : root_(retain(other.root_)) {}
  IdMap(IdMap&& other) noexcept : root_(std::exchange(other.root_, nullptr)) {}
  ~IdMap() { release(root_); }
  auto operator=(IdMap other) noexcept -> IdMap& { std::swap(root_, other.root_); return *this; }

  /// -1 where the id has no number.
  [[nodiscard]] auto find(NodeId id) const -> int {
    const Node* at = root_;
    if (!at) { return -1; }
    while (at->is_fork()) { at = static_cast<const Fork*>(at)->below[(key_of(id) >> at->bit) & 1]; }
    return at->key == key_of(id) ? static_cast<const Bucket*>(at)->numbers[id % in_bucket] : -1;
  }
  void set(NodeId id, int number) { root_ = set(root_, id, number); }

 private:
  static constexpr NodeId in_bucket = 16;
  struct Node {
    mutable uint32_t refs;
    int bit;                                 // the bit that distinguishes the two sides of a fork; -1: a bucket
    NodeId key;                              // of a fork: the bits above `bit`
    [[nodiscard]] auto is_fork() const -> bool { return bit >= 0; }
  };
  struct Fork : Node { Node* below[2]; };
  struct Bucket : Node { int numbers[in_bucket]; };

  static auto key_of(NodeId id) -> NodeId { return id / in_bucket; }
  static auto retain(Node* node) -> Node* {
    if (node) { ++node->refs; }
    return node;
  }
  static void release(Node* node) {
    if (!node || --node->refs != 0) { return; }
    if (!node->is_fork()) { return free_node(node, sizeof(Bucket)); }
    for (Node* below : static_cast<Fork*>(node)->below) { release(below); }
    free_node(node, sizeof(Fork));
  }
  static auto new_bucket(NodeId key) -> Bucket* {
    auto* out = new (allocate_node(sizeof(Bucket))) Bucket{{1, -1, key}, {}};
    for (int& number : out->numbers) { number = -1; }
    return out;
  }
  // Takes ownership of the node, and changes it in place if it has no other owner.
  static auto set(Node* node, NodeId id, int number) -> Node* {
    NodeId key = key_of(id);
    NodeId differs = !node ? 0 : node->is_fork() ? (node->key ^ key) >> node->bit >> 1 << node->bit << 1 : node->key ^ key;
    if (differs != 0) {
      int bit = std::bit_width(differs) - 1;
      Node* other = set(nullptr, id, number);
      auto* fork = new (allocate_node(sizeof(Fork))) Fork{{1, bit, key}, {node, other}};
      if (((key >> bit) & 1) == 0) { std::swap(fork->below[0], fork->below[1]); }
      return fork;
    }
    if (!node || !node->is_fork()) {
      Bucket* bucket = static_cast<Bucket*>(node);
      if (!bucket) { bucket = new_bucket(key); }
      if (bucket->refs > 1) {
        --bucket->refs;
        bucket = new (allocate_node(sizeof(Bucket))) Bucket(*bucket);
        bucket->refs = 1;
      }
      bucket->numbers[id % in_bucket] = number;
      return bucket;
    }
    Fork* fork = static_cast<Fork*>(node);
    if (fork->refs > 1) {
      --fork->refs;
      fork = new (allocate_node(sizeof(Fork))) Fork(*fork);
      fork->refs = 1;
      for (Node* below : fork->below) { retain(below); }
    }
    Node*& below = fork->below[(key >> fork->bit) & 1];
    below = set(below, id, number);
    return fork;
  }
  Node* root_ = nullptr;
};

}  // namespace loopsmith::schedule
