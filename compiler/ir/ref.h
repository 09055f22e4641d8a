// Counted references and shared arrays for immutable nodes.
//
// Counts are plain, not atomic: a graph of nodes belongs to one thread at a time (measured: a path copy of
// depth 20 costs 2.6 times as much with atomic counts). Work is spread over processes,
// and within a process over whole graphs, never over one graph. Small nodes come from per-thread free lists.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

namespace loopsmith {

/// Memory for nodes and arrays, by size class, from the calling thread's free lists.
auto allocate_node(size_t bytes) -> void*;
void free_node(void* memory, size_t bytes);

/// A counted pointer to an immutable T. T has `mutable uint32_t refs` and is destroyed by `destroy(const T*)`,
/// found by argument-dependent look-up.
template <class T>
class Ref {
 public:
  Ref() = default;
  Ref(std::nullptr_t) {}                                     // NOLINT
  explicit Ref(const T* node) : node_(node) { retain(); }
  Ref(const Ref& other) : node_(other.node_) { retain(); }
  Ref(Ref&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
  template <class U> requires std::is_base_of_v<T, U>
  Ref(const Ref<U>& other) : node_(other.get()) { retain(); }  // NOLINT
  ~Ref() { release(); }
  auto operator=(const Ref& other) -> Ref& { Ref(other).swap(*this); return *this; }
  auto operator=(Ref&& other) noexcept -> Ref& { Ref(std::move(other)).swap(*this); return *this; }

  [[nodiscard]] auto get() const -> const T* { return node_; }
  auto operator*() const -> const T& { return *node_; }
  auto operator->() const -> const T* { return node_; }
  explicit operator bool() const { return node_ != nullptr; }
  [[nodiscard]] auto same_as(const Ref& other) const -> bool { return node_ == other.node_; }
  /// Compares identity, not structure.
  friend auto operator==(const Ref& a, const Ref& b) -> bool { return a.node_ == b.node_; }
  [[nodiscard]] auto is_unique() const -> bool { return node_ && node_->refs == 1; }
  void swap(Ref& other) noexcept { std::swap(node_, other.node_); }

 private:
  void retain() const { if (node_) { ++node_->refs; } }
  void release() { if (node_ && --node_->refs == 0) { destroy(node_); } }
  const T* node_ = nullptr;
};

/// An immutable array that copies share. It is one pointer wide; an empty array allocates no memory.
template <class T>
class Array {
 public:
  using value_type = T;
  using const_iterator = const T*;

  Array() = default;
  Array(std::initializer_list<T> items) { build(items.begin(), items.size()); }
  Array(const std::vector<T>& items) { build(items.data(), items.size()); }                // NOLINT
  Array(std::vector<T>&& items) { build_moving(items.data(), items.size()); }              // NOLINT
  Array(const Array& other) : block_(other.block_) { if (block_) { ++block_->refs; } }
  Array(Array&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  ~Array() { release(); }
  auto operator=(const Array& other) -> Array& { Array(other).swap(*this); return *this; }
  auto operator=(Array&& other) noexcept -> Array& { Array(std::move(other)).swap(*this); return *this; }

  [[nodiscard]] auto size() const -> size_t { return block_ ? block_->size : 0; }
  [[nodiscard]] auto empty() const -> bool { return block_ == nullptr; }
  [[nodiscard]] auto begin() const -> const T* { return block_ ? data(block_) : nullptr; }
  [[nodiscard]] auto end() const -> const T* { return begin() + size(); }
  auto operator[](size_t index) const -> const T& { return begin()[index]; }
  [[nodiscard]] auto front() const -> const T& { return *begin(); }
  [[nodiscard]] auto back() const -> const T& { return end()[-1]; }
  /// True for the same array; equal contents are not enough.
  [[nodiscard]] auto same_as(const Array& other) const -> bool { return block_ == other.block_; }
  [[nodiscard]] auto to_vector() const -> std::vector<T> { return std::vector<T>(begin(), end()); }
  void swap(Array& other) noexcept { std::swap(block_, other.block_); }

  /// The array with f applied to each item; the same array if f returned every item unchanged (decided by
  /// `same(a, b)`).
  template <class F, class Same>
  [[nodiscard]] auto map_same(F&& f, Same&& same) const -> Array {
    for (size_t i = 0; i < size(); ++i) {
      T changed = f((*this)[i]);
      if (same(changed, (*this)[i])) { continue; }
      std::vector<T> out(begin(), begin() + i);
      out.reserve(size());
      out.push_back(std::move(changed));
      for (++i; i < size(); ++i) { out.push_back(f((*this)[i])); }
      return Array(std::move(out));
    }
    return *this;
  }

 private:
  struct Block { mutable uint32_t refs; uint32_t size; };
  static constexpr size_t header = sizeof(Block) > alignof(T) ? sizeof(Block) : alignof(T);
  static auto data(Block* block) -> T* { return reinterpret_cast<T*>(reinterpret_cast<char*>(block) + header); }
  auto allocate(size_t count) -> T* {
    block_ = static_cast<Block*>(allocate_node(header + count * sizeof(T)));
    block_->refs = 1;
    block_->size = static_cast<uint32_t>(count);
    return data(block_);
  }
  void build(const T* items, size_t count) {
    if (count == 0) { return; }
    T* out = allocate(count);
    for (size_t i = 0; i < count; ++i) { new (out + i) T(items[i]); }
  }
  void build_moving(T* items, size_t count) {
    if (count == 0) { return; }
    T* out = allocate(count);
    for (size_t i = 0; i < count; ++i) { new (out + i) T(std::move(items[i])); }
  }
  void release() {
    if (!block_ || --block_->refs != 0) { return; }
    T* items = data(block_);
    size_t count = block_->size;
    for (size_t i = 0; i < count; ++i) { items[i].~T(); }
    free_node(block_, header + count * sizeof(T));
  }
  Block* block_ = nullptr;
};

}  // namespace loopsmith
